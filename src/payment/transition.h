/* transition.h - the one way in which a payment moves (P8). API answers, webhooks and the resolver bring
 * a fact; under the payment's lock it becomes the new state, the gateway's row, the domain event,
 * the audit line and the messages that follow, in the caller's transaction. */
#pragma once

#include "payment/rows.h"

struct taking { /* what brought the fact */
    struct payments *payments;
    struct arena *arena;
    int64_t now_ms;
    struct str event_id; /* empty: not a webhook */
    bool
        intent_is_dead; /* the intent was cancelled in the same breath: nothing is left to cancel */
    struct str trace;   /* traceparent, for whoever is told of it; may be empty */
    struct lap *publishing; /* NULL: nobody wants to know how long telling took */
};

/* A payment has one intent. Another one may name it all the same (D2). */
static inline bool is_of_other_intent(const struct payment *p, const struct fact *f)
{
    return p->gateway_transaction_id.n && f->intent_id.n &&
           !str_eq(p->gateway_transaction_id, f->intent_id);
}

/* On the gateway's own page a customer may try several times, and every session has an intent of
 * its own: only the one that brings money, or that a complete session names, is the payment's. */
static inline bool is_paid_on_page(const struct payment *p)
{
    return p->context == CONTEXT_PARTICIPANT;
}

/* It ended without money: FAILED, or REFUNDED by a void. */
static inline bool is_void(const struct payment *p)
{
    return p->status == PAYMENT_FAILED ||
           (p->status == PAYMENT_REFUNDED && !minor_known(p->captured));
}

/* A FACT_INTENT. p was read under its lock and holds the new state afterwards. */
enum err take_intent(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     enum verdict *ret_verdict);

/* An intent that was made and not (yet) paid: what the client has to do with it is kept. */
enum err take_open(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f);

/* An intent that is not the payment's own, but names it: only its own row moves. */
enum err take_other_intent(struct tx *tx, const struct taking *t, const struct payment *p,
                           const struct fact *f);
/* Money on such an intent goes back, whatever the payment's state (D2). */
enum err give_back_other(struct tx *tx, const struct taking *t, const struct payment *p,
                         const struct fact *f);

/* A FACT_REFUND. SAME: nothing new. */
enum err take_refund(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     enum verdict *ret_verdict);

/* A FACT_CHARGE: fee, net, receipt. *ret_ask_fee: its fee is to be asked for, once (E3). An intent
 * that names its charge with the fee may be given, too. */
enum err take_charge(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     bool *ret_ask_fee);
/* The payment was captured by its own intent just now: the receipt, where its charge was heard of
 * before. */
enum err take_receipt(struct tx *tx, const struct taking *t, const struct payment *p);
/* False: other currency, or more money than was asked for (D10). */
bool charge_fits(const struct payment *p, const struct fact *f);

/* A FACT_SESSION: identifiers are kept, and nothing is paid by it (E1). MISMATCH: it is another
 * payment's, or not of one that is paid on the gateway's page. */
enum err take_session(struct tx *tx, const struct taking *t, struct payment *p,
                      const struct fact *f, enum verdict *ret_verdict);

/* A FACT_DISPUTE: a flag, an audit line, an alert (E9). */
enum err take_dispute(struct tx *tx, const struct taking *t, struct payment *p,
                      const struct fact *f, enum verdict *ret_verdict);

/* It never came to money and never will: FAILED, by our own decision. */
enum err payment_fail(struct tx *tx, const struct taking *t, struct payment *p, struct str reason);

/* A refund that ended without a word of the gateway (refused, surely absent). */
enum err refund_fail(struct tx *tx, const struct taking *t, struct refund *r, struct str reason);

/* Why it failed, for people and programs: "insufficient_funds: Your card has ...". */
struct str failure_text(struct arena *a, struct str decline_code, struct str code,
                        struct str message);
