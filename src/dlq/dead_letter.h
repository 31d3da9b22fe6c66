/* dead_letter.h - messages that the queue gave up on, as records (Q6): found by what they concern,
 * shown with payload and every attempt, retried, or deleted.
 *
 *   (1) A dead letter is dead or live, never both and never neither: an act is one commit.
 *   (2) A retried dead letter keeps its message id, gets a fresh budget and goes to the end of its
 *       lane.
 *   (3) An act starts with the oldest dead letter, so that those of a lane come back in their
 *       order; one that dies again meanwhile is not taken a second time.
 *   (4) Every act leaves an audit row with the dead letter's subject and payment.
 *   (5) No unit touches more than LIMIT_DEAD_STEP dead letters, or retries more than
 *       LIMIT_DEAD_STEP_BYTES and one. Reading examines at most LIMIT_DEAD_LOOKED rows, and a
 *       cursor goes on from there. */
#pragma once

#include "base/why.h"
#include "queue/queue.h"

struct buf;

struct dead_letter {
    struct uuid id; /* of the message */
    struct str kind, ref, reason;
    struct str cause; /* domain/cause.h; empty: not determined yet */
    bool has_lane, has_payment, has_body;
    int64_t lane;
    struct uuid payment;
    int64_t attempts; /* since it was added or last retried */
    int64_t added_ms, died_ms;
};

/* The body of a dead letter for editing. The bytes live until the unit's run ends. */
struct dead_body {
    struct str now;   /* what a retry would use */
    struct str first; /* as it came; the same if it was never edited */
    bool edited;
    bool is_event; /* from a provider: `first` is kept unchanged, and a body that is not JSON is not
                      shown, since card or personal data in it cannot be found (A6) */
};

enum { DEAD_LANES = 2 };

/* What retrying a dead letter needs. */
struct dead_need {
    int64_t bytes;  /* read into the unit's memory */
    bool has_gates; /* its kind revives it, in these lanes; else its own lane counts, if any */
    int64_t lanes[DEAD_LANES];
    size_t lane_count;
};

/* A kind with its own handling. retry and forget are called in the act's transaction while the dead
 * letter's row is locked and still stored; it is removed afterwards. They may set `why` on failure.
 *
 * UNPROCESSABLE or NOT_FOUND: this one is rejected and stays dead, nothing was written, and the act
 * goes on with the others. Any other error fails the unit; then each dead letter is tried alone. */
struct dead_kind {
    const char *name;
    void *ctx; /* borrowed */
    /* If NULL, or if *ret_live stays false, the dead letter goes back to the queue as its row says
     * (retry may change the row, and then d->has_lane and d->lane too). *ret_live true: the kind
     * revived it by other means. */
    enum err (*retry)(struct tx *tx, void *ctx, struct dead_letter *d, int64_t now_ms,
                      bool *ret_live, struct why *why);
    /* NULL: needs nothing. It only reads, and is called before any dead letter of the step is
     * retried. NOT_FOUND: as if it were NULL. A retry without gates locks no lane; one with gates
     * is called when the lanes of the whole step are locked. */
    enum err (*need)(struct tx *tx, void *ctx, const struct dead_letter *d,
                     struct dead_need *ret_need);
    /* Called before a deletion. NULL: there is nothing to do but delete the row. */
    enum err (*forget)(struct tx *tx, void *ctx, const struct dead_letter *d, struct why *why);
    /* Writes the members payload and failures into an open object. NULL or NOT_FOUND (then nothing
     * was written): they are the row's body and the queue's attempts. */
    enum err (*show)(struct tx *tx, void *ctx, const struct dead_letter *d, struct buf *b);
    /* Reads another name for such a dead letter's id; false: it is none. NULL: there is none. */
    bool (*parse)(struct str text, struct uuid *ret_id);

    /* --- editing: body and edit are both set, or neither --- */

    const char *why_not; /* why it cannot be edited, if they are not set; NULL: the usual text */
    /* NOT_FOUND: it is gone. UNPROCESSABLE: it may not be shown or edited, `why` says why. */
    enum err (*body)(struct tx *tx, void *ctx, const struct dead_letter *d,
                     struct dead_body *ret_body, struct why *why);
    /* Called instead of retry: replaces the body. *ret_id: the message with the new body, if it is
     * not the dead letter's own. UNPROCESSABLE: the body is invalid. */
    enum err (*edit)(struct tx *tx, void *ctx, struct dead_letter *d, struct str body,
                     int64_t now_ms, bool *ret_live, struct uuid *ret_id, struct why *why);
};

struct dead_letters {
    struct env *env;
    struct queue *queue; /* NULL: no queue runs in this process (the command line) */
    const struct dead_kind *kinds;
    size_t kind_count;
};

/* --- which of them --- */

/* Reads a UUID, or another name by dead_kind.parse. */
bool dead_id_read(const struct dead_letters *l, struct str text, struct uuid *ret_id);

struct dead_filter {
    struct str kind, ref; /* empty: any */
    struct str reason;    /* a part of it, compared without ASCII case */
    struct str cause;     /* has an index together with a kind */
    bool has_payment;
    struct uuid payment;
    int64_t from_ms, to_ms; /* died in [from, to); 0: open */
};
bool dead_filter_is_empty(const struct dead_filter *f);

struct dead_cursor { /* opaque to callers */
    int64_t at_ms, until_ms;
    struct uuid id;
};
enum { DEAD_CURSOR_TEXT = 43 };
bool dead_cursor_read(struct str text, struct dead_cursor *ret_cursor);

/* --- reading --- */

/* A page, newest first: {"data":[...],"nextCursor":...}. With a filter that matches little, a page
 * may be short or empty and still have a nextCursor. cursor NULL: starts with the newest. */
enum err dead_page(struct tx *tx, struct arena *a, const struct dead_filter *f,
                   const struct dead_cursor *cursor, int limit, struct str *ret_json);
/* One dead letter with its payload, attempts and event. NOT_FOUND. */
enum err dead_show(struct tx *tx, struct arena *a, const struct dead_letters *l, struct uuid id,
                   struct str *ret_json);

/* --- groups --- */

struct dead_groups {
    struct str kind; /* empty: all */
    int64_t from_ms, to_ms;
    struct str at_kind, at_cause; /* the first group; both empty: from the start */
    int limit;
};
/* Counts dead letters by kind and failure cause: {"data":[...],"nextCursor":...}. At most
 * LIMIT_DEAD_GROUP are counted of each group. A page may be short or empty and still have a
 * nextCursor. */
enum err dead_groups_page(struct tx *tx, struct arena *a, const struct dead_groups *g,
                          struct str *ret_json);
/* Sets at_kind and at_cause, in the arena. */
bool dead_groups_cursor(struct arena *a, struct str text, struct dead_groups *g);

/* The job that gives a cause to dead letters without one; it is added once, and ends. */
struct job_kind dead_causes_kind(void); /* "dlq.causes" */
/* Adds that job if a dead letter has no cause: a node of an older version stores none. */
enum err dead_causes_start(struct tx *tx, struct queue *q, int64_t now_ms);

/* --- acting --- */

enum { SHA256_TEXT = 64 };
struct dead_edit {
    struct str body;                                      /* as the operator sent it */
    char before[SHA256_TEXT + 1], after[SHA256_TEXT + 1]; /* out; before empty: there was none */
    bool changed;                                         /* out; false: the body is unchanged */

    /* private */
    struct str merged;
    char of[SHA256_TEXT + 1]; /* the body that it was merged with */
};
/* Restores the redacted values in the body within a read-only unit, to keep that work out of the
 * unit that writes. If it fails, or if the body changes afterwards, the writing unit does it. */
enum err dead_edit_prepare(struct tx *tx, struct arena *a, const struct dead_letters *l,
                           struct uuid id, struct dead_edit *edit);

enum dead_verb { DEAD_RETRY, DEAD_DELETE };
enum { DEAD_REFUSALS = 20 }; /* listed by id; the others are only counted */

struct dead_refusal {
    struct uuid id;
    char why[256];
};
/* Cuts words that are too long between two characters. */
void dead_refusal_set(struct dead_refusal *r, struct uuid id, struct str words);

/* One act on one or many. The caller fills the first part, posts dead_act_step() in units, and
 * calls dead_act_took() with each unit's result until that returns false. */
struct dead_act {
    const struct dead_letters *letters;
    enum dead_verb verb;
    bool dry_run;
    const struct uuid *ids; /* NULL: by the filter */
    size_t id_count;
    struct dead_filter filter;
    bool has_cursor;
    struct dead_cursor cursor;
    int64_t limit;          /* at most so many are matched */
    struct uuid user;       /* all zero: the admin token, or the command line */
    const char *by;         /* for the audit: "the admin API" */
    struct str name;        /* of that user; may be empty */
    struct dead_edit *edit; /* NULL, or the new body of the one dead letter that is retried */
    /* When the redrive that `by` names began: what died since may have been taken by it before and
     * is not taken twice. 0: this is no redrive. */
    int64_t began_ms;
    /* The lanes of messages that the caller adds after the act, in the same unit: they are locked
     * together with those of the dead letters, in one order. LIMIT_STATEMENT_ROWS in all, at
     * most. */
    const int64_t *lanes;
    size_t lane_count;

    /* results */
    int64_t matched, done, refused;
    struct dead_refusal refusals[DEAD_REFUSALS];
    bool more; /* go on at the cursor */
    enum err err;

    /* private */
    bool started;
    size_t next_id;
    int64_t looked;
    int alone; /* so many are done one by one, since the unit with all of them failed */
    struct dead_step *step;
};

/* The arena lives until the act ends. dead_act_step() is the unit's work; a dry run only reads. */
enum err dead_act_begin(struct dead_act *act, struct arena *a); /* NO_MEMORY */
enum err dead_act_step(struct tx *tx, struct dead_act *act);
/* Takes the unit's result. True: post another unit. False: the act is over, with act->err. */
bool dead_act_took(struct dead_act *act, enum err e);
/* How many dead letters the step chose, and the first of them; also after a failure. */
size_t dead_act_chosen(const struct dead_act *act, struct uuid *ret_first);
/* {"matched":..,"done":..,"refused":..,"refusals":[..],"dryRun":..,"cursor":..} */
struct str dead_act_json(const struct dead_act *act, struct arena *a); /* .p NULL: no memory */

/* --- for the queue --- */

/* queue_options.buried: stores the payment that a new dead letter concerns. */
enum err dead_letter_note(struct tx *tx, const struct message *m);
/* Deletes some attempts older than LIMIT_FAILURES_DAYS. *ret_more: there may be more. */
enum err dead_failures_expire(struct tx *tx, int64_t now_ms, bool *ret_more);
