/* retention.h - provider payloads hold what a card and its owner look like. After
 * ICHIDO_RETENTION_DAYS they go: the event's row stays, for the history and against its repetition,
 * its body does not (A6). An event that is not done with, or whose dead letter waits for somebody,
 * keeps its body until it is. */
#pragma once

#include "payment/payments.h"

struct retention {
    struct payments *payments;
    int days;
};

/* "events.forget": once a day, and without a rest while there is more. */
struct job_kind retention_kind(struct retention *r);
/* At each start. CONFLICT: its message is there already. */
enum err retention_start(struct tx *tx, struct retention *r, int64_t now_ms);
