#include "base/time/parse.h"
#include "base/time/zone.h"
#include "domain/day.h"
#include "unit/cm.h"

#include <string.h>

static int64_t instant(const char *text)
{
    int64_t ms;

    if (!time_parse(str_of(text), &ms))
        fail_msg("%s is not a time", text);
    return ms;
}

static void days_are_read_and_written(void **state)
{
    static const struct {
        const char *text;
        bool fine;
    } rows[] = {
        { "1970-01-01", true },  { "2024-02-29", true },   { "9999-12-31", true },
        { "2026-11-16", true },  { "2023-02-29", false },  { "2026-13-01", false },
        { "2026-00-10", false }, { "2026-11-31", false },  { "2026-11-00", false },
        { "1969-12-31", false }, { "2026-11-1", false },   { "2026-11-016", false },
        { "2026/11/16", false }, { "+026-11-16", false },  { "", false },
        { "2026-11-1x", false }, { "2026-11-16 ", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[DAY_TEXT + 1];
        int64_t day = -1;

        if (day_parse(str_of(rows[i].text), &day) != rows[i].fine)
            fail_msg("%s", rows[i].text);
        if (!rows[i].fine)
            continue;
        day_text(day, text);
        assert_string_equal(text, rows[i].text);
    }
}

/* A day begins where the one before ends, and has the hours that its clocks show. */
static void e11_days_have_23_24_or_25_hours_where_clocks_are_changed(void **state)
{
    static const struct {
        const char *why, *zone, *day, *begins;
        int minutes;
    } rows[] = {
        { "no changes", "Asia/Tokyo", "2026-11-16", "2026-11-15T15:00:00Z", 24 * 60 },
        { "UTC", "UTC", "2026-11-16", "2026-11-16T00:00:00Z", 24 * 60 },
        { "spring", "Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", 23 * 60 },
        { "autumn", "Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", 25 * 60 },
        { "the day after", "Europe/Berlin", "2026-10-26", "2026-10-25T23:00:00Z", 24 * 60 },
        { "midnight is skipped: it begins at one", "America/Sao_Paulo", "2018-11-04",
          "2018-11-04T03:00:00Z", 23 * 60 },
        { "midnight goes back to eleven: that hour is yesterday's", "America/Sao_Paulo",
          "2018-02-18", "2018-02-18T03:00:00Z", 24 * 60 },
        { "... which has it twice", "America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z",
          25 * 60 },
        { "half an hour", "Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00Z",
          24 * 60 + 30 },
        { "a day that never was", "Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", 0 },
        { "and the next", "Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", 24 * 60 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct zone *z = NULL;
        int64_t day, begins;

        assert_int_equal(zone_load(str_of(rows[i].zone), &z), OK);
        assert_true(day_parse(str_of(rows[i].day), &day));
        begins = day_begins_ms(z, day);
        if (begins != instant(rows[i].begins) ||
            day_begins_ms(z, day + 1) - begins != rows[i].minutes * INT64_C(60000))
            fail_msg("%s: %s in %s", rows[i].why, rows[i].day, rows[i].zone);
        zone_free(z);
    }
}

static void an_instant_is_on_the_day_of_the_calendar_on_the_wall(void **state)
{
    static const struct {
        const char *zone, *at, *day;
    } rows[] = {
        { "Asia/Tokyo", "2026-11-15T14:59:59.999Z", "2026-11-15" },
        { "Asia/Tokyo", "2026-11-15T15:00:00Z", "2026-11-16" },
        { "America/New_York", "2026-11-16T04:59:59Z", "2026-11-15" },
        { "UTC", "1970-01-01T00:00:00Z", "1970-01-01" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct zone *z = NULL;
        char text[DAY_TEXT + 1];

        assert_int_equal(zone_load(str_of(rows[i].zone), &z), OK);
        day_text(day_at(z, instant(rows[i].at)), text);
        if (strcmp(text, rows[i].day) != 0)
            fail_msg("%s in %s: %s", rows[i].at, rows[i].zone, text);
        zone_free(z);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(days_are_read_and_written),
        TEST(e11_days_have_23_24_or_25_hours_where_clocks_are_changed),
        TEST(an_instant_is_on_the_day_of_the_calendar_on_the_wall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
