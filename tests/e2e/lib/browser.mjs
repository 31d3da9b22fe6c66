// browser.mjs - the admin page in Debian's chromium: one browser for a test file, a context of its own for each visit.
// A visit is watched from its first byte to its last: errors on the console, answers that api/openapi.yaml does not
// describe, requests to anywhere but the page and the admin API, and data that became code fail the test.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { record } from './evidence.mjs';
import { assert } from './harness.mjs';
import { check } from './openapi.mjs';
import { ADMIN_TOKEN } from './tokens.mjs';
import { until } from './wait.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const LIMIT_MS = 30_000;
export const AXE = path.join(root, 'tests/e2e/node_modules/axe-core/axe.min.js');
export const SHOTS = path.join(root, 'build/screenshots');

// --- the words that the page says ---

// They come from the server that is looked at: a program of yesterday says yesterday's words.
const words = { en: {}, ja: {} };

async function learn(origin) {
    if (Object.keys(words.en).length) return;
    const text = async (name) => (await fetch(`${origin}/admin/words/${name}`)).text();
    for (const [, name] of (await text('index.js')).matchAll(/from '\.\/(\w+\.js)'/g)) {
        const { default: area } = await import(`data:text/javascript,${encodeURIComponent(await text(name))}`);
        for (const lang of ['en', 'ja']) Object.assign(words[lang], area[lang]);
    }
}

// say('dlq.letters.n', { n: 3 }), as lib/i18n.js says it.
const speaker = (lang) => (key, vars = {}) => {
    assert.ok(key in words[lang], `no word ${key}`);
    return words[lang][key].replace(/\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g, (_, name, one, many) =>
        (many === undefined ? String(vars[name]) : vars[name] === 1 ? one : many));
};
export const yen = (amount, lang) => new Intl.NumberFormat(lang === 'ja' ? 'ja-JP' : 'en-GB',
    { style: 'currency', currency: 'JPY', currencyDisplay: 'symbol' }).format(amount);

// --- one browser ---

let running;
let folder;
after(async () => {
    if (running) await (await running).close();
    if (folder) fs.rmSync(folder, { recursive: true, force: true });
});

// Its profile stands in a folder of ours: playwright asks TMPDIR at the launch, and nobody else may meanwhile.
async function launch() {
    const before = process.env.TMPDIR;
    process.env.TMPDIR = folder;
    try {
        return await chromium.launch({
            executablePath: execFileSync('sh', ['-c', 'command -v chromium-headless-shell || command -v chromium'], { encoding: 'utf8' }).trim(),
            args: ['--no-sandbox', '--disable-dev-shm-usage', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
            env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, LANG: 'C.UTF-8' },
        });
    } finally {
        if (before === undefined) delete process.env.TMPDIR;
        else process.env.TMPDIR = before;
    }
}

function browser() {
    folder ??= fs.mkdtempSync(path.join(os.tmpdir(), 'ichido-browser-'));
    return (running ??= launch());
}

// --- what a visit did ---

const REASON = { 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found', 409: 'Conflict', 422: 'Unprocessable Content',
    429: 'Too Many Requests', 502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout' };
const expected = (what) => `Failed to load resource: ${what in REASON ? `the server responded with a status of ${what} (${REASON[what]})` : what}`;

function watch(page, seen, server, allow) {
    const lines = allow.map(expected);
    page.on('console', (line) => line.type() === 'error' && !lines.includes(line.text()) && seen.wrong.push(`console: ${line.text()} ${line.location().url}`));
    page.on('pageerror', (error) => seen.wrong.push(`error: ${error.stack}`));
    page.on('request', (request) => {
        const url = new URL(request.url());
        seen.requests.push({ method: request.method(), url });
        const ours = url.origin === server.origin && /^\/(admin|api\/v1\/admin)(\/|$)/.test(url.pathname);
        if (!ours && url.protocol !== 'blob:') seen.wrong.push(`request: ${request.method()} ${url.href.slice(0, 200)}`);
    });
    page.on('response', async (response) => {
        const { pathname } = new URL(response.url());
        const text = await response.text().catch(() => null); // the page went on before the end
        if (text === null) return;
        if (pathname.startsWith('/admin')) seen.files.set(pathname, { bytes: Buffer.byteLength(text), headers: response.headers() });
        else if (pathname.startsWith('/api/')) held(seen, response, pathname, text);
    });
}

// The page's own answers, held against their description like those of every test.
function held(seen, response, pathname, text) {
    record(`${response.status()} ${text}\n`);
    try {
        check(response.request().method(), pathname, { status: response.status(), headers: response.headers(), text });
    } catch (error) {
        seen.wrong.push(`answer: ${error.message}`);
    }
}

// Before any script of the page: a trap for data that becomes code, and the browser's word on the policy.
const TRAP = `Object.defineProperty(window, 'trapped', { get: () => false, set: (v) => console.error('data became code: ' + v) });
document.addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI));`;

// Options: lang, theme, width, height, allow (statuses and net errors that the test provokes), axe. Returns the visit.
export async function visit(t, server, { lang = 'en', theme = 'light', width = 1280, height = 900, allow = [], axe = false, context: shared } = {}) {
    server.origin ??= `http://127.0.0.1:${server.port}`;
    await learn(server.origin);
    const context = shared ?? await (await browser()).newContext({
        locale: lang === 'ja' ? 'ja-JP' : 'en-GB', timezoneId: 'Asia/Tokyo', colorScheme: theme, viewport: { width, height }, reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(LIMIT_MS);
    if (!shared) {
        t.atEnd(() => context.close());
        await context.addInitScript(TRAP);
        if (axe) await context.addInitScript({ path: AXE });
    }
    const page = await context.newPage();
    const seen = { wrong: [], requests: [], files: new Map() };
    watch(page, seen, server, allow);
    const visitor = new Visit({ page, context, server, seen, lang, theme, width, say: speaker(lang) });
    t.atEnd(async () => {
        if (t.failure) await visitor.shot(`failed-${t.name.replace(/\W+/g, '-').slice(0, 60)}`).catch(() => {});
        assert.deepEqual(seen.wrong, [], 'the visit was clean');
    });
    return visitor;
}

class Visit {
    constructor(parts) {
        Object.assign(this, parts);
    }

    // By the link that `ichido serve` prints.
    async login(token = ADMIN_TOKEN) {
        await this.page.goto(`${this.server.origin}/admin/#token=${encodeURIComponent(token)}`);
        return this.inside();
    }

    async loginAs(user, password) {
        await this.page.goto(`${this.server.origin}/admin/`);
        await this.page.getByRole('radio', { name: this.say('login.with_user') }).check();
        for (const [name, value] of Object.entries({ user, password })) await this.page.locator(`.login-card [name=${name}]`).fill(value);
        await this.button('login.submit').click();
        return this.inside();
    }

    async inside() {
        await this.page.locator('#nav').waitFor({ state: 'attached' });
        await this.page.locator('main h1').first().waitFor();
        return this;
    }

    // Another view, all of it: nothing is loading any more.
    async open(where) {
        await this.page.evaluate((hash) => (location.hash = hash), `#${where}`);
        return this.ready(where);
    }

    async ready(where) {
        await this.page.waitForFunction((hash) => location.hash === `#${hash}` && document.querySelector('main h1, main .error-box') && !document.querySelector('main .loading'), where);
        return this;
    }

    button(key, vars) {
        return this.page.getByRole('button', { name: this.say(key, vars), exact: true });
    }

    link(key, vars) {
        return this.page.getByRole('link', { name: this.say(key, vars), exact: true });
    }

    field(key, vars) {
        return this.page.getByLabel(this.say(key, vars), { exact: true });
    }

    dialog(key, vars) {
        return this.page.getByRole('dialog', { name: this.say(key, vars), exact: true });
    }

    // Waits until these words stand there.
    async reads(text, within = this.page.locator('main')) {
        await within.getByText(text, { exact: false }).first().waitFor();
    }

    // No part of the page is wider than the window.
    async fits(what) {
        const { scroll, client } = await this.page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth }));
        assert.ok(scroll <= client, `${what} is ${scroll} px wide in a window of ${client}`);
    }

    async shot(step, { full = true } = {}) {
        fs.mkdirSync(SHOTS, { recursive: true });
        const name = `${step}-${this.lang}-${this.theme}${this.width < 600 ? '-phone' : ''}.png`;
        await this.page.screenshot({ path: path.join(SHOTS, name), fullPage: full });
    }

    // Serious and critical findings of axe; `rules`: only these.
    async axe(rules) {
        const found = await this.page.evaluate((only) => window.axe.run(document, {
            resultTypes: ['violations'], preload: false, iframes: false, ...(only && { runOnly: { type: 'rule', values: only } }),
        }), rules);
        assert.ok(found.passes.length > 0, 'axe has looked');
        return found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
            .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 4).map((node) => `${node.target} ${node.any[0]?.message ?? ''}`).join(' | ')}`);
    }

    // What the page's own script would send, with its cookie; csrf as wanted.
    send(method, where, { csrf, body = {}, key } = {}) {
        return this.page.evaluate(async ([verb, url, headers, text]) => {
            const answer = await fetch(url, { method: verb, headers, body: text, credentials: 'same-origin' });
            return { status: answer.status, body: await answer.json().catch(() => null) };
        }, [method, `/api/v1/admin/${where}`, {
            'Content-Type': 'application/json', ...(csrf && { 'X-CSRF-Token': csrf }), ...(key && { 'Idempotency-Key': key }),
        }, method === 'GET' ? undefined : JSON.stringify(body)]);
    }

    csrf() {
        return this.send('GET', 'session').then(({ body }) => body.csrf);
    }

    // The element that has the keyboard: its text or its label.
    focused() {
        return this.page.evaluate(() => {
            const at = document.activeElement;
            return (at?.getAttribute('aria-label') || at?.textContent || at?.getAttribute('name') || at?.tagName || '').trim().slice(0, 80);
        });
    }

    // Tab until the element is reached, as somebody without a mouse does it.
    async tabTo(locator, most = 80) {
        for (let i = 0; i < most; i++) {
            if (await locator.evaluate((el) => el === document.activeElement)) return;
            await this.page.keyboard.press('Tab');
        }
        assert.fail(`the keyboard does not get to ${locator}; it is at ${await this.focused()}`);
    }

    urls() {
        return this.context.newCDPSession(this.page).then((cdp) => cdp.send('Page.getNavigationHistory')).then(({ entries }) => entries.map(({ url }) => url));
    }

    until(what, read) {
        return until(what, read, LIMIT_MS);
    }
}
