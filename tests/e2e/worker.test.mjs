// Our own worker as an HTTP endpoint (Q3 Q4): what a QStash brings is applied by the very code that the queue
// runs, once, and the answer says what became of it. Deliveries are signed by npm `jose`, as the vendor's are.
import {
    assert, asUuid, event, forEachStore, fresh, launch, paymentIntent, start, test, unique, until, uuid,
} from './lib/harness.mjs';
import { remember } from './lib/evidence.mjs';
import { captureThere, eventOf, now, retold, silent, types } from './lib/events.mjs';
import { stores } from './lib/stores.mjs';
import { callWorker, CURRENT_KEY, DEV_TOKEN, FakeQStash, hashOf, NEXT_KEY, referenceTo, upstashSignature, WORKER } from './lib/upstash.mjs';

const PUBLIC = 'https://pay.example.test';
const faults = (rules, env = {}) => ({ env: { ICHIDO_FAULTS: rules, ...env } });

const refused = (answer, reason, detail) => {
    assert.equal(answer.status, 489, answer.text);
    assert.equal(answer.headers['upstash-nonretryable-error'], 'true');
    assert.equal(answer.headers['content-type'], 'application/problem+json');
    assert.deepEqual([answer.body.status, answer.body.code, answer.body.reason], [489, 'NON_RETRYABLE', reason]);
    if (detail) assert.match(answer.body.detail, detail);
};
const later = (answer) => {
    assert.equal(answer.status, 503, answer.text);
    assert.ok(Number(answer.headers['retry-after']) > 0);
    assert.equal(answer.headers['upstash-nonretryable-error'], undefined);
};
const counted = async (server, result) => (await server.metrics()).get('ichido_worker_total', { result });

// What no refused delivery may change.
const untouched = async (db) => ({
    events: await db.count('webhook_events'), outcomes: await db.count('webhook_outcomes'),
    dead: await db.count('dead_letters'), audit: await db.count('audit'), messages: await db.count('message'),
});

// An event of a payment that the gateway captured and that we have not heard of.
async function capturedThere(server) {
    const payment = await server.paid();
    await captureThere(server, payment);
    return { payment, one: await eventOf(server, payment, 'payment_intent.succeeded') };
}

async function rotate(server, query = '') {
    const answer = await server.request({ method: 'POST', path: `/v2/keys/rotate${query}`, headers: { Authorization: `Bearer ${DEV_TOKEN}` } });
    assert.equal(answer.status, 200, answer.text);
    return JSON.parse(answer.text);
}

async function believes(server, good, bad) {
    for (const key of bad) refused(await callWorker(server, event(), { key }), 'signature', /mismatch/);
    for (const key of good) assert.equal((await callWorker(server, event(), { key })).status, 204, key);
}

forEachStore((store, test) => {
    test('Q4 an event that QStash brings is applied in the request, and 204 says so', async (t) => {
        const server = await silent(t, store);
        const { payment, one } = await capturedThere(server);
        const answer = await callWorker(server, one);
        assert.equal(answer.status, 204, answer.text);
        assert.equal(answer.text, '');
        assert.equal(answer.headers['x-event-id'], one.id);
        const row = await server.db.event(one.id);
        assert.equal(answer.headers['x-message-id'], asUuid(row.message_id));
        assert.equal(Buffer.from(row.body, 'hex').toString(), JSON.stringify(one), 'byte for byte');
        assert.equal((await server.db.outcome(one.id)).outcome, 'applied', 'before the answer');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        assert.equal(await server.db.count('message', `kind = 'stripe.event'`), 0, 'no message was needed');
        assert.equal(await counted(server, 'done'), 1);
    });

    test('Q4 current and next key are taken, the hash padded or not; the address is compared where it is known', async (t) => {
        const server = await start(t, store);
        const strict = await start(t, store, { env: { ICHIDO_PUBLIC_URL: `${PUBLIC}/` } });
        for (const how of [{}, { key: NEXT_KEY }, { url: 'http://anywhere.test/' }]) {
            const one = event();
            assert.equal((await callWorker(server, one, how)).status, 204);
            const bare = { ...how, claims: { body: hashOf(JSON.stringify(one)), nbf: undefined } };
            assert.equal((await callWorker(server, one, bare)).status, 204);
            assert.equal((await callWorker(strict, one, how)).status, how.url ? 489 : 204);
        }
        const own = { QSTASH_CURRENT_SIGNING_KEY: 'sig_of_my_own_0123456789', QSTASH_NEXT_SIGNING_KEY: 'sig_of_my_next_0123456789' };
        Object.values(own).forEach(remember);
        const other = await start(t, store, { env: own });
        assert.equal((await callWorker(other, event(), { key: own.QSTASH_CURRENT_SIGNING_KEY })).status, 204);
        assert.equal((await callWorker(other, event(), { key: own.QSTASH_NEXT_SIGNING_KEY })).status, 204);
        refused(await callWorker(other, event()), 'signature', /mismatch/);
    });

    test('Q4 a rotation revokes: what was given up is believed no more, not even where the settings still have it', async (t) => {
        const db = await fresh(t, store);
        const first = await launch(t, db, {}).listening();
        const two = await rotate(first);
        assert.equal(two.current, NEXT_KEY);
        await believes(first, [NEXT_KEY, two.next], [CURRENT_KEY]);
        const three = await rotate(first, '?force=true');
        assert.equal(three.current, two.next);
        await believes(first, [three.current, three.next], [CURRENT_KEY, NEXT_KEY]);
        await first.stop();
        const second = await start(t, store, { db });
        await believes(second, [three.current, three.next], [CURRENT_KEY, NEXT_KEY]);
    });

    test('Q4 Q5 with a remote only the keys of the settings are believed, whatever our own QStash signed with before', async (t) => {
        const db = await fresh(t, store);
        const own = await launch(t, db, {}).listening();
        const { next } = await rotate(own);
        await own.stop();
        const server = await start(t, store, { db, env: {
            ICHIDO_QUEUE: 'qstash', QSTASH_URL: 'http://127.0.0.1:9', ICHIDO_PUBLIC_URL: PUBLIC, ICHIDO_SANDBOX_WEBHOOKS: 'off',
        } });
        await believes(server, [CURRENT_KEY, NEXT_KEY], [next]);
    });

    test('Q4 while the keys cannot be read nobody is refused for good', async (t) => {
        const server = await start(t, store, faults(`${store.kind === 'sqlite' ? 'store.begin' : store.beforeCommit}=retry@1-12`));
        const one = event();
        const first = await callWorker(server, one);
        if (first.status !== 204) later(first);
        await until('they are read', async () => (await callWorker(server, one)).status === 204);
        assert.equal(await counted(server, 'refused'), 0);
        assert.ok(!server.stderr.includes('start again'), 'it heals by itself');
    });

    test('Q4 a bad or missing signature is 489, and nothing is stored', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_PUBLIC_URL: PUBLIC } });
        const one = event();
        const body = JSON.stringify(one);
        const at = server.nowSeconds();
        const good = await upstashSignature(body, { at });
        const rows = [
            [{ signature: null }, /no_header/], [{ signature: 'x.y.z' }, /malformed/], [{ signature: `${good}.x` }, /malformed/],
            [{ signature: good.slice(0, -3) }, /m(alformed|ismatch)/], [{ key: 'sig_of_a_stranger_0123456789' }, /mismatch/],
            [{ header: { alg: 'HS512' }, key: CURRENT_KEY.padEnd(64, '0') }, /malformed/],
            [{ header: { crit: ['b64'], b64: true } }, /malformed/],
            [{ claims: { exp: at - 1 } }, /expired/], [{ claims: { exp: undefined } }, /malformed/],
            [{ claims: { nbf: at + 120 } }, /not_yet/], [{ claims: { iss: 'Somebody' } }, /issuer/],
            [{ claims: { body: hashOf(`${body} `) } }, /body/], [{ claims: { body: undefined } }, /body/],
            [{ url: `${PUBLIC}/api/workers/other` }, /url/], [{ claims: { sub: undefined } }, /url/],
            [{ headers: { 'Upstash-Signature': [good, good] }, signature: null }, /malformed/],
        ];
        const before = await untouched(server.db);
        for (const [how, why] of rows) refused(await callWorker(server, body, how), 'signature', why);
        assert.deepEqual(await untouched(server.db), before);
        assert.equal(await counted(server, 'refused'), rows.length);
        await server.line('a line', (l) => l.message === 'Upstash-Signature verification failed' && l.level === 'warn');
        const japanese = await callWorker(server, body, { signature: null, headers: { 'Accept-Language': 'ja' } });
        refused(japanese, 'signature', /署名/);
        assert.equal((await callWorker(server, body, { signature: good })).status, 204, 'the good one is good');
    });

    test('Q4 what is no event is 489, and nothing is stored', async (t) => {
        const server = await start(t, store);
        const before = await untouched(server.db);
        const bodies = [
            '', 'hello', '{', '[]', '{"id":"evt_1","type":"x","data":{"object":{}}} ,', JSON.stringify(event('x', { id: undefined })),
            JSON.stringify(event('x', { id: 7 })), JSON.stringify(event('x', { type: undefined })), JSON.stringify(event('x', { data: undefined })),
            JSON.stringify(event('x', { id: '' })), '{"id":"a","id":"b"}', Buffer.from([0x7b, 0xff, 0x7d]),
        ];
        for (const body of bodies) refused(await callWorker(server, body), 'payload');
        assert.deepEqual(await untouched(server.db), before);
        const large = JSON.stringify(event()).padEnd(256 * 1024);
        assert.equal((await callWorker(server, large)).status, 204);
        assert.equal((await callWorker(server, `${large} `)).status, 413);
        const get = await server.get(WORKER);
        assert.equal(get.status, 405);
    });

    test('Q4 a repeat is 204 and changes nothing, whoever brought the event first', async (t) => {
        const server = await silent(t, store);
        const { payment, one } = await capturedThere(server);
        assert.equal((await server.deliver(one)).status, 204);
        await server.settled(one.id);
        const [before, told] = [await now(server, payment), await types(server, payment)];
        for (let i = 0; i < 3; i++) assert.equal((await callWorker(server, one, { headers: { 'Upstash-Retried': String(i) } })).status, 204);
        assert.equal(await counted(server, 'known'), 3);
        assert.deepEqual([await now(server, payment), await types(server, payment)], [before, told]);
        const first = event();
        assert.equal((await callWorker(server, first)).status, 204);
        assert.equal((await server.deliver(first)).status, 204);
        assert.equal(await server.db.duplicates(first.id), 1, 'Stripe told it again');
        assert.equal(await server.db.count('webhook_events'), 2);
        assert.equal(await server.db.count('webhook_outcomes'), 2);
    });

    test('Q4 ignored, superseded and wrong-mode events are done: 204', async (t) => {
        const server = await silent(t, store);
        const { payment, one } = await capturedThere(server);
        const older = await eventOf(server, payment, 'payment_intent.amount_capturable_updated');
        const rows = [
            [one, 'applied'], [older, 'superseded'], [event('customer.created'), 'ignored'], [event(), 'ignored'],
            [event('payment_intent.succeeded', { livemode: true }), 'wrong_mode'],
        ];
        for (const [what, outcome] of rows) {
            assert.equal((await callWorker(server, what)).status, 204);
            assert.equal((await server.db.outcome(what.id)).outcome, outcome);
        }
    });

    test('Q4 the same event a hundred times at once, by QStash and by Stripe: one event, one outcome, one effect', async (t) => {
        const server = await silent(t, store);
        for (let round = 0; round < 3; round++) {
            const { payment, one } = await capturedThere(server);
            const answers = await Promise.all(Array.from({ length: 100 }, (_, i) =>
                (i % 3 ? callWorker(server, one) : server.deliver(one))));
            for (const { status } of answers) assert.ok([204, 503].includes(status), String(status));
            await server.settled(one.id);
            assert.equal((await callWorker(server, one)).status, 204);
            assert.equal((await now(server, payment)).status, 'CAPTURED');
            assert.deepEqual((await types(server, payment)).filter((type) => type === 'PaymentCaptured').length, 1);
            await until('nothing is left', async () => await server.db.count('message', `ref = '${one.id}'`) === 0);
        }
        assert.equal(await server.db.count('webhook_events'), 3);
        assert.equal(await server.db.count('webhook_outcomes'), 3);
        assert.deepEqual(await server.db.dead(), []);
    });

    test('Q4 a terminal failure is 489 and a dead letter here, once', async (t) => {
        const server = await start(t, store, faults('apply:charge.failed=fail@1-2'));
        const one = event('charge.failed');
        for (let i = 0; i < 2; i++) {
            const answer = await callWorker(server, one, { headers: { 'Upstash-Retried': '2' } });
            refused(answer, 'event', /fault point/);
            assert.equal(answer.headers['x-event-id'], one.id);
        }
        const [letter, ...more] = await server.db.dead();
        assert.deepEqual(more, []);
        assert.deepEqual([letter.kind, letter.ref, letter.attempts], ['stripe.event', one.id, 3]);
        assert.match(letter.reason, /fault point/);
        assert.equal((await server.db.outcome(one.id)).outcome, 'dead');
        assert.equal((await server.db.event(one.id)).message_id, letter.id);
        assert.equal((await server.db.audit(`operation = 'DEAD_LETTER'`)).length, 1);
        const [failed] = await server.db.all('SELECT event_id, event_type FROM failed_webhook_events');
        assert.deepEqual(failed, { event_id: one.id, event_type: 'charge.failed' });
        await server.line('an alert', (l) => l.message === 'dead letter' && l.ref === one.id && l.level === 'error');
        await server.line('it is told', (l) => l.message === 'dead letter');
        assert.equal(server.lines.filter((l) => l.message === 'dead letter').length, 1);
        assert.equal(await counted(server, 'dead'), 2);
        // An operator retries it at the remote, and it goes well now.
        assert.equal((await callWorker(server, one)).status, 204);
        assert.equal((await server.db.outcome(one.id)).outcome, 'ignored');
        assert.deepEqual(await server.db.dead(), []);
    });

    test('Q4 an event whose dead letter an operator retries here belongs to the queue; one that he deleted is 489', async (t) => {
        const server = await start(t, store, faults('apply:charge.failed=fail@1-2'));
        const [retried, deleted] = [event('charge.failed'), event('charge.failed')];
        for (const one of [retried, deleted]) refused(await callWorker(server, one), 'event');
        const letters = await server.db.dead();
        const id = (one) => asUuid(letters.find(({ ref }) => ref === one.id).id);
        const dlq = '/api/v1/admin/dlq';
        assert.ok((await server.call('POST', `${dlq}/${id(retried)}/retry`, { as: 'admin' })).status < 300);
        assert.ok((await server.call('DELETE', `${dlq}/${id(deleted)}`, { as: 'admin' })).status < 300);
        await until('it was applied', async () => (await server.db.outcome(retried.id)).outcome === 'ignored');
        assert.equal((await callWorker(server, retried)).status, 204);
        refused(await callWorker(server, deleted), 'event', /deleted/);
        assert.deepEqual(await server.db.dead(), []);
    });

    test('Q4 what may heal is 503 with Retry-After and changes nothing; then it is done', async (t) => {
        const server = await start(t, store, faults('apply:charge.failed=retry@1-2'));
        const one = event('charge.failed');
        const before = await untouched(server.db);
        for (let i = 0; i < 2; i++) later(await callWorker(server, one));
        assert.deepEqual(await untouched(server.db), before);
        assert.equal((await callWorker(server, one)).status, 204);
        assert.equal((await server.db.outcome(one.id)).outcome, 'ignored');
        assert.equal(await counted(server, 'retry'), 2);
    });

    test('Q4 D20 an event of ours whose payment is not there yet is 503, and the door of Stripe still takes it', async (t) => {
        const server = await start(t, store);
        const one = event('payment_intent.succeeded', { data: { object: paymentIntent({ object: { metadata: { payment_id: uuid() } } }) } });
        const answer = await callWorker(server, one);
        later(answer);
        assert.match(answer.body.detail, /no such payment yet/);
        assert.equal(await server.db.count('webhook_events'), 0);
        assert.equal((await server.deliver(one)).status, 204);
        await until('the queue tries it', async () => (await server.db.messages()).some(({ ref, attempt }) => ref === one.id && attempt > 0));
        assert.equal((await callWorker(server, one)).status, 204, 'it is in our own queue: safe');
        await until('the queue gives it up', async () => {
            if ((await server.db.dead()).length) return true;
            await server.advance(1000);
            return false;
        });
        later(await callWorker(server, one)); // a dead one is tried again, and still has no payment
        assert.equal((await server.db.dead()).length, 1);
    });

    test('Q4 an event that is bad by itself is 489: a refund in another currency', async (t) => {
        const server = await silent(t, store);
        const payment = await server.captured();
        assert.equal((await server.refund(payment, 100)).status, 200);
        const bad = retold(await eventOf(server, payment, 'refund.created'), {}, { currency: 'usd' });
        refused(await callWorker(server, bad), 'event', /currency/);
        assert.equal((await server.db.dead()).length, 1);
        assert.equal((await now(server, payment)).status, 'CAPTURED');
    });

    test('Q4 E2 where the gateway is asked first, 204 says that this is durable; a repeat asks nobody again', async (t) => {
        const server = await silent(t, store, { ICHIDO_REFETCH: 'on' });
        const { payment, one } = await capturedThere(server);
        await server.fault({ path: '/v1/payment_intents/*', method: 'GET', statusBefore: 500, times: 1000 });
        for (let i = 0; i < 3; i++) assert.equal((await callWorker(server, one)).status, 204);
        assert.equal((await server.db.messages()).filter(({ kind }) => kind === 'stripe.refetch').length, 1);
        assert.equal(await server.db.outcome(one.id), undefined);
        assert.equal(await counted(server, 'known'), 2);
        await server.healed();
        await until('it was asked', async () => {
            if (await server.db.outcome(one.id)) return true;
            await server.advance(1000);
            return false;
        });
        const outcome = await server.db.outcome(one.id);
        assert.deepEqual([outcome.outcome, outcome.detail], ['applied', 'asked the gateway']);
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        assert.equal((await callWorker(server, one)).status, 204);
        assert.deepEqual(await server.db.dead(), []);
    });

    // --- by reference: what our own publisher sends ---

    test('Q4 Q5 a reference to an event that is stored is worked on as the event itself', async (t) => {
        const fake = await FakeQStash.open(t);
        const server = await silent(t, store, {
            ICHIDO_QUEUE: 'qstash', QSTASH_URL: fake.url, ICHIDO_PUBLIC_URL: PUBLIC, ICHIDO_FAULTS: 'apply:charge.failed=fail@1-2',
        });
        const { payment, one } = await capturedThere(server);
        const [retried, deleted] = [event('charge.failed'), event('charge.failed')];
        for (const each of [one, retried, deleted]) assert.equal((await server.deliver(each)).status, 204);
        await fake.took(3);
        const row = await server.db.event(one.id);
        for (let i = 0; i < 3; i++) {
            const answer = await callWorker(server, referenceTo(one));
            assert.equal(answer.status, 204, answer.text);
            assert.deepEqual([answer.headers['x-event-id'], answer.headers['x-message-id']], [one.id, asUuid(row.message_id)]);
            assert.equal((await server.db.outcome(one.id)).outcome, 'applied');
        }
        assert.deepEqual([await counted(server, 'done'), await counted(server, 'known')], [1, 2]);
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        assert.deepEqual(await server.db.event(one.id), row, 'as Stripe sent it');

        for (const each of [retried, deleted])
            refused(await callWorker(server, referenceTo(each), { headers: { 'Upstash-Retried': '2' } }), 'event', /fault point/);
        const letters = await server.db.dead();
        assert.deepEqual(letters.map(({ kind, attempts }) => [kind, attempts]), [['stripe.event', 3], ['stripe.event', 3]]);
        const id = asUuid(letters.find(({ ref }) => ref === deleted.id).id);
        assert.ok((await server.call('DELETE', `/api/v1/admin/dlq/${id}`, { as: 'admin' })).status < 300);
        assert.equal((await callWorker(server, referenceTo(retried))).status, 204, 'it goes well now');
        assert.equal((await server.db.outcome(retried.id)).outcome, 'ignored');
        assert.deepEqual(await server.db.dead(), [], 'its letter is gone');
        refused(await callWorker(server, referenceTo(deleted)), 'event', /deleted/);
        assert.deepEqual([await server.db.count('webhook_events'), await server.db.count('webhook_outcomes')], [3, 3]);
    });

    test('Q4 Q5 A6 a reference to an event whose body went after its retention: what became of it is still told', async (t) => {
        const server = await start(t, store, faults('apply:charge.failed=fail'));
        const [done, deleted, dead] = [event(), event('charge.failed'), event('charge.failed')];
        assert.equal((await callWorker(server, done)).status, 204);
        for (const one of [deleted, dead]) refused(await callWorker(server, one), 'event');
        const letter = (await server.db.dead()).find(({ ref }) => ref === deleted.id);
        assert.ok((await server.call('DELETE', `/api/v1/admin/dlq/${asUuid(letter.id)}`, { as: 'admin' })).status < 300);
        await server.db.all(`UPDATE webhook_events SET body = ${server.db.blob('')}`);
        const before = await untouched(server.db);
        assert.equal((await callWorker(server, referenceTo(done))).status, 204);
        refused(await callWorker(server, referenceTo(deleted)), 'event', /deleted/);
        refused(await callWorker(server, referenceTo(dead)), 'event', /not stored any more/); // a replay that died meanwhile
        assert.deepEqual(await untouched(server.db), before);
        assert.equal((await server.db.outcome(done.id)).outcome, 'ignored');
    });

    test('Q4 Q5 a reference to what is not stored here is 503 and stores nothing; one without a sane id is 489', async (t) => {
        const server = await start(t, store);
        const one = event();
        const before = await untouched(server.db);
        for (let i = 0; i < 2; i++) {
            const answer = await callWorker(server, referenceTo(one));
            later(answer);
            assert.match(answer.body.detail, /not stored here/);
        }
        for (const id of [undefined, 7, null, '', 'evt 1', 'e'.repeat(256), '領', {}])
            refused(await callWorker(server, { ...referenceTo(one), id }), 'payload', /no sane id/);
        refused(await callWorker(server, { ...referenceTo(one), object: 'ichido.events' }), 'payload', /no data.object/);
        refused(await callWorker(server, { id: one.id, type: one.type }), 'payload', /no data.object/);
        assert.deepEqual(await untouched(server.db), before);
        assert.deepEqual([await counted(server, 'retry'), await counted(server, 'refused')], [2, 10]);
        assert.equal((await server.deliver(one)).status, 204);
        await server.settled(one.id);
        assert.equal(await server.db.duplicates(one.id), 0, "it was new to Stripe's door");
        assert.equal((await callWorker(server, referenceTo(one))).status, 204);
    });

    test('Q4 Q5 the same event a hundred times at once, by reference, whole and by Stripe: one outcome, one effect', async (t) => {
        const server = await silent(t, store);
        for (let round = 0; round < 3; round++) {
            const { payment, one } = await capturedThere(server);
            const ways = [() => server.deliver(one), () => callWorker(server, referenceTo(one)), () => callWorker(server, one), () => callWorker(server, referenceTo(one))];
            const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => ways[i % 4]()));
            for (const { status } of answers) assert.ok([204, 503].includes(status), String(status));
            await server.settled(one.id);
            assert.equal((await callWorker(server, referenceTo(one))).status, 204);
            assert.equal((await now(server, payment)).status, 'CAPTURED');
            assert.equal((await types(server, payment)).filter((type) => type === 'PaymentCaptured').length, 1);
            await until('nothing is left', async () => await server.db.count('message', `ref = '${one.id}'`) === 0);
        }
        assert.deepEqual([await server.db.count('webhook_events'), await server.db.count('webhook_outcomes'), await server.db.count('dead_letters')], [3, 3, 0]);
    });

    test('Q4 a store that cannot write is 503, and the event is done when it can', async (t) => {
        const server = await start(t, store, faults(`${store.beforeCommit}=${store.refusal}@2-4`));
        const one = event();
        const answers = [];
        await until('204', async () => {
            const { status, text } = await callWorker(server, one);
            answers.push(status);
            assert.ok([204, 503].includes(status), text);
            return status === 204;
        });
        assert.equal((await server.db.outcome(one.id)).outcome, 'ignored');
        assert.equal(await server.db.count('webhook_outcomes'), 1);
    });

    test('Q4 T6 killed at any commit, and delivered again: one outcome', async (t) => {
        const db = await fresh(t, store);
        const one = event('charge.failed');
        let crashes = 0;
        for (let n = 1; n <= 6; n++) {
            const place = n % 2 ? store.afterCommit : store.beforeCommit;
            const server = launch(t, db, faults(`${place}=crash@${Math.ceil(n / 2)}`));
            try {
                await server.listening();
                for (let i = 0; i < 4 && !server.ended; i++) await callWorker(server, one);
            } catch (error) {
                await server.exit;
            }
            if (server.ended) crashes++;
            else await server.kill();
            assert.ok(await db.count('webhook_outcomes').catch(() => 0) <= 1);
        }
        assert.ok(crashes > 1, `only ${crashes} crashes`);
        const last = await start(t, store, { db });
        assert.equal((await callWorker(last, one)).status, 204);
        assert.equal((await db.outcome(one.id)).outcome, 'ignored');
        assert.deepEqual([await db.count('webhook_events'), await db.count('webhook_outcomes'), await db.count('dead_letters')], [1, 1, 0]);
    });
});

const postgres = stores.find((store) => store.kind === 'postgres');
if (postgres) {
    test('Q4 two nodes, both doors, every event to all of them at once: one outcome each [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const env = { ICHIDO_FAULTS: 'apply:charge.expired=fail' };
        const nodes = [await start(t, postgres, { db, env }), await start(t, postgres, { db, env })];
        const events = Array.from({ length: 60 }, (_, i) => event(i % 5 ? 'payment_intent.succeeded' : 'charge.expired'));
        await Promise.all(events.flatMap((one) => [
            callWorker(nodes[0], one), callWorker(nodes[1], one), nodes[0].deliver(one), callWorker(nodes[0], one),
        ]));
        await until('all are through', async () => (await db.outcomes()).length === events.length && await db.count('message') === 0);
        const outcomes = new Map((await db.outcomes()).map(({ event: id, outcome }) => [id, outcome]));
        for (const one of events) assert.equal(outcomes.get(one.id), one.type === 'charge.expired' ? 'dead' : 'ignored');
        assert.equal((await db.dead()).length, 12, 'one letter each');
        assert.equal(await db.count('webhook_events'), events.length);
    });
}

if (postgres) {
    test('Q4 a rotation on one node revokes on the other, within a second [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const nodes = [await start(t, postgres, { db }), await start(t, postgres, { db })];
        for (const node of nodes) await believes(node, [CURRENT_KEY, NEXT_KEY], []);
        await rotate(nodes[0]);
        const { current, next } = await rotate(nodes[0], '?force=true');
        await until('the other follows', async () => (await callWorker(nodes[1], event(), { key: NEXT_KEY })).status === 489, 3000);
        for (const node of nodes) await believes(node, [current, next], [CURRENT_KEY, NEXT_KEY]);
    });
}

test('Q4 production without signing keys has no worker, and says so', async (t) => {
    const env = {
        ICHIDO_MODE: 'production', ICHIDO_GATEWAY: 'stripe', ICHIDO_TEST_CLOCK: undefined, STRIPE_SECRET_KEY: 'sk_test_ichido_e2e',
        ICHIDO_SANDBOX_LISTEN: undefined, ICHIDO_SANDBOX_DB: undefined,
    };
    const without = await start(t, stores[0], { env });
    assert.equal((await callWorker(without, event())).status, 404);
    await without.line('off', (l) => l.message === 'queue' && l.worker === 'off' && l.qstashApi === 'off');
    const keys = { QSTASH_CURRENT_SIGNING_KEY: `sig_${unique()}`, QSTASH_NEXT_SIGNING_KEY: `sig_${unique()}` };
    Object.values(keys).forEach(remember);
    const server = await start(t, stores[0], { env: { ...env, ...keys } });
    refused(await callWorker(server, event()), 'signature', /mismatch/); // the SDK's dev keys are no keys here
    assert.equal((await callWorker(server, event(), { key: keys.QSTASH_CURRENT_SIGNING_KEY })).status, 204);
});
