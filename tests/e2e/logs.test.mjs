// What the log says (O1): the seven events of 004 section 9, the lines of 003, correlation from the request
// to the worker, masked cards, and words for a person at a terminal.
import {
    assert, event, forEachStore, fresh, launch, PROGRAM, start, stores, test, until, uuid,
} from './lib/harness.mjs';
import { about, Collection, session } from './lib/collections.mjs';
import { declineThere, eventOf, retold, silent, tellLong } from './lib/events.mjs';
import { freePort } from './lib/ports.mjs';

const CREATE = { path: '/v1/payment_intents', method: 'POST' };
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
const named = (server, message) => server.lines.filter((line) => line.message === message);
const line = (server, message, fits = () => true) => server.line(message, (l) => l.message === message && fits(l));
const pick = (from, ...names) => Object.fromEntries(names.map((name) => [name, from[name]]));

forEachStore((store, test) => {
    test('O1 a payment is told from its request to its end: names, levels and fields of 004', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const key = uuid();
        const headers = { traceparent, 'X-Request-Id': 'req-of-the-shop' };
        const { body: payment } = await server.pay(booking, { key, headers });
        const again = await server.pay(booking, { key, headers: { traceparent: traceparent.replace('4bf9', 'aaaa') } });
        assert.equal(again.status, 200);
        await line(server, 'PaymentIdempotencyHit');

        const of = (message) => named(server, message).filter((l) => l.traceId === TRACE);
        const [attempted] = of('PaymentCreateAttempted');
        assert.deepEqual(pick(attempted, 'level', 'traceId', 'idempotencyKey', 'bookingId', 'amount', 'requestId'),
            { level: 'info', traceId: TRACE, idempotencyKey: key, bookingId: booking.id, amount: 1200, requestId: 'req-of-the-shop' });
        assert.deepEqual(pick(of('PaymentGatewayRequest')[0], 'level', 'paymentId', 'gatewayName'),
            { level: 'info', paymentId: payment.id, gatewayName: 'sandbox' });
        assert.deepEqual(pick(of('PaymentGatewayResponse')[0], 'level', 'paymentId', 'gatewayTransactionId', 'status'),
            { level: 'info', paymentId: payment.id, gatewayTransactionId: payment.gatewayTransactionId, status: 'ok' });
        assert.deepEqual(pick(of('PaymentCreated')[0], 'level', 'paymentId', 'status'),
            { level: 'info', paymentId: payment.id, status: 'AUTHORIZED' });
        const [hit] = named(server, 'PaymentIdempotencyHit');
        assert.deepEqual(pick(hit, 'level', 'traceId', 'idempotencyKey', 'existingPaymentId'),
            { level: 'info', traceId: TRACE.replace('4bf9', 'aaaa'), idempotencyKey: key, existingPaymentId: payment.id });
        assert.equal(named(server, 'PaymentCreated').length, 1, 'a replay creates nothing');
        assert.equal(named(server, 'PaymentGatewayRequest').length, 1);
        const order = ['PaymentCreateAttempted', 'PaymentGatewayRequest', 'PaymentGatewayResponse', 'PaymentCreated'];
        assert.deepEqual(server.lines.map((l) => l.message).filter((m) => order.includes(m)).slice(0, 4), order);
    });

    test('O1 a gateway that fails or is silent is an error with its code, words and time', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_GATEWAY_TIMEOUT_MS: '300' } });
        await server.webhooks({ on: false });
        await server.fault({ ...CREATE, statusBefore: 500, times: 3 });
        const failed = await server.pay(await server.booking(), { headers: { traceparent } });
        const error = await line(server, 'PaymentGatewayError');
        assert.deepEqual(pick(error, 'level', 'traceId', 'paymentId'),
            { level: 'error', traceId: TRACE, paymentId: failed.body.paymentId });
        assert.ok(error.errorCode.length > 0 && error.errorMessage.length > 0, JSON.stringify(error));

        await server.fault({ ...CREATE, dropAfter: true, hangMs: 20_000, times: 1 });
        const slow = await server.pay(await server.booking(), { headers: { traceparent } });
        const timeout = await line(server, 'PaymentGatewayTimeout');
        assert.deepEqual(pick(timeout, 'level', 'traceId', 'paymentId', 'timeoutMs'),
            { level: 'error', traceId: TRACE, paymentId: slow.body.paymentId, timeoutMs: 300 });
    });

    test('O1 below the level that is wanted nothing is written', async (t) => {
        const db = await fresh(t, store);
        const port = await freePort(); // no line says which it took
        const server = Object.assign(launch(t, db, { env: { ICHIDO_LOG_LEVEL: 'warn', ICHIDO_LISTEN: `127.0.0.1:${port}` } }), { port });
        await until('it answers', () => server.get('/healthz').then(({ status }) => status === 200, () => false));
        await server.paid();
        await server.deliver('{}', { signature: 't=1,v1=00' });
        await line(server, 'Webhook signature verification failed');
        assert.deepEqual(server.lines.filter(({ level }) => level === 'info' || level === 'debug'), []);
        assert.deepEqual(await server.stop(), { code: 0, signal: null });
    });

    test('O1 003 a failed payment, a failed event, a forged one and an unknown one: their lines and fields', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_authenticationRequired' });
        const held = await eventOf(server, payment, 'payment_intent.created');
        await server.authenticate(payment, false); // a decline is looked up (E6): the gateway says the same
        await declineThere(server, payment, 'pm_card_chargeDeclinedInsufficientFunds');
        const news = retold(held, { type: 'payment_intent.payment_failed' }, { status: 'requires_payment_method',
            last_payment_error: { code: 'card_declined', decline_code: 'insufficient_funds', message: 'no' } });
        await server.deliver(news, { headers: { traceparent } });
        const failed = await line(server, 'Payment failed');
        assert.deepEqual(pick(failed, 'level', 'paymentIntentId', 'errorCode', 'userId', 'eventId', 'traceId', 'paymentId'), {
            level: 'error', paymentIntentId: payment.gatewayTransactionId, errorCode: 'card_declined',
            userId: payment.booking.userId, eventId: news.id, traceId: TRACE, paymentId: payment.id,
        });

        const strange = event('customer.created', { data: { object: { object: 'customer', id: 'cus_1' } } });
        await server.deliver(strange, { headers: { traceparent } });
        const unhandled = await line(server, 'Unhandled event type: customer.created');
        assert.deepEqual(pick(unhandled, 'level', 'eventId', 'eventType', 'traceId'),
            { level: 'info', eventId: strange.id, eventType: 'customer.created', traceId: TRACE });
        assert.match(unhandled.messageId, /^[0-9a-f-]{36}$/);

        await server.deliver('{"id":', { headers: { traceparent } });
        const broken = await line(server, 'Webhook processing failed');
        assert.deepEqual(pick(broken, 'level', 'traceId', 'error_type'), { level: 'error', traceId: TRACE, error_type: 'permanent' });
        assert.ok(broken.error.length > 0 && 'eventId' in broken && 'eventType' in broken && broken.requestId);

        const forged = await server.deliver(strange, { signature: 't=1,v1=00', headers: { 'X-Request-Id': 'forger' } });
        assert.equal(forged.status, 400);
        const refused = await line(server, 'Webhook signature verification failed');
        assert.deepEqual(pick(refused, 'level', 'reason', 'error_type', 'requestId'),
            { level: 'error', reason: 'no_v1', error_type: 'signature', requestId: 'forger' });
    });

    test('O1 003 a decline whose event overtakes the answer to our own cancel has its line too', async (t) => {
        const server = await start(t, store);
        await server.fault({ path: '/v1/payment_intents/*/cancel', method: 'POST', hangMs: 2000, times: 1 });
        const payment = await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });
        assert.equal(payment.status, 'FAILED');
        const failed = await line(server, 'Payment failed');
        assert.deepEqual(pick(failed, 'level', 'errorCode', 'paymentId', 'eventType'),
            { level: 'error', errorCode: 'card_declined', paymentId: payment.id, eventType: 'payment_intent.payment_failed' });
    });

    test('O1 001 a worker line about a participant names it, the event, the message and the kind of error', async (t) => {
        const server = await silent(t, store);
        const collection = await Collection.make(server);
        await collection.session();
        const attempted = await line(server, 'PaymentCreateAttempted');
        assert.equal(attempted.participant_id, collection.people[0].id);
        const booked = await server.paid();
        const wrong = about('checkout.session.completed', session({ ...booked, id: booked.id }, {
            status: 'complete', payment_intent: 'pi_b',
            metadata: { payment_id: booked.id, context: 'participant', subject_id: collection.people[0].id },
        }));
        assert.equal((await tellLong(server, wrong)).outcome, 'dead');
        const dead = await line(server, 'Webhook processing failed', (l) => l.level === 'error');
        assert.deepEqual(pick(dead, 'eventId', 'eventType', 'participant_id', 'error_type'), {
            eventId: wrong.id, eventType: 'checkout.session.completed', participant_id: collection.people[0].id, error_type: 'permanent',
        });
        assert.match(dead.messageId, /^[0-9a-f-]{36}$/);
        assert.match(dead.traceId, /^[0-9a-f]{32}$/);
    });

    test('A6 a provider\'s ids stand in the lines that 003 and 004 give them to, and nowhere else', async (t) => {
        const server = await start(t, store);
        await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });
        const payment = await server.captured();
        await server.refund(payment, 100);
        const held = await server.paid();
        await server.void(held);
        const lost = await server.booking();
        await server.fault({ ...CREATE, dropAfter: true, times: 3 });
        await server.pay(lost);
        await until('its webhooks came', async () => (await server.db.count('webhook_events')) > 8);
        const may = ['PaymentGatewayResponse', 'Payment failed'];
        const told = server.lines.filter((l) => !may.includes(l.message) && !/^sandbox/.test(l.message))
            .map((l) => JSON.stringify(l)).filter((text) => /\b(pi|ch|re|cs|pm|cus|py|dp|txn)_[A-Za-z0-9]{8,}/.test(text));
        assert.deepEqual(told, []);
    });
});

const store = stores[0];

test('O1 a card number, its code and its expiry are masked, whoever brought them, and the line stays JSON', async (t) => {
    const server = await start(t, store);
    await server.get('/4242424242424242/x', { 'X-Request-Id': '5555555555554444' });
    await server.get('/cvc=123/exp_month=12/%7B%22cvv%22:%22999%22,%22exp_year%22:2030%7D');
    const first = await server.line('the first', (l) => l.message === 'request' && l.path.endsWith('/x'));
    assert.deepEqual(pick(first, 'path', 'requestId'), { path: '/************4242/x', requestId: '************4444' });
    const second = await server.line('the second', (l) => l.message === 'request' && l.path.startsWith('/cvc'));
    assert.equal(second.path, '/cvc=***/exp_month=**/{"cvv":"***","exp_year":   0}');
    assert.ok(!/4242424242424242|5555555555554444|"999"|2030\}/.test(server.stderr));
});

const HOSTILE = '/a%20b=1%22%E2%80%AEc%C2%9B31md%E2%80%A8e';

test('O1 ICHIDO_LOG_FORMAT=text is a line for a person; hostile values stay in it and show as they are', async (t) => {
    const server = await start(t, store, { env: { ICHIDO_LOG_FORMAT: 'json' } });
    await server.get(HOSTILE);
    await server.line('as JSON', (l) => l.message === 'request' && l.path === decodeURIComponent(HOSTILE));
    const db = await fresh(t, store);
    const plain = launch(t, db, { env: { ICHIDO_LOG_FORMAT: 'text' } });
    const listening = await plain.line('listening', (l) => /INFO  listening address=/.test(l.plain));
    plain.port = Number(/address=127\.0\.0\.1:(\d+)/.exec(listening.plain)[1]);
    await plain.get(HOSTILE);
    const { plain: text } = await plain.line('the request', (l) => /request method=GET path="\/a/.test(l.plain));
    assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z DEBUG request method=GET /);
    assert.ok(text.includes('path="/a b=1\\"\\u{202e}c\\u{9b}31md\\u{2028}e"'), text);
    assert.ok(!/[\x00-\x09\x0b-\x1f\x7f\u0080-\u009f\u202e]/.test(plain.stderr), 'nothing that moves a terminal');
    assert.deepEqual(await plain.stop(), { code: 0, signal: null });
});

// A terminal of its own; what it shows comes back on standard error.
const onTerminal = (t, db, env) => launch(t, db, {
    env, argv: ['/bin/sh', '-c', `exec script -qefc '${PROGRAM} serve' /dev/null 1>&2`],
});

test('O1 at a terminal auto means words, in colours unless NO_COLOR is set; in a pipe it means JSON', async (t) => {
    const db = await fresh(t, store);
    const rows = [
        [{}, /\x1b\[32mINFO\x1b\[0m  listening \x1b\[2maddress=\x1b\[0m127/],
        [{ NO_COLOR: '1' }, /Z INFO  listening address=127/],
        [{ TERM: 'dumb' }, /Z INFO  listening address=127/],
        [{ ICHIDO_LOG_FORMAT: 'json' }, /"message":"listening","address":"127/],
    ];
    for (const [env, looks] of rows) {
        const server = onTerminal(t, db, env);
        await server.line('listening', () => looks.test(server.stderr));
        assert.equal(/\x1b\[/.test(server.stderr), Object.keys(env).length === 0, server.stderr);
        server.child.kill('SIGTERM');
        await server.exit;
    }
});
