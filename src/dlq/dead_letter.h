/* dead_letter.h - what the queue gave up on, as records (Q6): found by what it is about, shown with
 * its payload and every attempt, tried again, or forgotten.
 *
 *   (1) A letter is dead or live, never both and never neither: an act is one commit.
 *   (2) Retried, it keeps its message id and gets a fresh budget; it stands last in its lane.
 *   (3) Acts go from the oldest death on, so that a lane's letters come back in their order; what
 * dies again meanwhile is not taken a second time. (4) Every act leaves an audit row with the
 * letter's subject and payment. (5) No unit touches more than LIMIT_DEAD_STEP letters, or
 * retries more than LIMIT_DEAD_STEP_BYTES and one letter; reading looks at LIMIT_DEAD_LOOKED at
 * most and a cursor goes on from there. */
#pragma once

#include "base/why.h"
#include "queue/queue.h"

struct buf;

struct dead_letter {
    struct uuid id; /* of the message */
    struct str kind, ref, reason;
    struct str cause; /* domain/cause.h; empty: not known yet */
    bool has_lane, has_payment, has_body;
    int64_t lane;
    struct uuid payment;
    int64_t attempts; /* of its last life */
    int64_t added_ms, died_ms;
};

/* What of a letter may be edited. Bytes are the unit's own memory. */
struct dead_body {
    struct str now;   /* what a retry would use */
    struct str first; /* as it came; the same where nobody edited it */
    bool edited;
    bool is_event; /* a provider's: `first` stays where it is; and what is no JSON is not shown,
                      since nobody can tell what of it is a card's or a person's (A6) */
};

enum { DEAD_LANES = 2 };

/* What retrying a letter takes. */
struct dead_need {
    int64_t bytes;  /* that it reads into the unit's memory */
    bool has_gates; /* its kind makes it live, in these lanes; else it has its own, if any */
    int64_t lanes[DEAD_LANES];
    size_t lane_count;
};

/* A kind that has its own way. retry and forget are called in the act's transaction, with the
 * letter's row locked and still there; it is removed behind them. `why` may be filled where they
 * fail.
 *
 * UNPROCESSABLE: this one is refused and stays dead, the others of the act go on; nothing was
 * written. NOT_FOUND is the same. Any other err fails the unit; then each letter is tried alone. */
struct dead_kind {
    const char *name;
    void *ctx; /* borrowed */
    /* NULL, or *ret_live left false: the letter goes back to the queue as its row says (it may have
     * been changed: then d->has_lane and d->lane too). True: the kind made it live by its own
     * means. */
    enum err (*retry)(struct tx *tx, void *ctx, struct dead_letter *d, int64_t now_ms,
                      bool *ret_live, struct why *why);
    /* NULL: next to nothing. Asked before any of a step's letters is retried; it only reads.
     * NOT_FOUND: as if it were NULL. A retry without gates locks no lane; one with gates is called
     * when those of all letters are locked. */
    enum err (*need)(struct tx *tx, void *ctx, const struct dead_letter *d,
                     struct dead_need *ret_need);
    /* NULL: the row is all there is. */
    enum err (*forget)(struct tx *tx, void *ctx, const struct dead_letter *d, struct why *why);
    /* NULL: the row's body and the queue's own attempts are all there is. Writes the members
     * payload and failures of an object that was begun. NOT_FOUND: as if it were NULL; nothing was
     * written. */
    enum err (*show)(struct tx *tx, void *ctx, const struct dead_letter *d, struct buf *b);
    /* NULL: its letters have no other name. What their owners call them; false: it is no such name.
     */
    bool (*parse)(struct str text, struct uuid *ret_id);

    /* --- editing: both, or none --- */

    const char *why_not; /* where there are none; NULL: the usual words */
    /* NOT_FOUND: it is gone. UNPROCESSABLE: this one may not be seen or edited, `why` says why. */
    enum err (*body)(struct tx *tx, void *ctx, const struct dead_letter *d,
                     struct dead_body *ret_body, struct why *why);
    /* Instead of retry: with this body from now on. *ret_id: the message that has it, where it is
     * another one than the letter. What is wrong with the body is UNPROCESSABLE. */
    enum err (*edit)(struct tx *tx, void *ctx, struct dead_letter *d, struct str body,
                     int64_t now_ms, bool *ret_live, struct uuid *ret_id, struct why *why);
};

struct dead_letters {
    struct env *env;
    struct queue *queue; /* NULL: none runs here (the command line) */
    const struct dead_kind *kinds;
    size_t kind_count;
};

/* --- which of them --- */

/* A UUID, or what its kind calls it. */
bool dead_id_read(const struct dead_letters *l, struct str text, struct uuid *ret_id);

struct dead_filter {
    struct str kind, ref; /* empty: any */
    struct str reason;    /* a part of it; letters A to Z in either case */
    struct str cause;     /* with a kind it has an index of its own */
    bool has_payment;
    struct uuid payment;
    int64_t from_ms, to_ms; /* of death: from <= it < to; 0: open */
};
bool dead_filter_is_empty(const struct dead_filter *f);

struct dead_cursor { /* opaque to callers */
    int64_t at_ms, until_ms;
    struct uuid id;
};
enum { DEAD_CURSOR_TEXT = 43 };
bool dead_cursor_read(struct str text, struct dead_cursor *ret_cursor);

/* --- reading --- */

/* A page, newest first: {"data":[...],"nextCursor":...}. With a filter that fits little it may be
 * short or empty while nextCursor goes on. cursor NULL: from the newest on. */
enum err dead_page(struct tx *tx, struct arena *a, const struct dead_filter *f,
                   const struct dead_cursor *cursor, int limit, struct str *ret_json);
/* One letter with its payload, its attempts and its event. NOT_FOUND. */
enum err dead_show(struct tx *tx, struct arena *a, const struct dead_letters *l, struct uuid id,
                   struct str *ret_json);

/* --- groups --- */

struct dead_groups {
    struct str kind; /* empty: all */
    int64_t from_ms, to_ms;
    struct str at_kind, at_cause; /* the first one; both empty: from the start */
    int limit;
};
/* Letters that died of the same thing, by kind and cause: {"data":[...],"nextCursor":...}. No more
 * than LIMIT_DEAD_GROUP are counted of each. A page may be short or empty while nextCursor goes on.
 */
enum err dead_groups_page(struct tx *tx, struct arena *a, const struct dead_groups *g,
                          struct str *ret_json);
/* Sets at_kind and at_cause, in the arena. */
bool dead_groups_cursor(struct arena *a, struct str text, struct dead_groups *g);

/* The job that gives letters from before a cause; it is added once, and ends. */
struct job_kind dead_causes_kind(void); /* "dlq.causes" */
/* Where there is a letter without a cause. An older node buries without one. */
enum err dead_causes_start(struct tx *tx, struct queue *q, int64_t now_ms);

/* --- acting --- */

enum { SHA256_TEXT = 64 };
struct dead_edit {
    struct str body;                                      /* as the operator sent it */
    char before[SHA256_TEXT + 1], after[SHA256_TEXT + 1]; /* out; before empty: there was none */
    bool changed;                                         /* out; false: it is as it was */

    /* its own */
    struct str merged;
    char of[SHA256_TEXT + 1]; /* what it was merged with */
};
/* Puts what is hidden back into the body, in a unit that only reads, so that the one that writes
 * need not; it does where this failed, or the letter has changed since. */
enum err dead_edit_prepare(struct tx *tx, struct arena *a, const struct dead_letters *l,
                           struct uuid id, struct dead_edit *edit);

enum dead_verb { DEAD_RETRY, DEAD_DELETE };
enum { DEAD_REFUSALS = 20 }; /* so many are named */

struct dead_refusal {
    struct uuid id;
    char why[256];
};
/* Words that are too long end between two characters. */
void dead_refusal_set(struct dead_refusal *r, struct uuid id, struct str words);

/* One act on one or many. The caller fills the first part, then posts dead_act_step() in units and
 * calls dead_act_took() with each verdict until that says false. */
struct dead_act {
    const struct dead_letters *letters;
    enum dead_verb verb;
    bool dry_run;
    const struct uuid *ids; /* these; NULL: by the filter */
    size_t id_count;
    struct dead_filter filter;
    bool has_cursor;
    struct dead_cursor cursor;
    int64_t limit;          /* matched at most */
    struct uuid user;       /* who asks; all zero: nobody by name */
    const char *by;         /* for the audit: "the admin API" */
    struct str name;        /* of that user; may be empty */
    struct dead_edit *edit; /* NULL, or the body of the one letter that is retried */
    /* Of a redrive, which `by` names: when it began. What died since then may be what it took
     * itself, and is not taken twice. 0: nobody asks. */
    int64_t began_ms;
    /* What the caller adds to the queue behind the act, in the same unit: locked with the lanes of
     * the letters, all in one order. LIMIT_STATEMENT_ROWS of both together, at most. */
    const int64_t *lanes;
    size_t lane_count;

    /* results */
    int64_t matched, done, refused;
    struct dead_refusal refusals[DEAD_REFUSALS];
    bool more; /* the cursor says where to go on */
    enum err err;

    /* its own */
    bool started;
    size_t next_id;
    int64_t looked;
    int alone; /* so many letters go one by one: the unit of all of them failed */
    struct dead_step *step;
};

/* The unit's work: dry runs only read. The arena lives until the act ends. */
enum err dead_act_begin(struct dead_act *act, struct arena *a); /* NO_MEMORY */
enum err dead_act_step(struct tx *tx, struct dead_act *act);
/* Once the unit is back: true: post another one. False: it is over, act->err says how. */
bool dead_act_took(struct dead_act *act, enum err e);
/* What the step was about, also where it failed: how many letters, and the first of them. */
size_t dead_act_chosen(const struct dead_act *act, struct uuid *ret_first);
/* {"matched":..,"done":..,"refused":..,"refusals":[..],"dryRun":..,"cursor":..} */
struct str dead_act_json(const struct dead_act *act, struct arena *a); /* .p NULL: no memory */

/* --- for the queue --- */

/* queue_options.buried: writes down which payment a letter is about. */
enum err dead_letter_note(struct tx *tx, const struct message *m);
/* Attempts older than LIMIT_FAILURES_DAYS go, some at a time. *ret_more: there may be more of them.
 */
enum err dead_failures_expire(struct tx *tx, int64_t now_ms, bool *ret_more);
