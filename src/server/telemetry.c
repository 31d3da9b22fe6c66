/* telemetry.c - what the server reports to other systems: traces by OTLP (O3), errors and alerts to
 * Sentry (O4).
 *
 * Without an OTLP endpoint no span is recorded, and without a DSN no error is sent; with neither
 * there is no HTTP client either. Spans and errors that wait in memory are lost by a crash. */
#include "base/version.h"
#include "observe/log.h"
#include "observe/span.h"
#include "server/app.h"
#include "telemetry/otlp.h"
#include "telemetry/sentry.h"

#include <stdlib.h>
#include <unistd.h>

bool app_wants_traces(const struct app *app)
{
    const struct settings *s = &app->node.settings;

    return !s->otel_disabled && (s->otlp_endpoint.n || s->otlp_traces_endpoint.n);
}

bool app_wants_sentry(const struct app *app)
{
    return app->node.settings.sentry_dsn.n;
}

bool app_wants_telemetry(const struct app *app)
{
    return app_wants_traces(app) || app_wants_sentry(app);
}

/* The client has an egress thread of its own, so that a slow collector never delays a payment. */
bool app_open_telemetry(struct app *app)
{
    struct client_options o = { .env = &app->node.env,
                                .thread = "egress-observe",
                                .max_per_host = 2,
                                .max_total = 8,
                                .allow_private = true };
    struct why why = { 0 };

    return !client_open(&o, &app->telemetry_client, &why) ||
           app_fails(app, "cannot start telemetry", str_of(why.text));
}

/* --- traces --- */

/* The settings were checked when they were read. */
static struct spans *open_spans(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct spans_options o = { .env = &app->node.env,
                               .ratio = strtod(s->otel_sampler_arg.p, NULL),
                               .max = (size_t)s->otel_queue_max };

    return sampler_parse(s->otel_sampler, &o) ? spans_new(&o) : NULL;
}

bool app_open_traces(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct env *env = &app->node.env;
    struct otlp_options o = { .env = env,
                              .client = app->telemetry_client,
                              .executor = server_executor(app->server),
                              .base = s->otlp_endpoint,
                              .traces = s->otlp_traces_endpoint,
                              .headers = s->otlp_headers,
                              .service_name = s->otel_service_name,
                              .attributes = s->otel_attributes,
                              .version = S(ICHIDO_VERSION),
                              .timeout_ms = s->otlp_timeout_ms,
                              .delay_ms = s->otel_delay_ms,
                              .batch_max = (size_t)s->otel_batch_max };
    struct why why = { "not enough memory" };

    env->spans = open_spans(app);
    app->otlp = env->spans ? otlp_new(&o, &why) : NULL;
    return app->otlp || app_fails(app, "cannot export traces", str_of(why.text));
}

void app_drain_traces(struct app *app, void (*done)(void *ctx), void *ctx)
{
    otlp_stop(app->otlp, done, ctx);
}

/* --- Sentry --- */

bool app_open_sentry(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct sentry_options o = { .env = &app->node.env,
                                .executor = server_executor(app->server),
                                .client = app->telemetry_client,
                                .dsn = s->sentry_dsn,
                                .environment = s->sentry_environment,
                                .release = S(ICHIDO_VERSION) };
    struct why why = { "no memory" };

    if (gethostname(app->host_name, sizeof(app->host_name) - 1))
        app->host_name[0] = '\0';
    o.server_name = str_of(app->host_name);
    if (sentry_open(&o, &app->sentry, &why))
        return app_fails(app, "cannot send errors to Sentry", str_of(why.text));
    log_hook(app->node.env.log, sentry_line, app->sentry);
    return true;
}

/* --- both --- */

void app_start_telemetry(struct app *app)
{
    if (app->otlp)
        otlp_start(app->otlp);
    sentry_start(app->sentry);
    app_start_alerts(app);
    app_start_live(app);
}

void app_close_telemetry(struct app *app)
{
    struct spans *spans = app->node.env.spans;

    app_close_live(app);
    app_close_alerts(app);
    app->node.env.spans = NULL;
    otlp_free(app->otlp);
    spans_free(spans);
    log_hook(app->node.env.log, NULL, NULL);
    sentry_free(app->sentry);
}
