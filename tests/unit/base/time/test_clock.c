#include "base/time/clock.h"
#include "unit/cm.h"

static int64_t fixed_wall(const struct clock *c)
{
    (void)c;
    return 1000000;
}

static int64_t fixed_mono(const struct clock *c)
{
    (void)c;
    return 7999;
}

static void t5_a_day_takes_no_time_and_moves_wall_time_only(void **state)
{
    struct clock c = { .wall_ms = fixed_wall, .mono_us = fixed_mono };

    (void)state;
    assert_int_equal(clock_now_ms(&c), 1000000);
    clock_advance(&c, 24 * 60 * 60 * 1000);
    clock_advance(&c, 1);
    assert_int_equal(clock_now_ms(&c), 1000000 + 24 * 60 * 60 * 1000 + 1);
    assert_int_equal(clock_mono_us(&c), 7999);
    assert_int_equal(clock_mono_ms(&c), 7);
}

static int64_t wall, mono_us; /* of the clock that a test moves */

static int64_t moved_wall(const struct clock *c)
{
    (void)c;
    return wall;
}

static int64_t moved_mono(const struct clock *c)
{
    (void)c;
    return mono_us;
}

static void now_never_goes_back_with_the_calendar(void **state)
{
    struct clock c = { .wall_ms = moved_wall, .mono_us = moved_mono };

    (void)state;
    wall = 5000000;
    mono_us = 100000;
    assert_int_equal(clock_now_ms(&c), 5000000);
    wall -= 3600 * 1000; /* somebody sets the clock back by an hour */
    mono_us += 7000;
    assert_int_equal(clock_now_ms(&c), 5000007);
    assert_int_equal(clock_wall_ms(&c), 1400000);
    wall = 9000000; /* and forward */
    assert_int_equal(clock_now_ms(&c), 9000000);
}

static void a_clock_that_follows_the_database_ignores_the_calendar(void **state)
{
    struct clock c = { .wall_ms = moved_wall, .mono_us = moved_mono };

    (void)state;
    wall = 5000000;
    mono_us = 100000;
    clock_follow(&c, 4000000, 100000, 50);
    clock_advance(&c, 5);
    assert_int_equal(clock_now_ms(&c), 4000005);
    wall += 3600 * 1000;
    mono_us += 10000;
    assert_int_equal(clock_now_ms(&c), 4000015);
    clock_follow(&c, 4000040, mono_us, 50); /* 30 ms off: noise */
    assert_int_equal(clock_now_ms(&c), 4000015);
    clock_follow(&c, 4000500, mono_us, 50);
    assert_int_equal(clock_now_ms(&c), 4000505);
}

static void two_clocks_do_not_know_each_other(void **state)
{
    struct clock a = { .wall_ms = fixed_wall, .mono_us = fixed_mono }, b = a;

    (void)state;
    clock_advance(&a, 5);
    assert_int_equal(clock_now_ms(&b), 1000000);
}

static void the_machines_clocks_go_forward(void **state)
{
    struct clock c;
    int64_t before, now;

    (void)state;
    clock_init(&c);
    before = clock_mono_us(&c);
    now = clock_now_ms(&c);
    assert_true(now > 1600000000000 && now < 9999999999999); /* milliseconds since 1970 */
    assert_true(clock_mono_us(&c) >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(t5_a_day_takes_no_time_and_moves_wall_time_only),
        TEST(now_never_goes_back_with_the_calendar),
        TEST(a_clock_that_follows_the_database_ignores_the_calendar),
        TEST(two_clocks_do_not_know_each_other),
        TEST(the_machines_clocks_go_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
