// endpoints.mjs - a receiver of webhooks that the sandbox knows as an endpoint, not as its own.
import http from 'node:http';
import { until } from './wait.mjs';

// Every delivery is kept; `answer(delivery, got)` gives the status.
export async function receiver(t, answer = () => 200) {
    const got = [];
    const server = http.createServer((request, response) => {
        const parts = [];
        request.on('data', (part) => parts.push(part));
        request.on('end', () => {
            const body = Buffer.concat(parts).toString();
            const one = { body, headers: request.headers, event: JSON.parse(body) };
            got.push(one);
            response.writeHead(answer(one, got)).end();
        });
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    t.atEnd(async () => {
        server.closeAllConnections();
        await new Promise((resolve) => { server.close(resolve); });
    });
    return {
        got,
        url: `http://127.0.0.1:${server.address().port}/hook`,
        types: () => got.map((one) => one.event.type),
        count: (n, limitMs) => until(`${n} deliveries`, () => got.length >= n, limitMs),
    };
}
