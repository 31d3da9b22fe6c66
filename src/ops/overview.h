/* overview.h - how things stand, in one look (O8): a few bounded reads, whatever there is.
 *
 * A day's sums are those of the payments that were made that day: what was captured and given back
 * of them so far. They are read newest first, LIMIT_TODAY_SEEN of them at most, so that a look
 * costs the same at a million payments; a busier day says exact: false and shows the newest ones.
 */
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
    int64_t payments; /* of today; more than LIMIT_TODAY_SEEN - 1: there are more */
    struct overview_money money[OVERVIEW_CURRENCIES];
    size_t money_count;
};

/* since_ms: when today began. */
enum err overview_read(struct tx *tx, int64_t now_ms, int64_t since_ms, struct overview *ret);
