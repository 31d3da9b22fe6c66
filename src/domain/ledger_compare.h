/* ledger_compare.h - compares one payment in our ledger with the same in the provider's (E11).
 * Pure. */
#pragma once

#include "domain/payment.h"

enum difference {
    DIFF_MISSING_HERE,  /* the provider's entry names a payment that we do not have */
    DIFF_MISSING_THERE, /* the provider has no entry for it */
    DIFF_STRAY,         /* money on another intent of the payment that did not go back (D2) */
    DIFF_CURRENCY,
    DIFF_AMOUNT,
    DIFF_STATUS,
    DIFF_CAPTURED,
    DIFF_REFUNDED,
    DIFF_FEE,
    DIFF_NOT_ASKED, /* its gateway is no longer configured here, or did not answer */
    DIFFERENCES
};

const char *difference_name(enum difference d); /* "missing_here" ... */

struct books_ours {
    bool known;
    bool other_intent; /* the intent names the payment but is not the one stored with it */
    enum payment_status status;
    struct money money;
    struct minor captured;                  /* none: nothing was captured */
    struct minor refunds_done, refunds_all; /* succeeded; succeeded and under way */
    struct minor fee;                       /* none: not known yet */
};

struct books_theirs {
    bool known;
    enum intent_state state;
    char currency[4];
    struct minor amount, received;
    struct minor refunded; /* with or without those under way; none: not reported */
    struct minor fee;      /* none: not reported */
};

/* Bit n is set for the difference n. If the currency differs, nothing else is compared. */
unsigned books_compare(const struct books_ours *ours, const struct books_theirs *theirs);
