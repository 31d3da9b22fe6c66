// Webhooks that never came: a job reads the provider's event list and brings everything to the right state,
// once (E11). Whatever the list says that cannot be true changes nothing.
import http from 'node:http';
import { startFull } from './lib/backlog.mjs';
import {
    assert, event, forEachStore, fresh, launch, pause, start, stores, test, until,
} from './lib/harness.mjs';
import { quiet } from './lib/purchases.mjs';
import { meet } from './lib/sandbox.mjs';
import { FakeQStash, referenceTo } from './lib/upstash.mjs';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const EVERY = 5 * MINUTE;
const HEALING = { ICHIDO_HEAL_MS: `${EVERY}` };

const healed = (server) => server.db.events(`request_id = 'heal'`);
const ran = (server) => server.db.all('SELECT * FROM heal_cursor').then((rows) => rows[0]);

// No look is due or under way: one that ended after the clock was moved would count its next period from there.
const rested = (server) => until('the job rests', async () => (await server.db.count('message',
    `kind = 'stripe.heal' AND (owner IS NOT NULL OR due_at <= ${server.nowSeconds() * 1000})`)) === 0);

// Moves the clock until the job has looked through a window that ends behind now.
async function heal(server, { killed = false } = {}) {
    const before = server.nowSeconds() * 1000;
    await until('the job has looked', async () => {
        const row = await ran(server);
        if (row && row.until_at === null && row.done_at >= before) return true;
        if (!killed) await rested(server); // the lease of a killed node lasts until time moves
        await server.advance(EVERY);
        return false;
    }, 40_000);
    if (!killed) await rested(server);
    await until('all events have their outcome', async () => {
        const open = await server.db.all(`SELECT e.stripe_event_id FROM webhook_events e
            LEFT JOIN webhook_outcomes o ON o.message_id = e.message_id WHERE o.message_id IS NULL`);
        if (open.length) await server.advance(EVERY); // a node that was killed may have been ahead of us
        return open.length === 0;
    }, 30_000);
}

// An hour as it passes: the job looks every five minutes.
async function pass(server, ms) {
    for (let left = ms; left > 0; left -= EVERY) {
        await server.advance(EVERY);
        await until('what was due is done', async () => (await server.db.count('message',
            `kind <> 'charge.refunds' AND (owner IS NOT NULL OR due_at <= ${server.nowSeconds() * 1000})`)) === 0);
    }
}

// The sandbox's events that are worth a row, all of them, by its own list.
async function listed(server) {
    const all = [];
    for (let after = ''; ;) {
        const page = await server.stripe(`/events?limit=100${after}`);
        all.push(...page.data.filter((one) => one.type !== 'payment_intent.created'));
        if (!page.has_more) return all;
        after = `&starting_after=${page.data.at(-1).id}`;
    }
}

const stateOf = async (server, payment) => {
    const { body } = await server.payment(payment, 'admin');
    return [body.status, body.capturedAmount, body.refundedAmount];
};

// What a payment's owner may see, and what it became, without times.
const STATE = ['payments', 'refunds', 'payment_transactions'];
async function business(db) {
    const all = {};
    for (const table of STATE)
        all[table] = (await db.table(table)).map(({ updated_at: u, webhook_received_at: w, ...row }) => row);
    const told = await db.all('SELECT type, dedupe FROM domain_events ORDER BY dedupe, type');
    const notices = await db.all('SELECT type, count(*) AS n FROM notifications GROUP BY type ORDER BY type');
    return JSON.stringify([all, told, notices]);
}

forEachStore((store, test_) => {
    test_('E11 webhooks off for an hour: made, captured, refunded, 3-D Secure finished; the list heals it all, once', async (t) => {
        const server = await start(t, store, { env: HEALING });
        await server.webhooks({ on: false });
        const captured = await server.captured();
        const refunded = await server.captured();
        assert.equal((await server.refund(refunded, 500)).status, 200);
        const secure = await server.paid({ paymentMethod: 'pm_card_authenticationRequired' });
        assert.equal(secure.status, 'PENDING');
        await pass(server, HOUR / 2);
        await server.authenticate(secure);
        assert.deepEqual(await stateOf(server, secure), ['PENDING', null, null], 'nobody told us');
        // A refund at the provider's own dashboard: only the list can tell of it.
        const { stripe } = await meet(server);
        await stripe.refunds.create({ payment_intent: captured.gatewayTransactionId, amount: 200 });
        await pass(server, HOUR / 2);
        await heal(server);
        assert.ok((await server.db.events()).every((one) => one.request_id === 'heal'), 'not one webhook came');
        assert.deepEqual(await stateOf(server, secure), ['AUTHORIZED', null, null]);
        assert.deepEqual(await stateOf(server, captured), ['CAPTURED', 1200, 200]);
        assert.deepEqual(await stateOf(server, refunded), ['CAPTURED', 1200, 500]);

        const brought = await healed(server);
        const wanted = (await listed(server)).map((one) => one.id);
        assert.deepEqual(new Set(brought.map((one) => one.stripe_event_id)), new Set(wanted));
        const metrics = await server.metrics();
        assert.equal(metrics.get('ichido_webhook_healed_total'), brought.length);
        const audit = await server.db.audit(`operation = 'WEBHOOK_HEALED'`);
        assert.equal(audit.reduce((sum, one) => sum + one.times, 0), brought.length);
        await server.line('it is said', (l) => l.level === 'warn' && /never came were taken/.test(l.message));
        assert.equal((await server.db.dead()).length, 0);

        const before = await business(server.db);
        await server.webhooks({ on: true });
        for (const one of wanted) await server.sandbox('POST', `/events/${one}/resend`);
        await until('the webhooks come after all, as duplicates', async () => {
            const { metric } = { metric: await server.metrics() };
            return metric.get('ichido_webhook_duplicate_total') >= wanted.length;
        }, 30_000);
        await heal(server);
        assert.equal(await business(server.db), before, 'nothing twice');
        assert.equal((await healed(server)).length, brought.length);
    });

    test_('E11 what came as a webhook is left alone, and what is younger than a minute waits for its own', async (t) => {
        const server = await start(t, store, { env: HEALING });
        await server.captured();
        await until('all webhooks came', async () => (await server.db.events()).length === (await listed(server)).length);
        await heal(server);
        assert.equal((await healed(server)).length, 0);
        assert.equal((await server.metrics()).get('ichido_webhook_duplicate_total'), 0, 'known ones are not counted as repeated');
        await server.webhooks({ on: false });
        const now = () => server.nowSeconds() * 1000;
        const looked = (after) => until('the job has looked, and rests', async () => {
            const row = await ran(server);
            return row.until_at === null && row.updated_at > after && row.updated_at;
        });
        const at = await looked(now() - MINUTE); // heal() may have moved the clock more often than it looked
        await server.advance(at + EVERY - MINUTE / 2 - now());
        await server.paid();
        await server.advance(MINUTE / 2 + 5000);
        await looked(at);
        assert.equal((await healed(server)).length, 0);
        await heal(server);
        assert.ok((await healed(server)).length > 0);
    });

    test_('E11 kill -9 in the middle of healing: nothing is lost and nothing is done twice', async (t) => {
        const db = await fresh(t, store);
        const env = { ...HEALING, ICHIDO_SANDBOX_WEBHOOKS: 'off' };
        const first = await start(t, store, { db, env });
        const payments = [];
        for (let i = 0; i < 12; i++) payments.push(await first.captured());
        await quiet(first); // a charge's fee is an event that comes a moment later
        const wanted = (await listed(first)).map((one) => one.id);
        assert.ok(wanted.length > 50, 'more than one page');
        await first.stop();
        const stored = async () => Number((await db.all('SELECT count(*) AS n FROM webhook_events'))[0].n);
        const die = async (fault) => {
            const victim = launch(t, db, { env: { ...env, ICHIDO_FAULTS: `${fault}=crash` } });
            for (await victim.listening().catch(() => {}); !victim.ended;) {
                await victim.advance(EVERY).catch(() => {}); // it dies meanwhile
                await Promise.race([victim.exit, pause(50)]);
            }
            assert.equal(victim.ended.signal, 'SIGKILL');
        };
        await die('heal.storing');
        // A look right after the start finds the events too young, and stores nothing but its place.
        for (let i = 0; i < 5 && !await stored(); i++) await die('heal.stored');
        assert.ok(await stored() > 0 && await stored() < wanted.length, `half way: ${await stored()}`);
        const last = await start(t, store, { db, env });
        await heal(last, { killed: true });
        const events = await last.db.events();
        assert.deepEqual(events.map((one) => one.stripe_event_id).sort(), [...wanted].sort());
        for (const one of payments) assert.deepEqual(await stateOf(last, one), ['CAPTURED', 1200, null]);
    });

    test_('E11 a list that cannot be had, or is not one, changes nothing; when it is back, all is healed', async (t) => {
        const db = await fresh(t, store);
        const first = await start(t, store, { db, env: HEALING });
        await first.webhooks({ on: false });
        await first.captured();
        const events = await listed(first);
        await first.stop();
        const page = (data, more = false) => JSON.stringify({ object: 'list', data, has_more: more, url: '/v1/events' });
        const script = [
            [503, '{"error":{"type":"api_error"}}'], [401, '{"error":{"message":"Invalid API Key: sk_test_****"}}'],
            [200, '<html>a proxy</html>'], [200, page(events).slice(0, 400)], [200, '{"object":"list"}'],
            [200, '{"object":"list","data":{},"has_more":false}'], [200, '{"object":"list","data":[1],"has_more":false}'],
            [200, '{"object":"list","data":[],"has_more":true}'], [200, '[]'], [302, ''], [200, page(events, 'yes')],
            [200, page([{ id: 'evt_x', object: 'event' }, { object: 'event', type: 'payment_intent.succeeded' }])],
            [429, '{"error":{"code":"rate_limit"}}'], [0, ''], // closes without a word
        ];
        const asked = [];
        const provider = http.createServer((request, response) => {
            const url = new URL(request.url, 'http://x');
            // An answer that cannot be read is asked for once more, with fewer objects: it gets the same.
            if (url.searchParams.get('limit') === '50') asked.push(url);
            const step = script[asked.length - 1] ?? [200, page(events)];
            if (!step[0]) request.socket.destroy();
            else response.writeHead(step[0], { 'Content-Type': 'application/json', Location: '/elsewhere' }).end(step[1]);
        });
        await new Promise((resolve) => { provider.listen(0, '127.0.0.1', resolve); });
        t.atEnd(() => new Promise((resolve) => { provider.close(resolve); provider.closeAllConnections(); }));
        const server = await start(t, store, {
            db, env: { ...HEALING, ICHIDO_SANDBOX_LISTEN: 'off', STRIPE_API_BASE: `http://127.0.0.1:${provider.address().port}` },
        });
        const before = await server.db.state();
        await until('the whole script was played', async () => {
            if (asked.length <= script.length) await server.advance(EVERY);
            return asked.length > script.length;
        }, 60_000);
        await until('all is healed', async () => (await healed(server)).length === events.length);
        assert.deepEqual((await server.db.state()).payments.map((p) => p.id), before.payments.map((p) => p.id));
        assert.equal((await server.db.dead()).length, 0);
        assert.ok(server.lines.filter((l) => /cannot be looked for/.test(l.message)).length >= 10);
        assert.ok(!JSON.stringify(server.lines).includes('sk_test_****'), 'nothing of a key is repeated');
        const parameters = Object.fromEntries(asked.at(-1).searchParams);
        assert.match(parameters['created[gte]'], /^\d+$/);
        assert.match(parameters['created[lt]'], /^\d+$/);
    });

    test_('E11 after 40 days of silence only Stripe\'s 30 days are asked for, and it is said that days are missing', async (t) => {
        const db = await fresh(t, store);
        const asked = [];
        const old = event('payment_intent.succeeded', { created: Math.floor(Date.now() / 1000) - 100 });
        const provider = http.createServer((request, response) => {
            asked.push(new URL(request.url, 'http://x').searchParams);
            response.writeHead(200, { 'Content-Type': 'application/json' })
                .end(JSON.stringify({ object: 'list', data: [old], has_more: false, url: '/v1/events' }));
        });
        await new Promise((resolve) => { provider.listen(0, '127.0.0.1', resolve); });
        t.atEnd(() => new Promise((resolve) => { provider.close(resolve); provider.closeAllConnections(); }));
        const server = await start(t, store, {
            db, env: { ...HEALING, ICHIDO_SANDBOX_LISTEN: 'off', STRIPE_API_BASE: `http://127.0.0.1:${provider.address().port}` },
        });
        await until('the first look', async () => {
            if (!asked.length) await server.advance(MINUTE);
            return asked.length === 1 && ran(server);
        });
        const firstFrom = Number(asked[0].get('created[gte]'));
        const age = server.nowSeconds() - firstFrom;
        assert.ok(age >= 24 * 3600 && age < 25 * 3600, `a day back: ${age}`);
        await server.advance(40 * DAY);
        await until('the look after forty days', () => asked.length >= 2);
        const age2 = server.nowSeconds() - Number(asked[1].get('created[gte]'));
        assert.ok(Math.abs(age2 - 30 * 24 * 3600) < 120, `thirty days: ${age2}`);
        await server.line('days are missing', (l) => l.level === 'error' && /older than 30 days/.test(l.message));
    });

    test_('E11 a gap of 45 pages goes on at once behind the 40 of one run; a place in the list that is gone begins its window anew', async (t) => {
        const db = await fresh(t, store);
        const at = Math.floor(Date.now() / 1000) - 100;
        const all = Array.from({ length: 45 * 50 }, () => event('payment_intent.succeeded', { created: at }));
        let gone = false;
        const provider = http.createServer((request, response) => {
            const after = new URL(request.url, 'http://x').searchParams.get('starting_after');
            const from = after ? all.findIndex((one) => one.id === after) + 1 : 0;
            if (from === 150 && !gone) {
                gone = true;
                response.writeHead(404).end('{"error":{"type":"invalid_request_error","code":"resource_missing","param":"starting_after"}}');
                return;
            }
            response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(
                { object: 'list', data: all.slice(from, from + 50), has_more: from + 50 < all.length, url: '/v1/events' }));
        });
        await new Promise((resolve) => { provider.listen(0, '127.0.0.1', resolve); });
        t.atEnd(() => new Promise((resolve) => { provider.close(resolve); provider.closeAllConnections(); }));
        const server = await start(t, store, {
            db, env: { ...HEALING, ICHIDO_SANDBOX_LISTEN: 'off', STRIPE_API_BASE: `http://127.0.0.1:${provider.address().port}` },
        });
        await until('it begins', async () => {
            if (!await ran(server)) await server.advance(MINUTE);
            return ran(server);
        });
        await until('without another move of the clock all are there', async () => (await server.db.count('webhook_events')) === all.length, 60_000);
        assert.ok(gone);
        await until('and the window is closed', async () => (await ran(server)).until_at === null);
        assert.equal((await db.all('SELECT * FROM webhook_duplicates')).length, 0);
    });

    test_('E11 W9 an event of the wrong mode is kept and marked as at the door; unknown types are left out', async (t) => {
        const db = await fresh(t, store);
        const at = Math.floor(Date.now() / 1000) - 100;
        const live = event('payment_intent.succeeded', { created: at, livemode: true });
        const other = event('customer.created', { created: at });
        const provider = http.createServer((request, response) => {
            response.writeHead(200, { 'Content-Type': 'application/json' })
                .end(JSON.stringify({ object: 'list', data: [live, other], has_more: false, url: '/v1/events' }, null, 2));
        });
        await new Promise((resolve) => { provider.listen(0, '127.0.0.1', resolve); });
        t.atEnd(() => new Promise((resolve) => { provider.close(resolve); provider.closeAllConnections(); }));
        const server = await start(t, store, {
            db, env: { ...HEALING, ICHIDO_SANDBOX_LISTEN: 'off', STRIPE_API_BASE: `http://127.0.0.1:${provider.address().port}` },
        });
        await heal(server);
        const { outcome } = await server.settled(live.id);
        assert.equal(outcome, 'wrong_mode');
        const row = await server.db.event(live.id);
        assert.deepEqual(JSON.parse(Buffer.from(row.body, 'hex').toString()), live, 'its own bytes are its body');
        assert.equal(row.livemode, 1);
        assert.equal(await server.db.event(other.id), undefined);
        const again = await server.deliver(live);
        assert.equal(again.status, 204);
        assert.equal(await server.db.duplicates(live.id), 1, 'the webhook that comes after all is a duplicate');
    });

    test_('E11 Q5 with a remote QStash what is healed leaves through it, as at the door; where that fails, it is applied here', async (t) => {
        const fake = await FakeQStash.open(t, () => 503);
        const server = await start(t, store, { env: { ...HEALING, ICHIDO_SANDBOX_WEBHOOKS: 'off', ICHIDO_QUEUE: 'qstash',
            QSTASH_URL: fake.url, ICHIDO_PUBLIC_URL: 'https://pay.example.test' } });
        const secure = await server.paid({ paymentMethod: 'pm_card_authenticationRequired' });
        await server.authenticate(secure);
        await until('it is AUTHORIZED', async () => {
            if ((await server.db.events()).length === 0) await server.advance(EVERY);
            else await server.advance(1000);
            return (await stateOf(server, secure))[0] === 'AUTHORIZED';
        }, 40_000);
        const events = await server.db.events();
        await until('three tries each', async () => {
            if (fake.got.length < 3 * events.length) await server.advance(1000);
            return fake.got.length >= 3 * events.length;
        });
        const [{ stripe_event_id: id, type }] = events;
        const published = fake.got.find(({ headers }) => headers['upstash-deduplication-id'] === id);
        assert.deepEqual(JSON.parse(published.body), referenceTo({ id, type }), 'a reference, as at the door (A6)');
    });

    test_('E11 a backlog over its limit is not made longer', async (t) => {
        const server = await startFull(t, store, HEALING);
        await server.webhooks({ on: false });
        await server.paid().catch(() => {});
        await until('it waits', async () => {
            await server.advance(EVERY);
            return server.lines.some((l) => /cannot be looked for/.test(l.message) && /waiting/.test(l.why));
        });
        assert.equal((await healed(server)).length, 0);
    });
});

test('E11 healing can be switched off: no message, and the provider is never asked', async (t) => {
    const server = await start(t, stores[0], { env: { ICHIDO_HEAL_MS: '0' } });
    await server.webhooks({ on: false });
    await server.paid();
    await server.advance(DAY);
    assert.equal((await server.db.all(`SELECT * FROM message WHERE kind = 'stripe.heal'`)).length, 0);
    assert.equal((await server.db.events()).length, 0);
});

const postgres = stores.find((one) => one.kind === 'postgres');
test('E11 two nodes on one PostgreSQL heal once', { skip: !postgres }, async (t) => {
    const db = await fresh(t, postgres);
    const one = await start(t, postgres, { db, env: HEALING });
    const two = await start(t, postgres, { db, env: { ...HEALING, ICHIDO_SANDBOX_LISTEN: 'off',
        STRIPE_API_BASE: `http://127.0.0.1:${one.sandboxPort}` } });
    await one.webhooks({ on: false });
    for (let i = 0; i < 5; i++) await one.captured();
    const wanted = (await listed(one)).length;
    await two.advance(HOUR);
    await heal(one);
    assert.equal((await healed(one)).length, wanted);
    const said = [...one.lines, ...two.lines].filter((l) => /never came were taken/.test(l.message));
    assert.equal(said.reduce((sum, l) => sum + l.count, 0), wanted);
    assert.equal((await db.all('SELECT * FROM webhook_duplicates')).length, 0);
});
