// The command line as a whole: what help lists is in the manual page and is completed, and each command says what it
// takes and refuses what it does not know.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { assert, newFolder, PROGRAM, programEnv, test } from './lib/harness.mjs';

const run = promisify(execFile);
const here = path.dirname(fileURLToPath(import.meta.url));
const ichido = (...args) => run(PROGRAM, args, { env: programEnv, cwd: newFolder() })
    .then((r) => ({ code: 0, ...r }), (e) => e);
const commands = async () => [...(await ichido('help')).stdout.matchAll(/^ {2}([a-z]+) /gm)].map((m) => m[1]);

async function completed(...words) {
    const script = `PATH=${path.dirname(PROGRAM)}:$PATH; . <(ichido completion bash); COMP_WORDS=("$@"); `
        + 'COMP_CWORD=$(($# - 1)); _ichido; printf "%s\\n" "${COMPREPLY[@]}"';
    const { stdout } = await run('bash', ['-c', script, 'bash', ...words], { env: programEnv });
    return stdout.split('\n').filter(Boolean);
}

test('O8 every command of ichido help is in the manual page and is completed', async () => {
    const page = fs.readFileSync(path.join(here, '../../docs/ichido.1'), 'utf8').replaceAll('\\-', '-');
    const all = await commands();
    assert.ok(all.length > 8);
    for (const command of all) assert.match(page, new RegExp(`^\\.BR? ${command}|^\\.BR .*" ${command}$`, 'm'), command);
    assert.deepEqual((await completed('ichido', '')).sort(), all.sort());
    const named = [...page.matchAll(/^\.TP\n\.B ([a-z]+)$/gm)].map((m) => m[1]);
    for (const command of named) assert.ok(all.includes(command), `${command} is in the page alone`);
});

test('O8 verbs and options are completed from the command\'s own help', async () => {
    const all = await completed('ichido', 'dlq', '');
    for (const word of ['list', 'show', 'retry', 'delete', '--kind', '--dry-run']) assert.ok(all.includes(word), word);
    assert.deepEqual(await completed('ichido', 'completion', ''), ['bash', 'zsh']);
    assert.deepEqual(await completed('ichido', 'serve', ''), []);
});

test('O8 each command has its help, and says 2 to what it cannot read', async () => {
    for (const command of await commands()) {
        const help = await ichido(command, '--help');
        assert.equal(help.code, 0, command);
        assert.match(help.stdout + help.stderr, /usage|使い方/, command);
        assert.equal((await ichido(command, '--no-such-option')).code, 2, command);
    }
});
