#include "http/rate.h"
#include "unit/cm.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static struct sockaddr_storage v4(uint32_t address)
{
    struct sockaddr_storage s = { 0 };
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };

    memcpy(&s, &a, sizeof(a));
    return s;
}

static struct sockaddr_storage v6(const char *text)
{
    struct sockaddr_storage s = { 0 };
    struct sockaddr_in6 a = { .sin6_family = AF_INET6 };

    inet_pton(AF_INET6, text, &a.sin6_addr);
    memcpy(&s, &a, sizeof(a));
    return s;
}

static int taken(struct rate *r, struct sockaddr_storage s, int64_t now_us, int tries)
{
    int n = 0;

    while (tries--)
        n += rate_take(r, (const struct sockaddr *)&s, now_us);
    return n;
}

static struct rate *new_rate(int per_second)
{
    struct rng rng;
    struct rate *r;

    rng_init_seeded(&rng, 7);
    r = rate_new(per_second, &rng);
    assert_non_null(r);
    return r;
}

static void a5_a_client_has_a_burst_and_then_its_rate(void **state)
{
    struct rate *r = new_rate(10);

    (void)state;
    assert_int_equal(taken(r, v4(1), 1000000, 100), 20);
    assert_int_equal(taken(r, v4(1), 1000000 + 99999, 100), 0);
    assert_int_equal(taken(r, v4(1), 1000000 + 100000, 100), 1);
    assert_int_equal(taken(r, v4(1), 1000000 + 600000, 100), 5);
    assert_int_equal(taken(r, v4(2), 1000000, 100), 20); /* another one is another one */
    assert_int_equal(taken(r, v4(1), 60000000, 100), 20);
    rate_free(r);
}

static void a_v6_client_is_its_64(void **state)
{
    struct rate *r = new_rate(1);

    (void)state;
    assert_int_equal(taken(r, v6("2001:db8::1"), 0, 5), 2);
    assert_int_equal(taken(r, v6("2001:db8::ffff:2"), 0, 5), 0);
    assert_int_equal(taken(r, v6("2001:db8:0:1::1"), 0, 5), 2);
    rate_free(r);
}

/* A flood of addresses may push one out; it never refuses one that asks once. */
static void many_addresses_are_all_allowed_once(void **state)
{
    struct rate *r = new_rate(1);

    (void)state;
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(taken(r, v4(i), 5000, 1), 1);
    rate_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a5_a_client_has_a_burst_and_then_its_rate),
        TEST(a_v6_client_is_its_64),
        TEST(many_addresses_are_all_allowed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
