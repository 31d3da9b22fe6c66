/* cards.h - the test cards, and how a payment with each ends. Tables without state. */
#pragma once

#include "base/str.h"

enum card_outcome {
    CARD_PAYS,
    CARD_DECLINES,
    CARD_BLOCKED,           /* declined by Stripe, without asking the bank */
    CARD_ASKS,              /* the customer must authenticate first; then it pays */
    CARD_ASKS_AND_DECLINES, /* the customer must authenticate; then it is declined */
    CARD_REFUND_FAILS,      /* pays; a refund to it fails later */
    /* not cards: */
    CARD_VOUCHER,  /* a slip that is paid in a convenience store */
    CARD_DEBIT,    /* a bank debit: takes a while and may fail */
    CARD_TRANSFER, /* a bank transfer to the customer's cash balance */
    CARD_WALLET,   /* the customer approves on another page, and that pays */
};

struct card {
    const char *name;   /* pm_card_<name>, tok_<name> */
    const char *number; /* what POST /v1/payment_methods accepts as card[number] */
    const char *brand, *funding, *country;
    enum card_outcome outcome;
    const char *code, *decline_code; /* of a decline; NULL: none */
    const char *type;                /* type of the payment method; NULL: card */
    bool late;                       /* a debit that takes minutes */
};

/* NULL: unknown name. Names like "konbini" and "sepa_debit" find methods that are not cards. */
const struct card *card_by_name(struct str name);
const struct card *card_by_token(struct str token); /* "pm_card_visa", "tok_visa" */
const struct card *card_by_number(struct str digits);
const struct card *card_by_iban(struct str iban); /* how a debit from that account ends */
const char *card_type(const struct card *c);      /* "card", "konbini", ... */

/* What a type of payment method supports. */
struct method_type {
    const char *name;
    const char *currency; /* the only currency; NULL: any */
    bool holds;           /* it can be authorized first and captured later */
    bool delayed;         /* its session is complete before the money has arrived */
};
extern const struct method_type method_types[];
extern const size_t method_type_count;
const struct method_type *method_type_of(struct str card); /* by the name of the card */

struct decline_error {
    struct str code, decline_code, message;
};
/* The decline that Stripe reports for this card. */
struct decline_error card_decline(const struct card *c);
/* The decline for a code that a test asked for ("insufficient_funds", "expired_card"). */
struct decline_error decline_of(struct str decline_code);
