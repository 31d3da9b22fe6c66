/* queue.h - durable messages in the same database as the money. A message is added in the
 * transaction of the change that needs it, is run at least once, and its effect happens once:
 * finishing it, the effect and the messages that follow are one commit.
 *
 *   (1) The fence is (id, attempt). Who was late is refused with STALE, and its unit rolls back.
 *   (2) due_at is delay, retry time and lease expiry in one: an expired lease is simply due again.
 *   (3) In a lane only the message with the smallest seq is ready; finishing it readies the next.
 *   (4) The attempt is counted and committed before the run, so a message that kills us meets its
 *       budget and becomes a dead letter. */
#pragma once

#include "base/arena.h"
#include "base/env.h"
#include "base/err.h"
#include "store/store.h"

struct message {
    struct uuid id;
    int64_t seq;
    struct str kind;
    bool has_lane;
    int64_t lane;
    int64_t attempt; /* 1 on the first run */
    int64_t added_ms;
    struct str ref, body; /* may be empty */
};

struct queue; /* in-memory side: how many are live, when the next is due */

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
/* PostgreSQL: takes the lanes' locks, sorted, before anything else of the unit is done. A unit that
 * inserts other rows before it calls queue_add() calls this first; SQLite needs nothing. */
enum err queue_lock_lanes(struct tx *tx, const int64_t *lanes, size_t n);

/* Up to max messages that are due become ours until now + LIMIT_LEASE_MS. */
enum err queue_lease(struct tx *tx, struct arena *a, struct uuid owner, int64_t now_ms, size_t max,
                     struct message *ret_messages, size_t *ret_count);
enum err queue_finish(struct queue *q, struct tx *tx, const struct message *m);
enum err queue_retry(struct queue *q, struct tx *tx, const struct message *m, int64_t due_ms,
                     struct str why);
enum err queue_bury(struct queue *q, struct tx *tx, const struct message *m, int64_t now_ms,
                    struct str why); /* to the dead letters; frees its lane */

/* --- the runner --- */

struct retry_policy { /* domain/retry.h */
    int retries;      /* after the first run */
    int64_t first_ms, max_ms;
    int factor;
};

struct job_kind {
    const char *name;
    /* The effect, in the transaction that also finishes the message. OK: done. A retryable err: again
     * by the policy. Anything else: a dead letter at once. `why` may be filled for the record. */
    enum err (*run)(struct tx *tx, const struct message *m, void *ctx, char why[256]);
    void *ctx;
    struct retry_policy retry;
};

struct queue_options {
    struct store *store;
    struct home *home; /* where the runner lives */
    struct env *env;
    const struct job_kind *kinds;
    size_t kind_count;
    void (*alert)(void *ctx, const struct message *m, const char *why); /* at home, on a dead letter */
    void *alert_ctx;
};

struct queue *queue_new_runner(const struct queue_options *o);
void queue_start(struct queue *q);  /* at home: leases what is due, and goes on */
void queue_wake(struct queue *q);   /* any thread: something may be due (a hint, a moved clock) */
/* At home: leases nothing more; `stopped` is called when no message is under way. */
void queue_stop(struct queue *q, void (*stopped)(void *ctx), void *ctx);
void queue_free(struct queue *q);

int64_t queue_live(const struct queue *q); /* live messages, as far as this node knows; any thread */
