/* app_telemetry.c - what leaves the house: traces, errors, alerts. */
#include "observe/log.h"
#include "server/app.h"

/* An egress thread of its own: who looks at us from outside never slows a payment. */
static bool open_client(struct app *app)
{
    struct why why = { 0 };

    if (!client_open(
            &(struct client_options){
                .env = &app->node.env, .max_per_host = 2, .max_total = 8, .allow_private = true },
            &app->telemetry_client, &why))
        return true;
    LOG(app->node.env.log, LOG_ERROR, "cannot start telemetry", LOG_TEXT("why", str_of(why.text)));
    return false;
}

bool app_open_telemetry(struct app *app)
{
    bool wanted = app_wants_traces(app) || app->node.settings.sentry_dsn.n;

    if ((wanted && !open_client(app)) || !app_open_traces(app) || !app_open_sentry(app))
        return false;
    return app_open_alerts(app);
}

void app_start_telemetry(struct app *app)
{
    app_start_traces(app);
    app_start_sentry(app);
    app_start_alerts(app);
    app_start_live(app);
}

void app_close_telemetry(struct app *app)
{
    app_close_live(app);
    app_close_alerts(app);
    app_close_traces(app);
    app_close_sentry(app);
}
