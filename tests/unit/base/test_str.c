#include "base/str.h"
#include "unit/cm.h"

#include <string.h>

static void a_null_pointer_is_the_empty_slice(void **state)
{
    (void)state;
    assert_int_equal(str_of(NULL).n, 0);
    assert_true(str_eq(str_of(NULL), S("")));
    assert_true(str_eq_nocase(str_of(NULL), S("")));
    assert_int_equal(str_cmp(str_of(NULL), S("")), 0);
    assert_int_equal(str_trim(str_of(NULL)).n, 0);
    assert_true(str_is_utf8(str_of(NULL)));
}

static void equality_is_of_bytes_and_case_is_ascii_only(void **state)
{
    (void)state;
    assert_true(str_eq(S("a\0b"), S("a\0b")));
    assert_false(str_eq(S("a\0b"), S("a\0c")));
    assert_false(str_eq(S("a"), S("ab")));
    assert_true(str_eq_nocase(S("Stripe-SIGNATURE"), S("stripe-signature")));
    assert_false(str_eq_nocase(S("["), S("{"))); /* 0x5b and 0x7b: 0x20 apart, and no letters */
    assert_false(str_eq_nocase(S("\xc3\x84"), S("\xc3\xa4")));
}

static void beginnings_and_ends(void **state)
{
    (void)state;
    assert_true(str_starts(S("abc"), S("ab")));
    assert_true(str_starts(S("abc"), S("")));
    assert_false(str_starts(S("ab"), S("abc")));
    assert_true(str_ends(S("abc"), S("bc")));
    assert_true(str_ends(S("abc"), S("")));
    assert_false(str_ends(S("bc"), S("abc")));
}

static void order_is_bytewise_and_the_shorter_comes_first(void **state)
{
    (void)state;
    assert_true(str_cmp(S("a"), S("b")) < 0);
    assert_true(str_cmp(S("ab"), S("a")) > 0);
    assert_true(str_cmp(S("\xff"), S("a")) > 0); /* unsigned */
    assert_int_equal(str_cmp(S("ab"), S("ab")), 0);
}

static void cut_takes_what_stands_before_the_separator(void **state)
{
    struct str s = S("a,,b");

    (void)state;
    assert_true(str_eq(str_cut(&s, ','), S("a")));
    assert_true(str_eq(str_cut(&s, ','), S("")));
    assert_true(str_eq(str_cut(&s, ','), S("b")));
    assert_int_equal(s.n, 0);
    assert_true(str_eq(str_cut(&s, ','), S("")));
    s = S("key=value=more");
    assert_true(str_eq(str_cut(&s, '='), S("key")));
    assert_true(str_eq(s, S("value=more")));
    s = (struct str){ 0 };
    assert_int_equal(str_cut(&s, ',').n, 0);
}

static void trim_takes_blanks_and_tabs_only(void **state)
{
    (void)state;
    assert_true(str_eq(str_trim(S(" \ta b\t ")), S("a b")));
    assert_true(str_eq(str_trim(S(" \t ")), S("")));
    assert_true(str_eq(str_trim(S("\na")), S("\na")));
}

static void numbers_are_plain_decimals(void **state)
{
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } rows[] = {
        { "0", true, 0 },
        { "-0", true, 0 },
        { "7", true, 7 },
        { "-12", true, -12 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "99999999999999999999", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "+1", false, 0 },
        { "01", false, 0 },
        { "-01", false, 0 },
        { "1 ", false, 0 },
        { " 1", false, 0 },
        { "1.0", false, 0 },
        { "1e3", false, 0 },
        { "0x1", false, 0 },
        { "\xef\xbc\x91", false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t v = 0;

        if (str_to_i64(str_of(rows[i].text), &v) != rows[i].fits || v != rows[i].value)
            fail_msg("%s", rows[i].text);
    }
}

static void utf8_is_well_formed_or_refused(void **state)
{
    static const char *const good[] = { "",
                                        "a",
                                        "\x7f",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xef\xbf\xbf",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf" };
    static const char *const bad[] = {
        "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xc2",         "\xc2\x41",
        "\xe0\x9f\xbf", "\xe0\xa0",         "\xed\xa0\x80",     "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
        "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",         "a\xe4\xb8"
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        if (!str_is_utf8(str_of(good[i])))
            fail_msg("good row %zu", i);
    for (size_t i = 0; i < COUNT(bad); i++)
        if (str_is_utf8(str_of(bad[i])))
            fail_msg("bad row %zu", i);
    assert_true(str_is_utf8(S("a\0b"))); /* NUL is a character; who minds says so */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_null_pointer_is_the_empty_slice),
        TEST(equality_is_of_bytes_and_case_is_ascii_only),
        TEST(beginnings_and_ends),
        TEST(order_is_bytewise_and_the_shorter_comes_first),
        TEST(cut_takes_what_stands_before_the_separator),
        TEST(trim_takes_blanks_and_tabs_only),
        TEST(numbers_are_plain_decimals),
        TEST(utf8_is_well_formed_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
