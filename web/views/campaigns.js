/* Campaigns: positions sold and paid, and what they brought. */

import { h, user } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { money, t, time } from '../lib/i18n.js';
import { badge, pageHead, pager, table } from '../lib/ui.js';
import { meter } from '../lib/parts.js';

const PAGE = 20;
const TONES = { active: 'busy', sold_out: 'good', drawn: 'good', cancelled: 'calm' };

export const statusBadge = (c) => badge(c.status, { tone: TONES[c.status], label: t(`campaigns.status.${c.status}`) });

/* positionsSold counts the reserved ones too (D14). */
export function soldMeter(c) {
  const reserved = Math.max(0, c.positionsSold - c.positionsPaid);
  return meter([c.positionsPaid, reserved], c.positionsTotal, t('campaigns.of', { paid: c.positionsPaid, reserved, total: c.positionsTotal }));
}

export default {
  path: '/campaigns',
  title: 'campaigns.title',
  nav: true,
  role: 'viewer',
  async mount(root, { go, signal }) {
    const columns = [
      { label: t('field.title'), class: 'grow', cell: (c) => h('a', { class: 'wrap', href: `#/campaigns/${c.id}` }, user(c.title, 100)) },
      { label: t('field.state'), cell: statusBadge },
      { label: t('campaigns.positions'), cell: (c) => h('div', { class: 'meter-cell' }, soldMeter(c)) },
      { label: t('campaigns.revenue'), align: 'right', cell: (c) => money(c.totalRevenue, c.currency) },
      { label: t('field.created'), cell: (c) => time(c.createdAt, { seconds: false }) },
    ];
    const list = pager((cursor) => get('campaigns', { limit: PAGE, cursor }, { signal }),
      (rows) => table({ columns, rows, caption: t('campaigns.title'), empty: { title: t('campaigns.none'), hint: t('campaigns.none.hint', { id: '{id}' }) }, onRow: (c) => go(`/campaigns/${c.id}`) }), { signal });
    root.append(pageHead(t('campaigns.title'), { lead: t('campaigns.lead') }), list.el);
  },
};
