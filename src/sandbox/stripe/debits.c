/* debits.c - sepa_debit: Stripe collects the money from a bank account, which takes a while.
 *
 *   confirm --> processing --a while--> succeeded                charge.succeeded, succeeded
 *               charge.pending     '--> requires_payment_method  charge.failed, payment_failed
 *
 * The test account decides how it ends (cards.c). */
#include "base/limits.h"
#include "sandbox/stripe/checkout.h"
#include "sandbox/stripe/customers.h"

enum { IBAN_LEAST = 15, IBAN_MOST = 34, IBAN_HEAD = 4 };

/* --- accounts --- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : -1;
}

/* ISO 13616: with the first four characters moved to the end, the number modulo 97 is 1. */
bool sb_is_iban(struct str iban)
{
    int sum = 0;

    if (iban.n < IBAN_LEAST || iban.n > IBAN_MOST)
        return false;
    for (size_t i = 0; i < iban.n; i++) {
        int d = digit_of(iban.p[(i + IBAN_HEAD) % iban.n]);

        if (d < 0)
            return false;
        sum = (sum * (d < 10 ? 10 : 100) + d) % 97;
    }
    return sum == 1 && iban.p[0] >= 'A' && iban.p[1] >= 'A';
}

const struct card *sb_debit_account(struct str iban)
{
    return sb_is_iban(iban) ? card_by_iban(iban) : NULL;
}

/* --- begin --- */

bool sb_debit_begin(struct work *w, struct intent *p)
{
    const struct card *account = card_by_name(p->card);
    struct charge c = sb_charge_new(w, p);
    int64_t wait_ms = account->late ? LIMIT_SANDBOX_DEBIT_LATE_MS : LIMIT_SANDBOX_DEBIT_MS;

    c.status = S("pending");
    c.captured = true;
    c.amount_captured = p->amount;
    p->latest_charge = c.id;
    p->last_error = S("");
    p->status = INTENT_PROCESSING;
    return sb_charge_write(w, &c) && sb_intent_write(w, p) &&
           work_emit(w, "charge.pending", sb_charge_json(w, &c, 0), S("")) &&
           work_emit(w, "payment_intent.processing", sb_intent_json(w, p, 0), S("")) &&
           sb_session_follow(w, p) && work_add_message(w, sb_job_debit, p->id, w->now_ms + wait_ms);
}

/* --- end --- */

static bool debit_fail(struct work *w, struct intent *p, struct charge *c,
                       const struct card *account)
{
    struct pay_attempt a = {
        .code = S("payment_intent_payment_attempt_failed"),
        .message = S("The payment failed. The account had insufficient funds."),
        .charge = c->id,
    };

    c->status = S("failed");
    c->captured = false;
    c->amount_captured = 0;
    c->failure_code = str_of(account->code);
    return sb_charge_write(w, c) && work_emit(w, "charge.failed", sb_charge_json(w, c, 0), S("")) &&
           sb_intent_failed(w, p, &a) && sb_session_follow(w, p);
}

static bool debit_succeed(struct work *w, struct intent *p, struct charge *c)
{
    c->status = S("succeeded");
    p->status = INTENT_SUCCEEDED;
    p->amount_received = p->amount;
    return sb_charge_write(w, c) && sb_intent_write(w, p) &&
           work_emit(w, "charge.succeeded", sb_charge_json(w, c, 0), S("")) &&
           work_emit(w, "payment_intent.succeeded", sb_intent_json(w, p, 0), S("")) &&
           work_add_message(w, sb_job_balance, c->id, w->now_ms) && sb_session_follow(w, p) &&
           sb_dispute_by_card(w, c);
}

bool sb_debit_end(struct work *w, struct intent *p)
{
    const struct card *account = card_by_name(p->card);
    struct charge c;

    if (!work_ok(w, sb_charge_read(w->tx, p->latest_charge, &c)))
        return false;
    return account->code ? debit_fail(w, p, &c, account) : debit_succeed(w, p, &c);
}
