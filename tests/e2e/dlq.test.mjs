// Dead letters as records (Q6): by the admin API and by the command line, with a server and without one.
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { agrees, DLQ, dies, dlq, dlqFine, dlqJson, dlqLines, fill, hide, orphan, refusing } from './lib/dlq.mjs';
import { captureThere, eventOf, now, silent } from './lib/events.mjs';
import { asHex, assert, forEachStore, fresh, start, token, until, uuid } from './lib/harness.mjs';
import { receive, sdk } from './lib/receiver.mjs';

const run = promisify(execFile);
const MANY = 5000;

const list = async (server, query = '') => (await server.call('GET', `${DLQ}${query}`, { as: 'admin' })).body;
const show = (server, id) => server.call('GET', `${DLQ}/${id}`, { as: 'admin' });
const act = (server, verb, body) => server.call('POST', `${DLQ}/${verb}`, { as: 'admin', body });
const binary = (bytes) => ({ bytes: bytes.length, sha256: crypto.createHash('sha256').update(bytes).digest('hex') });
const pauses = (failures) => failures.slice(1).map((one, i) => Date.parse(one.at) - Date.parse(failures[i].at));

const events = async (db) => (await db.messages()).filter((m) => m.kind === 'stripe.event');
const queryOf = (values) => `?${Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`;

// A payment that is captured at the gateway while nothing was told, and the event that says so.
async function captured(t, store) {
    const server = await silent(t, store);
    const payment = await server.paid();
    await captureThere(server, payment);
    return { server, payment, news: await eventOf(server, payment, 'payment_intent.succeeded') };
}

// Every letter is dead, or live, or ended; never two of these and never none.
async function where(db, prefix = 'evt_fill_') {
    const refs = async (sql) => new Set((await db.all(sql)).map((row) => row.ref));
    const dead = await refs(`SELECT ref FROM dead_letters WHERE ref LIKE '${prefix}%'`);
    const live = await refs(`SELECT ref FROM message WHERE ref LIKE '${prefix}%'`);
    const both = [...dead].filter((ref) => live.has(ref));
    assert.deepEqual(both, [], 'dead and live at a time');
    const ended = await db.count('webhook_outcomes', `outcome = 'ignored'`);
    return { dead: dead.size, live: live.size, ended };
}

forEachStore((store, test) => {
    test('Q6 an event whose payment came later is retried when it is there, under the same message id', async (t) => {
        const { server, payment, news } = await captured(t, store);
        const { db } = server;
        const comesBack = await hide(db, payment);
        const dead = await dies(server, news);
        assert.equal(await agrees(db), 1);

        const { data: [line] } = await list(server);
        assert.equal(line.id, dead.id);
        const { body: letter } = await show(server, dead.id);
        assert.deepEqual([letter.kind, letter.ref, letter.eventId, letter.paymentId, letter.reason, letter.attempts],
            ['stripe.event', news.id, news.id, payment.id, 'no such payment yet', 4]);
        assert.equal(letter.payload.type, 'payment_intent.succeeded');
        assert.equal(letter.payload.payment, payment.id);
        assert.equal(letter.event.type, 'payment_intent.succeeded');
        assert.deepEqual(letter.failures.map((one) => [one.attempt, one.error]), [1, 2, 3, 4].map((n) => [n, 'no such payment yet']));
        pauses(letter.failures).forEach((ms, i) => assert.ok(ms >= 1000 * 2 ** i, `the times of the attempts are kept, ${ms} behind ${i + 1}`));
        assert.equal(letter.diedAt, letter.failures[3].at);
        const [row] = await db.all(`SELECT ${db.hex('payload')} AS payload, event_type FROM failed_webhook_events`);
        assert.equal(JSON.parse(Buffer.from(row.payload, 'hex')).id, news.id, 'the event as it came');
        assert.equal(row.event_type, news.type);
        const history = async () => (await server.call('GET', '/api/v1/admin/events', { as: 'admin' })).body.data
            .find((one) => one.id === news.id).outcome;
        assert.equal(await history(), 'failed');

        await comesBack();
        const answer = await server.call('POST', `${DLQ}/${dead.id}/retry`, { as: 'admin' });
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual([answer.body.matched, answer.body.done, answer.body.refused], [1, 1, 0]);
        assert.equal((await until('an outcome', () => db.outcome(news.id))).outcome, 'applied');
        assert.equal(await history(), 'applied');
        assert.equal((await now(server, payment)).status, 'CAPTURED');
        assert.equal((await db.event(news.id)).message_id, asHex(dead.id));
        assert.equal((await show(server, dead.id)).status, 404);
        assert.equal(await agrees(db), 0);
        const [audit] = await db.table('audit', `operation = 'DLQ_RETRY'`);
        assert.deepEqual([audit.subject, audit.result, audit.payment_id], [news.id, 'success', asHex(payment.id)]);
    });

    test('Q6 a retry that fails again is a dead letter again, with a fresh budget and all its attempts', async (t) => {
        const server = await start(t, store);
        const one = orphan();
        const dead = await dies(server, one);
        const answer = await act(server, 'retry', { ids: [dead.id] });
        assert.equal(answer.body.done, 1);
        assert.deepEqual((await events(server.db)).map((m) => m.id), [asHex(dead.id)]);
        assert.equal(await server.db.outcome(one.id), undefined, 'what is tried again has no outcome');
        assert.equal(await agrees(server.db), 0);
        const again = await until('dead again', async () => {
            const [letter] = await server.db.dead();
            if (!letter) await server.advance(1000);
            return letter;
        }, 30_000);
        assert.equal(again.id, asHex(dead.id));
        assert.equal(again.attempts, 4);
        const { body } = await show(server, dead.id);
        assert.deepEqual(body.failures.map((f) => f.attempt), [1, 2, 3, 4, 1, 2, 3, 4]);
        assert.equal((await server.db.outcome(one.id)).outcome, 'dead');
        assert.equal(await agrees(server.db), 1);
    });

    test('Q6 attempts are forgotten after 90 days, the letter is not', async (t) => {
        const server = await start(t, store);
        const dead = await dies(server, orphan());
        const day = 24 * 3600 * 1000;
        await server.advance(89 * day);
        await until('the hourly job ran', async () => {
            const [job] = await server.db.all(`SELECT attempt FROM message WHERE kind = 'keys.expire'`);
            return job.attempt > 0;
        });
        assert.equal((await show(server, dead.id)).body.failures.length, 4);
        await server.advance(day + 3600 * 1000);
        await until('they are gone', async () => (await server.db.count('message_failures')) === 0);
        const { body } = await show(server, dead.id);
        assert.deepEqual([body.attempts, body.failures], [4, []]);
    });

    test('Q6 what cannot be read is refused with words, and can be deleted', async (t) => {
        const server = await start(t, store);
        assert.equal((await server.deliver('{"id":"evt_1","broken')).status, 204);
        const [letter] = (await list(server)).data;
        assert.equal(letter.attempts, 0);
        assert.equal((await show(server, letter.id)).body.payload, null);
        const one = await server.call('POST', `${DLQ}/${letter.id}/retry`, { as: 'admin' });
        assert.equal(one.status, 422);
        assert.match(one.body.detail, /^its stored body still cannot be read \(the string does not end\); delete it$/);
        const many = await act(server, 'retry', { all: true });
        assert.deepEqual([many.body.matched, many.body.done, many.body.refused], [1, 0, 1]);
        assert.equal(many.body.refusals[0].id, letter.id);
        assert.equal(await agrees(server.db), 1, 'it is still dead');
        const cli = await dlq(server.db, ['retry', letter.id]);
        assert.equal(cli.code, 1);
        assert.match(cli.stderr, /1 was refused and is still dead:\n {2}\S+ {2}its stored body/);
        const gone = await server.call('DELETE', `${DLQ}/${letter.id}`, { as: 'admin' });
        assert.equal(gone.status, 204);
        assert.equal(await agrees(server.db), 0);
        assert.equal((await server.call('DELETE', `${DLQ}/${letter.id}`, { as: 'admin' })).status, 404);
        assert.equal(await server.db.count('audit', `operation = 'DLQ_DELETE'`), 1);
    });

    test('Q6 bad requests are refused with the field, and nothing is changed', async (t) => {
        const server = await start(t, store);
        await fill(server.db, 3);
        const before = await server.db.state();
        const bodies = [
            ['', 'body'], ['[]', 'body'], ['{"filter":', 'body'], ['{}', 'body'], ['{"all":false}', 'body'],
            ['{"filter":{}}', 'filter'], ['{"filter":null}', 'filter'], ['{"filter":[]}', 'filter'],
            ['{"filter":{"kinds":"stripe.event"}}', 'kinds'], ['{"filter":{"kind":""}}', 'kind'], ['{"filter":{"kind":7}}', 'kind'],
            ['{"filter":{"paymentId":"x"}}', 'paymentId'], ['{"filter":{"from":"yesterday"}}', 'from'],
            ['{"filter":{"to":"1970-01-01T00:00:00Z"}}', 'to'],
            ['{"filter":{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}}', 'to'],
            ['{"ids":[]}', 'ids'], ['{"ids":["x"]}', 'ids'], ['{"ids":"x"}', 'ids'], ['{"ids":[null]}', 'ids'],
            [JSON.stringify({ ids: Array(1001).fill(uuid()) }), 'ids'],
            [JSON.stringify({ ids: [uuid()], all: true }), 'body'], [JSON.stringify({ ids: [uuid()], filter: { kind: 'a' } }), 'body'],
            [JSON.stringify({ ids: [uuid()], limit: 3 }), 'ids'],
            ['{"all":true,"filter":{"kind":"a"}}', 'body'], ['{"all":"true"}', 'all'], ['{"all":true,"dryrun":true}', 'dryrun'],
            ['{"all":true,"dryRun":null}', 'dryRun'], ['{"all":true,"limit":null}', 'limit'], ['{"all":true,"cursor":null}', 'cursor'],
            ['{"filter":{"kind":"stripe.event","ref":null}}', 'ref'],
            ['{"all":true,"dryRun":1}', 'dryRun'], ['{"all":true,"limit":0}', 'limit'], ['{"all":true,"limit":10001}', 'limit'],
            ['{"all":true,"cursor":"x"}', 'cursor'],
        ];
        for (const verb of ['retry', 'delete'])
            for (const [body, field] of bodies) {
                const answer = await act(server, verb, body);
                assert.equal(answer.status, 400, `${verb} ${body}: ${answer.text}`);
                assert.ok(answer.body.errors.some((one) => one.field === field), `${body}: ${answer.text}`);
            }
        const queries = ['?kinds=a', '?kind=', '?kind=a&kind=b', '?paymentId=x', '?from=x', '?limit=0', '?limit=101', '?cursor=x',
            '?ref=%00', '?reason=%ff', '?to=1970-01-01T00:00:00Z', '?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z'];
        for (const query of queries)
            assert.equal((await server.call('GET', `${DLQ}${query}`, { as: 'admin' })).status, 400, query);
        const others = [
            ['GET', '', {}, 401], ['GET', '', { as: uuid() }, 403], ['GET', '', { bearer: token(uuid(), 'service') }, 403],
            ['POST', '/retry', { as: uuid(), body: { all: true } }, 403], ['POST', '/delete', { body: { all: true } }, 401],
            ['DELETE', `/${uuid()}`, { as: uuid() }, 403], ['GET', `/${uuid()}`, { as: 'admin' }, 404], ['GET', '/x', { as: 'admin' }, 400],
            ['POST', `/${uuid()}/retry`, { as: 'admin' }, 404], ['POST', '/x/retry', { as: 'admin' }, 400],
            ['POST', '/retry', { as: 'admin', body: '{"all":true}', headers: { 'Content-Type': 'text/plain' } }, 415],
            ['POST', '/delete', { as: 'admin', body: ' '.repeat(70_000) }, 413], ['PUT', '', { as: 'admin' }, 405],
        ];
        for (const [method, where_, options, status] of others)
            assert.equal((await server.call(method, `${DLQ}${where_}`, options)).status, status, `${method} ${where_}`);
        assert.deepEqual(await server.db.state(), before);
        const admin = await server.call('GET', DLQ, { bearer: token(uuid(), 'admin') });
        assert.equal(admin.body.data.length, 3, 'a token with the scope admin may');
    });

    test('Q6 filters and pages mean the same by the API and by the command line', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        await fill(db, 30, { prefix: 'evt_a_' });
        await fill(db, 25, { prefix: 'msg_b_', kind: 'event.deliver', reason: 'the receiver answered 500', diedAt: 1_770_000_000_000 });
        const payment = uuid();
        await db.all(`UPDATE dead_letters SET payment_id = ${db.blob(asHex(payment))} WHERE ref IN ('evt_a_3', 'msg_b_4')`);
        const rows = [
            [{}, 55], [{ kind: 'event.deliver' }, 25], [{ kind: 'none' }, 0], [{ ref: 'evt_a_7' }, 1], [{ paymentId: payment }, 2],
            [{ paymentId: payment, kind: 'stripe.event' }, 1], [{ reason: 'ANSWERED 500' }, 25], [{ reason: 'bad', kind: 'event.deliver' }, 0],
            [{ from: '2026-02-02T02:40:00Z' }, 25], [{ to: '2026-02-02T02:40:00Z' }, 30],
            [{ from: '2025-10-09T08:53:20.011Z', to: '2025-10-09T08:53:20.021Z' }, 10],
        ];
        const options = { kind: '--kind', ref: '--event', paymentId: '--payment', reason: '--reason', from: '--from', to: '--to' };
        for (const [filter, count] of rows) {
            const seen = [];
            let cursor = '';
            do {
                const page = await list(server, queryOf({ ...filter, limit: 7, ...(cursor && { cursor }) }));
                seen.push(...page.data.map((one) => one.id));
                cursor = page.nextCursor;
            } while (cursor);
            assert.equal(new Set(seen).size, count, JSON.stringify(filter));
            assert.equal(seen.length, count);
            const args = Object.entries(filter).flatMap(([name, value]) => [options[name], value]);
            const got = await dlq(db, ['list', '--all', '--json', ...args]);
            assert.equal(got.code, 0, got.stderr);
            assert.deepEqual(got.stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line).id), seen);
            const dry = await act(server, 'delete', { dryRun: true, ...(count === 55 ? { all: true } : { filter }) });
            assert.deepEqual([dry.body.matched, dry.body.done, dry.body.dryRun], [count, 0, true]);
        }
        assert.equal(await db.count('dead_letters'), 55, 'dry runs change nothing');
        const first = await act(server, 'delete', { filter: { kind: 'event.deliver' }, limit: 10 });
        assert.deepEqual([first.body.matched, first.body.done], [10, 10]);
        const rest = await act(server, 'delete', { filter: { kind: 'event.deliver' }, cursor: first.body.cursor });
        assert.deepEqual([rest.body.matched, rest.body.done, rest.body.cursor], [15, 15, null]);
        assert.equal(await agrees(db), 30);
    });

    test('Q6 the command line works while a server runs', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_WEBHOOK_RETRY_MS: '600000' } }); // what is retried does not die again meanwhile
        const { db } = server;
        const one = orphan();
        const dead = await dies(server, one);
        await fill(db, 3, { prefix: 'evt_b_' });
        assert.match((await dlqFine(db, ['list'])).stdout, new RegExp(`^${dead.id}\tstripe\\.event\t\\S+\t4\t${one.id}\tno such payment yet$`, 'm'));
        const text = (await dlqFine(db, ['show', dead.id])).stdout;
        assert.match(text, /^payment +\S+$/m);
        assert.match(text, /^ {4}4 {2}\S+Z {2}no such payment yet$/m);
        const letter = await dlqJson(db, ['show', dead.id]);
        assert.deepEqual(letter, (await show(server, dead.id)).body);

        const dry = await dlqFine(db, ['retry', '--event', one.id, '--dry-run']);
        assert.match(dry.stdout, /^1 dead letter would be retried; nothing was changed$/m);
        assert.equal((await db.dead()).length, 4);
        const done = await dlqFine(db, ['retry', dead.id]);
        assert.match(done.stdout, /^1 of 1 dead letter retried$/m);
        await until('it is live or dead again', async () => (await db.count('message_failures')) > 4);
        assert.equal(await agrees(db), 3);

        const asked = await dlq(db, ['delete', '--kind', 'stripe.event']);
        assert.equal(asked.code, 2);
        assert.match(asked.stderr, /this would delete 3 dead letters for ever; add --yes/);
        assert.equal(await agrees(db), 3);
        const [first] = await dlqLines(db, ['list', '--limit', '1']);
        assert.deepEqual(await dlqJson(db, ['delete', first.id]), { matched: 1, done: 1, refused: 0, refusals: [], dryRun: false });
        assert.deepEqual(await dlqJson(db, ['delete', '--all', '--yes']), { matched: 2, done: 2, refused: 0, refusals: [], dryRun: false });
        assert.equal(await agrees(db), 0);
        const none = await dlq(db, ['retry', '--all']);
        assert.equal(none.code, 1);
        assert.match(none.stderr, /no dead letter matches/);
        assert.equal((await dlq(db, ['show', dead.id])).code, 1);
    });

    test('Q6 the command line works on the store itself while no server runs, and runs nothing', async (t) => {
        const db = await fresh(t, store);
        const first = await start(t, store, { db });
        const one = orphan();
        const dead = await dies(first, one);
        await first.stop();
        await fill(db, 20);
        const letter = await dlqJson(db, ['show', dead.id], { env: { ICHIDO_ADMIN_TOKEN: undefined } });
        assert.equal(letter.failures.length, 4);
        const done = await dlqFine(db, ['retry', '--all'], { env: { ICHIDO_ADMIN_TOKEN: undefined } });
        assert.match(done.stdout, /^21 of 21 dead letters retried$/m);
        assert.match(done.stderr, store.kind === 'sqlite' ? /ichido serve/ : /within seconds/);
        const messages = await events(db);
        assert.equal(messages.length, 21);
        assert.ok(messages.every((m) => m.attempt === 0 && !m.owner), 'nobody runs them here');
        assert.equal(await agrees(db), 0);
        const second = await start(t, store, { db });
        await until('all of them ran', async () => (await db.count('webhook_outcomes', `outcome = 'ignored'`)) === 20);
        await until('the orphan is dead again', async () => {
            await second.advance(1000);
            return (await db.dead()).some((row) => row.id === asHex(dead.id));
        });
        assert.equal(await agrees(db), 1);
    });

    test('Q6 a dead delivery of the QStash API is retried and deleted by the same command', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        const bad = { well: false };
        const got = await receive(t, () => (bad.well ? 200 : [489, { 'Upstash-NonRetryable-Error': 'true' }]));
        await sdk(server).publishJSON({ url: `${got.url}/a`, body: { n: 1 } });
        await sdk(server).publishJSON({ url: `${got.url}/b`, body: { n: 2 } });
        const letters = await until('both are dead', async () => {
            const { data } = await list(server, '?kind=qstash.deliver');
            return data.length === 2 && data;
        });
        assert.deepEqual(letters.map((one) => one.eventId), [null, null]);
        bad.well = true;
        await dlqFine(db, ['retry', letters[1].id]);
        await got.came(3);
        const again = got[2];
        const first = got.slice(0, 2).find((one) => one.path === again.path);
        assert.equal(again.headers['webhook-id'], first.headers['webhook-id'], 'the delivery keeps its name');
        assert.equal(again.text, first.text);
        await dlqFine(db, ['delete', letters[0].id]);
        assert.equal(await db.count('dead_letters'), 0);
        assert.equal(await db.count('qstash_dead'), 0);
        await until('it is delivered', async () => (await db.count('qstash_live')) === 0);
    });

    test('Q6 a dead delivery shows what was sent and every answer, by its UUID and by its msg_ id', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        const got = await refusing(t, [[500, 'no room'], [503, Buffer.from([0xff, 0x00, 0xfe])], [404, `${'長'.repeat(3000)}!`]]);
        const { messageId } = await sdk(server).queue({ queueName: 'bills' }).enqueueJSON({
            url: `${got.url}/in?a=1`, body: { n: '請求' }, retries: 2, retryDelay: '1000', label: 'night',
            flowControl: { key: 'shop', parallelism: 3 },
            headers: { 'X-Shop': 's1', 'X-Pass': 'hidden-one', 'Upstash-Redact-Fields': 'header[X-Pass]' },
        });
        for (const failed of [1, 2]) { // time passes between the attempts, never during one: its times are looked at below
            await until(`attempt ${failed} has failed`, () => db.count('message', `attempt = ${failed} AND owner IS NULL`));
            await server.advance(1000);
        }
        const { data: [line] } = await until('it is dead', async () => {
            const page = await list(server, '?kind=qstash.deliver');
            return page.data.length && page;
        });
        assert.deepEqual([line.ref, asHex(line.id)], [messageId, messageId.slice(4)]);

        const { body: letter } = await show(server, line.id);
        const { payload } = letter;
        assert.deepEqual(
            [payload.messageId, payload.method, payload.url, payload.body, payload.queueName, payload.flowControlKey, payload.labels],
            [messageId, 'POST', `${got.url}/in?***`, '{"n":"請求"}', 'bills', 'shop', ['night']]);
        assert.deepEqual(payload.header['X-Shop'], ['s1']);
        assert.match(payload.header['X-Pass'][0], /^REDACTED:[0-9a-f]{64}$/);
        assert.deepEqual(letter.failures.map((one) => [one.attempt, one.status, one.error]),
            [[1, 500, 'answered 500'], [2, 503, 'answered 503'], [3, 404, 'answered 404']]);
        const [first, second, third] = letter.failures;
        assert.equal(first.responseBody, 'no room');
        assert.deepEqual(second.responseBodyBinary, binary(Buffer.from([0xff, 0x00, 0xfe])));
        assert.match(third.responseBody, /^長+$/, 'cut between two characters');
        assert.ok(Buffer.byteLength(third.responseBody) > 4000 && Buffer.byteLength(third.responseBody) <= 4096);
        assert.ok(Date.parse(letter.diedAt) - Date.parse(third.at) < 1000, 'died of the last one');

        assert.deepEqual((await show(server, messageId)).body, letter);
        assert.deepEqual(await dlqJson(db, ['show', messageId]), letter);
        const text = (await dlqFine(db, ['show', messageId])).stdout;
        assert.match(text, /^payload +\{.*"url":"http:\/\/127\.0\.0\.1:\d+\/in\?\*\*\*"/m);
        assert.match(text, /^ {4}1 {2}\S+Z {2}answered 500\n {7}no room$/m);
        assert.ok(!text.includes('hidden-one'));
        for (const wrong of [messageId.toUpperCase(), messageId.slice(0, -1), 'msg_x']) {
            const { status, body } = await show(server, wrong);
            assert.deepEqual([status, body.errors[0].field], [400, 'id'], wrong);
        }
        const nobody = `msg_${asHex(uuid())}`;
        assert.equal((await show(server, nobody)).status, 404);
        assert.equal((await server.call('DELETE', `${DLQ}/${nobody}`, { as: 'admin' })).status, 404);

        assert.equal((await act(server, 'retry', { ids: [messageId], dryRun: true })).body.matched, 1);
        assert.equal((await server.call('POST', `${DLQ}/${messageId}/retry`, { as: 'admin' })).status, 200);
        const again = await until('it is dead again, under a new id', async () => {
            await server.advance(1000);
            return (await list(server)).data[0];
        });
        assert.notEqual(again.ref, messageId);
        assert.equal((await show(server, again.ref)).body.payload.webhookId, messageId);
        assert.equal((await show(server, messageId)).status, 404);

        const whole = (await show(server, again.ref)).body;
        await server.stop();
        assert.deepEqual(await dlqJson(db, ['show', again.ref]), whole, 'the same without a server');
        assert.match((await dlqFine(db, ['delete', again.ref])).stdout, /^1 of 1 dead letter deleted$/m);
        assert.equal(await db.count('dead_letters'), 0);
        assert.equal(await db.count('qstash_dead'), 0);
    });

    test('Q6 a large dead delivery is shown whole, or by its length and hash where it is no text', async (t) => {
        const server = await start(t, store);
        const got = await refusing(t, [[489, '']], { 'Upstash-NonRetryable-Error': 'true' });
        const bodies = [Buffer.alloc(1024 * 1024, 0), Buffer.alloc(1024 * 1024, '"'), Buffer.alloc(1024 * 1024, 'a\n')];
        for (const body of bodies) await sdk(server).publish({ url: got.url, body });
        const { data } = await until('all are dead', async () => {
            const page = await list(server);
            return page.data.length === bodies.length && page;
        });
        for (const { ref } of data) {
            const { payload, failures } = await dlqJson(server.db, ['show', ref]);
            if (payload.bodyBinary) assert.deepEqual(payload.bodyBinary, binary(bodies[0]));
            else assert.ok(bodies.some((one) => one.equals(Buffer.from(payload.body))));
            assert.deepEqual(failures.map((one) => [one.attempt, one.status, one.responseBody]), [[1, 489, undefined]]);
        }
    });

    test('Q6 the last answer outlives the log', async (t) => {
        const server = await start(t, store);
        const got = await refusing(t, [[489, 'never']], { 'Upstash-NonRetryable-Error': 'true' });
        const { messageId } = await sdk(server).publishJSON({ url: got.url, body: {} });
        const letter = await until('it is dead', async () => {
            const { status, body } = await show(server, messageId);
            return status === 200 && body;
        });
        assert.deepEqual(letter.failures.map((one) => [one.attempt, one.status, one.responseBody]), [[1, 489, 'never']]);
        letter.failures[0].at = letter.diedAt;
        await server.db.all('DELETE FROM qstash_log');
        assert.deepEqual((await show(server, messageId)).body, letter);
    });

    test(`Q6 ${MANY} dead letters are retried with a line of progress`, async (t) => {
        const server = await start(t, store);
        await fill(server.db, MANY);
        const got = await dlqFine(server.db, ['retry', '--kind', 'stripe.event']);
        assert.match(got.stdout, new RegExp(`^${MANY} of ${MANY} dead letters retried$`, 'm'));
        assert.match(got.stderr, new RegExp(`^\\d+ of ${MANY} retried, \\d+/s, \\d+ remain$`, 'm'));
        assert.match(got.stderr, new RegExp(`^${MANY} of ${MANY} retried, \\d+/s, 0 remain$`, 'm'));
        await until('all ran', async () => (await where(server.db)).ended === MANY, 60_000);
        assert.deepEqual(await events(server.db), []);
        assert.equal(await agrees(server.db), 0);
        assert.equal(await server.db.count('audit', `operation = 'DLQ_RETRY'`), MANY);
    });

    test('Q6 kill -9 of the command line during a bulk retry loses nothing', async (t) => {
        const db = await fresh(t, store);
        await (await start(t, store, { db })).stop();
        await fill(db, MANY);
        const doing = dlq(db, ['retry', '--all']);
        await new Promise((resolve) => {
            doing.child.on('said', () => /remain/.test(doing.said.stderr) && resolve());
            doing.then(resolve);
        });
        doing.child.kill('SIGKILL');
        await doing;
        const left = await until('the store is free', () => where(db));
        assert.ok(left.live > 0, 'it had begun');
        assert.equal(left.dead + left.live, MANY);
        assert.equal(await agrees(db), left.dead);
        if (left.dead) assert.equal((await dlqJson(db, ['retry', '--all'])).done, left.dead);
        assert.deepEqual(await where(db), { dead: 0, live: MANY, ended: 0 });
    });

    test('Q6 kill -9 of the server during a bulk retry loses nothing', async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db });
        await fill(db, MANY);
        const doing = act(server, 'retry', { all: true, limit: MANY }).catch(() => undefined);
        await until('some are live or ended', async () => {
            const { live, ended } = await where(db);
            return live + ended;
        });
        await server.kill();
        await doing;
        const left = await where(db);
        assert.equal(left.dead + left.live + left.ended, MANY, JSON.stringify(left));
        assert.equal(await agrees(db), left.dead);
        const second = await start(t, store, { db });
        if (left.dead) assert.equal((await act(second, 'retry', { all: true, limit: MANY })).body.done, left.dead);
        await until('all ended', async () => (await where(db)).ended === MANY, 60_000);
        assert.equal(await agrees(db), 0);
    });
});

forEachStore((store, test) => {
    if (store.kind !== 'sqlite') return;

    test('Q6 the command line says what is missing', async (t) => {
        const db = await fresh(t, store, { empty: true });
        const nothing = await dlq(db, ['list']);
        assert.equal(nothing.code, 1);
        assert.match(nothing.stderr, /there is no database at .*ICHIDO_DB says where it is/);
        assert.ok(!fs.existsSync(db.file), 'looking makes no database');
        const server = await start(t, store, { db });
        await fill(db, 2);
        const bare = await dlq(db, ['list'], { env: { ICHIDO_ADMIN_TOKEN: undefined } });
        assert.equal(bare.code, 1);
        assert.match(bare.stderr, new RegExp(`the server at 127\\.0\\.0\\.1:${server.port} has the database.*ICHIDO_ADMIN_TOKEN is not set`));
        const other = await dlq(db, ['list'], { env: { ICHIDO_ADMIN_TOKEN: 'somebody-elses-token-0123456789' } });
        assert.equal(other.code, 1);
        assert.match(other.stderr, /the server refused ICHIDO_ADMIN_TOKEN \(401\)/);
        const wrong = [
            [[], /needs list, groups, show, retry or delete/], [['purge'], /purge is not list, groups, show/], [['retry'], /say which dead letters/],
            [['delete'], /say which dead letters/], [['retry', '--all', '--kind', 'a'], /exclude each other/], [['retry', 'x'], /is not the whole id of a dead letter/],
            [['list', '--kinds', 'a'], /--kinds is not an option/], [['list', '--kind'], /--kind needs/], [['list', '--kind', ''], /--kind needs/],
            [['list', '--kind', 'a', '--kind=b'], /may be given once/], [['list', '--event', 'a', '--ref', 'b'], /may be given once/],
            [['list', '--from', 'yesterday'], /--from needs a time/], [['list', '--from', '1h', '--to', '2h'], /--to must be later/],
            [['list', '--dry-run'], /does not go with this command/], [['retry', '--all', '--yes'], /does not go with this command/],
            [['show'], /needs the id of one dead letter/], [['show', uuid(), uuid()], /needs the id of one dead letter/], [['retry', '--payment', 'x', '--all'], /UUID of a payment/],
            [['list', '--limit', '0'], /--limit needs/], [['list', uuid()], /is unexpected/], [['retry', '--all=yes'], /takes no value/],
        ];
        for (const [args, words] of wrong) {
            const got = await dlq(db, args);
            assert.equal(got.code, 2, `${args}: ${got.stdout}${got.stderr}`);
            assert.match(got.stderr, words);
        }
        const help = await dlq(db, ['--help']);
        assert.equal(help.code, 0);
        assert.match(help.stdout, /qstash\.deliver[^.]*new id/);
        assert.equal(await agrees(db), 2);
    });

    test('Q6 the command line knows a server with TLS by its certificate', async (t) => {
        const db = await fresh(t, store);
        const make = async (name) => {
            const [key, cert] = [path.join(db.folder, `${name}.key`), path.join(db.folder, `${name}.pem`)];
            await run('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key,
                '-out', cert, '-days', '2', '-subj', '/CN=pay.example.com']);
            return { ICHIDO_TLS_CERT: cert, ICHIDO_TLS_KEY: key };
        };
        const [own, other] = [await make('own'), await make('other')];
        await start(t, store, { db, env: own });
        await fill(db, 2);
        assert.equal((await dlqLines(db, ['list'], { env: own })).length, 2);
        const stranger = await dlq(db, ['list'], { env: other });
        assert.equal(stranger.code, 1);
        assert.match(stranger.stderr, /does not answer: .*(pin|SSL)/i);
    });
});
