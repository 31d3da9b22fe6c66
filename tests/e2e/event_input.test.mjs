// Events that do not fit: each is acknowledged, kept, and changes nothing but what it may. What is ours and
// cannot be right is a dead letter with its reason; what is not ours is nobody's business (W6 W9 D10 D18 D20 D24 E2).
import {
    CAPTURED, captureThere, dashboard, eventOf, eventsOf, now, retold, silent, tell, tellLong, transaction,
} from './lib/events.mjs';
import { asHex, assert, event, forEachStore, paymentIntent, unique, until, uuid } from './lib/harness.mjs';

// --- helpers ---

const BOOKS = ['bookings', 'payments', 'payment_transactions', 'refunds', 'operations', 'domain_events', 'notifications',
    'disputes', 'checkout_sessions'];
const books = async (server) => Object.fromEntries(await Promise.all(BOOKS.map(async (name) => [name, await server.db.table(name)])));

// Captured at the gateway, and we have heard of nothing yet.
async function captured(server, changes = { amount: 1000 }, form = undefined) {
    const payment = await server.paid({}, changes);
    await captureThere(server, payment, form);
    const [events] = await eventsOf(server, [payment.gatewayTransactionId], CAPTURED);
    return { payment, events };
}
// The same, and all of it told.
async function known(server) {
    const one = await captured(server);
    for (const type of CAPTURED) await tell(server, one.events[type]);
    await followed(server, one.payment);
    return one;
}
// What follows a capture by itself has happened: its fee is asked for a moment later.
async function followed(server, payment) {
    await until('its fee', async () => (await transaction(server, payment)).fee !== null);
    await until('CONFIRMED', async () => (await server.bookingNow(payment.bookingId)).status === 'CONFIRMED');
    await until('told', async () => (await server.db.table('notifications')).every((row) => row.recorded_at));
}

// Told, decided as said, and the books are as before.
async function changesNothing(server, one, outcome, detail) {
    const before = await books(server);
    const dead = (await server.db.dead()).length;
    const became = await tellLong(server, one);
    assert.equal(became.outcome, outcome, `${one.type}: ${became.detail}`);
    if (detail) assert.match(became.detail, detail);
    assert.deepEqual(await books(server), before);
    const now_ = await server.db.dead();
    assert.equal(now_.length, dead + (outcome === 'dead' ? 1 : 0));
    if (outcome === 'dead') {
        const letter = now_.find((row) => row.ref === one.id);
        assert.equal(letter.reason, became.detail, 'the letter says why, in the same words');
        assert.equal((await server.db.audit(`operation = 'DEAD_LETTER' AND subject = '${letter.ref}'`)).length, 1);
    }
}

const refundEvent = (payment, object = {}, type = 'refund.created') => event(type, { data: { object: {
    id: `re_3${unique()}`, object: 'refund', amount: 100, currency: 'jpy', status: 'succeeded',
    payment_intent: payment.gatewayTransactionId, metadata: {}, ...object,
} } });

forEachStore((store, test) => {
    // --- without metadata ---

    test('D18 D20 events without metadata are found by their intent; unknown ones are other people\'s', async (t) => {
        const server = await silent(t, store);
        for (const metadata of [{}, null, undefined]) {
            const { payment, events } = await captured(server);
            for (const type of CAPTURED) {
                const bare = retold(events[type], {}, { metadata });
                assert.ok(['applied', 'superseded'].includes((await tell(server, bare)).outcome), type);
            }
            assert.equal((await now(server, payment)).status, 'CAPTURED');
            assert.equal((await transaction(server, payment)).webhook_received_at !== null, true);
            await followed(server, payment);
        }
        const odd = [{}, null, undefined, 'payment_id', [], { payment_id: 7 }, { payment_id: null }, { payment_id: ['x'] }, { payment_id: 'x'.repeat(500) }];
        for (const metadata of odd)
            await changesNothing(server, event('payment_intent.succeeded',
                { data: { object: paymentIntent({ object: { metadata } }) } }), 'ignored', /foreign/);
    });

    // --- ids of other objects ---

    test('D18 an intent belongs to the payment whose row it has, whatever its metadata says', async (t) => {
        const server = await silent(t, store);
        const mine = await captured(server);
        const other = await server.paid({}, { amount: 1000 });
        const before = await server.db.paymentRow(other.id);
        for (const type of CAPTURED) {
            const lie = retold(mine.events[type], {}, { metadata: { payment_id: other.id } });
            assert.ok(['applied', 'superseded'].includes((await tell(server, lie)).outcome), type);
        }
        assert.deepEqual(await server.db.paymentRow(other.id), before, 'not this one\'s money');
        assert.equal((await now(server, mine.payment)).status, 'CAPTURED');
        assert.deepEqual((await server.db.operations(other.id)).filter((one) => one.kind !== 'create'), [], 'and nothing is sent back');
        assert.deepEqual((await server.db.operations(mine.payment.id)).filter((one) => one.kind !== 'create'), []);
    });

    test('D18 D20 a payment_id that is the id of something else: the intent decides, and without one it is a dead letter', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        for (const id of [payment.bookingId, payment.userId])
            await changesNothing(server, event('payment_intent.succeeded',
                { data: { object: paymentIntent({ object: { metadata: { payment_id: id } } }) } }), 'dead', /no such payment/);
        const odd = retold(events['payment_intent.succeeded'], {}, { metadata: { payment_id: payment.bookingId } });
        assert.equal((await tell(server, odd)).outcome, 'applied');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
    });

    test('D12 a refund that names another payment\'s refund, or is of another amount, is a dead letter', async (t) => {
        const server = await silent(t, store);
        const one = await known(server);
        const other = await known(server);
        const ours = (await server.refund(other.payment, 300)).body.refunds[0];
        await until('done', async () => (await server.db.refundRows(other.payment.id))[0].status === 'succeeded');
        const [row] = await server.db.refundRows(other.payment.id);
        assert.equal(asHex(ours.id), row.id);
        await changesNothing(server, refundEvent(one.payment, { metadata: { refund_id: ours.id } }), 'dead', /not of this payment/);
        await changesNothing(server, refundEvent(one.payment, { id: row.gateway_refund_id, amount: 300 }), 'dead', /not of this payment/);
        await changesNothing(server, refundEvent(other.payment, { id: row.gateway_refund_id, amount: 299 }), 'dead', /amount/);
    });

    test('W6 an object of another kind than the event says is a dead letter', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await known(server);
        const second = await server.paid({}, { amount: 1000 });
        const held = await eventOf(server, second, 'payment_intent.amount_capturable_updated');
        const rows = [
            retold(held, { type: 'charge.succeeded' }, { status: 'succeeded', amount_received: 1000 }),
            retold(held, { type: 'refund.created' }, { status: 'succeeded', amount_received: 1000 }),
            retold(held, { type: 'checkout.session.completed' }, { status: 'succeeded', amount_received: 1000 }),
            retold(events['charge.captured'], { type: 'payment_intent.succeeded' }),
            retold(events['charge.captured'], { type: 'charge.dispute.created' }),
            { ...refundEvent(payment), type: 'charge.refunded' },
        ];
        for (const one of rows) await changesNothing(server, one, 'dead', /kind/);
        await changesNothing(server, event('payment_intent.succeeded',
            { data: { object: { id: 'cus_1', object: 'customer', metadata: { payment_id: payment.id } } } }), 'processed');
    });

    // --- amounts and currencies ---

    test('D10 a charge in another currency, or of more money than was asked for, is a dead letter at once', async (t) => {
        const server = await silent(t, store);
        const { events } = await known(server);
        const rows = [{ currency: 'usd' }, { amount: 1001, amount_captured: 1001 }, { amount: 99_999_999, amount_captured: 99_999_999 }];
        for (const object of rows) await changesNothing(server, retold(events['charge.captured'], {}, object), 'dead', /currency|money/);
        for (const object of [{ amount: -1 }, { amount: '1000' }, { amount: 10.5 }, { currency: 'yen!' }, { currency: 7 }])
            await changesNothing(server, retold(events['charge.captured'], {}, object), 'dead', /read/);
    });

    test('D10 D12 a refund in another currency, or of more than was captured, is a dead letter', async (t) => {
        const server = await silent(t, store);
        const { payment } = await known(server);
        await changesNothing(server, refundEvent(payment, { currency: 'usd' }), 'dead', /currency/);
        await changesNothing(server, refundEvent(payment, { amount: 1001 }), 'dead', /more/);
        for (const object of [{ amount: -5 }, { status: 'lost' }, { id: '' }, { id: null }])
            await changesNothing(server, refundEvent(payment, { metadata: { payment_id: payment.id }, ...object }), 'dead', /read/);
        await tell(server, refundEvent(payment, { amount: 1000 }));
        assert.equal((await now(server, payment)).status, 'REFUNDED');
        await changesNothing(server, refundEvent(payment, { amount: 1 }), 'dead', /more/);
    });

    test('D10 E2 an intent that does not fit is looked up; what the gateway says is taken, and nothing else', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await known(server);
        const rows = [{ amount: 99_999, amount_received: 99_999 }, { currency: 'usd' }, { amount_received: 0 }, { amount_received: 5000 }];
        const row = await server.db.paymentRow(payment.id);
        for (const object of rows) {
            const became = await tell(server, retold(events['payment_intent.succeeded'], {}, object));
            assert.deepEqual([became.outcome, became.detail], ['applied', 'asked the gateway'], JSON.stringify(object));
            assert.deepEqual(await server.db.paymentRow(payment.id), row);
        }
        for (const object of [{ amount: -1 }, { amount: 1e20 }, { amount_received: 'all' }, { status: null }, { status: 'paid' }])
            await changesNothing(server, retold(events['payment_intent.succeeded'], {}, object), 'dead', /read/);
    });

    // --- payments we do not know yet ---

    test('D20 every kind of event that is ours by its metadata and has no payment yet is tried again, then a dead letter', async (t) => {
        const server = await silent(t, store);
        const id = uuid();
        const intent = `pi_3${unique()}`;
        const metadata = { payment_id: id };
        const charge = { id: `ch_3${unique()}`, object: 'charge', amount: 1000, currency: 'jpy', captured: true, status: 'succeeded', payment_intent: intent };
        const rows = [
            event('payment_intent.succeeded', { data: { object: paymentIntent({ object: { id: intent, metadata } }) } }),
            event('charge.succeeded', { data: { object: { ...charge, metadata } } }),
            refundEvent({ gatewayTransactionId: intent }, { metadata }),
            event('checkout.session.completed', { data: { object: { id: `cs_test_${unique()}`, object: 'checkout.session', status: 'complete',
                payment_status: 'paid', payment_intent: intent, client_reference_id: id, metadata } } }),
        ];
        for (const one of rows) await changesNothing(server, one, 'dead', /no such payment/);
        assert.deepEqual((await server.db.dead()).map(({ attempts }) => attempts), rows.map(() => 4));
        const lanes = (await server.db.dead()).map(({ lane }) => lane);
        assert.deepEqual(lanes, lanes.map(() => lanes[0]), 'D24: one lane for all of them');
        await changesNothing(server, event('checkout.session.completed', { data: { object: { id: `cs_test_${unique()}`, object: 'checkout.session',
            status: 'complete', payment_status: 'paid', payment_intent: `pi_3${unique()}`, metadata: {} } } }), 'ignored', /foreign/);
    });

    // --- charges in all their shapes ---

    test('E2 `charges` missing, of old, `latest_charge` as id, object or null, gone: all of them confirm', async (t) => {
        const server = await silent(t, store);
        const shapes = [
            ['an id', (charge) => ({ latest_charge: charge.id }), true],
            ['an object', (charge) => ({ latest_charge: charge }), true],
            ['null', () => ({ latest_charge: null }), false],
            ['gone', () => ({ latest_charge: undefined }), false],
            ['charges of old', (charge) => ({ latest_charge: undefined, charges: { object: 'list', data: [charge], has_more: false } }), true],
            ['charges of old, none', () => ({ latest_charge: undefined, charges: { object: 'list', data: [] } }), false],
            ['charges without data', () => ({ latest_charge: undefined, charges: {} }), false],
            ['charges null', () => ({ latest_charge: undefined, charges: null }), false],
            ['charges of nonsense', () => ({ latest_charge: undefined, charges: { data: ['x', 7, null] } }), false],
            ['a number', () => ({ latest_charge: 7 }), false],
        ];
        for (const [what, shape, has] of shapes) {
            const { payment, events } = await captured(server);
            const charge = events['charge.captured'].data.object;
            const told = retold(events['payment_intent.succeeded'], {}, shape(charge));
            assert.equal((await tell(server, told)).outcome, 'applied', what);
            assert.equal((await now(server, payment)).status, 'CAPTURED', what);
            const row = await transaction(server, payment);
            assert.equal(row.status, 'succeeded');
            assert.equal(row.stripe_charge_id, charge.id, `${what}: ${has ? 'it says so' : 'the API said so'}`);
        }
        assert.equal((await server.db.dead()).length, 0);
    });

    test('E3 a charge without intent is found by its id, and is a dead letter where nobody knows it', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await known(server);
        const row = await transaction(server, payment);
        for (const metadata of [{}, { payment_id: payment.id }]) {
            const became = await tell(server, retold(events['charge.updated'], {}, { payment_intent: null, metadata }));
            assert.equal(became.outcome, 'applied');
        }
        assert.deepEqual({ ...await transaction(server, payment), webhook_event_id: 0, webhook_received_at: 0, updated_at: 0 },
            { ...row, webhook_event_id: 0, webhook_received_at: 0, updated_at: 0 });
        const direct = { payment_intent: null, id: `ch_3${unique()}` };
        await changesNothing(server, retold(events['charge.updated'], {}, { ...direct, metadata: { payment_id: payment.id } }), 'dead', /names no intent/);
        await changesNothing(server, retold(events['charge.updated'], {}, { ...direct, metadata: {} }), 'ignored', /foreign/);
        for (const id of ['', null, undefined, 7])
            await changesNothing(server, retold(events['charge.updated'], {}, { id }), 'dead', /read/);
    });

    test('E9 a refund that names only its charge is found by that', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await known(server);
        const charge = events['charge.captured'].data.object.id;
        assert.equal((await tell(server, refundEvent(payment, { payment_intent: null, charge, amount: 200 }))).outcome, 'applied');
        assert.equal((await now(server, payment)).refundedAmount, 200);
        await changesNothing(server, refundEvent(payment, { payment_intent: null, charge: `ch_3${unique()}` }), 'ignored', /foreign/);
    });

    // --- API versions ---

    test('W6 older and newer API versions: what we need is found, what we do not know is no matter', async (t) => {
        const server = await silent(t, store);
        for (const version of ['2015-10-16', '2019-12-03', '2022-08-01', '2023-10-16', '2099-01-01.zzz', '', undefined, null, 7]) {
            const { payment, events } = await captured(server);
            const told = retold(events['payment_intent.succeeded'], { api_version: version, context: null, brand_new: { deep: [1, { er: true }] } },
                { a_field_of_tomorrow: { amount: 5, status: 'canceled' }, payment_details: null });
            assert.equal((await tell(server, told)).outcome, 'applied', `${version}`);
            assert.equal((await now(server, payment)).status, 'CAPTURED');
        }
        // 003's smallest: no `object`, no currency, no amount_received
        const { payment, events } = await captured(server);
        const { id, amount, status, metadata } = events['payment_intent.succeeded'].data.object;
        const least = { id: `evt_test_${unique()}`, type: 'payment_intent.succeeded', data: { object: { id, amount, status, metadata } } };
        const became = await tell(server, least);
        assert.deepEqual([became.outcome, became.detail], ['applied', 'asked the gateway']);
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        await changesNothing(server, event('v2.core.account.updated', { object: 'v2.core.event', data: undefined }), 'ignored');
    });

    test('W6 an event with the longest words and addresses that Stripe may send is taken like any other', async (t) => {
        const server = await silent(t, store);
        const { events } = await known(server);
        const words = { receipt_url: `https://pay.example.jp/${'a'.repeat(4000)}`, status: 'failed', failure_code: 'card_declined' };
        for (const letter of ['支', '\u0001', '"', '😀']) {
            const told = retold(events['charge.updated'], { type: 'charge.failed' }, { ...words, failure_message: letter.repeat(20_000) });
            assert.match((await tell(server, told)).outcome, /^(applied|superseded)$/, letter);
        }
    });

    // --- modes ---

    test('W9 live events in a test store are kept and never applied, of whatever kind', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        await dashboard(server, '/refunds', { payment_intent: payment.gatewayTransactionId });
        const kinds = [...CAPTURED.map((type) => events[type]), await eventOf(server, payment, 'refund.created'),
            await eventOf(server, payment, 'charge.refunded')];
        for (const one of kinds) await changesNothing(server, retold(one, { livemode: true }), 'wrong_mode');
        for (const livemode of [null, 'true', 1, undefined])
            assert.notEqual((await tell(server, retold(events['payment_intent.succeeded'], { livemode }))).outcome, 'wrong_mode', `${livemode}`);
        assert.equal((await now(server, payment)).status, 'CAPTURED', 'not said: not checked');
    });

    test('D24 Q12 a dead letter frees its lane: what is right behind it is applied', async (t) => {
        const server = await silent(t, store);
        const { payment, events } = await captured(server);
        const bad = retold(events['payment_intent.succeeded'], {}, { status: 'requires_magic' });
        for (const one of [bad, events['payment_intent.succeeded']]) assert.equal((await server.deliver(one)).status, 204);
        assert.equal((await server.settled(events['payment_intent.succeeded'].id)).outcome, 'applied');
        assert.equal((await server.settled(bad.id)).outcome, 'dead');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
    });
});
