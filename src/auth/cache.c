/* cache.c - 16 shards with a lock each, with sets of 4 entries. In a full set the least recently used
 * entry is replaced. Only valid tokens are added, so requests without one cannot flush the cache. */
#include "auth/cache.h"

#include "base/limits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 16, WAYS = 4, SETS = LIMIT_TOKEN_CACHE / SHARDS / WAYS };

_Static_assert(SETS *WAYS *SHARDS == LIMIT_TOKEN_CACHE && SETS <= 256, "a byte names the set");

struct cache_entry {
    unsigned char digest[TOKEN_DIGEST];
    struct verified v; /* until_ms 0: empty */
    uint64_t used;
};

struct shard {
    _Alignas(64) pthread_mutex_t lock; /* in a cache line of its own */
    uint64_t tick;
    struct cache_entry entries[SETS][WAYS];
};

struct cache {
    _Atomic uint64_t generation;
    struct shard shards[SHARDS];
};

struct cache *cache_new(void)
{
    struct cache *c = aligned_alloc(64, sizeof(*c));

    if (!c)
        return NULL;
    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&c->shards[i].lock, NULL);
    return c;
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_destroy(&c->shards[i].lock);
    free(c);
}

static struct shard *shard_of(struct cache *c, const unsigned char *digest)
{
    return &c->shards[digest[0] % SHARDS];
}

static struct cache_entry *set_of(struct shard *s, const unsigned char *digest)
{
    return s->entries[digest[1] % SETS];
}

static struct cache_entry *cache_find(struct cache_entry *set, const unsigned char *digest)
{
    for (size_t i = 0; i < WAYS; i++)
        if (set[i].v.claims.until_ms && memcmp(set[i].digest, digest, TOKEN_DIGEST) == 0)
            return &set[i];
    return NULL;
}

bool cache_get(struct cache *c, const unsigned char digest[TOKEN_DIGEST], int64_t now_ms,
               struct verified *ret)
{
    struct shard *s = shard_of(c, digest);
    struct cache_entry *e;

    pthread_mutex_lock(&s->lock);
    e = cache_find(set_of(s, digest), digest);
    if (e && now_ms >= e->v.claims.until_ms) {
        *e = (struct cache_entry){ 0 };
        e = NULL;
    } else if (e && now_ms < e->v.claims.from_ms) {
        e = NULL; /* the clock was set back */
    }
    if (e) {
        e->used = ++s->tick;
        *ret = e->v;
    }
    pthread_mutex_unlock(&s->lock);
    return e != NULL;
}

static struct cache_entry *cache_slot_for(struct cache_entry *set, const unsigned char *digest)
{
    struct cache_entry *oldest = &set[0], *known = cache_find(set, digest);

    for (size_t i = 0; i < WAYS; i++)
        if (set[i].used < oldest->used)
            oldest = &set[i];
    return known ? known : oldest;
}

void cache_put(struct cache *c, const unsigned char digest[TOKEN_DIGEST], const struct verified *v,
               uint64_t generation)
{
    struct shard *s = shard_of(c, digest);
    struct cache_entry *e;

    pthread_mutex_lock(&s->lock);
    /* Under the lock: cache_rekey raises the generation before it comes to this shard. */
    if (!v->key || generation == atomic_load(&c->generation)) {
        e = cache_slot_for(set_of(s, digest), digest);
        *e = (struct cache_entry){ .v = *v, .used = ++s->tick };
        memcpy(e->digest, digest, TOKEN_DIGEST);
    }
    pthread_mutex_unlock(&s->lock);
}

static void cache_drop_gone(struct shard *s, const struct key_set *set)
{
    for (size_t i = 0; i < SETS; i++)
        for (struct cache_entry *e = s->entries[i]; e < s->entries[i] + WAYS; e++)
            if (e->v.key && !key_set_has(set, e->v.key))
                *e = (struct cache_entry){ 0 };
}

void cache_rekey(struct cache *c, const struct key_set *set)
{
    atomic_store(&c->generation, set->generation);
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&c->shards[i].lock);
        cache_drop_gone(&c->shards[i], set);
        pthread_mutex_unlock(&c->shards[i].lock);
    }
}
