// paypay_sandbox.mjs - a server with its sandbox, and PayPay's own SDK that takes it for PayPay. The SDK
// speaks TLS only: a small proxy of the test's own stands between the two, with a certificate that the
// SDK's agent is told to trust.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import PAYPAY from '@paypayopa/paypayopa-sdk-node';
import { remember } from './evidence.mjs';
import { assert, newFolder, start, stores } from './harness.mjs';
import { ask } from './sandbox.mjs';

export { PAYPAY };
export const KEYS = { clientId: 'a_e2eKey', clientSecret: 'ZTJlLXBheXBheS1zZWNyZXQtMDEyMw==', merchantId: '331020011239997444' };
remember(KEYS.clientSecret);
export const PAYPAY_ENV = {
    PAYPAY_API_KEY: KEYS.clientId, PAYPAY_API_SECRET: KEYS.clientSecret, PAYPAY_MERCHANT_ID: KEYS.merchantId,
    ICHIDO_SANDBOX_WEBHOOKS: 'off', // what the server would ask after each of them is not in these tests
};

let pair;
function certificate() {
    if (pair) return pair;
    const folder = newFolder();
    const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
        '-keyout', key, '-out', cert, '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'],
    { stdio: 'ignore' });
    pair = { key: fs.readFileSync(key), cert: fs.readFileSync(cert) };
    fs.rmSync(folder, { recursive: true, force: true });
    https.globalAgent.options.ca = pair.cert; // the SDK's requests name no agent
    return pair;
}

// Ends TLS and goes on in the clear. change(request) may spoil {method, path, headers, body} on its way.
async function proxy(t, port, change) {
    const server = https.createServer(certificate(), (request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', () => {
            const sent = {
                method: request.method, path: request.url, headers: { ...request.headers }, body: Buffer.concat(parts),
            };
            change?.(sent);
            if (sent.body.length) sent.headers['content-length'] = String(sent.body.length);
            const { body, ...rest } = sent;
            const onward = http.request({ host: '127.0.0.1', port, ...rest, agent: false });
            onward.on('error', () => response.destroy());
            onward.on('response', (answer) => {
                response.writeHead(answer.statusCode, answer.headers);
                answer.on('error', () => response.destroy());
                answer.pipe(response);
            });
            onward.end(body);
        });
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    t.atEnd(async () => {
        server.closeAllConnections();
        await new Promise((resolve) => { server.close(resolve); });
    });
    return server.address().port;
}

export const open = async (t, options = {}) => meet(t, await start(t, stores[0], {
    ...options, env: { ...PAYPAY_ENV, ...options.env },
}));

export async function meet(t, server) {
    const port = server.sandboxPort;
    const sdk = async (keys = {}, change = undefined) => {
        const one = new PAYPAY.PayPayRestSDK();
        const conf = new PAYPAY.Conf({ hostName: '127.0.0.1', portNumber: await proxy(t, port, change) });
        one.configure({ ...KEYS, ...keys, conf });
        one.httpsClient.printDebugMessage = () => {}; // to the log of the tests
        return one;
    };
    return { server, port, sdk, paypay: await sdk(), control: controls(port) };
}

export function controls(port) {
    const json = async (method, where, value) => {
        const answer = await ask(port, method, `/_sandbox/paypay${where}`, {
            body: value && JSON.stringify(value), headers: { 'Content-Type': 'application/json' },
        });
        assert.ok(answer.status < 300, `${method} ${where}: ${answer.status} ${answer.text}`);
        return JSON.parse(answer.text);
    };
    return {
        pay: (id) => json('POST', `/${id}/pay`),
        fail: (id) => json('POST', `/${id}/fail`),
        books: (id = '') => json('GET', `/books?merchant_payment_id=${id}`),
        switches: (value) => json(value ? 'POST' : 'GET', '/switches', value),
        fault: (fault, more = {}) => json('POST', '/switches', { faults: [{ fault, ...more }] }),
    };
}

// The SDK's clock follows the test's.
export function shiftClock(t, ms) {
    const real = Date.now;
    Date.now = () => real() + ms;
    t.atEnd(() => { Date.now = real; });
}

// An answer of the SDK must have this status and code; gives its data.
export async function says(promise, status, code, codeId) {
    const answer = await promise;
    assert.equal(answer.ERROR, undefined, JSON.stringify(answer));
    const info = answer.BODY?.resultInfo;
    assert.deepEqual([answer.STATUS, info?.code], [status, code], JSON.stringify(answer));
    assert.match(info.codeId, /^[0-9]{8}$/);
    assert.equal(typeof info.message, 'string');
    if (codeId) assert.equal(info.codeId, codeId);
    return answer.BODY.data;
}
