// payments.mjs - the rows about payments: create and authorise on the sandbox, replays of the same
// keys, and what a gateway that takes ten seconds does to everybody else.
import fs from 'node:fs';
import path from 'node:path';
import { postgresStore, sqliteStore } from '../tests/e2e/lib/stores.mjs';
import { ADMIN_TOKEN, token, uuid } from '../tests/e2e/lib/tokens.mjs';
import { until } from '../tests/e2e/lib/wait.mjs';
import {
    cpuTicks, drained, events, load, memory, ms, outcomes, row, SECONDS, sqliteRead, threads, times, whole, withServer,
} from './kit.mjs';

const ORDERS = Math.round(SECONDS * 8000); // more than can be paid in a row's time
const PAYING = ['--connections', 256, '--count', ORDERS]; // each waits for three commits and a call
const WAITING = 5000;
const QUIET = { ICHIDO_SANDBOX_WEBHOOKS: 'off' };

// --- pieces ---

const users = Array.from({ length: 8 }, uuid);
const asUsers = users.flatMap((user) => ['--bearer', token(user)]);
const asOwner = ['--bearer', ADMIN_TOKEN, ...users.flatMap((user) => ['--user', user])];

// The seed makes the ids, so that what one run of the load generator booked the next one can pay.
const book = async (server, count) => {
    const made = await load(server, ['--mode', 'bookings', '--seed', 1, '--count', count, '--seconds', 300, ...asOwner]);
    if (made.failed) throw new Error(`bookings: ${JSON.stringify(made.statuses)}`);
    return made;
};
const create = (server, args) => load(server, ['--mode', 'create', '--seed', 1, ...asUsers, ...args]);
const replay = (server, args) => load(server, ['--mode', 'replay', '--seed', 1, ...asUsers, ...args]);

// Creates until the time is over, and what it cost all threads of the server, its sandbox included.
async function createFor(server, args) {
    const ticks = cpuTicks(server);
    const made = await create(server, args);
    made.cpuUs = (cpuTicks(server) - ticks) * 10_000 / made.ok;
    made.loadUs = made.cpu * 1e6 / made.ok;
    return made;
}

const answers = (r) => Object.entries(r.statuses).map(([status, n]) => `${status}: ${whole(n)}`).join(', ');
const cost = (r) => `${whole(r.cpuUs)} us in the server and its sandbox, ${whole(r.loadUs)} us to send`;

// Payments for a row's time, each with a booking of its own.
export async function payFor(server) {
    await book(server, ORDERS);
    return createFor(server, PAYING);
}

// --- create and authorise, replays ---

function createRows(what, goal, made) {
    row(what, goal ? `>= ${whole(goal)} /s` : '', `${whole(made.rate)} /s`, goal ? made.rate >= goal : undefined);
    row('  latency then', '', times(made));
    row('  CPU a payment', '', cost(made));
    row('  answers other than 201', '0', made.failed ? answers(made) : '0', made.failed === 0);
}

// What a write could not hide from: the log's size and time, and the counter of commits.
async function written(server) {
    const wal = fs.statSync(`${server.db.file}-wal`);
    return { size: wal.size, at: wal.mtimeMs, commits: (await server.metrics()).get('ichido_store_commits_total') };
}

async function replayRows(server, keys) {
    await replay(server, ['--count', keys, '--seconds', 0.5]); // what creating left behind is written by now,
    await until('and sealed', () => sqliteRead(server.db.file, 'SELECT count(*) AS n FROM audit WHERE seq > (SELECT coalesce(max(audit_seq), 0) FROM audit_seals)')[0].n === 0, 60_000);
    const began = performance.now();
    const before = await written(server);
    const full = await replay(server, ['--count', keys]);
    const half = await replay(server, ['--count', keys, '--rate', full.rate / 2]);
    const after = await written(server);
    const same = JSON.stringify(before) === JSON.stringify(after);
    const failed = full.failed + half.failed;
    row('replays of stored answers, 64 connections', '>= 15,000 /s', `${whole(full.rate)} /s`, full.rate >= 15_000);
    row('  latency then', '', times(full));
    row('replays at half of that, open loop', 'p99 < 5 ms', times(half), half.p99_us < 5000);
    row('  answers other than a replay', '0', failed ? `${answers(full)}; ${answers(half)}` : '0', failed === 0);
    // How often keys came again is summed and written once in ten seconds: 4,096 rows at most, 100 a commit.
    const commits = after.commits - before.commits;
    const sums = 41 * Math.ceil((performance.now() - began) / 10_000 + 1);
    row('  written meanwhile', 'sums in 10 s', `${commits} commits, WAL ${
        same ? 'untouched' : `${before.size} to ${after.size} bytes`}`, commits <= sums);
}

// Of every event that the sandbox has sent or will send: that the server has said what became of it.
async function eventsDrained(server) {
    const [{ n }] = sqliteRead(path.join(server.db.folder, 'sandbox.db'),
        "SELECT count(*) AS n FROM sandbox_events WHERE json_extract(body, '$.pending_webhooks') > 0");
    const began = Date.now();
    const already = outcomes(await server.metrics());
    await until('every event has an outcome', async () => outcomes(await server.metrics()) >= n, 300_000);
    const seconds = (Date.now() - began) / 1000;
    return { count: n, already, seconds, dead: (await server.metrics()).get('ichido_queue_dead') };
}

export async function paymentRows() {
    await withServer(sqliteStore, QUIET, async (server) => {
        await book(server, ORDERS);
        const made = await createFor(server, PAYING);
        createRows('create and authorise, 256 connections', 3000, made);
        await replayRows(server, Math.min(made.ok, 20_000));
    });
    await withServer(sqliteStore, {}, async (server) => {
        await book(server, ORDERS);
        const made = await createFor(server, PAYING);
        createRows('create and authorise, with webhooks', 1800, made);
        const { count, already, seconds, dead } = await eventsDrained(server);
        row('  events with an outcome by then', '', `${whole(already)} of ${whole(count)}`);
        row('  dead letters', '0', whole(dead), dead === 0);
        row('  time to drain the rest', '', `${seconds.toFixed(2)} s, ${whole(made.ok / (made.seconds + seconds))} payments/s in all`);
    });
}

export async function postgresPaymentRows() {
    await withServer(postgresStore(process.env.TEST_POSTGRES), QUIET, async (server) => {
        await book(server, ORDERS);
        createRows('PostgreSQL: create and authorise', 0, await createFor(server, PAYING));
    });
}

// --- a gateway that takes ten seconds ---

// Requests that are being answered; the one that asks is none of them.
const inFlight = async (server) => (await server.metrics()).get('ichido_http_in_flight') - 1;

// How many payments wait, once that is all of them, or after the time in which they should have come.
async function waitingAtOnce(server) {
    const end = Date.now() + 6000;
    let most = 0;
    await until('they wait', async () => {
        most = Math.max(most, await inFlight(server));
        return most >= WAITING || Date.now() > end;
    });
    return most;
}

// Replays at a given rate and webhooks at full speed, one after the other: short, because the gateway
// answers after ten seconds. Rates and counts are the same each time, so that both times compare.
async function others(server, keys, rate) {
    const short = ['--seconds', 2];
    const replays = await replay(server, [...short, '--count', keys, '--rate', rate]);
    const acks = await events(server, [...short, '--count', 60_000]);
    return { acks, replays };
}

const share = (now, then) => `${(100 * now / then).toFixed(0)} %`;

export async function slowGatewayRows() {
    await withServer(sqliteStore, QUIET, async (server) => {
        const keys = 10_000;
        await book(server, keys + WAITING);
        await create(server, ['--count', keys, '--seconds', 60]);
        const rate = (await replay(server, ['--count', keys, '--seconds', 2])).rate / 2;
        const before = await others(server, keys, rate);
        await drained(server);
        const quiet = { threads: threads(server), memory: memory(server) };

        await server.fault({ method: 'POST', path: '/v1/payment_intents', delayMs: 10_000, times: WAITING });
        const slow = create(server, ['--count', WAITING, '--first', keys, '--connections', WAITING,
            '--rate', 2000, '--seconds', 60]); // all at once would wait for the writer longer than it allows (P6)
        slow.catch(() => {}); // it is awaited below
        const most = await waitingAtOnce(server);
        const busy = { threads: threads(server), memory: memory(server) };
        const during = await others(server, keys, rate);
        const still = await inFlight(server);
        const made = await slow;

        row('payments that wait for a gateway at once', whole(WAITING), `${whole(most)}, at the end of these rows ${whole(still)}`,
            most >= WAITING);
        row('  threads meanwhile', 'as many as before', `${busy.threads}, before ${quiet.threads}`,
            busy.threads === quiet.threads);
        row('  memory meanwhile', '', `${busy.memory.toFixed(0)} MB, before ${quiet.memory.toFixed(0)} MB`);
        row('  webhook ACK meanwhile', '>= 50 % of before', `${whole(during.acks.rate)} /s = ${share(during.acks.rate, before.acks.rate)}; p99 ${
            ms(during.acks.p99_us)}, before ${ms(before.acks.p99_us)}`, during.acks.rate >= before.acks.rate / 2);
        row(`  replays meanwhile, ${whole(rate)} /s`, 'p99 < 10 ms, or as before', `p99 ${ms(during.replays.p99_us)}, before ${ms(before.replays.p99_us)}`,
            during.replays.p99_us < Math.max(10_000, before.replays.p99_us));
        row('  answers other than wanted', '0', whole(during.acks.failed + during.replays.failed),
            during.acks.failed + during.replays.failed === 0);
        row('  those payments in the end', `${whole(WAITING)} x 201`, `${answers(made)}; ${times(made)}`, made.ok === WAITING);
    });
}

// --- a gateway that never answers (G5) ---

const TURNS = Number(process.env.TURNS ?? 5);
const middle = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

// p99 of replays and webhooks at steady rates, beside payments at 100 a second.
async function steady(server, keys, rates) {
    const replays = await replay(server, ['--seconds', 4, '--count', keys, '--rate', rates.replays]);
    const acks = await events(server, ['--seconds', 4, '--count', Math.round(rates.acks * 4.2), '--rate', rates.acks]);
    return { replays: replays.p99_us, acks: acks.p99_us };
}

// The middle of what each turn says: a machine that is slow for a minute is slow in both halves of a turn.
function changeRow(what, turns, name) {
    const change = middle(turns.map(({ before, during }) => 100 * (during[name] / before[name] - 1)));
    const of = (when) => ms(middle(turns.map((turn) => turn[when][name])));
    row(what, 'p99 changes < 20 %', `p99 ${of('during')}, before ${of('before')} (${change.toFixed(0)} %, the middle of ${TURNS} turns)`, change < 20);
}

export async function hangingGatewayRows() {
    await withServer(sqliteStore, QUIET, async (server) => {
        const keys = 10_000;
        const others = 1200; // payments of each half of a turn: 100 a second while it lasts
        await book(server, keys + 2 * TURNS * others);
        await create(server, ['--count', keys, '--seconds', 60]);
        const rates = {
            replays: (await replay(server, ['--count', keys, '--seconds', 2])).rate / 2,
            acks: (await events(server, ['--seconds', 2, '--count', 60_000])).rate / 2,
        };
        await drained(server);
        let first = keys;
        const pay = () => {
            const paying = create(server, ['--count', others, '--first', first, '--connections', others, '--rate', 100, '--seconds', 60]);
            first += others;
            paying.catch(() => {}); // it is awaited later
            return paying;
        };
        const turns = [];
        const ends = {};
        for (let i = 0; i < TURNS; i++) {
            const answered = pay();
            const before = await steady(server, keys, rates);
            await answered;
            await drained(server);
            await server.fault({ path: '/v1/', delayMs: 20_000, times: 1_000_000 });
            const hanging = pay();
            await until('many hang', async () => await inFlight(server) >= 300);
            turns.push({ before, during: await steady(server, keys, rates) });
            await server.healed();
            for (const [status, n] of Object.entries((await hanging).statuses)) ends[status] = (ends[status] ?? 0) + n;
            await until('it is trusted again', async () => await inFlight(server) <= 0);
            await drained(server);
        }
        changeRow('webhook ACK while every gateway call hangs', turns, 'acks');
        changeRow('  replays then', turns, 'replays');
        row('  those payments', '', answers({ statuses: ends }));
    });
}
