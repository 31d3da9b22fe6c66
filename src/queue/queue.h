/* queue.h - durable messages in the same database as the payments. A message is added in the
 * transaction of the change that needs it and is run at least once. Its effect happens once: the
 * effect, the end of the message and the messages that follow from it are one commit.
 *
 *   (1) The fence is (seq, id, attempt). A worker whose lease was taken over gets STALE, and its
 *       unit rolls back.
 *   (2) due_at is delay, retry time and lease expiry in one: an expired lease is simply due again.
 *   (3) In a lane only the message with the smallest seq is ready; its end makes the next one ready.
 *   (4) The attempt is counted and committed before the run. So a message that kills the server uses
 *       up its budget and becomes a dead letter.
 *   (5) A message whose last owner never reported a result is a suspect: it may have killed that
 *       owner. It runs while nothing else does, so that a crash costs no other message an attempt.
 *       Kinds that work outside of the database (job_kind.outside) are not suspects, and a suspect
 *       does not wait for them. After a crash all of them are resumed at once, and only their budget
 *       ends a series of crashes. */
#pragma once

#include "base/arena.h"
#include "base/env.h"
#include "base/err.h"
#include "base/why.h"
#include "domain/retry.h"
#include "store/store.h"

struct message {
    struct uuid id;
    int64_t seq;
    struct str kind;
    bool has_lane;
    int64_t lane;
    int64_t attempt; /* 1 on the first run */
    int64_t added_ms;
    struct str ref, body;  /* may be empty */
    struct str last_error; /* of the attempt before; empty on the first run */
    int64_t began_us;      /* monotonic: when this run began on this node; 0: not yet */
};

struct queue; /* the part in memory: the runner, the number of live messages, the next due time */

/* --- inside a transaction --- */

struct queue_new {
    struct uuid id; /* made before the unit */
    struct str kind, ref, body;
    bool has_lane;
    int64_t lane;
    int64_t due_ms;
};

/* Adds n messages, in this order within a lane. CONFLICT: an id exists. */
enum err queue_add(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_new *m,
                   size_t n);
/* For a caller that added a message with a statement of its own: wakes the other nodes once this is
 * durable. q may be NULL. */
void queue_tell_others(struct queue *q, struct tx *tx);
/* Adds one message that this node holds from the start, as if it had been leased (attempt 1, no
 * lane; due_ms is ignored). After the commit the caller hands it to the runner with queue_adopt().
 * If that never happens, the lease expires and the message is fetched like any other. ret_message
 * borrows m's texts. CONFLICT: the id exists. */
enum err queue_add_leased(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_new *m,
                          struct message *ret_message);
/* Leases this one message, due or not, unless it is leased already; its texts go to the arena.
 * NOT_FOUND: it is under way on some node, waits for its lane's turn, or has ended. As with every
 * lease the attempt is counted. */
enum err queue_take(struct queue *q, struct tx *tx, struct arena *a, struct uuid id, int64_t now_ms,
                    struct message *ret_message);
/* PostgreSQL: takes the lanes' advisory locks in sorted order. A unit that inserts other rows before
 * it calls queue_add() calls this first. SQLite: does nothing. */
enum err queue_lock_lanes(struct tx *tx, const int64_t *lanes, size_t n);

struct lease {
    struct uuid owner;
    int64_t now_ms;
    size_t max; /* LIMIT_STATEMENT_ROWS at most */
    bool idle;  /* nothing is under way on this node, so a suspect may be taken */
    /* Optional. True: a message of this kind is never a suspect. */
    bool (*is_resumed)(const void *ctx, struct str kind);
    const void *is_resumed_ctx;
    /* out */
    size_t count;
    bool suspect; /* a suspect is next: it is the only message that was taken, or was left */
};
/* Leases messages that are due until now + LIMIT_LEASE_MS, the longest due first. It stops before a
 * suspect, or takes a suspect alone. */
enum err queue_lease(struct tx *tx, struct arena *a, struct lease *l, struct message *ret_messages);
/* Sets the end of these messages' leases to due_ms, where the fence still holds. */
enum err queue_renew(struct tx *tx, const struct message *const *m, size_t n, int64_t due_ms);

/* Ends the message: its row is deleted and its lane's next message becomes ready. STALE: the fence
 * does not hold; the unit must fail. */
enum err queue_finish(struct queue *q, struct tx *tx, const struct message *m);
enum err queue_finish_many(struct queue *q, struct tx *tx, const struct message *const *m,
                           size_t n);
/* Makes the message due again at due_ms and records the failed attempt. Its lane waits behind it,
 * which keeps the order. STALE: as above. */
enum err queue_retry(struct queue *q, struct tx *tx, const struct message *m, int64_t due_ms,
                     struct str why);
/* Turns the message into a dead letter, with an audit row; frees its lane. STALE: as above. */
enum err queue_bury(struct queue *q, struct tx *tx, const struct message *m, int64_t now_ms,
                    struct str why);

/* Counts a dead letter that was not stored by queue_bury(), once this is durable. */
void queue_count_dead(struct tx *tx);

struct queue_letter { /* of a dead letter: what queue_revive() needs */
    struct uuid id;
    bool has_lane;
    int64_t lane;
};
/* Turns dead letters, which the caller has locked, into messages again, in this order: the same id,
 * due at once, attempt 0, last in their lanes. n is at most LIMIT_STATEMENT_ROWS. q may be NULL
 * where no queue runs. CONFLICT: a message has that id. STALE: one of them is no dead letter. */
enum err queue_revive(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_letter *l,
                      size_t n);

/* The fixed id of a standing message, one that always exists; its last six bytes say which. */
#define QUEUE_STANDING_ID(...)                                                                     \
    {                                                                                              \
        {                                                                                          \
            0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80, 0, __VA_ARGS__                                  \
        }                                                                                          \
    }
/* Ensures that a standing message exists: adds it if it is missing, and deletes its dead letter. (A
 * node of an older version buries a kind that it does not know, and a person may delete a dead
 * letter.) CONFLICT: another node added it first, which is as good. */
enum err queue_stand(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_new *m);

/* Makes a waiting message due at due_ms if that is sooner. One that is under way or has ended is not
 * changed. */
enum err queue_hasten(struct queue *q, struct tx *tx, struct uuid id, int64_t due_ms);

/* Deletes a message without a lane, as if it had never been added. NOT_FOUND: it is under way on
 * some node, or has ended. */
enum err queue_cancel(struct queue *q, struct tx *tx, struct uuid id, int64_t now_ms);

/* For /readyz and /metrics. */
struct queue_state {
    int64_t oldest_ready_ms; /* since when the longest waiting message is due; 0: none waits */
    int64_t dead;            /* except those of kind "alert"; at most LIMIT_DEAD_SEEN are counted */
    int64_t dead_oldest_ms;  /* age of the oldest of them; 0: none */
};
enum err queue_read_state(struct tx *tx, int64_t now_ms, struct queue_state *ret_state);
/* Only `dead` and `dead_oldest_ms`. It counts within an index, so it is fast enough for the one
 * writer of SQLite. */
enum err queue_read_dead(struct tx *tx, int64_t now_ms, int64_t *ret_dead, int64_t *ret_oldest_ms);

/* --- the runner --- */

enum job_end { JOB_DONE, JOB_RETRIED, JOB_DEAD, JOB_PUT_OFF /* by again_ms */ };

/* A message under way whose kind also works outside of the database (job_kind.outside). */
struct job {
    const struct message *message;
    struct env *env;
    void *state;         /* owned by the kind; NULL unless queue_adopt() gave one */
    struct arena *arena; /* optional, set by outside; rewound before settle runs again */
    int64_t again_ms;    /* set by settle on each run: due again then; 0: finished */
};
/* On the executor, once, also from within outside(): the outside part has ended. OK: settle runs.
 * Any other err has the meaning that it has for run; `why` (may be NULL) is recorded. Not after
 * queue_free(). */
void job_outside_done(struct job *j, enum err e, const char *why);
/* The `outside` of a kind that only settles. (Only such kinds can put a message off.) */
void job_without_outside(struct job *j, void *ctx);
/* Instead of job_outside_done(), where there is nothing to settle: due again at due_ms. Many of them
 * at the same time share their statements and commits. */
void job_put_off(struct job *j, int64_t due_ms);

struct job_kind {
    const char *name;
    /* The effect, in the transaction that also finishes the message. OK: done. A retryable err:
     * retried by the policy. Any other err: a dead letter at once. `why` may be set; it is recorded.
     * If a statement failed because of the database (tx_trouble()), the err does not count against
     * the message: it is run again under the same attempt. */
    enum err (*run)(struct tx *tx, const struct message *m, void *ctx, struct why *why);
    void *ctx;
    struct retry_policy retry;

    /* The rest is optional. */

    /* Instead of run. `outside` is called on the executor; it may post units and make calls, and
     * ends with job_outside_done() or job_put_off(). The lease is renewed meanwhile, however long
     * that takes. Such jobs take no slots from those that only need the database; but while
     * LIMIT_OUTSIDE of them are under way, nothing at all is fetched. Then `settle` is the effect,
     * in the transaction that finishes the message or, with again_ms, puts it off. If the database
     * fails, only settle is run again. `release` frees what state points to; it is called once,
     * however the job ended (on the executor; by queue_adopt() and queue_free() on their thread).
     *
     * Every lease counts against the budget: one that was put off, one that ended with a crash which
     * another job caused, one that queue_take() took. So the policy must allow for those. */
    void (*outside)(struct job *j, void *ctx);
    enum err (*settle)(struct tx *tx, struct job *j, void *ctx, struct why *why);
    void (*release)(struct job *j, void *ctx);
    bool patient; /* no request waits for settle, so it is a background unit */

    /* The effects of n messages at once, all or none: after any err each is run alone. */
    enum err (*run_many)(struct tx *tx, const struct message *const *m, size_t n, void *ctx);
    /* In the transaction that turns the message into a dead letter. */
    enum err (*buried)(struct tx *tx, const struct message *m, void *ctx, const char *why);
    /* On the executor, once the end is durable: for log lines and metrics. */
    void (*ended)(struct env *env, void *ctx, const struct message *m, enum job_end end,
                  const char *why);
};

struct queue_options {
    struct store *store;
    struct executor *executor; /* where the runner lives */
    struct env *env;
    const struct job_kind *kinds; /* borrowed, like what they point to */
    size_t kind_count;
    /* Optional: on the executor, for each dead letter; without it a line is logged. */
    void (*alert)(void *ctx, const struct message *m, const char *why);
    void *alert_ctx;
    /* Optional: in the transaction that turns a message of any kind into a dead letter. It may fail
     * only where the database fails. */
    enum err (*buried)(struct tx *tx, const struct message *m);
};

struct queue *queue_new_runner(const struct queue_options *o); /* NULL: out of memory */
void queue_start(struct queue *q); /* on the executor: starts fetching */
/* Any thread, after the commit of queue_add_leased() or queue_take(): hands the message to the
 * runner as if it had been fetched, also while the queue stops. The texts are copied; state becomes
 * the job's. If memory is missing or the queue has stopped, state is released and the lease expires.
 */
void queue_adopt(struct queue *q, const struct message *m, void *state);
void queue_wake(struct queue *q); /* any thread: a hint that something may be due */
/* On the executor: nothing more is leased. `stopped` is called there when no message is under way;
 * outside parts that have begun are waited for and settled. */
void queue_stop(struct queue *q, void (*stopped)(void *ctx), void *ctx);
/* After store_free(), since units that commit still report here. Messages under way are dropped, as
 * in a crash, and released. NULL is fine. */
void queue_free(struct queue *q);

/* On the executor: moves the test clock by ms (T5). A unit first extends our leases by as much, so
 * that the step does not end them. Then calls `moved` (may be NULL) on the executor. */
void queue_clock_moved(struct queue *q, int64_t ms, void (*moved)(void *ctx), void *ctx);

/* The number of live messages; any thread. Exact on SQLite. On PostgreSQL, where other nodes add and
 * finish too, an estimate: 0 until the first count, and the planner's estimate above 100,000. */
int64_t queue_live(const struct queue *q);
