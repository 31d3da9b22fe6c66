/* The server's settings. The server never sends the value of a secret, only whether it is set. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { t, textFor } from '../lib/i18n.js';
import { badge, emptyState, longText, pageHead, section } from '../lib/ui.js';
import { table } from '../lib/table.js';
import { EXACT, field } from '../lib/form.js';
import { canOperate } from '../lib/session.js';

/* A setting belongs to the first group whose pattern matches its name. */
const GROUPS = [
  ['sandbox', /SANDBOX|TEST_CLOCK|FAULTS/],
  ['watch', /^OTEL_|^SENTRY_|_ALERT|_LOG_/],
  ['access', /JWT|JWKS|ADMIN|OWNER_MAY|RATE_LIMIT|PROXIES|SESSION|LOGIN|EVENTS_SECRET/],
  ['webhooks', /WEBHOOK_|^STRIPE_WEBHOOK|QSTASH|_QUEUE|BACKLOG|OLDEST_READY|REFETCH|_HEAL/],
  ['people', /SMTP|MAIL|FCM|NOTIFY|REMINDER|LANGUAGE/],
  ['store', /_DB|RETENTION|_KEY_TTL|BACKUP/],
  ['gateways', /GATEWAY|ROUTES|^STRIPE_|PAYPAY|BANK|RECONCILE|TIME_ZONE|RETURN_URL|RESERVATION|ACTION_LIMIT/],
  ['server', /./],
];
const DISPLAY_ORDER = ['server', 'store', 'gateways', 'webhooks', 'access', 'people', 'watch', 'sandbox'];

const groupOf = (name) => GROUPS.find(([, pattern]) => pattern.test(name))[0];

function valueCell(s) {
  if (s.secret) return badge(s.set ? 'set' : 'unset', { tone: s.set ? 'good' : 'calm', label: t(s.set ? 'settings.set' : 'settings.unset') });
  if (s.value === null || s.value === '') return h('span', { class: 'faint' }, t('settings.unset'));
  return h('code', { class: 'wrap' }, longText(s.value, 120));
}

function groupTable(id, rows) {
  return section(t(`settings.group.${id}`), table({
    caption: t(`settings.group.${id}`), rows,
    columns: [
      { label: t('field.name'), class: 'setting-name', cell: (s) => h('code', {}, untrusted(s.name, 80)) },
      { label: t('settings.value'), class: 'grow', cell: valueCell },
      { label: t('settings.source'), class: 'setting-source', cell: (s) => h('span', { class: s.source === 'default' ? 'faint' : null }, textFor('settings.source', s.source)) },
    ],
  }));
}

export default {
  path: '/settings',
  title: 'settings.title',
  nav: true,
  role: 'viewer',
  async mount(root, { session, signal }) {
    const { data } = await get('settings', null, { signal });
    const box = h('div', { class: 'stack' });
    const find = field({ label: t('settings.search'), name: 'find', type: 'search', ...EXACT, autocomplete: 'off' });
    const changed = field({ label: t('settings.changed'), name: 'changed', type: 'checkbox' });

    function show() {
      const typed = find.input.value.trim().toUpperCase().replace(/[\s-]+/g, '_');
      const rows = data.filter((s) => s.name.includes(typed) && (!changed.input.checked || s.source !== 'default'));
      const groups = DISPLAY_ORDER.map((id) => [id, rows.filter((s) => groupOf(s.name) === id)]).filter(([, list]) => list.length);
      replaceContent(box, groups.length ? groups.map(([id, list]) => groupTable(id, list)) : emptyState({ title: t('settings.none') }));
    }
    find.input.addEventListener('input', show);
    changed.input.addEventListener('change', show);
    show();
    root.append(pageHead(t('settings.title'), { lead: t('settings.lead'), actions: canOperate(session) && h('a', { class: 'button', href: '#/operators' }, t('operators.title')) }),
      h('div', { class: 'filters' }, find, changed), box);
  },
};
