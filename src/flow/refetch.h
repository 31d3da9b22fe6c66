/* refetch.h - an event that is believed only after a look at the gateway (E2). */
#pragma once

#include "flow/payments.h"

/* In the transaction that ends the event's own message: the message that asks, and then writes the
 * event's outcome. */
enum err refetch_later(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, const struct payment *p);

struct job_kind refetch_kind(struct payments *pp, int retries,
                             int64_t first_ms); /* "stripe.refetch" */
