// The provider's door: what is accepted, what is refused, what is kept (W1 W2 W3 W4 W6 W9).
import {
    assert, digest, event, forEachStore, nowSeconds, OLD_SECRET, pretty, SECRET, sign, signBytes,
    start, stripe, until, unique, WRONG_SECRET,
} from './lib/harness.mjs';

const problem = (answer) => {
    assert.match(answer.headers['content-type'], /^application\/problem\+json/);
    const body = JSON.parse(answer.text);
    assert.equal(body.status, answer.status);
    return body;
};

forEachStore((store, test) => {
    test('W1 what stripe-node signs is accepted and kept byte for byte', async (t) => {
        const server = await start(t, store);
        const bodies = [
            pretty(event()), JSON.stringify(event()), `${JSON.stringify(event())}\r\n`,
            pretty(event('payment_intent.succeeded', { note: '領収書 ¥1,000 café 😀' })),
            ` \n${pretty(event())}`,
        ];
        for (const body of bodies) {
            const header = sign(body);
            stripe.webhooks.constructEvent(body, header, SECRET); // its own verifier agrees
            assert.equal((await server.deliver(body, { signature: header })).status, 204);
        }
        const kept = (await server.db.events()).map((row) => Buffer.from(row.body, 'hex').toString());
        assert.deepEqual(kept, bodies);
    });

    test('W1 any of several secrets and any of several v1 will do', async (t) => {
        const server = await start(t, store, { env: { STRIPE_WEBHOOK_SECRET: `${SECRET},${OLD_SECRET}` } });
        const body = pretty(event());
        const at = nowSeconds();
        const right = digest(body, SECRET, at);
        const old = digest(body, OLD_SECRET, at);
        const headers = [
            sign(body, { at }), sign(body, { at, secret: OLD_SECRET }),
            `t=${at},v1=${'0'.repeat(64)},v1=${right}`, `t=${at},v1=${old},v1=${right}`,
            `t=${at},v1=${right},v0=${'f'.repeat(64)}`, `v1=${right},t=${at}`, `t=${at},v1=${right},`,
        ];
        for (const signature of headers)
            assert.equal((await server.deliver(body, { signature })).status, 204, signature.slice(0, 30));
        assert.equal(await server.db.count('webhook_events'), 1);
    });

    test('W1 a wrong, old, future or missing signature is a 400 problem and nothing is stored', async (t) => {
        const server = await start(t, store);
        const body = pretty(event());
        const now = nowSeconds();
        const right = digest(body, SECRET, now);
        const rows = [
            ['mismatch', sign(body, { secret: WRONG_SECRET })],
            ['mismatch', sign(`${body} `)],
            ['mismatch', `t=${now - 1},v1=${right}`],
            ['mismatch', `t=${now},v1=${'0'.repeat(64)}`],
            ['too_old', sign(body, { at: now - 310 })],
            ['future', sign(body, { at: now + 310 })],
            ['no_v1', `t=${now},v0=${right}`],
            ['no_timestamp', `v1=${right}`],
        ];
        for (const [reason, signature] of rows) {
            const before = (await server.metrics()).get('ichido_webhook_rejected_total', { reason });
            const answer = await server.deliver(body, { signature });
            assert.equal(answer.status, 400, reason);
            assert.equal(problem(answer).code, 'SIGNATURE_INVALID');
            assert.ok(!answer.text.includes(right), 'the right digest is not told');
            const after = (await server.metrics()).get('ichido_webhook_rejected_total', { reason });
            assert.equal(after, before + 1, reason);
        }
        for (const signature of ['', 'nonsense', `t=abc,v1=${right}`, 't=,v1=', `t=${now},v1=${right.toUpperCase()}`, ','.repeat(900)])
            assert.equal((await server.deliver(body, { signature })).status, 400, signature.slice(0, 30));
        const missing = await server.request({
            method: 'POST', path: '/api/v1/webhooks/stripe', headers: { 'Content-Type': 'application/json' },
        }, body);
        assert.equal(missing.status, 400);
        assert.equal(await server.db.count('webhook_events'), 0);
        assert.equal(await server.db.count('message'), 0);
    });

    test('W1 five minutes of difference are tolerated, both ways', async (t) => {
        const server = await start(t, store);
        for (const seconds of [-290, 290])
            assert.equal((await server.deliver(event(), { at: nowSeconds() + seconds })).status, 204);
        await server.advance(600_000);
        assert.equal((await server.deliver(event(), { at: nowSeconds() })).status, 400, 'the clock moved on');
        assert.equal((await server.deliver(event())).status, 204, 'and the sender too');
    });

    test('W1 rejections leave one audit row a minute and reason, with its count', async (t) => {
        const server = await start(t, store);
        await server.newMinute();
        for (let i = 0; i < 5; i++) await server.deliver(event(), { secret: WRONG_SECRET });
        for (let i = 0; i < 3; i++) await server.deliver(event(), { at: nowSeconds() - 1000 });
        await server.advance(61_000);
        const rows = await until('two audit rows', async () => {
            const found = await server.db.audit(`operation = 'WEBHOOK_REJECTED'`);
            const total = found.reduce((sum, row) => sum + row.times, 0);
            return total === 8 && found;
        });
        assert.deepEqual(rows.map((row) => row.times).sort(), [3, 5], JSON.stringify(rows));
        assert.deepEqual(rows.map((row) => row.detail).sort(), ['mismatch', 'too_old']);
        await server.newMinute();
        for (let i = 0; i < 2; i++) await server.deliver(event(), { secret: WRONG_SECRET });
        await server.advance(61_000);
        await until('the next minute has its own row', async () => {
            const found = await server.db.audit(`operation = 'WEBHOOK_REJECTED'`);
            return found.length === 3 && found[2].times === 2;
        });
    });

    test('W1 rejections are in the audit after a stop, too', async (t) => {
        const server = await start(t, store);
        await server.deliver(event(), { secret: WRONG_SECRET });
        assert.equal((await server.stop()).code, 0);
        const rows = await server.db.audit(`operation = 'WEBHOOK_REJECTED'`);
        assert.equal(rows.reduce((sum, row) => sum + row.times, 0), 1);
    });

    test('W2 the ACK is 204 without a body, and its headers say what became of the request', async (t) => {
        const server = await start(t, store);
        const one = event();
        const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
        const answer = await server.deliver(one, {
            headers: { 'X-Request-Id': 'req-from-proxy-1', traceparent: `00-${trace}-00f067aa0ba902b7-01` },
        });
        assert.equal(answer.status, 204);
        assert.equal(answer.text, '');
        assert.equal(answer.headers['content-length'], undefined);
        assert.equal(answer.headers['x-request-id'], 'req-from-proxy-1');
        assert.equal(answer.headers['x-event-id'], one.id);
        assert.match(answer.headers.traceparent, new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
        const row = await server.db.event(one.id);
        assert.equal(answer.headers['x-message-id'].replaceAll('-', ''), row.message_id);
        assert.equal(row.request_id, 'req-from-proxy-1');
        assert.ok(row.trace.includes(trace));
        assert.equal((await server.settled(one.id)).outcome, 'ignored');
    });

    test('W2 without ids from outside the answer carries new ones', async (t) => {
        const server = await start(t, store);
        const answers = [await server.deliver(event()), await server.deliver(event())];
        const ids = new Set(answers.map((answer) => answer.headers['x-request-id']));
        assert.equal(ids.size, 2);
        for (const bad of ['a b', 'x'.repeat(500), 'ü']) {
            const answer = await server.deliver(event(), { headers: { 'X-Request-Id': Buffer.from(bad).toString('latin1') } });
            assert.equal(answer.status, 204);
            assert.notEqual(answer.headers['x-request-id'], bad);
        }
        const odd = await server.deliver(event(), { headers: { traceparent: '00-zz-yy-01' } });
        assert.equal(odd.status, 204);
    });

    test('W2 with ICHIDO_WEBHOOK_ACK=200 the ACK is 200 {"received":true}', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_WEBHOOK_ACK: '200' } });
        const one = event();
        for (let i = 0; i < 2; i++) {
            const answer = await server.deliver(one);
            assert.equal(answer.status, 200);
            assert.deepEqual(JSON.parse(answer.text), { received: true });
            assert.equal(answer.headers['x-event-id'], one.id);
        }
    });

    test('W2 every ACK is in the latency histogram', async (t) => {
        const server = await start(t, store);
        for (let i = 0; i < 20; i++) await server.deliver(event());
        const metrics = await server.metrics();
        assert.equal(metrics.get('ichido_webhook_ack_seconds_count'), 20);
        assert.equal(metrics.get('ichido_webhook_received_total'), 20);
        assert.ok(metrics.get('ichido_webhook_ack_seconds_sum') > 0);
    });

    test('W3 what cannot be made durable is 503 with Retry-After, and nothing of it is stored', async (t) => {
        const server = await start(t, store, { env: {
            ICHIDO_FAULTS: `${store.beforeCommit}=${store.refusal}@1-120`, // the start's own commits are among them
        } });
        const one = event();
        const first = await server.deliver(one);
        assert.equal(first.status, 503);
        assert.ok(Number(first.headers['retry-after']) > 0);
        assert.equal(problem(first).code, store.refusalCode);
        assert.equal(await server.db.count('webhook_events'), 0);
        await until('the store heals', async () => (await server.deliver(one)).status === 204);
        assert.equal(await server.db.count('webhook_events'), 1);
        assert.equal((await server.settled(one.id)).outcome, 'ignored');
        assert.ok((await server.metrics()).get('ichido_webhook_unstored_total') > 0);
    });

    test('W3 over its backlog limit the door answers 503, and opens again when work is done', async (t) => {
        const server = await start(t, store, {
            env: { ICHIDO_BACKLOG_LIMIT: '20', ICHIDO_FAULTS: 'apply:charge.failed=retry' },
        });
        // The standing jobs (hourly clean-ups and the like) are messages too. Where many nodes add and finish, the count
        // is an estimate that is counted anew now and then (LIMIT_RECOUNT_MS).
        let standing = 0;
        let same = 0;
        await until('they are there', async () => {
            const [{ n }] = await server.db.all('SELECT count(*) AS n FROM message');
            const [there, live] = [Number(n), (await server.metrics()).get('ichido_queue_live')];
            same = there > 0 && there === standing && live === there ? same + 1 : 0;
            standing = there;
            if (live !== there && store.name !== 'SQLite') { // what moved is counted anew a minute later
                await server.deliver(event());
                await server.advance(61_000);
            }
            return same === 10;
        });
        const parked = [];
        let refused;
        let answer;
        do {
            refused = event('charge.failed');
            answer = await server.deliver(refused);
            if (answer.status === 204) parked.push(refused);
        } while (answer.status === 204 && parked.length < 30);
        assert.ok(Math.abs(parked.length - (20 - standing)) <= (store.name === 'SQLite' ? 0 : 3), `${parked.length} were taken`);
        assert.equal(answer.status, 503);
        assert.equal(problem(answer).code, 'BACKLOG_FULL');
        assert.ok(Number(answer.headers['retry-after']) > 0);
        assert.equal((await server.get('/readyz')).status, 503);
        assert.equal(await server.db.event(refused.id), undefined);
        await until('the parked ones are dead letters', async () => {
            await server.advance(5_000);
            return (await server.db.dead()).length === parked.length;
        });
        await until('the door is open again', async () => (await server.deliver(event())).status === 204);
        assert.equal((await server.get('/readyz')).status, 200);
    });

    test('W4 a repeated event id is acknowledged like the first and changes nothing', async (t) => {
        const server = await start(t, store);
        const one = event();
        const first = await server.deliver(one);
        await server.settled(one.id);
        for (let i = 0; i < 3; i++) {
            const again = await server.deliver(one);
            assert.equal(again.status, 204);
            assert.equal(again.headers['x-event-id'], one.id);
            assert.equal(again.headers['x-message-id'], first.headers['x-message-id']);
        }
        // Another body under the same id is a repetition, too: the first one counts.
        assert.equal((await server.deliver({ ...one, created: 1 })).status, 204);
        assert.equal(await server.db.count('webhook_events'), 1);
        assert.equal(await server.db.count('webhook_outcomes'), 1);
        assert.equal(await server.db.count('message'), 0);
        assert.equal((await server.metrics()).get('ichido_webhook_duplicate_total'), 4);
        assert.equal((await server.stop()).code, 0); // counts are written at the latest now
        assert.equal(await server.db.duplicates(one.id), 4);
    });

    test('W4 and however much later: 89 days, and after a restart', async (t) => {
        const server = await start(t, store);
        const one = event();
        await server.deliver(one);
        await server.settled(one.id);
        await server.advance(89 * 24 * 3600 * 1000);
        assert.equal((await server.deliver(one)).status, 204);
        await server.stop();
        const next = await start(t, store, { db: server.db });
        assert.equal((await next.deliver(one)).status, 204);
        assert.equal(await next.db.count('webhook_events'), 1);
        assert.equal(await next.db.count('webhook_outcomes'), 1);
    });

    test('W4 sixty-four deliveries of one event at the same moment are one event', async (t) => {
        const server = await start(t, store);
        const events = [event(), event(), event()];
        const answers = await Promise.all(
            Array.from({ length: 64 }, (_, i) => server.deliver(events[i % 3])));
        assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [204]);
        assert.equal(new Set(answers.map((answer) => answer.headers['x-message-id'])).size, 3);
        for (const one of events) await server.settled(one.id);
        assert.equal(await server.db.count('webhook_events'), 3);
        assert.equal(await server.db.count('webhook_outcomes'), 3);
        assert.equal((await server.metrics()).get('ichido_webhook_duplicate_total'), 61);
    });

    test('W6 an unknown event type is kept, marked ignored, and not retried', async (t) => {
        const server = await start(t, store);
        const one = event('balance.available');
        assert.equal((await server.deliver(one)).status, 204);
        assert.equal((await server.settled(one.id)).outcome, 'ignored');
        assert.equal(await server.db.count('message'), 0);
        assert.equal(await server.db.count('dead_letters'), 0);
        assert.equal((await server.metrics()).get('ichido_event_outcome_total', { outcome: 'ignored' }), 1);
    });

    test('W6 broken JSON or missing fields with a right signature are ACKed and go straight to the dead letters', async (t) => {
        const server = await start(t, store);
        const nul = JSON.stringify(event()).replace('jpy', 'j\\u0000py');
        const broken = [
            '{"id":"evt_broken",', 'null', '[]', '"text"', '{}', '{"id":5,"type":"charge.failed"}',
            `{"object":"event","type":"charge.failed","data":{}}`,
            `{"id":"evt_${unique()}","object":"event"}`,
            `{"id":"","object":"event","type":"charge.failed","data":{"object":{}}}`,
            '['.repeat(5000), `{"id":"evt_a","id":"evt_b","type":"x"}`, nul,
            Buffer.from([0x7b, 0xff, 0x7d]), Buffer.from('{"id":"evt_\0"}', 'latin1'),
            Buffer.concat([Buffer.from('{"id":"evt_'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
        ];
        for (const body of broken) {
            const signature = signBytes(Buffer.from(body));
            const answer = await server.deliver(body, { signature });
            assert.equal(answer.status, 204, JSON.stringify(body.toString().slice(0, 40)));
            assert.equal((await server.deliver(body, { signature: signBytes(Buffer.from(body)) })).status, 204);
        }
        await until('all are dead', async () => (await server.db.dead()).length === broken.length);
        for (const letter of await server.db.dead()) {
            assert.ok(letter.reason.length > 0);
            assert.ok(letter.attempts <= 1, `not retried: ${letter.attempts}`);
        }
        const rows = await server.db.events();
        assert.equal(rows.length, broken.length);
        assert.deepEqual(rows.map((row) => row.body), broken.map((body) => Buffer.from(body).toString('hex')));
        const good = event();
        await server.deliver(good);
        assert.equal((await server.settled(good.id)).outcome, 'ignored');
    });

    test('W9 livemode other than the key says is kept, marked, and never applied', async (t) => {
        for (const [key, mode, outcome] of [
            ['sk_test_1234567890abcdef', true, 'wrong_mode'], ['sk_test_1234567890abcdef', false, 'ignored'],
            ['sk_live_1234567890abcdef', false, 'wrong_mode'], ['sk_live_1234567890abcdef', true, 'ignored'],
            ['sk_live_1234567890abcdef', undefined, 'ignored'],
        ]) {
            const server = await start(t, store, { env: { STRIPE_SECRET_KEY: key } });
            const one = event('payment_intent.succeeded', { livemode: mode });
            assert.equal((await server.deliver(one)).status, 204);
            assert.equal((await server.settled(one.id)).outcome, outcome, `${key} ${mode}`);
            const row = await server.db.event(one.id);
            assert.equal(row.livemode, mode === undefined ? null : Number(mode));
            await server.stop();
        }
    });
});
