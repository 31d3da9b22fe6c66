/* serve.c - puts the server together and takes it apart again.
 *
 *   start:  settings -> listen -> database -> sandbox -> gateway -> queue -> doors -> "listening"
 *   stop:   no new requests -> the begun ones are answered -> the door writes its counts
 *           -> the queue finishes what runs -> the last traces leave -> the loops end
 *           -> the audit is sealed -> the database closes
 *
 * Killed at any point of either, a new start finds everything that was answered. */
#include "server/serve.h"

#include "base/limits.h"
#include "base/version.h"
#include "http/request_span.h"
#include "http/systemd.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "payment/replays.h"
#include "server/app.h"
#include "server/dev.h"
#include "server/exit.h"
#include "server/seal_audit.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* ---- what is told about requests ---- */

enum { TOLD_MAX = 20 };

/* A path without what it may hold of somebody's secrets: below /v2/ that is a destination, with
 * user, password and names that only its owner should know. */
static struct str told_path(struct str path, char *text, size_t size)
{
    struct str prefix = S("/v2/"), rest, first;

    if (!str_starts(path, prefix))
        return path;
    rest = (struct str){ path.p + prefix.n, path.n - prefix.n };
    first = str_cut(&rest, '/');
    for (size_t i = 0; i < first.n; i++)
        if (!isalpha((unsigned char)first.p[i]) || i == TOLD_MAX) /* "https%3A%2F%2F..." */
            return S("/v2/...");
    return (struct str){ text, (size_t)snprintf(text, size, "/v2/" STR_FMT "%s", STR_ARG(first),
                                                rest.n ? "/..." : "") };
}

static void serve_replied(void *ctx, const struct request *r, int status)
{
    struct app *app = ctx;
    char path[TOLD_MAX + 16], trace[TRACE_TEXT + 1];
    enum log_level level = status >= 500 ? LOG_WARN : LOG_DEBUG;

    api_count_answer(r, status);
    request_span(r, status);
    if (!log_wants(app->node.env.log, level))
        return;
    trace_text(&r->trace, trace);
    LOG(app->node.env.log, level, "request", LOG_TEXT("method", r->method),
        LOG_TEXT("path", told_path(r->path, path, sizeof(path))), LOG_NUM("status", status),
        LOG_TEXT("requestId", r->id), LOG_TRACE(str_of(trace)),
        LOG_NUM("us", clock_mono_us(&app->node.env.clock) - r->began_us));
}

static void serve_refused(void *ctx, enum err e, struct str peer_ip)
{
    struct app *app = ctx;

    metrics_count(app->node.env.metrics, COUNT_HTTP_REFUSED, 1);
    LOG(app->node.env.log, LOG_DEBUG, "refused", LOG_TEXT("why", str_of(err_code(e))),
        LOG_TEXT("peer", peer_ip));
}

static void dead_letter(void *ctx, const struct message *m, const char *why)
{
    struct app *app = ctx;
    char id[UUID_TEXT + 1];

    uuid_text(m->id, id);
    LOG(app->node.env.log, LOG_ERROR, "dead letter", LOG_TEXT("messageId", str_of(id)),
        LOG_TEXT("kind", m->kind), LOG_TEXT("ref", m->ref), LOG_NUM("attempts", m->attempt),
        LOG_TEXT("why", str_of(why)));
}

static void other_node_added_work(void *ctx)
{
    struct app *app = ctx;
    struct queue *q = atomic_load(&app->queue);

    if (q)
        queue_wake(q);
}

/* Whom the rate limit counts: behind a trusted proxy the client, not the proxy. */
static bool serve_client(void *ctx, const struct request *r, struct sockaddr_storage *ret_client)
{
    const struct app *app = ctx;
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct address a;

    if (!address_of(&r->peer, &a) ||
        !client_address(&app->trusted_proxies, a, r->headers, r->header_count, &a))
        return false;
    memcpy(&v6.sin6_addr, a.b, sizeof(a.b));
    memcpy(&v4.sin_addr, a.b + 12, 4);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        memcpy(ret_client, &v4, sizeof(v4));
    else
        memcpy(ret_client, &v6, sizeof(v6));
    return true;
}

/* ---- start ---- */

static bool open_server(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct server_options o = {
        .env = &app->node.env,
        .listen = s->listen,
        .loops = s->loops,
        .tls_cert = s->tls_cert.p,
        .tls_key = s->tls_key.p,
        .max_connections = s->max_connections,
        .rate_limit = s->rate_limit,
        .loopback_only = s->mode == MODE_DEV,
        .client = serve_client,
        .replied = serve_replied,
        .refused = serve_refused,
        .ctx = app,
    };
    struct str host = s->listen;
    struct why why = { 0 };

    if (!allow_parse(&app->trusted_proxies, s->trusted_proxies, &why)) {
        LOG(app->node.env.log, LOG_ERROR, "cannot read ICHIDO_TRUSTED_PROXIES",
            LOG_TEXT("why", str_of(why.text)));
        return false;
    }
    if (server_open(&o, &app->server, &why)) {
        LOG(app->node.env.log, LOG_ERROR,
            strstr(why.text, strerror(EADDRINUSE))
                ? "another program has that address: stop it, or set ICHIDO_LISTEN to a free one "
                  "like 127.0.0.1:8788"
                : "cannot listen",
            LOG_TEXT("why", str_of(why.text)));
        return false;
    }
    while (host.n && host.p[host.n - 1] != ':')
        host.n--;
    snprintf(app->address, sizeof(app->address), STR_FMT "%d", STR_ARG(host),
             server_port(app->server));
    app->node.settings.listen = str_of(app->address); /* with the real port, where it was 0 */
    return true;
}

static bool open_queue(struct app *app)
{
    struct queue *q;

    app_fill_kinds(app);
    if (!app->payments.waiting)
        return false;
    q = queue_new_runner(&(struct queue_options){
        .store = app->node.store,
        .home = server_home(app->server),
        .env = &app->node.env,
        .kinds = app->kinds,
        .kind_count = app->kind_count,
        .alert = dead_letter,
        .alert_ctx = app,
        .buried = dead_letter_note,
    });
    app->payments.runtime.queue = app->qstash.queue = app->worker.queue = q;
    atomic_store(&app->queue, q);
    return q != NULL;
}

static bool open_paypay_door(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct why why = { 0 };

    if (!settings_has_gateway(s, S("paypay")))
        return true;
    app->paypay_door =
        paypay_door_new(&(struct paypay_door_options){ .env = &app->node.env,
                                                       .store = app->node.store,
                                                       .queue = app->queue,
                                                       .home = server_home(app->server),
                                                       .allow = s->paypay_allow,
                                                       .everybody = s->mode == MODE_DEV,
                                                       .trusted = &app->trusted_proxies,
                                                       .backlog_limit = s->backlog_limit },
                        &why);
    if (!app->paypay_door)
        LOG(app->node.env.log, LOG_ERROR, "cannot open PayPay's door",
            LOG_TEXT("why", str_of(why.text)));
    return app->paypay_door != NULL;
}

static bool open_doors(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct why why = { 0 };

    app->door = stripe_door_new(
        &(struct stripe_door_options){
            .env = &app->node.env,
            .store = app->node.store,
            .queue = app->queue,
            .home = server_home(app->server),
            .secrets = s->webhook_secrets,
            .secret_count = s->webhook_secret_count,
            .ack = s->webhook_ack,
            .allow = s->webhook_allow,
            .trusted = &app->trusted_proxies,
            .backlog_limit = s->backlog_limit,
            .publish = s->queue_remote,
        },
        &why);
    if (!app->door)
        LOG(app->node.env.log, LOG_ERROR, "cannot open the Stripe door",
            LOG_TEXT("why", str_of(why.text)));
    return app->door && open_paypay_door(app);
}

/* ---- stop ---- */

static void traces_have_left(void *ctx)
{
    struct app *app = ctx;

    server_finish(app->server);
}

static void queue_has_stopped(void *ctx)
{
    struct app *app = ctx;

    app_stop_traces(app, traces_have_left, app);
}

static void replays_are_written(void *ctx)
{
    struct app *app = ctx;

    queue_stop(app->queue, queue_has_stopped, app);
}

static void doors_have_closed(void *ctx)
{
    struct app *app = ctx;

    replays_stop(app->payments.replays, replays_are_written, app);
}

static void door_has_closed(void *ctx)
{
    struct app *app = ctx;

    if (app->paypay_door)
        paypay_door_stop(app->paypay_door, doors_have_closed, app);
    else
        doors_have_closed(app);
}

static void logins_are_counted(void *ctx)
{
    struct app *app = ctx;

    stripe_door_stop(app->door, door_has_closed, app);
}

static void requests_are_answered(void *ctx)
{
    app_stop_login(ctx, logins_are_counted, ctx);
}

static struct str on_off(bool on)
{
    return on ? S("on") : S("off");
}

/* Names outside of ICHIDO_ are not known, so a typing error in one is only seen here. */
static void tell_what_is_on(const struct app *app)
{
    const struct settings *s = &app->node.settings;
    bool traces = (s->otlp_endpoint.n || s->otlp_traces_endpoint.n) && !s->otel_disabled;

    LOG(app->node.env.log, LOG_INFO, "telling", LOG_TEXT("mail", on_off(s->smtp_url.n)),
        LOG_TEXT("push", on_off(s->fcm_credentials.n)),
        LOG_TEXT("webhook", on_off(s->notify_url.n)),
        LOG_TEXT("alertMail", on_off(s->alert_mail.n)),
        LOG_TEXT("alertWebhook", on_off(s->alert_url.n)),
        LOG_TEXT("sentry", on_off(s->sentry_dsn.n)), LOG_TEXT("traces", on_off(traces)));
}

static int serve_run(struct app *app)
{
    struct env *env = &app->node.env;

    server_on_drain(app->server, requests_are_answered, app);
    if (app->sandbox)
        sandbox_start(app->sandbox);
    queue_start(app->queue);
    app_start_flows(app);
    app_start_remote(app);
    app_start_books(app);
    app_start_notify(app);
    app_start_telemetry(app);
    server_take_signals(app->server); /* who reads the next line may stop us at once */
    if (app->sandbox)
        LOG(env->log, LOG_INFO, "sandbox listening",
            LOG_TEXT("address", str_of(app->sandbox_address)));
    tell_what_is_on(app);
    LOG(env->log, LOG_INFO, "listening", LOG_TEXT("address", str_of(app->address)),
        LOG_TEXT("version", S(ICHIDO_VERSION)));
    if (app->node.settings.mode == MODE_DEV)
        dev_banner(&app->node, app->address, app->sandbox ? app->sandbox_address : NULL);
    systemd_notify("READY=1");
    server_run(app->server);
    LOG(env->log, LOG_INFO, "stopped", LOG_NUM("live", queue_live(app->queue)));
    return EXIT_FINE;
}

static bool serve_start(struct app *app)
{
    if (!open_server(app))
        return false;
    if (!node_open_store(&app->node, other_node_added_work, app) || !dev_make_secrets(&app->node))
        return false;
    if (!app_open_sandbox(app) || !app_open_gateway(app) || !app_open_login(app) ||
        !app_open_books(app) || !app_open_qstash(app) || !app_open_remote(app, dead_letter) ||
        !app_open_notify(app) || !app_open_telemetry(app))
        return false;
    if (!open_queue(app) || !open_doors(app))
        return false;
    app_fill_routes(app);
    return true;
}

int serve_main(int argc, char **argv)
{
    struct app app = { 0 };
    int code = EXIT_CANNOT;

    (void)argc;
    (void)argv;
    if (!node_init(&app.node))
        return EXIT_ASKED_WRONGLY;
    if (serve_start(&app)) {
        code = serve_run(&app);
        node_seal_audit(&app.node);
    }
    node_close_store(&app.node); /* its threads use the queue and the door */
    stripe_door_free(app.door);
    paypay_door_free(app.paypay_door);
    app_close_clients(&app);
    queue_free(app.queue);
    audit_seal_close(&app.audit_sealer);
    app_close_qstash(&app);
    app_close_books(&app);
    app_close_login(&app);
    app_close_gateway(&app);
    app_close_notify(&app);
    app_close_telemetry(&app);
    server_free(app.server);
    node_release(&app.node);
    return code;
}
