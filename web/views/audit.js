/* The audit log: its entries, the verification of the hash chain, and the export. */

import { h, replaceContent, untrusted } from '../lib/dom.js';
import { get, request } from '../lib/api.js';
import { formatNumber, t, textFor, timeTag } from '../lib/i18n.js';
import { badge, button, card, codeText, facts, longText, pageHead, progress } from '../lib/ui.js';
import { errorBox, toast } from '../lib/feedback.js';
import { copyable } from '../lib/copyable.js';
import { pagedTable, table } from '../lib/table.js';
import { EXACT, field, filterBar, isoToLocal } from '../lib/form.js';
import { personName } from '../lib/session.js';
import { paymentLink } from '../lib/payment_ui.js';

const PAGE = 50;
const SHOWN_PROBLEMS = 200;
const EXPORT_MAX = 64 * 1024 * 1024; /* kept in the memory of the tab; the command line has no limit */
const NAMES = ['operation', 'result', 'subject', 'paymentId', 'userId', 'from', 'to'];

/* ---- rows ---- */

const FAILED = /^(refus|fail|err|den|reject)/i;

function operationCell(a) {
  return h('div', { class: 'two-lines' }, h('span', {}, h('code', { class: 'strong' }, untrusted(a.operation, 80)), a.times > 1 ? h('span', { class: 'faint small' }, ` · ${t('ui.times', { n: a.times })}`) : null),
    a.subject ? h('span', { class: 'faint small wrap' }, untrusted(a.subject, 90)) : null, entryDetails(a));
}

function entryDetails(a) {
  const rows = [[t('audit.detail'), a.detail && longText(a.detail, 240)], [t('field.amount'), a.amount === null || a.amount === undefined ? null : t('audit.amount.minor', { n: a.amount })],
    ['Idempotency-Key', a.idempotencyKey && copyable(a.idempotencyKey)], [t('audit.user'), a.userId && copyable(a.userId)]].filter((r) => r[1]);
  if (!rows.length) return null;
  return h('details', { class: 'long-text' }, h('summary', {}, t('ui.details')), facts(rows));
}

function columns() {
  return [
    { label: t('field.time'), cell: (a) => timeTag(a.at) },
    { label: t('field.operation'), class: 'grow', cell: operationCell },
    { label: t('field.result'), cell: (a) => badge(a.result, { tone: FAILED.test(a.result || '') ? 'bad' : 'calm', label: textFor('audit.result', a.result) }) },
    { label: t('field.actor'), cell: (a) => (a.userName ? untrusted(personName(a.userName), 40) : a.userId ? codeText(a.userId, 13) : h('span', { class: 'faint' }, t('audit.system'))) },
    { label: t('field.payment'), cell: (a) => paymentLink(a.paymentId) },
    { label: t('audit.chain_no'), align: 'right', cell: (a) => (a.sealed === null || a.sealed === undefined ? h('span', { class: 'faint small' }, t('audit.chain_no.pending')) : formatNumber(a.sealed)) },
  ];
}

function filterFields(query) {
  const text = (name, label, more = {}) => field({ label, name, value: query.get(name), ...EXACT, ...more });
  const at = (name, label) => field({ label, name, type: 'datetime-local', value: isoToLocal(query.get(name)) });
  return [text('operation', t('field.operation'), { placeholder: 'DLQ_RETRY' }), text('result', t('field.result')), text('subject', t('field.subject')), text('paymentId', t('field.payment_id'), { placeholder: 'UUID' }),
    text('userId', t('audit.user_id'), { placeholder: 'UUID' }), at('from', t('filter.from')), at('to', t('filter.to'))];
}

/* ---- verify ---- */

function problemTable(problems) {
  return table({
    caption: t('audit.problem.kind'), rows: problems,
    columns: [
      { label: t('audit.problem.no'), align: 'right', cell: (p) => (p.n === null || p.n === undefined ? null : String(p.n)) },
      { label: t('audit.problem.row'), align: 'right', cell: (p) => (p.seq === null || p.seq === undefined ? null : String(p.seq)) },
      { label: t('audit.problem.kind'), cell: (p) => badge(p.kind, { tone: 'bad', label: textFor('audit.problem', p.kind) }) },
      { label: t('audit.detail'), class: 'grow', cell: (p) => longText(p.detail, 160) },
    ],
  });
}

/* The result of a verification. expect: the stored head that the chain was compared with. */
function verificationResult(sum, stopped, expect) {
  const head = sum.head && [h('p', { class: 'small' }, `${t('audit.verify.head')}: `, copyable(`${sum.head.n}:${sum.head.hash}`, { short: 28 })), h('p', { class: 'small' }, t('audit.verify.keep'))];
  const left = sum.unsealed > 0 ? h('p', {}, t('audit.verify.unsealed', { n: sum.unsealed })) : null;
  if (sum.found) {
    return h('div', { class: 'verdict bad' }, h('strong', {}, t('audit.verify.problems', { n: sum.found })), h('p', {}, t('audit.verify.problems.lead')), problemTable(sum.problems),
      sum.found > sum.problems.length ? h('p', {}, t('audit.verify.more')) : null, left, head);
  }
  if (stopped) return h('p', { class: 'verdict warn' }, t('audit.verify.stopped', { n: sum.verified }));
  if (!sum.head) return h('div', { class: 'verdict warn' }, h('strong', {}, t('audit.verify.empty')), left);
  return h('div', { class: 'verdict good' }, h('strong', {}, t('audit.verify.intact', { n: sum.head.n })), h('p', {}, t('audit.verify.intact.rows', { n: sum.verified })),
    h('p', {}, t(expect ? 'audit.verify.expected' : 'audit.verify.unexpected')), left, head);
}

/* Verifies the chain in steps by cursor, and adds up their counts. */
async function verifyAll({ expect, signal, stop, onstep }) {
  const sum = { verified: 0, found: 0, problems: [], head: null, unsealed: 0 };
  let cursor = null;
  do {
    const r = await get('audit/verify', { expect, cursor }, { signal });
    sum.verified += r.verified;
    sum.found += r.problems.length;
    sum.problems.push(...r.problems.slice(0, SHOWN_PROBLEMS - sum.problems.length));
    sum.head = r.head || sum.head;
    sum.unsealed += r.unsealed;
    cursor = r.nextCursor;
    onstep(sum);
  } while (cursor && !stop.aborted);
  return { sum, stopped: !!cursor };
}

function verificationCard(signal) {
  const out = h('div', { class: 'verify-result', role: 'status' });
  const run = button({ label: t('audit.verify'), kind: 'primary', onclick: begin });
  const end = button({ label: t('audit.verify.stop'), hidden: true, onclick: () => stop.abort() });
  const headField = field({ label: t('audit.expect'), help: t('audit.expect.help'), name: 'expect', placeholder: '1234:9f86d081884c7d65…', autocomplete: 'off', ...EXACT, maxlength: 100 });
  let stop = null;

  async function begin() {
    const expect = headField.input.value.trim();
    const invalid = expect && !/^\d+:[\da-f]{64}$/i.test(expect);
    headField.error(invalid ? t('audit.expect.invalid') : null);
    if (invalid) return headField.input.focus();
    stop = new AbortController();
    run.hidden = !(end.hidden = false);
    try {
      const onstep = (s) => replaceContent(out, progress(s.verified, Math.max(s.head ? s.head.n : 0, s.verified), t('audit.verify.busy', { n: s.verified })));
      const { sum, stopped } = await verifyAll({ expect, signal, stop: stop.signal, onstep });
      replaceContent(out, verificationResult(sum, stopped, expect));
    } catch (err) {
      if (!signal.aborted) replaceContent(out, errorBox(err, begin));
    }
    run.hidden = !(end.hidden = true);
  }
  headField.input.addEventListener('keydown', (e) => e.key === 'Enter' && end.hidden && begin());
  return card(t('audit.chain'), { aside: [run, end] }, h('p', { class: 'faint' }, t('audit.verify.lead')), headField, out);
}

/* ---- export ---- */

function downloadFile(parts, type, name) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/* Loads all pages of the export (X-Next-Cursor) into one file. */
async function loadExport(format, signal, onpage) {
  const parts = [];
  let size = 0;
  let cursor = null;
  do {
    const page = await request('GET', 'audit/export', { params: { format, cursor }, signal }, async (res) => ({ text: await res.text(), next: res.headers.get('X-Next-Cursor') }));
    parts.push(page.text);
    size += page.text.length;
    cursor = page.next;
    onpage(parts.length);
  } while (cursor && size < EXPORT_MAX);
  return { parts, truncated: !!cursor };
}

function exportButton(format, signal) {
  const label = `${t('audit.export')} ${format === 'csv' ? 'CSV' : 'JSON Lines'}`;
  const b = button({ label, async onclick() {
    b.disabled = true;
    try {
      const { parts, truncated } = await loadExport(format, signal, (pages) => (b.textContent = t('audit.export.busy', { n: pages })));
      downloadFile(parts, format === 'csv' ? 'text/csv;charset=utf-8' : 'application/x-ndjson', `ichido-audit.${format}`);
      toast(truncated ? t('audit.export.cut', { mb: EXPORT_MAX / 1024 / 1024 }) : t('audit.export.done'), truncated ? 'bad' : 'good');
    } catch (err) {
      if (!signal.aborted) toast(errorBox(err), 'bad');
    }
    b.textContent = label;
    b.disabled = false;
  } });
  return b;
}

export default {
  path: '/audit',
  title: 'audit.title',
  nav: true,
  role: 'viewer',
  key: 'u',
  async mount(root, { query, go, signal }) {
    let filter = Object.fromEntries(NAMES.map((name) => [name, query.get(name)]));
    const list = pagedTable({ path: 'audit', params: () => filter, limit: PAGE, signal, columns: columns(), caption: t('audit.title'), empty: { title: t('audit.none'), hint: t('audit.none.hint') } });
    const bar = filterBar(filterFields(query), { apply(values) { filter = { ...values, operation: values.operation.toUpperCase() }; go('/audit', filter, { stay: true }); list.first(); } });
    root.append(pageHead(t('audit.title'), { lead: t('audit.lead'), actions: [exportButton('jsonl', signal), exportButton('csv', signal)] }), verificationCard(signal), bar, list.el);
  },
};
