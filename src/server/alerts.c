/* alerts.c - builds the alert watch (O4) and the channels that alerts go to. */
#include "base/limits.h"
#include "base/settings/address.h"
#include "server/app.h"

static bool are_mails(struct str list)
{
    for (int n = 0; list.n; n++)
        if (n == LIMIT_ALERT_MAILS || !address_is_mail(str_trim(str_cut(&list, ','))))
            return false;
    return true;
}

static bool open_hook(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct hook_options o = { .env = &app->node.env,
                              .client = app->notify_client,
                              .url = s->alert_url,
                              .secret = s->alert_secret };
    struct why why = { 0 };

    if (!s->alert_url.n)
        return true;
    app->alert_out.hook = hook_new(&o, &why);
    return app->alert_out.hook ||
           app_fails(app, "cannot tell ICHIDO_ALERT_WEBHOOK", str_of(why.text));
}

bool app_open_alerts(struct app *app)
{
    const struct settings *s = &app->node.settings;

    app->alert_desk = (struct alert_desk){ .env = &app->node.env,
                                           .payments = &app->payments,
                                           .unknown_ms = s->unknown_alert_ms,
                                           .mails = s->alert_mail,
                                           .has_webhook = s->alert_url.n > 0,
                                           .sentry = app->sentry };
    app->alert_out =
        (struct alert_out){ .runtime = &app->payments.runtime,
                            .mail = app->notify.transports[CHANNEL_MAIL],
                            .language = str_eq(s->language, S("en")) ? LANG_EN : LANG_JA };
    app->unknown.alerts = &app->alert_desk;
    if (!are_mails(s->alert_mail))
        return app_fails(app, "ICHIDO_ALERT_MAIL cannot be read",
                         S("mail addresses, ten at most, separated by commas"));
    return open_hook(app) && (alert_watch_open(&app->alert_watch, &app->alert_desk) ||
                              app_fails(app, "cannot watch for alerts", S("no memory")));
}

void app_start_alerts(struct app *app)
{
    alert_watch_start(&app->alert_watch, server_executor(app->server));
}

void app_close_alerts(struct app *app)
{
    struct transport *t = app->alert_out.hook;

    if (t)
        t->free(t);
    alert_watch_close(&app->alert_watch);
}
