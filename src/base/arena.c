/* arena.c - memory in blocks that are freed together. A request that is larger than a block gets
 * one of its own; a rewind frees the blocks that were added after the mark. */
#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_ALIGN = 16, ARENA_BLOCK = 4096 };

struct arena_block {
    struct arena_block *below;
    size_t used, size;
    _Alignas(ARENA_ALIGN) char bytes[];
};

void arena_init(struct arena *a, size_t limit)
{
    *a = (struct arena){ .limit = limit };
}

static void arena_pop(struct arena *a)
{
    struct arena_block *below = a->top->below;

    free(a->top);
    a->top = below;
}

void arena_release(struct arena *a)
{
    while (a->top)
        arena_pop(a);
    a->used = 0;
}

static bool arena_push(struct arena *a, size_t need)
{
    size_t size = need > ARENA_BLOCK ? need : ARENA_BLOCK;
    struct arena_block *b = malloc(sizeof(*b) + size);

    if (!b)
        return false;
    *b = (struct arena_block){ .below = a->top, .size = size };
    a->top = b;
    return true;
}

static void *arena_take(struct arena *a, size_t size)
{
    size_t need = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    char *p;

    if (need < size || need > a->limit || a->used > a->limit - need)
        return NULL;
    if ((!a->top || a->top->size - a->top->used < need) && !arena_push(a, need))
        return NULL;
    p = a->top->bytes + a->top->used;
    a->top->used += need;
    a->used += need;
    return p;
}

void *arena_alloc(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    p = arena_take(a, bytes ? bytes : 1);
    return p ? memset(p, 0, bytes) : NULL;
}

char *arena_cstr(struct arena *a, struct str s)
{
    char *p = arena_take(a, s.n + 1);

    if (!p)
        return NULL;
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

struct str arena_str(struct arena *a, struct str s)
{
    char *p = arena_cstr(a, s);

    return (struct str){ p, p ? s.n : 0 };
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){ a->top, a->top ? a->top->used : 0, a->used };
}

void arena_rewind(struct arena *a, struct arena_mark mark)
{
    while (a->top != mark.top) {
        assert(a->top); /* the mark is of another arena, or older than a release */
        arena_pop(a);
    }
    if (a->top)
        a->top->used = mark.top_used;
    a->used = mark.used;
}
