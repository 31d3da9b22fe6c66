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
    void (*hold)(void *ctx);   /* returns when no commit is under way, and none begins */
    void (*let_go)(void *ctx); /* commits may begin again */
    void (*fatal)(void *ctx, const char *why); /* the disk broke its promise */
    void *ctx;
};

/* Starts; what an earlier run left in the WAL is copied in the background. */
enum err checkpointer_new(const struct checkpoint_options *o, struct env *env,
                          struct checkpointer **ret_c, struct why *why);
/* The writer, after each commit: that many frames are in the WAL now. */
void checkpointer_report(struct checkpointer *c, int64_t frames);
void checkpointer_free(struct checkpointer *c); /* NULL is fine */
