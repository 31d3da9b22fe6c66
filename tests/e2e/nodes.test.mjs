// Several nodes on one PostgreSQL share the work (Q7), and an idle one costs nothing (Q11).
import fs from 'node:fs';
import path from 'node:path';
import {
    assert, event, forEachStore, fresh, launch, pause, start, test, until, uuid,
} from './lib/harness.mjs';
import { buy, campaign, confirm, DECLINED, quiet, recount, rows, VISA } from './lib/purchases.mjs';
import { stores } from './lib/stores.mjs';

const postgres = stores.find((store) => store.kind === 'postgres');

const cpuTicks = (pid) => {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return Number(fields[11]) + Number(fields[12]);
};

if (postgres) {
    test('Q7 a node that is killed while it holds a lease is replaced by the other within seconds [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const doomed = launch(t, db, { env: { ICHIDO_FAULTS: 'apply:charge.failed=crash' } });
        await doomed.listening();
        const other = await start(t, postgres, { db });
        const poisoned = [];
        while (!doomed.ended) { // the other one may be quicker now and then
            const one = event('charge.failed');
            if (await doomed.deliver(one).then((a) => a.status === 204, () => false)) poisoned.push(one);
            await Promise.race([doomed.exit, pause(50)]);
        }
        const began = Date.now();
        await until('the survivor has done everything', async () =>
            (await db.outcomes()).length === poisoned.length && await db.count('message') === 0, 30_000);
        assert.ok(Date.now() - began < 20_000, `${Date.now() - began} ms`);
        assert.deepEqual([...new Set((await db.outcomes()).map((row) => row.outcome))], ['ignored']);
        assert.equal(other.ended, undefined);
    });

    test('Q7 two nodes share one queue, and every event has one outcome [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const nodes = [await start(t, postgres, { db }), await start(t, postgres, { db })];
        const events = Array.from({ length: 300 }, () => event());
        const answers = await Promise.all(events.flatMap((one, i) =>
            [nodes[i % 2].deliver(one), nodes[(i + 1) % 2].deliver(one)])); // each to both
        assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [204]);
        await until('all are through', async () => (await db.outcomes()).length === events.length);
        assert.equal(await db.count('webhook_events'), events.length);
        assert.equal(await db.count('message'), 0);
        const done = await Promise.all(nodes.map(async (node) =>
            (await node.metrics()).get('ichido_event_outcome_total', { outcome: 'ignored' })));
        assert.equal(done[0] + done[1], events.length, `once each: ${done}`);
        const repeated = await Promise.all(nodes.map(async (node) =>
            (await node.metrics()).get('ichido_webhook_duplicate_total')));
        assert.equal(repeated[0] + repeated[1], events.length);
    });

    test('C2 E8 sixty buyers for twenty positions over two nodes: whoever is charged has one, and nobody else [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const first = await start(t, postgres, { db });
        const env = { STRIPE_API_BASE: `http://127.0.0.1:${first.sandboxPort}` }; // one gateway for both
        const nodes = [first, await start(t, postgres, { db, env })];
        const c = await campaign(first, { layers: [{ name: 'S', price: 700, positions: 5 }, { name: 'A', price: 300, positions: 15 }] });
        const want = async (position, i, method) => {
            const order = { as: uuid(), key: uuid(), method };
            for (let tries = 0; ; tries++) { // the same key goes on, at whichever node
                const answer = await buy(nodes[(i + tries) % 2], position, order);
                if (answer.status < 500 || tries === 20) return answer;
            }
        };
        const answers = await Promise.all(Array.from({ length: 60 }, async (_, i) => {
            const answer = await want(c.positions[i % 20], i, i % 3 ? VISA : DECLINED);
            assert.ok([200, 201, 422].includes(answer.status), answer.text);
            if (answer.body.purchase?.status === 'failed') await confirm(first, answer.body.payment, VISA); // it may be too late
            return answer;
        }));
        await quiet(first);
        const free = await db.table('positions', `status <> 'sold'`);
        if (free.length) for (const [i, position] of c.positions.entries()) await want(position, i, VISA);
        await until('the winner is drawn', async () => (await rows.campaign(first, c.id)).status === 'drawn', 30_000);
        await quiet(first);
        const all = await recount(first);
        const revenue = 5 * 700 + 15 * 300;
        assert.deepEqual([all.campaigns[0].positions_paid, all.campaigns[0].total_revenue], [20, revenue]);
        assert.deepEqual([(await first.books()).totals.net, await db.count('draws')], [revenue, 1]);
        const units = await Promise.all(nodes.map(async (node) => (await node.metrics()).get('ichido_store_units_total')));
        assert.ok(units.every((n) => n > 50), `both worked: ${units}`);
        assert.ok(answers.filter(({ status }) => status === 201).length >= 20);
        const automatic = await db.count('refunds', 'automatic = 1');
        assert.equal(await db.count('notifications', `type = 'payment_refunded'`), automatic);
        t.diagnostic(`${automatic} payments came too late and went back`);
    });

    test('Q11 an idle node asks PostgreSQL at most once in five seconds [PostgreSQL]', async (t) => {
        const server = await start(t, postgres);
        const one = event();
        await server.deliver(one);
        await server.settled(one.id);
        await server.db.all(`ALTER DATABASE ${server.db.name} SET log_statement = 'all'`);
        await server.db.all(`ALTER DATABASE ${server.db.name} SET log_min_messages = 'log'`);
        await server.db.all(`ALTER DATABASE ${server.db.name} SET log_line_prefix = '%d '`).catch(() => {});
        // Settings of a database reach new sessions only: the server's are ended, and it heals.
        await server.db.all(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = '${server.db.name}' AND pid <> pg_backend_pid()`);
        const two = event();
        await until('it is back', async () => (await server.deliver(two)).status === 204);
        await server.settled(two.id);
        const log = path.join(process.env.TEST_POSTGRES_DIR, 'log');
        const work = () => fs.readFileSync(log, 'utf8').split('\n')
            .filter((line) => /FROM message WHERE ready = 1 AND due_at <=.* LIMIT/i.test(line)).length;
        await pause(1000);
        const before = work();
        await pause(10_500);
        const asked = work() - before;
        assert.ok(asked <= 3, `${asked} questions in ten seconds`);
        assert.ok(asked >= 1, 'the poll that needs no hint');
    });
}

forEachStore((store, test) => {
    test('Q11 an idle server uses no CPU and runs no unit of work', async (t) => {
        const server = await start(t, store);
        const one = event();
        await server.deliver(one);
        await server.settled(one.id);
        const units = async () => (await server.metrics()).get('ichido_store_units_total');
        await units();
        const each = await until('it is quiet', async () => { // what one look costs by itself
            const [a, b, c] = [await units(), await units(), await units()];
            return c - b === b - a && { cost: b - a, last: c };
        });
        const ticks = cpuTicks(server.pid);
        await pause(3000); // the one thing that can only be seen by waiting
        const used = cpuTicks(server.pid) - ticks;
        const done = await units() - each.last - each.cost;
        assert.ok(used <= 1, `${used} ticks of 10 ms in 3 s`);
        assert.ok(done <= (store.kind === 'sqlite' ? 0 : 1), `${done} units while idle`);
    });

    test('Q11 time without work is still no work: the clock moves, the store is not asked', async (t) => {
        const server = await start(t, store);
        const units = async () => (await server.metrics()).get('ichido_store_units_total');
        await until('the look is planned', async () => await server.db.count('message', `kind = 'payment.unknown'`) === 1);
        await server.advance(61_000); // the first look at unknown outcomes and alerts finds nothing wrong
        await until('it looked', async () => (await server.metrics()).get('ichido_job_total', { result: 'put_off' }) >= 1);
        const cost = -(await units()) + await units();
        await server.advance(1000); // moving the clock is itself a unit
        const one = await units();
        await server.advance(1000);
        const step = await units() - one;
        const before = await units();
        await server.advance(50 * 60_000); // within the hour after which expired keys are looked for
        await units();
        await server.advance(1000); // what the long step woke is seen by now
        const spent = await units() - before;
        const looks = store.kind === 'sqlite' ? 0 : 6; // others may have seen something meanwhile: a look a minute
        assert.ok(spent <= 2 * step + 2 * cost + looks, `${spent} instead of ${2 * step}`);
    });
});
