/* The people who can sign in to this page. Only operators see this view. */

import { h, untrusted } from '../lib/dom.js';
import { patch, post } from '../lib/api.js';
import { agoTag, t, timeTag } from '../lib/i18n.js';
import { badge, button, emptyState, pageHead } from '../lib/ui.js';
import { toast } from '../lib/feedback.js';
import { pagedTable } from '../lib/table.js';
import { field, withFieldErrors } from '../lib/form.js';
import { confirmDialog } from '../lib/dialog.js';
import { canOperate } from '../lib/session.js';
import { newPasswordFields } from '../lib/password.js';

const roleOptions = () => ['viewer', 'operator'].map((r) => [r, `${t(`role.${r}`)}: ${t(`operators.role.${r}.help`)}`]);

async function addOperator(changed) {
  const name = field({ label: t('field.name'), help: t('operators.name.help'), name: 'name', maxlength: 64, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' });
  const role = field({ label: t('operators.role'), name: 'role', type: 'select', value: 'viewer', options: roleOptions() });
  const [secret, again, readPassword] = newPasswordFields('password');
  const done = await confirmDialog({ title: t('operators.add'), body: [name, role, secret, again], confirm: t('ui.add'),
    action: () => withFieldErrors([name, role, secret, again], () => post('operators', { name: name.input.value.trim(), role: role.input.value, password: readPassword() })) });
  if (!done) return;
  toast(h('bdi', {}, t('operators.added', { name: done.result.name })), 'good');
  changed();
}

async function changeOperator(o, { title, body, readBody, fields = [], danger }, me, changed) {
  const notes = [h('p', {}, t('operators.confirm.body')), o.id === me ? h('p', { class: 'note warn' }, t('operators.confirm.self')) : null];
  const done = await confirmDialog({ title, body: [...(body || []), ...notes], danger, action: () => withFieldErrors(fields, () => patch(`operators/${encodeURIComponent(o.id)}`, readBody())) });
  if (!done) return;
  toast(h('bdi', {}, t('operators.changed', { name: o.name })), 'good');
  changed();
}

function changePassword(o, me, changed) {
  const [secret, again, readPassword] = newPasswordFields('password');
  return changeOperator(o, { title: t('operators.password.title', { name: o.name }), body: [secret, again], fields: [secret, again], readBody: () => ({ password: readPassword() }) }, me, changed);
}

function actionsOf(o, me, changed) {
  const role = o.role === 'operator' ? 'viewer' : 'operator';
  return h('div', { class: 'actions' },
    button({ label: t(`operators.make_${role}`), small: true, onclick: () => changeOperator(o, { title: t('operators.confirm.role', { name: o.name }), readBody: () => ({ role }) }, me, changed) }),
    button({ label: t('operators.new_password'), small: true, onclick: () => changePassword(o, me, changed) }),
    button({ label: t(o.disabled ? 'operators.enable' : 'operators.disable'), small: true,
      onclick: () => changeOperator(o, { title: t(o.disabled ? 'operators.confirm.enable' : 'operators.confirm.disable', { name: o.name }), danger: !o.disabled, readBody: () => ({ disabled: !o.disabled }) }, me, changed) }));
}

function nameCell(o, me) {
  return h('div', { class: 'two-lines' }, h('span', { class: 'wrap' }, h('strong', {}, untrusted(o.name, 80)), o.id === me ? [' ', badge('you', { tone: 'busy', label: t('operators.you') })] : null),
    h('span', { class: 'faint small' }, `${t('field.added')}: `, timeTag(o.createdAt, { seconds: false })));
}

function columns(me, changed) {
  return [
    { label: t('field.name'), class: 'grow', cell: (o) => nameCell(o, me) },
    { label: t('operators.role'), cell: (o) => t(`role.${o.role}`) },
    { label: t('field.state'), cell: (o) => badge(o.disabled ? 'disabled' : 'active', { tone: o.disabled ? 'calm' : 'good', label: t(o.disabled ? 'operators.disabled' : 'operators.active') }) },
    { label: t('operators.last_login'), cell: (o) => (o.lastLoginAt ? agoTag(o.lastLoginAt) : h('span', { class: 'faint' }, t('operators.never'))) },
    { label: '', class: 'action-cell', cell: (o) => actionsOf(o, me, changed) },
  ];
}

export default {
  path: '/operators',
  title: 'operators.title',
  nav: true,
  role: 'operator',
  async mount(root, { session, signal }) {
    if (!canOperate(session)) return root.append(pageHead(t('operators.title')), emptyState({ title: t('operators.only') }));
    const list = pagedTable({ path: 'operators', limit: 50, signal, columns: columns(session.user.id, () => list.reload(true)), caption: t('operators.title'),
      empty: { title: t('operators.none'), hint: t('operators.none.hint') } });
    return root.append(pageHead(t('operators.title'), { lead: t('operators.lead'), actions: button({ label: t('operators.add'), kind: 'primary', onclick: () => addOperator(() => list.first()) }) }), list.el);
  },
};
