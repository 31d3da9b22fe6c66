/* alerts.h - when somebody must be told (O4): rules as a table, and pure functions. What they look
 * at and what becomes of it is kept elsewhere (window.h, ops/alert.h).
 *
 *   OK --above--> PENDING --above for for_ms--> FIRING --well below for LIMIT_ALERT_CALM_MS--> OK
 *    ^----not above----'                        |    ^
 *                                               '----' told again each LIMIT_ALERT_AGAIN_MS
 *
 *   (1) Told when it fires and when it resolves, once each. Between the threshold and 80 % of it
 *       nothing changes: what swings around its threshold is one alert.
 *   (2) A ratio counts from LIMIT_ALERT_EVENTS events and LIMIT_ALERT_FAILURES failures on: one
 *       failure of two is none. Of fewer events it counts where half of them failed, and
 *       LIMIT_ALERT_FEW at least. Nothing measured is nothing wrong.
 *   (3) Values are in thousandths of the rule's unit: 1 % is 1000, 500 ms are 500000. */
#pragma once

#include "base/err.h"
#include "telemetry/window.h"

enum alert {
    ALERT_DLQ,
    ALERT_DLQ_AGE,
    ALERT_WEBHOOK_FAILURES,
    ALERT_WEBHOOK_P95,
    ALERT_SIGNATURES,
    ALERT_PUBLISH,
    ALERT_WORKER,
    ALERT_END_TO_END,
    ALERT_UNKNOWN,
    ALERTS
};

struct alert_rule {
    const char *name;
    bool of_all;          /* true of all nodes together; else of each by itself */
    const char *unit;     /* "messages", "hours", "percent", "ms", "requests", "s" */
    int64_t threshold;    /* above it; thousandths. 0 for ALERT_UNKNOWN: by the settings */
    int64_t window_ms;    /* 0: as it is now */
    int64_t for_ms;       /* 0: at once */
    const char *words[2]; /* by enum language */
    const char *next[2];  /* what to do */
};
const struct alert_rule *alert_rule(enum alert a);
/* unknown_ms: ICHIDO_UNKNOWN_ALERT_MS, the threshold of ALERT_UNKNOWN. */
int64_t alert_threshold(enum alert a, int64_t unknown_ms);
enum { ALERT_NUMBER = 32 };
void alert_number(int64_t thousandths, char text[ALERT_NUMBER]); /* 12500 -> "12.5"; not below 0 */
bool alert_named(struct str name, enum alert *ret_alert);

/* What the database says. Ages in ms; 0: there is none. */
struct alert_facts {
    int64_t dead, dead_oldest_ms, unknown_oldest_ms;
};
int64_t alert_value_of_all(enum alert a, const struct alert_facts *f);
int64_t alert_value_here(enum alert a, const struct window *w);

enum alert_status { ALERT_OK, ALERT_PENDING, ALERT_FIRING };
const char *alert_status_word(enum alert_status s);

struct alert_state {
    enum alert_status status;
    int64_t value;
    int64_t since_ms; /* of this status; 0: from the start */
    int64_t calm_ms;  /* firing, and well below since then; 0: not */
    int64_t told_ms;  /* when people last heard of it; 0: never */
};
enum alert_news {
    NEWS_NONE,
    NEWS_QUIET, /* the state changed; nobody is told */
    NEWS_FIRES,
    NEWS_STILL, /* told again */
    NEWS_RESOLVED
};
enum alert_news alert_step(const struct alert_rule *r, int64_t threshold, int64_t value,
                           int64_t now_ms, struct alert_state *s);
