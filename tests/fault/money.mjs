// money.mjs - people who pay, kill -9 at a random moment, restart, and at the end everybody's books agree.
//
// Clients pay bookings (authorise, capture, sometimes refund), buy positions of a campaign (some cards are
// declined, and tried again on the same intent), and pay what they owe on the gateway's page. Each repeats its
// request under the same key until it has an answer: that is all a client has to do (P11). The sandbox dies
// with the server and has its own books. When all is worked through:
//   (1) what a client was told is what the payment says;
//   (2) of every intent the sandbox took and gave back what our payment says, to the yen, with one charge at most;
//   (3) counters equal a count of the rows, nobody paid for what he did not get, nothing is dead.
// On PostgreSQL the database itself is killed now and then.
import http from 'node:http';
import fs from 'node:fs';
import assert from 'node:assert/strict';
import { newFolder } from '../e2e/lib/server.mjs';
import { Cluster } from '../e2e/lib/postgres.mjs';
import { sqliteStore } from '../e2e/lib/stores.mjs';
import { ADMIN_TOKEN, token, uuid } from '../e2e/lib/tokens.mjs';
import { pause, until } from '../e2e/lib/wait.mjs';
import { quiet, recount } from '../e2e/lib/purchases.mjs';
import { Node, random, runOnEach } from './victims.mjs';

const KILLS = Number(process.env.KILLS ?? 12);
const SEED = Number(process.env.SEED ?? (Date.now() % 1_000_000));
const CLIENTS = 12;
const POSITIONS = 400;
const VISA = 'pm_card_visa';
const CARDS = [VISA, VISA, 'pm_card_chargeDeclined', 'pm_card_chargeDeclinedInsufficientFunds'];

// --- a client that never gives up ---

function once(node, method, path, { as, key, body }) {
    const text = body === undefined ? '' : JSON.stringify(body);
    return new Promise((resolve, reject) => {
        const client = http.request({
            host: '127.0.0.1', port: node.server.port, agent: node.agent, method, path, timeout: 40_000,
            headers: {
                Authorization: `Bearer ${as === 'admin' ? ADMIN_TOKEN : token(as)}`, 'Content-Length': Buffer.byteLength(text),
                ...(text && { 'Content-Type': 'application/json' }), ...(key && { 'Idempotency-Key': key }),
            },
        }, (answer) => {
            const parts = [];
            answer.on('data', (part) => parts.push(part));
            answer.on('error', reject);
            answer.on('end', () => resolve({ status: answer.statusCode, text: Buffer.concat(parts).toString() }));
        });
        client.on('error', reject);
        client.end(text);
    });
}

// 5xx and a broken connection: the same again. Everything else is an answer.
async function ask(run, method, path, options) {
    for (;;) {
        const { node } = run;
        const answer = node.up ? await once(node, method, path, options).catch(() => null) : null;
        if (answer && answer.status < 500) return { status: answer.status, body: JSON.parse(answer.text) };
        run.repeats++;
        await pause(10);
    }
}

const post = (run, path, as, body, key = uuid()) => ask(run, 'POST', path, { as, key, body });

async function expectStatus(answer, ...statuses) {
    if (!statuses.includes(answer.status)) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
}

// --- what clients do ---

async function payBooking(run) {
    const booking = uuid();
    const user = uuid();
    const amount = 1000 + Math.floor(run.dice() * 1000);
    await expectStatus(await ask(run, 'PUT', `/api/v1/bookings/${booking}`, { as: 'admin', body: { userId: user, amount, currency: 'JPY' } }), 200, 201);
    const card = CARDS[Math.floor(run.dice() * CARDS.length)];
    let payment = await expectStatus(await post(run, '/payments', user, { bookingId: booking, amount, currency: 'JPY', paymentMethod: card }), 200, 201);
    assert.equal(payment.status, card === VISA ? 'AUTHORIZED' : 'FAILED');
    if (card === VISA && run.dice() < 0.8) payment = await expectStatus(await post(run, `/payments/${payment.id}/capture`, user, {}), 200);
    if (payment.status === 'CAPTURED' && run.dice() < 0.4)
        payment = await expectStatus(await post(run, `/payments/${payment.id}/refund`, user, { amount: 300 }), 200);
    run.receipts.push(payment);
}

async function buyPosition(run) {
    const user = uuid();
    const position = run.positions[Math.floor(run.dice() * run.positions.length)];
    const card = CARDS[Math.floor(run.dice() * CARDS.length)];
    const answer = await post(run, `/api/v1/positions/${position}/purchase`, user, { paymentMethodType: 'card', paymentMethod: card });
    if (answer.status === 422) return; // somebody has it
    const { purchase, payment } = await expectStatus(answer, 200, 201);
    assert.equal(purchase.status, card === VISA ? 'completed' : 'failed');
    if (card === VISA) run.receipts.push(payment);
    else if (run.dice() < 0.5) await confirm(run, payment.gatewayTransactionId);
}

// The customer's browser asks the gateway by itself, until it hears that it is paid.
async function confirm(run, intent) {
    const form = `payment_method=${VISA}&return_url=https%3A%2F%2Fexample.com`;
    await atSandbox(run, `/v1/payment_intents/${intent}/confirm`, form, 'application/x-www-form-urlencoded');
}

async function atSandbox(run, path, body, type) {
    for (let tries = 0; tries < 1000; tries++) {
        const { node } = run;
        const status = node.up ? await new Promise((resolve) => {
            const client = http.request({ host: '127.0.0.1', port: node.server.sandboxPort, method: 'POST', path,
                headers: { Authorization: 'Bearer sk_test_ichido_e2e', 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) },
            }, (answer) => { answer.resume(); answer.on('end', () => resolve(answer.statusCode)); answer.on('error', () => resolve(0)); });
            client.on('error', () => resolve(0));
            client.end(body);
        }) : 0;
        if (status >= 200 && status < 500) return; // paid, or paid by an earlier try
        await pause(10);
    }
}

async function payOwed(run) {
    const [collection, owner, participant] = [uuid(), uuid(), uuid()];
    const body = { title: '会費', currency: 'JPY', participants: [{ id: participant, name: '花子', amount: 3000 }] };
    await expectStatus(await ask(run, 'PUT', `/api/v1/collections/${collection}`, { as: owner, body }), 200, 201);
    const { checkout } = await expectStatus(await post(run, `/api/v1/participants/${participant}/checkout`, owner,
        { successUrl: 'https://example.com/paid' }), 200, 201);
    await atSandbox(run, `/_sandbox/checkout/${checkout.sessionId}/pay`, JSON.stringify({ paymentMethod: VISA }), 'application/json');
    run.owed.push({ participant, owner });
}

async function client(run) {
    const acts = [payBooking, buyPosition, buyPosition, payOwed];
    while (!run.over) await acts[Math.floor(run.dice() * acts.length)](run);
}

// --- the end ---

const idOf = (hex) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

async function sandboxBooks(server) {
    const all = [];
    for (let after = ''; ;) {
        const { intents, has_more: more } = await server.sandbox('GET', `/books${after && `?after=${after}`}`);
        all.push(...intents);
        if (!more) return all;
        after = intents.at(-1).id;
    }
}

async function compareBooks(run) {
    const { server } = run.node;
    const rows = new Map((await server.db.payments()).map((row) => [idOf(row.id), row]));
    const automatic = new Map();
    for (const refund of await server.db.table('refunds', "automatic = 1 AND status = 'succeeded'"))
        automatic.set(idOf(refund.payment_id), (automatic.get(idOf(refund.payment_id)) ?? 0) + refund.amount);
    const intents = await sandboxBooks(server);
    for (const intent of intents) {
        const payment = rows.get(intent.payment_id);
        assert.ok(payment, `the sandbox has an intent of nobody: ${JSON.stringify(intent)}`);
        assert.ok(intent.charges <= 1, `charged twice: ${JSON.stringify(intent)}`);
        const strayed = automatic.get(intent.payment_id) ?? 0;
        const ours = (payment.captured_amount ?? 0) - (payment.refunded_amount ?? 0);
        assert.equal(intent.captured - intent.refunded, ours, `${JSON.stringify(intent)} is ${JSON.stringify(payment)} here`);
        assert.equal(intent.refunded, (payment.refunded_amount ?? 0) + strayed);
        if (intent.held) assert.equal(payment.status, 'AUTHORIZED');
    }
    return intents.length;
}

async function compareReceipts(run) {
    for (const receipt of run.receipts) {
        const [row] = await run.db.all(`SELECT status, captured_amount AS captured, refunded_amount AS refunded FROM payments
            WHERE id = ${run.db.blob(receipt.id.replaceAll('-', ''))}`);
        assert.deepEqual({ ...row }, { status: receipt.status, captured: receipt.capturedAmount, refunded: receipt.refundedAmount });
    }
    for (const { participant, owner } of run.owed) {
        const { body } = await ask(run, 'GET', `/api/v1/participants/${participant}`, { as: owner });
        assert.equal((body.participant ?? body).status, 'paid');
    }
}

async function oneKill(run, number) {
    await pause(30 + run.chance() * 400);
    if (run.cluster && number % 5 === 4) {
        await run.cluster.kill();
        return;
    }
    await run.node.kill();
    if (run.chance() < 0.2) await run.node.dieEarly(run.chance() * 40);
    await run.node.start();
}

async function openShop(run) {
    const id = uuid();
    await run.node.start();
    const body = { title: 'くじ', currency: 'JPY', winners: 3, layers: [{ name: 'A', price: 500, positions: POSITIONS }] };
    await expectStatus(await ask(run, 'PUT', `/api/v1/campaigns/${id}`, { as: 'admin', body }), 200, 201);
    run.positions = (await run.db.table('positions')).map((row) => idOf(row.position_id));
}

async function killAndPay(run) {
    const working = Promise.all(Array.from({ length: CLIENTS }, () => client(run)));
    const failed = working.then(() => null, (error) => error);
    for (let i = 0; i < KILLS; i++) {
        const error = await Promise.race([oneKill(run, i).then(() => null), failed]);
        if (error) throw error;
    }
    run.over = true;
    const error = await failed;
    if (error) throw error;
}

async function moneyTest(kind) {
    const cluster = kind === 'postgres' ? await Cluster.create() : null;
    const folder = newFolder();
    const store = cluster ? cluster.store : sqliteStore;
    const db = Object.assign(await store.fresh(folder), { folder });
    const run = { db, cluster, node: new Node(db), chance: random(SEED), dice: random(SEED + 1), receipts: [], owed: [], repeats: 0, over: false };
    const began = Date.now();
    try {
        await openShop(run);
        await killAndPay(run);
        await quiet(run.node.server, { limitMs: 120_000 });
        await compareReceipts(run);
        const intents = await compareBooks(run);
        await recount(run.node.server);
        const how = await run.node.server.stop();
        if (how.code !== 0) throw new Error(`it stopped with ${JSON.stringify(how)}`);
        console.log(`ok      ${store.name}: ${KILLS} kills, ${run.receipts.length} receipts and ${run.owed.length} participants, ${intents} intents, `
            + `${run.repeats} requests repeated; all books agree, in ${((Date.now() - began) / 1000).toFixed(1)} s`);
    } catch (error) {
        error.message += `\n${run.node.server?.tail?.() ?? ''}`;
        throw error;
    } finally {
        run.over = true;
        if (run.node.server && !run.node.server.ended) await run.node.server.kill();
        await cluster?.remove();
        fs.rmSync(folder, { recursive: true, force: true });
    }
}

await runOnEach('money', { seed: SEED, kills: KILLS }, moneyTest);
