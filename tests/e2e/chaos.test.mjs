// Every fault switch at once, from a seed, and clients that only know how to repeat a request under its key. In the
// end three books are laid side by side, to the yen: ours, the sandbox's, and what each client was told.
//
//   make chaos N=10000 SEED=7      the long run; make test has a short one
//
// The test clock runs ten times as fast as the world's, so that resolver and resends keep up with impatient clients; a
// client that is told to wait (Retry-After) waits by that clock, too.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import {
    assert, asUuid, forEachStore, pause, start, until, uuid,
} from './lib/harness.mjs';
import { campaign, recount } from './lib/purchases.mjs';

const N = Number(process.env.CHAOS_N ?? 300);
const SEED = Number(process.env.CHAOS_SEED ?? 20261116);
const CLIENTS = Math.min(48, Math.ceil(N / 4));
const SPEED = 10;
const FINAL = ['CAPTURED', 'REFUNDED', 'FAILED'];

const CALLS = {
    decline: 0.05, delay: 0.03, error_before: 0.02, error_after: 0.02, drop_before: 0.02, drop_after: 0.03, hang: 0.02,
    conflict: 0.02, rate_limit: 0.02, rate_limit_retry: 0.02, half_json: 0.02, html: 0.02, content_type: 0.02,
    redirect: 0.02, currency: 0.02, cut: 0.02,
};
const WEBHOOKS = { duplicate: 0.1, reorder: 0.1, delay: 0.1, burst: 0.1, drop: 0.1 };
// The switches that are no chance, beside it: a few calls each.
const RULES = [
    { declineCode: 'insufficient_funds' }, { delayMs: 100 }, { statusBefore: 500 }, { statusAfter: 500 }, { dropBefore: true },
    { dropAfter: true }, { dropAfter: true, hangMs: 300 }, { statusBefore: 409 }, { statusBefore: 429 },
    { statusBefore: 429, shouldRetry: true }, { statusBefore: 502, answer: 'html' },
    ...['half_json', 'html', 'content_type', 'redirect', 'currency', 'cut'].map((answer) => ({ answer })),
];

// mulberry32
function random(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = Math.imul(state ^ (state >>> 15), state | 1);
        t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

// --- a client ---

// What became of it is unknown, or it is too early: the same again, under the same key.
const comesBack = ({ status, headers }) => status >= 500 || status === 429 || (status === 409 && headers['retry-after']);

async function insist(run, what, act) {
    const key = uuid();
    for (let tries = 1; ; tries++) {
        const answer = await act(key).catch((error) => ({ status: 599, headers: {}, text: String(error) }));
        if (!comesBack(answer)) {
            assert.ok(answer.status < 300, `${what}: ${answer.status} ${answer.text}`);
            run.keys.set(key, answer.body.payment?.id ?? answer.body.id);
            return answer.body;
        }
        assert.ok(tries < 400, `${what} never ends: ${answer.status} ${answer.text}`);
        run.repeats++;
        await pause(Number(answer.headers['retry-after'] ?? 1) * (1000 / SPEED));
    }
}

async function refundSome(run, payment, left, dice) {
    let rest = left;
    for (let n = dice() < 0.4 ? 1 : 2; n && rest; n--) {
        const amount = dice() < 0.4 ? rest : 1 + Math.floor(dice() * rest);
        const got = await insist(run, 'refund', (key) => run.server.refund(payment, amount, { key }));
        rest -= amount;
        assert.equal(got.refundedAmount, left - rest, 'a refund says what is refunded by then');
    }
    return left - rest;
}

// The whole story of one booking; returns what the client was told.
async function payBooking(run, dice) {
    const amount = 100 + Math.floor(dice() * 9900);
    const booking = await run.server.booking({ amount });
    const payment = await insist(run, 'pay', (key) => run.server.pay(booking, { key }));
    const told = { id: payment.id, captured: 0, refunded: 0 };
    if (payment.status === 'FAILED') return { ...told, status: 'FAILED' };
    assert.equal(payment.status, 'AUTHORIZED');
    if (dice() < 0.12) {
        await insist(run, 'void', (key) => run.server.void(payment, { key }));
        return { ...told, status: 'REFUNDED' };
    }
    told.captured = dice() < 0.3 ? 1 + Math.floor(dice() * amount) : amount;
    await insist(run, 'capture', (key) => run.server.capture(payment, told.captured, { key }));
    if (dice() < 0.6) told.refunded = await refundSome(run, payment, told.captured, dice);
    return { ...told, status: told.refunded === told.captured ? 'REFUNDED' : 'CAPTURED' };
}

// A position of a campaign: counters of three tables move with it.
async function buyPosition(run) {
    const as = uuid();
    const position = run.positions.pop();
    const { payment } = await insist(run, 'purchase', (key) => run.server.call('POST', `/api/v1/positions/${position}/purchase`,
        { as, key, body: { paymentMethodType: 'card', paymentMethod: 'pm_card_visa' } }));
    if (payment.status === 'CAPTURED') return { id: payment.id, status: 'CAPTURED', captured: 500, refunded: 0 };
    assert.equal(payment.status, 'PENDING'); // declined: another card may be tried, nobody does, and the reservation runs out
    return { id: payment.id, status: 'FAILED', captured: 0, refunded: 0 };
}

async function client(run, dice) {
    while (run.next < N) {
        run.next++;
        run.receipts.push(await (run.positions.length && dice() < 0.1 ? buyPosition(run) : payBooking(run, dice)));
    }
}

// --- the bad days ---

async function beginChaos(server) {
    await server.sandbox('POST', '/chaos', { seed: SEED, calls: CALLS, webhooks: WEBHOOKS, delayMs: 100, hangMs: 400 });
    await server.webhooks({ duplicate: 1, reorder: true, burst: true, delayMs: 20, dropFirst: 20 });
    for (const [i, rule] of RULES.entries()) await server.fault({ method: 'POST', ...rule, skip: 5 + 7 * i, times: 2 });
}

// Time passes, and for a fifth of it no webhook comes at all.
async function passTime(run) {
    let off = false;
    while (!run.over) {
        const dark = run.receipts.length > N * 0.4 && run.receipts.length < N * 0.6;
        if (dark !== off) await run.server.webhooks({ on: !dark });
        off = dark;
        await run.server.advance(1000 - 1000 / SPEED);
        await pause(1000 / SPEED);
    }
    await run.server.webhooks({ on: true });
}

const ask = promisify(execFile);
async function untold(server) {
    const question = "SELECT count(*) FROM message WHERE kind = 'sandbox.webhook'";
    const { stdout } = await ask('sqlite3', ['-batch', '-cmd', '.timeout 5000', path.join(server.db.folder, 'sandbox.db'), question]);
    return Number(stdout);
}

// Nothing of ours is under way any more, nor of the sandbox's webhooks.
async function settled(server) {
    const work = async () => {
        const left = (await server.db.messages()).filter((one) => one.kind !== 'payment.lapse').map((one) => one.kind);
        return [...new Set(left)].map((kind) => `${kind} ${left.filter((one) => one === kind).length}`);
    };
    let last = [];
    await until('all is decided and told', async () => {
        last = await work();
        const unknown = await server.db.count('operations', `phase <> 'done'`);
        const webhooks = await untold(server);
        last.push(...(unknown ? [`unknown ${unknown}`] : []), ...(webhooks ? [`webhooks ${webhooks}`] : []));
        if (!last.length) return true;
        await server.advance(20_000);
        await pause(50);
        return false;
    }, 60_000 + N * 10).catch((error) => { throw new Error(`${error.message}: ${last}`, { cause: error }); });
}

// --- the three books ---

async function sandboxBooks(server) {
    const all = [];
    for (let after = ''; ;) {
        const { intents, has_more: more } = await server.sandbox('GET', `/books${after && `?after=${after}`}`);
        all.push(...intents);
        if (!more) return all;
        after = intents.at(-1).id;
    }
}

const sum = (list, of) => list.reduce((all, one) => all + of(one), 0);

async function compareBooks(run) {
    const { server, receipts } = run;
    const rows = new Map((await server.db.payments()).map((row) => [asUuid(row.id), row]));
    assert.equal(rows.size, N, 'one payment a client');
    assert.equal(new Set(receipts.map((one) => one.id)).size, N);
    for (const told of receipts) {
        const { body } = await server.payment(told.id, 'admin');
        const ours = { status: body.status, captured: body.capturedAmount ?? 0, refunded: body.refundedAmount ?? 0 };
        assert.deepEqual(ours, { status: told.status, captured: told.captured, refunded: told.refunded }, `${told.id} was told otherwise`);
        assert.ok(FINAL.includes(body.status), body.status);
    }
    const automatic = await server.db.table('refunds', "automatic = 1 AND status = 'succeeded'");
    const strayed = (id) => sum(automatic.filter((one) => asUuid(one.payment_id) === id), (one) => one.amount);
    const intents = await sandboxBooks(server);
    for (const [id, row] of rows) {
        const theirs = intents.filter((one) => one.payment_id === id);
        assert.ok(theirs.length <= 1, `${theirs.length} intents of ${id}`);
        assert.ok(sum(theirs, (one) => one.charges) <= 1, `charged twice: ${JSON.stringify(theirs)}`);
        const extra = strayed(id);
        assert.deepEqual([sum(theirs, (one) => one.captured), sum(theirs, (one) => one.refunded), sum(theirs, (one) => one.held)],
            [(row.captured_amount ?? 0) + extra, (row.refunded_amount ?? 0) + extra, 0], `${JSON.stringify(theirs)} is ${JSON.stringify(row)} here`);
    }
    assert.equal(sum(intents, (one) => one.captured - one.refunded), sum(receipts, (one) => one.captured - one.refunded));
    return intents;
}

async function compareRows({ server, keys }) {
    assert.equal(await server.db.count('operations', `phase <> 'done'`), 0, 'no operation is unknown');
    assert.equal(await server.db.count('payments', 'open_op IS NOT NULL'), 0);
    assert.deepEqual(await server.db.dead(), []);
    const made = await server.db.payments();
    assert.equal(new Set(made.map((row) => row.idempotency_key)).size, made.length, 'no key has two payments');
    assert.equal(new Set(made.map((row) => row.subject_id)).size, made.length);
    for (const [key, id] of keys) assert.ok(id, `an answer without a payment under ${key}`);
    const refunds = await server.db.table('refunds', "status = 'succeeded' AND automatic = 0");
    for (const row of made) {
        const back = sum(refunds.filter((one) => one.payment_id === row.id), (one) => one.amount);
        assert.equal(row.refunded_amount ?? 0, back, 'refunded_amount is the sum of the refunds');
    }
    await recount(server);
}

async function everyFaultHappened(server) {
    const { happened } = await server.sandbox('GET', '/chaos');
    for (const group of ['calls', 'webhooks'])
        for (const [name, times] of Object.entries(happened[group])) assert.ok(times > 0, `${group}.${name} never happened`);
    assert.deepEqual((await server.sandbox('GET', '/faults')).faults, [], 'all rules were used');
    return happened;
}

forEachStore((store, test) => {
    test(`G3 with every fault switch on, ${N} payments by clients that only repeat themselves: all books agree`,
        { timeout: 120_000 + N * 200 }, async (t) => {
            const server = await start(t, store, { env: { ICHIDO_LOG_LEVEL: 'info' } });
            if (N > 1000) server.child.stderr.removeAllListeners('data').resume(); // keeping every line would be most of the work
            const { positions } = await campaign(server, { layers: [{ name: 'A', price: 500, positions: Math.ceil(N / 5) }] });
            const run = { server, positions, next: 0, receipts: [], keys: new Map(), repeats: 0, over: false };
            const began = Date.now();
            await beginChaos(server);
            const time = passTime(run);
            await Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(run, random(SEED + i))))
                .finally(() => { run.over = true; });
            await time;
            const worked = Date.now() - began;
            const happened = await everyFaultHappened(server);
            await server.sandbox('DELETE', '/chaos');
            await server.webhooks({ duplicate: 0, reorder: false, burst: false, delayMs: 0, dropFirst: 0 });
            await settled(server);
            const intents = await compareBooks(run);
            await compareRows(run);
            const states = Object.fromEntries(FINAL.map((s) => [s, run.receipts.filter((one) => one.status === s).length]));
            t.diagnostic(`seed ${SEED}: ${N} payments in ${(worked / 1000).toFixed(1)} s, settled after ${((Date.now() - began) / 1000).toFixed(1)} s; `
                + `${JSON.stringify(states)}, ${intents.length} intents, ${run.repeats} requests repeated, ${JSON.stringify(happened)}`);
        });
});
