// Alerts (O4): each fires through a real cause and resolves when that is gone, told once to a real mail server, a signed
// webhook and the log, whatever crashes in between. Time is moved; a look is made each ten seconds of it.
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { startFull } from './lib/backlog.mjs';
import {
    assert, event, forEachStore, fresh, launch, start, test, until, uuid, WRONG_SECRET,
} from './lib/harness.mjs';
import { DLQ, dies, fill, orphan } from './lib/dlq.mjs';
import { remember } from './lib/evidence.mjs';
import { receive } from './lib/receiver.mjs';
import { Sentry } from './lib/sentry.mjs';
import { mailServer } from './lib/smtp.mjs';
import { stores } from './lib/stores.mjs';
import { FakeQStash } from './lib/upstash.mjs';

const SECRET = `whsec_${Buffer.from('ichido-e2e-alerts-secret-32-byte').toString('base64')}`;
remember(SECRET);
const TICK = 10_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const RULES = ['dlq_depth', 'dlq_age', 'webhook_failure_rate', 'webhook_latency_p95', 'signature_failures',
    'publish_failure_rate', 'worker_error_rate', 'end_to_end_p95', 'unknown_outcome'];

const alerts = async (server) => {
    const answer = await server.call('GET', '/api/v1/admin/alerts', { as: 'admin' });
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data;
};
const alert = async (server, name) => (await alerts(server)).find((one) => one.name === name);

// Time is moved until the rule stands so.
const becomes = (server, name, state, ms = TICK) => until(`${name} is ${state}`, async () => {
    const one = await alert(server, name);
    if (one.state !== state) await server.advance(ms);
    return one.state === state && one;
}, 60_000);

async function pass(server, ms, step = TICK) {
    for (let left = ms; left > 0; left -= step) {
        await server.advance(Math.min(step, left));
        await alerts(server); // the tick has had its turn at the loop
    }
}

const bodies = (got, name) => got.map(({ text }) => JSON.parse(text)).filter((one) => !name || one.name === name);
const states = (got, name) => bodies(got, name).map(({ state }) => state);
const lines = (server, message, name) => server.lines.filter((l) => l.message === message && l.alert === name);

async function everybody(t, store, { env = {}, answer, smtp = {} } = {}) {
    const mail = await mailServer(t, smtp);
    const hook = await receive(t, answer);
    const settings = {
        ICHIDO_SMTP_URL: mail.url, ICHIDO_MAIL_FROM: 'ichido@example.com', ICHIDO_ALERT_MAIL: 'ops@example.com, duty@example.com',
        ICHIDO_ALERT_WEBHOOK: `${hook.url}/alerts`, ICHIDO_ALERT_SECRET: SECRET, ICHIDO_LANGUAGE: 'en', ...env,
    };
    return { mail, hook, settings };
}

const forge = async (server, times) => {
    for (let i = 0; i < times; i++)
        assert.ok((await server.deliver(event(), { secret: WRONG_SECRET })).status >= 400);
};

forEachStore((store, test) => {
    test('O4 a dead letter is told by log, mail and a signed webhook, once; when it is gone that is told too', async (t) => {
        const { mail, hook, settings } = await everybody(t, store);
        const server = await start(t, store, { env: settings });
        assert.deepEqual((await alerts(server)).map(({ name, state }) => [name, state]), RULES.map((name) => [name, 'ok']));
        await dies(server, orphan());
        const firing = await becomes(server, 'dlq_depth', 'firing');
        assert.deepEqual([firing.value, firing.threshold, firing.unit, firing.scope, firing.node], [1, 0, 'messages', 'all', null]);
        assert.match(firing.summaryJa, /デッドレター/);
        await hook.came(1);
        const [first] = hook;
        new Webhook(SECRET).verify(first.text, first.headers);
        const told = JSON.parse(first.text);
        assert.deepEqual([told.name, told.state, told.value, told.threshold, told.node, told.again],
            ['dlq_depth', 'firing', 1, 0, null, false]);
        assert.equal(told.since, firing.since);
        assert.match(told.summary, /Dead letters/);
        assert.match(told.summaryJa, /残っています/);
        assert.match(told.whatNext, /ichido dlq list/);
        await mail.came(2);
        for (const address of ['ops@example.com', 'duty@example.com']) {
            const [one, second] = mail.to(address);
            assert.equal(second, undefined);
            assert.match(one.subject, /FIRING.*Dead letters/);
            assert.match(one.text, /What to do: .*ichido dlq list/);
            assert.match(one.text, /対応: /);
        }
        await server.line('it is in the log', (l) => l.message === 'Alert firing' && l.alert === 'dlq_depth' && l.level === 'error');
        await dies(server, orphan());
        await pass(server, 5 * MINUTE);
        assert.deepEqual(states(hook, 'dlq_depth'), ['firing'], 'a second letter is no second alert');
        const gone = await server.call('POST', `${DLQ}/delete`, { as: 'admin', body: { all: true } });
        assert.ok([200, 202].includes(gone.status), gone.text);
        await until('they are gone', async () => (await server.db.dead()).length === 0);
        await becomes(server, 'dlq_depth', 'ok');
        await until('it is told', () => states(hook, 'dlq_depth').length === 2);
        assert.deepEqual(states(hook, 'dlq_depth'), ['firing', 'resolved']);
        await server.line('and in the log', (l) => l.message === 'Alert resolved' && l.alert === 'dlq_depth' && l.level === 'info');
        await until('and by mail', () => mail.to('ops@example.com').filter((one) => /RESOLVED.*Dead letters/.test(one.subject)).length === 1);
        await pass(server, 5 * MINUTE);
        assert.equal(hook.filter(({ text }) => /dlq_depth/.test(text)).length, 2);
        assert.equal(new Set(hook.map(({ headers }) => headers['webhook-id'])).size, hook.length);
    });

    test('O4 a letter that nobody looks at for a day is an alert of its own; what goes on is told again after four hours', async (t) => {
        const { hook, settings } = await everybody(t, store);
        const server = await start(t, store, { env: settings });
        await dies(server, orphan());
        await becomes(server, 'dlq_depth', 'firing');
        await pass(server, 3 * HOUR, HOUR);
        assert.deepEqual(states(hook, 'dlq_depth'), ['firing']);
        await pass(server, HOUR + MINUTE, HOUR);
        await until('it is told again', () => states(hook, 'dlq_depth').length === 2);
        assert.deepEqual(bodies(hook, 'dlq_depth').map(({ state, again }) => [state, again]), [['firing', false], ['firing', true]]);
        assert.equal((await alert(server, 'dlq_age')).state, 'ok');
        const old = await becomes(server, 'dlq_age', 'firing', HOUR);
        assert.ok(old.value > 24, `${old.value} hours`);
        await until('it is told', () => states(hook, 'dlq_age').length === 1);
        await server.db.all('DELETE FROM dead_letters');
        await becomes(server, 'dlq_age', 'ok', MINUTE);
        await until('and its end', () => states(hook, 'dlq_age').at(-1) === 'resolved');
    });

    test('O4 ten bad signatures a minute are noise, eleven an alert; a minute later it is over', async (t) => {
        const { hook, settings } = await everybody(t, store);
        const server = await start(t, store, { env: settings });
        await forge(server, 10);
        await pass(server, 2 * TICK);
        const quiet = await until('it was counted', async () => {
            const one = await alert(server, 'signature_failures');
            return one.value === 10 && one;
        });
        assert.equal(quiet.state, 'ok');
        await pass(server, 2 * MINUTE);
        await forge(server, 11);
        const firing = await becomes(server, 'signature_failures', 'firing');
        assert.deepEqual([firing.value, firing.scope], [11, 'node']);
        assert.match(firing.node, /^[0-9a-f-]{36}$/);
        await hook.came(1);
        assert.equal(bodies(hook)[0].node, firing.node);
        await becomes(server, 'signature_failures', 'ok');
        await until('that is told', () => states(hook).length === 2);
        assert.deepEqual(states(hook), ['firing', 'resolved']);
        assert.equal(await server.db.count('alerts'), 0, 'a node keeps no row of what is well');
    });

    test('O4 Sentry hears of an alert and of its end, once each; the lines of the log do not go there too', async (t) => {
        const sentry = await Sentry.open(t);
        const server = await start(t, store, { env: { SENTRY_DSN: sentry.dsn } });
        await forge(server, 11);
        await becomes(server, 'signature_failures', 'firing');
        await becomes(server, 'signature_failures', 'ok');
        const ours = () => sentry.events.filter((one) => /^alert-/.test(one.fingerprint?.[0]) || /Alert/.test(JSON.stringify(one)));
        await until('both are there', () => ours().length >= 2);
        await pass(server, MINUTE);
        assert.deepEqual(ours().map(({ level, fingerprint }) => [level, fingerprint]),
            [['error', ['alert-signature_failures-firing']], ['info', ['alert-signature_failures-resolved']]]);
        assert.equal(ours()[0].tags.alert, 'signature_failures');
    });

    test('O4 failing events are two alerts: of the tries, and of what was given up; few of them are none', async (t) => {
        const { hook, settings } = await everybody(t, store);
        const server = await start(t, store, { env: settings });
        const go = async (events) => {
            for (const one of events) assert.equal((await server.deliver(one)).status, 204);
            for (const one of events) await server.settled(one.id);
        };
        const good = Array.from({ length: 25 }, () => event('charge.failed'));
        await go(good.slice(0, 2));
        await dies(server, orphan());
        await pass(server, 2 * MINUTE);
        for (const name of ['worker_error_rate', 'webhook_failure_rate'])
            assert.deepEqual([(await alert(server, name)).value, (await alert(server, name)).state], [0, 'ok'], `${name}: one of three events`);
        await go(good.slice(2));
        for (let i = 0; i < 2; i++) await dies(server, orphan());
        const pending = await becomes(server, 'webhook_failure_rate', 'pending');
        assert.ok(pending.value > 1 && pending.value < 50, `${pending.value} %`);
        await becomes(server, 'webhook_failure_rate', 'firing');
        await becomes(server, 'worker_error_rate', 'firing');
        await until('both are told', () => states(hook, 'worker_error_rate').length && states(hook, 'webhook_failure_rate').length);
        await becomes(server, 'webhook_failure_rate', 'ok');
        await becomes(server, 'worker_error_rate', 'ok');
        await until('and both ends', () => states(hook, 'worker_error_rate').length === 2 && states(hook, 'webhook_failure_rate').length === 2);
    });

    test('O4 three events, and all of them fail: few, but nothing goes well', async (t) => {
        const { hook, settings } = await everybody(t, store);
        const server = await start(t, store, { env: settings });
        for (let i = 0; i < 3; i++) await dies(server, orphan());
        for (const name of ['webhook_failure_rate', 'worker_error_rate']) {
            assert.equal((await becomes(server, name, 'firing')).value, 100);
            await until(`${name} is told`, () => states(hook, name).length === 1);
        }
    });

    test('O4 webhooks that are refused for now are a line, once a minute, with how many there were', async (t) => {
        const server = await startFull(t, store);
        const refused = () => server.lines.filter(({ message }) => message === 'Webhook could not be stored')
            .map(({ level, code, count }) => [level, code, count]);
        for (let i = 0; i < 5; i++) assert.equal((await server.deliver(event())).status, 503);
        await until('the first is told', () => refused().length);
        assert.deepEqual(refused(), [['warn', 'BACKLOG_FULL', 1]]);
        await server.advance(MINUTE);
        assert.equal((await server.deliver(event())).status, 503);
        await until('so is the first of the next minute', () => refused().length === 2);
        assert.deepEqual(refused()[1], ['warn', 'BACKLOG_FULL', 5]);
    });

    test('O4 events that wait too long for their turn are an alert', async (t) => {
        const { hook, settings } = await everybody(t, store);
        const server = await start(t, store, { env: settings });
        const first = orphan(); // its lane waits behind it
        assert.equal((await server.deliver(first)).status, 204);
        const others = Array.from({ length: 25 }, () => {
            const one = event('invoice.paid'); // that nobody handles, of the same payment
            one.data.object.metadata = first.data.object.metadata;
            return one;
        });
        for (const one of others) assert.equal((await server.deliver(one)).status, 204);
        await server.advance(15_000);
        await until('all are done', async () => {
            await server.advance(2000);
            return (await server.db.outcomes()).length === 26;
        }, 30_000);
        const firing = await becomes(server, 'end_to_end_p95', 'firing');
        assert.ok(firing.value > 10, `${firing.value} s`);
        await becomes(server, 'end_to_end_p95', 'ok');
        await until('told twice', () => states(hook, 'end_to_end_p95').length === 2);
    });

    test('O4 Q6 letters that an operator retries in bulk are no slow events: nobody waited for them since they came', async (t) => {
        const { hook, settings } = await everybody(t, store);
        const server = await start(t, store, { env: settings });
        await fill(server.db, 25); // dead for a long time
        const answer = await server.call('POST', `${DLQ}/retry`, { as: 'admin', body: { all: true } });
        assert.equal(answer.status, 200, answer.text);
        await until('all are done', async () => await server.db.count('webhook_outcomes') === 25);
        assert.equal((await server.metrics()).get('ichido_webhook_end_to_end_seconds_count'), 25, 'they count, from the retry on');
        await pass(server, 3 * MINUTE);
        const { state, value } = await alert(server, 'end_to_end_p95');
        assert.deepEqual([state, value < 10], ['ok', true], `${value} s`);
        assert.deepEqual(states(hook, 'end_to_end_p95'), []);
    });

    test('O4 a QStash that takes nothing is an alert', async (t) => {
        const fake = await FakeQStash.open(t, () => 503);
        const { hook, settings } = await everybody(t, store, { env: {
            ICHIDO_QUEUE: 'qstash', ICHIDO_PUBLIC_URL: 'https://pay.example.test', ICHIDO_SANDBOX_WEBHOOKS: 'off',
        } });
        const server = await start(t, store, { env: { ...settings, QSTASH_URL: fake.url } });
        for (let i = 0; i < 25; i++) assert.equal((await server.deliver(event('charge.failed'))).status, 204);
        const firing = await becomes(server, 'publish_failure_rate', 'firing');
        assert.ok(firing.value > 1, `${firing.value} %`);
        await hook.came(1);
    });

    test('Q5 O4 one event that failed three times to be published is an alert that people hear of', async (t) => {
        const fake = await FakeQStash.open(t, () => 503);
        const { hook, settings } = await everybody(t, store, { env: {
            ICHIDO_QUEUE: 'qstash', ICHIDO_PUBLIC_URL: 'https://pay.example.test', ICHIDO_SANDBOX_WEBHOOKS: 'off',
        } });
        const server = await start(t, store, { env: { ...settings, QSTASH_URL: fake.url } });
        const one = event('charge.failed');
        assert.equal((await server.deliver(one)).status, 204);
        assert.equal((await becomes(server, 'publish_failure_rate', 'firing', 5000)).value, 100);
        await until('the webhook has it', () => states(hook, 'publish_failure_rate').length === 1);
        await server.settled(one.id);
    });

    test('O4 an outcome that is unknown for too long is one alert; its end is told', async (t) => {
        const { hook, settings } = await everybody(t, store, { env: { ICHIDO_UNKNOWN_ALERT_MS: `${10 * MINUTE}` } });
        const server = await start(t, store, { env: settings });
        await server.webhooks({ on: false });
        await server.fault({ path: '/v1/payment_intents', method: 'POST', dropAfter: true, times: 1000 });
        await server.fault({ path: '/v1/payment_intents', method: 'GET', statusBefore: 500, times: 1000 });
        const problem = await server.pay(await server.booking());
        assert.ok([502, 504].includes(problem.status), problem.text);
        await pass(server, 9 * MINUTE, MINUTE);
        assert.equal((await alert(server, 'unknown_outcome')).state, 'ok');
        const firing = await becomes(server, 'unknown_outcome', 'firing', MINUTE);
        assert.ok(firing.value > 600, `${firing.value} s`);
        assert.equal(firing.threshold, 600);
        await hook.came(1);
        await server.healed();
        await becomes(server, 'unknown_outcome', 'ok', MINUTE);
        await until('its end is told', () => states(hook, 'unknown_outcome').length === 2);
        assert.equal(lines(server, 'Alert firing', 'unknown_outcome').length, 1);
    });

    test('O4 killed at any moment of the telling, the webhook comes under one id and the mail at most once', async (t) => {
        for (const place of ['alert.stored', 'alert.marked', 'alert.sent']) {
            const db = await fresh(t, store);
            const { mail, hook, settings } = await everybody(t, store, { env: { ICHIDO_ALERT_MAIL: 'ops@example.com' } });
            const doomed = launch(t, db, { env: { ...settings, ICHIDO_FAULTS: `${place}=crash@1` } });
            await doomed.listening();
            await forge(doomed, 11);
            await doomed.advance(TICK).catch(() => {});
            await doomed.exit;
            assert.equal(await db.count('alerts', "status = 'firing'"), 1, place);
            const server = await start(t, store, { db, env: settings });
            const told = () => db.all("SELECT channel, status FROM sends ORDER BY channel");
            await until(`${place}: both have ended`, async () => {
                await server.advance(30_000);
                return (await told()).every(({ status }) => ['sent', 'unknown'].includes(status)) && hook.length;
            }, 60_000);
            const ids = new Set(hook.filter(({ text }) => /"state":"firing"/.test(text)).map(({ headers }) => headers['webhook-id']));
            assert.equal(ids.size, 1, `${place}: one telling`);
            assert.ok(mail.messages.filter(({ subject }) => /FIRING/.test(subject)).length <= 1, `${place}: never twice`);
            if (place === 'alert.stored') assert.equal(mail.messages.filter(({ subject }) => /FIRING/.test(subject)).length, 1);
            // What the dead node left behind goes on at the next one, who alone has an SQLite; of several nodes one takes it away.
            await until(`${place}: it is over`, async () => {
                await server.advance(MINUTE);
                return await db.count('alerts') === 0 && states(hook).includes('resolved');
            }, 60_000);
            const ends = bodies(hook).filter(({ state }) => state === 'resolved').map(({ reason }) => reason);
            assert.deepEqual(ends, [store.kind === 'sqlite' ? 'recovered' : 'node_gone']);
            await server.stop();
        }
    });

    test('O4 receivers that hang hold up no payment; when they answer again they have been told once', async (t) => {
        const held = [];
        const { mail, hook, settings } = await everybody(t, store, { answer: () => new Promise((go) => held.push(go)) });
        mail.hang('mail');
        const server = await start(t, store, { env: settings });
        await forge(server, 11);
        await becomes(server, 'signature_failures', 'firing');
        await hook.came(1);
        await mail.reached('mail', 2);
        for (let i = 0; i < 5; i++) assert.equal((await server.pay(await server.booking())).status, 201);
        assert.equal((await server.get('/readyz')).status, 200);
        assert.equal(await server.db.count('sends', "status = 'sending'"), 3, 'nobody has answered yet');
        mail.well();
        held.forEach((go) => go(200));
        await until('all are told', async () => await server.db.count('sends', "status = 'sent'") === 3);
        assert.equal(hook.length, 1);
        assert.equal(mail.messages.length, 2);
    });

    test('O4 a webhook that refuses for ever ends as a dead letter, which is no alert', async (t) => {
        const { hook, settings } = await everybody(t, store, { answer: () => 500, env: { ICHIDO_ALERT_MAIL: undefined } });
        const server = await start(t, store, { env: settings });
        await forge(server, 11);
        await becomes(server, 'signature_failures', 'firing');
        await until('it is given up', async () => {
            await server.advance(HOUR);
            return await server.db.count('dead_letters', "kind = 'alert'") >= 1;
        }, 60_000);
        assert.ok(hook.length >= 13, `${hook.length} tries`);
        await pass(server, 5 * MINUTE, MINUTE);
        assert.equal((await alert(server, 'dlq_depth')).value, 0);
        assert.equal((await alert(server, 'dlq_depth')).state, 'ok');
        assert.equal(await server.db.count('sends', "status = 'failed'") >= 1, true);
    });

    test('O4 alerts and goals are for admin; settings that cannot be are refused at the start', async (t) => {
        const server = await start(t, store);
        for (const path of ['/api/v1/admin/alerts', '/api/v1/admin/slo']) {
            assert.equal((await server.call('GET', path)).status, 401);
            assert.equal((await server.call('GET', path, { as: uuid() })).status, 403);
            assert.equal((await server.call('GET', path, { as: 'admin' })).status, 200);
        }
        const wrong = [
            [{ ICHIDO_ALERT_WEBHOOK: 'http://127.0.0.1:9/', ICHIDO_ALERT_SECRET: 'whsec_short' }, /secret/],
            [{ ICHIDO_ALERT_MAIL: 'nobody', ICHIDO_SMTP_URL: 'smtp://127.0.0.1:9', ICHIDO_MAIL_FROM: 'a@example.com' }, /ICHIDO_ALERT_MAIL/],
            [{ ICHIDO_ALERT_MAIL: 'a@example.com' }, /ICHIDO_SMTP_URL/],
        ];
        for (const [env, why] of wrong) {
            const refused = launch(t, await fresh(t, store), { env });
            assert.notEqual((await refused.exit).code, 0);
            assert.match(refused.stderr, why);
            assert.doesNotMatch(refused.stderr, /whsec_short|nobody/);
        }
    });
});

const postgres = stores.find(({ name }) => /postgres/i.test(name));
if (postgres) {
    test('O4 two nodes tell of a dead letter once [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const { hook, settings } = await everybody(t, postgres, { env: { ICHIDO_ALERT_MAIL: undefined } });
        const [one, two] = [await start(t, postgres, { db, env: settings }), await start(t, postgres, { db, env: settings })];
        await dies(one, orphan());
        await until('both see it', async () => {
            await Promise.all([one.advance(MINUTE), two.advance(MINUTE)]);
            return (await Promise.all([one, two].map((server) => alert(server, 'dlq_depth')))).every(({ state }) => state === 'firing');
        });
        for (let i = 0; i < 5; i++) await Promise.all([one.advance(MINUTE), two.advance(MINUTE)]);
        await hook.came(1);
        // Their clocks are moved one after the other: a lease may look expired to the second, which then repeats the post.
        const once = [...new Map(hook.map((delivery) => [delivery.headers['webhook-id'], delivery])).values()];
        assert.deepEqual(states(once, 'dlq_depth'), ['firing']);
        assert.equal(lines(one, 'Alert firing', 'dlq_depth').length + lines(two, 'Alert firing', 'dlq_depth').length, 1);
        await forge(one, 11);
        const own = await becomes(one, 'signature_failures', 'firing');
        const there = (await alerts(two)).filter(({ name }) => name === 'signature_failures');
        assert.deepEqual(there.map(({ node, state }) => [node === own.node, state]), [[false, 'ok'], [true, 'firing']]);
        await db.all('DELETE FROM dead_letters');
    });

    test('O4 webhooks that are answered slowly are an alert [PostgreSQL]', async (t) => {
        const { hook, settings } = await everybody(t, postgres, { env: { ICHIDO_ALERT_MAIL: undefined } });
        const server = await start(t, postgres, { env: settings });
        const lock = new pg.Client({ connectionString: server.db.url });
        await lock.connect();
        for (let slow = 0; slow < 25;) { // a statement that waits for too long is a 503, and counts elsewhere
            await lock.query('BEGIN; LOCK TABLE webhook_events IN EXCLUSIVE MODE');
            const answers = Array.from({ length: 30 }, () => server.deliver(event('charge.failed')));
            await until('they wait', async () => (await lock.query('SELECT count(*) AS n FROM pg_locks WHERE NOT granted')).rows[0].n > 0);
            await lock.query('SELECT pg_sleep(0.7)'); // the one thing that only time makes: a slow answer
            await lock.query('COMMIT');
            slow += (await Promise.all(answers)).filter(({ status }) => status === 204).length;
        }
        await lock.end();
        const firing = await becomes(server, 'webhook_latency_p95', 'firing');
        assert.ok(firing.value > 500, `${firing.value} ms`);
        await becomes(server, 'webhook_latency_p95', 'ok');
        await until('told twice', () => states(hook, 'webhook_latency_p95').length === 2);
    });
}


