/* operation_span.c - the spans of operations; see operation_span.h. Nothing is built for a trace that
 * is not sampled. */
#include "payment/operation_span.h"

#include "base/json/json.h"

static const char *operation_span_name(enum op_kind kind)
{
    static const char *const names[OP_KINDS] = { [OP_CREATE] = "Payment.create",
                                                 [OP_CAPTURE] = "Payment.capture",
                                                 [OP_REFUND] = "Payment.refund",
                                                 [OP_VOID] = "Payment.void" };

    return names[kind];
}

/* --- the request --- */

struct span operate_span_begin(struct operate *o)
{
    struct span s = span_begin(o->payments->runtime.env, str_of(o->trace), SPAN_INTERNAL,
                               operation_span_name(o->kind));

    if (s.spans)
        trace_text(&s.trace, o->trace);
    return s;
}

enum { OF_ID, OF_STATUS, OF_AMOUNT, OF_CURRENCY, OF_BOOKING, OF_FIELDS };

/* The answer is the payment, the payable with the payment in it, or a problem that names it. */
static void span_read_answer(const struct operate *o, struct str ret[OF_FIELDS])
{
    static const char *const paths[] = {
        "id",         "status",         "amount",         "currency",         "bookingId",
        "payment.id", "payment.status", "payment.amount", "payment.currency", "payment.bookingId",
        "paymentId",  "currentStatus",
    };
    struct json_value v[COUNT(paths)];
    bool nested;

    for (size_t i = 0; i < OF_FIELDS; i++)
        ret[i] = (struct str){ 0 };
    if (o->err || json_pick(o->body, paths, COUNT(paths), v, NULL))
        return;
    nested = v[OF_FIELDS].type == JSON_STRING;
    for (size_t i = 0; i < OF_FIELDS; i++)
        ret[i] = v[i + (nested ? OF_FIELDS : 0)].raw;
    if (o->status < 400)
        return;
    ret[OF_ID] = v[2 * OF_FIELDS].raw;
    ret[OF_STATUS] = v[2 * OF_FIELDS + 1].raw;
}

static struct str span_status(const struct operate *o, struct str told)
{
    if (o->err && o->has_current)
        return str_of(payment_status_name(o->current));
    if (o->err && o->unknown && o->kind == OP_CREATE)
        return str_of(payment_status_name(PAYMENT_PENDING));
    return told;
}

static struct attribute span_amount(const struct operate *o, struct str told)
{
    int64_t amount = o->kind == OP_CREATE ? o->money.minor : o->amount;

    if (!o->has_amount && (o->kind != OP_CREATE || o->context != CONTEXT_BOOKING) &&
        !str_to_i64(told, &amount))
        return SPAN_TEXT("payment.amount", S(""));
    return SPAN_NUM("payment.amount", amount);
}

void operate_span_end(struct span *s, const struct operate *o)
{
    char id[UUID_TEXT + 1] = "", subject[UUID_TEXT + 1] = "", key[UUID_TEXT + 1];
    bool of_booking = o->kind == OP_CREATE && o->context == CONTEXT_BOOKING;
    struct str told[OF_FIELDS];

    if (!s->spans)
        return;
    span_read_answer(o, told);
    uuid_text(o->key, key);
    if (o->has_payment)
        uuid_text(o->payment_id, id);
    if (o->kind == OP_CREATE)
        uuid_text(o->subject, subject);
    SPAN_END(
        s, o->err ? err_code(o->err) : NULL,
        SPAN_TEXT("payment.id", id[0] ? str_of(id) : told[OF_ID]),
        SPAN_TEXT("payment.booking_id", of_booking ? str_of(subject) : told[OF_BOOKING]),
        span_amount(o, told[OF_AMOUNT]),
        SPAN_TEXT("payment.currency", of_booking ? str_of(o->money.currency) : told[OF_CURRENCY]),
        SPAN_TEXT("payment.status", span_status(o, told[OF_STATUS])),
        SPAN_TEXT("payment.idempotency_key", str_of(key)),
        SPAN_TEXT("payment.subject_id", of_booking ? S("") : str_of(subject)),
        SPAN_BOOL("payment.replayed", o->replayed),
        SPAN_TEXT("error.type", str_of(o->err ? err_code(o->err) : "")));
}

/* --- the claim --- */

struct lap claim_lap_begin(const struct operate *o)
{
    struct env *env = o->payments->runtime.env;
    bool wanted = env->spans && trace_is_sampled(str_of(o->trace));

    return (struct lap){ .env = wanted ? env : NULL,
                         .began_us = wanted ? clock_mono_us(&env->clock) : 0 };
}

void claim_span(struct claim *c)
{
    static const char *const names[PAYMENT_CONTEXTS] = {
        [CONTEXT_BOOKING] = "Payment.validateBooking",
        [CONTEXT_PURCHASE] = "Payment.validatePurchase",
        [CONTEXT_PARTICIPANT] = "Payment.validateParticipant",
    };
    const struct operate *o = c->o;
    struct span s;

    if (!c->validating.ended_us)
        return;
    s = span_begin(o->payments->runtime.env, str_of(o->trace), SPAN_INTERNAL,
                   o->kind == OP_CREATE ? names[o->context] : "Payment.validatePayment");
    s.began_us = c->validating.began_us;
    SPAN_END_AT(&s, c->validating.ended_us, c->invalid ? err_code(c->invalid) : NULL,
                SPAN_TEXT("error.type", str_of(c->invalid ? err_code(c->invalid) : "")));
    c->validating = (struct lap){ 0 };
}

/* --- the job --- */

void resume_span_begin(struct op_run *r)
{
    struct env *env = r->p->runtime.env;
    struct trace t;

    if (r->trace[0])
        return;
    r->resumed = span_begin_root(env, SPAN_CONSUMER, operation_span_name(r->op.kind), &t);
    trace_text(&t, r->trace);
}

void resume_span_end(struct op_run *r, const char *why)
{
    char id[UUID_TEXT + 1], key[UUID_TEXT + 1] = "";

    if (!r->resumed.spans)
        return;
    uuid_text(r->op.payment_id, id);
    if (r->op.has_key)
        uuid_text(r->op.key, key);
    SPAN_END(&r->resumed, why, SPAN_TEXT("payment.id", str_of(id)),
             SPAN_NUM("payment.amount", r->op.amount > 0 ? r->op.amount : r->payment.money.minor),
             SPAN_TEXT("payment.currency", str_of(r->payment.money.currency)),
             SPAN_TEXT("payment.status", str_of(payment_status_name(r->settled_as))),
             SPAN_TEXT("payment.idempotency_key", str_of(key)),
             SPAN_TEXT("payment.cause", r->op.cause), SPAN_BOOL("payment.resumed", true),
             SPAN_NUM("messaging.attempt", r->job->message->attempt));
}

static void operation_span_settled(void *ctx, int64_t arg)
{
    struct op_run *r = ctx;
    struct span published;

    (void)arg;
    if (r->publishing.ended_us) {
        published =
            span_begin(r->p->runtime.env, str_of(r->trace), SPAN_PRODUCER, "Payment.publishEvent");
        published.began_us = r->publishing.began_us;
        SPAN_END_AT(&published, r->publishing.ended_us, NULL,
                    SPAN_TEXT("event.type", r->publishing.what));
    }
    SPAN_END(&r->persist, NULL,
             SPAN_TEXT("payment.status", str_of(payment_status_name(r->settled_as))));
    resume_span_end(r, NULL);
}

/* Called first in the unit of work, so that the span ends before waiting requests are answered. */
void settle_span_begin(struct tx *tx, struct op_run *r)
{
    r->persist = span_begin(r->p->runtime.env, str_of(r->trace), SPAN_INTERNAL, "Payment.persist");
    r->publishing = (struct lap){ .env = r->persist.spans ? r->p->runtime.env : NULL };
    if (r->persist.spans)
        tx_after_commit(tx, operation_span_settled, r, 0);
}
