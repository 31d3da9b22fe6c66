// The gate itself: a machine on which the tests cannot run is told so in one clear line, before any of them does.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assert, newFolder, test } from './lib/harness.mjs';

const run = promisify(execFile);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

// Runs a script of ours where some programs are replaced by others: {name: shell text}.
async function on(t, script, programs, env = {}) {
    const folder = newFolder();
    t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(programs))
        fs.writeFileSync(path.join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return run(path.join(root, script[0]), script.slice(1), {
        cwd: root, env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, ...env },
    }).then(({ stdout, stderr }) => ({ code: 0, stdout, stderr }), ({ code, stdout, stderr }) => ({ code, stdout, stderr }));
}

const refusals = [
    ['an old Node', { node: 'echo v16.20.2' }, {}, /^tests: Node is v16\.20\.2, too old: install 18 or later\n$/],
    ['no Node', { node: 'exit 127' }, {}, /^tests: Node is missing: install nodejs 18 or later .*\n$/],
    ['no PostgreSQL', {}, { POSTGRES_HOME: '/nowhere' }, /^tests: PostgreSQL is missing: apt-get install .*\n$/],
    ['a /tmp that is nearly full', { df: 'echo Avail; echo 12' }, {}, /^tests: \S+ has 12 MB left, the tests need 2048: free some, or set TMPDIR\n$/],
    ['a /tmp that cannot be written', {}, { TMPDIR: '/proc' }, /^tests: \/proc cannot be written to, or is full: .*\n$/],
    ['no free port', { python3: 'exit 1' }, {}, /^tests: no port of 127\.0\.0\.1 between .* is free for the tests' servers\n$/],
];

for (const [what, programs, env, line] of refusals) {
    test(`${what}: one line and exit 2 before any test runs`, async (t) => {
        for (const script of ['tests/run', 'tests/quick']) {
            const { code, stdout, stderr } = await on(t, [script], programs, env);
            assert.equal(code, 2, stderr);
            assert.match(stderr, line);
            assert.equal(stdout, '', 'nothing was run');
        }
    });
}

test('no network to install from: one line that names what is missing, and exit 2', async (t) => {
    const programs = {
        'dpkg-query': 'exit 1', sudo: 'exec "$@"', 'apt-get': 'echo "E: Could not resolve the host" >&2; exit 100',
    };
    const { code, stderr } = await on(t, ['tools/packages', 'build'], programs);
    assert.equal(code, 2);
    assert.match(stderr, /^packages: not installed: gcc .*; is the network there\? E: Could not resolve the host\n$/m);
});

test('a machine that has it all is let through without a word', async (t) => {
    assert.deepEqual(await on(t, ['tests/preflight'], {}), { code: 0, stdout: '', stderr: '' });
});
