/* backup.h - copies a database that a server is using, and checks that the copy can be used.
 *
 *   (1) The copy is a snapshot: later writes are not in it, and no transaction waits for it. On
 *       SQLite the write-ahead log cannot be emptied until the copy is made.
 *   (2) The copy gets its name only when it is complete and synced. An existing file is an error.
 *   (3) Checked means: it was opened (SQLite) or restored into a scratch database (PostgreSQL), and
 *       every table has as many rows as in the snapshot. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/why.h"

#include <signal.h>
#include <stdint.h>

struct backup {
    const char *from;  /* a SQLite file's path, or postgres://... */
    const char *to;    /* a path; no file may exist there */
    bool unchecked;    /* PostgreSQL: skip the check, as when its user may not create databases */
    const char *spare; /* PostgreSQL: the name of the scratch database; it must not exist */
    void (*tell)(void *ctx, int64_t done, int64_t total); /* bytes; total 0: not known */
    void *ctx;

    int64_t bytes, rows; /* out */
    int tables;
};

/* `why` says what to do, in one line. CONFLICT: the name is taken. UNPROCESSABLE: the copy failed
 * its check and was removed; or, on PostgreSQL, it could not be checked and was kept. */
enum err sqlite_backup(struct backup *b, struct why *why);
enum err postgres_backup(struct backup *b, struct why *why);

/* --- for both --- */

enum { BACKUP_PATH = 4200, BACKUP_TABLES = 256, BACKUP_NAME = 64 };

struct backup_table {
    char name[BACKUP_NAME];
    int64_t rows;
};

/* Creates a temporary file (0600) beside b->to; `part` is its path, empty on failure. */
enum err backup_begin(const struct backup *b, char part[BACKUP_PATH], struct why *why);
void backup_drop(const char *part); /* removes it; empty: does nothing */
/* Syncs the temporary file, then gives it its name. */
enum err backup_end(struct backup *b, const char *part, struct why *why);

/* Called before any thread is started: blocks the signals that end the process (Ctrl-C), so that
 * the backup can remove its temporary files first. */
void backup_hold_signals(void);
bool backup_is_cancelled(void); /* True: one of these signals is pending. */
