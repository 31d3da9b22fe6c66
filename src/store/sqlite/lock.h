/* lock.h - lets one server at a time use a database file (M4). The lock is a flock on a separate
 * file, <database>.lock, which contains the server's address. The kernel releases it whenever the
 * process ends. The file is never removed: otherwise two servers could lock two different files of
 * the same name. */
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
