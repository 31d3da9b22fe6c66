/* timeline.js - all that happened to a payment: one picture, and the same as a list.
 *
 * Time is bent in the picture: what took milliseconds and what took days both have to be seen. Between
 * two neighbours the distance grows with the logarithm of the time between them; a pause is a dotted
 * line with its length. Lanes that nobody used are left out. The state is a band, the rest are marks.
 * One mark is in the tab order; arrows walk in time, and up and down too (Home, End). */

import { clear, cut, h, s, user } from './dom.js';
import { clockText, duration, either, has, lang, money, n, t, timeText } from './i18n.js';
import { personName, words } from './parts.js';
import { causeName, operationName } from './payment_ui.js';
import { said } from './said.js';
import { badge, copyable, emptyState, stateName } from './ui.js';

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

/* ---- where things stand ---- */

function distance(gap) {
  if (gap <= 0) return 0;
  return Math.max(STEP_PX + 5 * Math.log10(1 + gap), gap >= PAUSE_MS ? PAUSE_PX : 0);
}

/* Places of the entries: those of one millisecond stand one step apart where they share a lane. */
function layout(entries, width) {
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
  const f = Math.min(Math.max((width - EDGE_PX - END_PX) / Math.max(x - EDGE_PX, 1), 0.8), 3); /* drawn together a little, or apart */
  const need = EDGE_PX + (x - EDGE_PX) * f + END_PX;
  const wide = (v) => EDGE_PX + (v - EDGE_PX) * f;
  return { xs: xs.map(wide), pauses: pauses.map((p) => ({ ...p, from: wide(p.from), to: wide(p.to) })), width: Math.max(width, Math.floor(need)) };
}

/* Where a moment stands that is no entry's beginning: its end. */
function placeOf(at, entries, xs) {
  let i = entries.findLastIndex((e) => ms(e.at) <= at);
  if (i < 0) return xs[0];
  if (i === entries.length - 1) return xs[i] + Math.min(40, distance(at - ms(entries[i].at)));
  const from = ms(entries[i].at);
  const to = ms(entries[i + 1].at);
  return xs[i] + (xs[i + 1] - xs[i]) * (to > from ? (at - from) / (to - from) : 0);
}

/* ---- titles ---- */

/* The server's title is '<name of the kind>: <subject>', in English and in Japanese; the subject is a name of the API
 * (succeeded, receipt, create). The page has its own name for each kind and translates the subjects it knows. These two
 * have a colon in their name and no subject. */
const hasNoSubject = (e) => e.lane === 'gateway' || e.kind === 'PaymentVoided';

const SUBJECT_NAMES = {
  refund: stateName,
  transaction: stateName,
  dispute: stateName,
  notification: (type) => words('notifications.type', type),
  replay: operationName,
  try: (kind) => words('notifications.channel', kind),
};

function titleOf(e) {
  const key = `timeline.title.${e.lane}_${e.kind}`;
  if (!has(key)) return either(e, 'title');
  const at = hasNoSubject(e) ? -1 : e.title.indexOf(': ');
  if (at < 0) return t(key);
  const subject = e.title.slice(at + 2);
  return t('timeline.title_about', { title: t(key), about: (SUBJECT_NAMES[e.kind] ?? String)(subject) });
}

/* ---- marks ---- */

const SHAPES = {
  failed: () => s('path', { d: 'M-4.500 -4.500L4.500 4.500M4.500 -4.500L-4.500 4.500', class: 'mark-cross' }),
  dead: () => [s('rect', { x: -6, y: -6, width: 12, height: 12, rx: 2, class: 'mark-fill' }), s('path', { d: 'M-3 -3L3 3M3 -3L-3 3', class: 'mark-in' })],
  unknown: () => [s('circle', { r: 7, class: 'mark-fill' }), s('text', { y: 4, 'text-anchor': 'middle', class: 'mark-text' }, '?')],
  waiting: () => s('circle', { r: 5, class: 'mark-ring' }),
  retried: () => s('path', { d: 'M0 -6.500L6.500 5H-6.500Z', class: 'mark-fill' }),
  duplicate: () => [s('circle', { r: 6, class: 'mark-ring' }), s('circle', { r: 2.5, class: 'mark-fill' })],
  superseded: () => s('rect', { x: -4.5, y: -4.5, width: 9, height: 9, transform: 'rotate(45)', class: 'mark-ring' }),
  ignored: () => s('circle', { r: 3, class: 'mark-ring' }),
  skipped: () => s('circle', { r: 3, class: 'mark-ring' }),
  ok: () => s('circle', { r: 5.5, class: 'mark-fill' }),
};
const TONE = { failed: 'bad', dead: 'bad', unknown: 'warn', waiting: 'busy', retried: 'warn', duplicate: 'calm', superseded: 'calm', ignored: 'calm', skipped: 'calm', ok: 'good' };

function wordsOf(e) {
  return t('timeline.mark', { lane: laneName(e.lane), time: timeText(e.at, { ms: true }), title: cut(titleOf(e), 200), result: badge(e.result).textContent }) + (e.times > 1 ? `, ${t('ui.times', { n: e.times })}` : '');
}

function bar(e, x, to) {
  return to - x > 3 ? s('rect', { class: 'mark-bar', x: 0, y: -2.5, width: to - x, height: 5, rx: 2.5 }) : null;
}

function mark(e, x, y, to) {
  return s('g', { class: `mark ${TONE[e.result] || 'calm'}`, transform: `translate(${x.toFixed(1)} ${y})`, tabindex: '-1', role: 'img', 'aria-label': wordsOf(e) },
    s('circle', { r: 11, class: 'mark-hit' }), bar(e, x, to), (SHAPES[e.result] || SHAPES.ok)(),
    e.times > 1 && s('text', { x: 10, y: -6, class: 'mark-times' }, `×${n(e.times)}`));
}

/* ---- the picture ---- */

/* Each refund is a PaymentRefunded; the last one made the payment REFUNDED, if it is that now. */
function changesOf(entries, xs, now) {
  const lastRefund = now === 'REFUNDED' ? entries.findLastIndex((e) => e.kind === 'PaymentRefunded') : -1;
  return entries.map((e, i) => ({ status: i === lastRefund ? 'REFUNDED' : e.lane === 'state' ? STATUS[e.kind] : null, x: xs[i] })).filter((c) => c.status);
}

function bands(changes, y, end) {
  return changes.map((c, i) => {
    const to = i + 1 < changes.length ? changes[i + 1].x : end;
    const label = t(`status.${c.status}`);
    const fits = to - c.x > label.length * (label.charCodeAt(0) > 255 ? 12 : 7) + 26;
    return [s('rect', { class: `band ${c.status.toLowerCase()}`, x: c.x, y: y - 10, width: Math.max(to - c.x, 2), height: 20, rx: 4 }),
      fits && s('text', { class: `band-text ${c.status.toLowerCase()}`, x: c.x + 14, y: y + 4 }, label)];
  });
}

function pauseLine(p, height) {
  const x = (p.from + p.to) / 2;
  return [s('line', { class: 'pause', x1: x, x2: x, y1: TOP_PX - 4, y2: height }), s('text', { class: 'tick', x, y: 14, 'text-anchor': 'middle' }, `+${coarse(p.gap)}`)];
}

function coarse(gap) {
  const size = gap >= 86400000 ? 86400000 : gap >= 3600000 ? 3600000 : gap >= 60000 ? 60000 : 1000;
  return duration(Math.floor(gap / size) * size);
}

function drawPicture(entries, lanes, width, now) {
  const place = layout(entries, width);
  const height = TOP_PX + lanes.length * LANE_PX;
  const yOf = (lane) => TOP_PX + lanes.indexOf(lane) * LANE_PX + LANE_PX / 2;
  const marks = entries.map((e, i) => mark(e, place.xs[i], yOf(e.lane), e.endedAt && e.lane !== 'state' ? placeOf(ms(e.endedAt), entries, place.xs) : 0));
  const guide = s('line', { class: 'guide', y1: TOP_PX - 4, y2: height, x1: -10, x2: -10 });
  const svg = s('svg', { class: 'timeline-svg', width: place.width, height, role: 'group', 'aria-label': t('timeline.picture', { n: entries.length }) },
    lanes.map((lane) => s('line', { class: 'lane-line', x1: 0, x2: place.width, y1: yOf(lane), y2: yOf(lane) })),
    place.pauses.map((p) => pauseLine(p, height)),
    lanes.includes('state') && bands(changesOf(entries, place.xs, now), yOf('state'), place.width - 8),
    guide, marks);
  return { svg, marks, guide, xs: place.xs };
}

/* The entry that is looked at, in words. */
function detailStrip(e, currency) {
  return [
    h('div', { class: 'strip-line' }, h('span', { class: 'faint' }, timeText(e.at, { ms: true })), h('span', { class: 'lane-tag' }, laneName(e.lane)), h('strong', {}, user(titleOf(e), 200)), badge(e.result),
      e.times > 1 && h('span', { class: 'faint' }, t('ui.times', { n: e.times })), e.ms !== null && h('span', { class: 'faint num' }, duration(e.ms))),
    details(e, 90, currency),
  ];
}

/* Every name that src/timeline/*.c gives a detail; tools/words compares them. */
const NAMES = {
  about: 'field.subject', amount: 'field.amount', asks: 'payments.asks', attempt: 'dlq.attempt', attempts: 'field.attempts', automatic: 'timeline.automatic', by: 'field.actor', cancelReason: 'timeline.cancel_reason',
  cause: 'payments.requested_by', channel: 'notifications.sends', code: 'timeline.code', createdAt: 'timeline.sent_at', error: 'dlq.error', failureCode: 'timeline.failure_code', failureReason: 'payments.failure', fee: 'payments.fee',
  gateway: 'field.gateway', idempotencyKey: 'payments.key', kind: 'field.kind', language: 'app.language', net: 'payments.net', operation: 'field.operation', outcome: 'field.result', providerId: 'payments.provider_id',
  reason: 'field.reason', received: 'payments.received', replay: 'timeline.replay_id', sends: 'payments.sends', state: 'field.state', status: 'dlq.response', target: 'timeline.target', tries: 'field.attempts', try: 'dlq.attempt',
  type: 'field.event_type', version: 'timeline.version', was: 'timeline.was', what: 'timeline.what', why: 'field.reason',
};
const MONEY = new Set(['amount', 'received', 'fee', 'net']);
const STATES = new Set(['outcome', 'was', 'state', 'status']);

/* A provider's answer has a number, a thing has a state. */
function nameOf(name, v) {
  const key = name === 'status' && typeof v === 'string' ? 'field.state' : NAMES[name];
  return key ? t(key) : cut(name, 40);
}

function valueOf(name, v, e, currency) {
  if (MONEY.has(name)) return money(v, currency);
  if (STATES.has(name)) return stateName(v);
  if (name === 'by') return v === 'owner' && e.lane !== 'operator' ? t('timeline.owner') : personName(v);
  if (name === 'cause' || name === 'reason') return causeName(v);
  if (name === 'operation') return operationName(String(v).toLowerCase());
  if (name === 'channel') return words('notifications.channel', v);
  if (name === 'type') return words('notifications.type', v);
  if (name === 'createdAt') return timeText(v);
  if (name === 'automatic') return t('timeline.yes');
  if (name === 'language') return words('timeline.language', v);
  return typeof v === 'string' ? said(v) : v;
}

function details(e, max, currency) {
  const pairs = Object.entries(e.detail || {}).filter(([, v]) => v !== null && v !== '');
  if (!pairs.length && !e.ref) return null;
  return h('div', { class: 'details' }, e.ref && copyable(e.ref), pairs.slice(0, 12).map(([name, v]) => h('span', {}, h('span', { class: 'faint' }, `${nameOf(name, v)} `), user(valueOf(name, v, e, currency), max))));
}

function picture(entries, of, onpick) {
  const lanes = LANES.filter((l) => entries.some((e) => e.lane === l));
  const scroll = h('div', { class: 'timeline-scroll' });
  const strip = h('div', { class: 'strip' });
  const names = h('div', { class: 'lane-names', 'aria-hidden': 'true' }, lanes.map((l) => h('div', {}, laneName(l))));
  let drawn = null;
  let at = entries.length - 1;

  function look(i) {
    drawn.marks[at]?.classList.remove('seen');
    drawn.marks[at]?.setAttribute('tabindex', '-1');
    at = i;
    drawn.marks[i].setAttribute('tabindex', '0');
    drawn.marks[i].classList.add('seen');
    drawn.guide.setAttribute('x1', drawn.xs[i]);
    drawn.guide.setAttribute('x2', drawn.xs[i]);
    clear(strip, detailStrip(entries[i], of.currency));
  }
  function draw() {
    const width = scroll.clientWidth;
    if (!width || (drawn && drawn.width === width)) return;
    const focused = drawn?.marks.includes(document.activeElement);
    const wasAtEnd = !drawn;
    drawn = { ...drawPicture(entries, lanes, width, of.status), width };
    drawn.marks.forEach((m, i) => {
      m.addEventListener('pointerenter', () => look(i));
      m.addEventListener('focus', () => look(i));
      m.addEventListener('click', () => onpick(i));
    });
    clear(scroll, drawn.svg);
    look(at);
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
  return h('div', { class: 'timeline-picture' }, h('div', { class: 'timeline-lanes' }, names, scroll), strip);
}

/* ---- the list ---- */

function listItem(e, currency) {
  return h('li', { class: `event ${TONE[e.result] || 'calm'}`, tabindex: '-1' },
    h('time', { datetime: e.at, title: e.at }, clockText(e.at, { ms: true })),
    h('span', { class: 'lane-tag' }, laneName(e.lane)),
    h('div', { class: 'event-body' },
      h('div', { class: 'event-line' }, h('span', { class: 'strong' }, user(titleOf(e), 300)), e.result === 'ok' ? null : badge(e.result),
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

/* The whole timeline of GET payments/{id}/timeline; of: the payment's { status, currency }. */
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
    picture(entries, of, pick), rows.el);
}
