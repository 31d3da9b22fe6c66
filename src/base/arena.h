/* arena.h - memory that is freed all at once. Each request and each unit has an arena, and the size
 * of the arena is its memory limit. Blocks are allocated as needed, so an idle arena owns
 * nothing. */
#pragma once

#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *top;
    size_t used, limit;
};

struct arena_mark {
    struct arena_block *top;
    size_t top_used, used;
};

void arena_init(struct arena *a, size_t limit);
void arena_release(struct arena *a); /* frees everything; the arena may be used again */

void *arena_alloc(struct arena *a, size_t count, size_t size); /* zeroed; NULL: over the limit */
struct str arena_str(struct arena *a, struct str s); /* a copy; .p is NULL: over the limit */
char *arena_cstr(struct arena *a, struct str s);     /* the same with a NUL behind it */

/* Frees what was allocated since the mark. What was allocated before it stays where it is. */
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark mark);
