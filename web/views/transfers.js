/* Bank transfers: what came in and is nobody's yet, what is waited for, what goes back, and the bank's files. */

import { clear, h, user } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { ago, money, n, t, time } from '../lib/i18n.js';
import { badge, button, field, pageHead, pager, table, tabs, toast } from '../lib/ui.js';
import { filterBar, operates, paymentLink, whole, words } from '../lib/parts.js';
import { askAssign, askConfirm, askImport, askPaid, askSetAside, importedView } from '../lib/bank.js';

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
const acts = (...buttons) => h('div', { class: 'actions' }, buttons);
const small = (label, onclick) => button({ label, small: true, onclick });

/* A list with its filters; fields begin with what is open. columns(changed) -> the columns. */
function listOf({ path, fields, columns, caption, empty }, signal) {
  let filter = Object.fromEntries(fields.map((f) => [f.input.name, f.input.value]));
  const list = pager((cursor) => get(path, { ...filter, limit: PAGE, cursor }, { signal }), (rows) => table({ columns: columns(() => list.reload(true)), rows, caption, empty }), { signal });
  const bar = fields.length ? filterBar(fields, { label: t('filter.apply'), apply(values) { filter = values; list.first(); } }) : null;
  return h('div', { class: 'stack' }, bar, list.el);
}

/* ---- what came in ---- */

function maybe(l) {
  const first = l.candidates?.[0];
  if (!first) return null;
  return h('span', { class: 'faint small' }, t('transfers.candidate', { reference: first.reference, amount: money(first.amount, first.currency), why: t(`transfers.because.${first.because}`) }));
}

function lineCell(l) {
  return h('div', { class: 'two-lines' }, h('span', { class: 'wrap' }, user(l.text, 160)), h('span', { class: 'small' }, words('transfers.reason', l.reason)), maybe(l), l.note ? h('span', { class: 'faint small' }, whole(l.note, 100)) : null);
}

function lineActs(l, changed) {
  if (l.state !== 'open') return h('span', {});
  return acts(small(t('transfers.assign'), async () => (await askAssign(l)) && changed()), small(`${t('transfers.set_aside')}…`, async () => (await askSetAside(l)) && changed()));
}

function lines(session, signal) {
  return listOf({
    path: 'transfers/lines', fields: [stateFilter('line', 'open')], caption: t('transfers.tab.lines'), empty: { title: t('transfers.lines.none'), hint: t('transfers.lines.none.hint') },
    columns: (changed) => [
      { label: t('transfers.day'), class: 'nowrap', cell: (l) => l.date },
      { label: t('field.amount'), align: 'right', cell: (l) => h('strong', {}, money(l.amount, l.currency)) },
      { label: t('transfers.text'), class: 'grow', cell: lineCell },
      { label: t('field.state'), cell: (l) => stateOf('line', l.state) },
      { label: t('field.payment'), cell: (l) => paymentLink(l.paymentId) },
      ...(operates(session) ? [{ label: '', class: 'act-cell', cell: (l) => lineActs(l, changed) }] : []),
    ],
  }, signal);
}

/* ---- what is waited for ---- */

const takes = (x) => x.state === 'open' || x.state === 'canceled'; /* late money is confirmed too: it goes back */

function expected(session, signal) {
  const reference = field({ label: t('transfers.reference'), name: 'reference', inputmode: 'numeric', autocomplete: 'off', maxlength: 20 });
  return listOf({
    path: 'transfers', fields: [stateFilter('transfer', 'open'), reference], caption: t('transfers.tab.expected'), empty: { title: t('transfers.expected.none'), hint: t('transfers.expected.none.hint') },
    columns: (changed) => [
      { label: t('transfers.reference'), cell: (x) => h('code', { class: 'strong' }, x.reference) },
      { label: t('field.amount'), align: 'right', cell: (x) => h('strong', {}, money(x.amount, x.currency)) },
      { label: t('field.state'), class: 'grow', cell: (x) => [stateOf('transfer', x.state), x.receivedOn ? h('div', { class: 'small faint' }, t('transfers.received', { day: x.receivedOn })) : null] },
      { label: t('field.due'), cell: (x) => time(x.expiresAt, { seconds: false }) },
      { label: t('field.created'), cell: (x) => time(x.createdAt, { seconds: false }) },
      { label: t('field.payment'), cell: (x) => paymentLink(x.paymentId) },
      ...(operates(session) ? [{ label: '', class: 'act-cell', cell: (x) => (takes(x) ? small(t('transfers.confirm'), async () => (await askConfirm(x)) && changed()) : h('span', {})) }] : []),
    ],
  }, signal);
}

/* ---- what goes back ---- */

function returns(session, signal) {
  return listOf({
    path: 'transfers/returns', fields: [stateFilter('return', 'due')], caption: t('transfers.tab.returns'), empty: { title: t('transfers.returns.none'), hint: t('transfers.returns.none.hint') },
    columns: (changed) => [
      { label: t('field.created'), cell: (r) => time(r.createdAt, { seconds: false }) },
      { label: t('field.amount'), align: 'right', cell: (r) => h('strong', {}, money(r.amount, r.currency)) },
      { label: t('field.reason'), class: 'grow', cell: (r) => h('div', { class: 'two-lines' }, t(`transfers.kind.${r.kind}`), r.text ? h('span', { class: 'faint small wrap' }, user(r.text, 160)) : null, r.note ? h('span', { class: 'faint small' }, whole(r.note, 100)) : null) },
      { label: t('field.state'), cell: (r) => [stateOf('return', r.state), r.paidOn ? h('div', { class: 'small faint' }, r.paidOn) : null] },
      { label: t('field.payment'), cell: (r) => paymentLink(r.paymentId) },
      ...(operates(session) ? [{ label: '', class: 'act-cell', cell: (r) => (r.state === 'due' ? small(t('transfers.paid'), async () => (await askPaid(r)) && changed()) : h('span', {})) }] : []),
    ],
  }, signal);
}

/* ---- the bank's files ---- */

function files(session, signal) {
  return listOf({
    path: 'transfers/imports', fields: [], caption: t('transfers.tab.files'), empty: { title: t('transfers.files.none'), hint: t('transfers.import.help') },
    columns: () => [
      { label: t('transfers.import.file'), class: 'grow', cell: (f) => h('div', { class: 'two-lines' }, h('span', { class: 'wrap' }, user(f.name, 120)), f.account ? h('span', { class: 'faint small' }, user(f.account, 64)) : null) },
      { label: t('field.state'), cell: (f) => stateOf('import', f.state) },
      { label: t('transfers.days'), class: 'nowrap', cell: (f) => (f.firstDate ? `${f.firstDate} – ${f.lastDate}` : null) },
      { label: t('transfers.import.new'), align: 'right', cell: (f) => n(f.lines) },
      { label: t('transfers.import.matched'), align: 'right', cell: (f) => n(f.matched) },
      { label: t('transfers.import.open'), align: 'right', cell: (f) => n(f.open) },
      { label: t('field.time'), cell: (f) => ago(f.createdAt) },
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
    const parts = { lines, expected, returns, files };
    const news = h('div', { role: 'status' });
    const box = h('div', {});
    let shown = new AbortController();
    signal.addEventListener('abort', () => shown.abort());

    function show(selected) {
      let first = true;
      const list = Object.keys(parts).map((id) => ({ id, label: t(`transfers.tab.${id}`), render() {
        shown.abort();
        shown = new AbortController();
        return parts[id](session, shown.signal);
      } }));
      clear(box, tabs(list, { selected, label: t('transfers.title'), onselect(id) {
        if (!first) go('/transfers', { tab: id === 'lines' ? '' : id }, { replace: true, stay: true });
        first = false;
      } }));
    }
    async function takeFile() {
      const done = await askImport();
      if (!done) return;
      if (signal.aborted) return void toast(t('transfers.import.done'), 'good'); /* one looks at something else by now */
      clear(news, h('div', { class: 'note good' }, h('p', { class: 'strong' }, t('transfers.import.done')), importedView(done.result, done.currency)));
      show('lines');
    }
    root.append(pageHead(t('transfers.title'), { lead: t('transfers.lead'), actions: operates(session) && button({ label: t('transfers.import'), kind: 'primary', onclick: takeFile }) }), news, box);
    show(query.get('tab') || 'lines');
  },
};
