/* message.h - a notification as FCM's HTTP v1 wants it. Pure. */
#pragma once

#include "base/why.h"
#include "notify/notify.h"

/* Notification, data (all of its values texts, with `type` and `notificationId`), and for each
 * kind of device what makes a repeat fold into the first: FCM knows no idempotency key. A body that
 * is too long for a phone is cut. now_ms: the calendar's.
 * VALIDATION: it cannot be sent, `why` says the reason. NO_MEMORY. */
enum err fcm_message(const struct parcel_out *p, int64_t now_ms, struct str *ret_json,
                     struct why *why);
