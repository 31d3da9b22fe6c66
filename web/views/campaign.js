/* One campaign: its layers, and the draw with the values that prove it. */

import { h, replaceContent } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { formatNumber, money, t, timeTag } from '../lib/i18n.js';
import { emptyState, facts, figures, meter, pageHead, section, spinner, wrapped } from '../lib/ui.js';
import { errorBox } from '../lib/feedback.js';
import { copyable, copyableId } from '../lib/copyable.js';
import { table } from '../lib/table.js';
import { soldMeter, statusBadge } from './campaigns.js';

function layerTable(c) {
  return table({
    caption: t('campaigns.layers'), rows: c.layers,
    columns: [
      { label: t('campaigns.layer'), class: 'grow', cell: (l) => wrapped(l.name, 100) },
      { label: t('campaigns.price'), align: 'right', cell: (l) => money(l.price, c.currency) },
      { label: t('campaigns.sold'), cell: (l) => h('div', { class: 'meter-cell' }, meter([l.positionsSold], l.positionsTotal, `${formatNumber(l.positionsSold)} / ${formatNumber(l.positionsTotal)}`)) },
    ],
  });
}

function winnerTable(draw) {
  return table({
    caption: t('campaigns.winners'), rows: draw.winners,
    columns: [
      { label: t('campaigns.rank'), cell: (w) => String(w.rank) },
      { label: t('campaigns.number'), cell: (w) => String(w.number) },
      { label: t('payments.purchase'), class: 'grow', cell: (w) => copyable(w.purchaseId, { href: `#/payments?${new URLSearchParams({ q: w.purchaseId })}` }) },
    ],
  });
}

function drawProof(c, draw) {
  return facts([
    [t('campaigns.commitment'), copyable(c.drawCommitment, { short: 24 })],
    draw && [t('campaigns.seed'), copyable(draw.seed, { short: 24 })],
    draw && [t('campaigns.entries'), formatNumber(draw.entryCount)],
    draw && [t('campaigns.digest'), copyable(draw.entriesDigest, { short: 24 })],
  ]);
}

/* Loads the draw by its own path. If that answers 404, the values of the campaign are still shown. */
async function showDraw(box, c, signal) {
  if (c.status !== 'drawn') {
    const title = c.status === 'cancelled' ? t('campaigns.draw.never') : t('campaigns.draw.not');
    return replaceContent(box, emptyState({ title, hint: c.status === 'cancelled' ? null : t('campaigns.draw.not.hint') }), drawProof(c));
  }
  replaceContent(box, spinner());
  try {
    const draw = await get(`campaigns/${c.id}/draw`, null, { signal });
    replaceContent(box, winnerTable(draw), drawProof(c, draw));
  } catch (err) {
    if (signal.aborted) return null;
    replaceContent(box, err.status === 404 ? emptyState({ title: t('campaigns.draw.elsewhere', { id: c.id }) }) : errorBox(err, () => showDraw(box, c, signal)), drawProof(c));
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
    root.append(pageHead([wrapped(c.title, 200), ' ', statusBadge(c)], { back: { href: '#/campaigns', label: t('campaigns.back') } }),
      h('div', { class: 'card sums' }, soldMeter(c), figures([
        [t('campaigns.revenue'), money(c.totalRevenue, c.currency), null, 'good'],
        [t('campaigns.paid'), formatNumber(c.positionsPaid)],
        [t('campaigns.reserved'), formatNumber(reserved)],
        [t('campaigns.free'), formatNumber(Math.max(0, c.positionsTotal - c.positionsSold))],
        [t('campaigns.winners'), formatNumber(c.winners)],
      ])),
      facts([
        [t('field.created'), timeTag(c.createdAt, { seconds: false })],
        c.soldOutAt && [t('campaigns.soldout'), timeTag(c.soldOutAt)],
        c.drawnAt && [t('campaigns.drawn'), timeTag(c.drawnAt)],
        c.cancelledAt && [t('campaigns.cancelled'), timeTag(c.cancelledAt)],
        ['ID', copyableId(c.id)],
      ]),
      section(t('campaigns.layers'), layerTable(c)), section(t('campaigns.draw'), draw));
    showDraw(draw, c, signal);
  },
};
