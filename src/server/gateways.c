/* gateways.c - the sandbox, the HTTP clients for gateways and subscribers, the gateways, and the
 * keys that requests are authenticated with.
 *
 * ICHIDO_GATEWAY names the default gateway and ICHIDO_ROUTES further ones. With the default
 * "sandbox" the Stripe gateway calls the sandbox instead of Stripe. */
#include "base/limits.h"
#include "base/time/zone.h"
#include "gateway/create_lookup.h"
#include "gateway/guard.h"
#include "gateway/manual.h"
#include "gateway/paypay/paypay.h"
#include "gateway/stripe/stripe.h"
#include "server/app.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STRIPE_BASE S("https://api.stripe.com")
#define SANDBOX_KEY S("sk_test_ichido_sandbox")

static bool is_sandbox(const struct app *app)
{
    return str_eq(app->node.settings.gateway, S("sandbox"));
}

/* --- the sandbox --- */

/* Puts it beside the database where that is a file: data/ichido.db and data/ichido-sandbox.db. */
static void choose_sandbox_db(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct str path = s->db;

    if (s->sandbox_db.n) {
        snprintf(app->sandbox_db, sizeof(app->sandbox_db), STR_FMT, STR_ARG(s->sandbox_db));
        return;
    }
    if (!str_starts(path, S("sqlite:")))
        path = S("sqlite:data/ichido.db");
    if (str_ends(path, S(".db")))
        path.n -= 3;
    snprintf(app->sandbox_db, sizeof(app->sandbox_db), STR_FMT "-sandbox.db", STR_ARG(path));
}

static void choose_webhook_url(struct app *app)
{
    const struct settings *s = &app->node.settings;

    snprintf(app->webhook_url, sizeof(app->webhook_url), "http%s://%s/api/v1/webhooks/stripe",
             s->tls_cert.n ? "s" : "", app->address);
    snprintf(app->paypay_hook, sizeof(app->paypay_hook), "http%s://%s/api/v1/webhooks/paypay",
             s->tls_cert.n ? "s" : "", app->address);
}

bool app_wants_sandbox(const struct app *app)
{
    return is_sandbox(app) && app->node.settings.sandbox_listen.n;
}

bool app_open_sandbox(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct sandbox_options o = { .env = &app->node.env,
                                 .listen = s->sandbox_listen,
                                 .paypay_key = s->paypay_api_key,
                                 .paypay_secret = s->paypay_api_secret,
                                 .paypay_merchant = s->paypay_merchant_id };
    struct why why = { 0 };

    choose_sandbox_db(app);
    choose_webhook_url(app);
    o.db = str_of(app->sandbox_db);
    if (s->sandbox_webhooks)
        o.webhook_url = str_of(app->webhook_url);
    if (s->sandbox_webhooks && settings_has_gateway(s, S("paypay")))
        o.paypay_webhook_url = str_of(app->paypay_hook);
    o.webhook_secret = s->webhook_secrets[0];
    if (sandbox_open(&o, &app->sandbox, &why))
        return app_fails(
            app,
            "cannot open the sandbox; where its address is taken, stop that program or set "
            "ICHIDO_SANDBOX_LISTEN to a free one like 127.0.0.1:12112",
            str_of(why.text));
    snprintf(app->sandbox_address, sizeof(app->sandbox_address), "127.0.0.1:%d",
             sandbox_port(app->sandbox));
    return true;
}

/* --- clients, gateway, auth --- */

bool app_open_clients(struct app *app)
{
    bool dev = app->node.settings.mode == MODE_DEV;
    struct client_options gateway = { .env = &app->node.env,
                                      .thread = "egress-gateway",
                                      .max_per_host = LIMIT_GATEWAY_CALLS,
                                      .max_total = LIMIT_GATEWAY_CALLS,
                                      .allow_private = true }; /* the operator named it */
    struct client_options delivery = { .env = &app->node.env,
                                       .thread = "egress-events",
                                       .allow_private = dev };
    struct why why = { 0 };

    if (client_open(&gateway, &app->gateway_client, &why) ||
        client_open(&delivery, &app->delivery_client, &why))
        return app_fails(app, "cannot make outgoing calls", str_of(why.text));
    return true;
}

static struct str sandbox_base(struct app *app)
{
    snprintf(app->sandbox_base, sizeof(app->sandbox_base), "http://%s", app->sandbox_address);
    return str_of(app->sandbox_base);
}

static struct str gateway_base(struct app *app)
{
    const struct settings *s = &app->node.settings;

    if (s->stripe_api_base.n)
        return s->stripe_api_base;
    return is_sandbox(app) ? sandbox_base(app) : STRIPE_BASE;
}

static struct gateway *open_stripe(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct stripe_options o = {
        .env = &app->node.env,
        .client = app->gateway_client,
        .name = is_sandbox(app) ? "sandbox" : "stripe",
        .base = gateway_base(app),
        .secret_key = s->stripe_secret_key.n ? s->stripe_secret_key : SANDBOX_KEY,
        .default_method = is_sandbox(app) ? S("pm_card_visa") : S(""),
    };
    struct stripe_lister_options books = {
        .env = o.env, .client = o.client, .base = o.base, .secret_key = o.secret_key
    };

    app->lister = app->lister ? app->lister : stripe_lister_new(&books);
    return app->lister ? stripe_gateway_new(&o) : NULL;
}

/* Production mode does not start without PAYPAY_API_BASE. */
static struct gateway *open_paypay(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct paypay_options o = { .env = &app->node.env,
                                .client = app->gateway_client,
                                .base =
                                    s->paypay_api_base.n ? s->paypay_api_base : sandbox_base(app),
                                .api_key = s->paypay_api_key,
                                .api_secret = s->paypay_api_secret,
                                .merchant_id = s->paypay_merchant_id };

    return paypay_gateway_new(&o);
}

static struct gateway *open_manual(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct manual_options o = { .env = &app->node.env,
                                .store = app->node.store,
                                .account = s->bank_account,
                                .days = s->bank_days };

    if (zone_load(s->time_zone, &o.zone)) {
        app_fails(app, "bank transfers need a time zone for their deadlines",
                  S("ICHIDO_TIME_ZONE"));
        return NULL;
    }
    return manual_gateway_new(&o);
}

static const struct opener {
    const char *name;
    struct gateway *(*open)(struct app *app); /* NULL: no memory */
} openers[] = {
    { "sandbox", open_stripe },
    { "stripe", open_stripe },
    { "paypay", open_paypay },
    { "manual", open_manual },
};

/* Opens one gateway behind a guard of its own (G5). */
static bool open_one(struct app *app, const struct opener *o)
{
    const struct settings *s = &app->node.settings;
    struct str name = str_of(o->name);
    struct guard_options guard = {
        .env = &app->node.env,
        .calls = (int)settings_of_gateway(s->gateway_calls, name, LIMIT_GATEWAY_CALLS),
        .try_ms = settings_of_gateway(s->gateway_timeout, name, LIMIT_GATEWAY_CALL_MS),
    };
    struct gateway *g = o->open(app);

    if (g)
        g = guard_new(&guard, g);
    app->gateways.guards[app->gateways.count] = g;
    if (g && o->open == open_stripe) /* the other gateways find a payment by our id */
        g = finder_new(g);
    if (!g)
        return app_fails(app, "cannot open the gateway", S("no memory"));
    app->gateways.all[app->gateways.count++] = g;
    return true;
}

/* Opens the default gateway first. */
bool app_open_gateways(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct why why;

    static_assert(COUNT(openers) <= GATEWAYS_MAX, "room for all gateways");
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < COUNT(openers); i++) {
            struct str name = str_of(openers[i].name);

            if (others != str_eq(s->gateway, name) && settings_has_gateway(s, name) &&
                !open_one(app, &openers[i]))
                return false;
        }
    if (!app->gateways.count)
        return app_fails(app,
                         "this gateway is not built yet; set ICHIDO_GATEWAY to sandbox or stripe",
                         S("ICHIDO_GATEWAY"));
    return gateways_route(&app->gateways, s->routes, &why) ||
           app_fails(app, "ICHIDO_ROUTES", str_of(why.text));
}

bool app_open_auth(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct auth_options o = { .env = &app->node.env,
                              .client =
                                  app->gateway_client, /* may be private: the operator named it */
                              .secret = s->jwt_secret,
                              .public_key = s->jwt_public_key,
                              .jwks_url = s->jwks_url,
                              .issuer = s->jwt_issuer,
                              .audience = s->jwt_audience,
                              .admin_token = s->admin_token,
                              .store = app->node.store,
                              .public_url = s->public_url };
    struct why why = { 0 };

    app->auth = auth_new(&o, &why);
    return app->auth || app_fails(app, "the keys for tokens cannot be used", str_of(why.text));
}

/* The thread of a client writes into calls that the queue's jobs own, so every client is closed
 * before the queue is freed. */
void app_close_clients(struct app *app)
{
    client_free(app->gateway_client);
    client_free(app->delivery_client);
    client_free(app->qstash_client);
    client_free(app->publish_client);
    client_free(app->notify_client);
    client_free(app->telemetry_client);
}

void app_close_gateways(struct app *app)
{
    gateways_free(&app->gateways);
}

void app_close_auth(struct app *app)
{
    auth_free(app->auth);
}

void app_close_sandbox(struct app *app)
{
    sandbox_free(app->sandbox);
}
