// Outcomes that nobody knows (P7): they are shown, counted and told of, and the resolver only asks (D6). Every call
// that reaches the gateway stands in the sandbox's log: what was sent, and what was only asked for.
import http from 'node:http';
import {
    asHex, assert, asUuid, forEachStore, fresh, launch, start, until, uuid,
} from './lib/harness.mjs';
import { meet } from './lib/sandbox.mjs';

const INTENTS = '/v1/payment_intents';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const calls = (server, method, path) => server.lines.filter((l) => l.message === 'sandbox request' && l.method === method
    && (path instanceof RegExp ? path.test(l.path) : l.path === path)).length;
const sends = (server) => calls(server, 'POST', INTENTS);
const told = (server) => server.lines.filter((l) => l.message === 'PaymentOutcomeUnknown');
const unknown = async (server, query = '') => {
    const answer = await server.call('GET', `/api/v1/admin/unknown${query}`, { as: 'admin' });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
};

// A create of which nobody can say what became of it: the gateway fails, or says nothing, and cannot be asked.
async function lost(server, { key = uuid(), how = { statusBefore: 500 } } = {}) {
    await server.fault({ path: INTENTS, method: 'POST', ...how, times: 1000 });
    await server.fault({ path: INTENTS, method: 'GET', statusBefore: 500, times: 1000 });
    const booking = await server.booking();
    const problem = await server.pay(booking, { key });
    assert.ok([502, 504].includes(problem.status), problem.text);
    return { id: problem.body.paymentId, booking, key };
}

// So many intents of others, made now.
async function crowd(server, count) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
    const headers = { Authorization: 'Bearer sk_test_ichido_e2e', 'Content-Type': 'application/x-www-form-urlencoded' };
    const one = () => new Promise((resolve, reject) => {
        http.request({ agent, port: server.sandboxPort, method: 'POST', path: INTENTS, headers }, (answer) => {
            answer.resume().on('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(`${answer.statusCode}`))));
        }).on('error', reject).end('amount=100&currency=jpy');
    });
    let left = count;
    await Promise.all(Array.from({ length: 8 }, async () => {
        while (left-- > 0) await one();
    }));
    agent.destroy();
}

// The asks that were due have been made.
const asked = (server) => until('what was due is done', async () => (await server.db.count('message',
    `kind IN ('op', 'payment.unknown') AND (owner IS NOT NULL OR due_at <= ${server.nowSeconds() * 1000})`)) === 0);

async function pass(server, ms, step = MINUTE) {
    for (let left = ms; left > 0; left -= step) {
        await server.advance(Math.min(step, left));
        await asked(server);
    }
}

const reached = (server, id, status) => until(`it is ${status}`, async () => {
    const { body } = await server.payment(id, 'admin');
    if (body.status !== status) await server.advance(30_000);
    return body.status === status && body;
}, 60_000);

forEachStore((store, test) => {
    test('P7 the oldest unknown outcome is an alarm: after a quarter of an hour, then once an hour, until it is known', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ on: false });
        assert.deepEqual((await unknown(server)).data, []);
        const payment = await lost(server, { how: { dropAfter: true } });
        const early = await unknown(server);
        assert.equal(early.data.length, 1);
        const [one] = early.data;
        assert.deepEqual([one.paymentId, one.operation, one.cause, one.status, one.amount, one.currency, one.gateway],
            [payment.id, 'create', 'client', 'PENDING', 1200, 'JPY', 'sandbox']);
        assert.equal(early.nextCursor, null);
        await pass(server, 14 * MINUTE);
        assert.equal(told(server).length, 0, 'not yet');
        await pass(server, 3 * MINUTE);
        const [line] = await until('it is told', () => told(server).length && told(server));
        assert.equal(line.level, 'error');
        assert.equal(line.paymentId, payment.id);
        assert.equal(line.operation, 'create');
        assert.equal(line.operationId, one.operationId);
        assert.ok(line.ageMs >= 15 * MINUTE && line.ageMs < 19 * MINUTE, `${line.ageMs}`);
        const metrics = await server.metrics();
        assert.equal(metrics.get('ichido_payment_unknown'), 1);
        assert.ok(metrics.get('ichido_payment_unknown_oldest_seconds') >= 15 * 60);
        await pass(server, 50 * MINUTE, 5 * MINUTE);
        assert.equal(told(server).length, 1, 'once an hour');
        await pass(server, 15 * MINUTE, 5 * MINUTE);
        await until('and again', () => told(server).length === 2);
        await server.healed();
        const { gatewayTransactionId } = await reached(server, payment.id, 'AUTHORIZED');
        assert.match(gatewayTransactionId, /^pi_/);
        assert.deepEqual((await unknown(server)).data, []);
        assert.equal((await server.metrics()).get('ichido_payment_unknown'), 0);
        assert.equal((await server.metrics()).get('ichido_payment_unknown_oldest_seconds'), 0);
        assert.equal((await server.intents()).length, 1);
    });

    test('P7 unknown outcomes come in pages, the oldest first; strangers and bad parameters get none', async (t) => {
        const server = await start(t, store);
        const payments = [];
        for (let i = 0; i < 5; i++) payments.push((await lost(server)).id);
        const seen = [];
        for (let cursor = ''; cursor !== null;) {
            const page = await unknown(server, `?limit=2${cursor && `&cursor=${cursor}`}`);
            assert.ok(page.data.length <= 2);
            seen.push(...page.data.map((one) => one.paymentId));
            cursor = page.nextCursor;
        }
        assert.deepEqual(seen, payments);
        for (const query of ['?limit=0', '?limit=101', '?cursor=x', '?page=2', '?limit=1&limit=2'])
            assert.equal((await server.call('GET', `/api/v1/admin/unknown${query}`, { as: 'admin' })).status, 400, query);
        assert.equal((await server.call('GET', '/api/v1/admin/unknown')).status, 401);
        assert.equal((await server.call('GET', '/api/v1/admin/unknown', { as: uuid() })).status, 403);
        await server.healed();
    });

    test('D6 the resolver only asks: by a list where it has no id, by the id where it has one; nothing is sent again', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ on: false });
        const payment = await lost(server, { how: { dropAfter: true } });
        const before = sends(server);
        await pass(server, 5 * MINUTE);
        assert.ok(calls(server, 'GET', INTENTS) >= 5, 'by the list');
        assert.equal(sends(server), before);
        await server.healed();
        const body = await reached(server, payment.id, 'AUTHORIZED');
        assert.equal(sends(server), before);

        await server.fault({ path: `${INTENTS}/*/capture`, method: 'POST', dropAfter: true, times: 1000 });
        await server.fault({ path: `${INTENTS}/*`, method: 'GET', statusBefore: 500, times: 1000 });
        const captures = () => calls(server, 'POST', /\/capture$/);
        const byId = () => calls(server, 'GET', new RegExp(`^${INTENTS}/pi_`));
        const problem = await server.capture({ ...body, userId: payment.booking.userId });
        assert.ok([502, 504].includes(problem.status), problem.text);
        const [sent, looked, lists] = [captures(), byId(), calls(server, 'GET', INTENTS)];
        await pass(server, 5 * MINUTE);
        assert.equal(captures(), sent);
        assert.ok(byId() > looked, 'by its id');
        assert.equal(calls(server, 'GET', INTENTS), lists, 'no list is needed');
        await server.healed();
        await reached(server, payment.id, 'CAPTURED');
        assert.equal(captures(), sent);
        assert.equal((await server.books(payment.id)).totals.captured, 1200);
    });

    test('D6 many that are looked for at once share one reading of the list, and each finds its own', async (t) => {
        const server = await start(t, store);
        await server.webhooks({ on: false });
        await server.fault({ path: INTENTS, method: 'POST', dropAfter: true, times: 1000 });
        await server.fault({ path: INTENTS, method: 'GET', statusBefore: 429, times: 1000 });
        const bookings = await Promise.all(Array.from({ length: 15 }, () => server.booking())); // more would open the breaker
        const problems = await Promise.all(bookings.map((booking) => server.pay(booking)));
        assert.deepEqual(problems.map(({ status }) => status), bookings.map(() => 502));
        await pass(server, 2 * MINUTE, 30_000);
        await server.healed();
        const [lists, posts] = [calls(server, 'GET', INTENTS), sends(server)];
        await server.fault({ path: INTENTS, method: 'GET', hangMs: 3000, times: 1 }); // meanwhile the others come
        await server.advance(10 * MINUTE);
        await until('all are known', async () => (await server.db.count('payments', `status = 'AUTHORIZED'`)) === problems.length);
        const read = calls(server, 'GET', INTENTS) - lists;
        assert.ok(read <= 5, `${read} lists for ${problems.length} payments`);
        assert.equal(sends(server), posts);
        const ids = (await server.db.payments()).map((row) => row.gateway_transaction_id);
        assert.equal(new Set(ids).size, problems.length);
        for (const { body } of problems) assert.equal((await server.books(body.paymentId)).totals.held, 1200);
    });

    test('D6 a client\'s own retry sends again with the same key, for 23 hours and not a minute longer', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_KEY_TTL_MS: `${48 * HOUR}` } });
        await server.webhooks({ on: false });
        const { id, booking, key } = await lost(server);
        const first = sends(server);
        await server.advance(22 * HOUR + 58 * MINUTE);
        await asked(server);
        const retry = await server.pay(booking, { key });
        assert.ok([502, 504].includes(retry.status), retry.text);
        const second = sends(server);
        assert.ok(second > first, 'within 23 hours it is sent');
        await server.advance(3 * MINUTE);
        await asked(server);
        const late = await server.pay(booking, { key });
        assert.equal(late.status, 504, late.text);
        assert.equal(late.body.paymentId, id);
        assert.equal(sends(server), second, 'Stripe forgets keys: now it is only asked for');
        await server.healed();
        const body = await reached(server, id, 'FAILED');
        assert.equal(body.failureReason, 'gateway_timeout');
        assert.equal(sends(server), second);
        assert.equal((await server.intents()).length, 0);
    });

    // Claimed, and dead before the gateway heard of it. `olderMs`: how long ago the claim seems to have been.
    const resumed = async (t, olderMs) => {
        const db = await fresh(t, store);
        const victim = launch(t, db, { env: { ICHIDO_FAULTS: 'op.calling=crash' } });
        await victim.listening();
        const booking = await victim.booking();
        await victim.pay(booking).catch(() => {});
        await victim.exit;
        const [row] = await db.payments();
        const id = asUuid(row.id);
        await db.all(`UPDATE operations SET claimed_at = claimed_at - ${olderMs}, sent_at = sent_at - ${olderMs}`);
        const server = await start(t, store, { db });
        await server.webhooks({ on: false });
        if (db.kind === 'postgres') await server.advance(11_000); // the dead one's lease
        return { server, id };
    };

    test('D6 a resume within 30 seconds of the claim sends', async (t) => {
        const { server, id } = await resumed(t, 0);
        await until('it is AUTHORIZED', async () => (await server.payment(id, 'admin')).body.status === 'AUTHORIZED');
        await until('the send is in the log', () => sends(server) > 0);
        assert.equal(sends(server), 1);
        assert.equal((await server.intents()).length, 1);
    });

    test('D6 a resume later than 30 seconds after the claim only asks; surely absent, it is FAILED gateway_timeout', async (t) => {
        const { server, id } = await resumed(t, 31_000);
        await until('it was asked for', () => calls(server, 'GET', INTENTS) > 0);
        const body = await reached(server, id, 'FAILED');
        assert.equal(body.failureReason, 'gateway_timeout');
        assert.equal(sends(server), 0);
        assert.equal((await server.intents()).length, 0);
        const [operation] = await server.db.operations(id);
        assert.ok(operation.ended_at - operation.sent_at >= 15 * MINUTE, 'a quarter of an hour after the last send');
    });

    test('D6 D1 a gateway whose clock is two minutes, or nearly five, off, either way: the lost create is found', async (t) => {
        for (const aheadMs of [-290_000, -120_000, 120_000, 290_000]) {
            const bank = await start(t, store);
            await bank.webhooks({ on: false });
            const server = await start(t, store, { env: {
                ICHIDO_SANDBOX_LISTEN: 'off', STRIPE_API_BASE: `http://127.0.0.1:${bank.sandboxPort}`,
            } });
            if (aheadMs > 0) await bank.advance(aheadMs);
            else await server.advance(-aheadMs);
            const booking = await server.booking();
            await bank.fault({ path: INTENTS, method: 'POST', dropAfter: true, times: 10 });
            const problem = await server.pay(booking);
            assert.ok([502, 504].includes(problem.status), problem.text);
            await bank.healed();
            const { status } = await until('its outcome is known', async () => {
                const { body } = await server.payment(problem.body.paymentId, 'admin');
                if (body.status === 'PENDING') await server.advance(30_000);
                return body.status !== 'PENDING' && body;
            }, 60_000);
            assert.equal(status, 'AUTHORIZED', `${aheadMs} ms ahead`);
            assert.equal((await server.pay(booking)).body.code, 'PAYMENT_EXISTS');
            assert.equal((await bank.intents()).length, 1, 'nobody is charged twice');
        }
    });

    // Lost among 2,500 other intents, and looked for: the first ask has stopped within the list.
    const searched = async (server, db, how) => {
        await server.webhooks({ on: false });
        const payment = await lost(server, { how });
        await server.healed();
        await server.fault({ path: INTENTS, method: 'GET', statusBefore: 500, times: 1000 }); // until all are there
        await crowd(server, 2500);
        await server.healed();
        const before = calls(server, 'GET', INTENTS);
        await until('the search begins', async () => {
            if (calls(server, 'GET', INTENTS) === before) await server.advance(3_000);
            return calls(server, 'GET', INTENTS) > before;
        });
        const operation = async () => (await db.operations(payment.id))[0];
        await until('it has a place in the list', async () => (await operation()).list_after, 30_000);
        return { payment, operation };
    };

    test('D6 T6 an unknown create is found among 2,500 other intents; a crash does not lose the place in the list', async (t) => {
        const db = await fresh(t, store);
        const victim = await launch(t, db).listening();
        const { payment, operation } = await searched(victim, db, { dropAfter: true });
        await victim.kill();
        assert.ok((await operation()).list_after);
        const server = await start(t, store, { db });
        const { gatewayTransactionId } = await reached(server, payment.id, 'AUTHORIZED');
        assert.ok(calls(server, 'GET', INTENTS) <= 15, `${calls(server, 'GET', INTENTS)} pages: it went on`);
        const { intents } = await server.books(payment.id);
        assert.deepEqual(intents.map(({ id }) => id), [gatewayTransactionId]);
    });

    test('D6 an unknown create is proven absent among 2,500 other intents, by a search that begins behind the last send', async (t) => {
        const db = await fresh(t, store);
        const server = await start(t, store, { db });
        const { payment, operation } = await searched(server, db);
        // A client sends it again meanwhile: what is made by that may stand before the place.
        await server.fault({ path: INTENTS, method: 'POST', statusBefore: 503, times: 1000 });
        const before = sends(server);
        await until('it is sent again', async () => {
            const answer = await server.pay(payment.booking, { key: payment.key });
            assert.ok(answer.status >= 502 && answer.status <= 504, answer.text);
            return sends(server) > before;
        }, 30_000);
        await server.healed();
        const between = await operation();
        assert.ok(between.list_at >= between.sent_at, 'it begins anew');
        const body = await reached(server, payment.id, 'FAILED');
        assert.equal(body.failureReason, 'gateway_timeout');
        const { list_at: began, sent_at: sent, ended_at: ended } = await operation();
        assert.ok(began - sent >= 15 * MINUTE && began <= ended, 'all of it a quarter of an hour after the last send');
        assert.equal((await server.pay(payment.booking)).status, 201, 'its booking is free');
    });

    test('D6 D2 surely absent, FAILED, and then it surfaces after all: a hold is let go, money goes back, told and audited', async (t) => {
        const server = await start(t, store);
        const { stripe } = await meet(server);
        for (const capture_method of ['manual', 'automatic']) {
            const payment = await lost(server);
            await server.healed();
            await reached(server, payment.id, 'FAILED');
            const intent = await stripe.paymentIntents.create({
                amount: 1200, currency: 'jpy', payment_method: 'pm_card_visa', confirm: true, capture_method,
                return_url: 'https://example.com', metadata: { payment_id: payment.id },
            });
            await until('it is gone', async () => {
                const now = await stripe.paymentIntents.retrieve(intent.id, { expand: ['latest_charge'] });
                return now.status === 'canceled' || now.latest_charge?.amount_refunded === 1200;
            }, 30_000);
            await until('nothing is left open', async () => (await server.db.operations(payment.id)).every((one) => one.phase === 'done'));
            assert.equal((await server.payment(payment.id, 'admin')).body.status, 'FAILED');
            const { totals } = await server.books(payment.id);
            assert.equal(totals.captured - totals.refunded, 0);
            const audit = await server.db.all(`SELECT detail FROM audit WHERE payment_id = ${server.db.blob(asHex(payment.id))}`);
            assert.ok(audit.some((line) => /goes back/.test(line.detail)), JSON.stringify(audit));
            await server.line('it is told', (l) => l.level === 'error' && /it goes back/.test(l.message) && l.paymentId === payment.id);
            assert.equal((await server.pay(payment.booking)).status, 201, 'the booking is free');
        }
    });
});
