/* cache.h - verified tokens, so that the next request with one costs a hash and a look. Keyed by
 * the token's SHA-256: the tokens themselves are not kept. Any thread may use it. */
#pragma once

#include "auth/verify.h"

enum { TOKEN_DIGEST = 32 };

struct cache;

struct cache *cache_new(void); /* NULL: no memory */
void cache_free(struct cache *c);

/* False: not known, or not good at that time. */
bool cache_get(struct cache *c, const unsigned char digest[TOKEN_DIGEST], int64_t now_ms,
               struct verified *ret);

/* generation: of the key set that v was verified with. An entry of a set that is no longer the
 * present one is not taken, else a key's last verdict could slip in behind its end. */
void cache_put(struct cache *c, const unsigned char digest[TOKEN_DIGEST], const struct verified *v,
               uint64_t generation);

/* From now on `set` is the present one: what other keys of a set had verified is forgotten. */
void cache_rekey(struct cache *c, const struct key_set *set);
