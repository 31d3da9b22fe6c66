/* look.h - inspects a database for `ichido doctor`: nothing is migrated, locked or written. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/time/clock.h"
#include "base/why.h"

struct store_look {
    int64_t schema;        /* number of the last applied migration; 0: none */
    int64_t newest;        /* number of the last migration that this program has */
    char server[64];       /* "SQLite 3.40.1", "PostgreSQL 15.9" */
    int64_t ahead_ms;      /* PostgreSQL: its clock minus ours */
    const char *unsafe[4]; /* PostgreSQL: settings that could lose a commit; ends with NULL */
};

/* UNAVAILABLE: the database cannot be reached or does not exist. VALIDATION: the file is not an
 * intact SQLite database. `why` says so in one line, without a secret. */
enum err sqlite_look(const char *path, struct store_look *ret_look, struct why *why);
enum err postgres_look(const char *url, struct clock *c, struct store_look *ret_look,
                       struct why *why);
