// GET /metrics: the numbers of 004, of the goals and of the alerts, and what real scrapers and ops/ make of them
// (O2 O4 O5 O10).
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Collection, payOnPage } from './lib/collections.mjs';
import { captureThere, dashboard, eventOf, eventsOf, retold, silent, tell } from './lib/events.mjs';
import { assert, event, forEachStore, fresh, launch, newFolder, start, stores, test, until, uuid } from './lib/harness.mjs';
import { freePort } from './lib/ports.mjs';
import { bought, buy, campaign, quiet as allQuiet } from './lib/purchases.mjs';

const OPS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../ops');
const RULES = path.join(OPS, 'prometheus/rules.yml');
const INTENTS = '/v1/payment_intents';
const CREATE = { path: INTENTS, method: 'POST' };
const OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
const TEXT = 'text/plain; version=0.0.4; charset=utf-8';
// What Prometheus 2.42 sends.
const PROMETHEUS = 'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,'
    + 'text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

const scrape = async (server, accept) => {
    const answer = await server.request({ method: 'GET', path: '/metrics', headers: accept ? { Accept: accept } : {} });
    assert.equal(answer.status, 200, answer.text);
    return answer;
};
const total = (metrics, name) => [...metrics.values].filter(([series]) => series.replace(/\{.*/, '') === name)
    .reduce((sum, [, value]) => sum + value, 0);
const created = (metrics) => Object.fromEntries(['success', 'failed', 'gateway_error']
    .map((status) => [status, metrics.get('payment_create_total', { status })]));
const amount = (metrics, currency, status) => metrics.get('payment_amount_total', { currency, status });
const asked = (metrics, operation, status, gateway = 'sandbox') =>
    metrics.get('payment_gateway_request_total', { gateway, operation, status });
const seriesOf = (text) => text.split('\n').filter((line) => line && !line.startsWith('#'))
    .map((line) => line.slice(0, line.lastIndexOf(' ')));
const quiet = (server) => allQuiet(server, { fees: true });

forEachStore((store, test) => {
    test('O2 payment_create_total: success, failed and gateway_error, replays left out', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_GATEWAY_TIMEOUT_MS: '1000' } });
        assert.deepEqual(created(await server.metrics()), { success: 0, failed: 0, gateway_error: 0 });
        const booking = await server.booking();
        const key = uuid();
        assert.equal((await server.pay(booking, { key })).status, 201);
        for (let i = 0; i < 3; i++) assert.equal((await server.pay(booking, { key })).status, 200); // replays
        const pending = await server.paid({ paymentMethod: 'pm_card_authenticationRequired' });
        assert.equal(pending.status, 'PENDING');
        assert.deepEqual(created(await server.metrics()), { success: 2, failed: 0, gateway_error: 0 });

        assert.equal((await server.paid({ paymentMethod: 'pm_card_chargeDeclined' })).status, 'FAILED');
        assert.equal((await server.pay(booking, { amount: -1 })).status, 400);
        assert.equal((await server.pay(booking, { key, amount: 1300 })).status, 409); // the key with another content
        assert.equal((await server.pay(booking, { bearer: 'nonsense' })).status, 401);
        assert.equal((await server.pay(booking, { headers: { 'Content-Type': 'text/csv' } })).status, 415);
        assert.equal((await server.pay(booking)).status, 422); // paid already
        assert.deepEqual(created(await server.metrics()), { success: 2, failed: 6, gateway_error: 0 });

        await server.fault({ ...CREATE, statusBefore: 500, times: 3 });
        const failed = await server.booking();
        const again = uuid();
        assert.equal((await server.pay(failed, { key: again })).status, 502);
        await server.healed();
        assert.equal((await server.pay(failed, { key: again })).status, 201); // the same one goes on
        await server.webhooks({ on: false }); // or one of them answers for the call that hangs
        await server.fault({ ...CREATE, hangMs: 3000, times: 1 });
        assert.equal((await server.pay(await server.booking())).status, 504);
        const metrics = await server.metrics();
        assert.deepEqual(created(metrics), { success: 3, failed: 6, gateway_error: 2 });
        assert.equal(metrics.get('payment_idempotency_hit_total'), 3);
        for (const [status, n] of Object.entries(created(metrics)))
            assert.equal(metrics.get('payment_create_duration_seconds_count', { status }), n, status);
        assert.ok(metrics.get('payment_create_duration_seconds_sum', { status: 'gateway_error' }) >= 1);
        assert.equal(metrics.get('payment_create_duration_seconds_bucket', { status: 'gateway_error', le: '+Inf' }), 2);

        assert.equal(asked(metrics, 'authorize', 'ok'), 3);
        assert.equal(asked(metrics, 'authorize', 'declined'), 1);
        assert.equal(asked(metrics, 'authorize', 'uncertain') + asked(metrics, 'authorize', 'retry_later'), 1);
        assert.equal(asked(metrics, 'authorize', 'timeout'), 1);
        assert.equal(metrics.get('payment_gateway_duration_seconds_count', { gateway: 'sandbox', operation: 'authorize' }), 6);
        assert.equal(total(metrics, 'payment_gateway_duration_seconds_count'), total(metrics, 'payment_gateway_request_total'));
        assert.equal(total(metrics, 'ichido_idempotency_violation_total'), 0);
    });

    test('O2 payment_amount_total: each move once, by whoever it came, in minor units', async (t) => {
        const server = await start(t, store);
        assert.ok(!(await server.metrics()).text.includes('currency='), 'no currency before the first');
        const one = await server.paid(); // 1200 JPY; the sandbox's webhooks tell it all again
        let metrics = await server.metrics();
        assert.equal(amount(metrics, 'JPY', 'AUTHORIZED'), 1200);
        assert.equal(amount(metrics, 'JPY', 'CAPTURED'), 0);
        assert.equal((await server.capture(one, 700)).status, 200);
        const key = uuid();
        for (let i = 0; i < 2; i++) assert.equal((await server.refund(one, 200, { key })).status, 200);
        assert.equal((await server.refund(one, 50)).status, 200);
        const gone = await server.paid();
        assert.equal((await server.void(gone)).status, 200); // no money comes back: none was taken
        await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });

        const there = await server.paid({}, { amount: 1099, currency: 'USD' });
        await captureThere(server, there); // in the gateway's dashboard: only a webhook tells us
        await until('the webhook was applied', async () => (await server.payment(there)).body.status === 'CAPTURED');
        await quiet(server);
        metrics = await server.metrics();
        assert.deepEqual(['AUTHORIZED', 'CAPTURED', 'REFUNDED'].map((status) => amount(metrics, 'JPY', status)),
            [2400, 700, 250]);
        assert.deepEqual(['AUTHORIZED', 'CAPTURED', 'REFUNDED'].map((status) => amount(metrics, 'USD', status)),
            [1099, 1099, 0]);
        assert.equal(metrics.get('payment_idempotency_hit_total'), 1);
        assert.equal(asked(metrics, 'capture', 'ok'), 1);
        assert.equal(asked(metrics, 'refund', 'ok'), 2);
        assert.equal(total(metrics, 'ichido_idempotency_violation_total'), 0);
    });

    test('O2 a lost reply that the resolver finds out counts its money once', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ on: false });
        await server.fault({ ...CREATE, dropAfter: true, times: 10 });
        const booking = await server.booking();
        const problem = await server.pay(booking);
        assert.ok([502, 504].includes(problem.status), problem.text);
        assert.ok(!(await server.metrics()).text.includes('currency='));
        await server.healed();
        await until('it was asked for', async () => {
            await server.advance(60_000);
            return (await server.payment(problem.body.paymentId, booking.userId)).body.status === 'AUTHORIZED';
        });
        const metrics = await server.metrics();
        assert.equal(amount(metrics, 'JPY', 'AUTHORIZED'), 1200);
        assert.ok(asked(metrics, 'fetch', 'ok') >= 1);
        assert.deepEqual(created(metrics), { success: 0, failed: 0, gateway_error: 1 });
    });

    test('O2 what is bought and what is paid on a page are created payments, too', async (t) => {
        const server = await start(t, store);
        const { positions } = await campaign(server);
        await bought(server, positions[0]);
        assert.equal((await buy(server, positions[0])).status, 422); // it is taken
        const collection = await Collection.make(server);
        const { checkout } = await collection.session();
        assert.equal((await collection.checkout(collection.people[0], { body: { successUrl: 'nonsense' } })).status, 400);
        assert.deepEqual(created(await server.metrics()), { success: 2, failed: 2, gateway_error: 0 });
        await payOnPage(server, checkout);
        await until('it is paid', async () => (await collection.totals()).amountPaid === 3000);
        const metrics = await server.metrics();
        assert.equal(amount(metrics, 'JPY', 'CAPTURED'), 2000 + 3000);
        assert.equal(asked(metrics, 'checkout', 'ok'), 1);
    });

    test('O2 events that are applied together and fall apart count each money once', async (t) => {
        const server = await silent(t, store, { ICHIDO_FAULTS: 'apply:charge.expired=fail' });
        const all = [];
        for (let i = 0; i < 12; i++) all.push(await server.paid({}, { amount: 1000 + i }));
        for (const payment of all) await captureThere(server, payment);
        const told = (await eventsOf(server, all.map((one) => one.gatewayTransactionId), ['payment_intent.succeeded']))
            .map((one) => one['payment_intent.succeeded']);
        // Among them one that spoils the bulk it is in: all of it is rolled back, and each is run alone.
        const mixed = told.flatMap((one, i) => (i % 3 ? [one] : [one, event('charge.expired')]));
        const answers = await Promise.all(mixed.map((one) => server.deliver(one)));
        assert.ok(answers.every(({ status }) => status === 204));
        await Promise.all(mixed.map((one) => server.settled(one.id)));
        const metrics = await until('all of it is counted', async () => {
            const got = await server.metrics();
            return got.get('ichido_webhook_processing_total', { result: 'done' }) === 12 && got;
        });
        const sum = all.reduce((money, one) => money + one.amount, 0);
        assert.equal(amount(metrics, 'JPY', 'AUTHORIZED'), sum);
        assert.equal(amount(metrics, 'JPY', 'CAPTURED'), sum);
        assert.equal(metrics.get('ichido_webhook_processing_total', { result: 'dead' }), 4);
        assert.equal(metrics.get('ichido_queue_dead_letters_total'), 4);
    });

    test('O10 money on a second intent of one payment is a violation, counted once', async (t) => {
        const server = await silent(t, store);
        const payment = await server.captured();
        const own = await eventOf(server, payment, 'payment_intent.succeeded');
        const second = await dashboard(server, '/payment_intents', {
            amount: payment.amount, currency: 'jpy', confirm: 'true', payment_method: 'pm_card_visa',
            'metadata[payment_id]': payment.id, return_url: 'https://example.com/back',
        });
        await tell(server, own);
        for (let i = 0; i < 3; i++) {
            const [one] = await eventsOf(server, [second.id], ['payment_intent.succeeded']);
            await tell(server, retold(one['payment_intent.succeeded']));
        }
        const metrics = await server.metrics();
        assert.equal(metrics.get('ichido_idempotency_violation_total', { kind: 'second_payment' }), 1);
        assert.equal(amount(metrics, 'JPY', 'CAPTURED'), payment.amount);
    });

    test('O2 O10 with ICHIDO_REFETCH=on an event is done when the gateway was asked, and its time begins at reception', async (t) => {
        const server = await silent(t, store, { ICHIDO_REFETCH: 'on' });
        const payment = await server.paid();
        await captureThere(server, payment);
        const told = await eventOf(server, payment, 'payment_intent.succeeded');
        await server.fault({ path: `${INTENTS}/*`, method: 'GET', statusBefore: 500, times: 3 });
        await server.deliver(told);
        const counts = async () => {
            const metrics = await server.metrics();
            return [...['done', 'retried', 'dead'].map((result) => metrics.get('ichido_webhook_processing_total', { result })),
                metrics.get('ichido_webhook_end_to_end_seconds_count'),
                Math.floor(metrics.get('ichido_webhook_end_to_end_seconds_sum') / 60)].join();
        };
        await until('it was asked in vain', async () => (await counts()) === '0,1,0,0,0');
        await server.advance(120_000);
        await server.settled(told.id);
        await until('it is done, after two minutes', async () => (await counts()) === '1,1,0,1,2');
    });

    test('O2 O10 processing, dead letters in and how old: each way in counts', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_FAULTS: 'apply:charge.failed=fail,apply:charge.expired=retry@1' } });
        await server.deliver(event('charge.failed')); // dead at once
        await until('it is dead', async () => (await server.db.dead()).length === 1);
        await server.advance(7_200_000);
        const healed = event('charge.expired');
        await server.deliver(healed); // fails once
        await server.line('it failed once', (l) => l.message === 'Webhook processing failed' && l.eventId === healed.id);
        await server.advance(2000);
        await server.settled(healed.id);
        await server.deliver({ ...event('charge.failed'), data: 'none' }); // unreadable: dead at the door
        await until('both are dead', async () => (await server.db.dead()).length === 2);
        const metrics = await until('all is counted', async () => {
            const got = await server.metrics();
            return got.get('ichido_webhook_processing_total', { result: 'done' }) === 1 && got;
        });
        assert.equal(metrics.get('ichido_webhook_processing_total', { result: 'retried' }), 1);
        assert.equal(metrics.get('ichido_webhook_processing_total', { result: 'dead' }), 2);
        assert.equal(metrics.get('ichido_queue_dead_letters_total'), 2);
        assert.equal(metrics.get('ichido_queue_dead'), 2);
        const age = metrics.get('ichido_queue_dead_oldest_seconds');
        assert.ok(age >= 7200 && age < 7300, `${age}`);
        assert.equal(metrics.get('ichido_webhook_received_total'), 3);
        assert.equal(metrics.get('ichido_webhook_ack_seconds_count'), 3);
    });

    test('O10 a key of ours with another content at the gateway is an alarm', async (t) => {
        const gateway = http.createServer((request, response) => {
            request.resume();
            response.writeHead(400, { 'Content-Type': 'application/json' })
                .end(JSON.stringify({ error: { type: 'idempotency_error', message: 'Keys can only be used with the same parameters.' } }));
        });
        await new Promise((resolve) => { gateway.listen(0, '127.0.0.1', resolve); });
        t.atEnd(() => new Promise((resolve) => { gateway.close(resolve); gateway.closeAllConnections(); }));
        const server = await start(t, store, { env: {
            ICHIDO_SANDBOX_LISTEN: 'off', STRIPE_API_BASE: `http://127.0.0.1:${gateway.address().port}`,
        } });
        const answer = await server.pay(await server.booking());
        assert.equal(answer.status, 502, answer.text);
        const metrics = await server.metrics();
        assert.equal(metrics.get('ichido_idempotency_violation_total', { kind: 'gateway_key' }), 1);
        assert.equal(asked(metrics, 'authorize', 'uncertain'), 1);
    });

    test('O2 numbers begin at zero with each start, and the start is told', async (t) => {
        const db = await fresh(t, store);
        const first = await launch(t, db).listening();
        await first.paid();
        assert.equal((await first.metrics()).get('payment_create_total', { status: 'success' }), 1);
        await first.kill();
        const second = await start(t, store, { db });
        const metrics = await second.metrics();
        assert.equal(metrics.get('payment_create_total', { status: 'success' }), 0);
        const began = metrics.get('process_start_time_seconds');
        assert.ok(Math.abs(began - Date.now() / 1000) < 120, `${began}`);
        assert.match(metrics.text, /^ichido_build_info\{version="\d+\.\d+\.\d+"\} 1$/m);
    });
});

// --- the formats ---

const run = (command, args, input) => new Promise((resolve) => {
    const child = execFile(command, args, { maxBuffer: 1 << 24 }, (error, stdout, stderr) =>
        resolve({ code: error ? error.code : 0, text: stdout + stderr }));
    child.stdin.end(input ?? '');
});
const passes = async (command, args, input) => {
    const { code, text } = await run(command, args, input);
    assert.equal(code, 0, `${command} ${args.join(' ')}\n${text}`);
    return text;
};
// Debian's own Python has python3-prometheus-client.
const STRICT = `
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
for family in parse(sys.stdin.read()):
    assert family.documentation, family.name
    print(family.name, family.type, len(family.samples))
`;

// A server on which every kind of number has moved.
async function busy(t) {
    const server = await start(t, stores[0]);
    const payment = await server.captured();
    await server.refund(payment, 100);
    await server.paid({ paymentMethod: 'pm_card_chargeDeclined' });
    await server.pay(await server.booking(), { amount: -1 });
    await server.deliver(event('charge.failed'));
    return server;
}

test('O2 the format is the one that weighs most in Accept', async (t) => {
    const server = await start(t, stores[0]);
    const rows = [
        [undefined, TEXT], ['*/*', TEXT], ['text/plain', TEXT], ['application/json', TEXT], [PROMETHEUS, OPENMETRICS],
        [`application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,${PROMETHEUS}`, OPENMETRICS],
        ['application/openmetrics-text', OPENMETRICS], ['APPLICATION/OpenMetrics-Text; Version=1.0.0', OPENMETRICS],
        ['application/openmetrics-text;q=0.2,text/plain;q=0.9', TEXT],
        ['application/openmetrics-text;q=0.9, text/plain;q=0.2', OPENMETRICS],
        ['application/openmetrics-text;q=0.50,text/plain;q=0.5', OPENMETRICS],
        ['application/openmetrics-text;q=0', TEXT], ['application/openmetrics-text;version=0.0.1', TEXT],
        ['text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=0.0.1;q=0.75', TEXT],
        [',;,;q=,application/openmetrics-text;q=;=;', OPENMETRICS], ['a'.repeat(4000), TEXT],
    ];
    for (const [accept, wanted] of rows) {
        const { headers, text } = await scrape(server, accept);
        assert.equal(headers['content-type'], wanted, accept);
        assert.equal(text.endsWith('# EOF\n'), wanted === OPENMETRICS);
    }
});

test('O2 O5 promtool, a strict parser and our own eyes find nothing wrong in either format', async (t) => {
    const server = await busy(t);
    const { text } = await scrape(server);
    const open = await scrape(server, PROMETHEUS);
    await passes('promtool', ['check', 'metrics'], text);
    const families = await passes('/usr/bin/python3', ['-c', STRICT], open.text);
    for (const family of ['payment_create counter', 'payment_create_duration_seconds histogram', 'payment_idempotency_hit counter',
        'payment_gateway_request counter', 'payment_gateway_duration_seconds histogram', 'payment_amount counter',
        'ichido_webhook_ack_seconds histogram', 'ichido_queue_dead_oldest_seconds gauge', 'ichido_build_info gauge'])
        assert.match(families, new RegExp(`^${family} `, 'm'));
    for (const one of [text, open.text]) {
        const series = seriesOf(one);
        assert.deepEqual(series.filter((name, i) => series.indexOf(name) !== i), [], 'series that are there twice');
        assert.ok(!one.includes('\r') && !/^$/m.test(one.slice(0, -1)), 'a blank line');
    }
    const timeless = (all) => seriesOf(all).sort();
    assert.deepEqual(timeless(open.text), timeless(text), 'both formats name the same series');
    assert.ok(text.length < 200_000, `${text.length} bytes`);
});

test('O2 many scrapes at once are all answered, whole', async (t) => {
    const server = await busy(t);
    const all = await Promise.all(Array.from({ length: 60 }, (_, i) => scrape(server, i % 2 ? PROMETHEUS : undefined)));
    for (const { text } of all) {
        const lines = text.trimEnd().split('\n');
        const buckets = lines.filter((line) => line.startsWith('ichido_store_commit_seconds_bucket')).map((line) => Number(line.split(' ')[1]));
        assert.deepEqual(buckets, [...buckets].sort((a, b) => a - b));
        assert.ok(lines.includes(`ichido_store_commit_seconds_count ${buckets.at(-1)}`));
    }
});

// --- ops/ ---

// Names of series in PromQL, and those that it records itself.
const namesIn = (expr) => expr.match(/\b(?:ichido|payment|process)_[a-z_]+\b/g) ?? [];
const recordedIn = (expr) => expr.match(/\bichido:[a-z0-9_:]+/g) ?? [];
const panelsOf = ({ panels }) => panels.flatMap((one) => [one, ...(one.panels ?? [])]);

test('O4 O5 the rules are right by promtool, and by their own tests', async () => {
    await passes('promtool', ['check', 'rules', RULES]);
    await passes('promtool', ['check', 'config', path.join(OPS, 'prometheus/prometheus.yml')]);
    await passes('promtool', ['test', 'rules', path.join(OPS, 'prometheus/rules_test.yml')]);
    const text = fs.readFileSync(RULES, 'utf8');
    const tested = fs.readFileSync(path.join(OPS, 'prometheus/rules_test.yml'), 'utf8');
    const alerts = [...text.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    assert.deepEqual(alerts, ['IchidoDeadLetters', 'IchidoDeadLettersOld', 'IchidoWebhookFailureRate', 'IchidoWebhookSlow',
        'IchidoSignatureFailures', 'IchidoPublishFailures', 'IchidoWorkerErrors', 'IchidoEndToEndSlow', 'IchidoUnknownOutcome',
        'IchidoIdempotencyViolation', 'IchidoDown']);
    for (const name of alerts) assert.match(tested, new RegExp(`alertname: ${name}\\n +exp_alerts:\\n`), `${name} is seen firing`);
});

test('O5 every series that the rules and the dashboard name is there', async (t) => {
    const server = await busy(t);
    const { text } = await scrape(server);
    const there = new Set(seriesOf(text).map((series) => series.replace(/\{.*/, '')));
    const rules = fs.readFileSync(RULES, 'utf8').replace(/^ *#.*$/gm, '').replace(/^ +(?:action|summary\w*): .*$/gm, '');
    const board = JSON.parse(fs.readFileSync(path.join(OPS, 'grafana/ichido.json'), 'utf8'));
    const records = new Set([...rules.matchAll(/- record: (\S+)/g)].map(([, name]) => name));
    const exprs = panelsOf(board).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    assert.ok(exprs.length > 30);
    for (const text of [rules.replace(/ichido:[a-z0-9_:]+/g, ''), ...exprs.map((one) => one.replace(/ichido:[a-z0-9_:]+/g, ''))])
        for (const name of namesIn(text)) assert.ok(there.has(name), `${name} in ${text.slice(0, 200)}`);
    for (const text of [rules, ...exprs])
        for (const name of recordedIn(text)) assert.ok(records.has(name), `${name} in ${text.slice(0, 200)}`);
    const ids = panelsOf(board).map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    for (const panel of panelsOf(board).filter(({ type }) => type !== 'row'))
        assert.ok(panel.title && panel.targets.length && panel.targets.every(({ expr }) => expr), panel.title);
    const used = new Set([rules, ...exprs].flatMap(namesIn).map((name) => name.replace(/_(bucket|count|sum)$/, '')));
    for (const name of there) // every number has a place
        assert.ok(used.has(name.replace(/_(bucket|count|sum)$/, '')), `nobody shows ${name}`);
});

async function prometheus(t, server) {
    const folder = newFolder();
    const port = await freePort();
    fs.writeFileSync(path.join(folder, 'prometheus.yml'), JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: [RULES],
        scrape_configs: [{ job_name: 'ichido', static_configs: [{ targets: [`127.0.0.1:${server.port}`] }] }],
    }));
    const child = spawn('prometheus', [`--config.file=${path.join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${path.join(folder, 'data')}`, `--web.listen-address=127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (part) => { said += part; });
    const ended = new Promise((resolve) => { child.on('close', resolve); });
    t.atEnd(async () => {
        child.kill('SIGTERM');
        await ended;
        fs.rmSync(folder, { recursive: true, force: true });
    });
    const ask = async (at) => {
        const answer = await fetch(`http://127.0.0.1:${port}${at}`).catch(() => undefined);
        return answer?.ok ? answer.json().catch(() => ({})) : undefined;
    };
    await until(`Prometheus is ready\n${said}`, () => ask('/-/ready'), 60_000);
    return {
        ask,
        query: async (expr) => (await ask(`/api/v1/query?query=${encodeURIComponent(expr)}`)).data.result
            .map(({ metric, value }) => ({ ...metric, value: Number(value[1]) })),
    };
}

test('O2 O5 a real Prometheus scrapes us, holds our rules, and tells our numbers', async (t) => {
    const server = await busy(t);
    const it = await prometheus(t, server);
    const target = await until('a scrape', async () => {
        const [one] = (await it.ask('/api/v1/targets')).data.activeTargets;
        return one?.health !== 'unknown' && one;
    }, 60_000);
    assert.equal(target.lastError, '');
    assert.equal(target.health, 'up');
    await server.paid();
    await until('a second success is seen', async () =>
        (await it.query('payment_create_total{status="success"}'))[0]?.value === 2, 30_000);
    assert.equal((await it.query('payment_create_total{status="failed"}'))[0].value, 2);
    assert.equal((await it.query('sum(payment_amount_total{currency="JPY",status="REFUNDED"})'))[0].value, 100);
    assert.equal((await it.query('count(payment_create_duration_seconds_bucket{le="1.0"})'))[0].value, 3);
    const { data: { groups } } = await it.ask('/api/v1/rules');
    for (const { rules } of groups) for (const rule of rules) assert.notEqual(rule.health, 'err', `${rule.name}: ${rule.lastError}`);
    await until('a recorded series', async () => (await it.query('ichido:idempotency_violations:increase1d'))[0]?.value === 0, 60_000);
});
