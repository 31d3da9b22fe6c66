/* guard.h - the layer in front of every gateway (G5): a limit of concurrent calls, a circuit breaker,
 * and a time limit for each try.
 *
 *   closed --LIMIT_BREAKER_FAILURES without an answer in a row--> open --pause--> one probe
 *      ^                                                           ^                |   |
 *      '-----------------------------answered---------------------(|)---------------'   |
 *                                                                  '------no answer-----'
 *
 *   (1) It rejects only calls that were not sent, with RETRY_LATER, so nothing can have happened.
 *   (2) An answer, a decline or a refusal shows that the gateway works. 5xx, timeouts and broken
 *       connections are failures; consecutive failures of one payment count once.
 *   (3) A call over the limit waits in order of arrival, for at most LIMIT_GATEWAY_WAIT_MS.
 *   (4) All its calls come from one executor. */
#pragma once

#include "gateway/port.h"

struct guard_options {
    struct env *env;
    int calls;      /* at a time */
    int64_t try_ms; /* one try (P6) */
};

/* Owns the inner gateway. NULL: no memory, and the inner gateway is freed. */
struct gateway *guard_new(const struct guard_options *o, struct gateway *inner);

enum guard_state { GUARD_CLOSED, GUARD_OPEN, GUARD_PROBING };
struct guard_view {
    enum guard_state state;
    int underway, waiting;
};
/* On the executor. g: from guard_new(). */
struct guard_view guard_look(const struct gateway *g);
