/* event_state.h - where an event stands, for those who meet it past the queue: the HTTP worker (Q4),
 * the publisher and the watch that take an event back, the mirror of a remote's dead letters (Q5).
 *
 * An event has one effect and one outcome, whoever brings it about:
 *   (1) Each of those four holds the event's lock from its first look until its commit.
 *   (2) The queue's own worker holds no lock, but then the event's message is live, or the message
 *       that asks the gateway for it (E2); and what is live is the queue's: nobody else touches it.
 *   (3) An operator who retries a dead letter removes it in the commit that makes it live; who
 *       applies a dead event removes it too, and one of the two finds it gone. */
#pragma once

#include "base/uuid.h"
#include "queue/queue.h"
#include "store/tx.h"
#include "webhook/event.h"

enum standing_kind {
    STANDING_OPEN,     /* nothing has become of it, and the queue does not have it */
    STANDING_QUEUED,   /* the queue has it */
    STANDING_DONE,     /* it has its outcome */
    STANDING_DEAD,     /* a dead letter that waits for an operator */
    STANDING_GIVEN_UP, /* an operator deleted its dead letter */
};

struct standing {
    enum standing_kind kind;
    struct uuid message; /* its message, which may never have been in the queue */
    int64_t received_ms;
};

/* What is stored of an event that is met for the first time. */
struct standing_new {
    const struct stripe_event *event; /* a readable one */
    struct str body, request_id, trace;
    int64_t received_ms;
    struct uuid message; /* made before the unit */
};

/* Takes the lock. NOT_FOUND: the event is unknown. */
enum err standing_read(struct tx *tx, struct str event_id, struct standing *ret_standing);
/* The same; an unknown event is stored, and is open. */
enum err standing_read_or_add(struct tx *tx, const struct standing_new *n,
                              struct standing *ret_standing);

/* A dead one that is about to be applied: its letter goes. STALE: an operator was faster. */
enum err standing_revive(struct tx *tx, const struct standing *s);

/* An open one becomes a dead letter, with its outcome, its payment, its failed attempt and an audit
 * row. kind: apply_event_kind(); m: its message as the queue would have had it. */
enum err standing_bury(struct tx *tx, const struct job_kind *kind, const struct message *m,
                       int64_t now_ms, const char *why);
