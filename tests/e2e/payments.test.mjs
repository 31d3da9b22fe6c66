// Payments from the merchant's side: what they look like, how they move, and what never happens to them
// (P1 P2 P3 P4 P8 P9 P10 A2 D1 D3 D4 D8 D12 D23 T1 T4).
import {
    ADMIN_TOKEN, asUuid, assert, forEachStore, start, test, token, until, uuid,
} from './lib/harness.mjs';
import { description } from './lib/openapi.mjs';
import { quiet } from './lib/purchases.mjs';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const MAX = 99999999;

// The answer is a problem with this status and code; what it says about the payment comes back.
function refused(answer, status, code) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.body.code, code, answer.text);
    assert.match(answer.headers['content-type'], /^application\/problem\+json/);
    return answer.body;
}

const types = (events) => events.map((event) => event.type);

forEachStore((store, test) => {
    test('P1 a payment has the fields of 004 section 4, and null where there is nothing', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking({ amount: 4800 });
        const key = uuid();
        const before = Date.now() - 1000;
        const { status, body, headers } = await server.pay(booking, { key });
        assert.equal(status, 201);
        assert.deepEqual(Object.keys(body), ['id', 'bookingId', 'userId', 'amount', 'capturedAmount',
            'refundedAmount', 'currency', 'status', 'description', 'gatewayTransactionId', 'failureReason',
            'idempotencyKey', 'createdAt', 'updatedAt', 'requiresAction', 'disputed', 'refunds']);
        assert.match(body.id, UUID);
        assert.match(body.gatewayTransactionId, /^pi_/);
        for (const at of [body.createdAt, body.updatedAt]) {
            assert.match(at, TIME);
            assert.ok(Date.parse(at) >= before && Date.parse(at) <= Date.now() + 1000, at);
        }
        const { id, gatewayTransactionId, createdAt, updatedAt, ...rest } = body;
        assert.deepEqual(rest, {
            bookingId: booking.id, userId: booking.userId, amount: 4800, capturedAmount: null,
            refundedAmount: null, currency: 'JPY', status: 'AUTHORIZED', description: null,
            failureReason: null, idempotencyKey: key, requiresAction: null, disputed: false, refunds: [],
        });
        assert.equal(headers.location, `/payments/${id}`);
        assert.equal(headers['idempotent-replayed'], undefined);
        const got = await server.payment(body);
        assert.equal(got.status, 200);
        assert.deepEqual(got.body, body);
    });

    test('P1 T1 the smallest and the largest amount, every character of a description, either case', async (t) => {
        const server = await start(t, store);
        const rows = [
            [50, 'JPY', 'JPY', undefined], [MAX, 'JPY', 'JPY', 'x'.repeat(200)], [99, 'USD', 'usd', '😀'.repeat(200)],
            [1000, 'KWD', 'kwd', '宿泊「山の家」\n2 泊 "朝食付き" \\ \u0001'], [50, 'EUR', 'eUr', null],
        ];
        for (const [amount, currency, said, text] of rows) {
            const booking = await server.booking({ amount, currency });
            const { status, body } = await server.pay(booking, { currency: said, description: text });
            assert.equal(status, 201, JSON.stringify(body));
            assert.equal(body.amount, amount);
            assert.equal(body.currency, currency);
            assert.equal(body.description, text ?? null);
            const [intent] = await server.intents(body);
            assert.equal(intent.amount, amount);
            assert.equal(intent.currency, currency.toLowerCase());
        }
        // 1 is an amount to us; that it is too small for cards is the gateway's word, and no fault of the request.
        const { status, body } = await server.pay(await server.booking({ amount: 1 }));
        assert.deepEqual([status, body.amount, body.status], [201, 1, 'FAILED']);
        assert.match(body.failureReason, /amount_too_small|no less than/);
    });

    test('P2 every route stands under /api/v1 too, and Location stays there', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const made = await server.pay(booking, { path: '/api/v1/payments' });
        assert.equal(made.status, 201);
        assert.equal(made.headers.location, `/api/v1/payments/${made.body.id}`);
        const seen = await server.call('GET', made.headers.location, { as: booking.userId });
        assert.deepEqual(seen.body, made.body);
        assert.equal((await server.capture(made.body, undefined, { prefix: '/api/v1' })).body.status, 'CAPTURED');
        assert.equal((await server.refund(made.body, 200, { prefix: '/api/v1' })).body.refundedAmount, 200);
        const list = await server.call('GET', '/api/v1/payments', { as: booking.userId });
        assert.equal(list.body.data.length, 1);
        const other = await server.paid();
        assert.equal((await server.void(other, { prefix: '/api/v1' })).body.status, 'REFUNDED');
    });

    test('T4 authenticate, pay, look at the answer', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        assert.equal((await server.pay(booking, { bearer: 'nonsense' })).status, 401);
        const { status, body } = await server.pay(booking, { bearer: token(booking.userId) });
        assert.equal(status, 201);
        assert.equal(body.status, 'AUTHORIZED');
        const intent = await server.intentOf(body);
        assert.equal(intent.status, 'requires_capture');
        assert.equal(intent.id, body.gatewayTransactionId);
        assert.equal(intent.amount_capturable, booking.amount);
        assert.deepEqual(types(await server.db.domainEvents(body.id)), ['PaymentCreated', 'PaymentAuthorized']);
        const [row] = await server.db.audit(`operation = 'CREATE'`);
        assert.equal(row.result, 'success');
    });

    test('T4 create, capture, refund', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({}, { amount: 3000 });
        const captured = await server.capture(payment);
        assert.equal(captured.status, 200);
        assert.equal(captured.headers['idempotent-replayed'], undefined);
        assert.equal(captured.body.status, 'CAPTURED');
        assert.equal(captured.body.capturedAmount, 3000);
        assert.equal(captured.body.refundedAmount, null);
        const back = await server.refund(payment, undefined, { reason: 'キャンセル' });
        assert.equal(back.status, 200);
        assert.equal(back.body.status, 'REFUNDED');
        assert.equal(back.body.refundedAmount, 3000);
        assert.equal(back.body.refunds.length, 1);
        const [refund] = back.body.refunds;
        assert.match(refund.id, UUID);
        assert.deepEqual([refund.amount, refund.status, refund.reason, refund.failureReason],
            [3000, 'succeeded', 'キャンセル', null]);
        assert.deepEqual((await server.payment(payment)).body, back.body);
        const intent = await server.intentOf(payment);
        assert.equal(intent.status, 'succeeded');
        assert.equal(intent.amount_received, 3000);
        assert.deepEqual(types(await server.db.domainEvents(payment.id)),
            ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured', 'PaymentRefunded']);
        const audit = await server.db.audit(`operation IN ('CREATE', 'CAPTURE', 'REFUND')`);
        assert.deepEqual(audit.map((row) => [row.operation, row.result]),
            [['CREATE', 'success'], ['CAPTURE', 'success'], ['REFUND', 'success']]);
    });

    test('P3 what the state does not allow is 422 with the state, and nothing changes', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ on: false });
        const at = {
            PENDING: await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' }),
            AUTHORIZED: await server.paid(),
            CAPTURED: await server.captured(),
            REFUNDED: await server.captured(),
            FAILED: await server.paid({ paymentMethod: 'pm_card_chargeDeclined' }),
        };
        await server.refund(at.REFUNDED);
        const voided = await server.paid();
        await server.void(voided);
        const rows = [
            ['PENDING', at.PENDING, ['capture', 'refund']], ['AUTHORIZED', at.AUTHORIZED, ['refund']],
            ['CAPTURED', at.CAPTURED, ['capture', 'void']], ['REFUNDED', at.REFUNDED, ['capture', 'refund', 'void']],
            ['REFUNDED', voided, ['capture', 'refund', 'void']], ['FAILED', at.FAILED, ['capture', 'refund', 'void']],
        ];
        await quiet(server);
        for (const [state, payment, verbs] of rows) {
            for (const verb of verbs) {
                const before = await server.db.state();
                const problem = refused(await server.operate(verb, payment), 422, 'UNPROCESSABLE');
                assert.equal(problem.currentStatus, state, verb);
                assert.equal(problem.paymentId, payment.id);
                assert.deepEqual(await server.db.state(), before, `${verb} on ${state}`);
            }
        }
    });

    test('P4 T1 a partial capture takes a part, the whole takes all, more is 422', async (t) => {
        const server = await start(t, store);
        const rows = [[1, 1], [999, 999], [1000, 1000], [undefined, 1000]];
        for (const [asked, taken] of rows) {
            const payment = await server.paid({}, { amount: 1000 });
            const { status, body } = await server.capture(payment, asked);
            assert.equal(status, 200, JSON.stringify(body));
            assert.deepEqual([body.status, body.amount, body.capturedAmount], ['CAPTURED', 1000, taken]);
            const intent = await server.intentOf(payment);
            assert.deepEqual([intent.status, intent.amount_received], ['succeeded', taken]);
            refused(await server.capture(payment, 1), 422, 'UNPROCESSABLE');
        }
        const payment = await server.paid({}, { amount: 1000 });
        for (const more of [1001, MAX]) {
            const problem = refused(await server.capture(payment, more), 422, 'UNPROCESSABLE');
            assert.equal(problem.currentStatus, 'AUTHORIZED');
        }
        assert.equal((await server.capture(payment)).body.capturedAmount, 1000);
    });

    test('P4 D12 T1 several partial refunds, REFUNDED only when all is back, never more than was taken', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({}, { amount: 1000 });
        await server.capture(payment, 900);
        const problem = refused(await server.refund(payment, 901), 422, 'UNPROCESSABLE');
        assert.equal(problem.currentStatus, 'CAPTURED');
        const steps = [[300, 300, 'CAPTURED'], [1, 301, 'CAPTURED'], [598, 899, 'CAPTURED'], [undefined, 900, 'REFUNDED']];
        for (const [amount, sum, status] of steps) {
            const { body } = await server.refund(payment, amount);
            assert.deepEqual([body.refundedAmount, body.status], [sum, status]);
        }
        const { body } = await server.payment(payment);
        assert.deepEqual(body.refunds.map((one) => one.amount), [300, 1, 598, 1]);
        assert.equal(new Set(body.refunds.map((one) => one.id)).size, 4);
        refused(await server.refund(payment, 1), 422, 'UNPROCESSABLE');
        const refunds = await server.stripe('/refunds?limit=100');
        assert.equal(refunds.data.reduce((sum, one) => sum + one.amount, 0), 900);
        const events = (await server.db.domainEvents(payment.id)).filter((one) => one.type === 'PaymentRefunded');
        assert.deepEqual(events.map((one) => one.body.payload.refundAmount), [300, 1, 598, 1]);
        assert.deepEqual(events.map((one) => one.body.payload.refundedAmount), [300, 301, 899, 900]);
        assert.deepEqual(events.map((one) => one.body.payload.voided), [false, false, false, false]);
    });

    test('D12 refunds that come at once never give back more than was taken', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured({}, { amount: 1000 });
        const answers = await Promise.all(Array.from({ length: 12 }, () => server.refund(payment, 300)));
        const good = answers.filter((answer) => answer.status === 200);
        for (const answer of answers.filter((one) => one.status !== 200))
            assert.ok([422, 503].includes(answer.status), answer.text);
        assert.ok(good.length >= 1 && good.length <= 3, `${good.length} of them`);
        const rest = await server.refund(payment);
        assert.equal(rest.body.status, 'REFUNDED');
        const refunds = await server.stripe('/refunds?limit=100');
        assert.equal(refunds.data.reduce((sum, one) => sum + one.amount, 0), 1000);
    });

    test('D12 a refund that fails after it succeeded is taken back from the sum', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured({ paymentMethod: 'pm_card_refundFail' }, { amount: 700 });
        const { status } = await server.refund(payment, 200);
        assert.equal(status, 200);
        const body = await until('the failure has come', async () => {
            const { body: now } = await server.payment(payment);
            return now.refunds[0].status === 'failed' && now;
        });
        assert.deepEqual([body.status, body.refundedAmount ?? 0], ['CAPTURED', 0]);
        assert.ok(body.refunds[0].failureReason);
        assert.equal((await server.refund(payment, 700)).status, 200, 'all of it may be tried again');
    });

    test('P3 D8 a void lets go of the money: REFUNDED, nothing captured, nothing refunded', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const { status, body } = await server.void(payment);
        assert.equal(status, 200);
        assert.deepEqual([body.status, body.capturedAmount, body.refundedAmount, body.refunds],
            ['REFUNDED', null, null, []]);
        assert.equal((await server.intentOf(payment)).status, 'canceled');
        const [event] = (await server.db.domainEvents(payment.id)).filter((one) => one.type === 'PaymentRefunded');
        assert.equal(event.body.payload.voided, true);
        assert.equal(event.body.payload.refundAmount, 0);
        assert.equal((await server.pay(payment.booking)).status, 201, 'the booking can be paid again');
    });

    test('D8 the database itself refuses money that does not add up', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({}, { amount: 1000 });
        const bad = [
            'captured_amount = 1001', 'captured_amount = 0', 'captured_amount = -1', 'refunded_amount = 1',
            'captured_amount = 500, refunded_amount = 501', 'captured_amount = 500, refunded_amount = -1',
            'amount = 0', `status = 'PAID'`, `idempotency_key = NULL`, `booking_id = NULL`,
        ];
        for (const change of bad)
            await assert.rejects(server.db.all(`UPDATE payments SET ${change}`), change);
        assert.equal((await server.db.paymentRow(payment.id)).amount, 1000);
    });

    test('P10 D3 D4 the tables have the columns, constraints and indexes of 004 section 7', async (t) => {
        const server = await start(t, store);
        const names = async (table) => (await server.db.columns(table)).map((column) => column.name);
        const payments = await names('payments');
        for (const column of ['id', 'booking_id', 'user_id', 'amount', 'captured_amount', 'refunded_amount',
            'currency', 'status', 'description', 'gateway_transaction_id', 'failure_reason', 'idempotency_key',
            'created_at', 'updated_at'])
            assert.ok(payments.includes(column), `payments.${column}`);
        const keys = await names('idempotency_records');
        for (const column of ['idempotency_key', 'request_hash', 'response_status', 'response_body', 'created_at', 'expires_at'])
            assert.ok(keys.includes(column), `idempotency_records.${column}`);
        const indexes = await server.db.all(store.kind === 'sqlite'
            ? `SELECT name FROM sqlite_master WHERE type = 'index'` : 'SELECT indexname AS name FROM pg_indexes');
        for (const index of ['idx_payments_booking_id', 'idx_payments_user_id', 'idx_payments_idempotency_key',
            'idx_payments_status_created', 'idx_idempotency_records_expires_at'])
            assert.ok(indexes.some((one) => one.name === index), index);
        await server.paid();
        await assert.rejects(server.db.all(`UPDATE idempotency_records SET response_body = NULL`), 'D4');
        await assert.rejects(server.db.all(`UPDATE idempotency_records SET state = 'running'`), 'D4');
        await assert.rejects(server.db.all(`UPDATE idempotency_records SET request_hash = 'short'`));
    });

    test('P4 3-D Secure: PENDING with an address, and AUTHORIZED when the customer has been there', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' });
        assert.equal(payment.status, 'PENDING');
        assert.equal(payment.requiresAction.type, 'redirect_to_url');
        assert.match(payment.requiresAction.url, /^http/);
        assert.match(payment.gatewayTransactionId, /^pi_/);
        await server.authenticate(payment);
        const body = await until('the webhook has brought it on', async () => {
            const { body: now } = await server.payment(payment);
            return now.status === 'AUTHORIZED' && now;
        });
        assert.equal(body.requiresAction, null);
        assert.equal((await server.capture(payment)).body.status, 'CAPTURED');
    });

    test('P4 3-D Secure that the customer fails is FAILED, and the booking can be paid again', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' });
        await server.authenticate(payment, false);
        const body = await until('it is known', async () => {
            const { body: now } = await server.payment(payment);
            return now.status === 'FAILED' && now;
        });
        assert.equal(body.requiresAction, null);
        assert.ok(body.failureReason);
        const again = await until('the old intent is dead', async () => {
            const answer = await server.pay(payment.booking);
            return answer.status === 201 && answer;
        });
        assert.equal(again.body.status, 'AUTHORIZED');
    });

    test('D23 3-D Secure that nobody finishes is cancelled after an hour: FAILED abandoned', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' });
        await server.advance(59 * 60_000);
        assert.equal((await server.payment(payment)).body.status, 'PENDING');
        await server.advance(61_000);
        const body = await until('it is given up', async () => {
            const { body: now } = await server.payment(payment);
            return now.status === 'FAILED' && now;
        });
        assert.equal(body.failureReason, 'abandoned');
        await until('the gateway knows', async () => (await server.intentOf(payment)).status === 'canceled');
        await until('and the place is free', async () => (await server.pay(payment.booking)).status === 201);
    });

    test('D23 a void on PENDING cancels it: FAILED, and no money can land', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' });
        const { status, body } = await server.void(payment);
        assert.equal(status, 200);
        assert.equal(body.status, 'FAILED');
        assert.equal((await server.intentOf(payment)).status, 'canceled');
        assert.equal((await server.pay(payment.booking)).status, 201);
    });

    test('D1 one live payment for a booking, whatever the key; its id is told', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const first = await server.pay(booking);
        const problem = refused(await server.pay(booking), 422, 'PAYMENT_EXISTS');
        assert.equal(problem.paymentId, first.body.id);
        await server.capture(first.body);
        assert.equal((await server.pay(booking)).status, 422, 'paid, and soon CONFIRMED');
        assert.equal((await server.intents()).length, 1);
        assert.equal((await server.db.payments()).length, 1);
    });

    test('D1 twenty keys at once for one booking: one payment, one charge', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const answers = await Promise.all(Array.from({ length: 20 }, () => server.pay(booking)));
        const made = answers.filter((answer) => answer.status === 201);
        assert.equal(made.length, 1);
        for (const answer of answers.filter((one) => one.status !== 201))
            assert.equal(refused(answer, 422, 'PAYMENT_EXISTS').paymentId, made[0].body.id);
        assert.equal((await server.intents()).length, 1);
        assert.equal((await server.db.keys()).length, 1, 'who was refused claimed nothing');
    });

    test('B1 only what the booking says can be paid: unknown 404, another amount or currency 422, not payable 422', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking({ amount: 500, currency: 'USD' });
        refused(await server.pay({ ...booking, id: uuid() }), 404, 'NOT_FOUND');
        refused(await server.pay(booking, { amount: 501 }), 422, 'UNPROCESSABLE');
        refused(await server.pay(booking, { currency: 'EUR' }), 422, 'UNPROCESSABLE');
        for (const status of ['CONFIRMED', 'CANCELLED'])
            refused(await server.pay(await server.booking({ status })), 422, 'UNPROCESSABLE');
        assert.equal((await server.db.payments()).length, 0);
        assert.equal((await server.db.keys()).length, 0);
        assert.equal((await server.intents()).length, 0);
    });

    test('A2 another user gets 403 and no word about the payment; service and admin may', async (t) => {
        const server = await start(t, store);
        const stranger = uuid();
        const payment = await server.captured({}, { amount: 1000 });
        const open = await server.booking();
        const tries = [
            server.pay(open, { as: stranger }), server.payment(payment, stranger),
            ...['capture', 'refund', 'void'].map((verb) => server.operate(verb, payment, { as: stranger })),
        ];
        for (const answer of await Promise.all(tries)) {
            const problem = refused(answer, 403, 'FORBIDDEN');
            assert.deepEqual(Object.keys(problem), ['type', 'title', 'status', 'detail', 'code', 'instance']);
            for (const secret of [payment.id, payment.gatewayTransactionId, payment.userId])
                assert.ok(!answer.text.includes(secret));
        }
        const mine = await server.call('GET', '/payments', { as: stranger });
        assert.deepEqual(mine.body, { data: [], nextCursor: null });
        const service = token(uuid(), 'service');
        assert.equal((await server.call('GET', `/payments/${payment.id}`, { bearer: service })).status, 200);
        assert.equal((await server.refund(payment, 100, { bearer: service })).status, 200);
        const made = await server.pay(open, { bearer: service });
        assert.equal(made.status, 201);
        assert.equal(made.body.userId, open.userId, 'it is the owner\'s payment, whoever makes it');
        assert.equal((await server.capture(made.body, undefined, { bearer: ADMIN_TOKEN })).status, 200);
    });

    test('A2 ICHIDO_OWNER_MAY narrows what owners may; service still may', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_OWNER_MAY: 'create,read' } });
        const payment = await server.paid();
        for (const verb of ['capture', 'refund', 'void'])
            refused(await server.operate(verb, payment, { body: { nonsense: 1 } }), 403, 'FORBIDDEN');
        assert.equal((await server.payment(payment)).status, 200);
        const answer = await server.capture(payment, undefined, { bearer: token(uuid(), 'service') });
        assert.equal(answer.body.status, 'CAPTURED');
    });

    test('P2 the list: newest first, filtered, page by page, nothing twice and nothing left out', async (t) => {
        const server = await start(t, store);
        const user = uuid();
        const made = [];
        for (let i = 0; i < 7; i++) made.push((await server.paid({}, { userId: user })).id);
        await server.paid();
        const newest = [...made].reverse();
        const list = (query, options = { as: user }) => server.call('GET', `/payments${query}`, options);
        const all = await list('');
        assert.deepEqual(all.body.data.map((one) => one.id), newest);
        assert.equal(all.body.nextCursor, null);
        assert.deepEqual(all.body.data[0], (await server.payment(all.body.data[0])).body);
        const seen = [];
        for (let cursor = ''; cursor !== null;) {
            const { body } = await list(`?limit=3${cursor && `&cursor=${cursor}`}`);
            seen.push(...body.data.map((one) => one.id));
            cursor = body.nextCursor;
        }
        assert.deepEqual(seen, newest);
        assert.equal((await list('?limit=7')).body.nextCursor, null, 'exactly full is the last page');
        await server.capture({ id: made[2], userId: user });
        assert.deepEqual((await list('?status=CAPTURED')).body.data.map((one) => one.id), [made[2]]);
        const { bookingId } = all.body.data[0];
        assert.deepEqual((await list(`?bookingId=${bookingId}&status=AUTHORIZED`)).body.data.map((one) => one.id), [newest[0]]);
        assert.equal((await list('', { as: 'admin' })).body.data.length, 8);
        assert.equal((await list(`?userId=${user}&limit=100`, { as: 'admin' })).body.data.length, 7);
        assert.equal((await list(`?userId=${uuid()}`, { as: 'admin' })).body.data.length, 0);
    });

    test('P2 a list\'s parameters are checked, all of them at once, in the client\'s language', async (t) => {
        const server = await start(t, store);
        const rows = [
            ['?limit=0', ['limit']], ['?limit=101', ['limit']], ['?limit=ten', ['limit']], ['?limit=1&limit=2', ['limit']],
            ['?status=PAID&bookingId=7&cursor=!', ['status', 'bookingId', 'cursor']],
            ['?cursor=AAAA', ['cursor']], ['?cursor=AAAAAAAAAAAAAAAAAAAAA_', ['cursor']], ['?bookingid=x', ['bookingid']],
            ['?page=2&sort=up', ['page', 'sort']], ['?userId=0190a6f2-3b5c-7d8e-9f01-23456789abcd', ['userId']],
            ['?status', ['status']],
        ];
        for (const [query, fields] of rows) {
            const problem = refused(await server.call('GET', `/payments${query}`, { as: uuid() }), 400, 'VALIDATION_ERROR');
            assert.deepEqual(problem.errors.map((one) => one.field), fields, query);
        }
        const ja = await server.call('GET', '/payments?limit=0', { as: uuid(), headers: { 'Accept-Language': 'ja' } });
        assert.equal(ja.body.errors[0].message, '1〜100 の整数にしてください');
    });

    test('P2 an id that is no UUID is 400, an unknown one 404, without a token 401', async (t) => {
        const server = await start(t, store);
        const as = uuid();
        refused(await server.call('GET', '/payments/7', { as }), 400, 'VALIDATION_ERROR');
        refused(await server.call('GET', `/payments/${uuid()}`, { as }), 404, 'NOT_FOUND');
        for (const verb of ['capture', 'refund', 'void']) {
            const problem = refused(await server.call('POST', `/payments/7/${verb}`, { as }), 400, 'VALIDATION_ERROR');
            assert.deepEqual(problem.errors.map((one) => one.field), ['Idempotency-Key', 'id']);
            refused(await server.operate(verb, { id: uuid() }, { as }), 404, 'NOT_FOUND');
            const open = await server.call('POST', `/payments/${uuid()}/${verb}`);
            refused(open, 401, 'UNAUTHORIZED');
            assert.match(open.headers['www-authenticate'], /^Bearer/);
        }
        refused(await server.call('GET', '/payments'), 401, 'UNAUTHORIZED');
        refused(await server.call('GET', `/payments/${uuid()}`), 401, 'UNAUTHORIZED');
        refused(await server.call('POST', '/payments', { body: 'not even JSON' }), 401, 'UNAUTHORIZED');
        assert.equal((await server.call('DELETE', `/payments/${uuid()}`, { as })).status, 405);
    });

    test('P8 webhooks that come before, during and after the answer move the payment once', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ duplicate: 3, reorder: true });
        const all = await Promise.all(Array.from({ length: 10 }, () => server.captured({}, { amount: 900 })));
        await Promise.all(all.map((one) => server.refund(one, 400)));
        for (const { id } of all) {
            const events = await server.db.domainEvents(id);
            assert.deepEqual(types(events), ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured', 'PaymentRefunded']);
        }
        await until('every webhook was applied', async () => {
            const { n } = (await server.db.all(`SELECT count(*) AS n FROM message WHERE kind = 'stripe.event'`))[0];
            const webhooks = await server.db.count('webhook_events');
            return n === 0 && webhooks >= 30;
        });
        for (const one of all) {
            const { body } = await server.payment(one);
            assert.deepEqual([body.status, body.capturedAmount, body.refundedAmount], ['CAPTURED', 900, 400]);
            assert.equal((await server.db.domainEvents(one.id)).length, 4);
        }
        assert.equal((await server.db.dead()).length, 0);
    });

    test('B3 a captured payment confirms its booking; a failed one leaves it PENDING', async (t) => {
        const server = await start(t, store);
        const good = await server.captured();
        const bad = await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });
        await until('CONFIRMED', async () => (await server.bookingNow(good.bookingId)).status === 'CONFIRMED');
        assert.equal((await server.bookingNow(bad.bookingId)).status, 'PENDING');
        assert.equal((await server.pay(good.booking)).status, 422);
    });

    test('O6 every operation has its audit row with user, payment, amount, result and key', async (t) => {
        const server = await start(t, store);
        const keys = Array.from({ length: 3 }, uuid);
        const payment = await server.paid({ key: keys[0] }, { amount: 800 });
        await server.capture(payment, 600, { key: keys[1] });
        await server.refund(payment, 250, { key: keys[2] });
        const rows = await server.db.table('audit', `operation IN ('CREATE', 'CAPTURE', 'REFUND')`);
        const seen = rows.sort((a, b) => a.seq - b.seq).map((row) => [row.operation, asUuid(row.user_id),
            asUuid(row.payment_id), row.amount, row.result, asUuid(row.idempotency_key)]);
        assert.deepEqual(seen, [
            ['CREATE', payment.userId, payment.id, 800, 'success', keys[0]],
            ['CAPTURE', payment.userId, payment.id, 600, 'success', keys[1]],
            ['REFUND', payment.userId, payment.id, 250, 'success', keys[2]],
        ]);
    });
});

test('P9 every route of payments is described, with every status, and the examples of the schema fit it', () => {
    const paths = Object.keys(description.paths);
    for (const path of ['/payments', '/payments/{id}', '/payments/{id}/capture', '/payments/{id}/refund', '/payments/{id}/void']) {
        assert.ok(paths.includes(path), path);
        assert.deepEqual(description.paths[path].servers.map((one) => one.url), ['/', '/api/v1']);
    }
    for (const path of paths.filter((one) => one.startsWith('/payments'))) {
        const operation = description.paths[path].post;
        if (!operation) continue;
        for (const status of [200, 400, 401, 403, 404, 409, 413, 415, 422, 429, 502, 503, 504])
            assert.ok(operation.responses[status], `${path} ${status}`);
    }
});
