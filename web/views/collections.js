/* Collections: who collects what, and how much of it has come. */

import { clear, h, user } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { money, now, t, time } from '../lib/i18n.js';
import { badge, pageHead, pager, table } from '../lib/ui.js';
import { meter } from '../lib/parts.js';

const PAGE = 20;
const AT_ONCE = 4; /* totals are asked for one by one, so many at a time */

export const overdue = (c, unpaid) => c.dueAt && unpaid > 0 && Date.parse(c.dueAt) < now();

export function dueCell(c, unpaid = 0) {
  if (!c.dueAt) return h('span', { class: 'faint' }, t('collections.due.none'));
  return h('span', {}, time(c.dueAt, { seconds: false }), overdue(c, unpaid) ? [' ', badge('late', { tone: 'bad', label: t('collections.overdue') })] : null);
}

export const paidMeter = (totals) => meter([totals.paid], totals.participants, t('collections.people', { paid: totals.paid, all: totals.participants }));

/* The list has no totals; each row's arrive when they arrive. */
async function fillTotals(rows, cells, signal) {
  const waiting = [...rows];
  const one = async () => {
    for (let c = waiting.shift(); c && !signal.aborted; c = waiting.shift()) {
      const whole = await get(`collections/${c.id}`, { limit: 1 }, { signal }).catch(() => null);
      const cell = cells.get(c.id);
      if (!cell || !whole) continue;
      clear(cell.paid, paidMeter(whole.totals));
      clear(cell.net, money(whole.totals.amountNet, c.currency));
      clear(cell.left, money(whole.totals.amountOutstanding, c.currency));
      clear(cell.due, dueCell(c, whole.totals.unpaid));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

function listOf(rows, go, signal) {
  const cells = new Map(rows.map((c) => [c.id, { paid: h('div', { class: 'meter-cell' }, '…'), net: h('span', {}, '…'), left: h('span', {}, '…'), due: h('span', {}, dueCell(c)) }]));
  fillTotals(rows, cells, signal);
  return table({
    caption: t('collections.title'), rows, empty: { title: t('collections.none'), hint: t('collections.none.hint', { id: '{id}' }) }, onRow: (c) => go(`/collections/${c.id}`),
    columns: [
      { label: t('field.title'), class: 'grow', cell: (c) => h('a', { class: 'wrap', href: `#/collections/${c.id}` }, user(c.title, 100)) },
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
    const list = pager((cursor) => get('collections', { limit: PAGE, cursor }, { signal }), (rows) => listOf(rows, go, signal), { signal });
    root.append(pageHead(t('collections.title'), { lead: t('collections.lead') }), list.el);
  },
};
