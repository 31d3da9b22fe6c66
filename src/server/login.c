/* login.c - logins of operators: the threads that hash passwords, the throttle, and the count of
 * failed logins, which is written when the server drains. */
#include "base/version.h"
#include "server/app.h"

bool app_open_login(struct app *app)
{
    struct env *env = &app->node.env;

    login_failures_init(&app->login_failures, env, app->node.store, server_executor(app->server));
    app->hasher = hasher_new(env);
    app->throttle = throttle_new(&env->rng);
    return (app->hasher && app->throttle) ||
           app_fails(app, "cannot take logins",
                     S("it needs more memory or threads than there are"));
}

/* True where the client used TLS: to this server, or to a trusted proxy that says so. */
static bool is_https(void *ctx, const struct request *r)
{
    const struct app *app = ctx;
    struct str proto = request_header(r, S("X-Forwarded-Proto"), NULL);
    struct address peer;

    if (app->node.settings.tls_cert.n)
        return true;
    return address_of(&r->peer, &peer) && allow_has(&app->trusted_proxies, peer) &&
           str_eq_nocase(str_trim(str_cut(&proto, ',')), S("https"));
}

struct api_login *app_login(struct app *app)
{
    const struct settings *s = &app->node.settings;

    app->api_login = (struct api_login){ .env = &app->node.env,
                                         .store = app->node.store,
                                         .auth = app->auth,
                                         .hasher = app->hasher,
                                         .throttle = app->throttle,
                                         .failures = &app->login_failures,
                                         .is_https = is_https,
                                         .https_ctx = app,
                                         .mode = s->mode == MODE_DEV ? "dev" : "production",
                                         .version = ICHIDO_VERSION,
                                         .sandbox = app->sandbox != NULL,
                                         .test_clock = s->test_clock };
    return &app->api_login;
}

void app_drain_login(struct app *app, void (*done)(void *ctx), void *ctx)
{
    login_failures_stop(&app->login_failures, done, ctx);
}

void app_close_login(struct app *app)
{
    hasher_free(app->hasher);
    throttle_free(app->throttle);
}
