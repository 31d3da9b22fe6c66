/* capture.c - capturing and cancelling a payment intent. */
#include "sandbox/stripe/call.h"
#include "sandbox/stripe/checkout.h"

static bool reject_capture(struct stripe_call *v, const struct intent *p)
{
    struct str status = sb_intent_status_text(p->status);

    return stripe_reject_unexpected(
        v, p,
        work_text(&v->w,
                  "This PaymentIntent could not be captured because it has a status of " STR_FMT
                  ". Only a PaymentIntent with one of the following statuses may be captured: "
                  "requires_capture.",
                  STR_ARG(status)));
}

/* The authorization has ended, but the job that cancels the intent has not run yet. */
static bool reject_lapsed(struct stripe_call *v, const struct intent *p)
{
    return stripe_reject(
        v, &(struct rejection){ .status = 400,
                                .type = "invalid_request_error",
                                .code = S("charge_expired_for_capture"),
                                .message = S("The authorization has expired and can no longer be "
                                             "captured."),
                                .charge = p->latest_charge,
                                .intent = sb_intent_json(&v->w, p, 0),
                                .began = true });
}

static bool take_capture_amount(struct stripe_call *v, const struct intent *p, int64_t *ret_amount)
{
    struct param t;

    if (!param_number(v, "amount_to_capture", &t))
        return false;
    *ret_amount = t.has ? t.number : p->amount_capturable;
    if (*ret_amount < 1)
        return stripe_reject_invalid(v, "parameter_invalid_integer", "amount_to_capture",
                                     "This value must be greater than or equal to 1.");
    if (*ret_amount > p->amount_capturable)
        return stripe_reject(
            v, &(struct rejection){ .status = 400,
                                    .type = "invalid_request_error",
                                    .code = S("payment_intent_unexpected_state"),
                                    .message = S("The requested capture amount is greater than the "
                                                 "amount you can capture for this PaymentIntent."),
                                    .param = S("amount_to_capture"),
                                    .intent = sb_intent_json(&v->w, p, 0),
                                    .began = true });
    return true;
}

static void answer_intent(struct stripe_call *v, const struct intent *p)
{
    static const struct expansion known[] = {
        { "latest_charge", EXPAND_CHARGE },
        { "latest_charge.balance_transaction", EXPAND_CHARGE | EXPAND_BALANCE },
        { "latest_charge.refunds", EXPAND_CHARGE | EXPAND_REFUNDS },
    };

    stripe_answer(v, sb_intent_json(&v->w, p, param_expand(v, known, COUNT(known))));
}

void intent_capture(struct stripe_call *v)
{
    struct intent p;
    struct charge c;
    int64_t amount;

    if (!stripe_read_intent(v, &p))
        return;
    if (p.status != INTENT_NEEDS_CAPTURE) {
        reject_capture(v, &p);
        return;
    }
    if (!take_capture_amount(v, &p, &amount) ||
        !work_ok(&v->w, sb_charge_read(v->w.tx, p.latest_charge, &c)))
        return;
    if (c.capture_before_ms <= v->w.now_ms)
        reject_lapsed(v, &p);
    else if (sb_intent_settle(&v->w, &p, &c, amount))
        answer_intent(v, &p);
}

/* An intent of a Checkout Session ends only with its session. The exception is a hold: its session
 * is complete and cannot expire, so the intent may be cancelled itself. */
static bool may_cancel_alone(struct stripe_call *v, const struct intent *p)
{
    return !p->session.n || p->status == INTENT_NEEDS_CAPTURE ||
           stripe_reject_unexpected(
               v, p,
               S("You cannot cancel this PaymentIntent because it was created by a "
                 "Checkout Session. Expire the Checkout Session instead."));
}

void intent_cancel(struct stripe_call *v)
{
    struct intent p;
    struct param reason;

    if (!stripe_read_intent(v, &p) ||
        !param_choice(v, "cancellation_reason",
                      "duplicate|fraudulent|requested_by_customer|abandoned", &reason))
        return;
    if (p.status == INTENT_SUCCEEDED || p.status == INTENT_CANCELED ||
        p.status == INTENT_PROCESSING) {
        struct str status = sb_intent_status_text(p.status);

        stripe_reject_unexpected(
            v, &p,
            work_text(&v->w,
                      "You cannot cancel this PaymentIntent because it has a status "
                      "of " STR_FMT ".",
                      STR_ARG(status)));
        return;
    }
    if (!may_cancel_alone(v, &p))
        return;
    if (sb_intent_cancel(&v->w, &p, reason.text))
        answer_intent(v, &p);
}
