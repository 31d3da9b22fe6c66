// What an operator does on the page beyond payments and dead letters: events applied again by the hour, the bank's
// transfers from the file to the money that goes back, and who is told (O8 G4 B2 Q6).
import { assert, forOneStore, start, until } from './lib/harness.mjs';
import { quiet } from './lib/purchases.mjs';
import { bank, becomes, booksAgree, lines, owes, paidBy, returns, statement, transferOf } from './lib/transfers.mjs';
import { visit, yen } from './lib/browser.mjs';

const code = (amount) => `JPY\u00a0${amount.toLocaleString('en-GB')}`; // as a dialog names what it is about
const choose = (v, text, name = 'meisai.csv') => v.field('transfers.import.file').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });

// The row that says so, and what is done about it.
async function inRow(v, text, key) {
    await v.page.getByRole('tabpanel').getByRole('row', { name: text }).getByRole('button', { name: v.say(key), exact: false }).click();
    return v.page.getByRole('dialog');
}
const tab = (v, name) => v.page.getByRole('tab', { name: v.say(`transfers.tab.${name}`), exact: true }).click();

async function takeFile(v, text) {
    await v.button('transfers.import').click();
    await v.button('transfers.import.check').click();
    await v.reads(v.say('transfers.import.required'), v.page.getByRole('dialog'));
    await choose(v, 'no,heading\nthat,anybody knows\n');
    await v.button('transfers.import.check').click();
    await v.page.getByRole('dialog').getByRole('alert').getByText('VALIDATION_ERROR', { exact: false }).waitFor();
    await v.shot('transfers-file-wrong', { full: false });
    await choose(v, text);
    await v.button('transfers.import.check').click();
    const sure = v.dialog('transfers.import.confirm', { n: 4 });
    await v.reads('スズキ ハナコ', sure);
    await v.shot('transfers-file-sure', { full: false });
    assert.deepEqual(await lines(v.server), [], 'it only looked');
    await sure.getByRole('button', { name: v.say('transfers.import.submit'), exact: true }).click();
    await v.reads(v.say('transfers.import.done'));
}

forOneStore((store, test) => {
    test('O8 Q6 events of a time span are counted, then applied once more at a rate; no money moves', async (t) => {
        const server = await start(t, store);
        await server.captured();
        await server.paid();
        await quiet(server);
        const count = await server.db.count('webhook_events');
        assert.ok(count >= 3, `${count} events came`);
        const before = (await server.books()).totals;
        const v = await visit(t, server, { axe: true });
        await v.login();
        await v.open('/events');
        await v.button('events.range').click();
        const ask = v.dialog('events.range.title');
        await ask.getByLabel(v.say('filter.to'), { exact: true }).fill('2020-01-01T00:00');
        await v.button('ui.dry_run').click();
        await v.reads(v.say('events.range.order'), ask);
        await ask.getByLabel(v.say('filter.from'), { exact: true }).fill('2019-12-31T00:00');
        await v.button('ui.dry_run').click();
        await v.reads(v.say('events.range.none'), ask);
        await v.shot('replay-span', { full: false });
        assert.deepEqual(await v.axe(), []);
        await v.page.keyboard.press('Escape');

        await v.button('events.range').click();
        await v.button('ui.dry_run').click();
        const sure = v.dialog('events.range.confirm', { count: v.say('events.n', { n: count }) });
        await sure.waitFor();
        assert.equal(await server.db.count('event_replays'), 0, 'it only counted');
        await sure.getByLabel(v.say('events.range.rate'), { exact: true }).fill('1');
        await v.shot('replay-sure', { full: false });
        await sure.getByRole('button', { name: v.say('ui.start'), exact: true }).click();
        const running = v.page.getByRole('region', { name: v.say('dlq.redrives.running') });
        await running.getByRole('progressbar').waitFor();
        await v.shot('replay-running');
        await running.waitFor({ state: 'hidden' });
        await v.reads(v.say('dlq.redrive.over', { what: v.say('dlq.redrive.of', { done: count, matched: count }) }));
        assert.equal(await server.db.count('event_replays'), count);
        assert.deepEqual((await server.books()).totals, before);
    });

    test('G4 O8 the bank\'s money on the page: a file, whose it is, nobody\'s, seen by hand, and sent back', async (t) => {
        const server = await bank(t, store);
        const [byFile, byPerson, byHand] = [await owes(server, 1200), await owes(server, 8000), await owes(server, 3000)];
        const v = await visit(t, server, { axe: true, allow: [400, 422] });
        await v.login();
        await v.open('/transfers');
        await v.reads(v.say('transfers.lines.none'));
        await takeFile(v, statement([paidBy(byFile), { text: 'スズキ ハナコ', amount: 8000 }, { text: '利息', amount: 12 }, { text: '<b>x</b> ｶ)ﾏﾁｶﾞｲ', amount: 500 }]));
        await becomes(server, byFile, 'CAPTURED');
        await v.page.getByRole('tabpanel').getByRole('row', { name: 'スズキ ハナコ' }).waitFor();
        await v.shot('transfers-lines');
        assert.deepEqual(await v.axe(), []);

        let ask = await inRow(v, 'スズキ ハナコ', 'transfers.assign');
        await ask.getByRole('radio').first().waitFor();
        assert.ok(await ask.getByRole('radio').first().isChecked(), 'the likeliest is chosen');
        await ask.getByLabel(v.say('transfers.assign.to'), { exact: true }).fill('123'); // another one, and none
        await v.button('transfers.assign.button', { amount: yen(8000, 'en') }).click();
        await ask.getByRole('alert').filter({ hasText: /./ }).first().waitFor();
        await ask.getByRole('radio', { name: byPerson.reference }).check();
        await v.shot('transfers-assign', { full: false });
        assert.deepEqual(await v.axe(), []);
        await v.button('transfers.assign.button', { amount: yen(8000, 'en') }).click();
        await becomes(server, byPerson, 'CAPTURED');
        await v.reads(v.say('transfers.assign.done'), v.page.locator('.toasts'));

        ask = await inRow(v, '利息', 'transfers.set_aside');
        await v.button('transfers.set_aside').click();
        await v.reads(v.say('ui.required'), ask);
        await v.field('field.reason').fill('利息');
        await v.button('transfers.set_aside').click();
        await v.reads(v.say('transfers.set_aside.done'), v.page.locator('.toasts'));
        await inRow(v, 'ﾏﾁｶﾞｲ', 'transfers.set_aside');
        await v.field('field.reason').fill('wrong account');
        await v.field('transfers.set_aside.return').check();
        await v.shot('transfers-aside', { full: false });
        await v.button('transfers.set_aside').click();
        await v.reads(v.say('transfers.lines.none'));

        await tab(v, 'returns');
        await inRow(v, 'ﾏﾁｶﾞｲ', 'transfers.paid');
        await v.dialog('transfers.paid.title', { amount: code(500) }).waitFor();
        await v.field('transfers.paid.day').fill('2026-11-20');
        await v.shot('transfers-paid', { full: false });
        await v.button('transfers.paid.button', { amount: yen(500, 'en') }).click();
        await v.reads(v.say('transfers.returns.none'));
        assert.deepEqual((await returns(server, 'paid')).map(({ amount, paidOn }) => [amount, paidOn]), [[500, '2026-11-20']]);

        await tab(v, 'expected');
        await inRow(v, byHand.reference, 'transfers.confirm');
        await v.dialog('transfers.confirm.title', { amount: code(3000) }).waitFor();
        await v.field('transfers.note').fill('通帳で確認');
        await v.shot('transfers-confirm', { full: false });
        assert.equal((await transferOf(server, byHand)).state, 'open', 'nothing was sent yet');
        await v.button('transfers.confirm.button', { amount: yen(3000, 'en') }).click();
        await becomes(server, byHand, 'CAPTURED');
        await v.reads(v.say('transfers.expected.none'));
        await v.field('field.state').selectOption('received');
        await v.page.getByRole('row', { name: byHand.reference }).waitFor();
        await v.shot('transfers-expected');
        await tab(v, 'files');
        await v.page.getByRole('row', { name: 'meisai.csv' }).waitFor();
        await v.shot('transfers-files');
        assert.equal(await booksAgree(server.db), 12_200);
    });

    test('G4 O8 money for a payment that has ended is confirmed as money that goes back', async (t) => {
        const server = await bank(t, store);
        const late = await owes(server, 700);
        assert.equal((await server.void(late)).status, 200);
        await until('it has ended', async () => (await transferOf(server, late)).state === 'canceled');
        const v = await visit(t, server);
        await v.login();
        await v.open('/transfers?tab=expected');
        await v.field('field.state').selectOption('canceled');
        const ask = await inRow(v, late.reference, 'transfers.confirm');
        await v.reads(v.say('transfers.confirm.ended'), ask);
        await v.button('transfers.confirm.button', { amount: yen(700, 'en') }).click();
        await v.reads(v.say('transfers.must_return'), v.page.locator('.toasts'));
        const [due] = await until('it is due', async () => (await returns(server)).length && returns(server));
        assert.deepEqual([due.amount, due.paymentId], [700, late.id]);
    });

    test('B2 O8 subscribers are added with their secret shown once, listed and removed on the page', async (t) => {
        const server = await start(t, store);
        const v = await visit(t, server, { axe: true, allow: [400] });
        await v.login();
        await v.open('/subscribers');
        await v.reads(v.say('subscribers.none'));
        await v.page.getByRole('button', { name: `${v.say('subscribers.add')}…` }).click();
        const ask = v.dialog('subscribers.add');
        const send = ask.getByRole('button', { name: v.say('ui.add'), exact: true });
        await send.click();
        await v.reads(v.say('subscribers.url.required'), ask);
        await v.field('subscribers.url').fill('ftp://example.test/');
        await send.click();
        await ask.locator('[aria-invalid=true]').waitFor();
        await v.field('subscribers.url').fill('http://127.0.0.1:9/in?a=%3Cb%3E');
        await ask.getByLabel('PaymentCreated', { exact: true }).uncheck();
        await v.shot('subscribers-add', { full: false });
        assert.deepEqual(await v.axe(), []);
        await send.click();
        const once = v.dialog('subscribers.secret.title');
        const secret = await once.getByText(/^whsec_/).first().textContent();
        await v.shot('subscribers-secret', { full: false });
        await v.page.mouse.click(5, 5); // beside it
        await v.button('subscribers.secret.stored').click();
        await v.page.getByRole('row', { name: '127.0.0.1:9' }).waitFor();
        await until('it is gone from the page', async () => !(await v.page.content()).includes(secret));
        await v.shot('subscribers');
        const [row] = (await server.call('GET', '/api/v1/admin/subscribers', { as: 'admin' })).body.data;
        assert.deepEqual(row.types, ['PaymentAuthorized', 'PaymentCaptured', 'PaymentFailed', 'PaymentRefunded']);
        await v.page.getByRole('button', { name: `${v.say('subscribers.remove')}…` }).click();
        await v.dialog('subscribers.remove.title').getByRole('button', { name: v.say('subscribers.remove'), exact: true }).click();
        await v.reads(v.say('subscribers.none'));
        assert.equal(await server.db.count('subscribers'), 0);
    });
});
