// Runs after all other files: nothing that any server printed or answered in the whole run may hold
// a secret, or a digest that only its owner could have made.
import assert from 'node:assert/strict';
import test from 'node:test';
import { outputs, secrets } from '../lib/evidence.mjs';

test('A4 no secret and no right digest is in any line, answer or page of the whole run', () => {
    const all = outputs();
    const known = secrets();
    const bytes = all.reduce((sum, text) => sum + text.length, 0);

    assert.ok(known.size > 20, `only ${known.size} secrets were remembered: is the harness broken?`);
    assert.ok(bytes > 10_000, `only ${bytes} bytes were recorded: is the harness broken?`);
    for (const secret of known)
        for (const text of all) {
            const at = text.indexOf(secret);
            assert.equal(at, -1, `found a secret: ${text.slice(Math.max(0, at - 200), at + 100)}`);
        }
});
