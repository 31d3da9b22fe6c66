// One key, one effect: replays, conflicts, expiry, two at once, two nodes, crashes (I1 to I7, D1 D3 D5 T1 T4).
import crypto from 'node:crypto';
import {
    asHex, asUuid, assert, forEachStore, fresh, launch, Raw, start, stores, test, token, until, uuid,
} from './lib/harness.mjs';
import { quiet } from './lib/purchases.mjs';

const DAY = 24 * 3600_000;
const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');
const replayed = (answer) => answer.headers['idempotent-replayed'] === 'true';

function conflict(answer) {
    assert.equal(answer.status, 409, answer.text);
    assert.equal(answer.body.code, 'IDEMPOTENCY_CONFLICT');
}

forEachStore((store, test) => {
    test('T4 I2 the same key and the same content get the stored answer, byte for byte', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const key = uuid();
        const first = await server.pay(booking, { key });
        assert.equal(first.status, 201);
        assert.ok(!replayed(first));
        for (let i = 0; i < 3; i++) {
            const again = await server.pay(booking, { key });
            assert.equal(again.status, 200);
            assert.ok(replayed(again));
            assert.equal(again.text, first.text);
            assert.equal(again.headers.location, undefined);
        }
        assert.equal((await server.intents()).length, 1);
        assert.equal((await server.db.payments()).length, 1);
        assert.equal((await server.db.operations(first.body.id)).length, 1);
    });

    test('T4 I2 the same key and other content are 409, and nothing changes', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking({ amount: 700 });
        const other = await server.booking({ userId: booking.userId, amount: 700 });
        const key = uuid();
        const first = await server.pay(booking, { key });
        await quiet(server);
        const before = await server.db.state();
        const tries = [
            { ...booking, amount: 701 }, { ...booking, currency: 'USD' }, other,
        ];
        for (const changed of tries) conflict(await server.pay(changed, { key }));
        conflict(await server.pay(booking, { key, paymentMethod: 'pm_card_mastercard' }));
        assert.deepEqual(await server.db.state(), before);
        assert.equal((await server.intents()).length, 1);
        assert.equal((await server.pay(booking, { key })).text, first.text, 'the key still replays');
    });

    test('I2 a replay answers what was true then, not what is true now', async (t) => {
        const server = await start(t, store);
        const key = uuid();
        const payment = await server.paid({ key });
        await server.capture(payment);
        const again = await server.pay(payment.booking, { key });
        assert.equal(again.status, 200);
        assert.equal(again.body.status, 'AUTHORIZED');
        assert.equal((await server.payment(payment)).body.status, 'CAPTURED');
    });

    test('I2 capture, refund and void answer 200 both times; the header tells them apart', async (t) => {
        const server = await start(t, store);
        const one = await server.paid({}, { amount: 1000 });
        const steps = [
            (key) => server.capture(one, 800, { key }),
            (key) => server.refund(one, 300, { key, reason: 'half' }),
            (key) => server.refund(one, 300, { key, reason: 'half' }),
        ];
        for (const step of steps) {
            const key = uuid();
            const [first, again] = [await step(key), await step(key)];
            assert.deepEqual([first.status, again.status], [200, 200]);
            assert.deepEqual([replayed(first), replayed(again)], [false, true]);
            assert.equal(again.text, first.text);
        }
        const refunds = await server.stripe('/refunds?limit=100');
        assert.equal(refunds.data.length, 2, 'two keys, two refunds');
        const key = uuid();
        const two = await server.paid();
        const voids = [await server.void(two, { key }), await server.void(two, { key })];
        assert.deepEqual(voids.map(replayed), [false, true]);
        assert.equal(voids[0].text, voids[1].text);
    });

    test('I2 other content under the key of a capture or refund is 409', async (t) => {
        const server = await start(t, store);
        const [one, two] = [await server.paid({}, { amount: 1000 }), await server.paid({}, { amount: 1000 })];
        const [a, b] = [uuid(), uuid()];
        await server.capture(one, 500, { key: a });
        conflict(await server.capture(one, 501, { key: a }));
        conflict(await server.capture(one, undefined, { key: a }));
        conflict(await server.capture({ ...two, userId: one.userId }, 500, { key: a, as: one.userId }));
        await server.refund(one, 100, { key: b, reason: 'x' });
        conflict(await server.refund(one, 100, { key: b, reason: 'y' }));
        conflict(await server.refund(one, 100, { key: b }));
        assert.equal((await server.payment(one)).body.refundedAmount, 100);
    });

    test('I1 a key belongs to its user and its operation', async (t) => {
        const server = await start(t, store);
        const key = uuid();
        const mine = await server.paid({ key });
        const theirs = await server.paid({ key });
        assert.notEqual(mine.id, theirs.id);
        assert.equal((await server.capture(mine, 600, { key })).body.capturedAmount, 600);
        assert.equal((await server.refund(mine, 600, { key })).body.status, 'REFUNDED');
        assert.equal((await server.void(theirs, { key })).body.status, 'REFUNDED');
        const rows = await server.db.keys(`idempotency_key = ${server.db.blob(asHex(key))}`);
        assert.deepEqual(rows.map((row) => row.operation).sort(), ['CAPTURE', 'CREATE', 'CREATE', 'REFUND', 'VOID']);
    });

    test('I1 any UUID, either case, bare or quoted, is the same key', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const key = '018F9A3E-7b7a-7C3e-9a55-0242AC120002';
        const first = await server.pay(booking, { key });
        assert.equal(first.status, 201);
        assert.equal(first.body.idempotencyKey, key.toLowerCase());
        for (const spelt of [key.toUpperCase(), key.toLowerCase(), `"${key}"`, `"${key}";a=1`, ` ${key} `]) {
            const again = await server.pay(booking, { key: spelt });
            assert.equal(again.status, 200, spelt);
            assert.equal(again.text, first.text);
        }
        for (const other of ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
            '6ba7b810-9dad-11d1-80b4-00c04fd430c8', '919108f7-52d1-4320-9bac-f847db4148a8'])
            assert.equal((await server.pay(await server.booking(), { key: other })).status, 201, other);
    });

    test('I1 a key that is missing, malformed or there twice is 400', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const rows = ['', 'abc', '018f9a3e7b7a7c3e9a550242ac120002', '018f9a3e-7b7a-7c3e-9a55-0242ac12000', '{018f9a3e-7b7a-7c3e-9a55-0242ac120002}',
            '"018f9a3e-7b7a-7c3e-9a55-0242ac120002', `${uuid()}, ${uuid()}`, '018f9a3e-7b7a-7c3e-9a55-0242ac12000g'];
        for (const key of rows) {
            const { status, body } = await server.pay(booking, { key: undefined, headers: { 'Idempotency-Key': key } });
            assert.equal(status, 400, key);
            assert.deepEqual(body.errors, [{ field: 'Idempotency-Key', message: 'must be a UUID' }], key);
        }
        const body = { bookingId: booking.id, amount: booking.amount, currency: booking.currency };
        const missing = await server.call('POST', '/payments', { as: booking.userId, body });
        assert.deepEqual(missing.body.errors, [{ field: 'Idempotency-Key', message: 'is required' }]);
        const key = uuid();
        const twice = await server.call('POST', '/payments', { as: booking.userId, body, headers: { 'Idempotency-Key': [key, key] } });
        assert.deepEqual(twice.body.errors, [{ field: 'Idempotency-Key', message: 'must be given once' }]);
        assert.equal((await server.db.keys()).length, 0);
    });

    test('I3 the hash is of bookingId:amount:currency, and of the payment method where one is given', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking({ amount: 4321, currency: 'USD' });
        const key = uuid();
        const first = await server.pay({ ...booking, id: booking.id.toUpperCase() }, { key, currency: 'usd', description: 'one' });
        const [row] = await server.db.keys();
        assert.equal(row.request_hash, sha256(`${booking.id}:4321:USD`));
        assert.equal(row.operation, 'CREATE');
        assert.equal(asUuid(row.idempotency_key), key);
        assert.equal(row.response_body, first.text);
        assert.equal(row.response_status, 201);
        assert.equal(row.expires_at - row.created_at, DAY);
        const other = await server.pay(booking, { key, description: 'another description is the same order' });
        assert.equal(other.text, first.text);
        const second = await server.booking({ amount: 5 });
        await server.pay(second, { paymentMethod: 'pm_card_visa' });
        const hashes = (await server.db.keys()).map((one) => one.request_hash);
        assert.ok(hashes.includes(sha256(`${second.id}:5:JPY:pm_card_visa`)));
    });

    test('I3 how the body is written makes no difference', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking({ amount: 900 });
        const key = uuid();
        const first = await server.pay(booking, { key });
        const other = `\n{ "currency":"jp\\u0079" ,"amount" : 900,"paymentMethod":null,\t"bookingId":"${booking.id.toUpperCase()}"}`;
        const again = await server.call('POST', '/payments', { as: booking.userId, key, body: other });
        assert.equal(again.status, 200);
        assert.equal(again.text, first.text);
        const capture = uuid();
        await server.capture(first.body, undefined, { key: capture });
        for (const body of ['', '{}', ' { } ', undefined])
            assert.equal((await server.operate('capture', first.body, { key: capture, body })).status, 200, body);
        const none = await server.operate('capture', first.body, { key: capture, body: '{"amount":null}' });
        assert.equal(none.status, 400, 'no amount at all is all of it; an amount that is nothing is a mistake');
    });

    test('I2 T1 a key replays for 24 hours from its claim and not a moment longer; then it is new', async (t) => {
        const server = await start(t, store);
        const key = uuid();
        const declined = { key, paymentMethod: 'pm_card_chargeDeclined' };
        const payment = await server.paid(declined);
        await until('its intent is dead', async () => (await server.db.paymentRow(payment.id)).place_held === 0);
        const [{ created_at: claimed }] = await server.db.keys();
        const age = async () => (await server.call('POST', '/test/clock', { body: { advanceMs: 0 } })).body.nowMs - claimed;
        await server.advance(DAY - 1000 - await age());
        assert.equal((await server.pay(payment.booking, declined)).status, 200, '24 h - 1 s');
        await server.advance(Math.max(0, DAY - 100 - await age()));
        // The clock runs on: each try stands between two looks at it. Two clocks may differ a little.
        let fresh;
        while (!fresh) {
            const before = await age();
            const answer = await server.pay(payment.booking, declined);
            const after = await age();
            if (after <= DAY - 5) assert.equal(answer.status, 200, `${DAY - after} ms before the end`);
            if (before > DAY + 5) assert.equal(answer.status, 201, `${before - DAY} ms behind the end`);
            if (answer.status === 201) fresh = answer;
        }
        assert.notEqual(fresh.body.id, payment.id);
        const rows = await server.db.keys();
        assert.equal(rows.length, 1, 'the old claim made room');
        assert.equal(asUuid(rows[0].payment_id), fresh.body.id);
        const both = await server.db.payments();
        assert.deepEqual(both.map((row) => asUuid(row.idempotency_key)), [key, key], 'D3: not unique');
        assert.notEqual(both[0].claim_id, both[1].claim_id);
    });

    test('D5 an expired key gives the gateway another key: it is charged again, not shown the old answer', async (t) => {
        const server = await start(t, store);
        const key = uuid();
        const payment = await server.paid({ key });
        await server.void(payment);
        await server.advance(DAY + 1);
        const second = await server.pay(payment.booking, { key });
        assert.equal(second.status, 201);
        assert.equal(second.body.status, 'AUTHORIZED');
        const used = [...await server.db.operations(payment.id), ...await server.db.operations(second.body.id)]
            .map((row) => row.gateway_key);
        assert.equal(new Set(used).size, 3);
        assert.ok(used.every((one) => !one.includes(key) && !one.includes(asHex(key))));
    });

    test('I6 D5 the hourly job deletes claims that have expired, never one whose outcome is unknown', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ on: false });
        const old = [];
        for (let i = 0; i < 5; i++) old.push(await server.captured());
        await server.fault({ path: '/v1/payment_intents', method: 'POST', dropAfter: true, times: 10 });
        await server.fault({ path: '/v1/payment_intents', method: 'GET', statusBefore: 500, times: 100_000 });
        const booking = await server.booking();
        const key = uuid();
        const lost = await server.pay(booking, { key });
        assert.ok([502, 504].includes(lost.status), lost.text);
        await server.advance(DAY - 30 * 60_000);
        assert.equal((await server.refund(old[0])).status, 200); // the young key
        for (let i = 0; i < 3; i++) await server.advance(3600_000);
        const left = await until('the old ones are gone', async () => {
            const rows = await server.db.keys();
            return rows.length === 2 && rows;
        });
        const states = Object.fromEntries(left.map((row) => [asUuid(row.payment_id), row.state]));
        assert.deepEqual(states, { [old[0].id]: 'done', [lost.body.paymentId]: 'running' });
        for (const one of old) assert.equal((await server.payment(one)).status, 200, 'payments stay');
        await server.healed();
        const body = await until('the resolver knows', async () => {
            await server.advance(60_000);
            const got = await server.payment(lost.body.paymentId, booking.userId);
            return got.body.status === 'AUTHORIZED' && got.body;
        });
        assert.equal((await server.intents(body)).length, 1);
    });

    test('I4 two hundred clients with one key at once: one 201, 199 times 200, one body, one charge', async (t) => {
        const server = await start(t, store);
        await server.fault({ path: '/v1/payment_intents', method: 'POST', delayMs: 300 });
        const booking = await server.booking();
        const key = uuid();
        const bearer = token(booking.userId);
        const answers = await Promise.all(Array.from({ length: 200 }, () => server.pay(booking, { key, bearer })));
        const count = (status) => answers.filter((answer) => answer.status === status).length;
        assert.deepEqual([count(201), count(200)], [1, 199]);
        assert.equal(new Set(answers.map((answer) => answer.text)).size, 1);
        assert.deepEqual(new Set(answers.map((answer) => answer.status === 200 === replayed(answer))), new Set([true]));
        assert.equal((await server.intents()).length, 1);
        assert.equal((await server.db.payments()).length, 1);
        assert.equal((await server.db.operations(answers[0].body.id)).length, 1);
    });

    test('I4 fifty clients with one key at once capture once, and refund once', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({}, { amount: 1000 });
        for (const verb of ['capture', 'refund']) {
            const key = uuid();
            const answers = await Promise.all(Array.from({ length: 50 }, () =>
                server.operate(verb, payment, { key, body: { amount: 400 } })));
            assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]), verb);
            assert.equal(new Set(answers.map((answer) => answer.text)).size, 1);
            assert.equal(answers.filter(replayed).length, 49);
        }
        const { body } = await server.payment(payment);
        assert.deepEqual([body.capturedAmount, body.refundedAmount, body.refunds.length], [400, 400, 1]);
        assert.equal((await server.stripe('/refunds?limit=100')).data.length, 1);
    });

    test('I4 other content with the same key while the first still runs is 409 at once', async (t) => {
        const server = await start(t, store);
        await server.fault({ path: '/v1/payment_intents', method: 'POST', delayMs: 1500 });
        const booking = await server.booking({ amount: 700 });
        const key = uuid();
        const first = server.pay(booking, { key });
        await until('it is claimed', async () => (await server.db.keys()).length === 1);
        const other = await server.pay({ ...booking, amount: 701 }, { key });
        conflict(other);
        assert.ok(other.ms < 1000, `${other.ms} ms`);
        assert.equal((await first).status, 201);
    });

    test('I5 a decline is stored and replayed like any other answer', async (t) => {
        const server = await start(t, store);
        const key = uuid();
        const booking = await server.booking();
        const pay = () => server.pay(booking, { key, paymentMethod: 'pm_card_chargeDeclinedInsufficientFunds' });
        const first = await pay();
        assert.equal(first.status, 201);
        assert.equal(first.body.status, 'FAILED');
        assert.match(first.body.failureReason, /insufficient_funds|insufficient funds/i);
        const again = await pay();
        assert.equal(again.status, 200);
        assert.equal(again.text, first.text);
        assert.equal((await server.intents(first.body)).length, 1);
    });

    test('I5 a replay works after the booking is CONFIRMED, cancelled or changed', async (t) => {
        const server = await start(t, store);
        const key = uuid();
        const payment = await server.paid({ key });
        await server.capture(payment);
        await until('CONFIRMED', async () => (await server.bookingNow(payment.bookingId)).status === 'CONFIRMED');
        const again = await server.pay(payment.booking, { key });
        assert.equal(again.status, 200);
        assert.equal(again.body.id, payment.id);
    });

    test('I5 what is refused before the gateway claims no key: the same key may be used rightly afterwards', async (t) => {
        const server = await start(t, store);
        const key = uuid();
        const id = uuid();
        const booking = { id, userId: uuid(), amount: 900, currency: 'JPY' };
        const before = await server.db.state();
        assert.equal((await server.pay(booking, { key })).status, 404);
        assert.equal((await server.pay(booking, { key, amount: -1 })).status, 400);
        assert.deepEqual(await server.db.state(), before);
        await server.booking(booking);
        const stranger = await server.pay(booking, { key, as: uuid() });
        assert.equal(stranger.status, 403);
        assert.equal((await server.pay(booking, { key, amount: 901 })).status, 422);
        assert.equal((await server.db.keys()).length, 0);
        assert.equal((await server.pay(booking, { key })).status, 201);
    });

    test('I7 key, payment, event and message are there together or not at all', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_FAULTS: `${store.beforeCommit}=${store.refusal}@3` } });
        const rows = [];
        for (let i = 0; i < 6; i++) {
            const booking = await server.booking().catch(() => undefined);
            if (booking) rows.push([booking, await server.pay(booking).catch(() => undefined)]);
        }
        await until('nothing is under way', async () =>
            (await server.db.all(`SELECT count(*) AS n FROM message WHERE kind = 'op'`))[0].n === 0);
        const [payments, keys] = [await server.db.payments(), await server.db.keys()];
        assert.deepEqual(payments.map((one) => one.id).sort(), keys.map((one) => one.payment_id).sort());
        for (const { id } of payments) {
            const events = await server.db.domainEvents(asUuid(id));
            assert.equal(events[0].type, 'PaymentCreated');
            assert.equal((await server.db.operations(asUuid(id))).length, 1);
        }
    });

    test('I4 after a crash the same key goes on where it stopped: one payment, one charge', async (t) => {
        for (const point of ['op.calling', 'op.answered', 'op.settling', 'op.settled']) {
            const db = await fresh(t, store);
            const doomed = launch(t, db, { env: { ICHIDO_FAULTS: `${point}=crash` } });
            await doomed.listening();
            const booking = await doomed.booking();
            const key = uuid();
            await doomed.pay(booking, { key }).catch(() => {});
            await doomed.exit;
            const server = await start(t, store, { db });
            const answer = await until(`${point}: an answer`, async () => {
                const got = await server.pay(booking, { key });
                return [200, 201].includes(got.status) && got;
            }, 60_000);
            assert.equal(answer.body.status, 'AUTHORIZED', point);
            assert.equal((await server.intents()).length, 1, point);
            assert.equal((await server.db.payments()).length, 1, point);
            const again = await server.pay(booking, { key });
            assert.equal(again.status, 200);
            assert.equal(again.text, answer.text);
            await server.stop();
        }
    });

    test('I4 a client that goes away changes nothing: its key replays the answer', async (t) => {
        const server = await start(t, store);
        await server.fault({ path: '/v1/payment_intents', method: 'POST', delayMs: 500 });
        const booking = await server.booking();
        const key = uuid();
        const body = JSON.stringify({ bookingId: booking.id, amount: booking.amount, currency: booking.currency });
        const raw = new Raw(server.port);
        raw.send(`POST /payments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token(booking.userId)}\r\n`
            + `Idempotency-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        await until('it is claimed', async () => (await server.db.keys()).length === 1);
        raw.destroy();
        const again = await server.pay(booking, { key });
        assert.equal(again.status, 200);
        assert.ok(replayed(again));
        assert.equal(again.body.status, 'AUTHORIZED');
        assert.equal((await server.intents()).length, 1);
    });
});

const postgres = stores.find((store) => store.kind === 'postgres');
if (postgres) {
    const pair = async (t) => {
        const first = await start(t, postgres);
        const second = await start(t, postgres, { db: first.db, env: {
            ICHIDO_SANDBOX_LISTEN: 'off', STRIPE_API_BASE: `http://127.0.0.1:${first.sandboxPort}`,
        } });
        return [first, second];
    };

    test('I4 two hundred clients with one key on two nodes: one 201, 199 times 200, one body, one charge [PostgreSQL]', async (t) => {
        const nodes = await pair(t);
        await nodes[0].fault({ path: '/v1/payment_intents', method: 'POST', delayMs: 300 });
        const booking = await nodes[0].booking();
        const key = uuid();
        const bearer = token(booking.userId);
        const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => nodes[i % 2].pay(booking, { key, bearer })));
        const count = (status) => answers.filter((answer) => answer.status === status).length;
        assert.deepEqual([count(201), count(200)], [1, 199], answers.find((a) => a.status > 201)?.text);
        assert.equal(new Set(answers.map((answer) => answer.text)).size, 1);
        assert.equal((await nodes[0].intents()).length, 1);
        assert.equal((await nodes[0].db.payments()).length, 1);
    });

    test('D1 two nodes, ten keys each, one booking: one payment, one charge [PostgreSQL]', async (t) => {
        const nodes = await pair(t);
        const booking = await nodes[0].booking();
        const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => nodes[i % 2].pay(booking)));
        assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
        for (const answer of answers.filter((one) => one.status !== 201))
            assert.equal(answer.body.code, 'PAYMENT_EXISTS', answer.text);
        assert.equal((await nodes[0].intents()).length, 1);
    });

    test('I4 a replay on the other node is the same answer [PostgreSQL]', async (t) => {
        const [one, two] = await pair(t);
        const key = uuid();
        const payment = await one.paid({ key });
        const again = await two.pay(payment.booking, { key });
        assert.equal(again.status, 200);
        assert.ok(replayed(again));
        assert.equal(again.body.id, payment.id);
        assert.equal((await two.capture(payment)).body.status, 'CAPTURED');
        assert.equal((await one.payment(payment)).body.status, 'CAPTURED');
    });
}
