/* Alerts, service level goals, operations whose outcome is unknown, and daily reconciliations, each in a tab. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { agoTag, bilingual, duration, formatNumber, hasText, money, t } from '../lib/i18n.js';
import { addressTabs, badge, longText, pageHead, spinner, twoLines, wrapped } from '../lib/ui.js';
import { errorBox } from '../lib/feedback.js';
import { pagedTable, table } from '../lib/table.js';
import { operationName, paymentLink } from '../lib/payment_ui.js';
import { poll } from '../lib/poll.js';
import { reconciliationList } from './reconciliation.js';

const REFRESH_MS = 10000;

/* Three decimals, because 99.97 % must not be shown as 100 % next to a goal of 99.9 %. */
function inUnit(value, unit) {
  const v = Number.isInteger(value) ? value : formatNumber(value, 3);
  return hasText(`alerts.unit.${unit}`) ? t(`alerts.unit.${unit}`, { v }) : `${v} ${unit}`;
}

/* ---- alerts ---- */

const ORDER = { firing: 0, pending: 1, ok: 2 };
const TONE = { firing: 'bad', pending: 'warn', ok: 'good' };

/* 'pending' of an alert means that its condition must hold a little longer, unlike a pending payment. */
const stateBadge = (a) => badge(a.state, { tone: TONE[a.state], label: t(a.state === 'pending' ? 'alerts.pending' : `status.${a.state}`) });

function windowAndNode(a) {
  return [a.windowMs ? t('alerts.window', { time: duration(a.windowMs) }) : null, a.node ? t('alerts.node', { id: a.node.slice(0, 13) }) : null].filter(Boolean).join(' · ');
}

function alertCard(a) {
  return h('article', { class: `alert-card ${TONE[a.state]}` },
    h('div', { class: 'alert-head' }, stateBadge(a), h('h3', {}, untrusted(bilingual(a, 'summary'), 200)), h('span', { class: 'faint small' }, a.since && agoTag(a.since))),
    h('p', { class: 'alert-value' }, h('strong', { class: 'num' }, inUnit(a.value, a.unit)), h('span', { class: 'faint' }, ` ${t('alerts.threshold')}: ${inUnit(a.threshold, a.unit)}`), windowAndNode(a) && h('span', { class: 'faint' }, ` · ${windowAndNode(a)}`)),
    h('p', {}, h('strong', {}, `${t('alerts.what_next')}: `), untrusted(bilingual(a, 'whatNext'), 600)));
}

function ruleCell(a) {
  return twoLines(wrapped(bilingual(a, 'summary'), 160), [h('code', {}, a.name), windowAndNode(a) ? ` · ${windowAndNode(a)}` : null]);
}

function summaryLine(rows) {
  const firing = rows.filter((a) => a.state === 'firing').length;
  const pending = rows.filter((a) => a.state === 'pending').length;
  if (!firing && !pending) return h('p', { class: 'verdict good' }, h('strong', {}, t('alerts.none')), ' ', t('alerts.none.hint'));
  return h('p', { class: `verdict ${firing ? 'bad' : 'warn'}` }, h('strong', {}, [firing ? t('alerts.firing.n', { n: firing }) : null, pending ? t('alerts.pending.n', { n: pending }) : null].filter(Boolean).join(' · ')));
}

function alertsOf({ data }) {
  const rows = [...data].sort((a, b) => ORDER[a.state] - ORDER[b.state]);
  return [summaryLine(rows), rows.filter((a) => a.state !== 'ok').map(alertCard), table({
    caption: t('alerts.tab.alerts'), rows,
    columns: [
      { label: t('field.state'), cell: (a) => stateBadge(a) },
      { label: t('alerts.rule'), class: 'grow', cell: ruleCell },
      { label: t('alerts.value'), align: 'right', cell: (a) => inUnit(a.value, a.unit) },
      { label: t('alerts.threshold'), align: 'right', cell: (a) => inUnit(a.threshold, a.unit) },
      { label: t('alerts.since'), cell: (a) => (a.since ? agoTag(a.since) : h('span', { class: 'faint' }, t('alerts.since.start'))) },
      { label: t('alerts.notified'), cell: (a) => (a.lastToldAt ? agoTag(a.lastToldAt) : null) },
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
  return [h('p', { class: 'lead' }, untrusted(bilingual(r, 'note'), 300)), table({
    caption: t('alerts.tab.goals'), rows: r.data,
    columns: [
      { label: t('alerts.goal'), class: 'grow', cell: (g) => twoLines(wrapped(bilingual(g, 'summary'), 160), h('code', {}, g.name)) },
      { label: t('alerts.target'), align: 'right', cell: (g) => `${SIGN[g.compare] || g.compare} ${inUnit(g.target, g.unit)}` },
      ...['5m', '1h', '24h'].map((name) => ({ label: t(`alerts.last.${name}`), cell: (g) => {
        const w = g.windows.find((x) => x.window === name);
        return w ? windowCell(w, g.unit) : null;
      } })),
    ],
  })];
}

/* ---- unknown outcomes ---- */

function unknownList(signal) {
  const columns = [
    { label: t('field.payment'), cell: (u) => paymentLink(u.paymentId) },
    { label: t('field.operation'), cell: (u) => operationName(u.operation) },
    { label: t('field.amount'), align: 'right', cell: (u) => money(u.amount, u.currency) },
    { label: t('field.gateway'), cell: (u) => untrusted(u.gateway, 40) },
    { label: t('alerts.sends'), cell: (u) => t('alerts.sends.n', { sends: u.sends, asks: u.asks }) },
    { label: t('alerts.lasterror'), class: 'grow', cell: (u) => longText(u.lastError, 120) },
    { label: t('alerts.age'), cell: (u) => h('span', { title: u.claimedAt }, duration(u.ageMs)) },
  ];
  const list = pagedTable({ path: 'unknown', limit: 20, signal, columns, caption: t('alerts.tab.unknown'), empty: { title: t('alerts.unknown.none'), hint: t('alerts.unknown.none.hint') } });
  return h('div', {}, h('p', { class: 'lead' }, t('alerts.unknown.lead')), list.el);
}

/* A box that is reloaded every few seconds while its tab is shown. */
function refreshedBox(path, render, signal) {
  const box = h('div', {}, spinner());
  poll(REFRESH_MS, async () => replaceContent(box, render(await get(path, null, { signal }))), signal, (err) => err && replaceContent(box, errorBox(err)));
  return box;
}

export default {
  path: '/alerts',
  title: 'alerts.title',
  nav: true,
  role: 'viewer',
  key: 'a',
  async mount(root, { query, go, signal }) {
    const renderers = {
      alerts: (s) => refreshedBox('alerts', alertsOf, s),
      goals: (s) => refreshedBox('slo', goalsOf, s),
      unknown: unknownList,
      books: (s) => reconciliationList(s, go),
    };
    root.append(pageHead(t('alerts.title'), { lead: t('alerts.lead') }),
      addressTabs(renderers, { path: '/alerts', query, go, signal, label: t('alerts.title'), labelOf: (id) => t(`alerts.tab.${id}`) }));
  },
};
