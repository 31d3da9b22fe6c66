/* What waits in the queue by kind, the queues of the QStash API, and the schedules. */

import { clear, h, user } from '../lib/dom.js';
import { get, post } from '../lib/api.js';
import { ago, agoText, n, now, t } from '../lib/i18n.js';
import { badge, button, confirmDialog, errorBox, pageHead, pager, section, spinner, staleNote, table, toast } from '../lib/ui.js';
import { code, count, operates, whole } from '../lib/parts.js';
import { every } from '../lib/poll.js';

const LOOK_MS = 5000;

const stateOf = (x) => badge(x.paused ? 'paused' : 'active', { tone: x.paused ? 'warn' : 'good', label: t(x.paused ? 'queues.paused' : 'queues.active') });

function dueCell(k) {
  if (!k.oldestDueAt) return null;
  return Date.parse(k.oldestDueAt) > now() ? h('span', { class: 'faint' }, t('queues.next', { when: agoText(k.oldestDueAt) })) : ago(k.oldestDueAt);
}

function kindsTable(kinds) {
  return table({
    caption: t('queues.kinds'), rows: kinds, empty: t('queues.kinds.none'),
    columns: [
      { label: t('field.kind'), class: 'grow', cell: (k) => code(k.kind) },
      { label: t('queues.waiting'), align: 'right', cell: (k) => h('strong', {}, count(k.waiting, k.exact)) },
      { label: t('queues.ready'), align: 'right', cell: (k) => n(k.ready) },
      { label: t('queues.oldest'), cell: dueCell },
    ],
  });
}

/* Pausing is asked for, resuming is not: it only lets go on what was meant to. */
async function turn(kind, name, x, body, changed) {
  const word = x.paused ? 'resume' : 'pause';
  const call = () => post(`${kind}/${encodeURIComponent(name)}/${word}`, {});
  const done = await confirmDialog(x.paused
    ? { title: `${t('queues.resume')}: ${name.slice(0, 80)}`, body: '', confirm: t('queues.resume'), action: call }
    : { title: t('queues.pause.title', { name: name.slice(0, 80) }), body, confirm: t('queues.pause'), action: call });
  if (!done) return;
  toast(h('bdi', {}, t(x.paused ? 'queues.act.resumed' : 'queues.act.paused', { name: name.slice(0, 80) })), 'good');
  changed();
}

const turnButton = (x, onclick) => button({ label: t(x.paused ? 'queues.resume' : 'queues.pause'), small: true, onclick });

function queuesTable(queues, session, changed) {
  return table({
    caption: t('queues.qstash'), rows: queues, empty: { title: t('queues.qstash.none'), hint: t('queues.qstash.none.hint') },
    columns: [
      { label: t('field.name'), class: 'grow', cell: (q) => h('span', { class: 'wrap' }, user(q.name, 100)) },
      { label: t('field.state'), cell: stateOf },
      { label: t('queues.waiting'), align: 'right', cell: (q) => n(q.lag) },
      { label: t('queues.running'), align: 'right', cell: (q) => n(q.running) },
      { label: t('queues.parallelism'), align: 'right', cell: (q) => n(q.parallelism) },
      ...(operates(session) ? [{ label: '', class: 'act-cell', cell: (q) => turnButton(q, () => turn('queues', q.name, q, t('queues.pause.body'), changed)) }] : []),
    ],
  });
}

function scheduleCell(x) {
  return h('div', { class: 'two-lines' }, x.destination ? h('span', { class: 'wrap' }, user(x.destination, 80)) : code(x.kind),
    h('span', { class: 'faint small' }, x.source === 'builtin' ? t('queues.builtin') : code(x.id, 40)));
}

function schedulesTable(rows, session, changed) {
  return table({
    caption: t('queues.schedules'), rows, empty: t('queues.schedules.none'),
    columns: [
      { label: t('queues.task'), class: 'grow', cell: scheduleCell },
      { label: t('queues.cron'), cell: (x) => code(x.cron, 60) },
      { label: t('field.state'), cell: (x) => [stateOf(x), x.error ? h('div', { class: 'small bad-text' }, whole(x.error, 80)) : null] },
      { label: t('queues.next_run'), cell: (x) => ago(x.nextAt) },
      { label: t('queues.last_run'), cell: (x) => ago(x.lastAt) },
      ...(operates(session) ? [{ label: '', class: 'act-cell', cell: (x) => (x.source === 'builtin' ? h('span', {}) : turnButton(x, () => turn('schedules', x.id, x, t('queues.schedule.pause.body'), changed))) }] : []),
    ],
  });
}

export default {
  path: '/queues',
  title: 'queues.title',
  nav: true,
  role: 'viewer',
  key: 'q',
  async mount(root, { session, signal }) {
    const kinds = h('div', {}, spinner());
    const queues = h('div', {}, spinner());
    const schedules = pager((cursor) => get('schedules', { limit: 50, cursor }, { signal }), (rows) => schedulesTable(rows, session, () => schedules.reload(true)), { signal });
    const stale = staleNote();
    let last = '';

    /* Drawn anew only where something changed: the keyboard keeps its place. */
    async function look() {
      const r = await get('queues', null, { signal });
      stale.tell(null);
      clear(kinds, kindsTable(r.kinds));
      if (JSON.stringify(r.queues) === last) return;
      last = JSON.stringify(r.queues);
      clear(queues, queuesTable(r.queues, session, look));
    }
    root.append(pageHead(t('queues.title'), { lead: t('queues.lead') }), section(t('queues.kinds'), stale.el, kinds), section(t('queues.qstash'), queues), section(t('queues.schedules'), schedules.el));
    every(LOOK_MS, look, signal, (err) => {
      if (last) return stale.tell(err);
      return err && clear(kinds, errorBox(err, look)) && clear(queues);
    });
  },
};
