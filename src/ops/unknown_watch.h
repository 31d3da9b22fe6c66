/* unknown_watch.h - the job that counts operations without a known outcome, logs those that take
 * too long, and checks the alerts about all nodes. */
#pragma once

#include "payment/unknown.h"

struct alert_desk;

struct unknown_watch {
    struct payments *payments;
    const struct alert_desk *alerts; /* checked by the same job; NULL: no alerts */
    int64_t alert_ms;                /* an outcome unknown for longer is logged, once an hour */
};

/* "payment.unknown": checks each minute, and evaluates the alerts about all nodes, too (O4). The
 * log lines name the operations; the alert unknown_outcome notifies people. There is one message
 * for all nodes. While nothing is wrong and there is one node, it checks each hour. */
struct job_kind unknown_kind(struct unknown_watch *w);
/* CONFLICT: another node has started it. */
enum err unknown_start(struct tx *tx, struct unknown_watch *w, int64_t now_ms);
