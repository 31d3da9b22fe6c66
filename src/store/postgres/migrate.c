/* migrate.c - applies the missing migrations, each with its row in schema_migrations in one
 * transaction (decision 0017).
 *
 *   (1) An advisory lock of that transaction, not of the session, lets nodes that start together
 *       take turns, also behind a pooler. The second node finds less to do, or nothing.
 *   (2) Between two migrations no lock is held, so that running nodes can use their tables.
 *
 * After a crash the next start goes on with the next migration. */
#include "observe/log.h"
#include "store/driver.h"
#include "store/postgres/server.h"

#include <stdlib.h>
#include <string.h>

static const char begin[] =
    "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;"
    " SELECT pg_advisory_xact_lock(7598264213);" /* an arbitrary number, the same on all nodes */
    " CREATE TABLE IF NOT EXISTS schema_migrations"
    " (number bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL);"
    " SELECT coalesce(max(number), 0) FROM schema_migrations";

static enum err migrate_explain(const PGresult *r, const char *what, struct why *why)
{
    const char *words = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;

    why_set(why, "PostgreSQL, migration %.60s: %.150s", what,
            words ? words : "the connection was lost");
    return r ? ERR_INTERNAL : ERR_UNAVAILABLE;
}

static enum err migrate_run(struct pg_conn *c, const char *sql, const struct pg_params *p,
                            const char *what, struct why *why)
{
    PGresult *r = pg_query(c, sql, p, LIMIT_DB_MIGRATE_MS);
    enum err e = OK;

    if (!r || PQresultStatus(r) == PGRES_FATAL_ERROR)
        e = migrate_explain(r, what, why);
    PQclear(r);
    return e;
}

static enum err lock_and_read_number(struct pg_conn *c, int64_t *ret_number, struct why *why)
{
    PGresult *r = pg_query(c, begin, NULL, LIMIT_DB_MIGRATE_MS);
    enum err e = OK;

    if (!r || PQresultStatus(r) != PGRES_TUPLES_OK)
        e = migrate_explain(r, "table", why);
    else
        *ret_number = pg_number(PQgetvalue(r, 0, 0));
    PQclear(r);
    return e;
}

static enum err migrate_apply(struct pg_conn *c, const struct migration *m, struct why *why)
{
    const struct val v[] = { V_INT(m->number), V_TEXT(str_of(m->name)), V_INT(env_now_ms(c->env)) };
    struct pg_params p;
    enum err e = migrate_run(c, m->sql, NULL, m->name, why);

    if (!e)
        e = pg_params_of(&p, v, COUNT(v));
    if (!e)
        e = migrate_run(c, "INSERT INTO schema_migrations VALUES ($1, $2, $3)", &p, m->name, why);
    return e;
}

static enum err database_is_newer(int64_t applied, int known, struct why *why)
{
    return why_err(why, ERR_VALIDATION,
                   "the database is at migration %lld and this program knows only %d:"
                   " start a newer ichido",
                   (long long)applied, known);
}

/* On an empty database every migration is fast, so nothing is logged. */
static void log_migration(struct pg_conn *c, const struct migration *m, int64_t began)
{
    if (began)
        LOG(c->env->log, LOG_INFO,
            "a migration begins: with millions of rows it takes minutes, and nodes that run wait",
            LOG_NUM("number", m->number), LOG_TEXT("name", str_of(m->name)));
}

/* Applies the first missing migration, under the lock. *ret_next: there may be another one. */
static enum err apply_next(struct pg_conn *c, int64_t applied, int64_t began, bool *ret_next,
                           struct why *why)
{
    const struct migration *m = postgres_migrations;
    int known = 0;

    for (; m->number && m->number <= applied; m++)
        known = m->number;
    *ret_next = m->number != 0;
    if (!m->number)
        return applied > known ? database_is_newer(applied, known, why) : OK;
    log_migration(c, m, began);
    return migrate_apply(c, m, why);
}

/* *began: the last migration that was applied before this start; -1: not read yet. */
static enum err migrate_once(struct pg_conn *c, int64_t *began, bool *ret_next, struct why *why)
{
    int64_t applied = 0;
    enum err e = lock_and_read_number(c, &applied, why);
    struct why ignored;

    if (*began < 0)
        *began = applied;
    if (!e)
        e = apply_next(c, applied, *began, ret_next, why);
    if (!e)
        return migrate_run(c, "COMMIT", NULL, "commit", why);
    (void)migrate_run(c, "ROLLBACK", NULL, "rollback", &ignored);
    return e;
}

enum err pg_migrate(struct pg_conn *c, struct why *why)
{
    int64_t began = -1;
    bool next = true;
    enum err e = OK;

    while (!e && next)
        e = migrate_once(c, &began, &next, why);
    return e;
}
