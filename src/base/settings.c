/* settings.c - the table of all settings, how each is read, and the rules between them (D25). */
#include "base/settings.h"

#include "base/fault.h"
#include "base/limits.h"
#include "base/settings_source.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

struct setting;

struct load {
    struct settings *s;
    struct source source;
};

/* Sets the field, or writes a problem and leaves it as it was. */
typedef void reader(struct load *l, const struct setting *row, struct str value, void *field);

static reader read_mode, read_listen, read_db, read_text, read_secret, read_secrets, read_switch;
static reader read_int, read_i64, read_networks, read_faults, read_pem, read_url, read_owner_may;
static reader read_sandbox_listen, read_base;

struct setting {
    const char *name;
    reader *read; /* NULL: a known name that is not read here */
    size_t field;
    const char *fallback;
    int64_t least, most;
    const char *choices; /* separated by commas; NULL: not a choice */
};

/* clang-format off */
#define ROW(name_, read_, field_, fallback_, ...) \
    { .name = (name_), .read = (read_), .field = offsetof(struct settings, field_), \
      .fallback = (fallback_), __VA_ARGS__ }
#define FROM_TO(least_, most_) .least = (least_), .most = (most_)
#define ONE_OF(choices_) .choices = (choices_)
#define NOT_READ(name_) { .name = (name_) }
#define DAY_MS 86400000LL

static const struct setting table[] = {
    ROW("ICHIDO_MODE",             read_mode,     mode,            "dev", ONE_OF("dev,production")),
    ROW("ICHIDO_LISTEN",           read_listen,   listen,          "127.0.0.1:8787"),
    ROW("ICHIDO_DB",               read_db,       db,              "sqlite:data/ichido.db"),
    ROW("ICHIDO_GATEWAY",          read_text,     gateway,         "sandbox",
        ONE_OF("sandbox,stripe,paypay,manual")),
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
    ROW("ICHIDO_TEST_CLOCK",       read_switch,   test_clock,      "off"),
    ROW("ICHIDO_FAULTS",           read_faults,   faults,          NULL),

    NOT_READ("ICHIDO_CONFIG"), /* settings_source.c reads it */
    NOT_READ("ICHIDO_BIN"),    /* tells the end-to-end tests which program to run */
    /* For parts of Ichido that are not built yet: accepted. */
    NOT_READ("ICHIDO_QUEUE"),
    NOT_READ("ICHIDO_SMTP_URL"),             NOT_READ("ICHIDO_FCM_CREDENTIALS"),
    NOT_READ("ICHIDO_ALERT_WEBHOOK"),        NOT_READ("ICHIDO_ALERT_MAIL"),
    NOT_READ("QSTASH_URL"),
    NOT_READ("QSTASH_TOKEN"),                NOT_READ("QSTASH_CURRENT_SIGNING_KEY"),
    NOT_READ("QSTASH_NEXT_SIGNING_KEY"),     NOT_READ("PAYPAY_API_KEY"),
    NOT_READ("PAYPAY_API_SECRET"),           NOT_READ("PAYPAY_MERCHANT_ID"),
    NOT_READ("PAYPAY_API_BASE"),             NOT_READ("SENTRY_DSN"),
    NOT_READ("OTEL_EXPORTER_OTLP_ENDPOINT"), NOT_READ("OTEL_SERVICE_NAME"),
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

enum { NAME_MAX_SIZE = 48, NEAR = 3 };

/* Levenshtein's distance, one row at a time. */
static size_t distance(struct str a, struct str b)
{
    size_t row[NAME_MAX_SIZE + 1];

    if (a.n > NAME_MAX_SIZE || b.n > NAME_MAX_SIZE)
        return SIZE_MAX;
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t best = diagonal + (a.p[i - 1] != b.p[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b.n];
}

static struct str nearest(struct str name)
{
    struct str best = { 0 };
    size_t least = NEAR + 1;

    for (size_t i = 0; i < COUNT(table); i++) {
        size_t d = distance(name, str_of(table[i].name));

        if (d < least) {
            least = d;
            best = str_of(table[i].name);
        }
    }
    return best;
}

/* --- readers --- */

static bool is_choice(const char *choices, struct str value)
{
    struct str list = str_of(choices);

    while (list.n)
        if (str_eq(str_cut(&list, ','), value))
            return true;
    return false;
}

/* "must be a, b or c" */
static void not_a_choice(struct load *l, const struct setting *row)
{
    struct str list = str_of(row->choices);
    char words[128] = "";
    size_t n = 0;

    while (list.n) {
        struct str one = str_cut(&list, ',');
        const char *glue = n == 0 ? "" : list.n ? ", " : " or ";

        n += (size_t)snprintf(words + n, sizeof(words) - n, "%s" STR_FMT, glue, STR_ARG(one));
    }
    source_problem(&l->source, row->name, "must be %s", words);
}

static void read_text(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (row->choices && !is_choice(row->choices, value))
        not_a_choice(l, row);
    else
        *(struct str *)field = value;
}

static void read_mode(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (!is_choice(row->choices, value))
        not_a_choice(l, row);
    else
        *(enum mode *)field = str_eq(value, S("production")) ? MODE_PRODUCTION : MODE_DEV;
}

static void read_switch(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (!is_choice("on,off", value))
        source_problem(&l->source, row->name, "must be on or off");
    else
        *(bool *)field = str_eq(value, S("on"));
}

static bool read_number(struct load *l, const struct setting *row, struct str value, int64_t *ret)
{
    if (row->choices && !is_choice(row->choices, value)) {
        not_a_choice(l, row);
        return false;
    }
    if (str_to_i64(value, ret) && *ret >= row->least && *ret <= row->most)
        return true;
    source_problem(&l->source, row->name, "must be a whole number from %lld to %lld",
                   (long long)row->least, (long long)row->most);
    return false;
}

static void read_int(struct load *l, const struct setting *row, struct str value, void *field)
{
    int64_t v;

    if (read_number(l, row, value, &v))
        *(int *)field = (int)v;
}

static void read_i64(struct load *l, const struct setting *row, struct str value, void *field)
{
    int64_t v;

    if (read_number(l, row, value, &v))
        *(int64_t *)field = v;
}

static void read_db(struct load *l, const struct setting *row, struct str value, void *field)
{
    bool sqlite = str_starts(value, S("sqlite:")) && value.n > strlen("sqlite:");

    if (sqlite || str_starts(value, S("postgres://")) || str_starts(value, S("postgresql://")))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name,
                       "must be sqlite:FILE, like sqlite:data/ichido.db, or postgres://...");
}

static void read_faults(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct faults f;

    if (faults_parse(&f, value))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name, "must be like commit=crash@3,apply:x=fail");
}

/* Some of the words; none at all would lock every owner out, and is an empty value: not set. */
static void read_owner_may(struct load *l, const struct setting *row, struct str value, void *field)
{
    static const char all[] = "create,read,capture,refund,void";
    struct str rest = value;

    while (rest.n)
        if (!is_choice(all, str_trim(str_cut(&rest, ',')))) {
            source_problem(&l->source, row->name, "must be some of %s, separated by commas", all);
            return;
        }
    *(struct str *)field = value;
}

/* http:// or https://, a host, and nothing that does not belong into an address. */
static bool is_url(struct str value)
{
    struct str rest = value;
    bool sane = str_starts(value, S("http://")) || str_starts(value, S("https://"));

    str_cut(&rest, ':');
    sane = sane && rest.n > 2 && rest.p[2] != '/' && rest.p[2] != ':' && rest.p[2] != '?';
    for (size_t i = 0; i < value.n && sane; i++)
        sane = value.p[i] > ' ' && value.p[i] < 0x7f;
    return sane;
}

static void read_url(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (is_url(value))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name, "must be an http:// or https:// address");
}

/* What paths are put behind: without a slash at its end. */
static void read_base(struct load *l, const struct setting *row, struct str value, void *field)
{
    while (is_url(value) && value.p[value.n - 1] == '/')
        value.n--;
    read_url(l, row, value, field);
}

static void read_pem(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (str_starts(value, S("-----BEGIN PUBLIC KEY-----")))
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name,
                       "must be a PEM text, -----BEGIN PUBLIC KEY-----...; best in a file that "
                       "ICHIDO_JWT_PUBLIC_KEY_FILE names");
}

/* --- addresses --- */

static bool to_cstr(struct str s, char *out, size_t size)
{
    if (s.n >= size)
        return false;
    memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return true;
}

/* Splits host:port or [v6]:port; the host comes without its brackets. */
static bool split_listen(struct str value, struct str *ret_host, struct str *ret_port)
{
    if (value.n && value.p[0] == '[') {
        struct str host = str_cut(&value, ']');

        *ret_host = (struct str){ host.p + 1, host.n - 1 };
        if (!value.n || value.p[0] != ':')
            return false;
        *ret_port = (struct str){ value.p + 1, value.n - 1 };
        return true;
    }
    *ret_host = str_cut(&value, ':');
    *ret_port = value;
    return true;
}

static bool is_host(struct str host, bool bracketed)
{
    unsigned char bytes[16];
    char text[256];

    if (!host.n || !to_cstr(host, text, sizeof(text)))
        return false;
    if (bracketed)
        return inet_pton(AF_INET6, text, bytes) == 1;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") ==
           host.n;
}

static void read_listen(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct str host, port;
    int64_t number;

    if (split_listen(value, &host, &port) && is_host(host, value.p[0] == '[') &&
        str_to_i64(port, &number) && number >= 0 && number <= 65535)
        *(struct str *)field = value;
    else
        source_problem(&l->source, row->name, "must be host:port, like 127.0.0.1:8787");
}

static void read_sandbox_listen(struct load *l, const struct setting *row, struct str value,
                                void *field)
{
    if (str_eq(value, S("off")))
        *(struct str *)field = (struct str){ 0 };
    else
        read_listen(l, row, value, field);
}

static bool is_loopback(struct str listen)
{
    static const unsigned char one[16] = { [15] = 1 };
    unsigned char bytes[16];
    struct str host, port;
    char text[64];

    if (!split_listen(listen, &host, &port) || !to_cstr(host, text, sizeof(text)))
        return false;
    if (inet_pton(AF_INET, text, bytes) == 1)
        return bytes[0] == 127;
    if (inet_pton(AF_INET6, text, bytes) == 1)
        return memcmp(bytes, one, sizeof(one)) == 0;
    return str_eq_nocase(host, S("localhost"));
}

/* 10.0.0.0/8, 2001:db8::/32, or one address. */
static bool is_network(struct str s)
{
    bool has_prefix = s.n && memchr(s.p, '/', s.n);
    struct str address = str_cut(&s, '/');
    unsigned char bytes[16];
    int64_t prefix = 0, most;
    char text[64];

    if (!to_cstr(address, text, sizeof(text)))
        return false;
    if (inet_pton(AF_INET, text, bytes) == 1)
        most = 32;
    else if (inet_pton(AF_INET6, text, bytes) == 1)
        most = 128;
    else
        return false;
    return !has_prefix || (str_to_i64(s, &prefix) && prefix >= 0 && prefix <= most);
}

static void read_networks(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct str rest = value;

    while (rest.n)
        if (!is_network(str_trim(str_cut(&rest, ',')))) {
            source_problem(
                &l->source, row->name,
                "must be networks like 10.0.0.0/8 or 2001:db8::/32, separated by commas");
            return;
        }
    *(struct str *)field = value;
}

/* --- secrets: what is wrong with one is said, the secret never --- */

static bool is_secret(struct load *l, const struct setting *row, struct str value)
{
    const char *why = value.n ? NULL : "has an empty element in its list";

    for (size_t i = 0; i < value.n && !why; i++) {
        unsigned char c = (unsigned char)value.p[i];

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            why = "has a blank or a line break in it or around it";
        else if (c < 0x21 || c > 0x7e)
            why = "has a character that is not printable ASCII";
    }
    if (why)
        source_problem(&l->source, row->name, "%s", why);
    return !why;
}

static void read_secret(struct load *l, const struct setting *row, struct str value, void *field)
{
    if (is_secret(l, row, value))
        *(struct str *)field = value;
}

static void read_secrets(struct load *l, const struct setting *row, struct str value, void *field)
{
    struct str *list = arena_alloc(&l->s->arena, LIMIT_SECRETS, sizeof(*list));
    size_t n = 0;
    bool more = true;

    (void)field;
    if (!list) {
        source_problem(&l->source, row->name, "needs more memory than there is");
        return;
    }
    while (more) {
        more = value.n && memchr(value.p, ',', value.n); /* "a," has an empty element behind it */
        if (n == LIMIT_SECRETS) {
            source_problem(&l->source, row->name, "has more than %d secrets", LIMIT_SECRETS);
            return;
        }
        list[n] = str_cut(&value, ',');
        if (!is_secret(l, row, list[n++]))
            return;
    }
    l->s->webhook_secrets = list;
    l->s->webhook_secret_count = n;
}

/* --- rules between settings --- */

static void check_dev(struct load *l)
{
    if (!str_eq(l->s->gateway, S("sandbox")))
        source_problem(&l->source, "ICHIDO_GATEWAY",
                       "must be sandbox in dev mode; for a real one set ICHIDO_MODE=production");
    if (!is_loopback(l->s->listen))
        source_problem(&l->source, "ICHIDO_LISTEN",
                       "must be a loopback address in dev mode, like 127.0.0.1:8787");
    if (l->s->sandbox_listen.n && !is_loopback(l->s->sandbox_listen))
        source_problem(&l->source, "ICHIDO_SANDBOX_LISTEN",
                       "must be a loopback address, like 127.0.0.1:12111, or off");
    if (!l->s->sandbox_listen.n && !l->s->stripe_api_base.n)
        source_problem(&l->source, "ICHIDO_SANDBOX_LISTEN",
                       "is off: then STRIPE_API_BASE must say where another sandbox is");
}

static bool is_stripe_key(struct str key)
{
    return str_starts(key, S("sk_live_")) || str_starts(key, S("sk_test_")) ||
           str_starts(key, S("rk_live_")) || str_starts(key, S("rk_test_"));
}

static void check_production(struct load *l)
{
    struct settings *s = l->s;
    struct source *src = &l->source;

    if (str_eq(s->gateway, S("sandbox")))
        source_problem(src, "ICHIDO_GATEWAY", "must not be sandbox in production mode");
    if (s->test_clock)
        source_problem(src, "ICHIDO_TEST_CLOCK", "must be off in production mode");
    if (s->faults.n)
        source_problem(src, "ICHIDO_FAULTS", "must not be set in production mode");
    if (!s->webhook_secret_count)
        source_problem(src, "STRIPE_WEBHOOK_SECRET", "is required in production mode");
    for (size_t i = 0; i < s->webhook_secret_count; i++)
        if (s->webhook_secrets[i].n < LIMIT_WEBHOOK_SECRET_MIN)
            source_problem(src, "STRIPE_WEBHOOK_SECRET",
                           "secret %zu has fewer than %d characters: too easy to guess", i + 1,
                           LIMIT_WEBHOOK_SECRET_MIN);
    if (str_eq(s->gateway, S("stripe")) && !is_stripe_key(s->stripe_secret_key))
        source_problem(src, "STRIPE_SECRET_KEY",
                       "is required with the gateway stripe, and begins with sk_live_, sk_test_, "
                       "rk_live_ or rk_test_: it says whether live events are ours");
    if (!s->jwt_secret.n && !s->jwt_public_key.n && !s->jwks_url.n)
        source_problem(
            src, "ICHIDO_JWT_SECRET",
            "or ICHIDO_JWT_PUBLIC_KEY or ICHIDO_JWKS_URL is required in production mode");
    if (s->jwks_url.n && !str_starts(s->jwks_url, S("https://")))
        source_problem(src, "ICHIDO_JWKS_URL",
                       "must be https:// in production mode: who can change keys can be anybody");
    if (s->admin_token.n < LIMIT_ADMIN_TOKEN_MIN)
        source_problem(src, "ICHIDO_ADMIN_TOKEN",
                       "is required in production mode, with at least %d characters",
                       LIMIT_ADMIN_TOKEN_MIN);
}

/* Only when every setting is right by itself: what was refused looks like what is not set. */
static void check_rules(struct load *l)
{
    if (l->source.problem_count)
        return;
    if (l->s->tls_cert.n && !l->s->tls_key.n)
        source_problem(&l->source, "ICHIDO_TLS_KEY", "is required with ICHIDO_TLS_CERT");
    if (l->s->tls_key.n && !l->s->tls_cert.n)
        source_problem(&l->source, "ICHIDO_TLS_CERT", "is required with ICHIDO_TLS_KEY");
    if (l->s->events_secret.n && (l->s->events_secret.n < LIMIT_EVENTS_SECRET_MIN ||
                                  !str_starts(l->s->events_secret, S("whsec_"))))
        source_problem(&l->source, "ICHIDO_EVENTS_SECRET",
                       "must be whsec_ and the base64 of 24 to 64 bytes");
    if (l->s->jwt_secret.n && l->s->jwt_secret.n < LIMIT_JWT_SECRET_MIN)
        source_problem(&l->source, "ICHIDO_JWT_SECRET",
                       "has fewer than %d characters: too easy to guess", LIMIT_JWT_SECRET_MIN);
    if (l->s->mode == MODE_PRODUCTION)
        check_production(l);
    else
        check_dev(l);
}

/* --- all of them --- */

static void wipe(struct str s)
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

static void read_row(struct load *l, const struct setting *row)
{
    struct str value = source_value(&l->source, &l->s->arena, row->name);
    bool secret = row->read == read_secret || row->read == read_secrets || row->read == read_pem;
    int problems = l->source.problem_count;

    if (!value.n)
        value = arena_str(&l->s->arena, str_of(row->fallback)); /* copied: release wipes some */
    if (!value.n)
        return;
    if (!secret && has_control(value)) /* of secrets their reader says more */
        source_problem(&l->source, row->name, "has a control character or line break in it");
    else
        row->read(l, row, value, (char *)l->s + row->field);
    if (l->source.problem_count > problems)
        wipe(value); /* it stands in no field, so settings_release will not find it */
}

bool settings_load(struct settings *s, settings_getenv get, char *const *env, struct buf *problems)
{
    struct load l = { .s = s,
                      .source = { .get = get,
                                  .env = env,
                                  .is_known = is_known,
                                  .nearest = nearest,
                                  .problems = problems } };

    *s = (struct settings){ .max_connections = LIMIT_CONNECTIONS };
    arena_init(&s->arena, LIMIT_SETTINGS);
    source_open(&l.source);
    for (size_t i = 0; i < COUNT(table); i++)
        if (table[i].read)
            read_row(&l, &table[i]);
    check_rules(&l);
    source_release(&l.source);
    if (l.source.problem_count)
        settings_release(s);
    return !l.source.problem_count;
}

void settings_release(struct settings *s)
{
    wipe(s->admin_token);
    wipe(s->stripe_secret_key);
    wipe(s->jwt_secret);
    wipe(s->events_secret);
    wipe(s->db); /* a PostgreSQL address may hold a password */
    for (size_t i = 0; i < s->webhook_secret_count; i++)
        wipe(s->webhook_secrets[i]);
    arena_release(&s->arena);
    *s = (struct settings){ 0 };
}
