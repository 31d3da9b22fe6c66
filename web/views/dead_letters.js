/* Dead letters grouped by failure cause; with ?kind=&cause= the dead letters of one cause. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { get, loadUntilFound, post } from '../lib/api.js';
import { agoTag, t } from '../lib/i18n.js';
import { button, codeText, countText, facts, longText, newId, pageHead, section, twoLines } from '../lib/ui.js';
import { errorBox, runAction, toast } from '../lib/feedback.js';
import { pagedTable } from '../lib/table.js';
import { EXACT, field, filterBar, isoToLocal } from '../lib/form.js';
import { confirmDialog } from '../lib/dialog.js';
import { canOperate } from '../lib/session.js';
import { paymentLink } from '../lib/payment_ui.js';
import { askRedrive, countMatches, deadLetterCount, followRedrive, redriveList, runningRedrives } from '../lib/redrives.js';
import { translateServerText } from '../lib/server_text.js';

const PAGE = 20;
const MAX_SELECTED = 1000; /* ids that the API takes in one request */
const BATCH = 10000; /* dead letters per request */
const COUNT_LIMIT = 100000; /* a larger group is shown as "at least" */

/* ---- all causes ---- */

function causeCell(g) {
  return twoLines(h('a', { class: 'wrap', href: groupAddress(g) }, untrusted(translateServerText(g.cause), 160)), codeText(g.kind));
}

function groupAddress({ kind, cause }) {
  return `#/dlq?${new URLSearchParams({ kind, cause })}`;
}

function groupColumns() {
  return [
    { label: t('dlq.cause'), class: 'grow', cell: causeCell },
    { label: t('dlq.count'), align: 'right', cell: (g) => h('strong', {}, countText(g.count, g.exact)) },
    { label: t('dlq.oldest'), cell: (g) => agoTag(g.oldestAt) },
    { label: t('dlq.newest'), cell: (g) => agoTag(g.newestAt) },
  ];
}

function groupFilters(query, apply) {
  const kinds = newId('kinds');
  const list = h('datalist', { id: kinds }, ['stripe.event', 'stripe.refetch', 'paypay.event', 'event.deliver', 'qstash.deliver'].map((k) => h('option', { value: k })));
  const fields = [
    field({ label: t('field.kind'), name: 'kind', list: kinds, value: query.get('kind'), placeholder: t('dlq.all_kinds'), maxlength: 255, ...EXACT }),
    field({ label: t('filter.from'), name: 'from', type: 'datetime-local', value: isoToLocal(query.get('from')) }),
    field({ label: t('filter.to'), name: 'to', type: 'datetime-local', value: isoToLocal(query.get('to')) }),
  ];
  return [list, filterBar(fields, { apply })];
}

function mountGroups(root, { query, session, go, signal }) {
  let filter = { kind: query.get('kind'), from: query.get('from'), to: query.get('to') };
  const groups = pagedTable({ path: 'dlq/groups', params: () => filter, limit: PAGE, signal, columns: groupColumns(), caption: t('dlq.groups'),
    empty: { title: t('dlq.none'), hint: t('dlq.none.hint') }, onRow: (g) => go('/dlq', { kind: g.kind, cause: g.cause }) });
  const history = redriveList({ signal });
  const running = runningRedrives({ session, signal, onended() { groups.reload(true); history.reload(true); } });

  root.append(pageHead(t('dlq.title'), { lead: t('dlq.lead') }), running.el,
    section(t('dlq.groups'), groupFilters(query, (values) => { filter = values; go('/dlq', values, { stay: true }); groups.first(); }), groups.el),
    section(t('dlq.redrives'), history.el));
}

/* ---- the dead letters of one cause ---- */

/* The checkboxes of the rows. The selection spans all pages; onchange() is called when it changes. */
function createSelection(onchange) {
  const ids = new Set();
  return {
    ids,
    clear() {
      for (const id of ids) for (const el of document.querySelectorAll(`.row-check[data-id="${CSS.escape(id)}"]`)) el.checked = false;
      ids.clear();
      onchange();
    },
    box(id) {
      return h('input', { type: 'checkbox', class: 'row-check', checked: ids.has(id), 'aria-label': t('dlq.select'), dataset: { id }, onchange(e) {
        if (e.target.checked && ids.size < MAX_SELECTED) ids.add(id);
        else ids.delete(id);
        e.target.checked = ids.has(id);
        onchange();
      } });
    },
  };
}

/* Shows how many were processed and how many were rejected. done: the text key for those that were processed. */
function showResult(r, done) {
  if (r.done) toast(t(done, { n: r.done }), 'good');
  if (r.refused) toast([h('p', {}, t('dlq.retry.refused', { n: r.refused })), h('ul', { class: 'plain-list' }, r.refusals.slice(0, 3).map((x) => h('li', {}, untrusted(translateServerText(x.reason), 200))))], 'bad');
}

function deadLetterColumns(selection, retryOne) {
  const main = [
    { label: t('field.reason'), class: 'grow', cell: (l) => h('a', { class: 'wrap', href: `#/dlq/${encodeURIComponent(l.id)}` }, untrusted(translateServerText(l.reason), 140)) },
    { label: t('field.subject'), cell: (l) => codeText(l.ref, 34) },
    { label: t('field.payment'), cell: (l) => paymentLink(l.paymentId) },
    { label: t('field.attempts'), align: 'right', cell: (l) => String(l.attempts) },
    { label: t('dlq.died'), cell: (l) => agoTag(l.diedAt) },
  ];
  if (!selection) return main;
  return [{ label: '', class: 'check-cell', cell: (l) => selection.box(l.id) }, ...main,
    { label: '', class: 'action-cell', cell: (l) => button({ label: t('dlq.retry'), small: true, onclick: (e) => retryOne(l, e.currentTarget) }) }];
}

/* Runs an action on everything that the filter matches, in batches. Returns the sums, and a cursor if `steps` ended it early. */
async function runOnAll(path, body, steps = Infinity) {
  const sum = { matched: 0, done: 0, refused: 0, refusals: [], cursor: undefined };
  do {
    const r = await post(path, { ...body, limit: BATCH, cursor: sum.cursor });
    for (const name of ['matched', 'done', 'refused']) sum[name] += r[name];
    sum.refusals.push(...r.refusals);
    sum.cursor = r.cursor || undefined;
  } while (sum.cursor && --steps > 0);
  return sum;
}

/* Counts first, so that the dialog shows the number. Only dead letters from before the count are deleted. */
async function deleteAll(group, at) {
  const filter = { ...group };
  const counted = await runAction(at, async () => {
    filter.to = (await get('session')).now;
    return runOnAll('dlq/delete', { filter, dryRun: true }, COUNT_LIMIT / BATCH);
  });
  if (!counted) return;
  if (!counted.matched) return void toast(t('dlq.list.none'));
  const title = t('dlq.delete.many.title', { count: deadLetterCount(counted.matched, !counted.cursor) });
  const done = await confirmDialog({ title, body: t('dlq.delete.body'), confirm: t('dlq.delete'), danger: true, typed: t('dlq.delete.word'), action: () => runOnAll('dlq/delete', { filter }) });
  if (done) showResult(done.result, 'dlq.deleted');
}

/* The count and times of the group. The group may be gone by now; then only its kind is shown. */
async function showGroupFacts(box, { kind, cause }, signal) {
  const find = (data) => data.find((x) => x.cause === cause && (!kind || x.kind === kind));
  const page = await loadUntilFound((cursor) => get('dlq/groups', { kind, limit: 100, cursor }, { signal }), null, { isEnough: find });
  const g = find(page.data);
  replaceContent(box, facts([[t('field.kind'), codeText(kind)], g && [t('dlq.count'), countText(g.count, g.exact)], g && [t('dlq.oldest'), agoTag(g.oldestAt)], g && [t('dlq.newest'), agoTag(g.newestAt)]]));
}

function mountGroup(root, { query, session, go, signal }) {
  const filter = { cause: query.get('cause') };
  if (query.get('kind')) filter.kind = query.get('kind');
  const may = canOperate(session);
  const result = h('div', { role: 'status', class: 'result' });
  const about = h('div', {});
  const bar = h('div', { class: 'selection', hidden: true, role: 'group' });
  const all = may && button({ label: t('dlq.select.all'), small: true, kind: 'ghost', onclick: selectPage });
  const selection = may ? createSelection(showSelection) : null;
  const list = pagedTable({ path: 'dlq', params: () => filter, limit: PAGE, signal, columns: deadLetterColumns(selection, retryOne), caption: t('dlq.list'),
    empty: { title: t('dlq.list.none'), hint: t('dlq.list.none.hint') }, onRow: (l) => go(`/dlq/${encodeURIComponent(l.id)}`) });
  const running = runningRedrives({ session, signal, onended: refresh });

  async function refresh() {
    list.reload(true);
    await showGroupFacts(about, filter, signal).catch(() => {});
  }
  async function retryOne(l, at) {
    if (await runAction(at, () => post(`dlq/${encodeURIComponent(l.id)}/retry`), t('dlq.retry.done'))) refresh();
  }
  async function retryPicked(e) {
    const r = await runAction(e.currentTarget, () => post('dlq/retry', { ids: [...selection.ids] }));
    if (!r) return;
    showResult(r, 'dlq.retry.many');
    selection.clear();
    refresh();
  }
  async function redrive(what) {
    const started = await askRedrive(what);
    running.update().catch(() => {});
    if (!started) return;
    toast(t('dlq.redrive.started'), 'good');
    selection.clear();
    replaceContent(result, await followRedrive(started, signal));
    refresh();
  }
  function selectPage() {
    for (const box of list.el.querySelectorAll('.row-check:not(:checked)')) box.click();
  }
  function showSelection() {
    const n = selection.ids.size;
    bar.hidden = !n;
    replaceContent(bar, h('strong', { role: 'status' }, t('dlq.selected', { n })),
      button({ label: t('dlq.retry.selected'), small: true, kind: 'primary', onclick: retryPicked }),
      button({ label: t('dlq.redrive'), small: true, onclick: () => redrive({ ids: [...selection.ids] }) }),
      button({ label: t('dlq.selected.none'), small: true, kind: 'ghost', onclick: () => selection.clear() }));
  }
  async function showCount(e) {
    replaceContent(result);
    const r = await runAction(e.currentTarget, () => countMatches({ filter }, signal));
    if (r) replaceContent(result, h('p', { class: 'note' }, t('dlq.dry_run.result', { count: deadLetterCount(r.matched, r.exact) })));
  }
  const actions = may && [
    button({ label: t('ui.dry_run'), onclick: showCount }),
    button({ label: t('dlq.redrive'), kind: 'primary', onclick: () => redrive({ filter }) }),
    button({ label: t('dlq.delete.group'), kind: 'ghost danger-text', onclick: (e) => deleteAll(filter, e.currentTarget).then(refresh) }),
  ];

  root.append(pageHead(h('span', { class: 'wrap' }, untrusted(translateServerText(filter.cause), 140) || '–'), { back: { href: '#/dlq', label: t('dlq.back') }, actions }),
    about, ...(filter.cause.length > 140 ? [longText(filter.cause, 140)] : []), result, running.el, section(t('dlq.list'), all, bar, list.el));
  showGroupFacts(about, filter, signal).catch((err) => signal.aborted || replaceContent(about, errorBox(err, refresh)));
}

export default {
  path: '/dlq',
  title: 'dlq.title',
  nav: true,
  role: 'viewer',
  key: 'd',
  async mount(root, ctx) {
    const ref = ctx.query.get('ref'); /* an event links here by its id; its dead letter is opened if there is one */
    const found = ref && (await loadUntilFound((cursor) => get('dlq', { ref, limit: 1, cursor }, { signal: ctx.signal }), null, { steps: 100 })).data[0];
    if (found) ctx.go(`/dlq/${encodeURIComponent(found.id)}`, {}, { replace: true });
    else if (ctx.query.get('cause') === null) mountGroups(root, ctx);
    else mountGroup(root, ctx);
  },
};
