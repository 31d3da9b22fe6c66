/* redrives.js - dead letters that are tried again, and events that are applied again, at a rate: asking for it, watching
 * it, ending it. */

import { clear, h, user } from './dom.js';
import { get, isLost, post } from './api.js';
import { ago, duration, n, now, t } from './i18n.js';
import { badge, button, confirmDialog, errorBox, field, FieldError, pager, progress, staleNote, table, toast } from './ui.js';
import { act, isoOf, localOf, operates, personName } from './parts.js';
import { said } from './said.js';
import { every, SLOWEST_MS } from './poll.js';

const RATE = 20;
const MOST_RATE = 1000;
const FOLLOW_MS = 400;

export const lettersText = (matched, exact) => t(exact === false ? 'dlq.n_at_least' : 'dlq.n', { n: matched });

/* what: { ids } or { filter } or { all: true } of letters; { from, to, type } of events, path 'replays' */
export const dryRun = (what, signal, path = 'redrives') => post(path, { ...what, ratePerSecond: 1, dryRun: true }, { signal });

function rateOf(rate) {
  const v = Number(rate.input.value);
  if (!Number.isInteger(v) || v < 1 || v > MOST_RATE) throw new FieldError(rate, t('dlq.redrive.rate.help'));
  return v;
}

/* How fast, and how long that takes for so many. */
function rateFields(label) {
  const takes = h('p', { class: 'faint' });
  const rate = field({ label, help: t('dlq.redrive.rate.help'), name: 'rate', type: 'number', min: 1, max: MOST_RATE, step: 1, value: RATE, inputmode: 'numeric' });
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

/* A second one would try the same again, so after a lost answer one looks at what runs. -> the Redrive, or null. */
function begun(done) {
  if (done?.result.lost) toast(t('dlq.redrive.lost'), 'bad');
  return done && !done.result.lost ? done.result : null;
}
const start = (path, body) => post(path, body).catch((err) => {
  if (!isLost(err)) throw err;
  return { lost: true };
});

/* -> the Redrive that was started, or null. */
export async function askRedrive(what) {
  const counted = h('p', { role: 'status' }, t('dlq.counting'));
  const { rate, takes, estimate } = rateFields(t('dlq.redrive.rate'));
  dryRun(what).then((r) => {
    clear(counted, t('dlq.redrive.count', { count: lettersText(r.matched, r.exact) }));
    estimate(r.matched);
  }, (err) => clear(counted, errorBox(err)));
  const done = await confirmDialog({ title: t('dlq.redrive.title'), body: [counted, rate, takes], confirm: t('ui.start'), action: () => start('redrives', { ...what, ratePerSecond: rateOf(rate) }) });
  return begun(done);
}

/* ---- events of some time ---- */

const MINUTE = 60000;
const HOUR = 60 * MINUTE;

/* Which events: counted before anything is asked. -> { span, matched, exact }, or null. */
async function askSpan(only, types) {
  const at = (name, label, value) => field({ label, name, type: 'datetime-local', value: localOf(new Date(value).toISOString()) });
  const from = at('from', t('filter.from'), now() - HOUR);
  const to = at('to', t('filter.to'), now() + MINUTE); /* this minute's as well */
  const type = field({ label: t('field.event_type'), name: 'type', list: types, value: only, placeholder: t('events.range.all_types'), maxlength: 255, spellcheck: 'false', autocapitalize: 'none' });
  const read = () => {
    for (const f of [from, to]) f.error(null);
    for (const f of [from, to]) if (!isoOf(f.input.value)) throw new FieldError(f, t('events.range.required'));
    const span = { from: isoOf(from.input.value), to: isoOf(to.input.value), type: type.input.value.trim() || undefined };
    if (span.from >= span.to) throw new FieldError(to, t('events.range.order'));
    return span;
  };
  const done = await confirmDialog({
    title: t('events.range.title'), body: [h('p', {}, t('events.range.lead')), from, to, type], confirm: t('ui.dry_run'), looks: true,
    async action() {
      const span = read();
      const r = await dryRun(span, undefined, 'replays');
      if (!r.matched) throw new FieldError(to, t('events.range.none'));
      return { span, ...r };
    },
  });
  return done && done.result;
}

/* -> the replay that was started, or null. types: the id of a datalist. */
export async function askReplaySpan(type, types) {
  const asked = await askSpan(type, types);
  if (!asked) return null;
  const { rate, takes, estimate } = rateFields(t('events.range.rate'));
  estimate(asked.matched);
  const done = await confirmDialog({
    title: t('events.range.confirm', { count: t(asked.exact ? 'events.n' : 'events.n_at_least', { n: asked.matched }) }), body: [h('p', {}, t('events.replay.body')), rate, takes], confirm: t('ui.start'),
    action: () => start('replays', { ...asked.span, ratePerSecond: rateOf(rate) }),
  });
  return begun(done);
}

/* ---- watching ---- */

function stateBadge(r) {
  const tone = { running: 'busy', done: r.refused ? 'warn' : 'good', cancelled: 'calm', failed: 'bad' }[r.state];
  return badge(r.state, { tone, label: t(`status.${r.state}`) });
}

/* matched is counted up to a limit until it is over. */
function howFar(r) {
  return t('dlq.redrive.of', { done: r.done, matched: r.exact === false ? `${n(r.matched)}+` : r.matched });
}

const byWhom = (r) => personName(r.by) || t('login.token');

function askCancel(r) {
  return confirmDialog({ title: t('dlq.redrive.cancel.title'), body: t('dlq.redrive.cancel.body'), confirm: t('dlq.redrive.cancel.yes'), danger: true, action: () => post(`redrives/${r.id}/cancel`, {}) });
}

/* One that runs: the bar moves, the button stays where the keyboard is. */
function runningCard(first, session, changed) {
  const bar = h('div', {});
  const line = h('p', { class: 'faint small', role: 'status' });
  const el = h('div', { class: 'redrive' },
    h('div', { class: 'redrive-main' }, bar, line),
    operates(session) && button({ label: t('dlq.redrive.cancel'), small: true, onclick: async (e) => {
      const at = e.currentTarget;
      const done = await askCancel(first);
      if (done) act(at, async () => changed(), done.result.state === 'cancelled' ? t('dlq.redrive.cancelled') : t('dlq.redrive.over', { what: howFar(done.result) }));
    } }));
  function update(r) {
    const left = Math.max(0, r.matched - r.done - r.refused) / r.ratePerSecond;
    clear(bar, progress(r.done + r.refused, Math.max(r.matched, r.done + r.refused), howFar(r)));
    line.textContent = [t('dlq.redrive.speed', { n: r.ratePerSecond }), r.refused ? t('dlq.redrive.refused', { n: r.refused }) : null, left > 0 ? t('dlq.redrive.left', { time: duration(Math.ceil(left) * 1000) }) : null, byWhom(r)].filter(Boolean).join(' · ');
  }
  update(first);
  return { el, update };
}

/* The redrives that run now, kept up to date; kind: 'dlq' or 'replay' alone. onended() when one has come to its end. */
export function runningRedrives({ session, signal, onended, kind }) {
  const list = h('div', { class: 'redrives' });
  const stale = staleNote();
  const box = h('section', { class: 'card', hidden: true, 'aria-label': t('dlq.redrives.running') }, h('div', { class: 'card-head' }, h('h2', {}, t('dlq.redrives.running'))), list, stale.el);
  const cards = new Map();

  async function look() {
    const page = await get('redrives', { limit: 100 }, { signal });
    stale.tell(null);
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
        cards.set(r.id, runningCard(r, session, look));
        list.append(cards.get(r.id).el);
      }
    }
    box.hidden = !running.length;
    if (ended) onended?.();
  }
  every(1000, look, signal, stale.tell);
  return { el: box, look };
}

function refusalsOf(r) {
  if (!r.refused) return null;
  return h('details', { class: 'whole' }, h('summary', {}, t('dlq.redrive.refused', { n: r.refused })),
    h('ul', { class: 'plain' }, (r.refusals || []).map((x) => h('li', {}, r.kind === 'replay' ? h('code', {}, user(x.id, 40)) : h('a', { href: `#/dlq/${encodeURIComponent(x.id)}` }, h('code', {}, user(x.id, 40))), ' ', user(said(x.why ?? x.reason), 300)))));
}

/* Waits until it has ended -> what became of it, as a note. */
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
  const over = t('dlq.redrive.over', { what: howFar(r) });
  return h('div', { class: `note ${r.refused || r.state !== 'done' ? 'bad' : 'good'}`, role: 'status' }, r.state === 'done' ? over : [stateBadge(r), ' ', over], refusalsOf(r));
}

/* All redrives, newest first: { el, reload(quiet) }. */
export function redriveList({ signal }) {
  const columns = [
    { label: t('field.state'), cell: (r) => [stateBadge(r), r.kind === 'replay' ? h('div', { class: 'small faint' }, t('dlq.redrive.replay')) : null] },
    { label: t('dlq.redrive.progress'), cell: (r) => [h('span', { class: 'num' }, howFar(r)), refusalsOf(r)] },
    { label: t('dlq.redrive.rate'), align: 'right', cell: (r) => n(r.ratePerSecond) },
    { label: t('field.actor'), cell: (r) => user(byWhom(r), 60) },
    { label: t('field.started'), cell: (r) => ago(r.createdAt) },
  ];
  return pager((cursor) => get('redrives', { limit: 10, cursor }, { signal }),
    (rows) => table({ columns, rows, caption: t('dlq.redrives'), empty: t('dlq.redrives.none') }), { signal });
}
