/* Messages in the queue by kind, the queues of the QStash API, and the schedules. */

import { h, replaceContent } from '../lib/dom.js';
import { get, post } from '../lib/api.js';
import { agoTag, agoText, formatNumber, now, t } from '../lib/i18n.js';
import { badge, button, codeText, countText, longText, pageHead, section, spinner, wrapped } from '../lib/ui.js';
import { errorBox, staleNote, toast } from '../lib/feedback.js';
import { actionColumn, pager, table } from '../lib/table.js';
import { confirmDialog } from '../lib/dialog.js';
import { poll } from '../lib/poll.js';

const REFRESH_MS = 5000;

const stateBadge = (x) => badge(x.paused ? 'paused' : 'active', { tone: x.paused ? 'warn' : 'good', label: t(x.paused ? 'queues.paused' : 'queues.active') });

function dueCell(k) {
  if (!k.oldestDueAt) return null;
  return Date.parse(k.oldestDueAt) > now() ? h('span', { class: 'faint' }, t('queues.next', { when: agoText(k.oldestDueAt) })) : agoTag(k.oldestDueAt);
}

function kindsTable(kinds) {
  return table({
    caption: t('queues.kinds'), rows: kinds, empty: t('queues.kinds.none'),
    columns: [
      { label: t('field.kind'), class: 'grow', cell: (k) => codeText(k.kind) },
      { label: t('queues.waiting'), align: 'right', cell: (k) => h('strong', {}, countText(k.waiting, k.exact)) },
      { label: t('queues.ready'), align: 'right', cell: (k) => formatNumber(k.ready) },
      { label: t('queues.oldest'), cell: dueCell },
    ],
  });
}

/* Pauses or resumes a queue or a schedule, after asking. */
async function togglePaused(kind, name, x, body, changed) {
  const word = x.paused ? 'resume' : 'pause';
  const call = () => post(`${kind}/${encodeURIComponent(name)}/${word}`, {});
  const done = await confirmDialog(x.paused
    ? { title: `${t('queues.resume')}: ${name.slice(0, 80)}`, body: '', confirm: t('queues.resume'), action: call }
    : { title: t('queues.pause.title', { name: name.slice(0, 80) }), body, confirm: t('queues.pause'), action: call });
  if (!done) return;
  toast(h('bdi', {}, t(x.paused ? 'queues.act.resumed' : 'queues.act.paused', { name: name.slice(0, 80) })), 'good');
  changed();
}

const pauseButton = (x, onclick) => button({ label: t(x.paused ? 'queues.resume' : 'queues.pause'), small: true, onclick });

function queuesTable(queues, session, changed) {
  return table({
    caption: t('queues.qstash'), rows: queues, empty: { title: t('queues.qstash.none'), hint: t('queues.qstash.none.hint') },
    columns: [
      { label: t('field.name'), class: 'grow', cell: (q) => wrapped(q.name, 100) },
      { label: t('field.state'), cell: stateBadge },
      { label: t('queues.waiting'), align: 'right', cell: (q) => formatNumber(q.lag) },
      { label: t('queues.running'), align: 'right', cell: (q) => formatNumber(q.running) },
      { label: t('queues.parallelism'), align: 'right', cell: (q) => formatNumber(q.parallelism) },
      ...actionColumn(session, (q) => pauseButton(q, () => togglePaused('queues', q.name, q, t('queues.pause.body'), changed))),
    ],
  });
}

function scheduleCell(x) {
  return h('div', { class: 'two-lines' }, x.destination ? wrapped(x.destination, 80) : codeText(x.kind),
    h('span', { class: 'faint small' }, x.source === 'builtin' ? t('queues.builtin') : codeText(x.id, 40)));
}

function schedulesTable(rows, session, changed) {
  return table({
    caption: t('queues.schedules'), rows, empty: t('queues.schedules.none'),
    columns: [
      { label: t('queues.task'), class: 'grow', cell: scheduleCell },
      { label: t('queues.cron'), cell: (x) => codeText(x.cron, 60) },
      { label: t('field.state'), cell: (x) => [stateBadge(x), x.error ? h('div', { class: 'small bad-text' }, longText(x.error, 80)) : null] },
      { label: t('queues.next_run'), cell: (x) => agoTag(x.nextAt) },
      { label: t('queues.last_run'), cell: (x) => agoTag(x.lastAt) },
      ...actionColumn(session, (x) => (x.source === 'builtin' ? null : pauseButton(x, () => togglePaused('schedules', x.id, x, t('queues.schedule.pause.body'), changed)))),
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

    /* The queues are redrawn only if they have changed, so that a button keeps the focus. */
    async function refresh() {
      const r = await get('queues', null, { signal });
      stale.setError(null);
      replaceContent(kinds, kindsTable(r.kinds));
      if (JSON.stringify(r.queues) === last) return;
      last = JSON.stringify(r.queues);
      replaceContent(queues, queuesTable(r.queues, session, refresh));
    }
    root.append(pageHead(t('queues.title'), { lead: t('queues.lead') }), section(t('queues.kinds'), stale.el, kinds), section(t('queues.qstash'), queues), section(t('queues.schedules'), schedules.el));
    poll(REFRESH_MS, refresh, signal, (err) => {
      if (last) return stale.setError(err);
      return err && replaceContent(kinds, errorBox(err, refresh)) && replaceContent(queues);
    });
  },
};
