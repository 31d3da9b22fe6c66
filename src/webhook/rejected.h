/* rejected.h - webhooks that were turned away, counted in memory (M16): one log line a second and
 * reason, one audit row a minute and reason, however many there are. A crash loses counts only. */
#pragma once

#include "http/http.h"
#include "store/store.h"

#include <stdatomic.h>

enum refusal { /* in the order of the counter's label values */
               REFUSED_NO_HEADER,
               REFUSED_MALFORMED,
               REFUSED_NO_TIMESTAMP,
               REFUSED_NO_V1,
               REFUSED_MISMATCH,
               REFUSED_TOO_OLD,
               REFUSED_FUTURE,
               REFUSED_ADDRESS,
               REFUSED_EMPTY,
               REFUSALS
};

struct refusals {
    struct env *env;
    struct store *store;
    struct executor *executor;
    struct str
        provider; /* whose door it is, in the audit; "stripe" unless its door says otherwise */
    _Atomic int64_t unwritten[REFUSALS]; /* for the audit */
    _Atomic int64_t unlogged[REFUSALS];
    _Atomic int64_t logged_s[REFUSALS]; /* the second of the last line */
    _Atomic bool called;                /* the task is under way, or the timer armed */

    /* on the executor */
    struct task call;
    struct timer timer;
    struct unit unit;
    bool armed, writing, stopping;
    int64_t minute_ms, counts[REFUSALS]; /* being written */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

void refusals_init(struct refusals *r, struct env *env, struct store *store,
                   struct executor *executor);
void refusals_add(struct refusals *r, const struct request *q, enum refusal why); /* any loop */
void refusals_stop(struct refusals *r, void (*stopped)(void *ctx), void *ctx); /* on the executor */
