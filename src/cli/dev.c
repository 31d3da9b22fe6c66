#include "cli/dev.h"

#include "auth/auth.h"
#include "base/hex.h"
#include "base/limits.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

enum { SECRET_BYTES = 32, PREFIX_MAX = 8, TOKEN_LIFE_MS = 24 * 3600 * 1000 };

static const char demo_user[] = "01900000-0000-7000-8000-00000000d3a0";

/* --- secrets of this run --- */

/* prefix and 64 hex digits, in the settings' arena. */
static bool make(struct node *n, const char *prefix, struct str *ret_secret)
{
    unsigned char bytes[SECRET_BYTES];
    char text[PREFIX_MAX + 2 * SECRET_BYTES], *p = text;

    rng_bytes(&n->env.rng, bytes, sizeof(bytes));
    while (*prefix)
        *p++ = *prefix++;
    p = hex_put(p, bytes, sizeof(bytes));
    *ret_secret = arena_str(&n->settings.arena, (struct str){ text, (size_t)(p - text) });
    OPENSSL_cleanse(bytes, sizeof(bytes));
    OPENSSL_cleanse(text, sizeof(text));
    return ret_secret->p;
}

static bool make_webhook_secret(struct node *n)
{
    struct settings *s = &n->settings;

    if (s->webhook_secret_count)
        return true;
    s->webhook_secrets = arena_alloc(&s->arena, 1, sizeof(*s->webhook_secrets));
    if (!s->webhook_secrets || !make(n, "whsec_", &s->webhook_secrets[0]))
        return false;
    s->webhook_secret_count = 1;
    n->made_secret = true;
    return true;
}

/* Whoever has a key of his own, of whatever kind, gets no second one beside it. */
static bool make_jwt_secret(struct node *n)
{
    struct settings *s = &n->settings;

    if (s->jwt_secret.n || s->jwt_public_key.n || s->jwks_url.n)
        return true;
    n->made_jwt_secret = make(n, "", &s->jwt_secret);
    return n->made_jwt_secret;
}

static bool make_admin_token(struct node *n)
{
    if (n->settings.admin_token.n)
        return true;
    n->made_admin_token = make(n, "admin_", &n->settings.admin_token);
    return n->made_admin_token;
}

bool dev_make_secrets(struct node *n)
{
    return make_webhook_secret(n) && make_jwt_secret(n) && make_admin_token(n);
}

/* --- the banner --- */

struct place {
    const char *curl, *scheme, *address;
};

/* A path has nothing to hide; of a server's address only the kind is shown, never a password. */
static void print_database(struct str url)
{
    struct str kind = url;

    kind = str_cut(&kind, ':');
    if (str_eq(kind, S("sqlite")))
        printf("  database        " STR_FMT "\n", STR_ARG(url));
    else
        printf("  database        PostgreSQL, as ICHIDO_DB says\n");
}

static void print_booking(const struct place *at, const char *booking, struct str admin)
{
    printf("\n  Take a booking and pay for it; paste this into another terminal:\n\n"
           "    %s -sS -X PUT %s://%s/api/v1/bookings/%s -H \"Authorization: Bearer " STR_FMT
           "\" -H 'Content-Type: application/json' -d '{\"userId\":\"%s\",\"amount\":1200,"
           "\"currency\":\"JPY\",\"status\":\"PENDING\"}'; echo\n",
           at->curl, at->scheme, at->address, booking, STR_ARG(admin), demo_user);
}

static void print_payment(const struct place *at, const char *booking, struct str token)
{
    printf("    %s -sS -i %s://%s/payments -H \"Authorization: Bearer " STR_FMT
           "\" -H 'Idempotency-Key: %s' -H 'Content-Type: application/json' -d "
           "'{\"bookingId\":\"%s\",\"amount\":1200,\"currency\":\"JPY\"}'\n\n"
           "  The last line again: the same answer, and no second payment. Its token is good for "
           "24 hours.\n",
           at->curl, at->scheme, at->address, STR_ARG(token), booking, booking);
}

/* Only with a key that we made: with yours, tokens are yours to make. The booking is new at every
 * start, so that the lines work as often as one likes. */
static void print_try_paying(struct node *n, const struct place *at)
{
    const struct settings *s = &n->settings;
    struct str admin = n->made_admin_token ? s->admin_token : S("$ICHIDO_ADMIN_TOKEN");
    char booking[UUID_TEXT + 1];
    struct uuid user;
    struct arena a;
    struct str token;

    if (!n->made_jwt_secret || !uuid_parse(str_of(demo_user), &user))
        return;
    arena_init(&a, 4 * LIMIT_TOKEN);
    uuid_text(env_uuid(&n->env), booking);
    token = auth_make_token(&a, s->jwt_secret, s->jwt_issuer, s->jwt_audience, user, S(""),
                            clock_wall_ms(&n->env.clock), TOKEN_LIFE_MS);
    if (token.p) {
        print_booking(at, booking, admin);
        print_payment(at, booking, token);
    }
    arena_release(&a);
}

static void print_try_event(struct str secret, const struct place *at)
{
    printf(
        "\n  Send an event as Stripe would:\n\n"
        "    body='{\"id\":\"evt_1\",\"object\":\"event\",\"type\":\"payment_intent.succeeded\","
        "\"livemode\":false,\"data\":{\"object\":{\"id\":\"pi_1\",\"object\":\"payment_intent\"}"
        "}}'\n"
        "    t=$(date +%%s); v1=$(printf %%s \"$t.$body\" | openssl dgst -sha256 -hmac \"" STR_FMT
        "\" -r | cut -d' ' -f1)\n"
        "    %s -i %s://%s/api/v1/webhooks/stripe -H \"Stripe-Signature: t=$t,v1=$v1\" -d "
        "\"$body\"\n\n"
        "  Then look: %s -s %s://%s/metrics | grep ichido_event_outcome\n",
        STR_ARG(secret), at->curl, at->scheme, at->address, at->curl, at->scheme, at->address);
}

void dev_banner(struct node *n, const char *address)
{
    bool tls = n->settings.tls_cert.n > 0;
    struct place at = { tls ? "curl -k" : "curl", tls ? "https" : "http", address };
    struct str secret = n->settings.webhook_secrets[0];

    if (!n->made_secret) /* yours is not ours to show */
        secret = S("$STRIPE_WEBHOOK_SECRET");
    printf("\n  Ichido is running (dev mode).    %s://%s\n", at.scheme, at.address);
    print_database(n->settings.db);
    printf("  webhook secret  " STR_FMT "\n", STR_ARG(secret));
    print_try_paying(n, &at);
    print_try_event(secret, &at);
    printf("  Stop with Ctrl-C.\n\n");
    fflush(stdout);
}
