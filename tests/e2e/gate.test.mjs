// The gate itself: a machine on which the tests cannot run is told so in one clear line, before any of them does.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assert, newFolder, test } from './lib/harness.mjs';

const run = promisify(execFile);
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

// Runs a script of ours where some programs are replaced by others: {name: shell text}. PATH undefined: there are no others.
async function on(t, script, programs, env = {}) {
    const folder = newFolder();
    t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(programs))
        fs.writeFileSync(path.join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return run(path.join(root, script[0]), script.slice(1), {
        cwd: root, env: { ...process.env, ...env, PATH: 'PATH' in env ? folder : `${folder}:${process.env.PATH}` },
    }).then(({ stdout, stderr }) => ({ code: 0, stdout, stderr }), ({ code, stdout, stderr }) => ({ code, stdout, stderr }));
}

const refusals = [
    ...['v16.20.2', 'v18.18.2', 'v19.9.0', 'v20.9.0'].map((version) => [`Node ${version}`, { node: `echo ${version}` }, {},
        new RegExp(`^tests: Node is ${version}, too old: install 18\\.19 or later, or 20\\.10 or later\n$`)]),
    ['no Node', { node: 'exit 127' }, {}, /^tests: Node is missing: install nodejs 18\.19 or later, or 20\.10 or later .*\n$/],
    ['no PostgreSQL', {}, { POSTGRES_HOME: '/nowhere' }, /^tests: PostgreSQL is missing: apt-get install .*\n$/],
    ['a /tmp that is nearly full', { df: 'echo Avail; echo 12' }, {}, /^tests: \S+ has 12 MB left, the tests need 2048: free some, or set TMPDIR\n$/],
    ['a df that fails', { df: 'exit 1' }, {}, /^tests: df does not say how much room \S+ has: .*\n$/],
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

// Programs that cannot be found: a PATH that has only what the preflight itself needs.
for (const missing of ['psql', 'python3']) {
    test(`without ${missing}: one line that names it, and exit 2`, async (t) => {
        const programs = { node: 'echo v22.1.0' };
        for (const name of ['gcc', 'clang', 'clang-format', 'sqlite3', 'psql', 'chromium', 'openssl', 'python3', 'flock']) programs[name] = 'exit 0';
        for (const name of ['bash', 'dirname', 'ls', 'sort', 'tail', 'id', 'mktemp', 'rm', 'df'])
            programs[name] = `exec ${(await run('sh', ['-c', `command -v ${name}`])).stdout.trim()} "$@"`;
        delete programs[missing];
        const { code, stdout, stderr } = await on(t, ['tests/preflight'], programs, { PATH: undefined });
        assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: `tests: ${missing} is missing: make packages-test\n` });
    });
}

for (const version of ['v18.19.0', 'v20.10.0', 'v22.1.0']) {
    test(`Node ${version} is new enough`, async (t) => {
        assert.deepEqual(await on(t, ['tests/preflight'], { node: `echo ${version}` }), { code: 0, stdout: '', stderr: '' });
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

// --- green only for what ran and was good ---

// Test files as somebody might write them, run by tests/e2e/run. Node's runner calls the first three good.
const harness = path.join(root, 'tests/e2e/lib/harness.mjs');
const FILES = [
    ['a file without a test', `import '${harness}';`, {}, 1, /FAILED: no test of one\.test\.mjs passed$/m],
    ['a file that leaves before its last test', `import { assert, test } from '${harness}';
        test('good', () => {}); test('leaves', () => process.exit(0)); test('bad', () => assert.fail());`,
    {}, 1, /FAILED: 2 of 3 tests of .*one\.test\.mjs did not come to their end/],
    ['a pattern that no name fits', `import { test } from '${harness}'; test('good', () => {});`,
        { E2E_ONLY: '^W1 ' }, 1, /FAILED: no test of one\.test\.mjs passed, of those that fit E2E_ONLY=\^W1 $/m],
    ['a server that ends by itself', `import { start, stores, test } from '${harness}';
        test('good', async (t) => { process.kill((await start(t, stores[0])).pid, 'SIGABRT'); });`,
    {}, 1, /(pid \d+ ended by itself: .*SIGABRT|ERROR: AddressSanitizer: ABRT)/],
    ['a report on the standard error of a server', `import { launch, stores, test, fresh } from '${harness}';
        test('good', async (t) => launch(t, await fresh(t, stores[0]), {
            argv: ['sh', '-c', 'echo "x.c:1:2: runtime error: load of value 7" >&2; exit 1'] }).exit);`,
    {}, 1, /pid \d+: x\.c:1:2: runtime error: load of value 7/],
    ['a file whose tests were all skipped says so', `import { test } from '${harness}'; test('good', { skip: 'no such thing here' }, () => {});`,
        {}, 0, /﹣ good .* # no such thing here$[^]*^skipped: all 1 tests of one\.test\.mjs$/m],
    ['a good file', `import { test } from '${harness}'; test('good', () => {});`, {}, 0, /✔ good/],
];

// Nothing of the run that this test is part of: node's runner marks its children, and one that is marked runs no files.
const alone = Object.fromEntries(Object.keys(process.env).filter((name) => /^(E2E_|TEST_POSTGRES|ASAN_|UBSAN_|NODE_TEST_CONTEXT)/.test(name))
    .map((name) => [name, undefined]));

for (const [what, text, env, wanted, says] of FILES) {
    test(`tests/e2e/run: ${what}`, async (t) => {
        const folder = newFolder();
        t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
        const file = path.join(folder, 'one.test.mjs');
        fs.writeFileSync(file, text);
        const { code, stdout } = await on(t, ['tests/e2e/run', file], {}, { ...alone, STORES: 'sqlite', ...env });
        assert.equal(code, wanted, stdout);
        assert.match(stdout, says);
    });
}

test('tests/each: a list that cannot be read is not an empty one, and a program that was not run is missed', async (t) => {
    const { code, stdout } = await on(t, ['tests/each', '/bin/true'], { flock: 'exit 66' });
    assert.equal(code, 1);
    assert.match(stdout, /^FAILED: a lane of tests\/each could not take a program from its list$/m);
    assert.match(stdout, /^FAILED: 0 of 1 programs were run$/m);
});

test('tests/soak: the name of a test that failed is kept, whatever it ends in', async (t) => {
    const said = ['✔ good (1.5ms)', '✖ A6 a name (in brackets) (12.3ms)', '  ✖ P1 one below (3ms)', '✖ failing tests:', 'FAILED (134): build/asan/unit/test_x'];
    const script = `source <(sed -n '/^failures()/,/^}/p' tests/soak); failures <(printf '%s\\n' "$@")`;
    const { stdout } = await run('bash', ['-c', script, 'bash', ...said], { cwd: root });
    assert.deepEqual(stdout.split('\n').filter(Boolean).sort(), ['A6 a name (in brackets)', 'P1 one below', 'build/asan/unit/test_x']);
});
