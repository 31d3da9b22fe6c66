/* refund_retry.h - money that must go back, and whose refund failed: it is refunded again, later
 * (D2). */
#pragma once

#include "payment/transition.h"

/* r, of our own accord (automatic), has failed just now and is stored. Its next try is planned; was
 * it the last one, an operator is told, once. Nothing, where it was made at the gateway's
 * dashboard: that is somebody else's try. */
enum err refund_again(struct tx *tx, const struct taking *t, const struct payment *p,
                      const struct refund *r);

struct job_kind refund_again_kind(struct payments *pp); /* "refund.again" */
