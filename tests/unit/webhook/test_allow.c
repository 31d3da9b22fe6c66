#include "unit/cm.h"
#include "webhook/allow.h"

#include <arpa/inet.h>
#include <string.h>

static struct address addr(const char *text)
{
    struct address a;

    if (!address_parse(str_of(text), &a))
        fail_msg("%s", text);
    return a;
}

static void w7_addresses_match_the_networks_they_are_in(void **state)
{
    static const struct {
        const char *list, *address;
        bool in;
    } rows[] = {
        { "10.0.0.0/8", "10.255.0.1", true },
        { "10.0.0.0/8", "11.0.0.0", false },
        { "192.0.2.7", "192.0.2.7", true },
        { "192.0.2.7", "192.0.2.8", false },
        { "192.0.2.128/25", "192.0.2.127", false },
        { "192.0.2.128/25", "192.0.2.128", true },
        { "0.0.0.0/0", "203.0.113.9", true },
        { "0.0.0.0/0", "2001:db8::1", false },
        { "::/0", "203.0.113.9", true },
        { "2001:db8::/33", "2001:db8:7fff::1", true },
        { "2001:db8::/33", "2001:db8:8000::1", false },
        { "10.0.0.0/8", "::ffff:10.1.2.3", true },
        { "::ffff:10.0.0.0/104", "10.1.2.3", true },
        { "192.0.2.1, 10.0.0.0/8 ,::1", "::1", true },
        { "192.0.2.1,10.0.0.0/8,::1", "10.9.9.9", true },
        { "192.0.2.1,10.0.0.0/8,::1", "::2", false },
    };
    struct allow_list l;
    struct why why;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!allow_parse(&l, str_of(rows[i].list), &why) ||
            allow_has(&l, addr(rows[i].address)) != rows[i].in)
            fail_msg("row %zu: %s in %s", i, rows[i].address, rows[i].list);
}

static void w7_a_wrong_list_says_which_element(void **state)
{
    static const struct {
        const char *list, *why;
    } rows[] = {
        { "10.0.0.0/8,hello", "\"hello\" is not an address" },
        { "10.0.0.0/33", "\"10.0.0.0/33\" has a prefix length that does not fit" },
        { "::1/129", "\"::1/129\" has a prefix length that does not fit" },
        { "10.0.0.0/", "\"10.0.0.0/\" has a prefix length that does not fit" },
        { "10.0.0.0/-1", "\"10.0.0.0/-1\" has a prefix length that does not fit" },
        { "10.0.0.0/8/8", "\"10.0.0.0/8/8\" has a prefix length that does not fit" },
        { "10.0.0.1/8", "\"10.0.0.1/8\" has bits behind its prefix" },
        { "10.0.0.0/8,,::1", "\"\" is not an address" },
        { "10.1", "\"10.1\" is not an address" },
    };
    struct allow_list l;
    struct why why;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_false(allow_parse(&l, str_of(rows[i].list), &why));
        assert_string_equal(why.text, rows[i].why);
    }
    assert_true(allow_parse(&l, S(""), &why));
    assert_int_equal(l.count, 0);
}

static void w7_forwarded_addresses_count_behind_trusted_proxies_only(void **state)
{
    static const struct {
        const char *why, *peer, *first, *second, *client; /* client NULL: nobody knows */
    } rows[] = {
        { "no header", "10.0.0.1", NULL, NULL, "10.0.0.1" },
        { "a stranger may write what he wants", "203.0.113.5", "192.0.2.1", NULL, "203.0.113.5" },
        { "one proxy", "10.0.0.1", "192.0.2.1", NULL, "192.0.2.1" },
        { "the rightmost that is not ours", "10.0.0.1", "1.1.1.1, 192.0.2.1, 10.0.0.2", NULL,
          "192.0.2.1" },
        { "two headers are one list", "10.0.0.1", "1.1.1.1, 192.0.2.1", "10.0.0.2", "192.0.2.1" },
        { "all ours: the first", "10.0.0.1", "10.0.0.3,10.0.0.2", NULL, "10.0.0.3" },
        { "ports", "10.0.0.1", "192.0.2.1:4711", NULL, "192.0.2.1" },
        { "IPv6 with a port", "10.0.0.1", "[2001:db8::1]:4711", NULL, "2001:db8::1" },
        { "IPv6 without", "10.0.0.1", "2001:db8::1", NULL, "2001:db8::1" },
        { "no address", "10.0.0.1", "unknown", NULL, NULL },
        { "nothing between commas", "10.0.0.1", "192.0.2.1,", NULL, NULL },
        { "rubbish left of the client does not matter", "10.0.0.1", "x, 192.0.2.1", NULL,
          "192.0.2.1" },
    };
    struct allow_list trusted;
    struct why why;

    (void)state;
    assert_true(allow_parse(&trusted, S("10.0.0.0/8"), &why));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct header headers[] = { { S("x-forwarded-for"), str_of(rows[i].first) },
                                    { S("Host"), S("8.8.8.8") },
                                    { S("X-Forwarded-For"), str_of(rows[i].second) } };
        size_t n = rows[i].second ? 3 : rows[i].first ? 2 : 0;
        struct address got, want;
        bool known = client_address(&trusted, addr(rows[i].peer), headers, n, &got);

        if (known != (rows[i].client != NULL))
            fail_msg("row %zu: %s", i, rows[i].why);
        if (!known)
            continue;
        want = addr(rows[i].client);
        if (memcmp(&got, &want, sizeof(got)) != 0)
            fail_msg("row %zu: %s", i, rows[i].why);
    }
}

static void a_socket_address_becomes_comparable(void **state)
{
    struct sockaddr_storage s = { .ss_family = AF_INET };
    struct address a, want = addr("192.0.2.1");

    (void)state;
    inet_pton(AF_INET, "192.0.2.1", &((struct sockaddr_in *)&s)->sin_addr);
    assert_true(address_of(&s, &a));
    assert_memory_equal(&a, &want, sizeof(a));
    s = (struct sockaddr_storage){ .ss_family = AF_INET6 };
    inet_pton(AF_INET6, "::ffff:192.0.2.1", &((struct sockaddr_in6 *)&s)->sin6_addr);
    assert_true(address_of(&s, &a));
    assert_memory_equal(&a, &want, sizeof(a));
    s.ss_family = AF_UNIX;
    assert_false(address_of(&s, &a));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(w7_addresses_match_the_networks_they_are_in),
        TEST(w7_a_wrong_list_says_which_element),
        TEST(w7_forwarded_addresses_count_behind_trusted_proxies_only),
        TEST(a_socket_address_becomes_comparable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
