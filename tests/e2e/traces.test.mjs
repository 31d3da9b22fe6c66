// Traces (O3): spans with their attributes and parents, one trace from a webhook to the notification, traceparent in
// and out, sampling, and receivers of all moods. The receiver is strict (lib/otlp.mjs): it reads what comes with
// OpenTelemetry's own protobuf.
import {
    assert, event, forEachStore, launch, fresh, start, stores, test, until, uuid,
} from './lib/harness.mjs';
import { captureThere, eventOf } from './lib/events.mjs';
import { remember } from './lib/evidence.mjs';
import { request } from './lib/http.mjs';
import { Receiver, toReceiver } from './lib/otlp.mjs';
import { freePort } from './lib/ports.mjs';
import { receive } from './lib/receiver.mjs';
import { callWorker, FakeQStash } from './lib/upstash.mjs';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SAMPLED = `00-${TRACE}-${PARENT}-01`;
const CHILDREN = ['Payment.callGateway', 'Payment.checkIdempotency', 'Payment.persist', 'Payment.publishEvent', 'Payment.validateBooking'];
// What a webhook tells first is not published again by the answer.
const QUIET = { ICHIDO_SANDBOX_WEBHOOKS: 'off' };
const names = (spans) => spans.map(({ name }) => name).sort();
const [any] = stores;
const counted = async (server, result) => (await server.metrics()).get('ichido_trace_spans_total', { result });
const counts = (server, result, least) => until(`${result} is ${least}`, async () => (await counted(server, result)) >= least);

// A trace is whole: every parent is there, but for the client's own place; nothing ends before it began.
function assertWhole(spans, outside = []) {
    const known = new Set([...spans.map(({ spanId }) => spanId), ...outside]);
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length, 'each id once');
    for (const span of spans) {
        assert.ok(span.end >= span.start, span.name);
        if (span.parentSpanId) assert.ok(known.has(span.parentSpanId), `${span.name} has a parent that nobody knows`);
    }
}

const post = async (t, status = 204) => {
    const got = await receive(t, () => status);
    const secret = `whsec_${Buffer.from('traces-e2e-0123456789abcdefghijk').toString('base64')}`;
    remember(secret);
    return { got, env: { ICHIDO_NOTIFY_WEBHOOK: `${got.url}/told`, ICHIDO_NOTIFY_SECRET: secret } };
};

forEachStore((store, test) => {
    test('O3 Payment.create has its six attributes, its five children, and real times', async (t) => {
        const receiver = await Receiver.open(t);
        const server = await start(t, store, { env: toReceiver(receiver, QUIET) });
        const booking = await server.booking();
        const key = uuid();
        const before = BigInt(Date.now()) * 1_000_000n;
        const answer = await server.pay(booking, { key, headers: { traceparent: SAMPLED } });
        const after = BigInt(Date.now() + 1) * 1_000_000n;
        assert.equal(answer.status, 201);
        const create = await receiver.span('Payment.create');
        assert.deepEqual(
            Object.fromEntries(Object.entries(create.attributes).filter(([name]) => name.startsWith('payment.'))), {
                'payment.id': answer.body.id, 'payment.booking_id': booking.id, 'payment.amount': booking.amount,
                'payment.currency': booking.currency, 'payment.status': 'AUTHORIZED', 'payment.idempotency_key': key,
                'payment.replayed': false,
            });
        assert.equal(create.traceId, TRACE);
        assert.equal(create.status, undefined);
        await until('all children', () => receiver.childrenOf(create).length >= CHILDREN.length);
        const children = receiver.childrenOf(create);
        assert.deepEqual(names(children), CHILDREN);
        for (const span of [create, ...children]) {
            assert.ok(span.start >= before - 2_000_000n && span.end <= after + 1_000_000_000n, `${span.name} at ${span.start}`);
            assert.ok(span.start >= create.start, span.name);
        }
        const byName = Object.fromEntries(children.map((span) => [span.name, span]));
        assert.ok(byName['Payment.validateBooking'].end <= byName['Payment.checkIdempotency'].end, 'within the claim');
        assert.ok(byName['Payment.callGateway'].start >= byName['Payment.checkIdempotency'].end, 'nothing is open while it is called');
        assert.ok(byName['Payment.persist'].start >= byName['Payment.callGateway'].end);
        assert.ok(byName['Payment.publishEvent'].start >= byName['Payment.persist'].start);
        assert.ok(byName['Payment.publishEvent'].end <= byName['Payment.persist'].end);
        assert.equal(byName['Payment.publishEvent'].attributes['event.type'], 'PaymentAuthorized');
        assert.equal(byName['Payment.callGateway'].kind, 'client');
        assert.equal(byName['Payment.callGateway'].attributes['payment.gateway'], 'sandbox');

        const [request_] = receiver.trace(TRACE).filter(({ kind }) => kind === 'server');
        assert.equal(request_.name, 'POST /payments');
        assert.equal(create.parentSpanId, request_.spanId);
        assert.deepEqual([request_.parentSpanId, request_.remote], [PARENT, true]);
        assert.equal(create.remote, false);
        assert.equal(answer.headers.traceparent, `00-${TRACE}-${request_.spanId}-01`);
        assert.deepEqual(
            ['http.request.method', 'http.route', 'http.response.status_code', 'url.scheme'].map((name) => request_.attributes[name]),
            ['POST', '/payments', 201, 'http']);
        assertWhole(receiver.trace(TRACE), [PARENT]);
        assert.deepEqual(
            ['service.name', 'service.version'].map((name) => typeof request_.resource[name]), ['string', 'string']);
    });

    test('O3 capture, refund and void are told alike; a replay has a look at its key and nothing else', async (t) => {
        const receiver = await Receiver.open(t);
        const server = await start(t, store, { env: toReceiver(receiver, QUIET) });
        const payment = await server.paid();
        const key = uuid();
        await server.capture(payment, undefined, { key });
        await server.capture(payment, undefined, { key });
        await server.refund(payment, 100);
        await server.void(await server.paid());
        const replay = await receiver.span('Payment.capture', ({ attributes }) => attributes['payment.replayed']);
        await until('its child', () => receiver.childrenOf(replay).length);
        assert.deepEqual(names(receiver.childrenOf(replay)), ['Payment.checkIdempotency']);
        const wanted = ['Payment.callGateway', 'Payment.checkIdempotency', 'Payment.persist', 'Payment.publishEvent', 'Payment.validatePayment'];
        for (const [name, status, amount] of [
            ['Payment.capture', 'CAPTURED', 1200], ['Payment.refund', 'CAPTURED', 100], ['Payment.void', 'REFUNDED', 1200]]) {
            const span = await receiver.span(name, ({ attributes }) => !attributes['payment.replayed']);
            assert.deepEqual([span.attributes['payment.status'], span.attributes['payment.amount']], [status, amount], name);
            await until(`the children of ${name}`, () => receiver.childrenOf(span).length >= wanted.length);
            assert.deepEqual(names(receiver.childrenOf(span)), wanted, name);
        }
    });

    test('O3 what fails says so, without a secret: refusals, declines, a gateway that is gone', async (t) => {
        const receiver = await Receiver.open(t);
        const server = await start(t, store, { env: toReceiver(receiver) });
        const booking = await server.booking();
        assert.equal((await server.pay(booking, { amount: booking.amount + 1 })).status, 422);
        const refused = await receiver.span('Payment.create');
        assert.equal(refused.status.code, 2);
        assert.equal(refused.attributes['payment.id'], undefined);
        const invalid = await receiver.span('Payment.validateBooking', ({ parentSpanId }) => parentSpanId === refused.spanId);
        assert.equal(invalid.status.code, 2);

        const declined = await server.pay(await server.booking(), { paymentMethod: 'pm_card_visa_chargeDeclined' });
        assert.equal(declined.body.status, 'FAILED');
        const failed = await receiver.span('Payment.create', ({ attributes }) => attributes['payment.id'] === declined.body.id);
        assert.equal(failed.attributes['payment.status'], 'FAILED');
        assert.equal(failed.status, undefined, 'a decline is an answer');

        await server.fault({ path: '/v1/payment_intents', statusBefore: 500, times: 1000 });
        const gone = await server.pay(await server.booking());
        assert.ok([502, 504].includes(gone.status), gone.text);
        const call = await receiver.span('Payment.callGateway', ({ status }) => status?.code === 2);
        assert.equal(call.attributes['gateway.answer'], 'uncertain');
        const request_ = await receiver.span('POST /payments', ({ attributes }) => attributes['http.response.status_code'] >= 500);
        assert.equal(request_.status.code, 2);
    });

    test('O3 one trace from the webhook through the queue to worker, gateway, notification and subscriber', async (t) => {
        const receiver = await Receiver.open(t);
        const told = await post(t);
        const subscriber = await receive(t, () => 200);
        const server = await start(t, store, {
            env: toReceiver(receiver, { ...QUIET, ICHIDO_REFETCH: 'on', ...told.env }),
        });
        await server.call('POST', '/api/v1/admin/subscribers', { as: 'admin', body: { url: subscriber.url, types: ['PaymentCaptured'] } });
        const userId = uuid();
        await server.call('PUT', `/api/v1/users/${userId}`, { as: userId, body: { channels: ['webhook'] } });
        const payment = await server.paid({}, { userId });
        await captureThere(server, payment);
        const charge = await eventOf(server, payment, 'charge.captured');
        assert.equal((await server.deliver(charge)).status, 204);
        await server.settled(charge.id);
        const one = await eventOf(server, payment, 'payment_intent.succeeded');
        const answer = await server.deliver(one, { headers: { traceparent: SAMPLED } });
        assert.equal(answer.status, 204);
        await server.settled(one.id);

        const step = async (name, parent, kind) => {
            const span = await receiver.span(name, ({ traceId, parentSpanId }) => traceId === TRACE && parentSpanId === parent.spanId);
            assert.equal(span.kind, kind, name);
            assert.ok(span.start >= parent.start, name);
            return span;
        };
        const door = await step('POST /api/v1/webhooks/stripe', { spanId: PARENT, start: 0n }, 'server');
        const added = await step('Webhook.enqueue', door, 'producer');
        const applied = await step('Webhook.process', added, 'consumer');
        const asked = await step('Webhook.refetch', applied, 'consumer');
        const gateway = await step('Webhook.fetch', asked, 'client');
        const notified = await step('Notify.send', asked, 'client');
        const delivered = await step('Event.deliver', asked, 'client');
        assert.equal(applied.attributes['event.id'], one.id);
        assert.equal(applied.attributes['messaging.message.id'], answer.headers['x-message-id']);
        assert.equal(gateway.attributes['gateway.answer'], 'ok');
        assert.equal(notified.attributes['notification.channel'], 'webhook');
        assert.equal(answer.headers.traceparent, `00-${TRACE}-${door.spanId}-01`);
        const heard = told.got.filter(({ headers }) => headers.traceparent?.includes(TRACE));
        assert.ok(heard.some(({ headers }) => headers.traceparent === `00-${TRACE}-${notified.spanId}-01`), 'the notification names its span');
        assert.equal(subscriber[0].headers.traceparent, `00-${TRACE}-${delivered.spanId}-01`);
        assertWhole(receiver.trace(TRACE), [PARENT]);
    });

    test('O3 one trace through a remote QStash and back to the worker', async (t) => {
        const receiver = await Receiver.open(t);
        const fake = await FakeQStash.open(t);
        const server = await start(t, store, {
            env: toReceiver(receiver, {
                ICHIDO_QUEUE: 'qstash', QSTASH_URL: fake.url, ICHIDO_PUBLIC_URL: 'https://pay.example.test', ...QUIET,
            }),
        });
        const one = event();
        assert.equal((await server.deliver(one, { headers: { traceparent: SAMPLED } })).status, 204);
        await fake.took(1);
        assert.deepEqual((await fake.deliver(server)).map(({ status }) => status), [204]);
        const added = await receiver.span('Webhook.enqueue');
        const published = await receiver.span('Webhook.publish');
        assert.equal(published.parentSpanId, added.spanId);
        assert.equal(fake.got[0].headers['upstash-forward-traceparent'], `00-${TRACE}-${published.spanId}-01`);
        const worker = await receiver.span('POST /api/workers/stripe-webhook');
        assert.equal(worker.parentSpanId, published.spanId);
        const applied = await receiver.span('Webhook.process');
        assert.equal(applied.parentSpanId, worker.spanId);
        assertWhole(receiver.trace(TRACE), [PARENT]);
    });

    test('O3 an operation that a crash left behind has a trace of its own', async (t) => {
        const receiver = await Receiver.open(t);
        const db = await fresh(t, store);
        const env = toReceiver(receiver, QUIET);
        const first = await launch(t, db, { env: { ...env, ICHIDO_FAULTS: 'op.answered=crash' } }).listening();
        const booking = await first.booking();
        await first.pay(booking, { headers: { traceparent: SAMPLED } }).catch(() => {});
        await first.exit;
        const server = await start(t, store, { db, env });
        await server.advance(12_000); // the dead one's lease runs out
        const resumed = await receiver.span('Payment.create', ({ attributes }) => attributes['payment.resumed']);
        assert.notEqual(resumed.traceId, TRACE);
        assert.equal(resumed.parentSpanId, undefined);
        assert.equal(resumed.attributes['payment.status'], 'AUTHORIZED');
        await until('its children', () => receiver.childrenOf(resumed).length >= 3);
        assert.deepEqual(names(receiver.childrenOf(resumed)), ['Payment.callGateway', 'Payment.persist', 'Payment.publishEvent']);
        assert.equal((await server.books()).totals.held, booking.amount);
    });
});

test('O3 traceparent as the standard wants it: junk and two of them begin a new trace, later versions are read', async (t) => {
    const receiver = await Receiver.open(t);
    const server = await start(t, any, { env: toReceiver(receiver) });
    const reply = async (traceparent) => {
        const headers = traceparent === undefined ? {} : { traceparent };
        const { headers: back } = await server.get('/healthz', headers);
        return back.traceparent;
    };
    const ours = (flags) => new RegExp(`^00-${TRACE}-(?!${PARENT})[0-9a-f]{16}-${flags}$`);
    const fresh_ = new RegExp(`^00-(?!${TRACE})[0-9a-f]{32}-[0-9a-f]{16}-03$`);
    for (const [sent, wanted] of [
        [SAMPLED, ours('01')],
        [`00-${TRACE}-${PARENT}-00`, ours('01')], // always_on
        [`00-${TRACE}-${PARENT}-03`, ours('03')],
        [`00-${TRACE}-${PARENT}-ff`, ours('03')],
        [`  \t${SAMPLED}\t `, ours('01')],
        [`cc-${TRACE}-${PARENT}-01-what`, ours('01')],
        [`cc-${TRACE}-${PARENT}-01.x`, fresh_],
        [`${SAMPLED}-x`, fresh_],
        [`ff-${TRACE}-${PARENT}-01`, fresh_],
        [SAMPLED.toUpperCase(), fresh_],
        [`00-${'0'.repeat(32)}-${PARENT}-01`, fresh_],
        [`00-${TRACE}-${'0'.repeat(16)}-01`, fresh_],
        ['', fresh_],
        [undefined, fresh_],
    ])
        assert.match(await reply(sent), wanted, JSON.stringify(sent));
    const two = await server.get('/healthz', { traceparent: [SAMPLED, `00-${TRACE}-${PARENT}-00`] });
    assert.match(two.headers.traceparent, fresh_, 'two of them');
    await receiver.span('GET /healthz');
});

test('O3 a path or method of a client never becomes a name', async (t) => {
    const receiver = await Receiver.open(t);
    const server = await start(t, any, { env: toReceiver(receiver) });
    await server.get('/secret-in-a-path/sk_live_abc');
    await server.call('GET', `/payments/${uuid()}`, { as: uuid() });
    await server.request({ method: 'PURGE', path: '/payments' }).catch(() => {});
    assert.equal((await receiver.span('GET')).attributes['http.route'], undefined);
    await receiver.span('GET /payments/{id}');
    for (const { body } of receiver.requests) assert.doesNotMatch(body, /sk_live_abc|secret-in-a-path/);
});

test('O3 sampling: nothing at 0, all at 1, the parent where it may, and outsiders never without end', async (t) => {
    const run = async (env, send) => {
        const receiver = await Receiver.open(t);
        const server = await start(t, any, { env: toReceiver(receiver, env) });
        const flags = [];
        for (const traceparent of send) {
            const { headers } = await server.get('/healthz', traceparent ? { traceparent } : {});
            flags.push(headers.traceparent.slice(-2));
        }
        await server.stop();
        return { flags, spans: receiver.named('GET /healthz').length };
    };
    const ratio = (arg) => ({ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: arg });
    const NOT = `00-${TRACE}-${PARENT}-00`;
    assert.deepEqual(await run(ratio('0'), [undefined, undefined, NOT]), { flags: ['02', '02', '00'], spans: 0 });
    assert.deepEqual(await run(ratio('1'), [undefined, undefined, NOT]), { flags: ['03', '03', '00'], spans: 2 });
    assert.deepEqual(await run(ratio('0'), [SAMPLED, SAMPLED]), { flags: ['01', '01'], spans: 2 });
    assert.deepEqual(await run({ OTEL_TRACES_SAMPLER: 'always_off' }, [SAMPLED]), { flags: ['00'], spans: 0 });
    const flood = await run(ratio('0'), Array(900).fill(SAMPLED));
    assert.ok(flood.flags.includes('00'), 'the bound a second');
    assert.equal(flood.spans, flood.flags.filter((flag) => flag === '01').length);
});

test('O3 without an endpoint, and with OTEL_SDK_DISABLED, nothing is recorded and flags are passed on', async (t) => {
    const receiver = await Receiver.open(t);
    for (const env of [{}, toReceiver(receiver, { OTEL_SDK_DISABLED: 'TRUE' })]) {
        const server = await start(t, any, { env });
        for (const flags of ['00', '01'])
            assert.equal((await server.get('/healthz', { traceparent: `00-${TRACE}-${PARENT}-${flags}` })).headers.traceparent.slice(-2), flags);
        await server.stop();
    }
    assert.equal(receiver.requests.length, 0);
});

test('O3 endpoints, headers and resource as the specification names them', async (t) => {
    const receiver = await Receiver.open(t);
    const secret = 'otlp-api-key-0123456789';
    remember(secret);
    const first = async (env) => {
        const server = await start(t, any, { env: { ...toReceiver(receiver), ...env } });
        const before = receiver.requests.length;
        await server.get('/healthz');
        await receiver.came(before + 1);
        await server.stop();
        return receiver.requests[before];
    };
    const one = await first({
        OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/base/`, OTEL_EXPORTER_OTLP_HEADERS: `api-key=${secret},x-two=a%20b`,
        OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment=stage%201', OTEL_SERVICE_NAME: 'shop',
    });
    assert.equal(one.path, '/base/v1/traces');
    assert.deepEqual([one.headers['api-key'], one.headers['x-two']], [secret, 'a b']);
    assert.equal(one.spans[0].resource['service.name'], 'shop');
    assert.equal(one.spans[0].resource['deployment.environment'], 'stage 1');
    const two = await first({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/as/is` });
    assert.equal(two.path, '/as/is');
    assert.equal(two.spans[0].resource['service.name'], 'unknown_service:ichido');
    for (const [name, value] of [['OTEL_EXPORTER_OTLP_HEADERS', secret], ['OTEL_RESOURCE_ATTRIBUTES', 'x']]) {
        const server = launch(t, await fresh(t, any), { env: { ...toReceiver(receiver), [name]: value } });
        assert.notEqual((await server.exit).code, 0);
        assert.match(server.stderr, new RegExp(name));
        assert.ok(!server.stderr.includes(secret));
    }
});

test('O3 503 with Retry-After: the same batch comes again then, and not before; 500 does not', async (t) => {
    const receiver = await Receiver.open(t, (n) => [[503, { 'Retry-After': '30' }], 200, 500][n] ?? 200);
    const server = await start(t, any, { env: toReceiver(receiver) });
    await server.get('/healthz');
    await receiver.came(1);
    await server.get('/healthz');
    await server.advance(20_000);
    assert.equal(receiver.requests.length, 1);
    await server.advance(11_000);
    await receiver.came(2);
    assert.equal(receiver.requests[1].body, receiver.requests[0].body);
    await receiver.came(3);
    await counts(server, 'failed', 1);
    await server.line('it is told', (l) => l.message === "the traces' receiver does not take them; payments go on");
    await until('it goes on', async () => {
        await server.get('/healthz');
        return receiver.requests.length >= 4;
    });
    assert.ok((await counted(server, 'exported')) >= 1);
});

test('O3 partial success is not sent again, and told once', async (t) => {
    const receiver = await Receiver.open(t, () => [200, {}, '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}']);
    const server = await start(t, any, { env: toReceiver(receiver) });
    for (let i = 1; i <= 3; i++) {
        await server.get('/healthz');
        await counts(server, 'rejected', i);
    }
    const bodies = receiver.requests.map(({ body }) => body);
    assert.equal(new Set(bodies).size, bodies.length, 'nothing twice');
    assert.equal(server.lines.filter((l) => l.message === "the traces' receiver does not like all of them").length, 1);
});

test('O3 a receiver that hangs, drops or refuses costs spans and no payment; memory and the end are bounded', async (t) => {
    const gone = `http://127.0.0.1:${await freePort()}`;
    for (const [mood, env] of [
        ['hang', {}], ['drop', {}], ['refuse', { OTEL_EXPORTER_OTLP_ENDPOINT: gone }]]) {
        const receiver = await Receiver.open(t, () => mood);
        const server = await start(t, any, {
            env: toReceiver(receiver, { OTEL_BSP_MAX_QUEUE_SIZE: '64', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '16', ...env }),
        });
        if (mood !== 'refuse') {
            await server.get('/healthz');
            await receiver.came(1);
        }
        const paid = await Promise.all(Array.from({ length: 20 }, () => server.captured()));
        assert.ok(paid.every(({ status }) => status === 'CAPTURED'), mood);
        await counts(server, 'dropped', 1);
        const asked = Date.now();
        assert.deepEqual(await server.stop(), { code: 0, signal: null });
        assert.ok(Date.now() - asked < 20_000, 'the end does not wait for it');
        assert.ok(server.lines.some((l) => l.message === 'traces were lost at the end'), mood);
    }
});

test('O3 what waits at the end leaves before the server does', async (t) => {
    const receiver = await Receiver.open(t);
    const server = await start(t, any, { env: toReceiver(receiver, { OTEL_BSP_SCHEDULE_DELAY: '600000' }) });
    const payment = await server.paid();
    assert.equal(receiver.requests.length, 0);
    await server.stop();
    assert.equal(receiver.named('Payment.create')[0].attributes['payment.id'], payment.id);
});

test('O3 a full batch leaves at once, however long the delay', async (t) => {
    const receiver = await Receiver.open(t);
    const server = await start(t, any, {
        env: toReceiver(receiver, { OTEL_BSP_SCHEDULE_DELAY: '600000', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10' }),
    });
    for (let i = 0; i < 10; i++) await server.get('/healthz');
    await receiver.came(1);
    assert.equal(receiver.requests[0].spans.length, 10);
});

test('O3 the test clock does not move the times of spans', async (t) => {
    const receiver = await Receiver.open(t);
    const server = await start(t, any, { env: toReceiver(receiver) });
    await server.get('/healthz');
    await server.advance(86_400_000);
    await server.get('/readyz');
    const spans = [await receiver.span('GET /healthz'), await receiver.span('GET /readyz')];
    for (const { start: at, end } of spans) {
        assert.ok(end >= at);
        assert.ok(Math.abs(Number(at / 1_000_000n) - Date.now()) < 60_000);
    }
    assert.ok(spans[1].start >= spans[0].end);
});

test('O3 no mail address, card or token in what leaves', async (t) => {
    const receiver = await Receiver.open(t);
    const server = await start(t, any, { env: toReceiver(receiver) });
    await server.captured();
    await server.pay(await server.booking(), { description: 'card 4242 4242 4242 4242 of taro@example.test' });
    await callWorker(server, event()).catch(() => {});
    await request(server.port, { path: '/healthz', headers: { 'X-Request-Id': '4242424242424242' } });
    await receiver.span('Payment.capture');
    await server.stop();
    for (const { body } of receiver.requests)
        assert.doesNotMatch(body, /4242 ?4242 ?4242 ?4242|@example|Bearer|eyJ|sk_test|whsec_/);
});
