/* sandbox.c - builds the simulated Stripe and PayPay: a server on a thread of its own, with its own
 * file, queue, clock and metrics, separate from those of Ichido.
 *
 *   open:  listener -> file -> switches -> client -> relay -> queue -> routes
 *   start: the thread
 *   free:  drop delayed calls -> no new calls -> the queue finishes what runs -> the relay stops
 *          -> the thread ends -> the file closes
 *
 * All state that must survive is in the file. A commit survives the death of the process, not that
 * of the machine. */
#include "base/limits.h"
#include "base/thread.h"
#include "http/client/client.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "sandbox/impl.h"
#include "sandbox/paypay/paypay.h"
#include "sandbox/relay/relay.h"
#include "sandbox/stripe/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = SANDBOX_JOBS + 2 + PP_KINDS };

/* --- its parts --- */

static bool copy_text(struct str *s, char **keep)
{
    *keep = strndup(s->p ? s->p : "", s->n);
    *s = str_of(*keep);
    return *keep != NULL;
}

/* The fault points of the server's env are not copied: they are meant for its own store. */
static bool make_env(struct sandbox *s)
{
    const struct env *from = s->o.env;

    s->env.clock.wall_ms = from->clock.wall_ms;
    s->env.clock.mono_us = from->clock.mono_us;
    atomic_init(&s->env.clock.test_offset_ms, atomic_load(&from->clock.test_offset_ms));
    s->env.rng = from->rng;
    s->env.log = from->log;
    s->env.node = env_uuid(&s->env);
    s->env.metrics = metrics_new();
    return s->env.metrics != NULL;
}

static bool copy_paypay(struct sandbox *s, struct sandbox_impl *impl)
{
    return copy_text(&s->o.paypay_key, &impl->texts[4]) &&
           copy_text(&s->o.paypay_secret, &impl->texts[5]) &&
           copy_text(&s->o.paypay_merchant, &impl->texts[6]) &&
           copy_text(&s->o.paypay_webhook_url, &impl->texts[7]);
}

static struct sandbox *sandbox_new(const struct sandbox_options *o)
{
    struct sandbox *s = calloc(1, sizeof(*s));
    struct sandbox_impl *impl;

    if (!s)
        return NULL;
    s->impl = impl = calloc(1, sizeof(*impl));
    s->o = *o;
    s->faults = sandbox_faults_new();
    if (!impl || !s->faults || !make_env(s) || !copy_text(&s->o.listen, &impl->texts[0]) ||
        !copy_text(&s->o.db, &impl->texts[1]) || !copy_text(&s->o.webhook_url, &impl->texts[2]) ||
        !copy_text(&s->o.webhook_secret, &impl->texts[3]) || !copy_paypay(s, impl)) {
        sandbox_free(s);
        return NULL;
    }
    return s;
}

static void log_reply(void *ctx, const struct request *r, int status)
{
    struct sandbox *s = ctx;

    LOG(s->env.log, LOG_DEBUG, "sandbox request", LOG_TEXT("method", r->method),
        LOG_TEXT("path", r->path), LOG_NUM("status", status));
}

static enum err listen_there(struct sandbox *s, struct why *why)
{
    struct server_options o = { .env = &s->env,
                                .listen = s->o.listen,
                                .loops = 1,
                                .loopback_only = true,
                                .guest = true,
                                .replied = log_reply,
                                .ctx = s };
    struct sandbox_impl *impl = impl_of(s);
    enum err e = server_open(&o, &s->server, why);
    struct str host = s->o.listen;

    if (e)
        return e;
    while (host.n && host.p[host.n - 1] != ':')
        host.n--;
    snprintf(impl->address, sizeof(impl->address), STR_FMT "%d", STR_ARG(host),
             server_port(s->server));
    return OK;
}

static enum err open_store(struct sandbox *s, struct why *why)
{
    struct store_options o = { .url = s->o.db, .owner = s->o.listen, .sandbox = true };

    if (!str_starts(s->o.db, S("sqlite:")))
        return why_err(why, ERR_VALIDATION, "the sandbox's database must begin with sqlite:");
    return store_open(&o, &s->env, &s->store, why);
}

static void alert_dead_letter(void *ctx, const struct message *m, const char *why)
{
    struct sandbox *s = ctx;

    LOG(s->env.log, LOG_WARN, "sandbox gave up", LOG_TEXT("kind", m->kind), LOG_TEXT("ref", m->ref),
        LOG_TEXT("why", str_of(why)));
}

static enum err open_queue(struct sandbox *s)
{
    struct sandbox_impl *impl = impl_of(s);

    impl->kinds = calloc(KINDS, sizeof(*impl->kinds));
    if (!impl->kinds)
        return ERR_NO_MEMORY;
    sandbox_job_kinds(s, impl->kinds);
    impl->kinds[SANDBOX_JOBS] = sandbox_webhook_kind(s);
    impl->kinds[SANDBOX_JOBS + 1] = sandbox_relay_kind(s);
    pp_job_kinds(s, impl->kinds + KINDS - PP_KINDS);
    s->queue = queue_new_runner(&(struct queue_options){ .store = s->store,
                                                         .executor = server_executor(s->server),
                                                         .env = &s->env,
                                                         .kinds = impl->kinds,
                                                         .kind_count = KINDS,
                                                         .alert = alert_dead_letter,
                                                         .alert_ctx = s });
    return s->queue ? OK : ERR_NO_MEMORY;
}

/* Appends PayPay's routes; fill_routes() has reserved the room. */
static enum err fill_paypay(struct sandbox *s)
{
    struct sandbox_impl *impl = impl_of(s);

    impl->paypay_endpoints = calloc(pp_operation_count, sizeof(*impl->paypay_endpoints));
    if (!impl->paypay_endpoints)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < pp_operation_count; i++) {
        impl->paypay_endpoints[i] = (struct pp_endpoint){ &pp_operations[i], s };
        s->routes[s->route_count++] = (struct route){ .method = pp_operations[i].method,
                                                      .path = pp_operations[i].path,
                                                      .handle = pp_begin,
                                                      .ctx = &impl->paypay_endpoints[i],
                                                      .body_max = LIMIT_SANDBOX_PP_BODY,
                                                      .problem = pp_problem };
    }
    for (size_t i = 0; i < pp_control_route_count; i++) {
        s->routes[s->route_count] = pp_control_routes[i];
        s->routes[s->route_count++].ctx = s;
    }
    return OK;
}

static enum err fill_routes(struct sandbox *s)
{
    struct sandbox_impl *impl = impl_of(s);
    size_t n = sandbox_operation_count;
    size_t all = 1 + n + sandbox_control_route_count + pp_operation_count + pp_control_route_count;

    s->routes = calloc(all, sizeof(*s->routes));
    impl->endpoints = calloc(n, sizeof(*impl->endpoints));
    impl->control_endpoints = calloc(sandbox_control_route_count, sizeof(*impl->control_endpoints));
    if (!s->routes || !impl->endpoints || !impl->control_endpoints)
        return ERR_NO_MEMORY;
    s->routes[s->route_count] = sandbox_relay_route; /* before the routes that match any path */
    s->routes[s->route_count++].ctx = s;
    for (size_t i = 0; i < n; i++) {
        impl->endpoints[i] = (struct endpoint){ &sandbox_operations[i], s };
        s->routes[s->route_count++] = (struct route){ .method = sandbox_operations[i].method,
                                                      .path = sandbox_operations[i].path,
                                                      .handle = stripe_call_begin,
                                                      .ctx = &impl->endpoints[i],
                                                      .body_max = LIMIT_SANDBOX_BODY };
    }
    sandbox_control_fill(s, impl->control_endpoints, s->routes + s->route_count);
    s->route_count += sandbox_control_route_count;
    if (fill_paypay(s))
        return ERR_NO_MEMORY;
    server_set_routes(s->server, s->routes, s->route_count);
    return OK;
}

static enum err open_all(struct sandbox *s, struct why *why)
{
    struct client_options c = { .env = &s->env, .thread = "sandbox-egress", .allow_private = true };
    enum err e = listen_there(s, why);

    if (e)
        return e;
    e = open_store(s, why);
    if (e)
        return e;
    e = sandbox_faults_load(s, why);
    if (e)
        return e;
    e = client_open(&c, &s->client, why);
    if (e)
        return e;
    why_set(why, "no memory for the sandbox");
    if (!relay_open(s) || open_queue(s))
        return ERR_NO_MEMORY;
    return fill_routes(s);
}

enum err sandbox_open(const struct sandbox_options *o, struct sandbox **ret_sandbox,
                      struct why *why)
{
    struct sandbox *s = sandbox_new(o);
    enum err e;

    if (!s)
        return why_err(why, ERR_NO_MEMORY, "no memory for the sandbox");
    e = open_all(s, why);
    if (e) {
        sandbox_free(s);
        return e;
    }
    *ret_sandbox = s;
    return OK;
}

int sandbox_port(const struct sandbox *s)
{
    return server_port(s->server);
}

/* --- its thread --- */

static void relay_has_stopped(void *ctx)
{
    struct sandbox *s = ctx;

    server_finish(s->server);
}

static void queue_has_stopped(void *ctx)
{
    relay_stop(ctx, relay_has_stopped, ctx);
}

static void calls_are_answered(void *ctx)
{
    struct sandbox *s = ctx;

    queue_stop(s->queue, queue_has_stopped, s);
}

static enum err forget_begin_run(struct tx *tx, struct unit *u)
{
    struct sandbox *s = CONTAINER_OF(u, struct sandbox_chore, unit)->s;

    return sandbox_forget_start(s, tx, env_now_ms(&s->env));
}

static void forget_begin_done(struct unit *u)
{
    struct sandbox *s = CONTAINER_OF(u, struct sandbox_chore, unit)->s;

    if (u->err)
        LOG(s->env.log, LOG_WARN, "sandbox keeps old events until it is started again",
            LOG_TEXT("code", str_of(err_code(u->err))));
}

static void forget_begin(struct sandbox *s)
{
    static const struct unit_kind kind = { "sandbox.forget", UNIT_BACK, forget_begin_run, NULL };
    struct sandbox_chore *c = &impl_of(s)->forget;

    c->s = s;
    c->unit = (struct unit){ .kind = &kind,
                             .executor = server_executor(s->server),
                             .done = forget_begin_done };
    store_post(s->store, &c->unit);
}

static void *sandbox_thread(void *arg)
{
    struct sandbox *s = arg;

    relay_start(s);
    queue_start(s->queue);
    forget_begin(s);
    server_run(s->server);
    return NULL;
}

void sandbox_start(struct sandbox *s)
{
    struct sandbox_impl *impl = impl_of(s);

    server_on_drain(s->server, calls_are_answered, s);
    impl->runs = thread_start(&impl->thread, "sandbox", sandbox_thread, s);
    if (!impl->runs)
        LOG(s->env.log, LOG_ERROR, "no thread for the sandbox");
}

/* --- time --- */

struct clock_step {
    struct task task;
    struct sandbox *s;
    int64_t ms;
    void (*moved)(void *ctx);
    void *ctx;
};

static void step_clock(struct task *t)
{
    struct clock_step *step = CONTAINER_OF(t, struct clock_step, task);

    queue_clock_moved(step->s->queue, step->ms, step->moved, step->ctx);
    free(step);
}

void sandbox_clock_moved(struct sandbox *s, int64_t ms, void (*moved)(void *ctx), void *ctx)
{
    struct clock_step *step = malloc(sizeof(*step));

    if (!step)
        abort(); /* without memory the clocks would diverge, and a test would prove nothing */
    *step = (struct clock_step){ { .run = step_clock }, s, ms, moved, ctx };
    executor_post(server_executor(s->server), &step->task);
}

/* --- the end --- */

struct stop {
    struct task task;
    struct sandbox *s;
};

static void stop_on_executor(struct task *t)
{
    struct sandbox *s = CONTAINER_OF(t, struct stop, task)->s;

    stripe_calls_drop_delayed(s);
    pp_calls_drop_hanging(s);
    server_stop(s->server);
}

static void sandbox_join(struct sandbox *s)
{
    struct stop stop = { { .run = stop_on_executor }, s };

    if (!impl_of(s)->runs)
        return;
    executor_post(server_executor(s->server), &stop.task);
    pthread_join(impl_of(s)->thread, NULL);
}

void sandbox_free(struct sandbox *s)
{
    struct sandbox_impl *impl = s ? impl_of(s) : NULL;

    if (!s)
        return;
    if (impl) {
        sandbox_join(s);
        relay_end(s);
    }
    if (s->client)
        client_free(s->client);
    store_free(s->store); /* first, because its threads use the queue */
    queue_free(s->queue);
    server_free(s->server);
    if (impl)
        relay_free(s);
    sandbox_faults_free(s->faults);
    metrics_free(s->env.metrics);
    for (size_t i = 0; impl && i < COUNT(impl->texts); i++)
        free(impl->texts[i]);
    if (impl) {
        free(impl->kinds);
        free(impl->endpoints);
        free(impl->paypay_endpoints);
        free(impl->control_endpoints);
    }
    free(impl);
    free(s->routes);
    free(s);
}
