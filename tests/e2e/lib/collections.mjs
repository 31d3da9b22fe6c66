// collections.mjs - what an organiser does: a collection with people who owe, the pages on which they pay,
// and events of Checkout as Stripe would send them.
import { uuid } from './tokens.mjs';
import { event, paymentIntent, unique } from './stripe.mjs';

export const SUCCESS = 'https://shop.example/paid?session={CHECKOUT_SESSION_ID}';
export const CANCEL = 'https://shop.example/later';

export const person = (changes = {}) => ({ id: uuid(), name: '山田 花子', amount: 3000, ...changes });

export class Collection {
    constructor(server, id, owner) {
        Object.assign(this, { server, id, owner });
    }

    // Makes one; `people` are participants, or a number of them.
    static async make(server, { owner = uuid(), people = 1, ...changes } = {}) {
        const collection = new Collection(server, uuid(), owner);
        collection.people = Number.isInteger(people) ? Array.from({ length: people }, () => person()) : people;
        const answer = await collection.put({ participants: collection.people, ...changes });
        if (answer.status !== 201) throw new Error(`collection: ${answer.status} ${answer.text}`);
        return collection;
    }

    put(changes = {}, options = {}) {
        const body = { title: '夏合宿', currency: 'JPY', participants: [], ...changes };
        return this.server.call('PUT', `/api/v1/collections/${this.id}`, { as: this.owner, body, ...options });
    }

    get(query = '', as = this.owner) {
        return this.server.call('GET', `/api/v1/collections/${this.id}${query}`, { as });
    }

    async totals() {
        return (await this.get()).body.totals;
    }

    checkout(who = this.people[0], { key = uuid(), as = this.owner, body = { successUrl: SUCCESS }, ...rest } = {}) {
        return this.server.call('POST', `/api/v1/participants/${who.id}/checkout`, { as, key, body, ...rest });
    }

    async session(who, options) {
        const answer = await this.checkout(who, options);
        if (answer.status !== 201) throw new Error(`checkout: ${answer.status} ${answer.text}`);
        return answer.body;
    }

    participant(who = this.people[0], as = this.owner) {
        return this.server.call('GET', `/api/v1/participants/${who.id}`, { as }).then(({ body }) => body);
    }
}

// The customer on the sandbox's page.
export const payOnPage = (server, session, paymentMethod = 'pm_card_visa') =>
    server.sandbox('POST', `/checkout/${session.sessionId ?? session}/pay`, { paymentMethod });

// --- events about a payment, as Stripe words them ---

export const session = (payment, changes = {}) => ({
    id: `cs_test_${unique()}`, object: 'checkout.session', amount_total: payment.amount,
    client_reference_id: payment.id, currency: payment.currency.toLowerCase(), customer: null, livemode: false,
    metadata: { payment_id: payment.id }, mode: 'payment', payment_intent: null, payment_status: 'unpaid',
    status: 'open', url: null, expires_at: 1760086400, ...changes,
});

export const intent = (payment, changes = {}) => paymentIntent({
    token: changes.token,
    object: {
        amount: payment.amount, amount_received: payment.amount, currency: payment.currency.toLowerCase(),
        metadata: { payment_id: payment.id, context: 'participant', subject_id: payment.participantId },
        ...changes.object,
    },
});

export const charge = (payment, paid, changes = {}) => ({
    id: paid.latest_charge, object: 'charge', amount: payment.amount, amount_captured: payment.amount,
    amount_refunded: 0, balance_transaction: null, captured: true, created: 1760000000,
    currency: payment.currency.toLowerCase(), livemode: false, metadata: paid.metadata, paid: true,
    payment_intent: paid.id, payment_method: paid.payment_method, receipt_url: 'https://pay.stripe.com/receipts/1',
    refunded: false, status: 'succeeded', ...changes,
});

export const about = (type, object) => event(type, { data: { object } });
