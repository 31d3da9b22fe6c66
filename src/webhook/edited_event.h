/* edited_event.h - a Stripe event that an operator edited. No provider signed it, so it is only a
 * hint, as PayPay's notifications are (W8): one id is taken from it, the gateway is queried for that
 * id, and only the reply is applied (event/refetch.c). */
#pragma once

#include "base/why.h"
#include "webhook/event.h"

struct edited_ids { /* one of them; the other is empty */
    struct str intent, refund;
};

/* The id to query the gateway for. UNPROCESSABLE: there is none; `why` says so in both languages. */
enum err edited_ids(const struct stripe_event *e, struct edited_ids *ret_ids, struct why *why);

/* The body of the event's own message, "stripe.event". UNPROCESSABLE as above. */
enum err edited_job(struct arena *a, const struct stripe_event *e, struct str trace,
                    struct str *ret_job, struct why *why);
