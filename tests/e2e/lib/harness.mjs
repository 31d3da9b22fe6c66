// harness.mjs - what a test file imports: forEachStore, and start() for a server that is cleaned
// up after its test. When a test fails, the last lines of its servers are printed with it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import nodeTest from 'node:test';
import { newFolder, Server } from './server.mjs';
import { stores } from './stores.mjs';

export { assert };
export { stores };
export { asHex, asUuid } from './stores.mjs';
export * from './http.mjs';
export * from './server.mjs';
export * from './stripe.mjs';
export * from './tokens.mjs';
export * from './wait.mjs';

// Tests that were defined and must run, and those that came to their end. A file that leaves before its last test (by
// process.exit(), say) looks like a good one to node's runner. With a pattern node knows which tests must run, and those
// that began are counted.
let wanted = 0, ended = 0;
const hasPattern = process.execArgv.some((word) => word.startsWith('--test-name-pattern'));

process.on('exit', () => {
    if (wanted === ended) return;
    console.error(`FAILED: ${wanted - ended} of ${wanted} tests of ${process.argv[1]} did not come to their end`);
    process.exitCode = 1;
});

// Runs a test with its clean-up in reverse order, server before database.
const wrap = (run) => async (t) => {
    if (hasPattern) wanted++;
    const servers = [];
    const last = [];
    t.servers = servers;
    t.atEnd = (clean) => last.push(clean);
    const tell = () => {
        for (const server of servers) t.diagnostic(`pid ${server.pid} said:\n${server.tail()}`);
    };
    let failure;
    try {
        await run(t);
    } catch (error) {
        failure = t.failure = error; // a clean-up may want to look before it cleans
        tell();
    }
    for (const clean of last.reverse()) {
        try {
            await clean();
        } catch (error) {
            failure ??= error;
        }
    }
    ended++;
    // Also of a server that the test expected to end badly. It explains whatever else went wrong.
    const complaints = servers.map((server) => server.complaint()).filter(Boolean);
    if (complaints.length) throw new Error(complaints.join('\n'), { cause: failure });
    if (failure) throw failure;
};

// test(name, [options,] run)
export function test(name, ...rest) {
    const run = rest.pop();
    if (!hasPattern && !rest[0]?.skip) wanted++;
    return nodeTest(name, { timeout: 120_000, ...rest[0] }, wrap(run));
}

// The same tests on both databases (T2): the name says which.
export function forEachStore(define, on = stores) {
    if (!on.length) nodeTest('the databases that these tests need', { skip: 'STORES leaves them out' }, () => {});
    for (const store of on) {
        const named = (name, ...rest) => test(`${name} [${store.name}]`, ...rest);
        define(store, named);
    }
}

// For what never reaches SQL: the page in a browser, a wire, a parser. Its rows come and go through the same API that other
// files test on both databases.
export const forOneStore = (define) => forEachStore(define, stores.slice(0, 1));

// A database of its own for this test, at this version's schema; { empty: true }: without any.
export async function fresh(t, store, options) {
    const folder = newFolder();
    const db = await store.fresh(folder, options);
    db.folder = folder;
    t.atEnd(async () => {
        await db.drop();
        fs.rmSync(folder, { recursive: true, force: true });
    });
    return db;
}

// A child that the test looks after itself; it is killed at the end if it still runs.
export function launch(t, db, options) {
    const server = new Server(db, options);
    t.servers.push(server);
    t.atEnd(async () => {
        if (!server.ended) await server.kill();
    });
    return server;
}

// A server that listens. At the end of the test it must stop by SIGTERM with code 0.
export async function start(t, store, options = {}) {
    const db = options.db ?? await fresh(t, store);
    const server = new Server(db, options);
    t.servers.push(server);
    t.atEnd(async () => {
        if (server.ended) return;
        const how = await server.stop();
        assert.deepEqual(how, { code: 0, signal: null }, `at the end:\n${server.tail()}`);
    });
    return server.listening();
}
