// kill -9 at every named place of every money operation, then the same request again: one charge,
// the right state, and the sandbox's own books agree with ours (T6, I4, D5, P7).
import crypto from 'node:crypto';
import { assert, forEachStore, fresh, launch, start, until } from './lib/harness.mjs';
import {
    ASKS, bought, campaign, confirm, DECLINED, purchaseNow, quiet, recount, rows, told, types, VISA,
} from './lib/purchases.mjs';

const POINTS = ['op.claimed', 'op.calling', 'op.answered', 'op.settling', 'op.settled'];

const AFTER_MS = { 'op.claimed': 11_000, 'op.calling': 11_000, 'op.answered': 40_000, 'op.settling': 40_000, 'op.settled': 0 };

// What each operation needs before it, how it is asked for, and how all must end.
const KINDS = {
    create: {
        prepare: (server) => server.booking(),
        ask: (server, booking, key) => server.pay(booking, { key }),
        status: 'AUTHORIZED',
        atGateway: { status: 'requires_capture', amount_received: 0 },
    },
    capture: {
        prepare: (server) => server.paid(),
        ask: (server, payment, key) => server.capture(payment, 700, { key }),
        status: 'CAPTURED',
        atGateway: { status: 'succeeded', amount_received: 700 },
    },
    refund: {
        prepare: (server) => server.captured(),
        ask: (server, payment, key) => server.refund(payment, 500, { key }),
        status: 'CAPTURED',
        refunded: 500,
        atGateway: { status: 'succeeded', amount_received: 1200 },
    },
    void: {
        prepare: (server) => server.paid(),
        ask: (server, payment, key) => server.void(payment, { key }),
        status: 'REFUNDED',
        atGateway: { status: 'canceled', amount_received: 0 },
    },
};

// What happens to a purchase without anybody asking for it: what makes it happen, at which places the server
// dies over it, and what it must come to, once.
const MINUTE = 60_000;
const QUIETLY = {
    'money that came too late goes back (E8)': {
        points: ['purchase.give_back', 'apply:payment_intent.succeeded'],
        prepare: async (server, position) => {
            const late = await bought(server, position, { method: DECLINED });
            await bought(server, position, { method: VISA });
            return late;
        },
        happens: (server, { payment }) => confirm(server, payment, VISA),
        purchase: 'failed', payment: 'FAILED', position: 'sold', net: 2000, told: ['payment_failed', 'payment_refunded'],
        ours: ['refund done'],
    },
    'a reservation that runs out is cancelled (D19)': {
        points: ['payment.abandon', 'op.calling', 'op.answered', 'op.settling', 'purchase.release'],
        prepare: (server, position) => bought(server, position, { method: ASKS }),
        happens: (server) => server.advance(16 * MINUTE),
        purchase: 'cancelled', payment: 'FAILED', position: 'available', net: 0, told: ['payment_cancelled'],
        ours: ['void done'],
    },
    'a slip that nobody paid lapses (D19)': {
        points: ['purchase.release', 'apply:payment_intent.payment_failed'],
        prepare: (server, position) => bought(server, position, { type: 'konbini' }),
        happens: (server, { payment }) => server.sandbox('POST', `/konbini/${payment.gatewayTransactionId}/expire`, {}),
        purchase: 'failed', payment: 'PENDING', position: 'available', net: 0, told: ['payment_failed'],
        ours: [],
    },
};

// The same request until it is known what became of it: 5xx means ask again with the same key (I5).
async function askUntilKnown(server, ask) {
    let answer = await ask(server);
    for (let i = 0; i < 20 && answer.status >= 500; i++) {
        await server.advance(5000);
        answer = await ask(server);
    }
    return answer;
}

async function checkBooks(server, payment, kind) {
    const intent = await server.intentOf(payment);
    assert.equal(intent.status, kind.atGateway.status);
    assert.equal(intent.amount_received, kind.atGateway.amount_received);
    const { data } = await server.stripe(`/refunds?payment_intent=${intent.id}`);
    assert.equal(data.reduce((sum, refund) => sum + refund.amount, 0), kind.refunded ?? 0);
}

forEachStore((store, test) => {
    for (const [name, kind] of Object.entries(KINDS)) {
        for (const point of POINTS) {
            test(`T6 kill -9 at ${point} of a ${name}: the same request again, one effect`, async (t) => {
                const db = await fresh(t, store);
                const calm = await start(t, store, { db });
                const subject = await kind.prepare(calm);
                await calm.stop();
                const key = crypto.randomUUID();
                const ask = (server) => kind.ask(server, subject, key);

                const dying = await launch(t, db, { env: { ICHIDO_FAULTS: `${point}=crash@1` } }).listening();
                await ask(dying).catch(() => {});
                assert.equal((await dying.exit).signal, 'SIGKILL', `${point} was passed`);

                // On PostgreSQL the dead node's lease has to run out. Within 30 s of the claim it is sent
                // again, later the gateway is asked (D6): both are walked here.
                const again = await start(t, store, { db });
                await again.advance(AFTER_MS[point]);
                const answer = await askUntilKnown(again, ask);
                assert.ok([200, 201].includes(answer.status), answer.text);
                assert.equal(answer.body.status, kind.status);
                await until('nothing is under way', async () =>
                    (await db.count('operations', "phase <> 'done'")) === 0);
                const now = await again.payment(answer.body);
                assert.equal(now.body.status, kind.status);
                assert.equal(now.body.refundedAmount ?? 0, kind.refunded ?? 0);
                await checkBooks(again, now.body, kind);
                assert.equal((await ask(again)).text, answer.text, 'I2 and it is replayed');
            });
        }
    }

    for (const [what, kind] of Object.entries(QUIETLY)) {
        for (const point of kind.points) {
            test(`T6 kill -9 at ${point}: ${what}, once`, async (t) => {
                const db = await fresh(t, store);
                const calm = await start(t, store, { db });
                const c = await campaign(calm);
                const made = await kind.prepare(calm, c.positions[0]);
                await quiet(calm);
                await calm.stop();

                const dying = await launch(t, db, { env: { ICHIDO_FAULTS: `${point}=crash@1` } }).listening();
                await kind.happens(dying, made).catch(() => {});
                assert.equal((await dying.exit).signal, 'SIGKILL', `${point} was passed`);

                const again = await start(t, store, { db });
                await again.advance(16 * MINUTE); // leases end, and so does what had to end by itself
                await until(`the purchase is ${kind.purchase}`, async () => {
                    await again.advance(1000);
                    return (await purchaseNow(again, made.purchase)).purchase.status === kind.purchase;
                });
                await until('nothing is under way', async () =>
                    (await db.count('operations', "phase <> 'done'")) === 0);
                await quiet(again);
                assert.equal((await purchaseNow(again, made.purchase)).payment.status, kind.payment);
                assert.equal((await rows.position(again, c.positions[0])).status, kind.position);
                assert.equal((await again.books()).totals.net, kind.net);
                assert.deepEqual(types(await told(again, made.purchase.userId)), kind.told);
                const ours = (await db.operations(made.payment.id)).filter((one) => one.cause !== 'client');
                assert.deepEqual(ours.map((one) => `${one.kind} ${one.result}`), kind.ours);
                await recount(again);
            });
        }
    }
});
