/* Login: a token, or name and password. It stands in the place of the view that was wanted, so after
 * it one is where one was. */

import { clear, h } from '../lib/dom.js';
import { post } from '../lib/api.js';
import { duration, store, stored, t } from '../lib/i18n.js';
import { button, errorBox, field } from '../lib/ui.js';

function sayRefusal(err) {
  if (err.status === 401 || err.status === 403) return t('login.wrong');
  if (err.status === 429) return err.retryAfter ? t('login.rate_limited', { v: duration(err.retryAfter * 1000) }) : t('login.rate_limited_later');
  return null;
}

function tokenFields() {
  return [field({ label: t('login.token'), help: t('login.token_help'), name: 'token', type: 'password', autocomplete: 'current-password', spellcheck: 'false' })];
}

function userFields() {
  return [
    field({ label: t('field.name'), name: 'user', autocomplete: 'username', autocapitalize: 'none', spellcheck: 'false', value: stored('ichido.user') || '' }),
    field({ label: t('login.password'), name: 'password', type: 'password', autocomplete: 'current-password' }),
  ];
}

/* The first field that is empty, or null. */
function missing(fields) {
  for (const f of fields) f.error(null);
  const f = fields.find((one) => !one.input.value);
  f?.error(t('ui.required'));
  f?.input.focus();
  return f;
}

/* onsession(session) is called once, when somebody is in. ended: a session was here before. */
export function mountLogin(root, { onsession, ended, token }) {
  let way = stored('ichido.login') === 'user' ? 'user' : 'token';
  let fields = [];
  const news = h('div', { role: 'status' });
  const inputs = h('div', { class: 'stack' });
  const submit = button({ label: t('login.submit'), kind: 'primary', type: 'submit' });
  const ways = ['token', 'user'].map((id) => h('label', { class: 'segment' },
    h('input', { type: 'radio', name: 'way', value: id, checked: id === way, onchange: () => choose(id) }), t(`login.with_${id}`)));

  function choose(id) {
    way = id;
    fields = id === 'user' ? userFields() : tokenFields();
    clear(inputs, fields);
    clear(news);
  }
  async function enter(body) {
    submit.disabled = true;
    submit.classList.add('working');
    clear(news);
    try {
      const session = await post('login', body, { quiet: true });
      store('ichido.login', way);
      if (body.user) store('ichido.user', body.user);
      onsession(session);
    } catch (err) {
      const text = sayRefusal(err);
      clear(news, text ? h('p', { class: 'wrong', role: 'alert' }, text) : errorBox(err));
      fields[fields.length - 1].input.select();
    }
    submit.disabled = false;
    submit.classList.remove('working');
  }
  function onsubmit(e) {
    e.preventDefault();
    if (submit.disabled || missing(fields)) return;
    enter(Object.fromEntries(fields.map((f) => [f.input.name, f.input.name === 'token' ? f.input.value.trim() : f.input.value])));
  }
  choose(way);
  clear(root, h('div', { class: 'login' },
    h('div', { class: 'login-brand' }, h('img', { src: '/admin/icon.svg', alt: '', width: 44, height: 44 }), h('h1', { tabindex: '-1' }, t('app.name')), h('p', { class: 'lead' }, t('login.lead'))),
    h('form', { class: 'login-card', method: 'post', novalidate: true, onsubmit, 'aria-label': t('login.submit') },
      ended && h('p', { class: 'note' }, t('login.ended')),
      h('fieldset', { class: 'segments' }, h('legend', { class: 'hidden-text' }, t('login.how')), ways),
      inputs, news, submit)));
  if (token) {
    choose('token');
    clear(news, h('p', { class: 'faint' }, t('login.working')));
    enter({ token });
  } else fields.find((f) => !f.input.value)?.input.focus();
}
