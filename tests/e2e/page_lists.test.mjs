// Lists of the page that are longer than one look of the server: "none" is said only where there is none, and a number
// that is about to be deleted is counted (O8 Q6).
import { sealed, verify } from './lib/audit.mjs';
import { fill } from './lib/dlq.mjs';
import { assert, forOneStore, start, until, uuid } from './lib/harness.mjs';
import { asHex } from './lib/stores.mjs';
import { visit } from './lib/browser.mjs';

const KIND = 'stripe.event';
const group = (cause) => `/dlq?${new URLSearchParams({ kind: KIND, cause })}`;
const numbers = (db, count) => (db.kind === 'sqlite' ? `(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n)`
    : `(SELECT generate_series(1, ${count}) AS i)`);
const asked = (v, path) => v.seen.requests.filter(({ url }) => url.pathname.endsWith(path)).length;

// Rows of the audit log that nobody of interest wrote, newer than all before them.
const crowd = (db, count) => db.all(`INSERT INTO audit (at, operation, subject, result) SELECT ${Date.now()} + i, 'CROWD', 'one of many', 'success' FROM ${numbers(db, count)} n`);

async function events(db, count, type) {
    const id = db.kind === 'sqlite' ? `CAST(substr('0000000000000000${type}' || i, -16) AS BLOB)` : `decode(md5('${type}' || i), 'hex')`;
    const empty = db.kind === 'sqlite' ? `x''` : `''::bytea`;
    await db.all(`INSERT INTO webhook_events (provider, stripe_event_id, type, received_at, message_id, request_id, trace, body)
        SELECT 'stripe', 'evt_${type}_' || i, '${type}', ${Date.now()} + i, ${id}, '', '', ${empty} FROM ${numbers(db, count)} n`);
    await db.all(`INSERT INTO webhook_outcomes (message_id, outcome, at, event_id) SELECT ${id}, 'ignored', ${Date.now()} + i, 'evt_${type}_' || i FROM ${numbers(db, count)} n`);
}

forOneStore((store, test) => {
    test('O8 Q6 a group behind twenty thousand other letters is counted before it is deleted, and what was refused is told', async (t) => {
        const server = await start(t, store);
        for (const [count, cause, prefix] of [[10_500, 'a first cause', 'a_'], [10_500, 'a second cause', 'b_'], [300, 'the third cause', 'c_']])
            await fill(server.db, count, { cause, reason: cause, prefix });
        const v = await visit(t, server);
        await v.login();
        await v.open(group('the third cause'));
        await v.page.locator('.facts').getByText('300', { exact: true }).waitFor();
        await v.button('dlq.delete.group').click();
        const ask = v.dialog('dlq.delete.many.title', { count: v.say('dlq.n', { n: 300 }) });
        await ask.waitFor();
        await v.shot('lists-delete', { full: false });
        await ask.getByRole('textbox').fill(v.say('dlq.delete.word'));
        await ask.getByRole('button', { name: v.say('dlq.delete'), exact: true }).click();
        await v.reads(v.say('dlq.deleted', { n: 300 }), v.page.locator('.toasts'));
        await v.reads(v.say('dlq.list.none'));
        assert.equal(await server.db.count('dead_letters'), 21_000);

        await v.open(group('a second cause')); // more than one look of the server: all of them all the same
        await v.page.route('**/dlq/delete', async (route) => {
            const answer = await route.fetch();
            const body = await answer.json();
            if (!body.dryRun && !body.cursor) Object.assign(body, { done: body.done - 1, refused: 1, refusals: [{ id: uuid(), reason: 'somebody holds <b>it</b>' }] });
            await route.fulfill({ response: answer, json: body });
        });
        await v.button('dlq.delete.group').click();
        const all = v.dialog('dlq.delete.many.title', { count: v.say('dlq.n', { n: '10,500' }) });
        await all.getByRole('textbox').fill(v.say('dlq.delete.word'));
        await all.getByRole('button', { name: v.say('dlq.delete'), exact: true }).click();
        const news = v.page.locator('.toasts');
        await v.reads(v.say('dlq.deleted', { n: '10,499' }), news);
        await v.reads(v.say('dlq.retry.refused', { n: 1 }), news);
        await v.reads('somebody holds <b>it</b>', news);
        await until('they are gone', async () => (await server.db.count('dead_letters')) === 10_500);
        await v.button('dlq.delete.group').click();
        await v.reads(v.say('dlq.list.none'), v.page.locator('.toasts'));
        assert.equal(await v.page.getByRole('dialog').count(), 0, 'nothing is there to be deleted');
    });

    test('O8 O6 a row of the audit log behind ten thousand newer ones is found; where there is none, it says so at the end', async (t) => {
        const server = await start(t, store);
        const user = uuid();
        await server.db.all(`INSERT INTO audit (at, operation, subject, result, user_id) VALUES (${Date.now()}, 'LONG_AGO', 'a needle', 'success', ${server.db.blob(asHex(user))})`);
        await crowd(server.db, 10_100);
        const v = await visit(t, server);
        await v.login();
        await v.open(`/audit?userId=${user}`);
        await v.page.getByRole('row', { name: 'LONG_AGO' }).waitFor();
        await v.open(`/audit?userId=${uuid()}`);
        await v.reads(v.say('audit.none'));
        assert.equal(await v.button('ui.search_older').count(), 0);
    });

    test('O8 after some looks without a row the page asks before it looks further, and never says "none" before the end', async (t) => {
        const server = await start(t, store);
        const user = uuid();
        await server.db.all(`INSERT INTO audit (at, operation, subject, result, user_id) VALUES (${Date.now()}, 'LONG_AGO', 'a needle', 'success', ${server.db.blob(asHex(user))})`);
        const v = await visit(t, server, { axe: true });
        await v.login();
        let empty = 24; // looks that find nothing, as a log of a million rows has them
        await v.page.route('**/admin/audit?*', async (route) => {
            if (empty-- > 0) return route.fulfill({ json: { data: [], nextCursor: `look-${empty}` } });
            const address = new URL(route.request().url());
            address.searchParams.delete('cursor');
            return route.fulfill({ response: await route.fetch({ url: address.href }) });
        });
        await v.open(`/audit?userId=${user}`);
        await v.reads(v.say('ui.no_match_yet'));
        assert.equal(await v.page.getByText(v.say('audit.none')).count(), 0);
        assert.equal(asked(v, '/admin/audit'), 20);
        assert.deepEqual(await v.axe(), []);
        await v.shot('lists-look-on');
        await v.button('ui.search_older').focus();
        await v.page.keyboard.press('Enter');
        await v.page.getByRole('row', { name: 'LONG_AGO' }).waitFor();
        assert.equal(asked(v, '/admin/audit'), 25);
    });

    test('O8 an event behind ten thousand of other types is found by its type, and a letter by its event', async (t) => {
        const server = await start(t, store);
        await events(server.db, 1, 'a.rare');
        await events(server.db, 10_100, 'many');
        await fill(server.db, 1, { prefix: 'rare_' });
        await fill(server.db, 10_100, { prefix: 'many_', diedAt: 1_760_000_100_000 });
        const v = await visit(t, server);
        await v.login();
        await v.open('/events?type=a.rare');
        await v.page.getByRole('row', { name: 'a.rare' }).waitFor();
        await v.page.evaluate(() => (location.hash = '#/dlq?ref=rare_1'));
        await v.page.waitForURL(/#\/dlq\/[0-9a-f-]{36}$/);
        await v.reads('rare_1');
    });

    test('O6 O8 the page verifies the chain against a head that was kept elsewhere: one that was cut or made anew is not whole', async (t) => {
        const server = await start(t, store);
        await server.paid();
        await sealed(server);
        const { head } = await verify(server);
        const v = await visit(t, server, { axe: true });
        await v.login();
        await v.open('/audit');
        const box = v.page.getByRole('region', { name: v.say('audit.chain') });
        const ask = async (expect) => {
            await v.field('audit.expect').fill(expect);
            await v.page.keyboard.press('Enter');
        };
        await ask('');
        await v.reads(v.say('audit.verify.unexpected'), box);
        await v.reads(v.say('audit.verify.keep'), box);
        await box.getByRole('button', { name: new RegExp(`^${v.say('ui.copy')}: \\d+:[0-9a-f]+`) }).waitFor();
        await ask(`${head.n}:12`);
        await v.reads(v.say('audit.expect.invalid'), box);
        await ask(` ${head.n}:${head.hash.toUpperCase()} `);
        await v.reads(v.say('audit.verify.expected'), box);
        await v.shot('verify-expected');
        await ask(`${head.n}:${'0'.repeat(64)}`);
        await v.reads('was made anew', box);
        await v.reads(v.say('audit.verify.problems', { n: 1 }), box);
        await ask(`${head.n + 1000}:${head.hash}`);
        await v.reads('its tail is cut off', box);
        await v.shot('verify-cut');
        assert.deepEqual(await v.axe(), []);
    });
});
