#include "server/command_executor.h"

#include <stdlib.h>

struct errand_unit {
    struct unit unit;
    enum err (*run)(struct tx *tx, void *ctx);
    void *ctx;
    bool back;
};

static void command_executor_give(struct home *h, struct task *t)
{
    struct errand *e = CONTAINER_OF(h, struct errand, home);

    pthread_mutex_lock(&e->lock);
    t->next = NULL;
    *e->last = t;
    e->last = &t->next;
    pthread_cond_signal(&e->more);
    pthread_mutex_unlock(&e->lock);
}

/* Nothing that a command does waits for a time. */
static void command_executor_arm(struct home *h, struct timer *t, int64_t due_ms)
{
    (void)h;
    (void)t;
    (void)due_ms;
    abort();
}

void errand_init(struct errand *e)
{
    static const struct home_ops ops = { command_executor_give, command_executor_arm };

    *e = (struct errand){ .home = { &ops }, .last = &e->first };
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->more, NULL);
}

void errand_release(struct errand *e)
{
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->more);
}

static void run_next(struct errand *e)
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

static enum err command_executor_run(struct tx *tx, struct unit *u)
{
    struct errand_unit *w = CONTAINER_OF(u, struct errand_unit, unit);

    return w->run(tx, w->ctx);
}

static void command_executor_done(struct unit *u)
{
    CONTAINER_OF(u, struct errand_unit, unit)->back = true;
}

enum err errand_do(struct errand *e, struct store *s, enum unit_class where,
                   enum err (*work)(struct tx *tx, void *ctx), void *ctx)
{
    struct unit_kind kind = { "errand", where, command_executor_run, NULL };
    struct errand_unit w = {
        .unit = { .kind = &kind, .home = &e->home, .done = command_executor_done },
        .run = work,
        .ctx = ctx
    };

    store_post(s, &w.unit);
    while (!w.back)
        run_next(e);
    return w.unit.err;
}
