#include "base/str.h"
#include "base/time/civil.h"
#include "unit/cm.h"

#include <time.h>

static void every_day_of_1200_years_has_its_date_and_weekday(void **state)
{
    int64_t day = civil_days(1200, 1, 1);

    (void)state;
    for (int64_t year = 1200; year < 2400; year++)
        for (int month = 1; month <= 12; month++)
            for (int d = 1; d <= civil_month_days(year, month); d++, day++) {
                struct civil c = civil_of(day);
                time_t t = (time_t)day * DAY_S;
                struct tm tm;

                gmtime_r(&t, &tm);
                if (civil_days(year, month, d) != day || c.year != year || c.month != month ||
                    c.day != d || tm.tm_year + 1900 != year || tm.tm_mon + 1 != month ||
                    tm.tm_mday != d || tm.tm_wday != civil_weekday(day))
                    fail_msg("%lld-%d-%d", (long long)year, month, d);
            }
}

static void far_years_go_there_and_back(void **state)
{
    static const int64_t years[] = { -1000000000, -400, -1, 0, 1, 9999, 1000000000 };

    (void)state;
    assert_int_equal(civil_days(0, 3, 1), -719468);
    assert_int_equal(civil_days(9999, 12, 31), 2932896);
    for (size_t i = 0; i < COUNT(years); i++) {
        struct civil c = civil_of(civil_days(years[i], 2, 28) + 1);

        assert_int_equal(c.year, years[i]);
        assert_int_equal(c.day, civil_is_leap(years[i]) ? 29 : 1);
    }
}

static void division_rounds_down(void **state)
{
    (void)state;
    assert_int_equal(floor_div(7, 2), 3);
    assert_int_equal(floor_div(-7, 2), -4);
    assert_int_equal(floor_div(-8, 2), -4);
    assert_int_equal(floor_mod(-7, 2), 1);
    assert_int_equal(floor_mod(-8, 2), 0);
    assert_int_equal(floor_div(INT64_MIN, 1000), INT64_MIN / 1000 - 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(every_day_of_1200_years_has_its_date_and_weekday),
        TEST(far_years_go_there_and_back),
        TEST(division_rounds_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
