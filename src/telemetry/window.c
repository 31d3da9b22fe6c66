/* window.c - two rings of snapshots of the counters, one each 10 s for ten minutes and one each
 * minute for a day. They are in memory only: after a restart the windows fill again. */
#include "telemetry/window.h"

#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>

enum { ABOVE_ALL_US = 1000 };

/* The newest is at (begin + count - 1) % room. */
struct ring {
    struct snapshot *all;
    size_t room, begin, count;
};

struct window {
    const struct metrics *metrics;
    struct ring fine, coarse;
};

struct window *window_new(const struct metrics *m)
{
    struct window *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->metrics = m;
    w->fine.room = LIMIT_WINDOW_FINE;
    w->coarse.room = LIMIT_WINDOW_COARSE;
    w->fine.all = calloc(w->fine.room, sizeof(struct snapshot));
    w->coarse.all = calloc(w->coarse.room, sizeof(struct snapshot));
    return w->fine.all && w->coarse.all ? w : window_free(w);
}

struct window *window_free(struct window *w)
{
    if (w) {
        free(w->fine.all);
        free(w->coarse.all);
        free(w);
    }
    return NULL;
}

/* --- taking --- */

static int64_t bad_signatures(const struct metrics *m)
{
    static const struct str others[] = { { "address", 7 }, { "empty", 5 } };
    int64_t n = metrics_sum(m, COUNT_WEBHOOK_REJECTED, S(""), S(""));

    for (size_t i = 0; i < COUNT(others); i++)
        n -= metrics_read(m, COUNT_WEBHOOK_REJECTED, others[i]);
    return n;
}

static void read_counts(const struct metrics *m, int64_t n[SERIES])
{
    n[SERIES_RECEIVED] = metrics_read(m, COUNT_WEBHOOK_RECEIVED, S(""));
    n[SERIES_UNSTORED] = metrics_read(m, COUNT_WEBHOOK_UNSTORED, S(""));
    n[SERIES_BAD_SIGNATURES] = bad_signatures(m);
    n[SERIES_DONE] = metrics_read(m, COUNT_PROCESSING, S("done"));
    n[SERIES_RETRIED] = metrics_read(m, COUNT_PROCESSING, S("retried"));
    n[SERIES_GIVEN_UP] = metrics_read(m, COUNT_PROCESSING, S("dead"));
    n[SERIES_PUBLISHED] = metrics_read(m, COUNT_PUBLISH, S("sent"));
    n[SERIES_PUBLISH_FAILED] = metrics_read(m, COUNT_PUBLISH, S("failed"));
    n[SERIES_DEAD] = metrics_read(m, COUNT_DEAD, S(""));
    n[SERIES_VIOLATIONS] = metrics_sum(m, COUNT_VIOLATION, S(""), S(""));
    n[SERIES_PAYMENTS] = metrics_sum(m, COUNT_PAYMENT_CREATE, S(""), S(""));
    n[SERIES_REPLAYS] = metrics_read(m, COUNT_IDEMPOTENCY_HIT, S(""));
    n[SERIES_APPLIED] = metrics_read(m, COUNT_EVENT_OUTCOME, S("applied"));
    n[SERIES_ERRORS] = metrics_read(m, COUNT_HTTP, S("5xx"));
    n[SERIES_JOBS] = metrics_sum(m, COUNT_JOB, S(""), S(""));
}

void snapshot_read(const struct metrics *m, int64_t now_ms, struct snapshot *ret_snapshot)
{
    static const enum histogram curves[CURVES] = {
        [CURVE_ACK] = TIME_ACK, [CURVE_END_TO_END] = TIME_END_TO_END, [CURVE_CREATE] = TIME_CREATE
    };

    ret_snapshot->at_ms = now_ms;
    read_counts(m, ret_snapshot->count);
    for (int c = 0; c < CURVES; c++)
        metrics_buckets(m, curves[c], METRICS_ALL, ret_snapshot->bucket[c]);
}

static struct snapshot *window_newest(const struct ring *r)
{
    return r->count ? &r->all[(r->begin + r->count - 1) % r->room] : NULL;
}

static struct snapshot *window_add(struct ring *r)
{
    assert(r->room);
    if (r->count == r->room)
        r->begin = (r->begin + 1) % r->room;
    else
        r->count++;
    return window_newest(r);
}

/* After the clock was set back, the snapshots keep their age. */
static void window_shift(struct ring *r, int64_t back_ms)
{
    for (size_t i = 0; i < r->count; i++)
        r->all[(r->begin + i) % r->room].at_ms -= back_ms;
}

void window_take(struct window *w, int64_t now_ms)
{
    struct snapshot *s = window_newest(&w->fine), *minute = window_newest(&w->coarse);

    if (s && now_ms < s->at_ms) {
        int64_t back_ms = s->at_ms - now_ms;

        window_shift(&w->fine, back_ms);
        window_shift(&w->coarse, back_ms);
    }
    if (!s || now_ms > s->at_ms)
        s = window_add(&w->fine);
    snapshot_read(w->metrics, now_ms, s);
    if (!minute || now_ms - minute->at_ms >= LIMIT_WINDOW_COARSE_MS)
        *window_add(&w->coarse) = *s;
}

/* --- looking back --- */

/* The newest snapshot that is at least as old as at_ms, or the oldest of all. */
static const struct snapshot *look_back(const struct ring *r, int64_t at_ms)
{
    size_t i = r->count;

    while (i > 1 && r->all[(r->begin + i - 1) % r->room].at_ms > at_ms)
        i--;
    return i ? &r->all[(r->begin + i - 1) % r->room] : NULL;
}

/* Uses the fine ring where it reaches back far enough, otherwise the ring that reaches furthest. */
static const struct snapshot *window_beginning(const struct window *w, int64_t at_ms)
{
    const struct snapshot *fine = look_back(&w->fine, at_ms);
    const struct snapshot *coarse = look_back(&w->coarse, at_ms);

    return fine->at_ms <= at_ms || fine->at_ms <= coarse->at_ms ? fine : coarse;
}

void stretch_between(const struct snapshot *from, const struct snapshot *to,
                     struct stretch *ret_stretch)
{
    ret_stretch->from_ms = from->at_ms;
    ret_stretch->to_ms = to->at_ms;
    for (int i = 0; i < SERIES; i++)
        ret_stretch->count[i] = to->count[i] - from->count[i];
    for (int c = 0; c < CURVES; c++)
        for (int i = 0; i <= METRICS_BUCKETS; i++)
            ret_stretch->bucket[c][i] = to->bucket[c][i] - from->bucket[c][i];
}

void window_last(const struct window *w, int64_t span_ms, struct stretch *ret_stretch)
{
    const struct snapshot *to = window_newest(&w->fine), *from;

    *ret_stretch = (struct stretch){ 0 };
    if (!to)
        return;
    from = window_beginning(w, to->at_ms - span_ms);
    stretch_between(from, to, ret_stretch);
}

int64_t stretch_events(const struct stretch *s, enum curve c)
{
    int64_t n = 0;

    for (int i = 0; i <= METRICS_BUCKETS; i++)
        n += s->bucket[c][i];
    return n;
}

int64_t stretch_quantile_us(const struct stretch *s, enum curve c, double share)
{
    const int64_t *bounds = metrics_bounds_us();
    double rank = share * (double)stretch_events(s, c), below = 0;
    int i = 0;

    if (rank <= 0)
        return -1;
    while (i < METRICS_BUCKETS && below + (double)s->bucket[c][i] < rank)
        below += (double)s->bucket[c][i++];
    if (i == METRICS_BUCKETS)
        return bounds[METRICS_BUCKETS - 1] + ABOVE_ALL_US;
    double low = i ? (double)bounds[i - 1] : 0;

    return (int64_t)(low + ((double)bounds[i] - low) * (rank - below) / (double)s->bucket[c][i]);
}

int64_t stretch_p95_us(const struct stretch *s, enum curve c)
{
    return stretch_quantile_us(s, c, 0.95);
}
