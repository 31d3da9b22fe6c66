// upstash.mjs - a QStash as our server meets it: deliveries signed the way the vendor's are (by npm `jose`),
// and a small one that takes publishes, can fail, and delivers.
import crypto from 'node:crypto';
import http from 'node:http';
import { SignJWT } from 'jose';
import { request } from './http.mjs';
import { until } from './wait.mjs';

// Public: the SDK's own for its dev mode, and ours in dev mode where nothing else is set.
export const CURRENT_KEY = 'sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r';
export const NEXT_KEY = 'sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs';
export const DEV_TOKEN = 'eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=';
export const WORKER = '/api/workers/stripe-webhook';

export const hashOf = (body) => crypto.createHash('sha256').update(body).digest('base64url');

// The vendor's JWT; `claims` overrides (undefined removes one).
export function upstashSignature(body, { at, url = 'https://pay.example.test' + WORKER, key = CURRENT_KEY, header, claims = {} } = {}) {
    const all = {
        iss: 'Upstash', sub: url, exp: at + 300, nbf: 0, iat: at, jti: `jwt_${crypto.randomUUID()}`,
        body: `${hashOf(body)}=`, ...claims,
    };
    for (const name of Object.keys(all)) if (all[name] === undefined) delete all[name];
    return new SignJWT(all).setProtectedHeader({ alg: 'HS256', typ: 'JWT', ...header }).sign(Buffer.from(key));
}

// What our server publishes instead of an event (A6).
export const referenceTo = ({ id, type }) => ({ object: 'ichido.event', id, type });

// Calls the worker as a QStash would. `event` may be an object, a text or bytes.
export async function callWorker(server, event, { headers = {}, signature, ...how } = {}) {
    const body = typeof event === 'string' || Buffer.isBuffer(event) ? event : JSON.stringify(event);
    const signed = signature === undefined
        ? await upstashSignature(body, { at: server.nowSeconds(), ...how }) : signature;
    const answer = await request(server.port, {
        method: 'POST', path: WORKER,
        headers: {
            'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body),
            ...(signed !== null && { 'Upstash-Signature': signed }), ...headers,
        },
    }, body);
    const json = /json/.test(answer.headers['content-type'] ?? '');
    return { ...answer, body: json ? JSON.parse(answer.text) : undefined };
}

// Takes publishes and keeps them in `got`. `answer(n, publish)` decides about the n-th: a status, 'drop'
// (the connection breaks), 'lose' (taken, and then the connection breaks), or a promise of one of them.
export class FakeQStash {
    constructor(answer = () => 200) {
        Object.assign(this, { answer, got: [], taken: new Map(), letters: [], asked: [] });
        this.server = http.createServer((ask, reply) => this.#read(ask, reply));
    }

    static async open(t, answer) {
        const fake = new FakeQStash(answer);
        await new Promise((resolve) => fake.server.listen(0, '127.0.0.1', resolve));
        t.atEnd(() => fake.close());
        fake.port = fake.server.address().port;
        fake.url = `http://127.0.0.1:${fake.port}`;
        return fake;
    }

    close() {
        return new Promise((resolve) => {
            this.server.closeAllConnections();
            this.server.close(resolve);
        });
    }

    #read(ask, reply) {
        const parts = [];
        ask.on('data', (part) => parts.push(part));
        ask.on('end', () => this.#serve(ask, reply, Buffer.concat(parts)));
    }

    async #serve(ask, reply, body) {
        const json = (status, value) => reply.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
        if (ask.method === 'GET' && ask.url.startsWith('/v2/dlq?')) return this.#list(ask, json);
        const publish = { method: ask.method, path: ask.url, headers: ask.headers, body };
        publish.id = ask.headers['upstash-deduplication-id'];
        this.got.push(publish);
        const what = await this.answer(this.got.length - 1, publish);
        if (what === 'drop') return ask.socket.destroy();
        if (typeof what === 'number' && what >= 300) return json(what, { error: 'no' });
        const known = this.taken.has(publish.id);
        if (!known) this.taken.set(publish.id, publish);
        if (what === 'lose') return ask.socket.destroy();
        return json(known ? 202 : 200, { messageId: `msg_${publish.id}`, ...(known && { deduplicated: true }) });
    }

    // Pages of `count`; the cursor is how many were seen.
    #list(ask, json) {
        const query = new URL(ask.url, this.url).searchParams;
        this.asked.push(Object.fromEntries(query));
        this.authorization = ask.headers.authorization;
        const from = Number(query.get('cursor') ?? 0);
        const to = from + Number(query.get('count'));
        const mine = this.letters.filter(({ url }) => url === query.get('url'));
        json(200, { messages: mine.slice(from, to), ...(to < mine.length && { cursor: String(to) }) });
    }

    // What was taken goes to our worker, once each; the answers.
    async deliver(server, publishes = [...this.taken.values()], how = {}) {
        const answers = [];
        for (const { body, headers } of publishes)
            answers.push(await callWorker(server, body, {
                headers: { 'Upstash-Retried': '0', ...(headers['upstash-forward-traceparent'] && { traceparent: headers['upstash-forward-traceparent'] }) },
                ...how,
            }));
        return answers;
    }

    took(n) {
        return until(`${n} publishes were taken`, () => this.taken.size >= n);
    }

    came(n) {
        return until(`${n} publishes came`, () => this.got.length >= n);
    }
}
