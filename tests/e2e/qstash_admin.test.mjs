// Queues, URL groups, flow keys and signing keys through the unmodified SDK: what it is told, what changes for
// those that wait, and that a wrong call changes nothing (Q9 Q10 T3).
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { assert, forEachStore, fresh, pause, start, test, until } from './lib/harness.mjs';
import { claims, devKeys, gatekeeper, receive, recount, sdk, verify } from './lib/receiver.mjs';
import { stores } from './lib/stores.mjs';
import { DEV_TOKEN } from './lib/upstash.mjs';

const run = promisify(execFile);
const postgres = stores.find((store) => store.kind === 'postgres');

// A call without the SDK; a JSON answer.
async function call(server, method, path, body, headers = {}) {
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await server.request({
        method, path: `/v2/${path}`,
        headers: {
            Authorization: `Bearer ${DEV_TOKEN}`,
            ...(text !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
            ...headers,
        },
    }, text);
    assert.equal(answer.headers['content-type'], 'application/json', answer.text);
    return { status: answer.status, body: JSON.parse(answer.text) };
}

// Rows of [why, method, path, body, status, words]: each refused, and nothing of `tables` changes.
async function refusals(server, tables, rows) {
    const look = async () => Object.fromEntries(await Promise.all(
        tables.map(async (name) => [name, await server.db.table(name)])));
    const before = await look();
    for (const [why, method, path, body, status, words] of rows) {
        const answer = await call(server, method, path, body);
        assert.equal(answer.status, status, `${why}: ${JSON.stringify(answer)}`);
        assert.match(answer.body.error, words, why);
    }
    assert.deepEqual(await look(), before);
}

forEachStore((store, test) => {
    // --- queues ---

    test('Q9 T3 queues: upsert, get, list, pause, resume, delete', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const queue = client.queue({ queueName: 'orders.eu-1_a' });
        const before = Date.now();
        await queue.upsert({ parallelism: 3 });
        const made = await queue.get();
        assert.deepEqual({ ...made, createdAt: 0, updatedAt: 0 }, {
            name: 'orders.eu-1_a', parallelism: 3, paused: false, lag: 0, createdAt: 0, updatedAt: 0,
        });
        assert.ok(made.createdAt >= before - 5 && made.createdAt <= Date.now() + 5, 'milliseconds');
        await queue.pause();
        await queue.pause();
        assert.equal((await queue.get()).paused, true);
        await queue.resume();
        assert.equal((await queue.get()).paused, false);
        await queue.upsert({ paused: true }); // without parallelism it is 1 again, as with the vendor
        const changed = await queue.get();
        assert.deepEqual([changed.paused, changed.parallelism, changed.createdAt], [true, 1, made.createdAt]);
        assert.ok(changed.updatedAt >= made.updatedAt);
        await client.queue({ queueName: 'second' }).upsert({ parallelism: 1 });
        assert.deepEqual((await client.queue().list()).map(({ name }) => name), ['orders.eu-1_a', 'second']);
        await queue.delete();
        await queue.delete(); // it is gone all the same
        assert.deepEqual((await client.queue().list()).map(({ name }) => name), ['second']);
        await assert.rejects(queue.get(), { status: 404 });
    });

    test('Q9 a queue call that is wrong says why and changes nothing', async (t) => {
        const server = await start(t, store);
        await sdk(server).queue({ queueName: 'q' }).upsert({ parallelism: 2 });
        await refusals(server, ['qstash_queues', 'audit'], [
            ['no JSON', 'POST', 'queues', '{', 400, /invalid JSON/],
            ['no object', 'POST', 'queues', [], 400, /JSON object/],
            ['no name', 'POST', 'queues', { parallelism: 1 }, 400, /queueName/],
            ['a name of another kind', 'POST', 'queues', { queueName: 7 }, 400, /queueName/],
            ['a blank in the name', 'POST', 'queues', { queueName: 'a b' }, 400, /queueName/],
            ['a long name', 'POST', 'queues', { queueName: 'n'.repeat(256) }, 400, /queueName/],
            ['parallelism 0', 'POST', 'queues', { queueName: 'q', parallelism: 0 }, 400, /parallelism/],
            ['parallelism below 0', 'POST', 'queues', { queueName: 'q', parallelism: -1 }, 400, /parallelism/],
            ['a fraction', 'POST', 'queues', { queueName: 'q', parallelism: 1.5 }, 400, /parallelism/],
            ['a text', 'POST', 'queues', { queueName: 'q', parallelism: '2' }, 400, /parallelism/],
            ['too many', 'POST', 'queues', { queueName: 'q', parallelism: 1001 }, 412, /1000/],
            ['paused is no flag', 'POST', 'queues', { queueName: 'q', paused: 'yes' }, 400, /paused/],
            ['get: unknown', 'GET', 'queues/nobody', undefined, 404, /nobody/],
            ['get: no name', 'GET', 'queues/a%20b', undefined, 400, /queue name/],
            ['pause: unknown', 'POST', 'queues/nobody/pause', undefined, 404, /nobody/],
            ['resume: unknown', 'POST', 'queues/nobody/resume', undefined, 404, /nobody/],
        ]);
    });

    test('Q9 more parallelism lets those go that wait, in their order; less is kept to', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await gatekeeper(t);
        const queue = client.queue({ queueName: 'q' });
        for (let i = 0; i < 8; i++) await queue.enqueue({ url: `${door.url}/${i}`, retries: 0 });
        await door.came(1);
        assert.equal((await queue.get()).lag, 8);
        await queue.upsert({ parallelism: 4 });
        await door.came(4);
        assert.deepEqual(door.map(({ path }) => path).sort(), ['/0', '/1', '/2', '/3']);
        await queue.upsert({ parallelism: 2 });
        door.release(2); // four were under way: two are left, which is what may be
        await until('two have ended', async () => (await queue.get()).lag === 6);
        assert.equal(door.length, 4);
        door.release(1);
        await door.came(5);
        assert.equal(door.at(-1).path, '/4');
        for (let left = 5; left > 0; left--) {
            await until('somebody knocks', () => door.held());
            door.release(1);
        }
        await until('all have ended', async () => (await queue.get()).lag === 0);
        await recount(server.db);
    });

    test('Q9 a paused queue takes in and lets nobody out; what is under way ends', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await gatekeeper(t);
        const queue = client.queue({ queueName: 'q' });
        await queue.enqueue({ url: `${door.url}/first` });
        await door.came(1);
        await queue.pause();
        await queue.enqueue({ url: `${door.url}/second` });
        door.release();
        await until('the first has ended', async () => (await queue.get()).lag === 1);
        assert.equal((await server.db.table('qstash_live'))[0].place, 1, 'it waits at the gate');
        assert.equal(await server.db.count('message', `kind = 'qstash.deliver'`), 0, 'and nobody looks for it');
        await queue.resume();
        await door.came(2);
        door.release();
        await until('both have ended', async () => (await queue.get()).lag === 0);
        await recount(server.db);
    });

    test('Q9 a deleted queue cancels what waits; the next enqueue makes a new one', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await gatekeeper(t);
        const queue = client.queue({ queueName: 'q' });
        await queue.upsert({ parallelism: 1 });
        const ids = [];
        for (let i = 0; i < 5; i++)
            ids.push((await queue.enqueue({ url: `${door.url}/old`, retries: 3 })).messageId);
        await door.came(1);
        await queue.delete();
        await assert.rejects(queue.get(), { status: 404 });
        await queue.enqueue({ url: `${door.url}/new` });
        await door.came(2); // it does not wait for the old one's head
        assert.equal(door.at(-1).path, '/new');
        assert.equal((await queue.get()).lag, 1);
        await until('those that waited are cancelled', async () => await server.db.count('qstash_live') === 2);
        door.release(1, 500); // the one under way: its attempt ends, no other follows
        await until('it has ended', async () => await server.db.count('qstash_live') === 1);
        const states = async (id) => (await client.logs({ filter: { messageId: id } })).logs.map(({ state }) => state);
        assert.equal((await states(ids[0]))[0], 'CANCELED');
        assert.deepEqual(await states(ids[4]), ['CANCELED', 'CANCEL_REQUESTED', 'CREATED']);
        door.release();
        await server.advance(2000);
        await until('the old row is gone', async () => await server.db.count('qstash_queues') === 1);
        assert.equal(door.filter(({ path }) => path === '/old').length, 1);
        await recount(server.db);
    });

    test('Q9 a deleted queue leaves the callbacks of what was delivered alone', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        let status = 500;
        const door = await receive(t);
        const back = await receive(t, () => status);
        const queue = client.queue({ queueName: 'q' });
        await queue.enqueue({ url: door.url, callback: back.url, retries: 3 });
        await back.came(1);
        await queue.enqueue({ url: `${door.url}/waits` });
        await until('its first try has failed', async () => await server.db.count('qstash_log', 'state = 3') === 1);
        await queue.delete();
        await until('who waited is cancelled', async () => await server.db.count('qstash_live') === 1);
        assert.equal(await server.db.count('qstash_live', 'cancel = 0 AND counts = 0'), 1);
        await recount(server.db);
        await until('nobody looks for its end', async () => await server.db.count('message', `kind = 'qstash.sweep'`) === 0);
        assert.equal(await server.db.count('qstash_queues'), 1);
        status = 200;
        await server.advance(60_000);
        await back.came(2);
        await until('its row goes with it', async () => await server.db.count('qstash_queues') === 0);
        assert.equal(await server.db.count('qstash_live'), 0);
        assert.deepEqual(door.map(({ path }) => path), ['/']);
    });

    test('Q9 one queue too many is refused wherever it would come from, and nothing is stored', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, () => 500);
        const url = 'https://example.test/';
        await client.queue({ queueName: 'dies' }).enqueue({ url: door.url, retries: 0 });
        await until('it is dead', async () => await server.db.count('qstash_dead') === 1);
        await client.queue({ queueName: 'dies' }).delete();
        await until('its queue is gone', async () => await server.db.count('qstash_queues') === 0);
        await client.urlGroups.addEndpoints({ name: 'g', endpoints: [{ url }, { url: `${url}2` }] });
        await server.db.all(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
            INSERT INTO qstash_queues (name, parallelism, created_at, updated_at) SELECT 'q-' || i, 1, 1, 1 FROM n`);
        await client.queue({ queueName: 'the-last' }).enqueue({ url, delay: 86400 });
        const full = /10000 queues already/;
        const tables = ['qstash_messages', 'qstash_live', 'qstash_log', 'qstash_queues', 'qstash_dedup', 'qstash_dead', 'message'];
        const amounts = () => Promise.all(tables.map((name) => server.db.count(name)));
        const before = await amounts();
        const refused = async (doing) => assert.rejects(doing, (error) => error.status === 412 && full.test(error.message));
        const one = client.queue({ queueName: 'one-more' });
        await refused(one.upsert({ parallelism: 1 }));
        await refused(one.enqueue({ url }));
        await refused(one.enqueue({ url, deduplicationId: 'x' }));
        await refused(one.enqueue({ urlGroup: 'g' }));
        await refused(client.publish({ url, headers: { 'Upstash-Queue-Name': 'one-more' } }));
        await refused(client.dlq.retry({ all: true, count: 5 }));
        const operator = await server.call('POST', '/api/v1/admin/dlq/retry', { as: 'admin', body: { all: true } });
        assert.deepEqual([operator.status, operator.body.refused], [200, 1]);
        assert.match(operator.body.refusals[0].reason, full);
        const [bad, group] = await client.batch([{ url, queueName: 'one-more' }, { urlGroup: 'g', queueName: 'one-more' }]);
        assert.match(bad.error, full);
        assert.match(group.error, full);
        assert.deepEqual(await amounts(), before);
        await client.queue({ queueName: 'q-7' }).enqueue({ url, delay: 86400 }); // those that are there take in as ever
        await client.queue({ queueName: 'q-7' }).delete();
        await one.enqueue({ url, delay: 86400 });
        await recount(server.db);
    });

    // --- URL groups ---

    test('Q9 T3 url groups: endpoints are added, updated in place, removed by url or name', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const groups = client.urlGroups;
        const at = (path, name) => ({ ...(name && { name }), url: `https://example.test/${path}` });
        await groups.addEndpoints({ name: 'g', endpoints: [at('a', 'one'), at('b')] });
        const made = await groups.get('g');
        assert.deepEqual(made.endpoints, [at('a', 'one'), at('b')]);
        assert.deepEqual([made.name, typeof made.createdAt, typeof made.updatedAt], ['g', 'number', 'number']);
        await groups.addEndpoints({ name: 'g', endpoints: [at('b', 'two'), at('c', 'one'), at('d')] });
        assert.deepEqual((await groups.get('g')).endpoints, [at('c', 'one'), at('b', 'two'), at('d')]);
        await groups.addEndpoints({ name: 'other', endpoints: [at('x')] });
        assert.deepEqual((await groups.list()).map(({ name, endpoints }) => [name, endpoints.length]), [['g', 3], ['other', 1]]);
        await groups.removeEndpoints({ name: 'g', endpoints: [{ name: 'two' }, { url: at('d').url }] });
        assert.deepEqual((await groups.get('g')).endpoints, [at('c', 'one')]);
        assert.equal((await groups.get('g')).createdAt, made.createdAt);
        await groups.removeEndpoints({ name: 'g', endpoints: [{ name: 'one' }] });
        await assert.rejects(groups.get('g'), { status: 404 }); // the last one took it along
        await groups.removeEndpoints({ name: 'g', endpoints: [{ name: 'one' }] });
        await groups.delete('other');
        await groups.delete('other');
        assert.deepEqual(await groups.list(), []);
    });

    test('Q9 a publish to a group goes to who is in it at that moment', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const got = await receive(t);
        const endpoints = [{ url: `${got.url}/a`, name: 'first' }, { url: `${got.url}/b` }];
        await client.urlGroups.addEndpoints({ name: 'g', endpoints });
        const answers = await client.publish({ urlGroup: 'g', body: 'x' });
        assert.deepEqual(answers.map(({ url }) => url), endpoints.map(({ url }) => url));
        await got.came(2);
        await client.urlGroups.removeEndpoints({ name: 'g', endpoints: [{ name: 'first' }] });
        await client.publish({ urlGroup: 'g', body: 'y' });
        await got.came(3);
        assert.deepEqual(got.map(({ path }) => path).sort(), ['/a', '/b', '/b']);
        assert.ok(got.every(({ headers }) => headers['upstash-topic-name'] === 'g'));
        for (const one of got) await verify(one);
    });

    test('Q9 a group call that is wrong says why and changes nothing', async (t) => {
        const server = await start(t, store);
        const url = 'https://example.test/';
        const many = (n) => Array.from({ length: n }, (_, i) => ({ url: `${url}${i}` }));
        await sdk(server).urlGroups.addEndpoints({ name: 'g', endpoints: many(99) });
        const add = (why, endpoints, status, words) => [why, 'POST', 'topics/g/endpoints', { endpoints }, status, words];
        await refusals(server, ['qstash_groups', 'qstash_endpoints'], [
            ['no JSON', 'POST', 'topics/g/endpoints', 'x', 400, /invalid JSON/],
            ['no list', 'POST', 'topics/g/endpoints', {}, 400, /endpoints/],
            add('an empty list', [], 400, /endpoints/),
            add('a text', ['x'], 400, /endpoints\[0\]/),
            add('no url', [{ url }, { name: 'a' }], 400, /endpoints\[1\] needs a url/),
            add('a url of another kind', [{ url: 5 }], 400, /endpoints\[0\]/),
            add('no scheme', [{ url: 'example.test' }], 400, /endpoints\[0\].*http/),
            add('another scheme', [{ url: 'ftp://example.test' }], 400, /endpoints\[0\].*http/),
            add('a blank in the url', [{ url: 'http://a b/' }], 400, /endpoints\[0\]/),
            add('a long url', [{ url: `${url}${'p'.repeat(2048)}` }], 400, /too long/),
            add('a wrong name', [{ url, name: 'a b' }], 400, /name/),
            add('two more than fit', [{ url: `${url}new` }, { url: `${url}newer` }], 412, /100/),
            add('101 at once', many(101), 412, /100/),
            ['a wrong group name', 'POST', 'topics/a%20b/endpoints', { endpoints: [{ url }] }, 400, /group name/],
            ['remove: neither', 'DELETE', 'topics/g/endpoints', { endpoints: [{}] }, 400, /url or a name/],
            ['get: unknown', 'GET', 'topics/nobody', undefined, 404, /nobody/],
        ]);
        await sdk(server).urlGroups.addEndpoints({ name: 'g', endpoints: [{ url: `${url}new` }] }); // the hundredth
    });

    // --- flow keys ---

    const flowMessage = (client, url, flowControl) => client.publish({ url, body: 'x', retries: 0, flowControl });

    test('Q9 T3 flow keys: get, pin, unpin, pause, resume, reset, list', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await gatekeeper(t);
        const key = 'k 1.ü'; // a blank and a letter that is not ASCII
        await flowMessage(client, door.url, { key, parallelism: 5, rate: 10, period: '1m' });
        await door.came(1);
        const first = await client.flowControl.get(key);
        assert.ok(Math.abs(first.ratePeriodStart - Date.now() / 1000) < 60, 'seconds');
        assert.deepEqual({ ...first, ratePeriodStart: 0 }, {
            flowControlKey: key, waitListSize: 0, parallelismMax: 5, parallelismCount: 1, rateMax: 10, rateCount: 1,
            ratePeriod: 60, ratePeriodStart: 0, isPaused: false, isPinnedParallelism: false, isPinnedRate: false,
        });
        await client.flowControl.pin(key, { parallelism: 3, rate: 20, period: 120 });
        await flowMessage(client, door.url, { key, parallelism: 7, rate: 9 }); // pinned: its words do not count
        await door.came(2);
        const pinned = await client.flowControl.get(key);
        assert.deepEqual([pinned.parallelismMax, pinned.rateMax, pinned.ratePeriod, pinned.rateCount], [3, 20, 120, 1]);
        assert.deepEqual([pinned.isPinnedParallelism, pinned.isPinnedRate], [true, true]);
        await client.flowControl.unpin(key, { parallelism: true });
        const half = await client.flowControl.get(key);
        assert.deepEqual([half.isPinnedParallelism, half.isPinnedRate, half.parallelismMax], [false, true, 3]);
        await client.flowControl.unpin(key, { rate: true });
        await client.flowControl.pause(key);
        await flowMessage(client, door.url, { key, parallelism: 7, rate: 9 });
        await until('it waits', async () => (await client.flowControl.get(key)).waitListSize === 1);
        await client.flowControl.resetRate(key);
        const paused = await client.flowControl.get(key);
        assert.deepEqual([paused.isPaused, paused.rateCount, paused.parallelismMax, paused.rateMax], [true, 0, 7, 9]);
        await client.flowControl.resume(key);
        await door.came(3);
        assert.equal((await client.flowControl.get(key)).isPaused, false);
        door.release();
        await until('all have ended', async () => (await client.flowControl.get(key)).parallelismCount === 0);
        await flowMessage(client, door.url, { key: 'other', parallelism: 1 });
        const found = await call(server, 'GET', 'flowControl?search=the');
        assert.deepEqual(found.body.map(({ flowControlKey }) => flowControlKey), ['other']);
        assert.equal((await call(server, 'GET', 'flowControl')).body.length, 2);
        assert.equal((await client.flowControl.get('other')).rateMax, 0);
        await recount(server.db);
    });

    test('Q9 what an operator allows goes at once: pinned parallelism, a rate that is reset', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await gatekeeper(t);
        for (let i = 0; i < 6; i++) await flowMessage(client, `${door.url}/p`, { key: 'p', parallelism: 1 });
        await door.came(1);
        await client.flowControl.pin('p', { parallelism: 4 });
        await door.came(4);
        await until('four run, and two wait', async () => {
            const p = await client.flowControl.get('p');
            return p.parallelismCount === 4 && p.waitListSize === 2;
        });
        const got = await receive(t);
        for (let i = 0; i < 5; i++) await flowMessage(client, `${got.url}/r`, { key: 'r', rate: 2, period: '1h' });
        await got.came(2);
        await until('three wait', async () => (await client.flowControl.get('r')).waitListSize === 3);
        await client.flowControl.resetRate('r');
        await got.came(4);
        await client.flowControl.pin('r', { rate: 100, period: 3600 });
        await got.came(5);
        assert.ok((await client.flowControl.getGlobalParallelism()).parallelismCount >= 4);
        while (door.length < 6 || door.held()) {
            door.release();
            await pause(5);
        }
        await until('nobody is under way', async () => {
            const { parallelismMax, parallelismCount } = await client.flowControl.getGlobalParallelism();
            return parallelismMax > 0 && parallelismCount === 0;
        });
        await recount(server.db);
    });

    test('Q9 a flow call that is wrong says why and changes nothing', async (t) => {
        const server = await start(t, store);
        const got = await receive(t);
        await flowMessage(sdk(server), got.url, { key: 'k', parallelism: 2 });
        await got.came(1);
        await until('it has ended', async () => await server.db.count('qstash_live') === 0);
        const post = (why, path, status, words) => [why, 'POST', `flowControl/${path}`, undefined, status, words];
        await refusals(server, ['qstash_flows'], [
            ['get: unknown', 'GET', 'flowControl/nobody', undefined, 404, /nobody/],
            ['get: a long key', 'GET', `flowControl/${'k'.repeat(513)}`, undefined, 400, /flow control key/],
            ['list: no text', 'GET', 'flowControl?search=%00', undefined, 400, /search/],
            ['list: not UTF-8', 'GET', 'flowControl?search=%ff', undefined, 400, /search/],
            post('pause: unknown', 'nobody/pause', 404, /nobody/),
            post('resume: unknown', 'nobody/resume', 404, /nobody/),
            post('pin: unknown', 'nobody/pin?rate=1', 404, /nobody/),
            post('pin: nothing', 'k/pin', 400, /what to pin/),
            post('pin: 0', 'k/pin?parallelism=0', 400, /parallelism/),
            post('pin: no number', 'k/pin?rate=two', 400, /rate/),
            post('pin: a fraction', 'k/pin?rate=1.5', 400, /rate/),
            post('pin: only a period', 'k/pin?period=5', 400, /period/),
            post('pin: more than a week', 'k/pin?rate=1&period=604801', 400, /period/),
            post('unpin: nothing', 'k/unpin', 400, /what to unpin/),
            post('unpin: no flag', 'k/unpin?rate=maybe', 400, /rate/),
            post('reset: unknown', 'nobody/resetRate', 404, /nobody/),
        ]);
    });

    // --- keys ---

    test('Q10 deliveries verify before and after a rotation, with the old keys and with the new', async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db });
        const client = sdk(server);
        const got = await receive(t);
        assert.deepEqual((await call(server, 'GET', 'keys')).body, devKeys);
        await client.publishJSON({ url: `${got.url}/before?a=b`, body: { n: 1 } });
        await got.came(1);
        await verify(got[0]);
        const rotated = (await call(server, 'POST', 'keys/rotate')).body;
        assert.equal(rotated.current, devKeys.next);
        assert.match(rotated.next, /^sig_[A-Za-z0-9_-]{32}$/);
        assert.deepEqual((await call(server, 'GET', 'keys')).body, rotated);
        await client.publishJSON({ url: `${got.url}/after`, body: { n: 2 } });
        await got.came(2);
        await verify(got[1]); // a receiver that was not redeployed
        await verify(got[1], rotated); // and one that was
        await assert.rejects(verify(got[1], { current: devKeys.current, next: devKeys.current }));
        const hasty = await call(server, 'POST', 'keys/rotate');
        assert.equal(hasty.status, 409);
        assert.match(hasty.body.error, /force=true/);
        assert.deepEqual((await call(server, 'GET', 'keys')).body, rotated);
        const forced = (await call(server, 'POST', 'keys/rotate?force=true')).body;
        assert.equal(forced.current, rotated.next);
        assert.notEqual(forced.next, forced.current);
        await client.publish({ url: `${got.url}/`, body: 'x' });
        await got.came(3);
        await assert.rejects(verify(got[2])); // both of the old ones are gone: that was the warning
        await verify(got[2], forced);
        await server.advance(3600_000);
        const later = (await call(server, 'POST', 'keys/rotate')).body;
        assert.equal(later.current, forced.next);
        assert.deepEqual((await db.audit(`operation = 'QSTASH_KEYS_ROTATE'`)).length, 3);
        await server.stop();

        const again = await start(t, store, { db }); // the same settings: what was rotated stays
        assert.deepEqual((await call(again, 'GET', 'keys')).body, later);
        await sdk(again).publish({ url: `${got.url}/`, body: 'y' });
        await got.came(4);
        await verify(got[3], later);
        await again.stop();

        const keys = { QSTASH_CURRENT_SIGNING_KEY: 'sig_0123456789abcdef', QSTASH_NEXT_SIGNING_KEY: 'sig_fedcba9876543210' };
        const changed = await start(t, store, { db, env: keys }); // new settings win
        const pair = { current: keys.QSTASH_CURRENT_SIGNING_KEY, next: keys.QSTASH_NEXT_SIGNING_KEY };
        assert.deepEqual((await call(changed, 'GET', 'keys')).body, pair);
        await sdk(changed).publish({ url: `${got.url}/`, body: 'z' });
        await got.came(5);
        await verify(got[4], pair);
    });

    test('Q9 T3 the SDK in dev mode attaches to us and publishes, with nothing else configured', async (t) => {
        const server = await start(t, store);
        const got = await receive(t);
        const script = `
            import { Client, Receiver, startDevServer } from '@upstash/qstash';
            await startDevServer();
            const { messageId } = await new Client().publishJSON({ url: ${JSON.stringify(`${got.url}/dev`)}, body: { hello: 'dev' } });
            console.log('published ' + messageId);`;
        const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
            cwd: import.meta.dirname ?? new URL('.', import.meta.url).pathname, timeout: 30_000,
            env: { PATH: process.env.PATH, QSTASH_DEV: '1', QSTASH_DEV_PORT: String(server.port) },
        });
        assert.match(stdout, /already running/, 'it takes us for its dev server');
        await got.came(1);
        assert.ok(stdout.includes(`published ${got[0].id}`), stdout);
        assert.deepEqual(JSON.parse(got[0].text), { hello: 'dev' });
        await verify(got[0]);
    });
});

if (postgres)
    test('Q10 a rotation on one node is known to the other within a second [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const nodes = [await start(t, postgres, { db }), await start(t, postgres, { db })];
        const got = await receive(t);
        const publish = async (n) => {
            const from = got.length;
            await Promise.all(Array.from({ length: n }, (_, i) => sdk(nodes[i % 2]).publish({ url: `${got.url}/`, body: `${i}` })));
            await got.came(from + n);
            return got.slice(from);
        };
        for (const one of await publish(20)) await verify(one);
        const { body: rotated } = await call(nodes[0], 'POST', 'keys/rotate');
        for (const one of await publish(20)) await verify(one); // whoever signed with which: one of the two it knows
        await pause(1100); // real time: the interval is what is tested
        const after = await publish(40);
        for (const one of after) await verify(one, { current: rotated.current, next: rotated.current });
        assert.deepEqual(await Promise.all(nodes.map(async (node) => (await call(node, 'GET', 'keys')).body)), [rotated, rotated]);
        assert.ok(after.every((one) => claims(one).iss === 'Upstash'));
    });

if (postgres)
    test('Q9 enqueue races delete over two nodes: every message ends, and none in a queue that is gone [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const nodes = [await start(t, postgres, { db }), await start(t, postgres, { db })];
        const got = await receive(t);
        const ids = [];
        const enqueue = async (node) => {
            for (let i = 0; i < 20; i++)
                ids.push((await sdk(node).queue({ queueName: 'q' }).enqueue({ url: `${got.url}/`, body: 'x' })).messageId);
        };
        const remove = async (node) => {
            for (let i = 0; i < 12; i++) await sdk(node).queue({ queueName: 'q' }).delete();
        };
        await Promise.all([...nodes.map(enqueue), ...nodes.map(enqueue), ...nodes.map(remove)]);
        await until('all have ended', async () => {
            await Promise.all(nodes.map((node) => node.advance(1000)));
            return await db.count('qstash_live') === 0 && await db.count('message', `kind = 'qstash.sweep'`) === 0;
        }, 30_000);
        assert.equal(await db.count('qstash_log', 'state IN (5, 8)'), ids.length, 'delivered or cancelled, once each');
        assert.ok(await db.count('qstash_queues') <= 1);
        await recount(db);
    });
