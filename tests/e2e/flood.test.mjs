// Ten thousand connections that say nothing, on each database in turn.
import fs from 'node:fs';
import { assert, event, forEachStore, Raw, start } from './lib/harness.mjs';

const openFiles = () => Number(/Max open files\s+(\d+)/.exec(fs.readFileSync('/proc/self/limits'))[1]);

forEachStore((store, test) => {
    test('A5 ten thousand idle connections do not keep others from being served', async (t) => {
        if (openFiles() < 12_000) {
            t.skip(`open files are limited to ${openFiles()}`);
            return;
        }
        const server = await start(t, store);
        const idle = [];
        t.atEnd(() => idle.forEach((raw) => raw.destroy()));
        for (let i = 0; i < 100; i++) {
            const some = Array.from({ length: 100 }, () => new Raw(server.port));
            idle.push(...some);
            await Promise.all(some.map((raw) => raw.opened()));
        }
        assert.ok((await server.metrics()).get('ichido_http_connections') >= 10_000);
        for (let i = 0; i < 50; i++) assert.equal((await server.deliver(event())).status, 204);
        assert.equal((await server.get('/readyz')).status, 200);
        assert.equal(idle.filter((raw) => raw.ended).length, 0, 'and none of them was thrown out');
    });
});
