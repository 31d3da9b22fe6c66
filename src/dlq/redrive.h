/* redrive.h - a redrive retries many dead letters at a rate, as a job of the queue; a replay
 * applies stored events once more, dead or not.
 *
 *   (1) The dead letters of a step, its counts and its cursor are one commit with the job's
 *       message: after a crash the next step continues after the last dead letter that was taken.
 *   (2) A redrive takes only what was dead (a replay: had been received) when it began, each once.
 *       What dies again meanwhile lies after until_ms. If a wrong clock left until_ms in the
 *       future, the audit log shows what this redrive took before; and what was added after its
 *       start is left out, because a QStash message that is retried and dies again is a new dead
 *       letter.
 *   (3) A cancellation locks the same row as a step does: after it, no further step takes anything.
 *   (4) Redrives are independent: what another one took is not stored as dead any more. */
#pragma once

#include "base/why.h"
#include "dlq/dead_letter.h"

/* The result for one event that is replayed (webhook/replay.c). */
struct replay_found {
    bool is_dead; /* then these are its dead letters, as far as they exist: */
    struct uuid letters[2];
    int64_t bytes;            /* that their retry may read into the unit's memory */
    struct queue_new message; /* else: to be added; texts live in the arena or until the run ends */
    struct str was;           /* its outcome until now */
    bool has_payment;
    struct uuid payment; /* that it concerned */
};

struct redrives {
    const struct dead_letters *letters; /* with a queue */
    /* Removes the outcome of a dead event; the caller adds the message and the row of
     * event_replays. UNPROCESSABLE: this event is rejected, `why` says why, and nothing was
     * written. */
    enum err (*replay)(struct tx *tx, struct arena *a, struct str event_id, int64_t now_ms,
                       struct replay_found *ret_found, struct why *why);
};

struct redrive_new {
    struct uuid id, user; /* id: made before the unit */
    struct str name;      /* of the user; may be empty */
    int64_t rate;
    bool is_replay;         /* filter.kind is then the events' type, filter.ref one event's id */
    const struct uuid *ids; /* NULL: by the filter */
    size_t id_count;
    struct dead_filter filter;
    int64_t matched;
    bool exact;
};

/* Each returns the redrive as JSON. */
enum err redrive_start(struct tx *tx, struct arena *a, const struct redrives *rs,
                       const struct redrive_new *n, struct str *ret_json);
enum err redrive_show(struct tx *tx, struct arena *a, struct uuid id, struct str *ret_json);
/* A redrive that has ended stays as it is. NOT_FOUND. */
enum err redrive_cancel(struct tx *tx, struct arena *a, struct uuid id, struct uuid user,
                        struct str *ret_json);
/* A page, newest first, of the redrives before that one. */
enum err redrive_page(struct tx *tx, struct arena *a, struct uuid before, int limit,
                      struct str *ret_json);

/* How many events a replay would take; counts at most LIMIT_DEAD_ACT. */
enum err replay_count(struct tx *tx, const struct dead_filter *f, int64_t *ret_matched,
                      bool *ret_exact);

struct job_kind redrive_kind(struct redrives *rs); /* "dlq.redrive" */

/* Adds the message of each running redrive that has none. */
enum err redrives_resume(struct tx *tx, const struct redrives *rs, bool *ret_running);

struct redrive_watch { /* used on the executor only */
    const struct redrives *redrives;
    struct store *store;
    struct executor *executor;
    struct timer timer;
    int64_t commits, commits_now; /* of the store; -1: check in any case */
    struct unit unit;
    bool busy, running;
};
/* On the executor, once the queue runs: checks now and every LIMIT_REDRIVE_LOOK_MS. */
void redrive_watch(struct redrive_watch *w, const struct redrives *rs, struct store *store,
                   struct executor *executor);
