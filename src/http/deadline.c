#include "http/deadline.h"

void deadline_init(struct deadline *x)
{
    *x = (struct deadline){ .kind = -1 };
}

void deadline_leave(struct deadlines *d, struct deadline *x)
{
    struct deadline_list *l;

    if (x->kind < 0)
        return;
    l = &d->lists[x->kind];
    if (x->before)
        x->before->after = x->after;
    else
        l->first = x->after;
    if (x->after)
        x->after->before = x->before;
    else
        l->last = x->before;
    deadline_init(x);
}

void deadline_enter(struct deadlines *d, struct deadline *x, int kind, uint64_t now)
{
    struct deadline_list *l = &d->lists[kind];
    uint64_t duration = d->durations[kind];

    deadline_leave(d, x);
    x->kind = kind;
    x->due = duration == DEADLINE_NONE ? DEADLINE_NONE : now + duration;
    x->before = l->last;
    if (l->last)
        l->last->after = x;
    else
        l->first = x;
    l->last = x;
}

struct deadline *deadlines_expired(struct deadlines *d, uint64_t now)
{
    for (int i = 0; i < DEADLINE_KINDS; i++)
        if (d->lists[i].first && d->lists[i].first->due <= now)
            return d->lists[i].first;
    return NULL;
}

struct deadline *deadlines_oldest(const struct deadlines *d, unsigned kinds)
{
    struct deadline *oldest = NULL;
    uint64_t began = DEADLINE_NONE;

    for (int i = 0; i < DEADLINE_KINDS; i++) {
        struct deadline *x = kinds & 1u << i ? d->lists[i].first : NULL;

        if (!x || x->due - d->durations[i] >= began)
            continue;
        began = x->due - d->durations[i];
        oldest = x;
    }
    return oldest;
}

uint64_t deadlines_next(const struct deadlines *d)
{
    uint64_t next = DEADLINE_NONE;

    for (int i = 0; i < DEADLINE_KINDS; i++)
        if (d->lists[i].first && d->lists[i].first->due < next)
            next = d->lists[i].first->due;
    return next;
}
