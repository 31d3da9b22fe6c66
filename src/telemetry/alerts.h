/* alerts.h - the alert rules (O4) as a table of pure functions. The numbers that they read and the
 * state of an alert are kept elsewhere (window.h, ops/alert.h).
 *
 *   OK --above--> PENDING --above for for_ms--> FIRING --well below for LIMIT_ALERT_CALM_MS--> OK
 *    ^----not above----'                        |    ^
 *                                               '----' sent again each LIMIT_ALERT_AGAIN_MS
 *
 *   (1) An alert is sent once when it fires and once when it resolves. Between the threshold and 80
 *       % of it nothing changes, so a value that swings around the threshold is one alert.
 *   (2) A ratio counts from LIMIT_ALERT_EVENTS events and LIMIT_ALERT_FAILURES failures on. With
 *       fewer events it counts where half of them failed, and LIMIT_ALERT_FEW at least. Without any
 *       events nothing is wrong.
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
    bool of_all;          /* measured over all nodes together; else on each node by itself */
    const char *unit;     /* "messages", "hours", "percent", "ms", "requests", "s" */
    int64_t threshold;    /* fires above it; thousandths. 0 for ALERT_UNKNOWN: by the settings */
    int64_t window_ms;    /* 0: the current value */
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

/* What was read from the database. Ages are in ms; 0: there is none. */
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
    int64_t since_ms; /* when this status began; 0: at the start */
    int64_t calm_ms;  /* since when a firing alert is well below its threshold; 0: it is not */
    int64_t told_ms;  /* when it was last sent; 0: never */
};
enum alert_news {
    NEWS_NONE,
    NEWS_QUIET, /* the state changed, and nothing is sent */
    NEWS_FIRES,
    NEWS_STILL, /* it still fires and is sent again */
    NEWS_RESOLVED
};
enum alert_news alert_step(const struct alert_rule *r, int64_t threshold, int64_t value,
                           int64_t now_ms, struct alert_state *s);
