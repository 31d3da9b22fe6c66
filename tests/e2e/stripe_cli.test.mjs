// The real Stripe CLI, unmodified, against our sandbox (G3, T3, T7): every trigger of the wire
// reference, what `stripe get`, `post` and `events resend` do, and 003's local test section.
import { remember } from './lib/evidence.mjs';
import { assert, forEachStore, fresh, SECRET, start, stores, stripe as judge, test, until, WEBHOOK } from './lib/harness.mjs';
import { receiver as listener } from './lib/endpoints.mjs';
import { meet, open } from './lib/sandbox.mjs';
import { baseOf, listen, run } from './lib/stripe_cli.mjs';

// Each trigger, and what else comes out of it.
const TRIGGERS = [
    ['payment_intent.succeeded', 'charge.succeeded'],
    ['payment_intent.payment_failed', 'charge.failed'],
    ['payment_intent.canceled'],
    ['payment_intent.requires_action'],
    ['payment_intent.amount_capturable_updated', 'charge.succeeded'],
    ['payment_intent.processing', 'charge.pending'],
    ['payment_intent.partially_funded', 'payment_intent.requires_action'],
    ['charge.succeeded'],
    ['charge.failed'],
    ['charge.captured', 'payment_intent.succeeded'],
    ['charge.refunded', 'refund.created'],
    ['charge.refund.updated', 'refund.updated'],
    ['charge.dispute.created'],
    ['charge.dispute.updated'],
    ['charge.dispute.closed'],
    ['checkout.session.completed'],
    ['checkout.session.expired'],
    ['checkout.session.async_payment_succeeded', 'checkout.session.completed'],
    ['checkout.session.async_payment_failed', 'checkout.session.completed'],
];

async function stripeCli(server, ...args) {
    const { code, stdout, stderr } = await run(args, { apiBase: baseOf(server) });
    assert.equal(code, 0, `stripe ${args.join(' ')}: ${code}\n${stdout}${stderr}`);
    return stdout;
}

const json = async (server, ...args) => JSON.parse(await stripeCli(server, ...args));

// The newest event of that type which is not among `before`.
const newOne = (sdk, type, before) => until(`${type} happened`, async () => {
    const { data } = await sdk.events.list({ type, limit: 100 });
    return data.find((event) => !before.has(event.id));
});

// What the server's own history says of it, once it is decided.
const decided = (server, event) => until(`${event.type} was decided`, async () => {
    const { body } = await server.call('GET', `/api/v1/admin/events?type=${event.type}&limit=50`, { as: 'admin' });
    return body.data.find((row) => row.id === event.id && row.outcome !== 'pending');
});

forEachStore((store, test) => {
    test('T3 every trigger of the Stripe CLI ends well, and its event is signed, delivered and decided', async (t) => {
        const { server, stripe } = await meet(await start(t, store));
        for (const types of TRIGGERS) {
            const before = new Set((await stripe.events.list({ types, limit: 100 })).data.map((e) => e.id));
            await stripeCli(server, 'trigger', types[0]);
            for (const type of types) {
                const event = await newOne(stripe, type, before);
                const row = await decided(server, event);
                assert.equal(row.outcome, 'ignored', `${type}: ${JSON.stringify(row)}`);
                assert.equal(row.detail, 'foreign', 'the CLI pays for nothing of ours');
                await until(`${type} is not pending`, async () =>
                    (await stripe.events.retrieve(event.id)).pending_webhooks === 0);
            }
        }
        assert.deepEqual(await server.db.dead(), []);
    });

    test('T3 what the CLI does to a payment of ours is applied', async (t) => {
        const { server } = await meet(await start(t, store));
        const payment = await server.paid();
        const [intent] = await server.intents(payment.id);
        const captured = await json(server, 'post', `/v1/payment_intents/${intent.id}/capture`, '--confirm');
        assert.equal(captured.status, 'succeeded');
        await until('the payment is captured', async () =>
            (await server.call('GET', `/payments/${payment.id}`, { as: payment.booking.userId })).body.status === 'CAPTURED');
        const [event] = (await json(server, 'get', '/v1/events', '-d', 'type=payment_intent.succeeded')).data;
        assert.equal(event.data.object.id, intent.id);
        const row = await decided(server, event);
        assert.equal(row.outcome, 'applied');
        assert.equal(row.paymentId, payment.id);
    });
});

test('T3 payment_intent.created is triggered, and goes to an endpoint that asks for it', async (t) => {
    const box = await open(t);
    const hook = await listener(t);
    const endpoint = await box.stripe.webhookEndpoints.create({ url: hook.url, enabled_events: ['payment_intent.created'] });
    await stripeCli(box.server, 'trigger', 'payment_intent.created');
    await hook.count(1);
    const [{ body, headers }] = hook.got;
    const event = judge.webhooks.constructEvent(body, headers['stripe-signature'], endpoint.secret);
    assert.equal(event.type, 'payment_intent.created');
    assert.equal(event.data.object.amount, 2000);
});

test('T3 a trigger takes what the CLI overrides, adds and removes', async (t) => {
    const { server, stripe } = await open(t);
    await stripeCli(server, 'trigger', 'payment_intent.succeeded', '--override', 'payment_intent:amount=4321',
        '--override', 'payment_intent:currency=jpy', '--add', 'payment_intent:metadata.order=o-1',
        '--remove', 'payment_intent:shipping');
    const [event] = (await stripe.events.list({ type: 'payment_intent.succeeded' })).data;
    assert.equal(event.data.object.amount, 4321);
    assert.equal(event.data.object.currency, 'jpy');
    assert.equal(event.data.object.shipping, null);
    assert.deepEqual({ ...event.data.object.metadata }, { order: 'o-1' });
});

test('T3 stripe get, post and delete and the resource commands speak to the sandbox', async (t) => {
    const { server } = await open(t);
    const intent = await json(server, 'payment_intents', 'create', '--amount', '1200', '--currency', 'jpy',
        '-d', 'payment_method=pm_card_visa', '-d', 'confirm=true');
    assert.equal(intent.status, 'succeeded');
    const refund = await json(server, 'refunds', 'create', '--payment-intent', intent.id, '--amount', '200');
    assert.equal(refund.status, 'succeeded');
    assert.equal((await json(server, 'get', intent.latest_charge.replace(/^/, '/v1/charges/'))).amount_refunded, 200);
    const twice = []; // one after the other: at once, one of them may be told that the key is in use
    for (let i = 0; i < 2; i++) twice.push(await json(server, 'post', '/v1/customers', '-d', 'name=Aya', '-i', 'cli-key'));
    assert.equal(twice[0].id, twice[1].id, '-i is an Idempotency-Key');
    assert.equal((await json(server, 'delete', `/v1/customers/${twice[0].id}`, '--confirm')).deleted, true);
    const error = await json(server, 'get', '/v1/payment_intents/pi_nothing');
    assert.equal(error.error.code, 'resource_missing');
});

test('T3 stripe events resend tells an endpoint once more, under the same id', async (t) => {
    const box = await open(t);
    const hook = await listener(t);
    const endpoint = await box.stripe.webhookEndpoints.create({ url: hook.url, enabled_events: ['*'] });
    await stripeCli(box.server, 'trigger', 'payment_intent.created');
    await hook.count(1);
    const [{ event }] = hook.got;
    await stripeCli(box.server, 'events', 'resend', event.id, '--webhook-endpoint', endpoint.id);
    await hook.count(2);
    assert.equal(hook.got[1].event.id, event.id);
    assert.equal(hook.got[1].body.replace(/"pending_webhooks": \d+/, ''), hook.got[0].body.replace(/"pending_webhooks": \d+/, ''));
});

test('T3 a live key is refused by the sandbox before anything is done', async (t) => {
    const { server, control } = await open(t);
    const { code, stdout, stderr } = await run(['trigger', 'payment_intent.succeeded'],
        { apiBase: baseOf(server), key: 'sk_live_0123456789abcdef' });
    assert.equal(code, 1);
    assert.match(stdout + stderr, /401/);
    assert.deepEqual(await control.events(), []);
});

// --- 003 ---

forEachStore((store, test) => {
    test('T7 the contract test of 003: its minimal payload gets 200', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_WEBHOOK_ACK: '200' } });
        const payload = {
            id: 'evt_test_123',
            type: 'payment_intent.succeeded',
            data: { object: {
                id: 'pi_test_123', amount: 2000, status: 'succeeded', metadata: { purchase_id: 'test-purchase-id' },
            } },
        };
        const signature = judge.webhooks.generateTestHeaderString({ payload: JSON.stringify(payload), secret: SECRET });
        const response = await server.request({
            method: 'POST', path: WEBHOOK,
            headers: { 'Content-Type': 'application/json', 'stripe-signature': signature },
        }, JSON.stringify(payload));
        assert.equal(response.status, 200);
    });

    test('T7 the local test section of 003: stripe listen forwards what its three triggers bring about', async (t) => {
        const db = await fresh(t, store);
        const first = await start(t, store, { db });
        const secret = (await stripeCli(first, 'listen', '--print-secret', '--skip-update')).trim();
        remember(secret);
        assert.match(secret, /^whsec_/);
        await first.stop();
        // As 003 has it: the secret that the CLI shows is the server's, and nobody else delivers.
        const server = await start(t, store, {
            db, env: { STRIPE_WEBHOOK_SECRET: secret, ICHIDO_SANDBOX_WEBHOOKS: 'off' },
        });
        const cli = await listen(t, server, ['--forward-to', `localhost:${server.port}${WEBHOOK}`, '--all-snapshot']);
        assert.equal(cli.secret, secret);
        for (const type of ['payment_intent.succeeded', 'payment_intent.payment_failed', 'payment_intent.canceled']) {
            await stripeCli(server, 'trigger', type);
            const row = await until(`${type} was decided`, async () => (await server.db.outcomes()).length &&
                (await server.call('GET', `/api/v1/admin/events?type=${type}`, { as: 'admin' })).body.data
                    .find((one) => one.outcome !== 'pending'));
            assert.equal(row.type, type);
            assert.equal(row.outcome, 'ignored');
        }
    });
});
