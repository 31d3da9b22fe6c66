// A day of ours beside the provider's own books (E11): a clean day, rows that were changed, payments that only one
// side has, what asking the gateway mends, crashes, CSV, and the command line.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import {
    ADMIN_TOKEN, assert, asHex, forEachStore, fresh, launch, pause, PROGRAM, programEnv, start, stores, test, until, uuid,
} from './lib/harness.mjs';
import { open as openPayPay } from './lib/paypay.mjs';
import {
    ask, BASE, DAY, dayOf, ended, found, HOUR, MINUTE, nextDay, quiet, reconciled, report, total, update, UTC,
} from './lib/reconcile.mjs';
import { meet } from './lib/sandbox.mjs';
import { becomes, imported, owes, paidBy } from './lib/transfers.mjs';

const run = promisify(execFile);

// RFC 4180, as a spreadsheet reads it.
function parseCsv(text) {
    const rows = [[]];
    for (let i = 0, cell = '', quoted = false; i <= text.length; i++) {
        const c = text[i];
        if (quoted && c === '"' && text[i + 1] === '"') { cell += '"'; i++; }
        else if (c === '"') quoted = !quoted;
        else if (!quoted && (c === ',' || c === '\n' || c === undefined)) {
            if (c === undefined && !cell && !rows.at(-1).length) { rows.pop(); break; }
            rows.at(-1).push(cell.replace(/\r$/, ''));
            cell = '';
            if (c === '\n') rows.push([]);
        } else cell += c ?? '';
    }
    return rows;
}

forEachStore((store, test_) => {
    test_('E11 a clean day: sums to the yen on both sides, nothing differs, and it is written down', async (t) => {
        const server = await start(t, store, { env: UTC });
        const one = await server.captured();
        await server.captured({}, { amount: 3000 });
        assert.equal((await server.refund(one, 200)).status, 200);
        const void_ = await server.paid();
        assert.equal((await server.void(void_)).status, 200);
        await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });
        await server.captured({}, { amount: 999, currency: 'USD' });
        await until('the fees are known', async () => (await server.db.all(
            'SELECT 1 FROM payment_transactions WHERE fee IS NOT NULL')).length === 3);
        await quiet(server);
        const day = await nextDay(server);
        const done = await reconciled(server, day);
        assert.deepEqual(found(done), []);
        assert.equal(done.differences, 0);
        assert.equal(done.askedBy, 'admin');
        assert.equal(done.ours, 5);
        assert.equal(done.theirs, 5);
        assert.deepEqual(total(done, 'ours'), total(done, 'theirs'));
        const jpy = total(done, 'ours').find((x) => x.currency === 'JPY');
        assert.equal(jpy.payments, 2);
        assert.equal(jpy.captured, 4200);
        assert.equal(jpy.refunded, 200);
        assert.ok(jpy.fees > 0);
        assert.equal(jpy.net, 4200 - 200 - jpy.fees);
        await server.line('it is said', (l) => l.message === "Our books and the provider's are the same" && l.day === day);
        const [audit] = await server.db.audit(`operation = 'RECONCILIATION'`);
        assert.equal(audit.subject, day);
        assert.equal(audit.result, 'success');
        for (const table of ['reconciliation_seen', 'reconciliation_checks'])
            assert.equal(await server.db.count(table), 0, `${table} was only for the run`);
        const { body } = await ask(server, 'GET', '');
        assert.deepEqual(body.data.map((x) => x.day), [day]);
    });

    test_('E11 changed rows, a missing row, an intent that only the provider has: each is found, by name', async (t) => {
        const server = await start(t, store, { env: { ...UTC, ICHIDO_WEBHOOK_RETRIES: '0' } });
        const { stripe } = await meet(server);
        const db = server.db;
        const id = (payment) => db.blob(asHex(payment.id));
        const amount = await server.captured();
        const captured = await server.captured();
        const status = await server.paid();
        const gone = await server.captured();
        const fine = await server.captured();
        const stranger = uuid();
        await stripe.paymentIntents.create({ amount: 700, currency: 'jpy', payment_method: 'pm_card_visa', confirm: true,
            return_url: 'https://example.com', metadata: { payment_id: stranger } });
        await stripe.paymentIntents.create({ amount: 800, currency: 'jpy', payment_method: 'pm_card_visa', confirm: true,
            return_url: 'https://example.com' });
        await quiet(server);
        const day = await nextDay(server);
        await quiet(server);
        await update(db, `UPDATE payments SET amount = 1300 WHERE id = ${id(amount)}`);
        await update(db, `UPDATE payments SET captured_amount = 1000 WHERE id = ${id(captured)}`);
        await update(db, `UPDATE payments SET status = 'CAPTURED', captured_amount = 1200 WHERE id = ${id(status)}`);
        await update(db, `UPDATE payments SET gateway_transaction_id = 'pi_nowhere' WHERE id = ${id(gone)}`);
        const done = await reconciled(server, day);
        const of = (payment) => done.found.filter((one) => one.paymentId === payment.id);
        assert.deepEqual(of(amount).map((x) => [x.kind, x.ours, x.theirs, x.state]), [['amount', '1300', '1200', 'open']]);
        assert.deepEqual(of(captured).map((x) => [x.kind, x.ours, x.theirs]), [['captured', '1000', '1200']]);
        assert.deepEqual(of(status).map((x) => x.kind).sort(), ['captured', 'status']);
        assert.deepEqual(of(gone).map((x) => x.kind).sort(), ['missing_there', 'stray']);
        assert.deepEqual(of(fine), []);
        const here = done.found.filter((one) => one.kind === 'missing_here');
        assert.deepEqual(here.map((x) => [x.paymentId, x.ours, x.theirs]), [[null, null, 'captured 700 JPY']]);
        assert.equal(done.differences, 7);
        assert.deepEqual(total(done, 'foreign').map((x) => x.captured), [800], 'not ours, but counted');
        const line = await server.line('it is said', (l) => l.message === 'ReconciliationDifference');
        assert.equal(line.level, 'error');
        assert.equal(line.differences, 7);
        assert.equal((await server.metrics()).get('ichido_reconciliation_differences_total', { state: 'open' }), 7);

        const csv = await ask(server, 'GET', `/${day}.csv`);
        assert.equal(csv.status, 200);
        assert.match(csv.headers['content-type'], /^text\/csv/);
        assert.ok(csv.text.startsWith('\ufeff'), 'a byte order mark, so that Excel reads Japanese');
        const rows = parseCsv(csv.text.slice(1));
        assert.ok(rows.every((row) => row.length === rows[0].length));
        assert.match(rows[0].join(), /種別/);
        assert.equal(rows.filter((row) => row[0] === 'difference').length, done.found.length);
        const line_ = rows.find((row) => row[3] === 'amount');
        assert.deepEqual([line_[5], line_[6], line_[7], line_[8]], [amount.id, amount.gatewayTransactionId, '1300', '1200']);
        const accepted = await ask(server, 'GET', `/${day}`, { headers: { Accept: 'text/csv' } });
        assert.equal(accepted.text, csv.text);
    });

    test_('E11 what the gateway can tell is mended and told as healed: lost webhooks of a whole day', async (t) => {
        const server = await start(t, store, { env: UTC });
        const { stripe } = await meet(server);
        await server.webhooks({ on: false });
        const authorized = await server.paid();
        const refunded = await server.captured();
        const other = await server.captured();
        await stripe.paymentIntents.capture(authorized.gatewayTransactionId);
        await stripe.refunds.create({ payment_intent: refunded.gatewayTransactionId, amount: 300 });
        await quiet(server);
        const day = await nextDay(server);
        const done = await reconciled(server, day);
        assert.equal(done.differences, 0, JSON.stringify(done.found));
        assert.ok(done.healed >= 3);
        const kinds = (payment) => done.found.filter((x) => x.paymentId === payment.id).map((x) => x.kind).sort();
        assert.deepEqual(kinds(authorized), ['captured', 'fee', 'status'].filter((k) => kinds(authorized).includes(k)));
        assert.ok(kinds(authorized).includes('status'));
        assert.ok(kinds(refunded).includes('refunded'));
        assert.equal((await server.payment(authorized, 'admin')).body.status, 'CAPTURED');
        const { body } = await server.payment(refunded, 'admin');
        assert.deepEqual([body.status, body.refundedAmount], ['CAPTURED', 300]);
        const fees = await server.db.all('SELECT count(*) AS n FROM payment_transactions WHERE fee IS NULL');
        assert.equal(fees[0].n, 0, 'fees that no webhook told of are there');
        assert.ok(other.id);
        const again = await reconciled(server, day);
        assert.deepEqual(found(again), [], 'the same day once more is clean');
        assert.deepEqual(total(again, 'ours'), total(again, 'theirs'));
    });

    test_('E11 gateways without a list are asked for each payment of the day: PayPay and bank transfers', async (t) => {
        const env = { ...UTC, ICHIDO_ROUTES: 'paypay=paypay,bank_transfer=manual' };
        const { server, paypay } = await openPayPay(t, store, { env });
        await server.captured();
        const paid = await paypay.captured(2500, { amount: 3000 });
        assert.equal((await server.refund(paid, 700)).status, 200);
        const failed = await paypay.pending();
        await paypay.fails(failed);
        await paypay.is(failed, 'FAILED');
        const owed = await owes(server);
        await imported(server, [paidBy(owed)]);
        await becomes(server, owed, 'CAPTURED');
        await until('the fee is known', async () => (await server.db.all(
            'SELECT 1 FROM payment_transactions WHERE fee IS NOT NULL')).length === 1);
        await quiet(server);
        const day = await nextDay(server);
        const done = await reconciled(server, day);
        assert.deepEqual(found(done), [], JSON.stringify(done.found));
        const sums = (side) => done.totals.filter((x) => x.side === side).map((x) => [x.gateway, x.captured, x.refunded]);
        assert.deepEqual(sums('ours'), [['manual', 1200, 0], ['paypay', 2500, 700], ['sandbox', 1200, 0]]);
        assert.deepEqual(sums('theirs'), sums('ours'));
        const id = server.db.blob(asHex(paid.id));
        await update(server.db, `UPDATE payments SET amount = 3001 WHERE id = ${id}`);
        const again = await reconciled(server, day);
        assert.deepEqual(again.found.map((x) => [x.kind, x.gateway, x.ours, x.theirs]), [['amount', 'paypay', '3001', '3000']]);
        await update(server.db, `UPDATE payments SET amount = 3000 WHERE id = ${id}`);
        await update(server.db, `UPDATE refunds SET status = 'pending' WHERE payment_id = ${id}`);
        await update(server.db, `UPDATE payments SET refunded_amount = NULL WHERE id = ${id}`);
        const last = await reconciled(server, day);
        assert.deepEqual(found(last), [], 'a refund that was under way here is no difference');
    });

    test_('E11 something under way when it was listed is looked at again, and is no difference', async (t) => {
        const server = await start(t, store, { env: UTC });
        const payment = await server.captured();
        await quiet(server);
        const day = await nextDay(server);
        await quiet(server);
        const id = server.db.blob(asHex(payment.id));
        await update(server.db, `UPDATE payments SET amount = 1300 WHERE id = ${id}`);
        assert.equal((await ask(server, 'POST', `/${day}`)).status, 202);
        await until('it waits before it looks again', async () => (await report(server, day)).phase === 'pause');
        assert.equal((await ask(server, 'POST', `/${day}`)).body.phase, 'pause', 'asked again, the same run goes on');
        await update(server.db, `UPDATE payments SET amount = 1200 WHERE id = ${id}`);
        const done = await ended(server, day);
        assert.deepEqual([done.checked, done.differences, done.healed], [1, 0, 0]);
    });

    test_('E11 kill -9 in every step: it goes on where it was, and nothing is counted twice', async (t) => {
        const db = await fresh(t, store);
        const env = { ...UTC, ICHIDO_SANDBOX_WEBHOOKS: 'off' };
        const first = await start(t, store, { db, env });
        for (let i = 0; i < 4; i++) await first.captured();
        const wrong = await first.captured();
        await quiet(first);
        const real = dayOf(first);
        await first.stop();
        await update(db, `UPDATE payments SET amount = 1500 WHERE id = ${db.blob(asHex(wrong.id))}`);
        let crashes = 0;
        for (let n = 1; n <= 9; n++) {
            const fault = n === 5 ? 'reconcile.check=crash' : 'reconcile.step=crash@1';
            const victim = launch(t, db, { env: { ...env, ICHIDO_FAULTS: fault } });
            await victim.listening().catch(() => {});
            if (!victim.ended) await victim.advance(DAY).catch(() => {});
            if (n === 1) await ask(victim, 'POST', `/${real}`).catch(() => {});
            const deadline = Date.now() + 6000;
            while (!victim.ended && Date.now() < deadline) {
                await victim.advance(MINUTE).catch(() => {});
                await Promise.race([victim.exit, pause(50)]);
            }
            if (!victim.ended) { // it was through
                await victim.kill();
                break;
            }
            crashes++;
        }
        assert.ok(crashes >= 7, `${crashes} crashes: one behind each step, one within`);
        const last = await start(t, store, { db, env });
        await last.advance(DAY);
        const done = await until('it is done', async () => {
            await last.advance(MINUTE); // the dead ones' leases end by a clock that was ahead
            const one = await report(last, real);
            return one.state === 'done' && one;
        }, 30_000);
        assert.equal(done.theirs, 5);
        assert.equal(done.ours, 5);
        assert.deepEqual(found(done).filter((x) => x.startsWith('amount')), ['amount open']);
        const [ours] = total(done, 'ours');
        assert.equal(ours.captured, 5 * 1200);
        assert.equal(total(done, 'theirs')[0].captured, 5 * 1200);
        assert.equal((await db.audit(`operation = 'RECONCILIATION'`)).length, 1);
    });

    test_('E11 a provider that cannot be reached: the report says so, and goes on when it is back', async (t) => {
        const server = await start(t, store, { env: UTC });
        await server.captured();
        await quiet(server);
        const day = await nextDay(server);
        await server.fault({ path: '/v1/payment_intents', method: 'GET', statusBefore: 503, times: 1000 });
        assert.equal((await ask(server, 'POST', `/${day}`)).status, 202);
        await until('it says why', async () => /503/.test((await report(server, day)).error ?? ''));
        await server.line('loudly', (l) => l.level === 'error' && /cannot go on/.test(l.message));
        await server.healed();
        const done = await ended(server, day);
        assert.equal(done.error, null);
        assert.equal(done.differences, 0);
    });

    test_('E11 once a day by itself, in the time zone of the settings; days that were missed are made up for', async (t) => {
        const db = await fresh(t, store);
        const env = { ICHIDO_TIME_ZONE: 'Asia/Tokyo', ICHIDO_RECONCILE_AT: '04:00' };
        const server = await start(t, store, { db, env });
        await server.captured();
        await quiet(server);
        await until('the first day', async () => {
            if ((await db.count('reconciliations')) === 0) await server.advance(HOUR);
            return (await db.count('reconciliations')) === 1;
        });
        const [row] = await db.all('SELECT day, from_at, to_at, asked_by, started_at FROM reconciliations');
        const tokyo = new Date(row.started_at + 9 * HOUR);
        assert.equal(tokyo.getUTCHours(), 4, 'four in the morning, there');
        const yesterday = new Date(tokyo - DAY).toISOString().slice(0, 10);
        assert.equal(row.day, yesterday);
        assert.equal(row.asked_by, 'schedule');
        assert.equal(new Date(row.from_at).toISOString(), `${new Date(Date.parse(yesterday) - DAY).toISOString().slice(0, 10)}T15:00:00.000Z`);
        assert.equal(row.to_at - row.from_at, DAY);
        await server.advance(4 * DAY);
        await until('the days in between', async () => (await db.count('reconciliations')) === 5);
        await until('all of them are done', async () => (await db.count('reconciliations', `phase <> 'done'`)) === 0);
        await server.advance(20 * DAY);
        await until('seven at most', async () => (await db.count('reconciliations')) === 12);
    });

    test_('E11 P5 bad input: no day, a day that is not over, strangers', async (t) => {
        const server = await start(t, store, { env: UTC });
        for (const where of ['/2026-13-01', '/2026-02-30', '/yesterday', '/2026-11-1', '/26-11-01.csv', "/2026-11-01'--"]) {
            const answer = await ask(server, 'GET', encodeURI(where));
            assert.equal(answer.status, 400, where);
            assert.equal((await ask(server, 'POST', encodeURI(where))).status, 400, where);
        }
        assert.equal((await ask(server, 'GET', '/2020-01-01')).status, 404);
        assert.equal((await ask(server, 'POST', `/${dayOf(server)}`)).status, 422);
        assert.equal((await ask(server, 'POST', `/${dayOf(server, DAY)}`)).status, 422);
        assert.equal((await ask(server, 'GET', '?limit=0')).status, 400);
        assert.equal((await ask(server, 'GET', '?cursor=x')).status, 400);
        for (const [method, where] of [['GET', ''], ['GET', '/2020-01-01'], ['POST', '/2020-01-01']]) {
            assert.equal((await server.call(method, `${BASE}${where}`)).status, 401);
            assert.equal((await server.call(method, `${BASE}${where}`, { as: uuid() })).status, 403);
        }
        assert.equal(await server.db.count('reconciliations'), 0);
    });
});

// --- the command line ---

async function ichido(server, args, changes = {}) {
    const env = {
        ...programEnv, ICHIDO_DB: server.db.url, ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN, ICHIDO_TIME_ZONE: 'UTC',
        ICHIDO_LISTEN: `127.0.0.1:${server.port}`,
        ...changes,
    };
    try {
        return { code: 0, ...await run(PROGRAM, ['reconcile', ...args], { env }) };
    } catch (error) {
        return { code: error.code, stdout: error.stdout, stderr: error.stderr };
    }
}

forEachStore((store, test_) => {
    test_('E11 ichido reconcile waits for the report: 0 where the books are the same, 1 where they differ', async (t) => {
        const server = await start(t, store, { env: UTC });
        const payment = await server.captured({}, {});
        await quiet(server);
        const day = await nextDay(server);
        const clean = await ichido(server, ['--day', day]);
        assert.equal(clean.code, 0, clean.stderr);
        assert.match(clean.stdout, new RegExp(`${day}: 0 differences, 0 healed`));
        await update(server.db, `UPDATE payments SET amount = 1300 WHERE id = ${server.db.blob(asHex(payment.id))}`);
        const file = path.join(server.db.folder, 'report.csv');
        const waiting = ichido(server, ['--day', day, '--csv', file, '--json']);
        await ended(server, day).catch(() => {});
        await until('it was begun anew and is done', async () => {
            const one = await report(server, day);
            if (one.phase === 'pause') await server.advance(MINUTE);
            return one.state === 'done' && one.differences === 1;
        }, 30_000);
        const different = await waiting;
        assert.equal(different.code, 1, different.stderr);
        assert.match(different.stderr, /theirs, .* ours|looking again in \d+ s at what differs/, 'a line of progress');
        assert.equal(JSON.parse(different.stdout).found[0].kind, 'amount');
        const rows = parseCsv(fs.readFileSync(file, 'utf8').replace(/^\ufeff/, ''));
        assert.ok(rows.some((row) => row.includes('amount') && row.includes(payment.id)));
    });

    test_('E11 ichido reconcile says what to do where it cannot: wrong words, a day that is not over, a wrong token', async (t) => {
        const server = await start(t, store, { env: UTC });
        assert.equal((await ichido(server, ['--day', '2026-02-31'])).code, 2);
        assert.equal((await ichido(server, ['--dya', '2026-02-01'])).code, 2);
        const today = await ichido(server, ['--day', dayOf(server)]);
        assert.equal(today.code, 3);
        assert.match(today.stderr, /not over yet\. It can be compared from \d{4}-\d\d-\d\dT00:00:00\.000Z on, when it ends in UTC/);
        assert.match((await ichido(server, ['--help'])).stdout, /Exit code/);
        const day = await nextDay(server);
        const wrong = await ichido(server, ['--day', day], { ICHIDO_ADMIN_TOKEN: 'wrong-token-0123456789abcdef' });
        assert.equal(wrong.code, 3);
        assert.match(wrong.stderr, /refused ICHIDO_ADMIN_TOKEN \(401\): it must be that server's token/);
        assert.doesNotMatch(wrong.stdout + wrong.stderr, /wrong-token/);
        const none = await ichido(server, ['--day', day], { ICHIDO_ADMIN_TOKEN: undefined });
        assert.equal(none.code, 3);
        assert.match(none.stderr, /ICHIDO_ADMIN_TOKEN is not set: set it to that server's token/);
        assert.equal(await server.db.count('reconciliations'), 0);
    });
});

test('E11 no cell of the CSV is a formula', async (t) => {
    const server = await start(t, stores[0], { env: UTC });
    const payment = await server.captured();
    await quiet(server);
    const day = await nextDay(server);
    await reconciled(server, day);
    await update(server.db, `INSERT INTO reconciliation_differences (day, key, kind, gateway, payment_id, intent_id, currency, ours,
        theirs, state, at) VALUES ('${day}', 'k', 'status', 'sandbox', NULL, '=cmd|''/c calc''!A0', '+1', '@x', '-2"x', 'open', 1)`);
    const csv = await ask(server, 'GET', `/${day}.csv`);
    const row = parseCsv(csv.text.slice(1)).find((one) => one[0] === 'difference');
    for (const cell of row) assert.ok(!/^[=+\-@\t\r]/.test(cell), cell);
    assert.equal(row[8], `'-2"x`);
    assert.ok(payment.id);
});
