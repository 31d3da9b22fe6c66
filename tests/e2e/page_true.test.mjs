// What the page says is so: amounts with their currency wherever they stand, words in the reader's language, trouble by
// its name, and what is old as old (O7 O8 G4 E11).
import { bank, becomes, imported, owes, paidBy, returns } from './lib/transfers.mjs';
import { assert, forOneStore, start, until } from './lib/harness.mjs';
import { dayOf, nextDay, reconciled } from './lib/reconcile.mjs';
import { visit, yen } from './lib/browser.mjs';

const HOUR = 3600_000;
const at = (where) => `/api/v1/admin/${where}`;
const plain = (text) => text.replace(/\s+/g, ' ');

forOneStore((store, test) => {
    test('O7 O8 amounts of a timeline and of a reconciliation have their currency\'s digits', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_TIME_ZONE: 'UTC' } });
        const payment = await server.captured({}, { amount: 1250, currency: 'USD' });
        await server.refund(payment, 305);
        const v = await visit(t, server);
        await v.login();
        await v.open(`/payments/${payment.id}`);
        const list = v.page.locator('ol.events');
        await list.getByText('US$3.05').first().waitFor();
        const text = plain(await v.page.locator('.timeline').textContent());
        assert.match(text, /US\$12\.50/);
        assert.doesNotMatch(text, /\b(1250|305)\b/, 'no minor units');
        await v.shot('timeline-usd');

        await nextDay(server);
        const day = dayOf(server, -24 * HOUR);
        await reconciled(server, day);
        const real = (await server.call('GET', at(`reconciliations/${day}`), { as: 'admin' })).body;
        const one = { state: 'open', gateway: 'sandbox', paymentId: payment.id, gatewayTransactionId: null, currency: 'USD', at: real.endedAt };
        await v.page.route(`**/reconciliations/${day}`, (route) => route.fulfill({ json: { ...real, differences: 3, found: [
            { ...one, kind: 'captured', ours: '1250', theirs: '1300' }, { ...one, kind: 'status', ours: 'CAPTURED 1250 USD', theirs: 'waiting 1300 usd' },
            { ...one, kind: 'status', ours: null, theirs: 'unreadable' }] } }));
        await v.open(`/reconciliations/${day}`);
        const rows = v.page.getByRole('table', { name: v.say('reconciliation.found') }).getByRole('row');
        assert.deepEqual(await rows.locator('td:nth-child(3), td:nth-child(4)').allTextContents(),
            ['US$12.50', 'US$13.00', `${v.say('status.CAPTURED')} US$12.50`, `${v.say('reconciliation.there.waiting')} US$13.00`, '–', v.say('reconciliation.there.unreadable')]);
        await v.shot('books-usd');
    });

    test('O7 O8 in Japanese the details of a timeline, of operations and of disputes are in Japanese', async (t) => {
        const server = await start(t, store);
        const payment = await server.captured();
        await server.refund(payment, 200, { reason: '雨' });
        await server.fault({ path: '/v1/payment_intents', method: 'POST', statusBefore: 500, times: 1 });
        const tried = await server.paid();
        await server.void(tried);
        const v = await visit(t, server, { lang: 'ja' });
        await v.login();
        const real = (await server.call('GET', at(`payments/${payment.id}`), { as: 'admin' })).body;
        const own = { ...real.operations[0], kind: 'void', cause: 'stray:pi_2', by: 'system' };
        await v.page.route(`**/payments/${payment.id}`, (route) => route.fulfill({ json: { ...real,
            operations: [{ ...own, phase: 'done', result: 'nothing to do' }, { ...own, cause: 'booking_cancelled', phase: 'done', result: 'refused' }],
            disputes: ['needs_response', 'warning_under_review', 'lost'].map((status) => ({ id: `dp_${status}`, status, closed: false, lost: false, reason: 'fraudulent', amount: 200, createdAt: real.createdAt, updatedAt: real.createdAt })) } }));
        for (const { id } of [payment, tried]) {
            await v.open(`/payments/${id}`);
            await v.page.locator('ol.events .details').first().waitFor();
            const names = await v.page.locator('ol.events .details > span > .faint').allTextContents();
            assert.ok(names.length > 10);
            assert.deepEqual(names.filter((name) => /^[a-z]/.test(name)), [], 'a name that nobody has translated');
            if (id !== payment.id) continue;
            for (const key of ['status.nothing_to_do', 'status.refused', 'payments.cause_booking_cancelled', 'status.needs_response', 'status.warning_under_review', 'status.lost']) await v.reads(v.say(key));
            await v.reads(`${v.say('payments.cause_stray')} pi_2`);
            await v.shot('timeline-words');
        }
    });

    test('G4 O8 a line for a payment that has its money already is told as money that goes back', async (t) => {
        const server = await bank(t, store);
        const paid = await owes(server, 900);
        await imported(server, [paidBy(paid)]);
        await becomes(server, paid, 'CAPTURED');
        await imported(server, [{ text: 'マタ ヤマダ', amount: 900 }]);
        const v = await visit(t, server);
        await v.login();
        await v.open('/transfers');
        await v.page.getByRole('row', { name: 'マタ ヤマダ' }).getByRole('button', { name: v.say('transfers.assign') }).click();
        await v.field('transfers.assign.to').fill(paid.reference);
        await v.button('transfers.assign.button', { amount: yen(900, 'en') }).click();
        await v.reads(v.say('transfers.must_return'), v.page.locator('.toasts'));
        assert.deepEqual((await returns(server)).map(({ amount }) => amount), [900]);
    });

    test('O8 what a gateway did not do is not called too much at once; too much at once says how long', async (t) => {
        const server = await start(t, store);
        const payment = await server.paid();
        const v = await visit(t, server, { allow: [429, 502, 503, 504] });
        await v.login();
        await v.open(`/payments/${payment.id}`);
        const answers = [[502, 'GATEWAY_ERROR', 'error.GATEWAY_ERROR'], [504, 'GATEWAY_TIMEOUT', 'error.GATEWAY_TIMEOUT'], [503, 'OUTCOME_UNKNOWN', 'error.OUTCOME_UNKNOWN'],
            [503, 'STORE_TIMEOUT', 'error.503'], [429, 'TOO_MANY_REQUESTS', 'error.wait']];
        let answer;
        await v.page.route('**/capture', (route) => route.fulfill({ status: answer[0], headers: { 'Retry-After': '7' }, contentType: 'application/problem+json',
            body: JSON.stringify({ type: 'about:blank', title: 'x', status: answer[0], code: answer[1], detail: 'x', instance: '/x' }) }));
        await v.page.getByRole('button', { name: `${v.say('payments.capture')}…` }).click();
        for (answer of answers) {
            await v.button('payments.capture_button', { amount: yen(1200, 'en') }).click();
            await v.page.getByRole('dialog').getByText(answer[1], { exact: false }).waitFor();
            assert.equal(await v.page.locator('dialog .error-title').textContent(), v.say(answer[2], { v: '7 s' }));
        }
    });

    test('O8 an overview and a queue that cannot be read say since when, until they can', async (t) => {
        const server = await start(t, store);
        const v = await visit(t, server, { allow: ['net::ERR_CONNECTION_FAILED'] });
        await v.page.clock.install();
        await v.login();
        const said = v.page.locator('main .wrong:visible').filter({ hasText: v.say('ui.stale', { time: '' }).split(' ')[0] });
        for (const [where, path] of [['/overview', '**/admin/overview'], ['/queues', '**/admin/queues']]) {
            await v.open(where);
            await v.page.route(path, (route) => route.abort('connectionfailed'));
            await v.page.clock.fastForward(6000);
            await said.first().waitFor();
            if (where === '/overview') {
                await v.reads(v.say('overview.all_clear'));
                await v.page.locator('.part.stale .all-clear').waitFor(); // which does not look green
                await v.shot('overview-stale');
            }
            await v.page.unroute(path);
            await until('it is of now', async () => {
                await v.page.clock.fastForward(10_000);
                return (await said.count()) === 0;
            });
        }
    });

    test('O8 the pages: no "next" of the page before while another loads; a filter keeps the keyboard; Back goes back', async (t) => {
        const server = await start(t, store);
        for (let i = 0; i < 26; i++) await server.paid();
        const v = await visit(t, server);
        await v.login();
        await v.open('/payments');
        const next = v.button('ui.next');
        await until('there is a next page', () => next.isEnabled());
        let free;
        await v.page.route('**/admin/payments?*', async (route) => {
            await new Promise((resolve) => (free = resolve));
            await route.continue();
        });
        const state = v.field('payments.filter_status');
        await state.focus();
        await state.selectOption('AUTHORIZED');
        await until('it is asked for', () => free);
        assert.ok(await next.isDisabled(), 'that page is not there any more');
        free();
        await until('there is one of these', () => next.isEnabled());
        assert.ok(await state.evaluate((el) => el === document.activeElement), `the keyboard stays: ${await v.focused()}`);
        assert.ok(v.page.url().endsWith('#/payments?status=AUTHORIZED'));
        await v.page.unrouteAll();
        await next.focus();
        await v.page.keyboard.press('Enter');
        await v.reads(v.say('ui.page', { n: 2 }));
        await v.page.goBack();
        await v.ready('/payments');
        assert.equal(await v.field('payments.filter_status').inputValue(), '');
    });

    test('O8 on a phone the menu keeps the keyboard while it is open, and gives it back', async (t) => {
        const server = await start(t, store);
        const v = await visit(t, server, { width: 390, height: 844 });
        await v.login();
        const menu = v.button('app.menu');
        await menu.click();
        for (let i = 0; i < 40; i++) {
            await v.page.keyboard.press('Tab');
            assert.ok(await v.page.evaluate(() => !document.querySelector('main').contains(document.activeElement)), 'not behind the veil');
        }
        await v.link('payments.title').focus();
        await v.page.keyboard.press('Escape');
        assert.ok(await menu.evaluate((el) => el === document.activeElement), await v.focused());
        assert.ok(await v.page.locator('main').evaluate((el) => !el.inert));
        await menu.click();
        await v.page.setViewportSize({ width: 1280, height: 900 }); // turned, or put on a desk
        await until('all of it can be used', () => v.page.locator('main').evaluate((el) => !el.inert));
    });
});
