/* collection.h - money that a group collects (S1, S3): participants owe, each pays on the gateway's
 * own page.
 *
 *   (1) unpaid -> paid only climbs; a refund shows in refunded_amount, the status stays (D22).
 *   (2) A participant has one payment under way; another session of Checkout ends the one before
 *       it (D18).
 *   (3) Totals are sums over the rows, never stored beside them.
 *   (4) What a participant pays or has paid cannot be changed: neither its amount nor the
 *       collection's currency.
 *
 * A collection belongs to its organiser, and so do its payments. */
#pragma once

#include "payment/payments.h"

enum {
    COLLECTION_TITLE_MAX = 200, /* characters, like the next three */
    COLLECTION_DESCRIPTION_MAX = 1000,
    PARTICIPANT_NAME_MAX = 100,
    PARTICIPANT_EMAIL_MAX = 254,
    PARTICIPANTS_MAX = 1000, /* of a collection */
    TIME_ZONE_MAX = 64,
    CHECKOUT_URL_MAX = 2000
};

/* --- rows; texts live as long as the unit's run --- */

struct collection {
    struct uuid id, owner;
    struct str title, description, time_zone; /* description may be empty */
    char currency[4];
    int64_t due_ms; /* 0: none */
    int64_t created_ms, updated_ms;
    bool has_reminders; /* of its own; else the server's */
    struct str reminder_days, reminder_time;
    int64_t plan;        /* the number of its plan of reminders (reminder.h) */
    struct str rule;     /* that it was made by */
    int64_t reminder_ms; /* the next of them; 0: none */
};

struct participant {
    struct uuid id, collection, owner; /* the collection's */
    struct str name, email;            /* email may be empty */
    bool has_user, paid, has_payment;
    struct uuid user, payment; /* the user that may pay; the payment that has its place or money */
    int64_t amount;
    struct minor paid_amount, refunded_amount;
    int64_t paid_ms; /* 0: not yet */
    struct str title;
    char currency[4];
    int64_t created_ms, updated_ms;
};

enum err collection_of_row(const struct row *row, struct collection *ret);
enum err participant_of_row(const struct row *row, struct participant *ret);
enum err collection_read(struct tx *tx, struct uuid id, struct collection *ret);   /* NOT_FOUND */
enum err participant_read(struct tx *tx, struct uuid id, struct participant *ret); /* NOT_FOUND */
/* Held until the commit, and its collection with it; has_payment is not set. */
enum err participant_hold(struct tx *tx, struct uuid id, struct participant *ret);

extern const struct subject participant_subject;

/* The organiser and the participant itself. */
bool participant_is_of(const struct participant *p, struct uuid who);

/* --- changes --- */

struct participant_input {
    struct uuid id;
    struct str name, email; /* email may be empty */
    bool has_user;
    struct uuid user;
    int64_t amount;
};

struct collection_input {
    struct uuid id, owner; /* owner: of a new one */
    struct str title, description, time_zone;
    char currency[4];
    int64_t due_ms; /* 0: none */
    bool has_reminders;
    struct str reminder_days, reminder_time; /* "-3,0,7" (may be empty), "10:00" */
    struct participant_input *participants;  /* sorted by id, each once */
    size_t participant_count;
};

enum collection_put { COLLECTION_MADE, COLLECTION_CHANGED, COLLECTION_UNCHANGED };

enum collection_refusal {
    REFUSED_NOT,
    REFUSED_CURRENCY,  /* there is money in the old one */
    REFUSED_AMOUNT,    /* the participant has paid or is paying */
    REFUSED_ELSEWHERE, /* the participant is in another collection */
    REFUSED_TOO_MANY,
    REFUSED_ZONE /* the time zone is unknown here */
};

struct collection_result {
    enum collection_put put;
    enum collection_refusal refusal;
    bool has_participant; /* the first rejected one */
    struct uuid participant;
};

/* Makes or changes a collection: named participants are added or changed, the others stay.
 * UNPROCESSABLE: rejected; the unit of work must fail with it, so that nothing is changed. FORBIDDEN:
 * another owner's collection, unless may_any. */
enum err collection_put(struct tx *tx, struct payments *pp, struct arena *a,
                        const struct collection_input *in, bool may_any, int64_t now_ms,
                        struct collection_result *ret_result);

/* --- as the API shows them (json.c). FORBIDDEN, NOT_FOUND --- */

/* With totals (count, due, paid, refunded, net, outstanding) and, by cursor, participants. */
struct collection_view {
    struct uuid id, who;
    bool may_any; /* else only its owner */
    bool has_after;
    struct uuid after; /* participant id, exclusive */
    struct str status; /* of participants; empty: all */
    int limit;
};
enum err collection_json(struct tx *tx, struct arena *a, const struct collection_view *v,
                         struct str *ret_json);
/* Collections of an owner (NULL: of all), without participants; the highest ids first. before
 * NULL: from the top. */
enum err collections_json(struct tx *tx, struct arena *a, const struct uuid *owner,
                          const struct uuid *before, int limit, struct str *ret_json);

/* One participant with the state of its payment. who: the user that asks. */
enum err participant_json(struct tx *tx, struct arena *a, struct uuid id, struct uuid who,
                          bool may_any, struct str *ret_json);
/* Writes the fields as members of an object that has begun. */
void participant_out(struct buf *b, const struct participant *p);
/* "checkout": the payment's last session of the gateway's page; null: it has none. */
enum err checkout_out(struct tx *tx, struct buf *b, const struct payment *p);
