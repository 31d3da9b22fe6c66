/* span.h - what one piece of work took, and where it stands in its trace (O3).
 *
 *   span_begin --> (the work; its own id is known, so that what it starts can name it) --> span_end
 *                                                                     |
 *                a list with a bound <--------------------------------'
 *                       '--> telemetry/otlp.h takes them out, at home
 *
 *   (1) A span lies in its owner's memory and holds no more than ids and a time: what is told of it
 *       is given at its end. A span that never ends costs nothing.
 *   (2) Where nobody wants traces (env->spans is NULL) or this one is not sampled, a begin is one
 *       comparison: no memory, no lock, no clock, no chance.
 *   (3) A full list drops what ends, and counts it: a receiver that hangs costs spans, not
 * payments. (4) Whether a trace is recorded is decided once, where it enters, and stands in its
 * flags. (5) Times are monotonic, and become wall time only together: a span never ends before it
 * began, whatever is done to the clock. The test clock does not move them. (6) Nothing secret is
 * given to it: no card, no mail address, no token. */
#pragma once

#include "base/env.h"
#include "observe/trace.h"

#include <string.h>

enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER, SPAN_CLIENT, SPAN_PRODUCER, SPAN_CONSUMER };

struct span {
    struct spans *spans; /* NULL: it is not recorded, and the rest means nothing */
    const char *name;    /* lives until it ends */
    enum span_kind kind;
    bool has_parent, parent_is_remote;
    struct trace trace; /* its own id */
    unsigned char parent[8];
    int64_t began_us; /* monotonic */
};

struct attribute {
    const char *name; /* a literal */
    enum { ATTRIBUTE_TEXT, ATTRIBUTE_NUMBER, ATTRIBUTE_BOOL } type;
    struct str text; /* an empty one is left out */
    int64_t number;
};

#define SPAN_TEXT(n, s) ((struct attribute){ .name = (n), .text = (s) })
#define SPAN_NUM(n, v) ((struct attribute){ .name = (n), .type = ATTRIBUTE_NUMBER, .number = (v) })
#define SPAN_BOOL(n, v) ((struct attribute){ .name = (n), .type = ATTRIBUTE_BOOL, .number = (v) })

/* --- where a trace enters --- */

/* The place of a new piece of work in the trace that somebody outside sent (NULL: a new trace), and
 * whether it is recorded. What outsiders ask to be recorded has a bound, LIMIT_TRACES_FORCED,
 * unless everything is recorded anyway. s NULL: what they decided is passed on. */
struct trace trace_enter(struct spans *s, struct rng *r, const struct trace *outside);

/* --- the work --- */

/* A child of this place. */
struct span span_begin_child(struct env *env, const struct trace *parent, enum span_kind kind,
                             const char *name);

/* The same where the place is a text; what is none is not recorded. */
static inline struct span span_begin(struct env *env, struct str traceparent, enum span_kind kind,
                                     const char *name)
{
    struct trace parent;

    if (!env->spans || !trace_is_sampled(traceparent) || !trace_parse(traceparent, &parent))
        return (struct span){ 0 };
    return span_begin_child(env, &parent, kind, name);
}

/* The first one of a trace that begins with us; *ret_place is its place, recorded or not. */
struct span span_begin_root(struct env *env, enum span_kind kind, const char *name,
                            struct trace *ret_place);

/* What to hand on: the span's own place; where it is not recorded, the one it was to be a child of
 * (cut where it is too long to be one). */
void span_place(const struct span *s, struct str traceparent, char text[TRACE_TEXT + 1]);

/* why NULL: it went well; else a few words. At most SPAN_ATTRIBUTES count, each cut to fit. Any
 * thread. Ended twice, it is told once. */
enum { SPAN_ATTRIBUTES = 16 };
void span_end(struct span *s, const char *why, const struct attribute *attributes, size_t count);
void span_end_at(struct span *s, int64_t ended_us, const char *why,
                 const struct attribute *attributes, size_t count);

#define SPAN_END(s, why, ...)                                                                      \
    do {                                                                                           \
        if ((s)->spans)                                                                            \
            span_end(s, why, (const struct attribute[]){ __VA_ARGS__ },                            \
                     sizeof((const struct attribute[]){ __VA_ARGS__ }) /                           \
                         sizeof(struct attribute));                                                \
    } while (0)
#define SPAN_END_AT(s, ended_us, why, ...)                                                         \
    do {                                                                                           \
        if ((s)->spans)                                                                            \
            span_end_at(s, ended_us, why, (const struct attribute[]){ __VA_ARGS__ },               \
                        sizeof((const struct attribute[]){ __VA_ARGS__ }) /                        \
                            sizeof(struct attribute));                                             \
    } while (0)

/* --- parts of what may be run again --- */

/* Measured as it runs, told once it is known to count: span_begin(), its began_us, span_end_at().
 */
struct lap {
    struct env *env; /* NULL: nobody wants to know */
    int64_t began_us, ended_us;
    struct str what; /* a literal */
};

/* Of several in a row it is from the first one's begin to the last one's end. l may be NULL. */
static inline void lap_begin(struct lap *l)
{
    if (l && l->env && !l->began_us)
        l->began_us = clock_mono_us(&l->env->clock);
}

static inline void lap_end(struct lap *l, struct str what)
{
    if (!l || !l->env)
        return;
    l->ended_us = clock_mono_us(&l->env->clock);
    l->what = what;
}

/* --- the list --- */

enum sampler { SAMPLE_ALL, SAMPLE_NONE, SAMPLE_RATIO };

struct spans_options {
    struct env *env;
    enum sampler sampler;
    bool by_parent; /* where a trace came from outside, its own flag decides */
    double ratio;   /* SAMPLE_RATIO: 0 to 1, by the trace's id: the same on every node */
    size_t max;     /* ended spans that wait */
};

/* "parentbased_traceidratio" and the like. False: there is no such sampler. */
bool sampler_parse(struct str name, struct spans_options *o);

struct spans *spans_new(const struct spans_options *o); /* NULL: no memory */
void spans_free(struct spans *s); /* nobody ends a span any more; NULL is fine */
/* Optional, before anybody ends a span: called on whatever thread once so many wait, and not again
 * until some were taken. */
void spans_on_many(struct spans *s, size_t many, void (*call)(void *ctx), void *ctx);

struct ended_span {
    struct ended_span *next;
    struct span span;
    int64_t began_ns, ended_ns; /* since 1970 */
    bool failed;
    struct str name, why;
    size_t dropped; /* attributes that found no room */
    size_t count;
    struct attribute attributes[]; /* their texts stand behind them */
};

/* The oldest ones, `max` at most; the caller's. */
struct ended_span *spans_take(struct spans *s, size_t max, size_t *ret_count);
void ended_spans_free(struct ended_span *e);
size_t spans_waiting(struct spans *s);
