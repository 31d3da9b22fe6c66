/* The list of campaigns: positions sold and paid, and the revenue. */

import { h, untrusted } from '../lib/dom.js';
import { money, t, timeTag } from '../lib/i18n.js';
import { badge, meter, pageHead } from '../lib/ui.js';
import { pagedTable } from '../lib/table.js';

const PAGE = 20;
const TONES = { active: 'busy', sold_out: 'good', drawn: 'good', cancelled: 'calm' };

export const statusBadge = (c) => badge(c.status, { tone: TONES[c.status], label: t(`campaigns.status.${c.status}`) });

/* positionsSold includes the reserved positions (contract D14). */
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
      { label: t('field.title'), class: 'grow', cell: (c) => h('a', { class: 'wrap', href: `#/campaigns/${c.id}` }, untrusted(c.title, 100)) },
      { label: t('field.state'), cell: statusBadge },
      { label: t('campaigns.positions'), cell: (c) => h('div', { class: 'meter-cell' }, soldMeter(c)) },
      { label: t('campaigns.revenue'), align: 'right', cell: (c) => money(c.totalRevenue, c.currency) },
      { label: t('field.created'), cell: (c) => timeTag(c.createdAt, { seconds: false }) },
    ];
    const list = pagedTable({ path: 'campaigns', limit: PAGE, signal, columns, caption: t('campaigns.title'), onRow: (c) => go(`/campaigns/${c.id}`),
      empty: { title: t('campaigns.none'), hint: t('campaigns.none.hint', { id: '{id}' }) } });
    root.append(pageHead(t('campaigns.title'), { lead: t('campaigns.lead') }), list.el);
  },
};
