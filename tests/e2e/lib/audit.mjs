// audit.mjs - the audit log: what the admin API and the command line say of it, and hands on it past the server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import os from 'node:os';
import { PATIENCE, PROGRAM, programEnv } from './server.mjs';
import { asHex } from './stores.mjs';
import { ADMIN_TOKEN, uuid } from './tokens.mjs';
import { SECRET } from './stripe.mjs';
import { until } from './wait.mjs';

export const AUDIT = '/api/v1/admin/audit';
export const TICK = 10_000;

export const page = async (server, query = {}, as = 'admin') => {
    const search = new URLSearchParams(query).toString();
    const answer = await server.call('GET', `${AUDIT}${search && '?'}${search}`, { as });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
};

// All rows that fit, newest first.
export async function rows(server, query = {}) {
    const all = [];
    let cursor = null;
    do {
        const one = await page(server, { limit: 100, ...query, ...(cursor && { cursor }) });
        all.push(...one.data);
        cursor = one.nextCursor;
    } while (cursor);
    return all;
}

export async function verify(server, expect) {
    const sums = { verified: 0, unsealed: 0, problems: [] };
    let cursor = null;
    do {
        const search = new URLSearchParams({ ...(expect && { expect }), ...(cursor && { cursor }) });
        const answer = await server.call('GET', `${AUDIT}/verify?${search}`, { as: 'admin' });
        assert.equal(answer.status, 200, answer.text);
        sums.verified += answer.body.verified;
        sums.problems.push(...answer.body.problems);
        sums.unsealed += answer.body.unsealed;
        sums.head = answer.body.head;
        cursor = answer.body.nextCursor;
    } while (cursor);
    return sums;
}

// Time passes until every row has its seal.
export const sealed = (server) => until('all is sealed', async () => {
    const [{ n }] = await server.db.all('SELECT count(*) AS n FROM audit a WHERE NOT EXISTS (SELECT 1 FROM audit_seals s WHERE s.audit_seq = a.seq)');
    if (Number(n)) await server.advance(TICK);
    return !Number(n);
}, 30_000);

// Another node holds the job that seals, as if it were about to: this one leaves new rows as they are.
export const notSealing = (db) => until('the job is free to be taken', async () => (await db.all(`UPDATE message
    SET owner = ${db.blob(asHex(uuid()))}, due_at = due_at + 86400000 WHERE kind = 'audit.seal' AND owner IS NULL RETURNING seq`)).length === 1);

// Who means it takes the guards away first.
export async function disarm(db) {
    const acts = db.url.startsWith('sqlite')
        ? ['DROP TRIGGER audit_keep', 'DROP TRIGGER audit_hold', 'DROP TRIGGER audit_seals_keep', 'DROP TRIGGER audit_seals_hold']
        : ['ALTER TABLE audit DISABLE TRIGGER ALL', 'ALTER TABLE audit_seals DISABLE TRIGGER ALL'];
    for (const act of acts) await db.all(act);
}

// The command line as an operator runs it.
export const cli = (db, args, env = {}) => new Promise((resolve) => {
    const all = { ...programEnv, ...PATIENCE, ICHIDO_DB: db.url,
        ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN, STRIPE_WEBHOOK_SECRET: SECRET, ...env };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    execFile(PROGRAM, ['audit', ...args], { cwd: os.tmpdir(), env: given, maxBuffer: 1 << 28 },
        (error, stdout, stderr) => resolve({ code: error ? error.code : 0, stdout, stderr }));
});
