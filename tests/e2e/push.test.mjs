// Push messages by FCM (N1): the fake is proved by Google's own SDK, then the whole program speaks to it.
import fs from 'node:fs';
import path from 'node:path';
import { cert, deleteApp, initializeApp } from 'firebase-admin/app';
import { getMessaging } from 'firebase-admin/messaging';
import { after, asGoogle, ERRORS, fakeFcm } from './lib/fcm.mjs';
import { assert, forOneStore, fresh, launch, newFolder, start, stores, test, until, uuid } from './lib/harness.mjs';
import { bought, campaign, quiet, VISA } from './lib/purchases.mjs';

// --- the fake, judged by firebase-admin ---

async function googles(t) {
    const fake = await fakeFcm(t);
    await asGoogle(t, fake);
    const app = initializeApp({ credential: cert(fake.account), projectId: fake.project }, uuid());
    t.atEnd(() => deleteApp(app));
    return { fake, messaging: getMessaging(app) };
}

const message = (changes = {}) => ({
    token: 'device-1', notification: { title: '支払い完了', body: '¥1,200' }, data: { payment_id: 'pay_1' },
    android: { priority: 'high', ttl: 3600_000, collapseKey: 'pay_1', notification: { tag: 'pay_1' } },
    apns: { headers: { 'apns-collapse-id': 'pay_1', 'apns-priority': '10' } },
    webpush: { headers: { TTL: '60' }, notification: { tag: 'pay_1' } }, ...changes,
});

test('T3 N1 firebase-admin takes the fake for FCM: one token, its messages, targets and validation', async (t) => {
    const { fake, messaging } = await googles(t);
    for (let i = 0; i < 3; i++)
        assert.match(await messaging.send(message()), /^projects\/ichido-e2e\/messages\/0:/);
    assert.equal(fake.asked.length, 1);
    assert.ok(fake.asked[0].scope.includes('firebase.messaging'));
    const { answered, ...first } = fake.got[0];
    assert.equal(answered, undefined);
    assert.deepEqual(first, {
        token: 'device-1', notification: { title: '支払い完了', body: '¥1,200' }, data: { payment_id: 'pay_1' },
        android: { priority: 'high', ttl: '3600s', collapse_key: 'pay_1', notification: { tag: 'pay_1' } },
        apns: { headers: { 'apns-collapse-id': 'pay_1', 'apns-priority': '10' } },
        webpush: { headers: { TTL: '60' }, notification: { tag: 'pay_1' } },
    });
    await messaging.send({ topic: 'all', data: { a: 'b' } }, true);
    await assert.rejects(messaging.send(message({ data: { big: 'x'.repeat(4100) } })), { code: 'messaging/invalid-argument' });
    await assert.rejects(messaging.send(message({ data: { from: 'x' } })), { code: 'messaging/invalid-argument' });
    assert.deepEqual(fake.refused.length, 2);
});

test('T3 N1 firebase-admin reads every error of the fake as FCM\'s', async (t) => {
    const { fake, messaging } = await googles(t);
    const codes = {
        UNREGISTERED: 'registration-token-not-registered', BAD_TOKEN: 'invalid-argument',
        SENDER_ID_MISMATCH: 'mismatched-credential', THIRD_PARTY_AUTH_ERROR: 'third-party-auth-error',
        QUOTA_EXCEEDED: 'message-rate-exceeded', INTERNAL: 'internal-error', UNSPECIFIED_ERROR: 'unknown-error',
        PERMISSION_DENIED: 'mismatched-credential', HTML: 'unknown-error',
    };
    for (const [name, code] of Object.entries(codes)) {
        fake.say = () => name;
        await assert.rejects(messaging.send(message()), (error) => {
            assert.equal(error.code, `messaging/${code}`, name);
            return true;
        });
    }
    fake.got.length = 0; // a 503 it repeats by itself
    fake.say = (_, n) => (n === 1 ? after('UNAVAILABLE', 0) : undefined);
    await messaging.send(message());
    assert.equal(fake.got.length, 2);
});

test('T3 N1 the fake refuses what the real one refuses: assertions, bearers, unknown fields', async (t) => {
    const fake = await fakeFcm(t);
    const post = async (path, body, headers) => {
        const answer = await fetch(`${fake.base}${path}`, { method: 'POST', body, headers });
        return { status: answer.status, body: await answer.json() };
    };
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const grant = 'grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer';
    assert.deepEqual((await post('/token', `${grant}&assertion=a.b.c`, form)).body.error, 'invalid_grant');
    assert.deepEqual((await post('/token', 'grant_type=password', form)).body.error, 'unsupported_grant_type');
    const json = { 'Content-Type': 'application/json', Authorization: 'Bearer good' };
    const send = (body, headers = json) => post(`/v1/projects/${fake.project}/messages:send`, JSON.stringify(body), headers);
    assert.equal((await send({ message: { token: 'a' } })).status, 401);
    fake.tokens.set('good', Date.now() + 60_000);
    const wrong = [
        {}, { message: {} }, { message: { token: 'a', topic: 'b' } }, { message: { token: 'a', body: 'x' } },
        { message: { token: 'a', data: { n: 1 } } }, { message: { token: 'a', android: { ttl: '5m' } } },
        { message: { token: 'a', android: { priority: 'urgent' } } }, { message: { token: 'a', notification: { text: 'x' } } },
        { message: { topic: '/topics/a' } }, { message: { token: 'a', apns: { headers: { 'apns-collapse-id': 'x'.repeat(65) } } } },
        { message: { token: 'a' }, other: 1 },
    ];
    for (const body of wrong) {
        const { status, body: { error } } = await send(body);
        assert.deepEqual([status, error.status], [400, 'INVALID_ARGUMENT'], JSON.stringify(body));
    }
    assert.equal((await send({ message: { token: 'a' } })).status, 200);
    assert.equal((await send({ message: { token: 'a', android: { collapseKey: 'b' } }, validateOnly: true })).status, 200);
    assert.equal(Object.keys(ERRORS).length, 12);
});

// --- the whole program ---

const CONFIRMED = 'purchase_confirmed';

// A server that speaks to the fake; the fake's clock goes along with the server's.
async function open(t, store, { fake, db, env } = {}) {
    const google = fake ?? await fakeFcm(t);
    const server = await start(t, store, { db, env: { ...google.env, ...env } });
    const advance = async (ms) => {
        google.move(ms);
        await server.advance(ms);
    };
    return { server, fake: google, advance };
}

async function person(server, deviceTokens, changes = {}) {
    const user = uuid();
    const answer = await server.call('PUT', `/api/v1/users/${user}`, { as: user, body: { deviceTokens, ...changes } });
    assert.equal(answer.status, 201, answer.text);
    return user;
}

async function buys(server, user, method = VISA) {
    const { positions } = await campaign(server);
    return bought(server, positions[0], { as: user, method });
}

const confirmed = (fake, device) => fake.to(device).filter(({ data }) => data.type === CONFIRMED);
const confirmation = (fake, device, n = 1) =>
    until(`${n} confirmations to ${device}`, () => confirmed(fake, device).length >= n && confirmed(fake, device));

// The send of the confirmation to that device.
const sendOf = async (server, device) => {
    const told = (await server.db.table('notifications')).filter(({ type }) => type === CONFIRMED).map(({ id }) => id);
    return (await server.db.table('sends')).find((row) => row.channel === 'push' && row.target === device && told.includes(row.notification_id));
};
const ends = (server, device, status) =>
    until(`the push to ${device} is ${status}`, async () => (await sendOf(server, device))?.status === status);

// Once, then as always: only confirmations are meant.
const first = (how) => {
    let said = false;
    return ({ data }) => {
        if (data.type !== CONFIRMED || said) return undefined;
        said = true;
        return how;
    };
};

const mute = (server, ...secrets) => {
    for (const secret of secrets) assert.ok(!server.stderr.includes(secret), 'a token is in the log');
};

forOneStore((store, test) => {
    test('N1 who buys is pushed to, once on each device, in the words of 003', async (t) => {
        const { server, fake } = await open(t, store);
        const devices = [`dev-a-${uuid()}`, `dev-b-${uuid()}`];
        const user = await person(server, devices);
        const { purchase } = await buys(server, user);
        for (const device of devices) {
            const [push] = await confirmation(fake, device);
            const { notificationId, ...data } = push.data;
            assert.deepEqual(push.notification, { title: '購入が完了しました', body: 'ポジションの購入が確定しました。' });
            assert.deepEqual(data, { type: CONFIRMED, purchaseId: purchase.id, campaignId: purchase.campaignId });
            assert.deepEqual(push.android, {
                priority: 'high', ttl: push.android.ttl, collapse_key: notificationId, notification: { tag: notificationId },
            });
            assert.equal(push.apns.headers['apns-collapse-id'], notificationId);
            await ends(server, device, 'sent');
        }
        await quiet(server);
        for (const device of devices) assert.equal(confirmed(fake, device).length, 1);
        assert.deepEqual(fake.refused, []);
        assert.equal(fake.asked.length, 1, 'one token for all of them');
        assert.equal(fake.asked[0].kid, 'e2e-key-1');
        mute(server, ...devices, ...fake.tokens.keys());
    });

    test('N1 who reads English is pushed to in English; who has no device is not', async (t) => {
        const { server, fake } = await open(t, store);
        await buys(server, uuid());
        await buys(server, await person(server, ['phone'], { channels: [] }));
        await buys(server, await person(server, ['tablet'], { language: 'en' }), VISA);
        const [push] = await confirmation(fake, 'tablet');
        assert.deepEqual(push.notification, { title: 'Your purchase is complete', body: 'The purchase of your position is confirmed.' });
        await quiet(server);
        assert.deepEqual(new Set(fake.got.map(({ token }) => token)), new Set(['tablet']));
    });

    test('N1 a device that FCM does not know any more is forgotten; no other is', async (t) => {
        const { server, fake } = await open(t, store);
        const user = await person(server, ['gone', 'bad', 'stays', 'foreign']);
        const known = async () => (await server.call('GET', `/api/v1/users/${user}`, { as: user })).body.deviceTokens.sort();
        fake.gone.add('gone');
        fake.say = ({ token }) => ({ bad: 'BAD_TOKEN', foreign: 'SENDER_ID_MISMATCH' })[token];
        await buys(server, user);
        await confirmation(fake, 'stays');
        await until('two are forgotten', async () => (await known()).length === 2);
        assert.deepEqual(await known(), ['foreign', 'stays']);
        await quiet(server);
        fake.got.length = 0;
        await buys(server, user);
        await confirmation(fake, 'stays');
        await quiet(server);
        assert.deepEqual(new Set(fake.got.map(({ token }) => token)), new Set(['foreign', 'stays']));
        await server.line('an alarm', (l) => l.level === 'error' && l.message === 'FCM refuses our pushes' && l.code === 'SENDER_ID_MISMATCH');
    });

    const waits = [
        ['429 with Retry-After', after('QUOTA_EXCEEDED', 300), 300], ['429', 'QUOTA_EXCEEDED', 60], ['503', 'UNAVAILABLE', 5],
        ['503 with Retry-After', after('UNAVAILABLE', 120), 120], ['500', 'INTERNAL', 10], ['a page of HTML', { ...ERRORS.HTML, http: 503 }, 5],
    ];
    test('N1 what FCM puts off comes again when it said, and is told once', async (t) => {
        const { server, fake, advance } = await open(t, store);
        for (const [i, [what, how, seconds]] of waits.entries()) {
            const device = `phone-${i}`;
            const user = await person(server, [device]);
            fake.say = first(how);
            await buys(server, user);
            await confirmation(fake, device);
            await ends(server, device, 'waiting');
            const { id, updated_at: failed } = await sendOf(server, device);
            const due = await until(`${what}: put off`, async () => {
                const [row] = await server.db.table('message', `id = ${server.db.blob(id)}`);
                return Number(row.due_at) > Number(failed) && Number(row.due_at);
            });
            assert.ok(due - failed >= seconds * 1000 - 100 && due - failed < seconds * 1000 + 4000, `${what}: ${due - failed} ms`);
            await advance(seconds * 1000);
            await ends(server, device, 'sent');
            assert.equal(confirmed(fake, device).length, 2, what);
        }
        assert.deepEqual(fake.refused, []);
    });

    test('D28 N1 a push whose answer is lost is not sent again', async (t) => {
        const { server, fake, advance } = await open(t, store);
        for (const device of ['cold', 'warm']) { // the second finds a kept connection, which libcurl would replace by itself
            const user = await person(server, [device]);
            fake.say = first('vanish');
            await buys(server, user);
            await ends(server, device, 'unknown');
            await advance(24 * 3600_000);
            await quiet(server);
            assert.equal(confirmed(fake, device).length, 1, device);
            fake.say = () => undefined;
            await buys(server, await person(server, [`behind-${device}`]));
            await confirmation(fake, `behind-${device}`);
            await quiet(server);
        }
    });

    test('D28 N1 a 502 of something between FCM and us, without FCM\'s word: it may have been sent, and is not sent again', async (t) => {
        const { server, fake, advance } = await open(t, store);
        const user = await person(server, ['phone']);
        fake.say = first('HTML');
        await buys(server, user);
        await ends(server, 'phone', 'unknown');
        assert.match((await sendOf(server, 'phone')).why, /502/);
        await advance(24 * 3600_000);
        await quiet(server);
        assert.equal(confirmed(fake, 'phone').length, 1);
    });

    test('N1 FCM that is not there is tried again until it is', async (t) => {
        const fake = await fakeFcm(t);
        const { server } = await open(t, store, { fake, env: { ICHIDO_FCM_BASE: 'http://127.0.0.1:9' } });
        const user = await person(server, ['phone']);
        await buys(server, user);
        await ends(server, 'phone', 'waiting');
        await until('it was tried', async () => (await sendOf(server, 'phone')).why);
        assert.match((await sendOf(server, 'phone')).why, /not reached/);
        const { db } = server;
        await server.stop();
        const again = await open(t, store, { fake, db });
        await again.advance(60_000);
        await ends(again.server, 'phone', 'sent');
        assert.equal(confirmed(fake, 'phone').length, 1);
    });

    test('N1 a token that was taken back is replaced, and one is fetched anew before its hour is over', async (t) => {
        const { server, fake, advance } = await open(t, store);
        const user = await person(server, ['phone']);
        await buys(server, user);
        await confirmation(fake, 'phone');
        await quiet(server);
        assert.equal(fake.asked.length, 1);
        fake.tokens.clear();
        await buys(server, user);
        await confirmation(fake, 'phone', 2);
        await quiet(server);
        assert.equal(fake.asked.length, 2);
        fake.refused.length = 0;
        await advance(56 * 60_000);
        await buys(server, user);
        await confirmation(fake, 'phone', 3);
        assert.deepEqual([fake.asked.length, fake.refused.length], [3, 0], 'nobody saw it expire');
    });

    test('N1 an account that Google refuses is an alarm; payments go on, and nothing of it is in the log', async (t) => {
        const { server, fake, advance } = await open(t, store);
        const user = await person(server, ['phone-secret']);
        fake.sayToken = () => 'invalid_grant';
        await buys(server, user);
        await server.line('the alarm', (l) => l.level === 'error' && /refuses the service account/.test(l.message) && l.why === 'invalid_grant');
        await until('it waits', async () => (await server.db.all(`SELECT why FROM sends WHERE status = 'waiting'`))[0]?.why);
        assert.equal(fake.got.length, 0);
        fake.sayToken = () => undefined;
        await advance(61_000);
        await confirmation(fake, 'phone-secret');
        mute(server, 'phone-secret', ...fake.account.private_key.split('\n').filter((line) => line.length > 30));
    });

    test('N1 a token endpoint that is busy, silent or gone is asked again; one answer serves all who wait', async (t) => {
        const { server, fake, advance } = await open(t, store);
        fake.sayToken = (n) => (n === 1 ? 503 : undefined);
        const user = await person(server, ['phone']);
        await buys(server, user);
        await ends(server, 'phone', 'waiting');
        fake.sayToken = () => 'hang';
        await advance(10_000);
        await until('it is asked again', () => fake.asked.length === 2);
        await Promise.all([1, 2, 3].map(() => buys(server, user)));
        await until('all of them are under way', async () =>
            (await server.db.table('sends')).filter(({ status }) => status === 'sending').length >= 4);
        fake.sayToken = () => undefined;
        fake.release();
        await confirmation(fake, 'phone', 4);
        assert.equal(fake.asked.length, 2);
    });

    test('N1 P6 FCM that hangs holds up no purchase', async (t) => {
        const { server, fake } = await open(t, store);
        const user = await person(server, ['phone']);
        fake.say = () => 'hang';
        const { positions } = await campaign(server, { layers: [{ name: 'A', price: 2000, positions: 12 }] });
        await Promise.all(positions.map((position) => bought(server, position, { as: user, method: VISA })));
        await until('some of them hang', () => fake.waiting.length >= 4);
        fake.say = () => undefined;
        fake.release();
        await confirmation(fake, 'phone', 12);
        await quiet(server);
        assert.equal(confirmed(fake, 'phone').length, 12);
    });

    test('D28 N1 T6 kill -9 while FCM holds a push: nobody is told twice', async (t) => {
        const { server, fake } = await open(t, store);
        const user = await person(server, ['phone']);
        fake.say = () => 'hang';
        await buys(server, user);
        await confirmation(fake, 'phone');
        await server.kill();
        fake.say = () => undefined;
        fake.release();
        const again = await open(t, store, { fake, db: server.db });
        await again.advance(30_000);
        await ends(again.server, 'phone', 'unknown');
        await again.advance(24 * 3600_000);
        await quiet(again.server);
        assert.equal(confirmed(fake, 'phone').length, 1);
    });

    for (const point of ['notify.marked', 'notify.told', 'notify.settling'])
        test(`N1 T6 killed at ${point}: once or not at all, and never twice`, async (t) => {
            const fake = await fakeFcm(t);
            const db = await fresh(t, store);
            const dying = await launch(t, db, { env: { ...fake.env, ICHIDO_FAULTS: `${point}=crash@1` } }).listening();
            const user = await person(dying, ['phone']);
            await buys(dying, user).catch(() => undefined); // the purchase may be answered before, or not
            await dying.exit;
            const { server, advance } = await open(t, store, { fake, db });
            await advance(30_000);
            await until('all have an end', async () => {
                const sends = await db.table('sends');
                return sends.length >= 1 && sends.every(({ status }) => ['sent', 'unknown'].includes(status));
            });
            await advance(3600_000);
            await quiet(server);
            const told = fake.got.map(({ data }) => data.notificationId);
            assert.equal(new Set(told).size, told.length);
            const rows = await db.table('sends'); // another may have been under way beside it
            const unknown = rows.filter(({ status }) => status === 'unknown').length;
            assert.ok(unknown >= 1 && told.length >= rows.length - unknown && told.length <= rows.length, `${told.length} of ${rows.length}`);
            assert.equal(told.length > 0 || point === 'notify.marked', true);
        });
});

// --- at start ---

const refuses = async (t, env) => {
    const db = await fresh(t, stores[0]);
    const server = launch(t, db, { env });
    const { code } = await server.exit;
    assert.notEqual(code, 0);
    return server.stderr;
};

test('N1 credentials that are none are refused at start, in clear words that show nothing', async (t) => {
    const { account } = await fakeFcm(t);
    const rows = [
        ['/nowhere/account.json', /cannot be read: No such file/],
        ['{"type":"service_account"', /not JSON/],
        [JSON.stringify({ ...account, private_key: undefined }), /private_key is missing/],
        [JSON.stringify({ ...account, private_key: 'hunter2-hunter2' }), /private_key is not a PKCS#8 key/],
        [JSON.stringify({ ...account, client_email: undefined }), /client_email is missing/],
        [JSON.stringify({ ...account, project_id: '' }), /project_id is missing/],
        [JSON.stringify({ ...account, token_uri: 'http://example.com/token' }), /token_uri is missing, or no https/],
        [JSON.stringify({ ...account, type: 'authorized_user' }), /not service_account/],
    ];
    for (const [credentials, words] of rows) {
        const said = await refuses(t, { ICHIDO_FCM_CREDENTIALS: credentials });
        assert.match(said, words);
        assert.match(said, /ICHIDO_FCM_CREDENTIALS/);
        assert.doesNotMatch(said, /hunter2/);
    }
});

test('N1 credentials may stand in a file; one that others can read is told of, and works', async (t) => {
    const fake = await fakeFcm(t);
    const folder = newFolder();
    t.atEnd(() => fs.rmSync(folder, { recursive: true }));
    for (const mode of [0o600, 0o644]) {
        const file = path.join(folder, `account-${mode}.json`);
        fs.writeFileSync(file, JSON.stringify(fake.account, null, 2), { mode });
        fs.chmodSync(file, mode);
        const { server } = await open(t, stores[0], { fake, env: { ICHIDO_FCM_CREDENTIALS: file } });
        const warned = server.lines.some((l) => l.level === 'warn' && /can be read by others/.test(l.message));
        assert.equal(warned, mode === 0o644);
        await buys(server, await person(server, [`phone-${mode}`]));
        await confirmation(fake, `phone-${mode}`);
    }
});
