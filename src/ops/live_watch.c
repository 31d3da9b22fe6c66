#include "ops/live_watch.h"

#include "base/limits.h"

static void live_watch_fire(struct timer *t)
{
    struct live_watch *w = CONTAINER_OF(t, struct live_watch, timer);
    int64_t now_ms = env_now_ms(w->env);
    struct live_levels levels = {
        .queue_live = queue_live(w->queue),
        .oldest_ready_ms = (int64_t)(metrics_gauge(w->env->metrics, GAUGE_OLDEST) * 1000),
        .in_flight = server_counts(w->server).in_flight,
    };

    live_take(w->live, now_ms, &levels);
    executor_arm(w->executor, t, now_ms + LIMIT_LIVE_MS);
}

bool live_watch_start(struct live_watch *w, struct executor *executor)
{
    w->executor = executor;
    w->started_ms = env_now_ms(w->env);
    w->live = live_new(w->env->metrics, w->started_ms);
    if (!w->live)
        return false;
    w->timer = (struct timer){ .fire = live_watch_fire, .due_ms = CLOCK_NEVER };
    executor_arm(executor, &w->timer, w->started_ms + LIMIT_LIVE_MS);
    return true;
}

void live_watch_close(struct live_watch *w)
{
    w->live = live_free(w->live);
}
