// W7: the allow list of addresses, which is off by default.
import { assert, event, forOneStore, launch, start } from './lib/harness.mjs';

forOneStore((store, test) => {
    test('W7 with an allow list only its networks may deliver, and the reason is counted', async (t) => {
        const server = await start(t, store, { env: { ICHIDO_WEBHOOK_ALLOW: '10.1.0.0/16,192.0.2.7' } });
        const answer = await server.deliver(event());
        assert.equal(answer.status, 403);
        assert.match(answer.headers['content-type'], /problem\+json/);
        const forged = await server.deliver(event(), { headers: { 'X-Forwarded-For': '10.1.2.3' } });
        assert.equal(forged.status, 403, 'nobody is believed who is no trusted proxy');
        assert.equal((await server.metrics()).get('ichido_webhook_rejected_total', { reason: 'address' }), 2);
        assert.equal(await server.db.count('webhook_events'), 0);
        assert.equal((await server.get('/healthz')).status, 200, 'only the door is closed');
    });

    test('W7 behind a trusted proxy the last address that is no proxy counts', async (t) => {
        const server = await start(t, store, {
            env: { ICHIDO_WEBHOOK_ALLOW: '10.1.0.0/16,2001:db8::/32', ICHIDO_TRUSTED_PROXIES: '127.0.0.1,172.16.0.0/12' },
        });
        const rows = [
            ['10.1.2.3', 204], ['10.2.2.3', 403], ['10.1.2.3, 172.16.0.9', 204], ['10.2.0.1, 10.1.0.1', 204],
            ['10.1.0.1, 10.2.0.1', 403], ['2001:db8::9', 204], ['2001:db9::9', 403], ['nonsense', 403],
            ['10.1.2.3, nonsense', 403],
        ];
        for (const [header, status] of rows) {
            const answer = await server.deliver(event(), { headers: { 'X-Forwarded-For': header } });
            assert.equal(answer.status, status, header);
        }
    });

    test('W7 an allow list that is no list of networks stops the start', async (t) => {
        const server = launch(t, undefined, { env: { ICHIDO_WEBHOOK_ALLOW: '10.1.0.0/99' } });
        assert.equal((await server.exit).code, 2);
        assert.match(server.stderr, /ICHIDO_WEBHOOK_ALLOW/);
    });
});
