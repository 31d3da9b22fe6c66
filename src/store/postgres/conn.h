/* conn.h - one connection to PostgreSQL, with a deadline for everything.
 *
 * Every wait is a poll() with a deadline of our own; a server that does not answer in time is a lost
 * connection. False from any function here means exactly that: the connection is unusable, and the
 * caller closes it with pg_close().
 *
 * Inside a unit the connection is in pipeline mode: pg_send() queues a statement and what its result
 * must be, pg_take() returns the results in that order. Outside of a unit, pg_query() sends one
 * query and waits for its answer. */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/limits.h"
#include "store/postgres/value.h"

enum pg_want {
    PG_WANT_DONE,     /* success */
    PG_WANT_PREPARED, /* the statement is prepared in the session from now on */
    PG_WANT_COUNT,    /* success with exactly `expected` changed rows */
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
    _Atomic bool *unnamed; /* of the whole store: no prepared statements, for a pooler (M7) */
    bool listens;          /* keeps notifications for PQnotifies(); other connections drop them */
    PGconn *db;            /* NULL: not connected */
    int cut_fd;            /* the real socket after pg_cut(); else -1 */
    int64_t deadline_ms;
    struct pg_expect queue[LIMIT_DB_PIPELINE + 8];
    size_t first, count; /* of the queue: statements that were sent and not yet taken */
    size_t sent_bytes;   /* since the queue was empty */
    char life[40];       /* names one life of the server: it changes when the server crashes */
    uint64_t names[LIMIT_DB_NAMES];
    size_t name_count;
    struct buf arrays;
    char why[232]; /* why the last connect failed; one line, no secrets */
};

void pg_init(struct pg_conn *c, struct env *env, const char *url, _Atomic bool *unnamed);
void pg_release(struct pg_conn *c);

/* False: the url cannot be parsed, so no connect can succeed; c->why has the reason. Called before
 * the first pg_open(). */
bool pg_url_is_readable(struct pg_conn *c);
bool pg_open(struct pg_conn *c, int64_t wait_ms);
void pg_close(struct pg_conn *c);
void pg_cut(struct pg_conn *c); /* for tests: the network is lost, which we have yet to notice */

/* Outside of pipeline mode. Without parameters `sql` may hold several statements; results are text.
 * NULL: the connection is lost. The caller checks PQresultStatus() and calls PQclear(). */
PGresult *pg_query(struct pg_conn *c, const char *sql, const struct pg_params *p, int64_t wait_ms);

/* --- in the pipeline --- */

bool pg_send(struct pg_conn *c, const char *sql, const struct pg_params *p, struct pg_expect want);
bool pg_is_full(const struct pg_conn *c); /* True: flush and take results before sending more. */

/* Ends the queued statements with a sync, which has a result of its own, and sends them. The
 * deadline begins now. */
bool pg_flush(struct pg_conn *c);
/* The next result, which the caller clears, and what it must be. */
bool pg_take(struct pg_conn *c, struct pg_expect *ret_want, PGresult **ret_result);
