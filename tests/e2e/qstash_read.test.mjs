// The calls that read and clear: messages, logs and the dead letter queue, through the unmodified SDK and past it;
// every filter alone and together, pages, cancelling wherever a message is, redaction, retention (Q6 Q9 T3).
import crypto from 'node:crypto';
import { assert, forEachStore, start, until } from './lib/harness.mjs';
import { gatekeeper, receive, recount, sdk } from './lib/receiver.mjs';
import { DEV_TOKEN } from './lib/upstash.mjs';

const NOWHERE = 'http://127.0.0.1:9';
const NOBODY = `msg_${'0'.repeat(32)}`;
const DAY = 24 * 3600_000;
const sorted = (list) => [...list].sort();
const ids = (list) => sorted(list.map(({ messageId }) => messageId));
const redacted = (value) => `REDACTED:${crypto.createHash('sha256').update(value).digest('hex')}`;

// A call without the SDK.
async function call(server, method, path, { body, headers = {} } = {}) {
    const text = body === undefined ? '' : JSON.stringify(body);
    const answer = await server.request({
        method, path: `/v2/${path}`,
        headers: {
            Authorization: `Bearer ${DEV_TOKEN}`,
            ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
            ...headers,
        },
    }, text);
    return { status: answer.status, body: JSON.parse(answer.text) };
}

// All that these calls may change.
const TABLES = ['qstash_messages', 'qstash_live', 'qstash_log', 'qstash_labels', 'qstash_dead', 'dead_letters'];
async function amounts(db) {
    const all = {};
    for (const name of TABLES) all[name] = await db.count(name);
    return all;
}

// One of each sort, where nobody asks for them for an hour.
const variety = (url = NOWHERE) => [
    { url: `${url}/a`, label: 'red' },
    { url: `${url}/a?x=1`, label: ['red', 'blue'] },
    { url: `${url}/b,c`, label: 'blue' },
    { url: `http://other.test:8080/b`, flowControl: { key: 'k 1', parallelism: 1 } },
    { url: 'http://other.test:8080', flowControl: { key: 'k2', rate: 5, period: '1m' } },
    { url: `${url}/a`, queueName: 'q1' },
    { url: `${url}/d`, queueName: 'q2' },
];

// What fits which filter, by the place in variety().
const FITS = [
    [{ label: 'red' }, [0, 1]],
    [{ label: ['red', 'blue'] }, [0, 1, 2]],
    [{ label: 'nobody' }, []],
    [{ url: `${NOWHERE}/a` }, [0, 5]],
    [{ url: [`${NOWHERE}/a?x=1`, `${NOWHERE}/b,c`] }, [1, 2]],
    [{ host: 'other.test:8080' }, [3, 4]],
    [{ host: 'other.test' }, []],
    [{ path: '/a' }, [0, 1, 5]],
    [{ path: ['/b', '/d'] }, [3, 6]],
    [{ path: '/' }, [4]],
    [{ host: '127.0.0.1:9', path: '/a' }, [0, 1, 5]],
    [{ queueName: 'q1' }, [5]],
    [{ queueName: ['q1', 'q2'] }, [5, 6]],
    [{ flowControlKey: 'k 1' }, [3]],
    [{ flowControlKey: ['k 1', 'k2'] }, [3, 4]],
    [{ urlGroup: 'nobody' }, []],
    [{ scheduleId: 'nobody' }, []],
    [{ callerIp: '127.0.0.1' }, [0, 1, 2, 3, 4, 5, 6]],
    [{ callerIp: '10.9.9.9' }, []],
    [{ label: 'red', path: '/a', callerIp: '127.0.0.1' }, [0, 1]],
    [{ label: 'red', url: `${NOWHERE}/a?x=1` }, [1]],
    [{ label: 'red', queueName: 'q1' }, []],
    [{ fromDate: new Date('2099-01-01') }, []],
    [{ toDate: new Date('2000-01-01') }, []],
    [{ fromDate: new Date('2000-01-01'), toDate: new Date('2099-01-01'), label: 'blue' }, [1, 2]],
];

const publishAll = async (client, list, options = {}) => {
    const made = [];
    for (const { queueName, ...one } of list)
        made.push(await (queueName ? client.queue({ queueName }).enqueue({ ...one, ...options })
            : client.publish({ ...one, ...options })));
    return made.map(({ messageId }) => messageId);
};

// They have failed for good, in this order.
async function bury(client, list, options = {}) {
    const made = [];
    for (const one of list) {
        const [id] = await publishAll(client, [one], { retries: 0, ...options });
        await until(`${id} is dead`, async () => (await client.dlq.listMessages({ filter: { messageId: id } })).messages.length);
        made.push(id);
    }
    return made;
}

async function everyPage(read) {
    const pages = [];
    let cursor;
    do {
        const page = await read(cursor);
        pages.push(page);
        assert.notEqual(page.cursor, '');
        cursor = page.cursor;
    } while (cursor !== undefined);
    return pages;
}

const lines = (client, messageId) => client.logs({ filter: { messageId } }).then(({ logs }) => logs);
const states = async (client, id) => (await lines(client, id)).map(({ state }) => state).reverse();
const ended = (client, id, state) => until(`${id} is ${state}`, async () => (await states(client, id)).at(-1) === state);

forEachStore((store, test) => {
    // --- messages ---

    test('Q9 T3 a message can be read as it was published, before and after it is delivered', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t);
        await client.urlGroups.addEndpoints({ name: 'group', endpoints: [{ name: 'first', url: `${NOWHERE}/g` }] });
        const before = Date.now();
        const { messageId } = await client.publishJSON({
            url: `${NOWHERE}/x?y=1`, body: { name: '決済' }, method: 'PUT', delay: 3600, retries: 5, label: ['one', 'two'],
            headers: { 'test-header': 'v', 'Upstash-Callback-Forward-Tenant': 't' }, retryDelay: '1000 * retried',
            callback: `${NOWHERE}/cb?a=1`, failureCallback: `${NOWHERE}/fcb`, timeout: 30,
            flowControl: { key: 'k', parallelism: 2, rate: 7, period: '1d' },
        });
        const message = await client.messages.get(messageId);
        const { createdAt, notBefore, ...rest } = message;
        assert.ok(Math.abs(createdAt - before) < 60_000);
        assert.equal(notBefore, createdAt + 3600_000);
        assert.deepEqual(rest, {
            messageId, url: `${NOWHERE}/x?y=1`, method: 'PUT',
            header: { 'Content-Type': ['application/json'], 'Test-Header': ['v'] }, body: '{"name":"決済"}',
            maxRetries: 5, retryDelayExpression: '1000 * retried', callback: `${NOWHERE}/cb?a=1`,
            callbackHeader: { Tenant: ['t'] }, failureCallback: `${NOWHERE}/fcb`, callerIP: '127.0.0.1',
            callerIp: '127.0.0.1', flowControlKey: 'k', parallelism: 2, rate: 7, period: 86400, label: 'one',
            labels: ['one', 'two'], urlGroup: undefined, ratePerSecond: 7,
        });

        const [member] = await client.publish({ urlGroup: 'group', delay: 3600, body: Buffer.from([0xff, 0xfe]) });
        const bytes = await client.messages.get(member.messageId);
        assert.deepEqual([bytes.topicName, bytes.endpointName, bytes.urlGroup, bytes.body, bytes.bodyBase64],
            ['group', 'first', 'group', undefined, '//4=']);

        const gone = await client.publish({ url: door.url });
        await ended(client, gone.messageId, 'DELIVERED');
        const after = await client.messages.get(gone.messageId);
        assert.deepEqual([after.url, after.body, after.bodyBase64, after.period, after.label],
            [door.url, undefined, undefined, undefined, undefined]);
    });

    test('Q9 what is no message is not found', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        await client.schedules.create({ destination: NOWHERE, cron: '0 0 1 1 *', scheduleId: 's', body: 'secret' });
        const [{ template }] = await server.db.table('qstash_schedules');
        for (const id of [NOBODY, 'msg_x', 'nonsense', `msg_${template}`]) {
            assert.deepEqual(await call(server, 'GET', `messages/${id}`), { status: 404, body: { error: 'message not found' } });
            assert.equal((await call(server, 'DELETE', `messages/${id}`)).status, 404);
        }
        assert.deepEqual(await client.messages.cancel([NOBODY, 'nonsense', `msg_${template}`]), { cancelled: 0 });
        assert.deepEqual(await client.messages.cancel({ all: true }), { cancelled: 0 });
        assert.equal((await client.schedules.get('s')).body, 'secret');
    });

    test('Q9 a message can be cancelled wherever it is, and no try follows', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await gatekeeper(t);
        const failing = await receive(t, () => 500);
        const queue = client.queue({ queueName: 'line' });
        const where = {};
        const put = async (name, made) => {
            where[name] = (await made).messageId;
        };
        await put('delayed', client.publish({ url: door.url, delay: 60 }));
        await put('retrying', client.publish({ url: failing.url, retries: 5 }));
        await until('it has failed once', async () => (await states(client, where.retrying)).includes('RETRY'));
        await put('inFlight', client.publish({ url: door.url, retries: 5 }));
        await put('head', queue.enqueue({ url: door.url, retries: 5 }));
        await put('inQueue', queue.enqueue({ url: door.url }));
        await put('flowing', client.publish({ url: door.url, flowControl: { key: 'k', parallelism: 1 } }));
        await until('three are held', () => door.held() === 3);
        await put('atFlow', client.publish({ url: door.url, flowControl: { key: 'k', parallelism: 1 } }));
        await until('it waits there', async () => (await client.flowControl.get('k')).waitListSize === 1);

        for (const name of ['delayed', 'retrying', 'inQueue', 'atFlow', 'inFlight', 'head'])
            assert.deepEqual(await client.messages.cancel(where[name]), { cancelled: 1 }, name);
        for (const name of ['delayed', 'retrying', 'inQueue', 'atFlow']) {
            assert.deepEqual((await states(client, where[name])).slice(-2), ['CANCEL_REQUESTED', 'CANCELED'], name);
            await assert.rejects(client.messages.cancel(where[name]), { status: 404 });
        }
        assert.equal((await states(client, where.inFlight)).at(-1), 'CANCEL_REQUESTED');
        door.release(3, 500); // those under way fail: no retry for the two, one for the third
        await ended(client, where.inFlight, 'CANCELED');
        await ended(client, where.head, 'CANCELED');
        await until('it will be tried again', async () => (await states(client, where.flowing)).includes('RETRY'));
        assert.deepEqual(await client.messages.cancel({ all: true }), { cancelled: 1 });
        await server.advance(7200_000);
        await until('nothing is left', async () => await server.db.count('qstash_live') === 0);
        assert.equal(await server.db.count('qstash_labels'), 0);
        assert.equal(door.length + failing.length, 4);
        assert.equal(await server.db.count('message', `kind = 'qstash.deliver'`), 0);
        await recount(server.db);
    });

    test('Q9 cancel by each filter takes those that fit and no others', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        for (const [filter, places] of FITS) {
            const all = await publishAll(client, variety(), { delay: 3600 });
            assert.deepEqual(await client.messages.cancel({ filter }), { cancelled: places.length }, JSON.stringify(filter));
            const gone = await server.db.all(`SELECT ${server.db.hex('id')} AS id FROM qstash_log WHERE state = 8`);
            assert.deepEqual(sorted(gone.map(({ id }) => `msg_${id}`).filter((id) => all.includes(id))),
                sorted(places.map((place) => all[place])), JSON.stringify(filter));
            assert.deepEqual(await client.messages.cancel({ all: true }), { cancelled: all.length - places.length });
        }
        await recount(server.db);
    });

    test('Q9 cancel by ids, by a list in the body, with a count, and all of many', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const many = async (n, label) => (await client.batch(Array.from({ length: n }, () => ({
            url: NOWHERE, delay: 3600, ...(label && { label }),
        })))).map(({ messageId }) => messageId);

        const all = await many(310, 'bulk');
        assert.deepEqual(await client.messages.cancel([all[0], all[1], all[1], NOBODY]), { cancelled: 2 });
        assert.equal(await client.messages.deleteMany([all[1], all[2]]), 1);
        assert.deepEqual(await call(server, 'DELETE', 'messages', { body: { messageIds: [all[3], all[4]] } }),
            { status: 200, body: { cancelled: 2 } });
        assert.deepEqual((await call(server, 'DELETE', 'messages', { body: { messageIds: [] } })).body, { cancelled: 0 });
        await client.messages.delete(all[5]);
        assert.equal(await server.db.count('qstash_live'), 304);
        assert.deepEqual(await client.messages.cancel({ filter: { label: 'bulk' }, count: 1 }), { cancelled: 1 });
        assert.deepEqual(await client.messages.cancel({ all: true, count: 150 }), { cancelled: 150 });
        assert.deepEqual(await client.messages.cancel({ filter: { label: 'bulk' } }), { cancelled: 153 }); // 100 is the SDK's own
        await many(250);
        assert.equal(await client.messages.deleteAll(), 250);
        await many(2);
        assert.deepEqual((await call(server, 'DELETE', 'messages')).body, { cancelled: 2 });
        assert.deepEqual((await call(server, 'DELETE', 'messages/')).body, { cancelled: 0 });
    });

    test('Q9 a queue that is cancelled lets nobody in on the way', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t);
        const queue = client.queue({ queueName: 'line' });
        await queue.enqueue({ url: door.url, delay: 3600 }); // the head: all others wait for it
        await Promise.all(Array.from({ length: 250 }, (_, i) => queue.enqueue({ url: `${door.url}/${i}` })));
        assert.deepEqual(await client.messages.cancel({ filter: { queueName: 'line' } }), { cancelled: 251 });
        assert.equal((await queue.get()).lag, 0);
        const { messageId } = await queue.enqueue({ url: `${door.url}/after` });
        await ended(client, messageId, 'DELIVERED');
        assert.deepEqual(door.map(({ path }) => path), ['/after']);
        await recount(server.db);
    });

    test('Q9 many ids in one call, and too many', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const [one] = await publishAll(client, [{ url: NOWHERE }], { delay: 3600 });
        const unknown = Array.from({ length: 9999 }, (_, i) => `msg_${String(i).padStart(32, '0')}`);
        const messageIds = [...unknown, one];
        assert.equal((await call(server, 'DELETE', 'messages', { body: { messageIds: [...messageIds, NOBODY] } })).status, 400);
        assert.equal(await server.db.count('qstash_live'), 1);
        assert.deepEqual((await call(server, 'DELETE', 'messages', { body: { messageIds } })).body, { cancelled: 1 });
        const dlqIds = unknown.map((_, i) => `1760000000000-${i + 1}`);
        assert.deepEqual((await call(server, 'DELETE', 'dlq', { body: { dlqIds } })).body, { deleted: 0 });
        assert.deepEqual((await call(server, 'POST', 'dlq/retry', { body: { dlqIds } })).body, { responses: [] });
        assert.equal((await call(server, 'GET', `dlq?${dlqIds.slice(0, 101).map((id) => `dlqIds=${id}`).join('&')}`)).status, 400);
    });

    test('Q9 a time of a filter is that of the message, both ends within', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const made = [];
        for (let i = 0; i < 4; i++) {
            made.push(...await publishAll(client, [{ url: NOWHERE }], { delay: 7 * 86400 }));
            await server.advance(3600_000);
        }
        const at = await Promise.all(made.map(async (id) => (await client.messages.get(id)).createdAt));
        assert.deepEqual(await client.messages.cancel({ filter: { fromDate: at[1], toDate: at[2] } }), { cancelled: 2 });
        assert.deepEqual(await client.messages.cancel({ filter: { fromDate: at[0] + 1, toDate: at[3] - 1 } }), { cancelled: 0 });
        assert.deepEqual(await client.messages.cancel({ filter: { toDate: at[0] } }), { cancelled: 1 });
        assert.deepEqual(await client.messages.cancel({ filter: { fromDate: at[3] } }), { cancelled: 1 });
    });

    test('Q9 a filter that cannot be understood is refused, and nothing is changed', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, () => 500);
        await bury(client, [{ url: door.url, label: 'dead' }]);
        await publishAll(client, variety(), { delay: 3600 });
        const before = await amounts(server.db);
        const bad = {
            'DELETE messages': ['labeel=red', 'Label=red', 'label=', 'label', 'responseStatus=500', 'state=CREATED', 'dlqIds=1-1',
                'messageId=x', 'fromDate=soon', 'toDate=-1', 'fromDate=1&fromDate=2', 'count=0', 'count=1.5', 'count=all',
                'label=%ff', 'label=%2', 'label=a%00', 'label=a,,b'],
            'DELETE dlq': ['labeel=dead', 'host=127.0.0.1', 'path=%2F', 'state=FAILED', 'messageIds=x', 'label=', 'responseStatus=5xx',
                'count=-1', 'fromDate=2020-01-01', 'cursor=x', 'cursor=-1', 'cursor=1-', 'dlqIds='],
            'POST dlq/retry': ['labeel=dead', 'host=127.0.0.1', 'path=%2F', 'count=0', 'cursor=abc'],
            'GET dlq': ['labeel=dead', 'host=x', 'count=x', 'cursor=%00'],
            'GET events': ['labeel=dead', 'state=DONE', 'responseStatus=1', 'count=0', 'cursor=abc', 'cursor=1-2', 'fromDate=x'],
        };
        for (const [route, queries] of Object.entries(bad))
            for (const query of queries) {
                const [method, path] = route.split(' ');
                const { status, body } = await call(server, method, `${path}?${query}`);
                assert.equal(status, 400, `${route}?${query}`);
                assert.deepEqual(Object.keys(body), ['error']);
            }
        const bodies = [{ labeel: 'red' }, { label: null }, { label: [] }, { label: '' }, { label: {} }, { messageIDs: [] }, [], 'x', 5,
            { count: 1.5 }];
        for (const body of bodies) {
            for (const route of ['DELETE messages', 'DELETE dlq', 'POST dlq/retry'])
                assert.equal((await call(server, ...route.split(' '), { body })).status, 400, `${route} ${JSON.stringify(body)}`);
        }
        for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])
            for (const route of ['DELETE messages', 'DELETE dlq', 'POST dlq/retry']) {
                const { status, body } = await call(server, ...route.split(' '), { body: {}, headers: { 'Content-Type': type } });
                assert.equal(status, 415, `${route} ${type}`);
                assert.match(body.error, /application\/json/);
            }
        for (const route of ['DELETE messages', 'DELETE dlq', 'POST dlq/retry']) { // two headers are not none, whatever they say
            const types = { 'Content-Type': ['text/plain', 'application/json'] };
            const { status, body } = await call(server, ...route.split(' '), { body: {}, headers: types });
            assert.equal(status, 415, `${route} with two content types`);
            assert.match(body.error, /given twice/);
        }
        await assert.rejects(client.dlq.delete({ filter: { labeel: 'x' } }), { status: 400 });
        await assert.rejects(client.messages.cancel({ filter: { labeel: 'x' } }), { status: 400 });
        assert.deepEqual(await amounts(server.db), before);
    });

    test('Q9 a deletion of dead ones that names nothing is refused and says what to send', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, () => 500);
        await bury(client, [{ url: door.url }, { url: door.url }]);
        const before = await amounts(server.db);
        for (const [path, body] of [['dlq'], ['dlq/'], ['dlq?'], ['dlq', {}]]) {
            const { status, body: answer } = await call(server, 'DELETE', path, { body });
            assert.equal(status, 400, path);
            assert.match(answer.error, /dlqIds.*filter.*count/);
        }
        assert.deepEqual(await amounts(server.db), before);
        const { body: first } = await call(server, 'DELETE', 'dlq?count=1');
        assert.equal(first.deleted, 1);
        assert.deepEqual((await call(server, 'DELETE', `dlq?cursor=${first.cursor}`)).body, { deleted: 1 });
    });

    test('Q9 however large their headers are, a hundred are cancelled at once, and a queue with all that is in it', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const headers = Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`x-large-${i}`, 'a'.repeat(8 * 1024 - 64)]));
        const queue = client.queue({ queueName: 'large' });
        for (const how of ['by a filter', 'with their queue']) {
            await queue.upsert({ parallelism: 1, paused: true });
            for (let i = 0; i < 10; i++) {
                const items = Array.from({ length: 12 }, () => ({
                    url: NOWHERE, queueName: 'large', headers, label: 'big', flowControl: { key: 'k', parallelism: 1 },
                }));
                assert.ok((await client.batch(items)).every(({ messageId }) => messageId));
            }
            assert.equal((await queue.get()).lag, 120);
            if (how === 'by a filter') assert.deepEqual(await client.messages.cancel({ filter: { queueName: 'large' } }), { cancelled: 120 });
            else await queue.delete();
            await until(`they are gone ${how}`, async () => await server.db.count('qstash_live') === 0);
            assert.equal(await server.db.count('qstash_labels'), 0);
            await recount(server.db);
        }
        await until('its row is gone', async () => await server.db.count('qstash_queues') === 0);
        assert.equal(await server.db.count('qstash_log', 'state = 8'), 240);
        assert.equal(await server.db.count('dead_letters'), 0);
    });

    // --- logs ---

    test('Q9 T3 the log tells what became of a message, the newest first', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, () => (door.length < 2 ? [503, { 'X-Why': 'busy' }] : 200));
        const { messageId } = await client.publish({
            url: `${door.url}/x`, body: 'hello', retries: 2, retryDelay: '1000', timeout: 5, label: ['a', 'b'],
            callback: `${NOWHERE}/cb`, headers: { 'x-one': '1' }, flowControl: { key: 'k', rate: 9, period: '1m' },
        });
        await until('it waits', async () => (await states(client, messageId)).includes('RETRY'));
        await server.advance(1000);
        await ended(client, messageId, 'DELIVERED');
        const all = await lines(client, messageId);
        assert.deepEqual(all.map(({ state }) => state), ['DELIVERED', 'ACTIVE', 'RETRY', 'ERROR', 'ACTIVE', 'CREATED']);
        assert.deepEqual(all.map(({ time }) => time), [...all.map(({ time }) => time)].sort((a, b) => b - a));
        const error = all[3];
        assert.deepEqual([error.responseStatus, error.responseHeaders['X-Why'], error.responseHeader['X-Why']],
            [503, ['busy'], ['busy']]);
        assert.ok(Math.abs(all[2].nextDeliveryTime - all[2].time - 1000) < 100);
        const { time, ...created } = all[5];
        assert.ok(time > 1.6e12);
        assert.deepEqual(created, {
            messageId, state: 'CREATED', url: `${door.url}/x`, header: { 'Content-Type': ['text/plain;charset=UTF-8'], 'X-One': ['1'] },
            body: Buffer.from('hello').toString('base64'), method: 'POST', timeout: 5000, maxRetries: 2, retryDelayExpression: '1000',
            retryDelayExpr: '1000', callback: `${NOWHERE}/cb`, label: 'a', labels: ['a', 'b'], flowControlKey: 'k', rate: 9, period: 60,
            callerIP: '127.0.0.1', callerIp: '127.0.0.1', urlGroup: undefined,
        });

        const events = await client.events({ messageIds: [messageId] });
        assert.deepEqual(events.events, all);
        assert.equal(events.cursor, undefined);
        const wire = (await call(server, 'GET', `logs?messageId=${messageId}`)).body;
        assert.deepEqual(Object.keys(wire), ['events', 'logs']);
        assert.deepEqual(wire.events, wire.logs);
        assert.deepEqual(Object.keys((await call(server, 'GET', `events?messageId=${messageId}`)).body), ['events']);
    });

    test('Q9 the log by each filter, by state, and page by page', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const all = await publishAll(client, variety(), { delay: 3600 });
        for (const [filter, places] of FITS) {
            const { logs, cursor } = await client.logs({ filter });
            assert.deepEqual(ids(logs), sorted(places.map((place) => all[place])), JSON.stringify(filter));
            assert.equal(cursor, undefined);
        }
        await client.messages.cancel(all.slice(0, 3));
        const by = async (state) => ids((await client.logs({ filter: { state } })).logs);
        assert.deepEqual(await by('CREATED'), sorted(all));
        assert.deepEqual(await by('CANCELED'), sorted(all.slice(0, 3)));
        assert.deepEqual(await by('CANCELLED'), sorted(all.slice(0, 3)));
        assert.deepEqual(await by('IN_PROGRESS'), []);
        assert.deepEqual(await by(['CREATED', 'CANCELED']), sorted([...all, ...all.slice(0, 3)]));
        assert.deepEqual(ids((await client.logs({ messageIds: all.slice(0, 2) })).logs), sorted([0, 0, 0, 1, 1, 1].map((i) => all[i])));
        assert.deepEqual(await client.logs({ filter: { messageId: 'nonsense' } }).then(({ logs }) => logs), []);

        const whole = (await client.logs()).logs;
        assert.equal(whole.length, 13);
        for (const count of [1, 4, 13, 100]) {
            const pages = await everyPage((cursor) => client.logs({ count, cursor }));
            assert.deepEqual(pages.flatMap(({ logs }) => logs), whole);
            assert.equal(pages.length, Math.ceil(13 / count));
        }
        const red = await everyPage((cursor) => client.logs({ filter: { label: 'red' }, count: 2, cursor }));
        assert.deepEqual(red.map(({ logs }) => logs.length), [2, 2, 2]);
        assert.deepEqual((await client.logs({ cursor: Date.now() })).logs, whole); // as the SDK's own example begins
        assert.deepEqual((await client.logs({ filter: { count: 1 } })).logs, whole.slice(0, 1));
        assert.equal((await call(server, 'GET', 'events?count=100000')).body.events.length, 13);
    });

    test('Q9 the log by time finds its place in a long log', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const made = [];
        for (let i = 0; i < 6; i++) {
            made.push(...await publishAll(client, [{ url: NOWHERE }], { delay: 7 * 86400 }));
            await server.advance(3600_000);
        }
        const times = await Promise.all(made.map(async (id) => (await lines(client, id))[0].time));
        for (const [from, to] of [[0, 5], [2, 3], [0, 0], [5, 5], [4, 4]]) {
            const { logs } = await client.logs({ filter: { fromDate: times[from], toDate: times[to] } });
            assert.deepEqual(logs.map(({ messageId }) => messageId), made.slice(from, to + 1).reverse());
        }
        assert.deepEqual((await client.logs({ filter: { fromDate: times[5] + 1 } })).logs, []);
        assert.deepEqual((await client.logs({ filter: { toDate: times[0] - 1 } })).logs, []);
    });

    // --- the dead letter queue ---

    test('Q9 T3 a message that fails for good is in the dead letter queue, with the last answer', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, () => [418, { 'X-Why': 'teapot' }]);
        const [id] = await bury(client, [{
            url: `${door.url}/x?y`, body: 'hello', label: ['a', 'b'], retryDelay: '2000 * retried',
            flowControl: { key: 'k', parallelism: 10, rate: 5, period: '1d' },
        }]);
        const { messages: [dead], cursor } = await client.dlq.listMessages();
        assert.equal(cursor, undefined);
        assert.match(dead.dlqId, /^\d{13}-\d+$/);
        const { createdAt, notBefore, responseHeader, ...rest } = dead;
        assert.equal(notBefore, createdAt);
        assert.deepEqual(responseHeader['X-Why'], ['teapot']);
        assert.deepEqual(rest, {
            dlqId: dead.dlqId, messageId: id, url: `${door.url}/x?y`, method: 'POST', body: 'hello',
            header: { 'Content-Type': ['text/plain;charset=UTF-8'] }, maxRetries: 0, retryDelayExpression: '2000 * retried',
            callerIP: '127.0.0.1', callerIp: '127.0.0.1', flowControlKey: 'k', parallelism: 10, rate: 5, ratePerSecond: 5,
            period: 86400, label: 'a', labels: ['a', 'b'], responseStatus: 418, urlGroup: undefined,
        });
        const { urlGroup, ratePerSecond, ...raw } = dead;
        assert.deepEqual(await call(server, 'GET', `dlq/${dead.dlqId}`), { status: 200, body: raw });

        const missed = await bury(client, [{ url: `${NOWHERE}/x` }]);
        const [lost] = (await client.dlq.listMessages({ filter: { messageId: missed[0] } })).messages;
        assert.equal(lost.responseStatus, 0);
        assert.equal((await states(client, id)).at(-1), 'FAILED');

        await client.dlq.delete(dead.dlqId);
        await assert.rejects(client.dlq.delete(dead.dlqId), { status: 404 });
        for (const unknown of [dead.dlqId, '1-1', 'nonsense', '0-0', '-1']) {
            assert.equal((await call(server, 'GET', `dlq/${unknown}`)).status, 404);
            assert.equal((await call(server, 'DELETE', `dlq/${unknown}`)).status, 404);
            assert.equal((await call(server, 'POST', `dlq/retry/${unknown}`)).status, 404);
        }
        assert.equal((await client.messages.get(id)).body, 'hello'); // the log speaks of it still
    });

    test('Q9 the dead by each filter, page by page', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, ({ path }) => (path.startsWith('/a') ? 500 : 404));
        await client.urlGroups.addEndpoints({ name: 'group', endpoints: [{ url: `${door.url}/g` }] });
        const all = await bury(client, variety(door.url).map((one) => ({ ...one, url: one.url.replace('http://other.test:8080', door.url) })));
        const [member] = await client.publish({ urlGroup: 'group', retries: 0 });
        await ended(client, member.messageId, 'FAILED');
        all.push(member.messageId);
        const rows = [
            [{}, [0, 1, 2, 3, 4, 5, 6, 7]],
            [{ label: 'red' }, [0, 1]],
            [{ label: ['blue', 'red'] }, [0, 1, 2]],
            [{ url: `${door.url}/a` }, [0, 5]],
            [{ url: [`${door.url}/a?x=1`, `${door.url}/b,c`] }, [1, 2]],
            [{ queueName: 'q1' }, [5]],
            [{ queueName: ['q2', 'q1'] }, [5, 6]],
            [{ flowControlKey: ['k 1', 'k2'] }, [3, 4]],
            [{ urlGroup: 'group' }, [7]],
            [{ scheduleId: 'nobody' }, []],
            [{ callerIp: '127.0.0.1' }, [0, 1, 2, 3, 4, 5, 6, 7]],
            [{ callerIp: '10.9.9.9' }, []],
            [{ responseStatus: 500 }, [0, 1, 5]],
            [{ responseStatus: 999 }, []],
            [{ responseStatus: 404, label: 'blue' }, [2]],
            [{ messageId: all[4] }, [4]],
            [{ messageId: [all[6], all[1]] }, [1, 6]],
            [{ messageId: 'nonsense' }, []],
            [{ label: 'red', queueName: 'q1' }, []],
            [{ fromDate: new Date('2099-01-01') }, []],
            [{ toDate: new Date('2000-01-01') }, []],
            [{ fromDate: 1, label: 'red' }, [0, 1]],
        ];
        for (const [filter, places] of rows) {
            const want = places.map((place) => all[place]);
            assert.deepEqual((await client.dlq.listMessages({ filter })).messages.map(({ messageId }) => messageId), want,
                JSON.stringify(filter));
            const pages = await everyPage((cursor) => client.dlq.listMessages({ filter, count: 2, cursor }));
            assert.deepEqual(pages.flatMap(({ messages }) => messages.map(({ messageId }) => messageId)), want);
            assert.equal(pages.length, Math.max(1, Math.ceil(want.length / 2)), JSON.stringify(filter));
        }
        const dead = (await client.dlq.listMessages()).messages;
        const died = dead.map(({ dlqId }) => Number(dlqId.split('-')[0]));
        assert.deepEqual((await client.dlq.listMessages({ filter: { fromDate: died[2], toDate: died[4] } })).messages,
            dead.filter((_, i) => died[i] >= died[2] && died[i] <= died[4]));
        const timed = await everyPage((cursor) => client.dlq.listMessages({ filter: { fromDate: died[1] }, count: 1, cursor }));
        assert.deepEqual(timed.flatMap(({ messages }) => messages), dead.filter((_, i) => died[i] >= died[1]));
        const some = [dead[4].dlqId, 'nonsense', dead[1].dlqId, '1-1', dead[1].dlqId];
        assert.deepEqual(await client.dlq.listMessages({ dlqIds: some }), { messages: [dead[1], dead[4]], cursor: undefined });
    });

    test('Q9 Q6 dead ones are deleted by ids, by a filter, by count, with a cursor; their letters too', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, () => 500);
        const made = await Promise.all(Array.from({ length: 130 }, (_, i) => client.publish({
            url: door.url, retries: 0, label: i % 2 ? ['odd', 'all'] : 'all',
        })));
        await until('all are dead', async () => await server.db.count('qstash_dead') === 130);
        assert.equal(await server.db.count('dead_letters'), 130);
        const dead = (await client.dlq.listMessages({ count: 4 })).messages.map(({ dlqId }) => dlqId);

        assert.deepEqual(await client.dlq.deleteMany({ dlqIds: dead.slice(0, 2) }), { deleted: 2 });
        assert.deepEqual(await client.dlq.delete([dead[1], dead[2], dead[2], 'nonsense']), { deleted: 1 });
        assert.deepEqual((await call(server, 'DELETE', 'dlq', { body: { dlqIds: [dead[3], '1-1'] } })).body, { deleted: 1 });
        assert.deepEqual((await call(server, 'DELETE', 'dlq', { body: { dlqIds: [] } })).body, { deleted: 0 });
        assert.deepEqual(await client.dlq.delete({ filter: { url: 'https://nobody.test' } }), { deleted: 0 });
        assert.deepEqual((await client.dlq.delete({ all: true, count: 1 })).deleted, 1);
        assert.deepEqual((await client.dlq.delete({ filter: { label: 'all' }, count: 1 })).deleted, 1);
        const odd = await server.db.count('qstash_labels', `label = 'odd'`);
        const pages = await everyPage((cursor) => client.dlq.delete({ filter: { label: 'odd', responseStatus: 500 }, count: 25, cursor }));
        assert.equal(pages.reduce((sum, { deleted }) => sum + deleted, 0), odd);
        assert.equal(pages.length, Math.ceil(odd / 25));
        assert.equal(await server.db.count('qstash_labels', `label = 'odd'`), 0);
        const rest = await server.db.count('qstash_dead');
        assert.deepEqual(await client.dlq.delete({ all: true }), { deleted: rest });
        for (const table of ['qstash_dead', 'dead_letters', 'qstash_labels', 'message_failures'])
            assert.equal(await server.db.count(table), 0, table);
        assert.equal(await server.db.count('qstash_messages'), 130);
        assert.equal((await server.db.audit(`operation = 'DLQ_DELETE'`)).length, 130);
        assert.equal(made.length, 130);
    });

    test('Q6 a retry is a new message with the same content and webhook-id, and the dead one is gone', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        let status = 500;
        const door = await receive(t, () => status);
        const options = {
            url: `${door.url}/x?y=1`, method: 'PUT', body: Buffer.from('é bytes'), headers: { 'X-One': '1', 'content-type': 'text/x' },
            label: ['a', 'b'], redact: { body: true, header: ['X-One'] }, timeout: 20,
        };
        const [first] = await bury(client, [options]);
        const [{ dlqId }] = (await client.dlq.listMessages()).messages;
        const again = await client.dlq.retry(dlqId);
        assert.deepEqual(Object.keys(again), ['responses', 'cursor']);
        const second = again.responses[0].messageId;
        assert.notEqual(second, first);
        await assert.rejects(client.dlq.delete(dlqId), { status: 404 });
        await ended(client, second, 'FAILED');
        status = 200;
        const [{ dlqId: next }] = (await client.dlq.listMessages({ filter: { label: 'b' } })).messages;
        const third = (await client.dlq.retry([next])).responses[0].messageId;
        await ended(client, third, 'DELIVERED');

        assert.deepEqual(door.map(({ id }) => id), [first, second, third]);
        assert.equal(new Set(door.map(({ headers }) => headers['webhook-id'])).size, 1);
        for (const one of door) {
            assert.deepEqual([one.method, one.path, one.text, one.headers['x-one'], one.headers['content-type'], one.headers['upstash-retried']],
                ['PUT', '/x?y=1', 'é bytes', '1', 'text/x', '0']);
        }
        const [a, b] = await Promise.all([first, third].map((id) => client.messages.get(id)));
        assert.deepEqual({ ...a, messageId: 0, createdAt: 0, notBefore: 0 }, { ...b, messageId: 0, createdAt: 0, notBefore: 0 });
        for (const table of ['qstash_dead', 'dead_letters', 'qstash_live', 'qstash_labels'])
            assert.equal(await server.db.count(table), 0, table);
        const audit = await server.db.audit(`operation = 'DLQ_RETRY'`);
        assert.deepEqual(audit.map(({ subject }) => subject), [first, second]);
    });

    test('Q6 a retry takes the options of its request, and only those', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, () => 500);
        await bury(client, [{ url: door.url, body: 'one', headers: { 'X-One': '1', 'Content-Type': 'text/x' }, label: 'l' }]);
        const [{ dlqId }] = (await client.dlq.listMessages()).messages;
        const before = await amounts(server.db);
        for (const headers of [{ 'Upstash-Retries': 'many' }, { 'Upstash-Delay': 'soon' }, { 'Upstash-Callback': 'nowhere' }])
            for (const path of [`dlq/retry/${dlqId}`, 'dlq/retry', `dlq/retry?dlqIds=${dlqId}`])
                assert.equal((await call(server, 'POST', path, { headers })).status, 400, path);
        assert.deepEqual(await amounts(server.db), before);

        const { status, body } = await call(server, 'POST', `dlq/retry/${dlqId}`, {
            headers: {
                'Content-Type': 'application/json', 'Upstash-Retries': '7', 'Upstash-Delay': '1h', 'Upstash-Forward-X-Two': '2',
                'Upstash-Callback': `${NOWHERE}/cb`, 'Upstash-Label': 'm', 'X-Noise': '1',
            },
        });
        assert.equal(status, 201);
        assert.deepEqual(body, { messageId: body.messageId, responses: [{ messageId: body.messageId }] });
        const message = await client.messages.get(body.messageId);
        assert.deepEqual([message.maxRetries, message.notBefore - message.createdAt, message.callback, message.labels, message.body, message.url],
            [7, 3600_000, `${NOWHERE}/cb`, ['m'], 'one', door.url]);
        assert.deepEqual(message.header, { 'Content-Type': ['text/x'], 'X-One': ['1'], 'X-Two': ['2'] });
        assert.equal((await client.messages.cancel({ filter: { label: 'l' } })).cancelled, 0);
        assert.equal((await client.messages.cancel({ filter: { label: 'm' } })).cancelled, 1);
    });

    test('Q6 many are retried: by ids, by a filter, by count, into their queue and flow key', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        let status = 500;
        const door = await receive(t, () => status);
        const made = [];
        for (let i = 0; i < 60; i++)
            made.push(...await publishAll(client, [{
                url: `${door.url}/${i}`, label: i < 10 ? ['first', 'all'] : 'all', ...(i % 3 === 1 && { queueName: `q${i % 2}` }),
                ...(i % 3 === 2 && { flowControl: { key: 'k', parallelism: 2 } }),
            }], { retries: 0 }));
        await until('all are dead', async () => await server.db.count('qstash_dead') === 60);
        await client.queue({ queueName: 'q0' }).delete();
        status = 200;
        assert.equal((await client.dlq.retry({ all: true, count: 1 })).responses.length, 1);
        assert.equal((await client.dlq.retry({ filter: { label: 'all' }, count: 1 })).responses.length, 1);
        const none = await client.dlq.retry({ filter: { queueName: 'nobody' } });
        assert.deepEqual(none, { responses: [], cursor: undefined });
        const first = await client.dlq.retry({ filter: { label: 'first', url: Array.from({ length: 10 }, (_, i) => `${door.url}/${i}`) } });
        const ten = (await server.db.all(`SELECT count(*) AS n FROM qstash_dead`))[0].n;
        assert.equal(first.responses.length, 58 - ten);
        assert.equal(first.cursor, undefined);
        const pages = await everyPage((cursor) => client.dlq.retry({ all: true, count: 20, cursor }));
        assert.equal(pages.reduce((sum, { responses }) => sum + responses.length, 0), ten);
        await until('all are delivered', async () => await server.db.count('qstash_live') === 0);
        assert.deepEqual(sorted(door.slice(60).map(({ path }) => path)), sorted(made.map((_, i) => `/${i}`)));
        assert.equal(await server.db.count('qstash_dead') + await server.db.count('dead_letters'), 0);
        await recount(server.db);
    });

    test('Q6 two who retry the same dead ones at once make one message of each', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, () => 500);
        await Promise.all(Array.from({ length: 30 }, () => client.publish({ url: door.url, retries: 0 })));
        await until('all are dead', async () => await server.db.count('qstash_dead') === 30);
        const dlqIds = (await client.dlq.listMessages()).messages.map(({ dlqId }) => dlqId);
        const answers = await Promise.all([client.dlq.retry({ dlqIds }), client.dlq.retry({ all: true }), client.dlq.retry({ dlqIds })]);
        assert.equal(answers.reduce((sum, { responses }) => sum + responses.length, 0), 30);
        await until('all have failed again', async () => await server.db.count('qstash_dead') === 30 && await server.db.count('qstash_live') === 0);
        assert.equal(await server.db.count('qstash_messages'), 60);
        assert.equal(door.length, 60);
    });

    test('Q9 large bodies: a list ends early with a cursor, a retry takes them all', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        let status = 500;
        const door = await receive(t, () => status);
        const body = 'x'.repeat(1000_000);
        const made = await bury(client, Array.from({ length: 9 }, () => ({ url: door.url, body })));
        const pages = await everyPage((cursor) => client.dlq.listMessages({ cursor }));
        assert.deepEqual(pages.flatMap(({ messages }) => messages.map(({ messageId }) => messageId)), made);
        assert.ok(pages.length > 1 && pages.every(({ messages }) => messages.every((one) => one.body === body)));
        const dlqIds = pages.flatMap(({ messages }) => messages.map(({ dlqId }) => dlqId));
        await assert.rejects(client.dlq.listMessages({ dlqIds }), { status: 400 });
        assert.equal((await client.dlq.listMessages({ dlqIds: dlqIds.slice(0, 2) })).messages.length, 2);
        const logs = await everyPage((cursor) => client.logs({ cursor, count: 1000 }));
        assert.ok(logs.length > 1);
        assert.equal(logs.flatMap((page) => page.logs).length, await server.db.count('qstash_log'));
        status = 200;
        assert.equal((await client.dlq.retry({ dlqIds })).responses.length, 9);
        await until('all are delivered', () => door.length === 18 && door.every(({ text }) => text.length === body.length), 30_000);
    });

    // --- redaction ---

    test('Q9 what is redacted is hidden from every reader, and never from the receiver', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        let status = 500;
        const door = await receive(t, () => status);
        const secret = 'card 4242';
        const made = {};
        for (const [name, redact] of Object.entries({
            body: { body: true }, header: { header: true }, named: { body: true, header: ['X-Secret'] },
        })) {
            [made[name]] = await bury(client, [{
                url: `${door.url}/${name}`, body: secret, headers: { 'X-Secret': 'token-1', 'X-Public': 'public' }, redact,
                callback: `${door.url}/cb`, failureCallback: `${door.url}/fcb`,
            }]);
        }
        await until('all callbacks are tried', () => door.length >= 9);
        const shown = {
            body: { body: redacted(secret), header: { 'X-Secret': ['token-1'], 'X-Public': ['public'] } },
            header: { body: secret, header: { 'X-Secret': [redacted('token-1')], 'X-Public': [redacted('public')] } },
            named: { body: redacted(secret), header: { 'X-Secret': [redacted('token-1')], 'X-Public': ['public'] } },
        };
        for (const [name, id] of Object.entries(made)) {
            const fits = (one, body) => {
                assert.equal(body, shown[name].body);
                for (const [key, value] of Object.entries(shown[name].header)) assert.deepEqual(one.header[key], value);
            };
            const message = await client.messages.get(id);
            fits(message, message.body);
            const [dead] = (await client.dlq.listMessages({ filter: { messageId: id } })).messages;
            fits(dead, dead.body);
            const { body: one } = await call(server, 'GET', `dlq/${dead.dlqId}`);
            fits(one, one.body);
            for (const line of await lines(client, id)) fits(line, Buffer.from(line.body, 'base64').toString());
        }
        // A callback carries its source's body and headers: whoever hides those hides this too.
        const { logs } = await client.logs({ count: 1000 });
        const callbacks = await Promise.all([...new Set(logs.filter(({ url }) => /cb$/.test(url)).map(({ messageId }) => messageId))]
            .map((id) => client.messages.get(id)));
        assert.equal(callbacks.length, 6);
        for (const { body } of callbacks) assert.match(body, /^REDACTED:/);
        const plain = [secret, 'token-1'].flatMap((value) => [value, Buffer.from(value).toString('base64')]);
        for (const line of logs.filter(({ messageId }) => messageId === made.named))
            for (const value of plain) assert.ok(!JSON.stringify(line).includes(value));

        status = 200;
        await client.dlq.retry({ filter: { messageId: Object.values(made) } });
        await until('they are delivered', () => ['body', 'header', 'named'].every((name) =>
            door.filter(({ path }) => path === `/${name}`).length === 2));
        for (const one of door.filter(({ path }) => path in { '/body': 1, '/header': 1, '/named': 1 }))
            assert.deepEqual([one.text, one.headers['x-secret'], one.headers['x-public']], [secret, 'token-1', 'public']);
    });

    // --- retention ---

    test('Q9 what is old is forgotten: lines and contents after 14 days, dead ones after 30', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const door = await receive(t, ({ path }) => (path === '/dead' ? 500 : 200));
        await client.schedules.create({ destination: NOWHERE, cron: '0 0 29 2 *', scheduleId: 's' });
        await client.publish({ url: door.url, deduplicationId: 'd' });
        const [dead] = await bury(client, [{ url: `${door.url}/dead`, label: 'l' }]);
        const [cancelled, waits] = await publishAll(client, [{ url: NOWHERE }, { url: NOWHERE, flowControl: { key: 'later', rate: 1 } }],
            { delay: 300 * 86400 });
        await client.messages.cancel(cancelled);
        await client.publish({ url: door.url, flowControl: { key: 'idle', parallelism: 1 } });
        await client.publish({ url: door.url, flowControl: { key: 'held', parallelism: 1 } });
        await client.flowControl.pin('held', { parallelism: 3 });
        await until('all are delivered', () => door.length === 4);
        await until('it is written', async () => await server.db.count('qstash_live') === 1);

        await server.advance(2 * 3600_000);
        await until('the window is over', async () => await server.db.count('qstash_dedup') === 0);
        assert.equal(await server.db.count('qstash_messages'), 7); // and the template
        await server.advance(15 * DAY);
        await until('the log is empty', async () => await server.db.count('qstash_log') === 0);
        await until('contents are gone', async () => await server.db.count('qstash_messages') === 3);
        assert.equal((await client.messages.get(waits)).url, NOWHERE);
        assert.equal((await client.dlq.listMessages({ filter: { label: 'l' } })).messages[0].messageId, dead);
        await assert.rejects(client.messages.get(cancelled), { status: 404 });
        await server.advance(16 * DAY);
        await until('the dead one is gone', async () => await server.db.count('qstash_dead') === 0);
        assert.equal(await server.db.count('dead_letters') + await server.db.count('qstash_labels'), 0);
        await assert.rejects(client.messages.get(dead), { status: 404 });
        await until('the idle key is gone', async () => await server.db.count('qstash_flows') === 2);
        assert.deepEqual(sorted((await server.db.table('qstash_flows')).map(({ key }) => key)), ['held', 'later']);
        assert.equal((await client.schedules.get('s')).destination, NOWHERE);
        assert.equal((await client.messages.get(waits)).url, NOWHERE);
    });

    test('Q9 a dead one that is deleted late takes its content along', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        let status = 500;
        const door = await receive(t, () => status);
        await bury(client, [{ url: `${door.url}/1` }, { url: `${door.url}/2` }]);
        await server.advance(15 * DAY);
        await until('the log is empty', async () => await server.db.count('qstash_log') === 0);
        assert.equal(await server.db.count('qstash_messages'), 2);
        status = 200;
        await client.dlq.delete({ filter: { url: `${door.url}/1` } });
        assert.equal(await server.db.count('qstash_messages'), 1);
        const { responses: [{ messageId }] } = await client.dlq.retry({ all: true });
        await ended(client, messageId, 'DELIVERED');
        assert.deepEqual((await server.db.table('qstash_messages')).map(({ id }) => `msg_${id}`), [messageId]);
    });
});
