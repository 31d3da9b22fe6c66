// qstash.mjs - the rows of the QStash API: how fast messages are taken, how fast they are delivered, how exactly
// they leave, and what a million of them costs.
import { Server } from '../tests/e2e/lib/server.mjs';
import { sqliteStore } from '../tests/e2e/lib/stores.mjs';
import { request } from '../tests/e2e/lib/http.mjs';
import { until } from '../tests/e2e/lib/wait.mjs';
import { ENV, events, load, memory, row, sqlite, sqliteRead, times, whole, withReceiver, withServer } from './kit.mjs';

const TOKEN = 'bench_qstash_token';
const KEYS = { QSTASH_TOKEN: TOKEN, QSTASH_CURRENT_SIGNING_KEY: 'sig_bench_current', QSTASH_NEXT_SIGNING_KEY: 'sig_bench_next' };
const SETTINGS = { ...KEYS, ICHIDO_BACKLOG_LIMIT: '10000000' };

const publish = (server, port, args = []) =>
    load(server, ['--mode', 'publish', '--bearer', TOKEN, '--target', port, ...args]);

async function call(server, method, path) {
    const began = process.hrtime.bigint();
    const answer = await request(server.port, { method, path, headers: { Authorization: `Bearer ${TOKEN}` } });
    return { ...answer, ms: Number(process.hrtime.bigint() - began) / 1e6, body: answer.text && JSON.parse(answer.text) };
}

// --- taking ---

async function publishRows(webhookRate) {
    const webhook = webhookRate || (await withServer(sqliteStore, {}, (server) => events(server))).rate;
    const { full, half } = await withServer(sqliteStore, SETTINGS, async (server) => {
        const atFull = await publish(server, 9, ['--delay', 86_400]);
        return { full: atFull, half: await publish(server, 9, ['--delay', 86_400, '--rate', atFull.rate / 2]) };
    });
    const share = full.rate / webhook;
    row('publish, 64 connections', '>= 60 % of webhooks', `${whole(full.rate)} /s = ${(100 * share).toFixed(0)} % of ${whole(webhook)} /s`, share >= 0.6);
    row('  latency then', '', times(full));
    row('  at half of that, open loop', '', times(half));
    row('  answers other than 200', '0', whole(full.failed + half.failed), full.failed + half.failed === 0);
}

// --- delivering ---

// All of them wait until they were taken, so that nothing else is measured.
async function deliveryRows() {
    await withReceiver((receiver) => withServer(sqliteStore, SETTINGS, async (server) => {
        const taken = await publish(server, receiver.port, ['--delay', 15, '--seconds', 6]);
        await until('the first is there', async () => await receiver.count() > 0, 60_000);
        const began = Date.now();
        await until('all are there', async () => await receiver.count() >= taken.ok, 120_000);
        const seconds = (Date.now() - began) / 1000;
        const live = () => sqliteRead(server.db.file, 'SELECT count(*) AS n FROM qstash_live')[0].n;
        await until('all have ended', () => live() === 0, 60_000);
        const rate = taken.ok / seconds;
        row('deliveries to a local receiver', '>= 5,000 /s', `${whole(rate)} /s (${whole(taken.ok)} in ${seconds.toFixed(1)} s)`, rate >= 5000);
        row('  delivered more than once', '0', whole(await receiver.count() - taken.ok), await receiver.count() === taken.ok);
        row('  memory then', '', `${memory(server).toFixed(0)} MB`);

        await publish(server, receiver.port, ['--delay', 2, '--rate', 50, '--seconds', 6]);
        await until('all have ended', () => live() === 0, 60_000);
        const late = sqliteRead(server.db.file, `SELECT l.at - m.not_before AS late FROM qstash_log l JOIN qstash_messages m ON m.id = l.id
            WHERE l.state = 2 ORDER BY l.seq DESC LIMIT 250`).map((one) => one.late).sort((a, b) => a - b);
        const p99 = late[Math.floor(late.length * 0.99)];
        row('  a due message leaves, at 50 a second', 'within 20 ms', `p50 ${late[late.length >> 1]} ms, p99 ${p99} ms, max ${late.at(-1)} ms`, p99 <= 20);
    }));
}

// --- a million ---

const MILLION = 1_000_000;
const series = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MILLION})`;

// One message of each kind is published by the program itself, and copied past it.
async function filled(db) {
    const first = new Server(db, { env: { ...ENV, ...SETTINGS } });
    await first.listening();
    await publish(first, 9, ['--delay', 86_400, '--count', 1, '--connections', 1, '--seconds', 0.05]);
    await first.stop();
    const id = "CAST(printf('%016d', i) AS BLOB)";
    sqlite(db.file, `PRAGMA synchronous = OFF; BEGIN;
        CREATE TEMP TABLE one AS SELECT * FROM qstash_messages LIMIT 1;
        CREATE TEMP TABLE two AS SELECT * FROM qstash_live LIMIT 1;
        CREATE TEMP TABLE three AS SELECT * FROM message WHERE kind = 'qstash.deliver' LIMIT 1;
        INSERT INTO qstash_messages (id, created_at, not_before, method, url, host, path, header, retries, timeout_ms, labels, caller_ip, body)
            ${series} SELECT ${id}, created_at, not_before, method, url, host, path, header, retries, timeout_ms,
            CASE WHEN i % 10000 = 0 THEN 'rare' END, caller_ip, zeroblob(300) FROM n, one;
        INSERT INTO qstash_live (id, place, due_at, bytes, host_hash, path_hash, caller_ip)
            ${series} SELECT ${id}, place, due_at, 300, host_hash, path_hash, caller_ip FROM n, two;
        INSERT INTO qstash_labels (label, dead, seq, id) SELECT 'rare', 0, 0, l.id FROM qstash_live l JOIN qstash_messages m ON m.id = l.id WHERE m.labels = 'rare';
        INSERT INTO message (id, kind, ready, due_at, added_at, body) ${series} SELECT ${id}, kind, 1, due_at, added_at, body FROM n, three;
        INSERT INTO qstash_dead (id, died_at, retried, status, url_hash, caller_ip)
            ${series} SELECT CAST(printf('d%015d', i) AS BLOB), 1700000000000 + i, 3, CASE WHEN i % 50000 = 0 THEN 418 ELSE 500 END, i % 1000, '127.0.0.1' FROM n;
        INSERT INTO qstash_messages (id, created_at, not_before, method, url, host, path, header, retries, timeout_ms, caller_ip)
            ${series} SELECT CAST(printf('d%015d', i) AS BLOB), created_at, not_before, method, url, host, path, header, retries, timeout_ms, caller_ip FROM n, one;
        COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`);
}

const timed = (what, answer, fine) => row(`  ${what}`, '< 50 ms', `${answer.ms.toFixed(1)} ms`, answer.ms < 50 && fine);

async function millionRows() {
    await withReceiver((receiver) => withServer(sqliteStore, SETTINGS, async (server) => {
        row('start with 1 M messages of the API queued', '< 100 ms', `${server.startMs.toFixed(0)} ms`, server.startMs < 100);
        const taken = await publish(server, receiver.port, ['--seconds', 2]);
        await until('those are delivered', async () => await receiver.count() >= taken.ok, 120_000);
        row('  memory, with load beside them', '< 100 MB', `${memory(server).toFixed(0)} MB`, memory(server) < 100);
        await call(server, 'GET', '/v2/keys');
        const dead = await call(server, 'GET', '/v2/dlq?responseStatus=418&count=10');
        timed('DLQ by a rare status', dead, dead.body.messages?.length === 10);
        const page = await call(server, 'GET', '/v2/dlq?count=100');
        timed('DLQ, its first page', page, page.body.messages?.length === 100);
        const cancelled = await call(server, 'DELETE', '/v2/messages?label=rare&count=100');
        timed('cancel the 100 with a rare label', cancelled, cancelled.body.cancelled === 100);
        const host = await call(server, 'DELETE', '/v2/messages?host=nobody.example.com&count=100');
        timed('cancel by a host that none has', host, host.body.cancelled === 0);
        const some = await call(server, 'DELETE', '/v2/messages?path=/hook&count=50');
        timed('cancel 50 by the path that all have', some, some.body.cancelled === 50);
    }, filled));
}

export async function qstashRows(webhookRate) {
    await publishRows(webhookRate);
    await deliveryRows();
    await millionRows();
}
