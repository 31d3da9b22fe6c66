// The examples for client authors, taken out of docs/clients.md and its Japanese twin and run as they stand (P11).
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { assert, newFolder, start, stores, test, token, uuid } from './lib/harness.mjs';

const run = promisify(execFile);
const store = stores[0];

const pages = ['clients.md', 'clients.ja.md'].map((name) => ({
    name, text: fs.readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8'),
}));
const block = (text, language) => text.match(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's'))[1];

// What a reader would set in the shell.
const shell = (server, booking) => ({
    PATH: process.env.PATH, ICHIDO: `http://127.0.0.1:${server.port}`, TOKEN: token(booking.userId), BOOKING: booking.id,
});

async function runScript(t, text, env) {
    const folder = newFolder();
    t.atEnd(() => fs.rmSync(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'pay.mjs');
    fs.writeFileSync(file, text);
    return (await run('node', [file], { env })).stdout.trim();
}

for (const { name, text } of pages) {
    test(`P11 ${name}: the curl example pays once and gets the same answer again`, async (t) => {
        const server = await start(t, store);
        const booking = await server.booking({ amount: 1200 });
        const { stdout } = await run('bash', ['-euc', block(text, 'bash')], { env: shell(server, booking) });
        assert.deepEqual([...stdout.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map((m) => m[1]), ['201', '200']);
        assert.equal([...stdout.matchAll(/^Idempotent-Replayed: true/gm)].length, 1);
        const bodies = [...stdout.matchAll(/^\{.*\}/gm)].map((m) => m[0]);
        assert.equal(bodies.length, 2);
        assert.equal(bodies[0], bodies[1]);
        assert.equal((await server.intents()).length, 1);
    });

    test(`P11 ${name}: the JavaScript example pays and captures`, async (t) => {
        const server = await start(t, store);
        const booking = await server.booking({ amount: 1200 });
        assert.equal(await runScript(t, block(text, 'js'), shell(server, booking)), 'CAPTURED');
        assert.equal((await server.books()).totals.captured, 1200);
    });

    test(`P11 ${name}: the JavaScript example goes on through 502 with the same key, and is charged once`, async (t) => {
        const server = await start(t, store);
        await server.fault({ path: '/v1/payment_intents', method: 'POST', statusBefore: 500, times: 3 });
        const booking = await server.booking({ amount: 1200 });
        assert.equal(await runScript(t, block(text, 'js'), shell(server, booking)), 'CAPTURED');
        const { totals } = await server.books();
        assert.deepEqual([totals.intents, totals.captured], [1, 1200]);
    });
}

test('P11 the JavaScript example takes a new key after IDEMPOTENCY_CONFLICT, and only then', async (t) => {
    const server = await start(t, store);
    const booking = await server.booking({ amount: 1200 });
    const used = uuid();
    await server.pay(await server.booking({ userId: booking.userId }), { key: used });
    const js = block(pages[0].text, 'js').replace('let key = crypto.randomUUID()', `let key = '${used}'`);
    assert.equal(await runScript(t, js, shell(server, booking)), 'CAPTURED');
    const keys = await server.db.keys(`operation = 'CREATE'`);
    assert.equal(keys.length, 2);
});

test('P11 both pages run the same code', () => {
    const bare = (code) => code.replaceAll(/\s*(\/\/|#) .*$/gm, '').replaceAll(/new Error\(`[^`]*`\)/g, 'E');
    for (const language of ['bash', 'js'])
        assert.equal(bare(block(pages[1].text, language)), bare(block(pages[0].text, language)));
});
