#include "telemetry/live.h"

#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>

struct live {
    const struct metrics *metrics;
    struct snapshot last;
    struct live_point all[LIMIT_LIVE_POINTS];
    size_t begin, count; /* the newest is at (begin + count - 1) % LIMIT_LIVE_POINTS */
};

struct live *live_new(const struct metrics *m, int64_t now_ms)
{
    struct live *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->metrics = m;
    snapshot_read(m, now_ms, &l->last);
    return l;
}

struct live *live_free(struct live *l)
{
    free(l);
    return NULL;
}

static struct live_point *telemetry_live_add(struct live *l)
{
    if (l->count == LIMIT_LIVE_POINTS)
        l->begin = (l->begin + 1) % LIMIT_LIVE_POINTS;
    else
        l->count++;
    return &l->all[(l->begin + l->count - 1) % LIMIT_LIVE_POINTS];
}

static void telemetry_live_shift(struct live *l, int64_t back_ms)
{
    for (size_t i = 0; i < l->count; i++)
        l->all[(l->begin + i) % LIMIT_LIVE_POINTS].at_ms -= back_ms;
    l->last.at_ms -= back_ms;
}

static struct live_point point_of(const struct stretch *s, const struct live_levels *levels)
{
    return (struct live_point){
        .at_ms = s->to_ms,
        .webhooks = s->count[SERIES_RECEIVED],
        .payments = s->count[SERIES_PAYMENTS],
        .replays = s->count[SERIES_REPLAYS],
        .applied = s->count[SERIES_APPLIED],
        .errors = s->count[SERIES_ERRORS],
        .jobs = s->count[SERIES_JOBS],
        .dead = s->count[SERIES_DEAD],
        .ack_p50_us = stretch_quantile_us(s, CURVE_ACK, 0.5),
        .ack_p95_us = stretch_p95_us(s, CURVE_ACK),
        .create_p95_us = stretch_p95_us(s, CURVE_CREATE),
        .end_to_end_p95_us = stretch_p95_us(s, CURVE_END_TO_END),
        .levels = *levels,
    };
}

void live_take(struct live *l, int64_t now_ms, const struct live_levels *levels)
{
    struct snapshot now;
    struct stretch s;

    if (now_ms < l->last.at_ms)
        telemetry_live_shift(l, l->last.at_ms - now_ms);
    if (now_ms == l->last.at_ms)
        return;
    snapshot_read(l->metrics, now_ms, &now);
    stretch_between(&l->last, &now, &s);
    *telemetry_live_add(l) = point_of(&s, levels);
    l->last = now;
}

size_t live_count(const struct live *l)
{
    return l->count;
}

const struct live_point *live_at(const struct live *l, size_t i)
{
    assert(i < l->count);
    return &l->all[(l->begin + i) % LIMIT_LIVE_POINTS];
}
