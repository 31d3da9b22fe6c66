/* The list of payments: one search box for every kind of id, and filters. The search is part of the address, so it can be sent
 * to another person and the browser's Back works. */

import { h, replaceContent } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { hasText, t } from '../lib/i18n.js';
import { button, icon, pageHead } from '../lib/ui.js';
import { pager, table } from '../lib/table.js';
import { field } from '../lib/form.js';
import { paymentColumns } from '../lib/payment_ui.js';

const STATES = ['PENDING', 'AUTHORIZED', 'CAPTURED', 'REFUNDED', 'FAILED'];
const CONTEXTS = ['booking', 'purchase', 'participant'];
const GATEWAYS = [['sandbox', 'Sandbox'], ['stripe', 'Stripe'], ['paypay', 'PayPay'], ['manual', 'Manual']];
const FILTERS = ['q', 'status', 'context', 'gateway', 'from', 'to', 'userId', 'bookingId'];
const LIMIT = 25;

/* '2026-11-19' in the reader's time zone -> the beginning of that day plus so many days, in UTC. */
function startOfDay(day, plusDays) {
  const m = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day || '');
  return m ? new Date(Number(m[1]), Number(m[2]) - 1, Number(m[3]) + plusDays).toISOString() : day;
}

function filtersOf(query) {
  return Object.fromEntries(FILTERS.map((name) => [name, query.get(name) || '']).filter(([, v]) => v));
}

function filterFields(now) {
  const choose = (name, options) => field({ label: t(`payments.filter_${name}`), type: 'select', name, value: now[name] || '', options: [['', t('ui.all')], ...options] });
  return [
    choose('status', STATES.map((s) => [s, t(`status.${s}`)])),
    choose('context', CONTEXTS.map((c) => [c, t(`payments.${c}`)])),
    choose('gateway', GATEWAYS),
    field({ label: t('payments.filter_from'), type: 'date', name: 'from', value: now.from || '' }),
    field({ label: t('payments.filter_to'), type: 'date', name: 'to', value: now.to || '' }),
  ];
}

function emptyOf(filters) {
  if (Object.keys(filters).length) return { title: t('payments.no_match'), hint: t('payments.no_match_hint') };
  return { title: t('payments.none'), hint: t('payments.none_hint') };
}

function foundBy(page) {
  const names = (page.matchedBy || []).filter((m) => hasText(`payments.by_${m}`)).map((m) => t(`payments.by_${m}`));
  return names.length ? h('p', { class: 'faint found-by', role: 'status' }, t('payments.found_by', { what: names.join(', ') })) : null;
}

export default {
  path: '/payments',
  title: 'payments.title',
  nav: true,
  icon: 'payments',
  key: 'p',
  role: 'viewer',
  async mount(root, { query, go, signal }) {
    let filters = filtersOf(query);
    const search = field({ label: t('payments.search'), hideLabel: true, type: 'search', name: 'q', value: filters.q || '', placeholder: t('payments.search_hint'), autocomplete: 'off', spellcheck: 'false', maxlength: 300, dataset: { search: '' } });
    const fields = filterFields(filters);
    const reset = button({ label: t('payments.clear'), kind: 'ghost', hidden: !Object.keys(filters).length, onclick: () => go('/payments') });
    const form = h('form', { class: 'stack search-form', role: 'search', onsubmit: submit },
      h('div', { class: 'search-line' }, icon('search'), search, button({ label: t('payments.find'), kind: 'primary', type: 'submit' })),
      h('div', { class: 'filters' }, fields, reset));
    const list = pager((cursor) => get('payments', { ...filters, q: filters.q?.trim(), from: startOfDay(filters.from, 0), to: startOfDay(filters.to, 1), limit: LIMIT, cursor }, { signal }),
      (rows, page) => [filters.q ? foundBy(page) : null, table({ caption: t('payments.title'), columns: paymentColumns(), rows, onRow: (p) => go(`/payments/${p.id}`), empty: emptyOf(filters) })], { signal });

    /* Only the list is reloaded: the fields keep their values and the focus. */
    function submit(e) {
      e?.preventDefault();
      const next = { userId: filters.userId, bookingId: filters.bookingId, q: search.input.value.trim() };
      for (const f of fields) next[f.input.name] = f.input.value;
      filters = Object.fromEntries(Object.entries(next).filter(([, v]) => v));
      reset.hidden = !Object.keys(filters).length;
      go('/payments', filters, { stay: true });
      list.first();
    }
    for (const f of fields) f.input.addEventListener('change', () => f.input.type !== 'date' && submit());
    replaceContent(root, pageHead(t('payments.title')), form, list.el);
    if (query.has('find')) {
      go('/payments', {}, { replace: true, stay: true });
      search.input.focus();
    }
  },
};
