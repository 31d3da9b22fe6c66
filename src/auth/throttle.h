/* throttle.h - how often one may try to log in (A3), in memory of this node:
 *
 *   a name from an address   LIMIT_LOGIN_FREE failures, then a wait that doubles, up to five
 * minutes an address               LIMIT_LOGIN_ADDRESS failures a minute, whatever the names
 *
 * A name alone is not limited, or anyone who knows a name could lock its owner out. A try counts as
 * failed from its beginning, so many tries at once do not bypass the limit. The tables have a fixed
 * size and are hashed with a seed; a full row drops its oldest entry. Any thread may use it. */
#pragma once

#include "base/rng.h"
#include "base/str.h"

struct throttle;

enum { THROTTLE_KEY = 16 };

struct throttle_try {
    unsigned char pair[THROTTLE_KEY], address[THROTTLE_KEY];
};

struct throttle *throttle_new(struct rng *rng); /* NULL: no memory */
void throttle_free(struct throttle *t);         /* NULL is fine */

/* 0: the try is allowed and counted. Otherwise the milliseconds to wait, and nothing is counted.
 * IPv6 addresses of one /64 are one. */
int64_t throttle_begin(struct throttle *t, struct str address, struct str name, int64_t now_ms,
                       struct throttle_try *ret_try);
void throttle_won(struct throttle *t, const struct throttle_try *y); /* forgets the failures */
void throttle_undo(struct throttle *t,
                   const struct throttle_try *y); /* neither: the password could not be checked
                                                                       */
