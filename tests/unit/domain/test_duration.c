#include "domain/duration.h"
#include "unit/cm.h"

#include <string.h>

#define S_MS INT64_C(1000)
#define M_MS (60 * S_MS)
#define H_MS (60 * M_MS)
#define D_MS (24 * H_MS)

struct row {
    const char *text;
    int64_t ms;
};

static void durations_of_qstash_are_read(void **state)
{
    static const struct row rows[] = {
        { "10s", 10 * S_MS },
        { "0s", 0 },
        { "5m", 5 * M_MS },
        { "24h", 24 * H_MS },
        { "7d", 7 * D_MS },
        { "1d10h30m", D_MS + 10 * H_MS + 30 * M_MS },
        { "1h30m3s", H_MS + 30 * M_MS + 3 * S_MS },
        { "30m1h", H_MS + 30 * M_MS },
        { "1s1s", 2 * S_MS },
        { "12.5s", 12500 },
        { "0.1s", 100 },
        { "1.001s", 1001 },
        { "1.5d", 36 * H_MS },
        { "0.1d", 8640000 },
        { "007s", 7 * S_MS },
        { "0.0001s", 1 }, /* rounded up: it is not nothing */
        { "0.0010000001s", 1 },
        { "0.001000001s", 2 },
        { "0.00000000000000000001s", 0 }, /* below a nanosecond it is */
        { "365d", 365 * D_MS },
        { "106751d", 106751 * D_MS }, /* 292 years */
    };
    int64_t ms = -1;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (duration_parse(str_of(rows[i].text), DURATION_NEEDS_UNIT, INT64_MAX, &ms) ||
            ms != rows[i].ms)
            fail_msg("%s: %lld", rows[i].text, (long long)ms);
}

static void durations_of_go_are_read(void **state)
{
    static const struct row rows[] = {
        { "6m5s", 6 * M_MS + 5 * S_MS },
        { "1.5s", 1500 },
        { "1h2m3s4ms", H_MS + 2 * M_MS + 3 * S_MS + 4 },
        { "250ms", 250 },
        { "1ms", 1 },
        { "1m", M_MS },
        { "1000us", 1 },
        { "1001us", 2 },
        { "1000\xc2\xb5s", 1 },
        { "2000\xce\xbcs", 2 },
        { "1ns", 1 },
        { "2000000ns", 2 },
        { "0s", 0 },
        { "0ns", 0 },
        { "0.5ns", 0 },
        { "12ms", 12 },
        { "1m500ms", M_MS + 500 },
    };
    int64_t ms = -1;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (duration_parse_go(str_of(rows[i].text), DURATION_NEEDS_UNIT, INT64_MAX, &ms) ||
            ms != rows[i].ms)
            fail_msg("%s: %lld", rows[i].text, (long long)ms);
}

static void what_is_not_a_duration_is_refused(void **state)
{
    static const char *const both[] = {
        "",    " ",     "s",     "10",     "10 s", " 10s",  "10s ",    "-10s", "+10s",
        ".5s", "1.s",   "1..5s", "1.5.5s", "1,5s", "10S",   "10M",     "10x",  "10w",
        "10y", "10sec", "10s5",  "1h30",   "1e3s", "0x10s", "s10",     "10s,", "10s-",
        "ten", "NaNs",  "infs",  "1.",     ".",    "1h.",   "10\xc2s", "10.5", "1s 1s",
    };
    int64_t ms = 77;

    (void)state;
    for (size_t i = 0; i < COUNT(both); i++)
        if (duration_parse(str_of(both[i]), DURATION_NEEDS_UNIT, INT64_MAX, &ms) != DURATION_BAD ||
            duration_parse_go(str_of(both[i]), DURATION_NEEDS_UNIT, INT64_MAX, &ms) != DURATION_BAD)
            fail_msg("\"%s\"", both[i]);
    assert_int_equal(duration_parse(S("10ms"), DURATION_NEEDS_UNIT, INT64_MAX, &ms), DURATION_BAD);
    assert_int_equal(duration_parse(S("10us"), DURATION_NEEDS_UNIT, INT64_MAX, &ms), DURATION_BAD);
    assert_int_equal(duration_parse_go(S("1d"), DURATION_NEEDS_UNIT, INT64_MAX, &ms), DURATION_BAD);
    assert_int_equal(duration_parse((struct str){ "1s\0", 3 }, DURATION_NEEDS_UNIT, INT64_MAX, &ms),
                     DURATION_BAD);
    assert_int_equal(duration_parse((struct str){ 0 }, DURATION_BARE_IS_SECONDS, INT64_MAX, &ms),
                     DURATION_BAD);
    assert_int_equal(ms, 77); /* untouched */
}

static void a_bare_number_is_seconds_where_that_is_allowed(void **state)
{
    static const struct row rows[] = { { "60", 60000 }, { "0", 0 },     { "1.5", 1500 },
                                       { "1m", 60000 }, { "1h30", -1 }, { "30 ", -1 },
                                       { "", -1 },      { "-5", -1 },   { "1 m", -1 } };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t ms = -1, go = -1;

        duration_parse(str_of(rows[i].text), DURATION_BARE_IS_SECONDS, INT64_MAX, &ms);
        duration_parse_go(str_of(rows[i].text), DURATION_BARE_IS_SECONDS, INT64_MAX, &go);
        if (ms != rows[i].ms || go != rows[i].ms)
            fail_msg("\"%s\": %lld %lld", rows[i].text, (long long)ms, (long long)go);
    }
}

static void too_long_is_told_from_garbage(void **state)
{
    static const struct {
        const char *text;
        int64_t most_ms;
        enum duration_result result;
    } rows[] = {
        { "7d", 7 * D_MS, DURATION_OK },
        { "7d1s", 7 * D_MS, DURATION_TOO_LONG },
        { "168h0.0001s", 7 * D_MS, DURATION_TOO_LONG },
        { "0s", 0, DURATION_OK },
        { "1s", 0, DURATION_TOO_LONG },
        { "106752d", INT64_MAX, DURATION_TOO_LONG },
        { "106751d106751d", INT64_MAX, DURATION_TOO_LONG },
        { "9223372036854775807s", INT64_MAX, DURATION_TOO_LONG },
        { "9223372036854775808s", INT64_MAX, DURATION_TOO_LONG },
        { "99999999999999999999999999999999999d", INT64_MAX, DURATION_TOO_LONG },
        { "99999999999999999999999999999999999d5s", INT64_MAX, DURATION_TOO_LONG },
        { "99999999999999999999999999999999999x", INT64_MAX, DURATION_BAD },
        { "99999999999999999999999999999999999d5", INT64_MAX, DURATION_BAD },
        { "106751.99999999999d", INT64_MAX, DURATION_TOO_LONG },
    };
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (duration_parse(str_of(rows[i].text), DURATION_NEEDS_UNIT, rows[i].most_ms, &ms) !=
            rows[i].result)
            fail_msg("%s", rows[i].text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(durations_of_qstash_are_read),
        TEST(durations_of_go_are_read),
        TEST(what_is_not_a_duration_is_refused),
        TEST(a_bare_number_is_seconds_where_that_is_allowed),
        TEST(too_long_is_told_from_garbage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
