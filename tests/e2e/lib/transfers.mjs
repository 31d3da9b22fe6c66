// transfers.mjs - bank transfers: a server with the manual gateway, a bank's CSV, and the command line.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import os from 'node:os';
import { record } from './evidence.mjs';
import { start } from './harness.mjs';
import { PROGRAM, programEnv } from './server.mjs';
import { ADMIN_TOKEN } from './tokens.mjs';
import { SECRET } from './stripe.mjs';
import { until } from './wait.mjs';

export const TRANSFERS = '/api/v1/admin/transfers';
export const ACCOUNT = 'みずほ銀行 渋谷支店 普通 1234567 カ）イチド';
export const DAY = 24 * 3600 * 1000;
export const BANK = { ICHIDO_ROUTES: 'bank_transfer=manual', ICHIDO_BANK_ACCOUNT: ACCOUNT };

export const bank = (t, store, { env, ...options } = {}) =>
    start(t, store, { ...options, env: { ...BANK, ...env } });

// A payment that waits for its transfer.
export async function owes(server, amount = 1200, changes = {}) {
    const payment = await server.paid({ paymentMethodType: 'bank_transfer' }, { amount, ...changes });
    assert.equal(payment.status, 'PENDING');
    return { ...payment, reference: payment.requiresAction.details.reference };
}

// A statement as a Japanese bank writes it. Lines: {date, text, amount, out, balance}.
export function statement(lines, { date = '2026/11/16', newline = '\r\n' } = {}) {
    const yen = (n) => (n === undefined ? '' : `"${n.toLocaleString('en-US')}"`);
    const rows = lines.map((l) => [l.date ?? date, `"${(l.text ?? '').replaceAll('"', '""')}"`, yen(l.out), yen(l.amount), yen(l.balance)].join(','));
    return ['日付,摘要,お引出金額,お預入金額,残高', ...rows].join(newline) + newline;
}
export const paidBy = (payment, more = {}) => ({ text: `${payment.reference} ヤマダ タロウ`, amount: payment.amount, ...more });

export const importFile = (server, body, { query = '', headers = {} } = {}) => server.call('POST', `${TRANSFERS}/imports${query}`, {
    as: 'admin', body, headers: { 'Content-Type': 'text/csv', ...headers },
});
export async function imported(server, lines, options) {
    const answer = await importFile(server, typeof lines === 'string' || Buffer.isBuffer(lines) ? lines : statement(lines), options);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
}

const listed = async (server, what, query) => {
    const answer = await server.call('GET', `${TRANSFERS}${what}${query}`, { as: 'admin' });
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data;
};
export const transfers = (server, query = '') => listed(server, '', query);
export const lines = (server, state) => listed(server, '/lines', state ? `?state=${state}` : '');
export const returns = (server, state = 'due') => listed(server, '/returns', `?state=${state}`);
export const transferOf = async (server, payment) => (await transfers(server, `?reference=${payment.reference}`))[0];
export const imports = (server) => listed(server, '/imports', '');

export const confirm = (server, payment, body = {}) =>
    server.call('POST', `${TRANSFERS}/${payment.id}/confirm`, { as: 'admin', body: { amount: payment.amount, date: '2026-11-16', ...body } });
export const assign = (server, line, body) => server.call('POST', `${TRANSFERS}/lines/${line.id}/assign`, { as: 'admin', body });
export const setAside = (server, line, body) => server.call('POST', `${TRANSFERS}/lines/${line.id}/set-aside`, { as: 'admin', body });
export const sentBack = (server, one, body = { date: '2026-11-20' }) =>
    server.call('POST', `${TRANSFERS}/returns/${one.id}/paid`, { as: 'admin', body });

export const now = async (server, payment) => (await server.payment(payment)).body;
export const becomes = (server, payment, status) => until(`the payment is ${status}`, async () => {
    const p = await now(server, payment);
    return p.status === status && p;
});

// The money of all payments together, by our own books, and by the bank's lines: they agree to the yen.
export async function booksAgree(db) {
    const [sums] = await db.all(`SELECT
        (SELECT coalesce(sum(captured_amount), 0) FROM payments WHERE gateway = 'manual') AS captured,
        (SELECT coalesce(sum(received), 0) FROM bank_transfers WHERE state = 'received') AS received,
        (SELECT coalesce(sum(l.amount), 0) FROM bank_lines l JOIN bank_transfers t ON t.line_id = l.id WHERE t.state = 'received') AS lines,
        (SELECT coalesce(sum(received), 0) FROM bank_transfers WHERE state = 'received' AND line_id IS NULL) AS by_hand`);
    const n = Object.fromEntries(Object.entries(sums).map(([k, v]) => [k, Number(v)]));
    assert.equal(n.captured, n.received);
    assert.equal(n.received, n.lines + n.by_hand);
    return n.captured;
}

// The command line as an operator runs it.
export function cli(server, args, { env = {} } = {}) {
    const all = {
        ...programEnv, ICHIDO_DB: server.db.url,
        ICHIDO_LISTEN: `127.0.0.1:${server.port}`, ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN, STRIPE_WEBHOOK_SECRET: SECRET, ...env,
    };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const child = spawn(PROGRAM, ['transfers', ...args], { cwd: os.tmpdir(), env: given, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
        child[name].setEncoding('utf8').on('data', (part) => {
            record(part);
            said[name] += part;
        });
    const ended = new Promise((resolve) => {
        child.on('close', (code, signal) => resolve({ ...said, code, signal }));
    });
    return Object.assign(ended, { child, said });
}
