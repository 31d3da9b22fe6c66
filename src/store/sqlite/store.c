/* store.c - the threads around SQLite.
 *
 *   post() -> front, back --> writer: runs what waits in one commit, then returns it --> executor
 *          -> reads ---------> readers: one read transaction for each unit ------------> executor
 *                              checkpointer: copies the WAL, now and then holds the writer
 *
 *   (1) The units that arrive during one fsync are the next batch; no unit waits for a batch to
 *       fill.
 *   (2) Foreground units go first. Background units get LIMIT_BACK_US of a commit, or a quarter of
 *       the foreground's time while more foreground units wait, so neither starves.
 *   (3) A thread with nothing to do sleeps; there is no timer.
 *
 * One lock guards the lists and the counters. It is never held while SQL runs or a unit is
 * returned. A crash loses the lists: no waiting unit had begun, and no verdict was returned. */
#include "base/thread.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "store/sqlite/batch.h"
#include "store/sqlite/checkpoint.h"
#include "store/sqlite/lock.h"
#include "store/unit_list.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEFAULT_READERS = 2, READER_CACHE_KB = 2 * 1024, BACK_SHARE = 4 };

struct sqlite_store {
    struct store store; /* first */
    char *path;
    struct sqlite_lock file_lock;
    struct sqlite_db *db; /* the writer's connection */
    struct checkpointer *checkpointer;
    struct sqlite_db *reader_dbs[LIMIT_READERS];
    pthread_t writer, readers[LIMIT_READERS];
    int reader_count; /* readers that were started */
    bool writer_runs;
    int64_t back_us_each; /* estimated time of one background unit */

    pthread_mutex_t lock;
    pthread_cond_t to_write, to_read, at_rest;
    struct unit_list front, back, reads;
    bool stopping, held, busy;
    struct store_health health;
};

/* --- the writer --- */

static void store_fatal(void *ctx, const char *why)
{
    struct sqlite_store *s = ctx;

    if (s->store.env->log)
        LOG(s->store.env->log, LOG_ERROR, "store.fatal", LOG_TEXT("error", str_of(why)));
    if (s->store.options.fatal)
        s->store.options.fatal(s->store.options.fatal_ctx, why);
    abort();
}

static bool writer_is_idle(const struct sqlite_store *s)
{
    return !s->front.first && !s->back.first;
}

/* Sleeps until a unit waits. False: the store is stopping and no unit is left. */
static bool writer_wait(struct sqlite_store *s)
{
    bool more;

    pthread_mutex_lock(&s->lock);
    while (s->held || (writer_is_idle(s) && !s->stopping))
        pthread_cond_wait(&s->to_write, &s->lock);
    more = !writer_is_idle(s);
    s->busy = more;
    pthread_mutex_unlock(&s->lock);
    return more;
}

/* Between two batches: wakes a checkpointer that waits to hold the writer. */
static void writer_rest(struct sqlite_store *s)
{
    pthread_mutex_lock(&s->lock);
    s->busy = false;
    if (s->held)
        pthread_cond_signal(&s->at_rest);
    pthread_mutex_unlock(&s->lock);
}

static void writer_hold(void *ctx)
{
    struct sqlite_store *s = ctx;

    pthread_mutex_lock(&s->lock);
    s->held = true;
    while (s->busy)
        pthread_cond_wait(&s->at_rest, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void writer_resume(void *ctx)
{
    struct sqlite_store *s = ctx;

    pthread_mutex_lock(&s->lock);
    s->held = false;
    pthread_cond_signal(&s->to_write);
    pthread_mutex_unlock(&s->lock);
}

/* Returns units that waited too long to their executors; the result is how many are left. */
static size_t writer_drop_late(struct sqlite_store *s, struct unit **units, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!unit_expire(units[i], s->store.env))
            units[kept++] = units[i];
    if (s->store.env->metrics)
        metrics_count(s->store.env->metrics, COUNT_STORE_ERRORS, (int64_t)(n - kept));
    return kept;
}

static int64_t now_us(const struct sqlite_store *s)
{
    return clock_mono_us(&s->store.env->clock);
}

/* Runs waiting foreground units; returns the time they took in microseconds. */
static int64_t writer_run_front(struct sqlite_store *s, struct sqlite_batch *b)
{
    struct unit *units[LIMIT_BATCH];
    int64_t began = now_us(s);
    size_t n;

    pthread_mutex_lock(&s->lock);
    n = unit_list_take(&s->front, units, LIMIT_BATCH);
    pthread_mutex_unlock(&s->lock);
    n = writer_drop_late(s, units, n);
    if (n)
        sqlite_batch_add(b, units, n);
    return now_us(s) - began;
}

/* Takes as many background units as fit into their remaining time; at least one in each commit. */
static size_t writer_take_back(struct sqlite_store *s, struct unit **units, size_t room,
                               int64_t front_us, int64_t spent_us)
{
    int64_t budget, fit;
    size_t n = 0;

    pthread_mutex_lock(&s->lock);
    budget = s->front.first ? front_us / BACK_SHARE : LIMIT_BACK_US;
    if (budget > LIMIT_BACK_US)
        budget = LIMIT_BACK_US;
    fit = (budget - spent_us) / (s->back_us_each + 1);
    if (!spent_us && fit < 1)
        fit = 1;
    if (fit > LIMIT_BULK)
        fit = LIMIT_BULK;
    if (fit > 0)
        n = unit_list_take_alike(&s->back, &s->back.first, units,
                                 (size_t)fit < room ? (size_t)fit : room);
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void writer_run_back(struct sqlite_store *s, struct sqlite_batch *b, int64_t front_us)
{
    struct unit *units[LIMIT_BULK];
    int64_t began = now_us(s), spent = 0;

    while (!b->failed && !s->db->broken && sqlite_batch_room(b)) {
        size_t n = writer_take_back(s, units, sqlite_batch_room(b), front_us, spent);
        int64_t before = spent;

        if (!n)
            return;
        sqlite_batch_add(b, units, n);
        spent = now_us(s) - began + 1;
        s->back_us_each = (s->back_us_each * 7 + (spent - before) / (int64_t)n) / 8;
    }
}

/* --- after the commit --- */

static void store_measure(struct sqlite_store *s, const struct sqlite_commit *c)
{
    struct metrics *m = s->store.env->metrics;

    if (!m)
        return;
    metrics_count(m, COUNT_COMMITS, c->wrote);
    metrics_count(m, COUNT_UNITS, c->units);
    metrics_count(m, COUNT_STORE_ERRORS, c->errors);
    if (c->wrote)
        metrics_time(m, TIME_COMMIT, c->us);
    metrics_set(m, GAUGE_WAL, (double)sqlite_db_wal_bytes(s->db));
}

static void log_writable(struct sqlite_store *s, bool writable)
{
    struct log *log = s->store.env->log;

    if (log && !writable)
        LOG(log, LOG_ERROR, "store.not_writable", LOG_TEXT("error", str_of(s->db->error)));
    if (log && writable)
        LOG(log, LOG_INFO, "store.writable_again", LOG_TEXT("path", str_of(s->path)));
}

/* A commit without a change proves nothing, so only one that reached the WAL makes the store
 * writable again. */
static void store_committed(void *ctx, const struct sqlite_commit *c)
{
    struct sqlite_store *s = ctx;
    bool was, is;

    pthread_mutex_lock(&s->lock);
    was = s->health.writable;
    is = !c->err && !c->full && (was || c->wrote);
    s->health.writable = is;
    s->health.commits += c->wrote;
    s->health.units += c->units;
    s->health.wal_bytes = sqlite_db_wal_bytes(s->db);
    pthread_mutex_unlock(&s->lock);
    if (was != is)
        log_writable(s, is);
    store_measure(s, c);
}

static void writer_commit(struct sqlite_store *s, struct sqlite_batch *b)
{
    if (sqlite_batch_finish(b) == ERR_UNCERTAIN)
        store_fatal(s, s->db->error[0] ? s->db->error : "the commit's fate is not known");
    checkpointer_report(s->checkpointer, sqlite_db_wal_frames(s->db));
}

static void *writer_thread(void *arg)
{
    struct sqlite_store *s = arg;
    struct sqlite_batch b;

    while (writer_wait(s)) {
        sqlite_batch_init(&b, s->db);
        b.committed = store_committed;
        b.ctx = s;
        writer_run_back(s, &b, writer_run_front(s, &b));
        writer_commit(s, &b);
        writer_rest(s);
    }
    return NULL;
}

/* --- readers --- */

static struct unit *reader_wait(struct sqlite_store *s)
{
    struct unit *u = NULL;

    pthread_mutex_lock(&s->lock);
    while (!s->reads.first && !s->stopping)
        pthread_cond_wait(&s->to_read, &s->lock);
    unit_list_take(&s->reads, &u, 1);
    s->health.units += u != NULL;
    pthread_mutex_unlock(&s->lock);
    return u;
}

struct store_reader {
    struct sqlite_store *s;
    struct sqlite_db *db;
};

static void *reader_thread(void *arg)
{
    struct store_reader r = *(struct store_reader *)arg;
    struct unit *u;

    free(arg);
    while ((u = reader_wait(r.s))) {
        if (unit_expire(u, r.s->store.env))
            continue;
        if (sqlite_db_read(r.db, u))
            store_fatal(r.s, sqlite_db_error(r.db));
        if (r.s->store.env->metrics)
            metrics_count(r.s->store.env->metrics, COUNT_UNITS, 1);
    }
    return NULL;
}

/* --- the store's operations --- */

static void sqlite_post(struct store *store, struct unit *u)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    pthread_mutex_lock(&s->lock);
    switch (u->kind->where) {
    case UNIT_FRONT: unit_list_push(&s->front, u); break;
    case UNIT_BACK: unit_list_push(&s->back, u); break;
    case UNIT_READ: unit_list_push(&s->reads, u); break;
    }
    if (u->kind->where == UNIT_READ)
        pthread_cond_signal(&s->to_read);
    else if (!s->busy)
        pthread_cond_signal(&s->to_write);
    pthread_mutex_unlock(&s->lock);
}

static void sqlite_hint(struct store *store)
{
    (void)store; /* one node owns the file, so there is no other node to wake */
}

static struct store_health sqlite_health(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;
    struct store_health h;

    pthread_mutex_lock(&s->lock);
    h = s->health;
    h.waiting = s->front.count + s->back.count + s->reads.count;
    pthread_mutex_unlock(&s->lock);
    return h;
}

static void stop_threads(struct sqlite_store *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_signal(&s->to_write);
    pthread_cond_broadcast(&s->to_read);
    pthread_mutex_unlock(&s->lock);
    if (s->writer_runs)
        pthread_join(s->writer, NULL);
    for (int i = 0; i < s->reader_count; i++)
        pthread_join(s->readers[i], NULL);
}

/* Also undoes a partial open. The writer's connection is closed last: that empties the WAL. */
static void sqlite_free(struct store *store)
{
    struct sqlite_store *s = (struct sqlite_store *)store;

    stop_threads(s);
    checkpointer_free(s->checkpointer);
    for (int i = 0; i < LIMIT_READERS; i++)
        sqlite_db_abandon(s->reader_dbs[i]);
    sqlite_db_close(s->db);
    sqlite_lock_release(&s->file_lock);
    pthread_cond_destroy(&s->to_write);
    pthread_cond_destroy(&s->to_read);
    pthread_cond_destroy(&s->at_rest);
    pthread_mutex_destroy(&s->lock);
    free(s->path);
    free(s);
}

static const struct store_ops ops = {
    .post = sqlite_post,
    .hint = sqlite_hint,
    .free = sqlite_free,
    .health = sqlite_health,
};

/* --- opening --- */

static enum err thread_failed(struct why *why)
{
    return why_err(why, ERR_UNAVAILABLE, "cannot start a thread");
}

static enum err start_reader(struct sqlite_store *s, int i, struct why *why)
{
    struct sqlite_options o = { .path = s->path, .read_only = true, .cache_kb = READER_CACHE_KB };
    enum err e = sqlite_db_open(&o, s->store.env, &s->reader_dbs[i], why);
    struct store_reader *r;

    if (e)
        return e;
    r = malloc(sizeof(*r));
    if (!r)
        return thread_failed(why);
    *r = (struct store_reader){ s, s->reader_dbs[i] };
    if (!thread_start_nth(&s->readers[i], "reader", i, reader_thread, r)) {
        free(r);
        return thread_failed(why);
    }
    s->reader_count++;
    return OK;
}

static enum err start_threads(struct sqlite_store *s, struct why *why)
{
    struct checkpoint_options c = { .path = s->path,
                                    .hold = writer_hold,
                                    .resume = writer_resume,
                                    .fatal = store_fatal,
                                    .ctx = s };
    int readers = s->store.options.connections;
    enum err e = checkpointer_new(&c, s->store.env, &s->checkpointer, why);

    if (readers <= 0)
        readers = DEFAULT_READERS;
    for (int i = 0; i < readers && i < LIMIT_READERS && !e; i++)
        e = start_reader(s, i, why);
    if (e)
        return e;
    if (!thread_start(&s->writer, "store", writer_thread, s))
        return thread_failed(why);
    s->writer_runs = true;
    return OK;
}

/* SQLite gives new files the lock file's mode, 0600; older database files are set to it. */
static enum err open_file(struct sqlite_store *s, struct why *why)
{
    struct sqlite_options o = { .path = s->path, .sandbox = s->store.options.sandbox };
    struct stat st;
    enum err e = sqlite_lock_take(&s->file_lock, s->path, s->store.options.owner, why);

    if (e)
        return e;
    o.mode_of = s->file_lock.path;
    if (!stat(s->path, &st) && S_ISREG(st.st_mode) && (st.st_mode & 077))
        chmod(s->path, 0600);
    e = sqlite_db_open(&o, s->store.env, &s->db, why);
    return e ? e : sqlite_db_migrate(s->db, why);
}

static struct sqlite_store *store_make(const struct store_options *o, struct env *env)
{
    struct str path = o->url;
    struct sqlite_store *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    str_cut(&path, ':');
    s->path = strndup(path.p, path.n);
    if (!s->path) {
        free(s);
        return NULL;
    }
    s->store = (struct store){ .ops = &ops, .env = env, .options = *o };
    s->file_lock.fd = -1;
    s->health.writable = true;
    unit_list_init(&s->front);
    unit_list_init(&s->back);
    unit_list_init(&s->reads);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->to_write, NULL);
    pthread_cond_init(&s->to_read, NULL);
    pthread_cond_init(&s->at_rest, NULL);
    return s;
}

enum err sqlite_store_open(const struct store_options *o, struct env *env, struct store **ret_store,
                           struct why *why)
{
    struct sqlite_store *s = store_make(o, env);
    enum err e = OK;

    if (!s)
        return why_err(why, ERR_NO_MEMORY, "out of memory");
    if (!*s->path) {
        why_set(why, "ICHIDO_DB names no file: write sqlite:data/ichido.db");
        e = ERR_VALIDATION;
    }
    if (!e)
        e = open_file(s, why);
    if (!e)
        e = start_threads(s, why);
    if (e) {
        sqlite_free(&s->store);
        return e;
    }
    *ret_store = &s->store;
    return OK;
}
