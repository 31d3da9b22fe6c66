// apply.mjs - the rows about applying events: what Stripe tells of payments that are in the books, from the
// ACK to the commit of its effect. The payments are put there past the server; the events come by the door.
import { sqliteStore } from '../tests/e2e/lib/stores.mjs';
import { SECRET } from '../tests/e2e/lib/stripe.mjs';
import { until } from '../tests/e2e/lib/wait.mjs';
import { cpuTicks, drained, ENV, load, ms, row, SECONDS, sqlite, sqliteRead, times, whole, withServer } from './kit.mjs';
import { Server } from '../tests/e2e/lib/server.mjs';

const STEPS = 4; // created, charge.succeeded, succeeded, charge.updated
const PAYMENTS = Math.round(SECONDS * 8192 / 64) * 64;
const AT = Date.now();

const series = (first, count) => `WITH RECURSIVE n(i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${first + count - 1})`;
const id = "CAST(printf('%016d', i) AS BLOB)";

// Bookings whose payment was answered with an intent and waits for its money; numbered from `first` on. The intent's
// name is the one that the load generator will use.
const intent = "'pi_3' || '0000000000000' || printf('%010d', i)";
const waiting = (first, count) => `
    INSERT INTO bookings (id, user_id, amount, currency, status, version, created_at, updated_at) ${series(first, count)}
        SELECT ${id}, ${id}, 1200, 'JPY', 'PENDING', 1, ${AT}, ${AT} FROM n;
    INSERT INTO payments (id, context, subject_id, booking_id, user_id, amount, currency, status, gateway, idempotency_key,
        claim_id, gateway_transaction_id, created_at, updated_at) ${series(first, count)}
        SELECT ${id}, 'booking', ${id}, ${id}, ${id}, 1200, 'JPY', 'PENDING', 'sandbox', ${id}, ${id}, ${intent}, ${AT}, ${AT} FROM n;
    INSERT INTO payment_transactions (id, payment_id, gateway, stripe_payment_intent_id, status, amount, currency, created_at,
        updated_at) ${series(first, count)} SELECT ${id}, ${id}, 'sandbox', ${intent}, 'pending', 1200, 'JPY', ${AT}, ${AT} FROM n;`;

// What years have left behind: events with their outcome, and the payments they were about. Their bodies are
// smaller than Stripe's, so that the disk is not what is measured; the indexes are as large as they would be.
const past = (events) => `
    INSERT INTO webhook_events (provider, stripe_event_id, type, livemode, created_at, received_at, message_id, request_id,
        trace, body) ${series(1, events)} SELECT 'stripe', 'evt_past' || i, 'payment_intent.succeeded', 0, 1, 1, ${id}, 'r', 't',
        zeroblob(200) FROM n;
    INSERT INTO webhook_outcomes (message_id, outcome, at) ${series(1, events)} SELECT ${id}, 'applied', 1 FROM n;
    ${waiting(900_000_001, events / STEPS)}
    INSERT INTO domain_events (id, type, aggregate_id, version, dedupe, body, occurred_at) ${series(900_000_001, events / STEPS)}
        SELECT ${id}, 'PaymentCaptured', ${id}, 2, 'CAPTURED', '{}', 1 FROM n;`;

async function fill(db, sql) {
    const first = new Server(db, { env: ENV });
    await first.listening();
    await first.stop();
    sqlite(db.file, `PRAGMA synchronous = OFF; PRAGMA cache_size = -500000; BEGIN; ${sql}; COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`);
}

const story = (server, args) => load(server, ['--mode', 'story', '--secret', SECRET, ...args]);

// How long each event took from its ACK to the commit of its effect, in milliseconds: the 99th of a hundred.
const waits = (server, since) => sqliteRead(server.db.file, `SELECT o.at - e.received_at AS ms FROM webhook_events e
    JOIN webhook_outcomes o ON o.message_id = e.message_id WHERE e.received_at > ${since} ORDER BY 1`).map((one) => one.ms);
const nth = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

// All events of the payments as fast as they are taken, and until the last effect is there.
async function applyAll(server, payments, first = 0) {
    const ticks = cpuTicks(server);
    const told = await story(server, ['--count', payments * STEPS, '--first', first, '--seconds', 120]);
    const seconds = told.seconds + await drained(server);
    return { rate: told.ok / seconds, told, cpuUs: (cpuTicks(server) - ticks) * 10_000 / told.ok };
}

// And until what follows from them is done, too: bookings confirmed, receipts handed on.
async function quiet(server) {
    const began = Date.now();
    const due = () => sqliteRead(server.db.file, `SELECT count(*) AS n FROM message WHERE due_at < ${Date.now() + 30_000}`)[0].n;
    await until('nothing is left to do', () => due() === 0, 120_000); // what stands for an hour or a day stays
    return (Date.now() - began) / 1000;
}

// Steps come in blocks of 64 payments: the third of four is the success.
const paid = (told) => Math.floor(told / 256) * 64 + Math.max(0, Math.min(64, told % 256 - 128));

const paidRight = (server, count) => {
    const [{ n }] = sqliteRead(server.db.file, `SELECT count(*) AS n FROM payments p JOIN bookings b ON b.id = p.subject_id
        WHERE p.status = 'CAPTURED' AND p.captured_amount = 1200 AND b.status = 'CONFIRMED'`);
    return n === count;
};

export async function applyRows() {
    const prepare = (db) => fill(db, waiting(0, 2 * PAYMENTS));
    await withServer(sqliteStore, { ICHIDO_SANDBOX_WEBHOOKS: 'off' }, async (server) => {
        const full = await applyAll(server, PAYMENTS);
        row('applying a payment\'s events, ACK to commit', '>= 8,000 /s', `${whole(full.rate)} /s`, full.rate >= 8000);
        row('  ACKs meanwhile', '', `${whole(full.told.rate)} /s; ${times(full.told)}`);
        row('  CPU an event, ACK included', '', `${whole(full.cpuUs)} us`);
        row('  time until what follows is done', '', `${(await quiet(server)).toFixed(2)} s`);
        const since = Date.now();
        const half = await story(server, ['--count', PAYMENTS * STEPS, '--first', PAYMENTS, '--rate', full.rate / 2]);
        await drained(server);
        await quiet(server);
        const sorted = waits(server, since);
        row('  at half of that, from ACK to applied', 'p99 < 50 ms', `p50 ${ms(1000 * nth(sorted, 0.5))}, p99 ${ms(1000 * nth(sorted, 0.99))}`,
            nth(sorted, 0.99) < 50);
        row('  answers other than 204', '0', whole(full.told.failed + half.failed), full.told.failed + half.failed === 0);
        const right = paidRight(server, PAYMENTS + paid(half.ok));
        row('  every payment CAPTURED, its booking CONFIRMED', 'yes', right ? 'yes' : 'no', right);
    }, prepare);
}

// The same with 10 thousand and with 5 million events in the books.
export async function applyLateRows() {
    const rates = [];
    for (const events of [10_000, 5_000_000]) {
        const prepare = (db) => fill(db, waiting(0, PAYMENTS) + past(events));
        await withServer(sqliteStore, { ICHIDO_SANDBOX_WEBHOOKS: 'off' }, async (server) => {
            const { rate } = await applyAll(server, PAYMENTS);
            rates.push(rate);
            row(`applying with ${whole(events)} events in the books`, rates.length > 1 ? '>= 80 % of before' : '',
                `${whole(rate)} /s${rates.length > 1 ? ` = ${(100 * rate / rates[0]).toFixed(0)} %` : ''}`,
                rates.length > 1 ? rate >= 0.8 * rates[0] : undefined);
        }, prepare);
    }
}
