/* server.h - queries about the server itself: are its settings safe, what time is it, and did a
 * commit whose answer was lost succeed. */
#pragma once

#include "base/why.h"
#include "store/postgres/conn.h"

/* Connects and checks the server. UNAVAILABLE: it cannot be used now. VALIDATION: it cannot be used
 * with its settings: it is too old, could lose confirmed commits, or does not use UTF8. c->why says
 * which. Our clock follows the server's. */
enum err pg_connect(struct pg_conn *c);

/* All nodes use the database's time: it was server_ms at a moment between asked and answered (M12).
 */
void pg_follow_clock(struct clock *clock, int64_t server_ms, int64_t asked_us, int64_t answered_us);

enum pg_fate {
    PG_FATE_COMMITTED,
    PG_FATE_ABORTED, /* or too old for pg_xact_status: run the unit again, its ids collide (M1) */
    PG_FATE_LATER,   /* still running, or no answer: ask again */
    PG_FATE_UNKNOWN, /* asking again does not help */
};

/* Asks about a transaction of an earlier connection; `life` is the server's life at that time.
 * Closes the connection if there was no answer. */
enum pg_fate pg_ask_fate(struct pg_conn *c, const char *xid, const char *life);

/* Applies the missing migrations, one node at a time. VALIDATION: the database is newer than this
 * program. `why` says what went wrong. */
enum err pg_migrate(struct pg_conn *c, struct why *why);
