/* tx.c - the operations of a transaction on SQLite, and what its result codes mean.
 *
 *   (1) Values are bound without a copy, because they outlive the call. Rows are copied to the
 *       scratch arena, because SQLite's bytes do not outlive the step.
 *   (2) After SQLite rolled back the transaction, no further statement is run: it would commit by
 *       itself.
 *   (3) A failed fsync or a damaged file marks the connection as broken, for good. */
#include "observe/log.h"
#include "store/sqlite/conn.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int last_errno(const struct sqlite_db *db, int which_file)
{
    sqlite3_file *file = NULL;
    int code = 0;

    sqlite3_file_control(db->handle, "main", which_file, &file);
    if (file && file->pMethods)
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &code);
    return code;
}

/* True: the system rejected the write as a whole (quota, read-only, file size), which is handled as
 * a full disk. sqlite3_system_errno() does not report this code. A connection of ours writes either
 * to the database file or to the WAL, never to both. */
static bool write_was_rejected(const struct sqlite_db *db)
{
    int code = last_errno(db, SQLITE_FCNTL_FILE_POINTER);

    if (!code)
        code = last_errno(db, SQLITE_FCNTL_JOURNAL_POINTER);
    return code == ENOSPC || code == EDQUOT || code == EROFS || code == EFBIG;
}

bool sqlite_disk_broke(const struct sqlite_db *db)
{
    return (db->code & 0xff) == SQLITE_IOERR && db->failure != ERR_STORE_FULL;
}

/* sum() reports an overflow itself. The overflowing sum of two columns becomes a REAL, which a
 * column of a STRICT table rejects. */
static bool is_sum_too_large(const struct sqlite_db *db, int rc)
{
    struct str words = str_of(sqlite3_errmsg(db->handle));

    return (rc == SQLITE_ERROR && str_eq(words, S("integer overflow"))) ||
           (rc == SQLITE_CONSTRAINT_DATATYPE && str_starts(words, S("cannot store REAL value")));
}

static enum err err_of_code(struct sqlite_db *db, int rc)
{
    if (is_sum_too_large(db, rc))
        return ERR_SUM_TOO_LARGE;
    switch (rc) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID: return ERR_CONFLICT;
    case SQLITE_IOERR_WRITE: return write_was_rejected(db) ? ERR_STORE_FULL : ERR_UNAVAILABLE;
    case SQLITE_IOERR_NOMEM: return ERR_NO_MEMORY;
    /* Also outside of a commit, since a large transaction is written before it. A second fsync that
     * succeeds would prove nothing, so there must not be one. */
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC: db->broken = true; return ERR_UNAVAILABLE;
    default: break;
    }
    switch (rc & 0xff) {
    case SQLITE_CONSTRAINT: return ERR_CONSTRAINT;
    case SQLITE_FULL: return ERR_STORE_FULL;
    case SQLITE_READONLY: return db->read_only ? ERR_INTERNAL : ERR_STORE_FULL;
    case SQLITE_NOMEM: return ERR_NO_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: return ERR_UNAVAILABLE;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: db->broken = true; return ERR_INTERNAL;
    default: return ERR_INTERNAL;
    }
}

enum err sqlite_failed(struct sqlite_db *db, const char *what, int rc)
{
    enum err e = err_of_code(db, rc);

    db->failure = e;
    db->code = rc;
    if (e == ERR_CONFLICT) /* expected in normal work: no message is kept */
        return e;
    snprintf(db->error, sizeof(db->error), "%s: %s", what, sqlite3_errmsg(db->handle));
    if ((e == ERR_CONSTRAINT || e == ERR_SUM_TOO_LARGE || e == ERR_INTERNAL) && db->tx.env->log)
        LOG(db->tx.env->log, LOG_ERROR, "store.statement_failed",
            LOG_TEXT("statement", str_of(what)), LOG_TEXT("error", str_of(db->error)));
    return e;
}

/* --- preparing and binding --- */

static void map_params(struct sqlite_prepared *p)
{
    int n = sqlite3_bind_parameter_count(p->s);

    for (int i = 1; i <= n; i++) {
        struct str name = str_of(sqlite3_bind_parameter_name(p->s, i));
        int64_t number = 0;

        str_cut(&name, '$');
        str_to_i64(name, &number);
        assert(number >= 1 &&
               number <= STATEMENT_PARAMS); /* store/statements/all.h uses $1 and so on */
        p->place[number - 1] = (unsigned char)i;
        if (number > p->params)
            p->params = (unsigned char)number;
    }
}

enum err sqlite_prepare(struct sqlite_db *db, enum stmt stmt)
{
    struct sqlite_prepared *p = &db->statements[stmt];
    int rc;

    if (p->s)
        return OK;
    rc = sqlite3_prepare_v3(db->handle, stmt_sqlite(stmt), -1, SQLITE_PREPARE_PERSISTENT, &p->s,
                            NULL);
    if (rc)
        return sqlite_failed(db, stmt_name(stmt), rc);
    if (!p->s) /* an empty text: the statement is only for PostgreSQL */
        return sqlite_failed(db, stmt_name(stmt), SQLITE_MISUSE);
    map_params(p);
    p->writes = !sqlite3_stmt_readonly(p->s);
    return OK;
}

static int bind_one(sqlite3_stmt *s, int place, const struct val *v)
{
    const char *bytes = v->s.p ? v->s.p : ""; /* a null pointer would bind NULL */

    switch (v->type) {
    case VAL_NULL: return sqlite3_bind_null(s, place);
    case VAL_INT: return sqlite3_bind_int64(s, place, v->i);
    case VAL_TEXT: return sqlite3_bind_text64(s, place, bytes, v->s.n, SQLITE_STATIC, SQLITE_UTF8);
    case VAL_BLOB: return sqlite3_bind_blob64(s, place, bytes, v->s.n, SQLITE_STATIC);
    }
    abort();
}

static enum err bind_all(struct sqlite_db *db, enum stmt stmt, const struct val *v, size_t n)
{
    struct sqlite_prepared *p = &db->statements[stmt];

    assert(n >= p->params && n <= STATEMENT_PARAMS); /* an unbound one would keep its old value */
    for (size_t i = 0; i < n; i++) {
        int rc = p->place[i] ? bind_one(p->s, p->place[i], &v[i]) : SQLITE_OK;

        if (rc)
            return sqlite_failed(db, stmt_name(stmt), rc);
    }
    return OK;
}

/* A failed statement may have rolled back the whole transaction. Another statement of the unit would
 * then commit by itself, so it is rejected; the batch notices and starts over. */
static enum err statement_start(struct sqlite_db *db, enum stmt stmt, const struct val *v, size_t n)
{
    enum err e;

    if (sqlite3_get_autocommit(db->handle))
        return db->failure ? db->failure : ERR_UNAVAILABLE;
    e = sqlite_prepare(db, stmt);
    return e ? e : bind_all(db, stmt, v, n);
}

/* --- rows --- */

static bool copy_bytes(struct sqlite_db *db, sqlite3_stmt *s, int i, struct val *ret)
{
    const void *p =
        ret->type == VAL_TEXT ? (const void *)sqlite3_column_text(s, i) : sqlite3_column_blob(s, i);
    struct str bytes = { p, (size_t)sqlite3_column_bytes(s, i) };

    ret->s = arena_str(&db->tx.scratch, bytes);
    return ret->s.p != NULL;
}

static bool copy_column(struct sqlite_db *db, sqlite3_stmt *s, int i, struct val *ret)
{
    *ret = V_NULL;
    switch (sqlite3_column_type(s, i)) {
    case SQLITE_NULL: return true;
    case SQLITE_TEXT: ret->type = VAL_TEXT; return copy_bytes(db, s, i, ret);
    case SQLITE_BLOB: ret->type = VAL_BLOB; return copy_bytes(db, s, i, ret);
    default: *ret = V_INT(sqlite3_column_int64(s, i)); return true;
    }
}

static enum err copy_row(struct sqlite_db *db, sqlite3_stmt *s, struct row *ret_row)
{
    ret_row->count = sqlite3_column_count(s);
    assert(ret_row->count <= ROW_COLUMNS);
    for (int i = 0; i < ret_row->count; i++)
        if (!copy_column(db, s, i, &ret_row->col[i]))
            return db->failure = ERR_NO_MEMORY;
    return OK;
}

/* Gives every row to `each` until the rows end or it fails; resets the statement. */
static enum err statement_run(struct sqlite_db *db, enum stmt stmt, tx_each_fn each, void *ctx)
{
    sqlite3_stmt *s = db->statements[stmt].s;
    enum err e = OK;
    struct row row;
    int rc;

    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (!each)
            continue;
        e = copy_row(db, s, &row);
        if (!e)
            e = each(ctx, &row);
        if (e)
            break;
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        e = sqlite_failed(db, stmt_name(stmt), rc);
    sqlite3_reset(s);
    return e;
}

/* --- the operations --- */

static enum err db_exec(struct tx *tx, enum stmt stmt, int64_t expected, const struct val *v,
                        size_t n)
{
    struct sqlite_db *db = (struct sqlite_db *)tx;
    enum err e = statement_start(db, stmt, v, n);

    if (!e)
        e = statement_run(db, stmt, NULL, NULL);
    if (!e && expected >= 0 && sqlite3_changes64(db->handle) != expected)
        e = ERR_STALE;
    return e;
}

/* A statement that reads stops at the first row. One that writes is run to its end. */
static enum err db_row(struct tx *tx, enum stmt stmt, const struct val *v, size_t n,
                       struct row *ret_row)
{
    struct sqlite_db *db = (struct sqlite_db *)tx;
    enum err e = statement_start(db, stmt, v, n);
    sqlite3_stmt *s = db->statements[stmt].s;
    int rc;

    if (e)
        return e;
    rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        e = copy_row(db, s, ret_row);
    else if (rc == SQLITE_DONE) /* without RETURNING: OK if it changed a row */
        e = !sqlite3_column_count(s) && sqlite3_changes64(db->handle) ? OK : ERR_NOT_FOUND;
    while (rc == SQLITE_ROW && db->statements[stmt].writes)
        rc = sqlite3_step(s);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        e = sqlite_failed(db, stmt_name(stmt), rc);
    sqlite3_reset(s);
    return e;
}

/* RETURNING makes SQLite keep the rows in a temporary table until the statement has ended, which
 * costs more than most writes. Where a count is enough, `each` gets an empty row for each change. */
static enum err each_change(struct sqlite_db *db, tx_each_fn each, void *ctx)
{
    static const struct row changed = { 0 };
    enum err e = OK;

    for (int64_t n = sqlite3_changes64(db->handle); n > 0 && !e; n--)
        e = each(ctx, &changed);
    return e;
}

static enum err db_each(struct tx *tx, enum stmt stmt, const struct val *v, size_t n,
                        tx_each_fn each, void *ctx)
{
    struct sqlite_db *db = (struct sqlite_db *)tx;
    enum err e = statement_start(db, stmt, v, n);

    if (!e)
        e = statement_run(db, stmt, each, ctx);
    if (!e && each && !sqlite3_column_count(db->statements[stmt].s))
        e = each_change(db, each, ctx);
    return e;
}

static enum err db_bulk(struct tx *tx, enum stmt stmt, const struct val *v, size_t rows,
                        size_t columns, tx_each_fn each, void *ctx)
{
    for (size_t i = 0; i < rows; i++) {
        enum err e = db_each(tx, stmt, v + i * columns, columns, each, ctx);

        if (e)
            return e;
    }
    return OK;
}

const struct tx_ops sqlite_tx_ops = {
    .exec = db_exec,
    .row = db_row,
    .each = db_each,
    .bulk = db_bulk,
};
