// crash.mjs - load, kill -9 at a random moment, restart, and compare with the client's own journal.
//
// The client plays Stripe: it sends events over many connections, some of them twice, and sends again
// whatever was not acknowledged. It writes down each ACK. After every kill, and at the end:
//   (1) every acknowledged event is in the database (nothing lost);
//   (2) no event is there twice, and each has a message or an outcome, never neither, never both;
//   (3) after the last start everything is worked through: one outcome each, 'ignored', no message
//       left, no dead letter.
// On PostgreSQL two nodes share the database, one of them is killed at a time, and now and then the
// PostgreSQL server itself is. The moments come from a seed, which is printed.
import http from 'node:http';
import fs from 'node:fs';
import { newFolder } from '../e2e/lib/server.mjs';
import { event, onIntent, pretty, signature } from '../e2e/lib/stripe.mjs';
import { Cluster } from '../e2e/lib/postgres.mjs';
import { sqliteStore } from '../e2e/lib/stores.mjs';
import { pause, until } from '../e2e/lib/wait.mjs';
import { Node, random, runOnEach } from './victims.mjs';

const KILLS = Number(process.env.KILLS ?? 30);
const SEED = Number(process.env.SEED ?? (Date.now() % 1_000_000));
const SENDERS = 24;

// --- the client ---

class Journal {
    constructor() {
        this.early = []; // some of the first events, to be sent again
        this.acked = new Set();
        this.unchecked = []; // ACKed since the last look into the database
        this.doubtful = []; // sent, and no ACK came
        this.acks = 0;
    }

    ack(one) {
        this.acks++;
        if (this.acked.has(one.id)) return;
        this.acked.add(one.id);
        this.unchecked.push(one.id);
    }
}

// A third of the events share sixteen payments, so that lanes are long.
function nextEvent(journal, chance) {
    if (journal.doubtful.length && chance() < 0.5) return journal.doubtful.pop();
    if (journal.early.length === 50 && chance() < 0.1) return journal.early[Math.floor(chance() * 50)];
    const one = chance() < 0.3 ? onIntent(`pi_3lane${Math.floor(chance() * 16)}`) : event();
    if (journal.early.length < 50) journal.early.push(one);
    return one;
}

function post(port, agent, one) {
    const body = pretty(one);
    return new Promise((resolve, reject) => {
        const client = http.request({
            host: '127.0.0.1', port, agent, method: 'POST', path: '/api/v1/webhooks/stripe',
            headers: { 'Content-Length': Buffer.byteLength(body), 'Stripe-Signature': signature(body) },
        }, (answer) => {
            answer.resume();
            answer.on('error', reject);
            answer.on('end', () => resolve(answer.statusCode));
        });
        client.on('error', reject);
        client.end(body);
    });
}

async function send(node, journal, chance) {
    const one = nextEvent(journal, chance);
    const status = await post(node.server.port, node.agent, one).catch(() => 0);
    if (status === 204) journal.ack(one);
    else journal.doubtful.push(one);
    if (status !== 204 && status !== 503 && status !== 0) throw new Error(`answer ${status}`);
    return status;
}

async function sender(run, number) {
    while (!run.over) {
        const node = run.nodes[number % run.nodes.length];
        if (!node.up) await pause(5);
        else if (await send(node, run.journal, run.dice) !== 204) await pause(5);
    }
}

// --- looking into the database ---

async function check(run) {
    const acked = run.journal.unchecked.splice(0);
    const rows = await run.db.all(`SELECT seq, stripe_event_id AS id FROM webhook_events WHERE seq > ${run.lastSeq} ORDER BY seq`);
    for (const row of rows) {
        if (run.stored.has(row.id)) throw new Error(`${row.id} is stored twice`);
        run.stored.add(row.id);
        run.lastSeq = Math.max(run.lastSeq, row.seq);
    }
    const lost = acked.filter((id) => !run.stored.has(id));
    if (!lost.length) return;
    // Sequence numbers are given before the commit: a lower one may appear later.
    const late = new Set((await run.db.all('SELECT stripe_event_id AS id FROM webhook_events')).map((row) => row.id));
    const gone = lost.filter((id) => !late.has(id));
    if (gone.length) throw new Error(`${gone.length} acknowledged events are lost, like ${gone[0]}`);
    lost.forEach((id) => run.stored.add(id));
}

async function checkWhole(run) {
    const [row] = await run.db.all(`SELECT count(*) AS events, count(o.message_id) AS outcomes,
        count(m.id) AS messages,
        sum(CASE WHEN o.message_id IS NULL AND m.id IS NULL THEN 1 ELSE 0 END) AS neither,
        sum(CASE WHEN o.message_id IS NOT NULL AND m.id IS NOT NULL THEN 1 ELSE 0 END) AS both_of_them
        FROM webhook_events e LEFT JOIN webhook_outcomes o ON o.message_id = e.message_id
        LEFT JOIN message m ON m.id = e.message_id`);
    if (Number(row.neither)) throw new Error(`${row.neither} events have neither message nor outcome`);
    if (Number(row.both_of_them)) throw new Error(`${row.both_of_them} events are done and still queued`);
    return row;
}

// --- one database ---

async function oneKill(run, number) {
    const node = run.nodes[Math.floor(run.chance() * run.nodes.length)];
    await pause(10 + run.chance() * 250);
    if (run.cluster && number % 8 === 7) {
        await (number % 16 === 7 ? run.cluster.kill() : run.cluster.stop().then(() => run.cluster.start()));
        run.databaseKills++;
        await check(run);
        return;
    }
    await node.kill();
    if (run.chance() < 0.2) await node.dieEarly(run.chance() * 40);
    await check(run);
    if (number % 10 === 9) await checkWhole(run);
    await node.start();
}

async function drain(run) {
    const { journal } = run;
    while (journal.doubtful.length) await send(run.nodes[0], journal, () => 0).then((s) => s === 204 || pause(20));
    await until('everything is worked through', async () => {
        const row = await checkWhole(run);
        return row.outcomes === row.events && Number(row.messages) === 0;
    }, 60_000);
}

async function final(run) {
    await check(run);
    const row = await checkWhole(run);
    const [sums] = await run.db.all(`SELECT (SELECT count(*) FROM webhook_outcomes) AS outcomes,
        (SELECT count(*) FROM webhook_outcomes WHERE outcome <> 'ignored') AS other,
        (SELECT count(*) FROM dead_letters) AS dead, (SELECT count(*) FROM message WHERE kind = 'stripe.event') AS live`);
    const wrong = sums.outcomes !== row.events || sums.other || sums.dead || sums.live
        || row.events !== run.journal.acked.size;
    if (wrong) throw new Error(`at the end: ${JSON.stringify({ ...row, ...sums, acked: run.journal.acked.size })}`);
}

async function crashTest(kind) {
    const cluster = kind === 'postgres' ? await Cluster.create() : null;
    const folder = newFolder();
    const store = cluster ? cluster.store : sqliteStore;
    const db = await store.fresh(folder);
    db.folder = folder; // the sandboxes' files are there
    const run = {
        db, cluster, nodes: [new Node(db)], journal: new Journal(), chance: random(SEED), dice: random(SEED + 1), stored: new Set(),
        lastSeq: 0, databaseKills: 0, over: false,
    };
    if (cluster) run.nodes.push(new Node(db));
    const began = Date.now();
    try {
        for (const node of run.nodes) await node.start();
        const senders = Array.from({ length: SENDERS }, (_, i) => sender(run, i));
        const failed = Promise.all(senders).then(() => null, (error) => error);
        for (let i = 0; i < KILLS; i++) {
            const error = await Promise.race([oneKill(run, i).then(() => null), failed]);
            if (error) throw error;
        }
        run.over = true;
        const error = await failed;
        if (error) throw error;
        await drain(run);
        for (const node of run.nodes) {
            node.up = false;
            const how = await node.server.stop();
            if (how.code !== 0) throw new Error(`it stopped with ${JSON.stringify(how)}`);
        }
        await final(run);
        const seconds = ((Date.now() - began) / 1000).toFixed(1);
        const extra = cluster ? ` (${run.databaseKills} of them of PostgreSQL itself)` : '';
        console.log(`ok      ${store.name}: ${KILLS} kills${extra}, ${run.journal.acks} ACKs of `
            + `${run.journal.acked.size} events, none lost, none twice, in ${seconds} s`);
    } finally {
        run.over = true;
        for (const node of run.nodes) if (node.server && !node.server.ended) await node.server.kill();
        await cluster?.remove();
        fs.rmSync(folder, { recursive: true, force: true });
    }
}

await runOnEach('crash', { seed: SEED, kills: KILLS }, crashTest);
