/* retry.h - when something that failed is tried again: every pause of the server, in one table
 * (retry.c). Pure arithmetic: no clock, no chance. */
#pragma once

#include "base/str.h"

#include <stdint.h>

struct retry_policy {
    int retries;            /* after the first run; RETRY_ENDLESS: as long as it takes */
    int64_t first_ms;       /* before the first retry */
    int64_t max_ms;         /* no gap is longer; 0: no limit */
    int factor;             /* each gap is so many times the one before; below 1 counts as 1 */
    const int64_t *gaps_ms; /* instead of these three: the `retries` gaps, one by one */
    int part; /* instead of factor, retry_aged_ms(): each gap is 1 / part of the age */
};

enum { RETRY_ENDLESS = INT32_MAX - 1 };

/* What each of them is for, and how long it lasts in all, stands in the table. */
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

/* The policy of jobs that apply events; the operator sets both (Q2). */
struct retry_policy retry_of_events(int retries, int64_t first_ms);

/* The gap after run number `attempt` (1: the first run) failed; -1: the budget is spent. */
int64_t retry_delay_ms(const struct retry_policy *p, int64_t attempt);
/* Of what is looked at the more rarely the older it is: 1 / part of its age, first_ms to max_ms. */
int64_t retry_aged_ms(const struct retry_policy *p, int64_t age_ms);

/* False: this attempt is beyond the budget and must not be run at all. That is how a message that
 * kills its server meets its end: the attempt was counted before each run. */
bool retry_may_run(const struct retry_policy *p, int64_t attempt);

/* A Retry-After header: milliseconds from now; -1: absent or junk. wall_ms: the calendar's time,
 * for dates. */
int64_t retry_after_ms(struct str value, int64_t wall_ms);
/* The gap (-1: the budget is spent), or what the other side asked for where that is longer (-1: it
 * did not), up to LIMIT_RETRY_AFTER_MS: it may put a try off, and never hurries it. */
int64_t retry_no_sooner_ms(int64_t delay_ms, int64_t asked_ms);
