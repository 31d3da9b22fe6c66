/* command_executor.h - the executor of a command, which does one thing at a time: it posts a unit
 * of work and waits for it. It has no timers. */
#pragma once

#include "base/executor.h"
#include "store/store.h"

#include <pthread.h>

struct command_executor {
    struct executor executor;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct task *first, **last;
};

void command_executor_init(struct command_executor *e);
void command_executor_release(struct command_executor *e);

/* Runs the work in a transaction of its own. Returns its result, or how the commit failed. */
enum err command_executor_run(struct command_executor *e, struct store *s, enum unit_class where,
                              enum err (*work)(struct tx *tx, void *ctx), void *ctx);
/* Does the same, and again while the database is in short trouble (a lock, a restart), for about a
 * second. The work must be harmless when it is run twice. */
enum err command_executor_retry(struct command_executor *e, struct store *s, enum unit_class where,
                                enum err (*work)(struct tx *tx, void *ctx), void *ctx);
