/* cards.h - the test cards and what becomes of a payment with each. Pure tables. */
#pragma once

#include "base/str.h"

enum card_outcome {
    CARD_PAYS,
    CARD_DECLINES,
    CARD_BLOCKED,           /* declined before anybody was asked */
    CARD_ASKS,              /* the customer has to answer first, then it pays */
    CARD_ASKS_AND_DECLINES, /* ... and is declined all the same */
    CARD_REFUND_FAILS,      /* pays; what is refunded to it comes back */
    CARD_VOUCHER,           /* no card: a slip that is paid in a convenience store */
};

struct card {
    const char *name;   /* pm_card_<name>, tok_<name> */
    const char *number; /* what POST /v1/payment_methods may say instead */
    const char *brand, *funding, *country;
    enum card_outcome outcome;
    const char *code, *decline_code; /* of a decline; NULL: none */
};

const struct card *card_by_name(struct str name);   /* NULL: there is none. "konbini", too */
const struct card *card_by_token(struct str token); /* "pm_card_visa", "tok_visa" */
const struct card *card_by_number(struct str digits);

struct decline {
    struct str code, decline_code, message;
};
/* What Stripe says for a card's own outcome. */
struct decline card_decline(const struct card *c);
/* The same for a decline code that was asked for ("insufficient_funds", "expired_card"). */
struct decline decline_of(struct str decline_code);
