// From a change to the people it concerns (N1 E10 S2 T6): every type's words in both languages, once, where each wants
// them; whatever is killed, repeated, removed or hangs. What the transports themselves do: mail, push, notify_webhook.
import { remember } from './lib/evidence.mjs';
import { assert, forEachStore, fresh, launch, start, stores, test as plainTest, until, uuid } from './lib/harness.mjs';
import { Collection, person as debtor, payOnPage } from './lib/collections.mjs';
import { DLQ } from './lib/dlq.mjs';
import { eventsOf, retold, tell } from './lib/events.mjs';
import { ASKS, bought, buy, campaign, confirm, DECLINED, POOR, quiet, VISA } from './lib/purchases.mjs';
import { gatekeeper, receive } from './lib/receiver.mjs';
import { mailServer } from './lib/smtp.mjs';

const SECRET = `whsec_${Buffer.from('notify-all-0123456789abcdefghijk').toString('base64')}`;
remember(SECRET);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const hook = (got, env = {}) => ({ ICHIDO_NOTIFY_WEBHOOK: `${got.url}/in`, ICHIDO_NOTIFY_SECRET: SECRET, ...env });
const post = (smtp, env = {}) => ({ ICHIDO_SMTP_URL: smtp.url, ICHIDO_MAIL_FROM: 'pay@shop.example', ...env });
const bodies = (got) => got.map(({ text }) => JSON.parse(text));

async function open(t, store, { answer, env } = {}) {
    const got = await receive(t, answer);
    return { got, server: await start(t, store, { env: hook(got, env) }) };
}

async function person(server, body = { channels: ['webhook'] }, id = uuid()) {
    const answer = await server.call('PUT', `/api/v1/users/${id}`, { as: id, body });
    assert.ok(answer.status < 300, answer.text);
    return id;
}

const sends = (server, where) => server.db.table('sends', where);
const statuses = async (server) => (await sends(server)).map(({ channel, status }) => `${channel} ${status}`).sort();
const allEnd = (server, ...want) => until(`sends: ${want}`, async () =>
    JSON.stringify(await statuses(server)) === JSON.stringify(want.sort()));
async function notices(server) {
    const { status, body, text } = await server.call('GET', '/api/v1/admin/notifications?limit=100', { as: 'admin' });
    assert.equal(status, 200, text);
    return body.data;
}

// --- every type: what makes it happen to somebody, and its words ---

const dueIn = (server, days) => {
    const at = new Date(Date.now() + server.offsetMs + days * DAY);
    at.setUTCHours(9, 0, 0, 0); // 18:00 in Tokyo
    return at;
};

const CASES = {
    payment_authorized: {
        happens: (server, userId) => server.paid({}, { userId, amount: 12_345 }),
        ja: ['お支払いを受け付けました', 'ご予約のお支払い（12,345円）の与信が完了しました。'],
        en: ['Your payment is authorized', 'JPY 12,345 for your booking is authorized.'],
    },
    payment_failed: {
        happens: async (server, userId) => server.pay(await server.booking({ userId }), { paymentMethod: POOR }),
        ja: ['決済に失敗しました', 'カード残高が不足しています。'],
        en: ['Your payment failed', 'Your card has insufficient funds.'],
    },
    purchase_confirmed: {
        happens: async (server, as) => bought(server, (await campaign(server)).positions[0], { as, method: VISA }),
        ja: ['購入が完了しました', 'ポジションの購入が確定しました。'],
        en: ['Your purchase is complete', 'The purchase of your position is confirmed.'],
    },
    receipt: {
        happens: (server, userId) => server.captured({}, { userId }),
        ja: ['領収書のお知らせ', 'お支払いの領収書を発行しました。'],
        en: ['Your receipt', 'The receipt of your payment is ready.'],
    },
    payment_cancelled: {
        happens: async (server, as) => {
            await bought(server, (await campaign(server)).positions[0], { as, method: ASKS });
            await server.advance(16 * MINUTE);
        },
        ja: ['購入がキャンセルされました', '予約期限が切れたため、購入がキャンセルされました。'],
        en: ['Your purchase was cancelled', 'Your reservation ran out, so the purchase was cancelled.'],
    },
    payment_refunded: {
        happens: async (server, as) => {
            const { positions } = await campaign(server);
            const late = await bought(server, positions[0], { as, method: DECLINED });
            await bought(server, positions[0], { method: VISA });
            await confirm(server, late.payment, VISA);
        },
        ja: ['返金のお知らせ', 'お支払いを受け付けることができなかったため、全額を返金いたします。'],
        en: ['Your money is on its way back', 'Your payment could not be accepted, so all of it is refunded.'],
    },
    lottery_result: {
        happens: async (server, as) => {
            const { positions } = await campaign(server, { layers: [{ name: 'A', price: 2000, positions: 1 }] });
            await bought(server, positions[0], { as, method: VISA });
        },
        ja: ['抽選結果のお知らせ', 'おめでとうございます。抽選に当選しました。'],
        en: ['The draw', 'Congratulations: you have won.'],
    },
    reminder: {
        happens: async (server, userId) => {
            const due = dueIn(server, 10);
            await Collection.make(server, {
                title: '合宿 "2026"', people: [debtor({ userId, amount: 3000 })], timeZone: 'Asia/Tokyo',
                dueAt: due.toISOString(), reminders: { days: [0], time: '10:00' },
            });
            const at = due.getTime() - 8 * HOUR; // 10:00 in Tokyo
            await server.advance(at - (Date.now() + server.offsetMs) + 1000);
            return due;
        },
        ja: ['お支払いのお願い', (due) => `「合宿 "2026"」のお支払い（3,000円）の期限は本日（${
            due.getUTCFullYear()}年${due.getUTCMonth() + 1}月${due.getUTCDate()}日）です。`],
        en: ['A payment is due', (due) => `The payment of JPY 3,000 for "合宿 "2026"" is due today, ${
            due.toLocaleDateString('en-US', { timeZone: 'UTC', month: 'long', day: 'numeric', year: 'numeric' })}.`],
    },
};

forEachStore((store, test) => {
    for (const language of ['ja', 'en']) {
        test(`N1 each type reaches the person once, in words of ${language}`, async (t) => {
            const { server, got } = await open(t, store, { env: { ICHIDO_LANGUAGE: language === 'ja' ? 'en' : 'ja' } });
            for (const [type, { happens, [language]: [title, words] }] of Object.entries(CASES)) {
                const user = await person(server, { language, channels: ['webhook'] });
                const result = await happens(server, user);
                const mine = await until(`${type} comes`, () => {
                    const all = bodies(got).filter((body) => body.type === type && (body.userId === user || body.participantId));
                    return all.length && all;
                });
                assert.deepEqual(mine.map((body) => [body.title, body.body, body.language]),
                    [[title, typeof words === 'function' ? words(result) : words, language]], type);
            }
            await quiet(server);
            const told = bodies(got);
            assert.equal(new Set(told.map(({ id }) => id)).size, told.length, 'nothing came twice');
            assert.equal(await server.db.count('sends', `status <> 'sent'`), 0);
        });
    }

    test('N1 E10 whatever repeats itself is told once', async (t) => {
        const { server, got } = await open(t, store);
        const user = await person(server);
        const payment = await server.captured({}, { userId: user });
        const types = ['payment_intent.succeeded', 'charge.captured'];
        const [events] = await eventsOf(server, [payment.gatewayTransactionId], types);
        for (const type of [...types, ...types]) await tell(server, retold(events[type]));
        for (const type of types) await server.deliver(events[type]);
        await allEnd(server, 'webhook sent', 'webhook sent');
        await quiet(server);
        assert.deepEqual(bodies(got).map(({ type }) => type).sort(), ['payment_authorized', 'receipt']);
    });

    test('N1 where nobody said anything, only the machine hears; without it nobody', async (t) => {
        const { server, got } = await open(t, store);
        const silent = await person(server, { channels: [] });
        await server.paid({}, { userId: silent });
        const { userId } = await server.paid();
        await until('it came', () => got.length);
        await quiet(server);
        assert.deepEqual(bodies(got).map((body) => body.userId), [userId]);
        const plain = await start(t, store);
        const payment = await plain.paid();
        await until('it is recorded', async () => (await notices(plain))[0]?.recordedAt);
        const [notice] = await notices(plain);
        assert.deepEqual([notice.type, notice.paymentId, notice.sends], ['payment_authorized', payment.id, []]);
        assert.equal(await plain.db.count('message', `kind LIKE 'notify%'`), 0, 'no message was needed for that');
    });

    test('N1 A2 an admin sees what became of it, and only enough of an address to know it again', async (t) => {
        const smtp = await mailServer(t);
        const got = await receive(t);
        const server = await start(t, store, { env: { ...post(smtp), ...hook(got) } });
        const user = await person(server, { email: 'taro.yamada@example.jp', channels: ['mail', 'webhook'] });
        await server.paid({}, { userId: user });
        await allEnd(server, 'mail sent', 'webhook sent');
        const [{ sends: shown }] = await notices(server);
        assert.deepEqual(shown.map(({ channel, target, status, tries }) => [channel, target, status, tries]),
            [['mail', 't***@example.jp', 'sent', 1], ['webhook', null, 'sent', 1]]);
        const metrics = await server.metrics();
        for (const channel of ['mail', 'webhook'])
            assert.equal(metrics.get('ichido_notification_total', { channel, result: 'sent' }), 1);
        const everything = JSON.stringify([await notices(server), server.stderr, metrics.text]);
        assert.ok(!everything.includes('taro.yamada'));
    });

    test('N1 a participant is mailed at the address of its organiser, or at its own', async (t) => {
        const smtp = await mailServer(t);
        const server = await start(t, store, { env: post(smtp) });
        const user = await person(server, { email: 'own@example.jp', language: 'en' });
        const people = [debtor({ email: 'given@example.jp' }), debtor({ email: 'other@example.jp', userId: user }), debtor()];
        const collection = await Collection.make(server, { people });
        for (const who of people) await payOnPage(server, (await collection.session(who)).checkout);
        await smtp.came(2);
        await quiet(server);
        const mails = smtp.messages.map(({ envelope, subject }) => [envelope.to[0], subject]).sort();
        assert.deepEqual(mails, [['given@example.jp', '領収書のお知らせ'], ['own@example.jp', 'Your receipt']]);
    });

    test('N1 A6 an address that a participant had, or that is older than retention, is in no record of what was sent', async (t) => {
        const smtp = await mailServer(t);
        const server = await start(t, store, { env: { ...post(smtp), ICHIDO_RETENTION_DAYS: '30' } });
        const [moves, stays] = [debtor({ email: 'before@example.jp' }), debtor({ email: 'stays@example.jp' })];
        const collection = await Collection.make(server, { people: [moves, stays] });
        for (const who of [moves, stays]) await payOnPage(server, (await collection.session(who)).checkout);
        await allEnd(server, 'mail sent', 'mail sent');
        const known = async () => (await sends(server)).map(({ target }) => target).filter((target) => target.includes('@'));
        await collection.put({ participants: [{ ...moves, email: 'after@example.jp' }, stays] });
        assert.deepEqual(await known(), ['stays@example.jp']);
        await server.advance(29 * DAY);
        await until('it has looked', async () => / [1-9]/.test((await server.db.all(`SELECT body FROM message WHERE kind = 'events.forget'`))[0].body ?? ''));
        assert.deepEqual(await known(), ['stays@example.jp'], 'not yet');
        await server.advance(2 * DAY);
        await until('it is gone', async () => !(await known()).length);
        assert.deepEqual(await statuses(server), ['mail sent', 'mail sent'], 'that they were told stays');
    });

    test('N1 who is forgotten while something waits is not told, and no address is left', async (t) => {
        const smtp = await mailServer(t);
        const { url } = smtp;
        await smtp.close?.();
        const server = await start(t, store, { env: post({ url: url.replace(/:\d+$/, ':1') }) }); // nobody is there
        const user = await person(server, { email: 'gone@example.jp' });
        await server.paid({}, { userId: user });
        await until('it was tried', async () => (await sends(server))[0]?.why);
        assert.equal((await server.call('DELETE', `/api/v1/users/${user}`, { as: user })).status, 204);
        await allEnd(server, 'mail skipped');
        await server.advance(DAY);
        await quiet(server);
        const [row] = await sends(server);
        assert.deepEqual([row.status, row.target.length], ['skipped', 32]);
        assert.deepEqual((await notices(server))[0].sends.map(({ target, why }) => [target, why]), [[null, 'the person was removed']]);
        assert.equal(await server.db.count('dead_letters'), 0);
    });

    test('N1 S2 a reminder that waits is not sent to who pays meanwhile', async (t) => {
        let up = false;
        const { server, got } = await open(t, store, { answer: () => (up ? 204 : 503) });
        const user = await person(server);
        const [who] = [debtor({ userId: user })];
        const due = dueIn(server, 10);
        const collection = await Collection.make(server, {
            people: [who], timeZone: 'Asia/Tokyo', dueAt: due.toISOString(), reminders: { days: [0], time: '10:00' },
        });
        await server.advance(due.getTime() - 8 * HOUR - (Date.now() + server.offsetMs) + 1000);
        await until('it was tried', async () => (await sends(server))[0]?.why);
        await payOnPage(server, (await collection.session(who)).checkout);
        await until('it is paid', async () => (await collection.participant(who)).status === 'paid');
        up = true;
        const before = got.length;
        await server.advance(HOUR);
        await until('it is skipped', async () => (await sends(server)).some(({ status }) => status === 'skipped'));
        await quiet(server);
        assert.deepEqual(bodies(got).slice(before).filter(({ type }) => type === 'reminder'), []);
        assert.equal(bodies(got).filter(({ type }) => type === 'receipt').length > 0, true);
    });

    test('N1 Q6 after a day it is a dead letter, and an operator can send it', async (t) => {
        let up = false;
        const { server, got } = await open(t, store, { answer: () => (up ? 204 : 503) });
        const user = await person(server);
        await server.paid({}, { userId: user });
        await until('it was tried', async () => (await sends(server))[0]?.why);
        for (let hours = 0; hours < 60 && !await server.db.count('dead_letters'); hours++) {
            const [{ tries }] = await sends(server);
            await until('it was tried again', async () => {
                await server.advance(10 * HOUR); // again, where the try before had not ended yet
                return await server.db.count('dead_letters') || Number((await sends(server))[0].tries) > Number(tries);
            });
        }
        await allEnd(server, 'webhook failed');
        assert.equal(got.length, 11);
        const { body } = await server.call('GET', `${DLQ}?kind=notify.webhook`, { as: 'admin' });
        assert.deepEqual(body.data.map(({ reason }) => reason), ['the webhook answered 503']);
        assert.ok(body.data[0].paymentId, 'it is found by its payment');
        up = true;
        const retried = await server.call('POST', `${DLQ}/${body.data[0].id}/retry`, { as: 'admin' });
        assert.ok(retried.status < 300, retried.text);
        await allEnd(server, 'webhook sent');
        assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, 1, 'the same id on every try');
        assert.equal(got.length, 12);
    });

    // --- kill -9 ---

    const KILLS = {
        'notify.fanning': { mail: ['mail sent', 1], webhook: ['webhook sent', 1] },
        'notify.marked': { mail: ['mail unknown', 0], webhook: ['webhook sent', 1] },
        'notify.told': { mail: ['mail unknown', 1], webhook: ['webhook sent', 2] },
        'notify.settling': { mail: ['mail unknown', 1], webhook: ['webhook sent', 2] },
    };
    for (const [place, ends] of Object.entries(KILLS)) {
        for (const channel of ['mail', 'webhook']) {
            test(`N1 T6 killed at ${place}, ${channel}: no person is told twice, no machine is left out`, async (t) => {
                const db = await fresh(t, store);
                const smtp = await mailServer(t);
                const got = await receive(t);
                const env = channel === 'mail' ? post(smtp) : hook(got);
                const first = await launch(t, db, { env: { ...env, ICHIDO_FAULTS: `${place}=crash@1` } }).listening();
                const user = await person(first, channel === 'mail' ? { email: 'taro@example.jp' } : undefined);
                const payment = await first.paid({}, { userId: user }).catch(() => null); // it may die before it has answered
                await first.exit;
                const second = await start(t, store, { db, env });
                await second.advance(11_000); // the dead one's leases
                const [status, times] = ends[channel];
                await allEnd(second, status);
                await quiet(second);
                const heard = channel === 'mail' ? smtp.messages.length : got.length;
                assert.equal(heard, times);
                assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, channel === 'mail' ? 0 : 1);
                if (payment) assert.equal((await notices(second))[0].paymentId, payment.id);
                if (status === 'mail unknown') {
                    assert.equal((await second.metrics()).get('ichido_notification_total', { channel, result: 'unknown' }), 1);
                    const line = second.lines.find(({ message }) => message === 'Notification was not sent');
                    assert.equal(line.level, 'warn');
                }
            });
        }
    }

    // --- slow people ---

    test('N1 P6 a thousand notifications behind a machine that hangs hold up no payment and no webhook', { timeout: 240_000 }, async (t) => {
        const got = await gatekeeper(t);
        const server = await start(t, store, { env: hook(got) });
        const { positions } = await campaign(server, { layers: [{ name: 'A', price: 100, positions: 250 }] });
        const buyers = positions.map(() => uuid());
        for (let i = 0; i < positions.length; i += 25)
            await Promise.all(positions.slice(i, i + 25).map((position, k) => buy(server, position, { as: buyers[i + k], method: VISA })));
        // each buyer is told of the purchase, its receipt and the draw, and pays a booking as well
        await until('every webhook was taken', async () =>
            await server.db.count('purchases', `status = 'completed'`) === positions.length, 60_000);
        for (let i = 0; i < 250; i += 25)
            await Promise.all(buyers.slice(i, i + 25).map((userId) => server.paid({}, { userId })));
        await until('all of it is to be told', async () => await server.db.count('sends') >= 1000, 60_000);
        await until('eight at most stand at the machine', () => got.open > 0 && got.open <= 8); // others come where one took too long
        assert.ok(await server.db.count('sends', `status = 'sending'`) <= 16);
        assert.equal((await server.get('/readyz')).status, 200);
        const payment = await server.captured();
        assert.equal(payment.status, 'CAPTURED');
        got.release(); // or its end would wait for the machine as well
    });
});

for (const store of stores.filter(({ kind }) => kind === 'postgres')) {
    plainTest('N1 Q11 two nodes tell each of 100 people once', async (t) => {
        const db = await fresh(t, store);
        const got = await receive(t);
        const one = await start(t, store, { db, env: hook(got) });
        const two = await start(t, store, { db, env: hook(got) });
        await Promise.all(Array.from({ length: 100 }, (_, i) => (i % 2 ? one : two).paid()));
        await until('all came', () => got.length >= 100, 60_000);
        await quiet(one);
        assert.deepEqual([got.length, new Set(bodies(got).map(({ id }) => id)).size], [100, 100]);
        assert.equal(await db.count('sends', `status = 'sent'`), 100);
    });

    plainTest('N1 a payment made at a node without any channel is told by the one that has it [PostgreSQL]', async (t) => {
        const db = await fresh(t, store);
        const mute = await start(t, store, { db });
        const got = await receive(t);
        const teller = await start(t, store, { db, env: hook(got) });
        await until('others know of it', () => db.count('tellers'));
        const { id } = await mute.paid();
        // Who took it up and cannot tell leaves it for a minute. Only then does time move: a node whose clock is
        // ahead for a moment would take a lease from the one that is just telling.
        await until('it came', async () => {
            const left = `kind LIKE 'notify%' AND owner IS NULL AND due_at > ${Date.now() + teller.offsetMs}`;
            if (await db.count('message', left)) for (const node of [teller, mute]) await node.advance(MINUTE);
            return got.length;
        });
        await quiet(teller);
        assert.deepEqual(bodies(got).map(({ data }) => data.paymentId), [id]);
        assert.deepEqual(await statuses(teller), ['webhook sent']);
    });

    plainTest('N1 where no node has a channel, or the last that had one is gone for a day, no message waits [PostgreSQL]', async (t) => {
        const db = await fresh(t, store);
        const nodes = [await start(t, store, { db }), await start(t, store, { db })];
        await nodes[0].paid();
        assert.deepEqual([await db.count('notifications', 'recorded_at IS NOT NULL'), await db.count('tellers')], [1, 0]);
        const got = await receive(t);
        const teller = await start(t, store, { db, env: hook(got) });
        await until('others know of it', () => db.count('tellers'));
        await teller.stop();
        await nodes[1].advance(25 * HOUR);
        await nodes[1].paid();
        assert.equal(await db.count('notifications', 'recorded_at IS NOT NULL'), 2);
        assert.equal(await db.count('message', `kind LIKE 'notify%'`), 0);
        assert.equal(got.length, 0);
    });
}
