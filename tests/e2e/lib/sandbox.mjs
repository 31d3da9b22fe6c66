// sandbox.mjs - a server with its sandbox, the real stripe-node SDK that takes it for Stripe, and the
// switches behind /_sandbox.
import http from 'node:http';
import Stripe from 'stripe';
import { remember } from './evidence.mjs';
import { assert, start, stores, until } from './harness.mjs';

export const KEY = 'sk_test_sandbox_judge_0123456789';
remember(KEY);
export const VERSION = '2026-10-28.endive';
const portOf = (line) => Number(line.address.split(':').pop());

// A server with its sandbox, and an SDK that takes it for Stripe.
export const open = async (t, options) => meet(await start(t, stores[0], options));

export async function meet(server) {
    const line = await server.line('the sandbox listens', (l) => l.message === 'sandbox listening');
    const port = portOf(line);
    const sdk = (key = KEY, more = {}) => new Stripe(key, {
        host: '127.0.0.1', port, protocol: 'http', telemetry: false, maxNetworkRetries: 0, ...more,
    });
    return { server, port, sdk, stripe: sdk(), control: controls(port) };
}

// One plain request to the sandbox, past the SDK.
export function ask(port, method, path, { body, headers = {} } = {}) {
    return new Promise((resolve, reject) => {
        const client = http.request({ host: '127.0.0.1', port, method, path, headers });
        client.on('error', reject);
        client.on('response', (answer) => {
            let text = '';
            answer.on('data', (part) => { text += part; });
            answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
        });
        client.end(body);
    });
}

function controls(port) {
    const json = async (method, path, value) => {
        const answer = await ask(port, method, `/_sandbox${path}`, {
            body: value && JSON.stringify(value), headers: { 'Content-Type': 'application/json' },
        });
        assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
        return JSON.parse(answer.text);
    };
    return {
        fault: (rule) => json('POST', '/faults', rule),
        faults: async () => (await json('GET', '/faults')).faults,
        clear: () => json('DELETE', '/faults'),
        webhooks: (switches) => json('POST', '/webhooks', switches),
        books: (payment = '') => json('GET', `/books?payment_id=${payment}`),
        events: async (type = '') => (await json('GET', `/events?type=${type}`)).data,
        resend: (event) => json('POST', `/events/${event}/resend`),
        pay: (session, paymentMethod = 'pm_card_visa', more = {}) =>
            json('POST', `/checkout/${session}/pay`, { paymentMethod, ...more }),
        konbini: (intent, act, body) => json('POST', `/konbini/${intent}/${act}`, body),
        dispute: (what) => json('POST', '/disputes', what),
        closeDispute: (id, status) => json('POST', `/disputes/${id}/close`, { status }),
        authenticate: (intent, result) => json('POST', `/authenticate/${intent}`, { result }),
    };
}

// The failure of a call, which must be of that class; everything else of it is compared by `like`.
export async function fails(promise, type, like = {}) {
    const error = await promise.then(
        (value) => assert.fail(`it went well: ${JSON.stringify(value).slice(0, 300)}`), (e) => e);
    if (error instanceof assert.AssertionError) throw error;
    assert.equal(error.type, type, `${error.type}: ${error.message}`);
    for (const [name, value] of Object.entries(like))
        assert.deepEqual(error[name], value, `${name} of ${JSON.stringify(error.raw)}`);
    return error;
}

// A receiver of the test's own: every delivery is kept; `answer(delivery)` gives the status.
export async function receiver(t, { control }, answer = () => 200) {
    const got = [];
    const server = http.createServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', () => {
            const body = Buffer.concat(parts).toString();
            const one = { body, headers: request.headers, at: Date.now(), event: JSON.parse(body) };
            got.push(one);
            response.writeHead(answer(one, got)).end();
        });
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    t.atEnd(async () => {
        server.closeAllConnections();
        await new Promise((resolve) => { server.close(resolve); });
    });
    await control.webhooks({ url: `http://127.0.0.1:${server.address().port}/hook` });
    return {
        got,
        types: () => got.map((one) => one.event.type),
        ids: () => new Set(got.map((one) => one.event.id)),
        count: (n, limitMs) => until(`${n} deliveries`, () => got.length >= n, limitMs),
    };
}

export const keyed = (key) => ({ idempotencyKey: key });
