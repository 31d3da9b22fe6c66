/* refund.c - what becomes of a refund, and of its payment with it (D12). Money is counted from
 * refund objects by id, never from the charge's own sums. */
#include "base/text.h"
#include "observe/metrics.h"
#include "payment/emit.h"
#include "payment/payable.h"
#include "payment/refund_retry.h"
#include "store/tx_log.h"

#include <string.h>

/* By our own id, by the gateway's, or unknown: made at the gateway's own dashboard. */
static enum err refund_find(struct tx *tx, const struct taking *t, const struct fact *f,
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

/* Money of a second intent, or of a payment without any, never was this payment's (D2). */
static enum err add_foreign(struct tx *tx, const struct taking *t, const struct payment *p,
                            const struct fact *f)
{
    struct refund r = { .id = env_uuid(tx_env(tx)),
                        .payment_id = p->id,
                        .amount = f->amount,
                        .status = f->refund,
                        .reason = S("made at the gateway"),
                        .gateway_refund_id = f->refund_id,
                        .failure_reason = cut_utf8(f->refund_failure, FAILURE_MAX),
                        .automatic = is_of_other_intent(p, f) || is_void(p),
                        .created_ms = t->now_ms };

    return refund_add(tx, &r);
}

/* The booking was paid anew since: two payments cannot hold one place (D1). This one stays
 * REFUNDED, with the true sum, and the alert of the failed refund tells a person. */
static enum err place_is_taken(struct tx *tx, const struct payment *p, bool *ret_taken)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_payment_of_place, &row,
                        V_TEXT(str_of(payment_context_name(p->context))), v_uuid(&p->subject_id));

    *ret_taken = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* PostgreSQL: somebody on another node may have claimed the place without its commit being seen
 * here. The index waits for that one and then refuses us. It is no fault of the refund: tried
 * again, it sees that the place is taken. The row is read so that the statement has surely run. */
static enum err take_place_back(struct tx *tx, const struct taking *t, struct payment *p)
{
    bool taken;
    enum err e = payment_store(tx, p, t->now_ms);

    if (!e)
        e = place_is_taken(tx, p, &taken);
    return e == ERR_CONFLICT ? ERR_UNAVAILABLE : e;
}

/* The sums decide: REFUNDED exactly when all that was captured is back. */
static enum err refund_recount(struct tx *tx, const struct taking *t, struct payment *p)
{
    bool was_refunded = p->status == PAYMENT_REFUNDED, taken = false;
    struct refund_sums sums;
    int back; /* less than was captured, all of it, or more */
    enum err e = refund_sums(tx, p->id, &sums);

    if (e == ERR_SUM_TOO_LARGE)
        return ERR_CONSTRAINT; /* the same as below */
    if (e || !minor_known(p->captured))
        return e;
    back = minor_cmp(sums.succeeded, p->captured);
    if (back > 0)
        return ERR_CONSTRAINT; /* more back than was taken: for a person to look at */
    if (was_refunded && back < 0)
        e = place_is_taken(tx, p, &taken);
    if (e)
        return e;
    p->refunded = minor_or_none(sums.succeeded); /* however it came to nothing (E7) */
    p->status = !back || taken ? PAYMENT_REFUNDED : PAYMENT_CAPTURED;
    e = was_refunded && p->status == PAYMENT_CAPTURED ? take_place_back(tx, t, p)
                                                      : payment_store(tx, p, t->now_ms);
    return e || !subject_of(t->payments, p)->refunded
               ? e
               : subject_of(t->payments, p)->refunded(tx, t, p);
}

static enum err refund_alert(struct tx *tx, const struct taking *t, const struct payment *p,
                             const struct refund *r, const char *what)
{
    char payment[UUID_TEXT + 1], id[UUID_TEXT + 1];

    uuid_text(p->id, payment);
    uuid_text(r->id, id);
    LOG_AFTER_COMMIT(tx, LOG_ERROR, what, LOG_TEXT("paymentId", str_of(payment)),
                     LOG_TEXT("refundId", str_of(id)), LOG_NUM("amount", r->amount),
                     LOG_TRACE(t->trace));
    return audit_money(tx, "REFUND", p, r->amount, r->status == REFUND_SUCCEEDED, str_of(what),
                       NULL, NULL, t->now_ms);
}

/* Whoever made it takes the money for gone: that it is not has to be said. */
static enum err after_change(struct tx *tx, const struct taking *t, struct payment *p,
                             const struct refund *r, enum refund_status from)
{
    bool failed = r->status == REFUND_FAILED || r->status == REFUND_CANCELED;
    enum err e = r->automatic ? OK : refund_recount(tx, t, p);

    if (!e && r->status == REFUND_SUCCEEDED &&
        !r->automatic) /* what never was revenue is not (D22) */
        tx_after_commit(
            tx, metrics_add,
            metrics_amount_cell(tx_env(tx)->metrics, p->money.currency, AMOUNT_REFUNDED),
            r->amount);
    if (!e && r->status == REFUND_SUCCEEDED)
        e = tell_refund(tx, t, p, r);
    if (!e && from == REFUND_SUCCEEDED)
        e = refund_alert(tx, t, p, r, "A refund that had succeeded has failed");
    else if (!e && from == REFUND_FAILED)
        e = refund_alert(tx, t, p, r, "A refund that was taken for failed came about");
    else if (!e && failed)
        e = refund_alert(tx, t, p, r,
                         r->automatic ? "Money that must go back could not be refunded"
                                      : "A refund has failed: the money is still here");
    return !e && failed && r->automatic ? refund_again(tx, t, p, r) : e;
}

enum err take_refund(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     enum verdict *ret_verdict)
{
    struct refund r;
    enum refund_status from;
    enum err e = refund_find(tx, t, f, &r);

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
    /* What we gave up on ourselves, without a word of the gateway, may come about all the same
     * (D6). */
    if (from != f->refund && !refund_moves(from, f->refund) &&
        !(from == REFUND_FAILED && !r.gateway_refund_id.n)) {
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

enum err refund_fail(struct tx *tx, const struct taking *t, struct refund *r, struct str reason)
{
    enum refund_status from = r->status;

    if (!refund_moves(from, REFUND_FAILED))
        return OK;
    r->status = REFUND_FAILED;
    r->failure_reason = cut_utf8(reason, FAILURE_MAX);
    return refund_store(tx, r, from, t->now_ms);
}
