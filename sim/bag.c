#include "sim/node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void bag_add(struct bag *b, void *p)
{
    if (b->n == b->size) {
        b->size = b->size ? b->size * 2 : 32;
        b->p = realloc(b->p, b->size * sizeof(*b->p));
        if (!b->p)
            abort();
    }
    b->p[b->n++] = p;
}

void *bag_take(struct bag *b, size_t at)
{
    void *p;

    assert(at < b->n);
    p = b->p[at];
    memmove(b->p + at, b->p + at + 1, (b->n - at - 1) * sizeof(*b->p));
    b->n--;
    return p;
}

bool bag_has(const struct bag *b, const void *p)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] == p)
            return true;
    return false;
}

bool bag_drop(struct bag *b, const void *p)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] == p) {
            bag_take(b, i);
            return true;
        }
    return false;
}
