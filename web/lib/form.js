/* form.js - labelled inputs, their errors, and the line of filters above a list. */

import { h } from './dom.js';
import { t } from './i18n.js';
import { button, newId } from './ui.js';

function inputOf({ type, options, value, ...rest }) {
  if (type === 'select')
    return h('select', { ...rest, value: value ?? '' }, (options || []).map((o) => {
      const [v, label] = Array.isArray(o) ? o : [o, o];
      return h('option', { value: v }, label);
    }));
  if (type === 'textarea') return h('textarea', { rows: 6, ...rest, value: value ?? '' });
  if (type === 'checkbox') return h('input', { ...rest, type, checked: !!value });
  return h('input', { ...rest, type: type || 'text', value: value ?? '' });
}

/* A labelled input. Has .input, and .error(text) to say what is wrong with it; .error(null) clears that. */
export function field({ label, help, hideLabel, ...rest }) {
  const id = newId('f');
  const note = h('p', { class: 'help', id: `${id}-h` }, help || '');
  const wrong = h('p', { class: 'wrong', id: `${id}-e`, role: 'alert' });
  const input = inputOf({ id, ...rest });
  const el = h('div', { class: rest.type === 'checkbox' ? 'field check' : 'field' },
    h('label', { for: id, class: hideLabel ? 'hidden-text' : null }, label), input, help ? note : null, wrong);
  input.setAttribute('aria-describedby', [help && note.id, wrong.id].filter(Boolean).join(' '));
  el.input = input;
  el.error = (text) => {
    wrong.textContent = text || '';
    markInvalid(input, !!text);
  };
  return el;
}

export function markInvalid(input, invalid) {
  if (invalid) input.setAttribute('aria-invalid', 'true');
  else input.removeAttribute('aria-invalid');
}

/* Options of a field for ids, keys and URLs: no spelling correction, no capital letters. */
export const EXACT = { spellcheck: 'false', autocapitalize: 'none' };

/* Thrown by a dialog's action: the text stands at the field, and the dialog stays open without another error. */
export class FieldError extends Error {
  constructor(fieldEl, text) {
    super(text);
    this.name = 'FieldError';
    fieldEl.error(text);
    fieldEl.input.focus();
  }
}

/* The field's text; throws a FieldError if it is empty. */
export function requiredValue(f) {
  const value = f.input.value.trim();
  if (!value) throw new FieldError(f, t('ui.required'));
  return value;
}

/* Runs fn. What the server says of one of the fields is shown at that field. */
export async function withFieldErrors(fields, fn) {
  for (const f of fields) f.error(null);
  try {
    return await fn();
  } catch (err) {
    const e = (err.errors || []).find((x) => fields.some((f) => f.input.name === x.field));
    if (!e) throw err;
    throw new FieldError(fields.find((f) => f.input.name === e.field), e.message);
  }
}

/* The value of <input type=datetime-local> as the API takes it; '' if it is empty. */
export function localToIso(local) {
  const at = new Date(local);
  return local && !Number.isNaN(at.getTime()) ? at.toISOString() : '';
}

/* The reverse, for a field whose value comes from the address. */
export function isoToLocal(iso) {
  const at = new Date(iso || '');
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

/* A line of filters. apply({ name: value }) is called on Enter, on the button, and when a choice changes. */
export function filterBar(fields, { apply, reset = true }) {
  const label = t('filter.apply');
  const values = () => Object.fromEntries(fields.map((f) => [f.input.name, f.input.type === 'datetime-local' ? localToIso(f.input.value) : f.input.value.trim()]));
  const form = h('form', { class: 'filters', novalidate: true, role: 'search', 'aria-label': label, onsubmit(e) { e.preventDefault(); apply(values()); } },
    fields, h('div', { class: 'filter-actions' }, button({ label, type: 'submit' }),
      reset && button({ label: t('filter.reset'), kind: 'ghost', onclick() { for (const f of fields) f.input.value = ''; apply(values()); } })));
  for (const f of fields) if (f.input.tagName === 'SELECT') f.input.addEventListener('change', () => apply(values()));
  return form;
}
