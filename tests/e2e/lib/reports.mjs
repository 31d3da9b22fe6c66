// reports.mjs - what the sanitizers say about the programs that a test starts. ASan and LeakSanitizer write into the folder
// E2E_REPORTS (`log_path`, see tests/e2e/run). UBSan beside ASan ignores `log_path` and writes to standard error, so the
// standard error of every child of a test file is searched, and a report found there is copied into the same folder.
import { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

// Go's own panics also say "runtime error", and some of the tools that tests start are Go programs.
const REPORT = /(?<!panic: )runtime error: |ERROR: (Address|Leak)Sanitizer/;

// Where the first line of a report begins, or -1.
function beginOf(text) {
    const at = text.search(REPORT);
    return at < 0 ? -1 : text.lastIndexOf('\n', at) + 1;
}

// The report in what a program printed, or undefined.
export function reportIn(text) {
    const begin = beginOf(text);
    return begin < 0 ? undefined : text.slice(begin, begin + 8192);
}

const fileOf = (pid) => path.join(process.env.E2E_REPORTS, `report.${pid}`);

// The report that a program left in the folder, or undefined.
export function reportOf(pid) {
    const file = process.env.E2E_REPORTS && fileOf(pid);
    return file && fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}

function search(child) {
    let before = '', found = false;
    child.stderr.on('data', (part) => {
        const text = before + part;
        const begin = found ? 0 : beginOf(text);
        found ||= begin >= 0;
        if (found) fs.appendFileSync(fileOf(child.pid), text.slice(begin));
        before = found ? '' : text.slice(-256); // a report's first line may come in two parts
    });
}

// All of spawn(), execFile() and exec() come through here; nobody who adds a command line has to remember it.
if (process.env.E2E_REPORTS) {
    const { spawn } = ChildProcess.prototype;
    ChildProcess.prototype.spawn = function searched(...options) {
        const error = spawn.apply(this, options);
        if (!error && this.stderr) search(this);
        return error;
    };
}
