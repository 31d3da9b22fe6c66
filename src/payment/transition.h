/* transition.h - the one way in which a payment moves (P8). A reply of the gateway, a webhook or a
 * query brings a fact. Under the payment's lock the fact becomes the new state, the gateway's row,
 * the domain event, the audit line and the messages that follow, in the caller's transaction. */
#pragma once

#include "payment/rows.h"

struct taking { /* the context in which a fact is applied */
    struct payments *payments;
    struct arena *arena;
    int64_t now_ms;
    struct str event_id;    /* empty: not a webhook */
    bool intent_is_dead;    /* the intent is cancelled already: no cancel is started */
    struct str trace;       /* traceparent for domain events and notifications; may be empty */
    struct lap *publishing; /* the span of emitting domain events; NULL: not measured */
};

/* A payment has one intent, but another intent may name the payment (D2). */
static inline bool is_of_other_intent(const struct payment *p, const struct fact *f)
{
    return p->gateway_transaction_id.n && f->intent_id.n &&
           !str_eq(p->gateway_transaction_id, f->intent_id);
}

/* On the gateway's own page a customer may try several times, and every session has its own intent.
 * Only the intent that brings money, or that a complete session names, is the payment's. */
static inline bool is_paid_on_page(const struct payment *p)
{
    return p->context == CONTEXT_PARTICIPANT;
}

/* The payment ended without money: FAILED, or REFUNDED by a void. */
static inline bool is_void(const struct payment *p)
{
    return p->status == PAYMENT_FAILED ||
           (p->status == PAYMENT_REFUNDED && !minor_known(p->captured));
}

/* A FACT_INTENT. p was read under its lock and holds the new state afterwards. */
enum err take_intent(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     enum verdict *ret_verdict);

/* An intent that was made and is not paid yet: stores what the customer has to do. */
enum err take_open(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f);

/* An intent that names the payment and is not its own: only the intent's row changes. */
enum err take_other_intent(struct tx *tx, const struct taking *t, const struct payment *p,
                           const struct fact *f);
/* The same, and money on such an intent goes back, whatever the payment's state (D2). */
enum err give_back_other(struct tx *tx, const struct taking *t, const struct payment *p,
                         const struct fact *f);

/* A FACT_REFUND. SAME: nothing new. CONSTRAINT: more would be refunded than was captured. */
enum err take_refund(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     enum verdict *ret_verdict);

/* A FACT_CHARGE: fee, net, receipt. *ret_ask_fee: the gateway must be queried for the fee, once
 * (E3). A FACT_INTENT that holds its charge with the fee is accepted, too. */
enum err take_charge(struct tx *tx, const struct taking *t, struct payment *p, const struct fact *f,
                     bool *ret_ask_fee);
/* The payment was captured by its own intent just now: sends the receipt if its charge was reported
 * before. */
enum err take_receipt(struct tx *tx, const struct taking *t, const struct payment *p);
/* False: another currency, or more money than was asked for (D10). */
bool charge_fits(const struct payment *p, const struct fact *f);

/* A FACT_SESSION: stores identifiers; nothing is paid by it (E1). MISMATCH: it belongs to another
 * payment, or to one that is not paid on the gateway's page. */
enum err take_session(struct tx *tx, const struct taking *t, struct payment *p,
                      const struct fact *f, enum verdict *ret_verdict);

/* A FACT_DISPUTE: a flag, an audit line, an alert (E9). */
enum err take_dispute(struct tx *tx, const struct taking *t, struct payment *p,
                      const struct fact *f, enum verdict *ret_verdict);

/* No money came and none will: FAILED, by our own decision. */
enum err payment_fail(struct tx *tx, const struct taking *t, struct payment *p, struct str reason);

/* A refund that failed without a refund object at the gateway (rejected, or proved absent). */
enum err refund_fail(struct tx *tx, const struct taking *t, struct refund *r, struct str reason);

/* The failure reason for people and programs: "insufficient_funds: Your card has ...". */
struct str failure_text(struct arena *a, struct str decline_code, struct str code,
                        struct str message);
