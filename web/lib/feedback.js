/* feedback.js - how an action ended: error boxes, messages that disappear by themselves, and notes that data is old. */

import { h, truncate, untrusted } from './dom.js';
import { duration, hasText, now, t, timeText } from './i18n.js';
import { translateServerText } from './server_text.js';
import { button, icon, setWorking } from './ui.js';

const ERROR_MS = 9000;
const MESSAGE_MS = 4500;

/* The text of the error's code if there is one, else of its HTTP status. */
function errorTitle(err) {
  if (err.status === 429 && err.retryAfter) return t('error.wait', { v: duration(err.retryAfter * 1000) });
  for (const key of [`error.${err.code}`, `error.${err.status}`]) if (hasText(key)) return t(key);
  return err.status >= 500 ? t('error.500') : t('error.other');
}

/* What failed, what to do next, and the request's id for the log. retry adds a button that tries again. */
export function errorBox(err, retry) {
  const instance = err.problem?.instance;
  return h('div', { class: 'error-box', role: 'alert' },
    h('p', { class: 'error-title' }, errorTitle(err)),
    err.detail && h('p', {}, untrusted(translateServerText(err.detail))),
    err.errors?.length ? h('ul', {}, err.errors.slice(0, 20).map((e) => h('li', {}, h('code', {}, untrusted(e.field, 80)), ' ', untrusted(translateServerText(e.message))))) : null,
    h('p', { class: 'faint small' }, [err.code, err.status || null, instance && truncate(String(instance), 80)].filter(Boolean).join(' · ')),
    retry && button({ label: t('ui.retry'), small: true, onclick: retry }));
}

/* A note for a box that reloads itself: setError(err) says since when its data is old, setError(null) hides the note. */
export function staleNote() {
  const el = h('p', { class: 'wrong', role: 'status', hidden: true });
  let updatedAt = now();
  return { el, setError(err) {
    if (!err) updatedAt = now();
    el.hidden = !err;
    el.textContent = err ? t('ui.stale', { time: timeText(new Date(updatedAt).toISOString()) }) : '';
  } };
}

/* A message at the corner of the window, also for screen readers. kind: good, bad, or none. A new message replaces an
 * error that is still shown. */
export function toast(content, kind = '') {
  let box = document.querySelector('.toasts');
  if (!box) document.body.append((box = h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' })));
  const el = h('div', { class: `toast ${kind}` }, h('div', {}, content));
  if (kind === 'bad') el.append(h('button', { type: 'button', class: 'copy', 'aria-label': t('ui.close'), onclick: () => el.remove() }, icon('close')));
  removeErrorToasts();
  box.append(el);
  setTimeout(() => el.remove(), kind === 'bad' ? ERROR_MS : MESSAGE_MS);
}

export function removeErrorToasts() {
  for (const el of document.querySelectorAll('.toast.bad')) el.remove();
}

/* Runs fn with the button disabled. A failure is shown as a toast; doneText (a text, or a function of the result) is shown
 * after a success. Returns the result (true if fn returns nothing), or null after a failure. */
export async function runAction(el, fn, doneText) {
  if (el.disabled) return null;
  setWorking(el, true);
  try {
    const result = (await fn()) ?? true;
    const text = typeof doneText === 'function' ? doneText(result) : doneText;
    if (text) toast(text, 'good');
    return result;
  } catch (err) {
    /* After a 401 the login is shown. An AbortError means that the reader has left the view. */
    if (err.status !== 401 && err.name !== 'AbortError') toast(errorBox(err), 'bad');
    return null;
  } finally {
    setWorking(el, false);
  }
}
