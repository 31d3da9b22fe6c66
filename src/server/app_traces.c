/* app_traces.c - where ended spans go (O3). Without an endpoint nobody records anything. */
#include "base/version.h"
#include "observe/log.h"
#include "observe/span.h"
#include "server/app.h"
#include "telemetry/otlp.h"

#include <stdlib.h>

bool app_wants_traces(const struct app *app)
{
    const struct settings *s = &app->node.settings;

    return !s->otel_disabled && (s->otlp_endpoint.n || s->otlp_traces_endpoint.n);
}

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
                              .home = server_home(app->server),
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

    if (!app_wants_traces(app))
        return true;
    env->spans = open_spans(app);
    app->otlp = env->spans ? otlp_new(&o, &why) : NULL;
    if (!app->otlp)
        LOG(env->log, LOG_ERROR, "cannot export traces", LOG_TEXT("why", str_of(why.text)));
    return app->otlp != NULL;
}

void app_start_traces(struct app *app)
{
    if (app->otlp)
        otlp_start(app->otlp);
}

void app_stop_traces(struct app *app, void (*stopped)(void *ctx), void *ctx)
{
    otlp_stop(app->otlp, stopped, ctx);
}

void app_close_traces(struct app *app)
{
    struct spans *spans = app->node.env.spans;

    app->node.env.spans = NULL;
    otlp_free(app->otlp);
    app->otlp = NULL;
    spans_free(spans);
}
