/* sentry_limits.h - the rate limits that Sentry has set, for the two categories that are sent:
 * "error" (events) and "internal" (client reports). A later answer never shortens a wait. */
#pragma once

#include "base/str.h"

struct sentry_limits {
    int64_t events_until_ms, reports_until_ms;
};

/* Learns from an answer. wall_ms is the calendar time, for a Retry-After that is a date. limits is
 * X-Sentry-Rate-Limits, retry_after is Retry-After; both may be empty. */
void sentry_limits_learn(struct sentry_limits *l, int status, struct str limits,
                         struct str retry_after, int64_t now_ms, int64_t wall_ms);
