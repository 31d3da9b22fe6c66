// On the page, an act whose end nobody saw: the answer was lost, the dialog was closed or taken away, the session ended,
// the view was of yesterday. Nothing is done twice, nothing is done that was not asked for, and what became of it is told
// (O8 A3 Q6 T4).
import { fill } from './lib/dlq.mjs';
import { remember } from './lib/evidence.mjs';
import { ADMIN_TOKEN, assert, forOneStore, start, until } from './lib/harness.mjs';
import { visit, yen } from './lib/browser.mjs';

const PASSWORD = 'a long enough secret 5';
remember(PASSWORD);
const KIND = 'stripe.event';
const CAUSE = 'a bad day';
const group = `/dlq?${new URLSearchParams({ kind: KIND, cause: CAUSE })}`;
const at = (where) => `/api/v1/admin/${where}`;
const tell = (v) => v.page.locator('.toasts');
const actButton = (v, name) => v.page.getByRole('button', { name: `${v.say(`payments.${name}`)}…` });
const refundsOf = async (server, payment) => (await server.call('GET', at(`payments/${payment.id}`), { as: 'admin' })).body.refunds.map(({ amount }) => amount);

// Requests whose path ends so: the server takes them, and their answers are lost as long as `on`.
async function loses(v, path) {
    const lost = { on: true, keys: [], bodies: [] };
    await v.page.route((url) => url.pathname.endsWith(path), async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        lost.keys.push(route.request().headers()['idempotency-key']);
        lost.bodies.push(route.request().postDataJSON());
        if (!lost.on) return route.continue();
        await route.fetch();
        return route.abort('connectionfailed');
    });
    return lost;
}

// ... and those that wait until they are let go.
async function holds(v, path) {
    const held = { came: 0 };
    const free = new Promise((resolve) => (held.free = resolve));
    await v.page.route((url) => url.pathname.endsWith(path), async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        held.came++;
        await free;
        return route.continue();
    });
    return held;
}

async function refund(v, amount) {
    await actButton(v, 'refund').click();
    await v.field('payments.amount_field', { currency: 'JPY' }).fill(String(amount));
    await v.button('payments.refund_button', { amount: yen(amount, 'en') }).click();
    return v.dialog('payments.refund_title');
}

// The dialog of an order whose answer is missing: as it was, locked, and it says that it may be sent again.
async function leftAsItWas(v, amount) {
    const ask = v.dialog('payments.refund_title');
    const field = v.field('payments.amount_field', { currency: 'JPY' });
    await v.reads(v.say('payments.retry_safe'), ask);
    assert.equal(await field.inputValue(), String(amount));
    assert.ok(!(await field.isEditable()), 'it cannot become another order');
    return ask;
}

forOneStore((store, test) => {
    test('O8 T4 a refund whose answer was lost is the same refund when its dialog is closed and opened again', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured({}, { amount: 5000 });
        const v = await visit(t, server, { allow: ['net::ERR_CONNECTION_FAILED', 401] });
        await v.login();
        const lost = await loses(v, '/refund');
        await v.open(`/payments/${payment.id}`);
        let ask = await refund(v, 1500);
        await v.reads(v.say('payments.retry_safe'), ask);
        await v.page.keyboard.press('Escape');
        await ask.waitFor({ state: 'detached' });
        await v.page.locator('.tiles').getByText(yen(1500, 'en')).waitFor(); // one looks again at once
        assert.equal(await v.focused(), `${v.say('payments.refund')}…`, 'the keyboard is where it was');

        await v.page.keyboard.press('Enter');
        ask = await leftAsItWas(v, 1500);
        await v.reads(v.say('payments.unanswered_done'), ask); // what became of it
        await v.shot('lost-refund', { full: false });
        lost.on = false;
        await v.button('payments.refund_button', { amount: yen(1500, 'en') }).click();
        await ask.waitFor({ state: 'detached' });
        assert.deepEqual(new Set(lost.keys).size, 1, 'one order');
        assert.deepEqual(await refundsOf(server, payment), [1500]);

        await actButton(v, 'refund').click(); // its end is known: the next one is another
        assert.ok(await v.field('payments.amount_field', { currency: 'JPY' }).isEditable());
        await v.page.keyboard.press('Escape');

        lost.on = true; // and when the session ends meanwhile, or one looks elsewhere
        await v.reads(v.say('payments.retry_safe'), await refund(v, 700));
        lost.on = false;
        await v.context.clearCookies();
        // A look of the page's own may find that out first, and take the dialog away.
        await v.button('payments.refund_button', { amount: yen(700, 'en') }).click({ timeout: 3000 }).catch(() => {});
        await v.field('login.token').fill(ADMIN_TOKEN);
        await v.button('login.submit').click();
        await v.ready(`/payments/${payment.id}`);
        await actButton(v, 'refund').click();
        ask = await leftAsItWas(v, 700);
        await v.page.evaluate(() => (location.hash = '#/overview'));
        await ask.waitFor({ state: 'detached' });
        await v.open(`/payments/${payment.id}`);
        await actButton(v, 'refund').click();
        ask = await leftAsItWas(v, 700);
        await v.button('payments.refund_button', { amount: yen(700, 'en') }).click();
        await ask.waitFor({ state: 'detached' });
        assert.deepEqual((await refundsOf(server, payment)).sort(), [1500, 700]);
    });

    test('O8 T4 a refund that never arrived says so when its dialog is opened again, and is made once', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured({}, { amount: 5000 });
        const v = await visit(t, server, { lang: 'ja', width: 390, height: 844, allow: ['net::ERR_CONNECTION_FAILED'] });
        await v.login();
        await v.page.route('**/refund', (route) => route.abort('connectionfailed'));
        await v.open(`/payments/${payment.id}`);
        await actButton(v, 'refund').click();
        await v.field('payments.amount_field', { currency: 'JPY' }).fill('1500');
        await v.button('payments.refund_button', { amount: yen(1500, 'ja') }).click();
        await v.reads(v.say('payments.retry_safe'), v.page.getByRole('dialog'));
        await v.page.mouse.click(5, 5); // beside it
        await v.page.getByRole('dialog').waitFor({ state: 'detached' });
        await v.page.unroute('**/refund');
        await actButton(v, 'refund').click();
        const ask = await leftAsItWas(v, 1500);
        await v.reads(v.say('payments.unanswered_not_received'), ask);
        await v.shot('lost-refund-none', { full: false });
        await v.fits('the dialog');
        await v.button('payments.refund_button', { amount: yen(1500, 'ja') }).click();
        await ask.waitFor({ state: 'detached' });
        assert.deepEqual(await refundsOf(server, payment), [1500]);
    });

    test('O8 a dialog that is at work does not close by Escape; one that is taken away tells how it ended', async (t) => {
        const server = await start(t, store);
        const [one, two, three] = [await server.paid(), await server.paid(), await server.paid()];
        const v = await visit(t, server, { allow: [422] });
        await v.login();
        const ask = async (payment) => {
            const held = await holds(v, `${payment.id}/capture`);
            await v.open(`/payments/${payment.id}`);
            await actButton(v, 'capture').click();
            await v.button('payments.capture_button', { amount: yen(1200, 'en') }).click();
            await until('it is on its way', () => held.came === 1);
            return held;
        };
        const dialog = v.dialog('payments.capture_title');
        let held = await ask(one);
        for (let i = 0; i < 3; i++) await v.page.keyboard.press('Escape');
        assert.ok(await dialog.isVisible(), 'it is still there');
        held.free();
        await v.reads(v.say('payments.result_capture', { amount: yen(1200, 'en') }));

        held = await ask(two);
        await v.page.evaluate(() => (location.hash = '#/payments'));
        await dialog.waitFor({ state: 'detached' });
        await v.ready('/payments');
        held.free();
        await v.reads(v.say('payments.act_done', { what: v.say('payments.capture') }), tell(v));
        assert.equal(await tell(v).getByRole('link').getAttribute('href'), `#/payments/${two.id}`);
        assert.ok(v.page.url().endsWith('#/payments'), 'one stays where one is');

        held = await ask(three); // somebody else voids it meanwhile: it is refused
        await v.page.evaluate(() => (location.hash = '#/payments'));
        await dialog.waitFor({ state: 'detached' });
        await v.ready('/payments');
        assert.equal((await server.void(three)).status, 200);
        held.free();
        await v.reads(v.say('payments.capture_title'), tell(v)); // which act it was
        await v.reads(v.say('error.422'), tell(v));
        assert.equal(await v.page.locator('.toast.bad a').getAttribute('href'), `#/payments/${three.id}`);
        await v.shot('told-elsewhere', { full: false });
    });

    test('B2 O8 the secret of a subscriber outlives Escape, another view and the end of the session', async (t) => {
        const server = await start(t, store);
        const v = await visit(t, server, { allow: [401] });
        await v.login();
        await v.open('/subscribers');
        const held = await holds(v, '/subscribers');
        await v.page.getByRole('button', { name: `${v.say('subscribers.add')}…` }).click();
        await v.field('subscribers.url').fill('http://127.0.0.1:9/in');
        await v.button('ui.add').click();
        await until('it is on its way', () => held.came === 1);
        await v.page.evaluate(() => (location.hash = '#/overview'));
        await v.ready('/overview');
        held.free();
        const once = v.dialog('subscribers.secret.title');
        const secret = once.getByText(/^whsec_/).first();
        await secret.waitFor();
        for (let i = 0; i < 3; i++) await v.page.keyboard.press('Escape');
        await v.page.evaluate(() => document.querySelector('dialog').close()); // as a phone's gesture does it
        await v.page.evaluate(() => (location.hash = '#/payments'));
        await v.page.getByRole('heading', { level: 1, name: v.say('payments.title'), includeHidden: true }).waitFor();
        assert.ok(await secret.isVisible());
        await v.context.clearCookies();
        await v.page.evaluate(() => (location.hash = '#/queues'));
        await v.page.locator('.login-card').waitFor();
        assert.ok(await secret.isVisible());
        await v.button('subscribers.secret.stored').click();
        await once.waitFor({ state: 'detached' });
        await v.field('login.token').fill(ADMIN_TOKEN);
        await v.button('login.submit').click();
        await v.inside();
    });

    test('O8 T4 a button of yesterday orders nothing: the payment is looked at first, and an amount always goes with it', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const v = await visit(t, server);
        await v.login();
        const before = (await server.call('GET', at(`payments/${payment.id}`), { as: 'admin' })).body;
        let old = true;
        await v.page.route((url) => url.pathname.endsWith(`/payments/${payment.id}`), (route) => (old ? route.fulfill({ json: before }) : route.continue()));
        const sent = [];
        v.page.on('request', (request) => request.method() === 'POST' && sent.push(request.postDataJSON()));
        await v.open(`/payments/${payment.id}`);
        const button = actButton(v, 'capture');
        await button.focus();
        assert.equal((await server.capture(payment)).status, 200);
        await v.page.evaluate(() => { // as a window that was left in the background
            Object.defineProperty(document, 'hidden', { value: true });
            document.dispatchEvent(new Event('visibilitychange'));
        });
        old = false;
        await button.click();
        await v.reads(v.say('payments.not_possible', { what: v.say('payments.capture') }), tell(v));
        await v.page.getByRole('heading', { level: 1 }).getByText(v.say('status.CAPTURED')).waitFor();
        assert.equal(await v.page.getByRole('dialog').count(), 0);
        assert.deepEqual(sent, []);
        await actButton(v, 'refund').click(); // what is possible now
        await v.button('payments.refund_button', { amount: yen(1200, 'en') }).click();
        await v.page.getByRole('heading', { level: 1 }).getByText(v.say('status.REFUNDED')).waitFor();
        assert.deepEqual(sent, [{ amount: 1200 }]);
    });

    test('A3 O8 an order without an end belongs to who sent it: a key counts for one person', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured({}, { amount: 5000 });
        const made = await server.call('POST', at('operators'), { as: 'admin', body: { name: 'yui', role: 'operator', password: PASSWORD } });
        assert.equal(made.status, 201, made.text);
        const v = await visit(t, server, { allow: ['net::ERR_CONNECTION_FAILED', 401] });
        await v.loginAs('yui', PASSWORD);
        const lost = await loses(v, '/refund');
        await v.open(`/payments/${payment.id}`);
        await v.reads(v.say('payments.retry_safe'), await refund(v, 1500));
        lost.on = false;
        await v.page.keyboard.press('Escape');
        await v.button('app.sign_out').click();
        await v.page.getByRole('radio', { name: v.say('login.with_token') }).check();
        await v.field('login.token').fill(ADMIN_TOKEN);
        await v.button('login.submit').click();
        await v.inside();
        await v.open(`/payments/${payment.id}`);
        await v.page.locator('.tiles').getByText(yen(1500, 'en')).waitFor(); // what became of it is seen
        await actButton(v, 'refund').click();
        const field = v.field('payments.amount_field', { currency: 'JPY' });
        await field.waitFor();
        assert.deepEqual([await field.isEditable(), await field.inputValue()], [true, '3500'], 'sent by somebody else it would be another one');
    });

    test('Q6 O8 "Delete all" deletes those that were counted, and none that died since', async (t) => {
        const server = await start(t, store);
        await fill(server.db, 3);
        const v = await visit(t, server);
        await v.login();
        await v.open(group);
        await v.button('dlq.delete.group').click();
        const ask = v.dialog('dlq.delete.many.title', { count: v.say('dlq.n', { n: 3 }) });
        await ask.waitFor();
        await fill(server.db, 2, { prefix: 'evt_new_', diedAt: Date.now() + server.offsetMs });
        await ask.getByRole('textbox').fill(v.say('dlq.delete.word'));
        await ask.getByRole('button', { name: v.say('dlq.delete'), exact: true }).click();
        await v.reads(v.say('dlq.deleted', { n: 3 }), tell(v));
        assert.equal(await server.db.count('dead_letters'), 2);
    });

    test('B2 O8 a subscriber whose answer was lost is looked for, not added again', async (t) => {
        const server = await start(t, store);
        const v = await visit(t, server, { allow: ['net::ERR_CONNECTION_FAILED'] });
        await v.login();
        await v.open('/subscribers');
        await loses(v, '/subscribers');
        await v.page.getByRole('button', { name: `${v.say('subscribers.add')}…` }).click();
        await v.field('subscribers.url').fill('http://127.0.0.1:9/in');
        await v.button('ui.add').click();
        await v.reads(v.say('subscribers.lost', { url: 'http://127.0.0.1:9/in' }));
        await v.page.getByRole('row', { name: '127.0.0.1:9' }).waitFor();
        await v.shot('lost-subscriber');
        assert.equal(await v.page.getByRole('dialog').count(), 0, 'nobody is invited to press again');
        assert.equal(await server.db.count('subscribers'), 1);
    });

    test('Q6 O8 a redrive whose answer was lost is started once; what it took is not ticked any more', async (t) => {
        const server = await start(t, store);
        await fill(server.db, 3);
        const v = await visit(t, server, { allow: ['net::ERR_CONNECTION_FAILED'] });
        await v.login();
        await v.open(group);
        await v.page.route((url) => url.pathname.endsWith('/redrives'), async (route) => {
            if (route.request().method() !== 'POST' || route.request().postDataJSON().dryRun) return route.continue();
            await route.fetch();
            return route.abort('connectionfailed');
        });
        await v.button('dlq.redrive').click();
        await v.button('ui.start').click();
        await v.reads(v.say('dlq.redrive.lost'), tell(v));
        assert.equal(await v.page.getByRole('dialog').count(), 0);
        assert.equal(await server.db.count('redrives'), 1);

        await v.page.unrouteAll();
        await until('it has ended', async () => (await server.db.count('redrives', `state = 'running'`)) === 0);
        await fill(server.db, 9, { prefix: 'evt_more_' });
        await v.page.reload();
        await v.ready(group);
        await v.button('dlq.select.all').click();
        await v.page.locator('.selection').getByRole('button', { name: v.say('dlq.redrive'), exact: true }).click();
        const ask = v.dialog('dlq.redrive.title');
        await ask.getByLabel(v.say('dlq.redrive.rate'), { exact: true }).fill('1');
        await v.button('ui.start').click();
        await ask.waitFor({ state: 'detached' });
        await until('nothing is ticked', async () => await v.page.locator('.row-check:checked').count() === 0);
        await v.page.getByRole('region', { name: v.say('dlq.redrives.running') }).getByRole('button', { name: v.say('dlq.redrive.cancel'), exact: true }).click();
        await v.button('dlq.redrive.cancel.yes').click();
        const news = v.page.locator('.result .note');
        await news.waitFor();
        assert.match(await news.getAttribute('class'), /bad/, 'it was not done: nothing green');
        await v.reads(v.say('status.cancelled'), news);
    });

    test('Q6 O8 what ends after one went elsewhere neither pulls one back nor is called trouble', async (t) => {
        const server = await start(t, store);
        await fill(server.db, 2);
        const [letter] = (await server.call('GET', at('dlq'), { as: 'admin' })).body.data;
        const v = await visit(t, server, { allow: ['net::ERR_ABORTED', 403] });
        await v.login();
        await v.open(`/dlq/${letter.id}`);
        let held = await holds(v, '/retry');
        await v.button('dlq.retry').click();
        await until('it is on its way', () => held.came === 1);
        await v.open('/payments');
        held.free();
        await v.reads(v.say('dlq.retry.done'), tell(v));
        assert.ok(v.page.url().endsWith('#/payments'), v.page.url());

        await v.open(group);
        held = await holds(v, '/redrives');
        await v.button('ui.dry_run').click();
        await until('it is on its way', () => held.came === 1);
        await v.open('/payments');
        held.free();
        assert.equal(await v.page.locator('.toast.bad').count(), 0);

        await v.page.route('**/logout', (route) => route.fulfill({ status: 403, contentType: 'application/problem+json',
            body: JSON.stringify({ type: 'about:blank', title: 'x', status: 403, code: 'CSRF', detail: 'x', instance: '/x' }) }));
        await v.button('app.sign_out').click();
        await v.reads(v.say('error.CSRF'), tell(v)); // and not that the server is away
    });

    test('O8 an answer that comes late does not take the place of a newer one, and one that stops in the middle ends', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const v = await visit(t, server);
        await v.login();
        await v.open(`/payments/${payment.id}`);
        let old;
        const free = new Promise((resolve) => (old = { free: resolve, came: false }));
        await v.page.route((url) => url.pathname.endsWith(`/payments/${payment.id}`), async (route) => {
            if (old.came) return route.continue();
            old.came = true;
            const response = await route.fetch();
            await free;
            return route.fulfill({ response });
        });
        await until('one looks', () => old.came);
        await actButton(v, 'capture').click();
        await v.button('payments.capture_button', { amount: yen(1200, 'en') }).click();
        const head = v.page.getByRole('heading', { level: 1 });
        await head.getByText(v.say('status.CAPTURED')).waitFor();
        const late = v.page.waitForResponse((r) => r.url().endsWith(`/payments/${payment.id}`));
        old.free();
        await (await late).finished();
        await v.page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
        assert.equal(await head.getByText(v.say('status.CAPTURED')).count(), 1, await head.textContent());

        const w = await visit(t, server);
        await w.context.addInitScript(() => { // headers, and then nothing more
            const real = window.fetch;
            window.fetch = async (url, options) => {
                const answer = await real(url, options);
                if (!String(url).endsWith('/admin/queues')) return answer;
                return new Response(new ReadableStream({ start: (c) => options.signal.addEventListener('abort', () => c.error(options.signal.reason)) }), answer);
            };
        });
        await w.page.clock.install();
        await w.login();
        await w.page.evaluate(() => (location.hash = '#/queues'));
        await w.page.waitForResponse((r) => r.url().endsWith('/admin/queues'));
        await w.page.clock.fastForward(31_000);
        await w.reads(w.say('error.TIMEOUT'));
    });
});
