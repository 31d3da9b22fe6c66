// stores.mjs - the two databases, behind one face: a fresh one for each server, and reads past the
// server, so that a test sees what is stored and not what the server says about it.
import fs from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { SqliteShell } from './sqlite_shell.mjs';

let made = 0;

class SqliteDatabase {
    constructor(folder) {
        this.kind = 'sqlite';
        this.file = path.join(folder, 'ichido.db');
        this.url = `sqlite:${this.file}`;
        this.shell = new SqliteShell(this.file);
    }

    all(sql) {
        return this.shell.ask(sql);
    }

    // Nothing of ours holds the file: its last user takes the write-ahead log with it.
    leave() {
        return this.shell.close();
    }

    hex(column) {
        return `lower(hex(${column}))`;
    }

    columns(table) {
        return this.all(`SELECT name, type = 'BLOB' AS blob FROM pragma_table_info('${table}')`);
    }

    blob(hex) {
        return `x'${hex}'`;
    }

    async drop() {
        await this.leave();
        fs.rmSync(path.dirname(this.file), { recursive: true, force: true });
    }
}

class PostgresDatabase {
    constructor(admin, name) {
        this.kind = 'postgres';
        this.name = name;
        this.admin = admin;
        const url = new URL(admin);
        url.pathname = `/${name}`;
        this.url = url.href;
    }

    async create(empty) {
        const template = process.env.E2E_POSTGRES_TEMPLATE; // of the suite's own PostgreSQL: a cluster of a test has none
        const from = template && !empty && this.admin === process.env.TEST_POSTGRES ? ` TEMPLATE ${template} STRATEGY FILE_COPY` : '';
        await once(this.admin, `CREATE DATABASE ${this.name}${from}`);
        return this;
    }

    // One connection, asked one thing at a time, and made anew when it was lost: a test may stop PostgreSQL in between.
    all(sql) {
        const ask = async () => {
            this.client ??= this.open();
            return (await (await this.client).query(sql)).rows;
        };
        this.last = this.last ? this.last.then(ask, ask) : ask();
        return this.last;
    }

    open() {
        const client = connect(this.url, () => {
            if (this.client === client) this.client = undefined;
        });
        return client;
    }

    hex(column) {
        return `encode(${column}, 'hex')`;
    }

    columns(table) {
        return this.all(`SELECT column_name AS name, data_type = 'bytea' AS blob
            FROM information_schema.columns WHERE table_name = '${table}' ORDER BY ordinal_position`);
    }

    blob(hex) {
        return `'\\x${hex}'::bytea`;
    }

    async drop() {
        const client = await this.client?.catch(() => {});
        await client?.end().catch(() => {});
        await once(this.admin, `DROP DATABASE IF EXISTS ${this.name} WITH (FORCE)`);
    }
}

pg.types.setTypeParser(20, Number); // bigint: our numbers are milliseconds and counts

async function connect(url, lost = () => {}) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
    client.on('error', lost);
    client.on('end', lost);
    try {
        await client.connect();
    } catch (error) {
        lost();
        throw error;
    }
    return client;
}

async function once(url, sql) {
    const client = await connect(url);
    try {
        return (await client.query(sql)).rows;
    } finally {
        await client.end().catch(() => {});
    }
}

const text = (value) => `'${value.replaceAll("'", "''")}'`;

// 32 hex digits as the API writes them, and back.
export const asUuid = (hex) => hex && hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
export const asHex = (id) => id.replaceAll('-', '').toLowerCase();

// All that a refused request must leave alone. Of messages only that they are there: the queue's own
// work goes on meanwhile.
const BUSINESS = ['bookings', 'inbound_events', 'idempotency_records', 'payments', 'operations', 'refunds',
    'payment_transactions', 'domain_events', 'subscribers', 'audit', 'dead_letters',
    'bank_transfers', 'bank_imports', 'bank_lines', 'bank_returns'];

// Messages that are always there, by the clock; no test asks for them.
const WORK = `kind NOT IN ('keys.expire', 'events.forget', 'audit.seal', 'qstash.forget', 'webhook.mirror',
    'stripe.heal', 'payment.unknown', 'reconcile.daily')`;

// What both databases are asked. Ids come back as hex, bodies as hex too.
const questions = {
    async count(table, where = table === 'message' ? WORK : '1 = 1') {
        return (await this.all(`SELECT count(*) AS n FROM ${table} WHERE ${where}`))[0].n;
    },
    events(where = '1 = 1') {
        return this.all(`SELECT seq, provider, stripe_event_id, type, livemode, created_at, received_at,
            request_id, trace, ${this.hex('message_id')} AS message_id, ${this.hex('body')} AS body
            FROM webhook_events WHERE ${where} ORDER BY seq`);
    },
    event(id) {
        return this.events(`stripe_event_id = ${text(id)}`).then((rows) => rows[0]);
    },
    async outcome(id) {
        const rows = await this.all(`SELECT o.outcome, o.detail, o.at FROM webhook_outcomes o
            JOIN webhook_events e ON e.message_id = o.message_id
            WHERE e.stripe_event_id = ${text(id)}`);
        return rows[0];
    },
    outcomes() {
        return this.all(`SELECT e.stripe_event_id AS event, o.outcome, o.at FROM webhook_outcomes o
            JOIN webhook_events e ON e.message_id = o.message_id ORDER BY o.message_id`);
    },
    messages() {
        return this.all(`SELECT seq, ${this.hex('id')} AS id, kind, lane, ready, due_at, attempt,
            ${this.hex('owner')} AS owner, ref, last_error FROM message WHERE ${WORK} ORDER BY seq`);
    },
    dead() {
        return this.all(`SELECT ${this.hex('id')} AS id, kind, lane, ref, reason, attempts
            FROM dead_letters ORDER BY died_at`);
    },
    duplicates(id) {
        return this.all(`SELECT times FROM webhook_duplicates
            WHERE stripe_event_id = ${text(id)}`).then((rows) => rows[0]?.times ?? 0);
    },
    // Every row of a table with all of its columns; blobs as hex.
    async table(name, where = '1 = 1') {
        const known = (this.known ??= new Map()); // a table's columns do not change while a server runs
        if (!known.has(name)) known.set(name, await this.columns(name));
        const columns = known.get(name).map((c) => (c.blob ? `${this.hex(c.name)} AS ${c.name}` : c.name));
        const rows = await this.all(`SELECT ${columns.join(', ')} FROM ${name} WHERE ${where}`);
        return rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    },
    payments(where) {
        return this.table('payments', where);
    },
    paymentRow(id) {
        return this.payments(`id = ${this.blob(asHex(id))}`).then((rows) => rows[0]);
    },
    refundRows(payment) {
        return this.table('refunds', `payment_id = ${this.blob(asHex(payment))}`);
    },
    operations(payment) {
        return this.table('operations', `payment_id = ${this.blob(asHex(payment))}`);
    },
    keys(where) {
        return this.table('idempotency_records', where);
    },
    // The domain events of a payment in their order, without what differs from run to run.
    async domainEvents(payment) {
        const rows = await this.table('domain_events', `aggregate_id = ${this.blob(asHex(payment))}`);
        return rows.sort((a, b) => a.version - b.version || a.occurred_at - b.occurred_at)
            .map((row) => ({ ...row, body: JSON.parse(row.body) }));
    },
    async state() {
        const state = {};
        for (const name of BUSINESS) state[name] = await this.table(name);
        state.message = await this.all(`SELECT ${this.hex('id')} AS id, kind, ref FROM message
            WHERE kind IN ('op', 'booking.confirm', 'event.deliver') ORDER BY id`);
        return state;
    },
    audit(where = '1 = 1') {
        return this.all(`SELECT at, operation, subject, result, times, detail FROM audit
            WHERE ${where} ORDER BY seq`);
    },
};
Object.assign(SqliteDatabase.prototype, questions);
Object.assign(PostgresDatabase.prototype, questions);

export const sqliteStore = {
    name: 'SQLite',
    kind: 'sqlite',
    // fault points around a commit (base/fault.h), and how one refuses there
    beforeCommit: 'store.commit',
    afterCommit: 'store.committed',
    refusal: 'full',
    refusalCode: 'STORE_FULL',
    async fresh(folder, { empty } = {}) {
        const db = new SqliteDatabase(folder);
        if (process.env.E2E_TEMPLATE && !empty) fs.copyFileSync(process.env.E2E_TEMPLATE, db.file);
        return db;
    },
};

export const postgresStore = (admin) => ({
    name: 'PostgreSQL',
    kind: 'postgres',
    beforeCommit: 'pg.before_commit',
    afterCommit: 'pg.after_commit_sent',
    refusal: 'retry',
    refusalCode: 'STORE_UNAVAILABLE',
    async fresh(folder, { empty } = {}) {
        const name = `e2e_${process.pid}_${made++}`;
        return new PostgresDatabase(admin, name).create(empty);
    },
});

const known = [sqliteStore];
if (process.env.TEST_POSTGRES) known.push(postgresStore(process.env.TEST_POSTGRES));

// STORES=sqlite or STORES=postgres narrows a run by hand; PostgreSQL is there by tests/with-postgres.
const wanted = process.env.STORES?.split(',') ?? known.map((store) => store.kind);
export const stores = known.filter((store) => wanted.includes(store.kind));
