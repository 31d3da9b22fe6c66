// Who asks: tokens of all four algorithms, made by another library (npm jose), hostile ones, and a JWKS
// whose server rotates its keys and goes away (A1, A2).
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { remember } from './lib/evidence.mjs';
import { assert, fresh, launch, newFolder, start, stores, test, until } from './lib/harness.mjs';
import { freePort } from './lib/ports.mjs';
import { ADMIN_TOKEN, JWT_SECRET, token as hs256, uuid } from './lib/tokens.mjs';

const run = promisify(execFile);
globalThis.crypto ??= crypto.webcrypto; // Node 18 has it behind a flag
globalThis.CryptoKey ??= crypto.webcrypto.CryptoKey;

const [store] = stores;
const ISSUER = 'https://id.example';
const AUDIENCE = 'ichido';
const MINUTE = 60_000;
const DAY_S = 24 * 3600;

const now = () => Math.floor(Date.now() / 1000);
const encode = (value) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

// jose's word for a token. `claims` and `header` override; undefined removes one.
async function signed(alg, key, { header = {}, claims = {} } = {}) {
    const all = { sub: uuid(), iss: ISSUER, aud: AUDIENCE, iat: now(), exp: now() + 3600, ...claims };
    const text = await new SignJWT(JSON.parse(JSON.stringify(all))).setProtectedHeader({ alg, ...header }).sign(key);
    remember(text.split('.')[2]);
    return text;
}

// A token of whatever texts, signed by hand.
function forged(header, claims, sign) {
    const text = `${encode(header)}.${encode(claims)}`;
    return `${text}.${sign ? sign(text) : ''}`;
}
const hmac = (key) => (text) => crypto.createHmac('sha256', key).update(text).digest('base64url');

const look = (server, bearer, headers = {}) => server.get('/payments', {
    ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }), ...headers,
});

async function refuses(server, bearer, why) {
    const answer = await look(server, bearer);
    assert.equal(answer.status, 401, why);
    assert.equal(answer.headers['www-authenticate'], 'Bearer error="invalid_token"', why);
    const { instance, ...rest } = JSON.parse(answer.text);
    assert.deepEqual([rest.code, rest.status], ['UNAUTHORIZED', 401]);
    return JSON.stringify(rest);
}

const takes = async (server, bearer, why) => assert.equal((await look(server, bearer)).status, 200, why);

const folderFor = (t) => {
    const folder = newFolder();
    t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
    return folder;
};

function pemFile(t, pem) {
    const file = path.join(folderFor(t), 'key.pem');
    fs.writeFileSync(file, `${pem}\n`);
    return file;
}

const ours = { ICHIDO_JWT_ISSUER: ISSUER, ICHIDO_JWT_AUDIENCE: AUDIENCE };

test('A1 HS256, RS256, PS256 and ES256 tokens made by jose are taken, each by its own kind of key', async (t) => {
    const [rsa, ec] = [await generateKeyPair('RS256', { extractable: true }), await generateKeyPair('ES256', { extractable: true })];
    const pss = await crypto.webcrypto.subtle.importKey('pkcs8', await crypto.webcrypto.subtle.exportKey('pkcs8', rsa.privateKey),
        { name: 'RSA-PSS', hash: 'SHA-256' }, false, ['sign']);
    const files = await Promise.all([rsa, ec].map(async (pair) => pemFile(t, (await exportSPKI(pair.publicKey)).trim())));
    const servers = await Promise.all(files.map((file) => start(t, store, { env: { ...ours, ICHIDO_JWT_PUBLIC_KEY_FILE: file } })));
    const secret = new TextEncoder().encode(JWT_SECRET);
    const tokens = {
        HS256: await signed('HS256', secret), RS256: await signed('RS256', rsa.privateKey),
        PS256: await signed('PS256', pss), ES256: await signed('ES256', ec.privateKey),
    };
    for (const alg of ['HS256', 'RS256', 'PS256']) await takes(servers[0], tokens[alg], alg);
    for (const alg of ['HS256', 'ES256']) await takes(servers[1], tokens[alg], alg);
    await refuses(servers[0], tokens.ES256, 'an RSA key takes no ES256');
    for (const alg of ['RS256', 'PS256']) await refuses(servers[1], tokens[alg], `an EC key takes no ${alg}`);
    for (const alg of ['HS256', 'RS256', 'PS256', 'ES256']) {
        const [header, claims, signature] = tokens[alg].split('.');
        const other = encode({ ...JSON.parse(Buffer.from(claims, 'base64url')), sub: uuid() });
        for (const server of servers) await refuses(server, `${header}.${other}.${signature}`, `another's claims under ${alg}`);
    }
});

test('A1 whatever is wrong with a token, the answer is one 401 that tells nothing, and the log tells why', async (t) => {
    const rsa = await generateKeyPair('RS256', { extractable: true });
    const pem = (await exportSPKI(rsa.publicKey)).trim();
    const server = await start(t, store, { env: { ...ours, ICHIDO_JWT_PUBLIC_KEY_FILE: pemFile(t, pem) } });
    const claims = { sub: uuid(), iss: ISSUER, aud: AUDIENCE, exp: now() + 3600 };
    const good = (changes) => forged({ alg: 'HS256' }, { ...claims, ...changes }, hmac(JWT_SECRET));
    const headed = (header) => forged(header, claims, hmac(JWT_SECRET));
    await takes(server, good(), 'the one they are made from');
    const rows = [
        ['no token at all', undefined, 'there is no bearer token'],
        ['not a JWT', 'hello', 'three parts'],
        ...['none', 'None', 'NONE', 'nOnE', ''].map((alg) => [`alg ${alg}`, forged({ alg }, claims), 'no key here takes this alg']),
        ['HS256 with the PEM as the secret', forged({ alg: 'HS256' }, claims, hmac(pem)), 'signature'],
        ['HS256 with the PEM and its line end', forged({ alg: 'HS256' }, claims, hmac(`${pem}\n`)), 'signature'],
        ['an unknown crit', headed({ alg: 'HS256', crit: ['x'], x: 1 }), 'crit'],
        ['b64 false', headed({ alg: 'HS256', crit: ['b64'], b64: false }), 'crit'],
        ['alg twice', headed('{"alg":"none","alg":"HS256"}'), 'the header is not'],
        ['a logout token', headed({ alg: 'HS256', typ: 'logout+jwt' }), 'typ'],
        ['padding', `${good()}=`, 'base64url'],
        ['no exp', good({ exp: undefined }), 'exp'],
        ['exp as a text', good({ exp: String(now() + 3600) }), 'exp'],
        ['exp in the past', good({ exp: now() - 1 }), 'expired'],
        ['nbf in a minute', good({ nbf: now() + 60 }), 'nbf'],
        ['iat in a minute', good({ iat: now() + 60 }), 'iat'],
        ['another iss', good({ iss: 'https://evil.example' }), 'iss'],
        ['a slash behind iss', good({ iss: `${ISSUER}/` }), 'iss'],
        ['iss twice', forged({ alg: 'HS256' }, `{"iss":"x",${JSON.stringify(claims).slice(1)}`, hmac(JWT_SECRET)), 'the claims are not'],
        ['another aud', good({ aud: ['a', 'b'] }), 'aud'],
        ['no aud', good({ aud: undefined }), 'aud'],
        ['no sub', good({ sub: undefined }), 'sub'],
        ['A2 a sub that is no UUID', good({ sub: 'auth0|507f1f77bcf86cd799439020' }), 'sub'],
        ['the sub of nobody', good({ sub: '00000000-0000-0000-0000-000000000000' }), 'sub'],
        ['too long', good({ x: 'x'.repeat(8192) }), 'too long'],
        ['five parts', `${good()}.x.y`, 'three parts'],
    ];
    const answers = new Set();
    for (const [why, bearer, reason] of rows) {
        const from = server.lines.length;
        answers.add(await refuses(server, bearer, why));
        await until(`the log says: ${reason}`, () => server.lines.slice(from).some((line) => line.message === 'token refused' && line.why.includes(reason)));
    }
    assert.equal(answers.size, 1, 'one answer for all of them');
    assert.ok(!server.stderr.includes('eyJ'), 'no token in the log');
    await takes(server, good(), 'and still');
});

test('A1 a token ends at its exp, also one that was just verified', async (t) => {
    const server = await start(t, store);
    const mine = hs256(uuid(), undefined, { exp: now() + 600 });
    await takes(server, mine);
    await server.advance(9 * MINUTE);
    await takes(server, mine);
    await server.advance(1 * MINUTE);
    await refuses(server, mine);
});

test('A1 only strong keys: a weak or broken one stops the start and says why', async (t) => {
    const weak = crypto.generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ type: 'spki', format: 'pem' });
    const other = crypto.generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ type: 'spki', format: 'pem' });
    for (const [pem, why] of [[weak, /2048/], [other, /P-256/], ['-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----', /PEM/]]) {
        const server = launch(t, await fresh(t, store), { env: { ICHIDO_JWT_PUBLIC_KEY_FILE: pemFile(t, pem.trim()) } });
        assert.equal((await server.exit).code, 1);
        assert.match(server.stderr, why);
    }
});

// --- a JWKS ---

// Its keys can be changed, its manners too: 'answers', 'fails', 'hangs'.
class KeyServer {
    async open(t) {
        this.keys = [];
        this.asked = 0;
        this.manner = 'answers';
        this.server = http.createServer((request, response) => this.#answer(response));
        this.port ??= await freePort();
        await new Promise((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
        t?.atEnd(() => this.close());
        return this;
    }

    #answer(response) {
        this.asked++;
        if (this.manner === 'hangs') return;
        response.writeHead(this.manner === 'fails' ? 500 : 200, { 'Content-Type': 'application/jwk-set+json' });
        response.end(JSON.stringify({ keys: this.keys }));
    }

    get url() {
        return `http://127.0.0.1:${this.port}/.well-known/jwks.json`;
    }

    close() {
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }
}

async function keyPair(alg, kid) {
    const pair = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...await exportJWK(pair.publicKey), kid, alg, use: 'sig' };
    const sign = (claims) => signed(alg, pair.privateKey, { header: { kid }, claims: { exp: now() + 10 * DAY_S, ...claims } });
    return { jwk, sign };
}

const withKeys = (t, keys, env = {}) => start(t, store, { env: { ...ours, ICHIDO_JWKS_URL: keys.url, ICHIDO_LOOPS: '2', ...env } });

test('A1 keys come from a JWKS: all three algorithms, and what is not for us is passed over', async (t) => {
    const keys = await new KeyServer().open(t);
    const [rs, ps, es] = [await keyPair('RS256', 'rs'), await keyPair('PS256', 'ps'), await keyPair('ES256', 'es')];
    const enc = await keyPair('RS256', 'enc');
    keys.keys = [null, { kty: 'oct', k: encode(JWT_SECRET), kid: 'oct' }, { kty: 'OKP', crv: 'Ed25519', x: 'AA' },
        { ...enc.jwk, use: 'enc' }, rs.jwk, ps.jwk, es.jwk];
    const server = await withKeys(t, keys);
    for (const pair of [rs, ps, es]) await takes(server, await pair.sign(), pair.jwk.kid);
    await refuses(server, await enc.sign(), 'a key for encryption');
    await takes(server, hs256(uuid(), undefined, { iss: ISSUER, aud: AUDIENCE }), 'the secret beside it');
    await server.line('the fetch', (line) => line.message === 'keys fetched' && line.keys === 3 && line.passedOver === 4);
});

test('A1 keys rotate: a new one is found by its kid, a removed one is refused after ten minutes', async (t) => {
    const keys = await new KeyServer().open(t);
    const [old, next] = [await keyPair('RS256', 'old'), await keyPair('ES256', 'next')];
    keys.keys = [old.jwk];
    const server = await withKeys(t, keys);
    const [first, second] = [await old.sign(), await next.sign()];
    await takes(server, first);
    await refuses(server, second, 'nobody knows it yet');
    keys.keys = [old.jwk, next.jwk];
    await refuses(server, second, 'the last fetch is less than 30 s old');
    const asked = keys.asked;
    await server.advance(31_000);
    const answers = await Promise.all(Array.from({ length: 20 }, () => look(server, second)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(keys.asked, asked + 1, 'one fetch for all of them');
    await takes(server, first, 'the old one is still there');
    keys.keys = [next.jwk];
    await takes(server, first, 'nobody has told us yet');
    await server.advance(10 * MINUTE);
    await refuses(server, first, 'its key is gone, and what it had verified');
    await takes(server, second);
});

test('A1 strangers with invented kids do not make us a burden to the keys\' server', async (t) => {
    const keys = await new KeyServer().open(t);
    const [real, stranger] = [await keyPair('RS256', 'real'), await keyPair('RS256', 'x')];
    keys.keys = [real.jwk];
    const server = await withKeys(t, keys);
    await takes(server, await real.sign());
    const bad = await Promise.all(Array.from({ length: 50 }, (_, i) => stranger.sign({ nonce: i })));
    for (const answer of await Promise.all(bad.map((one) => look(server, one)))) assert.equal(answer.status, 401);
    assert.ok(keys.asked <= 2, `asked ${keys.asked} times`);
});

test('A1 while the keys\' server is down its keys go on working, for a day', async (t) => {
    const keys = await new KeyServer().open(t);
    const pair = await keyPair('ES256', 'k');
    keys.keys = [pair.jwk];
    const server = await withKeys(t, keys);
    const mine = await pair.sign();
    await takes(server, mine);
    keys.manner = 'fails';
    await server.advance(60 * MINUTE);
    await takes(server, mine, 'it says 500');
    await server.line('a warning', (line) => line.level === 'warn' && /could not be fetched/.test(line.message));
    await keys.close();
    await server.advance(60 * MINUTE);
    await takes(server, mine, 'it is gone');
    await takes(server, await pair.sign(), 'also a token that was never seen');
    await server.advance(22 * 60 * MINUTE);
    await until('its keys are dropped', async () => (await look(server, mine)).status === 401);
    await server.line('an error', (line) => line.level === 'error' && /for too long/.test(line.message));
    await takes(server, ADMIN_TOKEN, 'what does not need it works');
    await keys.open();
    keys.keys = [pair.jwk];
    await server.advance(5000);
    await until('it is back', async () => (await look(server, mine)).status === 200);
    await keys.close();
});

test('A1 a keys\' server that hangs holds up only those who need it, and for seconds', async (t) => {
    const keys = await new KeyServer().open(t);
    keys.manner = 'hangs';
    const pair = await keyPair('RS256', 'k');
    const server = await withKeys(t, keys);
    const slow = look(server, await pair.sign());
    await until('it was asked', () => keys.asked > 0);
    const mine = hs256(uuid(), undefined, { iss: ISSUER, aud: AUDIENCE });
    const quick = await look(server, mine);
    assert.equal(quick.status, 200);
    assert.equal((await slow).status, 401);
    assert.ok((await slow).ms < 10_000);
});

test('A1 two keys and no kid: nobody guesses; the document must be a JWKS', async (t) => {
    const keys = await new KeyServer().open(t);
    const [one, two] = [await generateKeyPair('RS256', { extractable: true }), await generateKeyPair('RS256', { extractable: true })];
    keys.keys = [await exportJWK(one.publicKey)];
    const server = await withKeys(t, keys);
    const mine = await signed('RS256', one.privateKey, { claims: { exp: now() + DAY_S } });
    await takes(server, mine, 'one key fits');
    keys.keys = [await exportJWK(one.publicKey), await exportJWK(two.publicKey)];
    await server.advance(11 * MINUTE);
    await refuses(server, await signed('RS256', one.privateKey, { claims: { exp: now() + DAY_S } }), 'two fit');
    keys.keys = 'nothing';
    await server.advance(11 * MINUTE);
    await takes(server, mine, 'what was verified stays while its key does');
});

// --- scopes ---

test('A2 scopes of an identity provider open what only services and operators may', async (t) => {
    const keys = await new KeyServer().open(t);
    const pair = await keyPair('PS256', 'k');
    keys.keys = [pair.jwk];
    const server = await withKeys(t, keys);
    const put = async (bearer) => (await server.call('PUT', `/api/v1/bookings/${uuid()}`, {
        bearer, body: { userId: uuid(), amount: 100, currency: 'JPY', status: 'PENDING' },
    })).status;
    const may = async (claims) => (await put(await pair.sign(claims))) < 300;
    for (const claims of [{ scope: 'openid service' }, { scope: 'admin' }, { scp: ['service'] }, { scopes: ['x', 'admin'] }])
        assert.equal(await may(claims), true, JSON.stringify(claims));
    for (const claims of [{}, { scope: 'openid' }, { scope: 'Service' }, { scope: 'service:read' }, { scp: [] }, { roles: ['admin'] }])
        assert.equal(await put(await pair.sign(claims)), 403, JSON.stringify(claims));
    assert.equal(await put(await pair.sign({ scope: ['service', 1] })), 401);
    assert.ok(await put(ADMIN_TOKEN) < 300);
    assert.equal(await put(`${ADMIN_TOKEN}x`), 401);
    assert.equal(await put(''), 401);
});

test('A2 the owner is who the token says: sub in any case of letters, whatever the algorithm', async (t) => {
    const keys = await new KeyServer().open(t);
    const pair = await keyPair('ES256', 'k');
    keys.keys = [pair.jwk];
    const server = await withKeys(t, keys);
    const booking = await server.booking();
    const owner = await pair.sign({ sub: booking.userId.toUpperCase() });
    const paid = await server.pay(booking, { bearer: owner });
    assert.equal(paid.status, 201, paid.text);
    assert.equal(paid.body.userId, booking.userId);
    const stranger = await pair.sign();
    const denied = await server.call('GET', `/payments/${paid.body.id}`, { bearer: stranger });
    assert.equal(denied.status, 403);
    for (const detail of [booking.id, booking.userId, paid.body.gatewayTransactionId]) assert.ok(!denied.text.includes(detail));
});

// --- dev mode ---

// What a newcomer pastes: the banner's indented lines up to the event, in a shell.
async function paste(server, env = {}) {
    const banner = await until('the banner', () => /Stop with Ctrl-C/.test(server.stdout) && server.stdout);
    const lines = banner.slice(0, banner.indexOf('Send an event')).split('\n').filter((line) => line.startsWith('    '));
    const shell = async () => (await run('bash', ['-euc', lines.join('\n')], { env: { PATH: process.env.PATH, ...env } })).stdout;
    return { banner, stdout: await shell(), again: await shell() };
}

const paidAndRefunded = ({ stdout, again }) => {
    assert.match(stdout, /HTTP\/1\.1 201 /);
    assert.match(again, /HTTP\/1\.1 200 /);
    for (const text of [stdout, again]) { // every line twice: each happened once
        const last = JSON.parse(text.trim().split('\n').pop());
        assert.deepEqual([last.status, last.capturedAmount, last.refundedAmount, last.refunds.length], ['CAPTURED', 1200, 200, 1], text);
    }
};

test('A1 dev mode makes keys and shows lines that pay for a booking, capture it and give some back', async (t) => {
    const none = { ICHIDO_JWT_SECRET: undefined, ICHIDO_ADMIN_TOKEN: undefined };
    const server = await start(t, store, { env: none });
    const did = await paste(server);
    paidAndRefunded(did);
    const admin = /export ICHIDO_ADMIN_TOKEN=(\S+)/.exec(did.banner)[1];
    const user = /token=(eyJ\S+)/.exec(did.banner)[1];
    for (const secret of [admin, user.split('.')[2]]) assert.ok(!server.stderr.includes(secret), 'not in the log');
    await server.advance(24 * 60 * MINUTE);
    await refuses(server, user, 'it was good for a day');
});

test('A1 with your own secrets dev mode shows the same lines and nothing of them', async (t) => {
    const own = await start(t, store);
    const did = await paste(own, { ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN });
    paidAndRefunded(did);
    for (const secret of [JWT_SECRET, ADMIN_TOKEN]) assert.ok(!own.stdout.includes(secret));
    const half = await start(t, store, { env: { ICHIDO_JWT_SECRET: undefined } });
    paidAndRefunded(await paste(half, { ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN }));
    assert.ok(!half.stdout.includes(ADMIN_TOKEN));
    const { publicKey } = await generateKeyPair('ES256', { extractable: true });
    const foreign = await start(t, store, { env: { ICHIDO_JWT_SECRET: undefined, ICHIDO_JWT_PUBLIC_KEY: await exportSPKI(publicKey) } });
    await until('the banner', () => /Stop with Ctrl-C/.test(foreign.stdout));
    assert.match(foreign.stdout, /token=\.\.\. +# yours to sign.*"sub": "01900000-/, 'it says what to do');
});
