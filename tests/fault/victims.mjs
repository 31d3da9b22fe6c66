// victims.mjs - what the crash tests share: moments from a seed, and servers that die.
import http from 'node:http';
import { Server } from '../e2e/lib/server.mjs';
import { pause } from '../e2e/lib/wait.mjs';

const ENV = { ICHIDO_WEBHOOK_RETRIES: '100', ICHIDO_LOG_LEVEL: 'info' }; // a kill is no fault of the message

// mulberry32: small, and good enough to pick moments.
export function random(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = Math.imul(state ^ (state >>> 15), state | 1);
        t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

export class Node {
    constructor(db) {
        this.db = db;
        this.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
    }

    spawn() {
        this.server = new Server(this.db, { env: ENV });
        return this.server;
    }

    async start() {
        this.spawn();
        await this.server.listening();
        this.up = true;
    }

    async kill() {
        this.up = false;
        const how = await this.server.kill();
        if (how.signal !== 'SIGKILL') throw new Error(`it ended by itself: ${JSON.stringify(how)}\n${this.server.tail()}`);
    }

    // Killed while it starts: recovery and migration are interrupted, too.
    async dieEarly(ms) {
        this.spawn();
        await pause(ms);
        await this.kill();
    }
}
