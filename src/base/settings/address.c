/* address.c - checks the form of URLs, listen addresses, networks and mail addresses. Nothing is
 * looked up. */
#include "base/settings/address.h"

#include "base/limits.h"

#include <arpa/inet.h>
#include <string.h>

bool address_is_url(struct str value)
{
    struct str rest = value;
    bool sane = str_starts(value, S("http://")) || str_starts(value, S("https://"));

    str_cut(&rest, ':');
    sane = sane && rest.n > 2 && rest.p[2] != '/' && rest.p[2] != ':' && rest.p[2] != '?';
    for (size_t i = 0; i < value.n && sane; i++)
        sane = value.p[i] > ' ' && value.p[i] < 0x7f;
    return sane;
}

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

bool address_is_listen(struct str value)
{
    struct str host, port;
    int64_t number;

    return split_listen(value, &host, &port) && is_host(host, value.n && value.p[0] == '[') &&
           str_to_i64(port, &number) && number >= 0 && number <= 65535;
}

bool address_is_loopback(struct str listen)
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

bool address_is_network(struct str s)
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

/* --- mail --- */

enum { LOCAL_MAX = 64, DOMAIN_MAX = 253, LABEL_MAX = 63 };

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* RFC 5322's atext. */
static bool is_atext(char c)
{
    return is_alnum(c) || (c && strchr("!#$%&'*+-/=?^_`{|}~", c));
}

static bool is_local(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_atext(s.p[i]) && s.p[i] != '.')
            return false;
    return s.n > 0 && s.n <= LOCAL_MAX;
}

static bool is_label(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_alnum(s.p[i]) && (s.p[i] != '-' || i == 0 || i == s.n - 1))
            return false;
    return s.n > 0 && s.n <= LABEL_MAX;
}

static bool is_domain(struct str s)
{
    if (!s.n || s.n > DOMAIN_MAX || s.p[s.n - 1] == '.')
        return false;
    while (s.n)
        if (!is_label(str_cut(&s, '.')))
            return false;
    return true;
}

bool address_is_mail(struct str value)
{
    struct str domain = value, local = str_cut(&domain, '@');

    return value.n <= LIMIT_MAIL_ADDRESS && is_local(local) && is_domain(domain);
}
