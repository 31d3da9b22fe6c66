/* live.h - the last ten minutes, a point each LIMIT_LIVE_MS: what the operator's charts are drawn
 * of (O8). A point is the difference of two snapshots (window.h) and the levels at its end.
 * Bounded, in memory, of this node alone; pure but for the counters that it reads. */
#pragma once

#include "telemetry/window.h"

struct live_levels { /* as they are now; nobody counts them */
    int64_t queue_live, oldest_ready_ms, in_flight;
};

struct live_point {
    int64_t at_ms;
    int64_t webhooks, payments, replays, applied, errors, jobs, dead; /* since the point before */
    int64_t ack_p50_us, ack_p95_us, create_p95_us, end_to_end_p95_us; /* -1: nothing was measured */
    struct live_levels levels;
};

struct live;
struct live *live_new(const struct metrics *m, int64_t now_ms); /* NULL: no memory */
struct live *live_free(struct live *l);                         /* NULL is fine, and comes back */

/* The next point. Where time stands still there is none: what happened belongs to the next one.
 * Where it was set back all that is there keeps its age. */
void live_take(struct live *l, int64_t now_ms, const struct live_levels *levels);

size_t live_count(const struct live *l);
const struct live_point *live_at(const struct live *l, size_t i); /* 0: the oldest */
