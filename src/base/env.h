/* env.h - what a node is given instead of globals: time, chance, faults, and where its lines and
 * numbers go. Two nodes in one process have two of them. */
#pragma once

#include "base/clock.h"
#include "base/fault.h"
#include "base/rng.h"
#include "base/uuid.h"

struct log;     /* observe/log.h */
struct metrics; /* observe/metrics.h */
struct spans;   /* observe/span.h */

struct env {
    struct clock clock;
    struct rng rng;
    struct faults faults;
    struct uuid node; /* made at start; owns this node's leases */
    struct log *log;
    struct metrics *metrics;
    struct spans *spans; /* NULL: nobody wants traces, and none are recorded */
};

static inline int64_t env_now_ms(struct env *e)
{
    return clock_now_ms(&e->clock);
}

static inline struct uuid env_uuid(struct env *e)
{
    return uuid_new(clock_now_ms(&e->clock), &e->rng);
}
