/* webhooks.c - the endpoints that Stripe and PayPay send their webhooks to. */
#include "server/app.h"

/* --- Stripe --- */

bool app_open_stripe(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct stripe_door_options o = { .env = &app->node.env,
                                     .store = app->node.store,
                                     .queue = app->queue,
                                     .executor = server_executor(app->server),
                                     .secrets = s->webhook_secrets,
                                     .secret_count = s->webhook_secret_count,
                                     .ack = s->webhook_ack,
                                     .allow = s->webhook_allow,
                                     .trusted = &app->trusted_proxies,
                                     .backlog_limit = s->backlog_limit,
                                     .publish = s->queue_remote };
    struct why why = { 0 };

    app->door = stripe_door_new(&o, &why);
    return app->door || app_fails(app, "cannot open the Stripe door", str_of(why.text));
}

void app_drain_stripe(struct app *app, void (*done)(void *ctx), void *ctx)
{
    stripe_door_stop(app->door, done, ctx);
}

void app_close_stripe(struct app *app)
{
    stripe_door_free(app->door);
}

/* --- PayPay --- */

bool app_wants_paypay(const struct app *app)
{
    return settings_has_gateway(&app->node.settings, S("paypay"));
}

bool app_open_paypay(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct paypay_door_options o = { .env = &app->node.env,
                                     .store = app->node.store,
                                     .queue = app->queue,
                                     .executor = server_executor(app->server),
                                     .allow = s->paypay_allow,
                                     .everybody = s->mode == MODE_DEV,
                                     .trusted = &app->trusted_proxies,
                                     .backlog_limit = s->backlog_limit };
    struct why why = { 0 };

    app->paypay_door = paypay_door_new(&o, &why);
    return app->paypay_door || app_fails(app, "cannot open PayPay's door", str_of(why.text));
}

void app_drain_paypay(struct app *app, void (*done)(void *ctx), void *ctx)
{
    if (app->paypay_door)
        paypay_door_stop(app->paypay_door, done, ctx);
    else
        done(ctx);
}

void app_close_paypay(struct app *app)
{
    paypay_door_free(app->paypay_door);
}
