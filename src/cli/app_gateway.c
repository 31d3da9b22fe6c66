/* app_gateway.c - whom we call: the gateway (Stripe, or the sandbox that speaks like it), the
 * subscribers, the JWKS server; and the sandbox itself. */
#include "base/limits.h"
#include "cli/app.h"
#include "flow/waiting.h"
#include "gateway/stripe.h"
#include "observe/log.h"

#include <stdio.h>
#include <string.h>

#define STRIPE_BASE S("https://api.stripe.com")
#define SANDBOX_KEY S("sk_test_ichido_sandbox")

static bool fails(const struct app *app, const char *what, const char *why)
{
    LOG(app->node.env.log, LOG_ERROR, what, LOG_TEXT("why", str_of(why)));
    return false;
}

static bool is_sandbox(const struct app *app)
{
    return str_eq(app->node.settings.gateway, S("sandbox"));
}

/* --- the sandbox --- */

/* Beside the store where that is a file: data/ichido.db and data/ichido-sandbox.db. */
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
}

bool app_open_sandbox(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct sandbox_options o = { .env = &app->node.env, .listen = s->sandbox_listen };
    char why[256] = "";

    if (!is_sandbox(app) || !s->sandbox_listen.n)
        return true;
    choose_sandbox_db(app);
    choose_webhook_url(app);
    o.db = str_of(app->sandbox_db);
    if (s->sandbox_webhooks)
        o.webhook_url = str_of(app->webhook_url);
    o.webhook_secret = s->webhook_secrets[0];
    if (sandbox_open(&o, &app->sandbox, why))
        return fails(app, "cannot open the sandbox; ICHIDO_SANDBOX_LISTEN says where it listens",
                     why);
    snprintf(app->sandbox_address, sizeof(app->sandbox_address), "127.0.0.1:%d",
             sandbox_port(app->sandbox));
    return true;
}

/* --- clients, gateway, auth --- */

static bool open_clients(struct app *app)
{
    bool dev = app->node.settings.mode == MODE_DEV;
    struct client_options gateway = { .env = &app->node.env,
                                      .max_per_host = LIMIT_GATEWAY_CALLS,
                                      .max_total = LIMIT_GATEWAY_CALLS,
                                      .allow_private = true }; /* the operator named it */
    struct client_options delivery = { .env = &app->node.env, .allow_private = dev };
    char why[256] = "";

    if (client_open(&gateway, &app->gateway_client, why) ||
        client_open(&delivery, &app->delivery_client, why))
        return fails(app, "cannot make outgoing calls", why);
    return true;
}

static struct str gateway_base(struct app *app)
{
    const struct settings *s = &app->node.settings;

    if (s->stripe_api_base.n)
        return s->stripe_api_base;
    if (!is_sandbox(app))
        return STRIPE_BASE;
    snprintf(app->sandbox_base, sizeof(app->sandbox_base), "http://%s", app->sandbox_address);
    return str_of(app->sandbox_base);
}

static bool open_gateway(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct stripe_options o = {
        .env = &app->node.env,
        .client = app->gateway_client,
        .name = is_sandbox(app) ? "sandbox" : "stripe",
        .base = gateway_base(app),
        .secret_key = s->stripe_secret_key.n ? s->stripe_secret_key : SANDBOX_KEY,
    };

    if (!is_sandbox(app) && !str_eq(s->gateway, S("stripe")))
        return fails(app, "this gateway is not built yet; set ICHIDO_GATEWAY to sandbox or stripe",
                     "ICHIDO_GATEWAY");
    app->payments.gateway = stripe_gateway_new(&o);
    return app->payments.gateway || fails(app, "cannot open the gateway", "no memory");
}

static bool open_auth(struct app *app)
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
                              .admin_token = s->admin_token };
    char why[256] = "";

    app->auth = auth_new(&o, why);
    return app->auth || fails(app, "the keys for tokens cannot be used", why);
}

bool app_open_gateway(struct app *app)
{
    return open_clients(app) && open_gateway(app) && open_auth(app);
}

/* Their threads write into calls that the queue's jobs own: they go first. */
void app_close_clients(struct app *app)
{
    client_free(app->gateway_client);
    client_free(app->delivery_client);
}

void app_close_gateway(struct app *app)
{
    if (app->payments.gateway)
        app->payments.gateway->ops->free(app->payments.gateway);
    auth_free(app->auth);
    waiting_free(app->payments.waiting);
    sandbox_free(app->sandbox);
}
