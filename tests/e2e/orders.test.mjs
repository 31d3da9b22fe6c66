// E7: whatever the order, and however often each event comes, the books end the same. Permutations of every story, each
// event once and doubled under another id, and for every third order the whole story once more at its end, against the
// story told in its own order.
import { asHex, asUuid, assert, forEachStore, start, stores, until, uuid } from './lib/harness.mjs';
import { Collection, payOnPage } from './lib/collections.mjs';
import { captureThere, dashboard } from './lib/events.mjs';
import { Courier, eventOfStep, permutations } from './lib/history.mjs';
import { recount } from './lib/purchases.mjs';

const ASKS = 'pm_card_threeDSecure2Required'; // PENDING until the customer has answered

// `ends`: what the story comes to, so that "the same" is also "right".
const stories = [
    { of: 'booking', ends: { payment: 'CAPTURED', transaction: 'succeeded' },
        steps: ['created', 'requires_action', 'held', 'charge.held', 'succeeded', 'charge.captured'] },
    // A decline is looked up, so the card is declined at the sandbox too. Our own cancel reaches it: its reason, and the
    // sandbox's own charge, are not the story's.
    { of: 'declined booking', ends: { payment: 'FAILED', transaction: 'canceled' }, failed: true,
        but: ['cancel_reason', 'charge'],
        steps: ['created', 'processing', 'requires_action', 'payment_failed', 'canceled'] },
    { of: 'booking', ends: { payment: 'REFUNDED', transaction: 'canceled' }, wasHeld: true,
        steps: ['created', 'requires_action', 'held', 'charge.held', 'canceled', 'charge.expired'] },
    { of: 'booking', ends: { payment: 'REFUNDED', transaction: 'succeeded' },
        steps: ['held', 'charge.held', 'succeeded', 'charge.captured', 'refund.created', 'refund.updated'] },
    // E4: the customer's second card has paid, wherever the first one's decline comes in.
    { of: 'paid booking', ends: { payment: 'CAPTURED', transaction: 'succeeded' },
        steps: ['requires_action', 'payment_failed', 'held', 'succeeded', 'charge.captured'] },
    { of: 'purchase', ends: { payment: 'CAPTURED', transaction: 'succeeded', purchase: 'completed', position: 'sold' },
        steps: ['created', 'requires_action', 'payment_failed', 'succeeded', 'charge.succeeded', 'charge.updated'] },
    { of: 'purchase', ends: { payment: 'CAPTURED', transaction: 'succeeded', purchase: 'completed', position: 'sold' },
        steps: ['processing', 'charge.failed', 'payment_failed', 'succeeded', 'charge.updated'] },
    { of: 'purchase', ends: { payment: 'FAILED', transaction: 'canceled', purchase: 'cancelled', position: 'available' }, failed: true,
        steps: ['created', 'requires_action', 'charge.failed', 'payment_failed', 'canceled'] },
    { of: 'purchase', ends: { payment: 'REFUNDED', transaction: 'succeeded', purchase: 'refunded', position: 'sold' },
        steps: ['succeeded', 'charge.succeeded', 'charge.updated', 'refund.created', 'refund.updated', 'charge.refunded'] },
    // D12: the one descent. Known for failed before it is known for done, it never was: then the sum of what went
    // back is null and not 0, which says the same. Not the same yet: a refund that is first heard of as failed is
    // kept without its reason.
    { of: 'purchase', ends: { payment: 'CAPTURED', transaction: 'succeeded', purchase: 'completed', position: 'sold' },
        steps: ['succeeded', 'charge.succeeded', 'refund.created', 'refund.updated', 'refund.failed'] },
    { of: 'purchase', ends: { payment: 'CAPTURED', transaction: 'succeeded', purchase: 'completed', position: 'sold' },
        steps: ['payment_failed', 'succeeded', 'charge.succeeded', 'dispute.created', 'dispute.won'] },
    // Checkout's intents are known by what is told of them: where that begins with its end, the gateway is asked.
    { of: 'participant', ends: { payment: 'REFUNDED', transaction: 'succeeded', participant: 'paid', session: 'complete' },
        steps: ['session.completed', 'created', 'payment_failed', 'succeeded', 'charge.succeeded', 'refund.succeeded'] },
    { of: 'participant', ends: { payment: 'CAPTURED', transaction: 'succeeded', participant: 'paid', session: 'complete' },
        steps: ['session.completed', 'succeeded', 'charge.succeeded', 'dispute.created', 'dispute.won'] },
];

async function inParallel(count, make) {
    const all = [];
    await Promise.all(Array.from({ length: 48 }, async () => {
        while (all.length < count) {
            const place = all.push(undefined) - 1;
            all[place] = await make(place);
        }
    }));
    return all;
}

// --- payments that wait for their customer ---

async function bookings(server, count, paymentMethod = ASKS) {
    return inParallel(count, async () => server.paid({ paymentMethod }));
}

// Whose customer has answered, and whose card then was declined. Of all that we have heard nothing yet.
async function declinedBookings(server, count) {
    const made = await bookings(server, count, 'pm_card_authenticationRequiredChargeDeclinedInsufficientFunds');
    return inParallel(count, async (i) => server.authenticate(made[i]).then(() => made[i]));
}

// Whose customer has answered with no, and paid with another card. The charge is told as it is once its fee is known.
async function paidBookings(server, count) {
    const made = await bookings(server, count);
    return inParallel(count, async (i) => {
        await server.authenticate(made[i], false);
        await dashboard(server, `/payment_intents/${made[i].gatewayTransactionId}/confirm`, { payment_method: 'pm_card_visa' });
        await captureThere(server, made[i]);
        return { ...made[i], charge: await chargeWithFee(server, made[i].gatewayTransactionId) };
    });
}

const chargeWithFee = (server, intent) => until('its fee is known', async () => {
    const { latest_charge: charge } = await server.stripe(`/payment_intents/${intent}?expand[]=latest_charge.balance_transaction`);
    return charge.balance_transaction && charge;
});

async function purchases(server, count) {
    const campaign = uuid();
    const made = await server.call('PUT', `/api/v1/campaigns/${campaign}`, { as: 'admin',
        body: { title: 'Orders', currency: 'JPY', winners: 1, layers: [{ name: 'A', price: 1200, positions: count + 1 }] } });
    assert.equal(made.status, 201, made.text);
    const rows = await server.db.table('positions');
    return inParallel(count, async (i) => {
        const { status, body, text } = await server.call('POST', `/api/v1/positions/${asUuid(rows[i].position_id)}/purchase`,
            { as: uuid(), key: uuid(), body: { paymentMethodType: 'card', paymentMethod: ASKS } });
        assert.equal(status, 201, text);
        return body.payment.id;
    });
}

// People who have paid on the sandbox's page, of which we have heard nothing yet. The charge is told as it is
// once its fee is known: whoever asks for it meanwhile hears the same.
async function participants(server, count) {
    const collection = await Collection.make(server, { people: count });
    const paid = await inParallel(count, async (i) => {
        const { payment, checkout } = await collection.session(collection.people[i]);
        const { payment_intent: intent } = await payOnPage(server, checkout);
        return { id: payment.id, intent, amount: payment.amount, session: checkout.sessionId };
    });
    return inParallel(count, async (i) => ({ ...paid[i], charge: await chargeWithFee(server, paid[i].intent) }));
}

const toTell = (made) => made.map(({ id, charge }) => ({ id, amount: 1200, manual: true, ...(charge && { charge }) }));
const makers = {
    booking: async (...all) => toTell(await bookings(...all)),
    'declined booking': async (...all) => toTell(await declinedBookings(...all)),
    'paid booking': async (...all) => toTell(await paidBookings(...all)),
    purchase: async (...all) => (await purchases(...all)).map((id) => ({ id, amount: 1200 })),
    participant: participants,
};

// --- what is left of it, without times, history and names ---

const NAMES = /^(id|.*session_id|participant_id|collection_id|intent_id|url|receipt_url|dispute_id|payment_id|subject_id|booking_id|user_id|idempotency_key|claim_id|version|open_op|webhook_event_id|stripe_payment_intent_id|gateway_transaction_id|purchase_id|campaign_id|layer_id|position_id|number|stripe_charge_id|balance_transaction|gateway_refund_id)$/;
const lasting = (row) => Object.fromEntries(Object.entries(row).filter(([name]) => !NAMES.test(name) && !name.endsWith('_at')));

async function finalStates(server, made) {
    const charges = new Set(made.map(({ charge }) => charge?.id));
    const by = async (table, column) => {
        const rows = new Map();
        for (const row of await server.db.table(table)) {
            if (!rows.has(row[column])) rows.set(row[column], []);
            rows.get(row[column]).push(row);
        }
        return (id) => rows.get(id) ?? [];
    };
    const [payments, transactions, refunds, disputes, purchasesOf, positions, people, sessions] = await Promise.all([
        by('payments', 'id'), by('payment_transactions', 'payment_id'), by('refunds', 'payment_id'), by('disputes', 'payment_id'),
        by('purchases', 'payment_id'), by('positions', 'position_id'), by('participants', 'participant_id'),
        by('checkout_sessions', 'payment_id')]);
    return made.map(({ id }) => asHex(id)).map((id) => {
        const transaction = transactions(id);
        const [purchase] = purchasesOf(id);
        const [position] = purchase ? positions(purchase.position_id) : [];
        const [own] = payments(id);
        return {
            payment: payments(id).map(lasting),
            transaction: transaction.map((row) => ({ ...lasting(row),
                charge: charges.has(row.stripe_charge_id) ? '1' : row.stripe_charge_id?.slice(-1),
                balance: row.balance_transaction !== null, paid: row.succeeded_at !== null, ended: row.canceled_at !== null })),
            refunds: refunds(id).map(lasting),
            disputes: disputes(id).map(lasting),
            participant: people(own.subject_id).map(lasting),
            session: sessions(id).map((row) => ({ ...lasting(row), ours: row.session_id === own.checkout_session_id,
                intent: row.intent_id === own.gateway_transaction_id })),
            purchase: purchase && { ...lasting(purchase), completed: purchase.completed_at !== null },
            position: position && { ...lasting(position), ours: position.purchase_id === purchase.purchase_id },
        };
    });
}

const summary = ({ payment, transaction, purchase, position, participant, session }) => ({
    payment: payment[0].status, transaction: transaction[0].status,
    ...(participant.length && { participant: participant[0].status, session: session[0].status }),
    ...(purchase && { purchase: purchase.status, position: position.status }),
});

// --- the telling ---

// Each event twice in a row, the second time under another id: the same news, told by somebody else.
const doubled = (order) => order.flatMap((step) => [step, step]);
const again = (order) => [...order, ...order];

// The first order is the story itself. With ORDERS=all (`make orders`) every order in all three ways; else in one of them in
// turn, another one on the other database, and of the 720 orders of six steps every sixth, others on the other database.
function tellings(story, turn) {
    const ways = [(order) => order, doubled, again];
    const all = [...permutations(story.steps)];
    if (process.env.ORDERS === 'all') return all.flatMap((order) => ways.map((way) => way(order)));
    const orders = all.filter((_, i) => !i || all.length <= 120 || i % 6 === turn);
    return orders.map((order, i) => (i ? ways[(i + turn) % ways.length](order) : order));
}

async function tellAll(server, story, made, intents, orders) {
    const lists = made.map((payment, i) => {
        const one = { ...story, intent: intents.get(asHex(payment.id)), ...payment, payment: payment.id };
        return orders[i].map((step) => eventOfStep(step, one));
    });
    await new Courier(server).deliverAll(lists);
    await until('every event has its outcome', async () =>
        await server.db.count('webhook_events') === await server.db.count('webhook_outcomes') &&
        await server.db.count('message', "kind IN ('stripe.event', 'op', 'stripe.refetch')") === 0, 60_000);
}

forEachStore((store, test) => {
    for (const story of stories) {
        const name = `E7 a ${story.of}'s ${story.steps.join(', ')}: every order, once and doubled, ends ${Object.values(story.ends).join(', ')}`;
        test(name, { timeout: 600_000 }, async (t) => {
            const server = await start(t, store, { env: { ICHIDO_SANDBOX_WEBHOOKS: 'off', ICHIDO_LOG_LEVEL: 'info' } });
            const orders = tellings(story, stores.indexOf(store));
            const made = await makers[story.of](server, orders.length);
            const intents = new Map((await server.db.payments()).map((row) => [row.id, row.gateway_transaction_id]));
            await tellAll(server, story, made, intents, orders);
            const states = await finalStates(server, made);
            for (const { transaction } of states) for (const name of story.but ?? []) delete transaction[0][name];
            assert.deepEqual(summary(states[0]), story.ends);
            for (const [i, state] of states.entries())
                assert.deepEqual(state, states[0], `${orders[i]}`);
            assert.equal((await server.db.dead()).length, 0);
            assert.equal(await server.db.count('webhook_outcomes', "outcome NOT IN ('applied', 'superseded')"), 0);
            if (story.of === 'purchase') await recount(server);
        });
    }
});
