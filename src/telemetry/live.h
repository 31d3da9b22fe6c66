/* live.h - the data of the live charts (O8): the last ten minutes with one point each
 * LIMIT_LIVE_MS. A point is the difference of two snapshots (window.h) and the levels at its end.
 * The data is bounded, in memory, and of this node alone. */
#pragma once

#include "telemetry/window.h"

struct live_levels { /* current values that are no counters */
    int64_t queue_live, oldest_ready_ms, in_flight;
};

struct live_point {
    int64_t at_ms;
    int64_t webhooks, payments, replays, applied, errors, jobs, dead; /* since the point before */
    int64_t ack_p50_us, ack_p95_us, create_p95_us, end_to_end_p95_us; /* -1: no value */
    struct live_levels levels;
};

struct live;
struct live *live_new(const struct metrics *m, int64_t now_ms); /* NULL: no memory */
struct live *live_free(struct live *l);                         /* NULL is fine, and comes back */

/* Takes the next point. Where no time has passed there is none, and what happened belongs to the
 * next point. Where the clock was set back, the points keep their age. */
void live_take(struct live *l, int64_t now_ms, const struct live_levels *levels);

size_t live_count(const struct live *l);
const struct live_point *live_at(const struct live *l, size_t i); /* 0: the oldest */
