#include "qstash/deliver/destinations.h"

#include "base/limits.h"
#include "domain/retry.h"
#include "observe/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 1024,
    GUESS_US = 250 * 1000, /* how long a call takes, before one has ended */
    AVERAGE_OF = 16,       /* calls that the average follows */
    BEHIND_MS = 5,         /* between those that wait for a breaker: 200 a second come back */
    COST_FACTOR = 20,      /* a pause is at most so many times what the call took */
    PAUSE_LEAST_MS = 20,
    FEW = 4,
};

/* How fast stays end, and when the next one's turn is. */
struct pace {
    int64_t average_us; /* of a stay; 0: none has ended yet */
    int64_t moved_us;   /* when one ended, or the first began */
    int64_t line_us;    /* wall time: the last turn that was given to somebody */
};

struct destination {
    struct destination *next;                  /* in its bucket */
    struct destination *idle_prev, *idle_next; /* where nobody is; the longest unused first */
    int places, waiting;                       /* taken, and stays that wait for one */
    struct stay *first, *last;                 /* who waits */
    struct pace pace;

    /* the breaker */
    bool is_open, is_probed;
    int silent;       /* calls in a row without an answer */
    int epoch;        /* changes with the breaker: who began before says nothing about it now */
    int pauses;       /* since it opened */
    int64_t took_us;  /* the last call without an answer */
    int64_t until_ms; /* nobody goes before that */
    int64_t behind;   /* how many were put off to come after it */

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

static uint32_t destinations_lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static struct destination **bucket_of(struct destinations *d, struct str name)
{
    uint32_t hash = 2166136261U; /* FNV-1a: a bad spread only makes a list longer */

    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ destinations_lower((unsigned char)name.p[i])) * 16777619U;
    return &d->buckets[hash % BUCKETS];
}

static struct str name_of(const struct destination *h)
{
    return (struct str){ h->name, h->name_size };
}

static bool is_idle(const struct destination *h)
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

static void destinations_forget(struct destinations *d, struct destination *h)
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

/* NULL: no memory, or somebody is at every one of them. */
static struct destination *destinations_make(struct destinations *d, struct str name)
{
    struct destination **bucket = bucket_of(d, name), *h;

    if (d->count == LIMIT_QSTASH_DESTINATIONS && d->idle_first)
        destinations_forget(d, d->idle_first);
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

static struct destination *find_or_make(struct destinations *d, struct str name)
{
    for (struct destination *h = *bucket_of(d, name); h; h = h->next)
        if (str_eq_nocase(name, name_of(h)))
            return h;
    return destinations_make(d, name);
}

/* --- when a turn is expected --- */

static int64_t destinations_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t destinations_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t longest_pause_ms(const struct destination *h)
{
    return retry_delay_ms(&retry_table[RETRY_QSTASH_HOST], h->pauses + 1);
}

/* How long a stay takes. Where none of those under way has ended for longer than usual, the usual
 * is over. */
static int64_t expected_us(struct destinations *d, const struct pace *p, int under_way)
{
    int64_t quiet_us = under_way ? clock_mono_us(&d->env->clock) - p->moved_us : 0;

    return destinations_most(p->average_us ? p->average_us : GUESS_US, quiet_us);
}

static int64_t step_us(struct destinations *d, const struct destination *h)
{
    return destinations_most(1, expected_us(d, &h->pace, h->places) / LIMIT_QSTASH_PER_HOST);
}

/* Behind all who have a turn, and behind those who wait here. Beyond the horizon nobody knows:
 * there they share the second half of the time up to it. */
static int64_t turn_ms(struct destinations *d, struct pace *p, int64_t step, int64_t waiting)
{
    int64_t now_us = env_now_ms(d->env) * 1000, far_us = (int64_t)LIMIT_QSTASH_HORIZON_MS * 1000;

    p->line_us = destinations_most(p->line_us, now_us + step * waiting) + step;
    if (p->line_us > now_us + far_us)
        p->line_us = now_us + far_us / 2;
    return destinations_most(p->line_us / 1000, now_us / 1000 + 1);
}

static int64_t turn_in_house_ms(struct destinations *d, const struct stay *s)
{
    int64_t share =
        destinations_most((int64_t)s->bytes, LIMIT_QSTASH_FLIGHT_BYTES / LIMIT_QSTASH_UNDER_WAY);
    int64_t step = expected_us(d, &d->pace, d->stays) * share / LIMIT_QSTASH_FLIGHT_BYTES;

    return turn_ms(d, &d->pace, step, 0);
}

static int64_t turn_at_ms(struct destinations *d, struct destination *h)
{
    if (!h->is_open)
        return turn_ms(d, &h->pace, step_us(d, h), h->waiting);
    if (h->is_probed && h->until_ms <= env_now_ms(d->env)) /* it takes longer than the last one */
        h->until_ms = env_now_ms(d->env) + longest_pause_ms(h);
    return destinations_most(h->until_ms, env_now_ms(d->env) + 1) +
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

/* Doubled from try to try, but a call that fails at once costs nobody anything: then the pause is
 * short, so that what waits for a host that is down comes to its end in its own time. */
static int64_t pause_ms(struct destinations *d, const struct destination *h, int64_t took_us)
{
    int64_t ms = destinations_least(
        longest_pause_ms(h), destinations_most(took_us * COST_FACTOR / 1000, PAUSE_LEAST_MS));

    return ms - ms / 4 + (int64_t)rng_below(&d->env->rng, (uint64_t)ms / 2 + 1);
}

static void wait_longer(struct destinations *d, struct destination *h, int64_t took_us)
{
    h->took_us = took_us;
    h->until_ms = env_now_ms(d->env) + pause_ms(d, h, took_us);
    h->pauses++;
    h->behind = 0;
    h->is_probed = false;
}

/* Those that come meanwhile are put off as if it failed like the last one. */
static void begin_probe(struct destinations *d, struct destination *h)
{
    h->is_probed = true;
    h->until_ms = env_now_ms(d->env) + h->took_us / 1000 + pause_ms(d, h, h->took_us);
}

/* Nobody was called: the next one is let through. */
static void end_probe(struct destinations *d, struct destination *h)
{
    h->is_probed = false;
    h->until_ms = env_now_ms(d->env);
}

static void open_breaker(struct destinations *d, struct destination *h, int64_t took_us)
{
    h->is_open = true;
    h->epoch++;
    h->pauses = 0;
    wait_longer(d, h, took_us);
    LOG(d->env->log, LOG_WARN, "A destination does not answer; deliveries to it are put off",
        LOG_TEXT("host", name_of(h)), LOG_NUM("calls", h->silent));
}

static void note_silence(struct destinations *d, struct destination *h, const struct stay *s,
                         int64_t took_us)
{
    if (s->epoch != h->epoch)
        return;
    h->silent++;
    if (h->is_open)
        wait_longer(d, h, took_us);
    else if (h->silent >= LIMIT_QSTASH_SILENT)
        open_breaker(d, h, took_us);
}

static void note_answer(struct destinations *d, struct destination *h)
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

static void destinations_decide(struct stay *s, int64_t put_off_ms)
{
    s->put_off_ms = put_off_ms;
    s->decided(s);
}

static bool has_bytes(const struct destinations *d, const struct stay *s)
{
    return !d->bytes || d->bytes + s->bytes <= LIMIT_QSTASH_FLIGHT_BYTES;
}

static void destinations_arrive(struct destinations *d, struct destination *h, struct stay *s)
{
    if (is_idle(h)) {
        idle_remove(d, h);
        pace_begin(d, &h->pace);
    }
    if (!d->stays)
        pace_begin(d, &d->pace);
    s->at = h;
    d->stays++;
}

static void destinations_depart(struct destinations *d, struct stay *s)
{
    struct destination *h = s->at;

    s->state = STAY_OUT;
    s->at = NULL;
    d->stays--;
    if (is_idle(h))
        idle_add(d, h);
}

static void let_go(struct destinations *d, struct destination *h, struct stay *s)
{
    s->since_us = clock_mono_us(&d->env->clock);
    s->state = STAY_GOES;
    s->epoch = h->epoch;
    s->is_probe = h->is_open;
    if (s->is_probe)
        begin_probe(d, h);
    h->places++;
    d->bytes += s->bytes;
    destinations_decide(s, 0);
}

static void wait_here(struct destination *h, struct stay *s)
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

static void stop_waiting(struct destination *h, struct stay *s)
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

/* Places came free, or the breaker opened. Who finds no room for its bytes waits for the next one
 * to leave, if there is one. */
static void serve_waiting(struct destinations *d, struct destination *h)
{
    while (h->first && (h->is_open || h->places < LIMIT_QSTASH_PER_HOST)) {
        struct stay *s = h->first;
        bool fits = has_bytes(d, s);

        if (!h->is_open && !fits && h->places)
            return;
        stop_waiting(h, s);
        if (!h->is_open && fits) {
            let_go(d, h, s);
            continue;
        }
        destinations_depart(d, s);
        destinations_decide(s, h->is_open ? turn_at_ms(d, h) : turn_in_house_ms(d, s));
    }
}

/* --- entering --- */

/* Others may come later: nobody takes more than what he leaves, and of the last quarter everybody
 * has only a few. */
static bool has_share(const struct destinations *d, const struct destination *h)
{
    int left = LIMIT_QSTASH_UNDER_WAY - d->stays, mine = h->places + h->waiting;

    return left > 0 && (mine < FEW || mine < left - LIMIT_QSTASH_UNDER_WAY / 4);
}

static bool is_line(struct destinations *d, struct destination *h)
{
    if (!h->waiting && h->places < LIMIT_QSTASH_PER_HOST / 2)
        h->pace.line_us = 0; /* it has become faster than the line thought */
    return h->pace.line_us > env_now_ms(d->env) * 1000;
}

static bool may_go(struct destinations *d, struct destination *h, const struct stay *s)
{
    if (h->is_open)
        return !h->is_probed && env_now_ms(d->env) >= h->until_ms;
    return h->places < LIMIT_QSTASH_PER_HOST && !h->waiting && !(s->fresh && is_line(d, h));
}

static bool may_wait(struct destinations *d, struct destination *h, const struct stay *s)
{
    return !h->is_open && h->places && h->waiting < LIMIT_QSTASH_WAITING &&
           !(s->fresh && is_line(d, h)) &&
           step_us(d, h) * (h->waiting + 1) <= LIMIT_QSTASH_WAIT_MS * 1000;
}

void destinations_enter(struct destinations *d, struct str host, struct stay *s)
{
    struct destination *h = find_or_make(d, host);
    bool fits = has_bytes(d, s);

    s->state = STAY_OUT;
    s->at = NULL;
    if (!h || (!has_share(d, h) && is_idle(h))) {
        destinations_decide(s, turn_in_house_ms(d, s));
    } else if (!has_share(d, h)) {
        destinations_decide(s, turn_at_ms(d, h));
    } else if (fits && may_go(d, h, s)) {
        destinations_arrive(d, h, s);
        let_go(d, h, s);
    } else if (may_wait(d, h, s)) {
        destinations_arrive(d, h, s);
        wait_here(h, s);
    } else {
        destinations_decide(s, fits || h->is_open ? turn_at_ms(d, h) : turn_in_house_ms(d, s));
    }
}

/* --- leaving --- */

static void give_place_back(struct destinations *d, struct destination *h, const struct stay *s,
                            enum stay_end end)
{
    int64_t now_us = clock_mono_us(&d->env->clock),
            took_us = destinations_most(now_us - s->since_us, 1);

    h->places--;
    d->bytes -= s->bytes;
    pace_end(&h->pace, now_us, took_us);
    pace_end(&d->pace, now_us, took_us);
    if (end == STAY_ANSWERED)
        note_answer(d, h);
    else if (end == STAY_SILENT)
        note_silence(d, h, s, took_us);
    else if (s->is_probe && s->epoch == h->epoch)
        end_probe(d, h);
}

void destinations_leave(struct destinations *d, struct stay *s, enum stay_end end)
{
    struct destination *h = s->at;

    if (s->state == STAY_OUT)
        return;
    if (s->state == STAY_WAITS)
        stop_waiting(h, s);
    else
        give_place_back(d, h, s, end);
    destinations_depart(d, s);
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
