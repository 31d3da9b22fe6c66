// stripe_cli.mjs - the real Stripe CLI (npm @stripe/cli), which takes a sandbox for Stripe. It runs
// in a home of its own and can reach loopback only: whatever it asks of the internet (its newest
// version, telemetry) fails at once at a closed port.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { remember } from './evidence.mjs';
import { KEY } from './sandbox.mjs';

const PROGRAM = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../node_modules/@stripe/cli-linux-x64/bin/stripe');
const NOWHERE = 'http://127.0.0.1:1';

const environment = (home, { key = KEY, env = {} }) => ({
    PATH: process.env.PATH,
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, '.config'),
    STRIPE_API_KEY: key,
    STRIPE_DEVICE_NAME: 'ichido-test',
    STRIPE_CLI_TELEMETRY_OPTOUT: '1',
    STRIPE_NO_AUTO_UPDATE: '1',
    HTTPS_PROXY: NOWHERE,
    HTTP_PROXY: NOWHERE,
    NO_PROXY: '127.0.0.1',
    ...env,
});

// What `stripe` says about itself and does: options are apiBase (http://127.0.0.1:PORT), key, env.
export class Cli {
    constructor(args, { apiBase, ...how } = {}) {
        this.home = fs.mkdtempSync(path.join(os.tmpdir(), 'ichido-stripe-cli-'));
        this.stdout = '';
        this.stderr = '';
        this.waiters = new Set();
        this.child = spawn(PROGRAM, [...args, ...(apiBase ? ['--api-base', apiBase] : [])], {
            cwd: this.home, env: environment(this.home, how), stdio: ['ignore', 'pipe', 'pipe'],
            detached: true, // the package's program is a script that starts another: both must end
        });
        for (const name of ['stdout', 'stderr'])
            this.child[name].on('data', (part) => this.#read(name, part));
        this.exit = new Promise((resolve) => {
            this.child.on('close', (code, signal) => resolve({ code, signal }));
            this.child.on('error', (error) => resolve({ code: -1, error }));
        }).then((how) => {
            this.ended = how;
            fs.rmSync(this.home, { recursive: true, force: true });
            for (const check of [...this.waiters]) check();
            return how;
        });
    }

    #read(name, part) {
        this[name] += part;
        for (const check of [...this.waiters]) check();
    }

    get output() {
        return this.stdout + this.stderr;
    }

    // Resolves with the match of what was said, or will be; rejects when the program ends.
    waitFor(pattern, limitMs = 30_000) {
        return new Promise((resolve, reject) => {
            const finish = (settle, value) => {
                clearTimeout(timer);
                this.waiters.delete(check);
                settle(value);
            };
            const check = () => {
                const found = this.output.match(pattern);
                if (found) finish(resolve, found);
                else if (this.ended) finish(reject, new Error(`stripe ended before ${pattern}:\n${this.output}`));
            };
            const timer = setTimeout(
                () => finish(reject, new Error(`stripe never said ${pattern}:\n${this.output}`)), limitMs);
            this.waiters.add(check);
            check();
        });
    }

    #signal(name) {
        try {
            process.kill(-this.child.pid, name); // its own group, see detached
        } catch (error) {
            if (error.code !== 'ESRCH') throw error;
        }
    }

    // Ends it as Ctrl-C does, and for good where that does not help.
    async stop() {
        if (this.ended) return this.ended;
        this.#signal('SIGINT');
        const timer = setTimeout(() => this.#signal('SIGKILL'), 5_000);
        const how = await this.exit;
        clearTimeout(timer);
        this.#signal('SIGKILL'); // the script may end before what it started
        return how;
    }

    async kill() {
        this.#signal('SIGKILL');
        return this.exit;
    }
}

// One command from its start to its end.
export async function run(args, options = {}) {
    const cli = new Cli(args, options);
    const timer = setTimeout(() => cli.kill(), options.limitMs ?? 60_000);
    const { code } = await cli.exit;
    clearTimeout(timer);
    return { code, stdout: cli.stdout, stderr: cli.stderr };
}

// A command that goes on: stop it with cli.stop().
export const start = (args, options) => new Cli(args, options);

// Where a server's sandbox is for the CLI, which takes no name for an address.
export const baseOf = (server) => `http://127.0.0.1:${server.sandboxPort}`;

// `stripe listen` that is ready, and the secret it shows; it ends with the test.
export async function listen(t, server, args = [], options = {}) {
    const cli = start(['listen', '--skip-update', ...args], { apiBase: baseOf(server), ...options });
    t.atEnd(() => cli.stop());
    const [, secret] = await cli.waitFor(/Ready![\s\S]*?(whsec_[0-9a-f]{64})/);
    remember(secret);
    cli.secret = secret;
    return cli;
}
