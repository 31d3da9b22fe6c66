/* allow.h - lists of allowed addresses, and the client's address behind trusted proxies (W7). */
#pragma once

#include "base/str.h"
#include "base/why.h"
#include "http/http.h"

enum { ALLOW_MAX = 256 };

/* IPv6, or IPv4 as ::ffff:a.b.c.d, so that both compare alike. */
struct address {
    unsigned char b[16];
};

struct allow_list {
    size_t count;
    struct {
        struct address net;
        int bits;
    } nets[ALLOW_MAX];
};

/* "10.0.0.0/8, 2001:db8::/32, 192.0.2.7". False: `why` names the element. */
bool allow_parse(struct allow_list *l, struct str text, struct why *why);
bool allow_has(const struct allow_list *l, struct address a);

bool address_parse(struct str text, struct address *ret_address);
bool address_of(const struct sockaddr_storage *peer, struct address *ret_address);

/* The peer; or, where that is a trusted proxy, the rightmost X-Forwarded-For that is not one.
 * False: a trusted proxy sent something that is no address, so the client is unknown. */
bool client_address(const struct allow_list *trusted, struct address peer,
                    const struct header *headers, size_t count, struct address *ret_client);
