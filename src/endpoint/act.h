/* act.h - what is common to acts of operators that are about no payment: no body, and an audit line
 * with who did it, in the same commit. */
#pragma once

#include "base/uuid.h"
#include "booking/booking.h"
#include "http/http.h"
#include "store/tx.h"

/* Nothing, or {}. False: 400 or 415 was answered. */
bool act_has_no_input(struct request *r) ANSWERS;

/* user: all zero is the admin token, and is shown as that (audit/list.c). subject, detail: may
 * be empty.
 */
enum err act_audit(struct tx *tx, const char *operation, struct str subject, struct str detail,
                   struct uuid user);

/* What a change made of a booking: BOOKING_MAKE, BOOKING_CHANGE, BOOKING_CANCEL; no line where it
 * made nothing of it. user NULL: it came as a signed event, which is nobody's. */
enum err act_audit_booking(struct tx *tx, const struct booking_result *r, const struct uuid *user);
