/* backup.c - runs pg_dump on a snapshot that our own transaction holds:
 *
 *   BEGIN REPEATABLE READ, export snapshot --> pg_dump --snapshot --> count rows of each table
 *                                                                          |
 *   a scratch database, pg_restore, count rows of each table <-------------'  equal? --> final name
 *
 * pg_dump and pg_restore get the server's address and password in their environment, because any
 * user of the machine can read a program's arguments. A crash may leave the temporary file of
 * store/backup.c and the scratch database. */
#include "store/backup.h"

#include "base/limits.h"

#include <errno.h>
#include <libpq-fe.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { SNAPSHOT = 64, VARIABLES = 40, VARIABLE = 2048, SQL_MAX = 512 };

struct postgres_dump {
    struct backup *b;
    PGconn *db;
    char part[BACKUP_PATH], snapshot[SNAPSHOT];
    struct backup_table tables[BACKUP_TABLES];
    char environment[VARIABLES][VARIABLE];
    char *names[VARIABLES + 1]; /* pointers to the variables; ends with NULL */
    bool kept;                  /* the copy is made but could not be checked: it is kept */
    struct why *why;
};

/* --- asking --- */

static enum err dump_failed(struct postgres_dump *d, PGconn *db, const char *what)
{
    struct str words = str_of(PQerrorMessage(db)), line = str_cut(&words, '\n');

    return why_err(d->why, ERR_UNAVAILABLE, "%s: %.*s", what, (int)(line.n < 180 ? line.n : 180),
                   line.p);
}

static bool run_sql(PGconn *db, const char *sql)
{
    PGresult *r = PQexec(db, sql);
    ExecStatusType s = PQresultStatus(r);

    PQclear(r);
    return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK;
}

/* The first value of the answer, in at most `size` bytes. */
static bool query_text(PGconn *db, const char *sql, char *ret, size_t size)
{
    PGresult *r = PQexec(db, sql);
    bool fine = PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) > 0;

    if (fine)
        snprintf(ret, size, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    return fine;
}

static bool count_rows(PGconn *db, const char *table, int64_t *ret)
{
    char *name = PQescapeIdentifier(db, table, strlen(table)), sql[SQL_MAX], text[32];
    bool fine;

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", name ? name : "");
    PQfreemem(name);
    fine = query_text(db, sql, text, sizeof(text));
    *ret = fine ? strtoll(text, NULL, 10) : -1;
    return fine;
}

static enum err count_source(struct postgres_dump *d)
{
    PGresult *r = PQexec(d->db, "SELECT tablename FROM pg_tables WHERE schemaname ="
                                " current_schema() ORDER BY 1");
    bool fine =
        PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) > 0 && PQntuples(r) <= BACKUP_TABLES;

    for (int i = 0; fine && i < PQntuples(r); i++) {
        struct backup_table *t = &d->tables[i];

        snprintf(t->name, sizeof(t->name), "%s", PQgetvalue(r, i, 0));
        fine = count_rows(d->db, t->name, &t->rows);
        d->b->rows += t->rows;
        d->b->tables = i + 1;
    }
    PQclear(r);
    return fine ? OK : dump_failed(d, d->db, "cannot read the database");
}

/* --- PostgreSQL's programs --- */

static void add_variable(struct postgres_dump *d, size_t *n, const char *name, const char *value)
{
    if (*n == VARIABLES || snprintf(d->environment[*n], VARIABLE, "%s=%s", name, value) >= VARIABLE)
        return;
    d->names[*n] = d->environment[*n];
    ++*n;
}

/* The connection's parameters as libpq understood them, defaults included. */
static enum err make_environment(struct postgres_dump *d)
{
    PQconninfoOption *o = PQconninfo(d->db);
    const char *path = getenv("PATH");
    size_t n = 0;

    if (!o)
        return ERR_NO_MEMORY;
    add_variable(d, &n, "PATH", path ? path : "/usr/bin:/bin");
    for (PQconninfoOption *i = o; i->keyword; i++)
        if (i->envvar && i->val && *i->val)
            add_variable(d, &n, i->envvar, i->val);
    PQconninfoFree(o);
    return OK;
}

/* The child has no blocked signals: Ctrl-C ends it, and then this process cleans up. */
static int spawn_program(struct postgres_dump *d, char *const *arguments, pid_t *ret_child)
{
    posix_spawnattr_t how;
    sigset_t none;
    int rc;

    sigemptyset(&none);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    rc = posix_spawnp(ret_child, arguments[0], NULL, &how, arguments, d->names);
    posix_spawnattr_destroy(&how);
    return rc;
}

/* The program writes its messages to our standard error. */
static enum err run_program(struct postgres_dump *d, char *const *arguments)
{
    int status = 0;
    pid_t child;
    int rc = spawn_program(d, arguments, &child);

    if (rc)
        return why_err(d->why, ERR_VALIDATION, "cannot run %s (%s): install postgresql-client",
                       arguments[0], strerror(rc));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return ERR_UNAVAILABLE;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return OK;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        why_set(d->why, "there is no %s: install postgresql-client", arguments[0]);
    else
        why_set(d->why, "%s failed; what it said stands above", arguments[0]);
    return ERR_UNAVAILABLE;
}

static enum err run_pg_dump(struct postgres_dump *d)
{
    char snapshot[SNAPSHOT + 16], file[BACKUP_PATH + 16];

    snprintf(snapshot, sizeof(snapshot), "--snapshot=%s", d->snapshot);
    snprintf(file, sizeof(file), "--file=%s", d->part);
    return run_program(d, (char *const[]){ (char *)"pg_dump", (char *)"--format=custom",
                                           (char *)"--no-owner", (char *)"--no-privileges",
                                           snapshot, file, NULL });
}

static enum err dump_snapshot(struct postgres_dump *d)
{
    enum err e;

    if (!query_text(d->db, "SELECT count(*) FROM schema_migrations", d->snapshot, SNAPSHOT))
        return dump_failed(d, d->db, "this is no database of Ichido");
    if (!run_sql(d->db, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") ||
        !query_text(d->db, "SELECT pg_export_snapshot()", d->snapshot, SNAPSHOT))
        return dump_failed(d, d->db, "cannot hold a moment");
    e = run_pg_dump(d);
    if (!e)
        e = count_source(d);
    run_sql(d->db, "ROLLBACK");
    return e;
}

/* --- the check --- */

static enum err run_pg_restore(struct postgres_dump *d)
{
    char base[BACKUP_NAME + 16];

    snprintf(base, sizeof(base), "--dbname=%s", d->b->spare);
    return run_program(d, (char *const[]){ (char *)"pg_restore", (char *)"--no-owner",
                                           (char *)"--no-privileges", (char *)"--exit-on-error",
                                           base, d->part, NULL });
}

static PGconn *connect_to_scratch(struct postgres_dump *d)
{
    const char *names[] = { "dbname", "dbname",
                            NULL }; /* the second overrides the url's database */
    const char *values[] = { d->b->from, d->b->spare, NULL };

    return PQconnectdbParams(names, values, 1);
}

static enum err compare_rows(struct postgres_dump *d)
{
    PGconn *db = connect_to_scratch(d);
    enum err e = PQstatus(db) == CONNECTION_OK ? OK : dump_failed(d, db, "cannot look at the copy");

    for (int i = 0; !e && i < d->b->tables; i++) {
        int64_t rows;

        if (!count_rows(db, d->tables[i].name, &rows) || rows != d->tables[i].rows) {
            why_set(d->why, "the copy is not whole: rows are missing in %s", d->tables[i].name);
            e = ERR_UNPROCESSABLE;
        }
    }
    PQfinish(db);
    return e;
}

static enum err dump_check(struct postgres_dump *d)
{
    char sql[SQL_MAX];
    enum err e;

    snprintf(sql, sizeof(sql), "CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8'",
             d->b->spare);
    if (!run_sql(d->db, sql)) {
        dump_failed(d, d->db, "the copy is made but not checked (--no-check leaves that out)");
        d->kept = true;
        return ERR_UNPROCESSABLE;
    }
    e = run_pg_restore(d);
    if (!e)
        e = compare_rows(d);
    snprintf(sql, sizeof(sql), "DROP DATABASE %s WITH (FORCE)", d->b->spare);
    run_sql(d->db, sql);
    return e;
}

static enum err dump_run(struct postgres_dump *d)
{
    enum err e = PQstatus(d->db) == CONNECTION_OK ? OK : dump_failed(d, d->db, "cannot connect");

    if (!e)
        e = make_environment(d);
    if (!e)
        e = backup_begin(d->b, d->part, d->why);
    if (!e)
        e = dump_snapshot(d);
    if (!e && backup_is_cancelled())
        e = ERR_UNAVAILABLE;
    return e || d->b->unchecked ? e : dump_check(d);
}

enum err postgres_backup(struct backup *b, struct why *why)
{
    struct postgres_dump *d = calloc(1, sizeof(*d));
    enum err e;

    if (!d)
        return ERR_NO_MEMORY;
    *d = (struct postgres_dump){ .b = b, .why = why, .db = PQconnectdb(b->from) };
    e = dump_run(d);
    if ((!e || d->kept) && backup_end(b, d->part, why))
        e = ERR_UNAVAILABLE;
    else if (e && !d->kept)
        backup_drop(d->part);
    PQfinish(d->db);
    explicit_bzero(d, sizeof(*d)); /* the environment contains a password */
    free(d);
    return e;
}
