/* requeue_local.h - an event that was meant for a remote QStash goes to the builtin queue after all: the
 * remote did not take it (publish.c), or took it and does not bring it (remote_watch.c). */
#pragma once

#include "webhook/event.h"
#include "webhook/event_state.h"
#include "webhook/remote/publish.h"

struct takeback { /* the event's own message, as the queue would have had it */
    struct stripe_event event;
    struct str job;
};

struct takeback_row {             /* the event as it came, and the trace that it belongs to */
    struct str type, trace, body; /* body: empty after its retention */
};

/* In the arena. NOT_FOUND: none of Stripe's is stored by that name. */
enum err takeback_find(struct tx *tx, struct arena *a, struct str event_id,
                       struct takeback_row *ret_row);
/* Slices of the row, and of the arena. VALIDATION: no event can be read there. */
enum err takeback_read(struct arena *a, const struct takeback_row *row,
                       struct takeback *ret_takeback);
/* For an event that is open (webhook/event_state.h), under its lock. Its message is as old as the event: the
 * time until it is processed began when it was received. */
enum err takeback_give(struct tx *tx, const struct publisher *p, const struct takeback *t,
                       const struct standing *s, int64_t now_ms);
