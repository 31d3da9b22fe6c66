// Schedules through the unmodified SDK and a real receiver, by the test clock: what they echo, when they fire
// (over changes of daylight saving, pauses, overwrites, downtime, crashes, on two nodes), and what is refused.
import { assert, forEachStore, fresh, launch, start, test, until } from './lib/harness.mjs';
import { claims, receive, recount, sdk, verify } from './lib/receiver.mjs';
import { stores } from './lib/stores.mjs';
import { DEV_TOKEN } from './lib/upstash.mjs';

const postgres = stores.find((store) => store.kind === 'postgres');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const now = (server) => Date.now() + server.offsetMs;
// To that moment, or just behind it.
const goTo = (server, ms) => server.advance(Math.max(1, Math.ceil(ms - now(server)) + 20));
const nextHour = (server) => Math.ceil((now(server) + 1) / HOUR) * HOUR;

// So far from the next full hour that none passes by itself while a test looks at "0 * * * *".
async function awayFromTheHour(server) {
    const at = now(server) % HOUR;
    if (at > 40 * MINUTE || at < MINUTE) await server.advance(HOUR + 5 * MINUTE - at);
}

const made = (server, id) => server.db.count('qstash_messages', `schedule_id = '${id}' AND host <> ''
    AND id NOT IN (SELECT template FROM qstash_schedules)`);
const wakeups = (server) => server.db.count('message', `kind = 'qstash.schedule'`);

forEachStore((store, test) => {
    test('Q9 T3 a schedule is echoed with all that was asked for', async (t) => {
        const server = await start(t, store);
        const { schedules } = sdk(server);
        const before = now(server);
        const { scheduleId } = await schedules.create({
            destination: 'https://example.test/p?q=1', cron: ' */10 * * * * ', body: '{"hello":"world"}', method: 'PUT',
            headers: { 'test-header': 'v', 'Upstash-Forward-Other': 'w' }, retries: 5, delay: 10, timeout: 30,
            callback: 'https://example.test/callback', failureCallback: 'https://example.test/failure',
            queueName: 'schedule-queue', label: ['one', 'two'], retryDelay: '1000 * (1 + retried)',
            flowControl: { key: 'flow', parallelism: 10, rate: 5, period: '1d' },
        });
        assert.match(scheduleId, /^scd_[0-9a-f]{32}$/);
        const got = await schedules.get(scheduleId);
        const { createdAt, nextScheduleTime, callerIP, callerIp, ...rest } = got;
        assert.deepEqual(rest, {
            scheduleId, cron: '*/10 * * * *', destination: 'https://example.test/p?q=1', method: 'PUT',
            header: { 'Content-Type': ['application/json'], 'Test-Header': ['v'], Other: ['w'] },
            body: '{"hello":"world"}', retries: 5, delay: 10, timeout: 30_000, isPaused: false,
            callback: 'https://example.test/callback', failureCallback: 'https://example.test/failure',
            queueName: 'schedule-queue', label: 'one', labels: ['one', 'two'], retryDelayExpression: '1000 * (1 + retried)',
            flowControlKey: 'flow', parallelism: 10, rate: 5, ratePerSecond: 5, period: 86400,
        });
        assert.deepEqual([callerIP, callerIp], ['127.0.0.1', '127.0.0.1']);
        assert.ok(createdAt >= before - 50 && createdAt <= now(server) + 50);
        assert.equal(nextScheduleTime, Math.ceil((createdAt + 1) / (10 * MINUTE)) * 10 * MINUTE);
        assert.deepEqual(await schedules.list(), [got]);
        assert.equal(await server.db.count('qstash_queues'), 0, 'nothing was enqueued yet');
        await schedules.delete(scheduleId);
        await assert.rejects(schedules.get(scheduleId), { status: 404 });
        await assert.rejects(schedules.delete(scheduleId), { status: 404 });
        assert.deepEqual(await schedules.list(), []);
        assert.deepEqual([await wakeups(server), await server.db.count('qstash_messages')], [0, 0]);
    });

    test('Q9 the id of its choice, an empty body, bytes, a body that is hidden', async (t) => {
        const server = await start(t, store);
        const { schedules } = sdk(server);
        const destination = 'https://example.test/';
        const plain = await schedules.create({ destination, cron: '0 0 1 1 *', scheduleId: 'my.own-id_1' });
        assert.equal(plain.scheduleId, 'my.own-id_1');
        const shown = await schedules.get('my.own-id_1');
        assert.deepEqual([shown.body, shown.bodyBase64, shown.method, shown.retries, shown.delay], [undefined, undefined, 'POST', 3, undefined]);
        const bytes = Buffer.from([0xff, 0x00, 0xfe]);
        await schedules.create({ destination, cron: '0 0 1 1 *', scheduleId: 'bytes', body: bytes });
        assert.equal((await schedules.get('bytes')).bodyBase64, bytes.toString('base64'));
        await schedules.create({
            destination, cron: '0 0 1 1 *', scheduleId: 'hidden', body: 'secret', headers: { Key: 'k', Open: 'o' },
            redact: { body: true, header: ['Key'] },
        });
        for (const hidden of [await schedules.get('hidden'), (await schedules.list()).find((s) => s.scheduleId === 'hidden')]) {
            assert.match(hidden.body, /^REDACTED:[0-9a-f]{64}$/);
            assert.match(hidden.header.Key[0], /^REDACTED:/);
            assert.deepEqual(hidden.header.Open, ['o']);
        }
    });

    test('Q9 it fires at its time, signed, with its own id; the states of what it made are told', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        let status = 200;
        const got = await receive(t, () => status);
        await awayFromTheHour(server);
        const at = nextHour(server);
        await client.schedules.create({
            destination: `${got.url}/run?x=1`, cron: '0 * * * *', scheduleId: 'hourly', body: 'run', method: 'PATCH',
            headers: { 'X-Job': 'billing', 'Content-Type': 'text/plain' }, retries: 0,
        });
        await goTo(server, at);
        await got.came(1);
        const [one] = got;
        assert.deepEqual([one.method, one.path, one.text], ['PATCH', '/run?x=1', 'run']);
        assert.deepEqual(['x-job', 'content-type', 'upstash-schedule-id'].map((name) => one.headers[name]), ['billing', 'text/plain', 'hourly']);
        await verify(one);
        assert.ok(claims(one).iat - at / 1000 < 5, 'at its time');
        const first = await until('its state is told', async () => {
            const s = await client.schedules.get('hourly');
            return s.lastScheduleStates?.[one.id] === 'SUCCESS' && s;
        });
        assert.deepEqual(Object.keys(first.lastScheduleStates), [one.id]);
        assert.ok(first.lastScheduleTime >= at && first.lastScheduleTime < at + 5000);
        assert.equal(first.nextScheduleTime, at + HOUR);
        assert.equal((await client.logs({ filter: { scheduleId: 'hourly' } })).logs.at(-1).messageId, one.id);
        status = 500;
        await goTo(server, at + HOUR);
        await got.came(2);
        assert.notEqual(got[1].id, one.id);
        await until('it failed', async () =>
            (await client.schedules.get('hourly')).lastScheduleStates?.[got[1].id] === 'FAIL');
        await goTo(server, at + 9 * HOUR); // eight times went by at once: as if we had slept
        await got.came(3);
        const last = await client.schedules.get('hourly');
        assert.equal(last.nextScheduleTime, at + 10 * HOUR);
        assert.deepEqual([got.length, await made(server, 'hourly'), await wakeups(server)], [3, 3, 1]);
    });

    test('Q9 groups, queues, delays: resolved when it fires', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const got = await receive(t);
        await awayFromTheHour(server);
        const at = nextHour(server);
        await client.urlGroups.addEndpoints({ name: 'g', endpoints: [{ url: `${got.url}/a`, name: 'one' }] });
        await client.queue({ queueName: 'q' }).upsert({ parallelism: 7 });
        await client.schedules.create({ destination: 'g', cron: '0 * * * *', scheduleId: 'group', body: 'x' });
        await client.schedules.create({ destination: `${got.url}/queued`, cron: '0 * * * *', scheduleId: 'queued', queueName: 'q', body: 'y' });
        await client.schedules.create({ destination: `${got.url}/late`, cron: '0 * * * *', scheduleId: 'late', delay: '10m', body: 'z' });
        await client.urlGroups.addEndpoints({ name: 'g', endpoints: [{ url: `${got.url}/b` }] });
        await goTo(server, at);
        await got.came(3);
        assert.deepEqual(got.map(({ path }) => path).sort(), ['/a', '/b', '/queued']);
        assert.ok(got.filter(({ path }) => path.length === 2).every(({ headers }) => headers['upstash-topic-name'] === 'g'));
        const states = await until('both members are told', async () => {
            const { lastScheduleStates } = await client.schedules.get('group');
            return Object.values(lastScheduleStates ?? {}).every((s) => s === 'SUCCESS') && lastScheduleStates;
        });
        assert.equal(Object.keys(states).length, 2);
        assert.equal((await client.queue({ queueName: 'q' }).get()).parallelism, 7);
        assert.equal(Object.values((await client.schedules.get('late')).lastScheduleStates)[0], 'IN_PROGRESS');
        await goTo(server, at + 10 * MINUTE);
        await got.came(4);
        assert.equal(got[3].path, '/late');
        await client.urlGroups.delete('g');
        await goTo(server, at + HOUR);
        const lost = await until('the schedule says so', async () => {
            const s = await client.schedules.get('group');
            return s.error && s;
        });
        assert.match(lost.error, /url group not found: g/);
        assert.equal(lost.nextScheduleTime, at + 2 * HOUR);
        await recount(server.db);
    });

    test('Q9 a hundred members and the largest body, by publish and by schedule', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const got = await receive(t);
        const endpoints = Array.from({ length: 100 }, (_, i) => ({ url: `${got.url}/${i}` }));
        await client.urlGroups.addEndpoints({ name: 'g', endpoints });
        const body = 'x'.repeat(1024 * 1024);
        assert.equal((await client.publish({ urlGroup: 'g', body })).length, 100);
        await got.came(100, 60_000);
        await server.newMinute(); // or it comes by itself, too
        await client.schedules.create({ destination: 'g', cron: '* * * * *', scheduleId: 's', body });
        await server.advance(MINUTE);
        await got.came(200, 60_000);
        assert.ok(got.every(({ text }) => text === body));
        assert.deepEqual(got.slice(100).map(({ path }) => path).sort(), endpoints.map(({ url }) => new URL(url).pathname).sort());
    });

    test('Q9 paused it skips its times and does not make up for them', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const got = await receive(t);
        await awayFromTheHour(server);
        const at = nextHour(server);
        await client.schedules.create({ destination: `${got.url}/`, cron: '0 * * * *', scheduleId: 's' });
        await client.schedules.pause({ schedule: 's' });
        await client.schedules.pause({ schedule: 's' });
        assert.equal((await client.schedules.get('s')).isPaused, true);
        await goTo(server, at);
        await until('it went on', async () => (await client.schedules.get('s')).nextScheduleTime === at + HOUR);
        await goTo(server, at + HOUR);
        await until('and on', async () => (await client.schedules.get('s')).nextScheduleTime === at + 2 * HOUR);
        await client.schedules.resume({ schedule: 's' });
        assert.equal((await client.schedules.get('s')).isPaused, false);
        assert.equal(await made(server, 's'), 0);
        await goTo(server, at + 2 * HOUR);
        await got.came(1);
        assert.equal(await made(server, 's'), 1);
        const post = (what) => server.request({ method: 'POST', path: `/v2/schedules/s/${what}`, headers: { Authorization: `Bearer ${DEV_TOKEN}` } });
        assert.equal((await post('pause')).status, 200); // as the vendor's documentation has it
        assert.equal((await client.schedules.get('s')).isPaused, true);
        await assert.rejects(client.schedules.pause({ schedule: 'nobody' }), { status: 404 });
    });

    test('Q9 overwritten it is all new, and the old one never fires again', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const got = await receive(t);
        await awayFromTheHour(server);
        const at = nextHour(server);
        await client.schedules.create({
            destination: `${got.url}/old`, cron: '0 * * * *', scheduleId: 's', body: 'old', headers: { Old: '1' }, retries: 9, delay: 60,
        });
        const old = await client.schedules.get('s');
        await client.schedules.create({ destination: `${got.url}/new`, cron: '30 * * * *', scheduleId: 's' });
        const after = await client.schedules.get('s');
        assert.deepEqual([after.destination, after.cron, after.body, after.retries, after.delay, after.header.Old],
            [`${got.url}/new`, '30 * * * *', undefined, 3, undefined, undefined]);
        assert.equal(after.createdAt, old.createdAt);
        assert.deepEqual([(await client.schedules.list()).length, await wakeups(server), await server.db.count('qstash_messages')], [1, 1, 1]);
        await goTo(server, after.nextScheduleTime);
        await got.came(1);
        await goTo(server, after.nextScheduleTime + HOUR);
        await got.came(2);
        assert.ok(after.nextScheduleTime + HOUR > at, 'the old time went by');
        assert.deepEqual([...new Set(got.map(({ path }) => path))], ['/new']);
    });

    test('Q9 deleted at the moment it is due it fires once or not at all, and never again', async (t) => {
        const server = await start(t, store);
        const client = sdk(server);
        const got = await receive(t);
        await awayFromTheHour(server);
        await server.newMinute(); // none is due before all are there
        const at = nextHour(server);
        const ids = Array.from({ length: 20 }, (_, i) => `s${i}`);
        for (const scheduleId of ids) await client.schedules.create({ destination: `${got.url}/${scheduleId}`, cron: '* * * * *', scheduleId });
        await Promise.all([goTo(server, at), ...ids.map((id) => client.schedules.delete(id))]);
        await goTo(server, at + 10 * MINUTE);
        await until('nothing is left', async () =>
            await wakeups(server) === 0 && await server.db.count('qstash_live') === 0);
        assert.equal(new Set(got.map(({ path }) => path)).size, got.length, 'each at most once');
        assert.equal(await server.db.count('dead_letters'), 0);
    });

    test('Q9 cron over daylight saving: a time that is skipped, one that comes twice, and every hour', async (t) => {
        const zone = 'Europe/Berlin';
        const offset = (ms) => {
            const parts = Object.fromEntries(new Intl.DateTimeFormat('en-US', {
                timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric',
            }).formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
            return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute) - Math.floor(ms / MINUTE) * MINUTE;
        };
        // The next two changes of the clock, in either order.
        const changes = [];
        for (let ms = Math.ceil(Date.now() / HOUR) * HOUR + DAY; changes.length < 2; ms += HOUR)
            if (offset(ms) !== offset(ms - HOUR)) changes.push({ at: ms, forward: offset(ms) > offset(ms - HOUR) });
        const server = await start(t, store);
        const client = sdk(server);
        const got = await receive(t);
        for (const { at, forward } of changes) {
            await goTo(server, at - 90 * MINUTE);
            const name = forward ? 'spring' : 'autumn';
            // 02:30 on the wall: in spring it does not occur, and fires when the clock jumps over it; in autumn
            // it occurs twice, and fires the first time.
            const wall = forward ? at : at - 30 * MINUTE;
            await client.schedules.create({ destination: `${got.url}/${name}/wall`, cron: `CRON_TZ=${zone} 30 2 * * *`, scheduleId: `${name}-wall` });
            await client.schedules.create({ destination: `${got.url}/${name}/hour`, cron: `CRON_TZ=${zone} 0 * * * *`, scheduleId: `${name}-hour` });
            assert.equal((await client.schedules.get(`${name}-wall`)).nextScheduleTime, wall);
            for (let ms = at - HOUR; ms <= at + 3 * HOUR; ms += 30 * MINUTE) {
                await goTo(server, ms);
                await until(`what was due at ${new Date(ms).toISOString()} is delivered`, async () =>
                    await server.db.count('qstash_schedules', `next_at <= ${ms}`) === 0
                    && await server.db.count('qstash_live') === 0);
            }
            const times = (what) => got.filter(({ path }) => path === `/${name}/${what}`)
                .map((one) => Math.round((claims(one).iat * 1000 - at) / MINUTE)).sort((a, b) => a - b);
            assert.deepEqual(times('wall'), [(wall - at) / MINUTE], `${name}: once`);
            assert.deepEqual(times('hour'), [-60, 0, 60, 120, 180], `${name}: every hour of real time`);
            const tomorrow = forward ? at + DAY + 30 * MINUTE - HOUR : at - 30 * MINUTE + DAY + HOUR;
            assert.equal((await client.schedules.get(`${name}-wall`)).nextScheduleTime, tomorrow);
            for (const one of (await client.schedules.list())) await client.schedules.delete(one.scheduleId);
        }
    });

    test('Q9 what was due while the server was down fires once when it is up again', async (t) => {
        const db = await fresh(t, store);
        const first = await start(t, store, { db });
        const got = await receive(t);
        await sdk(first).schedules.create({ destination: `${got.url}/`, cron: '*/15 * * * *', scheduleId: 's' });
        await first.stop();
        // Three hours pass: everything that has a time is three hours nearer.
        const [{ body }] = await db.all(`SELECT body FROM message WHERE kind = 'qstash.schedule'`);
        const [version, next] = body.split(' ').map(Number);
        await db.all(`UPDATE message SET due_at = ${next - 3 * HOUR}, body = '${version} ${next - 3 * HOUR}',
            id = ${db.blob('00112233445566778899aabbccddeeff')} WHERE kind = 'qstash.schedule'`); // its id is made of its time
        await db.all(`UPDATE qstash_schedules SET next_at = ${next - 3 * HOUR}`);
        const second = await start(t, store, { db });
        await got.came(1);
        const s = await until('it is planned anew', async () => {
            const one = await sdk(second).schedules.get('s');
            return one.nextScheduleTime > now(second) && one;
        });
        assert.ok(s.nextScheduleTime <= now(second) + 15 * MINUTE);
        await goTo(second, s.nextScheduleTime);
        await got.came(2);
        assert.deepEqual([got.length, await made(second, 's')], [2, 2]);
    });

    test('Q9 kill -9 while it fires: one parcel, whatever was lost', async (t) => {
        const db = await fresh(t, store);
        const doomed = launch(t, db, { env: { ICHIDO_FAULTS: 'schedule:s=crash' } });
        await doomed.listening();
        const got = await receive(t);
        await awayFromTheHour(doomed);
        const at = nextHour(doomed);
        await sdk(doomed).schedules.create({ destination: `${got.url}/`, cron: '0 * * * *', scheduleId: 's', body: 'x' });
        await goTo(doomed, at).catch(() => {});
        await doomed.exit; // in the unit, before its commit
        assert.equal(await db.count('qstash_live'), 0, 'nothing of it was stored');

        const next = launch(t, db, {});
        await next.listening();
        await goTo(next, at + 20_000); // time goes on where it was, whether the dead one said so or not; its lease runs out
        await got.came(1);
        await next.kill(); // at whatever moment after the delivery
        const last = await start(t, store, { db });
        await last.advance(next.offsetMs + 20_000);
        await until('it has ended', async () => await db.count('qstash_live') === 0);
        assert.deepEqual([...new Set(got.map(({ id }) => id))].length, 1, 'delivered again only under the same id');
        assert.deepEqual([await made(last, 's'), await wakeups(last)], [1, 1]);
        for (const one of got) await verify(one);
        assert.ok((await sdk(last).schedules.get('s')).nextScheduleTime > at);
    });

    test('Q9 a schedule that is wrong says why and leaves nothing behind', async (t) => {
        const server = await start(t, store);
        const { schedules } = sdk(server);
        const cron = '0 * * * *';
        const destination = 'https://example.test/';
        const rows = [
            ['no fields', { destination, cron: '* * *' }, 400, /cron/],
            ['a minute that is none', { destination, cron: '61 * * * *' }, 400, /cron|minute/],
            ['seconds', { destination, cron: '* * * * * *' }, 400, /cron/],
            ['it never fires', { destination, cron: '0 0 30 2 *' }, 400, /never/],
            ['no such zone', { destination, cron: `CRON_TZ=Mars/Base ${cron}` }, 400, /zone/i],
            ['no destination', { destination: 'not-a-group', cron }, 404, /not-a-group/],
            ['another scheme', { destination: 'ftp://example.test', cron }, 400, /./],
            ['an id with blanks', { destination, cron, scheduleId: 'a b' }, 400, /./],
            ['a bad delay', { destination, cron, delay: 'soon' }, 400, /Delay/i],
            ['a bad expression', { destination, cron, retryDelay: '1 +' }, 400, /Retry-Delay/i],
            ['a bad queue', { destination, cron, queueName: 'a b' }, 400, /queue/i],
            ['not before', { destination, cron, headers: { 'Upstash-Not-Before': '1900000000' } }, 400, /./],
            ['deduplicated', { destination, cron, headers: { 'Upstash-Deduplication-Id': 'x' } }, 400, /./],
        ];
        for (const [why, options, status, words] of rows)
            await assert.rejects(schedules.create(options), (error) => {
                assert.equal(error.status, status, `${why}: ${error.message}`);
                assert.match(JSON.parse(error.message).error, words, why);
                return true;
            }, why);
        const bare = await server.request({ method: 'POST', path: '/v2/schedules/https://example.test/', headers: { Authorization: `Bearer ${DEV_TOKEN}` } });
        assert.equal(bare.status, 400);
        assert.match(JSON.parse(bare.text).error, /Upstash-Cron/);
        assert.deepEqual(await schedules.list(), []);
        assert.deepEqual([await wakeups(server), await server.db.count('qstash_messages')], [0, 0]);
        await assert.rejects(schedules.get('nobody'), { status: 404 });
    });

    test('Q9 the list has every page of them, whatever was made meanwhile', async (t) => {
        const server = await start(t, store);
        const { schedules } = sdk(server);
        const ids = Array.from({ length: 35 }, (_, i) => `s-${String(i).padStart(3, '0')}`);
        await Promise.all(ids.map((scheduleId, i) =>
            schedules.create({ destination: `https://example.test/${i}`, cron: '0 0 1 1 *', scheduleId, body: `body ${i}` })));
        const all = await schedules.list();
        assert.deepEqual(all.map(({ scheduleId }) => scheduleId).sort(), ids);
        assert.deepEqual(all.map(({ body, destination }) => [body, destination]).sort(),
            ids.map((_, i) => [`body ${i}`, `https://example.test/${i}`]).sort());
        await Promise.all([...ids.map((scheduleId, i) =>
            schedules.create({ destination: `https://example.test/new/${i}`, cron: '0 0 1 1 *', scheduleId })),
        ...Array.from({ length: 5 }, async () => assert.equal((await schedules.list()).length, ids.length))]);
    });
});

if (postgres)
    test('Q9 on two nodes each time fires once [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const nodes = [await start(t, postgres, { db }), await start(t, postgres, { db })];
        const got = await receive(t);
        await Promise.all(nodes.map(awayFromTheHour));
        const at = nextHour(nodes[0]);
        const ids = Array.from({ length: 25 }, (_, i) => `s${i}`);
        await Promise.all(ids.map((scheduleId, i) =>
            sdk(nodes[i % 2]).schedules.create({ destination: `${got.url}/${scheduleId}`, cron: '0 * * * *', scheduleId })));
        for (let hour = 0; hour < 3; hour++) {
            await Promise.all(nodes.map((node) => goTo(node, at + hour * HOUR)));
            await got.came(ids.length * (hour + 1), 30_000);
            // before one node's clock jumps over the leases of the other
            await until('all have ended', async () => await db.count('qstash_live') === 0);
        }
        assert.equal(got.length, ids.length * 3);
        assert.equal(new Set(got.map(({ id }) => id)).size, ids.length * 3);
        for (const id of ids) assert.equal(got.filter(({ path }) => path === `/${id}`).length, 3, id);
        assert.equal(await wakeups(nodes[0]), ids.length);
    });
