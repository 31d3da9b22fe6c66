/* unknown.h - operations with an unknown outcome (P7). Their job queries the gateway until the outcome
 * is known (operation.c); here they are counted and listed. ops/unknown_watch.h reports those that
 * take too long. */
#pragma once

#include "payment/payments.h"

struct unknown_state {
    int64_t count;     /* LIMIT_UNKNOWN_SEEN at most */
    int64_t oldest_ms; /* the age of the oldest claim; 0: there is none */
};
enum err unknown_read_state(struct tx *tx, int64_t now_ms, struct unknown_state *ret_state);

/* {"data":[...],"nextCursor":...}: the oldest first, behind `after` where that is not NULL. limit:
 * LIMIT_PAGE at most. */
enum err unknown_page(struct tx *tx, struct arena *a, int64_t now_ms, const struct uuid *after,
                      int limit, struct str *ret_json);

/* The columns of the statements unknown_page and unknown_untold. */
enum {
    UNKNOWN_ID,
    UNKNOWN_PAYMENT,
    UNKNOWN_KIND,
    UNKNOWN_CAUSE,
    UNKNOWN_CLAIMED,
    UNKNOWN_SENT,
    UNKNOWN_SENDS,
    UNKNOWN_ASKS,
    UNKNOWN_RESULT,
    UNKNOWN_AMOUNT,
    UNKNOWN_CURRENCY,
    UNKNOWN_GATEWAY,
    UNKNOWN_INTENT,
    UNKNOWN_STATUS,
    UNKNOWN_CONTEXT,
};

/* The id of the message "payment.unknown" (ops/unknown_watch.h). */
extern const struct uuid unknown_watch_id;
/* The watch runs within a minute, and sees what this transaction has stored. */
enum err unknown_hasten(struct tx *tx, struct payments *pp, int64_t now_ms);
