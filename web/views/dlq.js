/* Dead letters by their cause; with ?kind=&cause= the letters of one cause. */

import { clear, h, user } from '../lib/dom.js';
import { get, lookOn, post } from '../lib/api.js';
import { ago, t } from '../lib/i18n.js';
import { button, confirmDialog, errorBox, facts, field, newId, pageHead, pager, section, table, toast } from '../lib/ui.js';
import { act, code, count, filterBar, localOf, operates, paymentLink, whole } from '../lib/parts.js';
import { said } from '../lib/said.js';
import { askRedrive, dryRun, followRedrive, lettersText, redriveList, runningRedrives } from '../lib/redrives.js';

const PAGE = 20;
const MOST_SELECTED = 1000; /* ids the API takes at once */
const AT_ONCE = 10000; /* letters of one request */
const COUNTED = 100000; /* letters of a group; of more it says "at least" */

/* ---- all causes ---- */

function causeCell(g) {
  return h('div', { class: 'two-lines' }, h('a', { class: 'wrap', href: groupAddress(g) }, user(said(g.cause), 160)), h('span', { class: 'faint small' }, code(g.kind)));
}

function groupAddress({ kind, cause }) {
  return `#/dlq?${new URLSearchParams({ kind, cause })}`;
}

function groupColumns() {
  return [
    { label: t('dlq.cause'), class: 'grow', cell: causeCell },
    { label: t('dlq.count'), align: 'right', cell: (g) => h('strong', {}, count(g.count, g.exact)) },
    { label: t('dlq.oldest'), cell: (g) => ago(g.oldestAt) },
    { label: t('dlq.newest'), cell: (g) => ago(g.newestAt) },
  ];
}

function groupFilters(query, apply) {
  const kinds = newId('kinds');
  const list = h('datalist', { id: kinds }, ['stripe.event', 'stripe.refetch', 'paypay.event', 'event.deliver', 'qstash.deliver'].map((k) => h('option', { value: k })));
  const fields = [
    field({ label: t('field.kind'), name: 'kind', list: kinds, value: query.get('kind'), placeholder: t('dlq.all_kinds'), maxlength: 255, spellcheck: 'false', autocapitalize: 'none' }),
    field({ label: t('filter.from'), name: 'from', type: 'datetime-local', value: localOf(query.get('from')) }),
    field({ label: t('filter.to'), name: 'to', type: 'datetime-local', value: localOf(query.get('to')) }),
  ];
  return [list, filterBar(fields, { apply, label: t('filter.apply'), reset: t('filter.reset') })];
}

function mountGroups(root, { query, session, go, signal }) {
  let filter = { kind: query.get('kind'), from: query.get('from'), to: query.get('to') };
  const groups = pager((cursor) => get('dlq/groups', { ...filter, limit: PAGE, cursor }, { signal }),
    (rows) => table({ columns: groupColumns(), rows, caption: t('dlq.groups'), empty: { title: t('dlq.none'), hint: t('dlq.none.hint') }, onRow: (g) => go('/dlq', { kind: g.kind, cause: g.cause }) }), { signal });
  const history = redriveList({ signal });
  const running = runningRedrives({ session, signal, onended() { groups.reload(true); history.reload(true); } });

  root.append(pageHead(t('dlq.title'), { lead: t('dlq.lead') }), running.el,
    section(t('dlq.groups'), groupFilters(query, (values) => { filter = values; go('/dlq', values, { stay: true }); groups.first(); }), groups.el),
    section(t('dlq.redrives'), history.el));
}

/* ---- the letters of one cause ---- */

/* Which are ticked, over all pages; the bar says how many. */
function selection(onchange) {
  const ids = new Set();
  return {
    ids,
    clear() {
      for (const id of ids) for (const el of document.querySelectorAll(`.tick[data-id="${CSS.escape(id)}"]`)) el.checked = false;
      ids.clear();
      onchange();
    },
    box(id) {
      return h('input', { type: 'checkbox', class: 'tick', checked: ids.has(id), 'aria-label': t('dlq.select'), dataset: { id }, onchange(e) {
        if (e.target.checked && ids.size < MOST_SELECTED) ids.add(id);
        else ids.delete(id);
        e.target.checked = ids.has(id);
        onchange();
      } });
    },
  };
}

/* done: the words for those that it was done to. */
function tellActed(r, done) {
  if (r.done) toast(t(done, { n: r.done }), 'good');
  if (r.refused) toast([h('p', {}, t('dlq.retry.refused', { n: r.refused })), h('ul', { class: 'plain' }, r.refusals.slice(0, 3).map((x) => h('li', {}, user(said(x.reason), 200))))], 'bad');
}

function letterColumns(picked, retryOne) {
  const main = [
    { label: t('field.reason'), class: 'grow', cell: (l) => h('a', { class: 'wrap', href: `#/dlq/${encodeURIComponent(l.id)}` }, user(said(l.reason), 140)) },
    { label: t('field.subject'), cell: (l) => code(l.ref, 34) },
    { label: t('field.payment'), cell: (l) => paymentLink(l.paymentId) },
    { label: t('field.attempts'), align: 'right', cell: (l) => String(l.attempts) },
    { label: t('dlq.died'), cell: (l) => ago(l.diedAt) },
  ];
  if (!picked) return main;
  return [{ label: '', class: 'tick-cell', cell: (l) => picked.box(l.id) }, ...main,
    { label: '', class: 'act-cell', cell: (l) => button({ label: t('dlq.retry'), small: true, onclick: (e) => retryOne(l, e.currentTarget) }) }];
}

/* What the filter fits, step by step: the API looks at some thousand at once. -> what the steps come to, and the cursor
 * where that was not all. */
async function actOnAll(path, body, steps = Infinity) {
  const sum = { matched: 0, done: 0, refused: 0, refusals: [], cursor: undefined };
  do {
    const r = await post(path, { ...body, limit: AT_ONCE, cursor: sum.cursor });
    for (const name of ['matched', 'done', 'refused']) sum[name] += r[name];
    sum.refusals.push(...r.refusals);
    sum.cursor = r.cursor || undefined;
  } while (sum.cursor && --steps > 0);
  return sum;
}

/* Nobody is asked about a number that was not counted, nothing is deleted where there is none, and nothing that died
 * after the counting began. */
async function askDeleteAll(group, at) {
  const filter = { ...group };
  const counted = await act(at, async () => {
    filter.to = (await get('session')).now;
    return actOnAll('dlq/delete', { filter, dryRun: true }, COUNTED / AT_ONCE);
  });
  if (!counted) return;
  if (!counted.matched) return void toast(t('dlq.list.none'));
  const title = t('dlq.delete.many.title', { count: lettersText(counted.matched, !counted.cursor) });
  const done = await confirmDialog({ title, body: t('dlq.delete.body'), confirm: t('dlq.delete'), danger: true, typed: t('dlq.delete.word'), action: () => actOnAll('dlq/delete', { filter }) });
  if (done) tellActed(done.result, 'dlq.deleted');
}

/* The number of letters and their times are the group's; it may be gone by now. */
async function groupFacts(box, { kind, cause }, signal) {
  const find = (data) => data.find((x) => x.cause === cause && (!kind || x.kind === kind));
  const page = await lookOn((cursor) => get('dlq/groups', { kind, limit: 100, cursor }, { signal }), null, { enough: find });
  const g = find(page.data);
  clear(box, facts([[t('field.kind'), code(kind)], g && [t('dlq.count'), count(g.count, g.exact)], g && [t('dlq.oldest'), ago(g.oldestAt)], g && [t('dlq.newest'), ago(g.newestAt)]]));
}

function mountGroup(root, { query, session, go, signal }) {
  const filter = { cause: query.get('cause') };
  if (query.get('kind')) filter.kind = query.get('kind');
  const may = operates(session);
  const news = h('div', { role: 'status', class: 'news' });
  const about = h('div', {});
  const bar = h('div', { class: 'selection', hidden: true, role: 'group' });
  const all = may && button({ label: t('dlq.select.all'), small: true, kind: 'ghost', onclick: pickAll });
  const picked = may ? selection(showBar) : null;
  const letters = pager((cursor) => get('dlq', { ...filter, limit: PAGE, cursor }, { signal }),
    (rows) => table({ columns: letterColumns(picked, retryOne), rows, caption: t('dlq.list'), empty: { title: t('dlq.list.none'), hint: t('dlq.list.none.hint') }, onRow: (l) => go(`/dlq/${encodeURIComponent(l.id)}`) }), { signal });
  const running = runningRedrives({ session, signal, onended: refresh });

  async function refresh() {
    letters.reload(true);
    await groupFacts(about, filter, signal).catch(() => {});
  }
  async function retryOne(l, at) {
    if (await act(at, () => post(`dlq/${encodeURIComponent(l.id)}/retry`), t('dlq.retry.done'))) refresh();
  }
  async function retryPicked(e) {
    const r = await act(e.currentTarget, () => post('dlq/retry', { ids: [...picked.ids] }));
    if (!r) return;
    tellActed(r, 'dlq.retry.many');
    picked.clear();
    refresh();
  }
  async function redrive(what) {
    const started = await askRedrive(what);
    running.look().catch(() => {});
    if (!started) return;
    toast(t('dlq.redrive.started'), 'good');
    picked.clear();
    clear(news, await followRedrive(started, signal));
    refresh();
  }
  function pickAll() {
    for (const box of letters.el.querySelectorAll('.tick:not(:checked)')) box.click();
  }
  function showBar() {
    const n = picked.ids.size;
    bar.hidden = !n;
    clear(bar, h('strong', { role: 'status' }, t('dlq.selected', { n })),
      button({ label: t('dlq.retry.selected'), small: true, kind: 'primary', onclick: retryPicked }),
      button({ label: t('dlq.redrive'), small: true, onclick: () => redrive({ ids: [...picked.ids] }) }),
      button({ label: t('dlq.selected.none'), small: true, kind: 'ghost', onclick: () => picked.clear() }));
  }
  async function countFirst(e) {
    clear(news);
    const r = await act(e.currentTarget, () => dryRun({ filter }, signal));
    if (r) clear(news, h('p', { class: 'note' }, t('dlq.dry_run.result', { count: lettersText(r.matched, r.exact) })));
  }
  const actions = may && [
    button({ label: t('ui.dry_run'), onclick: countFirst }),
    button({ label: t('dlq.redrive'), kind: 'primary', onclick: () => redrive({ filter }) }),
    button({ label: t('dlq.delete.group'), kind: 'ghost danger-text', onclick: (e) => askDeleteAll(filter, e.currentTarget).then(refresh) }),
  ];

  root.append(pageHead(h('span', { class: 'wrap' }, user(said(filter.cause), 140) || '–'), { back: { href: '#/dlq', label: t('dlq.back') }, actions }),
    about, ...(filter.cause.length > 140 ? [whole(filter.cause, 140)] : []), news, running.el, section(t('dlq.list'), all, bar, letters.el));
  groupFacts(about, filter, signal).catch((err) => signal.aborted || clear(about, errorBox(err, refresh)));
}

export default {
  path: '/dlq',
  title: 'dlq.title',
  nav: true,
  role: 'viewer',
  key: 'd',
  async mount(root, ctx) {
    const ref = ctx.query.get('ref'); /* what an event links to: its letter, where there is one */
    const letter = ref && (await lookOn((cursor) => get('dlq', { ref, limit: 1, cursor }, { signal: ctx.signal }), null, { looks: 100 })).data[0];
    if (letter) ctx.go(`/dlq/${encodeURIComponent(letter.id)}`, {}, { replace: true });
    else if (ctx.query.get('cause') === null) mountGroups(root, ctx);
    else mountGroup(root, ctx);
  },
};
