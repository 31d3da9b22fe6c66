/* channel_announce.h - a node with a transport says so, at its start and each LIMIT_TELLER_MS: what other
 * nodes commit is then handed on to it, though they have none themselves (notify/notification.c).
 * Only where there may be other nodes. */
#pragma once

#include "base/executor.h"
#include "store/store.h"

struct teller { /* on the executor */
    struct env *env;
    struct store *store;
    struct executor *executor;
    struct timer timer;
    struct unit unit;
};

void teller_start(struct teller *t, struct env *env, struct store *store,
                  struct executor *executor);
