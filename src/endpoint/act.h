/* act.h - what operators' acts that concern no payment have in common: they take no body, and they
 * leave an audit line with the person in the same commit. */
#pragma once

#include "base/uuid.h"
#include "booking/booking.h"
#include "http/http.h"
#include "store/tx.h"

/* True: the body is empty, or {}. False: 400 or 415 was answered. */
bool act_has_no_input(struct request *r) ANSWERS;

/* Adds the audit line of an act. A user of all zeros is the admin token and is shown as such
 * (audit/list.c). subject and detail may be empty. */
enum err act_audit(struct tx *tx, const char *operation, struct str subject, struct str detail,
                   struct uuid user);

/* Adds BOOKING_MAKE, BOOKING_CHANGE or BOOKING_CANCEL; no line if the booking was not changed.
 * user NULL: the change came as a signed event, with no person behind it. */
enum err act_audit_booking(struct tx *tx, const struct booking_result *r, const struct uuid *user);
