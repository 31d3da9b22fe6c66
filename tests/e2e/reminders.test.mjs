// Reminders of collections (S2): before, on and after the due date, by the calendar of the collection's zone; never
// after payment, never twice, whatever is killed, late or changed.
import { assert, forEachStore, fresh, launch, stores, start, test as plainTest, until, uuid } from './lib/harness.mjs';
import { Collection, payOnPage, person } from './lib/collections.mjs';
import { remember } from './lib/evidence.mjs';
import { receive } from './lib/receiver.mjs';

const SECRET = `whsec_${Buffer.from('reminders-0123456789abcdefghijk').toString('base64')}`;
remember(SECRET);

const DAY = 24 * 3600 * 1000;
const HOUR = 3600 * 1000;

// --- time: days in Tokyo, which has no summer time; day 0 is the due date, ten days from now ---

const JST = 9 * HOUR;
const dueDay = Math.floor((Date.now() + JST) / DAY) + 10;
const tokyo = (day, time = '00:00') => {
    const [hour, minute] = time.split(':').map(Number);
    return (dueDay + day) * DAY - JST + hour * HOUR + minute * 60_000;
};
const DUE = new Date(tokyo(0, '18:00')).toISOString();
const DUE_DATE = new Date(dueDay * DAY).toISOString().slice(0, 10);

const goTo = (server, at) => server.advance(at - (Date.now() + server.offsetMs));

// --- what was told ---

async function told(server) {
    const all = [];
    for (let cursor = ''; cursor !== null;) {
        const query = `?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
        const { status, body, text } = await server.call('GET', `/api/v1/admin/notifications${query}`, { as: 'admin' });
        assert.equal(status, 200, text);
        all.push(...body.data);
        cursor = body.nextCursor;
    }
    return all.filter(({ type }) => type === 'reminder');
}

// Every reminder that is due was dealt with. One that is under way has an owner; the next page is due at once, which may
// be some milliseconds after we looked at the clock.
const dealt = (server) => until('no reminder is due', async () => await server.db.count('message',
    `kind = 'collection.remind' AND (due_at <= ${Date.now() + server.offsetMs + 20_000} OR owner IS NOT NULL)`) === 0, 60_000);

async function toldBy(server, at) {
    await goTo(server, at);
    await dealt(server);
    return told(server);
}

const times = (notices) => {
    const counts = {};
    for (const { participantId } of notices) counts[participantId] = (counts[participantId] ?? 0) + 1;
    return counts;
};

// [how many people, how often each of them]
const tally = (notices) => {
    const counts = Object.values(times(notices));
    return [counts.length, ...new Set(counts)];
};

const isPaid = (collection, who) => until('it is paid', async () => (await collection.participant(who)).status === 'paid');
const next = async (collection) => (await collection.get()).body.nextReminderAt;
const iso = (at) => new Date(at).toISOString();

forEachStore((store, test) => {
    test('S2 before, on and after the due date, in words; who pays in between hears no more', async (t) => {
        const server = await start(t, store);
        const ann = person({ userId: uuid() });
        const bob = person({ amount: 1200 });
        const collection = await Collection.make(server, {
            people: [ann, bob], dueAt: DUE, reminders: { days: [7, -3, 0], time: '09:30' },
        });
        const made = (await collection.get()).body;
        assert.deepEqual([made.reminders, made.nextReminderAt], [{ days: [-3, 0, 7], time: '09:30' }, iso(tokyo(-3, '09:30'))]);
        assert.deepEqual(await toldBy(server, tokyo(-3, '09:29')), []);

        const { checkout } = await collection.session(ann);
        const before = await toldBy(server, tokyo(-3, '09:31'));
        assert.deepEqual(times(before), { [ann.id]: 1, [bob.id]: 1 });
        const [toAnn, toBob] = [ann, bob].map((who) => before.find(({ participantId }) => participantId === who.id));
        assert.deepEqual([toAnn.userId, toBob.userId], [ann.userId, null]);
        assert.match(toBob.body, /夏合宿.*1,200円/);
        assert.deepEqual([toBob.data.collectionId, toBob.data.participantId, toBob.data.amount, toBob.data.currency, toBob.data.dueDate],
            [collection.id, bob.id, 1200, 'JPY', DUE_DATE]);
        assert.equal(toBob.data.paymentUrl ?? null, null, 'he has no page open');
        assert.ok([checkout.url, null, undefined].includes(toAnn.data.paymentUrl), 'her page, unless it ran out meanwhile');
        assert.equal(await next(collection), iso(tokyo(0, '09:30')));

        const { checkout: page } = await collection.session(ann);
        await payOnPage(server, page);
        await isPaid(collection, ann);
        const on = await toldBy(server, tokyo(0, '09:31'));
        assert.deepEqual(times(on), { [ann.id]: 1, [bob.id]: 2 });
        const after = await toldBy(server, tokyo(7, '09:31'));
        assert.deepEqual(times(after), { [ann.id]: 1, [bob.id]: 3 });
        const words = after.filter(({ participantId }) => participantId === bob.id).map(({ body }) => body);
        assert.equal(new Set(words).size, 3, 'before, on and after are told apart');
        assert.equal(await next(collection), null);
        assert.deepEqual(times(await toldBy(server, tokyo(60))), { [ann.id]: 1, [bob.id]: 3 });
        assert.equal(await server.db.count('message', "kind = 'collection.remind'"), 0);
    });

    test('S2 an open page of the gateway goes along as the place to pay', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { dueAt: DUE, reminders: { days: [0] } });
        await goTo(server, tokyo(0, '09:00'));
        const { checkout } = await collection.session();
        const [one, ...rest] = await toldBy(server, tokyo(0, '10:00') + 1000);
        assert.deepEqual(rest, []);
        assert.equal(one.data.paymentUrl, checkout.url);
        assert.ok(one.body.includes(checkout.url));
    });

    test('S2 refunded is not unpaid: the status stays, and so does the silence', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { dueAt: DUE, reminders: { days: [0] } });
        const { payment, checkout } = await collection.session();
        await payOnPage(server, checkout);
        await isPaid(collection);
        const back = await server.refund(payment, undefined, { as: collection.owner });
        assert.ok(back.status < 300, back.text);
        await until('it went back', async () => (await collection.participant()).refundedAmount > 0);
        assert.deepEqual(await toldBy(server, tokyo(0, '10:01')), []);
    });

    test('S2 the server\'s days and hour, an empty list, and a server that reminds nobody by itself', async (t) => {
        const db = await fresh(t, store);
        const first = await start(t, store, { db, env: { ICHIDO_REMINDER_DAYS: '2,-1', ICHIDO_REMINDER_TIME: '20:15' } });
        const usual = await Collection.make(first, { dueAt: DUE });
        const nobody = await Collection.make(first, { dueAt: DUE, reminders: { days: [] } });
        const own = await Collection.make(first, { dueAt: DUE, reminders: { days: [1] } });
        const never = await Collection.make(first, { reminders: { days: [1] } });
        assert.deepEqual((await usual.get()).body.reminders, null);
        assert.deepEqual((await nobody.get()).body.reminders, { days: [], time: '20:15' });
        assert.deepEqual((await own.get()).body.reminders, { days: [1], time: '20:15' }, 'the hour of the server');
        assert.deepEqual([await next(usual), await next(nobody), await next(own), await next(never)],
            [iso(tokyo(-1, '20:15')), null, iso(tokyo(1, '20:15')), null]);
        await first.stop();

        const off = await start(t, store, { db, env: { ICHIDO_REMINDER_TIME: 'off' } });
        Object.assign(usual, { server: off });
        Object.assign(own, { server: off });
        await until('the new setting counts', async () => await next(usual) === null);
        assert.equal(await next(own), iso(tokyo(1, '20:15')), 'who has its own keeps it');
        const later = await Collection.make(off, { dueAt: DUE, reminders: { days: [2] } });
        assert.deepEqual((await later.get()).body.reminders, { days: [2], time: '10:00' });
        assert.deepEqual(times(await toldBy(off, tokyo(1, '21:00'))), { [own.people[0].id]: 1 });
        await off.stop();

        const on = await start(t, store, { db, env: { ICHIDO_REMINDER_DAYS: '5' } });
        Object.assign(usual, { server: on });
        await until('it counts for those that were made before', async () => await next(usual) === iso(tokyo(5, '10:00')));
    });

    test('S2 days are those of the zone: due at half past midnight, and over a change of the clocks', async (t) => {
        const server = await start(t, store);
        const rows = [ // the instants are far away: only the plan is looked at
            ['Asia/Tokyo', '2031-03-09T15:30:00Z', [0], '10:00', '2031-03-10T01:00:00.000Z'],
            ['America/New_York', '2031-03-09T15:30:00Z', [0], '02:30', '2031-03-09T07:00:00.000Z'],
            ['America/New_York', '2031-03-10T15:30:00Z', [-2], '10:00', '2031-03-08T15:00:00.000Z'],
            ['America/New_York', '2031-11-02T15:30:00Z', [0], '01:30', '2031-11-02T05:30:00.000Z'],
            ['UTC', '2031-03-09T15:30:00Z', [90], '23:59', '2031-06-07T23:59:00.000Z'],
        ];
        for (const [timeZone, dueAt, days, time, want] of rows) {
            const collection = await Collection.make(server, { dueAt, timeZone, reminders: { days, time } });
            assert.equal(await next(collection), want, `${timeZone} ${dueAt}`);
        }
    });

    test('S2 a plan that is changed: the old one is silent, and nobody is told of the same day again', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { dueAt: DUE, reminders: { days: [-3, 0], time: '10:00' } });
        const [who] = collection.people;
        assert.equal((await toldBy(server, tokyo(-3, '10:01'))).length, 1);
        const later = { dueAt: DUE, reminders: { days: [-3, 0], time: '12:00' } };
        assert.equal((await collection.put(later)).status, 200);
        assert.equal((await toldBy(server, tokyo(-3, '12:01'))).length, 1, 'of that day she was told');
        const same = await collection.put(later);
        assert.equal(same.body.updatedAt, (await collection.get()).body.updatedAt);
        assert.equal(await next(collection), iso(tokyo(0, '12:00')));

        const moved = await collection.put({ dueAt: new Date(tokyo(4, '18:00')).toISOString(), reminders: { days: [0], time: '12:00' } });
        assert.equal(moved.body.nextReminderAt, iso(tokyo(4, '12:00')));
        assert.equal((await toldBy(server, tokyo(0, '12:01'))).length, 1, 'the old date is past without a word');
        assert.deepEqual(times(await toldBy(server, tokyo(4, '12:01'))), { [who.id]: 2 });

        const added = person();
        await collection.put({ dueAt: new Date(tokyo(4, '18:00')).toISOString(), reminders: { days: [0, 2], time: '12:00' }, participants: [added] });
        assert.deepEqual(times(await toldBy(server, tokyo(4, '20:00'))), { [who.id]: 2 }, 'who came later is not told what is past');
        assert.deepEqual(times(await toldBy(server, tokyo(6, '12:01'))), { [who.id]: 3, [added.id]: 1 });
        await collection.put({ dueAt: null });
        assert.equal(await next(collection), null);
    });

    test('S2 down over an instant: late by hours is sent, older is left out, and never two at once', async (t) => {
        const db = await fresh(t, store);
        const first = await start(t, store, { db });
        const plan = { dueAt: DUE, reminders: { days: [-3, -1, 0, 5], time: '10:00' } };
        const collection = await Collection.make(first, plan);
        await first.stop();
        const second = await start(t, store, { db });
        const late = await toldBy(second, tokyo(0, '15:00')); // -3 and -1 are past, 0 is five hours late
        assert.deepEqual(times(late), { [collection.people[0].id]: 1 });
        await second.stop();
        const third = await start(t, store, { db });
        assert.equal((await toldBy(third, tokyo(6, '10:00') + 1000)).length, 1, 'a day and a second late');
        assert.equal(await db.count('message', "kind = 'collection.remind'"), 0);
    });

    for (const nth of [1, 2, 3]) {
        test(`S2 T6 kill -9 while page ${nth} of the people is told: each hears of it once`, async (t) => {
            const db = await fresh(t, store);
            const people = Array.from({ length: 120 }, () => person());
            const dying = await launch(t, db, { env: { ICHIDO_FAULTS: `collection.remind=crash@${nth}` } }).listening();
            await Collection.make(dying, { people, dueAt: DUE, reminders: { days: [0, 1] } });
            await goTo(dying, tokyo(0, '10:01')).catch(() => {});
            assert.equal((await dying.exit).signal, 'SIGKILL', 'the point was passed');
            const again = await start(t, store, { db });
            await goTo(again, tokyo(0, '10:05'));
            const all = await until('all are told', async () => {
                await again.advance(11_000);
                const now = await told(again);
                return now.length >= people.length && now;
            }, 60_000);
            assert.deepEqual(tally(all), [120, 1]);
            await dealt(again);
            assert.equal(await db.count('message', "kind = 'collection.remind'"), 1);
            assert.deepEqual(tally(await toldBy(again, tokyo(1, '10:01'))), [120, 2]);
        });
    }

    test('S2 N1 through the channel webhook: what waited for days is not sent, the newest is, once to each', async (t) => {
        let up = false;
        const taken = [];
        const got = await receive(t, ({ text }) => {
            if (up) taken.push(JSON.parse(text));
            return up ? 200 : 503;
        });
        const server = await start(t, store, { env: { ICHIDO_NOTIFY_WEBHOOK: `${got.url}/in`, ICHIDO_NOTIFY_SECRET: SECRET } });
        const collection = await Collection.make(server, { people: 3, dueAt: DUE, reminders: { days: [-2, -1, 0] } });
        for (const day of [-2, -1, 0]) {
            await toldBy(server, tokyo(day, '10:01'));
            await got.came(got.length + 1, 30_000);
        }
        const { checkout } = await collection.session(collection.people[0]);
        await payOnPage(server, checkout);
        await isPaid(collection, collection.people[0]);
        up = true;
        const over = (status) => server.db.count('sends', `status = '${status}' AND notification_id IN (SELECT id FROM notifications WHERE type = 'reminder')`);
        await until('all of them have ended', async () => {
            await server.advance(600_000);
            return await over('waiting') + await over('sending') === 0;
        }, 60_000);
        const sent = taken.filter(({ type }) => type === 'reminder');
        assert.deepEqual(sent.map(({ data }) => data.participantId).sort(), collection.people.slice(1).map(({ id }) => id).sort());
        assert.deepEqual([await over('sent'), await over('skipped')], [2, 7]);
    });

    test('S2 N1 what waits to be sent and is not so any more is not sent: another date, amount or plan, and yesterday\'s today', async (t) => {
        let up = false;
        const taken = [];
        const got = await receive(t, ({ text }) => {
            if (up) taken.push(JSON.parse(text));
            return up ? 200 : 503;
        });
        const server = await start(t, store, { env: { ICHIDO_NOTIFY_WEBHOOK: `${got.url}/in`, ICHIDO_NOTIFY_SECRET: SECRET } });
        const plan = { dueAt: DUE, reminders: { days: [0], time: '22:00' } };
        const make = () => Collection.make(server, plan);
        const [same, late, postponed, silent, dateless, corrected] = [await make(), await make(), await make(), await make(), await make(), await make()];
        await toldBy(server, tokyo(0, '22:00') + 1000);
        await got.came(6, 30_000);
        const puts = [
            [same, { ...plan, title: 'another title' }], [postponed, { ...plan, dueAt: iso(tokyo(9, '18:00')) }],
            [silent, { ...plan, reminders: { days: [] } }], [dateless, { ...plan, dueAt: null }],
            [corrected, { ...plan, participants: corrected.people.map((one) => ({ ...one, amount: one.amount + 1 })) }],
        ];
        for (const [collection, changes] of puts) assert.equal((await collection.put(changes)).status, 200);
        const over = (status) => server.db.count('sends', `status = '${status}'`);
        up = true;
        await until('those that changed have ended', async () => {
            await server.advance(60_000);
            return await over('waiting') + await over('sending') === 0;
        }, 60_000);
        const sent = () => taken.filter(({ type }) => type === 'reminder').map(({ data }) => data.participantId).sort();
        assert.deepEqual(sent(), [same, late].map(({ people }) => people[0].id).sort());
        assert.deepEqual([await over('sent'), await over('skipped')], [2, 4]);

        up = false;
        const today = await Collection.make(server, { dueAt: iso(tokyo(5, '18:00')), reminders: { days: [0], time: '23:58' } });
        const before = got.length;
        await toldBy(server, tokyo(5, '23:58') + 1000);
        await got.came(before + 1, 30_000);
        await goTo(server, tokyo(6, '00:00'));
        up = true;
        await until('it has ended', async () => {
            await server.advance(60_000);
            return await over('skipped') === 5;
        }, 60_000);
        assert.ok(!sent().includes(today.people[0].id), 'it would say today, and that was yesterday');
    });

    test('S2 P5 bad reminders are named, and nothing is changed', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { dueAt: DUE, reminders: { days: [0] } });
        const snapshot = () => Promise.all(['collections', 'participants', 'notifications'].map((name) => server.db.table(name)));
        const before = [...await snapshot(), await server.db.messages()];
        const rows = [
            [{ reminders: [] }, ['reminders']], [{ reminders: 'off' }, ['reminders']], [{ reminders: 0 }, ['reminders']],
            [{ reminders: {} }, ['reminders.days']], [{ reminders: { days: null } }, ['reminders.days']], [{ reminders: { days: '0' } }, ['reminders.days']],
            [{ reminders: { days: [1.5] } }, ['reminders.days']], [{ reminders: { days: ['1'] } }, ['reminders.days']], [{ reminders: { days: [null] } }, ['reminders.days']],
            [{ reminders: { days: [91] } }, ['reminders.days']], [{ reminders: { days: [-91] } }, ['reminders.days']], [{ reminders: { days: [1e300] } }, ['reminders.days']],
            [{ reminders: { days: [0, 0] } }, ['reminders.days']], [{ reminders: { days: [0, -0.0, 1] } }, ['reminders.days']],
            [{ reminders: { days: Array.from({ length: 13 }, (_, i) => i) } }, ['reminders.days']],
            [{ reminders: { days: [0], time: '24:00' } }, ['reminders.time']], [{ reminders: { days: [0], time: '9:00' } }, ['reminders.time']],
            [{ reminders: { days: [0], time: 'off' } }, ['reminders.time']], [{ reminders: { days: [0], time: 600 } }, ['reminders.time']],
            [{ reminders: { days: [0], time: '' } }, ['reminders.time']], [{ reminders: { days: [0], hour: '10:00' } }, ['reminders.hour']],
            [{ reminders: { days: 1, time: 1, x: 1 } }, ['reminders.days', 'reminders.time', 'reminders.x']],
            [{ timeZone: 'Nowhere/Else' }, ['timeZone']], [{ timeZone: 'asia/tokyo' }, ['timeZone']],
        ];
        for (const [changes, want] of rows) {
            for (const language of ['en', 'ja']) {
                const answer = await collection.put(changes, { headers: { 'Accept-Language': language } });
                assert.equal(answer.status, 400, JSON.stringify(changes));
                assert.deepEqual(answer.body.errors.map(({ field }) => field).sort(), want, JSON.stringify(changes));
            }
        }
        assert.deepEqual([...await snapshot(), await server.db.messages()], before);
    });

    test('S2 a thousand people are told by pages, and payments go on between them', async (t) => {
        const server = await start(t, store);
        const people = Array.from({ length: 1000 }, () => person());
        await Collection.make(server, { people, dueAt: DUE, reminders: { days: [0] } });
        await goTo(server, tokyo(0, '10:01'));
        const payments = await Promise.all(Array.from({ length: 20 }, () => server.paid({}, { amount: 1000 })));
        assert.equal(payments.length, 20);
        await dealt(server);
        assert.deepEqual(tally(await told(server)), [1000, 1]);
    });
});

const postgres = stores.find((store) => store.kind === 'postgres');
if (postgres)
    plainTest('S2 Q7 two nodes: each is told once, also when the one that tells is killed [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const doomed = await launch(t, db, { env: { ICHIDO_FAULTS: 'collection.remind=crash@1' } }).listening();
        const other = await start(t, postgres, { db });
        const people = Array.from({ length: 120 }, () => person());
        for (let i = 0; i < 4; i++) // several, so that both nodes have some to do
            await Collection.make(other, { people: people.slice(i * 30, i * 30 + 30), dueAt: DUE, reminders: { days: [0] } });
        await goTo(doomed, tokyo(0, '10:01')).catch(() => {}); // it is the first for which they are due
        assert.equal((await doomed.exit).signal, 'SIGKILL', 'the one that tells is killed');
        await goTo(other, tokyo(0, '10:02'));
        const all = await until('all are told', async () => {
            await other.advance(11_000);
            const now = await told(other);
            return now.length >= people.length && now;
        }, 60_000);
        await dealt(other);
        assert.deepEqual(tally(all), [120, 1]);
        assert.equal((await told(other)).length, people.length);
        assert.equal(await db.count('message', "kind = 'collection.remind'"), 0);
    });
