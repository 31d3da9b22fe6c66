/* tx.c - one transaction, pipelined; tx.h has the invariants.
 *
 *   begin: BEGIN and the opening query --> statements --> flush, check all results --> COMMIT
 *                                              |                                         |
 *                                              '-- failed: sync, ROLLBACK    answer lost: IN_DOUBT
 *
 * A crash before COMMIT was sent leaves nothing: the server rolls back. After that the commit may or
 * may not have happened; a unit that is posted again collides with its own ids (M1). */
#include "store/postgres/tx.h"

#include "observe/log.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = 1024 * 1024 }; /* of the arrays' memory, between two bulks */

static struct pg_tx *pg_tx_of(struct tx *tx)
{
    return (struct pg_tx *)(void *)tx;
}

/* --- failures --- */

static enum err fail_with(struct pg_tx *x, enum pg_trouble trouble, enum err err)
{
    if (!x->err) {
        x->trouble = trouble;
        x->err = err;
    }
    return x->err;
}

static enum err postgres_tx_lost(struct pg_tx *x)
{
    x->err = OK; /* a lost connection replaces an earlier failure */
    return fail_with(x, PG_GONE, ERR_UNAVAILABLE);
}

/* The server's message is logged only where the statement itself is wrong: other messages may repeat
 * a row's values. */
static void log_failure(struct pg_tx *x, const struct pg_expect *want, const PGresult *r,
                        enum err err)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *words = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    bool is_wrong = err == ERR_INTERNAL || (state && !strcmp(state, "0A000"));

    if (x->base.env->log && is_wrong)
        LOG(x->base.env->log, LOG_ERROR, "store.statement_failed",
            LOG_TEXT("statement", str_of(want->what)), LOG_TEXT("sqlstate", str_of(state)),
            LOG_TEXT("words", str_of(words)));
    if (x->base.env->log && (err == ERR_CONSTRAINT || err == ERR_SUM_TOO_LARGE))
        LOG(x->base.env->log, LOG_ERROR, "store.constraint",
            LOG_TEXT("statement", str_of(want->what)), LOG_TEXT("sqlstate", str_of(state)),
            LOG_TEXT("constraint", str_of(PQresultErrorField(r, PG_DIAG_CONSTRAINT_NAME))));
}

static enum err check_error(struct pg_tx *x, const struct pg_expect *want, const PGresult *r)
{
    struct pg_meaning m = pg_meaning(PQresultErrorField(r, PG_DIAG_SQLSTATE));

    log_failure(x, want, r, m.err);
    if (PQstatus(x->conn->db) == CONNECTION_BAD || m.trouble == PG_GONE)
        return postgres_tx_lost(x);
    if (m.trouble == PG_UNNAMED)
        atomic_store(x->conn->unnamed, true);
    return fail_with(x, m.trouble, m.err);
}

enum opening { XID, NOW, FSYNC, PAGES };

/* Both settings can be turned off while the server runs; the check at connect is not enough. */
static const char *why_unsafe(const PGresult *r)
{
    if (!strcmp(PQgetvalue(r, 0, FSYNC), "off"))
        return "the PostgreSQL server does not fsync; nothing is stored until it does";
    if (!strcmp(PQgetvalue(r, 0, PAGES), "off"))
        return "the PostgreSQL server has full_page_writes=off; nothing is stored until it is on";
    return NULL;
}

static enum err check_opening(struct pg_tx *x, const PGresult *r)
{
    x->answered_us = clock_mono_us(&x->base.env->clock);
    x->server_ms = pg_number(PQgetvalue(r, 0, NOW));
    if (x->mode == PG_READS)
        return OK;
    snprintf(x->xid, sizeof(x->xid), "%s", PQgetvalue(r, 0, XID));
    x->unsafe = why_unsafe(r);
    return x->unsafe ? fail_with(x, PG_UNSAFE, ERR_UNAVAILABLE) : OK;
}

static enum err check_result(struct pg_tx *x, const struct pg_expect *want, const PGresult *r)
{
    switch (PQresultStatus(r)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY: break; /* a statement that only SQLite needs */
    case PGRES_PIPELINE_SYNC:
    case PGRES_PIPELINE_ABORTED: return x->err; /* the failure before it was judged */
    default: return check_error(x, want, r);
    }
    if (want->want == PG_WANT_OPENING)
        return check_opening(x, r);
    if (want->want == PG_WANT_COUNT && want->expected != pg_number(PQcmdTuples((PGresult *)r)))
        return fail_with(x, PG_FAILED, ERR_STALE);
    return OK;
}

/* --- taking results --- */

/* Takes and checks all but `leave` results; stops at the first failure. */
static enum err check_results(struct pg_tx *x, size_t leave)
{
    struct pg_conn *c = x->conn;

    while (c->count > leave) {
        struct pg_expect want;
        PGresult *r;
        enum err e;

        if (!pg_take(c, &want, &r))
            return postgres_tx_lost(x);
        e = check_result(x, &want, r);
        PQclear(r);
        if (e)
            return e;
    }
    if (!leave)
        x->unchecked = false;
    return OK;
}

static enum err round_trip(struct pg_tx *x)
{
    return pg_flush(x->conn) ? check_results(x, 0) : postgres_tx_lost(x);
}

/* Sends everything, checks the earlier results, and returns the last statement's result. */
static enum err fetch_result(struct pg_tx *x, PGresult **ret_result)
{
    struct pg_expect want;
    PGresult *r;
    enum err e;

    e = pg_flush(x->conn) ? check_results(x, 2) : postgres_tx_lost(x); /* 2: it and the sync */
    if (e)
        return e;
    if (!pg_take(x->conn, &want, &r))
        return postgres_tx_lost(x);
    e = check_result(x, &want, r);
    if (!e)
        e = check_results(x, 0);
    if (e)
        PQclear(r);
    else
        *ret_result = r;
    return e;
}

/* --- what a unit may do --- */

static enum err send_stmt(struct pg_tx *x, enum stmt stmt, const struct pg_params *p,
                          enum pg_want wanted, int64_t expected)
{
    struct pg_expect want = { .want = wanted, .what = stmt_name(stmt), .expected = expected };

    if (!x->conn->db || !pg_send(x->conn, stmt_postgres(stmt), p, want))
        return postgres_tx_lost(x);
    if (wanted == PG_WANT_COUNT)
        x->unchecked = true;
    return OK;
}

static enum err postgres_tx_exec(struct tx *tx, enum stmt stmt, int64_t expected,
                                 const struct val *v, size_t n)
{
    struct pg_tx *x = pg_tx_of(tx);
    struct pg_params p;
    enum err e = x->err ? x->err : pg_params_of(&p, v, n);

    if (!e)
        e = send_stmt(x, stmt, &p, expected < 0 ? PG_WANT_DONE : PG_WANT_COUNT, expected);
    if (!e && pg_is_full(x->conn))
        e = round_trip(x);
    return e;
}

static enum err tx_query(struct pg_tx *x, enum stmt stmt, const struct val *v, size_t n,
                         PGresult **ret)
{
    struct pg_params p;
    enum err e = x->err ? x->err : pg_params_of(&p, v, n);

    if (!e)
        e = send_stmt(x, stmt, &p, PG_WANT_ROWS, 0);
    return e ? e : fetch_result(x, ret);
}

static enum err postgres_tx_row(struct tx *tx, enum stmt stmt, const struct val *v, size_t n,
                                struct row *ret)
{
    struct pg_tx *x = pg_tx_of(tx);
    PGresult *r;
    enum err e = tx_query(x, stmt, v, n, &r);

    if (e)
        return e;
    e = PQntuples(r) ? pg_row(r, 0, &tx->scratch, ret) : ERR_NOT_FOUND;
    PQclear(r);
    return e;
}

static enum err each_of_result(struct pg_tx *x, PGresult *r, tx_each_fn each, void *ctx)
{
    int rows = PQntuples(r);
    enum err e = OK;

    for (int i = 0; !e && i < rows; i++) {
        struct row one;

        e = pg_row(r, i, &x->base.scratch, &one);
        if (!e)
            e = each(ctx, &one);
    }
    PQclear(r);
    return e;
}

static enum err each_row(struct tx *tx, enum stmt stmt, const struct val *v, size_t n,
                         tx_each_fn each, void *ctx)
{
    struct pg_tx *x = pg_tx_of(tx);
    PGresult *r;
    enum err e = tx_query(x, stmt, v, n, &r);

    return e ? e : each_of_result(x, r, each, ctx);
}

static enum err postgres_tx_bulk(struct tx *tx, enum stmt stmt, const struct val *v, size_t rows,
                                 size_t columns, tx_each_fn each, void *ctx)
{
    struct pg_tx *x = pg_tx_of(tx);
    struct pg_params p;
    PGresult *r;
    enum err e = x->err ? x->err : pg_params_bulk(&p, &x->conn->arrays, v, rows, columns);

    if (!e)
        e = send_stmt(x, stmt, &p, each ? PG_WANT_ROWS : PG_WANT_DONE, 0);
    if (x->conn->arrays.size > KEPT_BYTES)
        buf_release(&x->conn->arrays);
    if (!e && !each)
        return pg_is_full(x->conn) ? round_trip(x) : OK;
    if (!e)
        e = fetch_result(x, &r);
    return e ? e : each_of_result(x, r, each, ctx);
}

static const struct tx_ops ops = {
    .exec = postgres_tx_exec, .row = postgres_tx_row, .each = each_row, .bulk = postgres_tx_bulk
};

/* --- begin and end --- */

/* All settings end with the transaction, so that it works behind a pooler. Plans are made once and
 * kept: a plan from when the queue was empty would scan the whole table once it is full, so the
 * planner must use the index (draining 60,000 messages: 8.7k/s without this, 24k/s with it). Where
 * there is no index the estimated cost becomes huge, and the server would compile the statement (40
 * to 120 ms), so jit is off; so are parallel workers, which take as long to start. */
static void write_opening(char text[PG_OPENING], const struct env *env, const char *xid,
                          int lock_ms)
{
    int n = snprintf(text, PG_OPENING,
                     "SELECT %s, (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text,"
                     " current_setting('fsync'), current_setting('full_page_writes'),"
                     " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
                     " WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true),"
                     " set_config('statement_timeout', '%d', true),"
                     " set_config('lock_timeout', '%d', true),"
                     " set_config('enable_seqscan', 'off', true),"
                     " set_config('enable_bitmapscan', 'off', true),"
                     " set_config('jit', 'off', true),"
                     " set_config('max_parallel_workers_per_gather', '0', true),"
                     " set_config('idle_in_transaction_session_timeout', '%d', true)",
                     xid, env_patient_ms(env, LIMIT_DB_MS), lock_ms,
                     env_patient_ms(env, LIMIT_DB_REPLY_MS));

    assert(n > 0 && n < PG_OPENING);
}

void pg_tx_init(struct pg_tx *x, struct env *env, struct pg_conn *conn)
{
    *x = (struct pg_tx){ .conn = conn };
    tx_init(&x->base, &ops, env);
    write_opening(x->opening[PG_WRITES], env, "pg_current_xact_id()::text",
                  env_patient_ms(env, LIMIT_DB_LOCK_MS));
    write_opening(x->opening[PG_HURRIES], env, "pg_current_xact_id()::text",
                  env_patient_ms(env, LIMIT_DB_HURRY_MS));
    write_opening(x->opening[PG_READS], env, "''", env_patient_ms(env, LIMIT_DB_LOCK_MS));
}

void pg_tx_release(struct pg_tx *x)
{
    tx_release(&x->base);
}

static bool send_plain(struct pg_tx *x, const char *sql, enum pg_want wanted)
{
    return pg_send(x->conn, sql, NULL, (struct pg_expect){ .want = wanted, .what = sql });
}

/* A reader sees one snapshot, as on SQLite. A writer sees what other transactions committed
 * meanwhile: its conditional UPDATEs and their row counts decide races. */
static bool send_begin(struct pg_tx *x)
{
    const char *begin = x->mode == PG_READS ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
                                            : "BEGIN ISOLATION LEVEL READ COMMITTED";

    return send_plain(x, begin, PG_WANT_DONE) &&
           send_plain(x, x->opening[x->mode], PG_WANT_OPENING);
}

void pg_tx_begin(struct pg_tx *x, enum pg_mode mode)
{
    tx_drop_hooks(&x->base, 0);
    tx_unit_begins(&x->base);
    arena_release(&x->base.scratch);
    x->mode = mode;
    x->unchecked = false;
    x->xid[0] = '\0';
    x->unsafe = NULL;
    x->server_ms = 0;
    x->asked_us = clock_mono_us(&x->base.env->clock);
    x->trouble = PG_FINE;
    x->err = OK;
    if (!x->conn->db || !send_begin(x))
        (void)postgres_tx_lost(x);
}

static bool take_all(struct pg_conn *c)
{
    while (c->count) {
        struct pg_expect want;
        PGresult *r;

        if (!pg_take(c, &want, &r))
            return false;
        PQclear(r);
    }
    return true;
}

/* After a failure the server skips everything up to the next sync, so ROLLBACK is sent after one. */
static bool send_rollback(struct pg_tx *x)
{
    struct pg_conn *c = x->conn;

    return pg_flush(c) && send_plain(x, "ROLLBACK", PG_WANT_DONE) && pg_flush(c) && take_all(c) &&
           PQtransactionStatus(c->db) == PQTRANS_IDLE;
}

static enum pg_end tx_roll_back(struct pg_tx *x)
{
    if (x->trouble == PG_GONE) {
        pg_close(x->conn);
        return PG_LOST;
    }
    if (!send_rollback(x)) /* nothing was committed, so the verdict stays */
        pg_close(x->conn);
    return x->trouble == PG_FAILED || x->trouble == PG_UNSAFE ? PG_ROLLED_BACK : PG_RUN_AGAIN;
}

static enum pg_end in_doubt(struct pg_tx *x)
{
    pg_close(x->conn);
    return x->mode == PG_READS ? PG_LOST : PG_IN_DOUBT;
}

static bool send_commit(struct pg_tx *x)
{
    struct faults *f = &x->base.env->faults;

    if (fault_point(f, "pg.commit_unsent"))
        pg_cut(x->conn);
    if (!send_plain(x, "COMMIT", PG_WANT_COMMIT) || !pg_flush(x->conn))
        return false;
    if (fault_point(f, "pg.after_commit_sent"))
        pg_cut(x->conn);
    return true;
}

/* A failure here may be that of an earlier statement; then the server has skipped COMMIT. */
static enum pg_end read_commit(struct pg_tx *x)
{
    for (;;) {
        struct pg_expect want;
        PGresult *r;
        bool done;

        if (!pg_take(x->conn, &want, &r))
            return in_doubt(x);
        done = !check_result(x, &want, r) && want.want == PG_WANT_COMMIT;
        if (done && strcmp(PQcmdStatus(r), "COMMIT") != 0)
            (void)fail_with(x, PG_FAILED, ERR_INTERNAL);
        PQclear(r);
        if (x->trouble == PG_GONE)
            return in_doubt(x);
        if (x->err)
            return tx_roll_back(x);
        if (done)
            break;
    }
    if (!take_all(x->conn))
        pg_close(x->conn); /* the transaction is committed nevertheless */
    return PG_COMMITTED;
}

static enum pg_end tx_commit(struct pg_tx *x)
{
    if (x->unchecked || (x->mode != PG_READS && !x->xid[0]))
        (void)round_trip(x);
    if (!x->err && fault_point(&x->base.env->faults, "pg.before_commit")) {
        pg_cut(x->conn);
        (void)postgres_tx_lost(x);
    }
    if (x->err)
        return tx_roll_back(x);
    return send_commit(x) ? read_commit(x) : in_doubt(x);
}

enum pg_end pg_tx_end(struct pg_tx *x, enum err verdict)
{
    if (!verdict && !x->err)
        return tx_commit(x);
    if (!x->err)
        (void)fail_with(x, PG_FAILED, verdict);
    else if (verdict && x->trouble == PG_FAILED)
        x->err = verdict; /* the unit translated the failure into its own error */
    return tx_roll_back(x);
}
