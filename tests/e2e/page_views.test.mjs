// Every view of the admin page in a real browser: what axe finds, what hostile data can do, what a viewer or a stranger
// can change, the keyboard, the phone, sessions that end, answers that are lost, and what the page loads (O7 O8 A3 T3).
import http from 'node:http';
import { Collection } from './lib/collections.mjs';
import { dies, orphan, refusing } from './lib/dlq.mjs';
import { ADMIN_TOKEN, assert, event, start, stores, test, until, uuid } from './lib/harness.mjs';
import { bought, campaign, quiet } from './lib/purchases.mjs';
import { sdk } from './lib/receiver.mjs';
import { dayOf, nextDay, reconciled } from './lib/reconcile.mjs';
import { remember } from './lib/evidence.mjs';
import { imported } from './lib/transfers.mjs';
import { visit, yen } from './lib/browser.mjs';

const [store] = stores;
const HOUR = 3600_000;
const PASSWORD = 'a long enough secret 3';
remember(PASSWORD);

const at = (where) => `/api/v1/admin/${where}`;
const add = async (server, name, role) =>
    assert.equal((await server.call('POST', at('operators'), { as: 'admin', body: { name, role, password: PASSWORD } })).status, 201);
const everything = async (server) => ({
    ...await server.db.state(), operators: await server.db.table('operators'), schedules: await server.db.table('qstash_schedules'),
    collections: await server.db.table('collections'), campaigns: await server.db.table('campaigns'), lines: await server.db.table('bank_lines'), subscribers: await server.db.table('subscribers'),
});

// Something of everything, so that no view is empty. `word` is what outsiders write.
async function town(t, server, word = '花火大会 / fireworks') {
    const short = [...word].slice(0, 180).join('');
    const captured = await server.captured({ description: short });
    await server.refund(captured, 200, { reason: short });
    await server.pay(await server.booking(), { paymentMethod: 'pm_card_chargeDeclined' });
    const payment = await server.paid({ description: short });
    const collection = await Collection.make(server, { title: short, people: [{ id: uuid(), name: short.slice(0, 100), amount: 3000 }] });
    const lots = await campaign(server, { title: short, layers: [{ name: [...word].slice(0, 40).join(''), price: 2000, positions: 3 }] });
    await bought(server, lots.positions[0]);
    const q = sdk(server);
    await q.queue({ queueName: 'mail' }).upsert({ parallelism: 2 });
    await q.schedules.create({ scheduleId: 'nightly', destination: 'https://example.test/p', cron: '0 3 * * *' });
    const letter = await dies(server, orphan());
    const oneLine = short.replace(/\s+/g, ' ');
    await imported(server, [{ text: oneLine, amount: 1200 }, { text: 'x'.repeat(300), amount: 7 }], { query: `?name=${encodeURIComponent(oneLine)}` });
    const [line] = (await server.call('GET', at('transfers/lines'), { as: 'admin' })).body.data;
    assert.equal((await server.call('POST', at(`transfers/lines/${line.id}/set-aside`), { as: 'admin', body: { reason: oneLine, toBeReturned: true } })).status, 200);
    await quiet(server);
    const told = await server.call('POST', at('subscribers'), { as: 'admin', body: { url: `http://127.0.0.1:9/${'long/'.repeat(60)}`, types: ['PaymentRefunded'] } });
    assert.equal(told.status, 201, told.text);
    return { payment, captured, letter, collection, campaign: lots };
}

const viewsOf = ({ payment, captured, letter, collection, campaign: lots }, day) => [
    '/overview', '/payments', `/payments/${captured.id}`, `/payments/${payment.id}`, '/collections', `/collections/${collection.id}`, '/campaigns', `/campaigns/${lots.id}`,
    '/transfers', '/transfers?tab=expected', '/transfers?tab=returns', '/transfers?tab=files', '/subscribers', '/dlq', '/dlq?kind=stripe.event&cause=no+such+payment+yet', `/dlq/${letter.id}`, '/queues', '/events', '/notifications', '/alerts',
    ...(day ? [`/reconciliations/${day}`] : []), '/audit', '/sandbox', '/settings', '/operators', '/nowhere',
];
const nameOf = (where) => where.slice(1).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'one').replace(/\d{4}-\d\d-\d\d/, 'day').replace('?tab=', '-').replace(/\?.*/, '-group').replaceAll('/', '-');

// --- for everybody ---

test('O8 every view, by day and by night, on a desk and on a phone, has no serious finding of axe, no error, and fits', { timeout: 240_000 }, async (t) => {
    const server = await start(t, store, { env: { ICHIDO_TIME_ZONE: 'UTC' } });
    const made = await town(t, server);
    await add(server, 'mio', 'viewer');
    await nextDay(server);
    const day = dayOf(server, -24 * HOUR);
    await reconciled(server, day);
    const views = viewsOf(made, day);
    const walk = async (lang, theme, width, { rules, shots = true } = {}) => {
        const v = await visit(t, server, { lang, theme, width, height: width < 600 ? 844 : 900, axe: true });
        await v.page.goto(`${server.origin}/admin/`);
        await v.field('login.token').waitFor();
        const found = (await v.axe(rules)).map((one) => `login: ${one}`);
        if (shots) await v.shot('view-login');
        await v.login();
        for (const where of views) {
            await v.open(where);
            found.push(...(await v.axe(rules)).map((one) => `${where} (${theme}, ${width} px): ${one}`));
            await v.fits(`${where} at ${width} px`);
            if (shots) await v.shot(`view-${nameOf(where)}`);
        }
        // A dialog, with the mouse on the button that moves money.
        await v.open(`/payments/${made.captured.id}`);
        await v.page.getByRole('button', { name: `${v.say('payments.refund')}…` }).click();
        await v.page.getByRole('dialog').locator('[type=submit]').hover();
        found.push(...(await v.axe(rules)).map((one) => `the dialog (${theme}, ${width} px): ${one}`));
        if (shots) await v.shot('view-dialog', { full: false });
        return found;
    };
    const colours = { rules: ['color-contrast'], shots: false }; // the rest does not depend on them
    const found = await Promise.all([
        walk('en', 'light', 1280).then(async (first) => [...first, ...await walk('en', 'dark', 1280, colours)]),
        walk('ja', 'dark', 390).then(async (first) => [...first, ...await walk('ja', 'light', 390, colours)]),
    ]);
    assert.deepEqual(found.flat(), []);
});

test('O8 the page asks nobody but the admin API, is below 300 KB in all, and its policy stands on every file', async (t) => {
    const server = await start(t, store);
    const made = await town(t, server);
    const v = await visit(t, server, { allow: [404] });
    const asked = [];
    v.page.on('requestfinished', (request) => new URL(request.url()).pathname.startsWith('/admin') && asked.push(request.sizes()));
    await v.login();
    for (const where of viewsOf(made)) await v.open(where);
    const wire = (await Promise.all(asked)).reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
    const whole = [...v.seen.files.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    assert.ok(v.seen.files.size > 30 && whole > 200_000, `${v.seen.files.size} files, ${whole} bytes: all of them are there`);
    assert.ok(wire > 50_000 && wire < 300_000, `${wire} bytes on the wire`);
    assert.ok(whole < 400_000, `${whole} bytes unpacked`); // what a browser has to read, and a client without gzip gets
    for (const [name, { headers, bytes }] of v.seen.files) {
        const plain = await server.get(name); // by a client that does not take gzip
        assert.deepEqual([headers['content-encoding'], plain.headers['content-encoding'], Buffer.byteLength(plain.text)], ['gzip', undefined, bytes], name);
        const policy = headers['content-security-policy'] ?? '';
        assert.match(policy, /default-src 'none'; script-src 'self'/, name);
        assert.doesNotMatch(policy, /unsafe|\*|https?:/, name);
    }
    const before = v.seen.requests.length;
    await v.page.evaluate(() => { // what a hole would try: each of it must be stopped by the policy alone
        const script = document.createElement('script');
        script.textContent = 'window.trapped = 1';
        document.body.append(script);
    }).catch(() => {});
    assert.ok(v.seen.wrong.some((one) => one.includes('script-src')), 'the browser says so');
    v.seen.wrong.length = 0;
    assert.equal(v.seen.requests.length - before, 0);
});

// --- hostile data ---

const HOSTILE = `\u202Egnp.exe\u202C\u2066\u200F 🎆👩‍👩‍👧‍👦 "><script>window.trapped='script'</script><img src=x onerror="window.trapped='img'">\n\n<svg onload=window.trapped=1>`
    + `<a href="javascript:window.trapped=1">x</a>{{7*7}}\${window.trapped=1}'x\n\ny`;

const unfold = (v) => v.page.evaluate(() => document.querySelectorAll('main details').forEach((one) => (one.open = true)));

test('O8 T3 hostile data is text in every view: nothing runs, nothing is asked elsewhere, nothing breaks the layout', async (t) => {
    const server = await start(t, store);
    const made = await town(t, server, HOSTILE);
    const long = 'W'.repeat(1_000_000);
    const bad = await refusing(t, [[500, HOSTILE + long.slice(0, 200_000)]], { 'Upstash-NonRetryable-Error': 'true' });
    await sdk(server).publish({ url: bad.url, body: HOSTILE + long, headers: { 'x-hostile': HOSTILE.replace(/[^\x20-\x7e]/g, '') }, retries: 0 });
    const heavy = orphan();
    Object.assign(heavy.data.object, { description: HOSTILE + long.slice(0, 200_000) });
    heavy.data.object.metadata[HOSTILE.slice(0, 40)] = HOSTILE;
    await dies(server, heavy);
    const quotes = orphan();
    Object.assign(quotes.data.object, { description: '"'.repeat(110_000) }); // where it is cut, the string is open
    await dies(server, quotes);
    await server.deliver(event(`x<img src=x onerror=window.trapped=1>.${'y'.repeat(100)}`));
    await server.deliver(`{"id":"evt_x","oops":"${'<script>window.trapped=1</script>'.repeat(50)}`);
    await until('all are dead', async () => (await server.db.count('dead_letters')) === 6);
    const letters = (await server.call('GET', at('dlq'), { as: 'admin' })).body.data;
    for (const [lang, width] of [['en', 1280], ['ja', 390]]) {
        const v = await visit(t, server, { lang, width, allow: [404] });
        await v.login();
        const views = [...viewsOf(made), ...letters.map(({ id }) => `/dlq/${id}`), ...letters.map(({ kind, cause }) => `/dlq?${new URLSearchParams({ kind, cause })}`)];
        for (const where of views) {
            await v.open(where);
            await unfold(v);
            await v.fits(`${where} at ${width} px`);
        }
        await v.open(`/payments/${made.payment.id}`);
        await v.page.getByText('<script>window.trapped=', { exact: false }).first().waitFor();
        assert.equal(await v.page.locator('main script, main img, main a[href^="javascript:"]').count(), 0);
        await v.shot('hostile-payment');
        const big = letters.find(({ kind }) => kind === 'qstash.deliver');
        await v.open(`/dlq/${big.id}`);
        await unfold(v);
        await v.page.locator('pre').getByText("<script>window.trapped='script'</script>", { exact: false }).first().waitFor();
        await v.shot('hostile-letter', { full: false });
    }
});

// --- who may what ---

test('A3 a viewer sees everything, no button that changes something, and is refused what the page would send', async (t) => {
    const server = await start(t, store);
    const made = await town(t, server);
    await add(server, 'mio', 'viewer');
    const v = await visit(t, server, { allow: [403, 404] });
    await v.loginAs('mio', PASSWORD);
    await v.reads(v.say('role.viewer'), v.page.locator('.signed-in'));
    const quiet = new Set([...['ui.copy', 'ui.previous', 'ui.next', 'ui.retry', 'app.shortcuts', 'app.sign_out', 'payments.find', 'payments.clear', 'filter.apply', 'filter.reset',
        'audit.verify', 'ui.details'].map((key) => v.say(key)), ...['JSON Lines', 'CSV'].map((name) => `${v.say('audit.export')} ${name}`)]);
    const strange = new Set();
    for (const where of viewsOf(made)) {
        await v.open(where);
        const names = await v.page.locator('main').getByRole('button').evaluateAll((all) => all.filter((one) => !one.matches('[type=submit], [role=tab], .copy'))
            .map((one) => (one.getAttribute('aria-label') || one.textContent).trim()));
        for (const name of names) if (!quiet.has(name)) strange.add(`${where.split('/')[1]}: ${name}`);
        assert.equal(await v.page.locator('main').getByRole('switch', { disabled: false }).count(), 0, where);
        if (where === `/payments/${made.payment.id}`) await v.shot('viewer-payment');
    }
    assert.deepEqual([...strange], [], 'a viewer is offered no act');

    const csrf = await v.csrf();
    const before = await everything(server);
    for (const [method, where, body] of [
        ['POST', `payments/${made.payment.id}/capture`, {}], ['POST', `payments/${made.captured.id}/refund`, { amount: 1 }], ['POST', `payments/${made.payment.id}/void`, {}],
        ['POST', `dlq/${made.letter.id}/retry`], ['DELETE', `dlq/${made.letter.id}`], ['POST', 'dlq/retry', { all: true }], ['POST', 'redrives', { all: true, ratePerSecond: 9 }],
        ['POST', 'queues/mail/pause'], ['POST', 'schedules/nightly/pause'], ['POST', 'operators', { name: 'eve', role: 'operator', password: PASSWORD }],
        ['POST', `transfers/${made.payment.id}/confirm`, { amount: 1, date: '2026-11-16' }], ['POST', `transfers/lines/${uuid()}/assign`, { reference: '123456786' }], ['POST', `transfers/returns/${uuid()}/paid`, { date: '2026-11-16' }],
        ['POST', 'subscribers', { url: 'http://127.0.0.1:9/' }], ['POST', 'replays', { from: '2020-01-01T00:00:00Z', to: '2040-01-01T00:00:00Z', ratePerSecond: 9 }],
        ['POST', 'sandbox/payments', { amount: 1, currency: 'JPY' }], ['PUT', 'sandbox/faults', { webhooks: { on: false } }], ['DELETE', 'sandbox/faults'], ['POST', 'sandbox/events', { type: 'a.b', broken: true }],
    ]) {
        const answer = await v.send(method, where, { csrf, body, key: uuid() });
        assert.deepEqual([answer.status, answer.body.code], [403, 'FORBIDDEN'], `${method} ${where}`);
    }
    assert.deepEqual(await everything(server), before);
});

// A page of another site, opened by somebody who is signed in here. It tries all that a browser allows.
async function otherSite(t, target) {
    const server = http.createServer((request, response) => {
        response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<!doctype html><title>win a prize</title>
<form id=f method=post enctype="text/plain" action="${target}"><input name='{"x":"' value='"}'></form>`);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.atEnd(() => new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
    }));
    return `http://localhost:${server.address().port}`; // another site: the cookie is 127.0.0.1's
}

test('A3 without a session every admin path is 401; a wrong CSRF token is 403; a page of another site changes nothing', async (t) => {
    const server = await start(t, store);
    const made = await town(t, server);
    const v = await visit(t, server, { allow: [401, 403] });
    await v.page.goto(`${server.origin}/admin/`);
    for (const where of ['session', 'overview', 'live', 'payments', `payments/${made.payment.id}`, `payments/${made.payment.id}/timeline`, 'dlq', 'dlq/groups', 'redrives', 'queues',
        'schedules', 'settings', 'audit', 'alerts', 'slo', 'events', 'notifications', 'collections', 'campaigns', 'operators', 'sandbox/faults'])
        assert.equal((await v.send('GET', where)).status, 401, where);
    await v.login();
    const before = await everything(server);
    for (const csrf of [undefined, 'x', 'A'.repeat(43)]) {
        const answer = await v.send('POST', `payments/${made.payment.id}/capture`, { csrf, key: uuid() });
        assert.deepEqual([answer.status, answer.body.code], [403, 'CSRF']);
    }
    const target = `${server.origin}${at(`payments/${made.payment.id}/void`)}`;
    const page = await v.context.newPage();
    const took = [];
    page.on('response', (answer) => answer.url() === target && took.push(answer.status()));
    const site = await otherSite(t, target);
    await page.goto(site);
    const said = await page.evaluate(async ([url, csrf]) => {
        const ways = [{}, { mode: 'no-cors' }, { headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': csrf, 'Idempotency-Key': 'evil' } }];
        return Promise.all(ways.map((way) => fetch(url, { method: 'POST', credentials: 'include', body: '{}', ...way }).then(({ type }) => type, () => 'refused')));
    }, [target, await v.csrf()]);
    assert.ok(said.every((one) => one === 'refused' || one === 'opaque'), String(said));
    await page.evaluate(() => document.querySelector('#f').submit());
    await page.waitForURL(target);
    assert.equal(took.at(-1), 401, 'the form came without the cookie');
    await page.goto(site);
    const framed = await page.evaluate((url) => new Promise((resolve) => {
        document.body.innerHTML = `<iframe src="${url}"></iframe>`;
        document.querySelector('iframe').onload = (e) => { try { resolve(String(e.target.contentDocument?.title)); } catch { resolve('refused'); } };
    }), `${server.origin}/admin/`);
    assert.notEqual(framed, 'Ichido', 'it is shown in nobody\'s frame');
    await page.close();
    assert.deepEqual(await everything(server), before, 'nothing changed');
    assert.equal((await v.send('GET', 'session')).status, 200, 'and who is signed in still is');
});

// --- hands and eyes ---

test('O8 with the keyboard alone: skip link, search, a row, the dialog, capture; Escape closes, focus returns', async (t) => {
    const server = await start(t, store);
    const payment = await server.paid({ description: 'keys' });
    const other = await server.paid();
    const v = await visit(t, server);
    const { keyboard } = v.page;
    await v.page.goto(`${server.origin}/admin/`);
    await v.field('login.token').waitFor();
    await v.tabTo(v.field('login.token'));
    await keyboard.type(ADMIN_TOKEN);
    await keyboard.press('Enter');
    await v.inside();
    const skip = v.link('app.skip');
    await v.page.evaluate(() => document.activeElement.blur());
    await v.tabTo(skip, 3);
    await keyboard.press('Enter');
    assert.equal(await v.page.evaluate(() => document.activeElement.id), 'main');
    await keyboard.press('?');
    await v.dialog('shortcuts.title').waitFor();
    await keyboard.press('Escape');
    await v.dialog('shortcuts.title').waitFor({ state: 'detached' });

    await keyboard.press('/');
    const search = v.page.getByRole('searchbox', { name: v.say('payments.search') });
    await until('the search has the keyboard', () => search.evaluate((el) => el === document.activeElement));
    await keyboard.type(payment.booking.id);
    await keyboard.press('Enter');
    await v.reads(v.say('payments.found_by', { what: v.say('payments.by_bookingId') }));
    await v.page.locator('tr.row-link').waitFor();
    assert.equal(await v.page.locator('tr.row-link').count(), 1, 'the other is not found');
    await v.page.locator('h1').focus();
    await keyboard.press('j');
    await keyboard.press('Enter');
    await v.page.waitForURL(new RegExp(payment.id));
    const button = v.page.getByRole('button', { name: `${v.say('payments.capture')}…` });
    await button.waitFor();
    await v.tabTo(button);
    await keyboard.press('Enter');
    const ask = v.dialog('payments.capture_title');
    await ask.waitFor();
    await keyboard.press('Escape');
    await ask.waitFor({ state: 'detached' });
    assert.ok(await button.evaluate((el) => el === document.activeElement), `the focus is back: ${await v.focused()}`);
    await keyboard.press('Enter');
    await ask.waitFor();
    const yes = v.button('payments.capture_button', { amount: yen(1200, 'en') });
    await v.tabTo(yes, 8);
    await v.shot('keyboard-capture', { full: false });
    await keyboard.press('Enter');
    await v.reads(v.say('payments.result_capture', { amount: yen(1200, 'en') }));
    assert.equal((await server.payment(payment, 'admin')).body.status, 'CAPTURED');
    assert.equal((await server.payment(other, 'admin')).body.status, 'AUTHORIZED');
});

test('O8 on a phone the navigation folds away, opens, leads, and Escape closes it; tables read as cards', async (t) => {
    const server = await start(t, store);
    const payment = await server.paid({ description: '釣り船' });
    const v = await visit(t, server, { lang: 'ja', width: 390 });
    await v.login();
    const menu = v.button('app.menu');
    const nav = v.page.getByRole('navigation', { name: v.say('app.nav') });
    assert.ok(!(await nav.isVisible()), 'folded');
    await menu.click();
    await nav.waitFor();
    assert.equal(await menu.getAttribute('aria-expanded'), 'true');
    await v.shot('phone-menu', { full: false });
    await v.page.keyboard.press('Escape');
    await nav.waitFor({ state: 'hidden' });
    await menu.click();
    await nav.getByRole('link', { name: v.say('payments.title'), exact: true }).click();
    await nav.waitFor({ state: 'hidden' });
    const row = v.page.locator('tr.row-link').first();
    await row.getByText('釣り船').waitFor();
    const box = await row.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390, `a row is inside the window: ${JSON.stringify(box)}`);
    assert.match(await row.locator('td').first().evaluate((el) => getComputedStyle(el, '::before').content), /作成日時/, 'each cell has its label');
    await row.getByText('釣り船').click();
    await v.page.waitForURL(new RegExp(payment.id));
    await v.ready(`/payments/${payment.id}`);
    await v.fits('a payment on a phone');
});

// --- what goes wrong ---

test('A3 a session that ends, here or in another tab or by time, leads to the login and back to where one was', async (t) => {
    const server = await start(t, store);
    const payment = await server.paid();
    const v = await visit(t, server, { allow: [401] });
    await v.login();
    const other = await visit(t, server, { context: v.context, allow: [401] });
    await other.page.goto(`${server.origin}/admin/`);
    await other.inside();
    await v.open(`/payments/${payment.id}`);
    await other.button('app.sign_out').click();
    await other.field('login.token').waitFor();

    await v.reads(v.say('login.ended'));
    assert.ok(v.page.url().endsWith(`#/payments/${payment.id}`), 'the address is kept');
    await v.field('login.token').fill('not the token');
    await v.button('login.submit').click();
    await v.reads(v.say('login.wrong'));
    await v.field('login.token').fill(ADMIN_TOKEN);
    await v.button('login.submit').click();
    await v.ready(`/payments/${payment.id}`);
    await v.page.getByRole('heading', { level: 1 }).getByText(v.say('status.AUTHORIZED')).waitFor();

    await v.open('/payments');
    await server.advance(9 * HOUR);
    await v.page.locator('tr.row-link').first().click();
    await v.reads(v.say('login.ended'));
    await v.field('login.token').fill(ADMIN_TOKEN);
    await v.button('login.submit').click();
    await v.page.getByRole('heading', { level: 1 }).getByText(v.say('status.AUTHORIZED')).waitFor();
    assert.ok(v.page.url().endsWith(`#/payments/${payment.id}`));
});

test('O8 T4 a double click, and an answer that was lost, capture once', async (t) => {
    const server = await start(t, store);
    const twice = await server.paid();
    const lost = await server.paid();
    const v = await visit(t, server, { allow: ['net::ERR_CONNECTION_FAILED'] });
    const sent = [];
    await v.login();
    await v.page.route('**/capture', async (route) => {
        sent.push(route.request().headers()['idempotency-key']);
        if (!route.request().url().includes(lost.id) || sent.length > 2) return route.continue();
        await route.fetch(); // the server takes it; its answer never arrives
        return route.abort('connectionfailed');
    });
    const ask = async (payment) => {
        await v.open(`/payments/${payment.id}`);
        await v.page.getByRole('button', { name: `${v.say('payments.capture')}…` }).click();
        return v.button('payments.capture_button', { amount: yen(1200, 'en') });
    };
    await (await ask(twice)).dblclick();
    await v.reads(v.say('payments.result_capture', { amount: yen(1200, 'en') }));
    assert.equal(sent.length, 1);

    const yes = await ask(lost);
    await yes.click();
    const dialog = v.dialog('payments.capture_title');
    await v.reads(v.say('payments.retry_safe'), dialog);
    await v.reads(v.say('error.NETWORK'), dialog);
    await v.shot('lost-answer', { full: false });
    await yes.click();
    await v.reads(v.say('payments.result_capture', { amount: yen(1200, 'en') }));
    assert.equal(sent.length, 3);
    assert.equal(sent[1], sent[2], 'the same order');
    const { totals } = await server.books();
    assert.equal(totals.captured, 2400);
    for (const payment of [twice, lost]) assert.equal((await server.db.operations(payment.id)).filter(({ kind }) => kind === 'capture').length, 1);
});
