#include "base/clock.h"
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

static void the_databases_offset_is_added(void **state)
{
    struct clock c = { .wall_ms = fixed_wall, .mono_us = fixed_mono };

    (void)state;
    c.db_offset_ms = -250;
    clock_advance(&c, 50);
    assert_int_equal(clock_now_ms(&c), 1000000 - 200);
}

static void two_clocks_do_not_know_each_other(void **state)
{
    struct clock a = { .wall_ms = fixed_wall }, b = { .wall_ms = fixed_wall };

    (void)state;
    clock_advance(&a, 5);
    assert_int_equal(clock_now_ms(&b), 1000000);
}

static void the_machines_clocks_go_forward(void **state)
{
    struct clock c;
    int64_t before, wall;

    (void)state;
    clock_init(&c);
    before = clock_mono_us(&c);
    wall = clock_now_ms(&c);
    assert_true(wall > 1600000000000 && wall < 9999999999999); /* milliseconds since 1970 */
    assert_true(clock_mono_us(&c) >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(t5_a_day_takes_no_time_and_moves_wall_time_only),
        TEST(the_databases_offset_is_added),
        TEST(two_clocks_do_not_know_each_other),
        TEST(the_machines_clocks_go_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
