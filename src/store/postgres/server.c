/* server.c - see server.h.
 *
 *   (1) A server that could lose a confirmed commit is not used (fsync, full_page_writes and
 *       synchronous_commit must not be off).
 *   (2) "committed" counts only from the server in the same life; see read_fate(). */
#include "store/postgres/server.h"

#include "base/str.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_SERVER = 140000, CLOCK_TOLERANCE_MS = 50 };

enum server_column { VERSION, FSYNC, PAGES, COMMIT, ENCODING, STANDBY, NOW, LIFE, COLUMNS };

/* The server resets its statistics when it starts after a crash, and only then. So the time of that
 * reset names one life of the server. (pg_postmaster_start_time does not change when a backend
 * crashes.) */
static const char question[] =
    "SELECT current_setting('server_version_num'), current_setting('fsync'),"
    " current_setting('full_page_writes'), current_setting('synchronous_commit'),"
    " current_setting('server_encoding'), pg_is_in_recovery(),"
    " (extract(epoch FROM clock_timestamp()) * 1000)::bigint,"
    " coalesce(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time())::text, '')";

static bool column_is(const PGresult *r, enum server_column column, const char *word)
{
    return !strcmp(PQgetvalue(r, 0, (int)column), word);
}

static enum err server_reject(struct pg_conn *c, const char *what, const char *do_this)
{
    snprintf(c->why, sizeof(c->why), "PostgreSQL has %.30s: %.150s", what, do_this);
    return ERR_VALIDATION;
}

static enum err check_settings(struct pg_conn *c, const PGresult *r)
{
    const char *lossy = "a crash could lose payments that were confirmed; turn it on";

    if (pg_number(PQgetvalue(r, 0, VERSION)) < OLDEST_SERVER)
        return server_reject(c, "an old version", "14 or newer is needed");
    if (column_is(r, FSYNC, "off"))
        return server_reject(c, "fsync=off", lossy);
    if (column_is(r, PAGES, "off"))
        return server_reject(c, "full_page_writes=off", lossy);
    if (column_is(r, COMMIT, "off"))
        return server_reject(c, "synchronous_commit=off", lossy);
    if (!column_is(r, ENCODING, "UTF8"))
        return server_reject(c, "a database that is not UTF8", "create it with ENCODING 'UTF8'");
    if (column_is(r, STANDBY, "t")) {
        snprintf(c->why, sizeof(c->why), "the server is a read-only standby");
        return ERR_UNAVAILABLE;
    }
    return OK;
}

/* Small differences are measurement noise: they are ignored, so that the clock is not corrected each
 * time. */
void pg_follow_clock(struct clock *clock, int64_t server_ms, int64_t asked_us, int64_t answered_us)
{
    int64_t trip_us = answered_us - asked_us;

    clock_follow(clock, server_ms, asked_us + trip_us / 2, CLOCK_TOLERANCE_MS + trip_us / 2000);
}

static enum err check_server(struct pg_conn *c)
{
    int64_t asked_us = clock_mono_us(&c->env->clock);
    PGresult *r = pg_query(c, question, NULL, env_patient_ms(c->env, LIMIT_DB_REPLY_MS));
    enum err e = ERR_UNAVAILABLE;

    if (r && PQresultStatus(r) == PGRES_TUPLES_OK && PQnfields(r) == COLUMNS) {
        pg_follow_clock(&c->env->clock, pg_number(PQgetvalue(r, 0, NOW)), asked_us,
                        clock_mono_us(&c->env->clock));
        snprintf(c->life, sizeof(c->life), "%.39s", PQgetvalue(r, 0, LIFE));
        e = check_settings(c, r);
    } else {
        const char *words = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;

        snprintf(c->why, sizeof(c->why), "the server does not answer: %.100s",
                 words ? words : "the connection was lost");
    }
    PQclear(r);
    return e;
}

enum err pg_connect(struct pg_conn *c)
{
    enum err e;

    if (!pg_open(c, env_patient_ms(c->env, LIMIT_DB_CONNECT_MS)))
        return ERR_UNAVAILABLE;
    e = check_server(c);
    if (e)
        pg_close(c);
    return e;
}

/* After a crash the server assigns transaction ids again that never reached the disk. So "committed"
 * from a server in a later life may describe another transaction; any other answer is reliable. */
static enum pg_fate read_fate(const struct pg_conn *c, const PGresult *r, const char *life)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

    if (PQresultStatus(r) != PGRES_TUPLES_OK) /* 22023: this life never assigned the id */
        return state && !strcmp(state, "22023") ? PG_FATE_ABORTED : PG_FATE_UNKNOWN;
    if (PQgetisnull(r, 0, 0))
        return PG_FATE_ABORTED;
    if (!strcmp(PQgetvalue(r, 0, 0), "committed"))
        return strcmp(c->life, life) == 0 ? PG_FATE_COMMITTED : PG_FATE_UNKNOWN;
    return !strcmp(PQgetvalue(r, 0, 0), "aborted") ? PG_FATE_ABORTED : PG_FATE_LATER;
}

enum pg_fate pg_ask_fate(struct pg_conn *c, const char *xid, const char *life)
{
    struct val v = V_TEXT(str_of(xid));
    struct pg_params p;
    enum pg_fate fate;
    PGresult *r;

    if (fault_point(&c->env->faults, "pg.ask") || pg_params_of(&p, &v, 1))
        return PG_FATE_UNKNOWN;
    r = pg_query(c, "SELECT pg_xact_status($1::text::xid8)", &p,
                 env_patient_ms(c->env, LIMIT_DB_REPLY_MS));
    if (!r) {
        pg_close(c);
        return PG_FATE_LATER;
    }
    fate = read_fate(c, r, life);
    PQclear(r);
    return fate;
}
