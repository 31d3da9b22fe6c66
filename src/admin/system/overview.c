/* overview.c - first what this node has in memory, then what the database has:
 *
 *     request's loop --> payments' executor: gateways, queue --> a unit that reads --> the answer
 */
#include "admin/system/overview.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "domain/day.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"
#include "gateway/guard.h"
#include "observe/metrics.h"
#include "ops/overview.h"

enum { ANSWER_MAX = 64 * 1024 };

struct overview_call { /* one request, in its own arena */
    struct api_answer answer;
    struct task task;
    const struct api_overview *api;
    struct guard_view gateways[GATEWAYS_MAX];
    int64_t live, now_ms, since_ms;
    struct overview found;
};

/* A count of `most` was cut off there, so it is shown as most - 1 and not exact. */
static void overview_out_counted(struct buf *b, const char *name, int64_t count, int64_t most,
                                 int64_t oldest_ms, int64_t now_ms)
{
    out_name(b, name);
    buf_char(b, '{');
    out_int(b, "count", count < most ? count : most - 1);
    out_bool(b, "exact", count < most);
    out_time(b, "oldestAt", oldest_ms ? now_ms - oldest_ms : 0);
    buf_char(b, '}');
}

static void overview_out_gateways(struct buf *b, const struct overview_call *c)
{
    static const char *const words[] = {
        [GUARD_CLOSED] = "closed", [GUARD_OPEN] = "open", [GUARD_PROBING] = "half_open"
    };
    const struct gateways *g = c->api->payments->gateways;

    out_json(b, "gateways", S("["));
    for (size_t i = 0; i < g->count; i++) {
        buf_add(b, i ? S(",{") : S("{"));
        out_text(b, "name", str_of(g->all[i]->name));
        out_text(b, "state", str_of(words[c->gateways[i].state]));
        out_int(b, "inFlight", c->gateways[i].underway);
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

static void overview_out_sums(struct buf *b, const char *name, const struct overview *o,
                              bool refunds)
{
    const char *glue = "";

    out_json(b, name, S("["));
    for (size_t i = 0; i < o->money_count; i++) {
        int64_t amount = (refunds ? o->money[i].refunded : o->money[i].captured).minor;

        if (!amount)
            continue;
        buf_fmt(b, "%s{\"currency\":\"%s\",\"amount\":%lld}", glue, o->money[i].currency,
                (long long)amount);
        glue = ",";
    }
    buf_char(b, ']');
}

static void overview_out_today(struct buf *b, const struct overview_call *c)
{
    const struct overview *o = &c->found;
    bool exact = o->payments < LIMIT_TODAY_SEEN;

    out_json(b, "today", S("{"));
    out_text(b, "zone", c->api->time_zone);
    out_time(b, "since", c->since_ms);
    out_int(b, "payments", exact ? o->payments : LIMIT_TODAY_SEEN - 1);
    overview_out_sums(b, "captured", o, false);
    overview_out_sums(b, "refunded", o, true);
    out_bool(b, "exact", exact);
    buf_char(b, '}');
}

static void overview_out_node(struct buf *b, const struct overview_call *c)
{
    out_json(b, "node", S("{"));
    out_uuid(b, "id", c->api->payments->runtime.env->node);
    out_time(b, "startedAt", c->api->watch->started_ms);
    out_text(b, "version", str_of(c->api->version));
    out_text(b, "database", str_of(c->api->database));
    buf_char(b, '}');
}

static void overview_out_all(struct buf *b, const struct overview_call *c)
{
    const struct overview *o = &c->found;

    buf_char(b, '{');
    out_time(b, "asOf", c->now_ms);
    overview_out_counted(b, "dead", o->queue.dead, LIMIT_DEAD_SEEN, o->queue.dead_oldest_ms,
                         c->now_ms);
    overview_out_counted(b, "unknown", o->unknown.count, LIMIT_UNKNOWN_SEEN, o->unknown.oldest_ms,
                         c->now_ms);
    out_json(b, "queue", S("{"));
    out_int(b, "live", c->live);
    out_int(b, "oldestReadyMs", o->queue.oldest_ready_ms);
    buf_char(b, '}');
    out_json(b, "alerts", S("{"));
    out_int(b, "firing", o->firing);
    buf_char(b, '}');
    overview_out_gateways(b, c);
    overview_out_today(b, c);
    overview_out_node(b, c);
    buf_char(b, '}');
}

/* Sets the gauges to what was just read; the live points show these until the next read. */
static void overview_set_gauges(struct metrics *m, const struct overview *o)
{
    metrics_set(m, GAUGE_OLDEST, (double)o->queue.oldest_ready_ms / 1000);
    metrics_set(m, GAUGE_DEAD, (double)o->queue.dead);
    metrics_set(m, GAUGE_DEAD_OLDEST, (double)o->queue.dead_oldest_ms / 1000);
    metrics_set(m, GAUGE_UNKNOWN, (double)o->unknown.count);
    metrics_set(m, GAUGE_UNKNOWN_OLDEST, (double)o->unknown.oldest_ms / 1000);
}

static enum err overview_read_all(struct tx *tx, struct unit *u)
{
    struct overview_call *c = CONTAINER_OF(u, struct overview_call, answer.unit);
    enum err e = overview_read(tx, c->now_ms, c->since_ms, &c->found);
    struct buf b;

    if (e)
        return e;
    overview_set_gauges(tx_env(tx)->metrics, &c->found);
    buf_init(&b, ANSWER_MAX);
    overview_out_all(&b, c);
    c->answer.text = out_done(&b, u->arena);
    return c->answer.text.p ? OK : ERR_NO_MEMORY;
}

static void overview_on_executor(struct task *t)
{
    static const struct unit_kind kind = { "overview.read", UNIT_READ, overview_read_all, NULL };
    struct overview_call *c = CONTAINER_OF(t, struct overview_call, task);
    const struct payments *p = c->api->payments;

    for (size_t i = 0; i < p->gateways->count; i++)
        c->gateways[i] = guard_look(p->gateways->guards[i]);
    c->live = queue_live(p->runtime.queue);
    c->now_ms = env_now_ms(p->runtime.env);
    c->since_ms = day_begins_ms(c->api->zone, day_at(c->api->zone, c->now_ms));
    api_answer_post(&c->answer, c->answer.request, p->runtime.store, &kind, api_answer_show);
}

void api_overview_get(struct request *r, void *ctx, const struct principal *p)
{
    struct overview_call *c;

    (void)p;
    if (!query_read(r, NULL, 0, NULL))
        return;
    c = api_room(r, sizeof(*c));
    if (!c)
        return;
    c->api = ctx;
    c->answer.request = r;
    c->task = (struct task){ .run = overview_on_executor };
    executor_post(c->api->payments->runtime.executor, &c->task);
}
