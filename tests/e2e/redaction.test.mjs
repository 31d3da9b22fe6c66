// What a provider tells us about a card and its owner (A6): shown to nobody, gone after retention, and in files
// that only their owner may read.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import YAML from 'yaml';
import {
    asHex, assert, event, forEachStore, fresh, launch, PROGRAM, start, stores, test, token, until, uuid,
} from './lib/harness.mjs';
import { eventOf, retold, tellLong } from './lib/events.mjs';
import { dlqFine, refusing } from './lib/dlq.mjs';
import { request } from './lib/http.mjs';
import { bought, campaign } from './lib/purchases.mjs';
import { receive, sdk } from './lib/receiver.mjs';

const DAY = 86_400_000;
const PRIVATE = ['7788', 'Fingerprint0f0a0card', 'jenny@customer.example', '1-2-3 Chiyoda', '+81-90-0000-0000', '2031',
    'pi_3x_secret_0f0a', '08011112222'];
const card = {
    payment_method_details: { type: 'card', card: { brand: 'visa', last4: '7788', exp_month: 11, exp_year: 2031, fingerprint: 'Fingerprint0f0a0card' } },
    billing_details: { name: 'Jenny Rosen', email: 'jenny@customer.example', phone: '+81-90-0000-0000', address: { line1: '1-2-3 Chiyoda' } },
    receipt_email: 'jenny@customer.example',
    client_secret: 'pi_3x_secret_0f0a',
    payment_method_options: { konbini: { confirmation_number: '08011112222', expires_after_days: 3 } },
};
const viewer = token(uuid(), 'viewer');
// An id, a digest, a port, a time or a duration may have such digits by chance.
const CHANCE = new RegExp(['[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}', '\\b[0-9a-f]{16,64}\\b', '\\b[a-z]{2,5}_[A-Za-z0-9]{12,}',
    '127\\.0\\.0\\.1:\\d+', '"us":\\d+', '\\b\\d+\\.\\d+', '\\b\\d{10,13}\\b'].join('|'), 'g');
const clean = (text, where) => {
    const plain = text.replace(CHANCE, (found) => (PRIVATE.includes(found) ? found : ''));
    for (const word of PRIVATE) assert.ok(!plain.includes(word), `${where} shows ${word}: ${text.slice(0, 500)}`);
};
// Everything that a viewer can look at, as the description lists it; `ids` for those paths that have one.
const described = YAML.parse(fs.readFileSync(new URL('../../api/openapi.yaml', import.meta.url), 'utf8'), { merge: true });
async function everyLook(server, ids) {
    const paths = Object.keys(described.paths).filter((one) => one.startsWith('/api/v1/admin/') && described.paths[one].get)
        .flatMap((one) => (one.includes('{') ? (ids[one] ?? []).map((id) => one.replace(/\{\w+\}/, id)) : [one]));
    assert.ok(paths.length > 20, paths.join());
    const answers = [];
    for (const where of paths) {
        const { status, text } = await server.call('GET', where, { bearer: viewer });
        assert.ok([200, 401, 403, 404].includes(status), `${where}: ${status} ${text}`);
        answers.push({ where, status, text });
    }
    return answers;
}
const died = (server, n) => until(`${n} are dead`, async () => {
    const { body } = await server.call('GET', '/api/v1/admin/dlq?kind=qstash.deliver', { as: 'admin' });
    if (body.data.length < n) await server.advance(1000);
    return body.data.length === n && body.data;
}, 30_000);

const bodies = async (server) => (await server.db.all(server.db.url.startsWith('sqlite')
    ? 'SELECT stripe_event_id AS id, length(body) AS n FROM webhook_events ORDER BY seq'
    : 'SELECT stripe_event_id AS id, length(body)::int AS n FROM webhook_events ORDER BY seq'));

forEachStore((store, test) => {
    test('A6 what a payload holds of a card and its owner is in no answer, no page and no line, alive or dead', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured();
        const told = retold(await eventOf(server, payment, 'charge.captured'), {}, card);
        assert.equal((await server.deliver(told)).status, 204);
        await server.settled(told.id);
        const wrong = retold(told, {}, { amount: 'much' });
        assert.equal((await tellLong(server, wrong)).outcome, 'dead');
        const broken = `{"card":${JSON.stringify(card)},`;
        assert.equal((await server.deliver(broken)).status, 204);
        await until('it is dead', async () => await server.db.count('dead_letters') === 2);

        const { body: letters } = await server.call('GET', '/api/v1/admin/dlq', { as: 'admin' });
        const looks = ['/api/v1/admin/dlq', '/api/v1/admin/events', `/api/v1/admin/events?paymentId=${payment.id}`,
            `/payments/${payment.id}`, '/api/v1/admin/notifications', '/metrics',
            ...letters.data.map(({ id }) => `/api/v1/admin/dlq/${id}`)];
        for (const where of looks) {
            const answer = await server.call('GET', where, { as: 'admin' });
            assert.ok(answer.status === 200 || answer.status === 404, `${where}: ${answer.status}`);
            clean(answer.text, where);
        }
        clean(server.stderr, 'the log');
        assert.ok((await bodies(server)).every(({ n }) => n > 0), 'and all of it is kept for now');
    });

    test('A6 a payload of a card that lies in a queue message is redacted where a dead letter is shown', async (t) => {
        const server = await start(t, store);
        const told = event('payment_intent.succeeded', { data: { object: { object: 'payment_intent', id: 'pi_x' } } });
        await server.deliver('{"id":');
        await until('it is dead', async () => await server.db.count('dead_letters') === 1);
        const [{ id }] = (await server.call('GET', '/api/v1/admin/dlq', { as: 'admin' })).body.data;
        await server.db.all(`UPDATE dead_letters SET body = '${JSON.stringify({ type: told.type, fact: { client_secret: card.client_secret, konbini_number: '08011112222', konbini_store: 'x' }, object: card })}'`);
        const { body, text } = await server.call('GET', `/api/v1/admin/dlq/${id}`, { as: 'admin' });
        clean(text, 'the letter');
        clean((await dlqFine(server.db, ['show', id])).stdout, 'ichido dlq show');
        assert.deepEqual(body.payload, { type: told.type, fact: { client_secret: '[redacted]', konbini_number: '[redacted]', konbini_store: 'x' }, object: {
            payment_method_details: { type: 'card', card: { brand: 'visa', last4: '[redacted]', exp_month: '[redacted]', exp_year: '[redacted]', fingerprint: '[redacted]' } },
            billing_details: '[redacted]', receipt_email: '[redacted]', client_secret: '[redacted]',
            payment_method_options: { konbini: { confirmation_number: '[redacted]', expires_after_days: 3 } },
        } });
    });

    test('A6 O8 what lets somebody in is shown to nobody: headers and the query of a dead delivery, a schedule\'s address', async (t) => {
        const server = await start(t, store);
        const got = await receive(t, () => 489);
        const secrets = ['sk_live_0a1b2c', 'sid=0d0e0f', 'key-3c4d5e', 'SECRETKEY', 'pass-6f7a', 'sig-8b9c', 'basic-0d1e', 'tok-2f3a'];
        const headers = {
            Authorization: 'Bearer sk_live_0a1b2c', Cookie: 'sid=0d0e0f', 'X-Api-Key': 'key-3c4d5e', 'X-Db-Password': 'pass-6f7a',
            'X-Signature': 'sig-8b9c', 'Proxy-Authorization': 'Basic basic-0d1e', 'x-auth-TOKEN': 'tok-2f3a', 'X-Shop': 's1',
        };
        const address = `${got.url}/in?api_key=SECRETKEY`;
        const { messageId } = await sdk(server).publish({ url: address, body: 'x', retries: 0, headers });
        await sdk(server).schedules.create({ scheduleId: 's', destination: address, cron: '0 0 1 1 *', headers, body: 'x' });
        const [{ id }] = await died(server, 1);
        for (const { where, text } of await everyLook(server, { '/api/v1/admin/dlq/{id}': [id] }))
            for (const word of secrets) assert.ok(!text.includes(word), `${where} shows ${word}: ${text}`);
        const { payload } = (await server.call('GET', `/api/v1/admin/dlq/${id}`, { bearer: viewer })).body;
        assert.equal(payload.url, `${got.url}/in?***`);
        assert.deepEqual([payload.header['X-Shop'], payload.header.Authorization, payload.header['X-Auth-Token']], [['s1'], ['[redacted]'], ['[redacted]']]);
        const shown = (await dlqFine(server.db, ['show', id])).stdout;
        for (const word of secrets) assert.ok(!shown.includes(word), `ichido dlq show: ${shown}`);

        // The wire API is its publisher's own, and what is delivered is what was published.
        const { messages: [dead] } = await sdk(server).dlq.listMessages();
        assert.deepEqual([dead.messageId, dead.url, dead.header['X-Api-Key']], [messageId, address, ['key-3c4d5e']]);
        assert.equal(got[0].headers.authorization, 'Bearer sk_live_0a1b2c');
    });

    test('A6 a card is shown by no dead delivery, however it is wrapped: other bytes, JSON in JSON, an escaped name', async (t) => {
        const server = await start(t, store);
        const form = Buffer.concat([Buffer.from('name='), Buffer.from([0x8e, 0x52, 0x93, 0x63]), Buffer.from('&number=4242424242424242&cvc=zq987wx')]);
        const got = await refusing(t, [[500, form]]);
        const inner = { card: { cvc: 'zq987wx', exp_month: 12, last4: 'yk4242vw' }, email: 'taro@customer.example' };
        const sent = [form, JSON.stringify({ Message: JSON.stringify(inner) }), '{"e\\u006dail":"taro@customer.example","n":1}'];
        for (const body of sent) await sdk(server).publish({ url: got.url, body, retries: 0 });
        const letters = await died(server, sent.length);
        const looks = await everyLook(server, { '/api/v1/admin/dlq/{id}': letters.map(({ id }) => id) });
        for (const { id } of letters) looks.push({ where: 'ichido dlq show', text: (await dlqFine(server.db, ['show', id])).stdout });
        for (const { where, text } of looks)
            for (const word of ['42424242', 'yk4242vw', 'taro@', 'zq987wx', form.toString('base64').slice(20, 40)])
                assert.ok(!text.includes(word), `${where} shows ${word}: ${text}`);
        const whole = await Promise.all(letters.map(async ({ id }) => (await server.call('GET', `/api/v1/admin/dlq/${id}`, { bearer: viewer })).body));
        const bytes = { bytes: form.length, sha256: crypto.createHash('sha256').update(form).digest('hex') };
        const binary = whole.find(({ payload }) => payload.bodyBinary);
        assert.deepEqual([binary.payload.bodyBinary, binary.payload.body, binary.body], [bytes, undefined, null]);
        for (const { failures } of whole) assert.deepEqual(failures.map((one) => one.responseBodyBinary), [bytes]);
        assert.match((await dlqFine(server.db, ['show', binary.id])).stdout, new RegExp(`no text: ${form.length} bytes, SHA-256 ${bytes.sha256}`));
        assert.deepEqual(whole.map(({ body }) => body).filter(Boolean).sort(), [
            '{"Message":"{\\"card\\":{\\"cvc\\":\\"[redacted]\\",\\"exp_month\\":\\"[redacted]\\",\\"last4\\":\\"[redacted]\\"},\\"email\\":\\"[redacted]\\"}"}',
            '{"e\\u006dail":"[redacted]","n":1}']);
    });

    test('A6 what confirms a payment is its owner\'s and the service\'s: no viewer and no admin answer has it', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ paymentMethod: 'pm_card_threeDSecure2Required' });
        assert.match(payment.requiresAction.clientSecret, /_secret_/);
        const { positions: [position] } = await campaign(server);
        const { purchase, payment: other } = await bought(server, position, { method: 'pm_card_threeDSecure2Required' });
        const looks = await everyLook(server, { '/api/v1/admin/payments/{id}': [payment.id, other.id],
            '/api/v1/admin/payments/{id}/timeline': [payment.id], '/api/v1/admin/keys/{key}': [payment.idempotencyKey] });
        for (const where of ['/payments', `/payments/${payment.id}`, `/api/v1/purchases/${purchase.id}`, `/api/v1/admin/payments?q=${payment.id}`])
            looks.push({ where, ...(await server.call('GET', where, { bearer: viewer })) });
        for (const where of ['/api/v1/admin/payments', `/api/v1/admin/payments/${payment.id}`])
            looks.push({ where, ...(await server.call('GET', where, { as: 'admin' })) });
        for (const { where, text } of looks) assert.ok(!text.includes('_secret_'), `${where}: ${text}`);
        const seen = (await server.call('GET', `/payments/${payment.id}`, { bearer: viewer })).body;
        assert.deepEqual([seen.requiresAction.type, seen.requiresAction.url, 'clientSecret' in seen.requiresAction], ['redirect_to_url', payment.requiresAction.url, false]);
        const page = { type: 'redirect_to_url', url: 'https://hooks.stripe.test/3ds?payment_intent_client_secret=pi_1_secret_2&x=1', clientSecret: 'pi_1_secret_2' };
        await server.db.all(`UPDATE payments SET action = '${JSON.stringify(page)}' WHERE id = ${server.db.blob(asHex(other.id))}`);
        assert.deepEqual((await server.call('GET', `/api/v1/admin/payments/${other.id}`, { as: 'admin' })).body.requiresAction,
            { type: 'redirect_to_url', url: 'https://hooks.stripe.test/3ds?***' });
        for (const who of [{ as: payment.userId }, { as: 'admin' }, { bearer: token(uuid(), 'service') }, { bearer: token(payment.userId, 'viewer') }]) {
            const own = (await server.call('GET', `/payments/${payment.id}`, who)).body;
            assert.deepEqual(own.requiresAction, payment.requiresAction, JSON.stringify(who));
            const list = (await server.call('GET', '/payments', who)).body.data.find(({ id }) => id === payment.id);
            assert.deepEqual(list.requiresAction, payment.requiresAction, JSON.stringify(who));
        }
    });

    test('A6 payloads go after retention, a day at a time; the events stay, and those nobody is done with keep theirs', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_RETENTION_DAYS: '30', ICHIDO_SANDBOX_WEBHOOKS: 'off' } });
        const old = Array.from({ length: 3 }, () => event('customer.created'));
        for (const one of old) await server.deliver(one);
        for (const one of old) await server.settled(one.id);
        await server.deliver('{"broken":');
        await until('it is dead', async () => await server.db.count('dead_letters') === 1);
        await server.advance(29 * DAY);
        const young = event('customer.created');
        await server.deliver(young);
        await server.settled(young.id);
        await until('it has looked', async () => /^\d+ [1-9]/.test((await server.db.all(`SELECT body FROM message WHERE kind = 'events.forget'`))[0].body ?? ''));
        assert.ok((await bodies(server)).every(({ n }) => n > 0), 'not yet');
        await server.advance(2 * DAY);
        await until('the old ones are gone', async () => (await bodies(server)).filter(({ n }) => n === 0).length === 3);
        const left = Object.fromEntries((await bodies(server)).map(({ id, n }) => [id, n > 0]));
        for (const one of old) assert.equal(left[one.id], false);
        assert.equal(left[young.id], true);
        assert.equal(Object.keys(left).length, 5, 'the rows stay');
        assert.equal((await server.deliver(old[0])).status, 204, 'and are still known');
        await until('a repetition', async () => (await server.metrics()).get('ichido_webhook_duplicate_total') === 1);

        // Of a dead letter: when nobody waits for it any more, with the walk that begins at the beginning.
        const [{ id }] = (await server.call('GET', '/api/v1/admin/dlq', { as: 'admin' })).body.data;
        await server.call('DELETE', `/api/v1/admin/dlq/${id}`, { as: 'admin' });
        for (let day = 0; day < 31; day++) {
            const walks = Number((await server.db.all(`SELECT body FROM message WHERE kind = 'events.forget'`))[0].body.split(' ')[1]);
            await server.advance(DAY);
            await until('a walk', async () => Number((await server.db.all(`SELECT body FROM message WHERE kind = 'events.forget'`))[0].body.split(' ')[1]) > walks);
        }
        assert.ok((await bodies(server)).every(({ n }) => n === 0), JSON.stringify(await bodies(server)));
    });
});

test('A6 every file that we make is its owner\'s alone, whatever the umask', async (t) => {
    const db = await fresh(t, stores.find(({ name }) => name === 'SQLite') ?? stores[0]);
    const server = launch(t, db, {
        cwd: db.folder,
        argv: ['/bin/sh', '-c', `umask 000; exec ${PROGRAM} serve`],
        env: { STRIPE_WEBHOOK_SECRET: undefined, ICHIDO_JWT_SECRET: undefined, ICHIDO_ADMIN_TOKEN: undefined },
    });
    await server.listening();
    await request(server.port, { path: '/readyz' });
    await until('it wrote', () => fs.readdirSync(db.folder).some((name) => name.endsWith('-wal')));
    const files = fs.readdirSync(db.folder, { recursive: true }).map((name) => path.join(db.folder, name))
        .filter((file) => fs.statSync(file).isFile());
    const modes = Object.fromEntries(files.map((file) => [path.basename(file), (fs.statSync(file).mode & 0o777).toString(8)]));
    t.diagnostic(JSON.stringify(modes));
    assert.ok(files.length >= 6, JSON.stringify(modes));
    for (const [name, mode] of Object.entries(modes)) assert.equal(mode, '600', `${name}: ${mode}`);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
});
