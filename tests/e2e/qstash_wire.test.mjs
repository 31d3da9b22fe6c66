// The QStash door as HTTP: a destination in the path is any bytes, refusals of the server itself look like the
// door's, the log keeps no destination, and the caller is the client behind the proxy (Q9 Q10 A4 A5).
import { assert, forOneStore, Raw, start, unique, until } from './lib/harness.mjs';
import { gatekeeper, receive, sdk, verify } from './lib/receiver.mjs';
import { DEV_TOKEN } from './lib/upstash.mjs';

const NOWHERE = 'http://127.0.0.1:9';
const LATER = { 'Upstash-Delay': '1h' };

// One call over a bare socket: the target goes out as it stands.
async function raw(server, method, target, { headers = {}, body = '', token = DEV_TOKEN } = {}) {
    const lines = Object.entries({
        Host: 'x', ...(token && { Authorization: `Bearer ${token}` }), 'Content-Length': Buffer.byteLength(body), Connection: 'close', ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = new Raw(server.port).send(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
    await socket.closed();
    const [head, text] = socket.text.split('\r\n\r\n');
    return { status: Number(head.split(' ')[1]), type: /^content-type: (.*)$/im.exec(head)?.[1], head, text };
}

const errorOf = (answer, status) => {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.type, 'application/json', answer.text);
    const body = JSON.parse(answer.text);
    assert.deepEqual(Object.keys(body), ['error']);
    return body.error;
};

forOneStore((store, test) => {
    test('Q9 Q10 a destination in the path may hold dots and bytes that are no text, and arrives as it was written', async (t) => {
        const server = await start(t, store);
        const got = await receive(t);
        const paths = ['/%ff', '/a/../b', '/./x/..', '/%2e%2e/%2E', '/%zz%', '/%00%0a', '/a%2Fb//c/', '/v2/publish/../..', '/x?y=%ff&../z=%'];
        for (const path of paths) {
            const answer = await raw(server, 'POST', `/v2/publish/${got.url}${path}`, { body: 'b' });
            assert.equal(answer.status, 200, `${path}: ${answer.text}`);
            const { messageId } = JSON.parse(answer.text);
            const delivery = await until(`${path} has come`, () => got.find(({ id }) => id === messageId));
            assert.equal(delivery.path, path);
            await verify(delivery);
        }
        const queued = await raw(server, 'POST', `/v2/enqueue/line/${got.url}/%ff/../q`);
        assert.equal(queued.status, 200, queued.text);
        await until('it has come', () => got.some(({ path }) => path === '/%ff/../q'));
        const planned = await raw(server, 'POST', `/v2/schedules/${got.url}/%fe/../s`, { headers: { 'Upstash-Cron': '* * * * *' } });
        assert.equal(planned.status, 200, planned.text);
        await server.advance(61_000);
        await until('it has come', () => got.some(({ path }) => path === '/%fe/../s'));
    });

    test('Q9 what is wrong with a path under /v2/ is said by the door, and nothing is stored', async (t) => {
        const server = await start(t, store);
        const rows = [
            ['GET', '/v2/messages/%ff', 404], ['GET', '/v2/messages/%zz', 404], ['GET', '/v2/..', 404], ['GET', '/v2/../payments', 404],
            ['GET', '/v2/%2e%2e/healthz', 404], ['GET', '/v2/', 404], ['GET', '/v2/?a', 404], ['GET', '/v2//', 404],
            ['POST', '/v2/publish/', 404], ['POST', '/v2/publish/%ff', 400], ['POST', '/v2/publish/..', 404],
            ['POST', '/v2/publish/https%3A%2F%2Fh%2F%ff', 400], ['POST', '/v2/batch/', 400], ['POST', 'http://v2/v2/publish/..', 404],
            ['POST', '/v2/enqueue/%ff/https://h.test', 404], ['POST', '/v2/schedules/%00/pause', 400],
            ...['messages', 'dlq', 'queues', 'schedules', 'topics', 'flowControl'].flatMap((kind) =>
                ['%ff', '%00', 'a%0ab', '%7f', '%ed%a0%80', '%'].map((name) => ['GET', `http://h/v2/${kind}/${name}`, kind === 'schedules' ? 405 : 404])),
        ];
        for (const [method, target, status] of rows) assert.ok(errorOf(await raw(server, method, target), status), target);
        for (const target of ['/v2/publish/%ff', '/v2/..']) errorOf(await raw(server, 'POST', target, { token: '' }), 401);
        // Of another spelling it is not ours, and nobody reads beyond its end.
        for (const target of ['/%76%32/keys', '/%762/x', '/v%32/', '/V2/keys', '/%76%32/publish/https://h/v2/keys', '/v2'])
            assert.equal((await raw(server, 'GET', target)).status, 404, target);
        // The other paths are judged as before.
        for (const target of ['/payments/..', '/%ff', '/x/../v2/keys', '/%2e/v2/keys'])
            assert.equal((await raw(server, 'GET', target)).status, 400, target);
        for (const target of ['/v2/publish/https://h/\x01', '/v2/publish/https://h/\x7f', '/v2/publish/https://h/#x'])
            assert.equal((await raw(server, 'POST', target)).status, 400, JSON.stringify(target));
        assert.equal(await server.db.count('qstash_messages'), 0);
    });

    test('Q9 A5 what the server itself refuses under /v2/ has the words where the SDK looks for them', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_RATE_LIMIT: '20' } });
        const big = { headers: { 'Content-Length': 1024 * 1024 + 1 } };
        assert.match(errorOf(await raw(server, 'POST', `/v2/publish/${NOWHERE}`, big), 413), /larger/);
        errorOf(await raw(server, 'POST', '/v2/batch', { headers: { 'Content-Length': 16 * 1024 * 1024 + 1 } }), 413);
        const chunks = { headers: { 'Transfer-Encoding': 'chunked' }, body: `${(2 * 1024 * 1024).toString(16)}\r\nx` };
        const socket = new Raw(server.port).send(`POST /v2/publish/${NOWHERE} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.body}`);
        await socket.closed();
        assert.match(socket.text, /^HTTP\/1\.1 413 [^]*\r\n\r\n\{"error":"[^"]+"\}$/);
        const elsewhere = await raw(server, 'POST', '/payments', { headers: { 'Content-Length': 10_000_000 } });
        assert.deepEqual([elsewhere.status, elsewhere.type], [413, 'application/problem+json']);
        let last;
        await until('it is too much', async () => {
            const answers = await Promise.all(Array.from({ length: 50 }, () => raw(server, 'GET', '/v2/queues')));
            last = answers.find(({ status }) => status === 429);
            return last;
        });
        errorOf(last, 429);
        assert.match(last.head, /^Retry-After: \d+\r$/im);
    });

    test('A4 the log keeps no destination: neither its user and password nor its path', async (t) => {
        const server = await start(t, store);
        const word = `s3cret-${unique()}`;
        const address = `http://user:${word}@127.0.0.1:9/services/${word}?k=${word}`;
        const encoded = encodeURIComponent(address);
        const targets = [
            `publish/${address}`, `publish/${encoded}`, `enqueue/line/${address}`, `enqueue/${encoded}/x`, `schedules/${address}`,
            `Schedules/${address}`, address, encoded, `nowhere/${address}`, `messages/${encoded}`, `queues/${encoded}`,
        ];
        for (const target of targets) await raw(server, 'POST', `/v2/${target}`, { headers: { ...LATER, 'Upstash-Cron': '0 0 1 1 *' } });
        await raw(server, 'GET', '/v2/queues/line');
        const told = (path) => server.line(path, (l) => l.message === 'request' && l.path === path);
        for (const path of ['/v2/publish/...', '/v2/enqueue/...', '/v2/schedules/...', '/v2/Schedules/...', '/v2/...', '/v2/queues/...']) await told(path);
        await raw(server, 'GET', '/v2/keys');
        await told('/v2/keys');
        await raw(server, 'GET', '/healthz');
        await told('/healthz');
        assert.ok(!server.stderr.includes(word), server.lines.find((l) => JSON.stringify(l).includes(word))?.path);
        assert.ok(!server.stderr.includes('services'), 'nor what is no secret');
    });

    test('Q9 A5 behind a trusted proxy the caller is the client, on publish, enqueue, batch and schedules', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_TRUSTED_PROXIES: '127.0.0.1,172.16.0.0/12' } });
        const plain = await start(t, store);
        const rows = [
            [server, '203.0.113.7', '203.0.113.7'], [server, '198.51.100.1, 203.0.113.8, 172.16.0.9', '203.0.113.8'],
            [server, '2001:DB8::0:9', '2001:db8::9'], [server, '::ffff:203.0.113.9', '203.0.113.9'], [server, undefined, '127.0.0.1'],
            [server, 'nonsense', '127.0.0.1'], [plain, '203.0.113.7', '127.0.0.1'],
        ];
        for (const [where, forwarded, wanted] of rows) {
            const headers = { ...LATER, ...(forwarded && { 'X-Forwarded-For': forwarded }) };
            const one = await raw(where, 'POST', `/v2/publish/${NOWHERE}/`, { headers });
            const two = await raw(where, 'POST', `/v2/enqueue/line/${NOWHERE}/`, { headers });
            const batch = await raw(where, 'POST', '/v2/batch', { headers, body: JSON.stringify([{ destination: NOWHERE, headers: { 'upstash-delay': '1h' } }]) });
            const ids = [one, two, { text: JSON.stringify(JSON.parse(batch.text)[0]) }].map(({ text }) => JSON.parse(text).messageId);
            for (const id of ids) assert.equal(JSON.parse((await raw(where, 'GET', `/v2/messages/${id}`)).text).callerIP, wanted, forwarded);
            const schedule = await raw(where, 'POST', `/v2/schedules/${NOWHERE}/`, { headers: { ...headers, 'Upstash-Cron': '0 0 1 1 *' } });
            const { scheduleId } = JSON.parse(schedule.text);
            assert.equal(JSON.parse((await raw(where, 'GET', `/v2/schedules/${scheduleId}`)).text).callerIP, wanted, forwarded);
        }
        const logs = await raw(server, 'GET', '/v2/dlq?callerIP=203.0.113.7');
        assert.equal(logs.status, 200);
    });

    test('Q9 256 deliveries to one destination are under way at a time', async (t) => {
        const server = await start(t, store);
        const slow = await gatekeeper(t);
        await sdk(server).batch(Array(300).fill({ url: slow.url, retries: 0 }));
        await until('all places are taken', () => slow.held() === 256, 30_000);
        slow.release(256);
        await until('and the rest', () => slow.length === 300, 30_000);
        slow.release();
        await until('they have ended', async () => await server.db.count('qstash_live') === 0);
    });
});
