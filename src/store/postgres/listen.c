/* listen.c - the thread pg-listen: receives hints from other nodes and sends ours.
 *
 *   (1) A node ignores its own notifications: the payload is the sender's node id.
 *   (2) After each connect the node takes a hint for granted, since one may have been lost.
 *   (3) It sends at most one NOTIFY in LIMIT_HINT_MS.
 *
 * A crash may lose a hint; the queue's fetch every LIMIT_POLL_MS covers that (M12). */
#include "store/postgres/listen.h"

#include "base/env.h"
#include "base/thread.h"
#include "observe/log.h"
#include "store/postgres/server.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct pg_listener {
    struct env *env;
    void (*hint)(void *ctx);
    void *hint_ctx;
    struct pg_conn conn;
    char node[UUID_TEXT + 1];
    int wake; /* eventfd */
    _Atomic bool wanted, stopping;
    int64_t sent_ms, retry_ms, delay_ms;
    bool logged;
    pthread_t thread;
};

static int64_t now_ms(const struct pg_listener *l)
{
    return clock_mono_ms(&l->env->clock);
}

static void listen_wake(struct pg_listener *l)
{
    (void)eventfd_write(l->wake, 1);
}

void pg_listener_notify(struct pg_listener *l)
{
    if (!atomic_exchange(&l->wanted, true))
        listen_wake(l);
}

static void listen_pass_hint(struct pg_listener *l)
{
    if (l->hint)
        l->hint(l->hint_ctx);
}

static void log_no_hints(struct pg_listener *l)
{
    if (!l->logged && l->env->log)
        LOG(l->env->log, LOG_WARN, "store.no_hints", LOG_TEXT("why", str_of(l->conn.why)));
    l->logged = true;
}

static bool listen_query(struct pg_listener *l, const char *sql)
{
    PGresult *r = pg_query(&l->conn, sql, NULL, env_patient_ms(l->env, LIMIT_DB_REPLY_MS));
    bool fine = r && PQresultStatus(r) != PGRES_FATAL_ERROR;

    if (r && !fine)
        snprintf(l->conn.why, sizeof(l->conn.why), "%.100s",
                 PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY));
    PQclear(r);
    return fine;
}

static void listen_disconnect(struct pg_listener *l)
{
    pg_close(&l->conn);
    l->retry_ms = now_ms(l) + l->delay_ms;
    l->delay_ms =
        l->delay_ms * 2 < LIMIT_DB_RETRY_MOST_MS ? l->delay_ms * 2 : LIMIT_DB_RETRY_MOST_MS;
}

static void listen_connect(struct pg_listener *l)
{
    if (now_ms(l) < l->retry_ms)
        return;
    if (pg_connect(&l->conn) || !listen_query(l, "LISTEN ichido_queue")) {
        log_no_hints(l);
        listen_disconnect(l);
        return;
    }
    l->delay_ms = LIMIT_DB_RETRY_FIRST_MS;
    l->logged = false;
    listen_pass_hint(l); /* hints sent while we were not connected are lost */
}

static void listen_send_hint(struct pg_listener *l)
{
    char sql[80];

    atomic_store(&l->wanted, false);
    snprintf(sql, sizeof(sql), "NOTIFY ichido_queue, '%s'", l->node);
    if (!listen_query(l, sql))
        listen_disconnect(l);
    l->sent_ms = now_ms(l);
}

/* Milliseconds until the next action; -1: none is planned. */
static int listen_wait_ms(const struct pg_listener *l)
{
    int64_t until;

    if (!l->conn.db)
        until = l->retry_ms;
    else if (atomic_load(&l->wanted))
        until = l->sent_ms + LIMIT_HINT_MS;
    else
        return -1;
    return until > now_ms(l) ? (int)(until - now_ms(l)) : 0;
}

static void listen_wait(struct pg_listener *l)
{
    struct pollfd p[2] = { { .fd = l->wake, .events = POLLIN }, { .fd = -1, .events = POLLIN } };
    eventfd_t ignored;

    if (l->conn.db)
        p[1].fd = PQsocket(l->conn.db);
    if (poll(p, 2, listen_wait_ms(l)) <= 0)
        return;
    if (p[0].revents)
        (void)eventfd_read(l->wake, &ignored);
    if (p[1].revents && !PQconsumeInput(l->conn.db))
        listen_disconnect(l);
}

static void listen_receive(struct pg_listener *l)
{
    bool others = false;
    PGnotify *n;

    while ((n = PQnotifies(l->conn.db))) {
        others = others || strcmp(n->extra, l->node) != 0;
        PQfreemem(n);
    }
    if (others)
        listen_pass_hint(l);
}

static void *listen_thread(void *arg)
{
    struct pg_listener *l = arg;

    while (!atomic_load(&l->stopping)) {
        if (!l->conn.db)
            listen_connect(l);
        else if (atomic_load(&l->wanted) && now_ms(l) >= l->sent_ms + LIMIT_HINT_MS)
            listen_send_hint(l);
        /* Before the wait: a notification that arrived with a reply is already in libpq's buffer, so
         * poll() would not report it. */
        if (l->conn.db)
            listen_receive(l);
        listen_wait(l);
    }
    pg_close(&l->conn);
    return NULL;
}

static bool listen_start(struct pg_listener *l)
{
    return thread_start(&l->thread, "pg-listen", listen_thread, l);
}

struct pg_listener *pg_listener_new(struct env *env, const char *url, _Atomic bool *unnamed,
                                    const struct store_options *o)
{
    struct pg_listener *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->env = env;
    l->hint = o->hint;
    l->hint_ctx = o->hint_ctx;
    l->delay_ms = LIMIT_DB_RETRY_FIRST_MS;
    pg_init(&l->conn, env, url, unnamed);
    l->conn.listens = true;
    uuid_text(env->node, l->node);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->wake >= 0 && listen_start(l))
        return l;
    if (l->wake >= 0)
        close(l->wake);
    pg_release(&l->conn);
    free(l);
    return NULL;
}

void pg_listener_free(struct pg_listener *l)
{
    if (!l)
        return;
    atomic_store(&l->stopping, true);
    listen_wake(l);
    pthread_join(l->thread, NULL);
    close(l->wake);
    pg_release(&l->conn);
    free(l);
}
