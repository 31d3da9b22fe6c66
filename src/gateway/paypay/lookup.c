/* lookup.c - what the state of a payment at PayPay means for each ask, and which of the payment's ids
 * is queried. The diagram is at the top of flow.c. */
#include "base/limits.h"
#include "gateway/paypay/run.h"

#include <stdlib.h>
#include <string.h>

/* --- ids --- */

void paypay_use_attempt(struct paypay_run *r, int attempt)
{
    r->attempt = attempt;
    r->ask.payment = paypay_payment_id(r->call->payment, attempt);
}

/* Only ids of our own come here. */
void paypay_use_intent(struct paypay_run *r)
{
    struct str id = r->call->intent_id;

    r->ask.payment = (struct paypay_id){ "" };
    memcpy(r->ask.payment.text, id.p, id.n < PAYPAY_ID ? id.n : PAYPAY_ID);
}

/* A fact of a known intent without amounts, since PayPay did not tell them. */
static void state_is(struct paypay_run *r, enum intent_state state, struct str reason)
{
    struct fact *f = &r->call->fact;

    *f = (struct fact){ .kind = FACT_INTENT,
                        .state = state,
                        .intent_id = r->call->intent_id,
                        .cancel_reason = reason };
}

/* --- refusals --- */

/* Keeps the code and message of the refused step, and not those of the look. */
static void refuse_as_told(struct paypay_run *r)
{
    gateway_say(r->call, str_of(r->code), str_of(r->message));
    paypay_finish(r, GATEWAY_REFUSED);
}

static void paypay_lookup_refuse(struct paypay_run *r, struct str code, struct str message)
{
    gateway_say(r->call, code, message);
    paypay_finish(r, GATEWAY_REFUSED);
}

/* --- the result of a look --- */

void paypay_look(struct paypay_run *r)
{
    r->unpaid = false;
    paypay_next(r, STEP_LOOK_CODE);
}

static void look_on(struct paypay_run *r)
{
    if (r->attempt == LIMIT_PAYPAY_CODES) {
        paypay_finish(r, GATEWAY_ABSENT);
        return;
    }
    paypay_use_attempt(r, r->attempt + 1);
    paypay_look(r);
}

/* If we know no intent, an unpaid code was never shown to a customer, and counts as absent. */
static void paypay_lookup_fetched(struct paypay_run *r, const struct paypay_payment *p)
{
    if (paypay_is_by_intent(r) || p->status != PAYPAY_CREATED) {
        paypay_finish(r, GATEWAY_OK);
    } else if (r->ask.step == STEP_LOOK_CODE) {
        look_on(r);
    } else {
        gateway_say(r->call, S("in_progress"), S("the payment is still being worked on"));
        paypay_finish(r, GATEWAY_RETRY_LATER);
    }
}

/* The reply to an authorization, or the result of a look at an earlier one. */
static void paypay_lookup_paid(struct paypay_run *r, const struct paypay_payment *p)
{
    if (!paypay_is_sum_asked(r->call, &p->fact)) {
        gateway_say(r->call, S("answer_mismatch"), S("the answer has another sum or currency"));
        paypay_finish(r, GATEWAY_UNCERTAIN);
        return;
    }
    if (p->status == PAYPAY_CREATED) {
        gateway_say(r->call, S("in_progress"), S("the payment is still being worked on"));
        paypay_finish(r, GATEWAY_UNCERTAIN);
        return;
    }
    paypay_finish(r, GATEWAY_OK);
}

static void cancel_unpaid(struct paypay_run *r)
{
    paypay_next(r, r->ask.code_id.n && !r->deleted ? STEP_DELETE : STEP_CANCEL);
}

/* PayPay would cancel a payment that was paid on the same day, without a refund in the ledger. So
 * paid money is returned only by a refund. */
static void paypay_lookup_cancel(struct paypay_run *r, const struct paypay_payment *p)
{
    switch (p->status) {
    case PAYPAY_AUTHORIZED:
    case PAYPAY_REAUTHORIZING:
        r->ask.paypay_id = p->paypay_id;
        paypay_next(r, STEP_REVERT);
        return;
    case PAYPAY_COMPLETED:
        paypay_lookup_refuse(r, S("refund_instead"), S("it is paid: use a refund"));
        return;
    case PAYPAY_CREATED: cancel_unpaid(r); return;
    case PAYPAY_REFUNDED:
        paypay_lookup_refuse(r, S("already_refunded"), S("its money went back before"));
        return;
    case PAYPAY_FAILED:
    case PAYPAY_CANCELED:
    case PAYPAY_EXPIRED: paypay_finish(r, GATEWAY_OK); return;
    case PAYPAY_STATUSES: break;
    }
    abort();
}

static struct str reason_of(const struct paypay_run *r)
{
    return r->call->reason.n ? r->call->reason : S("canceled");
}

/* Its code is deleted, or its cancel was accepted: PayPay returns a payment that may still come. */
void paypay_cancelled_unpaid(struct paypay_run *r)
{
    state_is(r, INTENT_CANCELED, reason_of(r));
    paypay_finish(r, GATEWAY_OK);
}

/* The look after our cancel. */
static void paypay_lookup_cancelled(struct paypay_run *r, const struct paypay_payment *p)
{
    if (p->fact.state == INTENT_CANCELED) {
        if (r->accepted)
            r->call->fact.cancel_reason = reason_of(r);
        paypay_finish(r, GATEWAY_OK);
    } else if (r->accepted && p->status == PAYPAY_CREATED) {
        paypay_cancelled_unpaid(r);
    } else if (r->not_so) {
        refuse_as_told(r);
    } else {
        gateway_say(r->call, S("cancel_pending"), S("the cancel was accepted and is not done yet"));
        paypay_finish(r, GATEWAY_UNCERTAIN);
    }
}

/* The state that PayPay returns may be older than its reply to the capture. */
static bool looks_too_old(const struct paypay_run *r, const struct paypay_payment *p)
{
    return p->fact.state == INTENT_AUTHORIZED && str_eq(str_of(r->code), S("already_captured"));
}

/* The look after our capture: a success only if the recorded capture is ours. */
static void paypay_lookup_captured(struct paypay_run *r, const struct paypay_payment *p)
{
    if (p->has_capture && p->fact.state == INTENT_SUCCEEDED) {
        paypay_finish(r, GATEWAY_OK);
    } else if (r->accepted || p->fact.action_type.n || looks_too_old(r, p)) {
        gateway_say(r->call, S("capture_pending"), S("the capture is not done yet"));
        paypay_finish(r, GATEWAY_UNCERTAIN);
    } else {
        refuse_as_told(r);
    }
}

/* PayPay repeats a failed refund until it is done and sends no notification. So a refund that is not
 * done stays pending here, and is queried until then. */
void paypay_refund_found(struct paypay_run *r)
{
    if (r->call->fact.refund == REFUND_SUCCEEDED) {
        paypay_finish(r, GATEWAY_OK);
        return;
    }
    gateway_say(r->call, S("refund_pending"),
                S("PayPay could not refund it yet, and will try again"));
    paypay_finish(r, GATEWAY_UNCERTAIN);
}

static void paypay_lookup_refund(struct paypay_run *r, const struct paypay_payment *p)
{
    if (p->has_refund) {
        r->call->fact = p->refund;
        paypay_refund_found(r);
        return;
    }
    r->ask.paypay_id = p->paypay_id;
    r->call->fact = (struct fact){ 0 };
    paypay_next(r, STEP_REFUND);
}

void paypay_looked(struct paypay_run *r, const struct paypay_payment *p)
{
    r->call->fact = p->fact;
    switch (r->call->ask) {
    case GATEWAY_AUTHORIZE: paypay_lookup_paid(r, p); return;
    case GATEWAY_CAPTURE: paypay_lookup_captured(r, p); return;
    case GATEWAY_VOID:
        if (r->accepted || r->not_so)
            paypay_lookup_cancelled(r, p);
        else
            paypay_lookup_cancel(r, p);
        return;
    case GATEWAY_REFUND: paypay_lookup_refund(r, p); return;
    case GATEWAY_FETCH: paypay_lookup_fetched(r, p); return;
    case GATEWAY_FETCH_REFUND:
    case GATEWAY_CHECKOUT:
    case GATEWAY_EXPIRE:
    case GATEWAY_ASKS: break;
    }
    abort();
}

static void void_of_nothing(struct paypay_run *r)
{
    if (r->accepted || r->gone) {
        paypay_cancelled_unpaid(r);
    } else if (r->not_so) {
        refuse_as_told(r);
    } else {
        cancel_unpaid(r);
    }
}

static void fetch_of_nothing(struct paypay_run *r)
{
    if (!paypay_is_by_intent(r)) {
        look_on(r);
    } else if (r->unpaid) {
        state_is(r, INTENT_OPEN, S(""));
        paypay_finish(r, GATEWAY_OK);
    } else {
        paypay_finish(r, GATEWAY_ABSENT);
    }
}

void paypay_not_there(struct paypay_run *r)
{
    gateway_say(r->call, S(""), S(""));
    switch (r->call->ask) {
    case GATEWAY_AUTHORIZE: paypay_next(r, STEP_PAY); return;
    case GATEWAY_CAPTURE: paypay_finish(r, GATEWAY_RETRY_LATER); return; /* it was there before */
    case GATEWAY_VOID: void_of_nothing(r); return;
    case GATEWAY_REFUND:
        paypay_lookup_refuse(r, S("payment_not_found"), S("PayPay does not know this payment"));
        return;
    case GATEWAY_FETCH: fetch_of_nothing(r); return;
    case GATEWAY_FETCH_REFUND: paypay_finish(r, GATEWAY_ABSENT); return;
    case GATEWAY_CHECKOUT:
    case GATEWAY_EXPIRE:
    case GATEWAY_ASKS: break;
    }
    abort();
}
