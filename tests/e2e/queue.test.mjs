// The queue between the door and the effect (Q1 Q2 Q7 Q8 Q12, T5).
import {
    assert, event, forEachStore, fresh, launch, onIntent, pause, start, unique, until,
} from './lib/harness.mjs';

const faults = (rules) => ({ env: { ICHIDO_FAULTS: rules } });

// Advances until the condition holds: each step fires what is due.
const advanceUntil = (server, what, ms, holds) => until(what, async () => {
    if (await holds()) return true;
    await server.advance(ms);
    return false;
});

forEachStore((store, test) => {
    test('Q1 the event, its message and its effect are whole commits: a crash at any of them loses and doubles nothing', async (t) => {
        const db = await fresh(t, store);
        const one = event();
        const patient = { ICHIDO_WEBHOOK_RETRIES: '100' }; // a crash is no fault of the message
        let crashes = 0;
        // The server dies before or after its n-th commit, for n = 1, 2, ... as far as it gets.
        for (let n = 2; n <= 15; n++) {
            const place = n % 2 ? store.afterCommit : store.beforeCommit;
            const server = launch(t, db, { env: { ...patient, ICHIDO_FAULTS: `${place}=crash@${Math.floor(n / 2)}` } });
            try {
                await server.listening();
                await server.deliver(one);
                await until('dead or done', async () => server.ended || (await db.outcome(one.id)));
                if (!server.ended) await server.get('/readyz').catch(() => {});
            } catch (error) {
                if (!await Promise.race([server.exit, pause(2000)])) throw error;
            }
            if (server.ended) crashes++;
            else await server.stop();
            assert.ok(await db.count('webhook_events').catch(() => 0) <= 1);
        }
        assert.ok(crashes > 2, `only ${crashes} crashes`);
        const last = await start(t, store, { db, env: patient });
        assert.equal((await last.deliver(one)).status, 204);
        if (db.kind === 'postgres') await last.advance(60_000); // a dead node's lease runs out
        assert.equal((await last.settled(one.id)).outcome, 'ignored');
        assert.equal(await db.count('webhook_events'), 1);
        assert.equal(await db.count('webhook_outcomes'), 1);
        assert.equal(await db.count('message'), 0);
    });

    test('Q1 at every moment an event has a message or an outcome, never neither', async (t) => {
        const server = await start(t, store);
        const events = Array.from({ length: 200 }, () => event());
        const delivering = Promise.all(events.map((one) => server.deliver(one)));
        let looks = 0;
        for (let done = false; !done; looks++) {
            const [row] = await server.db.all(`SELECT (SELECT count(*) FROM webhook_events) AS events,
                (SELECT count(*) FROM webhook_outcomes) AS outcomes,
                (SELECT count(*) FROM message WHERE kind = 'stripe.event') AS messages`);
            assert.equal(row.events, row.outcomes + row.messages, JSON.stringify(row));
            done = row.outcomes === events.length;
        }
        await delivering;
        assert.ok(looks > 0);
    });

    test('Q2 a retryable failure is tried again after 1 s, 2 s and 4 s, then it is a dead letter', async (t) => {
        const server = await start(t, store, faults('apply:charge.failed=retry'));
        const one = event('charge.failed');
        let before = Date.now() + server.offsetMs;
        await server.deliver(one);
        for (const [attempt, wait] of [[1, 1000], [2, 2000], [3, 4000]]) {
            const row = await until(`attempt ${attempt} has failed`, async () => {
                const [message] = await server.db.messages();
                return message?.attempt === attempt && !message.owner && message;
            });
            const after = Date.now() + server.offsetMs;
            assert.ok(row.due_at >= before + wait - 20 && row.due_at <= after + wait + 20,
                `attempt ${attempt}: due ${row.due_at - before} ms after`);
            before = Date.now() + server.offsetMs;
            await server.advance(wait);
        }
        await until('it is dead', async () => (await server.db.dead()).length === 1);
        const [letter] = await server.db.dead();
        assert.equal(letter.attempts, 4);
        assert.equal(letter.ref, one.id);
        assert.equal((await server.db.outcome(one.id)).outcome, 'dead');
        assert.equal(await server.db.count('message'), 0);
        const metrics = await server.metrics();
        assert.equal(metrics.get('ichido_job_total', { result: 'retried' }), 3);
        assert.equal(metrics.get('ichido_job_total', { result: 'dead' }), 1);
        assert.equal(metrics.get('ichido_queue_dead'), 1);
    });

    test('Q2 a terminal failure is a dead letter at once, with an audit line and an alert', async (t) => {
        const server = await start(t, store, faults('apply:charge.failed=fail'));
        const one = event('charge.failed');
        await server.deliver(one);
        await until('it is dead', async () => (await server.db.dead()).length === 1);
        assert.equal((await server.db.dead())[0].attempts, 1);
        const alert = await server.line('an alert', (l) => l.message === 'dead letter' && l.ref === one.id);
        assert.equal(alert.level, 'error');
        const audit = await server.db.audit();
        assert.ok(audit.some((row) => JSON.stringify(row).includes(one.id)), JSON.stringify(audit));
    });

    test('Q2 a failure that heals is done on the next try, and how often is a setting', async (t) => {
        const server = await start(t, store, { env: {
            ICHIDO_FAULTS: 'apply:charge.failed=retry@1-2,apply:charge.expired=retry',
            ICHIDO_WEBHOOK_RETRIES: '2', ICHIDO_WEBHOOK_RETRY_MS: '500',
        } });
        const heals = event('charge.failed');
        const never = event('charge.expired');
        await server.deliver(heals);
        await server.deliver(never);
        await advanceUntil(server, 'both are through', 500, async () =>
            (await server.db.outcome(heals.id)) && (await server.db.outcome(never.id)));
        assert.equal((await server.db.outcome(heals.id)).outcome, 'ignored');
        assert.equal((await server.db.outcome(never.id)).outcome, 'dead');
        assert.equal((await server.db.dead())[0].attempts, 3);
    });

    test('Q7 a message whose worker was killed is taken up again after a restart', async (t) => {
        const first = launch(t, await fresh(t, store), faults('apply:charge.failed=crash'));
        await first.listening();
        const one = event('charge.failed');
        assert.equal((await first.deliver(one)).status, 204);
        assert.equal((await first.exit).signal, 'SIGKILL');
        const [held] = await first.db.messages();
        assert.equal(held.attempt, 1, 'the attempt was counted before the run');
        const second = await start(t, store, { db: first.db });
        if (store.kind === 'postgres') await second.advance(11_000);
        assert.equal((await second.settled(one.id)).outcome, 'ignored');
    });

    test('Q8 events of one payment run in order, and a parked lane blocks nobody else', async (t) => {
        const server = await start(t, store, faults('apply:payment_intent.processing=retry@1-2'));
        const intent = `pi_3${unique()}`;
        const lane = [
            onIntent(intent, 'payment_intent.processing'), onIntent(intent), onIntent(intent, 'payment_intent.canceled'),
        ];
        const others = Array.from({ length: 20 }, () => event());
        for (const one of lane) await server.deliver(one);
        for (const one of others) await server.deliver(one);
        for (const one of others) assert.equal((await server.settled(one.id)).outcome, 'ignored');
        const waiting = await server.db.messages();
        assert.deepEqual(waiting.map((row) => row.ref), lane.map((one) => one.id));
        assert.deepEqual(waiting.map((row) => row.ready), [1, 0, 0]);
        assert.deepEqual(waiting.slice(1).map((row) => row.attempt), [0, 0]);
        await advanceUntil(server, 'the lane is through', 1000, async () => await server.db.count('message') === 0);
        const done = [];
        for (const one of lane) done.push((await server.db.outcome(one.id)).at);
        assert.deepEqual(done, [...done].sort((a, b) => a - b), 'in the order they came');
    });

    test('Q8 metadata.payment_id names the lane, and a dead letter frees it', async (t) => {
        const server = await start(t, store, faults('apply:payment_intent.processing=fail'));
        const payment = `0199${unique()}`;
        const of = (type) => {
            const one = event(type);
            one.data.object.metadata = { payment_id: payment };
            return one;
        };
        const [first, second] = [of('payment_intent.processing'), of('payment_intent.succeeded')];
        await server.deliver(first);
        await server.deliver(second);
        assert.equal((await server.settled(first.id)).outcome, 'dead');
        assert.equal((await server.settled(second.id)).outcome, 'ignored');
        assert.equal(await server.db.count('message'), 0);
    });

    test('Q12 a message that crashes the server is quarantined after its budget, and the others get through', async (t) => {
        const db = await fresh(t, store);
        const poison = event('charge.failed');
        const good = Array.from({ length: 10 }, () => event());
        let crashes = 0;
        let server = launch(t, db, faults('apply:charge.failed=crash'));
        await server.listening();
        for (const one of good.slice(0, 5)) await server.deliver(one);
        assert.equal((await server.deliver(poison)).status, 204);
        while (crashes < 10) {
            const over = await Promise.race([
                server.exit, until('it is buried', async () => (await db.dead()).length === 1),
            ]);
            if (over === true) break;
            assert.equal(over.signal, 'SIGKILL');
            crashes++;
            server = launch(t, db, faults('apply:charge.failed=crash'));
            await server.listening().catch(() => {});
            if (store.kind === 'postgres') await server.advance(11_000 * (crashes + 1)).catch(() => {});
        }
        assert.equal(crashes, 4, 'one run and three retries');
        assert.equal((await db.outcome(poison.id)).outcome, 'dead');
        for (const one of good.slice(5)) assert.equal((await server.deliver(one)).status, 204);
        for (const one of good) assert.equal((await server.settled(one.id)).outcome, 'ignored');
        assert.equal((await server.stop()).code, 0);
    });

    test('Q12 a message of an unknown kind stops nobody, waits for a node that knows it, and dies in the end', async (t) => {
        const server = await start(t, store);
        const id = '0199e6a25c0070008000000000000001';
        await server.db.all(`INSERT INTO message (id, kind, ready, due_at, added_at, ref)
            VALUES (${server.db.blob(id)}, 'no.such.kind', 1, 1, 1, 'stray')`);
        const one = event();
        await server.deliver(one);
        assert.equal((await server.settled(one.id)).outcome, 'ignored');
        await until('it was tried', async () => (await server.db.messages())[0]?.last_error);
        await advanceUntil(server, 'the stray is buried', 6 * 3600 * 1000, async () =>
            (await server.db.dead()).some((row) => row.id === id));
    });

    test('T5 the test clock moves a day in a moment, and is not there unless asked for', async (t) => {
        const server = await start(t, store, { env: {
            ICHIDO_FAULTS: 'apply:charge.failed=retry@1', ICHIDO_WEBHOOK_RETRY_MS: String(24 * 3600 * 1000),
        } });
        const one = event('charge.failed');
        await server.deliver(one);
        await until('it waits', async () => (await server.db.messages())[0]?.last_error);
        await server.advance(23 * 3600 * 1000);
        await until('the hourly work is done', async () => (await server.get('/readyz')).status === 200);
        assert.equal((await server.db.messages())[0].attempt, 1, 'not yet');
        await server.advance(3600 * 1000);
        assert.equal((await server.settled(one.id)).outcome, 'ignored');
        for (const body of ['{}', '{"advanceMs":-1}', '{"advanceMs":"1"}', '{"advanceMs":1.5}', '['])
            assert.equal((await server.request({ method: 'POST', path: '/test/clock' }, body)).status, 400, body);
        const plain = await start(t, store, { env: { ICHIDO_TEST_CLOCK: undefined } });
        const answer = await plain.request({ method: 'POST', path: '/test/clock' }, '{"advanceMs":1}');
        assert.equal(answer.status, 404);
    });

    test('T2 the same deliveries leave the same rows on both databases', async (t) => {
        const server = await start(t, store, faults('apply:charge.failed=fail,apply:charge.expired=retry'));
        const intent = 'pi_3same';
        const fixed = [
            ['evt_s1', 'payment_intent.succeeded'], ['evt_s2', 'balance.available'], ['evt_s3', 'charge.failed'],
            ['evt_s4', 'charge.expired'], ['evt_s1', 'payment_intent.succeeded'],
        ].map(([id, type]) => ({ ...event(type, { id }), data: { object: { id: intent, object: 'payment_intent' } } }));
        for (const one of fixed) await server.deliver(one);
        await advanceUntil(server, 'all are through', 4000, async () => (await server.db.outcomes()).length === 4);
        const outcomes = (await server.db.outcomes()).map((row) => [row.event, row.outcome]).sort(); // ids of one millisecond have no order
        assert.deepEqual(outcomes, [
            ['evt_s1', 'processed'], ['evt_s2', 'ignored'], ['evt_s3', 'dead'], ['evt_s4', 'dead'],
        ]);
        const dead = (await server.db.dead()).map((row) => [row.ref, row.attempts]);
        assert.deepEqual(dead, [['evt_s3', 1], ['evt_s4', 4]]);
        assert.equal(await server.db.count('message'), 0);
    });
});
