// dlq.mjs - dead letters: what the admin API and the command line say of them, and what is stored.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import os from 'node:os';
import { record } from './evidence.mjs';
import { PROGRAM, programEnv } from './server.mjs';
import { asHex, asUuid } from './stores.mjs';
import { event, SECRET } from './stripe.mjs';
import { ADMIN_TOKEN, uuid } from './tokens.mjs';
import { until } from './wait.mjs';

export const DLQ = '/api/v1/admin/dlq';

// The command line as an operator runs it; `child` is there at once for who wants to kill it.
export function dlq(db, args, { env = {}, cwd = os.tmpdir() } = {}) {
    const all = {
        ...programEnv, ICHIDO_DB: db?.url,
        ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN, STRIPE_WEBHOOK_SECRET: SECRET, ...env,
    };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const child = spawn(PROGRAM, ['dlq', ...args], { cwd, env: given, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
        child[name].setEncoding('utf8').on('data', (part) => { // a character may come in two parts
            record(part);
            said[name] += part;
            child.emit('said');
        });
    const ended = new Promise((resolve) => {
        child.on('close', (code, signal) => resolve({ ...said, code, signal }));
    });
    return Object.assign(ended, { child, said });
}

// Fine, or the test shows why not.
export async function dlqFine(db, args, options) {
    const got = await dlq(db, args, options);
    assert.equal(got.code, 0, `ichido dlq ${args.join(' ')}: ${got.code} ${got.stdout}${got.stderr}`);
    return got;
}
export const dlqJson = async (db, args, options) => JSON.parse((await dlqFine(db, [...args, '--json'], options)).stdout);
export const dlqLines = async (db, args, options) =>
    (await dlqFine(db, [...args, '--json'], options)).stdout.trim().split('\n').map((line) => JSON.parse(line));

// Ours by its metadata, and of a payment that nobody has (D20): dead after 1, 2 and 4 seconds.
export const orphan = (payment = uuid()) => {
    const one = event();
    one.data.object.metadata = { payment_id: payment };
    return one;
};

// Time passes until the event is a dead letter, from one attempt to the next and never during one, whose times it would mix up.
export async function dies(server, one) {
    assert.equal((await server.deliver(one)).status, 204);
    let failed = 0;
    return until(`${one.id} is dead`, async () => {
        const [letter] = (await server.db.dead()).filter((row) => row.ref === one.id);
        if (letter) return { ...letter, id: asUuid(letter.id) };
        const [waits] = await server.db.all(`SELECT attempt, due_at FROM message
            WHERE ref = '${one.id}' AND owner IS NULL AND attempt > ${failed}`);
        if (!waits) return false;
        failed = Number(waits.attempt);
        await server.advance(Math.max(0, Number(waits.due_at) - server.nowMs()) + 1000); // it is surely due then
        return false;
    }, 30_000);
}

// Letters straight into the table: `count` events of a type that nothing depends on, so that a retry ends at once.
export async function fill(db, count, { kind = 'stripe.event', reason = 'a bad day', cause = reason, prefix = 'evt_fill_', diedAt = 1_760_000_000_000 } = {}) {
    const numbers = db.kind === 'sqlite'
        ? `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`
        : `WITH n(i) AS (SELECT generate_series(1, ${count}))`;
    const id = db.kind === 'sqlite' // 16 bytes, the same for the same number
        ? `CAST(substr('--------${prefix}' || printf('%08d', i), -16) AS BLOB)` : `decode(md5('${prefix}' || i), 'hex')`;
    await db.all(`${numbers} INSERT INTO dead_letters (id, kind, ref, body, reason, cause, attempts, added_at, died_at)
        SELECT ${id}, '${kind}', '${prefix}' || i, '{"type":"customer.created"}', '${reason}', '${cause}', 4, ${diedAt} - 7000, ${diedAt} + i FROM n`);
}

// A destination that has words for its answers: [status, body] each, the last of them for ever.
export async function refusing(t, answers, headers = {}) {
    const got = { bodies: [] };
    const server = http.createServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', () => {
            got.bodies.push(Buffer.concat(parts));
            const [status, body] = answers[Math.min(got.bodies.length, answers.length) - 1];
            response.writeHead(status, headers).end(body);
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.atEnd(() => new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
    }));
    got.url = `http://127.0.0.1:${server.address().port}`;
    return got;
}

// The view says what the dead letters say, whatever happened.
export async function agrees(db) {
    const columns = (id, error) => `SELECT ${db.hex(id)} AS id, ${error} AS error, attempts, ${db.hex('payment_id')} AS payment_id`;
    const view = await db.all(`${columns('message_id', 'error')}, event_id AS ref, created_at AS died_at FROM failed_webhook_events ORDER BY 1`);
    const letters = await db.all(`${columns('id', 'reason')}, ref, died_at FROM dead_letters
        WHERE kind IN ('stripe.event', 'stripe.refetch', 'paypay.refetch') ORDER BY 1`);
    assert.deepEqual(view, letters);
    return letters.length;
}

// A payment that does not exist for a while: its row and its intent's are there under other names.
export async function hide(db, payment) {
    const [from, to] = [asHex(payment.id), asHex(uuid())];
    const swap = async (a, b, there) => {
        await db.all(`UPDATE payments SET id = ${db.blob(b)} WHERE id = ${db.blob(a)}`);
        await db.all(`UPDATE payment_transactions SET payment_id = ${db.blob(b)}, stripe_payment_intent_id = '${there}'
            WHERE payment_id = ${db.blob(a)}`);
    };
    await swap(from, to, 'pi_hidden');
    return () => swap(to, from, payment.gatewayTransactionId);
}
