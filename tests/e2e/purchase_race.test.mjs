// A thousand buyers for a hundred positions, at once and with all kinds of cards: whoever is charged has a
// position, whoever has a position is charged, and the draw comes once (C2 C3 D14 E8).
import { asHex, assert, forEachStore, start, until, uuid } from './lib/harness.mjs';
import { ASKS, bought, buy, campaign, confirm, DECLINED, POOR, quiet, recount, rows, VISA } from './lib/purchases.mjs';

const BUYERS = 1000;
const AT_ONCE = 100;
const LAYERS = [{ name: 'S', price: 3000, positions: 20 }, { name: 'A', price: 1000, positions: 80 }];
const ALL = LAYERS.reduce((sum, { price, positions }) => sum + price * positions, 0);
const CARDS = [VISA, DECLINED, VISA, POOR, VISA];

// Only what a client may do: buy, and where the card was refused try another one, on the same intent or anew.
class Buyer {
    constructor(server, number, positions) {
        this.server = server;
        this.user = uuid();
        this.number = number;
        this.positions = positions;
        this.answers = [];
    }

    async want(position, method) {
        const order = { as: this.user, key: uuid(), method };
        let answer = await buy(this.server, position, order);
        for (let i = 0; i < 20 && [502, 503, 504].includes(answer.status); i++) // the same key goes on
            answer = await buy(this.server, position, order);
        assert.ok([200, 201, 422].includes(answer.status), answer.text);
        this.answers.push(answer);
        return answer.status === 422 ? undefined : answer.body;
    }

    async run() {
        const round = Math.floor(this.number / this.positions.length);
        const position = this.positions[this.number % this.positions.length];
        const made = await this.want(position, CARDS[(this.number + round) % CARDS.length]);
        if (!made || made.purchase.status === 'completed') return;
        assert.equal(made.purchase.status, 'failed');
        if ((this.number + round) % 2) await confirm(this.server, made.payment, VISA); // it may be too late: then it goes back
        else await this.want(position, VISA);
    }
}

async function inTurns(all, atOnce, work) {
    const rest = all.values();
    await Promise.all(Array.from({ length: atOnce }, async () => {
        for (const one of rest) await work(one);
    }));
}

async function allBooks(server) {
    const intents = [];
    for (let after = '', more = true; more;) {
        const page = await server.sandbox('GET', `/books?after=${after}`);
        intents.push(...page.intents);
        after = page.intents.at(-1)?.id;
        more = page.has_more;
    }
    return intents;
}

forEachStore((store, test) => {
    test('C2 C3 a thousand buyers for a hundred positions: 100 sold, revenue exact, one draw', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server, { winners: 3, layers: LAYERS });
        const buyers = Array.from({ length: BUYERS }, (_, i) => new Buyer(server, i, c.positions));
        await inTurns(buyers, AT_ONCE, (buyer) => buyer.run());
        await quiet(server, { limitMs: 60_000 });
        // a decline may have freed a position after everybody who wanted it had left: somebody comes by
        const free = async () => (await server.db.table('positions', `status <> 'sold'`)).length;
        const late = c.positions.map((_, i) => new Buyer(server, i, c.positions));
        if (await free()) await inTurns(late, 10, (buyer) => buyer.want(c.positions[buyer.number], VISA));
        await until('the winners are drawn', async () => (await rows.campaign(server, c.id)).status === 'drawn', 30_000);
        await quiet(server, { limitMs: 60_000 });

        const all = await recount(server);
        const [row] = all.campaigns;
        assert.deepEqual([row.positions_sold, row.positions_paid, row.total_revenue], [100, 100, ALL]);
        assert.equal(await server.db.count('draws'), 1);
        assert.equal(await server.db.count('draw_entries', 'rank IS NOT NULL'), 3);

        // the gateway's own books: what it kept is what was sold, payment by payment
        const kept = new Map((await allBooks(server)).filter((one) => one.captured > one.refunded)
            .map((one) => [one.payment_id, one.captured - one.refunded]));
        const sold = all.purchases.filter((one) => one.status === 'completed');
        assert.equal(kept.size, 100);
        for (const one of sold) {
            const payment = [...kept].find(([id]) => asHex(id) === one.payment_id);
            assert.deepEqual(payment?.[1], one.amount, 'a position that nobody paid');
        }
        assert.equal([...kept.values()].reduce((sum, amount) => sum + amount, 0), ALL);

        // everybody who was told that it is his still has it; whose money went back was told so
        const completed = [...buyers, ...late].flatMap((b) => b.answers).filter((a) => a.body.purchase?.status === 'completed');
        for (const { body } of completed) assert.ok(sold.some((one) => one.purchase_id === asHex(body.purchase.id)));
        const automatic = await server.db.count('refunds', `automatic = 1 AND status = 'succeeded'`);
        assert.equal(await server.db.count('notifications', `type = 'payment_refunded'`), automatic);
        assert.equal(await server.db.count('notifications', `type = 'purchase_confirmed'`), 100);
        t.diagnostic(`${automatic} payments came too late and went back; ${all.purchases.length} purchases`);
    });

    test('C3 D14 webhooks bring the money of many while others buy and fail: everybody is answered, sums are exact', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server, { layers: [{ name: 'A', price: 100, positions: 120 }, { name: 'B', price: 200, positions: 120 }] });
        const open = [];
        await inTurns(c.positions.slice(0, 120), 40, async (position) =>
            open.push(await bought(server, position, { method: open.length % 2 ? ASKS : DECLINED })));
        await Promise.all([
            inTurns(open, 40, ({ purchase, payment }) => (purchase.status === 'pending'
                ? server.authenticate(payment) : confirm(server, payment, VISA))),
            inTurns(c.positions.slice(120), 40, (position) =>
                bought(server, position, { method: position.charCodeAt(35) % 3 ? VISA : POOR })),
        ]);
        await quiet(server, { limitMs: 60_000 });
        const { purchases } = await recount(server);
        const first = purchases.filter((one) => one.amount === 100);
        assert.deepEqual(new Set(first.map((one) => one.status)), new Set(['completed']));
        assert.equal(first.length, 120);
        const net = (await allBooks(server)).reduce((sum, one) => sum + one.captured - one.refunded, 0);
        assert.equal((await rows.campaign(server, c.id)).total_revenue, net);
    });
});
