/* sentry_limits.h - until when Sentry wants to hear nothing. Of its categories we send two: "error"
 * (events) and "internal" (client reports). A later answer never shortens a wait. */
#pragma once

#include "base/str.h"

struct sentry_limits {
    int64_t events_until_ms, reports_until_ms;
};

/* After any answer. wall_ms: the calendar's, for a Retry-After that is a date. limits:
 * X-Sentry-Rate-Limits; retry_after: Retry-After; both may be empty. */
void sentry_limits_learn(struct sentry_limits *l, int status, struct str limits,
                         struct str retry_after, int64_t now_ms, int64_t wall_ms);
