/* conn.c - one connection to PostgreSQL: connecting, waiting with a deadline, the pipeline.
 *
 *   (1) libpq is in non-blocking mode; the only blocking call is poll(), until the deadline.
 *   (2) `queue` holds one entry for each result that is still to come, in the order of sending.
 *   (3) While output is flushed input is read too, or both sides could wait with full buffers.
 *
 * A crash leaves nothing: the server rolls back an open transaction. */
#include "store/postgres/conn.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void ignore_notice(void *ctx, const char *message)
{
    (void)ctx;
    (void)message; /* libpq would print notices */
}

void pg_init(struct pg_conn *c, struct env *env, const char *url, _Atomic bool *unnamed)
{
    *c = (struct pg_conn){ .env = env, .url = url, .unnamed = unnamed, .cut_fd = -1 };
    buf_init(&c->arrays, LIMIT_DB_STATEMENT_BYTES);
}

void pg_release(struct pg_conn *c)
{
    pg_close(c);
    buf_release(&c->arrays);
}

void pg_close(struct pg_conn *c)
{
    PQfinish(c->db);
    c->db = NULL;
    if (c->cut_fd >= 0)
        close(c->cut_fd);
    c->cut_fd = -1;
    c->first = c->count = c->sent_bytes = c->name_count = 0;
}

/* Puts an unconnected socket in the place of ours, so that an answer that is under way can never be
 * read. Our socket stays open until pg_close(), so that the server receives all that was sent. */
void pg_cut(struct pg_conn *c)
{
    int fd = c->db ? PQsocket(c->db) : -1, dead[2];

    if (fd < 0 || c->cut_fd >= 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, dead))
        return;
    c->cut_fd = dup(fd);
    dup2(dead[0], fd);
    close(dead[0]);
    close(dead[1]);
}

/* --- waiting --- */

static void conn_start_deadline(struct pg_conn *c, int64_t wait_ms)
{
    c->deadline_ms = clock_mono_ms(&c->env->clock) + wait_ms;
}

/* Returns what the socket is ready for; 0: nothing before the deadline. */
static short conn_poll(struct pg_conn *c, short events)
{
    struct pollfd p = { .fd = PQsocket(c->db), .events = events };
    int64_t left = c->deadline_ms - clock_mono_ms(&c->env->clock);
    int n;

    if (p.fd < 0 || left <= 0)
        return 0;
    do
        n = poll(&p, 1, (int)left);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return 0;
    return p.revents;
}

static bool conn_read(struct pg_conn *c)
{
    PGnotify *stray;

    if (!PQconsumeInput(c->db))
        return false;
    while (!c->listens &&
           (stray = PQnotifies(c->db))) /* another client of the same pooled session listens */
        PQfreemem(stray);
    return true;
}

static bool conn_flush(struct pg_conn *c)
{
    for (;;) {
        int rest = PQflush(c->db);
        short ready;

        if (rest <= 0)
            return rest == 0;
        ready = conn_poll(c, POLLIN | POLLOUT);
        if (!ready)
            return false;
        if ((ready & POLLIN) && !conn_read(c)) /* or both sides could wait with full buffers */
            return false;
    }
}

static bool conn_await_result(struct pg_conn *c)
{
    while (PQisBusy(c->db))
        if (!conn_poll(c, POLLIN) || !conn_read(c))
            return false;
    return true;
}

/* --- connecting --- */

static const char *conn_option(const PQconninfoOption *options, const char *name)
{
    for (; options && options->keyword; options++)
        if (!strcmp(options->keyword, name))
            return options->val && *options->val ? options->val : NULL;
    return NULL;
}

/* Sets c->why to the first line of libpq's message, or to "refused" if that contains the password.
 */
static void conn_explain(struct pg_conn *c, const char *message)
{
    PQconninfoOption *options = PQconninfo(c->db);
    const char *password = conn_option(options, "password");
    const char *end = strchrnul(message, '\n');
    const char *database = PQdb(c->db), *host = PQhost(c->db), *port = PQport(c->db);
    char line[120];

    snprintf(line, sizeof(line), "%.*s", (int)(end - message), message);
    if (password && strstr(line, password))
        snprintf(line, sizeof(line), "refused");
    if (strstr(line, "connection to server")) /* the message names host and port itself */
        snprintf(c->why, sizeof(c->why), "database %.40s: %s", database ? database : "?", line);
    else
        snprintf(c->why, sizeof(c->why), "database %.40s on %.40s:%.8s: %s",
                 database ? database : "?", host ? host : "?", port ? port : "?", line);
    PQconninfoFree(options);
}

static bool conn_give_up(struct pg_conn *c, const char *why)
{
    conn_explain(c, why ? why : PQerrorMessage(c->db));
    pg_close(c);
    return false;
}

static PGconn *conn_start(struct pg_conn *c)
{
    static const char *const names[] = { "fallback_application_name", "dbname", "client_encoding",
                                         NULL };
    const char *const values[] = { "ichido", c->url, "UTF8", NULL };

    return PQconnectStartParams(names, values, 1);
}

/* libpq cuts a password at an unescaped '/' or '@', and takes the rest of it for the port or the
 * database's name, which we would print. */
static bool url_looks_cut(const PQconninfoOption *options)
{
    const char *port = conn_option(options, "port"), *database = conn_option(options, "dbname");

    return (port && strspn(port, "0123456789,") != strlen(port)) ||
           (database && strchr(database, '@'));
}

/* Where libpq cannot parse the url its message repeats all of it, with the password. So the url is
 * parsed here first, and libpq's message is not used. */
bool pg_url_is_readable(struct pg_conn *c)
{
    bool readable;
    char *error = NULL;
    PQconninfoOption *options = PQconninfoParse(c->url, &error);

    readable = options && !url_looks_cut(options);
    if (!readable)
        snprintf(c->why, sizeof(c->why),
                 "ICHIDO_DB is not an address that libpq can read; in a password, write / as %%2F, "
                 "@ as %%40 and : as %%3A");
    PQconninfoFree(options);
    PQfreemem(error);
    return readable;
}

bool pg_open(struct pg_conn *c, int64_t wait_ms)
{
    assert(!c->db);
    conn_start_deadline(c, wait_ms);
    c->db = conn_start(c);
    if (!c->db) {
        snprintf(c->why, sizeof(c->why), "out of memory");
        return false;
    }
    PQsetNoticeProcessor(c->db, ignore_notice, NULL);
    if (PQstatus(c->db) == CONNECTION_BAD)
        return conn_give_up(c, NULL);
    for (PostgresPollingStatusType s = PGRES_POLLING_WRITING; s != PGRES_POLLING_OK;) {
        if (!conn_poll(c, s == PGRES_POLLING_READING ? POLLIN : POLLOUT))
            return conn_give_up(c, "no answer in time");
        s = PQconnectPoll(c->db);
        if (s == PGRES_POLLING_FAILED)
            return conn_give_up(c, NULL);
    }
    return PQsetnonblocking(c->db, 1) == 0 || conn_give_up(c, NULL);
}

/* --- one query --- */

static PGresult *query_result(struct pg_conn *c)
{
    PGresult *last = NULL;

    for (;;) {
        PGresult *r;

        if (!conn_await_result(c)) {
            PQclear(last);
            return NULL;
        }
        r = PQgetResult(c->db);
        if (!r)
            return last;
        if (last && PQresultStatus(last) == PGRES_FATAL_ERROR) {
            PQclear(r); /* the first failure is reported */
            continue;
        }
        PQclear(last);
        last = r;
    }
}

PGresult *pg_query(struct pg_conn *c, const char *sql, const struct pg_params *p, int64_t wait_ms)
{
    PGresult *r;
    int sent;

    if (PQpipelineStatus(c->db) != PQ_PIPELINE_OFF && !PQexitPipelineMode(c->db))
        return NULL;
    conn_start_deadline(c, wait_ms);
    sent =
        p ? PQsendQueryParams(c->db, sql, p->count, p->types, p->values, p->lengths, p->formats, 0)
          : PQsendQuery(c->db, sql);
    if (!sent || !conn_flush(c))
        return NULL;
    r = query_result(c);
    if (r && PQstatus(c->db) == CONNECTION_BAD) {
        PQclear(r);
        return NULL;
    }
    return r;
}

/* --- the pipeline --- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * 0x100000001b3; /* FNV-1a */
    return hash;
}

/* The name is a hash of the statement's text and types. So behind a pooler that shares sessions, a
 * statement of this name is the same one, whichever version of this program prepared it. */
static uint64_t statement_name(const char *sql, const struct pg_params *p)
{
    uint64_t hash = hash_bytes(0xcbf29ce484222325, sql, strlen(sql));

    return p ? hash_bytes(hash, p->types, (size_t)p->count * sizeof(p->types[0])) : hash;
}

static bool conn_is_prepared(const struct pg_conn *c, uint64_t name)
{
    for (size_t i = 0; i < c->name_count; i++)
        if (c->names[i] == name)
            return true;
    return false;
}

static void conn_forget_name(struct pg_conn *c, uint64_t name)
{
    for (size_t i = 0; i < c->name_count; i++)
        if (c->names[i] == name) {
            c->names[i] = c->names[--c->name_count];
            return;
        }
}

static void conn_expect(struct pg_conn *c, struct pg_expect want)
{
    assert(c->count < COUNT(c->queue));
    c->queue[(c->first + c->count) % COUNT(c->queue)] = want;
    c->count++;
}

static bool conn_prepare(struct pg_conn *c, uint64_t name, const char *text, const char *sql,
                         const struct pg_params *p, const char *what)
{
    if (!PQsendPrepare(c->db, text, sql, p->count, p->types))
        return false;
    conn_expect(c, (struct pg_expect){ .want = PG_WANT_PREPARED, .what = what, .name = name });
    c->names[c->name_count++] = name;
    return true;
}

static bool send_named(struct pg_conn *c, uint64_t name, const char *sql, const struct pg_params *p,
                       const char *what)
{
    char text[32];

    snprintf(text, sizeof(text), "ichido_%016llx", (unsigned long long)name);
    return (conn_is_prepared(c, name) || conn_prepare(c, name, text, sql, p, what)) &&
           PQsendQueryPrepared(c->db, text, p->count, p->values, p->lengths, p->formats, 1);
}

static bool send_unnamed(struct pg_conn *c, const char *sql, const struct pg_params *p)
{
    return PQsendQueryParams(c->db, sql, p->count, p->types, p->values, p->lengths, p->formats, 1);
}

bool pg_send(struct pg_conn *c, const char *sql, const struct pg_params *p, struct pg_expect want)
{
    static const struct pg_params none;
    uint64_t name;
    bool sent;

    if (PQpipelineStatus(c->db) == PQ_PIPELINE_OFF && !PQenterPipelineMode(c->db))
        return false;
    p = p ? p : &none;
    name = statement_name(sql, p);
    if (atomic_load(c->unnamed) || (c->name_count == COUNT(c->names) && !conn_is_prepared(c, name)))
        sent = send_unnamed(c, sql, p);
    else
        sent = send_named(c, name, sql, p, want.what);
    if (!sent)
        return false;
    conn_expect(c, want);
    c->sent_bytes += pg_params_bytes(p) + 64;
    return true;
}

bool pg_is_full(const struct pg_conn *c)
{
    return c->count + 2 > LIMIT_DB_PIPELINE || c->sent_bytes > LIMIT_DB_PIPELINE_BYTES;
}

static bool ends_with_sync(const struct pg_conn *c)
{
    return c->count && c->queue[(c->first + c->count - 1) % COUNT(c->queue)].want == PG_WANT_SYNC;
}

/* A sync and not only a flush: until it arrives the server's session is not idle, and the timeout
 * for idle transactions would not release our locks if this process died. */
bool pg_flush(struct pg_conn *c)
{
    conn_start_deadline(c, env_patient_ms(c->env, LIMIT_DB_REPLY_MS));
    if (!ends_with_sync(c)) {
        if (PQpipelineStatus(c->db) == PQ_PIPELINE_OFF || !PQpipelineSync(c->db))
            return false;
        conn_expect(c, (struct pg_expect){ .want = PG_WANT_SYNC, .what = "sync" });
    }
    return conn_flush(c);
}

/* libpq returns NULL between the results of two statements, in some places more than once. */
static PGresult *conn_next_result(struct pg_conn *c)
{
    for (int nulls = 0; nulls < 3; nulls++) {
        PGresult *r;

        if (!conn_await_result(c))
            return NULL;
        r = PQgetResult(c->db);
        if (r)
            return r;
    }
    return NULL;
}

bool pg_take(struct pg_conn *c, struct pg_expect *ret_want, PGresult **ret_result)
{
    struct pg_expect want;
    PGresult *r;

    assert(c->count);
    r = conn_next_result(c);
    if (!r)
        return false;
    want = c->queue[c->first];
    c->first = (c->first + 1) % COUNT(c->queue);
    if (!--c->count)
        c->sent_bytes = 0;
    if (want.want == PG_WANT_PREPARED && PQresultStatus(r) != PGRES_COMMAND_OK)
        conn_forget_name(c, want.name);
    *ret_want = want;
    *ret_result = r;
    return true;
}
