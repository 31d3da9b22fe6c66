/* refetch.c - see refetch.h. What the gateway says now is taken instead of what the event said;
 * where even that does not fit the payment, it is tried again, and at last a dead letter (D10). */
#include "flow/refetch.h"

#include "base/json.h"
#include "flow/move.h"
#include "flow/outcome.h"
#include "observe/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_ARENA = 512 * 1024, RETRY_MAX_MS = 24 * 3600 * 1000 };

struct ask {
    struct arena arena;
    struct uuid event_message, payment;
    struct job *job;
    struct gateway_call call;
};

enum { AT_MESSAGE, AT_INTENT, AT_PAYMENT, AT_TYPE, AT_COUNT };
static const char *const paths[AT_COUNT] = { "message", "intent", "payment", "type" };

enum err refetch_later(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, const struct payment *p)
{
    struct env *env = tx_env(tx);
    int64_t now_ms = env_now_ms(env);
    struct queue_new m = { .id = env_uuid(env), .kind = S("stripe.refetch"), .due_ms = now_ms };
    char message[UUID_TEXT + 1], payment[UUID_TEXT + 1];
    struct buf b;
    enum err e = ERR_NO_MEMORY;

    uuid_text(event->id, message);
    uuid_text(p->id, payment);
    buf_init(&b, 2048);
    buf_fmt(&b, "{\"message\":\"%s\",\"payment\":\"%s\",\"intent\":", message, payment);
    buf_json(&b, f->intent_id);
    buf_add(&b, S(",\"type\":"));
    buf_json(&b, type);
    buf_char(&b, '}');
    m.ref = event->ref;
    m.body = buf_str(&b);
    if (!b.failed)
        e = queue_add(pp->queue, tx, now_ms, &m, 1);
    buf_release(&b);
    return e;
}

static bool read_body(struct ask *a, struct str body, struct str *ret_intent)
{
    struct json_value v[AT_COUNT];

    if (json_pick(body, paths, AT_COUNT, v, NULL) || v[AT_INTENT].type != JSON_STRING ||
        !uuid_parse(v[AT_MESSAGE].raw, &a->event_message) ||
        !uuid_parse(v[AT_PAYMENT].raw, &a->payment))
        return false;
    *ret_intent = v[AT_INTENT].raw;
    return !v[AT_INTENT].has_escape;
}

static void call_done(struct gateway_call *c)
{
    struct ask *a = CONTAINER_OF(c, struct ask, call);

    if (c->answer == GATEWAY_OK)
        job_outside_done(a->job, OK, NULL);
    else if (c->answer == GATEWAY_ABSENT || c->answer == GATEWAY_REFUSED)
        job_outside_done(a->job, ERR_VALIDATION, "the gateway does not know this intent");
    else
        job_outside_done(a->job, ERR_UNAVAILABLE, "the gateway could not be asked");
}

static void outside(struct job *j, void *ctx)
{
    struct payments *pp = ctx;
    struct ask *a = calloc(1, sizeof(*a));
    struct str intent;

    if (!a) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = a;
    a->job = j;
    arena_init(&a->arena, ASK_ARENA);
    j->arena = &a->arena;
    if (!read_body(a, j->message->body, &intent)) {
        job_outside_done(j, ERR_VALIDATION, "the message's body cannot be read");
        return;
    }
    a->call = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                     .payment = a->payment,
                                     .intent_id = intent,
                                     .arena = &a->arena,
                                     .home = pp->home,
                                     .done = call_done };
    gateway_call(pp->gateway, &a->call);
}

static enum err settle(struct tx *tx, struct job *j, void *ctx, char why[256])
{
    struct ask *a = j->state;
    struct taking t = { .payments = ctx,
                        .arena = &a->arena,
                        .now_ms = env_now_ms(tx_env(tx)),
                        .event_id = j->message->ref };
    struct outcome o;
    struct payment p;
    enum verdict v = VERDICT_SAME;
    bool ask_fee; /* never: it brings the fee, or there is none yet */
    enum err e;

    e = payment_read(tx, &a->arena, a->payment, true, &p);
    if (!e)
        e = take_intent(tx, &t, &p, &a->call.fact, &v);
    if (e)
        return e;
    if (a->call.fact.has_fee && v != VERDICT_MISMATCH)
        e = take_charge(tx, &t, &p, &a->call.fact, &ask_fee);
    if (e)
        return e;
    if (v == VERDICT_MISMATCH) {
        snprintf(why, 256, "other currency, or more money than was asked for");
        return ERR_UNAVAILABLE;
    }
    o = (struct outcome){ .message = a->event_message,
                          .word = v == VERDICT_SUPERSEDED ? S("superseded") : S("applied"),
                          .detail = S("asked the gateway"),
                          .at_ms = t.now_ms,
                          .payment = &p.id,
                          .event_id = j->message->ref };
    return outcomes_write(tx, &o, 1);
}

static void release(struct job *j, void *ctx)
{
    struct ask *a = j->state;

    (void)ctx;
    if (a)
        arena_release(&a->arena);
    free(a);
    j->state = NULL;
}

static enum err buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    struct ask a;
    struct str intent;

    (void)ctx;
    return read_body(&a, m->body, &intent)
               ? outcome_write_dead(tx, a.event_message, why, &a.payment, m->ref)
               : OK;
}

/* Its death is the event's own. */
static void ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                  const char *why)
{
    struct json_value v[AT_COUNT];
    char id[UUID_TEXT + 1];

    (void)ctx;
    if (end != JOB_DEAD || json_pick(m->body, paths, AT_COUNT, v, NULL))
        return;
    uuid_text(m->id, id);
    LOG(env->log, LOG_ERROR, "Webhook processing failed", LOG_TEXT("eventId", m->ref),
        LOG_TEXT("eventType", v[AT_TYPE].raw), LOG_TEXT("error", str_of(why)),
        LOG_NUM("attempt", m->attempt), LOG_TEXT("messageId", str_of(id)));
}

struct job_kind refetch_kind(struct payments *pp, int retries, int64_t first_ms)
{
    return (struct job_kind){
        .name = "stripe.refetch",
        .ctx = pp,
        .retry = { .retries = retries, .first_ms = first_ms, .max_ms = RETRY_MAX_MS, .factor = 2 },
        .outside = outside,
        .settle = settle,
        .release = release,
        .patient = true,
        .buried = buried,
        .ended = ended,
    };
}
