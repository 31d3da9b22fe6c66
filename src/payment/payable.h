/* payable.h - what a payment is for: a booking, a purchase of a position, what a participant owes
 * (D16). The flows are the same for all of them; where they differ, they ask here.
 *
 *   (1) All of it runs inside the caller's transaction, and may be run again.
 *   (2) `moved` and `refunded` bring the subject to what the payment is now, whatever was known
 *       before: called twice, or in another order, they end in the same rows (E7).
 *   (3) PostgreSQL: who holds the payment's lock may lock the subject; never the other way round,
 *       but for a payment that is being made. */
#pragma once

#include "payment/claim.h"
#include "payment/transition.h"

struct subject {
    /* The payment of the subject with this id. NULL: nobody asks by the subject. */
    enum err (*payment_of)(struct tx *tx, struct uuid subject, struct uuid *ret_payment);

    /* OP_CREATE: may this be paid, by whom, how much? Fills p's subject_id, user_id and money, and
     * reserves what must be reserved. Where c->o names a payment that goes on (another session of
     * Checkout), p is that one, read under its lock, and c->goes_on is set. */
    enum err (*claim)(struct tx *tx, struct claim *c, struct payment *p, int64_t now_ms);

    /* The last of a claim, once all of its rows are there: for what many claims at once want to
     * change, so that each holds it for as short as can be. NULL: nothing. */
    enum err (*claimed)(struct tx *tx, struct claim *c, const struct payment *p);

    /* What the gateway is told beside the payment itself: r->op and r->payment are read, r->extra
     * is filled. Texts go to r->arena. NULL: nothing. */
    enum err (*load)(struct tx *tx, struct op_run *r);

    /* Does it still take this payment's money? Asked only when money is about to be taken. */
    enum err (*is_open)(struct tx *tx, const struct payment *p, bool *ret_open);

    /* The payment was moved and stored. f: what moved it; NULL: our own decision. */
    enum err (*moved)(struct tx *tx, const struct taking *t, const struct payment *p,
                      const struct fact *f);

    /* Its money was held, and is captured now although the subject takes none any more: somebody
     * was faster than our cancel. NULL: it cannot be, or nobody needs to know. */
    enum err (*captured_late)(struct tx *tx, const struct taking *t, const struct payment *p);

    /* The sum that went back has changed, and is stored. NULL: that is no matter of the subject. */
    enum err (*refunded)(struct tx *tx, const struct taking *t, const struct payment *p);

    /* Money that landed too late goes back (D2, E8): somebody has to be told. NULL: nobody. */
    enum err (*given_back)(struct tx *tx, const struct taking *t, const struct payment *p,
                           const struct fact *f);

    /* When an unfinished payment is cancelled at the gateway; CLOCK_NEVER: it is not. f: what makes
     * the customer's time begin; NULL: that time is up, unless it is later than now. */
    enum err (*ends)(struct tx *tx, const struct taking *t, const struct payment *p,
                     const struct fact *f, int64_t *ret_ms);

    /* The answer of an operation `of_subject`, around the payment's own JSON. */
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
