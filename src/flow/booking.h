/* booking.h - what can be paid (B1), and what its payment makes of it (B3, D21). */
#pragma once

#include "base/uuid.h"
#include "domain/money.h"
#include "flow/payments.h"

enum booking_status { BOOKING_PENDING, BOOKING_CONFIRMED, BOOKING_CANCELLED };

struct booking {
    struct uuid id, user_id;
    struct money money;
    enum booking_status status;
    int64_t version, created_ms, updated_ms;
};

/* NOT_FOUND. lock: held until the commit. */
enum err booking_read(struct tx *tx, struct uuid id, bool lock, struct booking *ret_booking);

enum booking_put { BOOKING_STORED, BOOKING_UNCHANGED, BOOKING_OLDER, BOOKING_REFUSED };
/* New, or newer than what is known: version only rises, CANCELLED is final, and amount and currency
 * stand still while money is under way (REFUSED). A cancellation starts what D21 says. */
enum err booking_put(struct tx *tx, struct payments *p, const struct booking *b, int64_t now_ms,
                     enum booking_put *ret_put);

/* In settle, when a payment of a booking was captured: the message that confirms it (B3). */
enum err booking_confirm_later(struct tx *tx, struct queue *q, struct uuid booking,
                               struct uuid payment, int64_t now_ms);
struct job_kind booking_confirm_kind(struct payments *p); /* "booking.confirm" */
