/* postgres_tx.h - one transaction on PostgreSQL, pipelined.
 *
 * BEGIN, the timeouts and the question for our transaction id ride with the unit's first statement.
 * tx_do() is queued and looked at later; what returns rows is a round trip. So a unit costs as many
 * round trips as it has questions, and one for the commit.
 *
 *   (1) The first failure sticks: the server has given the transaction up, so no later success
 *       counts and a unit that says OK all the same is not believed.
 *   (2) COMMIT is sent only after every wanted row count was seen to be right and, where the unit
 *       writes, after our transaction id is known: then, if its answer is lost, we can ask. */
#pragma once

#include "store/driver.h"
#include "store/postgres_conn.h"
#include "store/postgres_state.h"

enum pg_end {
    PG_COMMITTED,
    PG_ROLLED_BACK, /* for its own reasons; tx.err says which */
    PG_RUN_AGAIN,   /* rolled back for reasons that may pass */
    PG_LOST,        /* the connection; COMMIT was not sent */
    PG_IN_DOUBT,    /* the connection; COMMIT may have been sent: ask about xid */
};

enum { PG_XID = 24, PG_OPENING = 384 };

struct pg_tx {
    struct tx base;
    struct pg_conn *conn;
    bool reads;       /* takes no transaction id, writes nothing */
    bool unchecked;   /* a wanted row count is still on its way */
    char xid[PG_XID]; /* "": not known */
    enum pg_trouble trouble;
    enum err err; /* the first failure */
    char opening[PG_OPENING], read_opening[PG_OPENING];
};

void pg_tx_init(struct pg_tx *x, struct env *env, struct pg_conn *conn);
void pg_tx_release(struct pg_tx *x);

/* Begins. Fails only later: its failure is that of the first statement. */
void pg_tx_begin(struct pg_tx *x, bool reads);
/* Commits where the unit was `verdict` OK, rolls back otherwise. On ROLLED_BACK and RUN_AGAIN the
 * reason is in x->err. LOST and IN_DOUBT leave the connection closed. */
enum pg_end pg_tx_end(struct pg_tx *x, enum err verdict);
