/* app_sentry.c - the errors of the log, and alerts, to Sentry (O4). */
#include "base/version.h"
#include "observe/log.h"
#include "server/app.h"
#include "telemetry/sentry.h"

#include <unistd.h>

bool app_open_sentry(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct why why = { "no memory" };
    enum err e;

    if (gethostname(app->host_name, sizeof(app->host_name) - 1))
        app->host_name[0] = '\0';
    e = sentry_open(&(struct sentry_options){ .env = &app->node.env,
                                              .home = server_home(app->server),
                                              .client = app->telemetry_client,
                                              .dsn = s->sentry_dsn,
                                              .environment = s->sentry_environment,
                                              .release = S(ICHIDO_VERSION),
                                              .server_name = str_of(app->host_name) },
                    &app->sentry, &why);
    if (e == ERR_NOT_FOUND)
        return true;
    if (e)
        LOG(app->node.env.log, LOG_ERROR, "cannot send errors to Sentry",
            LOG_TEXT("why", str_of(why.text)));
    else
        log_hook(app->node.env.log, sentry_line, app->sentry);
    return !e;
}

void app_start_sentry(struct app *app)
{
    sentry_start(app->sentry);
}

void app_close_sentry(struct app *app)
{
    log_hook(app->node.env.log, NULL, NULL);
    sentry_free(app->sentry);
}
