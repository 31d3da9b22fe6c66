/* retry.h - when a failed job runs again. Pure arithmetic: no clock, no chance. */
#pragma once

#include "base/str.h"

#include <stdint.h>

struct retry_policy {
    int retries;      /* after the first run */
    int64_t first_ms; /* before the first retry */
    int64_t max_ms;   /* no gap is longer; 0: no limit */
    int factor;       /* each gap is so many times the one before; below 1 counts as 1 */
};

/* The gap after run number `attempt` (1: the first run) failed; -1: the budget is spent. */
int64_t retry_delay_ms(const struct retry_policy *p, int64_t attempt);

/* False: this attempt is beyond the budget and must not be run at all. That is how a message that
 * kills its server meets its end: the attempt was counted before each run. */
bool retry_may_run(const struct retry_policy *p, int64_t attempt);

/* A Retry-After header: milliseconds from now; -1: absent or junk. wall_ms: the calendar's time,
 * for dates. */
int64_t retry_after_ms(struct str value, int64_t wall_ms);
/* The gap (-1: the budget is spent), or what the other side asked for where that is longer (-1: it
 * did not), up to LIMIT_RETRY_AFTER_MS: it may put a try off, and never hurries it. */
int64_t retry_no_sooner_ms(int64_t delay_ms, int64_t asked_ms);
