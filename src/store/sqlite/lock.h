/* lock.h - one server a file. The lock is a flock on a file of its own, <database>.lock,
 * that also says who holds it; the kernel drops it when we die, however we die. The file itself
 * stays: removing it would let two servers lock two different files of one name. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/why.h"

struct sqlite_lock {
    int fd;
    char *path;
};

/* Makes the database's directory (0700) if only that is missing, then takes the lock. CONFLICT:
 * another server has it, and `why` names it. */
enum err sqlite_lock_take(struct sqlite_lock *l, const char *database, struct str owner,
                          struct why *why);
void sqlite_lock_release(struct sqlite_lock *l);
