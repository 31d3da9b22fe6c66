/* backup.c - SQLite's online backup, page by page, out of one read transaction:
 *
 *   BEGIN, first read --> copy pages, some at a time --> count rows of each table --> ROLLBACK
 *                                                          |
 *   the copy: integrity_check, count rows of each table <--'  equal? --> fsync --> final name
 *
 * The read transaction keeps the server's WAL from being emptied, and blocks nothing else. A crash
 * leaves the temporary file of store/backup.c. */
#include "store/backup.h"

#include "store/sqlite/db.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_PAGES = 2048, BUSY_MS = 30 * 1000 };

struct sqlite_copy {
    struct backup *b;
    sqlite3 *from, *to;
    char part[BACKUP_PATH];
    struct backup_table tables[BACKUP_TABLES];
    struct why *why;
};

static enum err copy_failed(struct sqlite_copy *c, sqlite3 *db, int rc, const char *what)
{
    why_set(c->why, "%s: %s", what, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
    switch (rc & 0xff) {
    case SQLITE_FULL: return ERR_STORE_FULL;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ERR_VALIDATION;
    default: return ERR_UNAVAILABLE;
    }
}

/* Runs a query for one number. False: it failed or returned no row. */
static bool query_int(sqlite3 *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *s = NULL;
    bool fine =
        sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW;

    if (fine)
        *ret = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return fine;
}

static bool count_rows(sqlite3 *db, const char *table, int64_t *ret)
{
    char *sql = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table);
    bool fine = sql && query_int(db, sql, ret);

    sqlite3_free(sql);
    return fine;
}

static enum err count_source(struct sqlite_copy *c)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(c->from, "SELECT name FROM sqlite_schema WHERE type = 'table'", -1,
                                &s, NULL);
    struct backup_table *t = c->tables;

    while (!rc && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (c->b->tables == BACKUP_TABLES)
            break;
        snprintf(t->name, sizeof(t->name), "%s", (const char *)sqlite3_column_text(s, 0));
        rc = count_rows(c->from, t->name, &t->rows) ? SQLITE_OK : SQLITE_ERROR;
        c->b->rows += t->rows;
        c->b->tables++;
        t++;
    }
    sqlite3_finalize(s);
    return rc == SQLITE_DONE ? OK : copy_failed(c, c->from, rc, "cannot count the database's rows");
}

static enum err copy_pages(struct sqlite_copy *c)
{
    sqlite3_backup *k = sqlite3_backup_init(c->to, "main", c->from, "main");
    int rc = k ? SQLITE_OK : sqlite3_errcode(c->to);
    int64_t page = 4096;

    query_int(c->from, "PRAGMA page_size", &page);
    while (!rc) {
        rc = backup_is_cancelled() ? SQLITE_INTERRUPT : sqlite3_backup_step(k, STEP_PAGES);
        if (c->b->tell && (rc == SQLITE_OK || rc == SQLITE_DONE))
            c->b->tell(c->b->ctx,
                       (sqlite3_backup_pagecount(k) - sqlite3_backup_remaining(k)) * page,
                       sqlite3_backup_pagecount(k) * page);
    }
    sqlite3_backup_finish(k);
    return rc == SQLITE_DONE ? OK : copy_failed(c, c->to, rc, "the copy failed");
}

static enum err copy_snapshot(struct sqlite_copy *c)
{
    int64_t n;
    enum err e;

    if (sqlite3_exec(c->from, "BEGIN", NULL, NULL, NULL) ||
        !query_int(c->from, "SELECT count(*) FROM schema_migrations", &n)) /* the snapshot */
        return copy_failed(c, c->from, sqlite3_errcode(c->from), "this is no database of Ichido");
    e = copy_pages(c);
    if (!e)
        e = count_source(c);
    sqlite3_exec(c->from, "ROLLBACK", NULL, NULL, NULL);
    return e;
}

/* --- the copy --- */

static int copy_first_value(void *ctx, int n, char **values, char **names)
{
    (void)n, (void)names;
    snprintf(ctx, 128, "%s", values[0] ? values[0] : "");
    return 1; /* stop after the first row */
}

static enum err copy_is_wrong(struct sqlite_copy *c, const char *what, const char *detail)
{
    return why_err(c->why, ERR_UNPROCESSABLE, "the copy is not whole: %s %.120s", what, detail);
}

static enum err copy_check(struct sqlite_copy *c)
{
    char word[128] = "";

    sqlite3_exec(c->to, "PRAGMA integrity_check(1)", copy_first_value, word, NULL);
    if (strcmp(word, "ok") != 0)
        return copy_is_wrong(c, "integrity_check says", word);
    for (int i = 0; i < c->b->tables; i++) {
        int64_t rows = -1;

        if (!count_rows(c->to, c->tables[i].name, &rows) || rows != c->tables[i].rows)
            return copy_is_wrong(c, "rows are missing in", c->tables[i].name);
    }
    return OK;
}

/* --- the two connections --- */

/* Closing it makes no checkpoint: only the server checkpoints its WAL. */
static int open_source(struct sqlite_copy *c)
{
    int rc =
        sqlite3_open_v2(c->b->from, &c->from, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc)
        return rc;
    sqlite3_busy_timeout(c->from, BUSY_MS);
    sqlite3_db_config(c->from, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return sqlite3_exec(c->from, "PRAGMA query_only = 1", NULL, NULL, NULL);
}

/* No journal and no syncs while pages are written: the whole file is synced once at the end. Not in
 * WAL mode, so that the copy is a single file; a server that opens it turns WAL mode on again. */
static int open_copy(struct sqlite_copy *c)
{
    int rc = sqlite3_open_v2(c->part, &c->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    return rc ? rc
              : sqlite3_exec(c->to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;", NULL,
                             NULL, NULL);
}

static int open_copy_again(struct sqlite_copy *c)
{
    sqlite3_close(c->to);
    c->to = NULL;
    int rc = sqlite3_open_v2(c->part, &c->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    return rc ? rc : sqlite3_exec(c->to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
}

static enum err copy_run(struct sqlite_copy *c)
{
    enum err e;
    int rc = open_source(c);

    if (rc)
        return copy_failed(c, c->from, rc, "cannot open the database");
    e = backup_begin(c->b, c->part, c->why);
    if (e)
        return e;
    rc = open_copy(c);
    e = rc ? copy_failed(c, c->to, rc, "cannot write the copy") : copy_snapshot(c);
    if (!e && (rc = open_copy_again(c)))
        e = copy_failed(c, c->to, rc, "cannot read the copy");
    return e ? e : copy_check(c);
}

enum err sqlite_backup(struct backup *b, struct why *why)
{
    struct sqlite_copy *c = calloc(1, sizeof(*c));
    enum err e;

    if (!c)
        return ERR_NO_MEMORY;
    sqlite_setup();
    *c = (struct sqlite_copy){ .b = b, .why = why };
    e = copy_run(c);
    sqlite3_close(c->from);
    sqlite3_close(c->to);
    if (!e)
        e = backup_end(b, c->part, why);
    if (e)
        backup_drop(c->part);
    free(c);
    return e;
}
