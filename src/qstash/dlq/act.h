/* act.h - deleting and retrying dead messages, one or many, for the API calls of dlq.c.
 *
 * A call is a chain of units of work: one selects the next messages, another acts on those that
 * still exist, and so on until the call has its count or there are no more. Each acting unit
 * commits all of its effect: the new message, the row of qstash_dead, the dead letter, the labels
 * and a line of the audit log. */
#pragma once

#include "qstash/endpoint.h"
#include "qstash/filter.h"

/* --- by dlqId --- */

struct dead_name {
    int64_t died_ms, seq; /* of the dlqId */
    bool there;           /* it exists: dead_names_find() */
    struct uuid id;
};

/* The dlqIds, each once, the oldest death first; invalid ones are left out. NO_MEMORY. */
enum err dead_names_read(struct arena *a, const struct filter_texts *texts,
                         struct dead_name **ret_names, size_t *ret_count);
/* n <= LIMIT_STATEMENT_ROWS. */
enum err dead_names_find(struct tx *tx, struct dead_name *names, size_t n);

/* --- the acts --- */

enum dlq_verb { DLQ_DELETE, DLQ_RETRY };

/* The messages that query or body select. */
void dlq_act_many(struct qstash_request *v, enum dlq_verb verb);
/* The message that the path names; 404 if there is none. */
void dlq_act_one(struct qstash_request *v, enum dlq_verb verb);
