/* edited_event.h - a Stripe event that an operator edited. Nobody signed what it says now, so that it is
 * a hint and no more, as PayPay's notifications are (W8): one id is taken from it, the gateway is
 * asked for what that names, and only the answer moves anything (event/refetch.c). */
#pragma once

#include "base/why.h"
#include "webhook/event.h"

struct edited_ids { /* one of them; the other is empty */
    struct str intent, refund;
};

/* What the gateway is to be asked for. UNPROCESSABLE: there is nothing that it can be asked for;
 * `why` says so in both languages. */
enum err edited_ids(const struct stripe_event *e, struct edited_ids *ret_ids, struct why *why);

/* The body of the event's own message, "stripe.event". UNPROCESSABLE as above. */
enum err edited_job(struct arena *a, const struct stripe_event *e, struct str trace,
                    struct str *ret_job, struct why *why);
