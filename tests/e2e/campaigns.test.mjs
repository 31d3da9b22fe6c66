// Campaigns: how they are made and shown, sold out and drawn once, and cancelled with all their money going
// back (C1 C3 C6 D14 D17). Buying itself is in purchases.test.mjs.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { assert, forEachStore, fresh, launch, start, token, until, uuid } from './lib/harness.mjs';
import { ASKS, bought, buy, campaign, purchaseNow, quiet, recount, told } from './lib/purchases.mjs';

const CAMPAIGNS = '/api/v1/campaigns';
const service = () => token(uuid(), 'service');
const put = (server, id, body, how = {}) => server.call('PUT', `${CAMPAIGNS}/${id}`, { bearer: service(), body, ...how });
const get = (server, path, how = { as: uuid() }) => server.call('GET', `${CAMPAIGNS}${path}`, how);
const stop = (server, id, how = {}) => server.call('POST', `${CAMPAIGNS}/${id}/cancel`, { as: 'admin', ...how });
const now = async (server, id) => (await get(server, `/${id}`)).body;
const layer = (changes = {}) => ({ name: 'A', price: 500, positions: 3, ...changes });
const content = (changes = {}) => ({ title: '夏のくじ', currency: 'JPY', winners: 2, layers: [layer()], ...changes });

// Positions of a campaign in pages, as somebody sees them.
async function positions(server, id, how, query = '') {
    const all = [];
    for (let cursor = ''; cursor !== null;) {
        const page = await get(server, `/${id}/positions?limit=1000${query}${cursor && `&cursor=${cursor}`}`, how);
        assert.equal(page.status, 200, page.text);
        all.push(...page.body.data);
        cursor = page.body.nextCursor;
    }
    return all;
}

// The script of docs/lottery.md, as it stands there, on a draw. Returns what it printed.
const doc = fs.readFileSync(new URL('../../docs/lottery.md', import.meta.url), 'utf8');
const script = /```js verify\.mjs\n([\s\S]*?)```/.exec(doc)[1];
function verify(folder, draw, commitment) {
    fs.writeFileSync(path.join(folder, 'verify.mjs'), script);
    fs.writeFileSync(path.join(folder, 'draw.json'), JSON.stringify(draw));
    const done = spawnSync(process.execPath, ['verify.mjs', 'draw.json', commitment], { cwd: folder, encoding: 'utf8' });
    return { good: done.status === 0, said: done.stdout + done.stderr };
}

// Somebody who is told to try again later does so, with the same key.
async function bids(server, position, how) {
    const same = { as: uuid(), key: uuid(), ...how };
    for (let tries = 0; ; tries++) {
        const answer = await buy(server, position, same);
        if (answer.status !== 503 || tries === 10) return answer;
    }
}

const drawn = (server, id) => until('it is drawn', async () => (await now(server, id)).status === 'drawn', 30_000);

forEachStore((store, test) => {
    test('C1 a campaign is made once with all its layers and positions', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        const body = content({ layers: [layer({ name: 'S席', price: 3000, positions: 2 }), layer()] });
        const made = await put(server, id, body);
        assert.equal(made.status, 201, made.text);
        const { layers, drawCommitment, createdAt, updatedAt, ...rest } = made.body;
        assert.deepEqual(rest, {
            id, title: '夏のくじ', currency: 'JPY', status: 'active', winners: 2, positionsTotal: 5, positionsSold: 0,
            positionsPaid: 0, totalRevenue: 0, soldOutAt: null, drawnAt: null, cancelledAt: null,
        });
        assert.deepEqual(layers.map(({ id: ignored, ...facts }) => facts), [
            { name: 'S席', price: 3000, positionsTotal: 2, positionsSold: 0 },
            { name: 'A', price: 500, positionsTotal: 3, positionsSold: 0 },
        ]);
        for (const same of [body, { ...body, currency: 'jpy' }, { layers: body.layers, winners: 2, currency: 'JPY', title: body.title }]) {
            const again = await put(server, id, same, { as: 'admin', bearer: undefined });
            assert.equal(again.status, 200, again.text);
            assert.deepEqual(again.body, made.body);
        }
        for (const other of [{ title: '冬のくじ' }, { winners: 1 }, { winners: undefined }, { currency: 'USD' },
            { layers: [layer()] }, { layers: [...body.layers].reverse() }]) {
            const answer = await put(server, id, { ...body, ...other });
            assert.equal(answer.status, 422, answer.text);
            assert.equal(answer.body.code, 'UNPROCESSABLE');
        }
        assert.deepEqual((await get(server, `/${id.toUpperCase()}`)).body, made.body);
        assert.equal(await server.db.count('positions'), 5);
        const list = await positions(server, id);
        assert.deepEqual(list.map(({ number, price }) => [number, price]), [[1, 3000], [2, 3000], [3, 500], [4, 500], [5, 500]]);
        assert.equal(new Set(list.map((one) => one.id)).size, 5);
        assert.ok(!made.text.includes((await server.db.table('campaigns'))[0].draw_seed), 'the seed is a secret');
    });

    test('C1 only service and admin make and cancel campaigns, everybody known may read them', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        assert.equal((await put(server, id, content(), { bearer: token(uuid()) })).status, 403);
        assert.equal((await server.call('PUT', `${CAMPAIGNS}/${id}`, { body: content() })).status, 401);
        assert.equal((await get(server, `/${id}`)).status, 404);
        assert.equal(await server.db.count('campaigns'), 0);
        assert.equal((await put(server, id, content())).status, 201);
        assert.equal((await stop(server, id, { as: uuid() })).status, 403);
        assert.equal((await stop(server, id, { as: undefined })).status, 401);
        for (const where of ['', `/${id}`, `/${id}/positions`, `/${id}/draw`])
            assert.equal((await get(server, where, {})).status, 401, where);
        for (const where of ['', '/positions', '/draw']) {
            assert.equal((await get(server, `/${uuid()}${where}`)).status, 404, where);
            assert.equal((await get(server, `/nonsense${where}`)).status, 400, where);
        }
        assert.equal((await stop(server, uuid())).status, 404);
        assert.equal((await now(server, id)).status, 'active');
    });

    test('C1 every bad field of a campaign is named', async (t) => {
        const server = await start(t, store);
        const many = (n) => Array.from({ length: n }, () => layer({ positions: 1 }));
        const rows = [
            [{}, ['title', 'currency', 'layers']],
            [content({ title: '' }), ['title']],
            [content({ title: 'あ'.repeat(201) }), ['title']],
            [content({ currency: 'YEN' }), ['currency']],
            [content({ currency: 'XXX' }), ['currency']],
            [content({ winners: -1 }), ['winners']],
            [content({ winners: 4 }), ['winners']],
            [content({ winners: 1.5 }), ['winners']],
            [content({ winners: '1' }), ['winners']],
            [content({ layers: [] }), ['layers']],
            [content({ layers: many(51) }), ['layers']],
            [content({ layers: {} }), ['layers']],
            [content({ layers: [layer(), 7] }), ['layers[1]']],
            [content({ layers: [layer({ price: 0 }), layer({ name: '', positions: 0 })] }),
                ['layers[0].price', 'layers[1].name', 'layers[1].positions']],
            [content({ layers: [layer({ price: 100_000_000 })] }), ['layers[0].price']],
            [content({ layers: [layer({ price: '500' })] }), ['layers[0].price']],
            [content({ layers: [layer({ name: 'x'.repeat(101) })] }), ['layers[0].name']],
            [content({ layers: [layer({ colour: 'red' })] }), ['layers[0].colour']],
            [content({ layers: [layer({ positions: 10_001 })] }), ['layers[0].positions']],
            [content({ layers: [layer({ positions: 5001 }), layer({ positions: 5000 })] }), ['layers']],
            [content({ status: 'drawn', seed: 'x' }), ['status', 'seed']],
            [[], ['body']],
            ['{"title":', ['body']],
        ];
        for (const [body, fields] of rows) {
            const answer = await put(server, uuid(), body);
            assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
            assert.deepEqual(answer.body.errors.map(({ field }) => field).sort(), fields.sort(), JSON.stringify(body));
        }
        assert.equal((await put(server, uuid(), content(), { headers: { 'Content-Type': 'text/plain' } })).status, 415);
        assert.equal((await put(server, uuid(), content({ title: 'x'.repeat(70_000) }))).status, 413);
        for (const query of ['?limit=0', '?limit=101', '?cursor=x', '?colour=red', '?limit=1&limit=1'])
            assert.equal((await get(server, query)).status, 400, query);
        const { id } = await campaign(server);
        for (const query of ['?limit=1001', '?status=gone', '?layerId=x', '?cursor=0', '?cursor=x', '?cursor=10001'])
            assert.equal((await get(server, `/${id}/positions${query}`)).status, 400, query);
        assert.equal((await stop(server, id, { body: { reason: 'rain' } })).status, 400);
        assert.equal(await server.db.count('campaigns'), 1);
    });

    test('C1 the same campaign put twenty times at once is made once', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        const bearer = service();
        const answers = await Promise.all(Array.from({ length: 20 }, (_, i) =>
            put(server, id, content({ title: i % 4 ? '夏のくじ' : '冬のくじ' }), { bearer })));
        assert.equal(answers.filter(({ status }) => status === 201).length, 1);
        assert.ok(answers.every(({ status }) => [200, 201, 422].includes(status)));
        assert.equal(new Set(answers.filter(({ status }) => status < 300).map(({ text }) => text)).size, 1);
        assert.equal(await server.db.count('positions'), 3);
        assert.equal(await server.db.count('layers'), 1);
    });

    test('C1 campaigns come newest first, in pages that miss nothing', async (t) => {
        const server = await start(t, store);
        const ids = [];
        for (let i = 0; i < 7; i++) ids.push((await campaign(server)).id);
        const seen = [];
        for (let cursor = ''; cursor !== null;) {
            const page = await get(server, `?limit=3${cursor && `&cursor=${cursor}`}`);
            assert.equal(page.status, 200, page.text);
            seen.push(...page.body.data.map(({ id }) => id));
            cursor = page.body.nextCursor;
        }
        assert.deepEqual(new Set(seen), new Set(ids));
        assert.equal(seen.length, ids.length);
        const { body } = await get(server, '?limit=100');
        const times = body.data.map(({ createdAt }) => createdAt);
        assert.deepEqual(times, [...times].sort().reverse());
    });

    test('C1 ten thousand positions are made at once and read in pages', async (t) => {
        const server = await start(t, store);
        const id = uuid();
        const layers = Array.from({ length: 50 }, (_, i) => layer({ name: `L${i}`, price: i + 1, positions: 200 }));
        const began = Date.now();
        const made = await put(server, id, content({ layers, winners: 10_000 }));
        t.diagnostic(`10,000 positions took ${Date.now() - began} ms`);
        assert.equal(made.status, 201, made.text);
        const all = await positions(server, id);
        assert.deepEqual(all.map(({ number }) => number), Array.from({ length: 10_000 }, (_, i) => i + 1));
        assert.ok(all.every(({ number, price }) => price === Math.ceil(number / 200)));
        const one = await positions(server, id, undefined, `&layerId=${made.body.layers[7].id}&status=available`);
        assert.deepEqual(one.map(({ number }) => number), Array.from({ length: 200 }, (_, i) => 1401 + i));
        assert.deepEqual(await positions(server, id, undefined, '&status=sold'), []);
        assert.deepEqual(await positions(server, id, undefined, `&layerId=${uuid()}`), []);
    });

    test('C1 nobody sees who else holds a position', async (t) => {
        const server = await start(t, store);
        const { id, positions: ids } = await campaign(server);
        const [buyer, other] = [uuid(), uuid()];
        const { purchase } = await bought(server, ids[1], { as: buyer });
        const bySelf = await positions(server, id, { as: buyer });
        assert.deepEqual(bySelf.map(({ mine }) => mine), [false, true, false]);
        assert.equal(bySelf[1].purchaseId, purchase.id);
        assert.equal(bySelf[1].userId, undefined);
        const text = (await get(server, `/${id}/positions`, { as: other })).text;
        assert.ok(!text.includes(buyer) && !text.includes(purchase.id) && !text.includes('"mine":true'), text);
        const byService = await positions(server, id, { bearer: service() });
        assert.equal(byService[1].userId, buyer);
        assert.equal(byService[1].purchaseId, purchase.id);
        assert.ok(['reserved', 'sold'].includes(byService[1].status));
        assert.equal(byService[0].userId, undefined);
    });

    test('C3 reserved is not sold: only when the last one is paid is the campaign sold out', async (t) => {
        const server = await start(t, store);
        const { id, positions: ids } = await campaign(server, { layers: [layer()] });
        await bought(server, ids[0]);
        await bought(server, ids[1]);
        const { payment } = await bought(server, ids[2], { method: ASKS });
        await quiet(server);
        const open = await now(server, id);
        assert.deepEqual([open.status, open.positionsSold, open.positionsPaid, open.totalRevenue], ['active', 3, 2, 1000]);
        const draw = await get(server, `/${id}/draw`);
        assert.equal(draw.status, 404);
        assert.match(draw.body.detail, /not been drawn yet/);
        assert.match((await get(server, `/${id}/draw`, { as: uuid(), headers: { 'Accept-Language': 'ja' } })).body.detail, /まだ/);
        assert.doesNotMatch((await get(server, `/${uuid()}/draw`)).body.detail, /drawn/);
        await server.authenticate(payment);
        await drawn(server, id);
        const over = await now(server, id);
        assert.deepEqual([over.positionsSold, over.positionsPaid, over.totalRevenue], [3, 3, 1500]);
        assert.ok(over.soldOutAt && over.drawnAt >= over.soldOutAt && over.soldOutAt >= over.createdAt);
        await quiet(server);
        await recount(server);
    });

    test('C6 anybody can verify the draw with the script of docs/lottery.md', async (t) => {
        const server = await start(t, store);
        const { id, drawCommitment, positions: ids } = await campaign(server, { winners: 3, layers: [layer({ positions: 8 })] });
        const buys = await Promise.all(ids.map((position) => bought(server, position)));
        await drawn(server, id);
        await quiet(server);
        const { status, body: draw, text } = await get(server, `/${id}/draw`);
        assert.equal(status, 200, text);
        assert.equal(draw.commitment, drawCommitment);
        assert.equal(draw.entries.length, 8);
        assert.deepEqual(new Set(draw.entries.map((e) => e.purchaseId)), new Set(buys.map(({ purchase }) => purchase.id)));
        assert.deepEqual(draw.winners.map(({ rank }) => rank), [1, 2, 3]);
        const honest = verify(server.db.folder, draw, drawCommitment);
        assert.ok(honest.good, honest.said);

        const tampered = {
            'another winner': (d) => { d.winners[0] = d.entries.find((e) => e.rank === null); },
            'winners in another order': (d) => d.winners.reverse(),
            'an entry left out': (d) => d.entries.pop(),
            'another buyer': (d) => { d.entries[0].purchaseId = uuid(); },
            'another seed': (d) => { d.seed = '00'.repeat(32); },
            'one winner less': (d) => { d.winnersWanted = 2; },
        };
        for (const [what, change] of Object.entries(tampered)) {
            const copy = structuredClone(draw);
            change(copy);
            assert.ok(!verify(server.db.folder, copy, drawCommitment).good, `${what} was not noticed`);
        }
        assert.ok(!verify(server.db.folder, draw, '00'.repeat(32)).good, 'another commitment was not noticed');

        assert.equal(await server.db.count('draws'), 1);
        assert.equal(await server.db.count('audit', "operation = 'DRAW'"), 1);
        for (const { purchase } of buys) {
            const { rank } = draw.entries.find((e) => e.purchaseId === purchase.id);
            const lottery = (await told(server, purchase.userId)).filter(({ type }) => type === 'lottery_result');
            assert.equal(lottery.length, 1, `${purchase.id} was told once`);
            assert.equal(Number(lottery[0].data.rank ?? 0), rank ?? 0, JSON.stringify(lottery[0]));
        }
        assert.equal((await stop(server, id)).status, 422);
        await recount(server);
    });

    test('C6 who got all the money back before the draw does not take part', async (t) => {
        const server = await start(t, store);
        const { id, positions: ids } = await campaign(server, { winners: 3, layers: [layer()] });
        const first = await bought(server, ids[0]);
        await quiet(server);
        const refund = await server.refund(first.payment, undefined, { as: 'admin' });
        assert.equal(refund.status, 200, refund.text);
        await quiet(server);
        await bought(server, ids[1]);
        await bought(server, ids[2]);
        await drawn(server, id);
        const { body } = await get(server, `/${id}/draw`);
        assert.deepEqual(body.entries.map(({ number }) => number), [2, 3]);
        assert.equal(body.winners.length, 2);
        assert.equal((await now(server, id)).totalRevenue, 1000);
        await quiet(server);
        await recount(server);
    });

    test('C6 a campaign without winners is drawn too, and nobody wins', async (t) => {
        const server = await start(t, store);
        const { id, drawCommitment, positions: ids } = await campaign(server, { winners: 0, layers: [layer({ positions: 1 })] });
        await bought(server, ids[0]);
        await drawn(server, id);
        const { body } = await get(server, `/${id}/draw`);
        assert.deepEqual([body.winners, body.entries.length, body.entries[0].rank], [[], 1, null]);
        assert.ok(verify(server.db.folder, body, drawCommitment).good);
    });

    test('C1 a cancelled campaign gives all money back and cancels what is open', async (t) => {
        const server = await start(t, store);
        const { id, positions: ids } = await campaign(server, { layers: [layer({ positions: 5 })] });
        const paid = await Promise.all(ids.slice(0, 2).map((position) => bought(server, position)));
        const open = await bought(server, ids[2], { method: ASKS });
        await quiet(server);
        const cancelled = await stop(server, id);
        assert.equal(cancelled.status, 200, cancelled.text);
        assert.equal(cancelled.body.status, 'cancelled');
        assert.ok(cancelled.body.cancelledAt);
        assert.equal((await stop(server, id, { body: {} })).status, 200);
        const late = await buy(server, ids[3]);
        assert.equal(late.status, 422, late.text);
        await until('all is over', async () =>
            (await Promise.all([...paid, open].map(({ payment }) => server.payment(payment, 'admin'))))
                .every(({ body }) => ['REFUNDED', 'FAILED'].includes(body.status)));
        await quiet(server);
        for (const { purchase } of paid) assert.equal((await purchaseNow(server, purchase)).purchase.status, 'refunded');
        assert.equal((await purchaseNow(server, open.purchase)).purchase.status, 'cancelled');
        const after = await now(server, id);
        assert.deepEqual([after.status, after.totalRevenue, after.positionsSold], ['cancelled', 0, 2]);
        const { totals } = await server.books();
        assert.equal(totals.captured, totals.refunded);
        assert.equal(await server.db.count('audit', "operation = 'CAMPAIGN_CANCEL'"), 1);
        assert.equal(await server.db.count('message', "kind = 'campaign.cancel'"), 0);
        await recount(server);
    });

    // `after`: so many of the forty have their answer when it is cancelled.
    for (const after of [0, 1, 8, 25]) {
        test(`C1 cancelled when ${after} of forty buyers have their answer: refused, or the money goes back`, async (t) => {
            const server = await start(t, store);
            const { id, positions: ids } = await campaign(server, { layers: [layer({ positions: 50 })] });
            const waiting = await Promise.all(ids.slice(40).map((position) => bought(server, position, { method: ASKS })));
            let answered = 0;
            let enough;
            const cancelled = new Promise((resolve) => { enough = resolve; }).then(() => stop(server, id));
            const count = (answer) => {
                if (++answered >= after) enough();
                return answer;
            };
            if (!after) enough();
            const buying = ids.slice(0, 40).map((position, i) => bids(server, position, i % 4 ? {} : { method: ASKS }).then(count));
            const paying = waiting.map(({ payment }) => cancelled.then(() => server.authenticate(payment)).catch(() => {}));
            const answers = await Promise.all(buying);
            await Promise.all(paying);
            assert.equal((await cancelled).status, 200);
            assert.ok(answers.every(({ status }) => [200, 201, 422].includes(status)), answers.map(({ text }) => text).join('\n'));
            const made = [...waiting, ...answers.filter(({ status }) => status < 300).map(({ body }) => body)];
            await until('nobody holds money', async () => {
                await server.advance(1000);
                return (await Promise.all(made.map(({ payment }) => server.payment(payment, 'admin'))))
                    .every(({ body }) => ['REFUNDED', 'FAILED'].includes(body.status));
            }, 60_000);
            await quiet(server);
            const { totals } = await server.books();
            t.diagnostic(`${made.length - 10} were bought, ${totals.captured} yen went back`);
            assert.equal(totals.captured, totals.refunded);
            assert.equal(totals.held, 0);
            assert.equal((await now(server, id)).totalRevenue, 0);
            assert.equal(await server.db.count('message', "kind = 'campaign.cancel'"), 0);
            await recount(server);
        });
    }

    test('C1 a purchase whose outcome is unknown is waited for, and then given back', async (t) => {
        const server = await start(t, store);
        const { id, positions: ids } = await campaign(server);
        await server.fault({ path: '/v1/payment_intents', method: 'POST', dropAfter: true, times: 3 });
        await server.webhooks({ on: false });
        const lost = await buy(server, ids[0]);
        assert.ok(lost.status >= 500, lost.text);
        assert.equal((await stop(server, id)).status, 200);
        await until('it was looked for', async () => {
            await server.advance(60_000);
            return await server.db.count('message', "kind = 'campaign.cancel'") === 0;
        }, 60_000);
        await quiet(server);
        const { totals } = await server.books();
        assert.equal(totals.captured, totals.refunded);
        assert.equal(await server.db.count('operations', "phase <> 'done'"), 0);
        await recount(server);
    });

    test('C1 a payment that is disputed stays with its bank: an operator is told, once', async (t) => {
        const server = await start(t, store);
        const { id, positions: ids } = await campaign(server);
        const { payment } = await bought(server, ids[0], { method: 'pm_card_createDispute' });
        await bought(server, ids[1]);
        await until('it is disputed', async () => await server.db.count('payments', 'disputed = 1') === 1);
        await quiet(server);
        assert.equal((await stop(server, id)).status, 200);
        await until('the other one is refunded', async () => await server.db.count('payments', "status = 'REFUNDED'") === 1);
        await quiet(server);
        assert.equal((await server.payment(payment, 'admin')).body.status, 'CAPTURED');
        assert.equal(await server.db.count('audit', "operation = 'CAMPAIGN_CANCELLED' AND result = 'failure'"), 1);
        assert.equal(await server.db.count('message', "kind = 'campaign.cancel'"), 0);
        await recount(server);
    });

    for (const [point, nth] of [['campaign.cancel', 1], ['campaign.cancel', 2], ['op.settling', 3], ['op.answered', 2]]) {
        test(`T6 kill -9 at ${point} number ${nth} of a cancellation: all money goes back once`, async (t) => {
            const db = await fresh(t, store);
            const calm = await start(t, store, { db });
            const { id, positions: ids } = await campaign(calm, { layers: [layer({ positions: 32 })] });
            const paid = [];
            for (const position of ids.slice(0, 30)) paid.push(await bought(calm, position));
            const open = await bought(calm, ids[30], { method: ASKS });
            await quiet(calm);
            await calm.stop();
            const dying = await launch(t, db, { env: { ICHIDO_FAULTS: `${point}=crash@${nth}` } }).listening();
            await stop(dying, id).catch(() => {});
            assert.equal((await dying.exit).signal, 'SIGKILL', `${point} was passed`);

            const again = await start(t, store, { db });
            assert.equal((await stop(again, id)).status, 200);
            await until('all is over', async () => {
                await again.advance(11_000);
                return (await Promise.all([...paid, open].map(({ payment }) => again.payment(payment, 'admin'))))
                    .every(({ body }) => ['REFUNDED', 'FAILED'].includes(body.status));
            }, 60_000);
            await quiet(again);
            const { totals } = await again.books();
            assert.deepEqual([totals.captured, totals.refunded], [30 * 500, 30 * 500]);
            assert.equal(await db.count('refunds'), 30);
            assert.equal(await db.count('audit', "operation = 'CAMPAIGN_CANCEL'"), 1);
            assert.equal(await db.count('message', "kind = 'campaign.cancel'"), 0);
            await recount(again);
        });
    }

    for (const point of ['campaign.draw', 'campaign.tell']) {
        test(`T6 kill -9 at ${point}: it is drawn once, and everybody is told once`, async (t) => {
            const db = await fresh(t, store);
            const dying = await launch(t, db, { env: { ICHIDO_FAULTS: `${point}=crash@1` } }).listening();
            const { id, drawCommitment, positions: ids } = await campaign(dying, { layers: [layer()] });
            for (const position of ids) await buy(dying, position).catch(() => {});
            assert.equal((await dying.exit).signal, 'SIGKILL', `${point} was passed`);
            const again = await start(t, store, { db });
            await until('it is drawn', async () => {
                await again.advance(11_000);
                return (await now(again, id)).status === 'drawn';
            }, 30_000);
            await quiet(again);
            assert.equal(await db.count('draws'), 1);
            assert.equal(await db.count('draw_entries'), 3);
            assert.equal(await db.count('notifications', "type LIKE 'lottery%'"), 3);
            assert.ok(verify(db.folder, (await get(again, `/${id}/draw`)).body, drawCommitment).good);
            await recount(again);
        });
    }
});
