#include "api/test_clock.h"

#include "base/json.h"
#include "queue/queue.h"

#define ADVANCE_MAX_MS (INT64_C(10) * 365 * 24 * 3600 * 1000)

static void moved(void *ctx)
{
    struct request *r = ctx;
    struct buf text;

    buf_init(&text, 256);
    buf_fmt(&text, "{\"nowMs\":%lld}\n", (long long)env_now_ms(r->env));
    reply_send(r, 200, S("application/json"), buf_str(&text));
    buf_release(&text);
}

void api_test_clock(struct request *r, void *ctx)
{
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;
    struct json_fault fault = { 0 };
    int64_t ms;

    if (json_parse(r->body, &body, &fault)) {
        reply_problem(r, ERR_VALIDATION, fault.why);
        return;
    }
    json_problems_init(&problems);
    if (json_get_int(body, "advanceMs", true, 0, ADVANCE_MAX_MS, &ms, &problems))
        queue_clock_moved(ctx, ms, moved, r);
    else
        reply_problem_errors(r, ERR_VALIDATION, NULL, json_problems_array(&problems));
    json_problems_release(&problems);
}
