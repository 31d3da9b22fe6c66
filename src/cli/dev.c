#include "cli/dev.h"

#include "base/hex.h"

#include <stdio.h>

enum { SECRET_BYTES = 16 };

bool dev_make_secrets(struct node *n)
{
    unsigned char bytes[SECRET_BYTES];
    char text[6 + 2 * SECRET_BYTES] = "whsec_";
    struct settings *s = &n->settings;

    if (s->webhook_secret_count)
        return true;
    rng_bytes(&n->env.rng, bytes, sizeof(bytes));
    hex_put(text + 6, bytes, sizeof(bytes));
    s->webhook_secrets = arena_alloc(&s->arena, 1, sizeof(*s->webhook_secrets));
    if (!s->webhook_secrets)
        return false;
    s->webhook_secrets[0] = arena_str(&s->arena, (struct str){ text, sizeof(text) });
    s->webhook_secret_count = 1;
    n->made_secret = true;
    return true;
}

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

void dev_banner(const struct node *n, const char *address)
{
    const struct settings *s = &n->settings;
    struct str secret = s->webhook_secrets[0];
    const char *curl = s->tls_cert.n ? "curl -k" : "curl",
               *scheme = s->tls_cert.n ? "https" : "http";

    if (!n->made_secret) /* yours is not ours to show */
        secret = S("$STRIPE_WEBHOOK_SECRET");
    printf("\n  Ichido is running (dev mode).    %s://%s\n", scheme, address);
    print_database(s->db);
    printf(
        "  webhook secret  " STR_FMT "\n\n"
        "  Send it an event as Stripe would; paste this into another terminal:\n\n"
        "    body='{\"id\":\"evt_1\",\"object\":\"event\",\"type\":\"payment_intent.succeeded\","
        "\"livemode\":false,\"data\":{\"object\":{\"id\":\"pi_1\",\"object\":\"payment_intent\"}"
        "}}'\n"
        "    t=$(date +%%s); v1=$(printf %%s \"$t.$body\" | openssl dgst -sha256 -hmac \"" STR_FMT
        "\" -r | cut -d' ' -f1)\n"
        "    %s -i %s://%s/api/v1/webhooks/stripe -H \"Stripe-Signature: t=$t,v1=$v1\" -d "
        "\"$body\"\n\n"
        "  Then look: %s -s %s://%s/metrics | grep ichido_event_outcome\n"
        "  Stop with Ctrl-C.\n\n",
        STR_ARG(secret), STR_ARG(secret), curl, scheme, address, curl, scheme, address);
    fflush(stdout);
}
