// E7: whatever the order, and however often each event comes, the books end the same. Every permutation of
// every story, each event once and doubled under another id, against the story told in its own order.
import { asHex, asUuid, assert, forEachStore, start, until, uuid } from './lib/harness.mjs';
import { Courier, eventOfStep, permutations } from './lib/history.mjs';

const ASKS = 'pm_card_threeDSecure2Required'; // PENDING until the customer has answered

// `ends`: what the story comes to, so that "the same" is also "right".
const stories = [
    { of: 'booking', ends: { payment: 'CAPTURED', transaction: 'succeeded' },
        steps: ['created', 'requires_action', 'held', 'charge.held', 'succeeded', 'charge.captured'] },
    // Our own cancel reaches the sandbox, where no card ever failed: what it says of that is not the story's.
    { of: 'booking', ends: { payment: 'FAILED', transaction: 'canceled' }, failed: true,
        but: ['cancel_reason', 'failure_code', 'failure_message', 'charge'],
        steps: ['created', 'processing', 'requires_action', 'payment_failed', 'canceled'] },
    { of: 'booking', ends: { payment: 'REFUNDED', transaction: 'canceled' }, wasHeld: true,
        steps: ['created', 'requires_action', 'held', 'charge.held', 'canceled', 'charge.expired'] },
    { of: 'booking', ends: { payment: 'REFUNDED', transaction: 'succeeded' },
        steps: ['held', 'charge.held', 'succeeded', 'charge.captured', 'refund.created', 'refund.updated'] },
    { of: 'purchase', ends: { payment: 'CAPTURED', transaction: 'succeeded', purchase: 'completed', position: 'sold' },
        steps: ['created', 'requires_action', 'payment_failed', 'succeeded', 'charge.succeeded', 'charge.updated'] },
    { of: 'purchase', ends: { payment: 'CAPTURED', transaction: 'succeeded', purchase: 'completed', position: 'sold' },
        steps: ['processing', 'charge.failed', 'payment_failed', 'succeeded', 'charge.updated'] },
    { of: 'purchase', ends: { payment: 'FAILED', transaction: 'canceled', purchase: 'cancelled', position: 'available' }, failed: true,
        steps: ['created', 'requires_action', 'charge.failed', 'payment_failed', 'canceled'] },
    { of: 'purchase', ends: { payment: 'REFUNDED', transaction: 'succeeded', purchase: 'refunded', position: 'sold' },
        steps: ['succeeded', 'charge.succeeded', 'charge.updated', 'refund.created', 'refund.updated', 'charge.refunded'] },
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

async function bookings(server, count) {
    return inParallel(count, async () => (await server.paid({ paymentMethod: ASKS })).id);
}

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

// --- what is left of it, without times, history and names ---

const NAMES = /^(id|payment_id|subject_id|booking_id|user_id|idempotency_key|claim_id|version|open_op|webhook_event_id|stripe_payment_intent_id|gateway_transaction_id|purchase_id|campaign_id|layer_id|position_id|number|stripe_charge_id|balance_transaction|gateway_refund_id)$/;
const lasting = (row) => Object.fromEntries(Object.entries(row).filter(([name]) => !NAMES.test(name) && !name.endsWith('_at')));

async function finalStates(server, ids) {
    const by = async (table, column) => {
        const rows = new Map();
        for (const row of await server.db.table(table)) {
            if (!rows.has(row[column])) rows.set(row[column], []);
            rows.get(row[column]).push(row);
        }
        return (id) => rows.get(id) ?? [];
    };
    const [payments, transactions, refunds, purchasesOf, positions] = await Promise.all([by('payments', 'id'),
        by('payment_transactions', 'payment_id'), by('refunds', 'payment_id'), by('purchases', 'payment_id'), by('positions', 'position_id')]);
    return ids.map(asHex).map((id) => {
        const transaction = transactions(id);
        const [purchase] = purchasesOf(id);
        const [position] = purchase ? positions(purchase.position_id) : [];
        return {
            payment: payments(id).map(lasting),
            transaction: transaction.map((row) => ({ ...lasting(row), charge: row.stripe_charge_id?.slice(-1),
                balance: row.balance_transaction !== null, paid: row.succeeded_at !== null, ended: row.canceled_at !== null })),
            refunds: refunds(id).map(lasting),
            purchase: purchase && { ...lasting(purchase), completed: purchase.completed_at !== null },
            position: position && { ...lasting(position), ours: position.purchase_id === purchase.purchase_id },
        };
    });
}

const summary = ({ payment, transaction, purchase, position }) => ({
    payment: payment[0].status, transaction: transaction[0].status,
    ...(purchase && { purchase: purchase.status, position: position.status }),
});

// --- the telling ---

// Each event twice in a row, the second time under another id: the same news, told by somebody else.
const doubled = (order) => order.flatMap((step) => [step, step]);

async function tellAll(server, story, ids, intents, orders) {
    const lists = ids.map((payment, i) => {
        const one = { ...story, payment, intent: intents.get(asHex(payment)), amount: 1200, manual: story.of === 'booking' };
        const order = orders[i >> 1];
        return (i % 2 ? doubled(order) : order).map((step) => eventOfStep(step, one));
    });
    await new Courier(server).deliverAll(lists);
    await until('every event has its outcome', async () =>
        await server.db.count('webhook_events') === await server.db.count('webhook_outcomes') &&
        await server.db.count('message', "kind IN ('stripe.event', 'op', 'stripe.refetch')") === 0, 60_000);
}

forEachStore((store, test) => {
    for (const story of stories) {
        const name = `E7 a ${story.of}'s ${story.steps.join(', ')}: every order, once and doubled, ends ${Object.values(story.ends).join(', ')}`;
        test(name, { timeout: 300_000 }, async (t) => {
            const server = await start(t, store, { env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
            const orders = [...permutations(story.steps)]; // the first one is the story itself
            const make = story.of === 'booking' ? bookings : purchases;
            const ids = await make(server, orders.length * 2);
            const intents = new Map((await server.db.payments()).map((row) => [row.id, row.gateway_transaction_id]));
            await tellAll(server, story, ids, intents, orders);
            const states = await finalStates(server, ids);
            for (const { transaction } of states) for (const name of story.but ?? []) delete transaction[0][name];
            assert.deepEqual(summary(states[0]), story.ends);
            for (const [i, state] of states.entries())
                assert.deepEqual(state, states[0], `${orders[i >> 1]}${i % 2 ? ' (doubled)' : ''}`);
            assert.equal((await server.db.dead()).length, 0);
            assert.equal(await server.db.count('webhook_outcomes', "outcome NOT IN ('applied', 'superseded')"), 0);
        });
    }
});
