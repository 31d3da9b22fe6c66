#include "base/json/json.h"
#include "domain/money.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct money yen(int64_t minor)
{
    return (struct money){ minor, "JPY" };
}

/* --- currencies --- */

static void a_code_is_taken_in_either_case_and_given_in_upper_case(void **state)
{
    static const char *const rows[][2] = {
        { "JPY", "JPY" }, { "jpy", "JPY" }, { "uSd", "USD" }, { "aed", "AED" }, { "ZWG", "ZWG" },
    };
    char code[4];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        memset(code, 'x', sizeof(code));
        assert_true(currency_parse(str_of(rows[i][0]), code));
        assert_string_equal(code, rows[i][1]);
    }
}

static void what_is_no_code_is_refused_and_the_output_left_alone(void **state)
{
    static const struct str rows[] = {
        { "", 0 },      { "J", 1 },    { "JP", 2 },   { "JPYX", 4 },         { "JP\0", 3 },
        { "JPY\0", 4 }, { "JPY ", 4 }, { " JPY", 4 }, { "J Y", 3 },          { "123", 3 },
        { "AAA", 3 },   { "ZZZ", 3 },  { "392", 3 },  { "\xef\xbc\xaa", 3 }, { "[[[", 3 },
        { "@@@", 3 },   { "```", 3 },  { "{{{", 3 },  { "\xff\xff\xff", 3 }, { "\0\0\0", 3 },
    };
    char code[4] = "abc";

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (currency_parse(rows[i], code))
            fail_msg("row %zu was taken", i);
    assert_string_equal(code, "abc");
    assert_int_equal(currency_digits((const char[4]){ 0 }), -1);
    assert_int_equal(currency_digits("jpy"), -1);
}

static void what_cannot_be_paid_with_is_refused(void **state)
{
    static const char refused[] = "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX " /* N.A. */
                                  "ANG BGN CUC HRK SLL ZWL";                             /* gone */
    struct str rest = S("");
    char code[4];

    (void)state;
    rest = (struct str){ refused, sizeof(refused) - 1 };
    while (rest.n) {
        struct str one = str_cut(&rest, ' ');

        if (currency_parse(one, code))
            fail_msg(STR_FMT " was taken", STR_ARG(one));
    }
}

static bool listed(const char *list, const char *code)
{
    return strstr(list, code) != NULL;
}

/* Where ISO's digits are not two. */
static const char none[] = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF";
static const char three[] = "BHD IQD JOD KWD LYD OMR TND";
static const char four[] = "CLF UYW";

/* Every three letters there are: so the search finds each of its entries, and nothing else. */
static void the_list_has_165_codes_with_the_digits_of_iso(void **state)
{
    int count[5] = { 0 };
    char code[4] = "", parsed[4];

    (void)state;
    for (int i = 0; i < 26 * 26 * 26; i++) {
        int digits;

        code[0] = (char)('A' + i / 676), code[1] = (char)('A' + i / 26 % 26);
        code[2] = (char)('A' + i % 26);
        digits = currency_digits(code);
        assert_int_equal(currency_parse(str_of(code), parsed), digits >= 0);
        if (digits < 0)
            continue;
        assert_int_equal(digits, listed(none, code)    ? 0
                                 : listed(three, code) ? 3
                                 : listed(four, code)  ? 4
                                                       : 2);
        count[digits]++;
    }
    assert_int_equal(count[0], 17);
    assert_int_equal(count[2], 165 - 17 - 7 - 2);
    assert_int_equal(count[3], 7);
    assert_int_equal(count[4], 2);
}

#define DEBIAN "/usr/share/iso-codes/json/iso_4217.json"

static cJSON *read_debian(char *text, size_t size)
{
    FILE *file = fopen(DEBIAN, "r");
    cJSON *tree = NULL;
    size_t n;

    if (!file)
        return NULL;
    n = fread(text, 1, size, file);
    fclose(file);
    assert_int_equal(json_parse((struct str){ text, n }, &tree, NULL), OK);
    return tree;
}

/* Debian's list has no digits, keeps what was withdrawn and learns of news late. */
static void debian_has_the_same_codes_but_for_known_differences(void **state)
{
    static const char not_ours[] = "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX "
                                   "ANG BGN CUC HRK SLL ZWL";
    static const char maybe_new[] = "XAD XCG ZWG";
    static char text[256 * 1024];
    CLEANUP(json_freep) cJSON *tree = read_debian(text, sizeof(text));
    const cJSON *entry;
    int ours = 0;

    (void)state;
    if (!tree)
        skip();
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(tree, "4217"))
    {
        const char *code = cJSON_GetObjectItemCaseSensitive(entry, "alpha_3")->valuestring;

        if ((currency_digits(code) >= 0) == listed(not_ours, code))
            fail_msg("%s: Debian has it", code);
        ours += currency_digits(code) >= 0 && !listed(maybe_new, code);
    }
    assert_int_equal(ours, 165 - 3);
}

/* --- amounts --- */

static void an_amount_is_1_to_the_maximum_in_a_known_currency(void **state)
{
    static const struct {
        int64_t minor;
        const char *currency;
        bool taken;
    } rows[] = {
        { 1, "JPY", true },          { 99999999, "JPY", true },
        { 1200, "usd", true },       { 0, "JPY", false },
        { -1, "JPY", false },        { 100000000, "JPY", false },
        { INT64_MAX, "JPY", false }, { INT64_MIN, "JPY", false },
        { 1, "XXX", false },         { 1, "", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct money m = { 7, "EUR" };

        if (money_make(rows[i].minor, str_of(rows[i].currency), &m) != rows[i].taken)
            fail_msg("row %zu", i);
        assert_int_equal(m.minor, rows[i].taken ? rows[i].minor : 7);
        if (!rows[i].taken)
            assert_string_equal(m.currency, "EUR");
    }
}

static void two_currencies_are_never_equal(void **state)
{
    struct money usd = { 100, "USD" };

    (void)state;
    assert_true(money_eq(yen(7), yen(7)));
    assert_false(money_eq(yen(100), usd));
    assert_false(money_eq(yen(100), yen(101)));
    assert_false(money_same_currency(yen(100), usd));
    assert_true(money_same_currency(yen(100), yen(1)));
}

static void none_is_not_0_but_counts_as_0(void **state)
{
    struct minor absent = MINOR_NONE, nothing = { 0 }, some = { 5 }, sum = MINOR_NONE;

    (void)state;
    assert_false(minor_known(absent));
    assert_true(minor_known(nothing));
    assert_false(minor_known(minor_or_none(nothing)));
    assert_int_equal(minor_cmp(absent, nothing), 0);
    assert_int_equal(minor_cmp(absent, some), -1);
    assert_int_equal(minor_cmp(some, absent), 1);
    assert_int_equal(minor_change(absent, some), 5);
    assert_int_equal(minor_change(some, absent), -5);
    assert_true(minor_add(&sum, absent) && minor_or_0(sum) == 0);
    assert_true(minor_add(&sum, some) && sum.minor == 5);
}

static void a_sum_without_a_currency_is_exact_or_refused(void **state)
{
    struct minor most = { INT64_MAX }, sum = most, one = { 1 };
    int64_t net = 7;

    (void)state;
    assert_false(minor_add(&sum, one));
    assert_false(minor_add(&sum, most));
    assert_true(sum.minor == INT64_MAX);
    assert_true(minor_change(most, MINOR_NONE) == -INT64_MAX);
    assert_true(
        minor_net((struct minor){ 1000 }, (struct minor){ 300 }, (struct minor){ 36 }, &net));
    assert_int_equal(net, 664);
    assert_true(
        minor_net((struct minor){ 300 }, (struct minor){ 300 }, (struct minor){ 36 }, &net));
    assert_int_equal(net, -36);
    assert_true(minor_net(MINOR_NONE, most, one, &net));
    assert_true(net == INT64_MIN);
    assert_false(minor_net(MINOR_NONE, most, (struct minor){ 2 }, &net));
    assert_true(net == INT64_MIN);
}

static void what_is_stored_is_read_whatever_the_list_says_today(void **state)
{
    struct money m = yen(7);

    (void)state;
    assert_false(money_stored(100, S("JPYX"), &m));
    assert_true(money_eq(m, yen(7)));
    assert_true(money_stored(100, S("HRK"), &m)); /* gone since 2023 */
    assert_true(m.minor == 100);
    assert_string_equal(m.currency, "HRK");
}

static void a_part_is_covered_by_what_is_as_large(void **state)
{
    (void)state;
    assert_true(money_covers(yen(100), 0) && money_covers(yen(100), 100));
    assert_false(money_covers(yen(100), 101) || money_covers(yen(100), -1));
    assert_false(money_covers(yen(100), INT64_MAX) || money_covers(yen(100), INT64_MIN));
}

/* --- in writing --- */

static void an_amount_is_written_with_its_currencys_digits(void **state)
{
    static const struct {
        int64_t minor;
        const char *currency, *text;
    } rows[] = {
        { 0, "JPY", "0" },
        { 999, "JPY", "999" },
        { 1234567, "JPY", "1,234,567" },
        { 0, "USD", "0.00" },
        { 5, "USD", "0.05" },
        { -1234567, "USD", "-12,345.67" },
        { 1234567, "KWD", "1,234.567" },
        { 1234567, "CLF", "123.4567" },
        { 1200, "", "1,200" },
        { INT64_MAX, "JPY", "9,223,372,036,854,775,807" },
        { INT64_MIN, "CLF", "-922,337,203,685,477.5808" },
    };
    char text[MONEY_TEXT];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        money_text(rows[i].minor, rows[i].currency, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void an_amount_is_written_as_json_and_none_as_null(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 256);
    buf_char(&b, '{');
    money_out(&b, yen(1200));
    minor_out(&b, "captured", (struct minor){ 0 });
    minor_out(&b, "refunded", MINOR_NONE);
    buf_add(&b, S("}"));
    buf_char(&b, '\0');
    assert_string_equal(b.p,
                        "{\"amount\":1200,\"currency\":\"JPY\",\"captured\":0,\"refunded\":null}");
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_code_is_taken_in_either_case_and_given_in_upper_case),
        TEST(what_is_no_code_is_refused_and_the_output_left_alone),
        TEST(what_cannot_be_paid_with_is_refused),
        TEST(the_list_has_165_codes_with_the_digits_of_iso),
        TEST(debian_has_the_same_codes_but_for_known_differences),
        TEST(an_amount_is_1_to_the_maximum_in_a_known_currency),
        TEST(two_currencies_are_never_equal),
        TEST(none_is_not_0_but_counts_as_0),
        TEST(a_sum_without_a_currency_is_exact_or_refused),
        TEST(what_is_stored_is_read_whatever_the_list_says_today),
        TEST(a_part_is_covered_by_what_is_as_large),
        TEST(an_amount_is_written_with_its_currencys_digits),
        TEST(an_amount_is_written_as_json_and_none_as_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
