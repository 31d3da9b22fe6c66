// A copy of the database while it is in use (`ichido backup`): of one moment, checked, and a server starts on it.
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { assert, asHex, forEachStore, fresh, pause, PROGRAM, programEnv, start, stores, test } from './lib/harness.mjs';

const run = promisify(execFile);

const backup = (db, ...args) => run(PROGRAM, ['backup', ...args], {
    cwd: db.folder, env: { ...programEnv, ICHIDO_DB: db.url },
}).then((r) => ({ code: 0, ...r }), (e) => e);

// As the help says.
async function restored(t, store, file) {
    const db = await fresh(t, store, { empty: true });
    if (store.name === 'SQLite') fs.copyFileSync(file, db.file);
    else await run('pg_restore', ['--no-owner', '-d', db.url, file], { env: { PATH: process.env.PATH } });
    return db;
}

// Pays until it is told to stop; what was answered is what must be kept.
function payer(server) {
    const paid = [];
    let going = true;
    const done = (async () => {
        while (going) paid.push((await server.paid()).id);
    })();
    return { paid, stop: async () => { going = false; await done; return paid; } };
}

forEachStore((store, test_) => {
    test_('O8 backup: a copy made while payments come in is whole, and a server starts on it', async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db });
        const before = [];
        for (let i = 0; i < 5; i++) before.push((await server.paid()).id);
        const busy = payer(server);
        const file = path.join(db.folder, 'copy "one".bak');
        const said = await backup(db, file, '--json');
        await busy.stop();
        assert.equal(said.code, 0, said.stderr);
        const told = JSON.parse(said.stdout);
        assert.equal(told.file, file);
        assert.equal(told.checked, true);
        assert.ok(told.rows > 0 && told.tables > 20 && told.bytes === fs.statSync(file).size);
        assert.equal(fs.statSync(file).mode & 0o777, 0o600);
        assert.deepEqual(fs.readdirSync(db.folder).filter((f) => f.includes('.part')), []);

        const copy = await restored(t, store, file);
        const again = await start(t, store, { db: copy });
        const rows = await copy.table('payments');
        for (const id of before) assert.ok(rows.some((r) => r.id === asHex(id)), id);
        assert.equal(rows.length, await copy.count('payments'));
        assert.equal((await again.paid()).status, 'AUTHORIZED');
        if (store.name === 'PostgreSQL') {
            const left = await db.all("SELECT datname FROM pg_database WHERE datname LIKE 'ichido_check_%'");
            assert.deepEqual(left, []);
        }
    });

    test_('O8 backup: a name that is taken, a folder that is not there, a database that is not there', async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db });
        await server.paid();
        const taken = path.join(db.folder, 'taken');
        fs.writeFileSync(taken, 'mine');
        fs.writeFileSync(path.join(db.folder, 'named.part'), 'mine too');
        assert.equal((await backup(db, 'named')).code, 0);
        assert.equal(fs.readFileSync(path.join(db.folder, 'named.part'), 'utf8'), 'mine too');
        let said = await backup(db, taken);
        assert.equal(said.code, 1);
        assert.match(said.stderr, /is there already; name another file/);
        assert.equal(fs.readFileSync(taken, 'utf8'), 'mine');
        said = await backup(db, path.join(db.folder, 'no/such/folder'));
        assert.equal(said.code, 1);
        assert.match(said.stderr, /No such file/);
        said = await backup({ ...db, folder: db.folder, url: db.url.replace(/[^/]*$/, 'ichido_nowhere') }, 'x');
        assert.equal(said.code, 1);
        assert.deepEqual(fs.readdirSync(db.folder).filter((f) => /^x|part-/.test(f)), []);
        said = await backup(db, 'a', 'b');
        assert.equal(said.code, 2);
        said = await backup(db); // named by the time
        assert.equal(said.code, 0, said.stderr);
        assert.match(said.stdout, /^ichido-\d{8}T\d{6}Z\.(db|dump): \d+ bytes, \d+ tables, \d+ rows, checked$/m);
    });
});

forEachStore((store, test_) => {
    test_('O8 backup: ended in the middle it leaves nothing behind', async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db });
        await server.paid();
        for (const after of [0, 20, 60, 150, 300]) {
            const child = spawn(PROGRAM, ['backup', `cut${after}`], {
                cwd: db.folder, env: { ...programEnv, ICHIDO_DB: db.url }, stdio: 'ignore' });
            const ended = new Promise((done) => child.on('exit', done));
            await pause(after); // wherever it is then
            child.kill('SIGINT');
            await ended;
        }
        assert.deepEqual(fs.readdirSync(db.folder).filter((f) => f.includes('.part')), []);
        if (store.name === 'PostgreSQL')
            assert.deepEqual(await db.all("SELECT datname FROM pg_database WHERE datname LIKE 'ichido_check_%'"), []);
    });
});

const postgres = stores.find((s) => s.name === 'PostgreSQL');
if (postgres) {
    test('O8 backup: who may not make databases hears that the copy is not checked', async (t) => {
        const db = await fresh(t, postgres);
        const server = await start(t, postgres, { db });
        await server.paid();
        const role = `backup_${process.pid}`;
        await db.all(`CREATE ROLE ${role} LOGIN PASSWORD 'backup secret'`);
        t.atEnd(() => db.all(`DROP OWNED BY ${role}; DROP ROLE ${role}`).catch(() => {}));
        await db.all(`GRANT pg_read_all_data TO ${role}`);
        const url = new URL(db.url);
        url.username = role;
        url.password = 'backup secret';
        const as = { folder: db.folder, url: url.href };
        let said = await backup(as, 'one');
        assert.equal(said.code, 1);
        assert.match(said.stderr, /made but not checked \(--no-check leaves that out\): .*permission denied/);
        assert.ok(fs.statSync(path.join(db.folder, 'one')).size > 1000);
        said = await backup(as, 'two', '--no-check');
        assert.equal(said.code, 0, said.stderr);
        assert.match(said.stdout, /rows, not checked/);
        assert.ok(!said.stderr.includes('backup secret'));
    });
}
