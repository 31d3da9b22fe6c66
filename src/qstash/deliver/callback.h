/* callback.h - callbacks: messages that report how an attempt of another message, the source,
 * ended. Their configuration is JSON, written by qstash/publish/input_forward.c and read here:
 *   {"callback":{"url":"...","method":"POST","retries":3,"retryDelay":"...","timeoutMs":0,
 *                "header":{"Name":["value"]}},"failure":{...}}
 * Only url is always there. Without retries the source's own number counts. */
#pragma once

#include "qstash/message.h"

/* NOT_FOUND: none of that kind was asked for. The caller sets id, times and slot. */
enum err callback_make(struct arena *a, const struct parcel *source, const struct attempt *at,
                       int64_t retried, bool failure, struct str dlq_id, struct parcel *ret_parcel);
