/* state.h - what a SQLSTATE means for the unit that met it. */
#pragma once

#include "base/err.h"

enum pg_trouble {
    PG_FINE,
    PG_FAILED,  /* the unit's own failure; running it again does not help */
    PG_UNSAFE,  /* the server could lose a commit, so nothing is written */
    PG_AGAIN,   /* a conflict with another transaction: roll back and run it again */
    PG_BLOCKED, /* a lock was not released in time: the same, but a bulk is run one by one */
    PG_UNNAMED, /* a pooler switches sessions: use no prepared statements and run it again */
    PG_GONE,    /* the connection is unusable: connect and run it again */
};

struct pg_meaning {
    enum pg_trouble trouble;
    enum err err; /* the unit's verdict once it is not run again */
};

/* state: five characters, or NULL where libpq itself lost the connection. */
struct pg_meaning pg_meaning(const char *state);
