// The sandbox's events and who is told of them, judged by the real stripe-node (G3): webhook endpoints,
// the list of events, secrets that roll, and the ways to pay that are no cards.
import { remember } from './lib/evidence.mjs';
import { receiver } from './lib/endpoints.mjs';
import { assert, fresh, launch, SECRET, stores, stripe as judge, test, until } from './lib/harness.mjs';
import { ask, fails, KEY, keyed, meet, open, receiver as ownReceiver } from './lib/sandbox.mjs';

const DAY = 24 * 3600 * 1000;
const card = (more = {}) => ({ amount: 1200, currency: 'jpy', payment_method: 'pm_card_visa', confirm: true, ...more });
const held = (more = {}) => card({ capture_method: 'manual', ...more });
const put = (port, path, body) => ask(port, 'POST', `/_sandbox${path}`,
    { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });
const set = async (port, path, body) => {
    const { status, text } = await put(port, path, body);
    assert.equal(status, 200, text);
    return JSON.parse(text);
};
const verify = ({ body, headers }, secret) => judge.webhooks.constructEvent(body, headers['stripe-signature'], secret);
const signatures = ({ headers }) => headers['stripe-signature'].split(',').filter((part) => part.startsWith('v1=')).length;

async function endpoint(box, hook, more = {}) {
    const made = await box.stripe.webhookEndpoints.create({ url: hook.url, enabled_events: ['*'], ...more });
    remember(made.secret);
    return made;
}

// --- endpoints ---

test('G3 an endpoint is made, read, listed, changed and deleted; its secret is told once', async (t) => {
    const { stripe } = await open(t);
    const made = await stripe.webhookEndpoints.create({
        url: 'http://127.0.0.1:9/hook', enabled_events: ['charge.refunded', 'refund.created'], description: '会計 & co',
        metadata: { team: 'billing' }, api_version: '2026-10-28.endive',
    });
    remember(made.secret);
    assert.match(made.id, /^we_/);
    assert.match(made.secret, /^whsec_[0-9A-Za-z]{32}$/);
    assert.equal(made.status, 'enabled');
    assert.equal(made.api_version, '2026-10-28.endive');
    const { secret, ...rest } = made;
    const read = await stripe.webhookEndpoints.retrieve(made.id);
    assert.deepEqual({ ...read, lastResponse: 0 }, { ...rest, lastResponse: 0 });
    const changed = await stripe.webhookEndpoints.update(made.id,
        { disabled: true, enabled_events: ['*'], description: '', metadata: { team: '', x: 'y' } });
    assert.equal(changed.status, 'disabled');
    assert.deepEqual(changed.enabled_events, ['*']);
    assert.equal(changed.description, null);
    assert.deepEqual({ ...changed.metadata }, { x: 'y' });
    assert.equal(changed.secret, undefined);
    const other = await stripe.webhookEndpoints.create({ url: 'http://127.0.0.1:9/2', enabled_events: ['*'] });
    remember(other.secret);
    assert.deepEqual((await stripe.webhookEndpoints.list()).data.map((one) => one.id), [other.id, made.id]);
    assert.deepEqual({ ...(await stripe.webhookEndpoints.del(made.id)) }, { id: made.id, object: 'webhook_endpoint', deleted: true });
    await fails(stripe.webhookEndpoints.retrieve(made.id), 'StripeInvalidRequestError', { statusCode: 404, code: 'resource_missing' });
    await fails(stripe.webhookEndpoints.del(made.id), 'StripeInvalidRequestError', { statusCode: 404 });
});

test('G3 an endpoint that cannot be is refused, and nothing is there', async (t) => {
    const { stripe } = await open(t);
    const rows = [
        [{ enabled_events: ['*'] }, { param: 'url', code: 'parameter_missing' }],
        [{ url: 'http://127.0.0.1/x' }, { param: 'enabled_events', code: 'parameter_missing' }],
        [{ url: 'ftp://127.0.0.1/x', enabled_events: ['*'] }, { param: 'url', code: 'url_invalid' }],
        [{ url: 'http://127.0.0.1/a b', enabled_events: ['*'] }, { param: 'url' }],
        [{ url: 'http://127.0.0.1/x', enabled_events: ['charge.*'] }, { param: 'enabled_events' }],
        [{ url: 'http://127.0.0.1/x', enabled_events: ['"; DROP'] }, { param: 'enabled_events' }],
        [{ url: 'http://127.0.0.1/x', enabled_events: '' }, { param: 'enabled_events' }],
    ];
    for (const [params, like] of rows)
        await fails(stripe.webhookEndpoints.create(params), 'StripeInvalidRequestError', { statusCode: 400, ...like });
    assert.deepEqual((await stripe.webhookEndpoints.list()).data, []);
    for (let i = 0; i < 16; i++)
        remember((await stripe.webhookEndpoints.create({ url: 'http://127.0.0.1/x', enabled_events: ['a.b'] })).secret);
    await fails(stripe.webhookEndpoints.create({ url: 'http://127.0.0.1/x', enabled_events: ['*'] }),
        'StripeInvalidRequestError', { statusCode: 400 });
});

test('G3 each endpoint gets what it asked for, signed with its own secret, and pending_webhooks counts down', async (t) => {
    const box = await open(t);
    const let_in = { refunds: 500 };
    const all = await receiver(t);
    const some = await receiver(t, () => let_in.refunds);
    const one = await endpoint(box, all);
    const two = await endpoint(box, some, { enabled_events: ['refund.created', 'charge.refunded'] });
    const off = await receiver(t);
    await box.stripe.webhookEndpoints.update((await endpoint(box, off)).id, { disabled: true });
    const intent = await box.stripe.paymentIntents.create(card());
    await box.stripe.refunds.create({ payment_intent: intent.id });
    await until('all came', async () => (await box.control.events()).every((e) => all.got.some((g) => g.event.id === e.id)));
    for (const got of all.got) assert.equal(verify(got, one.secret).id, got.event.id);
    assert.throws(() => verify(all.got[0], two.secret));
    assert.throws(() => verify(all.got[0], SECRET));
    await some.count(2);
    assert.deepEqual([...new Set(some.types())].sort(), ['charge.refunded', 'refund.created']);
    verify(some.got[0], two.secret);
    const [refunded] = (await box.stripe.events.list({ type: 'charge.refunded' })).data;
    await until('only the one that fails is pending', async () =>
        (await box.stripe.events.retrieve(refunded.id)).pending_webhooks === 1);
    assert.equal(all.got.find((g) => g.event.id === refunded.id).event.pending_webhooks, 3, 'as it was when it happened');
    let_in.refunds = 200;
    await box.control.webhooks({ factor: 1_000_000 });
    await box.server.advance(5 * 60_000);
    await until('nobody is pending', async () => (await box.stripe.events.retrieve(refunded.id)).pending_webhooks === 0);
    assert.deepEqual(off.got, []);
});

test('G3 an endpoint that fails is tried by the schedule, and a deleted one no more', async (t) => {
    const box = await open(t);
    const hook = await receiver(t, (one, got) => (got.length < 4 ? 503 : 200));
    const gone = await receiver(t, () => 500);
    const made = await endpoint(box, hook, { enabled_events: ['customer.created'] });
    const lost = await endpoint(box, gone, { enabled_events: ['customer.created'] });
    await box.control.webhooks({ factor: 30_000 });
    await box.stripe.customers.create({ name: 'Aya' });
    await gone.count(1);
    await box.stripe.webhookEndpoints.del(lost.id);
    await hook.count(4);
    assert.equal(new Set(hook.got.map((one) => one.event.id)).size, 1);
    for (const one of hook.got) verify(one, made.secret);
    await until('nothing is under way', async () =>
        (await box.stripe.events.list({ type: 'customer.created' })).data[0].pending_webhooks === 0);
});

test('G3 an endpoint outlives kill -9, and so does what it has not been told', async (t) => {
    const db = await fresh(t, stores[0]);
    const first = await meet(await launch(t, db).listening());
    const hook = await receiver(t);
    const made = await endpoint(first, hook, { enabled_events: ['customer.created'] });
    await first.control.webhooks({ on: false });
    const customer = await first.stripe.customers.create({ name: 'Aya' });
    await first.server.kill();
    const second = await open(t, { db });
    await second.control.webhooks({ on: true, factor: 1_000_000 });
    await second.server.advance(5 * 60_000);
    await hook.count(1);
    assert.equal(verify(hook.got[0], made.secret).data.object.id, customer.id);
});

// --- secrets ---

test('G3 while an endpoint\'s secret rolls both sign; afterwards only the new one', async (t) => {
    const box = await open(t);
    const hook = await receiver(t);
    const made = await endpoint(box, hook, { enabled_events: ['customer.created'] });
    const rolled = await set(box.port, '/webhooks/roll', { endpoint: made.id, overlapMs: 60_000 });
    remember(rolled.secret);
    assert.match(rolled.secret, /^whsec_[0-9A-Za-z]{32}$/);
    assert.notEqual(rolled.secret, made.secret);
    await box.stripe.customers.create({});
    await hook.count(1);
    assert.equal(signatures(hook.got[0]), 2);
    verify(hook.got[0], made.secret);
    verify(hook.got[0], rolled.secret);
    await box.server.advance(60_001);
    await box.stripe.customers.create({});
    await hook.count(2);
    assert.equal(signatures(hook.got[1]), 1);
    const at = Math.floor(Date.now() / 1000) + 61;
    judge.webhooks.constructEvent(hook.got[1].body, hook.got[1].headers['stripe-signature'], rolled.secret, 300, undefined, at);
    assert.throws(() => verify(hook.got[1], made.secret));
});

test('G3 the built-in receiver\'s secret rolls too, and the sandbox remembers it after kill -9', async (t) => {
    const db = await fresh(t, stores[0]);
    const first = await meet(await launch(t, db).listening());
    const secret = 'whsec_chosen_by_a_test_0123456789';
    remember(secret);
    const rolled = await set(first.port, '/webhooks/roll', { secret });
    assert.deepEqual([rolled.endpoint, rolled.secret], [null, secret]);
    await first.server.kill();
    const second = await open(t, { db });
    const hook = await ownReceiver(t, second);
    await second.stripe.paymentIntents.create(held());
    await hook.count(2);
    for (const one of hook.got) {
        assert.equal(signatures(one), 2);
        verify(one, SECRET);
        verify(one, secret);
    }
    for (const bad of [{ secret: 'no prefix' }, { secret: 'whsec_ blank' }, { overlapMs: -1 }, { overlapMs: DAY + 1 }, { other: 1 }])
        assert.equal((await put(second.port, '/webhooks/roll', bad)).status, 400, JSON.stringify(bad));
    assert.equal((await put(second.port, '/webhooks/roll', { endpoint: 'we_nothing' })).status, 404);
});

// --- the list of events ---

test('G3 events are listed newest first, by type, by time and by page', async (t) => {
    const { server, stripe } = await open(t);
    for (let i = 0; i < 6; i++) await stripe.customers.create({ name: `c${i}` });
    await server.advance(10_000);
    const intent = await stripe.paymentIntents.create(card());
    await until('the balance came', async () => (await stripe.events.list({ type: 'charge.updated' })).data.length);
    const all = await stripe.events.list({ limit: 100 });
    assert.deepEqual(all.data.map((e) => e.type), ['charge.updated', 'payment_intent.succeeded', 'charge.succeeded',
        'payment_intent.created', ...Array(6).fill('customer.created')]);
    assert.equal(all.has_more, false);
    const pages = [];
    for await (const event of stripe.events.list({ limit: 3 })) pages.push(event.id);
    assert.deepEqual(pages, all.data.map((e) => e.id), 'the SDK walks through all pages');
    const before = await stripe.events.list({ limit: 2, ending_before: all.data[5].id });
    assert.deepEqual(before.data.map((e) => e.id), all.data.slice(3, 5).map((e) => e.id));
    const since = all.data[0].created;
    assert.equal((await stripe.events.list({ created: { gte: since - 1 } })).data.length, 4);
    assert.equal((await stripe.events.list({ created: { lt: since - 1 }, limit: 100 })).data.length, 6);
    assert.deepEqual((await stripe.events.list({ type: 'payment_intent.*' })).data.map((e) => e.type),
        ['payment_intent.succeeded', 'payment_intent.created']);
    assert.equal((await stripe.events.list({ types: ['charge.updated', 'customer.created'], limit: 100 })).data.length, 7);
    await fails(stripe.events.list({ type: 'a', types: ['b'] }), 'StripeInvalidRequestError', { code: 'parameters_exclusive' });
    await fails(stripe.events.list({ types: Array(21).fill('a.b') }), 'StripeInvalidRequestError', { param: 'types' });
    const one = await stripe.events.retrieve(all.data[1].id);
    assert.equal(one.data.object.id, intent.id);
    assert.equal(one.request.idempotency_key.length > 10, true);
    await fails(stripe.events.retrieve('evt_nothing'), 'StripeInvalidRequestError', { statusCode: 404, code: 'resource_missing' });
});

test('G3 an event is told once more: to all, or to one endpoint', async (t) => {
    const box = await open(t);
    const one = await receiver(t);
    const two = await receiver(t);
    const first = await endpoint(box, one, { enabled_events: ['customer.created'] });
    await endpoint(box, two, { enabled_events: ['customer.created'] });
    await box.stripe.customers.create({});
    await Promise.all([one.count(1), two.count(1)]);
    const { event: { id } } = one.got[0];
    const retry = (params) => box.stripe.rawRequest('POST', `/v1/events/${id}/retry`, params);
    assert.equal((await retry({ webhook_endpoint: first.id })).id, id);
    await one.count(2);
    await retry({});
    await Promise.all([one.count(3), two.count(2)]);
    await fails(retry({ webhook_endpoint: 'we_nothing' }), 'StripeInvalidRequestError', { code: 'resource_missing' });
    assert.equal((await retry({ for_stripecli: true })).id, id, 'nobody listens, and that is fine');
});

test('G3 events are kept for thirty days', async (t) => {
    const { server, stripe } = await open(t);
    for (let i = 0; i < 5; i++) await stripe.customers.create({});
    await server.advance(29 * DAY);
    await stripe.customers.create({ name: 'late' });
    assert.equal((await stripe.events.list({ limit: 100 })).data.length, 6);
    await server.advance(2 * DAY);
    await until('the old ones are gone', async () => (await stripe.events.list({ limit: 100 })).data.length === 1);
    await server.advance(2 * 3600_000);
    assert.equal((await stripe.events.list()).data[0].data.object.name, 'late');
});

// --- customers and their ways to pay ---

test('G3 a customer is made, read, listed, changed and deleted', async (t) => {
    const { stripe, control } = await open(t);
    const made = await stripe.customers.create({
        name: '山田 花子', email: 'hanako@example.com', phone: '+81312345678', metadata: { a: 'b' },
        address: { line1: '1-1', city: '千代田区', country: 'JP' }, shipping: { name: 'H', address: { line1: 'x' } },
    }, keyed('c-1'));
    assert.match(made.id, /^cus_/);
    assert.equal(made.name, '山田 花子');
    assert.equal(made.address.city, '千代田区');
    assert.equal(made.shipping.address.line1, 'x');
    assert.equal((await stripe.customers.create({ name: 'Aya' })).email, null);
    assert.equal((await stripe.customers.update(made.id, { name: '', metadata: { a: '' } })).name, null);
    assert.deepEqual((await stripe.customers.list({ email: 'hanako@example.com' })).data.map((c) => c.id), [made.id]);
    assert.equal((await stripe.customers.list()).data.length, 2);
    assert.equal((await stripe.customers.del(made.id)).deleted, true);
    assert.equal((await stripe.customers.retrieve(made.id)).deleted, true);
    assert.equal((await stripe.customers.list()).data.length, 1);
    await fails(stripe.customers.update(made.id, { name: 'x' }), 'StripeInvalidRequestError', { code: 'resource_missing' });
    const types = (await control.events()).map((e) => e.type);
    assert.deepEqual(types, ['customer.deleted', 'customer.updated', 'customer.created', 'customer.created']);
});

test('G3 a bank debit is processed first, then succeeds or fails as its account wants', async (t) => {
    const { server, stripe, control } = await open(t);
    const pay = async (iban) => {
        const method = await stripe.paymentMethods.create({ type: 'sepa_debit', sepa_debit: { iban },
            billing_details: { name: 'Bob', email: 'bob@example.com' } });
        return stripe.paymentIntents.create({ amount: 1000, currency: 'eur', confirm: true, payment_method: method.id,
            payment_method_types: ['sepa_debit'] });
    };
    const good = await pay('AT61 1904 3002 3457 3201');
    assert.equal(good.status, 'processing');
    const pending = await stripe.charges.retrieve(good.latest_charge);
    assert.deepEqual([pending.status, pending.paid, pending.payment_method_details.sepa_debit.last4], ['pending', false, '3201']);
    await fails(stripe.refunds.create({ charge: pending.id }), 'StripeInvalidRequestError', { code: 'charge_not_refundable' });
    await fails(stripe.paymentIntents.cancel(good.id), 'StripeInvalidRequestError', { code: 'payment_intent_unexpected_state' });
    const bad = await pay('AT861904300235473202');
    const late = await pay('AT321904300235473204');
    const state = async (intent) => (await stripe.paymentIntents.retrieve(intent.id)).status;
    await until('it succeeded', async () => await state(good) === 'succeeded');
    await until('it failed', async () => await state(bad) === 'requires_payment_method');
    const failed = await stripe.paymentIntents.retrieve(bad.id, { expand: ['latest_charge'] });
    assert.equal(failed.last_payment_error.code, 'payment_intent_payment_attempt_failed');
    assert.deepEqual([failed.latest_charge.status, failed.latest_charge.captured, failed.latest_charge.amount_captured],
        ['failed', false, 0]);
    assert.equal(await state(late), 'processing');
    await server.advance(180_000);
    await until('the slow one succeeded', async () => await state(late) === 'succeeded');
    assert.equal((await stripe.refunds.create({ payment_intent: good.id })).status, 'succeeded');
    await fails(pay('AT611904300234573202'), 'StripeInvalidRequestError', { code: 'invalid_bank_account_iban' });
    await fails(stripe.paymentIntents.create({ amount: 1000, currency: 'usd', confirm: true, payment_method_types: ['sepa_debit'],
        payment_method_data: { type: 'sepa_debit', sepa_debit: { iban: 'AT611904300234573201' } } }),
    'StripeInvalidRequestError', { param: 'currency' });
    const types = (await control.events()).map((e) => e.type);
    for (const type of ['charge.pending', 'payment_intent.processing', 'charge.failed', 'payment_intent.payment_failed'])
        assert.ok(types.includes(type), type);
});

test('G3 money that a customer sends goes to the oldest payment that waits, and back when that is cancelled', async (t) => {
    const { stripe, control } = await open(t);
    const customer = await stripe.customers.create({ name: 'Aya' });
    const wait = (amount) => stripe.paymentIntents.create({ amount, currency: 'jpy', confirm: true, customer: customer.id,
        payment_method_types: ['customer_balance'], payment_method_data: { type: 'customer_balance' },
        payment_method_options: { customer_balance: { funding_type: 'bank_transfer', bank_transfer: { type: 'jp_bank_account' } } } });
    const fund = (amount) => stripe.testHelpers.customers.fundCashBalance(customer.id, { amount, currency: 'jpy' });
    const rest = async (intent) => (await stripe.paymentIntents.retrieve(intent.id)).next_action
        ?.display_bank_transfer_instructions.amount_remaining;
    const cash = async () => (await stripe.customers.retrieveCashBalance(customer.id)).available.jpy;
    const first = await wait(20_000);
    assert.equal(first.status, 'requires_action');
    const told = first.next_action.display_bank_transfer_instructions;
    assert.equal(told.type, 'jp_bank_transfer');
    assert.match(told.financial_addresses[0].zengin.account_number, /^\d{7}$/);
    assert.match(told.hosted_instructions_url, /^http:\/\/127\.0\.0\.1/);
    const second = await wait(5_000);
    assert.equal((await fund(10_000)).net_amount, 10_000);
    assert.deepEqual([await rest(first), await rest(second), await cash()], [10_000, 5_000, 0]);
    assert.equal((await control.events('payment_intent.partially_funded')).length, 1);
    await fund(16_000);
    assert.equal((await stripe.paymentIntents.retrieve(first.id)).status, 'succeeded');
    assert.equal((await stripe.paymentIntents.retrieve(second.id)).status, 'succeeded');
    assert.equal(await cash(), 1_000);
    const third = await wait(3_000);
    assert.equal(await rest(third), 2_000, 'what the customer has counts at once');
    await stripe.paymentIntents.cancel(third.id);
    assert.equal(await cash(), 1_000);
    const fourth = await wait(1_000);
    assert.equal(fourth.status, 'succeeded');
    assert.equal(await cash(), 0);
    await fails(stripe.paymentIntents.create({ amount: 1000, currency: 'jpy', confirm: true,
        payment_method_types: ['customer_balance'], payment_method_data: { type: 'customer_balance' } }),
    'StripeInvalidRequestError', { param: 'customer' });
});

test('G3 no yen that a customer sends is lost or counted twice, killed in the middle of it', async (t) => {
    const db = await fresh(t, stores[0]);
    const first = await meet(await launch(t, db).listening());
    const customer = await first.stripe.customers.create({});
    const intents = await Promise.all(Array.from({ length: 20 }, (_, i) => first.stripe.paymentIntents.create({
        amount: 1000 + i, currency: 'jpy', confirm: true, customer: customer.id,
        payment_method_types: ['customer_balance'], payment_method_data: { type: 'customer_balance' },
    })));
    const fund = (sdk, i) => sdk.testHelpers.customers.fundCashBalance(customer.id, { amount: 333, currency: 'jpy' }, keyed(`f${i}`));
    const tries = Array.from({ length: 60 }, (_, i) => fund(first.stripe, i).catch(() => {}));
    await Promise.any(tries.slice(20));
    await first.server.kill();
    await Promise.all(tries);
    const { stripe } = await open(t, { db });
    for (let i = 0; i < 60; i++) await fund(stripe, i);
    let used = (await stripe.customers.retrieveCashBalance(customer.id)).available.jpy;
    for (const { id } of intents) {
        const now = await stripe.paymentIntents.retrieve(id);
        used += now.amount - (now.next_action?.display_bank_transfer_instructions.amount_remaining ?? 0);
    }
    assert.equal(used, 60 * 333);
});

test('G3 a Checkout page takes bank debits and PayPay, and is paid when their money is there', async (t) => {
    const { stripe, control } = await open(t);
    const session = async (type, currency) => stripe.checkout.sessions.create({
        mode: 'payment', success_url: 'https://a.example', payment_method_types: [type],
        line_items: [{ price_data: { currency, unit_amount: 1500, product_data: { name: 'x' } }, quantity: 2 }],
    });
    const state = async ({ id }) => {
        const now = await stripe.checkout.sessions.retrieve(id);
        return `${now.status} ${now.payment_status}`;
    };
    const debit = await session('sepa_debit', 'eur');
    await control.pay(debit.id, 'sepa_debit');
    assert.equal(await state(debit), 'complete unpaid');
    await until('the debit came', async () => await state(debit) === 'complete paid');
    assert.equal((await control.events('checkout.session.async_payment_succeeded'))[0].data.object.id, debit.id);
    const wallet = await session('paypay', 'jpy');
    const asked = await control.pay(wallet.id, 'paypay');
    assert.equal(asked.status, 'open');
    await control.authenticate(asked.payment_intent, 'success');
    assert.equal(await state(wallet), 'complete paid');
    await fails(session('paypay', 'usd'), 'StripeInvalidRequestError', { param: 'payment_method_types' });
    await fails(session('customer_balance', 'jpy'), 'StripeInvalidRequestError', { param: 'payment_method_types' });
});

test('G3 the page of a bank transfer shows what is missing and takes it', async (t) => {
    const { port, stripe } = await open(t);
    const customer = await stripe.customers.create({});
    const intent = await stripe.paymentIntents.create({ amount: 3000, currency: 'jpy', confirm: true, customer: customer.id,
        payment_method_types: ['customer_balance'], payment_method_data: { type: 'customer_balance' } });
    const path = new URL(intent.next_action.display_bank_transfer_instructions.hosted_instructions_url).pathname;
    assert.match((await ask(port, 'GET', path, { headers: { 'Accept-Language': 'ja' } })).text, /銀行振込[\s\S]*¥3,000/);
    const send = (amount) => ask(port, 'POST', path, { body: `amount=${amount}`, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    assert.equal((await send('-1')).status, 400);
    assert.equal((await send('1000')).status, 303);
    assert.match((await ask(port, 'GET', path, { headers: { 'Accept-Language': 'en' } })).text, /Bank transfer[\s\S]*¥2,000/);
    await send('2000');
    assert.equal((await stripe.paymentIntents.retrieve(intent.id)).status, 'succeeded');
    assert.equal((await send('1')).status, 422);
});

test('G3 PayPay sends the customer to a page; who pays there has paid, and can be refunded', async (t) => {
    const { port, stripe, control } = await open(t);
    const params = (more = {}) => ({ amount: 1200, currency: 'jpy', confirm: true, payment_method_types: ['paypay'],
        payment_method_data: { type: 'paypay' }, return_url: 'https://shop.example/done?a=1', ...more });
    const intent = await stripe.paymentIntents.create(params());
    assert.equal(intent.status, 'requires_action');
    assert.equal(intent.next_action.type, 'redirect_to_url');
    const path = new URL(intent.next_action.redirect_to_url.url).pathname;
    assert.match((await ask(port, 'GET', path)).text, /<h1>PayPay<\/h1>/);
    const press = (where, result) => ask(port, 'POST', where, { body: `result=${result}`, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
    const back = await press(path, 'success');
    assert.equal(back.status, 303);
    assert.match(back.headers.location, /^https:\/\/shop\.example\/done\?a=1&payment_intent=pi_.*redirect_status=succeeded$/);
    const paid = await stripe.paymentIntents.retrieve(intent.id, { expand: ['latest_charge'] });
    assert.equal(paid.status, 'succeeded');
    assert.deepEqual({ ...paid.latest_charge.payment_method_details }, { paypay: {}, type: 'paypay' });
    assert.equal((await stripe.refunds.create({ payment_intent: intent.id, amount: 500 })).destination_details.type, 'paypay');
    const other = await stripe.paymentIntents.create(params({ return_url: undefined }));
    await control.authenticate(other.id, 'fail');
    const failed = await stripe.paymentIntents.retrieve(other.id);
    assert.deepEqual([failed.status, failed.last_payment_error.code], ['requires_payment_method', 'payment_method_customer_decline']);
    await fails(stripe.paymentIntents.create(params({ capture_method: 'manual' })), 'StripeInvalidRequestError', { param: 'capture_method' });
    await fails(stripe.paymentIntents.create(params({ currency: 'usd' })), 'StripeInvalidRequestError', { param: 'currency' });
});

test('G3 a konbini refund waits for the customer\'s account, and moves, comes back, ends or expires', async (t) => {
    const { server, port, stripe, control } = await open(t);
    const paid = async () => {
        const intent = await stripe.paymentIntents.create({ amount: 1200, currency: 'jpy', confirm: true,
            payment_method_types: ['konbini'], payment_method_data: { type: 'konbini', billing_details: { name: 'A', email: 'a@example.com' } } });
        await control.konbini(intent.id, 'pay');
        return intent;
    };
    const refund = async () => stripe.refunds.create({ payment_intent: (await paid()).id });
    const move = (id, status) => set(port, `/refunds/${id}`, { status });
    const one = await refund();
    assert.equal(one.status, 'requires_action');
    assert.equal(one.instructions_email, 'a@example.com');
    assert.equal(one.next_action.type, 'display_details');
    assert.equal((await put(port, `/refunds/${one.id}`, { status: 'succeeded' })).status, 422);
    assert.equal((await move(one.id, 'pending')).status, 'pending');
    await fails(stripe.refunds.cancel(one.id), 'StripeInvalidRequestError', { statusCode: 400 });
    assert.equal((await move(one.id, 'requires_action')).status, 'requires_action');
    await move(one.id, 'pending');
    assert.equal((await move(one.id, 'succeeded')).status, 'succeeded');
    assert.equal((await stripe.charges.retrieve(one.charge)).refunded, true);
    const two = await refund();
    const expired = await stripe.testHelpers.refunds.expire(two.id);
    assert.deepEqual([expired.status, expired.failure_reason], ['failed', 'unknown']);
    assert.equal((await stripe.charges.retrieve(two.charge)).amount_refunded, 0, 'the money is the charge\'s again');
    assert.equal((await control.events('refund.failed')).length, 1);
    const three = await refund();
    assert.equal((await stripe.refunds.cancel(three.id)).status, 'canceled');
    const four = await refund();
    await server.advance(45 * DAY + 1000);
    await until('it ended', async () => (await stripe.refunds.retrieve(four.id)).status === 'failed');
});

test('G3 a card that was set up for later asks no more, and another asks always', async (t) => {
    const { stripe, control } = await open(t);
    const first = await stripe.paymentIntents.create(card({ payment_method: 'pm_card_authenticationRequiredOnSetup', setup_future_usage: 'off_session' }));
    assert.equal(first.status, 'requires_action');
    await control.authenticate(first.id, 'success');
    const again = await stripe.paymentIntents.create(card({ payment_method: first.payment_method, off_session: true }));
    assert.equal(again.status, 'succeeded');
    const always = await stripe.paymentIntents.create(card({ payment_method: 'pm_card_authenticationRequired', setup_future_usage: 'off_session' }));
    await control.authenticate(always.id, 'success');
    await fails(stripe.paymentIntents.create(card({ payment_method: always.payment_method, off_session: true })),
        'StripeCardError', { code: 'authentication_required' });
});

// --- strictness ---

test('G3 in strict mode what Stripe does not know is refused in its words, and the mode outlives a restart', async (t) => {
    const db = await fresh(t, stores[0]);
    const first = await meet(await launch(t, db).listening());
    const loose = await first.stripe.paymentIntents.create(card({ colour: 'red' }));
    assert.equal(loose.status, 'succeeded');
    assert.deepEqual(await set(first.port, '/strict', { on: true }), { on: true });
    await first.server.kill();
    const { server, port, stripe, sdk } = await open(t, { db });
    const refused = (promise, param) => fails(promise, 'StripeInvalidRequestError',
        { statusCode: 400, code: 'parameter_unknown', param });
    await refused(stripe.paymentIntents.create(card({ colour: 'red' }), keyed('strict')), 'colour');
    await refused(stripe.paymentIntents.create(card({ shipping: { name: 'x', address: { town: 'y' } } })), 'shipping[address][town]');
    await refused(stripe.paymentIntents.list({ create: 1 }), 'create');
    await refused(stripe.paymentIntents.retrieve(loose.id, { x: 1 }), 'x');
    await refused(stripe.checkout.sessions.create({ mode: 'payment', success_url: 'https://a.example', line_items: [{ prize: 'p' }] }), 'line_items[0][prize]');
    await refused(stripe.customers.create({ nmae: 'x' }), 'nmae');
    await fails(stripe.paymentIntents.create(card({ payment_method_types: ['card'] })), 'StripeInvalidRequestError',
        { statusCode: 400, code: 'payment_method_types_no_longer_supported' });
    const before = sdk(KEY, { apiVersion: '2026-07-29.dahlia' });
    assert.equal((await before.paymentIntents.create(card({ payment_method_types: ['card'] }))).status, 'succeeded');
    const fine = await stripe.paymentIntents.create(card({ allowed_payment_method_types: ['card'], metadata: { any: 'thing' },
        payment_method_options: { card: { request_three_d_secure: 'any' } }, expand: ['latest_charge'] }), keyed('strict'));
    assert.equal(fine.status, 'succeeded', 'the refusal was not kept under the key');
    const payment = await server.captured();
    assert.equal(payment.status, 'CAPTURED', 'our own adapter says nothing that Stripe does not know');
    assert.deepEqual(await set(port, '/strict', { on: false }), { on: false });
    assert.equal((await stripe.paymentIntents.create(card({ colour: 'red' }))).status, 'succeeded');
});

test('G3 live keys get 401 at every call there is', async (t) => {
    const { port } = await open(t);
    const paths = ['/v1/payment_intents', '/v1/events', '/v1/events/evt_1/retry', '/v1/webhook_endpoints', '/v1/customers', '/v1/refunds',
        '/v1/checkout/sessions', '/v1/test_helpers/refunds/re_1/expire', '/v1/stripecli/sessions', '/v1/nothing'];
    for (const key of ['sk_live_0123456789abcdef', 'rk_live_0123456789abcdef'])
        for (const path of paths)
            for (const method of ['POST', 'GET', 'DELETE']) {
                const { status, text } = await ask(port, method, path, { headers: { Authorization: `Bearer ${key}` } });
                if (status !== 405) assert.equal(status, 401, `${method} ${path}: ${status} ${text}`);
            }
});
