/* executor.h - the thread on which the callbacks and timers of a module run. A unit, a call or a
 * timer is started on its executor and comes back there, so what it touches needs no lock. In the
 * server an executor is an event loop; a command has one without timers; in the simulator it is a
 * list from which the seed picks. */
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
    /* Called on any thread. It never fails, since the task is a link of a list. It runs soon. */
    void (*give)(struct home *h, struct task *t);
    /* Called on the executor only. A timer that is armed again moves; CLOCK_NEVER disarms it. */
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
