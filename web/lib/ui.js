/* ui.js - the elements that every view is made of: badges, buttons, boxes, lists of facts, tabs, icons, long texts.
 * Tables are in table.js, dialogs in dialog.js, fields in form.js, errors and messages in feedback.js. */

import { h, replaceContent, svgTag, truncate, untrusted } from './dom.js';
import { formatNumber, hasText, t } from './i18n.js';
import { translateServerText } from './server_text.js';

let lastId = 0;
export const newId = (prefix) => `${prefix}-${++lastId}`;

/* ---- states ---- */

const STATES_OF_TONE = {
  good: 'CAPTURED succeeded ok done closed delivered applied sent received active operator completed paid resumed confirmed won open_ok',
  busy: 'AUTHORIZED authorized PENDING pending running waiting half_open retried processing requires_action draft scheduled collecting published claimed sending asking',
  warn: 'unknown UNKNOWN paused disputed superseded unsealed_old edited warning needs_response returning late',
  bad: 'FAILED failed dead firing open refused lost error chain_broken changed missing reordered disabled declined',
};
const toneOf = new Map();
for (const [tone, states] of Object.entries(STATES_OF_TONE)) for (const state of states.split(' ')) toneOf.set(state, tone);

/* The text status.<state>, or the state itself if there is none. 'nothing to do' is looked up as status.nothing_to_do. */
export function stateName(state) {
  const name = String(state ?? '');
  const key = `status.${name.replaceAll(' ', '_')}`;
  return hasText(key) ? t(key) : name;
}

/* A state with a coloured dot. */
export function badge(state, { tone, label } = {}) {
  const name = String(state ?? '');
  return h('span', { class: `badge ${tone || toneOf.get(name) || 'calm'}` }, h('bdi', {}, label ?? truncate(stateName(name), 40)));
}

/* ---- buttons, boxes, heads ---- */

/* kind: primary, danger, ghost, or none. */
export function button({ label, kind = '', onclick, disabled, type = 'button', title, small, ...rest }) {
  const cls = ['button', kind, small ? 'small' : ''].filter(Boolean).join(' ');
  return h('button', { type, class: cls, onclick, disabled, title, ...rest }, label);
}

/* Shows on a button that its action is running, and prevents a second click. */
export function setWorking(el, on) {
  el.disabled = on;
  el.classList.toggle('working', on);
}

export function spinner(label) {
  return h('div', { class: 'loading', role: 'status' }, h('span', { class: 'spinner', 'aria-hidden': 'true' }), label || t('ui.loading'));
}

export function emptyState({ title, hint, action }) {
  return h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, title), hint && h('p', { class: 'empty-hint' }, hint), action);
}

export function section(title, ...children) {
  const id = newId('s');
  return h('section', { class: 'section', 'aria-labelledby': id }, h('h2', { id }, title), ...children);
}

/* A box with a title: card('Title', { aside: element }, ...children). */
export function card(title, { aside, cls = '', level = 'h2' } = {}, ...children) {
  const id = newId('c');
  return h('section', { class: `card ${cls}`, 'aria-labelledby': id },
    h('div', { class: 'card-head' }, h(level, { id }, title), aside), ...children);
}

/* The head of a view: its title, one sentence about it, its actions, and a link back to its list. */
export function pageHead(title, { lead, actions, back } = {}) {
  return h('header', { class: 'page-head' },
    back && h('a', { class: 'back', href: back.href }, '← ', back.label),
    h('div', { class: 'page-line' },
      h('h1', { tabindex: '-1' }, title), actions && h('div', { class: 'actions' }, actions)),
    lead && h('p', { class: 'lead' }, lead));
}

/* ---- values ---- */

/* Names and values: facts([['Amount', '¥1,000'], ...]). Rows that are falsy or have no value are left out. */
export function facts(rows) {
  return h('dl', { class: 'facts' }, rows.filter((r) => r && r[1] !== null && r[1] !== undefined)
    .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}

/* Large numbers side by side: [name, value, note, tone]. */
export const figures = (rows) => h('dl', { class: 'figures' }, rows.filter(Boolean).map(([name, value, note, tone]) =>
  h('div', { class: tone || null }, h('dt', {}, name), h('dd', {}, value), note && h('dd', { class: 'figure-note' }, note))));

export function tile(label, value, note) {
  return h('div', { class: 'tile' }, h('dt', {}, label), h('dd', {}, h('div', { class: 'tile-value num' }, value), note && h('div', { class: 'faint small' }, note)));
}

export function progress(value, max, label) {
  const text = label || `${formatNumber(value)} / ${formatNumber(max)}`;
  return h('div', { class: 'progress' },
    h('progress', { max: Math.max(max, 1), value: Math.min(value, Math.max(max, 1)), 'aria-label': text }),
    h('span', { class: 'num' }, text));
}

/* A bar with one or two parts of a total: the first part is solid, the second lighter. The label says the same in words. */
export function meter(parts, total, label) {
  const width = (v) => `${total > 0 ? Math.min(100, (v / total) * 100) : 0}%`;
  return h('div', { class: 'meter' },
    h('div', { class: 'meter-bar', role: 'img', 'aria-label': label }, parts.map((v, i) => h('span', { class: `meter-part p${i}`, vars: { '--w': width(v) } }))),
    h('span', { class: 'meter-text num' }, label));
}

/* The server stops counting at a limit (exact: false) and then reports one more than the limit: 10001 becomes "10,000+". */
export const countText = (count, exact) => (exact === false ? `${formatNumber(count - (count % 10))}+` : formatNumber(count));

/* ---- texts from outside ---- */

/* A text that may break anywhere, so that a long word does not widen its column. */
export const wrapped = (text, max) => h('span', { class: 'wrap' }, untrusted(text, max));

export const codeText = (text, max = 120) => (text ? h('code', { title: text.length > max ? truncate(text, 400) : null }, untrusted(text, max)) : null);

/* A text in the reader's language, if we have a translation. Texts longer than max are folded: the beginning is shown, and
 * a click shows all of it. */
export function longText(text, max = 180) {
  if (text === null || text === undefined || text === '') return null;
  const all = translateServerText(String(text));
  if (all.length <= max) return wrapped(all, max);
  return h('details', { class: 'long-text' }, h('summary', {}, wrapped(all, max)), h('div', { class: 'long-text-body', tabindex: '0' }, untrusted(all, 100000)));
}

/* A first line, and smaller lines below it. */
export const twoLines = (first, ...others) => h('div', { class: 'two-lines' }, first, others.map((line) => line && h('span', { class: 'faint small' }, line)));

/* ---- icons ---- */

const PATHS = {
  copy: 'M9 9h10v11H9zM5 15V4h10',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5',
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  payments: 'M3 6h18v12H3zM3 10h18M7 15h4',
  transfers: 'M4 8.500h14l-3.500-3.500M20 15.500H6l3.500 3.500',
  subscribers: 'M5 5c8 0 14 6 14 14M5 11c4.500 0 8 3.500 8 8M6 17.500v1',
  collections: 'M8 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2 20c0-4 2.500-6 6-6s6 2 6 6M16 4.500a3.500 3.500 0 0 1 0 6.500M18 14.500c2.500.8 4 2.500 4 5.500',
  campaigns: 'M4 5h7v7H4zM13 5h7v7h-7zM4 14h7v6H4zM13 14h7v6h-7z',
  dlq: 'M3 7l9 6 9-6M3 6h18v13H3z',
  queues: 'M4 6h16M4 12h16M4 18h10',
  alerts: 'M12 3a6 6 0 0 0-6 6c0 6-2 7-2 8h16c0-1-2-2-2-8a6 6 0 0 0-6-6zM10 20h4',
  audit: 'M6 3h9l4 4v14H6zM9 12h7M9 16h7M9 8h3',
  sandbox: 'M9 3h6M10 3v6L4.500 19.500h15L14 9V3',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  events: 'M13 3L5 13.500h6L10 21l8-10.500h-6z',
  notifications: 'M4 5h16v11H10l-4.500 4v-4H4zM8 9h8M8 12h5',
  operators: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.500 20.500c0-4.500 3-6.500 7.500-6.500s7.500 2 7.500 6.500',
};

export function icon(name) {
  return svgTag('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' }, svgTag('path', { d: PATHS[name] }));
}

/* ---- tabs ---- */

/* tabs([{ id, label, render() }], { selected, onselect(id) }). The arrow keys move between the tabs. */
export function tabs(list, { selected, onselect, label } = {}) {
  const base = newId('t');
  const panel = h('div', { class: 'tab-panel', role: 'tabpanel', id: `${base}-p`, tabindex: '0' });
  const heads = list.map((tab) => h('button', { type: 'button', role: 'tab', id: `${base}-${tab.id}`, 'aria-controls': panel.id, onclick: () => show(tab) }, tab.label));
  const bar = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label || '' , onkeydown(e) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const i = (heads.indexOf(e.target) + step + heads.length) % heads.length;
    heads[i].focus();
    show(list[i]);
  } }, heads);

  function show(tab) {
    heads.forEach((head, i) => {
      head.setAttribute('aria-selected', String(list[i] === tab));
      head.tabIndex = list[i] === tab ? 0 : -1;
    });
    panel.setAttribute('aria-labelledby', `${base}-${tab.id}`);
    replaceContent(panel, tab.render());
    onselect?.(tab.id);
  }
  show(list.find((tab) => tab.id === selected) || list[0]);
  return h('div', {}, bar, panel);
}

/* Tabs whose choice is kept in the address of the view (?tab=); the first tab has no parameter. renderers: { id: render(signal) };
 * the signal is aborted when another tab is shown. */
export function addressTabs(renderers, { path, query, go, signal, label, labelOf, selected = query.get('tab') }) {
  const ids = Object.keys(renderers);
  let shown = new AbortController();
  let isFirst = true;
  signal.addEventListener('abort', () => shown.abort());
  const list = ids.map((id) => ({ id, label: labelOf(id), render() {
    shown.abort();
    shown = new AbortController();
    return renderers[id](shown.signal);
  } }));
  return tabs(list, { selected: selected || ids[0], label, onselect(id) {
    if (!isFirst) go(path, { tab: id === ids[0] ? '' : id }, { replace: true, stay: true });
    isFirst = false;
  } });
}
