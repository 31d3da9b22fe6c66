// Who is told what happens to payments: signed, in order, at least once, and never something that was not
// asked for (B2 E10 Q10). Receivers verify with the Standard Webhooks library.
import http from 'node:http';
import { Webhook } from 'standardwebhooks';
import { assert, forEachStore, start, token, until, uuid } from './lib/harness.mjs';

const PATH = '/api/v1/admin/subscribers';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

// A subscriber's own server. `answer(n, event)` gives the status of the n-th request, from 0.
async function receiver(t, answer = () => 200) {
    const got = [];
    const server = http.createServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', () => {
            const text = Buffer.concat(parts).toString();
            const event = JSON.parse(text);
            const [status, headers = {}] = [answer(got.length, event)].flat();
            got.push({ text, event, headers: request.headers, method: request.method, url: request.url });
            response.writeHead(status, headers).end('thank you');
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.atEnd(() => new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
    }));
    got.url = `http://127.0.0.1:${server.address().port}/in?from=ichido`;
    return got;
}

async function subscribe(server, url, changes = {}) {
    const answer = await server.call('POST', PATH, { as: 'admin', body: { url, ...changes } });
    assert.equal(answer.status, 201, answer.text);
    return answer.body;
}

const types = (got) => got.map(({ event }) => event.type);
const came = (got, n) => until(`${n} deliveries`, () => got.length >= n);
const fields = (answer) => {
    assert.equal(answer.status, 400, answer.text);
    return answer.body.errors.map(({ field }) => field).sort();
};

forEachStore((store, test) => {
    test('B2 subscribers are added, listed without their secrets, and removed', async (t) => {
        const server = await start(t, store);
        const one = await subscribe(server, 'https://example.test/a', { types: ['PaymentCaptured', 'PaymentFailed'] });
        assert.match(one.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
        assert.match(one.createdAt, TIME);
        assert.equal(one.disabledAt, null);
        const own = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
        const two = await subscribe(server, 'http://example.test:8080/b', { secret: own });
        assert.equal(two.secret, own);
        assert.deepEqual(two.types, ['*']);
        const { body } = await server.call('GET', PATH, { as: 'admin' });
        assert.deepEqual(body.data.map(({ url, types: list }) => [url, list]).sort(), [
            ['http://example.test:8080/b', ['*']],
            ['https://example.test/a', ['PaymentCaptured', 'PaymentFailed']],
        ]);
        assert.ok(!JSON.stringify(body).includes('whsec_'));
        const remove = (id, how = { as: 'admin' }) => server.call('DELETE', `${PATH}/${id}`, how);
        assert.equal((await remove(one.id, { as: uuid() })).status, 403);
        assert.equal((await remove(one.id)).status, 204);
        assert.equal((await remove(one.id)).status, 404);
        assert.deepEqual(fields(await remove('x')), ['id']);
        assert.equal((await server.call('GET', PATH, { as: 'admin' })).body.data.length, 1);
        const acts = (await server.db.audit()).map(({ operation }) => operation);
        assert.deepEqual(acts, ['SUBSCRIBER_ADD', 'SUBSCRIBER_ADD', 'SUBSCRIBER_REMOVE']);
    });

    test('B2 only an admin decides who is told, and what is wrong is named', async (t) => {
        const server = await start(t, store);
        const url = 'https://example.test/';
        for (const method of ['GET', 'POST']) {
            const body = method === 'POST' ? { url } : undefined;
            assert.equal((await server.call(method, PATH, { body })).status, 401);
            assert.equal((await server.call(method, PATH, { as: uuid(), body })).status, 403);
            assert.equal((await server.call(method, PATH, { bearer: token(uuid(), 'service'), body })).status, 403);
        }
        const rows = [
            [{}, ['url']], [{ url: 'ftp://x/' }, ['url']], [{ url: 'https://' }, ['url']], [{ url: 'https://a b/' }, ['url']],
            [{ url: 'https://user:word@example.test/' }, ['url']], [{ url, secret: 'whsec_short' }, ['secret']],
            [{ url, types: ['PaymentEaten'] }, ['types']], [{ url, types: 'PaymentFailed' }, ['types']],
            [{ url, types: ['PaymentFailed', 'PaymentFailed'] }, ['types']], [{ url, secrets: 1 }, ['secrets']],
        ];
        for (const [body, wrong] of rows)
            assert.deepEqual(fields(await server.call('POST', PATH, { as: 'admin', body })), wrong, JSON.stringify(body));
        assert.equal(await server.db.count('subscribers'), 0);
    });

    test('B2 every event of a payment comes signed and in order, with the fields of 004', async (t) => {
        const server = await start(t, store);
        const got = await receiver(t);
        const { secret } = await subscribe(server, got.url);
        const payment = await server.captured();
        await server.refund(payment, 200);
        await server.refund(payment);
        await came(got, 5);
        assert.deepEqual(types(got), ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured', 'PaymentRefunded', 'PaymentRefunded']);
        let version = 0;
        for (const { text, event, headers, method, url } of got) {
            assert.deepEqual(new Webhook(secret).verify(text, headers), event);
            assert.deepEqual([method, url], ['POST', '/in?from=ichido']);
            assert.match(headers['content-type'], /^application\/json/);
            assert.match(headers['user-agent'], /^Ichido/);
            assert.deepEqual(Object.keys(event), ['eventId', 'type', 'aggregateId', 'version', 'occurredAt', 'payload']);
            assert.match(event.occurredAt, TIME);
            assert.equal(event.aggregateId, payment.id);
            assert.ok(event.version > version, 'versions rise');
            version = event.version;
        }
        const [created, authorized, captured, part, rest] = got.map(({ event }) => event.payload);
        const common = { paymentId: payment.id, bookingId: payment.bookingId, userId: payment.userId };
        const money = { amount: 1200, currency: 'JPY' };
        assert.deepEqual(created, { ...common, ...money, status: 'PENDING', idempotencyKey: payment.idempotencyKey });
        assert.deepEqual(authorized, { ...common, ...money, gatewayTransactionId: payment.gatewayTransactionId });
        assert.deepEqual(captured, { ...authorized, capturedAmount: 1200 });
        assert.deepEqual([part.refundAmount, part.refundedAmount, part.voided], [200, 200, false]);
        assert.deepEqual([rest.refundAmount, rest.refundedAmount, rest.voided], [1000, 1200, false]);
        assert.notEqual(part.refundId, rest.refundId);
        assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, 5);
    });

    test('B2 a decline and a void are told too', async (t) => {
        const server = await start(t, store);
        const got = await receiver(t);
        await subscribe(server, got.url, { types: ['PaymentFailed', 'PaymentRefunded'] });
        const failed = await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });
        await came(got, 1);
        const { paymentId, failureReason, failedAt } = got[0].event.payload;
        assert.deepEqual([paymentId, failureReason], [failed.id, failed.failureReason]);
        assert.match(failedAt, TIME);
        const held = await server.paid();
        await server.void(held);
        await came(got, 2);
        const { refundAmount, refundedAmount, voided } = got[1].event.payload;
        assert.deepEqual([refundAmount, refundedAmount, voided], [0, 0, true]);
        assert.deepEqual(types(got), ['PaymentFailed', 'PaymentRefunded']);
    });

    test('B2 Q10 a delivery that fails comes again with the same id, and what is behind it waits', async (t) => {
        const server = await start(t, store);
        const got = await receiver(t, (n) => (n === 0 ? 500 : 204));
        const { secret } = await subscribe(server, got.url);
        await server.paid();
        await came(got, 1);
        await until('it is put off', async () => (await server.db.messages())
            .some(({ kind, attempt, owner }) => kind === 'event.deliver' && attempt === 1 && !owner));
        await server.advance(4000);
        assert.equal(got.length, 1);
        await server.advance(1000);
        await came(got, 3);
        assert.deepEqual(types(got), ['PaymentCreated', 'PaymentCreated', 'PaymentAuthorized']);
        assert.equal(got[0].headers['webhook-id'], got[1].headers['webhook-id']);
        assert.equal(got[0].text, got[1].text);
        assert.ok(Number(got[1].headers['webhook-timestamp']) >= Number(got[0].headers['webhook-timestamp']) + 4);
        new Webhook(secret).verify(got[1].text, got[1].headers);
        await until('nothing is left', async () => (await server.db.messages())
            .every(({ kind }) => kind !== 'event.deliver'));
    });

    test('B2 one that is down holds up nobody else', async (t) => {
        const server = await start(t, store);
        const bad = await receiver(t, () => 503);
        const good = await receiver(t);
        await subscribe(server, bad.url);
        await subscribe(server, 'http://127.0.0.1:1/nobody');
        await subscribe(server, good.url);
        await server.captured();
        await came(good, 3);
        assert.deepEqual(types(good), ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured']);
        await came(bad, 1);
        assert.deepEqual(types(bad), ['PaymentCreated']);
    });

    test('B2 who answers 410 is told nothing more', async (t) => {
        const server = await start(t, store);
        const got = await receiver(t, () => 410);
        await subscribe(server, got.url);
        await server.captured();
        await until('it is disabled', async () => (await server.call('GET', PATH, { as: 'admin' })).body.data[0].disabledAt);
        await until('nothing is left', async () => (await server.db.messages())
            .every(({ kind }) => kind !== 'event.deliver'));
        await server.captured();
        assert.equal(got.length, 1);
        assert.equal((await server.db.audit("operation = 'SUBSCRIBER_DISABLE'")).length, 1);
    });

    test('B2 after the whole schedule it is a dead letter, and the next event goes on', async (t) => {
        const server = await start(t, store);
        const got = await receiver(t, (n, event) => (event.type === 'PaymentCreated' ? 500 : 200));
        await subscribe(server, got.url);
        await server.paid();
        const hour = 3_600_000;
        const gaps = [5000, hour / 12, hour / 2, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];
        for (const [i, gap] of gaps.entries()) {
            await came(got, i + 1);
            await until('it is put off', async () => (await server.db.messages())
                .some(({ kind, attempt, owner }) => kind === 'event.deliver' && attempt === i + 1 && !owner));
            await server.advance(gap);
        }
        await came(got, gaps.length + 2);
        assert.deepEqual(types(got).slice(-2), ['PaymentCreated', 'PaymentAuthorized']);
        assert.equal(new Set(got.slice(0, 10).map(({ headers }) => headers['webhook-id'])).size, 1);
        const dead = await until('a dead letter', async () => (await server.db.dead())[0]);
        assert.deepEqual([dead.kind, dead.attempts], ['event.deliver', 10]);
        assert.match(dead.reason, /answered 500/);
    });

    test('B2 T6 a crash loses no event and changes no id', async (t) => {
        const server = await start(t, store);
        const got = await receiver(t, (n) => (n === 0 ? 500 : 200));
        await subscribe(server, got.url);
        await server.paid();
        await came(got, 1);
        await server.kill();
        const again = await start(t, store, { db: server.db });
        await until('all of them are told', async () => {
            await again.advance(5000);
            return types(got).includes('PaymentAuthorized');
        });
        const ids = new Map(got.map(({ event, headers }) => [event.eventId, headers['webhook-id']]));
        for (const { event, headers } of got) assert.equal(headers['webhook-id'], ids.get(event.eventId));
        assert.deepEqual([...new Set(types(got))], ['PaymentCreated', 'PaymentAuthorized']);
    });

    test('E10 webhooks that tell the same change again, in any order, tell nobody', async (t) => {
        const server = await start(t, store);
        const got = await receiver(t);
        await server.webhooks({ duplicate: 3, reorder: true });
        await subscribe(server, got.url);
        const payment = await server.captured();
        await came(got, 3);
        await until('duplicates came', () => server.db.count('webhook_duplicates'));
        await until('every webhook is applied', async () => (await server.db.messages())
            .every(({ kind }) => kind !== 'stripe.event'));
        const rows = await server.db.all('SELECT type FROM domain_events ORDER BY version');
        assert.deepEqual(rows.map(({ type }) => type), ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured']);
        assert.deepEqual(types(got), ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured']);
        assert.equal((await server.payment(payment)).body.status, 'CAPTURED');
    });

    test('Q10 in production nothing is sent to a private address', async (t) => {
        const server = await start(t, store, {
            env: {
                ICHIDO_MODE: 'production', ICHIDO_GATEWAY: 'stripe', STRIPE_SECRET_KEY: 'sk_test_ichido_e2e',
                STRIPE_API_BASE: 'http://127.0.0.1:1', ICHIDO_TEST_CLOCK: undefined, ICHIDO_SANDBOX_LISTEN: undefined,
                ICHIDO_SANDBOX_DB: undefined,
            },
        });
        const got = await receiver(t);
        await subscribe(server, got.url);
        await subscribe(server, got.url.replace('127.0.0.1', 'localhost'));
        const paying = server.pay(await server.booking()); // the gateway is not there: only PaymentCreated is told
        await until('both were refused', () => server.lines
            .filter(({ message }) => message === 'Event delivery failed').length >= 2);
        assert.equal((await paying).status, 502);
        assert.equal(got.length, 0);
    });
});
