/* cancel.c - cancels messages, and those that a deleted queue left.
 *
 *   (1) A message that waits ends at once. One with an attempt under way is marked: the attempt
 *       ends as it will, and no other follows.
 *   (2) The limiters of all messages of a unit are locked before any of them is written.
 *
 * Sweeping a deleted queue is a chain of jobs, a step and the next job in one commit; a crash
 * leaves the job of the next step. */
#include "base/json/json.h"
#include "base/limits.h"
#include "qstash/rows.h"
#include "store/values.h"

#include <assert.h>

struct canceled {
    struct parcel parcel; /* as much as live_read_to_leave() reads */
    struct live live;
};

static enum err cancel_log(struct tx *tx, struct uuid id, enum qstash_state state, int64_t now_ms)
{
    return log_add(tx, &(struct log_entry){ .id = id, .at_ms = now_ms, .state = state });
}

static enum err cancel_end(struct qstash *q, struct tx *tx, const struct canceled *d,
                           int64_t now_ms)
{
    enum err e = cancel_log(tx, d->parcel.id, QSTASH_CANCEL_REQUESTED, now_ms);

    if (!e)
        e = cancel_log(tx, d->parcel.id, QSTASH_CANCELED, now_ms);
    return e ? e : parcel_leave(q, tx, &d->parcel, &d->live);
}

static enum err cancel_mark(struct tx *tx, const struct canceled *d, int64_t now_ms)
{
    enum err e;

    if (d->live.cancel)
        return OK;
    e = cancel_log(tx, d->parcel.id, QSTASH_CANCEL_REQUESTED, now_ms);
    return e ? e : TX_DO(tx, STMT_qstash_live_cancel, -1, v_uuid(&d->parcel.id));
}

/* Reads it again: the end of the one before may have started it. NOT_FOUND: it has ended. */
static enum err cancel_one(struct qstash *q, struct tx *tx, struct arena *a, struct uuid id,
                           int64_t now_ms)
{
    struct canceled d;
    enum err e = live_read_to_leave(tx, a, id, &d.live, &d.parcel);

    if (e)
        return e;
    if (d.live.place == PLACE_GIVEN)
        e = queue_cancel(q->queue, tx, id, now_ms);
    if (e == ERR_NOT_FOUND)
        return cancel_mark(tx, &d, now_ms);
    return e ? e : cancel_end(q, tx, &d, now_ms);
}

/* Locks the limiters of all messages (2). */
static enum err cancel_lock_limiters(struct tx *tx, struct arena *a, const struct uuid *ids,
                                     size_t n)
{
    int64_t lanes[2 * LIMIT_QSTASH_CANCEL];
    struct arena_mark mark = arena_mark(a);
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        struct live l;
        enum err e = live_read(tx, a, ids[i], &l);

        if (e && e != ERR_NOT_FOUND)
            return e;
        if (!e)
            count += gate_lanes(&l, lanes + count);
        arena_rewind(a, mark);
    }
    return queue_lock_lanes(tx, lanes, count);
}

static enum err cancel_all(struct qstash *q, struct tx *tx, struct arena *a, const struct uuid *ids,
                           size_t n, int64_t *ret_count)
{
    int64_t now_ms = env_now_ms(q->env);
    struct arena_mark mark = arena_mark(a);
    enum err e = cancel_lock_limiters(tx, a, ids, n);

    *ret_count = 0;
    for (size_t i = 0; i < n && !e; i++) {
        e = cancel_one(q, tx, a, ids[i], now_ms);
        *ret_count += !e;
        e = e == ERR_NOT_FOUND ? OK : e;
        arena_rewind(a, mark);
    }
    return e;
}

enum err parcels_cancel(struct qstash *q, struct tx *tx, const struct uuid *ids, size_t n,
                        int64_t *ret_count)
{
    CLEANUP(arena_release) struct arena a; /* of one at a time */

    assert(n <= LIMIT_QSTASH_CANCEL);
    arena_init(&a, 16 * 1024);
    return cancel_all(q, tx, &a, ids, n, ret_count);
}

/* --- the messages of a deleted queue --- */

struct leftovers {
    struct uuid ids[LIMIT_QSTASH_CANCEL];
    size_t n;
};

static enum err leftovers_add(void *ctx, const struct row *row)
{
    struct leftovers *l = ctx;

    if (l->n == LIMIT_QSTASH_CANCEL || !uuid_of_bytes(row->col[0].s, &l->ids[l->n]))
        return ERR_INTERNAL;
    l->n++;
    return OK;
}

/* Each further attempt of the job, also after a crash, takes half as many. */
static int64_t sweep_step_size(int64_t attempt)
{
    int64_t most = attempt < 8 ? LIMIT_QSTASH_CANCEL >> (attempt - 1) : 1;

    return most ? most : 1;
}

/* One step. Callbacks report what has happened, so they are still delivered; the last one deletes
 * the row of the queue (gates_save()). */
static enum err sweep_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct qstash *q = ctx;
    int64_t now_ms = env_now_ms(q->env), queue_id, count;
    struct leftovers l = { .n = 0 };
    struct queue_new next = {
        .id = env_uuid(q->env), .kind = QSTASH_SWEEP_KIND, .ref = m->ref, .due_ms = now_ms
    };
    enum err e;

    (void)why;
    if (!str_to_i64(m->ref, &queue_id))
        return ERR_VALIDATION;
    e = tx_each(tx, STMT_qstash_queue_left,
                (struct val[]){ V_INT(queue_id), V_INT(sweep_step_size(m->attempt)) }, 2,
                leftovers_add, &l);
    if (!e && !l.n)
        return TX_DO(tx, STMT_qstash_queue_gone, -1, V_INT(queue_id));
    if (!e)
        e = parcels_cancel(q, tx, l.ids, l.n, &count);
    return e ? e : queue_add(q->queue, tx, now_ms, &next, 1);
}

struct job_kind qstash_sweep_kind(struct qstash *q)
{
    return (struct job_kind){
        .name = "qstash.sweep", .run = sweep_run, .ctx = q, .retry = retry_table[RETRY_QSTASH]
    };
}
