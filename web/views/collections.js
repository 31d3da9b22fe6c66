/* The list of collections: how much is due, and how much has been received. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { money, now, t, timeTag } from '../lib/i18n.js';
import { badge, meter, pageHead } from '../lib/ui.js';
import { pager, table } from '../lib/table.js';

const PAGE = 20;
const PARALLEL = 4; /* requests for totals at the same time */

export const isOverdue = (c, unpaid) => c.dueAt && unpaid > 0 && Date.parse(c.dueAt) < now();

export function dueCell(c, unpaid = 0) {
  if (!c.dueAt) return h('span', { class: 'faint' }, t('collections.due.none'));
  return h('span', {}, timeTag(c.dueAt, { seconds: false }), isOverdue(c, unpaid) ? [' ', badge('late', { tone: 'bad', label: t('collections.overdue') })] : null);
}

export const paidMeter = (totals) => meter([totals.paid], totals.participants, t('collections.people', { paid: totals.paid, all: totals.participants }));

/* The list has no totals: they are loaded for each row and filled in as they arrive. */
async function loadTotals(rows, cells, signal) {
  const waiting = [...rows];
  const worker = async () => {
    for (let c = waiting.shift(); c && !signal.aborted; c = waiting.shift()) {
      const full = await get(`collections/${c.id}`, { limit: 1 }, { signal }).catch(() => null);
      const cell = cells.get(c.id);
      if (!cell || !full) continue;
      replaceContent(cell.paid, paidMeter(full.totals));
      replaceContent(cell.net, money(full.totals.amountNet, c.currency));
      replaceContent(cell.left, money(full.totals.amountOutstanding, c.currency));
      replaceContent(cell.due, dueCell(c, full.totals.unpaid));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}

function collectionTable(rows, go, signal) {
  const cells = new Map(rows.map((c) => [c.id, { paid: h('div', { class: 'meter-cell' }, '…'), net: h('span', {}, '…'), left: h('span', {}, '…'), due: h('span', {}, dueCell(c)) }]));
  loadTotals(rows, cells, signal);
  return table({
    caption: t('collections.title'), rows, empty: { title: t('collections.none'), hint: t('collections.none.hint', { id: '{id}' }) }, onRow: (c) => go(`/collections/${c.id}`),
    columns: [
      { label: t('field.title'), class: 'grow', cell: (c) => h('a', { class: 'wrap', href: `#/collections/${c.id}` }, untrusted(c.title, 100)) },
      { label: t('collections.progress'), cell: (c) => cells.get(c.id).paid },
      { label: t('collections.received'), align: 'right', cell: (c) => cells.get(c.id).net },
      { label: t('collections.outstanding'), align: 'right', cell: (c) => cells.get(c.id).left },
      { label: t('field.due'), cell: (c) => cells.get(c.id).due },
    ],
  });
}

export default {
  path: '/collections',
  title: 'collections.title',
  nav: true,
  role: 'viewer',
  key: 'c',
  async mount(root, { go, signal }) {
    const list = pager((cursor) => get('collections', { limit: PAGE, cursor }, { signal }), (rows) => collectionTable(rows, go, signal), { signal });
    root.append(pageHead(t('collections.title'), { lead: t('collections.lead') }), list.el);
  },
};
