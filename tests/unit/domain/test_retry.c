#include "base/str.h"
#include "domain/retry.h"
#include "unit/cm.h"

static void q2_the_default_retries_come_after_1_2_and_4_s(void **state)
{
    static const struct retry_policy p = { .retries = 3, .first_ms = 1000, .factor = 2 };

    (void)state;
    assert_int_equal(retry_delay_ms(&p, 1), 1000);
    assert_int_equal(retry_delay_ms(&p, 2), 2000);
    assert_int_equal(retry_delay_ms(&p, 3), 4000);
    assert_int_equal(retry_delay_ms(&p, 4), -1);
}

static void the_gap_follows_the_policy(void **state)
{
    static const struct {
        const char *why;
        struct retry_policy p;
        int64_t attempt, ms;
    } rows[] = {
        { "no retries, no gap", { 0, 1000, 0, 2 }, 1, -1 },
        { "an attempt that never was", { 3, 1000, 0, 2 }, 0, -1 },
        { "capped", { 10, 1000, 5000, 2 }, 4, 5000 },
        { "the first gap is capped too", { 10, 9000, 5000, 2 }, 1, 5000 },
        { "factor 1 is a steady beat", { 10, 700, 0, 1 }, 9, 700 },
        { "factor 0 counts as 1", { 10, 700, 0, 0 }, 9, 700 },
        { "a first gap of zero stays zero", { 10, 0, 0, 2 }, 5, 0 },
        { "no overflow without a cap", { 1000, 1000, 0, 10 }, 900, INT64_MAX },
        { "no overflow with one", { 1000, 1000, 60000, 10 }, 900, 60000 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (retry_delay_ms(&rows[i].p, rows[i].attempt) != rows[i].ms)
            fail_msg("row %zu: %s", i, rows[i].why);
}

static void q12_the_budget_is_retries_and_the_first_run(void **state)
{
    static const struct retry_policy p = { .retries = 3, .first_ms = 1000, .factor = 2 };

    (void)state;
    assert_true(retry_may_run(&p, 1));
    assert_true(retry_may_run(&p, 4));
    assert_false(retry_may_run(&p, 5));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(q2_the_default_retries_come_after_1_2_and_4_s),
        TEST(the_gap_follows_the_policy),
        TEST(q12_the_budget_is_retries_and_the_first_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
