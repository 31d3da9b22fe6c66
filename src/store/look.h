/* look.h - a look at a database from outside, for `ichido doctor`: nothing is migrated, locked or
 * written. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/time/clock.h"
#include "base/why.h"

struct store_look {
    int64_t schema;        /* the last migration that it has; 0: it is empty */
    int64_t newest;        /* that this program knows */
    char server[64];       /* "SQLite 3.40.1", "PostgreSQL 15.9" */
    int64_t ahead_ms;      /* PostgreSQL: its clock against ours */
    const char *unsafe[4]; /* PostgreSQL: settings that could lose a commit; ends with NULL */
};

/* UNAVAILABLE: it cannot be reached, or is not there; VALIDATION: it is something else. `why` says
 * so in one line, without a secret. */
enum err sqlite_look(const char *path, struct store_look *ret_look, struct why *why);
enum err postgres_look(const char *url, struct clock *c, struct store_look *ret_look,
                       struct why *why);
