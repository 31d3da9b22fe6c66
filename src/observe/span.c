/* span.c - decides which traces are recorded, measures spans, and keeps ended ones in a bounded
 * list until telemetry/otlp.c takes them. The list is in memory only, so a crash loses what it
 * holds. */
#include "observe/span.h"

#include "base/limits.h"
#include "observe/mask.h"
#include "observe/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { DRIFT_NS = 100 * 1000 * 1000, SAMPLE_BYTES = 7, FORCED_BITS = 20 };

struct spans {
    struct spans_options o;
    uint64_t least; /* SAMPLE_RATIO: the last 56 bits of an id that is recorded are this or more */
    _Atomic int64_t base_ns; /* wall time at monotonic 0 */
    _Atomic int64_t forced;  /* the second, and how many from outside were let in during it */
    void (*many)(void *ctx);
    void *many_ctx;
    size_t many_at;

    pthread_mutex_t lock;
    struct ended_span *first, **last;
    size_t waiting;
    bool told; /* many */
};

/* --- whether --- */

bool sampler_parse(struct str name, struct spans_options *o)
{
    static const struct {
        struct str name;
        enum sampler sampler;
    } all[] = { { { "always_on", 9 }, SAMPLE_ALL },
                { { "always_off", 10 }, SAMPLE_NONE },
                { { "traceidratio", 12 }, SAMPLE_RATIO } };
    struct str prefix = S("parentbased_");

    o->by_parent = str_starts(name, prefix);
    if (o->by_parent)
        name = (struct str){ name.p + prefix.n, name.n - prefix.n };
    for (size_t i = 0; i < COUNT(all); i++)
        if (str_eq(name, all[i].name)) {
            o->sampler = all[i].sampler;
            return true;
        }
    return false;
}

/* The random value of a trace by OpenTelemetry's rule: the last 56 bits of its id. */
static uint64_t sample_value(const struct trace *t)
{
    uint64_t v = 0;

    for (size_t i = sizeof(t->trace_id) - SAMPLE_BYTES; i < sizeof(t->trace_id); i++)
        v = v << 8 | t->trace_id[i];
    return v;
}

static uint64_t least_of(double ratio)
{
    double none = (double)(UINT64_C(1) << (8 * SAMPLE_BYTES));

    return ratio <= 0 ? UINT64_MAX : ratio >= 1 ? 0 : (uint64_t)((1 - ratio) * none);
}

static bool span_samples(const struct spans *s, const struct trace *t)
{
    switch (s->o.sampler) {
    case SAMPLE_ALL: return true;
    case SAMPLE_NONE: return false;
    case SAMPLE_RATIO: return sample_value(t) >= s->least;
    }
    return false;
}

/* Limits the traces from outside, because their sender chooses both the flag and the id. */
static bool has_room(struct spans *s)
{
    int64_t second = clock_mono_ms(&s->o.env->clock) / 1000 << FORCED_BITS;
    int64_t was = atomic_load(&s->forced), is;

    do {
        is = was >> FORCED_BITS << FORCED_BITS == second ? was + 1 : second + 1;
        if (is - second > LIMIT_TRACES_FORCED)
            return false;
    } while (!atomic_compare_exchange_weak(&s->forced, &was, is));
    return true;
}

static bool is_wanted(struct spans *s, const struct trace *t, bool from_outside)
{
    bool wanted = from_outside && s->o.by_parent ? t->flags & TRACE_SAMPLED : span_samples(s, t);

    return wanted && (!from_outside || s->o.sampler == SAMPLE_ALL || has_room(s));
}

struct trace trace_enter(struct spans *s, struct rng *r, const struct trace *outside)
{
    struct trace t = outside ? trace_child(r, outside) : trace_new(r);

    if (!s)
        return t;
    if (is_wanted(s, &t, outside))
        t.flags |= TRACE_SAMPLED;
    else
        t.flags &= (unsigned char)~TRACE_SAMPLED;
    return t;
}

/* --- the work --- */

struct span span_begin_child(struct env *env, const struct trace *parent, enum span_kind kind,
                             const char *name)
{
    struct span s = { 0 };

    if (!env->spans || !(parent->flags & TRACE_SAMPLED))
        return s;
    s = (struct span){ .spans = env->spans,
                       .name = name,
                       .kind = kind,
                       .has_parent = true,
                       .trace = trace_child(&env->rng, parent),
                       .began_us = clock_mono_us(&env->clock) };
    memcpy(s.parent, parent->span_id, sizeof(s.parent));
    return s;
}

struct span span_begin_root(struct env *env, enum span_kind kind, const char *name,
                            struct trace *ret_place)
{
    *ret_place = trace_enter(env->spans, &env->rng, NULL);
    if (!env->spans || !(ret_place->flags & TRACE_SAMPLED))
        return (struct span){ 0 };
    return (struct span){ .spans = env->spans,
                          .name = name,
                          .kind = kind,
                          .trace = *ret_place,
                          .began_us = clock_mono_us(&env->clock) };
}

void span_place(const struct span *s, struct str traceparent, char text[TRACE_TEXT + 1])
{
    size_t n = traceparent.n < TRACE_TEXT ? traceparent.n : TRACE_TEXT;

    if (s->spans) {
        trace_text(&s->trace, text);
        return;
    }
    if (n)
        memcpy(text, traceparent.p, n);
    text[n] = '\0';
}

/* --- its end --- */

static size_t span_cut(struct str s, size_t most)
{
    if (s.n <= most)
        return s.n;
    while (most && ((unsigned char)s.p[most] & 0xc0) == 0x80) /* never within a character */
        most--;
    return most;
}

static struct str span_put(char **at, struct str s, size_t most)
{
    struct str copy = { *at, span_cut(s, most) };

    if (copy.n)
        memcpy(*at, s.p, copy.n);
    mask_cards(*at, copy.n);
    mask_named(*at, copy.n);
    *at += copy.n;
    return copy;
}

static bool span_counts(const struct attribute *a)
{
    return a->type != ATTRIBUTE_TEXT || a->text.n;
}

static struct ended_span *span_record(const struct span *s, const char *why,
                                      const struct attribute *a, size_t n)
{
    struct str words = str_of(why);
    size_t bytes = span_cut(str_of(s->name), LIMIT_SPAN_TEXT) + span_cut(words, LIMIT_SPAN_TEXT),
           room = 0;
    struct ended_span *e;
    char *at;

    for (size_t i = 0; i < n; i++) {
        room += span_counts(&a[i]);
        bytes += span_cut(a[i].text, LIMIT_SPAN_TEXT);
    }
    room = room < SPAN_ATTRIBUTES ? room : SPAN_ATTRIBUTES;
    e = malloc(sizeof(*e) + room * sizeof(*a) + bytes);
    if (!e)
        return NULL;
    at = (char *)(e->attributes + room);
    *e = (struct ended_span){ .span = *s, .failed = why != NULL };
    e->name = span_put(&at, str_of(s->name), LIMIT_SPAN_TEXT);
    e->why = span_put(&at, words, LIMIT_SPAN_TEXT);
    for (size_t i = 0; i < n; i++) {
        if (!span_counts(&a[i]))
            continue;
        if (e->count == room) {
            e->dropped++;
            continue;
        }
        e->attributes[e->count] = a[i];
        e->attributes[e->count++].text = span_put(&at, a[i].text, LIMIT_SPAN_TEXT);
    }
    return e;
}

static int64_t wall_ns(const struct clock *c)
{
    return c->wall_ms(c) * 1000000 - clock_mono_us(c) * 1000;
}

/* False: the list is full. *ret_many: the callback of spans_on_many() must be called. */
static bool span_append(struct spans *s, struct ended_span *e, bool *ret_many)
{
    bool fits;

    pthread_mutex_lock(&s->lock);
    fits = s->waiting < s->o.max;
    if (fits) {
        *s->last = e;
        s->last = &e->next;
        s->waiting++;
    }
    *ret_many = s->many && !s->told && s->waiting >= s->many_at;
    s->told |= *ret_many;
    pthread_mutex_unlock(&s->lock);
    return fits;
}

void span_end_at(struct span *s, int64_t ended_us, const char *why,
                 const struct attribute *attributes, size_t count)
{
    struct spans *list = s->spans;
    struct ended_span *e = list ? span_record(s, why, attributes, count) : NULL;
    int64_t base;
    bool many = false;

    if (!list)
        return;
    s->spans = NULL;
    base = atomic_load(&list->base_ns);
    if (e) {
        e->began_ns = base + s->began_us * 1000;
        e->ended_ns = base + (ended_us > s->began_us ? ended_us : s->began_us) * 1000;
    }
    if (!e || !span_append(list, e, &many)) {
        free(e);
        metrics_count_as(list->o.env->metrics, COUNT_SPANS, S("dropped"), 1);
    }
    if (many)
        list->many(list->many_ctx);
}

void span_end(struct span *s, const char *why, const struct attribute *attributes, size_t count)
{
    if (s->spans)
        span_end_at(s, clock_mono_us(&s->spans->o.env->clock), why, attributes, count);
}

/* --- the list --- */

struct spans *spans_new(const struct spans_options *o)
{
    struct spans *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->o = *o;
    s->last = &s->first;
    s->least = least_of(o->ratio);
    atomic_init(&s->base_ns, wall_ns(&o->env->clock));
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void spans_free(struct spans *s)
{
    if (!s)
        return;
    ended_spans_free(s->first);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void spans_on_many(struct spans *s, size_t many, void (*call)(void *ctx), void *ctx)
{
    s->many = call;
    s->many_ctx = ctx;
    s->many_at = many;
}

/* The machine's calendar may have been set. Later times follow the new calendar. */
static void follow_calendar(struct spans *s)
{
    int64_t is = wall_ns(&s->o.env->clock), off = is - atomic_load(&s->base_ns);

    if (off > DRIFT_NS || off < -DRIFT_NS)
        atomic_store(&s->base_ns, is);
}

struct ended_span *spans_take(struct spans *s, size_t max, size_t *ret_count)
{
    struct ended_span *first, **end = &first;
    size_t n = 0;

    follow_calendar(s);
    pthread_mutex_lock(&s->lock);
    first = s->first;
    while (*end && n < max) {
        end = &(*end)->next;
        n++;
    }
    s->first = *end;
    *end = NULL;
    s->waiting -= n;
    if (!s->first)
        s->last = &s->first;
    s->told = false;
    pthread_mutex_unlock(&s->lock);
    *ret_count = n;
    return first;
}

void ended_spans_free(struct ended_span *e)
{
    while (e) {
        struct ended_span *next = e->next;

        free(e);
        e = next;
    }
}

size_t spans_waiting(struct spans *s)
{
    size_t n;

    pthread_mutex_lock(&s->lock);
    n = s->waiting;
    pthread_mutex_unlock(&s->lock);
    return n;
}
