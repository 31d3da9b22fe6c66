/* timers.h - the timers of an executor: a heap by wall time, so that one alarm serves them all. A
 * timer's `impl` is its place in the heap, counted from 1. */
#pragma once

#include "base/executor.h"

#include <stddef.h>

struct timers {
    struct timer **heap;
    size_t count, room;
};

void timers_release(struct timers *t);
void timers_arm(struct timers *t, struct timer *x, int64_t due_ms); /* CLOCK_NEVER disarms */
/* Takes out a timer that is due, or NULL. */
struct timer *timers_due(struct timers *t, int64_t now_ms);
int64_t timers_next(const struct timers *t); /* CLOCK_NEVER: none */
