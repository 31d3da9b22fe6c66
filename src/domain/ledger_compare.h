/* ledger_compare.h - one payment in our books and in the provider's: where do they differ (E11)? Pure. */
#pragma once

#include "domain/payment.h"

enum difference {
    DIFF_MISSING_HERE,  /* it names a payment of ours that we do not have */
    DIFF_MISSING_THERE, /* the provider has nothing of it */
    DIFF_STRAY,         /* money on another intent of the payment that did not go back (D2) */
    DIFF_CURRENCY,
    DIFF_AMOUNT,
    DIFF_STATUS,
    DIFF_CAPTURED,
    DIFF_REFUNDED,
    DIFF_FEE,
    DIFF_NOT_ASKED, /* its gateway is not set up here any more, or never answered for it */
    DIFFERENCES
};

const char *difference_name(enum difference d); /* "missing_here" ... */

struct books_ours {
    bool known;
    bool other_intent; /* the intent names the payment and is not the payment's own */
    enum payment_status status;
    struct money money;
    struct minor captured;                  /* none: nothing was */
    struct minor refunds_done, refunds_all; /* gone back for good; these and those under way */
    struct minor fee;                       /* none: not known (yet) */
};

struct books_theirs {
    bool known;
    enum intent_state state;
    char currency[4];
    struct minor amount, received;
    struct minor refunded; /* those under way may count or not; none: it does not say */
    struct minor fee;      /* none: it does not say */
};

/* Bit n: the difference n. Of money in another currency nothing else is compared. */
unsigned books_compare(const struct books_ours *ours, const struct books_theirs *theirs);
