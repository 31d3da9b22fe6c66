/* Webhook events: what the providers sent, the result of processing it, and how often it was received again. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { post } from '../lib/api.js';
import { agoText, duration, t, textFor, timeTag } from '../lib/i18n.js';
import { badge, button, longText, newId, pageHead, twoLines } from '../lib/ui.js';
import { copyable, jsonView } from '../lib/copyable.js';
import { pagedTable } from '../lib/table.js';
import { EXACT, field, filterBar } from '../lib/form.js';
import { confirmDialog, openDialog } from '../lib/dialog.js';
import { canOperate } from '../lib/session.js';
import { paymentLink } from '../lib/payment_ui.js';
import { askReplayRange, followRedrive, runningRedrives } from '../lib/redrives.js';

const OUTCOMES = ['applied', 'duplicate', 'superseded', 'ignored', 'failed', 'pending'];
const TONES = { applied: 'good', superseded: 'calm', ignored: 'calm', failed: 'bad', pending: 'busy' };
const TYPES = ['payment_intent.succeeded', 'payment_intent.payment_failed', 'payment_intent.canceled', 'payment_intent.amount_capturable_updated', 'charge.refunded', 'checkout.session.completed'];
const LATE_MS = 60000; /* an event that was received later than this after it occurred says so */

function typeCell(e) {
  return h('div', { class: 'two-lines' }, h('span', { class: 'wrap' }, untrusted(e.type, 80) || '–', e.livemode ? [' ', badge('live', { tone: 'warn', label: t('events.livemode') })] : null), h('span', { class: 'faint small' }, copyable(e.id, { short: 36 })));
}

const outcomeName = (o) => textFor('status', o === 'failed' ? 'dead' : o);

function outcomeCell(e) {
  const text = badge(e.outcome, { tone: TONES[e.outcome], label: outcomeName(e.outcome) });
  return [e.outcome === 'failed' ? h('a', { href: `#/dlq?ref=${encodeURIComponent(e.id)}`, title: t('events.dead') }, text) : text, e.detail ? h('div', { class: 'small faint' }, longText(e.detail, 100)) : null];
}

function whenCell(e) {
  const late = e.createdAt ? Date.parse(e.receivedAt) - Date.parse(e.createdAt) : 0;
  return twoLines(timeTag(e.receivedAt), late > LATE_MS && t('events.late', { time: duration(late) }));
}

function duplicatesCell(e) {
  if (!e.duplicates) return null;
  return twoLines(h('strong', {}, t('events.times', { n: e.duplicates })), e.lastDuplicateAt && t('events.last', { when: agoText(e.lastDuplicateAt) }));
}

/* Shows the event's record. Its body is shown in its dead letter, if there is one. */
function openEvent(e) {
  const d = openDialog({ title: e.type || e.id, wide: true, body: jsonView(e), foot: [e.outcome === 'failed' && h('a', { class: 'button', href: `#/dlq?ref=${encodeURIComponent(e.id)}` }, t('events.dead')), button({ label: t('ui.close'), onclick: () => d.close() })] });
}

function confirmReplay(e) {
  return confirmDialog({ title: t('events.replay.title'), body: [h('p', {}, h('code', { class: 'wrap' }, untrusted(e.id, 120))), h('p', {}, t('events.replay.body'))], confirm: t('events.replay.confirm'), action: () => post('replays', { eventId: e.id, ratePerSecond: 1 }) });
}

function columns(replay) {
  return [
    { label: t('field.received'), class: 'nowrap', cell: whenCell },
    { label: t('field.event_type'), class: 'grow roomy', cell: typeCell },
    { label: t('events.outcome'), cell: outcomeCell },
    { label: t('events.duplicates'), cell: duplicatesCell },
    { label: t('field.payment'), cell: (e) => paymentLink(e.paymentId) },
    { label: '', class: 'action-cell', cell: (e) => (replay ? button({ label: t('events.replay'), small: true, onclick: () => replay(e) }) : button({ label: t('ui.details'), small: true, onclick: () => openEvent(e) })) },
  ];
}

function fieldsOf(query) {
  const types = newId('types');
  const outcome = [['', t('ui.all')], ...OUTCOMES.map((o) => [o, outcomeName(o)])];
  return [h('datalist', { id: types }, TYPES.map((x) => h('option', { value: x }))), [
    field({ label: t('events.outcome'), type: 'select', name: 'outcome', value: query.get('outcome') || '', options: outcome }),
    field({ label: t('field.event_type'), name: 'type', list: types, value: query.get('type'), maxlength: 255, ...EXACT }),
    field({ label: t('field.payment_id'), name: 'paymentId', value: query.get('paymentId'), placeholder: 'UUID', ...EXACT }),
  ]];
}

export default {
  path: '/events',
  title: 'events.title',
  nav: true,
  role: 'viewer',
  key: 'e',
  async mount(root, { query, session, go, signal }) {
    const result = h('div', { role: 'status' });
    async function follow(started) {
      replaceContent(result, await followRedrive(started, signal));
      list.reload(true);
    }
    async function replayRange() {
      const started = await askReplayRange(filter.type, types.id);
      running.update().catch(() => {});
      if (started) follow(started);
    }
    async function replay(e) {
      const done = await confirmReplay(e);
      running.update().catch(() => {});
      if (done) follow(done.result);
    }
    let filter = Object.fromEntries(['outcome', 'type', 'paymentId'].map((name) => [name, query.get(name)]));
    const list = pagedTable({ path: 'events', params: () => filter, limit: 20, signal, columns: columns(canOperate(session) && replay), caption: t('events.title'),
      onRow: openEvent, empty: { title: t('events.none'), hint: t('events.none.hint') } });
    const [types, fields] = fieldsOf(query);
    const running = runningRedrives({ session, signal, kind: 'replay', onended: () => list.reload(true) });
    root.append(pageHead(t('events.title'), { lead: t('events.lead'), actions: canOperate(session) && button({ label: t('events.range'), onclick: replayRange }) }), types, running.el,
      filterBar(fields, { apply(values) { filter = values; go('/events', values, { stay: true }); list.first(); } }), result, list.el);
  },
};
