/* Overview: what needs a person first, then today, then the last ten minutes live. Each part asks for
 * itself, so one that fails leaves the others standing. */

import { clear, h, user } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { ago, duration, either, money, n, now, serverTime, t } from '../lib/i18n.js';
import { badge, card, copyable, errorBox, facts, icon, pageHead, spinner, staleNote, table } from '../lib/ui.js';
import { lineChart } from '../lib/chart.js';
import { every } from '../lib/poll.js';
import { operationName, paymentColumns, paymentHref } from '../lib/payment_ui.js';

const POINTS = 300;
const RECENT = 8;

/* A box that loads itself every ms. While somebody is in it with the keyboard it keeps still. */
function part(ms, load, draw, signal) {
  const box = h('div', { class: 'part' }, spinner());
  const stale = staleNote();
  let drawn = false;
  every(ms, async () => {
    const data = await load();
    if (signal.aborted) return;
    stale.tell(null);
    box.classList.remove('stale');
    if (drawn && box.contains(document.activeElement)) return;
    clear(box, stale.el, draw(data));
    drawn = true;
  }, signal, (err) => {
    if (err && !drawn) clear(box, errorBox(err));
    else stale.tell(err);
    box.classList.toggle('stale', !!err && drawn);
  });
  return box;
}

/* ---- what needs a person ---- */

const many = (c) => `${n(c.count)}${c.exact ? '' : '+'}`;

function attentionItem({ tone, count, title, hint, href, more }) {
  return h('article', { class: `attention ${tone}` },
    h('a', { class: 'attention-head', href }, h('span', { class: 'attention-count num' }, count), h('h2', {}, title)),
    hint && h('p', { class: 'soft' }, hint),
    more);
}

function unknownList(rows) {
  return h('ul', { class: 'plain-list' }, rows.slice(0, 3).map((u) => h('li', {},
    h('a', { href: paymentHref(u.paymentId) }, t('overview.unknown_row', { operation: operationName(u.operation), amount: money(u.amount, u.currency), gateway: u.gateway })), ' ',
    h('span', { class: 'faint' }, ago(u.claimedAt)))));
}

function alertList(rows) {
  return h('ul', { class: 'plain-list' }, rows.slice(0, 3).map((a) => h('li', {}, h('span', { class: 'strong' }, user(either(a, 'summary'))), ' ', h('span', { class: 'soft' }, user(either(a, 'whatNext'))), /^dlq/.test(a.name) && [' ', h('a', { href: '#/dlq' }, t('dlq.open'))])));
}

const oldest = (iso) => iso && h('p', { class: 'faint' }, t('overview.oldest', { time: '' }), ago(iso));

function attention({ overview: o, alerts, unknown }) {
  const items = [];
  if (alerts.length) items.push({ tone: 'bad', count: n(alerts.length), title: t('overview.firing'), hint: null, href: '#/alerts', more: alertList(alerts) });
  if (o.unknown.count) items.push({ tone: 'warn', count: many(o.unknown), title: t('overview.unknown'), hint: t('overview.unknown_hint'), href: unknown.length ? paymentHref(unknown[0].paymentId) : '#/payments', more: unknownList(unknown) });
  if (o.dead.count) items.push({ tone: 'bad', count: many(o.dead), title: t('dlq.title'), hint: t('overview.dead_hint'), href: '#/dlq', more: oldest(o.dead.oldestAt) });
  if (!items.length) return h('div', { class: 'calm-box' }, icon('check'), h('div', {}, h('p', { class: 'strong' }, t('overview.all_clear')), h('p', { class: 'faint' }, t('overview.all_clear_hint'))));
  return h('div', { class: 'attentions' }, items.map(attentionItem));
}

/* ---- today ---- */

function sums(list) {
  if (!list.length) return h('span', { class: 'faint' }, '–');
  return list.map((m) => h('span', { class: 'sum' }, money(m.amount, m.currency)));
}

function tile(label, value, under) {
  return h('div', { class: 'tile' }, h('dt', {}, label), h('dd', {}, h('div', { class: 'tile-value num' }, value), under && h('div', { class: 'faint small' }, under)));
}

function today(o) {
  const wait = o.queue.oldestReadyMs > 0 ? t('overview.queue_wait', { v: duration(o.queue.oldestReadyMs) }) : t('overview.queue_clear');
  return h('dl', { class: 'tiles' },
    tile(t('payments.title'), `${n(o.today.payments)}${o.today.exact ? '' : '+'}`, t('overview.today_zone', { zone: o.today.zone })),
    tile(t('payments.captured'), sums(o.today.captured)),
    tile(t('payments.refunded'), sums(o.today.refunded)),
    tile(t('overview.queue_now'), n(o.queue.live), wait));
}

/* ---- live ---- */

const RATE = (name) => (p, s) => p[name] / s;
const PLAIN = (name) => (p) => p[name];

function chartList() {
  const rate = t('overview.per_second');
  return [
    { title: 'overview.chart_webhooks', unit: rate, lines: [[t('overview.chart_received'), RATE('webhooks')], [t('overview.chart_applied'), RATE('applied')]] },
    { title: 'payments.title', unit: rate, lines: [[t('overview.chart_created'), RATE('payments')], [t('overview.chart_replayed'), RATE('replays')]] },
    { title: 'overview.chart_ack', unit: 'ms', lines: [['p50', PLAIN('ackP50Ms')], ['p95', PLAIN('ackP95Ms')]] },
    { title: 'overview.chart_create', unit: 'ms', lines: [['p95', PLAIN('createP95Ms')]] },
    { title: 'overview.chart_queue', unit: '', lines: [[t('status.waiting'), PLAIN('queueLive')]] },
    { title: 'overview.chart_dead', unit: '', lines: [[t('overview.chart_dead'), PLAIN('dead')]], cls: 'c4' },
  ];
}

function liveCharts(signal) {
  const charts = chartList().map((c) => ({ ...c, chart: lineChart({ label: t(c.title), unit: c.unit, height: 128, series: c.lines.map(([label], i) => ({ label, cls: c.cls || `c${i + 1}` })) }) }));
  const news = h('p', { class: 'wrong', role: 'status' });
  let points = [];

  function draw(seconds) {
    const times = points.map((p) => p.at);
    for (const c of charts) c.chart.update({ times, values: c.lines.map(([, of]) => points.map((p) => of(p, seconds) ?? null)) });
  }
  every(2000, async () => {
    const live = await get('live', { since: points.length ? points[points.length - 1].at : null }, { signal });
    serverTime(live.asOf);
    const known = points.length ? points[points.length - 1].at : '';
    points = points.concat(live.points.filter((p) => p.at > known)).slice(-POINTS);
    draw(live.intervalMs / 1000);
  }, signal, (err) => (news.textContent = err ? t('overview.paused') : ''));
  return [news, h('div', { class: 'grid charts' }, charts.map((c) => card(t(c.title), { level: 'h3' }, c.chart.el)))];
}

/* ---- the rest ---- */

function recent(page, session, go) {
  const sandbox = session.sandbox;
  return table({
    caption: t('overview.recent'),
    columns: paymentColumns({ brief: true }),
    rows: page.data,
    onRow: (p) => go(`/payments/${p.id}`),
    empty: { title: t('payments.none'), hint: t(sandbox ? 'overview.recent_hint' : 'payments.none_hint'), action: sandbox && h('a', { class: 'button', href: '#/sandbox' }, t('overview.to_sandbox')) },
  });
}

const GATEWAY_WORDS = { closed: 'overview.gateway_closed', open: 'overview.gateway_open', half_open: 'overview.gateway_half_open' };

function gateways(o) {
  return h('ul', { class: 'rows' }, o.gateways.map((g) => h('li', {},
    h('div', {}, h('span', { class: 'strong' }, user(g.name, 40)), h('p', { class: 'faint small' }, GATEWAY_WORDS[g.state] ? t(GATEWAY_WORDS[g.state]) : '')),
    h('div', { class: 'right' }, badge(g.state), h('p', { class: 'faint small num' }, g.inFlight ? t('overview.in_flight', { n: g.inFlight }) : '')))));
}

function node(o) {
  return facts([
    [t('overview.version'), o.node.version],
    [t('overview.database'), o.node.database === 'postgres' ? 'PostgreSQL' : 'SQLite'],
    [t('overview.started'), ago(o.node.startedAt)],
    [t('field.id'), copyable(o.node.id, { short: 13 })],
  ]);
}

async function needs(overview, signal) {
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
    const overview = () => { /* one answer for the parts that ask within the same second */
      if (now() - asked.at > 1000) asked = { at: now(), answer: get('overview', null, { signal }) };
      return asked.answer;
    };
    const boxes = {
      attention: part(5000, async () => needs(await overview(), signal), attention, signal),
      today: part(5000, overview, today, signal),
      recent: part(5000, () => get('payments', { limit: RECENT }, { signal }), (page) => recent(page, session, go), signal),
      gateways: part(5000, overview, gateways, signal),
      node: part(30000, overview, node, signal),
    };
    root.append(
      pageHead(t('overview.title')),
      h('section', { 'aria-label': t('overview.attention') }, boxes.attention),
      h('section', { 'aria-label': t('overview.today') }, boxes.today),
      h('section', { class: 'section' }, h('div', { class: 'line-head' }, h('h2', {}, t('overview.live')), h('span', { class: 'faint' }, t('overview.live_lead'))), liveCharts(signal)),
      h('div', { class: 'two' },
        card(t('overview.recent'), { aside: h('a', { href: '#/payments' }, t('overview.recent_all')) }, boxes.recent),
        h('div', { class: 'stack' }, card(t('overview.gateways'), {}, boxes.gateways), card(t('overview.node'), {}, boxes.node))));
  },
};
