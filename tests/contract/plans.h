/* plans.h - how a database would run our statements: it is asked itself, with the tables empty and
 * full, since plans are kept. PostgreSQL gets a schema of its own for each test program. */
#pragma once

#include "store/driver.h"
#include "unit/cm.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAN_TEXT = 8192, FILL_TEXT = 2048, STEP_TEXT = 300, ROWS = 20000 };

/* --- SQLite --- */

static inline void sqlite_must(sqlite3 *db, const char *sql)
{
    char *why = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

static inline sqlite3 *empty_sqlite(void)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (const struct migration *m = sqlite_migrations; m->number; m++)
        sqlite_must(db, m->sql);
    return db;
}

/* All steps of the plan, a line each. */
static inline void sqlite_plan(sqlite3 *db, enum stmt stmt, char ret_plan[PLAN_TEXT])
{
    char sql[PLAN_TEXT];
    sqlite3_stmt *s;

    snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", stmt_sqlite(stmt));
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", stmt_name(stmt), sqlite3_errmsg(db));
    ret_plan[0] = '\0';
    while (sqlite3_step(s) == SQLITE_ROW && strlen(ret_plan) + STEP_TEXT < PLAN_TEXT)
        strcat(strcat(ret_plan, (const char *)sqlite3_column_text(s, 3)), "\n");
    sqlite3_finalize(s);
}

/* "SCAN x" without an index means: every row. A scan of an index in its order, ended by LIMIT, and
 * scans of what is no table are fine; `but` begins one of those, NULL: there is none. */
static inline bool walks_a_table(const char *plan, const char *but)
{
    for (const char *p = plan; (p = strstr(p, "SCAN ")); p += 5) {
        char step[STEP_TEXT];

        snprintf(step, sizeof(step), "%.*s", (int)strcspn(p, "\n"), p);
        if (!strstr(step, "USING") && !strstr(step, "CONSTANT") && !(but && strstr(step, but)))
            return true;
    }
    return false;
}

/* --- PostgreSQL --- */

static inline void pg_must(PGconn *c, const char *sql)
{
    PGresult *r = PQexec(c, sql);
    ExecStatusType status = PQresultStatus(r);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK &&
        status != PGRES_EMPTY_QUERY) /* a migration may have nothing to do here */
        fail_msg("%s: %s", sql, PQerrorMessage(c));
    PQclear(r);
}

/* Plans are kept: a generic one is asked for. Skips the test where there is no PostgreSQL. */
static inline PGconn *empty_postgres(const char *schema)
{
    const char *url = getenv("TEST_POSTGRES");
    char sql[512];
    PGconn *c;

    if (!url)
        skip();
    c = PQconnectdb(url);
    assert_int_equal(PQstatus(c), CONNECTION_OK);
    snprintf(sql, sizeof(sql),
             "SET client_min_messages = error; DROP SCHEMA IF EXISTS %1$s CASCADE;"
             " CREATE SCHEMA %1$s; SET search_path = %1$s;"
             " SET plan_cache_mode = force_generic_plan",
             schema);
    pg_must(c, sql);
    for (const struct migration *m = postgres_migrations; m->number; m++)
        pg_must(c, m->sql);
    return c;
}

static inline void drop_postgres(PGconn *c, const char *schema)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "DROP SCHEMA %s CASCADE", schema);
    pg_must(c, sql);
    PQfinish(c);
}

/* EXPLAIN EXECUTE with NULL for every parameter: the generic plan does not look at them. */
static inline void pg_plan(PGconn *c, enum stmt stmt, char ret_plan[PLAN_TEXT])
{
    char sql[4096] = "EXPLAIN EXECUTE s";
    PGresult *r = PQprepare(c, "s", stmt_postgres(stmt), 0, NULL);

    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", stmt_name(stmt), PQerrorMessage(c));
    PQclear(r);
    r = PQdescribePrepared(c, "s");
    for (int i = 0; i < PQnparams(r); i++)
        strcat(sql, i ? ", NULL" : " (NULL");
    if (PQnparams(r))
        strcat(sql, ")");
    PQclear(r);
    r = PQexec(c, sql);
    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(c));
    ret_plan[0] = '\0';
    for (int i = 0; i < PQntuples(r) && strlen(ret_plan) + STEP_TEXT < PLAN_TEXT; i++)
        strcat(strcat(ret_plan, PQgetvalue(r, i, 0)), "\n");
    PQclear(r);
    pg_must(c, "DEALLOCATE s");
}

/* --- full tables --- */

/* In SQL that both understand: n(i) are the numbers, @ is an id of 16 bytes. */
static inline void fill_text(char ret_sql[FILL_TEXT], const char *numbers, const char *fill,
                             const char *id)
{
    size_t n = (size_t)snprintf(ret_sql, FILL_TEXT, "%s", numbers);

    for (; *fill && n + strlen(id) + 1 < FILL_TEXT; fill++)
        n += (size_t)snprintf(ret_sql + n, FILL_TEXT - n, "%.*s", *fill == '@' ? 64 : 1,
                              *fill == '@' ? id : fill);
    assert_true(!*fill);
}

static inline void fill_sqlite(sqlite3 *db, const char *const *fill, size_t count)
{
    char numbers[128], sql[FILL_TEXT];

    snprintf(numbers, sizeof(numbers),
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", ROWS);
    for (size_t i = 0; i < count; i++) {
        fill_text(sql, numbers, fill[i], "randomblob(16)");
        sqlite_must(db, sql);
    }
}

static inline void fill_postgres(PGconn *c, const char *const *fill, size_t count)
{
    char numbers[128], sql[FILL_TEXT];

    snprintf(numbers, sizeof(numbers), "WITH n AS (SELECT generate_series(1, %d) AS i) ", ROWS);
    for (size_t i = 0; i < count; i++) {
        fill_text(sql, numbers, fill[i], "decode(md5(i::text), 'hex')");
        pg_must(c, sql);
    }
}

/* --- rules for many statements --- */

struct plan_rules {
    const char *schema;
    const struct plan_walk {
        enum stmt stmt;
        const char *sqlite, *postgres; /* the index, and on SQLite what is looked up in it */
    } * walks;
    size_t walk_count;
    const enum stmt *lookups; /* by a key: nothing is walked */
    size_t lookup_count;
    const char *const *fill;
    size_t fill_count;
    bool (*bad_walk)(const char *plan), (*bad_lookup)(const char *plan); /* SQLite's */
    const char *never; /* what no walk of PostgreSQL may say; NULL: nothing more */
};

static inline void plans_are_right_on_sqlite(sqlite3 *db, const struct plan_rules *r)
{
    char plan[PLAN_TEXT];

    for (size_t i = 0; i < r->walk_count; i++) {
        sqlite_plan(db, r->walks[i].stmt, plan);
        if (!strstr(plan, r->walks[i].sqlite) || (r->bad_walk && r->bad_walk(plan)))
            fail_msg("%s:\n%s", stmt_name(r->walks[i].stmt), plan);
    }
    for (size_t i = 0; i < r->lookup_count; i++) {
        sqlite_plan(db, r->lookups[i], plan);
        if (r->bad_lookup(plan))
            fail_msg("%s:\n%s", stmt_name(r->lookups[i]), plan);
    }
}

static inline void plans_hold_on_sqlite(const struct plan_rules *r)
{
    sqlite3 *db = empty_sqlite();

    plans_are_right_on_sqlite(db, r);
    fill_sqlite(db, r->fill, r->fill_count);
    sqlite_must(db, "ANALYZE");
    plans_are_right_on_sqlite(db, r);
    sqlite3_close(db);
}

static inline void plans_are_right_on_postgres(PGconn *c, const struct plan_rules *r,
                                               const char *when)
{
    char plan[PLAN_TEXT];

    for (size_t i = 0; i < r->walk_count; i++) {
        pg_plan(c, r->walks[i].stmt, plan);
        if (!strstr(plan, r->walks[i].postgres) || strstr(plan, "Seq Scan") ||
            strstr(plan, "Sort") || (r->never && strstr(plan, r->never)))
            fail_msg("%s, %s:\n%s", when, stmt_name(r->walks[i].stmt), plan);
    }
    for (size_t i = 0; i < r->lookup_count; i++) {
        pg_plan(c, r->lookups[i], plan);
        if (strstr(plan, "Seq Scan"))
            fail_msg("%s, %s:\n%s", when, stmt_name(r->lookups[i]), plan);
    }
}

/* As every transaction of ours plans (postgres_tx.c). */
static inline void plans_hold_on_postgres(const struct plan_rules *r)
{
    PGconn *c = empty_postgres(r->schema);

    pg_must(c, "SET enable_seqscan = off; SET enable_bitmapscan = off");
    plans_are_right_on_postgres(c, r, "planned while empty");
    fill_postgres(c, r->fill, r->fill_count);
    pg_must(c, "ANALYZE");
    plans_are_right_on_postgres(c, r, "planned while full");
    drop_postgres(c, r->schema);
}
