/* queue.h - durable messages in the same database as the money. A message is added in the
 * transaction of the change that needs it, is run at least once, and its effect happens once:
 * finishing it, the effect and the messages that follow are one commit.
 *
 *   (1) The fence is (id, attempt). Who was late is refused with STALE, and its unit rolls back.
 *   (2) due_at is delay, retry time and lease expiry in one: an expired lease is simply due again.
 *   (3) In a lane only the message with the smallest seq is ready; finishing it readies the next.
 *   (4) The attempt is counted and committed before the run, so a message that kills us meets its
 *       budget and becomes a dead letter.
 *   (5) A message whose last owner never said what became of it is a suspect: it may have killed
 *       that owner. It is run with nothing beside it, so that it takes nobody along. Kinds that
 *       work outside (job_kind.outside) are neither suspects nor in their way: they are resumed
 *       all at once, and only their budget ends a series of crashes. */
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
    int64_t began_us;      /* monotonic: when this run of it began here; 0: it has not */
};

struct queue; /* in-memory side: how many are live, when the next is due, and the runner */

/* --- inside a transaction --- */

struct queue_new {
    struct uuid id; /* made before the unit */
    struct str kind, ref, body;
    bool has_lane;
    int64_t lane;
    int64_t due_ms;
};

/* n messages, in this order within a lane. CONFLICT: an id exists. */
enum err queue_add(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_new *m,
                   size_t n);
/* A statement of the caller's own may have added a message that other nodes are to run: they look
 * once this is durable. q may be NULL. */
void queue_tell_others(struct queue *q, struct tx *tx);
/* Adds one message that is ours from the start, as if it had been leased (attempt 1, no lane;
 * due_ms is not looked at): who adds it goes on with it at once through queue_adopt(), and if that
 * never happens its lease runs out and it is fetched like any other. ret_message borrows m's texts.
 * CONFLICT: the id exists. */
enum err queue_add_leased(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_new *m,
                          struct message *ret_message);
/* Leases this one message, due or not, if nobody has it under way; its texts go to the arena.
 * NOT_FOUND: it is under way somewhere, waits for its lane's turn, or is gone. As with any lease
 * the attempt counts. */
enum err queue_take(struct queue *q, struct tx *tx, struct arena *a, struct uuid id, int64_t now_ms,
                    struct message *ret_message);
/* PostgreSQL: takes the lanes' locks, sorted, before anything else of the unit is done. A unit that
 * inserts other rows before it calls queue_add() calls this first; SQLite needs nothing. */
enum err queue_lock_lanes(struct tx *tx, const int64_t *lanes, size_t n);

struct lease {
    struct uuid owner;
    int64_t now_ms;
    size_t max; /* LIMIT_STATEMENT_ROWS at most */
    bool idle;  /* nothing is under way here, so a suspect may be taken */
    /* Optional. True: one of this kind is never a suspect. */
    bool (*is_resumed)(const void *ctx, struct str kind);
    const void *is_resumed_ctx;
    /* filled */
    size_t count;
    bool suspect; /* one is next: it is the only one that was taken, or was left for later */
};
/* Messages that are due become ours until now + LIMIT_LEASE_MS; the longest due come first. It ends
 * before a suspect, or takes that one and no other. */
enum err queue_lease(struct tx *tx, struct arena *a, struct lease *l, struct message *ret_messages);
/* The leases of these messages end at due_ms, where the fence still holds. */
enum err queue_renew(struct tx *tx, const struct message *const *m, size_t n, int64_t due_ms);

/* STALE: the fence does not hold (any more); the unit must fail. */
enum err queue_finish(struct queue *q, struct tx *tx, const struct message *m);
enum err queue_finish_many(struct queue *q, struct tx *tx, const struct message *const *m,
                           size_t n);
/* Due again at due_ms; the failed attempt is kept. Its lane stays parked behind it: order before
 * speed. */
enum err queue_retry(struct queue *q, struct tx *tx, const struct message *m, int64_t due_ms,
                     struct str why);
/* To the dead letters, with an audit row; frees its lane. */
enum err queue_bury(struct queue *q, struct tx *tx, const struct message *m, int64_t now_ms,
                    struct str why);

/* Of a dead letter that came in another way than by queue_bury(): counted with the commit. */
void queue_count_dead(struct tx *tx);

struct queue_letter { /* a dead letter, as far as the queue needs to know it */
    struct uuid id;
    bool has_lane;
    int64_t lane;
};
/* Dead letters, held by the caller, become messages again in this order: the same id, due at once,
 * attempt 0, last in their lanes. LIMIT_STATEMENT_ROWS at most. q may be NULL where no queue runs.
 * CONFLICT: a message has that id. STALE: one of them is no dead letter. */
enum err queue_revive(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_letter *l,
                      size_t n);

/* The id of a message of which there is always one: six bytes tell which. */
#define QUEUE_STANDING_ID(...)                                                                     \
    {                                                                                              \
        {                                                                                          \
            0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80, 0, __VA_ARGS__                                  \
        }                                                                                          \
    }
/* Sees to it that a message is there of which there is always one, by its fixed id: adds it where
 * it is not, takes away a dead letter of it. A node of an older version buries what it does not
 * know; people delete letters. CONFLICT: another node was first, which is as good. */
enum err queue_stand(struct queue *q, struct tx *tx, int64_t now_ms, const struct queue_new *m);

/* A message that waits for its time comes at due_ms, where that is sooner. One that is under way or
 * gone is left alone. */
enum err queue_hasten(struct queue *q, struct tx *tx, struct uuid id, int64_t due_ms);

/* Takes a message without a lane out of the queue, as if it had never been added. NOT_FOUND: it is
 * under way somewhere, or gone. */
enum err queue_cancel(struct queue *q, struct tx *tx, struct uuid id, int64_t now_ms);

/* For /readyz and /metrics. */
struct queue_state {
    int64_t oldest_ready_ms; /* how long the message that waits longest is due; 0: none waits */
    int64_t dead; /* without those of kind "alert"; LIMIT_DEAD_SEEN at most: more are not counted */
    int64_t dead_oldest_ms; /* how long the oldest of them lies there; 0: none */
};
enum err queue_read_state(struct tx *tx, int64_t now_ms, struct queue_state *ret_state);
/* The last two of them. Quick enough for the one writer's line: it counts within an index. */
enum err queue_read_dead(struct tx *tx, int64_t now_ms, int64_t *ret_dead, int64_t *ret_oldest_ms);

/* --- the runner --- */

enum job_end { JOB_DONE, JOB_RETRIED, JOB_DEAD, JOB_PUT_OFF /* by again_ms */ };

/* A message under way whose kind works outside of the database too (job_kind.outside). */
struct job {
    const struct message *message;
    struct env *env;
    void *state;         /* the kind's own; NULL unless queue_adopt() gave one */
    struct arena *arena; /* optional, set by outside: what settle takes from it is forgotten before
                            it runs again */
    int64_t again_ms;    /* set by settle, anew each time: due again then, instead of finished. 0:
                            finished */
};
/* On the executor, once, also from within outside(): the outside part is over. OK: settle runs.
 * Anything else as from run; `why` (may be NULL) is for the record. Not after queue_free(). */
void job_outside_done(struct job *j, enum err e, const char *why);
/* The `outside` of a kind that has only a settle: without an outside part a job cannot be put off. */
void job_without_outside(struct job *j, void *ctx);
/* Instead of it, where there is nothing to settle: due again at due_ms. Of many that are put off at
 * the same time each costs next to nothing. */
void job_put_off(struct job *j, int64_t due_ms);

struct job_kind {
    const char *name;
    /* The effect, in the transaction that also finishes the message. OK: done. A retryable err:
     * again by the policy. Anything else: a dead letter at once. `why` may be filled for the
     * record. Where a statement failed for the database's own reasons (tx_trouble()) the err is
     * not the message's: it is run again under the same attempt. */
    enum err (*run)(struct tx *tx, const struct message *m, void *ctx, struct why *why);
    void *ctx;
    struct retry_policy retry;

    /* The rest is optional. */

    /* Instead of run. `outside` is called on the executor; it may post units and make calls, and
     * ends with job_outside_done() or job_put_off(). Its lease is renewed meanwhile, however long
     * that takes, and such jobs take no room from those that only need the database; but with
     * LIMIT_OUTSIDE of them under way nothing at all is fetched until one ends. Then `settle` is
     * the effect, in the transaction that finishes the message or, by again_ms, puts it off. Where
     * the database fails, only settle is run again. `release` (on the executor; queue_adopt() and
     * queue_free() call it where they are) is called once when the job has ended in whatever way,
     * for what state points to.
     *
     * Every lease counts against the budget: one that was put off, one that another job's crash
     * ended, one that queue_take() took. So the policy has room for those. */
    void (*outside)(struct job *j, void *ctx);
    enum err (*settle)(struct tx *tx, struct job *j, void *ctx, struct why *why);
    void (*release)(struct job *j, void *ctx);
    bool patient; /* nobody waits for settle: it comes behind what somebody waits for */

    /* The effects of n messages at once, all or none: any err, and each is run alone. */
    enum err (*run_many)(struct tx *tx, const struct message *const *m, size_t n, void *ctx);
    /* In the transaction that buries it. */
    enum err (*buried)(struct tx *tx, const struct message *m, void *ctx, const char *why);
    /* On the executor, once what happened is durable: for log lines and numbers. */
    void (*ended)(struct env *env, void *ctx, const struct message *m, enum job_end end,
                  const char *why);
};

struct queue_options {
    struct store *store;
    struct executor *executor; /* where the runner lives */
    struct env *env;
    const struct job_kind *kinds; /* borrowed, like what they point to */
    size_t kind_count;
    void (*alert)(void *ctx, const struct message *m,
                  const char *why); /* on the executor, on a dead letter */
    void *alert_ctx;
    /* Optional: in the transaction that buries a message of whatever kind. It fails only where the
     * database does. */
    enum err (*buried)(struct tx *tx, const struct message *m);
};

struct queue *queue_new_runner(const struct queue_options *o); /* NULL: no memory */
void queue_start(struct queue *q); /* on the executor: leases what is due, and goes on */
/* Any thread, after the commit of queue_add_leased() or queue_take(): goes on with the message as
 * if it had been fetched, also while the queue stops. The texts are copied; state becomes the
 * job's, also where this fails for want of memory or because the queue has stopped (then it is
 * released and the lease runs out). */
void queue_adopt(struct queue *q, const struct message *m, void *state);
void queue_wake(struct queue *q); /* any thread: something may be due (a hint) */
/* On the executor: leases nothing more; `stopped` is called there when no message is under way.
 * What is outside then is waited for and settled. */
void queue_stop(struct queue *q, void (*stopped)(void *ctx), void *ctx);
/* After store_free(): units that commit still report here. What is under way is forgotten, as in a
 * crash, and released. NULL is fine. */
void queue_free(struct queue *q);

/* On the executor: moves the test clock by ms (T5) and our leases with it in one unit, so that a
 * step is not taken for our own death; then calls `moved` (may be NULL) there. */
void queue_clock_moved(struct queue *q, int64_t ms, void (*moved)(void *ctx), void *ctx);

/* Live messages; any thread. Exact on SQLite, an estimate where other nodes add and finish too: 0
 * until the first count, which nothing waits for, and rough above 100,000. */
int64_t queue_live(const struct queue *q);
