/* checkout.c - the states of a Checkout Session.
 *
 *   open --paid by card-----------> complete, paid      checkout.session.completed
 *    |   --konbini slip, debit----> complete, unpaid    checkout.session.completed
 *    |                                 |--money arrives--> paid    async_payment_succeeded
 *    |                                 '--slip expired,
 *    |                                    debit failed---> unpaid  async_payment_failed
 *    |   --declined, 3-D Secure---> open                (its intent stays for the next attempt)
 *    '---its time, or by call-----> expired             payment_intent.canceled, session.expired
 *
 *   (1) A session has no intent before the first attempt to pay, and never a second one.
 *   (2) A session decides nothing: it follows its intent, in the same transaction. */
#include "sandbox/stripe/checkout.h"

#include "base/limits.h"

static bool emit_session_event(struct work *w, const char *type, const struct session *s)
{
    return work_emit(w, type, sb_session_json(w, s, 0), S(""));
}

bool sb_session_is_open(const struct work *w, const struct session *s)
{
    return str_eq(s->status, S("open")) && s->expires_ms > w->now_ms;
}

/* --- following the intent --- */

static bool session_complete(struct work *w, struct session *s, const struct intent *p)
{
    s->status = S("complete");
    s->payment_status = p->status == INTENT_SUCCEEDED ? S("paid") : S("unpaid");
    return sb_session_write(w, s) && emit_session_event(w, "checkout.session.completed", s);
}

static bool is_delayed(const struct intent *p)
{
    return method_type_of(p->card)->delayed;
}

/* A captured hold emits no session event: the capture has emitted its own. */
static bool session_paid(struct work *w, struct session *s, const struct intent *p)
{
    s->payment_status = S("paid");
    return sb_session_write(w, s) &&
           (!is_delayed(p) || emit_session_event(w, "checkout.session.async_payment_succeeded", s));
}

bool sb_session_follow(struct work *w, const struct intent *p)
{
    struct session s;

    if (!p->session.n)
        return true;
    if (!work_ok(w, sb_session_read(w->tx, p->session, &s)))
        return false;
    if (str_eq(s.status, S("open")))
        return p->status == INTENT_SUCCEEDED || p->status == INTENT_NEEDS_CAPTURE ||
                       p->status == INTENT_PROCESSING || sb_voucher_waits(p)
                   ? session_complete(w, &s, p)
                   : true;
    if (!str_eq(s.status, S("complete")) || str_eq(s.payment_status, S("paid")))
        return true;
    if (p->status == INTENT_SUCCEEDED)
        return session_paid(w, &s, p);
    return p->status != INTENT_NEEDS_METHOD ||
           emit_session_event(w, "checkout.session.async_payment_failed", &s);
}

/* --- an attempt to pay --- */

static bool make_intent(struct work *w, struct session *s, struct intent *p)
{
    *p = sb_intent_new(w);
    p->amount = s->amount;
    p->currency = s->currency;
    p->capture_method = s->capture_method;
    p->metadata = s->intent_metadata;
    p->description = s->intent_description;
    p->customer = s->customer;
    p->receipt_email = s->receipt_email;
    p->descriptor_suffix = s->descriptor_suffix;
    p->setup_future_usage = s->setup_future_usage;
    p->shipping = s->shipping;
    p->method_types = s->method_types;
    p->automatic_methods = false;
    p->session = s->id;
    p->return_url = sb_session_url(w, s); /* the session's page redirects onward from there */
    s->intent = p->id;
    return sb_session_write(w, s) &&
           work_emit(w, "payment_intent.created", sb_intent_json(w, p, 0), S(""));
}

bool sb_session_pay(struct work *w, struct session *s, const struct method *m,
                    const struct confirmation *how, struct intent *ret_intent,
                    struct pay_attempt *ret_attempt)
{
    struct intent *p = ret_intent;

    if (s->intent.n ? !work_ok(w, sb_intent_read(w->tx, s->intent, p)) || !sb_session_write(w, s)
                    : !make_intent(w, s, p))
        return false;
    sb_intent_set_method(p, m->id, m->card);
    return sb_intent_attempt(w, p, how, ret_attempt) &&
           work_ok(w, sb_session_read(w->tx, s->id, s));
}

/* --- expiry --- */

static bool cancel_intent(struct work *w, const struct session *s)
{
    struct intent p;

    if (!s->intent.n)
        return true;
    return work_ok(w, sb_intent_read(w->tx, s->intent, &p)) &&
           sb_intent_cancel(w, &p, S("expired"));
}

bool sb_session_expire(struct work *w, struct session *s)
{
    s->status = S("expired");
    return sb_session_write(w, s) && cancel_intent(w, s) &&
           emit_session_event(w, "checkout.session.expired", s);
}
