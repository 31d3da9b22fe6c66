// Payments as an operator finds them, looks at them and works on them (O8): by the admin API and by the command line.
import { spawn } from 'node:child_process';
import os from 'node:os';
import { asHex, assert, forEachStore, PROGRAM, programEnv, start, token, until, uuid } from './lib/harness.mjs';
import { Collection } from './lib/collections.mjs';
import { record } from './lib/evidence.mjs';
import { bought, campaign } from './lib/purchases.mjs';
import { SECRET } from './lib/stripe.mjs';
import { ADMIN_TOKEN } from './lib/tokens.mjs';
import { bank, owes } from './lib/transfers.mjs';

const ADMIN = '/api/v1/admin/payments';

async function found(server, parameters = {}, options = { as: 'admin' }) {
    const answer = await server.call('GET', `${ADMIN}?${new URLSearchParams(parameters).toString().replaceAll('+', '%20')}`, options);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
}
const ids = ({ data }) => data.map(({ id }) => id);
const by = async (server, q) => {
    const page = await found(server, { q });
    return [ids(page), page.matchedBy];
};
const shown = async (server, payment) => {
    const answer = await server.call('GET', `${ADMIN}/${payment.id ?? payment}`, { as: 'admin' });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
};
const act = (server, verb, payment, { key = uuid(), body = {}, as = 'admin', ...rest } = {}) =>
    server.call('POST', `${ADMIN}/${payment.id}/${verb}`, { as, key, body, ...rest });

// All pages, one behind the other.
async function walked(server, parameters) {
    const all = [];
    let cursor;
    do {
        const page = await found(server, { ...parameters, ...(cursor && { cursor }) });
        all.push(...page.data);
        cursor = page.nextCursor;
    } while (cursor);
    return all;
}

// The command line as an operator runs it.
function cli(server, args, { env = {} } = {}) {
    const all = {
        ...programEnv, ICHIDO_DB: server.db.url,
        ICHIDO_LISTEN: `127.0.0.1:${server.port}`, ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN, STRIPE_WEBHOOK_SECRET: SECRET, ...env,
    };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const child = spawn(PROGRAM, args, { cwd: os.tmpdir(), env: given, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
        child[name].setEncoding('utf8').on('data', (part) => {
            record(part);
            said[name] += part;
        });
    return new Promise((resolve) => { child.on('close', (code) => resolve({ ...said, code })); });
}

forEachStore((store, test) => {
    test('O8 a payment is found by every id that somebody may have in his hand', async (t) => {
        const server = await start(t, store);
        const refundKey = uuid(), captureKey = uuid();
        const payment = await server.paid({ paymentMethod: 'pm_card_visa' });
        await server.capture(payment, undefined, { key: captureKey });
        const { body: refunded } = await server.refund(payment, 300, { key: refundKey });
        await server.paid(); // another one, that is never meant
        const [row] = await server.db.refundRows(payment.id);
        const [transaction] = await server.db.table('payment_transactions',
            `stripe_payment_intent_id = '${payment.gatewayTransactionId}'`);
        const charge = transaction.stripe_charge_id ?? await until('the charge is known', async () =>
            (await server.db.table('payment_transactions', `stripe_payment_intent_id = '${payment.gatewayTransactionId}'`))[0].stripe_charge_id);
        const event = await until('an event was applied', async () => (await server.db.all(`SELECT e.stripe_event_id AS id
            FROM webhook_events e JOIN webhook_outcomes o ON o.message_id = e.message_id
            WHERE o.payment_id = ${server.db.blob(asHex(payment.id))}`))[0]?.id);

        const rows = [
            [payment.id, 'paymentId'], [payment.booking.id, 'bookingId'], [payment.userId, 'userId'],
            [payment.idempotencyKey, 'idempotencyKey'], [captureKey, 'idempotencyKey'], [refundKey, 'idempotencyKey'],
            [refunded.refunds[0].id, 'refundId'], [payment.gatewayTransactionId, 'providerId'], [charge, 'providerId'],
            [row.gateway_refund_id, 'providerId'], [event, 'eventId'],
        ];
        for (const [q, as] of rows) assert.deepEqual(await by(server, q), [[payment.id], [as]], `${as}: ${q}`);
        assert.deepEqual(await by(server, `${payment.gatewayTransactionId}_secret_abc`), [[payment.id], ['providerId']]);
        assert.deepEqual(await by(server, asHex(payment.id).toUpperCase()), [[payment.id], ['paymentId', 'providerId']], 'without dashes');
    });

    test('O8 as people paste it: full-width, upper case, blanks, marks that nobody sees, quotes', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const wide = (text) => text.replaceAll(/[!-~]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0));
        for (const q of [wide(payment.id), payment.id.toUpperCase(), `  ${payment.id}\n`, `\u3000${payment.id}\u3000`, `\u200f${payment.id}\u202e`,
            `"${payment.id}"`, payment.id.replaceAll('-', '\u2010')])
            assert.deepEqual(await by(server, q), [[payment.id], ['paymentId']], JSON.stringify(q));
        assert.deepEqual(await by(server, wide(payment.gatewayTransactionId)), [[payment.id], ['providerId']]);
        const all = await found(server, { q: ' \u3000 ' });
        assert.deepEqual([ids(all), all.matchedBy], [[payment.id], []], 'blanks alone are no text');
    });

    test('O8 what nobody knows is an empty list; what cannot be a text is 400; nothing falls over', async (t) => {
        const server = await start(t, store);
        await server.paid();
        for (const q of ['pi_unknown', uuid(), '山田', "' OR 1=1 --", '%', '%25_', 'x'.repeat(255), '🙂'.repeat(255), '\u0001\u0007', '123456786',
            '\u202e\u2066x', '{}', 'evt_', '0'.repeat(32), `${'a'.repeat(32)}-2`, '99999999999999999999', '\u{10ffff}'])
            assert.deepEqual(await by(server, q), [[], []], q.slice(0, 20));
        for (const query of ['q=a%00b', 'q=%ff', 'q=%e3%81', `q=${'x'.repeat(256)}`, 'q=a&q=b', 'status=paid', 'context=x', 'gateway=', 'gateway=a%20b', 'from=today',
            'from=2026-11-16T00:00:00Z&to=2026-11-15T00:00:00Z', 'userId=1', 'bookingId=1', 'limit=0', 'limit=101', 'cursor=x', `cursor=${'A'.repeat(33)}`, 'colour=red']) {
            const { status, body } = await server.call('GET', `${ADMIN}?${query}`, { as: 'admin' });
            assert.deepEqual([status, body.code], [400, 'VALIDATION_ERROR'], query.slice(0, 40));
        }
        const huge = await server.call('GET', `${ADMIN}?q=${'x'.repeat(1024 * 1024)}`, { as: 'admin' }).catch(() => ({ status: 414 }));
        assert.ok([400, 414, 431].includes(huge.status), `${huge.status}`);
        for (const cursor of ['A'.repeat(32), '_'.repeat(32), 'f'.repeat(32)]) await found(server, { cursor });
        assert.equal((await server.get('/healthz')).status, 200);
    });

    test('O8 every filter, alone and in pairs, finds what SQL finds; pages neither skip nor repeat', { timeout: 300_000 }, async (t) => {
        const server = await start(t, store);
        const user = uuid();
        const { positions } = await campaign(server);
        for (let i = 0; i < 3; i++) await server.paid({}, { userId: user });
        const failed = await server.paid({ paymentMethod: 'pm_card_chargeDeclined' }, { userId: user });
        await server.captured();
        await server.advance(3_600_000);
        for (const position of positions) await bought(server, position, { as: user });
        await server.paid();
        // One of a gateway that is not set up any more.
        await server.db.all(`UPDATE payments SET gateway = 'old' WHERE id = ${server.db.blob(asHex(failed.id))}`);
        await until('nothing moves any more', async () => (await server.db.count('payments', `status = 'CAPTURED'`)) === 4);

        const rows = (await server.db.table('payments')).sort((a, b) => (a.id < b.id ? 1 : -1));
        const middle = new Date(rows.find((row) => row.context === 'booking' && row.created_at < rows[0].created_at - 60_000).created_at + 1);
        const filters = {
            status: ['CAPTURED', (row) => row.status === 'CAPTURED'], failed: ['FAILED', (row) => row.status === 'FAILED'],
            context: ['purchase', (row) => row.context === 'purchase'], gateway: ['old', (row) => row.gateway === 'old'],
            sandbox: ['sandbox', (row) => row.gateway === 'sandbox'], userId: [user, (row) => row.user_id === asHex(user)],
            bookingId: [failed.booking.id, (row) => row.booking_id === asHex(failed.booking.id)],
            from: [middle.toISOString(), (row) => row.created_at >= middle.getTime()], to: [middle.toISOString(), (row) => row.created_at < middle.getTime()],
            q: [user, (row) => row.user_id === asHex(user)],
        };
        const nameOf = { failed: 'status', sandbox: 'gateway' };
        const names = Object.keys(filters);
        assert.ok(rows.some((row) => row.gateway === 'sandbox'), rows[0].gateway);
        for (const one of names)
            for (const two of names) {
                const [a, b] = [nameOf[one] ?? one, nameOf[two] ?? two];
                if ((a === b && one !== two) || (a === 'from' && b === 'to') || (a === 'to' && b === 'from')) continue;
                const wanted = rows.filter((row) => filters[one][1](row) && filters[two][1](row)).map((row) => row.id);
                const got = (await walked(server, { [a]: filters[one][0], [b]: filters[two][0], limit: 2 })).map(({ id }) => asHex(id));
                assert.deepEqual([...got].sort(), [...wanted].sort(), `${one} and ${two}`);
                if (a !== 'status' && b !== 'status') assert.deepEqual(got, wanted, `${one} and ${two}: newest first`);
            }
        assert.deepEqual((await walked(server, { limit: 3 })).map(({ id }) => asHex(id)), rows.map((row) => row.id));
        assert.deepEqual((await found(server, { gateway: 'never' })).data, []);
    });

    test('O8 purchases, participants, checkout sessions and their second keys, bank references, intents that wait', async (t) => {
        const server = await bank(t, store);
        const { positions: [position] } = await campaign(server);
        const { purchase, payment } = await bought(server, position);
        assert.deepEqual(await by(server, purchase.id), [[payment.id], ['subjectId']]);

        const collection = await Collection.make(server);
        const first = await collection.session();
        const secondKey = uuid();
        const second = await collection.session(undefined, { key: secondKey });
        const of = first.payment.id;
        assert.deepEqual(await by(server, collection.people[0].id), [[of], ['subjectId']]);
        for (const q of [first.checkout.sessionId, second.checkout.sessionId]) assert.deepEqual(await by(server, q), [[of], ['providerId']], q);
        assert.deepEqual(await by(server, secondKey), [[of], ['idempotencyKey']], 'another try of the same payment');

        const waits = await owes(server);
        for (const q of [waits.reference, `${waits.reference.slice(0, 3)}-${waits.reference.slice(3, 6)} ${waits.reference.slice(6)}`])
            assert.deepEqual(await by(server, q), [[waits.id], ['reference']], q);
        assert.deepEqual(await by(server, waits.gatewayTransactionId), [[waits.id], ['providerId']], 'before any money came');
        const asks = await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' });
        assert.deepEqual(await by(server, asks.gatewayTransactionId), [[asks.id], ['providerId']], 'before the customer has answered');
    });

    test('O8 one key that many used: all of their payments, page by page', async (t) => {
        const server = await start(t, store);
        const key = uuid();
        const made = [];
        for (let i = 0; i < 5; i++) made.unshift((await server.paid({ key })).id);
        assert.deepEqual((await walked(server, { q: key, limit: 2 })).map(({ id }) => id), made);
        const { body } = await server.call('GET', `/api/v1/admin/keys/${key}`, { as: 'admin' });
        assert.deepEqual(body.data.map((use) => [use.operation, use.state, use.status, use.paymentId]), made.map((id) => ['CREATE', 'done', 201, id]));
    });

    test('O8 what a key did: done, expired after a day, running; nothing of a key that nobody used', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const key = uuid();
        await server.capture(payment, undefined, { key });
        const uses = async (k) => (await server.call('GET', `/api/v1/admin/keys/${k}`, { as: 'admin' })).body.data;
        const [use] = await uses(key.toUpperCase());
        assert.deepEqual([use.userId, use.operation, use.state, use.status, use.paymentId], [payment.userId, 'CAPTURE', 'done', 200, payment.id]);
        assert.equal(Date.parse(use.expiresAt) - Date.parse(use.createdAt), 24 * 3600 * 1000);
        await server.advance(24 * 3600 * 1000 + 5000);
        assert.deepEqual((await uses(key)).map((one) => one.state), ['expired']);
        await until('the record is gone', async () => {
            await server.advance(3_600_000);
            return !(await server.db.keys(`idempotency_key = ${server.db.blob(asHex(key))}`)).length;
        });
        const [gone] = await uses(key);
        assert.deepEqual([gone.state, gone.status, gone.expiresAt, gone.paymentId], ['expired', null, null, payment.id]);
        assert.deepEqual(await uses(uuid()), []);
        const { status } = await server.call('GET', '/api/v1/admin/keys/abc', { as: 'admin' });
        assert.equal(status, 400);
        assert.deepEqual(await by(server, key), [[payment.id], ['idempotencyKey']], 'the payment is found all the same');
    });

    test('O8 what may be done is what would be done: state by state, amount by amount', async (t) => {
        const server = await start(t, store);
        const no = { capture: false, captureMax: null, refund: false, refundMax: null, void: false };
        const payment = await server.paid();
        const can = async () => (await shown(server, payment)).can;
        assert.deepEqual(await can(), { ...no, capture: true, captureMax: 1200, void: true });
        assert.equal((await act(server, 'capture', payment, { body: { amount: 1201 } })).status, 422);
        assert.equal((await act(server, 'refund', payment)).status, 422);
        assert.equal((await act(server, 'capture', payment, { body: { amount: 1000 } })).status, 200);
        assert.deepEqual(await can(), { ...no, refund: true, refundMax: 1000 });
        assert.equal((await act(server, 'refund', payment, { body: { amount: 1001 } })).status, 422);
        assert.equal((await act(server, 'refund', payment, { body: { amount: 400, reason: '返金' } })).status, 200);
        assert.deepEqual(await can(), { ...no, refund: true, refundMax: 600 });
        assert.equal((await act(server, 'void', payment)).status, 422);
        assert.equal((await act(server, 'refund', payment)).status, 200);
        assert.deepEqual(await can(), no);

        const failed = await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });
        assert.deepEqual((await shown(server, failed)).can, no);
        const cancelled = await server.paid();
        await server.booking({ ...cancelled.booking, status: 'CANCELLED' });
        const now = await shown(server, cancelled);
        assert.equal(now.can.capture, false, now.status);

        const one = await shown(server, payment);
        assert.deepEqual(one.operations.map((o) => [o.kind, o.phase, o.cause, o.amount]),
            [['create', 'done', 'client', null], ['capture', 'done', 'client', 1000], ['refund', 'done', 'client', 400], ['refund', 'done', 'client', 600]]);
        assert.deepEqual(one.transactions.map((o) => [o.id, o.status]), [[payment.gatewayTransactionId, 'succeeded']]);
        assert.deepEqual([one.context, one.gateway, one.openOperation, one.givenUp, one.refunds.length], ['booking', 'sandbox', null, false, 2]);
    });

    test('O8 A3 operators act, viewers look, others are sent away; every act names who did it', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const operator = uuid();
        const viewer = { bearer: token(uuid(), 'viewer') };
        assert.equal((await act(server, 'capture', payment, { as: undefined, ...viewer })).status, 403);
        for (const path of [ADMIN, `${ADMIN}/${payment.id}`, `/api/v1/admin/keys/${uuid()}`]) {
            assert.equal((await server.call('GET', path, viewer)).status, 200, path);
            assert.equal((await server.call('GET', path, { as: payment.userId })).status, 403, path);
            assert.equal((await server.call('GET', path, { bearer: token(uuid(), 'service') })).status, 403, path);
            assert.equal((await server.call('GET', path)).status, 401, path);
        }
        for (const verb of ['capture', 'refund', 'void']) {
            assert.equal((await act(server, verb, payment, { as: payment.userId })).status, 403, verb);
            assert.equal((await act(server, verb, payment, { as: null })).status, 401, verb);
        }
        assert.equal((await server.payment(payment)).body.status, 'AUTHORIZED', 'nobody has changed anything');
        const key = uuid();
        const doing = { as: undefined, bearer: token(operator, 'admin'), key };
        const first = await act(server, 'capture', payment, doing);
        const again = await act(server, 'capture', payment, doing);
        assert.deepEqual([first.status, again.status, again.headers['idempotent-replayed']], [200, 200, 'true']);
        assert.equal(first.text, again.text);
        const audit = await server.db.table('audit', `operation = 'CAPTURE'`);
        assert.deepEqual(audit.map((row) => [row.user_id, row.payment_id, row.result]), [[asHex(operator), asHex(payment.id), 'success']]);
        assert.equal((await act(server, 'capture', payment, { key: '' })).status, 400, 'a key is needed');
        assert.equal((await server.call('GET', `${ADMIN}/${uuid()}`, { as: 'admin' })).status, 404);
        assert.equal((await server.call('GET', `${ADMIN}/x`, { as: 'admin' })).status, 400);
    });

    test('O8 the command line: list, find, show, capture, refund, void, keys; with a server and without', { timeout: 300_000 }, async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ description: 'ホテル 山田様' });
        await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });
        const lines = async (args) => {
            const got = await cli(server, [...args, '--json']);
            assert.equal(got.code, 0, got.stderr);
            return got.stdout.trim().split('\n').map((line) => JSON.parse(line));
        };
        assert.equal((await lines(['payments', 'list'])).length, 2);
        assert.deepEqual((await lines(['payments', 'list', '--status', 'FAILED', '--from', '1h', '--context', 'booking', '--gateway', 'sandbox'])).length, 1);
        assert.deepEqual(ids({ data: await lines(['payments', 'find', payment.gatewayTransactionId]) }), [payment.id]);
        const plain = await cli(server, ['payments', 'list', '--user', payment.userId]);
        assert.match(plain.stdout, new RegExp(`^${payment.id}\\t\\S+\\tAUTHORIZED\\tJPY\\tbooking\\tsandbox\\t1200\\t${payment.booking.id}\\t${payment.userId}\\tホテル 山田様\n$`));
        assert.match((await cli(server, ['payments', 'show', payment.id])).stdout, /amount {8}1,200 JPY\n[^]*can {11}capture up to 1,200 JPY, void\n/);
        assert.equal((await lines(['payments', 'timeline', payment.id]))[0].paymentId, payment.id);

        const asked = await cli(server, ['payments', 'capture', payment.id, '--amount', '1000']);
        assert.deepEqual([asked.code, asked.stdout], [2, '']);
        assert.match(asked.stderr, /this would capture 1,000 JPY; add --yes/);
        const key = uuid();
        for (let i = 0; i < 2; i++) {
            const did = await cli(server, ['payments', 'capture', payment.id, '--amount', '1000', '--key', key, '--yes']);
            assert.deepEqual([did.code, did.stdout], [0, 'it is CAPTURED now\n'], did.stderr);
        }
        assert.equal((await cli(server, ['payments', 'capture', payment.id, '--yes'])).code, 1, 'once is all');
        assert.equal((await cli(server, ['payments', 'refund', payment.id, '--amount', '100', '--reason', '返金', '--yes'])).code, 0);
        const [use] = await lines(['keys', 'find', key]);
        assert.deepEqual([use.operation, use.state, use.paymentId], ['CAPTURE', 'done', payment.id]);

        for (const args of [['payments'], ['payments', 'pay'], ['payments', 'list', 'x'], ['payments', 'show'], ['payments', 'show', 'pi_1'], ['payments', 'find'],
            ['payments', 'list', '--status', 'paid'], ['payments', 'void', payment.id, '--amount', '1'], ['payments', 'list', '--from', '1h', '--to', '2h'],
            ['payments', 'refund', payment.id, '--amount', '0', '--yes'], ['keys'], ['keys', 'find'], ['keys', 'find', 'x']])
            assert.equal((await cli(server, args)).code, 2, args.join(' '));
        for (const args of [['payments', '--help'], ['keys', '--help']]) assert.equal((await cli(server, args)).code, 0);
        assert.equal((await cli(server, ['payments', 'show', uuid()])).code, 1);
        assert.equal((await cli(server, ['payments', 'find', 'pi_nobody'])).code, 1);
        assert.equal((await cli(server, ['keys', 'find', uuid()])).code, 1);

        await server.stop();
        assert.equal((await lines(['payments', 'list'])).length, 2, 'on the store itself');
        assert.deepEqual((await lines(['payments', 'show', payment.id]))[0].status, 'CAPTURED');
        assert.deepEqual((await lines(['keys', 'find', key]))[0].operation, 'CAPTURE');
        const alone = await cli(server, ['payments', 'refund', payment.id, '--yes']);
        assert.equal(alone.code, 1);
        assert.match(alone.stderr, store.kind === 'sqlite' ? /no server has this database; start one/ : /does not answer/);
        const none = await cli(server, ['payments', 'list'], { env: { ICHIDO_DB: 'sqlite:/nowhere/at/all.db' } });
        assert.deepEqual([none.code, /there is no database at/.test(none.stderr)], [1, true]);
    });
});
