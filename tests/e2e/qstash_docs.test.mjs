// What is written about the QStash API is so: the description has the routes of the door and examples that fit, and
// the blocks of docs/qstash.md and its Japanese twin run as they stand, but for the ports (Q9 T3).
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { assert, newFolder, PROGRAM, start, stores, test } from './lib/harness.mjs';
import { qstash } from './lib/openapi.mjs';
import { freePort } from './lib/ports.mjs';
import { receive, sdk } from './lib/receiver.mjs';
import { ADMIN_TOKEN } from './lib/tokens.mjs';

const run = promisify(execFile);
const store = stores[0];
const read = (where) => fs.readFileSync(new URL(`../../${where}`, import.meta.url), 'utf8');
const pages = ['qstash.md', 'qstash.ja.md'].map((name) => ({ name, text: read(`docs/${name}`) }));
const blocks = (text, language) => [...text.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map((m) => m[1]);

function folderOf(t) {
    const folder = newFolder();
    t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
    return folder;
}

// --- the description ---

test('Q9 api/qstash.openapi.yaml has the routes of the door, and no others', () => {
    const rows = [...read('src/qstash/endpoint.c').matchAll(/\{ "([A-Z]+)", "([^"]+)", qstash_\w+ \}/g)];
    const described = qstash.operations.map(({ method, template, operation }) => {
        const item = qstash.whole.paths[template];
        const wide = [...(item.parameters ?? []), ...(operation.parameters ?? [])].filter((one) => one['x-slashes']);
        const shape = template.replaceAll(/\{([^}]+)\}/g, (_, name) => (wide.some((one) => one.name === name) ? '*' : '{}'));
        return `${method.toUpperCase()} ${shape.replace('/v2/', '')}`;
    });
    assert.ok(rows.length > 40);
    assert.deepEqual(described.sort(), rows.map(([, method, shape]) => `${method} ${shape}`).sort());
});

test('Q9 every example of api/qstash.openapi.yaml fits its schema', () => {
    let count = 0;
    const visit = (node, pointer) => {
        if (node === null || typeof node !== 'object') return;
        const fits = (schema, value) => {
            qstash.fits(schema, value);
            count++;
        };
        if (node.schema && node.example !== undefined) fits(`${pointer}/schema`, node.example);
        if (node.schema && node.examples) for (const one of Object.values(node.examples)) fits(`${pointer}/schema`, one.value);
        if (!node.schema && Array.isArray(node.examples)) for (const one of node.examples) fits(pointer, one);
        for (const [key, value] of Object.entries(node))
            if (!/^examples?$/.test(key)) visit(value, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
    };
    visit(qstash.whole.paths, '/paths');
    visit(qstash.whole.components, '/components');
    assert.ok(count > 20, `${count}`);
});

test('Q9 callbacks are what api/qstash.openapi.yaml says', async (t) => {
    const server = await start(t, store);
    const got = await receive(t, ({ path: where }) => (where === '/in' ? [489, { 'Upstash-NonRetryable-Error': 'true' }] : 200));
    await sdk(server).publishJSON({ url: `${got.url}/in`, body: { n: 1 }, callback: `${got.url}/each`, failureCallback: `${got.url}/dead` });
    await got.came(3);
    const told = Object.fromEntries(got.map((one) => [one.path, JSON.parse(one.text)]));
    for (const where of ['/each', '/dead']) qstash.fits('/components/schemas/CallbackBody', told[where]);
    assert.deepEqual([told['/each'].dlqId, typeof told['/dead'].dlqId], [undefined, 'string']);
});

// --- the guide ---

for (const { name, text } of pages) {
    test(`Q9 ${name}: the lines to paste do what they say`, async (t) => {
        const server = await start(t, store);
        const bin = folderOf(t);
        fs.symlinkSync(PROGRAM, path.join(bin, 'ichido'));
        const lines = blocks(text, 'bash').join('\n').replaceAll('127.0.0.1:8787', `127.0.0.1:${server.port}`);
        const env = { PATH: `${bin}:${process.env.PATH}`, ICHIDO_DB: server.db.url, ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN };
        const { stdout } = await run('bash', ['-euc', lines], { env, cwd: bin });
        const said = stdout.trim().split('\n');
        assert.ok(!/"error":/.test(stdout.replaceAll(/"events":\[.*/g, '')), stdout);
        assert.match(said[2], /^\{"events":\[\{"time":\d+,"messageId":"msg_\w+","state":"DELIVERED","url":"[^"]+\/healthz"/);
        assert.match(said[3], /^\{"messages":\[\{"dlqId":.*\/nowhere".*"responseStatus":404/);
        assert.match(said[4], /^\{"responses":\[\{"messageId":"msg_/);
        assert.equal([...stdout.matchAll(/"deduplicated":true/g)].length, 1);
        assert.match(stdout, /"cron":"CRON_TZ=Asia\/Tokyo 0 9 \* \* 1-5".*"nextScheduleTime":\d+/);
        assert.match(stdout, /qstash\.deliver\t.*the destination answered 404/);
        assert.match(stdout, /1 dead letter would be retried/);
        assert.match(stdout, /1 of 1 dead letter deleted/);
    });

    test(`Q9 T3 ${name}: the SDK attaches in dev mode, publishes and verifies`, async (t) => {
        const server = await start(t, store);
        const folder = folderOf(t);
        fs.symlinkSync(new URL('./node_modules', import.meta.url).pathname, path.join(folder, 'node_modules'));
        fs.writeFileSync(path.join(folder, 'try.mjs'), blocks(text, 'js')[0].replaceAll('9000', await freePort()));
        const env = { PATH: process.env.PATH, QSTASH_DEV: '1', QSTASH_DEV_PORT: String(server.port) };
        const { stdout } = await run('node', ['try.mjs'], { env, cwd: folder, timeout: 30_000 });
        const [, published] = /^published (msg_\w+)$/m.exec(stdout);
        assert.equal(/^received (msg_\w+) \{"order":1\}$/m.exec(stdout)[1], published);
    });
}

test('Q9 both pages run the same code', () => {
    const bare = (code) => code.replaceAll(/\s*(\/\/|#) .*$/gm, '');
    for (const language of ['bash', 'js'])
        assert.deepEqual(blocks(pages[1].text, language).map(bare), blocks(pages[0].text, language).map(bare));
});
