/* rate.c - token buckets in a table of fixed size under one lock. A restart forgets them, so every
 * client has a full bucket again. */
#include "http/rate.h"

#include "base/limits.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 4, ROWS = LIMIT_RATE_SLOTS / WAYS, BURST = 2 };

/* A bucket is stored as the time at which it will be full again. A bucket that is full equals an
 * empty slot, so old slots need no clean-up. */
struct rate_slot {
    uint64_t key[2];
    int64_t full_us;
};

struct rate {
    pthread_mutex_t lock;
    uint64_t seed[4];
    int64_t cost_us, room_us; /* of one request; of a full bucket */
    struct rate_slot slots[ROWS][WAYS];
};

struct rate *rate_new(int per_second, struct rng *rng)
{
    struct rate *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    rng_bytes(rng, r->seed, sizeof(r->seed));
    r->cost_us = 1000000 / per_second > 0 ? 1000000 / per_second : 1;
    r->room_us = r->cost_us * per_second * BURST;
    return r;
}

void rate_free(struct rate *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static bool address_key(const struct sockaddr *peer, uint64_t key[2])
{
    key[0] = (uint64_t)peer->sa_family;
    key[1] = 0;
    if (peer->sa_family == AF_INET)
        memcpy(&key[1], &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
    else if (peer->sa_family == AF_INET6)
        memcpy(&key[1], &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 8);
    else
        return false;
    return true;
}

static uint64_t rate_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static struct rate_slot *row_of(struct rate *r, const uint64_t key[2])
{
    uint64_t h = rate_fold(key[0] ^ r->seed[0], key[1] ^ r->seed[1]);

    h = rate_fold(h ^ r->seed[2], r->seed[3] | 1);
    return r->slots[h % ROWS];
}

/* The slot of this key, else the one whose bucket is full, or will be full first. */
static struct rate_slot *slot_of(struct rate_slot *row, const uint64_t key[2])
{
    struct rate_slot *oldest = row;

    for (int i = 0; i < WAYS; i++) {
        if (row[i].key[0] == key[0] && row[i].key[1] == key[1])
            return &row[i];
        if (row[i].full_us < oldest->full_us)
            oldest = &row[i];
    }
    *oldest = (struct rate_slot){ .key = { key[0], key[1] } };
    return oldest;
}

bool rate_take(struct rate *r, const struct sockaddr *peer, int64_t now_us)
{
    uint64_t key[2];
    struct rate_slot *s;
    int64_t full;
    bool allowed;

    if (!address_key(peer, key))
        return true;
    pthread_mutex_lock(&r->lock);
    s = slot_of(row_of(r, key), key);
    full = (s->full_us > now_us ? s->full_us : now_us) + r->cost_us;
    allowed = full - now_us <= r->room_us;
    if (allowed)
        s->full_us = full;
    pthread_mutex_unlock(&r->lock);
    return allowed;
}
