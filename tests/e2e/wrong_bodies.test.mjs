// Every route x every wrong body x every kind of caller, from the OpenAPI files themselves: the server lives, each answer
// is a 4xx that its file describes, and the whole database is afterwards what it was before (P5 Q9 W6). At the end each
// route takes its right body: so what was refused was refused for what was wrong with it.
import { execFile } from 'node:child_process';
import http from 'node:http';
import { promisify } from 'node:util';
import { Collection } from './lib/collections.mjs';
import { fill, refusing } from './lib/dlq.mjs';
import { remember } from './lib/evidence.mjs';
import { assert, ADMIN_TOKEN, asUuid, event, forEachStore, signBytes, start, token, until, uuid } from './lib/harness.mjs';
import { bought, campaign, quiet } from './lib/purchases.mjs';
import { BANK, confirm, imported, lines, owes, returns, setAside } from './lib/transfers.mjs';
import { DEV_TOKEN, referenceTo, upstashSignature } from './lib/upstash.mjs';
import { operations, rightBodies, wrongBodies } from './lib/wrong_bodies.mjs';

const run = promisify(execFile);
const PASSWORD = 'a long enough secret 1';
remember(PASSWORD);
remember(`${PASSWORD}2`);
const LANES = 8;
const LATER = 24 * 3600; // seconds: not while this runs

const nameOf = ({ method, template }) => `${method} ${template}`;
const isQStash = ({ template }) => template.startsWith('/v2/');
const isSigned = ({ template }) => /^\/api\/v1\/webhooks\/|^\/api\/workers\//.test(template);

// --- bodies that are not wrong ---

// Right by the operation's description: with the right credentials they are not sent. [operation, body, content type]
const LEGAL = [
    ['POST /api/v1/events', '[]', 'application/cloudevents-batch+json'], // a batch of no events
    ['DELETE /v2/messages', 'no content type'], ['POST /v2/dlq/retry', 'no content type'], // {}: all; who sends JSON need not say so
];
// Where any bytes are right, these are not: they are published; or they are kept because of the signature, readable or not,
// and end as a failed event (W6), and a notification of PayPay is only a hint to ask (W8).
const WRONG_BYTES = [
    [/ \/v2\/(publish|enqueue)\/|^POST \/v2\/schedules\/\{schedule\}$/, /^1 MB in a string$/],
    [/^POST \/api\/v1\/webhooks\/stripe$/, /1 MB|^an empty body$/], [/^POST \/api\/v1\/webhooks\/paypay$/, /1 MB/],
];
function isWrong(operation, what, type) {
    const bytes = WRONG_BYTES.find(([where]) => where.test(nameOf(operation)));
    if (bytes) return bytes[1].test(what);
    if (operation.mayBeEmpty && what === 'an empty body') return false;
    return !LEGAL.some(([name, legal, of = type]) => name === nameOf(operation) && legal === what && of === type);
}

// An operation that has no body does not look at one, and acts: with the right credentials only on what is not there. These
// act without a path to say so, and are not sent.
const ignoresBody = ({ method, contents }) => method !== 'GET' && !contents.length;
const NEVER = ['POST /v2/keys/rotate', 'POST /api/v1/admin/logout', 'DELETE /api/v1/admin/sandbox/faults'];

// --- the answers ---

// What who may gets where it is not the usual.
const ANSWERS = {
    'GET /api/v1/campaigns/{id}/draw': 404, 'GET /api/v1/admin/campaigns/{id}/draw': 404, // not drawn yet
    'GET /api/v1/admin/keys/{key}': 200, // what any key did: nothing
    'POST /api/v1/admin/reconciliations/{day}': 422, // a day to come
    'DELETE /api/v1/users/{id}': 204, 'DELETE /v2/queues/{queue}': 200, 'DELETE /v2/topics/{group}': 200, // what is not there is gone
    'POST /v2/flowControl/{key}/pin': 400, 'POST /v2/flowControl/{key}/unpin': 400, // the query does not say what
    'POST /api/workers/stripe-webhook': 489,
};
const CLOCK = 'POST /test/clock'; // only in tests: it asks for no content type
const SELECTS = ['DELETE /v2/messages', 'DELETE /v2/dlq', 'POST /v2/dlq/retry'];

function statusFor(operation, { may, there, what }) {
    const name = nameOf(operation);
    if (!may) return isSigned(operation) ? (ANSWERS[name] ?? 400) : 401;
    if (ANSWERS[name]) return ANSWERS[name];
    if (operation.method === 'GET') return there ? 200 : 404;
    if (ignoresBody(operation)) return 404;
    if (isQStash(operation) || name === CLOCK) return SELECTS.includes(name) && ['text/plain', 'two content types'].includes(what) ? 415 : 400;
    return ['text/plain', 'no content type', 'two content types'].includes(what) ? 415 : 400;
}

// Each bad field is named (P5); of a field in an object or a list some APIs name only the field, some the way to it.
const names = ({ errors = [] }, wrong) => errors.some(({ field }) => !wrong || field.split(/[.[\]]+/).some((part) => wrong.includes(part)));

// What is wrong with the answer, or nothing.
function complaint(operation, row, { status, text }) {
    const said = `${status} ${text}`.slice(0, 400);
    if (status === 413 && row.what.includes('1 MB')) return undefined;
    if (row.may && nameOf(operation) === 'POST /v2/batch' && status === 200) return JSON.parse(text).every(({ error }) => error) ? undefined : said;
    const wanted = statusFor(operation, row);
    if (status !== wanted) return `not ${wanted}: ${said}`;
    if (isQStash(operation) || status < 400) return undefined;
    const problem = JSON.parse(text);
    if (status === 489) return problem.reason === (row.may ? 'payload' : 'signature') ? undefined : said;
    if (status === 400 && row.may && nameOf(operation) !== CLOCK && !isSigned(operation) && !names(problem, row.names)) return `the field is not named: ${said}`;
    return undefined;
}

// --- what there is ---

async function qstashWorld(t, server) {
    const qstash = async (method, path, body, headers = {}) => {
        const answer = await server.call(method, `/v2/${path}`, { bearer: DEV_TOKEN, body, headers });
        assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
        return answer.body;
    };
    const bad = await refusing(t, [[500, 'no']], { 'Upstash-NonRetryable-Error': 'true' });
    await qstash('POST', 'queues', { queueName: 'here' });
    await qstash('POST', 'topics/here/endpoints', { endpoints: [{ url: 'https://shop.example/hook' }] });
    await qstash('POST', 'schedules/https://shop.example/hook', 'x', { 'Upstash-Cron': '0 0 1 1 *', 'Upstash-Schedule-Id': 'here' });
    const { messageId } = await qstash('POST', 'publish/https://shop.example/hook', 'x', {
        'Upstash-Delay': `${LATER}s`, 'Upstash-Flow-Control-Key': 'here', 'Upstash-Flow-Control-Value': 'rate=5, period=1m',
    });
    await qstash('POST', `publish/${bad.url}`, 'x', { 'Upstash-Retries': '0' });
    const dlqId = await until('a message is dead', async () => (await qstash('GET', 'dlq')).messages[0]?.dlqId);
    return [[/\{(queue|group|schedule)\}|flowControl\/\{key\}|queues\/\{name\}|schedules\/\{id\}/, 'here'], [/\{messageId\}/, messageId], [/\{dlqId\}/, dlqId]];
}

async function bankWorld(server) {
    const transfer = await owes(server);
    const paid = await owes(server);
    assert.equal((await confirm(server, paid)).status, 200);
    const refund = await server.refund(paid, 200);
    assert.ok(refund.status < 300, refund.text);
    await imported(server, [{ text: 'ダレカ', amount: 77 }, { text: 'ダレモ', amount: 78 }]);
    const [line, other] = await lines(server);
    assert.equal((await setAside(server, other, { reason: 'nobody', toBeReturned: true })).status, 200);
    const [back] = await returns(server);
    return {
        transfer,
        ids: [[/transfers\/\{id\}/, transfer.id], [/lines\/\{id\}/, line.id], [/returns\/\{id\}/, back.id], [/refunds\/\{id\}/, refund.body.refunds[0].id]],
    };
}

// One of everything, so that a body is looked at by who would act on it. Ids by the operation's path.
async function world(t, server) {
    const admin = async (method, path, body) => {
        const answer = await server.call(method, `/api/v1/${path}`, { as: 'admin', body });
        assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
        return answer.body;
    };
    const booking = await server.booking();
    const payment = await server.paid();
    const { id: captured } = await server.captured();
    const { id: campaignId, positions } = await campaign(server);
    const { purchase } = await bought(server, positions[0]);
    const collection = await Collection.make(server);
    const operator = await admin('POST', 'admin/operators', { name: 'yui', role: 'operator', password: PASSWORD });
    const user = uuid();
    await admin('PUT', `users/${user}`, { language: 'en' });
    const { transfer, ids: bank } = await bankWorld(server);
    const qstash = await qstashWorld(t, server);
    const stored = event();
    await server.deliver(stored);
    await server.settled(stored.id);
    await fill(server.db, 3);
    const dead = (await server.db.dead()).filter(({ kind }) => kind === 'stripe.event').map(({ id }) => asUuid(id));
    const redrive = await admin('POST', 'admin/redrives', { ids: [dead[2]], ratePerSecond: 1 });
    await until('the redrive ends', async () => (await admin('GET', `admin/redrives/${redrive.id}`)).state !== 'running');
    const { body: session, headers } = await server.call('POST', '/api/v1/admin/login', { body: { user: 'yui', password: PASSWORD } });
    const subscriber = await admin('POST', 'admin/subscribers', { url: 'https://shop.example/hook', types: ['PaymentFailed'] }); // none comes
    await server.advance(60_000); // so that the audit's last row is sealed
    await until('all rows are sealed', async () => await server.db.count('audit_seals') === await server.db.count('audit'));
    await quiet(server);
    return {
        session: { Cookie: headers['set-cookie'][0].split(';')[0], 'X-CSRF-Token': session.csrf }, buyer: { Authorization: `Bearer ${token(uuid())}` },
        bookingId: booking.id, letter: dead[0], stored, reference: transfer.reference,
        ids: [
            [/payments\/\{id\}\/refund/, captured], [/payments\/\{id\}/, payment.id], [/campaigns\/\{id\}/, campaignId], [/positions\/\{id\}/, positions[1]],
            [/purchases\/\{id\}/, purchase.id], [/collections\/\{id\}/, collection.id], [/participants\/\{id\}/, collection.people[0].id],
            [/bookings\/\{id\}/, booking.id], [/users\/\{id\}/, user], [/operators\/\{id\}/, operator.id], [/subscribers\/\{id\}/, subscriber.id],
            [/dlq\/\{id\}/, dead[1]], [/redrives\/\{id\}/, redrive.id], [/keys\/\{key\}/, payment.idempotencyKey], ...bank, ...qstash,
        ],
    };
}

// Bodies that are taken, where the one made from the schema would not be; where fields exclude each other, by the field.
const BOOKING = { userId: uuid(), amount: 1200, currency: 'JPY' };
const letters = ({ letter }, field) => (field === 'filter' ? { filter: { ref: 'nothing' } } : { ids: [letter] });
const endpoints = () => ({ endpoints: [{ url: 'https://shop.example/other' }] });
const RIGHT = {
    'POST /payments': ({ bookingId }) => ({ bookingId, amount: 1200, currency: 'JPY' }),
    'POST /api/v1/participants/{id}/checkout': () => ({ successUrl: 'https://shop.example/' }),
    'PUT /api/v1/bookings/{id}': () => BOOKING,
    'POST /api/v1/events': () => ({ specversion: '1.0', id: uuid(), source: '/shop', type: 'BookingCreated', data: { bookingId: uuid(), ...BOOKING } }),
    'POST /api/v1/admin/login': () => ({ user: 'nobody', password: PASSWORD }),
    'POST /api/v1/admin/session/password': () => ({ current: PASSWORD, new: `${PASSWORD}2` }),
    'POST /api/v1/admin/operators': () => ({ name: 'ren', role: 'viewer', password: PASSWORD }),
    'PATCH /api/v1/admin/operators/{id}': () => ({ disabled: false }),
    'POST /api/v1/admin/dlq/retry': letters,
    'POST /api/v1/admin/dlq/delete': letters,
    'POST /api/v1/admin/redrives': (here, field) => ({ ...letters(here, field), ratePerSecond: 1 }),
    'POST /api/v1/admin/replays': ({ stored }) => ({ eventId: stored.id, ratePerSecond: 1 }),
    'POST /api/v1/admin/transfers/lines/{id}/assign': ({ reference }) => ({ reference }),
    'PUT /api/v1/admin/sandbox/faults': () => ({ webhooks: { on: true } }),
    'POST /v2/batch': () => ({ destination: 'https://shop.example/hook', headers: { 'upstash-delay': `${LATER}s` }, body: 'x' }),
    'POST /v2/topics/{group}/endpoints': endpoints,
    'DELETE /v2/topics/{group}/endpoints': endpoints,
    'POST /api/workers/stripe-webhook': ({ stored }, field) => (field === 'type' ? event() : referenceTo(stored)), // of a reference the type is not read
};
const rightOf = (operation, here) => {
    const right = RIGHT[nameOf(operation)];
    return right && ((field) => right(here, field));
};

// The paths of an operation: [path, whether it is of something that is there].
function pathsOf({ template }, { ids }) {
    const fill = (id) => template.replace('{day}', '2999-01-01').replace('{destination}', 'https://shop.example/hook')
        .replaceAll(/\{[^}]+\}/g, id ?? (() => uuid()));
    const there = ids.find(([where]) => where.test(template))?.[1];
    const prefix = /^\/payments/.test(template) ? '/api/v1' : '';
    if (!template.includes('{')) return [[fill(), true]];
    return [...(there ? [[prefix + fill(there), true]] : []), [fill(), false]];
}

// Who asks: nobody, somebody with a token of his own making, and who may do it.
function callers(server, operation, { session, buyer }) {
    const garbage = { Authorization: 'Bearer garbage.garbage.garbage' };
    if (operation.template.endsWith('/paypay')) return [['anybody', () => ({}), true]]; // PayPay signs nothing
    if (isSigned(operation)) {
        const at = server.nowSeconds();
        const sign = async (body) => (operation.template.includes('worker')
            ? { 'Upstash-Signature': await upstashSignature(body, { at }) } : { 'Stripe-Signature': signBytes(body, { at }) });
        return [['nobody', () => ({})], ['a forger', () => ({ 'Upstash-Signature': 'a.b.c', 'Stripe-Signature': `t=${at},v1=00` })], ['the sender', sign, true]];
    }
    if (operation.secured === undefined) return [['anybody', () => ({}), true]];
    if (/\/purchase$/.test(operation.template)) return [['nobody', () => ({})], ['a stranger', () => garbage], ['who may', () => buyer, true]]; // a person, no service
    const right = operation.secured === 'session' ? session : { Authorization: `Bearer ${isQStash(operation) ? DEV_TOKEN : ADMIN_TOKEN}` };
    return [['nobody', () => ({})], ['a stranger', () => garbage], ['who may', () => right, true]];
}

const headersOf = async (operation, { sign }, bytes) =>
    ({ ...await sign(bytes), 'Content-Length': bytes.length, ...(operation.keyed && { 'Idempotency-Key': uuid() }) });

// --- before and after ---

// What moves by itself: /readyz proves there that the store takes a write, and forged signatures are something to tell of.
// Of two tables some columns move: a session was seen, a message is due again.
const RESTLESS = ['node_seen', 'alerts'];
const PARTLY = {
    operator_sessions: ['token', 'operator_id', 'name', 'role', 'created_at'],
    message: ['id', 'kind', 'lane', 'gate', 'ref', 'body'],
};
const isApart = (name) => RESTLESS.includes(name) || name in PARTLY;
const partly = (row) => Object.entries(PARTLY).map(([name, columns]) => `SELECT '${name} ' || ${row(columns)} AS row FROM ${name}`);

// All rows of all tables, each as a text.
const everything = {
    async sqlite(db) {
        const rest = partly((columns) => columns.map((name) => `quote(${name})`).join(" || ',' || ")).join(';');
        const { stdout } = await run('sqlite3', ['-batch', '-cmd', '.timeout 5000', db.file, '.dump --data-only', rest], { maxBuffer: 1 << 28 });
        return stdout.split('\n').filter((row) => !isApart(row.match(/^INSERT INTO (\w+)/)?.[1]));
    },
    async postgres(db) {
        db.names ??= (await db.all("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")).map(({ name }) => name)
            .filter((name) => !isApart(name));
        const whole = db.names.map((name) => `SELECT '${name} ' || t::text AS row FROM ${name} t`);
        const rows = await db.all([...whole, ...partly((columns) => `ROW(${columns})::text`)].join(' UNION ALL '));
        return rows.map(({ row }) => row);
    },
};
const stateOf = ({ db }) => everything[db.kind](db);

function same(after, before, what) {
    const [now, old] = [new Set(after), new Set(before)];
    const changed = [...after.filter((row) => !old.has(row)).map((row) => `+ ${row}`), ...before.filter((row) => !now.has(row)).map((row) => `- ${row}`)];
    assert.equal(changed.length, 0, `${what}: rows changed:\n${changed.slice(0, 8).join('\n').slice(0, 2000)}`);
}

// --- the product ---

async function batch(server, here, operation, { light }) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: LANES });
    const wrong = wrongBodies(operation, rightOf(operation, here));
    const paths = pathsOf(operation, here);
    const rows = callers(server, operation, here).filter(([, , may]) => may || !light).flatMap(([who, sign, may]) =>
        (may && ignoresBody(operation) ? paths.slice(-1) : may && !light ? paths : paths.slice(0, 1)).flatMap(([path, there]) =>
            wrong.map(([what, body, type, fields]) => ({ who, sign, may, path, there, what, body, type, names: fields }))))
        .filter(({ who, may, what, type, names: fields }) => (may ? isWrong(operation, what, type) && !NEVER.includes(nameOf(operation)) : who === 'nobody' || !(fields || what.includes('1 MB'))));
    const bad = [];
    const one = async (row) => {
        const bytes = Buffer.from(row.body);
        const headers = { ...await headersOf(operation, row, bytes), ...(row.type && { 'Content-Type': row.type }) };
        const tell = (words) => bad.push(`${operation.method} ${row.path} by ${row.who}, ${row.what}: ${words}`);
        try {
            const words = complaint(operation, row, await server.request({
                method: operation.method, path: row.path, headers, agent: bytes.length > 100_000 ? false : agent,
            }, bytes));
            if (words) tell(words);
        } catch (error) {
            tell(`${error.code ?? ''} ${error.message}`);
        }
    };
    const lane = async () => {
        for (let row = rows.shift(); row; row = rows.shift()) await one(row);
    };
    const sent = rows.length;
    await Promise.all(Array.from({ length: LANES }, lane));
    agent.destroy();
    return { sent, bad };
}

// The right body is taken, or refused for what it asks for: not for what it is.
async function takesTheRightOne(server, here, operation) {
    const [, sign] = callers(server, operation, here).find(([, , may]) => may);
    const [[path]] = pathsOf(operation, here);
    for (const [type, body] of rightBodies(operation, rightOf(operation, here))) {
        const headers = { ...await headersOf(operation, { sign }, Buffer.from(body)), 'Content-Type': type };
        const { status, text } = await server.request({ method: operation.method, path, headers }, body);
        assert.ok(![400, 413, 415, 489].includes(status) && !/^\[\{"error"/.test(text), `${operation.method} ${path} ${body}: ${status} ${text}`);
    }
}

async function product(t, store, clause, chosen) {
    const light = store.kind !== 'sqlite';
    const server = await start(t, store, { env: { ...BANK, ICHIDO_ROUTES: `${BANK.ICHIDO_ROUTES},paypay=paypay` } });
    const here = await world(t, server);
    const all = operations().filter((one) => chosen(one) && (!light || one.contents.length));
    let before = await stateOf(server);
    let sum = 0;
    for (const operation of all) {
        await t.test(`${clause} every wrong body of ${nameOf(operation)} is a 4xx and changes nothing`, async () => {
            assert.equal(server.ended, undefined, 'the server is gone');
            const { sent, bad } = await batch(server, here, operation, { light });
            sum += sent;
            const earlier = before;
            before = server.ended ? before : await stateOf(server);
            assert.equal(bad.length, 0, `${bad.length} of ${sent}:\n${bad.join('\n').slice(0, 4000)}\n`);
            same(before, earlier, nameOf(operation));
            assert.equal((await server.get('/healthz')).status, 200);
        });
    }
    await t.test(`${clause} the same routes take the right bodies`, async () => {
        for (const operation of all) await takesTheRightOne(server, here, operation);
    });
    t.diagnostic(`${sum} requests`);
    assert.equal(server.ended, undefined, 'the same process lives');
}

// A body is read before anything is asked of a database, so PostgreSQL has the lighter product: who may, one path, routes with a body.
forEachStore((store, test) => {
    test('P5 every wrong body of every route of the API is a 4xx and changes nothing', (t) =>
        product(t, store, 'P5', (one) => !isQStash(one) && !isSigned(one)));
    test('Q9 every wrong body of every route of /v2 is a 4xx and changes nothing', (t) => product(t, store, 'Q9', isQStash));
    test('W6 every wrong body of a webhook or the worker is a 4xx and changes nothing', (t) => product(t, store, 'W6', isSigned));
});
