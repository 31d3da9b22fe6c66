/* server.h - what we ask of the server itself: whether it may be trusted, what time it is,
 * and what became of a commit whose answer was lost. */
#pragma once

#include "base/why.h"
#include "store/postgres/conn.h"

/* Connects and looks. UNAVAILABLE: not now. VALIDATION: not as it is set up; it could lose what it
 * said was committed, or cannot hold our texts. c->why says which. The clock follows
 * the server's.
 */
enum err pg_connect(struct pg_conn *c);

/* Nodes agree on the database's time: it was server_ms at some moment between the two. */
void pg_follow_clock(struct clock *clock, int64_t server_ms, int64_t asked_us, int64_t answered_us);

enum pg_fate {
    PG_FATE_COMMITTED,
    PG_FATE_ABORTED, /* or so long ago that only the rows can tell: run it again, ids collide */
    PG_FATE_LATER,   /* still running, or no answer: ask again */
    PG_FATE_UNKNOWN, /* asking again will not help */
};

/* Asks about a transaction of an earlier connection, to the server in the life it then had. Closes
 * the connection where there was no answer. */
enum pg_fate pg_ask_fate(struct pg_conn *c, const char *xid, const char *life);

/* Applies what is missing of postgres_migrations, one node at a time. VALIDATION: the database is
 * newer than this program. `why` says what went wrong. */
enum err pg_migrate(struct pg_conn *c, struct why *why);
