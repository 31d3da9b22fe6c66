/* poll.h - open PayPay payments are looked at, whatever its notifications do: one that is lost is
 * lost for good (W8). Looks begin 5 s after the customer was shown the code, grow apart, and end
 * with the payment or some minutes behind the code, which is cancelled then.
 *
 * An authorisation of any gateway is looked at behind its time, until it is over: nobody else would
 * see that it lapsed, and it would hold its place for ever (D9). Only flow/ and who registers the
 * kinds include this. */
#pragma once

#include "flow/move.h"

/* In the transaction that stores what the customer has to do. Nothing for other gateways, whose
 * webhooks are sent until they are taken. */
enum err poll_begin(struct tx *tx, const struct taking *t, const struct payment *p,
                    const struct fact *f);

/* The look behind capture_before_ms. */
enum err poll_lapsed(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms);

struct job_kind poll_kind(struct payments *pp);        /* "paypay.poll" */
struct job_kind poll_lapsed_kind(struct payments *pp); /* "payment.lapsed" */
