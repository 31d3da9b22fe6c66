/* remote_watch.c - the job of a watch.
 *
 *   published --> a check every LIMIT_WATCH_STEP_MS
 *                   |--> it has an outcome, or it is in the queue: the watch ends
 *                   |--> open for less than LIMIT_WATCH_MS: checked again later
 *                   '--> open for longer, or no remote is set up: requeued locally
 *
 * The worker ends the watch in the commit that applies the event, so most events are never checked.
 * The checks before LIMIT_WATCH_MS serve an operator who switches back to the builtin queue: events
 * are requeued after one step. An event that is requeued too early is still applied once: the worker
 * and this job hold the event's lock, and the second of them finds an outcome or a queued message. */
#include "webhook/remote/remote_watch.h"

#include "base/limits.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "webhook/event_state.h"
#include "webhook/remote/requeue_local.h"

#include <stdlib.h>

enum { WATCH_ARENA = 4 * 1024 * 1024 };

/* The message's random id with one bit changed, as in refetch_id(): no other message has it. */
static struct uuid watch_id(struct uuid message)
{
    message.b[sizeof(message.b) - 1] ^= 2;
    return message;
}

enum err remote_watch_begin(struct tx *tx, const struct publisher *p, struct str event_id,
                            int64_t now_ms)
{
    struct queue_new m = { .kind = REMOTE_WATCH_KIND,
                           .ref = event_id,
                           .due_ms = now_ms + LIMIT_WATCH_STEP_MS };
    struct event_state s;
    enum err e = event_state_read(tx, event_id, &s);

    if (e || s.kind != EVENT_STATE_OPEN) /* the remote delivered before it answered the publish */
        return e;
    m.id = watch_id(s.message);
    return queue_add(p->payments->runtime.queue, tx, now_ms, &m, 1);
}

enum err remote_watch_end(struct tx *tx, struct queue *q, struct uuid message, int64_t now_ms)
{
    enum err e = queue_cancel(q, tx, watch_id(message), now_ms);

    /* NOT_FOUND: it was never watched, or the check is under way and will see the outcome. */
    return e == ERR_NOT_FOUND ? OK : e;
}

/* --- the job --- */

static int64_t remote_watch_ends_ms(const struct message *m)
{
    return m->added_ms + LIMIT_WATCH_MS;
}

static enum err remote_watch_requeue(struct tx *tx, struct job *j, const struct publisher *p,
                                     const struct event_state *s, int64_t now_ms)
{
    struct requeue_local_row row;
    struct requeue_local t;
    enum err e = requeue_local_find(tx, j->arena, j->message->ref, &row);

    if (e)
        return e;
    e = requeue_local_read(j->arena, &row, &t);
    return e ? e : requeue_local_add(tx, p, &t, s, now_ms);
}

/* A reason is set where the event was requeued locally. */
static enum err remote_watch_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct publisher *p = ctx;
    int64_t now_ms = env_now_ms(j->env), next_ms = now_ms + LIMIT_WATCH_STEP_MS;
    struct event_state s;
    enum err e = event_state_read(tx, j->message->ref, &s);

    if (e == ERR_NOT_FOUND)
        why_set(why, "the event is not there any more");
    if (e || s.kind != EVENT_STATE_OPEN)
        return e;
    if (p->remote && now_ms < remote_watch_ends_ms(j->message)) {
        j->again_ms =
            next_ms < remote_watch_ends_ms(j->message) ? next_ms : remote_watch_ends_ms(j->message);
        return OK;
    }
    e = remote_watch_requeue(tx, j, p, &s, now_ms);
    if (!e)
        why_set(why, "taken back");
    return e;
}

/* It calls nothing outside, but only a job with `outside` can postpone itself. */
static void remote_watch_outside(struct job *j, void *ctx)
{
    (void)ctx;
    j->arena = j->state = calloc(1, sizeof(struct arena)); /* freed by remote_watch_release() */
    if (j->arena)
        arena_init(j->arena, WATCH_ARENA);
    job_outside_done(j, j->arena ? OK : ERR_NO_MEMORY, NULL);
}

static void remote_watch_release(struct job *j, void *ctx)
{
    (void)ctx;
    if (j->arena)
        arena_release(j->arena);
    free(j->state);
    j->state = j->arena = NULL;
}

static void remote_watch_ended(struct env *env, void *ctx, const struct message *m,
                               enum job_end end, const char *why)
{
    const struct publisher *p = ctx;

    if (end != JOB_DONE || !why[0])
        return;
    if (!p->remote) {
        LOG(env->log, LOG_INFO, "An event was left at QStash: the builtin queue applies it",
            LOG_TEXT("eventId", m->ref));
        return;
    }
    metrics_count_as(env->metrics, COUNT_PUBLISH, S("fallback"), 1);
    LOG(env->log, LOG_ERROR,
        "An event has not come back from QStash: the builtin queue applies it instead",
        LOG_TEXT("eventId", m->ref), LOG_NUM("waitedMs", env_now_ms(env) - m->added_ms),
        LOG_TEXT("url", p->told));
}

struct job_kind watch_kind(struct publisher *p)
{
    return (struct job_kind){
        .name = "webhook.watch",
        .ctx = p,
        .retry = retry_table[RETRY_NEEDED],
        .outside = remote_watch_outside,
        .settle = remote_watch_settle,
        .release = remote_watch_release,
        .patient = true,
        .ended = remote_watch_ended,
    };
}
