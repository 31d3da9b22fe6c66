/* store.c - the pool: workers with a thread and a connection each, and the units that wait.
 *
 *   postgres_store_post() -> front (and reads), back
 *   --> a worker: one unit or one bulk, one transaction --> executor
 *
 *   (1) Foreground units go first; every fourth pick looks at the background first, so neither
 *       starves.
 *   (2) While one worker runs a bulk, the next bulk of that kind grows. Another worker takes it only
 *       when it is half full, and at most half of the workers run one kind.
 *   (3) A worker without a connection keeps trying, at growing intervals. While no worker has one,
 *       units that waited LIMIT_STORE_WAIT_MS end with UNAVAILABLE. The pool never gives up.
 *   (4) A worker with nothing to do sleeps and sends the server nothing.
 *
 * One lock guards the lists. It is never held while SQL runs or a unit is returned. A crash loses
 * the lists: no waiting unit had begun, and no verdict was returned. */
#include "base/thread.h"
#include "observe/log.h"
#include "store/postgres/listen.h"
#include "store/postgres/server.h"
#include "store/postgres/worker.h"
#include "store/unit_list.h"

#include <assert.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_WORKERS = 4, BACK_SHARE = 4 };

struct pg_store {
    struct store base;
    struct pg_shared shared;
    struct pg_listener *listener;
    struct pg_worker *workers;
    int worker_count, started;

    pthread_mutex_t lock;
    pthread_cond_t work;    /* workers with a connection wait here */
    pthread_cond_t connect; /* workers without one wait here */
    struct unit_list front, back;
    unsigned picks;
    int idle;
    bool connecting; /* one worker is trying to connect; the others return late units */
    bool complained;
    bool stopping;
};

static struct pg_store *pg_store_of(struct store *s)
{
    return (struct pg_store *)(void *)s;
}

static int store_waiting(const struct pg_store *s)
{
    return s->front.count + s->back.count;
}

/* --- picking; the lock is held --- */

/* A second bulk of one kind runs only if it is at least half full: a small one costs the server about
 * as much as a full one. */
static bool has_room(const struct pg_store *s, const struct unit_list *l,
                     const struct unit_kind *kind)
{
    int running = 0;

    if (!kind->run_many)
        return true;
    for (int i = 0; i < s->worker_count; i++)
        running += s->workers[i].kind == kind;
    return !running || (running < s->worker_count / 2 && l->count >= LIMIT_BULK / 2);
}

/* The link to the first unit that may run now; NULL: none. */
static struct unit **find_runnable(const struct pg_store *s, struct unit_list *l)
{
    const struct unit_kind *no_room =
        NULL; /* remembering one is enough: there are few bulk kinds */
    int looked = 0;

    for (struct unit **at = &l->first; *at && looked < UNIT_LIST_LOOK_AHEAD;
         at = &(*at)->next, looked++) {
        if ((*at)->kind == no_room)
            continue;
        if (has_room(s, l, (*at)->kind))
            return at;
        no_room = (*at)->kind;
    }
    return NULL;
}

static size_t take_next(struct pg_store *s, struct unit **units)
{
    bool back_first = s->picks % BACK_SHARE == BACK_SHARE - 1;
    struct unit_list *l = back_first ? &s->back : &s->front;
    struct unit **at = find_runnable(s, l);

    if (!at) {
        l = back_first ? &s->front : &s->back;
        at = find_runnable(s, l);
    }
    if (!at)
        return 0;
    s->picks++;
    return unit_list_take_alike(l, at, units, LIMIT_BULK);
}

static void wake_another(struct pg_store *s)
{
    if (s->idle && (find_runnable(s, &s->front) || find_runnable(s, &s->back)))
        pthread_cond_signal(&s->work);
}

/* A worker with trouble gives up its kind, so that another worker runs the waiting units of it. */
static void stand_aside(struct pg_worker *w)
{
    struct pg_store *s = w->store;

    pthread_mutex_lock(&s->lock);
    w->kind = NULL;
    wake_another(s);
    if (!atomic_load(&s->shared.connected))
        pthread_cond_signal(&s->connect);
    pthread_mutex_unlock(&s->lock);
}

/* Sleeps until a unit may run; 0: the store is stopping and no unit is left. */
static size_t pick_units(struct pg_worker *w, struct unit **units)
{
    struct pg_store *s = w->store;
    size_t n;

    pthread_mutex_lock(&s->lock);
    w->kind = NULL;
    while (!(n = take_next(s, units)) && !(s->stopping && !store_waiting(s))) {
        s->idle++;
        pthread_cond_wait(&s->work, &s->lock);
        s->idle--;
    }
    if (n) {
        w->kind = units[0]->kind;
        wake_another(s);
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* Returns foreground units that waited too long; the result is how many are left. */
static size_t drop_late_units(struct pg_worker *w, struct unit **units, size_t n)
{
    size_t left = 0;

    if (n && units[0]->kind->where == UNIT_BACK)
        return n;
    for (size_t i = 0; i < n; i++)
        if (!unit_expire(units[i], w->shared->env))
            units[left++] = units[i];
    return left;
}

/* --- workers without a connection --- */

static int64_t now_ms(const struct pg_store *s)
{
    return clock_mono_ms(&s->base.env->clock);
}

static struct unit *take_late_unit(struct pg_store *s, struct unit_list *l)
{
    bool late = l->first && (s->stopping || now_ms(s) - l->first->posted_ms > LIMIT_STORE_WAIT_MS);
    struct unit *u = NULL;

    if (late)
        unit_list_take(l, &u, 1);
    return u;
}

/* The lock is held on entry and exit, and released while a unit is returned. */
static void return_late(struct pg_store *s)
{
    struct unit *u;

    if (atomic_load(&s->shared.connected))
        return;
    while ((u = take_late_unit(s, &s->front)) || (u = take_late_unit(s, &s->back))) {
        pthread_mutex_unlock(&s->lock);
        unit_complete(u, ERR_UNAVAILABLE);
        pthread_mutex_lock(&s->lock);
    }
}

static int64_t first_late_at(const struct unit_list *l)
{
    return l->first ? l->first->posted_ms + LIMIT_STORE_WAIT_MS + 1 : CLOCK_NEVER;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Waits until the next attempt to connect, or until a unit has waited too long. */
static void wait_to_connect(struct pg_store *s, const struct pg_worker *w)
{
    int64_t until = s->connecting ? CLOCK_NEVER : w->retry_ms;
    struct timespec t;

    if (!atomic_load(&s->shared.connected))
        until = earlier(until, earlier(first_late_at(&s->front), first_late_at(&s->back)));
    if (until == CLOCK_NEVER) {
        pthread_cond_wait(&s->connect, &s->lock);
        return;
    }
    t = (struct timespec){ .tv_sec = until / 1000, .tv_nsec = until % 1000 * 1000000 };
    pthread_cond_timedwait(&s->connect, &s->lock, &t);
}

static void log_lost(struct pg_store *s, const struct pg_worker *w)
{
    if (!s->complained && s->base.env->log)
        LOG(s->base.env->log, LOG_ERROR, "store.lost", LOG_TEXT("why", str_of(w->conn.why)));
    s->complained = true;
}

static void log_back(struct pg_store *s)
{
    if (s->complained && s->base.env->log)
        LOG(s->base.env->log, LOG_INFO, "store.back", LOG_NUM("waiting", store_waiting(s)));
    s->complained = false;
}

/* The lock is held on entry and exit, and released during the attempt. */
static void try_to_connect(struct pg_store *s, struct pg_worker *w)
{
    enum err e;

    s->connecting = true;
    pthread_mutex_unlock(&s->lock);
    e = pg_worker_connect(w);
    pthread_mutex_lock(&s->lock);
    s->connecting = false;
    if (!e) {
        w->delay_ms = LIMIT_DB_RETRY_FIRST_MS;
        log_back(s);
    } else {
        log_lost(s, w);
        w->retry_ms = now_ms(s) + w->delay_ms;
        w->delay_ms = earlier(w->delay_ms * 2, LIMIT_DB_RETRY_MOST_MS);
    }
    pthread_cond_broadcast(&s->connect); /* the next worker may try */
}

/* False: the store is stopping, and this worker has no connection to help with. */
static bool get_connection(struct pg_worker *w)
{
    struct pg_store *s = w->store;

    if (w->conn.db)
        return true;
    pthread_mutex_lock(&s->lock);
    w->kind = NULL;
    wake_another(s);
    while (!w->conn.db && !s->stopping) {
        return_late(s);
        if (!s->connecting && now_ms(s) >= w->retry_ms)
            try_to_connect(s, w);
        else
            wait_to_connect(s, w);
    }
    if (!w->conn.db)
        return_late(s); /* stopping: no other worker may be left to return them */
    pthread_mutex_unlock(&s->lock);
    return w->conn.db != NULL;
}

/* --- threads --- */

static void *worker_thread(void *arg)
{
    struct pg_worker *w = arg;
    struct pg_store *s = w->store;
    struct unit *units[LIMIT_BULK];
    size_t n;

    while (get_connection(w) && (n = pick_units(w, units))) {
        n = drop_late_units(w, units, n);
        if (n)
            pg_worker_run(w, units, n);
    }
    pg_worker_release(w);
    pthread_mutex_lock(&s->lock);
    w->kind = NULL;
    return_late(s); /* the last worker to end returns what is left */
    pthread_cond_broadcast(&s->work);
    pthread_cond_broadcast(&s->connect);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static bool start_workers(struct pg_store *s)
{
    while (s->started < s->worker_count) {
        struct pg_worker *w = &s->workers[s->started];

        if (!thread_start_nth(&w->thread, "store", s->started, worker_thread, w))
            return false;
        s->started++;
    }
    return true;
}

/* --- the store's operations --- */

static void postgres_store_post(struct store *base, struct unit *u)
{
    struct pg_store *s = pg_store_of(base);
    struct unit_list *l = u->kind->where == UNIT_BACK ? &s->back : &s->front;

    pthread_mutex_lock(&s->lock);
    unit_list_push(l, u);
    if (s->idle && has_room(s, l, u->kind))
        pthread_cond_signal(&s->work);
    if (!atomic_load(&s->shared.connected))
        pthread_cond_signal(&s->connect); /* the unit must be returned in time */
    pthread_mutex_unlock(&s->lock);
}

static void postgres_store_hint(struct store *base)
{
    struct pg_store *s = pg_store_of(base);

    if (s->listener)
        pg_listener_notify(s->listener);
}

static struct store_health postgres_store_health(struct store *base)
{
    struct pg_store *s = pg_store_of(base);
    struct store_health h = { .many_nodes = true };

    h.writable = atomic_load(&s->shared.connected) > 0 && !atomic_load(&s->shared.full) &&
                 !atomic_load(&s->shared.unsafe);
    h.commits = atomic_load(&s->shared.commits);
    h.units = atomic_load(&s->shared.units);
    pthread_mutex_lock(&s->lock);
    h.waiting = store_waiting(s);
    pthread_mutex_unlock(&s->lock);
    return h;
}

static void stop_workers(struct pg_store *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->work);
    pthread_cond_broadcast(&s->connect);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < s->started; i++)
        pthread_join(s->workers[i].thread, NULL);
    for (int i = s->started; i < s->worker_count; i++)
        pg_worker_release(&s->workers[i]);
}

static void free_store(struct store *base)
{
    struct pg_store *s = pg_store_of(base);

    stop_workers(s);
    assert(!store_waiting(s));
    pg_listener_free(s->listener);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->connect);
    pthread_mutex_destroy(&s->lock);
    free(s->workers);
    free(s->shared.url);
    free(s);
}

static const struct store_ops ops = {
    .post = postgres_store_post,
    .hint = postgres_store_hint,
    .free = free_store,
    .health = postgres_store_health,
};

/* --- opening --- */

static void init_locks(struct pg_store *s)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->connect, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static struct pg_store *new_store(const struct store_options *o, struct env *env)
{
    int count = o->connections > 0 ? o->connections : DEFAULT_WORKERS;
    struct pg_store *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->base = (struct store){ .ops = &ops, .env = env, .options = *o };
    s->shared.env = env;
    s->shared.stand_aside = stand_aside;
    s->shared.url = strndup(o->url.p, o->url.n);
    s->worker_count = count < LIMIT_DB_CONNECTIONS ? count : LIMIT_DB_CONNECTIONS;
    s->workers = calloc((size_t)s->worker_count, sizeof(*s->workers));
    unit_list_init(&s->front);
    unit_list_init(&s->back);
    init_locks(s);
    if (!s->workers || !s->shared.url) {
        s->worker_count = 0;
        free_store(&s->base);
        return NULL;
    }
    for (int i = 0; i < s->worker_count; i++) {
        pg_worker_init(&s->workers[i], &s->shared);
        s->workers[i].store = s;
    }
    return s;
}

/* Waits up to LIMIT_DB_OPEN_MS for a database that is just starting. */
static enum err first_connection(struct pg_store *s, struct why *why)
{
    struct pg_worker *w = &s->workers[0];
    int64_t until_ms = now_ms(s) + LIMIT_DB_OPEN_MS;
    enum err e = pg_url_is_readable(&w->conn) ? OK : ERR_VALIDATION;

    while (!e) {
        e = pg_worker_connect(w);
        if (e != ERR_UNAVAILABLE || now_ms(s) >= until_ms)
            break;
        e = OK;
        poll(NULL, 0, (int)w->delay_ms);
        w->delay_ms = earlier(w->delay_ms * 2, LIMIT_DB_RETRY_MOST_MS / 4);
    }
    w->delay_ms = LIMIT_DB_RETRY_FIRST_MS;
    if (e)
        why_set(why, "%s", w->conn.why);
    return e;
}

enum err postgres_store_open(const struct store_options *o, struct env *env,
                             struct store **ret_store, struct why *why)
{
    struct pg_store *s = new_store(o, env);
    enum err e;

    why_set(why, "out of memory");
    if (!s)
        return ERR_NO_MEMORY;
    e = first_connection(s, why);
    if (!e)
        e = pg_migrate(&s->workers[0].conn, why);
    if (!e)
        s->listener = pg_listener_new(env, s->shared.url, &s->shared.unnamed, &s->base.options);
    if (!e && (!s->listener || !start_workers(s)))
        e = ERR_NO_MEMORY;
    if (e) {
        free_store(&s->base);
        return e;
    }
    *ret_store = &s->base;
    return OK;
}
