/* settle.c - what the gateway said becomes the answer, in one commit: payment, key, domain event,
 * audit, and the end of the operation's message (I7).
 *
 *   conclude(kind): what the call says about this operation
 *      END_ANSWER   the payment as it is now is the answer; it is stored and replayed for ever
 *      END_PROBLEM  it is certain that this cannot be done: 422, stored and replayed too
 *      END_RELEASE  it is certain that nothing happened: 502, and the key is free again
 *      END_UNKNOWN  nobody knows yet: 502 or 504, the key resumes, and we ask again later (D6)
 *
 * The payment is read again under its lock, and never compared with what the claim saw: a webhook
 * may have moved it meanwhile, and then that is the answer, whatever became of the call (M10). */
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

enum { ASK_ON_MOST = 5, PROBLEM_MAX = 4096 };

struct settle_settling {
    struct tx *tx;
    struct op_run *r;
    struct payment p; /* under its lock */
    struct taking t;
    bool mismatch; /* what the gateway says cannot be */
    bool resend;   /* an own refund that surely was not done */
    bool paid;     /* an own cancel that came too late: nothing was voided */
};

/* --- what a call can prove --- */

/* Asked long enough after the last send, and it is not there: it never happened (D6). A search of
 * several asks is as old as the first of them: what came later may stand before it. */
static bool surely_absent(const struct settle_settling *s)
{
    return s->r->op.list_ms - s->r->op.sent_ms >= LIMIT_ABSENT_MS;
}

/* This is the only run there ever was: what it did not do, nobody did. A run that was leased again
 * may have had a predecessor which died after its call. */
static bool is_first_run(const struct settle_settling *s)
{
    const struct op_run *r = s->r;

    return !r->asked && r->fresh && r->job->message->attempt == 1 && !r->op.sends && !r->op.asks;
}

/* Nothing of this operation can have reached the gateway, now or before. */
static bool surely_nothing(const struct settle_settling *s)
{
    return s->r->call.answer == GATEWAY_RETRY_LATER && is_first_run(s);
}

/* The gateway will never do it, and has not done it before. A session's key gives the first answer
 * each time: what it refuses now was refused before. What it does not have it cannot cancel. */
static bool surely_refused(const struct settle_settling *s)
{
    const struct op_run *r = s->r;
    bool is_session = r->op.kind == OP_CREATE && is_paid_on_page(&s->p);
    bool refused = r->call.answer == GATEWAY_REFUSED ||
                   (r->call.answer == GATEWAY_ABSENT && r->call.ask == GATEWAY_VOID);

    return refused && (r->call.fact.kind == FACT_INTENT || is_session || is_first_run(s));
}

/* A decline without an intent says no more than that this try did nothing: behind one that may have
 * had its effect it counts only if it is that one's answer. */
static bool surely_declined(const struct settle_settling *s)
{
    const struct op_run *r = s->r;
    const struct gateway *g = gateways_named(r->p->gateways, s->p.gateway);

    return r->call.answer == GATEWAY_DECLINED &&
           (r->call.fact.kind != FACT_NONE || is_first_run(s) || (!r->asked && g && g->replays));
}

/* Nobody else would end what an answer left open that does not fit: cancelled in its time, as if
 * its customer had never come back. */
static enum err plan_end(struct settle_settling *s)
{
    static const struct fact nothing_said = { 0 };
    int64_t due_ms = CLOCK_NEVER;
    enum err e =
        subject_of(s->t.payments, &s->p)->ends(s->tx, &s->t, &s->p, &nothing_said, &due_ms);

    if (e || due_ms == CLOCK_NEVER)
        return e;
    return follow_abandon(s->tx, s->t.payments, &s->p, s->t.now_ms, due_ms);
}

/* Another currency, or more money than was asked for: nothing is applied, and a person is called
 * (D10). The operation ends all the same, or its payment would be locked for ever. */
static enum err note_mismatch(struct settle_settling *s)
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
        e = plan_end(s);
    return e ? e : payment_store(s->tx, &s->p, s->t.now_ms);
}

/* A second intent of the payment. Captured before our cancel reached it, its money goes back by a
 * refund (D2): there may be no webhook that would say so. */
static enum err take_other(struct settle_settling *s)
{
    const struct op_run *r = s->r;
    bool too_late = r->op.kind == OP_VOID && r->call.fact.state == INTENT_SUCCEEDED;

    return too_late ? give_back_other(s->tx, &s->t, &s->p, &r->call.fact)
                    : take_other_intent(s->tx, &s->t, &s->p, &r->call.fact);
}

static enum err settle_take(struct settle_settling *s)
{
    const struct op_run *r = s->r;
    enum verdict v = VERDICT_SAME;
    enum err e = OK;

    if (r->call.fact.kind == FACT_INTENT && r->op.intent_id.n)
        e = take_other(s);
    else if (r->call.fact.kind == FACT_INTENT)
        e = take_intent(s->tx, &s->t, &s->p, &r->call.fact, &v);
    else if (r->call.fact.kind == FACT_REFUND)
        e = take_refund(s->tx, &s->t, &s->p, &r->call.fact, &v);
    else if (r->call.fact.kind == FACT_SESSION)
        e = take_session(s->tx, &s->t, &s->p, &r->call.fact, &v);
    if (!e && v == VERDICT_MISMATCH)
        e = note_mismatch(s);
    return e;
}

/* --- each kind --- */

/* What the gateway's error said. */
static struct str error_text(const struct settle_settling *s, struct str decline_code)
{
    const struct gateway_call *c = &s->r->call;

    return failure_text(s->t.arena, decline_code, str_of(c->error_code), str_of(c->error_message));
}

/* The intent exists and waits for the client's own confirmation, or is being worked on. */
static enum err keep_open_intent(struct settle_settling *s)
{
    const struct fact *f = &s->r->call.fact;

    if (s->p.status != PAYMENT_PENDING || s->p.gateway_transaction_id.n || !f->intent_id.n ||
        f->kind != FACT_INTENT)
        return OK;
    return take_open(s->tx, &s->t, &s->p, f);
}

/* Refused for good. Where an intent was made all the same, it must not stay alive. */
static enum err refuse_create(struct settle_settling *s)
{
    const struct gateway_call *c = &s->r->call;
    bool made = c->fact.kind == FACT_INTENT && c->fact.intent_id.n;
    enum err e = made ? settle_take(s) : OK;

    if (e || s->p.status != PAYMENT_PENDING)
        return e;
    if (made) {
        s->p.gateway_transaction_id = c->fact.intent_id;
        s->p.place_held = true;
        e = operation_start_own(s->tx, s->t.payments, &s->p, OP_VOID, 0, S("declined"));
    }
    return e ? e : payment_fail(s->tx, &s->t, &s->p, error_text(s, S("")));
}

static enum err conclude_create(struct settle_settling *s, enum settle_ending *ret)
{
    const struct gateway_call *c = &s->r->call;
    enum err e = OK;

    *ret = END_ANSWER;
    if (s->p.status != PAYMENT_PENDING) /* a webhook was faster; a session is kept all the same */
        return c->fact.kind == FACT_SESSION ? settle_take(s) : OK;
    switch (c->answer) {
    case GATEWAY_OK:
    case GATEWAY_DECLINED:
        if (c->fact.kind == FACT_NONE && !surely_declined(s))
            break;
        e = settle_take(s);
        if (!e && c->fact.kind == FACT_NONE)
            e = payment_fail(s->tx, &s->t, &s->p, error_text(s, c->fact.decline_code));
        return e ? e : keep_open_intent(s);
    case GATEWAY_REFUSED:
        if (surely_refused(s))
            return refuse_create(s);
        break;
    case GATEWAY_ABSENT:
        if (surely_absent(s))
            return payment_fail(s->tx, &s->t, &s->p, S("gateway_timeout"));
        break;
    case GATEWAY_RETRY_LATER:
    case GATEWAY_UNCERTAIN: break;
    }
    *ret = END_UNKNOWN; /* PENDING keeps its place, so that the same key can go on */
    return OK;
}

/* A void before anybody has paid closed the gateway's page, or found it gone. */
static enum err conclude_page(struct settle_settling *s)
{
    const struct gateway_call *c = &s->r->call;
    bool closed = c->ask == GATEWAY_EXPIRE &&
                  (c->answer == GATEWAY_ABSENT ||
                   (c->answer == GATEWAY_OK && c->fact.session == SESSION_EXPIRED));

    if (!closed || s->p.status != PAYMENT_PENDING)
        return OK;
    return payment_fail(s->tx, &s->t, &s->p, S("requested_by_customer"));
}

/* A capture that its customer has to agree to (PayPay): it may still happen, however late. */
static bool waits_for_customer(const struct gateway_call *c)
{
    return c->fact.state == INTENT_AUTHORIZED && c->fact.action_type.n;
}

/* Captures and voids: the state of the intent decides, whoever brought it there. */
static enum err conclude_by_state(struct settle_settling *s,
                                  bool (*is_done)(const struct payment *),
                                  bool (*is_hopeless)(const struct payment *),
                                  enum settle_ending *ret)
{
    const struct gateway_call *c = &s->r->call;
    enum err e = OK;

    *ret = END_ANSWER;
    if (is_done(&s->p))
        return OK;
    if (c->answer == GATEWAY_OK || c->answer == GATEWAY_REFUSED || c->answer == GATEWAY_DECLINED)
        e = settle_take(s);
    if (!e)
        e = conclude_page(s);
    if (e || is_done(&s->p))
        return e;
    if (is_hopeless(&s->p) || surely_declined(s) || surely_refused(s))
        *ret = END_PROBLEM; /* it went another way: lapsed, captured, voided; or it was refused */
    else if (surely_nothing(s))
        *ret = END_RELEASE;
    else if (s->r->asked && c->answer != GATEWAY_RETRY_LATER && c->answer != GATEWAY_UNCERTAIN &&
             !waits_for_customer(c) && surely_absent(s))
        *ret = END_RELEASE;
    else
        *ret = END_UNKNOWN;
    return OK;
}

static bool is_captured(const struct payment *p)
{
    return minor_known(p->captured);
}

static enum err conclude_capture(struct settle_settling *s, enum settle_ending *ret)
{
    return conclude_by_state(s, is_captured, is_void, ret);
}

/* The gateway does not have it, and said so long enough: a wrong key of ours, or one of another
 * account, would have been noticed by then. */
static bool surely_gone(const struct settle_settling *s)
{
    const struct gateway_call *c = &s->r->call;

    return c->answer == GATEWAY_ABSENT &&
           (c->ask != GATEWAY_VOID || s->t.now_ms - s->r->op.claimed_ms >= LIMIT_ABSENT_MS);
}

/* Its end brought no state that the payment can take: there is no such intent, or it has other
 * money than was asked for. It ends all the same, and a person is called. */
static enum err give_up(struct settle_settling *s, struct str why)
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

/* Our own cancel is about the intent, not about the payment, which may be FAILED long since. */
static enum err conclude_own_void(struct settle_settling *s, enum settle_ending *ret)
{
    const struct gateway_call *c = &s->r->call;
    bool told =
        c->fact.kind == FACT_INTENT && (c->answer == GATEWAY_OK || c->answer == GATEWAY_REFUSED);
    bool ended = told && (c->fact.state == INTENT_CANCELED || c->fact.state == INTENT_SUCCEEDED);
    bool gone = surely_gone(s);
    enum err e = told ? settle_take(s) : OK;

    s->paid = told && c->fact.state == INTENT_SUCCEEDED;
    *ret = gone || ended ? END_ANSWER : END_UNKNOWN;
    if (!e && gone && c->ask == GATEWAY_VOID)
        e = give_up(s, S("gateway_has_no_intent"));
    else if (!e && ended && s->mismatch)
        e = give_up(s, S("gateway_mismatch"));
    if (e || *ret != END_ANSWER || !s->p.place_held)
        return e;
    s->p.place_held = false; /* whatever it was, it is not alive any more (D1) */
    return payment_store(s->tx, &s->p, s->t.now_ms);
}

static enum err conclude_void(struct settle_settling *s, enum settle_ending *ret)
{
    return s->r->op.has_key ? conclude_by_state(s, is_void, is_captured, ret)
                            : conclude_own_void(s, ret);
}

static enum err conclude_refund(struct settle_settling *s, enum settle_ending *ret)
{
    const struct gateway_call *c = &s->r->call;
    bool refused = c->answer == GATEWAY_DECLINED || c->answer == GATEWAY_REFUSED;
    struct refund refund;
    enum err e = refund_read(s->tx, s->t.arena, s->r->op.refund_id, &refund);

    *ret = END_ANSWER;
    if (e || refund.gateway_refund_id.n)
        return e; /* a webhook was faster */
    if (c->answer == GATEWAY_OK)
        return settle_take(s);
    if (surely_declined(s) || surely_refused(s) || (refused && !s->r->op.has_key)) {
        *ret = END_PROBLEM;
        e = refund_fail(s->tx, &s->t, &refund, error_text(s, S("")));
        return e || !refund.automatic ? e : refund_again(s->tx, &s->t, &s->p, &refund);
    }
    if (s->r->op.has_key &&
        (surely_nothing(s) || (c->answer == GATEWAY_ABSENT && surely_absent(s)))) {
        *ret = END_RELEASE;
        return refund_fail(s->tx, &s->t, &refund, S("gateway_timeout"));
    }
    *ret = END_UNKNOWN;
    if (!s->r->op.has_key && c->answer == GATEWAY_ABSENT && surely_absent(s))
        s->resend = true; /* our own: now it may be sent again, with a new key */
    return OK;
}

/* --- the answer --- */

static enum err settle_render(struct settle_settling *s, struct str *ret_body)
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

static enum err render_problem(struct settle_settling *s, struct str *ret_body)
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

/* Everybody who waits for this key is told, once it is durable. */
static void answer_later(struct settle_settling *s, enum err e, int status, struct str body)
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

static enum err end_operation(struct settle_settling *s, struct str result)
{
    struct op_run *r = s->r;

    return TX_DO(s->tx, STMT_operation_end, 1, V_INT(r->op.sends + !r->asked),
                 V_INT(r->op.asks + r->asked), V_TEXT(result), V_INT(s->t.now_ms),
                 v_uuid(&r->op.id));
}

static enum err settle_audit(struct settle_settling *s, bool success, struct str detail)
{
    const struct operation *op = &s->r->op;
    int64_t amount = op->amount > 0 ? op->amount : s->p.money.minor;

    return audit_money(s->tx, op_keyword(op->kind), &s->p, amount, success, detail,
                       op->has_key ? &op->user : NULL, op->has_key ? &op->key : NULL, s->t.now_ms);
}

/* Of an operation of our own: nobody else hears of it. */
static void tell_refusal(const struct settle_settling *s)
{
    char id[UUID_TEXT + 1];

    uuid_text(s->p.id, id);
    LOG_AFTER_COMMIT(s->tx, LOG_ERROR, "The gateway refused what we must do: look at it",
                     LOG_TEXT("paymentId", str_of(id)),
                     LOG_TEXT("operation", str_of(op_name(s->r->op.kind))),
                     LOG_TEXT("cause", s->r->op.cause),
                     LOG_TEXT("errorCode", str_of(s->r->call.error_code)), LOG_TRACE(s->t.trace));
}

static enum err end_answered(struct settle_settling *s, bool problem)
{
    int status = problem ? 422 : s->r->op.kind == OP_CREATE ? 201 : 200;
    bool done = s->r->op.kind == OP_VOID ? !s->paid : s->p.status != PAYMENT_FAILED;
    bool success = !problem && done;
    struct str body = { 0 };
    enum err e = OK;

    if (s->r->op.has_key)
        e = problem ? render_problem(s, &body) : settle_render(s, &body);
    if (!e)
        e = key_done(s->tx, &s->r->op, status, body);
    if (!e)
        e = end_operation(s, problem ? S("refused") : S("done"));
    if (!e)
        e = settle_audit(s, success, s->r->op.has_key ? s->p.failure_reason : s->r->op.cause);
    if (problem && !s->r->op.has_key)
        tell_refusal(s);
    if (!e && !problem && s->r->op.kind == OP_CREATE)
        tx_after_commit(s->tx, operate_log_created, s->r, s->p.status);
    if (!e)
        answer_later(s, OK, status, body);
    return e;
}

static enum err end_released(struct settle_settling *s)
{
    enum err e;

    assert(s->r->op.has_key); /* our own go on until they are answered */
    e = key_release(s->tx, &s->r->op);
    if (!e)
        e = end_operation(s, S("nothing happened"));
    if (!e)
        e = settle_audit(s, false, str_of(s->r->call.error_code));
    if (!e)
        answer_later(s, ERR_GATEWAY, 0, (struct str){ 0 });
    return e;
}

static enum err store_unknown(struct settle_settling *s)
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

static enum err end_unknown(struct settle_settling *s)
{
    struct op_run *r = s->r;
    bool late = r->call.timed_out || r->asked;
    /* A long list is read on sooner, about each minute; many that do so ask for the same pages. */
    bool soon = r->call.list_more && r->op.asks > ASK_ON_MOST;
    enum err e = store_unknown(s);

    r->job->again_ms = s->t.now_ms + retry_delay_ms(&retry_table[RETRY_OPERATION_QUERY],
                                                    (soon ? ASK_ON_MOST : r->op.asks) + 1);
    if (!e)
        e = unknown_hasten(s->tx, r->p, s->t.now_ms);
    if (!e)
        answer_later(s, late ? ERR_GATEWAY_TIMEOUT : ERR_GATEWAY, 0, (struct str){ 0 });
    if (!e && r->op.has_key && r->answer)
        r->answer->unknown = true;
    return e;
}

static enum err payment_settle_end(struct settle_settling *s, enum settle_ending ending)
{
    switch (ending) {
    case END_ANSWER: return end_answered(s, false);
    case END_PROBLEM: return end_answered(s, true);
    case END_RELEASE: return end_released(s);
    case END_UNKNOWN: return end_unknown(s);
    }
    return ERR_INTERNAL;
}

/* open_op goes with the change that ends the operation, in one UPDATE where there is one. */
static enum err close_operation(struct settle_settling *s, enum settle_ending ending,
                                int64_t version)
{
    bool open = ending == END_UNKNOWN;
    bool stored = s->p.version == version || s->p.has_open_op;

    s->p.has_open_op = open;
    return open == stored ? OK : payment_store(s->tx, &s->p, s->t.now_ms);
}

static bool is_open(const struct settle_settling *s)
{
    return s->p.has_open_op && uuid_eq(s->p.open_op, s->r->op.id);
}

static enum err settle_run(struct settle_settling *s)
{
    static enum err (*const conclude[OP_KINDS])(struct settle_settling *, enum settle_ending *) = {
        conclude_create, conclude_capture, conclude_refund, conclude_void
    };
    struct op_run *r = s->r;
    enum settle_ending ending = END_RELEASE;
    int64_t version = s->p.version;
    bool was_open = is_open(s);
    enum err e;

    if (was_open)
        s->p.has_open_op = false;
    e = conclude[r->op.kind](s, &ending);
    if (s->mismatch && (r->op.has_key || ending != END_UNKNOWN)) /* our own goes on until it ends */
        ending = END_PROBLEM;
    if (!e && was_open)
        e = close_operation(s, ending, version);
    if (e)
        return e;
    assert(ending == END_UNKNOWN || !is_open(s)); /* what has ended locks its payment no more */
    return payment_settle_end(s, ending);
}

/* Where there is nothing to call for: it has ended, there is no intent that could be cancelled, its
 * customer has paid meanwhile, or it is too late to send it. */
static enum err settle_nothing(struct settle_settling *s)
{
    enum err e = OK;

    if (s->r->op.phase == PHASE_DONE)
        return OK;
    if (s->r->op.has_key) { /* a session that could not be made in time: its key is free again */
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
    struct settle_settling s = { .tx = tx, .r = r };
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
