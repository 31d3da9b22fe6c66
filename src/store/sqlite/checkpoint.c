/* checkpoint.c - the checkpointer thread.
 *
 *   (1) Every LIMIT_WAL_STEP frames it copies the WAL and syncs the database file (M3).
 *   (2) At LIMIT_WAL frames it does so twice, holds the writer between two batches, and copies the
 *       rest. The writer's next commit then starts the WAL over.
 *   (3) It keeps no state that matters: a crash leaves the WAL, and the next start copies it. */
#include "store/sqlite/checkpoint.h"

#include "base/thread.h"
#include "observe/log.h"
#include "store/sqlite/conn.h"

#include <pthread.h>
#include <stdlib.h>

enum { CACHE_KB = 256 }; /* this connection reads one small table, once */

struct checkpointer {
    struct checkpoint_options options;
    struct env *env;
    struct sqlite_db *db;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    int64_t frames, copied_at; /* in the WAL now; and at the last copy */
    bool wanted, stopping;
};

/* SQLite syncs the database only when it has copied all of the WAL, which never happens while the
 * writer goes on. So each step is synced here. Left to the end, 100 MB would go to the disk at once
 * and concurrent commits would wait up to 30 ms. */
static enum err checkpoint_step(struct checkpointer *c)
{
    enum err e = sqlite_db_checkpoint(c->db);

    return e ? e : sqlite_sync_file(c->db);
}

/* Copies twice while the writer goes on, so that little is left to copy while it is held. Once
 * everything is copied, the writer's next commit starts the WAL over by itself. */
static enum err checkpoint_whole(struct checkpointer *c)
{
    enum err e = checkpoint_step(c);

    if (!e)
        e = checkpoint_step(c);
    if (e)
        return e;
    c->options.hold(c->options.ctx);
    e = sqlite_db_checkpoint(c->db);
    c->options.resume(c->options.ctx);
    return e;
}

/* A full disk is only logged: the next step tries again, and commits report it too. After a failed
 * write or fsync the file's contents are unknown, so the process ends. */
static void checkpoint_judge(struct checkpointer *c, enum err e)
{
    if (!e)
        return;
    if (c->env->log)
        LOG(c->env->log, LOG_ERROR, "store.checkpoint_failed",
            LOG_TEXT("error", str_of(sqlite_db_error(c->db))));
    if (c->db->broken || sqlite_disk_broke(c->db))
        c->options.fatal(c->options.ctx, sqlite_db_error(c->db));
}

static void *checkpoint_thread(void *arg)
{
    struct checkpointer *c = arg;

    pthread_mutex_lock(&c->lock);
    for (;;) {
        int64_t frames;

        while (!c->wanted && !c->stopping)
            pthread_cond_wait(&c->more, &c->lock);
        if (c->stopping)
            break;
        c->wanted = false;
        c->copied_at = frames = c->frames;
        pthread_mutex_unlock(&c->lock);
        checkpoint_judge(c, frames >= LIMIT_WAL ? checkpoint_whole(c) : checkpoint_step(c));
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void checkpointer_report(struct checkpointer *c, int64_t frames)
{
    pthread_mutex_lock(&c->lock);
    if (frames < c->frames)
        c->copied_at = 0; /* the WAL started over */
    c->frames = frames;
    if (!c->wanted && frames - c->copied_at >= LIMIT_WAL_STEP) {
        c->wanted = true;
        pthread_cond_signal(&c->more);
    }
    pthread_mutex_unlock(&c->lock);
}

enum err checkpointer_new(const struct checkpoint_options *o, struct env *env,
                          struct checkpointer **ret_c, struct why *why)
{
    struct sqlite_options open = { .path = o->path, .cache_kb = CACHE_KB };
    struct checkpointer *c = calloc(1, sizeof(*c));
    enum err e;

    if (!c)
        return ERR_NO_MEMORY;
    c->options = *o;
    c->env = env;
    c->wanted = true; /* copies what an earlier process left */
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, NULL);
    e = sqlite_db_open(&open, env, &c->db, why);
    if (!e && !thread_start(&c->thread, "checkpoint", checkpoint_thread, c)) {
        why_set(why, "cannot start a thread");
        e = ERR_UNAVAILABLE;
    }
    if (e) {
        sqlite_db_abandon(c->db);
        free(c);
        return e;
    }
    *ret_c = c;
    return OK;
}

void checkpointer_free(struct checkpointer *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    pthread_cond_signal(&c->more);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    sqlite_db_abandon(c->db); /* the writer's connection empties the WAL, last */
    pthread_cond_destroy(&c->more);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
