/* checkpoint.h - keeps the WAL short without stopping the writer for long. A thread with a
 * connection of its own copies the WAL into the database every LIMIT_WAL_STEP frames. That alone
 * would never let the WAL start over while commits keep coming, so at LIMIT_WAL it first copies and
 * syncs nearly everything, then holds the writer between two batches for the small rest. */
#pragma once

#include "base/why.h"
#include "store/sqlite/db.h"

struct checkpointer;

struct checkpoint_options {
    const char *path;
    void (*hold)(void *ctx);   /* returns when no commit is under way; none begins until resume */
    void (*resume)(void *ctx); /* commits may begin again */
    void (*fatal)(void *ctx, const char *why); /* a write or an fsync of the database failed */
    void *ctx;
};

/* Starts the thread, which first copies what an earlier process left in the WAL. */
enum err checkpointer_new(const struct checkpoint_options *o, struct env *env,
                          struct checkpointer **ret_c, struct why *why);
/* Called by the writer after each commit: the WAL has this many frames now. */
void checkpointer_report(struct checkpointer *c, int64_t frames);
void checkpointer_free(struct checkpointer *c); /* NULL is fine */
