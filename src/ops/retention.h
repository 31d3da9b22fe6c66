/* retention.h - provider payloads contain card and personal data. After ICHIDO_RETENTION_DAYS the
 * body of an event is deleted; its row stays, for the history and to recognize a repeat (A6). An
 * event without an outcome, or with a dead letter, keeps its body until that has ended. */
#pragma once

#include "payment/payments.h"

struct retention {
    struct payments *payments;
    int days;
};

/* "events.forget": once a day, and with short pauses while there is more. */
struct job_kind retention_kind(struct retention *r);
/* At each start. CONFLICT: the message exists already. */
enum err retention_start(struct tx *tx, struct retention *r, int64_t now_ms);
