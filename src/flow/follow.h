/* follow.h - messages about one payment that come due later. Only flow/ and who registers the kinds
 * include this. */
#pragma once

#include "flow/payments.h"

/* What the customer has not finished by due_ms is cancelled at the gateway (D19, D23). */
enum err follow_abandon(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms,
                        int64_t due_ms);
/* An alert 24 hours before the authorisation lapses, and a look behind that (D9). */
enum err follow_lapse(struct tx *tx, struct payments *pp, const struct payment *p, int64_t now_ms);

struct job_kind follow_abandon_kind(struct payments *pp); /* "payment.abandon" */
struct job_kind follow_lapse_kind(struct payments *pp);   /* "payment.lapse" */
