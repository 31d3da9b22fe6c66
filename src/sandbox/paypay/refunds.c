/* refunds.c - POST /v2/refunds: one for each payment, or several with the switch. The
 * merchantRefundId makes a repeat harmless: the same order again is answered with the refund that
 * it made. */
#include "base/limits.h"
#include "sandbox/paypay/paypay.h"

static void answer_repeat(struct pp_call *c, const struct pp_refund *r)
{
    if (!str_eq(r->payment, c->in.paypay_id) || r->amount != c->in.amount)
        pp_reject(c, PP_INVALID_PARAMS);
    else
        pp_answer(c, PP_SUCCESS, pp_refund_json(&c->w, r));
}

static enum pp_result may_refund(struct pp_call *c, const struct pp_payment *p,
                                 const struct pp_switches *s)
{
    enum pp_result r = pp_allowed(PP_DO_REFUND, p->status);
    bool many = str_eq(s->refunds, S("many"));
    struct pp_refund *refunds;
    size_t count;

    if (r != PP_SUCCESS)
        return r;
    if (!pp_refund_in_time(p->completed_ms, c->w.now_ms))
        return PP_REFUND_LATE;
    if (!pp_refunds_of(&c->w, p->id, &refunds, &count))
        return PP_INTERNAL;
    if (count && !many)
        return PP_SECOND_REFUND;
    if (count == LIMIT_SANDBOX_PP_REFUNDS)
        return PP_REFUNDS_OVER;
    return c->in.amount > p->captured - p->refunded ? PP_INVALID_REFUND : PP_SUCCESS;
}

static bool write_refund(struct pp_call *c, struct pp_payment *p, const struct pp_switches *s,
                         struct pp_refund *r)
{
    struct work *w = &c->w;
    bool later = s->refund_delay_ms > 0;

    *r = (struct pp_refund){ .id = c->in.refund,
                             .payment = p->id,
                             .status = later ? S("CREATED") : S("REFUNDED"),
                             .amount = c->in.amount,
                             .requested_s = c->in.requested_s,
                             .accepted_ms = w->now_ms,
                             .reason = c->in.reason };
    p->refunded += r->amount;
    if (p->refunded == p->captured)
        p->status = PP_REFUNDED;
    return pp_payment_write(w, p) && pp_refund_write(w, r) &&
           (!later || work_add_message(w, pp_job_refund, r->id, w->now_ms + s->refund_delay_ms));
}

static void create_refund(struct pp_call *c)
{
    struct work *w = &c->w;
    struct pp_switches s;
    struct pp_payment p;
    struct pp_refund refund;
    enum pp_result r;

    if (!work_ok(w, pp_switches_read(w->tx, &s)) ||
        !pp_check_found(c, pp_payment_read(w->tx, c->in.paypay_id, &p), PP_NOT_FOUND, &p))
        return;
    r = may_refund(c, &p, &s);
    if (r != PP_SUCCESS)
        pp_reject(c, r);
    else if (write_refund(c, &p, &s, &refund))
        pp_answer(c, PP_MADE, pp_refund_json(w, &refund));
}

void pp_refund_create(struct pp_call *c)
{
    struct pp_refund known;
    enum err e = pp_refund_read(c->w.tx, c->in.refund, &known);

    if (!e)
        answer_repeat(c, &known);
    else if (e == ERR_NOT_FOUND)
        create_refund(c);
    else
        work_ok(&c->w, e);
}

void pp_refund_details(struct pp_call *c)
{
    struct pp_refund r;
    enum err e = pp_refund_read(c->w.tx, c->id, &r);

    if (e == ERR_NOT_FOUND)
        pp_reject(c, PP_NO_REFUND);
    else if (work_ok(&c->w, e))
        pp_answer(c, PP_SUCCESS, pp_refund_json(&c->w, &r));
}
