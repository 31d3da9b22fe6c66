#include "base/limits.h"
#include "base/time/parse.h"
#include "domain/expression.h"
#include "unit/cm.h"

#include <string.h>

/* --- the expression --- */

static void expressions_give_milliseconds(void **state)
{
    static const struct {
        const char *text;
        int64_t retried, ms;
    } rows[] = {
        /* of the reference */
        { "1000", 0, 1000 },
        { "1000 * (1 + retried)", 0, 1000 },
        { "1000 * (1 + retried)", 4, 5000 },
        { "1000 * pow(2, retried)", 0, 1000 },
        { "1000 * pow(2, retried)", 3, 8000 },
        { "max(1000, pow(2, retried) * 100)", 2, 1000 },
        { "max(1000, pow(2, retried) * 100)", 5, 3200 },
        /* precedence */
        { "2+3*4", 0, 14 },
        { "2*3+4", 0, 10 },
        { "(2+3)*4", 0, 20 },
        { "20-5-3", 0, 12 },
        { "100/5/2", 0, 10 },
        { "100/5*2", 0, 40 },
        { "20-5+3", 0, 18 },
        { "-5+20", 0, 15 },
        { "20--5", 0, 25 },
        { "20---5", 0, 15 },
        { "3*-2*-4", 0, 24 },
        { "-(2-5)", 0, 3 },
        { "-pow(2,2)+10", 0, 6 },
        { "((((7))))", 0, 7 },
        /* functions */
        { "pow(2, 10)", 0, 1024 },
        { "pow(4, 0.5)", 0, 2 },
        { "exp(0)", 0, 1 },
        { "exp(2.5)*1000", 0, 12182 },
        { "sqrt(1000000)", 0, 1000 },
        { "abs(-5)", 0, 5 },
        { "abs(retried-10)", 3, 7 },
        { "floor(5.9)", 0, 5 },
        { "floor(-5.1)+10", 0, 4 },
        { "ceil(5.1)", 0, 6 },
        { "round(2.4)+round(2.5)", 0, 5 },
        { "round(-2.5)+10", 0, 7 },
        { "min(5,3)+max(5,3)", 0, 8 },
        { "min(3,5)+max(3,5)", 0, 8 },
        { "min(max(1,2),pow(3,min(1,2)))", 0, 2 },
        { "pow ( 2 , 3 )", 0, 8 },
        /* numbers */
        { "0", 0, 0 },
        { "0.5*10", 0, 5 },
        { "0.1*30", 0, 3 },
        { "1.005*1000", 0, 1005 },
        { "007", 0, 7 },
        { "12.75", 0, 13 },
        { "12.25", 0, 12 },
        { "\t 5 + \t6 ", 0, 11 },
        { "retried*retried", 12, 144 },
        { "retried", INT64_C(1) << 40, LIMIT_BACKOFF_MS },
        /* what a wait can be */
        { "-1", 0, 0 },
        { "-0.4", 0, 0 },
        { "0-1000*retried", 3, 0 },
        { "-0", 0, 0 },
        { "86400000", 0, 86400000 },
        { "86400001", 0, 86400000 },
        { "pow(10, 300)", 0, 86400000 },
        { "99999999999999999999999999999999", 0, 86400000 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct why why = { 0 };
        int64_t ms = expression_delay_ms(str_of(rows[i].text), rows[i].retried);

        if (!expression_check(str_of(rows[i].text), &why) || ms != rows[i].ms)
            fail_msg("%s: %lld %s", rows[i].text, (long long)ms, why.text);
    }
}

static void a_value_that_is_no_number_means_the_default_backoff(void **state)
{
    static const char *const rows[] = {
        "1/0",
        "-1/0",
        "0/0",
        "1/retried",
        "sqrt(-1)",
        "exp(10000)",
        "pow(10, 400)",
        "0*(1/0)",
        "1/0-1/0",
        "min(sqrt(-1), 5)",
        "min(5, sqrt(-1))",
        "max(sqrt(-1), 5)",
        "max(5, sqrt(-1))",
        "pow(-8, 0.5)",
        "pow(0, -1)",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct why why;

        if (!expression_check(str_of(rows[i]), &why))
            fail_msg("%s: %s", rows[i], why.text);
        if (expression_delay_ms(str_of(rows[i]), 0) != -1)
            fail_msg("%s", rows[i]);
    }
    assert_int_equal(expression_delay_ms(S("1/retried"), 1), 1);
    assert_int_equal(expression_delay_ms(S("max(1, 1000/0)"), 0), -1);
    assert_int_equal(expression_delay_ms(S("min(1, 1000/0)"), 0), 1);
}

static void what_is_no_expression_is_refused_with_words(void **state)
{
    static const char *const rows[][2] = {
        { "", "character 1: the expression is empty" },
        { "  ", "character 3: the expression is empty" },
        { "+", "character 1: a value is missing here" },
        { "+5", "character 1: a value is missing here" },
        { "1+", "character 3: a value is missing here" },
        { "1 + * 2", "character 5: a value is missing here" },
        { "*2", "character 1: a value is missing here" },
        { "-", "character 2: a value is missing here" },
        { "()", "character 2: a value is missing here" },
        { "(1", "character 3: a closing parenthesis is missing here" },
        { "(1,2)", "character 3: a closing parenthesis is missing here" },
        { "1)", "character 2: an operator is missing here" },
        { "1 2", "character 3: an operator is missing here" },
        { "2(3)", "character 2: an operator is missing here" },
        { "1,2", "character 2: an operator is missing here" },
        { "2 retried", "character 3: an operator is missing here" },
        { "2**3", "character 3: a value is missing here" },
        { "2^3", "character 2: an operator is missing here" },
        { "5%2", "character 2: an operator is missing here" },
        { "1;2", "character 2: an operator is missing here" },
        { "1e3", "character 2: an operator is missing here" },
        { "0x10", "character 2: an operator is missing here" },
        { ".5", "character 1: a value is missing here" },
        { "5.", "character 3: digits must follow the dot" },
        { "1.5.5", "character 4: an operator is missing here" },
        { "1_000", "character 2: an operator is missing here" },
        { "foo", "character 1: \"foo\" is not known; there are retried, pow, exp, sqrt" },
        { "Retried", "character 1: \"Retried\" is not known" },
        { "retried2", "character 1: \"retried2\" is not known" },
        { "POW(2,3)", "\"POW\" is not known" },
        { "sin(1)", "\"sin\" is not known" },
        { "pi", "\"pi\" is not known" },
        { "1+averyveryverylongname(1)", "character 3: \"averyveryverylon\" is not known" },
        { "pow", "character 4: pow needs its values in parentheses" },
        { "pow 2", "character 5: pow needs its values in parentheses" },
        { "pow(2)", "character 6: pow takes two values" },
        { "pow()", "character 5: a value is missing here" },
        { "pow(2,)", "character 7: a value is missing here" },
        { "pow(,2)", "character 5: a value is missing here" },
        { "pow(2,3,4)", "character 8: pow has too many values" },
        { "sqrt(2,3)", "character 7: sqrt has too many values" },
        { "min(1)", "character 6: min takes two values" },
        { "abs(1", "character 6: abs has no closing parenthesis" },
        { "abs(1]", "character 6: abs has no closing parenthesis" },
        { "retried(1)", "character 8: an operator is missing here" },
        { "1\n+2", "character 2: an operator is missing here" },
        { "\xc3\xa9", "character 1: a value is missing here" },
        { "1 \xe2\x88\x92 2", "character 3: an operator is missing here" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct why why = { 0 };

        if (expression_check(str_of(rows[i][0]), &why) || !strstr(why.text, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], why.text);
        if (expression_delay_ms(str_of(rows[i][0]), 1) != -1)
            fail_msg("%s has a value", rows[i][0]);
    }
}

static void the_longest_words_fit(void **state)
{
    char text[LIMIT_EXPRESSION];
    struct why why;

    (void)state;
    memset(text, ' ', sizeof(text));
    memset(text + 200, 'w', 50);
    assert_false(expression_check((struct str){ text, sizeof(text) }, &why));
    assert_string_equal(why.text + strlen(why.text) - 4, " max");
}

static void length_and_depth_are_bounded(void **state)
{
    char text[LIMIT_EXPRESSION + 1];
    struct why why;

    (void)state;
    memset(text, ' ', sizeof(text));
    text[0] = '7';
    assert_int_equal(expression_delay_ms((struct str){ text, LIMIT_EXPRESSION }, 0), 7);
    assert_false(expression_check((struct str){ text, LIMIT_EXPRESSION + 1 }, &why));
    assert_string_equal(why.text, "character 1: an expression has at most 256 characters");

    memset(text, '(', LIMIT_EXPRESSION_DEPTH - 1);
    text[LIMIT_EXPRESSION_DEPTH - 1] = '7';
    memset(text + LIMIT_EXPRESSION_DEPTH, ')', LIMIT_EXPRESSION_DEPTH - 1);
    assert_int_equal(expression_delay_ms((struct str){ text, 2 * LIMIT_EXPRESSION_DEPTH - 1 }, 0),
                     7);
    memset(text, '(', sizeof(text));
    assert_false(expression_check((struct str){ text, LIMIT_EXPRESSION }, &why));
    assert_string_equal(why.text, "character 33: this is nested too deeply");
    memset(text, '-', sizeof(text));
    assert_false(expression_check((struct str){ text, LIMIT_EXPRESSION }, &why));
    assert_string_equal(why.text, "character 33: this is nested too deeply");
    assert_false(expression_check((struct str){ "1+\0", 3 }, &why));
    assert_false(expression_check((struct str){ "1\0", 2 }, &why));
    assert_false(expression_check((struct str){ 0 }, &why));
}

/* --- the default --- */

static void the_default_backoff_is_e_to_the_2_5_n(void **state)
{
    static const int64_t rows[][2] = {
        { 1, 12182 },    { 2, 148413 },   { 3, 1808042 },     { 4, 22026466 },
        { 5, 86400000 }, { 6, 86400000 }, { 1000, 86400000 }, { INT64_MAX, 86400000 },
        { 0, 12182 },    { -1, 12182 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (backoff_delay_ms(rows[i][0]) != rows[i][1])
            fail_msg("%lld: %lld", (long long)rows[i][0], (long long)backoff_delay_ms(rows[i][0]));
}

/* --- what the receiver asks for --- */

#define NOW "Wed, 21 Oct 2026 07:28:00 GMT"

static void a_receiver_says_when_in_three_ways(void **state)
{
    static const struct {
        const char *value;
        int64_t ms;
    } rows[] = {
        { "", -1 },
        { "0", 0 },
        { "120", 120000 },
        { " 120 ", 120000 },
        { "1.5", 1500 },
        { "86400", 86400000 },
        { "86401", -1 },
        { "-1", -1 },
        { "99999999999999999999", -1 },
        { "1792567680", -1 }, /* a point in time, as some write it, is more than a day */
        { "6m5s", 365000 },
        { "1.5s", 1500 },
        { "250ms", 250 },
        { "0s", 0 },
        { "500\xc2\xb5s", 1 },
        { "24h", 86400000 },
        { "24h1ns", -1 },
        { "1d", -1 }, /* Go has no days */
        { NOW, 0 },
        { "Wed, 21 Oct 2026 07:28:05 GMT", 5000 },
        { "Wed, 21 Oct 2026 07:27:00 GMT", 0 },
        { "Mon, 01 Jan 2001 00:00:00 GMT", 0 },
        { "Thu, 22 Oct 2026 07:28:00 GMT", 86400000 },
        { "Thu, 22 Oct 2026 07:28:01 GMT", -1 },
        { "Fri, 31 Dec 9999 23:59:59 GMT", -1 },
        { "soon", -1 },
        { "5 minutes", -1 },
        { "120, 60", -1 },
    };
    int64_t now_ms;

    (void)state;
    assert_true(time_parse_http(S(NOW), &now_ms));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str v = str_of(rows[i].value);
        struct backoff_headers each[] = {
            { .retry_after = v }, { .reset = v }, { .reset_requests = v }, { .reset_tokens = v }
        };

        for (size_t k = 0; k < COUNT(each); k++)
            if (backoff_asked_ms(&each[k], now_ms) != rows[i].ms)
                fail_msg("%s in header %zu: %lld", rows[i].value, k,
                         (long long)backoff_asked_ms(&each[k], now_ms));
    }
}

static void the_first_header_that_says_something_counts(void **state)
{
    static const struct {
        const char *retry_after, *reset, *requests, *tokens;
        int64_t ms;
    } rows[] = {
        { "1", "2", "3", "4", 1000 },
        { "", "2", "3", "4", 2000 },
        { "", "", "3", "4", 3000 },
        { "", "", "", "4", 4000 },
        { "", "", "", "", -1 },
        { "0", "2", "3", "4", 0 },
        { "junk", "2", "3", "4", 2000 },
        { "86401", "", "6m5s", "4", 365000 },
        { "86401", "1792567680", "48h", "junk", -1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct backoff_headers h = { str_of(rows[i].retry_after), str_of(rows[i].reset),
                                     str_of(rows[i].requests), str_of(rows[i].tokens) };

        if (backoff_asked_ms(&h, 0) != rows[i].ms)
            fail_msg("row %zu", i);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(expressions_give_milliseconds),
        TEST(a_value_that_is_no_number_means_the_default_backoff),
        TEST(what_is_no_expression_is_refused_with_words),
        TEST(the_longest_words_fit),
        TEST(length_and_depth_are_bounded),
        TEST(the_default_backoff_is_e_to_the_2_5_n),
        TEST(a_receiver_says_when_in_three_ways),
        TEST(the_first_header_that_says_something_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
