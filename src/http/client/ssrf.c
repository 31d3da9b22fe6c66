#include "http/client/ssrf.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

/* The networks of IANA's special-purpose registries that are not global, or not used in URLs. */
static const struct {
    uint32_t network;
    int bits;
} closed4[] = {
    { 0x00000000, 8 },  /* 0.0.0.0/8: this host */
    { 0x0a000000, 8 },  /* 10.0.0.0/8: private */
    { 0x64400000, 10 }, /* 100.64.0.0/10: carrier NAT */
    { 0x7f000000, 8 },  /* 127.0.0.0/8: loopback */
    { 0xa9fe0000, 16 }, /* 169.254.0.0/16: link-local, cloud metadata */
    { 0xac100000, 12 }, /* 172.16.0.0/12: private */
    { 0xc0000000, 24 }, /* 192.0.0.0/24: protocol assignments */
    { 0xc0000200, 24 }, /* 192.0.2.0/24: documentation */
    { 0xc0586300, 24 }, /* 192.88.99.0/24: 6to4 relays */
    { 0xc0a80000, 16 }, /* 192.168.0.0/16: private */
    { 0xc6120000, 15 }, /* 198.18.0.0/15: benchmarks */
    { 0xc6336400, 24 }, /* 198.51.100.0/24: documentation */
    { 0xcb007100, 24 }, /* 203.0.113.0/24: documentation */
    { 0xe0000000, 3 },  /* 224.0.0.0/3: multicast, reserved, broadcast */
};

static bool is_public4(uint32_t address)
{
    for (size_t i = 0; i < COUNT(closed4); i++)
        if ((address ^ closed4[i].network) >> (32 - closed4[i].bits) == 0)
            return false;
    return true;
}

static uint32_t ssrf_read4(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static bool is_public6(const unsigned char b[16])
{
    static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
    static const unsigned char nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

    if (memcmp(b, mapped, sizeof(mapped)) == 0 || memcmp(b, nat64, sizeof(nat64)) == 0)
        return is_public4(ssrf_read4(b + 12));
    if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 wraps the IPv4 address */
        return is_public4(ssrf_read4(b + 2));
    if (b[0] == 0x20 && b[1] == 0x01)
        return ssrf_read4(b) != 0x20010db8 &&
               (b[2] | 1) != 1;   /* documentation; 2001::/23, Teredo */
    return (b[0] & 0xe0) == 0x20; /* 2000::/3 is all of global unicast */
}

bool ssrf_is_public(const struct sockaddr *address)
{
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;

    switch (address->sa_family) {
    case AF_INET: memcpy(&in4, address, sizeof(in4)); return is_public4(ntohl(in4.sin_addr.s_addr));
    case AF_INET6: memcpy(&in6, address, sizeof(in6)); return is_public6(in6.sin6_addr.s6_addr);
    default: return false;
    }
}
