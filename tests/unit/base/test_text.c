/* Small texts: times as the API writes them, and texts cut between characters. */
#include "base/text.h"
#include "unit/cm.h"

#include <string.h>

static void times_are_written_in_utc_with_milliseconds(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        { 0, "1970-01-01T00:00:00.000Z" },
        { 1, "1970-01-01T00:00:00.001Z" },
        { 999, "1970-01-01T00:00:00.999Z" },
        { 951782399999, "2000-02-28T23:59:59.999Z" },
        { 951782400000, "2000-02-29T00:00:00.000Z" },
        { 1760000000123, "2025-10-09T08:53:20.123Z" },
        { 4107542399999, "2100-02-28T23:59:59.999Z" }, /* 2100 has no 29th */
        { 4107542400000, "2100-03-01T00:00:00.000Z" },
        { 253402300799999, "9999-12-31T23:59:59.999Z" },
    };
    char text[TIME_TEXT + 1];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        time_text(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void times_outside_four_digits_are_cut_to_them(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        { -1, "1970-01-01T00:00:00.000Z" },
        { INT64_MIN, "1970-01-01T00:00:00.000Z" },
        { 253402300800000, "9999-12-31T23:59:59.999Z" },
        { INT64_MAX, "9999-12-31T23:59:59.999Z" },
    };
    char text[TIME_TEXT + 1];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        memset(text, 'x', sizeof(text));
        time_text(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void a_text_is_cut_between_characters(void **state)
{
    static const struct {
        const char *text;
        size_t most;
        const char *cut;
    } rows[] = {
        { "", 0, "" },
        { "", 5, "" },
        { "abc", 0, "" },
        { "abc", 2, "ab" },
        { "abc", 3, "abc" },
        { "abc", 4, "abc" },
        { "抹茶a", 1, "抹" },
        { "抹茶a", 2, "抹茶" },
        { "a😀b", 2, "a😀" },
        { "é", 1, "é" },
        { "e\xcc\x81x", 1, "e" },  /* code points, not what the eye takes for one */
        { "抹\xe8\x8c", 1, "抹" }, /* broken at its end */
        { "\x80\x80"
          "a",
          1,
          "\x80\x80"
          "a" }, /* broken at its start: nothing is lost, nothing is counted */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str got = cut_utf8(str_of(rows[i].text), rows[i].most);

        assert_int_equal(got.n, strlen(rows[i].cut));
        assert_memory_equal(got.p, rows[i].cut, got.n);
    }
    assert_int_equal(cut_utf8((struct str){ 0 }, 500).n, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(times_are_written_in_utc_with_milliseconds),
        TEST(times_outside_four_digits_are_cut_to_them),
        TEST(a_text_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
