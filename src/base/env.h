/* env.h - what a node has instead of globals: its clock, random numbers, test faults, log, metrics
 * and spans. The simulator runs several nodes in one process, each with an env of its own. */
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
    struct spans *spans; /* NULL: no traces are recorded */
    int patience;        /* multiplies the limits of waiting for the database; 0 counts as 1 */
};

static inline int64_t env_now_ms(struct env *e)
{
    return clock_now_ms(&e->clock);
}

/* A limit of waiting for the database. Tests stretch it with ICHIDO_TEST_PATIENCE, so that a busy
 * machine does not make them fail. */
static inline int env_patient_ms(const struct env *e, int ms)
{
    return e->patience > 1 ? ms * e->patience : ms;
}

static inline struct uuid env_uuid(struct env *e)
{
    return uuid_new(clock_now_ms(&e->clock), &e->rng);
}
