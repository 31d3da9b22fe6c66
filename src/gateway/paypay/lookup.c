/* lookup.c - what a look at a payment says to each ask, and which of the payment's ids it goes
 * to. The picture stands at the top of flow.c. */
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

/* Ids of other makers do not come here; one would be cut, and found nowhere. */
void paypay_use_intent(struct paypay_run *r)
{
    struct str id = r->call->intent_id;

    r->ask.payment = (struct paypay_id){ "" };
    memcpy(r->ask.payment.text, id.p, id.n < PAYPAY_ID ? id.n : PAYPAY_ID);
}

/* A fact without money, of an intent that we know: what PayPay did not tell is not made up. */
static void state_is(struct paypay_run *r, enum intent_state state, struct str reason)
{
    struct fact *f = &r->call->fact;

    *f = (struct fact){ .kind = FACT_INTENT,
                        .state = state,
                        .intent_id = r->call->intent_id,
                        .cancel_reason = reason };
}

/* --- refusals --- */

/* What a look may say is not why the step before it was refused. */
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

/* --- what a look says --- */

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

/* Without an intent that we know: an unpaid code was never shown, and is none. */
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

/* The answer of an authorization, or what a look found of an earlier one. */
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

/* PayPay would cancel a payment of the same day, whoever knows its money by now. A refund says so
 * in the books; so paid money goes back by none but that. */
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

/* Its code is gone; or its cancel was accepted: PayPay sends back whatever may still come. */
void paypay_cancelled_unpaid(struct paypay_run *r)
{
    state_is(r, INTENT_CANCELED, reason_of(r));
    paypay_finish(r, GATEWAY_OK);
}

/* Behind our cancel. */
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

/* A look may lag behind what PayPay itself has just said of the capture. */
static bool looks_too_old(const struct paypay_run *r, const struct paypay_payment *p)
{
    return p->fact.state == INTENT_AUTHORIZED && str_eq(str_of(r->code), S("already_captured"));
}

/* Behind our capture: a success only where the one that is recorded is ours. */
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

/* A refund that is there and not done is not told of: PayPay repeats it until it is done, and sends
 * no word. So it stays open here, and is asked for until then. */
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
