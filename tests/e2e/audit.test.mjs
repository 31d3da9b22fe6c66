// The audit log (O6): one row for every money operation and every act of a person, with who did it; sealed into a chain
// behind the payments; what somebody does to it past the server is found and named, by the API and by the command line.
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { AUDIT, cli, disarm, notSealing, page, rows, sealed, TICK, verify } from './lib/audit.mjs';
import { remember } from './lib/evidence.mjs';
import { DLQ, dies, dlqFine, orphan } from './lib/dlq.mjs';
import { assert, forEachStore, fresh, JWT_SECRET, launch, PROGRAM, programEnv, start, stores, test, token, until, uuid } from './lib/harness.mjs';
import { bank, lines, owes } from './lib/transfers.mjs';

// Every way to change something below /api/v1/admin, and where its row is proved. A new one must be added here with its test.
const ACTS = {
    here: ['POST /subscribers', 'DELETE /subscribers/{id}', 'POST /reconciliations/{day}', 'POST /dlq/{id}/retry', 'DELETE /dlq/{id}',
        'POST /transfers/imports', 'POST /transfers/{id}/confirm', 'POST /transfers/lines/{id}/assign', 'POST /transfers/lines/{id}/set-aside'],
    'dlq.test.mjs': ['POST /dlq/retry', 'POST /dlq/delete'],
    'transfers.test.mjs': ['POST /transfers/returns/{id}/paid', 'POST /refunds/{id}/paid'],
    'login.test.mjs': ['POST /login', 'POST /logout', 'POST /session/password', 'POST /operators', 'PATCH /operators/{id}'],
    'redrive.test.mjs': ['POST /redrives', 'POST /redrives/{id}/cancel', 'POST /replays'],
    'admin_payments.test.mjs': ['POST /payments/{id}/capture', 'POST /payments/{id}/refund', 'POST /payments/{id}/void'],
    'admin_live.test.mjs': ['POST /queues/{name}/pause', 'POST /queues/{name}/resume', 'POST /schedules/{id}/pause', 'POST /schedules/{id}/resume',
        'POST /sandbox/payments', 'PUT /sandbox/faults', 'DELETE /sandbox/faults', 'POST /sandbox/events'],
};

// The same for what service and admin may do elsewhere: acts with a row of their own (here), those whose row is the money's own
// ("every money operation has exactly one row"), and what is no act of a person.
const ACTS_FOR_OTHERS = ['PUT /api/v1/bookings/{id}', 'POST /api/v1/events', 'PUT /api/v1/users/{id}', 'DELETE /api/v1/users/{id}',
    'PUT /api/v1/collections/{id}', 'PUT /api/v1/campaigns/{id}', 'POST /api/v1/campaigns/{id}/cancel'];
const MONEY_ACTS = ['POST /payments', 'POST /payments/{id}/capture', 'POST /payments/{id}/refund', 'POST /payments/{id}/void',
    'POST /api/v1/positions/{id}/purchase', 'POST /api/v1/purchases/{id}/cancel', 'POST /api/v1/participants/{id}/checkout'];
const NOBODYS = ['POST /api/v1/webhooks/stripe', 'POST /api/v1/webhooks/paypay', 'POST /api/workers/stripe-webhook', 'POST /test/clock'];

const EVENTS_SECRET = `whsec_${crypto.randomBytes(32).toString('base64')}`;
remember(EVENTS_SECRET);
remember('a long enough secret 3');

const DAY = 24 * 3600 * 1000;
const ZERO = '00000000-0000-0000-0000-000000000000';
const MONEY = ['CREATE', 'CAPTURE', 'REFUND', 'VOID'];

const money = async (server, payment) => (await rows(server, { paymentId: payment.id })).reverse()
    .filter((row) => MONEY.includes(row.operation));
// A receipt follows each capture, by webhook: then nothing comes any more.
const receipts = (server, n) => until(`${n} receipts`, async () => (await server.db.count('audit', `operation = 'RECEIPT'`)) >= n);
const brief = (row) => [row.operation, row.result, row.amount, row.userId, row.idempotencyKey];

// The chain as docs/audit.md says, by other hands than ours.
function chain(text) {
    const number = (v) => { const b = Buffer.alloc(9); b[0] = 1; b.writeBigInt64BE(BigInt(v), 1); return b; };
    const bytes = (tag, v) => { const b = Buffer.alloc(5); b[0] = tag; b.writeUInt32BE(v.length, 1); return Buffer.concat([b, v]); };
    const cell = (kind, v) => {
        if (v === null) return Buffer.from([0]);
        if (kind === 'int') return number(v);
        return kind === 'text' ? bytes(2, Buffer.from(v)) : bytes(3, Buffer.from(v.replaceAll('-', ''), 'hex'));
    };
    let hash = Buffer.alloc(32);
    for (const row of text.trim().split('\n').map((line) => JSON.parse(line)).filter((one) => one.n !== null)) {
        const cells = [['int', row.seq], ['int', Date.parse(row.at)], ['text', row.operation], ['text', row.subject], ['text', row.result],
            ['int', row.times], ['text', row.detail], ['id', row.userId], ['id', row.paymentId], ['int', row.amount], ['id', row.idempotencyKey]];
        const body = Buffer.concat([Buffer.from([1]), ...cells.map(([kind, v]) => cell(kind, v))]);
        hash = crypto.createHash('sha256').update(hash).update(body).digest();
        assert.equal(row.hash, hash.toString('hex'), `seal ${row.n}`);
    }
    return hash.toString('hex');
}

forEachStore((store, storeTest) => {
    storeTest('O6 every money operation has exactly one row, with user, amount and key; replays and refusals have none', async (t) => {
        const server = await start(t, store);
        const key = uuid();
        const booking = await server.booking();
        const { body: payment } = await server.pay(booking, { key });
        await server.pay(booking, { key });
        const user = booking.userId;
        assert.deepEqual((await money(server, payment)).map(brief), [['CREATE', 'success', 1200, user, key]]);

        const [capture, refund] = [uuid(), uuid()];
        assert.equal((await server.capture(payment, 5000)).status, 422, 'too much: refused');
        await server.capture(payment, 1000, { key: capture });
        await server.capture(payment, 1000, { key: capture });
        assert.ok((await server.void(payment)).status >= 400, 'captured: refused');
        await server.refund(payment, 300, { key: refund });
        await server.refund(payment, 300, { key: refund });
        assert.deepEqual((await money(server, payment)).map(brief), [['CREATE', 'success', 1200, user, key],
            ['CAPTURE', 'success', 1000, user, capture], ['REFUND', 'success', 300, user, refund]]);

        const voided = await server.paid();
        const voidKey = uuid();
        await server.void(voided, { key: voidKey });
        assert.deepEqual((await money(server, voided)).map(brief)[1], ['VOID', 'success', 1200, voided.userId, voidKey]);

        const declined = await server.booking();
        const declinedKey = uuid();
        const answer = await server.pay(declined, { key: declinedKey, paymentMethod: 'pm_card_chargeDeclined' });
        assert.equal(answer.body.status, 'FAILED', answer.text);
        const [row] = await rows(server, { paymentId: answer.body.id, operation: 'CREATE' });
        assert.deepEqual(brief(row), ['CREATE', 'failure', 1200, declined.userId, declinedKey]);
        assert.ok(row.detail, 'with the reason');
        assert.deepEqual((await rows(server, { result: 'failure', operation: 'CREATE' })).map((one) => one.seq), [row.seq]);
        const before = await server.db.count('audit');
        assert.equal((await server.pay({ ...booking, amount: -1 })).status, 400);
        assert.equal((await server.pay(booking, { key, amount: 7 })).status >= 400, true);
        assert.equal(await server.db.count('audit'), before);
    });

    for (const point of ['op.claimed', 'op.answered', 'op.settling', 'op.settled'])
        storeTest(`O6 a payment that is killed at ${point} and resumed has one row`, async (t) => {
            const db = await fresh(t, store);
            const calm = await start(t, store, { db });
            const booking = await calm.booking();
            await calm.stop();
            const key = uuid();
            const dying = await launch(t, db, { env: { ICHIDO_FAULTS: `${point}=crash@1` } }).listening();
            await dying.pay(booking, { key }).catch(() => {});
            assert.equal((await dying.exit).signal, 'SIGKILL');
            const again = await start(t, store, { db });
            await again.advance(40_000);
            const answer = await until('it is known', async () => {
                const got = await again.pay(booking, { key });
                return [200, 201].includes(got.status) && got;
            }, 30_000);
            await again.pay(booking, { key });
            assert.deepEqual((await money(again, answer.body)).map(brief), [['CREATE', 'success', 1200, booking.userId, key]]);
            await sealed(again);
            assert.deepEqual((await verify(again)).problems, []);
        });

    storeTest('O6 rows are sealed soon after they came, once; the head is logged; an idle server seals nothing', async (t) => {
        const server = await start(t, store);
        for (let i = 0; i < 3; i++) await server.captured();
        await receipts(server, 3);
        await sealed(server);
        const told = await server.line('the head', (l) => l.message === 'audit sealed');
        const sums = await verify(server);
        assert.deepEqual(sums.problems, []);
        assert.equal(sums.unsealed, 0);
        assert.equal(sums.verified, await server.db.count('audit'));
        assert.equal(sums.head.n, sums.verified);
        assert.deepEqual((await verify(server, `${told.n}:${told.hash}`)).problems, []);
        const [newest] = (await page(server, { limit: 1 })).data;
        assert.equal(newest.sealed, sums.head.n);
        const attempts = async () => (await server.db.all(`SELECT attempt FROM message WHERE kind = 'audit.seal'`))[0].attempt;
        const runs = await attempts();
        for (let i = 0; i < 3; i++) await server.advance(TICK);
        await page(server);
        assert.equal(await attempts(), runs);
    });

    storeTest('O6 kill -9 while rows are sealed: the chain verifies after the restart', async (t) => {
        const db = await fresh(t, store);
        const dying = await launch(t, db, { env: { ICHIDO_FAULTS: 'audit.seal=crash@1' } }).listening();
        await dying.captured();
        await dying.advance(TICK).catch(() => {});
        assert.equal((await dying.exit).signal, 'SIGKILL');
        const server = await start(t, store, { db });
        await server.advance(60_000); // the dead node's lease
        await server.captured();
        await receipts(server, 2);
        await sealed(server);
        const sums = await verify(server);
        assert.deepEqual([sums.problems, sums.unsealed, sums.verified], [[], 0, await db.count('audit')]);
    });

    storeTest('O6 what is done to the log past the server is found and named, by the API and by the command line', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        for (let i = 0; i < 4; i++) await server.captured();
        await receipts(server, 4);
        await sealed(server);
        for (let i = 0; i < 2; i++) { // on PostgreSQL nothing older can come any more only now
            await server.advance(60_000);
            await server.captured();
            await receipts(server, 5 + i);
            await sealed(server);
        }
        const clean = await verify(server);
        assert.deepEqual(clean.problems, []);
        await assert.rejects(db.all(`UPDATE audit SET amount = 1 WHERE seq = 2`), /never changed/);
        await assert.rejects(db.all(`DELETE FROM audit_seals`), /never (changed or )?deleted/);
        await disarm(db);
        await db.all(`UPDATE audit SET amount = 999999 WHERE seq = 2`);
        await db.all(`DELETE FROM audit WHERE seq = 4`);
        const found = (await verify(server)).problems;
        assert.deepEqual(found.map((one) => [one.kind, one.n, one.seq]), [['changed', 2, 2], ['missing', 4, 4]]);
        const said = await cli(db, ['verify']);
        assert.equal(said.code, 1, said.stderr);
        assert.match(said.stdout, /^PROBLEM +SEAL +ROW +WHAT\nchanged +2 +2 +row 2, or its seal 2, is not what was sealed\nmissing +4 +4 +row 4 was sealed and is gone\n/);
        const json = JSON.parse((await cli(db, ['verify', '--json'])).stdout);
        assert.deepEqual([json.found, json.problems.map((one) => one.kind), json.head], [2, ['changed', 'missing'], clean.head]);
        await db.all(`DELETE FROM audit_seals WHERE n > 5`);
        await db.all(`DELETE FROM audit WHERE seq > 5`);
        await db.all(`UPDATE audit_chain SET n = 5, hash = (SELECT hash FROM audit_seals WHERE n = 5)`);
        assert.equal((await verify(server)).problems.filter((one) => one.kind === 'chain_broken').length, 0, 'nobody can tell');
        const cut = await cli(db, ['verify', '--expect', `${clean.head.n}:${clean.head.hash}`]);
        assert.match(cut.stdout, /its tail is cut off/);
        assert.equal(cut.code, 1);
    });

    storeTest('O6 list, verify and export say the same with a server and without, and the export is a chain for others', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        const payment = await server.captured();
        await receipts(server, 1);
        const booking = await server.booking();
        await server.pay(booking, { paymentMethod: 'pm_card_chargeDeclined' });
        await server.call('POST', '/api/v1/admin/subscribers', { as: 'admin', body: { url: 'http://127.0.0.1:9/x' } });
        await sealed(server);
        await notSealing(db);
        await disarm(db);
        await db.all(`INSERT INTO audit (at, operation, subject, result, detail) VALUES (1, '=cmd()', '@x "y"', 'success', '-1+1')`);
        const filters = [[], ['--operation', 'CREATE'], ['--payment', payment.id], ['--user', payment.userId], ['--result', 'failure'],
            ['--subject', payment.id], ['--from', '2020-01-01'], ['--to', '2020-01-01T00:00:00Z'], ['--operation', 'CREATE', '--result', 'success']];
        const ask = async () => {
            const got = [];
            for (const filter of filters) got.push((await cli(db, ['list', '--all', '--json', ...filter])).stdout);
            for (const format of ['jsonl', 'csv']) got.push((await cli(db, ['export', '--format', format])).stdout);
            got.push((await cli(db, ['verify'])).stdout);
            return got;
        };
        const through = await ask();
        assert.equal(through[0].trim().split('\n').length, await db.count('audit'));
        assert.equal(through[7].trim().split('\n').length, 1);
        for (const text of through) assert.ok(text, through.indexOf(text));
        const [jsonl, csv, said] = through.slice(-3);
        const head = chain(jsonl);
        assert.match(said, new RegExp(`^\\d+ rows verified, 1 not sealed yet, 0 problems\nhead \\d+:${head}\n$`));
        const [names, ...rest] = csv.trim().split('\r\n');
        assert.equal(names, 'n,hash,seq,at,operation,subject,result,times,detail,user_id,payment_id,amount,idempotency_key');
        assert.equal(rest.length, await db.count('audit'));
        assert.match(rest.at(-1), /^,,\d+,1970-01-01T00:00:00.001Z,"'=cmd\(\)","'@x ""y""","success",1,"'-1\+1",,,,$/);
        await server.kill(); // one that stops seals what is left
        assert.deepEqual(await ask(), through);
        for (const [args, why] of [[[], /needs list, verify or export/], [['look'], /is not list, verify or export/], [['verify', '--expect', '1:ab'], /--expect needs/],
            [['list', '--limit', '0'], /--limit/], [['export', '--format', 'xml'], /jsonl or csv/], [['list', 'x'], /is unexpected/]]) {
            const wrong = await cli(db, args);
            assert.equal(wrong.code, 2);
            assert.match(wrong.stderr, why);
        }
        assert.equal((await cli(db, ['--help'])).code, 0);
    });

    storeTest('O6 a server that stops, and a command that acts without one, leave nothing unsealed', async (t) => {
        const server = await start(t, store);
        const { db } = server;
        await dies(server, orphan());
        await server.paid();
        const unsealed = async () => Number((await cli(db, ['verify'])).stdout.match(/, (\d+) not sealed yet, 0 problems$/m)[1]);
        await server.stop();
        assert.equal(await unsealed(), 0, 'after the stop');
        const made = execFileSync(PROGRAM, ['operators', 'add', 'mallory', '--role', 'operator'],
            { env: { ...programEnv, ICHIDO_DB: db.url, ICHIDO_JWT_SECRET: JWT_SECRET }, input: 'a long enough secret 3\n' });
        assert.match(String(made), /mallory/);
        assert.equal(await unsealed(), 0, 'after a person was made');
        await dlqFine(db, ['delete', '--all', '--yes']);
        assert.equal(await unsealed(), 0, 'after a letter was deleted');
        await disarm(db);
        const [{ seq }] = await db.all(`SELECT seq FROM audit WHERE operation = 'OPERATOR_ADD'`);
        await db.all(`DELETE FROM audit WHERE seq = ${seq}`);
        const found = await cli(db, ['verify']);
        assert.equal(found.code, 1);
        assert.match(found.stdout, new RegExp(`^missing +\\d+ +${seq} `, 'm'));
    });

    if (store.kind === 'postgres')
        storeTest('O6 a server that stops waits for the transactions that keep its last rows from being sealed', async (t) => {
            const server = await start(t, store);
            const other = new pg.Client({ connectionString: process.env.TEST_POSTGRES }); // xids are the cluster's, not a database's
            await other.connect();
            t.after(() => other.end());
            await other.query('BEGIN');
            await other.query('SELECT txid_current()');
            await server.paid();
            const stopping = server.stop();
            await server.line('the server stops', (line) => line.message === 'stopped');
            await other.query('COMMIT');
            await stopping;
            assert.match((await cli(server.db, ['verify'])).stdout, /, 0 not sealed yet, 0 problems$/m);
        });

    storeTest('O6 pages and filters fit together, bad requests are refused with the field', async (t) => {
        const server = await start(t, store);
        for (let i = 0; i < 3; i++) await server.captured();
        await receipts(server, 3);
        const all = await rows(server, { limit: 3 });
        assert.deepEqual(all.map((row) => row.seq), (await rows(server)).map((row) => row.seq));
        assert.equal(all.length, await server.db.count('audit'));
        for (const name of ['operation', 'subject', 'result', 'paymentId', 'userId']) {
            const value = all.find((row) => row[name])[name];
            assert.deepEqual((await rows(server, { [name]: value, limit: 2 })).map((row) => row.seq),
                all.filter((row) => row[name] === value).map((row) => row.seq), name);
        }
        const middle = all[4].at;
        assert.deepEqual((await rows(server, { from: middle })).length, all.filter((row) => row.at >= middle).length);
        assert.deepEqual((await rows(server, { to: middle })).length, all.filter((row) => row.at < middle).length);
        for (const [query, field] of [['?x=1', 'x'], ['?operation=', 'operation'], ['?paymentId=x', 'paymentId'], ['?userId=1', 'userId'], ['?limit=101', 'limit'],
            ['?cursor=x', 'cursor'], ['?subject=%00', 'subject'], ['?from=x', 'from'], ['?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'to'],
            ['/verify?cursor=x', 'cursor'], ['/verify?expect=0:00', 'expect'], ['/export?format=xml', 'format'], ['/export?cursor=s', 'cursor']]) {
            const answer = await server.call('GET', `${AUDIT}${query}`, { as: 'admin' });
            assert.equal(answer.status, 400, query);
            assert.ok(answer.body.errors.some((one) => one.field === field), answer.text);
        }
        for (const where of ['', '/verify', '/export']) {
            assert.equal((await server.call('GET', AUDIT + where)).status, 401);
            assert.equal((await server.call('GET', AUDIT + where, { as: uuid() })).status, 403);
            assert.equal((await server.call('GET', AUDIT + where, { bearer: token(uuid(), 'viewer') })).status, 200);
            assert.equal((await server.call('POST', AUDIT + where, { as: 'admin' })).status, 405);
        }
    });

    storeTest('O6 every act of an operator leaves one row with who it was', async (t) => {
        const server = await bank(t, store);
        const me = uuid();
        const bearer = token(me, 'admin');
        const act = async (method, where, body, more = {}) => {
            const answer = await server.call(method, where, { bearer, body, ...more });
            assert.ok(answer.status < 300, `${method} ${where}: ${answer.status} ${answer.text}`);
            return answer.body;
        };
        const mine = async () => (await rows(server, { userId: me })).reverse().map((row) => [row.operation, row.subject]);
        const seen = [];
        const leaves = async (operation, subject) => {
            seen.push([operation, subject]);
            assert.deepEqual(await mine(), seen);
        };
        const subscriber = await act('POST', '/api/v1/admin/subscribers', { url: 'http://127.0.0.1:9/x' });
        await leaves('SUBSCRIBER_ADD', subscriber.id);
        await act('DELETE', `/api/v1/admin/subscribers/${subscriber.id}`);
        await leaves('SUBSCRIBER_REMOVE', subscriber.id);
        const day = new Date(server.nowSeconds() * 1000 - 2 * DAY).toISOString().slice(0, 10);
        await act('POST', `/api/v1/admin/reconciliations/${day}`);
        await leaves('RECONCILIATION_RUN', day);
        const person = uuid();
        const twice = async (method, where, body, more) => { // the second one changes nothing, and leaves nothing
            const answer = await act(method, where, body, more);
            await act(method, where, body, more);
            return answer;
        };
        await twice('PUT', `/api/v1/users/${person}`, { email: 'a@example.com', channels: ['mail'] });
        await leaves('CONTACT_MAKE', person);
        await twice('PUT', `/api/v1/users/${person}`, { email: 'b@example.com', channels: ['mail'] });
        await leaves('CONTACT_CHANGE', person);
        assert.deepEqual((await rows(server, { subject: person })).map((one) => one.detail), ['email', 'email, channels'], 'what, and never the address');
        await act('DELETE', `/api/v1/users/${person}`);
        await leaves('CONTACT_REMOVE', person);

        const bookingId = uuid();
        const booking = { userId: person, amount: 700, currency: 'JPY', version: 1 };
        await twice('PUT', `/api/v1/bookings/${bookingId}`, booking);
        await leaves('BOOKING_MAKE', bookingId);
        await twice('PUT', `/api/v1/bookings/${bookingId}`, { ...booking, amount: 800, version: 2 });
        await leaves('BOOKING_CHANGE', bookingId);
        const event = (type, data) => ({ specversion: '1.0', id: uuid(), source: 'https://booking.example', type, data });
        await twice('POST', '/api/v1/events', event('BookingCancelled', { bookingId }), { headers: { 'Content-Type': 'application/cloudevents+json' } });
        await leaves('BOOKING_CANCEL', bookingId);

        const collection = uuid();
        const collected = { title: '夏合宿', currency: 'JPY', participants: [] };
        await twice('PUT', `/api/v1/collections/${collection}`, collected);
        await leaves('COLLECTION_MAKE', collection);
        await twice('PUT', `/api/v1/collections/${collection}`, { ...collected, participants: [{ id: uuid(), name: '山田', amount: 3000 }] });
        await leaves('COLLECTION_CHANGE', collection);

        const campaign = uuid();
        await twice('PUT', `/api/v1/campaigns/${campaign}`, { title: '夏のくじ', currency: 'JPY', winners: 1, layers: [{ name: 'A', price: 500, positions: 3 }] });
        await leaves('CAMPAIGN_MAKE', campaign);
        await twice('POST', `/api/v1/campaigns/${campaign}/cancel`);
        await leaves('CAMPAIGN_CANCEL', campaign);

        const [first, second] = [orphan(), orphan()];
        const dead = await dies(server, first);
        await act('POST', `${DLQ}/${dead.id}/retry`);
        await leaves('DLQ_RETRY', first.id);
        const other = await dies(server, second);
        await act('DELETE', `${DLQ}/${other.id}`);
        await leaves('DLQ_DELETE', second.id);

        const told = await owes(server, 1200);
        await act('POST', `/api/v1/admin/transfers/${told.id}/confirm`, { amount: 1200, date: '2026-11-16' });
        await leaves('TRANSFER', told.id);
        const owed = await owes(server, 900);
        await act('POST', '/api/v1/admin/transfers/imports', '日付,摘要,お引出金額,お預入金額,残高\r\n2026/11/16,"ヤマダ",,"900",\r\n2026/11/16,"スズキ",,"55",\r\n',
            { headers: { 'Content-Type': 'text/csv' } });
        const [last] = (await mine()).slice(-1);
        assert.match(last[0], /IMPORT/);
        seen.push(last);
        const open = await lines(server, 'open');
        const line = open.find((one) => one.amount === 900);
        await act('POST', `/api/v1/admin/transfers/lines/${line.id}/assign`, { paymentId: owed.id });
        await leaves('TRANSFER', owed.id);
        const strange = open.find((one) => one.amount === 55);
        await act('POST', `/api/v1/admin/transfers/lines/${strange.id}/set-aside`, { reason: 'whose?', toBeReturned: true });
        const after = (await mine()).slice(-1)[0];
        assert.match(after[0], /LINE_/);
        seen.push(after);

        const key = uuid();
        const payment = await server.paid();
        await act('POST', `/payments/${payment.id}/capture`, {}, { key });
        await leaves('CAPTURE', payment.id);
        const [row] = await rows(server, { operation: 'SUBSCRIBER_ADD' });
        assert.equal(row.userName, null, 'a JWT has no name here');
        await server.call('POST', '/api/v1/admin/subscribers', { as: 'admin', body: { url: 'http://127.0.0.1:9/y' } });
        const [byToken] = await rows(server, { operation: 'SUBSCRIBER_ADD' });
        assert.deepEqual([byToken.userId, byToken.userName], [ZERO, 'admin token']);
        await sealed(server);
        assert.deepEqual((await verify(server)).problems, []);
    });

    storeTest('O6 what the server does by itself is nobody\'s: the row has no user, its detail says why', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_EVENTS_SECRET: EVENTS_SECRET } });
        const payment = await server.paid();
        await server.call('PUT', `/api/v1/bookings/${payment.booking.id}`,
            { as: 'admin', body: { ...payment.booking, id: undefined, status: 'CANCELLED' } });
        await until('its void', async () => (await rows(server, { paymentId: payment.id, operation: 'VOID' })).length);
        const told = (row) => [row.operation, row.result, row.userId, row.detail];
        const [cancel] = await rows(server, { subject: payment.booking.id, operation: 'BOOKING_CANCEL' });
        assert.deepEqual([cancel.userId, cancel.userName], [ZERO, 'admin token']);
        assert.deepEqual((await money(server, payment)).map(told).at(-1), ['VOID', 'success', null, 'booking_cancelled']);

        const waits = await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' });
        await server.advance(3600_000);
        await until('it is given up', async () => (await rows(server, { paymentId: waits.id, operation: 'VOID' })).length);
        assert.deepEqual((await money(server, waits)).map(told).at(-1), ['VOID', 'success', null, 'abandoned']);

        const taken = await server.captured();
        const text = JSON.stringify({ specversion: '1.0', id: uuid(), source: 'https://booking.example', type: 'BookingCancelled',
            data: { bookingId: taken.booking.id } });
        const id = `msg_${uuid()}`;
        const at = new Date(server.nowSeconds() * 1000);
        const signed = await server.call('POST', '/api/v1/events', { body: text, headers: { 'Content-Type': 'application/cloudevents+json',
            'webhook-id': id, 'webhook-timestamp': String(Math.floor(at / 1000)), 'webhook-signature': new Webhook(EVENTS_SECRET).sign(id, at, text) } });
        assert.equal(signed.status, 204, signed.text);
        const [event] = await rows(server, { subject: taken.booking.id, operation: 'BOOKING_CANCEL' });
        assert.equal(event.userId, null);
        assert.match(event.detail, /^by a signed event: CANCELLED, 1200 JPY, of /);
        await until('both notes', async () => (await rows(server, { paymentId: taken.id })).length === 4);
        const notes = (await rows(server, { paymentId: taken.id })).filter((row) => !MONEY.includes(row.operation));
        assert.deepEqual(notes.map((row) => [row.operation, row.userId]).sort(), [['BOOKING_CANCELLED', null], ['RECEIPT', null]]);
    });
});

test('O6 two nodes on one PostgreSQL seal each row once', async (t) => {
    const store = stores.find((one) => one.kind === 'postgres');
    if (!store) return t.skip('no PostgreSQL');
    const db = await fresh(t, store);
    const first = await start(t, store, { db });
    const second = await start(t, store, { db });
    const nodes = [first, second];
    for (let round = 0; round < 4; round++) {
        await Promise.all(nodes.flatMap((node) => [node.captured(), node.captured()]));
        await Promise.all(nodes.map((node) => node.advance(TICK)));
    }
    const sums = await until('nothing comes any more', async () => { // receipts follow by webhooks
        await sealed(first);
        const count = await db.count('audit');
        const got = await verify(second);
        return got.verified + got.unsealed === count && got.unsealed === 0 && got;
    });
    assert.deepEqual(sums.problems, []);
    assert.equal(sums.head.n, sums.verified, 'without a gap');
});

test('O6 every unsafe admin route has a test that finds its row', async () => {
    const text = fs.readFileSync(new URL('../../api/openapi.yaml', import.meta.url), 'utf8');
    const found = [];
    const others = [];
    let where = '';
    for (const line of text.split('\n')) {
        where = line.match(/^ {2}(\/\S+):$/)?.[1] ?? where;
        const method = line.match(/^ {4}(post|put|patch|delete):$/)?.[1];
        if (!method) continue;
        if (where.startsWith('/api/v1/admin/')) found.push(`${method.toUpperCase()} ${where.slice('/api/v1/admin'.length)}`);
        else others.push(`${method.toUpperCase()} ${where}`);
    }
    assert.deepEqual(found.sort(), Object.values(ACTS).flat().sort());
    assert.deepEqual(others.sort(), [...ACTS_FOR_OTHERS, ...MONEY_ACTS, ...NOBODYS].sort());
    for (const file of Object.keys(ACTS).filter((name) => name !== 'here'))
        assert.match(fs.readFileSync(new URL(file, import.meta.url), 'utf8'), /audit/, file);
});
