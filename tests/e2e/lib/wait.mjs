// wait.mjs - waiting for a state, never for a while: the condition is read again and again, less often once it takes
// long (a look costs as much as the work that is waited for), and the deadline is generous because it only matters
// when something is broken.
import { setTimeout as pause } from 'node:timers/promises';

export { pause };

// Resolves with the first truthy value of read(); an error inside read() counts as "not yet".
export async function until(what, read, limitMs = 40_000) {
    const began = Date.now(), deadline = began + limitMs;
    let last;
    for (;;) {
        try {
            const value = await read();
            if (value) return value;
            last = undefined;
        } catch (error) {
            last = error;
        }
        if (Date.now() > deadline) throw new Error(`still not so: ${what}`, { cause: last });
        await pause(Date.now() - began < 500 ? 15 : 40);
    }
}
