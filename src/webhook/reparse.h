/* reparse.h - dead letters of events that could not be understood when they came: a retry reads what
 * is stored of them once more, for this program may know better than the one that took them; or it
 * reads what an operator made of it. The event's own row is never changed. */
#pragma once

#include "base/why.h"
#include "dlq/dead_letter.h"

struct dead_kind stripe_dead_kind(void);  /* "stripe.event" */
struct dead_kind refetch_dead_kind(void); /* "stripe.refetch": its event is edited */

/* --- for the other doors' letters --- */

struct stored_event { /* borrowed from the row */
    struct str body, trace;
    bool edited; /* by an operator, now or before: it is not what came */
};

/* Reads the body, sets lane and payment of d, and ends with reread_store() or reread_refuse(). */
typedef enum err (*reread_fn)(struct tx *tx, struct arena *a, struct dead_letter *d,
                              const struct stored_event *s, struct why *why);
/* NOT_FOUND: the event is gone. */
enum err reread(struct tx *tx, struct dead_letter *d, reread_fn mend, struct why *why);
/* What reread() reads of that event into the unit's memory. NOT_FOUND. */
enum err reread_need(struct tx *tx, struct str event_id, int64_t *ret_bytes);
/* The letter's message gets this body. job.p NULL: no memory. */
enum err reread_store(struct tx *tx, const struct dead_letter *d, struct str job);
/* UNPROCESSABLE, always. */
enum err reread_refuse(const struct stored_event *s, struct why *why, const char *reason);

/* The same with a body that an operator wrote. */
enum err reread_edited(struct tx *tx, struct dead_letter *d, struct str body, reread_fn mend,
                       struct why *why);
/* dead_kind.body of events: what is stored of it, or what was made of that. */
enum err reread_body(struct tx *tx, void *ctx, const struct dead_letter *d,
                     struct dead_body *ret_body, struct why *why);
