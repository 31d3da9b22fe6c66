/* payment_actions.js - capture, refund and void, in a dialog that shows the amount and the consequences.
 *
 * The Idempotency-Key is created when the dialog opens. While it is not known whether a request arrived (no answer, or a 5xx),
 * the fields are locked and a second press sends the same request with the same key, so it is executed once. Only a clear
 * rejection (4xx) ends the request; what is sent after that is a new request with a new key.
 *
 * However the dialog closes (Escape, another view, the end of the session), a request without a known outcome stays in
 * `unanswered`. The next dialog for the same action begins with it, and shows what the server knows of its key. The server
 * scopes a key to one person, so the request is kept for the person who sent it. */

import { h } from './dom.js';
import { get, newKey, post } from './api.js';
import { amountTrouble, money, moneyCode, t } from './i18n.js';
import { field, FieldError } from './form.js';
import { confirmDialog } from './dialog.js';
import { majorText, minorOf } from './money.js';
import { paymentHref, idEnding } from './payment_ui.js';

const unanswered = new Map(); /* 'person/payment/action' -> { key, body } of a request whose outcome is not known */

const isRejected = (err) => err.status >= 400 && err.status < 500 && ![401, 403, 408, 409, 429].includes(err.status);

const gatewayName = (p) => ({ stripe: 'Stripe', paypay: 'PayPay' })[p.gateway] || p.gateway;

const ACTIONS = {
  capture: { text: (p, max) => t('payments.capture_text', { max }), danger: false },
  refund: { text: (p, max) => t('payments.refund_text', { max, gateway: gatewayName(p) }), danger: true, reason: true },
  void: { text: (p) => t(p.status === 'PENDING' ? 'payments.void_pending' : 'payments.void_text', { amount: money(p.amount, p.currency), gateway: gatewayName(p) }), danger: true },
};

/* Whether the payment allows the action now. Capture and refund also need the largest amount from the server. */
export const isActionAllowed = (name, p) => !!p.can?.[name] && (name === 'void' || p.can[`${name}Max`] >= 1);

function fieldsOf(spec, p, max) {
  const { currency } = p;
  const amount = max ? field({ label: t('payments.amount_field', { currency }), name: 'amount', inputmode: 'decimal', autocomplete: 'off', value: majorText(max, currency), help: t('payments.amount_help', { max: money(max, currency) }) }) : null;
  const reason = spec.reason ? field({ label: t('payments.reason_field'), name: 'reason', maxlength: 200, autocomplete: 'off', help: t('payments.reason_help') }) : null;
  return { amount, reason };
}

/* The request's body from the fields; throws a FieldError if the amount is invalid. */
function requestBody({ amount, reason }, max, currency) {
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

/* A link to the payment, for a message that is shown in another view. */
export const summaryLink = (p) => h('a', { href: paymentHref(p.id) }, `${money(p.amount, p.currency)} ${idEnding(p.id)}`);

/* The request whose outcome is not known, and what the server knows of its key: { key, body, text }, or null. */
async function findUnanswered(id, p, signal) {
  const request = unanswered.get(id);
  if (!request) return null;
  const use = (await get(`keys/${request.key}`, null, { signal })).data.find((x) => x.paymentId === p.id);
  if (use?.state === 'expired') { /* with an expired key it would be a new request; the payment shows the outcome of the old one */
    unanswered.delete(id);
    return null;
  }
  return { ...request, text: t(!use ? 'payments.unanswered_not_received' : use.state === 'running' ? 'payments.unanswered_running' : use.status < 300 ? 'payments.unanswered_done' : 'payments.unanswered_rejected') };
}

/* name: capture, refund or void, after isActionAllowed(). personId: who sends it. Returns { result, amount } after it was
 * executed, else null. signal is the view's: it stops the look-up of the key, never the action itself. */
export async function openActionDialog(name, p, { personId, signal }) {
  const spec = ACTIONS[name];
  const id = `${personId}/${p.id}/${name}`;
  const previous = await findUnanswered(id, p, signal);
  const max = p.can[`${name}Max`];
  const fields = fieldsOf(spec, p, max);
  const safe = h('p', { class: 'note', hidden: !previous }, t('payments.retry_safe'));
  const label = h('span', {});
  const repeatedAmount = h('p', { class: 'strong', role: 'status' });
  const lock = (on) => [fields.amount, fields.reason].forEach((f) => f && (f.input.readOnly = on));
  let key = previous?.key ?? newKey();
  let sentBody = previous?.body ?? null; /* of the request that may have arrived */

  function showAmount() {
    const minor = fields.amount ? minorOf(fields.amount.input.value, p.currency) : p.amount;
    if (minor) fields.amount?.error(null);
    label.textContent = t(`payments.${name}_button`, { amount: minor ? money(minor, p.currency) : '' });
    repeatedAmount.textContent = minor ? t('payments.amount_repeated', { amount: moneyCode(minor, p.currency) }) : '';
  }
  async function action() {
    const body = sentBody || requestBody(fields, max, p.currency);
    try {
      lock(true);
      sentBody = body;
      unanswered.set(id, { key, body });
      const result = await post(`payments/${encodeURIComponent(p.id)}/${name}`, body, { key });
      unanswered.delete(id);
      return result;
    } catch (err) {
      if (isRejected(err)) {
        unanswered.delete(id);
        key = newKey();
        sentBody = null;
        lock(false);
      }
      safe.hidden = !sentBody;
      throw err;
    }
  }
  function fillFields() {
    if (sentBody && fields.amount) fields.amount.input.value = majorText(sentBody.amount, p.currency);
    if (sentBody && fields.reason) fields.reason.input.value = sentBody.reason ?? '';
    lock(!!sentBody);
    showAmount();
  }
  fields.amount?.input.addEventListener('input', showAmount);
  fillFields();
  const done = await confirmDialog({ title: t(`payments.${name}_title`), body: [previous && h('p', { class: 'note warn' }, previous.text), h('p', {}, spec.text(p, money(max, p.currency))), fields.amount, repeatedAmount, fields.reason, safe], confirm: label, danger: spec.danger, action, about: () => summaryLink(p) });
  return done && { result: done.result, amount: sentBody?.amount ?? p.amount };
}
