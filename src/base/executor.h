/* executor.h - the thread on which the callbacks and timers of a module run. A unit, a call or a
 * timer is started on its executor and comes back there, so what it touches needs no lock. In the
 * server an executor is an event loop; a command has one without timers; in the simulator it is a
 * list from which the seed picks. */
#pragma once

#include <stdint.h>

struct executor;

struct task {
    struct task *next;
    void (*run)(struct task *t);
};

struct timer {
    void (*fire)(struct timer *t); /* on the executor, once; it may arm itself again */
    int64_t due_ms;                /* wall time; CLOCK_NEVER: not armed */
    void *impl;                    /* of the executor */
};

struct executor_ops {
    /* Called on any thread. It never fails, since the task is a link of a list. It runs soon. */
    void (*post)(struct executor *h, struct task *t);
    /* Called on the executor only. A timer that is armed again moves; CLOCK_NEVER disarms it. */
    void (*arm)(struct executor *h, struct timer *t, int64_t due_ms);
};

struct executor {
    const struct executor_ops *ops;
};

static inline void executor_post(struct executor *h, struct task *t)
{
    h->ops->post(h, t);
}

static inline void executor_arm(struct executor *h, struct timer *t, int64_t due_ms)
{
    h->ops->arm(h, t, due_ms);
}
