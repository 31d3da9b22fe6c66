/* ledger.h - Stripe's own ledger: the payment intents of a period with their charges, and the
 * refunds of one intent. For reconciliation (E11). */
#pragma once

#include "domain/payment.h"
#include "gateway/stripe/list.h"

/* Paths for stripe_page; .p is NULL: no memory. Times are cut to seconds, until_ms is not included.
 */
struct str stripe_intents_path(struct arena *a, int64_t from_ms, int64_t until_ms);
struct str stripe_refunds_path(struct arena *a, struct str intent_id);

struct stripe_listed_intent {
    struct str id;
    struct fact fact; /* with the fee, where it is in the charge's own currency */
    int64_t refunded; /* of its charge */
};
/* Texts go to the arena. VALIDATION: it cannot be understood; id is set where it has one. */
enum err stripe_listed_intent(struct arena *a, struct str item, struct stripe_listed_intent *ret);

/* A FACT_REFUND. VALIDATION: it cannot be understood. */
enum err stripe_listed_refund(struct arena *a, struct str item, struct fact *ret);
