/* ask.h - a call of the port, as every adapter's test begins it: with an answer in it that nobody
 * gave, which the adapter must clear. */
#pragma once

#include "gateway/port.h"
#include "unit/desk.h"
#include "unit/gateway/fixtures.h"

static inline void ask_prepare(struct gateway_call *c, enum gateway_ask ask, struct arena *a,
                               struct desk *desk, void (*done)(struct gateway_call *c))
{
    *c = (struct gateway_call){ .ask = ask,
                                .context = CONTEXT_BOOKING,
                                .money = { 2000, "JPY" },
                                .arena = a,
                                .executor = &desk->executor,
                                .done = done,
                                .answer = GATEWAY_OK,
                                .tries = 99 };
    assert_true(uuid_parse(S(PAYMENT), &c->payment));
    assert_true(uuid_parse(S(REFUND), &c->refund));
    if (ask != GATEWAY_FETCH && ask != GATEWAY_FETCH_REFUND)
        c->key = S("ichido-op-1");
}
