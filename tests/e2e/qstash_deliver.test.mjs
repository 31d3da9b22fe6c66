// How a message goes out: signed, counted, tried again when it should be, in order where that was asked for, and past
// whoever does not answer. Receivers are real servers; the SDK's Receiver verifies what they got (Q3 Q7 Q9 Q10 Q12).
import { spawn } from 'node:child_process';
import dns from 'node:dns/promises';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import readline from 'node:readline';
import { Webhook } from 'standardwebhooks';
import { assert, forEachStore, fresh, launch, pause, start, until } from './lib/harness.mjs';
import { freePort } from './lib/ports.mjs';
import { claims, devKeys, gatekeeper, receive, recount, sdk, verify } from './lib/receiver.mjs';
import { DEV_TOKEN } from './lib/upstash.mjs';

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE;
const CREATED = 1, ACTIVE = 2, RETRY = 3, ERROR = 4, DELIVERED = 5, FAILED = 6, CANCELED = 8;
const hex = (id) => id.slice(4);

// The lines of a message's log, oldest first.
const log = (server, id) => server.db.all(`SELECT at, state, next_at, status, error FROM qstash_log
    WHERE id = ${server.db.blob(hex(id))} ORDER BY seq`);
const states = async (server, id) => (await log(server, id)).map(({ state }) => state);
const reaches = (server, id, state, limitMs) =>
    until(`${id} reaches ${state}`, async () => (await states(server, id)).includes(state), limitMs);
const retried = (server, id, n) => until(`${id} is put off for the ${n}. time`, async () =>
    (await states(server, id)).filter((state) => state === RETRY).length >= n);
// From each failure to the next try.
const waits = (lines) => lines.flatMap((line, i) => (line.state === RETRY ? [line.next_at - lines[i - 1].at] : []));
const live = (server) => server.db.count('qstash_live');
const atRest = (server, limitMs) => until('nothing is live', async () => (await live(server)) === 0, limitMs);

// All that was published is live or has ended, and has ended once.
async function balance(server) {
    const ends = await server.db.all(`SELECT state, count(*) AS n FROM qstash_log WHERE state IN (5, 6, 8) GROUP BY state`);
    const of = (state) => ends.find((row) => row.state === state)?.n ?? 0;
    const sum = { delivered: of(DELIVERED), dead: of(FAILED), canceled: of(CANCELED), live: await live(server) };
    const [{ n: twice }] = await server.db.all(`SELECT count(*) AS n FROM (SELECT id FROM qstash_log
        WHERE state IN (5, 6, 8) GROUP BY id HAVING count(*) > 1) AS t`);
    assert.equal(twice, 0, 'nobody ends twice');
    assert.equal(await server.db.count('qstash_dead'), sum.dead);
    assert.equal(await server.db.count('qstash_messages'), sum.delivered + sum.dead + sum.canceled + sum.live);
    await recount(server.db);
    return sum;
}

// A receiver that keeps the very bytes of one request and answers them.
async function bytes(t, answer = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n') {
    const got = { text: '' };
    const sockets = new Set();
    const server = net.createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('data', (part) => {
            got.text += part.toString('latin1');
            const length = Number(/\r\nContent-Length: (\d+)/i.exec(got.text)?.[1] ?? 0);
            const head = got.text.indexOf('\r\n\r\n');
            if (head >= 0 && got.text.length === head + 4 + length) socket.write(answer);
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.atEnd(() => new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(resolve);
    }));
    got.host = `127.0.0.1:${server.address().port}`;
    got.connections = sockets;
    return got;
}

// Accepts, reads, and never says a word.
const blackHole = (t) => bytes(t, '');

forEachStore((store, test) => {
    // --- what is sent ---

    test('Q10 a delivery is these bytes and no others', async (t) => {
        const server = await start(t, store);
        const door = await bytes(t);
        const url = `http://${door.host}/a/./b/../c//d?x=%2F&y=/../z`;
        const answer = await server.request({ // in a batch an address keeps its dots
            method: 'POST', path: '/v2/batch', headers: { Authorization: `Bearer ${DEV_TOKEN}` },
        }, JSON.stringify([{
            destination: url, body: 'hello',
            headers: {
                'upstash-method': 'PATCH', 'upstash-forward-x-b': 'two', 'upstash-forward-x-a': 'one',
                'upstash-forward-host': 'evil.test', 'upstash-forward-upstash-retried': '9',
                'upstash-forward-connection': 'close', 'upstash-forward-webhook-id': 'mine',
            },
        }]));
        const id = JSON.parse(answer.text)[0].messageId;
        await reaches(server, id, DELIVERED);
        const signature = /\r\nUpstash-Signature: (\S+)\r\n/.exec(door.text)[1];
        const [, at, standard] = /\r\nwebhook-timestamp: (\d+)\r\nwebhook-signature: (\S+)\r\n/.exec(door.text);
        assert.equal(door.text, [
            'PATCH /a/./b/../c//d?x=%2F&y=/../z HTTP/1.1', `Host: ${door.host}`, 'X-B: two', 'X-A: one',
            'User-Agent: Upstash-QStash', `Upstash-Message-Id: ${id}`, 'Upstash-Retried: 0',
            `Upstash-Signature: ${signature}`, 'Upstash-Caller-Ip: 127.0.0.1', `webhook-id: ${id}`,
            `webhook-timestamp: ${at}`, `webhook-signature: ${standard}`, 'Content-Length: 5', '', 'hello',
        ].join('\r\n'));
        await verify({ headers: { 'upstash-signature': signature }, text: 'hello', url });
    });

    test('Q10 the SDK and Standard Webhooks verify every delivery, and nothing else passes', async (t) => {
        const server = await start(t, store);
        const got = await receive(t);
        const client = sdk(server);
        await client.publish({ url: `${got.url}/text`, body: 'ü€ text' });
        await client.publishJSON({ url: `${got.url}/json?a=b`, body: { a: [1] } });
        await client.publish({ url: `${got.url}/none` });
        await client.publish({ url: `${got.url}/get`, method: 'GET', body: 'a GET may have one' });
        await client.publish({ url: `${got.url}/delete`, method: 'DELETE' });
        await got.came(5);
        const webhook = new Webhook(Buffer.from(devKeys.current).toString('base64'));
        for (const delivery of got) {
            assert.equal(await verify(delivery), true);
            const { headers } = delivery;
            const at = new Date(Number(headers['webhook-timestamp']) * 1000);
            assert.equal(webhook.sign(headers['webhook-id'], at, delivery.text), headers['webhook-signature']);
            assert.equal(headers['webhook-id'], delivery.id);
            await assert.rejects(verify({ ...delivery, url: `${delivery.url}/` }));
            await assert.rejects(verify({ ...delivery, text: `${delivery.text} ` }));
            await assert.rejects(verify(delivery, { current: 'sig_other', next: 'sig_other' }));
            const { iss, sub, nbf, exp, iat, jti, body } = claims(delivery);
            assert.deepEqual([iss, sub, nbf, exp - iat], ['Upstash', delivery.url, 0, 300]);
            assert.match(jti, /^jwt_/);
            assert.equal(body.length, 44, 'padded, as the vendor has it');
        }
        const json = got.find(({ path }) => path === '/json?a=b');
        assert.deepEqual(webhook.verify(json.text, json.headers), { a: [1] });
        assert.deepEqual(got.map(({ method }) => method).sort(), ['DELETE', 'GET', 'POST', 'POST', 'POST']);
        assert.equal(got.find(({ path }) => path === '/get').text, 'a GET may have one');
        assert.equal(new Set(got.map((delivery) => claims(delivery).jti)).size, 5);
        assert.equal(new Set(got.map(({ id }) => id)).size, 5);
    });

    // --- tried again ---

    test('Q10 Q3 over its retries a message keeps its id, and its count rises', async (t) => {
        const server = await start(t, store);
        let n = 0;
        const got = await receive(t, () => (n++ < 3 ? 500 : 204));
        const { messageId } = await sdk(server).publish({ url: `${got.url}/in`, body: 'x' });
        for (let i = 1; i <= 3; i++) {
            await retried(server, messageId, i);
            await server.advance(7 * HOUR);
        }
        await got.came(4);
        await reaches(server, messageId, DELIVERED);
        assert.deepEqual(got.map(({ id }) => id), Array(4).fill(messageId));
        assert.deepEqual(got.map(({ headers }) => headers['webhook-id']), Array(4).fill(messageId));
        assert.deepEqual(got.map(({ headers }) => headers['upstash-retried']), ['0', '1', '2', '3']);
        for (const delivery of got) assert.equal(await verify(delivery), true);
        assert.deepEqual(await states(server, messageId),
            [CREATED, ACTIVE, ERROR, RETRY, ACTIVE, ERROR, RETRY, ACTIVE, ERROR, RETRY, ACTIVE, DELIVERED]);
        assert.deepEqual(await balance(server), { delivered: 1, dead: 0, canceled: 0, live: 0 });
    });

    test('Q3 the backoff is e^(2.5 n) seconds, a day at most, and then it is a dead letter', async (t) => {
        const server = await start(t, store);
        const got = await receive(t, () => 500);
        const { messageId } = await sdk(server).publish({ url: got.url, retries: 5 });
        for (let i = 1; i <= 5; i++) {
            await retried(server, messageId, i);
            await server.advance(25 * HOUR);
        }
        await reaches(server, messageId, FAILED);
        assert.deepEqual(waits(await log(server, messageId)), [12182, 148413, 1808042, 22026466, 24 * HOUR]);
        assert.equal(got.length, 6);
        assert.deepEqual(await balance(server), { delivered: 0, dead: 1, canceled: 0, live: 0 });
        const line = await server.line('its death is logged', ({ message }) => message === 'A message became a dead letter');
        assert.equal(line.messageId, messageId);
        assert.equal(line.level, 'error');
    });

    test('Q3 what the receiver asks for moves the next try', async (t) => {
        const server = await start(t, store);
        const date = (s) => new Date(Date.now() + s * SECOND).toUTCString();
        const rows = [
            [{ 'Retry-After': '7' }, 7000], [{ 'Retry-After': '0' }, 1], [{ 'retry-after': ' 30 ' }, 30000],
            [{ 'Retry-After': '6m5s' }, 365000], [{ 'Retry-After': '250ms' }, 250], [() => ({ 'Retry-After': date(3600) }), 3600000],
            [() => ({ 'Retry-After': date(-3600) }), 1], [{ 'Retry-After': '86401' }, 12182], [{ 'Retry-After': 'soon' }, 12182],
            [{ 'X-RateLimit-Reset': '11' }, 11000], [{ 'X-RateLimit-Reset-Requests': '1h' }, 3600000],
            [{ 'X-RateLimit-Reset-Tokens': '90s' }, 90000],
            [{ 'X-RateLimit-Reset-Tokens': '90s', 'X-RateLimit-Reset': '5', 'Retry-After': '4' }, 4000],
            [{ 'X-RateLimit-Reset-Tokens': '90s', 'Retry-After': 'soon' }, 90000], [{}, 12182],
        ];
        const got = await receive(t, ({ path }) => {
            const [headers] = rows[Number(path.slice(1))];
            return [503, typeof headers === 'function' ? headers() : headers];
        });
        const client = sdk(server);
        for (const [i, [headers, ms]] of rows.entries()) {
            const { messageId } = await client.publish({ url: `${got.url}/${i}`, retries: 1 });
            await reaches(server, messageId, RETRY);
            const [waited] = waits(await log(server, messageId));
            const least = typeof headers === 'function' ? Math.max(1, ms - 20_000) : ms; // a date has whole seconds, and was said a moment ago
            assert.ok(waited >= least && waited <= ms, `${JSON.stringify(headers)} of row ${i}: ${waited}, not ${ms}`);
        }
    });

    test('Q3 489 ends it at once, but only with its header', async (t) => {
        const server = await start(t, store);
        const answers = {
            '/both': [489, { 'Upstash-NonRetryable-Error': 'true' }], '/status': 489,
            '/header': [500, { 'Upstash-NonRetryable-Error': 'true' }], '/false': [489, { 'Upstash-NonRetryable-Error': 'false' }],
            '/moved': [302, { Location: '/both' }], '/fine': [299],
        };
        const got = await receive(t, ({ path }) => answers[path]);
        const ends = { '/both': FAILED, '/status': RETRY, '/header': RETRY, '/false': RETRY, '/moved': RETRY, '/fine': DELIVERED };
        for (const [path, end] of Object.entries(ends)) {
            const { messageId } = await sdk(server).publish({ url: `${got.url}${path}`, retries: 1 });
            await reaches(server, messageId, end);
            assert.equal((await states(server, messageId)).at(-1), end, path);
        }
        assert.equal(got.length, 6, 'no redirect was followed');
        const { messages } = await sdk(server).dlq.listMessages();
        assert.equal(messages.length, 1);
        assert.equal(messages[0].responseStatus, 489);
    });

    test('Q3 an expression says how long to wait', async (t) => {
        const server = await start(t, store);
        const got = await receive(t, () => 500);
        const rows = [
            ['1000', [1000, 1000]], ['1000 * (1 + retried)', [1000, 2000]], ['pow(2, retried) * 500', [500, 1000]],
            ['0 - 5', [1, 1]], ['1 / retried', [12182, 1]], ['pow(10, 12)', [24 * HOUR, 24 * HOUR]],
        ];
        for (const [retryDelay, expected] of rows) {
            const { messageId } = await sdk(server).publish({ url: got.url, retries: 2, retryDelay });
            for (const n of [1, 2]) {
                await retried(server, messageId, n);
                await server.advance(25 * HOUR);
            }
            await reaches(server, messageId, FAILED);
            assert.deepEqual(waits(await log(server, messageId)), expected, retryDelay);
        }
    });

    test('Q3 a receiver that takes too long has failed, and its answer is not waited for', async (t) => {
        const server = await start(t, store);
        const hole = await blackHole(t);
        const { messageId } = await sdk(server).publish({ url: `http://${hole.host}/`, retries: 0, timeout: 1 });
        await reaches(server, messageId, FAILED);
        const [, active, error] = await log(server, messageId);
        assert.ok(error.at - active.at >= 900 && error.at - active.at < 10_000, `${error.at - active.at} ms`);
        assert.deepEqual([error.state, error.status], [ERROR, 0]);
        assert.match(error.error, /timeout/i);
        const [letter] = (await sdk(server).dlq.listMessages()).messages;
        assert.equal(letter.responseStatus, 0);
    });

    test('Q9 an answer of any length is taken, and what is kept of it has a limit', async (t) => {
        const server = await start(t, store);
        const got = await receive(t);
        const large = http.createServer((request, response) => {
            response.writeHead(200, { 'X-Large': 'x'.repeat(9000) });
            response.end('y'.repeat(2 << 20));
        });
        await new Promise((resolve) => large.listen(0, '127.0.0.1', resolve));
        t.atEnd(() => large.closeAllConnections() ?? large.close());
        const { messageId } = await sdk(server).publish({
            url: `http://127.0.0.1:${large.address().port}/`, callback: `${got.url}/back`, retries: 0,
        });
        await reaches(server, messageId, DELIVERED);
        await got.came(1);
        const told = JSON.parse(got[0].text);
        assert.equal(told.status, 200);
        assert.equal(Buffer.from(told.body, 'base64').toString(), 'y'.repeat(256 * 1024));
        assert.equal(told.header['X-Large'][0].length, 9000);
        await atRest(server);
    });

    // --- callbacks ---

    test('Q9 callbacks follow every attempt, the failure callback the last, all of them signed', async (t) => {
        const server = await start(t, store);
        const got = await receive(t, ({ path }) => (path === '/in' ? [503, { 'X-Why': 'busy', 'Retry-After': '1' }] : 200));
        const client = sdk(server);
        const { messageId } = await client.publish({
            url: `${got.url}/in`, body: 'the body', retries: 1, headers: { 'X-Mine': 'v', 'Content-Type': 'text/x' },
            callback: `${got.url}/callback`, failureCallback: `${got.url}/failure`,
        });
        await got.came(2);
        await retried(server, messageId, 1);
        await server.advance(2 * SECOND);
        await got.came(5);
        await atRest(server);
        assert.equal(got.length, 5);
        for (const delivery of got) assert.equal(await verify(delivery), true);
        const [letter] = (await client.dlq.listMessages()).messages;
        const back = got.filter(({ path }) => path === '/callback');
        const failed = got.filter(({ path }) => path === '/failure');
        assert.deepEqual([back.length, failed.length], [2, 1]);
        const common = {
            status: 503, body: '', maxRetries: 1, sourceMessageId: messageId, url: `${got.url}/in`, method: 'POST',
            sourceHeader: { 'X-Mine': ['v'], 'Content-Type': ['text/x'] }, sourceBody: Buffer.from('the body').toString('base64'),
            callerIP: '127.0.0.1',
        };
        for (const [delivery, retried, more] of [[back[0], 0, {}], [back[1], 1, {}], [failed[0], 1, { dlqId: letter.dlqId }]]) {
            const { header, notBefore, createdAt, ...told } = JSON.parse(delivery.text);
            assert.deepEqual(told, { ...common, retried, ...more });
            assert.deepEqual(header['X-Why'], ['busy']);
            assert.equal(notBefore, createdAt);
            assert.ok(Math.abs(createdAt - Date.now()) < HOUR);
            assert.equal(delivery.headers['content-type'], 'application/json');
            assert.equal(delivery.method, 'POST');
            assert.notEqual(delivery.id, messageId);
        }
        assert.equal(new Set(got.map(({ id }) => id)).size, 4);
        assert.deepEqual(await balance(server), { delivered: 3, dead: 1, canceled: 0, live: 0 });
    });

    test('Q9 a callback has retries and options of its own, and a dead letter of its own', async (t) => {
        const server = await start(t, store);
        const got = await receive(t, ({ path }) => (path === '/in' ? 200 : 500));
        const { messageId } = await sdk(server).publish({
            url: `${got.url}/in`, body: 'x', retries: 0, callback: `${got.url}/callback`,
            headers: {
                'Upstash-Callback-Retries': '1', 'Upstash-Callback-Method': 'PUT', 'Upstash-Callback-Retry-Delay': '1000',
                'Upstash-Callback-Forward-X-Key': 'k',
            },
        });
        await reaches(server, messageId, DELIVERED);
        await got.came(2);
        await until('the callback is put off', async () => (await server.db.all(`SELECT 1 FROM qstash_log WHERE state = ${RETRY}`)).length);
        await server.advance(SECOND);
        await atRest(server);
        assert.deepEqual(got.map(({ method, path, headers }) => [method, path, headers['x-key'], headers['upstash-retried']]), [
            ['POST', '/in', undefined, '0'], ['PUT', '/callback', 'k', '0'], ['PUT', '/callback', 'k', '1'],
        ]);
        assert.deepEqual(await balance(server), { delivered: 1, dead: 1, canceled: 0, live: 0 });
    });

    // --- gates ---

    test('Q9 a queue waits for its head, its retries and its callbacks', async (t) => {
        const server = await start(t, store);
        let fails = 1;
        const got = await receive(t, ({ path }) => (path === '/1' && fails-- > 0 ? 500 : 200));
        const queue = sdk(server).queue({ queueName: 'fifo' });
        const first = await queue.enqueue({ url: `${got.url}/1`, retryDelay: '60000', callback: `${got.url}/back` });
        for (const i of [2, 3, 4]) await queue.enqueue({ url: `${got.url}/${i}` });
        await reaches(server, first.messageId, RETRY);
        await until('the callback is delivered', () => got.some(({ path }) => path === '/back'));
        assert.equal((await queue.get()).lag, 4);
        await server.advance(30 * SECOND);
        assert.ok(!got.some(({ path }) => ['/2', '/3', '/4'].includes(path)), 'the head is between two tries');
        await server.advance(31 * SECOND);
        await atRest(server);
        assert.deepEqual(got.map(({ path }) => path), ['/1', '/back', '/1', '/back', '/2', '/3', '/4']);
        assert.equal((await queue.get()).lag, 0);
        await balance(server);
    });

    test('Q9 parallelism, and a pause that holds what has not begun', async (t) => {
        const server = await start(t, store);
        const got = await gatekeeper(t);
        const queue = sdk(server).queue({ queueName: 'wide' });
        await queue.upsert({ parallelism: 3 });
        for (let i = 0; i < 10; i++) await queue.enqueue({ url: `${got.url}/${i}` });
        await got.came(3);
        await queue.pause();
        got.release();
        await until('three ended', async () => (await queue.get()).lag === 7);
        await publishAndSee(server, got); // others go on meanwhile
        assert.equal(got.filter(({ path }) => path !== '/other').length, 3);
        await queue.resume();
        await until('three more', () => got.held() === 3);
        await queue.upsert({ parallelism: 1 });
        got.release();
        await until('one at a time', () => got.held() === 1);
        while ((await queue.get()).lag) {
            assert.ok(got.held() <= 1);
            got.release();
            await pause(5);
        }
        assert.deepEqual(got.filter(({ path }) => path !== '/other').slice(6).map(({ path }) => path), ['/6', '/7', '/8', '/9']);
        await balance(server);
    });

    test('Q9 a rate is so many starts in a period, and parallelism so many at a time', async (t) => {
        const server = await start(t, store);
        const got = await receive(t);
        const client = sdk(server);
        const flowControl = { key: 'psp', rate: 2, period: 60 };
        for (let i = 0; i < 7; i++) await client.publish({ url: `${got.url}/${i}`, flowControl });
        for (const sum of [2, 4, 6, 7]) {
            await got.came(sum);
            await server.advance(59 * SECOND);
            assert.equal(got.length, sum);
            await server.advance(SECOND);
        }
        assert.deepEqual(got.map(({ path }) => path).sort(), [0, 1, 2, 3, 4, 5, 6].map((i) => `/${i}`), 'each once');
        const slow = await gatekeeper(t);
        for (let i = 0; i < 5; i++) await client.publish({ url: `${slow.url}/${i}`, flowControl: { key: 'narrow', parallelism: 2 } });
        await until('two at a time', () => slow.held() === 2);
        const { parallelismCount, waitListSize } = await until('three wait', async () => {
            const flow = await client.flowControl.get('narrow');
            return flow.waitListSize === 3 && flow;
        });
        assert.deepEqual([parallelismCount, waitListSize], [2, 3]);
        while (await live(server)) {
            assert.ok(slow.held() <= 2);
            slow.release(1);
            await pause(5);
        }
        assert.equal(slow.length, 5);
        await balance(server);
    });

    test('Q9 what is delayed comes in the order of its time', async (t) => {
        const server = await start(t, store);
        const got = await receive(t);
        const client = sdk(server);
        for (const delay of [40, 10, 30, 20]) await client.publish({ url: `${got.url}/${delay}`, delay });
        await client.publish({ url: `${got.url}/0` });
        await got.came(1);
        for (let i = 2; i <= 5; i++) {
            await server.advance(10 * SECOND);
            await got.came(i);
            assert.equal(got.length, i);
        }
        assert.deepEqual(got.map(({ path }) => path), ['/0', '/10', '/20', '/30', '/40']);
    });

    // --- destinations ---

    test('Q9 Q12 20,000 messages to a receiver that never answers hold up nobody else', { timeout: 280_000 }, async (t) => {
        const server = await start(t, store);
        const hole = await blackHole(t);
        const got = await receive(t);
        const client = sdk(server);
        for (let i = 0; i < 20; i++) await client.batch(Array(1000).fill({ url: `http://${hole.host}/`, retries: 0, timeout: '15m' }));
        await client.batch(Array(1000).fill({ url: got.url, retries: 0 }));
        const began = Date.now();
        await got.came(1000, 100_000);
        t.diagnostic(`the 1,000 came within ${Date.now() - began} ms of the last publish`);
        assert.ok(hole.connections.size <= 256, `${hole.connections.size} at a time`);
        await until('they have ended', async () => (await live(server)) === 20_000);
        assert.equal((await balance(server)).delivered, 1000);
        const before = (await server.metrics()).get('ichido_delivery_total', { result: 'put_off' });
        await pause(3000); // time is the subject here: a line that does not move is not leased over and over
        const after = (await server.metrics()).get('ichido_delivery_total', { result: 'put_off' });
        assert.ok(after - before < 4000, `${after - before} put off in three seconds`);
        const more = await client.publish({ url: got.url });
        await reaches(server, more.messageId, DELIVERED);
        await server.kill(); // its calls would be waited for
    });

    test('Q9 a receiver that is down loses nobody a try, and its messages end in their own time', async (t) => {
        const server = await start(t, store);
        const closed = await refusing(t);
        const { messageId } = (await sdk(server).batch(Array(40).fill({ url: closed, retries: 0 })))[39];
        await reaches(server, messageId, FAILED, 30_000);
        await atRest(server, 30_000);
        assert.equal((await balance(server)).dead, 40, 'each was tried, and is a dead letter');
    });

    test('Q9 a receiver that comes back gets all that waited, each counted as its own tries', async (t) => {
        const server = await start(t, store);
        const door = await reopening(t);
        await door.close();
        const all = await sdk(server).batch(Array(200).fill({ url: door.url, retries: 5, retryDelay: '1000' }));
        await until('some failed', async () => (await server.db.count('qstash_log', `state = ${ERROR}`)) >= 10);
        await door.open();
        await until('all came', async () => {
            await server.advance(5 * SECOND);
            return (await live(server)) === 0;
        }, 60_000);
        assert.deepEqual(new Set(door.got.map(({ id }) => id)), new Set(all.map(({ messageId }) => messageId)));
        assert.equal((await balance(server)).delivered, 200);
    });

    // --- the guard ---

    test('Q10 with the guard on nothing goes to a private address, by number or by name', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_QSTASH_PRIVATE: 'off' } });
        const got = await receive(t);
        const port = new URL(got.url).port;
        for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '169.254.169.254', 'localhost'])
            await assert.rejects(sdk(server).publish({ url: `http://${host}:${port}/` }), ({ status }) => status === 400, host);
        assert.equal(await server.db.count('qstash_messages'), 0);
        const name = await privateName(); // what it stands for is known only when it is called
        const { messageId } = await sdk(server).publish({ url: `http://${name}:${port}/`, retries: 0 });
        await reaches(server, messageId, FAILED);
        assert.match((await log(server, messageId)).find(({ state }) => state === ERROR).error, /not public/);
        assert.equal(got.length, 0);
    });

    // --- crashes ---

    test('Q7 killed between the answer and the commit, the same attempt is made again', async (t) => {
        const server = launch(t, await fresh(t, store), { env: { ICHIDO_FAULTS: 'qstash.answered=crash@2' } });
        await server.listening();
        const got = await receive(t);
        const client = sdk(server);
        const first = await client.publish({ url: got.url, body: 'x' });
        await reaches(server, first.messageId, DELIVERED);
        const { messageId } = await client.publish({ url: got.url, body: 'y' });
        await server.exit;
        assert.equal(got.length, 2);
        const next = await start(t, store, { db: server.db });
        await reaches(next, messageId, DELIVERED, 30_000);
        assert.deepEqual(got.map(({ id, headers }) => [id, headers['upstash-retried']]),
            [[first.messageId, '0'], [messageId, '0'], [messageId, '0']]);
        assert.deepEqual(await states(next, messageId), [CREATED, ACTIVE, ACTIVE, DELIVERED]);
        assert.deepEqual(await balance(next), { delivered: 2, dead: 0, canceled: 0, live: 0 });
    });

    test('Q7 Q9 kill -9 of server and receiver under load: all arrive, and each ends once', { timeout: 200_000 }, async (t) => {
        const db = await fresh(t, store);
        const door = await receiverProcess(t);
        const published = [];
        let server;
        const options = () => ({
            retries: 50, retryDelay: '100', url: `${door.url}/in`, callback: `${door.url}/back`,
        });
        for (let round = 0; round < 4; round++) {
            server = launch(t, db, {});
            await server.listening();
            const client = sdk(server);
            const queue = client.queue({ queueName: 'q' });
            await queue.upsert({ parallelism: 2 });
            for (let i = 0; i < 5; i++) {
                const sent = await client.batch([
                    ...Array(20).fill(options()), ...Array(5).fill({ ...options(), queueName: 'q' }),
                    ...Array(5).fill({ ...options(), flowControl: { key: 'k', parallelism: 2 } }),
                ]);
                published.push(...sent.map(({ messageId }) => messageId));
            }
            await until('some are delivered', () => door.ids.length >= 30 * (round + 1));
            if (round % 2) await door.kill();
            await server.kill();
            if (round % 2) await door.start();
        }
        server = await start(t, store, { db });
        await until('all has ended', async () => {
            await server.advance(2 * SECOND);
            return (await live(server)) === 0;
        }, 90_000);
        const arrived = new Set(door.ids);
        assert.equal(published.length, 600);
        assert.deepEqual(published.filter((id) => !arrived.has(id)), [], 'each was delivered at least once');
        const sum = await balance(server);
        assert.deepEqual([sum.dead, sum.canceled, sum.live], [0, 0, 0]);
        t.diagnostic(`${published.length} published, ${door.ids.length} requests, ${sum.delivered} delivered with callbacks`);
    });
});

// --- helpers that need more than a line ---

async function publishAndSee(server, got) {
    const { messageId } = await sdk(server).publish({ url: `${got.url}/other` });
    await until('another one comes', () => got.some(({ path }) => path === '/other'));
    got.release();
    await reaches(server, messageId, DELIVERED);
}

// A name that this machine knows without asking anybody, and that is not public.
async function privateName() {
    for (const name of [os.hostname(), 'ip6-localhost', 'ip6-loopback', 'localhost.localdomain']) {
        const { address = '' } = await dns.lookup(name).catch(() => ({}));
        if (/^(127\.|10\.|172\.(1[6-9]|2\d|3[01])\.|192\.168\.|::1$|f[cde])/.test(address)) return name;
    }
    throw new Error('this machine has no name for a private address: see /etc/hosts');
}

// A port that nobody listens on.
async function refusing(t) {
    const door = await reopening(t);
    await door.close();
    return door.url;
}

// A receiver that can go and come back on the same port.
async function reopening(t) {
    const got = [];
    const port = await freePort();
    let server;
    const open = async () => {
        server = http.createServer((request, response) => {
            got.push({ id: request.headers['upstash-message-id'] });
            request.resume().on('end', () => response.end());
        });
        await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
    };
    const close = () => new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
    });
    await open();
    t.atEnd(close);
    return { got, open, close, url: `http://127.0.0.1:${port}/` };
}

// A receiver in a process of its own, so that it can be killed in the middle of an answer. It says each id it got.
async function receiverProcess(t) {
    const code = `
        const server = require('node:http').createServer((request, response) => {
            request.resume().on('end', () => {
                process.stdout.write(request.headers['upstash-message-id'] + '\\n');
                setTimeout(() => response.end('ok'), 2);
            });
        });
        server.listen(Number(process.argv[1]), '127.0.0.1', () => console.log('port ' + server.address().port));`;
    const door = { ids: [], port: await freePort() };
    door.start = async () => {
        door.child = spawn(process.execPath, ['-e', code, String(door.port)], { stdio: ['ignore', 'pipe', 'inherit'] });
        await new Promise((resolve) => readline.createInterface({ input: door.child.stdout }).on('line', (line) => {
            if (!line.startsWith('port ')) return door.ids.push(line);
            door.port = Number(line.slice(5));
            resolve();
        }));
    };
    door.kill = () => new Promise((resolve) => {
        door.child.once('close', resolve);
        door.child.kill('SIGKILL');
    });
    await door.start();
    t.atEnd(() => door.kill());
    door.url = `http://127.0.0.1:${door.port}`;
    return door;
}
