/* One payment: how it stands, what happened to it, what may be done about it. It follows what happens
 * while one looks. */

import { clear, h, user } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { duration, money, n, t, time, timeText } from '../lib/i18n.js';
import { badge, button, card, copyable, errorBox, facts, jsonView, pageHead, spinner, table, toast } from '../lib/ui.js';
import { said } from '../lib/said.js';
import { every } from '../lib/poll.js';
import { actDialog, mayAct, nameOf } from '../lib/act.js';
import { causeName, operationName, standing, subjectOf } from '../lib/payment_ui.js';
import { operates } from '../lib/parts.js';
import { timelineView } from '../lib/timeline.js';

const FOLLOW_MS = 4000;

/* ---- how it stands ---- */

function tiles(p) {
  const tile = (label, value) => h('div', { class: 'tile' }, h('dt', {}, label), h('dd', { class: 'tile-value num' }, value));
  return h('dl', { class: 'tiles' },
    tile(t('field.amount'), money(p.amount, p.currency)),
    tile(t('payments.captured'), money(p.capturedAmount, p.currency)),
    tile(t('payments.refunded'), money(p.refundedAmount, p.currency)),
    tile(t('field.created'), time(p.createdAt, { seconds: false })));
}

/* The newest refund: where it failed, the state alone looks as if nobody had asked for one. */
function lastRefund(p) {
  return (p.refunds || []).reduce((last, r) => (!last || r.createdAt >= last.createdAt ? r : last), null);
}

function refundNote(p) {
  const last = lastRefund(p);
  if (last?.status !== 'failed') return null;
  return h('p', { class: 'note bad', role: 'alert' }, t('payments.refund_failed', { amount: money(last.amount, p.currency), why: said(last.failureReason) || '–' }));
}

/* What the customer has to do; a link only to a web page. */
function actionNote(p) {
  const a = p.requiresAction;
  if (!a || p.status !== 'PENDING' || p.givenUp) return null;
  return h('div', { class: 'note warn' }, h('p', {}, h('strong', {}, t('payments.next_step')), ' ', t(a.url ? 'payments.action_page' : 'payments.action_other', { type: a.type }), a.expiresAt && ` ${t('payments.action_until', { time: timeText(a.expiresAt) })}`),
    /^https?:\/\//.test(a.url || '') && h('p', {}, h('a', { href: a.url, target: '_blank', rel: 'noopener noreferrer' }, t('payments.action_open')), ' ', h('code', { class: 'wrap small' }, user(a.url, 120))),
    a.details && jsonView(a.details));
}

function notes(p) {
  return [
    p.failureReason && p.status === 'FAILED' && h('p', { class: 'note bad' }, t('payments.failed_note', { why: said(p.failureReason) })),
    refundNote(p),
    actionNote(p),
    p.openOperation?.phase === 'unknown' && h('p', { class: 'note warn' }, t('payments.unknown_note', { what: operationName(p.openOperation.kind) })),
    p.disputed && h('p', { class: 'note warn' }, t('payments.disputed_note')),
    p.givenUp && h('p', { class: 'note' }, t('payments.given_up_text')),
  ];
}

function paymentFacts(p) {
  const subject = subjectOf(p);
  return facts([
    [t('field.id'), copyable(p.id)],
    subject && [t(subject[0]), copyable(subject[1])],
    [t('payments.user'), [copyable(p.userId), h('a', { class: 'more', href: `#/payments?userId=${encodeURIComponent(p.userId)}` }, t('payments.user_all'))]],
    [t('payments.description'), user(p.description, 400)],
    [t('field.gateway'), user(p.gateway, 40)],
    [t('payments.provider_id'), p.gatewayTransactionId ? copyable(p.gatewayTransactionId) : null],
    [t('payments.key'), copyable(p.idempotencyKey)],
    [t('payments.failure'), user(said(p.failureReason), 500)],
    [t('payments.updated'), time(p.updatedAt)],
  ]);
}

/* ---- what belongs to it ---- */

function refunds(p) {
  return table({
    caption: t('payments.refunds'),
    rows: p.refunds || [],
    empty: { title: t('payments.refunds_none') },
    columns: [
      { label: t('field.created'), cell: (r) => time(r.createdAt) },
      { label: t('field.amount'), align: 'right', cell: (r) => money(r.amount, p.currency) },
      { label: t('field.state'), cell: (r) => badge(r.status) },
      { label: t('field.reason'), cell: (r) => user(said(r.failureReason) || causeName(r.reason), 200) },
    ],
  });
}

function operations(p) {
  return table({
    caption: t('payments.operations'),
    rows: p.operations || [],
    columns: [
      { label: t('field.operation'), cell: (o) => operationName(o.kind) },
      { label: t('field.started'), cell: (o) => time(o.claimedAt) },
      { label: t('payments.duration'), align: 'right', cell: (o) => (o.endedAt ? duration(Date.parse(o.endedAt) - Date.parse(o.claimedAt)) : null) },
      { label: t('field.amount'), align: 'right', cell: (o) => (o.amount === null ? null : money(o.amount, p.currency)) },
      { label: t('payments.requested_by'), cell: (o) => user(causeName(o.cause === 'client' && o.by === 'operator' ? 'operator' : o.cause), 60) },
      { label: t('payments.sends'), align: 'right', cell: (o) => n(o.sends) },
      { label: t('payments.asks'), align: 'right', cell: (o) => n(o.asks) },
      { label: t('field.result'), cell: (o) => (o.phase === 'unknown' ? badge('unknown') : o.phase === 'done' ? badge(o.result || 'done') : badge('running')) },
    ],
  });
}

function transactions(p) {
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
      { label: t('payments.failure'), cell: (x) => user(said(x.failureMessage || x.failureCode || x.cancelReason), 200) },
      { label: t('payments.updated'), cell: (x) => time(x.updatedAt || x.createdAt) },
    ],
  }));
}

function disputes(p) {
  if (!p.disputes?.length) return null;
  return card(t('payments.disputes'), {}, table({
    caption: t('payments.disputes'),
    rows: p.disputes,
    columns: [
      { label: t('field.id'), cell: (d) => copyable(d.id, { short: 40 }) },
      { label: t('field.state'), cell: (d) => badge(d.status, { tone: d.lost ? 'bad' : d.closed ? 'calm' : 'warn' }) },
      { label: t('field.amount'), align: 'right', cell: (d) => money(d.amount, p.currency) },
      { label: t('field.reason'), cell: (d) => user(d.reason, 120) },
      { label: t('field.started'), cell: (d) => time(d.createdAt) },
    ],
  }));
}

function raw(p) {
  const box = h('div', {});
  return h('details', { class: 'raw', ontoggle: (e) => (e.target.open ? clear(box, jsonView(p, { label: t('payments.json') })) : clear(box)) }, h('summary', {}, t('payments.json')), box);
}

function belongings(p) {
  return [
    h('div', { class: 'halves' }, card(t('payments.details'), {}, paymentFacts(p)), card(t('payments.refunds'), {}, refunds(p))),
    card(t('payments.operations'), {}, operations(p)),
    disputes(p),
    transactions(p),
    raw(p),
  ];
}

/* ---- what may be done ---- */

/* News of an act as the payment stands now: a refund may come back later, and refundNote says so. */
function told({ name, amount }, p) {
  const refund = name === 'refund' ? lastRefund(p)?.status : null;
  if (refund === 'failed') return null;
  if (p.openOperation) return h('p', { class: 'note warn', role: 'status' }, t('payments.result_wait'));
  return h('p', { class: 'note good', role: 'status' }, name === 'capture' ? t('payments.result_capture', { amount: money(amount, p.currency) }) : t(refund === 'succeeded' ? 'payments.result_refunded' : `payments.result_${name}`));
}

function buttons(p, session, act) {
  if (!operates(session)) return null;
  const kinds = { capture: 'primary', refund: '', void: '' };
  return Object.keys(kinds).filter((name) => mayAct(name, p))
    .map((name) => button({ label: `${t(`payments.${name}`)}…`, kind: kinds[name], onclick: (e) => act(name, e.currentTarget) }));
}

/* ---- the view ---- */

/* What stood at the same place before and says the same has the keyboard again. */
function focusAgain(box, was) {
  const same = [...box.querySelectorAll(was.tagName)].find((el) => el.textContent === was.textContent);
  (same || box.querySelector('h1'))?.focus({ preventScroll: true });
}

/* A box that is drawn again only where what it shows has changed, and not under somebody's hands. free: nobody types
 * there, so only what is being copied keeps it. */
function changing(draw, { free } = {}) {
  const box = h('div', { class: 'stack' }, spinner());
  let shown = null;
  return {
    el: box,
    show(data, force) {
      const text = JSON.stringify(data);
      const at = box.contains(document.activeElement) ? document.activeElement : null;
      const held = (at && !free) || (String(getSelection()) && box.contains(getSelection().anchorNode));
      if (text === shown || (shown && held && !force)) return;
      clear(box, draw(data));
      shown = text;
      if (at) focusAgain(box, at);
    },
  };
}

export default {
  path: '/payments/:id',
  title: 'field.payment',
  role: 'viewer',
  async mount(root, { params, session, signal }) {
    const path = `payments/${encodeURIComponent(params.id)}`;
    const news = h('div', {});
    const head = changing((p) => [pageHead([money(p.amount, p.currency), standing(p)], { back: { href: '#/payments', label: t('payments.back') }, lead: user(p.description, 300), actions: buttons(p, session, act) }), notes(p), tiles(p)], { free: true });
    const line = changing(({ timeline, ...of }) => timelineView(timeline, of));
    const rest = changing(belongings);
    const wrong = h('div', {});
    let acted = null;
    let acting = false;
    let asked = 0;
    let answered = 0;
    let p = await get(path, null, { signal });

    /* Of two answers the one that was asked for later is shown, whichever comes first. */
    async function read(force) {
      const mine = ++asked;
      const now = await get(path, null, { signal });
      if (mine < answered) return;
      answered = mine;
      p = now;
      show(force);
    }
    function show(force) {
      head.show(p, force);
      rest.show(p, force);
      const text = acted && told(acted, p);
      if (news.textContent !== (text?.textContent || '')) clear(news, text);
    }
    async function look(force) {
      await read(force);
      line.show({ timeline: await get(`${path}/timeline`, null, { signal }), status: p.status, currency: p.currency }, force);
      clear(wrong);
    }
    /* What is shown may be old: it is looked at before and after. */
    async function ask(name, at) {
      const what = t(`payments.${name}`);
      await read(true);
      at.classList.remove('working');
      if (signal.aborted) return;
      if (!mayAct(name, p)) return void toast(t('payments.not_possible', { what }), 'bad');
      const done = await actDialog(name, p, { who: session.user.id, signal });
      if (!done) return;
      toast([t('payments.act_done', { what }), signal.aborted && [' ', nameOf(p)]], 'good');
      acted = { name, amount: done.amount };
    }
    async function act(name, at) {
      if (acting) return;
      acting = true;
      at.classList.add('working');
      try {
        await ask(name, at).finally(() => (acting = false));
        if (!signal.aborted) await look(true);
      } catch (err) {
        if (!signal.aborted) clear(wrong, errorBox(err));
      }
      at.classList.remove('working');
      if (!signal.aborted && document.activeElement === document.body) focusAgain(head.el, at); /* it was drawn anew meanwhile */
    }
    show();
    clear(root, head.el, news, card(t('payments.timeline'), {}, line.el), rest.el);
    every(FOLLOW_MS, look, signal, (err) => clear(wrong, err && errorBox(err, () => look(true))));
    root.insertBefore(wrong, news);
  },
};
