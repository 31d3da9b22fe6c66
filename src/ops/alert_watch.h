/* alert_watch.h - the timer on the executor that looks at this node's own numbers: a snapshot each
 * LIMIT_WINDOW_MS, a step of each rule that is a node's own. It asks the database nothing as long
 * as nothing changes: an idle server stays idle. What is true of all nodes is looked at each minute
 * by the standing message "payment.unknown" (ops/unknown_watch.h), and here at once where a dead
 * letter came in. */
#pragma once

#include "ops/alert.h"

struct alert_plan { /* a step whose result waits for its commit */
    struct alert_row row;
    struct alert_state new;
    enum alert_news news;
};

struct alert_watch {
    const struct alert_desk *desk;
    struct executor *executor;
    struct window *window;
    struct timer timer;
    int64_t started_ms, dead; /* dead letters that were looked at */
    /* As stored; only of this node's rules. What is pending while the store is away is here alone.
     */
    struct alert_row own[ALERTS];
    bool said[ALERTS]; /* told of aloud, since it could not be stored that it fires */
    bool adopts;       /* rows of before this start are not taken over yet */

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
                       struct executor *executor); /* on the executor, with the queue there */
void alert_watch_close(struct alert_watch *w);     /* after the store is gone */
