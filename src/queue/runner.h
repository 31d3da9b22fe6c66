/* runner.h - the parts of the runner. Only queue/ includes this. */
#pragma once

#include "base/why.h"
#include "queue/queue.h"
#include "queue/report.h"

/* A job kind and the kind of the units that its messages are posted as: the store makes bulks of
 * units of one kind. */
struct slot {
    struct job_kind job;
    struct unit_kind unit;
    bool unknown; /* this program has no such kind */
};

enum item_phase { ITEM_RUN, ITEM_PUT_OFF, ITEM_RETRY, ITEM_BURY };

/* One message under way. In ITEM_RUN its unit is the effect and the finish; if that fails, a second
 * unit stores the retry or the burial. An item is posted, or parked until the database works again,
 * or away: its outside part is under way. */
struct item {
    struct unit unit;
    struct queue *queue;
    struct batch *batch;
    const struct slot *slot;
    struct message message;
    struct job job;         /* for kinds that work outside */
    struct arena_mark mark; /* of job.arena, before settle */
    bool away;
    enum item_phase phase;
    enum err ran; /* the result of the job's own function; OK where it did not run */
    bool stale;   /* the fence did not hold */
    bool parked;
    bool trouble; /* the database failed and not the message */
    int parks;    /* in this phase; counted only if a commit of ours succeeded in between */
    int64_t parked_commit; /* queue.commits when it was parked */
    int64_t parked_until_ms;
    bool plain; /* bury it without the kind's hook, which failed */
    int64_t retry_due_ms;
    struct why why;
    struct item *next, *prev; /* queue.items */
};

/* The messages of one fetch or one adoption: their texts live until the last of them has ended. */
struct batch {
    struct arena arena;
    size_t left;
    struct item items[];
};

/* Renews leases, or moves them with the clock. It has a copy of the fences, because items may end
 * meanwhile. A unit renews at most LIMIT_LEASED, so that thousands do not block the writer. */
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
    _Atomic(struct item *) adoptions; /* not yet seen by the runner, the last one first */

    /* all below: used only on the executor */
    struct timer timer;
    int64_t armed_ms;
    struct item *items;  /* under way */
    size_t held, posted; /* number of all items, and of those whose unit is in the store */
    size_t outside;      /* items of kinds that work outside, in any phase */
    size_t away;         /* of those: items whose outside part is under way */

    struct unit start_unit;

    struct unit fetch_unit;
    struct arena fetch_arena;
    struct message fetched[200];       /* LIMIT_STATEMENT_ROWS */
    struct lease lease;                /* what the fetch asked for and got */
    size_t most;                       /* how many to ask for; less after NO_MEMORY */
    int64_t fetched_next_ms;           /* when the next message that was not taken is due */
    int64_t next_ms;                   /* when to fetch again */
    int64_t polled_ms;                 /* the last fetch, for LIMIT_POLL_MS */
    int64_t expiry_ms, last_expiry_ms; /* first and last expiry of leases that nothing renews */
    int64_t contended_ms;              /* pause after a fetch that met only locked rows */
    int64_t watch_ms, watched_given;   /* adopt.c: when to compare, and `given` at the start */

    struct renewal *renewal; /* under way */
    int64_t renewed_ms;

    struct unit count_unit;
    int64_t count, counted_ms, count_wait_ms;
    int64_t commits; /* of our units that changed something: shows that the database works */

    struct clock_move *moves;
    int64_t trouble_ms, trouble_until_ms; /* 0: the database works */

    void (*stopped)(void *ctx);
    void *stopped_ctx;

    bool many_nodes; /* never changes */
    bool started, starting;
    bool fetching, full; /* full: the last fetch brought all it asked for */
    bool contended;      /* due rows were locked by others */
    bool suspect;        /* a suspect is next: it is fetched once no other item is under way */
    bool counting, moved_since_count;
    bool stopping, closed;
};

/* message.c: as queue_finish_many(); *ret_stale distinguishes a broken fence from STALE of an
 * earlier statement. */
enum err queue_finish_rows(struct queue *q, struct tx *tx, const struct message *const *m, size_t n,
                           bool *ret_stale);
/* The same for messages that are due again later, without a failure. */
enum err queue_put_off_rows(struct queue *q, struct tx *tx, const struct message *const *m,
                            const int64_t *due_ms, size_t n, bool *ret_stale);
enum err queue_put_off(struct queue *q, struct tx *tx, const struct message *m, int64_t due_ms,
                       bool *ret_stale);

/* job.c: one message under way. */
bool slots_init(struct queue *q);
const struct slot *slot_for(const struct queue *q, struct str kind);
void item_init(struct item *it, struct queue *q, struct batch *b, const struct message *m);
void item_link(struct item *it);
void item_begin(struct item *it); /* runs it, or buries it if its budget is spent */
void item_release(struct item *it);
void items_take(struct queue *q);               /* makes items of q->fetched and posts them */
int64_t items_unpark_at(const struct queue *q); /* when the first parked item may be posted again */
void items_unpark(struct queue *q, int64_t now);
void items_drop(struct queue *q, bool only_parked);

/* adopt.c: messages that were leased by other units. */
void adoptions_begin(struct queue *q);
void adoptions_drop(struct queue *q);
void adoptions_watch(struct queue *q, int64_t now); /* plans a fetch for those never adopted */

/* fetch.c */
size_t fetch_room(const struct queue *q); /* how many messages may be leased now */
void fetch_begin(struct queue *q, int64_t now);

/* runner.c */
void queue_pump(struct queue *q); /* does what can be done now and arms the timer for the rest */
/* A lease of this node will expire because nothing renews it: plans a fetch for that time. */
void queue_expect_expiry(struct queue *q);
void queue_note_trouble(struct queue *q, enum err e);
void queue_note_success(struct queue *q);
bool is_trouble(enum err e); /* True: an error of the database and not of the message. */

static inline bool works_outside(const struct slot *s)
{
    return s->job.outside;
}

/* Items that only need the database: LIMIT_LEASED and the rule for suspects are about them. */
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
