/* parts.js - what several views share beyond ui.js: links to payments, long texts, counts that stop
 * somewhere, filters, and news of an act. */

import { cut, h, user } from './dom.js';
import { n, t } from './i18n.js';
import { said } from './said.js';
import { button, copyable, errorBox, FieldError, toast } from './ui.js';

/* A viewer sees no button that changes something; the server refuses him anyway. */
export const operates = (session) => session.user.role === 'operator';

const SHORT_ID = 13; /* the first 8 of a UUIDv7 are equal for a minute */

export const paymentLink = (id) => (id ? copyable(id, { short: SHORT_ID, href: `#/payments/${encodeURIComponent(id)}` }) : null);
export const shortId = (id) => (id ? copyable(id, { short: SHORT_ID }) : null);
export const code = (text, max = 120) => (text ? h('code', { title: text.length > max ? cut(text, 400) : null }, user(text, max)) : null);

/* The server calls the admin token by an English name. */
export const personName = (name) => (name === 'admin token' ? t('login.token') : name);

/* A text from outside: whole where it is short, else its beginning and the whole behind it. */
export function whole(text, max = 180) {
  if (text === null || text === undefined || text === '') return null;
  const all = said(String(text));
  if (all.length <= max) return h('span', { class: 'wrap' }, user(all, max));
  return h('details', { class: 'whole' }, h('summary', {}, h('span', { class: 'wrap' }, user(all, max))), h('div', { class: 'whole-text', tabindex: '0' }, user(all, 100000)));
}

/* 10001 that were counted up to 10001 are "10,000+". */
export const count = (number, exact) => (exact === false ? `${n(number - (number % 10))}+` : n(number));

/* What <input type=datetime-local> says, as the API wants it; '' where it is empty. */
export function isoOf(local) {
  const at = new Date(local);
  return local && !Number.isNaN(at.getTime()) ? at.toISOString() : '';
}

/* ... and back, for an address that is opened again. */
export function localOf(iso) {
  const at = new Date(iso || '');
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

/* A line of fields; apply({ name: value }) on Enter, on the button, and when a choice changes. */
export function filterBar(fields, { apply, label, reset }) {
  const values = () => Object.fromEntries(fields.map((f) => [f.input.name, f.input.type === 'datetime-local' ? isoOf(f.input.value) : f.input.value.trim()]));
  const form = h('form', { class: 'filters', novalidate: true, role: 'search', 'aria-label': label, onsubmit(e) { e.preventDefault(); apply(values()); } },
    fields, h('div', { class: 'filters-act' }, button({ label, type: 'submit' }),
      reset && button({ label: reset, kind: 'ghost', onclick() { for (const f of fields) f.input.value = ''; apply(values()); } })));
  for (const f of fields) if (f.input.tagName === 'SELECT') f.input.addEventListener('change', () => apply(values()));
  return form;
}

/* Does it with the button out of reach meanwhile; what goes wrong is told. -> the result, or null. */
export async function act(el, fn, said) {
  if (el.disabled) return null;
  el.disabled = true;
  el.classList.add('working');
  try {
    const result = (await fn()) ?? true;
    const text = typeof said === 'function' ? said(result) : said;
    if (text) toast(text, 'good');
    return result;
  } catch (err) {
    if (err.status !== 401 && err.name !== 'AbortError') toast(errorBox(err), 'bad'); /* aborted: one looks at something else by now */
    return null;
  } finally {
    el.disabled = false;
    el.classList.remove('working');
  }
}

/* What the server says of a field stands at that field. */
export async function tellFields(fields, fn) {
  for (const f of fields) f.error(null);
  try {
    return await fn();
  } catch (err) {
    const e = (err.errors || []).find((x) => fields.some((f) => f.input.name === x.field));
    if (!e) throw err;
    throw new FieldError(fields.find((f) => f.input.name === e.field), e.message);
  }
}

/* Two parts of a whole as one bar: the first solid, the second lighter. The words say it too. */
export function meter(parts, total, label) {
  const width = (v) => `${total > 0 ? Math.min(100, (v / total) * 100) : 0}%`;
  return h('div', { class: 'meter' },
    h('div', { class: 'meter-bar', role: 'img', 'aria-label': label }, parts.map((v, i) => h('span', { class: `meter-part p${i}`, vars: { '--w': width(v) } }))),
    h('span', { class: 'meter-text num' }, label));
}

/* Large numbers side by side. */
export const figures = (rows) => h('dl', { class: 'figures' }, rows.filter(Boolean).map(([name, value, note, tone]) =>
  h('div', { class: tone || null }, h('dt', {}, name), h('dd', {}, value), note && h('dd', { class: 'figure-note' }, note))));

export const words = (area, name, fallback) => t(`${area}.${name}`) === `${area}.${name}` ? fallback ?? name : t(`${area}.${name}`);
