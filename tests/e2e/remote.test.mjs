// Events that leave through a remote QStash and come back to our worker (Q5). The remote is a small one of our
// own (lib/upstash.mjs) that can fail, be slow, lose answers; at last a second Ichido.
import { Client } from '@upstash/qstash';
import {
    assert, asUuid, event, forEachStore, fresh, launch, onIntent, paymentIntent, start, test, unique, until,
} from './lib/harness.mjs';
import { captureThere, eventOf, now, types } from './lib/events.mjs';
import { freePort } from './lib/ports.mjs';
import { stores } from './lib/stores.mjs';
import { callWorker, DEV_TOKEN, FakeQStash, referenceTo, WORKER } from './lib/upstash.mjs';

const PUBLIC = 'https://pay.example.test';
const URL_OF_WORKER = PUBLIC + WORKER;
const remote = (fake, env = {}) => ({
    ICHIDO_QUEUE: 'qstash', QSTASH_URL: fake.url, ICHIDO_PUBLIC_URL: PUBLIC, ICHIDO_SANDBOX_WEBHOOKS: 'off', ...env,
});
const published = async (server, result) => (await server.metrics()).get('ichido_publish_total', { result });
// What was published waits until it has come back; nothing else is left to do.
const isPublished = async (db) => !(await db.messages()).some(({ kind }) => ['webhook.publish', 'stripe.event'].includes(kind));
const watched = async (db) => (await db.messages()).filter(({ kind }) => kind === 'webhook.watch').map(({ ref }) => ref);
const MINUTE = 60_000;
const isMissed = (one) => (l) => l.message.startsWith('An event has not come back from QStash') && l.eventId === one.id;
const isFallback = (one) => (l) => l.message.startsWith('QStash did not take an event') && l.eventId === one.id;

// Time is moved until it holds: what is put off fires.
const advanceUntil = (server, what, holds, ms = 500) => until(what, async () => {
    if (await holds()) return true;
    await server.advance(ms);
    return false;
}, 30_000);

// The same without the clock's help: real pauses are short.
const settled = (server, one) => until(`${one.id} has an outcome`, () => server.db.outcome(one.id), 30_000);

const letterOf = (one, changes = {}) => ({
    messageId: `msg_${unique()}`, url: URL_OF_WORKER, method: 'POST', header: { 'Content-Type': ['application/json'] },
    body: typeof one === 'string' ? one : JSON.stringify(one), maxRetries: 3, notBefore: 1, createdAt: 1, callerIP: '127.0.0.1',
    dlqId: `1760000000000-${unique()}`, responseStatus: 503, responseBody: '{"title":"no"}', ...changes,
});

forEachStore((store, test) => {
    test('Q5 the door stores the event and its publish, answers, and the remote gets it with all that it needs', async (t) => {
        let open;
        const gate = new Promise((resolve) => { open = resolve; });
        const fake = await FakeQStash.open(t, () => gate.then(() => 200));
        const server = await start(t, store, { env: remote(fake) });
        const one = event();
        const answer = await server.deliver(one, { headers: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' } });
        assert.equal(answer.status, 204, 'before the remote answered');
        const row = await server.db.event(one.id);
        assert.equal(answer.headers['x-message-id'], asUuid(row.message_id));
        await fake.came(1);
        assert.deepEqual((await server.db.messages()).map(({ kind, ref, lane }) => [kind, ref, lane]), [['webhook.publish', one.id, null]]);
        open();
        await until('it is published', () => isPublished(server.db));
        const [{ method, path, headers, body }] = fake.got;
        assert.deepEqual([method, path], ['POST', `/v2/publish/${URL_OF_WORKER}`]);
        assert.deepEqual(JSON.parse(body), referenceTo(one), 'what Stripe sent stays here');
        const wanted = {
            authorization: `Bearer ${DEV_TOKEN}`, 'content-type': 'application/json', 'upstash-method': 'POST',
            'upstash-deduplication-id': one.id, 'upstash-retries': '3', 'upstash-retry-delay': '1000 * pow(2, retried)',
            'upstash-forward-traceparent': row.trace,
        };
        for (const [name, value] of Object.entries(wanted)) assert.equal(headers[name], value, name);
        assert.match(row.trace, /^00-4bf92f3577b34da6a3ce929d0e0e4736-/);
        assert.equal(await server.db.outcome(one.id), undefined, 'nothing was applied yet');
        assert.equal(await published(server, 'sent'), 1);
        assert.deepEqual((await fake.deliver(server)).map(({ status }) => status), [204]);
        assert.equal((await server.db.outcome(one.id)).outcome, 'ignored');
    });

    test('Q5 a payment is captured through the remote, and only once however often it delivers', async (t) => {
        const fake = await FakeQStash.open(t);
        const server = await start(t, store, { env: remote(fake) });
        const payment = await server.paid();
        await captureThere(server, payment);
        const one = await eventOf(server, payment, 'payment_intent.succeeded');
        for (let i = 0; i < 3; i++) assert.equal((await server.deliver(one)).status, 204); // Stripe repeats itself too
        await fake.took(1);
        assert.equal(fake.got.length, 1, 'a repeat is not published again');
        for (let i = 0; i < 3; i++) assert.deepEqual((await fake.deliver(server)).map(({ status }) => status), [204]);
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        assert.equal((await types(server, payment)).filter((type) => type === 'PaymentCaptured').length, 1);
        assert.equal(await server.db.count('webhook_outcomes'), 1);
    });

    test('Q5 failed three times, the event runs on the builtin queue: counted, with an alert, never lost', async (t) => {
        for (const answer of [500, 401, 429, 302, 'drop']) {
            const fake = await FakeQStash.open(t, () => answer);
            const server = await start(t, store, { env: remote(fake) });
            const one = event();
            assert.equal((await server.deliver(one)).status, 204);
            assert.equal((await settled(server, one)).outcome, 'ignored');
            assert.equal(fake.got.length, 3, String(answer));
            const alert = await server.line('an alert', isFallback(one));
            assert.deepEqual([alert.level, alert.attempts, alert.url], ['error', 3, fake.url]);
            assert.match(alert.why, answer === 'drop' ? /not reached/ : new RegExp(`answered ${answer}`));
            assert.deepEqual([await published(server, 'failed'), await published(server, 'fallback'), await published(server, 'sent')], [3, 1, 0]);
            await until('nothing is left', async () => await server.db.count('message') === 0);
            assert.deepEqual(await server.db.dead(), []);
            assert.ok(!server.stderr.includes(DEV_TOKEN));
        }
    });

    test('Q5 A4 a user and a password in QSTASH_URL are not told to the log', async (t) => {
        const fake = await FakeQStash.open(t, () => 500);
        const word = `pass-${unique()}`;
        const server = await start(t, store, { env: remote(fake, { QSTASH_URL: `${fake.url.replace('//', `//user:${word}@`)}/at@x` }) });
        const one = event();
        await server.deliver(one);
        assert.equal((await server.line('an alert', isFallback(one))).url, `${fake.url}/at@x`);
        await fake.close();
        await advanceUntil(server, 'the mirror complains', () => server.lines.some((l) => l.message === "The remote QStash's dead letters cannot be read"), 61_000);
        assert.ok(!server.stderr.includes(word));
    });

    test('Q5 a remote that heals gets the event on the next try', async (t) => {
        const fake = await FakeQStash.open(t, (n) => (n < 2 ? 503 : 200));
        const server = await start(t, store, { env: remote(fake) });
        const one = event();
        await server.deliver(one);
        await fake.took(1);
        await until('it is published', () => isPublished(server.db));
        assert.deepEqual([fake.got.length, await published(server, 'failed'), await published(server, 'sent')], [3, 2, 1]);
        assert.equal(await server.db.outcome(one.id), undefined);
    });

    test('Q5 nobody listens at QSTASH_URL: every event is applied all the same', async (t) => {
        const gone = await FakeQStash.open(t);
        await gone.close();
        const server = await start(t, store, { env: remote(gone) });
        const events = Array.from({ length: 50 }, () => event());
        await Promise.all(events.map((one) => server.deliver(one)));
        await until('all are applied', async () => (await server.db.outcomes()).length === events.length, 30_000);
        assert.equal(await published(server, 'fallback'), events.length);
        assert.deepEqual([await server.db.count('message'), await server.db.count('dead_letters')], [0, 0]);
    });

    test('Q5 a lost answer: the remote has the event and the builtin queue too, and it is applied once', async (t) => {
        const fake = await FakeQStash.open(t, () => 'lose');
        const server = await start(t, store, { env: remote(fake) });
        const payment = await server.paid();
        await captureThere(server, payment);
        const one = await eventOf(server, payment, 'payment_intent.succeeded');
        await server.deliver(one);
        await fake.took(1);
        const delivering = (async () => {
            for (let i = 0; i < 10; i++) for (const { status } of await fake.deliver(server)) assert.ok([204, 503].includes(status));
        })();
        assert.equal((await settled(server, one)).outcome, 'applied');
        await delivering;
        await until('nothing is left', async () => await server.db.count('message', `ref = '${one.id}'`) === 0);
        assert.equal((await types(server, payment)).filter((type) => type === 'PaymentCaptured').length, 1);
        assert.deepEqual([await server.db.count('webhook_outcomes'), await server.db.count('dead_letters')], [1, 0]);
    });

    test('Q5 what the worker applied before the fallback is not applied again, and what it buried stays buried', async (t) => {
        for (const [type, outcome] of [['charge.succeeded', 'ignored'], ['charge.failed', 'dead']]) {
            const fake = await FakeQStash.open(t, () => 500);
            const server = await start(t, store, { env: remote(fake, { ICHIDO_FAULTS: 'apply:charge.failed=fail' }) });
            const one = event(type);
            await server.deliver(one);
            await fake.came(1);
            assert.equal((await callWorker(server, one)).status, outcome === 'dead' ? 489 : 204);
            await server.line('the fallback', isFallback(one));
            await until('nothing is left', async () => await server.db.count('message') === 0);
            assert.equal((await server.db.outcome(one.id)).outcome, outcome);
            assert.equal(await server.db.count('dead_letters'), outcome === 'dead' ? 1 : 0);
        }
    });

    test('Q5 a slow remote keeps nobody waiting: ACKs, other work and the stop go on', async (t) => {
        let open;
        const gate = new Promise((resolve) => { open = resolve; });
        const fake = await FakeQStash.open(t, () => gate.then(() => 200));
        const server = await start(t, store, { env: remote(fake) });
        const events = Array.from({ length: 400 }, () => onIntent('pi_3slow')); // all of one lane
        await Promise.all(events.map((one) => server.deliver(one)));
        await fake.came(100);
        const direct = event();
        assert.equal((await callWorker(server, direct)).status, 204);
        assert.equal((await server.db.outcome(direct.id)).outcome, 'ignored');
        assert.equal((await server.get('/readyz')).status, 200);
        open();
        await fake.took(events.length);
        await until('all are published', () => isPublished(server.db));
        assert.equal(fake.got.length, events.length, 'each once');
    });

    test('Q5 a remote that never answers: after the time limits the builtin queue has it', async (t) => {
        const fake = await FakeQStash.open(t, () => new Promise(() => {}));
        const server = await start(t, store, { env: remote(fake) });
        const one = event();
        await server.deliver(one);
        assert.equal((await settled(server, one)).outcome, 'ignored'); // 3 x 5 s, really
        assert.match((await server.line('an alert', isFallback(one))).why, /not reached/);
        assert.equal(fake.got.length, 3);
    });

    test('Q5 T6 kill -9 between the ACK and the publish: the next start publishes', async (t) => {
        const never = await FakeQStash.open(t, () => new Promise(() => {}));
        const db = await fresh(t, store);
        const first = launch(t, db, { env: remote(never) });
        await first.listening();
        const events = Array.from({ length: 20 }, () => event());
        for (const one of events) assert.equal((await first.deliver(one)).status, 204);
        await first.kill();
        const fake = await FakeQStash.open(t);
        const second = await start(t, store, { db, env: remote(fake) });
        if (db.kind === 'postgres') await second.advance(60_000); // the dead node's leases run out
        await fake.took(events.length);
        assert.deepEqual([...fake.taken.keys()].sort(), events.map(({ id }) => id).sort());
        for (const { status } of await fake.deliver(second)) assert.equal(status, 204);
        assert.equal((await db.outcomes()).length, events.length);
        await until('nothing is left', async () => await db.count('message') === 0);
    });

    test('Q5 T6 killed at any commit of publish, fallback and delivery: the event has one outcome at last', async (t) => {
        const db = await fresh(t, store);
        const fake = await FakeQStash.open(t, (n) => (n % 2 ? 200 : 500));
        const events = [];
        let crashes = 0;
        for (let n = 1; n <= 8; n++) {
            const place = n % 2 ? store.afterCommit : store.beforeCommit;
            const server = launch(t, db, { env: remote(fake, { ICHIDO_FAULTS: `${place}=crash@${2 + Math.ceil(n / 2)}` }) });
            try {
                await server.listening();
                const one = event();
                if ((await server.deliver(one)).status === 204) events.push(one);
                for (let i = 0; i < 5 && !server.ended; i++) {
                    await fake.deliver(server);
                    await server.advance(12_000);
                }
            } catch (error) {
                await server.exit;
            }
            if (server.ended) crashes++;
            else await server.kill();
        }
        assert.ok(crashes > 2, `only ${crashes} crashes`);
        fake.answer = () => 200;
        const last = await start(t, store, { db, env: remote(fake) });
        await advanceUntil(last, 'all are published or taken back', () => isPublished(db), 15_000);
        await fake.deliver(last);
        for (const one of events) assert.equal((await db.outcome(one.id))?.outcome, 'ignored', one.id);
        assert.equal(await db.count('webhook_outcomes'), await db.count('webhook_events'));
        assert.equal(await db.count('dead_letters'), 0);
    });

    test('Q5 switched back to builtin, what was not published is applied; SKIP_QSTASH_IN_TEST=1 is the same switch', async (t) => {
        for (const env of [{ ICHIDO_QUEUE: 'builtin' }, { SKIP_QSTASH_IN_TEST: '1' }]) {
            const fake = await FakeQStash.open(t, () => new Promise(() => {}));
            const db = await fresh(t, store);
            const first = launch(t, db, { env: remote(fake) });
            await first.listening();
            const one = event();
            await first.deliver(one);
            await fake.came(1);
            await first.kill();
            const second = await start(t, store, { db, env: remote(fake, env) });
            if (db.kind === 'postgres') await second.advance(60_000);
            const two = event();
            await second.deliver(two);
            for (const each of [one, two]) assert.equal((await settled(second, each)).outcome, 'ignored');
            await second.line('said', (l) => l.message.startsWith('An event was not published') && l.eventId === one.id);
            assert.ok(!second.lines.some((l) => l.level === 'error'), 'no alert: an operator wanted it so');
            assert.equal(fake.got.length, 1, 'the remote is not asked any more');
            await advanceUntil(second, 'the mirror has ended', async () => await db.count('message', `kind = 'webhook.mirror'`) === 0, 61_000);
        }
    });

    // --- what the remote has taken, and does not bring ---

    test('Q5 what the remote took and lost is applied here an hour later: counted, with an alert, once', async (t) => {
        const fake = await FakeQStash.open(t);
        const server = await start(t, store, { env: remote(fake) });
        const payment = await server.paid();
        await captureThere(server, payment);
        const one = await eventOf(server, payment, 'payment_intent.succeeded');
        await server.deliver(one);
        await fake.took(1);
        await until('it is published', () => isPublished(server.db));
        assert.deepEqual(await watched(server.db), [one.id]);
        for (let i = 0; i < 11; i++) await server.advance(5 * MINUTE);
        assert.equal(await server.db.outcome(one.id), undefined, 'the remote has its time');
        assert.deepEqual(server.lines.filter(({ level }) => level === 'error'), []);
        await advanceUntil(server, 'it is applied', () => server.db.outcome(one.id), 5 * MINUTE);
        assert.equal((await server.db.outcome(one.id)).outcome, 'applied');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        const alert = await server.line('an alert', isMissed(one));
        assert.deepEqual([alert.level, alert.url], ['error', fake.url]);
        assert.deepEqual([await published(server, 'sent'), await published(server, 'fallback')], [1, 1]);
        assert.deepEqual(await watched(server.db), []);
        assert.deepEqual((await fake.deliver(server)).map(({ status }) => status), [204], 'it was not lost after all');
        assert.equal((await types(server, payment)).filter((type) => type === 'PaymentCaptured').length, 1);
        assert.deepEqual([await server.db.count('webhook_outcomes'), await server.db.count('dead_letters')], [1, 0]);
    });

    test('Q5 what came back leaves nothing behind, and is not heard of again', async (t) => {
        const fake = await FakeQStash.open(t);
        const server = await start(t, store, { env: remote(fake, { ICHIDO_FAULTS: 'apply:charge.failed=fail' }) });
        const [good, bad, mirrored] = [event(), event('charge.failed'), event()];
        for (const one of [good, bad, mirrored]) await server.deliver(one);
        await fake.took(3);
        await until('all are published', () => isPublished(server.db));
        assert.deepEqual((await watched(server.db)).sort(), [good.id, bad.id, mirrored.id].sort());
        assert.equal((await callWorker(server, good)).status, 204);
        assert.ok(!(await watched(server.db)).includes(good.id), 'in the commit that applied it');
        assert.equal((await callWorker(server, bad)).status, 489);
        fake.letters = [letterOf(mirrored)];
        await advanceUntil(server, 'the letter is here', async () => (await server.db.dead()).length === 2, 61_000);
        await advanceUntil(server, 'nothing waits any more', async () => (await watched(server.db)).length === 0, 30 * MINUTE);
        for (let i = 0; i < 3; i++) await server.advance(60 * MINUTE);
        assert.ok(!server.lines.some((l) => l.message.startsWith('An event has not come back')));
        assert.equal(await published(server, 'fallback'), 0);
        assert.equal((await server.db.outcome(good.id)).outcome, 'ignored');
        assert.equal((await server.db.dead()).length, 2, 'the dead stay dead');
    });

    test('Q5 switched back to builtin, what the remote took is applied within minutes, without an alert', async (t) => {
        for (const env of [{ ICHIDO_QUEUE: 'builtin' }, { SKIP_QSTASH_IN_TEST: '1' }]) {
            const fake = await FakeQStash.open(t);
            const db = await fresh(t, store);
            const first = await launch(t, db, { env: remote(fake) }).listening();
            const events = Array.from({ length: 20 }, () => event());
            for (const one of events) assert.equal((await first.deliver(one)).status, 204);
            await fake.took(events.length);
            await until('all are published', () => isPublished(db));
            assert.equal((await callWorker(first, events[0])).status, 204);
            await first.stop();
            const second = await start(t, store, { db, env: remote(fake, env) });
            for (const one of events.slice(0, 3)) assert.equal((await second.deliver(one)).status, 204, 'Stripe may repeat itself');
            await second.advance(5 * MINUTE);
            await until('all are applied', async () => (await db.outcomes()).length === events.length);
            assert.deepEqual(await watched(db), []);
            assert.equal(await db.count('webhook_outcomes', `outcome = 'ignored'`), events.length);
            assert.ok(!second.lines.some((l) => l.level === 'error'), 'an operator wanted it so');
            assert.equal(fake.got.length, events.length, 'the remote is not asked any more');
        }
    });

    test('Q5 another ICHIDO_PUBLIC_URL: what the remote sends to the old one is not missed', async (t) => {
        const fake = await FakeQStash.open(t);
        const db = await fresh(t, store);
        const first = await launch(t, db, { env: remote(fake) }).listening();
        const one = event();
        await first.deliver(one);
        await fake.took(1);
        await until('it is published', () => isPublished(db));
        await first.stop();
        fake.letters = [letterOf(one)]; // dead at the remote, for an address that is not asked for any more
        const second = await start(t, store, { db, env: remote(fake, { ICHIDO_PUBLIC_URL: 'https://moved.example.test' }) });
        assert.deepEqual((await fake.deliver(second)).map(({ status }) => status), [489], 'signed for the old address');
        await advanceUntil(second, 'it is applied', () => db.outcome(one.id), 5 * MINUTE);
        assert.equal((await db.outcome(one.id)).outcome, 'ignored');
        await second.line('an alert', isMissed(one));
    });

    test('Q5 taken back while the remote delivers: one outcome each', async (t) => {
        const fake = await FakeQStash.open(t);
        const server = await start(t, store, { env: remote(fake) });
        const events = Array.from({ length: 60 }, () => event());
        await Promise.all(events.map((one) => server.deliver(one)));
        await fake.took(events.length);
        await until('all are published', () => isPublished(server.db));
        for (let i = 0; i < 11; i++) await server.advance(5 * MINUTE);
        const [answers] = await Promise.all([fake.deliver(server), server.advance(6 * MINUTE)]);
        for (const { status } of answers) assert.ok([204, 489].includes(status), String(status)); // signed before the time moved
        await until('all are through', async () => (await server.db.outcomes()).length === events.length && await isPublished(server.db));
        await until('nothing waits', async () => (await watched(server.db)).length === 0);
        assert.equal(await server.db.count('webhook_outcomes', `outcome = 'ignored'`), events.length);
        assert.equal((await server.metrics()).get('ichido_event_outcome_total', { outcome: 'ignored' }), events.length, 'once each');
        assert.equal(await server.db.count('dead_letters'), 0);
    });

    test('Q5 T6 killed at any commit from the publish to the taking back: the event is applied', async (t) => {
        const db = await fresh(t, store);
        const fake = await FakeQStash.open(t);
        const events = [];
        let crashes = 0;
        for (let n = 1; n <= 6; n++) {
            const place = n % 2 ? store.afterCommit : store.beforeCommit;
            const server = launch(t, db, { env: remote(fake, { ICHIDO_FAULTS: `${place}=crash@${3 + n}` }) });
            try {
                await server.listening();
                const one = event();
                if ((await server.deliver(one)).status === 204) events.push(one);
                for (let i = 0; i < 20 && !server.ended; i++) await server.advance(6 * MINUTE);
            } catch (error) {
                await server.exit;
            }
            if (server.ended) crashes++;
            else await server.kill();
        }
        assert.ok(crashes > 2, `only ${crashes} crashes`);
        const last = await start(t, store, { db, env: remote(fake) });
        await advanceUntil(last, 'all are applied', async () => (await db.outcomes()).length === await db.count('webhook_events'), 6 * MINUTE);
        for (const one of events) assert.equal((await db.outcome(one.id))?.outcome, 'ignored', one.id);
        await until('nothing waits', async () => (await watched(db)).length === 0);
        assert.equal(await db.count('dead_letters'), 0);
    });

    test('Q5 Q6 the dead letters of the remote are ours, each once, unless the event was decided meanwhile', async (t) => {
        const fake = await FakeQStash.open(t);
        const server = await start(t, store, { env: remote(fake, { ICHIDO_FAULTS: 'apply:charge.expired=fail' }) });
        const [open, whole, applied, buried, ...many] = [event(), event(), event(), event('charge.expired'), ...Array.from({ length: 45 }, () => event())];
        const payment = await server.paid();
        await captureThere(server, payment);
        const ours = await eventOf(server, payment, 'payment_intent.succeeded');
        for (const one of [open, whole, applied, buried, ours, ...many]) await server.deliver(one);
        await fake.took(50);
        assert.equal((await callWorker(server, referenceTo(applied))).status, 204);
        assert.equal((await callWorker(server, buried)).status, 489);
        const lost = event(); // published by a server whose database was lost: whole, by an older version
        const named = event(); // ... by this one
        const decided = [applied, buried].flatMap((one) => [letterOf(one), letterOf(referenceTo(one))]);
        fake.letters = [
            ...many.map((one, i) => letterOf(i % 2 ? one : referenceTo(one))), letterOf(referenceTo(open), { dlqId: 'dlq-1', maxRetries: 5 }), ...decided,
            letterOf(whole, { dlqId: 'dlq-4', maxRetries: 5 }), letterOf(referenceTo(ours)), letterOf(lost), letterOf(referenceTo(named)),
            letterOf({ ...referenceTo(open), id: 7 }), letterOf(event(), { url: 'https://elsewhere.test/' }), letterOf('no event', { dlqId: 'dlq-2' }),
            letterOf(event(), { body: undefined, bodyBase64: 'e30=', dlqId: 'dlq-3' }),
        ];
        await advanceUntil(server, 'they are here', async () => (await server.db.dead()).length === many.length + 5, 61_000);
        const dead = await server.db.dead();
        for (const [one, dlqId] of [[open, 'dlq-1'], [whole, 'dlq-4']]) {
            const letter = dead.find(({ ref }) => ref === one.id);
            const row = await server.db.event(one.id);
            assert.deepEqual([letter.kind, letter.attempts, letter.id], ['stripe.event', 6, row.message_id]);
            assert.ok(letter.lane && letter.reason === `QStash gave it up (its dead letter ${dlqId}): status 503`, letter.reason);
            assert.equal((await server.db.outcome(one.id)).outcome, 'dead');
            assert.deepEqual(JSON.parse(Buffer.from(row.body, 'hex')), one);
        }
        const found = await server.call('GET', `/api/v1/admin/dlq?paymentId=${payment.id}`, { as: 'admin' });
        assert.deepEqual(found.body.data.map(({ eventId }) => eventId), [ours.id], 'of its payment');
        assert.equal(await server.db.event(named.id), undefined, 'only Stripe can bring it');
        assert.equal((await server.db.outcome(applied.id)).outcome, 'ignored');
        assert.equal((await server.db.outcome(lost.id)).outcome, 'dead');
        assert.match(dead.find(({ ref }) => ref === buried.id).reason, /fault point/, 'as it died here');
        assert.ok(fake.asked.length >= 3, 'page by page');
        assert.ok(fake.asked.every(({ url }) => url === URL_OF_WORKER));
        assert.equal(fake.authorization, `Bearer ${DEV_TOKEN}`);
        await server.line('an alert', (l) => l.message === 'dead letter' && l.ref === open.id);
        const odd = (l) => l.message === 'Dead letters of the remote QStash are no events, or of events that are not here';
        assert.deepEqual([(await server.line('no events', odd)).count, (await server.line('no events', odd)).level], [4, 'warn']);
        const asked = fake.asked.length;
        // Seen again they are nothing new; what an operator retried or deleted stays as it is.
        const dlq = '/api/v1/admin/dlq';
        const find = (one) => asUuid(dead.find(({ ref }) => ref === one.id).id);
        for (const one of [open, ours]) assert.ok((await server.call('POST', `${dlq}/${find(one)}/retry`, { as: 'admin' })).status < 300);
        assert.ok((await server.call('DELETE', `${dlq}/${find(lost)}`, { as: 'admin' })).status < 300);
        await until('it was applied', async () => (await server.db.outcome(open.id))?.outcome === 'ignored' && (await server.db.outcome(ours.id))?.outcome === 'applied');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        await advanceUntil(server, 'it looked again, and again', () => fake.asked.length >= asked + 6, 61_000);
        assert.equal(server.lines.filter(odd).length, 1, 'said once');
        assert.equal((await server.db.dead()).length, many.length + 2);
        assert.equal((await server.db.outcome(lost.id)).outcome, 'dead', 'given up');
    });

    test('Q5 a remote whose dead letters cannot be read is asked again a minute later', async (t) => {
        const fake = await FakeQStash.open(t);
        const server = await start(t, store, { env: remote(fake) });
        await fake.close();
        const warnings = () => server.lines.filter((l) => l.message === "The remote QStash's dead letters cannot be read" && l.level === 'warn');
        await advanceUntil(server, 'it was asked twice', () => warnings().length >= 2, 61_000);
        assert.deepEqual(await server.db.dead(), []);
        assert.equal(await server.db.count('message', `kind = 'webhook.mirror'`), 1);
    });
});

// --- a second Ichido as the remote, asked by the vendor's own SDK ---

async function pair(t, store, env = {}) {
    const port = await freePort();
    const queue = await start(t, store, { env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
    const front = await start(t, store, { env: {
        ...remote({ url: `http://127.0.0.1:${queue.port}` }), ICHIDO_LISTEN: `127.0.0.1:${port}`,
        ICHIDO_PUBLIC_URL: `http://127.0.0.1:${port}`, ...env,
    } });
    const sdk = new Client({ baseUrl: `http://127.0.0.1:${queue.port}`, token: DEV_TOKEN, enableTelemetry: false });
    const advance = async (ms) => { // signatures are judged by the other one's clock
        await front.advance(ms);
        await queue.advance(ms);
    };
    const advanceBoth = (what, holds, ms = 1000) => until(what, async () => {
        const held = await holds();
        if (!held) await advance(ms);
        return held;
    }, 60_000);
    return { queue, front, sdk, advanceBoth };
}

// What a payload can hold of a card and its owner, and of what our callers must not see.
const card = () => ({
    ...paymentIntent(), client_secret: 'pi_3x_secret_Qm9va2luZw',
    payment_method_details: { type: 'card', card: { brand: 'visa', last4: '7788', exp_month: 11, exp_year: 2031, fingerprint: 'Fingerprint0f0a0card' } },
    billing_details: { name: 'Jenny Rosen', email: 'jenny@customer.example', phone: '+81-90-0000-0000', address: { line1: '1-2-3 Chiyoda' } },
});
const PRIVATE = ['pi_3x_secret', 'Fingerprint0f0a0card', 'Jenny Rosen', 'jenny@customer.example', '+81-90-0000-0000', '1-2-3 Chiyoda', 'last4', 'exp_year', 'amount_received'];

// The text, and what stands in it in hex or base64.
const unwrapped = (text) => [
    text, ...(text.match(/(?:[0-9a-f]{2}){8,}/g) ?? []).map((part) => Buffer.from(part, 'hex').toString('latin1')),
    ...(text.match(/[\w+/-]{12,}/g) ?? []).map((part) => Buffer.from(part, 'base64').toString('latin1')),
];
const withoutCard = (text, where) => {
    for (const part of unwrapped(text))
        for (const word of PRIVATE) assert.ok(!part.includes(word), `${where} has ${word}: ${part.slice(0, 500)}`);
};

async function everyTable(db) {
    const names = await db.all(db.kind === 'sqlite' ? `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'`
        : `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`);
    return Object.fromEntries(await Promise.all(names.map(async ({ name }) => [`table ${name}`, JSON.stringify(await db.table(name))])));
}

forEachStore((store, test) => {
    test('Q5 a second Ichido is the remote: Stripe, door, publish, signed delivery, worker, payment', async (t) => {
        const { queue, front } = await pair(t, store);
        const payment = await front.paid();
        await captureThere(front, payment);
        const one = await eventOf(front, payment, 'payment_intent.succeeded');
        const many = Array.from({ length: 50 }, () => event());
        await Promise.all([one, ...many].map((each) => front.deliver(each)));
        await until('all have come back', async () => (await front.db.outcomes()).length === 51, 30_000);
        assert.equal((await now(front, payment)).status, 'CAPTURED');
        assert.equal((await types(front, payment)).filter((type) => type === 'PaymentCaptured').length, 1);
        assert.equal(await front.db.count('message', `kind = 'stripe.event'`), 0);
        const metrics = await front.metrics();
        assert.equal(metrics.get('ichido_publish_total', { result: 'sent' }), 51);
        assert.equal(metrics.get('ichido_worker_total', { result: 'done' }), 51);
        assert.equal(await queue.db.count('webhook_events'), 0, 'the remote knows nothing of Stripe');
    });

    test('Q5 Q6 what the worker refuses is dead at the remote and here, once; what it cannot do now, after all retries', async (t) => {
        const { front, sdk, advanceBoth } = await pair(t, store, { ICHIDO_FAULTS: 'apply:charge.failed=fail@1,apply:charge.expired=retry@1-4' });
        const [bad, slow] = [event('charge.failed'), event('charge.expired')];
        await front.deliver(bad);
        await front.deliver(slow);
        const letters = await advanceBoth('both are dead at the remote', async () => {
            const { messages } = await sdk.dlq.listMessages();
            return messages.length === 2 && new Map(messages.map((letter) => [JSON.parse(letter.body).id, letter]));
        });
        assert.deepEqual([letters.get(bad.id).responseStatus, letters.get(slow.id).responseStatus], [489, 503]);
        await advanceBoth('both are dead here', async () => (await front.db.dead()).length === 2, 20_000);
        const dead = new Map((await front.db.dead()).map((letter) => [letter.ref, letter]));
        assert.match(dead.get(bad.id).reason, /fault point/);
        assert.match(dead.get(slow.id).reason, new RegExp(`QStash gave it up \\(its dead letter ${letters.get(slow.id).dlqId}\\): status 503`));
        assert.deepEqual([dead.get(bad.id).attempts, dead.get(slow.id).attempts], [1, 4]);
        // Retried where an operator likes: it is applied, and no letter is left here.
        await sdk.dlq.retry({ dlqIds: [letters.get(bad.id).dlqId, letters.get(slow.id).dlqId] });
        await until('both are applied', async () => (await front.db.outcome(bad.id)).outcome === 'ignored' && (await front.db.outcome(slow.id)).outcome === 'ignored', 30_000);
        assert.deepEqual(await front.db.dead(), []);
        assert.equal(await front.db.count('webhook_outcomes'), 2);
    });

    test('Q5 A6 nothing of a payload leaves for the remote', async (t) => {
        const { queue, front, sdk } = await pair(t, store, { ICHIDO_FAULTS: 'apply:charge.failed=fail,apply:charge.expired=retry' });
        const [bad, slow] = ['charge.failed', 'charge.expired'].map((type) => event(type, { data: { object: card() } }));
        for (const one of [bad, slow]) await front.deliver(one);
        const dead = await until('one is dead there', async () => (await sdk.dlq.listMessages()).messages[0], 30_000);
        const ask = (path) => queue.request({ path, headers: { Authorization: `Bearer ${DEV_TOKEN}` } });
        const told = async (state) => JSON.parse((await ask('/v2/events')).text).events.filter((one) => one.state === state);
        const live = await until('one waits there for its next try', async () => (await told('RETRY'))[0], 30_000);
        const message = await ask(`/v2/messages/${live.messageId}`);
        assert.deepEqual([dead.body, JSON.parse(message.text).body].map(JSON.parse), [bad, slow].map(referenceTo));
        const letters = await queue.call('GET', '/api/v1/admin/dlq', { as: 'admin' });
        assert.equal(letters.body.data.length, 1);
        const letter = await queue.call('GET', `/api/v1/admin/dlq/${letters.body.data[0].id}`, { as: 'admin' });
        const looks = {
            '/v2/dlq': JSON.stringify((await sdk.dlq.listMessages()).messages), '/v2/messages': message.text, '/v2/events': (await ask('/v2/events')).text,
            'the admin DLQ': letters.text + letter.text, 'the log': queue.stderr, ...await everyTable(queue.db),
        };
        for (const [where, text] of Object.entries(looks)) withoutCard(text, where);
        assert.ok(looks['/v2/events'].includes(live.messageId) && Object.keys(looks).length > 20, 'it looked');
        assert.deepEqual(JSON.parse(Buffer.from((await front.db.event(bad.id)).body, 'hex')), bad, 'and we keep all of it');
    });

    test('Q5 T6 the second Ichido is killed under load and comes back: every event is applied once', async (t) => {
        const { queue, front } = await pair(t, store);
        const events = Array.from({ length: 200 }, () => event());
        const delivering = Promise.all(events.map((each) => front.deliver(each)));
        await until('some came back', async () => (await front.db.outcomes()).length > 3);
        await queue.kill();
        for (const { status } of await delivering) assert.equal(status, 204);
        await until('all left', async () => await front.db.count('message', `kind = 'webhook.publish'`) === 0, 30_000);
        const open = await front.db.count('webhook_events') - await front.db.count('webhook_outcomes');
        const second = await start(t, store, { db: queue.db, env: { ICHIDO_LISTEN: `127.0.0.1:${queue.port}`, ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
        if (store.kind === 'postgres') { // the dead node's leases run out
            await second.advance(60_000);
            await front.advance(60_000);
        }
        await until('all are applied', async () => (await front.db.outcomes()).length === events.length, 60_000);
        assert.equal(await front.db.count('webhook_outcomes', `outcome = 'ignored'`), events.length);
        t.diagnostic(`${open} were at the remote when it died, ${await published(front, 'fallback')} fell back`);
    });
});

const postgres = stores.find((store) => store.kind === 'postgres');
if (postgres) {
    test('Q5 two nodes publish and work together: each event once at the remote, one outcome [PostgreSQL]', async (t) => {
        const fake = await FakeQStash.open(t, (n) => (n % 7 ? 200 : 500));
        const db = await fresh(t, postgres);
        const nodes = [await start(t, postgres, { db, env: remote(fake) }), await start(t, postgres, { db, env: remote(fake) })];
        const events = Array.from({ length: 200 }, () => event());
        await Promise.all(events.map((one, i) => nodes[i % 2].deliver(one)));
        await until('all left', async () => await db.count('message', `kind = 'webhook.publish'`) === 0, 30_000);
        const publishes = [...fake.taken.values()];
        await Promise.all([fake.deliver(nodes[0], publishes), fake.deliver(nodes[1], publishes)]);
        await until('all are through', async () => (await db.outcomes()).length === events.length && await isPublished(db));
        assert.deepEqual(await watched(db), []);
        assert.equal(await db.count('webhook_events'), events.length);
        assert.equal(await db.count('dead_letters'), 0);
        const done = await Promise.all(nodes.map(async (node) => (await node.metrics()).get('ichido_event_outcome_total', { outcome: 'ignored' })));
        assert.equal(done[0] + done[1], events.length, `once each: ${done}`);
    });
}

test('Q5 ICHIDO_QUEUE=qstash does not start without knowing where and who', async (t) => {
    const db = await fresh(t, stores[0]);
    const server = launch(t, db, { env: { ICHIDO_QUEUE: 'qstash' } });
    assert.equal((await server.exit).code, 2);
    for (const name of ['QSTASH_URL', 'ICHIDO_PUBLIC_URL']) assert.match(server.stderr, new RegExp(`${name}: is required with ICHIDO_QUEUE=qstash`));
});
