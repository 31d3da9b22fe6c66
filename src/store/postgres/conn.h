/* conn.h - one connection to PostgreSQL that never blocks for ever.
 *
 * Everything waits in poll() with a deadline of our own; a peer that does not answer in time is a
 * lost connection. A false from any function here means just that: the connection is of no more
 * use and pg_close() is next.
 *
 * Inside a unit the connection is in pipeline mode: pg_send() queues a statement and what is wanted
 * of its result, pg_take() returns the results in that order. Outside, pg_query() is one question
 * and its answer. */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/limits.h"
#include "store/postgres/value.h"

enum pg_want {
    PG_WANT_DONE,     /* success is enough */
    PG_WANT_PREPARED, /* the statement's name is known to the session from now on */
    PG_WANT_COUNT,    /* exactly `expected` changed rows */
    PG_WANT_ROWS,
    PG_WANT_OPENING,
    PG_WANT_COMMIT,
    PG_WANT_SYNC,
};

struct pg_expect {
    enum pg_want want;
    const char *what; /* for the log: the statement's name */
    int64_t expected;
    uint64_t name; /* of the prepared statement */
};

struct pg_conn {
    struct env *env;
    const char *url;
    _Atomic bool *unnamed; /* of the whole store: a pooler is in between */
    bool listens;          /* keeps notifications for PQnotifies(); others drop them */
    PGconn *db;            /* NULL: not connected */
    int cut_fd;            /* of pg_cut(); else -1 */
    int64_t deadline_ms;
    struct pg_expect queue[LIMIT_DB_PIPELINE + 8];
    size_t first, count; /* of the queue; statements that were sent and not yet taken */
    size_t sent_bytes;   /* since the queue was empty */
    char life[40];       /* of the server: another one after a crash */
    uint64_t names[LIMIT_DB_NAMES];
    size_t name_count;
    struct buf arrays;
    char why[232]; /* why the last connect failed; one line, no secrets */
};

void pg_init(struct pg_conn *c, struct env *env, const char *url, _Atomic bool *unnamed);
void pg_release(struct pg_conn *c);

/* False: no try will ever succeed; c->why. Look before the first pg_open(). */
bool pg_url_is_readable(struct pg_conn *c);
bool pg_open(struct pg_conn *c, int64_t wait_ms);
void pg_close(struct pg_conn *c);
void pg_cut(struct pg_conn *c); /* for tests: the network is gone; we have yet to notice */

/* Outside of a pipeline: several statements where there are no parameters, text results. NULL:
 * lost. The caller looks at PQresultStatus() and calls PQclear(). */
PGresult *pg_query(struct pg_conn *c, const char *sql, const struct pg_params *p, int64_t wait_ms);

/* --- in the pipeline --- */

bool pg_send(struct pg_conn *c, const char *sql, const struct pg_params *p, struct pg_expect want);
bool pg_is_full(const struct pg_conn *c); /* time to take what is there */

/* Ends what is queued with a sync, which is a result of its own, and sends it; the deadline begins.
 */
bool pg_flush(struct pg_conn *c);
/* The next result, to be cleared by the caller, and what was wanted of it. */
bool pg_take(struct pg_conn *c, struct pg_expect *ret_want, PGresult **ret_result);
