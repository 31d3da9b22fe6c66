/* act.h - deleting and retrying dead parcels, one or many, for the calls of dlq.c.
 *
 * A chain of units: one that reads and chooses the next ones, one that acts on those which are
 * still there, and so on until the call has its count or there are no more. Each acting unit is
 * whole: the new parcel, the row of qstash_dead, its letter, its labels and a line of the audit. */
#pragma once

#include "qstash/endpoint.h"
#include "qstash/filter.h"

/* --- by their names --- */

struct dead_name {
    int64_t died_ms, seq; /* of the dlqId */
    bool there;           /* dead_names_find() */
    struct uuid id;
};

/* The dlqIds, each once, the oldest death first; what is none is left out. NO_MEMORY. */
enum err dead_names_read(struct arena *a, const struct filter_texts *texts,
                         struct dead_name **ret_names, size_t *ret_count);
/* LIMIT_STATEMENT_ROWS at most. */
enum err dead_names_find(struct tx *tx, struct dead_name *names, size_t n);

/* --- the acts --- */

enum dlq_verb { DLQ_DELETE, DLQ_RETRY };

/* Those that the query or the body select. */
void dlq_act_many(struct visit *v, enum dlq_verb verb);
/* The one that the path names; 404 where there is none. */
void dlq_act_one(struct visit *v, enum dlq_verb verb);
