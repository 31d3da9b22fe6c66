/* postgres_migrate.c - brings the tables up to date, in one transaction. The advisory lock belongs
 * to that transaction and not to the session, so nodes that start together take turns behind a
 * pooler too; who comes second finds nothing left to do. */
#include "store/driver.h"
#include "store/postgres_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char begin[] =
    "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;"
    " SELECT pg_advisory_xact_lock(7598264213);" /* any number, as long as all nodes take it */
    " CREATE TABLE IF NOT EXISTS schema_migrations"
    " (number bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL);"
    " SELECT coalesce(max(number), 0) FROM schema_migrations";

static enum err explain(const PGresult *r, const char *what, char why[256])
{
    const char *words = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;

    snprintf(why, 256, "PostgreSQL, migration %.60s: %.150s", what,
             words ? words : "the connection was lost");
    return r ? ERR_INTERNAL : ERR_UNAVAILABLE;
}

static enum err run(struct pg_conn *c, const char *sql, const struct pg_params *p, const char *what,
                    char why[256])
{
    PGresult *r = pg_query(c, sql, p, LIMIT_DB_MIGRATE_MS);
    enum err e = OK;

    if (!r || PQresultStatus(r) == PGRES_FATAL_ERROR)
        e = explain(r, what, why);
    PQclear(r);
    return e;
}

static enum err lock_and_look(struct pg_conn *c, int64_t *ret_number, char why[256])
{
    PGresult *r = pg_query(c, begin, NULL, LIMIT_DB_MIGRATE_MS);
    enum err e = OK;

    if (!r || PQresultStatus(r) != PGRES_TUPLES_OK)
        e = explain(r, "table", why);
    else
        *ret_number = pg_number(PQgetvalue(r, 0, 0));
    PQclear(r);
    return e;
}

static enum err apply(struct pg_conn *c, const struct migration *m, char why[256])
{
    const struct val v[] = { V_INT(m->number), V_TEXT(str_of(m->name)), V_INT(env_now_ms(c->env)) };
    struct pg_params p;
    enum err e = run(c, m->sql, NULL, m->name, why);

    if (!e)
        e = pg_params_of(&p, v, COUNT(v));
    if (!e)
        e = run(c, "INSERT INTO schema_migrations VALUES ($1, $2, $3)", &p, m->name, why);
    return e;
}

static enum err apply_missing(struct pg_conn *c, int64_t applied, char why[256])
{
    const struct migration *m = postgres_migrations;
    int known = 0;
    enum err e = OK;

    for (; !e && m->number; m++) {
        known = m->number;
        if (m->number > applied)
            e = apply(c, m, why);
    }
    if (!e && applied > known) {
        snprintf(why, 256,
                 "the database is at migration %lld and this program knows only %d:"
                 " start a newer ichido",
                 (long long)applied, known);
        e = ERR_VALIDATION;
    }
    return e;
}

enum err pg_migrate(struct pg_conn *c, char why[256])
{
    int64_t applied = 0;
    enum err e = lock_and_look(c, &applied, why);
    char ignored[256];

    if (!e)
        e = apply_missing(c, applied, why);
    if (!e)
        return run(c, "COMMIT", NULL, "commit", why);
    (void)run(c, "ROLLBACK", NULL, "rollback", ignored);
    return e;
}
