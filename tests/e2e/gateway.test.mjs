// The gateway as it is spoken to (G1 G2 P6 D5 D13 D27). Between the server and the sandbox stands a proxy that
// writes every call down, and answers in the gateway's place where a test wants another answer.
import http from 'node:http';
import {
    assert, forOneStore, start, stores, test, token, until, uuid,
} from './lib/harness.mjs';

const KEY = 'sk_test_ichido_e2e';
const VERSION = '2026-10-28.endive';
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const GATEWAY_KEY = new RegExp(`^ichido-(${UUID})-(${UUID})(-cancel)?$`);

// --- the proxy ---

class Proxy {
    constructor() {
        this.calls = [];
        this.sockets = 0;
        this.agent = new http.Agent({ keepAlive: true });
        this.server = http.createServer((ask, reply) => this.#take(ask, reply));
        this.server.keepAliveTimeout = 60_000;
        this.server.on('connection', (socket) => {
            socket.number = ++this.sockets;
        });
    }

    open() {
        return new Promise((resolve) => {
            this.server.listen(0, '127.0.0.1', () => resolve(this.server.address().port));
        });
    }

    close() {
        this.agent.destroy();
        this.server.closeAllConnections();
        return new Promise((resolve) => { this.server.close(resolve); });
    }

    // answer(call, count): {status, body, headers}, 'hang' or 'drop' for the count-th call since; else it goes through.
    script(answer) {
        this.answer = answer;
        this.since = 0;
        this.calls.length = 0;
        this.server.closeIdleConnections(); // libcurl repeats by itself what dies on a used connection
    }

    #take(ask, reply) {
        const parts = [];
        ask.on('data', (part) => parts.push(part));
        ask.on('end', () => {
            const call = {
                method: ask.method, path: ask.url, headers: ask.headers, body: Buffer.concat(parts).toString(),
                at: performance.now(), socket: ask.socket.number,
            };
            call.form = Object.fromEntries(new URLSearchParams(call.body));
            this.calls.push(call);
            const scripted = this.answer?.(call, this.since++);
            if (scripted === 'drop') ask.socket.destroy();
            else if (scripted === 'hang') ask.socket.on('close', () => {});
            else if (scripted) this.#reply(reply, scripted);
            else this.#forward(call, reply);
        });
    }

    #reply(reply, { status, body = '', headers = {} }) {
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        reply.writeHead(status, { 'Content-Type': 'application/json', ...headers });
        reply.end(text);
    }

    #forward(call, reply) {
        const headers = { ...call.headers, host: `127.0.0.1:${this.target}` };
        const out = http.request({ port: this.target, host: '127.0.0.1', method: call.method, path: call.path, headers, agent: this.agent });
        out.on('response', (answer) => {
            call.status = answer.statusCode;
            reply.writeHead(answer.statusCode, answer.headers);
            answer.pipe(reply);
        });
        out.on('error', () => reply.destroy());
        out.end(call.body);
    }

    get posts() {
        return this.calls.filter((call) => call.method === 'POST');
    }
}

// Every answer of every server here, for D27.
const seen = [];

async function between(t, store, env = {}) {
    const proxy = new Proxy();
    const port = await proxy.open();
    t.atEnd(() => proxy.close());
    const server = await start(t, store, { env: {
        ICHIDO_SANDBOX_WEBHOOKS: 'off', STRIPE_SECRET_KEY: KEY, STRIPE_API_BASE: `http://127.0.0.1:${port}`, ...env,
    } });
    proxy.target = server.sandboxPort;
    const call = server.call.bind(server);
    server.call = async (...args) => {
        const answer = await call(...args);
        seen.push({ status: answer.status, code: answer.body?.code, what: `${args[0]} ${args[1]}` });
        return answer;
    };
    return { proxy, server };
}

const wrong = (status, error, headers) => ({ status, body: { error: { message: 'as scripted', ...error } }, headers });
const broken = (status) => wrong(status, { type: 'api_error' });
const only = (verb, answer) => (call) => (call.method === 'POST' && call.path.endsWith(verb) ? answer : undefined);

// An authorisation that is not what we asked for.
const odd = (change) => (call) => (call.method === 'POST' ? { status: 200, body: {
    object: 'payment_intent', id: `pi_${uuid()}`, status: 'requires_capture', amount: 1200, amount_capturable: 1200,
    amount_received: 0, currency: 'jpy', metadata: { payment_id: call.form['metadata[payment_id]'] }, latest_charge: null, ...change,
} } : undefined);

forOneStore((store, test) => {
    test('G2 every money call has the pinned version, our bearer, a form, and a key of payment and operation', async (t) => {
        const { proxy, server } = await between(t, store);
        const keys = [];
        const key = () => {
            keys.push(uuid());
            return keys.at(-1);
        };
        const text = '山の家 & 2泊 = 朝食+夕食 % "😀"';
        const payment = await server.paid({ key: key(), description: text }, { amount: 3000 });
        await server.capture(payment, 2500, { key: key() });
        await server.refund(payment, 100, { key: key() });
        await server.refund(payment, 100, { key: key() });
        const other = await server.paid({ key: key() });
        await server.void(other, { key: key() });
        const declined = await server.paid({ key: key(), paymentMethod: 'pm_card_chargeDeclined' });
        assert.equal(declined.status, 'FAILED');
        const paths = proxy.posts.map(({ path }) => path.replace(/pi_[^/]+/, 'pi'));
        assert.deepEqual(paths, ['/v1/payment_intents', '/v1/payment_intents/pi/capture', '/v1/refunds', '/v1/refunds',
            '/v1/payment_intents', '/v1/payment_intents/pi/cancel', '/v1/payment_intents', '/v1/payment_intents/pi/cancel']);
        const sent = proxy.posts.map(({ headers }) => headers['idempotency-key']);
        assert.equal(new Set(sent).size, sent.length, 'another operation, another key');
        for (const { headers, body } of proxy.posts) {
            assert.equal(headers.authorization, `Bearer ${KEY}`);
            assert.equal(headers['stripe-version'], VERSION);
            assert.equal(headers['content-type'], 'application/x-www-form-urlencoded');
            assert.match(headers['idempotency-key'], GATEWAY_KEY);
            assert.match(body, /^[\w%.*+[\]-]+=[\w%.*+-]*(&[\w%.*+[\]-]+=[\w%.*+-]*)*$/, 'a form');
            for (const mine of keys) {
                assert.ok(!headers['idempotency-key'].includes(mine), 'D5: never the client\'s');
                assert.ok(!body.includes(mine));
            }
        }
        const [create, capture, refund] = proxy.posts;
        const { booking } = payment;
        assert.deepEqual([create.form.amount, create.form.currency, create.form.capture_method, create.form.confirm],
            ['3000', 'jpy', 'manual', 'true']);
        assert.equal(create.form.description, text);
        assert.equal(create.form['metadata[payment_id]'], payment.id);
        assert.equal(create.form['metadata[user_id]'], booking.userId);
        assert.equal(capture.form.amount_to_capture, '2500');
        assert.deepEqual([refund.form.payment_intent, refund.form.amount], [payment.gatewayTransactionId, '100']);
        assert.match(sent[0], new RegExp(payment.id), 'made of the payment');
    });

    test('G2 P6 three tries at most, the same key and the same bytes, with growing pauses; the client\'s retry sends them too', async (t) => {
        const { proxy, server } = await between(t, store);
        const booking = await server.booking();
        const key = uuid();
        proxy.script(only('/payment_intents', broken(500)));
        const answer = await server.pay(booking, { key });
        assert.deepEqual([answer.status, answer.body.code], [502, 'GATEWAY_ERROR']);
        const tries = proxy.posts;
        assert.equal(tries.length, 3);
        const [first, second] = [tries[1].at - tries[0].at, tries[2].at - tries[1].at];
        assert.ok(first >= 140 && second >= 290, `${first} ms, ${second} ms`);
        proxy.answer = undefined;
        const again = await server.pay(booking, { key });
        assert.ok(again.status < 300, again.text);
        assert.equal(proxy.posts.length, 4);
        assert.equal(new Set(proxy.posts.map(({ body }) => body)).size, 1);
        assert.equal(new Set(proxy.posts.map(({ headers }) => headers['idempotency-key'])).size, 1);
        assert.equal((await server.intents()).length, 1);
    });

    test('G2 what asks moves nothing: reads carry no key, and no try of a money call changes it', async (t) => {
        const { proxy, server } = await between(t, store);
        const payment = await server.paid();
        proxy.script((call) => (call.path.endsWith('/capture') ? 'drop' : undefined));
        const lost = await server.capture(payment);
        assert.equal(lost.status, 502, lost.text);
        await until('it asked', async () => {
            await server.advance(2000);
            return proxy.calls.some(({ method }) => method === 'GET');
        });
        for (const { method, headers, body } of proxy.calls.filter((call) => call.method !== 'POST')) {
            assert.equal(method, 'GET');
            assert.equal(headers['idempotency-key'], undefined);
            assert.equal(headers.authorization, `Bearer ${KEY}`);
            assert.equal(headers['stripe-version'], VERSION);
            assert.equal(body, '');
        }
        assert.equal(proxy.posts.length, 2, 'a connection that broke is tried once more');
        assert.equal(new Set(proxy.posts.map(({ headers }) => headers['idempotency-key'])).size, 1);
    });

    test('G2 connections are used again, and a dozen at once do not become one each time', async (t) => {
        const { proxy, server } = await between(t, store);
        for (let i = 0; i < 10; i++) await server.captured();
        assert.equal(proxy.posts.length, 20);
        assert.ok(proxy.sockets <= 2, `${proxy.sockets} connections for 20 calls`);
        const bookings = await Promise.all(Array.from({ length: 12 }, () => server.booking()));
        await Promise.all(bookings.map((booking) => server.pay(booking)));
        const wide = proxy.sockets;
        for (let i = 0; i < 10; i++) await server.paid();
        assert.equal(proxy.sockets, wide);
    });

    // --- G1: every kind of answer, through the door ---

    const declined = wrong(402, { type: 'card_error', code: 'card_declined', decline_code: 'lost_card', message: 'Lost.' });
    const refusal = wrong(400, { type: 'invalid_request_error', code: 'parameter_invalid', message: 'Never.' });

    // [what, answer, HTTP status, problem code or payment status, calls of POST]
    const creates = [
        ['declined', declined, 201, 'FAILED', 1],
        ['refused', refusal, 201, 'FAILED', 1],
        ['retry later: 429', wrong(429, { type: 'rate_limit_error', code: 'rate_limit' }), 502, 'GATEWAY_ERROR', 3],
        ['retry later: 401', wrong(401, { type: 'invalid_request_error', message: `Invalid API Key provided: ${KEY}` }), 502, 'GATEWAY_ERROR', 1],
        ['retry later: 403', wrong(403, { type: 'invalid_request_error' }), 502, 'GATEWAY_ERROR', 1],
        ['uncertain: 500', broken(500), 502, 'GATEWAY_ERROR', 3],
        ['uncertain: 503', broken(503), 502, 'GATEWAY_ERROR', 3],
        ['uncertain: 409', wrong(409, { type: 'idempotency_error', code: 'idempotency_key_in_use' }), 502, 'GATEWAY_ERROR', 3],
        ['uncertain: the key came with other parameters', wrong(400, { type: 'idempotency_error' }), 502, 'GATEWAY_ERROR', 1],
        ['uncertain: 200 that is no JSON', { status: 200, body: '<html>' }, 502, 'GATEWAY_ERROR', undefined],
        ['uncertain: 200 about something else', { status: 200, body: { object: 'balance' } }, 502, 'GATEWAY_ERROR', undefined],
        ['uncertain: 200 about another payment', { status: 200, body: { object: 'payment_intent', id: 'pi_x', status: 'succeeded',
            amount: 1200, amount_received: 1200, currency: 'jpy', metadata: { payment_id: uuid() } } }, 502, 'GATEWAY_ERROR', undefined],
        ['uncertain: a page of something in between', { status: 404, body: '<html>', headers: { 'Content-Type': 'text/html' } }, 502, 'GATEWAY_ERROR', undefined],
        ['uncertain: an empty answer', { status: 200, body: '' }, 502, 'GATEWAY_ERROR', undefined],
        ['uncertain: the line breaks', 'drop', 502, 'GATEWAY_ERROR', 2],
    ];
    test('G1 P6 each kind of answer to a create has its HTTP status; what is not certain is never a failure', async (t) => {
        const { proxy, server } = await between(t, store);
        for (const [what, answer, status, word, count] of creates) {
            const booking = await server.booking();
            const key = uuid();
            proxy.script(only('/payment_intents', answer));
            const got = await server.pay(booking, { key });
            assert.equal(got.status, status, `${what}: ${got.text}`);
            assert.ok(!got.text.includes(KEY), what);
            if (count) assert.equal(proxy.posts.length, count, what);
            proxy.script();
            if (status === 201) {
                assert.equal(got.body.status, word, what);
                assert.ok(got.body.failureReason, what);
                continue;
            }
            assert.equal(got.body.code, word, what);
            assert.match(got.body.detail, /^(Its outcome is not known yet|Nothing was done)\. Send the request again with the same Idempotency-Key\.$/, what);
            if (what.startsWith('uncertain'))
                assert.match(got.body.detail, /not known yet/, what);
            assert.match(got.headers['retry-after'], /^\d+$/, what);
            assert.equal((await server.payment(got.body.paymentId, 'admin')).body.status, 'PENDING', what);
            const again = await server.pay(booking, { key });
            assert.deepEqual([again.status < 300, again.body.status], [true, 'AUTHORIZED'], `${what}: the same key goes on`);
            assert.equal((await server.intents(again.body)).length, 1, what);
        }
        for (const line of server.lines) assert.ok(!JSON.stringify(line).includes(KEY), 'A4');
        assert.equal((await server.db.dead()).length, 0);
    });

    // [what, verb, answer, HTTP status, code or payment status, the payment afterwards]
    const others = [
        ['ok', 'capture', undefined, 200, 'CAPTURED', 'CAPTURED'],
        ['declined', 'capture', declined, 422, 'UNPROCESSABLE', 'AUTHORIZED'],
        ['retry later', 'capture', wrong(429, { type: 'rate_limit_error' }), 502, 'GATEWAY_ERROR', 'AUTHORIZED'],
        ['uncertain', 'capture', broken(500), 502, 'GATEWAY_ERROR', 'AUTHORIZED'],
        ['ok', 'void', undefined, 200, 'REFUNDED', 'REFUNDED'],
        ['retry later', 'void', wrong(429, { type: 'rate_limit_error' }), 502, 'GATEWAY_ERROR', 'AUTHORIZED'],
        ['uncertain', 'void', broken(502), 502, 'GATEWAY_ERROR', 'AUTHORIZED'],
        ['ok', 'refund', undefined, 200, 'REFUNDED', 'REFUNDED'],
        ['declined', 'refund', declined, 422, 'UNPROCESSABLE', 'CAPTURED'],
        ['refused', 'refund', refusal, 422, 'UNPROCESSABLE', 'CAPTURED'],
        ['retry later', 'refund', wrong(429, { type: 'rate_limit_error' }), 502, 'GATEWAY_ERROR', 'CAPTURED'],
        ['uncertain', 'refund', broken(500), 502, 'GATEWAY_ERROR', 'CAPTURED'],
    ];
    const wire = { capture: '/capture', void: '/cancel', refund: '/refunds' };
    for (const verb of Object.keys(wire))
        test(`G1 each kind of answer to a ${verb} has its HTTP status, and what surely did not happen can be tried again`, async (t) => {
            const { proxy, server } = await between(t, store);
            for (const [what, , answer, status, word, after] of others.filter((one) => one[1] === verb)) {
                proxy.script();
                const payment = await (verb === 'refund' ? server.captured() : server.paid());
                proxy.script(only(wire[verb], answer));
                const key = uuid();
                const got = await server.operate(verb, payment, { key });
                assert.deepEqual([got.status, got.body.code ?? got.body.status], [status, word], `${verb} ${what}: ${got.text}`);
                assert.equal((await server.payment(payment)).body.status, after, `${verb} ${what}`);
                proxy.script();
                if (status !== 502) continue;
                const again = await until(`${verb} goes on`, async () => {
                    const one = await server.operate(verb, payment, { key });
                    if (one.status !== 200) await server.advance(2000);
                    return one.status === 200 && one;
                });
                assert.match(again.body.status, /CAPTURED|REFUNDED/);
                const { totals } = await server.books(payment);
                assert.deepEqual([totals.captured, totals.refunded],
                    { capture: [1200, 0], void: [0, 0], refund: [1200, 1200] }[verb], `${verb} ${what}: once`);
            }
        });

    for (const verb of ['capture', 'void'])
        test(`G1 a ${verb} that the gateway will never do is 422, not a fault of the gateway's`, async (t) => {
            const { proxy, server } = await between(t, store);
            const payment = await server.paid();
            proxy.script(only(wire[verb], refusal));
            const got = await server.operate(verb, payment);
            assert.deepEqual([got.status, got.body.code], [422, 'UNPROCESSABLE'], got.text);
            assert.equal(proxy.posts.length, 1);
            assert.equal((await server.payment(payment)).body.status, 'AUTHORIZED');
        });

    test('G1 a wrong state that the gateway tells of is taken over: what it says is so', async (t) => {
        const { server } = await between(t, store);
        const lost = await server.paid();
        await server.stripe(`/payment_intents/${lost.gatewayTransactionId}/cancel`, 'POST');
        const late = await server.capture(lost);
        assert.deepEqual([late.status, late.body.currentStatus], [422, 'REFUNDED'], late.text);
        const taken = await server.paid();
        await server.stripe(`/payment_intents/${taken.gatewayTransactionId}/capture`, 'POST');
        const same = await server.capture(taken);
        assert.deepEqual([same.status, same.body.status, same.body.capturedAmount], [200, 'CAPTURED', 1200], same.text);
        const gone = await server.paid();
        await server.stripe(`/payment_intents/${gone.gatewayTransactionId}/capture`, 'POST');
        const undone = await server.void(gone);
        assert.deepEqual([undone.status, undone.body.currentStatus], [422, 'CAPTURED'], undone.text);
    });

    test('D6 G1 a decline without its intent, behind a lost try: Stripe repeats its first answer, so it is one', async (t) => {
        const { proxy, server } = await between(t, store);
        let lose = true;
        proxy.script((call) => (call.method !== 'POST' ? undefined : lose ? 'drop'
            : wrong(402, { type: 'card_error', code: 'card_declined', decline_code: 'do_not_honor' }, { 'Idempotent-Replayed': 'true' })));
        const [booking, key] = [await server.booking(), uuid()];
        const first = await server.pay(booking, { key });
        assert.ok([502, 504].includes(first.status), first.text);
        lose = false;
        const second = await server.pay(booking, { key });
        assert.equal(second.body.status, 'FAILED', second.text);
        assert.match(second.body.failureReason, /^do_not_honor/);
        assert.equal(second.body.id, first.body.paymentId);
    });

    test('D10 G1 an answer with more money is not taken: 422, PENDING, and a person is called', async (t) => {
        const { proxy, server } = await between(t, store);
        for (const [i, change] of [{ amount: 9900, amount_capturable: 9900 }, { amount: 1201, amount_capturable: 1201 }].entries()) {
            const booking = await server.booking();
            const key = uuid();
            proxy.script(odd(change));
            const got = await server.pay(booking, { key });
            assert.deepEqual([got.status, got.body.code, got.body.currentStatus], [422, 'UNPROCESSABLE', 'PENDING'], got.text);
            assert.equal(proxy.posts.length, 1);
            proxy.script();
            const { body } = await server.payment(got.body.paymentId, booking.userId);
            assert.deepEqual([body.status, body.amount, body.currency, body.capturedAmount], ['PENDING', 1200, 'JPY', null]);
            assert.equal((await server.pay(booking, { key })).status, 422, 'and so it stays');
            assert.equal(proxy.posts.length, 0);
            const called = server.lines.filter((line) => line.level === 'error' && /does not fit the payment/.test(line.message));
            assert.equal(called.length, i + 1);
            assert.equal((await server.db.audit(`operation = 'CREATE' AND result = 'failure'`)).length, i + 1);
        }
    });

    test('D27 D13 409 is said only for IDEMPOTENCY_CONFLICT, whatever the gateway says and whoever asks', async (t) => {
        const { proxy, server } = await between(t, store);
        const booking = await server.booking();
        const key = uuid();
        const made = await server.pay(booking, { key });
        assert.equal((await server.pay(booking)).status, 422, 'PAYMENT_EXISTS');
        const conflict = await server.pay(booking, { key, amount: booking.amount + 1 });
        assert.deepEqual([conflict.status, conflict.body.code], [409, 'IDEMPOTENCY_CONFLICT']);
        for (const [verb, path] of Object.entries(wire)) {
            proxy.script(only(path, wrong(409, { type: 'invalid_request_error', code: 'lock_timeout' })));
            const payment = await (verb === 'refund' ? server.captured() : server.paid());
            const got = await server.operate(verb, payment);
            assert.equal(got.status, 502, got.text);
            const busy = await server.operate(verb, payment);
            assert.deepEqual([busy.status, busy.body.code], [503, 'OUTCOME_UNKNOWN'], busy.text);
        }
        proxy.script();
        await server.capture(made.body);
        for (const verb of ['capture', 'void']) assert.equal((await server.operate(verb, made.body)).status, 422);
        assert.equal((await server.pay(await server.booking({ status: 'CANCELLED' }))).status, 422);
        const stale = { id: booking.id, userId: booking.userId, amount: 7, currency: 'JPY', status: 'PENDING' };
        await server.call('PUT', `/api/v1/bookings/${booking.id}`, { bearer: token(uuid(), 'service'), body: { ...stale, id: undefined } });
        for (const { status, code, what } of seen.filter((one) => one.status === 409 || one.code === 'IDEMPOTENCY_CONFLICT'))
            assert.deepEqual([status, code], [409, 'IDEMPOTENCY_CONFLICT'], what);
        assert.ok(seen.length > 30);
    });
});

// One database is enough for what takes its time and never touches it.
test('G2 P6 a try that took all its time is not repeated: one call, 504, and afterwards it only asks', async (t) => {
    const { proxy, server } = await between(t, stores[0]);
    const booking = await server.booking();
    proxy.script(only('/payment_intents', 'hang'));
    const answer = await server.pay(booking);
    assert.deepEqual([answer.status, answer.body.code], [504, 'GATEWAY_TIMEOUT'], answer.text);
    assert.ok(answer.ms >= 14_500 && answer.ms < 20_000, `${answer.ms} ms`);
    assert.equal(proxy.posts.length, 1);
    await until('it asks', async () => {
        await server.advance(2000);
        return proxy.calls.some(({ method }) => method === 'GET');
    });
    assert.equal(proxy.posts.length, 1);
});
