/* state.h - what a SQLSTATE means for the unit that met it. */
#pragma once

#include "base/err.h"

enum pg_trouble {
    PG_FINE,
    PG_FAILED,  /* the unit's own failure; running it again would not help */
    PG_UNSAFE,  /* the server could lose what it commits: nothing is written */
    PG_AGAIN,   /* a neighbour was in the way: roll back, run it again */
    PG_BLOCKED, /* somebody keeps a lock: the same, but a bulk is run one by one */
    PG_UNNAMED, /* a pooler hands us other sessions: no more prepared statements, run it again */
    PG_GONE,    /* the connection is of no more use: connect, run it again */
};

struct pg_meaning {
    enum pg_trouble trouble;
    enum err err; /* what the unit is told where running it again is over */
};

/* state: five characters, or NULL where libpq itself lost the connection. */
struct pg_meaning pg_meaning(const char *state);
