/* payments.c - payments with a user authorization; reading and cancelling any payment. The
 * merchantPaymentId makes a repeat harmless: the same order again is answered with the payment as
 * it is now, and another order under the same id is rejected. */
#include "base/limits.h"
#include "base/time/civil.h"
#include "sandbox/paypay/paypay.h"

bool pp_expiry_fits(const struct work *w, int64_t expires_s)
{
    int64_t now_s = w->now_ms / 1000;

    return !expires_s ||
           (expires_s > now_s && expires_s <= now_s + (int64_t)DAY_S * LIMIT_SANDBOX_PP_HOLD_DAYS);
}

static void answer_repeat(struct pp_call *c, struct pp_payment *p, bool authorization)
{
    const struct pp_input *in = &c->in;

    if (!str_eq(p->user, in->user) || p->amount != in->amount || p->authorization != authorization)
        pp_reject(c, PP_INVALID_PARAMS);
    else if (pp_expire(&c->w, p))
        pp_answer(c, PP_SUCCESS, pp_payment_json(&c->w, p));
}

static bool is_similar(struct pp_call *c)
{
    struct work *w = &c->w;
    struct row row;
    enum err e = TX_ROW(w->tx, STMT_sandbox_paypay_similar, &row, V_TEXT(c->in.user),
                        V_INT(c->in.amount), V_INT(w->now_ms - LIMIT_SANDBOX_PP_SIMILAR_MS));

    return e != ERR_NOT_FOUND && work_ok(w, e);
}

static struct pp_payment new_payment(const struct pp_input *in, bool authorization)
{
    return (struct pp_payment){ .merchant_id = in->payment,
                                .user = in->user,
                                .authorization = authorization,
                                .amount = in->amount,
                                .requested_s = in->requested_s,
                                .expires_ms = in->expires_s * 1000,
                                .store_id = in->store_id,
                                .terminal_id = in->terminal_id,
                                .receipt = in->receipt,
                                .description = in->description,
                                .items = in->items,
                                .metadata = in->metadata };
}

static void pay_new(struct pp_call *c, bool authorization)
{
    struct pp_user user = pp_user_of(c->in.user, authorization);
    struct pp_payment p = new_payment(&c->in, authorization);
    enum pp_status end = authorization ? PP_AUTHORIZED : PP_COMPLETED;

    if (user.result == PP_SUCCESS && !c->in.agree && is_similar(c))
        user = (struct pp_user){ PP_SIMILAR, false };
    if (user.result != PP_SUCCESS && !user.leaves_payment)
        pp_reject(c, user.result);
    else if (!pp_pay(&c->w, &p, user.result == PP_SUCCESS ? end : PP_DECLINED))
        return;
    else if (user.result == PP_SUCCESS)
        pp_answer(c, PP_MADE, pp_payment_json(&c->w, &p));
    else
        pp_reject(c, user.result);
}

static void create_payment(struct pp_call *c, bool authorization)
{
    struct pp_payment known;
    enum err e = pp_payment_of(c->w.tx, c->in.payment, &known);

    if (!e)
        answer_repeat(c, &known, authorization);
    else if (e != ERR_NOT_FOUND)
        work_ok(&c->w, e);
    else if (pp_id_exists(&c->w, STMT_sandbox_paypay_code_of, c->in.payment))
        pp_reject(c, PP_INVALID_PARAMS);
    else if (authorization && !pp_expiry_fits(&c->w, c->in.expires_s))
        pp_reject(c, PP_BAD_EXPIRY);
    else
        pay_new(c, authorization);
}

void pp_payment_create(struct pp_call *c)
{
    create_payment(c, false);
}

void pp_payment_preauthorize(struct pp_call *c)
{
    create_payment(c, true);
}

void pp_payment_details(struct pp_call *c)
{
    struct pp_payment p;

    if (pp_check_found(c, pp_payment_of(c->w.tx, c->id, &p), PP_NOT_FOUND, &p))
        pp_answer(c, PP_SUCCESS, pp_payment_json(&c->w, &p));
}

static enum pp_result may_cancel(const struct work *w, const struct pp_payment *p)
{
    enum pp_result r = pp_allowed(PP_DO_CANCEL, p->status);

    if (r != PP_SUCCESS || p->status == PP_CANCELED)
        return r;
    return p->refunded || !pp_cancel_in_time(p->accepted_ms, w->now_ms) ? PP_NOT_REVERSIBLE : r;
}

void pp_payment_cancel(struct pp_call *c)
{
    struct pp_payment p;
    enum pp_result r;

    if (!pp_check_found(c, pp_payment_of(c->w.tx, c->id, &p), PP_NOT_FOUND, &p))
        return;
    r = may_cancel(&c->w, &p);
    if (r != PP_SUCCESS)
        pp_reject(c, r);
    else if (p.status == PP_CANCELED || pp_cancel(&c->w, &p))
        pp_answer(c, PP_ACCEPTED, S(""));
}
