/* server.c - the server as a whole: opening, running and stopping.
 *
 *   RUNNING --signal or server_stop--> STOPPING --signal or LIMIT_SHUTDOWN_MS--> FORCED
 *                                         |                                        |
 *                                         '---- server_finish, or a timeout -------+--> FINISHED
 *
 * The stage is one atomic number that only rises. The thread that raises it wakes every loop, and each
 * loop applies the new stage on its own thread. A loop without connections and requests reports that
 * once; after the last report `drained` is called on the first loop. */
#include "http/server.h"

#include "base/limits.h"
#include "base/thread.h"
#include "http/conn.h"
#include "http/listen.h"
#include "http/rate.h"
#include "http/router.h"
#include "http/systemd.h"
#include "http/tls.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>

/* --- opening --- */

static int or_default(int value, int standard)
{
    return value > 0 ? value : standard;
}

static const char *or_null(const char *file)
{
    return file && file[0] ? file : NULL;
}

static void fill_in(struct server_options *o)
{
    o->tls_cert = or_null(o->tls_cert);
    o->tls_key = or_null(o->tls_key);
    o->loops = or_default(o->loops, 1);
    if (o->loops > LIMIT_LOOPS)
        o->loops = LIMIT_LOOPS;
    o->max_connections = listen_most_connections(or_default(o->max_connections, LIMIT_CONNECTIONS));
    o->max_in_flight = or_default(o->max_in_flight, LIMIT_IN_FLIGHT);
    o->max_bodies = o->max_bodies ? o->max_bodies : LIMIT_BODIES;
    o->head_ms = or_default(o->head_ms, LIMIT_HEAD_MS);
    o->body_ms = or_default(o->body_ms, LIMIT_BODY_MS);
    o->idle_ms = or_default(o->idle_ms, LIMIT_IDLE_MS);
    o->reply_ms = or_default(o->reply_ms, LIMIT_REPLY_MS);
    o->handshake_ms = or_default(o->handshake_ms, LIMIT_HANDSHAKE_MS);
    o->websocket_ms = or_default(o->websocket_ms, LIMIT_WEBSOCKET_IDLE_MS);
}

static void set_durations(struct loop *l, const struct server_options *o)
{
    uint64_t *d = l->deadlines.durations;

    for (int i = 0; i < DEADLINE_KINDS; i++)
        d[i] = DEADLINE_NONE;
    d[CONN_HANDSHAKE] = (uint64_t)o->handshake_ms;
    d[CONN_IDLE] = (uint64_t)o->idle_ms;
    d[CONN_HEAD] = (uint64_t)o->head_ms;
    d[CONN_BODY] = (uint64_t)o->body_ms;
    d[CONN_REPLYING] = (uint64_t)o->reply_ms;
    d[CONN_LINGER] = LIMIT_LINGER_MS;
    d[CONN_WEBSOCKET] = (uint64_t)o->websocket_ms;
}

static enum err open_loops(struct server *s)
{
    s->loops = calloc((size_t)s->options.loops, sizeof(*s->loops));
    if (!s->loops)
        return ERR_NO_MEMORY;
    while (s->loop_count < s->options.loops) {
        struct loop *l = &s->loops[s->loop_count];

        if (!loop_init(l, s, s->loop_count))
            return ERR_NO_MEMORY;
        set_durations(l, &s->options);
        l->body_room = s->options.max_bodies / (size_t)s->options.loops;
        s->loop_count++;
    }
    atomic_store(&s->busy_loops, s->loop_count);
    return OK;
}

static enum err open_all(struct server *s, struct why *why)
{
    const struct server_options *o = &s->options;
    enum err e = open_loops(s);

    if (e)
        return why_err(why, e, "no memory for the server");
    if (o->tls_cert || o->tls_key) {
        why_set(why, "TLS needs both ICHIDO_TLS_CERT and ICHIDO_TLS_KEY");
        if (!o->tls_cert || !o->tls_key)
            return ERR_VALIDATION;
        e = tls_server_new(o->tls_cert, o->tls_key, &s->tls, why);
        if (e)
            return e;
    }
    if (o->rate_limit > 0) {
        why_set(why, "no memory for the rate limit");
        s->rate = rate_new(o->rate_limit, &o->env->rng);
        if (!s->rate)
            return ERR_NO_MEMORY;
    }
    return listen_open(s, o->listen, why);
}

enum err server_open(const struct server_options *o, struct server **ret_server, struct why *why)
{
    struct server *s = calloc(1, sizeof(*s));
    enum err e;

    if (!s || !routes_are_sane(o->routes, o->route_count)) {
        why_set(why, s ? "the table of routes is broken" : "no memory for the server");
        free(s);
        return s ? ERR_INTERNAL : ERR_NO_MEMORY;
    }
    signal(SIGPIPE, SIG_IGN);
    s->options = *o;
    fill_in(&s->options);
    e = open_all(s, why);
    if (e)
        server_free(s);
    else
        *ret_server = s;
    return e;
}

struct executor *server_executor(struct server *s)
{
    return &s->loops[0].executor;
}

void server_set_routes(struct server *s, const struct route *routes, size_t count)
{
    assert(routes_are_sane(routes, count));
    s->options.routes = routes;
    s->options.route_count = count;
}

int server_port(const struct server *s)
{
    return s->port;
}

struct server_counts server_counts(const struct server *s)
{
    return (struct server_counts){
        .connections = atomic_load(&s->connections),
        .in_flight = atomic_load(&s->in_flight),
        .accepted = atomic_load(&s->accepted),
        .refused = atomic_load(&s->refused),
    };
}

/* --- stages --- */

bool server_stopping(const struct server *s)
{
    return atomic_load(&s->stage) != STAGE_RUNNING;
}

/* False: the stage was reached before. */
static bool server_raise(struct server *s, enum stage stage)
{
    int now = atomic_load(&s->stage);

    do
        if (now >= (int)stage)
            return false;
    while (!atomic_compare_exchange_weak(&s->stage, &now, (int)stage));
    for (int i = 0; i < s->loop_count; i++)
        loop_wake(&s->loops[i]);
    return true;
}

void server_on_drain(struct server *s, void (*drained)(void *ctx), void *ctx)
{
    s->drained = drained;
    s->drained_ctx = ctx;
}

void server_stop(struct server *s)
{
    if (server_raise(s, STAGE_STOPPING) && !s->options.guest)
        systemd_notify("STOPPING=1");
}

void server_finish(struct server *s)
{
    server_raise(s, STAGE_FINISHED);
}

/* Raises the stage by one, after a repeated signal or a timeout. */
static void server_hurry(struct server *s)
{
    int now = atomic_load(&s->stage);

    if (now < STAGE_FINISHED)
        server_raise(s, (enum stage)(now + 1));
}

static void on_late(uv_timer_t *t)
{
    server_hurry(t->data);
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct server *s = signal->data;

    (void)number;
    if (!server_stopping(s)) {
        server_stop(s);
        return;
    }
    atomic_store(&s->hurried, true);
    server_hurry(s);
}

/* --- a loop applies a stage --- */

static void each_connection(struct loop *l, void (*act)(struct conn *c))
{
    for (int kind = 0; kind < DEADLINE_KINDS; kind++) {
        struct deadline *next, *x = l->deadlines.lists[kind].first;

        for (; x; x = next) {
            next = x->after;
            act(CONTAINER_OF(x, struct conn, deadline));
        }
    }
}

static void loop_report_empty(struct loop *l)
{
    struct server *s = l->server;

    if (l->reported)
        return;
    l->reported = true;
    if (atomic_fetch_sub(&s->busy_loops, 1) != 1)
        return;
    atomic_store(&s->drain_due, true);
    loop_wake(&s->loops[0]);
}

void server_loop_settled(struct loop *l)
{
    if (l->stage >= STAGE_STOPPING && l->live == 0)
        loop_report_empty(l);
}

static void set_shutdown_timer(struct loop *l, uint64_t ms)
{
    if (l->index == 0 && l->server->signals_open)
        uv_timer_start(&l->server->shutdown, on_late, ms, 0);
}

static void close_first_loop(struct server *s)
{
    if (!s->signals_open)
        return;
    s->signals_open = false;
    for (int i = 0; i < 2 && !s->options.guest; i++)
        uv_close((uv_handle_t *)&s->signals[i], NULL);
    uv_close((uv_handle_t *)&s->shutdown, NULL);
}

static void loop_apply_stage(struct loop *l, enum stage stage)
{
    l->stage = (int)stage;
    switch (stage) {
    case STAGE_RUNNING: break;
    case STAGE_STOPPING:
        listen_stop(l);
        each_connection(l, conn_stop);
        set_shutdown_timer(l, LIMIT_SHUTDOWN_MS);
        server_loop_settled(l);
        break;
    case STAGE_FORCED:
        each_connection(l, conn_close);
        set_shutdown_timer(l, LIMIT_FINISH_MS);
        loop_report_empty(l);
        break;
    case STAGE_FINISHED:
        each_connection(l, conn_close);
        if (l->index == 0)
            close_first_loop(l->server);
        loop_close(l);
        break;
    }
}

static void server_call_drained(struct server *s)
{
    if (s->drained_called || !atomic_load(&s->drain_due) || s->loops[0].stage == STAGE_FINISHED)
        return;
    s->drained_called = true;
    if (s->drained)
        s->drained(s->drained_ctx);
    else
        server_finish(s);
}

void server_loop_woken(struct loop *l)
{
    struct server *s = l->server;

    while (l->stage < atomic_load(&s->stage))
        loop_apply_stage(l, (enum stage)(l->stage + 1));
    if (l->index == 0)
        server_call_drained(s);
}

/* --- running --- */

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

void server_take_signals(struct server *s)
{
    static const int numbers[] = { SIGTERM, SIGINT };
    uv_loop_t *uv = &s->loops[0].uv;

    if (s->signals_open)
        return;
    for (int i = 0; i < 2 && !s->options.guest; i++) {
        uv_signal_init(uv, &s->signals[i]);
        s->signals[i].data = s;
        uv_signal_start(&s->signals[i], on_signal, numbers[i]);
    }
    uv_timer_init(uv, &s->shutdown);
    s->shutdown.data = s;
    s->signals_open = true;
}

void server_run(struct server *s)
{
    int threads = 1;

    s->started = true;
    server_take_signals(s);
    for (int i = 0; i < s->loop_count; i++)
        if (!listen_start(&s->loops[i]))
            server_raise(s, STAGE_FINISHED);
    while (threads < s->loop_count && thread_start_nth(&s->loops[threads].thread, "loop", threads,
                                                       run_loop, &s->loops[threads]))
        threads++;
    if (threads < s->loop_count)
        server_raise(s, STAGE_FINISHED);
    loop_run(&s->loops[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(s->loops[i].thread, NULL);
}

void server_free(struct server *s)
{
    if (!s)
        return;
    if (!s->started)
        listen_close(s);
    server_raise(s, STAGE_FINISHED);
    for (int i = 0; i < s->loop_count; i++)
        server_loop_woken(&s->loops[i]); /* for a loop that never ran */
    for (int i = 0; i < s->loop_count; i++)
        loop_release(&s->loops[i]);
    free(s->loops);
    tls_server_free(s->tls);
    rate_free(s->rate);
    free(s);
}
