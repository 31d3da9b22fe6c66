/* db.h - one SQLite connection: its pragmas, prepared statements and transactions. It has no
 * threads: store.c gives one connection each to its writer, its readers and its checkpointer; the
 * simulator gives one to each node.
 *
 *   (1) One thread at a time. Units are returned (executor_post) from the thread that called run or
 *       read.
 *   (2) WAL, synchronous=FULL: what sqlite_db_run() returned as OK was fsynced through the VFS.
 *   (3) Only sqlite_db_checkpoint() and sqlite_db_close() checkpoint. */
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
    bool sandbox;   /* sql/sandbox is applied too; synchronous=NORMAL: survives kill -9 only */
    int cache_kb;   /* 0: the size of the writer's */
};

enum { SQLITE_BATCH_MAX = 256 }; /* units in one sqlite_db_run() */

/* Configures the library, once in a process. Every open does it. A program that registers its own
 * VFS calls it before that, since the first use of the library fixes its configuration. */
void sqlite_setup(void);

/* Opens, and creates the file unless read_only. On failure `why` says what to do, in one line. */
enum err sqlite_db_open(const struct sqlite_options *o, struct env *env, struct sqlite_db **ret_db,
                        struct why *why);

/* Applies the migrations that are missing, each in a transaction of its own. CONFLICT: the file was
 * written by a newer program. */
enum err sqlite_db_migrate(struct sqlite_db *db, struct why *why);

/* Runs the units in one commit, in their order except that units of a bulk kind are gathered. Then
 * runs the hooks and returns each unit with its verdict. Not OK: the commit as a whole failed, and
 * the units were returned with that error. UNCERTAIN is the exception: the result of the commit is
 * unknown or the file is damaged, no unit was returned, and the caller must end the process
 * (sqlite_db_error() says why). */
enum err sqlite_db_run(struct sqlite_db *db, struct unit **units, size_t n);

/* Runs one unit that only reads, in a read transaction of its own, and returns it. UNCERTAIN: the
 * file is damaged, as above. */
enum err sqlite_db_read(struct sqlite_db *db, struct unit *u);

/* Copies what can be copied from the WAL to the database; never waits for readers. */
enum err sqlite_db_checkpoint(struct sqlite_db *db);
/* The size of the WAL after the last commit of this connection. */
int64_t sqlite_db_wal_frames(const struct sqlite_db *db);
int64_t sqlite_db_wal_bytes(const struct sqlite_db *db);

/* The message of the last failed statement or commit. Valid until the next failure. */
const char *sqlite_db_error(const struct sqlite_db *db);

/* Both take NULL. Close empties the WAL if it is the last connection; abandon leaves the files as
 * they are, as a crash would. */
void sqlite_db_close(struct sqlite_db *db);
void sqlite_db_abandon(struct sqlite_db *db);
