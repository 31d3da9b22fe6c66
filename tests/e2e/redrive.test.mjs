// Dead letters by cause, edited, and tried again at a rate; events applied once more (Q6, O8).
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { agrees, DLQ, dies, dlq, dlqFine, dlqLines, fill, orphan, refusing } from './lib/dlq.mjs';
import { captureThere, dashboard, eventOf, now, silent, tell } from './lib/events.mjs';
import { assert, forEachStore, fresh, start, token, until, uuid } from './lib/harness.mjs';
import { receive, sdk } from './lib/receiver.mjs';
import { event } from './lib/stripe.mjs';

const ADMIN = '/api/v1/admin';
const MANY = 10_000;

const get = async (server, where) => (await server.call('GET', `${ADMIN}${where}`, { as: 'admin' })).body;
const post = (server, where, body, as = { as: 'admin' }) => server.call('POST', `${ADMIN}${where}`, { ...as, body });
const groups = (server, query = '') => get(server, `/dlq/groups${query}`);
const sha = (text) => crypto.createHash('sha256').update(text).digest('hex');
const where = (server) => ({ env: { ICHIDO_LISTEN: `127.0.0.1:${server.port}` } });

async function redrive(server, body) {
    const answer = await post(server, '/redrives', body);
    assert.equal(answer.status, 202, answer.text);
    return answer.body;
}

// The redrive once it has ended; time passes meanwhile.
const ended = (server, id, ms = 1000) => until(`redrive ${id} ends`, async () => {
    const one = await get(server, `/redrives/${id}`);
    if (one.state === 'running') await server.advance(ms);
    return one.state !== 'running' && one;
}, 60_000);

const said = async (db, operation) => (await db.table('audit', `operation = '${operation}'`)).map((row) => row.detail);
const retried = (db) => db.count('audit', `operation = 'DLQ_RETRY'`);

forEachStore((store, test) => {
    test('Q6 dead letters are grouped by cause, and a cause is a filter for all that is done', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        const bad = await refusing(t, [[500, 'no']], { 'Upstash-NonRetryable-Error': 'true' });
        await sdk(server).publish({ url: bad.url, body: 'one', retries: 0 });
        await sdk(server).publish({ url: `${bad.url}/2`, body: 'two', retries: 0 });
        await server.deliver('{"id":"evt_1","broken');
        await dies(server, orphan());
        await dies(server, orphan());
        await until('all are dead', async () => (await db.count('dead_letters')) === 5);

        const { data, nextCursor } = await groups(server);
        assert.equal(nextCursor, null);
        assert.deepEqual(data.map((one) => [one.kind, one.cause, one.count, one.exact]), [
            ['qstash.deliver', 'the destination answered #', 2, true],
            ['stripe.event', 'no such payment yet', 2, true],
            ['stripe.event', 'the string does not end', 1, true],
        ]);
        for (const one of data) {
            const { data: letters } = await get(server, `/dlq?kind=${one.kind}&cause=${encodeURIComponent(one.cause)}`);
            assert.equal(letters.length, one.count);
            assert.ok(letters.every((letter) => letter.cause === one.cause));
            assert.deepEqual([letters[0].id, letters[0].diedAt, letters.at(-1).diedAt], [one.sampleId, one.newestAt, one.oldestAt]);
            const alone = await get(server, `/dlq?cause=${encodeURIComponent(one.cause)}`);
            assert.deepEqual(alone.data, letters, 'a cause without a kind');
            const dry = await post(server, '/redrives', { filter: { kind: one.kind, cause: one.cause }, dryRun: true });
            assert.deepEqual([dry.status, dry.body], [200, { matched: one.count, exact: true }]);
        }
        const lines = await dlqLines(db, ['groups']);
        assert.deepEqual(lines, data, 'the command line sees the same');
        assert.match((await dlqFine(db, ['groups', '--kind', 'stripe.event'])).stdout, /^2\t\S+\tstripe\.event\tno such payment yet$/m);
        assert.equal((await dlqLines(db, ['list', '--cause', 'no such payment yet'])).length, 2);
        const gone = await post(server, '/dlq/delete', { filter: { kind: 'stripe.event', cause: 'no such payment yet' } });
        assert.equal(gone.body.done, 2);
        assert.deepEqual((await groups(server, '?kind=stripe.event')).data.map((one) => one.cause), ['the string does not end']);
        await server.stop();
        assert.equal((await dlqLines(db, ['groups'])).length, 2, 'and without a server');
    });

    test('Q6 groups come in pages, by time, and are counted up to 10,000', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        for (let i = 0; i < 25; i++)
            await fill(db, 3, { kind: i % 2 ? 'alert' : 'stripe.event', reason: `cause ${String.fromCharCode(97 + i)}`, prefix: `g${i}_`, diedAt: 1_760_000_000_000 + i * 1000 });
        await fill(db, 10_001, { kind: 'charge.fee', reason: 'many', prefix: 'm_' });
        const seen = [];
        let cursor = '';
        do {
            const page = await groups(server, `?limit=4${cursor && `&cursor=${cursor}`}`);
            assert.ok(page.data.length <= 4);
            seen.push(...page.data);
            cursor = page.nextCursor;
        } while (cursor);
        assert.equal(seen.length, 26);
        assert.equal(new Set(seen.map((one) => one.cause)).size, 26);
        const many = seen.find((one) => one.cause === 'many');
        assert.deepEqual([many.count, many.exact], [10_000, false]);
        assert.deepEqual((await groups(server, '?from=2025-10-09T08:53:40.001Z&to=2025-10-09T08:53:42.003Z')).data.map((one) => [one.cause, one.count]).sort(),
            [['cause u', 3], ['cause v', 3], ['cause w', 2]]);
        assert.equal((await groups(server, '?kind=alert&limit=100')).data.length, 12);
        assert.deepEqual(await groups(server, '?kind=none'), { data: [], nextCursor: null });
        for (const bad of ['?cause=x', '?limit=0', '?cursor=x', '?cursor=AAAA', '?kind=', '?from=x', '?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z'])
            assert.equal((await server.call('GET', `${DLQ}/groups${bad}`, { as: 'admin' })).status, 400, bad);
    });

    test('Q6 letters from before there were causes get theirs at the next start', async (t) => {
        const db = await fresh(t, store);
        await (await start(t, store, { db })).stop();
        await fill(db, 450, { reason: 'order 17 is unknown', cause: '' });
        const server = await start(t, store, { db });
        await until('all have one', async () => (await db.count('dead_letters', `cause = ''`)) === 0);
        const { data } = await groups(server);
        assert.deepEqual(data.map((one) => [one.cause, one.count]), [['order # is unknown', 450]]);
        assert.equal((await db.messages()).filter((m) => m.kind === 'dlq.causes').length, 0);
    });

    test('Q6 a redrive takes so many a second, shows how far it is, and leaves one line for each letter', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        await fill(db, 5);
        const before = await db.state();
        const dry = await post(server, '/redrives', { all: true, dryRun: true });
        assert.deepEqual([dry.status, dry.body], [200, { matched: 5, exact: true }]);
        assert.deepEqual(await db.state(), before, 'a dry run changes nothing');

        const begun = await redrive(server, { filter: { kind: 'stripe.event' }, ratePerSecond: 1 });
        assert.deepEqual([begun.kind, begun.state, begun.ratePerSecond, begun.matched, begun.exact, begun.done, begun.refused, begun.by, begun.endedAt],
            ['dlq', 'running', 1, 5, true, 0, 0, null, null]);
        assert.deepEqual(begun.filter, { kind: 'stripe.event' });
        await until('the first one', async () => (await retried(db)) === 1);
        const early = await get(server, `/redrives/${begun.id}`);
        assert.deepEqual([early.state, early.done], ['running', 1]);
        for (let n = 2; n <= 5; n++) {
            await server.advance(1000);
            await until(`the next, ${n}`, async () => (await retried(db)) >= n);
        }
        const times = (await db.table('audit', `operation = 'DLQ_RETRY'`)).map((row) => Number(row.at)).sort((a, b) => a - b);
        times.slice(1).forEach((at, i) => assert.ok(at - times[i] >= 900, `${times}: not more than one a second`));
        const end = await ended(server, begun.id);
        assert.deepEqual([end.state, end.matched, end.done, end.refused, end.refusals], ['done', 5, 5, 0, []]);
        await until('all ran', async () => (await db.count('webhook_outcomes', `outcome = 'ignored'`)) === 5);
        assert.equal(await agrees(db), 0);
        assert.match((await said(db, 'REDRIVE_START'))[0], /5 matched, 1 a second/);
        assert.match((await said(db, 'REDRIVE_END'))[0], /5 of 5 done, 0 refused/);
        assert.ok((await said(db, 'DLQ_RETRY')).every((detail) => detail.startsWith(`by redrive ${begun.id}: stripe.event`)));
        const { data } = await get(server, '/redrives');
        assert.deepEqual(data, [end]);
    });

    test('Q6 a redrive that is cancelled takes no more, and the rest stays dead', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        await fill(db, 20);
        const { id } = await redrive(server, { all: true, ratePerSecond: 1 });
        await until('it has begun', async () => (await retried(db)) >= 1);
        const answer = await post(server, `/redrives/${id}/cancel`);
        assert.deepEqual([answer.status, answer.body.state], [200, 'cancelled']);
        const done = await retried(db);
        await server.advance(60_000);
        await until('its message is gone', async () => !(await db.messages()).some((m) => m.kind === 'dlq.redrive'));
        assert.equal(await retried(db), done);
        assert.equal(await db.count('dead_letters'), 20 - done);
        const again = await post(server, `/redrives/${id}/cancel`);
        assert.deepEqual(again.body, answer.body, 'cancelled once');
        assert.equal((await said(db, 'REDRIVE_CANCEL')).length, 1);
        assert.equal((await said(db, 'REDRIVE_END')).length, 0);
        assert.equal((await post(server, `/redrives/${uuid()}/cancel`)).status, 404);
    });

    test('Q6 what dies again meanwhile is not taken a second time, and what is refused is named', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        await server.deliver('{"id":"evt_1","broken');
        const [{ id: broken }] = (await get(server, '/dlq')).data;
        for (let i = 0; i < 3; i++) await dies(server, orphan());
        const { id } = await redrive(server, { all: true, ratePerSecond: 1 });
        const end = await ended(server, id, 10_000); // each is dead again before the next is taken
        assert.deepEqual([end.state, end.matched, end.done, end.refused], ['done', 4, 3, 1]);
        assert.deepEqual(end.refusals, [{ id: broken, why: 'its stored body still cannot be read (the string does not end); delete it' }]);
        assert.equal(await retried(db), 3);
        await until('dead again', async () => {
            await server.advance(1000);
            return (await db.count('dead_letters')) === 4;
        }, 30_000);
    });

    test('Q6 more refusals in one step than are named: all are counted, twenty are named, by redrive and by replay', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        for (let i = 0; i < 30; i++) await server.deliver(`{"id":"evt_${i}","broken`);
        await until('all are dead', async () => (await db.count('dead_letters')) === 30);
        const { id } = await redrive(server, { all: true, ratePerSecond: 1000 });
        const end = await ended(server, id);
        assert.deepEqual([end.state, end.matched, end.done, end.refused, end.refusals.length], ['done', 30, 0, 30, 20]);
        const { body: replay } = await post(server, '/replays', { from: '2020-01-01T00:00:00Z', to: '2040-01-01T00:00:00Z', ratePerSecond: 1000 });
        const second = await ended(server, replay.id);
        assert.deepEqual([second.state, second.matched, second.done, second.refused, second.refusals.length], ['done', 30, 0, 30, 20]);
        assert.equal((await get(server, '/redrives')).data.length, 2, 'the list can be read');
    });

    test('Q6 a replay of large events goes on in steps that fit', async (t) => {
        const server = await silent(t, store);
        const { db } = server;
        for (let i = 0; i < 45; i++) {
            const one = event();
            one.data.object.big = 'x'.repeat(230_000);
            assert.equal((await server.deliver(one)).status, 204);
        }
        await until('all have an outcome', async () => (await db.count('webhook_outcomes')) === 45, 30_000);
        const { body } = await post(server, '/replays', { from: '2020-01-01T00:00:00Z', to: '2040-01-01T00:00:00Z', ratePerSecond: 1000 });
        const end = await ended(server, body.id);
        assert.deepEqual([end.state, end.matched, end.done, end.refused], ['done', 45, 45, 0]);
        assert.equal(await db.count('audit', `operation = 'EVENT_REPLAY'`), 45, 'each once');
    });

    test('Q6 redrives beside each other take each letter once', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        await fill(db, 300);
        const ids = (await get(server, '/dlq?limit=100')).data.map((one) => one.id);
        const all = await Promise.all([{ all: true }, { ids }, { filter: { cause: 'a bad day' } }].map((one) => redrive(server, { ...one, ratePerSecond: 500 })));
        const ends = await Promise.all(all.map(({ id }) => ended(server, id, 100)));
        assert.ok(ends.every((one) => one.state === 'done'));
        assert.equal(ends.reduce((sum, one) => sum + one.done, 0), 300);
        assert.equal(await retried(db), 300);
        assert.equal(await db.count('dead_letters'), 0);
        const { data, nextCursor } = await get(server, '/redrives?limit=2');
        const rest = await get(server, `/redrives?cursor=${nextCursor}`);
        assert.deepEqual([...data, ...rest.data].map((one) => one.id).sort(), all.map((one) => one.id).sort());
    });

    test(`Q6 kill -9 in the middle of a redrive of ${MANY} letters loses none and repeats none`, async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db });
        await fill(db, MANY);
        const { id, matched, exact } = await redrive(server, { all: true, ratePerSecond: 1000 });
        assert.deepEqual([matched, exact], [MANY, true]);
        await until('some were taken', async () => (await retried(db)) > 500, 30_000);
        await server.kill();
        const taken = await retried(db);
        assert.ok(taken < MANY, 'it was in the middle');
        const [row] = await db.all('SELECT done, refused FROM redrives');
        assert.deepEqual([Number(row.done), Number(row.refused)], [taken, 0], 'the progress is that of the letters');
        assert.equal(await db.count('dead_letters'), MANY - taken);
        const second = await start(t, store, { db });
        const end = await ended(second, id, 1000);
        assert.deepEqual([end.state, end.matched, end.done, end.refused], ['done', MANY, MANY, 0]);
        assert.equal(await retried(db), MANY, 'each once');
        await until('all ran', async () => (await db.count('webhook_outcomes', `outcome = 'ignored'`)) === MANY, 60_000);
        assert.equal(await agrees(db), 0);
    });

    test('Q6 bad requests are refused with the field, viewers change nothing, and nothing is changed', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        await fill(db, 3);
        const [{ id }] = (await get(server, '/dlq')).data;
        const before = await db.state();
        const bodies = [
            ['{}', 'body'], ['{"all":true}', 'ratePerSecond'], ['{"all":true,"ratePerSecond":0}', 'ratePerSecond'],
            ['{"all":true,"ratePerSecond":1001}', 'ratePerSecond'], ['{"all":true,"ratePerSecond":"5"}', 'ratePerSecond'],
            ['{"all":true,"ratePerSecond":5,"limit":3}', 'limit'], ['{"filter":{},"ratePerSecond":5}', 'filter'],
            ['{"filter":{"causes":"x"},"ratePerSecond":5}', 'causes'], ['{"filter":{"cause":""},"ratePerSecond":5}', 'cause'],
            ['{"ids":["x"],"ratePerSecond":5}', 'ids'], ['{"all":true,"dryRun":1,"ratePerSecond":5}', 'dryRun'],
        ];
        for (const [body, field] of bodies) {
            const answer = await post(server, '/redrives', body);
            assert.equal(answer.status, 400, `${body}: ${answer.text}`);
            assert.ok(answer.body.errors.some((one) => one.field === field), `${body}: ${answer.text}`);
        }
        for (const [body, field] of [['{}', 'body'], ['{"from":"2026-01-01T00:00:00Z","ratePerSecond":1}', 'to'], ['{"type":"a","ratePerSecond":1}', 'from'],
            ['{"eventId":"evt_1"}', 'ratePerSecond'], ['{"eventId":"evt_1","from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z","ratePerSecond":1}', 'body'],
            ['{"eventId":7,"ratePerSecond":1}', 'eventId'], ['{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z","ratePerSecond":1}', 'to']]) {
            const answer = await post(server, '/replays', body);
            assert.equal(answer.status, 400, `${body}: ${answer.text}`);
            assert.ok(answer.body.errors.some((one) => one.field === field), `${body}: ${answer.text}`);
        }
        for (const [body, field] of [['{"body":7}', 'body'], ['{"body":""}', 'body'], ['{"boddy":"x"}', 'boddy'], ['[]', 'body']]) {
            const answer = await post(server, `/dlq/${id}/retry`, body);
            assert.equal(answer.status, 400, `${body}: ${answer.text}`);
            assert.ok(answer.body.errors.some((one) => one.field === field), `${body}: ${answer.text}`);
        }
        const viewer = { bearer: token(uuid(), 'viewer') };
        for (const [way, body] of [['/redrives', { all: true, ratePerSecond: 5 }], ['/redrives', { all: true, dryRun: true }], [`/redrives/${uuid()}/cancel`, undefined],
            ['/replays', { eventId: 'evt_1', ratePerSecond: 1 }], [`/dlq/${id}/retry`, { body: '{}' }], ['/dlq/retry', { all: true }]])
            assert.equal((await post(server, way, body, viewer)).status, 403, way);
        for (const way of ['/dlq/groups', '/redrives', `/dlq/${id}`])
            assert.equal((await server.call('GET', `${ADMIN}${way}`, viewer)).status, 200, way);
        assert.equal((await post(server, '/redrives', { all: true, ratePerSecond: 5 }, { as: uuid() })).status, 403);
        assert.equal((await post(server, '/redrives', { all: true, ratePerSecond: 5 }, {})).status, 401);
        assert.equal((await server.call('GET', `${ADMIN}/redrives/${uuid()}`, { as: 'admin' })).status, 404);
        assert.equal((await server.call('GET', `${ADMIN}/redrives/x`, { as: 'admin' })).status, 400);
        assert.equal((await server.call('GET', `${ADMIN}/redrives?cursor=x`, { as: 'admin' })).status, 400);
        assert.deepEqual(await db.state(), before);
    });
});

forEachStore((store, test) => {
    test('Q6 an event is edited and applied; what came is kept, and both hashes are in the audit', async (t) => {
        const server = await silent(t, store);
        const { db } = server;
        const payment = await server.paid();
        await captureThere(server, payment);
        const news = await eventOf(server, payment, 'payment_intent.succeeded');
        const wrong = structuredClone(news);
        wrong.data.object.metadata.payment_id = uuid();
        wrong.data.object.id = 'pi_unknown';
        wrong.data.object.receipt_email = 'yui@example.com';
        const dead = await dies(server, wrong);
        const { body: letter } = await server.call('GET', `${DLQ}/${dead.id}`, { as: 'admin' });
        assert.deepEqual([letter.editable, letter.edited, letter.original], [true, false, null]);
        assert.ok(!letter.body.includes('yui@example.com'), 'addresses are not shown');
        const seen = JSON.parse(letter.body);
        assert.equal(seen.data.object.receipt_email, '[redacted]');
        const [{ stored }] = await db.all(`SELECT ${db.hex('body')} AS stored FROM webhook_events WHERE stripe_event_id = '${news.id}'`);

        for (const [text, words] of [['{"id":', /cannot be read/], ['{}', /cannot be read/], [JSON.stringify({ ...seen, id: 'evt_other' }), /keeps its id/]]) {
            const refused = await post(server, `/dlq/${dead.id}/retry`, { body: text });
            assert.equal(refused.status, 422, text);
            assert.match(refused.body.detail, words);
        }
        assert.equal(await db.count('message_edits'), 0);
        assert.equal(await agrees(db), 1, 'it is still dead');

        seen.data.object.metadata.payment_id = payment.id;
        seen.data.object.id = news.data.object.id;
        const answer = await post(server, `/dlq/${dead.id}/retry`, { body: JSON.stringify(seen) });
        assert.equal(answer.status, 200, answer.text);
        assert.equal((await until('an outcome', () => db.outcome(news.id))).outcome, 'applied');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        const [after] = await db.all(`SELECT ${db.hex('body')} AS stored FROM webhook_events WHERE stripe_event_id = '${news.id}'`);
        assert.equal(after.stored, stored, 'what came is as it came');
        const [edit] = await db.all(`SELECT ${db.hex('body')} AS body, original, sha256_before, sha256_after FROM message_edits`);
        const text = Buffer.from(edit.body, 'hex').toString();
        assert.equal(JSON.parse(text).data.object.receipt_email, 'yui@example.com', 'what he could not see is put back');
        assert.deepEqual([edit.sha256_before, edit.sha256_after], [sha(Buffer.from(stored, 'hex')), sha(text)]);
        const [detail] = await said(db, 'DLQ_RETRY');
        assert.ok(detail.includes(`edited, sha256 ${edit.sha256_before} became ${edit.sha256_after},`), detail);
        const { data } = await get(server, '/events');
        assert.equal(data.find((one) => one.id === news.id).edited, true);
    });

    test('Q6 an edited event that dies again shows both, and a retry uses the edited one', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        await server.deliver('{"id":"evt_1","broken');
        const [{ id }] = (await get(server, '/dlq')).data;
        const { body: letter } = await server.call('GET', `${DLQ}/${id}`, { as: 'admin' });
        assert.deepEqual([letter.editable, letter.body], [true, null], 'what is no JSON may hold a card: it is not shown');
        assert.equal((await post(server, `/dlq/${id}/retry`, { body: '{"id":"evt_1","broken' })).status, 422, 'as it was it cannot be read');
        const mended = JSON.stringify({ ...orphan(), id: 'evt_mended' });
        assert.equal((await post(server, `/dlq/${id}/retry`, { body: mended })).status, 200);
        const again = await until('dead again', async () => {
            await server.advance(1000);
            const { data: [one] } = await get(server, '/dlq');
            return one && (await server.call('GET', `${DLQ}/${one.id}`, { as: 'admin' })).body;
        }, 30_000);
        assert.deepEqual([again.kind, again.reason, again.editable, again.edited, again.original],
            ['stripe.refetch', 'the gateway does not know this intent', true, true, null]);
        assert.deepEqual(JSON.parse(again.body), JSON.parse(mended));
        const second = { ...JSON.parse(mended), api_version: '2026-01-01' };
        assert.equal((await post(server, `/dlq/${again.id}/retry`, { body: JSON.stringify(second) })).status, 200);
        await until('dead of the second edit', async () => {
            await server.advance(1000);
            return (await db.count('dead_letters')) === 1;
        }, 30_000);
        const { body: twice } = await server.call('GET', `${DLQ}/${again.id}`, { as: 'admin' });
        assert.deepEqual(JSON.parse(twice.body), second, 'the newest edit counts');
        assert.match((await dlqFine(db, ['show', again.id])).stdout, /^body +\{.*2026-01-01/m);
        assert.equal((await post(server, `/dlq/${again.id}/retry`)).status, 200);
        await until('dead once more', async () => {
            await server.advance(1000);
            return (await db.count('dead_letters')) === 1;
        }, 30_000);
        assert.equal(await db.count('message_edits'), 2);
        await server.advance(400 * 24 * 3600 * 1000);
        assert.equal(await db.count('message_edits'), 2, 'kept as long as the letter is there');
    });

    // Nobody signed an edited event: whatever it says, the payment is as the gateway says.
    for (const refetch of ['on', 'off', 'auto'])
        test(`W1 an edited event moves nothing that the gateway does not say itself, refetch ${refetch}`, async (t) => {
            const server = await silent(t, store, { ICHIDO_REFETCH: refetch });
            const { db } = server;
            const held = await server.paid(), taken = await server.paid();
            await captureThere(server, taken);
            await tell(server, await eventOf(server, taken, 'payment_intent.succeeded'));
            const news = await eventOf(server, held, 'payment_intent.amount_capturable_updated');
            const intent = (type, object) => ({ ...structuredClone(news), type, data: { object: { ...news.data.object, ...object } } });
            const refund = (payment) => ({ id: 're_forged', object: 'refund', amount: payment.amount, currency: payment.currency.toLowerCase(),
                status: 'succeeded', payment_intent: payment.gatewayTransactionId, metadata: { payment_id: payment.id }, created: news.created });
            const dispute = { id: 'dp_1', object: 'dispute', amount: 1, currency: 'jpy', status: 'lost', reason: 'fraudulent', charge: 'ch_1', payment_intent: taken.gatewayTransactionId };
            const session = { id: 'cs_1', object: 'checkout.session', mode: 'payment', status: 'expired', payment_status: 'unpaid', payment_intent: null, metadata: { payment_id: held.id } };
            const forged = [
                [intent('payment_intent.canceled', { status: 'canceled', cancellation_reason: 'abandoned', canceled_at: news.created }), 'applied'],
                [intent('payment_intent.succeeded', { status: 'succeeded', amount_received: news.data.object.amount, amount_capturable: 0 }), 'applied'],
                [intent('payment_intent.payment_failed', { status: 'requires_payment_method', last_payment_error: { code: 'card_declined' } }), 'applied'],
                [intent('payment_intent.succeeded', { id: taken.gatewayTransactionId, status: 'succeeded', amount_received: news.data.object.amount }), 'applied'],
                [{ ...news, type: 'refund.updated', data: { object: refund(taken) } }, 'dead'],
                [{ ...news, type: 'refund.updated', data: { object: refund(held) } }, 'dead'],
                [{ ...news, type: 'charge.dispute.closed', data: { object: dispute } }, 422],
                [{ ...news, type: 'checkout.session.expired', data: { object: session } }, 422],
                [{ ...news, type: 'customer.created', data: { object: { id: 'cus_1', object: 'customer' } } }, 422],
                [{ ...news, type: 'refund.updated', data: { object: { ...refund(taken), id: 'x' } } }, 422],
                [{ ...news, type: 'payment_intent.canceled', data: { object: refund(taken) } }, 422],
            ];
            const states = async () => [(await now(server, held)), (await now(server, taken))]
                .map(({ status, refundedAmount, capturedAmount, disputed }) => [status, refundedAmount, capturedAmount, disputed]);
            const before = await states();
            assert.deepEqual(before.map(([status]) => status), ['AUTHORIZED', 'CAPTURED']);
            for (const [one, wanted] of forged) {
                const dead = await dies(server, orphan());
                const stored = await db.state();
                const answer = await post(server, `/dlq/${dead.id}/retry`, { body: JSON.stringify({ ...one, id: dead.ref }) });
                if (wanted === 422) {
                    assert.equal(answer.status, 422, `${one.type}: ${answer.text}`);
                    assert.match(answer.body.detail, /^[ -~]+ \/ .*[ぁ-ん]/, 'it says why in both languages');
                    assert.deepEqual(await db.state(), stored, 'and nothing is changed');
                } else {
                    assert.equal(answer.status, 200, `${one.type}: ${answer.text}`);
                    const outcome = async () => (await until('an outcome', async () => {
                        await server.advance(1000);
                        return db.outcome(dead.ref);
                    }, 30_000)).outcome;
                    assert.match(await outcome(), wanted === 'dead' ? /dead/ : /applied|superseded/, one.type);
                    assert.equal((await post(server, '/replays', { eventId: dead.ref, ratePerSecond: 1 })).status, 202);
                    await until('replayed', async () => (await db.count('redrives', `state = 'done'`)) === (await db.count('redrives')));
                    assert.match(await outcome(), wanted === 'dead' ? /dead/ : /applied|superseded/, `${one.type} once more`);
                }
                assert.deepEqual(await states(), before, one.type);
            }
            assert.equal((await server.pay(held.booking)).body.id ?? held.id, held.id, 'the booking is not free');
            const { data: ops } = { data: await db.operations(taken.id) };
            assert.ok(ops.every((op) => op.kind !== 'refund'), 'nothing was sent back');
        });

    test('W1 an edited event brings what the gateway says itself: a success, a refund, a cancellation', async (t) => {
        const server = await silent(t, store, { ICHIDO_REFETCH: 'off' });
        const { db } = server;
        const edit = async (object, type) => {
            const dead = await dies(server, orphan());
            const answer = await post(server, `/dlq/${dead.id}/retry`, { body: JSON.stringify({ ...orphan(), id: dead.ref, type, data: { object } }) });
            assert.equal(answer.status, 200, answer.text);
            return until('an outcome', () => db.outcome(dead.ref));
        };
        const taken = await server.paid(), gone = await server.paid();
        await captureThere(server, taken);
        const { data: { object } } = await eventOf(server, taken, 'payment_intent.amount_capturable_updated');
        const first = await edit(object, 'payment_intent.amount_capturable_updated');
        assert.deepEqual([first.outcome, first.detail], ['applied', 'asked the gateway']);
        assert.equal((await now(server, taken)).status, 'CAPTURED', 'though the event says that it is only held');
        const refund = await dashboard(server, '/refunds', { payment_intent: taken.gatewayTransactionId, amount: '100' });
        await edit({ id: refund.id, object: 'refund', amount: 1, currency: 'jpy', status: 'failed', metadata: {} }, 'refund.failed');
        assert.equal((await now(server, taken)).refundedAmount, 100, 'its sum, its state and its payment are the gateway\'s');
        await dashboard(server, `/payment_intents/${gone.gatewayTransactionId}/cancel`);
        await edit({ ...object, id: gone.gatewayTransactionId }, 'payment_intent.succeeded');
        assert.equal((await now(server, gone)).status, 'REFUNDED');
        assert.equal((await now(server, taken)).refundedAmount, 100);
    });

    test('Q6 a message of the QStash API is edited; its first body is kept', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        const got = await receive(t, (request) => (request.text.includes('right') ? 200 : 489));
        await sdk(server).publish({ url: got.url, body: 'wrong', retries: 0 });
        const [letter] = await until('it is dead', async () => {
            await server.advance(1000);
            const page = await get(server, '/dlq');
            return page.data.length && page.data;
        });
        const { body: whole } = await server.call('GET', `${DLQ}/${letter.id}`, { as: 'admin' });
        assert.deepEqual([whole.editable, whole.body, whole.edited], [true, 'wrong', false]);
        assert.equal((await post(server, `/dlq/${letter.id}/retry`, { body: 'left' })).status, 200);
        const second = await until('it is dead again', async () => {
            await server.advance(1000);
            const { data: [one] } = await get(server, '/dlq');
            return one && one.id !== letter.id && (await server.call('GET', `${DLQ}/${one.id}`, { as: 'admin' })).body;
        });
        assert.deepEqual([second.body, second.edited, second.original], ['left', true, 'wrong']);
        const next = (id) => until('it is dead once more', async () => {
            await server.advance(1000);
            const { data: [one] } = await get(server, '/dlq');
            return one && one.id !== id && (await server.call('GET', `${DLQ}/${one.id}`, { as: 'admin' })).body;
        });
        assert.equal((await post(server, `/dlq/${second.id}/retry`, { body: 'straight' })).status, 200);
        const third = await next(second.id);
        assert.deepEqual([third.body, third.edited, third.original], ['straight', true, 'wrong'], 'what came first');
        assert.equal((await post(server, `/dlq/${third.id}/retry`)).status, 200);
        const fourth = await next(third.id);
        assert.deepEqual([fourth.body, fourth.edited, fourth.original], ['straight', true, 'wrong'], 'also after a retry as it is');
        const file = path.join(db.folder ?? os.tmpdir(), `body-${uuid()}.txt`);
        fs.writeFileSync(file, 'right');
        assert.match((await dlqFine(db, ['retry', fourth.id, '--body', file])).stdout, /retried, edited/);
        await until('it arrives', () => got.some((one) => one.text === 'right'));
        assert.equal(await db.count('dead_letters'), 0);
    });

    test('Q6 hidden values go back to their own place in lists, or the edit is refused; many members are no trouble', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        const got = await receive(t, (request) => (request.text.includes('right') ? 200 : 489));
        const many = Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`k${i}`, { v: i }]));
        const body = { word: 'wrong', people: [{ email: 'a@example.com' }, { email: 'b@example.com' }, { email: 'c@example.com' }], many };
        await sdk(server).publishJSON({ url: got.url, body, retries: 0 });
        const [{ id }] = await until('it is dead', async () => {
            await server.advance(1000);
            const { data } = await get(server, '/dlq');
            return data.length && data;
        });
        const { body: letter } = await server.call('GET', `${DLQ}/${id}`, { as: 'admin' });
        const seen = { ...JSON.parse(letter.body), word: 'right' };
        assert.deepEqual(seen.people.map((one) => one.email), ['[redacted]', '[redacted]', '[redacted]']);
        const before = await db.state();
        const refused = await post(server, `/dlq/${id}/retry`, { body: JSON.stringify({ ...seen, people: seen.people.slice(1) }) });
        assert.equal(refused.status, 422, refused.text);
        assert.match(refused.body.detail, /a \[redacted\] is left.* \/ .*残っています/);
        assert.deepEqual(await db.state(), before);
        seen.people[1].email = 'new@example.com';
        seen.many = Object.fromEntries(Object.entries(seen.many).reverse());
        assert.equal((await post(server, `/dlq/${id}/retry`, { body: JSON.stringify(seen) })).status, 200);
        const arrived = await until('it arrives', () => got.find((one) => one.text.includes('right')));
        const told = JSON.parse(arrived.text);
        assert.deepEqual(told.people.map((one) => one.email), ['a@example.com', 'new@example.com', 'c@example.com']);
        assert.deepEqual(told.many, many);
    });

    // 1794953763007 is a time in milliseconds, and passes for a card's number.
    test('Q6 an edit stores no mask, and gives nobody what is hidden of somebody else', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        const got = await receive(t, (request) => (request.text.includes('right') ? 200 : 489));
        const dead = async (body) => {
            await sdk(server).publish({ url: got.url, body, retries: 0 });
            const [{ id }] = await until('it is dead', async () => {
                const { data } = await get(server, '/dlq');
                if (!data.length) await server.advance(1000);
                return data.length && data;
            });
            return (await server.call('GET', `${DLQ}/${id}`, { as: 'admin' })).body;
        };
        const users = [{ id: 'A', email: 'a@example.com' }, { id: 'B', email: 'b@example.com' }];
        const rows = [{ ts: 1794953763007, n: 1 }, { ts: 1794953763007, n: 2 }, { ts: 1, n: 3 }];
        const letter = await dead(JSON.stringify({ word: 'wrong', users, rows }));
        const seen = JSON.parse(letter.body);
        assert.deepEqual([seen.users[0].email, seen.rows[0].ts], ['[redacted]', 0]);
        const [a, b] = seen.users;
        const before = await db.state();
        for (const [why, change] of [
            ['swapped', { users: [b, a] }], ['one taken away, one put in', { users: [b, { id: 'C', email: 'c@example.com' }] }],
            ['another in the same place', { users: [a, { ...b, id: 'C' }] }], ['a shorter list of numbers', { rows: seen.rows.slice(1) }],
        ]) {
            const answer = await post(server, `/dlq/${letter.id}/retry`, { body: JSON.stringify({ ...seen, word: 'right', ...change }) });
            assert.equal(answer.status, 422, `${why}: ${answer.text}`);
            assert.match(answer.body.detail, / \/ .*残っています/, why);
            assert.deepEqual(await db.state(), before, why);
        }
        assert.equal((await post(server, `/dlq/${letter.id}/retry`, { body: JSON.stringify({ ...seen, word: 'right' }, null, 2) })).status, 200);
        const arrived = await until('it arrives', () => got.find((one) => one.text.includes('right')));
        assert.deepEqual(JSON.parse(arrived.text), { word: 'right', users, rows });

        const text = await dead('order=1794953763007&qty=1');
        assert.equal(text.body, 'order=*********3007&qty=1');
        assert.equal((await post(server, `/dlq/${text.id}/retry`, { body: 'x=right&order=*********3007&qty=2' })).status, 422);
        assert.equal((await post(server, `/dlq/${text.id}/retry`, { body: 'order=*********3007&qty=2&right' })).status, 200);
        await until('it arrives', () => got.some((one) => one.text === 'order=1794953763007&qty=2&right'));
    });

    test('Q6 what is told by rows is not edited', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        for (const kind of ['op', 'stripe.refetch', 'event.deliver', 'charge.fee', 'nobody.knows'])
            await fill(db, 1, { kind, prefix: `${kind.replace('.', '_')}_` });
        await fill(db, 1, { kind: 'alert', prefix: 'alert_' });
        const before = await db.count('dead_letters');
        for (const one of (await get(server, '/dlq')).data) {
            const { body: letter } = await server.call('GET', `${DLQ}/${one.id}`, { as: 'admin' });
            assert.deepEqual([letter.editable, letter.body === null], one.kind === 'alert' ? [true, false] : [false, true], one.kind);
            const answer = await post(server, `/dlq/${one.id}/retry`, { body: '{"type":' });
            assert.equal(answer.status, 422, one.kind);
            assert.match(answer.body.detail, one.kind === 'alert' ? /is not JSON/ : one.kind === 'op' ? /money operation/ : /not stored any more|cannot be edited/);
        }
        assert.equal(await db.count('dead_letters'), before);
        assert.equal(await db.count('message_edits'), 0);
    });

    test('Q6 the command line redrives at a rate, and Ctrl-C cancels', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        await fill(db, 50);
        const fine = await dlqFine(db, ['retry', '--kind', 'stripe.event', '--rate', '1000'], where(server));
        assert.match(fine.stdout, /^done: 50 of 50 done, 0 refused$/m);
        await fill(db, 50, { prefix: 'evt_more_' });
        assert.match((await dlqFine(db, ['retry', '--all', '--rate', '1', '--dry-run'], where(server))).stdout, /^50 would be tried again/m);
        const doing = dlq(db, ['retry', '--all', '--rate', '1'], where(server));
        await new Promise((resolve) => {
            doing.child.on('said', () => /remain/.test(doing.said.stderr) && resolve());
            doing.then(resolve);
        });
        doing.child.kill('SIGINT');
        const got = await doing;
        assert.equal(got.code, 1, got.stderr);
        assert.match(got.stdout, /^cancelled: \d+ of 50 done, 0 refused$/m);
        assert.ok((await db.count('dead_letters')) > 0);
    });

    test('Q6 an event is applied once more, by its id and by its time, and nothing happens twice', async (t) => {
        const server = await silent(t, store);
        const { db } = server;
        const payment = await server.paid();
        await captureThere(server, payment);
        const news = await eventOf(server, payment, 'payment_intent.succeeded');
        await server.deliver(news);
        const first = await until('applied', () => db.outcome(news.id));
        assert.equal(first.outcome, 'applied');
        const money = async () => [await now(server, payment), await db.count('notifications'), await db.count('domain_events')];
        const before = await money();

        const dry = await post(server, '/replays', { eventId: news.id, dryRun: true });
        assert.deepEqual([dry.status, dry.body], [200, { matched: 1, exact: true }]);
        const answer = await post(server, '/replays', { eventId: news.id, ratePerSecond: 10 });
        assert.equal(answer.status, 202, answer.text);
        assert.deepEqual([answer.body.kind, answer.body.filter], ['replay', { eventId: news.id }]);
        const end = await ended(server, answer.body.id, 100);
        assert.deepEqual([end.state, end.done, end.refused], ['done', 1, 0]);
        const replay = await until('the replay has an end', async () => (await db.table('event_replays')).find((row) => row.outcome));
        assert.ok(['applied', 'superseded'].includes(replay.outcome), replay.outcome);
        assert.deepEqual([replay.event_id, replay.was], [news.id, 'applied']);
        assert.deepEqual(await db.outcome(news.id), first, 'what became of it the first time stays');
        assert.deepEqual(await money(), before, 'nothing happened twice');
        assert.match((await said(db, 'EVENT_REPLAY'))[0], /it was applied/);
        assert.equal((await post(server, '/replays', { eventId: 'evt_nobody', ratePerSecond: 1 })).status, 404);

        await dies(server, orphan());
        const span = { from: new Date(Date.now() - 3600_000).toISOString(), to: new Date(Date.now() + 24 * 3600_000).toISOString() };
        const count = (await post(server, '/replays', { ...span, dryRun: true })).body;
        assert.deepEqual(count, { matched: await db.count('webhook_events'), exact: true });
        const typed = (await post(server, '/replays', { ...span, type: 'no.such', dryRun: true })).body;
        assert.deepEqual(typed, { matched: 0, exact: true });
        const all = await ended(server, (await post(server, '/replays', { ...span, ratePerSecond: 100 })).body.id, 100);
        assert.deepEqual([all.state, all.done], ['done', count.matched]);
        assert.equal(await retried(db), 1, 'the dead one was retried as such');
        assert.deepEqual(await money(), before);
    });
});
