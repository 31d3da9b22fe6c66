/* rejected.h - rejected webhook requests, counted in memory (M16): at most one log line a second and
 * one audit row a minute for each reason. A crash loses the counts of a minute. */
#pragma once

#include "http/http.h"
#include "store/store.h"

#include <stdatomic.h>

enum rejection { /* in the order of the counter's label values */
                 REJECTED_NO_HEADER,
                 REJECTED_MALFORMED,
                 REJECTED_NO_TIMESTAMP,
                 REJECTED_NO_V1,
                 REJECTED_MISMATCH,
                 REJECTED_TOO_OLD,
                 REJECTED_FUTURE,
                 REJECTED_ADDRESS,
                 REJECTED_EMPTY,
                 REJECTIONS
};

struct rejections {
    struct env *env;
    struct store *store;
    struct executor *executor;
    struct str provider;                   /* of the endpoint, for the audit; "stripe" if not set */
    _Atomic int64_t unwritten[REJECTIONS]; /* for the audit */
    _Atomic int64_t unlogged[REJECTIONS];
    _Atomic int64_t logged_s[REJECTIONS]; /* the second of the last line */
    _Atomic bool called;                  /* the task is under way, or the timer armed */

    /* on the executor */
    struct task call;
    struct timer timer;
    struct unit unit;
    bool armed, writing, stopping;
    int64_t minute_ms, counts[REJECTIONS]; /* being written */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

void rejections_init(struct rejections *r, struct env *env, struct store *store,
                     struct executor *executor);
void rejections_add(struct rejections *r, const struct request *q,
                    enum rejection why); /* any loop */
void rejections_stop(struct rejections *r, void (*stopped)(void *ctx),
                     void *ctx); /* on the executor */
