// sqlite_shell.mjs - questions to a SQLite file, past the server, through one `sqlite3` that is kept while questions come:
// a process for each would cost more than what the tests are about. It ends after a moment without any.
import { spawn } from 'node:child_process';

const IDLE_MS = 200;
const END = '--that was all--';

// One process, and the questions whose answers are to come, in order.
class Shell {
    constructor(file) {
        this.asked = [];
        this.said = '';
        // Errors come between the answers, where they belong.
        this.child = spawn('sh', ['-c', 'exec sqlite3 -batch -json -cmd ".timeout 5000" "$0" 2>&1', file]);
        this.child.stdin.on('error', () => {}); // its end says why
        this.child.stdout.setEncoding('utf8').on('data', (part) => this.read(part));
        this.gone = new Promise((resolve) => {
            this.child.on('close', () => {
                for (const { reject } of this.asked.splice(0)) reject(new Error(`sqlite3 ended: ${this.said}`));
                resolve();
            });
        });
    }

    ask(sql) {
        return new Promise((resolve, reject) => {
            this.asked.push({ resolve, reject, sql });
            this.child.stdin.write(`${sql}\n;\n.print '${END}'\n`);
        });
    }

    read(part) {
        this.said += part;
        for (let at = this.said.indexOf(END); at >= 0; at = this.said.indexOf(END)) {
            const answer = this.said.slice(0, at).trim();
            this.said = this.said.slice(at + END.length);
            const { resolve, reject, sql } = this.asked.shift();
            if (!answer) resolve([]);
            else if (answer.startsWith('[')) resolve(JSON.parse(answer));
            else reject(new Error(`${answer}\n${sql}`));
        }
    }
}

export class SqliteShell {
    #file;
    #shell;
    #idle;

    constructor(file) {
        this.#file = file;
    }

    // The rows as objects. Blobs are to be asked for as hex.
    async ask(sql) {
        clearTimeout(this.#idle);
        const shell = (this.#shell ??= this.#open());
        try {
            return await shell.ask(sql);
        } finally {
            clearTimeout(this.#idle);
            if (!shell.asked.length && this.#shell === shell) this.#idle = setTimeout(() => this.close(), IDLE_MS);
        }
    }

    // Resolves when its process is gone, and the file is free of it.
    async close() {
        clearTimeout(this.#idle);
        const shell = this.#shell;
        this.#forget(shell);
        shell?.child.stdin.end();
        await shell?.gone;
    }

    #open() {
        const shell = new Shell(this.#file);
        shell.gone.then(() => this.#forget(shell));
        return shell;
    }

    #forget(shell) {
        if (this.#shell === shell) this.#shell = undefined;
    }
}
