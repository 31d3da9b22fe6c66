/* alert_watch.h - the timer on the executor that evaluates this node's own rules from memory: a
 * snapshot of the metrics each LIMIT_WINDOW_MS. While nothing changes it does not query the
 * database. The rules about all nodes are checked each minute by the job "payment.unknown"
 * (ops/unknown_watch.h), and here at once after a new dead letter. */
#pragma once

#include "ops/alert.h"

struct alert_plan { /* a change of a row that is to be stored */
    struct alert_row row;
    struct alert_state new;
    enum alert_news news;
};

struct alert_watch {
    const struct alert_desk *desk;
    struct executor *executor;
    struct window *window;
    struct timer timer;
    int64_t started_ms, dead; /* dead: the count of dead letters at the last check */
    /* The stored rows of this node's rules; an alert that is pending while the store fails is only
     * here. */
    struct alert_row own[ALERTS];
    bool said[ALERTS]; /* reported by alert_say(), since storing that it fires failed */
    bool adopts;       /* the rows of earlier runs are not taken over yet */

    /* under way */
    struct unit unit;
    bool busy, look;
    int64_t now_ms, dead_then;
    struct alert_plan plans[ALERTS];
    struct alert_row adopted[ALERTS];
    size_t plan_count;
    struct arena arena;
    struct alert_tellings tellings, tellings_of_all;
};

bool alert_watch_open(struct alert_watch *w, const struct alert_desk *d); /* false: no memory */
void alert_watch_start(struct alert_watch *w,
                       struct executor *executor); /* on the executor, once the queue runs */
void alert_watch_close(struct alert_watch *w);     /* after the store was closed */
