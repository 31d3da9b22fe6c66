/* reconcile.c - builds what learns by querying the provider: the backfill of missing events, the
 * watch over unknown outcomes, and the daily reconciliation (E11, P7). */
#include "base/time/zone.h"
#include "server/app.h"

bool app_open_reconcile(struct app *app)
{
    const struct settings *s = &app->node.settings;
    enum err e = zone_load(s->time_zone, &app->zone);

    app->heal = (struct heal){ .payments = &app->payments,
                               .lister = app->lister,
                               .every_ms = app->lister ? s->heal_ms : 0,
                               .backlog_limit = s->backlog_limit,
                               .publish = s->queue_remote };
    app->unknown =
        (struct unknown_watch){ .payments = &app->payments, .alert_ms = s->unknown_alert_ms };
    app->reconcile = (struct reconcile){ .payments = &app->payments,
                                         .lister = app->lister,
                                         .zone = app->zone,
                                         .time_zone = s->time_zone };
    if (e)
        return app_fails(app,
                         "ICHIDO_TIME_ZONE must be a name of the system's tzdata, like Asia/Tokyo",
                         s->time_zone);
    return reconcile_set_time(&app->reconcile, s->reconcile_at) ||
           app_fails(app, "ICHIDO_RECONCILE_AT cannot be read", s->reconcile_at);
}

void app_close_reconcile(struct app *app)
{
    stripe_lister_free(app->lister);
    app->zone = zone_free(app->zone);
}
