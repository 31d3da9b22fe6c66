/* The audit log: who did what, whether the chain of its seals is whole, and all of it to take away. */

import { clear, h, user } from '../lib/dom.js';
import { get, raw } from '../lib/api.js';
import { n, t, time } from '../lib/i18n.js';
import { badge, button, card, copyable, errorBox, field, pageHead, pager, progress, table, toast } from '../lib/ui.js';
import { code, filterBar, localOf, paymentLink, personName, whole, words } from '../lib/parts.js';

const PAGE = 50;
const SHOWN_PROBLEMS = 200;
const EXPORT_MAX = 64 * 1024 * 1024; /* what a tab may hold; the command line takes all */
const NAMES = ['operation', 'result', 'subject', 'paymentId', 'userId', 'from', 'to'];

/* ---- rows ---- */

const bad = /^(refus|fail|err|den|reject)/i;

function whatCell(a) {
  return h('div', { class: 'two-lines' }, h('span', {}, h('code', { class: 'strong' }, user(a.operation, 80)), a.times > 1 ? h('span', { class: 'faint small' }, ` · ${t('ui.times', { n: a.times })}`) : null),
    a.subject ? h('span', { class: 'faint small wrap' }, user(a.subject, 90)) : null, more(a));
}

function more(a) {
  const rows = [[t('audit.detail'), a.detail && whole(a.detail, 240)], [t('field.amount'), a.amount === null || a.amount === undefined ? null : t('audit.amount.minor', { n: a.amount })],
    ['Idempotency-Key', a.idempotencyKey && copyable(a.idempotencyKey)], [t('audit.user'), a.userId && copyable(a.userId)]].filter((r) => r[1]);
  if (!rows.length) return null;
  return h('details', { class: 'whole' }, h('summary', {}, t('ui.details')), h('dl', { class: 'facts' }, rows.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)))));
}

function columns() {
  return [
    { label: t('field.time'), cell: (a) => time(a.at) },
    { label: t('field.operation'), class: 'grow', cell: whatCell },
    { label: t('field.result'), cell: (a) => badge(a.result, { tone: bad.test(a.result || '') ? 'bad' : 'calm', label: words('audit.result', a.result) }) },
    { label: t('field.actor'), cell: (a) => (a.userName ? user(personName(a.userName), 40) : a.userId ? code(a.userId, 13) : h('span', { class: 'faint' }, t('audit.system'))) },
    { label: t('field.payment'), cell: (a) => paymentLink(a.paymentId) },
    { label: t('audit.chain_no'), align: 'right', cell: (a) => (a.sealed === null || a.sealed === undefined ? h('span', { class: 'faint small' }, t('audit.chain_no.pending')) : n(a.sealed)) },
  ];
}

function filterFields(query) {
  const text = (name, label, more = {}) => field({ label, name, value: query.get(name), spellcheck: 'false', autocapitalize: 'none', ...more });
  const at = (name, label) => field({ label, name, type: 'datetime-local', value: localOf(query.get(name)) });
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
      { label: t('audit.problem.kind'), cell: (p) => badge(p.kind, { tone: 'bad', label: words('audit.problem', p.kind) }) },
      { label: t('audit.detail'), class: 'grow', cell: (p) => whole(p.detail, 160) },
    ],
  });
}

/* expect: the head that this was compared with; without one a chain that was cut or made anew looks whole. */
function verdict(sum, stopped, expect) {
  const seal = sum.head && [h('p', { class: 'small' }, `${t('audit.verify.head')}: `, copyable(`${sum.head.n}:${sum.head.hash}`, { short: 28 })), h('p', { class: 'small' }, t('audit.verify.keep'))];
  const left = sum.unsealed > 0 ? h('p', {}, t('audit.verify.unsealed', { n: sum.unsealed })) : null;
  if (sum.found) {
    return h('div', { class: 'verdict bad' }, h('strong', {}, t('audit.verify.problems', { n: sum.found })), h('p', {}, t('audit.verify.problems.lead')), problemTable(sum.problems),
      sum.found > sum.problems.length ? h('p', {}, t('audit.verify.more')) : null, left, seal);
  }
  if (stopped) return h('p', { class: 'verdict warn' }, t('audit.verify.stopped', { n: sum.verified }));
  if (!sum.head) return h('div', { class: 'verdict warn' }, h('strong', {}, t('audit.verify.empty')), left);
  return h('div', { class: 'verdict good' }, h('strong', {}, t('audit.verify.intact', { n: sum.head.n })), h('p', {}, t('audit.verify.intact.rows', { n: sum.verified })),
    h('p', {}, t(expect ? 'audit.verify.expected' : 'audit.verify.unexpected')), left, seal);
}

/* In steps by cursor; each answer counts the rows of its own step. */
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

function verifier(signal) {
  const out = h('div', { class: 'verify-out', role: 'status' });
  const run = button({ label: t('audit.verify'), kind: 'primary', onclick: begin });
  const end = button({ label: t('audit.verify.stop'), hidden: true, onclick: () => stop.abort() });
  const head = field({ label: t('audit.expect'), help: t('audit.expect.help'), name: 'expect', placeholder: '1234:9f86d081884c7d65…', autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none', maxlength: 100 });
  let stop = null;

  async function begin() {
    const expect = head.input.value.trim();
    const wrong = expect && !/^\d+:[\da-f]{64}$/i.test(expect);
    head.error(wrong ? t('audit.expect.invalid') : null);
    if (wrong) return head.input.focus();
    stop = new AbortController();
    run.hidden = !(end.hidden = false);
    try {
      const onstep = (s) => clear(out, progress(s.verified, Math.max(s.head ? s.head.n : 0, s.verified), t('audit.verify.busy', { n: s.verified })));
      const { sum, stopped } = await verifyAll({ expect, signal, stop: stop.signal, onstep });
      clear(out, verdict(sum, stopped, expect));
    } catch (err) {
      if (!signal.aborted) clear(out, errorBox(err, begin));
    }
    run.hidden = !(end.hidden = true);
  }
  head.input.addEventListener('keydown', (e) => e.key === 'Enter' && end.hidden && begin());
  return card(t('audit.chain'), { aside: [run, end] }, h('p', { class: 'faint' }, t('audit.verify.lead')), head, out);
}

/* ---- export ---- */

function save(parts, type, name) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

/* The server gives pages with X-Next-Cursor; here they become one file. */
async function collect(format, signal, onpage) {
  const parts = [];
  let size = 0;
  let cursor = null;
  do {
    const page = await raw('GET', 'audit/export', { params: { format, cursor }, signal }, async (res) => ({ text: await res.text(), next: res.headers.get('X-Next-Cursor') }));
    parts.push(page.text);
    size += page.text.length;
    cursor = page.next;
    onpage(parts.length);
  } while (cursor && size < EXPORT_MAX);
  return { parts, cut: !!cursor };
}

function exportButton(format, signal) {
  const label = `${t('audit.export')} ${format === 'csv' ? 'CSV' : 'JSON Lines'}`;
  const b = button({ label, async onclick() {
    b.disabled = true;
    try {
      const { parts, cut } = await collect(format, signal, (pages) => (b.textContent = t('audit.export.busy', { n: pages })));
      save(parts, format === 'csv' ? 'text/csv;charset=utf-8' : 'application/x-ndjson', `ichido-audit.${format}`);
      toast(cut ? t('audit.export.cut', { mb: EXPORT_MAX / 1024 / 1024 }) : t('audit.export.done'), cut ? 'bad' : 'good');
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
    const list = pager((cursor) => get('audit', { ...filter, limit: PAGE, cursor }, { signal }),
      (rows) => table({ columns: columns(), rows, caption: t('audit.title'), empty: { title: t('audit.none'), hint: t('audit.none.hint') } }), { signal });
    const bar = filterBar(filterFields(query), { label: t('filter.apply'), reset: t('filter.reset'), apply(values) { filter = { ...values, operation: values.operation.toUpperCase() }; go('/audit', filter, { stay: true }); list.first(); } });
    root.append(pageHead(t('audit.title'), { lead: t('audit.lead'), actions: [exportButton('jsonl', signal), exportButton('csv', signal)] }), verifier(signal), bar, list.el);
  },
};
