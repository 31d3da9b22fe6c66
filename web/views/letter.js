/* One dead letter: what it says, what was tried, and trying it again as it is or edited. */

import { clear, h, user } from '../lib/dom.js';
import { del, get, post } from '../lib/api.js';
import { ago, t, time } from '../lib/i18n.js';
import { badge, button, confirmDialog, copyable, emptyState, facts, field, jsonView, pageHead, section, table, toast } from '../lib/ui.js';
import { act, operates, paymentLink, shortId, whole } from '../lib/parts.js';
import { said } from '../lib/said.js';
import { diffLines, diffView } from '../lib/diff.js';
import { problemOf, readable, withEnds } from '../lib/jsontext.js';

const PAUSE_MS = 200; /* after the last key, before the text is looked at */

/* ---- the editor ---- */

function sayProblem(p) {
  return p.line ? t('dlq.edit.invalid.at', { line: p.line, column: p.column, why: p.message }) : t('dlq.edit.invalid', { why: p.message });
}

const changed = (lines) => lines.some((l) => l.kind !== 'same');

async function askReplay(letter, body, lines) {
  const done = await confirmDialog({
    title: t('dlq.edit.review.title'), wide: true, confirm: t('dlq.edit.confirm'),
    body: [h('p', {}, t('dlq.edit.help')), diffView(lines)],
    action: () => post(`dlq/${encodeURIComponent(letter.id)}/retry`, { body }),
  });
  return done !== null;
}

/* The original is compared as it stands in the editor, so that tidying up is no change. */
function editor(letter, { onclose, ondone }) {
  const isJson = !problemOf(letter.body);
  const original = readable(letter.body).replace(/\r\n?/g, '\n'); /* as a textarea has it */
  const text = field({ label: t('dlq.edit.body'), type: 'textarea', name: 'body', value: original, rows: 18, class: 'code-edit', spellcheck: 'false', autocapitalize: 'none', autocomplete: 'off', wrap: 'off', dir: 'ltr' });
  const state = h('p', { class: 'edit-state', role: 'status' });
  const preview = h('div', {});
  const review = button({ label: t('dlq.edit.review'), kind: 'primary', disabled: true, onclick: open });
  let lines = [];
  let timer = null;

  function look() {
    const problem = isJson ? problemOf(text.input.value) : null;
    lines = diffLines(original, problem || !isJson ? text.input.value : readable(text.input.value));
    const dirty = changed(lines);
    review.disabled = !!problem || !dirty;
    state.className = problem ? 'edit-state wrong' : 'edit-state fine';
    state.textContent = problem ? sayProblem(problem) : dirty ? (isJson ? t('dlq.edit.valid') : '') : t('dlq.edit.unchanged');
    text.input.toggleAttribute('aria-invalid', !!problem);
    if (problem) text.input.setAttribute('aria-invalid', 'true');
    clear(preview, dirty && diffView(lines));
  }
  function set(value) {
    text.input.value = value;
    look();
    text.input.focus();
  }
  async function open() {
    clearTimeout(timer);
    look();
    const body = isJson ? text.input.value : withEnds(letter.body, lines);
    if (!review.disabled && (await askReplay(letter, body, lines))) ondone();
  }
  text.input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE_MS);
  });
  text.input.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) open();
  });
  look();
  const el = section(t('dlq.edit.title'), h('p', { class: 'lead' }, t('dlq.edit.help')), !isJson && h('p', { class: 'note' }, t('dlq.edit.text')), text, state, preview,
    h('div', { class: 'actions' }, review,
      isJson && button({ label: t('dlq.edit.format'), onclick: () => set(readable(text.input.value)) }),
      button({ label: t('dlq.edit.reset'), onclick: () => set(original) }),
      button({ label: t('dlq.edit.cancel'), kind: 'ghost', onclick: onclose })));
  el.classList.add('editor');
  return { el, focus: () => text.input.focus() };
}

/* ---- what is known of it ---- */

/* A broken event may name a payment that never was: it is no link then. */
function paymentOf(l, signal) {
  const box = h('span', {}, shortId(l.paymentId));
  if (l.paymentId) get('payments', { q: l.paymentId, limit: 1 }, { signal }).then((page) => clear(box, page.data.length ? paymentLink(l.paymentId) : [shortId(l.paymentId), h('span', { class: 'faint' }, ` ${t('dlq.payment.none')}`)]), () => {});
  return box;
}

function about(l, payment) {
  return facts([
    [t('field.kind'), h('code', {}, user(l.kind, 80))],
    [t('field.subject'), l.ref && copyable(l.ref)],
    l.eventId && l.eventId !== l.ref && [t('dlq.event'), copyable(l.eventId)],
    l.event?.type && [t('field.event_type'), h('code', {}, user(l.event.type, 120))],
    l.event && [t('field.received'), time(l.event.receivedAt)],
    l.paymentId && [t('field.payment'), payment],
    [t('field.attempts'), String(l.attempts)],
    [t('field.added'), time(l.addedAt)],
    [t('dlq.died'), h('span', {}, time(l.diedAt), ' (', ago(l.diedAt), ')')],
  ]);
}

/* What is no text may hold anything, a card too: it is told, not shown. */
const binaryNote = (b) => h('p', { class: 'note wrap' }, t('dlq.binary', { n: b.bytes }), ' ', h('code', {}, b.sha256));

function answerOf(f) {
  const body = f.responseBody ? jsonView(f.responseBody, { label: t('dlq.response.body') }) : f.responseBodyBinary ? binaryNote(f.responseBodyBinary) : null;
  return [f.status ? h('code', {}, String(f.status)) : null, body ? h('details', { class: 'whole' }, h('summary', {}, t('dlq.response.body')), body) : null];
}

function failures(l) {
  if (!l.failures.length) return emptyState({ title: t('dlq.failures.none') });
  const answered = (f) => f.status || f.responseBody || f.responseBodyBinary;
  const answers = l.failures.some(answered);
  return table({
    caption: t('dlq.failures'),
    rows: l.failures,
    columns: [
      { label: t('dlq.attempt'), align: 'right', cell: (f) => String(f.attempt) },
      { label: t('field.time'), cell: (f) => time(f.at) },
      { label: t('dlq.error'), class: 'grow', cell: (f) => whole(f.error) },
      ...(answers ? [{ label: t('dlq.response'), cell: (f) => (answered(f) ? answerOf(f) : null) }] : []),
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
    const place = h('div', {});
    const away = () => signal.aborted || go('/dlq');
    const retry = button({ label: t('dlq.retry'), kind: 'primary', async onclick() {
      if (await act(retry, () => post(`dlq/${id}/retry`), t('dlq.retry.done'))) away();
    } });
    const edit = l.editable && typeof l.body === 'string' && button({ label: t('dlq.edit'), 'aria-expanded': 'false', onclick: openEditor });
    const remove = button({ label: t('dlq.delete'), kind: 'ghost danger-text', async onclick() {
      const done = await confirmDialog({ title: t('dlq.delete.one.title'), body: t('dlq.delete.body'), confirm: t('dlq.delete'), danger: true, typed: t('dlq.delete.word'), action: () => del(`dlq/${id}`) });
      if (!done) return;
      toast(t('dlq.deleted', { n: 1 }), 'good');
      away();
    } });

    function closeEditor() {
      clear(place);
      edit.setAttribute('aria-expanded', 'false');
      edit.focus();
    }
    function openEditor() {
      if (place.hasChildNodes()) return closeEditor();
      const e = editor(l, { onclose: closeEditor, ondone() { toast(t('dlq.edit.done'), 'good'); away(); } });
      clear(place, e.el);
      edit.setAttribute('aria-expanded', 'true');
      e.focus();
      e.el.scrollIntoView({ block: 'nearest' });
    }
    root.append(
      pageHead([h('span', { class: 'wrap' }, user(said(l.reason), 140)), l.edited ? badge('edited', { label: t('dlq.edited') }) : null],
        { back: { href: '#/dlq', label: t('dlq.back') }, actions: operates(session) && [retry, edit, remove] }),
      ...(l.reason.length > 140 ? [whole(l.reason, 140)] : []), about(l, paymentOf(l, signal)), place,
      section(t('dlq.failures'), failures(l)),
      section(t('dlq.payload'), l.payload === null || l.payload === undefined ? emptyState({ title: t('dlq.payload.none') }) : jsonView(l.payload, { label: t('dlq.payload') }), l.payload?.bodyBinary && binaryNote(l.payload.bodyBinary)));
  },
};
