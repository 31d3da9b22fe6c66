// Everything that a payments client can send wrongly: the exact problem, every bad field named at once, in
// English and Japanese, and nothing changed (P1 P5 I1 I5).
import fs from 'node:fs';
import YAML from 'yaml';
import {
    assert, forEachStore, Raw, start, token, until, uuid,
} from './lib/harness.mjs';
import { quiet } from './lib/purchases.mjs';

const AMOUNT = ['must be a whole number from 1 to 99999999', '1〜99999999 の整数にしてください'];
const CURRENCY = ['must be an ISO 4217 code like JPY', 'JPY のような ISO 4217 通貨コードにしてください'];
const TEXT = ['must be a text of at most 200 characters', '200 文字以内の文字列にしてください'];
const TOKEN = ['must be a token of 1 to 255 characters, without blanks', '空白を含まない 1〜255 文字のトークンにしてください'];
const CARD = ['looks like a card number; send the gateway\'s token instead', 'カード番号のようです。決済サービスのトークンを送ってください'];
const REQUIRED = ['is required', '必須です'];
const UUID = ['must be a UUID', 'UUID を指定してください'];
const UNKNOWN = ['is not a field of this request', 'このリクエストにない項目です'];
const OBJECT = ['must be a JSON object', 'JSON オブジェクトにしてください'];
const notJson = (en, ja, at) => [`is not JSON: ${en} (at byte ${at})`, `JSON ではありません：${ja}（${at} バイト目）`];

// [what is sent instead of a field's value, the field, the words]. Values are JSON text.
const FIELDS = [
    ['amount', '0', AMOUNT], ['amount', '-1', AMOUNT], ['amount', '1.5', AMOUNT], ['amount', '1200.0', AMOUNT],
    ['amount', '"1200"', AMOUNT], ['amount', '1e3', AMOUNT], ['amount', '100000000', AMOUNT],
    ['amount', '9223372036854775808', AMOUNT], ['amount', '99999999999999999999999', AMOUNT], ['amount', 'true', AMOUNT],
    ['amount', '[]', AMOUNT], ['amount', 'null', REQUIRED],
    ['currency', '"ZZZ"', CURRENCY], ['currency', '"XAU"', CURRENCY], ['currency', '"JP"', CURRENCY], ['currency', '"JPYY"', CURRENCY],
    ['currency', '""', CURRENCY], ['currency', '392', CURRENCY], ['currency', 'null', REQUIRED],
    ['bookingId', '"7"', UUID], ['bookingId', '7', UUID], ['bookingId', '""', UUID], ['bookingId', 'null', REQUIRED],
    ['description', `"${'x'.repeat(201)}"`, TEXT], ['description', `"${'😀'.repeat(201)}"`, TEXT], ['description', '5', TEXT],
    ['description', '{}', TEXT],
    ['paymentMethod', '""', TOKEN], ['paymentMethod', '"two words"', TOKEN], ['paymentMethod', `"${'p'.repeat(256)}"`, TOKEN],
    ['paymentMethod', '5', TOKEN], ['paymentMethod', '"4242424242424242"', CARD], ['paymentMethod', '"4242 4242 4242 4242"', CARD],
    ['paymentMethod', '"4242-4242-4242-4242"', CARD], ['paymentMethod', '"378282246310005"', CARD],
    ['paymentMethod', '4242424242424242', CARD], ['paymentMethod', '"pm_4242424242424242"', CARD],
    ['Amount', '5', UNKNOWN], ['user\\u0049d', '"x"', UNKNOWN], ['__proto__', '{}', UNKNOWN], ['', '1', UNKNOWN],
];

// Whole bodies that are not even an order.
const BODIES = [
    ['', notJson('a value was expected', '値がありません', 0)],
    ['{', notJson('a key was expected', 'キーがありません', 1)],
    ['[]', OBJECT], ['null', OBJECT], ['"x"', OBJECT], ['17', OBJECT],
    ['{"amount":1,"amount":1}', notJson('the key occurs twice in its object', '同じキーが 2 回あります', 12)],
    ['{"a":1,"\\u0061":2}', notJson('the key occurs twice in its object', '同じキーが 2 回あります', 7)],
    ['{"amount":01}', notJson('a number may not begin with 0', '数値を 0 で始めることはできません', 12)],
    ['{"a":1}}', notJson('something stands behind the end', '末尾に余分な文字があります', 7)],
    ["{'a':1}", notJson('a key was expected', 'キーがありません', 1)],
    [Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]), notJson('the string is not UTF-8', '文字列が UTF-8 ではありません', 6)],
    [Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d]), notJson('the string is not UTF-8', '文字列が UTF-8 ではありません', 6)],
    ['{"a":"\\u0000"}', notJson('\\u0000 is not allowed', '\\u0000 は使えません', 6)],
    [`${'['.repeat(100)}`, notJson('nested too deeply', '入れ子が深すぎます', 32)],
];

function order(booking, changes = {}) {
    const fields = {
        bookingId: `"${booking.id}"`, amount: `${booking.amount}`, currency: `"${booking.currency}"`, ...changes,
    };
    return `{${Object.entries(fields).map(([name, value]) => `"${name}":${value}`).join(',')}}`;
}

function isProblem(answer, errors) {
    assert.equal(answer.status, 400, answer.text);
    const { instance, ...problem } = answer.body;
    assert.equal(instance, answer.headers['x-request-id']);
    const ja = answer.headers['content-language'] === 'ja';
    const words = ja ? 'リクエストの内容が正しくありません。' : 'The request is not valid.';
    assert.deepEqual(problem, {
        type: '/problems/validation-error', title: words, status: 400, detail: words, code: 'VALIDATION_ERROR',
        errors: errors.map(([field, message]) => ({ field, message: message[ja ? 1 : 0] })),
    });
}

const LANGUAGES = [{}, { 'Accept-Language': 'ja-JP,ja;q=0.9,en;q=0.8' }];

forEachStore((store, test) => {
    test('P5 every wrong field of a create is named, in English and Japanese, and nothing changes', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const as = booking.userId;
        const before = await server.db.state();
        for (const [field, value, words] of FIELDS) {
            const shown = field === 'user\\u0049d' ? 'userId' : field;
            for (const headers of LANGUAGES) {
                const answer = await server.call('POST', '/payments', { as, key: uuid(), headers, body: order(booking, { [field]: value }) });
                isProblem(answer, [[shown, words]]);
            }
        }
        for (const [body, words] of BODIES) {
            for (const headers of LANGUAGES)
                isProblem(await server.call('POST', '/payments', { as, key: uuid(), body, headers }), [['body', words]]);
        }
        assert.deepEqual(await server.db.state(), before);
        assert.equal((await server.intents()).length, 0);
        assert.equal((await server.pay(booking)).status, 201, 'and rightly it works');
    });

    test('P5 all that is wrong is said at once, the key too', async (t) => {
        const server = await start(t, store);
        const as = uuid();
        const everything = '{"bookingId":"x","amount":1e3,"currency":"yen","description":7,"paymentMethod":"4242424242424242","note":1,"tip":2}';
        isProblem(await server.call('POST', '/payments', { as, key: 'abc', body: everything }), [
            ['Idempotency-Key', UUID], ['bookingId', UUID], ['amount', AMOUNT], ['currency', CURRENCY],
            ['description', TEXT], ['paymentMethod', CARD], ['note', UNKNOWN], ['tip', UNKNOWN],
        ]);
        isProblem(await server.call('POST', '/payments', { as, body: '{}' }), [
            ['Idempotency-Key', REQUIRED], ['bookingId', REQUIRED], ['amount', REQUIRED], ['currency', REQUIRED],
        ]);
        isProblem(await server.call('POST', '/payments', { as, body: 'nonsense', headers: { 'Accept-Language': 'ja' } }), [
            ['Idempotency-Key', REQUIRED], ['body', notJson('a value was expected', '値がありません', 0)],
        ]);
        assert.ok(!(await server.call('POST', '/payments', { as, body: everything })).text.includes('4242'), 'no card is echoed');
    });

    test('P5 the bodies of capture, refund and void are as strict', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured({}, { amount: 1000 });
        const open = await server.paid();
        await quiet(server); // what follows from them by itself is no change of ours
        const before = await server.db.state();
        const rows = [
            ['capture', open, '{"amount":0}', [['amount', AMOUNT]]], ['capture', open, '{"amount":"5"}', [['amount', AMOUNT]]],
            ['capture', open, '{"amount":1.0}', [['amount', AMOUNT]]], ['capture', open, '{"reason":"x"}', [['reason', UNKNOWN]]],
            ['refund', payment, '{"amount":-5,"reason":7,"x":1}', [['amount', AMOUNT], ['reason', TEXT], ['x', UNKNOWN]]],
            ['refund', payment, `{"reason":"${'宿'.repeat(201)}"}`, [['reason', TEXT]]],
            ['refund', payment, '{"amount":100000000}', [['amount', AMOUNT]]],
            ['refund', payment, '{"amount":null}', [['amount', AMOUNT]]], ['capture', open, '{"amount":null}', [['amount', AMOUNT]]], // not all of it
            ['void', open, '{"amount":5}', [['amount', UNKNOWN]]], ['void', open, '[]', [['body', OBJECT]]],
        ];
        for (const [verb, { id, userId }, body, errors] of rows)
            for (const headers of LANGUAGES)
                isProblem(await server.operate(verb, { id, userId }, { body, headers }), errors);
        assert.deepEqual(await server.db.state(), before);
        const long = await server.refund(payment, 1, { reason: '😀'.repeat(200) });
        assert.equal(long.status, 200, '200 characters of four bytes are 200 characters');
        assert.equal(long.body.refunds[0].reason, '😀'.repeat(200));
        for (const body of ['', undefined, '{}', ' '])
            assert.equal((await server.operate('refund', payment, { body: body })).status < 500, true);
        assert.equal((await server.payment(payment)).body.status, 'REFUNDED', 'an empty body asks for all that is left');
    });

    test('P5 the content type is application/json, with charset=utf-8 or without; else 415', async (t) => {
        const server = await start(t, store);
        const before = await server.db.state();
        const wrong = ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=shift_jis',
            'application/xml', 'application/problem+json', 'multipart/form-data; boundary=x', undefined];
        for (const type of wrong) {
            const answer = await server.call('POST', '/payments', { as: uuid(), key: uuid(), body: '{}', headers: { 'Content-Type': type } });
            assert.equal(answer.status, 415, type);
            assert.equal(answer.body.code, 'UNSUPPORTED_MEDIA_TYPE');
        }
        assert.deepEqual(await server.db.state(), before);
        for (const type of ['application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'Application/Json'])
            assert.equal((await server.pay(await server.booking(), { headers: { 'Content-Type': type } })).status, 201, type);
    });

    test('P5 a body over the limit is 413', async (t) => {
        const server = await start(t, store);
        const answer = await server.call('POST', '/payments', { as: uuid(), key: uuid(), body: `{"description":"${'x'.repeat(20_000)}"}` });
        assert.equal(answer.status, 413);
        assert.equal(answer.body.code, 'PAYLOAD_TOO_LARGE');
    });

    test('I5 the order of refusals: 401, then 415 and 400, then the key, then the booking', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const key = uuid();
        await server.pay(booking, { key });
        const call = (options) => server.call('POST', '/payments', { key, ...options }).then((a) => a.status);
        const gone = order({ ...booking, id: uuid() });
        assert.equal(await call({ body: 'x', headers: { 'Content-Type': 'text/plain' } }), 401);
        assert.equal(await call({ as: booking.userId, body: 'x', headers: { 'Content-Type': 'text/plain' } }), 415);
        assert.equal(await call({ as: booking.userId, body: '{}' }), 400, 'not the conflict');
        assert.equal(await call({ as: booking.userId, body: gone }), 409, 'the key before the booking');
        assert.equal(await call({ as: booking.userId, key: uuid(), body: gone }), 404);
        assert.equal(await call({ as: uuid(), key: uuid(), body: order(booking) }), 403);
        assert.equal(await call({ as: booking.userId, key: uuid(), body: order(booking) }), 422);
    });

    test('P5 for every 4xx the whole state before is the whole state after', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking({ amount: 1000 });
        const confirmed = await server.booking({ status: 'CONFIRMED' });
        const key = uuid();
        const made = await server.pay(booking, { key });
        const payment = made.body;
        const captured = await server.captured({}, { amount: 500 });
        const stranger = uuid();
        const rows = [
            [401, () => server.call('POST', '/payments', { key, body: order(booking) })],
            [401, () => server.pay(booking, { bearer: token(booking.userId, undefined, { exp: 1 }) })],
            [401, () => server.pay(booking, { bearer: token('not-a-uuid') })],
            [400, () => server.pay(booking, { amount: 0 })],
            [415, () => server.pay(booking, { headers: { 'Content-Type': 'text/plain' } })],
            [413, () => server.pay(booking, { description: 'x'.repeat(30_000) })],
            [409, () => server.pay({ ...booking, amount: 999 }, { key })],
            [404, () => server.pay({ ...booking, id: uuid() })],
            [403, () => server.pay(booking, { as: stranger })],
            [422, () => server.pay(booking)],
            [422, () => server.pay(confirmed)],
            [422, () => server.pay({ ...confirmed, amount: 7 })],
            [422, () => server.capture(payment, 1001)],
            [422, () => server.refund(payment)],
            [422, () => server.refund(captured, 501)],
            [422, () => server.void(captured)],
            [422, () => server.capture(captured)],
            [403, () => server.refund(captured, 1, { as: stranger })],
            [403, () => server.payment(captured, stranger)],
            [404, () => server.refund({ id: uuid(), userId: stranger })],
            [400, () => server.call('GET', '/payments?nonsense=1', { as: stranger })],
            [405, () => server.call('PATCH', `/payments/${payment.id}`, { as: stranger, body: '{}' })],
        ];
        await quiet(server);
        for (const [status, act] of rows) {
            const before = await server.db.state();
            const answer = await act();
            assert.equal(answer.status, status, `${act}: ${answer.text}`);
            assert.deepEqual(await server.db.state(), before, `${act}`);
        }
    });

    test('I5 O8 a NUL in a query is a 400 of every list, by whatever parameter', async (t) => {
        const server = await start(t, store);
        const { paths, components } = YAML.parse(fs.readFileSync(new URL('../../api/openapi.yaml', import.meta.url), 'utf8'), { merge: true });
        const queries = Object.entries(paths).filter(([path, item]) => path.startsWith('/api/v1/') && !path.includes('{') && item.get)
            .flatMap(([path, item]) => [...(item.parameters ?? []), ...(item.get.parameters ?? [])]
                .map((one) => (one.$ref ? components.parameters[one.$ref.split('/').at(-1)] : one))
                .filter((one) => one.in === 'query').map(({ name }) => `${path}?${name}=a%00b`));
        assert.ok(queries.length > 40 && queries.includes('/api/v1/admin/events?type=a%00b'), queries.join());
        for (const query of queries) {
            const { status, text } = await server.call('GET', query, { as: 'admin' });
            assert.equal(status, 400, `${query}: ${status} ${text}`);
        }
    });

    test('P5 who sends the key twice, or in pieces, on a bare wire is refused', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const body = order(booking);
        const key = uuid();
        const head = `POST /payments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token(booking.userId)}\r\n`
            + `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
        for (const keys of [`Idempotency-Key: ${key}\r\nidempotency-key: ${key}\r\n`, `Idempotency-Key:\r\n`,
            `Idempotency-Key: ${key.slice(0, 18)}\r\nIdempotency-Key: ${key.slice(18)}\r\n`]) {
            const raw = new Raw(server.port);
            raw.send(`${head}${keys}\r\n${body}`);
            assert.equal(await raw.status(), 400, keys);
            raw.destroy();
        }
        assert.equal((await server.db.keys()).length, 0);
    });
});
