/* notification.h - what people are told (N1): a row with its words in the commit of the change, and a
 * queue message, "notify", that hands it on to notify/. Where no node has a transport there is no
 * message. Told once: by subject, type, and attempt or charge (E10). The words are in the language
 * of the person's contact (contact.h), a participant's in that of its user; else in the server's.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/time/civil.h"
#include "base/uuid.h"
#include "domain/money.h"
#include "queue/runtime.h"
#include "store/tx.h"

enum notice_type {
    NOTICE_PURCHASE_CONFIRMED,
    NOTICE_PAYMENT_FAILED,    /* body by the table of failures */
    NOTICE_PAYMENT_CANCELLED, /* the reservation ran out */
    NOTICE_PAYMENT_REFUNDED,  /* money came too late and went back (E8) */
    NOTICE_RECEIPT,
    NOTICE_LOTTERY_WON,
    NOTICE_LOTTERY_LOST,
    NOTICE_PAYMENT_AUTHORIZED, /* of a booking (004) */
    NOTICE_REMINDER,           /* body by `day`; who has paid meanwhile is not told (S2) */
    NOTICE_TYPES
};

struct notice {
    enum notice_type type;
    struct uuid subject; /* the purchase, participant or booking; PAYMENT_AUTHORIZED: the payment */
    struct str attempt; /* charge id, or whatever tells two of a kind apart; may be empty. REMINDER:
                           which one it is, like the due date and the day: "2026-11-20:-3" */
    const struct uuid *user, *participant, *payment, *campaign, *purchase; /* NULL: none */
    const struct uuid *booking, *collection;
    struct str code, decline_code; /* PAYMENT_FAILED: looked up by decline_code, then code */
    struct str url;                /* RECEIPT; REMINDER: where it is paid, may be empty */
    int64_t rank;                  /* LOTTERY_WON */
    struct money money;            /* PAYMENT_AUTHORIZED, REMINDER */
    struct str item;               /* REMINDER: the collection's title */
    struct civil due;              /* REMINDER: the due date, in the collection's zone */
    int64_t day;                   /* REMINDER: today less that date; -3: three days before it */
    struct str trace;              /* traceparent of what is told of; may be empty */
};

/* What writing a notification needs. */
struct notifier {
    const struct runtime *runtime;
    enum language language; /* of people who have not chosen one */
    bool has_channel;       /* this node can send; where it cannot, another node may */
};

/* *ret_new (may be NULL) false: this was told before. */
enum err notice_add(struct tx *tx, const struct notifier *by, struct arena *a,
                    const struct notice *n, int64_t now_ms, bool *ret_new);

const char *notice_type_name(enum notice_type t); /* "purchase_confirmed" ... */

/* What a customer is told about a failure (003's table; its default for unknown codes). */
const char *failure_words(struct str decline_code, struct str code, enum language language);
