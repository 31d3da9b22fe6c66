/* retry.h - when something that failed is tried again: every pause of the server is in one table
 * (retry.c). Pure arithmetic, without clock and randomness. */
#pragma once

#include "base/str.h"

#include <stdint.h>

struct retry_policy {
    int retries;            /* after the first run; RETRY_ENDLESS: no limit */
    int64_t first_ms;       /* before the first retry */
    int64_t max_ms;         /* no gap is longer; 0: no limit */
    int factor;             /* each gap is the one before times factor; below 1 counts as 1 */
    const int64_t *gaps_ms; /* not NULL: the `retries` gaps, in place of the three above */
    int part;               /* for retry_aged_ms(): each gap is 1 / part of the age */
};

enum { RETRY_ENDLESS = INT32_MAX - 1 };

/* The table in retry.c says what each policy is for and how long it lasts in all. */
enum retry {
    RETRY_OPERATION,
    RETRY_OPERATION_QUERY,
    RETRY_MONEY_BACK,
    RETRY_ABANDON,
    RETRY_LAPSE_WARNING,
    RETRY_LAPSED,
    RETRY_POLL,
    RETRY_POLL_JOB,
    RETRY_BOOKING_CONFIRM,
    RETRY_BOOKING_CANCELLED,
    RETRY_CAMPAIGN_CANCEL,
    RETRY_CAMPAIGN_WALK,
    RETRY_CHARGE_FEE,
    RETRY_CHARGE_REFUNDS,
    RETRY_HEAL,
    RETRY_RECONCILE_DAILY,
    RETRY_RECONCILE_GATEWAY,
    RETRY_GATEWAY,
    RETRY_BREAKER,
    RETRY_NOTIFY,
    RETRY_SEND,
    RETRY_SEND_JOB,
    RETRY_SEND_CHANNEL,
    RETRY_ALERT,
    RETRY_DELIVERY,
    RETRY_DELIVERY_JOB,
    RETRY_QSTASH,
    RETRY_QSTASH_HOST,
    RETRY_NEEDED,
    RETRY_PLANNED,
    RETRY_HOUSEKEEPING,
    RETRY_REDRIVE,
    RETRY_UNKNOWN_KIND,
    RETRY_SANDBOX_WORK,
    RETRY_SANDBOX_FORGET,
    RETRY_SANDBOX_RELAY,
    RETRY_SANDBOX_NOTICE,
    RETRY_SANDBOX_WEBHOOK,
    RETRY_SANDBOX_WEBHOOK_JOB,
    RETRY_POLICIES
};

extern const struct retry_policy retry_table[RETRY_POLICIES];

/* The policy of jobs that apply events; two settings give its values (Q2). */
struct retry_policy retry_of_events(int retries, int64_t first_ms);

/* The gap after run number `attempt` (1: the first run) failed; -1: the budget is spent. */
int64_t retry_delay_ms(const struct retry_policy *p, int64_t attempt);
/* The gap before the next check of something that gets older: 1 / part of its age, but at least
 * first_ms and at most max_ms. */
int64_t retry_aged_ms(const struct retry_policy *p, int64_t age_ms);

/* False: this attempt is beyond the budget and must not run. Attempts are counted before they run,
 * so a message that crashes the server is stopped by this, too. */
bool retry_may_run(const struct retry_policy *p, int64_t attempt);

/* Parses a Retry-After header into milliseconds from now. wall_ms: the wall clock, for dates. -1:
 * absent or invalid. */
int64_t retry_after_ms(struct str value, int64_t wall_ms);
/* The longer of delay_ms and asked_ms, so that the other side may delay a retry and never hasten
 * it. delay_ms -1: the budget is spent, and the result is -1. asked_ms counts up to
 * LIMIT_RETRY_AFTER_MS; -1: nothing was asked. */
int64_t retry_no_sooner_ms(int64_t delay_ms, int64_t asked_ms);
