#include "base/limits.h"
#include "base/settings/settings.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The environment of a test: a list like environ. settings_getenv has no context, so it is here. */
static const char *const *current_env;

static const char *from_current(const char *name)
{
    for (const char *const *e = current_env; *e; e++)
        if (strncmp(*e, name, strlen(name)) == 0 && (*e)[strlen(name)] == '=')
            return *e + strlen(name) + 1;
    return NULL;
}

static bool load(struct settings *s, struct buf *problems, const char *const *env)
{
    current_env = env;
    buf_init(problems, 64 * 1024);
    return settings_load(s, from_current, (char *const *)(uintptr_t)env, problems);
}

#define ENV(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PRODUCTION                                                                                 \
    "ICHIDO_MODE=production", "ICHIDO_GATEWAY=stripe", "STRIPE_SECRET_KEY=sk_test_1",              \
        "STRIPE_WEBHOOK_SECRET=whsec_0123456789", "ICHIDO_ADMIN_TOKEN=0123456789abcdef",           \
        JWT_SECRET
#define JWT_SECRET "ICHIDO_JWT_SECRET=0123456789abcdef0123456789abcdef"
#define EVENTS_SECRET "whsec_0123456789abcdef0123456789abcdef"
#define LONG_SECRET "s3cret6789abcdef0123456789abcdef"
#define LONG_SIGNING "whsec_czNjcmV0czNjcmV0czNjcmV0czNjcmV0"
#define PEM "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----"

static void loads(struct settings *s, const char *const *env)
{
    struct buf problems;

    if (!load(s, &problems, env))
        fail_msg(STR_FMT, STR_ARG(buf_str(&problems)));
    assert_int_equal(problems.n, 0);
    buf_release(&problems);
}

static void refuses(const char *const *env, const char *lines)
{
    struct settings s;
    struct buf problems;

    assert_false(load(&s, &problems, env));
    if (!str_eq(buf_str(&problems), str_of(lines)))
        fail_msg("wanted: %s\ngot: " STR_FMT, lines, STR_ARG(buf_str(&problems)));
    assert_null(s.arena.top); /* nothing is left behind */
    buf_release(&problems);
}

#define assert_str(s, text) assert_true(str_eq(s, str_of(text)))

static void an_empty_environment_is_a_developers(void **state)
{
    struct settings s;

    (void)state;
    loads(&s, ENV("PATH=/bin", "ICHIDO_LISTEN="));
    assert_int_equal(s.mode, MODE_DEV);
    assert_str(s.listen, "127.0.0.1:8787");
    assert_str(s.db, "sqlite:data/ichido.db");
    assert_str(s.gateway, "sandbox");
    assert_str(s.routes, "paypay=paypay,bank_transfer=manual");
    assert_str(s.log_level, "info");
    assert_int_equal(s.webhook_secret_count, 0);
    assert_int_equal(s.webhook_ack, 204);
    assert_int_equal(s.loops, 1);
    assert_int_equal(s.db_connections, 0);
    assert_int_equal(s.max_connections, LIMIT_CONNECTIONS);
    assert_int_equal(s.rate_limit, 0);
    assert_int_equal(s.backlog_limit, 5000000);
    assert_int_equal(s.oldest_ready_limit_ms, 60000);
    assert_int_equal(s.retries, 3);
    assert_int_equal(s.retry_first_ms, 1000);
    assert_false(s.test_clock);
    assert_int_equal(s.admin_token.n + s.faults.n + s.tls_cert.n + s.webhook_allow.n, 0);
    assert_str(s.sandbox_listen, "127.0.0.1:12111");
    assert_true(s.sandbox_webhooks);
    assert_str(s.refetch, "auto");
    assert_int_equal(s.key_ttl_ms, 24 * 3600 * 1000);
    assert_int_equal(s.action_limit_ms, 3600 * 1000);
    assert_str(s.owner_may, "create,read,capture,refund,void");
    assert_int_equal(s.sandbox_db.n + s.stripe_api_base.n + s.return_url.n + s.events_secret.n, 0);
    assert_int_equal(s.jwt_secret.n + s.jwt_public_key.n + s.jwks_url.n, 0);
    assert_int_equal(s.jwt_issuer.n + s.jwt_audience.n, 0);
    assert_false(s.queue_remote);
    assert_int_equal(s.qstash_url.n + s.public_url.n, 0);
    assert_int_equal(s.qstash_dedup_ms, 600000);
    assert_true(s.qstash_private);
    settings_release(&s);
    settings_release(&s); /* once more is harmless */
}

static void every_setting_is_read(void **state)
{
    struct settings s;

    (void)state;
    loads(&s,
          ENV("ICHIDO_MODE=production", "ICHIDO_LISTEN=0.0.0.0:0", "ICHIDO_GATEWAY=manual",
              "ICHIDO_DB=postgres://u:p@h/d", "ICHIDO_ADMIN_TOKEN=0123456789abcdef",
              "STRIPE_SECRET_KEY=sk_live_1",
              "STRIPE_WEBHOOK_SECRET=whsec_0123456789a,whsec_0123456789b", "ICHIDO_WEBHOOK_ACK=200",
              "ICHIDO_WEBHOOK_ALLOW=10.0.0.0/8, 2001:db8::/32,1.2.3.4",
              "ICHIDO_TRUSTED_PROXIES=127.0.0.1/32", "ICHIDO_TLS_CERT=c.pem",
              "ICHIDO_TLS_KEY=k.pem", "ICHIDO_LOG_LEVEL=debug", "ICHIDO_LOOPS=4",
              "ICHIDO_DB_CONNECTIONS=8", "ICHIDO_MAX_CONNECTIONS=100", "ICHIDO_RATE_LIMIT=50",
              "ICHIDO_BACKLOG_LIMIT=10", "ICHIDO_OLDEST_READY_LIMIT_MS=5",
              "ICHIDO_WEBHOOK_RETRIES=0", "ICHIDO_WEBHOOK_RETRY_MS=7", "ICHIDO_TEST_CLOCK=off",
              "OTEL_SERVICE_NAME=later", "ICHIDO_SANDBOX_LISTEN=off",
              "ICHIDO_SANDBOX_DB=sqlite:s.db", "ICHIDO_SANDBOX_WEBHOOKS=off",
              "STRIPE_API_BASE=http://localhost:12111//", "ICHIDO_REFETCH=on",
              "ICHIDO_RETURN_URL=https://shop.example/back/", "ICHIDO_KEY_TTL_MS=1000",
              "ICHIDO_ACTION_LIMIT_MS=2000", JWT_SECRET, "ICHIDO_JWT_PUBLIC_KEY=" PEM,
              "ICHIDO_JWKS_URL=https://id.example/keys/", "ICHIDO_JWT_ISSUER=https://id.example/",
              "ICHIDO_JWT_AUDIENCE=ichido", "ICHIDO_OWNER_MAY=create, read",
              "ICHIDO_EVENTS_SECRET=" EVENTS_SECRET, "ICHIDO_QUEUE=qstash",
              "QSTASH_URL=https://queue.example/pre/", "QSTASH_TOKEN=0123456789abcdef",
              "QSTASH_CURRENT_SIGNING_KEY=sig_0123456789ab",
              "QSTASH_NEXT_SIGNING_KEY=sig_ba9876543210", "ICHIDO_PUBLIC_URL=https://pay.example/",
              "ICHIDO_QSTASH_DEDUP_MS=7776000000", "ICHIDO_QSTASH_PRIVATE=on",
              "ICHIDO_BANK_ACCOUNT=Bank 1234567", "ICHIDO_BANK_DAYS=3",
              "ICHIDO_ROUTES=paypay=paypay, card:USD=stripe", "ICHIDO_GATEWAY_CALLS=200, paypay=50",
              "ICHIDO_GATEWAY_TIMEOUT_MS=stripe=9000", "PAYPAY_API_KEY=a_1",
              "PAYPAY_API_SECRET=secret", "PAYPAY_MERCHANT_ID=m",
              "PAYPAY_API_BASE=https://paypay.example/", "ICHIDO_PAYPAY_ALLOW=10.0.0.0/8",
              "ICHIDO_HEAL_MS=0", "ICHIDO_RECONCILE_AT=off", "ICHIDO_TIME_ZONE=Europe/Paris",
              "ICHIDO_UNKNOWN_ALERT_MS=1000"));
    assert_int_equal(s.mode, MODE_PRODUCTION);
    assert_true(settings_has_gateway(&s, S("manual")));
    assert_true(settings_has_gateway(&s, S("stripe")));
    assert_true(settings_has_gateway(&s, S("paypay")));
    assert_false(settings_has_gateway(&s, S("sandbox")));
    assert_int_equal(settings_of_gateway(s.gateway_calls, S("stripe"), 1), 200);
    assert_int_equal(settings_of_gateway(s.gateway_calls, S("paypay"), 1), 50);
    assert_int_equal(settings_of_gateway(s.gateway_timeout, S("stripe"), 1), 9000);
    assert_int_equal(settings_of_gateway(s.gateway_timeout, S("paypay"), 1), 1);
    assert_int_equal(s.bank_days, 3);
    assert_str(s.paypay_api_base, "https://paypay.example");
    assert_int_equal(s.heal_ms, 0);
    assert_str(s.reconcile_at, "off");
    assert_int_equal(s.webhook_secret_count, 2);
    assert_str(s.webhook_secrets[0], "whsec_0123456789a");
    assert_str(s.webhook_secrets[1], "whsec_0123456789b");
    assert_str(s.stripe_secret_key, "sk_live_1");
    assert_str(s.tls_key, "k.pem");
    assert_int_equal(s.tls_key.p[s.tls_key.n], '\0'); /* file names may be used as C strings */
    assert_int_equal(s.webhook_ack, 200);
    assert_int_equal(s.loops, 4);
    assert_int_equal(s.max_connections, 100);
    assert_int_equal(s.rate_limit, 50);
    assert_int_equal(s.backlog_limit, 10);
    assert_int_equal(s.retries, 0);
    assert_int_equal(s.retry_first_ms, 7);
    assert_int_equal(s.sandbox_listen.n, 0);
    assert_str(s.sandbox_db, "sqlite:s.db");
    assert_false(s.sandbox_webhooks);
    assert_str(s.stripe_api_base, "http://localhost:12111"); /* paths are put behind it */
    assert_str(s.refetch, "on");
    assert_str(s.return_url, "https://shop.example/back/");
    assert_int_equal(s.key_ttl_ms, 1000);
    assert_int_equal(s.action_limit_ms, 2000);
    assert_int_equal(s.jwt_secret.n, 32);
    assert_str(s.jwt_public_key, PEM);
    assert_str(s.jwks_url, "https://id.example/keys/"); /* as it is: its slash may matter */
    assert_str(s.jwt_issuer, "https://id.example/");
    assert_str(s.jwt_audience, "ichido");
    assert_str(s.owner_may, "create, read");
    assert_str(s.events_secret, EVENTS_SECRET);
    assert_true(s.queue_remote);
    assert_str(s.qstash_url, "https://queue.example/pre");
    assert_str(s.qstash_token, "0123456789abcdef");
    assert_str(s.qstash_current_key, "sig_0123456789ab");
    assert_str(s.qstash_next_key, "sig_ba9876543210");
    assert_str(s.public_url, "https://pay.example");
    assert_int_equal(s.qstash_dedup_ms, 90LL * 24 * 3600 * 1000);
    assert_true(s.qstash_private);
    settings_release(&s);
}

static void a_wrong_value_is_one_clear_line(void **state)
{
    static const char *const rows[][2] = {
        { "ICHIDO_MODE=prod", "ICHIDO_MODE: must be dev or production\n" },
        { "ICHIDO_GATEWAY=paypal", "ICHIDO_GATEWAY: must be sandbox, stripe, paypay or manual\n" },
        { "ICHIDO_TIME_ZONE=Asia/Tokio",
          "ICHIDO_TIME_ZONE: there is no time zone \"Asia/Tokio\"; like Asia/Tokyo\n" },
        { "ICHIDO_TIME_ZONE=../passwd",
          "ICHIDO_TIME_ZONE: there is no time zone \"../passwd\"; like Asia/Tokyo\n" },
        { "ICHIDO_ADMIN_TOKEN=0123456789abcde",
          "ICHIDO_ADMIN_TOKEN: has fewer than 16 characters: too easy to guess\n" },
        { "ICHIDO_GATEWAY_CALLS=200,papay=50",
          "ICHIDO_GATEWAY_CALLS: \"papay=50\": there is no gateway \"papay\"; there are sandbox, "
          "stripe, paypay and manual\n" },
        { "ICHIDO_LOG_LEVEL=INFO", "ICHIDO_LOG_LEVEL: must be debug, info, warn or error\n" },
        { "ICHIDO_WEBHOOK_ACK=202", "ICHIDO_WEBHOOK_ACK: must be 200 or 204\n" },
        { "ICHIDO_TEST_CLOCK=yes", "ICHIDO_TEST_CLOCK: must be on or off\n" },
        { "ICHIDO_LOOPS=0", "ICHIDO_LOOPS: must be a whole number from 1 to 64\n" },
        { "ICHIDO_LOOPS=65", "ICHIDO_LOOPS: must be a whole number from 1 to 64\n" },
        { "ICHIDO_LOOPS=1 ", "ICHIDO_LOOPS: must be a whole number from 1 to 64\n" },
        { "ICHIDO_LOOPS=two", "ICHIDO_LOOPS: must be a whole number from 1 to 64\n" },
        { "ICHIDO_RATE_LIMIT=99999999999999999999",
          "ICHIDO_RATE_LIMIT: must be a whole number from 0 to 1000000\n" },
        { "ICHIDO_DB=mysql://x",
          "ICHIDO_DB: must be sqlite:FILE, like sqlite:data/ichido.db, or postgres://...\n" },
        { "ICHIDO_DB=sqlite:",
          "ICHIDO_DB: must be sqlite:FILE, like sqlite:data/ichido.db, or postgres://...\n" },
        { "ICHIDO_DB=sqlite:a\nb", "ICHIDO_DB: has a control character or line break in it\n" },
        { "ICHIDO_FAULTS=commit=explode",
          "ICHIDO_FAULTS: must be like commit=crash@3,apply:x=fail\n" },
        { "ICHIDO_WEBHOOK_ALLOW=10.0.0.0/33",
          "ICHIDO_WEBHOOK_ALLOW: must be networks like 10.0.0.0/8 or 2001:db8::/32, separated by "
          "commas\n" },
        { "ICHIDO_WEBHOOK_ALLOW=10.0.0.0/",
          "ICHIDO_WEBHOOK_ALLOW: must be networks like 10.0.0.0/8 or 2001:db8::/32, separated by "
          "commas\n" },
        { "ICHIDO_TRUSTED_PROXIES=proxy.example",
          "ICHIDO_TRUSTED_PROXIES: must be networks like 10.0.0.0/8 or 2001:db8::/32, separated by "
          "commas\n" },
        { "ICHIDO_TLS_CERT=c.pem", "ICHIDO_TLS_KEY: is required with ICHIDO_TLS_CERT\n" },
        { "ICHIDO_REFETCH=yes", "ICHIDO_REFETCH: must be auto, on or off\n" },
        { "ICHIDO_SANDBOX_WEBHOOKS=no", "ICHIDO_SANDBOX_WEBHOOKS: must be on or off\n" },
        { "ICHIDO_SANDBOX_LISTEN=OFF",
          "ICHIDO_SANDBOX_LISTEN: must be host:port, like 127.0.0.1:8787\n" },
        { "ICHIDO_KEY_TTL_MS=999",
          "ICHIDO_KEY_TTL_MS: must be a whole number from 1000 to 2592000000\n" },
        { "ICHIDO_ACTION_LIMIT_MS=86400001",
          "ICHIDO_ACTION_LIMIT_MS: must be a whole number from 1000 to 86400000\n" },
        { "ICHIDO_JWT_SECRET=0123456789abcdef0123456789abcde",
          "ICHIDO_JWT_SECRET: has fewer than 32 characters: too easy to guess\n" },
        { "ICHIDO_JWT_SECRET=0123456789abcdef 0123456789abcdef",
          "ICHIDO_JWT_SECRET: has a blank or a line break in it or around it\n" },
        { "ICHIDO_JWT_PUBLIC_KEY=-----BEGIN PRIVATE KEY-----\nMFkw\n-----END PRIVATE KEY-----",
          "ICHIDO_JWT_PUBLIC_KEY: must be a PEM text, -----BEGIN PUBLIC KEY-----...; best in a "
          "file that ICHIDO_JWT_PUBLIC_KEY_FILE names\n" },
        { "ICHIDO_OWNER_MAY=create,pay",
          "ICHIDO_OWNER_MAY: must be some of create,read,capture,refund,void, separated by "
          "commas\n" },
        { "ICHIDO_OWNER_MAY=,create",
          "ICHIDO_OWNER_MAY: must be some of create,read,capture,refund,void, separated by "
          "commas\n" },
        { "ICHIDO_EVENTS_SECRET=0123456789abcdef0123456789abcdef0123456789",
          "ICHIDO_EVENTS_SECRET: must be whsec_ and the base64 of 24 to 64 bytes\n" },
        { "ICHIDO_GATEWAY_CALLS=0",
          "ICHIDO_GATEWAY_CALLS: must be a whole number from 1 to 8192\n" },
        { "ICHIDO_GATEWAY_CALLS=paypay=many",
          "ICHIDO_GATEWAY_CALLS: must be a whole number from 1 to 8192\n" },
        { "ICHIDO_RECONCILE_AT=24:00", "ICHIDO_RECONCILE_AT: must be a time like 04:00, or off\n" },
        { "ICHIDO_RECONCILE_AT=4:00", "ICHIDO_RECONCILE_AT: must be a time like 04:00, or off\n" },
        { "ICHIDO_QUEUE=redis", "ICHIDO_QUEUE: must be builtin or qstash\n" },
        { "SKIP_QSTASH_IN_TEST=yes", "SKIP_QSTASH_IN_TEST: must be 0, 1, false or true\n" },
        { "ICHIDO_QSTASH_PRIVATE=yes", "ICHIDO_QSTASH_PRIVATE: must be auto, on or off\n" },
        { "ICHIDO_QSTASH_DEDUP_MS=7776000001",
          "ICHIDO_QSTASH_DEDUP_MS: must be a whole number from 1 to 7776000000\n" },
        { "ICHIDO_PUBLIC_URL=https://pay.example/?a=b",
          "ICHIDO_PUBLIC_URL: must be an http:// or https:// address\n" },
        { "QSTASH_CURRENT_SIGNING_KEY=sig_1",
          "QSTASH_NEXT_SIGNING_KEY: is required with the other signing key\n" },
        { "QSTASH_NEXT_SIGNING_KEY=sig_1",
          "QSTASH_CURRENT_SIGNING_KEY: is required with the other signing key\n" },
        { "ICHIDO_QUEUE=qstash", "QSTASH_URL: is required with ICHIDO_QUEUE=qstash\n"
                                 "ICHIDO_PUBLIC_URL: is required with ICHIDO_QUEUE=qstash\n" },
        { "ICHIDO_TLS_KEY=k.pem", "ICHIDO_TLS_CERT: is required with ICHIDO_TLS_KEY\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        refuses(ENV(rows[i][0]), rows[i][1]);
}

static void a_url_is_http_with_a_host(void **state)
{
    static const char *const names[] = { "ICHIDO_JWKS_URL", "ICHIDO_RETURN_URL", "STRIPE_API_BASE",
                                         "QSTASH_URL", "ICHIDO_PUBLIC_URL" };
    static const char *const bad[] = { "id.example",         "ftp://id.example", "http://",
                                       "https:///keys",      "https://:80/",     "https://?x",
                                       "https://a b",        "HTTPS://a",        "https:a",
                                       "file:///etc/passwd", "https://\xc3\xa9" };
    char line[96], wanted[96];

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++)
        for (size_t j = 0; j < COUNT(bad); j++) {
            snprintf(line, sizeof(line), "%s=%s", names[i], bad[j]);
            snprintf(wanted, sizeof(wanted), "%s: must be an http:// or https:// address\n",
                     names[i]);
            refuses(ENV(line), wanted);
        }
}

static void an_address_is_host_and_port(void **state)
{
    static const char *const bad[] = { "8787",
                                       ":8787",
                                       "127.0.0.1",
                                       "127.0.0.1:",
                                       "127.0.0.1:x",
                                       "[::1]",
                                       "[::1]8787",
                                       "[]:1",
                                       "[x]:1",
                                       "::1:8787",
                                       "[::1:8787",
                                       "a b:1",
                                       "127.0.0.1:65536",
                                       "127.0.0.1:-1",
                                       "127.0.0.1:08" };
    static const char *const good[] = { "127.0.0.1:0", "127.9.9.9:65535", "[::1]:8787",
                                        "localhost:80" };
    char line[64];

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(line, sizeof(line), "ICHIDO_LISTEN=%s", bad[i]);
        refuses(ENV(line), "ICHIDO_LISTEN: must be host:port, like 127.0.0.1:8787\n");
    }
    for (size_t i = 0; i < COUNT(good); i++) {
        struct settings s;

        snprintf(line, sizeof(line), "ICHIDO_LISTEN=%s", good[i]);
        loads(&s, ENV(line));
        assert_str(s.listen, good[i]);
        settings_release(&s);
    }
}

static void all_problems_come_at_once(void **state)
{
    (void)state;
    refuses(ENV("ICHIDO_LOOPS=x", "ICHIDO_LISTEN=x", "ICHIDO_LISTN=y"),
            "ICHIDO_LISTN: is not a setting; did you mean ICHIDO_LISTEN?\n"
            "ICHIDO_LISTEN: must be host:port, like 127.0.0.1:8787\n"
            "ICHIDO_LOOPS: must be a whole number from 1 to 64\n");
}

static void an_unknown_name_is_a_typing_error(void **state)
{
    struct settings s;

    (void)state;
    refuses(ENV("ICHIDO_DBS=x"), "ICHIDO_DBS: is not a setting; did you mean ICHIDO_DB?\n");
    refuses(ENV("ICHIDO_SOMETHING_ELSE=1"), "ICHIDO_SOMETHING_ELSE: is not a setting\n");
    refuses(ENV("ICHIDO_CONFIG_FILE=x"), "ICHIDO_CONFIG_FILE: is not a setting\n");
    loads(&s, ENV("STRIPE_API_KEY=sk_test_cli", "ICHIDOX=1", "QSTASH_TYPO=1")); /* not ours */
    settings_release(&s);
}

static void g5_a_wrong_route_is_one_clear_line(void **state)
{
#define LIKE " must be like paypay=paypay or card:USD=stripe\n"
#define METHODS "; there are card, konbini, paypay, bank_transfer, checkout and * for any\n"
#define GATEWAYS "; there are sandbox, stripe, paypay and manual\n"
    static const char *const rows[][2] = {
        { "paypai=paypay", " there is no payment method \"paypai\"" METHODS },
        { "paypay=papay", " there is no gateway \"papay\"" GATEWAYS },
        { "card=paypay", " the gateway paypay does not take card, but paypay\n" },
        { "bank_transfer=stripe", " the gateway stripe does not take bank_transfer, but card, "
                                  "konbini, paypay, checkout\n" },
        { "card:usd=sandbox", LIKE },
        { "card:USDX=sandbox", LIKE },
        { "card:=sandbox", LIKE },
        { "=sandbox", LIKE },
        { "card=", LIKE },
        { "card", LIKE },
        { "card = sandbox", " there is no payment method \"card \"" METHODS },
    };
    char line[160], wanted[320], many[512] = "ICHIDO_ROUTES=card=sandbox";
    struct settings s;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(line, sizeof(line), "ICHIDO_ROUTES=*=sandbox, %s", rows[i][0]);
        snprintf(wanted, sizeof(wanted), "ICHIDO_ROUTES: \"%s\"%s%s", rows[i][0],
                 strcmp(rows[i][1], LIKE) ? ":" : "", rows[i][1]);
        refuses(ENV(line), wanted);
    }
    refuses(ENV("ICHIDO_ROUTES=card=sandbox,"), "ICHIDO_ROUTES: \"\"" LIKE);
    for (size_t i = 1; i < LIMIT_ROUTES; i++)
        strcat(many, ",card=sandbox");
    loads(&s, ENV(many));
    settings_release(&s);
    strcat(many, ",card=sandbox");
    refuses(ENV(many), "ICHIDO_ROUTES: has more than 16 rules\n");
}

static void d25_dev_mode_is_for_the_sandbox_on_loopback_only(void **state)
{
    static const char not_loopback[] =
        "ICHIDO_LISTEN: must be a loopback address in dev mode, like 127.0.0.1:8787\n";
    struct settings s;

    (void)state;
    refuses(ENV("ICHIDO_GATEWAY=stripe"), "ICHIDO_GATEWAY: must be sandbox in dev mode; for a real "
                                          "one set ICHIDO_MODE=production\n");
    refuses(ENV("ICHIDO_ROUTES=card:USD=stripe"),
            "ICHIDO_ROUTES: must not name stripe in dev mode; for it set "
            "ICHIDO_MODE=production\n");
    refuses(ENV("ICHIDO_LISTEN=0.0.0.0:8787"), not_loopback);
    refuses(ENV("ICHIDO_LISTEN=[::]:8787"), not_loopback);
    refuses(ENV("ICHIDO_LISTEN=[::ffff:10.0.0.1]:8787"), not_loopback);
    refuses(ENV("ICHIDO_LISTEN=128.0.0.1:8787"), not_loopback);
    refuses(ENV("ICHIDO_LISTEN=example.com:8787"), not_loopback);
    refuses(ENV("ICHIDO_LISTEN=127.0.0.1.example.com:8787"), not_loopback);
    refuses(ENV("ICHIDO_SANDBOX_LISTEN=0.0.0.0:12111"),
            "ICHIDO_SANDBOX_LISTEN: must be a loopback address, like 127.0.0.1:12111, or off\n");
    refuses(ENV("ICHIDO_SANDBOX_LISTEN=off"),
            "ICHIDO_SANDBOX_LISTEN: is off: then STRIPE_API_BASE must say where another sandbox "
            "is\n");
    loads(&s, ENV("ICHIDO_SANDBOX_LISTEN=off", "STRIPE_API_BASE=http://localhost:12111",
                  "ICHIDO_JWKS_URL=http://127.0.0.1:8080/keys"));
    settings_release(&s);
}

static void d25_production_wants_real_secrets_and_no_test_tools(void **state)
{
    struct settings s;

    (void)state;
    refuses(ENV("ICHIDO_MODE=production"),
            "ICHIDO_GATEWAY: must not be sandbox in production mode\n"
            "STRIPE_WEBHOOK_SECRET: is required in production mode\n"
            "ICHIDO_JWT_SECRET: or ICHIDO_JWT_PUBLIC_KEY or ICHIDO_JWKS_URL is required in "
            "production mode\n"
            "ICHIDO_ADMIN_TOKEN: is required in production mode, with at least 16 characters\n");
    refuses(ENV(PRODUCTION, "ICHIDO_TEST_CLOCK=on"),
            "ICHIDO_TEST_CLOCK: must be off in production mode\n");
    refuses(ENV(PRODUCTION, "ICHIDO_FAULTS=commit=crash@3"),
            "ICHIDO_FAULTS: must not be set in production mode\n");
    refuses(ENV("ICHIDO_MODE=production", "ICHIDO_GATEWAY=manual", "ICHIDO_BANK_ACCOUNT=Bank 1",
                "STRIPE_WEBHOOK_SECRET=whsec_0123456789", "ICHIDO_ADMIN_TOKEN=0123456789abcde",
                JWT_SECRET),
            "ICHIDO_ADMIN_TOKEN: is required in production mode, with at least 16 characters\n");
    refuses(ENV("ICHIDO_MODE=production", "ICHIDO_GATEWAY=manual", "ICHIDO_BANK_ACCOUNT=Bank 1",
                "STRIPE_WEBHOOK_SECRET=whsec_0123456789,whsec_",
                "ICHIDO_ADMIN_TOKEN=0123456789abcdef", JWT_SECRET),
            "STRIPE_WEBHOOK_SECRET: secret 2 has fewer than 16 characters: too easy to guess\n");
    refuses(ENV(PRODUCTION, "ICHIDO_ROUTES=paypay=paypay,bank_transfer=manual"),
            "PAYPAY_API_KEY: is required with the gateway paypay\n"
            "PAYPAY_API_SECRET: is required with the gateway paypay\n"
            "PAYPAY_MERCHANT_ID: is required with the gateway paypay\n"
            "PAYPAY_API_BASE: is required with the gateway paypay, and begins with https://; its "
            "keys do not say whether they are live\n"
            "ICHIDO_BANK_ACCOUNT: is required with the gateway manual: people are told to pay to "
            "it\n");
    refuses(ENV(PRODUCTION, "ICHIDO_ROUTES=card:USD=sandbox"),
            "ICHIDO_GATEWAY: must not be sandbox in production mode\n");
    loads(&s, ENV(PRODUCTION, "ICHIDO_LISTEN=0.0.0.0:80"));
    settings_release(&s);
    loads(&s, ENV("ICHIDO_TEST_CLOCK=on", "ICHIDO_FAULTS=commit=crash@3"));
    assert_true(s.test_clock);
    settings_release(&s);
}

static void a1_production_wants_a_key_for_tokens_of_any_kind(void **state)
{
    static const char *const keys[] = { JWT_SECRET, "ICHIDO_JWT_PUBLIC_KEY=" PEM,
                                        "ICHIDO_JWKS_URL=https://id.example/keys" };
    struct settings s;

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        loads(&s,
              ENV("ICHIDO_MODE=production", "ICHIDO_GATEWAY=manual", "ICHIDO_BANK_ACCOUNT=Bank 1",
                  keys[i], "STRIPE_WEBHOOK_SECRET=whsec_0123456789",
                  "ICHIDO_ADMIN_TOKEN=0123456789abcdef"));
        settings_release(&s);
    }
    refuses(ENV(PRODUCTION, "ICHIDO_JWKS_URL=http://id.example/keys"),
            "ICHIDO_JWKS_URL: must be https:// in production mode: changed keys would let "
            "anybody log in\n");
}

/* The bug: without a key every live event was acknowledged, marked wrong_mode and never applied. */
static void w9_the_stripe_gateway_needs_a_key_that_says_its_mode(void **state)
{
    static const char line[] = "STRIPE_SECRET_KEY: is required with the gateway stripe, and begins "
                               "with sk_live_, sk_test_, "
                               "rk_live_ or rk_test_: it says whether live events are ours\n";
    static const char *const rest[] = { "ICHIDO_MODE=production", "ICHIDO_GATEWAY=stripe",
                                        "STRIPE_WEBHOOK_SECRET=whsec_0123456789",
                                        "ICHIDO_ADMIN_TOKEN=0123456789abcdef", JWT_SECRET };

    (void)state;
    refuses(ENV(rest[0], rest[1], rest[2], rest[3], rest[4]), line);
    refuses(ENV(rest[0], rest[1], rest[2], rest[3], rest[4], "STRIPE_SECRET_KEY=pk_live_x"), line);
    refuses(ENV(rest[0], rest[1], rest[2], rest[3], rest[4], "STRIPE_SECRET_KEY=hello"), line);
}

/* @upstash/qstash with QSTASH_DEV=1 has these in its code and asks for nothing else. */
static void q9_dev_mode_has_the_credentials_of_the_sdks_own(void **state)
{
    struct settings s;

    (void)state;
    loads(&s, ENV("PATH=/bin"));
    assert_str(s.qstash_token,
               "eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=");
    assert_str(s.qstash_current_key, "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r");
    assert_str(s.qstash_next_key, "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs");
    settings_release(&s);
    loads(&s, ENV("QSTASH_TOKEN=mine", "QSTASH_CURRENT_SIGNING_KEY=a", "QSTASH_NEXT_SIGNING_KEY=b",
                  "ICHIDO_QSTASH_PRIVATE=off"));
    assert_str(s.qstash_token, "mine");
    assert_str(s.qstash_current_key, "a");
    assert_str(s.qstash_next_key, "b");
    assert_false(s.qstash_private);
    settings_release(&s);
}

#define OWN_KEYS                                                                                   \
    "QSTASH_CURRENT_SIGNING_KEY=sig_0123456789ab", "QSTASH_NEXT_SIGNING_KEY=sig_ba9876543210"

/* Keys alone are for the worker, which wants no token. */
static void q9_a_token_without_keys_is_a_mistake_and_not_an_api_that_is_off(void **state)
{
    static const char words[] =
        "QSTASH_CURRENT_SIGNING_KEY: and QSTASH_NEXT_SIGNING_KEY are required with QSTASH_TOKEN: "
        "without them no delivery is signed and the QStash API is off\n";
    struct settings s;

    (void)state;
    refuses(ENV(PRODUCTION, "QSTASH_TOKEN=0123456789abcdef"), words);
    refuses(ENV(PRODUCTION, "QSTASH_TOKEN=0123456789abcdef", "SKIP_QSTASH_IN_TEST=1",
                "ICHIDO_QUEUE=qstash"),
            words);
    refuses(ENV(PRODUCTION, "QSTASH_TOKEN=0123456789abcdef",
                "QSTASH_CURRENT_SIGNING_KEY=sig_0123456789ab"),
            "QSTASH_NEXT_SIGNING_KEY: is required with the other signing key\n");
    loads(&s, ENV(PRODUCTION, "QSTASH_TOKEN=0123456789abcdef", OWN_KEYS));
    settings_release(&s);
    loads(&s, ENV(PRODUCTION, OWN_KEYS));
    settings_release(&s);
    loads(&s, ENV("QSTASH_TOKEN=mine"));
    assert_str(s.qstash_current_key, "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r");
    settings_release(&s);
}

static void q9_production_has_no_credentials_but_real_ones(void **state)
{
    struct settings s;

    (void)state;
    loads(&s, ENV(PRODUCTION));
    assert_int_equal(s.qstash_token.n + s.qstash_current_key.n + s.qstash_next_key.n, 0);
    assert_false(s.qstash_private);
    settings_release(&s);
    refuses(ENV(PRODUCTION, "QSTASH_TOKEN=0123456789abcde", OWN_KEYS),
            "QSTASH_TOKEN: has fewer than 16 characters: too easy to guess\n");
    refuses(ENV(PRODUCTION, "QSTASH_CURRENT_SIGNING_KEY=sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r",
                "QSTASH_NEXT_SIGNING_KEY=sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs"),
            "QSTASH_CURRENT_SIGNING_KEY: is the SDK's public dev value: everybody knows it\n"
            "QSTASH_NEXT_SIGNING_KEY: is the SDK's public dev value: everybody knows it\n");
}

static void a_signing_key_has_a_limit(void **state)
{
    char line[400] = "QSTASH_NEXT_SIGNING_KEY=";
    size_t n = strlen(line);

    (void)state;
    memset(line + n, 'k', 256);
    refuses(ENV("QSTASH_CURRENT_SIGNING_KEY=c", line),
            "QSTASH_NEXT_SIGNING_KEY: has more than 255 characters\n");
}

static void q5_a_remote_queue_needs_to_know_where_and_who(void **state)
{
    struct settings s;

    (void)state;
    refuses(ENV(PRODUCTION, "ICHIDO_QUEUE=qstash"),
            "QSTASH_URL: is required with ICHIDO_QUEUE=qstash\n"
            "QSTASH_TOKEN: is required with ICHIDO_QUEUE=qstash\n"
            "QSTASH_CURRENT_SIGNING_KEY: is required with ICHIDO_QUEUE=qstash\n"
            "ICHIDO_PUBLIC_URL: is required with ICHIDO_QUEUE=qstash\n");
    loads(&s, ENV("ICHIDO_QUEUE=qstash", "QSTASH_URL=http://127.0.0.1:8080",
                  "ICHIDO_PUBLIC_URL=http://127.0.0.1:8787"));
    assert_true(s.queue_remote);
    settings_release(&s);
    loads(&s, ENV(PRODUCTION, "SKIP_QSTASH_IN_TEST=1", "ICHIDO_QUEUE=qstash"));
    assert_false(s.queue_remote);
    settings_release(&s);
    loads(&s, ENV("SKIP_QSTASH_IN_TEST=0", "ICHIDO_QUEUE=qstash", "QSTASH_URL=http://127.0.0.1:1",
                  "ICHIDO_PUBLIC_URL=http://127.0.0.1:8787"));
    assert_true(s.queue_remote);
    settings_release(&s);
}

static void a4_a_broken_secret_is_refused_and_never_shown(void **state)
{
    static const char blank[] =
        "STRIPE_WEBHOOK_SECRET: has a blank or a line break in it or around it\n";
    static const char empty[] = "STRIPE_WEBHOOK_SECRET: has an empty element in its list\n";
    static const char odd[] =
        "STRIPE_WEBHOOK_SECRET: has a character that is not printable ASCII\n";
    static const char *const rows[][2] = {
        { " s3cret", blank },   { "s3cret ", blank },   { "s3 cret", blank },
        { "s3cret\n", blank },  { "a, s3cret", blank }, { "s3cret\t", blank },
        { "a,,s3cret", empty }, { ",s3cret", empty },   { "s3cret,", empty },
        { ",", empty },         { "s3cret\x01", odd },  { "s3cret\xe3\x81\x82", odd },
        { "s3cret\x7f", odd },
    };
    char line[64];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(line, sizeof(line), "STRIPE_WEBHOOK_SECRET=%s", rows[i][0]);
        refuses(ENV(line), rows[i][1]); /* equal to the whole line: the secret is not in it */
    }
    refuses(ENV("ICHIDO_ADMIN_TOKEN=my token"),
            "ICHIDO_ADMIN_TOKEN: has a blank or a line break in it or around it\n");
}

static void secrets_have_a_limit(void **state)
{
    char line[256] = "STRIPE_WEBHOOK_SECRET=s0";
    struct settings s;

    (void)state;
    for (int i = 1; i < LIMIT_SECRETS; i++)
        snprintf(line + strlen(line), sizeof(line) - strlen(line), ",s%d", i);
    loads(&s, ENV(line));
    assert_int_equal(s.webhook_secret_count, LIMIT_SECRETS);
    settings_release(&s);
    strcat(line, ",more");
    refuses(ENV(line), "STRIPE_WEBHOOK_SECRET: has more than 16 secrets\n");
}

/* --- files --- */

struct file {
    char path[64];
    char line[128];
};

static struct file file_with(const char *variable, const void *bytes, size_t n)
{
    struct file f = { .path = "/tmp/ichido-setting.XXXXXX" };
    int fd = mkstemp(f.path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    snprintf(f.line, sizeof(f.line), "%s=%s", variable, f.path);
    return f;
}

static struct file file_of(const char *variable, const char *text)
{
    return file_with(variable, text, strlen(text));
}

static void a_value_may_stand_in_a_file(void **state)
{
    static const char *const ends[] = { "", "\n", "\r\n" };
    struct settings s;

    (void)state;
    for (size_t i = 0; i < COUNT(ends); i++) {
        char text[64];
        struct file f;

        snprintf(text, sizeof(text), "whsec_a,whsec_0123456789b%s", ends[i]);
        f = file_of("STRIPE_WEBHOOK_SECRET_FILE", text);
        loads(&s, ENV(f.line));
        assert_int_equal(s.webhook_secret_count, 2);
        assert_str(s.webhook_secrets[1], "whsec_0123456789b");
        settings_release(&s);
        unlink(f.path);
    }
}

static void a_file_that_is_no_value_is_refused(void **state)
{
    char wanted[256], *big = calloc(1, LIMIT_SETTING + 2);
    struct file f = file_of("ICHIDO_ADMIN_TOKEN_FILE", "two\n\n");

    (void)state;
    refuses(ENV(f.line), "ICHIDO_ADMIN_TOKEN: has a blank or a line break in it or around it\n");
    unlink(f.path);

    snprintf(wanted, sizeof(wanted),
             "ICHIDO_ADMIN_TOKEN: cannot read %s (from ICHIDO_ADMIN_TOKEN_FILE): No such file or "
             "directory\n",
             f.path);
    refuses(ENV(f.line), wanted);
    refuses(ENV("ICHIDO_DB_FILE=/tmp"),
            "ICHIDO_DB: cannot read /tmp (from ICHIDO_DB_FILE): Is a directory\n");

    for (int newline = 0; newline < 2; newline++) { /* a lone newline is as empty as nothing */
        f = file_of("ICHIDO_ADMIN_TOKEN_FILE", newline ? "\n" : "");
        snprintf(wanted, sizeof(wanted),
                 "ICHIDO_ADMIN_TOKEN: %s (from ICHIDO_ADMIN_TOKEN_FILE) is empty\n", f.path);
        refuses(ENV(f.line), wanted);
        unlink(f.path);
    }

    memset(big, 'a', LIMIT_SETTING + 1);
    f = file_of("ICHIDO_ADMIN_TOKEN_FILE", big);
    snprintf(wanted, sizeof(wanted),
             "ICHIDO_ADMIN_TOKEN: cannot read %s (from ICHIDO_ADMIN_TOKEN_FILE): the file is too "
             "long\n",
             f.path);
    refuses(ENV(f.line), wanted);
    unlink(f.path);
    free(big);

    f = file_with("ICHIDO_DB_FILE", "sqlite:a\0b", 10);
    refuses(ENV(f.line), "ICHIDO_DB: has a control character or line break in it\n");
    unlink(f.path);
}

static void a_pem_comes_whole_from_its_file(void **state)
{
    struct file f = file_of("ICHIDO_JWT_PUBLIC_KEY_FILE", PEM "\n");
    struct settings s;

    (void)state;
    loads(&s, ENV(f.line));
    assert_str(s.jwt_public_key, PEM);
    settings_release(&s);
    unlink(f.path);
}

static void a_value_and_its_file_are_one_too_many(void **state)
{
    (void)state;
    refuses(ENV("ICHIDO_DB=sqlite:x", "ICHIDO_DB_FILE=/tmp/x"),
            "ICHIDO_DB: is set, and ICHIDO_DB_FILE too: only one of them\n");
}

static void a_config_file_has_the_same_names_and_the_environment_wins(void **state)
{
    struct file secret = file_of("X", "whsec_of_file\n"), f;
    char text[512];
    struct settings s;

    (void)state;
    snprintf(text, sizeof(text),
             "# a comment\n\n  ICHIDO_LOOPS=3\r\nICHIDO_LISTEN=127.0.0.1:1\n"
             "STRIPE_WEBHOOK_SECRET_FILE=%s\nICHIDO_DB=sqlite:a=b#c\nQSTASH_TOKEN=x\n"
             "ICHIDO_RATE_LIMIT=\nICHIDO_GATEWAY=sandbox",
             secret.path);
    f = file_of("ICHIDO_CONFIG", text);
    loads(&s, ENV(f.line, "ICHIDO_LISTEN=127.0.0.1:2"));
    assert_int_equal(s.loops, 3);
    assert_str(s.listen, "127.0.0.1:2");
    assert_str(s.db, "sqlite:a=b#c");
    assert_str(s.webhook_secrets[0], "whsec_of_file");
    assert_int_equal(s.rate_limit, 0);
    settings_release(&s);
    loads(&s, ENV(f.line, "STRIPE_WEBHOOK_SECRET=whsec_of_env")); /* not "both are set" */
    assert_str(s.webhook_secrets[0], "whsec_of_env");
    settings_release(&s);
    unlink(f.path);
    unlink(secret.path);
}

static void a_wrong_config_line_is_named(void **state)
{
    static const char *const rows[][2] = {
        { "\nICHIDO_LOOPS\n", "%s: line 2 must be NAME=value or a # comment\n" },
        { "ICHIDO_LOPS=1\n", "ICHIDO_LOPS: line 1 is not a setting; did you mean ICHIDO_LOOPS?\n" },
        { "=1\n", ": line 1 is not a setting\n" },
        { "STRIPE_TYPO=1\n", "STRIPE_TYPO: line 1 is not a setting\n" },
        { "ICHIDO_LOOPS=1\n#\nICHIDO_LOOPS=2\n", "%s: line 3 sets ICHIDO_LOOPS again\n" },
        { "ICHIDO_CONFIG=x\n", "%s: line 1: ICHIDO_CONFIG belongs to the environment\n" },
        { "ICHIDO_DB=sqlite:x   # one node\n",
          "%s: line 1: a # comment needs a line of its own\n" },
        { "ICHIDO_DB=\"sqlite:x\"\n",
          "%s: line 1: write the value without quotes\n"
          "ICHIDO_DB: must be sqlite:FILE, like sqlite:data/ichido.db, or postgres://...\n" },
    };
    struct settings s;
    struct buf problems;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct file f = file_of("ICHIDO_CONFIG", rows[i][0]);
        char wanted[256];

        snprintf(wanted, sizeof(wanted), rows[i][1], f.path);
        refuses(ENV(f.line), wanted);
        unlink(f.path);
    }
    assert_false(load(&s, &problems, ENV("ICHIDO_CONFIG=/no/such/file")));
    assert_str(buf_str(&problems),
               "ICHIDO_CONFIG: cannot read /no/such/file: No such file or directory\n");
    buf_release(&problems);
}

static void names_need_not_be_listed(void **state)
{
    struct settings s;
    struct buf problems;

    (void)state;
    current_env = ENV("ICHIDO_TYPO=1", "ICHIDO_LOOPS=2");
    buf_init(&problems, 1024);
    assert_true(settings_load(&s, from_current, NULL, &problems));
    assert_int_equal(s.loops, 2);
    settings_release(&s);
    buf_release(&problems);
}

/* The arena's block is freed with its bytes wiped; so look while it is still there. */
static void a4_release_wipes_the_secrets(void **state)
{
    struct settings s;
    struct arena kept;
    struct str secrets[6];

    (void)state;
    loads(&s, ENV("ICHIDO_ADMIN_TOKEN=s3cret-0123456789", "ICHIDO_DB=postgres://u:pw@h/d",
                  JWT_SECRET, "ICHIDO_EVENTS_SECRET=" EVENTS_SECRET, "QSTASH_TOKEN=t",
                  "QSTASH_CURRENT_SIGNING_KEY=c", "QSTASH_NEXT_SIGNING_KEY=n"));
    secrets[0] = s.admin_token;
    secrets[1] = s.jwt_secret;
    secrets[2] = s.events_secret;
    secrets[3] = s.qstash_token;
    secrets[4] = s.qstash_current_key;
    secrets[5] = s.qstash_next_key;
    kept = s.arena;
    s.arena = (struct arena){ 0 };
    settings_release(&s);
    for (size_t i = 0; i < COUNT(secrets); i++)
        for (size_t j = 0; j < secrets[i].n; j++)
            assert_int_equal(secrets[i].p[j], 0);
    arena_release(&kept);
}

/* --- seen --- */

static bool view(const struct settings *s, const char *name, struct buf *text,
                 struct setting_view *ret)
{
    for (size_t i = 0; settings_view(s, i, text, ret); i++)
        if (strcmp(ret->name, name) == 0)
            return true;
    return false;
}

static void o8_a_setting_is_seen_with_its_source(void **state)
{
    char path[] = "/tmp/ichido-settings-XXXXXX", config[64];
    static const struct {
        const char *name, *value;
        enum setting_source source;
        bool secret, set;
    } rows[] = {
        { "ICHIDO_MODE", "dev", SETTING_DEFAULT, false, true },
        { "ICHIDO_LOOPS", "4", SETTING_ENVIRONMENT, false, true },
        { "ICHIDO_BANK_DAYS", "9", SETTING_CONFIG, false, true },
        { "ICHIDO_WEBHOOK_ALLOW", "", SETTING_DEFAULT, false, false },
        { "ICHIDO_ADMIN_TOKEN", "", SETTING_CONFIG, true, true },
        { "ICHIDO_EVENTS_SECRET", "", SETTING_DEFAULT, true, false },
        { "ICHIDO_DB", "postgres://u:***@h/d", SETTING_ENVIRONMENT, false, true },
        { "ICHIDO_ROUTES", "paypay=paypay,bank_transfer=manual", SETTING_DEFAULT, false, true },
        { "ICHIDO_MAIL_FROM", "", SETTING_CONTENTS, false, true },
    };
    const char text[] = "ICHIDO_BANK_DAYS=9\nICHIDO_ADMIN_TOKEN=0123456789abcdef\n";
    const char mail[] = "pay@example.com\n";
    char mail_path[] = "/tmp/ichido-settings-XXXXXX", mail_file[64];
    int fd = mkstemp(path), mail_fd = mkstemp(mail_path);
    struct settings s;
    struct buf b;

    (void)state;
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    assert_int_equal(write(mail_fd, mail, sizeof(mail) - 1), sizeof(mail) - 1);
    close(fd);
    close(mail_fd);
    snprintf(config, sizeof(config), "ICHIDO_CONFIG=%s", path);
    snprintf(mail_file, sizeof(mail_file), "ICHIDO_MAIL_FROM_FILE=%s", mail_path);
    loads(&s, ENV(config, mail_file, "ICHIDO_LOOPS=4", "ICHIDO_DB=postgres://u:pw@h/d",
                  "ICHIDO_SMTP_URL=smtp://u:pw@h:587"));
    buf_init(&b, LIMIT_SETTING);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct setting_view v = { 0 };

        if (!view(&s, rows[i].name, &b, &v))
            fail_msg("%s is not there", rows[i].name);
        if (!str_eq(v.value, str_of(rows[i].value)) || v.source != rows[i].source ||
            v.secret != rows[i].secret || v.set != rows[i].set)
            fail_msg("%s: " STR_FMT ", source %d", rows[i].name, STR_ARG(v.value), (int)v.source);
    }
    buf_release(&b);
    settings_release(&s);
    unlink(path);
    unlink(mail_path);
}

/* Every setting is set, and whatever in it lets somebody in has the same word in it. */
static void a4_no_secret_of_a_full_environment_is_seen(void **state)
{
    struct settings s;
    struct setting_view v;
    struct buf b;
    size_t secrets = 0;

    (void)state;
    loads(&s,
          ENV("ICHIDO_MODE=production", "ICHIDO_GATEWAY=stripe",
              "ICHIDO_ROUTES=paypay=paypay,bank_transfer=manual",
              "STRIPE_SECRET_KEY=sk_test_s3cret",
              "STRIPE_WEBHOOK_SECRET=whsec_s3cret12345,whsec_s3cret67890",
              "ICHIDO_ADMIN_TOKEN=s3cret0123456789", "ICHIDO_JWT_SECRET=" LONG_SECRET,
              "ICHIDO_DB=postgres://u:s3cret@h/d?password=s3cret", "PAYPAY_API_KEY=s3cret",
              "PAYPAY_API_SECRET=s3cret", "PAYPAY_MERCHANT_ID=m",
              "PAYPAY_API_BASE=https://u:s3cret@paypay.example", "ICHIDO_BANK_ACCOUNT=a",
              "ICHIDO_PAYPAY_ALLOW=10.0.0.0/8", "ICHIDO_RETURN_URL=https://h/r?t=s3cret",
              "ICHIDO_JWKS_URL=https://s3cret@h/jwks", "ICHIDO_EVENTS_SECRET=" LONG_SIGNING,
              "QSTASH_TOKEN=s3cret-0123456789abcdef", "QSTASH_CURRENT_SIGNING_KEY=sig_" LONG_SECRET,
              "QSTASH_NEXT_SIGNING_KEY=sig_x" LONG_SECRET, "QSTASH_URL=https://u:s3cret@h",
              "ICHIDO_PUBLIC_URL=https://u:s3cret@h", "ICHIDO_SMTP_URL=smtp://u:s3cret@h:587",
              "ICHIDO_MAIL_FROM=pay@example.com", "ICHIDO_FCM_CREDENTIALS={\"k\":\"s3cret\"}",
              "ICHIDO_NOTIFY_WEBHOOK=https://h/s3cret", "ICHIDO_NOTIFY_SECRET=" LONG_SIGNING,
              "OTEL_EXPORTER_OTLP_ENDPOINT=https://u:s3cret@h",
              "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://h/v1?key=s3cret",
              "OTEL_EXPORTER_OTLP_HEADERS=authorization=s3cret",
              "SENTRY_DSN=https://s3cret@sentry.example/1",
              "ICHIDO_ALERT_WEBHOOK=https://hooks.example/s3cret",
              "ICHIDO_ALERT_SECRET=" LONG_SIGNING));
    buf_init(&b, LIMIT_SETTING);
    for (size_t i = 0; settings_view(&s, i, &b, &v); i++) {
        if (v.value.n && memmem(v.value.p, v.value.n, "s3cret", 6))
            fail_msg("%s shows " STR_FMT, v.name, STR_ARG(v.value));
        secrets += v.secret && v.set;
    }
    assert_int_equal(secrets, 15);
    buf_release(&b);
    settings_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_environment_is_a_developers),
        TEST(every_setting_is_read),
        TEST(a_wrong_value_is_one_clear_line),
        TEST(a_url_is_http_with_a_host),
        TEST(an_address_is_host_and_port),
        TEST(all_problems_come_at_once),
        TEST(an_unknown_name_is_a_typing_error),
        TEST(g5_a_wrong_route_is_one_clear_line),
        TEST(d25_dev_mode_is_for_the_sandbox_on_loopback_only),
        TEST(d25_production_wants_real_secrets_and_no_test_tools),
        TEST(a1_production_wants_a_key_for_tokens_of_any_kind),
        TEST(q9_dev_mode_has_the_credentials_of_the_sdks_own),
        TEST(q9_a_token_without_keys_is_a_mistake_and_not_an_api_that_is_off),
        TEST(q9_production_has_no_credentials_but_real_ones),
        TEST(a_signing_key_has_a_limit),
        TEST(q5_a_remote_queue_needs_to_know_where_and_who),
        TEST(a4_a_broken_secret_is_refused_and_never_shown),
        TEST(secrets_have_a_limit),
        TEST(a_value_may_stand_in_a_file),
        TEST(a_file_that_is_no_value_is_refused),
        TEST(a_pem_comes_whole_from_its_file),
        TEST(a_value_and_its_file_are_one_too_many),
        TEST(a_config_file_has_the_same_names_and_the_environment_wins),
        TEST(w9_the_stripe_gateway_needs_a_key_that_says_its_mode),
        TEST(a_wrong_config_line_is_named),
        TEST(names_need_not_be_listed),
        TEST(a4_release_wipes_the_secrets),
        TEST(o8_a_setting_is_seen_with_its_source),
        TEST(a4_no_secret_of_a_full_environment_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
