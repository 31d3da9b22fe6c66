// The goals of 001 and 003, measured (O10): what was counted, over which time, and whether it is met. Readiness (O9).
import { startFull } from './lib/backlog.mjs';
import { assert, event, forEachStore, start, until } from './lib/harness.mjs';
import { dies, orphan } from './lib/dlq.mjs';
import { FakeQStash } from './lib/upstash.mjs';

const TICK = 10_000;
const MINUTE = 60_000;

const slo = async (server) => {
    const answer = await server.call('GET', '/api/v1/admin/slo', { as: 'admin' });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
};
const goal = (body, name, window = '5m') => {
    const one = body.data.find((each) => each.name === name);
    return { ...one, ...one.windows.find((each) => each.window === window) };
};
// The next snapshot has been taken.
const counted = async (server) => {
    const { asOf } = await slo(server);
    await server.advance(TICK);
    return until('a new snapshot', async () => {
        const body = await slo(server);
        return body.asOf > asOf && body;
    });
};
const good = async (server, count) => {
    const events = Array.from({ length: count }, () => event('charge.failed'));
    for (const one of events) assert.equal((await server.deliver(one)).status, 204);
    for (const one of events) await server.settled(one.id);
};

forEachStore((store, test) => {
    test('O10 each goal of 001 and 003 has its target; where nothing was counted there is no data', async (t) => {
        const server = await start(t, store);
        const body = await slo(server);
        assert.deepEqual(body.data.map(({ name, source, compare, target, unit }) => [name, source, compare, target, unit]), [
            ['publish_success', '001', '>=', 99.9, 'percent'], ['worker_success', '001', '>=', 99.5, 'percent'],
            ['retry_rate', '001', '<', 1, 'percent'], ['dlq_inflow', '001', '=', 0, 'count'],
            ['webhook_reception', '003', '>=', 99.9, 'percent'], ['webhook_latency_p95', '003', '<', 200, 'ms'],
            ['webhook_error_rate', '003', '<', 0.1, 'percent'], ['idempotency_violations', '003', '=', 0, 'count'],
        ]);
        for (const { name, windows } of body.data)
            assert.deepEqual(windows.map(({ window, events, measured, status }) => [window, events, measured, status]),
                [['5m', 0, null, 'no_data'], ['1h', 0, null, 'no_data'], ['24h', 0, null, 'no_data']], name);
        assert.match(body.note, /this node since its start/);
        assert.match(body.noteJa, /起動以降/);
    });

    test('O10 a good day meets them all; a letter that dies misses four of them, for as long as the window is', async (t) => {
        const server = await start(t, store);
        await good(server, 30);
        const day = await counted(server);
        for (const { name } of day.data) {
            const one = goal(day, name);
            assert.equal(one.status, name === 'webhook_latency_p95' ? one.status : 'met', name);
            assert.ok(one.events >= 30, `${name}: ${one.events}`);
        }
        assert.equal(goal(day, 'webhook_reception').measured, 100);
        assert.ok(goal(day, 'webhook_latency_p95').measured > 0);
        await dies(server, orphan());
        const bad = await counted(server);
        for (const name of ['worker_success', 'retry_rate', 'dlq_inflow', 'webhook_error_rate'])
            assert.equal(goal(bad, name).status, 'missed', `${name}: ${JSON.stringify(goal(bad, name))}`);
        assert.equal(goal(bad, 'dlq_inflow').measured, 1);
        for (const name of ['publish_success', 'webhook_reception', 'idempotency_violations']) assert.equal(goal(bad, name).status, 'met', name);
        for (let i = 0; i < 6; i++) await server.advance(MINUTE);
        const later = await until('five minutes are over', async () => {
            const body = await counted(server);
            return goal(body, 'dlq_inflow').status === 'no_data' && body;
        });
        assert.equal(goal(later, 'dlq_inflow', '1h').status, 'missed');
        assert.equal(goal(later, 'dlq_inflow', '24h').measured, 1);
        assert.ok(goal(later, 'dlq_inflow', '24h').coveredMs < 24 * 60 * MINUTE, 'it says how little it has seen');
    });

    test('O10 webhooks that are not stored miss reception; with a remote QStash its own answers are what is published', async (t) => {
        const server = await startFull(t, store);
        assert.equal((await server.deliver(event('charge.failed'))).status, 503);
        const full = await counted(server);
        assert.equal(goal(full, 'webhook_reception').status, 'missed');
        assert.equal(goal(full, 'publish_success').status, 'missed');

        const fake = await FakeQStash.open(t, () => 503);
        const remote = await start(t, store, { env: {
            ICHIDO_QUEUE: 'qstash', QSTASH_URL: fake.url, ICHIDO_PUBLIC_URL: 'https://pay.example.test', ICHIDO_SANDBOX_WEBHOOKS: 'off',
        } });
        assert.equal((await remote.deliver(event('charge.failed'))).status, 204);
        await until('it was tried', () => fake.got.length >= 1);
        const body = await until('it is counted', async () => {
            const now = await counted(remote);
            return goal(now, 'publish_success', '1h').events >= 1 && now;
        });
        assert.equal(goal(body, 'publish_success', '1h').status, 'missed');
        assert.equal(goal(body, 'webhook_reception', '1h').status, 'met');
    });

    test('O9 healthz lives on while readyz is red for a full backlog; why says so, and when to come again', async (t) => {
        const server = await startFull(t, store);
        const red = await server.get('/readyz');
        assert.equal(red.status, 503);
        const body = JSON.parse(red.text);
        assert.equal(body.status, 'not ready');
        assert.match(body.why, /backlog/);
        assert.equal(body.store, 'ok');
        assert.ok(Number(red.headers['retry-after']) > 0);
        assert.equal((await server.get('/healthz')).status, 200);
        assert.deepEqual(JSON.parse((await server.get('/healthz')).text), { status: 'ok' });
    });

    test('O9 readyz is green with its numbers; a dead letter is an alert and no reason to leave', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_OLDEST_READY_LIMIT_MS: '30000' } });
        const green = await server.get('/readyz');
        assert.equal(green.status, 200);
        assert.deepEqual([JSON.parse(green.text).status, JSON.parse(green.text).dead], ['ready', 0]);
        await dies(server, orphan());
        assert.equal(JSON.parse((await server.get('/readyz')).text).dead, 1);
        assert.equal((await server.get('/readyz')).status, 200);
    });
});
