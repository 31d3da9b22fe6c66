/* app_reconcile.c - what is found out by asking: webhooks that never came, outcomes that nobody knows,
 * and the provider's books (E11, P7). */
#include "base/time/zone.h"
#include "observe/log.h"
#include "server/app.h"

#include <assert.h>

static bool app_reconcile_fails(const struct app *app, const char *what, struct str why)
{
    LOG(app->node.env.log, LOG_ERROR, what, LOG_TEXT("why", why));
    return false;
}

bool app_open_books(struct app *app)
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
        return app_reconcile_fails(
            app, "ICHIDO_TIME_ZONE must be a name of the system's tzdata, like Asia/Tokyo",
            s->time_zone);
    return reconcile_set_time(&app->reconcile, s->reconcile_at) ||
           app_reconcile_fails(app, "ICHIDO_RECONCILE_AT cannot be read", s->reconcile_at);
}

void app_close_books(struct app *app)
{
    stripe_lister_free(app->lister);
    app->zone = zone_free(app->zone);
}

/* --- once at start: each has one message, which may be there already --- */

static enum err start_heal(struct tx *tx, struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, books_units[0]);

    return heal_start(tx, &app->heal, env_now_ms(&app->node.env));
}

static enum err start_unknown(struct tx *tx, struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, books_units[1]);

    return unknown_start(tx, &app->unknown, env_now_ms(&app->node.env));
}

static enum err start_reconcile(struct tx *tx, struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, books_units[2]);

    return reconcile_daily_start(tx, &app->reconcile, env_now_ms(&app->node.env));
}

static void app_reconcile_tell(struct app *app, const struct unit *u)
{
    if (u->err && u->err != ERR_CONFLICT)
        LOG(app->node.env.log, LOG_WARN, "what is found out by asking begins at the next start",
            LOG_TEXT("part", str_of(u->kind->name)), LOG_TEXT("code", str_of(err_code(u->err))));
}

static void heal_started(struct unit *u)
{
    app_reconcile_tell(CONTAINER_OF(u, struct app, books_units[0]), u);
}

static void unknown_started(struct unit *u)
{
    app_reconcile_tell(CONTAINER_OF(u, struct app, books_units[1]), u);
}

static void reconcile_started(struct unit *u)
{
    app_reconcile_tell(CONTAINER_OF(u, struct app, books_units[2]), u);
}

void app_start_books(struct app *app)
{
    static const struct unit_kind kinds[] = { { "heal.start", UNIT_BACK, start_heal, NULL },
                                              { "unknown.start", UNIT_BACK, start_unknown, NULL },
                                              { "reconcile.start", UNIT_BACK, start_reconcile,
                                                NULL } };
    static void (*const done[])(struct unit *) = { heal_started, unknown_started,
                                                   reconcile_started };

    static_assert(COUNT(kinds) == COUNT(app->books_units), "one unit for each");
    for (size_t i = 0; i < COUNT(kinds); i++) {
        app->books_units[i] =
            (struct unit){ .kind = &kinds[i], .home = server_home(app->server), .done = done[i] };
        store_post(app->node.store, &app->books_units[i]);
    }
}
