// events.mjs - the provider's events as a test needs them: those that the sandbox wrote down, told in any
// order, told again under other ids, changed on the way.
import assert from 'node:assert/strict';
import { start } from './harness.mjs';
import { request } from './http.mjs';
import { asHex } from './stores.mjs';
import { unique } from './stripe.mjs';
import { until } from './wait.mjs';

export const silent = (t, store, env = {}) => start(t, store, { env: { ICHIDO_SANDBOX_WEBHOOKS: 'off', ...env } });

// A call of somebody else at the gateway: its dashboard, or the customer's browser.
export async function dashboard(server, path, form = {}, status = 200) {
    const body = new URLSearchParams(form).toString();
    const headers = {
        Authorization: 'Bearer sk_test_ichido_e2e', 'Content-Type': 'application/x-www-form-urlencoded',
        'Content-Length': Buffer.byteLength(body),
    };
    const answer = await request(server.sandboxPort, { method: 'POST', path: `/v1${path}`, headers }, body);
    assert.equal(answer.status, status, answer.text);
    return JSON.parse(answer.text);
}
export const captureThere = (server, payment, form) =>
    dashboard(server, `/payment_intents/${payment.gatewayTransactionId}/capture`, form);

// Another card on the same intent, which is declined.
export const declineThere = (server, payment, card) =>
    dashboard(server, `/payment_intents/${payment.gatewayTransactionId}/confirm`, { payment_method: card }, 402);

export const intentOfEvent = ({ data: { object } }) => (object.object === 'payment_intent' ? object.id : object.payment_intent);
export const CAPTURED = ['charge.succeeded', 'payment_intent.amount_capturable_updated', 'charge.captured',
    'payment_intent.succeeded', 'charge.updated'];

// The sandbox's events of these intents by type; waits until each has all the types wanted.
export async function eventsOf(server, intents, types) {
    return until(`events ${types}`, async () => {
        const { data } = await server.sandbox('GET', '/events?limit=100');
        const all = intents.map((intent) => data.reverse() && Object.fromEntries(
            data.filter((one) => intentOfEvent(one) === intent).map((one) => [one.type, one])));
        return all.every((one) => types.every((type) => one[type])) && all;
    });
}
export const eventOf = async (server, payment, type) =>
    (await eventsOf(server, [payment.gatewayTransactionId], [type]))[0][type];

// The same news under another event id, changed on the way: what Stripe would never sign, and a thief of
// the secret might.
export function retold(one, changes = {}, object = {}) {
    const copy = { ...structuredClone(one), id: `evt_3${unique()}`, ...changes };
    copy.data.object = { ...copy.data.object, ...object };
    return copy;
}

export async function tell(server, one) {
    const { status, text } = await server.deliver(one);
    assert.equal(status, 204, text);
    return server.settled(one.id);
}

// An outcome that comes only after retries: time is moved along.
export const tellLong = async (server, one) => {
    assert.equal((await server.deliver(one)).status, 204);
    return until(`${one.id} has an outcome`, async () => {
        const outcome = await server.db.outcome(one.id);
        if (!outcome) await server.advance(1000);
        return outcome;
    }, 30_000);
};

export const transactions = (server, payment) =>
    server.db.table('payment_transactions', `payment_id = ${server.db.blob(asHex(payment.id))}`);
export const transaction = async (server, payment) => {
    const rows = await transactions(server, payment);
    assert.equal(rows.length, 1, 'one row for each object of the gateway');
    return rows[0];
};
export const now = async (server, payment) => (await server.payment(payment, 'admin')).body;
export const types = async (server, payment) => (await server.db.domainEvents(payment.id)).map((one) => one.type);
export const strays = async (server, payment) =>
    (await server.db.operations(payment.id)).filter((one) => one.cause === 'stray');
