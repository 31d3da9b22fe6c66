// purchases.mjs - campaigns and those who buy in them, and recount(): the counters against the rows.
import path from 'node:path';
import Stripe from 'stripe';
import { assert, asHex, asUuid, until, uuid } from './harness.mjs';
import { SqliteShell } from './sqlite_shell.mjs';

export const VISA = 'pm_card_visa';
export const DECLINED = 'pm_card_chargeDeclined';
export const POOR = 'pm_card_chargeDeclinedInsufficientFunds';
export const ASKS = 'pm_card_threeDSecure2Required'; // pending until the customer has answered
export const REFUND_FAILS = 'pm_card_refundFail';

// A campaign on sale: {id, layers, positions}, positions in the order of their numbers.
export async function campaign(server, changes = {}) {
    const id = uuid();
    const body = {
        title: '夏のくじ', currency: 'JPY', winners: 1, layers: [{ name: 'A', price: 2000, positions: 3 }], ...changes,
    };
    const answer = await server.call('PUT', `/api/v1/campaigns/${id}`, { as: 'admin', body });
    if (answer.status !== 201) throw new Error(`campaign: ${answer.status} ${answer.text}`);
    const rows = await server.db.table('positions', `campaign_id = ${server.db.blob(asHex(id))}`);
    const positions = rows.sort((a, b) => a.number - b.number).map((row) => asUuid(row.position_id));
    return { ...answer.body, positions };
}

// Buys as `as`, a new user unless it is named. A body of the test's own takes the place of ours.
export function buy(server, position, { as = uuid(), bearer, key = uuid(), type = 'card', method, headers, body } = {}) {
    const asked = body ?? { paymentMethodType: type, ...(method && { paymentMethod: method }) };
    return server.call('POST', `/api/v1/positions/${position}/purchase`, { as, bearer, key, headers, body: asked });
}

// One that was made: {purchase, payment}.
export async function bought(server, position, options = {}) {
    const answer = await buy(server, position, options);
    if (answer.status !== 201) throw new Error(`purchase: ${answer.status} ${answer.text}`);
    return answer.body;
}

export const cancel = (server, purchase, { as = purchase.userId, key = uuid(), body = {} } = {}) =>
    server.call('POST', `/api/v1/purchases/${purchase.id}/cancel`, { as, key, body });

export const purchaseNow = async (server, purchase, as = 'admin') => {
    const answer = await server.call('GET', `/api/v1/purchases/${purchase.id ?? purchase}`, { as });
    if (answer.status !== 200) throw new Error(`purchase: ${answer.status} ${answer.text}`);
    return answer.body;
};

// The customer's browser: stripe-node, on the same intent.
export const sdk = (server) => new Stripe('sk_test_ichido_e2e', {
    host: '127.0.0.1', port: server.sandboxPort, protocol: 'http', telemetry: false, maxNetworkRetries: 0,
});
export const confirm = (server, payment, method) =>
    sdk(server).paymentIntents.confirm(payment.gatewayTransactionId, {
        payment_method: method, return_url: 'https://example.com/back',
    });

// --- rows ---

// SQLite writes no bytes as no hex digits.
const one = async (server, table, column, id) => {
    const [row] = await server.db.table(table, `${column} = ${server.db.blob(asHex(id))}`);
    return row && Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === '' ? null : value]));
};
export const rows = {
    purchase: (server, id) => one(server, 'purchases', 'purchase_id', id),
    position: (server, id) => one(server, 'positions', 'position_id', id),
    layer: (server, id) => one(server, 'layers', 'layer_id', id),
    campaign: (server, id) => one(server, 'campaigns', 'campaign_id', id),
    transaction: (server, payment) => one(server, 'payment_transactions', 'payment_id', payment),
    users: (server, user) => server.db.table('users', `user_id = ${server.db.blob(asHex(user))}`),
};
// What somebody was told: "type body", in order.
export const told = async (server, user) =>
    (await server.db.table('notifications', `user_id = ${server.db.blob(asHex(user))}`))
        .sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1))
        .map((row) => ({ type: row.type, title: row.title, body: row.body, data: JSON.parse(row.data) }));
export const types = (list) => list.map((notice) => notice.type).filter((type) => type !== 'receipt');

// --- rest ---

async function sandboxWork(server, before) {
    server.sandboxShell ??= new SqliteShell(path.join(server.db.folder, 'sandbox.db'));
    const [{ n }] = await server.sandboxShell.ask(`SELECT count(*) AS n FROM message WHERE due_at <= ${before}`);
    return n;
}

// Until neither the server nor its sandbox has anything to do within the next seconds. Fees are asked for at leisure;
// { fees: true }: they are waited for, too, since a fault of the gateway's that is set next would meet their calls.
export async function quiet(server, { limitMs = 40_000, fees = false } = {}) {
    const others = ['keys.expire', 'events.forget', 'payment.unknown', ...(fees ? [] : ['charge.fee'])];
    const idle = async () => {
        const soon = Date.now() + server.offsetMs + 10_000;
        const work = `due_at <= ${soon} AND kind NOT IN (${others.map((kind) => `'${kind}'`)})`;
        return await server.db.count('message', work) === 0 &&
            await sandboxWork(server, soon) === 0;
    };
    let times = 0;
    await until('nothing is left to do', async () => (times = await idle() ? times + 1 : 0) >= 2, limitMs);
}

// --- counters against rows (D14, D22) ---

const sum = (list, of) => list.reduce((all, item) => all + of(item), 0);

function checkCampaign(c, all) {
    const positions = all.positions.filter((p) => p.campaign_id === c.campaign_id);
    const purchases = all.purchases.filter((p) => p.campaign_id === c.campaign_id);
    assert.equal(c.positions_sold, positions.filter((p) => p.status !== 'available').length, 'campaign positions_sold');
    assert.equal(c.positions_paid, positions.filter((p) => p.status === 'sold').length, 'campaign positions_paid');
    assert.equal(c.total_revenue, sum(purchases, (p) => p.revenue), 'campaign total_revenue');
    const over = c.positions_paid === c.positions_total && c.status !== 'cancelled';
    assert.equal(['sold_out', 'drawn'].includes(c.status), over, `campaign is ${c.status}`);
    for (const layer of all.layers.filter((l) => l.campaign_id === c.campaign_id)) {
        const taken = positions.filter((p) => p.layer_id === layer.layer_id && p.status !== 'available');
        assert.equal(layer.positions_sold, taken.length, `positions_sold of layer ${layer.name}`);
    }
}

const HAS = { pending: 'reserved', completed: 'sold', refunded: 'sold' };

function checkPurchase(p, all) {
    const payment = all.payments.find((one) => one.id === p.payment_id);
    const position = all.positions.find((one) => one.position_id === p.position_id);
    const mine = position.purchase_id === p.purchase_id;
    const paid = payment.captured_amount !== null;
    assert.equal(mine ? position.status : undefined, HAS[p.status], `position of a ${p.status} purchase`);
    assert.equal(['completed', 'refunded'].includes(p.status), paid, `a ${p.status} purchase, ${payment.status}`);
    assert.equal(p.revenue, paid ? payment.captured_amount - (payment.refunded_amount ?? 0) : 0, 'revenue');
    assert.equal(p.status === 'refunded', paid && payment.status === 'REFUNDED', 'refunded');
    if (mine) assert.equal(position.user_id, p.user_id);
}

function checkUsers(all) {
    const paid = all.purchases.filter((p) => ['completed', 'refunded'].includes(p.status));
    const sums = {};
    for (const p of paid) {
        const entry = sums[`${p.user_id} ${p.currency}`] ??= { purchases: 0, total_spent: 0 };
        entry.purchases += 1;
        entry.total_spent += p.revenue;
    }
    const stored = Object.fromEntries(all.users.map(({ user_id, currency, purchases, total_spent }) =>
        [`${user_id} ${currency}`, { purchases, total_spent }]));
    assert.deepEqual(stored, sums, 'users');
}

// Everything that is counted equals a count of the rows; nothing is dead. Returns the rows.
export async function recount(server) {
    const names = ['campaigns', 'layers', 'positions', 'purchases', 'payments', 'users'];
    const all = Object.fromEntries(await Promise.all(names.map(async (n) => [n, await server.db.table(n)])));
    for (const c of all.campaigns) checkCampaign(c, all);
    for (const p of all.purchases) checkPurchase(p, all);
    const held = new Map(all.purchases.map((p) => [p.purchase_id, p]));
    for (const p of all.positions.filter((one) => one.status !== 'available'))
        assert.equal(held.get(p.purchase_id)?.position_id, p.position_id, 'a position without a purchase');
    checkUsers(all);
    assert.deepEqual(await server.db.dead(), []);
    return all;
}
