/* booking.h - what can be paid (B1), and what a payment does to its booking (B3, D21).
 *
 *   (1) A version only rises; an older or equal version changes nothing. It is the sender's own
 *       number, or the sender's time in milliseconds, or ours. Numbers are compared with numbers
 *       only, so a change without a number never makes later numbers look old.
 *   (2) CANCELLED is final: any later change counts as older. A cancellation is applied however late
 *       it comes and whatever its version is; then its terms are ignored.
 *   (3) Owner, amount and currency do not change while money is under way.
 *   (4) PENDING does not undo a CONFIRMED booking whose money is captured.
 *   (5) PostgreSQL: a booking is locked before a payment of it. A transaction that holds the payment's
 *       lock reads the booking without a lock. So a cancellation sees the payment that a settle leaves
 *       behind, or the settle sees the cancellation. */
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
    int64_t version;        /* the highest of all, times included; the API shows it */
    int64_t sender_version; /* the highest that a sender gave as a number; 0: none did */
    int64_t created_ms, updated_ms;
};

/* NOT_FOUND. lock: held until the commit. */
enum err booking_read(struct tx *tx, struct uuid id, bool lock, struct booking *ret_booking);

extern const struct subject booking_subject;

enum booking_put { BOOKING_STORED, BOOKING_UNCHANGED, BOOKING_OLDER, BOOKING_REFUSED };
/* Stores a new booking or a newer version. REFUSED: money is under way. A cancellation also ends the
 * booking's payment (D21). */
enum err booking_put(struct tx *tx, struct payments *p, const struct booking *b, int64_t now_ms,
                     enum booking_put *ret_put);

/* The same for a change of some fields; the others stay. A new booking without a status is PENDING; a
 * change without a version is the newest. */
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
    struct booking now; /* afterwards */
};
/* NOT_FOUND: the booking is unknown, and the change has no owner or no money. */
enum err booking_change(struct tx *tx, struct payments *p, const struct booking_change *c,
                        int64_t now_ms, struct booking_result *ret_result);

/* As the API shows it. .p NULL: no memory. */
struct str booking_json(struct arena *a, const struct booking *b);

/* In the transaction that captures a payment: adds the message that confirms its booking (B3). */
enum err booking_confirm_later(struct tx *tx, struct queue *q, struct uuid booking,
                               struct uuid payment, int64_t now_ms);
struct job_kind booking_confirm_kind(struct payments *p); /* "booking.confirm" */
/* A booking was cancelled during an operation on its payment: retried until that has ended (D21). */
struct job_kind booking_cancelled_kind(struct payments *p); /* "booking.cancelled" */
