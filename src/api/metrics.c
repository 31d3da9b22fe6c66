#include "api/metrics.h"

#include "observe/log.h"
#include "observe/metrics.h"
#include "queue/queue.h"
#include "store/store.h"

#include <string.h>

enum { METRICS_MAX = 1024 * 1024 };

/* Gauges are read when somebody asks, so that nobody pays for them while nobody does. */
struct scrape {
    struct unit unit;
    struct request *request;
    const struct api_metrics *parts;
    struct queue_state state;
};

static bool wants_openmetrics(const struct request *r)
{
    struct str accept = request_header(r, S("Accept"), NULL);

    return accept.n && memmem(accept.p, accept.n, "application/openmetrics-text", 28);
}

static void set_gauges(struct metrics *m, const struct scrape *s)
{
    struct server_counts http = server_counts(s->request->server);
    struct store_health store = store_health(s->parts->store);

    metrics_count(m, COUNT_LOG_DROPPED, log_take_dropped(s->request->env->log));
    metrics_set(m, GAUGE_LIVE, (double)queue_live(s->parts->queue));
    metrics_set(m, GAUGE_CONNECTIONS, http.connections);
    metrics_set(m, GAUGE_IN_FLIGHT, http.in_flight);
    metrics_set(m, GAUGE_WAITING, store.waiting);
    metrics_set(m, GAUGE_WAL, (double)store.wal_bytes);
    if (s->unit.err)
        return; /* the database is away: its last known numbers stand, readyz says why */
    metrics_set(m, GAUGE_OLDEST, (double)s->state.oldest_ready_ms / 1000);
    metrics_set(m, GAUGE_DEAD, (double)s->state.dead);
}

static void answer(struct unit *u)
{
    struct scrape *s = CONTAINER_OF(u, struct scrape, unit);
    struct request *r = s->request;
    bool openmetrics = wants_openmetrics(r);
    struct buf text;

    set_gauges(r->env->metrics, s);
    buf_init(&text, METRICS_MAX);
    metrics_print(r->env->metrics, openmetrics, &text);
    if (text.failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, 200,
                   openmetrics ? S("application/openmetrics-text; version=1.0.0; charset=utf-8")
                               : S("text/plain; version=0.0.4; charset=utf-8"),
                   buf_str(&text));
    buf_release(&text);
}

static enum err read_state(struct tx *tx, struct unit *u)
{
    struct scrape *s = CONTAINER_OF(u, struct scrape, unit);

    return queue_read_state(tx, env_now_ms(tx_env(tx)), &s->state);
}

void api_metrics(struct request *r, void *ctx)
{
    static const struct unit_kind kind = { "metrics.read", UNIT_READ, read_state, NULL };
    struct scrape *s = arena_alloc(&r->arena, 1, sizeof(*s));

    if (!s) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    s->request = r;
    s->parts = ctx;
    s->unit = (struct unit){ .kind = &kind, .home = r->home, .done = answer };
    store_post(s->parts->store, &s->unit);
}
