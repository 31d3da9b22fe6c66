// http.mjs - two ways to speak to the server: a well-behaved client, and a bare socket for
// everything that a well-behaved client would never send.
import { check } from './openapi.mjs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { record } from './evidence.mjs';

// One request; resolves with {status, headers, text}. `ms` is how long the answer took.
export function request(port, options = {}, body) {
    const { tls, ...rest } = options;
    return new Promise((resolve, reject) => {
        const began = process.hrtime.bigint();
        const client = (tls ? https : http).request({ host: '127.0.0.1', port, ...tls, ...rest });
        client.on('error', reject);
        client.on('response', (answer) => {
            const parts = [];
            answer.on('data', (part) => parts.push(part));
            answer.on('error', reject);
            answer.on('end', () => {
                const text = Buffer.concat(parts).toString();
                const ms = Number(process.hrtime.bigint() - began) / 1e6;
                record(`${answer.statusCode} ${answer.rawHeaders.join(' ')}\n${text}\n`);
                const got = { status: answer.statusCode, headers: answer.headers, text, ms };
                try {
                    if (rest.method !== 'HEAD') check(rest.method ?? 'GET', rest.path ?? '/', got);
                    resolve(got);
                } catch (wrong) {
                    reject(wrong);
                }
            });
        });
        client.end(body);
    });
}

// A bare connection. Bytes that came so far are in `.text`; closed() waits for the end.
export class Raw {
    constructor(port, host = '127.0.0.1') {
        this.bytes = Buffer.alloc(0);
        this.ended = false;
        this.listeners = new Set();
        this.socket = net.connect({ port, host, allowHalfOpen: true });
        this.socket.setNoDelay(true);
        this.socket.on('data', (part) => {
            this.bytes = Buffer.concat([this.bytes, part]);
            record(part.toString('latin1'));
            this.#changed();
        });
        const over = (error) => {
            this.ended = true;
            this.error ??= error;
            this.#changed();
        };
        this.socket.on('end', () => over());
        this.socket.on('close', () => over());
        this.socket.on('error', over);
    }

    #changed() {
        for (const check of [...this.listeners]) check();
    }

    get text() {
        return this.bytes.toString('latin1');
    }

    // The statuses of all answers so far, 100 Continue included.
    get statuses() {
        return [...this.text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map((m) => Number(m[1]));
    }

    opened() {
        if (!this.socket.connecting) return Promise.resolve(this);
        return new Promise((resolve, reject) => {
            this.socket.once('connect', () => resolve(this));
            this.socket.once('error', reject);
        });
    }

    send(data) {
        if (!this.socket.destroyed && this.socket.writable)
            this.socket.write(typeof data === 'string' ? Buffer.from(data, 'latin1') : data);
        return this;
    }

    when(what, holds, limitMs = 15_000) {
        return new Promise((resolve, reject) => {
            const check = () => {
                if (!holds()) return;
                stop();
                resolve(this);
            };
            const timer = setTimeout(() => {
                stop();
                reject(new Error(`still not so: ${what}; got ${JSON.stringify(this.text)}`));
            }, limitMs);
            const stop = () => {
                clearTimeout(timer);
                this.listeners.delete(check);
            };
            this.listeners.add(check);
            check();
        });
    }

    status(count = 1, limitMs) {
        return this.when(`${count} answers`, () => this.statuses.length >= count, limitMs)
            .then(() => this.statuses[count - 1]);
    }

    closed(limitMs) {
        return this.when('the server closes', () => this.ended, limitMs);
    }

    end() {
        this.socket.end();
        return this;
    }

    destroy() {
        this.socket.destroy();
    }
}
