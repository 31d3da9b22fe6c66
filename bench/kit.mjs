// kit.mjs - what all rows of the table need: a server on a fresh database, the load generator, a look
// at the server's process, and the table itself.
import { execFile, execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { newFolder, PROGRAM, Server } from '../tests/e2e/lib/server.mjs';
import { SECRET } from '../tests/e2e/lib/stripe.mjs';
import { until } from '../tests/e2e/lib/wait.mjs';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
export const SECONDS = Number(process.env.SECONDS_EACH ?? 5);
export const ENV = { ICHIDO_LOG_LEVEL: 'info', ICHIDO_TEST_CLOCK: undefined };

const execute = promisify(execFile);
export const tool = (name) => path.join(process.env.BENCH_BIN ?? path.join(root, 'build/release/bench'), name);

// Their last words are JSON, also where they exit 1 because an answer was not the one wanted.
export async function runTool(name, args) {
    try {
        return JSON.parse((await execute(tool(name), args.map(String))).stdout);
    } catch (error) {
        if (error.stdout) return JSON.parse(error.stdout);
        throw new Error(`${name} ${args[0]}: ${error.stderr || error.message}`); // without all those tokens
    }
}

export const load = (server, args) => runTool('loadgen', [server.port, '--seconds', SECONDS, ...args]);
export const events = (server, args = []) => load(server, ['--secret', SECRET, ...args]);

// --- the table ---

export const rows = [];

export function row(what, goal, measured, ok) {
    rows.push({ what, goal, measured, ok });
    console.log(`${ok === undefined ? '   ' : ok ? ' ok' : ' !!'}  ${what.padEnd(46)} ${goal.padEnd(22)} ${measured}`);
}

export const whole = (n) => Math.round(n).toLocaleString('en-US');
export const ms = (us) => `${(us / 1000).toFixed(1)} ms`;
export const times = (r) => `p50 ${ms(r.p50_us)}, p99 ${ms(r.p99_us)}, max ${ms(r.max_us)}`;

// --- servers ---

// Its lines go to a file in memory: at the other end of a pipe they would take half a core of ours, twenty thousand a
// second. What it says until it listens is read from there.
const writingTo = (log) => ['sh', '-c', 'exec "$0" serve 2> "$1"', PROGRAM, log];

async function listening(server, log) {
    await until('it listens, or has ended', () => /"message":"listening"/.test(fs.readFileSync(log, 'utf8')) || server.ended);
    server.child.stderr.emit('data', fs.readFileSync(log, 'utf8'));
    await server.listening();
}

async function silentlyListening(server, env) {
    server.port = Number(env.ICHIDO_LISTEN.split(':')[1]);
    await until('it answers', () => server.get('/healthz').then(({ status }) => status === 200, () => false));
}

// A running server with its own fresh database, stopped and removed afterwards.
export async function withServer(store, env, use, prepare) {
    const folder = newFolder();
    const db = Object.assign(await store.fresh(folder), { folder }); // the sandbox's books stand there too
    const log = path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : folder, `${path.basename(folder)}.log`);
    fs.writeFileSync(log, '');
    if (prepare) await prepare(db);
    const began = process.hrtime.bigint();
    const server = new Server(db, { env: { ...ENV, ...env }, argv: writingTo(log) });
    try {
        if (env.ICHIDO_LOG_LEVEL === 'error') await silentlyListening(server, env); // no line says so
        else await listening(server, log);
        server.startMs = Number(process.hrtime.bigint() - began) / 1e6;
        return await use(server);
    } finally {
        if (!server.ended) await server.stop();
        await db.drop();
        fs.rmSync(folder, { recursive: true, force: true });
        fs.rmSync(log, { force: true });
    }
}

// A destination that answers 200 and counts.
export async function withReceiver(use) {
    const child = spawn(tool('receiver'), { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const line = async () => JSON.parse((await lines.next()).value);
    const { port } = await line();
    const count = async () => {
        child.stdin.write('?\n');
        return (await line()).count;
    };
    try {
        return await use({ port, count });
    } finally {
        child.stdin.end();
        child.kill();
    }
}

const status = (server, name) => {
    const text = fs.readFileSync(`/proc/${server.pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)[1]);
};
export const memory = (server) => status(server, 'VmRSS') / 1024;
export const threads = (server) => status(server, 'Threads');

export const cpuTicks = (server) => {
    const fields = fs.readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return Number(fields[11]) + Number(fields[12]);
};

export const live = async (server) => (await server.metrics()).get('ichido_queue_live');

const OUTCOMES = ['processed', 'applied', 'superseded', 'ignored', 'wrong_mode', 'dead'];
export const outcomes = (metrics) => OUTCOMES
    .reduce((sum, outcome) => sum + metrics.get('ichido_event_outcome_total', { outcome }), 0);

// Every event that was acknowledged has an outcome. (The queue itself is never empty: it holds what is
// due in an hour or in days.)
export async function drained(server) {
    const began = Date.now();
    await until('every event has an outcome', async () => {
        const m = await server.metrics();
        return outcomes(m) === m.get('ichido_webhook_received_total') - m.get('ichido_webhook_duplicate_total');
    }, 120_000);
    return (Date.now() - began) / 1000;
}

export const sqlite = (file, sql) => execFileSync('sqlite3', [file], { input: sql, stdio: ['pipe', 'ignore', 'inherit'] });
export const sqliteRead = (file, sql) => JSON.parse(execFileSync('sqlite3', ['-json', '-cmd', '.timeout 5000', file, sql]) || '[]');
