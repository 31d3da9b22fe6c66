/* main.js - the page's frame: session, routing, navigation, language, theme and keyboard shortcuts. Start reading at start()
 * and show().
 *
 * The address of a view is behind '#': #/payments/123?status=FAILED. A view gets { params, query, session, go, signal };
 * signal is aborted when another view replaces it. Without a session the login is shown; after it, the view of the address. */

import { h, replaceContent } from './lib/dom.js';
import { get, post, setCsrf } from './lib/api.js';
import { canSaveSettings, lang, now, readSetting, saveSetting, setLang, setServerTime, t, timeText } from './lib/i18n.js';
import { button, emptyState, icon, pageHead, spinner } from './lib/ui.js';
import { errorBox, removeErrorToasts, toast } from './lib/feedback.js';
import { field } from './lib/form.js';
import { closeDialogs, openDialog } from './lib/dialog.js';
import { personName } from './lib/session.js';
import { changeOwnPassword } from './lib/password.js';
import { groups, views } from './views/index.js';
import { mountLogin } from './views/login.js';

const HOME = '/overview';
let session = null;
let viewAbort = new AbortController(); /* ends the view that is shown */
let main = null;
let hadSession = false;

/* ---- routing ---- */

function currentAddress() {
  const [path, query] = location.hash.replace(/^#/, '').split('?');
  return { path: path.startsWith('/') && path !== '/' ? path : HOME, query: new URLSearchParams(query || '') };
}

function matchPath(pattern, path) {
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

/* Opens a view: go('/payments', { status: 'FAILED' }). replace: adds no step to the history. stay: changes only the address,
 * because the view has drawn itself already. */
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

function showNotFound(root) {
  root.append(pageHead(t('app.not_found')), emptyState({ title: t('app.not_found_hint'), action: h('a', { class: 'button', href: `#${HOME}` }, t('app.to_overview')) }));
}

function markCurrentLink(path) {
  for (const a of document.querySelectorAll('.nav a')) {
    const here = path === a.dataset.path || path.startsWith(`${a.dataset.path}/`);
    if (here) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
}

/* Screen readers and keyboard users continue at the heading of the new view. */
function focusHeading(root) {
  if (!root.contains(document.activeElement)) root.querySelector('h1')?.focus({ preventScroll: true });
}

/* The link from the view of one item back to its list. */
function listLink(view) {
  const list = views.find((v) => v.nav && v !== view && view.path.startsWith(`${v.path}/`));
  return list && { href: `#${list.path}`, label: t(list.title) };
}

function itemNotFound() {
  return emptyState({ title: t('error.404'), hint: t('error.404_hint'), action: h('div', { class: 'actions' }, history.length > 1 && button({ label: t('ui.go_back'), onclick: () => history.back() }), h('a', { class: 'button', href: `#${HOME}` }, t('app.to_overview'))) });
}

async function mountView(root, view, params, query, signal) {
  const loading = setTimeout(() => root.hasChildNodes() || root.append(spinner()), 150);
  try {
    await view.mount(root, { params, query, session, go, signal });
  } catch (err) {
    if (!signal.aborted && err.status !== 401) replaceContent(root, pageHead(t(view.title), { back: listLink(view) }), err.status === 404 ? itemNotFound() : errorBox(err, show));
    if (!signal.aborted && err.status === undefined) console.error(err);
  } finally {
    clearTimeout(loading);
    root.querySelector(':scope > .loading')?.remove();
  }
}

async function show() {
  const { path, query } = currentAddress();
  const found = views.map((view) => ({ view, params: matchPath(view.path, path) })).find((x) => x.params && (!x.view.when || x.view.when(session)));
  const first = !main.hasChildNodes();
  const root = h('div', { class: 'view' });

  viewAbort.abort();
  viewAbort = new AbortController();
  const { signal } = viewAbort;
  closeDialogs();
  removeErrorToasts();
  closeMenu();
  markCurrentLink(path);
  document.title = `${found ? t(found.view.title) : t('app.not_found')} · ${t('app.name')}`;
  replaceContent(main, root);
  window.scrollTo(0, 0);
  if (!found) showNotFound(root);
  else await mountView(root, found.view, found.params, query, signal);
  if (!first && !signal.aborted) focusHeading(root);
}

/* ---- the frame ---- */

function navItem(view) {
  return h('li', {}, h('a', { href: `#${view.path}`, dataset: { path: view.path } }, icon(view.icon || view.path.slice(1)), h('span', {}, t(view.title))));
}

const canOpen = (view) => view.nav && (view.role !== 'operator' || session.user.role === 'operator') && (!view.when || view.when(session));

function navigation() {
  return h('nav', { class: 'nav', id: 'nav', 'aria-label': t('app.nav') },
    groups.filter((g) => g.views.some(canOpen)).map((g) => [
      g.title && h('h2', { class: 'nav-title' }, t(g.title)),
      h('ul', {}, g.views.filter(canOpen).map(navItem)),
    ]));
}

function languageSwitch() {
  const one = (code, label) => h('button', { type: 'button', lang: code, 'aria-pressed': String(lang() === code), onclick: () => setLang(code) }, label);
  return h('div', { class: 'switch', role: 'group', 'aria-label': t('app.language') }, one('ja', '日本語'), one('en', 'English'));
}

function setTheme(name) {
  saveSetting('ichido.theme', name === 'auto' ? null : name);
  if (name === 'light' || name === 'dark') document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

function themeSwitch() {
  const names = ['auto', 'light', 'dark'];
  return h('select', { class: 'theme', 'aria-label': t('app.theme'), value: readSetting('ichido.theme') || 'auto', onchange: (e) => setTheme(e.target.value) },
    names.map((name) => h('option', { value: name }, t(`app.theme_${name}`))));
}

const menuOpen = () => document.body.classList.contains('menu-open');

function openMenu() {
  document.body.classList.add('menu-open');
  document.querySelector('.menu-button').setAttribute('aria-expanded', 'true');
  main.inert = true; /* it is behind the backdrop */
  document.querySelector('.nav a').focus();
}
/* The focus must not stay in the menu when the menu is hidden. */
function closeMenu() {
  if (!menuOpen()) return;
  const inside = document.querySelector('.sidebar').contains(document.activeElement);
  document.body.classList.remove('menu-open');
  document.querySelector('.menu-button').setAttribute('aria-expanded', 'false');
  main.inert = false;
  if (inside) document.querySelector('.menu-button').focus();
}

function brand() {
  return h('a', { class: 'brand', href: `#${HOME}` }, h('img', { src: '/admin/icon.svg', alt: '', width: 26, height: 26 }), h('span', {}, t('app.name')),
    session.mode === 'dev' && h('span', { class: 'badge warn plain' }, t('app.dev')));
}

function signedInUser() {
  const { user } = session;
  return h('div', { class: 'signed-in' },
    h('div', {}, h('bdi', { class: 'signed-in-name' }, personName(user.name)), h('span', { class: 'faint' }, t(`role.${user.role}`))),
    button({ label: t('app.sign_out'), kind: 'ghost', small: true, onclick: signOut }));
}

function sidebarFoot() {
  return h('div', { class: 'sidebar-foot' },
    session.testClock && h('p', { class: 'badge warn plain', title: t('app.test_clock_hint', { time: timeText(new Date(now()).toISOString()) }) }, t('app.test_clock')),
    languageSwitch(),
    themeSwitch(),
    button({ label: t('app.shortcuts'), kind: 'ghost', small: true, onclick: showShortcuts }),
    signedInUser(),
    session.user.id && button({ label: t('password.change'), kind: 'ghost', small: true, onclick: changeOwnPassword }), /* the admin token has no password */
    h('p', { class: 'faint small' }, `${t('app.name')} ${session.version}`));
}

/* Replaces the whole page, except for messages and dialogs that must not be lost. */
function replacePage(...parts) {
  document.body.className = '';
  for (const el of [...document.body.children]) if (!el.matches('dialog[data-keep], .toasts')) el.remove();
  document.body.prepend(...parts);
}

function drawFrame() {
  main = h('main', { id: 'main', tabindex: '-1' });
  replacePage(
    h('a', { class: 'skip', href: '#main', onclick: (e) => { e.preventDefault(); main.focus(); } }, t('app.skip')),
    h('header', { class: 'topbar' }, brand(), h('button', { type: 'button', class: 'menu-button', 'aria-expanded': 'false', 'aria-controls': 'nav', 'aria-label': t('app.menu'),
      onclick: () => (menuOpen() ? closeMenu() : openMenu()) }, icon('menu'))),
    h('header', { class: 'sidebar' }, brand(), navigation(), sidebarFoot()),
    h('div', { class: 'backdrop', onclick: closeMenu }),
    main);
}

/* ---- who is there ---- */

function startSession(s) {
  session = s;
  hadSession = true;
  saveSetting('ichido.in', '1');
  setCsrf(s.csrf);
  setServerTime(s.now);
  drawFrame();
  return show();
}

function showLogin(token) {
  viewAbort.abort();
  session = null;
  saveSetting('ichido.in', null);
  setCsrf('');
  closeDialogs();
  main = h('main', { class: 'login-page' });
  const languages = h('footer', { class: 'login-foot' }, languageSwitch());
  replacePage(main, languages);
  document.title = `${t('login.submit')} · ${t('app.name')}`;
  mountLogin(main, { onsession: startSession, ended: hadSession, token });
}

async function signOut() {
  try {
    await post('logout', {}, { quiet: true });
  } catch (err) {
    if (err.status !== 401) return toast(errorBox(err), 'bad'); /* the session still exists, so the reader must know */
  }
  hadSession = false;
  saveSetting('ichido.user', null); /* the next person at this browser must not see the name */
  history.replaceState(null, '', `#${HOME}`);
  showLogin();
}

/* Reads '#token=...' and removes it from the address and the history before anything else happens. */
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

/* A token in the address is used only if there is no session: any site can open such a link, and it must not replace the
 * session of the person who is signed in. */
async function start(token = takeToken()) {
  if (!readSetting('ichido.in') && canSaveSettings()) return showLogin(token); /* this browser had no session: the server need not be asked */
  replacePage(h('main', { class: 'login-page' }, spinner()));
  try {
    await startSession(await get('session', null, { quiet: true }));
  } catch (err) {
    if (err.status === 401 || err.status === 403) showLogin(token);
    else replacePage(h('main', { class: 'login-page' }, errorBox(err, () => start(token))));
  }
}

/* The same for a token that arrives while the page is open: a dialog that is open stays open. */
async function handleLateToken(token, before) {
  if (!session) return start(token);
  history.replaceState(null, '', before.startsWith('#/') ? before : `#${HOME}`);
  try {
    await get('session', null, { quiet: true });
  } catch (err) {
    if (err.status === 401 || err.status === 403) showLogin(token);
  }
}

/* ---- keyboard shortcuts ---- */

function showShortcuts() {
  const row = (keys, text) => h('div', {}, h('dt', {}, keys.map((k) => h('kbd', {}, k))), h('dd', {}, text));
  const single = field({ label: t('shortcuts.on'), type: 'checkbox', value: readSetting('ichido.keys') !== 'off' });
  single.input.addEventListener('change', () => saveSetting('ichido.keys', single.input.checked ? null : 'off'));
  const d = openDialog({
    title: t('shortcuts.title'),
    body: [
      h('dl', { class: 'shortcuts' }, row(['/'], t('shortcuts.search')), row(['j', 'k', '↓', '↑'], t('shortcuts.rows')), row(['Enter'], t('shortcuts.open')),
        row(['[', ']'], t('shortcuts.pages')), row(['?'], t('shortcuts.help')), row(['Esc'], t('shortcuts.escape')),
        views.filter((v) => v.key && canOpen(v)).map((v) => row(['g', v.key], t(v.title)))),
      single,
    ],
    foot: button({ label: t('ui.close'), onclick: () => d.close() }),
  });
}

function focusSearch() {
  const box = main.querySelector('[data-search]');
  if (box) return box.focus();
  go('/payments', { find: '1' });
}

function focusFirstRow(step) {
  const rows = [...main.querySelectorAll('tr.row-link')];
  if (rows.length && document.activeElement.tagName !== 'TR') rows[step > 0 ? 0 : rows.length - 1].focus();
}

let gPressedAt = 0;
function handleKey(e) {
  if (e.key === 'Escape') return closeMenu();
  const typing = e.target.closest('input, textarea, select, dialog, [contenteditable]');
  if (!session || typing || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || readSetting('ichido.keys') === 'off') return;
  const to = Date.now() - gPressedAt < 1500 && views.find((v) => v.key === e.key && canOpen(v));
  gPressedAt = e.key === 'g' ? Date.now() : 0;
  if (to) go(to.path);
  else if (e.key === '/') focusSearch();
  else if (e.key === '?') showShortcuts();
  else if (e.key === 'j' || e.key === 'k') focusFirstRow(e.key === 'j' ? 1 : -1);
  else if (e.key === '[' || e.key === ']') main.querySelector(`[data-key="${e.key}"]:not(:disabled)`)?.click();
  else return;
  if (e.key !== 'j' && e.key !== 'k') e.preventDefault();
}

setTheme(readSetting('ichido.theme') || 'auto');
window.matchMedia('(width > 860px)').addEventListener('change', closeMenu); /* a wide window has no folded menu: see style.css */
document.addEventListener('keydown', handleKey);
window.addEventListener('hashchange', (e) => {
  const token = takeToken();
  if (token) handleLateToken(token, new URL(e.oldURL).hash);
  else if (session) show();
});
window.addEventListener('signed-out', () => session && showLogin());
window.addEventListener('language', () => {
  if (!session) return showLogin();
  drawFrame();
  show();
});
start();
