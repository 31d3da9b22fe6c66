/* flow.c - decides the next step of an ask, and its answer.
 *
 *   AUTHORIZE  a code                 code --lost, exists already--> code under the next id
 *              an authorization       look --there--> that is the answer
 *                                       '--not there--> pay
 *   CAPTURE    capture --state does not allow it--> look: done by us? then it is a success
 *   VOID       look --authorized--> revert
 *                |---unpaid--> delete the code --paid just now, or gone--> look
 *                |---over--> that is the answer
 *                '---paid--> REFUSED: it needs a refund
 *   REFUND     look (PayPay's own id; ours among its refunds? then it is done) --> refund
 *   FETCH      look, under the id that is known or under each that may be
 *
 * A look fetches the payment of a code first, and then any other payment: the one that exists shows
 * which kind it is.
 *
 * A code whose reply was lost was never shown, so it cannot be paid: without a stored intent an unpaid
 * code counts as none. */
#include "base/limits.h"
#include "gateway/paypay/run.h"

#include <stdlib.h>
#include <string.h>

static void keep_words(struct paypay_run *r)
{
    memcpy(r->code, r->call->error_code, sizeof(r->code));
    memcpy(r->message, r->call->error_message, sizeof(r->message));
}

/* --- replies that say nothing --- */

/* A code whose reply was lost was never shown, so the next code gets another id. */
static void paypay_flow_unknown(struct paypay_run *r, const struct paypay_reply *reply)
{
    bool look = paypay_moves_nothing(r->ask.step), code = r->ask.step == STEP_CODE;
    enum gateway_answer answer = look ? GATEWAY_RETRY_LATER : GATEWAY_UNCERTAIN;

    r->maybe |= !look;
    if (code && r->attempt < LIMIT_PAYPAY_CODES)
        paypay_use_attempt(r, r->attempt + 1);
    if ((look || code) && paypay_again(r, reply, answer))
        return;
    paypay_finish(r, answer);
}

static void paypay_flow_unreadable(struct paypay_run *r, const char *why)
{
    static const struct paypay_reply as_lost = { .said = SAID_UNKNOWN, .lost = true };

    r->call->fact = (struct fact){ 0 };
    gateway_say(r->call, S("unreadable_answer"), str_of(why));
    paypay_flow_unknown(r, &as_lost);
}

/* True if the object is the one we asked about. Any other object makes the answer UNCERTAIN. */
static bool paypay_flow_belongs(const struct paypay_run *r, const struct fact *f)
{
    return str_eq(f->intent_id, str_of(r->ask.payment.text));
}

/* --- steps that are done --- */

/* False: the reply has no readable payment, or another one than we asked for. */
static bool read_payment(struct paypay_run *r, const struct paypay_reply *reply,
                         struct paypay_payment *ret)
{
    struct gateway_call *c = r->call;
    struct paypay_wanted w = { .now_ms = clock_wall_ms(&r->paypay->env->clock) };
    struct paypay_id id;

    if (c->ask == GATEWAY_CAPTURE) {
        id = paypay_capture_of(c);
        w.capture_id = str_of(id.text);
    } else if (c->ask == GATEWAY_REFUND) {
        id = paypay_refund_of_call(c);
        w.refund_id = str_of(id.text);
    }
    return !paypay_read_payment(c->arena, reply->data, &w, ret) &&
           paypay_flow_belongs(r, &ret->fact);
}

static void done_payment(struct paypay_run *r, const struct paypay_reply *reply)
{
    struct paypay_payment p;

    if (!read_payment(r, reply, &p))
        paypay_flow_unreadable(
            r, "the answer has no payment, one in an unknown state, or another one");
    else
        paypay_looked(r, &p);
}

/* The reply has the capture, or a look follows. */
static void done_capture(struct paypay_run *r, const struct paypay_reply *reply)
{
    struct paypay_payment p;

    r->maybe = r->accepted = true;
    if (!read_payment(r, reply, &p) || !p.has_capture || p.fact.state != INTENT_SUCCEEDED) {
        paypay_look(r);
        return;
    }
    r->call->fact = p.fact;
    paypay_finish(r, GATEWAY_OK);
}

static void done_revert(struct paypay_run *r, const struct paypay_reply *reply)
{
    const cJSON *status = cJSON_GetObjectItemCaseSensitive(reply->data, "status");

    r->maybe = r->accepted = true;
    if (!str_eq(str_of(cJSON_GetStringValue(status)), S("CANCELED"))) {
        paypay_look(r);
        return;
    }
    paypay_cancelled_unpaid(r);
}

/* Only a look shows what became of the payment. */
static void done_cancel(struct paypay_run *r)
{
    r->maybe = r->accepted = true;
    paypay_look(r);
}

static void done_code(struct paypay_run *r, const struct paypay_reply *reply)
{
    struct fact *f = &r->call->fact;

    if (paypay_read_code(r->call->arena, reply->data, f) || !paypay_flow_belongs(r, f) ||
        !paypay_is_sum_asked(r->call, f))
        paypay_flow_unreadable(r, "the answer has no code, or not the one that was asked for");
    else
        paypay_finish(r, GATEWAY_OK);
}

static void done_refund(struct paypay_run *r, const struct paypay_reply *reply)
{
    struct gateway_call *c = r->call;
    struct paypay_id ours = paypay_refund_of_call(c);
    struct fact *f = &c->fact;

    if (paypay_read_refund(c->arena, reply->data, f) || !str_eq(f->refund_id, str_of(ours.text)) ||
        (r->ask.step == STEP_REFUND && !paypay_is_sum_asked(c, f))) {
        paypay_flow_unreadable(r, "the answer has no refund, or not the one that was asked for");
        return;
    }
    f->intent_id = c->intent_id;
    paypay_refund_found(r);
}

static void paypay_flow_done(struct paypay_run *r, const struct paypay_reply *reply)
{
    switch (r->ask.step) {
    case STEP_CODE: done_code(r, reply); return;
    case STEP_REFUND:
    case STEP_LOOK_REFUND: done_refund(r, reply); return;
    case STEP_CAPTURE: done_capture(r, reply); return;
    case STEP_REVERT: done_revert(r, reply); return;
    case STEP_CANCEL: done_cancel(r); return;
    case STEP_DELETE: paypay_cancelled_unpaid(r); return;
    case STEP_PAY:
    case STEP_LOOK_CODE:
    case STEP_LOOK_PAYMENT: done_payment(r, reply); return;
    case STEPS: break;
    }
    abort();
}

/* --- replies --- */

static void paypay_flow_missing(struct paypay_run *r)
{
    switch (r->ask.step) {
    case STEP_LOOK_CODE:
        if (paypay_is_by_intent(r) || r->attempt == 1)
            paypay_next(r, STEP_LOOK_PAYMENT); /* only a first id can be an authorization's */
        else
            paypay_not_there(r);
        return;
    case STEP_LOOK_PAYMENT:
    case STEP_LOOK_REFUND: paypay_not_there(r); return;
    case STEP_CANCEL: paypay_finish(r, r->deleted ? GATEWAY_UNCERTAIN : GATEWAY_ABSENT); return;
    case STEP_DELETE: /* it has ended by itself; by its end, or by who paid it */
        r->deleted = r->gone = true;
        paypay_look(r);
        return;
    case STEP_CODE:
    case STEP_PAY:
    case STEP_CAPTURE:
    case STEP_REVERT:
    case STEP_REFUND: paypay_finish(r, GATEWAY_REFUSED); return;
    case STEPS: break;
    }
    abort();
}

static void paypay_flow_duplicate(struct paypay_run *r)
{
    if (r->ask.step != STEP_CODE || r->attempt == LIMIT_PAYPAY_CODES) {
        gateway_say(r->call, S("too_many_codes"), S("this payment has too many codes already"));
        paypay_finish(r, r->ask.step == STEP_CODE ? GATEWAY_REFUSED : GATEWAY_UNCERTAIN);
        return;
    }
    paypay_use_attempt(r, r->attempt + 1);
    paypay_next(r, STEP_CODE);
}

static void not_so(struct paypay_run *r)
{
    if (r->ask.step == STEP_DELETE) { /* the customer paid it first */
        r->deleted = true;
        paypay_look(r);
        return;
    }
    if (r->ask.step != STEP_CAPTURE && r->ask.step != STEP_REVERT && r->ask.step != STEP_CANCEL) {
        paypay_finish(r, GATEWAY_REFUSED);
        return;
    }
    r->maybe = r->not_so = true; /* until the look says otherwise it may have been ours */
    keep_words(r);
    paypay_look(r);
}

static void paypay_flow_declined(struct paypay_run *r)
{
    bool is_payment = r->ask.step == STEP_CODE || r->ask.step == STEP_PAY;
    struct fact f = { .failure_code = arena_str(r->call->arena, str_of(r->call->error_code)) };

    if (is_payment && f.failure_code.p)
        r->call->fact = f;
    paypay_finish(r, is_payment ? GATEWAY_DECLINED : GATEWAY_REFUSED);
}

static void wait_for_customer(struct paypay_run *r)
{
    r->maybe = true;
    paypay_finish(r, GATEWAY_UNCERTAIN);
}

/* A refusal is no answer to a look. */
static bool is_answer_to_look(enum paypay_said said)
{
    return said == SAID_DONE || said == SAID_MISSING || said == SAID_UNPAID ||
           said == SAID_UNKNOWN || said == SAID_AGAIN;
}

void paypay_heard(struct paypay_run *r, const struct paypay_reply *reply)
{
    if (paypay_moves_nothing(r->ask.step) && !is_answer_to_look(reply->said)) {
        paypay_finish(r, GATEWAY_RETRY_LATER);
        return;
    }
    switch (reply->said) {
    case SAID_DONE: paypay_flow_done(r, reply); return;
    case SAID_ACCEPTED:
        if (r->ask.step == STEP_CANCEL)
            done_cancel(r);
        else
            wait_for_customer(r);
        return;
    case SAID_CONFIRM: wait_for_customer(r); return;
    case SAID_UNPAID:
        r->unpaid = true;
        paypay_flow_missing(r);
        return;
    case SAID_MISSING: paypay_flow_missing(r); return;
    case SAID_DUPLICATE: paypay_flow_duplicate(r); return;
    case SAID_NOT_SO: not_so(r); return;
    case SAID_DECLINED: paypay_flow_declined(r); return;
    case SAID_REFUSED: paypay_finish(r, GATEWAY_REFUSED); return;
    case SAID_SETTINGS:
    case SAID_LATER: paypay_finish(r, GATEWAY_RETRY_LATER); return;
    case SAID_AGAIN:
        if (!paypay_again(r, reply, GATEWAY_RETRY_LATER))
            paypay_finish(r, GATEWAY_RETRY_LATER);
        return;
    case SAID_UNKNOWN: paypay_flow_unknown(r, reply); return;
    }
    abort();
}

/* --- the first step --- */

static struct str code_of(struct arena *a, struct str action)
{
    static const char *const paths[] = { "details.codeId" };
    struct json_value v;
    struct str id = { 0 };

    if (!action.n || json_pick(action, paths, COUNT(paths), &v, NULL) || v.type != JSON_STRING ||
        json_unescape(a, &v, &id))
        return (struct str){ 0 };
    return id;
}

void paypay_begin(struct paypay_run *r)
{
    struct gateway_call *c = r->call;

    paypay_use_attempt(r, 1);
    if (c->ask != GATEWAY_AUTHORIZE && paypay_is_by_intent(r))
        paypay_use_intent(r);
    switch (c->ask) {
    case GATEWAY_AUTHORIZE:
        paypay_next(r, c->payment_method.n ? STEP_LOOK_PAYMENT : STEP_CODE);
        return;
    case GATEWAY_CAPTURE: paypay_next(r, STEP_CAPTURE); return;
    case GATEWAY_FETCH_REFUND: paypay_next(r, STEP_LOOK_REFUND); return;
    case GATEWAY_VOID:
        r->ask.code_id = code_of(c->arena, c->action);
        paypay_look(r);
        return;
    case GATEWAY_REFUND:
    case GATEWAY_FETCH: paypay_look(r); return;
    case GATEWAY_CHECKOUT:
    case GATEWAY_EXPIRE:
    case GATEWAY_ASKS: break;
    }
    abort();
}
