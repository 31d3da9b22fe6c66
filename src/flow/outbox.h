/* outbox.h - domain events (B2): a row in the transaction of the change, and one message for each
 * subscriber of its type, in the lane of (subscriber, payment), so that they arrive in order. */
#pragma once

#include "base/uuid.h"
#include "queue/queue.h"

struct domain_event {
    struct uuid id;
    struct str type;       /* "PaymentCreated" */
    struct uuid aggregate; /* the payment */
    int64_t version;       /* of the payment, after the change */
    struct str
        dedupe; /* transition and attempt, like "AUTHORIZED" or "REFUNDED:<refund id>" (E10) */
    struct str payload; /* JSON object */
    int64_t occurred_ms;
};

/* A second event with the same aggregate and dedupe is told nobody: OK, and nothing is added. */
enum err outbox_add(struct queue *q, struct tx *tx, struct arena *a, const struct domain_event *e);

struct client;
struct deliveries {
    struct env *env;
    struct store *store;
    struct client *client;
};
/* The job that pushes one event to one subscriber: "event.deliver". */
struct job_kind delivery_kind(struct deliveries *d);
