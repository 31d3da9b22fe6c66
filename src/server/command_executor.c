/* command_executor.c - the executor of a command. The thread that calls command_executor_run()
 * posts a unit of work to the store and runs the tasks of this executor until the unit is done. */
#include "server/command_executor.h"

#include <stdlib.h>
#include <unistd.h>

enum { TRIES = 5, PAUSE_US = 200 * 1000 };

struct command_unit {
    struct unit unit;
    enum err (*run)(struct tx *tx, void *ctx);
    void *ctx;
    bool back;
};

static void command_executor_post(struct executor *h, struct task *t)
{
    struct command_executor *e = CONTAINER_OF(h, struct command_executor, executor);

    pthread_mutex_lock(&e->lock);
    t->next = NULL;
    *e->last = t;
    e->last = &t->next;
    pthread_cond_signal(&e->more);
    pthread_mutex_unlock(&e->lock);
}

/* A command uses no timers. */
static void command_executor_arm(struct executor *h, struct timer *t, int64_t due_ms)
{
    (void)h;
    (void)t;
    (void)due_ms;
    abort();
}

void command_executor_init(struct command_executor *e)
{
    static const struct executor_ops ops = { command_executor_post, command_executor_arm };

    *e = (struct command_executor){ .executor = { &ops }, .last = &e->first };
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->more, NULL);
}

void command_executor_release(struct command_executor *e)
{
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->more);
}

static void run_next(struct command_executor *e)
{
    struct task *t;

    pthread_mutex_lock(&e->lock);
    while (!e->first)
        pthread_cond_wait(&e->more, &e->lock);
    t = e->first;
    e->first = t->next;
    if (!e->first)
        e->last = &e->first;
    pthread_mutex_unlock(&e->lock);
    t->run(t);
}

static enum err command_unit_run(struct tx *tx, struct unit *u)
{
    struct command_unit *w = CONTAINER_OF(u, struct command_unit, unit);

    return w->run(tx, w->ctx);
}

static void command_unit_done(struct unit *u)
{
    CONTAINER_OF(u, struct command_unit, unit)->back = true;
}

enum err command_executor_run(struct command_executor *e, struct store *s, enum unit_class where,
                              enum err (*work)(struct tx *tx, void *ctx), void *ctx)
{
    struct unit_kind kind = { "command", where, command_unit_run, NULL };
    struct command_unit w = {
        .unit = { .kind = &kind, .executor = &e->executor, .done = command_unit_done },
        .run = work,
        .ctx = ctx
    };

    store_post(s, &w.unit);
    while (!w.back)
        run_next(e);
    return w.unit.err;
}

enum err command_executor_retry(struct command_executor *e, struct store *s, enum unit_class where,
                                enum err (*work)(struct tx *tx, void *ctx), void *ctx)
{
    enum err result = command_executor_run(e, s, where, work, ctx);

    for (int tries = 1; result != ERR_STALE && err_is_retryable(result) && tries < TRIES; tries++) {
        usleep(PAUSE_US);
        result = command_executor_run(e, s, where, work, ctx);
    }
    return result;
}
