/* checks.c - the checks on this machine: settings, secrets, clock, files, database. They only
 * read. */
#include "base/limits.h"
#include "cli/admin_ask.h"
#include "cli/doctor/command.h"
#include "store/look.h"

#include <errno.h>
#include <libgen.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

enum { SECRET_LEAST = 32, PATH_BYTES = 4200, CERT_DAYS = 21, SKEW_MS = 1000 };

#define GIGABYTE (1000LL * 1000 * 1000)

/* --- settings --- */

void doctor_check_settings(struct doctor *d)
{
    const struct settings *s = &d->node.settings;

    if (s->mode == MODE_DEV)
        doctor_say(d, DOCTOR_FINE, "settings", NULL,
                   "all of them can be read; dev mode, for this machine only");
    else
        doctor_say(d, DOCTOR_FINE, "settings", NULL, "all of them can be read; production mode");
    if (s->mode == MODE_PRODUCTION && str_eq(s->gateway, S("sandbox")))
        doctor_say(d, DOCTOR_WARN, "settings", "set ICHIDO_GATEWAY to stripe, paypay or manual",
                   "production mode with the sandbox as gateway: no real money moves");
}

static void check_listener(struct doctor *d)
{
    const struct settings *s = &d->node.settings;
    bool local = str_starts(s->listen, S("127.")) || str_starts(s->listen, S("[::1]")) ||
                 str_starts(s->listen, S("localhost"));

    if (!s->tls_cert.n && !local && !s->trusted_proxies.n)
        doctor_say(
            d, DOCTOR_WARN, "settings",
            "set ICHIDO_TLS_CERT and ICHIDO_TLS_KEY, or ICHIDO_TRUSTED_PROXIES for the proxy "
            "that has TLS",
            STR_FMT " is reached from outside, in clear text", STR_ARG(s->listen));
}

/* --- secrets --- */

static void check_length(struct doctor *d, const char *name, struct str secret)
{
    if (!secret.n || secret.n >= SECRET_LEAST)
        return;
    doctor_say(d, d->node.settings.mode == MODE_PRODUCTION ? DOCTOR_BAD : DOCTOR_WARN, "secrets",
               "make one with: openssl rand -base64 32",
               "%s has %zu characters; 32 cannot be guessed", name, secret.n);
}

static void check_stripe_key(struct doctor *d)
{
    const struct settings *s = &d->node.settings;
    bool live = str_starts(s->stripe_secret_key, S("sk_live_")) ||
                str_starts(s->stripe_secret_key, S("rk_live_"));

    if (!s->stripe_secret_key.n)
        return;
    if (live && s->mode == MODE_DEV)
        doctor_say(d, DOCTOR_BAD, "secrets", "use a sk_test_ key, or ICHIDO_MODE=production",
                   "STRIPE_SECRET_KEY is live in dev mode: real cards would be charged");
    if (!live && s->mode == MODE_PRODUCTION && str_eq(s->gateway, S("stripe")))
        doctor_say(d, DOCTOR_WARN, "secrets", "use the live key when real money shall move",
                   "STRIPE_SECRET_KEY is a test key in production mode");
}

static void check_webhook_secrets(struct doctor *d)
{
    const struct settings *s = &d->node.settings;

    for (size_t i = 0; i < s->webhook_secret_count; i++)
        if (!str_starts(s->webhook_secrets[i], S("whsec_")))
            doctor_say(d, DOCTOR_WARN, "secrets",
                       "copy it from the endpoint's page in Stripe's dashboard",
                       "STRIPE_WEBHOOK_SECRET (number %zu) does not begin with whsec_", i + 1);
}

static void check_readers(struct doctor *d, const char *name, const char *path)
{
    char advice[ADVICE];
    struct stat st;

    if (!path || !*path || stat(path, &st) < 0 || !(st.st_mode & (S_IRGRP | S_IROTH)))
        return;
    snprintf(advice, sizeof(advice), "chmod 600 %s", path);
    doctor_say(d, (st.st_mode & S_IROTH) ? DOCTOR_BAD : DOCTOR_WARN, "secrets", advice,
               "%s: others can read %s", name, path);
}

static bool names_a_secret(struct str name)
{
    static const char *const ours[] = { "ICHIDO_", "STRIPE_", "PAYPAY_",
                                        "QSTASH_", "SENTRY_", "OTEL_" };

    if (str_eq(name, S("ICHIDO_TLS_KEY")))
        return true;
    for (size_t i = 0; i < COUNT(ours); i++)
        if (str_ends(name, S("_FILE")) && str_starts(name, str_of(ours[i])))
            return true;
    return false;
}

/* Checks the file of a line NAME=path. */
static void check_line(struct doctor *d, const char *line)
{
    struct str value = str_of(line), name = str_trim(str_cut(&value, '='));
    char shown[128], path[PATH_BYTES];

    value = str_trim(value);
    if (!names_a_secret(name) || name.n >= sizeof(shown) || value.n >= sizeof(path))
        return;
    snprintf(shown, sizeof(shown), STR_FMT, STR_ARG(name));
    snprintf(path, sizeof(path), STR_FMT, STR_ARG(value));
    check_readers(d, shown, path);
}

/* Checks ICHIDO_CONFIG, the files that it names, and the files that the environment names. */
static void check_files(struct doctor *d)
{
    const char *config = getenv("ICHIDO_CONFIG");
    FILE *f = config ? fopen(config, "re") : NULL;
    char line[PATH_BYTES];

    check_readers(d, "ICHIDO_CONFIG", config);
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\r\n")] = '\0';
        check_line(d, line);
    }
    OPENSSL_cleanse(line, sizeof(line));
    if (f)
        fclose(f);
    for (char **e = environ; *e; e++)
        check_line(d, *e);
}

void doctor_check_secrets(struct doctor *d)
{
    const struct settings *s = &d->node.settings;
    size_t before = d->count;

    check_length(d, "ICHIDO_ADMIN_TOKEN", s->admin_token);
    check_length(d, "ICHIDO_JWT_SECRET", s->jwt_secret);
    check_stripe_key(d);
    check_webhook_secrets(d);
    check_files(d);
    if (d->count == before)
        doctor_say(
            d, DOCTOR_FINE, "secrets", NULL,
            "those that are set are long enough, have the right form, and others cannot read them");
}

/* --- the machine --- */

static void check_clock(struct doctor *d)
{
    struct timex t = { 0 };
    int state = adjtimex(&t);

    if (state == -1)
        doctor_say(d, DOCTOR_WARN, "clock", "look at it by hand: timedatectl",
                   "this system does not say whether its clock is set by others");
    else if (state == TIME_ERROR || (t.status & STA_UNSYNC))
        doctor_say(d, DOCTOR_WARN, "clock",
                   "install chrony or systemd-timesyncd: signatures older than 300 s are refused",
                   "no time service (NTP) keeps this machine's clock right");
    else
        doctor_say(d, DOCTOR_FINE, "clock", NULL, "kept right by NTP");
}

static void check_descriptors(struct doctor *d)
{
    int wanted =
        d->node.settings.max_connections ? d->node.settings.max_connections : LIMIT_CONNECTIONS;
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_max >= (rlim_t)wanted + 256)
        return;
    doctor_say(d, DOCTOR_WARN, "machine", "raise it: ulimit -n, or LimitNOFILE= of the unit",
               "%llu open files are allowed, %d connections may come",
               (unsigned long long)r.rlim_max, wanted);
}

static X509 *read_certificate(const char *path)
{
    FILE *f = fopen(path, "re");
    X509 *x = f ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;

    if (f)
        fclose(f);
    return x;
}

static void check_certificate(struct doctor *d)
{
    struct str path = d->node.settings.tls_cert;
    int days = 0, seconds = 0;
    X509 *x;

    if (!path.n)
        return;
    x = read_certificate(path.p);
    if (!x || !ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(x)))
        doctor_say(d, DOCTOR_BAD, "TLS", "ICHIDO_TLS_CERT must name a PEM file that we may read",
                   "%s is no certificate", path.p);
    else if (days < 0 || seconds < 0)
        doctor_say(d, DOCTOR_BAD, "TLS", "renew it, then start the server anew",
                   "the certificate has expired");
    else
        doctor_say(d, days < CERT_DAYS ? DOCTOR_WARN : DOCTOR_FINE, "TLS",
                   days < CERT_DAYS ? "renew it, then start the server anew" : NULL,
                   "the certificate is good for %d more days", days);
    X509_free(x);
}

void doctor_check_machine(struct doctor *d)
{
    check_clock(d);
    check_descriptors(d);
    check_listener(d);
    check_certificate(d);
}

/* --- the database --- */

static void check_schema(struct doctor *d, const struct store_look *l)
{
    if (l->schema > l->newest)
        doctor_say(d, DOCTOR_BAD, "database", "use the newer program, or restore a backup",
                   "%s; its tables are of a newer program (%lld, we know %lld)", l->server,
                   (long long)l->schema, (long long)l->newest);
    else if (l->schema < l->newest)
        doctor_say(d, DOCTOR_FINE, "database", NULL,
                   "%s; the next start brings it from %lld to %lld", l->server,
                   (long long)l->schema, (long long)l->newest);
    else
        doctor_say(d, DOCTOR_FINE, "database", NULL, "%s; its tables are this version's (%lld)",
                   l->server, (long long)l->schema);
}

static void check_room(struct doctor *d, const char *folder)
{
    struct statvfs v;
    long long room;

    if (statvfs(folder, &v) < 0)
        return;
    room = (long long)v.f_bavail * (long long)v.f_frsize;
    if (room < GIGABYTE)
        doctor_say(d, room < GIGABYTE / 10 ? DOCTOR_BAD : DOCTOR_WARN, "database",
                   "make room: a full disk refuses payments", "%lld MB are free in %s",
                   room / 1000000, folder);
}

static void check_sqlite(struct doctor *d, struct str file)
{
    char path[PATH_BYTES], copy[PATH_BYTES], *folder;
    struct why why = { 0 };
    struct store_look look;
    struct stat st;
    enum err e;

    snprintf(path, sizeof(path), STR_FMT, STR_ARG(file));
    snprintf(copy, sizeof(copy), "%s", path);
    folder = dirname(copy);
    if (access(path, F_OK) < 0 && errno == ENOENT) {
        doctor_say(d, DOCTOR_FINE, "database", NULL,
                   "%s is not there yet; the first start makes it", path);
        return;
    }
    if (access(folder, W_OK) < 0 || access(path, W_OK) < 0)
        doctor_say(d, DOCTOR_BAD, "database", "give it to the user that runs the server (chown)",
                   "%s and its folder must be writable", path);
    if (stat(path, &st) == 0 && (st.st_mode & 077))
        doctor_say(d, DOCTOR_WARN, "database", "chmod 600, also of its -wal and -shm",
                   "others can read %s", path);
    check_room(d, folder);
    e = sqlite_look(path, &look, &why);
    if (e)
        doctor_say(d, DOCTOR_BAD, "database",
                   e == ERR_VALIDATION ? "restore a backup, or name another file in ICHIDO_DB"
                                       : "see what has it: a copy, another program?",
                   "%s", why.text);
    else
        check_schema(d, &look);
}

static void check_postgres(struct doctor *d, struct str url)
{
    struct store_look look;
    struct why why = { 0 };

    if (postgres_look(url.p, &d->node.env.clock, &look, &why)) {
        doctor_say(d, DOCTOR_BAD, "database",
                   "is the server there, and are user and password right?", "%s", why.text);
        return;
    }
    check_schema(d, &look);
    for (const char **u = look.unsafe; *u; u++)
        doctor_say(d, DOCTOR_BAD, "database", "turn it on: a crash could lose confirmed payments",
                   "PostgreSQL has %s=off", *u);
    if (llabs(look.ahead_ms) > SKEW_MS)
        doctor_say(d, DOCTOR_WARN, "clock", "set both by NTP",
                   "PostgreSQL's clock and ours are %lld ms apart", llabs(look.ahead_ms));
}

void doctor_check_database(struct doctor *d)
{
    struct str db = d->node.settings.db, scheme = db, file;

    file = scheme;
    scheme = str_cut(&file, ':');
    if (str_eq(scheme, S("sqlite")))
        check_sqlite(d, file);
    else
        check_postgres(d, db);
}
