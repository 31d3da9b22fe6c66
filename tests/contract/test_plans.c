/* Every statement that runs for each event must find its rows by an index, however many there are
 * (LESSONS 53, 54: fetch indexes that were wrong for years). The tables are filled, then the
 * database itself is asked how it would run each statement. */
#include "store/driver.h"
#include "unit/cm.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 100000 };

static const enum stmt hot[] = {
    STMT_webhook_event_add,   STMT_webhook_event_find, STMT_webhook_duplicate_add,
    STMT_webhook_outcome_add, STMT_message_add,        STMT_message_due,
    STMT_message_take,        STMT_message_renew,      STMT_message_finish,
    STMT_lane_promote,        STMT_message_retry,      STMT_message_bury,
    STMT_message_next_due,
};

static void sqlite_must(sqlite3 *db, const char *sql)
{
    char *why = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

static sqlite3 *filled_sqlite(void)
{
    char fill[512];
    sqlite3 *db;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (const struct migration *m = sqlite_migrations; m->number; m++)
        sqlite_must(db, m->sql);
    snprintf(fill, sizeof(fill),
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             " INSERT INTO message (id, kind, lane, ready, due_at, added_at)"
             " SELECT randomblob(16), 'k', i / 2, i %% 2, i, i FROM n",
             ROWS);
    sqlite_must(db, fill);
    return db;
}

/* "SCAN x" without an index means: every row. A scan of an index in its order, ended by LIMIT, and
 * scans of what is no table are fine. */
static bool walks_a_table(const char *step)
{
    return strncmp(step, "SCAN ", 5) == 0 && !strstr(step, "USING") && !strstr(step, "CONSTANT");
}

static void no_hot_statement_walks_a_table_on_sqlite(void **state)
{
    sqlite3 *db = filled_sqlite();

    (void)state;
    for (size_t i = 0; i < COUNT(hot); i++) {
        char sql[4096];
        sqlite3_stmt *s;

        snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", stmt_sqlite(hot[i]));
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
        while (sqlite3_step(s) == SQLITE_ROW)
            if (walks_a_table((const char *)sqlite3_column_text(s, 3)))
                fail_msg("%s: %s", stmt_name(hot[i]), sqlite3_column_text(s, 3));
        sqlite3_finalize(s);
    }
    sqlite3_close(db);
}

static void pg_must(PGconn *c, const char *sql)
{
    PGresult *r = PQexec(c, sql);
    ExecStatusType status = PQresultStatus(r);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(c));
    PQclear(r);
}

static PGconn *empty_postgres(const char *url)
{
    PGconn *c = PQconnectdb(url);

    assert_int_equal(PQstatus(c), CONNECTION_OK);
    pg_must(c, "SET client_min_messages = error; DROP SCHEMA IF EXISTS plans CASCADE;"
               " CREATE SCHEMA plans; SET search_path = plans;"
               " SET plan_cache_mode = force_generic_plan");
    for (const struct migration *m = postgres_migrations; m->number; m++)
        pg_must(c, m->sql);
    return c;
}

static void fill_postgres(PGconn *c)
{
    char fill[512];

    snprintf(fill, sizeof(fill),
             "INSERT INTO message (id, kind, lane, ready, due_at, added_at)"
             " SELECT decode(md5(i::text), 'hex'), 'k', i / 2, i %% 2, i, i"
             " FROM generate_series(1, %d) i",
             ROWS);
    pg_must(c, fill);
    snprintf(fill, sizeof(fill),
             "INSERT INTO webhook_events (provider, stripe_event_id, received_at, message_id,"
             " request_id, trace, body) SELECT 'stripe', 'evt_' || i, i, '\\x00', '', '', '\\x00'"
             " FROM generate_series(1, %d) i",
             ROWS);
    pg_must(c, fill);
    pg_must(c, "ANALYZE message; ANALYZE webhook_events");
}

/* EXPLAIN EXECUTE with NULL for every parameter: the generic plan does not look at them. */
static void explain(PGconn *c, enum stmt stmt, char *plan, size_t size)
{
    char sql[4096];
    PGresult *r;
    int params;

    r = PQprepare(c, "s", stmt_postgres(stmt), 0, NULL);
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", stmt_name(stmt), PQerrorMessage(c));
    PQclear(r);
    r = PQdescribePrepared(c, "s");
    params = PQnparams(r);
    PQclear(r);
    strcpy(sql, "EXPLAIN EXECUTE s");
    for (int i = 0; i < params; i++)
        strcat(sql, i ? ", NULL" : " (NULL");
    if (params)
        strcat(sql, ")");
    r = PQexec(c, sql);
    assert_int_equal(PQresultStatus(r), PGRES_TUPLES_OK);
    plan[0] = '\0';
    for (int i = 0; i < PQntuples(r) && strlen(plan) + 300 < size; i++)
        strcat(strcat(plan, PQgetvalue(r, i, 0)), "\n");
    PQclear(r);
    pg_must(c, "DEALLOCATE s");
}

static void none_walks_a_table(PGconn *c, const char *when)
{
    for (size_t i = 0; i < COUNT(hot); i++) {
        char plan[8192];

        explain(c, hot[i], plan, sizeof(plan));
        if (strstr(plan, "Seq Scan on message") || strstr(plan, "Seq Scan on webhook"))
            fail_msg("%s, %s:\n%s", when, stmt_name(hot[i]), plan);
    }
}

/* Plans are kept, and a queue is empty most of the time: what is planned then must be right later.
 * So every transaction tells the planner to take the index (postgres_tx.c). */
static void no_hot_statement_walks_a_table_on_postgres(void **state)
{
    const char *url = getenv("TEST_POSTGRES");
    PGconn *c;

    (void)state;
    if (!url)
        skip();
    c = empty_postgres(url);
    pg_must(c, "ANALYZE message; SET enable_seqscan = off; SET enable_bitmapscan = off");
    none_walks_a_table(c, "planned while empty");
    pg_must(c, "RESET enable_seqscan; RESET enable_bitmapscan");
    fill_postgres(c);
    none_walks_a_table(c, "planned while full");
    pg_must(c, "DROP SCHEMA plans CASCADE");
    PQfinish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_hot_statement_walks_a_table_on_sqlite),
        TEST(no_hot_statement_walks_a_table_on_postgres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
