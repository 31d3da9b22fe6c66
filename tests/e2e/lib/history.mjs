// history.mjs - what Stripe tells about one payment, event by event, without a Stripe: stories of which a
// test needs every order. The ids are those of the payment; everything else is as in the wire reference.
// Where the gateway may be asked meanwhile, `charge` is the one that it has.
import crypto from 'node:crypto';
import http from 'node:http';
import { SECRET } from './stripe.mjs';

const CREATED = 1760000000;
const DECLINE = {
    code: 'card_declined', decline_code: 'insufficient_funds', type: 'card_error',
    message: 'Your card has insufficient funds.',
};

const cut = (id) => id.replace(/^pi_/, '');

function intentOf(one, changes) {
    return {
        id: one.intent, object: 'payment_intent', amount: one.amount, amount_capturable: 0, amount_received: 0,
        capture_method: one.manual ? 'manual' : 'automatic_async', client_secret: `${one.intent}_secret_x`,
        currency: 'jpy', created: CREATED, latest_charge: null, last_payment_error: null, livemode: false,
        metadata: { payment_id: one.payment }, next_action: null, payment_method_types: ['card'], ...changes,
    };
}

function chargeOf(one, name, changes) {
    return {
        id: `ch_${cut(one.intent)}${name}`, object: 'charge', amount: one.amount, amount_captured: 0,
        amount_refunded: 0, balance_transaction: null, captured: false, created: CREATED, currency: 'jpy',
        livemode: false, metadata: { payment_id: one.payment }, paid: true, payment_intent: one.intent,
        receipt_url: 'https://example.com/receipt', refunded: false, status: 'succeeded', ...changes,
    };
}

const refundOf = (one, status) => ({
    id: `re_${cut(one.intent)}`, object: 'refund', amount: one.amount, charge: first(one),
    created: CREATED, currency: 'jpy', metadata: {}, payment_intent: one.intent, reason: null, status,
});

const disputeOf = (one, status) => ({
    id: `dp_${cut(one.intent)}`, object: 'dispute', amount: one.amount, charge: first(one), created: CREATED,
    currency: 'jpy', livemode: false, metadata: {}, payment_intent: one.intent, reason: 'fraudulent', status,
});

const first = (one) => one.charge?.id ?? `ch_${cut(one.intent)}1`;
const failed = (one) => ({ last_payment_error: { ...DECLINE, charge: `ch_${cut(one.intent)}0` } });
const balance = (one) => ({
    id: `txn_${cut(one.intent)}`, object: 'balance_transaction', amount: one.amount, currency: 'jpy', fee: 36,
    net: one.amount - 36,
});
const taken = (one) => ({ captured: true, amount_captured: one.amount });

// Each step: [type, object]. The same step always says the same.
const steps = {
    created: (one) => ['payment_intent.created', intentOf(one, { status: 'requires_payment_method' })],
    processing: (one) => ['payment_intent.processing', intentOf(one, { status: 'processing' })],
    requires_action: (one) => ['payment_intent.requires_action', intentOf(one, {
        status: 'requires_action',
        next_action: { type: 'redirect_to_url', redirect_to_url: { url: 'https://example.com/3ds' } },
    })],
    payment_failed: (one) => ['payment_intent.payment_failed', intentOf(one, {
        status: 'requires_payment_method', latest_charge: `ch_${cut(one.intent)}0`, ...failed(one),
    })],
    held: (one) => ['payment_intent.amount_capturable_updated', intentOf(one, {
        status: 'requires_capture', amount_capturable: one.amount, latest_charge: first(one),
    })],
    succeeded: (one) => ['payment_intent.succeeded', intentOf(one, {
        status: 'succeeded', amount_received: one.amount, latest_charge: first(one),
    })],
    canceled: (one) => ['payment_intent.canceled', intentOf(one, {
        status: 'canceled', cancellation_reason: 'requested_by_customer', ...(one.failed ? failed(one) : {}),
        latest_charge: one.failed ? `ch_${cut(one.intent)}0` : one.wasHeld ? first(one) : null,
    })],
    'charge.failed': (one) => ['charge.failed', chargeOf(one, '0', {
        status: 'failed', paid: false, failure_code: 'card_declined', receipt_url: null,
    })],
    'charge.held': (one) => ['charge.succeeded', chargeOf(one, '1')],
    'charge.succeeded': (one) => ['charge.succeeded', one.charge ?? chargeOf(one, '1', taken(one))],
    'charge.captured': (one) => ['charge.captured', one.charge ?? chargeOf(one, '1', { ...taken(one), balance_transaction: balance(one) })],
    'charge.updated': (one) => ['charge.updated', chargeOf(one, '1', { ...taken(one), balance_transaction: balance(one) })],
    'charge.expired': (one) => ['charge.expired', chargeOf(one, '1', { refunded: false })],
    'charge.refunded': (one) => ['charge.refunded', chargeOf(one, '1', {
        ...taken(one), amount_refunded: one.amount, refunded: true,
    })],
    'refund.created': (one) => ['refund.created', refundOf(one, 'pending')],
    'refund.updated': (one) => ['refund.updated', refundOf(one, 'succeeded')],
    // Refunds and disputes come without a word of ours, as from the dashboard.
    'refund.succeeded': (one) => ['refund.created', refundOf(one, 'succeeded')],
    'dispute.created': (one) => ['charge.dispute.created', disputeOf(one, 'needs_response')],
    'dispute.won': (one) => ['charge.dispute.closed', disputeOf(one, 'won')],
    'session.completed': (one) => ['checkout.session.completed', {
        id: one.session, object: 'checkout.session', amount_total: one.amount, client_reference_id: one.payment, created: CREATED,
        currency: 'jpy', customer: null, expires_at: CREATED + 86400, livemode: false, metadata: { payment_id: one.payment },
        mode: 'payment', payment_intent: one.intent, payment_status: 'paid', status: 'complete', url: null,
    }],
    'refund.failed': (one) => ['refund.failed', { ...refundOf(one, 'failed'), failure_reason: 'expired_or_canceled_card' }],
};

let counter = 0;
const run = crypto.randomBytes(5).toString('hex');

export function eventOfStep(step, one) {
    const [type, object] = steps[step](one);
    return {
        id: `evt_3${run}${counter++}`, object: 'event', api_version: '2025-09-30.clover', created: CREATED,
        data: { object }, livemode: false, pending_webhooks: 1, request: null, type,
    };
}

export function* permutations(items) {
    if (!items.length) yield [];
    for (const [i, one] of items.entries())
        for (const rest of permutations([...items.slice(0, i), ...items.slice(i + 1)])) yield [one, ...rest];
}

// Many events over few connections: tens of thousands are no work for a careful client.
export class Courier {
    constructor(server) {
        this.server = server;
        this.agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
    }

    // As Stripe would: what could not be stored at the moment (503) is sent again.
    async deliver(event) {
        for (let tries = 1; ; tries++) {
            const status = await this.send(event);
            if (status === 204) return;
            if (status !== 503 || tries === 20) throw new Error(`${status} for ${event.type}`);
        }
    }

    send(event) {
        const body = JSON.stringify(event);
        const at = this.server.nowSeconds();
        const digest = crypto.createHmac('sha256', SECRET).update(`${at}.${body}`).digest('hex');
        return new Promise((resolve, reject) => {
            const client = http.request({
                agent: this.agent, host: '127.0.0.1', port: this.server.port, method: 'POST',
                path: '/api/v1/webhooks/stripe',
                headers: { 'Content-Length': Buffer.byteLength(body), 'Stripe-Signature': `t=${at},v1=${digest}` },
            }, (answer) => {
                answer.resume();
                answer.on('end', () => resolve(answer.statusCode));
            });
            client.on('error', reject);
            client.end(body);
        });
    }

    // Each list in its own order, many lists at a time.
    async deliverAll(lists) {
        const rest = lists.values();
        await Promise.all(Array.from({ length: 32 }, async () => {
            for (const list of rest)
                for (const event of list) await this.deliver(event);
        }));
        this.agent.destroy();
    }
}
