/* Payments: one search box for every kind of id, filters, pages by cursor. What is asked for stands in
 * the address, so it can be sent to somebody and the back key works. */

import { clear, h } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { has, t } from '../lib/i18n.js';
import { button, field, icon, pageHead, pager, table } from '../lib/ui.js';
import { paymentColumns } from '../lib/payment_ui.js';

const STATES = ['PENDING', 'AUTHORIZED', 'CAPTURED', 'REFUNDED', 'FAILED'];
const CONTEXTS = ['booking', 'purchase', 'participant'];
const GATEWAYS = [['sandbox', 'Sandbox'], ['stripe', 'Stripe'], ['paypay', 'PayPay'], ['manual', 'Manual']];
const FILTERS = ['q', 'status', 'context', 'gateway', 'from', 'to', 'userId', 'bookingId'];
const LIMIT = 25;

/* A day of the reader's calendar -> its first moment, or the next day's. */
function moment(day, plusDays) {
  const m = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day || '');
  return m ? new Date(Number(m[1]), Number(m[2]) - 1, Number(m[3]) + plusDays).toISOString() : day;
}

function asked(query) {
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
  const names = (page.matchedBy || []).filter((m) => has(`payments.by_${m}`)).map((m) => t(`payments.by_${m}`));
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
    let filters = asked(query);
    const search = field({ label: t('payments.search'), hideLabel: true, type: 'search', name: 'q', value: filters.q || '', placeholder: t('payments.search_hint'), autocomplete: 'off', spellcheck: 'false', maxlength: 300, dataset: { search: '' } });
    const fields = filterFields(filters);
    const reset = button({ label: t('payments.clear'), kind: 'ghost', hidden: !Object.keys(filters).length, onclick: () => go('/payments') });
    const form = h('form', { class: 'stack search-form', role: 'search', onsubmit: submit },
      h('div', { class: 'search-line' }, icon('search'), search, button({ label: t('payments.find'), kind: 'primary', type: 'submit' })),
      h('div', { class: 'filters' }, fields, reset));
    const list = pager((cursor) => get('payments', { ...filters, q: filters.q?.trim(), from: moment(filters.from, 0), to: moment(filters.to, 1), limit: LIMIT, cursor }, { signal }),
      (rows, page) => [filters.q ? foundBy(page) : null, table({ caption: t('payments.title'), columns: paymentColumns(), rows, onRow: (p) => go(`/payments/${p.id}`), empty: emptyOf(filters) })], { signal });

    /* The fields stay, and the keyboard in them. */
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
    clear(root, pageHead(t('payments.title')), form, list.el);
    if (query.has('find')) {
      go('/payments', {}, { replace: true, stay: true });
      search.input.focus();
    }
  },
};
