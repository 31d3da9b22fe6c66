// The queue's own door while servers, and those they deliver to, are killed with -9 under load: nothing is lost,
// nothing overtakes, and at every look the books are right: published = delivered + dead + cancelled + live (Q7 Q9
// Q10).
import http from 'node:http';
import { assert, fresh, launch, pause, stores, test, until } from './lib/harness.mjs';
import { freePort } from './lib/ports.mjs';
import { recount } from './lib/receiver.mjs';
import { DEV_TOKEN } from './lib/upstash.mjs';

const [sqlite, postgres] = ['sqlite', 'postgres'].map((kind) => stores.find((store) => store.kind === kind));

// A destination that can be killed and started again at the same address. answer(delivery) gives the status, or a
// promise of it; `most` is how many of a path were ever open at the same time.
class Destination {
    constructor(answer) {
        Object.assign(this, { answer, got: [], open: {}, most: {} });
    }

    static async open(t, answer) {
        const door = new Destination(answer);
        await door.start();
        t.atEnd(() => door.kill());
        return door;
    }

    async start() {
        this.server = http.createServer((request, response) => this.#serve(request, response));
        this.port ??= await freePort();
        await new Promise((resolve, reject) => {
            this.server.on('error', reject);
            this.server.listen(this.port, '127.0.0.1', resolve);
        });
        this.url = `http://127.0.0.1:${this.port}`;
    }

    kill() {
        return new Promise((resolve) => {
            this.server.close(resolve);
            this.server.closeAllConnections();
        });
    }

    #serve(request, response) {
        const { pathname, searchParams } = new URL(request.url, this.url);
        request.resume();
        this.open[pathname] = (this.open[pathname] ?? 0) + 1;
        this.most[pathname] = Math.max(this.most[pathname] ?? 0, this.open[pathname]);
        response.on('close', () => this.open[pathname]--);
        request.on('end', async () => {
            const delivery = {
                path: pathname, n: Number(searchParams.get('n')), id: request.headers['upstash-message-id'],
                retried: Number(request.headers['upstash-retried']),
            };
            this.got.push(delivery);
            response.writeHead(await this.answer(delivery)).end();
        });
    }

    of(path) {
        return this.got.filter((delivery) => delivery.path === path);
    }
}

// Each number once, in the order of their first delivery.
const firsts = (deliveries) => [...new Set(deliveries.map(({ n }) => n))];
const upTo = (n) => Array.from({ length: n }, (_, i) => i);

// One question, so that both sides are of the same moment.
async function books(db) {
    const [row] = await db.all(`SELECT (SELECT count(*) FROM qstash_messages) AS published,
        (SELECT count(*) FROM qstash_live) AS live, (SELECT count(*) FROM qstash_log WHERE state = 5) AS delivered,
        (SELECT count(*) FROM qstash_log WHERE state = 6) AS dead, (SELECT count(*) FROM qstash_log WHERE state = 8) AS cancelled,
        (SELECT count(*) - count(DISTINCT id) FROM qstash_log WHERE state IN (5, 6, 8)) AS twice,
        (SELECT count(*) FROM qstash_live l WHERE place = 0 AND NOT EXISTS (SELECT 1 FROM message m WHERE m.id = l.id)) AS forgotten`);
    assert.equal(row.published, row.delivered + row.dead + row.cancelled + row.live, JSON.stringify(row));
    assert.deepEqual([row.twice, row.forgotten], [0, 0], JSON.stringify(row));
    await recount(db);
    return row;
}

const atRest = (db, limitMs) => until('all have ended', async () => (await books(db)).live === 0, limitMs);

// A publisher that goes on at whichever node answers; its deduplication id makes a repeat harmless.
function publisher(nodes) {
    let turn = 0;
    const say = async (method, path, headers = {}) => {
        for (const deadline = Date.now() + 60_000; Date.now() < deadline; await pause(30)) {
            const node = nodes[turn++ % nodes.length];
            if (node.ended || !node.port) continue;
            const answer = await node.request({
                method, path: `/v2/${path}`, headers: { Authorization: `Bearer ${DEV_TOKEN}`, 'Content-Length': 0, ...headers },
            }).catch(() => ({ status: 503 }));
            if (answer.status < 500) return { status: answer.status, body: JSON.parse(answer.text) };
        }
        throw new Error(`nobody answers: ${path}`);
    };
    const publish = async (path, name, headers) => {
        const { status, body } = await say('POST', path, { 'Upstash-Deduplication-Id': name, ...headers });
        assert.ok(status === 200 || status === 202, `${status} ${JSON.stringify(body)}`);
        return body.messageId;
    };
    return { say, publish };
}

const PATIENT = { 'Upstash-Retries': '1000', 'Upstash-Retry-Delay': '100' };
const THREE = { 'Upstash-Flow-Control-Key': 'three', 'Upstash-Flow-Control-Value': 'parallelism=3' };
const RATED = { 'Upstash-Flow-Control-Key': 'rated', 'Upstash-Flow-Control-Value': 'rate=40,period=1s' };
const FIFO = 150, OTHERS = 250;

// All sorts at the same time, until `over`: a queue in its order, two flow keys, callbacks, those that die, those that
// are cancelled. What was answered is remembered: it must end as it should.
function load(nodes, door) {
    const { say, publish } = publisher(nodes);
    const ids = { fifo: [], three: [], rated: [], dying: [], cancelled: [] };
    const inOrder = async () => {
        for (const n of upTo(FIFO))
            ids.fifo.push(await publish(`enqueue/line/${door.url}/fifo?n=${n}`, `fifo-${n}`, { ...PATIENT, 'Upstash-Callback': `${door.url}/told` }));
    };
    const others = async (from) => {
        for (let n = from; n < OTHERS; n += 4) {
            ids.three.push(await publish(`publish/${door.url}/three?n=${n}`, `three-${n}`, { ...PATIENT, ...THREE }));
            ids.rated.push(await publish(`publish/${door.url}/rated?n=${n}`, `rated-${n}`, { ...PATIENT, ...RATED }));
            if (n % 5 === 0)
                ids.dying.push(await publish(`publish/${door.url}/dying?n=${n}`, `dying-${n}`, { 'Upstash-Retries': '0', 'Upstash-Label': 'dies' }));
            if (n % 5) continue;
            const id = await publish(`publish/${door.url}/never`, `never-${n}`, { 'Upstash-Delay': '1d', 'Upstash-Label': 'x,y' });
            await say('DELETE', `messages/${id}`); // 404: the answer of the first time was lost
            ids.cancelled.push(id);
        }
    };
    return { ids, over: Promise.all([inOrder(), ...upTo(4).map(others)]) };
}

// Looks until `over`; then once more.
async function watch(db, over) {
    let looks = 0, going = true;
    const done = over.finally(() => { going = false; });
    done.catch(() => {});
    for (; going; looks++) {
        await books(db);
        await pause(50);
    }
    await done;
    return looks;
}

async function check(db, door, ids) {
    const ends = new Map((await db.all(`SELECT ${db.hex('id')} AS id, state FROM qstash_log WHERE state IN (5, 6, 8)`))
        .map(({ id, state }) => [`msg_${id}`, state]));
    for (const name of ['fifo', 'three', 'rated']) {
        const came = new Set(door.got.map(({ id }) => id));
        assert.ok(ids[name].every((id) => ends.get(id) === 5 && came.has(id)), `${name}: all are delivered`);
    }
    assert.equal(ids.fifo.length, FIFO);
    assert.equal(ids.three.length, OTHERS);
    assert.ok(ids.dying.every((id) => ends.get(id) === 6), 'these are dead');
    assert.ok(ids.cancelled.every((id) => ends.get(id) === 8), 'these are cancelled');
    assert.equal(door.of('/never').length, 0);
    const line = door.of('/fifo').map(({ n }) => n);
    assert.deepEqual(line.filter((n, i) => i && n < line[i - 1]), [], `nobody overtakes: ${line}`);
    assert.deepEqual(firsts(door.of('/fifo')), upTo(FIFO));
    assert.ok(door.most['/fifo'] === 1 && door.most['/three'] <= 3, JSON.stringify(door.most));
    const callbacks = await db.count('qstash_messages', 'source_id IS NOT NULL');
    assert.ok(callbacks >= FIFO, `${callbacks} callbacks`);
    assert.equal(await db.count('qstash_dead'), ids.dying.length);
    assert.equal(await db.count('dead_letters'), ids.dying.length);
    assert.equal(await db.count('message'), 0);
    assert.deepEqual(await db.all('SELECT running, lag FROM qstash_queues'), [{ running: 0, lag: 0 }]);
    assert.deepEqual(await db.all('SELECT sum(running) AS running, sum(waiting) AS waiting FROM qstash_flows')
        .then(([row]) => [Number(row.running), Number(row.waiting)]), [0, 0]);
}

// Most go well, after a while; some of those in line fail first, and those behind them wait.
const moody = ({ path, n, retried }) => pause(5).then(() => (
    path === '/dying' ? 500 : path === '/fifo' && n % 11 === 5 && retried < 2 ? 503 : 200));

if (postgres) {
    test('Q7 Q9 what a killed node had under way goes on at the other within seconds, in its order [PostgreSQL]', async (t) => {
        const db = await fresh(t, postgres);
        const doomed = await launch(t, db).listening();
        let open = false;
        const door = await Destination.open(t, () => (open ? 200 : new Promise(() => {})));
        const { publish } = publisher([doomed]);
        for (const n of upTo(5)) {
            await publish(`enqueue/line/${door.url}/line?n=${n}`, `line-${n}`);
            await publish(`publish/${door.url}/key?n=${n}`, `key-${n}`,
                { 'Upstash-Flow-Control-Key': 'k', 'Upstash-Flow-Control-Value': 'parallelism=2' });
        }
        await until('one of the queue and two of the key are under way', () => door.got.length === 3);
        const before = [...door.got];
        const other = await launch(t, db).listening();
        await publisher([other]).publish(`enqueue/line/${door.url}/line?n=5`, 'line-5');
        await books(db);
        await doomed.kill();
        open = true;
        const killed = Date.now();
        await atRest(db, 30_000);
        assert.ok(Date.now() - killed < 20_000, `${Date.now() - killed} ms`);
        const again = door.got.slice(3);
        assert.deepEqual(firsts(door.of('/line')), upTo(6));
        assert.deepEqual(again.filter(({ path }) => path === '/line').map(({ n }) => n), upTo(6), 'the head again, then the others');
        for (const { id } of before) {
            const [second, ...more] = again.filter((delivery) => delivery.id === id);
            assert.deepEqual([second?.retried, more.length], [0, 0], 'the same try, once more');
        }
        assert.deepEqual(firsts(door.of('/key')).sort(), upTo(5));
        assert.ok(door.most['/key'] <= 2 && door.most['/line'] === 1, JSON.stringify(door.most));
        const row = await books(db);
        assert.deepEqual([row.published, row.delivered], [11, 11]);
    });

    test('Q9 Q10 two nodes under load, each killed in its turn: nothing is lost, nothing overtakes, the books are right [PostgreSQL]', { timeout: 180_000 }, async (t) => {
        const db = await fresh(t, postgres);
        const nodes = [await launch(t, db).listening(), await launch(t, db).listening()];
        const door = await Destination.open(t, moody);
        const { ids, over } = load(nodes, door);
        const kill = async () => {
            for (const at of [0, 1, 0]) {
                await until('there is work under way', () => door.open['/fifo'] || door.open['/three']);
                await nodes[at].kill();
                const had = door.got.length;
                await until('the other goes on', () => door.got.length > had + 20, 30_000);
                nodes[at] = await launch(t, db).listening();
                await pause(300);
            }
        };
        const looks = await watch(db, Promise.all([over, kill()]));
        await atRest(db, 60_000);
        assert.ok(looks > 10, `${looks} looks`);
        await check(db, door, ids);
    });
}

if (sqlite)
    test('Q7 Q9 a server and its receiver are killed again and again: nothing is lost, nothing overtakes, the books are right [SQLite]', { timeout: 180_000 }, async (t) => {
        const db = await fresh(t, sqlite);
        const nodes = [await launch(t, db).listening()];
        const door = await Destination.open(t, moody);
        const { ids, over } = load(nodes, door);
        const kill = async () => {
            for (const n of upTo(6)) {
                const had = door.got.length;
                await until('it goes on', () => door.got.length > had + 20, 30_000);
                await until('there is work under way', () => door.open['/fifo'] || door.open['/three']);
                if (n % 2) await door.kill();
                await nodes[0].kill();
                nodes[0] = await launch(t, db).listening();
                await pause(200);
                if (n % 2) await door.start();
                if (n === 2) { // the receiver alone
                    await door.kill();
                    await pause(200);
                    await door.start();
                }
            }
        };
        const looks = await watch(db, Promise.all([over, kill()]));
        await atRest(db, 60_000);
        assert.ok(looks > 10, `${looks} looks`);
        await check(db, door, ids);
    });
