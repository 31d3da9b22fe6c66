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
    /* no cards: */
    CARD_VOUCHER,  /* a slip that is paid in a convenience store */
    CARD_DEBIT,    /* money is fetched from an account; that takes a while, and may fail */
    CARD_TRANSFER, /* the customer sends money to an account of his own */
    CARD_WALLET,   /* the customer is asked on another page, and has paid then */
};

struct card {
    const char *name;   /* pm_card_<name>, tok_<name> */
    const char *number; /* what POST /v1/payment_methods may say instead */
    const char *brand, *funding, *country;
    enum card_outcome outcome;
    const char *code, *decline_code; /* of a decline; NULL: none */
    const char *type;                /* of a payment method; NULL: card */
    bool late;                       /* a debit that takes minutes */
};

/* NULL: there is none. Also what is no card: "konbini", "sepa_debit", ... */
const struct card *card_by_name(struct str name);
const struct card *card_by_token(struct str token); /* "pm_card_visa", "tok_visa" */
const struct card *card_by_number(struct str digits);
const struct card *card_by_iban(struct str iban); /* what becomes of a debit from that account */
const char *card_type(const struct card *c);      /* "card", "konbini", ... */

/* What a type of payment method is good for. */
struct method_type {
    const char *name;
    const char *currency; /* the only one; NULL: any */
    bool holds;           /* it can be authorised now and captured later */
    bool delayed;         /* a session is complete before the money has come */
};
extern const struct method_type method_types[];
extern const size_t method_type_count;
const struct method_type *method_type_of(struct str card); /* by the name of its card */

struct decline {
    struct str code, decline_code, message;
};
/* What Stripe says for a card's own outcome. */
struct decline card_decline(const struct card *c);
/* The same for a decline code that was asked for ("insufficient_funds", "expired_card"). */
struct decline decline_of(struct str decline_code);
