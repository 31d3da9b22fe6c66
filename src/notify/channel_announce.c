/* channel_announce.c - see channel_announce.h. A node that has not announced itself for
 * LIMIT_SEND_NOWHERE_MS is removed: a send waits no longer than that for its transport. */
#include "notify/channel_announce.h"

#include "base/env.h"
#include "base/limits.h"
#include "observe/log.h"
#include "store/values.h"

enum { RETRY_MS = 60 * 1000 };

static enum err channel_announce_write(struct tx *tx, struct unit *u)
{
    struct teller *t = CONTAINER_OF(u, struct teller, unit);
    int64_t now_ms = env_now_ms(t->env);
    enum err e = TX_DO(tx, STMT_teller_seen, 1, v_uuid(&t->env->node), V_INT(now_ms));

    return e ? e : TX_DO(tx, STMT_tellers_forget, -1, V_INT(now_ms - LIMIT_SEND_NOWHERE_MS));
}

static void channel_announce_written(struct unit *u)
{
    struct teller *t = CONTAINER_OF(u, struct teller, unit);
    int64_t wait_ms = u->err ? RETRY_MS : LIMIT_TELLER_MS;

    if (u->err)
        LOG(t->env->log, LOG_WARN, "other nodes may not know that this one can tell people",
            LOG_TEXT("code", str_of(err_code(u->err))));
    executor_arm(t->executor, &t->timer, env_now_ms(t->env) + wait_ms);
}

static void channel_announce_fire(struct timer *timer)
{
    static const struct unit_kind kind = { "notify.teller", UNIT_BACK, channel_announce_write,
                                           NULL };
    struct teller *t = CONTAINER_OF(timer, struct teller, timer);

    t->unit =
        (struct unit){ .kind = &kind, .executor = t->executor, .done = channel_announce_written };
    store_post(t->store, &t->unit);
}

void teller_start(struct teller *t, struct env *env, struct store *store, struct executor *executor)
{
    *t = (struct teller){ .env = env,
                          .store = store,
                          .executor = executor,
                          .timer = { .fire = channel_announce_fire, .due_ms = CLOCK_NEVER } };
    if (store_health(store).many_nodes)
        channel_announce_fire(&t->timer);
}
