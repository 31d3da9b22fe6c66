/* outcome.h - what became of a provider's event: a row of its own (decision 0006), counted once it
 * is durable. */
#pragma once

#include "base/uuid.h"
#include "payment/payments.h"
#include "queue/queue.h"
#include "store/tx.h"

struct outcome {
    struct uuid message; /* the event's own message */
    struct str word;     /* static */
    struct str detail;   /* may be empty */
    int64_t at_ms;
    int64_t received_ms;        /* when the event was received; not used for "dead" */
    const struct uuid *payment; /* the event's; NULL: none of ours */
    struct str event_id;        /* stored with the payment */
};

/* Writes outcomes. After the commit they are counted as processed and timed; an event that is handed
 * over to another message (refetch.h) is counted when that message is done.
 *
 * The first outcome of an event stays. If an operator replays the event (dlq/redrive.h), the new
 * outcome goes to the open row of event_replays.
 *
 * CONFLICT: one of the events has an outcome already. The message's fence allows one effect only;
 * this is the second check of the same rule. */
enum err outcomes_write(struct tx *tx, const struct outcome *o, size_t n); /* LIMIT_BULK at most */
/* Counts one try to process an event, after its commit: of the builtin queue or of the worker. */
void processing_count(struct env *env, enum job_end end);
enum err outcome_write_dead(struct tx *tx, struct uuid message, const char *why,
                            const struct uuid *payment, struct str event_id);

struct decline { /* the event that reported it */
    struct uuid message;
    struct str event_id, type;
    struct str participant_id; /* may be empty */
    struct str trace;
};

/* Logs the line of 003 about a declined card, after the commit (O1). */
void log_decline(struct tx *tx, const struct payment *p, const struct fact *f,
                 const struct decline *d);
