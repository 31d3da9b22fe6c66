/* test_statements.c - every statement is understood by the databases it is written for. */
#include "store/sqlite/conn.h"
#include "unit/store/rig.h"

#include <libpq-fe.h>

static struct sqlite_db *open_migrated(struct rig *r)
{
    struct sqlite_options o = { .path = r->file, .sandbox = true }; /* sandbox_* are there alone */
    struct sqlite_db *db = NULL;
    struct why why = { 0 };

    if (sqlite_db_open(&o, &r->env, &db, &why) || sqlite_db_migrate(db, &why))
        fail_msg("%s", why.text);
    return db;
}

static void sqlite_prepares_every_statement(void **state)
{
    struct sqlite_db *db;
    struct rig r;

    (void)state;
    rig_init(&r);
    db = open_migrated(&r);
    for (int i = 0; i < STMT_COUNT; i++) {
        if (!*stmt_sqlite((enum stmt)i))
            continue;
        if (sqlite_prepare(db, (enum stmt)i))
            fail_msg("%s", sqlite_db_error(db));
    }
    sqlite_db_close(db);
    rig_release(&r);
}

static enum err migrate(struct rig *r, bool sandbox, struct why *why)
{
    struct sqlite_options o = { .path = r->file, .sandbox = sandbox };
    struct sqlite_db *db = NULL;
    enum err e = sqlite_db_open(&o, &r->env, &db, why);

    if (!e)
        e = sqlite_db_migrate(db, why);
    sqlite_db_close(db);
    return e;
}

static void the_sandboxs_tables_are_in_its_own_file_alone(void **state)
{
    struct rig r;
    struct why why = { 0 };

    (void)state;
    rig_init(&r);
    for (int i = 0; i < 2; i++)
        assert_int_equal(migrate(&r, true, &why), OK);
    assert_int_equal(migrate(&r, false, &why), ERR_CONFLICT);
    for (const struct migration *m = sqlite_migrations; m->number; m++)
        assert_true(m->number < SANDBOX_MIGRATIONS);
    for (const struct migration *m = sandbox_migrations; m->number; m++)
        assert_true(m->number >= SANDBOX_MIGRATIONS);
    rig_release(&r);
}

/* The largest $n of a text. */
static int parameters(const char *sql)
{
    int most = 0;

    for (const char *c = strchr(sql, '$'); c; c = strchr(c + 1, '$'))
        if (atoi(c + 1) > most)
            most = atoi(c + 1);
    return most;
}

static void both_texts_take_the_same_parameters(void **state)
{
    (void)state;
    for (int i = 0; i < STMT_COUNT; i++) {
        const char *a = stmt_sqlite((enum stmt)i), *b = stmt_postgres((enum stmt)i);

        if (*a && *b && parameters(a) != parameters(b))
            fail_msg("%s: %d and %d", stmt_name((enum stmt)i), parameters(a), parameters(b));
        assert_true(parameters(a) <= STATEMENT_PARAMS);
    }
}

/* --- PostgreSQL, where there is one --- */

static void pg_run(PGconn *c, const char *sql)
{
    PGresult *r = PQexec(c, sql);

    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%.80s: %s", sql, PQerrorMessage(c));
    PQclear(r);
}

static void pg_prepare(PGconn *c, enum stmt stmt)
{
    PGresult *r;

    pg_run(c, "SAVEPOINT one");
    r = PQprepare(c, stmt_name(stmt), stmt_postgres(stmt), 0, NULL);
    if (PQresultStatus(r) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", stmt_name(stmt), PQerrorMessage(c));
    PQclear(r);
}

/* All in a schema and a transaction that nobody ever sees. */
static void postgres_prepares_every_statement(void **state)
{
    const char *url = getenv("TEST_POSTGRES");
    PGconn *c;

    (void)state;
    if (!url)
        skip();
    c = PQconnectdb(url);
    pg_run(c, "BEGIN");
    pg_run(c, "CREATE SCHEMA statements_test");
    pg_run(c, "SET LOCAL search_path = statements_test");
    for (const struct migration *m = postgres_migrations; m->number; m++)
        pg_run(c, m->sql);
    for (int i = 0; i < STMT_COUNT; i++)
        if (*stmt_postgres((enum stmt)i))
            pg_prepare(c, (enum stmt)i);
    pg_run(c, "ROLLBACK");
    PQfinish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sqlite_prepares_every_statement),
        TEST(the_sandboxs_tables_are_in_its_own_file_alone),
        TEST(both_texts_take_the_same_parameters),
        TEST(postgres_prepares_every_statement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
