/* Notifications sent to people: the text, the channels and their results. The server masks the addresses. */

import { h, untrusted } from '../lib/dom.js';
import { t, textFor, timeTag } from '../lib/i18n.js';
import { badge, longText, pageHead } from '../lib/ui.js';
import { pagedTable } from '../lib/table.js';
import { EXACT, field, filterBar } from '../lib/form.js';
import { paymentLink } from '../lib/payment_ui.js';

const TONES = { sent: 'good', waiting: 'busy', sending: 'busy', failed: 'bad', unknown: 'warn', skipped: 'calm' };

function sendLine(x) {
  return h('li', {}, badge(x.status, { tone: TONES[x.status], label: textFor('status', x.status) }), ' ', textFor('notifications.channel', x.channel), ' ', h('span', { class: 'faint' }, untrusted(x.target, 60)),
    x.tries > 1 ? h('span', { class: 'faint small' }, ` · ${t('notifications.tries', { n: x.tries })}`) : null, x.why ? h('div', { class: 'small faint' }, longText(x.why, 120)) : null);
}

function textCell(x) {
  return h('details', { class: 'long-text' }, h('summary', {}, h('span', { class: 'wrap', lang: x.language }, untrusted(x.title, 100))), h('p', { class: 'notification-text', lang: x.language, tabindex: '0' }, untrusted(x.body, 5000)));
}

function columns() {
  return [
    { label: t('field.time'), cell: (x) => timeTag(x.createdAt) },
    { label: t('notifications.type'), cell: (x) => textFor('notifications.type', x.type) },
    { label: t('notifications.text'), class: 'grow', cell: textCell },
    { label: t('notifications.sends'), cell: (x) => (x.sends.length ? h('ul', { class: 'plain-list sends' }, x.sends.map(sendLine)) : h('span', { class: 'faint' }, t('notifications.sends.none'))) },
    { label: t('field.payment'), cell: (x) => paymentLink(x.paymentId) },
  ];
}

export default {
  path: '/notifications',
  title: 'notifications.title',
  nav: true,
  role: 'viewer',
  async mount(root, { query, go, signal }) {
    let filter = { paymentId: query.get('paymentId') };
    const list = pagedTable({ path: 'notifications', params: () => filter, limit: 20, signal, columns: columns(), caption: t('notifications.title'), empty: t('notifications.none') });
    const bar = filterBar([field({ label: t('field.payment_id'), name: 'paymentId', value: filter.paymentId, ...EXACT, placeholder: 'UUID' })],
      { apply(values) { filter = values; go('/notifications', values, { stay: true }); list.first(); } });
    root.append(pageHead(t('notifications.title'), { lead: t('notifications.lead') }), bar, list.el);
  },
};
