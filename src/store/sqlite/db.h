/* db.h - one SQLite connection: its pragmas, prepared statements and transactions. It knows
 * no threads: store.c gives one to its writer, its readers and its checkpointer, the
 * simulator uses one alone.
 *
 *   (1) One thread at a time. Units come back (executor_post) from the thread that called run or
 *       read.
 *   (2) WAL, synchronous=FULL: what sqlite_db_run() gave back as OK was fsynced through the VFS.
 *   (3) Nothing is checkpointed unless asked for. */
#pragma once

#include "base/env.h"
#include "base/err.h"
#include "base/why.h"
#include "store/store.h"

struct sqlite_db;

struct sqlite_options {
    const char *path;
    const char *vfs;     /* NULL: the system's; else the name of a registered one */
    const char *mode_of; /* optional: new files get the permissions of this file */
    bool exclusive; /* locking_mode=EXCLUSIVE: WAL without shared memory, no second connection */
    bool read_only; /* a reader: the database must exist, and nothing can be written */
    bool sandbox;   /* sql/sandbox is applied too; synchronous=NORMAL: safe against kill -9 alone */
    int cache_kb;   /* 0: the writer's */
};

enum { SQLITE_BATCH_MAX = 256 }; /* units in one sqlite_db_run() */

/* Sets the library up, once a process. Done by every open; who registers a VFS of his own calls it
 * before that, since the first use of the library fixes its configuration. */
void sqlite_setup(void);

/* Opens, and creates the file unless read_only. On failure `why` says what to do, in one line. */
enum err sqlite_db_open(const struct sqlite_options *o, struct env *env, struct sqlite_db **ret_db,
                        struct why *why);

/* Applies the migrations that are missing, each in a transaction of its own. CONFLICT: the file was
 * written by a newer program. */
enum err sqlite_db_migrate(struct sqlite_db *db, struct why *why);

/* Runs the units (front and back, in this order except that a bulk kind's are gathered) in one
 * commit, runs the hooks, and gives each unit back with its verdict. Not OK: why the commit as a
 * whole failed; the units were given back with that. UNCERTAIN is the exception: the commit's fate
 * is not known or the file is damaged, nobody was answered, and the caller must stop for good
 * (sqlite_db_error says why). */
enum err sqlite_db_run(struct sqlite_db *db, struct unit **units, size_t n);

/* Runs one unit that only reads, in a read transaction of its own, and gives it back. UNCERTAIN:
 * the file is damaged, as above. */
enum err sqlite_db_read(struct sqlite_db *db, struct unit *u);

/* Copies what can be copied from the WAL to the database; never waits for readers. */
enum err sqlite_db_checkpoint(struct sqlite_db *db);
int64_t sqlite_db_wal_frames(
    const struct sqlite_db *db); /* after the last commit of this connection */
int64_t sqlite_db_wal_bytes(const struct sqlite_db *db);

/* Words for the last failure of a statement or a commit. Valid until the next one. */
const char *sqlite_db_error(const struct sqlite_db *db);

/* Both take NULL. Close empties the WAL if it is the last connection; abandon leaves the files as
 * they are, as a crash would. */
void sqlite_db_close(struct sqlite_db *db);
void sqlite_db_abandon(struct sqlite_db *db);
