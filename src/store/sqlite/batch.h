/* batch.h - many units, one commit. The writer thread and the simulator both use it.
 *
 *   (1) Each unit runs under a savepoint; what fails is rolled back alone.
 *   (2) Units of a bulk kind run together under one savepoint; if that fails, each alone.
 *   (3) If SQLite threw the whole transaction away, the offender is set aside, the others run
 * again, and the offender gets a commit of its own afterwards. (4) Nothing is told (hooks,
 * verdicts) before the commit, and nothing at all after a commit whose fate is unknown. */
#pragma once

#include "store/sqlite/conn.h"

/* What a commit came to. */
struct sqlite_commit {
    enum err err;          /* of the commit as a whole */
    bool wrote;            /* it reached the WAL */
    bool full;             /* a unit met a full disk */
    int64_t units, errors; /* that ran; that the database itself failed */
    int64_t us;            /* the commit alone */
};

struct sqlite_batch {
    struct sqlite_db *db;
    struct unit *units[SQLITE_BATCH_MAX]; /* those before `done` have run and have their verdict */
    struct unit *aside[LIMIT_RERUNS];
    size_t count, done, aside_count;
    bool begun, one_by_one, last_chance;
    int reruns;
    enum err failed; /* the batch as a whole; nothing more is run */

    /* Optional: hears of each commit before anybody else does. */
    void (*committed)(void *ctx, const struct sqlite_commit *c);
    void *ctx;
};

void sqlite_batch_init(struct sqlite_batch *b, struct sqlite_db *db);
size_t sqlite_batch_room(const struct sqlite_batch *b);

/* Begins the transaction if that is to be done, and runs them. n is within the room. */
void sqlite_batch_add(struct sqlite_batch *b, struct unit **units, size_t n);

/* Commits and sends everybody back. UNCERTAIN: nobody was, see sqlite_db_run(). */
enum err sqlite_batch_finish(struct sqlite_batch *b);
