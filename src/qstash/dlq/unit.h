/* unit.h - one unit of an act on dead parcels: those that are still there are deleted, or
 * retried as new parcels, with their letters, their labels and a line of the audit. Only act.c
 * includes this. */
#pragma once

#include "base/limits.h"
#include "base/why.h"
#include "qstash/dlq/act.h"
#include "qstash/publish/input.h"

struct dlq_unit {
    struct visit *v;
    enum dlq_verb verb;
    const struct header *headers; /* options that override what is stored */
    size_t header_count;

    struct uuid ids[LIMIT_QSTASH_DEAD_STEP];
    struct uuid new_ids[LIMIT_QSTASH_DEAD_STEP]; /* made before the unit */
    size_t from, count;                          /* which of them */

    /* what it did */
    size_t upto; /* so far: bodies have a limit, the next unit goes on from here */
    bool did[LIMIT_QSTASH_DEAD_STEP];
    struct why why; /* of VALIDATION: the options */
};

enum err dlq_unit_run(struct tx *tx, struct dlq_unit *x);
/* What is wrong with the options is wrong whatever they are put on. VALIDATION: why. */
enum err dlq_unit_check(struct dlq_unit *x);
