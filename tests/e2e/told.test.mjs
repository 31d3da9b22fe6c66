// What follows from an event beside the state of its payment: fees, receipts, audit lines, alerts, log lines,
// and the history of all of it (E3 E4 E9 E10 N1 D12 D22 O1 W4).
import {
    CAPTURED, captureThere, dashboard, declineThere, eventOf, eventsOf, now, retold, silent, tell, tellLong, transaction,
} from './lib/events.mjs';
import { asHex, assert, event, forEachStore, paymentIntent, start, UNDER_ASAN, unique, until, uuid } from './lib/harness.mjs';

const ASKS = 'pm_card_threeDSecure2Required';

// --- helpers ---

// Of the change that the test makes, and not of the authorisation before it.
const told = (server, payment) => server.db.table('notifications',
    `type <> 'payment_authorized' AND payment_id = ${server.db.blob(asHex(payment.id))}`)
    .then((rows) => rows.map((row) => ({ ...row, data: JSON.parse(row.data) })));
const audited = (server, payment, operation) =>
    server.db.audit(`operation = '${operation}' AND payment_id = ${server.db.blob(asHex(payment.id))}`);
const fees = (server) => server.db.count('message', `kind = 'charge.fee'`);
const asks = async (server) => (await server.metrics()).get('ichido_job_total', { result: 'done' });

// Everything that the gateway wrote about a payment which it has captured.
async function captured(server, form) {
    const payment = await server.paid({}, { amount: 1000 });
    await captureThere(server, payment, form);
    const [events] = await eventsOf(server, [payment.gatewayTransactionId], CAPTURED);
    return { payment, events };
}

const disputeEvent = (type, payment, changes = {}) => event(`charge.dispute.${type}`, { data: { object: {
    id: `dp_1${payment.id.slice(0, 8)}`, object: 'dispute', amount: 1000, currency: 'jpy', status: 'needs_response',
    reason: 'fraudulent', charge: payment.charge, payment_intent: payment.gatewayTransactionId, metadata: {}, ...changes,
} } });
const disputes = (server, payment) => server.db.table('disputes', `payment_id = ${server.db.blob(asHex(payment.id))}`);
const flagged = async (server, payment) => (await server.db.paymentRow(payment.id)).disputed;

const list = async (server, what, query = '') => {
    const { status, body, text } = await server.call('GET', `/api/v1/admin/${what}${query}`, { as: 'admin' });
    assert.equal(status, 200, text);
    return body;
};

function* permutations(items) {
    if (!items.length) yield [];
    for (const [i, one] of items.entries())
        for (const rest of permutations([...items.slice(0, i), ...items.slice(i + 1)])) yield [one, ...rest];
}

forEachStore((store, test) => {
    // --- E3: receipts ---

    test('E3 E10 N1 a receipt is told and audited once, whatever repeats itself and whoever was first', async (t) => {
        const server = await start(t, store); // its own webhooks come, and the API answers
        const payment = await server.captured({}, { amount: 1000 });
        const [events] = await eventsOf(server, [payment.gatewayTransactionId], CAPTURED);
        for (const type of [...CAPTURED, ...CAPTURED]) await tell(server, retold(events[type]));
        for (const type of CAPTURED) assert.equal((await server.deliver(events[type])).status, 204);
        const [row, ...rest] = await until('it is recorded', async () => {
            const rows = await told(server, payment);
            return rows[0]?.recorded_at && rows;
        });
        assert.deepEqual(rest, []);
        const charge = events['charge.captured'].data.object;
        assert.deepEqual(
            [row.type, row.language, row.title, row.body, row.user_id, row.participant_id || null],
            ['receipt', 'ja', '領収書のお知らせ', 'お支払いの領収書を発行しました。', asHex(payment.userId), null]);
        assert.deepEqual(row.data, { paymentId: payment.id, receiptUrl: charge.receipt_url });
        assert.equal(row.dedupe, `${payment.bookingId}:receipt:${charge.id}`, 'never the event\'s id');
        const lines = await audited(server, payment, 'RECEIPT');
        assert.deepEqual(lines.map(({ result, detail }) => [result, detail]), [['success', charge.id]]);
    });

    test('E3 an authorisation gets no receipt; its capture does', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid({}, { amount: 1000 });
        const held = await eventOf(server, payment, 'charge.succeeded');
        assert.equal(held.data.object.captured, false);
        for (const one of [held, retold(held, { type: 'charge.updated' }), retold(held, { type: 'charge.expired' })])
            assert.equal((await tell(server, one)).outcome, 'applied', one.type);
        assert.deepEqual(await told(server, payment), []);
        assert.deepEqual(await audited(server, payment, 'RECEIPT'), []);
        await captureThere(server, payment, { amount_to_capture: 700 });
        await tell(server, await eventOf(server, payment, 'charge.captured'));
        assert.deepEqual(await told(server, payment), [], 'E2 nothing is paid by its charge');
        await tell(server, await eventOf(server, payment, 'payment_intent.succeeded'));
        assert.deepEqual((await told(server, payment)).map((row) => row.type), ['receipt']);
        assert.equal((await server.db.table('audit', `operation = 'RECEIPT'`))[0].amount, 700);
    });

    test('E3 E7 the receipt is told when the charge and the capture are known, whichever comes last', async (t) => {
        const server = await silent(t, store);
        const lines = [];
        for (const order of permutations(['charge.captured', 'payment_intent.succeeded', 'charge.updated'])) {
            const { payment, events } = await captured(server);
            for (const type of [...order, ...order]) await tell(server, retold(events[type]));
            const [charge, ...none] = await audited(server, payment, 'RECEIPT');
            const [row, ...more] = await told(server, payment);
            lines.push(JSON.stringify([none, more, row.type, row.data.receiptUrl === events['charge.captured'].data.object.receipt_url,
                charge.detail === events['charge.captured'].data.object.id]));
        }
        assert.deepEqual([...new Set(lines)], [JSON.stringify([[], [], 'receipt', true, true])]);
    });

    test('E3 D2 money that goes back has no receipt', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid({ paymentMethod: ASKS }, { amount: 1000 });
        assert.equal((await server.void(payment)).body.status, 'FAILED');
        const paid = (object = {}) => paymentIntent({ object: { id: payment.gatewayTransactionId, amount: 1000, amount_received: 1000,
            currency: 'jpy', status: 'succeeded', latest_charge: 'ch_late', metadata: { payment_id: payment.id }, ...object } });
        const charge = { id: 'ch_late', object: 'charge', amount: 1000, amount_captured: 1000, currency: 'jpy', captured: true, status: 'succeeded',
            payment_intent: payment.gatewayTransactionId, receipt_url: 'https://pay.stripe.com/receipts/1', metadata: {} };
        for (const one of [event('charge.succeeded', { data: { object: charge } }), event('payment_intent.succeeded', { data: { object: paid() } }),
            event('charge.updated', { data: { object: charge } })])
            assert.equal((await tell(server, one)).outcome, 'applied');
        const [stray] = (await server.db.operations(payment.id)).filter(({ cause }) => cause === 'stray');
        assert.equal(stray.kind, 'refund');
        assert.deepEqual(await told(server, payment), []);
        assert.deepEqual(await audited(server, payment, 'RECEIPT'), []);
    });

    test('E3 charge.failed, charge.expired and charge.pending are history: nothing moves, nobody is told', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid({}, { amount: 1000 });
        const before = await server.db.paymentRow(payment.id);
        const held = await eventOf(server, payment, 'charge.succeeded');
        const rows = [['charge.failed', { id: `ch_3${unique()}`, status: 'failed', paid: false }], ['charge.expired', {}],
            ['charge.pending', { status: 'pending', captured: true }]];
        for (const [type, object] of rows)
            assert.equal((await tell(server, retold(held, { type }, object))).outcome, 'applied', type);
        assert.deepEqual({ ...await server.db.paymentRow(payment.id), updated_at: 0 }, { ...before, updated_at: 0 });
        assert.deepEqual(await told(server, payment), []);
        assert.equal((await now(server, payment)).status, 'AUTHORIZED');
    });

    test('E3 N1 in English where that is set', async (t) => {
        const server = await silent(t, store, { ICHIDO_LANGUAGE: 'en' });
        const { payment, events } = await captured(server);
        for (const type of ['charge.captured', 'payment_intent.succeeded']) await tell(server, events[type]);
        const [row] = await told(server, payment);
        assert.deepEqual([row.language, row.title], ['en', 'Your receipt']);
    });

    // --- E3: fees ---

    test('E3 the event is applied at once; its fee is asked for once, behind it, and never again', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        await server.fault({ path: '/v1/payment_intents/*', method: 'GET', statusBefore: 500, times: 3 });
        assert.equal((await tell(server, events['charge.captured'])).outcome, 'applied');
        assert.equal(await fees(server), 0, 'its balance transaction is null: nobody is asked');
        assert.equal((await tell(server, events['charge.updated'])).outcome, 'applied', 'the gateway is down, and that is no matter');
        await until('it was asked in vain', async () => (await server.db.messages()).some((one) => one.kind === 'charge.fee' && one.last_error));
        for (let i = 0; i < 3; i++) assert.equal((await tell(server, retold(events['charge.updated']))).outcome, 'applied');
        assert.equal(await fees(server), 1);
        assert.equal((await transaction(server, payment)).fee, null);
        await until('the fee is known', async () => {
            await server.advance(1000);
            return (await transaction(server, payment)).fee !== null;
        });
        const row = await transaction(server, payment);
        assert.deepEqual([row.fee, row.net], [36, 964]);
        await until('nothing is left to do', async () => await server.db.count('message') <= 1);
        const done = await asks(server);
        await tell(server, retold(events['charge.updated']));
        assert.equal(await fees(server), 0);
        assert.equal(await asks(server), done + 1, 'the event itself');
        assert.equal((await server.db.dead()).length, 0);
    });

    test('E3 many fees are a trickle: events go on while the gateway is slow', async (t) => {
        const server = await silent(t, store);
        const all = [];
        for (let i = 0; i < 20; i++) all.push(await captured(server));
        await server.fault({ path: '/v1/payment_intents/*', method: 'GET', delayMs: 1500, times: 1000 });
        const began = Date.now();
        await Promise.all(all.map(({ events }) => tell(server, events['charge.updated'])));
        await Promise.all(all.map(({ events }) => tell(server, events['payment_intent.succeeded'])));
        assert.ok(Date.now() - began < 5000 * (UNDER_ASAN ? 3 : 1));
        await server.healed();
        for (const { payment } of all)
            await until('its fee', async () => (await transaction(server, payment)).fee === 36, 30_000);
    });

    // --- E4, O1 ---

    test('E4 E10 O1 a decline told by the API and by the webhook: one change, and its log line has 003\'s fields', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_chargeDeclinedInsufficientFunds' });
        assert.equal(payment.status, 'FAILED');
        const news = await eventOf(server, payment, 'payment_intent.payment_failed');
        await tell(server, news);
        const row = await transaction(server, payment);
        assert.deepEqual([row.failure_code, row.webhook_received_at !== null, row.failed_at !== null], ['insufficient_funds', true, true]);
        assert.match(row.failure_message, /insufficient/);
        const line = await server.line('Payment failed', (one) => one.message === 'Payment failed');
        assert.deepEqual([line.level, line.paymentIntentId, line.errorCode, line.userId],
            ['error', payment.gatewayTransactionId, 'card_declined', payment.userId]);
        const events = (await server.db.domainEvents(payment.id)).map(({ type }) => type);
        assert.deepEqual(events, ['PaymentCreated', 'PaymentFailed']);
    });

    test('E4 E2 a success after a failure on the same intent clears what the failure said', async (t) => {
        const server = await silent(t, store);
        await server.fault({ path: '/v1/payment_intents/*/cancel', statusBefore: 500, times: 1000 });
        const payment = await server.paid({ paymentMethod: ASKS }, { amount: 1000 });
        const asked = await eventOf(server, payment, 'payment_intent.requires_action');
        await server.authenticate(payment, false); // a decline is looked up (E6): the gateway says the same
        await declineThere(server, payment, 'pm_card_chargeDeclinedLostCard');
        const failed = retold(asked, { type: 'payment_intent.payment_failed' }, { status: 'requires_payment_method', next_action: null,
            last_payment_error: { code: 'card_declined', decline_code: 'lost_card', message: 'Lost.' } });
        await tell(server, failed);
        const low = await transaction(server, payment);
        assert.deepEqual([low.status, low.failure_code, low.failure_message], ['failed', 'lost_card', 'Your card was declined.']);
        const paid = retold(asked, { type: 'payment_intent.succeeded' },
            { status: 'succeeded', next_action: null, amount_received: 1000, last_payment_error: null, latest_charge: `ch_3${unique()}` });
        await tell(server, paid);
        const high = await transaction(server, payment);
        assert.deepEqual([high.status, high.failure_code, high.failure_message], ['succeeded', null, null]);
        await tell(server, retold(failed));
        assert.equal((await transaction(server, payment)).failure_code, null, 'told late, it is history');
    });

    test('E5 a cancel keeps its reason, those that nobody has heard of too', async (t) => {
        const server = await silent(t, store);
        for (const reason of ['requested_by_customer', 'abandoned', 'duplicate', 'fraudulent', 'failed_invoice', 'the_dog_ate_it']) {
            const payment = await server.paid({ paymentMethod: ASKS });
            const asked = await eventOf(server, payment, 'payment_intent.requires_action');
            const end = retold(asked, { type: 'payment_intent.canceled' }, { status: 'canceled', cancellation_reason: reason, next_action: null });
            await tell(server, end);
            const row = await transaction(server, payment);
            assert.deepEqual([row.status, row.cancel_reason, row.webhook_event_id], ['canceled', reason, end.id]);
        }
    });

    test('E2 a konbini slip is kept with its number, store and end, whatever came first', async (t) => {
        const server = await silent(t, store);
        const slip = { confirmation_number: '123-456-789', store: 'familymart', expires_at: 1799996800 };
        for (const backwards of [false, true]) {
            const payment = await server.paid({ paymentMethod: ASKS }, { amount: 1000 });
            const asked = await eventOf(server, payment, 'payment_intent.requires_action');
            const shown = retold(asked, {}, { payment_method_types: ['konbini'], payment_method_options: { konbini: slip } });
            const paid = retold(asked, { type: 'payment_intent.succeeded' },
                { status: 'succeeded', next_action: null, amount_received: 1000, payment_method_types: ['konbini'] });
            for (const one of backwards ? [paid, shown] : [shown, paid]) await tell(server, one);
            const row = await transaction(server, payment);
            assert.deepEqual([row.status, row.konbini_number, row.konbini_store, row.konbini_expires_at],
                ['succeeded', '123-456-789', 'familymart', 1799996800000], `backwards: ${backwards}`);
        }
    });

    test('O1 W6 an unhandled type and a dead letter are logged in 003\'s words', async (t) => {
        const server = await silent(t, store);
        await tell(server, event('customer.created'));
        const info = await server.line('Unhandled', (one) => one.message === 'Unhandled event type: customer.created');
        assert.equal(info.level, 'info');
        const lost = event('payment_intent.succeeded', { data: { object: paymentIntent({ object: { metadata: { payment_id: uuid() } } }) } });
        assert.equal((await tellLong(server, lost)).outcome, 'dead');
        const error = await server.line('dead', (one) => one.level === 'error' && one.message === 'Webhook processing failed');
        assert.deepEqual([error.eventId, error.eventType, error.error], [lost.id, 'payment_intent.succeeded', 'no such payment yet']);
    });

    test('O1 E2 an event that dies after its look at the gateway is logged the same way', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        await server.db.all(`UPDATE payments SET amount = 800 WHERE id = ${server.db.blob(asHex(payment.id))}`);
        const news = events['payment_intent.succeeded'];
        assert.equal((await tellLong(server, news)).outcome, 'dead');
        const error = await server.line('dead', (one) => one.level === 'error' && one.message === 'Webhook processing failed');
        assert.deepEqual([error.eventId, error.eventType], [news.id, 'payment_intent.succeeded']);
        assert.match(error.error, /money/);
    });

    // --- E9 ---

    test('E9 D22 a dispute sets a flag, is audited and alerted once, and its end is its end', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        for (const type of CAPTURED) await tell(server, events[type]);
        payment.charge = events['charge.captured'].data.object.id;
        const opened = disputeEvent('created', payment);
        assert.equal((await tell(server, opened)).outcome, 'applied');
        assert.equal(await flagged(server, payment), 1);
        assert.equal((await now(server, payment)).disputed, true);
        assert.equal((await server.refund(payment, 100)).status, 422, 'the bank decides about the money');
        const [row] = await disputes(server, payment);
        assert.deepEqual([row.status, row.closed, row.lost, row.reason, row.amount], ['needs_response', 0, 0, 'fraudulent', 1000]);
        assert.equal((await tell(server, disputeEvent('updated', payment, { status: 'under_review' }))).outcome, 'applied');
        assert.equal((await tell(server, retold(opened))).outcome, 'superseded');
        assert.equal((await disputes(server, payment))[0].status, 'under_review');
        assert.equal((await tell(server, disputeEvent('closed', payment, { status: 'won' }))).outcome, 'applied');
        assert.equal(await flagged(server, payment), 0);
        assert.equal((await tell(server, retold(opened))).outcome, 'superseded', 'closed never opens again');
        assert.equal(await flagged(server, payment), 0);
        assert.deepEqual((await audited(server, payment, 'DISPUTE')).map(({ detail }) => detail),
            ['needs_response: fraudulent', 'won: fraudulent']);
        await server.line('it is told', (one) => one.level === 'error' && one.message === 'A payment is disputed');
        assert.equal(server.lines.filter((one) => one.level === 'error' && one.message === 'A payment is disputed').length, 1);
        assert.equal((await now(server, payment)).status, 'CAPTURED', 'it moves no money');
        assert.equal((await server.refund(payment, 100)).status, 200);
    });

    test('E9 E7 two disputes, one won and one lost, in every order: the flag stays, and is the same', async (t) => {
        const server = await silent(t, store);
        const lines = [];
        const steps = [['created', 'a', 'needs_response'], ['closed', 'a', 'won'], ['created', 'b', 'needs_response'], ['closed', 'b', 'lost']];
        for (const order of permutations(steps)) {
            const { payment } = await captured(server);
            for (const [type, name, status] of order)
                await tell(server, disputeEvent(type, payment, { id: `dp_${name}_${payment.id}`, status }));
            const rows = (await disputes(server, payment)).map(({ dispute_id, status, closed, lost }) => [dispute_id.slice(0, 4), status, closed, lost]);
            lines.push(JSON.stringify([rows.sort(), await flagged(server, payment)]));
        }
        assert.deepEqual([...new Set(lines)], [JSON.stringify([[['dp_a', 'won', 1, 0], ['dp_b', 'lost', 1, 1]], 1])]);
    });

    test('E9 D22 a dispute of another intent\'s money is kept, audited and alerted, and does not lock this payment', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        for (const type of CAPTURED) await tell(server, events[type]);
        const metadata = { payment_id: payment.id };
        const second = paymentIntent({ object: { amount: 1000, amount_received: 0, currency: 'jpy', status: 'requires_payment_method', metadata } });
        await tell(server, event('payment_intent.created', { data: { object: second } }));
        const strange = { id: `dp_2${payment.id.slice(0, 8)}`, payment_intent: second.id };
        assert.equal((await tell(server, disputeEvent('created', payment, strange))).outcome, 'applied');
        assert.equal(await flagged(server, payment), 0);
        assert.equal((await disputes(server, payment)).length, 1);
        assert.equal((await audited(server, payment, 'DISPUTE')).length, 1);
        await server.line('it is told', (one) => one.level === 'error' && one.message === 'A payment is disputed');
        assert.equal(server.lines.filter((one) => one.level === 'error' && one.message === 'A payment is disputed').length, 1);
        assert.equal((await server.refund(payment, 100)).status, 200);
        await tell(server, disputeEvent('created', payment));
        assert.equal(await flagged(server, payment), 1, 'its own does');
        await tell(server, disputeEvent('closed', payment, { status: 'won' }));
        await tell(server, disputeEvent('closed', payment, { ...strange, status: 'won' }));
        assert.equal(await flagged(server, payment), 0);
    });

    test('E9 a dispute that names only the charge is found by it; other people\'s are ignored', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        await tell(server, events['charge.captured']);
        const charge = events['charge.captured'].data.object.id;
        assert.equal((await tell(server, disputeEvent('created', payment, { payment_intent: null, charge }))).outcome, 'applied');
        assert.equal(await flagged(server, payment), 1);
        for (const object of [{ payment_intent: null, charge: `ch_3${unique()}` }, { payment_intent: `pi_3${unique()}`, charge: `ch_3${unique()}` }]) {
            const outcome = await tell(server, disputeEvent('created', payment, { id: `dp_1${unique()}`, ...object }));
            assert.deepEqual([outcome.outcome, outcome.detail], ['ignored', 'foreign']);
        }
        const other = await captured(server);
        await tell(server, other.events['charge.captured']);
        const stolen = disputeEvent('created', other.payment, { id: `dp_1${payment.id.slice(0, 8)}` });
        assert.equal((await tell(server, stolen)).outcome, 'dead', 'one dispute, two payments');
        assert.equal(await flagged(server, other.payment), 0);
    });

    // --- D12 ---

    test('E9 D12 charge.refunded only checks: what no refund object says is told after a while, and no money is counted', async (t) => {
        const server = await silent(t, store);
        const { payment } = await captured(server);
        const [events] = await eventsOf(server, [payment.gatewayTransactionId], CAPTURED);
        for (const type of CAPTURED) await tell(server, events[type]);
        const refund = await dashboard(server, '/refunds', { payment_intent: payment.gatewayTransactionId, amount: '400' });
        assert.equal(refund.amount, 400);
        const news = await eventOf(server, payment, 'charge.refunded');
        assert.equal((await tell(server, news)).outcome, 'applied');
        assert.equal((await now(server, payment)).refundedAmount, null, 'money only from refund objects');
        const missing = async () => (await server.metrics()).get('ichido_refund_missing_total');
        await server.advance(6 * 60_000);
        await until('it was told', async () => await missing() === 1);
        await server.line('warn', (one) => one.level === 'warn' && /refunded at the gateway than/.test(one.message));
        assert.equal((await audited(server, payment, 'REFUND')).filter(({ detail }) => /than its refunds say/.test(detail)).length, 1);
        assert.equal((await now(server, payment)).refundedAmount, null);
        await tell(server, await eventOf(server, payment, 'refund.created'));
        assert.equal((await now(server, payment)).refundedAmount, 400);
        await tell(server, retold(news));
        assert.equal(await server.db.count('message', `kind = 'charge.refunds'`), 0, 'now they agree');
    });

    test('E9 D12 charge.refunded before its refund is nothing to worry about', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        for (const type of CAPTURED) await tell(server, events[type]);
        await dashboard(server, '/refunds', { payment_intent: payment.gatewayTransactionId });
        for (const type of ['charge.refunded', 'refund.created']) await tell(server, await eventOf(server, payment, type));
        await server.advance(6 * 60_000);
        await until('it was looked at', async () => await server.db.count('message', `kind = 'charge.refunds'`) === 0);
        assert.equal((await server.metrics()).get('ichido_refund_missing_total'), 0);
        assert.equal((await now(server, payment)).status, 'REFUNDED');
    });

    // --- history ---

    test('W4 E6 every event shows what became of it: applied, superseded, ignored, failed, and how often it came again', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        const foreign = event('payment_intent.succeeded');
        const bad = retold(events['payment_intent.succeeded'], {}, { status: 'requires_magic' });
        await tell(server, events['payment_intent.succeeded']);
        for (let i = 0; i < 3; i++) assert.equal((await server.deliver(events['payment_intent.succeeded'])).status, 204);
        await tell(server, events['payment_intent.amount_capturable_updated']);
        await tell(server, foreign);
        await tell(server, event('customer.created'));
        await tell(server, retold(events['charge.captured'], { livemode: true }));
        await tellLong(server, bad);
        const { data, nextCursor } = await list(server, 'events');
        assert.equal(nextCursor, null);
        assert.deepEqual(data.map((one) => [one.type, one.outcome, one.detail, one.paymentId, one.duplicates]).reverse(), [
            ['payment_intent.succeeded', 'applied', null, payment.id, 3],
            ['payment_intent.amount_capturable_updated', 'superseded', null, payment.id, 0],
            ['payment_intent.succeeded', 'ignored', 'foreign', null, 0],
            ['customer.created', 'ignored', null, null, 0],
            ['charge.captured', 'ignored', 'wrong mode', null, 0],
            ['payment_intent.succeeded', 'failed', data[0].detail, payment.id, 0],
        ]);
        assert.match(data[0].detail, /read/);
        const ids = async (query) => (await list(server, 'events', query)).data.map(({ id }) => id);
        assert.deepEqual(await ids(`?paymentId=${payment.id}`),
            [bad.id, events['payment_intent.amount_capturable_updated'].id, events['payment_intent.succeeded'].id]);
        assert.deepEqual(await ids('?outcome=duplicate'), [events['payment_intent.succeeded'].id]);
        assert.deepEqual(await ids('?outcome=failed'), [bad.id]);
        assert.deepEqual(await ids('?outcome=ignored&type=payment_intent.succeeded'), [foreign.id]);
        assert.deepEqual(await ids(`?paymentId=${payment.id}&outcome=superseded`), [events['payment_intent.amount_capturable_updated'].id]);
        const pages = [];
        for (let cursor = ''; cursor !== null;) {
            const page = await list(server, 'events', `?limit=2${cursor && `&cursor=${cursor}`}`);
            pages.push(...page.data.map(({ id }) => id));
            cursor = page.nextCursor;
        }
        assert.deepEqual(pages, data.map(({ id }) => id));
    });

    test('N1 what people were told is listed, for admin alone', async (t) => {
        const server = await silent(t, store);
        const all = [await captured(server), await captured(server), await captured(server)];
        for (const { events } of all) for (const type of ['charge.captured', 'payment_intent.succeeded']) await tell(server, events[type]);
        const first = await list(server, 'notifications', '?limit=4');
        assert.equal(first.data.length, 4);
        const second = await list(server, 'notifications', `?limit=4&cursor=${first.nextCursor}`);
        assert.equal(second.nextCursor, null);
        const ids = all.map(({ payment }) => payment.id).reverse();
        assert.deepEqual([...first.data, ...second.data].map(({ type, paymentId }) => [type, paymentId]),
            [...ids.map((id) => ['receipt', id]), ...ids.map((id) => ['payment_authorized', id])]);
        const [only, ...rest] = (await list(server, 'notifications', `?paymentId=${all[0].payment.id}`)).data;
        assert.deepEqual(rest.map(({ type }) => type), ['payment_authorized']);
        assert.deepEqual([only.type, only.userId, only.sends], ['receipt', all[0].payment.userId, []]);
        for (const what of ['notifications', 'events']) {
            assert.equal((await server.call('GET', `/api/v1/admin/${what}`, { as: uuid() })).status, 403);
            assert.equal((await server.call('GET', `/api/v1/admin/${what}`)).status, 401);
            for (const query of ['?limit=0', '?limit=101', '?cursor=x', '?paymentId=7', '?other=1', '?limit=1&limit=2'])
                assert.equal((await server.call('GET', `/api/v1/admin/${what}${query}`, { as: 'admin' })).status, 400, query);
        }
        for (const query of ['?outcome=dead', '?outcome=', '?type='])
            assert.equal((await server.call('GET', `/api/v1/admin/events${query}`, { as: 'admin' })).status, 400, query);
    });
});
