#include "webhook/stripe.h"

#include "flow/apply_event.h"
#include "gateway/fact.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "webhook/allow.h"
#include "webhook/receive.h"
#include "webhook/refusals.h"
#include "webhook/signature.h"

#include <stdio.h>
#include <stdlib.h>

struct stripe_door {
    struct stripe_door_options o;
    struct stripe_keys *keys;
    struct allow_list allow;
    struct refusals refusals;
};

struct knock { /* one request, in its own arena */
    struct receive receive;
    struct request *request;
    struct stripe_door *door;
};

/* --- who and whether --- */

static bool may_knock(const struct stripe_door *d, const struct request *r)
{
    struct address peer, client;

    if (!d->allow.count)
        return true;
    return address_of(&r->peer, &peer) &&
           client_address(d->o.trusted, peer, r->headers, r->header_count, &client) &&
           allow_has(&d->allow, client);
}

static enum signature_verdict verify(const struct stripe_door *d, const struct request *r)
{
    size_t count = 0;
    struct str header = request_header(r, S("Stripe-Signature"), &count);

    if (count > 1)
        return SIGNATURE_MALFORMED;
    return stripe_verify(d->keys, header, r->body, clock_wall_ms(&d->o.env->clock) / 1000);
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

    refusals_add(&d->refusals, r, refusals[v]);
    snprintf(detail, sizeof(detail), "%s (%s)", err_words(ERR_SIGNATURE, r->language),
             signature_reason(v));
    reply_problem(r, ERR_SIGNATURE, detail);
}

static void refuse_for_now(struct stripe_door *d, struct request *r, enum err e)
{
    metrics_count(d->o.env->metrics, COUNT_WEBHOOK_UNSTORED, 1);
    if (err_status(e) != 503) { /* ours to mend; Stripe sends again all the same */
        LOG(d->o.env->log, LOG_ERROR, "Webhook could not be stored",
            LOG_TEXT("code", str_of(err_code(e))), LOG_TEXT("requestId", r->id));
        e = ERR_UNAVAILABLE;
    }
    reply_problem(r, e, NULL);
}

static bool is_full(const struct stripe_door *d)
{
    return d->o.backlog_limit > 0 && queue_live(d->o.queue) >= d->o.backlog_limit;
}

/* --- the answer --- */

static void tell_of_unreadable(const struct stripe_door *d, const struct receive *v)
{
    struct message m = {
        .id = v->new_id, .kind = APPLY_EVENT_KIND, .ref = v->event.id, .added_ms = v->received_ms
    };

    metrics_count_as(d->o.env->metrics, COUNT_EVENT_OUTCOME, S("dead"), 1);
    LOG(d->o.env->log, LOG_ERROR, "Webhook processing failed", LOG_TEXT("eventId", v->event.id),
        LOG_TEXT("eventType", v->event.type), LOG_TEXT("error", str_of(v->event.why)),
        LOG_TEXT("requestId", v->request_id), LOG_TEXT("trace", str_of(v->trace)));
    if (d->o.alert)
        d->o.alert(d->o.alert_ctx, &m, v->event.why);
}

static void count_stored(const struct stripe_door *d, const struct receive *v)
{
    struct metrics *m = d->o.env->metrics;

    metrics_count(m, COUNT_WEBHOOK_RECEIVED, 1);
    if (v->duplicate)
        metrics_count(m, COUNT_WEBHOOK_DUPLICATE, 1);
    else if (!v->event.readable)
        tell_of_unreadable(d, v);
}

static void acknowledge(const struct knock *k)
{
    const struct stripe_door *d = k->door;
    struct request *r = k->request;
    char id[UUID_TEXT + 1];

    uuid_text(k->receive.message_id, id);
    reply_header(r, S("X-Event-Id"), k->receive.event.id);
    reply_header(r, S("X-Message-Id"), str_of(id));
    metrics_time(d->o.env->metrics, TIME_ACK, clock_mono_us(&d->o.env->clock) - r->began_us);
    if (d->o.ack == 200)
        reply_send(r, 200, S("application/json"), S("{\"received\":true}"));
    else
        reply_send(r, 204, S(""), S(""));
}

static void stored(struct unit *u)
{
    struct knock *k = CONTAINER_OF(u, struct knock, receive.unit);

    if (u->err) {
        refuse_for_now(k->door, k->request, u->err);
        return;
    }
    count_stored(k->door, &k->receive);
    acknowledge(k); /* the request and k are gone behind it */
}

/* --- the request --- */

/* What the event says about a payment goes along, so that applying it reads no body again. An event
 * of ours that cannot be understood still goes to the queue, and from there to the dead letters;
 * other people's are not ours to judge. */
static struct str fact_of(struct request *r, const struct stripe_event *e)
{
    struct uuid ours;

    if (!event_type_is_known(e->type) || (!e->fact_err && e->fact.kind == FACT_NONE))
        return S("");
    if (!e->fact_err)
        return fact_write(&r->arena, &e->fact);
    return uuid_parse(e->payment_id, &ours) ? S("{\"kind\":\"bad\"}") : S("");
}

static struct str job_of(struct request *r, const struct receive *v)
{
    const struct stripe_event *e = &v->event;
    struct event_job job = { .type = e->type,
                             .livemode = e->livemode,
                             .object_id = e->object_id,
                             .intent_id = e->intent_id,
                             .payment_id = e->payment_id,
                             .trace = str_of(v->trace),
                             .fact = fact_of(r, e) };

    return job.fact.p ? event_job_write(&r->arena, &job) : (struct str){ 0 };
}

static struct knock *knock_new(struct stripe_door *d, struct request *r)
{
    struct knock *k = arena_alloc(&r->arena, 1, sizeof(*k));
    struct receive *v;

    if (!k)
        return NULL;
    k->request = r;
    k->door = d;
    v = &k->receive;
    v->unit = (struct unit){ .kind = &receive_kind, .home = r->home, .done = stored };
    v->queue = d->o.queue;
    v->body = r->body;
    v->request_id = r->id;
    v->received_ms = env_now_ms(d->o.env);
    v->new_id = env_uuid(d->o.env);
    trace_text(&r->trace, v->trace);
    if (stripe_event_read(&r->arena, r->body, &v->event))
        return NULL;
    v->job = v->event.readable ? job_of(r, v) : (struct str){ 0 };
    v->unit.bytes = v->body.n + v->job.n;
    return v->event.readable && !v->job.p ? NULL : k;
}

void stripe_door_handle(struct request *r, void *door)
{
    struct stripe_door *d = door;
    enum signature_verdict v;
    struct knock *k;

    if (!may_knock(d, r)) {
        refusals_add(&d->refusals, r, REFUSED_ADDRESS);
        reply_problem(r, ERR_FORBIDDEN, NULL);
        return;
    }
    v = verify(d, r);
    if (v) {
        refuse_signature(d, r, v);
        return;
    }
    if (is_full(d)) {
        refuse_for_now(d, r, ERR_BACKLOG);
        return;
    }
    k = knock_new(d, r);
    if (k)
        store_post(d->o.store, &k->receive.unit);
    else
        refuse_for_now(d, r, ERR_NO_MEMORY);
}

/* --- the door --- */

struct stripe_door *stripe_door_new(const struct stripe_door_options *o, char why[256])
{
    struct stripe_door *d = calloc(1, sizeof(*d));
    char wrong[256];

    if (d)
        d->keys = stripe_keys_new(o->secrets, o->secret_count);
    if (!d || !d->keys)
        snprintf(why, 256, "not enough memory");
    else if (!o->secret_count)
        snprintf(why, 256, "STRIPE_WEBHOOK_SECRET is not set: nobody could be believed");
    else if (!allow_parse(&d->allow, o->allow, wrong))
        snprintf(why, 256, "ICHIDO_WEBHOOK_ALLOW: %.200s", wrong);
    else {
        d->o = *o;
        refusals_init(&d->refusals, o->env, o->store, o->home);
        return d;
    }
    stripe_door_free(d);
    return NULL;
}

void stripe_door_stop(struct stripe_door *d, void (*stopped)(void *ctx), void *ctx)
{
    refusals_stop(&d->refusals, stopped, ctx);
}

void stripe_door_free(struct stripe_door *d)
{
    if (!d)
        return;
    stripe_keys_free(d->keys);
    free(d);
}
