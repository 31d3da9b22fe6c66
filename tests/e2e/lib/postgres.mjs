// postgres.mjs - a PostgreSQL of a test's own, for tests that stop it, kill it and start it again.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './ports.mjs';
import { postgresStore } from './stores.mjs';

const run = promisify(execFile);
const root = process.getuid() === 0;

// The cluster must not belong to root, so root hands it to the postgres user.
const as = (program, args) => (root
    ? run('runuser', ['-u', 'postgres', '--', program, ...args])
    : run(program, args));

const newestBin = () => {
    const base = process.env.POSTGRES_HOME ?? '/usr/lib/postgresql';
    const versions = fs.readdirSync(base).sort((a, b) => Number(a) - Number(b));
    return path.join(base, versions.at(-1), 'bin');
};

export class Cluster {
    static async create() {
        const cluster = new Cluster();
        cluster.bin = process.env.TEST_POSTGRES_BIN ?? newestBin();
        cluster.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ichido-pg-'));
        cluster.data = path.join(cluster.folder, 'data');
        if (root) await run('chown', ['postgres', cluster.folder]);
        cluster.port = await freePort();
        await as(path.join(cluster.bin, 'initdb'),
            ['-D', cluster.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']);
        fs.appendFileSync(path.join(cluster.data, 'postgresql.conf'),
            `listen_addresses = '127.0.0.1'\nport = ${cluster.port}\n`
            + `unix_socket_directories = '${cluster.folder}'\nmax_connections = 100\n`);
        await cluster.start();
        return cluster;
    }

    get url() {
        return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
    }

    get store() {
        return postgresStore(this.url);
    }

    start() {
        return as(path.join(this.bin, 'pg_ctl'),
            ['-D', this.data, '-l', path.join(this.folder, 'log'), '-w', '-s', 'start']);
    }

    // immediate: as if the machine had lost its power, so the next start recovers.
    stop() {
        return as(path.join(this.bin, 'pg_ctl'), ['-D', this.data, '-m', 'immediate', '-w', '-s', 'stop']);
    }

    // SIGKILL for the postmaster; its children notice by themselves.
    async kill() {
        const pid = Number(fs.readFileSync(path.join(this.data, 'postmaster.pid'), 'utf8').split('\n')[0]);
        process.kill(pid, 'SIGKILL');
        await this.startAgain();
    }

    // After a kill the old children may still hold the shared memory for a moment.
    async startAgain(tries = 100) {
        for (;;) {
            try {
                await this.start();
                return;
            } catch (error) {
                if (--tries === 0) throw error;
                await new Promise((resolve) => setTimeout(resolve, 50));
            }
        }
    }

    async remove() {
        await this.stop().catch(() => {});
        fs.rmSync(this.folder, { recursive: true, force: true });
    }
}
