/* act.js - capture, refund and void: asked for in a dialog that says how much and what will happen.
 *
 * The Idempotency-Key is made when the dialog opens. As long as nobody knows whether an order arrived
 * (no answer, or a 5xx) its fields are locked and a second press sends the very same order, so it is
 * done once. Only a clear refusal (4xx) ends that order; what is sent after it is a new one.
 *
 * However the dialog closes, by Escape, another view or the end of the session, such an order is kept in
 * `open`, and the next dialog of the same kind begins with it and with what the server knows of it. A key
 * counts for one person, so it is kept for him who sent it. */

import { h } from './dom.js';
import { get, newKey, post } from './api.js';
import { amountTrouble, money, moneyCode, t } from './i18n.js';
import { majorText, minorOf } from './money.js';
import { paymentHref, shortId } from './payment_ui.js';
import { confirmDialog, field, FieldError } from './ui.js';

const open = new Map(); /* 'person/payment/act' -> { key, order } that was sent and has no known end */

const refused = (err) => err.status >= 400 && err.status < 500 && ![401, 403, 408, 409, 429].includes(err.status);

const gatewayName = (p) => ({ stripe: 'Stripe', paypay: 'PayPay' })[p.gateway] || p.gateway;

const ACTS = {
  capture: { text: (p, max) => t('payments.capture_text', { max }), danger: false },
  refund: { text: (p, max) => t('payments.refund_text', { max, gateway: gatewayName(p) }), danger: true, reason: true },
  void: { text: (p) => t(p.status === 'PENDING' ? 'payments.void_pending' : 'payments.void_text', { amount: money(p.amount, p.currency), gateway: gatewayName(p) }), danger: true },
};

/* Whether the payment as it is now allows it; with an amount only where the server says how much. */
export const mayAct = (name, p) => !!p.can?.[name] && (name === 'void' || p.can[`${name}Max`] >= 1);

function fieldsOf(act, p, max) {
  const { currency } = p;
  const amount = max ? field({ label: t('payments.amount_field', { currency }), name: 'amount', inputmode: 'decimal', autocomplete: 'off', value: majorText(max, currency), help: t('payments.amount_help', { max: money(max, currency) }) }) : null;
  const reason = act.reason ? field({ label: t('payments.reason_field'), name: 'reason', maxlength: 200, autocomplete: 'off', help: t('payments.reason_help') }) : null;
  return { amount, reason };
}

/* The order as the fields say it; throws where the amount is none. */
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

/* The payment in news of it on another view. */
export const nameOf = (p) => h('a', { href: paymentHref(p.id) }, `${money(p.amount, p.currency)} ${shortId(p.id)}`);

/* The order that was left without an end, and what the server says of its key: { key, order, text }, or null. */
async function leftOf(place, p, signal) {
  const left = open.get(place);
  if (!left) return null;
  const use = (await get(`keys/${left.key}`, null, { signal })).data.find((x) => x.paymentId === p.id);
  if (use?.state === 'expired') { /* sent again it would be another one; its end stands in the payment */
    open.delete(place);
    return null;
  }
  return { ...left, text: t(!use ? 'payments.unanswered_not_received' : use.state === 'running' ? 'payments.unanswered_running' : use.status < 300 ? 'payments.unanswered_done' : 'payments.unanswered_rejected') };
}

/* name: capture, refund or void, which mayAct(); who: the person's id. -> { result, amount } once it was done, null where
 * it was not. signal: of the view; it ends the looking, never the act. */
export async function actDialog(name, p, { who, signal }) {
  const act = ACTS[name];
  const place = `${who}/${p.id}/${name}`;
  const left = await leftOf(place, p, signal);
  const max = p.can[`${name}Max`];
  const fields = fieldsOf(act, p, max);
  const safe = h('p', { class: 'note', hidden: !left }, t('payments.retry_safe'));
  const label = h('span', {});
  const again = h('p', { class: 'strong', role: 'status' });
  const lock = (on) => [fields.amount, fields.reason].forEach((f) => f && (f.input.readOnly = on));
  let key = left?.key ?? newKey();
  let order = left?.order ?? null; /* the one that may have arrived */

  function say() {
    const minor = fields.amount ? minorOf(fields.amount.input.value, p.currency) : p.amount;
    if (minor) fields.amount?.error(null);
    label.textContent = t(`payments.${name}_button`, { amount: minor ? money(minor, p.currency) : '' });
    again.textContent = minor ? t('payments.amount_repeated', { amount: moneyCode(minor, p.currency) }) : '';
  }
  async function action() {
    const body = order || orderOf(fields, max, p.currency);
    try {
      lock(true);
      order = body;
      open.set(place, { key, order });
      const result = await post(`payments/${encodeURIComponent(p.id)}/${name}`, body, { key });
      open.delete(place);
      return result;
    } catch (err) {
      if (refused(err)) {
        open.delete(place);
        key = newKey();
        order = null;
        lock(false);
      }
      safe.hidden = !order;
      throw err;
    }
  }
  function begin() {
    if (order && fields.amount) fields.amount.input.value = majorText(order.amount, p.currency);
    if (order && fields.reason) fields.reason.input.value = order.reason ?? '';
    lock(!!order);
    say();
  }
  fields.amount?.input.addEventListener('input', say);
  begin();
  const done = await confirmDialog({ title: t(`payments.${name}_title`), body: [left && h('p', { class: 'note warn' }, left.text), h('p', {}, act.text(p, money(max, p.currency))), fields.amount, again, fields.reason, safe], confirm: label, danger: act.danger, action, about: () => nameOf(p) });
  return done && { result: done.result, amount: order?.amount ?? p.amount };
}
