// sentry.mjs - a receiver of Sentry's envelopes, read by @sentry/core's own parser. All that comes is evidence.
//
//   const sentry = await Sentry.open(t, (n) => [200, { 'X-Sentry-Rate-Limits': '60:error:key' }]);
//   env: { SENTRY_DSN: sentry.dsn }             await sentry.came(1);  sentry.events, sentry.reports, sentry.requests
import { createRequire } from 'node:module';
import http from 'node:http';
import { record, remember } from './evidence.mjs';
import { until } from './wait.mjs';

const { makeDsn, parseEnvelope } = createRequire(import.meta.url)('@sentry/core');
export { makeDsn };

export const KEY = 'e2e0public0key0of0sentry00000001';
export const SECRET = 'e2e0secret0key0of0sentry00000002';
for (const word of [KEY, SECRET]) remember(word);

// `answer(n, request)` decides about the n-th: a status, [status, headers], 'drop' or 'hang'.
export class Sentry {
    constructor(answer = () => 200) {
        Object.assign(this, { answer, requests: [], events: [], reports: [], open: 0, most: 0 });
        this.server = http.createServer((ask, reply) => this.#read(ask, reply));
    }

    static async open(t, answer) {
        const sentry = new Sentry(answer);
        await new Promise((resolve) => sentry.server.listen(0, '127.0.0.1', resolve));
        t.atEnd(() => sentry.close());
        sentry.port = sentry.server.address().port;
        sentry.dsn = `http://${KEY}@127.0.0.1:${sentry.port}/42`;
        return sentry;
    }

    close() {
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }

    #read(ask, reply) {
        const parts = [];
        this.most = Math.max(this.most, ++this.open);
        ask.on('data', (part) => parts.push(part));
        ask.on('end', () => this.#take(ask, Buffer.concat(parts), reply));
        reply.on('close', () => this.open--);
    }

    #take(ask, body, reply) {
        record(`${body}\n`, 'told');
        const [head, parts] = parseEnvelope(body); // by their length, as bytes
        const items = parts.map(([about, payload]) => [about, JSON.parse(Buffer.from(payload).toString())]);
        const request = { method: ask.method, path: ask.url, headers: ask.headers, head, items, body };
        const n = this.requests.push(request);
        const how = [this.answer(n, request)].flat();
        for (const [{ type }, payload] of items) {
            if (type === 'event') this.events.push(payload);
            else if (how[0] === 200) this.reports.push(payload); // else it is told again
        }
        if (how[0] === 'drop') ask.socket.destroy();
        else if (how[0] !== 'hang') reply.writeHead(how[0], how[1]).end(JSON.stringify({ id: head.event_id }));
    }

    came(n) {
        return until(`${n} events (${this.events.length} came)`, () => this.events.length >= n);
    }

    // The sum of what was told to be dropped, by reason.
    dropped() {
        const sums = {};
        for (const { discarded_events: all } of this.reports)
            for (const { reason, quantity } of all) sums[reason] = (sums[reason] ?? 0) + quantity;
        return sums;
    }
}
