/* cache.h - verified tokens, keyed by their SHA-256. The tokens themselves are not kept. Any thread
 * may use it. */
#pragma once

#include "auth/verify.h"

enum { TOKEN_DIGEST = 32 };

struct cache;

struct cache *cache_new(void); /* NULL: no memory */
void cache_free(struct cache *c);

/* False: unknown, or not valid at that time. */
bool cache_get(struct cache *c, const unsigned char digest[TOKEN_DIGEST], int64_t now_ms,
               struct verified *ret);

/* generation: of the key set that v was verified with. An entry of an older set is not added, since
 * its key may have been removed meanwhile. */
void cache_put(struct cache *c, const unsigned char digest[TOKEN_DIGEST], const struct verified *v,
               uint64_t generation);

/* Makes `set` the present one: entries verified by keys that are not in it are removed. */
void cache_rekey(struct cache *c, const struct key_set *set);
