// server.mjs - the real program as a child: its own folder, its own free port, every line it
// prints kept. A server that a test did not kill must end with 0 on SIGTERM; complaint() says what was wrong.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { record } from './evidence.mjs';
import { request } from './http.mjs';
import { payments } from './payments.mjs';
import { reportIn, reportOf } from './reports.mjs';
import { nowSeconds, pretty, SECRET, sign } from './stripe.mjs';
import { ADMIN_TOKEN, JWT_SECRET } from './tokens.mjs';
import { until } from './wait.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const RELEASE = path.join(root, 'build/ichido');
export const PROGRAM = path.resolve(process.env.ICHIDO_BIN ?? RELEASE);
// An ASan build serves SQLite (and is every command line); PostgreSQL is served by the release build.
export const UNDER_ASAN = Boolean(process.env.E2E_REPORTS);
const serverProgram = (db) => (UNDER_ASAN && db?.kind === 'postgres' ? RELEASE : PROGRAM);

// What a child of ours gets of our own environment: nothing else leaks in.
export const programEnv = {
    PATH: process.env.PATH,
    ...(process.env.ASAN_OPTIONS && { ASAN_OPTIONS: process.env.ASAN_OPTIONS }),
    ...(process.env.UBSAN_OPTIONS && { UBSAN_OPTIONS: process.env.UBSAN_OPTIONS }),
};
export const WEBHOOK = '/api/v1/webhooks/stripe';

export const newFolder = () => fs.mkdtempSync(path.join(os.tmpdir(), 'ichido-e2e-'));

// The product's limits of waiting for the database are short: on a busy machine they would be a test's luck.
export const PATIENCE = { ICHIDO_TEST_PATIENCE: '10' };

// The settings that a test starts from. Nothing of the caller's environment leaks in.
const settings = (db, sandbox, env) => ({
    ...programEnv,
    ICHIDO_LISTEN: '127.0.0.1:0',
    ICHIDO_DB: db?.url,
    ICHIDO_LOG_LEVEL: 'debug',
    ICHIDO_TEST_CLOCK: 'on',
    ...(env?.ICHIDO_MODE !== 'production' && PATIENCE),
    STRIPE_WEBHOOK_SECRET: SECRET,
    ICHIDO_SANDBOX_LISTEN: '127.0.0.1:0',
    ICHIDO_SANDBOX_DB: sandbox && `sqlite:${sandbox}`,
    ICHIDO_JWT_SECRET: JWT_SECRET,
    ICHIDO_ADMIN_TOKEN: ADMIN_TOKEN,
    ICHIDO_HEAL_MS: '0', // a test that moves the clock would have its lost webhooks healed
    ICHIDO_RECONCILE_AT: 'off',
    ...env,
});

// Tables that are there already: half the time of a start. On a disk that is full or read-only the server says so itself.
function makeBooks(file) {
    try {
        fs.copyFileSync(process.env.E2E_TEMPLATE, file);
    } catch (error) {
        if (!['EROFS', 'ENOSPC', 'EACCES'].includes(error.code)) throw error;
        fs.rmSync(file, { force: true });
    }
}

// The sandbox's books: a server that is started again finds those of the one before it, a second one
// beside it has its own.
function takeBooks(db) {
    if (!db?.folder) return undefined;
    db.books ??= new Set();
    let file;
    for (let i = 0; !file || db.books.has(file); i++) file = path.join(db.folder, `sandbox${i || ''}.db`);
    db.books.add(file);
    if (process.env.E2E_TEMPLATE && !fs.existsSync(file)) makeBooks(file);
    return file;
}

// How a bug of the program ends it: by a signal, or by its number where a shell stands between.
const CRASHES = { SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGSEGV: 11, SIGSYS: 31 };
const isCrash = ({ code, signal }) => signal in CRASHES || Object.values(CRASHES).includes(code - 128);
// Lines that only a bug of a handler writes (src/http/).
const BUGS = ['A request was answered twice', 'The server ended before a request was answered'];

export class Server {
    #exit;
    #isJudged = false; // the test waits for its end and looks at it
    #killsItself;      // at a fault point of its settings

    // Options: env, and argv for another command line (to be wrapped in systemd-socket-activate).
    constructor(db, { env = {}, argv = [serverProgram(db), 'serve'], cwd } = {}) {
        this.db = db;
        this.lines = [];
        this.stdout = '';
        this.stderr = '';
        this.begun = ''; // a line that has no end yet
        this.offsetMs = 0;
        this.waiters = new Set();
        const books = takeBooks(db);
        const all = Object.entries(settings(db, books, env)).filter(([, value]) => value !== undefined);
        this.child = spawn(argv[0], argv.slice(1), {
            cwd: cwd ?? os.tmpdir(), env: Object.fromEntries(all), stdio: ['ignore', 'pipe', 'pipe'],
        });
        this.pid = this.child.pid;
        this.#killsItself = /=crash\b/.test(env.ICHIDO_FAULTS ?? '');
        this.#exit = new Promise((resolve) => {
            this.child.on('close', (code, signal) => resolve({ code, signal }));
            this.child.on('error', (error) => resolve({ code: -1, error }));
        });
        this.#exit.then((how) => {
            this.ended = how;
            db?.books?.delete(books);
            this.#changed();
        });
        this.child.stdout.on('data', (part) => {
            this.stdout += part; // the dev banner shows its secret on purpose (D25)
        });
        this.child.stderr.on('data', (part) => this.#read(part));
    }

    #read(part) {
        record(part, 'told');
        this.stderr += part;
        const whole = (this.begun + part).split('\n');
        this.begun = whole.pop();
        for (const line of whole) this.lines.push(parse(line));
        this.#changed();
    }

    #changed() {
        for (const check of [...this.waiters]) check();
    }

    // Resolves with the first log line that fits, past or future; rejects when the program ends.
    line(what, fits, limitMs = 20_000) {
        return new Promise((resolve, reject) => {
            const finish = (settle, value) => {
                clearTimeout(timer);
                this.waiters.delete(check);
                settle(value);
            };
            const check = () => {
                const found = this.lines.find(fits);
                if (found) finish(resolve, found);
                else if (this.ended) finish(reject, new Error(`it ended before: ${what}\n${this.tail()}`));
            };
            const timer = setTimeout(
                () => finish(reject, new Error(`no line came: ${what}\n${this.tail()}`)), limitMs);
            this.waiters.add(check);
            check();
        });
    }

    async listening(limitMs) {
        const line = await this.line('listening', (l) => l.message === 'listening', limitMs);
        this.port = Number(line.address.split(':').pop());
        const sandbox = this.lines.find((l) => l.message === 'sandbox listening'); // said before
        if (sandbox) this.sandboxPort = Number(sandbox.address.split(':').pop());
        return this;
    }

    tail(count = 25) {
        return [...this.stdout.split('\n'), ...this.stderr.split('\n')].slice(-count).join('\n');
    }

    // --- speaking to it ---

    request(options, body) {
        return request(this.port, { ...this.defaults, ...options }, body);
    }

    get(where, headers = {}) {
        return this.request({ path: where, headers });
    }

    // Delivers an event (object, text or bytes) as Stripe would.
    deliver(event, { headers = {}, signature, ...how } = {}) {
        const body = typeof event === 'string' || Buffer.isBuffer(event) ? event : pretty(event);
        const at = this.nowSeconds();
        return this.request({
            method: 'POST', path: WEBHOOK, ...how.options,
            headers: {
                'Content-Type': 'application/json; charset=utf-8',
                'Content-Length': Buffer.byteLength(body),
                'Stripe-Signature': signature ?? sign(body, { at, ...how }),
                ...headers,
            },
        }, body);
    }

    nowSeconds() {
        return nowSeconds() + Math.floor(this.offsetMs / 1000);
    }

    nowMs() {
        return Date.now() + this.offsetMs;
    }

    async advance(ms) {
        const body = JSON.stringify({ advanceMs: ms });
        const answer = await this.request({
            method: 'POST', path: '/test/clock', headers: { 'Content-Type': 'application/json' },
        }, body);
        if (answer.status >= 300) throw new Error(`test clock: ${answer.status} ${answer.text}`);
        this.offsetMs += ms;
    }

    // What is counted by the minute of the calendar has all of one before it.
    newMinute() {
        return this.advance(60_000 - (Date.now() + this.offsetMs) % 60_000);
    }

    async metrics() {
        const { text } = await this.get('/metrics');
        record(text, 'told');
        return new Metrics(text);
    }

    // Waits until the queue has nothing to do with that event any more.
    settled(id) {
        return until(`${id} has an outcome`, () => this.db.outcome(id));
    }

    // --- ending it ---

    async kill() {
        await this.db?.leave?.();
        this.child.kill('SIGKILL');
        return this.#exit;
    }

    async stop() {
        await this.db?.leave?.();
        this.child.kill('SIGTERM');
        return this.#exit;
    }

    // Resolves with {code, signal} when it has ended. Who asks for it expects an end and judges it, whatever its code.
    get exit() {
        this.#isJudged = true;
        return this.#exit;
    }

    // An end is fine where the test caused it: a signal that the test sent, a fault point that kills, an end that the test
    // waits for. A crash never is.
    #endedWell() {
        const { code, signal } = this.ended;
        if (isCrash(this.ended)) return false;
        if (signal) return this.child.killed || (this.#killsItself && signal === 'SIGKILL');
        if (this.child.killed && code === 0) return true;
        const listened = this.lines.some((line) => line.message === 'listening');
        return this.#isJudged && !(this.#killsItself && listened); // its fault point was to kill it
    }

    // What is wrong with it after its end, or undefined: a sanitizer's report, a bug that it logged, an end that nobody wanted.
    complaint() {
        const report = reportOf(this.pid) ?? reportIn(this.stderr) ?? reportIn(this.stdout);
        if (report) return `pid ${this.pid}: ${report}`;
        const bug = BUGS.find((words) => this.stderr.includes(words));
        if (bug) return `pid ${this.pid} logged a bug: ${this.stderr.split('\n').filter((line) => line.includes(bug)).join('\n')}`;
        if (this.ended && !this.#endedWell())
            return `pid ${this.pid} ended by itself: ${JSON.stringify(this.ended)}\n${this.tail()}`;
        return undefined;
    }
}

Object.assign(Server.prototype, payments);

function parse(line) {
    try {
        return JSON.parse(line);
    } catch {
        return { plain: line };
    }
}

// Prometheus text: get('name') or get('name', {label: 'value'}).
export class Metrics {
    constructor(text) {
        this.text = text;
        this.values = new Map();
        for (const line of text.split('\n')) {
            const cut = line.lastIndexOf(' ');
            if (line && !line.startsWith('#')) this.values.set(line.slice(0, cut), Number(line.slice(cut + 1)));
        }
    }

    get(name, labels = {}) {
        const inside = Object.entries(labels).map(([key, value]) => `${key}="${value}"`).join(',');
        const full = inside ? `${name}{${inside}}` : name;
        if (!this.values.has(full)) throw new Error(`no metric ${full}`);
        return this.values.get(full);
    }
}
