/* create_lookup.c - one reading of the provider's list for all calls that search in it.
 *
 *   a call that searches --> waits --> a reading begins with all that fit --> found, or not found
 *                                                                              ends each of them
 *
 * The rules are in create_lookup.h. A crash loses the reading and the calls that wait; the jobs of
 * their operations search again. */
#include "gateway/create_lookup.h"

#include "base/limits.h"
#include "gateway/layer.h"
#include "gateway/tries.h"

#include <stdlib.h>
#include <string.h>

enum { READING_ARENA = 1 << 20 };

struct create_lookup {
    struct gateway_layer layer;
    struct gateway_call *first, **last; /* calls that wait, in order of arrival */
    bool busy;
    struct gateway_call reading;
    struct arena arena; /* the reading's */
};

struct lookup_frame { /* of a call that waits; set only where its tries are recorded */
    int64_t at_ms, began_us;
};

static bool call_is_search(const struct gateway_call *c)
{
    return c->ask == GATEWAY_FETCH && !c->intent_id.n;
}

/* --- which calls share a reading --- */

static bool lookup_fits(const struct gateway_call *c, int64_t since_ms, struct str after)
{
    return llabs(c->since_ms - since_ms) <= LIMIT_GATEWAY_SKEW_MS && str_eq(c->list_after, after);
}

/* The window that covers both. until_ms 0: until now. */
static void lookup_widen(struct gateway_call *reading, const struct gateway_call *c)
{
    if (c->since_ms < reading->since_ms)
        reading->since_ms = c->since_ms;
    if (!c->until_ms || (reading->until_ms && c->until_ms > reading->until_ms))
        reading->until_ms = c->until_ms;
}

static void lookup_add(struct create_lookup *f, struct gateway_call *c)
{
    gateway_clear(c);
    lookup_widen(&f->reading, c);
    c->next = f->reading.wanted;
    f->reading.wanted = c;
}

/* Calls are compared with the first one alone, or a long list of calls would widen the window more
 * and more. */
static void lookup_gather(struct create_lookup *f)
{
    int64_t since_ms = f->first->since_ms;
    struct str after = f->first->list_after;
    struct gateway_call **at = &f->first, *c;

    while ((c = *at)) {
        if (!lookup_fits(c, since_ms, after)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        lookup_add(f, c);
    }
    f->last = at;
}

/* --- one reading --- */

static void lookup_begin(struct create_lookup *f);

/* A call whose payment was not found gets the answer of the reading. */
static void lookup_share(struct gateway_call *c, const struct gateway_call *reading)
{
    struct str place = arena_str(c->arena, reading->list_after);

    c->answer = reading->answer;
    c->timed_out = reading->timed_out;
    c->list_more = reading->list_more;
    c->list_after = place.p ? place : S(""); /* from the beginning: takes longer, but is correct */
    gateway_say(c, str_of(reading->error_code), str_of(reading->error_message));
}

static void lookup_end_call(struct gateway_call *c, const struct gateway_call *reading)
{
    const struct lookup_frame *own = layer_own(c);

    c->sent = reading->sent;
    c->status = reading->status;
    c->tries = reading->tries;
    if (c->tries) { /* all pages are one entry; without a page gateways.c adds the entry */
        note_try(c, own->at_ms, own->began_us);
        note_answer(c, c->answer, c->sent, c->timed_out, c->status);
    }
    layer_pop(c);
    c->done(c);
}

static void lookup_read(struct gateway_call *reading)
{
    struct create_lookup *f = CONTAINER_OF(reading, struct create_lookup, reading);
    struct gateway_call *c, *next;

    for (c = reading->found; c; c = next) {
        next = c->next;
        c->list_after = S("");
        lookup_end_call(c, reading);
    }
    for (c = reading->wanted; c; c = next) {
        next = c->next;
        lookup_share(c, reading);
        lookup_end_call(c, reading);
    }
    arena_release(&f->arena);
    f->busy = false;
    lookup_begin(f);
}

static void lookup_begin(struct create_lookup *f)
{
    const struct gateway_call *first = f->first;

    if (f->busy || !first)
        return;
    f->busy = true;
    arena_init(&f->arena, READING_ARENA);
    f->reading = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                        .payment = first->payment,
                                        .since_ms = first->since_ms,
                                        .until_ms = first->until_ms,
                                        .list_after = arena_str(&f->arena, first->list_after),
                                        .arena = &f->arena,
                                        .executor = first->executor,
                                        .done = lookup_read };
    memcpy(f->reading.trace, first->trace, sizeof(first->trace));
    lookup_gather(f);
    gateway_call(f->layer.inner, &f->reading);
}

/* --- the gateway --- */

/* The call that waits is not passed on: lookup_read() ends it. */
static void lookup_wait(struct create_lookup *f, struct gateway_call *c)
{
    struct lookup_frame *own = layer_push(c, f, sizeof(*own), NULL);

    if (c->seen) {
        own->at_ms = env_now_ms(c->seen->env);
        own->began_us = clock_mono_us(&c->seen->env->clock);
    }
    c->next = NULL;
    *f->last = c;
    f->last = &c->next;
}

static void lookup_call(struct gateway *g, struct gateway_call *c)
{
    struct create_lookup *f = CONTAINER_OF(g, struct create_lookup, layer.gateway);

    if (!call_is_search(c)) {
        gateway_call(f->layer.inner, c);
        return;
    }
    lookup_wait(f, c);
    lookup_begin(f);
}

static void lookup_free(struct gateway *g)
{
    struct create_lookup *f = CONTAINER_OF(g, struct create_lookup, layer.gateway);

    arena_release(&f->arena);
    layer_free(g);
}

struct gateway *finder_new(struct gateway *inner)
{
    static const struct gateway_ops ops = { .call = lookup_call, .free = lookup_free };
    struct create_lookup *f = layer_new(sizeof(*f), &ops, inner);

    if (!f)
        return NULL;
    f->last = &f->first;
    return &f->layer.gateway;
}
