// Senders at one byte a second, and those who say or read nothing. These tests wait for the server's
// own limits (10 s for a head, 30 s for a body), so they run side by side.
import { describe } from 'node:test';
import { assert, event, forOneStore, pause, pretty, Raw, sign, start, WEBHOOK } from './lib/harness.mjs';

async function drip(raw, text, everyMs) {
    for (const byte of text) {
        if (raw.ended || raw.statuses.length) return;
        raw.send(byte);
        await pause(everyMs);
    }
}

describe('slow senders', { concurrency: true }, () => {
    forOneStore((store, test) => {
        test('W5 a head at one byte a second is 408 after ten seconds, and others do not notice', async (t) => {
            const server = await start(t, store);
            const slow = await new Raw(server.port).opened();
            const dripping = drip(slow, `POST ${WEBHOOK} HTTP/1.1\r\nHost: ${'x'.repeat(200)}\r\n`, 1000);
            let served = 0;
            while (!slow.statuses.length && !slow.ended) {
                assert.equal((await server.deliver(event())).status, 204);
                served++;
                await pause(100);
            }
            await dripping;
            assert.equal(slow.statuses[0], 408);
            await slow.closed();
            assert.ok(served > 10);
        });

        test('W5 a body at one byte a second is 408 after thirty seconds and stores nothing', async (t) => {
            const server = await start(t, store);
            const one = event();
            const body = pretty(one);
            const slow = await new Raw(server.port).opened();
            slow.send(`POST ${WEBHOOK} HTTP/1.1\r\nHost: x\r\nStripe-Signature: ${sign(body)}\r\nContent-Length: ${body.length}\r\n\r\n`);
            await Promise.all([drip(slow, body, 1000), slow.status(1, 45_000)]);
            assert.equal(slow.statuses[0], 408);
            await slow.closed();
            assert.equal(await server.db.event(one.id), undefined);
        });

        test('A5 one who connects and says nothing is let go, and one who does not read does not block', async (t) => {
            const server = await start(t, store);
            const deaf = await new Raw(server.port).opened();
            deaf.socket.pause();
            for (let i = 0; i < 3000; i++) deaf.send('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
            const silent = await new Raw(server.port).opened();
            silent.send('G');
            assert.equal((await server.deliver(event())).status, 204);
            await silent.closed(20_000);
            assert.ok([0, 408].includes(silent.statuses[0] ?? 0));
            assert.equal((await server.deliver(event())).status, 204);
            deaf.destroy();
        });

        test('A5 silent connections up to the limit keep nobody out: the longest silent one gives way', async (t) => {
            const server = await start(t, store, { env: { ICHIDO_MAX_CONNECTIONS: '20' } });
            const idle = Array.from({ length: 20 }, () => new Raw(server.port));
            await Promise.all(idle.map((raw) => raw.opened()));
            const closed = Promise.race(idle.map((raw) => raw.closed()));
            assert.equal((await server.deliver(event(), { options: { agent: false } })).status, 204);
            await closed;
            idle.forEach((raw) => raw.destroy());
        });

        test('W5 bodies that are held back, however many, keep no webhook out', async (t) => {
            const server = await start(t, store);
            const body = Buffer.alloc(200_000, 'x');
            const held = Array.from({ length: 300 }, (_, i) => {
                const raw = new Raw(server.port);
                raw.send(`POST ${i % 2 ? '/nope' : '/api/v1/webhooks/stripe'} HTTP/1.1\r\nHost: x\r\nContent-Length: 262144\r\n\r\n`);
                raw.send(body);
                return raw;
            });
            await Promise.all(held.map((raw) => raw.opened()));
            for (let i = 0; i < 20; i++)
                assert.equal((await server.deliver(event(), { options: { agent: false } })).status, 204);
            assert.equal((await server.get('/healthz')).status, 200);
            held.forEach((raw) => raw.destroy());
        });
    });
});
