/* Daily reconciliation: the list of compared days (a tab of the alerts), and one day with its differences and totals. */

import { h, untrusted } from '../lib/dom.js';
import { get, post } from '../lib/api.js';
import { agoTag, formatNumber, hasText, money, t, textFor, timeTag } from '../lib/i18n.js';
import { badge, button, codeText, emptyState, facts, longText, pageHead, section, stateName } from '../lib/ui.js';
import { toast } from '../lib/feedback.js';
import { pagedTable, table } from '../lib/table.js';
import { confirmDialog } from '../lib/dialog.js';
import { canOperate } from '../lib/session.js';
import { paymentLink } from '../lib/payment_ui.js';

function stateBadge(r) {
  if (r.state === 'running') return badge('running', { tone: 'busy', label: t('reconciliation.running', { phase: textFor('reconciliation.phase', r.phase) }) });
  if (r.differences) return badge('differs', { tone: 'bad', label: t('reconciliation.differs', { n: r.differences }) });
  return badge('done', { tone: 'good', label: t('reconciliation.done') });
}

const backfilledNote = (r) => (r.healed ? h('div', { class: 'small faint' }, t('reconciliation.healed', { n: r.healed })) : null);

/* Every compared day, newest first. */
export function reconciliationList(signal, go) {
  const columns = [
    { label: t('reconciliation.day'), cell: (r) => h('a', { href: `#/reconciliations/${r.day}` }, h('strong', {}, r.day)) },
    { label: t('reconciliation.state'), class: 'grow', cell: (r) => [stateBadge(r), backfilledNote(r), r.error ? h('div', { class: 'small bad-text' }, longText(r.error, 100)) : null] },
    { label: t('reconciliation.ours'), align: 'right', cell: (r) => formatNumber(r.ours) },
    { label: t('reconciliation.theirs'), align: 'right', cell: (r) => formatNumber(r.theirs) },
    { label: t('reconciliation.checked'), align: 'right', cell: (r) => formatNumber(r.checked) },
    { label: t('reconciliation.asked'), cell: (r) => textFor('reconciliation.asked', r.askedBy) },
    { label: t('reconciliation.ended'), cell: (r) => (r.endedAt ? agoTag(r.endedAt) : null) },
  ];
  const list = pagedTable({ path: 'reconciliations', limit: 31, signal, columns, caption: t('alerts.tab.books'), empty: t('reconciliation.none'), onRow: (r) => go(`/reconciliations/${r.day}`) });
  return h('div', {}, h('p', { class: 'lead' }, t('reconciliation.lead')), list.el);
}

/* ---- one day ---- */

function totalsTable(rows) {
  return table({
    caption: t('reconciliation.totals'), rows,
    columns: [
      { label: t('reconciliation.side'), class: 'grow', cell: (x) => h('span', {}, textFor('reconciliation', x.side), ' ', h('span', { class: 'faint' }, untrusted(x.gateway, 40))) },
      { label: t('reconciliation.payments'), align: 'right', cell: (x) => formatNumber(x.payments) },
      { label: t('reconciliation.captured'), align: 'right', cell: (x) => money(x.captured, x.currency) },
      { label: t('reconciliation.refunded'), align: 'right', cell: (x) => money(x.refunded, x.currency) },
      { label: t('reconciliation.fees'), align: 'right', cell: (x) => money(x.fees, x.currency) },
      { label: t('payments.net'), align: 'right', cell: (x) => money(x.net, x.currency) },
    ],
  });
}

const providerStateName = (state) => (hasText(`reconciliation.there.${state}`) ? t(`reconciliation.there.${state}`) : stateName(state));

/* A difference's value on one side: '1250' if the kind is an amount, 'captured 1250 USD' for others. Any other text is shown
 * as it is. */
function valueOf(text, f) {
  const [, state, minor, currency] = /^(?:(\w+) )?(\d+)(?: (\w{3}))?$/.exec(text || '') || [];
  if (!minor || !(currency || f.currency)) return text ? untrusted(providerStateName(text), 40) : null;
  return h('span', { class: 'num' }, [state && providerStateName(state), money(Number(minor), (currency || f.currency).toUpperCase())].filter(Boolean).join(' '));
}

function differenceTable(rows) {
  return table({
    caption: t('reconciliation.found'), rows, empty: t('reconciliation.found.none'),
    columns: [
      { label: t('reconciliation.state'), cell: (f) => badge(f.state, { tone: f.state === 'healed' ? 'good' : 'bad', label: t(f.state === 'healed' ? 'reconciliation.ishealed' : 'reconciliation.open') }) },
      { label: t('reconciliation.kind'), class: 'grow', cell: (f) => textFor('reconciliation.kind', f.kind) },
      { label: t('reconciliation.ours'), align: 'right', cell: (f) => valueOf(f.ours, f) },
      { label: t('reconciliation.theirs'), align: 'right', cell: (f) => valueOf(f.theirs, f) },
      { label: t('field.payment'), cell: (f) => paymentLink(f.paymentId) || codeText(f.gatewayTransactionId, 30) },
      { label: t('field.gateway'), cell: (f) => untrusted(f.gateway, 40) },
    ],
  });
}

async function compareAgain(day, go, signal) {
  const done = await confirmDialog({ title: t('reconciliation.again.title'), body: t('reconciliation.again.body'), confirm: t('reconciliation.again'), action: () => post(`reconciliations/${day}`, undefined) });
  if (!done) return;
  toast(t('reconciliation.again.done'), 'good');
  if (!signal.aborted) go(`/reconciliations/${day}`);
}

export default {
  path: '/reconciliations/:day',
  title: 'alerts.tab.books',
  role: 'viewer',
  async mount(root, { params, session, go, signal }) {
    const day = encodeURIComponent(params.day);
    const r = await get(`reconciliations/${day}`, null, { signal });
    const actions = [
      h('a', { class: 'button', href: `/api/v1/admin/reconciliations/${day}.csv`, download: `reconciliation-${params.day}.csv` }, t('reconciliation.csv')),
      canOperate(session) && button({ label: t('reconciliation.again'), onclick: () => compareAgain(day, go, signal) }),
    ];
    root.append(pageHead(t('reconciliation.title', { day: params.day }), { back: { href: '#/alerts?tab=books', label: t('reconciliation.back') }, actions }),
      facts([[t('reconciliation.state'), stateBadge(r)], r.healed > 0 && [t('reconciliation.ishealed'), formatNumber(r.healed)], [t('reconciliation.ours'), formatNumber(r.ours)], [t('reconciliation.theirs'), formatNumber(r.theirs)], [t('reconciliation.checked'), formatNumber(r.checked)],
        [t('field.time_zone'), untrusted(r.timeZone, 60)], [t('reconciliation.ended'), r.endedAt && timeTag(r.endedAt)]]),
      ...(r.error ? [h('p', { class: 'verdict warn' }, longText(r.error, 200))] : []),
      section(t('reconciliation.found'), differenceTable(r.found), r.notShown > 0 && h('p', { class: 'faint' }, t('reconciliation.notshown', { n: r.notShown }))),
      section(t('reconciliation.totals'), r.totals.length ? totalsTable(r.totals) : emptyState({ title: t('ui.nothing') })));
  },
};
