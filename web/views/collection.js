/* One collection: its totals and its participants. */

import { h, untrusted } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { money, t, timeTag } from '../lib/i18n.js';
import { badge, facts, figures, longText, pageHead, section, wrapped } from '../lib/ui.js';
import { copyableId } from '../lib/copyable.js';
import { pager, table } from '../lib/table.js';
import { field } from '../lib/form.js';
import { paymentLink } from '../lib/payment_ui.js';
import { dueCell, isOverdue, paidMeter } from './collections.js';

const PAGE = 50;

function remindersText(r) {
  if (!r) return t('collections.reminders.default');
  if (!r.days.length) return t('collections.reminders.off');
  return t('collections.reminders.at', { days: r.days.map((d) => (d > 0 ? `+${d}` : String(d).replace('-', '−'))).join(', '), time: r.time });
}

function totals(c) {
  const s = c.totals;
  const m = (v) => money(v, c.currency);
  return [paidMeter(s), figures([
    [t('collections.amount_due'), m(s.amountDue)],
    [t('collections.received'), m(s.amountPaid), null, 'good'],
    [t('collections.outstanding'), m(s.amountOutstanding), null, isOverdue(c, s.unpaid) ? 'bad' : null],
    s.amountRefunded > 0 && [t('payments.refunded'), m(s.amountRefunded)],
    s.amountRefunded > 0 && [t('payments.net'), m(s.amountNet)],
  ])];
}

function collectionFacts(c) {
  return facts([
    [t('field.due'), dueCell(c, c.totals.unpaid)],
    [t('field.time_zone'), untrusted(c.timeZone, 60)],
    [t('collections.reminders'), remindersText(c.reminders)],
    c.nextReminderAt && [t('collections.reminder.next'), timeTag(c.nextReminderAt, { seconds: false })],
    [t('collections.organizer'), copyableId(c.ownerId)],
    [t('field.created'), timeTag(c.createdAt, { seconds: false })],
  ]);
}

function amountCell(p) {
  return [money(p.amount, p.currency), p.refundedAmount > 0 ? h('div', { class: 'small faint' }, `${t('payments.refunded')} ${money(p.refundedAmount, p.currency)}`) : null];
}

function participantTable(rows) {
  return table({
    caption: t('collections.participants'), rows, empty: t('collections.participants.none'),
    columns: [
      { label: t('field.name'), class: 'grow', cell: (p) => wrapped(p.name, 100) },
      { label: t('notifications.channel.mail'), class: 'mail', cell: (p) => untrusted(p.email, 80) },
      { label: t('field.amount'), align: 'right', cell: amountCell },
      { label: t('field.state'), cell: (p) => badge(p.status, { tone: p.status === 'paid' ? 'good' : 'calm', label: t(`collections.status.${p.status}`) }) },
      { label: t('collections.paid_at'), cell: (p) => (p.paidAt ? timeTag(p.paidAt, { seconds: false }) : null) },
      { label: t('field.payment'), cell: (p) => paymentLink(p.paymentId) },
    ],
  });
}

export default {
  path: '/collections/:id',
  title: 'collections.title',
  role: 'viewer',
  async mount(root, { params, query, go, signal }) {
    const address = `collections/${encodeURIComponent(params.id)}`;
    const c = await get(address, { limit: 1 }, { signal });
    const status = field({ label: t('collections.filter'), type: 'select', name: 'status', value: query.get('status') || '', options: [['', t('collections.filter.all')], ['unpaid', t('collections.status.unpaid')], ['paid', t('collections.status.paid')]] });
    const list = pager(async (cursor) => (await get(address, { limit: PAGE, cursor, status: status.input.value }, { signal })).participants, participantTable, { signal });

    status.input.addEventListener('change', () => {
      go(`/collections/${params.id}`, { status: status.input.value }, { stay: true });
      list.first();
    });
    root.append(pageHead(wrapped(c.title, 200), { back: { href: '#/collections', label: t('collections.back') } }),
      ...(c.description ? [h('p', { class: 'lead' }, longText(c.description, 300))] : []),
      h('div', { class: 'card sums' }, totals(c)), collectionFacts(c),
      section(t('collections.participants'), h('div', { class: 'filters' }, status), list.el));
  },
};
