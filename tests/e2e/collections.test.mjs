// Collections (S1, S3): people who owe, sessions of the gateway's page, and what its events make of them. The
// whole path runs over the sandbox's own page; orders of events that it would never give are delivered by hand.
import { asHex, assert, forEachStore, fresh, launch, request, start, token, until, uuid } from './lib/harness.mjs';
import { about, CANCEL, charge, Collection, intent, payOnPage, person, session, SUCCESS } from './lib/collections.mjs';
import { dashboard, eventsOf, tellLong } from './lib/events.mjs';
import { Courier, permutations } from './lib/history.mjs';
import { quiet } from './lib/purchases.mjs';

const SESSIONS = '/v1/checkout/sessions';
const MAKE = { path: SESSIONS, method: 'POST' };
const silent = { env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } };

const isPaid = (collection, who) => until('the participant is paid', async () => {
    const now = await collection.participant(who);
    return now.status === 'paid' && now;
});

const deliver = async (server, type, object) => {
    const event = about(type, object);
    assert.equal((await server.deliver(event)).status, 204);
    return (await server.settled(event.id)).outcome;
};

const sessionsOf = async (server, payment) =>
    (await server.stripe('/checkout/sessions?limit=100')).data.filter((one) => one.client_reference_id === payment.id);

const sessionRow = async (server, id) => (await server.db.table('checkout_sessions', `session_id = '${id}'`))[0];
const transactionsOf = (server, payment) =>
    server.db.table('payment_transactions', `payment_id = ${server.db.blob(asHex(payment.id))}`);

// A session that somebody else made for the same payment, as a call whose answer was lost would leave behind.
async function strayed(server, payment, changes = {}) {
    const body = new URLSearchParams({
        mode: 'payment', success_url: 'https://shop.example/', client_reference_id: payment.id,
        'metadata[payment_id]': payment.id, 'payment_intent_data[metadata][payment_id]': payment.id,
        'line_items[0][price_data][currency]': 'jpy', 'line_items[0][price_data][unit_amount]': payment.amount,
        'line_items[0][price_data][product_data][name]': 'x', 'line_items[0][quantity]': 1,
        ...changes,
    }).toString();
    const answer = await request(server.sandboxPort, {
        method: 'POST', path: SESSIONS,
        headers: { Authorization: 'Bearer sk_test_ichido_e2e', 'Content-Type': 'application/x-www-form-urlencoded' },
    }, body);
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.text);
}

const TABLES = ['collections', 'participants', 'payments', 'checkout_sessions', 'operations', 'idempotency_records', 'audit'];
const snapshot = async (server) =>
    Object.fromEntries(await Promise.all(TABLES.map(async (name) => [name, await server.db.table(name)])));

forEachStore((store, test) => {
    // --- the whole path ---

    test('S1 S3 a participant pays on the page: identifiers, then the intent, then fee and receipt', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: 3 });
        const [who] = collection.people;
        const answer = await collection.checkout(who);
        const { participant, payment, checkout } = answer.body;
        assert.equal(answer.status, 201);
        assert.equal(answer.headers.location, `/api/v1/payments/${payment.id}`);
        assert.equal(participant.status, 'unpaid');
        assert.equal(participant.paymentId, payment.id);
        assert.equal(payment.status, 'PENDING');
        assert.equal(payment.participantId, who.id);
        assert.equal(payment.userId, collection.owner);
        assert.equal(payment.description, '夏合宿');
        assert.equal(payment.gatewayTransactionId, null);
        assert.equal(checkout.status, 'open');
        assert.deepEqual(payment.requiresAction, { type: 'checkout', url: checkout.url, expiresAt: checkout.expiresAt });
        const [there] = await sessionsOf(server, payment);
        assert.equal(there.metadata.payment_id, payment.id, 'D18');
        assert.equal(there.amount_total, 3000);

        await payOnPage(server, checkout);
        const now = await isPaid(collection, who);
        assert.deepEqual([now.paidAmount, now.refundedAmount, now.paymentId, now.paymentStatus],
            [3000, 0, payment.id, 'CAPTURED']);
        assert.ok(now.paidAt);
        const row = await until('its session is complete', async () => {
            const one = await sessionRow(server, checkout.sessionId);
            return one.status === 'complete' && one;
        });
        const paid = await server.intentOf(payment);
        assert.deepEqual([row.payment_status, row.intent_id, row.url], ['paid', paid.id, checkout.url]);
        const [transaction] = await until('fee and receipt came', async () => {
            const rows = await transactionsOf(server, payment);
            return rows.length === 1 && rows[0].fee !== null && rows;
        });
        assert.equal(transaction.net, 3000 - transaction.fee);
        assert.ok(transaction.receipt_url);
        const { body } = await server.payment(payment);
        assert.deepEqual([body.status, body.capturedAmount, body.gatewayTransactionId, body.requiresAction],
            ['CAPTURED', 3000, paid.id, null]);
        assert.deepEqual(await collection.totals(), {
            participants: 3, paid: 1, unpaid: 2, amountDue: 9000, amountPaid: 3000, amountRefunded: 0, amountNet: 3000,
            amountOutstanding: 6000,
        });
        assert.equal((await server.books()).totals.captured, 3000);
    });

    test('S1 a card is declined on the page, another one is taken: one payment, its failure forgotten', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        await payOnPage(server, checkout, 'pm_card_chargeDeclinedInsufficientFunds');
        const failed = await until('the failure is told', async () => {
            const { body } = await server.payment(payment);
            return body.failureReason && body;
        });
        assert.equal(failed.status, 'PENDING', 'D11');
        assert.match(failed.failureReason, /^insufficient_funds/);
        assert.equal(failed.requiresAction.url, checkout.url, 'the page is still where it is paid');
        assert.equal((await collection.participant()).status, 'unpaid');
        await payOnPage(server, checkout);
        await isPaid(collection);
        const { body } = await server.payment(payment);
        assert.deepEqual([body.status, body.failureReason], ['CAPTURED', null]);
        assert.equal((await server.intents(payment)).length, 1);
    });

    test('S1 3-D Secure on the page is the page\'s own matter: the action stays the session', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        await payOnPage(server, checkout, 'pm_card_threeDSecure2Required');
        await quiet(server);
        const { body } = await server.payment(payment);
        assert.deepEqual([body.status, body.requiresAction.type, body.requiresAction.url], ['PENDING', 'checkout', checkout.url]);
        const [asked] = await server.intents(payment);
        await server.authenticate({ gatewayTransactionId: asked.id });
        await isPaid(collection);
    });

    // --- E1: a session informs ---

    test('S3 P5 a checkout request whose body is no JSON object is refused, and the server lives', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const before = await server.db.state();
        for (const [type, body, status] of [
            ['text/plain', '{}', 415], ['application/json', '{', 400], ['application/json', '[]', 400], ['application/json', 'null', 400],
        ]) {
            const answer = await server.request({
                method: 'POST', path: `/api/v1/participants/${collection.people[0].id}/checkout`,
                headers: { 'Content-Type': type, Authorization: `Bearer ${token(collection.owner)}`, 'Idempotency-Key': uuid() },
            }, body);
            assert.equal(answer.status, status, `${type} ${body}: ${answer.text}`);
        }
        assert.equal((await server.get('/healthz')).status, 200);
        assert.deepEqual(await server.db.state(), before);
        await collection.session();
    });

    test('E1 checkout.session.completed keeps the identifiers and pays nothing; the intent does', async (t) => {
        const server = await start(t, store, silent);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        const paid = intent(payment);
        const done = session(payment, { id: checkout.sessionId, status: 'complete', payment_status: 'paid', payment_intent: paid.id, customer: 'cus_42' });
        assert.equal(await deliver(server, 'checkout.session.completed', done), 'applied');
        const { body } = await server.payment(payment);
        assert.deepEqual([body.status, body.gatewayTransactionId, body.requiresAction, body.capturedAmount], ['PENDING', paid.id, null, null]);
        const now = await collection.participant();
        assert.deepEqual([now.status, now.paidAmount, now.checkout.status], ['unpaid', 0, 'complete']);
        const row = await sessionRow(server, checkout.sessionId);
        assert.deepEqual([row.customer_id, row.intent_id], ['cus_42', paid.id]);
        assert.equal((await collection.totals()).amountPaid, 0);
        assert.equal(await deliver(server, 'payment_intent.succeeded', paid), 'applied');
        assert.equal((await collection.participant()).status, 'paid');
    });

    test('E1 E6 what sessions say in any order only informs; complete is never undone', async (t) => {
        const server = await start(t, store, silent);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        const say = (type, changes) => deliver(server, `checkout.session.${type}`, session(payment, { id: checkout.sessionId, ...changes }));
        assert.equal(await say('expired', { status: 'expired' }), 'applied');
        const expired = (await server.payment(payment)).body;
        assert.deepEqual([expired.status, expired.requiresAction], ['PENDING', null]);
        const bound = { status: 'complete', payment_intent: 'pi_slow' };
        assert.equal(await say('completed', bound), 'applied');
        assert.equal(await say('expired', { status: 'expired' }), 'superseded');
        assert.equal(await say('async_payment_failed', bound), 'applied');
        assert.equal(await say('async_payment_succeeded', { ...bound, payment_status: 'paid' }), 'applied');
        assert.equal(await say('completed', { ...bound, payment_status: 'unpaid' }), 'applied');
        const row = await sessionRow(server, checkout.sessionId);
        assert.deepEqual([row.status, row.payment_status], ['complete', 'paid']);
        const now = (await server.payment(payment)).body;
        assert.deepEqual([now.status, now.gatewayTransactionId, now.capturedAmount], ['PENDING', 'pi_slow', null]);
        assert.equal((await collection.participant()).status, 'unpaid');
    });

    test('E1 a session of another payment, or of nobody, changes nothing', async (t) => {
        const server = await start(t, store, silent);
        const collection = await Collection.make(server, { people: 2 });
        const one = await collection.session(collection.people[0]);
        const two = await collection.session(collection.people[1]);
        const before = await snapshot(server);
        const wrong = session(two.payment, { id: one.checkout.sessionId, status: 'complete', payment_intent: 'pi_x' });
        const event = about('checkout.session.completed', wrong);
        await server.deliver(event);
        await until('it is refused', async () => (await server.db.outcome(event.id))?.outcome === 'dead');
        const foreign = { ...session(two.payment), client_reference_id: 'order-7', metadata: {} };
        assert.equal(await deliver(server, 'checkout.session.completed', foreign), 'ignored');
        assert.deepEqual({ ...await snapshot(server), audit: before.audit }, before, 'but for the dead letter\'s own line');
    });

    test('D18 a payment link of somebody with our payment id as its reference is foreign, and pays nothing', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        const link = await dashboard(server, '/checkout/sessions', {
            mode: 'payment', success_url: 'https://shop.example/', client_reference_id: payment.id,
            'line_items[0][price_data][currency]': 'jpy', 'line_items[0][price_data][unit_amount]': 100,
            'line_items[0][price_data][product_data][name]': 'sticker', 'line_items[0][quantity]': 1,
        });
        await payOnPage(server, link.id);
        await until('it was heard of', async () => (await server.db.outcomes()).length >= 4);
        await quiet(server);
        for (const { outcome } of await server.db.outcomes()) assert.equal(outcome, 'ignored');
        const { body } = await server.payment(payment);
        assert.deepEqual([body.status, body.gatewayTransactionId, body.requiresAction.url], ['PENDING', null, checkout.url]);
        assert.equal((await collection.participant()).checkout.sessionId, checkout.sessionId);
        assert.equal(await server.db.count('checkout_sessions'), 1);
        await payOnPage(server, checkout);
        await isPaid(collection);
        assert.equal((await server.payment(payment)).body.capturedAmount, 3000);
    });

    test('D18 E1 a session that we did not make never becomes the payment\'s; two references that differ are nobody\'s', async (t) => {
        const server = await start(t, store, silent);
        const collection = await Collection.make(server, { people: 2 });
        const { payment, checkout } = await collection.session();
        const { payment: other } = await collection.session(collection.people[1]);
        const odd = session(payment, { status: 'complete', payment_intent: 'pi_odd', metadata: { payment_id: other.id } });
        assert.equal(await deliver(server, 'checkout.session.completed', odd), 'ignored');
        const copied = session(payment, { status: 'complete', payment_intent: 'pi_copied', client_reference_id: null });
        assert.equal(await deliver(server, 'checkout.session.completed', copied), 'applied', 'it is kept, and that is all');
        assert.equal(await deliver(server, 'checkout.session.async_payment_succeeded', { ...copied, payment_status: 'paid' }), 'applied');
        const { body } = await server.payment(payment);
        assert.deepEqual([body.gatewayTransactionId, body.requiresAction.url], [null, checkout.url]);
        assert.equal((await collection.participant()).checkout.sessionId, checkout.sessionId);
        const booked = await server.paid();
        const wrong = about('checkout.session.completed', session({ ...booked, id: booked.id }, { status: 'complete', payment_intent: 'pi_b' }));
        assert.equal((await tellLong(server, wrong)).outcome, 'dead', 'only participants pay on the page');
        assert.equal((await server.payment(booked)).body.gatewayTransactionId, booked.gatewayTransactionId);
    });

    test('D10 less money than is owed is not taken: tried again, a dead letter, an alert; the page can still be paid', async (t) => {
        const server = await start(t, store, silent);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        const other = await strayed(server, payment, { 'line_items[0][price_data][unit_amount]': 100 });
        await payOnPage(server, other.id);
        const cheap = await server.intentOf(payment);
        assert.equal((await tellLong(server, about('payment_intent.succeeded', cheap))).outcome, 'dead');
        const alert = await server.line('an alert', (one) => one.level === 'error' && one.message === 'Webhook processing failed');
        assert.match(alert.error, /money/);
        assert.deepEqual([(await collection.participant()).status, (await server.payment(payment)).body.status], ['unpaid', 'PENDING']);
        await payOnPage(server, checkout);
        const whole = (await server.intents(payment)).find(({ id }) => id !== cheap.id);
        assert.equal(await deliver(server, 'payment_intent.succeeded', whole), 'applied');
        assert.equal((await collection.participant()).paidAmount, 3000);
    });

    // --- E7: what comes back is heard of before its intent ---

    test('E7 E9 a refund and a dispute of a page\'s money, told before anything else: the gateway is asked whose they are', async (t) => {
        const server = await start(t, store, silent);
        const collection = await Collection.make(server, { people: 4 });
        const states = [];
        for (const [i, who] of collection.people.entries()) {
            const { payment, checkout } = await collection.session(who);
            await payOnPage(server, checkout);
            const paid = await server.intentOf(payment);
            const back = await dashboard(server, '/refunds', { payment_intent: paid.id, amount: 1000 });
            const dispute = {
                id: `dp_${paid.id}`, object: 'dispute', amount: 3000, currency: 'jpy', charge: paid.latest_charge, payment_intent: paid.id,
                status: 'needs_response', reason: 'fraudulent', metadata: {},
            };
            const [events] = await eventsOf(server, [paid.id], ['checkout.session.completed', 'payment_intent.succeeded', 'charge.succeeded']);
            const all = [...['checkout.session.completed', 'payment_intent.succeeded', 'charge.succeeded'].map((type) => events[type]),
                about('refund.created', { ...back, metadata: {} }), about('charge.dispute.created', dispute)];
            const order = [all, [...all].reverse(), [all[3], ...all.slice(0, 3), all[4]], [all[4], all[3], all[2], all[1], all[0]]][i];
            for (const one of order) {
                assert.equal((await server.deliver(one)).status, 204);
                const { outcome } = await server.settled(one.id);
                assert.ok(['applied', 'superseded'].includes(outcome), `${one.type} ${outcome}`);
            }
            await quiet(server);
            const { body } = await server.payment(payment);
            const now = await collection.participant(who);
            states.push([body.status, body.capturedAmount, body.refundedAmount, body.disputed, now.status, now.refundedAmount,
                (await server.refund({ ...payment, userId: collection.owner }, 1)).status,
                (await server.db.table('notifications', `payment_id = ${server.db.blob(asHex(payment.id))}`)).map(({ type }) => type).join()]);
        }
        assert.deepEqual(states[0], ['CAPTURED', 3000, 1000, true, 'paid', 1000, 422, 'receipt']);
        for (const state of states) assert.deepEqual(state, states[0]);
    });

    test('E7 D20 refunds and disputes of nobody: asked once, ignored; a gateway that is down is asked again, then a dead letter', async (t) => {
        const server = await start(t, store, silent);
        const back = (changes) => about('refund.created', {
            id: `re_3${uuid()}`, object: 'refund', amount: 100, currency: 'jpy', status: 'succeeded', metadata: {}, reason: null,
            charge: 'ch_x', payment_intent: `pi_3${uuid()}`, ...changes,
        });
        const tell = async (one) => {
            assert.equal((await server.deliver(one)).status, 204);
            const { outcome, detail } = await server.settled(one.id);
            return [outcome, detail];
        };
        assert.deepEqual(await tell(back()), ['ignored', 'foreign'], 'no such intent');
        const theirs = await dashboard(server, '/payment_intents', { amount: 500, currency: 'jpy', confirm: true, payment_method: 'pm_card_visa',
            return_url: 'https://shop.example/' });
        assert.deepEqual(await tell(back({ payment_intent: theirs.id })), ['ignored', 'foreign'], 'somebody else\'s');
        const dispute = { id: 'dp_theirs', object: 'dispute', amount: 500, currency: 'jpy', charge: null, payment_intent: theirs.id,
            status: 'needs_response', reason: null, metadata: {} };
        assert.deepEqual(await tell(about('charge.dispute.created', dispute)), ['ignored', 'foreign']);
        const named = await dashboard(server, '/payment_intents', { amount: 500, currency: 'jpy', 'metadata[payment_id]': uuid() });
        assert.equal((await tellLong(server, back({ payment_intent: named.id }))).outcome, 'dead', 'ours by its name, and not there');
        assert.equal((await server.db.dead()).length, 1);
        await server.fault({ path: '/v1/payment_intents/*', method: 'GET', statusBefore: 500, times: 1000 });
        assert.equal((await tellLong(server, back({ payment_intent: theirs.id }))).outcome, 'dead');
        await server.healed();
        assert.deepEqual(await server.db.table('refunds'), []);
        assert.deepEqual(await server.db.table('disputes'), []);
    });

    test('E7 S3 every order of a session, its intent and its charge, once and doubled, ends in the same rows', { timeout: 240_000 }, async (t) => {
        const server = await start(t, store, silent);
        const steps = ['session.completed', 'created', 'succeeded', 'charge.succeeded', 'charge.updated'];
        const orders = [...permutations(steps)];
        const collection = await Collection.make(server, { people: orders.length });
        const begun = [];
        for (const who of collection.people) begun.push(await collection.session(who));
        await new Courier(server).deliverAll(begun.map(({ payment, checkout }, i) => {
            const paid = intent(payment);
            const open = intent(payment, { object: { id: paid.id, status: 'requires_payment_method', amount_received: 0, latest_charge: null } });
            const balance = { id: `txn_${paid.id}`, object: 'balance_transaction', amount: payment.amount, currency: 'jpy', fee: 108, net: payment.amount - 108 };
            const say = {
                'session.completed': ['checkout.session.completed', session(payment, { id: checkout.sessionId, status: 'complete', payment_status: 'paid', payment_intent: paid.id, customer: 'cus_1' })],
                created: ['payment_intent.created', open],
                succeeded: ['payment_intent.succeeded', paid],
                'charge.succeeded': ['charge.succeeded', charge(payment, paid)],
                'charge.updated': ['charge.updated', charge(payment, paid, { balance_transaction: balance })],
            };
            const order = i % 2 ? orders[i].flatMap((step) => [step, step]) : orders[i];
            return order.map((step) => about(...say[step]));
        }));
        await quiet(server);
        const strip = (row) => Object.fromEntries(Object.entries(row).filter(([name]) => !name.endsWith('_at')
            && !/^(id|version|.*_id|idempotency_key|dedupe|url|data|balance_transaction|trace)$/.test(name)));
        const group = async (table, column) => (await server.db.table(table)).reduce((groups, row) =>
            groups.set(row[column], [...(groups.get(row[column]) ?? []), row]), new Map());
        const [payments, people, transactions, sessions, notices] = await Promise.all([group('payments', 'id'),
            group('participants', 'participant_id'), group('payment_transactions', 'payment_id'),
            group('checkout_sessions', 'payment_id'), group('notifications', 'payment_id')]);
        const stateOf = ({ payment, checkout }) => {
            const id = asHex(payment.id);
            const [row] = payments.get(id);
            const [transaction, ...others] = transactions.get(id);
            assert.equal(others.length, 0);
            assert.equal(row.gateway_transaction_id, transaction.stripe_payment_intent_id);
            assert.equal(row.checkout_session_id, checkout.sessionId);
            assert.equal(sessions.get(id)[0].intent_id, row.gateway_transaction_id);
            return {
                payment: strip(row), participant: strip(people.get(asHex(payment.participantId))[0]), transaction: strip(transaction),
                sessions: sessions.get(id).map(strip), notices: (notices.get(id) ?? []).map(strip),
            };
        };
        const straight = stateOf(begun[0]);
        assert.deepEqual([straight.payment.status, straight.participant.status, straight.transaction.fee, straight.transaction.status],
            ['CAPTURED', 'paid', 108, 'succeeded']);
        for (const [i, one] of begun.entries()) assert.deepEqual(stateOf(one), straight, orders[i].join(', '));
        assert.deepEqual(await server.db.dead(), []);
        const totals = await collection.totals();
        assert.deepEqual([totals.paid, totals.amountPaid, totals.amountOutstanding], [orders.length, orders.length * 3000, 0]);
    });

    // --- D18, D2: sessions come and go, the payment stays ---

    test('D18 another session ends the one before it, and the payment goes on', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const first = await collection.session();
        const second = await collection.session();
        assert.equal(second.payment.id, first.payment.id);
        assert.notEqual(second.checkout.sessionId, first.checkout.sessionId);
        assert.equal(second.payment.requiresAction.url, second.checkout.url);
        const there = await sessionsOf(server, first.payment);
        assert.deepEqual(there.map(({ id, status }) => [id, status]).sort(),
            [[first.checkout.sessionId, 'expired'], [second.checkout.sessionId, 'open']].sort());
        await quiet(server);
        assert.equal((await sessionRow(server, first.checkout.sessionId)).status, 'expired');
        assert.equal((await server.payment(first.payment)).body.requiresAction.url, second.checkout.url, 'the old one\'s end is not the new one\'s');
        await payOnPage(server, second.checkout);
        await isPaid(collection);
        assert.equal((await server.db.payments()).length, 1);
    });

    test('D18 a card declined on the first session: its intent ends with it, the second session\'s money stays', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const first = await collection.session();
        await payOnPage(server, first.checkout, 'pm_card_visa_chargeDeclined');
        await quiet(server);
        const second = await collection.session();
        await quiet(server);
        const [lost] = await server.intents(first.payment);
        assert.equal(lost.status, 'canceled');
        const waiting = (await server.payment(first.payment)).body;
        assert.deepEqual([waiting.status, waiting.requiresAction.url], ['PENDING', second.checkout.url]);
        await payOnPage(server, second.checkout);
        await isPaid(collection);
        await quiet(server);
        const { body } = await server.payment(first.payment);
        assert.deepEqual([body.status, body.refundedAmount, body.refunds.length], ['CAPTURED', null, 0]);
        const { totals } = await server.books();
        assert.deepEqual([totals.captured, totals.refunded], [3000, 0]);
        assert.deepEqual((await transactionsOf(server, body)).map(({ status }) => status).sort(), ['canceled', 'succeeded']);
    });

    test('D18 somebody pays just before another session is asked for: the answer says so, and there is no other', async (t) => {
        const server = await start(t, store, silent);
        const collection = await Collection.make(server);
        const first = await collection.session();
        await payOnPage(server, first.checkout);
        const key = uuid();
        const second = await collection.checkout(undefined, { key });
        assert.equal(second.status, 201);
        assert.deepEqual([second.body.checkout.sessionId, second.body.checkout.status], [first.checkout.sessionId, 'complete']);
        assert.equal(second.body.payment.status, 'PENDING', 'E1 a session pays nothing');
        assert.equal(second.body.payment.requiresAction, null);
        assert.equal((await sessionsOf(server, first.payment)).length, 1);
        const again = await collection.checkout(undefined, { key });
        assert.deepEqual([again.status, again.text], [200, second.text]);
        await deliver(server, 'payment_intent.succeeded', await server.intentOf(first.payment));
        await isPaid(collection);
    });

    test('D2 two sessions are both paid: one payment, and the second money goes back', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        const other = await strayed(server, payment);
        await Promise.all([payOnPage(server, checkout), payOnPage(server, other.id)]);
        const now = await isPaid(collection);
        await until('the other money is back', async () => (await server.books()).totals.refunded === 3000);
        await quiet(server);
        const { totals } = await server.books();
        assert.deepEqual([totals.captured, totals.refunded], [6000, 3000]);
        const { body } = await server.payment(payment);
        assert.deepEqual([body.status, body.capturedAmount, body.refundedAmount], ['CAPTURED', 3000, null]);
        assert.deepEqual([now.paidAmount, (await collection.participant()).refundedAmount], [3000, 0]);
        assert.deepEqual((await collection.totals()).amountNet, 3000);
        const taken = (await server.intents(payment)).find(({ id }) => id === body.gatewayTransactionId);
        assert.equal(taken.status, 'succeeded');
        const told = await server.db.table('notifications', "type = 'payment_refunded'");
        assert.equal(told.length, 1, 'and the participant is told, once');
        assert.equal(told[0].participant_id, asHex(collection.people[0].id));
    });

    test('D2 E2 the same where the gateway is asked before it is believed, about both at a time', async (t) => {
        const server = await start(t, store, { env: { ...silent.env, ICHIDO_REFETCH: 'on' } });
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        const other = await strayed(server, payment);
        await Promise.all([payOnPage(server, checkout), payOnPage(server, other.id)]);
        const paid = await server.intents(payment);
        assert.equal(paid.length, 2);
        await server.fault({ path: '/v1/payment_intents/*', method: 'GET', hangMs: 700, times: 2 });
        for (const one of paid) await server.deliver(about('payment_intent.succeeded', one));
        await isPaid(collection);
        await until('the other money is back', async () => (await server.books()).totals.refunded === 3000);
        await quiet(server);
        assert.equal((await server.books()).totals.captured, 6000);
        assert.equal((await collection.totals()).amountNet, 3000);
    });

    test('D2 money of a session that nobody knows of pays, while the one we made is ended by the next', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        const other = await strayed(server, payment);
        await payOnPage(server, other.id);
        await isPaid(collection);
        await payOnPage(server, checkout);
        await until('the other money is back', async () => (await server.books()).totals.refunded === 3000);
        assert.equal((await collection.participant()).paidAmount, 3000);
    });

    for (const order of [['completed', 'canceled'], ['canceled', 'completed']])
        test(`D1 E7 ${order.join(' before ')}: FAILED frees the place, and the next checkout is a new payment`, async (t) => {
            const server = await start(t, store, silent);
            const collection = await Collection.make(server);
            const { payment, checkout } = await collection.session();
            const dead = intent(payment, { object: { status: 'canceled', amount_received: 0, cancellation_reason: 'abandoned', latest_charge: null } });
            for (const step of order)
                if (step === 'canceled') await deliver(server, 'payment_intent.canceled', dead);
                else await deliver(server, 'checkout.session.completed', session(payment, { id: checkout.sessionId, status: 'complete', payment_intent: dead.id }));
            const { body } = await server.payment(payment);
            assert.deepEqual([body.status, body.failureReason, body.gatewayTransactionId], ['FAILED', 'abandoned', dead.id]);
            const events = (await server.db.domainEvents(payment.id)).map(({ type }) => type);
            assert.equal(events.filter((type) => type === 'PaymentFailed').length, 1);
            assert.equal((await collection.participant()).paymentId, null);
            const next = await collection.session();
            assert.notEqual(next.payment.id, payment.id);
            await payOnPage(server, next.checkout);
            await deliver(server, 'payment_intent.succeeded', await server.intentOf(next.payment));
            assert.equal((await collection.participant()).paymentId, next.payment.id);
        });

    test('S1 a slip for the convenience store: the session is complete, the participant is paid when it is', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        await payOnPage(server, checkout, 'konbini');
        await quiet(server);
        const waiting = await collection.participant();
        assert.deepEqual([waiting.status, waiting.checkout.status, waiting.paymentStatus], ['unpaid', 'complete', 'PENDING']);
        await server.sandbox('POST', `/konbini/${(await server.intentOf(payment)).id}/pay`, {});
        await isPaid(collection);
    });

    // The slip of a complete session lapses; its intent cannot be cancelled, and nobody will pay it.
    async function lapsed(server, collection) {
        const { payment, checkout } = await collection.session();
        await payOnPage(server, checkout, 'konbini');
        await quiet(server);
        assert.equal((await collection.session()).checkout.sessionId, checkout.sessionId, 'no second way to pay while the first lives');
        const slip = await server.intentOf(payment);
        await server.sandbox('POST', `/konbini/${slip.id}/expire`, {});
        await until('it is heard of', async () => (await server.payment(payment)).body.failureReason);
        await quiet(server);
        return { payment, checkout, slip };
    }

    test('D18 S1 a slip that lapses is a lost try: it cannot be voided, the participant is told, the next checkout goes on', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, checkout, slip } = await lapsed(server, collection);
        const [told, ...more] = await server.db.table('notifications', "type = 'payment_failed'");
        assert.deepEqual([told.participant_id, told.body, more], [asHex(collection.people[0].id), 'コンビニ決済の支払期限が切れました。', []]);
        assert.equal((await server.void(payment)).status, 422, 'only the session may end it, and that is complete');
        assert.equal((await server.payment(payment)).body.status, 'PENDING');
        const next = await collection.session();
        assert.equal(next.payment.id, payment.id);
        assert.deepEqual([next.checkout.status, next.payment.gatewayTransactionId], ['open', null]);
        assert.notEqual(next.checkout.sessionId, checkout.sessionId);
        await server.deliver(about('payment_intent.payment_failed', await server.intents(payment).then(([one]) => one)));
        await server.deliver(about('checkout.session.async_payment_failed', session(payment, { id: checkout.sessionId, status: 'complete', payment_intent: slip.id })));
        await quiet(server);
        assert.deepEqual([(await collection.participant()).checkout.sessionId, (await server.payment(payment)).body.gatewayTransactionId],
            [next.checkout.sessionId, null], 'what is told of the old one again changes nothing');
        await payOnPage(server, next.checkout);
        await isPaid(collection);
        const { body } = await server.payment(payment);
        assert.deepEqual([body.status, body.failureReason], ['CAPTURED', null]);
        assert.notEqual(body.gatewayTransactionId, slip.id);
        const { totals } = await server.books();
        assert.deepEqual([totals.captured, totals.refunded], [3000, 0]);
    });

    test('D2 a lapsed slip brings money all the same: taken where it is the first, else it goes back', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, slip } = await lapsed(server, collection);
        const next = await collection.session();
        const late = { ...slip, status: 'succeeded', amount_received: 3000, last_payment_error: null, next_action: null };
        assert.equal(await deliver(server, 'payment_intent.succeeded', late), 'applied');
        assert.equal((await server.payment(payment)).body.gatewayTransactionId, slip.id);
        assert.equal((await collection.participant()).status, 'paid');
        await payOnPage(server, next.checkout);
        await until('the second money is back', async () => (await server.books()).totals.refunded === 3000);
        await quiet(server);
        assert.deepEqual([(await collection.participant()).paidAmount, (await server.payment(payment)).body.refundedAmount], [3000, null]);

        const other = await Collection.make(server);
        const lost = await lapsed(server, other);
        await payOnPage(server, (await other.session()).checkout);
        await isPaid(other);
        assert.equal(await deliver(server, 'payment_intent.succeeded', { ...late, id: lost.slip.id, metadata: lost.slip.metadata }), 'applied');
        const causes = (await server.db.operations(lost.payment.id)).map(({ cause }) => cause);
        assert.ok(causes.includes(`stray:${lost.slip.id}`), causes.join());
        assert.equal((await other.participant()).paidAmount, 3000);
    });

    test('D18 a card that was declined before the slip is no lost try while the slip can be paid', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        await payOnPage(server, checkout, 'pm_card_visa_chargeDeclined');
        await payOnPage(server, checkout, 'konbini');
        await quiet(server);
        assert.equal((await collection.session()).checkout.sessionId, checkout.sessionId);
        await server.sandbox('POST', `/konbini/${(await server.intentOf(payment)).id}/pay`, {});
        await isPaid(collection);
        const told = await server.db.table('notifications', "type = 'payment_failed'");
        assert.equal(told.length, 1);
    });

    test('S1 D23 a void before anybody has paid closes the page: FAILED, the amount may change, the next checkout is a new payment', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const { payment, checkout } = await collection.session();
        const dearer = { participants: [{ ...collection.people[0], amount: 4000 }] };
        assert.equal((await collection.put(dearer)).status, 422, 'somebody may be paying right now');
        const key = uuid();
        const voided = await server.void(payment, { key });
        assert.deepEqual([voided.status, voided.body.status, voided.body.failureReason], [200, 'FAILED', 'requested_by_customer'], voided.text);
        assert.equal((await server.void(payment, { key })).text, voided.text);
        assert.equal((await server.stripe(`/checkout/sessions/${checkout.sessionId}`)).status, 'expired');
        assert.equal((await collection.put(dearer)).status, 200);
        const next = await collection.session();
        assert.notEqual(next.payment.id, payment.id);
        assert.equal(next.payment.amount, 4000);
        await payOnPage(server, next.checkout);
        await isPaid(collection);
    });

    test('S1 P7 a void of the page whose reply is lost is sent again; a page that was paid just now cannot be voided', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: 2 });
        const [one, two] = collection.people;
        const lost = await collection.session(one);
        await server.fault({ path: '/v1/checkout/sessions/*/expire', dropAfter: true, times: 1 });
        const key = uuid();
        const voided = await until('the void has its answer', async () => {
            const answer = await server.void(lost.payment, { key });
            await server.advance(3000);
            return answer.status < 500 && answer;
        });
        assert.deepEqual([voided.status, voided.body.status], [200, 'FAILED'], voided.text);
        await server.webhooks({ on: false });
        const paid = await collection.session(two);
        await payOnPage(server, paid.checkout);
        const refused = await until('it is known that somebody paid', async () => {
            const answer = await server.void(paid.payment);
            await server.advance(3000);
            return answer.status === 422 && answer;
        });
        assert.equal(refused.body.currentStatus, 'CAPTURED');
        await isPaid(collection, two);
    });

    // --- refunds (D22) ---

    test('D22 refunds: the participant stays paid, the totals are net, and it is not paid again', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: 2 });
        const [who] = collection.people;
        const { payment, checkout } = await collection.session(who);
        await payOnPage(server, checkout);
        await isPaid(collection, who);
        const owner = { ...payment, userId: collection.owner };
        assert.equal((await server.refund(owner, 1000)).status, 200);
        let now = await collection.participant(who);
        assert.deepEqual([now.status, now.paidAmount, now.refundedAmount], ['paid', 3000, 1000]);
        assert.equal((await server.refund(owner)).body.status, 'REFUNDED');
        await quiet(server);
        now = await collection.participant(who);
        assert.deepEqual([now.status, now.paidAmount, now.refundedAmount, now.paymentId, now.paymentStatus],
            ['paid', 3000, 3000, payment.id, 'REFUNDED']);
        const { body } = await collection.get();
        assert.deepEqual(body.totals, {
            participants: 2, paid: 1, unpaid: 1, amountDue: 6000, amountPaid: 3000, amountRefunded: 3000, amountNet: 0,
            amountOutstanding: 3000,
        });
        assert.equal(body.participants.data.find(({ id }) => id === who.id).paymentId, payment.id);
        const again = await collection.checkout(who);
        assert.deepEqual([again.status, again.body.code, again.body.paymentId], [422, 'PAYMENT_EXISTS', payment.id]);
    });

    // --- keys (I1 to I5) ---

    test('I2 the same key gives the same session; other urls with it are refused; paid already is told', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: 2 });
        const [who, other] = collection.people;
        const key = uuid();
        const first = await collection.checkout(who, { key });
        const again = await collection.checkout(who, { key });
        assert.deepEqual([again.status, again.text, again.headers['idempotent-replayed']], [200, first.text, 'true']);
        const refused = [
            await collection.checkout(who, { key, body: { successUrl: `${SUCCESS}&x=1` } }),
            await collection.checkout(who, { key, body: { successUrl: SUCCESS, cancelUrl: CANCEL } }),
            await collection.checkout(other, { key }),
        ];
        for (const one of refused) assert.deepEqual([one.status, one.body.code], [409, 'IDEMPOTENCY_CONFLICT']);
        assert.equal((await sessionsOf(server, first.body.payment)).length, 1);
        await payOnPage(server, first.body.checkout);
        await isPaid(collection, who);
        assert.equal((await collection.checkout(who, { key })).text, first.text, 'I5 a replay works after it was paid');
        const late = await collection.checkout(who);
        assert.deepEqual([late.status, late.body.code, late.body.paymentId], [422, 'PAYMENT_EXISTS', first.body.payment.id]);
    });

    test('I4 D1 many at once: one key, one session; several keys, one payment and one open session', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: 2 });
        const [who, other] = collection.people;
        const key = uuid();
        const same = await Promise.all(Array.from({ length: 8 }, () => collection.checkout(who, { key })));
        assert.deepEqual(same.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 200, 200, 201]);
        assert.equal(new Set(same.map(({ text }) => text)).size, 1);
        const several = await Promise.all(Array.from({ length: 8 }, () => collection.checkout(other)));
        for (const { status, body } of several) assert.ok(status === 201 || body.code === 'OUTCOME_UNKNOWN', JSON.stringify(body));
        assert.ok(several.some(({ status }) => status === 201));
        await quiet(server);
        assert.equal((await server.db.payments()).length, 2);
        for (const payment of await server.db.payments()) {
            const open = (await server.stripe('/checkout/sessions?limit=100')).data
                .filter((one) => asHex(one.client_reference_id) === payment.id && one.status === 'open');
            assert.equal(open.length, 1);
            assert.equal(open[0].id, payment.checkout_session_id);
        }
    });

    // --- trouble at the gateway ---

    test('P7 the gateway makes the session and its answer is lost: the same key has it, and there is one', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        await server.fault({ ...MAKE, dropAfter: true, times: 10 });
        const key = uuid();
        const lost = await collection.checkout(undefined, { key });
        assert.ok([502, 504].includes(lost.status), lost.text);
        const waiting = await collection.checkout();
        assert.deepEqual([waiting.status, waiting.body.code], [503, 'OUTCOME_UNKNOWN']);
        await server.healed();
        const found = await until('the same key has an answer', async () => {
            const answer = await collection.checkout(undefined, { key });
            return answer.status < 300 && answer;
        });
        assert.equal((await sessionsOf(server, found.body.payment)).length, 1);
        assert.equal(found.body.checkout.status, 'open');
        assert.equal((await collection.checkout(undefined, { key })).text, found.text);
        await payOnPage(server, found.body.checkout);
        await isPaid(collection);
    });

    test('P7 the first session cannot be ended: no other is made until it is', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const first = await collection.session();
        await server.fault({ path: `${SESSIONS}/*/expire`, method: 'POST', statusBefore: 500, times: 100 });
        const key = uuid();
        assert.equal((await collection.checkout(undefined, { key })).status, 502);
        assert.equal((await sessionsOf(server, first.payment)).length, 1);
        await server.healed();
        const second = await until('the same key has an answer', async () => {
            const answer = await collection.checkout(undefined, { key });
            return answer.status < 300 && answer.body;
        });
        const there = await sessionsOf(server, first.payment);
        assert.deepEqual(there.map(({ status }) => status).sort(), ['expired', 'open']);
        assert.equal(there.find(({ status }) => status === 'open').id, second.checkout.sessionId);
    });

    test('P7 D6 a gateway that is down for a day: the operation is let go, its payment goes on', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        await server.fault({ ...MAKE, statusBefore: 500, times: 1000 });
        const key = uuid();
        const down = await collection.checkout(undefined, { key });
        assert.equal(down.status, 502);
        await server.advance(23 * 3600_000);
        await until('it was let go', async () => {
            await server.advance(600_000); // it is tried at most every ten minutes
            return await server.db.count('operations', "phase <> 'done'") === 0;
        });
        assert.ok(!(await server.db.payments())[0].open_op);
        await server.healed();
        const next = await collection.session(undefined, { key });
        assert.equal(next.payment.id, down.body.paymentId, 'the key is free, and the payment the same');
        await payOnPage(server, next.checkout);
        await isPaid(collection);
    });

    test('P5 the gateway refuses the session for good: 201 with a FAILED payment, and the place is free', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: [person({ email: 'hanako@example.com' })] });
        await server.fault({ ...MAKE, statusBefore: 400, times: 1 });
        const refused = await collection.checkout();
        assert.equal(refused.status, 201, refused.text);
        assert.deepEqual([refused.body.payment.status, refused.body.checkout, refused.body.participant.status], ['FAILED', null, 'unpaid']);
        const next = await collection.session();
        assert.notEqual(next.payment.id, refused.body.payment.id);
        assert.equal((await sessionsOf(server, next.payment))[0].customer_email, 'hanako@example.com');
    });

    // --- T6 ---

    const AFTER_MS = { 'op.claimed': 11_000, 'op.calling': 11_000, 'op.answered': 40_000, 'op.settling': 40_000, 'op.settled': 0 };
    for (const [point, afterMs] of Object.entries(AFTER_MS))
        for (const nth of ['first', 'second'])
            test(`T6 kill -9 at ${point} of a ${nth} checkout: the same request again, one session more`, async (t) => {
                const db = await fresh(t, store);
                const calm = await start(t, store, { db });
                const made = await Collection.make(calm);
                const before = nth === 'second' ? await made.session() : undefined;
                await calm.stop();
                const key = uuid();
                const dying = await launch(t, db, { env: { ICHIDO_FAULTS: `${point}=crash@1` } }).listening();
                made.server = dying;
                await made.checkout(undefined, { key }).catch(() => {});
                assert.equal((await dying.exit).signal, 'SIGKILL', `${point} was passed`);

                const again = await start(t, store, { db });
                made.server = again;
                await made.put({ title: 'another title', participants: made.people.map((who) => ({ ...who, email: 'new@example.com' })) });
                await again.advance(afterMs);
                const answer = await until('it has an answer', async () => {
                    const one = await made.checkout(undefined, { key });
                    if (one.status >= 500) await again.advance(5000);
                    return one.status < 500 && one;
                });
                assert.ok([200, 201].includes(answer.status), answer.text);
                const { payment, checkout } = answer.body;
                const there = await sessionsOf(again, payment);
                assert.deepEqual(there.map(({ status }) => status).sort(), before ? ['expired', 'open'] : ['open']);
                assert.equal(there.find(({ status }) => status === 'open').id, checkout.sessionId);
                assert.equal(await db.count('payments'), 1);
                assert.equal((await made.checkout(undefined, { key })).text, answer.text, 'I2 and it is replayed');
                await payOnPage(again, checkout);
                await isPaid(made);
            });

    test('T6 kill -9 while the intent\'s success is applied: paid once', async (t) => {
        const db = await fresh(t, store);
        const dying = await launch(t, db, { env: { ICHIDO_FAULTS: 'apply:payment_intent.succeeded=crash@1' } }).listening();
        const collection = await Collection.make(dying);
        const { checkout } = await collection.session();
        await payOnPage(dying, checkout).catch(() => {});
        assert.equal((await dying.exit).signal, 'SIGKILL');
        collection.server = await start(t, store, { db });
        await collection.server.advance(11_000);
        const now = await isPaid(collection);
        assert.equal(now.paidAmount, 3000);
        assert.equal((await db.table('domain_events', "type = 'PaymentCaptured'")).length, 1);
    });

    // --- the collection itself ---

    test('S1 PUT makes, changes and leaves alone; participants that are not named stay', async (t) => {
        const server = await start(t, store);
        const collection = new Collection(server, uuid(), uuid());
        const [one, two, three] = [person({ name: 'A', email: 'a@example.com', userId: uuid() }), person({ name: 'B' }), person({ name: 'C' })];
        const made = await collection.put({ description: '8 月', dueAt: '2026-08-01T23:59:59+09:00', timeZone: 'Europe/Berlin', participants: [two, one] });
        assert.equal(made.status, 201);
        assert.deepEqual([made.body.ownerId, made.body.dueAt, made.body.timeZone, made.body.description],
            [collection.owner, '2026-08-01T14:59:59.000Z', 'Europe/Berlin', '8 月']);
        const same = await collection.put({ description: '8 月', dueAt: '2026-08-01T14:59:59Z', timeZone: 'Europe/Berlin', participants: [one] });
        assert.deepEqual([same.status, same.body], [200, made.body], 'nothing was changed');
        const changed = await collection.put({ title: '冬', participants: [three, { ...one, amount: 500, email: null, userId: null }] });
        assert.equal(changed.status, 200);
        assert.deepEqual([changed.body.title, changed.body.description, changed.body.dueAt, changed.body.timeZone], ['冬', null, null, 'Asia/Tokyo']);
        const now = Object.fromEntries(changed.body.participants.data.map((row) => [row.name, row]));
        assert.deepEqual([now.A.amount, now.A.email, now.A.userId, now.B.amount, now.C.amount], [500, null, null, 3000, 3000]);
        assert.deepEqual([changed.body.totals.participants, changed.body.totals.amountDue], [3, 6500]);
        const usd = await collection.put({ title: '冬', currency: 'usd' });
        assert.deepEqual([usd.status, usd.body.currency], [200, 'USD'], 'without money it may still change');
    });

    test('S1 what somebody pays or has paid stands still: 422, and nothing is changed', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: 4 });
        const other = await Collection.make(server);
        const [paid, paying, free] = collection.people;
        const { checkout } = await collection.session(paid);
        await payOnPage(server, checkout);
        await isPaid(collection, paid);
        await collection.session(paying);
        await quiet(server);
        const before = await snapshot(server);
        const rows = [
            ['the currency', { currency: 'USD' }],
            ['the amount of who paid', { participants: [{ ...free, amount: 1 }, { ...paid, amount: 2999 }] }, paid],
            ['the amount of who is paying', { title: 'x', participants: [person(), { ...paying, amount: 3001 }] }, paying],
            ['a participant of another collection', { participants: [person(), { ...other.people[0] }] }, other.people[0]],
        ];
        for (const [what, change, who] of rows) {
            const answer = await collection.put(change);
            assert.deepEqual([answer.status, answer.body.code, answer.body.participantId], [422, 'UNPROCESSABLE', who?.id], what);
            assert.deepEqual(await snapshot(server), before, what);
        }
        const japanese = await collection.put({ currency: 'USD' }, { headers: { 'Accept-Language': 'ja' } });
        assert.match(japanese.body.detail, /通貨/);
        const fine = await collection.put({ participants: [{ ...paid, name: '山田 次郎' }, { ...paying, email: 'a@b.example' }, { ...free, amount: 1 }] });
        assert.equal(fine.status, 200, fine.text);
    });

    test('S1 at most 1000 participants, and all of them in one request', async (t) => {
        const server = await start(t, store);
        const people = Array.from({ length: 1000 }, (_, i) => person({ name: `参加者 ${i}`, amount: i + 1 }));
        const collection = await Collection.make(server, { people });
        assert.deepEqual((await collection.totals()), {
            participants: 1000, paid: 0, unpaid: 1000, amountDue: 500500, amountPaid: 0, amountRefunded: 0, amountNet: 0, amountOutstanding: 500500,
        });
        const full = await collection.put({ participants: [person()] });
        assert.equal(full.status, 422);
        assert.equal((await collection.put({ participants: people.map((who) => ({ ...who, amount: 7 })) })).body.totals.amountDue, 7000);
        const many = await collection.put({ participants: [...people, person()] });
        assert.deepEqual([many.status, many.body.errors.map(({ field }) => field)], [400, ['participants']]);
    });

    test('S1 pages: every participant once, by status, and one\'s own collections', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: 7 });
        const { checkout } = await collection.session(collection.people[3]);
        await payOnPage(server, checkout);
        await isPaid(collection, collection.people[3]);
        const walk = async (query) => {
            const seen = [];
            for (let cursor = ''; cursor !== null;) {
                const { status, body } = await collection.get(`?limit=3${query}${cursor && `&cursor=${cursor}`}`);
                assert.equal(status, 200);
                assert.ok(body.participants.data.length <= 3);
                seen.push(...body.participants.data.map(({ id }) => id));
                cursor = body.participants.nextCursor;
            }
            return seen;
        };
        const ids = collection.people.map(({ id }) => id).sort();
        assert.deepEqual(await walk(''), ids);
        assert.deepEqual(await walk('&status=paid'), [collection.people[3].id]);
        assert.deepEqual(await walk('&status=unpaid'), ids.filter((id) => id !== collection.people[3].id));
        const more = await Promise.all([1, 2, 3].map(() => Collection.make(server, { owner: collection.owner })));
        const own = [collection, ...more].map(({ id }) => id).sort().reverse();
        const list = (query, as = collection.owner) => server.call('GET', `/api/v1/collections${query}`, { as });
        const first = (await list('?limit=3')).body;
        assert.deepEqual(first.data.map(({ id }) => id), own.slice(0, 3));
        assert.deepEqual((await list(`?limit=3&cursor=${first.nextCursor}`)).body, { data: (await list('')).body.data.slice(3), nextCursor: null });
        assert.deepEqual((await list('', uuid())).body, { data: [], nextCursor: null });
        assert.equal((await list(`?ownerId=${collection.owner}`, 'admin')).body.data.length, 4);
        for (const bad of ['?limit=0', '?limit=101', '?cursor=x', '?state=paid', `?ownerId=${uuid()}`, '?limit=1&limit=2'])
            assert.equal((await list(bad)).status, 400, bad);
        for (const bad of ['?status=open', '?limit=x', '?cursor=AAAA', '?after=1'])
            assert.equal((await collection.get(bad)).status, 400, bad);
    });

    test('A2 who may: the organiser, the participant itself, service and admin; nobody else learns anything', async (t) => {
        const server = await start(t, store);
        const user = uuid();
        const collection = await Collection.make(server, { people: [person({ userId: user }), person()] });
        const [own, other] = collection.people;
        const stranger = uuid();
        const service = token(uuid(), 'service');
        const path = `/api/v1/collections/${collection.id}`;
        const of = (who) => `/api/v1/participants/${who.id}`;
        const status = async (method, where, options) => {
            const answer = await server.call(method, where, options);
            if (answer.status === 403) assert.doesNotMatch(answer.text, /山田|3000/);
            return answer.status;
        };
        const body = { title: '夏合宿', currency: 'JPY', participants: [] };
        const read = [
            [path, { as: collection.owner }, 200], [path, { as: user }, 403], [path, { as: stranger }, 403], [path, { as: 'admin' }, 200],
            [path, { bearer: service }, 200], [path, {}, 401], [`/api/v1/collections/${uuid()}`, { as: stranger }, 404],
            [of(own), { as: user }, 200], [of(other), { as: user }, 403], [of(own), { as: stranger }, 403], [of(other), { as: collection.owner }, 200],
            [of(own), { as: 'admin' }, 200], [of(own), {}, 401], [of({ id: uuid() }), { as: user }, 404], ['/api/v1/participants/7', { as: user }, 400],
        ];
        for (const [where, options, want] of read) assert.equal(await status('GET', where, options), want, `GET ${where} ${JSON.stringify(options)}`);
        for (const [options, want] of [[{ as: stranger }, 403], [{ as: user }, 403], [{}, 401], [{ bearer: service }, 200], [{ as: 'admin' }, 200]])
            assert.equal(await status('PUT', path, { ...options, body }), want);
        assert.equal((await collection.get()).body.ownerId, collection.owner, 'whoever changes it, it stays the organiser\'s');
        const urls = { successUrl: SUCCESS };
        const pay = [[other, { as: user }, 403], [own, { as: stranger }, 403], [own, {}, 401], [{ id: uuid() }, { as: user }, 404],
            [own, { as: user }, 201], [other, { bearer: service }, 201]];
        for (const [who, options, want] of pay)
            assert.equal(await status('POST', `${of(who)}/checkout`, { key: uuid(), body: urls, ...options }), want);
        const payment = { id: (await collection.participant(own)).paymentId };
        assert.equal((await server.payment(payment, user)).status, 403, 'the payment itself is the organiser\'s');
        assert.equal((await server.payment(payment, collection.owner)).status, 200);
        const narrow = await start(t, store, { env: { ICHIDO_OWNER_MAY: 'read' } });
        const there = await Collection.make(narrow);
        assert.equal((await there.checkout()).status, 403);
        assert.equal((await there.checkout(undefined, { as: 'admin' })).status, 201);
    });

    test('P5 bad input: every bad field is named, and nothing is changed', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server);
        const [who] = collection.people;
        const good = { title: 'x', currency: 'JPY', participants: [] };
        const before = await snapshot(server);
        const fields = ({ body }) => body.errors.map(({ field }) => field);
        const puts = [
            [{ ...good, title: '' }, 'title'], [{ ...good, title: 'あ'.repeat(201) }, 'title'], [{ ...good, title: 7 }, 'title'],
            [{ ...good, description: 'x'.repeat(1001) }, 'description'], [{ ...good, currency: 'XXX' }, 'currency'],
            [{ ...good, currency: 'YEN!' }, 'currency'], [{ ...good, dueAt: 'tomorrow' }, 'dueAt'], [{ ...good, dueAt: '2026-02-30T00:00:00Z' }, 'dueAt'],
            [{ ...good, timeZone: 'JST+9:00' }, 'timeZone'], [{ ...good, timeZone: '../../etc/passwd' }, 'timeZone'], [{ ...good, timeZone: 'Asia/' }, 'timeZone'],
            [{ ...good, owner: uuid() }, 'owner'], [{ ...good, participants: {} }, 'participants'], [{ title: 'x', currency: 'JPY' }, 'participants'],
            [{ ...good, participants: ['x'] }, 'participants[0]'], [{ ...good, participants: [{ ...who, id: 'x' }] }, 'participants[0].id'],
            [{ ...good, participants: [who, { ...who }] }, 'participants'], [{ ...good, participants: [person(), { ...person(), name: '' }] }, 'participants[1].name'],
            [{ ...good, participants: [{ ...who, name: 'x'.repeat(101) }] }, 'participants[0].name'], [{ ...good, participants: [{ ...who, amount: 0 }] }, 'participants[0].amount'],
            [{ ...good, participants: [{ ...who, amount: 100000000 }] }, 'participants[0].amount'], [{ ...good, participants: [{ ...who, amount: '3000' }] }, 'participants[0].amount'],
            [{ ...good, participants: [{ ...who, amount: 1.5 }] }, 'participants[0].amount'], [{ ...good, participants: [{ ...who, email: 'hanako' }] }, 'participants[0].email'],
            [{ ...good, participants: [{ ...who, email: `${'x'.repeat(250)}@y.jp` }] }, 'participants[0].email'], [{ ...good, participants: [{ ...who, email: 'a@b@c' }] }, 'participants[0].email'],
            [{ ...good, participants: [{ ...who, userId: 1 }] }, 'participants[0].userId'], [{ ...good, participants: [{ ...who, status: 'paid' }] }, 'participants[0].status'],
            ['{"title":"x","title":"y"}', 'body'], ['[]', 'body'], ['{', 'body'],
        ];
        for (const [body, field] of puts) {
            const answer = await server.call('PUT', `/api/v1/collections/${collection.id}`, { as: collection.owner, body });
            assert.equal(answer.status, 400, JSON.stringify(body));
            assert.deepEqual(fields(answer), [field], JSON.stringify(body));
        }
        const all = await server.call('PUT', `/api/v1/collections/${collection.id}`, {
            as: collection.owner, body: { currency: 1, participants: [{ name: 'x' }] },
        });
        assert.deepEqual(fields(all).sort(), ['currency', 'participants[0].amount', 'participants[0].id', 'title']);
        assert.equal((await server.call('PUT', '/api/v1/collections/7', { as: collection.owner, body: good })).status, 400);
        assert.equal((await collection.put(good, { headers: { 'Content-Type': 'text/plain' } })).status, 415);
        assert.equal((await collection.put({ ...good, description: 'x'.repeat(600_000) })).status, 413);

        const checkouts = [
            [{}, 'successUrl'], [{ successUrl: 'ftp://x.example/' }, 'successUrl'], [{ successUrl: 'javascript:alert(1)' }, 'successUrl'],
            [{ successUrl: 'https://' }, 'successUrl'], [{ successUrl: 'https:///x' }, 'successUrl'], [{ successUrl: 'https://x.example/a b' }, 'successUrl'],
            [{ successUrl: `https://x.example/${'a'.repeat(2000)}` }, 'successUrl'], [{ successUrl: 5 }, 'successUrl'],
            [{ successUrl: SUCCESS, cancelUrl: 'x' }, 'cancelUrl'], [{ successUrl: SUCCESS, amount: 1 }, 'amount'],
        ];
        for (const [body, field] of checkouts) {
            const answer = await collection.checkout(who, { body });
            assert.equal(answer.status, 400, JSON.stringify(body));
            assert.deepEqual(fields(answer), [field], JSON.stringify(body));
        }
        const keyless = await collection.checkout(who, { key: null, body: { cancelUrl: '' } });
        assert.deepEqual(fields(keyless).sort(), ['Idempotency-Key', 'cancelUrl', 'successUrl']);
        assert.deepEqual(await snapshot(server), before);
    });

    test('S1 with ICHIDO_RETURN_URL the urls may be left out, and the body with them', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_RETURN_URL: 'https://shop.example/back' } });
        const collection = await Collection.make(server);
        const answer = await collection.checkout(undefined, { body: '' });
        assert.equal(answer.status, 201, answer.text);
        assert.equal((await sessionsOf(server, answer.body.payment))[0].success_url, 'https://shop.example/back');
    });

    test('S1 changes, checkouts and payments at once: nobody waits for ever, the sums are right', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: 12 });
        const answers = await Promise.all(collection.people.flatMap((who, i) => [
            collection.session(who).then(({ checkout }) => payOnPage(server, checkout)),
            collection.put({ title: `title ${i}`, participants: collection.people.map((one) => ({ ...one, name: `name ${i}` })) }),
        ]));
        for (const { status } of answers.filter((one) => one.headers)) assert.equal(status, 200);
        await until('all of them are paid', async () => (await collection.totals()).paid === 12);
        const totals = await collection.totals();
        assert.deepEqual([totals.amountPaid, totals.amountOutstanding], [36000, 0]);
        const rows = await server.db.table('participants');
        assert.equal(rows.reduce((sum, row) => sum + row.paid_amount, 0), 36000);
    });
});
