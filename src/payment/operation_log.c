/* operation_log.c - the log lines of operations; see operation_log.h. */
#include "payment/operation_log.h"

#include "base/limits.h"
#include "observe/log.h"

/* --- the request --- */

/* The request names an amount only for a booking; the other payables have a price. */
void operate_log_attempted(const struct operate *o)
{
    static const char *const subjects[] = { [CONTEXT_BOOKING] = "bookingId",
                                            [CONTEXT_PURCHASE] = "positionId",
                                            [CONTEXT_PARTICIPANT] = "participant_id" };
    bool booking = o->context == CONTEXT_BOOKING;
    char key[UUID_TEXT + 1], subject[UUID_TEXT + 1], user[UUID_TEXT + 1];
    struct log *l = o->payments->runtime.env->log;

    if (o->kind != OP_CREATE || !log_wants(l, LOG_INFO))
        return;
    uuid_text(o->key, key);
    uuid_text(o->subject, subject);
    uuid_text(o->user, user);
    LOG(l, LOG_INFO, "PaymentCreateAttempted", LOG_TRACE(str_of(o->trace)),
        LOG_SOME("requestId", o->request_id), LOG_TEXT("idempotencyKey", str_of(key)),
        LOG_TEXT(subjects[o->context], str_of(subject)),
        booking ? LOG_NUM("amount", o->money.minor) : (struct log_field){ 0 },
        LOG_SOME("currency", booking ? str_of(o->money.currency) : S("")),
        LOG_TEXT("userId", str_of(user)));
}

void operate_log_answered(const struct operate *o)
{
    char key[UUID_TEXT + 1], id[UUID_TEXT + 1];
    struct log *l = o->payments->runtime.env->log;

    if (o->err || !o->replayed || !log_wants(l, LOG_INFO))
        return;
    uuid_text(o->key, key);
    uuid_text(o->payment_id, id);
    LOG(l, LOG_INFO, "PaymentIdempotencyHit", LOG_TRACE(str_of(o->trace)),
        LOG_SOME("requestId", o->request_id), LOG_TEXT("idempotencyKey", str_of(key)),
        LOG_TEXT("existingPaymentId", str_of(id)), LOG_TEXT("operation", str_of(op_name(o->kind))));
}

/* --- the job --- */

void operate_log_resumed(struct op_run *r)
{
    struct trace t;

    if (r->trace[0])
        return;
    t = trace_new(&r->p->runtime.env->rng);
    trace_text(&t, r->trace);
}

void operate_log_request(const struct op_run *r, const struct gateway_call *c)
{
    char id[UUID_TEXT + 1], message[UUID_TEXT + 1];
    struct log *l = r->p->runtime.env->log;

    if (!log_wants(l, LOG_INFO))
        return;
    uuid_text(r->payment.id, id);
    uuid_text(r->op.message_id, message);
    LOG(l, LOG_INFO, "PaymentGatewayRequest", LOG_TRACE(str_of(r->trace)),
        LOG_TEXT("paymentId", str_of(id)), LOG_TEXT("gatewayName", r->payment.gateway),
        LOG_TEXT("operation", str_of(gateway_ask_name(c->ask))),
        LOG_TEXT("messageId", str_of(message)));
}

static struct str answer_word(const struct gateway_call *c)
{
    static const struct str words[] = {
        [GATEWAY_OK] = { "ok", 2 },
        [GATEWAY_DECLINED] = { "declined", 8 },
        [GATEWAY_REFUSED] = { "refused", 7 },
        [GATEWAY_ABSENT] = { "absent", 6 },
        [GATEWAY_RETRY_LATER] = { "retry later", 11 },
        [GATEWAY_UNCERTAIN] = { "uncertain", 9 },
    };

    return words[c->answer];
}

static struct str answer_code(const struct gateway_call *c)
{
    return c->error_code[0] ? str_of(c->error_code) : answer_word(c);
}

struct log_ids {
    char payment[UUID_TEXT + 1], message[UUID_TEXT + 1];
};

static struct log_ids log_ids_of(const struct op_run *r)
{
    struct log_ids ids;

    uuid_text(r->payment.id, ids.payment);
    uuid_text(r->op.message_id, ids.message);
    return ids;
}

static void log_response(const struct op_run *r, const struct gateway_call *c)
{
    struct log_ids ids = log_ids_of(r);

    LOG(r->p->runtime.env->log, LOG_INFO, "PaymentGatewayResponse", LOG_TRACE(str_of(r->trace)),
        LOG_TEXT("paymentId", str_of(ids.payment)),
        LOG_TEXT("gatewayTransactionId", c->fact.intent_id), LOG_TEXT("status", answer_word(c)),
        LOG_TEXT("gatewayName", r->payment.gateway),
        LOG_TEXT("operation", str_of(gateway_ask_name(c->ask))), LOG_NUM("httpStatus", c->status),
        LOG_NUM("tries", c->tries), LOG_SOME("errorCode", str_of(c->error_code)),
        LOG_SOME("errorMessage", str_of(c->error_message)),
        LOG_TEXT("messageId", str_of(ids.message)));
}

static void log_timeout(const struct op_run *r, const struct gateway_call *c)
{
    struct log_ids ids = log_ids_of(r);

    LOG(r->p->runtime.env->log, LOG_ERROR, "PaymentGatewayTimeout", LOG_TRACE(str_of(r->trace)),
        LOG_TEXT("paymentId", str_of(ids.payment)),
        LOG_NUM("timeoutMs", c->try_ms ? c->try_ms : LIMIT_GATEWAY_CALL_MS),
        LOG_TEXT("gatewayName", r->payment.gateway),
        LOG_TEXT("operation", str_of(gateway_ask_name(c->ask))), LOG_NUM("tries", c->tries),
        LOG_TEXT("errorCode", answer_code(c)), LOG_SOME("errorMessage", str_of(c->error_message)),
        LOG_TEXT("messageId", str_of(ids.message)));
}

static void log_error(const struct op_run *r, const struct gateway_call *c)
{
    struct log_ids ids = log_ids_of(r);

    LOG(r->p->runtime.env->log, LOG_ERROR, "PaymentGatewayError", LOG_TRACE(str_of(r->trace)),
        LOG_TEXT("paymentId", str_of(ids.payment)), LOG_TEXT("errorCode", answer_code(c)),
        LOG_TEXT("errorMessage", str_of(c->error_message)),
        LOG_TEXT("gatewayName", r->payment.gateway),
        LOG_TEXT("operation", str_of(gateway_ask_name(c->ask))), LOG_TEXT("status", answer_word(c)),
        LOG_NUM("httpStatus", c->status), LOG_NUM("tries", c->tries),
        LOG_TEXT("messageId", str_of(ids.message)));
}

void operate_log_answer(const struct op_run *r, const struct gateway_call *c)
{
    bool failed = c->answer == GATEWAY_RETRY_LATER || c->answer == GATEWAY_UNCERTAIN;

    if (failed && c->timed_out)
        log_timeout(r, c);
    else if (failed)
        log_error(r, c);
    else if (log_wants(r->p->runtime.env->log, LOG_INFO))
        log_response(r, c);
}

void operate_log_created(void *run, int64_t status)
{
    const struct op_run *r = run;
    struct log *l = r->p->runtime.env->log;
    struct log_ids ids;

    if (!log_wants(l, LOG_INFO))
        return;
    ids = log_ids_of(r);
    LOG(l, LOG_INFO, "PaymentCreated", LOG_TRACE(str_of(r->trace)),
        LOG_TEXT("paymentId", str_of(ids.payment)),
        LOG_TEXT("status", str_of(payment_status_name((enum payment_status)status))),
        LOG_TEXT("messageId", str_of(ids.message)));
}
