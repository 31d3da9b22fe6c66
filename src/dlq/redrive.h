/* redrive.h - many dead letters are tried again, so many a second at most, by a job of the queue;
 * and events that are not dead are applied once more. Operators need to apply stored events again by
 * id or time, with dry run, rate limit and audit.
 *
 *   (1) A step's letters, its counts and its place are one commit with the step's own message:
 *       killed anywhere, the next step goes on behind the last letter that was taken.
 *   (2) Only what was dead (or had come) at the start is taken, each once: what dies again
 *       meanwhile lies behind until_ms; or, where a clock that was ahead left until_ms ahead of us,
 *       the audit says that this redrive took it before, or it was added after the start: a parcel
 *       that is retried is a new letter when it dies.
 *   (3) Who cancels locks the same row as a step does: behind that nothing more is taken.
 *   (4) Redrives know nothing of each other: a letter that another one took is not there any more.
 */
#pragma once

#include "base/why.h"
#include "dlq/dead_letter.h"

/* What becomes of one event that is replayed: webhook/replay.c. */
struct replay_found {
    bool is_dead; /* then these are its letters, those that there are: */
    struct uuid letters[2];
    int64_t bytes;            /* that their retry may read into the unit's memory */
    struct queue_new message; /* else: live again; texts are the arena's, or the unit's own */
    struct str was;           /* its outcome until now */
    bool has_payment;
    struct uuid payment; /* that it was about */
};

struct redrives {
    const struct dead_letters *letters; /* where the queue runs */
    /* Takes a dead event's outcome away; the message is the caller's to add, and the row of
     * event_replays. UNPROCESSABLE: not this one, `why`; nothing was written. */
    enum err (*replay)(struct tx *tx, struct arena *a, struct str event_id, int64_t now_ms,
                       struct replay_found *ret_found, struct why *why);
};

struct redrive_new {
    struct uuid id, user; /* id: made before the unit */
    struct str name;      /* of the user; may be empty */
    int64_t rate;
    bool is_replay;         /* filter.kind is the events' type then, and filter.ref one event */
    const struct uuid *ids; /* NULL: by the filter */
    size_t id_count;
    struct dead_filter filter;
    int64_t matched;
    bool exact;
};

/* All answer with the redrive as JSON. */
enum err redrive_start(struct tx *tx, struct arena *a, const struct redrives *rs,
                       const struct redrive_new *n, struct str *ret_json);
enum err redrive_show(struct tx *tx, struct arena *a, struct uuid id, struct str *ret_json);
/* One that has ended stays as it is. NOT_FOUND. */
enum err redrive_cancel(struct tx *tx, struct arena *a, struct uuid id, struct uuid user,
                        struct str *ret_json);
/* A page, newest first, of those before that one. */
enum err redrive_page(struct tx *tx, struct arena *a, struct uuid before, int limit,
                      struct str *ret_json);

/* How many events a replay would take; LIMIT_DEAD_ACT at most. */
enum err replay_count(struct tx *tx, const struct dead_filter *f, int64_t *ret_matched,
                      bool *ret_exact);

struct job_kind redrive_kind(struct redrives *rs); /* "dlq.redrive" */

/* Messages of redrives that run and have none (any more). */
enum err redrives_resume(struct tx *tx, const struct redrives *rs, bool *ret_running);

struct redrive_watch { /* on the executor */
    const struct redrives *redrives;
    struct store *store;
    struct executor *executor;
    struct timer timer;
    int64_t commits, commits_now; /* of the store; -1: look in any case */
    struct unit unit;
    bool busy, running;
};
/* On the executor, with the queue there: looks now, and from time to time. */
void redrive_watch(struct redrive_watch *w, const struct redrives *rs, struct store *store,
                   struct executor *executor);
