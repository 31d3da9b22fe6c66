/* take_charge.c - what a charge says of a payment's money: never how much of it there is, but its
 * fee, its receipt, and until when a hold can be captured (E3).
 *
 *   charge --> fits? --> payment_transactions --> captured: the receipt is told and audited, once
 *                                |
 *                                '--> a balance transaction that is new: its fee is asked for later
 *
 * Fee and net are not in the event: it names the balance transaction by its id alone. */
#include "flow/follow.h"
#include "flow/move.h"
#include "flow/notice.h"

#include <string.h>

/* When the authorisation lapses stands on the charge: the webhook may be the first to say so. */
static enum err learn_capture_before(struct tx *tx, const struct taking *t, struct payment *p,
                                     const struct fact *f)
{
    enum err e;

    if (f->captured || !f->capture_before_ms || p->capture_before_ms || is_of_other_intent(p, f))
        return OK;
    p->capture_before_ms = f->capture_before_ms;
    e = payment_store(tx, p, t->now_ms);
    return !e && p->status == PAYMENT_AUTHORIZED ? follow_lapse(tx, t->payments, p, t->now_ms) : e;
}

/* Its fee is asked for once: in the commit that first stores its balance transaction. */
static enum err is_balance_new(struct tx *tx, const struct fact *f, bool *ret_new)
{
    struct row row;
    enum err e;

    *ret_new = false;
    if (!f->captured || f->has_fee || !f->balance_transaction.n)
        return OK;
    e = TX_ROW(tx, STMT_transaction_balance, &row, V_TEXT(f->intent_id));
    if (e && e != ERR_NOT_FOUND)
        return e;
    *ret_new =
        e || (row.col[1].type == VAL_NULL &&
              (row.col[0].type == VAL_NULL || !str_eq(row.col[0].s, f->balance_transaction)));
    return OK;
}

static enum err store(struct tx *tx, const struct taking *t, const struct payment *p,
                      const struct fact *f)
{
    struct uuid id = env_uuid(tx_env(tx));

    return TX_DO(tx, STMT_transaction_charge, -1, v_uuid(&id), v_uuid(&p->id), V_TEXT(p->gateway),
                 V_TEXT(f->intent_id), V_INT(p->money.minor), V_TEXT(str_of(p->money.currency)),
                 v_text(f->charge_id), v_text(f->balance_transaction), v_text(f->receipt_url),
                 f->has_fee ? V_INT(f->fee) : V_NULL, f->has_fee ? V_INT(f->net) : V_NULL,
                 v_text(t->event_id), t->event_id.n ? V_INT(t->now_ms) : V_NULL, V_INT(t->now_ms),
                 v_text(f->konbini_store));
}

/* The last of what a payment tells people. An authorisation has no receipt, and neither has money
 * that is not this payment's. */
static enum err fix_receipt(struct tx *tx, const struct taking *t, const struct payment *p,
                            const struct fact *f)
{
    bool of_participant = p->context == CONTEXT_PARTICIPANT, is_new;
    struct notice n = { .type = NOTICE_RECEIPT,
                        .subject = p->subject_id,
                        .attempt = f->charge_id,
                        .user = of_participant ? NULL : &p->user_id,
                        .participant = of_participant ? &p->subject_id : NULL,
                        .payment = &p->id,
                        .purchase = p->context == CONTEXT_PURCHASE ? &p->subject_id : NULL,
                        .url = f->receipt_url };
    enum err e;

    if (!f->captured || is_of_other_intent(p, f))
        return OK;
    e = notice_add(tx, t->payments, t->arena, &n, t->now_ms, &is_new);
    if (e || !is_new)
        return e;
    return audit_money(tx, "RECEIPT", p, f->amount, true, f->charge_id, NULL, NULL, t->now_ms);
}

bool charge_fits(const struct payment *p, const struct fact *f)
{
    if (is_of_other_intent(p, f))
        return true; /* whatever it is, it is not counted here */
    if (f->currency[0] && strncmp(f->currency, p->money.currency, sizeof(f->currency)) != 0)
        return false;
    return f->amount >= 0 && f->amount <= p->money.minor;
}

enum err take_charge(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     bool *ret_ask_fee)
{
    enum err e;

    *ret_ask_fee = false;
    if (f->charge_failed)
        return OK; /* the intent's own event names it; it never replaces the charge that paid */
    e = learn_capture_before(tx, t, p, f);
    if (!e)
        e = is_balance_new(tx, f, ret_ask_fee);
    if (!e)
        e = store(tx, t, p, f);
    return e ? e : fix_receipt(tx, t, p, f);
}
