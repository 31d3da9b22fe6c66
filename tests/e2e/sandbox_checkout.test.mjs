// The sandbox's catalogue, Checkout Sessions, konbini slips and disputes, judged by the real stripe-node
// SDK (T3, G3).
import crypto from 'node:crypto';
import { assert, fresh, launch, nowSeconds, SECRET, stores, test, until } from './lib/harness.mjs';
import { ask, fails, keyed, meet, open, receiver } from './lib/sandbox.mjs';

const order = (more = {}) => ({
    mode: 'payment', success_url: 'https://shop.example/done?session={CHECKOUT_SESSION_ID}',
    cancel_url: 'https://shop.example/back',
    line_items: [{
        price_data: { currency: 'jpy', unit_amount: 1200, product_data: { name: '会費 <2026>' } },
        quantity: 2,
    }],
    ...more,
});

const slip = (more = {}) => ({
    amount: 3000, currency: 'jpy', payment_method_types: ['konbini'], confirm: true,
    payment_method_data: {
        type: 'konbini', billing_details: { name: '山田 太郎', email: 'taro@example.com' },
    },
    ...more,
});

// What was told since the last look, oldest first.
function ear(control) {
    let seen = 0;
    return async () => {
        const all = (await control.events()).reverse();
        const news = all.slice(seen);
        seen = all.length;
        return news;
    };
}

const types = (events) => events.map((e) => e.type);
const heard = async (news, expected) => {
    const got = [];
    await until(`events ${expected.join()}`, async () => {
        got.push(...types(await news()));
        return got.length >= expected.length;
    }).catch((error) => { throw new Error(`only ${got.join()}`, { cause: error }); });
    assert.deepEqual(got, expected);
};

const form = (port, path, values) => ask(port, 'POST', path, {
    body: new URLSearchParams(values).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
});

// --- the catalogue ---

test('T3 the SDK makes, reads, changes and lists products and prices', async (t) => {
    const { stripe, control } = await open(t);
    const product = await stripe.products.create(
        { name: 'myproduct', description: '説明', metadata: { a: '1' } });
    assert.match(product.id, /^prod_/);
    assert.equal(product.object, 'product');
    assert.equal(product.active, true);
    assert.equal(product.name, 'myproduct');
    assert.equal(product.metadata.a, '1');
    const price = await stripe.prices.create({ product: product.id, unit_amount: 1500, currency: 'USD' });
    assert.match(price.id, /^price_1/);
    assert.equal(price.unit_amount, 1500);
    assert.equal(price.unit_amount_decimal?.toString(), '1500');
    assert.equal(price.currency, 'usd');
    assert.equal(price.product, product.id);
    assert.equal(price.type, 'one_time');
    const whole = await stripe.prices.retrieve(price.id, { expand: ['product'] });
    assert.equal(whole.product.name, 'myproduct');
    const inline = await stripe.prices.create(
        { product_data: { name: 'inline' }, unit_amount: 700, currency: 'jpy', nickname: 'n' });
    assert.equal((await stripe.products.retrieve(inline.product)).name, 'inline');
    assert.equal((await stripe.products.update(product.id, { name: 'other', active: false })).name, 'other');
    assert.equal((await stripe.prices.update(price.id, { active: false, nickname: 'x' })).active, false);
    assert.deepEqual((await stripe.products.list({ active: true })).data.map((p) => p.id), [inline.product]);
    assert.deepEqual((await stripe.prices.list()).data.map((p) => p.id), [inline.id, price.id]);
    assert.deepEqual((await stripe.prices.list({ product: product.id })).data.map((p) => p.id), [price.id]);
    assert.deepEqual((await stripe.prices.list({ active: true })).data.map((p) => p.id), [inline.id]);
    assert.deepEqual(types(await control.events()).sort(),
        ['price.created', 'price.created', 'product.created']);
});

test('T3 a product or price that makes no sense is refused in Stripe\'s words', async (t) => {
    const { stripe } = await open(t);
    const wrong = 'StripeInvalidRequestError';
    await fails(stripe.products.create({}), wrong, { code: 'parameter_missing', param: 'name' });
    await fails(stripe.products.retrieve('prod_none'), wrong, { statusCode: 404, code: 'resource_missing' });
    await fails(stripe.prices.create({ currency: 'jpy', unit_amount: 5 }), wrong, { param: 'product' });
    await fails(stripe.prices.create({ currency: 'jpy', unit_amount: 5, product: 'prod_none' }), wrong,
        { code: 'resource_missing' });
    await fails(stripe.prices.create({ currency: 'jpy', product_data: { name: 'x' } }), wrong,
        { param: 'unit_amount' });
    await fails(stripe.prices.create({ currency: 'jpy', unit_amount: -1, product_data: { name: 'x' } }),
        wrong, { code: 'parameter_invalid_integer' });
    await fails(stripe.prices.create({ currency: '??', unit_amount: 1, product_data: { name: 'x' } }), wrong);
    assert.equal((await stripe.products.list()).data.length, 0, 'what a refusal made is undone');
});

// --- sessions ---

test('T3 a session is made, has no intent until somebody pays, and is paid', async (t) => {
    const { stripe, control, port } = await open(t);
    const news = ear(control);
    const session = await stripe.checkout.sessions.create(order({
        client_reference_id: 'ref-7', customer_email: 'a@example.com', metadata: { s: '1' },
        payment_intent_data: { metadata: { payment_id: 'p-1' }, description: 'dues' },
        expand: ['line_items'],
    }));
    assert.match(session.id, /^cs_test_/);
    assert.equal(session.object, 'checkout.session');
    assert.equal(session.status, 'open');
    assert.equal(session.payment_status, 'unpaid');
    assert.equal(session.payment_intent, null);
    assert.equal(session.amount_total, 2400);
    assert.equal(session.amount_subtotal, 2400);
    assert.equal(session.currency, 'jpy');
    assert.equal(session.mode, 'payment');
    assert.equal(session.client_reference_id, 'ref-7');
    assert.equal(session.customer_email, 'a@example.com');
    assert.deepEqual({ ...session.metadata }, { s: '1' });
    assert.deepEqual(session.payment_method_types, ['card', 'konbini']);
    assert.ok(Math.abs(session.expires_at - nowSeconds() - 86400) < 10);
    assert.equal(Number(new URL(session.url).port), port);
    assert.equal(session.line_items.data[0].amount_total, 2400);
    assert.deepEqual(await news(), [], 'nothing is told of a page that nobody has seen');

    const paid = await control.pay(session.id);
    assert.equal(paid.status, 'complete');
    assert.equal(paid.payment_status, 'paid');
    assert.match(paid.payment_intent, /^pi_3/);
    assert.equal(paid.url, null);
    const intent = await stripe.paymentIntents.retrieve(paid.payment_intent, { expand: ['latest_charge'] });
    assert.equal(intent.status, 'succeeded');
    assert.equal(intent.amount_received, 2400);
    assert.equal(intent.description, 'dues');
    assert.deepEqual({ ...intent.metadata }, { payment_id: 'p-1' });
    assert.equal(intent.latest_charge.captured, true);
    assert.deepEqual({ ...intent.latest_charge.metadata }, { payment_id: 'p-1' });
    await heard(news, ['payment_intent.created', 'charge.succeeded', 'payment_intent.succeeded',
        'checkout.session.completed', 'charge.updated']);
    const [told] = await control.events('checkout.session.completed');
    assert.deepEqual(told.data.object,
        JSON.parse(JSON.stringify(await stripe.checkout.sessions.retrieve(session.id))));
    const [updated] = await control.events('charge.updated');
    assert.match(updated.data.object.balance_transaction, /^txn_/);
    assert.equal(updated.data.previous_attributes.balance_transaction, null);
    assert.equal((await control.events('charge.succeeded'))[0].data.object.balance_transaction, null);
    assert.equal((await control.books('p-1')).totals.captured, 2400);
});

test('T3 lines: by price and by price_data, quantities, their list', async (t) => {
    const { stripe } = await open(t);
    const product = await stripe.products.create({ name: 'ticket' });
    const price = await stripe.prices.create({ product: product.id, unit_amount: 1500, currency: 'usd' });
    const session = await stripe.checkout.sessions.create(order({
        line_items: [{ price: price.id, quantity: 2 },
            { price_data: { currency: 'usd', unit_amount: 1, product: product.id }, quantity: 7 }],
    }));
    assert.equal(session.amount_total, 3007);
    assert.deepEqual(session.payment_method_types, ['card'], 'konbini is for yen');
    const lines = await stripe.checkout.sessions.listLineItems(session.id);
    assert.deepEqual(lines.data.map((l) => [l.description, l.quantity, l.amount_total, l.price.unit_amount]),
        [['ticket', 2, 3000, 1500], ['ticket', 7, 7, 1]]);
    assert.equal(lines.data[0].price.id, price.id);
});

test('T3 sessions that make no sense are refused, and leave nothing behind', async (t) => {
    const { stripe } = await open(t);
    const wrong = 'StripeInvalidRequestError';
    const price = (more) => [{
        price_data: { currency: 'jpy', unit_amount: 500, product_data: { name: 'x' } }, quantity: 1, ...more,
    }];
    const off = await stripe.prices.create(
        { product_data: { name: 'off' }, unit_amount: 700, currency: 'jpy' });
    await stripe.prices.update(off.id, { active: false });
    const now = nowSeconds();
    for (const [more, like] of [
        [{ mode: undefined }, { param: 'mode' }],
        [{ mode: 'subscription' }, { param: 'mode' }],
        [{ success_url: undefined }, { param: 'success_url' }],
        [{ success_url: 'javascript:alert(1)' }, { param: 'success_url' }],
        [{ cancel_url: 'not an address' }, { param: 'cancel_url' }],
        [{ line_items: undefined }, { param: 'line_items' }],
        [{ line_items: price({ quantity: 0 }) }, { code: 'parameter_invalid_integer' }],
        [{ line_items: price({ quantity: undefined }) }, { code: 'parameter_missing' }],
        [{ line_items: price({ quantity: 999999 }) }, { code: 'amount_too_large' }],
        [{ line_items: [{ quantity: 1 }] }, { code: 'parameter_missing' }],
        [{ line_items: [{ price: 'price_none', quantity: 1 }] }, { code: 'resource_missing' }],
        [{ line_items: [{ price: off.id, quantity: 1 }] }, { param: 'line_items[price]' }],
        [{ line_items: [...price(), { price_data: { currency: 'usd', unit_amount: 5,
            product_data: { name: 'y' } }, quantity: 1 }] }, { param: 'line_items' }],
        [{ line_items: [{ price_data: { currency: 'jpy', unit_amount: 49, product_data: { name: 'x' } },
            quantity: 1 }] }, { code: 'amount_too_small' }],
        [{ expires_at: now + 1700 }, { param: 'expires_at' }],
        [{ expires_at: now + 86500 }, { param: 'expires_at' }],
        [{ payment_method_types: ['konbini'], line_items: [{ price_data: { currency: 'usd',
            unit_amount: 500, product_data: { name: 'x' } }, quantity: 1 }] },
        { param: 'payment_method_types' }],
        [{ customer: 'cus_1', customer_email: 'a@b.example' }, { code: 'parameters_exclusive' }],
    ]) await fails(stripe.checkout.sessions.create(order(more)), wrong, { statusCode: 400, ...like });
    await fails(stripe.checkout.sessions.retrieve('cs_test_none'), wrong,
        { statusCode: 404, code: 'resource_missing' });
    await fails(stripe.checkout.sessions.expire('cs_test_none'), wrong, { statusCode: 404 });
    assert.equal((await stripe.checkout.sessions.list()).data.length, 0);
    assert.equal((await stripe.products.list()).data.length, 1);
});

test('T3 the same key makes one session', async (t) => {
    const { stripe } = await open(t);
    const one = await stripe.checkout.sessions.create(order(), keyed('s-1'));
    const two = await stripe.checkout.sessions.create(order(), keyed('s-1'));
    assert.equal(two.id, one.id);
    assert.equal(two.lastResponse.headers['idempotent-replayed'], 'true');
    await fails(stripe.checkout.sessions.create(order({ client_reference_id: 'x' }), keyed('s-1')),
        'StripeIdempotencyError', { statusCode: 400 });
    assert.equal((await stripe.checkout.sessions.list()).data.length, 1);
});

test('T3 a declined card leaves the session open, and the next try uses the same intent', async (t) => {
    const { stripe, control } = await open(t);
    const news = ear(control);
    const session = await stripe.checkout.sessions.create(order());
    const declined = await control.pay(session.id, 'pm_card_chargeDeclinedInsufficientFunds');
    assert.equal(declined.status, 'open');
    assert.equal(declined.payment_status, 'unpaid');
    assert.match(declined.payment_intent, /^pi_3/);
    await heard(news, ['payment_intent.created', 'charge.failed', 'payment_intent.payment_failed']);
    const failed = await stripe.paymentIntents.retrieve(declined.payment_intent);
    assert.equal(failed.status, 'requires_payment_method');
    assert.equal(failed.last_payment_error.decline_code, 'insufficient_funds');
    const stuck = await fails(stripe.paymentIntents.cancel(failed.id), 'StripeInvalidRequestError',
        { statusCode: 400, code: 'payment_intent_unexpected_state' });
    assert.match(stuck.message, /Checkout Session/);
    const paid = await control.pay(session.id);
    assert.equal(paid.payment_intent, declined.payment_intent, 'the same intent');
    assert.equal(paid.payment_status, 'paid');
    await heard(news, ['charge.succeeded', 'payment_intent.succeeded', 'checkout.session.completed',
        'charge.updated']);
    assert.equal((await stripe.paymentIntents.list()).data.length, 1);
});

test('T3 a session is paid once, whoever tries again', async (t) => {
    const { stripe, port, control } = await open(t);
    const session = await stripe.checkout.sessions.create(order());
    const body = JSON.stringify({ paymentMethod: 'pm_card_visa' });
    const headers = { 'Content-Type': 'application/json' };
    const answers = await Promise.all(Array.from({ length: 8 }, () =>
        ask(port, 'POST', `/_sandbox/checkout/${session.id}/pay`, { body, headers })));
    assert.deepEqual(answers.map((a) => a.status).sort(), [200, ...Array(7).fill(422)]);
    assert.equal((await control.books()).totals.captured, 2400);
    await fails(stripe.checkout.sessions.expire(session.id), 'StripeInvalidRequestError', { statusCode: 400 });
    const post = (path, text) => ask(port, 'POST', `/_sandbox/checkout/${path}/pay`, { body: text, headers });
    const other = await stripe.checkout.sessions.create(order({ payment_method_types: ['card'] }));
    assert.equal((await post('cs_test_none', body)).status, 404);
    assert.equal((await post(other.id, '{"paymentMethod":"pm_nothing"}')).status, 400);
    assert.equal((await post(other.id, '{"paymentMethod":"konbini"}')).status, 400);
    assert.equal((await post(other.id, '{"paymentmethod":"pm_card_visa"}')).status, 400);
    assert.equal((await post(other.id, '{}')).status, 400);
    assert.equal((await post(other.id, '{')).status, 400);
    assert.equal((await stripe.checkout.sessions.retrieve(other.id)).payment_intent, null);
});

test('T3 a session is expired by call, and its intent with it', async (t) => {
    const { stripe, control, port } = await open(t);
    const news = ear(control);
    const fresh1 = await stripe.checkout.sessions.create(order());
    assert.equal((await stripe.checkout.sessions.expire(fresh1.id)).status, 'expired');
    await heard(news, ['checkout.session.expired']);
    const tried = await stripe.checkout.sessions.create(order());
    const { payment_intent: intent } = await control.pay(tried.id, 'pm_card_chargeDeclined');
    await news();
    const gone = await stripe.checkout.sessions.expire(tried.id, {}, keyed('x-1'));
    assert.equal(gone.status, 'expired');
    assert.equal(gone.url, null);
    assert.equal((await stripe.checkout.sessions.expire(tried.id, {}, keyed('x-1'))).status, 'expired');
    await heard(news, ['payment_intent.canceled', 'checkout.session.expired']);
    assert.equal((await stripe.paymentIntents.retrieve(intent)).status, 'canceled');
    const again = await fails(stripe.checkout.sessions.expire(tried.id), 'StripeInvalidRequestError',
        { statusCode: 400 });
    assert.match(again.message, /status in \["open"\]/);
    const late = await ask(port, 'POST', `/_sandbox/checkout/${tried.id}/pay`,
        { body: '{"paymentMethod":"pm_card_visa"}', headers: { 'Content-Type': 'application/json' } });
    assert.equal(late.status, 422);
});

test('T3 a session expires by itself when its time is over', async (t) => {
    const { stripe, control, server } = await open(t);
    const session = await stripe.checkout.sessions.create(order({ expires_at: nowSeconds() + 1860 }));
    await server.advance(1_800_000);
    assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'open');
    const longer = await stripe.checkout.sessions.create(order());
    const { payment_intent: intent } = await control.pay(longer.id, 'pm_card_chargeDeclined');
    await server.advance(61_000);
    await until('it expired', async () =>
        (await stripe.checkout.sessions.retrieve(session.id)).status === 'expired');
    assert.equal((await stripe.checkout.sessions.retrieve(longer.id)).status, 'open');
    await server.advance(86_400_000);
    await until('the other one expired', async () =>
        (await stripe.checkout.sessions.retrieve(longer.id)).status === 'expired');
    assert.equal((await stripe.paymentIntents.retrieve(intent)).status, 'canceled');
    assert.equal((await control.events('checkout.session.expired')).length, 2);
});

test('T3 sessions are listed newest first, by status, by intent and by time', async (t) => {
    const { stripe, control } = await open(t);
    const made = [];
    for (let i = 0; i < 12; i++) made.unshift((await stripe.checkout.sessions.create(order())).id);
    const walked = [];
    for await (const one of stripe.checkout.sessions.list({ limit: 5 })) walked.push(one.id);
    assert.deepEqual(walked, made);
    const paid = await control.pay(made[4]);
    await stripe.checkout.sessions.expire(made[7]);
    const ids = async (filter) => (await stripe.checkout.sessions.list(filter)).data.map((s) => s.id);
    assert.deepEqual(await ids({ payment_intent: paid.payment_intent }), [made[4]]);
    assert.deepEqual(await ids({ payment_intent: paid.payment_intent, status: 'open' }), []);
    assert.deepEqual(await ids({ payment_intent: 'pi_3none' }), []);
    assert.deepEqual(await ids({ status: 'complete' }), [made[4]]);
    assert.deepEqual(await ids({ status: 'expired' }), [made[7]]);
    assert.equal((await ids({ status: 'open', limit: 100 })).length, 10);
    assert.equal((await ids({ created: { gte: nowSeconds() - 60 }, limit: 100 })).length, 12);
    assert.deepEqual(await ids({ created: { gt: nowSeconds() + 60 } }), []);
    assert.deepEqual(await ids({ ending_before: made[3], limit: 2 }), [made[1], made[2]]);
    const whole = await stripe.checkout.sessions.retrieve(made[4],
        { expand: ['payment_intent.latest_charge', 'line_items'] });
    assert.equal(whole.payment_intent.latest_charge.paid, true);
    assert.equal(whole.line_items.data.length, 1);
});

test('G3 payment pages: the steps by which Stripe\'s command line completes a session', async (t) => {
    const { stripe, control, port } = await open(t);
    const headers = { Authorization: 'Bearer sk_test_1234567890', 'Content-Type': 'application/x-www-form-urlencoded' };
    const call = async (method, path, body = '') => {
        const answer = await ask(port, method, path, { body, headers });
        return { status: answer.status, json: JSON.parse(answer.text) };
    };
    const product = await call('POST', '/v1/products', 'name=myproduct&description=(created+by+Stripe+CLI)');
    const price = await call('POST', '/v1/prices', `product=${product.json.id}&unit_amount=1500&currency=usd`);
    const session = await call('POST', '/v1/checkout/sessions', 'mode=payment'
        + '&success_url=https%3A%2F%2Fhttpbin.org%2Fpost&cancel_url=https%3A%2F%2Fhttpbin.org%2Fpost'
        + `&line_items[0][price]=${price.json.id}&line_items[0][quantity]=2`
        + '&payment_intent_data[shipping][name]=Jenny+Rosen&payment_intent_data[shipping][address][line1]=510');
    assert.equal(session.json.amount_total, 3000);
    const page = await call('GET', `/v1/payment_pages/${session.json.id}`);
    const method = await call('POST', '/v1/payment_methods',
        'type=card&card[token]=tok_visa&billing_details[email]=stripe@example.com');
    const confirm = (more) => call('POST', `/v1/payment_pages/${page.json.id}/confirm`, more);
    assert.equal((await confirm(`payment_method=${method.json.id}&expected_amount=2999`)).status, 400);
    assert.equal((await confirm('payment_method=pm_none')).status, 400);
    const declined = await confirm('payment_method=pm_card_chargeDeclined&expected_amount=3000');
    assert.equal(declined.status, 402);
    assert.equal(declined.json.error.type, 'card_error');
    const done = await confirm(`payment_method=${method.json.id}&expected_amount=3000`);
    assert.equal(done.status, 200);
    assert.equal(done.json.status, 'complete');
    assert.equal(done.json.payment_intent, declined.json.error.payment_intent.id);
    const intent = await stripe.paymentIntents.retrieve(done.json.payment_intent);
    assert.equal(intent.shipping.name, 'Jenny Rosen');
    assert.equal((await control.events('checkout.session.completed')).length, 1);
    assert.equal((await confirm(`payment_method=${method.json.id}`)).status, 400, 'once');
});

test('T3 an order that is only held: complete, unpaid until it is captured', async (t) => {
    const { stripe, control } = await open(t);
    const session = await stripe.checkout.sessions.create(
        order({ payment_intent_data: { capture_method: 'manual' } }));
    assert.deepEqual(session.payment_method_types, ['card']);
    const held = await control.pay(session.id);
    assert.equal(held.status, 'complete');
    assert.equal(held.payment_status, 'unpaid');
    await stripe.paymentIntents.capture(held.payment_intent);
    assert.equal((await stripe.checkout.sessions.retrieve(session.id)).payment_status, 'paid');
    assert.equal((await control.events('checkout.session.async_payment_succeeded')).length, 0);
});

// --- the page ---

test('G3 the page: a person sees what it costs, in both languages, and pays', async (t) => {
    const { stripe, port } = await open(t);
    const session = await stripe.checkout.sessions.create(order({ customer_email: 'a"b@example.com' }));
    const { pathname } = new URL(session.url);
    const page = (language) => ask(port, 'GET', pathname, { headers: { 'Accept-Language': language } });
    const ja = await page('ja');
    assert.equal(ja.status, 200);
    assert.match(ja.headers['content-type'], /^text\/html; charset=utf-8$/);
    assert.match(ja.headers['content-security-policy'], /default-src 'none'/);
    const style = crypto.createHash('sha256').update(/<style>(.*)<\/style>/.exec(ja.text)[1]).digest('base64');
    assert.ok(ja.headers['content-security-policy'].includes(`style-src 'sha256-${style}'`), 'the browser would refuse the style');
    assert.match(ja.text, /<html lang="ja">/);
    assert.match(ja.text, /会費 &lt;2026&gt; × 2: ¥2,400/);
    assert.match(ja.text, /支払う/);
    assert.match(ja.text, /コンビニ払い/);
    assert.match(ja.text, /a&quot;b@example.com/);
    assert.ok(!/<script|style=| on\w+=/i.test(ja.text));
    const en = await page('en');
    assert.match(en.text, /<html lang="en">/);
    assert.match(en.text, />Pay</);
    assert.match(en.text, />Cancel</);

    const back = await form(port, pathname, { act: 'cancel', method: 'pm_card_visa' });
    assert.equal(back.status, 303);
    assert.equal(back.headers.location, 'https://shop.example/back');
    assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'open');

    const declined = await form(port, pathname, { act: 'pay', method: 'pm_card_chargeDeclined' });
    assert.equal(declined.status, 303);
    assert.equal(declined.headers.location, pathname);
    assert.match((await page('en')).text, /Your card was declined\./);

    const paid = await form(port, pathname,
        { act: 'pay', method: 'pm_card_visa', email: 'payer@example.com' });
    assert.equal(paid.status, 303);
    assert.equal(paid.headers.location, `https://shop.example/done?session=${session.id}`);
    const after = await stripe.checkout.sessions.retrieve(session.id);
    assert.equal(after.payment_status, 'paid');
    assert.equal(after.customer_details.email, 'payer@example.com');
    const done = await page('ja');
    assert.match(done.text, /完了/);
    assert.ok(!/<button/.test(done.text));
    assert.equal((await form(port, pathname, { act: 'pay', method: 'pm_card_visa' })).status, 422);
    assert.equal((await ask(port, 'GET', '/_sandbox/checkout/cs_test_none')).status, 404);
    assert.equal((await ask(port, 'POST', pathname, { body: '{}',
        headers: { 'Content-Type': 'application/json' } })).status, 415);
});

test('G3 the page with 3-D Secure: asked, refused, asked again, paid', async (t) => {
    const { stripe, port, control } = await open(t);
    const session = await stripe.checkout.sessions.create(order());
    const { pathname } = new URL(session.url);
    const attempt = async (result) => {
        const asked = await form(port, pathname, { act: 'pay', method: 'pm_card_threeDSecure2Required' });
        assert.equal(asked.status, 303);
        assert.match(asked.headers.location, /^\/_sandbox\/authenticate\/pi_3/);
        assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'open');
        const answered = await form(port, asked.headers.location, { result });
        const url = new URL(answered.headers.location);
        return ask(port, 'GET', url.pathname + url.search, { headers: { 'Accept-Language': 'en' } });
    };
    const failed = await attempt('fail');
    assert.equal(failed.status, 200);
    assert.match(failed.text, /failed authentication/);
    const paid = await attempt('success');
    assert.equal(paid.status, 303);
    assert.match(paid.headers.location, /^https:\/\/shop\.example\/done/);
    assert.equal((await stripe.checkout.sessions.retrieve(session.id)).payment_status, 'paid');
    assert.equal((await stripe.paymentIntents.list()).data.length, 1, 'one intent for all of it');
    assert.equal((await control.events('checkout.session.completed')).length, 1);
});

// --- konbini ---

test('T3 konbini: a slip with its numbers, paid in a store', async (t) => {
    const { stripe, control } = await open(t);
    const news = ear(control);
    const intent = await stripe.paymentIntents.create(slip({
        metadata: { payment_id: 'k-1' },
        payment_method_options: { konbini: {
            expires_after_days: 4, confirmation_number: '9012345678', product_description: '会費' } },
    }));
    assert.equal(intent.status, 'requires_action');
    assert.equal(intent.latest_charge, null);
    assert.deepEqual(intent.payment_method_types, ['konbini']);
    assert.equal(intent.next_action.type, 'konbini_display_details');
    const details = intent.next_action.konbini_display_details;
    const end = new Date((details.expires_at + 9 * 3600) * 1000).toISOString();
    const today = new Date(Date.now() + 9 * 3600_000);
    today.setUTCDate(today.getUTCDate() + 4);
    assert.equal(end, `${today.toISOString().slice(0, 10)}T23:59:59.000Z`, 'the end of the fourth day');
    assert.deepEqual(Object.keys(details.stores).sort(), ['familymart', 'lawson', 'ministop', 'seicomart']);
    assert.equal(details.stores.lawson.confirmation_number, '9012345678');
    assert.match(details.stores.familymart.payment_code, /^\d+$/);
    assert.deepEqual({ ...intent.payment_method_options.konbini }, {
        confirmation_number: '9012345678', expires_after_days: 4, expires_at: null,
        product_description: '会費', setup_future_usage: 'none' });
    await heard(news, ['payment_intent.created', 'payment_intent.requires_action']);
    const done = await control.konbini(intent.id, 'pay', { store: 'lawson' });
    assert.equal(done.status, 'succeeded');
    assert.equal(done.next_action, null);
    await heard(news, ['charge.succeeded', 'payment_intent.succeeded', 'charge.updated']);
    const charge = await stripe.charges.retrieve(done.latest_charge);
    assert.equal(charge.payment_method_details.type, 'konbini');
    assert.equal(charge.payment_method_details.konbini.store.chain, 'lawson');
    assert.equal(charge.billing_details.email, 'taro@example.com');
    assert.equal(charge.captured, true);
    assert.equal((await stripe.paymentMethods.retrieve(charge.payment_method)).type, 'konbini');
    assert.equal((await control.books('k-1')).totals.captured, 3000);
    const [told] = await control.events('payment_intent.succeeded');
    assert.equal(told.data.object.payment_method_options.konbini.confirmation_number, '9012345678');
});

test('T3 konbini: a slip lapses by call and by time, and a card may pay after it', async (t) => {
    const { stripe, control, server } = await open(t);
    const news = ear(control);
    const both = { payment_method_types: ['card', 'konbini'] };
    const one = await stripe.paymentIntents.create(slip(both));
    await news();
    const lapsed = await control.konbini(one.id, 'expire');
    assert.equal(lapsed.status, 'requires_payment_method');
    assert.equal(lapsed.payment_method, null);
    assert.equal(lapsed.last_payment_error.code, 'payment_intent_payment_attempt_expired');
    assert.equal(lapsed.last_payment_error.payment_method.type, 'konbini');
    await heard(news, ['payment_intent.payment_failed']);
    assert.equal((await stripe.paymentIntents.confirm(one.id, { payment_method: 'pm_card_visa' })).status,
        'succeeded');

    const two = await stripe.paymentIntents.create(slip(both));
    const { expires_at: end } = two.next_action.konbini_display_details;
    await server.advance((end - nowSeconds() - 60) * 1000);
    assert.equal((await stripe.paymentIntents.retrieve(two.id)).status, 'requires_action');
    await server.advance(61_000);
    await until('it lapsed', async () =>
        (await stripe.paymentIntents.retrieve(two.id)).status === 'requires_payment_method');
    const again = await stripe.paymentIntents.confirm(two.id, {
        payment_method_data: { type: 'konbini', billing_details: { email: 'b@example.com' } } });
    assert.equal(again.status, 'requires_action', 'a new slip');
    assert.ok(again.next_action.konbini_display_details.expires_at > end);
    assert.equal((await stripe.paymentIntents.cancel(two.id, { cancellation_reason: 'abandoned' })).status,
        'canceled');
});

test('T3 konbini: what it needs, and Stripe\'s signs for a certain end', async (t) => {
    const { stripe, control, port } = await open(t);
    const wrong = 'StripeInvalidRequestError';
    const options = (konbini) => ({ payment_method_options: { konbini } });
    await fails(stripe.paymentIntents.create(slip({ currency: 'usd' })), wrong, { statusCode: 400 });
    await fails(stripe.paymentIntents.create(slip({ capture_method: 'manual' })), wrong,
        { param: 'capture_method' });
    await fails(stripe.paymentIntents.create(slip({ payment_method_types: ['card'] })), wrong,
        { code: 'payment_intent_incompatible_payment_method' });
    await fails(stripe.paymentIntents.create(slip({ payment_method_data: undefined,
        payment_method: 'pm_card_visa' })), wrong, { code: 'payment_intent_incompatible_payment_method' });
    await fails(stripe.paymentIntents.create(slip({ payment_method_data: {
        type: 'konbini', billing_details: { name: 'x' } } })), wrong, { code: 'parameter_missing' });
    for (const bad of [{ expires_after_days: 0 }, { expires_after_days: 61 }, { confirmation_number: '123' },
        { confirmation_number: '00000000000' }, { confirmation_number: '12345abcde' },
        { expires_at: nowSeconds() - 5 }, { expires_after_days: 3, expires_at: nowSeconds() + 5000 },
        { product_description: 'x'.repeat(23) }])
        await fails(stripe.paymentIntents.create(slip(options(bad))), wrong, { statusCode: 400 });
    await fails(stripe.paymentIntents.create(slip(options({ confirmation_number: '01234567890' }))), wrong,
        { code: 'payment_intent_konbini_rejected_confirmation_number' });
    assert.equal((await stripe.paymentIntents.list()).data.length, 0, 'nothing of it stays');

    const by = (email) => slip({ payment_method_data: { type: 'konbini', billing_details: { email } } });
    const settles = async (intent, status) => until(`it becomes ${status}`, async () =>
        (await stripe.paymentIntents.retrieve(intent.id)).status === status);
    await settles(await stripe.paymentIntents.create(by('succeed_immediately@example.com')), 'succeeded');
    await settles(await stripe.paymentIntents.create(by('expire_immediately@example.com')),
        'requires_payment_method');
    await settles(await stripe.paymentIntents.create(
        slip(options({ confirmation_number: '22222222220' }))), 'succeeded');
    await settles(await stripe.paymentIntents.create(
        slip(options({ confirmation_number: '33333333330' }))), 'requires_payment_method');

    const json = { headers: { 'Content-Type': 'application/json' } };
    const post = (id, act, body = '') => ask(port, 'POST', `/_sandbox/konbini/${id}/${act}`, { body, ...json });
    const waiting = await stripe.paymentIntents.create(slip({ payment_method_data: { type: 'konbini' } }));
    assert.equal((await post(waiting.id, 'pay', '{"store":"corner"}')).status, 400);
    assert.equal((await post(waiting.id, 'pay', '{"shop":"lawson"}')).status, 400);
    assert.equal((await post('pi_3none', 'pay')).status, 404);
    assert.equal((await post(waiting.id, 'pay')).status, 200);
    assert.equal((await post(waiting.id, 'pay')).status, 422);
    assert.equal((await post(waiting.id, 'expire')).status, 422);
    assert.equal((await ask(port, 'POST', `/_sandbox/authenticate/${waiting.id}`,
        { body: '{"result":"success"}', ...json })).status, 422);
    assert.equal((await control.books()).totals.captured, 9000);
});

test('G3 konbini: the slip is a page with two buttons', async (t) => {
    const { stripe, port } = await open(t);
    const intent = await stripe.paymentIntents.create(slip({ description: '<b>' }));
    const { pathname } = new URL(intent.next_action.konbini_display_details.hosted_voucher_url);
    const page = await ask(port, 'GET', pathname, { headers: { 'Accept-Language': 'ja' } });
    assert.equal(page.status, 200);
    assert.match(page.text, /コンビニ払い/);
    assert.match(page.text, /¥3,000/);
    assert.match(page.text, /&lt;b&gt;/);
    assert.match(page.text, /23:59 JST/);
    assert.equal(page.text.match(/<button/g).length, 2);
    const paid = await form(port, `${pathname}/pay`, {});
    assert.equal(paid.status, 303);
    assert.equal(paid.headers.location, pathname);
    assert.ok(!/<button/.test((await ask(port, 'GET', pathname)).text));
    assert.equal((await stripe.paymentIntents.retrieve(intent.id)).status, 'succeeded');
    assert.equal((await ask(port, 'GET', '/_sandbox/konbini/pi_3none')).status, 404);
});

test('T3 a session by konbini: complete but unpaid, then paid, or failed', async (t) => {
    const { stripe, control } = await open(t);
    const news = ear(control);
    const one = await stripe.checkout.sessions.create(order());
    const open1 = await control.pay(one.id, 'konbini', { email: 'c@example.com' });
    assert.equal(open1.status, 'complete');
    assert.equal(open1.payment_status, 'unpaid');
    await heard(news,
        ['payment_intent.created', 'payment_intent.requires_action', 'checkout.session.completed']);
    await control.konbini(open1.payment_intent, 'pay');
    await heard(news, ['charge.succeeded', 'payment_intent.succeeded',
        'checkout.session.async_payment_succeeded', 'charge.updated']);
    const after = await stripe.checkout.sessions.retrieve(one.id);
    assert.equal(after.payment_status, 'paid');
    assert.equal(after.customer_details.email, 'c@example.com');

    const two = await stripe.checkout.sessions.create(order());
    const open2 = await control.pay(two.id, 'konbini');
    await news();
    await control.konbini(open2.payment_intent, 'expire');
    await heard(news, ['payment_intent.payment_failed', 'checkout.session.async_payment_failed']);
    const failed = await stripe.checkout.sessions.retrieve(two.id);
    assert.equal(failed.status, 'complete');
    assert.equal(failed.payment_status, 'unpaid');
    await fails(stripe.checkout.sessions.expire(two.id), 'StripeInvalidRequestError', { statusCode: 400 });
    const stuck = await fails(stripe.paymentIntents.cancel(open2.payment_intent), 'StripeInvalidRequestError',
        { statusCode: 400, code: 'payment_intent_unexpected_state' });
    assert.match(stuck.message, /Checkout Session/, 'complete or not: only a hold may be let go');
});

// --- automatic capture, again ---

test('T3 automatic capture: captured at once; after a decline the same intent succeeds', async (t) => {
    const { stripe, control } = await open(t);
    for (const capture_method of ['automatic', 'automatic_async']) {
        const error = await fails(stripe.paymentIntents.create({
            amount: 900, currency: 'jpy', confirm: true, capture_method,
            payment_method: 'pm_card_chargeDeclined', metadata: { payment_id: capture_method },
        }), 'StripeCardError');
        const { id } = error.payment_intent;
        const done = await stripe.paymentIntents.confirm(id,
            { payment_method: 'pm_card_visa', expand: ['latest_charge'] });
        assert.equal(done.id, id);
        assert.equal(done.status, 'succeeded');
        assert.equal(done.amount_received, 900);
        assert.equal(done.latest_charge.captured, true);
        assert.notEqual(done.latest_charge.id, error.charge);
        const books = await control.books(capture_method);
        assert.deepEqual([books.totals.captured, books.totals.charges], [900, 1]);
        await until('the balance transaction is there', async () =>
            (await stripe.charges.retrieve(done.latest_charge.id)).balance_transaction);
    }
    assert.equal((await control.events('charge.updated')).length, 2);
});

// --- disputes ---

test('T3 a dispute is opened, read, listed and closed', async (t) => {
    const { stripe, control, port } = await open(t);
    const news = ear(control);
    const paid = await stripe.paymentIntents.create(
        { amount: 900, currency: 'jpy', confirm: true, payment_method: 'pm_card_visa' });
    await until('it is balanced', async () => (await control.events('charge.updated')).length);
    await news();
    const dispute = await control.dispute({ payment_intent: paid.id });
    assert.match(dispute.id, /^dp_/);
    assert.equal(dispute.status, 'needs_response');
    assert.equal(dispute.charge, paid.latest_charge);
    assert.equal(dispute.amount, 900);
    await heard(news, ['charge.dispute.created']);
    const read = await stripe.disputes.retrieve(dispute.id, { expand: ['charge'] });
    assert.equal(read.charge.disputed, true);
    assert.equal(read.charge.dispute, dispute.id);
    assert.deepEqual((await stripe.disputes.list({ payment_intent: paid.id })).data.map((d) => d.id),
        [dispute.id]);
    assert.deepEqual((await stripe.disputes.list({ payment_intent: 'pi_3none' })).data, []);
    await fails(stripe.refunds.create({ payment_intent: paid.id }), 'StripeInvalidRequestError',
        { code: 'charge_disputed' });
    const closed = await control.closeDispute(dispute.id, 'won');
    assert.equal(closed.status, 'won');
    await heard(news, ['charge.dispute.closed']);
    const [told] = await control.events('charge.dispute.closed');
    assert.equal(told.data.previous_attributes.status, 'needs_response');
    assert.equal((await stripe.refunds.create({ payment_intent: paid.id })).status, 'succeeded');

    const json = { headers: { 'Content-Type': 'application/json' } };
    const post = (path, body) => ask(port, 'POST', `/_sandbox/disputes${path}`, { body: JSON.stringify(body), ...json });
    assert.equal((await post(`/${dispute.id}/close`, { status: 'lost' })).status, 422);
    assert.equal((await post('', {})).status, 400);
    assert.equal((await post('', { charge: 'ch_none' })).status, 404);
    assert.equal((await post('', { charge: paid.latest_charge, status: 'won' })).status, 400);
    assert.equal((await post('/dp_none/close', { status: 'won' })).status, 404);
    const two = await control.dispute({ charge: paid.latest_charge, status: 'under_review' });
    assert.equal((await post(`/${two.id}/close`, { status: 'maybe' })).status, 400);
    assert.equal((await control.closeDispute(two.id, 'lost')).status, 'lost');
});

test('T3 cards that dispute by themselves, and a dispute that the merchant gives up', async (t) => {
    const { stripe, control } = await open(t);
    const rows = [['pm_card_createDispute', 'needs_response', 'lost'],
        ['pm_card_createDisputeProductNotReceived', 'needs_response', 'lost'],
        ['pm_card_createDisputeInquiry', 'warning_needs_response', 'warning_closed']];
    for (const [payment_method, open1, closed] of rows) {
        const paid = await stripe.paymentIntents.create(
            { amount: 900, currency: 'jpy', confirm: true, payment_method });
        const [dispute] = (await stripe.disputes.list({ payment_intent: paid.id })).data;
        assert.equal(dispute.status, open1);
        assert.equal((await stripe.disputes.update(dispute.id, { metadata: { foo: 'bar' } })).metadata.foo, 'bar');
        assert.equal((await stripe.disputes.close(dispute.id)).status, closed);
        await fails(stripe.disputes.close(dispute.id), 'StripeInvalidRequestError', { statusCode: 400 });
    }
    for (const type of ['created', 'updated', 'closed'])
        assert.equal((await control.events(`charge.dispute.${type}`)).length, 3, type);
});

// --- how it is told ---

test('G3 a session\'s events reach the receiver signed, and one of them again on demand', async (t) => {
    const box = await open(t);
    const hooks = await receiver(t, box);
    const session = await box.stripe.checkout.sessions.create(order());
    await box.control.pay(session.id);
    await hooks.count(4);
    assert.deepEqual(hooks.types().sort(), ['charge.succeeded', 'charge.updated', 'checkout.session.completed',
        'payment_intent.succeeded']);
    for (const { body, headers } of hooks.got)
        box.stripe.webhooks.constructEvent(body, headers['stripe-signature'], SECRET);
    const { event, body } = hooks.got.find((one) => one.event.type === 'checkout.session.completed');
    assert.equal(event.request, null, 'the customer did it');
    await box.control.resend(event.id);
    await hooks.count(5);
    assert.equal(hooks.got[4].body, body);
    assert.equal((await ask(box.port, 'POST', '/_sandbox/events/evt_none/resend')).status, 404);
});

test('G3 killed and started again: the session, its slip and their times are still there', async (t) => {
    const db = await fresh(t, stores[0]);
    const first = await meet(await launch(t, db).listening());
    const card = await first.stripe.checkout.sessions.create(order());
    const store = await first.stripe.checkout.sessions.create(order());
    const { payment_intent: intent } = await first.control.pay(store.id, 'konbini');
    await first.server.kill();
    const second = await open(t, { db });
    const { payment_status: status } = await second.control.pay(card.id);
    assert.equal(status, 'paid');
    await second.server.advance(5 * 86_400_000);
    await until('the slip lapsed', async () =>
        (await second.stripe.paymentIntents.retrieve(intent)).status === 'requires_payment_method');
    assert.equal((await second.control.events('checkout.session.async_payment_failed')).length, 1);
});
