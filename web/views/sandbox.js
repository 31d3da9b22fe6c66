/* The sandbox: create a payment, send an event, turn faults on and off. Only with the sandbox gateways of development mode. */

import { h, replaceContent } from '../lib/dom.js';
import { del, get, post, put } from '../lib/api.js';
import { amountTrouble, t } from '../lib/i18n.js';
import { badge, button, card, pageHead, setWorking, spinner } from '../lib/ui.js';
import { errorBox, runAction, toast } from '../lib/feedback.js';
import { jsonView } from '../lib/copyable.js';
import { field } from '../lib/form.js';
import { canOperate } from '../lib/session.js';
import { minorOf } from '../lib/money.js';
import { translateServerText } from '../lib/server_text.js';

const CARDS = [['pm_card_visa', 'visa'], ['pm_card_jcb', 'jcb'], ['pm_card_chargeDeclined', 'declined'], ['pm_card_chargeDeclinedInsufficientFunds', 'funds'],
  ['pm_card_authenticationRequired', '3ds'], ['pm_card_refundFail', 'refundfail'], ['pm_card_createDispute', 'dispute']];
const TYPES = ['payment_intent.succeeded', 'payment_intent.payment_failed', 'payment_intent.canceled', 'payment_intent.amount_capturable_updated', 'charge.refunded', 'charge.dispute.created', 'checkout.session.completed'];
const CURRENCIES = ['JPY', 'USD', 'EUR'];
const PATH = '/v1/payment_intents';

/* Rules for POST /_sandbox/faults; docs/sandbox.md describes them. */
const CALL_FAULTS = {
  drop_after: { dropAfter: true },
  hang: { hangMs: 20000, dropAfter: true },
  error_after: { statusAfter: 500 },
  error_before: { statusBefore: 500 },
  decline: { declineCode: 'generic_decline' },
  delay: { delayMs: 3000 },
  rate_limit: { statusBefore: 429 },
  html: { answer: 'html' },
  cut: { answer: 'cut' },
};
/* Switches of /_sandbox/webhooks: [settings when on, settings when off, whether it is on]. */
const WEBHOOK_FAULTS = {
  duplicate: [{ duplicate: 2 }, { duplicate: 0 }, (w) => w.duplicate > 0],
  reorder: [{ reorder: true }, { reorder: false }, (w) => w.reorder],
  delay: [{ delayMs: 5000 }, { delayMs: 0 }, (w) => w.delayMs > 0],
  burst: [{ burst: true }, { burst: false }, (w) => w.burst],
  off: [{ on: false }, { on: true }, (w) => !w.on],
};

/* ---- a payment ---- */

function paymentResult(p) {
  return h('div', { class: 'note payment-result' }, h('span', {}, t(p.status === 'FAILED' ? 'sandbox.pay.failed' : 'sandbox.pay.done'), ' ', p.status === 'FAILED' && p.failureReason ? translateServerText(p.failureReason) : badge(p.status)), h('a', { class: 'button primary', href: `#/payments/${encodeURIComponent(p.id)}` }, t('sandbox.pay.timeline')));
}

function payCard() {
  const amount = field({ label: t('field.amount'), name: 'amount', value: '5000', inputmode: 'decimal', autocomplete: 'off' });
  const currency = field({ label: t('reconciliation.kind.currency'), name: 'currency', type: 'select', value: 'JPY', options: CURRENCIES });
  const method = field({ label: t('sandbox.method'), name: 'method', type: 'select', value: 'pm_card_visa', options: CARDS.map(([id, word]) => [id, t(`sandbox.card.${word}`)]) });
  const description = field({ label: t('sandbox.description'), name: 'description', maxlength: 200, autocomplete: 'off' });
  const capture = field({ label: t('sandbox.capture'), name: 'capture', type: 'checkbox', value: false });
  const result = h('div', { role: 'status' });
  const go = button({ label: t('sandbox.pay.submit'), kind: 'primary', type: 'submit' });

  async function pay(e) {
    e.preventDefault();
    const minor = minorOf(amount.input.value, currency.input.value);
    amount.error(minor > 0 ? null : amountTrouble(amount.input.value, currency.input.value) || t('sandbox.amount.invalid'));
    if (!(minor > 0)) return amount.input.focus();
    const body = { amount: minor, currency: currency.input.value, method: method.input.value, capture: capture.input.checked };
    if (description.input.value) body.description = description.input.value;
    replaceContent(result);
    setWorking(go, true);
    try {
      replaceContent(result, paymentResult((await post('sandbox/payments', body)).payment));
    } catch (err) {
      replaceContent(result, errorBox(err), err.problem?.paymentId ? h('p', {}, h('a', { href: `#/payments/${encodeURIComponent(err.problem.paymentId)}` }, t('sandbox.pay.timeline'))) : null);
    }
    setWorking(go, false);
    return undefined;
  }
  return card(t('sandbox.pay'), {}, h('form', { class: 'stack', novalidate: true, onsubmit: pay }, h('p', { class: 'faint' }, t('sandbox.pay.lead')),
    h('div', { class: 'pair' }, amount, currency), method, description, capture, h('div', { class: 'actions' }, go), result));
}

/* ---- an event ---- */

function eventCard() {
  const type = field({ label: t('field.event_type'), name: 'type', type: 'select', value: TYPES[0], options: TYPES });
  const broken = field({ label: t('sandbox.event.broken'), name: 'broken', type: 'checkbox', help: t('sandbox.event.broken.help') });
  const result = h('div', { role: 'status' });
  const go = button({ label: t('sandbox.event.submit'), kind: 'primary', type: 'submit' });

  async function send(e) {
    e.preventDefault();
    const isBroken = broken.input.checked;
    replaceContent(result);
    if (!(await runAction(go, () => post('sandbox/events', { type: type.input.value, broken: isBroken })))) return;
    replaceContent(result, h('p', { class: 'note' }, t('sandbox.event.done'), ' ', h('a', { href: isBroken ? '#/dlq' : '#/events' }, t(isBroken ? 'dlq.open' : 'sandbox.event.open'))));
  }
  return card(t('sandbox.event'), {}, h('form', { class: 'stack', novalidate: true, onsubmit: send }, h('p', { class: 'faint' }, t('sandbox.event.lead')), type, broken, h('div', { class: 'actions' }, go), result));
}

/* ---- faults ---- */

/* What a rule does, without its path and count. It identifies the switch that the rule belongs to. */
function effectOf(rule) {
  const { path, method, skip, times, ...rest } = rule;
  return JSON.stringify(Object.entries(rest).sort());
}

const ruleOf = (name, rules) => rules.find((r) => effectOf(r) === effectOf(CALL_FAULTS[name]));

function toggle({ label, why, on, may, onchange }) {
  const id = `sw-${label.replace(/\W+/g, '')}-${Math.random().toString(36).slice(2, 8)}`;
  return h('div', { class: on ? 'toggle on' : 'toggle' },
    h('input', { type: 'checkbox', role: 'switch', id, checked: on, disabled: !may, 'aria-describedby': `${id}-w`, onchange }),
    h('div', {}, h('label', { for: id }, label), h('p', { class: 'faint small', id: `${id}-w` }, why)));
}

/* The API can add one rule or delete all rules. To delete one, all are deleted and the others are added again. */
async function deleteRule(now, rule) {
  let last = await del('sandbox/faults');
  for (const other of now.faults.filter((r) => r !== rule)) last = await put('sandbox/faults', { fault: other });
  const { offBySetting, ...webhooks } = now.webhooks;
  return put('sandbox/faults', { webhooks }).catch(() => last);
}

/* The sandbox has its own port on the host of this page. */
async function sandboxAddress(signal) {
  const found = (await get('settings', null, { signal })).data.find((x) => x.name === 'ICHIDO_SANDBOX_LISTEN');
  return `http://${location.hostname}:${/\d+$/.exec(found.value)[0]}/_sandbox`;
}

function faultsCard(session, signal) {
  const may = canOperate(session);
  const box = h('div', { class: 'stack' }, spinner());
  const more = h('p', { class: 'faint small' });
  const off = button({ label: t('sandbox.faults.all_off'), small: true, onclick: () => change(() => del('sandbox/faults')) });

  async function change(fn) {
    try {
      show(await fn());
    } catch (err) {
      toast(errorBox(err), 'bad');
      load();
    }
  }
  const callToggle = (name, now) => {
    const rule = ruleOf(name, now.faults);
    return toggle({ label: t(`sandbox.fault.${name}`), why: t(`sandbox.fault.${name}.why`), on: !!rule, may,
      onchange: () => change(() => (rule ? deleteRule(now, rule) : put('sandbox/faults', { fault: { path: PATH, method: 'POST', ...CALL_FAULTS[name] } }))) });
  };
  const webhookToggle = (name, now) => {
    const [on, isOff, test] = WEBHOOK_FAULTS[name];
    return toggle({ label: t(`sandbox.webhook.${name}`), why: t(`sandbox.webhook.${name}.why`), on: test(now.webhooks), may, onchange: () => change(() => put('sandbox/faults', { webhooks: test(now.webhooks) ? isOff : on })) });
  };
  function show(now) {
    const focused = box.contains(document.activeElement) ? [...box.querySelectorAll('input')].indexOf(document.activeElement) : -1;
    const others = now.faults.filter((r) => !Object.keys(CALL_FAULTS).some((name) => effectOf(r) === effectOf(CALL_FAULTS[name])));
    replaceContent(box, h('p', { class: 'faint' }, t('sandbox.faults.lead')),
      h('h3', {}, t('sandbox.faults.calls')), h('div', { class: 'toggles' }, Object.keys(CALL_FAULTS).map((name) => callToggle(name, now))),
      h('h3', {}, t('sandbox.faults.webhooks')), h('div', { class: 'toggles' }, Object.keys(WEBHOOK_FAULTS).map((name) => webhookToggle(name, now))),
      others.length > 0 && h('details', {}, h('summary', {}, t('sandbox.faults.others')), jsonView(others)),
      more);
    if (focused >= 0) box.querySelectorAll('input')[focused]?.focus();
  }
  async function load() {
    try {
      show(await get('sandbox/faults', null, { signal }));
    } catch (err) {
      if (!signal.aborted) replaceContent(box, errorBox(err, load));
    }
  }
  load();
  sandboxAddress(signal).then((url) => replaceContent(more, t('sandbox.all_settings'), ' ', h('a', { href: url, target: '_blank', rel: 'noopener' }, url)), () => {});
  return card(t('sandbox.faults'), { aside: may && off }, box);
}

export default {
  path: '/sandbox',
  title: 'sandbox.title',
  nav: true,
  role: 'viewer',
  key: 's',
  when: (session) => session.sandbox,
  async mount(root, { session, signal }) {
    root.append(pageHead(t('sandbox.title'), { lead: t('sandbox.lead') }));
    if (canOperate(session)) root.append(h('div', { class: 'halves' }, payCard(), eventCard()));
    else root.append(h('p', { class: 'note' }, t('sandbox.viewer')));
    root.append(faultsCard(session, signal));
  },
};
