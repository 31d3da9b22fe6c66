/* guard.h - what stands before every gateway (G5): at most so many calls at a time, a breaker that
 * spares a dead one and whoever waits for it, and a time limit for a try.
 *
 *   closed --LIMIT_BREAKER_FAILURES without an answer in a row--> open --pause--> one probe
 *      ^                                                           ^                |   |
 *      '-----------------------------answered---------------------(|)---------------'   |
 *                                                                  '------no answer-----'
 *
 *   (1) It only turns away what was not sent: RETRY_LATER, so nothing can have happened.
 *   (2) An answer, a decline and a refusal are life. 5xx, silence and broken connections are not;
 *       they count once for each payment, however often it is tried.
 *   (3) Who is over the limit waits in line, in the order they came, for LIMIT_GATEWAY_WAIT_MS.
 *   (4) All its calls come from one executor. */
#pragma once

#include "gateway/port.h"

struct guard_options {
    struct env *env;
    int calls;      /* at a time */
    int64_t try_ms; /* one try (P6) */
};

/* Owns the gateway, and has its name, methods and the rest. NULL: no memory; then it is freed. */
struct gateway *guard_new(const struct guard_options *o, struct gateway *inner);

enum guard_state { GUARD_CLOSED, GUARD_OPEN, GUARD_PROBING };
struct guard_view {
    enum guard_state state;
    int underway, waiting;
};
/* On the executor. `g` is of guard_new(). */
struct guard_view guard_look(const struct gateway *g);
