/* endpoint.c - the part of a webhook request that all providers share.
 *
 *   (1) A request is acknowledged only after the commit that stores its event (W2).
 *   (2) What was not stored is answered 503, so that the provider sends it again.
 *   (3) An outage fills no log: the answers that a provider repeats are one line a minute. */
#include "webhook/endpoint.h"

#include "base/limits.h"
#include "observe/log.h"
#include "observe/metrics.h"

/* --- admission --- */

static bool sender_is_allowed(const struct webhook_endpoint *d, const struct request *r)
{
    struct address peer, client;

    if (!d->allow.count)
        return d->everybody;
    return address_of(&r->peer, &peer) &&
           client_address(d->trusted, peer, r->headers, r->header_count, &client) &&
           allow_has(&d->allow, client);
}

bool webhook_endpoint_admit(struct webhook_endpoint *d, struct request *r)
{
    if (sender_is_allowed(d, r))
        return true;
    rejections_add(&d->rejections, r, REJECTED_ADDRESS);
    reply_problem(r, ERR_FORBIDDEN, NULL);
    return false;
}

/* A full queue or an unreachable database causes thousands of these: one line a minute, with their
 * number since the last line. */
static void log_unstored_for_now(struct webhook_endpoint *d, const struct request *r, enum err e)
{
    int64_t now_ms = env_now_ms(d->env), until = atomic_load(&d->quiet_until_ms);
    char trace[TRACE_TEXT + 1];

    atomic_fetch_add(&d->unstored, 1);
    if (now_ms < until || !atomic_compare_exchange_strong(&d->quiet_until_ms, &until,
                                                          now_ms + LIMIT_UNSTORED_LINE_MS))
        return;
    trace_text(&r->trace, trace);
    LOG(d->env->log, LOG_WARN, "Webhook could not be stored", LOG_TEXT("code", str_of(err_code(e))),
        LOG_NUM("count", atomic_exchange(&d->unstored, 0)), LOG_TEXT("requestId", r->id),
        LOG_TRACE(str_of(trace)));
}

/* An error of this server. The provider sends the event again in this case too. */
static void log_unstored(const struct webhook_endpoint *d, const struct request *r, enum err e)
{
    char trace[TRACE_TEXT + 1];

    trace_text(&r->trace, trace);
    LOG(d->env->log, LOG_ERROR, "Webhook could not be stored",
        LOG_TEXT("code", str_of(err_code(e))), LOG_TEXT("requestId", r->id),
        LOG_TRACE(str_of(trace)));
}

static void reply_unstored(struct webhook_endpoint *d, struct request *r, enum err e)
{
    bool comes_again = err_status(e) == 503;

    metrics_count(d->env->metrics, COUNT_WEBHOOK_UNSTORED, 1);
    if (comes_again)
        log_unstored_for_now(d, r, e);
    else
        log_unstored(d, r, e);
    reply_problem(r, comes_again ? e : ERR_UNAVAILABLE, NULL);
}

bool webhook_endpoint_has_room(struct webhook_endpoint *d, struct request *r)
{
    if (d->backlog_limit <= 0 || queue_live(d->queue) < d->backlog_limit)
        return true;
    reply_unstored(d, r, ERR_BACKLOG);
    return false;
}

/* --- the answer --- */

static void report_unreadable(const struct webhook_endpoint *d, const struct receive *v)
{
    struct message m = {
        .id = v->new_id, .kind = v->kind, .ref = v->event.id, .added_ms = v->received_ms
    };

    metrics_count_as(d->env->metrics, COUNT_EVENT_OUTCOME, S("dead"), 1);
    metrics_count_as(d->env->metrics, COUNT_PROCESSING, S("dead"), 1);
    LOG(d->env->log, LOG_ERROR, "Webhook processing failed", LOG_TEXT("eventId", v->event.id),
        LOG_TEXT("eventType", v->event.type), LOG_TEXT("error", str_of(v->event.why)),
        LOG_TEXT("error_type", S("permanent")), LOG_TEXT("requestId", v->request_id),
        LOG_TRACE(str_of(v->trace)));
    if (d->alert)
        d->alert(d->alert_ctx, &m, v->event.why);
}

static void report_stored(const struct webhook_endpoint *d, const struct receive *v)
{
    struct metrics *m = d->env->metrics;

    metrics_count(m, COUNT_WEBHOOK_RECEIVED, 1);
    if (v->duplicate)
        metrics_count(m, COUNT_WEBHOOK_DUPLICATE, 1);
    else if (!v->event.readable)
        report_unreadable(d, v);
}

static void endpoint_acknowledge(const struct webhook_request *k)
{
    const struct webhook_endpoint *d = k->endpoint;
    struct request *r = k->request;
    char id[UUID_TEXT + 1];

    uuid_text(k->receive.message_id, id);
    reply_header(r, S("X-Event-Id"), k->receive.event.id);
    reply_header(r, S("X-Message-Id"), str_of(id));
    if (d->ack == 200)
        reply_send(r, 200, S("application/json"), S("{\"received\":true}"));
    else
        reply_send(r, 204, S(""), S(""));
}

/* Measured also where the store failed, since the provider waited as long. Requests that are
 * rejected before the store are not measured. */
static void observe_answer_time(const struct webhook_endpoint *d, const struct request *r)
{
    metrics_time(d->env->metrics, TIME_ACK, clock_mono_us(&d->env->clock) - r->began_us);
}

static void endpoint_stored(struct unit *u)
{
    struct webhook_request *k = CONTAINER_OF(u, struct webhook_request, receive.unit);

    receive_span_end(&k->receive);
    observe_answer_time(k->endpoint, k->request);
    if (u->err) {
        reply_unstored(k->endpoint, k->request, u->err);
        return;
    }
    report_stored(k->endpoint, &k->receive);
    endpoint_acknowledge(k); /* frees the request, and k with it */
}

/* --- the request --- */

struct webhook_request *webhook_request_new(struct webhook_endpoint *d, struct request *r)
{
    struct webhook_request *k = arena_alloc(&r->arena, 1, sizeof(*k));
    struct receive *v;

    if (!k)
        return NULL;
    k->request = r;
    k->endpoint = d;
    v = &k->receive;
    v->unit =
        (struct unit){ .kind = &receive_kind, .executor = r->executor, .done = endpoint_stored };
    v->provider = d->provider;
    v->kind = d->kind;
    v->queue = d->queue;
    v->body = r->body;
    v->request_id = r->id;
    v->received_ms = env_now_ms(d->env);
    v->new_id = env_uuid(d->env);
    v->span = span_begin_child(d->env, &r->trace, SPAN_PRODUCER, "Webhook.enqueue");
    trace_text(v->span.spans ? &v->span.trace : &r->trace, v->trace);
    return k;
}

void webhook_endpoint_store(struct webhook_endpoint *d, struct request *r,
                            struct webhook_request *k)
{
    struct receive *v = k ? &k->receive : NULL;

    if (!v || (v->event.readable && !v->job.p)) {
        reply_unstored(d, r, ERR_NO_MEMORY);
        return;
    }
    v->unit.bytes = v->body.n + v->job.n;
    store_post(d->store, &v->unit);
}

/* --- start --- */

bool webhook_endpoint_init(struct webhook_endpoint *d, struct str allow, struct why *why)
{
    if (!allow_parse(&d->allow, allow, why))
        return false;
    rejections_init(&d->rejections, d->env, d->store, d->executor);
    d->rejections.provider = d->provider;
    return true;
}
