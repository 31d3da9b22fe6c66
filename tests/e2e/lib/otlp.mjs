// otlp.mjs - a receiver of OTLP/HTTP. It is strict: what it gets is decoded with OpenTelemetry's own protobuf
// root, encoded to the wire and decoded again, and must say the same; anything else is kept in `bad`.
import http from 'node:http';
import { createRequire } from 'node:module';
import assert from 'node:assert/strict';
import { record } from './evidence.mjs';
import { until } from './wait.mjs';

const require = createRequire(import.meta.url);
const root = require('@opentelemetry/otlp-transformer/build/src/generated/root');
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

const KINDS = [undefined, 'internal', 'server', 'client', 'producer', 'consumer'];
const base64 = (hex) => Buffer.from(hex, 'hex').toString('base64');
const ids = { traceId: 32, spanId: 16, parentSpanId: 16 };

// OTLP's JSON differs from protobuf's in its ids alone: hex here, base64 there.
function asProtobufJson(value) {
    if (Array.isArray(value)) return value.map(asProtobufJson);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => {
        assert.doesNotMatch(key, /_/, 'snake_case is not OTLP/JSON');
        if (key === 'flags') { // younger than this package's protos, which would ignore it
            assert.ok(Number.isInteger(one) && one >= 0 && one < 0x400, `flags ${one}`);
            return [];
        }
        if (!ids[key]) return [key, asProtobufJson(one)];
        assert.match(one, new RegExp(`^[0-9a-f]{${ids[key]}}$`), key);
        return [key, base64(one)];
    }).filter((entry) => entry.length));
}

// Through the protobuf and back: nothing is lost, nothing is left over.
export function judge(json) {
    const ours = asProtobufJson(json);
    const message = Request.fromObject(ours);
    assert.equal(Request.verify(message), null);
    const decoded = Request.decode(Request.encode(message).finish());
    const again = Request.toObject(decoded, { longs: String, bytes: String, arrays: false, defaults: false });
    assert.deepEqual(again, ours);
}

const valueOf = ({ stringValue, intValue, boolValue }) => stringValue ?? boolValue ?? Number(intValue);
const attributesOf = (list = []) => Object.fromEntries(list.map(({ key, value }) => [key, valueOf(value)]));

function spansOf(json) {
    return json.resourceSpans.flatMap(({ resource, scopeSpans }) => scopeSpans.flatMap(({ scope, spans }) => spans.map((span) => ({
        ...span, kind: KINDS[span.kind], attributes: attributesOf(span.attributes), resource: attributesOf(resource.attributes), scope,
        start: BigInt(span.startTimeUnixNano), end: BigInt(span.endTimeUnixNano), remote: Boolean(span.flags & 0x200),
    }))));
}

// `answer(n, request)` decides about the n-th: a status, [status, headers, body], 'drop' or 'hang'.
export class Receiver {
    constructor(answer = () => 200) {
        Object.assign(this, { answer, requests: [], spans: [], bad: [] });
        this.server = http.createServer((ask, reply) => this.#read(ask, reply));
    }

    static async open(t, answer) {
        const receiver = new Receiver(answer);
        await new Promise((resolve) => receiver.server.listen(0, '127.0.0.1', resolve));
        t.atEnd(() => receiver.close());
        receiver.url = `http://127.0.0.1:${receiver.server.address().port}`;
        return receiver;
    }

    close() {
        return new Promise((resolve) => {
            this.server.closeAllConnections();
            this.server.close(() => {
                try {
                    assert.deepEqual(this.bad, []);
                } finally {
                    resolve();
                }
            });
        });
    }

    #read(ask, reply) {
        const parts = [];
        ask.on('data', (part) => parts.push(part));
        ask.on('end', () => this.#take(ask, reply, Buffer.concat(parts)));
    }

    async #take(ask, reply, body) {
        const request = { path: ask.url, method: ask.method, headers: ask.headers, body: body.toString() };
        record(body, 'told');
        try {
            assert.equal(request.method, 'POST');
            assert.equal(ask.headers['content-type'], 'application/json');
            request.json = JSON.parse(request.body);
            judge(request.json);
            request.spans = spansOf(request.json);
        } catch (error) {
            this.bad.push(error.message);
        }
        const what = await this.answer(this.requests.push(request) - 1, request);
        if (what === 'hang') return;
        if (what === 'drop') {
            ask.socket.destroy();
            return;
        }
        const [status, headers = {}, text = '{}'] = [what].flat();
        if (status === 200) this.spans.push(...request.spans ?? []);
        reply.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(text);
    }

    // --- what came ---

    named(name) {
        return this.spans.filter((span) => span.name === name);
    }

    // The first span of that name that fits.
    span(name, fits = () => true) {
        return until(`a span ${name} came`, () => this.named(name).find(fits), 20_000);
    }

    came(n) {
        return until(`${n} requests came`, () => this.requests.length >= n, 20_000);
    }

    trace(traceId) {
        return this.spans.filter((span) => span.traceId === traceId);
    }

    childrenOf(span) {
        return this.spans.filter((one) => one.parentSpanId === span.spanId && one.traceId === span.traceId);
    }
}

// All traces, at once.
export const toReceiver = (receiver, env = {}) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: 'always_on', OTEL_BSP_SCHEDULE_DELAY: '20', ...env,
});
