/* runner.h - the parts of the runner. Only queue/ includes this. */
#pragma once

#include "base/why.h"
#include "queue/queue.h"
#include "queue/report.h"

/* A job kind and the unit kind under which its messages are posted: the store bulks by unit kind.
 */
struct slot {
    struct job_kind job;
    struct unit_kind unit;
    bool unknown; /* this program has no such kind */
};

enum item_phase { ITEM_RUN, ITEM_PUT_OFF, ITEM_RETRY, ITEM_BURY };

/* One message under way. In ITEM_RUN its unit is effect + finish; when that fails, a second unit
 * writes down what follows. An item is posted, or parked until the database is well again, or away:
 * before ITEM_RUN, where its kind works outside. */
struct item {
    struct unit unit;
    struct queue *queue;
    struct batch *batch;
    const struct slot *slot;
    struct message message;
    struct job job;         /* what a kind that works outside sees of it */
    struct arena_mark mark; /* of job.arena, before settle */
    bool away;
    enum item_phase phase;
    enum err ran; /* what the job said; OK where it did not run */
    bool stale;   /* the fence did not hold */
    bool parked;
    bool trouble;          /* what failed was the database and not the message */
    int parks;             /* in this phase, each with a commit of ours since the one before */
    int64_t parked_commit; /* queue.commits when it was parked */
    int64_t parked_until_ms;
    bool plain; /* bury it without the kind's own hook: that failed */
    int64_t retry_due_ms;
    struct why why;
    struct item *next, *prev; /* all that are under way */
};

/* What one fetch brought, or one adoption: its texts live until the last of its messages has ended.
 */
struct batch {
    struct arena arena;
    size_t left;
    struct item items[];
};

/* Renewing leases or moving the clock: a copy of the fences, because items may end meanwhile. A
 * unit renews LIMIT_LEASED of them at most, so that thousands do not hold up the writer. */
struct renewal {
    struct unit unit;
    struct queue *queue;
    int64_t due_ms;
    size_t count, done;
    const struct message **pointers;
    struct message fences[];
};

struct clock_move {
    struct clock_move *next;
    int64_t ms;
    void (*moved)(void *ctx);
    void *ctx;
};

struct queue {
    struct queue_options o;
    struct reports reports;
    struct slot unknown, *slots;      /* in the order of the options */
    _Atomic(struct item *) adoptions; /* on their way back, the last one first */

    /* all below: only on the executor */
    struct timer timer;
    int64_t armed_ms;
    struct item *items;  /* under way */
    size_t held, posted; /* of them: all, and those that the store has */
    size_t outside;      /* of a kind that works outside, in whatever phase ... */
    size_t away;         /* ... and those whose outside part is under way */

    struct unit start_unit;

    struct unit fetch_unit;
    struct arena fetch_arena;
    struct message fetched[200];       /* LIMIT_STATEMENT_ROWS */
    struct lease lease;                /* what the fetch asked for and got */
    size_t most;                       /* what to ask for, less after NO_MEMORY */
    int64_t fetched_next_ms;           /* when the next message is due that was not taken */
    int64_t next_ms;                   /* when to fetch again */
    int64_t polled_ms;                 /* the last fetch, for LIMIT_POLL_MS */
    int64_t expiry_ms, last_expiry_ms; /* leases that we hold and forgot end then */
    int64_t contended_ms;
    int64_t watch_ms, watched_given; /* adopt.c: when to look after what was given until then */

    struct renewal *renewal; /* under way */
    int64_t renewed_ms;

    struct unit count_unit;
    int64_t count, counted_ms, count_wait_ms;
    int64_t commits; /* of ours that changed something: the database works */

    struct clock_move *moves;
    int64_t trouble_ms, trouble_until_ms; /* 0: the database is well */

    void (*stopped)(void *ctx);
    void *stopped_ctx;

    bool many_nodes; /* never changes */
    bool started, starting;
    bool fetching, full; /* full: the last fetch brought all it asked for */
    bool contended;      /* due rows were locked by others */
    bool suspect;        /* is next: nothing is fetched until nothing is under way */
    bool counting, moved_since_count;
    bool stopping, closed;
};

/* message.c: queue_finish_many that tells a broken fence from an error of an earlier statement. */
enum err queue_finish_rows(struct queue *q, struct tx *tx, const struct message *const *m, size_t n,
                           bool *ret_stale);
/* The same for those that went well and are not over. */
enum err queue_put_off_rows(struct queue *q, struct tx *tx, const struct message *const *m,
                            const int64_t *due_ms, size_t n, bool *ret_stale);
enum err queue_put_off(struct queue *q, struct tx *tx, const struct message *m, int64_t due_ms,
                       bool *ret_stale);

/* job.c: one message under way. */
bool slots_init(struct queue *q);
const struct slot *slot_for(const struct queue *q, struct str kind);
void item_init(struct item *it, struct queue *q, struct batch *b, const struct message *m);
void item_link(struct item *it);
void item_begin(struct item *it); /* runs it, or what else its attempt allows */
void item_release(struct item *it);
void items_take(struct queue *q);               /* makes items of q->fetched and posts them */
int64_t items_unpark_at(const struct queue *q); /* when the first that is parked may try again */
void items_unpark(struct queue *q, int64_t now);
void items_drop(struct queue *q, bool only_parked);

/* adopt.c: messages that were leased elsewhere and come back. */
void adoptions_begin(struct queue *q);
void adoptions_drop(struct queue *q);
void adoptions_watch(struct queue *q, int64_t now); /* looks after those that never came */

/* fetch.c */
size_t fetch_room(const struct queue *q); /* how many may be taken now */
void fetch_begin(struct queue *q, int64_t now);

/* runner.c */
void queue_pump(struct queue *q); /* does what can be done now and arms the timer for the rest */
/* A lease of ours will expire with nobody to renew it: look then. */
void queue_expect_expiry(struct queue *q);
void queue_trouble(struct queue *q, enum err e);
void queue_well(struct queue *q);
bool is_trouble(enum err e); /* of the store's own: the database's fault and not the message's */

static inline bool works_outside(const struct slot *s)
{
    return s->job.outside;
}

/* Those that only need the database: they have LIMIT_LEASED, and suspects, for themselves. */
static inline size_t held_inside(const struct queue *q)
{
    return q->held - q->outside;
}

static inline int64_t now_of(const struct queue *q)
{
    return env_now_ms(q->o.env);
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
