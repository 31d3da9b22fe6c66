/* live_watch.h - the timer on the executor behind the live charts (O8): it records a point each
 * LIMIT_LIVE_MS, so that a page shows the last ten minutes at once. A point costs some hundred
 * loads from memory and no query. */
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

/* On the executor; env, queue and server are set. False: no memory, and there are no charts. */
bool live_watch_start(struct live_watch *w, struct executor *executor);
void live_watch_close(struct live_watch *w);
