/* take_refund.c - what becomes of a refund, and of its payment with it (D12). Money is counted from
 * refund objects by id, never from the charge's own sums. */
#include "flow/move.h"
#include "flow/tell.h"
#include "flow/text.h"
#include "observe/log.h"

#include <string.h>

/* By our own id, by the gateway's, or unknown: made at the gateway's own dashboard. */
static enum err find(struct tx *tx, const struct taking *t, const struct fact *f,
                     struct refund *ret_refund)
{
    struct uuid ours;
    enum err e = ERR_NOT_FOUND;

    if (uuid_parse(f->refund_our_id, &ours))
        e = refund_read(tx, t->arena, ours, ret_refund);
    if (e == ERR_NOT_FOUND)
        e = refund_read_by_gateway(tx, t->arena, f->refund_id, ret_refund);
    return e;
}

static enum err add_foreign(struct tx *tx, const struct taking *t, const struct payment *p,
                            const struct fact *f)
{
    struct refund r = { .id = env_uuid(tx_env(tx)),
                        .payment_id = p->id,
                        .amount = f->amount,
                        .status = f->refund,
                        .reason = S("made at the gateway"),
                        .gateway_refund_id = f->refund_id,
                        .automatic = p->captured < 0,
                        .created_ms = t->now_ms };

    return refund_add(tx, &r);
}

/* The sums decide: REFUNDED exactly when all that was captured is back. */
static enum err recount(struct tx *tx, const struct taking *t, struct payment *p)
{
    int64_t succeeded, reserved;
    enum err e = refund_sums(tx, p->id, &succeeded, &reserved);

    if (e || p->captured < 0)
        return e;
    if (succeeded > p->captured)
        return ERR_CONSTRAINT; /* more back than was taken: for a person to look at */
    p->refunded = succeeded || p->refunded >= 0 ? succeeded : -1;
    p->status = succeeded == p->captured ? PAYMENT_REFUNDED : PAYMENT_CAPTURED;
    return payment_store(tx, p, t->now_ms);
}

static enum err after_change(struct tx *tx, const struct taking *t, struct payment *p,
                             const struct refund *r, enum refund_status from)
{
    enum err e = r->automatic ? OK : recount(tx, t, p);

    if (!e && r->status == REFUND_SUCCEEDED)
        e = tell_refund(tx, t, p, r);
    if (e || from != REFUND_SUCCEEDED)
        return e;
    LOG(tx_env(tx)->log, LOG_ERROR, "A refund that had succeeded has failed",
        LOG_TEXT("refund", r->gateway_refund_id), LOG_NUM("amount", r->amount));
    return audit_money(tx, "REFUND", p, r->amount, false, S("a refund failed after its success"),
                       NULL, NULL, t->now_ms);
}

enum err take_refund(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     enum verdict *ret_verdict)
{
    struct refund r;
    enum refund_status from;
    enum err e = find(tx, t, f, &r);

    *ret_verdict = VERDICT_APPLY;
    if (e == ERR_NOT_FOUND) {
        e = add_foreign(tx, t, p, f);
        if (!e)
            e = refund_read_by_gateway(tx, t->arena, f->refund_id, &r);
        return e ? e : after_change(tx, t, p, &r, REFUND_PENDING);
    }
    if (e)
        return e;
    if (f->amount != r.amount || !uuid_eq(r.payment_id, p->id)) {
        *ret_verdict = VERDICT_MISMATCH;
        return OK;
    }
    from = r.status;
    if (from != f->refund && !refund_moves(from, f->refund)) {
        *ret_verdict = VERDICT_SUPERSEDED;
        return OK;
    }
    if (from == f->refund && r.gateway_refund_id.n) {
        *ret_verdict = VERDICT_SAME;
        return OK;
    }
    r.status = f->refund;
    r.gateway_refund_id = f->refund_id;
    r.failure_reason = cut_utf8(f->refund_failure, FAILURE_MAX);
    e = refund_store(tx, &r, from, t->now_ms);
    if (e || from == r.status)
        return e;
    return after_change(tx, t, p, &r, from);
}

enum err refund_fail(struct tx *tx, const struct taking *t, struct payment *p, struct refund *r,
                     struct str reason)
{
    enum refund_status from = r->status;

    (void)p;
    if (!refund_moves(from, REFUND_FAILED))
        return OK;
    r->status = REFUND_FAILED;
    r->failure_reason = cut_utf8(reason, FAILURE_MAX);
    return refund_store(tx, r, from, t->now_ms);
}
