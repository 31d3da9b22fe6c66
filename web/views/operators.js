/* The people who may use this page. For operators only. */

import { h, user } from '../lib/dom.js';
import { get, patch, post } from '../lib/api.js';
import { ago, t, time } from '../lib/i18n.js';
import { badge, button, confirmDialog, emptyState, field, pageHead, pager, table, toast } from '../lib/ui.js';
import { operates, tellFields } from '../lib/parts.js';
import { newPassword } from '../lib/password.js';

const roleOptions = () => ['viewer', 'operator'].map((r) => [r, `${t(`role.${r}`)}: ${t(`operators.role.${r}.help`)}`]);

async function askAdd(changed) {
  const name = field({ label: t('field.name'), help: t('operators.name.help'), name: 'name', maxlength: 64, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' });
  const role = field({ label: t('operators.role'), name: 'role', type: 'select', value: 'viewer', options: roleOptions() });
  const [secret, again, typed] = newPassword('password');
  const done = await confirmDialog({ title: t('operators.add'), body: [name, role, secret, again], confirm: t('ui.add'),
    action: () => tellFields([name, role, secret, again], () => post('operators', { name: name.input.value.trim(), role: role.input.value, password: typed() })) });
  if (!done) return;
  toast(h('bdi', {}, t('operators.added', { name: done.result.name })), 'good');
  changed();
}

async function askChange(o, { title, body, make, fields = [], danger }, me, changed) {
  const words = [h('p', {}, t('operators.confirm.body')), o.id === me ? h('p', { class: 'note warn' }, t('operators.confirm.self')) : null];
  const done = await confirmDialog({ title, body: [...(body || []), ...words], danger, action: () => tellFields(fields, () => patch(`operators/${encodeURIComponent(o.id)}`, make())) });
  if (!done) return;
  toast(h('bdi', {}, t('operators.changed', { name: o.name })), 'good');
  changed();
}

function askPassword(o, me, changed) {
  const [secret, again, typed] = newPassword('password');
  return askChange(o, { title: t('operators.password.title', { name: o.name }), body: [secret, again], fields: [secret, again], make: () => ({ password: typed() }) }, me, changed);
}

function actionsOf(o, me, changed) {
  const role = o.role === 'operator' ? 'viewer' : 'operator';
  return h('div', { class: 'actions' },
    button({ label: t(`operators.make_${role}`), small: true, onclick: () => askChange(o, { title: t('operators.confirm.role', { name: o.name }), make: () => ({ role }) }, me, changed) }),
    button({ label: t('operators.new_password'), small: true, onclick: () => askPassword(o, me, changed) }),
    button({ label: t(o.disabled ? 'operators.enable' : 'operators.disable'), small: true,
      onclick: () => askChange(o, { title: t(o.disabled ? 'operators.confirm.enable' : 'operators.confirm.disable', { name: o.name }), danger: !o.disabled, make: () => ({ disabled: !o.disabled }) }, me, changed) }));
}

function nameCell(o, me) {
  return h('div', { class: 'two-lines' }, h('span', { class: 'wrap' }, h('strong', {}, user(o.name, 80)), o.id === me ? [' ', badge('you', { tone: 'busy', label: t('operators.you') })] : null),
    h('span', { class: 'faint small' }, `${t('field.added')}: `, time(o.createdAt, { seconds: false })));
}

function columns(me, changed) {
  return [
    { label: t('field.name'), class: 'grow', cell: (o) => nameCell(o, me) },
    { label: t('operators.role'), cell: (o) => t(`role.${o.role}`) },
    { label: t('field.state'), cell: (o) => badge(o.disabled ? 'disabled' : 'active', { tone: o.disabled ? 'calm' : 'good', label: t(o.disabled ? 'operators.disabled' : 'operators.active') }) },
    { label: t('operators.last_login'), cell: (o) => (o.lastLoginAt ? ago(o.lastLoginAt) : h('span', { class: 'faint' }, t('operators.never'))) },
    { label: '', class: 'act-cell', cell: (o) => actionsOf(o, me, changed) },
  ];
}

export default {
  path: '/operators',
  title: 'operators.title',
  nav: true,
  role: 'operator',
  icon: 'collections',
  async mount(root, { session, signal }) {
    if (!operates(session)) return root.append(pageHead(t('operators.title')), emptyState({ title: t('operators.only') }));
    const list = pager((cursor) => get('operators', { limit: 50, cursor }, { signal }),
      (rows) => table({ columns: columns(session.user.id, () => list.reload(true)), rows, caption: t('operators.title'), empty: { title: t('operators.none'), hint: t('operators.none.hint') } }), { signal });
    return root.append(pageHead(t('operators.title'), { lead: t('operators.lead'), actions: button({ label: t('operators.add'), kind: 'primary', onclick: () => askAdd(() => list.first()) }) }), list.el);
  },
};
