// The admin page in a real browser: the whole story of a payment and of a worker that breaks and heals, in both
// languages (O7 O8 T3). Each step leaves a picture in build/screenshots; page_views.test.mjs has the rest.
import { captureThere, eventOf, now, retold } from './lib/events.mjs';
import { hide } from './lib/dlq.mjs';
import { ADMIN_TOKEN, assert, forOneStore, start, until, uuid } from './lib/harness.mjs';
import { SHOTS, visit, yen } from './lib/browser.mjs';
import { quiet } from './lib/purchases.mjs';

const CAUSE = { en: 'no such payment yet', ja: '該当する支払いがまだありません' };

// --- the story, step by step ---

async function logIn(v) {
    await v.login();
    assert.ok(!v.page.url().includes('token'), v.page.url());
    assert.ok(!(await v.urls()).join().includes(ADMIN_TOKEN), 'the history has no token');
    await v.reads(v.say('overview.all_clear'));
    await v.shot('01-overview');
}

async function makePayment(v) {
    await v.link('sandbox.title').click();
    await v.field('field.amount').fill('5000');
    await v.field('sandbox.description').fill('テニスコート 2 時間 / Tennis court');
    await v.button('sandbox.pay.submit').click();
    const follow = v.link('sandbox.pay.timeline');
    await follow.waitFor();
    await v.shot('02-sandbox');
    await follow.click();
    await v.page.waitForURL(/#\/payments\/[0-9a-f-]{36}$/);
    return v.page.url().split('/').pop();
}

// The timeline shows who made it, the gateway, the state and, a moment later, the webhook.
async function followTimeline(v) {
    const list = v.page.locator('ol.events');
    for (const lane of ['operator', 'gateway', 'webhook', 'state']) await list.getByText(v.say(`timeline.lane.${lane}`), { exact: true }).first().waitFor();
    await v.page.getByRole('heading', { level: 1 }).getByText(v.say('status.AUTHORIZED')).waitFor();
    await v.shot('03-payment');
}

async function captureIt(v) {
    await v.page.getByRole('button', { name: `${v.say('payments.capture')}…` }).click();
    await v.dialog('payments.capture_title').waitFor();
    await v.shot('04-capture', { full: false });
    await v.button('payments.capture_button', { amount: yen(5000, v.lang) }).click();
    await v.reads(v.say('payments.result_capture', { amount: yen(5000, v.lang) }));
}

async function refundPart(v) {
    await v.page.getByRole('button', { name: `${v.say('payments.refund')}…` }).click();
    await v.field('payments.amount_field', { currency: 'JPY' }).fill('9000');
    await v.button('payments.refund_button', { amount: yen(9000, v.lang) }).click();
    await v.reads(v.say('payments.amount_wrong', { min: yen(1, v.lang), max: yen(5000, v.lang) }), v.page.getByRole('dialog'));
    await v.field('payments.amount_field', { currency: 'JPY' }).fill('1500');
    await v.field('payments.reason_field').fill('雨 / rain');
    await v.shot('05-refund', { full: false });
    await v.button('payments.refund_button', { amount: yen(1500, v.lang) }).click();
    await v.page.getByRole('heading', { level: 1 }).getByText(v.say('payments.part_refunded')).waitFor();
    await v.page.locator('ol.events').getByText(v.say('timeline.lane.operator'), { exact: true }).first().waitFor();
    await v.shot('06-refunded');
}

// Time passes only while nothing is being tried: a clock that jumps a second is a second of silence for a database.
const allDie = (server, count) => until(`${count} are dead`, async () => {
    if ((await server.db.count('dead_letters')) === count) return true;
    const busy = await server.db.count('message', `kind = 'stripe.event' AND (owner IS NOT NULL OR due_at <= ${Date.now() + server.offsetMs})`);
    if (!busy) await server.advance(1000);
    return false;
}, 30_000);

// Webhooks of two payments that were captured at the gateway cannot be applied: one names a payment that nobody has,
// those of the other come while its row is not there. A third event is broken by the sandbox view.
async function breakWorker(v, wrong, lost) {
    const { server } = v;
    await v.link('sandbox.title').click();
    await v.page.getByRole('switch', { name: v.say('sandbox.webhook.off') }).click();
    await v.page.locator('.toggle.on').waitFor();
    await v.field('sandbox.event.broken').check();
    await v.button('sandbox.event.submit').click();
    await v.reads(v.say('sandbox.event.done'));
    await v.shot('07-broken');
    for (const payment of [wrong, lost]) await captureThere(server, payment);
    const news = await eventOf(server, wrong, 'payment_intent.succeeded');
    const false_ = retold(news, {}, { id: 'pi_unknown', metadata: { ...news.data.object.metadata, payment_id: uuid() } });
    const others = [];
    for (const type of ['payment_intent.succeeded', 'charge.captured', 'charge.updated']) others.push(await eventOf(server, lost, type));
    const mend = await hide(server.db, lost);
    await v.link('overview.title').click();
    for (const one of [false_, ...others]) assert.equal((await server.deliver(one)).status, 204);
    await allDie(server, 5);
    return { mend, wrong: false_, others };
}

async function watchDead(v) {
    const item = v.page.locator('.attention', { hasText: v.say('overview.dead_hint') });
    await item.getByText('5', { exact: true }).waitFor();
    await v.shot('08-overview-dead');
    await item.getByRole('link').click();
    await v.ready('/dlq');
    const row = v.page.getByRole('row', { name: CAUSE[v.lang] });
    await row.getByText('4', { exact: true }).waitFor();
    await v.shot('09-dead-letters');
    await row.getByRole('link', { name: CAUSE[v.lang] }).click();
}

async function dryRun(v, count) {
    await v.button('ui.dry_run').click();
    await v.reads(v.say('dlq.dry_run.result', { count: v.say('dlq.n', { n: count }) }));
    await v.shot('10-group');
}

// The payment's id and the intent's are put right; the difference is shown before it is sent.
async function editOne(v, event, payment) {
    await v.page.getByRole('row', { name: event.id.slice(0, 20) }).getByRole('link', { name: CAUSE[v.lang] }).click();
    await v.button('dlq.edit').click();
    const box = v.field('dlq.edit.body');
    await v.reads(v.say('dlq.edit.unchanged'));
    const text = await box.inputValue();
    await box.fill(text.replace(/,/, ',,'));
    await v.page.locator('.edit-state.wrong').waitFor();
    assert.ok(await v.button('dlq.edit.review').isDisabled(), 'what is no JSON is not sent');
    const { metadata } = event.data.object;
    await box.fill(text.replaceAll(metadata.payment_id, payment.id).replaceAll('pi_unknown', payment.gatewayTransactionId));
    await v.reads(v.say('dlq.edit.valid'));
    await v.shot('11-edit');
    await v.button('dlq.edit.review').click();
    const review = v.dialog('dlq.edit.review.title');
    for (const id of [metadata.payment_id, payment.id]) await review.getByText(id).first().waitFor();
    await v.shot('12-diff', { full: false });
    await review.getByRole('button', { name: v.say('dlq.edit.confirm'), exact: true }).click();
    await v.reads(v.say('dlq.edit.done'), v.page.locator('body'));
    await v.ready('/dlq');
    const outcome = await until('it is applied', async () => (await v.server.db.outcome(event.id))?.outcome === 'applied');
    assert.ok(outcome);
    assert.equal((await now(v.server, payment)).status, 'CAPTURED');
}

async function redriveRest(v, mend) {
    await v.page.getByRole('row', { name: CAUSE[v.lang] }).getByRole('link', { name: CAUSE[v.lang] }).click();
    await mend();
    await v.button('dlq.redrive').click();
    const ask = v.dialog('dlq.redrive.title');
    await v.reads(v.say('dlq.redrive.count', { count: v.say('dlq.n', { n: 3 }) }), ask);
    await v.field('dlq.redrive.rate').fill('1');
    await v.shot('13-redrive', { full: false });
    await ask.getByRole('button', { name: v.say('ui.start'), exact: true }).click();
    const running = v.page.getByRole('region', { name: v.say('dlq.redrives.running') });
    await running.getByRole('progressbar').waitFor();
    await v.shot('14-under-way');
    await running.waitFor({ state: 'hidden' });
    await v.reads(v.say('dlq.list.none'));
}

// The broken one can only be forgotten: by a word that has to be typed.
async function forgetBroken(v) {
    await v.link('dlq.title').click();
    await v.page.getByRole('row', { name: 'stripe.event' }).getByRole('link').first().click();
    await v.button('dlq.delete.group').click();
    const ask = v.page.getByRole('dialog');
    const yes = ask.getByRole('button', { name: v.say('dlq.delete'), exact: true });
    assert.ok(await yes.isDisabled());
    await ask.getByRole('textbox').fill(v.say('dlq.delete.word'));
    await yes.click();
    await v.reads(v.say('dlq.list.none'));
}

async function seeItHeal(v, lost, events) {
    for (const { id } of events) await until('it has an outcome', async () => !['dead', undefined].includes((await v.server.db.outcome(id))?.outcome));
    await v.link('dlq.title').click();
    await v.reads(v.say('dlq.none'));
    await v.reads(v.say('status.done'));
    await v.shot('15-healed');
    await v.link('overview.title').click();
    await v.page.locator('.attention, .all-clear').first().waitFor();
    assert.equal(await v.page.locator('.attention', { hasText: v.say('overview.dead_hint') }).count(), 0);
    await v.open(`/payments/${lost.id}`);
    const list = v.page.locator('ol.events');
    await list.getByText(v.say('timeline.lane.queue'), { exact: true }).first().waitFor();
    for (const result of ['failed', 'retried']) await list.getByText(v.say(`status.${result}`), { exact: true }).first().waitFor();
    await v.page.getByRole('heading', { level: 1 }).getByText(v.say('status.CAPTURED')).waitFor();
    await v.shot('16-payment-healed');
    assert.equal((await now(v.server, lost)).status, 'CAPTURED');
}

forOneStore((store, named) => {
    for (const [lang, theme] of [['en', 'light'], ['ja', 'dark']])
        named(`O8 O7 T3 the story in ${lang}: log in, pay, follow, capture, refund; break, group, dry run, edit, redrive, heal`, async (t) => {
            const server = await start(t, store);
            const wrong = await server.paid({}, { amount: 3000 });
            const lost = await server.paid({}, { amount: 4000 });
            await quiet(server);
            const v = await visit(t, server, { lang, theme });
            await logIn(v);
            const id = await makePayment(v);
            await followTimeline(v);
            await captureIt(v);
            await refundPart(v);
            const { body } = await server.payment({ id }, 'admin');
            assert.deepEqual([body.status, body.capturedAmount, body.refundedAmount], ['CAPTURED', 5000, 1500]);
            await quiet(server);
            const trouble = await breakWorker(v, wrong, lost);
            await watchDead(v);
            await dryRun(v, 4);
            await editOne(v, trouble.wrong, wrong);
            await redriveRest(v, trouble.mend);
            await forgetBroken(v);
            await seeItHeal(v, lost, trouble.others);
            const { totals } = await server.books();
            assert.deepEqual([totals.captured, totals.refunded], [12_000, 1500], 'the gateway saw each of it once');
            t.diagnostic(`pictures of each step: ${SHOTS}`);
        });
});
