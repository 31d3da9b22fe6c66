/* test_clock.c - the clock moves on the queue's executor, which may be another loop than the
 * request's:
 *
 *     request's loop --> queue's executor: move clock and leases --> request's loop: answer */
#include "admin/system/test_clock.h"

#include "base/json/json.h"
#include "endpoint/answer.h"
#include "queue/queue.h"

#define ADVANCE_MAX_MS (INT64_C(10) * 365 * 24 * 3600 * 1000)

struct test_clock_call {
    struct task task;
    struct request *request;
    const struct api_test_clock *parts;
    int64_t ms;
};

static void test_clock_answer(struct task *t)
{
    struct request *r = CONTAINER_OF(t, struct test_clock_call, task)->request;
    struct buf text;

    buf_init(&text, 256);
    buf_fmt(&text, "{\"nowMs\":%lld}\n", (long long)env_now_ms(r->env));
    reply_send(r, 200, S("application/json"), buf_str(&text));
    buf_release(&text);
}

static void test_clock_all_moved(void *ctx)
{
    struct test_clock_call *s = ctx;

    s->task = (struct task){ .run = test_clock_answer };
    executor_post(s->request->executor, &s->task);
}

static void test_clock_moved(void *ctx)
{
    struct test_clock_call *s = ctx;

    if (s->parts->also)
        s->parts->also(s->parts->also_ctx, s->ms, test_clock_all_moved, s);
    else
        test_clock_all_moved(s);
}

static void test_clock_move(struct task *t)
{
    struct test_clock_call *s = CONTAINER_OF(t, struct test_clock_call, task);

    queue_clock_moved(s->parts->queue, s->ms, test_clock_moved, s);
}

static void test_clock_go(struct request *r, const struct api_test_clock *parts, int64_t ms)
{
    struct test_clock_call *s = api_room(r, sizeof(*s));

    if (!s)
        return;
    *s = (struct test_clock_call){
        .task = { .run = test_clock_move }, .request = r, .parts = parts, .ms = ms
    };
    executor_post(parts->executor, &s->task);
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
        test_clock_go(r, ctx, ms);
    else
        reply_problem_errors(r, ERR_VALIDATION, NULL, json_problems_array(&problems));
    json_problems_release(&problems);
}
