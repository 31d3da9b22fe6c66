// admin.mjs - how fast an operator finds one payment in a million, on both databases: lists by every filter, searches, one
// payment with all that belongs to it, its timeline. The million is made by SQL past the server; nothing else runs meanwhile.
import { postgresStore, sqliteStore } from '../tests/e2e/lib/stores.mjs';
import { Server } from '../tests/e2e/lib/server.mjs';
import { ADMIN_TOKEN } from '../tests/e2e/lib/tokens.mjs';
import { ENV, row, sqlite, withServer } from './kit.mjs';

const COUNT = Number(process.env.ADMIN_ROWS ?? 1_000_000);
const TIMES = 40;

// Ids are made in the order of time (UUIDv7), and here of bytes below 128 alone, so that both databases can make them from text:
// 01 7f, four digits of base 120 (4 to 123) for the rest of the milliseconds, the version, 01, and the number in eight digits.
const BASE = 120, SPREAD = Math.floor(BASE ** 4 / COUNT) - 1;
const digits = (i) => [3, 2, 1, 0].map((k) => Math.floor(i * SPREAD / BASE ** k) % BASE + 4);
const uuidOf = (bytes) => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
const idOf = (i, version) => uuidOf(Buffer.concat([Buffer.from([1, 127, ...digits(i), version * 16, 1]), Buffer.from(String(i).padStart(8, '0'))]));
const timeOf = (i) => digits(i).reduce((ms, d) => ms * 256 + d, 0x017f);
const named = (name, i) => uuidOf(Buffer.from(`${name}${String(i).padStart(12, '0')}`));
const paymentId = (i) => idOf(i, 7);

// The same rows in the words of either database. A user has seven payments, or a tenth of all; so has a key one, or a tenth; a
// gateway has 20 payments; one status stands for 1 in 1,000.
function words(kind) {
    const pg = kind === 'postgres';
    const digit = (k) => `(i * ${SPREAD} / ${BASE ** k} % ${BASE} + 4)`;
    const padded = (number, n) => (pg ? `lpad((${number})::text, ${n}, '0')` : `printf('%0${n}d', ${number})`);
    const blob = (text) => (pg ? `convert_to(${text}, 'UTF8')` : `CAST(${text} AS BLOB)`);
    const chr = (number) => (pg ? `chr((${number})::int)` : `char(${number})`);
    return {
        id: (version) => blob(`${[1, 127, digit(3), digit(2), digit(1), digit(0), version * 16, 1].map(chr).join(' || ')} || ${padded('i', 8)}`),
        at: `(${0x017f * 2 ** 32} + ${digit(3)} * 16777216 + ${digit(2)} * 65536 + ${digit(1)} * 256 + ${digit(0)})`,
        named: (name, number) => blob(`'${name}' || ${padded(number, 12)}`),
    };
}

export function fill(kind, count = COUNT) {
    const { id, at, named: blob } = words(kind);
    const n = kind === 'postgres' ? `(SELECT generate_series(1, ${count})::bigint AS i) n`
        : `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n) n`;
    const user = blob('USER', 'CASE WHEN i % 10 = 0 THEN 0 ELSE i / 7 + 1 END');
    const key = blob('KEYS', 'CASE WHEN i % 10 = 1 THEN 0 ELSE i END');
    const context = `CASE WHEN i % 5 = 0 THEN 'purchase' WHEN i % 500 = 1 THEN 'participant' ELSE 'booking' END`;
    const status = `CASE WHEN i % 1000 = 7 THEN 'FAILED' WHEN i % 10000 = 8 THEN 'AUTHORIZED' ELSE 'CAPTURED' END`;
    const gateway = `CASE WHEN i % ${Math.max(1, Math.floor(count / 20))} = 3 THEN 'paypay' ELSE 'stripe' END`;
    const subject = blob('SUBJ', 'i');
    return [
        `INSERT INTO payments (id, context, subject_id, booking_id, user_id, amount, captured_amount, currency, status, gateway,
            gateway_transaction_id, idempotency_key, claim_id, created_at, updated_at)
         SELECT ${id(7)}, ${context}, ${subject}, CASE WHEN i % 5 <> 0 AND i % 500 <> 1 THEN ${subject} END, ${user}, 1200,
            CASE WHEN i % 1000 <> 7 AND i % 10000 <> 8 THEN 1200 END, 'JPY', ${status}, ${gateway}, 'pi_bench_' || i, ${key}, ${id(6)}, ${at}, ${at} FROM ${n}`,
        `INSERT INTO operations (id, payment_id, kind, phase, cause, gateway_key, user_id, idempotency_key, message_id, claimed_at)
         SELECT ${id(6)}, ${id(7)}, 'create', 'done', 'client', 'k', ${user}, ${key}, ${id(6)}, ${at} FROM ${n}`,
        `INSERT INTO operations (id, payment_id, kind, phase, cause, gateway_key, user_id, idempotency_key, message_id, claimed_at)
         SELECT ${id(5)}, ${id(7)}, 'capture', 'done', 'client', 'k', ${user}, ${blob('CAPT', 'i')}, ${id(6)}, ${at} FROM ${n} WHERE i % 2 = 0`,
        `INSERT INTO payment_transactions (id, payment_id, gateway, stripe_payment_intent_id, stripe_charge_id, status, amount, currency, created_at, updated_at)
         SELECT ${id(5)}, ${id(7)}, ${gateway}, 'pi_bench_' || i, 'ch_bench_' || i, 'succeeded', 1200, 'JPY', ${at}, ${at} FROM ${n}`,
        `INSERT INTO refunds (id, payment_id, amount, status, gateway_refund_id, created_at, updated_at)
         SELECT ${id(3)}, ${id(7)}, 100, 'succeeded', 're_bench_' || i, ${at}, ${at} FROM ${n} WHERE i % 10 = 0`,
    ];
}

export async function filled(db) {
    const first = new Server(db, { env: ENV });
    await first.listening();
    await first.stop();
    if (db.kind === 'sqlite')
        sqlite(db.file, `PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN; ${fill('sqlite').join('; ')}; COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`);
    else {
        for (const statement of fill('postgres')) await db.all(statement);
        await db.all('VACUUM ANALYZE');
    }
}

const quantile = (all, q) => all[Math.min(all.length - 1, Math.floor(all.length * q))];

// One after the other; another payment each time, so that nothing is in a cache by luck.
async function measured(server, name, path) {
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const took = [];
    let shown = 0;
    for (let i = 0; i < TIMES; i++) {
        const began = process.hrtime.bigint();
        const answer = await server.request({ method: 'GET', path: path(1 + (i * 7919 * 31) % COUNT), headers });
        took.push(Number(process.hrtime.bigint() - began) / 1e6);
        if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${answer.text}`);
        shown = Math.max(shown, JSON.parse(answer.text).data?.length ?? 1);
    }
    took.sort((a, b) => a - b);
    const p95 = quantile(took, 0.95);
    row(`  ${name}`, 'p95 < 50 ms', `p50 ${quantile(took, 0.5).toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, max ${took.at(-1).toFixed(1)} ms (${shown})`, p95 < 50);
}

const LIST = '/api/v1/admin/payments';
const user = named('USER', 0), key = named('KEYS', 0);
const time = (i) => new Date(timeOf(Math.min(i, COUNT))).toISOString();
const filters = {
    status: () => 'status=FAILED', captured: () => 'status=CAPTURED', context: () => 'context=participant', gateway: () => 'gateway=paypay',
    common: () => 'gateway=stripe', user: () => `userId=${user}`, booking: (i) => `bookingId=${named('SUBJ', i)}`,
    from: (i) => `from=${time(i)}`, to: (i) => `to=${time(i)}`,
};
const parameterOf = { captured: 'status', common: 'gateway' };
const searches = {
    'payment id': paymentId, 'user with a tenth of all': () => user, 'key of a tenth of all': () => key, 'intent': (i) => `pi_bench_${i}`, 'charge': (i) => `ch_bench_${i}`,
    'refund id': (i) => idOf(Math.max(10, i - i % 10), 3), 're_': (i) => `re_bench_${Math.max(10, i - i % 10)}`, 'key of a capture': (i) => named('CAPT', Math.max(2, i - i % 2)),
    'what nobody knows': (i) => `pi_nobody_${i}`, 'an id that nobody knows': (i) => named('NONE', i),
};

async function databaseRows(name, store) {
    await withServer(store, {}, async (server) => {
        row(`${name}, ${COUNT.toLocaleString('en-US')} payments`, '', '');
        await server.request({ method: 'GET', path: LIST, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } }); // cold: not counted
        await measured(server, 'list, newest', () => LIST);
        await measured(server, 'list, 100 of them', () => `${LIST}?limit=100`);
        for (const [one, make] of Object.entries(filters)) await measured(server, `list by ${one}`, (i) => `${LIST}?${make(i)}`);
        const names = Object.keys(filters);
        for (const [at, one] of names.entries())
            for (const two of names.slice(at + 1))
                if ((parameterOf[one] ?? one) !== (parameterOf[two] ?? two))
                    await measured(server, `list by ${one} and ${two}`, (i) => `${LIST}?${filters[one](i)}&${two === 'to' && one === 'from' ? `to=${time(i + 1000)}` : filters[two](i)}`);
        for (const [what, make] of Object.entries(searches)) await measured(server, `search: ${what}`, (i) => `${LIST}?q=${make(i)}`);
        await measured(server, 'search: that user, FAILED', () => `${LIST}?q=${user}&status=FAILED`);
        await measured(server, 'one payment', (i) => `${LIST}/${paymentId(i)}`);
        await measured(server, 'its timeline', (i) => `${LIST}/${paymentId(i)}/timeline`);
        await measured(server, 'what a key did', () => `/api/v1/admin/keys/${key}`);
    }, filled);
}

export async function adminRows() {
    await databaseRows('SQLite', sqliteStore);
    if (process.env.TEST_POSTGRES) await databaseRows('PostgreSQL', postgresStore(process.env.TEST_POSTGRES));
}
