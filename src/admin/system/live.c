/* live.c - the points are in memory, on the watch's executor:
 *
 *     request's loop --> watch's executor: points since `since` --> request's loop: answer */
#include "admin/system/live.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "base/time/parse.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"

enum { ANSWER_MAX = 512 * 1024 };

struct live_call { /* one request, in its own arena */
    struct task task;
    struct request *request;
    const struct live_watch *watch;
    int64_t since_ms, now_ms;
    struct buf text;
};

static void live_out_ms(struct buf *b, const char *name, int64_t us)
{
    out_name(b, name);
    if (us < 0)
        buf_add(b, S("null"));
    else
        buf_fmt(b, "%lld.%03lld", (long long)(us / 1000), (long long)(us % 1000));
}

static void live_add_point(struct buf *b, const struct live_point *p)
{
    buf_char(b, '{');
    out_time(b, "at", p->at_ms);
    out_int(b, "webhooks", p->webhooks);
    out_int(b, "payments", p->payments);
    out_int(b, "replays", p->replays);
    out_int(b, "applied", p->applied);
    out_int(b, "errors", p->errors);
    out_int(b, "jobs", p->jobs);
    live_out_ms(b, "ackP50Ms", p->ack_p50_us);
    live_out_ms(b, "ackP95Ms", p->ack_p95_us);
    live_out_ms(b, "createP95Ms", p->create_p95_us);
    live_out_ms(b, "endToEndP95Ms", p->end_to_end_p95_us);
    out_int(b, "queueLive", p->levels.queue_live);
    out_int(b, "oldestReadyMs", p->levels.oldest_ready_ms);
    out_int(b, "dead", p->dead);
    out_int(b, "inFlight", p->levels.in_flight);
    buf_char(b, '}');
}

static void live_answer(struct task *t)
{
    struct live_call *c = CONTAINER_OF(t, struct live_call, task);
    struct buf text = c->text; /* a copy, since the reply frees c */

    if (text.failed)
        reply_problem(c->request, ERR_NO_MEMORY, NULL);
    else
        reply_send(c->request, 200, S("application/json"), buf_str(&text));
    buf_release(&text);
}

static void live_add_points(struct live_call *c, const struct live *live)
{
    size_t n = live ? live_count(live) : 0, shown = 0;

    for (size_t i = 0; i < n; i++) {
        const struct live_point *p = live_at(live, i);

        if (p->at_ms <= c->since_ms)
            continue;
        if (shown++)
            buf_char(&c->text, ',');
        live_add_point(&c->text, p);
    }
}

static void live_on_executor(struct task *t)
{
    struct live_call *c = CONTAINER_OF(t, struct live_call, task);

    buf_init(&c->text, ANSWER_MAX);
    buf_char(&c->text, '{');
    out_time(&c->text, "asOf", env_now_ms(c->request->env));
    out_int(&c->text, "intervalMs", LIMIT_LIVE_MS);
    out_json(&c->text, "points", S("["));
    live_add_points(c, c->watch->live);
    buf_add(&c->text, S("]}"));
    c->task = (struct task){ .run = live_answer };
    executor_post(c->request->executor, &c->task);
}

static bool live_read_since(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return time_parse(value, &((struct live_call *)ctx)->since_ms);
}

void api_live_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        { "since", live_read_since, "must be a time like 2026-11-16T09:30:00.000Z",
          "2026-11-16T09:30:00.000Z のような日時にしてください" },
    };
    struct live_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (!c || !query_read(r, parameters, COUNT(parameters), c))
        return;
    c->request = r;
    c->watch = ctx;
    c->task = (struct task){ .run = live_on_executor };
    executor_post(c->watch->executor, &c->task);
}
