/* channels.c - the channels through which people are notified: mail, push and a webhook, each where
 * the settings name it. Their jobs are in jobs.c. */
#include "base/limits.h"
#include "collection/reminder.h"
#include "observe/log.h"
#include "server/app.h"

bool app_wants_notify_client(const struct app *app)
{
    const struct settings *s = &app->node.settings;

    return s->smtp_url.n || s->fcm_credentials.n || s->notify_url.n || s->alert_url.n;
}

/* The client has an egress thread of its own: a mail server that hangs delays mail and nothing
 * else. */
bool app_open_notify_client(struct app *app)
{
    struct client_options o = { .env = &app->node.env,
                                .thread = "egress-notify",
                                .max_per_host = LIMIT_SENDS,
                                .max_total = 4 * LIMIT_SENDS,
                                .allow_private = true };
    struct why why = { 0 };

    return !client_open(&o, &app->notify_client, &why) ||
           app_fails(app, "cannot start what tells people", str_of(why.text));
}

/* --- the transports --- */

static struct transport *open_mail(struct app *app, struct why *why)
{
    const struct settings *s = &app->node.settings;
    struct mail_options o = { .env = &app->node.env,
                              .client = app->notify_client,
                              .url = s->smtp_url,
                              .from = s->mail_from };

    return mail_new(&o, why);
}

static struct transport *open_push(struct app *app, struct why *why)
{
    const struct settings *s = &app->node.settings;
    struct push_options o = { .env = &app->node.env,
                              .client = app->notify_client,
                              .credentials = s->fcm_credentials,
                              .base = s->fcm_base };

    return push_new(&o, why);
}

static struct transport *open_hook(struct app *app, struct why *why)
{
    const struct settings *s = &app->node.settings;
    struct hook_options o = { .env = &app->node.env,
                              .client = app->notify_client,
                              .url = s->notify_url,
                              .secret = s->notify_secret };

    return hook_new(&o, why);
}

static bool open_channel(struct app *app, enum channel c, struct str setting,
                         struct transport *(*open)(struct app *app, struct why *why))
{
    struct why why = { 0 };

    if (!setting.n)
        return true;
    app->notify.transports[c] = open(app, &why);
    if (!app->notify.transports[c])
        LOG(app->node.env.log, LOG_ERROR, "cannot open a channel to people",
            LOG_TEXT("channel", str_of(channel_name(c))), LOG_TEXT("why", str_of(why.text)));
    return app->notify.transports[c] != NULL;
}

bool app_open_channels(struct app *app)
{
    const struct settings *s = &app->node.settings;

    app->notify.runtime = &app->payments.runtime;
    app->notify.reminder_holds = reminder_holds;
    return open_channel(app, CHANNEL_MAIL, s->smtp_url, open_mail) &&
           open_channel(app, CHANNEL_PUSH, s->fcm_credentials, open_push) &&
           open_channel(app, CHANNEL_WEBHOOK, s->notify_url, open_hook);
}

bool app_has_channel(const struct app *app)
{
    for (enum channel c = 0; c < CHANNELS; c++)
        if (app->notify.transports[c])
            return true;
    return false;
}

void app_start_channels(struct app *app)
{
    if (app_has_channel(app))
        teller_start(&app->teller, &app->node.env, app->node.store, server_executor(app->server));
}

void app_close_channels(struct app *app)
{
    for (enum channel c = 0; c < CHANNELS; c++) {
        struct transport *t = app->notify.transports[c];

        if (t)
            t->free(t);
        app->notify.transports[c] = NULL;
    }
}
