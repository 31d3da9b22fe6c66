/* tx.h - one transaction on PostgreSQL, pipelined.
 *
 * BEGIN, the timeouts and some questions (our transaction id, the time, fsync) ride with the unit's
 * first statement. tx_do() is queued and looked at later; what returns rows is a round trip. So a
 * unit costs as many round trips as it has questions, and one for the commit.
 *
 *   (1) The first failure sticks: the server has given the transaction up, so no later success
 *       counts and a unit that says OK all the same is not believed.
 *   (2) COMMIT is sent only after every wanted row count was seen to be right and, where the unit
 *       writes, after our transaction id is known: then, if its answer is lost, we can ask.
 *   (3) COMMIT waits for the disk, whatever the server was told since we connected: a unit that
 *       writes turns synchronous_commit on for itself, and fails where fsync is off. */
#pragma once

#include "store/driver.h"
#include "store/postgres/conn.h"
#include "store/postgres/state.h"

enum pg_end {
    PG_COMMITTED,
    PG_ROLLED_BACK, /* for its own reasons; tx.err says which */
    PG_RUN_AGAIN,   /* rolled back for reasons that may pass */
    PG_LOST,        /* the connection; COMMIT was not sent */
    PG_IN_DOUBT,    /* the connection; COMMIT may have been sent: ask about xid */
};

enum pg_mode {
    PG_WRITES,
    PG_HURRIES, /* writes, and waits LIMIT_DB_HURRY_MS for a lock: others stand behind it */
    PG_READS,   /* takes no transaction id, writes nothing */
    PG_MODES
};

enum { PG_XID = 24, PG_OPENING = 768 };

struct pg_tx {
    struct tx base;
    struct pg_conn *conn;
    enum pg_mode mode;
    bool unchecked;   /* a wanted row count is still on its way */
    char xid[PG_XID]; /* "": not known */
    enum pg_trouble trouble;
    enum err err;       /* the first failure */
    const char *unsafe; /* where trouble is UNSAFE: why, for the log */
    /* The server's time, asked for with the opening; 0: no answer. */
    int64_t server_ms, asked_us, answered_us;
    char opening[PG_MODES][PG_OPENING];
};

void pg_tx_init(struct pg_tx *x, struct env *env, struct pg_conn *conn);
void pg_tx_release(struct pg_tx *x);

/* Begins. Fails only later: its failure is that of the first statement. */
void pg_tx_begin(struct pg_tx *x, enum pg_mode mode);
/* Commits where the unit was `verdict` OK, rolls back otherwise. On ROLLED_BACK and RUN_AGAIN the
 * reason is in x->err. LOST and IN_DOUBT leave the connection closed. */
enum pg_end pg_tx_end(struct pg_tx *x, enum err verdict);
