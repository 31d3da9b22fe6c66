/* reparse.h - dead letters of events that could not be understood when they came. A retry reads the
 * stored bytes again, since a newer version may understand them, or it reads the version that an
 * operator edited. The event's own row is never changed. */
#pragma once

#include "base/why.h"
#include "dlq/dead_letter.h"

struct dead_kind stripe_dead_kind(void);  /* "stripe.event" */
struct dead_kind refetch_dead_kind(void); /* "stripe.refetch": the event itself is edited */

/* --- for dead letters of other endpoints --- */

struct stored_event { /* borrowed from the row */
    struct str body, trace;
    bool edited; /* an operator changed it, now or before */
};

/* Reads the body, sets lane and payment of d, and ends with reparse_store() or reparse_reject(). */
typedef enum err (*reparse_fn)(struct tx *tx, struct arena *a, struct dead_letter *d,
                               const struct stored_event *s, struct why *why);
/* NOT_FOUND: the event is gone. */
enum err reparse(struct tx *tx, struct dead_letter *d, reparse_fn mend, struct why *why);
/* What reparse() reads of that event into the unit's memory. NOT_FOUND. */
enum err reparse_need(struct tx *tx, struct str event_id, int64_t *ret_bytes);
/* The letter's message gets this body. job.p NULL: no memory. */
enum err reparse_store(struct tx *tx, const struct dead_letter *d, struct str job);
/* UNPROCESSABLE, always. */
enum err reparse_reject(const struct stored_event *s, struct why *why, const char *reason);

/* The same with a body that an operator wrote. */
enum err reparse_edited(struct tx *tx, struct dead_letter *d, struct str body, reparse_fn mend,
                        struct why *why);
/* dead_kind.body of events: what is stored of it, or what was made of that. */
enum err reparse_body(struct tx *tx, void *ctx, const struct dead_letter *d,
                      struct dead_body *ret_body, struct why *why);
