/* postgres_rig.h - rig.h with a PostgreSQL database of its own for each test, and a hand on the
 * server: TEST_POSTGRES, TEST_POSTGRES_BIN and TEST_POSTGRES_DIR are set by tests/with-postgres. */
#pragma once

#include "unit/store/rig.h"

#include <libpq-fe.h>

struct pg_rig {
    struct rig rig; /* first */
    char name[64];
    PGconn *outside; /* a connection that is not the store's */
};

static inline const char *pg_server(void)
{
    return getenv("TEST_POSTGRES");
}

static inline void pg_url(char url[160], const char *database)
{
    const char *server = pg_server();

    snprintf(url, 160, "%.*s/%s", (int)(strrchr(server, '/') - server), server, database);
}

/* The first value of the answer, as a number. */
static inline int64_t pg_ask_on(PGconn *c, const char *sql)
{
    PGresult *r = PQexec(c, sql);
    int64_t answer = 0;

    if (PQresultStatus(r) != PGRES_TUPLES_OK && PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(c));
    if (PQntuples(r))
        answer = atoll(PQgetvalue(r, 0, 0));
    PQclear(r);
    return answer;
}

static inline int64_t pg_ask_server(const char *sql)
{
    PGconn *c = PQconnectdb(pg_server());
    int64_t answer = pg_ask_on(c, sql);

    PQfinish(c);
    return answer;
}

/* A change of the server's settings reaches new sessions a moment after the call returns, and those
 * that are there with their next statement. */
static inline void pg_set_server(const char *name, const char *value)
{
    char sql[128];
    bool there = false;

    snprintf(sql, sizeof(sql), "ALTER SYSTEM SET %s = '%s'", name, value);
    pg_ask_server(sql);
    pg_ask_server("SELECT pg_reload_conf()");
    snprintf(sql, sizeof(sql), "SELECT (current_setting('%s') = '%s')::int", name, value);
    while (!there)
        there = pg_ask_server(sql) == 1;
}

static inline int64_t pg_ask(struct pg_rig *p, const char *sql)
{
    return pg_ask_on(p->outside, sql);
}

static inline void pg_rig_reconnect(struct pg_rig *p)
{
    PQfinish(p->outside);
    p->outside = PQconnectdb(p->rig.url);
    assert_int_equal(PQstatus(p->outside), CONNECTION_OK);
}

static inline struct pg_rig *pg_rig_new(void)
{
    static int number;
    struct pg_rig *p = calloc(1, sizeof(*p));
    char sql[128];

    atomic_store(&rig_later_us, 0);
    rig_init(&p->rig);
    snprintf(p->name, sizeof(p->name), "unit_%d_%d", (int)getpid(), ++number);
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s TEMPLATE template0", p->name);
    pg_ask_server(sql);
    pg_url(p->rig.url, p->name);
    pg_rig_reconnect(p);
    return p;
}

static inline void pg_rig_free(struct pg_rig *p)
{
    char sql[128];

    rig_release(&p->rig);
    PQfinish(p->outside);
    snprintf(sql, sizeof(sql), "DROP DATABASE %s WITH (FORCE)", p->name);
    pg_ask_server(sql);
    free(p);
}

static inline int pg_setup(void **state)
{
    if (pg_server())
        *state = pg_rig_new();
    return 0;
}

static inline int pg_teardown(void **state)
{
    if (*state)
        pg_rig_free(*state);
    return 0;
}

/* pg_ctl -m immediate: as if the machine had lost power. */
static inline void pg_ctl(const char *action)
{
    const char *bin = getenv("TEST_POSTGRES_BIN"), *dir = getenv("TEST_POSTGRES_DIR");
    char command[512];

    assert_true(bin && dir);
    snprintf(command, sizeof(command),
             "%s%s/pg_ctl -D %s/data -l %s/log -m immediate -w -s %s >/dev/null 2>&1",
             getuid() == 0 ? "runuser -u postgres -- " : "", bin, dir, dir, action);
    assert_int_equal(system(command), 0);
}

#define PG_TEST(f) cmocka_unit_test_setup_teardown(f, pg_setup, pg_teardown)
/* The rig, or a skipped test where no PostgreSQL was given. */
#define PG_RIG(state)                                                                              \
    ({                                                                                             \
        if (!*(state)) {                                                                           \
            print_message("skipped: TEST_POSTGRES is not set (tests/with-postgres sets it)\n");    \
            skip();                                                                                \
        }                                                                                          \
        (struct pg_rig *)*(state);                                                                 \
    })
