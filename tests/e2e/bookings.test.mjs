// What can be paid: bookings through the API and as CloudEvents, what a capture makes of them, and what
// their cancellation does to money under way (B1 B3 D21).
import crypto from 'node:crypto';
import { CloudEvent, HTTP } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { ADMIN_TOKEN, assert, forEachStore, start, token, until, uuid } from './lib/harness.mjs';
import { captureThere, eventOf, silent, tell } from './lib/events.mjs';
import { remember } from './lib/evidence.mjs';

const SECRET = `whsec_${crypto.randomBytes(32).toString('base64')}`;
remember(SECRET);
const EVENTS = '/api/v1/events';
const SOURCE = 'https://booking.example/events';
const service = () => token(uuid(), 'service');

const put = (server, id, body, how = {}) =>
    server.call('PUT', `/api/v1/bookings/${id}`, { bearer: service(), body, ...how });
const facts = (changes = {}) => ({ userId: uuid(), amount: 1200, currency: 'JPY', ...changes });

// A structured event. `data` undefined: none.
const event = (type, data, changes = {}) => ({
    specversion: '1.0', id: uuid(), source: SOURCE, type, data, ...changes,
});
const post = (server, body, { type = 'application/cloudevents+json', headers = {}, bearer = service() } = {}) =>
    server.call('POST', EVENTS, {
        bearer, body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'Content-Type': type, ...headers },
    });
const signed = (text, at = new Date(), id = `msg_${uuid()}`) => ({
    'webhook-id': id, 'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(SECRET).sign(id, at, text),
});
const outcomes = (db) => db.all('SELECT outcome FROM inbound_events ORDER BY received_at, key')
    .then((rows) => rows.map(({ outcome }) => outcome).sort());
const fields = (answer) => {
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.body.code, 'VALIDATION_ERROR');
    return (answer.body.errors ?? []).map(({ field }) => field).sort();
};

forEachStore((store, test) => {
    test('B1 a booking that is put can be read by its owner and by services', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        const body = facts({ amount: 4800, version: 3 });
        const made = await put(server, id, body);
        assert.equal(made.status, 201, made.text);
        const { createdAt, updatedAt, ...rest } = made.body;
        assert.deepEqual(rest, { id, ...body, status: 'PENDING', version: 3 });
        assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        assert.equal(updatedAt, createdAt);
        for (const bearer of [service(), token(body.userId), ADMIN_TOKEN]) {
            const seen = await server.call('GET', `/api/v1/bookings/${id.toUpperCase()}`, { bearer });
            assert.equal(seen.status, 200);
            assert.deepEqual(seen.body, made.body);
        }
        const stranger = await server.call('GET', `/api/v1/bookings/${id}`, { as: uuid() });
        assert.equal(stranger.status, 403);
        assert.ok(!stranger.text.includes(body.userId));
        assert.equal((await server.call('GET', `/api/v1/bookings/${id}`)).status, 401);
        assert.equal((await server.call('GET', `/api/v1/bookings/${uuid()}`, { bearer: service() })).status, 404);
        assert.deepEqual(fields(await server.call('GET', '/api/v1/bookings/7', { bearer: service() })), ['id']);
    });

    test('B1 only services say what can be paid', async (t) => {
        const server = await start(t, store);
        const body = facts();
        const id = uuid();
        assert.equal((await put(server, id, body, { bearer: undefined })).status, 401);
        assert.equal((await put(server, id, body, { bearer: token(body.userId) })).status, 403);
        assert.equal((await put(server, id, body, { bearer: token(uuid(), 'admin') })).status, 201);
        assert.equal((await post(server, event('BookingCreated', { bookingId: uuid(), ...body }),
            { bearer: token(body.userId) })).status, 403);
        assert.equal((await post(server, event('BookingCreated', {}), { bearer: null })).status, 401);
    });

    test('B1 every bad field of a booking is named, in the language of the client', async (t) => {
        const server = await start(t, store);
        const rows = [
            [{}, ['amount', 'currency', 'userId']],
            [facts({ amount: 0 }), ['amount']], [facts({ amount: 100000000 }), ['amount']],
            [facts({ amount: '12' }), ['amount']], [facts({ amount: 1.5 }), ['amount']],
            [facts({ currency: 'XXX', userId: 'me' }), ['currency', 'userId']],
            [facts({ status: 'PAID', version: 0 }), ['status', 'version']],
            [facts({ staus: 'CANCELLED' }), ['staus']],
        ];
        for (const [body, wrong] of rows) assert.deepEqual(fields(await put(server, uuid(), body)), wrong);
        assert.deepEqual(fields(await put(server, 'x', facts())), ['id']);
        assert.deepEqual(fields(await put(server, uuid(), '{"amount":1,}')), ['body']);
        assert.deepEqual(fields(await put(server, uuid(), '[]')), ['body']);
        assert.equal((await put(server, uuid(), 'x=1', { headers: { 'Content-Type': 'text/plain' } })).status, 415);
        const japanese = await put(server, uuid(), facts({ currency: 'XXX' }), { headers: { 'Accept-Language': 'ja' } });
        assert.match(japanese.body.errors[0].message, /通貨コード/);
        assert.equal(await server.db.count('bookings'), 0);
    });

    test('B1 versions only rise and CANCELLED is final', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        const body = facts();
        const say = async (changes) => (await put(server, id, { ...body, ...changes }));
        assert.equal((await say({ version: 5 })).status, 201);
        assert.equal((await say({ version: 4, amount: 900 })).body.amount, 1200);
        assert.equal((await say({ version: 5, amount: 900 })).body.amount, 1200);
        const newer = await say({ version: 6, amount: 900 });
        assert.deepEqual([newer.status, newer.body.amount, newer.body.version], [200, 900, 6]);
        const unnumbered = await say({ amount: 901 });
        assert.ok(unnumbered.body.version > 6);
        assert.equal((await say({ amount: 902 })).body.amount, 902);
        assert.equal((await say({ status: 'CANCELLED' })).body.status, 'CANCELLED');
        assert.equal((await say({ status: 'PENDING' })).body.status, 'CANCELLED');
        assert.equal((await say({ status: 'CONFIRMED', version: Number.MAX_SAFE_INTEGER })).body.status, 'CANCELLED');
        const late = await server.pay({ id, ...body, amount: 902 });
        assert.equal(late.status, 422, late.text);
    });

    test('B1 events make, change and cancel a booking; each counts once', async (t) => {
        const server = await start(t, store);
        const data = { bookingId: uuid(), ...facts() };
        const created = event('BookingCreated', { ...data, version: 1 });
        for (let i = 0; i < 3; i++) assert.equal((await post(server, created)).status, 204);
        assert.equal((await server.bookingNow(data.bookingId)).status, 'PENDING');
        // The same id with other content is the same event; the same id of another source is not.
        await post(server, { ...created, data: { ...data, version: 2, amount: 5 } });
        assert.equal((await server.bookingNow(data.bookingId)).amount, 1200);
        await post(server, { ...created, source: `${SOURCE}/2`, data: { ...data, version: 2, amount: 5 } });
        assert.equal((await server.bookingNow(data.bookingId)).amount, 5);
        const older = event('jp.example.booking.BookingUpdated', { ...data, version: 1, amount: 6 });
        assert.equal((await post(server, older)).status, 204);
        assert.equal((await server.bookingNow(data.bookingId)).amount, 5);
        const cancelled = event('com.example.BookingCancelled', { bookingId: data.bookingId, version: 3 });
        assert.equal((await post(server, cancelled)).status, 204);
        assert.equal((await server.bookingNow(data.bookingId)).status, 'CANCELLED');
        assert.equal((await post(server, event('BookingUpdated', { ...data, status: 'PENDING', version: 9 }))).status, 204);
        assert.equal((await server.bookingNow(data.bookingId)).status, 'CANCELLED');
        assert.deepEqual(await outcomes(server.db), ['older', 'older', 'stored', 'stored', 'stored']);
    });

    test('B1 D21 a cancellation that comes behind a higher version, or behind a PUT without one, still cancels and voids', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_EVENTS_SECRET: SECRET } });
        const told = (type, data) => {
            const text = JSON.stringify(event(type, data));
            return post(server, text, { bearer: null, headers: signed(text) });
        };
        for (const order of ['CXU', 'CUX', 'XCU', 'XUC', 'UCX', 'UXC']) {
            const data = { bookingId: uuid(), ...facts() };
            const says = {
                C: ['BookingCreated', { ...data, version: 1 }],
                X: ['BookingCancelled', { bookingId: data.bookingId, version: 2 }],
                U: ['BookingUpdated', { ...data, amount: 900, version: 3 }],
            };
            const again = [];
            for (const one of order) {
                const { status } = await told(...says[one]);
                if (status !== 204) again.push([one, status]);
            }
            // Of a booking that is not known yet it says too little: its sender sends it again.
            assert.deepEqual(again, order[0] === 'X' ? [['X', 422]] : [], order);
            for (const [one] of again) assert.equal((await told(...says[one])).status, 204, order);
            const now = await server.bookingNow(data.bookingId);
            assert.deepEqual([now.status, now.amount], ['CANCELLED', 900], order);
        }
        const payment = await server.paid(); // its booking was put without a version
        assert.equal(payment.status, 'AUTHORIZED');
        assert.equal((await told('BookingCancelled', { bookingId: payment.booking.id, version: 2 })).status, 204);
        assert.equal((await server.bookingNow(payment.booking.id)).status, 'CANCELLED');
        await until('the money is let go', async () => (await server.payment(payment)).body.status === 'REFUNDED');
        assert.equal((await server.intentOf(payment)).status, 'canceled');
    });

    test('B1 what is said without a version leaves those with one heard, and the other way round', async (t) => {
        const server = await start(t, store);
        const data = { bookingId: uuid(), ...facts() };
        const say = async (amount, version, time) => {
            await post(server, event('BookingUpdated', { ...data, amount, version }, time && { time }));
            return (await server.bookingNow(data.bookingId)).amount;
        };
        assert.equal((await put(server, data.bookingId, facts({ userId: data.userId }))).status, 201);
        assert.equal(await say(2, 2), 2);
        assert.equal(await say(1, 1), 2, 'an older version stays older');
        assert.equal((await put(server, data.bookingId, facts({ userId: data.userId, amount: 3 }))).body.amount, 3);
        assert.equal(await say(1, 1), 3);
        assert.equal(await say(2, 2), 3);
        assert.equal(await say(4, 3), 4);
        assert.equal(await say(5, undefined, '2026-01-18T09:30:00Z'), 4, 'a time before the PUT is older than it');
        assert.equal(await say(6, undefined, new Date(Date.now() + 60_000).toISOString()), 6);
        assert.equal(await say(7, 4), 7);
    });

    test('B1 without a version the time of the event is one', async (t) => {
        const server = await start(t, store);
        const data = { bookingId: uuid(), ...facts() };
        const at = (time, type, changes) => post(server, event(type, { ...data, ...changes }, { time }));
        await at('2026-01-18T09:30:00Z', 'BookingCreated', {});
        assert.equal((await server.bookingNow(data.bookingId)).version, 1768728600000);
        await at('2026-01-18T18:29:59.999+09:00', 'BookingUpdated', { amount: 1 });
        assert.equal((await server.bookingNow(data.bookingId)).amount, 1200);
        await at('2026-01-18T09:30:00.001Z', 'BookingUpdated', { amount: 7 });
        assert.equal((await server.bookingNow(data.bookingId)).amount, 7);
        // A clock that counts seconds gives the cancellation the same time as what it cancels.
        const second = { bookingId: uuid(), ...facts() };
        await post(server, event('BookingCreated', second, { time: '2026-01-18T09:30:00Z' }));
        await post(server, event('BookingCancelled', second, { time: '2026-01-18T09:30:00Z' }));
        assert.equal((await server.bookingNow(second.bookingId)).status, 'CANCELLED');
    });

    test('B1 the CloudEvents SDK is understood, structured and binary', async (t) => {
        const server = await start(t, store);
        for (const write of [HTTP.structured, HTTP.binary]) {
            const data = { bookingId: uuid(), ...facts() };
            const one = new CloudEvent({ source: '/bookings%20a', id: `予約 "${uuid()}" 1%`, type: 'example.BookingCreated', data });
            const { headers, body } = write(one);
            if (headers['ce-id']) headers['ce-id'] = encodeURIComponent(headers['ce-id']); // the SDK forgets to
            if (headers['ce-source']) headers['ce-source'] = encodeURIComponent(headers['ce-source']);
            const answer = await server.call('POST', EVENTS, { bearer: service(), body, headers });
            assert.equal(answer.status, 204, answer.text);
            assert.equal((await server.bookingNow(data.bookingId)).amount, data.amount);
        }
        assert.deepEqual(await outcomes(server.db), ['stored', 'stored']);
        const keys = (await server.db.all('SELECT key FROM inbound_events')).map(({ key }) => key);
        for (const key of keys) assert.match(key, /^\/bookings%20a 予約 "[0-9a-f-]{36}" 1%$/);
    });

    test('B1 a batch is taken as a whole or not at all', async (t) => {
        const server = await start(t, store);
        const batch = { type: 'application/cloudevents-batch+json' };
        const data = [1, 2, 3].map(() => ({ bookingId: uuid(), ...facts() }));
        const good = data.map((one) => event('BookingCreated', one));
        assert.deepEqual(fields(await post(server, [...good, event('BookingCreated', { ...data[0], amount: -1 })], batch)),
            ['amount']);
        // A cancellation of something unknown says too little to be kept: sent again later it is taken.
        const early = event('BookingCancelled', { bookingId: uuid() });
        assert.equal((await post(server, [...good, early], batch)).status, 422);
        assert.equal(await server.db.count('bookings') + await server.db.count('inbound_events'), 0);
        assert.equal((await post(server, [...good, good[0], event('SomethingElse', 'text')], batch)).status, 204);
        assert.equal(await server.db.count('bookings'), 3);
        assert.deepEqual(await outcomes(server.db), ['ignored', 'stored', 'stored', 'stored']);
        assert.equal((await post(server, [], batch)).status, 204);
        assert.deepEqual(fields(await post(server, Array(101).fill(good[0]), batch)), ['body']);
    });

    test('B1 what is wrong with an event is named; unknown types are kept and ignored', async (t) => {
        const server = await start(t, store);
        const data = { bookingId: uuid(), ...facts() };
        const rows = [
            [{}, ['id', 'source', 'specversion', 'type']],
            [event('BookingCreated', undefined), ['data']],
            [event('BookingCreated', 'text'), ['data']],
            [event('BookingCreated', { ...data, bookingId: 7, userId: null }), ['bookingId', 'userId']],
            [event('BookingCreated', data, { specversion: '0.3', id: '' }), ['id', 'specversion']],
            [event('BookingCreated', data, { time: 'yesterday' }), ['time']],
            [event('BookingCreated', data, { source: 'two words' }), ['source']],
            [event('BookingCreated', data, { id: 'x'.repeat(513) }), ['id']],
        ];
        for (const [one, wrong] of rows) assert.deepEqual(fields(await post(server, one)), wrong, JSON.stringify(one));
        assert.deepEqual(fields(await post(server, '{')), ['body']);
        assert.equal((await post(server, 'hello', { type: 'text/plain' })).status, 415);
        assert.equal((await post(server, event('RoomCleaned', { any: 'thing' }))).status, 204);
        assert.equal((await post(server, event('NotABookingCreated', data))).status, 204);
        assert.deepEqual(await outcomes(server.db), ['ignored', 'ignored']);
        assert.equal(await server.db.count('bookings'), 0);
    });

    test('B1 events signed as Standard Webhooks need no token, and nothing else is let in', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_EVENTS_SECRET: SECRET } });
        const data = { bookingId: uuid(), ...facts() };
        const text = JSON.stringify(event('BookingCreated', { ...data, version: 1 }));
        const send = (body, headers, type) => post(server, body, { bearer: null, headers, type });
        assert.equal((await send(text, signed(text))).status, 204);
        assert.equal((await server.bookingNow(data.bookingId)).amount, 1200);
        const minutes = (n) => new Date(Date.now() + n * 60_000);
        const bad = [
            signed(`${text} `), signed(text, minutes(-6)), signed(text, minutes(6)),
            { ...signed(text), 'webhook-id': 'msg_other' }, { ...signed(text), 'webhook-signature': 'v1,AAAA' },
        ];
        for (const headers of bad) {
            const answer = await send(text, headers);
            assert.equal(answer.status, 400);
            assert.equal(answer.body.code, 'SIGNATURE_INVALID');
        }
        assert.equal((await send(text, {})).status, 401);
        // What a binary event's headers say is not signed: they could be exchanged on the way.
        const body = JSON.stringify(data);
        const binary = {
            ...signed(body), 'ce-specversion': '1.0', 'ce-id': uuid(), 'ce-source': SOURCE, 'ce-type': 'BookingCancelled',
        };
        assert.equal((await send(body, binary, 'application/json')).status, 415);
        assert.equal((await server.bookingNow(data.bookingId)).status, 'PENDING');
    });

    test('B1 many senders at once leave one booking with the newest facts', async (t) => {
        const server = await start(t, store);
        const data = { bookingId: uuid(), ...facts() };
        const versions = Array.from({ length: 30 }, (_, i) => ((i * 7) % 30) + 1);
        const answers = await Promise.all(versions.map((version) =>
            post(server, event(version === 1 ? 'BookingCreated' : 'BookingUpdated', { ...data, version, amount: version }))));
        assert.deepEqual([...new Set(answers.map(({ status }) => status))], [204]);
        const now = await server.bookingNow(data.bookingId);
        assert.deepEqual([now.version, now.amount], [30, 30]);
        assert.equal(await server.db.count('bookings'), 1);
        assert.equal(await server.db.count('inbound_events'), 30);
    });

    test('B1 D2 amount, currency and owner stand still while money is under way', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const { id, ...body } = payment.booking;
        for (const change of [{ amount: 1 }, { currency: 'USD' }, { userId: uuid() }]) {
            const answer = await put(server, id, { ...body, ...change });
            assert.equal(answer.status, 422, answer.text);
            assert.equal(answer.body.code, 'UNPROCESSABLE');
            const told = await post(server, event('BookingUpdated', { bookingId: id, ...body, ...change }));
            assert.equal(told.status, 422, told.text);
        }
        assert.equal(await server.db.count('inbound_events'), 0);
        assert.equal((await put(server, id, body)).status, 200);
        assert.equal((await server.void(payment)).body.status, 'REFUNDED');
        assert.equal((await put(server, id, { ...body, amount: 1 })).body.amount, 1);
    });

    test('B3 a capture confirms the booking, and a late word of its sender does not undo it', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const { id, ...body } = payment.booking;
        assert.equal((await server.bookingNow(id)).status, 'PENDING');
        const { version } = await server.bookingNow(id);
        assert.equal((await server.capture(payment)).body.status, 'CAPTURED');
        await until('the booking is CONFIRMED', async () => (await server.bookingNow(id)).status === 'CONFIRMED');
        assert.equal((await server.bookingNow(id)).version, version); // it is the sender's
        assert.equal((await put(server, id, body)).body.status, 'CONFIRMED');
        const again = await server.pay(payment.booking);
        assert.equal(again.status, 422, again.text);
    });

    test('B3 a payment that failed leaves the booking PENDING', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });
        assert.equal(payment.status, 'FAILED');
        assert.equal((await server.bookingNow(payment.booking.id)).status, 'PENDING');
    });

    test('D21 a cancelled booking lets go of what was only authorised', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const cancelled = event('BookingCancelled', { bookingId: payment.booking.id });
        assert.equal((await post(server, cancelled)).status, 204);
        const refused = await server.capture(payment);
        assert.equal(refused.status, 422, refused.text);
        await until('the money is let go', async () => (await server.payment(payment)).body.status === 'REFUNDED');
        assert.equal((await server.intentOf(payment)).status, 'canceled');
        assert.equal((await server.bookingNow(payment.booking.id)).status, 'CANCELLED');
        const { body } = await server.payment(payment);
        assert.deepEqual([body.capturedAmount, body.refundedAmount], [null, null]);
    });

    test('D21 a cancelled booking cancels what waits for its customer', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' });
        assert.equal(payment.status, 'PENDING');
        await put(server, payment.booking.id, { ...payment.booking, id: undefined, status: 'CANCELLED' });
        await until('it is given up', async () => (await server.payment(payment)).body.status === 'FAILED');
        assert.equal((await server.intentOf(payment)).status, 'canceled');
    });

    test('D21 captured money of a cancelled booking is left to an operator, who is told', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured();
        await put(server, payment.booking.id, { ...payment.booking, id: undefined, status: 'CANCELLED' });
        const line = await server.line('the alert', (l) => l.message === 'Booking cancelled after capture');
        assert.equal(line.level, 'error');
        assert.equal(line.paymentId, payment.id);
        assert.equal((await server.db.audit("operation = 'BOOKING_CANCELLED'")).length, 1);
        assert.equal((await server.payment(payment)).body.status, 'CAPTURED');
        assert.equal((await server.bookingNow(payment.booking.id)).status, 'CANCELLED');
        // B3: whatever waits for its turn, CANCELLED never becomes CONFIRMED.
        await until('the queue is empty', async () => !(await server.db.messages())
            .some(({ kind }) => kind === 'booking.confirm'));
        assert.equal((await server.bookingNow(payment.booking.id)).status, 'CANCELLED');
    });

    // Somebody at the gateway's dashboard is faster than our cancel, which then finds the money taken.
    for (const by of ['the answer to our cancel', 'a webhook'])
        test(`D21 a hold that somebody captures while our cancel is on its way, known by ${by}: told once, and the audit does not say voided`, async (t) => {
            const server = await silent(t, store);
            const payment = await server.paid();
            await server.fault({ path: '/v1/payment_intents/*/cancel', statusBefore: 503, times: 100_000 });
            await put(server, payment.booking.id, { ...payment.booking, id: undefined, status: 'CANCELLED' });
            await captureThere(server, payment);
            if (by === 'a webhook') await tell(server, await eventOf(server, payment, 'payment_intent.succeeded'));
            await server.healed();
            await until('our cancel has ended', async () => {
                await server.advance(60_000);
                return (await server.db.operations(payment.id)).every(({ phase }) => phase === 'done');
            });
            assert.equal((await server.payment(payment)).body.status, 'CAPTURED');
            assert.equal((await server.bookingNow(payment.booking.id)).status, 'CANCELLED');
            const line = await server.line('the alert', (l) => l.message === 'Captured after its booking was cancelled');
            assert.deepEqual([line.level, line.paymentId, line.bookingId, line.capturedAmount],
                ['error', payment.id, payment.booking.id, 1200]);
            const told = await server.db.audit("operation = 'BOOKING_CANCELLED'");
            assert.deepEqual(told.map(({ result, detail }) => [result, detail]),
                [['failure', 'the payment was captured after its booking was cancelled']]);
            const voids = await server.db.audit("operation = 'VOID'");
            assert.deepEqual(voids.map(({ result, detail }) => [result, detail]), [['failure', 'booking_cancelled']]);
        });

    test('D21 a capture that is under way when its booking is cancelled: an operator is told, once', async (t) => {
        const server = await silent(t, store);
        const payment = await server.paid();
        await server.fault({ path: '/v1/payment_intents/*/capture', delayMs: 500, times: 1 });
        const capturing = server.capture(payment);
        await until('the capture is under way', async () =>
            (await server.db.operations(payment.id)).some(({ kind }) => kind === 'capture'));
        await put(server, payment.booking.id, { ...payment.booking, id: undefined, status: 'CANCELLED' });
        assert.equal((await capturing).body.status, 'CAPTURED');
        await until('nobody looks at it any more', async () => {
            await server.advance(60_000);
            return !(await server.db.messages()).some(({ kind }) => kind === 'booking.cancelled');
        });
        assert.equal((await server.db.audit("operation = 'BOOKING_CANCELLED'")).length, 1);
        await server.line('it is told', ({ message }) => /booking (was )?cancelled/i.test(message));
        assert.equal(server.lines.filter(({ message }) => /booking (was )?cancelled/i.test(message)).length, 1);
    });

    test('D21 D2 a payment that is being made when its booking is cancelled never keeps the money', async (t) => {
        const server = await start(t, store);
        const create = { path: '/v1/payment_intents', method: 'POST' };
        for (const [i, fault] of [{ delayMs: 500, times: 1 }, { dropAfter: true, times: 5 }].entries()) {
            const booking = await server.booking();
            await server.fault({ ...create, ...fault });
            const paying = server.pay(booking);
            await until('the payment is there', async () => await server.db.count('payments') > i);
            assert.equal((await post(server, event('BookingCancelled', { bookingId: booking.id }))).status, 204);
            const { body } = await paying;
            await server.healed();
            const id = body.id ?? body.paymentId;
            const ended = ['REFUNDED', 'FAILED'];
            await until('nothing is held', async () => {
                await server.advance(60_000);
                const { body: now } = await server.payment(id, booking.userId);
                const intents = await server.intents(id);
                return ended.includes(now.status) && intents.every(({ status }) => status === 'canceled');
            });
            assert.equal((await server.bookingNow(booking.id)).status, 'CANCELLED');
        }
        assert.equal((await server.db.dead()).length, 0);
    });
});
