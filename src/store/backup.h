/* backup.h - a copy of the database while a server uses it, and the proof that it can be used.
 *
 *   (1) The copy is the database of one moment, whatever is written meanwhile; nobody waits for it.
 *       SQLite: its write-ahead log cannot be emptied until the copy is made.
 *   (2) It gets its name when it is whole and on the disk. What stands there before is an error.
 *   (3) Checked means: it was opened (SQLite) or restored into a database of its own (PostgreSQL),
 *       and every table has as many rows as at that moment. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/why.h"

#include <signal.h>
#include <stdint.h>

struct backup {
    const char *from;  /* a SQLite file's path, or postgres://... */
    const char *to;    /* a path: nothing may be there */
    bool unchecked;    /* PostgreSQL: its user may not make databases */
    const char *spare; /* PostgreSQL: the name of that database; nobody else has it */
    void (*tell)(void *ctx, int64_t done, int64_t total); /* bytes; total 0: not known */
    void *ctx;

    int64_t bytes, rows; /* out */
    int tables;
};

/* `why` says what to do, in one line. CONFLICT: the name is taken. UNPROCESSABLE: the copy
 * was not what it should be, and is gone; or, PostgreSQL, it could not be checked, and stays. */
enum err sqlite_backup(struct backup *b, struct why *why);
enum err postgres_backup(struct backup *b, struct why *why);

/* --- for both --- */

enum { BACKUP_PATH = 4200, BACKUP_TABLES = 256, BACKUP_NAME = 64 };

struct backup_table {
    char name[BACKUP_NAME];
    int64_t rows;
};

/* A file beside it that is made new, for us alone; empty where that failed. */
enum err backup_begin(const struct backup *b, char part[BACKUP_PATH], struct why *why);
void backup_drop(const char *part); /* empty: nothing to do */
/* Its bytes are on the disk, and then it has its name. */
enum err backup_end(struct backup *b, const char *part, struct why *why);

/* For the caller, before any thread is there: who ends us (Ctrl-C) waits until what was made on the
 * way is gone again. For the two above: does somebody want that? */
void backup_hold_signals(void);
bool backup_is_unwanted(void);
