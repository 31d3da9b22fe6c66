/* window.h - what happened recently: snapshots of the counters of observe/metrics.h. A rate is the
 * difference of two snapshots, a percentile the difference of their buckets, so nothing is counted
 * a second time and requests do no extra work.
 *
 *   each 10 s  --> the last ten minutes        each minute --> the last day
 *
 * Snapshots are kept in bounded rings. A stretch begins at the newest snapshot that is old enough,
 * or at the oldest one; `from_ms` says since when it was counted. Where the clock jumped (a machine
 * that slept), everything in the gap counts as if it happened at its end. */
#pragma once

#include "observe/metrics.h"

enum series {
    SERIES_RECEIVED,       /* webhooks that were stored */
    SERIES_UNSTORED,       /* answered 503: could not be made durable */
    SERIES_BAD_SIGNATURES, /* refused for their signature or its age */
    SERIES_DONE,           /* tries to process an event, by outcome */
    SERIES_RETRIED,
    SERIES_GIVEN_UP,
    SERIES_PUBLISHED, /* tries to publish to a remote QStash */
    SERIES_PUBLISH_FAILED,
    SERIES_DEAD, /* dead letters that came in */
    SERIES_VIOLATIONS,
    SERIES_PAYMENTS, /* requested, without replays */
    SERIES_REPLAYS,  /* answers of an earlier request with the same key */
    SERIES_APPLIED,  /* events that changed something */
    SERIES_ERRORS,   /* answers 5xx */
    SERIES_JOBS,     /* runs of queue messages that ended in any way */
    SERIES
};
enum curve { CURVE_ACK, CURVE_END_TO_END, CURVE_CREATE, CURVES };

struct snapshot { /* the numbers as they stood */
    int64_t at_ms;
    int64_t count[SERIES];
    int64_t bucket[CURVES][METRICS_BUCKETS + 1];
};
void snapshot_read(const struct metrics *m, int64_t now_ms, struct snapshot *ret_snapshot);

struct window;
struct window *window_new(const struct metrics *m); /* NULL: no memory. m is borrowed */
struct window *window_free(struct window *w);       /* NULL is fine, and comes back */

/* Takes a snapshot. Where no time has passed it replaces the newest one; where the clock was set
 * back, the others keep their age. */
void window_take(struct window *w, int64_t now_ms);

struct stretch { /* what happened between two snapshots */
    int64_t from_ms, to_ms;
    int64_t count[SERIES];
    int64_t bucket[CURVES][METRICS_BUCKETS + 1];
};
void stretch_between(const struct snapshot *from, const struct snapshot *to,
                     struct stretch *ret_stretch);
/* The last span_ms up to the newest snapshot; all zero before the first one. */
void window_last(const struct window *w, int64_t span_ms, struct stretch *ret_stretch);

int64_t stretch_events(const struct stretch *s, enum curve c);
/* In microseconds, interpolated within its bucket; -1: nothing was measured. A value above the last
 * bound is given as slightly above it, since more is not known. */
int64_t stretch_p95_us(const struct stretch *s, enum curve c);
int64_t stretch_quantile_us(const struct stretch *s, enum curve c,
                            double share); /* 0.5: the median */
