/* The login: admin token, or name and password. It is shown in place of the view of the address, which opens after it. */

import { h, replaceContent } from '../lib/dom.js';
import { post } from '../lib/api.js';
import { duration, readSetting, saveSetting, t } from '../lib/i18n.js';
import { button, setWorking } from '../lib/ui.js';
import { errorBox } from '../lib/feedback.js';
import { field } from '../lib/form.js';

function rejectionText(err) {
  if (err.status === 401 || err.status === 403) return t('login.wrong');
  if (err.status === 429) return err.retryAfter ? t('login.rate_limited', { v: duration(err.retryAfter * 1000) }) : t('login.rate_limited_later');
  return null;
}

function tokenFields() {
  return [field({ label: t('login.token'), help: t('login.token_help'), name: 'token', type: 'password', autocomplete: 'current-password', spellcheck: 'false' })];
}

function userFields() {
  return [
    field({ label: t('field.name'), name: 'user', autocomplete: 'username', autocapitalize: 'none', spellcheck: 'false', value: readSetting('ichido.user') || '' }),
    field({ label: t('login.password'), name: 'password', type: 'password', autocomplete: 'current-password' }),
  ];
}

/* Marks the first empty field, and returns it. */
function markEmptyField(fields) {
  for (const f of fields) f.error(null);
  const f = fields.find((one) => !one.input.value);
  f?.error(t('ui.required'));
  f?.input.focus();
  return f;
}

/* onsession(session) is called after a successful login. ended: there was a session before. token: signs in with it at once. */
export function mountLogin(root, { onsession, ended, token }) {
  let method = readSetting('ichido.login') === 'user' ? 'user' : 'token';
  let fields = [];
  const message = h('div', { role: 'status' });
  const inputs = h('div', { class: 'stack' });
  const submit = button({ label: t('login.submit'), kind: 'primary', type: 'submit' });
  const methods = ['token', 'user'].map((id) => h('label', { class: 'segment' },
    h('input', { type: 'radio', name: 'way', value: id, checked: id === method, onchange: () => choose(id) }), t(`login.with_${id}`)));

  function choose(id) {
    method = id;
    fields = id === 'user' ? userFields() : tokenFields();
    replaceContent(inputs, fields);
    replaceContent(message);
  }
  async function signIn(body) {
    setWorking(submit, true);
    replaceContent(message);
    try {
      const session = await post('login', body, { quiet: true });
      saveSetting('ichido.login', method);
      if (body.user) saveSetting('ichido.user', body.user);
      onsession(session);
    } catch (err) {
      const text = rejectionText(err);
      replaceContent(message, text ? h('p', { class: 'wrong', role: 'alert' }, text) : errorBox(err));
      fields[fields.length - 1].input.select();
    }
    setWorking(submit, false);
  }
  function onsubmit(e) {
    e.preventDefault();
    if (submit.disabled || markEmptyField(fields)) return;
    signIn(Object.fromEntries(fields.map((f) => [f.input.name, f.input.name === 'token' ? f.input.value.trim() : f.input.value])));
  }
  choose(method);
  replaceContent(root, h('div', { class: 'login' },
    h('div', { class: 'login-brand' }, h('img', { src: '/admin/icon.svg', alt: '', width: 44, height: 44 }), h('h1', { tabindex: '-1' }, t('app.name')), h('p', { class: 'lead' }, t('login.lead'))),
    h('form', { class: 'login-card', method: 'post', novalidate: true, onsubmit, 'aria-label': t('login.submit') },
      ended && h('p', { class: 'note' }, t('login.ended')),
      h('fieldset', { class: 'segments' }, h('legend', { class: 'hidden-text' }, t('login.how')), methods),
      inputs, message, submit)));
  if (token) {
    choose('token');
    replaceContent(message, h('p', { class: 'faint' }, t('login.working')));
    signIn({ token });
  } else fields.find((f) => !f.input.value)?.input.focus();
}
