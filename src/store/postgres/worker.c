/* worker.c - runs units until each has a true verdict.
 *
 *   run -- committed -------------------------------------------> hooks, executor
 *    ^  -- rolled back, the unit failed ------------------------> executor (a bulk: each alone)
 *    +--- conflict with another transaction (40001, 40P01; 55P03: a bulk: each alone)
 *    +--- connection lost, COMMIT not sent
 *    |                   COMMIT sent --> ask pg_xact_status(xid) -- committed --> hooks, executor
 *    +---------------------------------------- aborted, too old       |
 *                                                                  no answer --> UNCERTAIN
 *
 * A unit is run again at most LIMIT_RERUNS times. That is harmless even if it was committed after
 * all: its ids were made before it, so it collides with its own rows (M1).
 *
 * The units of a bulk that failed are each run alone, and wait only briefly for a lock: a blocked
 * unit ends with TIMEOUT, and the units behind it are run. A crash leaves no state here. */
#include "store/postgres/worker.h"

#include "observe/log.h"
#include "observe/metrics.h"
#include "store/postgres/server.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>

enum { FIRST_NAP_MS = 10 };

void pg_worker_init(struct pg_worker *w, struct pg_shared *shared)
{
    *w = (struct pg_worker){ .shared = shared, .delay_ms = LIMIT_DB_RETRY_FIRST_MS };
    pg_init(&w->conn, shared->env, shared->url, &shared->unnamed);
    pg_tx_init(&w->tx, shared->env, &w->conn);
}

static void count_connected(struct pg_worker *w)
{
    bool connected = w->conn.db != NULL;

    if (connected != w->counted)
        atomic_fetch_add(&w->shared->connected, connected ? 1 : -1);
    w->counted = connected;
}

void pg_worker_release(struct pg_worker *w)
{
    pg_tx_release(&w->tx);
    pg_release(&w->conn);
    count_connected(w);
}

enum err pg_worker_connect(struct pg_worker *w)
{
    enum err e = pg_connect(&w->conn);

    count_connected(w);
    return e;
}

static int64_t now_ms(const struct pg_worker *w)
{
    return clock_mono_ms(&w->shared->env->clock);
}

/* Sleeps, twice as long each time, but not beyond until_ms. False: that time has come. */
static bool worker_nap(struct pg_worker *w, int64_t until_ms, int *length_ms)
{
    int64_t left = until_ms - now_ms(w);

    if (left <= 0)
        return false;
    poll(NULL, 0, *length_ms < left ? *length_ms : (int)left);
    *length_ms *= 2;
    return true;
}

static bool worker_reconnect(struct pg_worker *w)
{
    int64_t until_ms = now_ms(w) + LIMIT_STORE_WAIT_MS;
    int length_ms = FIRST_NAP_MS;

    w->shared->stand_aside(w);
    do
        if (w->conn.db || pg_worker_connect(w) == OK)
            return true;
    while (worker_nap(w, until_ms, &length_ms));
    return false;
}

/* Asks what became of the commit: COMMITTED, LOST (it did not happen) or still IN_DOUBT. */
static enum pg_end find_commit_result(struct pg_worker *w)
{
    int64_t until_ms = now_ms(w) + env_patient_ms(w->conn.env, LIMIT_DB_ASK_MS);
    int length_ms = FIRST_NAP_MS;
    char life[sizeof(w->conn.life)];

    memcpy(life, w->conn.life, sizeof(life)); /* the next connect overwrites it */
    count_connected(w);
    w->shared->stand_aside(w);
    do {
        enum pg_fate fate = PG_FATE_LATER;

        if (w->conn.db || pg_worker_connect(w) == OK)
            fate = pg_ask_fate(&w->conn, w->tx.xid, life);
        if (fate == PG_FATE_COMMITTED)
            return PG_COMMITTED;
        if (fate == PG_FATE_ABORTED)
            return PG_LOST;
        if (fate == PG_FATE_UNKNOWN)
            return PG_IN_DOUBT;
    } while (worker_nap(w, until_ms, &length_ms));
    return PG_IN_DOUBT;
}

/* --- what a unit's opening query reported --- */

static void follow_clock(struct pg_worker *w)
{
    const struct pg_tx *x = &w->tx;
    int64_t last_us = atomic_load(&w->shared->clock_us);

    if (x->server_ms && x->answered_us - last_us >= LIMIT_DB_CLOCK_MS * 1000 &&
        atomic_compare_exchange_strong(&w->shared->clock_us, &last_us, x->answered_us))
        pg_follow_clock(&w->shared->env->clock, x->server_ms, x->asked_us, x->answered_us);
}

static void note_safety(struct pg_worker *w)
{
    bool unsafe = w->tx.unsafe != NULL;
    struct log *log = w->shared->env->log;

    if (!w->tx.xid[0] || atomic_exchange(&w->shared->unsafe, unsafe) == unsafe || !log)
        return;
    if (unsafe)
        LOG(log, LOG_ERROR, "store.unsafe", LOG_TEXT("why", str_of(w->tx.unsafe)));
    else
        LOG(log, LOG_INFO, "store.safe", LOG_TEXT("why", S("the PostgreSQL server fsyncs again")));
}

/* --- running --- */

static enum pg_end run_once(struct pg_worker *w, struct unit **units, size_t n, enum pg_mode mode)
{
    const struct unit_kind *kind = units[0]->kind;
    struct env *env = w->shared->env;
    int64_t began_us;
    enum pg_end end;
    enum err e;

    for (size_t i = 0; i < n; i++)
        unit_begin(units[i]);
    pg_tx_begin(&w->tx, kind->where == UNIT_READ ? PG_READS : mode);
    e = n == 1 ? kind->run(&w->tx.base, units[0]) : kind->run_many(&w->tx.base, units, n);
    began_us = clock_mono_us(&env->clock);
    end = pg_tx_end(&w->tx, e);
    follow_clock(w);
    note_safety(w);
    if (end == PG_COMMITTED && env->metrics && kind->where != UNIT_READ)
        metrics_time(env->metrics, TIME_COMMIT, clock_mono_us(&env->clock) - began_us);
    if (end == PG_IN_DOUBT)
        end = find_commit_result(w);
    return end;
}

/* OK: committed. Any other verdict except UNCERTAIN: nothing was committed. */
static enum err run_until_decided(struct pg_worker *w, struct unit **units, size_t n,
                                  enum pg_mode mode)
{
    for (int reruns = 0;; reruns++) {
        if (!w->conn.db && !worker_reconnect(w))
            return ERR_UNAVAILABLE;
        switch (run_once(w, units, n, mode)) {
        case PG_COMMITTED: return OK;
        case PG_ROLLED_BACK: return w->tx.err;
        case PG_IN_DOUBT: return ERR_UNCERTAIN;
        case PG_RUN_AGAIN:
        case PG_LOST: break;
        }
        count_connected(w);
        if (w->tx.trouble == PG_BLOCKED && (n > 1 || mode == PG_HURRIES))
            return w->tx.err;
        if (reruns == LIMIT_RERUNS) /* a commit that was lost each time has no err of its own */
            return w->tx.err ? w->tx.err : ERR_UNAVAILABLE;
    }
}

static void count_units(struct pg_worker *w, enum err verdict, size_t n, bool reads)
{
    struct pg_shared *s = w->shared;
    bool failed = verdict == ERR_UNAVAILABLE || verdict == ERR_UNCERTAIN ||
                  verdict == ERR_STORE_FULL || verdict == ERR_TIMEOUT;

    atomic_fetch_add(&s->units, (int64_t)n);
    if (!verdict && !reads) {
        atomic_fetch_add(&s->commits, 1);
        atomic_store(&s->full, false);
    }
    if (verdict == ERR_STORE_FULL && !reads)
        atomic_store(&s->full, true);
    if (!s->env->metrics)
        return;
    metrics_count(s->env->metrics, COUNT_UNITS, (int64_t)n);
    if (!verdict && !reads)
        metrics_count(s->env->metrics, COUNT_COMMITS, 1);
    if (failed)
        metrics_count(s->env->metrics, COUNT_STORE_ERRORS, (int64_t)n);
}

/* A failure of the database would repeat for each unit. A unit may also return UNAVAILABLE for a
 * reason of its own, such as data that does not exist yet. */
static bool would_help_alone(const struct pg_worker *w, enum err e)
{
    if (e == ERR_UNAVAILABLE)
        return w->conn.db && !tx_trouble(&w->tx.base);
    return e != ERR_UNCERTAIN && e != ERR_STORE_FULL;
}

static enum err run_alone(struct pg_worker *w, struct unit *u, enum pg_mode mode)
{
    bool reads = u->kind->where == UNIT_READ;
    enum err verdict = run_until_decided(w, &u, 1, mode);

    count_units(w, verdict, 1, reads);
    if (!verdict)
        tx_run_hooks(&w->tx.base);
    unit_complete(u, verdict);
    return verdict;
}

/* The units began in time, so their age does not count; but requests wait for foreground units, so
 * those left after LIMIT_DB_ALONE_MS end with TIMEOUT. */
static void run_each_alone(struct pg_worker *w, struct unit **units, size_t n)
{
    bool waits = units[0]->kind->where != UNIT_BACK;
    int64_t until_ms = now_ms(w) + env_patient_ms(w->conn.env, LIMIT_DB_ALONE_MS);
    enum err given_up = OK;

    w->shared->stand_aside(w);
    for (size_t i = 0; i < n; i++) {
        if (!given_up && waits && now_ms(w) >= until_ms)
            given_up = ERR_TIMEOUT;
        if (given_up) {
            count_units(w, given_up, 1, units[i]->kind->where == UNIT_READ);
            unit_complete(units[i], given_up);
        } else if (run_alone(w, units[i], PG_HURRIES) == ERR_UNAVAILABLE && !w->conn.db) {
            given_up = ERR_UNAVAILABLE; /* the server is not reachable for the others either */
        }
    }
}

static void run_bulk(struct pg_worker *w, struct unit **units, size_t n)
{
    enum err verdict = run_until_decided(w, units, n, PG_WRITES);

    if (verdict && would_help_alone(w, verdict)) {
        run_each_alone(w, units, n);
        return;
    }
    count_units(w, verdict, n, units[0]->kind->where == UNIT_READ);
    if (!verdict)
        tx_run_hooks(&w->tx.base);
    for (size_t i = 0; i < n; i++)
        unit_complete(units[i], verdict ? verdict : units[i]->err);
}

void pg_worker_run(struct pg_worker *w, struct unit **units, size_t n)
{
    if (n == 1)
        (void)run_alone(w, units[0], PG_WRITES);
    else
        run_bulk(w, units, n);
    count_connected(w);
}
