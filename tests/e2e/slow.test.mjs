// Senders at one byte a second, and those who say or read nothing. These tests wait for the server's
// own limits (10 s for a head, 30 s for a body), so they run side by side.
import { describe } from 'node:test';
import { assert, event, forEachStore, pause, pretty, Raw, sign, start, WEBHOOK } from './lib/harness.mjs';

async function drip(raw, text, everyMs) {
    for (const byte of text) {
        if (raw.ended || raw.statuses.length) return;
        raw.send(byte);
        await pause(everyMs);
    }
}

describe('slow senders', { concurrency: true }, () => {
    forEachStore((store, test) => {
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

        test('A5 beyond its connection limit the server says so at once and goes on', async (t) => {
            const server = await start(t, store, { env: { ICHIDO_MAX_CONNECTIONS: '20' } });
            const idle = Array.from({ length: 20 }, () => new Raw(server.port));
            await Promise.all(idle.map((raw) => raw.opened()));
            const more = new Raw(server.port);
            more.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
            await more.closed();
            assert.ok([0, 503].includes(more.statuses[0] ?? 0), more.text);
            idle.slice(0, 5).forEach((raw) => raw.destroy());
            let status = 0;
            for (let i = 0; i < 200 && status !== 204; i++)
                status = await server.deliver(event(), { options: { agent: false } }).then((a) => a.status, () => pause(10));
            assert.equal(status, 204);
            idle.forEach((raw) => raw.destroy());
        });
    });
});
