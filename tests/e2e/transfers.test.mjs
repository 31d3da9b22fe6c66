// Bank transfers (G4): the manual gateway, operators, banks' CSV files, and money that must go back.
import fs from 'node:fs';
import path from 'node:path';
import { assert, forEachStore, fresh, launch, start, token, until, uuid } from './lib/harness.mjs';
import {
    ACCOUNT, assign, BANK, bank, becomes, booksAgree, cli, confirm, DAY, imported, importFile, imports, lines, now, owes, paidBy, returns,
    sentBack, setAside, statement, transferOf, transfers, TRANSFERS,
} from './lib/transfers.mjs';

const MANY = 10_000;

forEachStore((store, test) => {
    test('G4 a transfer is told with account, reference, amount and deadline, and its money captures it', async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server);
        assert.equal(payment.gatewayTransactionId, `bt_${payment.id}`);
        const { type, expiresAt, details } = payment.requiresAction;
        assert.equal(type, 'bank_transfer');
        assert.deepEqual([details.account, details.amount, details.currency], [ACCOUNT, 1200, 'JPY']);
        assert.match(details.reference, /^[1-9][0-9]{8}$/);
        const last = new Date(Date.parse(expiresAt) + 9 * 3600 * 1000).toISOString(); // Japan's time
        assert.equal(last, `${details.deadline}T23:59:59.000Z`);
        const days = (Date.parse(expiresAt) - Date.parse(payment.createdAt)) / DAY;
        assert.ok(days >= 7 && days <= 8, `${days} days`);
        assert.deepEqual((await now(server, payment)).requiresAction, payment.requiresAction);

        const got = await imported(server, [paidBy(payment), { text: 'カード', out: 300 }], { query: '?name=nov.csv' });
        assert.deepEqual([got.deposits, got.ignored, got.new, got.known, got.matched, got.open, got.next], [1, 1, 1, 0, 1, 0, null]);
        const paid = await becomes(server, payment, 'CAPTURED');
        assert.deepEqual([paid.capturedAmount, paid.requiresAction], [1200, null]);
        await until('the booking is confirmed', async () => (await server.bookingNow(payment.booking.id)).status === 'CONFIRMED');
        const [line] = await lines(server);
        const transfer = await transferOf(server, payment);
        assert.deepEqual([transfer.state, transfer.received, transfer.receivedOn, transfer.lineId], ['received', 1200, '2026-11-16', line.id]);
        assert.deepEqual([line.state, line.reason, line.paymentId], ['matched', 'matched', payment.id]);
        const [audit] = await server.db.table('audit', `operation = 'TRANSFER'`);
        assert.match(audit.detail, /^matched by its reference, 2026-11-16: line 2 of nov\.csv$/);
        assert.equal(await server.db.count('domain_events', `type = 'PaymentCaptured'`), 1);
        assert.equal(await booksAgree(server.db), 1200);
        const [one] = await imports(server);
        assert.deepEqual([one.name, one.state, one.lines, one.matched, one.open], ['nov.csv', 'finished', 1, 1, 0]);
    });

    test('G4 the same file twice, and files that overlap, bring nothing twice', async (t) => {
        const server = await bank(t, store);
        const all = [];
        for (let i = 0; i < 4; i++) all.push(await owes(server, 1000 + i));
        const twins = { text: 'ヤマダ タロウ', amount: 500 }; // two lines that are alike, without a balance
        const first = [paidBy(all[0]), twins, twins, paidBy(all[1])];
        assert.deepEqual(await imported(server, first).then((g) => [g.new, g.matched, g.open]), [4, 2, 2]);
        const again = await imported(server, first);
        assert.deepEqual([again.new, again.known, again.matched, again.open], [0, 4, 0, 0]);
        assert.equal((await imports(server)).length, 1, 'the same file is one import');
        const overlap = await imported(server, [twins, twins, twins, paidBy(all[1]), paidBy(all[2])]);
        assert.deepEqual([overlap.new, overlap.known, overlap.matched, overlap.open], [2, 3, 1, 1], 'the third twin is new');
        // Other line ends, the same lines: known by what they say.
        const lf = await imported(server, statement(first, { newline: '\n' }));
        assert.deepEqual([lf.new, lf.known], [0, 4]);
        assert.equal(await server.db.count('bank_lines'), 6);
        assert.equal(await booksAgree(server.db), 1000 + 1001 + 1002);
    });

    test('G4 lines that may be equal deposits of the same day are known, and listed for a person', async (t) => {
        const server = await bank(t, store);
        const twin = { text: 'ヤマダ タロウ', amount: 500 };
        const told = { text: 'サトウ', amount: 600, balance: 7000 };
        const first = await imported(server, [twin, told]);
        assert.deepEqual([first.known, first.alike, first.alikeLines], [0, 0, []]);
        const again = await imported(server, [twin, told]);
        assert.deepEqual([again.known, again.alike], [2, 0], 'the very same file: these are the same lines');
        for (const query of ['?dryRun=true', '']) {
            const evening = await imported(server, [{ text: 'スズキ', amount: 700 }, told, twin], { query });
            assert.deepEqual([evening.new, evening.known, evening.alike], [1, 2, 1], query);
            assert.deepEqual(evening.alikeLines, [{ line: 4, date: '2026-11-16', amount: 500, text: 'ヤマダ タロウ' }]);
        }
        const numbered = (id) => `date,amount,text,id\n2026-11-16,800,z,${id}\n`;
        await imported(server, numbered(1), { query: '?id=id' });
        const known = await imported(server, `${numbered(1)}2026-11-17,1,y,2\n`, { query: '?id=id' });
        assert.deepEqual([known.known, known.alike], [1, 0], 'the bank numbers its lines');

        const many = Array.from({ length: 25 }, (_, i) => ({ text: `x${i}`, amount: 900 + i }));
        await imported(server, many);
        const file = path.join(server.db.folder, 'later.csv');
        fs.writeFileSync(file, statement([...many, { text: 'new', amount: 1 }]));
        const { code, stdout, stderr } = await cli(server, ['import', file]);
        assert.equal(code, 0, stderr);
        assert.match(stdout, /1 new, 25 known, 0 matched, 1 left open/);
        assert.match(stdout, /of the known, 25 without a balance and without the bank's own number:\n {2}line 2 {2}2026-11-16 {2}900 {2}x0\n/);
        assert.match(stdout, /\.\.\. and 5 more/);
        assert.match(stderr, /an equal deposit of the same day: look at the account/);
        assert.equal(await booksAgree(server.db), 0);
    });

    test('G4 two imports of one file at once take each line once', async (t) => {
        const server = await bank(t, store);
        const all = [];
        for (let i = 0; i < 20; i++) all.push(await owes(server, 2000 + i));
        const file = statement(all.map((p) => paidBy(p)));
        const other = statement([...all].reverse().map((p) => paidBy(p)));
        const answers = await Promise.all([file, other, file, other].map((one) => importFile(server, one)));
        for (const answer of answers) assert.equal(answer.status, 200, answer.text);
        const sum = (name) => answers.reduce((n, { body }) => n + body[name], 0);
        assert.deepEqual([sum('new'), sum('known'), sum('matched'), sum('open')], [20, 60, 20, 0]);
        assert.equal(await server.db.count('audit', `operation = 'TRANSFER'`), 20);
        assert.equal(await server.db.count('domain_events', `type = 'PaymentCaptured'`), 20);
        assert.equal(await booksAgree(server.db), all.reduce((n, p) => n + p.amount, 0));
    });

    test('G4 what does not match is left for a person, with the reason and whom it may have meant', async (t) => {
        const server = await bank(t, store);
        const [little, much, typo, twice] = [await owes(server, 1001), await owes(server, 1002), await owes(server, 1003), await owes(server, 1004)];
        const swapped = `${typo.reference.slice(0, 7)}${typo.reference[8]}${typo.reference[7]}`;
        const wrong = swapped === typo.reference ? `${typo.reference.slice(0, 8)}${(Number(typo.reference[8]) + 1) % 10}` : swapped;
        const got = await imported(server, [
            paidBy(little, { amount: 1000 }), paidBy(much, { amount: 2000 }), { text: `${wrong} サトウ`, amount: 1003 },
            { text: 'スズキ', amount: 1004 }, paidBy(twice), paidBy(twice, { balance: 7 }),
            { text: `${little.reference} ${much.reference}`, amount: 1001 },
        ]);
        assert.deepEqual([got.new, got.matched, got.open], [7, 1, 6]);
        assert.deepEqual(got.left.map((l) => [l.line, l.reason]), [[2, 'too_little'], [3, 'too_much'], [4, 'unknown_reference'],
            [5, 'no_reference'], [7, 'already_paid'], [8, 'several_references']]);
        const open = await lines(server, 'open');
        const of = (reason) => open.find((l) => l.reason === reason);
        const first = (reason) => [of(reason).candidates[0]?.paymentId, of(reason).candidates[0]?.because];
        assert.deepEqual(first('too_little'), [little.id, 'reference']);
        assert.deepEqual(first('unknown_reference'), [typo.id, 'reference_near']);
        assert.deepEqual(of('no_reference').candidates, [], 'its payment has its money');
        for (const p of [little, much, typo]) assert.equal((await now(server, p)).status, 'PENDING');

        const half = await assign(server, of('too_little'), { paymentId: little.id });
        assert.equal(half.status, 422);
        assert.match(half.body.detail, /cannot be split/);
        const meant = await assign(server, of('unknown_reference'), { reference: typo.reference, note: 'a slip of the pen' });
        assert.equal(meant.status, 200, meant.text);
        assert.deepEqual([meant.body.state, meant.body.paymentId, meant.body.note], ['assigned', typo.id, 'a slip of the pen']);
        await becomes(server, typo, 'CAPTURED');
        const again = await assign(server, of('unknown_reference'), { paymentId: typo.id });
        assert.deepEqual([again.status, again.body.state], [200, 'assigned']);
        assert.equal((await assign(server, of('unknown_reference'), { paymentId: much.id })).status, 422);
        assert.equal(await booksAgree(server.db), 1003 + 1004);
    });

    test('G4 money that nobody can use goes back, and is listed until somebody sent it', async (t) => {
        const server = await bank(t, store);
        const [little, twice] = [await owes(server, 1500), await owes(server, 1600)];
        await imported(server, [paidBy(little, { amount: 1000 }), paidBy(twice), paidBy(twice, { balance: 9 })]);
        const open = await lines(server, 'open');
        const [short, double] = ['too_little', 'already_paid'].map((reason) => open.find((l) => l.reason === reason));

        const aside = await setAside(server, short, { reason: '不足', toBeReturned: true });
        assert.deepEqual([aside.status, aside.body.state, aside.body.note], [200, 'to_return', '不足']);
        assert.equal((await setAside(server, short, { reason: '不足', toBeReturned: true })).status, 200, 'twice says what is');
        const second = await assign(server, double, { paymentId: twice.id });
        assert.deepEqual([second.status, second.body.state, second.body.reason], [200, 'assigned', 'paid_twice']);
        const due = await returns(server);
        assert.deepEqual(due.map((r) => [r.kind, r.amount, r.paymentId, r.text?.slice(-6)]).sort(),
            [['line', 1000, null, 'マダ タロウ'.slice(-6)], ['refund', 1600, twice.id, 'マダ タロウ'.slice(-6)]]);

        for (const one of due) {
            for (let i = 0; i < 2; i++) {
                const answer = await sentBack(server, one);
                assert.deepEqual([answer.status, answer.body.state, answer.body.paidOn], [200, 'paid', '2026-11-20']);
            }
        }
        assert.deepEqual(await returns(server), []);
        assert.equal((await returns(server, 'paid')).length, 2);
        const paid = await now(server, twice);
        assert.deepEqual([paid.status, paid.refundedAmount, paid.refunds.map((r) => [r.amount, r.status])], ['CAPTURED', null, [[1600, 'succeeded']]]);
        assert.deepEqual((await lines(server, 'returned')).map((l) => l.id), [short.id]);
        assert.equal(await server.db.count('audit', `operation IN ('REFUND_PAID', 'LINE_RETURNED')`), 2);
        const kept = (await setAside(server, short, { reason: 'again' }));
        assert.equal(kept.status, 422);
    });

    test('G4 an operator confirms by hand, and the bank\'s line of it is no second payment', async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server, 3000);
        assert.equal((await confirm(server, payment, { amount: 2999 })).status, 422);
        const admin = uuid();
        const answer = await server.call('POST', `${TRANSFERS}/${payment.id}/confirm`, {
            bearer: token(admin, 'admin'), body: { amount: 3000, date: '2026-11-15', note: '通帳で確認' },
        });
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual([answer.body.state, answer.body.receivedOn, answer.body.lineId], ['received', '2026-11-15', null]);
        assert.deepEqual((await confirm(server, payment)).body.receivedOn, '2026-11-15', 'twice says what is');
        await becomes(server, payment, 'CAPTURED');
        const [audit] = await server.db.table('audit', `operation = 'TRANSFER'`);
        assert.equal(audit.detail, 'confirmed by an operator, 2026-11-15: 通帳で確認');
        assert.equal(audit.user_id, admin.replaceAll('-', ''));
        const got = await imported(server, [paidBy(payment, { balance: 1 }), paidBy(payment, { balance: 2 })]);
        assert.deepEqual([got.matched, got.open], [1, 1], 'the first explains it, the second is too much');
        assert.equal((await lines(server, 'matched'))[0].reason, 'confirmed_by_hand');
        assert.equal((await lines(server, 'open'))[0].reason, 'already_paid');
        assert.equal(await booksAgree(server.db), 3000);
    });

    test('G4 nobody pays: FAILED at the deadline; money that comes later is sent back, never lost', async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server, 4000);
        await server.advance(7 * DAY - 3600 * 1000);
        assert.equal((await now(server, payment)).status, 'PENDING');
        await server.advance(DAY + 3 * 3600 * 1000); // the end of that day in Japan, and the hour of grace
        const failed = await becomes(server, payment, 'FAILED');
        assert.equal(failed.failureReason, 'abandoned');
        assert.equal((await transferOf(server, payment)).state, 'canceled');
        const got = await imported(server, [paidBy(payment)]);
        assert.deepEqual(got.left.map((l) => l.reason), ['payment_ended']);
        const [line] = await lines(server, 'open');
        assert.deepEqual(line.candidates.map((c) => [c.paymentId, c.state]), [[payment.id, 'canceled']]);
        const answer = await assign(server, line, { paymentId: payment.id });
        assert.deepEqual([answer.status, answer.body.reason], [200, 'too_late']);
        assert.equal((await transferOf(server, payment)).state, 'returning');
        const [due] = await until('it is due', async () => (await returns(server)).length && returns(server));
        assert.deepEqual([due.kind, due.amount, due.paymentId, due.lineId], ['refund', 4000, payment.id, line.id]);
        assert.equal((await server.call('POST', `/api/v1/admin/refunds/${due.id}/paid`, { as: 'admin', body: { date: '2026-12-01' } })).status, 200);
        const after = await now(server, payment);
        assert.deepEqual([after.status, after.capturedAmount, after.refunds.map((r) => r.status)], ['FAILED', null, ['succeeded']]);
    });

    test('G4 a refund is pending until an operator sent it', async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server, 5000);
        await imported(server, [paidBy(payment)]);
        await becomes(server, payment, 'CAPTURED');
        const key = uuid();
        const part = await server.refund(payment, 2000, { as: 'admin', key, reason: '一部返金' });
        assert.equal(part.status, 200, part.text);
        assert.deepEqual([part.body.status, part.body.refundedAmount, part.body.refunds[0].status], ['CAPTURED', null, 'pending']);
        assert.equal((await server.refund(payment, 2000, { as: 'admin', key, reason: '一部返金' })).body.refunds.length, 1);
        assert.equal((await server.refund(payment, 3001, { as: 'admin' })).status, 422, 'what is pending is reserved');
        const [due] = await returns(server);
        assert.deepEqual([due.id, due.amount, due.note], [part.body.refunds[0].id, 2000, '一部返金']);
        assert.equal((await sentBack(server, due)).body.state, 'paid');
        assert.deepEqual((await now(server, payment)).refundedAmount, 2000);
        const rest = await server.refund(payment, undefined, { as: 'admin' });
        assert.equal(rest.status, 200, rest.text);
        await sentBack(server, (await returns(server))[0]);
        assert.deepEqual(await now(server, payment).then((p) => [p.status, p.refundedAmount]), ['REFUNDED', 5000]);
    });

    test('G4 a void cancels it while no money has come, and a cancelled booking sends money back', async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server, 6000);
        const gone = await server.void(payment);
        assert.deepEqual([gone.status, gone.body.status], [200, 'FAILED']);
        assert.equal((await transferOf(server, payment)).state, 'canceled');
        assert.equal((await confirm(server, payment)).body.state, 'returning', 'money came all the same');
        assert.equal((await until('due', async () => (await returns(server))[0])).amount, 6000);

        const paid = await owes(server, 6001);
        await imported(server, [paidBy(paid)]);
        assert.equal((await server.void(paid)).status, 422);
        assert.equal((await now(server, paid)).status, 'CAPTURED');

        const cancelled = await owes(server, 6002);
        await server.booking({ ...cancelled.booking, status: 'CANCELLED', version: Date.now() * 2 });
        await becomes(server, cancelled, 'FAILED');
        assert.equal((await imported(server, [paidBy(cancelled)])).left[0].reason, 'payment_ended');
        assert.equal(await booksAgree(server.db), 6001);
    });

    test('G4 D13 money that is confirmed or assigned while a void is under way: 503, try again, and nothing was changed', async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server, 6100);
        await imported(server, [{ text: 'ヤマダ', amount: 6100 }]);
        const [line] = await lines(server, 'open');
        // the gateway has cancelled it, and its payment has not heard of that yet
        await server.db.all(`UPDATE bank_transfers SET state = 'canceled'`);
        const before = await server.db.state();
        const answers = [await confirm(server, payment), await assign(server, line, { paymentId: payment.id })];
        for (const answer of answers) {
            assert.deepEqual([answer.status, answer.body.code], [503, 'OUTCOME_UNKNOWN'], answer.text);
            assert.equal(answer.headers['retry-after'], '1');
            assert.match(answer.body.detail, /being cancelled right now; try again/);
        }
        const ja = await server.call('POST', `${TRANSFERS}/${payment.id}/confirm`, {
            as: 'admin', body: { amount: 6100, date: '2026-11-16' }, headers: { 'Accept-Language': 'ja' },
        });
        assert.match(ja.body.detail, /取り消しています/);
        assert.deepEqual(await server.db.state(), before);
        const file = await imported(server, [paidBy(payment)]);
        assert.equal(file.left[0].reason, 'payment_ended', 'a file does not wait: its line is left for a person');
        await server.db.all(`UPDATE bank_transfers SET state = 'open'`);
        assert.equal((await confirm(server, payment)).body.state, 'received');
    });

    test('G4 voids, confirmations and a file at once: each payment ends one way, and no money is lost', async (t) => {
        const server = await bank(t, store);
        const all = [];
        for (let i = 0; i < 24; i++) all.push(await owes(server, 8000 + i));
        const [file, ...answers] = await Promise.all([
            importFile(server, statement(all.map((p) => paidBy(p)))),
            ...all.map((p, i) => (i % 3 === 0 ? confirm(server, p) : server.void(p))),
        ]);
        assert.equal(file.status, 200, file.text);
        for (const [i, answer] of answers.entries()) assert.ok([200, 422, 503].includes(answer.status), `${i}: ${answer.text}`);
        await until('nothing is under way', async () => (await server.db.count('operations', `phase <> 'done'`)) === 0);
        const open = new Set((await server.call('GET', `${TRANSFERS}/lines?state=open&limit=100`, { as: 'admin' })).body.data.map((l) => l.amount));
        const due = new Set((await server.call('GET', `${TRANSFERS}/returns?state=due&limit=100`, { as: 'admin' })).body.data.map((r) => r.paymentId));
        for (const payment of all) {
            const { status } = await now(server, payment);
            const { state } = await transferOf(server, payment);
            const where = `${status} ${state} ${open.has(payment.amount) ? 'line open' : ''} ${due.has(payment.id) ? 'due' : ''}`.trim();
            assert.match(where, /^(CAPTURED received|FAILED canceled line open|FAILED returning  due)$/);
        }
        await booksAgree(server.db);
    });

    test('G4 a file with problems says all of them with their lines, in both languages, and changes nothing', async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server, 7000);
        const before = await server.db.state();
        const good = `2026/11/16,${payment.reference},7000`;
        const bad = `日付,摘要,入金\n${good}\n2026/13/01,x,100\n2026/11/16,y,1万\n2026/11/16,"z,100\n`;
        const answer = await importFile(server, bad);
        assert.equal(answer.status, 400);
        assert.deepEqual(answer.body.errors, [
            { field: 'line 3, date', message: 'is not a date: 2026/13/01' },
            { field: 'line 4, amount', message: 'is not an amount of money' },
            { field: 'line 5', message: 'has a quote that is never closed' },
        ]);
        const japanese = await importFile(server, bad, { headers: { 'Accept-Language': 'ja' } });
        assert.equal(japanese.body.errors[0].message, '日付として読めません: 2026/13/01');
        const refused = [
            ['no headings', 'a,b\nc,d\n', 400], ['NUL', 'date,amount\n2026-11-16,1\0\n', 400], ['nothing', '', 400],
            ['no text at all', Buffer.from('ff fe 00 fd', 'hex'), 400], ['UTF-16', Buffer.from('date,amount\n', 'utf16le'), 400],
            ['only headings', 'date,amount\n', 400], ['too large', Buffer.alloc(4 * 1024 * 1024 + 1, 'a'), 413],
        ];
        for (const [why, body, status] of refused) assert.equal((await importFile(server, body)).status, status, why);
        assert.equal((await importFile(server, good, { headers: { 'Content-Type': 'application/json' } })).status, 415);
        assert.equal((await importFile(server, good, { headers: { 'Content-Type': 'text/csv; charset=utf-16' } })).status, 415);
        assert.equal((await importFile(server, good, { query: '?dryrun=true' })).status, 400);
        const many = await importFile(server, `date,amount\n${'x,y\n'.repeat(5000)}`);
        assert.equal(many.status, 400);
        assert.equal(many.body.errors.length, 101);
        assert.deepEqual(await server.db.state(), before);
        for (const as of [undefined, payment.userId]) {
            const got = await server.call('POST', `${TRANSFERS}/imports`, { as, body: good, headers: { 'Content-Type': 'text/csv' } });
            assert.equal(got.status, as ? 403 : 401);
        }
    });

    test('G4 files of many banks are read: Shift_JIS, eras, full-width, preambles, sums, named columns', async (t) => {
        const server = await bank(t, store);
        const all = [];
        for (let i = 0; i < 4; i++) all.push(await owes(server, 1100 + i));
        const wide = (text) => text.replaceAll(/[0-9]/g, (d) => String.fromCharCode(d.charCodeAt(0) + 0xfee0));
        const { execFileSync } = await import('node:child_process');
        const sjis = execFileSync('iconv', ['-f', 'UTF-8', '-t', 'CP932'], {
            input: `"口座番号","1234567"\r\n"年月日","お引出し","お預入れ額","お取り扱い内容","残高"\r\n"R8.11.16","","${wide('1,100')}","${wide(all[0].reference)}　ﾔﾏﾀﾞ","10,000"\r\n"合計","","1100","",""\r\n`,
        });
        assert.equal((await imported(server, sjis)).matched, 1);
        assert.equal((await imported(server, `取引日,入出金(円),取引後残高(円),入出金内容\n20261116,1101,5,${all[1].reference} ｻﾄｳ\n20261116,-300,4,カード\n`)).matched, 1);
        assert.equal((await imported(server, `Date\tPaid in\tPayer\n2026-11-16\t1,102.00\t${all[2].reference}\n`)).matched, 1);
        const odd = `when,who,howmuch\n2026.11.16,${all[3].reference},1103\n`;
        assert.equal((await importFile(server, odd)).status, 400);
        assert.equal((await imported(server, odd, { query: '?date=when&amount=howmuch&text=2' })).matched, 1);
        assert.equal(await booksAgree(server.db), 1100 + 1101 + 1102 + 1103);
    });

    test('G4 a dry run says what would be, and does nothing', async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server, 1300);
        const before = await server.db.state();
        const file = statement([paidBy(payment), paidBy(payment, { balance: 1 }), { text: 'タナカ', amount: 9 }]);
        const got = await imported(server, file, { query: '?dryRun=true' });
        assert.deepEqual([got.dryRun, got.importId, got.new, got.matched, got.open], [true, null, 3, 1, 2]);
        assert.deepEqual(await server.db.state(), before);
        assert.equal((await now(server, payment)).status, 'PENDING');
        assert.deepEqual(await imported(server, file).then((g) => [g.new, g.matched, g.open]), [3, 1, 2]);
        assert.equal((await imported(server, file, { query: '?dryRun=true' })).known, 3);
    });

    test('G4 kill -9 in the middle of an import loses nothing and doubles nothing', async (t) => {
        const db = await fresh(t, store);
        let server = await bank(t, store, { db });
        const all = [];
        for (let i = 0; i < 250; i++) all.push(await owes(server, 100 + i));
        await server.stop();
        const file = statement(all.map((p) => paidBy(p)));
        for (const fault of ['transfer.step=crash@1', 'transfer.step=crash@2', 'transfer.take=crash@30', 'transfer.take=crash@1']) {
            server = launch(t, db, { env: { ...BANK, ICHIDO_FAULTS: fault } });
            await server.listening();
            await assert.rejects(importFile(server, file));
            await server.exit;
            await booksAgree(db);
        }
        server = await bank(t, store, { db });
        assert.ok((await imports(server)).every((one) => one.state === 'interrupted'));
        const got = await imported(server, file);
        assert.equal(got.new + got.known, 250);
        assert.equal(got.open, 0);
        assert.equal(await booksAgree(db), all.reduce((n, p) => n + p.amount, 0));
        assert.equal(await db.count('audit', `operation = 'TRANSFER'`), 250);
        assert.equal(await db.count('domain_events', `type = 'PaymentCaptured'`), 250);
        assert.deepEqual((await imports(server)).map((one) => one.state), ['finished']);
    });

    test('G4 ten thousand lines go through in parts, with progress on the command line', { timeout: 300_000 }, async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server, 1400);
        const many = Array.from({ length: MANY }, (_, i) => ({ text: `カ）トクイサキ${i}`, amount: 10_000 + i, balance: i }));
        many[MANY - 1] = paidBy(payment, { balance: MANY });
        const file = path.join(server.db.folder, 'many.csv');
        fs.writeFileSync(file, statement(many));
        const run = await cli(server, ['import', file, '--json']);
        assert.equal(run.code, 0, run.stderr);
        const said = JSON.parse(run.stdout);
        assert.deepEqual([said.deposits, said.new, said.matched, said.open, said.next], [MANY, MANY, 1, MANY - 1, null]);
        assert.match(run.stderr, /of 10000 lines/);
        assert.equal(await server.db.count('bank_lines'), MANY);
        await becomes(server, payment, 'CAPTURED');
        const again = JSON.parse((await cli(server, ['import', file, '--json'])).stdout);
        assert.deepEqual([again.new, again.known], [0, MANY]);
        const seen = new Set();
        let cursor = '';
        for (let i = 0; i < 3; i++) {
            const { body } = await server.call('GET', `${TRANSFERS}/lines?state=open&limit=100${cursor}`, { as: 'admin' });
            for (const one of body.data) seen.add(one.id);
            cursor = `&cursor=${body.nextCursor}`;
        }
        assert.equal(seen.size, 300, 'pages do not overlap');
    });

    test('G4 the command line lists, confirms, assigns and sets aside through the server', async (t) => {
        const server = await bank(t, store);
        const [a, b] = [await owes(server, 1501), await owes(server, 1502)];
        const file = path.join(server.db.folder, 'some.csv');
        fs.writeFileSync(file, statement([{ text: 'ヤマダ', amount: 1501 }, { text: 'サトウ', amount: 7 }]));
        const dry = await cli(server, ['import', file, '--dry-run']);
        assert.equal(dry.code, 0, dry.stderr);
        assert.match(dry.stdout, /2 new, 0 known, 0 would be matched, 2 would be left open/);
        assert.equal((await cli(server, ['import', file])).code, 0);
        const open = (await cli(server, ['lines', '--state', 'open', '--json'])).stdout.trim().split('\n').map((l) => JSON.parse(l));
        assert.equal(open.length, 2);
        const table = await cli(server, ['lines']);
        assert.match(table.stdout, /^LINE\tDATE\tAMOUNT\tCUR\tSTATE\tREASON\tTEXT\n/);
        assert.match(table.stdout, /no_reference/);
        assert.match(table.stdout, new RegExp(`\n {4}perhaps ${a.reference} \\(${a.id}\\), 1501 JPY, \\w+: the same amount\n`));
        const mine = open.find((l) => l.amount === 1501);
        const other = open.find((l) => l.amount === 7);
        assert.equal((await cli(server, ['assign', mine.id, a.reference])).code, 0);
        await becomes(server, a, 'CAPTURED');
        const aside = await cli(server, ['set-aside', other.id, '--reason', '利息', '--return']);
        assert.equal(aside.code, 0, aside.stderr);
        assert.match((await cli(server, ['returns'])).stdout, /line/);
        assert.equal((await cli(server, ['paid', other.id, '--date', '2026-11-20'])).code, 0);
        assert.equal((await cli(server, ['confirm', b.id, '--amount', '1502', '--date', '2026-11-16', '--note', 'ok'])).code, 0);
        await becomes(server, b, 'CAPTURED');
        assert.match((await cli(server, ['list', '--state', 'received'])).stdout, new RegExp(b.reference));

        const wrong = await cli(server, ['confirm', b.id, '--amount', '1', '--date', '2026-11-16']);
        assert.equal(wrong.code, 1);
        assert.match(wrong.stderr, /only the exact amount/);
        for (const args of [[], ['nonsense'], ['import'], ['import', '/nowhere.csv'], ['confirm', b.id], ['list', '--what']]) {
            const { code, stderr } = await cli(server, args);
            assert.notEqual(code, 0, args.join(' '));
            assert.ok(stderr.length > 10, args.join(' '));
        }
        fs.writeFileSync(file, 'date,amount\nx,y\n');
        const bad = await cli(server, ['import', file]);
        assert.equal(bad.code, 1);
        assert.match(bad.stderr, /line 2, date: is not a date: x\n/);
        assert.match(bad.stderr, /ichido transfers: nothing was changed\n$/);
        assert.doesNotMatch(bad.stderr, /VALIDATION_ERROR/);
        fs.writeFileSync(file, 'when,how much\n2026-11-16,5\n');
        const nameless = await cli(server, ['import', file]);
        assert.match(nameless.stderr, /--date-column and --amount-column name the columns/);
        assert.doesNotMatch(nameless.stderr, /\?date=/);
    });

    test('G4 ichido transfers with a token that is none, or none at all, says what to do', async (t) => {
        const server = await bank(t, store);
        const payment = await owes(server, 1503);
        const file = path.join(server.db.folder, 'some.csv');
        fs.writeFileSync(file, statement([paidBy(payment)]));
        const commands = [['list'], ['import', file], ['confirm', payment.id, '--amount', '1503', '--date', '2026-11-16']];
        for (const args of commands) {
            const wrong = await cli(server, args, { env: { ICHIDO_ADMIN_TOKEN: 'wrong-token-0123456789abcdef' } });
            assert.equal(wrong.code, 1, args[0]);
            assert.match(wrong.stderr, /refused ICHIDO_ADMIN_TOKEN \(401\): it must be that server's token/);
            assert.doesNotMatch(wrong.stdout + wrong.stderr, /wrong-token/);
            const none = await cli(server, args, { env: { ICHIDO_ADMIN_TOKEN: undefined } });
            assert.notEqual(none.code, 0, args[0]);
            assert.match(none.stderr, /ICHIDO_ADMIN_TOKEN is not set: set it to that server's token/);
        }
        assert.equal(await server.db.count('bank_lines'), 0);
        assert.equal((await now(server, payment)).status, 'PENDING');
    });

    test('G4 where no route leads to it, there is no bank transfer', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_ROUTES: 'card=sandbox' } });
        const answer = await server.pay(await server.booking(), { paymentMethodType: 'bank_transfer' });
        assert.equal(answer.status, 422);
        assert.match(answer.body.detail, /No gateway here takes this payment method/);
        assert.deepEqual(await transfers(server), []);
    });
});
