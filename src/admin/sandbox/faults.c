/* faults.c - the switches of /_sandbox in one object, {"faults","webhooks","chaos"}. Each member
 * has the form of the sandbox's own route of that name. */
#include "admin/sandbox/sandbox.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

#include <string.h>

enum { SHOWN = 3 };

/* Joins the last three answers. That of /_sandbox/faults is {"faults":[...]} already, so its
 * closing brace is cut off and the others are added. */
static void sandbox_faults_show(struct sandbox_calls *e)
{
    const struct sandbox_call *s = &e->steps[e->count - SHOWN];
    struct str rules = s[0].answer;
    const char *end = rules.n ? memrchr(rules.p, '}', rules.n) : NULL;
    struct request *r = e->request;
    struct buf b;

    buf_init(&b, LIMIT_REPLY);
    buf_add(&b, (struct str){ rules.p, end ? (size_t)(end - rules.p) : 0 });
    buf_add(&b, S(",\"webhooks\":"));
    buf_add(&b, s[1].answer);
    buf_add(&b, S(",\"chaos\":"));
    buf_add(&b, s[2].answer);
    buf_char(&b, '}');
    if (b.failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, 200, S("application/json"), buf_str(&b));
    buf_release(&b);
}

static void sandbox_faults_then_show(struct sandbox_calls *e)
{
    sandbox_calls_add(e, S("GET"), "/_sandbox/faults", S(""));
    sandbox_calls_add(e, S("GET"), "/_sandbox/webhooks", S(""));
    sandbox_calls_add(e, S("GET"), "/_sandbox/chaos", S(""));
    e->done = sandbox_faults_show;
    sandbox_calls_begin(e);
}

ANSWERS static struct sandbox_calls *sandbox_faults_begin(struct request *r, void *ctx,
                                                          const struct principal *p)
{
    if (!query_read(r, NULL, 0, NULL))
        return NULL;
    return sandbox_calls_new(r, ctx, p);
}

void api_sandbox_faults(struct request *r, void *ctx, const struct principal *p)
{
    struct sandbox_calls *calls = sandbox_faults_begin(r, ctx, p);

    if (calls)
        sandbox_faults_then_show(calls);
}

/* --- PUT {"fault"?, "webhooks"?, "chaos"?} --- */

enum { AT_FAULT, AT_WEBHOOKS, AT_CHAOS, AT_COUNT };

static const char *const names[AT_COUNT] = { "fault", "webhooks", "chaos" };

/* False: 400 or 415 was answered. The sandbox itself checks the content of each switch. */
ANSWERS static bool sandbox_faults_read_switches(struct request *r, struct json_value v[AT_COUNT])
{
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;
    int given = 0;

    if (!fields_body(r, &body))
        return false;
    fields_problems(r, &problems);
    fields_only(body, names, COUNT(names), &problems);
    for (int i = 0; i < AT_COUNT; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, names[i]);

        given += item != NULL;
        if (item && !cJSON_IsObject(item) && !(i == AT_CHAOS && cJSON_IsNull(item)))
            json_problem_in(&problems, names[i], "must be an object of switches",
                            "スイッチのオブジェクトにしてください");
    }
    if (!given)
        json_problem_in(&problems, "body", "must have fault, webhooks or chaos",
                        "fault、webhooks、chaos のいずれかを指定してください");
    return !fields_failed(r, &problems, json_pick(r->body, names, AT_COUNT, v, NULL));
}

static void sandbox_faults_add_changes(struct sandbox_calls *e, const struct json_value v[AT_COUNT])
{
    if (v[AT_FAULT].type == JSON_OBJECT)
        sandbox_calls_add(e, S("POST"), "/_sandbox/faults", v[AT_FAULT].raw);
    if (v[AT_WEBHOOKS].type == JSON_OBJECT)
        sandbox_calls_add(e, S("POST"), "/_sandbox/webhooks", v[AT_WEBHOOKS].raw);
    if (v[AT_CHAOS].type == JSON_OBJECT)
        sandbox_calls_add(e, S("POST"), "/_sandbox/chaos", v[AT_CHAOS].raw);
    else if (v[AT_CHAOS].type != JSON_ABSENT)
        sandbox_calls_add(e, S("DELETE"), "/_sandbox/chaos", S(""));
}

void api_sandbox_set_faults(struct request *r, void *ctx, const struct principal *p)
{
    struct sandbox_calls *calls = sandbox_faults_begin(r, ctx, p);
    struct json_value v[AT_COUNT];

    if (!calls || !sandbox_faults_read_switches(r, v))
        return;
    calls->operation = "SANDBOX_FAULTS_SET";
    sandbox_faults_add_changes(calls, v);
    sandbox_faults_then_show(calls);
}

/* --- DELETE: all switches back to their defaults --- */

void api_sandbox_clear_faults(struct request *r, void *ctx, const struct principal *p)
{
    struct sandbox_calls *calls = sandbox_faults_begin(r, ctx, p);
    struct str body = { 0 };
    struct buf b;

    if (!calls)
        return;
    buf_init(&b, 1024);
    buf_fmt(&b,
            "{\"url\":\"\",\"on\":true,\"duplicate\":0,\"reorder\":false,\"delayMs\":0,"
            "\"dropFirst\":0,\"factor\":%d,\"burst\":false}",
            LIMIT_SANDBOX_RESEND_FACTOR);
    if (!b.failed)
        body = arena_str(&r->arena, buf_str(&b));
    buf_release(&b);
    if (!body.p) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    calls->operation = "SANDBOX_FAULTS_CLEARED";
    sandbox_calls_add(calls, S("DELETE"), "/_sandbox/faults", S(""));
    sandbox_calls_add(calls, S("DELETE"), "/_sandbox/chaos", S(""));
    sandbox_calls_add(calls, S("POST"), "/_sandbox/webhooks", body);
    sandbox_faults_then_show(calls);
}
