/* refetch.c - see refetch.h.
 *
 *   payment known     what the gateway says now is taken instead of what the event said
 *   not known         the intent's metadata names the payment: first the intent is taken, then what
 *                     the event said; without our name in it, or without an intent, it is foreign
 *
 * Where even that does not fit the payment, it is tried again, and at last a dead letter (D10). */
#include "flow/refetch.h"

#include "base/json.h"
#include "flow/move.h"
#include "flow/outcome.h"
#include "gateway/fact.h"
#include "observe/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_ARENA = 512 * 1024, BODY_MAX = 12 * 1024, RETRY_MAX_MS = 24 * 3600 * 1000 };

struct ask {
    struct arena arena;
    struct uuid event_message, payment;
    bool has_payment;
    struct str intent, fact; /* fact: of the event, where its payment is not known */
    struct job *job;
    struct gateway_call call;
};

enum { AT_MESSAGE, AT_INTENT, AT_PAYMENT, AT_TYPE, AT_FACT, AT_COUNT };
static const char *const paths[AT_COUNT] = { "message", "intent", "payment", "type", "fact" };

static void add_subject(struct buf *b, const struct payment *p, struct str fact)
{
    char payment[UUID_TEXT + 1];

    if (!p) {
        buf_add(b, S(",\"fact\":"));
        buf_add(b, fact);
        return;
    }
    uuid_text(p->id, payment);
    buf_fmt(b, ",\"payment\":\"%s\"", payment);
}

static enum err add(struct tx *tx, struct payments *pp, const struct message *event,
                    struct str type, struct str intent_id, const struct payment *p, struct str fact)
{
    struct env *env = tx_env(tx);
    int64_t now_ms = env_now_ms(env);
    struct queue_new m = { .id = env_uuid(env), .kind = S("stripe.refetch"), .due_ms = now_ms };
    char message[UUID_TEXT + 1];
    struct buf b;
    enum err e = ERR_NO_MEMORY;

    uuid_text(event->id, message);
    buf_init(&b, BODY_MAX);
    buf_fmt(&b, "{\"message\":\"%s\"", message);
    add_subject(&b, p, fact);
    buf_add(&b, S(",\"intent\":"));
    buf_json(&b, intent_id);
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

enum err refetch_later(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, const struct payment *p)
{
    return add(tx, pp, event, type, f->intent_id, p, (struct str){ 0 });
}

enum err refetch_whose(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, struct str fact)
{
    return add(tx, pp, event, type, f->intent_id, NULL, fact);
}

static bool read_body(struct ask *a, struct str body)
{
    struct json_value v[AT_COUNT];

    if (json_pick(body, paths, AT_COUNT, v, NULL) || v[AT_INTENT].type != JSON_STRING ||
        !uuid_parse(v[AT_MESSAGE].raw, &a->event_message))
        return false;
    a->has_payment = v[AT_PAYMENT].type == JSON_STRING;
    if (a->has_payment ? !uuid_parse(v[AT_PAYMENT].raw, &a->payment)
                       : v[AT_FACT].type != JSON_OBJECT)
        return false;
    a->fact = v[AT_FACT].raw;
    a->intent = v[AT_INTENT].raw;
    return !v[AT_INTENT].has_escape;
}

static void call_done(struct gateway_call *c)
{
    struct ask *a = CONTAINER_OF(c, struct ask, call);

    if (c->answer == GATEWAY_OK || (c->answer == GATEWAY_ABSENT && !a->has_payment))
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

    if (!a) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = a;
    a->job = j;
    arena_init(&a->arena, ASK_ARENA);
    j->arena = &a->arena;
    if (!read_body(a, j->message->body)) {
        job_outside_done(j, ERR_VALIDATION, "the message's body cannot be read");
        return;
    }
    a->call = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                     .payment = a->payment,
                                     .intent_id = a->intent,
                                     .arena = &a->arena,
                                     .home = pp->home,
                                     .done = call_done };
    gateway_call(pp->gateway, &a->call);
}

/* --- what it said --- */

struct settling {
    struct tx *tx;
    struct ask *a;
    struct taking t;
    struct payment p; /* under its lock */
    enum verdict v;
    char *why;
};

static enum err refuse(const struct settling *s, enum err e, const char *why)
{
    snprintf(s->why, 256, "%s", why);
    return e;
}

static enum err write_outcome(const struct settling *s, struct str word, struct str detail,
                              const struct uuid *payment)
{
    struct outcome o = { .message = s->a->event_message,
                         .word = word,
                         .detail = detail,
                         .at_ms = s->t.now_ms,
                         .payment = payment,
                         .event_id = s->a->job->message->ref };

    return outcomes_write(s->tx, &o, 1);
}

static enum err take_answer(struct settling *s, const struct taking *t)
{
    const struct fact *f = &s->a->call.fact;
    bool ask_fee; /* never: it brings the fee, or there is none yet */
    enum err e = take_intent(s->tx, t, &s->p, f, &s->v);

    if (!e && s->v == VERDICT_MISMATCH)
        return refuse(s, ERR_UNAVAILABLE, "other currency, or not the money that was asked for");
    return !e && f->has_fee ? take_charge(s->tx, t, &s->p, f, &ask_fee) : e;
}

/* By the intent's own row, which another event may have brought meanwhile (D18), or by its
 * metadata. NOT_FOUND: it is foreign. */
static enum err find_payment(struct settling *s)
{
    struct ask *a = s->a;
    struct uuid id;
    enum err e = payment_read_by_intent(s->tx, &a->arena, a->intent, &s->p);

    if (e != ERR_NOT_FOUND || a->call.answer == GATEWAY_ABSENT ||
        !uuid_parse(a->call.fact.payment_id, &id))
        return e;
    e = payment_read(s->tx, &a->arena, id, true, &s->p);
    return e == ERR_NOT_FOUND ? refuse(s, ERR_UNAVAILABLE, "no such payment yet") : e;
}

static enum err take_event(struct settling *s, const struct fact *f)
{
    enum err e;

    if (f->kind == FACT_REFUND && !is_of_other_intent(&s->p, f) && f->currency[0] &&
        !str_eq(str_of(f->currency), str_of(s->p.money.currency)))
        return refuse(s, ERR_VALIDATION, "the refund is in another currency than its payment");
    e = f->kind == FACT_REFUND ? take_refund(s->tx, &s->t, &s->p, f, &s->v)
                               : take_dispute(s->tx, &s->t, &s->p, f, &s->v);
    if (e == ERR_CONSTRAINT)
        return refuse(s, e, "more would be refunded than was captured");
    if (!e && s->v == VERDICT_MISMATCH)
        return refuse(s, ERR_VALIDATION, "what it is about belongs to another payment");
    return e;
}

/* The intent is not the event's news: what is stored of it does not name this event. */
static enum err settle_whose(struct settling *s, bool *ret_foreign)
{
    struct taking quiet = s->t;
    struct fact f = { 0 };
    enum err e = find_payment(s);

    *ret_foreign = e == ERR_NOT_FOUND;
    if (*ret_foreign)
        return OK;
    quiet.event_id = (struct str){ 0 };
    if (!e)
        e = fact_read(&s->a->arena, s->a->fact, &f);
    if (!e && s->a->call.answer == GATEWAY_OK)
        e = take_answer(s, &quiet);
    return e ? e : take_event(s, &f);
}

static enum err settle_known(struct settling *s)
{
    enum err e = payment_read(s->tx, &s->a->arena, s->a->payment, true, &s->p);

    return e ? e : take_answer(s, &s->t);
}

static enum err settle(struct tx *tx, struct job *j, void *ctx, char why[256])
{
    struct settling s = { .tx = tx, .a = j->state, .why = why };
    bool foreign = false;
    enum err e;

    s.t = (struct taking){ .payments = ctx,
                           .arena = &s.a->arena,
                           .now_ms = env_now_ms(tx_env(tx)),
                           .event_id = j->message->ref };
    e = s.a->has_payment ? settle_known(&s) : settle_whose(&s, &foreign);
    if (e || foreign)
        return e ? e : write_outcome(&s, S("ignored"), S("foreign"), NULL);
    return write_outcome(&s, s.v == VERDICT_SUPERSEDED ? S("superseded") : S("applied"),
                         S("asked the gateway"), &s.p.id);
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

    (void)ctx;
    if (!read_body(&a, m->body))
        return OK;
    return outcome_write_dead(tx, a.event_message, why, a.has_payment ? &a.payment : NULL, m->ref);
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
