// Errors go to Sentry (O4): what an event is, rate limits, storms, and a Sentry that is ill. Nobody who pays notices.
import {
    assert, forEachStore, fresh, launch, start, stores, test, until,
} from './lib/harness.mjs';
import { KEY, makeDsn, SECRET, Sentry } from './lib/sentry.mjs';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
const MINUTE = 60_000;

// An ERROR line that no alert follows: a booking is cancelled whose money was taken.
const FAILED = 'Booking cancelled after capture';
const breakOne = async (server) => {
    const { booking: { id, userId } } = await server.captured();
    await server.booking({ id, userId, status: 'CANCELLED' });
};
const dropped = async (server) => (await server.metrics()).get('ichido_sentry_events_total', { result: 'dropped' });
const typeOf = (event) => event.exception.values[0].type;
const failures = (sentry) => sentry.events.filter((event) => event.exception && typeOf(event) === FAILED);
const open = (t, store, sentry, env = {}) => start(t, store, { env: { SENTRY_DSN: sentry.dsn, SENTRY_ENVIRONMENT: 'e2e', ...env } });

forEachStore((store, test) => {
    test('O4 an error is an event with its trace, its words, its tags; nothing that only informs is one', async (t) => {
        const sentry = await Sentry.open(t);
        const server = await open(t, store, sentry);
        await server.paid({ paymentMethod: 'pm_card_chargeDeclined' }); // a customer's card: an error line (003), and nothing to mend
        await server.line('Payment failed', (l) => l.message === 'Payment failed');
        await server.deliver('{"broken":', { headers: { traceparent, 'X-Request-Id': 'the-request' } });
        await sentry.came(1);

        const [{ method, path, headers, head, items }] = sentry.requests;
        const dsn = makeDsn(sentry.dsn);
        assert.deepEqual([method, path], ['POST', `/api/${dsn.projectId}/envelope/`]);
        assert.equal(headers['content-type'], 'application/x-sentry-envelope');
        assert.match(headers['user-agent'], /^ichido\/\d+\.\d+\.\d+$/);
        assert.match(headers['x-sentry-auth'], new RegExp(`^Sentry sentry_version=7, sentry_client=ichido/[0-9.]+, sentry_key=${dsn.publicKey}$`));
        assert.equal(items.length, 1);
        assert.match(head.event_id, /^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
        assert.equal(new Date(head.sent_at).toISOString(), head.sent_at);

        const [event] = sentry.events;
        const { event_id, timestamp, extra, server_name, release, ...rest } = event;
        assert.equal(event_id, sentry.requests.find((one) => one.items[0][1] === event).head.event_id);
        assert.equal(new Date(timestamp).toISOString(), timestamp);
        assert.ok(server_name.length > 0 && release.length > 0);
        assert.match(extra.eventId, /^sha256:/);
        assert.deepEqual({ platform: rest.platform, level: rest.level, environment: rest.environment, fingerprint: rest.fingerprint },
            { platform: 'native', level: 'error', environment: 'e2e', fingerprint: ['Webhook processing failed'] });
        assert.equal(rest.contexts.trace.trace_id, TRACE);
        assert.match(rest.contexts.trace.span_id, /^[0-9a-f]{16}$/);
        assert.deepEqual([rest.tags.error_type, rest.tags.requestId], ['permanent', 'the-request']);
        assert.ok(rest.exception.values[0].value.length > 0);
        assert.equal(sentry.events.length, 1);
        await until('it is counted', async () => (await server.metrics()).get('ichido_sentry_events_total', { result: 'sent' }) === 1);
    });
});

const store = stores[0];

test('O4 a secret in the DSN is passed on, a path before the project is kept', async (t) => {
    const sentry = await Sentry.open(t);
    const server = await open(t, store, sentry, { SENTRY_DSN: `http://${KEY}:${SECRET}@127.0.0.1:${sentry.port}/some/where/7` });
    await breakOne(server);
    await sentry.came(1);
    assert.equal(sentry.requests[0].path, '/some/where/api/7/envelope/');
    assert.match(sentry.requests[0].headers['x-sentry-auth'], new RegExp(`sentry_key=${KEY}, sentry_secret=${SECRET}$`));
});

test('O4 a DSN that is none stops the start, with one clear line that does not show it', async (t) => {
    const db = await fresh(t, store);
    for (const dsn of ['https://127.0.0.1/1', `https://${KEY}@127.0.0.1/abc`, `gopher://${KEY}@h/1`]) {
        const server = launch(t, db, { env: { SENTRY_DSN: dsn } });
        assert.notEqual((await server.exit).code, 0);
        const said = server.lines.filter((l) => l.level === 'error');
        assert.equal(said.length, 1, server.tail());
        assert.match(said[0].why, /SENTRY_DSN/);
        assert.ok(!server.stderr.includes(KEY) && !server.stderr.includes(dsn));
    }
});

test('O4 a limit is kept, also one that comes with a 200, and what was dropped is told afterwards', async (t) => {
    const sentry = await Sentry.open(t, (n) => (n === 1 ? [200, { 'X-Sentry-Rate-Limits': '60:transaction:key, 120:error;default:organization' }] : 200));
    const server = await open(t, store, sentry);
    await breakOne(server);
    await until('the first is taken', async () => (await server.metrics()).get('ichido_sentry_events_total', { result: 'sent' }) === 1);
    for (let i = 0; i < 3; i++) await breakOne(server);
    await until('the others are dropped', async () => await dropped(server) === 3);
    assert.equal(sentry.events.length, 1, 'not one more event');
    await server.advance(121_000);
    await breakOne(server);
    await sentry.came(2);
    await until('it is told', () => sentry.dropped().ratelimit_backoff === 3);
    const [{ timestamp, discarded_events: [one] }] = sentry.reports;
    assert.equal(new Date(timestamp).toISOString(), timestamp);
    assert.deepEqual(one, { reason: 'ratelimit_backoff', category: 'error', quantity: 3 });
});

test('O4 429 silences us as long as it says; the longer of two limits wins; what was refused is not sent again', async (t) => {
    const answers = [[429, { 'Retry-After': '600' }]];
    const sentry = await Sentry.open(t, () => answers.shift() ?? 200);
    const server = await open(t, store, sentry);
    await breakOne(server);
    await until('it is dropped', async () => await dropped(server) === 1);
    await server.advance(580_000);
    await breakOne(server);
    await until('this one too', async () => await dropped(server) === 2);
    assert.equal(sentry.requests.length, 1);
    await server.advance(21_000);
    await breakOne(server);
    await until('they come again', () => sentry.events.length === 2);
    const ids = sentry.events.map((event) => event.event_id);
    assert.equal(new Set(ids).size, ids.length, 'none came twice');
    await until('it is told', () => sentry.dropped().ratelimit_backoff === 2);
});

test('O4 a storm of equal errors is five a minute, one call at a time; the rest is counted', async (t) => {
    const sentry = await Sentry.open(t);
    const server = await open(t, store, sentry);
    await Promise.all(Array.from({ length: 60 }, () => breakOne(server)));
    await sentry.came(5);
    await server.advance(31_000);
    await until('the others are told', () => sentry.dropped().before_send >= 55);
    assert.equal(failures(sentry).length, 5);
    assert.equal(sentry.most, 1);
    await server.advance(MINUTE);
    await breakOne(server);
    await sentry.came(6);
});

test('O4 a Sentry that refuses, breaks off, hangs or is not there costs nobody anything, and is never told of itself', async (t) => {
    let how = 500;
    const sentry = await Sentry.open(t, () => how);
    const server = await open(t, store, sentry);
    let lost = 0;
    for (how of [500, [400, { 'X-Sentry-Error': 'broken' }], 413, 'drop']) {
        await server.advance(MINUTE);
        await breakOne(server);
        lost += 1;
        await until(`${how}`, async () => await dropped(server) === lost);
        assert.equal((await server.paid()).status, 'AUTHORIZED');
    }
    assert.equal(sentry.events.length, lost, 'each was tried once');
    const about = server.lines.filter((l) => /Sentry/.test(l.message));
    assert.deepEqual(about.map((l) => l.level), ['warn'], 'said once, and not as an error');
    assert.ok(!sentry.events.some((event) => /Sentry/.test(JSON.stringify(event.exception))));

    how = 200;
    await server.advance(MINUTE);
    await breakOne(server);
    await until('all of it is told', () => Object.values(sentry.dropped()).reduce((a, b) => a + b, 0) === lost);
    assert.deepEqual(sentry.dropped(), { send_error: 3, network_error: 1 });

    how = 'hang';
    await server.advance(MINUTE);
    await breakOne(server);
    await until('one hangs', () => sentry.open === 1);
    for (let i = 0; i < 5; i++) assert.equal((await server.captured()).status, 'CAPTURED');
    assert.equal(sentry.open, 1);
    assert.deepEqual(await server.stop(), { code: 0, signal: null }, server.tail());

    const gone = await start(t, store, { env: { SENTRY_DSN: `http://${KEY}@127.0.0.1:1/1` } });
    await breakOne(gone);
    await until('it is dropped', async () => await dropped(gone) === 1);
    assert.equal((await gone.paid()).status, 'AUTHORIZED');
});

test('O4 a full ring drops, and goes on', async (t) => {
    let hangs = true;
    const sentry = await Sentry.open(t, () => (hangs ? 'hang' : 200));
    const server = await open(t, store, sentry);
    await breakOne(server);
    await sentry.came(1);
    await server.advance(MINUTE);
    for (let minute = 0; minute < 15; minute++) {
        await Promise.all(Array.from({ length: 5 }, () => breakOne(server)));
        await server.advance(MINUTE);
    }
    const lost = await dropped(server);
    const calls = sentry.requests.length; // more than one where all this took longer than a call may
    assert.ok(lost >= 76 - 64 - calls, `${lost} of 76 were dropped: 64 wait, ${calls} were sent`);
    hangs = false;
    await until('it goes on once the call has timed out', async () => {
        await server.advance(1000); // what was dropped is told 30 seconds after it was told last
        return sentry.dropped().queue_overflow >= lost;
    }, 60_000);
});
