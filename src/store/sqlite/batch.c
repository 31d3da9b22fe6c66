/* batch.c - runs a batch of units in one transaction and commits it. batch.h has the invariants.
 *
 *   BEGIN IMMEDIATE --> SAVEPOINT, unit, RELEASE --> ... --> COMMIT --> hooks --> verdicts
 *                          |   '-- failed: ROLLBACK TO
 *                          '-- SQLite rolled back everything: set the unit aside, start over
 *
 * A crash before COMMIT reached the disk leaves nothing. A crash after it leaves a commit of which
 * no unit heard: a unit that is posted again collides with its own ids. */
#include "store/sqlite/batch.h"

#include <assert.h>

void sqlite_batch_init(struct sqlite_batch *b, struct sqlite_db *db)
{
    *b = (struct sqlite_batch){ .db = db };
}

size_t sqlite_batch_room(const struct sqlite_batch *b)
{
    return SQLITE_BATCH_MAX - b->count;
}

static struct faults *batch_faults(struct sqlite_batch *b)
{
    return &b->db->tx.env->faults;
}

/* --- the transaction --- */

static enum err batch_begin(struct sqlite_batch *b)
{
    enum err e = fault_point(batch_faults(b), "store.begin");
    int rc;

    assert(!b->db->tx.hook_count);
    b->db->failure = OK;
    b->db->wrote = false;
    if (e)
        return e;
    rc = sqlite_control(b->db, CONTROL_BEGIN);
    b->begun = !rc;
    return rc ? sqlite_failed(b->db, "begin", rc) : OK;
}

static void batch_roll_back(struct sqlite_batch *b)
{
    if (!sqlite3_get_autocommit(b->db->handle))
        sqlite_control(b->db, CONTROL_ROLLBACK);
    tx_drop_hooks(&b->db->tx, 0);
    b->begun = false;
}

/* STORE_FULL, CONSTRAINT and BUSY are reported before the commit's frames are complete, so nothing
 * was committed. After any other failure (a write, an fsync, memory for the index) the frames may or
 * may not be on the disk, and reading the same file again proves neither. */
static enum err batch_commit(struct sqlite_batch *b)
{
    enum err e = fault_point(batch_faults(b), "store.commit");
    int rc;

    if (e)
        return e == ERR_INTERNAL ? ERR_UNCERTAIN : e;
    rc = sqlite_control(b->db, CONTROL_COMMIT);
    if (!rc)
        return OK;
    e = sqlite_failed(b->db, "commit", rc);
    if (e == ERR_STORE_FULL || e == ERR_CONSTRAINT || (rc & 0xff) == SQLITE_BUSY)
        return e;
    return ERR_UNCERTAIN;
}

/* --- running units --- */

/* Releases the savepoint, after rolling back to it if e is an error. False: SQLite rolled back the
 * whole transaction, or it must be rolled back. */
static bool batch_close_savepoint(struct sqlite_batch *b, enum err e, size_t hooks)
{
    struct sqlite_db *db = b->db;

    if (sqlite3_get_autocommit(db->handle))
        return false;
    if (e) {
        tx_drop_hooks(&db->tx, hooks);
        if (sqlite_control(db, CONTROL_ROLLBACK_TO))
            return false;
    }
    return sqlite_control(db, CONTROL_RELEASE) == SQLITE_OK;
}

/* False: the whole transaction is rolled back or must be. */
static bool batch_run_one(struct sqlite_batch *b, struct unit *u)
{
    size_t hooks = b->db->tx.hook_count;
    enum err e;

    sqlite_scratch_reset(b->db);
    b->db->failure = OK;
    unit_begin(u);
    if (sqlite_control(b->db, CONTROL_SAVEPOINT))
        return false;
    e = u->kind->run(&b->db->tx, u);
    u->err = e;
    return batch_close_savepoint(b, e, hooks);
}

/* Sets *ret_err to the result of run_many; OK means that each unit has its verdict. False: as
 * above. */
static bool batch_run_many(struct sqlite_batch *b, struct unit **units, size_t n, enum err *ret_err)
{
    size_t hooks = b->db->tx.hook_count;

    sqlite_scratch_reset(b->db);
    b->db->failure = OK;
    for (size_t i = 0; i < n; i++)
        unit_begin(units[i]);
    *ret_err = OK;
    if (sqlite_control(b->db, CONTROL_SAVEPOINT))
        return false;
    *ret_err = units[0]->kind->run_many(&b->db->tx, units, n);
    return batch_close_savepoint(b, *ret_err, hooks);
}

/* Moves units of the next unit's kind directly behind it; returns how many of them stand together. */
static size_t batch_gather(struct sqlite_batch *b)
{
    struct unit **u = b->units + b->done;
    size_t n = b->count - b->done, same = 1;

    if (b->one_by_one || !u[0]->kind->run_many)
        return 1;
    for (size_t i = 1; i < n && same < LIMIT_BULK; i++) {
        struct unit *found = u[i];

        if (found->kind != u[0]->kind)
            continue;
        for (size_t k = i; k > same; k--)
            u[k] = u[k - 1];
        u[same++] = found;
    }
    return same;
}

/* The transaction is lost while `offender` was running (NULL: a bulk, so the unit is not known).
 * All others run again, at most LIMIT_RERUNS times: a broken disk fails every unit. */
static void batch_start_over(struct sqlite_batch *b, struct unit *offender)
{
    enum err e = b->db->failure ? b->db->failure : ERR_UNAVAILABLE;

    batch_roll_back(b);
    if (b->last_chance || b->reruns++ == LIMIT_RERUNS || b->db->broken) {
        /* an error of one unit is not the verdict of the others */
        b->failed = b->last_chance || err_is_retryable(e) ? e : ERR_UNAVAILABLE;
        return;
    }
    if (!offender) {
        b->one_by_one = true;
    } else {
        b->aside[b->aside_count++] = offender;
        b->count--;
        for (size_t i = b->done; i < b->count; i++)
            b->units[i] = b->units[i + 1];
    }
    b->done = 0;
}

static void batch_run_next(struct sqlite_batch *b)
{
    struct unit **u = b->units + b->done;
    size_t n = batch_gather(b);
    enum err e = ERR_INTERNAL;

    if (n > 1 && !batch_run_many(b, u, n, &e)) {
        batch_start_over(b, NULL);
        return;
    }
    if (n > 1 && !e) {
        b->done += n;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!batch_run_one(b, u[i])) {
            batch_start_over(b, u[i]);
            return;
        }
        b->done++;
    }
}

void sqlite_batch_add(struct sqlite_batch *b, struct unit **units, size_t n)
{
    assert(n <= sqlite_batch_room(b));
    for (size_t i = 0; i < n; i++)
        b->units[b->count++] = units[i];
    while (b->done < b->count && !b->failed && !b->db->broken) {
        if (!b->begun)
            b->failed = batch_begin(b);
        if (!b->failed)
            batch_run_next(b);
    }
}

/* --- the end --- */

static void batch_settle(struct sqlite_batch *b, struct sqlite_commit *c)
{
    for (size_t i = 0; i < b->count; i++) {
        struct unit *u = b->units[i];

        if (c->err)
            u->err = c->err;
        c->full |= u->err == ERR_STORE_FULL;
        c->errors += u->err == ERR_STORE_FULL || u->err == ERR_UNAVAILABLE;
    }
    c->units = (int64_t)b->count;
    if (b->committed)
        b->committed(b->ctx, c);
}

static void batch_answer(struct sqlite_batch *b)
{
    tx_run_hooks(&b->db->tx);
    for (size_t i = 0; i < b->count; i++)
        unit_complete(b->units[i], b->units[i]->err);
    b->count = b->done = 0;
}

static enum err batch_finish_commit(struct sqlite_batch *b)
{
    const struct clock *clock = &b->db->tx.env->clock;
    int64_t began = clock_mono_us(clock);
    struct sqlite_commit c = { .err = b->failed };

    if (!c.err && b->begun && !b->db->broken)
        c.err = batch_commit(b);
    if (b->db->broken)
        batch_roll_back(b);
    if (b->db->broken || c.err == ERR_UNCERTAIN)
        return ERR_UNCERTAIN;
    c.us = clock_mono_us(clock) - began;
    c.wrote = !c.err && b->begun && b->db->wrote;
    if (c.err)
        batch_roll_back(b);
    else
        fault_point(batch_faults(b), "store.committed");
    b->begun = false;
    batch_settle(b, &c);
    batch_answer(b);
    return c.err;
}

/* Runs the units that were set aside, each in a commit of its own. */
static enum err batch_finish_aside(struct sqlite_batch *b)
{
    enum err worst = OK;

    b->last_chance = true;
    for (size_t i = 0; i < b->aside_count && worst != ERR_UNCERTAIN; i++) {
        enum err e;

        b->failed = OK;
        sqlite_batch_add(b, &b->aside[i], 1);
        e = batch_finish_commit(b);
        worst = e ? e : worst;
    }
    b->aside_count = 0;
    return worst;
}

enum err sqlite_batch_finish(struct sqlite_batch *b)
{
    enum err e, aside;

    e = batch_finish_commit(b);
    if (e == ERR_UNCERTAIN)
        return e;
    aside = batch_finish_aside(b);
    sqlite_scratch_reset(b->db);
    return aside ? aside : e;
}

enum err sqlite_db_run(struct sqlite_db *db, struct unit **units, size_t n)
{
    struct sqlite_batch b;

    sqlite_batch_init(&b, db);
    sqlite_batch_add(&b, units, n);
    return sqlite_batch_finish(&b);
}

/* --- reading --- */

enum err sqlite_db_read(struct sqlite_db *db, struct unit *u)
{
    int rc = sqlite_control(db, CONTROL_BEGIN_READ);
    enum err e;

    db->failure = OK;
    sqlite_scratch_reset(db);
    unit_begin(u);
    e = rc ? sqlite_failed(db, "begin", rc) : u->kind->run(&db->tx, u);
    if (!sqlite3_get_autocommit(db->handle))
        sqlite_control(db, CONTROL_ROLLBACK); /* it only read */
    if (e)
        tx_drop_hooks(&db->tx, 0);
    sqlite_scratch_reset(db);
    if (db->broken)
        return ERR_UNCERTAIN; /* its rows cannot be trusted, so no verdict is returned */
    tx_run_hooks(&db->tx);
    unit_complete(u, e);
    return OK;
}
