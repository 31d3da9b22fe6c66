/* table.js - tables, and lists of which the server gives one page at a time. */

import { get, loadUntilFound } from './api.js';
import { h, replaceContent } from './dom.js';
import { errorBox } from './feedback.js';
import { t } from './i18n.js';
import { canOperate } from './session.js';
import { button, emptyState, spinner } from './ui.js';

function cellOf(column, row) {
  const cls = [column.class || '', column.align === 'right' ? 'num right' : ''].join(' ').trim();
  const value = column.cell(row);
  return h('td', { class: cls || null, dataset: { label: column.label || '' } },
    value === null || value === undefined || value === '' ? h('span', { class: 'faint' }, '–') : value);
}

function focusNeighbourRow(e) {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[e.key];
  if (!step || e.target.tagName !== 'TR') return;
  const next = step > 0 ? e.target.nextElementSibling : e.target.previousElementSibling;
  if (next) next.focus();
  e.preventDefault();
}

function rowOf(columns, row, open) {
  const tr = h('tr', {}, columns.map((c) => cellOf(c, row)));
  if (!open) return tr;
  tr.className = 'row-link';
  tr.tabIndex = 0;
  tr.addEventListener('click', (e) => {
    if (!e.target.closest('a, button, input, label, summary') && !String(getSelection())) open(row);
  });
  tr.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && e.target === tr) open(row);
  });
  return tr;
}

/* columns: [{ label, cell(row), align: 'right', class }]. onRow(row) is called on a click and on Enter. The arrow keys, j and
 * k move between the rows. On a phone each row is a card with the labels inside. empty: a text, or emptyState()'s options. */
export function table({ columns, rows, empty, onRow, caption }) {
  if (!rows.length) return emptyState(typeof empty === 'string' ? { title: empty } : empty || { title: t('ui.nothing') });
  return h('div', { class: 'table-wrap', role: 'group', 'aria-label': caption || t('ui.table'), tabindex: '0' },
    h('table', {},
      caption && h('caption', { class: 'hidden-text' }, caption),
      h('thead', {}, h('tr', {}, columns.map((c) =>
        h('th', { scope: 'col', class: c.align === 'right' ? 'right' : null }, c.label || h('span', { class: 'hidden-text' }, t('ui.actions')))))),
      h('tbody', { onkeydown: focusNeighbourRow }, rows.map((row) => rowOf(columns, row, onRow)))));
}

/* The column with a row's buttons: [column] for an operator, [] for a viewer. cell(row) may return null. */
export const actionColumn = (session, cell) => (canOperate(session) ? [{ label: '', class: 'action-cell', cell: (row) => cell(row) ?? h('span', {}) }] : []);

/* A list in pages by cursor. load(cursor) -> { data, nextCursor }; render(data, page) -> element. Returns { el, reload(quiet),
 * first() }: reload stays on the page, first goes back to the first one. render says that there are no rows only at the end
 * of the list; a page that is empty before the end offers to search further. */
export function pager(load, render, { signal } = {}) {
  const body = h('div', { class: 'pager-body', 'aria-live': 'off' });
  const pageLabel = h('span', { class: 'faint' });
  const previous = button({ label: t('ui.previous'), small: true, onclick: () => turn(-1), dataset: { key: '[' } });
  const next = button({ label: t('ui.next'), small: true, onclick: () => turn(1), dataset: { key: ']' } });
  const foot = h('nav', { class: 'pager', 'aria-label': t('ui.pages'), hidden: true }, previous, pageLabel, next);
  let cursors = [null]; /* of the pages up to this one */
  let nextCursor = null;
  let loads = 0;

  function show(page) {
    nextCursor = page.nextCursor || null;
    replaceContent(body, nextCursor && !page.data.length ? noMatchYet() : render(page.data, page));
    previous.disabled = cursors.length < 2;
    next.disabled = !nextCursor;
    pageLabel.textContent = t('ui.page', { n: cursors.length });
    foot.hidden = cursors.length < 2 && !(nextCursor && page.data.length);
  }
  /* The rows searched so far are skipped: this page now begins where the search goes on. */
  function noMatchYet() {
    return emptyState({ title: t('ui.no_match_yet'), hint: t('ui.no_match_yet_hint'), action: button({ label: t('ui.search_older'), kind: 'primary', onclick() {
      cursors[cursors.length - 1] = nextCursor;
      loadPage();
    } }) });
  }
  async function loadPage(quiet) {
    const mine = ++loads; /* of two loads at the same time, the later one is shown */
    const isCurrent = () => mine === loads && !signal?.aborted;
    const focused = document.activeElement;
    nextCursor = null; /* it belongs to the page before */
    next.disabled = true;
    if (!quiet) body.classList.add('stale');
    if (!body.hasChildNodes()) body.append(spinner());
    try {
      const page = await loadUntilFound(load, cursors[cursors.length - 1], { onstep() {
        if (isCurrent() && !quiet) replaceContent(body, spinner(t('ui.searching_older')));
      } });
      if (isCurrent()) show(page);
    } catch (err) {
      if (isCurrent()) replaceContent(body, errorBox(err, () => loadPage()));
    }
    if (mine !== loads) return;
    body.classList.remove('stale');
    /* A button that was disabled has lost the focus. */
    if (focused === next && document.activeElement === document.body) (next.disabled ? previous : next).focus();
  }
  function turn(step) {
    if (step > 0 && nextCursor) cursors.push(nextCursor);
    else if (step < 0 && cursors.length > 1) cursors.pop();
    else return;
    loadPage().then(() => body.scrollIntoView({ block: 'nearest' }));
  }
  loadPage();
  return {
    el: h('div', { class: 'paged' }, body, foot),
    reload: (quiet) => loadPage(quiet),
    first() {
      cursors = [null];
      return loadPage();
    },
  };
}

/* A pager over GET path that shows a table. params() gives the filters of the next request; the rest are table()'s options. */
export function pagedTable({ path, params, limit, signal, ...options }) {
  return pager((cursor) => get(path, { ...params?.(), limit, cursor }, { signal }), (rows) => table({ ...options, rows }), { signal });
}
