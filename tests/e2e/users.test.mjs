// How people want to be told: who may say it, what is wrong with it, what is kept of it and what is not (N1 P5 A2).
import { assert, forEachStore, start, token, uuid } from './lib/harness.mjs';

const where = (id) => `/api/v1/users/${id}`;
const put = (server, id, body, how = { as: id }) => server.call('PUT', where(id), { body, ...how });
const get = (server, id, how = { as: id }) => server.call('GET', where(id), how);
const forget = (server, id, how = { as: id }) => server.call('DELETE', where(id), how);
const service = () => ({ bearer: token(uuid(), 'service') });
const bare = ({ email, language, channels, deviceTokens }) => ({ email, language, channels, deviceTokens });

const FULL = { email: 'taro@example.com', language: 'en', channels: ['mail', 'push', 'webhook'], deviceTokens: ['fcm:A-1_x', 'fcm:B'] };
const EMPTY = { email: null, language: null, channels: [], deviceTokens: [] };

forEachStore((store, test) => {
    test('N1 a contact is made, read, replaced as a whole, and forgotten', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        assert.equal((await get(server, id)).status, 404);
        const made = await put(server, id, FULL);
        assert.equal(made.status, 201, made.text);
        assert.equal(made.headers['cache-control'], 'no-store');
        assert.deepEqual([made.body.id, bare(made.body)], [id, FULL]);
        assert.deepEqual((await get(server, id)).body, made.body);

        await server.advance(1000);
        const again = await put(server, id, FULL);
        assert.equal(again.status, 200);
        assert.deepEqual(again.body, made.body, 'the same again changes nothing, not even its time');

        const less = await put(server, id, { email: 'taro@example.org' });
        assert.deepEqual(bare(less.body), { ...EMPTY, email: 'taro@example.org', channels: ['mail'] });
        assert.equal(less.body.createdAt, made.body.createdAt);
        assert.notEqual(less.body.updatedAt, made.body.updatedAt);
        assert.equal(await server.db.count('devices'), 0);
        assert.deepEqual(bare((await put(server, id, {})).body), EMPTY);

        assert.equal((await forget(server, id)).status, 204);
        assert.equal((await forget(server, id)).status, 204, 'twice is fine');
        assert.equal((await get(server, id)).status, 404);
        assert.deepEqual([await server.db.count('contacts'), await server.db.count('devices')], [0, 0]);
        assert.equal((await put(server, id, FULL)).status, 201);
    });

    test('N1 without channels a person is told where there is an address', async (t) => {
        const server = await start(t, store);
        for (const [body, channels] of [
            [{ email: 'a@example.com' }, ['mail']],
            [{ deviceTokens: ['x'] }, ['push']],
            [{ email: 'a@example.com', deviceTokens: ['y'], channels: null }, ['mail', 'push']],
            [{ email: 'a@example.com', deviceTokens: ['z'], channels: [] }, []],
            [{ language: 'ja' }, []],
            [{ channels: ['push'] }, ['push']],
            [{ channels: ['webhook'] }, ['webhook']],
        ]) assert.deepEqual((await put(server, uuid(), body)).body.channels, channels, JSON.stringify(body));
    });

    test('N1 A2 the person, service and admin may; nobody else', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        for (const how of [{ as: id }, service(), { as: 'admin' }]) {
            assert.ok((await put(server, id, FULL, how)).status < 300);
            assert.equal((await get(server, id, how)).status, 200);
        }
        for (const act of [(how) => put(server, id, EMPTY, how), (how) => get(server, id, how), (how) => forget(server, id, how)]) {
            assert.equal((await act({})).status, 401);
            assert.equal((await act({ as: uuid() })).status, 403);
        }
        assert.deepEqual(bare((await get(server, id)).body), FULL, 'nothing changed');
        assert.equal((await forget(server, id, service())).status, 204);
    });

    test('N1 device tokens are shown in full to the person and to admin only', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        await put(server, id, FULL);
        assert.deepEqual((await get(server, id)).body.deviceTokens, FULL.deviceTokens);
        assert.deepEqual((await get(server, id, { as: 'admin' })).body.deviceTokens, FULL.deviceTokens);
        const seen = (await get(server, id, service())).body.deviceTokens;
        assert.deepEqual(seen, ['fcm:***', 'fcm:***']);
        const back = await put(server, id, { ...FULL, deviceTokens: seen.slice(0, 1) }, service());
        assert.equal(back.status, 400, 'what was shown to it cannot be put back by mistake');
    });

    test('N1 a device belongs to who named it last', async (t) => {
        const server = await start(t, store);
        const [one, other] = [uuid(), uuid()];
        await put(server, one, { deviceTokens: ['shared', 'mine'] });
        await put(server, other, { deviceTokens: ['shared'] });
        assert.deepEqual((await get(server, one)).body.deviceTokens, ['mine']);
        assert.deepEqual((await get(server, other)).body.deviceTokens, ['shared']);
        await put(server, one, { deviceTokens: ['mine'] });
        assert.deepEqual((await get(server, other)).body.deviceTokens, ['shared'], 'it is not taken from its new owner');
    });

    test('N1 P5 all that is wrong is named at once, in both languages, and nothing is changed', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        await put(server, id, FULL);
        const tokens = (n) => Array.from({ length: n }, (_, i) => `t${i}`);
        const rows = [
            [{ email: 'nobody' }, ['email']],
            [{ email: '' }, ['email']],
            [{ email: 5 }, ['email']],
            [{ email: 'a@example.com\r\nBcc: b@example.com' }, ['email']],
            [{ email: `${'a'.repeat(250)}@example.com` }, ['email']],
            [{ email: 'taro@例え.jp' }, ['email']],
            [{ email: 'a@b..c' }, ['email']],
            [{ email: `${'a'.repeat(65)}@example.com` }, ['email']],
            [{ language: 'fr' }, ['language']],
            [{ language: 'JA' }, ['language']],
            [{ language: ['ja'] }, ['language']],
            [{ channels: 'mail' }, ['channels']],
            [{ channels: ['sms'] }, ['channels']],
            [{ channels: ['push', 'push'] }, ['channels']],
            [{ channels: ['mail'] }, ['channels']],
            [{ channels: [null] }, ['channels']],
            [{ channels: { mail: true } }, ['channels']],
            [{ deviceTokens: 'x' }, ['deviceTokens']],
            [{ deviceTokens: [''] }, ['deviceTokens']],
            [{ deviceTokens: ['a', 'a'] }, ['deviceTokens']],
            [{ deviceTokens: [1] }, ['deviceTokens']],
            [{ deviceTokens: ['a b'] }, ['deviceTokens']],
            [{ deviceTokens: ['あ'] }, ['deviceTokens']],
            [{ deviceTokens: ['a\u0000b'] }, null],
            [{ deviceTokens: ['x'.repeat(1025)] }, ['deviceTokens']],
            [{ deviceTokens: tokens(21) }, ['deviceTokens']],
            [{ phone: '090' }, ['phone']],
            [{ Email: 'a@example.com' }, ['Email']],
            [{ email: 'x', language: 'x', channels: ['x'], deviceTokens: ['"'], x: 1 }, ['channels', 'deviceTokens', 'email', 'language', 'x']],
            [[], null], ['text', null], [null, null],
        ];
        for (const [body, fields] of rows) {
            for (const [language, words] of [['en', /[a-z]/], ['ja', /[ぁ-ん]/]]) {
                const answer = await put(server, id, body, { as: id, headers: { 'Accept-Language': language } });
                assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
                if (fields) assert.deepEqual(answer.body.errors.map(({ field }) => field).sort(), fields, JSON.stringify(body));
                for (const { message } of answer.body.errors ?? []) assert.match(message, words);
            }
        }
        assert.equal((await put(server, 'x', FULL, { as: 'admin' })).status, 400);
        let seed = 1; // no database can make them shorter: an index has them whole
        const noise = () => String.fromCharCode(48 + (seed = seed * 48271 % 2147483647) % 10);
        const longest = tokens(20).map((one) => one.padEnd(6, '-') + Array.from({ length: 1018 }, noise).join(''));
        assert.equal((await put(server, id, { deviceTokens: longest })).status, 200, 'the most that fits');
        assert.equal((await put(server, id, { email: 'taro..x.@docomo.ne.jp' })).status, 200, 'a carrier of old');
        await put(server, id, FULL);
        assert.deepEqual(bare((await get(server, id)).body), FULL);
        assert.equal((await put(server, id, { x: 'y'.repeat(200_000) })).status, 413);
    });

    test('N1 many at once: people who trade their devices end with each device in one hand', async (t) => {
        const server = await start(t, store);
        const people = Array.from({ length: 8 }, () => uuid());
        const tokens = Array.from({ length: 10 }, (_, i) => `device-${i}`);
        const answers = await Promise.all(Array.from({ length: 80 }, (_, i) =>
            put(server, people[i % 8], { deviceTokens: [...tokens.slice(i % 5), ...tokens.slice(0, i % 5)] })));
        assert.deepEqual([...new Set(answers.map(({ status }) => status < 300))], [true]);
        const owned = (await Promise.all(people.map((id) => get(server, id)))).flatMap(({ body }) => body.deviceTokens);
        assert.equal(new Set(owned).size, owned.length);
        assert.equal(owned.length, 10);
    });

    test('N1 A4 an address is in no log line and in no metric, and not in the audit', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        await put(server, id, { ...FULL, email: 'very-secret@example.com', deviceTokens: ['very-secret-device'] });
        await put(server, id, { email: 'very-secret' });
        await forget(server, id);
        const seen = JSON.stringify([server.stderr, (await server.metrics()).text, await server.db.audit()]);
        assert.ok(!seen.includes('very-secret'));
        const acts = (await server.db.audit()).map(({ operation }) => operation);
        assert.deepEqual(acts, ['CONTACT_REMOVE']);
    });
});
