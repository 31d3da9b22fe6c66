/* act.js - capture, refund and void: asked for in a dialog that says how much and what will happen.
 *
 * The Idempotency-Key is made when the dialog opens. As long as nobody knows whether an order arrived
 * (no answer, or a 5xx) its fields are locked and a second press sends the very same order, so it is
 * done once. Only a clear refusal (4xx) ends that order; what is sent after it is a new one. */

import { h } from './dom.js';
import { newKey, post } from './api.js';
import { amountTrouble, money, moneyCode, t } from './i18n.js';
import { majorText, minorOf } from './money.js';
import { confirmDialog, field, FieldError } from './ui.js';

const refused = (err) => err.status >= 400 && err.status < 500 && ![401, 403, 408, 409, 429].includes(err.status);

const gatewayName = (p) => ({ stripe: 'Stripe', paypay: 'PayPay' })[p.gateway] || p.gateway;

const ACTS = {
  capture: { most: (p) => p.can.captureMax, text: (p, max) => t('payments.capture_text', { max }), danger: false },
  refund: { most: (p) => p.can.refundMax, text: (p, max) => t('payments.refund_text', { max, gateway: gatewayName(p) }), danger: true, reason: true },
  void: { most: () => null, text: (p) => t(p.status === 'PENDING' ? 'payments.void_pending' : 'payments.void_text', { amount: money(p.amount, p.currency), gateway: gatewayName(p) }), danger: true },
};

function fieldsOf(act, p, max) {
  const { currency } = p;
  const amount = max ? field({ label: t('payments.amount_field', { currency }), name: 'amount', inputmode: 'decimal', autocomplete: 'off', value: majorText(max, currency), help: t('payments.amount_help', { max: money(max, currency) }) }) : null;
  const reason = act.reason ? field({ label: t('payments.reason_field'), name: 'reason', maxlength: 200, autocomplete: 'off', help: t('payments.reason_help') }) : null;
  return { amount, reason };
}

/* The order as the fields say it; throws where the amount is none. All of it goes without amount. */
function orderOf({ amount, reason }, max, currency) {
  const body = {};
  if (amount) {
    const minor = minorOf(amount.input.value, currency);
    if (minor === null) throw new FieldError(amount, amountTrouble(amount.input.value, currency));
    if (minor < 1 || minor > max) throw new FieldError(amount, t('payments.amount_wrong', { min: money(1, currency), max: money(max, currency) }));
    amount.error(null);
    body.amount = minor;
  }
  if (reason?.input.value.trim()) body.reason = reason.input.value.trim();
  return body;
}

/* name: capture, refund or void. -> { result, amount } once it was done, null where it was not. */
export async function actDialog(name, p) {
  const act = ACTS[name];
  const max = act.most(p);
  const fields = fieldsOf(act, p, max);
  const safe = h('p', { class: 'note', hidden: true }, t('payments.again_safe'));
  const label = h('span', {});
  const again = h('p', { class: 'strong', role: 'status' });
  const lock = (on) => [fields.amount, fields.reason].forEach((f) => f && (f.input.readOnly = on));
  let key = newKey();
  let order = null; /* the one that may have arrived */

  function say() {
    const minor = fields.amount ? minorOf(fields.amount.input.value, p.currency) : p.amount;
    if (minor) fields.amount?.error(null);
    label.textContent = t(`payments.${name}_button`, { amount: minor ? money(minor, p.currency) : '' });
    again.textContent = minor ? t('payments.amount_again', { amount: moneyCode(minor, p.currency) }) : '';
  }
  async function action() {
    const body = order || orderOf(fields, max, p.currency);
    try {
      lock(true);
      order = body;
      return await post(`payments/${encodeURIComponent(p.id)}/${name}`, body, { key });
    } catch (err) {
      if (refused(err)) {
        key = newKey();
        order = null;
        lock(false);
      }
      safe.hidden = !order;
      throw err;
    }
  }
  fields.amount?.input.addEventListener('input', say);
  say();
  const done = await confirmDialog({ title: t(`payments.${name}_title`), body: [h('p', {}, act.text(p, money(max, p.currency))), fields.amount, again, fields.reason, safe], confirm: label, danger: act.danger, action });
  return done && { result: done.result, amount: order?.amount ?? p.amount };
}
