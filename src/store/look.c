/* look.c - inspects a database for `ichido doctor`. It has connections of its own and writes
 * nothing, so it may run beside a server and a crash leaves nothing behind. */
#include "store/look.h"

#include "store/driver.h"

#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUSY_MS = 5000 };

static int64_t newest_migration(const struct migration *m)
{
    int64_t n = 0;

    for (; m->number; m++)
        n = m->number;
    return n;
}

/* --- SQLite --- */

/* *ret is 0 where the table schema_migrations does not exist: the file is new. */
static int sqlite_read_schema(sqlite3 *db, int64_t *ret)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT count(*) FROM sqlite_schema", -1, &s, NULL);

    if (!rc && (rc = sqlite3_step(s)) == SQLITE_ROW)
        rc = SQLITE_OK;
    sqlite3_finalize(s);
    *ret = 0;
    if (rc ||
        sqlite3_prepare_v2(db, "SELECT max(number) FROM schema_migrations WHERE number < 1000", -1,
                           &s, NULL))
        return rc;
    if (sqlite3_step(s) == SQLITE_ROW)
        *ret = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return SQLITE_OK;
}

enum err sqlite_look(const char *path, struct store_look *ret_look, struct why *why)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    *ret_look = (struct store_look){ .newest = newest_migration(sqlite_migrations) };
    snprintf(ret_look->server, sizeof(ret_look->server), "SQLite %s", sqlite3_libversion());
    if (!rc) {
        sqlite3_busy_timeout(db, BUSY_MS);
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_exec(db, "PRAGMA query_only = 1", NULL, NULL, NULL);
        rc = sqlite_read_schema(db, &ret_look->schema);
    }
    if (rc)
        why_set(why, "%.150s: %s", path, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
    sqlite3_close(db);
    return !rc                                                             ? OK
           : (rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_CORRUPT ? ERR_VALIDATION
                                                                           : ERR_UNAVAILABLE;
}

/* --- PostgreSQL --- */

static const char question[] =
    "SELECT current_setting('server_version'), current_setting('fsync'),"
    " current_setting('full_page_writes'), current_setting('synchronous_commit'),"
    " (extract(epoch FROM clock_timestamp()) * 1000)::bigint,"
    " to_regclass('schema_migrations') IS NOT NULL";

static void postgres_read_settings(const PGresult *r, int64_t now_ms, struct store_look *ret)
{
    static const char *const names[] = { "fsync", "full_page_writes", "synchronous_commit" };
    size_t n = 0;

    snprintf(ret->server, sizeof(ret->server), "PostgreSQL %.40s", PQgetvalue(r, 0, 0));
    for (int i = 0; i < (int)COUNT(names); i++)
        if (!strcmp(PQgetvalue(r, 0, i + 1), "off"))
            ret->unsafe[n++] = names[i];
    ret->ahead_ms = strtoll(PQgetvalue(r, 0, 4), NULL, 10) - now_ms;
}

static void postgres_read_schema(PGconn *db, int64_t *ret)
{
    PGresult *r = PQexec(db, "SELECT coalesce(max(number), 0) FROM schema_migrations");

    if (PQresultStatus(r) == PGRES_TUPLES_OK)
        *ret = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
}

static bool postgres_query_server(PGconn *db, struct clock *c, struct store_look *ret)
{
    PGresult *r = PQexec(db, question);
    bool fine = PQresultStatus(r) == PGRES_TUPLES_OK;

    if (fine) {
        postgres_read_settings(r, clock_wall_ms(c), ret);
        if (*PQgetvalue(r, 0, 5) == 't')
            postgres_read_schema(db, &ret->schema);
    }
    PQclear(r);
    return fine;
}

enum err postgres_look(const char *url, struct clock *c, struct store_look *ret_look,
                       struct why *why)
{
    PGconn *db = PQconnectdb(url);
    bool fine;

    *ret_look = (struct store_look){ .newest = newest_migration(postgres_migrations) };
    fine = PQstatus(db) == CONNECTION_OK && postgres_query_server(db, c, ret_look);
    if (!fine) {
        struct str words = str_of(PQerrorMessage(db)), line = str_cut(&words, '\n');

        why_set(why, "%.*s", (int)(line.n < 250 ? line.n : 250), line.p);
    }
    PQfinish(db);
    return fine ? OK : ERR_UNAVAILABLE;
}
