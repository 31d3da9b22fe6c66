// receiver.mjs - a destination of the QStash API as its owner writes one: it keeps what came, answers as it is
// told to, and verifies with the SDK's own Receiver.
import http from 'node:http';
import { Client, Receiver } from '@upstash/qstash';
import { watchFetch } from './openapi.mjs';
import { CURRENT_KEY, DEV_TOKEN, NEXT_KEY } from './upstash.mjs';
import { until } from './wait.mjs';

// The unmodified SDK, pointed at our server; what it gets is held against api/qstash.openapi.yaml.
export const sdk = (server, options = {}) => {
    watchFetch();
    return new Client({
        baseUrl: `http://127.0.0.1:${server.port}`, token: DEV_TOKEN, retry: false, enableTelemetry: false, ...options,
    });
};

export const devKeys = { current: CURRENT_KEY, next: NEXT_KEY };

export const verify = (delivery, { current, next } = devKeys) =>
    new Receiver({ currentSigningKey: current, nextSigningKey: next }).verify({
        signature: delivery.headers['upstash-signature'], body: delivery.text, url: delivery.url,
    });

// What the signature says: iat is the server's time of the attempt.
export const claims = (delivery) =>
    JSON.parse(Buffer.from(delivery.headers['upstash-signature'].split('.')[1], 'base64url'));

// answer(delivery) gives the status, or a promise of it; deliveries are in `got` in the order they came.
export async function receive(t, answer = () => 200) {
    const got = Object.assign([], { open: 0 }); // that wait for their answer
    const server = http.createServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', async () => {
            const delivery = {
                method: request.method, path: request.url, headers: request.headers,
                url: `${got.url}${request.url}`, text: Buffer.concat(parts).toString(), at: Date.now(),
                id: request.headers['upstash-message-id'],
            };
            got.push(delivery);
            got.open++;
            response.on('close', () => got.open--);
            const [status, headers = {}] = [await answer(delivery)].flat();
            response.writeHead(status, headers).end();
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.atEnd(() => new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
    }));
    got.url = `http://127.0.0.1:${server.address().port}`;
    got.came = (n, limitMs) => until(`${n} deliveries (${got.length} came)`, () => got.length >= n, limitMs);
    return got;
}

// A receiver that keeps everybody waiting until it is told whom to let go.
export async function gatekeeper(t) {
    const waiting = [];
    const got = await receive(t, (delivery) => new Promise((resolve) => waiting.push({ delivery, resolve })));
    t.atEnd(() => waiting.forEach(({ resolve }) => resolve(200)));
    got.release = (n = waiting.length, status = 200) => waiting.splice(0, n).forEach(({ resolve }) => resolve(status));
    got.held = () => waiting.length;
    return got;
}

// What a gate counts is what stands in the rows: nobody holds a place that is not his.
export async function recount(db) {
    const wrong = await db.all(`
        SELECT 'queue' AS gate, CAST(q.id AS TEXT) AS name FROM qstash_queues q
        WHERE running <> (SELECT count(*) FROM qstash_live l WHERE l.queue_id = q.id AND slot = 1)
            OR lag <> (SELECT count(*) FROM qstash_live l WHERE l.queue_id = q.id AND counts = 1)
        UNION ALL SELECT 'flow', key FROM qstash_flows f
        WHERE running <> (SELECT count(*) FROM qstash_live l WHERE l.flow_key = f.key AND token = 1)
            OR waiting <> (SELECT count(*) FROM qstash_live l WHERE l.flow_key = f.key AND place = 2)`);
    if (wrong.length) throw new Error(`a gate counts wrongly: ${JSON.stringify(wrong)}`);
}
