// When what lies below breaks: disks that are full or read-only, a database that is not there or goes
// away, two servers on one file. Nothing that was acknowledged is lost, and every answer is clear.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {
    assert, event, fresh, launch, newFolder, pause, start, stores, test, until,
} from './lib/harness.mjs';
import { freePort } from './lib/ports.mjs';
import { Cluster } from './lib/postgres.mjs';

const sqlite = stores.find((store) => store.kind === 'sqlite');
const postgres = stores.find((store) => store.kind === 'postgres');

// A small disk of our own; null where we may not mount one.
function smallDisk(t, megabytes) {
    const folder = newFolder();
    t.atEnd(() => {
        try {
            execFileSync('umount', ['-l', folder], { stdio: 'ignore' });
        } catch { /* was not mounted */ }
        fs.rmSync(folder, { recursive: true, force: true });
    });
    try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'ichido-test', folder], { stdio: 'ignore' });
        return folder;
    } catch {
        return null;
    }
}

const databaseIn = async (folder) => Object.assign(await sqlite.fresh(folder, { empty: true }), { folder, drop: async () => {} });

const allStored = async (db, acked) => {
    const stored = new Set((await db.all('SELECT stripe_event_id AS id FROM webhook_events')).map((row) => row.id));
    assert.deepEqual(acked.filter((id) => !stored.has(id)), [], 'an ACKed event is missing');
    return stored;
};

if (sqlite) {
    test('W3 a full disk is 503, loses nothing that was acknowledged, and heals when there is room [SQLite]', async (t) => {
        const folder = smallDisk(t, 24);
        if (!folder) return t.skip('may not mount a tmpfs here');
        fs.writeFileSync(path.join(folder, 'ballast'), Buffer.alloc(14 << 20));
        const server = await start(t, sqlite, { db: await databaseIn(folder) });
        const acked = [];
        let full;
        for (let i = 0; i < 5000 && !full; i++) {
            const one = event('payment_intent.succeeded', { padding: 'x'.repeat(50_000) });
            const answer = await server.deliver(one);
            if (answer.status === 204) acked.push(one.id);
            else full = answer;
        }
        assert.equal(full.status, 503);
        assert.ok(Number(full.headers['retry-after']) > 0);
        assert.equal(JSON.parse(full.text).code, 'STORE_FULL');
        assert.equal((await server.get('/healthz')).status, 200);
        fs.rmSync(path.join(folder, 'ballast'));
        const after = event();
        await until('it takes events again', async () => (await server.deliver(after)).status === 204);
        assert.ok(acked.length > 10);
        const stored = await allStored(server.db, acked);
        await until('all are through', async () => await server.db.count('webhook_outcomes') === stored.size);
        assert.equal((await server.get('/readyz')).status, 200);
    });

    test('W3 a read-only disk stops the start with a clear line [SQLite]', async (t) => {
        const folder = smallDisk(t, 4);
        if (!folder) return t.skip('may not mount a tmpfs here');
        execFileSync('mount', ['-o', 'remount,ro', folder]);
        const server = launch(t, await databaseIn(folder));
        assert.notEqual((await server.exit).code, 0);
        assert.match(server.stderr, /ichido\.db/);
        assert.match(server.stderr, /read-only|permission|cannot|could not/i);
    });

    test('O9 a file that is no database, and one of a newer program, stop the start untouched [SQLite]', async (t) => {
        const db = await fresh(t, sqlite);
        const rubbish = Buffer.from('this is no database, it is a letter to my aunt '.repeat(200));
        fs.writeFileSync(db.file, rubbish);
        const server = launch(t, db);
        assert.notEqual((await server.exit).code, 0);
        assert.match(server.stderr, /ichido\.db|database/);
        assert.deepEqual(fs.readFileSync(db.file), rubbish);
    });

    test('Q1 a second server on the same file says who has it and exits, and the first goes on [SQLite]', async (t) => {
        const port = await freePort();
        const first = await start(t, sqlite, { env: { ICHIDO_LISTEN: `127.0.0.1:${port}` } });
        const second = launch(t, first.db);
        const how = await second.exit;
        assert.equal(how.code, 1, second.tail());
        assert.ok(second.stderr.includes(`127.0.0.1:${port}`), `it names the first: ${second.stderr}`);
        const one = event();
        assert.equal((await first.deliver(one)).status, 204);
        assert.equal((await first.settled(one.id)).outcome, 'ignored');
    });

    test('Q1 a folder that is missing is made, and the files are for their owner only [SQLite]', async (t) => {
        const folder = newFolder();
        t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
        const db = await databaseIn(folder);
        db.file = path.join(folder, 'data', 'ichido.db');
        db.url = `sqlite:${db.file}`;
        const server = await start(t, sqlite, { db });
        assert.equal((await server.deliver(event())).status, 204);
        for (const name of fs.readdirSync(path.join(folder, 'data')))
            assert.equal(fs.statSync(path.join(folder, 'data', name)).mode & 0o077, 0, name);
    });

    test('W3 an fsync that fails ends the server without an ACK, and the next start has all that was acknowledged [SQLite]', async (t) => {
        const db = await fresh(t, sqlite);
        const server = launch(t, db, { env: { ICHIDO_FAULTS: 'store.commit=io@60' } });
        await server.listening();
        const acked = [];
        while (!server.ended && acked.length < 200) {
            const one = event();
            const answer = await server.deliver(one).catch(() => null);
            if (answer?.status === 204) acked.push(one.id);
            if (!answer) await Promise.race([server.exit, pause(5000)]);
        }
        assert.ok(server.ended, 'it went on after an fsync that failed');
        assert.notEqual(server.ended.code, 0);
        const next = await start(t, sqlite, { db });
        await allStored(next.db, acked);
    });
}

if (postgres) {
    test('O9 a database that is not there stops the start with a clear line and without its password [PostgreSQL]', async (t) => {
        const port = await freePort();
        const server = launch(t, { url: `postgres://someone:very-secret-word@127.0.0.1:${port}/nowhere` });
        assert.notEqual((await server.exit).code, 0);
        assert.match(server.stderr, new RegExp(`${port}`));
        assert.ok(!server.stderr.includes('very-secret-word'));
        const missing = launch(t, { url: process.env.TEST_POSTGRES.replace(/\/[^/]*$/, '/no_such_database') });
        assert.notEqual((await missing.exit).code, 0);
        assert.match(missing.stderr, /no_such_database/);
    });

    test('W3 a PostgreSQL that goes away is 503 and heals by itself when it is back [PostgreSQL]', async (t) => {
        const cluster = await Cluster.create();
        t.atEnd(() => cluster.remove());
        const db = await cluster.store.fresh();
        const server = await start(t, cluster.store, { db });
        const acked = [];
        const deliver = async () => {
            const one = event();
            const answer = await server.deliver(one);
            if (answer.status === 204) acked.push(one.id);
            return answer;
        };
        for (let round = 0; round < 2; round++) {
            for (let i = 0; i < 20; i++) assert.equal((await deliver()).status, 204);
            await cluster.stop();
            const away = await until('503', async () => {
                const answer = await deliver();
                return answer.status === 503 && answer;
            });
            assert.ok(Number(away.headers['retry-after']) > 0);
            assert.match(away.headers['content-type'], /problem\+json/);
            assert.equal((await server.get('/healthz')).status, 200, 'the process lives');
            assert.equal((await server.get('/readyz')).status, 503, 'but cannot work');
            await cluster.start();
            await until('204 again', async () => (await deliver()).status === 204);
            await until('ready again', async () => (await server.get('/readyz')).status === 200);
        }
        const stored = await allStored(db, acked);
        await until('all are through', async () => await db.count('webhook_outcomes') === stored.size, 40_000);
        assert.equal(await db.count('message'), 0);
    });

    test('W3 a COMMIT whose answer is lost is asked for, never guessed [PostgreSQL]', async (t) => {
        for (const faults of ['pg.after_commit_sent=uncertain@3-20', 'pg.commit_unsent=uncertain@3-20',
            'pg.after_commit_sent=uncertain@3-20,pg.ask=uncertain@1-10']) {
            const server = await start(t, postgres, { env: { ICHIDO_FAULTS: faults } });
            const events = Array.from({ length: 20 }, () => event());
            for (const one of events)
                await until('an ACK', async () => {
                    const { status } = await server.deliver(one);
                    assert.ok([204, 503].includes(status), `${status}`);
                    return status === 204;
                });
            await allStored(server.db, events.map((one) => one.id));
            await until('all are through', async () => (await server.db.outcomes()).length === events.length, 30_000);
            assert.equal(await server.db.count('webhook_events'), events.length);
            assert.equal(await server.db.count('message'), 0);
            await server.stop();
        }
    });

    test('O9 a PostgreSQL that does not fsync is refused at the start [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        await db.all(`ALTER DATABASE ${db.name} SET synchronous_commit = off`);
        const server = launch(t, db);
        assert.notEqual((await server.exit).code, 0);
        assert.match(server.stderr, /synchronous_commit/);
    });
}
