/* References: what a slip of the pen can make of them, and what a bank's text can hide them in. */
#include "domain/reference.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 2000, STEP = 44987 };

static void a_reference_has_nine_digits_and_checks_itself(void **state)
{
    (void)state;
    assert_string_equal(reference_make(0).text, "100000006");
    assert_string_equal(reference_make(2345678).text, "123456786");
    assert_int_equal(reference_make(REFERENCE_COUNT - 1).text[0], '9');
    for (uint64_t i = 0; i < MANY; i++) {
        struct reference r = reference_make(i * STEP);

        assert_true(reference_is(str_of(r.text)));
        assert_int_not_equal(r.text[0], '0');
    }
    assert_false(reference_is(S("")));
    assert_false(reference_is(S("12345678")));
    assert_false(reference_is(S("1234567890")));
    assert_false(reference_is(S("12345678x")));
    assert_false(reference_is(S("000000000")));
}

static void no_wrong_digit_and_no_swap_of_neighbours_is_another_reference(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < MANY; i++) {
        struct reference r = reference_make(i * STEP);
        char text[REFERENCE_TEXT + 1];

        for (int at = 0; at < REFERENCE_TEXT; at++) {
            for (char c = '0'; c <= '9'; c++) {
                strcpy(text, r.text);
                text[at] = c;
                if (c != r.text[at] && reference_is(str_of(text)))
                    fail_msg("%s and %s", r.text, text);
            }
            strcpy(text, r.text);
            text[at] = r.text[at + 1];
            text[at + 1] = r.text[at];
            if (at + 1 < REFERENCE_TEXT && text[at] != text[at + 1] && reference_is(str_of(text)))
                fail_msg("%s and %s, swapped", r.text, text);
        }
    }
}

static void a_reference_is_found_as_people_and_banks_write_it(void **state)
{
    static const struct {
        const char *why, *text, *want; /* one behind the other */
    } rows[] = {
        { "alone", "123456786", "123456786" },
        { "before a name", "123456786 ヤマダ タロウ", "123456786" },
        { "glued to it", "123456786ﾔﾏﾀﾞ", "123456786" },
        { "behind it", "振込 ヤマダ123456786", "123456786" },
        { "full-width", "１２３４５６７８６　ヤマダ", "123456786" },
        { "in threes", "123-456-786", "123456786" },
        { "in threes, full-width", "１２３－４５６－７８６", "123456786" },
        { "with blanks", "123 456 786", "123456786" },
        { "two of them", "123456786 100000006", "123456786100000006" },
        { "the same twice", "123456786 123456786", "123456786" },
        { "in a longer row of digits it is none", "20261116123456786", "" },
        { "a wrong check digit", "123456787", "" },
        { "a phone number before it", "03-123-456-786", "123456786" },
        { "letters part it", "123a456786", "" },
        { "no digits", "ヤマダ タロウ", "" },
        { "nothing", "", "" },
        { "a broken character at the end", "123456786\xef\xbc", "123456786" },
    };
    struct reference found[REFERENCES_FOUND];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char got[REFERENCES_FOUND * REFERENCE_TEXT + 1] = "";
        size_t n = reference_find(str_of(rows[i].text), found);

        for (size_t j = 0; j < n; j++)
            strcat(got, found[j].text);
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s: %s", rows[i].why, got);
    }
}

static bool is_near(const char *text, const char *reference)
{
    struct reference near[REFERENCES_NEAR];
    size_t n = reference_near(str_of(text), near);

    for (size_t i = 0; i < n; i++)
        if (strcmp(near[i].text, reference) == 0)
            return true;
    return false;
}

static void one_slip_still_leads_to_the_reference(void **state)
{
    (void)state;
    assert_true(is_near("123456766 ヤマダ", "123456786")); /* one digit wrong */
    assert_true(is_near("123465786", "123456786"));        /* two swapped */
    assert_true(is_near("12345786", "123456786"));         /* one missing */
    assert_true(is_near("1234556786", "123456786"));       /* one too many */
    assert_true(is_near("１２３４５７８６", "123456786"));
    assert_false(is_near("ヤマダ タロウ", "123456786"));
    assert_false(is_near("1234567", "123456786"));
}

static void a_text_full_of_digits_has_a_limit(void **state)
{
    struct reference all[REFERENCES_NEAR];
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = i % 4 == 3 ? ' ' : (char)('0' + i * 7 % 10);
    assert_true(reference_find((struct str){ text, sizeof(text) }, all) <= REFERENCES_FOUND);
    assert_true(reference_near((struct str){ text, sizeof(text) }, all) <= REFERENCES_NEAR);
    memset(text, '7', sizeof(text));
    assert_int_equal(reference_find((struct str){ text, sizeof(text) }, all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reference_has_nine_digits_and_checks_itself),
        cmocka_unit_test(no_wrong_digit_and_no_swap_of_neighbours_is_another_reference),
        cmocka_unit_test(a_reference_is_found_as_people_and_banks_write_it),
        cmocka_unit_test(one_slip_still_leads_to_the_reference),
        cmocka_unit_test(a_text_full_of_digits_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
