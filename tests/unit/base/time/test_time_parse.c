#include "base/time/parse.h"
#include "unit/cm.h"

static void rfc_3339_times_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        { "1970-01-01T00:00:00Z", 0 },
        { "2026-01-18T09:30:00.000Z", 1768728600000 },
        { "2026-01-18t09:30:00z", 1768728600000 },
        { "2026-01-18T18:30:00.123+09:00", 1768728600123 },
        { "2026-01-18T09:30:00.123999999Z", 1768728600123 },
        { "2026-01-18T09:30:00.5Z", 1768728600500 },
        { "2026-01-17T23:00:00-10:30", 1768728600000 },
        { "2024-02-29T00:00:00Z", 1709164800000 },
        { "2016-12-31T23:59:60Z", 1483228800000 }, /* a leap second */
        { "1969-12-31T23:59:59Z", -1000 },
    };
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!time_parse(str_of(rows[i].text), &ms) || ms != rows[i].ms)
            fail_msg("%s: %lld", rows[i].text, (long long)ms);
}

static void everything_else_is_not(void **state)
{
    static const char *const rows[] = {
        "",
        "2026-01-18",
        "2026-01-18T09:30:00",      /* no offset */
        "2026-01-18 09:30:00Z",     /* the profile wants a T */
        "2026-02-29T00:00:00Z",     /* no leap year */
        "1900-02-29T00:00:00Z",     /* nor this one */
        "2026-13-01T00:00:00Z",     /* month */
        "2026-00-01T00:00:00Z",     /* month */
        "2026-01-18T24:00:00Z",     /* hour */
        "2026-01-18T09:30:61Z",     /* second */
        "2026-01-18T09:30:00.Z",    /* a dot and no digits */
        "2026-01-18T09:30:00+9:00", /* two digits */
        "2026-01-18T09:30:00+0900", /* a colon */
        "2026-01-18T09:30:00Z ",    /* a tail */
        "26-01-18T09:30:00Z",       /* four digits */
        "2026-1-18T09:30:00Z",      /* two digits */
        "1768728600000",
    };
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (time_parse(str_of(rows[i]), &ms))
            fail_msg("%s: %lld", rows[i], (long long)ms);
}

static void http_dates_come_in_three_forms(void **state)
{
    static const char *const rows[] = { "Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994" };
    static const char *const junk[] = { "", "tomorrow", "Sun, 06 Nov 1994 08:49:37",
                                        "Sun, 06 Nov 1994 08:49:37 GMT, and more" };
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!time_parse_http(str_of(rows[i]), &ms) || ms != 784111777000)
            fail_msg("%s", rows[i]);
    for (size_t i = 0; i < COUNT(junk); i++)
        if (time_parse_http(str_of(junk[i]), &ms))
            fail_msg("%s", junk[i]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(rfc_3339_times_are_read),
        TEST(everything_else_is_not),
        TEST(http_dates_come_in_three_forms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
