/* notice.h - what people are told (N1): a row with its words in the commit of the change, and a
 * queue message that hands it to a transport. Told once: by subject, type, and attempt or charge
 * (E10). */
#pragma once

#include "flow/payments.h"

enum notice_type {
    NOTICE_PURCHASE_CONFIRMED,
    NOTICE_PAYMENT_FAILED,    /* body by the table of failures */
    NOTICE_PAYMENT_CANCELLED, /* the reservation ran out */
    NOTICE_PAYMENT_REFUNDED,  /* money came too late and went back (E8) */
    NOTICE_RECEIPT,
    NOTICE_LOTTERY_WON,
    NOTICE_LOTTERY_LOST,
    NOTICE_TYPES
};

struct notice {
    enum notice_type type;
    struct uuid subject; /* the purchase, participant or booking */
    struct str attempt;  /* charge id, or whatever tells two of a kind apart; may be empty */
    const struct uuid *user, *participant, *payment, *campaign, *purchase; /* NULL: none */
    struct str code, decline_code; /* PAYMENT_FAILED: looked up by decline_code, then code */
    struct str url;                /* RECEIPT */
    int64_t rank;                  /* LOTTERY_WON */
};

/* *ret_new (may be NULL) false: this was told before. */
enum err notice_add(struct tx *tx, struct payments *pp, struct arena *a, const struct notice *n,
                    int64_t now_ms, bool *ret_new);

const char *notice_type_name(enum notice_type t); /* "purchase_confirmed" ... */

/* What a customer is told about a failure (003's table; its default for unknown codes). */
const char *failure_words(struct str decline_code, struct str code, enum language language);

struct job_kind notice_kind(struct payments *pp); /* "notify" */
