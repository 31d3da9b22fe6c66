// Running it: start and settings (D25), TLS and secrets (A4), stopping (A5), health (O9).
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { remember } from './lib/evidence.mjs';
import {
    assert, event, forEachStore, fresh, launch, newFolder, OLD_SECRET, pretty, PROGRAM, Raw, request, SECRET, sign,
    start, stores, test, until, WEBHOOK,
} from './lib/harness.mjs';
import { freePort } from './lib/ports.mjs';

const run = promisify(execFile);

const folderFor = (t) => {
    const folder = newFolder();
    t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
    return folder;
};

const PRODUCTION = {
    ICHIDO_MODE: 'production', ICHIDO_GATEWAY: 'stripe', ICHIDO_TEST_CLOCK: undefined,
    ICHIDO_ADMIN_TOKEN: 'admin-token-0123456789-0123456789-0123456789',
    STRIPE_SECRET_KEY: 'sk_live_e2e0123456789abcdef',
    ICHIDO_JWT_SECRET: 'production-jwt-secret-0123456789-0123456789',
};
remember(PRODUCTION.ICHIDO_ADMIN_TOKEN);
remember(PRODUCTION.STRIPE_SECRET_KEY);
remember(PRODUCTION.ICHIDO_JWT_SECRET);

async function certificate(folder) {
    const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
    await run('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
        '-keyout', key, '-out', cert, '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']);
    return { key, cert };
}

forEachStore((store, test) => {
    test('D25 production starts with real settings, has no test clock and prints no secret', async (t) => {
        const server = await start(t, store, { env: PRODUCTION });
        assert.equal((await server.deliver(event('payment_intent.succeeded', { livemode: true }))).status, 204);
        const clock = await server.request({ method: 'POST', path: '/test/clock' }, '{"advanceMs":1}');
        assert.equal(clock.status, 404);
        for (const secret of [SECRET, PRODUCTION.ICHIDO_ADMIN_TOKEN, PRODUCTION.STRIPE_SECRET_KEY, PRODUCTION.ICHIDO_JWT_SECRET])
            assert.ok(!(server.stdout + server.stderr).includes(secret));
    });

    test('A4 the server speaks TLS with a certificate, and nothing else on that port', async (t) => {
        const files = await certificate(folderFor(t));
        const server = await start(t, store, { env: { ICHIDO_TLS_CERT: files.cert, ICHIDO_TLS_KEY: files.key } });
        server.defaults = { tls: { ca: fs.readFileSync(files.cert) } };
        const one = event();
        assert.equal((await server.deliver(one)).status, 204);
        assert.equal((await server.settled(one.id)).outcome, 'ignored', 'a foreign intent');
        const large = pretty(event()).padEnd(256 * 1024);
        assert.equal((await server.deliver(large)).status, 204, 'many records, one body');
        await assert.rejects(request(server.port, { path: '/healthz' }), 'plain HTTP gets no answer');
        const garbage = await new Raw(server.port).opened();
        garbage.send('\x16\x03\x01\xff\xff' + 'x'.repeat(5000));
        await garbage.closed();
        garbage.destroy();
        await assert.rejects(new Promise((resolve, reject) => {
            const old = tls.connect({ port: server.port, host: '127.0.0.1', ca: fs.readFileSync(files.cert), maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }, resolve);
            old.on('error', reject);
        }), 'TLS 1.1 is refused');
        assert.equal((await server.deliver(event())).status, 204);
        server.defaults = { tls: { ca: fs.readFileSync(files.cert) } };
    });

    test('A4 secrets may come from files, and are not on the command line', async (t) => {
        const folder = folderFor(t);
        const file = path.join(folder, 'webhook-secret');
        fs.writeFileSync(file, `${SECRET},${OLD_SECRET}\n`, { mode: 0o600 });
        const server = await start(t, store, { env: { STRIPE_WEBHOOK_SECRET: undefined, STRIPE_WEBHOOK_SECRET_FILE: file } });
        assert.equal((await server.deliver(event())).status, 204);
        assert.equal((await server.deliver(event(), { secret: OLD_SECRET })).status, 204);
        assert.ok(!fs.readFileSync(`/proc/${server.pid}/cmdline`, 'latin1').includes('whsec'));
    });

    test('A5 SIGTERM lets what began end: all requests in flight are answered, new ones are refused', async (t) => {
        const server = await start(t, store);
        const events = Array.from({ length: 20 }, () => event());
        const halves = [];
        for (const one of events) {
            const body = pretty(one);
            const raw = await new Raw(server.port).opened();
            raw.send(`POST ${WEBHOOK} HTTP/1.1\r\nHost: x\r\nStripe-Signature: ${sign(body)}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 100)}`);
            halves.push({ raw, rest: body.slice(100) });
        }
        const idle = await new Raw(server.port).opened();
        idle.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
        await idle.status();
        await until('all have begun', async () => (await server.metrics()).get('ichido_http_connections') >= 21);
        server.child.kill('SIGTERM');
        await idle.closed();
        await until('nobody new gets in', () => new Promise((resolve) => {
            const late = new Raw(server.port);
            late.socket.on('error', () => resolve(true));
            late.socket.on('connect', () => { late.destroy(); resolve(false); });
        }));
        assert.equal(server.ended, undefined, 'it waits for those who began');
        for (const { raw, rest } of halves) raw.send(rest);
        for (const { raw } of halves) {
            assert.equal(await raw.status(), 204);
            assert.match(raw.text, /connection: close/i);
            await raw.closed();
        }
        assert.deepEqual(await server.exit, { code: 0, signal: null });
        assert.equal(await server.db.count('webhook_events'), events.length);
    });

    test('A5 SIGTERM under load: every ACK is stored, the exit code is 0, and the rest is done by the next start', async (t) => {
        const server = await start(t, store);
        const acked = [];
        let stopped = false;
        const sender = async () => {
            while (!stopped) {
                const one = event();
                const answer = await server.deliver(one, { options: { agent: false } }).catch(() => null);
                if (answer?.status === 204) acked.push(one.id);
                else if (!answer) return;
            }
        };
        const senders = Array.from({ length: 16 }, sender);
        await until('it is busy', () => acked.length > 100);
        const how = await server.stop();
        stopped = true;
        await Promise.all(senders);
        assert.deepEqual(how, { code: 0, signal: null });
        const next = await start(t, store, { db: server.db });
        const stored = new Set((await next.db.all('SELECT stripe_event_id AS id FROM webhook_events')).map((row) => row.id));
        assert.deepEqual(acked.filter((id) => !stored.has(id)), []);
        await until('all are through', async () => await next.db.count('webhook_outcomes') === stored.size);
    });

    test('A5 a client over its rate limit gets 429 with Retry-After, and probes are never refused', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_RATE_LIMIT: '20' } });
        const answers = await Promise.all(Array.from({ length: 200 }, () => server.get('/')));
        assert.equal((await server.get('/healthz')).status, 200);
        assert.equal((await server.get('/readyz')).status, 200);
        const limited = answers.filter((answer) => answer.status === 429);
        assert.ok(limited.length > 100, `${limited.length} of 200`);
        assert.ok(answers.some((answer) => answer.status === 200));
        assert.ok(Number(limited[0].headers['retry-after']) > 0);
    });

    test('O9 every thread has a name that says what it does: top -H, perf and gdb can be read', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_LOOPS: '2' } });
        assert.equal((await server.get('/healthz')).status, 200); // so all of them run
        const tasks = `/proc/${server.pid}/task`;
        const names = fs.readdirSync(tasks).map((id) => fs.readFileSync(`${tasks}/${id}/comm`, 'utf8').trim());
        const expected = [/^loop-1$/, /^log$/, /^sandbox$/, /^password-0$/, /^egress-gateway$/,
            ...(store.kind === 'postgres' ? [/^store-0$/, /^pg-listen$/] : [/^store$/, /^reader-0$/, /^checkpoint$/])];
        for (const one of expected) assert.ok(names.some((name) => one.test(name)), `${one}: ${names}`);
        assert.equal(names.filter((name) => name === 'ichido').length, 1, `only the first, which is loop 0, keeps the program's name: ${names}`);
    });

    test('O9 healthz and readyz say that it lives and works, with backlog and oldest ready age', async (t) => {
        const server = await start(t, store);
        const health = await server.get('/healthz');
        assert.equal(health.status, 200);
        const ready = JSON.parse((await server.get('/readyz')).text);
        assert.equal(ready.status, 'ready');
        assert.deepEqual([ready.store, ready.dead, ready.oldestReadyMs], ['ok', 0, 0]);
        assert.ok(ready.live <= await server.db.count('message', '1 = 1'), 'at most the standing jobs');
        const metrics = await server.metrics();
        for (const name of ['ichido_queue_live', 'ichido_queue_oldest_ready_seconds', 'ichido_queue_dead', 'ichido_http_connections'])
            assert.ok(metrics.get(name) >= 0);
        const open = await server.get('/metrics', { Accept: 'application/openmetrics-text' });
        assert.match(open.headers['content-type'], /^application\/openmetrics-text/);
        assert.match(open.text, /# EOF\n$/);
    });

    test('O9 readyz is red while a ready message is too old, and while the store takes no writes', async (t) => {
        const server = await start(t, store, { env: {
            ICHIDO_OLDEST_READY_LIMIT_MS: '30000', ICHIDO_FAULTS: `${store.beforeCommit}=${store.refusal}@2-80`, // the start's own commits are among them
        } });
        await until('red for the store, then green again', async () => {
            const answer = await server.get('/readyz');
            if (answer.status === 503) server.wasRed = JSON.parse(answer.text);
            return server.wasRed && answer.status === 200;
        });
        assert.notEqual(server.wasRed.store, 'ok');
        let strays = 0;
        const red = await until('red for the age', async () => {
            // on PostgreSQL a poll may have taken the last one already, so each look has its own
            const id = `0199e6a25c00700080000000${String(++strays).padStart(8, '0')}`;
            await server.db.all(`INSERT INTO message (id, kind, ready, due_at, added_at, ref)
                VALUES (${server.db.blob(id)}, 'no.such.kind', 1, ${Date.now() - 100_000}, 1, 'stray')`);
            const answer = await server.get('/readyz');
            return answer.status === 503 && answer;
        });
        const why = JSON.parse(red.text);
        assert.ok(why.oldestReadyMs > 30_000);
        assert.ok(why.live >= 0);
        assert.ok(Number(red.headers['retry-after']) > 0);
        await server.deliver(event()); // wakes the queue, which finds the stray
        await until('green again', async () => (await server.get('/readyz')).status === 200);
    });
});

const refusals = [
    ['ICHIDO_TEST_CLOCK', { ICHIDO_TEST_CLOCK: 'on' }], ['ICHIDO_TEST_PATIENCE', { ICHIDO_TEST_PATIENCE: '2' }], ['ICHIDO_FAULTS', { ICHIDO_FAULTS: 'store.commit=crash@3' }],
    ['ICHIDO_GATEWAY', { ICHIDO_GATEWAY: 'sandbox' }], ['STRIPE_WEBHOOK_SECRET', { STRIPE_WEBHOOK_SECRET: undefined }],
    ['ICHIDO_ADMIN_TOKEN', { ICHIDO_ADMIN_TOKEN: undefined }], ['ICHIDO_ADMIN_TOKEN', { ICHIDO_ADMIN_TOKEN: 'short' }],
    ['ICHIDO_JWT_SECRET', { ICHIDO_JWT_SECRET: undefined }], ['ICHIDO_JWT_SECRET', { ICHIDO_JWT_SECRET: 'short' }],
    ['ICHIDO_JWKS_URL', { ICHIDO_JWKS_URL: 'http://id.example/keys' }],
    ['there is no time zone "Asia/Tokio"; like Asia/Tokyo', { ICHIDO_TIME_ZONE: 'Asia/Tokio' }],
    ['there is no payment method "paypai"', { ICHIDO_ROUTES: 'paypai=paypay' }],
];

async function refuses(t, env, ...words) {
    const folder = folderFor(t);
    const server = launch(t, { url: `sqlite:${folder}/x.db` }, { env });
    const how = await server.exit;
    assert.equal(how.code, 2, `${JSON.stringify(env)} ${server.tail()}`);
    for (const word of words) assert.ok(server.stderr.includes(word), `${word} in: ${server.stderr}`);
    assert.equal(fs.existsSync(`${folder}/x.db`), false, 'nothing was touched');
    return server;
}

test('D25 production refuses a test clock, faults, the sandbox and missing secrets, each by name', async (t) => {
    for (const [name, env] of refusals) await refuses(t, { ...PRODUCTION, ...env }, name);
});

test('D25 dev mode refuses real gateways and addresses that are not loopback', async (t) => {
    await refuses(t, { ICHIDO_GATEWAY: 'stripe' }, 'ICHIDO_GATEWAY');
    await refuses(t, { ICHIDO_LISTEN: '0.0.0.0:0' }, 'ICHIDO_LISTEN');
    await refuses(t, { ICHIDO_LISTEN: '[::]:0' }, 'ICHIDO_LISTEN');
});

test('D25 wrong settings are all named at once, and a typing error is found', async (t) => {
    await refuses(t, { ICHIDO_MODE: 'prod', ICHIDO_WEBHOOK_ACK: '201', ICHIDO_DB: 'mysql://x' },
        'ICHIDO_MODE', 'ICHIDO_WEBHOOK_ACK', 'ICHIDO_DB');
    await refuses(t, { ICHIDO_WEBHOOK_AKC: '200' }, 'ICHIDO_WEBHOOK_AKC', 'ICHIDO_WEBHOOK_ACK');
});

test('A4 a secret with spaces or a line break stops the start with a line that does not show it', async (t) => {
    for (const secret of [`${SECRET} `, ` ${SECRET}`, `${SECRET}\n`, 'whsec_with a space', `${SECRET},,x`, `${SECRET}\u00e9`]) {
        const server = await refuses(t, { STRIPE_WEBHOOK_SECRET: secret }, 'STRIPE_WEBHOOK_SECRET');
        assert.ok(!server.stderr.includes(secret.trim()), 'the secret itself is not printed');
    }
});

test('A4 a certificate that cannot be read, or does not fit its key, stops the start with a clear line', async (t) => {
    const [one, two] = [await certificate(folderFor(t)), await certificate(folderFor(t))];
    for (const env of [
        { ICHIDO_TLS_CERT: '/no/such/file', ICHIDO_TLS_KEY: one.key }, { ICHIDO_TLS_CERT: one.cert, ICHIDO_TLS_KEY: two.key },
        { ICHIDO_TLS_CERT: one.cert },
    ]) {
        const server = launch(t, { url: `sqlite:${folderFor(t)}/x.db` }, { env });
        assert.notEqual((await server.exit).code, 0);
        assert.match(server.stderr, /ICHIDO_TLS|certificate|key|cert/i);
    }
});

test('W1 production without a webhook secret does not start; dev makes one and shows it', async (t) => {
    await refuses(t, { ...PRODUCTION, STRIPE_WEBHOOK_SECRET: undefined }, 'STRIPE_WEBHOOK_SECRET');
    const [store] = stores;
    const server = await start(t, store, { env: { STRIPE_WEBHOOK_SECRET: undefined } });
    const secret = await until('the banner', () => /whsec_[0-9a-f]{32,}/.exec(server.stdout)?.[0]);
    assert.equal((await server.deliver(event(), { secret })).status, 204);
    assert.ok(!server.stderr.includes(secret), 'but not in the log');
});

// --- dev mode's secrets ---

const NONE = { STRIPE_WEBHOOK_SECRET: undefined, ICHIDO_JWT_SECRET: undefined, ICHIDO_ADMIN_TOKEN: undefined };
const readKept = (folder) => fs.readFileSync(`${folder}/shop.dev-secrets`, 'utf8');
const kept = (folder) => Object.fromEntries(readKept(folder).split('\n').filter((line) => /^[A-Z]/.test(line)).map((line) => line.split('=')));
const dev = (t, folder, env = {}) => launch(t, { url: `sqlite:${folder}/shop.db`, folder }, { env: { ...NONE, ...env } });
const admitted = async (server, token) => (await server.get('/api/v1/admin/events', { Authorization: `Bearer ${token}` })).status === 200;

test('D25 dev mode keeps the secrets that it made: after kill -9 the same tokens work and one request is one charge', async (t) => {
    const folder = folderFor(t);
    const first = await dev(t, folder).listening();
    const banner = await until('the banner', () => /Stop with Ctrl-C/.test(first.stdout) && first.stdout);
    const lines = banner.split('\n').filter((line) => line.startsWith('    ')).map((line) => line.trim());
    const [admin, token, put, pay] = lines;
    const shell = async (server, ...todo) => (await run('bash', ['-euc', todo.join('\n').replaceAll(`:${first.port}/`, `:${server.port}/`)])).stdout;
    assert.match(await shell(first, admin, token, put, pay), /HTTP\/1\.1 201 /);
    await first.kill();
    assert.equal(fs.statSync(`${folder}/shop.dev-secrets`).mode & 0o777, 0o600);
    assert.deepEqual(fs.readdirSync(folder).filter((name) => name.startsWith('shop.dev')), ['shop.dev-secrets'], 'nothing half-made');

    const next = await dev(t, folder).listening();
    const again = await shell(next, token, pay);
    assert.match(again, /HTTP\/1\.1 200 /);
    assert.match(again, /idempotent-replayed: true/i);
    assert.ok(await admitted(next, admin.split('=')[1]));
    assert.equal((await next.deliver(event(), { secret: kept(folder).STRIPE_WEBHOOK_SECRET })).status, 204);
    for (const secret of Object.values(kept(folder))) assert.ok(!(first.stderr + next.stderr).includes(secret), 'not in the log');
});

test('D25 a secret that is set wins over the kept one, which comes back without it', async (t) => {
    const folder = folderFor(t);
    const own = 'my-own-admin-token-0123456789';
    remember(own);
    const first = await dev(t, folder, { ICHIDO_ADMIN_TOKEN: own }).listening();
    const { ICHIDO_ADMIN_TOKEN: made } = kept(folder);
    assert.ok(await admitted(first, own) && !await admitted(first, made));
    await first.stop();
    const next = await dev(t, folder).listening();
    assert.ok(!await admitted(next, own) && await admitted(next, made));
});

test('D25 a file of secrets that is broken or not ours alone is refused with a line that says what to do', async (t) => {
    const folder = folderFor(t);
    const file = `${folder}/shop.dev-secrets`;
    await (await dev(t, folder).listening()).stop();
    const good = readKept(folder);
    const refused = async (words, why) => {
        const server = dev(t, folder);
        assert.notEqual((await server.exit).code, 0, why);
        assert.match(server.stderr, words, why);
        assert.match(server.stderr, /or delete it: then new secrets are made/, why);
        for (const secret of good.match(/[0-9a-f]{64}/g)) assert.ok(!server.tail().includes(secret), why);
    };
    for (const mode of [0o640, 0o604, 0o620]) {
        fs.chmodSync(file, mode);
        await refused(/chmod 600 it/, mode.toString(8));
    }
    fs.chmodSync(file, 0o600);
    for (const broken of ['', good.slice(0, -10), good + good, good.replace(/whsec_\w+/, 'whsec_x'), `${good}PATH=/x\n`, good.toUpperCase()]) {
        fs.writeFileSync(file, broken);
        await refused(/shop\.dev-secrets is broken/, broken);
    }
    fs.rmSync(file);
    fs.writeFileSync(`${folder}/elsewhere`, good, { mode: 0o600 });
    fs.symlinkSync(`${folder}/elsewhere`, file);
    await refused(/symbolic link/, 'a link');
    fs.rmSync(file);
    fs.mkdirSync(file);
    await refused(/no plain file/, 'a folder');
    fs.rmdirSync(file);
    await (await dev(t, folder).listening()).stop();
    assert.notEqual(readKept(folder), good, 'deleted: new ones');
});

test('D25 where nothing is to be made, and in production mode, no file of secrets appears', async (t) => {
    const folder = folderFor(t);
    const names = () => fs.readdirSync(folder).filter((name) => name.includes('dev-secrets'));
    await (await launch(t, { url: `sqlite:${folder}/shop.db`, folder }).listening()).stop();
    assert.deepEqual(names(), []);
    await (await dev(t, folder, { ...PRODUCTION, STRIPE_WEBHOOK_SECRET: SECRET }).listening()).stop();
    await (await dev(t, folder, { ...PRODUCTION, ICHIDO_GATEWAY: 'manual', ICHIDO_BANK_ACCOUNT: 'Bank 1' }).listening()).stop();
    assert.deepEqual(names(), []);
});

// --- words for people ---

test('D25 help is help, and a mistyped command names the nearest', async (t) => {
    const folder = folderFor(t);
    const ask = (...words) => run(PROGRAM, words, { cwd: folder }).then((did) => ({ code: 0, ...did }), (error) => error);
    for (const words of [['help'], ['--help'], ['-h'], ['serve', '--help'], ['migrate', '-h'], ['help', '--help']]) {
        const did = await ask(...words);
        assert.equal(did.code, 0, words.join(' '));
        assert.match(did.stdout, /usage: ichido \[command\][^]*trigger/);
    }
    for (const [wrong, right] of [['triger', 'trigger'], ['reconcil', 'reconcile'], ['sevre', 'serve'], ['qdl', 'dlq'], ['xyzzy', undefined]]) {
        const did = await ask(wrong);
        assert.equal(did.code, 2);
        assert.match(did.stderr, /there is no command/);
        assert.equal(/did you mean (\w+)\?/.exec(did.stderr)?.[1], right, wrong);
    }
    assert.deepEqual(fs.readdirSync(folder), [], 'nothing was touched');
});

test('D25 an address that is taken is told by the name of its setting', async (t) => {
    const first = await start(t, stores[0]);
    for (const [name, port] of [['ICHIDO_LISTEN', first.port], ['ICHIDO_SANDBOX_LISTEN', first.sandboxPort]]) {
        const second = launch(t, { url: `sqlite:${folderFor(t)}/x.db` }, { env: { [name]: `127.0.0.1:${port}` } });
        assert.equal((await second.exit).code, 1);
        const line = second.lines.find((one) => /in use/i.test(one.why ?? ''));
        assert.match(line.message, new RegExp(`stop .*set ${name} to a free one`));
    }
});

test('G3 the bare address of the sandbox leads to its page', async (t) => {
    const server = await start(t, stores[0]);
    const answer = await request(server.sandboxPort, { path: '/' });
    assert.deepEqual([answer.status, answer.headers.location], [303, '/_sandbox']);
});

test('A5 SIGTERM in the moment it says "listening" is a graceful stop already', async (t) => {
    for (let i = 0; i < 10; i++) {
        const server = launch(t, await fresh(t, stores[0]));
        server.child.stderr.on('data', (part) => {
            if (/"message":"listening"/.test(part)) server.child.kill('SIGTERM');
        });
        assert.deepEqual(await server.exit, { code: 0, signal: null });
    }
});

test('A5 a second signal ends it at once', async (t) => {
    const server = await start(t, stores[0]);
    const raw = await new Raw(server.port).opened();
    raw.send(`POST ${WEBHOOK} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n1`);
    await until('it has begun', async () => (await server.metrics()).get('ichido_http_connections') >= 1);
    server.child.kill('SIGTERM');
    await until('it stops listening', () => new Promise((resolve) => {
        const late = new Raw(server.port);
        late.socket.on('error', () => resolve(true));
        late.socket.on('connect', () => { late.destroy(); resolve(false); });
    }));
    server.child.kill('SIGTERM');
    await server.exit;
    raw.destroy();
});

// A datagram socket, which Node has not: perl is part of every Debian.
function notifySocket(t, file) {
    const script = 'socket(S, PF_UNIX, SOCK_DGRAM, 0); bind(S, sockaddr_un($ARGV[0])) or die; $| = 1;'
        + ' print "bound\\n"; while (defined recv(S, $m, 4096, 0)) { print "$m\\n" }';
    const child = spawn('perl', ['-MSocket', '-e', script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
    const heard = { text: '' };
    child.stdout.on('data', (part) => { heard.text += part; });
    t.atEnd(() => child.kill());
    return heard;
}

test('A5 systemd is told when it is ready and when it stops', async (t) => {
    const file = path.join(folderFor(t), 'notify');
    const heard = notifySocket(t, file);
    await until('the socket', () => heard.text.includes('bound'));
    const server = await start(t, stores[0], { env: { NOTIFY_SOCKET: file } });
    await until('READY=1', () => heard.text.includes('READY=1'));
    assert.equal((await server.stop()).code, 0);
    await until('STOPPING=1', () => heard.text.includes('STOPPING=1'));
});

test('A5 sockets passed by systemd are served, and the address setting does not matter', async (t) => {
    const port = await freePort();
    const db = await fresh(t, stores[0]);
    const names = ['ICHIDO_LISTEN', 'ICHIDO_DB', 'STRIPE_WEBHOOK_SECRET', 'ICHIDO_LOG_LEVEL', 'ICHIDO_TEST_CLOCK',
        'ICHIDO_SANDBOX_LISTEN', 'ICHIDO_SANDBOX_DB'];
    const server = launch(t, db, {
        argv: ['systemd-socket-activate', '-l', `127.0.0.1:${port}`, ...names.flatMap((name) => ['-E', name]), PROGRAM, 'serve'],
    });
    server.port = port;
    await until('it answers', async () => (await server.get('/healthz')).status === 200);
    assert.equal((await server.deliver(event())).status, 204);
    assert.equal((await server.stop()).code, 0);
});
