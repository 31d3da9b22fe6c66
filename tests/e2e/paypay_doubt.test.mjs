// PayPay where its money and our books could part (G2, D2, D6, D9, P7): cancels beside payments, answers
// to a second try, looks that lag, refunds and authorizations that nobody tells of.
import { assert, forEachStore, start, until, uuid } from './lib/harness.mjs';
import { code, open, PayPay, refused, scripted, success } from './lib/paypay.mjs';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const yen = (amount) => ({ amount, currency: 'JPY' });
const noOperation = (server) => until('no operation is left', async () => {
    await server.advance(5000);
    return await server.db.count('message', `kind = 'op'`) === 0;
}, 60_000);

// The payment of a customer's authorization, as a scripted PayPay has it: peer.state and peer.posts are the
// test's to change and to count. over(ask, body): the test's own answer; undefined: as always.
async function holding(t, store, over = () => undefined) {
    const { server, peer } = await scripted(t, store);
    Object.assign(peer, { state: 'AUTHORIZED', posts: { pay: 0, capture: 0, refund: 0 } });
    const what = (url) => (url.includes('capture') ? 'capture' : url.includes('refund') ? 'refund' : 'pay');
    peer.payment = (changes = {}) => success({
        paymentId: '0451', status: peer.state, acceptedAt: server.nowSeconds(), merchantPaymentId: peer.id, amount: yen(1200),
        ...(peer.capture && { captures: { data: [peer.capture] } }), ...(peer.refunds && { refunds: { data: peer.refunds } }), ...changes,
    });
    peer.answer = (ask, body) => {
        if (ask.method === 'POST') peer.posts[what(ask.url)]++;
        if (ask.method === 'POST' && what(ask.url) === 'pay') peer.id = body.merchantPaymentId;
        const own = over(ask, body, peer);
        if (own) return own;
        if (ask.method === 'POST' && what(ask.url) === 'capture') {
            peer.state = 'COMPLETED';
            peer.capture = { acceptedAt: 1, merchantCaptureId: body.merchantCaptureId, amount: body.amount, status: 'COMPLETED' };
        }
        if (ask.url.startsWith('/v2/codes')) return refused(400, 'DYNAMIC_QR_PAYMENT_NOT_FOUND');
        return peer.id ? peer.payment() : refused(404, 'RESOURCE_NOT_FOUND');
    };
    return { server, peer, paypay: new PayPay(server) };
}
const BY_USER = { paymentMethodType: 'paypay', paymentMethod: 'ua-1' };

forEachStore((store, test) => {
    test('D2 G2 taken for abandoned, then authorized and captured: our own cancel takes nothing back', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const payment = await paypay.pending();
        await paypay.faults({ fault: 'rate_limit', times: 100_000 });
        await paypay.pays(payment);
        const cancels = async () => (await server.db.table('operations')).find((one) => one.kind === 'void');
        let asks = 0;
        await until('our cancel was tried, and the next try is a minute away', async () => {
            await server.advance(10_000);
            const now = Number((await cancels())?.asks ?? 0);
            const more = now > asks;
            asks = now;
            return more && now >= 5;
        }, 90_000);
        await paypay.faults();
        const told = await paypay.notify({
            notification_type: 'Transaction', merchant_id: 'm', order_id: '1', merchant_order_id: payment.gatewayTransactionId,
            state: 'AUTHORIZED', authorized_at: 'x', order_amount: 1,
        });
        assert.equal(told.status, 200);
        const held = await paypay.is(payment, 'AUTHORIZED');
        assert.equal((await server.capture(held)).body.status, 'CAPTURED');
        await noOperation(server);
        const [books] = await paypay.books();
        assert.deepEqual([books.status, books.captured, books.refunded], ['COMPLETED', 1200, 0]);
        assert.equal((await server.payment(payment)).body.status, 'CAPTURED');
        assert.equal((await cancels()).phase, 'done');
    });

    test('D2 G2 money that was taken is never cancelled: wanted it is kept, unwanted it goes back by a refund', async (t) => {
        const { server, peer } = await scripted(t, store);
        const [asked, refunds] = [[], new Map()];
        let paid = false;
        const refundOf = (body) => ({ status: 'CREATED', acceptedAt: 1, merchantRefundId: body.merchantRefundId, paymentId: body.paymentId, amount: body.amount });
        peer.answer = (ask, body) => {
            asked.push(`${ask.method} ${ask.url.split('/')[2]}`);
            if (ask.method === 'POST' && ask.url === '/v2/codes') return code(server, body);
            if (ask.method === 'POST') {
                refunds.set(body.merchantRefundId, refundOf(body));
                return success(refunds.get(body.merchantRefundId), 201);
            }
            if (ask.method === 'DELETE') return refused(400, 'DYNAMIC_QR_ALREADY_PAID');
            if (!paid) return ask.url.includes('codes') ? refused(400, 'DYNAMIC_QR_PAYMENT_NOT_FOUND') : refused(404, 'RESOURCE_NOT_FOUND');
            const id = ask.url.split('/').pop();
            return success({ paymentId: `04${id}`, status: 'COMPLETED', acceptedAt: server.nowSeconds(), merchantPaymentId: id, amount: yen(1200) });
        };
        const [wanted, unwanted] = [await server.paid({ paymentMethodType: 'paypay' }), await server.paid({ paymentMethodType: 'paypay' })];
        paid = true;
        const late = await server.void(wanted);
        assert.equal(late.status, 422, late.text);
        assert.equal((await server.payment(wanted)).body.status, 'CAPTURED');
        const { id, ...terms } = unwanted.booking;
        await server.booking({ id, ...terms, status: 'CANCELLED' });
        await until('the money goes back', async () => {
            await server.advance(1000);
            return refunds.size === 1;
        });
        await noOperation(server);
        assert.deepEqual([...refunds.values()].map((one) => [one.paymentId, one.amount.amount]), [[`04${unwanted.gatewayTransactionId}`, 1200]]);
        assert.equal(asked.includes('DELETE payments'), false, 'nothing that is paid was cancelled');
        assert.equal((await server.payment(unwanted)).body.status, 'FAILED');
        assert.equal((await server.payment(wanted)).body.refundedAmount, null);
    });

    test('D6 a decline of a second try does not speak for the first: it is asked for', async (t) => {
        let landed = false;
        const { server, peer, paypay } = await holding(t, store, (ask, body, it) => {
            if (ask.method === 'POST') return it.posts.pay === 1 ? refused(500, 'INTERNAL_SERVER_ERROR') : refused(400, 'SUSPECTED_DUPLICATE_PAYMENT');
            return landed || ask.url.startsWith('/v2/codes') ? undefined : refused(404, 'RESOURCE_NOT_FOUND');
        });
        const [booking, key] = [await server.booking(), uuid()];
        const first = await server.pay(booking, { ...BY_USER, key });
        assert.equal(first.status, 502, first.text);
        const second = await server.pay(booking, { ...BY_USER, key });
        assert.equal(second.status, 502, second.text);
        assert.equal(peer.posts.pay, 2);
        landed = true;
        const held = await paypay.is({ id: first.body.paymentId }, 'AUTHORIZED', 1000);
        assert.equal((await server.pay(booking, { ...BY_USER, key })).body.id, held.id);
        assert.equal(peer.posts.pay, 2);
    });

    test('D6 a decline of a second try, and nothing is there: FAILED a quarter of an hour later', async (t) => {
        const { server, peer, paypay } = await holding(t, store, (ask, body, it) => {
            if (ask.method === 'POST') return it.posts.pay === 1 ? refused(500, 'INTERNAL_SERVER_ERROR') : refused(400, 'NO_SUFFICIENT_FUND');
            return ask.url.startsWith('/v2/codes') ? undefined : refused(404, 'RESOURCE_NOT_FOUND');
        });
        const [booking, key] = [await server.booking(), uuid()];
        const first = await server.pay(booking, { ...BY_USER, key });
        assert.equal((await server.pay(booking, { ...BY_USER, key })).status, 502);
        await paypay.is({ id: first.body.paymentId }, 'FAILED', MINUTE);
        assert.equal(peer.posts.pay, 2);
    });

    test('P7 captured already, and the look lags behind that: unknown, and then CAPTURED', async (t) => {
        const { server, peer, paypay } = await holding(t, store, (ask, body, it) => {
            if (ask.method !== 'POST' || !ask.url.includes('capture')) return undefined;
            it.late ??= { acceptedAt: 1, merchantCaptureId: body.merchantCaptureId, amount: body.amount, status: 'COMPLETED' };
            return it.posts.capture === 1 ? refused(500, 'INTERNAL_SERVER_ERROR') : refused(400, 'ALREADY_CAPTURED');
        });
        const held = await server.paid(BY_USER);
        const key = uuid();
        for (let i = 0; i < 2; i++) {
            const lost = await server.capture(held, undefined, { key });
            assert.ok([502, 504].includes(lost.status), lost.text);
        }
        peer.capture = peer.late;
        peer.state = 'COMPLETED';
        await paypay.is(held, 'CAPTURED', 1000);
        const again = await server.capture(held, undefined, { key });
        assert.deepEqual([again.status, again.body.capturedAmount], [200, 1200]);
    });

    test('P7 a refund that PayPay could not make yet: asked for until it is made, sent once', async (t) => {
        let status = 'REFUND_FAILED';
        let asked = 0;
        const { server, peer, paypay } = await holding(t, store, (ask, body, it) => {
            if (!ask.url.startsWith('/v2/refunds')) return undefined;
            asked += ask.method === 'GET';
            if (body.merchantRefundId) it.refunds = [{ status, acceptedAt: 1, merchantRefundId: body.merchantRefundId, paymentId: '0451', amount: body.amount }];
            return success({ ...it.refunds[0], status });
        });
        const held = await server.paid(BY_USER);
        assert.equal((await server.capture(held)).status, 200);
        const key = uuid();
        const first = await server.refund(held, 1200, { key });
        assert.equal(first.status, 502, first.text);
        assert.equal((await server.payment(held)).body.refunds[0].status, 'pending');
        await server.refund(held, 1200, { key });
        await until('it was asked for again and again', async () => {
            await server.advance(MINUTE);
            return asked > 4;
        }, 60_000);
        assert.equal((await server.payment(held)).body.status, 'CAPTURED');
        status = 'REFUNDED';
        await paypay.is(held, 'REFUNDED', 5 * MINUTE);
        const again = await server.refund(held, 1200, { key });
        assert.deepEqual([again.status, again.body.refundedAmount], [200, 1200], again.text);
        assert.equal(peer.posts.refund, 1);
    });

    test('W8 cancelled at PayPay after it was captured: a dead letter for a person, nothing moves', async (t) => {
        const { server, peer, paypay } = await holding(t, store);
        const held = await server.paid(BY_USER);
        assert.equal((await server.capture(held)).status, 200);
        peer.state = 'CANCELED';
        const told = await paypay.notify({
            notification_type: 'Transaction', merchant_id: 'm', order_id: '0451', merchant_order_id: peer.id, state: 'CANCELED', order_amount: 1200,
        });
        const { outcome, detail } = await server.settled(told.headers['x-event-id']);
        assert.equal(outcome, 'dead');
        assert.match(detail, /cancelled .* captured .* a person must look/);
        await server.line('a person is told', ({ level, error }) => level === 'error' && /a person must look/.test(error ?? ''));
        assert.equal((await server.payment(held)).body.status, 'CAPTURED');
    });

    test('D9 an authorization that lapses, and nobody tells: looked at, REFUNDED, and its place is free', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const held = await server.paid({ paymentMethodType: 'paypay', paymentMethod: `ua-${uuid()}` });
        assert.equal(held.status, 'AUTHORIZED');
        await server.advance(29 * DAY + 12 * 60 * MINUTE);
        await until('its end is near', async () => await server.db.count('message', `kind = 'payment.lapsed'`) === 1);
        await paypay.faults({ fault: 'maintenance', times: 100_000 });
        await server.advance(DAY);
        await until('a look was in vain', async () => {
            await server.advance(MINUTE);
            return (await server.db.messages()).some((one) => one.kind === 'payment.lapsed' && Number(one.attempt) > 1);
        }, 60_000);
        assert.equal((await server.payment(held)).body.status, 'AUTHORIZED');
        await paypay.faults();
        const over = await paypay.is(held, 'REFUNDED', 5 * MINUTE);
        assert.deepEqual([over.capturedAmount, over.failureReason], [null, 'authorization_expired']);
        assert.equal((await server.pay(held.booking, { paymentMethodType: 'paypay' })).status, 201);
        await until('no look is left', async () => await server.db.count('message', `kind = 'payment.lapsed'`) === 0);
    });

    test('D9 the same at Stripe, whose webhook is lost; and what was captured is left alone', async (t) => {
        const server = await start(t, store);
        const [held, taken] = [await server.paid(), await server.paid()];
        assert.equal((await server.capture(taken)).status, 200);
        await server.webhooks({ on: false });
        await server.advance(8 * DAY);
        const over = await new PayPay(server).is(held, 'REFUNDED', 10 * MINUTE);
        assert.equal(over.failureReason, 'authorization_expired');
        assert.equal((await server.payment(taken)).body.status, 'CAPTURED');
    });
});
