/* charge.c - a charge's fee, its receipt, and until when a hold can be captured (E3). A charge never
 * changes an amount of the payment.
 *
 *   charge --> fits? --> payment_transactions --> charge and payment captured, whichever comes
 *                                |                last (E7): receipt and audit line, once
 *                                '--> new balance transaction: the caller queries its fee
 *
 * The event names the balance transaction by its id alone, without fee and net. Runs in the
 * caller's transaction, under the payment's lock; a crash before the commit leaves nothing. */
#include "notify/notification.h"
#include "payment/follow.h"
#include "payment/transition.h"

#include <string.h>

/* The end of the authorization is a field of the charge, so its webhook may be the first to bring
 * it. */
static enum err charge_store_capture_before(struct tx *tx, const struct taking *t,
                                            struct payment *p, const struct fact *f)
{
    enum err e;

    if (f->captured || !f->capture_before_ms || p->capture_before_ms || is_of_other_intent(p, f))
        return OK;
    p->capture_before_ms = f->capture_before_ms;
    e = payment_store(tx, p, t->now_ms);
    if (e || p->status != PAYMENT_AUTHORIZED)
        return e;
    return follow_lapse(tx, t->payments, p, t->now_ms);
}

/* The fee is queried once: after the commit that first stores the balance transaction. */
static enum err charge_has_new_balance(struct tx *tx, const struct fact *f, bool *ret_new)
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

static enum err charge_store(struct tx *tx, const struct taking *t, const struct payment *p,
                             const struct fact *f)
{
    struct uuid id = env_uuid(tx_env(tx));

    return TX_DO(tx, STMT_transaction_charge, -1, v_uuid(&id), v_uuid(&p->id), V_TEXT(p->gateway),
                 V_TEXT(f->intent_id), V_MONEY(p->money), v_text(f->charge_id),
                 v_text(f->balance_transaction), v_text(f->receipt_url),
                 f->has_fee ? V_INT(f->fee) : V_NULL, f->has_fee ? V_INT(f->net) : V_NULL,
                 v_text(t->event_id), t->event_id.n ? V_INT(t->now_ms) : V_NULL, V_INT(t->now_ms),
                 v_text(f->konbini_store));
}

static enum err receipt_send(struct tx *tx, const struct taking *t, const struct payment *p,
                             struct str charge_id, struct str url)
{
    bool of_participant = p->context == CONTEXT_PARTICIPANT, is_new;
    struct notice n = { .type = NOTICE_RECEIPT,
                        .subject = p->subject_id,
                        .attempt = charge_id,
                        .user = of_participant ? NULL : &p->user_id,
                        .participant = of_participant ? &p->subject_id : NULL,
                        .payment = &p->id,
                        .purchase = p->context == CONTEXT_PURCHASE ? &p->subject_id : NULL,
                        .url = url,
                        .trace = t->trace };
    enum err e = notice_add(tx, &t->payments->notifier, t->arena, &n, t->now_ms, &is_new);

    if (e || !is_new)
        return e;
    return audit_money(tx, "RECEIPT", p, p->captured.minor, true, charge_id, NULL, NULL, t->now_ms);
}

/* An authorization has no receipt, nor has the money of another intent. A receipt without an
 * address is not sent yet. */
static enum err charge_send_receipt(struct tx *tx, const struct taking *t, const struct payment *p,
                                    const struct fact *f)
{
    if (!f->captured || !f->receipt_url.n || !minor_known(p->captured) ||
        !str_eq(p->gateway_transaction_id, f->intent_id))
        return OK;
    return receipt_send(tx, t, p, f->charge_id, f->receipt_url);
}

enum err take_receipt(struct tx *tx, const struct taking *t, const struct payment *p)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_transaction_receipt, &row, V_TEXT(p->gateway_transaction_id));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    return receipt_send(tx, t, p, row.col[0].s, row.col[1].s);
}

bool charge_fits(const struct payment *p, const struct fact *f)
{
    if (is_of_other_intent(p, f))
        return true; /* the money of another intent is not counted here */
    if (f->currency[0] && strncmp(f->currency, p->money.currency, sizeof(f->currency)) != 0)
        return false;
    if (f->captured && p->context != CONTEXT_BOOKING)
        return f->amount == p->money.minor;
    return money_covers(p->money, f->amount);
}

enum err take_charge(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     bool *ret_ask_fee)
{
    enum err e;

    *ret_ask_fee = false;
    if (f->charge_failed)
        return OK; /* a failed charge never replaces the charge that paid */
    e = charge_store_capture_before(tx, t, p, f);
    if (!e)
        e = charge_has_new_balance(tx, f, ret_ask_fee);
    if (!e)
        e = charge_store(tx, t, p, f);
    return e ? e : charge_send_receipt(tx, t, p, f);
}
