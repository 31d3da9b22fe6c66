// Days that do not go smoothly (E11): moved by somebody else, left by everybody, failing side by side, a list that
// loses its place; and gateways without a list, where money came twice, never came, or went back elsewhere.
import http from 'node:http';
import { assert, forEachStore, start, until } from './lib/harness.mjs';
import { open as openPayPay } from './lib/paypay.mjs';
import { KEYS, meet, says } from './lib/paypay_sandbox.mjs';
import {
    ask, ended, found, MINUTE, nextDay, quiet, reconciled, report, total, update, UTC,
} from './lib/reconcile.mjs';
import { assign, becomes, confirm, imported, lines, owes, paidBy } from './lib/transfers.mjs';

const BOTH = { ...UTC, ICHIDO_ROUTES: 'paypay=paypay,bank_transfer=manual' };
const PAYPAY_KEYS = { PAYPAY_API_KEY: KEYS.clientId, PAYPAY_API_SECRET: KEYS.clientSecret, PAYPAY_MERCHANT_ID: KEYS.merchantId };
const LIST = { path: '/v1/payment_intents', method: 'GET' };

const atWork = (server) => server.db.count('message', `kind = 'reconcile.day'`);
const intent = (id) => ({ id, object: 'payment_intent', amount: 800, amount_received: 0, currency: 'jpy', status: 'canceled', metadata: {} });
const stopped = (server, day) => server.lines.filter((l) => /cannot go on/.test(l.message) && l.day === day);

// A day that waits, since the provider's list cannot be had.
async function waiting(server, day) {
    await server.fault({ ...LIST, statusBefore: 503, times: 100_000 });
    assert.equal((await ask(server, 'POST', `/${day}`)).status, 202);
    await until('it waits', async () => (await report(server, day)).error);
}

// Stands between a server and its sandbox. A request waits for what holds(request) gives, and is passed on then.
async function inFront(t) {
    const front = { to: 0, holds: () => undefined };
    const server = http.createServer(async (request, response) => {
        await front.holds(request);
        request.pipe(http.request({
            host: '127.0.0.1', port: front.to, method: request.method, path: request.url, headers: request.headers,
        }, (answer) => answer.pipe(response.writeHead(answer.statusCode, answer.headers))).on('error', () => response.destroy()));
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    t.atEnd(() => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }));
    front.url = `http://127.0.0.1:${server.address().port}`;
    return front;
}

forEachStore((store, test) => {
    test('E11 a day that somebody else moved on meanwhile is gone on with from there', async (t) => {
        const front = await inFront(t);
        const server = await start(t, store, { env: { ...UTC, STRIPE_API_BASE: front.url } });
        front.to = server.sandboxPort;
        await server.captured();
        await quiet(server);
        const day = await nextDay(server);
        let passOn;
        const mayPass = new Promise((resolve) => { passOn = resolve; });
        const reading = new Promise((resolve) => {
            front.holds = (request) => {
                if (request.method !== LIST.method || !request.url.startsWith(LIST.path)) return undefined;
                resolve();
                return mayPass;
            };
        });
        assert.equal((await ask(server, 'POST', `/${day}`)).status, 202);
        await reading;
        assert.equal((await report(server, day)).phase, 'theirs');
        await update(server.db, `UPDATE reconciliations SET phase = 'ours' WHERE day = '${day}'`);
        passOn();
        const done = await ended(server, day);
        assert.equal(done.theirs, 0, 'what it read belonged to a step that was no longer its own');
        assert.equal(done.ours, 1);
        await until('its message is done with', async () => (await atWork(server)) === 0);
    });

    test('E11 a day that nobody works on any more can be begun again, by one of many who ask', async (t) => {
        const server = await start(t, store, { env: UTC });
        await server.captured();
        await quiet(server);
        const day = await nextDay(server);
        await waiting(server, day);
        assert.equal((await ask(server, 'POST', `/${day}`)).status, 202);
        assert.equal(await atWork(server), 1, 'it is being worked on');
        await update(server.db, `DELETE FROM message WHERE kind = 'reconcile.day'`);
        const asked = await Promise.all(Array.from({ length: 12 }, () => ask(server, 'POST', `/${day}`)));
        assert.deepEqual(asked.map((one) => one.status), Array(12).fill(202));
        assert.equal(await atWork(server), 1, 'never two');
        await server.healed();
        const done = await ended(server, day);
        assert.deepEqual([done.theirs, done.ours, done.differences], [1, 1, 0]);
        assert.deepEqual(total(done, 'ours'), total(done, 'theirs'));
    });

    test('E11 days that fail side by side wait by themselves', async (t) => {
        const server = await start(t, store, { env: UTC });
        const first = await nextDay(server);
        const second = await nextDay(server);
        await waiting(server, first);
        await waiting(server, second);
        await until('both failed thrice', async () => {
            await server.advance(MINUTE);
            return [first, second].every((day) => stopped(server, day).length >= 3);
        }, 40_000);
        for (const day of [first, second])
            assert.deepEqual(stopped(server, day).slice(0, 3).map((l) => l.failures), [1, 2, 3], day);
        await server.healed();
        await ended(server, first);
        await ended(server, second);
    });

    test('E11 a list that lost its place is begun anew at once, and from the second time on with longer and longer pauses', async (t) => {
        const asked = [];
        const provider = http.createServer((request, response) => {
            const url = new URL(request.url, 'http://x');
            const after = url.searchParams.get('starting_after');
            const answer = (status, body) =>
                response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
            if (url.pathname !== '/v1/payment_intents') return answer(200, { object: 'list', data: [], has_more: false });
            asked.push(after);
            if (after && asked.filter(Boolean).length < 4)
                return answer(404, { error: { type: 'invalid_request_error', code: 'resource_missing', param: 'starting_after' } });
            return answer(200, { object: 'list', data: [intent(after ? 'pi_2' : 'pi_1')], has_more: !after });
        });
        await new Promise((resolve) => { provider.listen(0, '127.0.0.1', resolve); });
        t.atEnd(() => new Promise((resolve) => { provider.close(resolve); provider.closeAllConnections(); }));
        const server = await start(t, store, {
            env: { ...UTC, ICHIDO_SANDBOX_LISTEN: 'off', STRIPE_API_BASE: `http://127.0.0.1:${provider.address().port}` },
        });
        const day = await nextDay(server);
        assert.equal((await ask(server, 'POST', `/${day}`)).status, 202);
        const paused = (n) => until(`pause ${n}`, () => stopped(server, day).length === n);
        await paused(1);
        assert.deepEqual(asked, [null, 'pi_1', null, 'pi_1'], 'once it may happen; twice it waits');
        assert.match((await report(server, day)).error, /begins anew/);
        await server.advance(2 * MINUTE);
        await paused(2);
        assert.equal(asked.length, 6);
        await server.advance(2 * MINUTE);
        await server.advance(8 * MINUTE);
        const done = await ended(server, day);
        assert.deepEqual(asked.slice(6), [null, 'pi_1']);
        assert.equal(done.theirs, 2, 'each is counted once');
    });

    test('E11 codes that nobody paid and transfers that were paid twice are no differences', async (t) => {
        const { server, paypay } = await openPayPay(t, store, { env: BOTH });
        assert.equal((await server.void(await paypay.pending())).body.status, 'FAILED');
        const [owed, late] = [await owes(server, 1600), await owes(server, 1700)];
        assert.equal((await server.void(late)).body.status, 'FAILED');
        await imported(server, [paidBy(owed), paidBy(owed, { balance: 9 })]);
        await becomes(server, owed, 'CAPTURED');
        const [twice] = await lines(server, 'open');
        assert.equal((await assign(server, twice, { paymentId: owed.id })).body.reason, 'paid_twice');
        assert.equal((await confirm(server, late)).body.state, 'returning');
        await imported(server, [paidBy(late), paidBy(late, { balance: 8 })]);
        const more = (await lines(server, 'open')).find((l) => l.amount === 1700);
        assert.equal((await assign(server, more, { paymentId: late.id })).status, 200);
        await quiet(server);
        const done = await reconciled(server, await nextDay(server));
        assert.deepEqual(found(done), [], JSON.stringify(done.found));
        const net = (side) => total(done, side).map((one) => one.net);
        assert.deepEqual(net('ours'), [1600]);
        assert.deepEqual(net('theirs'), [1600], JSON.stringify(done.totals));
    });

    test('E11 refunds that were made at PayPay itself are told', async (t) => {
        const { server, paypay } = await openPayPay(t, store, { env: { ...UTC, ...PAYPAY_KEYS } });
        const { paypay: sdk } = await meet(t, server);
        const [elsewhere, ours] = [await paypay.captured(), await paypay.captured()];
        assert.equal((await server.refund(ours, 300)).status, 200);
        const { payment_id: paymentId } = (await paypay.books()).find((b) => b.merchant_payment_id === elsewhere.gatewayTransactionId);
        await says(sdk.paymentRefund({
            merchantRefundId: 'panel-1', paymentId, amount: { amount: 500, currency: 'JPY' }, reason: 'x',
            requestedAt: server.nowSeconds(),
        }), 201, 'SUCCESS');
        await quiet(server);
        const day = await nextDay(server);
        const done = await reconciled(server, day);
        assert.deepEqual(done.found.map((x) => [x.paymentId, x.kind, x.ours, x.theirs, x.state]),
            [[elsewhere.id, 'refunded', '0', '500', 'open']]);
        assert.deepEqual(total(done, 'theirs').map((x) => [x.captured, x.refunded]), [[2400, 800]]);
        assert.deepEqual(total(done, 'ours').map((x) => [x.captured, x.refunded]), [[2400, 300]]);
    });
});
