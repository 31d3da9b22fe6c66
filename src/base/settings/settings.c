/* settings.c - the table of all settings, and the loop that reads them. A wrong setting is one line
 * of `problems`; all settings are read before the program stops. Secrets are wiped when they are
 * freed. */
#include "base/settings/settings.h"

#include "base/fault.h"
#include "base/limits.h"
#include "base/settings/address.h"
#include "base/settings/read.h"
#include "base/time/zone.h"
#include "base/url_mask.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

struct setting_given {
    enum setting_source source;
    struct str text; /* as it was given, or the default; empty where it must not be shown */
};

/* clang-format off */
#define ROW(name_, read_, field_, fallback_, ...) \
    { .name = (name_), .read = (read_), .field = offsetof(struct settings, field_), \
      .fallback = (fallback_), __VA_ARGS__ }
#define FROM_TO(least_, most_) .least = (least_), .most = (most_)
#define ONE_OF(choices_) .choices = (choices_)
#define SECRET .secret = true
#define BARE .bare = true
#define NOT_READ(name_) { .name = (name_) }
#define DAY_MS 86400000LL

static const struct setting table[] = {
    ROW("ICHIDO_MODE",             read_mode,     mode,            "dev", ONE_OF("dev,production")),
    ROW("ICHIDO_LISTEN",           read_listen,   listen,          "127.0.0.1:8787"),
    ROW("ICHIDO_DB",               read_db,       db,              "sqlite:data/ichido.db"),
    ROW("ICHIDO_GATEWAY",          read_text,     gateway,         "sandbox",
        ONE_OF("sandbox,stripe,paypay,manual")),
    ROW("ICHIDO_ROUTES",           read_routes,    routes,          NULL),
    ROW("ICHIDO_GATEWAY_CALLS",    read_numbers,  gateway_calls,   NULL,      FROM_TO(1, LIMIT_GATEWAY_CALLS)),
    ROW("ICHIDO_GATEWAY_TIMEOUT_MS", read_numbers, gateway_timeout, NULL,     FROM_TO(100, 60000)),
    ROW("PAYPAY_API_KEY",          read_secret,   paypay_api_key,  NULL),
    ROW("PAYPAY_API_SECRET",       read_secret,   paypay_api_secret, NULL),
    ROW("PAYPAY_MERCHANT_ID",      read_text,     paypay_merchant_id, NULL),
    ROW("PAYPAY_API_BASE",         read_base,     paypay_api_base, NULL),
    ROW("ICHIDO_PAYPAY_ALLOW",     read_networks, paypay_allow,    NULL),
    ROW("ICHIDO_BANK_ACCOUNT",     read_text,     bank_account,    NULL),
    ROW("ICHIDO_BANK_DAYS",        read_int,      bank_days,       "7",       FROM_TO(1, 60)),
    ROW("ICHIDO_HEAL_MS",          read_i64,      heal_ms,         "300000",  FROM_TO(0, DAY_MS)),
    ROW("ICHIDO_RECONCILE_AT",     read_hour,     reconcile_at,    "04:00"),
    ROW("ICHIDO_TIME_ZONE",        read_zone,     time_zone,       "Asia/Tokyo"),
    ROW("ICHIDO_UNKNOWN_ALERT_MS", read_i64,      unknown_alert_ms, "900000", FROM_TO(1000, DAY_MS)),
    ROW("ICHIDO_ADMIN_TOKEN",      read_secret,   admin_token,     NULL),
    ROW("STRIPE_SECRET_KEY",       read_secret,   stripe_secret_key, NULL),
    ROW("STRIPE_WEBHOOK_SECRET",   read_secrets,  webhook_secrets, NULL),
    ROW("ICHIDO_WEBHOOK_ACK",      read_int,      webhook_ack,     "204",
        ONE_OF("200,204"), FROM_TO(200, 204)),
    ROW("ICHIDO_WEBHOOK_ALLOW",    read_networks, webhook_allow,   NULL),
    ROW("ICHIDO_WEBHOOK_RETRIES",  read_int,      retries,         "3",       FROM_TO(0, 100)),
    ROW("ICHIDO_WEBHOOK_RETRY_MS", read_i64,      retry_first_ms,  "1000",    FROM_TO(1, DAY_MS)),
    ROW("ICHIDO_TRUSTED_PROXIES",  read_networks, trusted_proxies, NULL),
    ROW("ICHIDO_TLS_CERT",         read_text,     tls_cert,        NULL),
    ROW("ICHIDO_TLS_KEY",          read_text,     tls_key,         NULL),
    ROW("ICHIDO_LOG_LEVEL",        read_text,     log_level,       "info",
        ONE_OF("debug,info,warn,error")),
    ROW("ICHIDO_LOG_FORMAT",       read_text,     log_format,      "auto", ONE_OF("auto,json,text")),
    ROW("ICHIDO_RETENTION_DAYS",   read_int,      retention_days,  "90",      FROM_TO(1, 36500)),
    ROW("ICHIDO_LOOPS",            read_int,      loops,           "1",       FROM_TO(1, 64)),
    ROW("ICHIDO_DB_CONNECTIONS",   read_int,      db_connections,  "0",       FROM_TO(0, 256)),
    ROW("ICHIDO_MAX_CONNECTIONS",  read_int,      max_connections, NULL,      FROM_TO(1, 1000000)),
    ROW("ICHIDO_RATE_LIMIT",       read_int,      rate_limit,      "0",       FROM_TO(0, 1000000)),
    ROW("ICHIDO_BACKLOG_LIMIT",    read_i64,      backlog_limit,   "5000000", FROM_TO(1, 1LL << 40)),
    ROW("ICHIDO_OLDEST_READY_LIMIT_MS", read_i64, oldest_ready_limit_ms, "60000",
        FROM_TO(1, DAY_MS)),
    ROW("ICHIDO_SANDBOX_LISTEN",   read_sandbox_listen, sandbox_listen, "127.0.0.1:12111"),
    ROW("ICHIDO_SANDBOX_DB",       read_db,       sandbox_db,      NULL),
    ROW("ICHIDO_SANDBOX_WEBHOOKS", read_switch,   sandbox_webhooks, "on"),
    ROW("STRIPE_API_BASE",         read_base,     stripe_api_base, NULL),
    ROW("ICHIDO_REFETCH",          read_text,     refetch,         "auto", ONE_OF("auto,on,off")),
    ROW("ICHIDO_RETURN_URL",       read_url,      return_url,      NULL),
    ROW("ICHIDO_KEY_TTL_MS",       read_i64,      key_ttl_ms,      "86400000",
        FROM_TO(1000, 30 * DAY_MS)),
    ROW("ICHIDO_ACTION_LIMIT_MS",  read_i64,      action_limit_ms, "3600000", FROM_TO(1000, DAY_MS)),
    ROW("ICHIDO_RESERVATION_MS",   read_i64,      reservation_ms,  "900000",  FROM_TO(1000, 30 * DAY_MS)),
    ROW("ICHIDO_LANGUAGE",         read_text,     language,        "ja",      ONE_OF("ja,en")),
    ROW("ICHIDO_JWT_SECRET",       read_secret,   jwt_secret,      NULL),
    ROW("ICHIDO_JWT_PUBLIC_KEY",   read_pem,      jwt_public_key,  NULL),
    ROW("ICHIDO_JWKS_URL",         read_url,      jwks_url,        NULL),
    ROW("ICHIDO_JWT_ISSUER",       read_text,     jwt_issuer,      NULL),
    ROW("ICHIDO_JWT_AUDIENCE",     read_text,     jwt_audience,    NULL),
    ROW("ICHIDO_EVENTS_SECRET",    read_secret,   events_secret,   NULL),
    ROW("ICHIDO_OWNER_MAY",        read_owner_may, owner_may,
        "create,read,capture,refund,void"),
    ROW("ICHIDO_QUEUE",            read_queue,    queue_remote,    "builtin",
        ONE_OF("builtin,qstash")),
    ROW("SKIP_QSTASH_IN_TEST",     read_skip,     queue_remote,    NULL, ONE_OF("0,1,false,true")),
    ROW("QSTASH_URL",              read_base,     qstash_url,      NULL),
    ROW("QSTASH_TOKEN",            read_secret,   qstash_token,    NULL),
    ROW("QSTASH_CURRENT_SIGNING_KEY", read_secret, qstash_current_key, NULL),
    ROW("QSTASH_NEXT_SIGNING_KEY", read_secret,   qstash_next_key, NULL),
    ROW("ICHIDO_PUBLIC_URL",       read_base,     public_url,      NULL),
    ROW("ICHIDO_QSTASH_DEDUP_MS",  read_i64,      qstash_dedup_ms, "600000", FROM_TO(1, 90 * DAY_MS)),
    ROW("ICHIDO_QSTASH_PRIVATE",   read_private,  qstash_private,  "auto", ONE_OF("auto,on,off")),
    ROW("ICHIDO_TEST_CLOCK",       read_switch,   test_clock,      "off"),
    ROW("ICHIDO_TEST_PATIENCE",    read_int,      test_patience,   "1",       FROM_TO(1, 60)),
    ROW("ICHIDO_FAULTS",           read_faults,   faults,          NULL),

    ROW("ICHIDO_SMTP_URL",         read_smtp,     smtp_url,        NULL),
    ROW("ICHIDO_MAIL_FROM",        read_mail,     mail_from,       NULL),
    ROW("ICHIDO_FCM_CREDENTIALS",  read_text,     fcm_credentials, NULL, SECRET),
    ROW("ICHIDO_FCM_BASE",         read_base,     fcm_base,        NULL),
    ROW("ICHIDO_NOTIFY_WEBHOOK",   read_url,      notify_url,      NULL, BARE),
    ROW("ICHIDO_NOTIFY_SECRET",    read_secret,   notify_secret,   NULL),
    ROW("ICHIDO_REMINDER_DAYS",    read_days,     reminder_days,   "-3,0,3"),
    ROW("ICHIDO_REMINDER_TIME",    read_hour,     reminder_time,   "10:00"),

    ROW("OTEL_EXPORTER_OTLP_ENDPOINT", read_base, otlp_endpoint,   NULL),
    ROW("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", read_url, otlp_traces_endpoint, NULL),
    ROW("OTEL_EXPORTER_OTLP_HEADERS", read_secret, otlp_headers,   NULL),
    ROW("OTEL_EXPORTER_OTLP_PROTOCOL", read_text, otlp_protocol,   "http/json", ONE_OF("http/json")),
    ROW("OTEL_EXPORTER_OTLP_TIMEOUT", read_i64,   otlp_timeout_ms, "10000",   FROM_TO(1, 600000)),
    ROW("OTEL_SERVICE_NAME",       read_text,     otel_service_name, NULL),
    ROW("OTEL_RESOURCE_ATTRIBUTES", read_text,    otel_attributes, NULL),
    ROW("OTEL_SDK_DISABLED",       read_true,     otel_disabled,   NULL),
    ROW("OTEL_TRACES_SAMPLER",     read_text,     otel_sampler,    "parentbased_traceidratio",
        ONE_OF("always_on,always_off,traceidratio,parentbased_always_on,parentbased_always_off,"
               "parentbased_traceidratio")),
    ROW("OTEL_TRACES_SAMPLER_ARG", read_ratio,    otel_sampler_arg, "0.1"),
    ROW("OTEL_BSP_SCHEDULE_DELAY", read_i64,      otel_delay_ms,   "5000",    FROM_TO(10, 600000)),
    ROW("OTEL_BSP_MAX_QUEUE_SIZE", read_i64,      otel_queue_max,  "8192",    FROM_TO(64, 1 << 20)),
    ROW("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", read_i64, otel_batch_max, "512",    FROM_TO(1, 8192)),
    ROW("SENTRY_DSN",              read_secret,   sentry_dsn,      NULL),
    ROW("SENTRY_ENVIRONMENT",      read_text,     sentry_environment, NULL),
    ROW("ICHIDO_ALERT_WEBHOOK",    read_url,      alert_url,       NULL, BARE),
    ROW("ICHIDO_ALERT_SECRET",     read_secret,   alert_secret,    NULL),
    ROW("ICHIDO_ALERT_MAIL",       read_text,     alert_mail,      NULL),

    NOT_READ("ICHIDO_CONFIG"), /* source.c reads it */
    NOT_READ("ICHIDO_BIN"),    /* tells the end-to-end tests which program to run */
};
/* clang-format on */

/* --- names --- */

static bool is_known(struct str name)
{
    for (size_t i = 0; i < COUNT(table); i++)
        if (str_eq(str_of(table[i].name), name))
            return true;
    return false;
}

enum { NEAR = 3 };

static struct str settings_nearest(struct str name)
{
    struct str best = { 0 };
    size_t least = NEAR + 1;

    for (size_t i = 0; i < COUNT(table); i++) {
        size_t d = str_distance(name, str_of(table[i].name));

        if (d < least) {
            least = d;
            best = str_of(table[i].name);
        }
    }
    return best;
}

/* --- all of them --- */

static void settings_wipe(struct str s)
{
    if (s.n)
        OPENSSL_cleanse((char *)s.p, s.n); /* the arena's copy: ours to write */
}

static bool has_control(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f)
            return true;
    return false;
}

static bool is_hidden(const struct setting *row)
{
    return row->secret || row->read == read_secret || row->read == read_secrets;
}

static void read_row(struct load *l, const struct setting *row)
{
    struct setting_given *given = &l->s->given[row - table];
    struct str value = source_value(&l->source, &l->s->arena, row->name, &given->source);
    bool secret = row->read == read_secret || row->read == read_secrets || row->read == read_pem;
    int problems = l->source.problem_count;

    if (!value.n)
        value = arena_str(&l->s->arena, str_of(row->fallback)); /* copied: release wipes some */
    if (!value.n)
        return;
    if (!secret && has_control(value)) /* the reader of a secret checks that itself */
        source_problem(&l->source, row->name, "has a control character or line break in it");
    else
        row->read(l, row, value, (char *)l->s + row->field);
    if (!is_hidden(row) && row->read != read_pem && given->source != SETTING_CONTENTS)
        given->text = value;
    if (l->source.problem_count > problems)
        settings_wipe(value); /* it stands in no field, so settings_release will not find it */
}

bool settings_load(struct settings *s, settings_getenv get, char *const *env, struct buf *problems)
{
    struct load l = { .s = s,
                      .source = { .get = get,
                                  .env = env,
                                  .is_known = is_known,
                                  .nearest = settings_nearest,
                                  .problems = problems } };

    *s = (struct settings){ .max_connections = LIMIT_CONNECTIONS };
    arena_init(&s->arena, LIMIT_SETTINGS);
    s->given = arena_alloc(&s->arena, COUNT(table), sizeof(*s->given));
    if (!s->given) {
        source_problem(&l.source, "settings", "need more memory than there is");
        settings_release(s);
        return false;
    }
    source_open(&l.source);
    for (size_t i = 0; i < COUNT(table); i++)
        if (table[i].read)
            read_row(&l, &table[i]);
    settings_check(s, &l.source);
    source_release(&l.source);
    if (l.source.problem_count)
        settings_release(s);
    return !l.source.problem_count;
}

void settings_release(struct settings *s)
{
    for (size_t i = 0; i < COUNT(table); i++)
        if (table[i].read && is_hidden(&table[i]) && table[i].read != read_secrets)
            settings_wipe(*(const struct str *)((const char *)s + table[i].field));
    settings_wipe(s->db); /* a PostgreSQL address may hold a password, a mail server's too */
    settings_wipe(s->smtp_url);
    for (size_t i = 0; i < s->webhook_secret_count; i++)
        settings_wipe(s->webhook_secrets[i]);
    arena_release(&s->arena);
    *s = (struct settings){ 0 };
}

/* --- seen --- */

static bool is_address(const struct setting *row)
{
    return row->read == read_url || row->read == read_base || row->read == read_smtp ||
           row->read == read_db;
}

/* False for numbers and switches, which are shown as they were written. */
static bool is_text(const struct setting *row)
{
    static reader *const others[] = { read_mode,  read_switch, read_int,     read_i64,
                                      read_queue, read_skip,   read_private, read_true };

    for (size_t i = 0; i < COUNT(others); i++)
        if (row->read == others[i])
            return false;
    return row->read != read_secrets;
}

static bool has_secret(const struct settings *s, const struct setting *row)
{
    if (row->read == read_secrets)
        return s->webhook_secret_count > 0;
    return ((const struct str *)((const char *)s + row->field))->n > 0;
}

/* A text is shown from its field and not as it was written, because rules fill some fields in and a
 * port of 0 has become a real one. */
static void settings_show(const struct settings *s, const struct setting *row,
                          const struct setting_given *given, struct buf *text)
{
    const char *field = (const char *)s + row->field;
    struct str value = given->text;

    if (is_text(row) && ((const struct str *)field)->n)
        value = *(const struct str *)field;
    if (is_address(row))
        url_mask(text, value, row->bare);
    else if (!value.n && row->read == read_int && *(const int *)field)
        buf_i64(text, *(const int *)field);
    else
        buf_add(text, value);
}

bool settings_view(const struct settings *s, size_t i, struct buf *text,
                   struct setting_view *ret_view)
{
    const struct setting *row = &table[i];

    if (i >= COUNT(table) || !row->read) /* the rows without a reader stand last */
        return false;
    buf_clear(text);
    *ret_view = (struct setting_view){ .name = row->name,
                                       .source = s->given[i].source,
                                       .secret = is_hidden(row) };
    if (is_hidden(row) || row->read == read_pem) {
        ret_view->set = has_secret(s, row);
        return true;
    }
    settings_show(s, row, &s->given[i], text);
    ret_view->set = text->n > 0;
    if (ret_view->source == SETTING_CONTENTS)
        buf_clear(text);
    ret_view->value = buf_str(text);
    return true;
}
