// backlog.mjs - a server whose queue is full from the start, and stays so: its messages are due in many years. What a
// queue does by itself comes and goes, so no test can count on that.
import { fresh, start, until } from './harness.mjs';

const LIMIT = 3;
const YEAR_2100 = Date.UTC(2100);

export async function startFull(t, store, env = {}) {
    const db = await fresh(t, store);
    for (let i = 1; i <= LIMIT; i++) {
        await db.all(`INSERT INTO message (id, kind, ready, due_at, added_at, ref)
            VALUES (${db.blob(`0199e6a25c00700080000000000000f${i}`)}, 'no.such.kind', 1, ${YEAR_2100}, 1, 'waits')`);
    }
    const server = await start(t, store, { db, env: { ...env, ICHIDO_BACKLOG_LIMIT: String(LIMIT) } });
    await until('it has counted them', async () => /backlog/.test((await server.get('/readyz')).text)); // PostgreSQL: a little later
    return server;
}
