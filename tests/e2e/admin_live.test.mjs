// At a glance (O8): live points, the overview, queues and schedules that can be held, settings without secrets, and the
// sandbox from the operator's page. Every answer is held against api/openapi.yaml by the harness.
import {
    ADMIN_TOKEN, assert, event, forEachStore, fresh, launch, SECRET, start, stores, test, token, until, uuid,
} from './lib/harness.mjs';
import { Collection } from './lib/collections.mjs';
import { DLQ, dies, fill, orphan } from './lib/dlq.mjs';
import { remember } from './lib/evidence.mjs';
import { campaign } from './lib/purchases.mjs';
import { receive, sdk } from './lib/receiver.mjs';

const ADMIN = '/api/v1/admin';
const OPERATOR = uuid();
const viewer = token(uuid(), 'viewer');
const operator = token(OPERATOR, 'admin');
const now = (server) => Date.now() + server.offsetMs;

const get = async (server, where, options = { as: 'admin' }) => {
    const answer = await server.call('GET', `${ADMIN}${where}`, options);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
};
const act = (server, method, where, body, options = { bearer: operator }) =>
    server.call(method, `${ADMIN}${where}`, { body, ...options });
const acts = async (server) => (await server.db.table('audit', `operation LIKE 'QUEUE%' OR operation LIKE 'SCHEDULE%'
    OR operation LIKE 'SANDBOX%'`)).map((row) => [row.operation, row.subject, row.user_id]);
const hex = (id) => id.replaceAll('-', '');

// The sum of one name over all points, once it is as wanted.
const summed = (server, name, wanted) => until(`${name} is ${wanted}`, async () => {
    await server.advance(2000);
    const { points } = await get(server, '/live');
    return points.reduce((sum, point) => sum + point[name], 0) === wanted && points;
});

forEachStore((store, test) => {
    test('O8 live points show what happened in each two seconds, and only those behind `since` where asked', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const again = await server.pay(payment.booking, { key: uuid() }); // another key: refused, and counted
        assert.equal(again.status, 422);
        const key = uuid();
        const booking = await server.booking();
        await server.pay(booking, { key });
        await server.pay(booking, { key });
        const one = event();
        assert.equal((await server.deliver(one)).status, 204);
        await server.settled(one.id);
        const points = await summed(server, 'replays', 1);
        const total = (name) => points.reduce((sum, point) => sum + point[name], 0);
        assert.equal(total('payments'), 3);
        assert.ok(total('webhooks') >= 1);
        assert.ok(total('jobs') >= 3);
        assert.equal(total('errors') + total('dead'), 0);
        assert.ok(points.some((point) => point.createP95Ms > 0));
        assert.ok(points.some((point) => point.ackP95Ms > 0 && point.ackP50Ms <= point.ackP95Ms));
        assert.ok(points.every((point, i) => !i || point.at > points[i - 1].at));

        const last = points.at(-1).at;
        assert.equal((await get(server, `/live?since=${last}`)).points.filter((point) => point.at <= last).length, 0);
        await server.advance(2000);
        await until('there is a new point', async () => (await get(server, `/live?since=${last}`)).points.length);
        const wrong = await server.call('GET', `${ADMIN}/live?since=yesterday&x=1`, { as: 'admin' });
        assert.equal(wrong.status, 400);
        assert.deepEqual(wrong.body.errors.map(({ field }) => field), ['since', 'x']);
    });

    test('O8 live points go back ten minutes and no further', async (t) => {
        const server = await start(t, store);
        for (let i = 0; i < 320; i++) {
            await server.advance(2000);
            await server.get('/healthz'); // the timer has had its turn at the loop
        }
        const { points, intervalMs } = await get(server, '/live');
        assert.deepEqual([points.length, intervalMs], [300, 2000]);
        assert.ok(now(server) - Date.parse(points[0].at) < 620_000);
    });

    test('O8 the overview counts dead letters, unknown outcomes, alerts, and the money of today', async (t) => {
        const server = await start(t, store);
        const empty = await get(server, '/overview');
        assert.deepEqual(empty.dead, { count: 0, exact: true, oldestAt: null });
        assert.deepEqual(empty.unknown, { count: 0, exact: true, oldestAt: null });
        assert.deepEqual([empty.today.zone, empty.today.payments, empty.today.captured, empty.today.exact], ['Asia/Tokyo', 0, [], true]);
        assert.equal(empty.node.database, store.kind);
        assert.equal(empty.gateways[0].name, 'sandbox');
        const midnight = Date.parse(empty.today.since);
        assert.equal((midnight + 9 * 3_600_000) % 86_400_000, 0, 'midnight in Tokyo');
        assert.ok(now(server) - midnight < 86_400_000 && midnight <= now(server));

        await server.paid();
        const captured = await server.captured({}, { amount: 5000 });
        const dollars = await server.captured({}, { amount: 700, currency: 'USD' });
        assert.equal((await server.refund(captured, 1200)).status, 200);
        assert.equal((await server.refund(dollars)).status, 200);
        await dies(server, orphan());
        const full = await get(server, '/overview', { bearer: viewer });
        assert.deepEqual([full.today.payments, full.today.exact], [3, true]);
        assert.deepEqual(full.today.captured, [{ currency: 'JPY', amount: 5000 }, { currency: 'USD', amount: 700 }]);
        assert.deepEqual(full.today.refunded, [{ currency: 'JPY', amount: 1200 }, { currency: 'USD', amount: 700 }]);
        assert.deepEqual([full.dead.count, full.dead.exact], [1, true]);
        assert.ok(Date.parse(full.dead.oldestAt) <= now(server) + 1000);
        await until('the alert is counted', async () => {
            await server.advance(10_000);
            return (await get(server, '/overview')).alerts.firing >= 1;
        });

        await server.advance(86_400_000); // tomorrow
        const tomorrow = await get(server, '/overview');
        assert.deepEqual([tomorrow.today.payments, tomorrow.today.captured, tomorrow.today.refunded], [0, [], []]);
    });

    test('O8 what is more than 10,000 is shown as 10,000, and says so', async (t) => {
        const server = await start(t, store);
        await fill(server.db, 10_050);
        const { dead } = await get(server, '/overview');
        assert.deepEqual([dead.count, dead.exact], [10_000, false]);
    });

    test('O8 an open breaker is seen', async (t) => {
        const server = await start(t, store, { env: { STRIPE_API_BASE: 'http://127.0.0.1:9' } });
        await until('the breaker is open', async () => {
            const booking = await server.booking();
            await server.pay(booking);
            const { gateways } = await get(server, '/overview');
            return gateways.find(({ name }) => name === 'sandbox').state === 'open';
        });
    });

    test('O8 queues: what waits by kind; a queue of the QStash API is held and let go, with who did it', async (t) => {
        const hook = await receive(t);
        const server = await start(t, store);
        const q = sdk(server);
        await q.queue({ queueName: 'mail' }).upsert({ parallelism: 2 });
        assert.deepEqual((await get(server, '/queues')).queues, [{ name: 'mail', parallelism: 2, paused: false, lag: 0, running: 0 }]);

        const paused = await act(server, 'POST', '/queues/mail/pause');
        assert.deepEqual([paused.status, paused.body.paused], [200, true]);
        await q.queue({ queueName: 'mail' }).enqueue({ url: `${hook.url}/a`, body: 'one' });
        const { kinds, queues } = await get(server, '/queues', { bearer: viewer });
        assert.equal(queues[0].lag, 1);
        assert.ok(kinds.every(({ exact, waiting }) => exact && waiting >= 1));
        assert.ok(kinds.some(({ kind, ready, oldestDueAt }) => kind === 'payment.unknown' && ready === 0 && oldestDueAt));
        assert.equal((await q.queue({ queueName: 'mail' }).get()).paused, true, 'the door sees the same');
        assert.equal(hook.length, 0);

        assert.equal((await act(server, 'POST', '/queues/mail/resume', {})).body.paused, false);
        await hook.came(1);
        assert.deepEqual(await acts(server), [['QUEUE_PAUSED', 'mail', hex(OPERATOR)], ['QUEUE_RESUMED', 'mail', hex(OPERATOR)]]);

        assert.equal((await act(server, 'POST', '/queues/nobody/pause')).status, 404);
        assert.equal((await act(server, 'POST', '/queues/no%2Fname/pause')).status, 404);
        assert.equal((await act(server, 'POST', '/queues/mail/pause', { now: true })).status, 400);
        assert.equal((await act(server, 'POST', '/queues/mail/pause', undefined, { bearer: viewer })).status, 403);
        assert.equal((await acts(server)).length, 2, 'what was refused changed nothing');
        assert.equal((await get(server, '/queues')).queues[0].paused, false);
    });

    test('O8 schedules: the QStash API\'s and our own standing jobs, by pages; only the first can be held', async (t) => {
        const server = await start(t, store);
        const { schedules } = sdk(server);
        for (const scheduleId of ['b', 'a', 'c'])
            await schedules.create({ scheduleId, destination: 'https://who:s3cret@example.test/p?token=s3cret', cron: '0 * * * *' });
        const { data, nextCursor } = await get(server, '/schedules', { bearer: viewer });
        assert.equal(nextCursor, null);
        assert.deepEqual(data.filter(({ source }) => source === 'qstash').map(({ id, destination, cron }) => [id, destination, cron]),
            ['a', 'b', 'c'].map((id) => [id, 'https://who:***@example.test/p?***', '0 * * * *']));
        assert.equal(Date.parse(data[0].nextAt) % 3_600_000, 0);
        const own = data.filter(({ source }) => source === 'builtin');
        for (const kind of ['payment.unknown', 'keys.expire', 'events.forget', 'qstash.forget'])
            assert.ok(own.some((one) => one.id === `builtin:${kind}` && one.kind === kind && Date.parse(one.nextAt) > Date.now() - 60_000), kind);

        const paged = [];
        for (let cursor = ''; cursor !== null;) {
            const page = await get(server, `/schedules?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
            assert.ok(page.data.length <= 2);
            paged.push(...page.data);
            cursor = page.nextCursor;
        }
        assert.deepEqual(paged.map(({ id }) => id), data.map(({ id }) => id));

        const held = await act(server, 'POST', '/schedules/b/pause');
        assert.deepEqual([held.status, held.body.id, held.body.paused], [200, 'b', true]);
        assert.equal((await schedules.get('b')).isPaused, true);
        assert.equal((await act(server, 'POST', '/schedules/b/resume')).body.paused, false);
        assert.deepEqual((await acts(server)).map(([operation, subject]) => [operation, subject]), [['SCHEDULE_PAUSED', 'b'], ['SCHEDULE_RESUMED', 'b']]);
        assert.equal((await act(server, 'POST', '/schedules/builtin:payment.unknown/pause')).status, 422);
        assert.equal((await act(server, 'POST', '/schedules/nobody/pause')).status, 404);
        assert.equal((await server.call('GET', `${ADMIN}/schedules?cursor=%00`, { as: 'admin' })).status, 400);
    });

    test('O8 collections and campaigns of everybody are there for operators and viewers', async (t) => {
        const server = await start(t, store);
        const mine = await Collection.make(server);
        const other = await Collection.make(server, { people: 2 });
        const lots = await campaign(server);
        for (const who of [{ as: 'admin' }, { bearer: viewer }]) {
            const list = await get(server, '/collections', who);
            assert.deepEqual(list.data.map(({ id }) => id).sort(), [mine.id, other.id].sort());
            assert.deepEqual((await get(server, `/collections?ownerId=${mine.owner}`, who)).data.map(({ id }) => id), [mine.id]);
            assert.equal((await get(server, `/collections/${other.id}`, who)).participants.data.length, 2);
            assert.deepEqual((await get(server, '/campaigns', who)).data.map(({ id }) => id), [lots.id]);
            assert.equal((await get(server, `/campaigns/${lots.id}`, who)).id, lots.id);
        }
        const first = await get(server, '/collections?limit=1');
        assert.equal((await get(server, `/collections?limit=1&cursor=${first.nextCursor}`)).data.length, 1);
        for (const where of ['/collections', `/collections/${mine.id}`, '/campaigns', `/campaigns/${lots.id}`]) {
            assert.equal((await server.call('GET', `${ADMIN}${where}`, { as: mine.owner })).status, 403, where);
            assert.equal((await server.call('GET', `${ADMIN}${where}`)).status, 401, where);
        }
    });

    test('O8 G3 a payment of the sandbox is a real one: booked, paid, captured, written down', async (t) => {
        const server = await start(t, store);
        const pay = (body, options) => act(server, 'POST', '/sandbox/payments', body, options);
        const plain = await pay({ amount: 1200, currency: 'JPY' });
        assert.equal(plain.status, 201, plain.text);
        assert.equal(plain.body.payment.status, 'AUTHORIZED');
        const whole = await pay({ amount: 3400, currency: 'JPY', method: 'pm_card_mastercard', capture: true, description: 'demo' });
        assert.deepEqual([whole.body.payment.status, whole.body.payment.capturedAmount, whole.body.payment.description], ['CAPTURED', 3400, 'demo']);
        const declined = await pay({ amount: 100, currency: 'USD', method: 'pm_card_chargeDeclined', capture: true });
        assert.deepEqual([declined.status, declined.body.payment.status], [201, 'FAILED']);
        const slip = await pay({ amount: 900, currency: 'JPY', method: 'konbini' });
        assert.deepEqual([slip.body.payment.status, slip.body.payment.requiresAction !== undefined], ['PENDING', true]);
        await until('it is confirmed', async () => (await server.bookingNow(whole.body.payment.bookingId)).status === 'CONFIRMED');
        assert.deepEqual((await acts(server)).map(([operation, , who]) => [operation, who]), Array(4).fill(['SANDBOX_PAYMENT', hex(OPERATOR)]));
        assert.ok((await server.db.table('audit', `operation = 'CREATE'`)).every((row) => row.user_id === hex(OPERATOR)));

        const count = await server.db.count('bookings');
        const wrong = await pay({ amount: 0, currency: 'yen', method: 'gold', capture: 1, more: 1 });
        assert.equal(wrong.status, 400);
        assert.deepEqual(wrong.body.errors.map(({ field }) => field).sort(), ['amount', 'capture', 'currency', 'method', 'more']);
        assert.equal((await pay({ amount: 1, currency: 'JPY' }, { bearer: viewer })).status, 403);
        assert.equal(await server.db.count('bookings'), count);
    });

    test('O8 G3 an event of the sandbox comes through the real door; a broken one ends as a dead letter', async (t) => {
        const server = await start(t, store);
        const send = (body, options) => act(server, 'POST', '/sandbox/events', body, options);
        const fine = await send({ type: 'payment_intent.succeeded' });
        assert.equal(fine.status, 202, fine.text);
        await server.settled(fine.body.eventId);
        const broken = await send({ type: 'payment_intent.succeeded', broken: true });
        assert.equal(broken.status, 202, broken.text);
        await until('it is dead', async () => {
            await server.advance(2000);
            const { body } = await server.call('GET', DLQ, { as: 'admin' });
            return body.data.some(({ ref }) => ref === broken.body.eventId);
        });
        assert.deepEqual(await acts(server), [['SANDBOX_EVENT', fine.body.eventId, hex(OPERATOR)],
            ['SANDBOX_EVENT_BROKEN', broken.body.eventId, hex(OPERATOR)]]);
        for (const type of ['', 'payment_intent', '.x', 'x..y', 'x.', 'X.y', 'a b.c', 'x'.repeat(99) + '.y', 7])
            assert.equal((await send({ type })).status, 400, `${type}`);
        assert.equal((await send({ type: 'a.b' }, { bearer: viewer })).status, 403);
    });
});

test('O8 G3 the sandbox\'s switches are those of its own control API', async (t) => {
    const server = await start(t, stores[0]);
    const faults = (method, body, options) => act(server, method, '/sandbox/faults', body, options);
    const own = async (name) => (await fetch(`http://127.0.0.1:${server.sandboxPort}/_sandbox/${name}`)).json();
    const first = (await faults('GET')).body;
    assert.deepEqual(first, { faults: [], webhooks: await own('webhooks'), chaos: await own('chaos') });

    const set = await faults('PUT', {
        fault: { path: '/v1/payment_intents', declineCode: 'lost_card' }, webhooks: { duplicate: 2 }, chaos: { seed: 7, calls: { delay: 0.5 } },
    });
    assert.equal(set.status, 200, set.text);
    assert.deepEqual([set.body.faults.length, set.body.webhooks.duplicate, set.body.chaos.on], [1, 2, true]);
    assert.deepEqual(set.body, { ...(await own('faults')), webhooks: await own('webhooks'), chaos: await own('chaos') });
    assert.equal((await faults('PUT', { chaos: null })).body.chaos.on, false);
    const declined = await act(server, 'POST', '/sandbox/payments', { amount: 100, currency: 'JPY' });
    assert.equal(declined.body.payment.status, 'FAILED');

    for (const body of [{}, { faultz: {} }, { fault: [] }, { chaos: 7 }, { fault: { nonsense: 1 } }, { webhooks: { on: 'yes' } }])
        assert.equal((await faults('PUT', body)).status, 400, JSON.stringify(body));
    assert.equal((await faults('PUT', { webhooks: { on: false } }, { bearer: viewer })).status, 403);
    assert.equal((await faults('DELETE', undefined, { bearer: viewer })).status, 403);
    assert.equal((await faults('GET', undefined, { bearer: viewer })).status, 200);
    const { chaos, ...rest } = (await faults('DELETE')).body;
    assert.deepEqual(rest, { faults: [], webhooks: first.webhooks });
    assert.equal(chaos.on, false);
});

test('O8 without a sandbox there are no such paths', async (t) => {
    const server = await start(t, stores[0], {
        env: {
            ICHIDO_MODE: 'production', ICHIDO_GATEWAY: 'stripe', ICHIDO_TEST_CLOCK: undefined, ICHIDO_SANDBOX_LISTEN: undefined,
            ICHIDO_SANDBOX_DB: undefined, STRIPE_SECRET_KEY: 'sk_test_e2e_0123456789', STRIPE_API_BASE: 'http://127.0.0.1:9',
        },
    });
    for (const [method, where] of [['POST', 'payments'], ['GET', 'faults'], ['PUT', 'faults'], ['DELETE', 'faults'], ['POST', 'events']])
        assert.equal((await act(server, method, `/sandbox/${where}`, ['GET', 'DELETE'].includes(method) ? undefined : {})).status, 404, where);
});

test('O8 A4 settings show what is set and where, and no secret', async (t) => {
    const secrets = {
        ICHIDO_EVENTS_SECRET: `whsec_${Buffer.from('ichido-e2e-events-secret-32-byte').toString('base64')}`,
        ICHIDO_NOTIFY_SECRET: `whsec_${Buffer.from('ichido-e2e-notify-secret-32-byte').toString('base64')}`,
        ICHIDO_ALERT_SECRET: `whsec_${Buffer.from('ichido-e2e-alerts-secret-32-byte').toString('base64')}`,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=otel-s3cret', SENTRY_DSN: 'http://dsn5ecret@127.0.0.1:9/1',
        PAYPAY_API_SECRET: 'paypay-s3cret', PAYPAY_API_KEY: 'paypay-key-s3cret',
    };
    const env = {
        ...secrets, ICHIDO_SMTP_URL: 'smtp://mailer:smtp-s3cret@127.0.0.1:9', ICHIDO_MAIL_FROM: 'pay@example.com', ICHIDO_ALERT_MAIL: 'ops@example.com',
        ICHIDO_NOTIFY_WEBHOOK: 'http://127.0.0.1:9/hook-s3cret', ICHIDO_ALERT_WEBHOOK: 'http://127.0.0.1:9/services/alert-s3cret',
        ICHIDO_RETURN_URL: 'https://shop.example/back?token=back-s3cret', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    };
    const server = await start(t, stores[0], { env });
    for (const secret of Object.values(secrets)) remember(secret);
    const answer = await server.call('GET', `${ADMIN}/settings`, { bearer: viewer });
    assert.equal(answer.status, 200, answer.text);
    for (const word of ['s3cret', 'dsn5ecret', ADMIN_TOKEN, SECRET, ...Object.values(secrets)]) assert.ok(!answer.text.includes(word), word);
    const of = Object.fromEntries(answer.body.data.map(({ name, ...rest }) => [name, rest]));
    for (const name of [...Object.keys(secrets), 'ICHIDO_ADMIN_TOKEN', 'STRIPE_WEBHOOK_SECRET', 'ICHIDO_JWT_SECRET'])
        assert.deepEqual(of[name], { value: null, source: 'environment', secret: true, set: true }, name);
    assert.deepEqual(of.ICHIDO_SMTP_URL, { value: 'smtp://mailer:***@127.0.0.1:9', source: 'environment', secret: false, set: true });
    assert.equal(of.ICHIDO_ALERT_WEBHOOK.value, 'http://127.0.0.1:9/***');
    assert.equal(of.ICHIDO_RETURN_URL.value, 'https://shop.example/back?***');
    assert.equal(of.ICHIDO_LISTEN.value, `127.0.0.1:${server.port}`);
    assert.deepEqual(of.ICHIDO_TIME_ZONE, { value: 'Asia/Tokyo', source: 'default', secret: false, set: true });
    assert.deepEqual(of.STRIPE_SECRET_KEY, { value: null, source: 'default', secret: true, set: false });
});

test('O8 settings say which secrets dev mode made itself', async (t) => {
    const db = await fresh(t, stores.find(({ kind }) => kind === 'sqlite') ?? stores[0]);
    const server = await launch(t, db, { env: { STRIPE_WEBHOOK_SECRET: undefined, ICHIDO_JWT_SECRET: undefined } }).listening();
    const { data } = await get(server, '/settings');
    const sources = Object.fromEntries(data.map(({ name, source }) => [name, source]));
    assert.deepEqual([sources.STRIPE_WEBHOOK_SECRET, sources.ICHIDO_JWT_SECRET, sources.ICHIDO_ADMIN_TOKEN], ['made', 'made', 'environment']);
});

test('O8 GET / names the page', async (t) => {
    const server = await start(t, stores[0]);
    assert.match((await server.get('/')).text, /\/admin /);
});
