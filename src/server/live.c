/* live.c - the live charts of the admin page (O8), and the contexts of its routes for queues,
 * schedules, settings and the sandbox. */
#include "base/version.h"
#include "observe/log.h"
#include "qstash/operator_view.h"
#include "server/app.h"

void app_start_live(struct app *app)
{
    struct live_watch *w = &app->live_watch;

    *w = (struct live_watch){ .env = &app->node.env, .queue = app->queue, .server = app->server };
    if (!live_watch_start(w, server_executor(app->server)))
        LOG(app->node.env.log, LOG_WARN, "there are no live charts until the next start",
            LOG_TEXT("why", S("no memory")));
}

void app_close_live(struct app *app)
{
    live_watch_close(&app->live_watch);
}

/* --- routes --- */

static enum err hold_queue(void *qstash, struct tx *tx, struct str name, bool paused)
{
    return qstash_queue_hold(qstash, tx, name, paused);
}

static void fill_queues(struct app *app)
{
    app->api_queues = (struct api_queues){ .store = app->node.store,
                                           .door = { .qstash = &app->qstash,
                                                     .can_be = qstash_name_can_be,
                                                     .queues = qstash_queues_seen,
                                                     .queue = qstash_queue_seen,
                                                     .hold_queue = hold_queue,
                                                     .schedules = qstash_schedules_seen,
                                                     .schedule = qstash_schedule_seen,
                                                     .hold_schedule = qstash_schedule_hold } };
}

static void fill_settings(struct app *app)
{
    const struct node *n = &app->node;

    app->api_settings =
        (struct api_settings){ .settings = &n->settings,
                               .made = { n->made_secret ? "STRIPE_WEBHOOK_SECRET" : NULL,
                                         n->made_jwt_secret ? "ICHIDO_JWT_SECRET" : NULL,
                                         n->made_admin_token ? "ICHIDO_ADMIN_TOKEN" : NULL } };
}

static void fill_sandbox(struct app *app)
{
    app->api_sandbox = (struct api_sandbox){ .payments = &app->payments,
                                             .client = app->gateway_client,
                                             .base = str_of(app->sandbox_base),
                                             .webhook_url = str_of(app->webhook_url),
                                             .secret = app->node.settings.webhook_secrets[0] };
}

void app_fill_live(struct app *app)
{
    const struct settings *s = &app->node.settings;

    app->api_overview = (struct api_overview){
        .payments = &app->payments,
        .watch = &app->live_watch,
        .zone = app->zone,
        .time_zone = s->time_zone,
        .version = ICHIDO_VERSION,
        .database = str_starts(s->db, S("sqlite:")) ? "sqlite" : "postgres",
    };
    fill_queues(app);
    fill_settings(app);
    if (app->sandbox)
        fill_sandbox(app);
}
