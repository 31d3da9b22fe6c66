#include "auth/throttle.h"
#include "base/limits.h"
#include "unit/cm.h"

#include <stdio.h>

#define NOW INT64_C(1800000000000)

struct stage {
    struct rng rng;
    struct throttle *t;
};

static int set_up(void **state)
{
    static struct stage s;

    rng_init_seeded(&s.rng, 3);
    s.t = throttle_new(&s.rng);
    *state = &s;
    return s.t ? 0 : -1;
}

static int tear_down(void **state)
{
    throttle_free(((struct stage *)*state)->t);
    return 0;
}

static int64_t try_(struct stage *s, const char *address, const char *name, int64_t now_ms)
{
    struct throttle_try y;

    return throttle_begin(s->t, str_of(address), str_of(name), now_ms, &y);
}

static void five_failures_are_free_then_the_wait_doubles_up_to_five_minutes(void **state)
{
    static const int64_t waits[] = { 1000,  2000,   4000,   8000,   16000, 32000,
                                     64000, 128000, 256000, 300000, 300000 };
    struct stage *s = *state;
    int64_t now = NOW;

    for (int i = 0; i < LIMIT_LOGIN_FREE; i++)
        assert_int_equal(try_(s, "192.0.2.1", "yui", now), 0);
    for (size_t i = 0; i < COUNT(waits); i++) {
        assert_int_equal(try_(s, "192.0.2.1", "yui", now), waits[i]);
        assert_int_equal(try_(s, "192.0.2.1", "yui", now + waits[i] - 1), 1); /* asking is free */
        now += waits[i];
        assert_int_equal(try_(s, "192.0.2.1", "yui", now), 0);
    }
    assert_int_equal(try_(s, "192.0.2.2", "yui", now), 0); /* elsewhere he may */
    assert_int_equal(try_(s, "192.0.2.1", "ken", now), 0); /* and somebody else here */
    now += LIMIT_LOGIN_FORGET_MS;
    for (int i = 0; i < LIMIT_LOGIN_FREE; i++)
        assert_int_equal(try_(s, "192.0.2.1", "yui", now), 0);
}

static void an_address_fails_thirty_times_a_minute_whatever_the_names(void **state)
{
    struct stage *s = *state;
    char name[16];

    for (int i = 0; i < LIMIT_LOGIN_ADDRESS; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        assert_int_equal(try_(s, "192.0.2.1", name, NOW), 0);
    }
    assert_int_equal(try_(s, "192.0.2.1", "other", NOW), 2000);
    assert_int_equal(try_(s, "::ffff:192.0.2.1", "other", NOW), 2000);
    assert_int_equal(try_(s, "192.0.2.2", "other", NOW), 0);
    assert_int_equal(try_(s, "192.0.2.1", "other", NOW + 2000), 0);
    assert_int_equal(try_(s, "192.0.2.1", "another", NOW + 2000), 2000);
    assert_int_equal(try_(s, "192.0.2.1", "another", NOW + 120 * 1000), 0);
}

static void addresses_of_one_network_are_one(void **state)
{
    struct stage *s = *state;

    for (int i = 0; i < LIMIT_LOGIN_FREE; i++)
        assert_int_equal(try_(s, "2001:db8::1", "yui", NOW), 0);
    assert_int_equal(try_(s, "2001:db8::2:3", "yui", NOW), 1000);
    assert_int_equal(try_(s, "2001:db8:0:1::1", "yui", NOW), 0);
}

static void who_gets_in_starts_over_and_our_own_trouble_does_not_count(void **state)
{
    struct stage *s = *state;
    struct throttle_try y;

    for (int round = 0; round < 50; round++) { /* a page that logs in again and again */
        assert_int_equal(throttle_begin(s->t, S("192.0.2.1"), S("yui"), NOW, &y), 0);
        if (round % 2)
            throttle_won(s->t, &y);
        else
            throttle_undo(s->t, &y);
    }
    for (int i = 0; i < LIMIT_LOGIN_FREE - 1; i++)
        assert_int_equal(try_(s, "192.0.2.1", "yui", NOW), 0);
    assert_int_equal(throttle_begin(s->t, S("192.0.2.1"), S("yui"), NOW, &y), 0);
    throttle_won(s->t, &y);
    for (int i = 0; i < LIMIT_LOGIN_FREE; i++)
        assert_int_equal(try_(s, "192.0.2.1", "yui", NOW), 0);
    assert_int_equal(try_(s, "192.0.2.1", "yui", NOW), 1000);
}

static void a_clock_that_goes_back_keeps_nobody_out_for_long(void **state)
{
    struct stage *s = *state;

    for (int i = 0; i < LIMIT_LOGIN_FREE; i++)
        try_(s, "192.0.2.1", "yui", NOW);
    assert_true(try_(s, "192.0.2.1", "yui", NOW - 86400000) <= LIMIT_LOGIN_WAIT_MS);
}

static void a_flood_of_names_and_addresses_needs_no_more_memory(void **state)
{
    struct stage *s = *state;
    char address[32], name[32];

    for (int i = 0; i < 4 * LIMIT_LOGIN_SLOTS; i++) {
        snprintf(address, sizeof(address), "10.%d.%d.1", i >> 8 & 255, i & 255);
        snprintf(name, sizeof(name), "n%d", i);
        try_(s, address, name, NOW + i);
    }
    try_(s, "no address at all, and a text of some length that goes on and on and on", "", NOW);
    try_(s, "", "", NOW);
}

int main(void)
{
#define STAGED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STAGED(five_failures_are_free_then_the_wait_doubles_up_to_five_minutes),
        STAGED(an_address_fails_thirty_times_a_minute_whatever_the_names),
        STAGED(addresses_of_one_network_are_one),
        STAGED(who_gets_in_starts_over_and_our_own_trouble_does_not_count),
        STAGED(a_clock_that_goes_back_keeps_nobody_out_for_long),
        STAGED(a_flood_of_names_and_addresses_needs_no_more_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
