/* Bank transfers: deposits that need a decision, expected transfers, money to send back, and imported bank files. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { agoTag, formatNumber, money, t, textFor, timeTag } from '../lib/i18n.js';
import { addressTabs, badge, button, longText, pageHead, wrapped } from '../lib/ui.js';
import { toast } from '../lib/feedback.js';
import { actionColumn, pagedTable } from '../lib/table.js';
import { field, filterBar } from '../lib/form.js';
import { canOperate } from '../lib/session.js';
import { paymentLink } from '../lib/payment_ui.js';
import { assignDeposit, confirmTransfer, importBankFile, importResultView, recordReturnPaid, setDepositAside } from '../lib/transfer_actions.js';

const PAGE = 20;
const TONES = {
  transfer: { open: 'busy', received: 'good', returning: 'warn', canceled: 'calm' },
  line: { open: 'warn', matched: 'good', assigned: 'good', set_aside: 'calm', to_return: 'warn', returned: 'calm' },
  return: { due: 'warn', paid: 'good' },
  import: { finished: 'good', interrupted: 'warn' },
};
const NAMES = { transfer: (s) => t(`transfers.state.${s}`), line: (s) => t(`transfers.line.${s}`), return: (s) => t(`transfers.return.${s}`), import: (s) => t(`transfers.file.${s}`) };

const stateOf = (kind, state) => badge(state, { tone: TONES[kind][state], label: NAMES[kind](state) });
const stateFilter = (kind, value) => field({ label: t('field.state'), name: 'state', type: 'select', value, options: [['', t('ui.all')], ...Object.keys(TONES[kind]).map((s) => [s, NAMES[kind](s)])] });
const smallButton = (label, onclick) => button({ label, small: true, onclick });

/* A list with its filters. columns(reload) -> the columns; reload() is called after an action has changed a row. */
function filteredList({ path, fields, columns, caption, empty }, signal) {
  let filter = Object.fromEntries(fields.map((f) => [f.input.name, f.input.value]));
  const list = pagedTable({ path, params: () => filter, limit: PAGE, signal, columns: columns(() => list.reload(true)), caption, empty });
  const bar = fields.length ? filterBar(fields, { reset: false, apply(values) { filter = values; list.first(); } }) : null;
  return h('div', { class: 'stack' }, bar, list.el);
}

/* ---- deposits ---- */

function likeliestCandidate(l) {
  const first = l.candidates?.[0];
  if (!first) return null;
  return h('span', { class: 'faint small' }, t('transfers.candidate', { reference: first.reference, amount: money(first.amount, first.currency), why: t(`transfers.because.${first.because}`) }));
}

function depositCell(l) {
  return h('div', { class: 'two-lines' }, wrapped(l.text, 160), h('span', { class: 'small' }, textFor('transfers.reason', l.reason)), likeliestCandidate(l), l.note ? h('span', { class: 'faint small' }, longText(l.note, 100)) : null);
}

function depositActions(l, reload) {
  if (l.state !== 'open') return null;
  return h('div', { class: 'actions' }, smallButton(t('transfers.assign'), async () => (await assignDeposit(l)) && reload()), smallButton(`${t('transfers.set_aside')}…`, async () => (await setDepositAside(l)) && reload()));
}

function depositList(session, signal) {
  return filteredList({
    path: 'transfers/lines', fields: [stateFilter('line', 'open')], caption: t('transfers.tab.lines'), empty: { title: t('transfers.lines.none'), hint: t('transfers.lines.none.hint') },
    columns: (reload) => [
      { label: t('transfers.day'), class: 'nowrap', cell: (l) => l.date },
      { label: t('field.amount'), align: 'right', cell: (l) => h('strong', {}, money(l.amount, l.currency)) },
      { label: t('transfers.text'), class: 'grow', cell: depositCell },
      { label: t('field.state'), cell: (l) => stateOf('line', l.state) },
      { label: t('field.payment'), cell: (l) => paymentLink(l.paymentId) },
      ...actionColumn(session, (l) => depositActions(l, reload)),
    ],
  }, signal);
}

/* ---- expected transfers ---- */

/* A canceled transfer can be confirmed too: its money is then listed as money to send back. */
const canConfirm = (x) => x.state === 'open' || x.state === 'canceled';

function expectedList(session, signal) {
  const reference = field({ label: t('transfers.reference'), name: 'reference', inputmode: 'numeric', autocomplete: 'off', maxlength: 20 });
  return filteredList({
    path: 'transfers', fields: [stateFilter('transfer', 'open'), reference], caption: t('transfers.tab.expected'), empty: { title: t('transfers.expected.none'), hint: t('transfers.expected.none.hint') },
    columns: (reload) => [
      { label: t('transfers.reference'), cell: (x) => h('code', { class: 'strong' }, x.reference) },
      { label: t('field.amount'), align: 'right', cell: (x) => h('strong', {}, money(x.amount, x.currency)) },
      { label: t('field.state'), class: 'grow', cell: (x) => [stateOf('transfer', x.state), x.receivedOn ? h('div', { class: 'small faint' }, t('transfers.received', { day: x.receivedOn })) : null] },
      { label: t('field.due'), cell: (x) => timeTag(x.expiresAt, { seconds: false }) },
      { label: t('field.created'), cell: (x) => timeTag(x.createdAt, { seconds: false }) },
      { label: t('field.payment'), cell: (x) => paymentLink(x.paymentId) },
      ...actionColumn(session, (x) => canConfirm(x) && smallButton(t('transfers.confirm'), async () => (await confirmTransfer(x)) && reload())),
    ],
  }, signal);
}

/* ---- money to send back ---- */

function returnList(session, signal) {
  return filteredList({
    path: 'transfers/returns', fields: [stateFilter('return', 'due')], caption: t('transfers.tab.returns'), empty: { title: t('transfers.returns.none'), hint: t('transfers.returns.none.hint') },
    columns: (reload) => [
      { label: t('field.created'), cell: (r) => timeTag(r.createdAt, { seconds: false }) },
      { label: t('field.amount'), align: 'right', cell: (r) => h('strong', {}, money(r.amount, r.currency)) },
      { label: t('field.reason'), class: 'grow', cell: (r) => h('div', { class: 'two-lines' }, t(`transfers.kind.${r.kind}`), r.text ? h('span', { class: 'faint small wrap' }, untrusted(r.text, 160)) : null, r.note ? h('span', { class: 'faint small' }, longText(r.note, 100)) : null) },
      { label: t('field.state'), cell: (r) => [stateOf('return', r.state), r.paidOn ? h('div', { class: 'small faint' }, r.paidOn) : null] },
      { label: t('field.payment'), cell: (r) => paymentLink(r.paymentId) },
      ...actionColumn(session, (r) => r.state === 'due' && smallButton(t('transfers.paid'), async () => (await recordReturnPaid(r)) && reload())),
    ],
  }, signal);
}

/* ---- imported files ---- */

function fileList(session, signal) {
  return filteredList({
    path: 'transfers/imports', fields: [], caption: t('transfers.tab.files'), empty: { title: t('transfers.files.none'), hint: t('transfers.import.help') },
    columns: () => [
      { label: t('transfers.import.file'), class: 'grow', cell: (f) => h('div', { class: 'two-lines' }, wrapped(f.name, 120), f.account ? h('span', { class: 'faint small' }, untrusted(f.account, 64)) : null) },
      { label: t('field.state'), cell: (f) => stateOf('import', f.state) },
      { label: t('transfers.days'), class: 'nowrap', cell: (f) => (f.firstDate ? `${f.firstDate} – ${f.lastDate}` : null) },
      { label: t('transfers.import.new'), align: 'right', cell: (f) => formatNumber(f.lines) },
      { label: t('transfers.import.matched'), align: 'right', cell: (f) => formatNumber(f.matched) },
      { label: t('transfers.import.open'), align: 'right', cell: (f) => formatNumber(f.open) },
      { label: t('field.time'), cell: (f) => agoTag(f.createdAt) },
    ],
  }, signal);
}

export default {
  path: '/transfers',
  title: 'transfers.title',
  nav: true,
  role: 'viewer',
  key: 'b',
  async mount(root, { query, session, go, signal }) {
    const renderers = Object.fromEntries(Object.entries({ lines: depositList, expected: expectedList, returns: returnList, files: fileList })
      .map(([id, list]) => [id, (tabSignal) => list(session, tabSignal)]));
    const result = h('div', { role: 'status' });
    const box = h('div', {});
    let shown = new AbortController();
    signal.addEventListener('abort', () => shown.abort());

    function show(selected) {
      shown.abort();
      shown = new AbortController();
      replaceContent(box, addressTabs(renderers, { path: '/transfers', query, go, signal: shown.signal, selected, label: t('transfers.title'), labelOf: (id) => t(`transfers.tab.${id}`) }));
    }
    async function importFile() {
      const done = await importBankFile();
      if (!done) return;
      if (signal.aborted) return void toast(t('transfers.import.done'), 'good'); /* the reader has left this view */
      replaceContent(result, h('div', { class: 'note good' }, h('p', { class: 'strong' }, t('transfers.import.done')), importResultView(done.result, done.currency)));
      show('lines');
    }
    root.append(pageHead(t('transfers.title'), { lead: t('transfers.lead'), actions: canOperate(session) && button({ label: t('transfers.import'), kind: 'primary', onclick: importFile }) }), result, box);
    show(query.get('tab') || 'lines');
  },
};
