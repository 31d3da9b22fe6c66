/* overview.h - the server's state by a few bounded reads, whatever the database holds (O8).
 *
 * The sums of a day are of the payments that were created on that day: what was captured and
 * refunded of them so far. The newest LIMIT_TODAY_SEEN of them are read; a busier day says `exact:
 * false`. */
#pragma once

#include "payment/unknown.h"

enum { OVERVIEW_CURRENCIES = 32 };

struct overview_money {
    char currency[4];
    struct minor captured, refunded;
};

struct overview {
    struct queue_state queue;
    struct unknown_state unknown;
    int64_t firing;   /* alerts, of all nodes */
    int64_t payments; /* of today; LIMIT_TODAY_SEEN: there are more */
    struct overview_money money[OVERVIEW_CURRENCIES];
    size_t money_count;
};

/* since_ms: the beginning of today. */
enum err overview_read(struct tx *tx, int64_t now_ms, int64_t since_ms, struct overview *ret);
