// The channel webhook (N1): each notification, posted to one machine, signed by Standard Webhooks.
import { Webhook } from 'standardwebhooks';
import { remember } from './lib/evidence.mjs';
import { assert, forOneStore, fresh, launch, start, stores, test, until, uuid } from './lib/harness.mjs';
import { bought, campaign, quiet, VISA } from './lib/purchases.mjs';
import { receive } from './lib/receiver.mjs';

const SECRET = `whsec_${Buffer.from('notify-e2e-0123456789abcdefghijk').toString('base64')}`;
remember(SECRET);
const CONFIRMED = 'purchase_confirmed';

// got: {id, body, at, headers} of each post, checked by the npm package; the server's time counts.
async function open(t, store, { answer, db, got, env } = {}) {
    const posts = got ?? await receive(t, (delivery) => (answer ?? posts.answer)?.(read(delivery)) ?? 204);
    const server = await start(t, store, {
        db, env: { ICHIDO_NOTIFY_WEBHOOK: `${posts.url}/told?a=1`, ICHIDO_NOTIFY_SECRET: SECRET, ...env },
    });
    return { server, posts };
}

const read = ({ method, path, headers, text }) => ({
    method, path, headers, text, id: headers['webhook-id'], at: Number(headers['webhook-timestamp']), body: JSON.parse(text),
});
const confirmations = (posts) => posts.map(read).filter(({ body }) => body.type === CONFIRMED);
const came = (posts, n = 1) => until(`${n} confirmations`, () => confirmations(posts).length >= n && confirmations(posts));

// The package compares with the real clock: a server whose clock was moved is moved back here.
function verify(server, post) {
    const now = Date.now;
    Date.now = () => now() + server.offsetMs;
    try {
        return new Webhook(SECRET).verify(post.text, post.headers);
    } finally {
        Date.now = now;
    }
}

async function person(server, changes = {}) {
    const user = uuid();
    const answer = await server.call('PUT', `/api/v1/users/${user}`, { as: user, body: { channels: ['webhook'], ...changes } });
    assert.equal(answer.status, 201, answer.text);
    return user;
}

async function buys(server, user, headers) {
    const { positions } = await campaign(server);
    return bought(server, positions[0], { as: user, method: VISA, headers });
}

const sendOf = async (server) => {
    const told = (await server.db.table('notifications')).filter(({ type }) => type === CONFIRMED).map(({ id }) => id);
    return (await server.db.table('sends')).find((row) => row.channel === 'webhook' && told.includes(row.notification_id));
};
const ends = (server, status) => until(`it is ${status}`, async () => (await sendOf(server))?.status === status);

// Once, for confirmations; then as always.
const first = (how) => {
    let said = false;
    return ({ body }) => {
        if (body.type !== CONFIRMED || said) return 204;
        said = true;
        return how;
    };
};

forOneStore((store, test) => {
    test('N1 a notification is posted once, signed, with the words of 003', async (t) => {
        const { server, posts } = await open(t, store);
        const user = await person(server);
        const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
        const { purchase } = await buys(server, user, { traceparent: `00-${trace}-00f067aa0ba902b7-01` });
        const [post] = await came(posts);
        await ends(server, 'sent');
        assert.match(post.headers.traceparent, new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
        await quiet(server);
        assert.equal(confirmations(posts).length, 1);
        assert.deepEqual([post.method, post.path], ['POST', '/told?a=1']);
        assert.equal(post.headers['content-type'], 'application/json');
        const body = verify(server, post);
        const { id, createdAt, ...rest } = body;
        assert.deepEqual(rest, {
            type: CONFIRMED, title: '購入が完了しました', body: 'ポジションの購入が確定しました。',
            data: { purchaseId: purchase.id, campaignId: purchase.campaignId }, userId: user, participantId: null, language: 'ja',
        });
        assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
        const row = await sendOf(server);
        assert.deepEqual([post.id.replaceAll('-', ''), id.replaceAll('-', '')], [row.id, row.notification_id]);
        assert.ok(!server.stderr.includes(SECRET.slice(6)));
    });

    test('N1 who reads English is told in English, who wants nothing is not told, of whom nothing is known is told here', async (t) => {
        const { server, posts } = await open(t, store);
        const people = { en: await person(server, { language: 'en' }), nothing: await person(server, { channels: [] }), nobody: uuid() };
        for (const user of Object.values(people)) await buys(server, user);
        await came(posts, 2);
        await quiet(server);
        const of = (user) => confirmations(posts).filter(({ body }) => body.userId === user).map(({ body }) => [body.language, body.title]);
        assert.deepEqual(of(people.en), [['en', 'Your purchase is complete']]);
        assert.deepEqual(of(people.nothing), []);
        assert.deepEqual(of(people.nobody), [['ja', '購入が完了しました']]);
    });

    const troubles = [
        ['500', 500, 5], ['404', 404, 5], ['a redirection', [302, { Location: '/elsewhere' }], 5],
        ['429 with Retry-After', [429, { 'Retry-After': '90' }], 90],
    ];
    for (const [what, how, seconds] of troubles)
        test(`N1 after ${what} it comes again with the same webhook-id and a new signature`, async (t) => {
            const { server, posts } = await open(t, store, { answer: first(how) });
            await buys(server, await person(server));
            await came(posts);
            await ends(server, 'waiting');
            const { id, updated_at: failed } = await sendOf(server);
            const [{ due_at: due }] = await server.db.table('message', `id = ${server.db.blob(id)}`);
            assert.ok(due - failed >= seconds * 1000 - 100, `${due - failed} ms`);
            await server.advance(seconds * 1000);
            const [one, two] = await came(posts, 2);
            await ends(server, 'sent');
            assert.equal(one.id, two.id);
            assert.equal(one.text, two.text);
            assert.ok(two.at >= one.at + seconds - 1 && one.headers['webhook-signature'] !== two.headers['webhook-signature']);
            verify(server, two);
            assert.equal(posts.filter(({ path }) => path !== '/told?a=1').length, 0, 'nobody follows a redirection');
        });

    test('N1 a receiver that is gone (410) is not asked again', async (t) => {
        const { server, posts } = await open(t, store, { answer: first(410) });
        await buys(server, await person(server));
        await ends(server, 'failed');
        await server.advance(24 * 3600_000);
        await quiet(server);
        assert.equal(confirmations(posts).length, 1);
    });

    test('N1 T6 kill -9 while the receiver holds it: it comes again with the same webhook-id', async (t) => {
        let go;
        const held = new Promise((resolve) => { go = resolve; });
        t.atEnd(() => go());
        const { server, posts } = await open(t, store, { answer: ({ body }) => (body.type === CONFIRMED ? held.then(() => 204) : 204) });
        await buys(server, await person(server));
        await came(posts);
        await server.kill();
        go();
        const again = await open(t, store, { db: server.db, got: posts });
        await again.server.advance(30_000);
        await ends(again.server, 'sent');
        await quiet(again.server);
        const all = confirmations(posts);
        assert.equal(all.length, 2);
        assert.equal(all[0].id, all[1].id);
        assert.equal(all[0].text, all[1].text);
    });

    test('N1 P6 a receiver that hangs holds up no purchase', async (t) => {
        let go;
        const held = new Promise((resolve) => { go = resolve; });
        t.atEnd(() => go());
        const { server, posts } = await open(t, store, { answer: () => held.then(() => 204) });
        const user = await person(server);
        const { positions } = await campaign(server, { layers: [{ name: 'A', price: 2000, positions: 12 }] });
        await Promise.all(positions.map((position) => bought(server, position, { as: user, method: VISA })));
        await until('some of them hang', () => posts.length >= 4);
        go();
        await came(posts, 12);
        await quiet(server);
        assert.equal(confirmations(posts).length, 12);
    });
});

test('N1 a secret that is none is refused at start, in words that do not show it', async (t) => {
    for (const [secret, words] of [['whsec_c2hvcnQ=', /base64 of 24 to 64 bytes/], [undefined, /ICHIDO_NOTIFY_SECRET/]]) {
        const db = await fresh(t, stores[0]);
        const server = launch(t, db, { env: { ICHIDO_NOTIFY_WEBHOOK: 'http://127.0.0.1:9/', ICHIDO_NOTIFY_SECRET: secret } });
        assert.notEqual((await server.exit).code, 0);
        assert.match(server.stderr, words);
        assert.doesNotMatch(server.stderr, /c2hvcnQ/);
    }
});
