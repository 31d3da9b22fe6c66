/* sentry_dsn.c - takes a DSN apart and builds the URL and the X-Sentry-Auth header. A problem is
 * described without showing the DSN, because it holds a key. */
#include "telemetry/sentry_dsn.h"

#include <stdio.h>
#include <string.h>

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool all_of(struct str s, const char *more)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_word(s.p[i]) && !(s.p[i] && strchr(more, s.p[i])))
            return false;
    return s.n > 0;
}

static bool all_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

/* Cuts the part before the last sep off; *s keeps the part after it. */
static bool cut_last(struct str *s, char sep, struct str *ret_before)
{
    const char *at = memrchr(s->p, sep, s->n);

    if (!at)
        return false;
    *ret_before = (struct str){ s->p, (size_t)(at - s->p) };
    *s = (struct str){ at + 1, s->n - ret_before->n - 1 };
    return true;
}

/* "host", "host:9000", "[::1]:9000" */
static const char *wrong_host(struct str authority)
{
    struct str port = { 0 }, host = authority;
    bool bracket = host.n && host.p[0] == '[';
    const char *end = bracket ? memchr(host.p, ']', host.n) : memchr(host.p, ':', host.n);
    int64_t number;

    if (bracket && !end)
        return "its host has no ]";
    if (end) {
        host.n = (size_t)(end - host.p) + (bracket ? 1 : 0);
        port = (struct str){ authority.p + host.n, authority.n - host.n };
    }
    if (bracket ? !all_of((struct str){ host.p + 1, host.n - 2 }, ":.%") : !all_of(host, ".-"))
        return "its host is not one";
    if (!port.n)
        return NULL;
    port = (struct str){ port.p + 1, port.n - 1 };
    if (port.p[-1] != ':' || !str_to_i64(port, &number) || number < 1 || number > 65535)
        return "its port is not one";
    return NULL;
}

struct parts {
    struct str protocol, key, secret, authority, path, project;
};

static bool cut_protocol(struct str *s, struct str *ret_protocol)
{
    static const struct str known[] = { { "https://", 8 }, { "http://", 7 } };

    for (size_t i = 0; i < COUNT(known); i++)
        if (str_starts(*s, known[i])) {
            *ret_protocol = (struct str){ s->p, known[i].n };
            *s = (struct str){ s->p + known[i].n, s->n - known[i].n };
            return true;
        }
    return false;
}

static const char *take_apart(struct str dsn, struct parts *p)
{
    struct str rest = dsn, who, where;

    if (!cut_protocol(&rest, &p->protocol))
        return "it begins with neither https:// nor http://";
    if (!memchr(rest.p, '/', rest.n))
        return "it has no project id";
    who = str_cut(&rest, '/'); /* rest: [path/]project */
    p->project = rest;
    if (cut_last(&p->project, '/', &p->path) && !all_of(p->path, "/.-~"))
        return "its path has strange letters";
    where = who;
    if (!cut_last(&where, '@', &who))
        return "it has no public key (the part before the @)";
    p->authority = where;
    p->key = str_cut(&who, ':');
    p->secret = who;
    if (!all_of(p->key, "") || (p->secret.n && !all_of(p->secret, "")))
        return "its key is not one";
    if (!all_digits(p->project))
        return "its project id (the last part) is not a number";
    return wrong_host(p->authority);
}

bool sentry_dsn_parse(struct str dsn, struct str client, struct sentry_dsn *ret_dsn,
                      struct why *why)
{
    struct parts p = { 0 };
    const char *wrong = dsn.n > SENTRY_DSN_MAX ? "it is too long" : take_apart(dsn, &p);

    if (wrong)
        return why_false(why, "SENTRY_DSN is not a DSN: %s", wrong);
    snprintf(ret_dsn->url, SENTRY_URL, STR_FMT STR_FMT "%s" STR_FMT "/api/" STR_FMT "/envelope/",
             STR_ARG(p.protocol), STR_ARG(p.authority), p.path.n ? "/" : "", STR_ARG(p.path),
             STR_ARG(p.project));
    snprintf(ret_dsn->auth, SENTRY_AUTH,
             "Sentry sentry_version=7, sentry_client=" STR_FMT ", sentry_key=" STR_FMT "%s" STR_FMT,
             STR_ARG(client), STR_ARG(p.key), p.secret.n ? ", sentry_secret=" : "",
             STR_ARG(p.secret));
    return true;
}
