/* payment_poll.h - open PayPay payments are queried, because a lost notification is not repeated (W8).
 * Polls begin 5 s after the customer was shown the code, become less frequent, and end with the
 * payment, or some minutes after the code's end, when the payment is cancelled.
 *
 * An authorization of any gateway is queried after its time until it is over: no event reports that
 * it lapsed, and it would hold its place for ever (D9). */
#pragma once

#include "payment/transition.h"

struct job_kind poll_kind(struct payments *pp);        /* "paypay.poll" */
struct job_kind poll_lapsed_kind(struct payments *pp); /* "payment.lapsed" */
