/* stripe.c - one request of Stripe: address, signature, backlog, event, one unit of work, answer.
 *
 * Until the commit a crash leaves nothing behind and Stripe sends the event again. After the commit
 * the event and its message are stored, and a repeat is a duplicate. */
#include "webhook/stripe.h"

#include "event/apply_event.h"
#include "webhook/endpoint.h"
#include "webhook/signature.h"

#include <stdio.h>
#include <stdlib.h>

struct stripe_door {
    struct webhook_endpoint endpoint;
    struct stripe_keys *keys;
    bool publish;
};

/* --- the signature --- */

static enum signature_verdict stripe_request_verify(const struct stripe_door *d,
                                                    const struct request *r)
{
    size_t count = 0;
    struct str header = request_header(r, S("Stripe-Signature"), &count);

    if (count > 1)
        return SIGNATURE_MALFORMED;
    return stripe_verify(d->keys, header, r->body, clock_wall_ms(&d->endpoint.env->clock) / 1000);
}

static void stripe_request_reject(struct stripe_door *d, struct request *r,
                                  enum signature_verdict v)
{
    static const enum rejection rejections[SIGNATURE_VERDICTS] = {
        [SIGNATURE_NO_HEADER] = REJECTED_NO_HEADER,
        [SIGNATURE_MALFORMED] = REJECTED_MALFORMED,
        [SIGNATURE_NO_TIMESTAMP] = REJECTED_NO_TIMESTAMP,
        [SIGNATURE_NO_V1] = REJECTED_NO_V1,
        [SIGNATURE_MISMATCH] = REJECTED_MISMATCH,
        [SIGNATURE_TOO_OLD] = REJECTED_TOO_OLD,
        [SIGNATURE_FUTURE] = REJECTED_FUTURE,
        [SIGNATURE_EMPTY] = REJECTED_EMPTY,
    };
    char detail[160];

    rejections_add(&d->endpoint.rejections, r, rejections[v]);
    snprintf(detail, sizeof(detail), "%s (%s)", err_words(ERR_SIGNATURE, r->language),
             signature_reason(v));
    reply_problem(r, ERR_SIGNATURE, detail);
}

/* --- the request --- */

static struct webhook_request *stripe_request_read(struct stripe_door *d, struct request *r)
{
    struct webhook_request *k = webhook_request_new(&d->endpoint, r);
    struct receive *v;

    if (!k)
        return NULL;
    v = &k->receive;
    v->publish = d->publish;
    if (v->publish)
        v->publish_id = env_uuid(d->endpoint.env);
    if (stripe_event_read(&r->arena, r->body, &v->event))
        return NULL;
    if (v->event.readable)
        v->job = v->publish ? S("") : receive_job(&r->arena, &v->event, str_of(v->trace));
    return k;
}

void stripe_door_handle(struct request *r, void *endpoint)
{
    struct stripe_door *d = endpoint;
    enum signature_verdict v;

    if (!webhook_endpoint_admit(&d->endpoint, r))
        return;
    v = stripe_request_verify(d, r);
    if (v)
        stripe_request_reject(d, r, v);
    else if (webhook_endpoint_has_room(&d->endpoint, r))
        webhook_endpoint_store(&d->endpoint, r, stripe_request_read(d, r));
}

/* --- start and end --- */

static struct webhook_endpoint endpoint_of_options(const struct stripe_door_options *o)
{
    return (struct webhook_endpoint){ .provider = S("stripe"),
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
        d->endpoint = endpoint_of_options(o);
        d->publish = o->publish;
    }
    if (!d || !d->keys)
        why_set(why, "not enough memory");
    else if (!o->secret_count)
        why_set(why, "STRIPE_WEBHOOK_SECRET is not set: nobody could be believed");
    else if (!webhook_endpoint_init(&d->endpoint, o->allow, &wrong))
        why_set(why, "ICHIDO_WEBHOOK_ALLOW: %.200s", wrong.text);
    else
        return d;
    stripe_door_free(d);
    return NULL;
}

void stripe_door_stop(struct stripe_door *d, void (*stopped)(void *ctx), void *ctx)
{
    rejections_stop(&d->endpoint.rejections, stopped, ctx);
}

void stripe_door_free(struct stripe_door *d)
{
    if (!d)
        return;
    stripe_keys_free(d->keys);
    free(d);
}
