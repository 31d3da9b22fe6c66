// evidence.mjs - all that a run printed and answered, and all that must never be in it. The files
// stand in E2E_EVIDENCE; without it (one test file run by hand) they go to a folder of their own.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export const folder = process.env.E2E_EVIDENCE
    ?? fs.mkdtempSync(path.join(os.tmpdir(), 'ichido-evidence-'));

const secretFile = path.join(folder, `secret.${process.pid}`);
const outputFile = path.join(folder, `output.${process.pid}`);
const seen = new Set();

export function remember(secret) {
    if (seen.has(secret)) return;
    seen.add(secret);
    fs.appendFileSync(secretFile, `${secret}\n`);
}

export const record = (text) => fs.appendFileSync(outputFile, text);

const lines = (prefix) => fs.readdirSync(folder).filter((name) => name.startsWith(prefix))
    .map((name) => fs.readFileSync(path.join(folder, name), 'latin1'));

export const secrets = () => new Set(lines('secret.').flatMap((text) => text.split('\n'))
    .filter((line) => line.length > 0));
export const outputs = () => lines('output.');
