/* codes.c - /v2/codes: create, delete, read the payment of a code. A merchantPaymentId makes one
 * code at most, so a merchant that lost the answer never learns the code's url. */
#include "base/limits.h"
#include "base/time/civil.h"
#include "sandbox/paypay/paypay.h"

enum { CODE_DIGITS = 16 };

/* Whether a code or a payment already uses this id. With err set, the answer is unknown. */
static bool id_is_used(struct work *w, struct str id)
{
    return pp_id_exists(w, STMT_sandbox_paypay_code_of, id) ||
           (!w->err && pp_id_exists(w, STMT_sandbox_paypay_payment_of, id));
}

static struct pp_code new_code(struct work *w, const struct pp_input *in)
{
    return (struct pp_code){ .id = sb_id_random(w, "04-", CODE_DIGITS),
                             .payment = in->payment,
                             .created_ms = w->now_ms,
                             .expires_ms = w->now_ms + LIMIT_SANDBOX_PP_CODE_MS,
                             .status = S("open"),
                             .amount = in->amount,
                             .authorization = in->authorization,
                             .until_ms = in->authorization ? in->expires_s * 1000 : 0,
                             .requested_s = in->requested_s,
                             .description = in->description,
                             .redirect_url = in->redirect_url,
                             .redirect_type = in->redirect_type,
                             .items = in->items,
                             .metadata = in->metadata,
                             .store_id = in->store_id,
                             .terminal_id = in->terminal_id };
}

void pp_code_create(struct pp_call *c)
{
    struct work *w = &c->w;
    struct pp_code code;

    if (c->in.authorization && !pp_expiry_fits(w, c->in.expires_s)) {
        pp_reject(c, PP_BAD_EXPIRY);
        return;
    }
    if (id_is_used(w, c->in.payment)) {
        pp_reject(c, PP_CODE_EXISTS);
        return;
    }
    code = new_code(w, &c->in);
    if (pp_code_write(w, &code) && work_add_message(w, pp_job_code_lapse, code.id, code.expires_ms))
        pp_answer(c, PP_MADE, pp_code_json(w, &code, &c->in));
}

/* A failed payment has used up the code too. */
static enum pp_result why_not_deleted(struct pp_call *c, const struct pp_code *code)
{
    struct pp_payment p;

    if (!str_eq(code->status, S("used")))
        return PP_CODE_MISSING;
    if (!work_ok(&c->w, pp_payment_of(c->w.tx, code->payment, &p)))
        return PP_INTERNAL;
    return p.status == PP_DECLINED ? PP_CODE_MISSING : PP_CODE_PAID;
}

void pp_code_delete(struct pp_call *c)
{
    struct pp_code code;
    enum err e = pp_code_read(c->w.tx, c->id, &code);

    if (e == ERR_NOT_FOUND) {
        pp_reject(c, PP_CODE_MISSING);
        return;
    }
    if (!work_ok(&c->w, e))
        return;
    if (!pp_code_is_open(&c->w, &code)) {
        pp_reject(c, why_not_deleted(c, &code));
        return;
    }
    code.status = S("deleted");
    if (pp_code_write(&c->w, &code))
        pp_answer(c, PP_SUCCESS, S("{\"qrStatus\":\"DELETED\"}"));
}

/* A code that was not paid has no payment. */
void pp_code_details(struct pp_call *c)
{
    struct pp_payment p;
    enum err e = pp_payment_of(c->w.tx, c->id, &p);

    if (!e && !p.code.n)
        e = ERR_NOT_FOUND;
    if (pp_check_found(c, e, PP_CODE_UNPAID, &p))
        pp_answer(c, PP_SUCCESS, pp_payment_json(&c->w, &p));
}
