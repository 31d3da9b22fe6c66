/* redrive_watch.c - makes sure that a running redrive has a message. A node of an older
 * version does not know the kind and makes a dead letter of the message, which can be deleted; so
 * it is added again, at the start and within a minute. The same holds for the job that gives dead
 * letters a cause. While no redrive runs and nothing is committed here, the database is not
 * queried. */
#include "base/limits.h"
#include "dlq/redrive.h"

struct running_redrives {
    struct uuid ids[LIMIT_REDRIVES_LOOKED];
    size_t n;
};

static enum err running_redrives_keep(void *ctx, const struct row *row)
{
    struct running_redrives *r = ctx;

    return uuid_of_bytes(row->col[0].s, &r->ids[r->n++]) ? OK : ERR_INTERNAL;
}

enum err redrives_resume(struct tx *tx, const struct redrives *rs, bool *ret_running)
{
    struct running_redrives r = { .n = 0 };
    struct val v[] = { V_INT(LIMIT_REDRIVES_LOOKED) };
    int64_t now_ms = env_now_ms(rs->letters->env);
    enum err e = tx_each(tx, STMT_redrives_running, v, COUNT(v), running_redrives_keep, &r);

    for (size_t i = 0; i < r.n && !e; i++) {
        char ref[UUID_TEXT + 1];
        struct queue_new m = { .id = r.ids[i], .kind = S("dlq.redrive"), .due_ms = now_ms };

        uuid_text(r.ids[i], ref);
        m.ref = str_of(ref);
        e = queue_stand(rs->letters->queue, tx, now_ms, &m);
    }
    *ret_running = r.n > 0;
    return e;
}

static enum err redrive_watch_check(struct tx *tx, struct unit *u)
{
    struct redrive_watch *w = CONTAINER_OF(u, struct redrive_watch, unit);
    const struct dead_letters *l = w->redrives->letters;
    enum err e = redrives_resume(tx, w->redrives, &w->running);

    return e ? e : dead_causes_start(tx, l->queue, env_now_ms(l->env));
}

static void redrive_watch_checked(struct unit *u)
{
    struct redrive_watch *w = CONTAINER_OF(u, struct redrive_watch, unit);

    w->busy = false;
    w->commits = u->err || w->running ? -1 : w->commits_now;
}

static void redrive_watch_fire(struct timer *t)
{
    static const struct unit_kind kind = { "redrives.look", UNIT_BACK, redrive_watch_check, NULL };
    struct redrive_watch *w = CONTAINER_OF(t, struct redrive_watch, timer);
    int64_t commits = store_health(w->store).commits;

    if (!w->busy && commits != w->commits) {
        w->busy = true;
        w->commits_now = commits;
        w->unit =
            (struct unit){ .kind = &kind, .executor = w->executor, .done = redrive_watch_checked };
        store_post(w->store, &w->unit);
    }
    executor_arm(w->executor, t, env_now_ms(w->redrives->letters->env) + LIMIT_REDRIVE_LOOK_MS);
}

void redrive_watch(struct redrive_watch *w, const struct redrives *rs, struct store *store,
                   struct executor *executor)
{
    *w = (struct redrive_watch){
        .redrives = rs, .store = store, .executor = executor, .commits = -1
    };
    w->timer = (struct timer){ .fire = redrive_watch_fire, .due_ms = CLOCK_NEVER };
    redrive_watch_fire(&w->timer);
}
