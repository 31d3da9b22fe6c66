/* desk.h - an executor for tests: what comes back waits in a list until the test's thread takes
 * it. */
#pragma once

#include "base/executor.h"
#include "base/str.h"
#include "unit/cm.h"

#include <pthread.h>
#include <time.h>

enum { DESK_PATIENCE_S = 60 };

struct desk {
    struct executor executor;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct task *first, **last;
};

static inline void desk_give(struct executor *h, struct task *t)
{
    struct desk *d = CONTAINER_OF(h, struct desk, executor);

    pthread_mutex_lock(&d->lock);
    t->next = NULL;
    *d->last = t;
    d->last = &t->next;
    pthread_cond_signal(&d->more);
    pthread_mutex_unlock(&d->lock);
}

static inline void desk_init_as(struct desk *d, const struct executor_ops *ops)
{
    *d = (struct desk){ .executor = { ops }, .last = &d->first };
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->more, NULL);
}

static inline void desk_init(struct desk *d) /* without timers */
{
    static const struct executor_ops ops = { .post = desk_give };

    desk_init_as(d, &ops);
}

static inline bool desk_is_empty(struct desk *d)
{
    bool empty;

    pthread_mutex_lock(&d->lock);
    empty = !d->first;
    pthread_mutex_unlock(&d->lock);
    return empty;
}

/* Runs the next task; waits for one. */
static inline void desk_next(struct desk *d)
{
    struct timespec end;
    struct task *t;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += DESK_PATIENCE_S;
    pthread_mutex_lock(&d->lock);
    while (!d->first)
        if (pthread_cond_timedwait(&d->more, &d->lock, &end))
            fail_msg("nothing came back in %d s", DESK_PATIENCE_S);
    t = d->first;
    d->first = t->next;
    if (!d->first)
        d->last = &d->first;
    pthread_mutex_unlock(&d->lock);
    t->run(t);
}

/* Runs the next n tasks that come back. */
static inline void desk_wait(struct desk *d, int n)
{
    while (n--)
        desk_next(d);
}
