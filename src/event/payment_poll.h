/* payment_poll.h - open PayPay payments are looked at, whatever its notifications do: one that is lost is
 * lost for good (W8). Looks begin 5 s after the customer was shown the code, grow apart, and end
 * with the payment or some minutes behind the code, which is cancelled then.
 *
 * An authorisation of any gateway is looked at behind its time, until it is over: nobody else would
 * see that it lapsed, and it would hold its place for ever (D9). */
#pragma once

#include "payment/transition.h"

struct job_kind poll_kind(struct payments *pp);        /* "paypay.poll" */
struct job_kind poll_lapsed_kind(struct payments *pp); /* "payment.lapsed" */
