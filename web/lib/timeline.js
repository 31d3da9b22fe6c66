/* timeline.js - everything that happened to a payment: a diagram, and the same entries as a list.
 *
 * The diagram's time axis is not linear, because milliseconds and days must both be visible: the distance between two entries
 * grows with the logarithm of the time between them, and a long pause is a dotted line with its length. Lanes without entries
 * are left out. The payment's state is a band; everything else is a mark. One mark is in the tab order; the arrow keys, Home
 * and End move between the marks. */

import { h, replaceContent, svgTag, truncate, untrusted } from './dom.js';
import { bilingual, clockText, duration, formatNumber, hasText, lang, money, t, textFor, timeText } from './i18n.js';
import { badge, emptyState, stateName } from './ui.js';
import { copyable } from './copyable.js';
import { personName } from './session.js';
import { causeName, operationName } from './payment_ui.js';
import { translateServerText } from './server_text.js';

const LANES = ['call', 'replay', 'gateway', 'webhook', 'queue', 'notification', 'operator', 'state'];
const STATUS = { PaymentCreated: 'PENDING', PaymentAuthorized: 'AUTHORIZED', PaymentCaptured: 'CAPTURED', PaymentVoided: 'VOIDED', PaymentFailed: 'FAILED' };
const LANE_PX = 34;
const TOP_PX = 26;
const STEP_PX = 18;
const PAUSE_MS = 5000;
const PAUSE_PX = 66;
const EDGE_PX = 22;
const END_PX = 60;

const laneName = (lane) => (LANES.includes(lane) ? t(`timeline.lane.${lane}`) : String(lane));
const ms = (iso) => Date.parse(iso);

/* ---- positions ---- */

function distance(gap) {
  if (gap <= 0) return 0;
  return Math.max(STEP_PX + 5 * Math.log10(1 + gap), gap >= PAUSE_MS ? PAUSE_PX : 0);
}

/* The x of each entry. Entries of the same millisecond share an x unless they share a lane. */
function positionEntries(entries, width) {
  const xs = [];
  const pauses = [];
  let x = EDGE_PX;
  entries.forEach((e, i) => {
    const gap = i ? ms(e.at) - ms(entries[i - 1].at) : 0;
    const crowded = i && gap <= 0 && entries.slice(0, i).some((o, k) => o.lane === e.lane && Math.abs(xs[k] - x) < STEP_PX);
    const step = crowded ? STEP_PX : distance(gap);
    if (gap >= PAUSE_MS) pauses.push({ from: x, to: x + step, gap });
    x += step;
    xs.push(x);
  });
  const f = Math.min(Math.max((width - EDGE_PX - END_PX) / Math.max(x - EDGE_PX, 1), 0.8), 3); /* stretched or compressed to fit the width */
  const need = EDGE_PX + (x - EDGE_PX) * f + END_PX;
  const wide = (v) => EDGE_PX + (v - EDGE_PX) * f;
  return { xs: xs.map(wide), pauses: pauses.map((p) => ({ ...p, from: wide(p.from), to: wide(p.to) })), width: Math.max(width, Math.floor(need)) };
}

/* The x of an entry's end, which lies between the beginnings of two entries. */
function positionOfTime(at, entries, xs) {
  let i = entries.findLastIndex((e) => ms(e.at) <= at);
  if (i < 0) return xs[0];
  if (i === entries.length - 1) return xs[i] + Math.min(40, distance(at - ms(entries[i].at)));
  const from = ms(entries[i].at);
  const to = ms(entries[i + 1].at);
  return xs[i] + (xs[i + 1] - xs[i]) * (to > from ? (at - from) / (to - from) : 0);
}

/* ---- titles ---- */

/* The server's title is '<name of the kind>: <subject>', in English and in Japanese; the subject is a name of the API
 * (succeeded, receipt, create). The page has its own name for each kind and translates the subjects it knows.
 * Titles of the gateway lane and of PaymentVoided contain a colon but no subject. */
const hasNoSubject = (e) => e.lane === 'gateway' || e.kind === 'PaymentVoided';

const SUBJECT_NAMES = {
  refund: stateName,
  transaction: stateName,
  dispute: stateName,
  notification: (type) => textFor('notifications.type', type),
  replay: operationName,
  try: (kind) => textFor('notifications.channel', kind),
};

function titleOf(e) {
  const key = `timeline.title.${e.lane}_${e.kind}`;
  if (!hasText(key)) return bilingual(e, 'title');
  const at = hasNoSubject(e) ? -1 : e.title.indexOf(': ');
  if (at < 0) return t(key);
  const subject = e.title.slice(at + 2);
  return t('timeline.title_about', { title: t(key), about: (SUBJECT_NAMES[e.kind] ?? String)(subject) });
}

/* ---- marks ---- */

const SHAPES = {
  failed: () => svgTag('path', { d: 'M-4.500 -4.500L4.500 4.500M4.500 -4.500L-4.500 4.500', class: 'mark-cross' }),
  dead: () => [svgTag('rect', { x: -6, y: -6, width: 12, height: 12, rx: 2, class: 'mark-fill' }), svgTag('path', { d: 'M-3 -3L3 3M3 -3L-3 3', class: 'mark-in' })],
  unknown: () => [svgTag('circle', { r: 7, class: 'mark-fill' }), svgTag('text', { y: 4, 'text-anchor': 'middle', class: 'mark-text' }, '?')],
  waiting: () => svgTag('circle', { r: 5, class: 'mark-ring' }),
  retried: () => svgTag('path', { d: 'M0 -6.500L6.500 5H-6.500Z', class: 'mark-fill' }),
  duplicate: () => [svgTag('circle', { r: 6, class: 'mark-ring' }), svgTag('circle', { r: 2.5, class: 'mark-fill' })],
  superseded: () => svgTag('rect', { x: -4.5, y: -4.5, width: 9, height: 9, transform: 'rotate(45)', class: 'mark-ring' }),
  ignored: () => svgTag('circle', { r: 3, class: 'mark-ring' }),
  skipped: () => svgTag('circle', { r: 3, class: 'mark-ring' }),
  ok: () => svgTag('circle', { r: 5.5, class: 'mark-fill' }),
};
const TONE = { failed: 'bad', dead: 'bad', unknown: 'warn', waiting: 'busy', retried: 'warn', duplicate: 'calm', superseded: 'calm', ignored: 'calm', skipped: 'calm', ok: 'good' };

function markLabel(e) {
  return t('timeline.mark', { lane: laneName(e.lane), time: timeText(e.at, { ms: true }), title: truncate(titleOf(e), 200), result: badge(e.result).textContent }) + (e.times > 1 ? `, ${t('ui.times', { n: e.times })}` : '');
}

function bar(e, x, to) {
  return to - x > 3 ? svgTag('rect', { class: 'mark-bar', x: 0, y: -2.5, width: to - x, height: 5, rx: 2.5 }) : null;
}

function mark(e, x, y, to) {
  return svgTag('g', { class: `mark ${TONE[e.result] || 'calm'}`, transform: `translate(${x.toFixed(1)} ${y})`, tabindex: '-1', role: 'img', 'aria-label': markLabel(e) },
    svgTag('circle', { r: 11, class: 'mark-hit' }), bar(e, x, to), (SHAPES[e.result] || SHAPES.ok)(),
    e.times > 1 && svgTag('text', { x: 10, y: -6, class: 'mark-times' }, `×${formatNumber(e.times)}`));
}

/* ---- the diagram ---- */

/* Every refund emits a PaymentRefunded. If the payment is REFUNDED now, the last of them made it so. */
function changesOf(entries, xs, now) {
  const lastRefund = now === 'REFUNDED' ? entries.findLastIndex((e) => e.kind === 'PaymentRefunded') : -1;
  return entries.map((e, i) => ({ status: i === lastRefund ? 'REFUNDED' : e.lane === 'state' ? STATUS[e.kind] : null, x: xs[i] })).filter((c) => c.status);
}

function bands(changes, y, end) {
  return changes.map((c, i) => {
    const to = i + 1 < changes.length ? changes[i + 1].x : end;
    const label = t(`status.${c.status}`);
    const fits = to - c.x > label.length * (label.charCodeAt(0) > 255 ? 12 : 7) + 26;
    return [svgTag('rect', { class: `band ${c.status.toLowerCase()}`, x: c.x, y: y - 10, width: Math.max(to - c.x, 2), height: 20, rx: 4 }),
      fits && svgTag('text', { class: `band-text ${c.status.toLowerCase()}`, x: c.x + 14, y: y + 4 }, label)];
  });
}

function pauseLine(p, height) {
  const x = (p.from + p.to) / 2;
  return [svgTag('line', { class: 'pause', x1: x, x2: x, y1: TOP_PX - 4, y2: height }), svgTag('text', { class: 'axis-label', x, y: 14, 'text-anchor': 'middle' }, `+${coarse(p.gap)}`)];
}

function coarse(gap) {
  const size = gap >= 86400000 ? 86400000 : gap >= 3600000 ? 3600000 : gap >= 60000 ? 60000 : 1000;
  return duration(Math.floor(gap / size) * size);
}

function drawDiagram(entries, lanes, width, now) {
  const layout = positionEntries(entries, width);
  const height = TOP_PX + lanes.length * LANE_PX;
  const yOf = (lane) => TOP_PX + lanes.indexOf(lane) * LANE_PX + LANE_PX / 2;
  const marks = entries.map((e, i) => mark(e, layout.xs[i], yOf(e.lane), e.endedAt && e.lane !== 'state' ? positionOfTime(ms(e.endedAt), entries, layout.xs) : 0));
  const guide = svgTag('line', { class: 'guide', y1: TOP_PX - 4, y2: height, x1: -10, x2: -10 });
  const svg = svgTag('svg', { class: 'timeline-svg', width: layout.width, height, role: 'group', 'aria-label': t('timeline.picture', { n: entries.length }) },
    lanes.map((lane) => svgTag('line', { class: 'lane-line', x1: 0, x2: layout.width, y1: yOf(lane), y2: yOf(lane) })),
    layout.pauses.map((p) => pauseLine(p, height)),
    lanes.includes('state') && bands(changesOf(entries, layout.xs, now), yOf('state'), layout.width - 8),
    guide, marks);
  return { svg, marks, guide, xs: layout.xs };
}

/* The entry that has the focus or the mouse, below the diagram. */
function selectedEntry(e, currency) {
  return [
    h('div', { class: 'timeline-selected-line' }, h('span', { class: 'faint' }, timeText(e.at, { ms: true })), h('span', { class: 'lane-tag' }, laneName(e.lane)), h('strong', {}, untrusted(titleOf(e), 200)), badge(e.result),
      e.times > 1 && h('span', { class: 'faint' }, t('ui.times', { n: e.times })), e.ms !== null && h('span', { class: 'faint num' }, duration(e.ms))),
    details(e, 90, currency),
  ];
}

/* The text key for every detail that src/timeline/*.c writes; tools/words compares the two lists. */
const NAMES = {
  about: 'field.subject', amount: 'field.amount', asks: 'payments.asks', attempt: 'dlq.attempt', attempts: 'field.attempts', automatic: 'timeline.automatic', by: 'field.actor', cancelReason: 'timeline.cancel_reason',
  cause: 'payments.requested_by', channel: 'notifications.sends', code: 'timeline.code', createdAt: 'timeline.sent_at', error: 'dlq.error', failureCode: 'timeline.failure_code', failureReason: 'payments.failure', fee: 'payments.fee',
  gateway: 'field.gateway', idempotencyKey: 'payments.key', kind: 'field.kind', language: 'app.language', net: 'payments.net', operation: 'field.operation', outcome: 'field.result', providerId: 'payments.provider_id',
  reason: 'field.reason', received: 'payments.received', replay: 'timeline.replay_id', sends: 'payments.sends', state: 'field.state', status: 'dlq.response', target: 'timeline.target', tries: 'field.attempts', try: 'dlq.attempt',
  type: 'field.event_type', version: 'timeline.version', was: 'timeline.was', what: 'timeline.what', why: 'field.reason',
};
const MONEY = new Set(['amount', 'received', 'fee', 'net']);
const STATES = new Set(['outcome', 'was', 'state', 'status']);

/* `status` is a number for an HTTP response and a text for a state; `type` is a type of events or of notifications. */
function detailName(name, v, lane) {
  const key = name === 'status' && typeof v === 'string' ? 'field.state' : name === 'type' && lane === 'notification' ? 'notifications.type' : NAMES[name];
  return key ? t(key) : truncate(name, 40);
}

function detailValue(name, v, e, currency) {
  if (MONEY.has(name)) return money(v, currency);
  if (STATES.has(name)) return stateName(v);
  if (name === 'by') return v === 'owner' && e.lane !== 'operator' ? t('timeline.owner') : personName(v);
  if (name === 'cause' || name === 'reason') return causeName(v);
  if (name === 'operation') return operationName(String(v).toLowerCase());
  if (name === 'channel') return textFor('notifications.channel', v);
  if (name === 'type') return textFor('notifications.type', v);
  if (name === 'createdAt') return timeText(v);
  if (name === 'automatic') return t('timeline.yes');
  if (name === 'language') return textFor('timeline.language', v);
  return typeof v === 'string' ? translateServerText(v) : v;
}

function details(e, max, currency) {
  const pairs = Object.entries(e.detail || {}).filter(([, v]) => v !== null && v !== '');
  if (!pairs.length && !e.ref) return null;
  return h('div', { class: 'details' }, e.ref && copyable(e.ref), pairs.slice(0, 12).map(([name, v]) => h('span', {}, h('span', { class: 'faint' }, `${detailName(name, v, e.lane)} `), untrusted(detailValue(name, v, e, currency), max))));
}

function diagram(entries, of, onpick) {
  const lanes = LANES.filter((l) => entries.some((e) => e.lane === l));
  const scroll = h('div', { class: 'timeline-scroll' });
  const strip = h('div', { class: 'timeline-selected' });
  const names = h('div', { class: 'lane-names', 'aria-hidden': 'true' }, lanes.map((l) => h('div', {}, laneName(l))));
  let drawn = null;
  let at = entries.length - 1;

  function select(i) {
    drawn.marks[at]?.classList.remove('seen');
    drawn.marks[at]?.setAttribute('tabindex', '-1');
    at = i;
    drawn.marks[i].setAttribute('tabindex', '0');
    drawn.marks[i].classList.add('seen');
    drawn.guide.setAttribute('x1', drawn.xs[i]);
    drawn.guide.setAttribute('x2', drawn.xs[i]);
    replaceContent(strip, selectedEntry(entries[i], of.currency));
  }
  function draw() {
    const width = scroll.clientWidth;
    if (!width || (drawn && drawn.width === width)) return;
    const focused = drawn?.marks.includes(document.activeElement);
    const wasAtEnd = !drawn;
    drawn = { ...drawDiagram(entries, lanes, width, of.status), width };
    drawn.marks.forEach((m, i) => {
      m.addEventListener('pointerenter', () => select(i));
      m.addEventListener('focus', () => select(i));
      m.addEventListener('click', () => onpick(i));
    });
    replaceContent(scroll, drawn.svg);
    select(at);
    if (focused) drawn.marks[at].focus();
    if (wasAtEnd) scroll.scrollLeft = scroll.scrollWidth;
  }
  scroll.addEventListener('keydown', (e) => {
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 }[e.key];
    if (e.key === 'Enter' && drawn.marks.includes(e.target)) return onpick(at);
    if (to === undefined || !drawn.marks.includes(e.target)) return;
    e.preventDefault();
    drawn.marks[Math.min(Math.max(to, 0), entries.length - 1)].focus();
  });
  new ResizeObserver(draw).observe(scroll);
  return h('div', { class: 'timeline-diagram' }, h('div', { class: 'timeline-lanes' }, names, scroll), strip);
}

/* ---- the list ---- */

function listItem(e, currency) {
  return h('li', { class: `event ${TONE[e.result] || 'calm'}`, tabindex: '-1' },
    h('time', { datetime: e.at, title: e.at }, clockText(e.at, { ms: true })),
    h('span', { class: 'lane-tag' }, laneName(e.lane)),
    h('div', { class: 'event-body' },
      h('div', { class: 'event-line' }, h('span', { class: 'strong' }, untrusted(titleOf(e), 300)), e.result === 'ok' ? null : badge(e.result),
        e.times > 1 && h('span', { class: 'faint' }, t('ui.times', { n: e.times })), e.ms !== null && h('span', { class: 'faint num' }, duration(e.ms))),
      details(e, 300, currency)));
}

function list(entries, currency) {
  let day = '';
  const items = [];
  const rows = [];
  for (const e of entries) {
    const its = new Date(e.at).toDateString();
    if (its !== day) rows.push(h('li', { class: 'event-day' }, dayText(e.at)));
    day = its;
    const item = listItem(e, currency);
    items.push(item);
    rows.push(item);
  }
  return { el: h('ol', { class: 'events' }, rows), items };
}

function dayText(iso) {
  return new Intl.DateTimeFormat(lang() === 'ja' ? 'ja-JP' : 'en-GB', { dateStyle: 'full' }).format(new Date(iso));
}

/* Shows the answer of GET payments/{id}/timeline. of: the payment's { status, currency }. */
export function timelineView(data, of) {
  const entries = data.entries;
  if (!entries.length) return emptyState({ title: t('timeline.none'), hint: t('timeline.none_hint') });
  const rows = list(entries, of.currency);
  function pick(i) {
    rows.items[i].focus();
    rows.items[i].scrollIntoView({ block: 'center' });
  }
  return h('div', { class: 'timeline' },
    data.truncated && h('p', { class: 'note' }, t('timeline.truncated')),
    diagram(entries, of, pick), rows.el);
}
