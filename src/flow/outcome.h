/* outcome.h - what became of a provider's event: a row of its own (decision 0006), counted once it
 * is durable. Only flow/ includes this. */
#pragma once

#include "base/uuid.h"
#include "store/tx.h"

struct outcome {
    struct uuid message; /* the event's own */
    struct str word;     /* static */
    struct str detail;   /* may be empty */
    int64_t at_ms;
    const struct uuid *payment; /* that it was about; NULL: none of ours */
    struct str event_id;        /* kept with the payment */
};

/* CONFLICT: one of them has an outcome already. The fence lets a message have one effect only;
 * should it ever fail, this is the second wall. */
enum err outcomes_write(struct tx *tx, const struct outcome *o, size_t n); /* LIMIT_BULK at most */
enum err outcome_write_dead(struct tx *tx, struct uuid message, const char *why,
                            const struct uuid *payment, struct str event_id);
