/* One campaign: its layers, and the draw with everything that proves it. */

import { clear, h, user } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { money, n, t, time } from '../lib/i18n.js';
import { copyable, emptyState, errorBox, facts, pageHead, section, spinner, table } from '../lib/ui.js';
import { figures, meter, shortId } from '../lib/parts.js';
import { soldMeter, statusBadge } from './campaigns.js';

function layers(c) {
  return table({
    caption: t('campaigns.layers'), rows: c.layers,
    columns: [
      { label: t('campaigns.layer'), class: 'grow', cell: (l) => h('span', { class: 'wrap' }, user(l.name, 100)) },
      { label: t('campaigns.price'), align: 'right', cell: (l) => money(l.price, c.currency) },
      { label: t('campaigns.sold'), cell: (l) => h('div', { class: 'meter-cell' }, meter([l.positionsSold], l.positionsTotal, `${n(l.positionsSold)} / ${n(l.positionsTotal)}`)) },
    ],
  });
}

function winners(draw) {
  return table({
    caption: t('campaigns.winners'), rows: draw.winners,
    columns: [
      { label: t('campaigns.rank'), cell: (w) => String(w.rank) },
      { label: t('campaigns.number'), cell: (w) => String(w.number) },
      { label: t('payments.purchase'), class: 'grow', cell: (w) => copyable(w.purchaseId, { href: `#/payments?${new URLSearchParams({ q: w.purchaseId })}` }) },
    ],
  });
}

function proof(c, draw) {
  return facts([
    [t('campaigns.commitment'), copyable(c.drawCommitment, { short: 24 })],
    draw && [t('campaigns.seed'), copyable(draw.seed, { short: 24 })],
    draw && [t('campaigns.entries'), n(draw.entryCount)],
    draw && [t('campaigns.digest'), copyable(draw.entriesDigest, { short: 24 })],
  ]);
}

/* The draw has a path of its own; where that is missing the page still says what it knows. */
async function fillDraw(box, c, signal) {
  if (c.status !== 'drawn') {
    const title = c.status === 'cancelled' ? t('campaigns.draw.never') : t('campaigns.draw.not');
    return clear(box, emptyState({ title, hint: c.status === 'cancelled' ? null : t('campaigns.draw.not.hint') }), proof(c));
  }
  clear(box, spinner());
  try {
    const draw = await get(`campaigns/${c.id}/draw`, null, { signal });
    clear(box, winners(draw), proof(c, draw));
  } catch (err) {
    if (signal.aborted) return null;
    clear(box, err.status === 404 ? emptyState({ title: t('campaigns.draw.elsewhere', { id: c.id }) }) : errorBox(err, () => fillDraw(box, c, signal)), proof(c));
  }
  return box;
}

export default {
  path: '/campaigns/:id',
  title: 'campaigns.title',
  role: 'viewer',
  async mount(root, { params, signal }) {
    const c = await get(`campaigns/${encodeURIComponent(params.id)}`, null, { signal });
    const draw = h('div', {});
    const reserved = Math.max(0, c.positionsSold - c.positionsPaid);
    root.append(pageHead([h('span', { class: 'wrap' }, user(c.title, 200)), ' ', statusBadge(c)], { back: { href: '#/campaigns', label: t('campaigns.back') } }),
      h('div', { class: 'card sums' }, soldMeter(c), figures([
        [t('campaigns.revenue'), money(c.totalRevenue, c.currency), null, 'good'],
        [t('campaigns.paid'), n(c.positionsPaid)],
        [t('campaigns.reserved'), n(reserved)],
        [t('campaigns.free'), n(Math.max(0, c.positionsTotal - c.positionsSold))],
        [t('campaigns.winners'), n(c.winners)],
      ])),
      facts([
        [t('field.created'), time(c.createdAt, { seconds: false })],
        c.soldOutAt && [t('campaigns.soldout'), time(c.soldOutAt)],
        c.drawnAt && [t('campaigns.drawn'), time(c.drawnAt)],
        c.cancelledAt && [t('campaigns.cancelled'), time(c.cancelledAt)],
        ['ID', shortId(c.id)],
      ]),
      section(t('campaigns.layers'), layers(c)), section(t('campaigns.draw'), draw));
    fillDraw(draw, c, signal);
  },
};
