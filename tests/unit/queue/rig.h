/* rig.h - what the tests of queue, flow and webhook share: an executor that the test thread drains,
 * with timers by a clock that the test moves; a store of its own on SQLite, or on PostgreSQL where
 * TEST_POSTGRES is set; and plain SQL to look at what is in it. */
#pragma once

#include "base/env.h"
#include "base/limits.h"
#include "base/why.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "queue/runner.h"
#include "unit/cm.h"
#include "unit/desk.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

/* --- time: one clock for all nodes of a test --- */

static _Atomic int64_t rig_now_ms;

static inline int64_t rig_wall_ms(const struct clock *c)
{
    (void)c;
    return atomic_load(&rig_now_ms);
}

static inline int64_t rig_mono_us(const struct clock *c)
{
    (void)c;
    return atomic_load(&rig_now_ms) * 1000;
}

/* --- an executor --- */

enum { DEN_TIMERS = 8, RIG_NODES = 2 };

struct den {
    struct desk desk;
    struct timer *timers[DEN_TIMERS]; /* armed */
};

static inline void den_arm(struct executor *h, struct timer *t, int64_t due_ms)
{
    struct den *d = CONTAINER_OF(h, struct den, desk.executor);
    struct timer **place = NULL;

    for (int i = 0; i < DEN_TIMERS; i++)
        if (d->timers[i] == t || (!place && !d->timers[i]))
            place = &d->timers[i];
    for (int i = 0; i < DEN_TIMERS; i++)
        if (d->timers[i] == t)
            place = &d->timers[i];
    assert_non_null(place);
    t->due_ms = due_ms;
    *place = due_ms == CLOCK_NEVER ? NULL : t;
}

static inline void den_init(struct den *d)
{
    static const struct executor_ops ops = { desk_give, den_arm };

    *d = (struct den){ 0 };
    desk_init_as(&d->desk, &ops);
}

/* Fires the timers that are due; true: there was one. */
static inline bool den_fire(struct den *d)
{
    bool fired = false;

    for (int i = 0; i < DEN_TIMERS; i++) {
        struct timer *t = d->timers[i];

        if (!t || t->due_ms > atomic_load(&rig_now_ms))
            continue;
        d->timers[i] = NULL;
        t->due_ms = CLOCK_NEVER;
        t->fire(t);
        fired = true;
    }
    return fired;
}

static inline int64_t den_next_timer(struct den *d)
{
    int64_t due = CLOCK_NEVER;

    for (int i = 0; i < DEN_TIMERS; i++)
        if (d->timers[i] && d->timers[i]->due_ms < due)
            due = d->timers[i]->due_ms;
    return due;
}

/* --- a node, or two, on one database --- */

struct rig {
    struct env env[RIG_NODES];
    /* The store's own: PostgreSQL's driver measures the real clock, and the test's stands still. */
    struct env store_env[RIG_NODES];
    struct store *store[RIG_NODES]; /* SQLite: the same one */
    struct queue *queue[RIG_NODES];
    struct den den;
    bool postgres;
    char dir[64], file[128], url[256];
    int log_fd;
    int asked;          /* by the test, and not yet back */
    PGconn *outside_pg; /* the test's own connection, once it asked: one of the two */
    sqlite3 *outside_file;
};

/* How far the limits of waiting for the database are stretched: a busy machine is no failure. */
static int rig_patience = 1;

static inline void rig_env(struct rig *r, struct env *env)
{
    memset(env, 0, sizeof(*env));
    clock_init(&env->clock);
    env->clock.wall_ms = rig_wall_ms;
    env->clock.mono_us = rig_mono_us;
    rng_init_kernel(&env->rng);
    env->node = env_uuid(env);
    env->log = log_new(&env->clock, r->log_fd, LOG_DEBUG, false);
    env->metrics = metrics_new();
    env->patience = rig_patience;
}

static inline struct store *rig_store_at(const char *url, struct env *env)
{
    struct store_options o = { .url = str_of(url), .owner = S("a test") };
    struct store *s = NULL;
    struct why why = { 0 };

    if (store_open(&o, env, &s, &why))
        fail_msg("%s: %s", url, why.text);
    return s;
}

static inline struct store *rig_store(struct rig *r, struct env *env)
{
    return rig_store_at(r->url, env);
}

/* --- a database with its tables: made once for a lane of tests/each, and copied --- */

static inline void rig_migrate(const char *url)
{
    struct rig quiet = { .log_fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
    struct env env;

    rig_env(&quiet, &env);
    clock_init(&env.clock);
    store_free(rig_store_at(url, &env));
    log_free(env.log);
    metrics_free(env.metrics);
    close(quiet.log_fd);
}

static inline void rig_url(char url[256], const char *database)
{
    const char *base = getenv("TEST_POSTGRES");

    snprintf(url, 256, "%.*s/%s", (int)(strrchr(base, '/') - base), base, database);
}

static inline void rig_pg(PGconn *c, const char *sql)
{
    PGresult *result = PQexec(c, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(c));
    PQclear(result);
}

static inline void rig_create_database(struct rig *r)
{
    static int number;
    PGconn *c = PQconnectdb(getenv("TEST_POSTGRES"));
    PGresult *template = PQexec(c, "SELECT 1 FROM pg_database WHERE datname = 'rig_template'");
    char name[64], sql[128];

    if (!PQntuples(template)) {
        rig_pg(c, "CREATE DATABASE rig_new");
        rig_url(r->url, "rig_new");
        rig_migrate(r->url);
        rig_pg(c, "ALTER DATABASE rig_new RENAME TO rig_template");
    }
    PQclear(template);
    snprintf(name, sizeof(name), "unit_%d_%d", (int)getpid(), number++);
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s TEMPLATE rig_template", name);
    rig_pg(c, sql);
    PQfinish(c);
    rig_url(r->url, name);
}

static inline void rig_copy(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    while (sendfile(out, in, NULL, 1 << 30) > 0)
        ;
    close(in);
    close(out);
}

/* Without a lane the store makes its tables itself. */
static inline void rig_create_file(struct rig *r)
{
    const char *lane = getenv("TEST_POSTGRES_DIR");
    char template[128], new[160], url[256];

    if (!lane)
        return;
    snprintf(template, sizeof(template), "%s/tmp/rig_template.db", lane);
    if (access(template, R_OK)) {
        snprintf(new, sizeof(new), "%s.new", template);
        snprintf(url, sizeof(url), "sqlite:%s", new);
        rig_migrate(url);
        assert_int_equal(rename(new, template), 0);
    }
    rig_copy(template, r->file);
}

static inline void rig_init(struct rig *r, bool postgres)
{
    memset(r, 0, sizeof(*r));
    atomic_store(&rig_now_ms, INT64_C(1760000000000));
    r->postgres = postgres;
    den_init(&r->den);
    snprintf(r->dir, sizeof(r->dir), "%s/ichido-queue.XXXXXX", getenv("TMPDIR") ?: "/tmp");
    assert_non_null(mkdtemp(r->dir));
    snprintf(r->file, sizeof(r->file), "%s/log", r->dir);
    r->log_fd = open(r->file, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    snprintf(r->file, sizeof(r->file), "%s/ichido.db", r->dir);
    snprintf(r->url, sizeof(r->url), "sqlite:%s", r->file);
    if (postgres)
        rig_create_database(r);
    else
        rig_create_file(r);
    for (int i = 0; i < RIG_NODES; i++) {
        rig_env(r, &r->env[i]);
        r->store_env[i] = r->env[i];
        clock_init(&r->store_env[i].clock);
        r->store[i] = i && !postgres ? r->store[0] : rig_store(r, &r->store_env[i]);
    }
}

static inline void rig_queue(struct rig *r, int node, struct queue_options o)
{
    o.store = r->store[node];
    o.executor = &r->den.desk.executor;
    o.env = &r->env[node];
    r->queue[node] = queue_new_runner(&o);
    assert_non_null(r->queue[node]);
}

static inline bool queue_is_busy(const struct queue *q)
{
    return q && (q->posted || q->fetching || q->renewal || q->starting || q->counting);
}

/* Until nothing is under way and nothing is due at this moment. */
static inline void rig_settle(struct rig *r)
{
    for (;;) {
        if (!desk_is_empty(&r->den.desk) || queue_is_busy(r->queue[0]) ||
            queue_is_busy(r->queue[1]) || r->asked)
            desk_next(&r->den.desk);
        else if (!den_fire(&r->den))
            return;
    }
}

static inline void rig_at(struct rig *r, int64_t ms) /* moves time as if all were asleep */
{
    atomic_store(&rig_now_ms, ms);
    rig_settle(r);
}

static inline void rig_pass(struct rig *r, int64_t ms)
{
    rig_at(r, atomic_load(&rig_now_ms) + ms);
}

static inline void rig_note_stopped(void *ctx)
{
    *(bool *)ctx = true;
}

static inline void rig_stop(struct rig *r, int node)
{
    bool stopped = false;

    queue_stop(r->queue[node], rig_note_stopped, &stopped);
    while (!stopped)
        desk_next(&r->den.desk);
}

/* As a crash would: what it held stays leased. */
static inline void rig_kill(struct rig *r, int node)
{
    rig_settle(r);
    rig_stop(r, node);
    queue_free(r->queue[node]);
    r->queue[node] = NULL;
}

static inline void rig_release(struct rig *r)
{
    char command[128];

    PQfinish(r->outside_pg);
    sqlite3_close(r->outside_file);
    for (int i = 0; i < RIG_NODES; i++)
        if (r->queue[i])
            rig_stop(r, i);
    for (int i = 0; i < RIG_NODES; i++)
        if (!i || r->store[i] != r->store[0])
            store_free(r->store[i]);
    for (int i = 0; i < RIG_NODES; i++) {
        queue_free(r->queue[i]);
        log_free(r->env[i].log);
        metrics_free(r->env[i].metrics);
    }
    close(r->log_fd);
    snprintf(command, sizeof(command), "rm -rf %s", r->dir);
    assert_int_equal(system(command), 0);
}

/* --- plain SQL, beside the store --- */

static inline void sql_sqlite(struct rig *r, const char *sql, char *text, size_t size)
{
    sqlite3_stmt *s = NULL;

    if (!r->outside_file) {
        assert_int_equal(sqlite3_open_v2(r->file, &r->outside_file, SQLITE_OPEN_READWRITE, NULL),
                         SQLITE_OK);
        sqlite3_busy_timeout(r->outside_file, 5000);
    }
    if (sqlite3_prepare_v2(r->outside_file, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(r->outside_file));
    if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0))
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
}

static inline void sql_postgres(struct rig *r, const char *sql, char *text, size_t size)
{
    PGresult *answer;

    if (!r->outside_pg)
        r->outside_pg = PQconnectdb(r->url);
    answer = PQexec(r->outside_pg, sql);
    if (PQresultStatus(answer) != PGRES_TUPLES_OK && PQresultStatus(answer) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQresultErrorMessage(answer));
    if (PQntuples(answer))
        snprintf(text, size, "%s", PQgetvalue(answer, 0, 0));
    PQclear(answer);
}

static inline void sql_text(struct rig *r, const char *sql, char *text, size_t size)
{
    text[0] = '\0';
    if (r->postgres)
        sql_postgres(r, sql, text, size);
    else
        sql_sqlite(r, sql, text, size);
}

static inline int64_t sql_int(struct rig *r, const char *sql)
{
    char text[64];

    sql_text(r, sql, text, sizeof(text));
    return text[0] ? strtoll(text, NULL, 10) : -1;
}

/* --- a unit of the test's own --- */

struct asked {
    struct unit unit;
    struct rig *rig;
    enum err (*run)(struct tx *tx, void *ctx);
    void *ctx;
    bool back;
};

static inline enum err asked_run(struct tx *tx, struct unit *u)
{
    struct asked *a = CONTAINER_OF(u, struct asked, unit);

    return a->run(tx, a->ctx);
}

static inline void asked_done(struct unit *u)
{
    struct asked *a = CONTAINER_OF(u, struct asked, unit);

    a->back = true;
    a->rig->asked--;
}

/* Runs it in a unit of node's store and waits for the verdict; what else comes back is run too. */
static inline enum err rig_do(struct rig *r, int node, enum err (*run)(struct tx *, void *),
                              void *ctx)
{
    static const struct unit_kind kind = { "test.do", UNIT_FRONT, asked_run, NULL };
    struct asked a = { .rig = r, .run = run, .ctx = ctx };

    a.unit = (struct unit){ .kind = &kind, .executor = &r->den.desk.executor, .done = asked_done };
    r->asked++;
    store_post(r->store[node], &a.unit);
    while (!a.back)
        desk_next(&r->den.desk);
    return a.unit.err;
}

/* --- the same tests on both databases --- */

static inline int setup_sqlite(void **state)
{
    struct rig *r = malloc(sizeof(*r));

    rig_init(r, false);
    *state = r;
    return 0;
}

static inline int setup_postgres(void **state)
{
    struct rig *r = malloc(sizeof(*r));

    rig_init(r, true);
    *state = r;
    return 0;
}

static inline int teardown(void **state)
{
    rig_release(*state);
    free(*state);
    return 0;
}

#define ON_SQLITE(f) cmocka_unit_test_setup_teardown(f, setup_sqlite, teardown)
#define ON_POSTGRES(f)                                                                             \
    {                                                                                              \
#f " (PostgreSQL)", f, setup_postgres, teardown, NULL                                      \
    }

/* Runs the first list, and the second where there is a PostgreSQL. */
#define RUN_BOTH(sqlite, postgres)                                                                 \
    (cmocka_run_group_tests(sqlite, NULL, NULL) +                                                  \
     (getenv("TEST_POSTGRES") ? cmocka_run_group_tests(postgres, NULL, NULL) : 0))
