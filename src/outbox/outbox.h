/* outbox.h - domain events (B2): one row in the transaction of the change, and one queue message for
 * each subscriber of its type, in the lane of (subscriber, payment), so that they arrive in order.
 *
 *   (1) A change is emitted once: the pair (aggregate, dedupe) is unique (E10).
 *   (2) Every try sends what was stored with the change, byte for byte.
 *   (3) webhook-id is made of event and subscriber, so retries and redrives repeat it.
 *   (4) A slow or unreachable subscriber holds up only its own lanes. */
#pragma once

#include "base/uuid.h"
#include "queue/queue.h"

struct domain_event {
    struct uuid id;
    struct str type;       /* "PaymentCreated" */
    struct uuid aggregate; /* the payment */
    int64_t version;       /* of the payment, after the change */
    struct str dedupe;     /* the transition, like "AUTHORIZED" or "REFUNDED:<refund id>" (E10) */
    struct str payload;    /* JSON object */
    int64_t occurred_ms;
    struct str trace; /* traceparent of the change, for the deliveries; may be empty */
};

/* A second event with the same aggregate and dedupe is not emitted: OK, and nothing is added. */
enum err outbox_add(struct queue *q, struct tx *tx, struct arena *a, const struct domain_event *e);

/* types: separated by commas; "*" stands for all. */
bool outbox_types_have(struct str types, struct str type);
bool outbox_type_is_known(struct str type);

struct client;
struct deliveries {
    struct env *env;
    struct store *store;
    struct client *client;
    struct executor *executor; /* the queue's */
};
/* The job that pushes one event to one subscriber: "event.deliver". `d` is borrowed. */
struct job_kind delivery_kind(struct deliveries *d);

/* The delay after a delivery that failed on this attempt (1: the first); -1: no further try. A
 * Retry-After (-1: none) may lengthen it, up to an hour, but never shortens it. */
int64_t delivery_delay_ms(int64_t attempt, int64_t retry_after_ms);
