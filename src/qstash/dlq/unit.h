/* unit.h - one unit of work on dead messages: those that still exist are deleted, or retried as new
 * messages, with their dead letters, labels and a line of the audit log. Only act.c includes
 * this. */
#pragma once

#include "base/limits.h"
#include "base/why.h"
#include "qstash/dlq/act.h"
#include "qstash/publish/input.h"

struct dlq_unit {
    struct qstash_request *v;
    enum dlq_verb verb;
    const struct header *headers; /* options that override what is stored */
    size_t header_count;

    struct uuid ids[LIMIT_QSTASH_DEAD_STEP];
    struct uuid new_ids[LIMIT_QSTASH_DEAD_STEP]; /* made before the unit */
    size_t from, count;                          /* which of them */

    /* what it did */
    size_t upto; /* the next unit goes on from here: one unit takes only so many bytes of bodies */
    bool did[LIMIT_QSTASH_DEAD_STEP];
    struct why why; /* of VALIDATION: the options */
};

enum err dlq_unit_run(struct tx *tx, struct dlq_unit *x);
/* Checks the options, which do not depend on the messages. VALIDATION: why. */
enum err dlq_unit_check(struct dlq_unit *x);
