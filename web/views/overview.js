/* Overview: first what needs attention, then today's totals, then charts of the last ten minutes. Each part loads its own data,
 * so that one that fails does not affect the others. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { agoTag, bilingual, duration, formatNumber, money, now, setServerTime, t } from '../lib/i18n.js';
import { badge, card, countText, facts, icon, pageHead, spinner, tile } from '../lib/ui.js';
import { errorBox, staleNote } from '../lib/feedback.js';
import { copyableId } from '../lib/copyable.js';
import { table } from '../lib/table.js';
import { lineChart } from '../lib/chart.js';
import { operationName, paymentColumns, paymentHref } from '../lib/payment_ui.js';
import { poll } from '../lib/poll.js';

const POINTS = 300;
const RECENT = 8;

/* A box that reloads itself every `ms`. It is not redrawn while an element in it has the focus. */
function refreshedPart(ms, load, draw, signal) {
  const box = h('div', { class: 'part' }, spinner());
  const stale = staleNote();
  let drawn = false;
  poll(ms, async () => {
    const data = await load();
    if (signal.aborted) return;
    stale.setError(null);
    box.classList.remove('stale');
    if (drawn && box.contains(document.activeElement)) return;
    replaceContent(box, stale.el, draw(data));
    drawn = true;
  }, signal, (err) => {
    if (err && !drawn) replaceContent(box, errorBox(err));
    else stale.setError(err);
    box.classList.toggle('stale', !!err && drawn);
  });
  return box;
}

/* ---- needs attention ---- */

function attentionItem({ tone, count, title, hint, href, more }) {
  return h('article', { class: `attention ${tone}` },
    h('a', { class: 'attention-head', href }, h('span', { class: 'attention-count num' }, count), h('h2', {}, title)),
    hint && h('p', { class: 'soft' }, hint),
    more);
}

function unknownList(rows) {
  return h('ul', { class: 'plain-list' }, rows.slice(0, 3).map((u) => h('li', {},
    h('a', { href: paymentHref(u.paymentId) }, t('overview.unknown_row', { operation: operationName(u.operation), amount: money(u.amount, u.currency), gateway: u.gateway })), ' ',
    h('span', { class: 'faint' }, agoTag(u.claimedAt)))));
}

function alertList(rows) {
  return h('ul', { class: 'plain-list' }, rows.slice(0, 3).map((a) => h('li', {}, h('span', { class: 'strong' }, untrusted(bilingual(a, 'summary'))), ' ', h('span', { class: 'soft' }, untrusted(bilingual(a, 'whatNext'))), /^dlq/.test(a.name) && [' ', h('a', { href: '#/dlq' }, t('dlq.open'))])));
}

const oldestNote = (iso) => iso && h('p', { class: 'faint' }, t('overview.oldest', { time: '' }), agoTag(iso));

function attentionItems({ overview: o, alerts, unknown }) {
  const items = [];
  if (alerts.length) items.push({ tone: 'bad', count: formatNumber(alerts.length), title: t('overview.firing'), hint: null, href: '#/alerts', more: alertList(alerts) });
  if (o.unknown.count) items.push({ tone: 'warn', count: countText(o.unknown.count, o.unknown.exact), title: t('overview.unknown'), hint: t('overview.unknown_hint'), href: unknown.length ? paymentHref(unknown[0].paymentId) : '#/payments', more: unknownList(unknown) });
  if (o.dead.count) items.push({ tone: 'bad', count: countText(o.dead.count, o.dead.exact), title: t('dlq.title'), hint: t('overview.dead_hint'), href: '#/dlq', more: oldestNote(o.dead.oldestAt) });
  if (!items.length) return h('div', { class: 'all-clear' }, icon('check'), h('div', {}, h('p', { class: 'strong' }, t('overview.all_clear')), h('p', { class: 'faint' }, t('overview.all_clear_hint'))));
  return h('div', { class: 'attentions' }, items.map(attentionItem));
}

/* ---- today ---- */

function amounts(list) {
  if (!list.length) return h('span', { class: 'faint' }, '–');
  return list.map((m) => h('span', { class: 'sum' }, money(m.amount, m.currency)));
}

function todayTiles(o) {
  const wait = o.queue.oldestReadyMs > 0 ? t('overview.queue_wait', { v: duration(o.queue.oldestReadyMs) }) : t('overview.queue_clear');
  return h('dl', { class: 'tiles' },
    tile(t('payments.title'), `${formatNumber(o.today.payments)}${o.today.exact ? '' : '+'}`, t('overview.today_zone', { zone: o.today.zone })),
    tile(t('payments.captured'), amounts(o.today.captured)),
    tile(t('payments.refunded'), amounts(o.today.refunded)),
    tile(t('overview.queue_now'), formatNumber(o.queue.live), wait));
}

/* ---- live ---- */

const perSecond = (name) => (p, s) => p[name] / s;
const value = (name) => (p) => p[name];

function chartList() {
  const rate = t('overview.per_second');
  return [
    { title: 'overview.chart_webhooks', unit: rate, lines: [[t('overview.chart_received'), perSecond('webhooks')], [t('overview.chart_applied'), perSecond('applied')]] },
    { title: 'payments.title', unit: rate, lines: [[t('overview.chart_created'), perSecond('payments')], [t('overview.chart_replayed'), perSecond('replays')]] },
    { title: 'overview.chart_ack', unit: 'ms', lines: [['p50', value('ackP50Ms')], ['p95', value('ackP95Ms')]] },
    { title: 'overview.chart_create', unit: 'ms', lines: [['p95', value('createP95Ms')]] },
    { title: 'overview.chart_queue', unit: '', lines: [[t('status.waiting'), value('queueLive')]] },
    { title: 'overview.chart_dead', unit: '', lines: [[t('overview.chart_dead'), value('dead')]], cls: 'c4' },
  ];
}

function liveCharts(signal) {
  const charts = chartList().map((c) => ({ ...c, chart: lineChart({ label: t(c.title), unit: c.unit, height: 128, series: c.lines.map(([label], i) => ({ label, cls: c.cls || `c${i + 1}` })) }) }));
  const staleText = h('p', { class: 'wrong', role: 'status' });
  let points = [];

  function draw(seconds) {
    const times = points.map((p) => p.at);
    for (const c of charts) c.chart.update({ times, values: c.lines.map(([, of]) => points.map((p) => of(p, seconds) ?? null)) });
  }
  poll(2000, async () => {
    const live = await get('live', { since: points.length ? points[points.length - 1].at : null }, { signal });
    setServerTime(live.asOf);
    const known = points.length ? points[points.length - 1].at : '';
    points = points.concat(live.points.filter((p) => p.at > known)).slice(-POINTS);
    draw(live.intervalMs / 1000);
  }, signal, (err) => (staleText.textContent = err ? t('overview.paused') : ''));
  return [staleText, h('div', { class: 'grid charts' }, charts.map((c) => card(t(c.title), { level: 'h3' }, c.chart.el)))];
}

/* ---- the rest ---- */

function recentPayments(page, session, go) {
  const sandbox = session.sandbox;
  return table({
    caption: t('overview.recent'),
    columns: paymentColumns({ brief: true }),
    rows: page.data,
    onRow: (p) => go(`/payments/${p.id}`),
    empty: { title: t('payments.none'), hint: t(sandbox ? 'overview.recent_hint' : 'payments.none_hint'), action: sandbox && h('a', { class: 'button', href: '#/sandbox' }, t('overview.to_sandbox')) },
  });
}

const GATEWAY_TEXTS = { closed: 'overview.gateway_closed', open: 'overview.gateway_open', half_open: 'overview.gateway_half_open' };

function gatewayList(o) {
  return h('ul', { class: 'rows' }, o.gateways.map((g) => h('li', {},
    h('div', {}, h('span', { class: 'strong' }, untrusted(g.name, 40)), h('p', { class: 'faint small' }, GATEWAY_TEXTS[g.state] ? t(GATEWAY_TEXTS[g.state]) : '')),
    h('div', { class: 'right' }, badge(g.state), h('p', { class: 'faint small num' }, g.inFlight ? t('overview.in_flight', { n: g.inFlight }) : '')))));
}

function nodeFacts(o) {
  return facts([
    [t('overview.version'), o.node.version],
    [t('overview.database'), o.node.database === 'postgres' ? 'PostgreSQL' : 'SQLite'],
    [t('overview.started'), agoTag(o.node.startedAt)],
    [t('field.id'), copyableId(o.node.id)],
  ]);
}

async function loadAttention(overview, signal) {
  const [alerts, unknown] = await Promise.all([
    get('alerts', null, { signal }),
    overview.unknown.count ? get('unknown', { limit: 3 }, { signal }) : { data: [] },
  ]);
  return { overview, alerts: alerts.data.filter((a) => a.state === 'firing'), unknown: unknown.data };
}

export default {
  path: '/overview',
  title: 'overview.title',
  nav: true,
  icon: 'overview',
  key: 'o',
  role: 'viewer',
  async mount(root, { session, go, signal }) {
    let asked = { at: 0, answer: null };
    const overview = () => { /* parts that ask within the same second share one answer */
      if (now() - asked.at > 1000) asked = { at: now(), answer: get('overview', null, { signal }) };
      return asked.answer;
    };
    const boxes = {
      attention: refreshedPart(5000, async () => loadAttention(await overview(), signal), attentionItems, signal),
      today: refreshedPart(5000, overview, todayTiles, signal),
      recent: refreshedPart(5000, () => get('payments', { limit: RECENT }, { signal }), (page) => recentPayments(page, session, go), signal),
      gateways: refreshedPart(5000, overview, gatewayList, signal),
      node: refreshedPart(30000, overview, nodeFacts, signal),
    };
    root.append(
      pageHead(t('overview.title')),
      h('section', { 'aria-label': t('overview.attention') }, boxes.attention),
      h('section', { 'aria-label': t('overview.today') }, boxes.today),
      h('section', { class: 'section' }, h('div', { class: 'line-head' }, h('h2', {}, t('overview.live')), h('span', { class: 'faint' }, t('overview.live_lead'))), liveCharts(signal)),
      h('div', { class: 'with-aside' },
        card(t('overview.recent'), { aside: h('a', { href: '#/payments' }, t('overview.recent_all')) }, boxes.recent),
        h('div', { class: 'stack' }, card(t('overview.gateways'), {}, boxes.gateways), card(t('overview.node'), {}, boxes.node))));
  },
};
