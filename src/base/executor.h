/* executor.h - the thread a piece of work belongs to. A unit, a call or a timer is started at home and
 * comes back there, so that what it touches needs no lock. In the server a home is an event loop;
 * in the simulator it is a list that the seed picks from. */
#pragma once

#include <stdint.h>

struct home;

struct task {
    struct task *next;
    void (*run)(struct task *t);
};

struct timer {
    void (*fire)(struct timer *t); /* at home, once; it may arm itself again */
    int64_t due_ms;                /* wall time; CLOCK_NEVER: not armed */
    void *impl;                    /* of the home */
};

struct home_ops {
    /* From any thread; never fails: the task is a link in a list. It runs at home, soon. */
    void (*give)(struct home *h, struct task *t);
    /* Only at home. A timer that is armed again moves. CLOCK_NEVER disarms it. */
    void (*arm)(struct home *h, struct timer *t, int64_t due_ms);
};

struct home {
    const struct home_ops *ops;
};

static inline void home_give(struct home *h, struct task *t)
{
    h->ops->give(h, t);
}

static inline void home_arm(struct home *h, struct timer *t, int64_t due_ms)
{
    h->ops->arm(h, t, due_ms);
}
