/* destinations.c - places, pace and circuit breaker of each host, in a hash table of this node.
 *
 *   (1) A destination is in the idle list exactly while it has no stay; only idle ones are
 *       forgotten.
 *   (2) d->stays counts those that wait or have a place, d->bytes only those that have a place.
 *   (3) A stay that began in another epoch of the breaker says nothing about it. */
#include "qstash/deliver/destinations.h"

#include "base/limits.h"
#include "domain/retry.h"
#include "observe/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 1024,
    GUESS_US = 250 * 1000, /* the duration of a call, before one has ended */
    AVERAGE_OF = 16,       /* weight of the moving average, in calls */
    BEHIND_MS = 5,         /* between deliveries put off by a breaker: 200 a second come back */
    COST_FACTOR = 20,      /* a pause is at most so many times the duration of the call */
    PAUSE_LEAST_MS = 20,
    FEW = 4, /* places that a destination may always take */
};

/* How fast stays end, and when the turn of the next one is. */
struct pace {
    int64_t average_us; /* duration of a stay; 0: none has ended yet */
    int64_t moved_us;   /* when one ended, or the first began */
    int64_t line_us;    /* wall time: the last turn that was given away */
};

struct destination {
    struct destination *next;                  /* in its bucket */
    struct destination *idle_prev, *idle_next; /* without a stay; the longest unused first */
    int places, waiting;                       /* places taken, and stays that wait for one */
    struct stay *first, *last;                 /* those that wait */
    struct pace pace;

    /* the breaker */
    bool is_open, is_probed;
    int silent;       /* calls in a row without an answer */
    int epoch;        /* counts the changes of the breaker (3) */
    int pauses;       /* since it opened */
    int64_t took_us;  /* the last call without an answer */
    int64_t until_ms; /* no delivery starts before that */
    int64_t behind;   /* how many were put off until after that */

    size_t name_size;
    char name[];
};

struct destinations {
    struct env *env;
    struct destination *buckets[BUCKETS];
    struct destination *idle_first, *idle_last;
    int count, stays;
    size_t bytes;
    struct pace pace; /* of all together */
};

/* --- the table --- */

static uint32_t ascii_lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static struct destination **bucket_of(struct destinations *d, struct str name)
{
    uint32_t hash = 2166136261U; /* FNV-1a; collisions only make a bucket longer */

    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ ascii_lower((unsigned char)name.p[i])) * 16777619U;
    return &d->buckets[hash % BUCKETS];
}

static struct str name_of(const struct destination *h)
{
    return (struct str){ h->name, h->name_size };
}

static bool destination_is_idle(const struct destination *h)
{
    return !h->places && !h->waiting;
}

static void idle_add(struct destinations *d, struct destination *h)
{
    h->idle_next = NULL;
    h->idle_prev = d->idle_last;
    if (d->idle_last)
        d->idle_last->idle_next = h;
    else
        d->idle_first = h;
    d->idle_last = h;
}

static void idle_remove(struct destinations *d, struct destination *h)
{
    if (h->idle_prev)
        h->idle_prev->idle_next = h->idle_next;
    else
        d->idle_first = h->idle_next;
    if (h->idle_next)
        h->idle_next->idle_prev = h->idle_prev;
    else
        d->idle_last = h->idle_prev;
}

static void destination_forget(struct destinations *d, struct destination *h)
{
    struct destination **at = bucket_of(d, name_of(h));

    while (*at && *at != h)
        at = &(*at)->next;
    assert(*at);
    *at = h->next;
    idle_remove(d, h);
    d->count--;
    free(h);
}

/* NULL: no memory, or there are LIMIT_QSTASH_DESTINATIONS and none is idle. */
static struct destination *destination_make(struct destinations *d, struct str name)
{
    struct destination **bucket = bucket_of(d, name), *h;

    if (d->count == LIMIT_QSTASH_DESTINATIONS && d->idle_first)
        destination_forget(d, d->idle_first);
    if (d->count == LIMIT_QSTASH_DESTINATIONS)
        return NULL;
    h = calloc(1, sizeof(*h) + name.n);
    if (!h)
        return NULL;
    memcpy(h->name, name.p, name.n);
    h->name_size = name.n;
    h->next = *bucket;
    *bucket = h;
    d->count++;
    idle_add(d, h);
    return h;
}

static struct destination *destination_find_or_make(struct destinations *d, struct str name)
{
    for (struct destination *h = *bucket_of(d, name); h; h = h->next)
        if (str_eq_nocase(name, name_of(h)))
            return h;
    return destination_make(d, name);
}

/* --- when a turn is expected --- */

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t longest_pause_ms(const struct destination *h)
{
    return retry_delay_ms(&retry_table[RETRY_QSTASH_HOST], h->pauses + 1);
}

/* The average duration of a stay, or the time for which none of those under way has ended, if that
 * is longer. */
static int64_t expected_us(struct destinations *d, const struct pace *p, int under_way)
{
    int64_t quiet_us = under_way ? clock_mono_us(&d->env->clock) - p->moved_us : 0;

    return max_i64(p->average_us ? p->average_us : GUESS_US, quiet_us);
}

static int64_t step_us(struct destinations *d, const struct destination *h)
{
    return max_i64(1, expected_us(d, &h->pace, h->places) / LIMIT_QSTASH_PER_HOST);
}

/* The turn after all that were given away and after those that wait here. Turns beyond the horizon
 * are guesses: they start again from its middle. */
static int64_t turn_ms(struct destinations *d, struct pace *p, int64_t step, int64_t waiting)
{
    int64_t now_us = env_now_ms(d->env) * 1000, far_us = (int64_t)LIMIT_QSTASH_HORIZON_MS * 1000;

    p->line_us = max_i64(p->line_us, now_us + step * waiting) + step;
    if (p->line_us > now_us + far_us)
        p->line_us = now_us + far_us / 2;
    return max_i64(p->line_us / 1000, now_us / 1000 + 1);
}

static int64_t node_turn_ms(struct destinations *d, const struct stay *s)
{
    int64_t share = max_i64((int64_t)s->bytes, LIMIT_QSTASH_FLIGHT_BYTES / LIMIT_QSTASH_UNDER_WAY);
    int64_t step = expected_us(d, &d->pace, d->stays) * share / LIMIT_QSTASH_FLIGHT_BYTES;

    return turn_ms(d, &d->pace, step, 0);
}

static int64_t destination_turn_ms(struct destinations *d, struct destination *h)
{
    if (!h->is_open)
        return turn_ms(d, &h->pace, step_us(d, h), h->waiting);
    if (h->is_probed && h->until_ms <= env_now_ms(d->env)) /* the probe is slow */
        h->until_ms = env_now_ms(d->env) + longest_pause_ms(h);
    return max_i64(h->until_ms, env_now_ms(d->env) + 1) +
           h->behind++ * BEHIND_MS % LIMIT_QSTASH_HORIZON_MS;
}

static void pace_begin(struct destinations *d, struct pace *p)
{
    p->moved_us = clock_mono_us(&d->env->clock);
}

static void pace_end(struct pace *p, int64_t now_us, int64_t took_us)
{
    p->moved_us = now_us;
    p->average_us =
        p->average_us ? p->average_us + (took_us - p->average_us) / AVERAGE_OF : took_us;
}

/* --- the breaker --- */

/* The pause doubles from probe to probe. But a call that fails at once is cheap: then the pause is
 * short, so that messages for a host that is down use up their attempts on schedule. */
static int64_t pause_ms(struct destinations *d, const struct destination *h, int64_t took_us)
{
    int64_t ms =
        min_i64(longest_pause_ms(h), max_i64(took_us * COST_FACTOR / 1000, PAUSE_LEAST_MS));

    return ms - ms / 4 + (int64_t)rng_below(&d->env->rng, (uint64_t)ms / 2 + 1);
}

static void breaker_pause(struct destinations *d, struct destination *h, int64_t took_us)
{
    h->took_us = took_us;
    h->until_ms = env_now_ms(d->env) + pause_ms(d, h, took_us);
    h->pauses++;
    h->behind = 0;
    h->is_probed = false;
}

/* Deliveries that enter during the probe are put off as if it failed like the last call. */
static void breaker_probe_begin(struct destinations *d, struct destination *h)
{
    h->is_probed = true;
    h->until_ms = env_now_ms(d->env) + h->took_us / 1000 + pause_ms(d, h, h->took_us);
}

/* The probe made no call: the next delivery becomes the probe. */
static void breaker_probe_end(struct destinations *d, struct destination *h)
{
    h->is_probed = false;
    h->until_ms = env_now_ms(d->env);
}

static void breaker_open(struct destinations *d, struct destination *h, int64_t took_us)
{
    h->is_open = true;
    h->epoch++;
    h->pauses = 0;
    breaker_pause(d, h, took_us);
    LOG(d->env->log, LOG_WARN, "A destination does not answer; deliveries to it are put off",
        LOG_TEXT("host", name_of(h)), LOG_NUM("calls", h->silent));
}

static void breaker_note_silence(struct destinations *d, struct destination *h,
                                 const struct stay *s, int64_t took_us)
{
    if (s->epoch != h->epoch)
        return;
    h->silent++;
    if (h->is_open)
        breaker_pause(d, h, took_us);
    else if (h->silent >= LIMIT_QSTASH_SILENT)
        breaker_open(d, h, took_us);
}

static void breaker_note_answer(struct destinations *d, struct destination *h)
{
    h->silent = 0;
    if (!h->is_open)
        return;
    h->is_open = h->is_probed = false;
    h->epoch++;
    h->pace.line_us = 0;
    LOG(d->env->log, LOG_INFO, "A destination answers again", LOG_TEXT("host", name_of(h)));
}

/* --- coming and going --- */

static void stay_decide(struct stay *s, int64_t put_off_ms)
{
    s->put_off_ms = put_off_ms;
    s->decided(s);
}

static bool stay_fits(const struct destinations *d, const struct stay *s)
{
    return !d->bytes || d->bytes + s->bytes <= LIMIT_QSTASH_FLIGHT_BYTES;
}

static void stay_enter(struct destinations *d, struct destination *h, struct stay *s)
{
    if (destination_is_idle(h)) {
        idle_remove(d, h);
        pace_begin(d, &h->pace);
    }
    if (!d->stays)
        pace_begin(d, &d->pace);
    s->at = h;
    d->stays++;
}

static void stay_leave(struct destinations *d, struct stay *s)
{
    struct destination *h = s->at;

    s->state = STAY_OUT;
    s->at = NULL;
    d->stays--;
    if (destination_is_idle(h))
        idle_add(d, h);
}

static void stay_start(struct destinations *d, struct destination *h, struct stay *s)
{
    s->since_us = clock_mono_us(&d->env->clock);
    s->state = STAY_GOES;
    s->epoch = h->epoch;
    s->is_probe = h->is_open;
    if (s->is_probe)
        breaker_probe_begin(d, h);
    h->places++;
    d->bytes += s->bytes;
    stay_decide(s, 0);
}

static void stay_wait(struct destination *h, struct stay *s)
{
    s->state = STAY_WAITS;
    s->next = NULL;
    s->prev = h->last;
    if (h->last)
        h->last->next = s;
    else
        h->first = s;
    h->last = s;
    h->waiting++;
}

static void stay_stop_waiting(struct destination *h, struct stay *s)
{
    if (s->prev)
        s->prev->next = s->next;
    else
        h->first = s->next;
    if (s->next)
        s->next->prev = s->prev;
    else
        h->last = s->prev;
    h->waiting--;
}

/* Places came free, or the breaker opened. A stay without room for its bytes waits until another
 * one leaves this destination, if there is one. */
static void serve_waiting(struct destinations *d, struct destination *h)
{
    while (h->first && (h->is_open || h->places < LIMIT_QSTASH_PER_HOST)) {
        struct stay *s = h->first;
        bool fits = stay_fits(d, s);

        if (!h->is_open && !fits && h->places)
            return;
        stay_stop_waiting(h, s);
        if (!h->is_open && fits) {
            stay_start(d, h, s);
            continue;
        }
        stay_leave(d, s);
        stay_decide(s, h->is_open ? destination_turn_ms(d, h) : node_turn_ms(d, s));
    }
}

/* --- entering --- */

/* Other destinations may come later: none takes more places of the node than it leaves free, and of
 * the last quarter each takes only a few (FEW). */
static bool destination_has_share(const struct destinations *d, const struct destination *h)
{
    int left = LIMIT_QSTASH_UNDER_WAY - d->stays, mine = h->places + h->waiting;

    return left > 0 && (mine < FEW || mine < left - LIMIT_QSTASH_UNDER_WAY / 4);
}

static bool destination_has_line(struct destinations *d, struct destination *h)
{
    if (!h->waiting && h->places < LIMIT_QSTASH_PER_HOST / 2)
        h->pace.line_us = 0; /* it has become faster than the turns assumed */
    return h->pace.line_us > env_now_ms(d->env) * 1000;
}

static bool stay_may_start(struct destinations *d, struct destination *h, const struct stay *s)
{
    if (h->is_open)
        return !h->is_probed && env_now_ms(d->env) >= h->until_ms;
    return h->places < LIMIT_QSTASH_PER_HOST && !h->waiting &&
           !(s->fresh && destination_has_line(d, h));
}

static bool stay_may_wait(struct destinations *d, struct destination *h, const struct stay *s)
{
    return !h->is_open && h->places && h->waiting < LIMIT_QSTASH_WAITING &&
           !(s->fresh && destination_has_line(d, h)) &&
           step_us(d, h) * (h->waiting + 1) <= LIMIT_QSTASH_WAIT_MS * 1000;
}

void destinations_enter(struct destinations *d, struct str host, struct stay *s)
{
    struct destination *h = destination_find_or_make(d, host);
    bool fits = stay_fits(d, s);

    s->state = STAY_OUT;
    s->at = NULL;
    if (!h || (!destination_has_share(d, h) && destination_is_idle(h))) {
        stay_decide(s, node_turn_ms(d, s));
    } else if (!destination_has_share(d, h)) {
        stay_decide(s, destination_turn_ms(d, h));
    } else if (fits && stay_may_start(d, h, s)) {
        stay_enter(d, h, s);
        stay_start(d, h, s);
    } else if (stay_may_wait(d, h, s)) {
        stay_enter(d, h, s);
        stay_wait(h, s);
    } else {
        stay_decide(s, fits || h->is_open ? destination_turn_ms(d, h) : node_turn_ms(d, s));
    }
}

/* --- leaving --- */

static void stay_release_place(struct destinations *d, struct destination *h, const struct stay *s,
                               enum stay_end end)
{
    int64_t now_us = clock_mono_us(&d->env->clock), took_us = max_i64(now_us - s->since_us, 1);

    h->places--;
    d->bytes -= s->bytes;
    pace_end(&h->pace, now_us, took_us);
    pace_end(&d->pace, now_us, took_us);
    if (end == STAY_ANSWERED)
        breaker_note_answer(d, h);
    else if (end == STAY_SILENT)
        breaker_note_silence(d, h, s, took_us);
    else if (s->is_probe && s->epoch == h->epoch)
        breaker_probe_end(d, h);
}

void destinations_leave(struct destinations *d, struct stay *s, enum stay_end end)
{
    struct destination *h = s->at;

    if (s->state == STAY_OUT)
        return;
    if (s->state == STAY_WAITS)
        stay_stop_waiting(h, s);
    else
        stay_release_place(d, h, s, end);
    stay_leave(d, s);
    serve_waiting(d, h);
}

struct destinations *destinations_new(struct env *env)
{
    struct destinations *d = calloc(1, sizeof(*d));

    if (d)
        d->env = env;
    return d;
}

void destinations_free(struct destinations *d)
{
    if (!d)
        return;
    assert(!d->stays);
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct destination *h = d->buckets[i], *next; h; h = next) {
            next = h->next;
            free(h);
        }
    free(d);
}
