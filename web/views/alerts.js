/* Alerts, goals, outcomes that are not known yet, and the days whose books were compared. */

import { clear, h, user } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { ago, duration, either, has, money, n, t } from '../lib/i18n.js';
import { badge, errorBox, pageHead, pager, spinner, table, tabs } from '../lib/ui.js';
import { paymentLink, whole } from '../lib/parts.js';
import { operationName } from '../lib/payment_ui.js';
import { every } from '../lib/poll.js';
import { dayList } from './books.js';

const LOOK_MS = 10000;

/* Three digits behind the point: 99.97 % must not read as 100 % beside a goal of 99.9 %. */
function inUnit(value, unit) {
  const v = Number.isInteger(value) ? value : n(value, 3);
  return has(`alerts.unit.${unit}`) ? t(`alerts.unit.${unit}`, { v }) : `${v} ${unit}`;
}

/* ---- alerts ---- */

const ORDER = { firing: 0, pending: 1, ok: 2 };
const TONE = { firing: 'bad', pending: 'warn', ok: 'good' };

function where(a) {
  return [a.windowMs ? t('alerts.window', { time: duration(a.windowMs) }) : null, a.node ? t('alerts.node', { id: a.node.slice(0, 13) }) : null].filter(Boolean).join(' · ');
}

function loudCard(a) {
  return h('article', { class: `alert-card ${TONE[a.state]}` },
    h('div', { class: 'alert-head' }, badge(a.state, { tone: TONE[a.state], label: t(a.state === 'pending' ? 'alerts.pending' : `status.${a.state}`) }), h('h3', {}, user(either(a, 'summary'), 200)), h('span', { class: 'faint small' }, a.since && ago(a.since))),
    h('p', { class: 'alert-value' }, h('strong', { class: 'num' }, inUnit(a.value, a.unit)), h('span', { class: 'faint' }, ` ${t('alerts.threshold')}: ${inUnit(a.threshold, a.unit)}`), where(a) && h('span', { class: 'faint' }, ` · ${where(a)}`)),
    h('p', {}, h('strong', {}, `${t('alerts.what_next')}: `), user(either(a, 'whatNext'), 600)));
}

function ruleCell(a) {
  return h('div', { class: 'two-lines' }, h('span', { class: 'wrap' }, user(either(a, 'summary'), 160)), h('span', { class: 'faint small' }, h('code', {}, a.name), where(a) ? ` · ${where(a)}` : null));
}

function summaryLine(rows) {
  const firing = rows.filter((a) => a.state === 'firing').length;
  const pending = rows.filter((a) => a.state === 'pending').length;
  if (!firing && !pending) return h('p', { class: 'verdict good' }, h('strong', {}, t('alerts.none')), ' ', t('alerts.none.hint'));
  return h('p', { class: `verdict ${firing ? 'bad' : 'warn'}` }, h('strong', {}, [firing ? t('alerts.firing.n', { n: firing }) : null, pending ? t('alerts.pending.n', { n: pending }) : null].filter(Boolean).join(' · ')));
}

function alertsOf({ data }) {
  const rows = [...data].sort((a, b) => ORDER[a.state] - ORDER[b.state]);
  return [summaryLine(rows), rows.filter((a) => a.state !== 'ok').map(loudCard), table({
    caption: t('alerts.tab.alerts'), rows,
    columns: [
      { label: t('field.state'), cell: (a) => badge(a.state, { tone: TONE[a.state], label: t(a.state === 'pending' ? 'alerts.pending' : `status.${a.state}`) }) },
      { label: t('alerts.rule'), class: 'grow', cell: ruleCell },
      { label: t('alerts.value'), align: 'right', cell: (a) => inUnit(a.value, a.unit) },
      { label: t('alerts.threshold'), align: 'right', cell: (a) => inUnit(a.threshold, a.unit) },
      { label: t('alerts.since'), cell: (a) => (a.since ? ago(a.since) : h('span', { class: 'faint' }, t('alerts.since.start'))) },
      { label: t('alerts.notified'), cell: (a) => (a.lastToldAt ? ago(a.lastToldAt) : null) },
    ],
  })];
}

/* ---- goals ---- */

const GOAL_TONE = { met: 'good', missed: 'bad', no_data: 'calm' };
const SIGN = { '>=': '≥', '<': '<', '=': '=' };

function windowCell(w, unit) {
  const note = [w.measured === null ? null : t('alerts.goal.events', { n: w.events }), t('alerts.goal.covered', { time: duration(w.coveredMs) })].filter(Boolean).join(' · ');
  return h('div', { class: 'two-lines', title: note }, badge(w.status, { tone: GOAL_TONE[w.status], label: t(`alerts.goal.${w.status}`) }), w.measured === null ? null : h('span', { class: 'num small' }, inUnit(w.measured, unit)));
}

function goalsOf(r) {
  return [h('p', { class: 'lead' }, user(either(r, 'note'), 300)), table({
    caption: t('alerts.tab.goals'), rows: r.data,
    columns: [
      { label: t('alerts.goal'), class: 'grow', cell: (g) => h('div', { class: 'two-lines' }, h('span', { class: 'wrap' }, user(either(g, 'summary'), 160)), h('span', { class: 'faint small' }, h('code', {}, g.name))) },
      { label: t('alerts.target'), align: 'right', cell: (g) => `${SIGN[g.compare] || g.compare} ${inUnit(g.target, g.unit)}` },
      ...['5m', '1h', '24h'].map((name) => ({ label: t(`alerts.last.${name}`), cell: (g) => {
        const w = g.windows.find((x) => x.window === name);
        return w ? windowCell(w, g.unit) : null;
      } })),
    ],
  })];
}

/* ---- outcomes that are not known ---- */

function unknownList(signal) {
  const columns = [
    { label: t('field.payment'), cell: (u) => paymentLink(u.paymentId) },
    { label: t('field.operation'), cell: (u) => operationName(u.operation) },
    { label: t('field.amount'), align: 'right', cell: (u) => money(u.amount, u.currency) },
    { label: t('field.gateway'), cell: (u) => user(u.gateway, 40) },
    { label: t('alerts.sends'), cell: (u) => t('alerts.sends.n', { sends: u.sends, asks: u.asks }) },
    { label: t('alerts.lasterror'), class: 'grow', cell: (u) => whole(u.lastError, 120) },
    { label: t('alerts.age'), cell: (u) => h('span', { title: u.claimedAt }, duration(u.ageMs)) },
  ];
  const list = pager((cursor) => get('unknown', { limit: 20, cursor }, { signal }),
    (rows) => table({ columns, rows, caption: t('alerts.tab.unknown'), empty: { title: t('alerts.unknown.none'), hint: t('alerts.unknown.none.hint') } }), { signal });
  return h('div', {}, h('p', { class: 'lead' }, t('alerts.unknown.lead')), list.el);
}

/* A part that is asked for again and again while its tab is shown. */
function live(path, render, signal) {
  const box = h('div', {}, spinner());
  every(LOOK_MS, async () => clear(box, render(await get(path, null, { signal }))), signal, (err) => err && clear(box, errorBox(err)));
  return box;
}

export default {
  path: '/alerts',
  title: 'alerts.title',
  nav: true,
  role: 'viewer',
  key: 'a',
  async mount(root, { query, go, session, signal }) {
    let shown = new AbortController();
    const parts = {
      alerts: (s) => live('alerts', alertsOf, s),
      goals: (s) => live('slo', goalsOf, s),
      unknown: unknownList,
      books: (s) => dayList(s, go, session),
    };
    const list = Object.keys(parts).map((id) => ({ id, label: t(`alerts.tab.${id}`), render() {
      shown.abort();
      shown = new AbortController();
      return parts[id](shown.signal);
    } }));
    signal.addEventListener('abort', () => shown.abort());
    let first = true;
    root.append(pageHead(t('alerts.title'), { lead: t('alerts.lead') }), tabs(list, { selected: query.get('tab') || 'alerts', label: t('alerts.title'), onselect(id) {
      if (!first) go('/alerts', { tab: id === 'alerts' ? '' : id }, { replace: true, stay: true });
      first = false;
    } }));
  },
};
