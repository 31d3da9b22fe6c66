// `ichido trigger`: what Stripe's command line triggers, for people who do not have it (G3).
import { spawn } from 'node:child_process';
import os from 'node:os';
import { record } from './lib/evidence.mjs';
import { assert, forEachStore, PROGRAM, programEnv, SECRET, start, test, until } from './lib/harness.mjs';
import { meet, open } from './lib/sandbox.mjs';

function trigger(args, env = {}) {
    const all = {
        ...programEnv, STRIPE_WEBHOOK_SECRET: SECRET, LANG: 'C', ...env,
    };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const child = spawn(PROGRAM, ['trigger', ...args], { cwd: os.tmpdir(), env: given, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
        child[name].setEncoding('utf8').on('data', (part) => {
            record(part);
            said[name] += part;
        });
    return new Promise((resolve) => { child.on('close', (code) => resolve({ ...said, code })); });
}

const at = (server) => ({ ICHIDO_SANDBOX_LISTEN: `127.0.0.1:${server.sandboxPort}` });
const LACKING = ['refund.created', 'refund.updated', 'refund.failed', 'charge.updated', 'charge.expired'];

forEachStore((store, test) => {
    test('G3 ichido trigger brings every event of its list about, and the server decides each', async (t) => {
        const { server, stripe } = await meet(await start(t, store));
        const names = JSON.parse((await trigger(['--list', '--json'])).stdout);
        assert.equal(names.length, 25);
        for (const name of LACKING) assert.ok(names.includes(name), name);
        for (const name of names) {
            const { code, stdout, stderr } = await trigger([name, '--json'], at(server));
            assert.equal(code, 0, `${name}: ${stdout}${stderr}`);
            const told = JSON.parse(stdout);
            assert.equal(told.ok, true);
            const event = told.events.find((one) => one.type === name);
            assert.equal((await stripe.events.retrieve(event.id)).type, name);
            if (name !== 'payment_intent.created') // which the server has no use for
                assert.equal((await server.settled(event.id)).outcome, 'ignored', name);
        }
        assert.deepEqual(await server.db.dead(), []);
    });
});

test('G3 ichido trigger says what came out of it and what to look at, in English and Japanese', async (t) => {
    const { server } = await open(t);
    const english = await trigger(['charge.refunded'], at(server));
    assert.equal(english.code, 0, english.stderr);
    assert.match(english.stdout, /^charge\.refunded: a charge is refunded\nevents, the oldest first:\n {2}evt_\w+ {2}payment_intent\.created\n/);
    assert.match(english.stdout, /evt_\w+ {2}refund\.created\n {2}evt_\w+ {2}charge\.refunded/);
    assert.match(english.stdout, /\/api\/v1\/admin\/events\?type=charge\.refunded/);
    assert.match(english.stdout, /_sandbox\/events\/evt_\w+\/resend/);
    const japanese = await trigger(['charge.refunded', '--api-base', `http://127.0.0.1:${server.sandboxPort}`], { LANG: 'ja_JP.UTF-8' });
    assert.equal(japanese.code, 0, japanese.stderr);
    assert.match(japanese.stdout, /課金が返金される\n発生したイベント/);
    assert.match((await trigger(['--list'])).stdout, /refund\.failed +a refund comes back/);
    assert.match((await trigger(['--help'], { LANG: 'ja_JP.UTF-8' })).stdout, /使い方/);
});

test('G3 ichido trigger refuses what it cannot do, with a code and a way on', async (t) => {
    const { server, control } = await open(t);
    const rows = [
        [['payment_intent.suceeded'], {}, 2, /did you mean payment_intent\.succeeded\?/],
        [['refund'], {}, 2, /did you mean \S*refund/],
        [['zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz'], {}, 2, /--list/],
        [['x'.repeat(5000)], {}, 2, /--list/],
        [[], {}, 2, /name an event/],
        [['charge.failed', 'charge.failed'], {}, 2, /not understood/],
        [['charge.failed', '--jsno'], {}, 2, /--jsno/],
        [['charge.failed', '--api-base', 'http://example.com:80'], {}, 2, /this machine/],
        [['charge.failed', '--api-base', 'https://api.stripe.com'], {}, 2, /this machine/],
        [['charge.failed', '--api-base', 'http://127.0.0.1:1@example.com:80'], {}, 2, /this machine/],
        [['charge.failed', '--api-base', 'http://127.0.0.1:1'], {}, 1, /is the server running/],
        [['charge.failed', '--api-base', `http://127.0.0.1:${server.port}`], {}, 1, /sandbox/],
        [['charge.failed'], { STRIPE_API_KEY: 'sk_live_0123456789abcdef' }, 2, /live key/],
        [['charge.failed'], { STRIPE_API_KEY: 'rk_live_0123456789abcdef' }, 2, /live key/],
    ];
    for (const [args, env, code, words] of rows) {
        const got = await trigger(args, { ...at(server), ...env });
        assert.equal(got.code, code, `${args} ${got.stdout}${got.stderr}`);
        assert.match(got.stderr, words);
        assert.equal(got.stdout, '');
    }
    assert.deepEqual(await control.events(), []);
});

test('G3 ichido trigger ends with 1 where the sandbox has a bad day', async (t) => {
    const { server, control } = await open(t);
    await control.fault({ path: '/v1/payment_intents', method: 'POST', statusBefore: 500 });
    const broken = await trigger(['charge.succeeded', '--json'], at(server));
    assert.equal(broken.code, 1);
    assert.equal(JSON.parse(broken.stdout).ok, false);
    assert.match(broken.stderr, /POST \/v1\/payment_intents: 500/);
    await control.fault({ path: '/v1/payment_intents', method: 'POST', dropBefore: true });
    assert.equal((await trigger(['charge.succeeded'], at(server))).code, 1);
    await until('it is well again', async () => (await trigger(['charge.succeeded'], at(server))).code === 0);
});
