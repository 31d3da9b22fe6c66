/* span.h - spans: how long one piece of work took, and its place in its trace (O3).
 *
 *   span_begin --> the work, which passes the span's id on --> span_end
 *                                                                 |
 *                        a bounded list of ended spans <----------'
 *                          '--> telemetry/otlp.h takes them out, on its executor
 *
 *   (1) A span lies in its owner's memory and holds only ids and a time; its attributes are given
 *       at its end. A span that never ends costs nothing.
 *   (2) Where traces are off (env->spans is NULL) or this trace is not sampled, a begin is one
 *       comparison: no memory, no lock, no clock, no random number.
 *   (3) When the list is full, a span that ends is dropped and counted. A receiver that hangs costs
 *       spans and never delays a payment.
 *   (4) Whether a trace is recorded is decided once, where it enters, and stands in its flags.
 *   (5) Times are monotonic and are converted to wall time together, so a span never ends before it
 *       began, whatever is done to the clock. The test clock does not move them.
 *   (6) Attributes hold no secret: no card, no mail address, no token. */
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

/* The place of a new piece of work in the trace that a request from outside named (NULL: a new
 * trace), and whether it is recorded. Outsiders can have at most LIMIT_TRACES_FORCED traces a
 * second recorded, unless everything is recorded anyway. s NULL: their decision is passed on. */
struct trace trace_enter(struct spans *s, struct rng *r, const struct trace *outside);

/* --- the work --- */

/* Begins a child of the span at this place. */
struct span span_begin_child(struct env *env, const struct trace *parent, enum span_kind kind,
                             const char *name);

/* Does the same where the place is a text. A text that is no traceparent is not recorded. */
static inline struct span span_begin(struct env *env, struct str traceparent, enum span_kind kind,
                                     const char *name)
{
    struct trace parent;

    if (!env->spans || !trace_is_sampled(traceparent) || !trace_parse(traceparent, &parent))
        return (struct span){ 0 };
    return span_begin_child(env, &parent, kind, name);
}

/* Begins the first span of a trace that starts here. *ret_place is its place, recorded or not. */
struct span span_begin_root(struct env *env, enum span_kind kind, const char *name,
                            struct trace *ret_place);

/* The traceparent to pass on: the span's own place or, where it is not recorded, the place of its
 * parent (cut where it is too long to be one). */
void span_place(const struct span *s, struct str traceparent, char text[TRACE_TEXT + 1]);

/* Ends a span, on any thread. why: the reason of a failure, NULL for success. At most
 * SPAN_ATTRIBUTES attributes count, each cut to fit. Only the first end of a span counts. */
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

/* A time that is measured while the work runs and becomes a span only when the work is known to
 * count: span_begin(), its began_us, span_end_at(). */
struct lap {
    struct env *env; /* NULL: nothing is measured */
    int64_t began_us, ended_us;
    struct str what; /* a literal */
};

/* Several laps in a row count from the first begin to the last end. l may be NULL. */
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
void spans_free(struct spans *s); /* after the last span has ended; NULL is allowed */
/* Optional, before the first span ends: sets a callback that is called once `many` spans wait, and
 * not again until some were taken. It runs on the thread that ended a span. */
void spans_on_many(struct spans *s, size_t many, void (*call)(void *ctx), void *ctx);

struct ended_span {
    struct ended_span *next;
    struct span span;
    int64_t began_ns, ended_ns; /* since 1970 */
    bool failed;
    struct str name, why;
    size_t dropped; /* attributes above SPAN_ATTRIBUTES */
    size_t count;
    struct attribute attributes[]; /* their texts stand behind them */
};

/* Takes the oldest ended spans, `max` at most. The caller owns them. */
struct ended_span *spans_take(struct spans *s, size_t max, size_t *ret_count);
void ended_spans_free(struct ended_span *e);
size_t spans_waiting(struct spans *s);
