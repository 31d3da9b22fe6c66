/* redrives.js - redrives of dead letters and replays of events, which run on the server at a limited rate: start one, show its
 * progress, cancel it. */

import { h, replaceContent, untrusted } from './dom.js';
import { get, isOutcomeUnknown, post } from './api.js';
import { agoTag, duration, formatNumber, now, t } from './i18n.js';
import { badge, button, progress } from './ui.js';
import { errorBox, runAction, staleNote, toast } from './feedback.js';
import { pagedTable } from './table.js';
import { EXACT, field, FieldError, isoToLocal, localToIso } from './form.js';
import { confirmDialog } from './dialog.js';
import { canOperate, personName } from './session.js';
import { poll, SLOWEST_MS } from './poll.js';
import { translateServerText } from './server_text.js';

const DEFAULT_RATE = 20;
const MAX_RATE = 1000;
const FOLLOW_MS = 400;

export const deadLetterCount = (matched, exact) => t(exact === false ? 'dlq.n_at_least' : 'dlq.n', { n: matched });

/* Counts without changing anything. what: { ids }, { filter } or { all: true } for dead letters; { from, to, type } and the path
 * 'replays' for events. */
export const countMatches = (what, signal, path = 'redrives') => post(path, { ...what, ratePerSecond: 1, dryRun: true }, { signal });

function readRate(rate) {
  const v = Number(rate.input.value);
  if (!Number.isInteger(v) || v < 1 || v > MAX_RATE) throw new FieldError(rate, t('dlq.redrive.rate.help'));
  return v;
}

/* The field for the rate, and how long that takes for `count` messages. */
function rateFields(label) {
  const takes = h('p', { class: 'faint' });
  const rate = field({ label, help: t('dlq.redrive.rate.help'), name: 'rate', type: 'number', min: 1, max: MAX_RATE, step: 1, value: DEFAULT_RATE, inputmode: 'numeric' });
  let matched = null;

  function estimate(count = matched) {
    const v = Number(rate.input.value);
    matched = count;
    rate.error(null);
    takes.textContent = matched !== null && v >= 1 ? t('dlq.redrive.takes', { time: duration(Math.ceil(matched / v) * 1000) }) : '';
  }
  rate.input.addEventListener('input', () => estimate());
  return { rate, takes, estimate };
}

/* There is no Idempotency-Key here, so a lost answer is not retried: the reader is asked to check what is running. Returns the
 * redrive, or null. */
function startedOrNull(done) {
  if (done?.result.lost) toast(t('dlq.redrive.lost'), 'bad');
  return done && !done.result.lost ? done.result : null;
}
const start = (path, body) => post(path, body).catch((err) => {
  if (!isOutcomeUnknown(err)) throw err;
  return { lost: true };
});

/* Returns the redrive that was started, or null. */
export async function askRedrive(what) {
  const counted = h('p', { role: 'status' }, t('dlq.counting'));
  const { rate, takes, estimate } = rateFields(t('dlq.redrive.rate'));
  countMatches(what).then((r) => {
    replaceContent(counted, t('dlq.redrive.count', { count: deadLetterCount(r.matched, r.exact) }));
    estimate(r.matched);
  }, (err) => replaceContent(counted, errorBox(err)));
  const done = await confirmDialog({ title: t('dlq.redrive.title'), body: [counted, rate, takes], confirm: t('ui.start'), action: () => start('redrives', { ...what, ratePerSecond: readRate(rate) }) });
  return startedOrNull(done);
}

/* ---- replays of a time range ---- */

const MINUTE = 60000;
const HOUR = 60 * MINUTE;

/* Asks for a time range and counts its events. Returns { range, matched, exact }, or null. */
async function askRange(type, types) {
  const at = (name, label, value) => field({ label, name, type: 'datetime-local', value: isoToLocal(new Date(value).toISOString()) });
  const from = at('from', t('filter.from'), now() - HOUR);
  const to = at('to', t('filter.to'), now() + MINUTE); /* the current minute included */
  const typeField = field({ label: t('field.event_type'), name: 'type', list: types, value: type, placeholder: t('events.range.all_types'), maxlength: 255, ...EXACT });
  const read = () => {
    for (const f of [from, to]) f.error(null);
    for (const f of [from, to]) if (!localToIso(f.input.value)) throw new FieldError(f, t('events.range.required'));
    const range = { from: localToIso(from.input.value), to: localToIso(to.input.value), type: typeField.input.value.trim() || undefined };
    if (range.from >= range.to) throw new FieldError(to, t('events.range.order'));
    return range;
  };
  const done = await confirmDialog({
    title: t('events.range.title'), body: [h('p', {}, t('events.range.lead')), from, to, typeField], confirm: t('ui.dry_run'), readOnly: true,
    async action() {
      const range = read();
      const r = await countMatches(range, undefined, 'replays');
      if (!r.matched) throw new FieldError(to, t('events.range.none'));
      return { range, ...r };
    },
  });
  return done && done.result;
}

/* Returns the replay that was started, or null. types: the id of a datalist with event types. */
export async function askReplayRange(type, types) {
  const asked = await askRange(type, types);
  if (!asked) return null;
  const { rate, takes, estimate } = rateFields(t('events.range.rate'));
  estimate(asked.matched);
  const done = await confirmDialog({
    title: t('events.range.confirm', { count: t(asked.exact ? 'events.n' : 'events.n_at_least', { n: asked.matched }) }), body: [h('p', {}, t('events.replay.body')), rate, takes], confirm: t('ui.start'),
    action: () => start('replays', { ...asked.range, ratePerSecond: readRate(rate) }),
  });
  return startedOrNull(done);
}

/* ---- progress ---- */

function stateBadge(r) {
  const tone = { running: 'busy', done: r.refused ? 'warn' : 'good', cancelled: 'calm', failed: 'bad' }[r.state];
  return badge(r.state, { tone, label: t(`status.${r.state}`) });
}

/* Until the redrive has ended, `matched` may be a lower bound. */
function progressText(r) {
  return t('dlq.redrive.of', { done: r.done, matched: r.exact === false ? `${formatNumber(r.matched)}+` : r.matched });
}

const startedBy = (r) => personName(r.by) || t('login.token');

function askCancel(r) {
  return confirmDialog({ title: t('dlq.redrive.cancel.title'), body: t('dlq.redrive.cancel.body'), confirm: t('dlq.redrive.cancel.yes'), danger: true, action: () => post(`redrives/${r.id}/cancel`, {}) });
}

/* A running redrive. update() changes only the bar and the text, so that the cancel button keeps the focus. */
function runningCard(first, session, changed) {
  const bar = h('div', {});
  const line = h('p', { class: 'faint small', role: 'status' });
  const el = h('div', { class: 'redrive' },
    h('div', { class: 'redrive-main' }, bar, line),
    canOperate(session) && button({ label: t('dlq.redrive.cancel'), small: true, onclick: async (e) => {
      const at = e.currentTarget;
      const done = await askCancel(first);
      if (done) runAction(at, async () => changed(), done.result.state === 'cancelled' ? t('dlq.redrive.cancelled') : t('dlq.redrive.over', { what: progressText(done.result) }));
    } }));
  function update(r) {
    const left = Math.max(0, r.matched - r.done - r.refused) / r.ratePerSecond;
    replaceContent(bar, progress(r.done + r.refused, Math.max(r.matched, r.done + r.refused), progressText(r)));
    line.textContent = [t('dlq.redrive.speed', { n: r.ratePerSecond }), r.refused ? t('dlq.redrive.refused', { n: r.refused }) : null, left > 0 ? t('dlq.redrive.left', { time: duration(Math.ceil(left) * 1000) }) : null, startedBy(r)].filter(Boolean).join(' · ');
  }
  update(first);
  return { el, update };
}

/* The redrives that are running, updated every second. kind: only 'dlq' or only 'replay'. onended() is called when one ends. */
export function runningRedrives({ session, signal, onended, kind }) {
  const list = h('div', { class: 'redrives' });
  const stale = staleNote();
  const box = h('section', { class: 'card', hidden: true, 'aria-label': t('dlq.redrives.running') }, h('div', { class: 'card-head' }, h('h2', {}, t('dlq.redrives.running'))), list, stale.el);
  const cards = new Map();

  async function update() {
    const page = await get('redrives', { limit: 100 }, { signal });
    stale.setError(null);
    const running = page.data.filter((r) => r.state === 'running' && (!kind || r.kind === kind));
    const ids = new Set(running.map((r) => r.id));
    let ended = false;
    for (const [id, c] of cards) {
      if (ids.has(id)) continue;
      c.el.remove();
      cards.delete(id);
      ended = true;
    }
    for (const r of running) {
      if (cards.has(r.id)) cards.get(r.id).update(r);
      else {
        cards.set(r.id, runningCard(r, session, update));
        list.append(cards.get(r.id).el);
      }
    }
    box.hidden = !running.length;
    if (ended) onended?.();
  }
  poll(1000, update, signal, stale.setError);
  return { el: box, update };
}

function rejectedList(r) {
  if (!r.refused) return null;
  return h('details', { class: 'long-text' }, h('summary', {}, t('dlq.redrive.refused', { n: r.refused })),
    h('ul', { class: 'plain-list' }, (r.refusals || []).map((x) => h('li', {}, r.kind === 'replay' ? h('code', {}, untrusted(x.id, 40)) : h('a', { href: `#/dlq/${encodeURIComponent(x.id)}` }, h('code', {}, untrusted(x.id, 40))), ' ', untrusted(translateServerText(x.why ?? x.reason), 300)))));
}

/* Waits until the redrive has ended, and returns a note with its result. */
export async function followRedrive(started, signal) {
  let r = started;
  let wait = FOLLOW_MS;
  while (r.state === 'running' && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    try {
      r = await get(`redrives/${encodeURIComponent(r.id)}`, null, { signal });
      wait = FOLLOW_MS;
    } catch {
      wait = Math.min(wait * 2, SLOWEST_MS);
    }
  }
  const over = t('dlq.redrive.over', { what: progressText(r) });
  return h('div', { class: `note ${r.refused || r.state !== 'done' ? 'bad' : 'good'}`, role: 'status' }, r.state === 'done' ? over : [stateBadge(r), ' ', over], rejectedList(r));
}

/* All redrives and replays, newest first, as a pager. */
export function redriveList({ signal }) {
  const columns = [
    { label: t('field.state'), cell: (r) => [stateBadge(r), r.kind === 'replay' ? h('div', { class: 'small faint' }, t('dlq.redrive.replay')) : null] },
    { label: t('dlq.redrive.progress'), cell: (r) => [h('span', { class: 'num' }, progressText(r)), rejectedList(r)] },
    { label: t('dlq.redrive.rate'), align: 'right', cell: (r) => formatNumber(r.ratePerSecond) },
    { label: t('field.actor'), cell: (r) => untrusted(startedBy(r), 60) },
    { label: t('field.started'), cell: (r) => agoTag(r.createdAt) },
  ];
  return pagedTable({ path: 'redrives', limit: 10, signal, columns, caption: t('dlq.redrives'), empty: t('dlq.redrives.none') });
}
