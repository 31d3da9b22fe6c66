#include "http/timers.h"

#include "base/time/clock.h"

#include <assert.h>
#include <stdlib.h>

static void timers_put(struct timers *t, size_t at, struct timer *x)
{
    t->heap[at] = x;
    x->impl = (void *)(uintptr_t)(at + 1); // NOLINT(performance-no-int-to-ptr)
}

static void timers_up(struct timers *t, size_t at)
{
    struct timer *x = t->heap[at];

    while (at && x->due_ms < t->heap[(at - 1) / 2]->due_ms) {
        timers_put(t, at, t->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    timers_put(t, at, x);
}

static void timers_down(struct timers *t, size_t at)
{
    struct timer *x = t->heap[at];

    for (;;) {
        size_t child = at * 2 + 1;

        if (child + 1 < t->count && t->heap[child + 1]->due_ms < t->heap[child]->due_ms)
            child++;
        if (child >= t->count || x->due_ms <= t->heap[child]->due_ms)
            break;
        timers_put(t, at, t->heap[child]);
        at = child;
    }
    timers_put(t, at, x);
}

static void timers_remove(struct timers *t, struct timer *x)
{
    size_t at = (size_t)(uintptr_t)x->impl - 1;
    struct timer *last = t->heap[--t->count];

    assert(at <= t->count);
    x->impl = NULL;
    x->due_ms = CLOCK_NEVER;
    if (last == x)
        return;
    timers_put(t, at, last);
    timers_up(t, at);
    timers_down(t, (size_t)(uintptr_t)last->impl - 1);
}

/* Timers are few, and each is needed: without memory for one the process ends. */
static void timers_grow(struct timers *t)
{
    t->room = t->room ? t->room * 2 : 16;
    t->heap = realloc(t->heap, t->room * sizeof(struct timer *));
    assert(t->heap);
}

void timers_arm(struct timers *t, struct timer *x, int64_t due_ms)
{
    if (x->impl)
        timers_remove(t, x);
    x->due_ms = due_ms;
    if (due_ms == CLOCK_NEVER)
        return;
    if (t->count == t->room)
        timers_grow(t);
    timers_put(t, t->count++, x);
    timers_up(t, t->count - 1);
}

struct timer *timers_due(struct timers *t, int64_t now_ms)
{
    struct timer *first;

    if (!t->count || t->heap[0]->due_ms > now_ms)
        return NULL;
    first = t->heap[0];
    timers_remove(t, first);
    return first;
}

int64_t timers_next(const struct timers *t)
{
    return t->count ? t->heap[0]->due_ms : CLOCK_NEVER;
}

void timers_release(struct timers *t)
{
    free(t->heap);
    *t = (struct timers){ 0 };
}
