/* rules.c - the rules between settings (D25), and the defaults that depend on other settings. They
 * run only when every setting is right by itself. */
#include "base/limits.h"
#include "base/settings/address.h"
#include "base/settings/source.h"

/* --- gateways --- */

static struct str or_else(struct arena *a, struct str value, struct str otherwise)
{
    return value.n ? value : arena_str(a, otherwise); /* copied: release wipes it */
}

/* The credentials of the simulated PayPay. */
#define DEV_PAYPAY_KEY S("a_ichido_sandbox")
#define DEV_PAYPAY_SECRET S("ichido-sandbox-paypay-secret")
#define DEV_PAYPAY_MERCHANT S("ichido_sandbox")
#define DEV_ACCOUNT S("Sandbox Bank, Main Branch, ordinary account 1234567, ICHIDO")

bool settings_has_gateway(const struct settings *s, struct str name)
{
    struct str rules = s->routes;

    if (str_eq(s->gateway, name))
        return true;
    while (rules.n) {
        struct str to = str_trim(str_cut(&rules, ','));

        str_cut(&to, '=');
        if (str_eq(to, name))
            return true;
    }
    return false;
}

int64_t settings_of_gateway(struct str list, struct str name, int64_t fallback)
{
    while (list.n) {
        struct str rest = str_trim(str_cut(&list, ',')), one = rest, key = str_cut(&rest, '=');
        int64_t v;

        if (key.n == one.n && str_to_i64(one, &v))
            fallback = v;
        else if (str_eq(str_trim(key), name) && str_to_i64(str_trim(rest), &v))
            return v;
    }
    return fallback;
}

static void check_paypay(const struct settings *s, struct source *src)
{
    static const char why[] = "is required with the gateway paypay";

    if (!s->paypay_api_key.n)
        source_problem(src, "PAYPAY_API_KEY", "%s", why);
    if (!s->paypay_api_secret.n)
        source_problem(src, "PAYPAY_API_SECRET", "%s", why);
    if (!s->paypay_merchant_id.n)
        source_problem(src, "PAYPAY_MERCHANT_ID", "%s", why);
    if (!str_starts(s->paypay_api_base, S("https://")))
        source_problem(src, "PAYPAY_API_BASE",
                       "is required with the gateway paypay, and begins with https://; its keys do "
                       "not say whether they are live");
}

static void check_gateways(const struct settings *s, struct source *src)
{
    if (settings_has_gateway(s, S("sandbox")))
        source_problem(src, "ICHIDO_GATEWAY", "must not be sandbox in production mode");
    if (settings_has_gateway(s, S("paypay")))
        check_paypay(s, src);
    if (settings_has_gateway(s, S("manual")) && !s->bank_account.n)
        source_problem(src, "ICHIDO_BANK_ACCOUNT",
                       "is required with the gateway manual: people are told to pay to it");
}

static void fill_dev_gateways(struct settings *s)
{
    bool has_paypay = s->sandbox_listen.n || s->paypay_api_base.n;

    if (!s->routes.n)
        s->routes =
            has_paypay ? S("paypay=paypay,bank_transfer=manual") : S("bank_transfer=manual");
    if (!s->bank_account.n)
        s->bank_account = DEV_ACCOUNT;
    s->paypay_api_key = or_else(&s->arena, s->paypay_api_key, DEV_PAYPAY_KEY);
    s->paypay_api_secret = or_else(&s->arena, s->paypay_api_secret, DEV_PAYPAY_SECRET);
    s->paypay_merchant_id = or_else(&s->arena, s->paypay_merchant_id, DEV_PAYPAY_MERCHANT);
}

static void check_dev(struct settings *s, struct source *src)
{
    fill_dev_gateways(s);
    if (s->admin_token.n && s->admin_token.n < LIMIT_ADMIN_TOKEN_MIN)
        source_problem(src, "ICHIDO_ADMIN_TOKEN", "has fewer than %d characters: too easy to guess",
                       LIMIT_ADMIN_TOKEN_MIN);
    if (!str_eq(s->gateway, S("sandbox")))
        source_problem(src, "ICHIDO_GATEWAY",
                       "must be sandbox in dev mode; for a real one set ICHIDO_MODE=production");
    else if (settings_has_gateway(s, S("stripe")))
        source_problem(src, "ICHIDO_ROUTES",
                       "must not name stripe in dev mode; for it set ICHIDO_MODE=production");
    if (!address_is_loopback(s->listen))
        source_problem(src, "ICHIDO_LISTEN",
                       "must be a loopback address in dev mode, like 127.0.0.1:8787");
    if (s->sandbox_listen.n && !address_is_loopback(s->sandbox_listen))
        source_problem(src, "ICHIDO_SANDBOX_LISTEN",
                       "must be a loopback address, like 127.0.0.1:12111, or off");
    if (!s->sandbox_listen.n && !s->stripe_api_base.n)
        source_problem(src, "ICHIDO_SANDBOX_LISTEN",
                       "is off: then STRIPE_API_BASE must say where another sandbox is");
}

/* --- the QStash API, and a remote one (Q5) --- */

/* These are public: the npm package @upstash/qstash contains them for its dev mode. */
#define DEV_TOKEN S("eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=")
#define DEV_CURRENT_KEY S("sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r")
#define DEV_NEXT_KEY S("sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs")

/* With these the SDK attaches to this server when QSTASH_DEV=1 is set. Dev mode listens on loopback
 * only, which was checked before; production mode has no default credentials. */
static void fill_dev_credentials(struct settings *s)
{
    s->qstash_token = or_else(&s->arena, s->qstash_token, DEV_TOKEN);
    s->qstash_current_key = or_else(&s->arena, s->qstash_current_key, DEV_CURRENT_KEY);
    s->qstash_next_key = or_else(&s->arena, s->qstash_next_key, DEV_NEXT_KEY);
}

static void check_real(struct source *src, const char *name, struct str value)
{
    if (str_eq(value, DEV_TOKEN) || str_eq(value, DEV_CURRENT_KEY) || str_eq(value, DEV_NEXT_KEY))
        source_problem(src, name, "is the SDK's public dev value: everybody knows it");
    else if (value.n && value.n < LIMIT_QSTASH_SECRET_MIN)
        source_problem(src, name, "has fewer than %d characters: too easy to guess",
                       LIMIT_QSTASH_SECRET_MIN);
}

static void check_needed(struct source *src, const char *name, struct str value)
{
    if (!value.n)
        source_problem(src, name, "is required with ICHIDO_QUEUE=qstash");
}

static void check_qstash(struct settings *s, struct source *src)
{
    if (s->qstash_current_key.n > LIMIT_SIGNING_KEY || s->qstash_next_key.n > LIMIT_SIGNING_KEY)
        source_problem(src,
                       s->qstash_next_key.n > LIMIT_SIGNING_KEY ? "QSTASH_NEXT_SIGNING_KEY"
                                                                : "QSTASH_CURRENT_SIGNING_KEY",
                       "has more than %d characters", LIMIT_SIGNING_KEY);
    if (!s->qstash_current_key.n != !s->qstash_next_key.n)
        source_problem(
            src, s->qstash_next_key.n ? "QSTASH_CURRENT_SIGNING_KEY" : "QSTASH_NEXT_SIGNING_KEY",
            "is required with the other signing key");
    else if (s->mode == MODE_DEV)
        fill_dev_credentials(s);
    if (s->mode == MODE_PRODUCTION) {
        check_real(src, "QSTASH_TOKEN", s->qstash_token);
        check_real(src, "QSTASH_CURRENT_SIGNING_KEY", s->qstash_current_key);
        check_real(src, "QSTASH_NEXT_SIGNING_KEY", s->qstash_next_key);
    }
    if (!s->queue_remote) {
        if (s->qstash_token.n && !s->qstash_current_key.n && !s->qstash_next_key.n)
            source_problem(src, "QSTASH_CURRENT_SIGNING_KEY",
                           "and QSTASH_NEXT_SIGNING_KEY are required with QSTASH_TOKEN: without "
                           "them no delivery is signed and the QStash API is off");
        return;
    }
    check_needed(src, "QSTASH_URL", s->qstash_url);
    check_needed(src, "QSTASH_TOKEN", s->qstash_token);
    check_needed(src, "QSTASH_CURRENT_SIGNING_KEY", s->qstash_current_key);
    check_needed(src, "ICHIDO_PUBLIC_URL", s->public_url);
}

static bool is_stripe_key(struct str key)
{
    return str_starts(key, S("sk_live_")) || str_starts(key, S("sk_test_")) ||
           str_starts(key, S("rk_live_")) || str_starts(key, S("rk_test_"));
}

static void check_production(struct settings *s, struct source *src)
{
    check_gateways(s, src);
    if (s->test_clock)
        source_problem(src, "ICHIDO_TEST_CLOCK", "must be off in production mode");
    if (s->test_patience > 1)
        source_problem(src, "ICHIDO_TEST_PATIENCE", "must be 1 in production mode");
    if (s->faults.n)
        source_problem(src, "ICHIDO_FAULTS", "must not be set in production mode");
    if (!s->webhook_secret_count &&
        (settings_has_gateway(s, S("stripe")) || settings_has_gateway(s, S("sandbox"))))
        source_problem(src, "STRIPE_WEBHOOK_SECRET", "is required in production mode");
    for (size_t i = 0; i < s->webhook_secret_count; i++)
        if (s->webhook_secrets[i].n < LIMIT_WEBHOOK_SECRET_MIN)
            source_problem(src, "STRIPE_WEBHOOK_SECRET",
                           "secret %zu has fewer than %d characters: too easy to guess", i + 1,
                           LIMIT_WEBHOOK_SECRET_MIN);
    if (settings_has_gateway(s, S("stripe")) && !is_stripe_key(s->stripe_secret_key))
        source_problem(src, "STRIPE_SECRET_KEY",
                       "is required with the gateway stripe, and begins with sk_live_, sk_test_, "
                       "rk_live_ or rk_test_: it says whether live events are ours");
    if (!s->jwt_secret.n && !s->jwt_public_key.n && !s->jwks_url.n)
        source_problem(
            src, "ICHIDO_JWT_SECRET",
            "or ICHIDO_JWT_PUBLIC_KEY or ICHIDO_JWKS_URL is required in production mode");
    if (s->jwks_url.n && !str_starts(s->jwks_url, S("https://")))
        source_problem(
            src, "ICHIDO_JWKS_URL",
            "must be https:// in production mode: changed keys would let anybody log in");
    if (s->admin_token.n < LIMIT_ADMIN_TOKEN_MIN)
        source_problem(src, "ICHIDO_ADMIN_TOKEN",
                       "is required in production mode, with at least %d characters",
                       LIMIT_ADMIN_TOKEN_MIN);
}

/* --- what people are told --- */

bool settings_are_days(struct str list)
{
    int64_t days[LIMIT_REMINDERS];
    size_t n = 0;

    while (list.n) {
        if (n == COUNT(days) || !str_to_i64(str_trim(str_cut(&list, ',')), &days[n]))
            return false;
        if (days[n] < -LIMIT_REMINDER_DAYS || days[n] > LIMIT_REMINDER_DAYS)
            return false;
        for (size_t i = 0; i < n; i++)
            if (days[i] == days[n])
                return false;
        n++;
    }
    return n > 0;
}

static void check_telling(const struct settings *s, struct source *src)
{
    if (s->smtp_url.n && !s->mail_from.n)
        source_problem(src, "ICHIDO_MAIL_FROM", "is required with ICHIDO_SMTP_URL");
    if (s->alert_mail.n && !s->smtp_url.n)
        source_problem(src, "ICHIDO_SMTP_URL", "is required with ICHIDO_ALERT_MAIL");
    if (s->notify_url.n && !s->notify_secret.n)
        source_problem(src, "ICHIDO_NOTIFY_SECRET", "is required with ICHIDO_NOTIFY_WEBHOOK");
}

void settings_check(struct settings *s, struct source *src)
{
    if (src->problem_count)
        return;
    if (s->tls_cert.n && !s->tls_key.n)
        source_problem(src, "ICHIDO_TLS_KEY", "is required with ICHIDO_TLS_CERT");
    if (s->tls_key.n && !s->tls_cert.n)
        source_problem(src, "ICHIDO_TLS_CERT", "is required with ICHIDO_TLS_KEY");
    if (s->events_secret.n && (s->events_secret.n < LIMIT_EVENTS_SECRET_MIN ||
                               !str_starts(s->events_secret, S("whsec_"))))
        source_problem(src, "ICHIDO_EVENTS_SECRET",
                       "must be whsec_ and the base64 of 24 to 64 bytes");
    if (s->jwt_secret.n && s->jwt_secret.n < LIMIT_JWT_SECRET_MIN)
        source_problem(src, "ICHIDO_JWT_SECRET", "has fewer than %d characters: too easy to guess",
                       LIMIT_JWT_SECRET_MIN);
    if (s->mode == MODE_PRODUCTION)
        check_production(s, src);
    else
        check_dev(s, src);
    check_qstash(s, src);
    check_telling(s, src);
}
