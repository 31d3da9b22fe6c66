/* notify.c - the job "notify": from one notification to what is sent, in one commit with its end,
 * many at a time. A node that can tell nobody leaves it to one that can. */
#include "notify/notify.h"

#include "base/limits.h"
#include "notify/sending.h"
#include "notify/targets.h"
#include "store/values.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDED_COLUMNS = 2, ARENA_MAX = 8 * 1024 * 1024, EVERY_CHANNEL = (1 << CHANNELS) - 1 };

static enum err notify_record(struct tx *tx, const struct uuid *ids, size_t n, int64_t now_ms)
{
    struct val v[LIMIT_BULK * RECORDED_COLUMNS];

    for (size_t i = 0; i < n; i++) {
        v[i * RECORDED_COLUMNS] = V_INT(now_ms);
        v[i * RECORDED_COLUMNS + 1] = v_uuid(&ids[i]);
    }
    return tx_bulk(tx, STMT_notification_recorded, v, n, RECORDED_COLUMNS, NULL, NULL);
}

static unsigned channels_there(const struct notify *n)
{
    unsigned all = 0;

    for (enum channel c = 0; c < CHANNELS; c++)
        if (n->transports[c])
            all |= CHANNEL_BIT(c);
    return all;
}

static enum err fan_out(struct tx *tx, const struct notify *n, const struct uuid *ids, size_t count,
                        int64_t now_ms)
{
    struct targets targets;
    struct arena a;
    enum err e;

    arena_init(&a, ARENA_MAX);
    e = targets_find(tx, &a, ids, count, EVERY_CHANNEL, channels_there(n), &targets);
    if (!e)
        e = targets_add(tx, n->runtime->queue, &targets, now_ms);
    arena_release(&a);
    return e;
}

static enum err run_many(struct tx *tx, const struct message *const *m, size_t n, void *ctx)
{
    const struct notify *notify = ctx;
    struct uuid ids[LIMIT_BULK];
    int64_t now_ms = env_now_ms(notify->runtime->env);
    enum err e;

    assert(n <= LIMIT_BULK);
    for (size_t i = 0; i < n; i++)
        ids[i] = m[i]->id;
    qsort(ids, n, sizeof(ids[0]), uuid_order);
    e = fan_out(tx, notify, ids, n, now_ms);
    if (!e)
        e = notify_record(tx, ids, n, now_ms);
    return e ? e : fault_point(&tx_env(tx)->faults, "notify.fanning");
}

static enum err notify_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)why;
    return run_many(tx, &m, 1, ctx);
}

/* --- where nobody can be told --- */

static void notify_leave(struct job *j, void *ctx)
{
    int64_t now_ms = env_now_ms(j->env), waited_ms = now_ms - j->message->added_ms;

    (void)ctx;
    if (waited_ms > LIMIT_SEND_NOWHERE_MS)
        job_outside_done(j, OK, NULL);
    else
        job_put_off(j, now_ms + notify_pause_ms(waited_ms));
}

static enum err record_alone(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    (void)ctx;
    why_set(why, "no channel is set up");
    return notify_record(tx, &j->message->id, 1, env_now_ms(j->env));
}

struct job_kind notify_kind(struct notify *n)
{
    if (!channels_there(n))
        return (struct job_kind){ .name = "notify",
                                  .outside = notify_leave,
                                  .settle = record_alone,
                                  .ctx = n,
                                  .retry = retry_table[RETRY_HOUSEKEEPING],
                                  .patient = true };
    return (struct job_kind){ .name = "notify",
                              .run = notify_run,
                              .run_many = run_many,
                              .ctx = n,
                              .retry = retry_table[RETRY_NOTIFY] };
}
