// The wire: limits and everything that is not HTTP/1.1 (W5, and the hostile half of A5). After each
// piece of bad input a good client is served as if nothing had been.
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import { assert, event, forOneStore, pretty, Raw, sign, signBytes, start, UNDER_ASAN, WEBHOOK } from './lib/harness.mjs';

const LIMIT = 256 * 1024;

const head = (lines, body = '') => `POST ${WEBHOOK} HTTP/1.1\r\nHost: x\r\n${lines.map((l) => `${l}\r\n`).join('')}\r\n${body}`;

// Sends the bytes on a connection of their own and waits for the first answer (or the close).
async function answerTo(server, bytes) {
    const raw = await new Raw(server.port).opened();
    raw.send(bytes);
    await raw.when('an answer or a close', () => raw.statuses.some((s) => s >= 200) || raw.ended);
    raw.destroy();
    return raw.statuses.find((s) => s >= 200) ?? 0;
}

async function stillServes(server) {
    const one = event();
    assert.equal((await server.deliver(one)).status, 204);
}

const padded = (size) => {
    const text = pretty(event());
    return text + ' '.repeat(size - Buffer.byteLength(text));
};

const chunked = (body, size = 1000) => {
    const parts = [];
    for (let at = 0; at < body.length; at += size) {
        const part = body.slice(at, at + size);
        parts.push(`${part.length.toString(16)}\r\n${part}\r\n`);
    }
    return `${parts.join('')}0\r\n\r\n`;
};

forOneStore((store, test) => {
    test('W5 a body of exactly 256 KiB is taken, one byte more is 413, whether announced or chunked', async (t) => {
        const server = await start(t, store);
        const largest = padded(LIMIT);
        assert.equal((await server.deliver(largest)).status, 204);
        const raw = (text) => head([`Stripe-Signature: ${sign(text)}`, 'Transfer-Encoding: chunked'], chunked(text, 60_000));
        assert.equal(await answerTo(server, raw(padded(LIMIT))), 204);
        const over = padded(LIMIT + 1);
        const announced = head([`Stripe-Signature: ${sign(over)}`, `Content-Length: ${LIMIT + 1}`]);
        assert.equal(await answerTo(server, announced), 413, 'before a byte of the body is sent');
        assert.equal(await answerTo(server, raw(over)), 413);
        assert.equal(await answerTo(server, head(['Content-Length: 99999999999999999999'])), 400);
        const endless = head(['Transfer-Encoding: chunked'], `1;${'x'.repeat(400_000)}`);
        assert.ok([400, 413, 431].includes(await answerTo(server, endless)), 'chunk extensions are counted');
        assert.equal(await server.db.count('webhook_events'), 2);
        await stillServes(server);
    });

    test('W5 a path that is not there is 404, a method that is not taken 405 with Allow', async (t) => {
        const server = await start(t, store);
        assert.equal((await server.get('/nowhere')).status, 404);
        for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
            const answer = await server.request({ method, path: WEBHOOK });
            assert.equal(answer.status, 405, method);
            assert.match(answer.headers.allow, /POST/);
        }
        const healthy = await server.request({ method: 'HEAD', path: '/healthz' });
        assert.equal(healthy.status, 200);
        assert.equal(healthy.text, '');
        await stillServes(server);
    });

    test('W5 a flood of headers is 431, a long request line 414', async (t) => {
        const server = await start(t, store);
        const many = Array.from({ length: 500 }, (_, i) => `X-${i}: y`);
        assert.equal(await answerTo(server, head(many)), 431);
        assert.equal(await answerTo(server, head([`X-Long: ${'y'.repeat(40_000)}`])), 431);
        assert.equal(await answerTo(server, head([`${'X'.repeat(40_000)}: y`])), 431);
        assert.equal(await answerTo(server, `GET /${'a'.repeat(9_000)} HTTP/1.1\r\nHost: x\r\n\r\n`), 414);
        const endless = await new Raw(server.port).opened();
        endless.send(`GET / HTTP/1.1\r\nHost: x\r\n`);
        for (let i = 0; i < 200 && !endless.ended && !endless.statuses.length; i++)
            endless.send(`X-${i}: ${'z'.repeat(1000)}\r\n`);
        assert.equal(await endless.status(), 431);
        endless.destroy();
        await stillServes(server);
    });

    test('W5 broken framing is refused and the connection closed, and nothing of it is stored', async (t) => {
        const server = await start(t, store);
        const body = pretty(event());
        const signed = `Stripe-Signature: ${sign(body)}`;
        const te = 'Transfer-Encoding: chunked';
        const rows = [
            ['no hex size', head([signed, te], `xyz\r\n${body}\r\n0\r\n\r\n`)],
            ['negative size', head([signed, te], `-5\r\n${body}\r\n0\r\n\r\n`)],
            ['huge size', head([signed, te], `ffffffffffffffff\r\n${body}\r\n0\r\n\r\n`)],
            ['no line end after the chunk', head([signed, te], `5\r\nabcdeXX0\r\n\r\n`)],
            ['both lengths', head([signed, te, `Content-Length: ${body.length}`], chunked(body))],
            ['two lengths', head([signed, `Content-Length: ${body.length}`, 'Content-Length: 5'], body)],
            ['a length list', head([signed, `Content-Length: ${body.length}, 5`], body)],
            ['a signed length', head([signed, `Content-Length: +${body.length}`], body)],
            ['an unknown coding', head([signed, 'Transfer-Encoding: gzip'], body)],
            ['chunked twice', head([signed, 'Transfer-Encoding: chunked, chunked'], chunked(body))],
            ['a folded header', head([signed, 'X-A: b\r\n c', `Content-Length: ${body.length}`], body)],
            ['a NUL in a header', head([signed, 'X-A: b\0c', `Content-Length: ${body.length}`], body)],
            ['a NUL in the line', `POST ${WEBHOOK}\0 HTTP/1.1\r\nHost: x\r\n\r\n`],
            ['a space before the colon', head([signed, `Content-Length : ${body.length}`], body)],
            ['a bare CR', head([signed, 'X-A: b\rc', `Content-Length: ${body.length}`], body)],
            ['no host', `POST ${WEBHOOK} HTTP/1.1\r\nContent-Length: 0\r\n\r\n`],
            ['two hosts', head([signed, 'Host: y', `Content-Length: ${body.length}`], body)],
            ['not HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
            ['bytes', Buffer.from(Array.from({ length: 600 }, (_, i) => (i * 131) % 256)).toString('latin1')],
        ];
        for (const [why, bytes] of rows) {
            const raw = await new Raw(server.port).opened();
            raw.send(bytes);
            await raw.closed();
            raw.destroy();
            const status = raw.statuses[0] ?? 0;
            assert.ok([0, 400, 413, 501].includes(status), `${why}: ${status}`);
            assert.ok(raw.statuses.length <= 1, `${why}: nothing behind it is believed`);
        }
        for (const version of ['HTTP/2.0', 'HTTP/0.9', 'HTTP/1.2', 'HTTP/3.0', 'HTTX/1.1'])
            assert.ok([0, 400, 505].includes(await answerTo(server, `GET /healthz ${version}\r\nHost: x\r\n\r\n`)), version);
        assert.equal(await server.db.count('webhook_events'), 0);
        await stillServes(server);
        assert.equal(server.ended, undefined, 'and it still runs');
    });

    test('W5 a truncated body stores nothing and is not acknowledged', async (t) => {
        const server = await start(t, store);
        const one = event();
        const body = pretty(one);
        for (const lines of [[`Content-Length: ${body.length}`], ['Transfer-Encoding: chunked']]) {
            const raw = await new Raw(server.port).opened();
            const part = lines[0].startsWith('T') ? chunked(body).slice(0, -200) : body.slice(0, -1);
            raw.send(head([`Stripe-Signature: ${sign(body)}`, ...lines], part)).end();
            await raw.closed();
            assert.ok(!raw.statuses.includes(204), raw.text);
            raw.destroy();
        }
        assert.equal(await server.db.event(one.id), undefined);
        assert.equal((await server.deliver(one)).status, 204, 'sent again, it is new');
        assert.equal((await server.settled(one.id)).outcome, 'ignored');
    });

    test('W5 NUL and other than UTF-8 bytes in target, headers and ids get an answer, never a crash', async (t) => {
        const server = await start(t, store);
        for (const target of ['/%00', '/%ff%fe', '/a/%2e%2e/b', '/../../etc/passwd', '/%zz', '//', '*', 'http://x/healthz'])
            assert.ok((await answerTo(server, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)) > 0, target);
        const bytes = Buffer.from('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: \xff\xfe\r\ntraceparent: \xc3\x28\r\n\r\n', 'latin1');
        assert.equal(await answerTo(server, bytes), 200);
        const odd = Buffer.from('{"id":"evt_\xff\xfe","type":"a"}', 'latin1');
        assert.equal((await server.deliver(odd, { signature: signBytes(odd) })).status, 204);
        await stillServes(server);
    });

    test('W5 pipelined requests, chunks and 100-continue are answered in order', async (t) => {
        const server = await start(t, store);
        const events = [event(), event(), event()];
        const raw = await new Raw(server.port).opened();
        raw.send(events.map((one) => {
            const body = pretty(one);
            return head([`Stripe-Signature: ${sign(body)}`, `Content-Length: ${body.length}`], body);
        }).join('') + 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
        await raw.status(4);
        assert.deepEqual(raw.statuses, [204, 204, 204, 200]);
        const order = [...raw.text.matchAll(/x-event-id: (\S+)/gi)].map((m) => m[1]);
        assert.deepEqual(order, events.map((one) => one.id));

        const body = pretty(event());
        raw.send(head([`Stripe-Signature: ${sign(body)}`, 'Expect: 100-continue', `Content-Length: ${body.length}`]));
        assert.equal(await raw.status(5), 100);
        raw.send(body);
        assert.equal(await raw.status(6), 204);
        raw.destroy();

        const late = await new Raw(server.port).opened();
        late.send(head(['Expect: 100-continue', `Content-Length: ${LIMIT * 4}`]));
        assert.equal(await late.status(), 413, 'too large is said before the body');
        late.destroy();
        assert.equal(await answerTo(server, head(['Expect: the-spanish-inquisition', 'Content-Length: 0'])), 417);
    });

    test('W5 HTTP/1.0 gets an answer and a close', async (t) => {
        const server = await start(t, store);
        const raw = await new Raw(server.port).opened();
        raw.send('GET /healthz HTTP/1.0\r\n\r\n');
        await raw.closed();
        assert.match(raw.text, /^HTTP\/1\.[01] 200/);
        raw.destroy();
    });

    test('A5 memory for a connection is bounded: ten thousand broken requests leave no trace', async (t) => {
        const server = await start(t, store);
        const bad = head(['Content-Length: 99999999999999999999']);
        const rss = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`))[1]);
        const many = async (count) => {
            for (let i = 0; i < count; i += 50)
                await Promise.all(Array.from({ length: 50 }, () => answerTo(server, bad)));
        };
        await many(1000);
        const before = rss();
        await many(9000);
        const grown = rss() - before;
        assert.ok(UNDER_ASAN || grown < 4096, `${grown} KiB more`);
        await stillServes(server);
    });

    test('A5 memory for a connection is bounded: of twenty thousand requests in a row one is held at a time', async (t) => {
        const server = await start(t, store);
        const most = () => Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.pid}/status`))[1]);
        const one = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
        const socket = net.connect(server.port, '127.0.0.1');
        let answers = '';
        socket.setEncoding('latin1').on('data', (part) => { answers += part; });
        const before = most();
        socket.write(`${one}\r\n`.repeat(19_999) + `${one}Connection: close\r\n\r\n`);
        await once(socket, 'end');
        const grown = most() - before;
        assert.equal(answers.match(/^HTTP\/1\.1 200/gm).length, 20_000);
        assert.ok(UNDER_ASAN || grown < 4096, `${grown} KiB more`);
        await stillServes(server);
    });
});
