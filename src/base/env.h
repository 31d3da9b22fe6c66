/* env.h - what a node is given instead of globals: time, chance, faults, and where its lines and
 * numbers go. Two nodes in one process have two of them. */
#pragma once

#include "base/fault.h"
#include "base/rng.h"
#include "base/time/clock.h"
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
    int patience;        /* the limits of waiting for the database, times this; 0 counts as 1 */
};

static inline int64_t env_now_ms(struct env *e)
{
    return clock_now_ms(&e->clock);
}

/* A limit of waiting for the database. Tests stretch it (ICHIDO_TEST_PATIENCE), so that a busy
 * machine does not decide what they find. */
static inline int env_patient_ms(const struct env *e, int ms)
{
    return e->patience > 1 ? ms * e->patience : ms;
}

static inline struct uuid env_uuid(struct env *e)
{
    return uuid_new(clock_now_ms(&e->clock), &e->rng);
}
