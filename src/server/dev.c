/* dev.c - the secrets of dev mode, and the banner that it prints at a start: addresses and commands
 * to paste. A secret that the settings have is never printed. */
#include "server/dev.h"

#include "auth/auth.h"
#include "base/limits.h"
#include "observe/log.h"
#include "server/dev_secrets.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_LIFE_MS = 24 * 3600 * 1000 };

static const char demo_user[] = "01900000-0000-7000-8000-00000000d3a0";

/* --- secrets --- */

static bool server_dev_keep(struct node *n, const char *text, struct str *ret_secret)
{
    *ret_secret = arena_str(&n->settings.arena, str_of(text));
    return ret_secret->p;
}

static bool keep_webhook_secret(struct node *n, const char *text)
{
    struct settings *s = &n->settings;

    if (s->webhook_secret_count)
        return true;
    s->webhook_secrets = arena_alloc(&s->arena, 1, sizeof(*s->webhook_secrets));
    if (!s->webhook_secrets || !server_dev_keep(n, text, &s->webhook_secrets[0]))
        return false;
    s->webhook_secret_count = 1;
    n->made_secret = true;
    return true;
}

/* Where the settings have a key of any kind, no second one is made. */
static bool has_jwt_key(const struct settings *s)
{
    return s->jwt_secret.n || s->jwt_public_key.n || s->jwks_url.n;
}

/* A secret in the settings wins. The one in the file stays there for a start without that
 * setting. */
static bool keep_missing(struct node *n, const struct dev_secrets *made)
{
    struct settings *s = &n->settings;

    if (!keep_webhook_secret(n, made->text[DEV_WEBHOOK_SECRET]))
        return false;
    if (!has_jwt_key(s)) {
        n->made_jwt_secret = server_dev_keep(n, made->text[DEV_JWT_SECRET], &s->jwt_secret);
        if (!n->made_jwt_secret)
            return false;
    }
    if (s->admin_token.n)
        return true;
    n->made_admin_token = server_dev_keep(n, made->text[DEV_ADMIN_TOKEN], &s->admin_token);
    return n->made_admin_token;
}

/* Production mode needs no webhook secret where no gateway sends webhooks. A random secret makes
 * the endpoint refuse every webhook. */
static bool make_for_production(struct node *n, struct dev_secrets *made)
{
    dev_secret_make(&n->env.rng, DEV_WEBHOOK_SECRET, made->text[DEV_WEBHOOK_SECRET]);
    return keep_webhook_secret(n, made->text[DEV_WEBHOOK_SECRET]);
}

static bool get_kept(struct node *n, struct dev_secrets *made)
{
    struct why why = { 0 };

    switch (dev_secrets_get(&n->env.rng, n->settings.db, made, &why)) {
    case DEV_REFUSED:
        LOG(n->env.log, LOG_ERROR, "the file with dev mode's secrets cannot be used",
            LOG_TEXT("why", str_of(why.text)));
        return false;
    case DEV_NOT_KEPT:
        LOG(n->env.log, LOG_WARN, "the secrets are good for this run only",
            LOG_TEXT("why", str_of(why.text)));
        return keep_missing(n, made);
    case DEV_KEPT: return keep_missing(n, made);
    }
    abort();
}

bool dev_make_secrets(struct node *n)
{
    const struct settings *s = &n->settings;
    struct dev_secrets made = { 0 };
    bool fine = true;

    if (s->mode == MODE_PRODUCTION)
        fine = make_for_production(n, &made);
    else if (!s->webhook_secret_count || !has_jwt_key(s) || !s->admin_token.n)
        fine = get_kept(n, &made);
    OPENSSL_cleanse(&made, sizeof(made));
    return fine;
}

/* --- the banner --- */

struct server_dev_place {
    const char *curl, *scheme, *address;
};

/* Shows the path of SQLite. The URL of PostgreSQL may hold a password and is not shown. */
static void print_database(struct str url)
{
    struct str kind = url;

    kind = str_cut(&kind, ':');
    if (str_eq(kind, S("sqlite")))
        printf("  database        " STR_FMT "\n", STR_ARG(url));
    else
        printf("  database        PostgreSQL, as ICHIDO_DB says\n");
}

/* The public token of the SDK's dev mode (base/settings/rules.c). With it the SDK finds a server
 * that listens on 127.0.0.1 without TLS. */
static const struct str sdk_token = {
    "eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=", 72
};

static void print_qstash(const struct settings *s, const struct server_dev_place *at)
{
    bool is_sdks = str_eq(s->qstash_token, sdk_token);
    struct str port = str_of(at->address), host = str_cut(&port, ':');

    if (s->queue_remote) /* then the token is the remote's, and our QStash API is off */
        return;
    if (is_sdks && !s->tls_cert.n && str_eq(host, S("127.0.0.1")))
        printf("  QStash API      %s://%s/v2/    QSTASH_DEV=1 QSTASH_DEV_PORT=" STR_FMT
               " attaches the SDK\n",
               at->scheme, at->address, STR_ARG(port));
    else
        printf("  QStash API      QSTASH_URL=%s://%s QSTASH_TOKEN=" STR_FMT "\n", at->scheme,
               at->address, STR_ARG(is_sdks ? s->qstash_token : S("$QSTASH_TOKEN")));
}

#define BEARER(name) " -H \"Authorization: Bearer $" name "\""
#define JSON_BODY " -H 'Content-Type: application/json' -d "

/* token is empty where the settings have a key that only its owner can sign with. */
static void print_tokens(const struct node *n, struct str token)
{
    printf("\n  Take a booking and pay for it; paste this into another terminal:\n\n");
    if (n->made_admin_token)
        printf("    export ICHIDO_ADMIN_TOKEN=" STR_FMT "\n", STR_ARG(n->settings.admin_token));
    if (token.n)
        printf("    token=" STR_FMT "\n", STR_ARG(token));
    else
        printf(
            "    token=...    # yours to sign, with the key that you have set; \"sub\": \"%s\"\n",
            demo_user);
}

static void print_payment(const struct server_dev_place *at, const char *booking)
{
    printf("    %s -sS -X PUT %s://%s/api/v1/bookings/%s" BEARER("ICHIDO_ADMIN_TOKEN") JSON_BODY
           "'{\"userId\":\"%s\",\"amount\":1200,\"currency\":\"JPY\",\"status\":\"PENDING\"}'; "
           "echo\n",
           at->curl, at->scheme, at->address, booking, demo_user);
    printf("    %s -sS -i %s://%s/payments" BEARER(
               "token") " -H 'Idempotency-Key: %s'" JSON_BODY
                        "'{\"bookingId\":\"%s\",\"amount\":1200,\"currency\":\"JPY\"}'; echo\n\n"
                        "  The last line again: the same answer, and no second payment, also after "
                        "kill -9 and a "
                        "new start.\n",
           at->curl, at->scheme, at->address, booking, booking);
}

static void print_operation(const struct server_dev_place *at, const char *what, struct uuid key,
                            const char *body)
{
    char text[UUID_TEXT + 1];

    uuid_text(key, text);
    printf("    %s -sS %s://%s/payments/$id/%s" BEARER(
               "token") " -H 'Idempotency-Key: %s'" JSON_BODY "'%s'; echo\n",
           at->curl, at->scheme, at->address, what, text, body);
}

static void print_operations(struct node *n, const struct server_dev_place *at, const char *booking)
{
    printf("  Capture it, and give 200 back (every operation has its own key, a UUID):\n\n"
           "    id=$(%s -sS '%s://%s/payments?bookingId=%s'" BEARER(
               "token") " | sed "
                        "'s/.*\"id\":\"\\([^\"]*\\)\",\"bookingId\".*/\\1/')\n",
           at->curl, at->scheme, at->address, booking);
    print_operation(at, "capture", env_uuid(&n->env), "{}");
    print_operation(at, "refund", env_uuid(&n->env), "{\"amount\":200}");
}

/* The booking is new at every start, so that the lines work after each of them. */
static void print_try_paying(struct node *n, const struct server_dev_place *at)
{
    const struct settings *s = &n->settings;
    char booking[UUID_TEXT + 1];
    struct str token = { 0 };
    struct uuid user;
    struct arena a;

    if (!uuid_parse(str_of(demo_user), &user))
        return;
    arena_init(&a, 4 * LIMIT_TOKEN);
    uuid_text(env_uuid(&n->env), booking);
    if (s->jwt_secret.n)
        token = auth_make_token(&a, s->jwt_secret, s->jwt_issuer, s->jwt_audience, user, S(""),
                                clock_wall_ms(&n->env.clock), TOKEN_LIFE_MS);
    print_tokens(n, token);
    print_payment(at, booking);
    print_operations(n, at, booking);
    arena_release(&a);
}

static void print_try_event(struct str secret, const struct server_dev_place *at)
{
    printf(
        "\n  Send an event as Stripe would:\n\n"
        "    body='{\"id\":\"evt_1\",\"object\":\"event\",\"type\":\"payment_intent.succeeded\","
        "\"livemode\":false,\"data\":{\"object\":{\"id\":\"pi_1\",\"object\":\"payment_intent\"}"
        "}}'\n"
        "    t=$(date +%%s); v1=$(printf %%s \"$t.$body\" | openssl dgst -sha256 -hmac \"" STR_FMT
        "\" -r | cut -d' ' -f1)\n"
        "    %s -sSi %s://%s/api/v1/webhooks/stripe -H \"Stripe-Signature: t=$t,v1=$v1\" -d "
        "\"$body\"\n\n"
        "  Then look: %s -s %s://%s/metrics | grep ichido_event_outcome\n",
        STR_ARG(secret), at->curl, at->scheme, at->address, at->curl, at->scheme, at->address);
}

/* The browser does not send the part after '#'. The page logs in with it and removes it. */
static void print_page(const struct node *n, const struct server_dev_place *at)
{
    struct str token = n->made_admin_token ? n->settings.admin_token : (struct str){ 0 };

    printf("  admin page      %s://%s/admin%s" STR_FMT "\n", at->scheme, at->address,
           token.n ? "#token=" : "    (log in with your ICHIDO_ADMIN_TOKEN)", STR_ARG(token));
}

static void print_next(void)
{
    printf("\n  What next: the admin page's sandbox makes payments and faults with a click;\n"
           "  ichido help lists the commands, ichido doctor looks for what is wrong.\n");
}

void dev_banner(struct node *n, const char *address, const char *sandbox)
{
    bool tls = n->settings.tls_cert.n > 0;
    struct server_dev_place at = { tls ? "curl -k" : "curl", tls ? "https" : "http", address };
    struct str secret = n->settings.webhook_secrets[0];

    if (!n->made_secret) /* a secret of the settings is not shown */
        secret = S("$STRIPE_WEBHOOK_SECRET");
    printf("\n  Ichido is running (dev mode).    %s://%s\n", at.scheme, at.address);
    print_page(n, &at);
    print_database(n->settings.db);
    printf("  webhook secret  " STR_FMT "\n", STR_ARG(secret));
    print_qstash(&n->settings, &at);
    if (sandbox)
        printf("  sandbox         http://%s/_sandbox\n", sandbox);
    print_try_paying(n, &at);
    print_try_event(secret, &at);
    print_next();
    printf("  Stop with Ctrl-C.\n\n");
    fflush(stdout);
}
