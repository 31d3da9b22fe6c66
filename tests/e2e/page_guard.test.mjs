// What others or a slip of the hand could do to somebody who works on the page: a link with a token, a browser that
// keeps nothing, a name that stays behind, an amount that is none.
import { assert, forOneStore, start } from './lib/harness.mjs';
import { visit } from './lib/browser.mjs';

const PASSWORD = 'a long enough secret 1';

async function enter(v) {
    await v.page.goto(`${v.server.origin}/admin/`);
    await v.page.getByRole('radio', { name: v.say('login.with_user') }).check();
    await v.page.locator('input[name=user]').fill('yui');
    await v.page.locator('input[name=password]').fill(PASSWORD);
    await v.button('login.submit').click();
    await v.inside();
}

forOneStore((store, test) => {
    test('A3 a link with a token takes nobody who is in out of what he does, and sends no token', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const v = await visit(t, server);
        await v.login();
        await v.open(`/payments/${payment.id}`);
        await v.page.getByRole('button', { name: `${v.say('payments.capture')}…` }).click();
        const amount = v.field('payments.amount_field', { currency: 'JPY' });
        await amount.fill('7');
        const before = v.seen.requests.length;
        const asked = v.page.waitForResponse((r) => r.url().endsWith('/admin/session'));
        await v.page.evaluate(() => (location.hash = '#token=wrong'));
        await asked;
        await v.page.waitForFunction((id) => location.hash === `#/payments/${id}`, payment.id);
        assert.equal(await amount.inputValue(), '7', 'the dialog is still there');

        const other = await visit(t, server, { context: v.context }); // as another site would open it
        await other.page.goto(`${server.origin}/admin/#token=wrong`);
        await other.inside();
        assert.ok(!other.page.url().includes('token'));
        const logins = [...v.seen.requests.slice(before), ...other.seen.requests].filter((r) => r.url.pathname.endsWith('/login'));
        assert.deepEqual(logins, []);
    });

    test('A3 where nobody is in any more, the token of a link logs in', async (t) => {
        const server = await start(t, store);
        const v = await visit(t, server, { allow: [401] });
        await v.login();
        await v.context.clearCookies();
        await v.login();
        assert.ok(!v.page.url().includes('token'));
    });

    test('A3 a browser that keeps nothing stays in by its cookie, and a name is gone after signing out', async (t) => {
        const server = await start(t, store);
        const made = await server.call('POST', '/api/v1/admin/operators', { as: 'admin', body: { name: 'yui', role: 'operator', password: PASSWORD } });
        assert.equal(made.status, 201, made.text);
        const v = await visit(t, server, { allow: [401] });
        await enter(v);
        assert.equal(await v.page.evaluate(() => localStorage.getItem('ichido.user')), 'yui');
        await v.button('app.sign_out').click();
        await v.field('login.password').waitFor();
        assert.equal(await v.page.evaluate(() => localStorage.getItem('ichido.user')), null);

        const w = await visit(t, server, { allow: [401] });
        await w.context.addInitScript(() => Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } }));
        await enter(w);
        await w.page.reload();
        await w.inside();
    });

    test('A3 a page that nobody touched for a minute says so with what it asks, until somebody does', async (t) => {
        const server = await start(t, store);
        const v = await visit(t, server);
        await v.page.clock.install();
        await v.login();
        const asked = () => v.page.waitForRequest((r) => r.url().includes('/admin/live'));
        assert.equal((await asked()).headers()['x-ichido-poll'], undefined);
        await v.page.clock.fastForward(61_000);
        const poll = await asked();
        assert.equal(poll.headers()['x-ichido-poll'], '1');
        await v.page.keyboard.press('Shift');
        await v.page.clock.fastForward(2000);
        assert.equal((await asked()).headers()['x-ichido-poll'], undefined);
    });

    test('A3 a person changes his own password on the page: what is wrong stands at its field, and a token has none to change', async (t) => {
        const server = await start(t, store);
        const made = await server.call('POST', '/api/v1/admin/operators', { as: 'admin', body: { name: 'yui', role: 'viewer', password: PASSWORD } });
        assert.equal(made.status, 201, made.text);
        const v = await visit(t, server, { allow: [400], axe: true });
        await enter(v);
        await v.button('password.change').click();
        const ask = v.dialog('password.title');
        const send = ask.getByRole('button', { name: v.say('password.submit'), exact: true });
        const next = 'another long secret 2';
        const fill = async (texts) => {
            for (const [key, text] of Object.entries(texts)) await ask.getByLabel(v.say(key), { exact: true }).fill(text);
            await send.click();
        };
        await fill({ 'password.new': next });
        await v.reads(v.say('ui.required'), ask);
        await fill({ 'password.current': 'wrong', 'password.new': 'short' });
        await ask.locator('.wrong').getByText(v.say('operators.password.help')).waitFor();
        await fill({ 'password.new': next, 'operators.password.again': `${next}x` });
        await v.reads(v.say('operators.password.differ'), ask);
        await fill({ 'operators.password.again': next });
        await v.reads('is not the password of now', ask);
        await v.shot('password', { full: false });
        assert.deepEqual(await v.axe(), []);
        await fill({ 'password.current': PASSWORD });
        await v.reads(v.say('password.done'), v.page.locator('.toasts'));
        await ask.waitFor({ state: 'detached' });
        const login = (password) => server.call('POST', '/api/v1/admin/login', { body: { user: 'yui', password } });
        assert.equal((await login(PASSWORD)).status, 401);
        assert.equal((await login(next)).status, 200);

        const w = await visit(t, server);
        await w.login();
        assert.equal(await w.button('password.change').count(), 0);
    });

    test('O8 an amount that is none is named and not sent; the one that is sent is shown with its code', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const v = await visit(t, server);
        await v.login();
        await v.open(`/payments/${payment.id}`);
        await v.page.getByRole('button', { name: `${v.say('payments.capture')}…` }).click();
        const box = v.page.getByRole('dialog');
        const amount = v.field('payments.amount_field', { currency: 'JPY' });
        const send = box.locator('button[type=submit]');
        for (const [text, key, vars] of [['1,50', 'amount.commas'], ['1.5', 'amount.no_decimals', { currency: 'JPY' }], ['ten', 'amount.number'], ['', 'amount.number']]) {
            await amount.fill(text);
            await send.click();
            await v.reads(v.say(key, vars), box);
        }
        await amount.fill('１００');
        await v.reads(/JPY\s100/, box);
        assert.ok(!v.seen.requests.some((r) => r.url.pathname.endsWith('/capture')), 'nothing was sent');
        await send.click();
        await box.waitFor({ state: 'detached' });
        const after = await server.call('GET', `/api/v1/admin/payments/${payment.id}`, { as: 'admin' });
        assert.equal(after.body.capturedAmount, 100);
    });
});
