/* dialog.js - modal dialogs, and the dialog that asks before something is done and then does it. */

import { h, replaceContent } from './dom.js';
import { errorBox, toast } from './feedback.js';
import { field } from './form.js';
import { t } from './i18n.js';
import { button, newId } from './ui.js';

/* Opens a <dialog>. Escape and a click beside it close it unless it is busy. Another view or the end of the session closes
 * it in any case; if it was busy then, `closed` waits for close(value). keep: nothing closes it while it is busy.
 * Returns { close(value), setBusy(on), isGone(), closed: a promise of the value, null if it was dismissed }. */
export function openDialog({ title, body, foot, wide, keep }) {
  const id = newId('d');
  let busy = false;
  let value = null;
  let resolveClosed;
  const closed = new Promise((resolve) => (resolveClosed = resolve));
  const el = h('dialog', { class: wide ? 'dialog wide' : 'dialog', 'aria-labelledby': id, dataset: keep ? { keep: '' } : {} },
    h('div', { class: 'dialog-inner' }, h('h2', { id }, title), h('div', { class: 'dialog-body' }, body), foot && h('div', { class: 'dialog-foot' }, foot)));
  /* A browser fires `cancel` for the first Escape only, so the key itself is stopped too. */
  const stopEscape = (e) => e.key === 'Escape' && busy && e.preventDefault();
  document.addEventListener('keydown', stopEscape, true);
  el.addEventListener('cancel', (e) => busy && e.preventDefault());
  el.addEventListener('click', (e) => e.target === el && !busy && el.close());
  el.addEventListener('close', () => {
    if (keep && busy) return el.showModal(); /* a phone's back gesture closes it without a cancel event */
    document.removeEventListener('keydown', stopEscape, true);
    el.remove();
    if (!busy) resolveClosed(value);
    return undefined;
  });
  document.body.append(el);
  el.showModal();
  return {
    closed,
    setBusy: (on) => (busy = on),
    isGone: () => !el.open,
    close(v = null) {
      value = v;
      if (el.open) el.close();
      else resolveClosed(v);
    },
  };
}

/* Closes the dialogs of the view or session that ends. */
export function closeDialogs() {
  for (const d of document.querySelectorAll('dialog[open]:not([data-keep])')) d.close();
}

/* Asks before something is done. Returns true or false. With action (async) the dialog stays open while the action runs,
 * shows an error and allows another try, and returns { result } or null. If the dialog is closed by another view or the end
 * of the session meanwhile, the result is still returned and an error becomes a toast.
 *   typed     a word to type first, for what cannot be undone
 *   body      string, element or array
 *   confirm   the button's label
 *   readOnly  the action changes nothing: once the dialog is gone, its result is dropped
 *   about()   what the action concerns, for a toast that is shown elsewhere */
export function confirmDialog({ title, body, confirm, danger, typed, action, readOnly, about, wide }) {
  const errors = h('div', {});
  const word = typed ? field({ label: t('ui.type_to_confirm', { word: typed }), name: 'typed', autocomplete: 'off' }) : null;
  const yes = button({ label: confirm || t('ui.ok'), kind: danger ? 'danger' : 'primary', type: 'submit', disabled: !!typed });
  const no = button({ label: t('ui.cancel'), onclick: () => d.close(action ? null : false) });
  const form = h('form', { novalidate: true, onsubmit: run }, typeof body === 'string' ? h('p', {}, body) : body, word, errors,
    h('div', { class: 'dialog-foot' }, no, yes));
  const d = openDialog({ title, body: form, wide });

  word?.input.addEventListener('input', () => (yes.disabled = word.input.value.trim() !== typed));
  function setBusy(on) {
    yes.disabled = no.disabled = on;
    d.setBusy(on);
  }
  async function run(e) {
    e.preventDefault();
    if (yes.disabled) return;
    if (!action) return d.close(true);
    setBusy(true);
    yes.classList.add('working');
    replaceContent(errors);
    try {
      const result = await action(form);
      d.setBusy(false);
      d.close(readOnly && d.isGone() ? null : { result });
    } catch (err) {
      setBusy(false);
      if (d.isGone()) return showErrorElsewhere(err);
      if (err.name !== 'FieldError') replaceContent(errors, errorBox(err));
      yes.classList.remove('working');
    }
    return undefined;
  }
  /* After a 401 the login is shown, so no toast is needed. */
  function showErrorElsewhere(err) {
    if (!readOnly && err.status !== undefined && err.status !== 401) toast([h('p', { class: 'strong' }, title), about && h('p', {}, about()), errorBox(err)], 'bad');
    d.close();
  }
  return d.closed.then((v) => (action ? v : v === true));
}
