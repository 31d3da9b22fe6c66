/* event_state.h - the state of an event, for the paths that apply events without the queue: the HTTP
 * worker (Q4), the publisher and the watch that requeue an event, the sync of a remote's dead
 * letters (Q5).
 *
 * An event has one effect and one outcome, whichever path applies it:
 *   (1) Each of those four holds the event's lock from reading its state until its commit.
 *   (2) The queue's job holds no such lock, but while it runs, the event's message (or the message
 *       that queries the gateway for it, E2) is live. No other path applies an event with a live
 *       message.
 *   (3) An operator who retries a dead letter removes it in the commit that makes it live. A path
 *       that applies a dead event removes it too. The second of them finds it gone. */
#pragma once

#include "base/uuid.h"
#include "queue/queue.h"
#include "store/tx.h"
#include "webhook/event.h"

enum event_state_kind {
    EVENT_STATE_OPEN,     /* it has no outcome, and no message in the queue */
    EVENT_STATE_QUEUED,   /* its message is in the queue */
    EVENT_STATE_DONE,     /* it has its outcome */
    EVENT_STATE_DEAD,     /* it is a dead letter that waits for an operator */
    EVENT_STATE_GIVEN_UP, /* an operator deleted its dead letter */
};

struct event_state {
    enum event_state_kind kind;
    struct uuid message; /* the id of its message, which may never have been in the queue */
    int64_t received_ms;
};

/* The row of an event that is not stored yet. */
struct new_event {
    const struct stripe_event *event; /* a readable one */
    struct str body, request_id, trace;
    int64_t received_ms;
    struct uuid message; /* made before the unit of work */
};

/* Takes the event's lock and reads its state. NOT_FOUND: the event is unknown. */
enum err event_state_read(struct tx *tx, struct str event_id, struct event_state *ret_state);
/* The same, but stores an unknown event, which is open then. */
enum err event_state_read_or_add(struct tx *tx, const struct new_event *n,
                                 struct event_state *ret_state);

/* Removes the dead letter of an event that is about to be applied. STALE: an operator removed it
 * first. */
enum err event_state_revive(struct tx *tx, const struct event_state *s);

/* Makes an open event a dead letter, with its outcome, payment, failed attempt and audit row.
 * kind: apply_event_kind(); m: the event's message, as the queue would have it. */
enum err event_state_bury(struct tx *tx, const struct job_kind *kind, const struct message *m,
                          int64_t now_ms, const char *why);
