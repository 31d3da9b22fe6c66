// Purchases: a position is reserved, paid, let go, given back, and all that is counted follows it
// (C1 to C5, D1 D11 D14 D15 D19 D22, E2 E4 E5 E8 E10, I2 P5 A2). recount() comes after every scenario.
import { asHex, assert, forEachStore, start, token, until, uuid } from './lib/harness.mjs';
import { description } from './lib/openapi.mjs';
import {
    ASKS, bought, buy, campaign, cancel, confirm, DECLINED, POOR, purchaseNow, quiet, recount, REFUND_FAILS, rows,
    sdk, told, types, VISA,
} from './lib/purchases.mjs';

const HOUR = 3600_000;
const DAY = 24 * HOUR;
const RESERVATION = 15 * 60_000; // ICHIDO_RESERVATION_MS

const CREATE = { path: '/v1/payment_intents', method: 'POST' };
const CANCEL_FAILS = { path: '/v1/payment_intents/*/cancel', statusBefore: 500, times: 1000 };

function refused(answer, status, code) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.body.code, code, answer.text);
    return answer.body;
}

const becomes = (server, purchase, status) => until(`the purchase is ${status}`, async () =>
    (await purchaseNow(server, purchase)).purchase.status === status);

// Lets everything come to rest, then counts.
async function settle(server) {
    await quiet(server);
    return recount(server);
}

// The same event once more under another id, as a provider that lost track would send it.
async function again(server, type, payment) {
    const { data } = await server.sandbox('GET', `/events?type=${type}`);
    const event = data.find((one) => one.data.object.id === payment.gatewayTransactionId);
    const copy = { ...event, id: `evt_again${uuid().replaceAll('-', '')}` };
    assert.ok((await server.deliver(copy)).status < 300);
    return server.settled(copy.id);
}

forEachStore((store, test) => {
    test('C1 one call reserves a position, pays it by the price of its layer, and says both', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server, { layers: [{ name: 'S', price: 5000, positions: 1 }, { name: 'A', price: 2000, positions: 2 }] });
        const user = uuid();
        const key = uuid();
        const { status, body, headers } = await buy(server, c.positions[1], { as: user, key, method: VISA });
        assert.equal(status, 201);
        const { purchase, payment } = body;
        assert.equal(headers.location, `/api/v1/purchases/${purchase.id}`);
        assert.deepEqual([purchase.amount, purchase.currency, purchase.status, purchase.paymentMethodType],
            [2000, 'JPY', 'completed', 'card']);
        assert.deepEqual([purchase.userId, purchase.positionId, purchase.campaignId, purchase.paymentId],
            [user, c.positions[1], c.id, payment.id]);
        assert.deepEqual([payment.status, payment.capturedAmount, payment.purchaseId, payment.idempotencyKey],
            ['CAPTURED', 2000, purchase.id, key]);
        assert.equal(payment.bookingId, undefined);
        const intent = await server.intentOf(payment);
        assert.deepEqual({ ...intent.metadata, context: undefined, subject_id: undefined }, {
            context: undefined, subject_id: undefined, user_id: user, campaign_id: c.id, position_id: c.positions[1], purchase_id: purchase.id, payment_id: payment.id,
        });
        assert.deepEqual([intent.status, intent.amount_received, intent.capture_method.startsWith('automatic')],
            ['succeeded', 2000, true]);
        assert.deepEqual((await server.call('GET', headers.location, { as: user })).body, body);
        assert.deepEqual((await server.call('GET', `/payments/${payment.id}`, { as: user })).body, payment);
        await settle(server);
    });

    test('C3 success, column by column', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: VISA });
        const all = await settle(server);
        const p = await rows.purchase(server, purchase.id);
        assert.deepEqual([p.status, p.revenue, p.completed_at > 0, p.failed_at, p.cancelled_at, p.refunded_at],
            ['completed', 2000, true, null, null, null]);
        const position = await rows.position(server, c.positions[0]);
        assert.deepEqual([position.status, position.user_id, position.purchase_id, position.sold_at > 0, position.reserved_at > 0],
            ['sold', asHex(purchase.userId), asHex(purchase.id), true, true]);
        const row = await rows.campaign(server, c.id);
        assert.deepEqual([row.positions_sold, row.positions_paid, row.total_revenue, row.status, row.sold_out_at],
            [1, 1, 2000, 'active', null]);
        assert.equal((await rows.layer(server, purchase.layerId)).positions_sold, 1);
        const [user] = all.users;
        assert.deepEqual([user.user_id, user.currency, user.purchases, user.total_spent],
            [asHex(purchase.userId), 'JPY', 1, 2000]);
        const transaction = await rows.transaction(server, payment.id);
        assert.equal(transaction.status, 'succeeded');
        assert.ok(transaction.succeeded_at && transaction.webhook_received_at && transaction.webhook_event_id);
        assert.match(transaction.stripe_charge_id, /^ch_/);
        const [notice, ...more] = (await told(server, purchase.userId)).filter((one) => one.type !== 'receipt');
        assert.deepEqual(notice, {
            type: 'purchase_confirmed', title: '購入が完了しました', body: 'ポジションの購入が確定しました。',
            data: { purchaseId: purchase.id, campaignId: c.id },
        });
        assert.deepEqual(more, []);
    });

    test('C3 the last position makes the campaign sold out, and it is drawn once', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server, { layers: [{ name: 'A', price: 500, positions: 2 }] });
        await bought(server, c.positions[0], { method: VISA });
        assert.equal((await rows.campaign(server, c.id)).status, 'active');
        await bought(server, c.positions[1], { method: VISA });
        await until('it is drawn', async () => (await rows.campaign(server, c.id)).status === 'drawn');
        await settle(server);
        const row = await rows.campaign(server, c.id);
        assert.ok(row.sold_out_at && row.drawn_at);
        assert.equal(await server.db.count('draws'), 1);
        assert.match(refused(await buy(server, c.positions[0]), 422, 'UNPROCESSABLE').detail, /over|sold out/);
    });

    test('D14 an unpaid slip is no sale: not sold out while it is only reserved', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server, { layers: [{ name: 'A', price: 500, positions: 2 }] });
        await bought(server, c.positions[0], { method: VISA });
        await bought(server, c.positions[1], { method: ASKS });
        await settle(server);
        const row = await rows.campaign(server, c.id);
        assert.deepEqual([row.positions_sold, row.positions_paid, row.status], [2, 1, 'active']);
    });

    test('C4 failure, column by column; the customer can try again on the same intent', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { status, body } = await buy(server, c.positions[0], { method: POOR });
        assert.equal(status, 201);
        const { purchase, payment } = body;
        assert.deepEqual([purchase.status, payment.status], ['failed', 'PENDING']);
        assert.match(payment.failureReason, /^insufficient_funds: /);
        assert.equal(payment.requiresAction.type, 'confirm');
        assert.match(payment.requiresAction.clientSecret, /_secret_/);
        await settle(server);
        const p = await rows.purchase(server, purchase.id);
        assert.deepEqual([p.status, p.revenue, p.failed_at > 0, p.completed_at, p.cancelled_at], ['failed', 0, true, null, null]);
        const position = await rows.position(server, c.positions[0]);
        assert.deepEqual([position.status, position.user_id, position.purchase_id, position.reserved_at, position.sold_at],
            ['available', null, null, null, null]);
        const row = await rows.campaign(server, c.id);
        assert.deepEqual([row.positions_sold, row.positions_paid, row.total_revenue], [0, 0, 0]);
        assert.equal((await rows.layer(server, purchase.layerId)).positions_sold, 0);
        assert.deepEqual(await rows.users(server, purchase.userId), []);
        const transaction = await rows.transaction(server, payment.id);
        assert.deepEqual([transaction.status, transaction.failure_code, transaction.failed_at > 0],
            ['failed', 'insufficient_funds', true]);
        assert.ok(transaction.webhook_received_at && transaction.webhook_event_id && transaction.failure_message);
        assert.deepEqual(await told(server, purchase.userId), [{
            type: 'payment_failed', title: '決済に失敗しました', body: 'カード残高が不足しています。',
            data: { purchaseId: purchase.id, errorCode: 'card_declined' },
        }]);
        const lines = server.lines.filter((line) => line.message === 'Payment failed');
        assert.equal(lines.length, 1);
        assert.deepEqual([lines[0].level, lines[0].paymentIntentId, lines[0].errorCode, lines[0].userId],
            ['error', payment.gatewayTransactionId, 'card_declined', purchase.userId]);
    });

    test('C4 E10 each failed try is told once, however often it is heard of', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: DECLINED });
        await assert.rejects(confirm(server, payment, POOR), /insufficient/);
        await settle(server);
        await again(server, 'payment_intent.payment_failed', payment);
        await settle(server);
        assert.deepEqual((await told(server, purchase.userId)).map(({ type, body }) => [type, body]), [
            ['payment_failed', 'カードが拒否されました。別のカードをお試しください。'],
            ['payment_failed', 'カード残高が不足しています。'],
        ]);
    });

    test('C5 the buyer cancels: column by column, and nobody is told what he knows', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const made = await bought(server, c.positions[0], { method: ASKS });
        assert.deepEqual([made.purchase.status, made.payment.status], ['pending', 'PENDING']);
        const reserved = await rows.position(server, c.positions[0]);
        assert.deepEqual([reserved.status, reserved.user_id], ['reserved', asHex(made.purchase.userId)]);
        await recount(server);
        const key = uuid();
        const { status, body, headers } = await cancel(server, made.purchase, { key });
        assert.equal(status, 200);
        assert.equal(headers['idempotent-replayed'], undefined);
        assert.deepEqual([body.purchase.status, body.payment.status, body.payment.failureReason],
            ['cancelled', 'FAILED', 'requested_by_customer']);
        await settle(server);
        const p = await rows.purchase(server, made.purchase.id);
        assert.deepEqual([p.status, p.cancelled_at > 0, p.completed_at, p.revenue], ['cancelled', true, null, 0]);
        const position = await rows.position(server, c.positions[0]);
        assert.deepEqual([position.status, position.user_id, position.reserved_at], ['available', null, null]);
        assert.equal((await rows.layer(server, made.purchase.layerId)).positions_sold, 0);
        assert.equal((await rows.campaign(server, c.id)).positions_sold, 0);
        const transaction = await rows.transaction(server, made.payment.id);
        assert.deepEqual([transaction.status, transaction.cancel_reason], ['canceled', 'requested_by_customer']);
        assert.ok(transaction.webhook_received_at && transaction.webhook_event_id);
        assert.deepEqual(await told(server, made.purchase.userId), []);
        const replay = await cancel(server, made.purchase, { key });
        assert.deepEqual([replay.status, replay.headers['idempotent-replayed'], replay.text], [200, 'true', JSON.stringify(body)]);
        refused(await cancel(server, made.purchase), 422, 'UNPROCESSABLE');
    });

    test('C5 what is paid cannot be cancelled, what failed can, what is not there cannot', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const paid = await bought(server, c.positions[0], { method: VISA });
        assert.equal(refused(await cancel(server, paid.purchase), 422, 'UNPROCESSABLE').currentStatus, 'CAPTURED');
        const failed = await bought(server, c.positions[1], { method: DECLINED });
        const { body } = await cancel(server, failed.purchase);
        assert.deepEqual([body.purchase.status, body.payment.status], ['cancelled', 'FAILED']);
        refused(await cancel(server, { id: uuid(), userId: uuid() }), 404, 'NOT_FOUND');
        refused(await cancel(server, paid.purchase, { as: uuid() }), 403, 'FORBIDDEN');
        await settle(server);
    });

    test('E5 a cancel at the dashboard: the buyer is told only when the reason is abandoned', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        for (const [i, reason] of ['abandoned', 'duplicate', 'fraudulent'].entries()) {
            const { purchase, payment } = await bought(server, c.positions[i], { method: ASKS });
            await sdk(server).paymentIntents.cancel(payment.gatewayTransactionId, { cancellation_reason: reason });
            await becomes(server, purchase, 'cancelled');
            await settle(server);
            assert.equal((await rows.transaction(server, payment.id)).cancel_reason, reason);
            assert.deepEqual(await told(server, purchase.userId), reason !== 'abandoned' ? [] : [{
                type: 'payment_cancelled', title: '購入がキャンセルされました',
                body: '予約期限が切れたため、購入がキャンセルされました。', data: { purchaseId: purchase.id },
            }]);
        }
    });

    test('E8 another card on the same intent, the position still free: it is taken back and sold', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: DECLINED });
        await recount(server);
        await confirm(server, payment, VISA);
        await becomes(server, purchase, 'completed');
        await settle(server);
        const now = await purchaseNow(server, purchase);
        assert.deepEqual([now.payment.status, now.payment.failureReason, now.payment.requiresAction], ['CAPTURED', null, null]);
        const position = await rows.position(server, c.positions[0]);
        assert.deepEqual([position.status, position.purchase_id], ['sold', asHex(purchase.id)]);
        const transaction = await rows.transaction(server, payment.id);
        assert.deepEqual([transaction.status, transaction.failure_code, transaction.failure_message], ['succeeded', null, null]);
        assert.deepEqual(types(await told(server, purchase.userId)), ['payment_failed', 'purchase_confirmed']);
        await again(server, 'payment_intent.payment_failed', payment); // the failure comes late
        await settle(server);
        assert.equal((await purchaseNow(server, purchase)).purchase.status, 'completed');
    });

    test('E8 D2 the position gone meanwhile: the money goes back, the buyer is told, nobody loses anything', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const late = await bought(server, c.positions[0], { method: DECLINED });
        const owner = await bought(server, c.positions[0], { method: VISA });
        await confirm(server, late.payment, VISA);
        await until('all of it is back', async () => (await server.books(late.payment)).totals.refunded === 2000);
        await settle(server);
        const now = await purchaseNow(server, late.purchase);
        assert.deepEqual([now.purchase.status, now.payment.status, now.payment.failureReason, now.payment.capturedAmount],
            ['failed', 'FAILED', 'refunded_automatically', null]);
        const position = await rows.position(server, c.positions[0]);
        assert.deepEqual([position.status, position.purchase_id], ['sold', asHex(owner.purchase.id)]);
        assert.equal((await rows.campaign(server, c.id)).total_revenue, 2000);
        assert.deepEqual(types(await told(server, late.purchase.userId)), ['payment_failed', 'payment_refunded']);
        await server.line('it goes back', (line) => line.level === 'error' && /goes back/.test(line.message));
        assert.ok((await server.db.audit(`operation = 'REFUND' AND detail LIKE '%goes back%'`)).length === 1);
        await again(server, 'payment_intent.succeeded', late.payment);
        await settle(server);
        assert.equal((await server.books(late.payment)).totals.refunds, 1);
        assert.equal((await server.books()).totals.net, 2000);
    });

    test('E8 the same while somebody else only holds it: a reservation is a reservation', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const late = await bought(server, c.positions[0], { method: DECLINED });
        const holder = await bought(server, c.positions[0], { method: ASKS });
        await confirm(server, late.payment, VISA);
        await until('all of it is back', async () => (await server.books(late.payment)).totals.refunded === 2000);
        await server.authenticate(holder.payment);
        await becomes(server, holder.purchase, 'completed');
        await settle(server);
        assert.equal((await server.books()).totals.net, 2000);
    });

    test('D15 a failure that comes late never frees the position of another buyer', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const first = await bought(server, c.positions[0], { method: DECLINED });
        const second = await bought(server, c.positions[0], { method: ASKS });
        await settle(server);
        await again(server, 'payment_intent.payment_failed', first.payment);
        assert.equal((await cancel(server, first.purchase)).body.purchase.status, 'cancelled');
        await settle(server);
        const position = await rows.position(server, c.positions[0]);
        assert.deepEqual([position.status, position.purchase_id], ['reserved', asHex(second.purchase.id)]);
        await server.authenticate(second.payment);
        await becomes(server, second.purchase, 'completed');
        await settle(server);
    });

    test('D19 a card that is not confirmed in time: cancelled at the gateway, released, told', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: ASKS });
        assert.equal(Date.parse(purchase.expiresAt) - Date.parse(purchase.createdAt), RESERVATION);
        await server.advance(RESERVATION - 60_000);
        await quiet(server);
        assert.equal((await purchaseNow(server, purchase)).purchase.status, 'pending');
        await server.advance(61_000);
        await becomes(server, purchase, 'cancelled');
        await settle(server);
        assert.equal((await rows.position(server, c.positions[0])).status, 'available');
        const intent = await server.intentOf(payment);
        assert.deepEqual([intent.status, intent.cancellation_reason], ['canceled', 'abandoned']);
        assert.deepEqual(types(await told(server, purchase.userId)), ['payment_cancelled']);
        assert.equal((await bought(server, c.positions[0], { method: VISA })).purchase.status, 'completed');
        await settle(server);
    });

    test('D19 the gateway does not answer: nothing is released until the cancel is sure', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase } = await bought(server, c.positions[0], { method: ASKS });
        await quiet(server);
        await server.fault(CANCEL_FAILS);
        await server.advance(RESERVATION + 1000);
        await until('it was asked', () => server.lines.some((line) => line.message === 'PaymentGatewayError'));
        assert.equal((await rows.position(server, c.positions[0])).status, 'reserved');
        await recount(server);
        await server.healed();
        await server.advance(HOUR);
        await becomes(server, purchase, 'cancelled');
        await settle(server);
    });

    test('D19 paid after all, unheard: the cancel is refused and the purchase completed', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: ASKS });
        await quiet(server);
        await server.webhooks({ on: false });
        await server.authenticate(payment);
        assert.equal((await purchaseNow(server, purchase)).purchase.status, 'pending');
        await server.advance(RESERVATION + 1000);
        await becomes(server, purchase, 'completed');
        await settle(server);
        assert.equal((await server.books()).totals.net, 2000);
    });

    test('D19 after a failure the intent ends with the reservation: nobody can pay it later', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: DECLINED });
        await server.advance(RESERVATION + 1000);
        await becomes(server, purchase, 'cancelled');
        await settle(server);
        await assert.rejects(confirm(server, payment, VISA), /canceled|cancelled|status/);
        assert.equal((await purchaseNow(server, purchase)).payment.status, 'FAILED');
    });

    test('D19 konbini: the slip says how long the position waits; paid at the store, it is sold', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { type: 'konbini' });
        assert.deepEqual([purchase.status, purchase.paymentMethodType, payment.status], ['pending', 'konbini', 'PENDING']);
        assert.equal(payment.requiresAction.type, 'konbini_display_details');
        const slipEnds = Date.parse(payment.requiresAction.expiresAt);
        assert.ok(slipEnds - Date.now() > 3 * DAY && slipEnds - Date.now() <= 5 * DAY, payment.requiresAction.expiresAt);
        assert.equal(Date.parse(purchase.expiresAt), slipEnds + HOUR);
        await server.advance(2 * DAY);
        await quiet(server);
        assert.equal((await purchaseNow(server, purchase)).purchase.status, 'pending');
        await server.sandbox('POST', `/konbini/${payment.gatewayTransactionId}/pay`, {});
        await becomes(server, purchase, 'completed');
        await settle(server);
        await server.advance(5 * DAY);
        await settle(server);
        assert.equal((await purchaseNow(server, purchase)).purchase.status, 'completed');
        assert.deepEqual(types(await told(server, purchase.userId)), ['purchase_confirmed']);
    });

    test('D19 konbini: nobody pays the slip; failed by its end, then the intent is cancelled too', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { type: 'konbini' });
        await quiet(server);
        await server.advance(Date.parse(payment.requiresAction.expiresAt) - Date.now() + 60_000);
        await becomes(server, purchase, 'failed');
        await settle(server);
        assert.equal((await rows.position(server, c.positions[0])).status, 'available');
        const [notice] = await told(server, purchase.userId);
        assert.deepEqual([notice.type, notice.body], ['payment_failed', 'コンビニ決済の支払期限が切れました。']);
        await server.advance(2 * HOUR);
        await becomes(server, purchase, 'cancelled');
        await settle(server);
    });

    test('D22 refunds: revenue and statistics follow, the position stays sold, whole is refunded', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: VISA });
        await bought(server, c.positions[1], { as: purchase.userId, method: VISA });
        const sums = async () => {
            await settle(server);
            const [user] = await rows.users(server, purchase.userId);
            const p = await rows.purchase(server, purchase.id);
            return [p.status, p.revenue, (await rows.campaign(server, c.id)).total_revenue, user.purchases, user.total_spent];
        };
        assert.deepEqual(await sums(), ['completed', 2000, 4000, 2, 4000]);
        assert.equal((await server.refund(payment, 500, { as: 'admin' })).status, 200);
        assert.deepEqual(await sums(), ['completed', 1500, 3500, 2, 3500]);
        assert.equal((await server.refund(payment, undefined, { as: 'admin' })).status, 200);
        assert.deepEqual(await sums(), ['refunded', 0, 2000, 2, 2000]);
        assert.equal((await rows.position(server, c.positions[0])).status, 'sold');
        assert.ok((await purchaseNow(server, purchase)).purchase.refundedAt);
    });

    test('D22 D12 a refund that fails after it had succeeded brings the revenue back', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: REFUND_FAILS });
        await quiet(server);
        assert.equal((await server.refund(payment, undefined, { as: 'admin' })).status, 200);
        assert.equal((await purchaseNow(server, purchase)).purchase.status, 'refunded');
        await becomes(server, purchase, 'completed');
        await settle(server);
        const p = await rows.purchase(server, purchase.id);
        assert.deepEqual([p.status, p.revenue, p.refunded_at], ['completed', 2000, null]);
        assert.equal((await rows.campaign(server, c.id)).total_revenue, 2000);
    });

    test('D22 A2 who bought cannot take his money back by himself, least of all after the draw', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server, { layers: [{ name: 'A', price: 500, positions: 2 }] });
        const all = [];
        for (const position of c.positions) all.push(await bought(server, position, { method: VISA }));
        const early = await server.refund(all[0].payment);
        assert.match(refused(early, 403, 'FORBIDDEN').detail, /who sells it/);
        await until('it is drawn', async () => (await rows.campaign(server, c.id)).status === 'drawn');
        for (const { payment } of all) {
            refused(await server.refund(payment), 403, 'FORBIDDEN');
            refused(await server.refund(payment, 100, { prefix: '/api/v1' }), 403, 'FORBIDDEN');
        }
        await settle(server);
        assert.deepEqual([(await rows.campaign(server, c.id)).total_revenue, (await server.books()).totals.refunded], [1000, 0]);
        const seller = token(uuid(), 'service');
        assert.equal((await server.refund(all[0].payment, undefined, { bearer: seller, as: undefined })).status, 200);
        assert.equal((await server.refund(all[1].payment, 100, { as: 'admin' })).status, 200);
        await settle(server);
    });

    test('D22 a refund made at the dashboard counts like ours', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: VISA });
        await sdk(server).refunds.create({ payment_intent: payment.gatewayTransactionId, amount: 700 });
        await until('it is heard of', async () => (await rows.purchase(server, purchase.id)).revenue === 1300);
        await settle(server);
    });

    test('C2 many want one position: one has it, the others hear so and are charged nothing', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const answers = await Promise.all(Array.from({ length: 40 }, () => buy(server, c.positions[0], { method: VISA })));
        const won = answers.filter((one) => one.status === 201);
        assert.equal(won.length, 1);
        for (const lost of answers.filter((one) => one.status !== 201))
            assert.match(refused(lost, 422, 'UNPROCESSABLE').detail, /Somebody else has the position/);
        await settle(server);
        assert.deepEqual((await server.books()).totals.charges, 1);
        assert.equal(await server.db.count('purchases'), 1);
        assert.equal(await server.db.count('idempotency_records'), 1); // a 4xx claims no key
    });

    test('D1 whoever has the position already is told of his payment; a failed try holds nothing', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const user = uuid();
        const held = await bought(server, c.positions[0], { as: user, method: ASKS });
        assert.equal(refused(await buy(server, c.positions[0], { as: user }), 422, 'PAYMENT_EXISTS').paymentId, held.payment.id);
        const failed = await bought(server, c.positions[1], { as: user, method: DECLINED });
        const next = await bought(server, c.positions[1], { as: user, method: VISA });
        assert.notEqual(next.purchase.id, failed.purchase.id);
        assert.equal(refused(await buy(server, c.positions[1], { as: user }), 422, 'PAYMENT_EXISTS').paymentId, next.payment.id);
        await settle(server);
    });

    test('C2 nobody holds more than twenty unpaid positions of a campaign, however fast he asks', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server, { layers: [{ name: 'A', price: 500, positions: 40 }] });
        const other = await campaign(server);
        const hoarder = uuid();
        const order = (position) => ({ as: hoarder, key: uuid(), method: ASKS, position });
        const all = await Promise.all(c.positions.slice(0, 30).map(async (position) => {
            const mine = order(position);
            for (let i = 0; ; i++) { // many at once wait for each other: then the same key goes on
                const answer = await buy(server, position, mine);
                if (answer.status !== 503 || i === 30) return answer;
            }
        }));
        const made = all.filter((one) => one.status < 300);
        assert.equal(made.length, 20, all.map((one) => one.status).join());
        for (const no of all.filter((one) => one.status >= 300))
            assert.match(refused(no, 422, 'UNPROCESSABLE').detail, /20 positions .* without having paid/);
        await recount(server);
        refused(await buy(server, c.positions[35], { as: hoarder, method: VISA }), 422, 'UNPROCESSABLE');
        assert.equal((await bought(server, other.positions[0], { as: hoarder, method: ASKS })).purchase.status, 'pending');
        assert.equal((await bought(server, c.positions[36], { method: ASKS })).purchase.status, 'pending');
        await server.authenticate(made[0].body.payment); // what is paid, or let go, counts no more
        await becomes(server, made[0].body.purchase, 'completed');
        assert.equal((await cancel(server, made[1].body.purchase)).status, 200);
        for (const position of [37, 38]) await bought(server, c.positions[position], { as: hoarder, method: ASKS });
        refused(await buy(server, c.positions[39], { as: hoarder, method: ASKS }), 422, 'UNPROCESSABLE');
        await settle(server);
    });

    test('I2 the same key and content is replayed, another content is a conflict', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const order = { as: uuid(), key: uuid(), method: VISA };
        const first = await buy(server, c.positions[0], order);
        const second = await buy(server, c.positions[0], order);
        assert.deepEqual([first.status, second.status, second.headers['idempotent-replayed']], [201, 200, 'true']);
        assert.equal(second.text, first.text);
        refused(await buy(server, c.positions[1], order), 409, 'IDEMPOTENCY_CONFLICT');
        refused(await buy(server, c.positions[0], { ...order, type: 'konbini' }), 409, 'IDEMPOTENCY_CONFLICT');
        refused(await buy(server, c.positions[0], { ...order, method: undefined }), 409, 'IDEMPOTENCY_CONFLICT');
        const booking = await server.booking({ userId: order.as });
        refused(await server.pay(booking, { key: order.key }), 409, 'IDEMPOTENCY_CONFLICT');
        const failing = { as: uuid(), key: uuid(), method: DECLINED };
        const declined = await buy(server, c.positions[1], failing);
        await bought(server, c.positions[1], { method: VISA });
        const replay = await buy(server, c.positions[1], failing);
        assert.deepEqual([replay.status, replay.text], [200, declined.text]);
        await settle(server);
    });

    test('I4 two at once with one key: one purchase, one charge, one answer', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const order = { as: uuid(), key: uuid(), method: VISA };
        const answers = await Promise.all(Array.from({ length: 8 }, () => buy(server, c.positions[0], order)));
        assert.deepEqual(answers.map((one) => one.status).sort(), [200, 200, 200, 200, 200, 200, 200, 201]);
        assert.equal(new Set(answers.map((one) => one.text)).size, 1);
        await settle(server);
        assert.equal((await server.books()).totals.charges, 1);
    });

    test('P7 charged, and the answer is lost: 504, and the purchase completes by asking, once', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        await server.webhooks({ on: false });
        await server.fault({ ...CREATE, dropAfter: true, times: 2 });
        const order = { as: uuid(), key: uuid(), method: VISA };
        const answer = await buy(server, c.positions[0], order);
        assert.ok([201, 502, 504].includes(answer.status), answer.text);
        const done = await until('the same key has an answer', async () => {
            const next = await buy(server, c.positions[0], order);
            return [200, 201].includes(next.status) && next;
        });
        assert.equal(done.body.purchase.status, 'completed');
        await settle(server);
        assert.equal((await server.books()).totals.charges, 1);
    });

    test('P7 never sent: the position is held while nobody knows, and free when it is surely absent', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        await server.fault({ ...CREATE, dropBefore: true, times: 1000 });
        const answer = await buy(server, c.positions[0], { method: VISA });
        assert.ok([502, 504].includes(answer.status), answer.text);
        assert.equal((await rows.position(server, c.positions[0])).status, 'reserved');
        await recount(server);
        await server.healed();
        for (let i = 0; i < 12; i++) await server.advance(5 * 60_000);
        await until('it is free', async () => (await rows.position(server, c.positions[0])).status === 'available', 30_000);
        const [row] = await server.db.table('purchases');
        assert.equal(row.status, 'failed');
        await settle(server);
        assert.deepEqual((await server.books()).totals.net, 0);
    });

    test('P5 bad input: all that is wrong is named, and nothing is changed', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const before = await server.db.state();
        const fields = async (options, position = c.positions[0]) => {
            const { errors } = refused(await buy(server, position, options), 400, 'VALIDATION_ERROR');
            return errors.map((one) => one.field).sort();
        };
        const good = { paymentMethodType: 'card' };
        const table = [
            [{ body: {} }, ['paymentMethodType']],
            [{ body: { paymentMethodType: 'cash' } }, ['paymentMethodType']],
            [{ body: { paymentMethodType: 'Card' } }, ['paymentMethodType']],
            [{ body: { paymentMethodType: null } }, ['paymentMethodType']],
            [{ body: { paymentMethodType: 1 } }, ['paymentMethodType']],
            [{ body: { paymentMethodType: ['card'] } }, ['paymentMethodType']],
            [{ body: { ...good, paymentMethod: '' } }, ['paymentMethod']],
            [{ body: { ...good, paymentMethod: 'pm card' } }, ['paymentMethod']],
            [{ body: { ...good, paymentMethod: 'x'.repeat(256) } }, ['paymentMethod']],
            [{ body: { ...good, paymentMethod: '4242 4242 4242 4242' } }, ['paymentMethod']],
            [{ body: { ...good, paymentMethod: 'pm_4242-4242-4242-4242' } }, ['paymentMethod']],
            [{ body: '{"paymentMethodType":"card","paymentMethod":4242424242424242}' }, ['paymentMethod']],
            [{ body: { ...good, amount: 1 } }, ['amount']],
            [{ body: { amount: 1, price: 2 } }, ['amount', 'paymentMethodType', 'price']],
            [{ body: '{"paymentMethodType":"card","paymentMethodType":"konbini"}' }, ['body']],
            [{ body: '[]' }, ['body']],
            [{ body: '' }, ['body']],
            [{ body: '{' }, ['body']],
            [{ body: good, key: 'nonsense' }, ['Idempotency-Key']],
            [{ body: {}, key: null }, ['Idempotency-Key', 'paymentMethodType']],
        ];
        for (const [options, wrong] of table) assert.deepEqual(await fields(options), wrong, JSON.stringify(options));
        assert.deepEqual(await fields({ body: good }, 'nonsense'), ['id']);
        refused(await buy(server, uuid(), { body: good }), 404, 'NOT_FOUND');
        refused(await buy(server, c.positions[0], { bearer: 'nonsense' }), 401, 'UNAUTHORIZED');
        refused(await buy(server, c.positions[0], { as: 'admin' }), 403, 'FORBIDDEN'); // nobody to buy for
        refused(await buy(server, c.positions[0], { body: good, headers: { 'Content-Type': 'text/plain' } }), 415, 'UNSUPPORTED_MEDIA_TYPE');
        refused(await cancel(server, { id: 'nonsense', userId: uuid() }), 400, 'VALIDATION_ERROR');
        refused(await cancel(server, { id: uuid(), userId: uuid() }, { body: { reason: 'x' } }), 400, 'VALIDATION_ERROR');
        for (const query of ['limit=0', 'limit=101', 'limit=x', 'cursor=x', 'what=1', 'limit=1&limit=1', `userId=${uuid()}`])
            refused(await server.call('GET', `/api/v1/purchases?${query}`, { as: uuid() }), 400, 'VALIDATION_ERROR');
        assert.deepEqual(await server.db.state(), before);
        assert.equal(await server.db.count('purchases'), 0);
        await settle(server);
    });

    test('P5 the words are Japanese where those are wanted', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const answer = await buy(server, c.positions[0], { body: { paymentMethodType: 'cash' }, headers: { 'Accept-Language': 'ja' } });
        assert.deepEqual(answer.body.errors, [{ field: 'paymentMethodType', message: 'card または konbini を指定してください' }]);
    });

    test('A2 a purchase is its buyer\'s; lists have one\'s own, page by page', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server, { layers: [{ name: 'A', price: 300, positions: 6 }] });
        const user = uuid();
        const mine = [];
        for (let i = 0; i < 5; i++) mine.push((await bought(server, c.positions[i], { as: user, method: VISA })).purchase);
        const other = await bought(server, c.positions[5], { method: DECLINED });
        refused(await server.call('GET', `/api/v1/purchases/${other.purchase.id}`, { as: user }), 403, 'FORBIDDEN');
        refused(await server.call('GET', `/api/v1/purchases/${uuid()}`, { as: user }), 404, 'NOT_FOUND');
        refused(await server.call('GET', '/api/v1/purchases/nonsense', { as: user }), 400, 'VALIDATION_ERROR');
        const service = token(uuid(), 'service');
        assert.equal((await server.call('GET', `/api/v1/purchases/${other.purchase.id}`, { bearer: service })).status, 200);
        const seen = [];
        for (let cursor = ''; cursor !== null;) {
            const { body } = await server.call('GET', `/api/v1/purchases?limit=2${cursor && `&cursor=${cursor}`}`, { as: user });
            assert.ok(body.data.length <= 2);
            seen.push(...body.data);
            cursor = body.nextCursor;
        }
        assert.deepEqual(seen, mine.reverse());
        const all = await server.call('GET', '/api/v1/purchases', { as: 'admin' });
        assert.equal(all.body.data.length, 6);
        const his = await server.call('GET', `/api/v1/purchases?userId=${other.purchase.userId}`, { as: 'admin' });
        assert.deepEqual(his.body.data.map((one) => one.id), [other.purchase.id]);
        assert.equal((await server.call('GET', '/api/v1/purchases', { as: uuid() })).body.data.length, 0);
        await settle(server);
    });

    test('C1 a campaign that is cancelled sells nothing; open ones end, sold ones go back', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const sold = await bought(server, c.positions[0], { method: VISA });
        const open = await bought(server, c.positions[1], { method: ASKS });
        const failed = await bought(server, c.positions[2], { method: DECLINED });
        assert.equal((await server.call('POST', `/api/v1/campaigns/${c.id}/cancel`, { as: 'admin', key: uuid(), body: {} })).status, 200);
        assert.match(refused(await buy(server, c.positions[2]), 422, 'UNPROCESSABLE').detail, /cancelled/);
        await becomes(server, sold.purchase, 'refunded');
        await becomes(server, open.purchase, 'cancelled');
        await becomes(server, failed.purchase, 'cancelled');
        await settle(server);
        assert.equal((await server.books()).totals.net, 0);
        assert.equal((await rows.campaign(server, c.id)).total_revenue, 0);
    });

    test('E8 D2 paid after the campaign was cancelled: refunded and told', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: ASKS });
        await quiet(server);
        await server.fault(CANCEL_FAILS);
        await server.call('POST', `/api/v1/campaigns/${c.id}/cancel`, { as: 'admin', key: uuid(), body: {} });
        await server.authenticate(payment);
        await until('all of it is back', async () => (await server.books(payment)).totals.refunded === 2000);
        await server.healed();
        await server.advance(HOUR);
        await settle(server);
        assert.equal((await purchaseNow(server, purchase)).purchase.status, 'failed');
        assert.deepEqual(types(await told(server, purchase.userId)), ['payment_refunded']);
    });

    test('E2 with refetch on, success is believed after a look at the gateway, and counted once', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_REFETCH: 'on' } });
        const c = await campaign(server);
        const { purchase, payment } = await bought(server, c.positions[0], { method: DECLINED });
        await confirm(server, payment, VISA);
        await becomes(server, purchase, 'completed');
        await again(server, 'payment_intent.succeeded', payment);
        await settle(server);
    });

    test('P9 the four routes are described', () => {
        const described = Object.entries(description.paths).flatMap(([path, item]) =>
            Object.keys(item).filter((name) => ['get', 'post'].includes(name)).map((method) => `${method} ${path}`));
        for (const route of ['post /api/v1/positions/{id}/purchase', 'post /api/v1/purchases/{id}/cancel',
            'get /api/v1/purchases/{id}', 'get /api/v1/purchases']) assert.ok(described.includes(route), route);
    });
});
