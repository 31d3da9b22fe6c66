/* What the providers sent, what became of it, and how often it came again. */

import { clear, h, user } from '../lib/dom.js';
import { get, post } from '../lib/api.js';
import { agoText, duration, t, time } from '../lib/i18n.js';
import { badge, button, confirmDialog, copyable, field, jsonView, newId, openDialog, pageHead, pager, table } from '../lib/ui.js';
import { filterBar, operates, paymentLink, whole, words } from '../lib/parts.js';
import { askReplaySpan, followRedrive, runningRedrives } from '../lib/redrives.js';

const OUTCOMES = ['applied', 'duplicate', 'superseded', 'ignored', 'failed', 'pending'];
const TONES = { applied: 'good', superseded: 'calm', ignored: 'calm', failed: 'bad', pending: 'busy' };
const TYPES = ['payment_intent.succeeded', 'payment_intent.payment_failed', 'payment_intent.canceled', 'payment_intent.amount_capturable_updated', 'charge.refunded', 'checkout.session.completed'];
const LATE_MS = 60000; /* an event that came so much later than it happened says so */

function typeCell(e) {
  return h('div', { class: 'two-lines' }, h('span', { class: 'wrap' }, user(e.type, 80) || '–', e.livemode ? [' ', badge('live', { tone: 'warn', label: t('events.livemode') })] : null), h('span', { class: 'faint small' }, copyable(e.id, { short: 36 })));
}

const outcomeName = (o) => words('status', o === 'failed' ? 'dead' : o);

function outcomeCell(e) {
  const text = badge(e.outcome, { tone: TONES[e.outcome], label: outcomeName(e.outcome) });
  return [e.outcome === 'failed' ? h('a', { href: `#/dlq?ref=${encodeURIComponent(e.id)}`, title: t('events.dead') }, text) : text, e.detail ? h('div', { class: 'small faint' }, whole(e.detail, 100)) : null];
}

function whenCell(e) {
  const late = e.createdAt ? Date.parse(e.receivedAt) - Date.parse(e.createdAt) : 0;
  return h('div', { class: 'two-lines' }, time(e.receivedAt), late > LATE_MS ? h('span', { class: 'faint small' }, t('events.late', { time: duration(late) })) : null);
}

function againCell(e) {
  if (!e.duplicates) return null;
  return h('div', { class: 'two-lines' }, h('strong', {}, t('events.times', { n: e.duplicates })), e.lastDuplicateAt ? h('span', { class: 'faint small' }, t('events.last', { when: agoText(e.lastDuplicateAt) })) : null);
}

/* All that is known of it; its body is shown where it is a dead letter. */
function openEvent(e) {
  const d = openDialog({ title: e.type || e.id, wide: true, body: jsonView(e), foot: [e.outcome === 'failed' && h('a', { class: 'button', href: `#/dlq?ref=${encodeURIComponent(e.id)}` }, t('events.dead')), button({ label: t('ui.close'), onclick: () => d.close() })] });
}

function askReplay(e) {
  return confirmDialog({ title: t('events.replay.title'), body: [h('p', {}, h('code', { class: 'wrap' }, user(e.id, 120))), h('p', {}, t('events.replay.body'))], confirm: t('events.replay.confirm'), action: () => post('replays', { eventId: e.id, ratePerSecond: 1 }) });
}

function columns(replay) {
  return [
    { label: t('field.received'), class: 'nowrap', cell: whenCell },
    { label: t('field.event_type'), class: 'grow roomy', cell: typeCell },
    { label: t('events.outcome'), cell: outcomeCell },
    { label: t('events.duplicates'), cell: againCell },
    { label: t('field.payment'), cell: (e) => paymentLink(e.paymentId) },
    { label: '', class: 'act-cell', cell: (e) => (replay ? button({ label: t('events.replay'), small: true, onclick: () => replay(e) }) : button({ label: t('ui.details'), small: true, onclick: () => openEvent(e) })) },
  ];
}

function fieldsOf(query) {
  const types = newId('types');
  const outcome = [['', t('ui.all')], ...OUTCOMES.map((o) => [o, outcomeName(o)])];
  return [h('datalist', { id: types }, TYPES.map((x) => h('option', { value: x }))), [
    field({ label: t('events.outcome'), type: 'select', name: 'outcome', value: query.get('outcome') || '', options: outcome }),
    field({ label: t('field.event_type'), name: 'type', list: types, value: query.get('type'), maxlength: 255, spellcheck: 'false', autocapitalize: 'none' }),
    field({ label: t('field.payment_id'), name: 'paymentId', value: query.get('paymentId'), placeholder: 'UUID', spellcheck: 'false', autocapitalize: 'none' }),
  ]];
}

export default {
  path: '/events',
  title: 'events.title',
  nav: true,
  role: 'viewer',
  icon: 'dot',
  key: 'e',
  async mount(root, { query, session, go, signal }) {
    const news = h('div', { role: 'status' });
    async function follow(started) {
      clear(news, await followRedrive(started, signal));
      list.reload(true);
    }
    async function replaySpan() {
      const started = await askReplaySpan(filter.type, types.id);
      running.look().catch(() => {});
      if (started) follow(started);
    }
    async function replay(e) {
      const done = await askReplay(e);
      running.look().catch(() => {});
      if (done) follow(done.result);
    }
    let filter = Object.fromEntries(['outcome', 'type', 'paymentId'].map((name) => [name, query.get(name)]));
    const list = pager((cursor) => get('events', { ...filter, limit: 20, cursor }, { signal }),
      (rows) => table({ columns: columns(operates(session) && replay), rows, caption: t('events.title'), onRow: openEvent, empty: { title: t('events.none'), hint: t('events.none.hint') } }), { signal });
    const [types, fields] = fieldsOf(query);
    const running = runningRedrives({ session, signal, kind: 'replay', onended: () => list.reload(true) });
    root.append(pageHead(t('events.title'), { lead: t('events.lead'), actions: operates(session) && button({ label: t('events.range'), onclick: replaySpan }) }), types, running.el,
      filterBar(fields, { label: t('filter.apply'), reset: t('filter.reset'), apply(values) { filter = values; go('/events', values, { stay: true }); list.first(); } }), news, list.el);
  },
};
