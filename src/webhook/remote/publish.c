/* publish.c - publishes one event to the remote, as a reference (webhook/event.h).
 *
 *   read the event --> POST /v2/publish/<our worker> --> 2xx: watched (remote_watch.h)
 *        |                                  |--> failed: again after a pause, twice
 *        |                                  '--> failed for the third time --> lock the event;
 *        '--> no remote, or too many are under way -------------------------'  if it is open, add
 *                                                                              its message
 *
 * After a crash between the POST and the settle the event is published again. The remote recognizes
 * the repeat by Upstash-Deduplication-Id, and our worker by the event's outcome. The remote may also
 * have accepted a try whose answer was lost. Then it delivers the event while the builtin queue has
 * it, which the worker sees. */
#include "webhook/remote/publish.h"

#include "base/limits.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "observe/span.h"
#include "webhook/event_state.h"
#include "webhook/remote/remote_watch.h"
#include "webhook/remote/requeue_local.h"

#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 3, PUBLISH_ARENA = 4 * 1024 * 1024, TEXT_FIXED = 32 };

enum publish_end { PUBLISH_SENT, PUBLISH_FAILED, PUBLISH_FALL_BACK };

struct publish {
    struct job *job;
    struct publisher *parts;
    struct arena arena;
    struct unit unit;
    struct requeue_local_row event;
    size_t counted_bytes; /* of the event, in bytes_under_way */
    struct header headers[8];
    struct call call;
    enum publish_end end;
    struct requeue_local requeue_local;
    char span_text[TRACE_TEXT + 1]; /* of this publication in the event's trace */
    struct span span;
    struct why why;
};

/* --- back to the builtin queue --- */

static void publish_finish(struct publish *b, enum publish_end end)
{
    b->end = end;
    job_outside_done(b->job, OK, NULL);
}

static void publish_fall_back(struct publish *b, const char *why)
{
    enum err e = requeue_local_read(&b->arena, &b->event, &b->requeue_local);

    why_set(&b->why, "%s", why);
    if (e)
        job_outside_done(b->job, e, e == ERR_VALIDATION ? "the event cannot be read" : NULL);
    else
        publish_finish(b, PUBLISH_FALL_BACK);
}

/* Only an open event gets its message: the remote may have delivered it meanwhile. */
static enum err publish_requeue(struct tx *tx, const struct publish *b, int64_t now_ms)
{
    struct event_state s;
    enum err e = event_state_read(tx, b->job->message->ref, &s);

    if (e || s.kind != EVENT_STATE_OPEN)
        return e;
    return requeue_local_add(tx, b->parts, &b->requeue_local, &s, now_ms);
}

/* --- the call --- */

static void publish_failed(struct publish *b, const char *why)
{
    metrics_count_as(b->job->env->metrics, COUNT_PUBLISH, S("failed"), 1);
    if (b->job->message->attempt >= TRIES) {
        publish_fall_back(b, why);
        return;
    }
    why_set(&b->why, "%s", why);
    publish_finish(b, PUBLISH_FAILED);
}

static void publish_span_end(struct publish *b)
{
    int status = b->call.status;

    SPAN_END(&b->span, status >= 200 && status < 300 ? NULL : "QStash did not take it",
             SPAN_TEXT("messaging.system", S("qstash")),
             SPAN_TEXT("event.id", b->job->message->ref),
             SPAN_NUM("messaging.attempt", b->job->message->attempt),
             SPAN_NUM("http.response.status_code", status));
}

/* A status of 2xx counts even where the rest of the answer was lost. */
static void publish_answered(struct call *c)
{
    struct publish *b = CONTAINER_OF(c, struct publish, call);
    struct why why;

    publish_span_end(b);
    if (c->status >= 200 && c->status < 300) {
        metrics_count_as(b->job->env->metrics, COUNT_PUBLISH, S("sent"), 1);
        publish_finish(b, PUBLISH_SENT);
        return;
    }
    if (c->status)
        why_set(&why, "it answered %d", c->status);
    else
        why_set(&why, "it was not reached: %s", c->why);
    publish_failed(b, why.text);
}

static struct str join_text(struct arena *a, const char *before, struct str one,
                            const char *between, struct str two)
{
    size_t size = one.n + two.n + TEXT_FIXED;
    char *text = arena_alloc(a, 1, size);
    int n = text ? snprintf(text, size, "%s" STR_FMT "%s" STR_FMT, before, STR_ARG(one), between,
                            STR_ARG(two))
                 : 0;

    return (struct str){ text, (size_t)n };
}

static size_t add_headers(struct publish *b, struct str authorization)
{
    struct header *h = b->headers;
    size_t n = 0;

    h[n++] = (struct header){ S("Authorization"), authorization };
    h[n++] = (struct header){ S("Content-Type"), S("application/json") };
    h[n++] = (struct header){ S("Upstash-Method"), S("POST") };
    h[n++] = (struct header){ S("Upstash-Deduplication-Id"), b->job->message->ref };
    h[n++] = (struct header){ S("Upstash-Retries"), S("3") };
    h[n++] = (struct header){ S("Upstash-Retry-Delay"), S("1000 * pow(2, retried)") };
    if (b->span_text[0]) /* one trace from the webhook to the worker */
        h[n++] = (struct header){ S("Upstash-Forward-traceparent"), str_of(b->span_text) };
    return n;
}

static void publish_send(struct publish *b)
{
    struct publisher *p = b->parts;
    struct str authorization = join_text(&b->arena, "Bearer ", p->token, "", S(""));
    struct str url = join_text(&b->arena, "", p->base, "/v2/publish/", p->worker_url);
    struct str body = event_reference(&b->arena, b->job->message->ref, b->event.type);

    if (!authorization.p || !url.p || !body.p) {
        job_outside_done(b->job, ERR_NO_MEMORY, NULL);
        return;
    }
    b->span = span_begin(b->job->env, b->event.trace, SPAN_PRODUCER, "Webhook.publish");
    span_place(&b->span, b->event.trace, b->span_text);
    b->call = (struct call){ .method = S("POST"),
                             .url = url,
                             .body = body,
                             .headers = b->headers,
                             .header_count = add_headers(b, authorization),
                             .timeout_ms = LIMIT_PUBLISH_MS,
                             .answer_max = LIMIT_DELIVERY_ANSWER,
                             .arena = &b->arena,
                             .executor = p->payments->runtime.executor,
                             .done = publish_answered };
    client_call(p->client, &b->call);
}

/* --- the event --- */

static enum err publish_read_run(struct tx *tx, struct unit *u)
{
    struct publish *b = CONTAINER_OF(u, struct publish, unit);

    return requeue_local_find(tx, &b->arena, b->job->message->ref, &b->event);
}

static void publish_event_read(struct unit *u)
{
    struct publish *b = CONTAINER_OF(u, struct publish, unit);
    struct publisher *p = b->parts;

    b->counted_bytes = u->err ? 0 : b->event.body.n;
    p->bytes_under_way += b->counted_bytes;
    if (u->err == ERR_NOT_FOUND)
        job_outside_done(b->job, ERR_NOT_FOUND, "the event is not there any more");
    else if (u->err)
        job_outside_done(b->job, u->err, NULL);
    else if (!p->remote)
        publish_fall_back(b, "");
    else if (p->under_way > LIMIT_PUBLISHES || p->bytes_under_way > LIMIT_PUBLISH_BYTES)
        publish_fall_back(b, "too many events wait to be published");
    else
        publish_send(b);
}

/* --- the job --- */

static void publish_outside(struct job *j, void *ctx)
{
    static const struct unit_kind kind = { "publish.read", UNIT_READ, publish_read_run, NULL };
    struct publish *b = calloc(1, sizeof(*b));

    if (!b) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = b; /* freed by publish_release() */
    b->job = j;
    b->parts = ctx;
    b->parts->under_way++;
    arena_init(&b->arena, PUBLISH_ARENA);
    j->arena = &b->arena;
    b->unit = (struct unit){ .kind = &kind,
                             .executor = b->parts->payments->runtime.executor,
                             .done = publish_event_read,
                             .arena = &b->arena };
    store_post(b->parts->payments->runtime.store, &b->unit);
}

static enum err publish_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    static const int64_t pauses_ms[TRIES] = { 250, 1000, 1000 };
    const struct publish *b = j->state;
    int64_t attempt = j->message->attempt, now_ms = env_now_ms(j->env);

    why_set(why, "%s", b->why.text);
    switch (b->end) {
    case PUBLISH_SENT: return remote_watch_begin(tx, ctx, j->message->ref, now_ms);
    case PUBLISH_FALL_BACK: return publish_requeue(tx, b, now_ms);
    case PUBLISH_FAILED: break;
    }
    j->again_ms = now_ms + pauses_ms[attempt < TRIES ? attempt - 1 : TRIES - 1];
    return OK;
}

static void publish_release(struct job *j, void *ctx)
{
    struct publish *b = j->state;
    struct publisher *p = ctx;

    if (!b)
        return;
    p->under_way--;
    p->bytes_under_way -= b->counted_bytes;
    arena_release(&b->arena);
    free(b);
    j->state = NULL;
}

/* JOB_DONE with a reason: the remote did not take the event, and the builtin queue applies it. */
static void publish_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                          const char *why)
{
    const struct publisher *p = ctx;

    if (end == JOB_DONE && why[0] && p->remote) {
        metrics_count_as(env->metrics, COUNT_PUBLISH, S("fallback"), 1);
        LOG(env->log, LOG_ERROR,
            "QStash did not take an event: the builtin queue applies it instead",
            LOG_TEXT("eventId", m->ref), LOG_TEXT("why", str_of(why)),
            LOG_NUM("attempts", m->attempt), LOG_TEXT("url", p->told));
    } else if (end == JOB_DONE && !p->remote) {
        LOG(env->log, LOG_INFO, "An event was not published: the builtin queue applies it",
            LOG_TEXT("eventId", m->ref));
    } else if (end != JOB_DONE) {
        LOG(env->log, LOG_WARN, "An event could not be published to QStash",
            LOG_TEXT("eventId", m->ref), LOG_TEXT("why", str_of(why)),
            LOG_NUM("attempt", m->attempt));
    }
}

struct job_kind publish_kind(struct publisher *p)
{
    return (struct job_kind){
        .name = "webhook.publish",
        .ctx = p,
        .retry = retry_table[RETRY_NEEDED],
        .outside = publish_outside,
        .settle = publish_settle,
        .release = publish_release,
        .patient = true,
        .ended = publish_ended,
    };
}
