/* receive.h - the unit of work that stores an event: its row and its message in one commit, once per
 * event id. Requests that arrive at the same time share the statements. */
#pragma once

#include "observe/span.h"
#include "queue/queue.h"
#include "webhook/event.h"

struct receive {
    struct unit unit;

    /* in: all of it lives until the unit is done */
    struct str provider, kind; /* of the row and of the message; empty: Stripe's */
    struct queue *queue;
    struct stripe_event event;
    struct str body, request_id;
    struct str job;             /* the message's body; empty where it is published */
    char trace[TRACE_TEXT + 1]; /* the span's, where it is recorded */
    struct span span; /* of adding it to the queue; ended by the code that posts the unit */
    int64_t received_ms;
    struct uuid new_id;     /* its message, if the event is new */
    bool publish;           /* it leaves through a QStash first (webhook/remote/publish.h) ... */
    struct uuid publish_id; /* ... by this message */

    /* out */
    bool duplicate;
    struct uuid message_id; /* of the first event with this id */
};

extern const struct unit_kind receive_kind;

void receive_span_end(struct receive *r); /* after the unit is done */

/* The message's body for a readable event. .p NULL: no memory. */
struct str receive_job(struct arena *a, const struct stripe_event *e, struct str trace);
