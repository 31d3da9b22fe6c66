/* migrate.c - applies the missing migrations, forward only. Each migration and its row in
 * schema_migrations are one transaction: after a crash the next start goes on with the next one. */
#include "store/sqlite/conn.h"

#include <limits.h>
#include <string.h>

static const char make_table[] = "CREATE TABLE IF NOT EXISTS schema_migrations ("
                                 " number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                                 " applied_at INTEGER NOT NULL) STRICT";

static int migrate_exec(struct sqlite_db *db, const char *sql)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
}

/* The largest applied number below `end`; 0 for a new file. */
static int migrate_applied(struct sqlite_db *db, int end, int *ret_number)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(
        db->handle, "SELECT coalesce(max(number), 0) FROM schema_migrations WHERE number < ?1", -1,
        &s, NULL);

    if (!rc)
        rc = sqlite3_bind_int(s, 1, end);
    if (!rc && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        *ret_number = sqlite3_column_int(s, 0);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(s);
    return rc;
}

static int migrate_record(struct sqlite_db *db, const struct migration *m)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db->handle,
                                "INSERT INTO schema_migrations (number, name, applied_at)"
                                " VALUES (?1, ?2, ?3)",
                                -1, &s, NULL);

    if (!rc) {
        sqlite3_bind_int(s, 1, m->number);
        sqlite3_bind_text(s, 2, m->name, -1, SQLITE_STATIC);
        sqlite3_bind_int64(s, 3, env_now_ms(db->tx.env));
        rc = sqlite3_step(s);
    }
    sqlite3_finalize(s);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int migrate_apply(struct sqlite_db *db, const struct migration *m)
{
    int rc = migrate_exec(db, "BEGIN IMMEDIATE");

    if (!rc)
        rc = migrate_exec(db, m->sql);
    if (!rc)
        rc = migrate_record(db, m);
    return rc ? rc : migrate_exec(db, "COMMIT");
}

static enum err migrate_failed(struct sqlite_db *db, const char *what, int rc, struct why *why)
{
    enum err e = sqlite_failed(db, what, rc);

    why_set(why, "migrating %s: %s", sqlite3_db_filename(db->handle, "main"), db->error);
    if (!sqlite3_get_autocommit(db->handle))
        migrate_exec(db, "ROLLBACK");
    return e;
}

static enum err migrate_apply_list(struct sqlite_db *db, const struct migration *list, int end,
                                   struct why *why)
{
    const struct migration *m = list;
    int number = 0, rc = migrate_applied(db, end, &number);

    if (rc)
        return migrate_failed(db, "schema_migrations", rc, why);
    for (; m->number; m++) {
        if (m->number <= number)
            continue;
        rc = migrate_apply(db, m);
        if (rc)
            return migrate_failed(db, m->name, rc, why);
        number = m->number;
    }
    if (m != list && number > m[-1].number)
        return why_err(why, ERR_CONFLICT,
                       "%s was written by a newer version (its tables are number %d, ours %d)",
                       sqlite3_db_filename(db->handle, "main"), number, m[-1].number);
    return OK;
}

/* The sandbox's numbers are above all others, so that both lists can grow. A server that is given
 * the sandbox's file takes it for that of a newer version and rejects it. */
enum err sqlite_db_migrate(struct sqlite_db *db, struct why *why)
{
    int rc = migrate_exec(db, make_table);
    enum err e;

    if (rc)
        return migrate_failed(db, "schema_migrations", rc, why);
    e = migrate_apply_list(db, sqlite_migrations, db->sandbox ? SANDBOX_MIGRATIONS : INT_MAX, why);
    if (e || !db->sandbox)
        return e;
    return migrate_apply_list(db, sandbox_migrations, INT_MAX, why);
}
