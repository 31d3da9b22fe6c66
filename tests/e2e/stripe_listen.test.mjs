// `stripe listen`, the real one, against our sandbox: it must not notice the difference (G3, T3). Where
// a listener misbehaves on purpose it is a bare WebSocket.
import http from 'node:http';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { remember } from './lib/evidence.mjs';
import { assert, forEachStore, fresh, launch, start, stores, stripe as judge, test, until, WEBHOOK } from './lib/harness.mjs';
import { freePort } from './lib/ports.mjs';
import { ask, KEY, meet, open } from './lib/sandbox.mjs';
import { baseOf, listen, run } from './lib/stripe_cli.mjs';
import { frame, WebSocketClient } from './lib/websocket.mjs';

const WINDOW = 16; // LIMIT_RELAY_WINDOW
const SUBSCRIBE = '/v1/stripecli/subscribe?websocket_feature=webhooks';
const card = (more = {}) => ({ amount: 1200, currency: 'jpy', payment_method: 'pm_card_visa', confirm: true, ...more });

// A receiver of the test's own, which no restart of ours takes down.
async function receiver(t, answer = () => 200) {
    const got = [];
    const server = http.createServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', () => {
            const body = Buffer.concat(parts).toString();
            got.push({ body, headers: request.headers, event: JSON.parse(body) });
            response.writeHead(answer()).end();
        });
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    t.atEnd(() => {
        server.closeAllConnections();
        server.close();
    });
    const ids = () => new Set(got.map((one) => one.event.id));
    return { got, ids, url: `http://127.0.0.1:${server.address().port}/hook` };
}

const eventIds = async (control) => (await control.events()).map((event) => event.id);

// All events that the sandbox has from now on, at this receiver.
const hasAll = (hook, control, least) => until('every event was forwarded', async () => {
    const ids = await eventIds(control);
    return ids.length >= least && ids.every((id) => hook.ids().has(id));
}, 60_000);

async function session(port, device = 'bare') {
    const { status, text } = await ask(port, 'POST', '/v1/stripecli/sessions', {
        headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/x-www-form-urlencoded' },
        body: `device_name=${device}&websocket_features[]=webhooks`,
    });
    const body = JSON.parse(text);
    if (body.secret) remember(body.secret);
    return { status, ...body };
}

const dial = (t, port, id, headers = {}) => {
    const socket = new WebSocketClient(port, SUBSCRIBE, { 'Websocket-Id': id, ...headers });
    t.atEnd(() => socket.end());
    return socket.answered();
};

const messages = (socket) => socket.texts.map((text) => JSON.parse(text));
const eventsOf = (socket) => messages(socket).map(({ event_payload }) => JSON.parse(event_payload));
const acknowledge = (socket, { webhook_conversation_id, webhook_id }) =>
    socket.send({ type: 'event_ack', event_id: webhook_id, webhook_conversation_id, webhook_id });
const waiting = (server) => Number(execFileSync('sqlite3', ['-readonly', path.join(server.db.folder, 'sandbox.db'),
    'SELECT count(*) FROM sandbox_relay_waiting'], { encoding: 'utf8' }));

// --- the real command line ---

test('T3 stripe listen --print-secret prints a secret that a device keeps', async (t) => {
    const db = await fresh(t, stores[0]);
    const ports = { ICHIDO_SANDBOX_LISTEN: `127.0.0.1:${await freePort()}` };
    const server = await start(t, stores[0], { db, env: ports });
    const print = async (server, device) => {
        const options = { apiBase: baseOf(server), env: { STRIPE_DEVICE_NAME: device } };
        const { code, stdout } = await run(['listen', '--print-secret'], options);
        assert.equal(code, 0);
        assert.match(stdout, /^whsec_[0-9a-f]{64}\n$/);
        remember(stdout.trim());
        return stdout;
    };
    const first = await print(server, 'desk');
    assert.equal(await print(server, 'desk'), first);
    assert.notEqual(await print(server, '机 & <desk>'), first);
    await server.kill();
    const again = await start(t, stores[0], { db, env: ports });
    assert.equal(await print(again, 'desk'), first);
});

forEachStore((store, test) => {
    test('T3 a payment made at the sandbox reaches Ichido through stripe listen, verified and applied', async (t) => {
        const db = await fresh(t, store);
        const first = await start(t, store, { db });
        const { stdout } = await run(['listen', '--print-secret'], { apiBase: baseOf(first) });
        remember(stdout.trim());
        await first.stop();

        const server = await start(t, store, { db, env: { STRIPE_WEBHOOK_SECRET: stdout.trim() } });
        const { control } = await meet(server);
        await control.webhooks({ on: false }); // nothing comes by itself
        const cli = await listen(t, server, ['--all-snapshot', '--forward-to', `http://127.0.0.1:${server.port}${WEBHOOK}`]);
        assert.equal(cli.secret, stdout.trim());

        const payment = await server.paid({ paymentMethod: 'pm_card_authenticationRequired' });
        assert.equal(payment.status, 'PENDING');
        await server.authenticate(payment);
        await until('the payment is authorised', async () => (await server.call('GET', `/payments/${payment.id}`,
            { as: payment.userId })).body.status === 'AUTHORIZED', 30_000);
        const [event] = await control.events('payment_intent.amount_capturable_updated');
        assert.equal((await server.settled(event.id)).outcome, 'applied');
        await cli.waitFor(new RegExp(`<--.*\\[204\\] POST .*\\[${event.id}\\]`));
    });
});

test('T3 stripe listen --events forwards those and acknowledges the others', async (t) => {
    const { server, stripe, control } = await open(t);
    const hook = await receiver(t);
    const cli = await listen(t, server, ['--events', 'payment_intent.succeeded,refund.created', '--forward-to', hook.url]);
    const intent = await stripe.paymentIntents.create(card());
    await stripe.refunds.create({ payment_intent: intent.id });
    await until('both came', () => hook.got.length >= 2);
    await until('all are acknowledged', () => waiting(server) === 0);
    assert.deepEqual(hook.got.map((one) => one.event.type).sort(), ['payment_intent.succeeded', 'refund.created']);
    assert.ok((await eventIds(control)).length > 4);
    await cli.stop();
});

test('G3 what stripe listen forwards is signed with the secret it shows, and is what the API says', async (t) => {
    const { server, stripe, control } = await open(t);
    const hook = await receiver(t);
    const cli = await listen(t, server, ['--all-snapshot', '--forward-to', hook.url]);
    await stripe.paymentIntents.create(card({ description: '領収書 "¥1,200" \\ 😀\u2028' }));
    await hasAll(hook, control, 4);
    for (const { body, headers } of hook.got) {
        const event = judge.webhooks.constructEvent(body, headers['stripe-signature'], cli.secret);
        assert.equal(body, JSON.stringify(event, null, 2));
        assert.match(headers['user-agent'], /^Stripe\/1\.0/);
        assert.throws(() => judge.webhooks.constructEvent(body, headers['stripe-signature'], `${cli.secret}0`));
    }
});

test('G3 two listeners both get everything, each with a secret of its own', async (t) => {
    const { server, port, stripe, control } = await open(t);
    const strict = await ask(port, 'POST', '/_sandbox/strict',
        { body: '{"on":true}', headers: { 'Content-Type': 'application/json' } });
    assert.equal(strict.status, 200); // what the CLI sends is known there, too
    const hooks = [await receiver(t), await receiver(t, () => 500)];
    const clis = [];
    for (const [i, hook] of hooks.entries()) {
        const device = { env: { STRIPE_DEVICE_NAME: `device-${i}` } };
        clis.push(await listen(t, server, ['--all-snapshot', '--forward-to', hook.url], device));
    }
    assert.notEqual(clis[0].secret, clis[1].secret);
    for (let i = 0; i < 5; i++) await stripe.paymentIntents.create(card());
    for (const [i, hook] of hooks.entries()) {
        await hasAll(hook, control, 20);
        assert.equal(hook.got.length, hook.ids().size, 'each once, also where the receiver failed');
        for (const { body, headers } of hook.got)
            judge.webhooks.constructEvent(body, headers['stripe-signature'], clis[i].secret);
    }
});

for (const how of ['stop', 'kill']) {
    test(`G3 stripe listen connects again after the sandbox's end (${how}), and nothing is lost`, async (t) => {
        const db = await fresh(t, stores[0]);
        const env = { ICHIDO_SANDBOX_LISTEN: `127.0.0.1:${await freePort()}` };
        const server = launch(t, db, { env });
        await server.listening();
        const before = await meet(server);
        const hook = await receiver(t);
        await listen(t, server, ['--all-snapshot', '--forward-to', hook.url]);
        await before.stripe.paymentIntents.create(card());
        await hasAll(hook, before.control, 4);
        await server[how]();

        const again = await start(t, stores[0], { db, env });
        const after = await meet(again);
        await after.stripe.paymentIntents.create(card()); // nobody is connected yet
        await hasAll(hook, after.control, 8);
        await again.line('it has connected again', (l) => l.message === 'sandbox listener connected');
        await after.stripe.paymentIntents.create(card());
        await hasAll(hook, after.control, 12);
        await until('all are acknowledged', () => waiting(again) === 0);
    });
}

test('G3 stripe listen makes a new session where the sandbox has forgotten its own', async (t) => {
    const db = await fresh(t, stores[0]);
    const env = { ICHIDO_SANDBOX_LISTEN: `127.0.0.1:${await freePort()}` };
    const server = launch(t, db, { env });
    await server.listening();
    const hook = await receiver(t);
    const cli = await listen(t, server, ['--all-snapshot', '--forward-to', hook.url]);
    await server.kill();
    execFileSync('sqlite3', [path.join(db.folder, 'sandbox.db'), 'DELETE FROM sandbox_relay_sessions']);
    const again = await start(t, stores[0], { db, env });
    await again.line('it has connected again', (l) => l.message === 'sandbox listener connected', 60_000);
    const { stripe, control } = await meet(again);
    await stripe.paymentIntents.create(card());
    await hasAll(hook, control, 4);
    for (const { body, headers } of hook.got) // the device is the same
        judge.webhooks.constructEvent(body, headers['stripe-signature'], cli.secret);
});

// --- listeners that misbehave ---

test('G3 a listener that acknowledges nothing gets a window of events, and all others when it does', async (t) => {
    const { server, port, stripe, control } = await open(t);
    const { websocket_id, secret } = await session(port);
    const socket = await dial(t, port, websocket_id, { 'Sec-WebSocket-Protocol': 'stripecli-devproxy-v1' });
    assert.equal(socket.status, 101);
    assert.match(socket.head, /Sec-WebSocket-Protocol: stripecli-devproxy-v1/);
    for (let i = 0; i < 10; i++) await stripe.paymentIntents.create(card());
    await until('all events wait', () => waiting(server) === 40);
    await until('the window is full', () => socket.texts.length === WINDOW);
    await socket.ping();
    assert.equal(socket.texts.length, WINDOW);
    for (const noise of ['', 'no JSON', '[]', '{"type":"event_ack"}', '{"type":"event_ack","webhook_conversation_id":"wc_sandbox_40"}',
        '{"type":"event_ack","webhook_conversation_id":"wc_sandbox_99999999999999999999"}', '{"type":7,"webhook_conversation_id":{}}',
        '{"type":"webhook_response","status":"?","webhook_conversation_id":"wc_sandbox_1"}']) socket.send(noise);
    await socket.ping();
    assert.equal(waiting(server), 40, 'none of that is an acknowledgement of what was sent');
    for (let i = 0; i < 40; i++) {
        await until(`message ${i}`, () => socket.texts.length > i);
        acknowledge(socket, messages(socket)[i]);
        acknowledge(socket, messages(socket)[i]);
    }
    await until('nothing waits', () => waiting(server) === 0);
    await socket.ping();
    assert.equal(socket.texts.length, 40, 'each once');
    assert.deepEqual(new Set(eventsOf(socket).map((event) => event.id)), new Set(await eventIds(control)));
    for (const { event_payload, http_headers, endpoint } of messages(socket)) {
        judge.webhooks.constructEvent(event_payload, http_headers['Stripe-Signature'], secret);
        assert.equal(endpoint.api_version, null);
    }
});

test('G3 what was sent and not acknowledged is sent again over the next connection, also after kill -9', async (t) => {
    const db = await fresh(t, stores[0]);
    const server = launch(t, db);
    await server.listening();
    const { port, stripe } = await meet(server);
    const { websocket_id } = await session(port);
    const first = await dial(t, port, websocket_id);
    for (let i = 0; i < 2; i++) await stripe.paymentIntents.create(card());
    await until('all came', () => first.texts.length === 8);
    acknowledge(first, messages(first)[2]);
    await until('one is acknowledged', () => waiting(server) === 7);

    const second = await dial(t, port, websocket_id); // the first one is still there, and gives way
    await until('the others came again', () => second.texts.length === 7);
    await until('the first was closed', () => first.closed);
    assert.equal(first.closed.code, 1000);
    const expected = eventsOf(first).map((event) => event.id);
    expected.splice(2, 1);
    assert.deepEqual(eventsOf(second).map((event) => event.id), expected, 'in the order they came');
    acknowledge(second, messages(second)[0]);
    await until('another is', () => waiting(server) === 6);
    await server.kill();

    const again = await start(t, stores[0], { db });
    const third = await dial(t, again.sandboxPort, websocket_id);
    await until('the rest came again', () => third.texts.length === 6);
    assert.deepEqual(eventsOf(third).map((event) => event.id), expected.slice(1));
    acknowledge(third, messages(second)[3]); // a number means the same over every connection
    await until('it counts', () => waiting(again) === 5);
});

test('G3 a session gets what happened while it lived, and nothing of before', async (t) => {
    const { server, port, stripe, control } = await open(t);
    const early = await stripe.paymentIntents.create(card());
    await until('its events are there', async () => (await eventIds(control)).length >= 4);
    const { websocket_id } = await session(port);
    await stripe.paymentIntents.create(card()); // before it is connected, but it lives
    await until('they wait', () => waiting(server) === 4);
    const socket = await dial(t, port, websocket_id);
    await until('they came', () => socket.texts.length === 4);
    assert.ok(eventsOf(socket).every((event) => (event.data.object.payment_intent ?? event.data.object.id) !== early.id));
    socket.end();
    await server.line('it left', (l) => l.message === 'sandbox listener left');
    await stripe.paymentIntents.create(card());
    await until('they wait for it', () => waiting(server) === 8);
    await server.advance(11 * 60_000); // too long
    const late = await dial(t, port, websocket_id);
    assert.equal(late.status, 400);
    await stripe.paymentIntents.create(card());
    await until('what waited is forgotten', () => waiting(server) === 0);
});

test('G3 stripe events resend reaches a listener, also with an event from before it', async (t) => {
    const { server, stripe, control } = await open(t);
    await stripe.paymentIntents.create(card());
    await until('its events are there', async () => (await eventIds(control)).length >= 4);
    const hook = await receiver(t);
    await listen(t, server, ['--all-snapshot', '--forward-to', hook.url]);
    const [id] = await eventIds(control);
    const { code } = await run(['events', 'resend', id], { apiBase: baseOf(server) });
    assert.equal(code, 0);
    await until('it came', () => hook.ids().has(id));
    assert.equal(hook.got.length, 1);
});

// --- the door ---

test('G3 whoever is no known listener is told so in the words that make the CLI ask for a session', async (t) => {
    const { server, port } = await open(t);
    for (const id of ['cliws_nobody', undefined, 'x'.repeat(300), "' OR 1=1 --"]) {
        const socket = await dial(t, port, id);
        assert.equal(socket.status, 400);
        assert.equal(JSON.parse(socket.bytes).error.message, 'Unknown WebSocket ID.');
    }
    const { websocket_id } = await session(port);
    const plain = await ask(port, 'GET', SUBSCRIBE, { headers: { 'Websocket-Id': websocket_id } });
    assert.equal(plain.status, 400);
    assert.match(JSON.parse(plain.text).error.message, /WebSocket/);
    const old = await dial(t, port, websocket_id, { 'Sec-WebSocket-Version': '8' });
    assert.equal(old.status, 400);
    assert.match(old.head, /Sec-WebSocket-Version: 13/);
    assert.ok(!server.ended);
});

test('G3 a session needs a key, a device and a feature that there is', async (t) => {
    const { port } = await open(t);
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const authorised = { ...form, Authorization: `Bearer ${KEY}` };
    const rows = [
        ['no key', form, 'device_name=a&websocket_features[]=webhooks', 401],
        ['a live key', { ...form, Authorization: 'Bearer sk_live_0123456789abc' }, 'device_name=a&websocket_features[]=webhooks', 401],
        ['no device', authorised, 'websocket_features[]=webhooks', 400, 'device_name'],
        ['an empty one', authorised, 'device_name=&websocket_features[]=webhooks', 400, 'device_name'],
        ['a long one', authorised, `device_name=${'d'.repeat(201)}&websocket_features[]=webhooks`, 400, 'device_name'],
        ['one with fields', authorised, 'device_name[a]=b&websocket_features[]=webhooks', 400, 'device_name'],
        ['no feature', authorised, 'device_name=a', 400, 'websocket_features'],
        ['another feature', authorised, 'device_name=a&websocket_features[]=request_logs', 400, 'websocket_features'],
    ];
    for (const [why, headers, body, status, param] of rows) {
        const answer = await ask(port, 'POST', '/v1/stripecli/sessions', { headers, body });
        assert.equal(answer.status, status, `${why}: ${answer.text}`);
        assert.equal(JSON.parse(answer.text).error.param, param, why);
    }
});

test('G3 a hundred listeners may be connected; who only asked gives way, the next one gets 429', async (t) => {
    const { server, port, stripe } = await open(t);
    const forgotten = await session(port, 'never-connects');
    const sockets = [];
    for (let i = 0; i < 100; i++) {
        const made = await session(port, `device-${i}`);
        assert.equal(made.status, 200);
        sockets.push(await dial(t, port, made.websocket_id));
        assert.equal(sockets[i].status, 101);
    }
    assert.equal((await dial(t, port, forgotten.websocket_id)).status, 400, 'it gave way');
    const { code, stderr, stdout } = await run(['listen', '--all-snapshot', '--skip-update'], { apiBase: baseOf(server) });
    assert.notEqual(code, 0);
    assert.match(stderr + stdout, /Too many|too many/);
    await stripe.paymentIntents.create(card());
    await until('each got it', () => sockets.every((socket) => socket.texts.length === 4), 30_000);
    sockets[0].end();
    await server.line('it left', (l) => l.message === 'sandbox listener left');
    await until('there is room', async () => (await session(port, 'next')).status === 200);
});

test('G3 frames that no client sends end the connection with a code, and the sandbox goes on', async (t) => {
    const { server, port, stripe } = await open(t);
    const rows = [
        ['not masked', Buffer.from([0x81, 0x01, 0x61]), 1002],
        ['a reserved bit', Buffer.from([0xc1, 0x80, 0, 0, 0, 0]), 1002],
        ['binary', frame(2, 'x'), 1003],
        ['not UTF-8', frame(1, Buffer.from([0xff])), 1007],
        ['too long', Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x20, 0, 1, 0, 0, 0, 0]), 1009],
        ['a long ping', Buffer.from([0x89, 0xfe, 0, 126, 0, 0, 0, 0]), 1002],
        ['goodbye', frame(8, Buffer.from([0x03, 0xe8])), 1000],
    ];
    for (const [why, bytes, code] of rows) {
        const { websocket_id } = await session(port);
        const socket = await dial(t, port, websocket_id);
        socket.socket.write(bytes);
        await until(why, () => socket.closed);
        assert.equal(socket.closed.code, code, why);
    }
    const { websocket_id } = await session(port);
    const socket = await dial(t, port, websocket_id);
    await stripe.paymentIntents.create(card());
    await until('it works', () => socket.texts.length === 4);
    const stopped = server.stop();
    await until('the end is announced', () => socket.closed);
    assert.equal(socket.closed.code, 1001);
    assert.deepEqual(await stopped, { code: 0, signal: null });
});
