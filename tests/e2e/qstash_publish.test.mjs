// How a message comes in: publish, enqueue and batch through the unmodified SDK and past it; every option as it is
// stored, every byte as it arrives, every duplicate found, and bad input that leaves nothing behind (Q9 Q10 T3).
import crypto from 'node:crypto';
import http from 'node:http';
import { assert, forEachStore, start, until } from './lib/harness.mjs';
import { recount, sdk } from './lib/receiver.mjs';
import { DEV_TOKEN } from './lib/upstash.mjs';

const ID = /^msg_[0-9a-f]{32}$/;
const NOWHERE = 'http://127.0.0.1:9'; // taken, and never asked: what goes there is delayed
const LATER = { delay: 3600 };

// A call without the SDK. The path is sent as it stands.
async function call(server, path, { method = 'POST', body = '', headers = {}, token = DEV_TOKEN } = {}) {
    const answer = await server.request({
        method, path: `/v2/${path}`,
        headers: {
            ...(token && { Authorization: `Bearer ${token}` }), 'Content-Length': Buffer.byteLength(body), ...headers,
        },
    }, body);
    return { status: answer.status, body: JSON.parse(answer.text), type: answer.headers['content-type'] };
}

const hexOf = (messageId) => messageId.slice(4);

const row = async (server, messageId) => {
    const rows = await server.db.table('qstash_messages', `id = ${server.db.blob(hexOf(messageId))}`);
    assert.equal(rows.length, 1, `${messageId} is stored once`);
    return rows[0];
};

// How much there is of everything that a publish may leave.
const TABLES = ['qstash_messages', 'qstash_live', 'qstash_log', 'qstash_labels', 'qstash_dedup', 'qstash_queues',
    'qstash_flows', 'qstash_schedules'];
async function amounts(server) {
    const all = {};
    for (const name of TABLES) all[name] = await server.db.count(name);
    all.message = await server.db.count('message', `kind = 'qstash.deliver'`);
    return all;
}

// A destination that keeps the bytes: {method, url, headers, raw, body}.
async function catcher(t) {
    const got = [];
    const server = http.createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', () => {
            got.push({
                method: request.method, path: request.url, headers: request.headers, raw: request.rawHeaders,
                body: Buffer.concat(parts), id: request.headers['upstash-message-id'],
            });
            response.end();
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.atEnd(() => new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
    }));
    got.url = `http://127.0.0.1:${server.address().port}`;
    got.of = (messageId) => until(`${messageId} has come`, () => got.find(({ id }) => id === messageId));
    return got;
}

forEachStore((store, test) => {
    test('Q9 T3 publish answers an id, and the message is what was published', async (t) => {
        const server = await start(t, store);
        const client = sdk(server, { enableTelemetry: true });
        const door = await catcher(t);
        const plain = await client.publish({ url: `${door.url}/plain?a=1`, body: 'text' });
        assert.deepEqual(Object.keys(plain), ['messageId']);
        assert.match(plain.messageId, ID);
        const json = await client.publishJSON({
            url: `${door.url}/json`, body: { name: '決済' }, headers: { 'Test-Header': 'v', 'x-second': 'w' }, method: 'PUT',
        });
        const none = await client.publish({ url: `${door.url}/none`, method: 'GET' });

        const first = await door.of(plain.messageId);
        assert.equal(first.method, 'POST');
        assert.equal(first.path, '/plain?a=1');
        assert.equal(first.body.toString(), 'text');
        assert.equal(first.headers['content-type'], 'text/plain;charset=UTF-8');
        const second = await door.of(json.messageId);
        assert.equal(second.method, 'PUT');
        assert.deepEqual(JSON.parse(second.body), { name: '決済' });
        assert.equal(second.headers['content-type'], 'application/json');
        assert.equal(second.headers['test-header'], 'v');
        assert.equal(second.headers['x-second'], 'w');
        const third = await door.of(none.messageId);
        assert.equal(third.method, 'GET');
        assert.equal(third.body.length, 0);
        assert.equal(third.headers['content-type'], undefined, 'nothing is invented');
        for (const { raw } of [first, second, third])
            assert.ok(!raw.some((name) => /telemetry|sec-fetch|authorization/i.test(name)), `${raw}`);

        const stored = await row(server, json.messageId);
        assert.deepEqual(JSON.parse(stored.header), {
            'Test-Header': ['v'], 'X-Second': ['w'], 'Content-Type': ['application/json'],
        });
        assert.equal(stored.caller_ip, '127.0.0.1');
        assert.equal(stored.retries, 3);
        assert.equal(stored.created_at, stored.not_before);
        assert.equal(parseInt(stored.id.slice(0, 12), 16), stored.created_at, 'ids grow with time');
    });

    test('Q9 T3 each option of the SDK is stored as it was meant', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const at = Math.floor(Date.now() / 1000) + 86400;
        const rows = [
            [{ retries: 0 }, { retries: 0 }],
            [{ retries: 7, retryDelay: '1000 * pow(2, retried)' }, { retries: 7, retry_delay: '1000 * pow(2, retried)' }],
            [{ timeout: 12.5 }, { timeout_ms: 12500 }],
            [{ timeout: '1m30s' }, { timeout_ms: 90000 }],
            [{ label: 'one' }, { labels: 'one' }],
            [{ label: ['a', 'b'] }, { labels: 'a,b' }],
            [{ label: 'ü' }, { labels: 'ü' }],
            [{ redact: { body: true, header: ['Authorization', 'X-Key'] } }, { redact: 'body,header[Authorization],header[X-Key]' }],
            [{ redact: { header: true } }, { redact: 'header' }],
            [{ flowControl: { key: 'k 1/x', parallelism: 2, rate: 10, period: '1m' } },
                { flow_key: 'k 1/x', flow: '{"parallelism":2,"rate":10,"period":60}' }],
            [{ flowControl: { key: 'only', ratePerSecond: 5 } }, { flow_key: 'only', flow: '{"rate":5,"period":1}' }],
            [{ callback: 'https://example.com/c', failureCallback: 'https://example.com/f?x=1' },
                { callbacks: '{"callback":{"url":"https://example.com/c"},"failure":{"url":"https://example.com/f?x=1"}}' }],
            [{
                callback: 'https://example.com/c',
                headers: {
                    'Upstash-Callback-Method': 'PUT', 'Upstash-Callback-Retries': '1', 'Upstash-Callback-Timeout': '5s',
                    'Upstash-Callback-Retry-Delay': '1000', 'Upstash-Callback-Forward-X-A': 'b',
                },
            }, {
                callbacks: '{"callback":{"url":"https://example.com/c","method":"PUT","retries":1,"retryDelay":"1000",'
                    + '"timeoutMs":5000,"header":{"X-A":["b"]}}}',
            }],
            [{ notBefore: at, delay: 10 }, { not_before: at * 1000 }],
            [{ method: 'DELETE' }, { method: 'DELETE' }],
            [{ headers: { 'x-umlaut': 'ü' } }, { header: '{"X-Umlaut":["ü"]}' }],
            [{ body: '' }, { body: '' }],
        ];
        for (const [options, wanted] of rows) {
            const { messageId } = await client.publish({ url: 'https://example.com/x', ...LATER, ...options });
            const stored = await row(server, messageId);
            for (const [column, value] of Object.entries(wanted))
                assert.equal(stored[column] ?? '', value, `${JSON.stringify(options)}: ${column}`);
        }
        assert.equal(await server.db.count('qstash_messages'), rows.length);
        assert.equal(await server.db.count('qstash_live'), rows.length);
        assert.equal(await server.db.count('qstash_log'), rows.length, 'a CREATED line each');
        assert.equal(await server.db.count('qstash_labels'), 4);
        assert.equal(await server.db.count('qstash_flows'), 2);
        await recount(server.db);
    });

    test('Q9 T3 a delay is kept, by number, by text and by time', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await catcher(t);
        const now = Date.now();
        const ids = {};
        for (const [name, options] of Object.entries({
            number: { delay: 60 }, text: { delay: '1m' }, time: { notBefore: Math.floor(now / 1000) + 60 }, past: { notBefore: 1 },
        })) ids[name] = (await client.publish({ url: `${door.url}/${name}`, ...options })).messageId;
        await door.of(ids.past);
        assert.equal((await row(server, ids.past)).not_before, (await row(server, ids.past)).created_at);
        for (const name of ['number', 'text']) {
            const { created_at, not_before } = await row(server, ids[name]);
            assert.equal(not_before - created_at, 60_000, name);
        }
        await server.advance(50_000);
        assert.equal(door.length, 1, 'not before their time');
        await server.advance(15_000);
        for (const id of Object.values(ids)) await door.of(id);
        assert.equal(door.length, 4);
    });

    test('Q9 T3 enqueue makes its queue and keeps the order', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await catcher(t);
        const queue = client.queue({ queueName: 'orders.v1_a-b' });
        const ids = [];
        for (let i = 0; i < 20; i++)
            ids.push((await queue.enqueueJSON({ url: `${door.url}/${i}`, body: { i } })).messageId);
        await until('all came', () => door.length === 20);
        assert.deepEqual(door.map(({ id }) => id), ids);
        assert.equal((await row(server, ids[0])).queue, 'orders.v1_a-b');
        assert.equal((await queue.get()).parallelism, 1);
        await until('none is left', async () => (await queue.get()).lag === 0);
        await recount(server.db);
    });

    test('Q9 T3 a URL group gets one message for each member, as an array', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await catcher(t);
        const endpoints = [{ name: 'first', url: `${door.url}/1` }, { url: `${door.url}/2` }, { name: 'third', url: `${door.url}/3` }];
        await client.urlGroups.addEndpoints({ name: 'my-group', endpoints });
        const answer = await client.publishJSON({ urlGroup: 'my-group', body: { a: 1 }, headers: { 'x-a': 'b' } });
        assert.deepEqual(answer.map(({ url }) => url), endpoints.map(({ url }) => url));
        assert.equal(new Set(answer.map(({ messageId }) => messageId)).size, 3);
        for (const [i, { messageId, url, deduplicated }] of answer.entries()) {
            const delivery = await door.of(messageId);
            assert.equal(door.url + delivery.path, url);
            assert.equal(delivery.headers['x-a'], 'b');
            assert.equal(delivery.headers['upstash-topic-name'], 'my-group');
            assert.equal(deduplicated, undefined);
            const stored = await row(server, messageId);
            assert.deepEqual([stored.topic, stored.endpoint], ['my-group', endpoints[i].name ?? null]);
        }
        // also in a queue, with labels, and from a batch
        const queued = await client.queue({ queueName: 'q' }).enqueueJSON({ urlGroup: 'my-group', body: {}, label: 'l' });
        for (const { messageId } of queued) await door.of(messageId);
        assert.equal((await client.batch([{ urlGroup: 'my-group', body: 'x' }]))[0].length, 3);
        await assert.rejects(client.publish({ urlGroup: 'nobody', body: 'x' }), (e) => e.status === 404 && /nobody/.test(e.message));
        await recount(server.db);
    });

    test('Q9 a group of 100 members gets 100 messages in one commit', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const endpoints = Array.from({ length: 100 }, (_, i) => ({ url: `https://example.com/${i}` }));
        await client.urlGroups.addEndpoints({ name: 'all', endpoints });
        const plain = await client.publish({ urlGroup: 'all', body: 'x', ...LATER });
        assert.deepEqual(plain.map(({ url }) => url), endpoints.map(({ url }) => url));
        const gated = await client.publish({
            urlGroup: 'all', ...LATER, deduplicationId: 'once', label: ['a', 'b'], flowControl: { key: 'k', parallelism: 1 },
        });
        assert.equal(gated.length, 100);
        assert.deepEqual(await amounts(server), {
            qstash_messages: 200, qstash_live: 200, qstash_log: 200, qstash_labels: 200, qstash_dedup: 100, qstash_queues: 0,
            qstash_flows: 1, qstash_schedules: 0, message: 200,
        });
        await recount(server.db);
    });

    // --- bytes ---

    test('Q9 bytes arrive as they left: binary bodies, Latin-1 headers, strange addresses', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await catcher(t);
        const every = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
        const bodies = [every, Buffer.alloc(0), Buffer.from('\0'), Buffer.from('絵文字 🎟'), crypto.randomBytes(1024 * 1024)];
        for (const body of bodies) {
            const { messageId } = await client.publish({ url: `${door.url}/bytes`, body: new Uint8Array(body) });
            const delivery = await door.of(messageId);
            assert.ok(delivery.body.equals(body), `${body.length} bytes`);
        }
        const latin = Array.from({ length: 128 }, (_, i) => String.fromCharCode(128 + i)).join('');
        const { messageId } = await client.publish({ url: `${door.url}/h`, headers: { 'x-latin': latin, 'x-tab': 'a\tb', 'x-quote': '"\\' } });
        const { headers } = await door.of(messageId);
        assert.equal(headers['x-latin'], latin.trim());
        assert.equal(headers['x-tab'], 'a\tb');
        assert.equal(headers['x-quote'], '"\\');

        const targets = ['/a%20b?x=%2F&y=+&z', '/?', '/p?q=1?2&&a=', '/%C3%BC?%e3%81%82=1', '/a//b/;c=d/', '/?a=%zz&b=100%',
            `/${'l'.repeat(7000)}`];
        for (const target of targets) {
            const { status, body } = await call(server, `publish/${door.url}${target}`);
            assert.equal(status, 200, JSON.stringify(body));
            assert.equal((await row(server, body.messageId)).url, `${door.url}${target}`);
            assert.equal((await door.of(body.messageId)).path, target);
        }
    });

    test('Q9 text above Latin-1 in a batch arrives as UTF-8', async (t) => {
        const server = await start(t, store);
        const door = await catcher(t);
        const items = [{
            destination: `${door.url}/あ`, headers: { 'upstash-forward-x-kana': 'あü', 'upstash-forward-x-latin': 'ü', 'upstash-label': '札' },
            body: '本文 "\\\u001f\n🎟',
        }];
        const { body } = await call(server, 'batch', { body: JSON.stringify(items) });
        const delivery = await door.of(body[0].messageId);
        assert.equal(Buffer.from(delivery.headers['x-kana'], 'latin1').toString(), 'あü');
        assert.equal(delivery.headers['x-latin'], 'ü');
        assert.equal(delivery.body.toString(), items[0].body);
        assert.equal((await row(server, body[0].messageId)).labels, '札');
    });

    // --- the query, and what other senders do ---

    test('Q9 a webhook sender may say it all in the address', async (t) => {
        const server = await start(t, store);
        const door = await catcher(t);
        const path = `publish/${door.url}/hook?a=1&upstash-retries=5&qstash_token=${encodeURIComponent(DEV_TOKEN)}`
            + '&upstash-forward-x-q=a%20b&upstash-retry-delay=1000%20%2B+retried&b=%2F&upstash-header-forward=true';
        const { status, body } = await call(server, path, {
            token: null, body: '{}', headers: { 'Stripe-Signature': 't=1', 'User-Agent': 'sender', 'Content-Type': 'a/b' },
        });
        assert.equal(status, 200, JSON.stringify(body));
        const delivery = await door.of(body.messageId);
        assert.equal(delivery.path, '/hook?a=1&b=%2F');
        assert.equal(delivery.headers['x-q'], 'a b');
        assert.equal(delivery.headers['stripe-signature'], 't=1');
        assert.equal(delivery.headers['content-type'], 'a/b');
        const stored = await row(server, body.messageId);
        assert.deepEqual([stored.retries, stored.retry_delay], [5, '1000 + retried']);
        assert.ok(!JSON.stringify(stored).includes(DEV_TOKEN), 'the token is nowhere');
        // our own token is not the destination's business
        const second = await call(server, `publish/${door.url}/second`, {
            headers: { 'Upstash-Header-Forward': 'true', 'X-Own': '1', Connection: 'close, X-Hop', 'X-Hop': '1' },
        });
        const { headers } = await door.of(second.body.messageId);
        assert.deepEqual([headers['x-own'], headers.authorization, headers['x-hop']], ['1', undefined, undefined]);
    });

    test('Q9 mangled destinations are mended', async (t) => {
        const server = await start(t, store);
        for (const [path, url] of [
            ['publish/https:/example.com/a?b=c', 'https://example.com/a?b=c'],
            ['publish/https%3A%2F%2Fexample.com%2Fa%3Fb%3Dc', 'https://example.com/a?b=c'],
            ['publish/http:/example.com', 'http://example.com'],
            ['enqueue/q/https%3A%2F%2Fexample.com%2F', 'https://example.com/'],
            ['Publish/https://example.com/x/', 'https://example.com/x/'],
        ]) {
            const { status, body } = await call(server, path, { headers: { 'Upstash-Delay': '1h' } });
            assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
            assert.equal((await row(server, body.messageId)).url, url);
        }
    });

    // --- the same one again ---

    test('Q9 T3 a message with the id of another one within the window is that one', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_QSTASH_DEDUP_MS: '60000' } });
        const client = sdk(server);
        const door = await catcher(t);
        const say = (options) => client.publish({ url: `${door.url}/d`, body: 'x', ...options });
        const first = await say({ deduplicationId: 'order-1' });
        const again = await say({ deduplicationId: 'order-1', body: 'y', url: 'https://example.com', label: 'gated' });
        assert.deepEqual(first, { messageId: first.messageId });
        assert.deepEqual(again, { messageId: first.messageId, deduplicated: true });
        const other = await say({ deduplicationId: 'order-2' });
        assert.notEqual(other.messageId, first.messageId);
        const raw = await call(server, `publish/${door.url}`, { headers: { 'Upstash-Deduplication-Id': 'order-1' } });
        assert.equal(raw.status, 202);
        const queued = await client.queue({ queueName: 'q' }).enqueue({ url: door.url, deduplicationId: 'order-1' });
        assert.equal(queued.messageId, first.messageId, 'an id counts in the whole account');
        await say({ deduplicationId: '' });
        await say({ deduplicationId: '' });

        const content = { contentBasedDeduplication: true, headers: { 'x-a': '1', 'x-b': '2' } };
        const one = await say(content);
        assert.deepEqual(await say({ ...content, retries: 1, headers: { 'x-b': '2', 'x-a': '1' } }), { ...one, deduplicated: true });
        for (const change of [{ body: 'z' }, { headers: { 'x-a': '1' } }, { url: `${door.url}/e` }])
            assert.equal((await say({ ...content, ...change })).deduplicated, undefined, JSON.stringify(change));

        await until('all came', () => door.length === 8);
        await server.advance(61_000);
        const later = await say({ deduplicationId: 'order-1' });
        assert.equal(later.deduplicated, undefined, 'the window is over');
        assert.notEqual(later.messageId, first.messageId);
        assert.equal(await server.db.count('qstash_messages'), 9);
        await recount(server.db);
    });

    test('Q9 of a group each member has its own claim', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const group = (urls) => client.urlGroups.addEndpoints({ name: 'g', endpoints: urls.map((url) => ({ url })) });
        await group(['https://example.com/1']);
        const say = () => client.publish({ urlGroup: 'g', body: 'x', deduplicationId: 'once', ...LATER });
        const [first] = await say();
        await group(['https://example.com/2']);
        const second = await say();
        assert.deepEqual(second[0], { ...first, deduplicated: true });
        assert.equal(second[1].deduplicated, undefined);
        const all = await call(server, 'publish/g', { headers: { 'Upstash-Deduplication-Id': 'once' } });
        assert.equal(all.status, 202);
        assert.ok(all.body.every(({ deduplicated }) => deduplicated));
        assert.equal(await server.db.count('qstash_messages'), 2);
    });

    test('Q9 1,000 equal ids at once are one message', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await catcher(t);
        const queue = client.queue({ queueName: 'q' });
        for (const say of [
            () => client.publish({ url: `${door.url}/plain`, body: 'x', deduplicationId: 'plain' }),
            (i) => queue.enqueue({ url: `${door.url}/${i}`, deduplicationId: 'gated', label: `l${i}` }),
        ]) {
            const before = door.length;
            const answers = await Promise.all(Array.from({ length: 1000 }, (_, i) => say(i)));
            assert.equal(new Set(answers.map(({ messageId }) => messageId)).size, 1);
            assert.equal(answers.filter(({ deduplicated }) => !deduplicated).length, 1);
            await door.of(answers[0].messageId);
            assert.equal(door.length, before + 1);
        }
        assert.equal(await server.db.count('qstash_messages'), 2);
        assert.equal(await server.db.count('qstash_labels', 'dead = 0'), await server.db.count('qstash_live', 'queue_id IS NOT NULL'));
        await recount(server.db);
    });

    // --- batches ---

    test('Q9 T3 a batch is answered item by item, in order', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await catcher(t);
        await client.urlGroups.addEndpoints({ name: 'g', endpoints: [{ url: `${door.url}/g1` }, { url: `${door.url}/g2` }] });
        const answers = await client.batchJSON([
            { url: `${door.url}/0`, body: { n: 0 }, headers: { 'x-n': '0' } },
            { url: `${door.url}/1`, body: { n: 1 }, queueName: 'q', label: ['a', 'b'] },
            { urlGroup: 'g', body: { n: 2 } },
            { urlGroup: 'nobody', body: { n: 3 } },
            { url: 'ftp://example.com', body: { n: 4 } },
            { url: `${door.url}/5`, body: { n: 5 }, deduplicationId: 'same' },
            { url: `${door.url}/6`, body: { n: 6 }, deduplicationId: 'same' },
            { url: `${door.url}/7`, body: { n: 7 }, retries: -1 },
            { url: `${door.url}/8`, body: { n: 8 }, flowControl: { key: 'k', parallelism: 1 } },
        ]);
        assert.equal(answers.length, 9);
        assert.match(answers[0].messageId, ID);
        assert.deepEqual(answers[2].map(({ url }) => url), [`${door.url}/g1`, `${door.url}/g2`]);
        assert.match(answers[3].error, /group not found/);
        assert.equal(answers[4].error, 'invalid destination url: endpoint has invalid scheme, add http:// or https://');
        assert.deepEqual(answers[6], { messageId: answers[5].messageId, deduplicated: true });
        assert.match(answers[7].error, /upstash-retries/i);
        for (const [i, n] of [[0, 0], [1, 1], [5, 5], [8, 8]]) {
            const delivery = await door.of(answers[i].messageId);
            assert.equal(delivery.path, `/${i}`);
            assert.deepEqual(JSON.parse(delivery.body), { n });
            assert.equal(delivery.headers['content-type'], 'application/json');
        }
        for (const { messageId } of answers[2]) await door.of(messageId);
        assert.equal((await row(server, answers[1].messageId)).queue, 'q');
        assert.equal(await server.db.count('qstash_messages'), 6);
        assert.deepEqual(await client.batch([]), []);
        await recount(server.db);
    });

    test('Q9 a batch of 1,000 goes out whole, bad ones aside, and in order through a queue', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const items = Array.from({ length: 1000 }, (_, i) => ({
            url: i % 7 === 3 ? 'nonsense://x' : `https://example.com/${i}`, body: `body ${i}`, ...LATER,
            ...(i % 5 === 0 && { queueName: `q${i % 3}`, flowControl: { key: `f${i % 4}`, rate: 1 } }),
            ...(i % 11 === 0 && { deduplicationId: `d${i % 22}` }),
        }));
        const answers = await client.batch(items);
        assert.equal(answers.length, 1000);
        const seen = new Map();
        for (const [i, answer] of answers.entries()) {
            if (i % 7 === 3) {
                assert.match(answer.error, /invalid scheme/);
                continue;
            }
            assert.match(answer.messageId, ID, `item ${i}`);
            const key = items[i].deduplicationId;
            assert.equal(Boolean(answer.deduplicated), Boolean(key && seen.has(key)), `item ${i}`);
            if (key && seen.has(key)) assert.equal(answer.messageId, seen.get(key));
            else if (key) seen.set(key, answer.messageId);
        }
        const fresh = answers.filter(({ messageId, deduplicated }) => messageId && !deduplicated);
        assert.equal(await server.db.count('qstash_messages'), fresh.length);
        assert.equal(await server.db.count('qstash_live'), fresh.length);
        // in each queue they stand in the order of the batch
        const rows = await server.db.all(`SELECT m.url AS url, l.queue_id AS queue FROM qstash_live l
            JOIN qstash_messages m ON m.id = l.id WHERE l.queue_id IS NOT NULL ORDER BY l.seq`);
        const last = new Map();
        for (const { url, queue } of rows) {
            const n = Number(url.split('/').pop());
            assert.ok(n > (last.get(queue) ?? -1), `${n} in queue ${queue}`);
            last.set(queue, n);
        }
        await recount(server.db);
    });

    test('Q9 batches that want the same queues, keys and ids in another order do not wait for each other', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const items = Array.from({ length: 40 }, (_, i) => ({
            url: `https://example.com/${i}`, ...LATER, queueName: `q${i % 5}`, deduplicationId: `d${i}`,
            flowControl: { key: `f${i % 7}`, parallelism: 1 },
        }));
        const turned = (list, by) => [...list.slice(by), ...list.slice(0, by)];
        const batches = Array.from({ length: 16 }, (_, i) => turned(i % 2 ? items : [...items].reverse(), i * 3));
        const all = await Promise.all(batches.map((list) => client.batch(list)));
        const ids = new Map();
        for (const [b, answers] of all.entries())
            for (const [i, { messageId, error }] of answers.entries()) {
                assert.equal(error, undefined);
                const key = batches[b][i].deduplicationId;
                assert.equal(messageId, ids.get(key) ?? messageId);
                ids.set(key, messageId);
            }
        assert.equal(await server.db.count('qstash_messages'), 40);
        assert.ok(!/deadlock/i.test(server.stderr), 'nor does the database have to part them');
        await recount(server.db);
    });

    test('Q9 a large batch: 16 MB of text, a body of 1 MB and one that is over it', async (t) => {
        const server = await start(t, store);
        const big = 'b'.repeat(1024 * 1024);
        const items = [
            ...Array.from({ length: 14 }, (_, i) => ({ destination: `https://example.com/${i}`, body: big, headers: { 'upstash-delay': '1h' } })),
            { destination: 'https://example.com/over', body: `${big}b`, headers: { 'upstash-delay': '1h' } },
        ];
        const { status, body } = await call(server, 'batch', { body: JSON.stringify(items) });
        assert.equal(status, 200);
        assert.equal(body.filter(({ messageId }) => messageId).length, 14);
        assert.match(body[14].error, /larger than 1048576 bytes/);
        assert.equal((await row(server, body[13].messageId)).body.length, 2 * 1024 * 1024);
        const over = await call(server, 'batch', { body: JSON.stringify([...items, ...items]) }).catch(() => ({ status: 413 }));
        assert.equal(over.status, 413);
        assert.equal(await server.db.count('qstash_messages'), 14);
    });

    test('Q9 when the store fails within a batch, what was stored is answered and the rest says why', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_FAULTS: 'qstash.batch=full@3-1000' } });
        const client = sdk(server);
        const items = Array.from({ length: 300 }, (_, i) => ({ url: i === 1 || i === 129 ? 'x://y' : `https://example.com/${i}`, ...LATER }));
        const answers = await client.batch(items);
        assert.equal(answers.length, 300);
        for (const [i, { messageId, error }] of answers.entries()) {
            if (i === 1 || i === 129) assert.match(error, /invalid scheme/);
            else if (i < 128) assert.match(messageId, ID, `item ${i}`);
            else assert.match(error, /disk is full/, `item ${i}`);
        }
        assert.equal(await server.db.count('qstash_messages'), 127);
        const none = await call(server, 'batch', { body: JSON.stringify([{ destination: 'https://example.com' }]) });
        assert.equal(none.status, 503, 'nothing was stored at all');
        assert.match(none.body.error, /disk is full/);
        assert.equal(await server.db.count('qstash_messages'), 127);
    });

    test('Q9 large bodies for a group are stored some at a time; where that fails, each member is told', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_FAULTS: 'qstash.group=full@5-6' } });
        const client = sdk(server);
        const endpoints = Array.from({ length: 10 }, (_, i) => ({ url: `https://example.com/${i}` }));
        await client.urlGroups.addEndpoints({ name: 'g', endpoints });
        const message = { urlGroup: 'g', body: 'x'.repeat(1000 * 1000), ...LATER };
        const answers = await client.publish(message); // three units: 4, 4 and 2
        assert.deepEqual(answers.map(({ url }) => url), endpoints.map(({ url }) => url));
        assert.equal(new Set(answers.map(({ messageId }) => messageId)).size, 10);
        for (const [i, { messageId }] of answers.entries()) {
            const { url, topic, body } = await row(server, messageId);
            assert.deepEqual([url, topic, body.length], [endpoints[i].url, 'g', 2 * 1000 * 1000]); // in hex
        }
        const check = async (some) => {
            for (const [i, { messageId, error, url }] of some.entries()) {
                assert.equal(url, endpoints[i].url);
                if (i < 4) await row(server, messageId);
                else assert.match(error, /disk is full/);
            }
        };
        await check(await client.publish(message)); // its second one fails
        assert.equal(await server.db.count('qstash_messages'), 14);
        await assert.rejects(client.publish(message), { status: 503 }, 'nothing of it is stored');
        assert.equal(await server.db.count('qstash_messages'), 14);
        await recount(server.db);
    });

    test('Q9 a group within a batch is cut in the same way', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_FAULTS: 'qstash.group=full@5' } });
        const client = sdk(server);
        const endpoints = Array.from({ length: 10 }, (_, i) => ({ url: `https://example.com/${i}` }));
        await client.urlGroups.addEndpoints({ name: 'g', endpoints });
        const body = 'x'.repeat(1000 * 1000);
        const whole = { urlGroup: 'g', body, ...LATER }, one = { url: 'https://example.com/one', ...LATER };
        const [first, second] = await client.batch([whole, one]);
        assert.deepEqual(first.map(({ url }) => url), endpoints.map(({ url }) => url));
        for (const { messageId } of [...first, second]) await row(server, messageId);
        const [before, part, behind] = await client.batch([one, whole, one]);
        await row(server, before.messageId);
        assert.deepEqual(part.map(({ messageId }) => ID.test(messageId)), endpoints.map((_, i) => i < 4));
        assert.ok(part.slice(4).every(({ error, url }) => /disk is full/.test(error) && url));
        assert.match(behind.error, /disk is full/);
        assert.equal(await server.db.count('qstash_messages'), 16);
    });

    test('Q9 a batch whose answer would be too long ends with errors, and what was answered is stored', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const endpoints = Array.from({ length: 100 }, (_, i) => ({ url: `https://example.com/${'u'.repeat(2000)}/${i}` }));
        await client.urlGroups.addEndpoints({ name: 'g', endpoints });
        const answers = await client.batch(Array.from({ length: 100 }, () => ({ urlGroup: 'g', ...LATER })));
        const taken = answers.filter(Array.isArray);
        assert.ok(taken.length > 50 && taken.length < 100, `${taken.length}`);
        assert.ok(answers.slice(taken.length).every(({ error }) => /too many messages/.test(error)));
        assert.equal(await server.db.count('qstash_messages'), taken.length * 100);
    });

    test('Q9 a cron on publish makes a schedule, as it did before schedules had a path', async (t) => {
        const server = await start(t, store);
        const { status, body } = await call(server, 'publish/https://example.com/x', { headers: { 'Upstash-Cron': '0 9 * * 1' } });
        assert.equal(status, 200, JSON.stringify(body));
        const schedule = await sdk(server).schedules.get(body.scheduleId);
        assert.deepEqual([schedule.cron, schedule.destination], ['0 9 * * 1', 'https://example.com/x']);
        assert.equal(await server.db.count('qstash_live'), 0);
    });

    // --- bad input ---

    test('Q9 bad input is a 400 with words and leaves nothing behind', async (t) => {
        const server = await start(t, store);
        const at = (headers, path = 'publish/https://example.com/') => [path, { headers }];
        const rows = [
            [400, /invalid scheme, add http/, 'publish/ftp://example.com'],
            [400, /invalid scheme, add http/, 'publish/no%20name'],
            [400, /no host/, 'publish/https://'],
            [400, /port/, 'publish/https://example.com:99999/'],
            [400, /not a name/, 'publish/https://exa%6dple.com/'],
            [400, /IPv6/, 'publish/https://[::zz]/'],
            [400, /control characters/, 'publish/https%3A%2F%2Fexample.com%2F%20'],
            [400, /not offered/, 'publish/api/llm'],
            [404, /group nobody not found/, 'publish/nobody'],
            [400, /queue's name/, 'enqueue/a%20b/https://example.com'],
            [404, /nobody/, 'enqueue/q/nobody'],
            [400, /upstash-method/, ...at({ 'upstash-method': 'TRACE' })],
            [400, /upstash-delay/, ...at({ 'upstash-delay': 'soon' })],
            [400, /upstash-delay is longer/, ...at({ 'upstash-delay': '400d' })],
            [400, /seconds since 1970/, ...at({ 'upstash-not-before': 'x' })],
            [400, /days ahead/, ...at({ 'upstash-not-before': String(Date.now()) })],
            [400, /upstash-retries/, ...at({ 'upstash-retries': 'x' })],
            [400, /no expression/, ...at({ 'upstash-retry-delay': '1 +' })],
            [400, /upstash-timeout/, ...at({ 'upstash-timeout': '3h' })],
            [400, /invalid callback url/, ...at({ 'upstash-callback': 'x' })],
            [400, /invalid failure callback url/, ...at({ 'upstash-failure-callback': 'x' })],
            [400, /cannot be delayed/, ...at({ 'upstash-callback': 'https://example.com', 'upstash-callback-delay': '1s' })],
            [400, /DeduplicationId cannot contain ':'/, ...at({ 'upstash-deduplication-id': 'a:b' })],
            [400, /true or false/, ...at({ 'upstash-content-based-deduplication': 'maybe' })],
            [400, /Flow-Control-Value must be/, ...at({ 'upstash-flow-control-key': 'k' })],
            [400, /needs an Upstash-Flow-Control-Key/, ...at({ 'upstash-flow-control-value': 'rate=1' })],
            [400, /20 labels/, ...at({ 'upstash-label': Array.from({ length: 21 }, (_, i) => i).join() })],
            [400, /redact-fields/, ...at({ 'upstash-redact-fields': 'password' })],
            [400, /workflows/, ...at({ 'upstash-workflow-runid': '1' })],
            [400, /workflows/, ...at({ 'upstash-feature-set': 'InitialBody' })],
            [400, /invalid cron/, ...at({ 'upstash-cron': '* * *' })],
            [400, /named by Upstash-Queue-Name/, ...at({ 'upstash-cron': '* * * * *' }, 'enqueue/q/https://example.com')],
            [400, /control character/, 'publish/https://example.com/?upstash-forward-x=a%0d%0aEvil:%201'],
            [400, /no header/, 'publish/https://example.com/?upstash-forward-x%0d%0aEvil=1'],
            [400, /percent-encoding/, 'publish/https://example.com/?upstash-label=%zz'],
            [400, /given twice/, 'publish/https://example.com/?upstash-retries=1&upstash-retries=2'],
            [400, /array of items/, 'batch', { body: '{}' }],
            [400, /array of items/, 'batch', { body: '' }],
            [400, /at byte 34/, 'batch', { body: '[{"destination":"https://a.com"}, ?]' }],
            [400, /too many items/, 'batch', { body: `[${'{},'.repeat(10000)}{}]` }],
            [401, /token/, 'publish/https://example.com', { token: 'wrong' }],
            [401, /token/, 'publish/https://example.com', { token: null }],
            [401, /token/, 'batch', { token: null, body: '[]' }],
        ];
        const before = await amounts(server);
        for (const [status, words, path, options] of rows) {
            const answer = await call(server, path, options);
            assert.equal(answer.status, status, `${path} ${JSON.stringify(options ?? {}).slice(0, 200)}: ${JSON.stringify(answer.body)}`);
            assert.match(answer.body.error, words);
            assert.equal(answer.type, 'application/json');
        }
        const items = [null, 1, {}, { destination: 7 }, { destination: NOWHERE, body: { 0: 1 } }, { destination: NOWHERE, headers: [] },
            { destination: NOWHERE, queue: 'a b' }, { destination: NOWHERE, headers: { 'upstash-forward-x': 'a\r\nb' } },
            { destination: NOWHERE, headers: { 'upstash-cron': '* * * * *' } }, { destination: 'nobody' }];
        const { status, body } = await call(server, 'batch', { body: JSON.stringify(items) });
        assert.equal(status, 200);
        assert.ok(body.length === items.length && body.every(({ error }) => error), JSON.stringify(body));
        assert.deepEqual(await amounts(server), before);
    });

    test('Q9 a body over 1 MB is refused, one of 1 MB is not', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const body = Buffer.alloc(1024 * 1024, 'x');
        const { messageId } = await client.publish({ url: 'https://example.com', body, ...LATER });
        assert.equal((await row(server, messageId)).body.length, 2 * body.length);
        await assert.rejects(client.publish({ url: 'https://example.com', body: Buffer.alloc(body.length + 1) }));
        assert.equal(await server.db.count('qstash_messages'), 1);
    });

    test('Q10 with the guard on, private addresses are refused at publish, for callbacks, and in a batch', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_QSTASH_PRIVATE: 'off' } });
        const before = await amounts(server);
        for (const host of ['127.0.0.1:80', 'localhost', '[::1]', '10.0.0.1', '169.254.169.254', '0x7f000001', '2130706433',
            '[::ffff:192.168.0.1]', 'a.localhost.']) {
            const direct = await call(server, `publish/http://${host}/x`);
            assert.equal(direct.status, 400, host);
            assert.match(direct.body.error, /forbidden destination/);
            const callback = await call(server, 'publish/https://example.com', { headers: { 'Upstash-Callback': `http://${host}/` } });
            assert.match(callback.body.error, /invalid callback url: forbidden destination/, host);
            const batch = await call(server, 'batch', { body: JSON.stringify([{ destination: `http://${host}/` }]) });
            assert.match(batch.body[0].error, /forbidden destination/, host);
        }
        assert.deepEqual(await amounts(server), before);
        assert.equal((await call(server, 'publish/https://example.com', { headers: { 'Upstash-Delay': '1h' } })).status, 200);
    });

    test('Q1 Q9 what was answered survives kill -9, with its claim', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => client.publish({
            url: 'https://example.com/x', body: `${i}`, deduplicationId: `d${i}`, ...LATER, ...(i % 3 === 0 && { label: 'l' }),
        })));
        await server.kill();
        const next = await start(t, store, { db: server.db });
        const again = await Promise.all(answers.map((_, i) => sdk(next).publish({ url: 'https://example.com/x', deduplicationId: `d${i}` })));
        assert.deepEqual(again, answers.map(({ messageId }) => ({ messageId, deduplicated: true })));
        assert.equal(await next.db.count('qstash_live'), 200);
    });
});
