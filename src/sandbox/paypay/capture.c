/* capture.c - capturing an authorization, once and in full or in part, or reverting it. With the
 * switch confirm_capture, or for LIMIT_SANDBOX_PP_ASKS yen, the user is asked first. */
#include "base/limits.h"
#include "sandbox/paypay/paypay.h"

/* --- capture --- */

static enum pp_result may_capture(const struct pp_payment *p, int64_t amount)
{
    enum pp_result r = pp_allowed(PP_DO_CAPTURE, p->status);

    if (r == PP_ALREADY_CAPTURED && !p->authorization)
        return PP_NOT_CAPTURABLE;
    if (r != PP_SUCCESS)
        return r;
    return amount > p->amount ? PP_HIGHER_CAPTURE : r;
}

static bool must_ask_user(struct work *w, int64_t amount)
{
    struct pp_switches s;

    return work_ok(w, pp_switches_read(w->tx, &s)) &&
           (s.confirm_capture || amount == LIMIT_SANDBOX_PP_ASKS);
}

static void ask_user(struct pp_call *c, struct pp_payment *p, struct pp_capture *k)
{
    struct work *w = &c->w;

    if (p->expires_ms - w->now_ms < LIMIT_SANDBOX_PP_CONFIRM_MS) {
        pp_reject(c, PP_TOO_CLOSE);
        return;
    }
    p->status = PP_REAUTHORIZING;
    k->status = S("USER_REQUESTED");
    k->expires_ms = w->now_ms + LIMIT_SANDBOX_PP_CONFIRM_MS;
    if (pp_payment_write(w, p) && pp_capture_write(w, k) &&
        work_add_message(w, pp_job_confirm_lapse, p->id, k->expires_ms))
        pp_answer(c, PP_ASKS_USER, pp_payment_json(w, p));
}

void pp_payment_capture(struct pp_call *c)
{
    struct work *w = &c->w;
    struct pp_payment p;
    struct pp_capture k;
    enum pp_result r;

    if (!pp_check_found(c, pp_payment_of(w->tx, c->in.payment, &p), PP_NOT_FOUND, &p))
        return;
    r = may_capture(&p, c->in.amount);
    if (r == PP_SUCCESS && pp_id_exists(w, STMT_sandbox_paypay_capture_known, c->in.capture))
        r = PP_INVALID_PARAMS; /* the capture id belongs to another payment */
    if (r != PP_SUCCESS) {
        pp_reject(c, r);
        return;
    }
    k = (struct pp_capture){ .payment = p.id,
                             .id = c->in.capture,
                             .amount = c->in.amount,
                             .requested_s = c->in.requested_s,
                             .accepted_ms = w->now_ms,
                             .description = c->in.description };
    if (must_ask_user(w, c->in.amount))
        ask_user(c, &p, &k);
    else if (pp_captured(w, &p, &k))
        pp_answer(c, PP_SUCCESS, pp_payment_json(w, &p));
}

/* --- revert --- */

void pp_payment_revert(struct pp_call *c)
{
    struct work *w = &c->w;
    struct pp_payment p;
    enum pp_result r;

    if (!pp_check_found(c, pp_payment_read(w->tx, c->in.paypay_id, &p), PP_NOT_FOUND, &p))
        return;
    r = pp_allowed(PP_DO_REVERT, p.status);
    if (r == PP_SUCCESS && pp_id_exists(w, STMT_sandbox_paypay_revert_known, c->in.revert))
        r = PP_INVALID_PARAMS;
    if (r != PP_SUCCESS) {
        pp_reject(c, r);
        return;
    }
    p.revert_id = c->in.revert;
    p.revert_requested_s = c->in.requested_s;
    p.revert_reason = c->in.reason;
    if (pp_cancel(w, &p))
        pp_answer(c, PP_SUCCESS, pp_revert_json(w, &p));
}
