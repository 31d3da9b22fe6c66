/* refetch.h - an event that is believed only after a look at the gateway (E2), or whose payment
 * only the gateway can name. */
#pragma once

#include "flow/payments.h"

/* In the transaction that ends the event's own message: the message that asks, and then writes the
 * event's outcome. */
enum err refetch_later(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, const struct payment *p);

/* The same for a refund or a dispute of an intent that we have not heard of: Checkout made it, and
 * what names it comes later (E7). fact: the event's own, as fact_write() wrote it. Other people's
 * end as foreign. */
enum err refetch_whose(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, struct str fact);

struct job_kind refetch_kind(struct payments *pp, int retries,
                             int64_t first_ms); /* "stripe.refetch" */
