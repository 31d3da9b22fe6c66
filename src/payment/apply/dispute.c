/* dispute.c - a customer's bank wants the money back (E9). A dispute moves no payment: it sets a
 * flag, writes an audit line and logs an alert; an operator decides.
 *
 *   (1) A dispute's status only climbs, by the rank of its word; a closed dispute stays closed.
 *   (2) payments.disputed is counted from the rows, so the order of events does not matter.
 *   (3) A dispute about the money of another intent does not flag the payment.
 *
 * Runs in the caller's transaction, under the payment's lock. */
#include "payment/transition.h"
#include "store/tx_log.h"

#include <stdio.h>

enum { DETAIL_MAX = 600, RANK_ENDED = 9 };

/* A word that is not listed, such as a new one of the gateway, ranks between the two pairs. */
static int dispute_rank(struct str status)
{
    static const struct {
        const char *word;
        int rank;
    } ranks[] = {
        { "warning_needs_response", 0 },
        { "warning_under_review", 1 },
        { "needs_response", 3 },
        { "under_review", 4 },
    };

    for (size_t i = 0; i < COUNT(ranks); i++)
        if (str_eq(status, str_of(ranks[i].word)))
            return ranks[i].rank;
    return 2;
}

struct dispute_known {
    bool exists, of_other_payment, closed;
    int rank;
    bool same_word;
};

static enum err dispute_read(struct tx *tx, const struct payment *p, const struct fact *f,
                             struct dispute_known *ret_known)
{
    struct uuid payment;
    struct row row;
    enum err e = TX_ROW(tx, STMT_dispute_get, &row, V_TEXT(f->dispute_id));

    *ret_known = (struct dispute_known){ 0 };
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    if (!uuid_of_bytes(row.col[0].s, &payment))
        return ERR_INTERNAL;
    *ret_known =
        (struct dispute_known){ .exists = true,
                                .of_other_payment = !uuid_eq(payment, p->id),
                                .closed = row.col[2].i != 0,
                                .rank = row.col[2].i ? RANK_ENDED : dispute_rank(row.col[1].s),
                                .same_word = str_eq(row.col[1].s, f->dispute_status) };
    return OK;
}

static enum verdict dispute_verdict(const struct dispute_known *k, const struct fact *f)
{
    int rank = f->dispute_closed ? RANK_ENDED : dispute_rank(f->dispute_status);

    if (!k->exists)
        return VERDICT_APPLY;
    if (k->of_other_payment)
        return VERDICT_MISMATCH;
    if (k->same_word && k->closed == f->dispute_closed)
        return VERDICT_SAME;
    return k->closed || rank < k->rank ? VERDICT_SUPERSEDED : VERDICT_APPLY;
}

static enum err dispute_store(struct tx *tx, const struct taking *t, const struct payment *p,
                              const struct fact *f)
{
    return TX_DO(tx, STMT_dispute_put, 1, V_TEXT(f->dispute_id), v_uuid(&p->id),
                 V_TEXT(f->dispute_status), V_INT(f->dispute_closed), V_INT(f->dispute_lost),
                 v_text(f->dispute_reason), f->currency[0] ? V_INT(f->amount) : V_NULL,
                 V_INT(t->now_ms));
}

static enum err dispute_update_flag(struct tx *tx, const struct taking *t, struct payment *p,
                                    const struct fact *f)
{
    struct row row;
    enum err e;

    if (is_of_other_intent(p, f) && !p->disputed)
        return OK;
    e = TX_ROW(tx, STMT_disputes_that_count, &row, v_uuid(&p->id));
    if (e || p->disputed == (row.col[0].i > 0))
        return e;
    p->disputed = !p->disputed;
    return payment_store(tx, p, t->now_ms);
}

/* Logged and audited when the dispute begins and when it ends, not in between. */
static enum err dispute_log(struct tx *tx, const struct taking *t, const struct payment *p,
                            const struct fact *f)
{
    const char *what = !f->dispute_closed ? "A payment is disputed"
                       : f->dispute_lost  ? "A dispute was lost"
                                          : "A dispute has ended";
    char detail[DETAIL_MAX], payment[UUID_TEXT + 1];

    uuid_text(p->id, payment);
    snprintf(detail, sizeof(detail), "%.*s: %.*s", (int)f->dispute_status.n, f->dispute_status.p,
             (int)f->dispute_reason.n, f->dispute_reason.n ? f->dispute_reason.p : "");
    LOG_AFTER_COMMIT(tx, f->dispute_closed && !f->dispute_lost ? LOG_WARN : LOG_ERROR, what,
                     LOG_TEXT("paymentId", str_of(payment)), LOG_TEXT("status", f->dispute_status),
                     LOG_TEXT("reason", f->dispute_reason), LOG_NUM("amount", f->amount));
    return audit_money(tx, "DISPUTE", p, f->amount, f->dispute_closed && !f->dispute_lost,
                       str_of(detail), NULL, NULL, t->now_ms);
}

enum err take_dispute(struct tx *tx, const struct taking *t, struct payment *p,
                      const struct fact *f, enum verdict *ret_verdict)
{
    struct dispute_known k;
    enum err e = dispute_read(tx, p, f, &k);

    if (e)
        return e;
    *ret_verdict = dispute_verdict(&k, f);
    if (*ret_verdict != VERDICT_APPLY)
        return OK;
    e = dispute_store(tx, t, p, f);
    if (!e)
        e = dispute_update_flag(tx, t, p, f);
    if (e || (k.exists && !f->dispute_closed))
        return e;
    return dispute_log(tx, t, p, f);
}
