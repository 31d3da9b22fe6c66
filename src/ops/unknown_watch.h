/* unknown_watch.h - the job that counts operations without a known outcome, names those that take
 * too long, and looks at the alerts of all nodes. */
#pragma once

#include "payment/unknown.h"

struct alert_desk;

struct unknown_watch {
    struct payments *payments;
    const struct alert_desk *alerts; /* looked at by the same message; NULL: nobody is told */
    int64_t
        alert_ms; /* what is unknown for longer is told of: PaymentOutcomeUnknown, once an hour */
};

/* "payment.unknown": a look each minute, also at the alerts that are true of all nodes (O4): the
 * lines name the operations, the alert unknown_outcome tells people. One message for ever,
 * whichever node has it. Where nothing is wrong and there is one node, a look each hour. */
struct job_kind unknown_kind(struct unknown_watch *w);
/* CONFLICT: another node was first. */
enum err unknown_start(struct tx *tx, struct unknown_watch *w, int64_t now_ms);
