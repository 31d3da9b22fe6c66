/* The days whose books were compared with the provider's; one day with everything that differed. */

import { h, user } from '../lib/dom.js';
import { get, post } from '../lib/api.js';
import { ago, has, money, n, t, time } from '../lib/i18n.js';
import { badge, button, confirmDialog, emptyState, facts, pageHead, pager, section, stateName, table, toast } from '../lib/ui.js';
import { code, operates, paymentLink, whole, words } from '../lib/parts.js';

function stateOf(r) {
  if (r.state === 'running') return badge('running', { tone: 'busy', label: t('reconciliation.running', { phase: words('reconciliation.phase', r.phase) }) });
  if (r.differences) return badge('differs', { tone: 'bad', label: t('reconciliation.differs', { n: r.differences }) });
  return badge('done', { tone: 'good', label: t('reconciliation.done') });
}

const healedNote = (r) => (r.healed ? h('div', { class: 'small faint' }, t('reconciliation.healed', { n: r.healed })) : null);

/* Every compared day, newest first; part of the alerts' page. */
export function dayList(signal, go) {
  const columns = [
    { label: t('reconciliation.day'), cell: (r) => h('a', { href: `#/reconciliations/${r.day}` }, h('strong', {}, r.day)) },
    { label: t('reconciliation.state'), class: 'grow', cell: (r) => [stateOf(r), healedNote(r), r.error ? h('div', { class: 'small bad-text' }, whole(r.error, 100)) : null] },
    { label: t('reconciliation.ours'), align: 'right', cell: (r) => n(r.ours) },
    { label: t('reconciliation.theirs'), align: 'right', cell: (r) => n(r.theirs) },
    { label: t('reconciliation.checked'), align: 'right', cell: (r) => n(r.checked) },
    { label: t('reconciliation.asked'), cell: (r) => words('reconciliation.asked', r.askedBy) },
    { label: t('reconciliation.ended'), cell: (r) => (r.endedAt ? ago(r.endedAt) : null) },
  ];
  const list = pager((cursor) => get('reconciliations', { limit: 31, cursor }, { signal }),
    (rows) => table({ columns, rows, caption: t('alerts.tab.books'), empty: t('reconciliation.none'), onRow: (r) => go(`/reconciliations/${r.day}`) }), { signal });
  return h('div', {}, h('p', { class: 'lead' }, t('reconciliation.lead')), list.el);
}

/* ---- one day ---- */

function totals(rows) {
  return table({
    caption: t('reconciliation.totals'), rows,
    columns: [
      { label: t('reconciliation.side'), class: 'grow', cell: (x) => h('span', {}, words('reconciliation', x.side), ' ', h('span', { class: 'faint' }, user(x.gateway, 40))) },
      { label: t('reconciliation.payments'), align: 'right', cell: (x) => n(x.payments) },
      { label: t('reconciliation.captured'), align: 'right', cell: (x) => money(x.captured, x.currency) },
      { label: t('reconciliation.refunded'), align: 'right', cell: (x) => money(x.refunded, x.currency) },
      { label: t('reconciliation.fees'), align: 'right', cell: (x) => money(x.fees, x.currency) },
      { label: t('payments.net'), align: 'right', cell: (x) => money(x.net, x.currency) },
    ],
  });
}

const thereName = (state) => (has(`reconciliation.there.${state}`) ? t(`reconciliation.there.${state}`) : stateName(state));

/* '1250' of a kind that counts money, 'captured 1250 USD' of the others; what else it may be is shown as it is. */
function sideOf(text, f) {
  const [, state, minor, currency] = /^(?:(\w+) )?(\d+)(?: (\w{3}))?$/.exec(text || '') || [];
  if (!minor || !(currency || f.currency)) return text ? user(thereName(text), 40) : null;
  return h('span', { class: 'num' }, [state && thereName(state), money(Number(minor), (currency || f.currency).toUpperCase())].filter(Boolean).join(' '));
}

function found(rows) {
  return table({
    caption: t('reconciliation.found'), rows, empty: t('reconciliation.found.none'),
    columns: [
      { label: t('reconciliation.state'), cell: (f) => badge(f.state, { tone: f.state === 'healed' ? 'good' : 'bad', label: t(f.state === 'healed' ? 'reconciliation.ishealed' : 'reconciliation.open') }) },
      { label: t('reconciliation.kind'), class: 'grow', cell: (f) => words('reconciliation.kind', f.kind) },
      { label: t('reconciliation.ours'), align: 'right', cell: (f) => sideOf(f.ours, f) },
      { label: t('reconciliation.theirs'), align: 'right', cell: (f) => sideOf(f.theirs, f) },
      { label: t('field.payment'), cell: (f) => paymentLink(f.paymentId) || code(f.gatewayTransactionId, 30) },
      { label: t('field.gateway'), cell: (f) => user(f.gateway, 40) },
    ],
  });
}

async function askAgain(day, go, signal) {
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
      operates(session) && button({ label: t('reconciliation.again'), onclick: () => askAgain(day, go, signal) }),
    ];
    root.append(pageHead(t('reconciliation.title', { day: params.day }), { back: { href: '#/alerts?tab=books', label: t('reconciliation.back') }, actions }),
      facts([[t('reconciliation.state'), stateOf(r)], r.healed > 0 && [t('reconciliation.ishealed'), n(r.healed)], [t('reconciliation.ours'), n(r.ours)], [t('reconciliation.theirs'), n(r.theirs)], [t('reconciliation.checked'), n(r.checked)],
        [t('field.time_zone'), user(r.timeZone, 60)], [t('reconciliation.ended'), r.endedAt && time(r.endedAt)]]),
      ...(r.error ? [h('p', { class: 'verdict warn' }, whole(r.error, 200))] : []),
      section(t('reconciliation.found'), found(r.found), r.notShown > 0 && h('p', { class: 'faint' }, t('reconciliation.notshown', { n: r.notShown }))),
      section(t('reconciliation.totals'), r.totals.length ? totals(r.totals) : emptyState({ title: t('ui.nothing') })));
  },
};
