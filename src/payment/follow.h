/* follow.h - messages about one payment that come due later. */
#pragma once

#include "payment/payments.h"

struct taking;

/* Plans the cancel of a payment that the customer has not finished by due_ms (D19, D23). */
enum err follow_abandon(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms,
                        int64_t due_ms);
/* Plans an alert 24 hours before the authorization lapses, and a query after that time (D9). */
enum err follow_lapse(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms);

/* Plans the queries of an open PayPay payment (event/payment_poll.h), in the transaction that stores
 * what the customer has to do. Other gateways repeat their webhooks until we acknowledge them. */
enum err follow_poll(struct tx *tx, const struct taking *t, const struct payment *p,
                     const struct fact *f);
/* Plans the query after capture_before_ms, by the same job. */
enum err follow_lapsed(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms);

struct job_kind follow_abandon_kind(struct payments *pp); /* "payment.abandon" */
struct job_kind follow_lapse_kind(struct payments *pp);   /* "payment.lapse" */
