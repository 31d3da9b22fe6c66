#include "base/str.h"
#include "http/client/ssrf.h"
#include "unit/cm.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

static bool is_public(const char *text)
{
    struct sockaddr_in in4 = { .sin_family = AF_INET };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

    if (inet_pton(AF_INET, text, &in4.sin_addr) == 1)
        return ssrf_is_public((struct sockaddr *)&in4);
    if (inet_pton(AF_INET6, text, &in6.sin6_addr) != 1)
        fail_msg("%s is no address", text);
    return ssrf_is_public((struct sockaddr *)&in6);
}

static void the_house_and_its_neighbours_are_closed(void **state)
{
    static const char *const closed[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a00:1::",
        "2001::1",
        "2001:1ff::1",
        "2001:db8::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "4000::1",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(closed); i++)
        if (is_public(closed[i]))
            fail_msg("%s", closed[i]);
}

static void the_rest_of_the_world_is_open(void **state)
{
    static const char *const open[] = {
        "1.1.1.1",         "9.255.255.255", "11.0.0.1",        "100.63.255.255", "100.128.0.1",
        "126.255.255.255", "128.0.0.1",     "169.253.1.1",     "169.255.1.1",    "172.15.255.255",
        "172.32.0.1",      "192.0.1.1",     "192.0.3.1",       "192.167.1.1",    "192.169.1.1",
        "198.17.1.1",      "198.20.1.1",    "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::808:808",
        "2002:808:808::1", "2001:200::1",   "2001:4860::1",    "2606:4700::1",   "2a00::1",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(open); i++)
        if (!is_public(open[i]))
            fail_msg("%s", open[i]);
}

static void other_families_are_closed(void **state)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };

    (void)state;
    assert_false(ssrf_is_public((struct sockaddr *)&un));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_house_and_its_neighbours_are_closed),
        TEST(the_rest_of_the_world_is_open),
        TEST(other_families_are_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
