/* callback.h - parcels that tell how another one fared. The configuration is JSON, written once by
 * qstash/publish/input.c and read here:
 *   {"callback":{"url":"...","method":"POST","retries":3,"retryDelay":"...","timeoutMs":0,
 *                "header":{"Name":["value"]}},"failure":{...}}
 * Only url is always there; retries left out means the source's own. */
#pragma once

#include "qstash/message.h"

/* NOT_FOUND: none of that kind was asked for. The parcel lacks its id, its times and its slot. */
enum err callback_make(struct arena *a, const struct parcel *source, const struct attempt *at,
                       int64_t retried, bool failure, struct str dlq_id, struct parcel *ret_parcel);
