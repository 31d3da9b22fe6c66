// The sandbox, judged by the real stripe-node SDK (G3): it must believe that it speaks to Stripe.
import {
    assert, fresh, launch, nowSeconds, pretty, SECRET, start, stores, test, unique, until,
} from './lib/harness.mjs';
import { ask, fails, KEY, keyed, meet, open, receiver, VERSION } from './lib/sandbox.mjs';

const card = (more = {}) => ({
    amount: 1200, currency: 'jpy', payment_method: 'pm_card_visa', confirm: true, ...more,
});
const held = (more = {}) => card({ capture_method: 'manual', ...more });

// --- what the intents do ---

test('G3 the SDK charges a card at once: the intent, its charge and what they say of each other', async (t) => {
    const { stripe } = await open(t);
    const intent = await stripe.paymentIntents.create(card({
        description: '領収書 ¥1,200 😀', metadata: { payment_id: 'p-1', note: 'a=b&c' },
    }));
    assert.match(intent.id, /^pi_3/);
    assert.equal(intent.object, 'payment_intent');
    assert.equal(intent.status, 'succeeded');
    assert.equal(intent.amount, 1200);
    assert.equal(intent.amount_received, 1200);
    assert.equal(intent.amount_capturable, 0);
    assert.equal(intent.currency, 'jpy');
    assert.equal(intent.livemode, false);
    assert.equal(intent.description, '領収書 ¥1,200 😀');
    assert.deepEqual({ ...intent.metadata }, { payment_id: 'p-1', note: 'a=b&c' });
    assert.match(intent.client_secret, new RegExp(`^${intent.id}_secret_`));
    assert.match(intent.payment_method, /^pm_1?/);
    assert.notEqual(intent.payment_method, 'pm_card_visa', 'a virtual method becomes a fresh one');
    assert.ok(Math.abs(intent.created - nowSeconds()) < 10);
    const charge = await stripe.charges.retrieve(intent.latest_charge);
    assert.equal(charge.payment_intent, intent.id);
    assert.equal(charge.amount, 1200);
    assert.equal(charge.amount_captured, 1200);
    assert.equal(charge.amount_refunded, 0);
    assert.equal(charge.paid, true);
    assert.equal(charge.captured, true);
    assert.equal(charge.status, 'succeeded');
    assert.equal(charge.payment_method_details.type, 'card');
    assert.equal(charge.payment_method_details.card.brand, 'visa');
    assert.equal(charge.outcome.network_status, 'approved_by_network');
    assert.deepEqual(await stripe.paymentIntents.retrieve(intent.id).then((i) => i.status), 'succeeded');
});

test('G3 an authorisation is held, captured in part, and cannot be captured twice', async (t) => {
    const { stripe } = await open(t);
    const intent = await stripe.paymentIntents.create(held());
    assert.equal(intent.status, 'requires_capture');
    assert.equal(intent.amount_capturable, 1200);
    assert.equal(intent.amount_received, 0);
    const before = await stripe.charges.retrieve(intent.latest_charge);
    assert.equal(before.captured, false);
    assert.equal(before.amount_captured, 0);
    await fails(stripe.paymentIntents.capture(intent.id, { amount_to_capture: 1201 }),
        'StripeInvalidRequestError', { statusCode: 400 });
    const done = await stripe.paymentIntents.capture(intent.id, { amount_to_capture: 700 });
    assert.equal(done.status, 'succeeded');
    assert.equal(done.amount_received, 700);
    assert.equal(done.amount_capturable, 0);
    assert.equal(done.amount, 1200);
    const charge = await stripe.charges.retrieve(intent.latest_charge);
    assert.equal(charge.captured, true);
    assert.equal(charge.amount_captured, 700);
    assert.equal(charge.refunded, false);
    const again = await fails(stripe.paymentIntents.capture(intent.id), 'StripeInvalidRequestError',
        { statusCode: 400, code: 'payment_intent_unexpected_state' });
    assert.equal(again.payment_intent.status, 'succeeded');
});

test('G3 a cancel voids what was held, and ends an intent for good', async (t) => {
    const { stripe } = await open(t);
    const intent = await stripe.paymentIntents.create(held());
    const gone = await stripe.paymentIntents.cancel(intent.id, { cancellation_reason: 'abandoned' });
    assert.equal(gone.status, 'canceled');
    assert.equal(gone.cancellation_reason, 'abandoned');
    assert.equal(gone.amount_capturable, 0);
    assert.ok(gone.canceled_at >= gone.created);
    for (const [name, ...rest] of [['capture'], ['cancel'], ['confirm', { payment_method: 'pm_card_visa' }]])
        await fails(stripe.paymentIntents[name](intent.id, ...rest), 'StripeInvalidRequestError',
            { statusCode: 400, code: 'payment_intent_unexpected_state' });
    const paid = await stripe.paymentIntents.create(card());
    const error = await fails(stripe.paymentIntents.cancel(paid.id), 'StripeInvalidRequestError',
        { code: 'payment_intent_unexpected_state' });
    assert.equal(error.payment_intent.id, paid.id);
});

test('G3 an intent is made first, updated, and confirmed later', async (t) => {
    const { stripe } = await open(t);
    const intent = await stripe.paymentIntents.create({ amount: 3000, currency: 'usd' });
    assert.equal(intent.status, 'requires_payment_method');
    assert.equal(intent.latest_charge, null);
    const changed = await stripe.paymentIntents.update(intent.id,
        { metadata: { a: '1', b: '2' }, description: 'first' });
    assert.deepEqual({ ...changed.metadata }, { a: '1', b: '2' });
    const less = await stripe.paymentIntents.update(intent.id, { metadata: { a: '' } });
    assert.deepEqual({ ...less.metadata }, { b: '2' });
    assert.equal(less.description, 'first');
    const none = await stripe.paymentIntents.update(intent.id, { metadata: '' });
    assert.deepEqual({ ...none.metadata }, {});
    const done = await stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_mastercard' });
    assert.equal(done.status, 'succeeded');
    assert.equal((await stripe.charges.retrieve(done.latest_charge)).payment_method_details.card.brand,
        'mastercard');
    const waiting = await stripe.paymentIntents.create(
        { amount: 3000, currency: 'usd', payment_method: 'pm_card_visa' });
    assert.equal(waiting.status, 'requires_confirmation');
    assert.equal((await stripe.paymentIntents.confirm(waiting.id)).status, 'succeeded');
});

test('G3 a payment method of its own is made, read and used', async (t) => {
    const { stripe } = await open(t);
    const method = await stripe.paymentMethods.create({ type: 'card', card: { token: 'tok_visa' } });
    assert.match(method.id, /^pm_/);
    assert.equal(method.card.last4, '4242');
    assert.equal((await stripe.paymentMethods.retrieve(method.id)).id, method.id);
    const intent = await stripe.paymentIntents.create(card({ payment_method: method.id }));
    assert.equal(intent.status, 'succeeded');
    assert.equal(intent.payment_method, method.id);
});

test('G3 every card that declines does so in its own words, and can be replaced', async (t) => {
    const { stripe } = await open(t);
    const cards = [
        ['pm_card_chargeDeclined', 'card_declined', 'generic_decline'],
        ['pm_card_visa_chargeDeclined', 'card_declined', 'generic_decline'],
        ['pm_card_chargeDeclinedInsufficientFunds', 'card_declined', 'insufficient_funds'],
        ['pm_card_visa_chargeDeclinedInsufficientFunds', 'card_declined', 'insufficient_funds'],
        ['pm_card_visa_chargeDeclinedLostCard', 'card_declined', 'lost_card'],
        ['pm_card_visa_chargeDeclinedStolenCard', 'card_declined', 'stolen_card'],
        ['pm_card_chargeDeclinedExpiredCard', 'expired_card'],
        ['pm_card_chargeDeclinedIncorrectCvc', 'incorrect_cvc'],
        ['pm_card_chargeDeclinedProcessingError', 'processing_error'],
        ['pm_card_visa_chargeDeclinedVelocityLimitExceeded', 'card_declined', 'card_velocity_exceeded'],
        ['pm_card_chargeDeclinedFraudulent', 'card_declined', 'fraudulent'],
        ['pm_card_radarBlock', 'card_declined', 'fraudulent'],
        ['pm_card_chargeCustomerFail', 'card_declined'],
    ];
    for (const [method, code, reason] of cards) {
        const error = await fails(stripe.paymentIntents.create(held({ payment_method: method })),
            'StripeCardError', { statusCode: 402, code, ...(reason && { decline_code: reason }) });
        const intent = error.payment_intent;
        assert.equal(intent.status, 'requires_payment_method', method);
        assert.equal(intent.payment_method, null, method);
        assert.equal(intent.last_payment_error.code, code, method);
        assert.match(intent.last_payment_error.payment_method.id, /^pm_/, method);
        const charge = await stripe.charges.retrieve(error.charge);
        assert.equal(charge.status, 'failed', method);
        assert.equal(charge.paid, false, method);
        assert.equal(charge.failure_code, code, method);
        assert.equal(charge.amount_captured, 0, method);
        const after = await stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_visa' });
        assert.equal(after.status, 'requires_capture', method);
        assert.equal(after.last_payment_error, null, method);
    }
});

// --- 3-D Secure ---

const asked = (more = {}) => held({
    payment_method: 'pm_card_threeDSecure2Required', return_url: 'https://shop.example/back?order=7',
    ...more,
});

test('G3 3-D Secure: the customer is sent to a page in both languages, and authorises', async (t) => {
    const { stripe, port } = await open(t);
    const intent = await stripe.paymentIntents.create(
        asked({ description: '<script>alert(1)</script>"\'&' }));
    assert.equal(intent.status, 'requires_action');
    assert.equal(intent.next_action.type, 'redirect_to_url');
    assert.equal(intent.next_action.redirect_to_url.return_url, 'https://shop.example/back?order=7');
    const url = new URL(intent.next_action.redirect_to_url.url);
    assert.equal(Number(url.port), port);
    const page = await ask(port, 'GET', url.pathname + url.search);
    assert.equal(page.status, 200);
    assert.match(page.headers['content-type'], /^text\/html; charset=utf-8$/i);
    assert.match(page.headers['content-security-policy'], /default-src 'none'/);
    assert.ok(!/<script|style=| on\w+=|<script>alert/i.test(page.text), page.text);
    const japanese = await ask(port, 'GET', `${url.pathname}?lang=ja`);
    assert.match(japanese.text, /認証/);
    assert.match(page.text, /[Aa]uthori[sz]e/);
    assert.match(page.text, /1,?200/);
    const sent = await ask(port, 'POST', url.pathname, {
        body: 'result=success', headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(sent.status, 303);
    const back = new URL(sent.headers.location);
    assert.equal(back.origin + back.pathname, 'https://shop.example/back');
    assert.equal(back.searchParams.get('order'), '7');
    assert.equal(back.searchParams.get('payment_intent'), intent.id);
    assert.equal(back.searchParams.get('redirect_status'), 'succeeded');
    const after = await stripe.paymentIntents.retrieve(intent.id);
    assert.equal(after.status, 'requires_capture');
    assert.equal(after.next_action, null);
    assert.equal(after.amount_capturable, 1200);
});

test('G3 3-D Secure that fails gives the intent back; another card may pay', async (t) => {
    const { stripe, port, control } = await open(t);
    const intent = await stripe.paymentIntents.create(asked());
    const sent = await ask(port, 'POST', `/_sandbox/authenticate/${intent.id}`, {
        body: 'result=fail', headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(sent.status, 303);
    assert.equal(new URL(sent.headers.location).searchParams.get('redirect_status'), 'failed');
    const after = await stripe.paymentIntents.retrieve(intent.id);
    assert.equal(after.status, 'requires_payment_method');
    assert.equal(after.last_payment_error.code, 'payment_intent_authentication_failure');
    assert.equal((await control.events('payment_intent.payment_failed')).length, 1);
    const paid = await stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_visa' });
    assert.equal(paid.status, 'requires_capture');
});

test('G3 the 3-D Secure question is answered once, by JSON too, and not for strangers', async (t) => {
    const { stripe, port, control } = await open(t);
    const intent = await stripe.paymentIntents.create(
        card({ payment_method: 'pm_card_authenticationRequired', return_url: 'https://shop.example/' }));
    assert.equal(intent.status, 'requires_action');
    const answer = await control.authenticate(intent.id, 'success');
    assert.equal(answer.status, 'succeeded');
    assert.equal((await stripe.paymentIntents.retrieve(intent.id)).amount_received, 1200);
    const json = { headers: { 'Content-Type': 'application/json' } };
    const post = (id, body) => ask(port, 'POST', `/_sandbox/authenticate/${id}`, { body, ...json });
    assert.equal((await post(intent.id, '{"result":"success"}')).status, 422);
    assert.equal((await post('pi_3nobody', '{"result":"success"}')).status, 404);
    assert.equal((await post(intent.id, '{"result":"maybe"}')).status, 400);
    assert.equal((await post(intent.id, '{')).status, 400);
    assert.equal((await ask(port, 'GET', '/_sandbox/authenticate/pi_3nobody')).status, 404);
    const done = await ask(port, 'GET', `/_sandbox/authenticate/${intent.id}`);
    assert.equal(done.status, 200);
    assert.ok(!/<button/.test(done.text), 'nothing left to answer');
    const lost = await stripe.paymentIntents.create(
        asked({ payment_method: 'pm_card_threeDSecureRequiredChargeDeclined' }));
    await control.authenticate(lost.id, 'success');
    const declined = await stripe.paymentIntents.retrieve(lost.id);
    assert.equal(declined.status, 'requires_payment_method');
    assert.equal(declined.last_payment_error.code, 'card_declined');
});

// --- refunds ---

test('G3 refunds in parts, until nothing is left', async (t) => {
    const { stripe } = await open(t);
    const intent = await stripe.paymentIntents.create(card({ amount: 1000 }));
    const one = await stripe.refunds.create(
        { payment_intent: intent.id, amount: 300, metadata: { refund_id: 'r-1' } });
    assert.match(one.id, /^re_/);
    assert.equal(one.status, 'succeeded');
    assert.equal(one.amount, 300);
    assert.equal(one.payment_intent, intent.id);
    assert.equal(one.charge, intent.latest_charge);
    assert.equal(one.metadata.refund_id, 'r-1');
    let charge = await stripe.charges.retrieve(intent.latest_charge);
    assert.equal(charge.amount_refunded, 300);
    assert.equal(charge.refunded, false);
    const over = await fails(stripe.refunds.create({ payment_intent: intent.id, amount: 701 }),
        'StripeInvalidRequestError', { statusCode: 400, param: 'amount' });
    assert.equal(over.code, undefined);
    const rest = await stripe.refunds.create(
        { charge: intent.latest_charge, reason: 'requested_by_customer' });
    assert.equal(rest.amount, 700);
    assert.equal(rest.reason, 'requested_by_customer');
    charge = await stripe.charges.retrieve(intent.latest_charge);
    assert.equal(charge.amount_refunded, 1000);
    assert.equal(charge.refunded, true);
    await fails(stripe.refunds.create({ payment_intent: intent.id }), 'StripeInvalidRequestError',
        { code: 'charge_already_refunded' });
    assert.equal((await stripe.refunds.retrieve(one.id)).amount, 300);
    assert.equal((await stripe.refunds.update(one.id, { metadata: { note: 'x' } })).metadata.note, 'x');
    const listed = await stripe.refunds.list({ payment_intent: intent.id });
    assert.deepEqual(listed.data.map((r) => r.id), [rest.id, one.id]);
    assert.equal((await stripe.paymentIntents.retrieve(intent.id)).status, 'succeeded');
});

test('G3 what was never captured is not refunded', async (t) => {
    const { stripe } = await open(t);
    const intent = await stripe.paymentIntents.create(held());
    await fails(stripe.refunds.create({ payment_intent: intent.id }), 'StripeInvalidRequestError',
        { statusCode: 400 });
    await stripe.paymentIntents.capture(intent.id, { amount_to_capture: 500 });
    await fails(stripe.refunds.create({ payment_intent: intent.id, amount: 501 }),
        'StripeInvalidRequestError', { statusCode: 400 });
    assert.equal((await stripe.refunds.create({ payment_intent: intent.id })).amount, 500);
});

// --- keys ---

test('G3 the same key and order: the same answer, and the money moves once', async (t) => {
    const { stripe, control } = await open(t);
    const order = card({ metadata: { payment_id: 'once', z: '1', a: '2' } });
    const first = await stripe.paymentIntents.create(order, keyed('k-1'));
    assert.equal(first.lastResponse.headers['idempotency-key'], 'k-1');
    assert.equal(first.lastResponse.headers['idempotent-replayed'], undefined);
    const shuffled = { ...order, metadata: { a: '2', z: '1', payment_id: 'once' } };
    const second = await stripe.paymentIntents.create(shuffled, keyed('k-1'));
    assert.equal(second.id, first.id);
    assert.deepEqual({ ...second }, { ...first });
    assert.equal(second.lastResponse.headers['idempotent-replayed'], 'true');
    assert.equal(second.lastResponse.headers['original-request'], first.lastResponse.requestId);
    assert.notEqual(second.lastResponse.requestId, first.lastResponse.requestId);
    const books = await control.books('once');
    assert.equal(books.totals.charges, 1);
    assert.equal(books.totals.captured, 1200);
});

test('G3 a decline is kept under its key, a wrong parameter is not', async (t) => {
    const { stripe } = await open(t);
    const bad = card({ payment_method: 'pm_card_chargeDeclined' });
    const one = await fails(stripe.paymentIntents.create(bad, keyed('k-d')), 'StripeCardError');
    const two = await fails(stripe.paymentIntents.create(bad, keyed('k-d')), 'StripeCardError');
    assert.equal(two.payment_intent.id, one.payment_intent.id);
    assert.equal(two.headers['idempotent-replayed'], 'true');
    await fails(stripe.paymentIntents.create({ currency: 'jpy' }, keyed('k-v')),
        'StripeInvalidRequestError', { code: 'parameter_missing', param: 'amount' });
    assert.equal((await stripe.paymentIntents.create(card(), keyed('k-v'))).status, 'succeeded');
});

test('G3 the same key for something else is refused, and replays stay what they were', async (t) => {
    const { stripe } = await open(t);
    const intent = await stripe.paymentIntents.create(held(), keyed('k-2'));
    await fails(stripe.paymentIntents.create(held({ amount: 1201 }), keyed('k-2')),
        'StripeIdempotencyError', { statusCode: 400 });
    await fails(stripe.paymentIntents.capture(intent.id, {}, keyed('k-2')),
        'StripeIdempotencyError', { statusCode: 400 });
    await stripe.paymentIntents.capture(intent.id, {}, keyed('k-3'));
    const replay = await stripe.paymentIntents.create(held(), keyed('k-2'));
    assert.equal(replay.status, 'requires_capture', 'as it was then');
});

test('G3 the same key while the first is still running: 409, and the SDK tries again', async (t) => {
    const { stripe, sdk, control } = await open(t);
    await control.fault({ path: '/v1/payment_intents', delayMs: 900 });
    const order = held({ metadata: { payment_id: 'race' } });
    const first = stripe.paymentIntents.create(order, keyed('k-r'));
    await until('the first is under way', async () => (await control.faults()).length === 0);
    await fails(stripe.paymentIntents.create(order, keyed('k-r')), 'StripeIdempotencyError',
        { statusCode: 409, code: 'idempotency_key_in_use' }).catch(async (wrong) => {
        // stripe-node makes an API error of it where the type is not idempotency_error
        if (!/StripeAPIError|StripeInvalidRequestError/.test(wrong.message)) throw wrong;
    });
    const patient = await sdk(KEY, { maxNetworkRetries: 5 }).paymentIntents.create(order, keyed('k-r'));
    assert.equal(patient.id, (await first).id);
    assert.equal((await control.books('race')).intents.length, 1);
});

// --- errors ---

test('G3 errors have the classes that the SDK knows', async (t) => {
    const { stripe, sdk, port } = await open(t);
    await fails(stripe.paymentIntents.retrieve('pi_3nobody'), 'StripeInvalidRequestError',
        { statusCode: 404, code: 'resource_missing' });
    await fails(stripe.charges.retrieve('ch_3nobody'), 'StripeInvalidRequestError',
        { statusCode: 404, code: 'resource_missing' });
    await fails(stripe.refunds.create({ payment_intent: 'pi_3nobody' }), 'StripeInvalidRequestError',
        { code: 'resource_missing' });
    await fails(stripe.paymentIntents.create(card({ payment_method: 'pm_nothing' })),
        'StripeInvalidRequestError', { code: 'resource_missing' });
    await fails(stripe.paymentIntents.create({ amount: 1200 }), 'StripeInvalidRequestError',
        { code: 'parameter_missing', param: 'currency' });
    await fails(stripe.paymentIntents.create(card({ amount: '12.5' })), 'StripeInvalidRequestError',
        { code: 'parameter_invalid_integer', param: 'amount' });
    await fails(stripe.paymentIntents.create(card({ amount: 49 })), 'StripeInvalidRequestError',
        { code: 'amount_too_small' });
    await fails(stripe.paymentIntents.create(card({ amount: 100_000_000 })), 'StripeInvalidRequestError',
        { code: 'amount_too_large' });
    await fails(stripe.subscriptions.list(), 'StripeInvalidRequestError',
        { statusCode: 404 });
    for (const key of ['sk_live_0123456789abcdef', 'sk_test_', 'pk_test_0123456789abcdef'])
        await fails(sdk(key).paymentIntents.list(), 'StripeAuthenticationError', { statusCode: 401 });
    const bare = await ask(port, 'GET', '/v1/payment_intents');
    assert.equal(bare.status, 401);
    assert.ok(JSON.parse(bare.text).error.message);
    const error = await fails(stripe.paymentIntents.retrieve('pi_3nobody'), 'StripeInvalidRequestError');
    assert.match(error.requestId, /^req_/);
});

test('G3 every answer names its request and its version', async (t) => {
    const { stripe, sdk } = await open(t);
    const { headers } = (await stripe.paymentIntents.create(card())).lastResponse;
    assert.match(headers['request-id'], /^req_/);
    assert.equal(headers['stripe-version'], VERSION);
    assert.match(headers['content-type'], /^application\/json/);
    const older = await sdk('rk_test_0123456789abcdef', { apiVersion: '2025-03-31.basil' })
        .paymentIntents.create({ ...card(), payment_method_types: ['card'] });
    assert.equal(older.lastResponse.headers['stripe-version'], '2025-03-31.basil');
});

// --- lists ---

test('G3 lists come newest first, in pages, and the SDK walks them by itself', async (t) => {
    const { stripe } = await open(t);
    const made = [];
    for (let i = 0; i < 25; i++)
        made.unshift((await stripe.paymentIntents.create(
            { amount: 1000 + i, currency: 'jpy', metadata: { i } })).id);
    const first = await stripe.paymentIntents.list();
    assert.deepEqual(first.data.map((i) => i.id), made.slice(0, 10));
    assert.equal(first.has_more, true);
    assert.equal(first.url, '/v1/payment_intents');
    const next = await stripe.paymentIntents.list({ limit: 20, starting_after: made[9] });
    assert.deepEqual(next.data.map((i) => i.id), made.slice(10));
    assert.equal(next.has_more, false);
    const before = await stripe.paymentIntents.list({ limit: 3, ending_before: made[9] });
    assert.deepEqual(before.data.map((i) => i.id), made.slice(6, 9));
    const all = await stripe.paymentIntents.list({ limit: 7 }).autoPagingToArray({ limit: 100 });
    assert.deepEqual(all.map((i) => i.id), made);
    const oldest = await stripe.paymentIntents.retrieve(made[24]);
    const since = await stripe.paymentIntents.list({ limit: 100, created: { gte: oldest.created } });
    assert.equal(since.data.length, 25);
    const later = await stripe.paymentIntents.list({ created: { gte: nowSeconds() + 3600 } });
    assert.equal(later.data.length, 0);
    await fails(stripe.paymentIntents.list({ limit: 101 }), 'StripeInvalidRequestError', { param: 'limit' });
    const paid = await stripe.paymentIntents.create(card({ amount: 1000 }));
    const refunds = [];
    for (let i = 0; i < 12; i++)
        refunds.unshift((await stripe.refunds.create({ payment_intent: paid.id, amount: 50 })).id);
    const walked = [];
    for await (const one of stripe.refunds.list({ payment_intent: paid.id, limit: 5 })) walked.push(one.id);
    assert.deepEqual(walked, refunds);
});

test('G3 expand puts the object where its id was', async (t) => {
    const { stripe } = await open(t);
    const made = await stripe.paymentIntents.create(card({ expand: ['latest_charge', 'payment_method'] }));
    assert.equal(made.latest_charge.object, 'charge');
    assert.equal(made.latest_charge.payment_intent, made.id);
    assert.equal(made.payment_method.object, 'payment_method');
    const read = await stripe.paymentIntents.retrieve(made.id,
        { expand: ['latest_charge.balance_transaction'] });
    assert.equal(read.latest_charge.object, 'charge');
    const fee = read.latest_charge.balance_transaction;
    if (fee) assert.equal(fee.net, fee.amount - fee.fee);
    const list = await stripe.paymentIntents.list({ limit: 1, expand: ['data.latest_charge'] });
    assert.equal(list.data[0].latest_charge.id, made.latest_charge.id);
    const refund = await stripe.refunds.create({ payment_intent: made.id, expand: ['charge'] });
    assert.equal(refund.charge.amount_refunded, 1200);
});

// --- webhooks ---

const HELD_EVENTS = ['charge.succeeded', 'payment_intent.amount_capturable_updated'];

test('G3 events arrive signed as Stripe signs them, in Stripe\'s form', async (t) => {
    const box = await open(t);
    const hooks = await receiver(t, box);
    const intent = await box.stripe.paymentIntents.create(
        held({ metadata: { payment_id: 'p-9' } }), keyed('k-hook'));
    await hooks.count(2);
    assert.deepEqual(hooks.types().sort(), HELD_EVENTS);
    for (const { body, headers } of hooks.got) {
        const event = box.stripe.webhooks.constructEvent(body, headers['stripe-signature'], SECRET);
        assert.equal(body, pretty(JSON.parse(body)), 'indented by two');
        assert.deepEqual(Object.keys(event), ['id', 'object', 'api_version', 'created', 'data',
            'livemode', 'pending_webhooks', 'request', 'type']);
        assert.match(event.id, /^evt_3[0-9A-Za-z]+$/);
        assert.equal(event.object, 'event');
        assert.equal(event.api_version, VERSION);
        assert.equal(event.livemode, false);
        assert.equal(event.pending_webhooks, 1);
        assert.ok(Math.abs(event.created - nowSeconds()) < 10);
        assert.equal(event.request.id, intent.lastResponse.requestId);
        assert.equal(event.request.idempotency_key, 'k-hook');
        assert.equal(headers['user-agent'], 'Stripe/1.0 (+https://stripe.com/docs/webhooks)');
        assert.equal(headers['content-type'], 'application/json; charset=utf-8');
        assert.throws(() => box.stripe.webhooks.constructEvent(`${body} `, headers['stripe-signature'], SECRET));
        assert.throws(() => box.stripe.webhooks.constructEvent(body, headers['stripe-signature'], `${SECRET}x`));
    }
    const told = hooks.got.find((one) => one.event.type.startsWith('payment_intent.')).event.data.object;
    assert.deepEqual(told, JSON.parse(JSON.stringify(await box.stripe.paymentIntents.retrieve(intent.id))));
});

test('G3 each change tells its events in Stripe\'s order, with what was there before', async (t) => {
    const { stripe, control } = await open(t);
    let seen = 0;
    const fresh = async () => {
        const all = (await control.events()).reverse();
        const news = all.slice(seen);
        seen = all.length;
        return news;
    };
    const types = (events) => events.map((e) => e.type);
    const intent = await stripe.paymentIntents.create(held({ amount: 1000 }));
    assert.deepEqual(types(await fresh()),
        ['payment_intent.created', 'charge.succeeded', 'payment_intent.amount_capturable_updated']);
    await stripe.paymentIntents.capture(intent.id);
    assert.deepEqual(types(await fresh()).filter((type) => type !== 'charge.updated'),
        ['charge.captured', 'payment_intent.succeeded']);
    await stripe.refunds.create({ payment_intent: intent.id, amount: 400 });
    const refunded = (await fresh()).filter((e) => e.type !== 'charge.updated');
    assert.deepEqual(types(refunded), ['refund.created', 'charge.refunded']);
    assert.equal(refunded[1].data.previous_attributes.amount_refunded, 0);
    assert.equal(refunded[1].data.object.amount_refunded, 400);
    const other = await stripe.paymentIntents.create(held());
    await fresh();
    await stripe.paymentIntents.cancel(other.id);
    assert.ok(types(await fresh()).includes('payment_intent.canceled'));
    await fails(stripe.paymentIntents.create(card({ payment_method: 'pm_card_chargeDeclined' })),
        'StripeCardError');
    assert.deepEqual(types(await fresh()),
        ['payment_intent.created', 'charge.failed', 'payment_intent.payment_failed']);
    const paid = await stripe.paymentIntents.create(card());
    assert.deepEqual(types(await fresh()).slice(0, 3),
        ['payment_intent.created', 'charge.succeeded', 'payment_intent.succeeded']);
    await stripe.paymentIntents.create(asked());
    assert.deepEqual(types(await fresh()).filter((type) => type !== 'charge.updated'),
        ['payment_intent.created', 'payment_intent.requires_action']);
    const [last] = await control.events('payment_intent.succeeded');
    assert.equal(last.data.object.id, paid.id);
});

test('G3 the server itself is told, believes it and stores it', async (t) => {
    const { server, stripe } = await open(t);
    await stripe.paymentIntents.create(held());
    await until('both events are there', async () => (await server.db.count('webhook_events')) >= 2);
    const rows = await server.db.events();
    assert.deepEqual(rows.map((row) => row.type).sort(), HELD_EVENTS);
});

test('G3 killed between a charge and its webhooks, it sends them after its restart', async (t) => {
    const db = await fresh(t, stores[0]);
    const first = await meet(await launch(t, db).listening());
    await first.control.webhooks({ on: false });
    const intent = await first.stripe.paymentIntents.create(held(), keyed('k-kill'));
    assert.equal(await db.count('webhook_events'), 0);
    await first.server.kill();
    const second = await open(t, { db });
    assert.equal((await second.stripe.paymentIntents.retrieve(intent.id)).status, 'requires_capture');
    const replay = await second.stripe.paymentIntents.create(held(), keyed('k-kill'));
    assert.equal(replay.id, intent.id);
    await second.control.webhooks({ on: true }); // the switch outlives the process, too
    await until('both events are there', async () => (await db.count('webhook_events')) === 2);
    assert.deepEqual((await db.events()).map((row) => row.type).sort(), HELD_EVENTS);
});

test('G3 a delivery that fails is tried again by the schedule, freshly signed', async (t) => {
    const box = await open(t);
    const answers = [500, 302, 503, 400, 200];
    const hooks = await receiver(t, box, (one, got) =>
        answers[got.filter((other) => other.event.id === one.event.id).length - 1]);
    await box.control.webhooks({ factor: 30_000 }); // 10 ms, 60 ms, 240 ms, 600 ms
    await box.stripe.paymentIntents.create(held());
    await hooks.count(10);
    assert.equal(hooks.ids().size, 2);
    for (const id of hooks.ids()) {
        const tries = hooks.got.filter((one) => one.event.id === id);
        assert.equal(tries.length, 5, 'and no more after a 200');
        for (const { body, headers } of tries)
            box.stripe.webhooks.constructEvent(body, headers['stripe-signature'], SECRET);
        assert.equal(new Set(tries.map((one) => one.body)).size, 1, 'the same text each time');
        const gaps = tries.slice(1).map((one, i) => one.at - tries[i].at);
        for (const [i, least] of [10, 60, 240, 600].entries())
            assert.ok(gaps[i] >= least - 5, `gap ${i} was ${gaps[i]} ms`);
    }
});

test('G3 after eleven tries it gives up', async (t) => {
    const box = await open(t);
    const hooks = await receiver(t, box, () => 503);
    await box.control.webhooks({ factor: 1_000_000 });
    await box.stripe.paymentIntents.create(held());
    await hooks.count(22);
    await box.control.webhooks({ factor: 300 });
    await box.stripe.paymentIntents.create(held()); // whatever was still to come comes before this
    await hooks.count(24);
    const tries = [...hooks.ids()].map((id) => hooks.got.filter((one) => one.event.id === id).length);
    assert.deepEqual(tries, [11, 11, 1, 1]);
});

test('G3 the test clock moves the sandbox too: a lost delivery comes after its five minutes', async (t) => {
    const box = await open(t);
    let down = true;
    const hooks = await receiver(t, box, () => (down ? 500 : 200));
    await box.control.webhooks({ factor: 1 }); // Stripe's own pace
    await box.stripe.paymentIntents.create(held());
    await hooks.count(2);
    down = false;
    await until('both came again', async () => {
        if (hooks.got.length >= 4) return true;
        await box.server.advance(60_000);
        return false;
    });
    assert.ok(box.server.offsetMs >= 300_000, `only ${box.server.offsetMs} ms passed`);
    const late = hooks.got.at(-1);
    const t1 = Number(/t=(\d+)/.exec(late.headers['stripe-signature'])[1]);
    assert.ok(t1 >= nowSeconds() + 290, 'signed by the moved clock');
});

// --- switches ---

test('G3 switches for webhooks: off, lost, doubled, late and backwards', async (t) => {
    const box = await open(t);
    const hooks = await receiver(t, box);
    await box.control.webhooks({ on: false, factor: 30_000 });
    await box.stripe.paymentIntents.create(held());
    await until('they are stored', async () => (await box.control.events()).length === 3);
    assert.equal(hooks.got.length, 0);
    await box.control.webhooks({ on: true });
    await hooks.count(2); // by the schedule, as after an outage
    hooks.got.length = 0;

    await box.control.webhooks({ dropFirst: 2 });
    const began = Date.now();
    await box.stripe.paymentIntents.create(held());
    await hooks.count(2);
    assert.ok(hooks.got[0].at - began >= 5, 'only the second try came through');
    assert.equal(hooks.ids().size, 2);
    hooks.got.length = 0;

    await box.control.webhooks({ duplicate: 2 });
    await box.stripe.paymentIntents.create(held());
    await hooks.count(6);
    assert.equal(hooks.ids().size, 2);
    for (const { body, headers } of hooks.got)
        box.stripe.webhooks.constructEvent(body, headers['stripe-signature'], SECRET);
    hooks.got.length = 0;

    await box.control.webhooks({ duplicate: 0, delayMs: 400 });
    const intent = await box.stripe.paymentIntents.create(held());
    const made = Date.now();
    await hooks.count(2);
    assert.ok(hooks.got[0].at >= made + 350, `came after ${hooks.got[0].at - made} ms`);
    hooks.got.length = 0;

    await box.control.webhooks({ delayMs: 0, reorder: true });
    await box.stripe.paymentIntents.capture(intent.id);
    const place = (type) => hooks.types().indexOf(type);
    await until('the first came last', () => place('charge.captured') >= 0);
    assert.ok(place('payment_intent.succeeded') >= 0);
    assert.ok(place('payment_intent.succeeded') < place('charge.captured'), hooks.types().join());
});

test('G3 switches for calls: refused before anything is done', async (t) => {
    const { stripe, control } = await open(t);
    const order = card({ metadata: { payment_id: 'none' } });
    for (const [status, type] of [[500, 'StripeAPIError'], [503, 'StripeAPIError'],
        [429, 'StripeRateLimitError'], [400, 'StripeInvalidRequestError'], [403, 'StripePermissionError']]) {
        await control.fault({ path: '/v1/payment_intents', statusBefore: status });
        const error = await fails(stripe.paymentIntents.create(order, keyed('k-b')), type,
            { statusCode: status });
        assert.match(error.requestId, /^req_/);
    }
    await control.fault({ path: '/v1/payment_intents', statusBefore: 409 });
    const conflict = await stripe.paymentIntents.create(order, keyed('k-b')).catch((e) => e);
    assert.equal(conflict.statusCode, 409);
    await control.fault({ dropBefore: true });
    await fails(stripe.paymentIntents.retrieve('pi_x'), 'StripeConnectionError').catch((wrong) => {
        // a reset connection is tried once more by the SDK, and that one was let through
        if (!/StripeInvalidRequestError/.test(wrong.message)) throw wrong;
    });
    await control.clear();
    assert.deepEqual((await control.books('none')).intents, [], 'nothing happened');
    assert.equal((await stripe.paymentIntents.create(order, keyed('k-b'))).status, 'succeeded');
});

test('G3 switches for calls: charged, and then the answer is lost', async (t) => {
    const { stripe, sdk, control } = await open(t);
    const lost = card({ metadata: { payment_id: 'lost' } });
    await control.fault({ path: '/v1/payment_intents', method: 'POST', dropAfter: true, times: 2 });
    await fails(stripe.paymentIntents.create(lost, keyed('k-l')), 'StripeConnectionError');
    await control.clear();
    assert.equal((await control.books('lost')).totals.captured, 1200, 'the money moved');
    const found = await stripe.paymentIntents.create(lost, keyed('k-l'));
    assert.equal(found.status, 'succeeded');
    assert.equal((await control.books('lost')).totals.charges, 1);

    const hung = card({ metadata: { payment_id: 'hung' } });
    await control.fault({ path: '/v1/payment_intents', dropAfter: true, hangMs: 3000, times: 2 });
    const began = Date.now();
    await fails(sdk(KEY, { timeout: 500 }).paymentIntents.create(hung, keyed('k-h')),
        'StripeConnectionError');
    assert.ok(Date.now() - began < 2900);
    await control.clear();
    assert.equal((await control.books('hung')).totals.captured, 1200);

    const saved = card({ metadata: { payment_id: 'saved' } });
    await control.fault({ path: '/v1/payment_intents', statusAfter: 500 });
    const error = await fails(stripe.paymentIntents.create(saved, keyed('k-s')), 'StripeAPIError',
        { statusCode: 500 });
    assert.equal(error.headers['stripe-should-retry'], 'false');
    await fails(stripe.paymentIntents.create(saved, keyed('k-s')), 'StripeAPIError', { statusCode: 500 });
    assert.equal((await control.books('saved')).totals.charges, 1, 'and yet it was charged');
});

test('G3 switches for calls: declined on demand, delayed, skipped, by path', async (t) => {
    const { stripe, control } = await open(t);
    await control.fault({ declineCode: 'insufficient_funds' });
    await stripe.paymentIntents.list(); // no confirmation: does not use it up
    await fails(stripe.paymentIntents.create(held()), 'StripeCardError',
        { code: 'card_declined', decline_code: 'insufficient_funds' });
    const intent = await stripe.paymentIntents.create(held());
    await control.fault({ path: '/v1/payment_intents/*/capture', statusBefore: 500, skip: 1, times: 2 });
    const other = await stripe.paymentIntents.create(held());
    await stripe.paymentIntents.capture(other.id);
    for (const status of [500, 500])
        await fails(stripe.paymentIntents.capture(intent.id), 'StripeAPIError', { statusCode: status });
    assert.deepEqual(await control.faults(), []);
    await control.fault({ method: 'GET', path: '/v1/payment_intents', delayMs: 300 });
    const began = Date.now();
    await stripe.paymentIntents.capture(intent.id);
    await stripe.paymentIntents.retrieve(intent.id);
    assert.ok(Date.now() - began >= 295);
});

test('G3 a switch that does not exist is refused, not ignored', async (t) => {
    const { port, control } = await open(t);
    const post = (path, value) => ask(port, 'POST', `/_sandbox${path}`, {
        body: typeof value === 'string' ? value : JSON.stringify(value),
        headers: { 'Content-Type': 'application/json' },
    });
    for (const rule of [{}, { delay: 5 }, { statusBefore: 200 }, { statusAfter: '500' }, { times: 0, delayMs: 1 },
        { path: 'v1', delayMs: 1 }, { dropBefore: 1 }, { hangMs: -1 }, [], '{', '{"delayMs":1,"delayMs":2}',
        { path: `/${'x'.repeat(300)}`, delayMs: 1 }])
        assert.equal((await post('/faults', rule)).status, 400, JSON.stringify(rule));
    for (const switches of [{ off: true }, { duplicate: 11 }, { factor: 0 }, { url: 'ftp://x' }, { on: 'no' }])
        assert.equal((await post('/webhooks', switches)).status, 400, JSON.stringify(switches));
    assert.deepEqual(await control.faults(), []);
    for (let i = 0; i < 64; i++) await control.fault({ path: '/never', delayMs: 1 });
    assert.equal((await post('/faults', { delayMs: 1 })).status, 503);
    assert.deepEqual((await control.clear()).faults, []);
});

test('G3 the books say to the yen what moved', async (t) => {
    const { stripe, control } = await open(t);
    const payment = `p-${unique()}`;
    const metadata = { payment_id: payment };
    const one = await stripe.paymentIntents.create(held({ amount: 1000, metadata }));
    await stripe.paymentIntents.capture(one.id, { amount_to_capture: 800 });
    await stripe.refunds.create({ payment_intent: one.id, amount: 100 });
    await stripe.refunds.create({ payment_intent: one.id, amount: 50 });
    const two = await stripe.paymentIntents.create(held({ amount: 500, metadata }));
    await fails(stripe.paymentIntents.create(
        card({ amount: 300, metadata, payment_method: 'pm_card_chargeDeclined' })), 'StripeCardError');
    await stripe.paymentIntents.create(card({ amount: 9999, metadata: { payment_id: 'other' } }));
    let books = await control.books(payment);
    assert.equal(books.intents.length, 3);
    const [a, b, c] = books.intents;
    assert.deepEqual([a.id, a.payment_id, a.status, a.currency, a.amount, a.captured, a.refunded, a.charges, a.refunds],
        [one.id, payment, 'succeeded', 'jpy', 1000, 800, 150, 1, 2]);
    assert.deepEqual([b.id, b.status, b.held, b.captured, b.charges], [two.id, 'requires_capture', 500, 0, 0]);
    assert.deepEqual([c.status, c.held, c.captured, c.charges], ['requires_payment_method', 0, 0, 0]);
    assert.deepEqual(books.totals, { intents: 3, held: 500, captured: 800, refunded: 150, net: 650, charges: 1, refunds: 2 });
    await stripe.paymentIntents.cancel(two.id);
    books = await control.books(payment);
    assert.equal(books.totals.held, 0);
    assert.equal((await control.books()).totals.captured, 800 + 9999);
});
