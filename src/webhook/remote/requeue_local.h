/* requeue_local.h - adds an event that was meant for a remote QStash to the builtin queue: the remote
 * did not accept it (publish.c), or accepted it and does not deliver it (remote_watch.c). */
#pragma once

#include "webhook/event.h"
#include "webhook/event_state.h"
#include "webhook/remote/publish.h"

struct requeue_local { /* the event's message, as the queue would have it */
    struct stripe_event event;
    struct str job;
};

struct requeue_local_row {        /* the event as it came, and its trace */
    struct str type, trace, body; /* body: empty after its retention */
};

/* Copied to the arena. NOT_FOUND: no event of Stripe is stored under that id. */
enum err requeue_local_find(struct tx *tx, struct arena *a, struct str event_id,
                            struct requeue_local_row *ret_row);
/* Slices of the row, and of the arena. VALIDATION: the row holds no readable event. */
enum err requeue_local_read(struct arena *a, const struct requeue_local_row *row,
                            struct requeue_local *ret_requeue);
/* For an open event, under its lock (webhook/event_state.h). Its message is as old as the event: the
 * time until it is applied counts from its receipt. */
enum err requeue_local_add(struct tx *tx, const struct publisher *p, const struct requeue_local *t,
                           const struct event_state *s, int64_t now_ms);
