/* unknown.h - operations whose outcome nobody knows (P7). The resolver asks for them until it knows
 * (operation.c); here they are counted, shown, and told of where that takes too long. */
#pragma once

#include "flow/payments.h"

struct unknown_state {
    int64_t count;     /* LIMIT_UNKNOWN_SEEN at most: more are not counted */
    int64_t oldest_ms; /* how long ago the oldest was claimed; 0: there is none */
};
enum err unknown_read_state(struct tx *tx, int64_t now_ms, struct unknown_state *ret_state);

/* {"data":[...],"nextCursor":...}: the oldest first, behind `after` where that is not NULL. limit:
 * LIMIT_PAGE at most. */
enum err unknown_page(struct tx *tx, struct arena *a, int64_t now_ms, const struct uuid *after,
                      int limit, struct str *ret_json);

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
/* With whatever a look should see: it comes within a minute. */
enum err unknown_hasten(struct tx *tx, struct payments *pp, int64_t now_ms);
