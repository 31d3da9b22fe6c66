/* notification.h - what a person should learn (N1): a row with its texts and a queue message
 * "notify", both in the commit of the change. Without a node that has a transport there is no
 * message. A notification is unique by subject, type, and attempt or charge (E10). Its texts are in
 * the language of the person's contact (contact.h), or for a participant of its user's; else in the
 * server's language. */
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
    NOTICE_REMINDER,           /* body by `day`; not sent to a person who has paid meanwhile (S2) */
    NOTICE_TYPES
};

struct notice {
    enum notice_type type;
    struct uuid subject; /* the purchase, participant or booking; PAYMENT_AUTHORIZED: the payment */
    struct str attempt;  /* charge id, or what distinguishes two of a type; may be empty. REMINDER:
                           the due date and the day: "2026-11-20:-3" */
    const struct uuid *user, *participant, *payment, *campaign, *purchase; /* NULL: none */
    const struct uuid *booking, *collection;
    struct str code, decline_code; /* PAYMENT_FAILED: looked up by decline_code, then code */
    struct str url;                /* RECEIPT; REMINDER: where it is paid, may be empty */
    int64_t rank;                  /* LOTTERY_WON */
    struct money money;            /* PAYMENT_AUTHORIZED, REMINDER */
    struct str item;               /* REMINDER: the collection's title */
    struct civil due;              /* REMINDER: the due date, in the collection's time zone */
    int64_t day;                   /* REMINDER: today minus that date; -3: three days before it */
    struct str trace;              /* traceparent of the change; may be empty */
};

/* What writing a notification needs. */
struct notifier {
    const struct runtime *runtime;
    enum language language; /* for people who have not chosen one */
    bool has_channel;       /* this node has a transport; if not, another node may have one */
};

/* *ret_new (may be NULL) is false if this notification exists already. */
enum err notice_add(struct tx *tx, const struct notifier *by, struct arena *a,
                    const struct notice *n, int64_t now_ms, bool *ret_new);

const char *notice_type_name(enum notice_type t); /* "purchase_confirmed" ... */

/* The customer's text for a failed payment (the table of 003; its default for unknown codes). */
const char *failure_words(struct str decline_code, struct str code, enum language language);
