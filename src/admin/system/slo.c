/* slo.c - the measurements are in memory, on the watch's executor:
 *
 *     request's loop --> watch's executor: three windows --> request's loop: the answer */
#include "admin/system/slo.h"

#include "base/json/write.h"
#include "endpoint/answer.h"
#include "telemetry/slo.h"

enum { ANSWER_MAX = 64 * 1024, MINUTE = 60 * 1000, WINDOWS = 3 };

static const struct {
    const char *name;
    int64_t ms;
} windows[WINDOWS] = { { "5m", 5 * MINUTE }, { "1h", 60 * MINUTE }, { "24h", 24 * 60 * MINUTE } };

struct slo_call { /* one request, in its own arena */
    struct task task;
    struct request *request;
    const struct api_slo *api;
    struct stretch stretches[WINDOWS];
    int64_t started_ms;
};

static void slo_out_number(struct buf *b, const char *name, int64_t thousandths)
{
    char text[ALERT_NUMBER];

    alert_number(thousandths, text);
    out_json(b, name, str_of(text));
}

static void slo_add_window(struct buf *b, const struct slo_call *c, enum goal g, int i)
{
    static const char *const words[] = {
        [GOAL_NO_DATA] = "no_data", [GOAL_MET] = "met", [GOAL_MISSED] = "missed"
    };
    const struct stretch *s = &c->stretches[i];
    struct goal_result r = goal_measure(g, s, c->api->remote);

    buf_add(b, i ? S(",{") : S("{"));
    out_text(b, "window", str_of(windows[i].name));
    out_int(b, "coveredMs", s->to_ms - s->from_ms);
    out_int(b, "events", r.events);
    if (r.verdict == GOAL_NO_DATA)
        out_json(b, "measured", S("null"));
    else
        slo_out_number(b, "measured", r.value);
    out_text(b, "status", str_of(words[r.verdict]));
    buf_char(b, '}');
}

static void slo_add_goal(struct buf *b, const struct slo_call *c, enum goal g)
{
    const struct goal_rule *r = goal_rule(g);

    buf_add(b, g ? S(",{") : S("{"));
    out_text(b, "name", str_of(r->name));
    out_text(b, "source", str_of(r->seed));
    out_text(b, "compare", str_of(r->compare));
    slo_out_number(b, "target", r->target);
    out_text(b, "unit", str_of(r->unit));
    out_text(b, "summary", str_of(r->words[LANG_EN]));
    out_text(b, "summaryJa", str_of(r->words[LANG_JA]));
    out_json(b, "windows", S("["));
    for (int i = 0; i < WINDOWS; i++)
        slo_add_window(b, c, g, i);
    buf_add(b, S("]}"));
}

static void slo_answer(struct task *t)
{
    struct slo_call *c = CONTAINER_OF(t, struct slo_call, task);
    struct buf b;

    buf_init(&b, ANSWER_MAX);
    buf_char(&b, '{');
    out_uuid(&b, "node", c->request->env->node);
    out_time(&b, "startedAt", c->started_ms);
    out_time(&b, "asOf", c->stretches[0].to_ms);
    out_text(
        &b, "note",
        S("Counted by this node since its start; other nodes and earlier runs are not in it."));
    out_text(&b, "noteJa",
             S("このノードの起動以降の集計です。他のノードや以前の実行は含みません。"));
    out_json(&b, "data", S("["));
    for (int g = 0; g < GOALS; g++)
        slo_add_goal(&b, c, (enum goal)g);
    buf_add(&b, S("]}"));
    if (b.failed)
        reply_problem(c->request, ERR_NO_MEMORY, NULL);
    else
        reply_send(c->request, 200, S("application/json"), buf_str(&b));
    buf_release(&b);
}

static void slo_on_executor(struct task *t)
{
    struct slo_call *c = CONTAINER_OF(t, struct slo_call, task);
    const struct alert_watch *w = c->api->watch;

    for (int i = 0; i < WINDOWS; i++)
        window_last(w->window, windows[i].ms, &c->stretches[i]);
    c->started_ms = w->started_ms;
    c->task = (struct task){ .run = slo_answer };
    executor_post(c->request->executor, &c->task);
}

void api_slo_get(struct request *r, void *ctx, const struct principal *p)
{
    struct slo_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (!c)
        return;
    c->request = r;
    c->api = ctx;
    c->task = (struct task){ .run = slo_on_executor };
    executor_post(c->api->watch->executor, &c->task);
}
