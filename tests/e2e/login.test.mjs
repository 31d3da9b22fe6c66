// The operator's view has people of its own: who gets in, what a cookie may do, how a session ends, and what a
// viewer can not change (A3).
import fs from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { remember } from './lib/evidence.mjs';
import { quiet } from './lib/purchases.mjs';
import { ADMIN_TOKEN, assert, forEachStore, JWT_SECRET, PROGRAM, programEnv, start, token, until, uuid } from './lib/harness.mjs';

const HOUR = 3600_000;
const ADMIN = '0'.repeat(32); // whose id the admin token has in the audit log
const PASSWORD = 'a long enough secret 1';
const ANOTHER = 'a long enough secret 2';
for (const secret of [PASSWORD, ANOTHER]) remember(secret);

const at = (where) => `/api/v1/admin/${where}`;
const admin = (server, method, where, body) => server.call(method, at(where), { as: 'admin', body });
const tryLogin = (server, body, headers = {}) => server.call('POST', at('login'), { body, headers });

async function add(server, name, role = 'operator', password = PASSWORD) {
    const made = await admin(server, 'POST', 'operators', { name, role, password });
    assert.equal(made.status, 201, made.text);
    return made.body;
}

// A browser that logged in: call() sends its cookie, and its csrf where the method needs one.
async function login(server, body) {
    const answer = await tryLogin(server, body);
    assert.equal(answer.status, 200, answer.text);
    const [cookie] = answer.headers['set-cookie'];
    const session = { server, cookie: cookie.split(';')[0], whole: cookie, ...answer.body };
    session.call = (method, where, { headers = {}, ...how } = {}) => server.call(method, where.startsWith('/') ? where : at(where), {
        ...how, headers: { Cookie: session.cookie, ...(method !== 'GET' && { 'X-CSRF-Token': session.csrf }), ...headers },
    });
    return session;
}

const person = async (server, name, role, password = PASSWORD) => {
    await add(server, name, role, password);
    return login(server, { user: name, password });
};

const auditRows = async (server, operation) => (await server.db.table('audit', `operation = '${operation}'`)).sort((a, b) => a.seq - b.seq);
const everything = async (server) => ({
    ...await server.db.state(), operators: await server.db.table('operators'),
    contacts: await server.db.table('contacts'), campaigns: await server.db.table('campaigns'), collections: await server.db.table('collections'),
    // seen_at is written at most once a minute; that is no change of anybody's
    sessions: (await server.db.table('operator_sessions')).map(({ seen_at: _, expires_at: __, ...rest }) => rest),
});

function command(server, args, input) {
    const env = { ...programEnv, ICHIDO_DB: server.db.url, ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN, ICHIDO_JWT_SECRET: JWT_SECRET,
        ICHIDO_LISTEN: '127.0.0.1:0' };
    const child = spawn(PROGRAM, ['operators', ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    const said = { out: '', err: '' };
    child.stdout.on('data', (part) => (said.out += part));
    child.stderr.on('data', (part) => (said.err += part));
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...said })));
}

forEachStore((store, test) => {
    test('A3 a person logs in, is known by a cookie alone, and is gone after the logout', async (t) => {
        const server = await start(t, store);
        const made = await add(server, 'yui');
        const s = await login(server, { user: 'Yui', password: PASSWORD });
        assert.match(s.whole, /^ichido_session=[\w-]{43}; Path=\/api\/v1\/admin; Max-Age=604800; HttpOnly; SameSite=Strict$/);
        assert.deepEqual(s.user, { id: made.id, name: 'yui', role: 'operator' });
        assert.equal(Math.round((Date.parse(s.expiresAt) - Date.parse(s.now)) / HOUR), 8);
        assert.deepEqual([s.mode, s.sandbox, s.testClock], ['dev', true, true]);

        const seen = await s.call('GET', 'session');
        assert.deepEqual([seen.status, seen.body.user, seen.body.csrf], [200, s.user, s.csrf]);
        assert.equal(seen.headers['cache-control'], 'no-store');
        assert.equal((await s.call('GET', 'dlq')).status, 200);
        const listed = await s.call('GET', 'operators');
        assert.deepEqual(listed.body.data.map((o) => [o.name, o.role, o.disabled, o.lastLoginAt !== null]), [['yui', 'operator', false, true]]);
        assert.ok(!listed.text.includes('scrypt'), 'nothing of a password is shown');

        const raw = s.cookie.split('=')[1];
        const [row] = await server.db.table('operator_sessions');
        assert.ok(!JSON.stringify(row).includes(raw) && !JSON.stringify(row).includes(Buffer.from(raw).toString('hex')), 'only its hash is stored');

        const out = await s.call('POST', 'logout');
        assert.equal(out.status, 204);
        assert.match(out.headers['set-cookie'][0], /^ichido_session=; Path=\/api\/v1\/admin; Max-Age=0;/);
        assert.equal((await s.call('GET', 'session')).status, 401);
        assert.equal((await s.call('GET', 'dlq')).status, 401);
        assert.equal((await s.call('POST', 'logout')).status, 401);
        assert.equal(await server.db.count('operator_sessions'), 0);

        const [added] = await auditRows(server, 'OPERATOR_ADD');
        const [came] = await auditRows(server, 'LOGIN');
        const [left] = await auditRows(server, 'LOGOUT');
        const hex = made.id.replaceAll('-', '');
        assert.deepEqual([added.subject, added.detail, added.user_id], ['yui', 'by the admin API: operator', ADMIN]);
        assert.deepEqual([came.subject, came.detail, came.user_id], ['yui', 'by password from 127.0.0.1', hex]);
        assert.deepEqual([left.subject, left.user_id], ['yui', hex]);
        for (const secret of [PASSWORD, raw, s.csrf]) assert.ok(!server.stderr.includes(secret), 'no secret is in a line');
    });

    test('A3 the admin token logs in too; another token at the next start ends such sessions', async (t) => {
        const server = await start(t, store);
        const s = await login(server, { token: ADMIN_TOKEN });
        const yui = await person(server, 'yui');
        assert.deepEqual(s.user, { id: null, name: 'admin token', role: 'operator' });
        assert.equal((await s.call('GET', 'dlq')).status, 200);
        await server.stop();
        const same = await start(t, store, { db: server.db });
        assert.equal((await same.call('GET', at('session'), { headers: { Cookie: s.cookie } })).status, 200, 'a restart ends nothing');
        await same.stop();
        const next = await start(t, store, { db: server.db, env: { ICHIDO_ADMIN_TOKEN: 'another-admin-token-0123456789' } });
        assert.equal((await next.call('GET', at('session'), { headers: { Cookie: s.cookie } })).status, 401);
        assert.equal((await next.call('GET', at('session'), { headers: { Cookie: yui.cookie } })).status, 200);
    });

    test('A3 a login ends the session whose cookie it overwrites, and no other', async (t) => {
        const server = await start(t, store);
        const yui = await person(server, 'yui');
        const elsewhere = await login(server, { user: 'yui', password: PASSWORD });
        const alive = async (s) => (await s.call('GET', 'session')).status === 200;
        const again = (s, body) => tryLogin(server, body, { Cookie: s.cookie });
        assert.equal((await again(yui, { user: 'yui', password: ANOTHER })).status, 401);
        assert.ok(await alive(yui), 'a login that fails ends nothing');

        const swap = async (s, body) => {
            const answer = await again(s, body);
            assert.equal(answer.status, 200, answer.text);
            return { ...s, call: (method, where) => server.call(method, at(where), { headers: { Cookie: s.cookie } }), cookie: answer.headers['set-cookie'][0].split(';')[0] };
        };
        const root = await swap(yui, { token: ADMIN_TOKEN });
        assert.ok(!(await alive(yui)), 'of a person');
        await swap(root, { user: 'yui', password: PASSWORD });
        assert.equal((await server.call('GET', at('session'), { headers: { Cookie: root.cookie } })).status, 401, 'of the admin token');
        assert.ok(await alive(elsewhere), 'that of another browser lives');
        await swap(yui, { user: 'yui', password: PASSWORD });
        const rows = (await auditRows(server, 'LOGOUT')).map((row) => [row.subject, row.detail, row.user_id]);
        assert.deepEqual(rows, [['yui', 'by another login from 127.0.0.1', yui.user.id.replaceAll('-', '')], ['admin token', 'by another login from 127.0.0.1', ADMIN]],
            'each that lived has its row, a cookie of nothing has none');
    });

    test('A3 whatever is wrong with a login, the answer is the same, in both languages', async (t) => {
        const server = await start(t, store);
        await add(server, 'yui');
        const gone = await add(server, 'ken');
        await admin(server, 'PATCH', `operators/${gone.id}`, { disabled: true });
        await server.newMinute();
        const before = await everything(server);
        const bodies = [
            { user: 'yui', password: ANOTHER }, { user: 'nobody', password: PASSWORD }, { user: 'ken', password: PASSWORD },
            { user: '結衣', password: PASSWORD }, { token: 'not the token' }, { token: token(uuid(), 'admin') },
        ];
        const words = new Set();
        for (const body of bodies)
            for (const language of ['en', 'ja']) {
                const answer = await tryLogin(server, body, { 'Accept-Language': language });
                assert.deepEqual([answer.status, answer.body.code], [401, 'INVALID_CREDENTIALS'], JSON.stringify(body));
                assert.equal(answer.headers['set-cookie'], undefined);
                assert.ok(answer.headers['www-authenticate']);
                words.add(`${answer.body.title} ${answer.body.detail}`);
            }
        assert.equal(words.size, 2);
        assert.deepEqual(await everything(server), before, 'nothing changed');
        await server.advance(61_000);
        await until('the failures are audited', async () => (await auditRows(server, 'LOGIN_FAILED')).length === 4);
        const counts = Object.fromEntries((await auditRows(server, 'LOGIN_FAILED')).map((row) => [row.detail, row.times]));
        assert.deepEqual(counts, { 'wrong_token from 127.0.0.1': 4, 'wrong_password of yui from 127.0.0.1': 2, 'unknown_name from 127.0.0.1': 4, 'disabled of ken from 127.0.0.1': 2 });
        assert.ok(!server.stderr.includes('nobody"') && !server.stderr.includes('結衣'), 'a name may be a password');
        const meant = server.stderr.split('\n').filter((line) => line.includes('"login failed"')).map((line) => JSON.parse(line)).map((line) => `${line.reason} ${line.operator}`);
        assert.deepEqual([...new Set(meant)].sort(), ['disabled ken', 'unknown_name undefined', 'wrong_password yui', 'wrong_token undefined'], 'whose account is meant');
    });

    test('A3 bad input is told field by field, and nothing changes', async (t) => {
        const server = await start(t, store);
        const { id } = await add(server, 'yui');
        const before = await everything(server);
        const fields = (answer) => (answer.body.errors ?? []).map((e) => e.field).sort();
        for (const [body, bad] of [
            [{}, ['password', 'user']], [{ user: 'yui' }, ['password']], [{ password: PASSWORD }, ['user']], [{ user: 1, password: [] }, ['password', 'user']],
            [{ token: ADMIN_TOKEN, user: 'yui', password: PASSWORD }, ['token']], [{ token: ADMIN_TOKEN, more: 1 }, ['more']], [{ token: '' }, ['token']],
            [[], ['body']], ['{"user":"a"', ['body']], [{ user: 'x'.repeat(65), password: PASSWORD }, ['user']],
        ]) {
            const answer = await tryLogin(server, body);
            assert.deepEqual([answer.status, fields(answer)], [400, bad], JSON.stringify(body));
        }
        assert.equal((await server.call('POST', at('login'), { body: 'user=yui', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } })).status, 415);
        assert.equal((await tryLogin(server, { token: 'x'.repeat(20_000) })).status, 413);
        for (const [body, bad] of [
            [{}, ['name', 'password', 'role']], [{ name: 'Ken', role: 'operator', password: PASSWORD }, ['name']], [{ name: 'a b', role: 'operator', password: PASSWORD }, ['name']],
            [{ name: '-a', role: 'admin', password: 'short' }, ['name', 'password', 'role']], [{ name: 'ken', role: 'viewer', password: PASSWORD, id }, ['id']],
        ]) {
            const answer = await admin(server, 'POST', 'operators', body);
            assert.deepEqual([answer.status, fields(answer)], [400, bad], JSON.stringify(body));
        }
        for (const [body, bad] of [[{}, ['body']], [{ role: 'root' }, ['role']], [{ disabled: 'yes' }, ['disabled']], [{ password: 'short' }, ['password']], [{ name: 'x' }, ['name', 'body']]]) {
            const answer = await admin(server, 'PATCH', `operators/${id}`, body);
            assert.equal(answer.status, 400);
            assert.ok(fields(answer).every((field) => bad.includes(field)), answer.text);
        }
        assert.equal((await admin(server, 'PATCH', `operators/${uuid()}`, { disabled: true })).status, 404);
        assert.equal((await admin(server, 'PATCH', 'operators/x', { disabled: true })).status, 400);
        assert.equal((await admin(server, 'POST', 'operators', { name: 'yui', role: 'viewer', password: PASSWORD })).status, 409);
        assert.equal((await admin(server, 'GET', 'operators?limit=0')).status, 400);
        assert.deepEqual(await everything(server), before, 'nothing changed');
    });

    test('A3 a cookie changes nothing without its csrf, or from another site', async (t) => {
        const server = await start(t, store);
        const s = await person(server, 'yui');
        const other = await person(server, 'ken');
        const before = await everything(server);
        const host = `127.0.0.1:${server.port}`;
        for (const headers of [
            { 'X-CSRF-Token': undefined }, { 'X-CSRF-Token': '' }, { 'X-CSRF-Token': other.csrf }, { 'X-CSRF-Token': s.csrf.slice(1) },
            { 'X-CSRF-Token': s.cookie.split('=')[1] }, { 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' },
            { Origin: 'https://evil.example' }, { Origin: 'null' }, { Origin: `http://127.0.0.1:${server.port + 1}` },
        ])
            for (const [method, where, body] of [['POST', 'subscribers', { url: 'https://example.com/' }], ['POST', 'logout'], ['DELETE', `dlq/${uuid()}`],
                ['PATCH', `operators/${s.user.id}`, { disabled: true }]]) {
                const answer = await s.call(method, where, { body, headers });
                assert.deepEqual([answer.status, answer.body.code], [403, 'CSRF'], `${method} ${where} ${JSON.stringify(headers)}`);
            }
        for (const headers of [{ 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'https://evil.example' }])
            assert.deepEqual([(await tryLogin(server, { user: 'yui', password: PASSWORD }, headers)).body.code], ['CSRF'], 'nor is somebody logged in from there');
        assert.deepEqual(await everything(server), before, 'nothing changed');
        const fine = { 'Sec-Fetch-Site': 'same-origin', Origin: `http://${host}` };
        assert.equal((await s.call('POST', 'subscribers', { body: { url: 'https://example.com/' }, headers: fine })).status, 201);
    });

    test('A3 the cookie counts below the admin paths alone, and not beside a bearer token', async (t) => {
        const server = await start(t, store);
        const s = await person(server, 'yui');
        for (const where of ['/payments', '/api/v1/payments', `/api/v1/users/${uuid()}`, '/api/v1/collections', '/api/v1/campaigns', '/v2/messages/x'])
            assert.equal((await s.call('GET', where)).status, 401, where);
        assert.equal((await s.call('POST', '/api/v1/payments', { key: uuid(), body: {} })).status, 401);
        assert.equal((await s.call('GET', 'dlq', { bearer: 'wrong' })).status, 401);
        assert.equal((await s.call('GET', 'dlq', { headers: { Authorization: '' } })).status, 401);
        assert.equal((await s.call('GET', 'dlq', { bearer: token(uuid()) })).status, 403, 'the bearer is who asks');
        const twice = await server.call('GET', at('dlq'), { headers: { Cookie: `${s.cookie}; ${s.cookie}` } });
        assert.equal(twice.status, 401);
        assert.equal((await server.call('GET', at('session'), { as: 'admin' })).status, 401, 'a token is no session');
    });

    test('A3 a session ends 8 hours after its last use, and after 7 days', async (t) => {
        const server = await start(t, store);
        await add(server, 'yui');
        const idle = await login(server, { user: 'yui', password: PASSWORD });
        await server.advance(8 * HOUR - 60_000);
        const busy = await login(server, { user: 'yui', password: PASSWORD });
        assert.equal((await idle.call('GET', 'session')).status, 200);
        await server.advance(7 * HOUR);
        assert.equal((await idle.call('GET', 'session')).status, 200, 'it was used an hour before its end');
        await server.advance(2 * HOUR);
        assert.equal((await busy.call('GET', 'session')).status, 401, 'this one was not');
        await server.advance(6 * HOUR);
        assert.equal((await idle.call('GET', 'session')).status, 401);
        const s = await login(server, { user: 'yui', password: PASSWORD });
        for (let hours = 0; hours < 7 * 24 - 6; hours += 6) {
            await server.advance(6 * HOUR);
            assert.equal((await s.call('GET', 'dlq')).status, 200, `after ${hours + 6} h`);
        }
        const { body } = await s.call('GET', 'session');
        assert.ok(Date.parse(body.expiresAt) - Date.parse(body.now) <= 6 * HOUR, 'it says so');
        await server.advance(6 * HOUR);
        assert.equal((await s.call('GET', 'dlq')).status, 401, 'a week is the end, however busy');
        await login(server, { user: 'yui', password: PASSWORD });
        assert.equal(await server.db.count('operator_sessions'), 1, 'a login takes the expired ones away');
    });

    test('A3 a page that only polls does not keep its session: the idle limit ends it', async (t) => {
        const server = await start(t, store);
        const s = await person(server, 'yui', 'operator');
        const poll = () => s.call('GET', 'live', { headers: { 'X-Ichido-Poll': '1' } });
        const ends = s.expiresAt;
        for (let hours = 1; hours < 8; hours++) {
            await server.advance(HOUR);
            assert.equal((await poll()).status, 200, `after ${hours} h`);
        }
        assert.equal((await s.call('GET', 'session', { headers: { 'X-Ichido-Poll': '1' } })).body.expiresAt, ends);
        await server.advance(2 * HOUR);
        assert.equal((await poll()).status, 401);

        const busy = await login(server, { user: 'yui', password: PASSWORD });
        await server.advance(7 * HOUR);
        const act = await busy.call('POST', 'operators', { body: { name: 'ken', role: 'viewer', password: ANOTHER }, headers: { 'X-Ichido-Poll': '1' } });
        assert.equal(act.status, 201, act.text);
        await server.advance(7 * HOUR);
        assert.equal((await busy.call('GET', 'session')).status, 200, 'who changes something is there, whatever the header says');
    });

    test('A3 another password, role or permission ends the sessions of that person, at once', async (t) => {
        const server = await start(t, store);
        const boss = await login(server, { token: ADMIN_TOKEN });
        const { id } = await add(server, 'yui');
        const other = await person(server, 'ken');
        const inside = () => login(server, { user: 'yui', password: PASSWORD });
        for (const [body, then] of [
            [{ role: 'viewer' }, async () => assert.equal((await inside()).user.role, 'viewer')],
            [{ disabled: true }, async () => assert.equal((await tryLogin(server, { user: 'yui', password: PASSWORD })).status, 401)],
            [{ disabled: false, role: 'operator' }, inside],
            [{ password: ANOTHER }, async () => {
                assert.equal((await tryLogin(server, { user: 'yui', password: PASSWORD })).status, 401);
                await login(server, { user: 'yui', password: ANOTHER });
            }],
        ]) {
            const s = body.disabled === false ? undefined : await inside();
            const changed = await boss.call('PATCH', `operators/${id}`, { body });
            assert.equal(changed.status, 200, changed.text);
            if (s) assert.equal((await s.call('GET', 'session')).status, 401, JSON.stringify(body));
            await then();
        }
        assert.equal((await other.call('GET', 'session')).status, 200);
        const s = await login(server, { user: 'yui', password: ANOTHER });
        assert.equal((await boss.call('PATCH', `operators/${id}`, { body: { role: 'operator', disabled: false } })).status, 200);
        assert.equal((await s.call('GET', 'session')).status, 200, 'what changes nothing ends nothing');
        const own = await s.call('PATCH', `operators/${id}`, { body: { password: PASSWORD } });
        assert.equal(own.status, 200);
        assert.equal((await s.call('GET', 'session')).status, 401);
        const rows = await auditRows(server, 'OPERATOR_CHANGE');
        assert.deepEqual(rows.map((row) => row.detail), ['by the admin API: role viewer', 'by the admin API: disabled', 'by the admin API: role operator enabled',
            'by the admin API: password', 'by the admin API: password']);
        assert.deepEqual(rows.map((row) => row.user_id).slice(-2), [ADMIN, id.replaceAll('-', '')], 'who did it');
    });

    test('A3 a person changes his own password, whatever his role, if he knows the one of now', async (t) => {
        const server = await start(t, store);
        for (const role of ['viewer', 'operator']) {
            const s = await person(server, role, role);
            const other = await login(server, { user: role, password: PASSWORD });
            const change = (body, how) => s.call('POST', 'session/password', { body, ...how });
            for (const [body, fields] of [[{}, ['current', 'new']], [{ current: PASSWORD, new: 'short' }, ['new']], [{ current: PASSWORD, new: PASSWORD }, ['new']],
                [{ current: 'a wrong long secret', new: ANOTHER }, ['current']], [{ current: PASSWORD, new: ANOTHER, role: 'operator' }, ['role']]]) {
                const refused = await change(body);
                assert.equal(refused.status, 400, refused.text);
                assert.deepEqual(refused.body.errors.map((one) => one.field).sort(), fields);
            }
            assert.equal((await change({ current: PASSWORD, new: ANOTHER }, { headers: { 'X-CSRF-Token': 'x' } })).body.code, 'CSRF');
            assert.equal((await other.call('GET', 'session')).status, 200, 'nothing happened yet');
            const done = await change({ current: PASSWORD, new: ANOTHER });
            assert.equal(done.status, 204, done.text);
            assert.equal((await s.call('GET', 'session')).status, 200, 'this session goes on');
            assert.equal((await other.call('GET', 'session')).status, 401, 'his others end');
            assert.equal((await tryLogin(server, { user: role, password: PASSWORD })).status, 401);
            assert.equal((await login(server, { user: role, password: ANOTHER })).user.role, role);
            const [row] = (await auditRows(server, 'OPERATOR_CHANGE')).slice(-1);
            assert.deepEqual([row.subject, row.detail, row.user_id], [role, 'by himself: password', s.user.id.replaceAll('-', '')]);
        }
        assert.equal((await auditRows(server, 'OPERATOR_CHANGE')).length, 2);
        const boss = await login(server, { token: ADMIN_TOKEN });
        assert.equal((await boss.call('POST', 'session/password', { body: { current: PASSWORD, new: ANOTHER } })).status, 403, 'the token is no person');
        for (const how of [{}, { as: 'admin' }, { bearer: token(uuid(), 'viewer') }])
            assert.equal((await server.call('POST', at('session/password'), { body: { current: PASSWORD, new: ANOTHER }, ...how })).status, 401, 'without a session');
    });

    test('A3 guessing one\'s password from his session waits as at the login', async (t) => {
        const server = await start(t, store);
        const s = await person(server, 'yui', 'viewer');
        const change = (current) => s.call('POST', 'session/password', { body: { current, new: ANOTHER } });
        for (let wrong = 0; wrong < 9;) { // the first waits are short: a slow machine may sit them out
            const { status, headers } = await change(`a wrong long secret ${wrong}`);
            assert.equal(status === 400 || wrong >= 5, true, `${status} after ${wrong}`);
            if (status === 400) wrong++;
            else await server.advance(Number(headers['retry-after']) * 1000);
        }
        const late = await change(PASSWORD);
        assert.equal(late.status, 429, late.text);
        assert.ok(Number(late.headers['retry-after']) >= 1);
        assert.equal((await tryLogin(server, { user: 'yui', password: PASSWORD })).status, 429, 'they count there too');
        await server.advance(2 * 3600_000);
        assert.equal((await change(PASSWORD)).status, 204);
        const [row] = await until('it is told', async () => {
            const found = await auditRows(server, 'LOGIN_FAILED');
            return found.some((one) => /password/.test(one.detail)) && found.filter((one) => /password/.test(one.detail));
        });
        assert.deepEqual([row.subject, row.times <= 9], ['yui', true]);
    });

    if (store.kind === 'postgres') test('A3 a logout and a disabled person count on every node', async (t) => {
        const server = await start(t, store);
        const other = await start(t, store, { db: server.db });
        const s = await person(server, 'yui');
        const there = (session) => other.call('GET', at('session'), { headers: { Cookie: session.cookie } });
        assert.equal((await there(s)).status, 200);
        assert.equal((await s.call('POST', 'logout')).status, 204);
        assert.equal((await there(s)).status, 401);
        const again = await login(server, { user: 'yui', password: PASSWORD });
        assert.equal((await there(again)).status, 200);
        assert.equal((await admin(server, 'PATCH', `operators/${s.user.id}`, { disabled: true })).status, 200);
        assert.equal((await there(again)).status, 401);
    });

    test('A3 too many failures have to wait, by name and address, and the right password too', async (t) => {
        const server = await start(t, store);
        await add(server, 'yui');
        await add(server, 'ken');
        const wrong = () => tryLogin(server, { user: 'yui', password: ANOTHER });
        const right = () => tryLogin(server, { user: 'yui', password: PASSWORD });
        for (let i = 0; i < 5; i++) assert.equal((await wrong()).status, 401);
        for (const seconds of [1, 2, 4, 8]) { // twice as long after each
            await server.advance(seconds * 1000);
            assert.equal((await wrong()).status, 401);
        }
        const late = await right();
        assert.deepEqual([late.status, late.body.code], [429, 'TOO_MANY_REQUESTS']);
        const wait = Number(late.headers['retry-after']);
        assert.ok(wait > 8 && wait <= 16, `${wait} s`); // real time passes, too
        await login(server, { user: 'ken', password: PASSWORD });
        await server.advance(16_000);
        assert.equal((await right()).status, 200);
        for (let i = 0; i < 4; i++) assert.equal((await wrong()).status, 401);
        assert.equal((await right()).status, 200, 'who got in starts over');

        const began = Date.now();
        let heard = 0;
        for (let i = 0; i < 40; i++) heard += (await tryLogin(server, { token: `guess ${i}` })).status !== 429;
        const mayHear = 5 + Math.ceil(Math.log2(2 + (Date.now() - began) / 1000)); // five, then after 1, 2, 4 ... seconds
        assert.ok(heard <= mayHear, `a token is guessed no faster: ${heard} of ${mayHear}`);
    });

    test('A3 many logins at once: each is let in or told to come back, and others are served', async (t) => {
        const server = await start(t, store);
        await add(server, 'yui');
        const all = await Promise.all([
            ...Array.from({ length: 60 }, (_, i) => tryLogin(server, { user: `n${i}`, password: PASSWORD })),
            ...Array.from({ length: 20 }, () => admin(server, 'GET', 'dlq')),
        ]);
        assert.ok(all.slice(0, 60).every((a) => [401, 429, 503].includes(a.status)), all.map((a) => a.status).join(' '));
        assert.ok(all.slice(0, 60).filter((a) => a.status === 401).length <= 31, 'one address, thirty a minute');
        assert.ok(all.slice(60).every((a) => a.status === 200));
    });

    test('A3 a server that stops answers the logins that began, and writes what failed', async (t) => {
        const server = await start(t, store);
        const all = Array.from({ length: 12 }, (_, i) => tryLogin(server, { user: `n${i}`, password: PASSWORD }));
        await Promise.race(all);
        await server.stop();
        const answers = await Promise.allSettled(all); // a connection that was never accepted is refused
        const failed = answers.filter((a) => a.value?.status === 401).length;
        assert.ok(failed >= 1);
        const rows = await auditRows(server, 'LOGIN_FAILED');
        assert.equal(rows.reduce((sum, row) => sum + row.times, 0), failed, 'each that was told is counted');
    });

    test('A3 one person has 32 sessions at most: the oldest gives way', async (t) => {
        const server = await start(t, store);
        const first = await login(server, { token: ADMIN_TOKEN });
        await server.advance(1000);
        for (let i = 0; i < 32; i++) await login(server, { token: ADMIN_TOKEN });
        assert.equal(await server.db.count('operator_sessions'), 32);
        assert.equal((await first.call('GET', 'session')).status, 401);
    });

    test('A3 the cookie is Secure behind a trusted proxy that speaks TLS, and only there', async (t) => {
        const secure = (answer) => /; Secure$/.test(answer.headers['set-cookie'][0]);
        const behind = await start(t, store, { env: { ICHIDO_TRUSTED_PROXIES: '127.0.0.1' } });
        const body = { token: ADMIN_TOKEN };
        assert.ok(secure(await tryLogin(behind, body, { 'X-Forwarded-Proto': 'https' })));
        assert.ok(!secure(await tryLogin(behind, body, { 'X-Forwarded-Proto': 'http' })));
        assert.ok(!secure(await tryLogin(behind, body)));
        await behind.stop();
        const open = await start(t, store);
        assert.ok(!secure(await tryLogin(open, body, { 'X-Forwarded-Proto': 'https' })), 'a stranger says what he likes');
    });

    // Every route that app_routes.c and its neighbours name, with every method that could change something.
    const routes = () => {
        const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../src/server');
        const text = fs.readdirSync(folder).filter((name) => /^app_.*\.c$/.test(name)).map((name) => fs.readFileSync(path.join(folder, name), 'utf8')).join('\n');
        return [...text.matchAll(/"(POST|PUT|PATCH|DELETE)",\s*"(\/[^"]*)"/g)].map(([, method, where]) => [method, where])
            .filter(([, where]) => !where.startsWith('/v2/'));
    };
    // Those that know nobody: they look at a signature, or begin and end a session. And one's own password, which has a test of its own.
    const OPEN = ['/api/v1/webhooks/stripe', '/api/v1/webhooks/paypay', '/test/clock', at('login'), at('logout'),
        at('session/password')];

    test('A3 a viewer changes nothing anywhere, and who is nobody gets 401', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const viewer = await person(server, 'mio', 'viewer');
        await server.call('POST', '/api/v1/payments', { as: booking.userId, key: uuid(), body: { bookingId: booking.id, amount: 1200, currency: 'JPY' } });
        const bearer = token(booking.userId, 'viewer');
        await quiet(server);
        const before = await everything(server);
        let walked = 0;
        for (const [method, pattern] of routes()) {
            if (OPEN.includes(pattern)) continue;
            const where = pattern.replace('{day}', '2026-11-15').replace(/\{(\w+)\}/g, () => booking.id);
            const how = { key: uuid(), ...(method !== 'DELETE' && { body: {} }) };
            const nobody = await server.call(method, where, how);
            if (nobody.status === 404) continue; // not set up here
            assert.equal(nobody.status, 401, `${method} ${where}: ${nobody.text}`);
            const scoped = await server.call(method, where, { ...how, bearer });
            assert.deepEqual([scoped.status, scoped.body?.code], [403, 'FORBIDDEN'], `${method} ${where} by scope: ${scoped.text}`);
            const cookie = await viewer.call(method, where, how);
            const below = where.startsWith('/api/v1/admin/');
            assert.equal(cookie.status, below ? 403 : 401, `${method} ${where} by cookie: ${cookie.text}`);
            if (below) assert.equal(cookie.body.code, 'FORBIDDEN');
            walked++;
        }
        assert.ok(walked > 30, `${walked} routes`);
        assert.deepEqual(await everything(server), before, 'nothing changed');
        assert.equal((await viewer.call('POST', 'logout')).status, 204, 'but he may leave');
    });

    test('A3 a viewer sees what an operator sees', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const paid = await server.call('POST', '/api/v1/payments', { as: booking.userId, key: uuid(), body: { bookingId: booking.id, amount: 1200, currency: 'JPY' } });
        const viewer = await person(server, 'mio', 'viewer');
        for (const where of ['dlq', 'alerts', 'slo', 'unknown', 'reconciliations', 'transfers', 'transfers/imports', 'transfers/lines', 'transfers/returns',
            'subscribers', 'events', 'notifications', 'operators', 'session'])
            assert.equal((await viewer.call('GET', where)).status, 200, where);
        const bearer = token(uuid(), 'viewer');
        for (const where of [`/api/v1/payments/${paid.body.id}`, `/api/v1/bookings/${booking.id}`]) {
            const seen = await server.call('GET', where, { bearer });
            assert.equal(seen.status, 200, `${where} ${seen.text}`);
        }
        const list = await server.call('GET', '/api/v1/payments', { bearer });
        assert.deepEqual(list.body.data.map((p) => p.id), [paid.body.id]);
        assert.equal((await server.call('GET', '/api/v1/payments', { bearer: token(uuid(), 'admin viewer') })).body.data.length, 1);
        assert.equal((await server.call('POST', '/api/v1/payments', { bearer, key: uuid(), body: { bookingId: booking.id, amount: 1, currency: 'JPY' } })).status, 403);
    });

    test('A3 ichido operators makes and changes people, with a server and without one', async (t) => {
        const server = await start(t, store);
        for (const [name, running] of [['yui', true], ['ken', false]]) {
            if (!running) await server.stop();
            const run = (args, input) => command(server, args, input);
            const added = await run(['add', name, '--role', 'viewer', '--json'], `${PASSWORD}\n`);
            assert.equal(added.code, 0, added.err);
            assert.deepEqual([JSON.parse(added.out).name, JSON.parse(added.out).role], [name, 'viewer']);
            const again = await run(['add', name, '--role', 'viewer'], PASSWORD);
            assert.equal(again.code, 1);
            assert.match(again.err, /another operator has that name already/);
            assert.equal((await run(['role', name, '--role', 'operator'])).code, 0);
            assert.equal((await run(['passwd', name], `${ANOTHER}\n`)).code, 0);
            assert.equal((await run(['disable', name])).code, 0);
            const rows = (await run(['list', '--json'])).out.trim().split('\n').map((line) => JSON.parse(line));
            assert.deepEqual(rows.filter((row) => row.name === name).map((row) => [row.role, row.disabled]), [['operator', true]]);
            assert.match((await run(['enable', name])).out, /may log in again/);
            assert.match((await run(['list'])).out, new RegExp(`${name} +operator +active +never`));
            assert.equal((await run(['passwd', 'nobody'], PASSWORD)).code, 1);
        }
        for (const [args, input, words] of [
            [[], '', /add, list/], [['add'], PASSWORD, /say who/], [['add', 'x'], PASSWORD, /--role/], [['add', 'x', PASSWORD], '', /never an argument/],
            [['add', 'x', '--role', 'admin'], PASSWORD, /viewer or operator/], [['add', 'X', '--role', 'viewer'], PASSWORD, /lower-case letters/],
            [['add', 'x', '--role', 'viewer'], 'short', /12 to 256/], [['add', 'x', '--role', 'viewer'], '', /password is needed/], [['list', 'x'], '', /options only/],
        ]) {
            const said = await command(server, args, input);
            assert.deepEqual([said.code, words.test(said.err)], [2, true], `${args}: ${said.err}`);
        }
        const next = await start(t, store, { db: server.db });
        for (const user of ['yui', 'ken']) await login(next, { user, password: ANOTHER });
        assert.deepEqual((await auditRows(next, 'OPERATOR_ADD')).length, 2);
    });
});
