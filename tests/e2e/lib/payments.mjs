// payments.mjs - what a merchant's application does: bookings, payments and their operations. All of it
// becomes methods of Server. An answer has .body, its parsed JSON, beside {status, headers, text}.
import { request } from './http.mjs';
import { ADMIN_TOKEN, token, uuid } from './tokens.mjs';

const parsed = (answer) => {
    const json = /json\b/.test(answer.headers['content-type'] ?? ''); // not jsonl
    return { ...answer, body: json ? JSON.parse(answer.text) : undefined };
};

// `body` is an object, or text or bytes as they are; undefined: none. `as`: a user's id, or 'admin'.
const headersOf = ({ as, bearer, key, body, headers = {} }) => {
    const authorization = bearer ?? (as === 'admin' ? ADMIN_TOKEN : as && token(as));
    const all = {
        ...(authorization && { Authorization: `Bearer ${authorization}` }),
        ...(key && { 'Idempotency-Key': key }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
    };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
};

const bytesOf = (body) => {
    if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) return body;
    return JSON.stringify(body);
};

// A database that was busy for a second says so (P6), and a client comes again.
async function patiently(ask) {
    for (let tries = 1; ; tries++) {
        const answer = await ask();
        if (answer.body?.code !== 'STORE_TIMEOUT' || tries === 5) return answer;
    }
}

export const payments = {
    async call(method, path, options = {}) {
        const body = bytesOf(options.body);
        return parsed(await this.request({ method, path, headers: headersOf(options) }, body));
    },

    // A booking that can be paid; `changes` may name id, userId, amount, currency, status, version.
    async booking(changes = {}) {
        const { id = uuid(), ...rest } = changes;
        const body = { userId: uuid(), amount: 1200, currency: 'JPY', status: 'PENDING', ...rest };
        const answer = await patiently(() => this.call('PUT', `/api/v1/bookings/${id}`, { as: 'admin', body }));
        if (answer.status >= 300) throw new Error(`booking: ${answer.status} ${answer.text}`);
        return { id, ...body };
    },

    bookingNow(id) {
        return this.call('GET', `/api/v1/bookings/${id}`, { as: 'admin' }).then(({ body }) => body);
    },

    // Pays a booking as its owner. Options: key, as, bearer, headers, path, and fields of the body.
    pay(booking, { key = uuid(), as, bearer, headers, path = '/payments', ...fields } = {}) {
        const body = { bookingId: booking.id, amount: booking.amount, currency: booking.currency, ...fields };
        return this.call('POST', path, { as: as ?? booking.userId, bearer, key, headers, body });
    },

    // A payment in the state wanted, the way a client would bring it there.
    async paid(fields = {}, changes = {}) {
        const booking = await this.booking(changes);
        const key = uuid();
        const answer = await patiently(() => this.pay(booking, { key, ...fields }));
        if (answer.status !== 201) throw new Error(`pay: ${answer.status} ${answer.text}`);
        return { ...answer.body, booking };
    },
    async captured(fields, changes) {
        const { booking, ...payment } = await this.paid(fields, changes);
        const answer = await this.capture(payment);
        if (answer.status !== 200) throw new Error(`capture: ${answer.status} ${answer.text}`);
        return { ...answer.body, booking };
    },

    operate(verb, payment, { key = uuid(), as, bearer, headers, prefix = '', body = {} } = {}) {
        const path = `${prefix}/payments/${payment.id}/${verb}`;
        return this.call('POST', path, { as: as ?? payment.userId, bearer, key, headers, body });
    },
    capture(payment, amount, options = {}) {
        return this.operate('capture', payment, { body: amount === undefined ? {} : { amount }, ...options });
    },
    refund(payment, amount, options = {}) {
        const { reason, ...rest } = options;
        const body = { ...(amount !== undefined && { amount }), ...(reason !== undefined && { reason }) };
        return this.operate('refund', payment, { body, ...rest });
    },
    void(payment, options = {}) {
        return this.operate('void', payment, options);
    },

    payment(payment, as = payment.userId) {
        return this.call('GET', `/payments/${payment.id ?? payment}`, { as });
    },

    // --- the pretend Stripe: its switches and its books ---

    async sandbox(method, path, body) {
        const text = body === undefined ? undefined : JSON.stringify(body);
        const headers = text ? { 'Content-Type': 'application/json' } : {};
        const answer = await request(this.sandboxPort, { method, path: `/_sandbox${path}`, headers }, text);
        if (answer.status >= 300) throw new Error(`sandbox ${path}: ${answer.status} ${answer.text}`);
        return /json/.test(answer.headers['content-type'] ?? '') ? JSON.parse(answer.text) : answer.text;
    },
    fault(rule) {
        return this.sandbox('POST', '/faults', rule);
    },
    healed() {
        return this.sandbox('DELETE', '/faults');
    },
    webhooks(switches) {
        return this.sandbox('POST', '/webhooks', switches);
    },
    // What really moved, to the yen: {intents: […], totals: {held, captured, refunded, charges, …}}.
    books(payment) {
        return this.sandbox('GET', `/books${payment ? `?payment_id=${payment.id ?? payment}` : ''}`);
    },

    // Stripe's own API, as its dashboard would ask it.
    async stripe(path, method = 'GET') {
        const headers = { Authorization: 'Bearer sk_test_ichido_e2e' };
        const answer = await request(this.sandboxPort, { method, path: `/v1${path}`, headers });
        if (answer.status >= 300) throw new Error(`stripe ${path}: ${answer.status} ${answer.text}`);
        return JSON.parse(answer.text);
    },
    // Every intent that the gateway has for a payment, or for all of them: [] means never charged.
    async intents(payment) {
        const { data } = await this.stripe('/payment_intents?limit=100');
        return payment ? data.filter((one) => one.metadata.payment_id === (payment.id ?? payment)) : data;
    },
    async intentOf(payment) {
        const all = await this.intents(payment);
        if (all.length !== 1) throw new Error(`${all.length} intents of one payment: ${JSON.stringify(all)}`);
        return all[0];
    },

    // What the customer does with the 3-D Secure question.
    authenticate(payment, success = true) {
        return this.sandbox('POST', `/authenticate/${payment.gatewayTransactionId}`, { result: success ? 'success' : 'fail' });
    },
};
