// What happens when the gateway declines, fails, is gone, is slow, or does it and never says so
// (P5 P6 P7 D5 D6 D9 D11 D13 D25 T4). Whatever it does: never a second charge, and in the end we know.
import net from 'node:net';
import {
    assert, fresh, forEachStore, launch, start, until, uuid,
} from './lib/harness.mjs';

const INTENTS = '/v1/payment_intents';
const CREATE = { path: INTENTS, method: 'POST' };
const MINUTE = 60_000;

function troubled(answer, status, code) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.body.code, code, answer.text);
    assert.match(answer.headers['retry-after'], /^\d+$/);
    return answer.body;
}

const replayed = (answer) => answer.headers['idempotent-replayed'] === 'true';

// The payment's state, once it has left PENDING or reached `wanted`; time is moved along meanwhile.
async function resolved(server, payment, wanted, stepMs = 5000) {
    for (let i = 0; i < 80; i++) {
        const { body } = await server.payment(payment, 'admin');
        if (body.status === wanted) return body;
        await server.advance(stepMs);
        await new Promise((next) => setTimeout(next, 30));
    }
    throw new Error(`never ${wanted}: ${(await server.payment(payment, 'admin')).text}\n${server.tail()}`);
}

// No operation of this payment is under way or unknown.
const decided = (server, id) => until('its operations are decided', async () => {
    const open = (await server.db.operations(id)).filter((one) => one.phase !== 'done');
    if (open.length) await server.advance(5000);
    return open.length === 0;
}, 60_000);

forEachStore((store, test) => {
    test('P5 a decline is no HTTP error: 201, FAILED, the reason, and the intent is dead', async (t) => {
        const server = await start(t, store);
        const rows = [
            ['pm_card_chargeDeclined', /declined/i], ['pm_card_chargeDeclinedInsufficientFunds', /insufficient/i],
            ['pm_card_chargeDeclinedExpiredCard', /expired/i], ['pm_card_chargeDeclinedFraudulent', /./],
        ];
        for (const [paymentMethod, reason] of rows) {
            const payment = await server.paid({ paymentMethod });
            assert.equal(payment.status, 'FAILED');
            assert.match(payment.failureReason, reason);
            assert.ok([...payment.failureReason].length <= 500);
            await until('the intent cannot be paid any more', async () =>
                (await server.intents(payment)).every((one) => one.status === 'canceled'));
            await until('the booking is free', async () => (await server.pay(payment.booking)).status === 201);
            const types = (await server.db.domainEvents(payment.id)).map((one) => one.type);
            assert.deepEqual(types, ['PaymentCreated', 'PaymentFailed']);
        }
        const { totals } = await server.books();
        assert.equal(totals.captured, 0);
    });

    test('P6 two failures are retried within the call, with the same gateway key: one charge', async (t) => {
        const server = await start(t, store);
        for (const statusBefore of [500, 503, 429, 409]) {
            await server.fault({ ...CREATE, statusBefore, times: 2 });
            const payment = await server.paid();
            assert.equal(payment.status, 'AUTHORIZED', `${statusBefore}`);
            assert.equal((await server.intents(payment)).length, 1);
        }
        await server.fault({ ...CREATE, dropBefore: true, times: 1 });
        assert.equal((await server.paid()).status, 'AUTHORIZED', 'a connection that broke');
    });

    test('T4 P6 I5 a gateway that keeps failing is 502 with the paymentId; the same key goes on', async (t) => {
        const server = await start(t, store);
        await server.fault({ ...CREATE, statusBefore: 500, times: 3 });
        const booking = await server.booking();
        const key = uuid();
        const problem = troubled(await server.pay(booking, { key }), 502, 'GATEWAY_ERROR');
        assert.match(problem.paymentId, /^[0-9a-f-]{36}$/);
        const { body } = await server.payment(problem.paymentId, booking.userId);
        assert.equal(body.status, 'PENDING');
        const again = await server.pay(booking, { key });
        assert.ok([200, 201].includes(again.status), again.text);
        assert.equal(again.body.id, problem.paymentId);
        assert.equal(again.body.status, 'AUTHORIZED');
        assert.equal((await server.intents()).length, 1);
        const last = await server.pay(booking, { key });
        assert.equal(last.status, 200);
        assert.ok(replayed(last));
        assert.equal(last.text, again.text);
    });

    test('P7 D1 while the outcome is unknown, another key is 422 PAYMENT_EXISTS and never charges', async (t) => {
        const server = await start(t, store);
        await server.fault({ path: INTENTS, statusBefore: 500, times: 1000 });
        const booking = await server.booking();
        const problem = troubled(await server.pay(booking), 502, 'GATEWAY_ERROR');
        const other = await server.pay(booking);
        assert.equal(other.status, 422);
        assert.equal(other.body.code, 'PAYMENT_EXISTS');
        assert.equal(other.body.paymentId, problem.paymentId);
        const busy = await server.void({ id: problem.paymentId, userId: booking.userId });
        assert.equal(busy.status, 503, busy.text);
        assert.equal(busy.body.code, 'OUTCOME_UNKNOWN');
        assert.equal(busy.body.paymentId, problem.paymentId);
        assert.match(busy.headers['retry-after'], /^\d+$/);
        await server.healed();
        assert.equal((await server.intents()).length, 0);
    });

    test('P6 a refused connection is 502, and the same key goes on when the gateway is back', async (t) => {
        const closed = await new Promise((resolve) => {
            const probe = net.createServer().listen(0, '127.0.0.1', () => {
                const { port } = probe.address();
                probe.close(() => resolve(port));
            });
        });
        const db = await fresh(t, store);
        const lonely = launch(t, db, { env: {
            ICHIDO_SANDBOX_LISTEN: 'off', STRIPE_API_BASE: `http://127.0.0.1:${closed}`,
        } });
        await lonely.listening();
        const booking = await lonely.booking();
        const key = uuid();
        const problem = troubled(await lonely.pay(booking, { key }), 502, 'GATEWAY_ERROR');
        await lonely.stop();
        const server = await start(t, store, { db });
        const again = await until('an answer', async () => {
            const got = await server.pay(booking, { key });
            return got.status < 300 && got;
        }, 60_000);
        assert.equal(again.body.id, problem.paymentId);
        assert.equal(again.body.status, 'AUTHORIZED');
        assert.equal((await server.intents()).length, 1);
    });

    test('P7 D6 the lost reply: charged, never told; the resolver finds out, nobody is charged twice', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ on: false }); // nobody helps
        await server.fault({ ...CREATE, dropAfter: true, times: 10 });
        const booking = await server.booking();
        const key = uuid();
        const problem = await server.pay(booking, { key });
        assert.ok([502, 504].includes(problem.status), problem.text);
        assert.equal((await server.payment(problem.body.paymentId, booking.userId)).body.status, 'PENDING');
        assert.equal((await server.intents()).length, 1, 'it did happen');
        await server.healed();
        const body = await resolved(server, problem.body.paymentId, 'AUTHORIZED');
        assert.match(body.gatewayTransactionId, /^pi_/);
        const again = await server.pay(booking, { key });
        assert.equal(again.status, 200);
        assert.equal(again.body.status, 'AUTHORIZED');
        assert.equal((await server.intents()).length, 1);
        assert.equal((await server.capture(body)).body.status, 'CAPTURED');
        const { totals } = await server.books();
        assert.deepEqual([totals.charges, totals.captured], [1, booking.amount]);
    });

    test('P7 the lost reply, and the client asks again with the same key: one charge', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ on: false });
        await server.fault({ ...CREATE, dropAfter: true, times: 2 });
        const booking = await server.booking();
        const key = uuid();
        const answer = await until('an answer', async () => {
            const got = await server.pay(booking, { key });
            return got.status < 300 && got;
        }, 60_000);
        assert.equal(answer.body.status, 'AUTHORIZED');
        assert.equal((await server.intents()).length, 1);
    });

    test('P8 the lost reply, and the webhook comes while the call still waits: 201, as if nothing had been', async (t) => {
        const server = await start(t, store);
        await server.fault({ ...CREATE, dropAfter: true, hangMs: 3000, times: 10 });
        const payment = await server.paid();
        assert.equal(payment.status, 'AUTHORIZED');
        assert.equal((await server.intents()).length, 1);
    });

    test('P7 the lost reply, and the webhook comes later: AUTHORIZED without asking', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ delayMs: 2500 });
        await server.fault({ ...CREATE, dropAfter: true, times: 10 });
        await server.fault({ path: INTENTS, method: 'GET', statusBefore: 500, times: 1000 });
        const booking = await server.booking();
        const problem = await server.pay(booking);
        assert.ok([502, 504].includes(problem.status), problem.text);
        const body = await until('the webhook has come', async () => {
            const got = await server.payment(problem.body.paymentId, booking.userId);
            return got.body.status === 'AUTHORIZED' && got.body;
        });
        await server.healed();
        assert.equal((await server.intents(body)).length, 1);
    });

    test('P7 D6 surely absent a quarter of an hour later: FAILED gateway_timeout, and the booking is free', async (t) => {
        const server = await start(t, store);
        await server.fault({ ...CREATE, dropBefore: true, times: 10 });
        const booking = await server.booking();
        const key = uuid();
        const problem = await server.pay(booking, { key });
        assert.ok([502, 504].includes(problem.status), problem.text);
        await server.healed();
        await server.advance(14 * MINUTE);
        assert.equal((await server.payment(problem.body.paymentId, booking.userId)).body.status, 'PENDING');
        await server.advance(2 * MINUTE);
        const body = await resolved(server, problem.body.paymentId, 'FAILED', MINUTE);
        assert.equal(body.failureReason, 'gateway_timeout');
        assert.equal((await server.intents()).length, 0);
        const again = await server.pay(booking, { key });
        assert.equal(again.status, 200);
        assert.equal(again.body.status, 'FAILED');
        assert.equal((await server.pay(booking)).status, 201, 'with a new key');
    });

    test('P7 D13 a lost capture: the state stays, other operations get 503 OUTCOME_UNKNOWN, then it is known', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({}, { amount: 900 });
        await server.webhooks({ on: false });
        await server.fault({ path: `${INTENTS}/*/capture`, dropAfter: true, times: 10 });
        await server.fault({ path: `${INTENTS}/*`, method: 'GET', statusBefore: 500, times: 1000 });
        const key = uuid();
        const problem = await server.capture(payment, 800, { key });
        assert.ok([502, 504].includes(problem.status), problem.text);
        assert.equal(problem.body.paymentId, payment.id);
        assert.equal((await server.payment(payment)).body.status, 'AUTHORIZED');
        for (const other of [await server.void(payment), await server.capture(payment, 900)]) {
            troubled(other, 503, 'OUTCOME_UNKNOWN');
            assert.equal(other.body.paymentId, payment.id);
        }
        await server.healed();
        const body = await resolved(server, payment, 'CAPTURED');
        assert.equal(body.capturedAmount, 800);
        const again = await server.capture(payment, 800, { key });
        assert.equal(again.status, 200);
        assert.equal(again.body.capturedAmount, 800);
        assert.equal((await server.books(payment)).totals.captured, 800);
    });

    test('P7 D12 a lost refund: its amount stays reserved, nothing goes back twice', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured({}, { amount: 1000 });
        await server.webhooks({ on: false });
        await server.fault({ path: '/v1/refunds', method: 'POST', dropAfter: true, times: 10 });
        await server.fault({ path: '/v1/refunds', method: 'GET', statusBefore: 500, times: 1000 });
        const key = uuid();
        const problem = await server.refund(payment, 700, { key });
        assert.ok([502, 504].includes(problem.status), problem.text);
        troubled(await server.refund(payment, 400), 503, 'OUTCOME_UNKNOWN');
        await server.healed();
        await decided(server, payment.id);
        const { body } = await server.payment(payment);
        assert.deepEqual([body.status, body.refundedAmount], ['CAPTURED', 700]);
        assert.equal((await server.refund(payment, 700, { key })).body.refundedAmount, 700);
        assert.equal((await server.refund(payment, 400)).status, 422);
        assert.equal((await server.refund(payment, 300)).body.status, 'REFUNDED');
        assert.equal((await server.books(payment)).totals.refunded, 1000);
    });

    test('P7 a lost void is found out', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        await server.webhooks({ on: false });
        await server.fault({ path: `${INTENTS}/*/cancel`, dropAfter: true, times: 10 });
        const problem = await server.void(payment);
        assert.ok([502, 504].includes(problem.status), problem.text);
        await server.healed();
        const body = await resolved(server, payment, 'REFUNDED');
        assert.deepEqual([body.capturedAmount, body.refundedAmount], [null, null]);
    });

    test('P6 a failing capture, refund or void that surely did nothing frees its key: 502, then it works', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({}, { amount: 500 });
        const steps = [
            [`${INTENTS}/*/capture`, (key) => server.capture(payment, undefined, { key }), 'CAPTURED'],
            ['/v1/refunds', (key) => server.refund(payment, undefined, { key }), 'REFUNDED'],
        ];
        for (const [path, act, status] of steps) {
            await server.fault({ path, method: 'POST', statusBefore: 503, times: 3 });
            const key = uuid();
            const problem = troubled(await act(key), 502, 'GATEWAY_ERROR');
            assert.equal(problem.paymentId, payment.id);
            const again = await until('it works', async () => {
                const got = await act(key);
                return got.status === 200 && got;
            }, 60_000);
            assert.equal(again.body.status, status);
        }
        const { totals } = await server.books(payment);
        assert.deepEqual([totals.captured, totals.refunded], [500, 500]);
    });

    test('P6 504: a gateway that is silent for 15 seconds; the payment stays PENDING and is resolved', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ on: false });
        await server.fault({ ...CREATE, dropAfter: true, hangMs: 60_000 });
        const booking = await server.booking();
        const key = uuid();
        const answer = await server.pay(booking, { key });
        const problem = troubled(answer, 504, 'GATEWAY_TIMEOUT');
        assert.ok(answer.ms > 14_000 && answer.ms < 29_000, `${answer.ms} ms`);
        const { body } = await server.payment(problem.paymentId, booking.userId);
        assert.equal(body.status, 'PENDING');
        await resolved(server, problem.paymentId, 'AUTHORIZED');
        assert.equal((await server.pay(booking, { key })).status, 200);
        assert.equal((await server.intents()).length, 1);
    });

    test('P8 a slow gateway holds up nobody: webhooks, replays and other payments go on', async (t) => {
        const server = await start(t, store);
        const done = await server.paid({ key: '018f9a3e-7b7a-7c3e-9a55-0242ac120002' });
        await server.fault({ ...CREATE, delayMs: 4000, times: 20 });
        const slow = await Promise.all(Array.from({ length: 20 }, () => server.booking()))
            .then((all) => all.map((booking) => server.pay(booking)));
        await until('they are under way', async () => (await server.db.payments(`status = 'PENDING'`)).length === 20);
        const replay = await server.pay(done.booking, { key: '018f9a3e-7b7a-7c3e-9a55-0242ac120002' });
        assert.equal(replay.status, 200);
        assert.ok(replay.ms < 1000, `${replay.ms} ms`);
        const quick = await server.paid();
        assert.equal(quick.status, 'AUTHORIZED');
        for (const answer of await Promise.all(slow)) assert.equal(answer.status, 201);
    });

    test('P6 the gateway charges, says 500, and charges nobody again on the retry', async (t) => {
        const server = await start(t, store);
        await server.fault({ ...CREATE, statusAfter: 500, times: 1 });
        const booking = await server.booking();
        const key = uuid();
        await until('it is known', async () => {
            const got = await server.pay(booking, { key });
            if (got.status >= 300) await server.advance(5000);
            return got.status < 300 && got.body.status === 'AUTHORIZED';
        }, 60_000);
        assert.equal((await server.intents()).length, 1);
    });

    test('D9 an authorisation that lapses is a void: REFUNDED, authorization_expired, and a capture is 422', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        await server.advance(8 * 24 * 60 * MINUTE);
        const body = await resolved(server, payment, 'REFUNDED', 60 * MINUTE);
        assert.deepEqual([body.capturedAmount, body.refundedAmount, body.failureReason], [null, null, 'authorization_expired']);
        const late = await server.capture(payment);
        assert.equal(late.status, 422);
        assert.equal(late.body.currentStatus, 'REFUNDED');
        assert.equal((await server.books(payment)).totals.captured, 0);
    });

    test('D9 a capture after the lapse that no webhook told of is 422, not a loop', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        await server.webhooks({ on: false });
        await server.advance(8 * 24 * 60 * MINUTE);
        await until('the gateway let it go', async () => (await server.intentOf(payment)).status === 'canceled');
        const late = await server.capture(payment);
        assert.equal(late.status, 422, late.text);
        assert.equal(late.body.currentStatus, 'REFUNDED');
        assert.equal(late.body.paymentId, payment.id);
    });

    test('P1 without a default method the client confirms: PENDING, requiresAction confirm with its secret', async (t) => {
        const bank = await start(t, store);
        const server = await start(t, store, { env: {
            ICHIDO_MODE: 'production', ICHIDO_GATEWAY: 'stripe', ICHIDO_TEST_CLOCK: undefined, ICHIDO_SANDBOX_LISTEN: undefined,
            ICHIDO_SANDBOX_DB: undefined, STRIPE_SECRET_KEY: 'sk_test_ichido_e2e', STRIPE_API_BASE: `http://127.0.0.1:${bank.sandboxPort}`,
        } });
        const payment = await server.paid();
        assert.equal(payment.status, 'PENDING');
        assert.equal(payment.requiresAction.type, 'confirm');
        assert.match(payment.requiresAction.clientSecret, /^pi_.*_secret_/);
        assert.equal((await bank.intentOf(payment)).status, 'requires_payment_method');
        const given = await server.paid({ paymentMethod: 'pm_card_visa' });
        assert.equal(given.status, 'AUTHORIZED', 'and with one it is confirmed at once');
    });
});
