// evidence.mjs - all that a run printed and answered, and all that must never be in it. The files
// stand in E2E_EVIDENCE; without it (one test file run by hand) they go to a folder of their own.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const folder = process.env.E2E_EVIDENCE
    ?? fs.mkdtempSync(path.join(os.tmpdir(), 'ichido-evidence-'));

const secretFile = path.join(folder, `secret.${process.pid}`);
const seen = new Set();

export function remember(secret) {
    if (seen.has(secret)) return;
    seen.add(secret);
    fs.appendFileSync(secretFile, `${secret}\n`);
}

// told: what leaves the house by itself, lines, traces, numbers, errors. There a person has no address.
export const record = (text, kind = 'output') => fs.appendFileSync(path.join(folder, `${kind}.${process.pid}`), text);

const named = (prefix) => fs.readdirSync(folder).filter((name) => name.startsWith(prefix)).map((name) => path.join(folder, name));

export const secrets = () => new Set(named('secret.').flatMap((file) => fs.readFileSync(file, 'latin1').split('\n'))
    .filter((line) => line.length > 0));
export const toldFiles = () => named('told.');
export const outputFiles = () => [...named('output.'), ...toldFiles()];
