// PayPay from end to end (G2), and its notifications, which nobody signs and nobody believes (W8). The
// gateway is the sandbox's PayPay; what its own tests say about it stands in paypay_sdk.test.mjs.
import {
    asHex, assert, fresh, forEachStore, launch, start, until, uuid,
} from './lib/harness.mjs';
import { agrees } from './lib/dlq.mjs';
import { code, open, PayPay, PAYPAY_WEBHOOK, ROUTES, scripted, success } from './lib/paypay.mjs';
import { quiet } from './lib/purchases.mjs';

const MINUTE = 60_000;
const notice = (payment, changes = {}) => ({
    notification_type: 'Transaction', merchant_id: 'm', store_id: '', pos_id: '', order_id: `0451${process.pid}`,
    merchant_order_id: payment.gatewayTransactionId ?? payment, authorized_at: null, expires_at: null,
    paid_at: '2026-11-16T20:03:19+09:00', confirmation_expires_at: null, order_amount: '1200', state: 'COMPLETED', ...changes,
});
const settled = (server, answer) => server.settled(answer.headers['x-event-id']);
const replayed = (answer) => answer.headers['idempotent-replayed'] === 'true';
// Payments and all that follows from them; clocks and messages aside.
const standing = async (server, payment) => ({
    row: await server.db.paymentRow(payment.id),
    transactions: await server.db.table('payment_transactions'),
    events: (await server.db.domainEvents(payment.id)).map(({ type }) => type),
});
const noWork = (server) => until('nothing is under way', async () =>
    await server.db.count('message', `kind IN ('op', 'paypay.refetch')`) === 0, 30_000);
// One answer below 300, however often it takes.
const insist = (ask) => until('an answer', async () => {
    const answer = await ask();
    return answer.status < 300 && answer;
}, 60_000);

forEachStore((store, test) => {
    test('G2 a booking is paid by PayPay: shown, paid, captured, refunded in part, to the yen', async (t) => {
        const { server, paypay } = await open(t, store, { env: { ICHIDO_RETURN_URL: 'https://shop.example/back' } });
        const payment = await paypay.pending({ description: '山の家 & "2泊"' }, { amount: 3000 });
        assert.equal(payment.status, 'PENDING');
        assert.equal(payment.gatewayTransactionId, asHex(payment.id));
        const { type, url, expiresAt, details } = payment.requiresAction;
        assert.equal(type, 'redirect_to_url');
        assert.match(details.codeId, /^04-/);
        assert.ok(Date.parse(expiresAt) > Date.parse(payment.createdAt) + MINUTE);
        const page = await fetch(url, { headers: { 'Accept-Language': 'en' } });
        assert.match(await page.text(), /3,?000/);
        const pressed = await fetch(url, { method: 'POST', body: new URLSearchParams({ act: 'pay' }), redirect: 'manual' });
        assert.equal(pressed.status, 303);
        assert.ok(pressed.headers.get('location').startsWith('https://shop.example/back'));
        const held = await paypay.is(payment, 'AUTHORIZED');
        assert.equal(held.requiresAction, null);
        const captured = await server.capture(held, 2500);
        assert.deepEqual([captured.status, captured.body.status, captured.body.capturedAmount], [200, 'CAPTURED', 2500]);
        const refunded = await server.refund(held, 700, { reason: '壊れていた' });
        assert.equal(refunded.status, 200, refunded.text);
        assert.deepEqual([refunded.body.status, refunded.body.refundedAmount], ['CAPTURED', 700]);
        assert.equal(refunded.body.refunds[0].status, 'succeeded');
        assert.deepEqual(await paypay.books(), [{
            payment_id: (await paypay.books())[0].payment_id, merchant_payment_id: asHex(payment.id), status: 'COMPLETED',
            amount: 3000, held: 0, captured: 2500, refunded: 700, refunds: 1,
        }]);
        const more = await server.refund(held, 100);
        assert.equal(more.status, 422, 'this merchant may refund once');
        assert.match(more.body.detail, /./);
        assert.equal((await server.payment(payment)).body.refundedAmount, 700);
        await until('the booking is confirmed', async () => (await server.bookingNow(payment.booking.id)).status === 'CONFIRMED');
        const types = (await server.db.domainEvents(payment.id)).map((one) => one.type);
        assert.deepEqual(types.slice(0, 3), ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured']);
    });

    test('G2 a void: of a code it is deleted, of an authorization it is reverted; both can be paid anew', async (t) => {
        const { server, paypay } = await open(t, store);
        const waiting = await paypay.pending();
        const gone = await server.void(waiting);
        assert.deepEqual([gone.status, gone.body.status], [200, 'FAILED'], gone.text);
        await assert.rejects(() => paypay.pays(waiting), /422/);
        const again = await server.pay(waiting.booking, { paymentMethodType: 'paypay' });
        assert.equal(again.status, 201, again.text);
        const held = await paypay.authorized();
        const voided = await server.void(held);
        assert.deepEqual([voided.status, voided.body.status, voided.body.capturedAmount], [200, 'REFUNDED', null], voided.text);
        assert.deepEqual((await paypay.books()).map(({ status, held: sum }) => [status, sum]), [['CANCELED', 0]]);
        assert.equal((await server.pay(held.booking, { paymentMethodType: 'paypay' })).status, 201);
    });

    test('G2 D21 D2 a booking that is cancelled takes its code back, and money that was faster', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const [waiting, paid] = [await paypay.pending(), await paypay.pending()];
        await paypay.pays(paid); // and nobody has told us yet
        for (const one of [waiting, paid]) {
            const { id, ...terms } = one.booking;
            await server.booking({ id, ...terms, status: 'CANCELLED' });
        }
        await paypay.is(waiting, 'FAILED');
        await assert.rejects(() => paypay.pays(waiting), /422/);
        await until('the money is back', async () => {
            await server.advance(5000);
            return (await paypay.books()).every(({ status, held }) => status === 'CANCELED' && held === 0);
        });
        await noWork(server);
        assert.ok(['FAILED', 'REFUNDED'].includes((await server.payment(paid)).body.status));
    });

    test('G2 the customer fails: FAILED, and the booking can be paid again', async (t) => {
        const { server, paypay } = await open(t, store);
        const payment = await paypay.pending();
        await paypay.fails(payment);
        const failed = await paypay.is(payment, 'FAILED');
        assert.match(failed.failureReason, /payment_failed/);
        assert.equal((await server.pay(payment.booking, { paymentMethodType: 'paypay' })).status, 201);
    });

    test('G2 W8 a code that nobody pays: cancelled some minutes behind its end, and nobody can pay it', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const payment = await paypay.pending();
        await server.advance(9 * MINUTE);
        assert.equal((await server.payment(payment)).body.status, 'PENDING', 'PayPay may still tell of it');
        await paypay.is(payment, 'FAILED', 30_000);
        await noWork(server);
        assert.equal((await server.pay(payment.booking, { paymentMethodType: 'paypay' })).status, 201);
        assert.deepEqual(await paypay.books(), []);
        assert.equal(await server.db.count('dead_letters'), 0);
        assert.equal(await server.db.count('message', `kind = 'paypay.poll' AND ref = '${payment.id}'`), 0);
    });

    test('G2 with a customer\'s authorization nobody has to do anything; declines say why', async (t) => {
        const { server, paypay } = await open(t, store);
        const held = await paypay.pending({ paymentMethod: `ua-${uuid()}` });
        assert.equal(held.status, 'AUTHORIZED');
        assert.equal((await server.capture(held)).body.status, 'CAPTURED');
        const declines = [
            ['ua-no-fund', /^no_sufficient_fund/], ['ua-expired', /^expired_user_authorization_id/],
            ['ua-unknown', /^invalid_user_authorization_id/], ['ua-limit', /^unacceptable_op/], ['ua-failed', /^transaction_failed/],
        ];
        for (const [paymentMethod, reason] of declines) {
            const payment = await paypay.pending({ paymentMethod });
            assert.equal(payment.status, 'FAILED', paymentMethod);
            assert.match(payment.failureReason, reason);
        }
        const twice = `ua-${uuid()}`;
        assert.equal((await paypay.pending({ paymentMethod: twice })).status, 'AUTHORIZED');
        const similar = await paypay.pending({ paymentMethod: twice });
        assert.equal(similar.status, 'FAILED');
        assert.match(similar.failureReason, /^suspected_duplicate_payment/);
    });

    test('G2 another currency is refused before PayPay hears of it', async (t) => {
        const { paypay, server } = await open(t, store);
        const payment = await paypay.pending({}, { currency: 'USD' });
        assert.equal(payment.status, 'FAILED');
        assert.match(payment.failureReason, /currency_not_supported/);
        assert.equal((await server.pay(payment.booking, { paymentMethodType: 'paypay' })).status, 201, 'and the booking is free');
    });

    test('G2 P7 lost replies at every call: never twice, and in the end we know', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        for (const fault of ['lose_reply', 'internal_error', 'html', 'half', 'lose_request']) {
            const booking = await server.booking();
            const key = uuid();
            await paypay.faults({ fault, method: 'POST', path: '/v2/codes', times: 3 });
            const made = await insist(() => server.pay(booking, { key, paymentMethodType: 'paypay' }));
            const payment = made.body;
            assert.equal(payment.requiresAction.type, 'redirect_to_url');
            assert.ok(payment.gatewayTransactionId.startsWith(asHex(payment.id)), 'of the same payment');
            assert.equal(replayed(await server.pay(booking, { key, paymentMethodType: 'paypay' })), true);
            await paypay.pays(payment);
            await paypay.is(payment, 'AUTHORIZED', 1000);

            for (const [verb, path, wanted] of [['capture', '/v2/payments/capture', 'CAPTURED'], ['refund', '/v2/refunds', 'REFUNDED']]) {
                const own = uuid();
                await paypay.faults({ fault, method: 'POST', path, times: 1 });
                const first = await server[verb](payment, undefined, { key: own });
                assert.ok([200, 502, 504].includes(first.status), `${fault} ${verb}: ${first.text}`);
                const answer = await until(`${fault}: ${verb} is known`, async () => {
                    const got = await server[verb](payment, undefined, { key: own });
                    if (got.status >= 500) await server.advance(2000);
                    return got.status < 500 && got;
                }, 60_000);
                assert.equal(answer.status, 200, `${fault} ${verb}: ${answer.text}`);
                assert.equal(answer.body.status, wanted, `${fault} ${verb}`);
            }
        }
        const books = await paypay.books();
        assert.equal(books.length, 5);
        for (const one of books)
            assert.deepEqual([one.status, one.captured, one.refunded, one.refunds], ['REFUNDED', 1200, 1200, 1]);
    });

    test('G2 P7 a lost reply of an authorization: asked for, never sent twice', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const booking = await server.booking();
        const key = uuid();
        // libcurl sends once more what dies on a used connection, so it is answered here, and told nothing
        await paypay.faults({ fault: 'timed_out', method: 'POST', path: '/v2/payments/preauthorize', times: 1 });
        const lost = await server.pay(booking, { key, paymentMethodType: 'paypay', paymentMethod: 'ua-lost' });
        assert.equal(lost.status, 502, lost.text);
        await paypay.is({ id: lost.body.paymentId }, 'AUTHORIZED', 1000);
        const again = await server.pay(booking, { key, paymentMethodType: 'paypay', paymentMethod: 'ua-lost' });
        assert.deepEqual([again.status, again.body.status], [200, 'AUTHORIZED']);
        assert.equal((await paypay.books()).length, 1);
        await paypay.faults({ fault: 'internal_error', method: 'POST', path: '/v2/payments/preauthorize/revert', times: 1 });
        const void1 = await server.void(again.body);
        assert.ok([200, 502].includes(void1.status), void1.text);
        await paypay.is(again.body, 'REFUNDED', 1000);
    });

    test('G2 P7 PayPay is gone: the same key goes on when it is back, by one code that is shown', async (t) => {
        const { server, paypay } = await open(t, store);
        const booking = await server.booking();
        const key = uuid();
        await paypay.faults({ fault: 'maintenance', times: 1000 });
        const first = await server.pay(booking, { key, paymentMethodType: 'paypay' });
        assert.equal(first.status, 502, first.text);
        assert.match(first.headers['retry-after'], /^\d+$/);
        await paypay.faults();
        const answer = await insist(() => server.pay(booking, { key, paymentMethodType: 'paypay' }));
        assert.equal(answer.body.id, first.body.paymentId);
        await paypay.pays(answer.body);
        await paypay.is(answer.body, 'AUTHORIZED');
    });

    test('G2 D6 surely absent a quarter of an hour later: FAILED, and the booking is free', async (t) => {
        const { server, paypay } = await open(t, store);
        const booking = await server.booking();
        await paypay.faults({ fault: 'lose_reply', method: 'POST', path: '/v2/codes', times: 1000 });
        const lost = await server.pay(booking, { paymentMethodType: 'paypay' });
        assert.equal(lost.status, 502, lost.text);
        await server.advance(16 * MINUTE);
        const failed = await paypay.is({ id: lost.body.paymentId }, 'FAILED', 10_000);
        assert.equal(failed.failureReason, 'gateway_timeout');
        await paypay.faults();
        assert.equal((await server.pay(booking, { paymentMethodType: 'paypay' })).status, 201);
    });

    test('G2 a capture that its customer must agree to: unknown until then, whoever asks', async (t) => {
        const { server, paypay } = await open(t, store);
        await paypay.switches({ confirm_capture: true });
        const payment = await paypay.authorized();
        const key = uuid();
        const first = await server.capture(payment, 1000, { key });
        assert.equal(first.status, 502, first.text);
        assert.equal((await server.payment(payment)).body.status, 'AUTHORIZED');
        await server.advance(8 * MINUTE);
        const busy = await server.void(payment);
        assert.equal(busy.status, 503, busy.text);
        await paypay.pays(payment);
        const captured = await paypay.is(payment, 'CAPTURED', 5000);
        assert.equal(captured.capturedAmount, 1000);
        const again = await server.capture(payment, 1000, { key });
        assert.deepEqual([again.status, again.body.status], [200, 'CAPTURED']);
        const other = await paypay.authorized(); // its customer never answers: the question ends
        const lost = uuid();
        assert.equal((await server.capture(other, 1000, { key: lost })).status, 502);
        await server.advance(11 * MINUTE);
        await server.advance(10 * MINUTE);
        await until('its payment is free again', async () => {
            await server.advance(30_000);
            return !(await server.db.paymentRow(other.id)).open_op;
        }, 30_000);
        assert.equal((await server.void(other)).body.status, 'REFUNDED');
    });

    test('G2 crash: killed while PayPay is asked, and started again: one payment, one code that counts', async (t) => {
        const db = await fresh(t, store);
        const faults = ['op.calling', 'op.answered', 'op.settling'];
        for (const point of faults) {
            const dying = launch(t, db, { env: { ...ROUTES, ICHIDO_FAULTS: `${point}=crash@1` } });
            await dying.listening();
            const booking = await dying.booking();
            const key = uuid();
            await dying.pay(booking, { key, paymentMethodType: 'paypay' }).catch(() => {});
            await dying.exit;
            const server = await start(t, store, { db, env: ROUTES });
            const paypay = new PayPay(server);
            const answer = await insist(async () => {
                await server.advance(5000);
                return server.pay(booking, { key, paymentMethodType: 'paypay' });
            });
            assert.equal(answer.body.requiresAction.type, 'redirect_to_url', point);
            await paypay.pays(answer.body);
            await paypay.is(answer.body, 'AUTHORIZED', 1000);
            await server.stop();
        }
    });

    // --- W8 ---

    test('W8 notifications that never come: the payment is looked at all the same', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const payment = await paypay.pending();
        await paypay.pays(payment);
        await server.advance(5000);
        await paypay.is(payment, 'AUTHORIZED');
        assert.equal(await server.db.count('webhook_events'), 0);
        await server.advance(10 * MINUTE);
        await until('looks have ended', async () => await server.db.count('message', `kind = 'paypay.poll'`) === 0);
        const other = await paypay.pending();
        await paypay.faults({ fault: 'maintenance', times: 1000 });
        await server.advance(MINUTE);
        await paypay.pays(other);
        await server.advance(MINUTE);
        await paypay.faults();
        await paypay.is(other, 'AUTHORIZED', 10_000);
    });

    test('W8 a notification is stored once, answered with 200, and PayPay is asked', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const payment = await paypay.pending();
        await paypay.pays(payment);
        const answer = await paypay.notify(notice(payment, { state: 'AUTHORIZED', authorized_at: '2026-11-16T20:03:19+09:00', order_amount: 1 }));
        assert.deepEqual([answer.status, answer.text], [200, '{"received":true}']);
        assert.equal((await settled(server, answer)).outcome, 'applied');
        const held = await paypay.is(payment, 'AUTHORIZED');
        assert.equal(held.amount, 1200, 'what it says about money is nobody\'s money');
        const row = await server.db.event(answer.headers['x-event-id']);
        assert.deepEqual([row.provider, row.type], ['paypay', 'Transaction']);
        assert.equal(answer.headers['x-message-id'].replaceAll('-', ''), row.message_id);
        const { body } = await server.call('GET', `/api/v1/admin/events?paymentId=${payment.id}`, { as: 'admin' });
        assert.deepEqual(body.data.map(({ id, outcome }) => [id, outcome]), [[answer.headers['x-event-id'], 'applied']]);
    });

    test('W8 the same again, by its id, by state and time, by its bytes: one row, counted', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const payment = await paypay.pending();
        const pairs = [
            [{ notification_id: 'n-1' }, { notification_id: 'n-1', state: 'FAILED' }],
            [{}, { order_amount: 7, extra: [1] }],
            [{ state: 'CANCELED', paid_at: null }, { state: 'CANCELED', paid_at: null }],
            [{ order_id: 'a b', state: 'AUTHORIZED' }, { order_id: 'a b', state: 'AUTHORIZED' }],
        ];
        const names = new Set();
        for (const [one, other] of pairs) {
            const first = await paypay.notify(notice(payment, one));
            const second = await paypay.notify(notice(payment, other));
            assert.deepEqual([first.status, second.status], [200, 200]);
            assert.equal(first.headers['x-event-id'], second.headers['x-event-id']);
            assert.equal(first.headers['x-message-id'], second.headers['x-message-id']);
            assert.equal(await server.db.duplicates(first.headers['x-event-id']), 1);
            names.add(first.headers['x-event-id']);
        }
        const others = [notice(payment, { paid_at: '2026-11-16T20:03:20+09:00' }), notice(payment, { order_id: '2' }), notice(payment, { notification_id: 'n-2' })];
        for (const one of others) names.add((await paypay.notify(one)).headers['x-event-id']);
        assert.equal(names.size, 7);
        assert.equal(await server.db.count('webhook_events'), 7);
        for (const name of names) assert.match(name, /^paypay:(n|t|sha256):/);
        await noWork(server);
        assert.equal((await server.payment(payment)).body.status, 'PENDING');
        const metrics = await server.metrics();
        assert.equal(metrics.get('ichido_webhook_duplicate_total'), 4);
    });

    test('W8 sent twice by PayPay itself, and late: one authorization, one domain event', async (t) => {
        const { server, paypay } = await open(t, store);
        await paypay.switches({ webhooks: 'duplicate' });
        const payment = await paypay.authorized();
        await until('both have come', async () => (await server.metrics()).get('ichido_webhook_received_total') === 2);
        await noWork(server);
        const types = (await server.db.domainEvents(payment.id)).map((one) => one.type);
        assert.deepEqual(types, ['PaymentCreated', 'PaymentAuthorized']);
        await server.capture(payment);
        const late = await paypay.notify(notice(payment, { state: 'AUTHORIZED', authorized_at: '2026-01-01T00:00:00+09:00' }));
        await settled(server, late);
        assert.equal((await server.payment(payment)).body.status, 'CAPTURED');
    });

    test('W8 forged: it says COMPLETED and PayPay says nobody has paid: nothing moves', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const payment = await paypay.pending();
        const before = await standing(server, payment);
        for (const state of ['COMPLETED', 'AUTHORIZED', 'CANCELED', 'FAILED', 'EXPIRED', 'WHATEVER']) {
            const answer = await paypay.notify(notice(payment, { state, notification_id: `forged-${state}` }));
            assert.equal(answer.status, 200);
            assert.equal((await settled(server, answer)).outcome, 'ignored', state);
        }
        assert.deepEqual(await standing(server, payment), before);
        for (const attempt of [2, 9]) { // codes that there never were, of a payment that there is
            const answer = await paypay.notify(notice(`${asHex(payment.id)}-${attempt}`, { notification_id: `orphan-${attempt}` }));
            assert.equal((await settled(server, answer)).outcome, 'ignored');
        }
        assert.deepEqual(await standing(server, payment), before);
    });

    test('W8 what is not ours is foreign, what is no payment is kept and ignored', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const card = await server.paid(); // by the sandbox's Stripe
        await quiet(server);
        const before = await standing(server, card);
        const rows = [
            ['somebody-elses', 'foreign'], [asHex(uuid()), 'foreign'], [`${asHex(uuid())}-2`, 'foreign'], [asHex(card.id), 'foreign'],
            ['', 'foreign'], ['x'.repeat(65), 'foreign'], [`${asHex(card.id)}/../x`, 'foreign'], ['あ', 'foreign'],
        ];
        for (const [id, detail] of rows) {
            const answer = await paypay.notify(notice(id));
            assert.equal(answer.status, 200, id);
            const { outcome, detail: got } = await settled(server, answer);
            assert.deepEqual([outcome, got], ['ignored', detail], id);
        }
        for (const type of ['file.created', 'customer.authroization.succeeded', 'new.kind']) {
            const answer = await paypay.notify({ notification_type: type, notification_id: `id-${type}`, merchant_order_id: asHex(card.id) });
            assert.deepEqual(await settled(server, answer).then(({ outcome, detail }) => [outcome, detail]), ['ignored', null], type);
        }
        assert.deepEqual(await standing(server, card), before);
    });

    test('W8 W6 what cannot be read is acknowledged, kept byte for byte, and a dead letter', async (t) => {
        const { server, paypay } = await open(t, store);
        const bodies = ['', 'not json', '[]', '"x"', 'null', '{"a":1', '{}', '{"notification_type":7e400}', '{"a":1,"a":2}', '\u0000', '{"notification_type":"a b"}'];
        for (const body of bodies) {
            const answer = await paypay.notify(body);
            assert.equal(answer.status, 200, body);
            assert.equal((await settled(server, answer)).outcome, 'dead', body);
            assert.equal(Buffer.from((await server.db.event(answer.headers['x-event-id'])).body, 'hex').toString(), body);
        }
        const letters = await server.db.dead();
        assert.equal(letters.length, new Set(bodies).size);
        assert.ok(letters.every(({ kind }) => kind === 'paypay.refetch'));
        assert.equal(await agrees(server.db), letters.length);
        const { body } = await server.call('GET', '/api/v1/admin/dlq?kind=paypay.refetch', { as: 'admin' });
        assert.equal(body.data[0].eventId, body.data[0].ref);
        const retried = await server.call('POST', `/api/v1/admin/dlq/${body.data[0].id}/retry`, { as: 'admin' });
        assert.equal(retried.status, 422, retried.text);
        const large = await paypay.notify(JSON.stringify({ notification_type: 'x'.repeat(300_000) }));
        assert.equal(large.status, 413);
    });

    test('W8 PayPay cannot be asked: tried again, then a dead letter that an operator retries', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const payment = await paypay.pending();
        await paypay.pays(payment);
        await paypay.faults({ fault: 'maintenance', times: 1000 });
        const answer = await paypay.notify(notice(payment));
        const id = answer.headers['x-event-id'];
        await until('it is dead', async () => {
            await server.advance(2000);
            return (await server.db.outcome(id))?.outcome === 'dead';
        }, 60_000);
        const [letter] = await server.db.dead();
        assert.deepEqual([letter.kind, letter.ref], ['paypay.refetch', id]);
        await paypay.faults();
        const retried = await server.call('POST', '/api/v1/admin/dlq/retry', { as: 'admin', body: { filter: { kind: 'paypay.refetch' } } });
        assert.equal(retried.status, 200, retried.text);
        await until('it was applied', async () => ['applied', 'superseded'].includes((await server.db.outcome(id))?.outcome));
        await paypay.is(payment, 'AUTHORIZED');
    });

    test('W8 only who is allowed may knock; behind a trusted proxy the client counts', async (t) => {
        const { server, paypay } = await open(t, store, {
            env: { ICHIDO_PAYPAY_ALLOW: '52.192.112.175,13.208.0.0/16', ICHIDO_TRUSTED_PROXIES: '127.0.0.1' },
        });
        const rows = [['52.192.112.175', 200], ['13.208.67.224', 200], ['52.192.112.176', 403], ['52.192.112.175, 9.9.9.9', 403], [undefined, 403], ['nonsense', 403]];
        let refused = 0;
        for (const [from, status] of rows) {
            const answer = await paypay.notify(notice('x', { notification_id: uuid() }), from ? { 'X-Forwarded-For': from } : {});
            assert.equal(answer.status, status, from);
            refused += status === 403;
        }
        assert.equal(await server.db.count('webhook_events'), 2);
        assert.equal((await server.metrics()).get('ichido_webhook_rejected_total', { reason: 'address' }), refused);
        await server.advance(61_000);
        await until('an audit row', async () => {
            const found = await server.db.audit(`operation = 'WEBHOOK_REJECTED'`);
            return found.length && found.every(({ subject }) => subject === 'paypay') && found.reduce((sum, { times }) => sum + times, 0) === refused;
        });
        const wrong = launch(t, undefined, { env: { ...ROUTES, ICHIDO_PAYPAY_ALLOW: '1.2.3.4/99' } });
        assert.equal((await wrong.exit).code, 2);
        assert.match(wrong.stderr, /ICHIDO_PAYPAY_ALLOW/);
    });

    test('W8 in production an empty list lets nobody in, and the start says so', async (t) => {
        const server = await start(t, store, { env: {
            ICHIDO_MODE: 'production', ICHIDO_GATEWAY: 'paypay', ICHIDO_TEST_CLOCK: undefined, ICHIDO_SANDBOX_LISTEN: undefined,
            ICHIDO_SANDBOX_DB: undefined, STRIPE_WEBHOOK_SECRET: undefined, PAYPAY_API_KEY: 'a_production', PAYPAY_API_SECRET: 'production-secret-0123456789',
            PAYPAY_MERCHANT_ID: '1', PAYPAY_API_BASE: 'https://paypay.invalid',
        } });
        assert.ok(server.lines.some(({ level, message }) => level === 'warn' && /^ICHIDO_PAYPAY_ALLOW is empty/.test(message)), server.tail());
        const answer = await new PayPay(server).notify(notice('x'));
        assert.equal(answer.status, 403);
        assert.equal(await server.db.count('webhook_events'), 0);
    });

    test('W8 there is no door where the gateway is not set up', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_ROUTES: 'card=sandbox' } });
        const answer = await server.request({ method: 'POST', path: PAYPAY_WEBHOOK, headers: { 'Content-Type': 'application/json' } }, '{}');
        assert.equal(answer.status, 404);
    });

    test('W8 P8 a Stripe event that names a PayPay payment moves nothing: a person looks at it', async (t) => {
        const { server, paypay } = await open(t, store, { webhooks: false });
        const payment = await paypay.pending();
        const before = await standing(server, payment);
        const intent = {
            id: `pi_${uuid()}`, object: 'payment_intent', amount: 1200, amount_received: 1200, currency: 'jpy', status: 'succeeded',
            metadata: { payment_id: payment.id }, latest_charge: null,
        };
        const rows = [
            ['payment_intent.succeeded', intent], ['payment_intent.canceled', { ...intent, status: 'canceled', amount_received: 0 }],
            ['payment_intent.succeeded', { ...intent, id: payment.gatewayTransactionId }],
            ['charge.succeeded', { id: 'ch_1', object: 'charge', amount: 1200, currency: 'jpy', captured: true, status: 'succeeded', payment_intent: intent.id, metadata: intent.metadata }],
            ['refund.created', { id: 're_1', object: 'refund', amount: 1200, currency: 'jpy', status: 'succeeded', payment_intent: payment.gatewayTransactionId, metadata: {} }],
        ];
        for (const [type, object] of rows) {
            const event = { id: `evt_${uuid()}`, object: 'event', type, livemode: false, created: server.nowSeconds(), data: { object } };
            assert.equal((await server.deliver(event)).status, 204);
            const { outcome, detail } = await server.settled(event.id);
            assert.equal(outcome, 'dead', type);
            assert.match(detail, /another gateway/);
        }
        assert.deepEqual(await standing(server, payment), before);
        await paypay.pays(payment);
        await server.advance(5000);
        await paypay.is(payment, 'AUTHORIZED');
    });

    test('G2 P7 a capture that waits for its customer for hours is not given up', async (t) => {
        const { server, peer } = await scripted(t, store);
        let captured = false;
        let asked = false;
        const payment = (id) => success({
            paymentId: '0451', status: captured ? 'COMPLETED' : 'AUTHORIZED', merchantPaymentId: id, amount: { amount: 1200, currency: 'JPY' },
            acceptedAt: server.nowSeconds(), captures: { data: asked ? [{
                merchantCaptureId: asked, amount: { amount: 900, currency: 'JPY' }, status: captured ? 'COMPLETED' : 'USER_REQUESTED',
            }] : [] },
        });
        peer.answer = (ask, body) => {
            if (ask.url === '/v2/codes') return code(server, body);
            if (ask.method === 'GET') return payment(ask.url.split('/').pop());
            asked = body.merchantCaptureId;
            return { status: 202, text: { resultInfo: { code: 'USER_CONFIRMATION_REQUIRED', message: 'm', codeId: '08300103' }, data: null } };
        };
        const one = await server.paid({ paymentMethodType: 'paypay' });
        const held = await new PayPay(server).is(one, 'AUTHORIZED', 1000);
        const key = uuid();
        assert.equal((await server.capture(held, 900, { key })).status, 502);
        for (let i = 0; i < 6; i++) {
            await server.advance(10 * MINUTE);
            await until('it was asked for', async () => (await server.db.messages()).some((m) => m.kind === 'op' && m.due_at > (server.nowSeconds() - 1) * 1000));
        }
        assert.equal((await server.void(held)).status, 503, 'it has no outcome yet');
        captured = true;
        assert.equal((await new PayPay(server).is(one, 'CAPTURED', MINUTE)).capturedAmount, 900);
        const again = await server.capture(held, 900, { key });
        assert.deepEqual([again.status, again.body.capturedAmount], [200, 900]);
    });

    test('G2 a PayPay that answers nonsense is never a success', async (t) => {
        const { server, peer } = await scripted(t, store);
        const answers = [
            () => ({ status: 200, text: '<html>ok</html>' }), () => ({ status: 200, text: '{"resultInfo":{"code":"SUCC' }),
            () => ({ status: 302, headers: { Location: '/v2/codes' }, text: '' }), () => ({}), () => ({ status: 500, text: '' }),
            (ask, body) => code(server, body, { amount: { amount: 1200, currency: 'USD' } }), (ask, body) => code(server, body, { amount: { amount: 1, currency: 'JPY' } }),
            (ask, body) => code(server, body, { merchantPaymentId: 'other' }), (ask, body) => code(server, body, { url: undefined }),
        ];
        for (const [i, one] of answers.entries()) {
            peer.answer = one;
            const booking = await server.booking();
            const got = await server.pay(booking, { paymentMethodType: 'paypay' });
            assert.ok([502, 504].includes(got.status), `${i}: ${got.text}`);
            assert.equal((await server.payment(got.body.paymentId, booking.userId)).body.status, 'PENDING', `${i}`);
        }
    });
});
