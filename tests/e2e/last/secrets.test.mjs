// Runs after all other files: nothing that any server printed, answered or sent to those who watch it (lines,
// traces, numbers, errors) in the whole run may hold a secret, or a digest that only its owner could have made.
// What leaves the house by itself has no card and no mail address in it either.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { folder, outputFiles, secrets, toldFiles } from '../lib/evidence.mjs';
import { test } from '../lib/harness.mjs';

// grep looks for all that it is given in one pass, once on each core; thousands of secrets in a gigabyte take minutes otherwise.
function grep(options, files) {
    const { stdout, stderr } = spawnSync('xargs', ['-0', '-P', '2', '-n', '24', 'grep', '-a', ...options],
        { input: files.join('\0'), encoding: 'latin1', env: { ...process.env, LC_ALL: 'C' }, maxBuffer: 1 << 28 });
    assert.equal(stderr, '', 'grep');
    return stdout.split('\n').filter(Boolean);
}

function found(words, files) {
    const list = path.join(folder, 'words');
    fs.writeFileSync(list, `${[...words].join('\n')}\n`);
    return grep(['-FHo', '-m1', '-f', list], files);
}

test('A4 no secret and no right digest is in any line, answer or page of the whole run', () => {
    const known = secrets();
    const files = outputFiles();
    const bytes = files.reduce((sum, file) => sum + fs.statSync(file).size, 0);

    assert.ok(known.size > 20, `only ${known.size} secrets were remembered: is the harness broken?`);
    assert.ok(bytes > 10_000, `only ${bytes} bytes were recorded: is the harness broken?`);
    const bait = path.join(folder, 'output.bait');
    fs.writeFileSync(bait, `{"token":"${[...known].at(-1)}"}`);
    assert.equal(found(known, [bait]).length > 0, true, 'the search finds what it should');
    fs.rmSync(bait);
    assert.deepEqual(found(known, files).slice(0, 5), [], 'found a secret');
});

// Those of Stripe's test cards that the tests and the sandbox use, bare or in groups of four.
const CARDS = '(4242[ -]?4242[ -]?4242[ -]?4242|5555[ -]?5555[ -]?5555[ -]?4444|4000[ -]?0[0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}|378282246310005)';
// Our own words have no @ in them; example.com and the like are what tests write.
const ADDRESSES = '[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*\\.[A-Za-z]{2,}';

const matches = (pattern, files) => grep(['-HoEw', '-m50', pattern], files);

test('O1 A6 no card number and no mail address is in any line, trace, number or error report of the whole run', () => {
    const files = toldFiles();
    const all = files.reduce((sum, file) => sum + fs.statSync(file).size, 0);
    const some = (pattern) => assert.ok(matches(pattern, files).length > 0, `nothing with ${pattern} was recorded: is the harness broken?`);

    assert.ok(all > 10_000, `only ${all} bytes were recorded`);
    some('"level":"info"');
    some('# TYPE [a-z_]+');
    some('"resourceSpans"');
    some('"type":"event","length"');
    const bait = path.join(folder, 'told.bait');
    fs.writeFileSync(bait, '"4242 4242 4242 4242" to somebody@customer.example\n');
    assert.equal(matches(CARDS, [bait]).length, 1);
    assert.equal(matches(ADDRESSES, [bait]).length, 1);
    fs.rmSync(bait);
    assert.deepEqual(matches(CARDS, files).slice(0, 5), [], 'found a card');
    const others = matches(ADDRESSES, files).filter((one) => !one.endsWith(':payments@example.com')); // our own example
    assert.deepEqual(others.slice(0, 5), [], 'found an address');
});
