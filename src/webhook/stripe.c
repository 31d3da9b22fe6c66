#include "webhook/stripe.h"

#include "event/apply_event.h"
#include "webhook/endpoint.h"
#include "webhook/signature.h"

#include <stdio.h>
#include <stdlib.h>

struct stripe_door {
    struct door door;
    struct stripe_keys *keys;
    bool publish;
};

/* --- whether it is Stripe's --- */

static enum signature_verdict webhook_stripe_verify(const struct stripe_door *d,
                                                    const struct request *r)
{
    size_t count = 0;
    struct str header = request_header(r, S("Stripe-Signature"), &count);

    if (count > 1)
        return SIGNATURE_MALFORMED;
    return stripe_verify(d->keys, header, r->body, clock_wall_ms(&d->door.env->clock) / 1000);
}

static void refuse_signature(struct stripe_door *d, struct request *r, enum signature_verdict v)
{
    static const enum refusal refusals[SIGNATURE_VERDICTS] = {
        [SIGNATURE_NO_HEADER] = REFUSED_NO_HEADER,
        [SIGNATURE_MALFORMED] = REFUSED_MALFORMED,
        [SIGNATURE_NO_TIMESTAMP] = REFUSED_NO_TIMESTAMP,
        [SIGNATURE_NO_V1] = REFUSED_NO_V1,
        [SIGNATURE_MISMATCH] = REFUSED_MISMATCH,
        [SIGNATURE_TOO_OLD] = REFUSED_TOO_OLD,
        [SIGNATURE_FUTURE] = REFUSED_FUTURE,
        [SIGNATURE_EMPTY] = REFUSED_EMPTY,
    };
    char detail[160];

    refusals_add(&d->door.refusals, r, refusals[v]);
    snprintf(detail, sizeof(detail), "%s (%s)", err_words(ERR_SIGNATURE, r->language),
             signature_reason(v));
    reply_problem(r, ERR_SIGNATURE, detail);
}

/* --- the request --- */

static struct knock *read_knock(struct stripe_door *d, struct request *r)
{
    struct knock *k = knock_new(&d->door, r);
    struct receive *v;

    if (!k)
        return NULL;
    v = &k->receive;
    v->publish = d->publish;
    if (v->publish)
        v->publish_id = env_uuid(d->door.env);
    if (stripe_event_read(&r->arena, r->body, &v->event))
        return NULL;
    if (v->event.readable)
        v->job = v->publish ? S("") : receive_job(&r->arena, &v->event, str_of(v->trace));
    return k;
}

void stripe_door_handle(struct request *r, void *door)
{
    struct stripe_door *d = door;
    enum signature_verdict v;

    if (!door_lets_in(&d->door, r))
        return;
    v = webhook_stripe_verify(d, r);
    if (v)
        refuse_signature(d, r, v);
    else if (door_has_room(&d->door, r))
        door_post(&d->door, r, read_knock(d, r));
}

/* --- the door --- */

static struct door door_of(const struct stripe_door_options *o)
{
    return (struct door){ .provider = S("stripe"),
                          .kind = APPLY_EVENT_KIND,
                          .env = o->env,
                          .store = o->store,
                          .queue = o->queue,
                          .executor = o->executor,
                          .trusted = o->trusted,
                          .backlog_limit = o->backlog_limit,
                          .everybody = true,
                          .ack = o->ack,
                          .alert = o->alert,
                          .alert_ctx = o->alert_ctx };
}

struct stripe_door *stripe_door_new(const struct stripe_door_options *o, struct why *why)
{
    struct stripe_door *d = calloc(1, sizeof(*d));
    struct why wrong;

    if (d) {
        d->keys = stripe_keys_new(o->secrets, o->secret_count);
        d->door = door_of(o);
        d->publish = o->publish;
    }
    if (!d || !d->keys)
        why_set(why, "not enough memory");
    else if (!o->secret_count)
        why_set(why, "STRIPE_WEBHOOK_SECRET is not set: nobody could be believed");
    else if (!door_init(&d->door, o->allow, &wrong))
        why_set(why, "ICHIDO_WEBHOOK_ALLOW: %.200s", wrong.text);
    else
        return d;
    stripe_door_free(d);
    return NULL;
}

void stripe_door_stop(struct stripe_door *d, void (*stopped)(void *ctx), void *ctx)
{
    refusals_stop(&d->door.refusals, stopped, ctx);
}

void stripe_door_free(struct stripe_door *d)
{
    if (!d)
        return;
    stripe_keys_free(d->keys);
    free(d);
}
