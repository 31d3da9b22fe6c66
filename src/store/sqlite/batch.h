/* batch.h - many units in one commit. The writer thread and the simulator both use it.
 *
 *   (1) Each unit runs under a savepoint; a unit that fails is rolled back alone.
 *   (2) Units of a bulk kind run together under one savepoint; if that fails, each runs alone.
 *   (3) If SQLite rolled back the whole transaction, the unit that was running is set aside, the
 *       others run again, and it gets a commit of its own afterwards.
 *   (4) No hook runs and no verdict is returned before the commit; none at all after a commit whose
 *       result is unknown. */
#pragma once

#include "store/sqlite/conn.h"

/* The result of one commit. */
struct sqlite_commit {
    enum err err;   /* of the commit as a whole */
    bool wrote;     /* it reached the WAL */
    bool full;      /* a unit met a full disk */
    int64_t units;  /* that were in the commit */
    int64_t errors; /* of them: ended with STORE_FULL or UNAVAILABLE */
    int64_t us;     /* duration of COMMIT itself */
};

struct sqlite_batch {
    struct sqlite_db *db;
    struct unit *units[SQLITE_BATCH_MAX]; /* the first `done` have run and have their verdict */
    struct unit *aside[LIMIT_RERUNS];
    size_t count, done, aside_count;
    bool begun, one_by_one, last_chance;
    int reruns;
    enum err failed; /* the batch as a whole failed; no further unit is run */

    /* Optional: called for each commit, before its hooks and verdicts. */
    void (*committed)(void *ctx, const struct sqlite_commit *c);
    void *ctx;
};

void sqlite_batch_init(struct sqlite_batch *b, struct sqlite_db *db);
size_t sqlite_batch_room(const struct sqlite_batch *b);

/* Runs the units, and begins the transaction before the first. n is at most sqlite_batch_room(). */
void sqlite_batch_add(struct sqlite_batch *b, struct unit **units, size_t n);

/* Commits and returns every unit. UNCERTAIN: no unit was returned, see sqlite_db_run(). */
enum err sqlite_batch_finish(struct sqlite_batch *b);
