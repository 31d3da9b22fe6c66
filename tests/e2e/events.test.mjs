// What the provider says moves a payment: once, in any order, however often, and only where it fits
// (E2 E3 E6 E7 D2 D7 D10 D11 D16 D20 D24 P8 W9). Most of these servers get no webhooks by themselves: the
// events are those that the sandbox wrote down, and the test delivers them as it likes.
import {
    CAPTURED, captureThere, dashboard, eventOf, eventsOf, now, retold, silent, strays, tell, tellLong, transaction, types,
} from './lib/events.mjs';
import {
    asHex, assert, event, fresh, forEachStore, paymentIntent, start, unique, until, uuid,
} from './lib/harness.mjs';

const INTENTS = '/v1/payment_intents';
const ASKS = 'pm_card_threeDSecure2Required';
const CLOSED = { path: `${INTENTS}/*/cancel`, statusBefore: 500, times: 100_000 };

// What must be the same whatever the order: rows without ids, times and history.
const PASSING = /(^|_)(id|at|key|secret|url)$|^(version|claim_id|open_op|balance_transaction|subject_id)$/;
const lasting = (row) => Object.fromEntries(Object.entries(row).filter(([name]) => !PASSING.test(name)));
async function finalState(server, payment) {
    const row = await transaction(server, payment);
    const own = await server.db.paymentRow(payment.id);
    const charge = row.stripe_charge_id && row.stripe_charge_id.slice(0, 3);
    return {
        payment: { ...lasting(own), capture_before: own.capture_before !== null },
        transaction: { ...lasting(row), charge, balance: row.balance_transaction !== null, receipt: row.receipt_url !== null,
            succeeded: row.succeeded_at !== null, canceled: row.canceled_at !== null },
        refunds: (await server.db.refundRows(payment.id)).map(lasting),
    };
}

// PENDING with us and asked for 3-D Secure; what happens at the gateway from here on reaches us as events only.
const waiting = (server, changes) => server.paid({ paymentMethod: ASKS }, changes);

forEachStore((store, test) => {
    // --- E2 ---

    test('E2 payment_intent.succeeded captures by amount_received, with its transaction, in one commit', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid({}, { amount: 1000 });
        const before = Date.now();
        await captureThere(server, payment, { amount_to_capture: 700 });
        const told = await eventOf(server, payment, 'payment_intent.succeeded');
        assert.equal((await now(server, payment)).status, 'AUTHORIZED');
        assert.equal((await tell(server, told)).outcome, 'applied');
        const body = await now(server, payment);
        assert.deepEqual([body.status, body.amount, body.capturedAmount], ['CAPTURED', 1000, 700]);
        const row = await transaction(server, payment);
        assert.deepEqual([row.status, row.amount, row.amount_received, row.currency, row.webhook_event_id],
            ['succeeded', 1000, 700, 'JPY', told.id]);
        assert.equal(row.stripe_payment_intent_id, payment.gatewayTransactionId);
        assert.equal(row.stripe_charge_id, told.data.object.latest_charge);
        for (const at of [row.webhook_received_at, row.succeeded_at])
            assert.ok(at >= before && at <= Date.now(), `${at}`);
        assert.deepEqual(await types(server, payment), ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured']);
        const [, , captured] = await server.db.domainEvents(payment.id);
        assert.equal(captured.body.payload.capturedAmount, 700);
        await until('CONFIRMED', async () => (await server.bookingNow(payment.bookingId)).status === 'CONFIRMED');
    });

    test('E2 with ICHIDO_REFETCH=on an event that lies is not believed, a true one is', async (t) => {
        const server = await silent(t, store, { ICHIDO_REFETCH: 'on' });
        const payment = await server.paid();
        const held = await eventOf(server, payment, 'payment_intent.amount_capturable_updated');
        const lie = retold(held, { type: 'payment_intent.succeeded' },
            { status: 'succeeded', amount_received: payment.amount, amount_capturable: 0 });
        await tell(server, lie);
        assert.equal((await now(server, payment)).status, 'AUTHORIZED');
        assert.equal((await now(server, payment)).capturedAmount, null);
        assert.deepEqual((await transaction(server, payment)).status, 'authorized');
        assert.equal((await server.bookingNow(payment.bookingId)).status, 'PENDING');
        await captureThere(server, payment, { amount_to_capture: 900 });
        assert.equal((await tell(server, await eventOf(server, payment, 'payment_intent.succeeded'))).outcome, 'applied');
        assert.equal((await now(server, payment)).capturedAmount, 900);
    });

    test('E2 with ICHIDO_REFETCH=on a gateway that cannot be asked is asked again; nothing is believed meanwhile', async (t) => {
        const server = await silent(t, store, { ICHIDO_REFETCH: 'on' });
        const payment = await server.paid();
        await captureThere(server, payment);
        const told = await eventOf(server, payment, 'payment_intent.succeeded');
        await server.fault({ path: `${INTENTS}/*`, method: 'GET', statusBefore: 500, times: 3 });
        assert.equal((await server.deliver(told)).status, 204);
        await until('it was asked in vain', async () =>
            (await server.db.messages()).some((one) => one.kind === 'stripe.refetch' && one.last_error));
        assert.equal((await now(server, payment)).status, 'AUTHORIZED');
        assert.equal(await server.db.outcome(told.id), undefined);
        await server.advance(5000);
        assert.equal((await server.settled(told.id)).outcome, 'applied');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        assert.equal((await server.db.dead()).length, 0);
    });

    test('E2 with ICHIDO_REFETCH=off, the sandbox\'s default, an event that agrees needs no look at the gateway', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        await captureThere(server, payment);
        const told = await eventOf(server, payment, 'payment_intent.succeeded');
        await server.fault({ path: INTENTS, method: 'GET', statusBefore: 500, times: 1000 });
        assert.equal((await tell(server, told)).outcome, 'applied');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        assert.deepEqual((await server.db.messages()).filter((one) => one.kind === 'stripe.refetch'), []);
    });

    // All of these say succeeded of an intent that is only authorised; refetch is off.
    const disagreements = [
        ['more money', { amount: 99_999, amount_received: 99_999 }],
        ['more received than asked for', { amount_received: 99_999 }],
        ['another currency', { currency: 'usd', amount_received: 1200 }],
        ['nothing received', { amount_received: 0 }],
        ['another amount, a smaller one', { amount: 500, amount_received: 500 }],
        ['no currency', { currency: undefined, amount_received: 1200 }],
        ['no amount', { amount: undefined, amount_received: 1200 }],
    ];
    for (const [what, object] of disagreements)
        test(`E2 D10 an event that disagrees is looked up, whatever the setting: ${what}`, async (t) => {
            const server = await silent(t, store);
            const payment = await server.paid();
            const held = await eventOf(server, payment, 'payment_intent.amount_capturable_updated');
            const lie = retold(held, { type: 'payment_intent.succeeded' },
                { status: 'succeeded', amount_capturable: 0, ...object });
            await tell(server, lie);
            assert.equal((await now(server, payment)).status, 'AUTHORIZED');
            assert.equal((await server.db.dead()).length, 0, 'what the gateway said did fit');
            assert.equal((await transaction(server, payment)).status, 'authorized');
        });

    test('E2 an event whose type and status disagree is looked up, whatever the setting', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        await captureThere(server, payment);
        const told = await eventOf(server, payment, 'payment_intent.succeeded');
        await tell(server, retold(told, {}, { status: 'processing', amount_received: 0 }));
        assert.equal((await now(server, payment)).status, 'CAPTURED');
    });

    test('D10 E2 other currency or more money that stays so: not applied, tried again, then a dead letter', async (t) => {
        const server = await silent(t, store);
        const rows = [[`amount = 800`, { amount: 800, currency: 'JPY' }], [`currency = 'USD'`, { amount: 1200, currency: 'USD' }]];
        for (const [i, [change, ours]] of rows.entries()) {
            const payment = await server.paid();
            await captureThere(server, payment);
            const told = await eventOf(server, payment, 'payment_intent.succeeded');
            // As if another one than we asked for had been made.
            await server.db.all(`UPDATE payments SET ${change} WHERE id = ${server.db.blob(asHex(payment.id))}`);
            const outcome = await tellLong(server, told);
            assert.equal(outcome.outcome, 'dead');
            const body = await now(server, payment);
            assert.deepEqual([body.status, body.capturedAmount, body.amount, body.currency],
                ['AUTHORIZED', null, ours.amount, ours.currency]);
            assert.equal((await transaction(server, payment)).status, 'authorized');
            const dead = await server.db.dead();
            assert.equal(dead.length, i + 1);
            assert.equal(dead[i].attempts, 4, 'three retries');
            assert.match(dead[i].reason, /currency|money/);
            assert.equal(dead[i].ref, told.id);
            assert.deepEqual(await types(server, payment), ['PaymentCreated', 'PaymentAuthorized']);
        }
        assert.equal((await server.db.audit(`operation = 'DEAD_LETTER'`)).length, 2);
        const other = await server.paid();
        assert.equal((await server.capture(other)).status, 200, 'and nobody else is held up');
    });

    // --- E3 ---

    test('E3 a captured payment gets charge id, balance transaction and receipt', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured({}, { amount: 5000 });
        const row = await until('the charge is known', async () => {
            const one = await transaction(server, payment);
            return one.balance_transaction && one.receipt_url && one;
        });
        const { data: [charge] } = await server.stripe(`/charges?payment_intent=${payment.gatewayTransactionId}`);
        assert.deepEqual([row.stripe_charge_id, row.balance_transaction, row.receipt_url],
            [charge.id, charge.balance_transaction, charge.receipt_url]);
        assert.equal(row.status, 'succeeded');
    });

    test('E3 a captured payment gets its fee and net', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured({}, { amount: 5000 });
        const row = await until('the fee is known', async () => {
            const one = await transaction(server, payment);
            return one.fee !== null && one;
        }, 3000);
        assert.deepEqual([row.fee, row.net], [180, 4820]);
    });

    test('E3 a balance transaction that is null is filled later, and no null takes it away again', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid({}, { amount: 1000 });
        await captureThere(server, payment);
        const [told] = await eventsOf(server, [payment.gatewayTransactionId], CAPTURED);
        assert.equal(told['charge.captured'].data.object.balance_transaction, null);
        await tell(server, told['charge.captured']);
        const first = await transaction(server, payment);
        assert.deepEqual([first.balance_transaction, first.fee, first.net], [null, null, null]);
        assert.match(first.stripe_charge_id, /^ch_/);
        const whole = retold(told['charge.updated']); // expanded, as an answer would be
        whole.data.object.balance_transaction = {
            id: told['charge.updated'].data.object.balance_transaction, object: 'balance_transaction',
            amount: 1000, currency: 'jpy', fee: 36, net: 964,
        };
        await tell(server, told['charge.updated']);
        await tell(server, whole);
        for (const late of [told['charge.succeeded'], retold(told['charge.captured']), retold(told['charge.updated'])])
            await tell(server, late);
        const row = await transaction(server, payment);
        assert.equal(row.balance_transaction, whole.data.object.balance_transaction.id);
        assert.deepEqual([row.fee, row.net], [36, 964]);
        assert.ok(row.receipt_url);
    });

    test('E3 charge events that come before the intent\'s own are kept, and move no money by themselves', async (t) => {
        const server = await silent(t, store);
        const payment = await waiting(server);
        await server.authenticate(payment);
        await captureThere(server, payment);
        const [told] = await eventsOf(server, [payment.gatewayTransactionId], CAPTURED);
        for (const type of ['charge.captured', 'charge.succeeded'])
            assert.equal((await tell(server, told[type])).outcome, 'applied', type);
        assert.equal((await now(server, payment)).status, 'PENDING');
        assert.equal((await transaction(server, payment)).status, 'pending');
        assert.equal((await tell(server, told['charge.updated'])).outcome, 'applied');
        const early = await until('the fee was asked for', async () => {
            const one = await transaction(server, payment);
            return one.fee > 0 && one;
        });
        assert.equal(early.stripe_charge_id, told['charge.updated'].data.object.id);
        assert.ok(early.balance_transaction && early.receipt_url);
        assert.equal((await now(server, payment)).status, 'PENDING');
        await tell(server, told['payment_intent.succeeded']);
        const late = await transaction(server, payment);
        assert.deepEqual([late.status, late.balance_transaction, late.receipt_url],
            ['succeeded', early.balance_transaction, early.receipt_url]);
        assert.equal((await now(server, payment)).status, 'CAPTURED');
    });

    test('E3 E6 a charge that failed, told late, does not replace the one that paid', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        await captureThere(server, payment);
        const [told] = await eventsOf(server, [payment.gatewayTransactionId], CAPTURED);
        for (const type of CAPTURED) await tell(server, told[type]);
        const before = await transaction(server, payment);
        await tell(server, retold(told['charge.succeeded'], { type: 'charge.failed' },
            { id: `ch_3${unique()}`, status: 'failed', captured: false, paid: false, receipt_url: null }));
        const after = await transaction(server, payment);
        assert.deepEqual([after.stripe_charge_id, after.receipt_url, after.status],
            [before.stripe_charge_id, before.receipt_url, 'succeeded']);
    });

    // --- E6, E7 ---

    test('E6 late and lower news is superseded and changes nothing', async (t) => {
        const server = await silent(t, store);
        const payment = await waiting(server);
        const asked = await eventOf(server, payment, 'payment_intent.requires_action');
        await server.authenticate(payment);
        const held = await eventOf(server, payment, 'payment_intent.amount_capturable_updated');
        assert.equal((await tell(server, held)).outcome, 'applied');
        assert.equal((await tell(server, asked)).outcome, 'superseded');
        await captureThere(server, payment);
        await tell(server, await eventOf(server, payment, 'payment_intent.succeeded'));
        const row = await server.db.paymentRow(payment.id);
        const gateway = await transaction(server, payment);
        const lower = [
            retold(asked), retold(held), retold(held, { type: 'payment_intent.processing' }, { status: 'processing' }),
            retold(held, { type: 'payment_intent.payment_failed' },
                { status: 'requires_payment_method', last_payment_error: { code: 'card_declined', message: 'no' } }),
            retold(held, { type: 'payment_intent.canceled' }, { status: 'canceled', cancellation_reason: 'abandoned' }),
        ];
        for (const one of lower) assert.equal((await tell(server, one)).outcome, 'superseded', one.type);
        assert.deepEqual(await server.db.paymentRow(payment.id), row);
        assert.deepEqual(await transaction(server, payment), gateway);
        assert.deepEqual(await types(server, payment), ['PaymentCreated', 'PaymentAuthorized', 'PaymentCaptured']);
    });

    // Every order of a payment's events: orders.test.mjs.
    test('E7 the webhook before the answer and the answer before the webhook leave the same payment', async (t) => {
        const server = await start(t, store);
        const usual = await server.captured();
        await server.fault({ path: INTENTS, method: 'POST', dropAfter: true, hangMs: 2500, times: 1 });
        const { booking, ...overtaken } = await server.paid();
        await server.healed();
        assert.equal(overtaken.status, 'AUTHORIZED');
        assert.ok(booking);
        const held = await server.db.paymentRow(overtaken.id);
        assert.notEqual(held.capture_before, null, 'D9: until when it can be captured');
        assert.equal((await server.capture(overtaken)).status, 200);
        const state = () => Promise.all([usual, overtaken].map((one) => finalState(server, one)));
        await until('both are at their end', async () => (await state()).every(({ transaction: { balance, fee } }) => balance && fee !== null));
        const [one, other] = await state();
        assert.deepEqual(other, one);
    });

    test('E7 D11 a cancel told before the decline it followed: the same failed payment, with the card\'s reason', async (t) => {
        const server = await silent(t, store);
        const told = async () => {
            const payment = await waiting(server);
            await server.authenticate(payment, false);
            await dashboard(server, `/payment_intents/${payment.gatewayTransactionId}/cancel`, { cancellation_reason: 'abandoned' });
            const wanted = ['payment_intent.payment_failed', 'payment_intent.canceled'];
            const [both] = await eventsOf(server, [payment.gatewayTransactionId], wanted);
            return { payment, both: wanted.map((type) => both[type]) };
        };
        const straight = await told();
        for (const one of straight.both) await tell(server, one);
        const backwards = await told();
        for (const one of backwards.both.reverse()) await tell(server, one);
        const idle = ({ payment }) => until('its operations are done', async () =>
            (await server.db.operations(payment.id)).every((one) => one.phase === 'done'));
        await Promise.all([straight, backwards].map(idle));
        assert.match((await now(server, straight.payment)).failureReason, /^payment_intent_authentication_failure/);
        assert.deepEqual(await finalState(server, backwards.payment), await finalState(server, straight.payment));
    });

    // The browser's second card pays while the first one's failure is still on its way to us.
    for (const { at, status, wanted } of [
        { at: 'held', status: 'AUTHORIZED', wanted: 'payment_intent.amount_capturable_updated' },
        { at: 'captured', status: 'CAPTURED', wanted: 'payment_intent.succeeded' },
    ])
        test(`E4 E6 E7 a second card whose money is ${at} wins, whether the first one's decline is told before or after it`, async (t) => {
            const server = await silent(t, store);
            const told = async (backwards) => {
                const payment = await waiting(server);
                await server.authenticate(payment, false);
                await dashboard(server, `/payment_intents/${payment.gatewayTransactionId}/confirm`, { payment_method: 'pm_card_visa' });
                if (at === 'captured') await captureThere(server, payment);
                const order = ['payment_intent.payment_failed', wanted];
                const [both] = await eventsOf(server, [payment.gatewayTransactionId], order);
                for (const type of backwards ? order.reverse() : order) await tell(server, both[type]);
                await tell(server, retold(both['payment_intent.payment_failed']));
                return payment;
            };
            const payments = [await told(false), await told(true)];
            for (const payment of payments) {
                const body = await now(server, payment);
                assert.deepEqual([body.status, body.failureReason, body.refunds.length], [status, null, 0]);
                assert.deepEqual(await server.db.operations(payment.id).then((all) => all.map(({ kind }) => kind)), ['create']);
                const { totals } = await server.books(payment);
                assert.deepEqual([totals.held, totals.captured, totals.refunded], at === 'held' ? [1200, 0, 0] : [0, 1200, 0]);
                assert.ok(!(await types(server, payment)).includes('PaymentFailed'));
            }
            const [straight, backwards] = await Promise.all(payments.map((one) => transaction(server, one)));
            for (const row of [straight, backwards])
                assert.deepEqual([row.status, row.failure_code, row.failure_message], [at === 'held' ? 'authorized' : 'succeeded', null, null]);
        });

    // --- D7 ---

    test('D7 each state of the intent is a state of the payment, and facts may climb several steps', async (t) => {
        const server = await silent(t, store);
        const failed = { last_payment_error: { code: 'card_declined', decline_code: 'lost_card', message: 'Lost.' } };
        const rows = [
            ['payment_intent.created', { status: 'requires_payment_method' }, 'PENDING', 'pending'],
            ['payment_intent.created', { status: 'requires_confirmation' }, 'PENDING', 'pending'],
            ['payment_intent.requires_action', { status: 'requires_action' }, 'PENDING', 'pending'],
            ['payment_intent.processing', { status: 'processing' }, 'PENDING', 'pending'],
            ['payment_intent.amount_capturable_updated', { status: 'requires_capture', amount_capturable: 1200 }, 'AUTHORIZED', 'authorized'],
            ['payment_intent.succeeded', { status: 'succeeded', amount_received: 1200 }, 'CAPTURED', 'succeeded'],
            ['payment_intent.canceled', { status: 'canceled', cancellation_reason: 'abandoned' }, 'FAILED', 'canceled'],
            ['payment_intent.payment_failed', { status: 'requires_payment_method', ...failed }, 'FAILED', 'failed'],
        ];
        await server.fault(CLOSED); // what is declined is cancelled; not while we look
        for (const [type, object, status, transactionStatus] of rows) {
            const payment = await waiting(server);
            const asked = await eventOf(server, payment, 'payment_intent.requires_action');
            if (object.last_payment_error) await server.authenticate(payment, false); // a decline is looked up (E6)
            await tell(server, retold(asked, { type }, { next_action: null, ...object }));
            const body = await now(server, payment);
            assert.equal(body.status, status, `${type} ${object.status}`);
            assert.equal((await transaction(server, payment)).status, transactionStatus, object.status);
            assert.equal(body.capturedAmount, status === 'CAPTURED' ? 1200 : null);
            if (status === 'CAPTURED')
                await until('CONFIRMED', async () => (await server.bookingNow(payment.bookingId)).status === 'CONFIRMED');
        }
        const held = await server.paid();
        const told = await eventOf(server, held, 'payment_intent.amount_capturable_updated');
        await tell(server, retold(told, { type: 'payment_intent.canceled' },
            { status: 'canceled', cancellation_reason: 'requested_by_customer', amount_capturable: 0 }));
        const body = await now(server, held);
        assert.deepEqual([body.status, body.capturedAmount, body.refundedAmount], ['REFUNDED', null, null]);
        const row = await transaction(server, held);
        assert.deepEqual([row.status, row.cancel_reason], ['canceled', 'requested_by_customer']);
        assert.ok(row.canceled_at);
    });

    test('D7 a state that nobody has heard of is a dead letter and moves nothing', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        const told = await eventOf(server, payment, 'payment_intent.amount_capturable_updated');
        const outcome = await tellLong(server, retold(told, {}, { status: 'requires_magic' }));
        assert.equal(outcome.outcome, 'dead');
        assert.equal((await now(server, payment)).status, 'AUTHORIZED');
    });

    // --- D11 ---

    test('D11 E4 a decline told by a webhook fails the payment, and the intent is cancelled once', async (t) => {
        const server = await silent(t, store);
        const payment = await waiting(server);
        await server.authenticate(payment, false);
        const told = await eventOf(server, payment, 'payment_intent.payment_failed');
        await server.fault(CLOSED);
        await tell(server, told);
        for (let i = 0; i < 3; i++) await tell(server, retold(told));
        const body = await now(server, payment);
        assert.equal(body.status, 'FAILED');
        assert.match(body.failureReason, /^payment_intent_authentication_failure: /);
        const row = await transaction(server, payment);
        assert.deepEqual([row.status, row.failure_code], ['failed', 'payment_intent_authentication_failure']);
        assert.ok(row.failed_at && row.webhook_received_at && row.failure_message);
        const busy = await server.pay(payment.booking);
        assert.deepEqual([busy.status, busy.body.code], [422, 'PAYMENT_EXISTS'], 'the intent could still be paid');
        await server.healed();
        await until('the intent is dead', async () => {
            await server.advance(5000);
            return (await server.intentOf(payment)).status === 'canceled';
        });
        await until('and the place is free', async () => (await server.pay(payment.booking)).status === 201);
        assert.equal((await server.db.operations(payment.id)).filter((one) => one.kind === 'void').length, 1);
        assert.deepEqual(await types(server, payment), ['PaymentCreated', 'PaymentFailed']);
    });

    test('D11 E4 the cancel that follows a decline keeps what the card said', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_chargeDeclinedInsufficientFunds' });
        assert.match(payment.failureReason, /^insufficient_funds/);
        const row = await until('the cancel was told', async () => {
            const one = await transaction(server, payment);
            return one.status === 'canceled' && one.webhook_event_id && one;
        });
        assert.equal(row.failure_code, 'insufficient_funds');
        assert.match(row.failure_message, /insufficient/);
        assert.match((await now(server, payment)).failureReason, /^insufficient_funds/);
    });

    // --- D2 ---

    // Everything that money can do here is done: nothing is held, and what was taken is back.
    const cleared = (server, payment) => until('the money is back', async () => {
        await server.advance(5000);
        const { totals } = await server.books(payment);
        return totals.held === 0 && totals.captured === totals.refunded && totals;
    }, 30_000);

    test('D2 a card that pays after the payment was given up: the hold is let go, once, and it is told', async (t) => {
        const server = await silent(t, store);
        const payment = await waiting(server);
        await server.authenticate(payment, false);
        await server.fault(CLOSED);
        await tell(server, await eventOf(server, payment, 'payment_intent.payment_failed'));
        await dashboard(server, `/payment_intents/${payment.gatewayTransactionId}/confirm`, { payment_method: 'pm_card_visa' });
        const told = await eventOf(server, payment, 'payment_intent.amount_capturable_updated');
        for (const one of [told, told, retold(told), retold(told)]) await tell(server, one);
        assert.equal((await now(server, payment)).status, 'FAILED');
        assert.equal((await server.intentOf(payment)).status, 'requires_capture');
        await server.healed();
        await cleared(server, payment);
        assert.equal((await server.intentOf(payment)).status, 'canceled');
        assert.deepEqual((await strays(server, payment)).map((one) => one.kind), ['void']);
        assert.equal((await server.db.audit(`operation = 'VOID' AND detail LIKE '%goes back%'`)).length, 1);
        assert.equal((await now(server, payment)).status, 'FAILED');
        await server.line('it goes back', (line) => line.level === 'error' && /goes back/.test(line.message));
    });

    test('D2 money that is captured after the payment was given up is refunded, once', async (t) => {
        const server = await silent(t, store);
        const payment = await waiting(server);
        await server.authenticate(payment, false);
        await server.fault(CLOSED);
        await tell(server, await eventOf(server, payment, 'payment_intent.payment_failed'));
        await dashboard(server, `/payment_intents/${payment.gatewayTransactionId}/confirm`, { payment_method: 'pm_card_visa' });
        await captureThere(server, payment, { amount_to_capture: 700 });
        const [told] = await eventsOf(server, [payment.gatewayTransactionId], CAPTURED);
        for (const type of ['payment_intent.succeeded', ...CAPTURED]) await tell(server, retold(told[type]));
        const totals = await cleared(server, payment);
        await server.healed();
        assert.deepEqual([totals.captured, totals.refunded], [700, 700]);
        const refunds = await server.db.refundRows(payment.id);
        assert.deepEqual(refunds.map((one) => [one.amount, one.automatic]), [[700, 1]]);
        await until('known with us too', async () => (await server.db.refundRows(payment.id))[0].status === 'succeeded');
        assert.equal((await strays(server, payment)).filter((one) => one.kind === 'refund').length, 1);
        assert.equal((await server.db.audit(`operation = 'REFUND' AND detail LIKE '%goes back%'`)).length, 1);
        assert.equal((await now(server, payment)).status, 'FAILED');
        assert.notEqual((await server.bookingNow(payment.bookingId)).status, 'CONFIRMED');
    });

    test('D2 money that is captured after the void is refunded, once, and the payment stays voided', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid({}, { amount: 900 });
        const held = await eventOf(server, payment, 'payment_intent.amount_capturable_updated');
        await tell(server, retold(held, { type: 'payment_intent.canceled' }, { status: 'canceled', amount_capturable: 0 }));
        assert.equal((await now(server, payment)).status, 'REFUNDED');
        await captureThere(server, payment);
        const told = await eventOf(server, payment, 'payment_intent.succeeded');
        for (const one of [told, retold(told), retold(told)]) await tell(server, one);
        const totals = await cleared(server, payment);
        assert.deepEqual([totals.captured, totals.refunded], [900, 900]);
        for (const type of ['refund.created', 'charge.refunded'])
            await tell(server, await eventOf(server, payment, type));
        await tell(server, retold(told));
        const body = await now(server, payment);
        assert.deepEqual([body.status, body.capturedAmount, body.refundedAmount], ['REFUNDED', null, null]);
        assert.deepEqual((await server.db.refundRows(payment.id)).map((one) => [one.amount, one.automatic, one.status]),
            [[900, 1, 'succeeded']]);
        assert.equal((await strays(server, payment)).length, 1);
        assert.equal((await server.books(payment)).totals.refunded, 900);
    });

    for (const [what, act] of [['authorised', () => {}], ['captured', captureThere]])
        test(`D2 D21 money that is ${what} for a booking which is CANCELLED goes back, and the payment comes to an end`, async (t) => {
            const server = await silent(t, store);
            await server.fault(CLOSED);
            const payment = await waiting(server);
            await server.booking({ ...payment.booking, status: 'CANCELLED' });
            await server.authenticate(payment);
            await act(server, payment);
            const news = what === 'captured' ? CAPTURED : CAPTURED.slice(0, 2);
            const [told] = await eventsOf(server, [payment.gatewayTransactionId], news);
            for (const type of [...news].reverse()) await tell(server, told[type]);
            for (const type of news) await tell(server, retold(told[type]));
            assert.notEqual((await now(server, payment)).status, 'CAPTURED');
            await server.healed();
            await cleared(server, payment);
            assert.equal((await server.bookingNow(payment.bookingId)).status, 'CANCELLED');
            assert.equal((await server.db.audit(`detail LIKE '%goes back%' AND operation = '${what === 'captured' ? 'REFUND' : 'VOID'}'`)).length, 1);
            await until('it is at its end', async () => {
                await server.advance(30 * 60_000);
                return ['FAILED', 'REFUNDED'].includes((await now(server, payment)).status);
            }, 4000);
        });

    test('D2 money on another intent of a payment that has one already goes back, too', async (t) => {
        const server = await silent(t, store);
        const payment = await server.captured();
        const second = await dashboard(server, '/payment_intents', {
            amount: payment.amount, currency: 'jpy', confirm: 'true', payment_method: 'pm_card_visa', 'metadata[payment_id]': payment.id,
            'payment_method_types[]': 'card',
        });
        assert.equal(second.status, 'succeeded');
        await tell(server, await eventOf(server, { gatewayTransactionId: second.id }, 'payment_intent.succeeded'));
        await until('the second is refunded, the first is not', async () => {
            await server.advance(5000);
            const { totals } = await server.books(payment);
            return totals.captured === 2400 && totals.refunded === 1200;
        }, 4000);
        assert.equal((await now(server, payment)).status, 'CAPTURED');
    });

    test('D2 the hold of a second intent that was captured before our void is refunded, without any webhook', async (t) => {
        const server = await silent(t, store);
        const payment = await server.captured();
        const second = await dashboard(server, '/payment_intents', {
            amount: payment.amount, currency: 'jpy', confirm: 'true', payment_method: 'pm_card_visa', 'metadata[payment_id]': payment.id,
            'payment_method_types[]': 'card', capture_method: 'manual',
        });
        assert.equal(second.status, 'requires_capture');
        await server.fault(CLOSED);
        await tell(server, await eventOf(server, { gatewayTransactionId: second.id }, 'payment_intent.amount_capturable_updated'));
        await captureThere(server, { gatewayTransactionId: second.id });
        await server.healed();
        await until('the second is refunded, the first is not', async () => {
            await server.advance(60_000);
            const { totals } = await server.books(payment);
            return totals.captured === 2400 && totals.refunded === 1200;
        }, 10_000);
        await until('and it is known here', async () => (await server.db.operations(payment.id)).every(({ phase }) => phase === 'done'));
        const own = (await server.db.operations(payment.id)).filter(({ cause }) => cause === `stray:${second.id}`);
        assert.deepEqual(own.map(({ kind }) => kind).sort(), ['refund', 'void']);
        const body = await now(server, payment);
        assert.deepEqual([body.status, body.refundedAmount ?? 0], ['CAPTURED', 0]);
        const [said] = await server.db.audit(`operation = 'VOID' AND detail LIKE 'stray:%'`);
        assert.equal(said.result, 'failure', 'nothing was voided');
    });

    test('D2 D12 a stray refund that comes back is made again after 1, 8, 64 and 512 minutes, then an operator is told, once', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured();
        const second = await dashboard(server, '/payment_intents', {
            amount: payment.amount, currency: 'jpy', confirm: 'true', payment_method: 'pm_card_refundFail', 'metadata[payment_id]': payment.id,
            'payment_method_types[]': 'card',
        });
        const failures = async (n) => {
            const rows = await server.db.refundRows(payment.id);
            assert.ok(rows.filter(({ status }) => status !== 'failed').length <= 1, 'one money, one refund that lives');
            return rows.length === n && rows.every(({ status }) => status === 'failed') && rows;
        };
        const comesBack = (n) => until(`refund ${n} came back`, async () => {
            if (!await failures(n)) await server.advance(500); // LIMIT_SANDBOX_REFUND_FAIL_MS
            return failures(n);
        });
        await comesBack(1);
        for (const [i, minutes] of [1, 8, 64, 512].entries()) {
            const [{ due_at: due }] = await server.db.all(`SELECT due_at FROM message WHERE kind = 'refund.again'`);
            const wait = Number(due) - server.nowSeconds() * 1000;
            assert.ok(Math.abs(wait - minutes * 60_000) < 20_000, `${minutes} minutes: ${wait} ms`);
            await server.advance(minutes * 60_000);
            await comesBack(i + 2);
        }
        const told = () => server.lines.filter((line) => line.level === 'error' && /however often/.test(line.message));
        await until('an operator is told', () => told().length === 1);
        assert.equal(await server.db.count('message', `kind = 'refund.again'`), 0);
        await tell(server, retold(await eventOf(server, { gatewayTransactionId: second.id }, 'payment_intent.succeeded')));
        await comesBack(6); // somebody asks for it again: it is tried once more
        assert.equal(told().length, 1);
        assert.equal((await server.db.audit(`operation = 'REFUND' AND detail LIKE '%however often%'`)).length, 1);
        assert.ok((await server.db.operations(payment.id)).filter(({ kind }) => kind === 'refund')
            .every(({ cause, phase }) => cause === `stray:${second.id}` && phase === 'done'));
        const body = await now(server, payment);
        assert.deepEqual([body.status, body.refundedAmount ?? 0], ['CAPTURED', 0], 'its own money is not touched');
    });

    // --- D16 ---

    test('D16 one payments table for its contexts, one transaction for each intent, gatewayTransactionId is its id', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        const row = await server.db.paymentRow(payment.id);
        assert.deepEqual([row.context, row.subject_id, row.booking_id], ['booking', asHex(payment.bookingId), asHex(payment.bookingId)]);
        assert.equal(row.gateway_transaction_id, payment.gatewayTransactionId);
        const gateway = await transaction(server, payment);
        assert.equal(gateway.stripe_payment_intent_id, payment.gatewayTransactionId);
        assert.equal(gateway.payment_id, asHex(payment.id));
        const columns = (await server.db.columns('payment_transactions')).map(({ name }) => name);
        for (const name of ['stripe_charge_id', 'status', 'amount', 'amount_received', 'currency', 'fee', 'net', 'balance_transaction',
            'receipt_url', 'failure_code', 'failure_message', 'cancel_reason', 'webhook_event_id', 'webhook_received_at', 'succeeded_at', 'failed_at'])
            assert.ok(columns.includes(name), name);
        const bad = ['subject_id = NULL', 'booking_id = NULL', `context = 'purchase'`, `context = 'other'`];
        for (const change of bad) await assert.rejects(server.db.all(`UPDATE payments SET ${change}`), change);
        const other = await server.paid();
        await assert.rejects(server.db.all(`UPDATE payment_transactions SET stripe_payment_intent_id = '${payment.gatewayTransactionId}'
            WHERE payment_id = ${server.db.blob(asHex(other.id))}`), 'UNIQUE');
        await assert.rejects(server.db.all(`UPDATE payment_transactions SET status = 'paid'`));
    });

    // --- D20, D24, W9 ---

    test('D20 other people\'s intents are ignored; what says it is ours but is not there is tried again, then a dead letter', async (t) => {
        const server = await silent(t, store);
        const object = (metadata) => ({ data: { object: paymentIntent({ object: { metadata } }) } });
        for (const metadata of [{}, { payment_id: 'order-7' }, { order_id: uuid() }, { payment_id: '' }]) {
            const outcome = await tell(server, event('payment_intent.succeeded', object(metadata)));
            assert.deepEqual([outcome.outcome, outcome.detail], ['ignored', 'foreign']);
        }
        assert.equal((await server.db.dead()).length, 0);
        const id = uuid();
        const ours = event('payment_intent.succeeded', object({ payment_id: id }));
        const charge = event('charge.succeeded', { data: { object: {
            id: `ch_3${unique()}`, object: 'charge', amount: 1200, currency: 'jpy', captured: true, status: 'succeeded',
            payment_intent: ours.data.object.id, metadata: { payment_id: id } } } });
        assert.equal((await server.deliver(charge)).status, 204);
        assert.equal((await tellLong(server, ours)).outcome, 'dead');
        const dead = await until('both', async () => (await server.db.dead()).length === 2 && server.db.dead());
        assert.deepEqual(dead.map(({ attempts }) => attempts), [4, 4]);
        for (const { reason } of dead) assert.match(reason, /no such payment/);
        assert.notEqual(dead[0].lane, null);
        assert.equal(dead[0].lane, dead[1].lane, 'D24: one lane for all of a payment\'s events');
        assert.equal((await server.db.payments()).length, 0);
        assert.equal((await server.db.table('payment_transactions')).length, 0);
        const after = event('payment_intent.succeeded', object({}));
        assert.equal((await tell(server, after)).outcome, 'ignored', 'the lane is free');
    });

    test('D20 D18 an intent is found by its id where the metadata is gone', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        await captureThere(server, payment);
        const told = await eventOf(server, payment, 'payment_intent.succeeded');
        assert.equal((await tell(server, retold(told, {}, { metadata: {} }))).outcome, 'applied');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
    });

    test('D20 an event that comes before its payment is committed is applied when that is there', async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db, env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
        const payment = await server.paid();
        const id = server.db.blob(asHex(payment.id));
        const none = server.db.blob(asHex(uuid()));
        await captureThere(server, payment);
        const told = await eventOf(server, payment, 'payment_intent.succeeded');
        for (const [table, column] of [['payment_transactions', 'payment_id'], ['payments', 'id']])
            await server.db.all(`UPDATE ${table} SET ${column} = ${none} WHERE ${column} = ${id}`);
        await server.db.all(`UPDATE payment_transactions SET stripe_payment_intent_id = 'pi_elsewhere'`);
        assert.equal((await server.deliver(told)).status, 204);
        await until('it was tried', async () => (await server.db.messages()).some((one) => one.ref === told.id && one.last_error));
        for (const [table, column] of [['payment_transactions', 'payment_id'], ['payments', 'id']])
            await server.db.all(`UPDATE ${table} SET ${column} = ${id} WHERE ${column} = ${none}`);
        await server.db.all(`UPDATE payment_transactions SET stripe_payment_intent_id = '${payment.gatewayTransactionId}'`);
        await server.advance(1000);
        assert.equal((await server.settled(told.id)).outcome, 'applied');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
    });

    test('W9 an event of the other mode never moves a payment, whatever it says', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        const row = await server.db.paymentRow(payment.id);
        await captureThere(server, payment);
        const [told] = await eventsOf(server, [payment.gatewayTransactionId], CAPTURED);
        for (const type of CAPTURED)
            assert.equal((await tell(server, retold(told[type], { livemode: true }))).outcome, 'wrong_mode');
        assert.deepEqual(await server.db.paymentRow(payment.id), row);
        assert.equal((await tell(server, retold(told['payment_intent.succeeded'], { livemode: undefined }))).outcome, 'applied',
            'not said: not checked');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
    });

    // --- P8 ---

    test('P8 a call that hangs does not hold up the webhook that moves the payment', async (t) => {
        const server = await start(t, store);
        const hang = { dropAfter: true, hangMs: 3000, times: 1 };
        await server.fault({ path: INTENTS, method: 'POST', ...hang });
        const booking = await server.booking();
        const paying = server.pay(booking);
        const [row] = await until('the webhook has moved it', async () => {
            const rows = await server.db.payments(`status = 'AUTHORIZED'`);
            return rows.length && rows;
        }, 5000);
        const answer = await paying;
        assert.deepEqual([answer.status, answer.body.status], [201, 'AUTHORIZED']);
        assert.equal(asHex(answer.body.id), row.id);
    });

    test('P8 the same for a capture, and the lost answer does not matter any more', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        await server.fault({ path: `${INTENTS}/*/capture`, dropAfter: true, hangMs: 3000, times: 1 });
        const capturing = server.capture(payment);
        await until('the webhook has moved it', async () => (await now(server, payment)).status === 'CAPTURED', 5000);
        const answer = await capturing;
        assert.deepEqual([answer.status, answer.body.status], [200, 'CAPTURED']);
        assert.equal((await server.refund(payment, 100)).status, 200);
    });
});
