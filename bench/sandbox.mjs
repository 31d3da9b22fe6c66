// sandbox.mjs - the rows of the pretend Stripe: how fast it answers simple calls, and how fast it tells of what happened.
import path from 'node:path';
import { sqliteStore } from '../tests/e2e/lib/stores.mjs';
import { until } from '../tests/e2e/lib/wait.mjs';
import { memory, row, runTool, SECONDS, sqliteRead, times, whole, withReceiver, withServer } from './kit.mjs';

const KEY = 'sk_test_bench_0123456789';
const GOAL = 5000;
const WEBHOOKS = 3000;
const PAYING = 'amount=1200&currency=jpy&confirm=true&payment_method=pm_card_visa&return_url=https%3A%2F%2Fexample.com';

const calls = (server, args) => runTool('loadgen',
    [server.sandboxPort, '--mode', 'call', '--bearer', KEY, '--seconds', SECONDS, '--count', 200_000, ...args]);

// --- calls ---

async function callRows() {
    await withServer(sqliteStore, { ICHIDO_SANDBOX_WEBHOOKS: 'off' }, async (server) => {
        await calls(server, ['--path', '/v1/payment_intents', '--form', PAYING, '--seconds', 0.1, '--connections', 1, '--count', 10]);
        const { data: [intent] } = await server.stripe('/payment_intents?limit=1');
        const rows = [
            ['sandbox: GET /v1/payment_intents/{id}', ['--path', `/v1/payment_intents/${intent.id}`], GOAL],
            ['sandbox: POST /v1/payment_methods', ['--path', '/v1/payment_methods', '--form', 'type=card&card[token]=tok_visa'], GOAL],
            ['sandbox: POST /v1/payment_intents, paid at once', ['--path', '/v1/payment_intents', '--form', PAYING]],
        ];
        for (const [what, args, goal] of rows) {
            const got = await calls(server, [...args, '--seed', Math.floor(Math.random() * 1e9)]);
            row(what, goal ? `>= ${whole(goal)} /s` : '', `${whole(got.rate)} /s, ${times(got)}`, goal && got.rate >= goal);
            if (got.failed) row('  answers other than 200', '0', `${whole(got.failed)} ${JSON.stringify(got.statuses ?? {})}`, false);
        }
        row('  memory then', '', `${memory(server).toFixed(0)} MB`);
    });
}

// --- webhooks ---

// All of them are written before the first is due, so that nothing else is measured.
async function webhookRows() {
    await withReceiver((receiver) => withServer(sqliteStore, { ICHIDO_TEST_CLOCK: 'on' }, async (server) => {
        await server.webhooks({ url: `http://127.0.0.1:${receiver.port}/hook`, delayMs: 120_000 });
        await calls(server, ['--path', '/v1/payment_intents', '--form', PAYING, '--seed', 1, '--seconds', 2 * SECONDS,
            '--count', 30_000]); // four events each: above 200,000 the oldest are forgotten, untold
        await until('the balances have been told of', async () => { // a job behind each charge adds one more event
            const file = path.join(server.db.folder, 'sandbox.db');
            return sqliteRead(file, "SELECT count(*) AS n FROM message WHERE kind <> 'sandbox.webhook' AND kind LIKE '%balance%'")[0].n === 0;
        }, 60_000);
        const [{ n }] = sqliteRead(path.join(server.db.folder, 'sandbox.db'), "SELECT count(*) AS n FROM message WHERE kind = 'sandbox.webhook'");
        await server.advance(130_000);
        await until('the first is there', async () => await receiver.count() > 0, 60_000);
        const began = Date.now();
        await until('all are there', async () => await receiver.count() >= n, 120_000);
        const seconds = (Date.now() - began) / 1000;
        const rate = n / seconds;
        row('sandbox: webhooks to a local receiver', `>= ${whole(WEBHOOKS)} /s`, `${whole(rate)} /s (${whole(n)} in ${seconds.toFixed(1)} s)`, rate >= WEBHOOKS);
        row('  delivered more than once', '0', whole(await receiver.count() - n), await receiver.count() === n);
    }));
}

export async function sandboxRows() {
    await callRows();
    await webhookRows();
}
