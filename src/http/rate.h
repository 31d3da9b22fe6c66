/* rate.h - limits the requests per second of each client address: one token bucket for each, of twice
 * the rate, in a table of fixed size. The hash is seeded, so a client cannot choose its row; a full
 * row drops the address that was seen longest ago. Any thread may use it. */
#pragma once

#include "base/rng.h"

#include <stdbool.h>
#include <sys/socket.h>

struct rate;

struct rate *rate_new(int per_second, struct rng *rng); /* NULL: no memory */
void rate_free(struct rate *r);                         /* NULL is fine */

/* False: this address has used up its bucket. IPv6 addresses of one /64 count as one. Addresses
 * that are neither IPv4 nor IPv6 are always allowed. */
bool rate_take(struct rate *r, const struct sockaddr *peer, int64_t now_us);
