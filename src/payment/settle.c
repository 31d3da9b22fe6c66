/* settle.c - the gateway's reply becomes the stored answer, in one commit: payment, key, domain
 * event, audit line, and the end of the operation's message (I7).
 *
 *   conclude_*(): what the reply proves about this operation
 *      END_ANSWER   the payment as it is now is the answer; it is stored and replayed
 *      END_PROBLEM  the operation is certainly impossible: 422, stored and replayed too
 *      END_RELEASE  certainly nothing happened: 502, and the key is free again
 *      END_UNKNOWN  the outcome is not known: 502 or 504; the same key resumes the operation, and
 *                   the gateway is queried again later (D6)
 *
 *   (1) The payment is read again under its lock and never compared with what the claim saw. If a
 *       webhook has moved it meanwhile, that state is the answer, whatever the reply was (M10).
 *   (2) The outcome of a call is never guessed: without a proof it is END_UNKNOWN.
 *   (3) An operation that has ended leaves no open_op behind.
 *
 * A crash before the commit leaves the operation as it was; its message is leased again. After the
 * commit the answer is stored, and the client's next request with the same key gets it. */
#include "base/limits.h"
#include "http/problem.h"
#include "payment/attempts.h"
#include "payment/follow.h"
#include "payment/operation_log.h"
#include "payment/operation_run.h"
#include "payment/operation_span.h"
#include "payment/payable.h"
#include "payment/refund_retry.h"
#include "payment/transition.h"
#include "payment/unknown.h"
#include "payment/waiting.h"
#include "store/tx_log.h"

#include <assert.h>
#include <stdio.h>

enum settle_ending { END_ANSWER, END_PROBLEM, END_RELEASE, END_UNKNOWN };

enum { QUERIES_PACED_MAX = 5, PROBLEM_MAX = 4096 };

struct settlement {
    struct tx *tx;
    struct op_run *r;
    struct payment p; /* under its lock */
    struct taking t;
    bool mismatch; /* the reply has another currency or more money than was asked for */
    bool resend;   /* our own refund, proved not to have happened: it may be submitted again */
    bool paid;     /* our own cancel came after the capture: nothing was voided */
};

/* --- what a reply proves --- */

/* The gateway was queried long enough after the last submit and does not have the object, so it was
 * never made (D6). A search that took several queries counts from the first of them: an object made
 * later may stand before the place where the search began. */
static bool proves_absent(const struct settlement *s)
{
    return s->r->op.list_ms - s->r->op.sent_ms >= LIMIT_ABSENT_MS;
}

/* No earlier run can have called the gateway. A message that was leased again may have had a run
 * that died after its call. */
static bool is_first_run(const struct settlement *s)
{
    const struct op_run *r = s->r;

    return !r->asked && r->fresh && r->job->message->attempt == 1 && !r->op.sends && !r->op.asks;
}

/* Nothing of this operation can have reached the gateway, in this run or before. */
static bool proves_nothing_sent(const struct settlement *s)
{
    return s->r->call.answer == GATEWAY_RETRY_LATER && is_first_run(s);
}

/* The gateway will never do it and has not done it before. The key of a Checkout session returns
 * the first reply each time, so a rejection now was a rejection before. An intent that the gateway
 * does not have cannot be cancelled. */
static bool proves_refused(const struct settlement *s)
{
    const struct op_run *r = s->r;
    bool is_session = r->op.kind == OP_CREATE && is_paid_on_page(&s->p);
    bool refused = r->call.answer == GATEWAY_REFUSED ||
                   (r->call.answer == GATEWAY_ABSENT && r->call.ask == GATEWAY_VOID);

    return refused && (r->call.fact.kind == FACT_INTENT || is_session || is_first_run(s));
}

/* A decline without an intent proves only that this try did nothing. If an earlier try may have had
 * an effect, the decline counts only where the gateway replays the earlier try's reply. */
static bool proves_declined(const struct settlement *s)
{
    const struct op_run *r = s->r;
    const struct gateway *g = gateways_named(r->p->gateways, s->p.gateway);

    return r->call.answer == GATEWAY_DECLINED &&
           (r->call.fact.kind != FACT_NONE || is_first_run(s) || (!r->asked && g && g->replays));
}

/* The reply does not fit and left the intent open. It is cancelled when an abandoned payment would
 * be, because no other job would do it. */
static enum err settle_plan_cancel(struct settlement *s)
{
    static const struct fact nothing_said = { 0 };
    int64_t due_ms = CLOCK_NEVER;
    enum err e =
        subject_of(s->t.payments, &s->p)->ends(s->tx, &s->t, &s->p, &nothing_said, &due_ms);

    if (e || due_ms == CLOCK_NEVER)
        return e;
    return follow_abandon(s->tx, s->t.payments, &s->p, s->t.now_ms, due_ms);
}

/* Another currency, or more money than was asked for: nothing is applied and an error is logged
 * (D10). The operation ends nevertheless, or its payment would stay locked for ever. */
static enum err settle_note_mismatch(struct settlement *s)
{
    const struct fact *f = &s->r->call.fact;
    char id[UUID_TEXT + 1];
    enum err e = OK;

    s->mismatch = true;
    uuid_text(s->p.id, id);
    if (!s->p.gateway_transaction_id.n)
        s->p.gateway_transaction_id = f->intent_id; /* so that it can be voided */
    LOG_AFTER_COMMIT(s->tx, LOG_ERROR, "The gateway's answer does not fit the payment",
                     LOG_TEXT("paymentId", str_of(id)), LOG_NUM("amount", f->amount),
                     LOG_TEXT("currency", str_of(f->currency)), LOG_TRACE(s->t.trace));
    if (s->r->op.kind == OP_CREATE && s->p.status == PAYMENT_PENDING)
        e = settle_plan_cancel(s);
    return e ? e : payment_store(s->tx, &s->p, s->t.now_ms);
}

/* A second intent of the payment. If it was captured before our cancel reached it, its money is
 * refunded now (D2), because a webhook that reports the capture may never come. */
static enum err settle_apply_other_intent(struct settlement *s)
{
    const struct op_run *r = s->r;
    bool too_late = r->op.kind == OP_VOID && r->call.fact.state == INTENT_SUCCEEDED;

    return too_late ? give_back_other(s->tx, &s->t, &s->p, &r->call.fact)
                    : take_other_intent(s->tx, &s->t, &s->p, &r->call.fact);
}

static enum err settle_apply_fact(struct settlement *s)
{
    const struct op_run *r = s->r;
    enum verdict v = VERDICT_SAME;
    enum err e = OK;

    if (r->call.fact.kind == FACT_INTENT && r->op.intent_id.n)
        e = settle_apply_other_intent(s);
    else if (r->call.fact.kind == FACT_INTENT)
        e = take_intent(s->tx, &s->t, &s->p, &r->call.fact, &v);
    else if (r->call.fact.kind == FACT_REFUND)
        e = take_refund(s->tx, &s->t, &s->p, &r->call.fact, &v);
    else if (r->call.fact.kind == FACT_SESSION)
        e = take_session(s->tx, &s->t, &s->p, &r->call.fact, &v);
    return !e && v == VERDICT_MISMATCH ? settle_note_mismatch(s) : e;
}

/* --- each kind of operation --- */

static struct str settle_error_text(const struct settlement *s, struct str decline_code)
{
    const struct gateway_call *c = &s->r->call;

    return failure_text(s->t.arena, decline_code, str_of(c->error_code), str_of(c->error_message));
}

/* Stores an intent that waits for the client's confirmation or is still processing. */
static enum err settle_keep_open_intent(struct settlement *s)
{
    const struct fact *f = &s->r->call.fact;

    if (s->p.status != PAYMENT_PENDING || s->p.gateway_transaction_id.n || !f->intent_id.n ||
        f->kind != FACT_INTENT)
        return OK;
    return take_open(s->tx, &s->t, &s->p, f);
}

/* The gateway rejected the payment for good. An intent that was made nevertheless is cancelled. */
static enum err settle_reject_create(struct settlement *s)
{
    const struct gateway_call *c = &s->r->call;
    bool made = c->fact.kind == FACT_INTENT && c->fact.intent_id.n;
    enum err e = made ? settle_apply_fact(s) : OK;

    if (e || s->p.status != PAYMENT_PENDING)
        return e;
    if (made) {
        s->p.gateway_transaction_id = c->fact.intent_id;
        s->p.place_held = true;
        e = operation_start_own(s->tx, s->t.payments, &s->p, OP_VOID, 0, S("declined"));
    }
    return e ? e : payment_fail(s->tx, &s->t, &s->p, settle_error_text(s, S("")));
}

static enum err conclude_create(struct settlement *s, enum settle_ending *ret)
{
    const struct gateway_call *c = &s->r->call;
    enum err e = OK;

    *ret = END_ANSWER;
    if (s->p.status != PAYMENT_PENDING) /* a webhook was faster; a session is stored anyway */
        return c->fact.kind == FACT_SESSION ? settle_apply_fact(s) : OK;
    switch (c->answer) {
    case GATEWAY_OK:
    case GATEWAY_DECLINED:
        if (c->fact.kind == FACT_NONE && !proves_declined(s))
            break;
        e = settle_apply_fact(s);
        if (!e && c->fact.kind == FACT_NONE)
            e = payment_fail(s->tx, &s->t, &s->p, settle_error_text(s, c->fact.decline_code));
        return e ? e : settle_keep_open_intent(s);
    case GATEWAY_REFUSED:
        if (proves_refused(s))
            return settle_reject_create(s);
        break;
    case GATEWAY_ABSENT:
        if (proves_absent(s))
            return payment_fail(s->tx, &s->t, &s->p, S("gateway_timeout"));
        break;
    case GATEWAY_RETRY_LATER:
    case GATEWAY_UNCERTAIN: break;
    }
    *ret = END_UNKNOWN; /* the payment stays PENDING and holds its place for the same key */
    return OK;
}

/* A void before the customer has paid: the gateway's page was closed, or no longer exists. */
static enum err conclude_closed_page(struct settlement *s)
{
    const struct gateway_call *c = &s->r->call;
    bool closed = c->ask == GATEWAY_EXPIRE &&
                  (c->answer == GATEWAY_ABSENT ||
                   (c->answer == GATEWAY_OK && c->fact.session == SESSION_EXPIRED));

    if (!closed || s->p.status != PAYMENT_PENDING)
        return OK;
    return payment_fail(s->tx, &s->t, &s->p, S("requested_by_customer"));
}

/* A capture that the customer has to approve (PayPay) may still happen, however late. */
static bool call_waits_for_customer(const struct gateway_call *c)
{
    return c->fact.state == INTENT_AUTHORIZED && c->fact.action_type.n;
}

/* Captures and voids: the state of the intent decides, whatever brought it there. */
static enum err conclude_by_state(struct settlement *s, bool (*is_done)(const struct payment *),
                                  bool (*is_hopeless)(const struct payment *),
                                  enum settle_ending *ret)
{
    const struct gateway_call *c = &s->r->call;
    enum err e = OK;

    *ret = END_ANSWER;
    if (is_done(&s->p))
        return OK;
    if (c->answer == GATEWAY_OK || c->answer == GATEWAY_REFUSED || c->answer == GATEWAY_DECLINED)
        e = settle_apply_fact(s);
    if (!e)
        e = conclude_closed_page(s);
    if (e || is_done(&s->p))
        return e;
    if (is_hopeless(&s->p) || proves_declined(s) || proves_refused(s))
        *ret = END_PROBLEM; /* it lapsed, was captured or voided meanwhile, or was rejected */
    else if (proves_nothing_sent(s))
        *ret = END_RELEASE;
    else if (s->r->asked && c->answer != GATEWAY_RETRY_LATER && c->answer != GATEWAY_UNCERTAIN &&
             !call_waits_for_customer(c) && proves_absent(s))
        *ret = END_RELEASE;
    else
        *ret = END_UNKNOWN;
    return OK;
}

static bool is_captured(const struct payment *p)
{
    return minor_known(p->captured);
}

static enum err conclude_capture(struct settlement *s, enum settle_ending *ret)
{
    return conclude_by_state(s, is_captured, is_void, ret);
}

/* The gateway has said for long enough that it does not have the intent. A wrong API key, or one of
 * another account, would have been noticed by then. */
static bool proves_intent_gone(const struct settlement *s)
{
    const struct gateway_call *c = &s->r->call;

    return c->answer == GATEWAY_ABSENT &&
           (c->ask != GATEWAY_VOID || s->t.now_ms - s->r->op.claimed_ms >= LIMIT_ABSENT_MS);
}

/* The intent does not exist, or has other money than was asked for, so no fact can end the payment.
 * It fails by our own decision, and an error is logged for the operator. */
static enum err settle_give_up_payment(struct settlement *s, struct str why)
{
    char id[UUID_TEXT + 1];
    enum err e;

    if (s->p.status != PAYMENT_PENDING || s->r->op.intent_id.n)
        return OK;
    uuid_text(s->p.id, id);
    LOG_AFTER_COMMIT(s->tx, LOG_ERROR, "A payment was given up: its intent at the gateway is wrong",
                     LOG_TEXT("paymentId", str_of(id)), LOG_TEXT("why", why),
                     LOG_TRACE(s->t.trace));
    e = audit_money(s->tx, op_keyword(OP_VOID), &s->p, s->p.money.minor, false, why, NULL, NULL,
                    s->t.now_ms);
    return e ? e : payment_fail(s->tx, &s->t, &s->p, why);
}

/* Our own cancel ends the intent. The payment itself may have been FAILED for a long time. */
static enum err conclude_own_void(struct settlement *s, enum settle_ending *ret)
{
    const struct gateway_call *c = &s->r->call;
    bool told =
        c->fact.kind == FACT_INTENT && (c->answer == GATEWAY_OK || c->answer == GATEWAY_REFUSED);
    bool ended = told && (c->fact.state == INTENT_CANCELED || c->fact.state == INTENT_SUCCEEDED);
    bool gone = proves_intent_gone(s);
    enum err e = told ? settle_apply_fact(s) : OK;

    s->paid = told && c->fact.state == INTENT_SUCCEEDED;
    *ret = gone || ended ? END_ANSWER : END_UNKNOWN;
    if (!e && gone && c->ask == GATEWAY_VOID)
        e = settle_give_up_payment(s, S("gateway_has_no_intent"));
    else if (!e && ended && s->mismatch)
        e = settle_give_up_payment(s, S("gateway_mismatch"));
    if (e || *ret != END_ANSWER || !s->p.place_held)
        return e;
    s->p.place_held = false; /* the intent can no longer be paid (D1) */
    return payment_store(s->tx, &s->p, s->t.now_ms);
}

static enum err conclude_void(struct settlement *s, enum settle_ending *ret)
{
    return s->r->op.has_key ? conclude_by_state(s, is_void, is_captured, ret)
                            : conclude_own_void(s, ret);
}

static enum err conclude_refund(struct settlement *s, enum settle_ending *ret)
{
    const struct gateway_call *c = &s->r->call;
    bool refused = c->answer == GATEWAY_DECLINED || c->answer == GATEWAY_REFUSED;
    struct refund refund;
    enum err e = refund_read(s->tx, s->t.arena, s->r->op.refund_id, &refund);

    *ret = END_ANSWER;
    if (e || refund.gateway_refund_id.n)
        return e; /* a webhook was faster */
    if (c->answer == GATEWAY_OK)
        return settle_apply_fact(s);
    if (proves_declined(s) || proves_refused(s) || (refused && !s->r->op.has_key)) {
        *ret = END_PROBLEM;
        e = refund_fail(s->tx, &s->t, &refund, settle_error_text(s, S("")));
        return e || !refund.automatic ? e : refund_again(s->tx, &s->t, &s->p, &refund);
    }
    if (s->r->op.has_key &&
        (proves_nothing_sent(s) || (c->answer == GATEWAY_ABSENT && proves_absent(s)))) {
        *ret = END_RELEASE;
        return refund_fail(s->tx, &s->t, &refund, S("gateway_timeout"));
    }
    *ret = END_UNKNOWN;
    if (!s->r->op.has_key && c->answer == GATEWAY_ABSENT && proves_absent(s))
        s->resend = true; /* with a new gateway key */
    return OK;
}

/* --- the answer --- */

static enum err settle_render(struct settlement *s, struct str *ret_body)
{
    struct refund *refunds = NULL;
    size_t n = 0;
    enum err e = OK;

    if (minor_known(s->p.captured)) /* before a capture there is nothing to refund */
        e = refunds_read(s->tx, s->t.arena, s->p.id, &refunds, &n);
    if (e)
        return e;
    *ret_body = payment_json(s->t.arena, &s->p, refunds, n);
    if (!ret_body->p)
        return ERR_NO_MEMORY;
    if (!s->r->op.of_subject)
        return OK;
    return subject_of(s->t.payments, &s->p)->render(s->tx, s->t.arena, &s->p, *ret_body, ret_body);
}

static enum err settle_render_problem(struct settlement *s, struct str *ret_body)
{
    char members[128], id[UUID_TEXT + 1];
    const char *why = s->mismatch ? "The gateway's answer does not fit the payment."
                      : s->r->call.error_message[0] ? s->r->call.error_message
                                                    : "The payment went another way meanwhile.";
    struct buf b;

    uuid_text(s->p.id, id);
    snprintf(members, sizeof(members), "\"paymentId\":\"%s\",\"currentStatus\":\"%s\"", id,
             payment_status_name(s->p.status));
    buf_init(&b, PROBLEM_MAX);
    problem_write(&b, ERR_UNPROCESSABLE, LANG_EN, why, str_of(id), (struct str){ 0 },
                  str_of(members));
    *ret_body = b.failed ? (struct str){ 0 } : arena_str(s->t.arena, buf_str(&b));
    buf_release(&b);
    return ret_body->p ? OK : ERR_NO_MEMORY;
}

static void settle_publish(void *ctx, int64_t arg)
{
    struct op_run *r = ctx;
    struct scope scope = key_scope(r->op.user, r->op.kind, r->op.key);

    (void)arg;
    fault_point(&r->p->runtime.env->faults, "op.settled");
    waiting_answer(r->p->waiting, &scope, r->answer);
    r->answer = NULL;
}

/* After the commit, all requests that wait for this key get the answer. */
static void settle_answer_after_commit(struct settlement *s, enum err e, int status,
                                       struct str body)
{
    struct op_run *r = s->r;

    if (!r->op.has_key)
        return;
    answer_release(r->answer);
    r->answer = answer_new(e, status, s->p.id, body);
    if (r->answer)
        r->answer->settled_as = s->p.status;
    tx_after_commit(s->tx, settle_publish, r, 0);
}

/* --- endings --- */

static enum err end_operation(struct settlement *s, struct str result)
{
    struct op_run *r = s->r;

    return TX_DO(s->tx, STMT_operation_end, 1, V_INT(r->op.sends + !r->asked),
                 V_INT(r->op.asks + r->asked), V_TEXT(result), V_INT(s->t.now_ms),
                 v_uuid(&r->op.id));
}

static enum err settle_audit(struct settlement *s, bool success, struct str detail)
{
    const struct operation *op = &s->r->op;
    int64_t amount = op->amount > 0 ? op->amount : s->p.money.minor;

    return audit_money(s->tx, op_keyword(op->kind), &s->p, amount, success, detail,
                       op->has_key ? &op->user : NULL, op->has_key ? &op->key : NULL, s->t.now_ms);
}

/* No client waits for an operation of our own, so its rejection is logged. */
static void settle_log_rejected(const struct settlement *s)
{
    char id[UUID_TEXT + 1];

    uuid_text(s->p.id, id);
    LOG_AFTER_COMMIT(s->tx, LOG_ERROR, "The gateway refused what we must do: look at it",
                     LOG_TEXT("paymentId", str_of(id)),
                     LOG_TEXT("operation", str_of(op_name(s->r->op.kind))),
                     LOG_TEXT("cause", s->r->op.cause),
                     LOG_TEXT("errorCode", str_of(s->r->call.error_code)), LOG_TRACE(s->t.trace));
}

static enum err end_answered(struct settlement *s, bool problem)
{
    int status = problem ? 422 : s->r->op.kind == OP_CREATE ? 201 : 200;
    bool done = s->r->op.kind == OP_VOID ? !s->paid : s->p.status != PAYMENT_FAILED;
    bool success = !problem && done;
    struct str body = { 0 };
    enum err e = OK;

    if (s->r->op.has_key)
        e = problem ? settle_render_problem(s, &body) : settle_render(s, &body);
    if (!e)
        e = key_done(s->tx, &s->r->op, status, body);
    if (!e)
        e = end_operation(s, problem ? S("refused") : S("done"));
    if (!e)
        e = settle_audit(s, success, s->r->op.has_key ? s->p.failure_reason : s->r->op.cause);
    if (e)
        return e;
    if (problem && !s->r->op.has_key)
        settle_log_rejected(s);
    if (!problem && s->r->op.kind == OP_CREATE)
        tx_after_commit(s->tx, operate_log_created, s->r, s->p.status);
    settle_answer_after_commit(s, OK, status, body);
    return OK;
}

static enum err end_released(struct settlement *s)
{
    enum err e;

    assert(s->r->op.has_key); /* our own operations go on until they have an outcome */
    e = key_release(s->tx, &s->r->op);
    if (!e)
        e = end_operation(s, S("nothing happened"));
    if (!e)
        e = settle_audit(s, false, str_of(s->r->call.error_code));
    if (e)
        return e;
    settle_answer_after_commit(s, ERR_GATEWAY, 0, (struct str){ 0 });
    return OK;
}

static enum err store_unknown(struct settlement *s)
{
    struct op_run *r = s->r;
    bool sent = !r->asked && r->call.sent;

    if (s->resend)
        return TX_DO(s->tx, STMT_operation_resend, 1, V_INT(s->t.now_ms), V_INT(r->op.sends + 1),
                     v_uuid(&r->op.id));
    return TX_DO(s->tx, STMT_operation_unknown, 1, V_INT(sent ? s->t.now_ms : r->op.sent_ms),
                 V_INT(r->op.sends + sent), V_INT(r->op.asks + 1),
                 v_text(str_of(r->call.error_code)), v_text(r->call.list_after),
                 V_INT(r->op.list_ms), v_uuid(&r->op.id));
}

static enum err end_unknown(struct settlement *s)
{
    struct op_run *r = s->r;
    bool late = r->call.timed_out || r->asked;
    /* The search through a long list continues about every minute. */
    bool soon = r->call.list_more && r->op.asks > QUERIES_PACED_MAX;
    enum err e = store_unknown(s);

    r->job->again_ms = s->t.now_ms + retry_delay_ms(&retry_table[RETRY_OPERATION_QUERY],
                                                    (soon ? QUERIES_PACED_MAX : r->op.asks) + 1);
    if (!e)
        e = unknown_hasten(s->tx, r->p, s->t.now_ms);
    if (e)
        return e;
    settle_answer_after_commit(s, late ? ERR_GATEWAY_TIMEOUT : ERR_GATEWAY, 0, (struct str){ 0 });
    if (r->op.has_key && r->answer)
        r->answer->unknown = true;
    return OK;
}

static enum err settle_end(struct settlement *s, enum settle_ending ending)
{
    switch (ending) {
    case END_ANSWER: return end_answered(s, false);
    case END_PROBLEM: return end_answered(s, true);
    case END_RELEASE: return end_released(s);
    case END_UNKNOWN: return end_unknown(s);
    }
    return ERR_INTERNAL;
}

/* Clears or keeps open_op; saves the UPDATE if the change that ended the operation stored it. */
static enum err settle_close_operation(struct settlement *s, enum settle_ending ending,
                                       int64_t version)
{
    bool open = ending == END_UNKNOWN;
    bool stored = s->p.version == version || s->p.has_open_op;

    s->p.has_open_op = open;
    return open == stored ? OK : payment_store(s->tx, &s->p, s->t.now_ms);
}

static bool settle_has_open_op(const struct settlement *s)
{
    return s->p.has_open_op && uuid_eq(s->p.open_op, s->r->op.id);
}

static enum err settle_run(struct settlement *s)
{
    static enum err (*const conclude[OP_KINDS])(struct settlement *, enum settle_ending *) = {
        conclude_create, conclude_capture, conclude_refund, conclude_void
    };
    struct op_run *r = s->r;
    enum settle_ending ending = END_RELEASE;
    int64_t version = s->p.version;
    bool was_open = settle_has_open_op(s);
    enum err e;

    if (was_open)
        s->p.has_open_op = false;
    e = conclude[r->op.kind](s, &ending);
    if (s->mismatch && (r->op.has_key || ending != END_UNKNOWN)) /* our own operations go on */
        ending = END_PROBLEM;
    if (!e && was_open)
        e = settle_close_operation(s, ending, version);
    if (e)
        return e;
    assert(ending == END_UNKNOWN || !settle_has_open_op(s)); /* invariant (3) */
    return settle_end(s, ending);
}

/* The gateway was not called: the operation has ended, there is no intent to cancel, the customer
 * has paid meanwhile, or it is too late to submit it. */
static enum err settle_nothing(struct settlement *s)
{
    enum err e = OK;

    if (s->r->op.phase == PHASE_DONE)
        return OK;
    if (s->r->op.has_key) { /* a Checkout session that could not be made in time */
        s->p.has_open_op = false;
        e = payment_store(s->tx, &s->p, s->t.now_ms);
        return e ? e : end_released(s);
    }
    if (s->p.place_held) {
        s->p.place_held = false;
        e = payment_store(s->tx, &s->p, s->t.now_ms);
    }
    return e ? e : end_operation(s, S("nothing to do"));
}

enum err operation_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct op_run *r = j->state;
    struct settlement s = { .tx = tx, .r = r };
    enum err e = fault_point(&r->p->runtime.env->faults, "op.settling");

    (void)ctx;
    (void)why;
    if (e)
        return e;
    settle_span_begin(tx, r);
    s.t = (struct taking){ .payments = r->p,
                           .arena = &r->arena,
                           .now_ms = env_now_ms(tx_env(tx)),
                           .intent_is_dead = r->intent_is_dead,
                           .trace = str_of(r->trace),
                           .publishing = &r->publishing };
    e = payment_read(tx, &r->arena, r->op.payment_id, true, &s.p);
    if (!e)
        e = r->called ? settle_run(&s) : settle_nothing(&s);
    if (!e)
        e = attempts_write(tx, r->op.payment_id, r->op.id, &r->tries);
    r->settled_as = s.p.status;
    return e;
}
