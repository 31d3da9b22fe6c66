/* transitions.c - the moves of a code and of a payment; the drawing of their states is in rules.c.
 * Each move writes its rows and its notification in the caller's transaction. */
#include "base/limits.h"
#include "base/time/civil.h"
#include "sandbox/impl.h"
#include "sandbox/paypay/paypay.h"

/* 20 digits that grow with time. The leading zero is lost by a client that takes the id for a
 * number. */
static struct str payment_id(struct work *w)
{
    return work_text(w, "0%013lld%03u%03u", (long long)w->now_ms,
                     (unsigned)(sandbox_count(w->s) % 1000),
                     (unsigned)rng_below(&w->s->env.rng, 1000));
}

/* --- a code --- */

bool pp_code_is_open(const struct work *w, const struct pp_code *c)
{
    return str_eq(c->status, S("open")) && c->expires_ms > w->now_ms;
}

bool pp_code_use(struct work *w, struct pp_code *code, bool pays, struct pp_payment *ret)
{
    struct pp_payment p = { .merchant_id = code->payment,
                            .code = code->id,
                            .authorization = code->authorization,
                            .amount = code->amount,
                            .requested_s = code->requested_s,
                            .expires_ms = code->until_ms,
                            .store_id = code->store_id,
                            .terminal_id = code->terminal_id,
                            .description = code->description,
                            .items = code->items,
                            .metadata = code->metadata };
    enum pp_status end = code->authorization ? PP_AUTHORIZED : PP_COMPLETED;

    code->status = S("used");
    if (!pp_code_write(w, code) || !pp_pay(w, &p, pays ? end : PP_DECLINED))
        return false;
    *ret = p;
    return pays || pp_notify(w, &p, "FAILED", 0);
}

/* --- a payment --- */

static bool set_authorized(struct work *w, struct pp_payment *p)
{
    p->authorized_ms = w->now_ms;
    if (!p->expires_ms)
        p->expires_ms = w->now_ms + INT64_C(1000) * DAY_S * LIMIT_SANDBOX_PP_HOLD_DAYS;
    return pp_payment_write(w, p) && work_add_message(w, pp_job_lapse, p->id, p->expires_ms) &&
           pp_notify(w, p, "AUTHORIZED", 0);
}

bool pp_pay(struct work *w, struct pp_payment *p, enum pp_status status)
{
    p->id = payment_id(w);
    p->status = status;
    p->accepted_ms = w->now_ms;
    if (status == PP_AUTHORIZED)
        return set_authorized(w, p);
    p->expires_ms = 0;
    if (status != PP_COMPLETED)
        return pp_payment_write(w, p);
    p->captured = p->amount;
    p->completed_ms = w->now_ms;
    return pp_payment_write(w, p) && pp_notify(w, p, "COMPLETED", 0);
}

bool pp_captured(struct work *w, struct pp_payment *p, struct pp_capture *c)
{
    p->status = PP_COMPLETED;
    p->captured = c->amount;
    p->completed_ms = w->now_ms;
    c->status = S("COMPLETED");
    c->accepted_ms = w->now_ms;
    c->expires_ms = 0;
    return pp_payment_write(w, p) && pp_capture_write(w, c) && pp_notify(w, p, "COMPLETED", 0);
}

bool pp_capture_refused(struct work *w, struct pp_payment *p)
{
    struct pp_capture c;

    p->status = PP_AUTHORIZED;
    return work_ok(w, pp_capture_read(w->tx, p->id, &c)) && pp_capture_forget(w, p->id) &&
           pp_payment_write(w, p) && pp_notify(w, p, "EXPIRED_USER_CONFIRMATION", c.expires_ms);
}

/* The captured amount is returned as if it had never been captured. */
bool pp_cancel(struct work *w, struct pp_payment *p)
{
    p->status = PP_CANCELED;
    p->captured = 0;
    p->canceled_ms = w->now_ms;
    return pp_payment_write(w, p) && pp_notify(w, p, "CANCELED", 0);
}

bool pp_expire(struct work *w, struct pp_payment *p)
{
    bool asks = p->status == PP_REAUTHORIZING;

    if ((p->status != PP_AUTHORIZED && !asks) || p->expires_ms > w->now_ms)
        return true;
    if (asks && !pp_capture_forget(w, p->id))
        return false;
    p->status = PP_EXPIRED;
    return pp_payment_write(w, p) && pp_notify(w, p, "EXPIRED", 0);
}

bool pp_check_found(struct pp_call *c, enum err read, enum pp_result missing, struct pp_payment *p)
{
    if (read == ERR_NOT_FOUND)
        return pp_reject(c, missing);
    return work_ok(&c->w, read) && pp_expire(&c->w, p);
}
