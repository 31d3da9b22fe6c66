/* message.h - a notification as a message of FCM's HTTP v1. Pure. */
#pragma once

#include "base/why.h"
#include "notify/notify.h"

/* Contains the texts, the data (every value as a text, with `type` and `notificationId`), and for
 * each kind of device a collapse key, so that a repeat replaces the first. A body that is too long
 * for a phone is cut. now_ms: wall clock. VALIDATION: it cannot be sent, `why` says why.
 * NO_MEMORY. */
enum err fcm_message(const struct parcel_out *p, int64_t now_ms, struct str *ret_json,
                     struct why *why);
