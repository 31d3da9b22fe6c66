/* otlp.c - the exporter: takes ended spans from the list, sends one request at a time, and retries
 * by the protocol's rules (see otlp.h). It runs on one executor and takes no lock. A crash loses
 * the spans that wait. */
#include "telemetry/otlp.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "domain/retry.h"
#include "http/client/client.h"
#include "observe/log.h"
#include "observe/metrics.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { SETTINGS_ARENA = 128 * 1024, TOLD_MAX = 200 };

struct otlp {
    struct otlp_options o;
    struct arena settings; /* of what follows */
    struct str url, resource, version;
    struct header headers[LIMIT_OTLP_HEADERS + 1];
    size_t header_count;

    struct timer timer, end;
    struct task woken;       /* a batch waits */
    _Atomic bool is_given;   /* that task is on its way */
    struct ended_span *held; /* taken from the list, not in a request yet */

    struct buf body; /* of the batch under way */
    size_t batch;    /* its spans; 0: there is none */
    int tries;
    struct call call;
    struct arena answer;
    bool started, busy; /* busy: the call is under way */
    bool is_down, told_partial;

    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

static void go_on(struct otlp *o);

static void otlp_count(const struct otlp *o, struct str result, size_t n)
{
    if (n)
        metrics_count_as(o->o.env->metrics, COUNT_SPANS, result, (int64_t)n);
}

static void otlp_arm(struct otlp *o, int64_t ms)
{
    executor_arm(o->o.executor, &o->timer, env_now_ms(o->o.env) + ms);
}

/* --- the end --- */

static void lose_rest(struct otlp *o)
{
    size_t n = 0, lost = o->batch;
    struct ended_span *rest = spans_take(o->o.env->spans, SIZE_MAX, &n);

    for (const struct ended_span *e = o->held; e; e = e->next)
        lost++;
    ended_spans_free(rest);
    ended_spans_free(o->held);
    o->held = NULL;
    o->batch = 0;
    otlp_count(o, S("failed"), lost + n);
    if (lost + n)
        LOG(o->o.env->log, LOG_WARN, "traces were lost at the end",
            LOG_NUM("spans", (int64_t)(lost + n)));
}

static void otlp_finish(struct otlp *o)
{
    void (*stopped)(void *ctx) = o->stopped;

    if (!stopped)
        return;
    o->stopped = NULL;
    o->started = false;
    lose_rest(o);
    executor_arm(o->o.executor, &o->timer, CLOCK_NEVER);
    executor_arm(o->o.executor, &o->end, CLOCK_NEVER);
    stopped(o->stopped_ctx);
}

static void time_is_up(struct timer *t)
{
    otlp_finish(CONTAINER_OF(t, struct otlp, end));
}

void otlp_stop(struct otlp *o, void (*stopped)(void *ctx), void *ctx)
{
    if (!o || !o->started) {
        stopped(ctx);
        return;
    }
    o->stopped = stopped;
    o->stopped_ctx = ctx;
    executor_arm(o->o.executor, &o->end, env_now_ms(o->o.env) + LIMIT_OTLP_FLUSH_MS);
    if (!o->busy)
        go_on(o);
}

/* --- what the receiver said --- */

static void batch_ended(struct otlp *o, struct str result)
{
    otlp_count(o, result, o->batch);
    o->batch = 0;
    o->tries = 0;
    if (o->stopped || o->held || spans_waiting(o->o.env->spans) >= o->o.batch_max)
        go_on(o);
    else
        otlp_arm(o, o->o.delay_ms);
}

static int64_t number_of(const struct json_value *v)
{
    int64_t n;

    return (v->type == JSON_STRING || v->type == JSON_NUMBER) && str_to_i64(v->raw, &n) && n > 0
               ? n
               : 0;
}

/* The receiver took a part of the spans, or all with a warning. They are not sent again, and the
 * first such answer is logged. */
static void look_for_refused(struct otlp *o)
{
    static const char *const paths[] = { "partialSuccess.rejectedSpans",
                                         "partialSuccess.errorMessage" };
    struct json_value v[COUNT(paths)];
    int64_t refused;

    if (!o->call.answer.n || json_pick(o->call.answer, paths, COUNT(paths), v, NULL))
        return;
    refused = number_of(&v[0]);
    if ((refused || v[1].raw.n) && !o->told_partial) {
        o->told_partial = true;
        LOG(o->o.env->log, LOG_WARN, "the traces' receiver does not like all of them",
            LOG_NUM("rejected", refused),
            LOG_TEXT("why",
                     ((struct str){ v[1].raw.p, v[1].raw.n < TOLD_MAX ? v[1].raw.n : TOLD_MAX })));
    }
    if (refused > (int64_t)o->batch)
        refused = (int64_t)o->batch;
    otlp_count(o, S("rejected"), (size_t)refused);
    o->batch -= (size_t)refused;
}

static void otlp_taken(struct otlp *o)
{
    if (o->is_down)
        LOG(o->o.env->log, LOG_INFO, "the traces' receiver takes them again");
    o->is_down = false;
    look_for_refused(o);
    batch_ended(o, S("exported"));
}

static void tell_failure(struct otlp *o)
{
    const struct call *c = &o->call;

    if (!o->is_down)
        LOG(o->o.env->log, LOG_WARN, "the traces' receiver does not take them; payments go on",
            LOG_NUM("status", c->status), LOG_TEXT("why", str_of(c->status ? "" : c->why)));
    o->is_down = true;
}

static bool may_try_again(const struct otlp *o)
{
    const struct call *c = &o->call;
    bool lost = c->result != CALL_ANSWERED && !c->status && !c->ours;

    return o->tries < LIMIT_OTLP_TRIES &&
           (lost || c->status == 429 || c->status == 502 || c->status == 503 || c->status == 504);
}

/* The pause that Retry-After asks for; -1 without one. */
static int64_t asked_pause_ms(const struct otlp *o)
{
    int64_t ms =
        retry_after_ms(call_header(&o->call, S("Retry-After")), clock_wall_ms(&o->o.env->clock));

    return ms > LIMIT_OTLP_RETRY_AFTER_MS ? LIMIT_OTLP_RETRY_AFTER_MS : ms;
}

static int64_t pause_ms(struct otlp *o)
{
    int64_t asked = asked_pause_ms(o), ms = LIMIT_OTLP_PAUSE_MS;

    if (asked >= 0)
        return asked;
    for (int i = 1; i < o->tries; i++)
        ms += ms / 2;
    if (ms > LIMIT_OTLP_PAUSE_MOST_MS)
        ms = LIMIT_OTLP_PAUSE_MOST_MS;
    return ms * 4 / 5 + (int64_t)rng_below(&o->o.env->rng, (uint64_t)(ms * 2 / 5 + 1));
}

static void otlp_answered(struct call *c)
{
    struct otlp *o = CONTAINER_OF(c, struct otlp, call);

    o->busy = false;
    if (!o->started)
        return; /* it has stopped meanwhile */
    if (c->status >= 200 && c->status < 300) {
        otlp_taken(o);
        return;
    }
    tell_failure(o);
    if (o->stopped)
        otlp_finish(o); /* the receiver would not take the other spans either */
    else if (may_try_again(o))
        otlp_arm(o, pause_ms(o));
    else
        batch_ended(o, S("failed"));
}

/* --- a batch --- */

static void send_batch(struct otlp *o)
{
    int64_t most = o->stopped ? LIMIT_OTLP_FLUSH_MS : o->o.timeout_ms;

    arena_release(&o->answer);
    o->busy = true;
    o->tries++;
    o->call = (struct call){ .method = S("POST"),
                             .url = o->url,
                             .body = buf_str(&o->body),
                             .headers = o->headers,
                             .header_count = o->header_count,
                             .timeout_ms = o->o.timeout_ms < most ? o->o.timeout_ms : most,
                             .answer_max = LIMIT_OTLP_ANSWER,
                             .cut_answer = true,
                             .arena = &o->answer,
                             .executor = o->o.executor,
                             .done = otlp_answered };
    client_call(o->o.client, &o->call);
}

/* Writes the next batch. False: no span waits. */
static bool otlp_fill(struct otlp *o)
{
    struct ended_span *rest = NULL, *last = NULL;
    size_t n;

    if (!o->held)
        o->held = spans_take(o->o.env->spans, o->o.batch_max, &n);
    if (!o->held)
        return false;
    buf_clear(&o->body);
    o->batch = otlp_write(&o->body, o->resource, o->version, o->held, &rest);
    for (struct ended_span *e = o->held; e != rest; e = e->next)
        last = e;
    if (last)
        last->next = NULL;
    ended_spans_free(o->held);
    o->held = rest;
    return true;
}

static void go_on(struct otlp *o)
{
    if (!o->batch && !otlp_fill(o)) {
        if (o->stopped)
            otlp_finish(o);
        else
            otlp_arm(o, o->o.delay_ms);
    } else if (o->body.failed) {
        batch_ended(o, S("failed")); /* no memory */
    } else {
        send_batch(o);
    }
}

static void time_to_send(struct timer *t)
{
    struct otlp *o = CONTAINER_OF(t, struct otlp, timer);

    if (!o->busy)
        go_on(o);
}

/* --- many wait --- */

static void otlp_woken(struct task *t)
{
    struct otlp *o = CONTAINER_OF(t, struct otlp, woken);

    atomic_store(&o->is_given, false);
    if (o->started && !o->busy && !o->batch)
        go_on(o);
}

static void many_wait(void *ctx)
{
    struct otlp *o = ctx;

    if (!atomic_exchange(&o->is_given, true))
        executor_post(o->o.executor, &o->woken);
}

/* --- from outside --- */

static bool read_settings(struct otlp *o, struct why *why)
{
    CLEANUP(buf_release) struct buf resource;

    buf_init(&resource, SETTINGS_ARENA);
    o->url = otlp_url(&o->settings, o->o.base, o->o.traces);
    o->version = arena_str(&o->settings, o->o.version);
    o->headers[o->header_count++] = (struct header){ S("Content-Type"), S("application/json") };
    if (!otlp_headers(&o->settings, o->o.headers, o->headers, &o->header_count))
        why_set(why, "OTEL_EXPORTER_OTLP_HEADERS must be like name=value,other=value");
    else if (!otlp_resource(&o->settings, &o->o, &resource))
        why_set(why, "OTEL_RESOURCE_ATTRIBUTES must be like name=value,other=value");
    else
        o->resource = arena_str(&o->settings, buf_str(&resource));
    return o->resource.p && o->url.p && o->version.p;
}

struct otlp *otlp_new(const struct otlp_options *options, struct why *why)
{
    struct otlp *o = calloc(1, sizeof(*o));

    why_set(why, "not enough memory");
    if (!o)
        return NULL;
    o->o = *options;
    o->timer = (struct timer){ .fire = time_to_send, .due_ms = CLOCK_NEVER };
    o->end = (struct timer){ .fire = time_is_up, .due_ms = CLOCK_NEVER };
    o->woken = (struct task){ .run = otlp_woken };
    arena_init(&o->settings, SETTINGS_ARENA);
    arena_init(&o->answer, 2 * LIMIT_OTLP_ANSWER + LIMIT_CALL_HEADERS);
    buf_init(&o->body, LIMIT_OTLP_BODY);
    if (read_settings(o, why)) {
        spans_on_many(o->o.env->spans, o->o.batch_max, many_wait, o);
        return o;
    }
    otlp_free(o);
    return NULL;
}

void otlp_start(struct otlp *o)
{
    o->started = true;
    otlp_arm(o, o->o.delay_ms);
}

void otlp_free(struct otlp *o)
{
    if (!o)
        return;
    ended_spans_free(o->held);
    buf_release(&o->body);
    arena_release(&o->answer);
    arena_release(&o->settings);
    free(o);
}
