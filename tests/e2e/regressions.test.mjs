// Faults that a hostile reader once found in the money's way, each by its clause: none of them may come
// back. Most of these servers have a gateway that the test itself plays, so that it can fail on the spot,
// remember its failures, lose its answers, and say afterwards what it was asked and with which key.
import http from 'node:http';
import pg from 'pg';
import {
    asHex, assert, event, fresh, forEachStore, launch, paymentIntent, pause, start, unique, until, uuid,
} from './lib/harness.mjs';
import { bought, buy, campaign, purchaseNow, recount, rows } from './lib/purchases.mjs';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ASKS = 'pm_card_threeDSecureRequired';

// --- a gateway that the test plays ---

// What Stripe says when nobody has to try again within the call.
const broken = (status = 500) => [status, { error: { type: 'api_error', message: 'broken' } }, { 'Stripe-Should-Retry': 'false' }];
const refused = (code, intent) =>
    [400, { error: { type: 'invalid_request_error', code, message: 'No.', ...(intent && { payment_intent: intent }) } }];
const LOST = undefined; // the connection breaks before the answer

const intentObject = (call, changes = {}) => ({
    id: 'pi_played1', object: 'payment_intent', amount: 1200, amount_received: 0, currency: 'jpy',
    status: 'requires_capture', metadata: { payment_id: call.form.get('metadata[payment_id]') ?? undefined },
    latest_charge: null, client_secret: 'pi_played1_secret_x', ...changes,
});
const asking = { status: 'requires_action', next_action: { type: 'use_stripe_sdk' } };
const succeeded = { status: 'succeeded', amount_received: 1200 };
const canceled = { status: 'canceled', cancellation_reason: 'abandoned' };

const refundObject = (call, changes = {}) => ({
    id: `re_${unique()}`, object: 'refund', amount: Number(call.form.get('amount')), currency: 'jpy', status: 'succeeded',
    payment_intent: call.form.get('payment_intent'), charge: 'ch_played1',
    metadata: { refund_id: call.form.get('metadata[refund_id]'), payment_id: call.form.get('metadata[payment_id]') },
    ...changes,
});

const nameOf = ({ method, path }) => {
    if (method === 'GET') return path.startsWith('/v1/refunds') ? 'askRefund' : 'ask';
    if (path === '/v1/refunds') return 'refund';
    return path === '/v1/payment_intents' ? 'create' : path.split('/').pop(); // capture, cancel
};
const listOf = (data) => [200, { object: 'list', data, has_more: false }];
const WELL = {
    create: (call) => [200, intentObject(call)],
    capture: (call) => [200, intentObject(call, succeeded)],
    cancel: (call) => [200, intentObject(call, canceled)],
    refund: (call) => [200, refundObject(call)],
    ask: (call) => [200, intentObject(call)],
    askRefund: () => listOf([]),
};
const declining = (call) => [402, { error: { type: 'card_error', code: 'card_declined', message: 'Declined.',
    payment_intent: intentObject(call, { status: 'requires_payment_method' }) } }];

// The roles may be changed while it runs: gateway.roles.cancel = ….
async function play(t, roles = {}) {
    const gateway = { calls: [], roles: { ...WELL, ...roles } };
    gateway.of = (name) => gateway.calls.filter((call) => call.name === name);
    const server = http.createServer((request, reply) => {
        let body = '';
        request.on('data', (part) => { body += part; });
        request.on('end', async () => {
            const call = { method: request.method, path: request.url, key: request.headers['idempotency-key'],
                form: new URLSearchParams(body) };
            call.name = nameOf(call);
            gateway.calls.push(call);
            const answer = await gateway.roles[call.name](call);
            if (!answer) {
                request.socket.destroy();
                return;
            }
            reply.writeHead(answer[0], { 'Content-Type': 'application/json', ...answer[2] });
            reply.end(JSON.stringify(answer[1]));
        });
    });
    await new Promise((ready) => { server.listen(0, '127.0.0.1', ready); });
    t.atEnd(() => {
        server.closeAllConnections();
        server.close();
    });
    gateway.env = { STRIPE_API_BASE: `http://127.0.0.1:${server.address().port}` };
    return gateway;
}

async function played(t, store, roles) {
    const gateway = await play(t, roles);
    return { gateway, server: await start(t, store, { env: gateway.env }) };
}

// --- looking at it ---

const now = async (server, payment) => (await server.payment(payment, 'admin')).body;
const types = async (server, payment) => (await server.db.domainEvents(payment.id)).map((one) => one.type);
const errors = (server, text) => server.lines.filter((line) => line.level === 'error' && (!text || line.message === text));
const audits = (server, payment, where) =>
    server.db.audit(`payment_id = ${server.db.blob(asHex(payment.id))} AND ${where}`);
const own = async (server, payment, kind) =>
    (await server.db.operations(payment.id)).filter((one) => one.cause !== 'client' && (!kind || one.kind === kind));

// Moves time along until it is so. Each step is long enough for whatever waits.
async function inTime(server, what, read, stepMs = 10 * MINUTE, steps = 40) {
    for (let i = 0; i < steps; i++) {
        const value = await read();
        if (value) return value;
        await server.advance(stepMs);
        await pause(30);
    }
    throw new Error(`never: ${what}\n${server.tail()}`);
}
const status = (server, payment, wanted, stepMs) =>
    inTime(server, wanted, async () => (await now(server, payment)).status === wanted, stepMs);
const idle = (server, stepMs) =>
    inTime(server, 'no operation is open', async () => (await server.db.count('operations', `phase <> 'done'`)) === 0, stepMs);

// Nothing is locked: no operation, no key, no dead letter.
async function nothingHangs(server) {
    assert.equal(await server.db.count('operations', `phase <> 'done'`), 0, 'operations');
    assert.equal(await server.db.count('payments', 'open_op IS NOT NULL'), 0, 'open_op');
    assert.equal(await server.db.count('idempotency_records', `state = 'running'`), 0, 'keys');
    assert.equal(await server.db.count('dead_letters'), 0, 'dead letters');
}

// --- telling it ---

const onPayment = (type, payment, object = {}) => event(type, { data: { object: paymentIntent({ object: {
    id: payment.gatewayTransactionId, metadata: { payment_id: payment.id }, ...object } }) } });
const onRefund = (type, object) => event(type, { data: { object: { object: 'refund', currency: 'jpy', metadata: {}, ...object } } });
async function tell(server, one) {
    const answer = await server.deliver(one);
    assert.equal(answer.status, 204, answer.text);
    return server.settled(one.id);
}
const authorizedNews = (payment) => onPayment('payment_intent.amount_capturable_updated', payment,
    { amount_received: 0, status: 'requires_capture', latest_charge: 'ch_one' });
const canceledNews = (payment, reason) => onPayment('payment_intent.canceled', payment,
    { amount_received: 0, status: 'canceled', cancellation_reason: reason, latest_charge: 'ch_one' });
const cancelBooking = (server, { id, userId }) =>
    server.booking({ id, userId, status: 'CANCELLED', version: Date.now() + 100_000 });

// What must be the same whatever the order (E7): without ids, times and history.
const PASSING = /(^|_)(id|at|key)$|^(version|claim_id|open_op|subject_id|capture_before)$/;
const lasting = (row) => Object.fromEntries(Object.entries(row).filter(([name]) => !PASSING.test(name)));
const finalState = async (server, payment) => ({
    payment: lasting(await server.db.paymentRow(payment.id)),
    transactions: (await server.db.table('payment_transactions', `payment_id = ${server.db.blob(asHex(payment.id))}`)).map(lasting),
    refunds: (await server.db.refundRows(payment.id)).map(lasting),
});

// A call is heard of before its operation is put off: where time was moved in between, it has to move on.
const meanwhile = (server, what, read) => until(what, async () => {
    if (read()) return true;
    await server.advance(5 * 60_000);
    return read();
});

forEachStore((store, test) => {
    // --- what is unknown stays unknown ---

    test('D5 a refund killed after its call, then resumed at a dead gateway, is not taken for never sent: one refund, ever', async (t) => {
        const db = await fresh(t, store);
        const calm = await start(t, store, { db });
        const payment = await calm.captured();
        await calm.stop();
        const key = uuid();
        const dying = await launch(t, db, { env: {
            ICHIDO_FAULTS: 'op.answered=crash@1', ICHIDO_SANDBOX_WEBHOOKS: 'off' } }).listening();
        await dying.refund(payment, 500, { key }).catch(() => {});
        assert.equal((await dying.exit).signal, 'SIGKILL');
        const lonely = await start(t, store, { db, env: { STRIPE_API_BASE: 'http://127.0.0.1:1' } });
        await inTime(lonely, 'it was tried', async () => (await db.count('operations', `kind = 'refund' AND phase <> 'send'`)) === 1, 11_000);
        assert.equal(await db.count('operations', `kind = 'refund' AND phase = 'unknown'`), 1);
        assert.equal(await db.count('refunds', `status = 'failed'`), 0);
        assert.equal(await db.count('idempotency_records', `operation = 'REFUND' AND state = 'running'`), 1);
        const other = await lonely.refund(payment, 500);
        assert.equal(other.status, 503, other.text);
        await lonely.stop();
        const server = await start(t, store, { db, env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
        const answer = await inTime(server, 'an answer', async () => {
            const got = await server.refund(payment, 500, { key });
            return got.status === 200 && got;
        }, 11_000);
        assert.equal(answer.body.refundedAmount, 500);
        const replay = await server.refund(payment, 500, { key });
        assert.equal(replay.text, answer.text);
        const intent = await server.intentOf(payment);
        const { data } = await server.stripe(`/refunds?payment_intent=${intent.id}`);
        assert.deepEqual(data.map((one) => [one.amount, one.status]), [[500, 'succeeded']]);
        assert.deepEqual((await now(server, payment)).refunds.map((one) => [one.amount, one.status]), [[500, 'succeeded']]);
        assert.equal((await server.books(payment)).totals.refunded, 500);
        await nothingHangs(server);
    });

    test('D5 D6 the same with nobody asking again: the resolver finds the one refund, hours later', async (t) => {
        const db = await fresh(t, store);
        const calm = await start(t, store, { db });
        const payment = await calm.captured();
        await calm.stop();
        const dying = await launch(t, db, { env: {
            ICHIDO_FAULTS: 'op.answered=crash@1', ICHIDO_SANDBOX_WEBHOOKS: 'off' } }).listening();
        await dying.refund(payment, 500).catch(() => {});
        assert.equal((await dying.exit).signal, 'SIGKILL');
        const lonely = await start(t, store, { db, env: { STRIPE_API_BASE: 'http://127.0.0.1:1' } });
        for (let i = 0; i < 5; i++) {
            await lonely.advance(HOUR);
            await pause(50);
        }
        assert.equal(await db.count('operations', `kind = 'refund' AND phase = 'done'`), 0, 'a dead gateway proves nothing');
        await lonely.stop();
        const server = await start(t, store, { db, env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
        await idle(server);
        assert.equal((await now(server, payment)).refundedAmount, 500);
        assert.equal((await server.books(payment)).totals.refunded, 500);
    });

    test('P7 250 retries of one key at a failing gateway lock nothing: healed, the same key has its answer', async (t) => {
        const { gateway, server } = await played(t, store, { refund: () => broken(), askRefund: () => broken() });
        const payment = await server.captured();
        const key = uuid();
        for (let i = 0; i < 250; i++) {
            const answer = await server.refund(payment, 500, { key });
            assert.ok([502, 503, 504].includes(answer.status), `${i}: ${answer.text}`);
        }
        assert.equal(await server.db.count('dead_letters'), 0);
        assert.equal(new Set(gateway.of('refund').map((call) => call.key)).size, 1, 'a client has one key at the gateway');
        gateway.roles.refund = WELL.refund;
        const answer = await inTime(server, 'an answer', async () => {
            const got = await server.refund(payment, 500, { key });
            return got.status === 200 && got;
        });
        assert.equal(answer.body.refundedAmount, 500);
        await nothingHangs(server);
        assert.equal((await server.refund(payment, 700)).body.status, 'REFUNDED', 'and the payment can go on');
    });

    test('D6 what its client sent again a moment ago is not surely absent, however old the first send is', async (t) => {
        const { gateway, server } = await played(t, store, { create: () => broken(), ask: () => broken() });
        const booking = await server.booking();
        const key = uuid();
        assert.equal((await server.pay(booking, { key })).status, 502);
        await server.advance(20 * MINUTE);
        await until('the resolver has asked in vain', () => gateway.of('ask').length > 0);
        gateway.roles.ask = () => [200, { object: 'list', data: [], has_more: false, url: '/v1/payment_intents' }];
        const again = await server.pay(booking, { key });
        assert.ok([502, 503, 504].includes(again.status), again.text);
        assert.equal((await now(server, { id: again.body.paymentId })).status, 'PENDING');
        await status(server, { id: again.body.paymentId }, 'FAILED', MINUTE); // asked again in time, it is
    });

    test('P7 many at once with one key while its outcome is unknown neither lock it nor charge twice', async (t) => {
        const { gateway, server } = await played(t, store, { create: () => broken(), ask: () => broken() });
        const booking = await server.booking();
        const key = uuid();
        const many = async () => {
            for (let i = 0; i < 30; i++) {
                const answer = await server.pay(booking, { key });
                assert.ok([502, 503, 504].includes(answer.status), answer.text);
            }
        };
        await Promise.all(Array.from({ length: 8 }, many));
        assert.equal(await server.db.count('dead_letters'), 0);
        gateway.roles.create = WELL.create;
        const answer = await inTime(server, 'an answer', async () => {
            const got = await server.pay(booking, { key });
            return got.status < 300 && got;
        });
        assert.equal(answer.body.status, 'AUTHORIZED');
        assert.equal(new Set(gateway.of('create').map((call) => call.key)).size, 1);
        await nothingHangs(server);
    });

    test('P7 D6 a gateway that refuses our own credentials over a long weekend locks nothing: afterwards it is asked, and the place is free', async (t) => {
        const { gateway, server } = await played(t, store, { create: () => broken(401), ask: () => broken(401) });
        const booking = await server.booking();
        const key = uuid();
        const answer = await server.pay(booking, { key });
        assert.equal(answer.status, 502, answer.text);
        for (let hour = 0; hour < 60; hour++) {
            const before = gateway.calls.length;
            await server.advance(HOUR);
            await meanwhile(server, `it is asked for in hour ${hour}`, () => gateway.calls.length > before);
        }
        assert.equal(await server.db.count('dead_letters'), 0);
        gateway.roles.create = WELL.create;
        gateway.roles.ask = () => listOf([]);
        const sent = gateway.of('create').length;
        await status(server, { id: answer.body.paymentId }, 'FAILED');
        assert.equal(gateway.of('create').length, sent, 'nothing is sent after 23 hours');
        assert.equal((await now(server, { id: answer.body.paymentId })).failureReason, 'gateway_timeout');
        assert.equal((await server.pay(booking)).status, 201);
        await nothingHangs(server);
    });

    test('P7 D10 an answer about other money ends as 422 and frees the payment, instead of locking it for ever', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: (call) => [200, intentObject(call, { amount: 999_999 })],
        });
        const booking = await server.booking();
        const key = uuid();
        const answer = await server.pay(booking, { key });
        assert.equal(answer.status, 422, answer.text);
        assert.equal(answer.body.code, 'UNPROCESSABLE');
        await until('it is said', () => errors(server, `The gateway's answer does not fit the payment`).length === 1);
        await nothingHangs(server);
        const replay = await server.pay(booking, { key });
        assert.equal(replay.status, 422);
        assert.equal(replay.text, answer.text);
        assert.equal(gateway.of('create').length, 1);
        const row = await server.db.paymentRow(answer.body.paymentId);
        assert.equal(row.captured_amount, null, 'nothing of it was applied');
        assert.notEqual(row.status, 'AUTHORIZED');
    });

    test('D10 D1 a payment whose intent has the wrong amount can be voided, and then the place is free', async (t) => {
        const wrong = { amount: 999_999 };
        const { gateway, server } = await played(t, store, {
            create: (call) => [200, intentObject(call, wrong)],
            cancel: (call) => [200, intentObject(call, { ...canceled, ...wrong })],
            ask: (call) => [200, intentObject(call, { ...canceled, ...wrong })],
        });
        const booking = await server.booking();
        const { body: { paymentId: id } } = await server.pay(booking);
        const answer = await server.void({ id, userId: booking.userId });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.body.status, 'FAILED');
        assert.equal(gateway.of('cancel').length, 1);
        gateway.roles.create = (call) => [200, intentObject(call, { id: 'pi_played2' })];
        assert.equal((await server.pay(booking)).status, 201);
    });

    test('P7 a void whose answer was lost, of a payment that was authorised meanwhile, is unknown, not 422; it ends REFUNDED', async (t) => {
        const at = {};
        const { gateway, server } = await played(t, store, {
            create: (call) => [200, intentObject(call, asking)],
            cancel: async () => {
                if (at.told) return LOST;
                at.told = true;
                await tell(server, onPayment('payment_intent.amount_capturable_updated', at.payment,
                    { amount_received: 0, status: 'requires_capture' }));
                return LOST; // cancelled all the same
            },
            ask: () => broken(),
        });
        at.payment = await server.paid();
        assert.equal(at.payment.status, 'PENDING');
        const key = uuid();
        const answer = await server.void(at.payment, { key });
        assert.ok([502, 504].includes(answer.status), answer.text);
        assert.equal((await now(server, at.payment)).status, 'AUTHORIZED');
        assert.equal((await server.capture(at.payment)).status, 503, 'no other operation starts');
        gateway.roles.ask = (call) => [200, intentObject(call, canceled)];
        await status(server, at.payment, 'REFUNDED', MINUTE);
        const again = await server.void(at.payment, { key });
        assert.equal(again.status, 200, again.text);
        assert.equal(again.body.status, 'REFUNDED');
        await nothingHangs(server);
    });

    test('I2 the same key with other content is 409 at any moment, also while the first one is being answered', async (t) => {
        const at = {};
        const { server } = await played(t, store, {
            create: async (call) => { // from here on the claim is durable
                at.claimed();
                await pause(25);
                return [200, intentObject(call, { id: `pi_${unique()}` })];
            },
        });
        const seen = {};
        for (let round = 0; round < 40; round++) {
            const booking = await server.booking();
            const key = uuid();
            const claimed = new Promise((ready) => { at.claimed = ready; });
            let over = false;
            const first = server.pay(booking, { key }).finally(() => { over = true; });
            await claimed;
            const other = async () => {
                while (!over) {
                    const answer = await server.pay(booking, { key, amount: 77 });
                    seen[answer.status] = (seen[answer.status] ?? 0) + 1;
                    assert.equal(answer.status, 409, answer.text);
                    assert.equal(answer.body.code, 'IDEMPOTENCY_CONFLICT');
                }
            };
            await Promise.all(Array.from({ length: 12 }, other));
            assert.equal((await first).status, 201);
        }
        assert.ok(seen[409] > 100, `too few to prove anything: ${JSON.stringify(seen)}`);
    });

    // --- our own cancels and refunds ---

    test('D2 D21 our own cancel survives a failure that the sandbox keeps under its key', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
        const payment = await server.paid();
        await server.fault({ method: 'POST', path: '/v1/payment_intents/*/cancel', statusAfter: 500, times: 1 });
        await cancelBooking(server, payment.booking);
        await status(server, payment, 'REFUNDED');
        assert.equal((await server.intentOf(payment)).status, 'canceled');
        await nothingHangs(server);
    });

    test('D2 D21 a 500 that the gateway repeats for a key does not stop our own cancel: each send has a new key', async (t) => {
        const spoiled = new Set();
        const { gateway, server } = await played(t, store, {
            cancel: (call) => { // the first three keys are spoiled for ever
                if (spoiled.size < 3) spoiled.add(call.key);
                return spoiled.has(call.key) ? broken() : WELL.cancel(call);
            },
        });
        const payment = await server.paid();
        await cancelBooking(server, payment.booking);
        await status(server, payment, 'REFUNDED');
        const keys = gateway.of('cancel').map((call) => call.key);
        assert.equal(keys.length, 4);
        assert.equal(new Set(keys).size, 4);
        assert.deepEqual(await types(server, payment), ['PaymentCreated', 'PaymentAuthorized', 'PaymentRefunded']);
        await nothingHangs(server);
    });

    test('D2 D21 our own cancel is still sent when the gateway was dead for more than 23 hours', async (t) => {
        const { gateway, server } = await played(t, store, { cancel: () => broken(429), ask: () => broken(429) });
        const payment = await server.paid();
        await cancelBooking(server, payment.booking);
        for (let hour = 0; hour < 26; hour++) {
            const before = gateway.of('cancel').length;
            await server.advance(HOUR);
            await meanwhile(server, `it is sent in hour ${hour}`, () => gateway.of('cancel').length > before);
        }
        assert.equal((await now(server, payment)).status, 'AUTHORIZED');
        gateway.roles.cancel = WELL.cancel;
        await status(server, payment, 'REFUNDED');
        const keys = gateway.of('cancel').map((call) => call.key);
        assert.equal(new Set(keys).size, keys.length, 'no key twice');
        await nothingHangs(server);
    });

    test('D2 a stray refund that the gateway refuses is told and audited, and the next event tries again', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: declining,
            refund: () => refused('charge_disputed'),
        });
        const payment = await server.paid();
        assert.equal(payment.status, 'FAILED');
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await idle(server, 500); // not a minute: then it would be tried again by itself
        await until('it is said', () => errors(server, 'The gateway refused what we must do: look at it').length === 1);
        const [failed] = await audits(server, payment, `operation = 'REFUND' AND result = 'failure'`);
        assert.ok(failed, 'audited');
        assert.deepEqual((await server.db.refundRows(payment.id)).map((one) => one.status), ['failed']);
        gateway.roles.refund = WELL.refund;
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await idle(server);
        assert.deepEqual((await server.db.refundRows(payment.id)).map((one) => one.status).sort(), ['failed', 'succeeded']);
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await idle(server);
        assert.equal(gateway.of('refund').length, 2, 'and once it is back, no more');
        assert.equal((await now(server, payment)).status, 'FAILED');
        await nothingHangs(server);
    });

    test('D2 a stray refund that the gateway refuses for a while is tried again by itself, later and once', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: declining,
            refund: () => refused('balance_insufficient'),
        });
        const payment = await server.paid();
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await until('it was refused', async () => (await server.db.refundRows(payment.id))[0]?.status === 'failed');
        await server.advance(MINUTE - 10_000);
        await tell(server, onPayment('payment_intent.created', payment, { amount_received: 0, status: 'requires_payment_method' }));
        assert.equal(gateway.of('refund').length, 1, 'not before a minute has passed');
        gateway.roles.refund = WELL.refund;
        await server.advance(10_000);
        await until('it is back', async () => (await server.db.refundRows(payment.id)).some((one) => one.status === 'succeeded'));
        assert.deepEqual((await server.db.refundRows(payment.id)).map((one) => [one.status, one.amount, one.automatic]),
            [['failed', 1200, 1], ['succeeded', 1200, 1]]);
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await server.advance(24 * HOUR);
        await idle(server);
        const keys = gateway.of('refund').map((call) => call.key);
        assert.deepEqual([keys.length, new Set(keys).size], [2, 2], 'and once it is back, no more');
        assert.equal(await server.db.count('message', `kind = 'refund.again'`), 0);
        await nothingHangs(server);
    });

    test('D2 a refused stray refund that a repeated event has made meanwhile is not made again', async (t) => {
        const { gateway, server } = await played(t, store, { create: declining, refund: () => refused('balance_insufficient') });
        const payment = await server.paid();
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await until('it was refused', async () => (await server.db.refundRows(payment.id))[0]?.status === 'failed');
        gateway.roles.refund = (call) => [200, refundObject(call, { status: 'pending' })];
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await until('it is under way', async () => (await server.db.refundRows(payment.id))[1]?.gateway_refund_id);
        await server.advance(MINUTE);
        await until('nobody waits any more', async () => await server.db.count('message', `kind = 'refund.again'`) === 0);
        await idle(server);
        assert.deepEqual((await server.db.refundRows(payment.id)).map((one) => one.status), ['failed', 'pending']);
        assert.equal(gateway.of('refund').length, 2, 'one money, one refund that lives');
    });

    test('D2 D21 money for a cancelled booking goes back, and its payment does not stay PENDING: FAILED, and told', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: (call) => [200, intentObject(call, asking)],
            cancel: (call) => refused('payment_intent_unexpected_state', intentObject(call, succeeded)),
            ask: (call) => [200, intentObject(call, succeeded)],
        });
        const payment = await server.paid();
        await cancelBooking(server, payment.booking);
        await status(server, payment, 'FAILED', MINUTE);
        await idle(server);
        assert.deepEqual(gateway.of('refund').map((call) => [call.form.get('payment_intent'), call.form.get('amount')]), [['pi_played1', '1200']]);
        assert.deepEqual((await server.db.refundRows(payment.id)).map((one) => [one.status, one.amount, one.automatic]), [['succeeded', 1200, 1]]);
        const told = await types(server, payment);
        assert.equal(told.filter((type) => type === 'PaymentFailed').length, 1, `${told}`);
        assert.ok(!told.includes('PaymentCaptured'), `${told}`);
        assert.equal((await server.bookingNow(payment.bookingId)).status, 'CANCELLED');
        await nothingHangs(server);
    });

    test('D2 money on a second intent in the name of a payment goes back, and its own stays', async (t) => {
        const { gateway, server } = await played(t, store, {
            cancel: (call) => [200, intentObject(call, { ...canceled, id: call.path.split('/')[3] })],
        });
        const payment = await server.captured();
        const taken = { ...payment, gatewayTransactionId: 'pi_second' };
        const held = { ...payment, gatewayTransactionId: 'pi_third' };
        for (let i = 0; i < 2; i++) {
            await tell(server, onPayment('payment_intent.succeeded', taken));
            await tell(server, onPayment('payment_intent.amount_capturable_updated', held, { amount_received: 0, status: 'requires_capture' }));
        }
        await idle(server);
        assert.deepEqual(gateway.of('refund').map((call) => [call.form.get('payment_intent'), call.form.get('amount')]), [['pi_second', '1200']]);
        assert.deepEqual(gateway.of('cancel').map((call) => call.path), ['/v1/payment_intents/pi_third/cancel']);
        const after = await now(server, payment);
        assert.equal(after.status, 'CAPTURED');
        assert.equal(after.capturedAmount, 1200);
        assert.equal(after.refundedAmount ?? 0, 0);
        assert.equal(after.gatewayTransactionId, 'pi_played1');
        assert.equal(errors(server, 'Money on a second intent of a payment; it goes back').length, 2);
        assert.equal((await server.refund(payment)).body.status, 'REFUNDED', 'what is its own can still be refunded');
        await nothingHangs(server);
    });

    test('D2 a refund that somebody makes at the dashboard for the second intent is not counted as a refund of the payment', async (t) => {
        const { server } = await played(t, store, { refund: () => refused('charge_already_refunded') });
        const payment = await server.captured();
        const taken = { ...payment, gatewayTransactionId: 'pi_second' };
        await tell(server, onPayment('payment_intent.succeeded', taken));
        await tell(server, onRefund('refund.created', { id: `re_${unique()}`, amount: 1200, status: 'succeeded',
            payment_intent: 'pi_second', charge: 'ch_second' }));
        const after = await now(server, payment);
        assert.equal(after.status, 'CAPTURED');
        assert.equal(after.refundedAmount ?? 0, 0);
    });

    test('D2 our own refund whose send was lost and never arrived is sent again, with a new key, once that is sure', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: declining,
            refund: () => LOST,
        });
        const payment = await server.paid();
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await until('it was sent', () => gateway.of('refund').length > 0);
        await inTime(server, 'it was asked for', () => gateway.of('askRefund').length > 0, 5000);
        assert.equal(new Set(gateway.of('refund').map((call) => call.key)).size, 1, 'not before that');
        gateway.roles.refund = WELL.refund;
        await idle(server);
        assert.equal(new Set(gateway.of('refund').map((call) => call.key)).size, 2);
        assert.equal((await server.db.refundRows(payment.id)).filter((one) => one.status === 'succeeded').length, 1);
    });

    test('D2 our own refund that was done, with its answer lost and the gateway dead for a day, is found and not done twice', async (t) => {
        const done = [];
        const { gateway, server } = await played(t, store, {
            create: declining,
            refund: (call) => {
                if (!done.some((one) => one.key === call.key)) done.push({ key: call.key, refund: refundObject(call) });
                return LOST;
            },
            askRefund: () => broken(),
        });
        const payment = await server.paid();
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await until('it was sent', () => done.length > 0);
        for (let hour = 0; hour < 26; hour++) {
            await server.advance(HOUR);
            await pause(20);
        }
        gateway.roles.askRefund = () => listOf(done.map((one) => one.refund));
        await idle(server);
        assert.equal(done.length, 1);
        assert.deepEqual((await server.db.refundRows(payment.id)).map((one) => one.status), ['succeeded']);
    });

    // --- refunds ---

    test('D6 D12 a refund that surfaces after we called it failed is counted, and told as an error', async (t) => {
        const lost = {};
        const { server } = await played(t, store, {
            refund: (call) => {
                lost.refund ??= refundObject(call);
                return LOST;
            },
            ask: (call) => [200, intentObject(call, succeeded)],
        });
        const payment = await server.captured();
        const answer = await server.refund(payment, 500);
        assert.ok([502, 504].includes(answer.status), answer.text);
        await idle(server);
        assert.deepEqual((await server.db.refundRows(payment.id)).map((one) => one.status), ['failed']);
        const outcome = await tell(server, event('refund.updated', { data: { object: lost.refund } }));
        assert.equal(outcome.outcome, 'applied');
        const after = await now(server, payment);
        assert.equal(after.status, 'CAPTURED');
        assert.equal(after.refundedAmount, 500);
        assert.deepEqual(after.refunds.map((one) => [one.amount, one.status]), [[500, 'succeeded']]);
        await until('it is said', () => errors(server, 'A refund that was taken for failed came about').length === 1);
        assert.ok((await types(server, payment)).includes('PaymentRefunded'));
        assert.equal((await server.refund(payment, 701)).status, 422, 'it counts against what is left');
        await tell(server, event('refund.updated', { data: { object: lost.refund } }));
        assert.equal((await now(server, payment)).refundedAmount, 500, 'and once');
    });

    test('D12 200 refunds with the longest reasons there are still have an answer, and the 201st is 422', async (t) => {
        const { server } = await played(t, store, { refund: (call) => [200, refundObject(call)] });
        const character = { sqlite: (code) => `replace(printf('%200s', ''), ' ', char(${code}))`, postgres: (code) => `repeat(chr(${code}), 200)` };
        const id = { sqlite: 'randomblob(16)', postgres: `decode(md5(random()::text || i), 'hex')` };
        for (const code of [1, 0x1f600]) {
            const payment = await server.captured();
            await server.db.all(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 198)
                INSERT INTO refunds (id, payment_id, amount, reason, status, gateway_refund_id, automatic, created_at, updated_at)
                SELECT ${id[store.kind]}, ${server.db.blob(asHex(payment.id))}, 1, ${character[store.kind](code)},
                'succeeded', 're_many_${code}_' || i, 0, 1760000000000, 1760000000000 FROM n`);
            const reason = String.fromCodePoint(code).repeat(200);
            for (const expected of [199, 200]) {
                const answer = await server.refund(payment, 1, { reason });
                assert.equal(answer.status, 200, answer.text.slice(0, 300));
                assert.equal(answer.body.refundedAmount, expected);
                assert.equal(answer.body.refunds.length, expected);
                assert.ok(answer.body.refunds.every((one) => one.reason === reason));
            }
            assert.equal((await now(server, payment)).refunds.length, 200);
            const tooMany = await server.refund(payment, 1, { reason });
            assert.equal(tooMany.status, 422, tooMany.text.slice(0, 300));
            assert.equal((await server.payment(payment)).status, 200);
            const list = await server.call('GET', `/payments?bookingId=${payment.bookingId}`, { as: payment.userId });
            assert.equal(list.status, 200, list.text.slice(0, 300));
        }
        await nothingHangs(server);
    });

    test('D12 D1 a refund that fails after its success, while another payment has the place, is applied and told, and locks nobody', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured();
        await until('confirmed', async () => (await server.bookingNow(payment.bookingId)).status === 'CONFIRMED');
        assert.equal((await server.refund(payment)).body.status, 'REFUNDED');
        const { data: [refund] } = await server.stripe(`/refunds?payment_intent=${payment.gatewayTransactionId}`);
        const booking = await server.booking({ id: payment.bookingId, userId: payment.userId, version: Date.now() + 1000 });
        const second = await server.pay(booking);
        assert.equal(second.status, 201, second.text);
        const failed = onRefund('refund.failed', { ...refund, status: 'failed', failure_reason: 'lost_or_stolen_card' });
        assert.equal((await tell(server, failed)).outcome, 'applied');
        const after = await now(server, payment);
        assert.equal(after.refundedAmount, null, 'the true sum: nothing is back');
        assert.deepEqual(after.refunds.map((one) => one.status), ['failed']);
        await until('it is said', () => errors(server, 'A refund that had succeeded has failed').length === 1);
        assert.equal((await audits(server, payment, `operation = 'REFUND' AND result = 'failure'`)).length, 1);
        assert.equal(await server.db.count('dead_letters'), 0);
        assert.equal((await server.capture(second.body)).body.status, 'CAPTURED', 'the other one goes on');
    });

    if (store.kind === 'postgres')
        test('D12 D1 a refund that fails while a new payment is just being made on another node is applied behind it', async (t) => {
            const server = await start(t, store);
            const payment = await server.captured();
            await server.refund(payment);
            const { data: [refund] } = await server.stripe(`/refunds?payment_intent=${payment.gatewayTransactionId}`);
            const node = new pg.Client({ connectionString: server.db.url });
            await node.connect();
            t.atEnd(() => node.end());
            await node.query(`BEGIN; CREATE TEMP TABLE claimed ON COMMIT DROP AS SELECT * FROM payments;
                UPDATE claimed SET id = ${server.db.blob(asHex(uuid()))}, claim_id = ${server.db.blob(asHex(uuid()))}, status = 'PENDING',
                    captured_amount = NULL, refunded_amount = NULL, gateway_transaction_id = NULL;
                INSERT INTO payments SELECT * FROM claimed`);
            const failed = onRefund('refund.failed', { ...refund, status: 'failed', failure_reason: 'lost_or_stolen_card' });
            await server.deliver(failed);
            await until('it waits for the place', async () => (await server.db.all(`SELECT 1 FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%payments%'`)).length);
            await node.query('COMMIT');
            const outcome = await inTime(server, 'an outcome', () => server.db.outcome(failed.id), 1000);
            assert.equal(outcome.outcome, 'applied', `${outcome.detail}`);
            const after = await now(server, payment);
            assert.deepEqual([after.status, after.refundedAmount], ['REFUNDED', null], 'the place is taken; the sum is true');
            assert.equal(await server.db.count('dead_letters'), 0);
        });

    test('D12 a refund that fails after its success, with the place still free, makes the payment CAPTURED again', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured();
        await server.refund(payment);
        const { data: [refund] } = await server.stripe(`/refunds?payment_intent=${payment.gatewayTransactionId}`);
        await tell(server, onRefund('refund.failed', { ...refund, status: 'failed', failure_reason: 'lost_or_stolen_card' }));
        const after = await now(server, payment);
        assert.equal(after.status, 'CAPTURED');
        assert.equal(after.refundedAmount, null);
        await until('it is said', () => errors(server, 'A refund that had succeeded has failed').length === 1);
    });

    // --- the order of events ---

    test('E7 a refund made at the dashboard, heard of before the success, ends as in order: nothing is left to refund', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
        for (const amount of [1200, 700]) {
            const ends = [];
            for (const refundFirst of [false, true]) {
                const payment = await server.paid();
                const told = [
                    onPayment('payment_intent.succeeded', payment, { latest_charge: 'ch_one' }),
                    onRefund('refund.created', { id: `re_${unique()}`, amount, status: 'succeeded', payment_intent: payment.gatewayTransactionId, charge: 'ch_one' }),
                ];
                if (refundFirst) told.reverse();
                for (const one of told) assert.equal((await tell(server, one)).outcome, 'applied');
                const after = await now(server, payment);
                assert.equal(after.status, amount === 1200 ? 'REFUNDED' : 'CAPTURED');
                assert.equal(after.capturedAmount, 1200);
                assert.equal(after.refundedAmount, amount);
                assert.equal((await server.refund(payment, 1200)).status, 422);
                ends.push(await finalState(server, payment));
            }
            assert.deepEqual(ends[1], ends[0]);
        }
        assert.deepEqual(errors(server), []);
    });

    for (const reason of ['requested_by_customer', 'automatic']) {
        test(`E7 a cancel (${reason}), heard of before the authorisation, ends as in order: REFUNDED, no money goes back, nobody is alarmed`, async (t) => {
            const server = await start(t, store, { env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
            const ends = [];
            for (const cancelFirst of [false, true]) {
                const payment = await server.paid({ paymentMethod: ASKS });
                const told = [authorizedNews(payment), canceledNews(payment, reason)];
                if (cancelFirst) told.reverse();
                for (const one of told) await tell(server, one);
                assert.equal((await now(server, payment)).status, 'REFUNDED', `cancel first: ${cancelFirst}`);
                assert.deepEqual(await own(server, payment), []);
                assert.equal((await server.pay(payment.booking)).status, 201, 'the place is free');
                ends.push(await finalState(server, payment));
            }
            assert.deepEqual(errors(server), []);
            assert.deepEqual(ends[1], ends[0]);
        });
    }

    test('E7 D2 a stray authorisation that was cancelled, told in any order and twice, leaves the payment FAILED', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: (call) => [200, intentObject(call, { ...asking, id: `pi_${unique()}` })],
            cancel: () => broken(), // what cancels it in the end is told by events
        });
        const ends = [];
        for (const order of ['held gone', 'gone held', 'held gone held', 'held held gone']) {
            const payment = await server.paid();
            await cancelBooking(server, payment.booking);
            for (const name of order.split(' '))
                await tell(server, name === 'held' ? authorizedNews(payment) : canceledNews(payment, 'requested_by_customer'));
            assert.equal((await now(server, payment)).status, 'FAILED', order);
            assert.ok(!(await types(server, payment)).includes('PaymentRefunded'), order);
            ends.push(await finalState(server, payment));
        }
        for (const end of ends) assert.deepEqual(end, ends[0]);
        assert.equal(gateway.of('refund').length, 0);
    });

    test('E7 D6 a payment that was given up, whose intent surfaces and is cancelled, stays FAILED in any order', async (t) => {
        const { server } = await played(t, store, { create: () => LOST, cancel: () => broken(), ask: () => listOf([]) });
        for (const order of ['held gone', 'gone held', 'held gone held']) {
            const booking = await server.booking();
            const { body: { paymentId: id } } = await server.pay(booking);
            await status(server, { id }, 'FAILED');
            const surfaced = { id, gatewayTransactionId: `pi_${unique()}` };
            for (const name of order.split(' '))
                await tell(server, name === 'held' ? authorizedNews(surfaced) : canceledNews(surfaced, 'duplicate'));
            const after = await now(server, surfaced);
            assert.equal(after.status, 'FAILED', order);
            assert.equal(after.failureReason, 'gateway_timeout', order);
        }
    });

    // --- places, and what comes due ---

    test('D1 after a decline, a cancel that fails and a success that goes back, the place is free again', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: declining,
            cancel: () => broken(),
        });
        const payment = await server.paid();
        assert.equal(payment.status, 'FAILED');
        const early = await server.pay(payment.booking);
        assert.equal(early.status, 422, 'the intent may still be paid');
        assert.equal(early.body.code, 'PAYMENT_EXISTS');
        await tell(server, onPayment('payment_intent.succeeded', payment));
        await inTime(server, 'it is back', async () => (await server.db.count('refunds', `status = 'succeeded'`)) === 1, 5000);
        gateway.roles.create = (call) => [200, intentObject(call, { id: 'pi_played2' })];
        const again = await server.pay(payment.booking);
        assert.equal(again.status, 201, again.text);
        gateway.roles.cancel = (call) => refused('payment_intent_unexpected_state', intentObject(call, succeeded));
        await idle(server);
        assert.equal(gateway.of('refund').length, 1);
        assert.equal((await now(server, again.body)).status, 'AUTHORIZED');
        await nothingHangs(server);
    });

    test('D1 a create that is refused with an intent inside is FAILED; the intent is cancelled, and only then is the place free', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: (call) => refused('payment_intent_incompatible_payment_method', intentObject(call, { status: 'requires_payment_method' })),
            cancel: () => broken(),
        });
        const payment = await server.paid();
        assert.equal(payment.status, 'FAILED');
        assert.equal(payment.gatewayTransactionId, 'pi_played1');
        const early = await server.pay(payment.booking);
        assert.equal(early.status, 422, early.text);
        assert.equal(early.body.code, 'PAYMENT_EXISTS');
        gateway.roles.cancel = WELL.cancel;
        await idle(server);
        assert.ok(gateway.of('cancel').every((call) => call.path === '/v1/payment_intents/pi_played1/cancel'));
        gateway.roles.create = (call) => [200, intentObject(call, { id: 'pi_played2' })];
        assert.equal((await server.pay(payment.booking)).status, 201);
        await nothingHangs(server);
    });

    for (const [ends, wanted] of [['succeeded', 'CAPTURED'], ['canceled', 'FAILED']]) {
        test(`D23 an intent that stays processing is looked at again; when it is ${ends}, so are we`, async (t) => {
            const working = (call) => intentObject(call, { status: 'processing', client_secret: undefined });
            const { gateway, server } = await played(t, store, {
                create: (call) => [200, working(call)],
                cancel: (call) => refused('payment_intent_unexpected_state', working(call)),
                ask: (call) => [200, working(call)],
            });
            const payment = await server.paid();
            assert.equal(payment.status, 'PENDING');
            await inTime(server, 'somebody looks', () => gateway.calls.length > 2);
            const last = intentObject({ form: new URLSearchParams() }, ends === 'succeeded' ? succeeded : canceled);
            gateway.roles.ask = () => [200, last];
            gateway.roles.cancel = () => refused('payment_intent_unexpected_state', last);
            await status(server, payment, wanted);
            await idle(server);
            assert.equal(gateway.of('refund').length, 0);
            await nothingHangs(server);
        });
    }

    test('D23 eleven events that ask for 3-D Secure plan one abandonment: one cancel, FAILED abandoned', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: (call) => [200, intentObject(call, asking)],
        });
        const payment = await server.paid();
        for (let i = 0; i < 11; i++)
            await tell(server, onPayment('payment_intent.requires_action', payment, { ...asking, amount_received: 0, client_secret: 'pi_played1_secret_x' }));
        assert.equal(await server.db.count('message', `kind = 'payment.abandon'`), 1);
        await server.advance(61 * MINUTE);
        await status(server, payment, 'FAILED');
        assert.equal((await now(server, payment)).failureReason, 'abandoned');
        await idle(server);
        assert.equal((await own(server, payment, 'void')).length, 1);
        assert.equal(gateway.of('cancel').length, 1);
        assert.deepEqual(await types(server, payment), ['PaymentCreated', 'PaymentFailed']);
        await nothingHangs(server);
    });

    // --- campaigns ---

    const PRICE = 1200;
    const forSale = (server, positions = 2) => campaign(server, { layers: [{ name: 'A', price: PRICE, positions }] });
    const stop = (server, { id }) => server.call('POST', `/api/v1/campaigns/${id}/cancel`, { as: 'admin' });
    const sells = { create: (call) => [200, intentObject(call, succeeded)] };
    const byCampaign = async (server, payment) =>
        (await server.db.operations(payment.id)).filter((one) => one.cause === 'campaign_cancelled');
    const walks = (server) => server.db.count('message', `kind = 'campaign.cancel'`);
    const LEFT = 'Campaign cancelled, but a payment of it is left to an operator';

    for (const end of ['failed', 'canceled'])
        test(`C1 a refund of a cancelled campaign that is ${end} days later is made again, and a person is called`, async (t) => {
            const slow = [];
            const { gateway, server } = await played(t, store, { ...sells, refund: (call) => {
                slow.push(refundObject(call, { status: 'pending' }));
                return [200, slow.at(-1)];
            } });
            const c = await forSale(server);
            const { payment } = await bought(server, c.positions[0]);
            assert.equal((await stop(server, c)).status, 200);
            await until('it is on its way', () => slow.length === 1);
            for (let day = 0; day < 3; day++) await server.advance(24 * HOUR);
            assert.equal(slow.length, 1, 'one that is under way is waited for');
            assert.equal(await walks(server), 1);
            gateway.roles.refund = WELL.refund;
            await tell(server, onRefund(end === 'failed' ? 'refund.failed' : 'refund.updated', { ...slow[0], status: end }));
            await until('it is said', () => errors(server, 'A refund has failed: the money is still here').length === 1);
            assert.equal((await audits(server, payment, `operation = 'REFUND' AND detail LIKE '%still here'`)).length, 1);
            await status(server, payment, 'REFUNDED', HOUR);
            await inTime(server, 'the walk is over', async () => await walks(server) === 0, HOUR);
            assert.equal(gateway.of('refund').length, 2);
            assert.deepEqual((await server.db.refundRows(payment.id)).map((one) => one.status).sort(), [end, 'succeeded'].sort());
            await nothingHangs(server);
            await recount(server);
        });

    test('C1 a refund of a cancelled campaign that the gateway refuses is tried five times in hours, then a person is called, once', async (t) => {
        const { gateway, server } = await played(t, store, { ...sells, refund: () => refused('charge_already_refunded') });
        const c = await forSale(server);
        const { payment } = await bought(server, c.positions[0]);
        await stop(server, c);
        await until('the first try', () => gateway.of('refund').length === 1);
        for (let i = 0; i < 10; i++) { // not at every look
            await server.advance(5000);
            await pause(20);
        }
        assert.ok(gateway.of('refund').length <= 2, `${gateway.of('refund').length} within a minute`);
        await inTime(server, 'the walk is over', async () => await walks(server) === 0, HOUR, 60);
        await idle(server);
        assert.equal(gateway.of('refund').length, 5);
        assert.equal((await byCampaign(server, payment)).length, 5);
        await until('it is said', () => errors(server, LEFT).length === 1);
        assert.equal((await audits(server, payment, `operation = 'CAMPAIGN_CANCELLED'`)).length, 1);
        assert.equal((await now(server, payment)).status, 'CAPTURED');

        gateway.roles.refund = WELL.refund; // what failed is no refund: the operator makes his own
        assert.equal((await server.refund(payment, undefined, { as: 'admin' })).status, 200);
        assert.equal((await now(server, payment)).status, 'REFUNDED');
        await nothingHangs(server);
        await recount(server);
    });

    test('C1 D12 a refund of a cancelled campaign that had succeeded and comes back is made again', async (t) => {
        const made = [];
        const { gateway, server } = await played(t, store, { ...sells, refund: (call) => {
            made.push(refundObject(call));
            return [200, made.at(-1)];
        } });
        const c = await forSale(server);
        const { payment } = await bought(server, c.positions[0]);
        await stop(server, c);
        await status(server, payment, 'REFUNDED', 1000);
        await inTime(server, 'the walk is over', async () => await walks(server) === 0, 1000);
        await tell(server, onRefund('refund.failed', { ...made[0], status: 'failed' }));
        await inTime(server, 'another one', () => gateway.of('refund').length === 2, MINUTE);
        await status(server, payment, 'REFUNDED', MINUTE);
        await inTime(server, 'the walk is over', async () => await walks(server) === 0, MINUTE);
        await nothingHangs(server);
        await recount(server);
    });

    test('D12 refunds that failed do not use up the number of refunds; the newest are shown', async (t) => {
        const { gateway, server } = await played(t, store);
        const payment = await server.captured();
        gateway.roles.refund = () => refused('charge_already_refunded');
        const tries = Array.from({ length: 203 }, (_, i) => i);
        for (const i of tries) {
            const answer = await server.refund(payment, 1, { reason: `try ${i}` });
            assert.equal(answer.status, 422, answer.text);
        }
        gateway.roles.refund = WELL.refund;
        const last = await server.refund(payment, 1, { reason: 'at last' });
        assert.equal(last.status, 200, last.text);
        assert.equal(last.body.refunds.length, 200);
        assert.deepEqual([last.body.refunds.at(-1).reason, last.body.refunds[0].reason], ['at last', 'try 4']);
        await nothingHangs(server);
    });

    test('D10 D19 a purchase whose intent has the wrong amount ends with its reservation, and the position is free', async (t) => {
        const wrong = { amount: 999_999 };
        for (const [ends, reason] of [[canceled, 'abandoned'], [{ status: 'succeeded', amount_received: 999_999 }, 'gateway_mismatch']]) {
            const { gateway, server } = await played(t, store, {
                create: (call) => [200, intentObject(call, { ...asking, ...wrong })],
                cancel: (call) => (ends === canceled ? [200, intentObject(call, { ...ends, ...wrong })]
                    : refused('payment_intent_unexpected_state', intentObject(call, { ...wrong, ...ends }))),
            });
            const c = await forSale(server);
            const answer = await buy(server, c.positions[0]);
            assert.equal(answer.status, 422, answer.text);
            assert.equal((await rows.position(server, c.positions[0])).status, 'reserved');
            const payment = { id: answer.body.paymentId };
            await status(server, payment, 'FAILED', 5 * MINUTE);
            assert.equal((await now(server, payment)).failureReason, reason);
            assert.equal((await rows.position(server, c.positions[0])).status, 'available');
            await idle(server);
            assert.equal(gateway.of('cancel').length, 1);
            await nothingHangs(server);
            await recount(server);
        }
    });

    test('D19 konbini: without a slip a position waits as for a card, with one as long as the slip says', async (t) => {
        const waits = { status: 'requires_payment_method', amount_received: 0 };
        const { gateway, server } = await played(t, store, { create: (call) => [200, intentObject(call, { ...waits, id: `pi_${call.key.slice(-8)}` })],
            cancel: (call) => [200, intentObject(call, { ...canceled, id: call.path.split('/')[3] })] });
        const c = await forSale(server);
        const idle = await bought(server, c.positions[0], { type: 'konbini' });
        const slip = await bought(server, c.positions[1], { type: 'konbini' });
        for (const { purchase } of [idle, slip]) assert.equal(Date.parse(purchase.expiresAt) - Date.parse(purchase.createdAt), 15 * MINUTE);
        const ends = Math.floor(Date.now() / 1000) + 3 * 24 * 3600;
        await tell(server, onPayment('payment_intent.requires_action', slip.payment, { amount: PRICE, amount_received: 0, status: 'requires_action',
            client_secret: 'pi_x_secret_x', next_action: { type: 'konbini_display_details', konbini_display_details: { expires_at: ends } } }));
        assert.equal(Date.parse((await purchaseNow(server, slip.purchase)).purchase.expiresAt), ends * 1000 + HOUR);
        await status(server, idle.payment, 'FAILED', 5 * MINUTE);
        assert.equal((await rows.position(server, c.positions[0])).status, 'available');
        for (let hour = 0; hour < 71; hour++) await server.advance(HOUR);
        assert.equal((await now(server, slip.payment)).status, 'PENDING', 'its time is not up');
        assert.equal(gateway.of('cancel').length, 1);
        await status(server, slip.payment, 'FAILED', HOUR);
        assert.equal((await rows.position(server, c.positions[1])).status, 'available');
        await nothingHangs(server);
        await recount(server);
    });

    test('D19 D23 a booking\'s slip that its customer confirmed in the browser lives as long as it says', async (t) => {
        const waits = { status: 'requires_payment_method', amount_received: 0 };
        const { gateway, server } = await played(t, store, { create: (call) => [200, intentObject(call, { ...waits, id: `pi_${call.key.slice(-8)}` })],
            cancel: (call) => [200, intentObject(call, { ...canceled, id: call.path.split('/')[3] })] });
        const idle = await server.paid({ paymentMethodType: 'konbini' });
        const slip = await server.paid({ paymentMethodType: 'konbini' });
        for (const one of [idle, slip]) assert.deepEqual([one.status, one.requiresAction.type], ['PENDING', 'confirm']);
        const ends = Math.floor(Date.now() / 1000) + 4 * 24 * 3600;
        const shown = { amount: 1200, amount_received: 0, status: 'requires_action', client_secret: 'pi_x_secret_x',
            next_action: { type: 'konbini_display_details', konbini_display_details: { expires_at: ends } } };
        await tell(server, onPayment('payment_intent.requires_action', slip, shown));
        // What was said before the slip, and comes late, takes nothing from it.
        await tell(server, onPayment('payment_intent.created', slip, { amount: 1200, ...waits, client_secret: 'pi_x_secret_x', next_action: null }));
        await server.advance(61 * MINUTE);
        await status(server, idle, 'FAILED', MINUTE);
        const planned = () => server.db.messages().then((all) => all.filter((one) => one.kind === 'payment.abandon'));
        await until('its end is planned anew', async () => (await planned()).every((one) => one.ref === slip.id && Number(one.due_at) === ends * 1000 + HOUR));
        assert.equal((await planned()).length, 1);
        for (let hour = 2; hour < 95; hour++) await server.advance(HOUR);
        assert.equal((await now(server, slip)).status, 'PENDING', 'its time is not up');
        assert.equal(gateway.of('cancel').length, 1);
        await status(server, slip, 'FAILED', HOUR);
        assert.equal((await now(server, slip)).failureReason, 'abandoned');
        assert.ok(server.nowSeconds() >= ends + 3600);
        await nothingHangs(server);
    });

    test('D19 an intent that the gateway does not know any more: not believed at once, then given up, and a person is called', async (t) => {
        const missing = [404, { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such payment_intent.' } }];
        const { gateway, server } = await played(t, store, {
            create: (call) => [200, intentObject(call, asking)], cancel: () => missing,
        });
        const c = await forSale(server);
        const { purchase, payment } = await bought(server, c.positions[0]);
        await server.advance(16 * MINUTE);
        await until('it is asked', () => gateway.of('cancel').length === 1);
        assert.equal((await now(server, payment)).status, 'PENDING');
        await status(server, payment, 'FAILED', MINUTE);
        const sent = gateway.of('cancel').length;
        assert.equal((await now(server, payment)).failureReason, 'gateway_has_no_intent');
        assert.equal((await purchaseNow(server, purchase)).purchase.status, 'failed');
        assert.equal((await rows.position(server, c.positions[0])).status, 'available');
        await until('it is said', () => errors(server, 'A payment was given up: its intent at the gateway is wrong').length === 1);
        assert.equal((await audits(server, payment, `result = 'failure' AND detail = 'gateway_has_no_intent'`)).length, 1);
        await idle(server);
        await server.advance(24 * HOUR);
        await pause(100);
        assert.equal(gateway.of('cancel').length, sent, 'not sent for ever');
        await nothingHangs(server);
        await recount(server);
    });

    test('D19 D23 an operation that has no outcome for weeks does not save the payment from its end', async (t) => {
        const { gateway, server } = await played(t, store, {
            create: (call) => [200, intentObject(call, asking)], cancel: () => broken(), ask: () => broken(),
        });
        const c = await forSale(server);
        const { purchase, payment } = await bought(server, c.positions[0]);
        const asked = await server.call('POST', `/api/v1/purchases/${purchase.id}/cancel`, { as: purchase.userId, key: uuid(), body: {} });
        assert.ok(asked.status >= 500, asked.text);
        for (let hour = 0; hour < 24 * 5; hour++) { // more looks than there once were tries
            await server.advance(HOUR);
            await pause(15);
        }
        assert.equal(await server.db.count('message', `kind = 'payment.abandon'`), 1);
        assert.equal(await server.db.count('dead_letters'), 0);
        gateway.roles.ask = (call) => [200, intentObject(call, asking)]; // the cancel surely was not done: it is let go
        gateway.roles.cancel = WELL.cancel;
        await status(server, payment, 'FAILED', HOUR);
        assert.equal((await purchaseNow(server, purchase)).purchase.status, 'cancelled');
        await idle(server);
        await nothingHangs(server);
        await recount(server);
    });
});
