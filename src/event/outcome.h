/* outcome.h - what became of a provider's event: a row of its own (decision 0006), counted once it
 * is durable. */
#pragma once

#include "base/uuid.h"
#include "payment/payments.h"
#include "queue/queue.h"
#include "store/tx.h"

struct outcome {
    struct uuid message; /* the event's own */
    struct str word;     /* static */
    struct str detail;   /* may be empty */
    int64_t at_ms;
    int64_t received_ms;        /* when the event came to us; the dead need none */
    const struct uuid *payment; /* that it was about; NULL: none of ours */
    struct str event_id;        /* kept with the payment */
};

/* They are counted as processed, and their time is taken, once they are durable: an event that is
 * handed over to another message (refetch.h) is not done before that one is.
 *
 * The first outcome stays: what becomes of an event that an operator replays (dlq/redrive.h) goes to
 * its row of event_replays, which is open until then.
 *
 * CONFLICT: one of them has an outcome already. The fence lets a message have one effect only;
 * should it ever fail, this is the second wall. */
enum err outcomes_write(struct tx *tx, const struct outcome *o, size_t n); /* LIMIT_BULK at most */
/* One try to process an event has failed, durably: the builtin queue's, or the worker's. */
void processing_count(struct env *env, enum job_end end);
enum err outcome_write_dead(struct tx *tx, struct uuid message, const char *why,
                            const struct uuid *payment, struct str event_id);

struct decline { /* the event that told of it */
    struct uuid message;
    struct str event_id, type;
    struct str participant_id; /* may be empty */
    struct str trace;
};

/* 003's line about a card that was declined, once that is durable (O1). */
void log_decline(struct tx *tx, const struct payment *p, const struct fact *f,
                 const struct decline *d);
