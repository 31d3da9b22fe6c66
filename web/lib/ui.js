/* ui.js - the parts every view is made of: tables, pages, badges, buttons, dialogs, fields, errors. */

import { clear, cut, h, s, user } from './dom.js';
import { lookOn } from './api.js';
import { duration, has, n, now, t, timeText } from './i18n.js';
import { tokensOf } from './jsontext.js';
import { said } from './said.js';

let ids = 0;
export const newId = (prefix) => `${prefix}-${++ids}`;

/* ---- small things ---- */

const TONES = {
  good: 'CAPTURED succeeded ok done closed delivered applied sent received active operator completed paid resumed confirmed won open_ok',
  busy: 'AUTHORIZED authorized PENDING pending running waiting half_open retried processing requires_action draft scheduled collecting published claimed sending asking',
  warn: 'unknown UNKNOWN paused disputed superseded unsealed_old edited warning needs_response returning late',
  bad: 'FAILED failed dead firing open refused lost error chain_broken changed missing reordered disabled declined',
};
const toneOf = new Map();
for (const [tone, list] of Object.entries(TONES)) for (const name of list.split(' ')) toneOf.set(name, tone);

/* A state in words: status.<state> where we have it, 'nothing to do' as status.nothing_to_do. */
export function stateName(status) {
  const name = String(status ?? '');
  const key = `status.${name.replaceAll(' ', '_')}`;
  return has(key) ? t(key) : name;
}

/* ... with a dot. */
export function badge(status, { tone, label } = {}) {
  const name = String(status ?? '');
  const text = label ?? cut(stateName(name), 40);
  return h('span', { class: `badge ${tone || toneOf.get(name) || 'calm'}` }, h('bdi', {}, text));
}

/* kind: primary, danger, ghost, or nothing. */
export function button({ label, kind = '', onclick, disabled, type = 'button', title, small, ...rest }) {
  const cls = ['button', kind, small ? 'small' : ''].filter(Boolean).join(' ');
  return h('button', { type, class: cls, onclick, disabled, title, ...rest }, label);
}

export function link(label, href, props = {}) {
  return h('a', { href, ...props }, label);
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

/* A quiet box with a head: card('Title', { aside: element }, ...children). */
export function card(title, { aside, cls = '', level = 'h2' } = {}, ...children) {
  const id = newId('c');
  return h('section', { class: `card ${cls}`, 'aria-labelledby': id },
    h('div', { class: 'card-head' }, h(level, { id }, title), aside), ...children);
}

/* The head of a view: what it is, one line about it, and its actions. */
export function pageHead(title, { lead, actions, back } = {}) {
  return h('header', { class: 'page-head' },
    back && h('a', { class: 'back', href: back.href }, '← ', back.label),
    h('div', { class: 'page-line' },
      h('h1', { tabindex: '-1' }, title), actions && h('div', { class: 'actions' }, actions)),
    lead && h('p', { class: 'lead' }, lead));
}

/* Names and values: facts([['Amount', '¥1,000'], ...]); values that are null are left out. */
export function facts(rows) {
  return h('dl', { class: 'facts' }, rows.filter((r) => r && r[1] !== null && r[1] !== undefined)
    .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
}

export function progress(value, max, label) {
  const text = label || `${n(value)} / ${n(max)}`;
  return h('div', { class: 'progress' },
    h('progress', { max: Math.max(max, 1), value: Math.min(value, Math.max(max, 1)), 'aria-label': text }),
    h('span', { class: 'num' }, text));
}

/* ---- copying ---- */

async function copyText(text, near) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { /* only https and localhost have a clipboard: the old way */
    const field = h('textarea', { class: 'off-screen', 'aria-hidden': 'true', value: text });
    near.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
  toast(t('ui.copied'));
}

/* An id to copy; short shows its beginning alone, href makes it a link. */
export function copyable(text, { short = 0, href } = {}) {
  if (text === null || text === undefined || text === '') return h('span', { class: 'faint' }, '–');
  const shown = h('code', { title: cut(String(text), 200) }, user(text, short || 200));
  const box = h('span', { class: 'copyable' }, href ? h('a', { href }, shown) : shown,
    h('button', { type: 'button', class: 'copy', title: t('ui.copy'), 'aria-label': `${t('ui.copy')}: ${cut(String(text), 60)}`,
      onclick: (e) => { e.stopPropagation(); copyText(String(text), box); } }, icon('copy')));
  return box;
}

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
  events: 'M5 12h4l2-7 3 14 2-7h3',
  notifications: 'M4 5h16v11H10l-5 4v-4H4z',
  operators: 'M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-5 3-7 8-7s8 2 8 7',
  dot: 'M12 11v2',
};

export function icon(name) {
  return s('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' },
    s('path', { d: PATHS[name] || PATHS.dot }));
}

/* ---- tables and pages ---- */

function cellOf(column, row) {
  const cls = [column.class || '', column.align === 'right' ? 'num right' : ''].join(' ').trim();
  const value = column.cell(row);
  return h('td', { class: cls || null, dataset: { label: column.label || '' } },
    value === null || value === undefined || value === '' ? h('span', { class: 'faint' }, '–') : value);
}

function move(e) {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[e.key];
  if (!step || e.target.tagName !== 'TR') return;
  const next = step > 0 ? e.target.nextElementSibling : e.target.previousElementSibling;
  if (next) next.focus();
  e.preventDefault();
}

function rowOf(columns, row, open) {
  const tr = h('tr', {}, columns.map((c) => cellOf(c, row)));
  if (!open) return tr;
  tr.className = 'opens';
  tr.tabIndex = 0;
  tr.addEventListener('click', (e) => {
    if (!e.target.closest('a, button, input, label, summary') && !String(getSelection())) open(row);
  });
  tr.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && e.target === tr) open(row);
  });
  return tr;
}

/* columns: [{ label, cell(row), align: 'right', class }]. onRow(row): click, or Enter on the row;
 * arrows and j, k walk the rows. On a phone each row is a card with the labels inside. */
export function table({ columns, rows, empty, onRow, caption }) {
  if (!rows.length) return emptyState(typeof empty === 'string' ? { title: empty } : empty || { title: t('ui.nothing') });
  return h('div', { class: 'table-wrap', role: 'group', 'aria-label': caption || t('ui.table'), tabindex: '0' },
    h('table', {},
      caption && h('caption', { class: 'hidden-text' }, caption),
      h('thead', {}, h('tr', {}, columns.map((c) =>
        h('th', { scope: 'col', class: c.align === 'right' ? 'right' : null }, c.label || h('span', { class: 'hidden-text' }, t('ui.actions')))))),
      h('tbody', { onkeydown: move }, rows.map((row) => rowOf(columns, row, onRow)))));
}

/* Pages by cursor. loader(cursor, signal) -> { data, nextCursor }; render(data, page) -> Element. What
 * render says of no rows is said at the end of the list only; before it one may look further. Returns { el, reload(), first() }: reload keeps the page, first goes back to page one. */
export function pager(loader, render, { signal } = {}) {
  const body = h('div', { class: 'pager-body', 'aria-live': 'off' });
  const where = h('span', { class: 'faint' });
  const back = button({ label: t('ui.previous'), small: true, onclick: () => turn(-1), dataset: { key: '[' } });
  const on = button({ label: t('ui.next'), small: true, onclick: () => turn(1), dataset: { key: ']' } });
  const foot = h('nav', { class: 'pager', 'aria-label': t('ui.pages'), hidden: true }, back, where, on);
  let cursors = [null];
  let next = null;
  let asked = 0;

  function shown(page) {
    next = page.nextCursor || null;
    clear(body, next && !page.data.length ? notYet() : render(page.data, page));
    back.disabled = cursors.length < 2;
    on.disabled = !next;
    where.textContent = t('ui.page', { n: cursors.length });
    foot.hidden = cursors.length < 2 && !(next && page.data.length);
  }
  /* What was looked through without a row is behind us: this page begins where the next look does. */
  function notYet() {
    return emptyState({ title: t('ui.no_match_yet'), hint: t('ui.no_match_yet_hint'), action: button({ label: t('ui.search_older'), kind: 'primary', onclick() {
      cursors[cursors.length - 1] = next;
      load();
    } }) });
  }
  async function load(quiet) {
    const mine = ++asked; /* of two loads under way the later one counts */
    const at = document.activeElement;
    next = null; /* of the page before: it leads nowhere from here */
    on.disabled = true;
    if (!quiet) body.classList.add('stale');
    if (!body.hasChildNodes()) body.append(spinner());
    try {
      const page = await lookOn((cursor) => loader(cursor, signal), cursors[cursors.length - 1], { onlook() {
        if (mine === asked && !quiet && !signal?.aborted) clear(body, spinner(t('ui.searching_older')));
      } });
      if (mine === asked && !signal?.aborted) shown(page);
    } catch (err) {
      if (mine === asked && !signal?.aborted) clear(body, errorBox(err, () => load()));
    }
    if (mine !== asked) return;
    body.classList.remove('stale');
    if (at === on && document.activeElement === document.body) (on.disabled ? back : on).focus(); /* who is disabled loses the keyboard */
  }
  function turn(step) {
    if (step > 0 && next) cursors.push(next);
    else if (step < 0 && cursors.length > 1) cursors.pop();
    else return;
    load().then(() => body.scrollIntoView({ block: 'nearest' }));
  }
  load();
  return {
    el: h('div', { class: 'paged' }, body, foot),
    reload: (quiet) => load(quiet),
    first() {
      cursors = [null];
      return load();
    },
  };
}

/* ---- errors and news ---- */

function sayError(err) {
  if (err.status === 429 && err.retryAfter) return t('error.wait', { v: duration(err.retryAfter * 1000) });
  for (const key of [`error.${err.code}`, `error.${err.status}`]) if (has(key)) return t(key);
  return err.status >= 500 ? t('error.500') : t('error.other');
}

/* What went wrong, what to do, and the request's id for the log. */
export function errorBox(err, retry) {
  const instance = err.problem?.instance;
  return h('div', { class: 'error-box', role: 'alert' },
    h('p', { class: 'error-title' }, sayError(err)),
    err.detail && h('p', {}, user(said(err.detail))),
    err.errors?.length ? h('ul', {}, err.errors.slice(0, 20).map((e) => h('li', {}, h('code', {}, user(e.field, 80)), ' ', user(said(e.message))))) : null,
    h('p', { class: 'faint small' }, [err.code, err.status || null, instance && cut(String(instance), 80)].filter(Boolean).join(' · ')),
    retry && button({ label: t('ui.retry'), small: true, onclick: retry }));
}

/* A line for a box that looks for itself again and again: since when what it shows is old. tell(err), tell(null). */
export function staleNote() {
  const el = h('p', { class: 'wrong', role: 'status', hidden: true });
  let seen = now();
  return { el, tell(err) {
    if (!err) seen = now();
    el.hidden = !err;
    el.textContent = err ? t('ui.stale', { time: timeText(new Date(seen).toISOString()) }) : '';
  } };
}

/* kind: good, bad, or nothing. Told to screen readers too. A new one takes the place of a bad one: it is
 * the news of the next act. */
export function toast(text, kind = '') {
  let box = document.querySelector('.toasts');
  if (!box) document.body.append((box = h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' })));
  const el = h('div', { class: `toast ${kind}` }, h('div', {}, text));
  if (kind === 'bad') el.append(h('button', { type: 'button', class: 'copy', 'aria-label': t('ui.close'), onclick: () => el.remove() }, icon('close')));
  endToasts();
  box.append(el);
  setTimeout(() => el.remove(), kind === 'bad' ? 9000 : 4500);
}

export function endToasts() {
  for (const el of document.querySelectorAll('.toast.bad')) el.remove();
}

/* ---- dialogs ---- */

/* A <dialog> with a head; Escape and a click beside it close it unless it is busy. Another view or the end of the session
 * takes it away all the same; if it was busy then, closed waits for close(value). keep: nothing takes it away while it is
 * busy. Returns { el, close(value), busy(bool), gone(), closed: Promise of the value (null where it was dismissed) }. */
export function openDialog({ title, body, foot, wide, keep }) {
  const id = newId('d');
  let busy = false;
  let value = null;
  let tell;
  const closed = new Promise((resolve) => (tell = resolve));
  const el = h('dialog', { class: wide ? 'dialog wide' : 'dialog', 'aria-labelledby': id, dataset: keep ? { keep: '' } : {} },
    h('div', { class: 'dialog-in' }, h('h2', { id }, title), h('div', { class: 'dialog-body' }, body), foot && h('div', { class: 'dialog-foot' }, foot)));
  const hold = (e) => e.key === 'Escape' && busy && e.preventDefault(); /* a browser asks by cancel once only */
  document.addEventListener('keydown', hold, true);
  el.addEventListener('cancel', (e) => busy && e.preventDefault());
  el.addEventListener('click', (e) => e.target === el && !busy && el.close());
  el.addEventListener('close', () => {
    if (keep && busy) return el.showModal(); /* a phone's gesture asks nobody */
    document.removeEventListener('keydown', hold, true);
    el.remove();
    if (!busy) tell(value);
    return undefined;
  });
  document.body.append(el);
  el.showModal();
  return {
    el,
    closed,
    busy: (b) => (busy = b),
    gone: () => !el.open,
    close(v = null) {
      value = v;
      if (el.open) el.close();
      else tell(v);
    },
  };
}

/* The view or the session that they belong to is over. */
export function closeDialogs() {
  for (const d of document.querySelectorAll('dialog[open]:not([data-keep])')) d.close();
}

/* Asks before something is done. -> true or false; with action (async) it is done here: the dialog waits, shows what went
 * wrong and lets one try again, and gives { result } or null. Where it was taken away meanwhile, the result is given all
 * the same and what went wrong is a toast.
 *   typed   a word to type first, for what cannot be taken back
 *   body    string, element or array
 *   confirm the button's label
 *   looks   the action changes nothing: taken away, it is over
 *   about() what it is about, for a toast elsewhere */
export function confirmDialog({ title, body, confirm, danger, typed, action, looks, about, wide }) {
  const trouble = h('div', {});
  const word = typed ? field({ label: t('ui.type_to_confirm', { word: typed }), name: 'typed', autocomplete: 'off' }) : null;
  const yes = button({ label: confirm || t('ui.ok'), kind: danger ? 'danger' : 'primary', type: 'submit', disabled: !!typed });
  const no = button({ label: t('ui.cancel'), onclick: () => d.close(action ? null : false) });
  const form = h('form', { novalidate: true, onsubmit: run }, typeof body === 'string' ? h('p', {}, body) : body, word, trouble,
    h('div', { class: 'dialog-foot' }, no, yes));
  const d = openDialog({ title, body: form, wide });

  word?.input.addEventListener('input', () => (yes.disabled = word.input.value.trim() !== typed));
  async function run(e) {
    e.preventDefault();
    if (yes.disabled) return;
    if (!action) return d.close(true);
    d.busy((yes.disabled = no.disabled = true));
    yes.classList.add('working');
    clear(trouble);
    try {
      const result = await action(form);
      d.busy(false);
      d.close(looks && d.gone() ? null : { result });
    } catch (err) {
      d.busy((yes.disabled = no.disabled = false));
      if (d.gone()) return lateTrouble(err);
      if (err.name !== 'FieldError') clear(trouble, errorBox(err));
      yes.classList.remove('working');
    }
    return undefined;
  }
  /* A 401 is told by the login. */
  function lateTrouble(err) {
    if (!looks && err.status !== undefined && err.status !== 401) toast([h('p', { class: 'strong' }, title), about && h('p', {}, about()), errorBox(err)], 'bad');
    d.close();
  }
  return d.closed.then((v) => (action ? v : v === true));
}

/* ---- fields ---- */

function inputOf({ type, options, value, ...rest }) {
  if (type === 'select')
    return h('select', { ...rest, value: value ?? '' }, (options || []).map((o) => {
      const [v, label] = Array.isArray(o) ? o : typeof o === 'object' ? [o.value, o.label] : [o, o];
      return h('option', { value: v }, label);
    }));
  if (type === 'textarea') return h('textarea', { rows: 6, ...rest, value: value ?? '' });
  if (type === 'checkbox') return h('input', { ...rest, type, checked: !!value });
  return h('input', { ...rest, type: type || 'text', value: value ?? '' });
}

/* A labelled input. Has .input, and .error(text) to say what is wrong with it (null: nothing). */
export function field({ label, help, hideLabel, ...rest }) {
  const id = newId('f');
  const note = h('p', { class: 'help', id: `${id}-h` }, help || '');
  const wrong = h('p', { class: 'wrong', id: `${id}-e`, role: 'alert' });
  const input = inputOf({ id, ...rest });
  const el = h('div', { class: rest.type === 'checkbox' ? 'field check' : 'field' },
    h('label', { for: id, class: hideLabel ? 'hidden-text' : null }, label), input, help ? note : null, wrong);
  const described = [help && note.id, wrong.id].filter(Boolean).join(' ');
  input.setAttribute('aria-describedby', described);
  el.input = input;
  el.error = (text) => {
    wrong.textContent = text || '';
    input.toggleAttribute('aria-invalid', !!text);
    if (text) input.setAttribute('aria-invalid', 'true');
  };
  return el;
}

/* Thrown by a dialog's action after field.error(): it stays open and says nothing else. */
export class FieldError extends Error {
  constructor(fieldEl, text) {
    super(text);
    this.name = 'FieldError';
    fieldEl.error(text);
    fieldEl.input.focus();
  }
}

/* tabs([{ id, label, render() }], { selected, onselect(id) }) */
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
    clear(panel, tab.render());
    onselect?.(tab.id);
  }
  show(list.find((tab) => tab.id === selected) || list[0]);
  return h('div', {}, bar, panel);
}

/* ---- JSON ---- */

const JSON_MAX = 100000;

function coloured(text) {
  const parts = [];
  let at = 0;
  for (const { kind, from, to } of tokensOf(text)) {
    parts.push(text.slice(at, from), h('span', { class: `j-${kind}` }, text.slice(from, to)));
    at = to;
  }
  parts.push(text.slice(at));
  return parts;
}

/* A value, or a text that may be JSON, to read. Long ones are cut; copying copies all of it. */
export function jsonView(value, { label } = {}) {
  let data = value;
  if (typeof value === 'string') {
    try {
      data = JSON.parse(value);
    } catch {
      data = undefined; /* no JSON: shown as it is */
    }
  }
  const all = data === undefined ? String(value) : JSON.stringify(data, null, 2);
  const shown = cut(all, JSON_MAX);
  const box = h('div', { class: 'json' },
    h('pre', { tabindex: '0', 'aria-label': label || 'JSON', dir: 'ltr' }, data === undefined ? shown : coloured(shown)),
    h('button', { type: 'button', class: 'copy', title: t('ui.copy'), 'aria-label': t('ui.copy'), onclick: () => copyText(all, box) }, icon('copy')),
    all.length > JSON_MAX && h('p', { class: 'faint small' }, t('ui.cut', { n: all.length })));
  return box;
}
