/* settings.h - the settings, listed once. From the environment, or from the file that ICHIDO_CONFIG
 * names (NAME=value lines, # comments; the environment wins). NAME_FILE reads a value from a file,
 * for secrets. Every wrong setting is one clear line, and all of them are said at once. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum mode { MODE_DEV, MODE_PRODUCTION };

struct settings {
    struct arena arena; /* owns all texts */
    enum mode mode;
    struct str listen;
    struct str db;
    struct str gateway;
    struct str stripe_secret_key; /* its prefix says whether live events are ours (W9) */
    struct str stripe_api_base;   /* empty: Stripe's own, or our sandbox */
    struct str sandbox_listen;    /* empty: off */
    struct str sandbox_db;        /* empty: beside the store */
    bool sandbox_webhooks;
    struct str refetch;     /* auto, on, off (E2) */
    struct str return_url;  /* where 3-D Secure sends the customer afterwards */
    int64_t reservation_ms; /* how long a position waits for its money (D19) */
    struct str language;    /* of what people are told: ja, en */
    int64_t key_ttl_ms, action_limit_ms;
    struct str jwt_secret, jwt_public_key, jwks_url, jwt_issuer, jwt_audience;
    struct str events_secret;    /* whsec_...: who signs events for POST /api/v1/events */
    struct str owner_may;        /* words separated by commas (A2) */
    struct str *webhook_secrets; /* STRIPE_WEBHOOK_SECRET, split at commas */
    size_t webhook_secret_count;
    int webhook_ack;            /* 204 or 200 */
    struct str webhook_allow;   /* comma-separated CIDRs; empty: everybody (W7) */
    struct str trusted_proxies; /* comma-separated CIDRs whose X-Forwarded-For is believed */
    struct str admin_token;
    bool test_clock;
    struct str faults;
    struct str tls_cert, tls_key; /* file names */
    struct str log_level;
    int loops;
    int db_connections;
    int max_connections;
    int rate_limit;                /* requests a second and client address; 0: no limit */
    int64_t backlog_limit;         /* live messages above which webhooks get 503 (W3) */
    int64_t oldest_ready_limit_ms; /* /readyz is red above it */
    int retries;                   /* of webhook jobs (Q2) */
    int64_t retry_first_ms;
};

typedef const char *(*settings_getenv)(const char *name);

/* False: `problems` has one line for each wrong setting, nothing may start, and *s is empty. An
 * empty value counts as not set. No line ever shows a value that could be a secret. env (environ,
 * or NULL) lists all names, so that a typing error in an ICHIDO_ name is found; values come through
 * get. */
bool settings_load(struct settings *s, settings_getenv get, char *const *env, struct buf *problems);
void settings_release(struct settings *s); /* wipes the secrets */
