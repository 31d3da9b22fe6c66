/* rate.h - requests a second and client address: a bucket each, of twice the rate, in a table of
 * fixed size. The hash is seeded, so nobody can choose whom he shares a row with; a full row
 * forgets the address it heard of longest ago. Any thread. */
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
