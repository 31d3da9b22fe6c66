/* db.c - opens, configures, checkpoints and closes one connection. db.h has the invariants.
 *
 * A crash leaves the WAL. The next open reads its complete commits and syncs the WAL before
 * anything is answered, so what was read as committed stays committed. */
#include "store/sqlite/db.h"

#include "base/buf.h"
#include "store/sqlite/conn.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_SIZE = 4096,
    WRITER_CACHE_KB = 16 * 1024,
    FRAME_HEADER = 24,
    WAL_HEADER = 32,
    URI_MAX = 64 * 1024,
};

static void sqlite_db_setup(void)
{
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_initialize();
}

void sqlite_setup(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* not const: the library is global */

    pthread_once(&once, sqlite_db_setup);
}

/* --- error messages of a failed open --- */

static enum err sqlite_db_explain(struct sqlite_db *db, const char *path, int rc, struct why *why)
{
    int code = db->handle ? sqlite3_system_errno(db->handle) : 0;

    switch (rc & 0xff) {
    case SQLITE_NOTADB:
        return why_err(why, ERR_VALIDATION,
                       "%s is not a database; move it away or set ICHIDO_DB to another", path);
    case SQLITE_CORRUPT:
        return why_err(why, ERR_VALIDATION, "%s is damaged (%s); restore a backup", path,
                       sqlite3_errmsg(db->handle));
    case SQLITE_FULL: return why_err(why, ERR_STORE_FULL, "no room on the disk of %s", path);
    case SQLITE_READONLY:
        return why_err(why, ERR_STORE_FULL,
                       "%s cannot be written: the file or its file system is read-only", path);
    case SQLITE_NOLFS: /* db_set_pragmas: not in WAL mode */
        return why_err(why, ERR_VALIDATION,
                       "%s cannot have a write-ahead log there; use a local disk", path);
    case SQLITE_BUSY:
        return why_err(why, ERR_UNAVAILABLE, "%s is locked by another program; close it first",
                       path);
    default:
        return why_err(why, ERR_UNAVAILABLE, "cannot open %s: %s%s%s", path,
                       db->handle ? sqlite3_errmsg(db->handle) : "out of memory", code ? ": " : "",
                       code ? strerror(code) : "");
    }
}

/* --- opening --- */

static void uri_add_path(struct buf *b, const char *path)
{
    for (const char *c = path; *c; c++)
        if (strchr("/-_.~", *c) || (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
            (*c >= 'a' && *c <= 'z'))
            buf_char(b, *c);
        else
            buf_fmt(b, "%%%02X", (unsigned)(unsigned char)*c);
}

/* Writes the path as a URI, so that no character of it is special to SQLite. */
static bool make_uri(const struct sqlite_options *o, struct buf *b)
{
    const char *path = o->path;

    while (path[0] == '/' && path[1] == '/') /* in file://x, x would be a host */
        path++;
    buf_add(b, S("file:"));
    uri_add_path(b, path);
    if (o->mode_of) {
        buf_add(b, S("?modeof="));
        uri_add_path(b, o->mode_of);
    }
    buf_char(b, '\0');
    return !b->failed;
}

static int db_open_handle(struct sqlite_db *db, const struct sqlite_options *o)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI |
                (o->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    struct buf uri;
    int rc = SQLITE_NOMEM;

    buf_init(&uri, URI_MAX);
    if (make_uri(o, &uri))
        rc = sqlite3_open_v2(uri.p, &db->handle, flags, o->vfs);
    buf_release(&uri);
    return rc;
}

/* Limits what a manipulated database file could do. */
static void sqlite_db_harden(sqlite3 *handle)
{
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, LIMIT_FILE_BUSY_MS);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
}

static int db_note_commit(void *ctx, sqlite3 *handle, const char *name, int frames)
{
    struct sqlite_db *db = ctx;

    (void)handle, (void)name;
    db->wal_frames = frames;
    db->wrote = true;
    return SQLITE_OK;
}

static int db_query_int(struct sqlite_db *db, const char *sql, int *ret_value)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL);

    if (!rc && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        *ret_value = sqlite3_column_int(s, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(s);
    return rc;
}

static int sqlite_db_exec(struct sqlite_db *db, const char *sql)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
}

static bool db_is_wal(struct sqlite_db *db)
{
    sqlite3_stmt *s = NULL;
    bool wal = !sqlite3_prepare_v2(db->handle, "PRAGMA journal_mode", -1, &s, NULL) &&
               sqlite3_step(s) == SQLITE_ROW &&
               str_eq(str_of((const char *)sqlite3_column_text(s, 0)), S("wal"));

    sqlite3_finalize(s);
    return wal;
}

/* The order matters: locking_mode before the WAL is touched, page_size before the file exists. A
 * file without write permission opens as read-only, so that is checked as well. */
static int db_set_pragmas(struct sqlite_db *db, const struct sqlite_options *o)
{
    char sql[256];
    int rc, tables;

    snprintf(sql, sizeof(sql),
             "PRAGMA page_size = %d; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;"
             "PRAGMA foreign_keys = ON; PRAGMA secure_delete = FAST; PRAGMA cache_size = -%d;%s",
             PAGE_SIZE, o->cache_kb ? o->cache_kb : WRITER_CACHE_KB,
             o->exclusive ? "PRAGMA locking_mode = EXCLUSIVE;" : "");
    rc = sqlite_db_exec(db, sql);
    if (!rc && o->read_only)
        rc = sqlite_db_exec(db, "PRAGMA query_only = ON;");
    else if (!rc)
        rc = sqlite_db_exec(db, o->sandbox
                                    ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                                    : "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    if (!rc)
        rc = sqlite_db_exec(db, "PRAGMA wal_autocheckpoint = 0;");
    if (!rc && !o->read_only && sqlite3_db_readonly(db->handle, "main"))
        rc = SQLITE_READONLY;
    if (!rc) /* a connection that has read nothing cannot checkpoint (M3) */
        rc = db_query_int(db, "SELECT count(*) FROM sqlite_schema", &tables);
    if (!rc && !db_is_wal(db))
        rc = SQLITE_NOLFS;
    return rc ? rc : db_query_int(db, "PRAGMA page_size", &db->page_size);
}

/* A process that was killed between writing a commit and syncing it left it in the WAL, and this
 * connection reads it as committed. A power cut could still lose it, so it is synced before any
 * result is reported. */
static int db_sync_wal(struct sqlite_db *db)
{
    sqlite3_file *wal = NULL;
    int rc = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);

    return !rc && wal && wal->pMethods ? wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL) : rc;
}

enum err sqlite_db_open(const struct sqlite_options *o, struct env *env, struct sqlite_db **ret_db,
                        struct why *why)
{
    struct sqlite_db *db = calloc(1, sizeof(*db));
    int rc;

    if (!db)
        return why_err(why, ERR_NO_MEMORY, "out of memory");
    sqlite_setup();
    tx_init(&db->tx, &sqlite_tx_ops, env);
    db->read_only = o->read_only;
    db->sandbox = o->sandbox;
    rc = db_open_handle(db, o);
    if (!rc) {
        sqlite_db_harden(db->handle);
        rc = db_set_pragmas(db, o);
    }
    if (!rc && !o->read_only)
        rc = db_sync_wal(db);
    if (rc) {
        enum err e = sqlite_db_explain(db, o->path, rc, why);

        sqlite_db_abandon(db);
        return e;
    }
    sqlite3_wal_hook(db->handle, db_note_commit, db);
    arena_alloc(&db->tx.scratch, 1, 1); /* keeps the first block, so that units need no malloc */
    db->scratch = arena_mark(&db->tx.scratch);
    *ret_db = db;
    return OK;
}

/* --- in use --- */

int sqlite_control(struct sqlite_db *db, enum sqlite_control what)
{
    static const char *const texts[CONTROLS] = {
        [CONTROL_BEGIN] = "BEGIN IMMEDIATE",
        [CONTROL_BEGIN_READ] = "BEGIN DEFERRED",
        [CONTROL_COMMIT] = "COMMIT",
        [CONTROL_ROLLBACK] = "ROLLBACK",
        [CONTROL_SAVEPOINT] = "SAVEPOINT unit",
        [CONTROL_RELEASE] = "RELEASE unit",
        [CONTROL_ROLLBACK_TO] = "ROLLBACK TO unit",
    };
    sqlite3_stmt **s = &db->controls[what];
    int rc = SQLITE_OK;

    if (!*s)
        rc = sqlite3_prepare_v3(db->handle, texts[what], -1, SQLITE_PREPARE_PERSISTENT, s, NULL);
    if (rc)
        return rc;
    rc = sqlite3_step(*s);
    sqlite3_reset(*s);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

void sqlite_scratch_reset(struct sqlite_db *db)
{
    arena_rewind(&db->tx.scratch, db->scratch);
    tx_unit_begins(&db->tx);
}

const char *sqlite_db_error(const struct sqlite_db *db)
{
    return db->error;
}

int64_t sqlite_db_wal_frames(const struct sqlite_db *db)
{
    return db->wal_frames;
}

int64_t sqlite_db_wal_bytes(const struct sqlite_db *db)
{
    return db->wal_frames ? db->wal_frames * (db->page_size + FRAME_HEADER) + WAL_HEADER : 0;
}

/* --- checkpoint --- */

/* Returns the number of frames in the WAL, and how many of them are copied to the database. */
static enum err sqlite_checkpoint_mode(struct sqlite_db *db, int mode, int *ret_frames,
                                       int *ret_copied)
{
    int rc = sqlite3_wal_checkpoint_v2(db->handle, "main", mode, ret_frames, ret_copied);

    if (rc)
        return sqlite_failed(db, "checkpoint", rc);
    assert(*ret_frames >= 0); /* -1: the checkpoint did nothing */
    return OK;
}

enum err sqlite_db_checkpoint(struct sqlite_db *db)
{
    int frames, copied;

    return sqlite_checkpoint_mode(db, SQLITE_CHECKPOINT_PASSIVE, &frames, &copied);
}

/* Uses SQLite's own handle: closing a second descriptor would drop SQLite's POSIX locks. */
enum err sqlite_sync_file(struct sqlite_db *db)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

    if (!rc && file && file->pMethods)
        rc = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    return rc ? sqlite_failed(db, "sync", rc) : OK;
}

/* --- the end --- */

static void sqlite_db_release(struct sqlite_db *db)
{
    for (size_t i = 0; i < STMT_COUNT; i++)
        sqlite3_finalize(db->statements[i].s);
    for (size_t i = 0; i < CONTROLS; i++)
        sqlite3_finalize(db->controls[i]);
    sqlite3_close_v2(db->handle);
    tx_release(&db->tx);
    free(db);
}

void sqlite_db_close(struct sqlite_db *db)
{
    int frames, copied;

    if (!db)
        return;
    if (!db->read_only)
        sqlite3_wal_checkpoint_v2(db->handle, "main", SQLITE_CHECKPOINT_TRUNCATE, &frames, &copied);
    sqlite_db_release(db);
}

void sqlite_db_abandon(struct sqlite_db *db)
{
    if (!db)
        return;
    if (db->handle)
        sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite_db_release(db);
}
