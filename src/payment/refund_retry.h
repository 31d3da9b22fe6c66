/* refund_retry.h - retries of failed refunds of money that must go back (D2). */
#pragma once

#include "payment/transition.h"

/* r, an automatic refund, has failed just now and is stored: plans its next try. After the last try
 * an error is logged for the operator, once. Does nothing for a refund that was made at the gateway's
 * dashboard. */
enum err refund_again(struct tx *tx, const struct taking *t, const struct payment *p,
                      const struct refund *r);

struct job_kind refund_again_kind(struct payments *pp); /* "refund.again" */
