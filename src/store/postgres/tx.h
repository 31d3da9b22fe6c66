/* tx.h - one transaction on PostgreSQL, pipelined.
 *
 * BEGIN, the timeouts and the opening query (our transaction id, the time, fsync) are sent with the
 * unit's first statement. tx_do() is queued and checked later; a statement that returns rows is a
 * round trip. So a unit costs one round trip for each of those and one for the commit.
 *
 *   (1) The first failure decides: the server has aborted the transaction, so no later success
 *       counts, and OK from the unit is ignored.
 *   (2) COMMIT is sent only after every expected row count was checked and, where the unit writes,
 *       after our transaction id is known: if the answer is lost, the server can be asked (M6).
 *   (3) COMMIT waits for the disk, even if the server's settings changed since we connected: a unit
 *       that writes turns synchronous_commit on for its transaction, and fails where fsync is off. */
#pragma once

#include "store/driver.h"
#include "store/postgres/conn.h"
#include "store/postgres/state.h"

enum pg_end {
    PG_COMMITTED,
    PG_ROLLED_BACK, /* the unit failed; pg_tx.err has the reason */
    PG_RUN_AGAIN,   /* rolled back for a reason that may pass; pg_tx.err has it */
    PG_LOST,        /* the connection is lost; COMMIT was not sent */
    PG_IN_DOUBT,    /* the connection is lost; COMMIT may have been sent: ask about xid */
};

enum pg_mode {
    PG_WRITES,
    PG_HURRIES, /* writes, and waits only LIMIT_DB_HURRY_MS for a lock: more units wait behind it */
    PG_READS,   /* takes no transaction id, writes nothing */
    PG_MODES
};

enum { PG_XID = 24, PG_OPENING = 768 };

struct pg_tx {
    struct tx base;
    struct pg_conn *conn;
    enum pg_mode mode;
    bool unchecked;   /* an expected row count was not checked yet */
    char xid[PG_XID]; /* "": not known */
    enum pg_trouble trouble;
    enum err err;       /* the first failure */
    const char *unsafe; /* where trouble is PG_UNSAFE: the reason, for the log */
    /* The server's time, from the opening query; server_ms 0: no answer. */
    int64_t server_ms, asked_us, answered_us;
    char opening[PG_MODES][PG_OPENING];
};

void pg_tx_init(struct pg_tx *x, struct env *env, struct pg_conn *conn);
void pg_tx_release(struct pg_tx *x);

/* Begins a transaction. A failure is reported by the unit's first statement. */
void pg_tx_begin(struct pg_tx *x, enum pg_mode mode);
/* Commits if `verdict` is OK, else rolls back. After ROLLED_BACK and RUN_AGAIN the reason is in
 * x->err. LOST and IN_DOUBT leave the connection closed. */
enum pg_end pg_tx_end(struct pg_tx *x, enum err verdict);
