/* payable.h - the interface to what a payment pays for: a booking, a purchase of a position, what a
 * participant owes (D16). The use cases are the same for all of them and differ only here.
 *
 *   (1) All functions run inside the caller's transaction, and may be run again.
 *   (2) `moved` and `refunded` bring the payable to what the payment is now: called twice, or in
 *       another order, they end in the same rows (E7).
 *   (3) PostgreSQL: a transaction that holds the payment's lock may lock the payable, never the other
 *       way round, except for a payment that is being made. */
#pragma once

#include "payment/claim.h"
#include "payment/transition.h"

struct subject {
    /* The payment of the payable with this id. NULL: not needed. */
    enum err (*payment_of)(struct tx *tx, struct uuid subject, struct uuid *ret_payment);

    /* OP_CREATE: checks that it may be paid, fills p's subject_id, user_id and money, and reserves
     * what must be reserved. If a payment exists already and gets another Checkout session, sets *p
     * to that payment, read under its lock, and c->goes_on. */
    enum err (*claim)(struct tx *tx, struct claim *c, struct payment *p, int64_t now_ms);

    /* The last step of a claim: changes the rows that many claims want, so that each claim locks them
     * for a short time only. NULL: nothing to do. */
    enum err (*claimed)(struct tx *tx, struct claim *c, const struct payment *p);

    /* Fills r->extra, which the gateway is sent beside the payment; r->op and r->payment are read.
     * Texts go to r->arena. NULL: nothing to send. */
    enum err (*load)(struct tx *tx, struct op_run *r);

    /* Does it still accept this payment's money? Called only when money is about to be taken. */
    enum err (*is_open)(struct tx *tx, const struct payment *p, bool *ret_open);

    /* The payment was moved and stored. f: what moved it; NULL: our own decision. */
    enum err (*moved)(struct tx *tx, const struct taking *t, const struct payment *p,
                      const struct fact *f);

    /* An authorization was captured although the payable accepts no money any more: the capture was
     * faster than our cancel. NULL: it cannot happen, or needs no report. */
    enum err (*captured_late)(struct tx *tx, const struct taking *t, const struct payment *p);

    /* The refunded sum has changed and is stored. NULL: the payable does not depend on it. */
    enum err (*refunded)(struct tx *tx, const struct taking *t, const struct payment *p);

    /* Money that arrived too late goes back (D2, E8): notifies the payer. NULL: no notification. */
    enum err (*given_back)(struct tx *tx, const struct taking *t, const struct payment *p,
                           const struct fact *f);

    /* The time at which an unfinished payment is cancelled at the gateway; CLOCK_NEVER: never. f: the
     * fact with which the customer's time begins; NULL: that time may be over, and the result says
     * until when it was extended. */
    enum err (*ends)(struct tx *tx, const struct taking *t, const struct payment *p,
                     const struct fact *f, int64_t *ret_ms);

    /* The answer of an operation `of_subject`: the payable with the payment's JSON in it. */
    enum err (*render)(struct tx *tx, struct arena *a, const struct payment *p, struct str payment,
                       struct str *ret_body);
};

/* One for each context, in booking/booking.c, campaign/purchase_payable.c and
 * collection/participant.c; server/payables.c hands them down in struct payments. */
struct payables {
    const struct subject *of[PAYMENT_CONTEXTS];
};

static inline const struct subject *subject_of(const struct payments *pp, const struct payment *p)
{
    return pp->payables->of[p->context];
}
