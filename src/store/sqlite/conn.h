/* conn.h - the inside of one connection. Only store/sqlite/ includes this. */
#pragma once

#include "store/driver.h"
#include "store/sqlite/db.h"

#include <sqlite3.h>

/* A prepared statement. SQLite numbers $n by first use: place[n - 1] is its number for $n. */
struct sqlite_prepared {
    sqlite3_stmt *s;
    unsigned char place[STATEMENT_PARAMS]; /* 0: this text does not use it */
    unsigned char params;                  /* the largest n */
    bool writes;
};

enum sqlite_control {
    CONTROL_BEGIN,
    CONTROL_BEGIN_READ,
    CONTROL_COMMIT,
    CONTROL_ROLLBACK,
    CONTROL_SAVEPOINT,
    CONTROL_RELEASE,
    CONTROL_ROLLBACK_TO,
    CONTROLS
};

struct sqlite_db {
    struct tx tx; /* first */
    sqlite3 *handle;
    struct sqlite_prepared statements[STMT_COUNT];
    sqlite3_stmt *controls[CONTROLS];
    struct arena_mark scratch; /* where each unit's scratch begins */
    bool read_only, sandbox;
    bool broken;      /* damaged, or a sync failed: no result of it may be reported */
    bool wrote;       /* the last commit reached the WAL */
    enum err failure; /* of the last statement that failed */
    int code;         /* SQLite's result code for that failure */
    int64_t wal_frames;
    int page_size;
    char error[200];
};

extern const struct tx_ops sqlite_tx_ops; /* tx.c */

/* Translates a result code and keeps its message for sqlite_db_error(). */
enum err sqlite_failed(struct sqlite_db *db, const char *what, int rc);
/* True: the last failure was an I/O error, other than a full or read-only disk. */
bool sqlite_disk_broke(const struct sqlite_db *db);

/* Prepares a statement unless it is prepared already. */
enum err sqlite_prepare(struct sqlite_db *db, enum stmt stmt);
/* Runs BEGIN, COMMIT and the like; the result code is SQLite's. */
int sqlite_control(struct sqlite_db *db, enum sqlite_control what);
/* Between two units: frees the bytes of the rows that were read. */
void sqlite_scratch_reset(struct sqlite_db *db);

/* fsyncs the database file through the handle that SQLite has open. */
enum err sqlite_sync_file(struct sqlite_db *db);
