/* unit_list.h - waiting units of work, in the order of their arrival. The list links the units
 * themselves, so a push cannot fail. The owner of the list locks it. */
#pragma once

#include "store/store.h"

enum { UNIT_LIST_LOOK_AHEAD = 256 }; /* a search for units of one kind passes this many at most */

struct unit_list {
    struct unit *first, **last;
    int count;
};

void unit_list_init(struct unit_list *l);
void unit_list_push(struct unit_list *l, struct unit *u);

/* Up to max from the front; returns how many. */
size_t unit_list_take(struct unit_list *l, struct unit **units, size_t max);
/* The unit that *at points to (&l->first, or a later link) and, if its kind can be run in bulk,
 * others of its kind behind it, up to LIMIT_BULK_BYTES. */
size_t unit_list_take_alike(struct unit_list *l, struct unit **at, struct unit **units, size_t max);
