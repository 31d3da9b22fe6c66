// websocket.mjs - a bare WebSocket client, for what a real one would never do: no acknowledgement, no
// reading, frames as one likes. It speaks RFC 6455 just far enough.
import crypto from 'node:crypto';
import net from 'node:net';
import { until } from './wait.mjs';

export function frame(opcode, payload = '', { fin = true, mask = crypto.randomBytes(4) } = {}) {
    const body = Buffer.from(payload);
    const long = body.length > 125;
    const head = Buffer.alloc(long ? 4 : 2);
    head[0] = (fin ? 0x80 : 0) | opcode;
    head[1] = 0x80 | (long ? 126 : body.length);
    if (long) head.writeUInt16BE(body.length, 2);
    return Buffer.concat([head, mask, body.map((byte, i) => byte ^ mask[i % 4])]);
}

export class WebSocketClient {
    constructor(port, path, headers = {}) {
        this.texts = [];
        this.pongs = 0;
        this.bytes = Buffer.alloc(0);
        this.socket = net.connect(port, '127.0.0.1');
        this.socket.on('error', () => {});
        this.socket.on('close', () => { this.ended = true; });
        this.socket.on('data', (part) => this.#read(part));
        const all = {
            Host: `127.0.0.1:${port}`, Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': '13',
            'Sec-WebSocket-Key': crypto.randomBytes(16).toString('base64'), ...headers,
        };
        const lines = Object.entries(all).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${value}\r\n`);
        this.socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    }

    #read(part) {
        this.bytes = Buffer.concat([this.bytes, part]);
        if (!this.head) this.#takeHead();
        while (this.status === 101 && this.#takeFrame());
    }

    #takeHead() {
        const end = this.bytes.indexOf('\r\n\r\n');
        if (end < 0) return;
        this.head = this.bytes.subarray(0, end).toString();
        this.bytes = this.bytes.subarray(end + 4);
        this.status = Number(this.head.split(' ')[1]);
    }

    #takeFrame() {
        const b = this.bytes;
        if (b.length < 2) return false;
        const short = b[1] & 127;
        const head = short === 127 ? 10 : short === 126 ? 4 : 2;
        if (b.length < head) return false;
        const length = short === 127 ? Number(b.readBigUInt64BE(2)) : short === 126 ? b.readUInt16BE(2) : short;
        if (b.length < head + length) return false;
        this.#take(b[0] & 15, b.subarray(head, head + length));
        this.bytes = b.subarray(head + length);
        return true;
    }

    #take(opcode, payload) {
        if (opcode === 1) this.texts.push(payload.toString());
        if (opcode === 8) this.closed = { code: payload.length > 1 ? payload.readUInt16BE(0) : 1005 };
        if (opcode === 9) this.socket.write(frame(10, payload));
        if (opcode === 10) this.pongs++;
    }

    // Waits for the answer to the upgrade; the body of a refusal is what came behind it.
    async answered() {
        await until('the upgrade is answered', () => this.status || this.ended);
        if (this.status !== 101) await until('its body came', () => this.bytes.length > 0 || this.ended);
        return this;
    }

    send(value) {
        this.socket.write(frame(1, typeof value === 'string' ? value : JSON.stringify(value)));
    }

    // A ping that is answered: all that was sent before it has been looked at.
    async ping() {
        const before = this.pongs;
        this.socket.write(frame(9, 'x'));
        await until('a pong', () => this.pongs > before);
    }

    end() {
        this.socket.destroy();
    }
}
