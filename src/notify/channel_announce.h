/* channel_announce.h - a node that has a transport announces it, at its start and each
 * LIMIT_TELLER_MS. Nodes without one then add messages for it (notify/notification.c). Only for
 * stores that several nodes share. */
#pragma once

#include "base/executor.h"
#include "store/store.h"

struct teller { /* used on the executor only */
    struct env *env;
    struct store *store;
    struct executor *executor;
    struct timer timer;
    struct unit unit;
};

void teller_start(struct teller *t, struct env *env, struct store *store,
                  struct executor *executor);
