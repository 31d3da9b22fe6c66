/* slo.h - the service level objectives of the seeds (O10), and pure functions that say whether a
 * stretch of time met them. */
#pragma once

#include "base/err.h"
#include "telemetry/window.h"

enum goal {
    GOAL_PUBLISH,
    GOAL_WORKER,
    GOAL_RETRIES,
    GOAL_DLQ_INFLOW,
    GOAL_RECEPTION,
    GOAL_LATENCY,
    GOAL_ERRORS,
    GOAL_VIOLATIONS,
    GOALS
};

struct goal_rule {
    const char *name, *seed; /* "001", "003" */
    const char *compare;     /* ">=", "<", "=" */
    const char *unit;        /* "percent", "ms", "count" */
    int64_t target;          /* in thousandths of the unit, as alerts.h has them */
    const char *words[2];    /* by enum language */
};
const struct goal_rule *goal_rule(enum goal g);

enum goal_verdict { GOAL_NO_DATA, GOAL_MET, GOAL_MISSED };
struct goal_result {
    enum goal_verdict verdict;
    int64_t value; /* thousandths; NO_DATA: 0 */
    int64_t events;
};
/* remote: events go through a remote QStash. With the builtin queue the commit that stores a
 * webhook also adds its job, so every stored webhook counts as published. */
struct goal_result goal_measure(enum goal g, const struct stretch *s, bool remote);
