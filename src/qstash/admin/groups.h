/* groups.h - URL groups: a publish to a group becomes a message for each member, in the order in
 * which they were added. A group without members does not exist. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/tx.h"

struct member {
    struct str url, name; /* the name may be empty */
};

/* The present members, in the arena. NOT_FOUND: there is no such group. */
enum err group_members(struct tx *tx, struct arena *a, struct str name, struct member **ret,
                       size_t *ret_n);

/* --- the list: no two members have the same url or the same name --- */

struct members {
    struct member *all; /* room for LIMIT_QSTASH_ENDPOINTS */
    size_t n;
};

/* Adds a member, or replaces the one with the same url or name in its place. False: the list is
 * full. */
bool members_put(struct members *m, struct member one);
/* Removes those with this url or this name; either may be empty. */
void members_drop(struct members *m, struct member one);
