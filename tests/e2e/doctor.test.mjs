// `ichido doctor`: what is wrong and what to do about it. It changes nothing, and a server may run.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { ADMIN_TOKEN, assert, forEachStore, fresh, impatient, newFolder, PROGRAM, programEnv, start, test, until } from './lib/harness.mjs';

const run = promisify(execFile);

async function doctor(env, ...args) {
    const all = { ...programEnv, ...impatient(env), ...env };
    const said = await run(PROGRAM, ['doctor', ...args], { env: all, cwd: env.HOME ?? newFolder() })
        .then((r) => ({ code: 0, ...r }), (e) => e);
    return { ...said, json: args.includes('--json') && said.stdout ? JSON.parse(said.stdout) : undefined };
}

const about = (said, what) => said.json.findings.filter((f) => f.about === what);
const has = (said, verdict, what, words) => assert.ok(
    about(said, what).some((f) => f.verdict === verdict && words.test(`${f.found} ${f.advice ?? ''}`)),
    `${verdict} ${what} ${words}: ${said.stdout}`);

forEachStore((store, test_) => {
    test_('O8 doctor: beside a server that is well nothing is bad, and nothing is changed', async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db });
        await server.paid();
        const env = { ICHIDO_DB: db.url, ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN, ICHIDO_LISTEN: `127.0.0.1:${server.port}` };
        const tables = await db.count('payments');
        const said = await doctor(env, '--json');
        assert.equal(said.code, 0, said.stdout);
        assert.notEqual(said.json.verdict, 'bad');
        has(said, 'ok', 'server', /runs and is ready/);
        has(said, 'ok', 'database', /its tables are this version's/);
        has(said, 'ok', 'gateway', /sandbox/);
        assert.equal(await db.count('payments'), tables);
        const words = await doctor(env);
        assert.equal(words.code, 0);
        assert.match(words.stdout, /^ok {4}server {5}it runs and is ready$/m);
    });

    test_('O8 doctor: a dead letter, and tables of a newer program', async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db });
        await server.deliver('{"id":"evt_bad","broken');
        await until('it is a dead letter', async () => (await db.count('dead_letters')) === 1);
        const env = { ICHIDO_DB: db.url, ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN, ICHIDO_LISTEN: `127.0.0.1:${server.port}` };
        has(await doctor(env, '--json'), 'warning', 'queue', /1 messages could not .*ichido dlq list/);
        await server.stop();
        await db.all("INSERT INTO schema_migrations (number, name, applied_at) VALUES (900, 'later', 0)");
        const said = await doctor({ ...env, ICHIDO_LISTEN: '127.0.0.1:1' }, '--json');
        assert.equal(said.code, 1);
        has(said, 'bad', 'database', /newer program.*restore a backup/);
        has(said, 'ok', 'server', /none runs here/);
    });
});

test('O8 doctor: each thing that is wrong is named, with what to do, and no secret is shown', async (t) => {
    const folder = newFolder();
    t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
    const secret = path.join(folder, 'token');
    fs.writeFileSync(secret, 'short-but-secret');
    fs.chmodSync(secret, 0o644);
    const file = path.join(folder, 'no.db');
    fs.writeFileSync(file, 'x'.repeat(5000));
    const closed = await new Promise((done) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => done(port)); });
    });
    const said = await doctor({
        HOME: folder, ICHIDO_DB: `sqlite:${file}`, ICHIDO_ADMIN_TOKEN_FILE: secret,
        ICHIDO_MODE: 'production', ICHIDO_JWT_SECRET: 'j'.repeat(40),
        ICHIDO_GATEWAY: 'stripe', STRIPE_SECRET_KEY: 'sk_test_hidden', STRIPE_API_BASE: `http://127.0.0.1:${closed}`,
        STRIPE_WEBHOOK_SECRET: 'not-of-stripe-at-all', ICHIDO_SMTP_URL: `smtp://me:hidden@127.0.0.1:${closed}`,
        ICHIDO_MAIL_FROM: 'a@example.com',
    }, '--json');
    assert.equal(said.code, 1, said.stderr);
    assert.equal(said.json.verdict, 'bad');
    has(said, 'bad', 'database', /not a database.*restore a backup/);
    has(said, 'bad', 'secrets', /ICHIDO_ADMIN_TOKEN_FILE: others can read .* chmod 600/);
    has(said, 'bad', 'secrets', /ICHIDO_ADMIN_TOKEN has 16 characters/);
    has(said, 'warning', 'secrets', /does not begin with whsec_/);
    has(said, 'bad', 'gateway', /Stripe cannot be reached/);
    has(said, 'warning', 'telling', /mail server cannot be reached/);
    assert.ok(!/hidden|short-but|not-of-stripe/.test(said.stdout + said.stderr), said.stdout);
});

test('A4 doctor logs in nowhere, and sees every file that others can read', async (t) => {
    const folder = newFolder();
    t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
    let heard = '';
    const mail = net.createServer((s) => {
        s.write('220 mail ESMTP\r\n');
        s.on('data', (part) => { heard += part; s.write('250-mail\r\n250 AUTH PLAIN LOGIN\r\n'); }).on('error', () => {});
    });
    await new Promise((done) => mail.listen(0, '127.0.0.1', done));
    t.atEnd(() => mail.close());
    const key = path.join(folder, 'key.pem'), token = path.join(folder, 'token'), config = path.join(folder, 'config');
    for (const file of [key, token]) { fs.writeFileSync(file, 't'.repeat(40)); fs.chmodSync(file, 0o644); }
    fs.writeFileSync(config, `ICHIDO_ADMIN_TOKEN_FILE=${token}\n`, { mode: 0o600 });
    const said = await doctor({
        HOME: folder, ICHIDO_DB: `sqlite:${folder}/x.db`, ICHIDO_CONFIG: config, ICHIDO_TLS_KEY: key, ICHIDO_TLS_CERT: key,
        ICHIDO_SMTP_URL: `smtp://me:hidden@127.0.0.1:${mail.address().port}`, ICHIDO_MAIL_FROM: 'a@example.com',
    }, '--json');
    has(said, 'ok', 'telling', /mail server can be reached/);
    has(said, 'bad', 'secrets', /ICHIDO_TLS_KEY: others can read/);
    has(said, 'bad', 'secrets', /ICHIDO_ADMIN_TOKEN_FILE: others can read/);
    has(said, 'bad', 'TLS', /no certificate/);
    assert.equal(heard, '');
});

test('O8 doctor: a server that hangs is not called absent', async (t) => {
    const hangs = net.createServer((s) => s.on('error', () => {}));
    await new Promise((done) => hangs.listen(0, '127.0.0.1', done));
    const folder = newFolder();
    t.atEnd(() => { hangs.close(); fs.rmSync(folder, { recursive: true, force: true }); });
    fs.writeFileSync(path.join(folder, 'x.db.lock'), `127.0.0.1:${hangs.address().port}\n`);
    const said = await doctor({ HOME: folder, ICHIDO_DB: `sqlite:${folder}/x.db` }, '--json');
    assert.equal(said.code, 1);
    has(said, 'bad', 'server', /does not answer/);
});

test('O8 doctor: a gateway that refuses the key, and settings that cannot be read', async (t) => {
    const refuses = net.createServer((s) => s.on('data', () => s.end(
        'HTTP/1.1 401 Unauthorized\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n')).on('error', () => {}));
    await new Promise((done) => refuses.listen(0, '127.0.0.1', done));
    t.atEnd(() => refuses.close());
    const base = {
        ICHIDO_MODE: 'production', ICHIDO_DB: 'sqlite:x.db', ICHIDO_GATEWAY: 'stripe', STRIPE_SECRET_KEY: 'sk_test_1',
        STRIPE_WEBHOOK_SECRET: 'whsec_0123456789abcdef', ICHIDO_JWT_SECRET: 'j'.repeat(40), ICHIDO_ADMIN_TOKEN: 'a'.repeat(40),
    };
    let said = await doctor({ ...base, STRIPE_API_BASE: `http://127.0.0.1:${refuses.address().port}` }, '--json');
    has(said, 'bad', 'gateway', /refuses the key \(401\)/);
    has(said, 'bad', 'clock', /away from the gateway's/);
    has(said, 'ok', 'database', /not there yet; the first start makes it/);
    said = await doctor({ ICHIDO_GATEWAY: 'nonsense' });
    assert.equal(said.code, 2);
    assert.match(said.stderr, /ICHIDO_GATEWAY/);
    said = await doctor({}, '--what');
    assert.equal(said.code, 2);
});
