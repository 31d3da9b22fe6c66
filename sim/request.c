#include "sim/request.h"

#include "event/apply_event.h"
#include "sim/node.h"

#include <assert.h>

enum { REQUEST_ARENA = 64 * 1024 };

static void request_stored(struct unit *u)
{
    struct sim_request *d = CONTAINER_OF(u, struct sim_request, receive.unit);

    d->answered(d);
}

/* The body of the job's message, made as webhook/stripe.c makes it. */
static struct str job_of(struct sim_request *d)
{
    const struct stripe_event *e = &d->receive.event;
    struct event_job job = { .type = e->type,
                             .livemode = e->livemode,
                             .object_id = e->object_id,
                             .intent_id = e->intent_id,
                             .payment_id = e->payment_id,
                             .trace = str_of(d->receive.trace) };

    return event_job_write(&d->arena, &job);
}

void sim_request_post(struct sim_request *d, struct sim_node *n, struct str body,
                      void (*answered)(struct sim_request *))
{
    struct receive *r = &d->receive;
    struct trace trace = trace_new(&n->env.rng);
    enum err e;

    arena_init(&d->arena, REQUEST_ARENA);
    d->answered = answered;
    *r = (struct receive){ .queue = n->queue,
                           .body = body,
                           .request_id = S("sim"),
                           .received_ms = env_now_ms(&n->env),
                           .new_id = env_uuid(&n->env) };
    trace_text(&trace, r->trace);
    e = stripe_event_read(&d->arena, body, &r->event);
    assert(!e);
    r->job = job_of(d);
    r->unit =
        (struct unit){ .kind = &receive_kind, .executor = &n->executor, .done = request_stored };
    store_post(&n->store, &r->unit);
}

void sim_request_release(struct sim_request *d)
{
    arena_release(&d->arena);
}
