import { assert, forEachStore, start, until, uuid } from './lib/harness.mjs';
import { ASKS, bought, buy, campaign, cancel, confirm, DECLINED, POOR, quiet, recount, rows, VISA } from './lib/purchases.mjs';
forEachStore((store, test) => {
    test('C3 stress: webhooks complete while others buy', async (t) => {
        const server = await start(t, store);
        const c = await campaign(server, { layers: [{ name: 'A', price: 100, positions: 300 }, { name: 'B', price: 200, positions: 300 }] });
        const open = [];
        const rest = c.positions.slice(0, 300).values();
        await Promise.all(Array.from({ length: 50 }, async () => { for (const p of rest) open.push(await bought(server, p, { method: p.charCodeAt(35) % 2 ? ASKS : DECLINED })); }));
        await quiet(server, 60000);
        const began = Date.now();
        const a = open.values();
        const b = c.positions.slice(300).values();
        const statuses = {};
        await Promise.all([
            ...Array.from({ length: 50 }, async () => { for (const o of a) { if (o.purchase.status === 'pending') await server.authenticate(o.payment); else await confirm(server, o.payment, VISA); } }),
            ...Array.from({ length: 50 }, async () => { for (const p of b) { const x = await buy(server, p, { method: p.charCodeAt(35) % 3 ? VISA : DECLINED }); statuses[x.status] = (statuses[x.status] ?? 0) + 1; } }),
        ]);
        await quiet(server, 100000);
        t.diagnostic(`${Date.now() - began} ms ${JSON.stringify(statuses)}`);
        if (store.kind === 'postgres') t.diagnostic(JSON.stringify(await server.db.all("SELECT deadlocks, xact_commit, xact_rollback FROM pg_stat_database WHERE datname = current_database()")));
        t.diagnostic(JSON.stringify(Object.entries(server.lines.reduce((m, l) => ({ ...m, [l.level + ' ' + l.message]: (m[l.level + ' ' + l.message] ?? 0) + 1 }), {})).slice(0, 40)));
        await recount(server);
    });
});
