/* live_watch.h - the timer on the executor behind the live charts (O8): a point each LIMIT_LIVE_MS,
 * always, so that a page shows the last ten minutes at its first look. A point is some hundred
 * loads from memory: an idle server stays idle, and the database is asked nothing. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "http/http.h"
#include "queue/queue.h"
#include "telemetry/live.h"

struct live_watch {
    struct env *env;
    const struct queue *queue;
    const struct server *server;
    struct executor *executor;
    struct live *live;
    struct timer timer;
    int64_t started_ms;
};

/* On the executor, with the three filled in. False: no memory, there are no charts. */
bool live_watch_start(struct live_watch *w, struct executor *executor);
void live_watch_close(struct live_watch *w);
