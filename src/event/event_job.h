/* event_job.h - what the queue message of a provider's event contains, and what its type means. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "gateway/fact.h"

enum { EVENT_JOB_MAX = LIMIT_FACT + 4 * 1024 }; /* every event that was received must fit */

/* Taken out of the event when it was received, so that applying it neither reads nor parses its body
 * again. */
struct event_job {
    struct str type;
    int livemode;                                       /* 0, 1, or -1: the event does not say */
    struct str object_id, intent_id, payment_id, trace; /* may be empty */
    struct str participant_id;                          /* for the log; may be empty */
    struct str fact; /* as fact_write() wrote it; empty: nothing that concerns a payment */
    /* An operator edited the event, so its content is not signed: object_id and intent_id only say
     * what the gateway is queried for, and there is no fact. */
    bool ask;
};

/* The message's body; .p is NULL: no memory. */
struct str event_job_write(struct arena *a, const struct event_job *j);
/* VALIDATION: not what event_job_write() wrote. Texts point into the body or the arena. */
enum err event_job_read(struct arena *a, struct str body, struct event_job *ret_job);

bool event_type_is_known(struct str type);
bool event_type_is_refund(struct str type);
/* False: an event of this type cannot contain an object of this kind. */
bool event_type_fits(struct str type, enum fact_kind kind);
