/* deliver.c - the job that delivers one event to one subscriber.
 *
 *   read (event, subscriber) --> POST, signed --> 2xx: done
 *        |                                   |--> 410: the subscriber is disabled, done
 *        '--> no subscriber: done            '--> anything else: again by the schedule, about
 *                                                 three days in all; then a dead letter
 *
 * After a crash between the POST and the settle, the event is sent again with the same webhook-id:
 * delivery is at least once (D28). Its lane waits meanwhile, so the payment's events arrive in
 * order. */
#include "auth/standard_webhooks.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "http/client/client.h"
#include "observe/log.h"
#include "observe/span.h"
#include "outbox/outbox.h"
#include "store/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEBHOOK_ID = 2 * UUID_TEXT + 1 };

enum delivery_outcome_kind {
    OUTCOME_NO_SUBSCRIBER,
    OUTCOME_ACCEPTED,
    OUTCOME_GONE,
    OUTCOME_FAILED
};

struct delivery {
    struct job *job;
    struct deliveries *parts;
    struct uuid event, subscriber;
    struct arena arena; /* of what was read, and of the answer */
    struct unit unit;
    struct str body, url, secret;
    char id[WEBHOOK_ID + 1], at[24], signature[SIGNING_TEXT + 1];
    struct header headers[5];
    struct call call;
    enum delivery_outcome_kind outcome;
    int64_t retry_after_ms;
    char trace[TRACE_TEXT + 1];
    struct span span;
    struct why why;
};

int64_t delivery_delay_ms(int64_t attempt, int64_t retry_after_ms)
{
    return retry_no_sooner_ms(retry_delay_ms(&retry_table[RETRY_DELIVERY], attempt),
                              retry_after_ms);
}

/* --- the answer --- */

/* A status counts even if the rest of the answer was lost. */
static enum delivery_outcome_kind delivery_outcome(const struct call *c)
{
    if (c->status >= 200 && c->status < 300)
        return OUTCOME_ACCEPTED;
    return c->status == 410 ? OUTCOME_GONE : OUTCOME_FAILED;
}

static void delivery_end_span(struct delivery *d)
{
    char event[UUID_TEXT + 1], subscriber[UUID_TEXT + 1];

    uuid_text(d->event, event);
    uuid_text(d->subscriber, subscriber);
    SPAN_END(&d->span, d->outcome == OUTCOME_FAILED ? d->why.text : NULL,
             SPAN_TEXT("event.id", str_of(event)), SPAN_TEXT("subscriber.id", str_of(subscriber)),
             SPAN_NUM("http.response.status_code", d->call.status),
             SPAN_NUM("messaging.attempt", d->job->message->attempt));
}

static void delivery_answered(struct call *c)
{
    struct delivery *d = CONTAINER_OF(c, struct delivery, call);

    d->outcome = delivery_outcome(c);
    d->retry_after_ms =
        retry_after_ms(call_header(c, S("Retry-After")), clock_wall_ms(&d->parts->env->clock));
    if (c->status)
        why_set(&d->why, "the subscriber answered %d", c->status);
    else
        why_set(&d->why, "the subscriber was not reached: %s", c->why);
    delivery_end_span(d);
    job_outside_done(d->job, OK, NULL);
}

/* --- the call --- */

static bool delivery_sign(struct delivery *d)
{
    char event[UUID_TEXT + 1], subscriber[UUID_TEXT + 1];

    uuid_text(d->event, event);
    uuid_text(d->subscriber, subscriber);
    snprintf(d->id, sizeof(d->id), "%s_%s", event, subscriber);
    snprintf(d->at, sizeof(d->at), "%lld",
             (long long)(clock_wall_ms(&d->parts->env->clock) / 1000));
    return signing_sign(d->secret, str_of(d->id), str_of(d->at), d->body, d->signature);
}

static void delivery_post(struct delivery *d)
{
    if (!delivery_sign(d)) {
        job_outside_done(d->job, ERR_INTERNAL, "the delivery could not be signed");
        return;
    }
    d->headers[0] = (struct header){ S("Content-Type"), S("application/json") };
    d->headers[1] = (struct header){ S("webhook-id"), str_of(d->id) };
    d->headers[2] = (struct header){ S("webhook-timestamp"), str_of(d->at) };
    d->headers[3] = (struct header){ S("webhook-signature"), str_of(d->signature) };
    d->headers[4] = (struct header){ S("traceparent"), str_of(d->trace) };
    d->call = (struct call){ .method = S("POST"),
                             .url = d->url,
                             .body = d->body,
                             .headers = d->headers,
                             .header_count = COUNT(d->headers) - !d->trace[0],
                             .timeout_ms = LIMIT_DELIVERY_MS,
                             .answer_max = LIMIT_DELIVERY_ANSWER,
                             .arena = &d->arena,
                             .executor = d->parts->executor,
                             .done = delivery_answered };
    client_call(d->parts->client, &d->call);
}

/* --- reading the event and the subscriber --- */

static enum err delivery_read(struct tx *tx, struct unit *u)
{
    struct delivery *d = CONTAINER_OF(u, struct delivery, unit);
    struct row row;
    enum err e = TX_ROW(tx, STMT_delivery_read, &row, v_uuid(&d->subscriber), v_uuid(&d->event));

    d->url = (struct str){ 0 };
    if (e)
        return e;
    if (row.col[1].type == VAL_NULL || row.col[3].type != VAL_NULL)
        return OK; /* removed or disabled */
    d->body = arena_str(&d->arena, row.col[0].s);
    d->url = arena_str(&d->arena, row.col[1].s);
    d->secret = arena_str(&d->arena, row.col[2].s);
    return d->body.p && d->url.p && d->secret.p ? OK : ERR_NO_MEMORY;
}

static void delivery_was_read(struct unit *u)
{
    struct delivery *d = CONTAINER_OF(u, struct delivery, unit);

    if (u->err == ERR_NOT_FOUND)
        job_outside_done(d->job, ERR_NOT_FOUND, "the event is not there any more");
    else if (u->err)
        job_outside_done(d->job, u->err, NULL);
    else if (d->url.n)
        delivery_post(d);
    else {
        why_set(&d->why, "the subscriber was removed or disabled");
        job_outside_done(d->job, OK, NULL);
    }
}

static bool delivery_parse(const struct message *m, struct uuid *ret_event, struct uuid *ret_to,
                           struct str *ret_trace)
{
    static const char *const paths[] = { "event", "subscriber", "trace" };
    struct json_value v[COUNT(paths)];

    if (json_pick(m->body, paths, COUNT(paths), v, NULL))
        return false;
    *ret_trace = v[2].raw;
    return v[0].type == JSON_STRING && v[1].type == JSON_STRING &&
           uuid_parse(v[0].raw, ret_event) && uuid_parse(v[1].raw, ret_to);
}

/* --- the job --- */

static void delivery_outside(struct job *j, void *ctx)
{
    static const struct unit_kind kind = { "event.read", UNIT_READ, delivery_read, NULL };
    struct delivery *d = calloc(1, sizeof(*d));
    struct str trace = { 0 };

    if (!d) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = d; /* freed by delivery_release() */
    d->job = j;
    d->parts = ctx;
    arena_init(&d->arena, LIMIT_DELIVERY_ARENA);
    if (!delivery_parse(j->message, &d->event, &d->subscriber, &trace)) {
        job_outside_done(j, ERR_VALIDATION, "the message names no event and subscriber");
        return;
    }
    d->span = span_begin(j->env, trace, SPAN_CLIENT, "Event.deliver");
    span_place(&d->span, trace, d->trace);
    d->unit = (struct unit){
        .kind = &kind, .executor = d->parts->executor, .done = delivery_was_read, .arena = &d->arena
    };
    store_post(d->parts->store, &d->unit);
}

static enum err subscriber_disable(struct tx *tx, const struct delivery *d, int64_t now_ms)
{
    char id[UUID_TEXT + 1];
    struct row row;
    enum err e = TX_ROW(tx, STMT_subscriber_disable, &row, V_INT(now_ms), v_uuid(&d->subscriber));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e; /* removed, or disabled before */
    uuid_text(d->subscriber, id);
    return TX_DO(tx, STMT_audit_add, 1, V_INT(now_ms), V_TEXT(S("SUBSCRIBER_DISABLE")),
                 V_TEXT(str_of(id)), V_TEXT(S("success")), V_INT(1), V_TEXT(S("it answered 410")));
}

static enum err delivery_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct delivery *d = j->state;
    int64_t now_ms = env_now_ms(j->env), delay;

    (void)ctx;
    j->again_ms = 0;
    why_set(why, "%s", d->why.text);
    if (d->outcome == OUTCOME_GONE)
        return subscriber_disable(tx, d, now_ms);
    if (d->outcome != OUTCOME_FAILED)
        return OK;
    delay = delivery_delay_ms(j->message->attempt, d->retry_after_ms);
    if (delay < 0)
        return ERR_UNPROCESSABLE; /* terminal: the schedule is at its end */
    j->again_ms = now_ms + delay;
    return OK;
}

static void delivery_release(struct job *j, void *ctx)
{
    struct delivery *d = j->state;

    (void)ctx;
    if (!d)
        return;
    arena_release(&d->arena);
    free(d);
    j->state = NULL;
}

static void delivery_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                           const char *why)
{
    static const struct {
        enum log_level level;
        const char *line;
    } lines[] = {
        [JOB_DONE] = { LOG_INFO, "Event delivery done" },
        [JOB_RETRIED] = { LOG_WARN, "Event delivery failed" },
        [JOB_DEAD] = { LOG_ERROR, "Event delivery given up" },
        [JOB_PUT_OFF] = { LOG_WARN, "Event delivery failed" },
    };
    struct uuid event, subscriber;
    char to[UUID_TEXT + 1] = "";
    struct str trace;

    (void)ctx;
    if (delivery_parse(m, &event, &subscriber, &trace))
        uuid_text(subscriber, to);
    LOG(env->log, lines[end].level, lines[end].line, LOG_TEXT("eventId", m->ref),
        LOG_TEXT("subscriberId", str_of(to)), LOG_NUM("attempt", m->attempt),
        LOG_TEXT("why", str_of(why)));
}

struct job_kind delivery_kind(struct deliveries *d)
{
    return (struct job_kind){
        .name = "event.deliver",
        .ctx = d,
        .retry = retry_table[RETRY_DELIVERY_JOB],
        .outside = delivery_outside,
        .settle = delivery_settle,
        .release = delivery_release,
        .patient = true,
        .ended = delivery_ended,
    };
}
