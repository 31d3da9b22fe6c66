// What the tables allow, told by the databases themselves.
import { assert, forEachStore, start } from './lib/harness.mjs';

const ENUMS = {
    'positions.status': ['available', 'reserved', 'sold'],
    'purchases.status': ['cancelled', 'completed', 'failed', 'pending', 'refunded'],
    'payment_transactions.status': ['authorized', 'canceled', 'failed', 'pending', 'succeeded'],
    'campaigns.status': ['active', 'cancelled', 'drawn', 'sold_out'],
    'participants.status': ['paid', 'unpaid'],
    'payments.context': ['booking', 'participant', 'purchase'],
};

// The CHECKs of a table as text.
async function checks(server, table) {
    const sql = server.db.file
        ? `SELECT sql AS text FROM sqlite_master WHERE name = '${table}'`
        : `SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conrelid = '${table}'::regclass AND contype = 'c'`;
    return (await server.db.all(sql)).map(({ text }) => text);
}

// The words in "column IN ('a', 'b')", or what PostgreSQL makes of that: "column = ANY (ARRAY['a'::text, ...])".
function wordsOf(texts, column) {
    for (const text of texts) {
        const list = new RegExp(`\\b${column}\\b\\)? (?:IN\\s+\\(|= ANY \\(+ARRAY\\[)([^)\\]]*)`).exec(text);
        if (list) return [...list[1].matchAll(/'([^']*)'/g)].map(([, word]) => word).sort();
    }
    return undefined;
}

forEachStore((store, test) => {
    test('D17 D16 the words of each state, and no others, are held by the database itself', async (t) => {
        const server = await start(t, store);
        for (const [name, words] of Object.entries(ENUMS)) {
            const [table, column] = name.split('.');
            assert.deepEqual(wordsOf(await checks(server, table), column), words, name);
        }
    });
});
