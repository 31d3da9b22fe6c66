/* serve.c - starts the server, runs it and stops it.
 *
 *   start:  the rows of server_parts, forward -> timers and first jobs -> "listening"
 *   drain:  no new requests -> those that began are answered -> the rows of drain_steps
 *   stop:   the loops end -> the audit log is sealed -> the rows of server_parts, backward
 *
 * Killed at any point, the next start finds everything that was answered. */
#include "server/serve.h"

#include "base/version.h"
#include "http/systemd.h"
#include "observe/log.h"
#include "server/app.h"
#include "server/dev.h"
#include "server/exit.h"
#include "server/seal_audit.h"

/* ---- the parts ---- */

bool app_fails(const struct app *app, const char *what, struct str why)
{
    LOG(app->node.env.log, LOG_ERROR, what, LOG_TEXT("why", why));
    return false;
}

/* The store calls this on a thread of its own, perhaps before there is a queue. */
static void other_node_added_work(void *ctx)
{
    struct app *app = ctx;
    struct queue *q = atomic_load(&app->queue);

    if (q)
        queue_wake(q);
}

static bool open_store(struct app *app)
{
    return node_open_store(&app->node, other_node_added_work, app);
}

static void close_store(struct app *app)
{
    node_close_store(&app->node);
}

static bool make_secrets(struct app *app)
{
    return dev_make_secrets(&app->node);
}

static bool fill_routes(struct app *app)
{
    app_fill_routes(app);
    return true;
}

/* A start opens the rows from the first to the last, until one fails. Whether it failed or the
 * server has run, all rows are closed from the last to the first; so a close accepts a part that
 * was opened halfway or not at all. A part that closes at another place than it opens has two
 * rows. */
static const struct server_part {
    const char *name;
    bool (*is_wanted)(const struct app *app); /* by the settings; NULL: always */
    bool (*open)(struct app *app);            /* false: the reason was logged */
    void (*close)(struct app *app);
} server_parts[] = {
    { "HTTP server", NULL, app_open_server, app_close_server },
    /* The parts below may log, record a span and raise an alert until they are closed. */
    { "telemetry", NULL, NULL, app_close_telemetry },
    { "channels", NULL, NULL, app_close_channels },
    { "database", NULL, open_store, NULL },
    { "secrets", NULL, make_secrets, NULL },
    { "sandbox", app_wants_sandbox, app_open_sandbox, app_close_sandbox },
    { "HTTP clients", NULL, app_open_clients, NULL },
    { "gateways", NULL, app_open_gateways, app_close_gateways },
    { "authentication", NULL, app_open_auth, app_close_auth },
    { "logins", NULL, app_open_login, app_close_login },
    { "reconciliation", NULL, app_open_reconcile, app_close_reconcile },
    { "QStash API", NULL, app_open_qstash, app_close_qstash },
    { "remote QStash", NULL, app_open_remote, NULL },
    { "notification client", app_wants_notify_client, app_open_notify_client, NULL },
    { "channels", NULL, app_open_channels, NULL },
    { "telemetry client", app_wants_telemetry, app_open_telemetry, NULL },
    { "traces", app_wants_traces, app_open_traces, NULL },
    { "Sentry", app_wants_sentry, app_open_sentry, NULL },
    { "alerts", NULL, app_open_alerts, NULL },
    { "payments", NULL, app_open_payments, app_close_payments },
    { "queue", NULL, app_open_queue, app_close_queue },
    /* Their threads write into calls that jobs of the queue own. */
    { "HTTP clients", NULL, NULL, app_close_clients },
    { "Stripe endpoint", NULL, app_open_stripe, app_close_stripe },
    { "PayPay endpoint", app_wants_paypay, app_open_paypay, app_close_paypay },
    { "routes", NULL, fill_routes, NULL },
    /* Its threads call the queue and the endpoints, so it is closed first. */
    { "database", NULL, NULL, close_store },
};

static bool open_parts(struct app *app)
{
    for (size_t i = 0; i < COUNT(server_parts); i++) {
        const struct server_part *p = &server_parts[i];

        if (!p->open || (p->is_wanted && !p->is_wanted(app)) || p->open(app))
            continue;
        LOG(app->node.env.log, LOG_DEBUG, "the start failed", LOG_TEXT("part", str_of(p->name)));
        return false;
    }
    return true;
}

static void close_parts(struct app *app)
{
    for (size_t i = COUNT(server_parts); i > 0; i--)
        if (server_parts[i - 1].close)
            server_parts[i - 1].close(app);
}

/* ---- drain ---- */

/* What happens on the first loop once every request was answered. A step calls done on that loop,
 * perhaps at once, and the next one begins. */
static void (*const drain_steps[])(struct app *app, void (*done)(void *ctx), void *ctx) = {
    app_drain_login,   /* the counts of failed logins are written */
    app_drain_stripe,  /* the counts of rejected webhooks are written */
    app_drain_paypay,  /* the same for PayPay */
    app_drain_replays, /* the counts of replayed answers are written */
    app_drain_queue,   /* no more messages are leased, and those under way end */
    app_drain_traces,  /* the waiting spans are sent */
};

static void drain_next(void *ctx)
{
    struct app *app = ctx;

    if (app->drain_step < COUNT(drain_steps))
        drain_steps[app->drain_step++](app, drain_next, app);
    else
        server_finish(app->server);
}

/* ---- run ---- */

static struct str on_off(bool on)
{
    return on ? S("on") : S("off");
}

/* The settings refuse no name outside of ICHIDO_, so a misspelt one shows only here. */
static void log_channels(const struct app *app)
{
    const struct settings *s = &app->node.settings;

    LOG(app->node.env.log, LOG_INFO, "telling", LOG_TEXT("mail", on_off(s->smtp_url.n)),
        LOG_TEXT("push", on_off(s->fcm_credentials.n)),
        LOG_TEXT("webhook", on_off(s->notify_url.n)),
        LOG_TEXT("alertMail", on_off(s->alert_mail.n)),
        LOG_TEXT("alertWebhook", on_off(s->alert_url.n)),
        LOG_TEXT("sentry", on_off(s->sentry_dsn.n)),
        LOG_TEXT("traces", on_off(app_wants_traces(app))));
}

static int serve_run(struct app *app)
{
    struct env *env = &app->node.env;

    server_on_drain(app->server, drain_next, app);
    if (app->sandbox)
        sandbox_start(app->sandbox);
    queue_start(app->queue);
    app_start_jobs(app);
    app_start_channels(app);
    app_start_telemetry(app);
    server_take_signals(app->server); /* a reader of the next lines may send a signal at once */
    if (app->sandbox)
        LOG(env->log, LOG_INFO, "sandbox listening",
            LOG_TEXT("address", str_of(app->sandbox_address)));
    log_channels(app);
    LOG(env->log, LOG_INFO, "listening", LOG_TEXT("address", str_of(app->address)),
        LOG_TEXT("version", S(ICHIDO_VERSION)));
    if (app->node.settings.mode == MODE_DEV)
        dev_banner(&app->node, app->address, app->sandbox ? app->sandbox_address : NULL);
    systemd_notify("READY=1");
    server_run(app->server);
    LOG(env->log, LOG_INFO, "stopped", LOG_NUM("live", queue_live(app->queue)));
    return EXIT_FINE;
}

int serve_main(int argc, char **argv)
{
    struct app app = { 0 };
    int code = EXIT_CANNOT;

    (void)argc;
    (void)argv;
    if (!node_init(&app.node))
        return EXIT_ASKED_WRONGLY;
    if (open_parts(&app)) {
        code = serve_run(&app);
        node_seal_audit(&app.node);
    }
    close_parts(&app);
    node_release(&app.node);
    return code;
}
