/* relay.c - sends every event to every listener.
 *
 *   event --same commit--> message "sandbox.relay" --job--> a row for each live session
 *   row --read--> sent over the session's connection --acknowledged--> deleted          link.c
 *
 *   (1) A row is deleted only when the listener has acknowledged it, or with its session. What was
 *       sent over a connection that broke, or before a restart, is sent again over the next one.
 *   (2) Sessions are rows. After a restart they are expected to connect again.
 *   (3) Memory holds a window of LIMIT_RELAY_WINDOW numbers for each connection, and what its
 *       WebSocket buffers. Everything else is on disk. */
#include "observe/log.h"
#include "sandbox/relay/listeners.h"

#include <stdlib.h>

static const struct str relay_kind = { "sandbox.relay", sizeof("sandbox.relay") - 1 };

bool relay_has_sessions(const struct sandbox *s)
{
    return s->impl && relay_of(s) && atomic_load(&relay_of(s)->live) > 0;
}

enum err relay_add_event(struct sandbox *s, struct tx *tx, struct str event_id, int64_t now_ms)
{
    struct queue_new m = {
        .id = env_uuid(&s->env), .kind = relay_kind, .ref = event_id, .due_ms = now_ms
    };

    return queue_add(s->queue, tx, now_ms, &m, 1);
}

/* --- the job --- */

static enum err relay_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct sandbox *s = ctx;
    struct relay_rows rows;
    enum err e = relay_rows_live(relay_of(s), tx, env_now_ms(&s->env), 0, &rows);

    (void)why;
    return e ? e : relay_rows_wait(tx, &rows, m->ref.n ? m->ref : m->body, m->added_ms);
}

static void relay_job_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                            const char *why)
{
    struct sandbox *s = ctx;

    (void)env;
    (void)m;
    (void)why;
    if (end == JOB_DONE)
        relay_pump_all(relay_of(s));
}

struct job_kind sandbox_relay_kind(struct sandbox *s)
{
    return (struct job_kind){
        .name = relay_kind.p,
        .ctx = s,
        .run = relay_run,
        .ended = relay_job_ended,
        .retry = retry_table[RETRY_SANDBOX_RELAY],
    };
}

/* --- start and stop --- */

void relay_post(struct relay *r, struct unit *u)
{
    r->busy++;
    u->executor = server_executor(r->s->server);
    store_post(r->s->store, u);
}

void relay_unit_done(struct relay *r)
{
    void (*stopped)(void *ctx) = r->stopped;

    if (--r->busy || !stopped)
        return;
    r->stopped = NULL;
    stopped(r->stopped_ctx);
}

bool relay_open(struct sandbox *s)
{
    struct relay *r = calloc(1, sizeof(*r));

    if (!r)
        return false;
    r->s = s;
    atomic_init(&r->live, 1); /* assume a session until the first count */
    impl_of(s)->relay = r;
    return true;
}

static enum err relay_start_run(struct tx *tx, struct unit *u)
{
    struct relay *r = CONTAINER_OF(u, struct relay, start);
    int64_t now_ms = env_now_ms(&r->s->env);
    struct relay_rows rows;
    enum err e = TX_DO(tx, STMT_relay_sessions_left, -1, V_INT(now_ms + LIMIT_RELAY_AWAIT_MS));

    return e ? e : relay_rows_live(r, tx, now_ms, 0, &rows);
}

static void relay_started(struct unit *u)
{
    struct relay *r = CONTAINER_OF(u, struct relay, start);

    if (u->err)
        LOG(r->s->env.log, LOG_WARN, "sandbox relay did not find its sessions",
            LOG_TEXT("code", str_of(err_code(u->err))));
    relay_unit_done(r);
}

void relay_start(struct sandbox *s)
{
    static const struct unit_kind kind = { "sandbox.relay_start", UNIT_FRONT, relay_start_run,
                                           NULL };
    struct relay *r = relay_of(s);

    r->start = (struct unit){ .kind = &kind, .done = relay_started };
    relay_post(r, &r->start);
}

void relay_stop(struct sandbox *s, void (*stopped)(void *ctx), void *ctx)
{
    struct relay *r = relay_of(s);

    r->stopped_ctx = ctx;
    if (r->busy)
        r->stopped = stopped;
    else
        stopped(ctx);
}

void relay_end(struct sandbox *s)
{
    if (relay_of(s))
        relay_of(s)->ended = true;
}

void relay_free(struct sandbox *s)
{
    if (relay_of(s))
        relay_links_free(relay_of(s));
    free(relay_of(s));
}
