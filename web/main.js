/* main.js - the page's frame: who is there, which view is shown, navigation, language, colours, keys.
 *
 * Addresses are behind '#': #/payments/123?status=FAILED. A view gets { params, query, session, go,
 * signal }; signal is aborted when another view takes its place. Who is not signed in sees the login
 * in the place of the view, and the view after it. */

import { clear, h } from './lib/dom.js';
import { get, post, setCsrf } from './lib/api.js';
import { keeps, lang, serverTime, setLang, store, stored, t, timeText, now } from './lib/i18n.js';
import { button, closeDialogs, emptyState, endToasts, errorBox, field, icon, openDialog, pageHead, spinner, toast } from './lib/ui.js';
import { personName } from './lib/parts.js';
import { askOwnPassword } from './lib/password.js';
import { groups, views } from './views/index.js';
import { mountLogin } from './views/login.js';

const HOME = '/overview';
let session = null;
let leaving = new AbortController();
let main = null;
let hadSession = false;

/* ---- addresses ---- */

function place() {
  const [path, query] = location.hash.replace(/^#/, '').split('?');
  return { path: path.startsWith('/') && path !== '/' ? path : HOME, query: new URLSearchParams(query || '') };
}

function paramsOf(pattern, path) {
  const want = pattern.split('/');
  const have = path.split('/');
  if (want.length !== have.length) return null;
  const params = {};
  for (let i = 0; i < want.length; i++) {
    if (!want[i].startsWith(':')) {
      if (want[i] !== have[i]) return null;
      continue;
    }
    try {
      params[want[i].slice(1)] = decodeURIComponent(have[i]);
    } catch {
      return null;
    }
  }
  return params;
}

/* go('/payments', { status: 'FAILED' }); replace: no new step in the history; stay: the address only,
 * the view has drawn itself already. */
export function go(path, query = {}, { replace = false, stay = false } = {}) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null && value !== '') q.set(name, value);
  const hash = `#${path}${q.toString() ? `?${q}` : ''}`;
  if (hash === location.hash && !stay) return show();
  if (!replace && !stay) return void (location.hash = hash);
  history[replace ? 'replaceState' : 'pushState'](null, '', hash);
  if (!stay) show();
}

/* ---- the view ---- */

function notFound(root) {
  root.append(pageHead(t('app.not_found')), emptyState({ title: t('app.not_found_hint'), action: h('a', { class: 'button', href: `#${HOME}` }, t('app.to_overview')) }));
}

function mark(path) {
  for (const a of document.querySelectorAll('.nav a')) {
    const here = path === a.dataset.path || path.startsWith(`${a.dataset.path}/`);
    if (here) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
}

/* Screen readers and the keyboard begin at the new view's heading. */
function focusHead(root) {
  if (!root.contains(document.activeElement)) root.querySelector('h1')?.focus({ preventScroll: true });
}

/* The list that a single thing belongs to. */
function listOf(view) {
  const list = views.find((v) => v.nav && v !== view && view.path.startsWith(`${v.path}/`));
  return list && { href: `#${list.path}`, label: t(list.title) };
}

function missing() {
  return emptyState({ title: t('error.404'), hint: t('error.404_hint'), action: h('div', { class: 'actions' }, history.length > 1 && button({ label: t('ui.go_back'), onclick: () => history.back() }), h('a', { class: 'button', href: `#${HOME}` }, t('app.to_overview'))) });
}

async function fill(root, view, params, query, signal) {
  const loading = setTimeout(() => root.hasChildNodes() || root.append(spinner()), 150);
  try {
    await view.mount(root, { params, query, session, go, signal });
  } catch (err) {
    if (!signal.aborted && err.status !== 401) clear(root, pageHead(t(view.title), { back: listOf(view) }), err.status === 404 ? missing() : errorBox(err, show));
    if (!signal.aborted && err.status === undefined) console.error(err);
  } finally {
    clearTimeout(loading);
    root.querySelector(':scope > .loading')?.remove();
  }
}

async function show() {
  const { path, query } = place();
  const found = views.map((view) => ({ view, params: paramsOf(view.path, path) })).find((x) => x.params && (!x.view.when || x.view.when(session)));
  const first = !main.hasChildNodes();
  const root = h('div', { class: 'view' });

  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  closeDialogs();
  endToasts();
  closeMenu();
  mark(path);
  document.title = `${found ? t(found.view.title) : t('app.not_found')} · ${t('app.name')}`;
  clear(main, root);
  window.scrollTo(0, 0);
  if (!found) notFound(root);
  else await fill(root, found.view, found.params, query, signal);
  if (!first && !signal.aborted) focusHead(root);
}

/* ---- the frame ---- */

function navItem(view) {
  return h('li', {}, h('a', { href: `#${view.path}`, dataset: { path: view.path } }, icon(view.icon || view.path.slice(1)), h('span', {}, t(view.title))));
}

const mayOpen = (view) => view.nav && (view.role !== 'operator' || session.user.role === 'operator') && (!view.when || view.when(session));

function navigation() {
  return h('nav', { class: 'nav', id: 'nav', 'aria-label': t('app.nav') },
    groups.filter((g) => g.views.some(mayOpen)).map((g) => [
      g.title && h('h2', { class: 'nav-title' }, t(g.title)),
      h('ul', {}, g.views.filter(mayOpen).map(navItem)),
    ]));
}

function languageSwitch() {
  const one = (code, label) => h('button', { type: 'button', lang: code, 'aria-pressed': String(lang() === code), onclick: () => setLang(code) }, label);
  return h('div', { class: 'switch', role: 'group', 'aria-label': t('app.language') }, one('ja', '日本語'), one('en', 'English'));
}

function setTheme(name) {
  store('ichido.theme', name === 'auto' ? null : name);
  if (name === 'light' || name === 'dark') document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

function themeSwitch() {
  const names = ['auto', 'light', 'dark'];
  return h('select', { class: 'theme', 'aria-label': t('app.theme'), value: stored('ichido.theme') || 'auto', onchange: (e) => setTheme(e.target.value) },
    names.map((name) => h('option', { value: name }, t(`app.theme_${name}`))));
}

const menuOpen = () => document.body.classList.contains('menu-open');

function openMenu() {
  document.body.classList.add('menu-open');
  document.querySelector('.menu-button').setAttribute('aria-expanded', 'true');
  main.inert = true; /* it is behind the veil */
  document.querySelector('.nav a').focus();
}
/* The keyboard does not stay in what is folded away. */
function closeMenu() {
  if (!menuOpen()) return;
  const inside = document.querySelector('.side').contains(document.activeElement);
  document.body.classList.remove('menu-open');
  document.querySelector('.menu-button').setAttribute('aria-expanded', 'false');
  main.inert = false;
  if (inside) document.querySelector('.menu-button').focus();
}

function brand() {
  return h('a', { class: 'brand', href: `#${HOME}` }, h('img', { src: '/admin/icon.svg', alt: '', width: 26, height: 26 }), h('span', {}, t('app.name')),
    session.mode === 'dev' && h('span', { class: 'badge warn plain' }, t('app.dev')));
}

function whoBox() {
  const { user } = session;
  return h('div', { class: 'who' },
    h('div', {}, h('bdi', { class: 'who-name' }, personName(user.name)), h('span', { class: 'faint' }, t(`role.${user.role}`))),
    button({ label: t('app.sign_out'), kind: 'ghost', small: true, onclick: signOut }));
}

function sideFoot() {
  return h('div', { class: 'side-foot' },
    session.testClock && h('p', { class: 'badge warn plain', title: t('app.test_clock_hint', { time: timeText(new Date(now()).toISOString()) }) }, t('app.test_clock')),
    languageSwitch(),
    themeSwitch(),
    button({ label: t('app.shortcuts'), kind: 'ghost', small: true, onclick: showKeys }),
    whoBox(),
    session.user.id && button({ label: t('password.change'), kind: 'ghost', small: true, onclick: askOwnPassword }), /* the token has none */
    h('p', { class: 'faint small' }, `${t('app.name')} ${session.version}`));
}

/* All of the page; news, and a dialog that must not be lost, stay over it. */
function redraw(...parts) {
  document.body.className = '';
  for (const el of [...document.body.children]) if (!el.matches('dialog[data-keep], .toasts')) el.remove();
  document.body.prepend(...parts);
}

function frame() {
  main = h('main', { id: 'main', tabindex: '-1' });
  redraw(
    h('a', { class: 'skip', href: '#main', onclick: (e) => { e.preventDefault(); main.focus(); } }, t('app.skip')),
    h('header', { class: 'top' }, brand(), h('button', { type: 'button', class: 'menu-button', 'aria-expanded': 'false', 'aria-controls': 'nav', 'aria-label': t('app.menu'),
      onclick: () => (menuOpen() ? closeMenu() : openMenu()) }, icon('menu'))),
    h('header', { class: 'side' }, brand(), navigation(), sideFoot()),
    h('div', { class: 'veil', onclick: closeMenu }),
    main);
}

/* ---- who is there ---- */

function enter(s) {
  session = s;
  hadSession = true;
  store('ichido.in', '1');
  setCsrf(s.csrf);
  serverTime(s.now);
  frame();
  return show();
}

function askLogin(token) {
  leaving.abort();
  session = null;
  store('ichido.in', null);
  setCsrf('');
  closeDialogs();
  main = h('main', { class: 'login-page' });
  const languages = h('footer', { class: 'login-foot' }, languageSwitch());
  redraw(main, languages);
  document.title = `${t('login.submit')} · ${t('app.name')}`;
  mountLogin(main, { onsession: enter, ended: hadSession, token });
}

async function signOut() {
  try {
    await post('logout', {}, { quiet: true });
  } catch (err) {
    if (err.status !== 401) return toast(errorBox(err), 'bad'); /* still signed in: say so */
  }
  hadSession = false;
  store('ichido.user', null); /* the next one here need not know his name */
  history.replaceState(null, '', `#${HOME}`);
  askLogin();
}

/* '#token=...' is taken out of the address and the history before anything else happens. */
function takeToken() {
  const m = /^#token=([^&]+)/.exec(location.hash);
  if (!m) return null;
  history.replaceState(null, '', `${location.pathname}#${HOME}`);
  try {
    return decodeURIComponent(m[1]);
  } catch {
    return m[1];
  }
}

/* A token counts only where nobody is in: any site can open a link that has one. */
async function start(token = takeToken()) {
  if (!stored('ichido.in') && keeps()) return askLogin(token); /* nobody was in: no need to ask */
  redraw(h('main', { class: 'login-page' }, spinner()));
  try {
    await enter(await get('session', null, { quiet: true }));
  } catch (err) {
    if (err.status === 401 || err.status === 403) askLogin(token);
    else redraw(h('main', { class: 'login-page' }, errorBox(err, () => start(token))));
  }
}

/* The same while the page is open: what is being done on it stays as it is. */
async function tokenCame(token, before) {
  if (!session) return start(token);
  history.replaceState(null, '', before.startsWith('#/') ? before : `#${HOME}`);
  try {
    await get('session', null, { quiet: true });
  } catch (err) {
    if (err.status === 401 || err.status === 403) askLogin(token);
  }
}

/* ---- keys ---- */

function showKeys() {
  const row = (keys, text) => h('div', {}, h('dt', {}, keys.map((k) => h('kbd', {}, k))), h('dd', {}, text));
  const single = field({ label: t('shortcuts.on'), type: 'checkbox', value: stored('ichido.keys') !== 'off' });
  single.input.addEventListener('change', () => store('ichido.keys', single.input.checked ? null : 'off'));
  const d = openDialog({
    title: t('shortcuts.title'),
    body: [
      h('dl', { class: 'keys' }, row(['/'], t('shortcuts.search')), row(['j', 'k', '↓', '↑'], t('shortcuts.rows')), row(['Enter'], t('shortcuts.open')),
        row(['[', ']'], t('shortcuts.pages')), row(['?'], t('shortcuts.help')), row(['Esc'], t('shortcuts.escape')),
        views.filter((v) => v.key && mayOpen(v)).map((v) => row(['g', v.key], t(v.title)))),
      single,
    ],
    foot: button({ label: t('ui.close'), onclick: () => d.close() }),
  });
}

function search() {
  const box = main.querySelector('[data-search]');
  if (box) return box.focus();
  go('/payments', { find: '1' });
}

function rowStep(step) {
  const rows = [...main.querySelectorAll('tr.opens')];
  if (rows.length && document.activeElement.tagName !== 'TR') rows[step > 0 ? 0 : rows.length - 1].focus();
}

let gPressed = 0;
function onKey(e) {
  if (e.key === 'Escape') return closeMenu();
  const typing = e.target.closest('input, textarea, select, dialog, [contenteditable]');
  if (!session || typing || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || stored('ichido.keys') === 'off') return;
  const to = Date.now() - gPressed < 1500 && views.find((v) => v.key === e.key && mayOpen(v));
  gPressed = e.key === 'g' ? Date.now() : 0;
  if (to) go(to.path);
  else if (e.key === '/') search();
  else if (e.key === '?') showKeys();
  else if (e.key === 'j' || e.key === 'k') rowStep(e.key === 'j' ? 1 : -1);
  else if (e.key === '[' || e.key === ']') main.querySelector(`[data-key="${e.key}"]:not(:disabled)`)?.click();
  else return;
  if (e.key !== 'j' && e.key !== 'k') e.preventDefault();
}

setTheme(stored('ichido.theme') || 'auto');
window.matchMedia('(width > 860px)').addEventListener('change', closeMenu); /* where there is room nothing is folded: style.css */
document.addEventListener('keydown', onKey);
window.addEventListener('hashchange', (e) => {
  const token = takeToken();
  if (token) tokenCame(token, new URL(e.oldURL).hash);
  else if (session) show();
});
window.addEventListener('signed-out', () => session && askLogin());
window.addEventListener('language', () => {
  if (!session) return askLogin();
  frame();
  show();
});
start();
