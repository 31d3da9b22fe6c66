/* allow.c - lists of networks in CIDR notation, and X-Forwarded-For, read from its end: only what a
 * trusted proxy added is believed. */
#include "webhook/allow.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static struct address address_from_v4(const void *four)
{
    struct address a = { { [10] = 0xff, [11] = 0xff } };

    memcpy(a.b + 12, four, 4);
    return a;
}

bool address_of(const struct sockaddr_storage *peer, struct address *ret_address)
{
    const struct sockaddr_in *v4 = (const void *)peer;
    const struct sockaddr_in6 *v6 = (const void *)peer;

    if (peer->ss_family == AF_INET)
        *ret_address = address_from_v4(&v4->sin_addr);
    else if (peer->ss_family == AF_INET6)
        memcpy(ret_address->b, &v6->sin6_addr, sizeof(ret_address->b));
    else
        return false;
    return true;
}

/* *ret_bits: the length of an address of its family. */
static bool address_parse_any(struct str text, struct address *ret, int *ret_bits)
{
    char c[INET6_ADDRSTRLEN + 1];
    unsigned char four[4];

    if (!text.n || text.n >= sizeof(c) || memchr(text.p, '\0', text.n))
        return false;
    memcpy(c, text.p, text.n);
    c[text.n] = '\0';
    *ret_bits = 128;
    if (inet_pton(AF_INET6, c, ret->b) == 1)
        return true;
    *ret_bits = 32;
    if (inet_pton(AF_INET, c, four) != 1)
        return false;
    *ret = address_from_v4(four);
    return true;
}

bool address_parse(struct str text, struct address *ret_address)
{
    int bits;

    return address_parse_any(text, ret_address, &bits);
}

static bool allow_matches(struct address a, struct address net, int bits)
{
    size_t whole = (size_t)bits / 8;
    int rest = bits % 8;

    if (memcmp(a.b, net.b, whole) != 0)
        return false;
    return !rest || (a.b[whole] ^ net.b[whole]) >> (8 - rest) == 0;
}

static bool host_bits_are_zero(struct address net, int bits)
{
    for (int i = bits; i < 128; i++)
        if (net.b[i / 8] & 0x80 >> i % 8)
            return false;
    return true;
}

/* NULL, or what is wrong with the text. */
static const char *parse_net(struct str text, struct address *ret_net, int *ret_bits)
{
    bool has_prefix = text.n && memchr(text.p, '/', text.n);
    struct str address = str_cut(&text, '/');
    int64_t prefix;
    int most;

    if (!address_parse_any(address, ret_net, &most))
        return "is not an address";
    prefix = most;
    if (has_prefix && (!str_to_i64(text, &prefix) || prefix < 0 || prefix > most))
        return "has a prefix length that does not fit";
    *ret_bits = (int)prefix + 128 - most;
    return host_bits_are_zero(*ret_net, *ret_bits) ? NULL : "has bits behind its prefix";
}

bool allow_parse(struct allow_list *l, struct str text, struct why *why)
{
    *l = (struct allow_list){ 0 };
    while (text.n) {
        struct str element = str_trim(str_cut(&text, ','));
        const char *wrong = "is one too many";

        if (l->count < ALLOW_MAX)
            wrong = parse_net(element, &l->nets[l->count].net, &l->nets[l->count].bits);
        if (wrong)
            return why_false(why, "\"%.*s\" %s", (int)(element.n < 100 ? element.n : 100),
                             element.p ? element.p : "", wrong);
        l->count++;
    }
    return true;
}

bool allow_has(const struct allow_list *l, struct address a)
{
    for (size_t i = 0; i < l->count; i++)
        if (allow_matches(a, l->nets[i].net, l->nets[i].bits))
            return true;
    return false;
}

/* Proxies also write "192.0.2.7:4711" and "[2001:db8::1]:4711". */
static struct str strip_port(struct str s)
{
    struct str rest = s, v4;

    if (s.n && s.p[0] == '[') {
        rest.p++;
        rest.n--;
        return str_cut(&rest, ']');
    }
    if (!s.n)
        return s;
    v4 = str_cut(&rest, ':');
    return memchr(v4.p, '.', v4.n) && rest.n && !memchr(rest.p, ':', rest.n) ? v4 : s;
}

/* Removes the last element from a comma-separated list, and returns it. */
static struct str cut_last(struct str *list)
{
    size_t i = list->n;
    struct str last;

    while (i && list->p[i - 1] != ',')
        i--;
    last = (struct str){ list->p + i, list->n - i };
    list->n = i ? i - 1 : 0;
    return str_trim(last);
}

bool client_address(const struct allow_list *trusted, struct address peer,
                    const struct header *headers, size_t count, struct address *ret_client)
{
    *ret_client = peer;
    for (size_t i = count; i-- > 0 && allow_has(trusted, *ret_client);) {
        struct str list = headers[i].value;

        if (!str_eq_nocase(headers[i].name, S("X-Forwarded-For")))
            continue;
        while (list.n && allow_has(trusted, *ret_client))
            if (!address_parse(strip_port(cut_last(&list)), ret_client))
                return false;
    }
    return true;
}
