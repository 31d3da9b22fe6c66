/* jwks.h - the keys behind a URL. They are refreshed when they are used, so an idle server fetches
 * nothing. Any thread may call; one fetch is under way at a time. */
#pragma once

#include "auth/cache.h"
#include "auth/keys.h"
#include "base/executor.h"

struct client;
struct jwks;

struct jwks_options {
    struct env *env;
    struct client *client;
    struct str url;
    struct cache *cache; /* hears of every new set */
};

/* A request that waits for a fetch. task.run is called on the executor once, also after a failure. */
struct jwks_waiter {
    struct task task;
    struct executor *executor;
    struct jwks_waiter *next;
};

struct jwks *jwks_new(const struct jwks_options *o); /* fetches at once. NULL: no memory */
/* Called when no request waits. Waits for a fetch under way, which also ends when the client is
 * freed. */
void jwks_free(struct jwks *j);

struct key_set *jwks_keys(struct jwks *j); /* the present set, maybe empty; unref it */
uint64_t jwks_generation(struct jwks *j);  /* of the present set */

/* Called before every use: begins a fetch that is due, and drops keys that are too old. Costs almost
 * nothing while nothing is due. True: the keys are too old, and a fetch is under way that has not
 * failed yet, so the caller should wait for it. */
bool jwks_tend(struct jwks *j);

enum jwks_wait {
    JWKS_WAITS,  /* w->task will run */
    JWKS_NEWER,  /* there is a newer set than the one that was seen: look again at once */
    JWKS_NO_USE, /* the last fetch is too young for another: there is nothing to wait for */
    JWKS_FULL,   /* too many wait */
};
/* Joins the fetch under way, or begins one. seen: the generation from before the set was used, since
 * a fetch may have ended meanwhile. */
enum jwks_wait jwks_await(struct jwks *j, uint64_t seen, struct jwks_waiter *w);
