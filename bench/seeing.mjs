// seeing.mjs - what it costs to be seen: webhooks and payments with everything on (JSON lines, a scrape a second, traces at 10 %
// to a receiver) against the same with all of it off. The two take turns, since a machine is never the same twice.
import http from 'node:http';
import { freePort } from '../tests/e2e/lib/ports.mjs';
import { sqliteStore } from '../tests/e2e/lib/stores.mjs';
import { cpuTicks, drained, events, row, whole, withServer } from './kit.mjs';
import { payFor } from './payments.mjs';

const TURNS = 3;
const off = async () => ({ ICHIDO_LOG_LEVEL: 'error', ICHIDO_SANDBOX_WEBHOOKS: 'off', ICHIDO_LISTEN: `127.0.0.1:${await freePort()}` });
const on = (port) => ({
    ICHIDO_LOG_LEVEL: 'info', ICHIDO_LOG_FORMAT: 'json', ICHIDO_SANDBOX_WEBHOOKS: 'off',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1',
});

async function withCollector(use) {
    let spans = 0;
    const server = http.createServer((request, response) => {
        let text = '';
        request.on('data', (part) => { text += part; });
        request.on('end', () => {
            spans += text.split('"spanId"').length - 1;
            response.setHeader('Content-Type', 'application/json');
            response.end('{}');
        });
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    try {
        return await use(server.address().port, () => spans);
    } finally {
        server.closeAllConnections();
        server.close();
    }
}

async function scraped(server, use) {
    const timer = setInterval(() => { server.get('/metrics').catch(() => {}); }, 1000);
    try {
        return await use();
    } finally {
        clearInterval(timer);
    }
}

async function turn(env, isOn) {
    return withServer(sqliteStore, env, async (server) => {
        const look = isOn ? (use) => scraped(server, use) : (use) => use();
        const ticks = cpuTicks(server);
        const hooks = await look(() => events(server));
        await drained(server);
        const cpu = (cpuTicks(server) - ticks) * 10_000 / hooks.ok;
        const paid = await look(() => payFor(server));
        return { hooks: hooks.rate, hookCpu: cpu, paid: paid.rate, payCpu: paid.cpuUs };
    });
}

const mean = (all, name) => all.reduce((sum, one) => sum + one[name], 0) / all.length;

function costRow(what, none, all, name, unit) {
    const [a, b] = [mean(none, name), mean(all, name)];
    const cost = 100 * (unit === '/s' ? 1 - b / a : b / a - 1);
    row(what, unit === '/s' ? 'costs < 10 %' : '', `${whole(b)} ${unit}, without ${whole(a)} (${cost.toFixed(1)} %)`, unit === '/s' ? cost < 10 : undefined);
}

export async function seeingRows() {
    await withCollector(async (port, spans) => {
        const none = [], all = [];
        for (let i = 0; i < TURNS; i++) {
            none.push(await turn(await off(), false));
            all.push(await turn(on(port), true));
        }
        costRow('webhooks with logs, metrics and traces on', none, all, 'hooks', '/s');
        costRow('  CPU of one, to its outcome', none, all, 'hookCpu', 'us');
        costRow('payments with logs, metrics and traces on', none, all, 'paid', '/s');
        costRow('  CPU of one, sandbox included', none, all, 'payCpu', 'us');
        row('  spans that arrived', '', whole(spans()));
    });
}
