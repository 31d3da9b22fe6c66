/* transfer_actions.js - the dialogs for bank transfers: confirm a transfer, assign a deposit or set it aside, record money as
 * sent back, import a bank file. Every one of these may be repeated: the second time, the server answers with the state that
 * the first one reached. */

import { h, untrusted } from './dom.js';
import { post, readJson, request } from './api.js';
import { formatNumber, money, moneyCode, now, t, textFor } from './i18n.js';
import { facts, figures, progress, wrapped } from './ui.js';
import { toast } from './feedback.js';
import { copyable } from './copyable.js';
import { table } from './table.js';
import { field, FieldError, isoToLocal, requiredValue, withFieldErrors } from './form.js';
import { confirmDialog } from './dialog.js';

const NOTE_MAX = 200;
const FILE_MAX = 4 * 1024 * 1024;
const BATCH = 1000; /* deposits per request */
const IMPORT_TIMEOUT_MS = 120000;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

const today = () => isoToLocal(new Date(now()).toISOString()).slice(0, 10);
const dayField = (label) => field({ label, name: 'date', type: 'date', value: today() });
const noteField = () => field({ label: t('transfers.note'), name: 'note', maxlength: NOTE_MAX, autocomplete: 'off' });

const depositFacts = (l) => facts([[t('transfers.day'), l.date], [t('field.amount'), moneyCode(l.amount, l.currency)], [t('transfers.text'), untrusted(l.text, 400)]]);

/* ---- an expected transfer ---- */

export async function confirmTransfer(x) {
  const date = dayField(t('transfers.day'));
  const note = noteField();
  const done = await confirmDialog({
    title: t('transfers.confirm.title', { amount: moneyCode(x.amount, x.currency) }),
    body: [facts([[t('transfers.reference'), copyable(x.reference)], [t('field.payment'), copyable(x.paymentId)]]), h('p', {}, t(x.state === 'open' ? 'transfers.confirm.body' : 'transfers.confirm.ended')), date, note],
    confirm: t('transfers.confirm.button', { amount: money(x.amount, x.currency) }),
    action: () => withFieldErrors([date, note], () => post(`transfers/${x.paymentId}/confirm`, { amount: x.amount, date: requiredValue(date), note: note.input.value.trim() || null })),
  });
  if (done) toast(t(done.result.state === 'received' ? 'transfers.confirm.done' : 'transfers.must_return'), 'good');
  return done;
}

/* ---- an open deposit ---- */

function candidateChoice(c, i) {
  return h('label', { class: 'choice' }, h('input', { type: 'radio', name: 'candidate', value: c.paymentId, checked: i === 0 }),
    h('span', {}, h('strong', {}, c.reference), ' · ', money(c.amount, c.currency), ' · ', textFor('transfers.state', c.state), h('span', { class: 'faint small' }, ` · ${t(`transfers.because.${c.because}`)}`)));
}

/* The server's candidates and a field for another payment: [elements, read() -> the request's body, the field]. */
function candidateFields(line) {
  const list = line.candidates || [];
  const other = field({ label: t('transfers.assign.to'), help: t('transfers.assign.help'), name: 'reference', autocomplete: 'off', spellcheck: 'false', maxlength: 60 });
  const another = list.length ? h('label', { class: 'choice' }, h('input', { type: 'radio', name: 'candidate', value: '' }), t('transfers.assign.other')) : null;
  const box = list.length ? h('fieldset', { class: 'choices' }, h('legend', {}, t('transfers.assign.candidates')), list.map(candidateChoice), another) : null;
  other.input.addEventListener('input', () => another && (another.querySelector('input').checked = true));
  box?.addEventListener('change', () => other.error(null));
  return [[box, other], () => {
    const chosen = box?.querySelector('input:checked')?.value;
    if (chosen) return { paymentId: chosen };
    const typed = requiredValue(other);
    return UUID.test(typed) ? { paymentId: typed } : { reference: typed };
  }, other];
}

export async function assignDeposit(line) {
  const [elements, readChoice, other] = candidateFields(line);
  const note = noteField();
  const done = await confirmDialog({
    title: t('transfers.assign.title', { amount: moneyCode(line.amount, line.currency) }),
    body: [depositFacts(line), h('p', {}, t('transfers.assign.body')), elements, note], confirm: t('transfers.assign.button', { amount: money(line.amount, line.currency) }),
    action: () => withFieldErrors([other, note], () => post(`transfers/lines/${line.id}/assign`, { ...readChoice(), note: note.input.value.trim() || null })),
  });
  if (done) toast(t(['paid_twice', 'too_late'].includes(done.result.reason) ? 'transfers.must_return' : 'transfers.assign.done'), 'good');
  return done;
}

export async function setDepositAside(line) {
  const reason = field({ label: t('field.reason'), name: 'reason', maxlength: NOTE_MAX, autocomplete: 'off' });
  const back = field({ label: t('transfers.set_aside.return'), name: 'toBeReturned', type: 'checkbox' });
  const done = await confirmDialog({
    title: t('transfers.set_aside.title', { amount: moneyCode(line.amount, line.currency) }), body: [depositFacts(line), h('p', {}, t('transfers.set_aside.body')), reason, back], confirm: t('transfers.set_aside'), danger: true,
    action: () => withFieldErrors([reason, back], () => post(`transfers/lines/${line.id}/set-aside`, { reason: requiredValue(reason), toBeReturned: back.input.checked })),
  });
  if (done) toast(t(done.result.state === 'to_return' ? 'transfers.set_aside.must_return' : 'transfers.set_aside.done'), 'good');
  return done;
}

/* ---- money to send back ---- */

export async function recordReturnPaid(r) {
  const date = dayField(t('transfers.paid.day'));
  const note = noteField();
  const done = await confirmDialog({
    title: t('transfers.paid.title', { amount: moneyCode(r.amount, r.currency) }), body: [h('p', {}, t('transfers.paid.body')), r.text ? facts([[t('transfers.text'), untrusted(r.text, 400)]]) : null, date, note],
    confirm: t('transfers.paid.button', { amount: money(r.amount, r.currency) }),
    action: () => withFieldErrors([date, note], () => post(`transfers/returns/${r.id}/paid`, { date: requiredValue(date), note: note.input.value.trim() || null })),
  });
  if (done) toast(t('transfers.paid.done'), 'good');
  return done;
}

/* ---- a bank file ---- */

const COLUMNS = ['date', 'amount', 'text', 'balance', 'id'];

const sendFile = (blob, params) => request('POST', 'transfers/imports', { params, body: blob, timeoutMs: IMPORT_TIMEOUT_MS }, readJson);

function addUp(sum, part) {
  if (!sum) return part;
  for (const name of ['worked', 'new', 'known', 'matched', 'open', 'alike']) sum[name] += part[name];
  for (const name of ['left', 'alikeLines']) sum[name].push(...part[name]);
  return sum;
}

/* Imports the file in batches. Each batch is durable: after an interruption, importing the same file continues. */
async function importAll(blob, params, bar) {
  let sum = null;
  let from = 0;
  do {
    const part = await sendFile(blob, { ...params, from, limit: BATCH });
    from = part.next;
    sum = addUp(sum, part);
    if (from !== null) bar.replaceChildren(progress(sum.worked, sum.deposits));
  } while (from !== null);
  return sum;
}

function depositTable(rows, currency, caption) {
  return table({
    caption, rows,
    columns: [
      { label: t('transfers.row'), align: 'right', cell: (l) => formatNumber(l.line) },
      { label: t('transfers.day'), cell: (l) => l.date },
      { label: t('field.amount'), align: 'right', cell: (l) => money(l.amount, currency) },
      { label: t('transfers.text'), class: 'grow', cell: (l) => wrapped(l.text, 200) },
      ...(rows[0].reason ? [{ label: t('field.reason'), cell: (l) => textFor('transfers.reason', l.reason) }] : []),
    ],
  });
}

/* What an import will do (dry run), or what it did; after an import the open deposits are in the list. */
export function importResultView(r, currency) {
  const span = r.firstDate ? t('transfers.import.span', { n: r.deposits, from: r.firstDate, to: r.lastDate }) : t('transfers.import.nothing');
  return h('div', { class: 'stack' }, h('p', {}, untrusted(r.name, 120), ': ', span),
    figures([[t('transfers.import.new'), formatNumber(r.new)], [t('transfers.import.known'), formatNumber(r.known)], [t('transfers.import.matched'), formatNumber(r.matched), null, 'good'], [t('transfers.import.open'), formatNumber(r.open), null, r.open ? 'bad' : null]]),
    r.dryRun && r.left.length > 0 && [h('p', { class: 'strong' }, t('transfers.import.left')), depositTable(r.left, currency, t('transfers.import.left'))],
    r.alike > 0 && [h('p', { class: 'note warn' }, t('transfers.import.alike', { n: r.alike })), depositTable(r.alikeLines, currency, t('transfers.import.alike', { n: r.alike }))]);
}

function importFields() {
  const text = (name, label, more = {}) => field({ label, name, maxlength: 64, autocomplete: 'off', spellcheck: 'false', ...more });
  return [
    text('account', t('transfers.import.account'), { help: t('transfers.import.account.help') }),
    text('currency', t('field.currency'), { placeholder: 'JPY', maxlength: 3 }),
    field({ label: t('transfers.import.charset'), name: 'charset', type: 'select', options: [['', t('transfers.import.charset.auto')], ['utf-8', 'UTF-8'], ['shift_jis', 'Shift_JIS']] }),
    ...COLUMNS.map((name) => text(name, t(`transfers.import.column.${name}`))),
  ];
}

async function readFile(f) {
  const file = f.input.files[0];
  if (!file) throw new FieldError(f, t('transfers.import.required'));
  if (file.size > FILE_MAX) throw new FieldError(f, t('transfers.import.large'));
  return { name: file.name.slice(0, 255), blob: new Blob([await file.arrayBuffer()], { type: 'text/csv' }) }; /* a copy: the file that was checked is the file that is imported */
}

/* Checks the file by a dry run, shows the result, then imports it. Returns { result, currency }, or null. */
export async function importBankFile() {
  const file = field({ label: t('transfers.import.file'), help: t('transfers.import.help'), name: 'file', type: 'file', accept: '.csv,.txt,.tsv,text/csv,text/plain' });
  const more = importFields();
  const columns = h('details', { class: 'long-text' }, h('summary', {}, t('transfers.import.more')), h('p', { class: 'help' }, t('transfers.import.columns')), h('div', { class: 'two-columns' }, more));
  async function check() {
    file.error(null);
    const { name, blob } = await readFile(file);
    const params = { name, ...Object.fromEntries(more.map((f) => [f.input.name, f.input.value.trim()])) };
    const openOptions = (err) => {
      if (err.errors?.some((e) => more.some((f) => f.input.name === e.field))) columns.open = true; /* the error is shown at a field inside */
      throw err;
    };
    return { blob, params, preview: await withFieldErrors(more, () => sendFile(blob, { ...params, dryRun: true }).catch(openOptions)) };
  }
  const checked = await confirmDialog({ title: t('transfers.import.title'), body: [file, columns], confirm: t('transfers.import.check'), action: check, readOnly: true });
  if (!checked) return null;
  const { blob, params, preview } = checked.result;
  const currency = params.currency.toUpperCase() || 'JPY';
  const bar = h('div', { role: 'status' });
  const done = await confirmDialog({
    title: t('transfers.import.confirm', { n: preview.new }), wide: true, body: [h('p', {}, t('transfers.import.preview')), importResultView(preview, currency), bar], confirm: t('transfers.import.submit'),
    action: () => importAll(blob, params, bar),
  });
  return done && { result: done.result, currency };
}
