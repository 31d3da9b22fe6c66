// paypay.mjs - a server whose PayPay payments go to the sandbox's PayPay: what its customer does, what
// goes wrong at the gateway, and what really moved there.
import http from 'node:http';
import { start } from './harness.mjs';
import { until } from './wait.mjs';

export const PAYPAY_WEBHOOK = '/api/v1/webhooks/paypay';
export const ROUTES = { ICHIDO_ROUTES: 'paypay=paypay' };

export class PayPay {
    constructor(server) {
        this.server = server;
    }

    // A booking's payment by PayPay that waits for its customer.
    pending(fields = {}, changes = {}) {
        return this.server.paid({ paymentMethodType: 'paypay', ...fields }, changes);
    }

    // The customer pays, or does not, on the page behind the code.
    pays(payment) {
        return this.server.sandbox('POST', `/paypay/${payment.gatewayTransactionId}/pay`);
    }
    fails(payment) {
        return this.server.sandbox('POST', `/paypay/${payment.gatewayTransactionId}/fail`);
    }

    async authorized(fields, changes) {
        const payment = await this.pending(fields, changes);
        await this.pays(payment);
        return { ...await this.is(payment, 'AUTHORIZED'), booking: payment.booking };
    }
    async captured(amount, changes) {
        const payment = await this.authorized({}, changes);
        const answer = await this.server.capture(payment, amount);
        if (answer.status !== 200) throw new Error(`capture: ${answer.status} ${answer.text}`);
        return { ...answer.body, booking: payment.booking };
    }

    // The payment, once it is in that state. stepMs moves the test's clock along meanwhile.
    is(payment, status, stepMs = 0) {
        return until(`the payment is ${status}`, async () => {
            const { body } = await this.server.payment(payment, 'admin');
            if (body.status === status) return body;
            if (stepMs) await this.server.advance(stepMs);
            return undefined;
        }, 60_000);
    }

    switches(changes) {
        return this.server.sandbox('POST', '/paypay/switches', changes);
    }
    faults(...faults) {
        return this.switches({ faults });
    }

    // Every payment that PayPay has of ours.
    async books() {
        return (await this.server.sandbox('GET', '/paypay/books')).payments;
    }

    notify(notice, headers = {}) {
        const body = typeof notice === 'string' ? notice : JSON.stringify(notice);
        return this.server.request({
            method: 'POST', path: PAYPAY_WEBHOOK, headers: { 'Content-Type': 'application/json', ...headers },
        }, body);
    }
}

// webhooks: whether the sandbox tells us by itself.
export async function open(t, store, { env = {}, webhooks = true, ...rest } = {}) {
    const server = await start(t, store, { env: { ...ROUTES, ...env }, ...rest });
    const paypay = new PayPay(server);
    if (!webhooks) await paypay.switches({ webhooks: 'off' });
    return { server, paypay };
}

// A PayPay of the test's own: peer.answer(request, body) says {status, headers, text}; no text: the line goes dead.
export async function scripted(t, store) {
    const peer = http.createServer((ask, reply) => {
        const parts = [];
        ask.on('data', (part) => parts.push(part));
        ask.on('end', () => {
            const body = parts.length ? JSON.parse(Buffer.concat(parts)) : {};
            const { status = 200, headers = {}, text } = peer.answer(ask, body);
            if (text === undefined) {
                ask.socket.destroy();
                return;
            }
            reply.writeHead(status, { 'Content-Type': 'application/json', ...headers });
            reply.end(typeof text === 'string' ? text : JSON.stringify(text));
        });
    });
    await new Promise((resolve) => { peer.listen(0, '127.0.0.1', resolve); });
    t.atEnd(() => {
        peer.closeAllConnections();
        peer.close();
    });
    const server = await start(t, store, { env: { ...ROUTES, PAYPAY_API_BASE: `http://127.0.0.1:${peer.address().port}` } });
    return { server, peer };
}
export const success = (data, status = 200) => ({ status, text: { resultInfo: { code: 'SUCCESS', message: 'Success', codeId: '08100001' }, data } });
export const refused = (status, word) => ({ status, text: { resultInfo: { code: word, message: word, codeId: '0' }, data: null } });
export const code = (server, body, changes = {}) => success({
    codeId: '04-x', url: 'https://qr.paypay.ne.jp/x', expiryDate: server.nowSeconds() + 300, ...body, ...changes,
}, 201);
