/* jwks.h - the keys behind a url, kept fresh by whoever asks for them: an idle server fetches
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

/* Who waits for a fetch. task.run is called on the executor, once, whatever came of the fetch. */
struct jwks_waiter {
    struct task task;
    struct executor *executor;
    struct jwks_waiter *next;
};

struct jwks *jwks_new(const struct jwks_options *o); /* fetches at once. NULL: no memory */
/* Nobody waits any more. A fetch under way is waited for; it ends when the client is freed, too. */
void jwks_free(struct jwks *j);

struct key_set *jwks_keys(struct jwks *j); /* the present set, maybe empty; unref it */
uint64_t jwks_generation(struct jwks *j);  /* of the present set */

/* Before every use: begins the fetch that is due and drops keys that are too old. Costs next to
 * nothing while nothing is due. True: the keys are older than they should be, and a fetch that has
 * not failed yet is under way: better wait for it. */
bool jwks_tend(struct jwks *j);

enum jwks_wait {
    JWKS_WAITS,  /* w->task will run */
    JWKS_NEWER,  /* there is a newer set than the one that was seen: look again at once */
    JWKS_NO_USE, /* the last fetch is too young for another: there is nothing to wait for */
    JWKS_FULL,   /* too many wait */
};
/* Joins the fetch under way, or begins one. seen: the generation from before the set was used; a
 * fetch may have ended since. */
enum jwks_wait jwks_await(struct jwks *j, uint64_t seen, struct jwks_waiter *w);
