/* What people were told, by which way, and what became of it. Addresses come masked. */

import { h, user } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { t, time } from '../lib/i18n.js';
import { badge, field, pageHead, pager, table } from '../lib/ui.js';
import { filterBar, paymentLink, whole, words } from '../lib/parts.js';

const TONES = { sent: 'good', waiting: 'busy', sending: 'busy', failed: 'bad', unknown: 'warn', skipped: 'calm' };

function sendLine(x) {
  return h('li', {}, badge(x.status, { tone: TONES[x.status], label: words('status', x.status) }), ' ', words('notifications.channel', x.channel), ' ', h('span', { class: 'faint' }, user(x.target, 60)),
    x.tries > 1 ? h('span', { class: 'faint small' }, ` · ${t('notifications.tries', { n: x.tries })}`) : null, x.why ? h('div', { class: 'small faint' }, whole(x.why, 120)) : null);
}

function textCell(x) {
  return h('details', { class: 'whole' }, h('summary', {}, h('span', { class: 'wrap', lang: x.language }, user(x.title, 100))), h('p', { class: 'letter-text', lang: x.language, tabindex: '0' }, user(x.body, 5000)));
}

function columns() {
  return [
    { label: t('field.time'), cell: (x) => time(x.createdAt) },
    { label: t('notifications.type'), cell: (x) => words('notifications.type', x.type) },
    { label: t('notifications.text'), class: 'grow', cell: textCell },
    { label: t('notifications.sends'), cell: (x) => (x.sends.length ? h('ul', { class: 'plain sends' }, x.sends.map(sendLine)) : h('span', { class: 'faint' }, t('notifications.sends.none'))) },
    { label: t('field.payment'), cell: (x) => paymentLink(x.paymentId) },
  ];
}

export default {
  path: '/notifications',
  title: 'notifications.title',
  nav: true,
  role: 'viewer',
  icon: 'dot',
  async mount(root, { query, go, signal }) {
    let filter = { paymentId: query.get('paymentId') };
    const list = pager((cursor) => get('notifications', { ...filter, limit: 20, cursor }, { signal }), (rows) => table({ columns: columns(), rows, caption: t('notifications.title'), empty: t('notifications.none') }), { signal });
    const bar = filterBar([field({ label: t('field.payment_id'), name: 'paymentId', value: filter.paymentId, spellcheck: 'false', autocapitalize: 'none', placeholder: 'UUID' })],
      { label: t('filter.apply'), reset: t('filter.reset'), apply(values) { filter = values; go('/notifications', values, { stay: true }); list.first(); } });
    root.append(pageHead(t('notifications.title'), { lead: t('notifications.lead') }), bar, list.el);
  },
};
