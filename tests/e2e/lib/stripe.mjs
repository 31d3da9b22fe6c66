// stripe.mjs - events as Stripe sends them, signed by the real `stripe` package. Every secret and
// every right digest is written down, so that the last test can look for them in all output (A4).
import crypto from 'node:crypto';
import Stripe from 'stripe';
import { remember } from './evidence.mjs';

export const SECRET = 'whsec_ichido_e2e_current_0123456789abcdef';
export const OLD_SECRET = 'whsec_ichido_e2e_previous_fedcba9876543210';
export const WRONG_SECRET = 'whsec_somebody_else_00000000000000000000';
for (const secret of [SECRET, OLD_SECRET]) remember(secret);

export const stripe = new Stripe('sk_test_not_used_on_the_wire');

let counter = 0;
const run = crypto.randomBytes(6).toString('hex');
export const unique = () => `${run}${String(counter++).padStart(8, '0')}`;

export function paymentIntent(changes = {}) {
    const token = changes.token ?? unique();
    return {
        id: `pi_3${token}`, object: 'payment_intent', amount: 1200, amount_capturable: 0,
        amount_received: 1200, capture_method: 'automatic_async', currency: 'jpy',
        created: 1760000000, latest_charge: `ch_3${token}`, livemode: false, metadata: {},
        payment_method: `pm_1${token}`, payment_method_types: ['card'], status: 'succeeded',
        ...changes.object,
    };
}

// An event of the given type; `changes` overrides top-level fields (undefined removes one).
export function event(type = 'payment_intent.succeeded', changes = {}) {
    const token = unique();
    return {
        id: `evt_3${token}`, object: 'event', api_version: '2026-10-28.endive', created: 1760000000,
        data: { object: paymentIntent({ token }) }, livemode: false, pending_webhooks: 1,
        request: { id: `req_${token}`, idempotency_key: crypto.randomUUID() }, type,
        ...changes,
    };
}

export const onIntent = (intent, type = 'payment_intent.succeeded') =>
    event(type, { data: { object: paymentIntent({ object: { id: intent } }) } });

export const nowSeconds = () => Math.floor(Date.now() / 1000);
export const pretty = (value) => JSON.stringify(value, null, 2);

// What stripe-node itself would send: the header for a text body.
export const signature = (text, { secret = SECRET, at = nowSeconds() } = {}) =>
    stripe.webhooks.generateTestHeaderString({ payload: text, secret, timestamp: at });

// The same, and the right digests are written down.
export function sign(text, { secret = SECRET, at = nowSeconds() } = {}) {
    for (const known of [SECRET, OLD_SECRET]) remember(digest(text, known, at));
    return signature(text, { secret, at });
}

// The same over raw bytes, which stripe-node cannot sign.
export function digest(bytes, secret = SECRET, at = nowSeconds()) {
    const hmac = crypto.createHmac('sha256', secret).update(`${at}.`).update(bytes);
    return hmac.digest('hex');
}

export function signBytes(bytes, { secret = SECRET, at = nowSeconds() } = {}) {
    const mac = digest(bytes, secret, at);
    for (const known of [SECRET, OLD_SECRET]) remember(digest(bytes, known, at));
    return `t=${at},v1=${mac}`;
}
