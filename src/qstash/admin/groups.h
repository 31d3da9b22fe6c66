/* groups.h - URL groups: one publish becomes a parcel for each member, in the order in which they
 * were added. A group has at least one member; without any it is gone. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/tx.h"

struct member {
    struct str url, name; /* the name may be empty */
};

/* The members at this moment, in the arena. NOT_FOUND: there is no such group. */
enum err group_members(struct tx *tx, struct arena *a, struct str name, struct member **ret,
                       size_t *ret_n);

/* --- the list itself: no two of it have the same url, or the same name --- */

struct members {
    struct member *all; /* room for LIMIT_QSTASH_ENDPOINTS */
    size_t n;
};

/* Adds it; one with the same url or the same name becomes this one where it stands. False: it is
 * full. */
bool members_put(struct members *m, struct member one);
/* Without those that have this url, or this name; either may be empty. */
void members_drop(struct members *m, struct member one);
