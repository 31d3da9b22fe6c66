// victims.mjs - what the crash tests share: moments from a seed, and servers that die.
import fs from 'node:fs';
import http from 'node:http';
import { folder as evidence } from '../e2e/lib/evidence.mjs';
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

// The test on each database that is wanted; says how to run again what failed, and sets the exit code.
export async function runOnEach(name, { seed, kills }, test) {
    const wanted = process.env.STORES?.split(',') ?? ['sqlite', 'postgres'];
    let failed = 0;
    console.log(`${name}: seed ${seed}, ${kills} kills on each database`);
    for (const kind of wanted) {
        try {
            await test(kind);
        } catch (error) {
            failed++;
            console.log(`not ok  ${kind}: ${error.stack}\n        again with: SEED=${seed} KILLS=${kills} STORES=${kind} node tests/fault/${name}.mjs`);
        }
    }
    if (!process.env.E2E_EVIDENCE) fs.rmSync(evidence, { recursive: true, force: true });
    console.log(`${wanted.length - failed} passed, ${failed} failed`);
    process.exitCode = failed ? 1 : 0;
}
