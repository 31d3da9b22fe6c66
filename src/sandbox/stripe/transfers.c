/* transfers.c - customer_balance: the customer sends money to a Japanese bank account of his own.
 *
 *   confirm --> requires_action --some of it--> requires_action   partially_funded
 *                               --all of it---> succeeded         charge.succeeded, succeeded
 *
 *   (1) A customer's money is in `cash`, or in `funded` of one of his intents; never in both.
 *   (2) Money goes to the oldest waiting intent. What is left over waits for the next one.
 *   (3) A cancelled intent returns its money to `cash`. */
#include "base/limits.h"
#include "sandbox/impl.h"
#include "sandbox/stripe/customers.h"

bool sb_transfer_waits(const struct intent *p)
{
    return p->status == INTENT_NEEDS_ACTION && str_eq(p->card, S("customer_balance"));
}

struct str sb_transfer_url(struct work *w, struct str intent)
{
    return work_text(w, "http://%s/_sandbox/transfer/" STR_FMT, impl_of(w->s)->address,
                     STR_ARG(intent));
}

/* --- funding intents --- */

/* Moves money from the cash balance to the intent. *ret_changed is false where there was none. */
static bool fund_intent(struct work *w, struct customer *c, struct transfer *t,
                        const struct intent *p, bool *ret_changed)
{
    int64_t left = p->amount - t->funded, part = c->cash < left ? c->cash : left;

    *ret_changed = part > 0;
    if (!part)
        return true;
    c->cash -= part;
    t->funded += part;
    return sb_customer_write(w, c) && sb_transfer_write(w, t);
}

static bool is_paid(const struct transfer *t, const struct intent *p)
{
    return t->funded >= p->amount;
}

static bool find_oldest_waiting(struct work *w, const struct customer *c, struct transfer *ret,
                                bool *ret_found)
{
    struct row row;
    enum err e = TX_ROW(w->tx, STMT_sandbox_transfer_waiting, &row, V_TEXT(c->id));

    *ret_found = !e;
    if (!e)
        *ret = (struct transfer){ row.col[0].s, row.col[1].s, row.col[2].i };
    return e == ERR_NOT_FOUND || work_ok(w, e);
}

/* Each round pays for one intent or uses up the money, so the loop ends. */
static bool fund_waiting_intents(struct work *w, struct customer *c)
{
    bool found = true, changed;
    struct transfer t;
    struct intent p;

    while (c->cash > 0) {
        if (!find_oldest_waiting(w, c, &t, &found))
            return false;
        if (!found)
            return true;
        if (!work_ok(w, sb_intent_read(w->tx, t.intent, &p)) ||
            !fund_intent(w, c, &t, &p, &changed))
            return false;
        if (is_paid(&t, &p)
                ? !sb_intent_succeed(w, &p)
                : !work_emit(w, "payment_intent.partially_funded", sb_intent_json(w, &p, 0), S("")))
            return false;
    }
    return true;
}

bool sb_cash_add(struct work *w, struct customer *c, int64_t amount)
{
    c->cash += amount;
    return sb_customer_write(w, c) && fund_waiting_intents(w, c);
}

/* --- one intent --- */

bool sb_transfer_begin(struct work *w, struct intent *p)
{
    struct transfer t = { .intent = p->id, .customer = p->customer };
    struct customer c;
    bool changed;

    if (!work_ok(w, sb_customer_read(w->tx, p->customer, &c)) || !sb_transfer_write(w, &t) ||
        !fund_intent(w, &c, &t, p, &changed))
        return false;
    return is_paid(&t, p) ? sb_intent_succeed(w, p) : sb_intent_require_action(w, p);
}

bool sb_transfer_return(struct work *w, const struct intent *p)
{
    struct transfer t;
    struct customer c;
    enum err e;

    e = sb_transfer_read(w->tx, p->id, &t);
    if (e == ERR_NOT_FOUND || (!e && !t.funded))
        return true;
    if (!work_ok(w, e) || !work_ok(w, sb_customer_read(w->tx, t.customer, &c)))
        return false;
    c.cash += t.funded;
    t.funded = 0;
    return sb_customer_write(w, &c) && sb_transfer_write(w, &t);
}
