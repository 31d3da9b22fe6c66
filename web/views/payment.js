/* One payment: its state, its timeline, and the actions that are possible. The view reloads itself every few seconds. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { duration, formatNumber, money, t, timeTag, timeText } from '../lib/i18n.js';
import { badge, button, card, facts, pageHead, spinner, tile } from '../lib/ui.js';
import { errorBox, toast } from '../lib/feedback.js';
import { copyable, jsonView } from '../lib/copyable.js';
import { table } from '../lib/table.js';
import { canOperate } from '../lib/session.js';
import { isActionAllowed, openActionDialog, summaryLink } from '../lib/payment_actions.js';
import { causeName, operationName, payableOf, paymentBadges } from '../lib/payment_ui.js';
import { poll } from '../lib/poll.js';
import { translateServerText } from '../lib/server_text.js';
import { timelineView } from '../lib/timeline.js';

const REFRESH_MS = 4000;

/* ---- state ---- */

function tiles(p) {
  return h('dl', { class: 'tiles' },
    tile(t('field.amount'), money(p.amount, p.currency)),
    tile(t('payments.captured'), money(p.capturedAmount, p.currency)),
    tile(t('payments.refunded'), money(p.refundedAmount, p.currency)),
    tile(t('field.created'), timeTag(p.createdAt, { seconds: false })));
}

/* The newest refund. If it failed, the payment's state looks as if no refund had been requested, so a note says it. */
function lastRefund(p) {
  return (p.refunds || []).reduce((last, r) => (!last || r.createdAt >= last.createdAt ? r : last), null);
}

function refundNote(p) {
  const last = lastRefund(p);
  if (last?.status !== 'failed') return null;
  return h('p', { class: 'note bad', role: 'alert' }, t('payments.refund_failed', { amount: money(last.amount, p.currency), why: translateServerText(last.failureReason) || '–' }));
}

/* What the customer has to do. Only http and https addresses become a link. */
function customerActionNote(p) {
  const a = p.requiresAction;
  if (!a || p.status !== 'PENDING' || p.givenUp) return null;
  return h('div', { class: 'note warn' }, h('p', {}, h('strong', {}, t('payments.next_step')), ' ', t(a.url ? 'payments.action_page' : 'payments.action_other', { type: a.type }), a.expiresAt && ` ${t('payments.action_until', { time: timeText(a.expiresAt) })}`),
    /^https?:\/\//.test(a.url || '') && h('p', {}, h('a', { href: a.url, target: '_blank', rel: 'noopener noreferrer' }, t('payments.action_open')), ' ', h('code', { class: 'wrap small' }, untrusted(a.url, 120))),
    a.details && jsonView(a.details));
}

function notes(p) {
  return [
    p.failureReason && p.status === 'FAILED' && h('p', { class: 'note bad' }, t('payments.failed_note', { why: translateServerText(p.failureReason) })),
    refundNote(p),
    customerActionNote(p),
    p.openOperation?.phase === 'unknown' && h('p', { class: 'note warn' }, t('payments.unknown_note', { what: operationName(p.openOperation.kind) })),
    p.disputed && h('p', { class: 'note warn' }, t('payments.disputed_note')),
    p.givenUp && h('p', { class: 'note' }, t('payments.given_up_text')),
  ];
}

function paymentFacts(p) {
  const subject = payableOf(p);
  return facts([
    [t('field.id'), copyable(p.id)],
    subject && [t(subject[0]), copyable(subject[1])],
    [t('payments.user'), [copyable(p.userId), h('a', { class: 'more', href: `#/payments?userId=${encodeURIComponent(p.userId)}` }, t('payments.user_all'))]],
    [t('payments.description'), untrusted(p.description, 400)],
    [t('field.gateway'), untrusted(p.gateway, 40)],
    [t('payments.provider_id'), p.gatewayTransactionId ? copyable(p.gatewayTransactionId) : null],
    [t('payments.key'), copyable(p.idempotencyKey)],
    [t('payments.failure'), untrusted(translateServerText(p.failureReason), 500)],
    [t('payments.updated'), timeTag(p.updatedAt)],
  ]);
}

/* ---- details ---- */

function refundTable(p) {
  return table({
    caption: t('payments.refunds'),
    rows: p.refunds || [],
    empty: { title: t('payments.refunds_none') },
    columns: [
      { label: t('field.created'), cell: (r) => timeTag(r.createdAt) },
      { label: t('field.amount'), align: 'right', cell: (r) => money(r.amount, p.currency) },
      { label: t('field.state'), cell: (r) => badge(r.status) },
      { label: t('field.reason'), cell: (r) => untrusted(translateServerText(r.failureReason) || causeName(r.reason), 200) },
    ],
  });
}

function operationTable(p) {
  return table({
    caption: t('payments.operations'),
    rows: p.operations || [],
    columns: [
      { label: t('field.operation'), cell: (o) => operationName(o.kind) },
      { label: t('field.started'), cell: (o) => timeTag(o.claimedAt) },
      { label: t('payments.duration'), align: 'right', cell: (o) => (o.endedAt ? duration(Date.parse(o.endedAt) - Date.parse(o.claimedAt)) : null) },
      { label: t('field.amount'), align: 'right', cell: (o) => (o.amount === null ? null : money(o.amount, p.currency)) },
      { label: t('payments.requested_by'), cell: (o) => untrusted(causeName(o.cause === 'client' && o.by === 'operator' ? 'operator' : o.cause), 60) },
      { label: t('payments.sends'), align: 'right', cell: (o) => formatNumber(o.sends) },
      { label: t('payments.asks'), align: 'right', cell: (o) => formatNumber(o.asks) },
      { label: t('field.result'), cell: (o) => (o.phase === 'unknown' ? badge('unknown') : o.phase === 'done' ? badge(o.result || 'done') : badge('running')) },
    ],
  });
}

function transactionCard(p) {
  if (!p.transactions?.length) return null;
  const sum = (name) => (x) => (x[name] === null || x[name] === undefined ? null : money(x[name], (x.currency || p.currency).toUpperCase()));
  return card(t('payments.transactions'), {}, table({
    caption: t('payments.transactions'),
    rows: p.transactions,
    columns: [
      { label: t('field.id'), cell: (x) => copyable(x.id, { short: 40 }) },
      { label: t('field.state'), cell: (x) => badge(x.status) },
      { label: t('field.amount'), align: 'right', cell: sum('amount') },
      { label: t('payments.received'), align: 'right', cell: sum('amountReceived') },
      { label: t('payments.fee'), align: 'right', cell: sum('fee') },
      { label: t('payments.net'), align: 'right', cell: sum('net') },
      { label: t('payments.failure'), cell: (x) => untrusted(translateServerText(x.failureMessage || x.failureCode || x.cancelReason), 200) },
      { label: t('payments.updated'), cell: (x) => timeTag(x.updatedAt || x.createdAt) },
    ],
  }));
}

function disputeCard(p) {
  if (!p.disputes?.length) return null;
  return card(t('payments.disputes'), {}, table({
    caption: t('payments.disputes'),
    rows: p.disputes,
    columns: [
      { label: t('field.id'), cell: (d) => copyable(d.id, { short: 40 }) },
      { label: t('field.state'), cell: (d) => badge(d.status, { tone: d.lost ? 'bad' : d.closed ? 'calm' : 'warn' }) },
      { label: t('field.amount'), align: 'right', cell: (d) => money(d.amount, p.currency) },
      { label: t('field.reason'), cell: (d) => untrusted(d.reason, 120) },
      { label: t('field.started'), cell: (d) => timeTag(d.createdAt) },
    ],
  }));
}

function jsonDetails(p) {
  const box = h('div', {});
  return h('details', { class: 'raw', ontoggle: (e) => (e.target.open ? replaceContent(box, jsonView(p, { label: t('payments.json') })) : replaceContent(box)) }, h('summary', {}, t('payments.json')), box);
}

function paymentDetails(p) {
  return [
    h('div', { class: 'halves' }, card(t('payments.details'), {}, paymentFacts(p)), card(t('payments.refunds'), {}, refundTable(p))),
    card(t('payments.operations'), {}, operationTable(p)),
    disputeCard(p),
    transactionCard(p),
    jsonDetails(p),
  ];
}

/* ---- actions ---- */

/* The result of an action, by the payment's present state: a refund may still fail later, and then refundNote says so. */
function actionResult({ name, amount }, p) {
  const refund = name === 'refund' ? lastRefund(p)?.status : null;
  if (refund === 'failed') return null;
  if (p.openOperation) return h('p', { class: 'note warn', role: 'status' }, t('payments.result_wait'));
  return h('p', { class: 'note good', role: 'status' }, name === 'capture' ? t('payments.result_capture', { amount: money(amount, p.currency) }) : t(refund === 'succeeded' ? 'payments.result_refunded' : `payments.result_${name}`));
}

function actionButtons(p, session, onaction) {
  if (!canOperate(session)) return null;
  const kinds = { capture: 'primary', refund: '', void: '' };
  return Object.keys(kinds).filter((name) => isActionAllowed(name, p))
    .map((name) => button({ label: `${t(`payments.${name}`)}…`, kind: kinds[name], onclick: (e) => onaction(name, e.currentTarget) }));
}

/* ---- the view ---- */

/* After a redraw, gives the focus to the element with the same tag and text as the one that had it. */
function restoreFocus(box, was) {
  const same = [...box.querySelectorAll(was.tagName)].find((el) => el.textContent === was.textContent);
  (same || box.querySelector('h1'))?.focus({ preventScroll: true });
}

/* A box that is redrawn only if its data has changed, and not while the reader uses it: an element in it has the focus, or text
 * in it is selected. noInputs: the box has only buttons, so the focus does not prevent a redraw. */
function redrawnBox(draw, { noInputs } = {}) {
  const box = h('div', { class: 'stack' }, spinner());
  let shown = null;
  return {
    el: box,
    show(data, force) {
      const text = JSON.stringify(data);
      const at = box.contains(document.activeElement) ? document.activeElement : null;
      const held = (at && !noInputs) || (String(getSelection()) && box.contains(getSelection().anchorNode));
      if (text === shown || (shown && held && !force)) return;
      replaceContent(box, draw(data));
      shown = text;
      if (at) restoreFocus(box, at);
    },
  };
}

export default {
  path: '/payments/:id',
  title: 'field.payment',
  role: 'viewer',
  async mount(root, { params, session, signal }) {
    const path = `payments/${encodeURIComponent(params.id)}`;
    const result = h('div', {});
    const head = redrawnBox((p) => [pageHead([money(p.amount, p.currency), paymentBadges(p)], { back: { href: '#/payments', label: t('payments.back') }, lead: untrusted(p.description, 300), actions: actionButtons(p, session, startAction) }), notes(p), tiles(p)], { noInputs: true });
    const line = redrawnBox(({ timeline, ...of }) => timelineView(timeline, of));
    const rest = redrawnBox(paymentDetails);
    const errors = h('div', {});
    let lastAction = null;
    let acting = false;
    let reads = 0;
    let shownRead = 0;
    let p = await get(path, null, { signal });

    /* Of two requests at the same time, the answer of the later one is shown, in whatever order the answers arrive. */
    async function read(force) {
      const mine = ++reads;
      const now = await get(path, null, { signal });
      if (mine < shownRead) return;
      shownRead = mine;
      p = now;
      show(force);
    }
    function show(force) {
      head.show(p, force);
      rest.show(p, force);
      const text = lastAction && actionResult(lastAction, p);
      if (result.textContent !== (text?.textContent || '')) replaceContent(result, text);
    }
    async function refresh(force) {
      await read(force);
      line.show({ timeline: await get(`${path}/timeline`, null, { signal }), status: p.status, currency: p.currency }, force);
      replaceContent(errors);
    }
    /* The view may be out of date, so the payment is read again before the dialog opens. */
    async function runPaymentAction(name, at) {
      const what = t(`payments.${name}`);
      await read(true);
      at.classList.remove('working');
      if (signal.aborted) return;
      if (!isActionAllowed(name, p)) return void toast(t('payments.not_possible', { what }), 'bad');
      const done = await openActionDialog(name, p, { personId: session.user.id, signal });
      if (!done) return;
      toast([t('payments.act_done', { what }), signal.aborted && [' ', summaryLink(p)]], 'good');
      lastAction = { name, amount: done.amount };
    }
    async function startAction(name, at) {
      if (acting) return;
      acting = true;
      at.classList.add('working');
      try {
        await runPaymentAction(name, at).finally(() => (acting = false));
        if (!signal.aborted) await refresh(true);
      } catch (err) {
        if (!signal.aborted) replaceContent(errors, errorBox(err));
      }
      at.classList.remove('working');
      if (!signal.aborted && document.activeElement === document.body) restoreFocus(head.el, at); /* the button was redrawn in the meantime */
    }
    show();
    replaceContent(root, head.el, result, card(t('payments.timeline'), {}, line.el), rest.el);
    poll(REFRESH_MS, refresh, signal, (err) => replaceContent(errors, err && errorBox(err, () => refresh(true))));
    root.insertBefore(errors, result);
  },
};
