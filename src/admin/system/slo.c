/* slo.c - all of it is in memory, on the watch's executor:
 *
 *     request's loop --> watch's executor: three time spans --> request's loop: the answer */
#include "admin/system/slo.h"

#include "base/json/write.h"
#include "endpoint/answer.h"
#include "telemetry/slo.h"

enum { ANSWER_MAX = 64 * 1024, MINUTE = 60 * 1000, WINDOWS = 3 };

static const struct {
    const char *name;
    int64_t ms;
} windows[WINDOWS] = { { "5m", 5 * MINUTE }, { "1h", 60 * MINUTE }, { "24h", 24 * 60 * MINUTE } };

struct system_slo_look { /* one request, in its own arena */
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

static void slo_add_window(struct buf *b, const struct system_slo_look *l, enum goal g, int i)
{
    static const char *const words[] = {
        [GOAL_NO_DATA] = "no_data", [GOAL_MET] = "met", [GOAL_MISSED] = "missed"
    };
    const struct stretch *s = &l->stretches[i];
    struct goal_result r = goal_measure(g, s, l->api->remote);

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

static void slo_add_goal(struct buf *b, const struct system_slo_look *l, enum goal g)
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
        slo_add_window(b, l, g, i);
    buf_add(b, S("]}"));
}

static void system_slo_answer(struct task *t)
{
    struct system_slo_look *l = CONTAINER_OF(t, struct system_slo_look, task);
    struct buf b;

    buf_init(&b, ANSWER_MAX);
    buf_char(&b, '{');
    out_uuid(&b, "node", l->request->env->node);
    out_time(&b, "startedAt", l->started_ms);
    out_time(&b, "asOf", l->stretches[0].to_ms);
    out_text(
        &b, "note",
        S("Counted by this node since its start; other nodes and earlier runs are not in it."));
    out_text(&b, "noteJa",
             S("このノードの起動以降の集計です。他のノードや以前の実行は含みません。"));
    out_json(&b, "data", S("["));
    for (int g = 0; g < GOALS; g++)
        slo_add_goal(&b, l, (enum goal)g);
    buf_add(&b, S("]}"));
    if (b.failed)
        reply_problem(l->request, ERR_NO_MEMORY, NULL);
    else
        reply_send(l->request, 200, S("application/json"), buf_str(&b));
    buf_release(&b);
}

static void slo_at_home(struct task *t)
{
    struct system_slo_look *l = CONTAINER_OF(t, struct system_slo_look, task);
    const struct alert_watch *w = l->api->watch;

    for (int i = 0; i < WINDOWS; i++)
        window_last(w->window, windows[i].ms, &l->stretches[i]);
    l->started_ms = w->started_ms;
    l->task = (struct task){ .run = system_slo_answer };
    executor_post(l->request->executor, &l->task);
}

void api_slo_get(struct request *r, void *ctx, const struct principal *p)
{
    struct system_slo_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (!l)
        return;
    l->request = r;
    l->api = ctx;
    l->task = (struct task){ .run = slo_at_home };
    executor_post(l->api->watch->executor, &l->task);
}
