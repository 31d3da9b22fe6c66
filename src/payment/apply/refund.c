/* refund.c - a refund's new state, and what it does to its payment (D12).
 *
 *   (1) Refunded money is counted from refund objects by id, never from the charge's own sums.
 *   (2) The payment is REFUNDED exactly when all that was captured has gone back.
 *   (3) Refunds of money that never was this payment's are `automatic` and count for nothing.
 *   (4) More money back than was captured is an error (CONSTRAINT), for a person to look at.
 *
 * Runs in the caller's transaction, under the payment's lock; a crash before the commit leaves
 * nothing. */
#include "base/text.h"
#include "observe/metrics.h"
#include "payment/emit.h"
#include "payment/payable.h"
#include "payment/refund_retry.h"
#include "store/tx_log.h"

#include <string.h>

/* By our own id, else by the gateway's. NOT_FOUND: it was made at the gateway's dashboard. */
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

/* A refund that was made at the gateway. Money of a second intent, or of a payment that ended
 * without money, never was this payment's (D2), so its refund is automatic. */
static enum err refund_add_unknown(struct tx *tx, const struct taking *t, const struct payment *p,
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

/* Another payment holds the place now, and two payments cannot hold one place (D1). Then this one
 * stays REFUNDED with the true sum, and the failed refund's alert informs the operator. */
static enum err refund_place_taken(struct tx *tx, const struct payment *p, bool *ret_taken)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_payment_of_place, &row,
                        V_TEXT(str_of(payment_context_name(p->context))), v_uuid(&p->subject_id));

    *ret_taken = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* PostgreSQL: another transaction may have claimed the place and not committed yet. The unique index
 * waits for that commit and then rejects this UPDATE; a retry sees that the place is taken. The row
 * is read back so that the pipelined statement has surely run. */
static enum err refund_reclaim_place(struct tx *tx, const struct taking *t, struct payment *p)
{
    bool taken;
    enum err e = payment_store(tx, p, t->now_ms);

    if (!e)
        e = refund_place_taken(tx, p, &taken);
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
        return ERR_CONSTRAINT; /* invariant (4) */
    if (e || !minor_known(p->captured))
        return e;
    back = minor_cmp(sums.succeeded, p->captured);
    if (back > 0)
        return ERR_CONSTRAINT; /* invariant (4) */
    if (was_refunded && back < 0)
        e = refund_place_taken(tx, p, &taken);
    if (e)
        return e;
    p->refunded = minor_or_none(sums.succeeded); /* none where all refunds failed again (E7) */
    p->status = !back || taken ? PAYMENT_REFUNDED : PAYMENT_CAPTURED;
    e = was_refunded && p->status == PAYMENT_CAPTURED ? refund_reclaim_place(tx, t, p)
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

static enum err refund_after_change(struct tx *tx, const struct taking *t, struct payment *p,
                                    const struct refund *r, enum refund_status from)
{
    bool failed = r->status == REFUND_FAILED || r->status == REFUND_CANCELED;
    const char *alert = NULL;
    enum err e = r->automatic ? OK : refund_recount(tx, t, p);

    if (!e && r->status == REFUND_SUCCEEDED) {
        if (!r->automatic) /* automatic refunds never were revenue (D22) */
            tx_after_commit(
                tx, metrics_add,
                metrics_amount_cell(tx_env(tx)->metrics, p->money.currency, AMOUNT_REFUNDED),
                r->amount);
        e = tell_refund(tx, t, p, r);
    }
    if (from == REFUND_SUCCEEDED)
        alert = "A refund that had succeeded has failed";
    else if (from == REFUND_FAILED)
        alert = "A refund that was taken for failed came about";
    else if (failed)
        alert = r->automatic ? "Money that must go back could not be refunded"
                             : "A refund has failed: the money is still here";
    if (!e && alert)
        e = refund_alert(tx, t, p, r, alert);
    if (e || !failed || !r->automatic)
        return e;
    return refund_again(tx, t, p, r);
}

enum err take_refund(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     enum verdict *ret_verdict)
{
    struct refund r;
    enum refund_status from;
    enum err e = refund_find(tx, t, f, &r);

    *ret_verdict = VERDICT_APPLY;
    if (e == ERR_NOT_FOUND) {
        e = refund_add_unknown(tx, t, p, f);
        if (!e)
            e = refund_read_by_gateway(tx, t->arena, f->refund_id, &r);
        return e ? e : refund_after_change(tx, t, p, &r, REFUND_PENDING);
    }
    if (e)
        return e;
    if (f->amount != r.amount || !uuid_eq(r.payment_id, p->id)) {
        *ret_verdict = VERDICT_MISMATCH;
        return OK;
    }
    from = r.status;
    /* A refund that we failed ourselves, without a refund object, may still succeed (D6). */
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
    return refund_after_change(tx, t, p, &r, from);
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
