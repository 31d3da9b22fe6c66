/* settings.h - all settings of the program. They come from the environment or from the file that
 * ICHIDO_CONFIG names (NAME=value lines, # comments; the environment wins). NAME_FILE names a file
 * that holds a value, for secrets. Each wrong setting is reported in one line, and all of them
 * together. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum mode { MODE_DEV, MODE_PRODUCTION };

enum setting_source {
    SETTING_DEFAULT,
    SETTING_ENVIRONMENT,
    SETTING_CONFIG,  /* a line of ICHIDO_CONFIG's file */
    SETTING_CONTENTS /* what is in the file that NAME_FILE names */
};
struct setting_given;

struct settings {
    struct arena arena;          /* owns all texts */
    struct setting_given *given; /* for settings_view() */
    enum mode mode;
    struct str listen;
    struct str db;
    struct str gateway;         /* for payments that no route matches */
    struct str routes;          /* "paypay=paypay,card:USD=stripe" (G5) */
    struct str gateway_calls;   /* "200" or "stripe=200,paypay=50": settings_of_gateway() */
    struct str gateway_timeout; /* the same, in milliseconds */
    struct str paypay_api_key, paypay_api_secret, paypay_merchant_id;
    struct str paypay_api_base;   /* empty: the sandbox; production must set it */
    struct str paypay_allow;      /* comma-separated CIDRs that may send notifications (W8) */
    struct str bank_account;      /* the bank account that payers are shown, as text (G4) */
    int bank_days;                /* until a transfer must have arrived */
    int64_t heal_ms;              /* how often missing events are backfilled; 0: never */
    struct str reconcile_at;      /* "04:00" of time_zone, or off (E11) */
    struct str time_zone;         /* in which the days of a report are counted */
    int64_t unknown_alert_ms;     /* an outcome that is unknown for longer raises an alert (P7) */
    struct str stripe_secret_key; /* its prefix says whether live events are ours (W9) */
    struct str stripe_api_base;   /* empty: Stripe's API, or the sandbox */
    struct str sandbox_listen;    /* empty: off */
    struct str sandbox_db;        /* empty: a file beside the database */
    bool sandbox_webhooks;
    struct str refetch;     /* auto, on, off (E2) */
    struct str return_url;  /* where 3-D Secure sends the customer afterwards */
    int64_t reservation_ms; /* how long a position is reserved for its payment (D19) */
    struct str language;    /* of notifications: ja, en */
    int64_t key_ttl_ms, action_limit_ms;
    struct str jwt_secret, jwt_public_key, jwks_url, jwt_issuer, jwt_audience;
    struct str events_secret;    /* whsec_...: signs the events of POST /api/v1/events */
    struct str owner_may;        /* words separated by commas (A2) */
    struct str *webhook_secrets; /* STRIPE_WEBHOOK_SECRET, split at commas */
    size_t webhook_secret_count;
    int webhook_ack;            /* 204 or 200 */
    struct str webhook_allow;   /* comma-separated CIDRs; empty: every address (W7) */
    struct str trusted_proxies; /* comma-separated CIDRs whose X-Forwarded-For is trusted */
    struct str admin_token;
    bool test_clock;
    int test_patience;
    struct str faults;
    struct str tls_cert, tls_key; /* file names */
    struct str log_level;
    struct str log_format; /* auto: JSON, but text on a terminal; json, text (O1) */
    int retention_days;    /* after which a provider's payloads are deleted (A6) */
    int loops;
    int db_connections;
    int max_connections;
    int rate_limit;                /* requests a second and client address; 0: no limit */
    int64_t backlog_limit;         /* live messages above which webhooks get 503 (W3) */
    int64_t oldest_ready_limit_ms; /* /readyz is red above it */
    int retries;                   /* of webhook jobs (Q2) */
    int64_t retry_first_ms;
    bool queue_remote;     /* ICHIDO_QUEUE=qstash: webhook events go through a remote QStash (Q5) */
    struct str qstash_url; /* the API of that remote */
    struct str qstash_token; /* of our QStash API; with queue_remote, for the remote */
    struct str qstash_current_key, qstash_next_key; /* both or none */
    struct str public_url;                          /* the URL of this server from outside */
    int64_t qstash_dedup_ms;                        /* how long our QStash API keeps a dedup id */
    bool qstash_private; /* its deliveries may go to loopback and private addresses */

    /* notifications (N1, S2) */
    struct str smtp_url, mail_from;       /* smtp://user:password@host:587; empty: no mail */
    struct str fcm_credentials;           /* a service account's JSON; empty: no push */
    struct str fcm_base;                  /* empty: Google's API */
    struct str notify_url, notify_secret; /* the channel webhook: both or none */
    struct str reminder_days;             /* from a collection's due date: "-3,0,7" */
    struct str reminder_time;             /* "10:00" in the collection's zone, or off */

    /* telemetry: traces, errors, alerts (O3, O4) */
    struct str otlp_endpoint, otlp_traces_endpoint; /* a base URL; or a full URL, which wins */
    struct str otlp_headers, otlp_protocol;
    struct str otel_service_name, otel_attributes;
    struct str otel_sampler, otel_sampler_arg;
    bool otel_disabled;
    int64_t otlp_timeout_ms, otel_delay_ms, otel_queue_max, otel_batch_max;
    struct str sentry_dsn, sentry_environment;
    struct str alert_url, alert_secret; /* the secret may be empty: not signed */
    struct str alert_mail;              /* addresses, separated by commas */
};

typedef const char *(*settings_getenv)(const char *name);

/* False: `problems` has one line for each wrong setting, the program must not start, and *s is
 * empty. An empty value counts as not set. No line shows a value that could be a secret. env
 * (environ, or NULL) lists all names, so that a misspelt ICHIDO_ name is found; the values come
 * from get. */
bool settings_load(struct settings *s, settings_getenv get, char *const *env, struct buf *problems);
void settings_release(struct settings *s); /* wipes the secrets */

/* True for the default gateway and for those that a route names. */
bool settings_has_gateway(const struct settings *s, struct str name);
/* Picks a gateway's number out of a list like "200,paypay=50": its own, else the one without a
 * name, else fallback. The list was checked when it was read. */
int64_t settings_of_gateway(struct str list, struct str name, int64_t fallback);

/* The state of a setting, as an operator may see it (O8). */
struct setting_view {
    const char *name;
    enum setting_source source;
    bool secret;
    bool set;         /* it has a value, whether shown or not */
    struct str value; /* empty: not set, or not to be shown. Borrowed from `text` */
};
/* The i-th setting, in the order of the manual; false after the last one. A secret has no value
 * here, a URL has no passwords (base/url_mask.h), and the contents of a NAME_FILE are not shown.
 * `text` is cleared and holds the value. */
bool settings_view(const struct settings *s, size_t i, struct buf *text,
                   struct setting_view *ret_view);
