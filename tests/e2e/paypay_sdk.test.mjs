// The sandbox's PayPay, judged by PayPay's own SDK (T3, G3).
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import { assert, fresh, launch, nowSeconds, start, stores, test, until } from './lib/harness.mjs';
import { ask } from './lib/sandbox.mjs';
import { KEYS, meet, open, PAYPAY, PAYPAY_ENV, says, shiftClock } from './lib/paypay_sandbox.mjs';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
let count = 0;
const newId = (what = 'pay') => `e2e-${what}-${process.pid}-${count++}`;
const yen = (amount) => ({ amount, currency: 'JPY' });

const code = (more = {}) => ({
    merchantPaymentId: newId(), amount: yen(1200), codeType: 'ORDER_QR', orderDescription: '抹茶ケーキ',
    isAuthorization: false, redirectUrl: 'https://shop.example/back?order=1', redirectType: 'WEB_LINK', ...more,
});
const order = (more = {}) => ({
    merchantPaymentId: newId(), userAuthorizationId: `ua-${newId('user')}`, amount: yen(500), ...more,
});
const capture = (merchantPaymentId, amount, more = {}) => ({
    merchantPaymentId, merchantCaptureId: newId('capture'), amount: yen(amount), orderDescription: '発送済み', ...more,
});
const refund = (paymentId, amount, more = {}) => ({
    merchantRefundId: newId('refund'), paymentId, amount: yen(amount), reason: '返品', ...more,
});
const revert = (paymentId, more = {}) => ({ merchantRevertId: newId('revert'), paymentId, reason: '取消', ...more });

async function paid(one, more) {
    const wanted = code(more);
    await says(one.paypay.qrCodeCreate(wanted), 201, 'SUCCESS');
    return one.control.pay(wanted.merchantPaymentId);
}
const authorized = (one, amount = 1000, more = {}) =>
    says(one.paypay.paymentPreauthorize(order({ amount: yen(amount), ...more })), 201, 'SUCCESS');

// Calls are signed with the sandbox's time, which the test moves.
async function advance(t, one, ms) {
    await one.server.advance(ms);
    one.offset = (one.offset ?? 0) + ms;
    shiftClock(t, ms);
}

// The sandbox's own file, past the sandbox.
const sqlite = (one, sql) => execFileSync('sqlite3', ['-cmd', '.timeout 5000', path.join(one.server.db.folder, 'sandbox.db'), sql],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

// --- codes ---

test('T3 the SDK makes a code, its user pays, and the details say so', async (t) => {
    const { paypay, control } = await open(t);
    const item = { name: '抹茶', category: 'food', quantity: 2, productId: 'p1', unitPrice: yen(600) };
    const wanted = code({
        orderItems: [item], metadata: { a: [1, '二'] }, storeInfo: 'Tokyo', storeId: 's1', terminalId: 't1', userAgent: 'UA',
    });
    const made = await says(paypay.qrCodeCreate(wanted), 201, 'SUCCESS', '08100001');
    assert.match(made.codeId, /^04-[0-9A-Za-z]{16}$/);
    assert.match(made.url, /^http:\/\/127\.0\.0\.1:\d+\/_sandbox\/paypay_code\/04-/);
    assert.ok(made.deeplink.startsWith('paypay://payment?link_key='));
    assert.ok(Math.abs(made.expiryDate - nowSeconds() - 300) < 30, 'five minutes');
    const { unitPrice, ...rest } = item;
    assert.deepEqual(made.orderItems, [{ ...rest, unit_price: unitPrice }], 'the echo says unit_price');
    for (const name of ['merchantPaymentId', 'amount', 'codeType', 'orderDescription', 'metadata', 'storeInfo',
        'storeId', 'terminalId', 'redirectUrl', 'redirectType', 'isAuthorization', 'userAgent', 'requestedAt'])
        assert.deepEqual(made[name], wanted[name], name);

    await says(paypay.getCodePaymentDetails([wanted.merchantPaymentId]), 400, 'DYNAMIC_QR_PAYMENT_NOT_FOUND', '01652075');
    await says(paypay.getPaymentDetails([wanted.merchantPaymentId]), 404, 'RESOURCE_NOT_FOUND', '00200001');
    const again = await paypay.qrCodeCreate({ ...wanted });
    assert.equal(await says(Promise.resolve(again), 400, 'DUPLICATE_DYNAMIC_QR_REQUEST', '01652073'), null);
    assert.ok(!again.BODY.toString().includes(made.codeId), 'the url is never told again');

    await control.pay(wanted.merchantPaymentId);
    const details = await says(paypay.getCodePaymentDetails([wanted.merchantPaymentId]), 200, 'SUCCESS');
    assert.equal(details.status, 'COMPLETED');
    assert.match(details.paymentId, /^0\d{19}$/);
    assert.deepEqual(details.amount, yen(1200));
    assert.deepEqual(details.orderItems, [item], 'details say unitPrice');
    assert.deepEqual(details.metadata, { a: [1, '二'] });
    assert.deepEqual(details.refunds, { data: [] });
    assert.equal(details.assumeMerchant, KEYS.merchantId);
    assert.ok(Math.abs(details.acceptedAt - nowSeconds()) < 60, 'seconds');
    assert.deepEqual(await says(paypay.getPaymentDetails([wanted.merchantPaymentId]), 200, 'SUCCESS'), details);
    await says(paypay.qrCodeDelete([made.codeId]), 400, 'DYNAMIC_QR_ALREADY_PAID', '01652074');
    const { payments, totals } = await control.books();
    assert.equal(payments.length, 1);
    assert.deepEqual([totals.captured, totals.refunded, totals.net, totals.held], [1200, 0, 1200, 0]);
});

test('T3 the functions that the SDK exports work as its README has them', async (t) => {
    const { sdk, control } = await open(t);
    PAYPAY.Configure({ ...KEYS, conf: (await sdk()).config });
    const wanted = code({ isAuthorization: true });
    const id = wanted.merchantPaymentId;
    const say = console.log;
    console.log = () => {}; // it explains every refusal
    t.atEnd(() => { console.log = say; });
    await says(PAYPAY.QRCodeCreate(wanted), 201, 'SUCCESS');
    await control.pay(id);
    const held = await says(PAYPAY.GetCodePaymentDetails([id]), 200, 'SUCCESS');
    assert.equal(held.status, 'AUTHORIZED');
    const done = await says(PAYPAY.PaymentAuthCapture(capture(id, 1200)), 200, 'SUCCESS');
    assert.equal(done.status, 'COMPLETED');
    const back = await says(PAYPAY.PaymentRefund(refund(held.paymentId, 200)), 201, 'SUCCESS');
    assert.equal(back.status, 'REFUNDED');
    await says(PAYPAY.GetRefundDetails([back.merchantRefundId]), 200, 'SUCCESS');
    await says(PAYPAY.GetPaymentDetails([id]), 200, 'SUCCESS');
    const other = await says(PAYPAY.PaymentPreauthorize(order()), 201, 'SUCCESS');
    assert.equal((await says(PAYPAY.PaymentAuthRevert(revert(other.paymentId)), 200, 'SUCCESS')).status, 'CANCELED');
    const direct = await says(PAYPAY.CreatePayment(order({ amount: yen(70) })), 201, 'SUCCESS');
    assert.equal(await says(PAYPAY.PaymentCancel([direct.merchantPaymentId]), 202, 'REQUEST_ACCEPTED', '08100001'), null);
    const spare = await says(PAYPAY.QRCodeCreate(code()), 201, 'SUCCESS');
    assert.deepEqual(await says(PAYPAY.QRCodeDelete([spare.codeId]), 200, 'SUCCESS'), { qrStatus: 'DELETED' });
    await says(PAYPAY.QRCodeDelete([spare.codeId]), 404, 'DYNAMIC_QR_NOT_FOUND');
});

test('T3 a code that is deleted, failed or too old pays nobody', async (t) => {
    const one = await open(t);
    const { paypay, control, port } = one;
    const pays = async (id, act = 'pay') => (await ask(port, 'POST', `/_sandbox/paypay/${id}/${act}`)).status;

    const gone = code();
    const { codeId } = await says(paypay.qrCodeCreate(gone), 201, 'SUCCESS');
    assert.deepEqual(await says(paypay.qrCodeDelete([codeId]), 200, 'SUCCESS'), { qrStatus: 'DELETED' });
    await says(paypay.qrCodeDelete([codeId]), 404, 'DYNAMIC_QR_NOT_FOUND', '01652072');
    await says(paypay.qrCodeDelete(['04-nobody']), 404, 'DYNAMIC_QR_NOT_FOUND');
    assert.equal(await pays(gone.merchantPaymentId), 422);
    await says(paypay.qrCodeCreate(gone), 400, 'DUPLICATE_DYNAMIC_QR_REQUEST');

    const failed = code();
    const used = await says(paypay.qrCodeCreate(failed), 201, 'SUCCESS');
    assert.equal((await control.fail(failed.merchantPaymentId)).status, 'FAILED');
    assert.equal((await says(paypay.getCodePaymentDetails([failed.merchantPaymentId]), 200, 'SUCCESS')).status, 'FAILED');
    assert.equal(await pays(failed.merchantPaymentId), 422);
    await says(paypay.qrCodeDelete([used.codeId]), 404, 'DYNAMIC_QR_NOT_FOUND');

    const old = code();
    const late = await says(paypay.qrCodeCreate(old), 201, 'SUCCESS');
    await advance(t, one, 5 * MINUTE);
    assert.equal(await pays(old.merchantPaymentId), 422);
    await until('its row says so, too', () =>
        sqlite(one, `SELECT status FROM sandbox_paypay_codes WHERE id = '${late.codeId}'`) === 'expired');
    assert.equal(await pays(old.merchantPaymentId, 'fail'), 422);
    await says(paypay.getCodePaymentDetails([old.merchantPaymentId]), 400, 'DYNAMIC_QR_PAYMENT_NOT_FOUND');
    await says(paypay.qrCodeDelete([late.codeId]), 404, 'DYNAMIC_QR_NOT_FOUND');
    assert.equal(await pays('nobody'), 404);
    assert.deepEqual((await control.books()).totals,
        { payments: 1, held: 0, captured: 0, refunded: 0, net: 0, refunds: 0 });
});

// --- by a user authorization ---

test('T3 the SDK pays by a user authorization, and a repeat changes nothing', async (t) => {
    const { paypay, control } = await open(t);
    const wanted = order({ orderReceiptNumber: 'r1', metadata: { x: 1 } });
    const made = await says(paypay.createPayment(wanted), 201, 'SUCCESS');
    assert.equal(made.status, 'COMPLETED');
    assert.equal(made.userAuthorizationId, wanted.userAuthorizationId);
    assert.equal(made.orderReceiptNumber, 'r1');
    const again = await says(paypay.createPayment(wanted), 200, 'SUCCESS');
    assert.equal(again.paymentId, made.paymentId);
    await says(paypay.createPayment({ ...wanted, amount: yen(501) }), 400, 'INVALID_PARAMS');
    await says(paypay.paymentPreauthorize(wanted), 400, 'INVALID_PARAMS');
    await says(paypay.qrCodeCreate(code({ merchantPaymentId: wanted.merchantPaymentId })), 400, 'DUPLICATE_DYNAMIC_QR_REQUEST');
    const taken = code();
    await says(paypay.qrCodeCreate(taken), 201, 'SUCCESS');
    await says(paypay.createPayment(order({ merchantPaymentId: taken.merchantPaymentId })), 400, 'INVALID_PARAMS');
    await says(paypay.getCodePaymentDetails([wanted.merchantPaymentId]), 400, 'DYNAMIC_QR_PAYMENT_NOT_FOUND');
    const many = await Promise.all(Array.from({ length: 20 }, () => paypay.createPayment({ ...wanted })));
    assert.deepEqual([...new Set(many.map((a) => a.BODY.data.paymentId))], [made.paymentId]);
    assert.equal((await control.books()).totals.captured, 500);
});

test('T3 the same user and amount within five minutes is suspected, unless it is meant', async (t) => {
    const one = await open(t);
    const { paypay } = one;
    const first = order();
    const next = () => ({ ...first, merchantPaymentId: newId() });
    await says(paypay.createPayment(first), 201, 'SUCCESS');
    await says(paypay.createPayment(next()), 400, 'SUSPECTED_DUPLICATE_PAYMENT');
    await says(paypay.createPayment(next(), false), 400, 'SUSPECTED_DUPLICATE_PAYMENT');
    await says(paypay.paymentPreauthorize(next()), 400, 'SUSPECTED_DUPLICATE_PAYMENT');
    await says(paypay.createPayment({ ...next(), amount: yen(501) }), 201, 'SUCCESS');
    await says(paypay.createPayment({ ...next(), userAuthorizationId: 'ua-other' }), 201, 'SUCCESS');
    await says(paypay.createPayment(next(), true), 201, 'SUCCESS');
    const refused = next();
    await says(paypay.createPayment(refused), 400, 'SUSPECTED_DUPLICATE_PAYMENT');
    await says(paypay.getPaymentDetails([refused.merchantPaymentId]), 404, 'RESOURCE_NOT_FOUND');
    await advance(t, one, 5 * MINUTE);
    await says(paypay.createPayment(next()), 201, 'SUCCESS');
});

test('T3 every kind of user that cannot pay gets his own code', async (t) => {
    const { paypay, control } = await open(t);
    const rows = [
        ['ua-unknown', 401, 'INVALID_USER_AUTHORIZATION_ID', false], ['nobody', 401, 'INVALID_USER_AUTHORIZATION_ID', false],
        ['ua-expired', 401, 'EXPIRED_USER_AUTHORIZATION_ID', false], ['ua-inactive', 401, 'USER_STATE_IS_NOT_ACTIVE', false],
        ['ua-out-of-scope', 401, 'OP_OUT_OF_SCOPE', false], ['ua-no-method', 404, 'NO_VALID_PAYMENT_METHOD', false],
        ['ua-method-gone', 404, 'PAYMENT_METHOD_NOT_FOUND', false],
        ['ua-unsupported', 400, 'UNSUPPORTED_PAYMENT_METHOD', false], ['ua-canceled', 400, 'CANCELED_USER', false],
        ['ua-no-fund', 400, 'NO_SUFFICIENT_FUND', true], ['ua-limit', 400, 'UNACCEPTABLE_OP', true],
        ['ua-failed', 500, 'TRANSACTION_FAILED', true],
    ];
    for (const [user, status, code_, leaves] of rows) {
        for (const call of ['createPayment', 'paymentPreauthorize']) {
            const wanted = order({ userAuthorizationId: user });
            await says(paypay[call](wanted), status, code_);
            if (!leaves) {
                await says(paypay.getPaymentDetails([wanted.merchantPaymentId]), 404, 'RESOURCE_NOT_FOUND');
                continue;
            }
            const found = await says(paypay.getPaymentDetails([wanted.merchantPaymentId]), 200, 'SUCCESS');
            assert.equal(found.status, 'FAILED', user);
            const again = await says(paypay[call](wanted), 200, 'SUCCESS');
            assert.equal(again.status, 'FAILED', 'a repeat tries nothing again');
            await says(paypay.paymentRefund(refund(found.paymentId, 1)), 400, 'UNACCEPTABLE_OP', '00200013');
        }
    }
    await says(paypay.paymentPreauthorize(order({ userAuthorizationId: 'ua-no-preauth' })), 400,
        'PRE_AUTH_CAPTURE_UNSUPPORTED_MERCHANT');
    assert.deepEqual((await control.books()).totals.captured, 0);
});

// --- authorizations ---

test('T3 an authorization is captured once, for all or less', async (t) => {
    const { paypay, control } = await open(t);
    const held = await authorized({ paypay });
    const id = held.merchantPaymentId;
    assert.equal(held.status, 'AUTHORIZED');
    assert.ok(held.expiresAt > nowSeconds() + 29 * 86400 && held.authorizedAt > 0);
    assert.deepEqual((await control.books()).totals.held, 1000);
    await says(paypay.paymentAuthCapture(capture(id, 1001)), 400, 'HIGHER_CAPTURE_NOT_PERMITTED', '00400062');
    await says(paypay.paymentAuthCapture(capture('nobody', 1)), 404, 'RESOURCE_NOT_FOUND');
    const wanted = capture(id, 700);
    const done = await says(paypay.paymentAuthCapture(wanted), 200, 'SUCCESS');
    assert.equal(done.status, 'COMPLETED');
    const [taken, ...none] = done.captures.data;
    assert.deepEqual(none, []);
    assert.deepEqual([taken.merchantCaptureId, taken.amount, taken.status, taken.orderDescription],
        [wanted.merchantCaptureId, yen(700), 'COMPLETED', '発送済み']);
    await says(paypay.paymentAuthCapture(wanted), 400, 'ALREADY_CAPTURED', '00200039');
    await says(paypay.paymentAuthCapture(capture(id, 300)), 400, 'ALREADY_CAPTURED');
    await says(paypay.paymentAuthRevert(revert(held.paymentId)), 400, 'ORDER_NOT_CANCELABLE', '00200042');
    await says(paypay.paymentRefund(refund(held.paymentId, 701)), 400, 'INVALID_PARAMS', '00200015');
    await says(paypay.paymentRefund(refund(held.paymentId, 700)), 201, 'SUCCESS');
    assert.equal((await says(paypay.getPaymentDetails([id]), 200, 'SUCCESS')).status, 'REFUNDED');
    await says(paypay.paymentAuthCapture(capture(id, 1)), 400, 'ALREADY_CAPTURED');

    const direct = await says(paypay.createPayment(order()), 201, 'SUCCESS');
    await says(paypay.paymentAuthCapture(capture(direct.merchantPaymentId, 1)), 400, 'ORDER_NOT_CAPTURABLE', '00200035');
    const other = await authorized({ paypay });
    await says(paypay.paymentAuthCapture({ ...wanted, merchantPaymentId: other.merchantPaymentId }), 400, 'INVALID_PARAMS');
    const both = await Promise.all(Array.from({ length: 10 }, () =>
        paypay.paymentAuthCapture(capture(other.merchantPaymentId, 600))));
    assert.deepEqual(both.map((a) => a.BODY.resultInfo.code).sort(),
        [...Array(9).fill('ALREADY_CAPTURED'), 'SUCCESS']);
    assert.deepEqual((await control.books()).totals,
        { payments: 3, held: 0, captured: 700 + 500 + 600, refunded: 700, net: 1100, refunds: 1 });
});

test('T3 an authorization is given back once, and is then nothing', async (t) => {
    const { paypay, control } = await open(t);
    const held = await authorized({ paypay });
    const wanted = revert(held.paymentId);
    const back = await says(paypay.paymentAuthRevert(wanted), 200, 'SUCCESS');
    assert.equal(back.status, 'CANCELED');
    assert.equal(back.paymentId, held.paymentId);
    await says(paypay.paymentAuthRevert(wanted), 400, 'ORDER_NOT_CANCELABLE');
    await says(paypay.paymentAuthRevert(revert('00000000000000000000')), 404, 'RESOURCE_NOT_FOUND');
    await says(paypay.paymentAuthCapture(capture(held.merchantPaymentId, 1)), 400, 'ORDER_NOT_CAPTURABLE');
    await says(paypay.paymentRefund(refund(held.paymentId, 1)), 400, 'UNACCEPTABLE_OP', '00200013');
    const details = await says(paypay.getPaymentDetails([held.merchantPaymentId]), 200, 'SUCCESS');
    assert.deepEqual([details.status, details.revert.merchantRevertId, details.revert.reason],
        ['CANCELED', wanted.merchantRevertId, '取消']);
    assert.ok(details.canceledAt > 0);
    const other = await authorized({ paypay });
    await says(paypay.paymentAuthRevert({ ...wanted, paymentId: other.paymentId }), 400, 'INVALID_PARAMS');
    assert.deepEqual((await control.books()).totals.held, 1000);
});

test('T3 an authorization ends at its time, by itself', async (t) => {
    const one = await open(t);
    const { paypay, control } = one;
    const soon = nowSeconds() + 3600;
    const held = await authorized({ paypay }, 1000, { expiresAt: soon });
    assert.equal(held.expiresAt, soon);
    const byCode = await paid(one, { isAuthorization: true, authorizationExpiry: soon });
    assert.deepEqual([byCode.status, byCode.expiresAt], ['AUTHORIZED', soon]);
    for (const wrong of [nowSeconds() - 10, nowSeconds() + 31 * 86400]) {
        await says(paypay.paymentPreauthorize(order({ expiresAt: wrong })), 400, 'PRE_AUTH_CAPTURE_INVALID_EXPIRY_DATE', '00400061');
        await says(paypay.qrCodeCreate(code({ isAuthorization: true, authorizationExpiry: wrong })), 400,
            'PRE_AUTH_CAPTURE_INVALID_EXPIRY_DATE');
    }
    await advance(t, one, HOUR);
    await until('both are expired', async () =>
        (await control.books()).payments.every((p) => p.status === 'EXPIRED')); // nobody asked for them
    await says(paypay.paymentAuthCapture(capture(held.merchantPaymentId, 1)), 400, 'ORDER_EXPIRED', '00200043');
    await says(paypay.paymentAuthRevert(revert(held.paymentId)), 400, 'ORDER_EXPIRED');
    await says(paypay.paymentCancel([held.merchantPaymentId]), 400, 'ORDER_NOT_REVERSIBLE');
    assert.equal((await says(paypay.getCodePaymentDetails([byCode.merchantPaymentId]), 200, 'SUCCESS')).status, 'EXPIRED');
    assert.equal((await control.books()).totals.held, 0);
});

test('T3 a capture may wait for its user, who says yes, no or nothing', async (t) => {
    const one = await open(t);
    const { paypay, control } = one;
    await control.switches({ confirm_capture: true });
    const ask_ = async (amount = 1000) => {
        const held = await authorized({ paypay });
        const data = await says(paypay.paymentAuthCapture(capture(held.merchantPaymentId, amount)), 202,
            'USER_CONFIRMATION_REQUIRED', '08300103');
        assert.equal(data.status, 'REAUTHORIZING');
        assert.equal(data.captures.data[0].status, 'USER_REQUESTED');
        assert.ok(data.captures.data[0].expiresAt > nowSeconds());
        await says(paypay.paymentAuthCapture(capture(held.merchantPaymentId, 1)), 400, 'REAUTHORIZATION_IN_PROGRESS', '00200038');
        await says(paypay.paymentAuthRevert(revert(held.paymentId)), 400, 'REAUTHORIZATION_IN_PROGRESS');
        await says(paypay.paymentCancel([held.merchantPaymentId]), 400, 'REAUTHORIZATION_IN_PROGRESS');
        return held.merchantPaymentId;
    };
    const yes = await ask_(900);
    assert.equal((await control.pay(yes)).status, 'COMPLETED');
    const details = await says(paypay.getPaymentDetails([yes]), 200, 'SUCCESS');
    assert.deepEqual([details.captures.data[0].status, details.captures.data[0].expiresAt], ['COMPLETED', undefined]);
    const no = await ask_();
    const after = await control.fail(no);
    assert.deepEqual([after.status, after.captures.data], ['AUTHORIZED', []]);
    const nothing = await ask_();
    await advance(t, one, 10 * MINUTE);
    await until('it is authorized again', async () =>
        (await control.books(nothing)).payments[0].status === 'AUTHORIZED');
    await control.switches({ confirm_capture: false });
    await says(paypay.paymentAuthCapture(capture(nothing, 1000)), 200, 'SUCCESS');
    const big = await authorized({ paypay }, 9000);
    await says(paypay.paymentAuthCapture(capture(big.merchantPaymentId, 8103)), 202, 'USER_CONFIRMATION_REQUIRED');
    const close = await authorized({ paypay }, 9000, { expiresAt: Math.floor(Date.now() / 1000) + 500 });
    await says(paypay.paymentAuthCapture(capture(close.merchantPaymentId, 8103)), 400, 'TOO_CLOSE_TO_EXPIRY', '00400064');
    assert.deepEqual((await control.books()).totals,
        { payments: 5, held: 1000 + 9000 + 9000, captured: 900 + 1000, refunded: 0, net: 1900, refunds: 0 });
});

// --- back ---

test('T3 a payment is refunded once, or often where the switch says so', async (t) => {
    const one = await open(t);
    const { paypay, control } = one;
    const done = await paid(one);
    const wanted = refund(done.paymentId, 500);
    const first = await says(paypay.paymentRefund(wanted), 201, 'SUCCESS');
    assert.deepEqual([first.status, first.amount, first.paymentId, first.reason, first.merchantRefundId],
        ['REFUNDED', yen(500), done.paymentId, '返品', wanted.merchantRefundId]);
    assert.deepEqual(await says(paypay.paymentRefund(wanted), 200, 'SUCCESS'), first, 'a repeat is the same refund');
    await says(paypay.paymentRefund({ ...wanted, amount: yen(501) }), 400, 'INVALID_PARAMS', '00200004');
    await says(paypay.paymentRefund(refund(done.paymentId, 1)), 400, 'UNACCEPTABLE_OP', '00200014');
    await says(paypay.paymentRefund(refund('0'.repeat(20), 1)), 404, 'RESOURCE_NOT_FOUND');
    await says(paypay.paymentRefund(refund(done.merchantPaymentId, 1)), 404, 'RESOURCE_NOT_FOUND');
    await says(paypay.getRefundDetails(['nobody']), 404, 'NO_SUCH_REFUND_ORDER', '00200018');
    assert.deepEqual(await says(paypay.getRefundDetails([wanted.merchantRefundId]), 200, 'SUCCESS'), first);

    await control.switches({ refunds: 'many' });
    await says(paypay.paymentRefund(refund(done.paymentId, 701)), 400, 'INVALID_PARAMS', '00200015');
    for (let i = 0; i < 19; i++) await says(paypay.paymentRefund(refund(done.paymentId, 10)), 201, 'SUCCESS');
    await says(paypay.paymentRefund(refund(done.paymentId, 10)), 400, 'REFUND_LIMIT_EXCEEDED');
    const details = await says(paypay.getPaymentDetails([done.merchantPaymentId]), 200, 'SUCCESS');
    assert.equal(details.status, 'COMPLETED', 'a part of it is left');
    assert.equal(details.refunds.data.reduce((sum, r) => sum + r.amount.amount, 0), 690);
    const whole = await paid(one);
    await Promise.all(Array.from({ length: 10 }, () => paypay.paymentRefund(refund(whole.paymentId, 1200))));
    assert.equal((await says(paypay.getPaymentDetails([whole.merchantPaymentId]), 200, 'SUCCESS')).status, 'REFUNDED');
    await says(paypay.paymentRefund(refund(whole.paymentId, 1)), 400, 'INVALID_PARAMS', '00200015');
    await says(paypay.paymentCancel([whole.merchantPaymentId]), 400, 'ORDER_NOT_REVERSIBLE', '00200044');
    assert.deepEqual((await control.books()).totals,
        { payments: 2, held: 0, captured: 2400, refunded: 1890, net: 510, refunds: 21 });
});

test('T3 a refund may be CREATED first, and the window for it is 365 days', async (t) => {
    const one = await open(t);
    const { paypay, control } = one;
    await control.switches({ refund_delay_ms: 60_000 });
    const [done, old, late] = [await paid(one), await paid(one), await paid(one)];
    const wanted = refund(done.paymentId, 1200);
    assert.equal((await says(paypay.paymentRefund(wanted), 201, 'SUCCESS')).status, 'CREATED');
    assert.equal((await says(paypay.getRefundDetails([wanted.merchantRefundId]), 200, 'SUCCESS')).status, 'CREATED');
    await advance(t, one, MINUTE);
    await until('it is done', async () =>
        (await says(paypay.getRefundDetails([wanted.merchantRefundId]), 200, 'SUCCESS')).status === 'REFUNDED');
    const noon = Math.floor((old.acceptedAt * 1000 + 9 * HOUR) / DAY) * DAY + 3 * HOUR; // of its day, in Japan
    await advance(t, one, noon + 365 * DAY - Date.now());
    await says(paypay.paymentRefund(refund(old.paymentId, 1200)), 201, 'SUCCESS');
    await advance(t, one, DAY);
    await says(paypay.paymentRefund(refund(late.paymentId, 1200)), 400, 'REFUND_WINDOW_EXCEED');
});

test('T3 a payment is cancelled until 00:14:59 of the next day in Japan', async (t) => {
    const one = await open(t);
    const { paypay, control } = one;
    const [now, later, tooLate, held] =
        [await paid(one), await paid(one), await paid(one), await authorized({ paypay })];
    assert.equal(await says(paypay.paymentCancel([now.merchantPaymentId]), 202, 'REQUEST_ACCEPTED'), null);
    assert.equal((await says(paypay.getPaymentDetails([now.merchantPaymentId]), 200, 'SUCCESS')).status, 'CANCELED');
    await says(paypay.paymentCancel([now.merchantPaymentId]), 202, 'REQUEST_ACCEPTED');
    await says(paypay.paymentRefund(refund(now.paymentId, 1)), 400, 'UNACCEPTABLE_OP', '00200013');
    await says(paypay.paymentCancel([held.merchantPaymentId]), 202, 'REQUEST_ACCEPTED');
    await says(paypay.paymentCancel(['nobody']), 404, 'RESOURCE_NOT_FOUND');
    const unpaid = code();
    await says(paypay.qrCodeCreate(unpaid), 201, 'SUCCESS');
    await says(paypay.paymentCancel([unpaid.merchantPaymentId]), 404, 'RESOURCE_NOT_FOUND');

    const midnight = Math.ceil((Date.now() + 9 * HOUR) / DAY) * DAY - 9 * HOUR; // the next one
    await advance(t, one, midnight + 14 * MINUTE - Date.now());
    await says(paypay.paymentCancel([later.merchantPaymentId]), 202, 'REQUEST_ACCEPTED');
    await advance(t, one, MINUTE);
    await says(paypay.paymentCancel([tooLate.merchantPaymentId]), 400, 'ORDER_NOT_REVERSIBLE', '00200044');
    await says(paypay.paymentRefund(refund(tooLate.paymentId, 1200)), 201, 'SUCCESS');
    assert.deepEqual((await control.books()).totals,
        { payments: 4, held: 0, captured: 1200, refunded: 1200, net: 0, refunds: 1 });
});

test('G3 no payment can hold sums that cannot be, whoever writes them', async (t) => {
    const one = await open(t);
    const done = await paid(one);
    await says(one.paypay.paymentRefund(refund(done.paymentId, 200)), 201, 'SUCCESS');
    const wrong = ['captured = amount + 1', 'captured = -1', 'captured = 0', 'refunded = captured + 1', 'refunded = -1', "status = 'FAILED'",
        "status = 'REFUNDED'", 'refunded = captured', "status = 'PAID'", 'amount = 0', "user_authorization = 'ua-1'", 'code = NULL'];
    for (const change of wrong)
        assert.throws(() => sqlite(one, `UPDATE sandbox_paypay_payments SET ${change}`), /constraint failed/i, change);
    assert.equal((await one.control.books()).totals.net, 1000);
});

// --- who are you, what do you say ---

test('G3 a wrong secret, key, merchant, clock or body is nobody', async (t) => {
    const one = await open(t);
    const { sdk, paypay, control } = one;
    const nobody = async (who) => {
        await says(who.createPayment(order()), 401, 'UNAUTHORIZED', '08100016');
        await says(who.getPaymentDetails(['x']), 401, 'UNAUTHORIZED');
        await says(who.paymentCancel(['x']), 401, 'UNAUTHORIZED');
    };
    await nobody(await sdk({ clientSecret: 'another' }));
    await nobody(await sdk({ clientId: 'another' }));
    await nobody(await sdk({ merchantId: 'another' }));
    await nobody(await sdk({ merchantId: undefined }));
    const changed = await sdk({}, (r) => { r.body = Buffer.from(r.body.toString().replace('500', '5')); });
    await says(changed.createPayment(order()), 401, 'UNAUTHORIZED');
    const elsewhere = await sdk({}, (r) => { r.path = r.path.replace('/v2/payments', '/v2/payments/preauthorize'); });
    await says(elsewhere.createPayment(order()), 401, 'UNAUTHORIZED');
    await nobody(await sdk({}, (r) => { r.method = r.method === 'GET' ? 'DELETE' : 'GET'; }));
    await says((await sdk({}, (r) => { r.headers['content-type'] = 'application/json;charset=UTF-8'; }))
        .createPayment(order()), 401, 'UNAUTHORIZED');
    await nobody(await sdk({}, (r) => { delete r.headers.authorization; }));
    const typed = await sdk({}, (r) => { r.headers['x-assume-merchant'] = 'another'; r.path += `${r.path.includes('?') ? '&' : '?'}assumeMerchant=${KEYS.merchantId}`; });
    await says(typed.getPaymentDetails(['x']), 404, 'RESOURCE_NOT_FOUND');
    await says((await sdk({}, (r) => { r.path += '?assumeMerchant=another'; })).getPaymentDetails(['x']), 401, 'UNAUTHORIZED');
    const agreed = await sdk({}, (r) => { r.path = r.path.replace('=false', '=true'); }); // nobody signs the query
    const first = order();
    await says(agreed.createPayment(first), 201, 'SUCCESS');
    await says(agreed.createPayment({ ...first, merchantPaymentId: newId() }), 201, 'SUCCESS');

    await one.server.advance(3 * MINUTE); // and the SDK's clock stays behind
    await nobody(paypay);
    shiftClock(t, 3 * MINUTE);
    await says(paypay.getPaymentDetails(['x']), 404, 'RESOURCE_NOT_FOUND');
    assert.equal((await control.books()).totals.payments, 2);
});

// Signed as the SDK would sign it, whatever it is.
function signed(port, method, path, body = '', type = 'application/json') {
    const [epoch, nonce] = [Math.floor(Date.now() / 1000), crypto.randomUUID()];
    const kind = body ? type : 'empty';
    const hash = body ? crypto.createHash('md5').update(type).update(body).digest('base64') : 'empty';
    const mac = crypto.createHmac('sha256', KEYS.clientSecret)
        .update([path.split('?')[0], method, nonce, epoch, kind, hash].join('\n')).digest('base64');
    return ask(port, method, path, {
        body, headers: {
            'X-ASSUME-MERCHANT': KEYS.merchantId, ...(body && { 'Content-Type': type }),
            Authorization: `hmac OPA-Auth:${KEYS.clientId}:${mac}:${nonce}:${epoch}:${hash}`,
        },
    });
}

test('G3 what is wrong with a body is refused by its name, and nothing is changed', async (t) => {
    const { port, control } = await open(t);
    const base = {
        '/v2/codes': { ...code(), requestedAt: 1 },
        '/v2/payments': { ...order(), requestedAt: 1 },
        '/v2/payments/preauthorize': { ...order(), requestedAt: 1 },
        '/v2/payments/capture': { ...capture('x', 1), requestedAt: 1 },
        '/v2/payments/preauthorize/revert': { ...revert('x'), requestedAt: 1 },
        '/v2/refunds': { ...refund('x', 1), requestedAt: 1 },
    };
    const refused = async (path, body, field) => {
        const answer = await signed(port, 'POST', path, body);
        const { resultInfo, data } = JSON.parse(answer.text);
        assert.deepEqual([answer.status, resultInfo.code, resultInfo.codeId, data],
            [400, 'INVALID_REQUEST_PARAMS', '08100006', null], `${path} ${body.slice(0, 200)}: ${answer.text}`);
        if (field) assert.equal(resultInfo.message, `Invalid request params: ${field}`);
    };
    const required = {
        '/v2/codes': ['merchantPaymentId', 'amount', 'codeType', 'requestedAt'],
        '/v2/payments': ['merchantPaymentId', 'userAuthorizationId', 'amount', 'requestedAt'],
        '/v2/payments/preauthorize': ['merchantPaymentId', 'userAuthorizationId', 'amount', 'requestedAt'],
        '/v2/payments/capture': ['merchantPaymentId', 'merchantCaptureId', 'amount', 'orderDescription', 'requestedAt'],
        '/v2/payments/preauthorize/revert': ['merchantRevertId', 'paymentId', 'requestedAt'],
        '/v2/refunds': ['merchantRefundId', 'paymentId', 'amount', 'requestedAt'],
    };
    for (const [path, names] of Object.entries(required)) {
        for (const name of names) {
            await refused(path, JSON.stringify({ ...base[path], [name]: undefined }), name);
            await refused(path, JSON.stringify({ ...base[path], [name]: name === 'requestedAt' ? 'x' : 1.5 }), name);
        }
        for (const text of ['{', '[]', 'null', '"x"', '{"a":1,"a":2}', '{"amount":01}', ' ', '\u0000', `{"x":"${'y'.repeat(70)}`])
            await refused(path, text, 'body');
        await refused(path, '', undefined);
    }
    const amounts = ['"10"', '0', '-1', '1.5', '1e3', '100000000000', 'null', '[]', '9999999999999999999999'];
    for (const path of ['/v2/codes', '/v2/payments', '/v2/payments/capture', '/v2/refunds']) {
        for (const amount of amounts)
            await refused(path, JSON.stringify(base[path]).replace(/"amount":\{"amount":\d+/, `"amount":{"amount":${amount}`), 'amount');
        for (const currency of ['USD', 'jpy', '', 'JPYX'])
            await refused(path, JSON.stringify({ ...base[path], amount: { amount: 1, currency } }), 'currency');
    }
    const codes = [
        [{ codeType: 'OTHER' }, 'codeType'], [{ merchantPaymentId: 'x'.repeat(65) }, 'merchantPaymentId'],
        [{ merchantPaymentId: '..' }, 'merchantPaymentId'], [{ merchantPaymentId: 'a\u0001' }, 'merchantPaymentId'],
        [{ merchantPaymentId: '' }, 'merchantPaymentId'], [{ orderDescription: 'あ'.repeat(256) }, 'orderDescription'],
        [{ isAuthorization: 'yes' }, 'isAuthorization'], [{ redirectType: 'POST' }, 'redirectType'],
        [{ redirectUrl: 'javascript:alert(1)' }, 'redirectUrl'], [{ redirectUrl: 'https://x/ y' }, 'redirectUrl'],
        [{ redirectUrl: 'javascript:alert(1)', redirectType: 'APP_DEEP_LINK' }, 'redirectUrl'],
        [{ metadata: 'x' }, 'metadata'], [{ orderItems: {} }, 'orderItems'], [{ orderItems: [1] }, 'orderItems'],
        [{ orderItems: [{ name: 'x', quantity: 0, unitPrice: yen(1) }] }, 'quantity'],
        [{ orderItems: [{ name: 'x', quantity: 1 }] }, 'unitPrice'],
        [{ orderItems: Array(101).fill({ name: 'x', quantity: 1, unitPrice: yen(1) }) }, 'orderItems'],
        [{ authorizationExpiry: -1 }, 'authorizationExpiry'],
    ];
    for (const [change, field] of codes) await refused('/v2/codes', JSON.stringify({ ...base['/v2/codes'], ...change }), field);
    await refused('/v2/payments?agreeSimilarTransaction=maybe', JSON.stringify(base['/v2/payments']), 'agreeSimilarTransaction');
    const large = await signed(port, 'POST', '/v2/codes', JSON.stringify({ ...code(), x: 'y'.repeat(70_000) }));
    assert.equal(large.status, 413);
    assert.equal(JSON.parse(large.text).resultInfo.code, 'INVALID_REQUEST_PARAMS');
    for (const [method, path] of [['GET', '/v2/nothing'], ['DELETE', '/v2/refunds/x'], ['POST', '/v2/wallet/check_balance']]) {
        const answer = await signed(port, method, path, method === 'POST' ? '{}' : '');
        assert.deepEqual([answer.status, JSON.parse(answer.text).resultInfo.code], [404, 'RESOURCE_NOT_FOUND']);
    }
    const strange = await signed(port, 'GET', '/v2/payments/%E6%8A%B9%E8%8C%B6%20%2F'); // signed as it is sent
    assert.equal(strange.status, 404);
    const deep = code({ redirectUrl: 'myshop://back', redirectType: 'APP_DEEP_LINK', requestedAt: 1, merchantPaymentId: '抹茶 1' });
    assert.equal((await signed(port, 'POST', '/v2/codes', JSON.stringify(deep))).status, 201);
    assert.equal((await control.books()).totals.payments, 0);
});

// --- what goes wrong ---

test('G3 every fault that can be asked for happens once, and is done or not as it says', async (t) => {
    const { paypay, control } = await open(t);
    const rows = [
        ['rate_limit', false, [429, 'RATE_LIMIT']], ['maintenance', false, [503, 'MAINTENANCE_MODE']],
        ['not_done', false, [500, 'INTERNAL_SERVER_ERROR']], ['transaction_failed', false, [500, 'TRANSACTION_FAILED']],
        ['out_of_scope', false, [401, 'OP_OUT_OF_SCOPE']], ['client_not_found', false, [404, 'OPA_CLIENT_NOT_FOUND']],
        ['missing_params', false, [400, 'MISSING_REQUEST_PARAMS']], ['qr_bad_request', false, [400, 'DYNAMIC_QR_BAD_REQUEST']],
        ['canceled_user', false, [400, 'CANCELED_USER']], ['lose_request', false, null],
        ['transaction_failed_too', false, [500, 'TRANSACTION_FAILED', '00200003']],
        ['balance_exceeded', false, [500, 'TRANSACTION_FAILED', '00800017']],
        ['lose_reply', true, null], ['internal_error', true, [500, 'INTERNAL_SERVER_ERROR']],
        ['timed_out', true, [500, 'INTERNAL_SERVER_ERROR']], ['service_error', true, [500, 'SERVICE_ERROR']],
        ['html', true, null], ['bad_gateway', true, null], ['gateway_timeout', true, null], ['redirect', true, null],
        ['unavailable', true, 503], ['half', true, null],
        ['hang', true, [201, 'SUCCESS'], 50], ['hang_then_lose', true, null, 50],
    ];
    for (const [fault, done, answer, ms] of rows) {
        const wanted = order();
        await control.fault(fault, { ms });
        if (answer === 503) {
            assert.deepEqual({ ...await paypay.createPayment(wanted) }, { STATUS: 503, BODY: null }, 'without a body');
        } else if (answer) {
            await says(paypay.createPayment(wanted), ...answer);
        } else {
            const lost = await paypay.createPayment(wanted);
            assert.ok(lost.ERROR, `${fault}: ${JSON.stringify(lost)}`);
        }
        assert.deepEqual((await control.switches()).faults, [], 'it is used up');
        const found = await paypay.getPaymentDetails([wanted.merchantPaymentId]);
        assert.equal(found.STATUS, done ? 200 : 404, fault);
        assert.equal((await says(paypay.createPayment(wanted), done ? 200 : 201, 'SUCCESS')).status, 'COMPLETED', fault);
    }
    assert.equal((await control.books()).totals.captured, rows.length * 500, 'each of them once');

    await control.switches({ faults: [
        { fault: 'maintenance', method: 'GET', path: '/v2/payments/*', skip: 1, times: 2 },
        { fault: 'rate_limit', path: '/v2/refunds' },
    ] });
    const one = await says(paypay.createPayment(order({ amount: yen(7) })), 201, 'SUCCESS');
    const get = () => paypay.getPaymentDetails([one.merchantPaymentId]);
    await says(get(), 200, 'SUCCESS');
    await says(get(), 503, 'MAINTENANCE_MODE');
    await says(paypay.getCodePaymentDetails(['x']), 400, 'DYNAMIC_QR_PAYMENT_NOT_FOUND');
    await says(get(), 503, 'MAINTENANCE_MODE');
    await says(get(), 200, 'SUCCESS');
    await says(paypay.paymentRefund(refund(one.paymentId, 7)), 429, 'RATE_LIMIT');
    await says(paypay.paymentRefund(refund(one.paymentId, 7)), 201, 'SUCCESS');
});

test('G3 a misspelt switch is refused, and what is not named stays', async (t) => {
    const { port, control } = await open(t);
    const before = await control.switches({ webhooks: 'duplicate', refunds: 'many' });
    assert.deepEqual(before, {
        webhooks: 'duplicate', webhook_delay_ms: 2000, webhook_url: '', refunds: 'many', refund_delay_ms: 0,
        confirm_capture: false, faults: [],
    });
    const wrong = [
        '', '[]', '{"webhook":"on"}', '{"webhooks":"maybe"}', '{"webhooks":null}', '{"refunds":2}', '{"confirm_capture":1}',
        '{"webhook_url":"ftp://x"}', '{"refund_delay_ms":-1}', '{"faults":{}}', '{"faults":[1]}', '{"faults":[[1]]}', '{"faults":[{}]}',
        '{"faults":[{"fault":"nothing"}]}', '{"faults":[{"fault":"html","time":1}]}', '{"faults":[{"fault":"html","times":0}]}',
        '{"faults":[{"fault":"html","path":"v2"}]}', '{"faults":[{"fault":"hang"}]}', '{"webhooks":"on","webhooks":"off"}',
        `{"faults":[${Array(65).fill('{"fault":"html"}')}]}`,
    ];
    for (const body of wrong) {
        const answer = await ask(port, 'POST', '/_sandbox/paypay/switches', { body, headers: { 'Content-Type': 'application/json' } });
        assert.equal(answer.status, 400, body);
    }
    assert.deepEqual(await control.switches(), before);
});

test('G3 a sandbox that is killed and started again has forgotten nothing', async (t) => {
    const db = await fresh(t, stores[0]);
    const one = await meet(t, await launch(t, db, { env: PAYPAY_ENV }).listening());
    await one.control.switches({ refunds: 'many', webhooks: 'off', faults: [{ fault: 'maintenance', path: '/v2/refunds', times: 2 }] });
    const done = await paid(one);
    const held = await authorized(one);
    const open_ = code();
    await says(one.paypay.qrCodeCreate(open_), 201, 'SUCCESS');
    await says(one.paypay.paymentRefund(refund(done.paymentId, 1)), 503, 'MAINTENANCE_MODE');
    const [switches, books] = [await one.control.switches(), await one.control.books()];
    await one.server.kill();

    const two = await meet(t, await start(t, stores[0], { db, env: PAYPAY_ENV }));
    assert.deepEqual(await two.control.switches(), switches);
    assert.deepEqual(await two.control.books(), books);
    await says(two.paypay.paymentRefund(refund(done.paymentId, 1)), 503, 'MAINTENANCE_MODE');
    await says(two.paypay.paymentRefund(refund(done.paymentId, 1)), 201, 'SUCCESS');
    assert.deepEqual((await says(two.paypay.getPaymentDetails([held.merchantPaymentId]), 200, 'SUCCESS')), held);
    await says(two.paypay.qrCodeCreate(open_), 400, 'DUPLICATE_DYNAMIC_QR_REQUEST');
    assert.equal((await two.control.pay(open_.merchantPaymentId)).status, 'COMPLETED');
    await advance(t, two, 31 * DAY);
    await until('the lapse was not forgotten', async () =>
        (await two.control.books(held.merchantPaymentId)).payments[0].status === 'EXPIRED');
});

test('G3 kill -9 in the middle of many calls leaves each of them done or not done', async (t) => {
    const db = await fresh(t, stores[0]);
    const one = await meet(t, await launch(t, db, { env: PAYPAY_ENV }).listening());
    const wanted = Array.from({ length: 60 }, () => order({ amount: yen(100) }));
    let answered = 0;
    const calls = wanted.map(async (w) => {
        const answer = await one.paypay.createPayment(w);
        if (++answered === 10) one.server.kill();
        return answer;
    });
    const answers = await Promise.all(calls);
    await one.server.exit;
    const two = await meet(t, await start(t, stores[0], { db, env: PAYPAY_ENV }));
    for (const [i, w] of wanted.entries()) {
        const found = await two.paypay.getPaymentDetails([w.merchantPaymentId]);
        assert.ok([200, 404].includes(found.STATUS));
        if (answers[i].STATUS === 201) assert.equal(found.STATUS, 200, 'what was answered is there');
        await says(two.paypay.createPayment(w), found.STATUS === 200 ? 200 : 201, 'SUCCESS');
    }
    assert.equal((await two.control.books()).totals.captured, 6000);
});

// --- people ---

test('G3 the page behind a code pays, fails or closes, in both languages and without a script', async (t) => {
    const { paypay, port } = await open(t);
    const visit = (url, language) => ask(port, 'GET', new URL(url).pathname, { headers: { 'Accept-Language': language } });
    const press = (url, act) => ask(port, 'POST', new URL(url).pathname, {
        body: `act=${act}`, headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    const make = async (more) => {
        const wanted = code(more);
        return { id: wanted.merchantPaymentId, ...await says(paypay.qrCodeCreate(wanted), 201, 'SUCCESS') };
    };
    const first = await make({ orderDescription: '<script>alert("抹茶")</script>' });
    const [ja, en] = [await visit(first.url, 'ja'), await visit(first.url, 'en')];
    assert.match(ja.text, /支払う/);
    assert.match(en.text, />Pay</);
    assert.match(en.text, /¥1,200/);
    for (const page of [ja, en]) {
        assert.equal(page.status, 200);
        assert.ok(!page.text.includes('<script'), 'what a merchant wrote is escaped');
        assert.match(page.headers['content-security-policy'], /default-src 'none'/);
    }
    const done = await press(first.url, 'pay');
    assert.deepEqual([done.status, done.headers.location], [303, 'https://shop.example/back?order=1']);
    assert.equal((await says(paypay.getCodePaymentDetails([first.id]), 200, 'SUCCESS')).status, 'COMPLETED');
    assert.match((await visit(first.url, 'ja')).text, /お支払いは完了しています/);
    const twice = await press(first.url, 'pay');
    assert.equal(new URL(twice.headers.location, first.url).pathname, new URL(first.url).pathname, 'too late: the page says so');
    assert.equal((await press(first.url, 'nothing')).status, 400);
    assert.equal((await ask(port, 'POST', new URL(first.url).pathname, { body: '{}', headers: { 'Content-Type': 'application/json' } })).status, 415);

    const second = await make({});
    assert.equal((await press(second.url, 'cancel')).headers.location, 'https://shop.example/back?order=1');
    await says(paypay.getCodePaymentDetails([second.id]), 400, 'DYNAMIC_QR_PAYMENT_NOT_FOUND');
    assert.equal((await press(second.url, 'fail')).status, 303);
    assert.equal((await says(paypay.getCodePaymentDetails([second.id]), 200, 'SUCCESS')).status, 'FAILED');
    assert.match((await visit(second.url, 'en')).text, /The payment failed/);

    const third = await make({ redirectUrl: undefined, redirectType: undefined });
    assert.equal(new URL((await press(third.url, 'pay')).headers.location, third.url).pathname, new URL(third.url).pathname);
    const fourth = await make({ redirectUrl: undefined, redirectType: undefined });
    await says(paypay.qrCodeDelete([fourth.codeId]), 200, 'SUCCESS');
    assert.match((await visit(fourth.url, 'en')).text, /deleted this code/);
    assert.ok(!(await visit(fourth.url, 'en')).text.includes('<form'));
    assert.equal((await ask(port, 'GET', '/_sandbox/paypay_code/nobody')).status, 404);
});

// --- what is told ---

async function listener(t, one, answer = () => 200) {
    const got = [];
    const server = http.createServer((request, response) => {
        let text = '';
        request.on('data', (part) => { text += part; });
        request.on('end', () => {
            const note = { text, body: JSON.parse(text), headers: request.headers };
            got.push(note);
            const status = answer(note, got.length);
            if (status) response.writeHead(status).end();
        });
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    t.atEnd(async () => {
        server.closeAllConnections();
        await new Promise((resolve) => { server.close(resolve); });
    });
    await one.control.switches({ webhook_url: `http://127.0.0.1:${server.address().port}/hook` });
    return {
        got,
        states: () => got.map((n) => n.body.state),
        count: (n) => until(`${n} notifications`, () => got.length >= n),
    };
}

test('G3 what becomes of a payment is told, unsigned, in the shape that PayPay has', async (t) => {
    const one = await open(t);
    const { paypay, control } = one;
    const { got, states, count: heard } = await listener(t, one);
    const done = await paid(one, { storeId: 's1', terminalId: 't1' });
    await heard(1);
    const [{ body, headers }] = got;
    assert.deepEqual({ ...body, paid_at: undefined }, {
        notification_type: 'Transaction', merchant_id: KEYS.merchantId, store_id: 's1', pos_id: 't1',
        order_id: done.paymentId, merchant_order_id: done.merchantPaymentId, authorized_at: null, expires_at: null,
        paid_at: undefined, confirmation_expires_at: null, order_amount: 1200, state: 'COMPLETED',
    });
    assert.match(body.paid_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+09:00$/);
    assert.equal(Math.floor(Date.parse(body.paid_at) / 1000), done.acceptedAt);
    assert.ok(!Object.keys(headers).some((h) => /sign|auth|stripe/i.test(h)));

    const held = await paid(one, { isAuthorization: true });
    await heard(2);
    assert.equal(got[1].body.order_amount, '1200', 'sometimes a text');
    await says(paypay.paymentAuthCapture(capture(held.merchantPaymentId, 700)), 200, 'SUCCESS');
    await heard(3);
    assert.equal(got[2].body.order_amount, 700);
    await says(paypay.paymentCancel([done.merchantPaymentId]), 202, 'REQUEST_ACCEPTED');
    await heard(4);
    const failed = code();
    await says(paypay.qrCodeCreate(failed), 201, 'SUCCESS');
    await control.fail(failed.merchantPaymentId);
    await heard(5);
    await says(paypay.createPayment(order({ userAuthorizationId: 'ua-no-fund' })), 400, 'NO_SUFFICIENT_FUND'); // not told
    await control.switches({ confirm_capture: true });
    const asked = await authorized(one, 900);
    await heard(6);
    await says(paypay.paymentAuthCapture(capture(asked.merchantPaymentId, 900)), 202, 'USER_CONFIRMATION_REQUIRED');
    await advance(t, one, 11 * MINUTE);
    await heard(7);
    assert.match(got[6].body.confirmation_expires_at, /\+09:00$/);
    await advance(t, one, 31 * DAY);
    await heard(8);
    assert.deepEqual(states(), ['COMPLETED', 'AUTHORIZED', 'COMPLETED', 'CANCELED', 'FAILED', 'AUTHORIZED',
        'EXPIRED_USER_CONFIRMATION', 'EXPIRED']);
    assert.ok(got.every((n) => !('notification_id' in n.body)));
    assert.deepEqual([...new Set(got.map((n) => typeof n.body.order_amount))].sort(), ['number', 'string']);
});

test('G3 the server itself is told where its gateway is PayPay, and nobody else', async (t) => {
    const routed = await open(t, { env: { ICHIDO_ROUTES: 'paypay=paypay', ICHIDO_SANDBOX_WEBHOOKS: 'on' } });
    await says(routed.paypay.createPayment(order()), 201, 'SUCCESS');
    const told = await routed.server.line('it was told', (l) => l.message === 'sandbox paypay notice');
    assert.ok(told.status >= 200 && told.status < 300, JSON.stringify(told));
    for (const env of [{ ICHIDO_ROUTES: 'card=sandbox', ICHIDO_SANDBOX_WEBHOOKS: 'on' }, { ICHIDO_ROUTES: 'paypay=paypay' }]) {
        const other = await open(t, { env });
        await says(other.paypay.createPayment(order()), 201, 'SUCCESS');
        assert.equal(sqlite(other, 'SELECT notices FROM sandbox_paypay_switches'), '0');
    }
});

test('G3 a notification can come twice, late or never', async (t) => {
    const one = await open(t);
    const { control } = one;
    const { got, count: heard } = await listener(t, one);
    await control.switches({ webhooks: 'duplicate' });
    const twice = await paid(one);
    await heard(2);
    assert.equal(got[0].text, got[1].text);
    await control.switches({ webhooks: 'off' });
    const never = await paid(one);
    await control.switches({ webhooks: 'delay', webhook_delay_ms: 60_000 });
    const late = await paid(one);
    await control.switches({ webhooks: 'on' });
    const now = await paid(one);
    await heard(3);
    assert.equal(got[2].body.order_id, now.paymentId);
    await advance(t, one, MINUTE);
    await heard(4);
    assert.equal(got[3].body.order_id, late.paymentId);
    assert.deepEqual(got.map((n) => n.body.order_id), [twice.paymentId, twice.paymentId, now.paymentId, late.paymentId]);
    assert.ok(!got.some((n) => n.body.order_id === never.paymentId));
});

test('G3 a notification is tried three times and then lost for good', async (t) => {
    const one = await open(t);
    let mood = 500;
    const { got, count: heard } = await listener(t, one, () => mood);
    const lost = await paid(one);
    await heard(3);
    mood = 200;
    const next = await paid(one);
    await until('the next one is there', () => got.some((n) => n.body.order_id === next.paymentId));
    await advance(t, one, HOUR);
    mood = 0; // hears it and says nothing
    const silent = await paid(one);
    await until('three tries', () => got.filter((n) => n.body.order_id === silent.paymentId).length === 3);
    mood = 200;
    const last = await paid(one);
    await until('the last one is there', () => got.some((n) => n.body.order_id === last.paymentId));
    const tries = (p) => got.filter((n) => n.body.order_id === p.paymentId).length;
    assert.deepEqual([lost, silent].map(tries), [3, 3]);
});

test('G3 a call that hangs does not keep the sandbox from ending', async (t) => {
    const one = await open(t);
    await one.control.fault('hang', { ms: 100_000 });
    const hanging = one.paypay.createPayment(order());
    await until('it is done', async () => (await one.control.books()).payments.length === 1);
    assert.deepEqual(await one.server.stop(), { code: 0, signal: null }, 'who is held back does not hold back the end');
    assert.ok((await hanging).ERROR);
});
