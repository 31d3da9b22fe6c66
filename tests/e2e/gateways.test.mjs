// Several gateways (G5): who takes which payment, and a dead one that hurts nobody else.
import { assert, event, forEachStore, fresh, launch, start, until, uuid } from './lib/harness.mjs';

const INTENTS = '/v1/payment_intents';
const CREATE = { path: INTENTS, method: 'POST' };
const FAILURES = 20; // LIMIT_BREAKER_FAILURES

const logged = (server, message) => server.line(message, (line) => line.message === message);

// So many calls in a row without an answer that the breaker opens. Each payment has three tries.
async function breakIt(server) {
    await server.fault({ ...CREATE, statusBefore: 503, times: 100_000 });
    const payments = Array.from({ length: FAILURES + 5 }, async () => server.pay(await server.booking()));
    for (const answer of await Promise.all(payments)) assert.equal(answer.status, 502, answer.text);
    await logged(server, 'GatewayBreakerOpened');
}

forEachStore((store, test) => {
    test('G5 a method that no gateway takes is refused, and nothing is kept', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_ROUTES: 'card:USD=sandbox,*=sandbox' } });
        const booking = await server.booking();
        const key = uuid();
        const answer = await server.pay(booking, { key, paymentMethodType: 'bank_transfer' });
        assert.equal(answer.status, 422, answer.text);
        assert.match(answer.body.detail, /No gateway here takes this payment method/);
        const card = await server.pay(booking, { key, paymentMethodType: 'card' });
        assert.equal(card.status, 201, card.text);
        const same = await server.pay(booking, { key, paymentMethodType: 'card' });
        assert.equal(same.headers['idempotent-replayed'], 'true');
        const other = await server.pay(booking, { key, paymentMethodType: 'konbini' });
        assert.equal(other.status, 409, other.text);
        const unknown = await server.pay(booking, { paymentMethodType: 'cash' });
        assert.equal(unknown.status, 400);
        assert.match(unknown.text, /must be card, konbini, paypay or bank_transfer/);
    });

    test('G5 a booking by konbini has a slip, is paid at the till and needs no capture', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid({ paymentMethodType: 'konbini' });
        assert.equal(payment.status, 'PENDING');
        assert.ok(payment.requiresAction, JSON.stringify(payment));
        const [intent] = await server.intents(payment);
        await server.sandbox('POST', `/konbini/${intent.id}/pay`, { store: 'lawson' });
        await until('it is captured', async () =>
            (await server.payment(payment.id, 'admin')).body.status === 'CAPTURED');
        assert.equal((await server.books()).totals.captured, payment.amount);
    });

    test('G5 a gateway that keeps failing gets a pause: nothing is sent, and then one goes to see', async (t) => {
        const server = await start(t, store);
        await breakIt(server);
        const before = (await server.sandbox('GET', '/faults')).faults[0];
        const booking = await server.booking();
        const key = uuid();
        const answer = await server.pay(booking, { key });
        assert.equal(answer.status, 502, answer.text);
        assert.match(answer.headers['retry-after'], /^\d+$/);
        assert.deepEqual((await server.sandbox('GET', '/faults')).faults[0], before, 'the gateway heard nothing');
        await server.healed();
        await until('it is let through again', async () => {
            await server.advance(1000);
            return (await server.pay(booking, { key })).status === 201;
        });
        await logged(server, 'GatewayBreakerClosed');
        assert.equal((await server.intents()).length, 1, 'one charge');
    });

    test('G5 webhooks and replays do not know that the gateway is dead', async (t) => {
        const server = await start(t, store);
        const booking = await server.booking();
        const key = uuid();
        const first = await server.pay(booking, { key });
        assert.equal(first.status, 201);
        await breakIt(server);
        const again = await server.pay(booking, { key });
        assert.equal(again.headers['idempotent-replayed'], 'true');
        assert.equal(again.text, first.text);
        assert.equal((await server.deliver(event('invoice.created'))).status, 204);
    });

    test('G5 calls at a time are limited, and who waits in line gets its turn', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_GATEWAY_CALLS: 'sandbox=2' } });
        await server.fault({ ...CREATE, delayMs: 50, times: 1000 });
        const answers = await Promise.all(Array.from({ length: 20 }, async () =>
            server.pay(await server.booking())));
        for (const answer of answers) assert.equal(answer.status, 201, answer.text);
    });

    test('G5 a try has as much time as the settings give it', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_GATEWAY_TIMEOUT_MS: '300' } });
        await server.webhooks({ on: false });
        await server.fault({ ...CREATE, dropAfter: true, hangMs: 20_000, times: 1 });
        const answer = await server.pay(await server.booking());
        assert.equal(answer.status, 504, answer.text);
        const line = await logged(server, 'PaymentGatewayTimeout');
        assert.equal(line.tries, 1);
    });

    test('G5 a wrong route stops the start with one clear line', async (t) => {
        for (const [rule, words] of [['card:usd=sandbox', 'must be like'], ['paypai=paypay', 'no payment method "paypai"'],
            ['paypay=papay', 'no gateway "papay"'], ['card=paypay', 'does not take card']]) {
            const server = launch(t, await fresh(t, store), { env: { ICHIDO_ROUTES: `bank_transfer=manual,${rule}` } });
            assert.equal((await server.exit).code, 2, rule);
            const line = server.stderr.split('\n').find((one) => one.startsWith('ICHIDO_ROUTES: '));
            assert.ok(line?.includes(`"${rule}"`) && line.includes(words), server.tail());
        }
    });
});
