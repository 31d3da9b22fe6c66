/* remote_watch.c - see remote_watch.h.
 *
 *   published --> a look every LIMIT_WATCH_STEP_MS
 *                   |--> it has an outcome, or the queue has it: the end, without a word
 *                   |--> open for less than LIMIT_WATCH_MS: again later
 *                   '--> open for longer, or not remote any more: taken back
 *
 * The looks in between cost little, since the worker ends a watch in the commit that applies the
 * event; they are there for an operator who goes back to the builtin queue, who waits for one step
 * at most. Taken back too early nothing is lost: the worker and this job hold the event's lock, and
 * whoever comes second finds it decided, or in the queue. */
#include "webhook/remote/remote_watch.h"

#include "base/limits.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "webhook/event_state.h"
#include "webhook/remote/requeue_local.h"

#include <stdlib.h>

enum { WATCH_ARENA = 4 * 1024 * 1024 };

/* Random bits of a message's id, as with refetch_id(): nobody else has it. */
static struct uuid watch_id(struct uuid message)
{
    message.b[sizeof(message.b) - 1] ^= 2;
    return message;
}

enum err watch_begin(struct tx *tx, const struct publisher *p, struct str event_id, int64_t now_ms)
{
    struct queue_new m = { .kind = WATCH_KIND,
                           .ref = event_id,
                           .due_ms = now_ms + LIMIT_WATCH_STEP_MS };
    struct standing s;
    enum err e = standing_read(tx, event_id, &s);

    if (e || s.kind != STANDING_OPEN) /* the remote was faster than its own answer */
        return e;
    m.id = watch_id(s.message);
    return queue_add(p->payments->runtime.queue, tx, now_ms, &m, 1);
}

enum err watch_end(struct tx *tx, struct queue *q, struct uuid message, int64_t now_ms)
{
    enum err e = queue_cancel(q, tx, watch_id(message), now_ms);

    /* Not there: never watched, or under way and about to see for itself. */
    return e == ERR_NOT_FOUND ? OK : e;
}

/* --- the job --- */

static int64_t ends_ms(const struct message *m)
{
    return m->added_ms + LIMIT_WATCH_MS;
}

static enum err take_back(struct tx *tx, struct job *j, const struct publisher *p,
                          const struct standing *s, int64_t now_ms)
{
    struct takeback_row row;
    struct takeback t;
    enum err e = takeback_find(tx, j->arena, j->message->ref, &row);

    if (!e)
        e = takeback_read(j->arena, &row, &t);
    return e ? e : takeback_give(tx, p, &t, s, now_ms);
}

/* Done with a reason: it was taken back. */
static enum err remote_watch_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct publisher *p = ctx;
    int64_t now_ms = env_now_ms(j->env), next_ms = now_ms + LIMIT_WATCH_STEP_MS;
    struct standing s;
    enum err e = standing_read(tx, j->message->ref, &s);

    if (e == ERR_NOT_FOUND)
        why_set(why, "the event is not there any more");
    if (e || s.kind != STANDING_OPEN)
        return e;
    if (p->remote && now_ms < ends_ms(j->message)) {
        j->again_ms = next_ms < ends_ms(j->message) ? next_ms : ends_ms(j->message);
        return OK;
    }
    e = take_back(tx, j, p, &s, now_ms);
    if (!e)
        why_set(why, "taken back");
    return e;
}

/* Nothing is done outside; but only such a job may put itself off. */
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
