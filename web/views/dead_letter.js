/* One dead letter: its payload and its attempts. It can be redriven unchanged or edited, or deleted. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { del, get, post } from '../lib/api.js';
import { agoTag, t, timeTag } from '../lib/i18n.js';
import { badge, button, emptyState, facts, longText, pageHead, section, wrapped } from '../lib/ui.js';
import { runAction, toast } from '../lib/feedback.js';
import { copyable, copyableId, jsonView } from '../lib/copyable.js';
import { table } from '../lib/table.js';
import { EXACT, field, markInvalid } from '../lib/form.js';
import { confirmDialog } from '../lib/dialog.js';
import { canOperate } from '../lib/session.js';
import { diffLines, diffView } from '../lib/diff.js';
import { problemOf, readable, withEnds } from '../lib/json_text.js';
import { paymentLink } from '../lib/payment_ui.js';
import { translateServerText } from '../lib/server_text.js';

const CHECK_DELAY_MS = 200; /* after the last key, before the text is checked */

/* ---- the editor ---- */

function problemText(p) {
  return p.line ? t('dlq.edit.invalid.at', { line: p.line, column: p.column, why: p.message }) : t('dlq.edit.invalid', { why: p.message });
}

const hasChanges = (lines) => lines.some((l) => l.kind !== 'same');

async function confirmEdited(deadLetter, body, lines) {
  const done = await confirmDialog({
    title: t('dlq.edit.review.title'), wide: true, confirm: t('dlq.edit.confirm'),
    body: [h('p', {}, t('dlq.edit.help')), diffView(lines)],
    action: () => post(`dlq/${encodeURIComponent(deadLetter.id)}/retry`, { body }),
  });
  return done !== null;
}

/* The text is compared with the formatted original, so that formatting alone is not a change. */
function editor(deadLetter, { onclose, ondone }) {
  const isJson = !problemOf(deadLetter.body);
  const original = readable(deadLetter.body).replace(/\r\n?/g, '\n'); /* as a textarea returns it */
  const text = field({ label: t('dlq.edit.body'), type: 'textarea', name: 'body', value: original, rows: 18, class: 'code-edit', ...EXACT, autocomplete: 'off', wrap: 'off', dir: 'ltr' });
  const state = h('p', { class: 'edit-state', role: 'status' });
  const preview = h('div', {});
  const review = button({ label: t('dlq.edit.review'), kind: 'primary', disabled: true, onclick: reviewChanges });
  let lines = [];
  let timer = null;

  function check() {
    const problem = isJson ? problemOf(text.input.value) : null;
    lines = diffLines(original, problem || !isJson ? text.input.value : readable(text.input.value));
    const dirty = hasChanges(lines);
    review.disabled = !!problem || !dirty;
    state.className = problem ? 'edit-state wrong' : 'edit-state fine';
    state.textContent = problem ? problemText(problem) : dirty ? (isJson ? t('dlq.edit.valid') : '') : t('dlq.edit.unchanged');
    markInvalid(text.input, !!problem);
    replaceContent(preview, dirty && diffView(lines));
  }
  function set(value) {
    text.input.value = value;
    check();
    text.input.focus();
  }
  async function reviewChanges() {
    clearTimeout(timer);
    check();
    const body = isJson ? text.input.value : withEnds(deadLetter.body, lines);
    if (!review.disabled && (await confirmEdited(deadLetter, body, lines))) ondone();
  }
  text.input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(check, CHECK_DELAY_MS);
  });
  text.input.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) reviewChanges();
  });
  check();
  const el = section(t('dlq.edit.title'), h('p', { class: 'lead' }, t('dlq.edit.help')), !isJson && h('p', { class: 'note' }, t('dlq.edit.text')), text, state, preview,
    h('div', { class: 'actions' }, review,
      isJson && button({ label: t('dlq.edit.format'), onclick: () => set(readable(text.input.value)) }),
      button({ label: t('dlq.edit.reset'), onclick: () => set(original) }),
      button({ label: t('dlq.edit.cancel'), kind: 'ghost', onclick: onclose })));
  el.classList.add('editor');
  return { el, focus: () => text.input.focus() };
}

/* ---- details ---- */

/* A broken event may name a payment that does not exist; then the id is not a link. */
function paymentCell(l, signal) {
  const box = h('span', {}, copyableId(l.paymentId));
  if (l.paymentId) get('payments', { q: l.paymentId, limit: 1 }, { signal }).then((page) => replaceContent(box, page.data.length ? paymentLink(l.paymentId) : [copyableId(l.paymentId), h('span', { class: 'faint' }, ` ${t('dlq.payment.none')}`)]), () => {});
  return box;
}

function deadLetterFacts(l, payment) {
  return facts([
    [t('field.kind'), h('code', {}, untrusted(l.kind, 80))],
    [t('field.subject'), l.ref && copyable(l.ref)],
    l.eventId && l.eventId !== l.ref && [t('dlq.event'), copyable(l.eventId)],
    l.event?.type && [t('field.event_type'), h('code', {}, untrusted(l.event.type, 120))],
    l.event && [t('field.received'), timeTag(l.event.receivedAt)],
    l.paymentId && [t('field.payment'), payment],
    [t('field.attempts'), String(l.attempts)],
    [t('field.added'), timeTag(l.addedAt)],
    [t('dlq.died'), h('span', {}, timeTag(l.diedAt), ' (', agoTag(l.diedAt), ')')],
  ]);
}

/* Binary data is not shown, because it may contain card data that cannot be redacted. */
const binaryNote = (b) => h('p', { class: 'note wrap' }, t('dlq.binary', { n: b.bytes }), ' ', h('code', {}, b.sha256));

function responseOf(f) {
  const body = f.responseBody ? jsonView(f.responseBody, { label: t('dlq.response.body') }) : f.responseBodyBinary ? binaryNote(f.responseBodyBinary) : null;
  return [f.status ? h('code', {}, String(f.status)) : null, body ? h('details', { class: 'long-text' }, h('summary', {}, t('dlq.response.body')), body) : null];
}

function failureTable(l) {
  if (!l.failures.length) return emptyState({ title: t('dlq.failures.none') });
  const answered = (f) => f.status || f.responseBody || f.responseBodyBinary;
  const answers = l.failures.some(answered);
  return table({
    caption: t('dlq.failures'),
    rows: l.failures,
    columns: [
      { label: t('dlq.attempt'), align: 'right', cell: (f) => String(f.attempt) },
      { label: t('field.time'), cell: (f) => timeTag(f.at) },
      { label: t('dlq.error'), class: 'grow', cell: (f) => longText(f.error) },
      ...(answers ? [{ label: t('dlq.response'), cell: (f) => (answered(f) ? responseOf(f) : null) }] : []),
    ],
  });
}

export default {
  path: '/dlq/:id',
  title: 'dlq.one',
  role: 'viewer',
  async mount(root, { params, session, go, signal }) {
    const id = encodeURIComponent(params.id);
    const l = await get(`dlq/${id}`, null, { signal });
    const editorBox = h('div', {});
    const leave = () => signal.aborted || go('/dlq');
    const retry = button({ label: t('dlq.retry'), kind: 'primary', async onclick() {
      if (await runAction(retry, () => post(`dlq/${id}/retry`), t('dlq.retry.done'))) leave();
    } });
    const edit = l.editable && typeof l.body === 'string' && button({ label: t('dlq.edit'), 'aria-expanded': 'false', onclick: openEditor });
    const remove = button({ label: t('dlq.delete'), kind: 'ghost danger-text', async onclick() {
      const done = await confirmDialog({ title: t('dlq.delete.one.title'), body: t('dlq.delete.body'), confirm: t('dlq.delete'), danger: true, typed: t('dlq.delete.word'), action: () => del(`dlq/${id}`) });
      if (!done) return;
      toast(t('dlq.deleted', { n: 1 }), 'good');
      leave();
    } });

    function closeEditor() {
      replaceContent(editorBox);
      edit.setAttribute('aria-expanded', 'false');
      edit.focus();
    }
    function openEditor() {
      if (editorBox.hasChildNodes()) return closeEditor();
      const e = editor(l, { onclose: closeEditor, ondone() { toast(t('dlq.edit.done'), 'good'); leave(); } });
      replaceContent(editorBox, e.el);
      edit.setAttribute('aria-expanded', 'true');
      e.focus();
      e.el.scrollIntoView({ block: 'nearest' });
    }
    root.append(
      pageHead([wrapped(translateServerText(l.reason), 140), l.edited ? badge('edited', { label: t('dlq.edited') }) : null],
        { back: { href: '#/dlq', label: t('dlq.back') }, actions: canOperate(session) && [retry, edit, remove] }),
      ...(l.reason.length > 140 ? [longText(l.reason, 140)] : []), deadLetterFacts(l, paymentCell(l, signal)), editorBox,
      section(t('dlq.failures'), failureTable(l)),
      section(t('dlq.payload'), l.payload === null || l.payload === undefined ? emptyState({ title: t('dlq.payload.none') }) : jsonView(l.payload, { label: t('dlq.payload') }), l.payload?.bodyBinary && binaryNote(l.payload.bodyBinary)));
  },
};
