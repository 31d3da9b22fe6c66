/* booking.h - what can be paid (B1), and what its payment makes of it (B3, D21).
 *
 *   (1) A version only rises; what is older changes nothing. It is the sender's own number, or its
 *       time in milliseconds, or ours. Numbers are held against numbers alone: a change without one
 *       never makes those with one deaf. The same version again changes nothing either.
 *   (2) CANCELLED is final: whatever comes behind it counts as older. So a cancellation is true
 *       however late it comes, and behind whatever version; only its terms are old ones then.
 *   (3) Owner, amount and currency stand still while money is under way.
 *   (4) PENDING does not undo a CONFIRMED whose money is captured.
 *   (5) PostgreSQL: the booking is locked before a payment of it. Who holds the payment's lock
 * reads the booking without one; so a cancellation sees the payment that a settle leaves behind, or
 *       the settle sees the cancellation. */
#pragma once

#include "base/uuid.h"
#include "domain/money.h"
#include "payment/payments.h"

enum booking_status { BOOKING_PENDING, BOOKING_CONFIRMED, BOOKING_CANCELLED, BOOKING_STATUSES };

const char *booking_status_name(enum booking_status s); /* "PENDING" ... */
bool booking_status_parse(struct str name, enum booking_status *ret_status);

struct booking {
    struct uuid id, user_id;
    struct money money;
    enum booking_status status;
    int64_t version;        /* the highest of all, times too: what is shown */
    int64_t sender_version; /* the highest that a sender gave as a number; 0: none did */
    int64_t created_ms, updated_ms;
};

/* NOT_FOUND. lock: held until the commit. */
enum err booking_read(struct tx *tx, struct uuid id, bool lock, struct booking *ret_booking);

/* What a payment of it does to it (payment/payable.h). */
extern const struct subject booking_subject;

enum booking_put { BOOKING_STORED, BOOKING_UNCHANGED, BOOKING_OLDER, BOOKING_REFUSED };
/* New, or newer than what is known. REFUSED: money is under way. A cancellation starts what D21
 * says. */
enum err booking_put(struct tx *tx, struct payments *p, const struct booking *b, int64_t now_ms,
                     enum booking_put *ret_put);

/* The same where the sender leaves things as they are: what it does not say stays. A new booking
 * without a status is PENDING; without a version it is the newest. */
struct booking_change {
    struct uuid id, user_id;
    struct money money;
    enum booking_status status;
    int64_t version;
    bool has_user, has_money, has_status, has_version;
    bool version_is_time; /* the sender gave no number */
};
struct booking_result {
    enum booking_put put;
    bool is_new;
    bool cancelled;     /* by this change */
    struct booking now; /* what stands afterwards */
};
/* NOT_FOUND: it is not known, and the change does not say whose it is and what it costs. */
enum err booking_change(struct tx *tx, struct payments *p, const struct booking_change *c,
                        int64_t now_ms, struct booking_result *ret_result);

/* As the API shows it. .p NULL: no memory. */
struct str booking_json(struct arena *a, const struct booking *b);

/* In settle, when a payment of a booking was captured: the message that confirms it (B3). */
enum err booking_confirm_later(struct tx *tx, struct queue *q, struct uuid booking,
                               struct uuid payment, int64_t now_ms);
struct job_kind booking_confirm_kind(struct payments *p); /* "booking.confirm" */
/* Cancelled while an operation was under way: tried again until that has ended (D21). */
struct job_kind booking_cancelled_kind(struct payments *p); /* "booking.cancelled" */
