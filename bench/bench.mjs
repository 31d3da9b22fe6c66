// bench.mjs - speed as ratios within one run on one machine: the server against a bare insert loop on
// the same disk, PostgreSQL against SQLite. Absolute numbers are printed, but only ratios and limits
// are goals. Writes build/bench.json; exits 1 when a goal is missed.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Server, newFolder } from '../tests/e2e/lib/server.mjs';
import { postgresStore, sqliteStore } from '../tests/e2e/lib/stores.mjs';
import { pause, until } from '../tests/e2e/lib/wait.mjs';
import { folder as evidence } from '../tests/e2e/lib/evidence.mjs';
import {
    cpuTicks, drained, ENV, events, live, memory, root, row, rows, runTool, SECONDS, sqlite, times, whole, withServer,
} from './kit.mjs';
import { adminRows } from './admin.mjs';
import { pageRows } from './page.mjs';
import { applyLateRows, applyRows } from './apply.mjs';
import { qstashRows } from './qstash.mjs';
import { sandboxRows } from './sandbox.mjs';
import { seeingRows } from './seeing.mjs';
import { hangingGatewayRows, paymentRows, postgresPaymentRows, slowGatewayRows } from './payments.mjs';

// --- pieces ---

async function bareRate() {
    const folder = newFolder();
    try {
        return (await runTool('bare_sqlite', [path.join(folder, 'bare.db'), SECONDS, 64])).rate;
    } finally {
        fs.rmSync(folder, { recursive: true, force: true });
    }
}

// Runs the program once, so that the schema is there, and then fills it past the server.
async function filled(db, sql) {
    const first = new Server(db, { env: ENV });
    await first.listening();
    await first.stop();
    sqlite(db.file, `PRAGMA synchronous = OFF; BEGIN; ${sql}; COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`);
}

const series = (count) => `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
const id = "CAST(printf('%016d', i) AS BLOB)";

const manyMessages = `INSERT INTO message (id, kind, lane, ready, due_at, added_at, ref) ${series(1_000_000)}
    SELECT ${id}, 'stripe.event', i, 1, ${Date.now() + 86_400_000}, ${Date.now()}, 'evt_' || i FROM n`;
const manyEvents = `INSERT INTO webhook_events (provider, stripe_event_id, type, livemode, created_at, received_at, message_id,
    request_id, trace, body) ${series(330_000)} SELECT 'stripe', 'evt_' || i || hex(randomblob(8)), 'payment_intent.succeeded', 0, 1,
    1, ${id}, 'r', 't', zeroblob(2900) FROM n`;

// --- the rows ---

async function webhookRows() {
    const bare = [await bareRate()];
    const result = await withServer(sqliteStore, {}, async (server) => {
        const full = await events(server);
        const drainSeconds = await drained(server);
        const half = await events(server, ['--rate', full.rate / 2]);
        await drained(server);
        return { full, drainSeconds, half, memory: memory(server), metrics: await server.metrics() };
    });
    bare.push(await bareRate());
    const limit = (bare[0] + bare[1]) / 2;
    const { full, half, drainSeconds } = result;
    const share = full.rate / limit;
    const endToEnd = full.ok / (full.seconds + drainSeconds);
    row('bare insert loop, batch 64', '', `${whole(bare[0])} and ${whole(bare[1])} /s`);
    row('webhook ACK, 64 connections', '>= 60 % of bare', `${whole(full.rate)} /s = ${(100 * share).toFixed(0)} %`, share >= 0.6);
    row('  latency then', '', times(full));
    row('  ACKs that failed', '0', whole(full.failed + half.failed), full.failed + half.failed === 0);
    row('webhook ACK at half of that, open loop', 'p99 < 10 ms', times(half), half.p99_us < 10_000);
    row('  time to drain after full load', '', `${drainSeconds.toFixed(2)} s`);
    row('  end to end, ACK to processed', '', `${whole(endToEnd)} /s`);
    row('  memory under load', '', `${result.memory.toFixed(0)} MB`);
    return full.rate;
}

async function postgresRows(sqliteRate) {
    const store = postgresStore(process.env.TEST_POSTGRES);
    const { full, half, drainSeconds } = await withServer(store, {}, async (server) => {
        const atFull = await events(server);
        const seconds = await drained(server);
        const atHalf = await events(server, ['--rate', atFull.rate / 2]);
        return { full: atFull, drainSeconds: seconds, half: atHalf };
    });
    const share = sqliteRate ? full.rate / sqliteRate : undefined;
    row('PostgreSQL: webhook ACK, 64 connections', '>= 50 % of SQLite',
        `${whole(full.rate)} /s${share ? ` = ${(100 * share).toFixed(0)} %` : ''}`, share === undefined ? undefined : share >= 0.5);
    row('  latency at half load', '', times(half));
    row('  time to drain, end to end', '', `${drainSeconds.toFixed(2)} s, ${whole(full.ok / (full.seconds + drainSeconds))} /s`);
    row('  ACKs that failed', '0', whole(full.failed + half.failed), full.failed + half.failed === 0);
}

async function memoryRows() {
    await withServer(sqliteStore, {}, async (server) => {
        await server.get('/readyz');
        const used = memory(server);
        row('memory, idle', '< 30 MB', `${used.toFixed(1)} MB`, used < 30);
        const ticks = cpuTicks(server);
        await pause(3000);
        const burned = cpuTicks(server) - ticks;
        row('CPU, idle for 3 s', '0', `${burned * 10} ms`, burned <= 0);
    });
    await withServer(sqliteStore, { ICHIDO_BACKLOG_LIMIT: '10000000' }, async (server) => {
        row('start with 1 M messages queued', '', `${server.startMs.toFixed(0)} ms`);
        const waiting = await until('they are counted', async () => await live(server) >= 1_000_000 && live(server), 60_000);
        const few = await events(server, ['--count', 20_000]);
        await until('those are through', async () => await live(server) <= waiting, 60_000);
        const used = memory(server);
        row('memory, 1 M messages queued, under load', '< 100 MB', `${used.toFixed(1)} MB, ${whole(waiting)} live, ${whole(few.rate)} /s`,
            used < 100 && waiting >= 1_000_000);
    }, (db) => filled(db, manyMessages));
}

async function startRows() {
    await withServer(sqliteStore, {}, async (server) => {
        const size = fs.statSync(server.db.file).size / 1e9;
        const times = [server.startMs];
        await server.stop();
        for (let i = 0; i < 4; i++) {
            const began = process.hrtime.bigint();
            const again = new Server(server.db, { env: ENV });
            await again.listening();
            times.push(Number(process.hrtime.bigint() - began) / 1e6);
            await again.stop();
        }
        const middle = times.sort((a, b) => a - b)[2];
        row(`start with a store of ${size.toFixed(2)} GB`, '< 100 ms', `${middle.toFixed(0)} ms (of 5)`, middle < 100);
    }, (db) => filled(db, manyEvents));
}

// --- all of them ---

const wanted = process.env.ONLY?.split(',') ?? ['webhook', 'apply', 'postgres', 'payments', 'slow', 'hanging', 'pgpayments', 'qstash', 'sandbox', 'seeing', 'admin', 'page', 'memory', 'start'];
console.log(`${os.cpus()[0].model}, ${os.cpus().length} cores, load ${os.loadavg()[0].toFixed(1)}; ${SECONDS} s a row\n`);
const rate = wanted.includes('webhook') ? await webhookRows() : 0;
if (wanted.includes('apply')) await applyRows();
if (wanted.includes('late')) await applyLateRows(); // minutes, and 5 GB of disk: only when asked for
if (wanted.includes('postgres')) await postgresRows(rate);
if (wanted.includes('payments')) await paymentRows();
if (wanted.includes('slow')) await slowGatewayRows();
if (wanted.includes('hanging')) await hangingGatewayRows();
if (wanted.includes('pgpayments')) await postgresPaymentRows();
if (wanted.includes('qstash')) await qstashRows(rate);
if (wanted.includes('sandbox')) await sandboxRows();
if (wanted.includes('seeing')) await seeingRows();
if (wanted.includes('admin')) await adminRows();
if (wanted.includes('page')) await pageRows();
if (wanted.includes('memory')) await memoryRows();
if (wanted.includes('start')) await startRows();

fs.mkdirSync(path.join(root, 'build'), { recursive: true });
fs.writeFileSync(path.join(root, 'build/bench.json'), `${JSON.stringify({ at: new Date().toISOString(), rows }, null, 2)}\n`);
fs.rmSync(evidence, { recursive: true, force: true });
const missed = rows.filter((r) => r.ok === false).length;
console.log(`\n${missed ? `${missed} goals missed` : 'all goals met'}; build/bench.json`);
process.exitCode = missed ? 1 : 0;
