/* refetch.c - the job that queries the gateway before an event is applied.
 *
 *   payment known     the gateway's reply is applied instead of the event
 *   payment unknown   the metadata of the fetched intent names the payment: the intent is applied,
 *                     then the event. Without an intent, or without our id in it, it is foreign
 *   edited event      as above, but nothing of the event is applied. For a refund, the refund is
 *                     fetched first, then its intent. What the gateway does not know is dead
 *   PayPay            the payment that a notification names is fetched; its other content is not
 *                     used. An unknown id, or a payment of another gateway, is foreign
 *
 *   (1) One message refetches an event: its id is made of the event's message (refetch_id).
 *   (2) This job writes the event's outcome, in the commit that applies the reply.
 *   (3) A reply that does not fit the payment is retried, and at last a dead letter (D10).
 *
 * A crash during the query leaves the message: its lease expires, and the gateway is queried
 * again. */
#include "event/refetch.h"

#include "base/json/json.h"
#include "event/outcome.h"
#include "gateway/fact.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "payment/attempts.h"
#include "payment/transition.h"
#include "queue/message_span.h"

#include <stdlib.h>
#include <string.h>

enum { REFETCH_ARENA = 512 * 1024, BODY_MAX = 12 * 1024 };

struct refetch {
    struct arena arena;
    struct uuid event_message, payment;
    bool has_payment;
    bool of_paypay;
    bool edited; /* then there is neither a payment nor a fact of the event */
    struct str type, intent, refund, trace;
    struct str fact;            /* the event's, if its payment is not known */
    char place[TRACE_TEXT + 1]; /* of this run of the message */
    struct job *job;
    struct payments *payments;
    struct gateway_call call, refund_call;
    struct gateway_tries tries;
};

enum {
    AT_MESSAGE,
    AT_INTENT,
    AT_PAYMENT,
    AT_TYPE,
    AT_FACT,
    AT_TRACE,
    AT_REFUND,
    AT_EDITED,
    AT_COUNT
};
static const char *const body_paths[AT_COUNT] = { "message", "intent", "payment", "type",
                                                  "fact",    "trace",  "refund",  "edited" };

/* Flips one random bit of the message's id, which gives an id that is as unique. */
struct uuid refetch_id(struct uuid event_message)
{
    event_message.b[sizeof(event_message.b) - 1] ^= 1;
    return event_message;
}

/* The body of a message; body_paths has the names of its fields. */
struct refetch_body {
    struct uuid message;        /* the event's */
    const struct uuid *payment; /* NULL: not known */
    struct str fact;            /* may be empty */
    bool edited;
    struct str intent, refund, type, trace; /* refund: only of an edited event */
};

static void body_write(struct buf *b, const struct refetch_body *w)
{
    char id[UUID_TEXT + 1];

    uuid_text(w->message, id);
    buf_init(b, BODY_MAX);
    buf_fmt(b, "{\"message\":\"%s\"", id);
    if (w->payment) {
        uuid_text(*w->payment, id);
        buf_fmt(b, ",\"payment\":\"%s\"", id);
    }
    if (w->fact.n) {
        buf_add(b, S(",\"fact\":"));
        buf_add(b, w->fact);
    }
    if (w->edited)
        buf_add(b, S(",\"edited\":true"));
    buf_add(b, S(",\"intent\":"));
    buf_json(b, w->intent);
    if (w->edited) {
        buf_add(b, S(",\"refund\":"));
        buf_json(b, w->refund);
    }
    buf_add(b, S(",\"type\":"));
    buf_json(b, w->type);
    if (w->trace.n) {
        buf_add(b, S(",\"trace\":"));
        buf_json(b, w->trace);
    }
    buf_char(b, '}');
}

static struct str body_text(struct arena *a, const struct refetch_body *w)
{
    struct str copy = { 0 };
    struct buf b;

    body_write(&b, w);
    if (!b.failed)
        copy = arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}

/* The message keeps the time at which the event was received. */
static enum err refetch_add(struct tx *tx, struct payments *pp, const struct message *event,
                            const struct refetch_body *w)
{
    struct queue_new m = { .id = refetch_id(event->id),
                           .kind = REFETCH_KIND,
                           .ref = event->ref,
                           .due_ms = env_now_ms(tx_env(tx)) };
    enum err e = ERR_NO_MEMORY;
    struct buf b;

    body_write(&b, w);
    m.body = buf_str(&b);
    if (!b.failed)
        e = queue_add(pp->runtime.queue, tx, event->added_ms, &m, 1);
    buf_release(&b);
    return e;
}

enum err refetch_later(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, const struct payment *p,
                       struct str trace)
{
    struct refetch_body w = { .message = event->id,
                              .payment = &p->id,
                              .intent = f->intent_id,
                              .type = type,
                              .trace = trace };

    return refetch_add(tx, pp, event, &w);
}

enum err refetch_whose(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, struct str fact, struct str trace)
{
    struct refetch_body w = {
        .message = event->id, .fact = fact, .intent = f->intent_id, .type = type, .trace = trace
    };

    return refetch_add(tx, pp, event, &w);
}

enum err refetch_edited(struct tx *tx, struct payments *pp, const struct message *event,
                        struct str type, struct str intent_id, struct str refund_id,
                        struct str trace)
{
    struct refetch_body w = { .message = event->id,
                              .edited = true,
                              .intent = intent_id,
                              .refund = refund_id,
                              .type = type,
                              .trace = trace };

    return refetch_add(tx, pp, event, &w);
}

struct str refetch_edited_body(struct arena *a, struct uuid event_message, struct str type,
                               struct str intent_id, struct str refund_id, struct str trace)
{
    struct refetch_body w = { .message = event_message,
                              .edited = true,
                              .intent = intent_id,
                              .refund = refund_id,
                              .type = type,
                              .trace = trace };

    return body_text(a, &w);
}

struct str paypay_refetch_body(struct arena *a, struct uuid message, struct str type,
                               struct str intent, const struct uuid *payment, struct str trace)
{
    struct refetch_body w = {
        .message = message, .payment = payment, .intent = intent, .type = type, .trace = trace
    };

    return body_text(a, &w);
}

static bool message_is_paypay(const struct message *m)
{
    return str_eq(m->kind, PAYPAY_REFETCH_KIND);
}

static bool refetch_read_body(struct refetch *a, const struct message *m)
{
    struct json_value v[AT_COUNT];

    if (json_pick(m->body, body_paths, AT_COUNT, v, NULL) || v[AT_INTENT].type != JSON_STRING ||
        !uuid_parse(v[AT_MESSAGE].raw, &a->event_message))
        return false;
    a->of_paypay = message_is_paypay(m);
    a->has_payment = v[AT_PAYMENT].type == JSON_STRING;
    if (a->has_payment && !uuid_parse(v[AT_PAYMENT].raw, &a->payment))
        return false;
    a->edited = v[AT_EDITED].type != JSON_ABSENT;
    if (a->edited && (a->has_payment || a->of_paypay || v[AT_REFUND].type != JSON_STRING))
        return false;
    if (!a->has_payment && !a->of_paypay && !a->edited && v[AT_FACT].type != JSON_OBJECT)
        return false;
    a->refund = v[AT_REFUND].raw;
    a->fact = v[AT_FACT].raw;
    a->intent = v[AT_INTENT].raw;
    a->type = v[AT_TYPE].raw;
    a->trace = v[AT_TRACE].raw;
    return !v[AT_INTENT].has_escape && !v[AT_REFUND].has_escape;
}

static void intent_fetched(struct gateway_call *c)
{
    struct refetch *a = CONTAINER_OF(c, struct refetch, call);

    if (c->answer == GATEWAY_OK ||
        (c->answer == GATEWAY_ABSENT && !a->edited && (!a->has_payment || a->of_paypay)))
        job_outside_done(a->job, OK, NULL);
    else if (c->answer == GATEWAY_ABSENT || c->answer == GATEWAY_REFUSED)
        job_outside_done(a->job, ERR_VALIDATION, "the gateway does not know this intent");
    else
        job_outside_done(a->job, ERR_UNAVAILABLE, "the gateway could not be asked");
}

static struct gateway_call refetch_call(struct refetch *a, struct payments *pp,
                                        enum gateway_ask ask)
{
    struct gateway_call c = { .ask = ask,
                              .payment = a->payment,
                              .intent_id = a->intent,
                              .env = a->job->env,
                              .span_name = "Webhook.fetch",
                              .seen = &a->tries,
                              .arena = &a->arena,
                              .executor = pp->runtime.executor,
                              .done = intent_fetched };

    memcpy(c.trace, a->place, sizeof(a->place));
    return c;
}

static void fetch_intent(struct refetch *a, struct payments *pp)
{
    a->call = refetch_call(a, pp, GATEWAY_FETCH);
    gateways_call(gateways_of(pp->gateways, a->of_paypay ? S("paypay") : S("stripe")), &a->call);
}

/* The intent of the refund comes from the gateway's reply, too. */
static void refund_fetched(struct gateway_call *c)
{
    struct refetch *a = CONTAINER_OF(c, struct refetch, refund_call);

    if (c->answer == GATEWAY_ABSENT || c->answer == GATEWAY_REFUSED) {
        job_outside_done(a->job, ERR_VALIDATION, "the gateway does not know this refund");
    } else if (c->answer != GATEWAY_OK) {
        job_outside_done(a->job, ERR_UNAVAILABLE, "the gateway could not be asked");
    } else if (!c->fact.intent_id.n) {
        job_outside_done(a->job, ERR_VALIDATION, "the refund names no intent");
    } else {
        a->intent = c->fact.intent_id;
        fetch_intent(a, a->payments);
    }
}

static void fetch_refund(struct refetch *a, struct payments *pp)
{
    a->refund_call = refetch_call(a, pp, GATEWAY_FETCH_REFUND);
    a->refund_call.refund_id = a->refund;
    a->refund_call.done = refund_fetched;
    gateways_call(gateways_of(pp->gateways, S("stripe")), &a->refund_call);
}

static void refetch_outside(struct job *j, void *ctx)
{
    struct payments *pp = ctx;
    struct refetch *a = calloc(1, sizeof(*a));

    if (!a) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = a;
    a->job = j;
    a->payments = pp;
    a->tries.env = j->env;
    arena_init(&a->arena, REFETCH_ARENA);
    j->arena = &a->arena;
    if (!refetch_read_body(a, j->message)) {
        job_outside_done(j, ERR_VALIDATION, "the message's body cannot be read");
        return;
    }
    message_place(j->env, j->message, a->trace, a->place);
    if (a->of_paypay && !a->has_payment) { /* nothing to query: settle writes the outcome */
        job_outside_done(j, OK, NULL);
        return;
    }
    if (a->refund.n)
        fetch_refund(a, pp);
    else
        fetch_intent(a, pp);
}

/* --- applying the reply --- */

struct refetch_settlement {
    struct tx *tx;
    struct refetch *a;
    struct taking t;
    struct payment p; /* under its lock */
    enum verdict v;
    struct why *why;
};

static enum err refetch_reject(const struct refetch_settlement *s, enum err e, const char *why)
{
    return why_err(s->why, e, "%s", why);
}

static enum err write_outcome(const struct refetch_settlement *s, struct str word,
                              struct str detail, const struct uuid *payment)
{
    struct outcome o = { .message = s->a->event_message,
                         .word = word,
                         .detail = detail,
                         .at_ms = s->t.now_ms,
                         .received_ms = s->a->job->message->added_ms,
                         .payment = payment,
                         .event_id = s->a->job->message->ref };
    enum err e = OK;

    if (payment)
        e = attempts_write(s->tx, *payment, s->a->job->message->id, &s->a->tries);
    return e ? e : outcomes_write(s->tx, &o, 1);
}

static enum err refetch_apply_reply(struct refetch_settlement *s, const struct taking *t)
{
    const struct fact *f = &s->a->call.fact;
    bool ask_fee; /* not used: the reply contains the fee, or there is none yet */
    enum err e = take_intent(s->tx, t, &s->p, f, &s->v);

    if (e)
        return e;
    if (s->v == VERDICT_MISMATCH)
        return refetch_reject(s, ERR_UNAVAILABLE,
                              "other currency, or not the money that was asked for");
    return f->has_fee ? take_charge(s->tx, t, &s->p, f, &ask_fee) : OK;
}

/* By the intent's own row, which another event may have stored meanwhile (D18), else by its
 * metadata. NOT_FOUND: the intent is foreign. */
static enum err refetch_find_payment(struct refetch_settlement *s)
{
    struct refetch *a = s->a;
    struct uuid id;
    enum err e = payment_read_by_intent(s->tx, &a->arena, a->intent, &s->p);

    if (e != ERR_NOT_FOUND || a->call.answer == GATEWAY_ABSENT ||
        !uuid_parse(a->call.fact.payment_id, &id))
        return e;
    e = payment_read(s->tx, &a->arena, id, true, &s->p);
    return e == ERR_NOT_FOUND ? refetch_reject(s, ERR_UNAVAILABLE, "no such payment yet") : e;
}

static enum err refetch_check_gateway(const struct refetch_settlement *s)
{
    if (payment_is_at(s->t.payments, &s->p, S("stripe")))
        return OK;
    return refetch_reject(s, ERR_VALIDATION, "the payment that it names is another gateway's");
}

static enum err refetch_apply_event(struct refetch_settlement *s, const struct fact *f)
{
    enum err e;

    if (f->kind == FACT_REFUND && !is_of_other_intent(&s->p, f) && f->currency[0] &&
        !str_eq(str_of(f->currency), str_of(s->p.money.currency)))
        return refetch_reject(s, ERR_VALIDATION,
                              "the refund is in another currency than its payment");
    e = f->kind == FACT_REFUND ? take_refund(s->tx, &s->t, &s->p, f, &s->v)
                               : take_dispute(s->tx, &s->t, &s->p, f, &s->v);
    if (e == ERR_CONSTRAINT)
        return refetch_reject(s, e, "more would be refunded than was captured");
    if (!e && s->v == VERDICT_MISMATCH)
        return refetch_reject(s, ERR_VALIDATION, "what it is about belongs to another payment");
    return e;
}

/* The intent is not what the event reports, so its row does not name this event. */
static enum err settle_unknown_payment(struct refetch_settlement *s, bool *ret_foreign)
{
    struct taking quiet = s->t;
    struct fact f = { 0 };
    enum err e = refetch_find_payment(s);

    *ret_foreign = e == ERR_NOT_FOUND;
    if (e)
        return *ret_foreign ? OK : e;
    quiet.event_id = (struct str){ 0 };
    e = refetch_check_gateway(s);
    if (!e)
        e = fact_read(&s->a->arena, s->a->fact, &f);
    if (!e && s->a->call.answer == GATEWAY_OK)
        e = refetch_apply_reply(s, &quiet);
    return e ? e : refetch_apply_event(s, &f);
}

static enum err settle_edited_event(struct refetch_settlement *s, bool *ret_foreign)
{
    bool of_refund = s->a->refund.n;
    struct taking quiet = s->t;
    enum err e = refetch_find_payment(s);

    *ret_foreign = e == ERR_NOT_FOUND;
    if (e)
        return *ret_foreign ? OK : e;
    if (of_refund)
        quiet.event_id = (struct str){ 0 };
    e = refetch_check_gateway(s);
    if (!e)
        e = refetch_apply_reply(s, &quiet);
    return e || !of_refund ? e : refetch_apply_event(s, &s->a->refund_call.fact);
}

/* The intent may have been cancelled since because of this decline; its failure is still the one that
 * the event reports. */
static bool reports_decline(const struct refetch *a)
{
    const struct fact *f = &a->call.fact;

    return f->state == INTENT_DECLINED || (f->state == INTENT_CANCELED && f->failure_code.n &&
                                           str_eq(a->type, S("payment_intent.payment_failed")));
}

static enum err settle_known_payment(struct refetch_settlement *s)
{
    const struct refetch *a = s->a;
    struct decline d = { .message = a->event_message,
                         .event_id = a->job->message->ref,
                         .type = a->type,
                         .trace = a->trace };
    enum err e = payment_read(s->tx, &s->a->arena, a->payment, true, &s->p);

    if (!e)
        e = refetch_apply_reply(s, &s->t);
    if (e)
        return e;
    if (s->v != VERDICT_SUPERSEDED && reports_decline(a))
        log_decline(s->tx, &s->p, &a->call.fact, &d);
    return OK;
}

static enum err write_applied(const struct refetch_settlement *s)
{
    return write_outcome(s, s->v == VERDICT_SUPERSEDED ? S("superseded") : S("applied"),
                         S("asked the gateway"), &s->p.id);
}

/* A captured payment was cancelled at PayPay, which returned its money without a refund of ours. */
static bool was_canceled_at_paypay(const struct refetch_settlement *s)
{
    return s->a->call.fact.state == INTENT_CANCELED && s->p.status == PAYMENT_CAPTURED;
}

/* The notification moves nothing by itself: only PayPay's reply about money or its end does. */
static enum err settle_paypay_notification(struct refetch_settlement *s)
{
    struct refetch *a = s->a;
    bool about_payment = str_eq(a->type, S("Transaction"));
    enum err e = ERR_NOT_FOUND;

    if (a->has_payment)
        e = payment_read(s->tx, &a->arena, a->payment, true, &s->p);
    if (e == ERR_NOT_FOUND || (!e && !payment_is_at(s->t.payments, &s->p, S("paypay"))))
        return write_outcome(s, S("ignored"), about_payment ? S("foreign") : S(""), NULL);
    if (e)
        return e;
    if (a->call.answer == GATEWAY_ABSENT || a->call.fact.state == INTENT_OPEN)
        return write_outcome(s, S("ignored"), S("asked the gateway: nobody has paid it"), &s->p.id);
    if (was_canceled_at_paypay(s))
        return refetch_reject(
            s, ERR_VALIDATION,
            "PayPay has cancelled a payment that is captured here, and its money is gone: "
            "it was cancelled outside Ichido, and a person must look at it");
    e = refetch_apply_reply(s, &s->t);
    return e ? e : write_applied(s);
}

static enum err refetch_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct refetch_settlement s = { .tx = tx, .a = j->state, .why = why };
    bool foreign = false;
    enum err e;

    s.t = (struct taking){ .payments = ctx,
                           .arena = &s.a->arena,
                           .now_ms = env_now_ms(tx_env(tx)),
                           .event_id = j->message->ref,
                           .trace = str_of(s.a->place) };
    if (s.a->of_paypay)
        return settle_paypay_notification(&s);
    if (s.a->edited)
        e = settle_edited_event(&s, &foreign);
    else
        e = s.a->has_payment ? settle_known_payment(&s) : settle_unknown_payment(&s, &foreign);
    if (e)
        return e;
    return foreign ? write_outcome(&s, S("ignored"), S("foreign"), NULL) : write_applied(&s);
}

static void refetch_release(struct job *j, void *ctx)
{
    struct refetch *a = j->state;

    (void)ctx;
    if (a)
        arena_release(&a->arena);
    free(a);
    j->state = NULL;
}

static enum err refetch_buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    struct refetch a;

    (void)ctx;
    if (!refetch_read_body(&a, m))
        return OK;
    return outcome_write_dead(tx, a.event_message, why, a.has_payment ? &a.payment : NULL, m->ref);
}

static void emit_span(struct env *env, const struct message *m, enum job_end end, const char *why)
{
    struct json_value v[AT_COUNT];
    struct attribute more[2];
    struct span s;

    if (!env->spans || json_pick(m->body, body_paths, AT_COUNT, v, NULL))
        return;
    s = message_span(env, m, v[AT_TRACE].raw, "Webhook.refetch");
    more[0] = SPAN_TEXT("event.id", m->ref);
    more[1] = SPAN_TEXT("payment.id", v[AT_PAYMENT].raw);
    message_span_end(&s, m, end, why, more, COUNT(more));
}

/* A dead refetch is logged as the failed processing of its event. */
static void refetch_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                          const char *why)
{
    struct json_value v[AT_COUNT];
    char id[UUID_TEXT + 1];

    (void)ctx;
    if (end != JOB_DONE) /* JOB_DONE is counted with the outcome */
        processing_count(env, end);
    emit_span(env, m, end, why);
    if (end != JOB_DEAD || json_pick(m->body, body_paths, AT_COUNT, v, NULL))
        return;
    uuid_text(m->id, id);
    LOG(env->log, LOG_ERROR, "Webhook processing failed", LOG_TEXT("eventId", m->ref),
        LOG_TEXT("eventType", v[AT_TYPE].raw), LOG_TEXT("error", str_of(why)),
        LOG_TEXT("error_type", S("permanent")), LOG_NUM("attempt", m->attempt),
        LOG_TEXT("messageId", str_of(id)), LOG_TRACE(v[AT_TRACE].raw));
}

static struct job_kind refetch_job_kind(const char *name, struct payments *pp, int retries,
                                        int64_t first_ms)
{
    return (struct job_kind){
        .name = name,
        .ctx = pp,
        .retry = retry_of_events(retries, first_ms),
        .outside = refetch_outside,
        .settle = refetch_settle,
        .release = refetch_release,
        .patient = true,
        .buried = refetch_buried,
        .ended = refetch_ended,
    };
}

struct job_kind refetch_kind(struct payments *pp, int retries, int64_t first_ms)
{
    return refetch_job_kind("stripe.refetch", pp, retries, first_ms);
}

struct job_kind paypay_refetch_kind(struct payments *pp, int retries, int64_t first_ms)
{
    return refetch_job_kind("paypay.refetch", pp, retries, first_ms);
}
