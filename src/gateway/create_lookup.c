#include "gateway/create_lookup.h"

#include "base/limits.h"
#include "gateway/tries.h"

#include <stdlib.h>
#include <string.h>

enum { READING_ARENA = 1 << 20 };

struct finder {
    struct gateway gateway;
    struct gateway *inner;
    struct gateway_call *first, **last; /* who waits, in the order they came */
    bool busy;
    struct gateway_call reading;
    struct arena arena; /* the reading's */
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
    c->sought.next = f->reading.sought.first;
    f->reading.sought.first = c;
}

/* What fits is measured by the first alone, or a long line would make the window ever wider. */
static void create_lookup_gather(struct finder *f)
{
    int64_t since_ms = f->first->since_ms;
    struct str after = f->first->list_after;
    struct gateway_call **at = &f->first, *c;

    while ((c = *at)) {
        if (!create_lookup_fits(c, since_ms, after)) {
            at = &c->sought.next;
            continue;
        }
        *at = c->sought.next;
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
    c->sent = reading->sent;
    c->status = reading->status;
    c->tries = reading->tries;
    if (c->tries) { /* all of its pages are one line; of none gateways.c has one */
        note_try(c, c->noted.at_ms, c->noted.began_us);
        note_answer(c, c->answer, c->sent, c->timed_out, c->status);
    }
    c->done(c);
}

static void was_read(struct gateway_call *reading)
{
    struct finder *f = CONTAINER_OF(reading, struct finder, reading);
    struct gateway_call *c, *next;

    for (c = reading->sought.found; c; c = next) {
        next = c->sought.next;
        c->list_after = S("");
        end_one(c, reading);
    }
    for (c = reading->sought.first; c; c = next) {
        next = c->sought.next;
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
                                        .home = first->home,
                                        .done = was_read };
    memcpy(f->reading.trace, first->trace, sizeof(first->trace));
    create_lookup_gather(f);
    gateway_call(f->inner, &f->reading);
}

/* --- the gateway --- */

static void on_call(struct gateway *g, struct gateway_call *c)
{
    struct finder *f = CONTAINER_OF(g, struct finder, gateway);

    if (!is_search(c)) {
        gateway_call(f->inner, c);
        return;
    }
    c->sought.next = NULL;
    *f->last = c;
    f->last = &c->sought.next;
    read_on(f);
}

static void on_free(struct gateway *g)
{
    struct finder *f = CONTAINER_OF(g, struct finder, gateway);

    f->inner->ops->free(f->inner);
    arena_release(&f->arena);
    free(f);
}

struct gateway *finder_new(struct gateway *inner)
{
    static const struct gateway_ops ops = { .call = on_call, .free = on_free };
    struct finder *f = calloc(1, sizeof(*f));

    if (!f) {
        inner->ops->free(inner);
        return NULL;
    }
    f->gateway = *inner;
    f->gateway.ops = &ops;
    f->inner = inner;
    f->last = &f->first;
    return &f->gateway;
}
