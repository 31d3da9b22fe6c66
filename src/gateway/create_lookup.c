#include "gateway/create_lookup.h"

#include "base/limits.h"
#include "gateway/layer.h"
#include "gateway/tries.h"

#include <stdlib.h>
#include <string.h>

enum { READING_ARENA = 1 << 20 };

struct finder {
    struct gateway_layer layer;
    struct gateway_call *first, **last; /* who waits, in the order they came */
    bool busy;
    struct gateway_call reading;
    struct arena arena; /* the reading's */
};

struct looked { /* the finder's frame of a call that waits; only where its tries are noted */
    int64_t at_ms, began_us;
};

static bool is_search(const struct gateway_call *c)
{
    return c->ask == GATEWAY_FETCH && !c->intent_id.n;
}

/* --- who reads together --- */

static bool create_lookup_fits(const struct gateway_call *c, int64_t since_ms, struct str after)
{
    return llabs(c->since_ms - since_ms) <= LIMIT_GATEWAY_SKEW_MS && str_eq(c->list_after, after);
}

/* Both windows. 0: until now. */
static void create_lookup_widen(struct gateway_call *reading, const struct gateway_call *c)
{
    if (c->since_ms < reading->since_ms)
        reading->since_ms = c->since_ms;
    if (!c->until_ms || (reading->until_ms && c->until_ms > reading->until_ms))
        reading->until_ms = c->until_ms;
}

static void take_along(struct finder *f, struct gateway_call *c)
{
    gateway_clear(c);
    create_lookup_widen(&f->reading, c);
    c->next = f->reading.wanted;
    f->reading.wanted = c;
}

/* What fits is measured by the first alone, or a long line would make the window ever wider. */
static void create_lookup_gather(struct finder *f)
{
    int64_t since_ms = f->first->since_ms;
    struct str after = f->first->list_after;
    struct gateway_call **at = &f->first, *c;

    while ((c = *at)) {
        if (!create_lookup_fits(c, since_ms, after)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        take_along(f, c);
    }
    f->last = at;
}

/* --- one reading --- */

static void read_on(struct finder *f);

/* Who was not found knows what the reading knows. */
static void create_lookup_share(struct gateway_call *c, const struct gateway_call *reading)
{
    struct str place = arena_str(c->arena, reading->list_after);

    c->answer = reading->answer;
    c->timed_out = reading->timed_out;
    c->list_more = reading->list_more;
    c->list_after = place.p ? place : S(""); /* from the beginning: longer, and as good */
    gateway_say(c, str_of(reading->error_code), str_of(reading->error_message));
}

static void end_one(struct gateway_call *c, const struct gateway_call *reading)
{
    const struct looked *own = layer_own(c);

    c->sent = reading->sent;
    c->status = reading->status;
    c->tries = reading->tries;
    if (c->tries) { /* all of its pages are one line; of none gateways.c has one */
        note_try(c, own->at_ms, own->began_us);
        note_answer(c, c->answer, c->sent, c->timed_out, c->status);
    }
    layer_pop(c);
    c->done(c);
}

static void was_read(struct gateway_call *reading)
{
    struct finder *f = CONTAINER_OF(reading, struct finder, reading);
    struct gateway_call *c, *next;

    for (c = reading->found; c; c = next) {
        next = c->next;
        c->list_after = S("");
        end_one(c, reading);
    }
    for (c = reading->wanted; c; c = next) {
        next = c->next;
        create_lookup_share(c, reading);
        end_one(c, reading);
    }
    arena_release(&f->arena);
    f->busy = false;
    read_on(f);
}

static void read_on(struct finder *f)
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
                                        .done = was_read };
    memcpy(f->reading.trace, first->trace, sizeof(first->trace));
    create_lookup_gather(f);
    gateway_call(f->layer.inner, &f->reading);
}

/* --- the gateway --- */

/* The call that waits is handed to no gateway: was_read() ends it. */
static void create_lookup_wait(struct finder *f, struct gateway_call *c)
{
    struct looked *own = layer_push(c, f, sizeof(*own), NULL);

    if (c->seen) {
        own->at_ms = env_now_ms(c->seen->env);
        own->began_us = clock_mono_us(&c->seen->env->clock);
    }
    c->next = NULL;
    *f->last = c;
    f->last = &c->next;
}

static void on_call(struct gateway *g, struct gateway_call *c)
{
    struct finder *f = CONTAINER_OF(g, struct finder, layer.gateway);

    if (!is_search(c)) {
        gateway_call(f->layer.inner, c);
        return;
    }
    create_lookup_wait(f, c);
    read_on(f);
}

static void on_free(struct gateway *g)
{
    struct finder *f = CONTAINER_OF(g, struct finder, layer.gateway);

    arena_release(&f->arena);
    layer_free(g);
}

struct gateway *finder_new(struct gateway *inner)
{
    static const struct gateway_ops ops = { .call = on_call, .free = on_free };
    struct finder *f = layer_new(sizeof(*f), &ops, inner);

    if (!f)
        return NULL;
    f->last = &f->first;
    return &f->layer.gateway;
}
