/* input_url.c - where a message goes: the destination in the path with its query, or the name of a
 * URL group; and which addresses are allowed. */
#include "base/limits.h"
#include "http/client/ssrf.h"
#include "http/message/target.h"
#include "qstash/header_json.h"
#include "qstash/publish/input_reader.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* --- names --- */

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_name_byte(char c)
{
    return is_alnum(c) || c == '.' || c == '_' || c == '-';
}

bool input_name_is_valid(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!is_name_byte(name.p[i]))
            return false;
    return name.n && name.n <= LIMIT_QSTASH_NAME;
}

/* --- addresses --- */

static bool is_port(struct str s)
{
    int64_t port;

    return str_to_i64(s, &port) && port >= 1 && port <= 65535;
}

static bool is_host_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_name_byte(s.p[i]) && s.p[i] != '~' && (unsigned char)s.p[i] < 0x80)
            return false;
    return s.n > 0;
}

static bool is_public6(struct str address, bool *ret_valid)
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
    char text[INET6_ADDRSTRLEN + 1] = "";

    if (address.n < sizeof(text))
        memcpy(text, address.p, address.n);
    *ret_valid = inet_pton(AF_INET6, text, &in6.sin6_addr) == 1;
    return *ret_valid && ssrf_is_public((struct sockaddr *)&in6);
}

/* Covers every spelling of an IPv4 address that a resolver understands: 127.1, 0x7f000001,
 * 2130706433. Other names are checked by the client once they are resolved (http/client/ssrf.c),
 * but localhost can be rejected here. */
static bool is_public_name(struct str name)
{
    struct sockaddr_in in4 = { .sin_family = AF_INET };
    char text[LIMIT_QSTASH_HOST + 1] = "";

    if (str_ends(name, S(".")))
        name.n--;
    memcpy(text, name.p, name.n);
    if (inet_aton(text, &in4.sin_addr))
        return ssrf_is_public((struct sockaddr *)&in4);
    while (name.n > 9 && memchr(name.p, '.', name.n))
        str_cut(&name, '.');
    return !str_eq_nocase(name, S("localhost"));
}

static const char *host_fault(struct str host, bool allow_private)
{
    bool is6 = host.p[0] == '[', valid, public;
    struct str rest = host, name;

    if (host.n > LIMIT_QSTASH_HOST)
        return "its host is too long";
    if (is6)
        rest = str_behind(rest, 1);
    name = str_cut(&rest, is6 ? ']' : ':');
    if (is6) {
        public = is_public6(name, &valid);
        if (!valid || name.n + 2 + rest.n != host.n || (rest.n && rest.p[0] != ':'))
            return "its host is no IPv6 address";
        rest = rest.n ? str_behind(rest, 1) : rest;
    } else {
        valid = is_host_name(name);
        if (!valid)
            return "its host is not a name or an address";
        public = is_public_name(name);
    }
    if (host.p[host.n - 1] == ':' || (rest.n && !is_port(rest)))
        return "its port is not a number from 1 to 65535";
    return public || allow_private ? NULL : "forbidden destination, the address is not public";
}

static bool has_blank(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
            return true;
    return false;
}

const char *input_url_fault(struct str url, bool allow_private)
{
    struct parcel p = { 0 };

    if (!starts_nocase(url, S("http://")) && !starts_nocase(url, S("https://")))
        return "endpoint has invalid scheme, add http:// or https://";
    if (url.n > LIMIT_QSTASH_URL)
        return "it is longer than 8192 bytes";
    if (has_blank(url) || !str_is_utf8(url))
        return "it has blanks, control characters or is not UTF-8";
    if (!parcel_set_url(&p, url))
        return "it has no host";
    return host_fault(p.host, allow_private);
}

bool input_url(struct reading *r, const char *what, struct str url)
{
    const char *fault = input_url_fault(url, r->s->allow_private);

    return !fault || input_refuse(r, "invalid %s url: %s", what, fault);
}

/* --- the query --- */

/* False: broken percent-encoding, or (with r->err set) the arena is full. */
static bool decode_text(struct reading *r, struct str raw, struct str *ret_text)
{
    size_t used = r->a->used;

    *ret_text = percent_decode(r->a, raw);
    if (!ret_text->p && r->a->used == used)
        input_no_memory(r);
    return ret_text->p != NULL;
}

static bool refuse_broken(struct reading *r, const char *words)
{
    return r->err ? false : input_refuse(r, "%s", words);
}

/* Whether a pair of the query is an option for us, in any encoding. All other pairs belong to the
 * destination and may be broken. */
static bool pair_is_option(struct reading *r, struct str pair, struct str *ret_name)
{
    struct str name = str_cut(&pair, '=');

    if (!decode_text(r, name, ret_name))
        *ret_name = name;
    return starts_nocase(*ret_name, S("upstash-")) || str_eq_nocase(*ret_name, S("qstash_token"));
}

static struct str plus_to_blank(struct arena *a, struct str s)
{
    char *p;

    if (!s.n || !memchr(s.p, '+', s.n))
        return s.p ? s : S("");
    p = arena_cstr(a, s);
    for (size_t i = 0; p && i < s.n; i++)
        if (p[i] == '+')
            p[i] = ' ';
    return (struct str){ p, s.n };
}

/* Keeps an option for after the headers, since a header of the same name wins. */
static bool keep_option(struct reading *r, struct str name, struct str pair)
{
    struct header_list *l = &r->queried_options;
    struct str value;

    str_cut(&pair, '=');
    pair = plus_to_blank(r->a, pair);
    if (!pair.p)
        return input_no_memory(r);
    if (!decode_text(r, pair, &value))
        return refuse_broken(r, "the query has broken percent-encoding");
    if (!header_name_is_valid(name) || memchr(name.p, '%', name.n) || !str_is_utf8(value))
        return input_refuse(r, "the query has an option that is no header");
    if (l->n == LIMIT_HEADER_COUNT)
        return input_refuse(r, "the query has more than %d options", LIMIT_HEADER_COUNT);
    if (!l->all) {
        l->all = arena_alloc(r->a, LIMIT_HEADER_COUNT, sizeof(*l->all));
        if (!l->all)
            return input_no_memory(r);
    }
    l->all[l->n++] = (struct header){ name, value };
    return true;
}

static bool query_may_have_options(struct str query)
{
    for (size_t i = 0; i < query.n; i++)
        if (query.p[i] == '%' || starts_nocase(str_behind(query, i), S("upstash-")) ||
            starts_nocase(str_behind(query, i), S("qstash_token")))
            return true;
    return false;
}

/* *ret_left gets the destination's part of the query, byte for byte. */
static bool split_query(struct reading *r, struct str *ret_left)
{
    struct str rest = r->s->query, name;
    char *p;
    size_t n = 0;

    *ret_left = rest;
    if (!query_may_have_options(rest))
        return true;
    p = arena_alloc(r->a, rest.n + 1, 1);
    if (!p)
        return input_no_memory(r);
    for (bool more = true; more;) {
        struct str pair;

        more = rest.n && memchr(rest.p, '&', rest.n);
        pair = str_cut(&rest, '&');
        if (pair_is_option(r, pair, &name) && !r->err) {
            if (!str_eq_nocase(name, S("qstash_token")) && !keep_option(r, name, pair))
                return false;
            continue;
        }
        if (r->err)
            return false;
        memcpy(p + n, pair.p, pair.n);
        n += pair.n;
        p[n++] = '&';
    }
    if (n <= r->s->query.n) /* something was taken out */
        *ret_left = (struct str){ p, n ? n - 1 : 0 };
    return true;
}

/* --- the destination --- */

/* Takes c or its encoded form; sets *encodes for the latter. */
static bool take_mark(struct str *s, char c, struct str encoded, bool *encodes)
{
    if (s->n && s->p[0] == c) {
        *s = str_behind(*s, 1);
        return true;
    }
    if (!starts_nocase(*s, encoded))
        return false;
    *s = str_behind(*s, encoded.n);
    *encodes = true;
    return true;
}

struct scheme {
    size_t letters; /* 4 or 5; 0: there is no scheme */
    int slashes;
    bool encoded; /* the whole destination is percent-encoded */
};

static struct scheme scheme_of(struct str d)
{
    struct scheme s = { .letters = starts_nocase(d, S("https"))  ? 5
                                   : starts_nocase(d, S("http")) ? 4
                                                                 : 0 };

    d = str_behind(d, s.letters);
    if (!s.letters || !take_mark(&d, ':', S("%3a"), &s.encoded))
        return (struct scheme){ 0 };
    while (s.slashes < 2 && take_mark(&d, '/', S("%2f"), &s.encoded))
        s.slashes++;
    return s;
}

/* "https%3A%2F%2Fhost" is decoded once; "https:/host" gets back the slash that a proxy removed. */
static bool repair_scheme(struct reading *r, const struct scheme *s, struct str *d)
{
    char *p;

    if (s->encoded && !decode_text(r, *d, d))
        return refuse_broken(r, "invalid destination url: broken percent-encoding");
    if (s->slashes != 1)
        return true;
    p = arena_alloc(r->a, d->n + 1, 1);
    if (!p)
        return input_no_memory(r);
    memcpy(p, d->p, s->letters + 2);
    p[s->letters + 2] = '/';
    memcpy(p + s->letters + 3, d->p + s->letters + 2, d->n - s->letters - 2);
    *d = (struct str){ p, d->n + 1 };
    return true;
}

/* Copies nothing if the two are still side by side in the request's target. */
static bool join_query(struct reading *r, struct str d, struct str left, struct str *ret_url)
{
    bool all = left.p == r->s->query.p && left.n == r->s->query.n;
    char *p;

    *ret_url = d;
    if (!r->s->has_query || (!left.n && !all))
        return true;
    ret_url->n += 1 + left.n;
    if (all && left.p == d.p + d.n + 1)
        return true;
    p = arena_alloc(r->a, ret_url->n, 1);
    if (!p)
        return input_no_memory(r);
    ret_url->p = p;
    memcpy(p, d.p, d.n);
    p[d.n] = memchr(d.p, '?', d.n) ? '&' : '?';
    if (left.n)
        memcpy(p + d.n + 1, left.p, left.n);
    return true;
}

static bool read_url(struct reading *r, const struct scheme *s, struct str left)
{
    struct str d = r->s->destination, url;

    if (!repair_scheme(r, s, &d) || !join_query(r, d, left, &url) ||
        !input_url(r, "destination", url))
        return false;
    parcel_set_url(&r->in->parcel, url);
    return true;
}

static bool read_group(struct reading *r)
{
    struct str d;

    if (!decode_text(r, r->s->destination, &d))
        return refuse_broken(r, "invalid destination url: broken percent-encoding");
    if (d.n > 1 && str_ends(d, S("/")))
        d.n--;
    if (str_eq(d, S("api/llm")) || str_starts(d, S("api/llm/")))
        return input_refuse(r, "api/llm is not offered here");
    if (!input_name_is_valid(d))
        return input_refuse(r, "invalid destination url: endpoint has invalid scheme, "
                               "add http:// or https://");
    r->in->group = d;
    return true;
}

bool input_destination(struct reading *r)
{
    struct scheme s;
    struct str left;

    if (!r->s->destination.n)
        return input_refuse(r, "invalid destination url: it is empty");
    s = scheme_of(r->s->destination);
    if (!split_query(r, &left))
        return false;
    return s.letters ? read_url(r, &s, left) : read_group(r);
}
