// All that happened to one payment in one list (O7): calls, replays, tries towards the gateway, events with their
// duplicates, tries of the queue, dead letters, notifications, operators' acts, and how the payment moved.
import { spawn } from 'node:child_process';
import os from 'node:os';
import { Collection, payOnPage } from './lib/collections.mjs';
import { dies, DLQ, hide } from './lib/dlq.mjs';
import { captureThere, eventOf, now, silent, tell } from './lib/events.mjs';
import { record } from './lib/evidence.mjs';
import { ADMIN_TOKEN, asHex, assert, forEachStore, PROGRAM, programEnv, SECRET, start, token, until, uuid } from './lib/harness.mjs';
import { bought, campaign, DECLINED, quiet } from './lib/purchases.mjs';
import { mailServer } from './lib/smtp.mjs';

const INTENTS = '/v1/payment_intents';
const MANY = 10_000;
const DAY = 24 * 3600_000;
const LANES = ['call', 'replay', 'gateway', 'webhook', 'queue', 'notification', 'operator', 'state'];

const path = (id) => `/api/v1/admin/payments/${id}/timeline`;
const ask = (server, id, options = {}) => server.call('GET', path(id), { as: 'admin', ...options });
async function timeline(server, payment) {
    const answer = await ask(server, payment.id ?? payment);
    assert.equal(answer.status, 200, answer.text);
    const times = answer.body.entries.map((one) => Date.parse(one.at));
    assert.deepEqual(times, [...times].sort((a, b) => a - b), 'the oldest first');
    return answer.body;
}
const entries = async (server, payment) => (await timeline(server, payment)).entries;
// "lane kind result", and how often where it was more than once.
const told = (list) => list.map((one) => `${one.lane} ${one.kind} ${one.result}${one.times > 1 ? ` x${one.times}` : ''}`);
const ofLane = (list, lane) => list.filter((one) => one.lane === lane);
const money = (list) => told(list.filter((one) => !one.kind.startsWith('transaction') && one.lane !== 'notification'));

const replays = (server) => server.db.table('replays');
const flushed = (server, times) => until(`${times} replays are written`, async () => {
    const sum = (await replays(server)).reduce((n, row) => n + Number(row.times), 0);
    if (sum < times) await server.advance(10_000);
    return sum === times;
});
const commits = async (server) => (await server.metrics()).get('ichido_store_commits_total');

// The command line; `terminal`: at one, as `script` makes it.
function cli(db, args, { env = {}, terminal = false } = {}) {
    const given = {
        ...programEnv, ICHIDO_DB: db.url, ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN,
        STRIPE_WEBHOOK_SECRET: SECRET, TERM: 'xterm', SHELL: '/bin/sh', ...env,
    };
    const words = [PROGRAM, 'payments', 'timeline', ...args];
    const [command, ...rest] = terminal ? ['script', '-qefc', words.join(' '), '/dev/null'] : words;
    const child = spawn(command, rest, { cwd: os.tmpdir(), env: given, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
        child[name].setEncoding('utf8').on('data', (part) => {
            record(part);
            said[name] += part;
        });
    return new Promise((resolve) => { child.on('close', (code) => resolve({ ...said, code })); });
}
// Cells of a terminal: a Japanese character takes two.
const cells = (text) => [...text].reduce((n, one) => n + (/[\u3000-\u9fff\uff00-\uff60]/.test(one) ? 2 : 1), 0);

forEachStore((store, test) => {
    test('O7 one list has a failed try, replays, events twice and late, a refund by an operator, and what was moved by them', async (t) => {
        const server = await silent(t, store);
        await server.fault({ path: INTENTS, method: 'POST', statusBefore: 500, times: 1 });
        const key = uuid();
        const { booking, ...payment } = await server.paid({ key });
        for (let i = 0; i < 3; i++) assert.equal((await server.pay(booking, { key })).headers['idempotent-replayed'], 'true');
        await flushed(server, 3);
        const early = await eventOf(server, payment, 'payment_intent.amount_capturable_updated');
        await captureThere(server, payment);
        const news = await eventOf(server, payment, 'payment_intent.succeeded');
        await tell(server, news);
        for (let i = 0; i < 2; i++) assert.equal((await server.deliver(news)).status, 204);
        await server.advance(5);
        await tell(server, early);
        const refund = await server.refund(payment, 200, { as: 'admin', reason: 'broken cup' });
        assert.equal(refund.status, 200, refund.text);

        const list = await entries(server, payment);
        assert.deepEqual(money(list).filter((one) => !one.startsWith('gateway fetch')), [
            'call create ok', 'state PaymentCreated ok', 'gateway authorize retried', 'gateway authorize ok',
            'state PaymentAuthorized ok', 'replay replay duplicate x3', 'webhook event ok', 'state PaymentCaptured ok',
            'webhook duplicate duplicate x2', 'webhook event superseded', 'operator refund ok', 'state refund_asked ok',
            'gateway refund ok', 'state refund ok', 'state PaymentRefunded ok',
        ]);
        for (const one of list) {
            assert.ok(LANES.includes(one.lane));
            assert.match(one.titleJa, /[ぁ-んァ-ヶ一-龠]/, one.titleJa);
            assert.match(one.title, /^[\x20-\x7e]+$/, one.title);
        }
        const [first, second] = ofLane(list, 'gateway');
        assert.deepEqual([first.detail.outcome, first.detail.status, first.detail.try], ['uncertain', 500, 1]);
        assert.deepEqual([second.detail.outcome, second.detail.status, second.detail.try], ['ok', 200, 2]);
        assert.ok(Number.isInteger(first.ms) && first.ms >= 0);
        const [call] = ofLane(list, 'call');
        assert.deepEqual([call.detail.by, call.detail.idempotencyKey, call.ref], ['owner', key, first.ref]);
        const [again] = ofLane(list, 'replay');
        assert.deepEqual([again.ref, again.detail.operation], [call.ref, 'create']);
        const [act] = ofLane(list, 'operator');
        assert.deepEqual([act.detail.by, act.detail.amount], ['admin token', 200]);
        const events = ofLane(list, 'webhook');
        assert.deepEqual(events.map((one) => one.ref), [news.id, news.id, early.id]);
        assert.equal(list.find((one) => one.kind === 'refund' && one.lane === 'state').detail.reason, 'broken cup');
        assert.deepEqual(await entries(server, payment), list, 'the same again');
    });

    test('O7 a replay has a line of its own, and what became of the event before stays', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        await captureThere(server, payment);
        const news = await eventOf(server, payment, 'payment_intent.succeeded');
        await tell(server, news);
        const event = (list) => list.find((one) => one.lane === 'webhook' && one.ref === news.id);
        const before = event(await entries(server, payment));
        assert.equal(before.result, 'ok');
        await server.advance(60_000);
        for (const n of [1, 2]) {
            const answer = await server.call('POST', '/api/v1/admin/replays', { as: 'admin', body: { eventId: news.id, ratePerSecond: 10 } });
            assert.equal(answer.status, 202, answer.text);
            const ended = await until('it has an end', async () => {
                await server.advance(100);
                const rows = ofLane(await entries(server, payment), 'operator').filter((one) => one.kind === 'event_replay' && one.result !== 'waiting');
                return rows.length === n && rows;
            });
            const last = ended.at(-1);
            assert.ok(['ok', 'superseded'].includes(last.result), last.result);
            assert.deepEqual([last.ref, last.detail.by, last.detail.was, last.detail.replay], [news.id, 'admin token', 'applied', answer.body.id]);
            assert.deepEqual(event(await entries(server, payment)), before, 'the first time stays');
        }
    });

    test('O7 what changes stands where it began and where it became what it is', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        await server.advance(60_000);
        await captureThere(server, payment);
        await tell(server, await eventOf(server, payment, 'payment_intent.succeeded'));
        const list = await entries(server, payment);
        const at = (lane, kind) => list.findIndex((one) => one.lane === lane && one.kind === kind);
        assert.ok(at('state', 'transaction_made') >= 0 && at('state', 'transaction_made') < at('webhook', 'event'), told(list).join());
        const made = list[at('state', 'transaction_made')], now = list[at('state', 'transaction')];
        assert.deepEqual([made.detail.received, made.ref], [undefined, now.ref]);
        assert.match(now.title, /: succeeded$/);
        assert.ok(Date.parse(now.at) - Date.parse(made.at) >= 60_000);
    });

    test('O7 a decline and the cancel behind it are two lines, and the call has failed', async (t) => {
        const server = await silent(t, store);
        const booking = await server.booking();
        const answer = await server.pay(booking, { paymentMethod: DECLINED });
        const list = await entries(server, answer.body);
        assert.deepEqual(money(list), ['call create failed', 'state PaymentCreated ok', 'gateway authorize failed', 'gateway void ok',
            'state PaymentFailed failed']);
        const [declined] = ofLane(list, 'gateway');
        assert.deepEqual([declined.detail.outcome, declined.detail.status, declined.detail.code], ['declined', 402, 'card_declined']);
        assert.match(ofLane(list, 'call')[0].detail.reason, /declined/);
    });

    test('O7 a lost reply is unknown, then what was asked for says what it was', async (t) => {
        const server = await silent(t, store);
        await server.fault({ path: INTENTS, method: 'POST', dropAfter: true, times: 1000 });
        await server.fault({ path: INTENTS, method: 'GET', statusBefore: 500, times: 1000 });
        const booking = await server.booking();
        const lost = await server.pay(booking);
        assert.equal(lost.status, 502, lost.text);
        const id = lost.body.paymentId;
        const open = await entries(server, id);
        assert.deepEqual(money(open), ['call create unknown', 'state PaymentCreated ok', 'gateway authorize retried',
            'gateway authorize unknown']);
        assert.deepEqual(ofLane(open, 'gateway').map((one) => one.detail.status ?? null), [null, null], 'no answer came');
        await server.healed();
        await until('it is known', async () => {
            await server.advance(30_000);
            return (await server.payment(id, 'admin')).body.status === 'AUTHORIZED';
        }, 60_000);
        const list = await entries(server, id);
        assert.equal(told(ofLane(list, 'call'))[0], 'call create ok');
        const fetches = list.filter((one) => one.kind === 'fetch');
        assert.equal(told(fetches).at(-1), 'gateway fetch ok');
        assert.equal(fetches.at(-1).ref, ofLane(list, 'call')[0].ref);
        assert.equal(told(list.filter((one) => !one.kind.startsWith('transaction') && one.lane === 'state')).at(-1), 'state PaymentAuthorized ok');
    });

    test('O7 a dead letter has its tries, its death, and who called it back', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        await captureThere(server, payment);
        const news = await eventOf(server, payment, 'payment_intent.succeeded');
        const comesBack = await hide(server.db, payment);
        const dead = await dies(server, news);
        await comesBack();
        const before = await entries(server, payment);
        const four = Array(4).fill('queue try failed');
        assert.deepEqual(told(before.filter((one) => ['queue', 'webhook'].includes(one.lane))),
            ['webhook event dead', ...four, 'queue dead_letter dead']);
        const letter = before.find((one) => one.kind === 'dead_letter');
        assert.deepEqual([letter.ref, letter.detail.reason, letter.detail.attempts], [dead.id, 'no such payment yet', 4]);

        assert.equal((await server.call('POST', `${DLQ}/${dead.id}/retry`, { as: 'admin' })).status, 200);
        await server.settled(news.id);
        const after = await entries(server, payment);
        assert.deepEqual(told(after.filter((one) => ['queue', 'webhook'].includes(one.lane))),
            ['webhook event ok', ...four, 'queue dead_letter dead', 'queue retry retried']);
        assert.deepEqual(after.filter((one) => one.kind === 'try').map((one) => [one.detail.attempt, one.detail.error]),
            [1, 2, 3, 4].map((n) => [n, 'no such payment yet']));
        assert.equal(after.filter((one) => one.kind === 'PaymentCaptured').length, 1);
    });

    test('O7 a notification is told with its channel and without its address', async (t) => {
        const smtp = await mailServer(t);
        const server = await start(t, store, {
            env: { ICHIDO_SMTP_URL: smtp.url, ICHIDO_MAIL_FROM: 'pay@shop.example', ICHIDO_SANDBOX_WEBHOOKS: 'off' },
        });
        const user = uuid();
        const put = await server.call('PUT', `/api/v1/users/${user}`, { as: user, body: { email: 'hanako.secret@example.jp' } });
        assert.equal(put.status, 201, put.text);
        const payment = await server.paid({}, { userId: user });
        const list = await until('the mail is sent', async () => {
            const all = await entries(server, payment);
            return all.some((one) => one.lane === 'notification' && one.result === 'ok') && all;
        });
        const [mail] = ofLane(list, 'notification');
        assert.deepEqual([mail.detail.type, mail.detail.channel, mail.detail.target], ['payment_authorized', 'mail', 'h***@example.jp']);
        assert.ok(!JSON.stringify(list).includes('hanako'));
    });

    test('O7 a purchase and a participant have one too; what only we did is in the queue\'s lane', async (t) => {
        const server = await start(t, store);
        const { positions: [position] } = await campaign(server);
        const { payment } = await bought(server, position, { method: 'pm_card_visa' });
        await until('it is captured', async () => (await now(server, payment)).status === 'CAPTURED');
        const list = await until('its events are there', async () => {
            const all = await entries(server, payment);
            return all.some((one) => one.lane === 'webhook' && one.result === 'ok') && all;
        });
        assert.equal(told(list)[0], 'call create ok');
        assert.ok(told(list).includes('gateway authorize ok') && told(list).includes('state PaymentCaptured ok'), told(list).join());

        const collection = await Collection.make(server);
        const { payment: owed, checkout } = await collection.session();
        await payOnPage(server, checkout);
        const paid = await until('it is paid', async () => {
            const all = await entries(server, owed);
            return told(all).includes('state PaymentCaptured ok') && all;
        });
        assert.ok(told(paid).includes('gateway checkout ok'));

        const gone = await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' });
        await server.advance(61 * 60_000);
        const left = await until('it is cancelled', async () => {
            const all = await entries(server, gone);
            if (!told(all).includes('queue automatic_void ok')) await server.advance(1000);
            return told(all).includes('queue automatic_void ok') && all;
        });
        assert.equal(left.find((one) => one.kind === 'automatic_void').detail.cause, 'abandoned');
    });

    test('O7 replays write nothing; their sum is written within ten seconds and at a graceful stop', async (t) => {
        const server = await silent(t, store);
        const key = uuid();
        const { booking, ...payment } = await server.paid({ key });
        await quiet(server, { fees: true }); // what the payment itself has to do is committed
        await server.pay(booking, { key });
        const before = await commits(server);
        const answers = await Promise.all(Array.from({ length: 40 }, () => server.pay(booking, { key })));
        assert.ok(answers.every((one) => one.headers['idempotent-replayed'] === 'true'));
        assert.equal((await replays(server)).length, 0, 'in memory only');
        assert.equal(await commits(server), before);
        await flushed(server, 41);
        for (let i = 0; i < 5; i++) await server.pay(booking, { key });
        await server.stop();
        const [row] = await replays(server);
        assert.deepEqual([Number(row.times), row.operation, row.payment_id], [46, 'create', asHex(payment.id)]);
        const again = await start(t, store, { db: server.db });
        const [one] = ofLane(await entries(again, payment), 'replay');
        assert.deepEqual([one.times, one.result, one.ref], [46, 'duplicate', ofLane(await entries(again, payment), 'call')[0].ref]);
        assert.ok(Date.parse(one.endedAt) >= Date.parse(one.at));
    });

    test('O7 two hundred requests with one new key are one call and 199 replays', async (t) => {
        const server = await silent(t, store);
        const [booking, key] = [await server.booking(), uuid()];
        const answers = await Promise.all(Array.from({ length: 200 }, () => server.pay(booking, { key })));
        const [{ body }] = answers;
        assert.equal(answers.filter((one) => one.headers['idempotent-replayed'] === 'true').length, 199);
        await flushed(server, 199);
        const list = await entries(server, body);
        assert.deepEqual([told(ofLane(list, 'call')), told(ofLane(list, 'replay')), told(ofLane(list, 'gateway'))],
            [['call create ok'], ['replay replay duplicate x199'], ['gateway authorize ok']]);
    });

    test('O7 ten thousand events of one payment are two hundred lines, and it says so', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        const { db } = server;
        const sqlite = store.kind === 'sqlite';
        const numbers = sqlite ? `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY}) SELECT i FROM n)`
            : `(SELECT generate_series(1, ${MANY}) AS i)`;
        const id = sqlite ? `CAST(substr('0000000000000000' || i, -16) AS BLOB)` : `convert_to(lpad(i::text, 16, '0'), 'UTF8')`;
        const empty = sqlite ? `x''` : `''::bytea`;
        const at = 1_760_000_000_000;
        await db.all(`INSERT INTO webhook_events (provider, stripe_event_id, type, received_at, message_id, request_id, trace, body)
            SELECT 'stripe', 'evt_many_' || i, 'charge.updated', ${at} + i, ${id}, '', '', ${empty} FROM ${numbers} n`);
        await db.all(`INSERT INTO webhook_outcomes (message_id, outcome, at, payment_id, event_id)
            SELECT ${id}, 'ignored', ${at} + i, ${db.blob(asHex(payment.id))}, 'evt_many_' || i FROM ${numbers} n`);
        await db.all(`INSERT INTO webhook_duplicates (stripe_event_id, times, last_at)
            SELECT 'evt_many_' || i, i, ${at} + i FROM ${numbers} n`);
        const body = await timeline(server, payment);
        assert.equal(body.truncated, true);
        const events = body.entries.filter((one) => one.kind === 'event');
        assert.equal(events.length, 200);
        assert.deepEqual([events[0].ref, events.at(-1).ref], [`evt_many_${MANY - 199}`, `evt_many_${MANY}`], 'the newest');
        assert.equal(body.entries.filter((one) => one.kind === 'duplicate').length, 200);
        assert.ok(told(body.entries).includes('call create ok'), 'other sources are whole');
    });

    test('O7 hostile text stays text, without cards and addresses', async (t) => {
        const server = await silent(t, store);
        const payment = await server.captured();
        const evil = '<script>alert(1)</script>"\\\u001b[31m\u202e taro@example.jp 4242 4242 4242 4242';
        assert.equal((await server.refund(payment, 100, { reason: evil })).status, 200);
        const answer = await ask(server, payment.id);
        const line = answer.body.entries.find((one) => one.lane === 'state' && one.kind === 'refund');
        assert.ok(line.detail.reason.startsWith('<script>alert(1)</script>"\\\u001b[31m'), line.detail.reason);
        assert.match(line.detail.reason, /\*{4}@example\.jp \*+.*4242$/);
        assert.ok(!/taro|4242 4242/.test(answer.text), answer.text);
        assert.equal(answer.headers['content-type'], 'application/json');
    });

    test('O7 after kill -9 in the middle of an operation the timeline is there, and goes on', async (t) => {
        const server = await silent(t, store);
        const key = uuid();
        const { booking, ...payment } = await server.paid({ key });
        await server.pay(booking, { key });
        await server.fault({ path: `${INTENTS}/*/capture`, method: 'POST', delayMs: 5000, times: 1 });
        const capturing = server.capture(payment).catch(() => {});
        await until('it is on its way', () => server.db.count('operations', `kind = 'capture'`));
        await server.kill();
        await capturing;
        const again = await start(t, store, { db: server.db, env: { ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
        const open = await entries(again, payment);
        assert.deepEqual(told(open).filter((one) => /^(call|state Payment)/.test(one)).slice(0, 4),
            ['call create ok', 'state PaymentCreated ok', 'state PaymentAuthorized ok',
                told(open).find((one) => one.startsWith('call capture'))]);
        assert.deepEqual(ofLane(open, 'replay'), [], 'a crash loses counts only');
        await until('it is captured', async () => {
            await again.advance(5000);
            return (await now(again, payment)).status === 'CAPTURED';
        }, 60_000);
        assert.ok(told(await entries(again, payment)).includes('call capture ok'));
    });

    test('O7 tries and replays go after ICHIDO_RETENTION_DAYS, the rest of the timeline stays', async (t) => {
        const server = await silent(t, store, { ICHIDO_RETENTION_DAYS: '30' });
        const key = uuid();
        const { booking, ...payment } = await server.paid({ key });
        await server.pay(booking, { key });
        await flushed(server, 1);
        await server.void(payment);
        const tries = ({ id }) => server.db.count('gateway_attempts', `payment_id = ${server.db.blob(asHex(id))}`);
        assert.deepEqual([await tries(payment), await server.db.count('replays')].map(Number), [2, 1]);
        await server.advance(29 * DAY);
        const young = await server.captured();
        await until('it has looked', async () => /^\d+ [1-9]/.test((await server.db.all(`SELECT body FROM message WHERE kind = 'events.forget'`))[0].body ?? ''));
        assert.equal(Number(await tries(payment)), 2, 'not yet');
        await server.advance(2 * DAY);
        await until('they are gone', async () => Number(await tries(payment)) === 0 && Number(await server.db.count('replays')) === 0);
        const list = await entries(server, payment);
        assert.deepEqual(money(list).filter((one) => !one.startsWith('webhook')), ['call create ok', 'state PaymentCreated ok',
            'state PaymentAuthorized ok', 'call void ok', 'state PaymentVoided ok']);
        assert.equal(Number(await tries(young)), 2);
    });

    test('O7 the command line shows the same with a server and without, in colours only at a terminal', async (t) => {
        const server = await silent(t, store);
        const payment = await server.captured();
        await server.refund(payment, 100, { reason: '\u001b[31mevil\u202e 日本語' });
        const { entries: list } = await timeline(server, payment);
        const first = await cli(server.db, [payment.id, '--json']);
        assert.equal(first.code, 0, first.stderr);
        const asked = JSON.parse(first.stdout);
        assert.deepEqual(asked.entries, list);
        await server.stop();
        const alone = await cli(server.db, [payment.id, '--json']);
        assert.deepEqual(JSON.parse(alone.stdout).entries, list, alone.stderr);

        const plain = await cli(server.db, [payment.id]);
        const lines = plain.stdout.trimEnd().split('\n').map((one) => one.split('\t'));
        assert.deepEqual(lines.map((one) => one.slice(0, 4)), list.map((one) => [one.at, one.lane, one.kind, one.result]));
        assert.ok(!plain.stdout.includes('\u001b') && !plain.stdout.includes('\u202e'));
        assert.match(plain.stdout, /reason=\?\[31mevil\? 日本語/);

        const seen = await cli(server.db, [payment.id], { terminal: true, env: { LANG: 'ja_JP.UTF-8' } });
        assert.match(seen.stdout, /\u001b\[32mok {8} {2}\u001b\[0m/);
        const calm = await cli(server.db, [payment.id], { terminal: true, env: { LANG: 'ja_JP.UTF-8', NO_COLOR: '1' } });
        assert.ok(!calm.stdout.includes('\u001b'));
        const rows = calm.stdout.replaceAll('\r', '').trimEnd().split('\n');
        assert.match(rows[0], /^日時 \(UTC\) +種別 +結果 +内容$/);
        assert.equal(cells(rows[0].split('内容')[0]), cells(rows[1].split('支払いの作成')[0]), 'it lines up');
        assert.ok(rows.every((one) => cells(one) <= 120));
        assert.equal(rows.length, list.length + 1);
        const none = await cli(server.db, [uuid()]);
        assert.equal(none.code, 1);
        assert.match(none.stderr, /no such payment/);
    });

    test('O7 who may not look sees nothing, and what is not there is 404', async (t) => {
        const server = await silent(t, store);
        const { booking, ...payment } = await server.paid();
        const status = async (id, options) => (await ask(server, id, options)).status;
        assert.equal(await status(uuid()), 404);
        assert.equal(await status('nonsense'), 400);
        assert.equal(await status(payment.id, { as: booking.userId }), 403);
        assert.equal(await status(payment.id, { as: undefined, bearer: token(uuid(), 'service') }), 403);
        assert.equal(await status(payment.id, { as: undefined }), 401);
        assert.equal(await status(payment.id, { as: undefined, bearer: token(uuid(), 'admin') }), 200);
        assert.equal((await server.call('GET', `${path(payment.id)}?limit=1`, { as: 'admin' })).status, 400);
        const of = await server.call('GET', `/api/v1/admin/events?paymentId=${payment.id}`, { as: 'admin' });
        assert.deepEqual([of.status, of.body.data], [200, []]);
    });
});
