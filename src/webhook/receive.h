/* receive.h - the unit that makes an event durable: its row and its message in one commit, once per
 * event id. Many requests of one moment share the statements. */
#pragma once

#include "observe/span.h"
#include "queue/queue.h"
#include "webhook/event.h"

struct receive {
    struct unit unit;

    /* in: all of it lives until the unit comes back */
    struct str provider, kind; /* of the row and of the message; empty: Stripe's */
    struct queue *queue;
    struct stripe_event event;
    struct str body, request_id;
    struct str job;             /* the message's body; empty where it is published */
    char trace[TRACE_TEXT + 1]; /* the span's, where it is recorded */
    struct span span;           /* of handing it to the queue: who posts the unit ends it */
    int64_t received_ms;
    struct uuid new_id; /* its message, if the event is new */
    bool
        publish; /* it leaves through a QStash first (webhook/remote/publish.h), by this message: */
    struct uuid publish_id;

    /* out */
    bool duplicate;
    struct uuid message_id; /* of the first one */
};

extern const struct unit_kind receive_kind;

void receive_span_end(struct receive *r); /* the unit is back */

/* The message's body for an event that can be read. .p NULL: no memory. */
struct str receive_job(struct arena *a, const struct stripe_event *e, struct str trace);
