// reconcile.mjs - a day of ours beside the provider's books (E11): begun, waited for, and what it found.
import { assert, until } from './harness.mjs';
import { quiet as allQuiet } from './purchases.mjs';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const BASE = '/api/v1/admin/reconciliations';
export const UTC = { ICHIDO_TIME_ZONE: 'UTC' };

export const dayOf = (server, offset = 0) => new Date((server.nowSeconds() * 1000) + offset).toISOString().slice(0, 10);

// The day on which the payments of a test were made is over.
export async function nextDay(server) {
    const day = dayOf(server);
    await server.advance(DAY);
    return day;
}

export const ask = (server, method, where, options = {}) => server.call(method, `${BASE}${where}`, { as: 'admin', ...options });

export async function report(server, day) {
    const { status, body, text } = await ask(server, 'GET', `/${day}`);
    assert.equal(status, 200, text);
    return body;
}

// Runs a day to its end; time is moved over the pause.
export async function reconciled(server, day) {
    const begun = await ask(server, 'POST', `/${day}`);
    assert.equal(begun.status, 202, begun.text);
    return ended(server, day);
}

export const ended = (server, day) => until(`${day} is done`, async () => {
    const one = await report(server, day);
    if (one.state === 'done') return one;
    if (one.phase === 'pause' || one.error) await server.advance(MINUTE);
    throw new Error(`${JSON.stringify(one)}\n${server.tail()}`); // what is seen if it never is
}, 40_000);

// Neither side has anything left to do: no late call of ours meets a fault that is meant for the list.
export const quiet = (server) => allQuiet(server, { fees: true });

export const update = (db, sql) => db.all(sql);
export const found = (day) => day.found.map((one) => `${one.kind} ${one.state}`).sort();
export const total = (day, side) => day.totals.filter((one) => one.side === side)
    .map(({ currency, payments, captured, refunded, fees, net }) => ({ currency, payments, captured, refunded, fees, net }));
