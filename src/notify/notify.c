/* notify.c - the job "notify": adds the sends of a notification in one commit with the job's end,
 * many notifications at a time. A node without transports leaves the job to a node that has some.
 * A crash before that commit leaves the message, and the job runs again; targets.c adds no send
 * twice. */
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

static unsigned notify_channels_here(const struct notify *n)
{
    unsigned all = 0;

    for (enum channel c = 0; c < CHANNELS; c++)
        if (n->transports[c])
            all |= CHANNEL_BIT(c);
    return all;
}

static enum err notify_fan_out(struct tx *tx, const struct notify *n, const struct uuid *ids,
                               size_t count, int64_t now_ms)
{
    struct targets targets;
    struct arena a;
    enum err e;

    arena_init(&a, ARENA_MAX);
    e = targets_find(tx, &a, ids, count, EVERY_CHANNEL, notify_channels_here(n), &targets);
    if (!e)
        e = targets_add(tx, n->runtime->queue, &targets, now_ms);
    arena_release(&a);
    return e;
}

static enum err notify_run_many(struct tx *tx, const struct message *const *m, size_t n, void *ctx)
{
    const struct notify *notify = ctx;
    struct uuid ids[LIMIT_BULK];
    int64_t now_ms = env_now_ms(notify->runtime->env);
    enum err e;

    assert(n <= LIMIT_BULK);
    for (size_t i = 0; i < n; i++)
        ids[i] = m[i]->id;
    qsort(ids, n, sizeof(ids[0]), uuid_order);
    e = notify_fan_out(tx, notify, ids, n, now_ms);
    if (!e)
        e = notify_record(tx, ids, n, now_ms);
    return e ? e : fault_point(&tx_env(tx)->faults, "notify.fanning");
}

static enum err notify_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)why;
    return notify_run_many(tx, &m, 1, ctx);
}

/* --- on a node without transports --- */

static void notify_wait_for_channel(struct job *j, void *ctx)
{
    int64_t now_ms = env_now_ms(j->env), waited_ms = now_ms - j->message->added_ms;

    (void)ctx;
    if (waited_ms > LIMIT_SEND_NOWHERE_MS)
        job_outside_done(j, OK, NULL);
    else
        job_put_off(j, now_ms + notify_pause_ms(waited_ms));
}

static enum err notify_record_unsent(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    (void)ctx;
    why_set(why, "no channel is set up");
    return notify_record(tx, &j->message->id, 1, env_now_ms(j->env));
}

static void outgoing_end(struct task *t)
{
    struct parcel_out *p = CONTAINER_OF(t, struct parcel_out, back);

    p->done(p);
}

void outgoing_end_later(struct parcel_out *p, enum told told)
{
    p->told = told;
    p->retry_after_ms = -1;
    p->back = (struct task){ .run = outgoing_end };
    executor_post(p->executor, &p->back);
}

struct job_kind notify_kind(struct notify *n)
{
    if (!notify_channels_here(n))
        return (struct job_kind){ .name = "notify",
                                  .outside = notify_wait_for_channel,
                                  .settle = notify_record_unsent,
                                  .ctx = n,
                                  .retry = retry_table[RETRY_HOUSEKEEPING],
                                  .patient = true };
    return (struct job_kind){ .name = "notify",
                              .run = notify_run,
                              .run_many = notify_run_many,
                              .ctx = n,
                              .retry = retry_table[RETRY_NOTIFY] };
}
