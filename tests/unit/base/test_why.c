/* Why something failed: the words are cut between two characters. */
#include "base/str.h"
#include "base/why.h"
#include "unit/cm.h"

#include <string.h>

static void words_that_are_too_long_end_between_two_characters(void **state)
{
    static const struct {
        int ascii; /* letters before the characters of three bytes each */
        size_t n;
    } rows[] = { { 511, 511 }, { 510, 510 }, { 509, 509 }, { 508, 508 }, { 0, 510 } };
    char text[1024];
    struct why w;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t n = (size_t)rows[i].ascii;

        memset(text, 'a', n);
        for (; n + 3 < sizeof(text); n += 3)
            memcpy(text + n, "支", 3);
        text[n] = '\0';
        why_set(&w, "%s", text);
        assert_int_equal(strlen(w.text), rows[i].n);
        assert_memory_equal(w.text, text, rows[i].n);
    }
    why_set(&w, "%s支", "short: ");
    assert_string_equal(w.text, "short: 支");
}

static void the_value_is_what_the_caller_returns(void **state)
{
    struct why w;

    (void)state;
    assert_int_equal(why_err(&w, ERR_CONFLICT, "taken by %d", 4), ERR_CONFLICT);
    assert_string_equal(w.text, "taken by 4");
    assert_false(why_false(&w, "no"));
    assert_string_equal(w.text, "no");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(words_that_are_too_long_end_between_two_characters),
        TEST(the_value_is_what_the_caller_returns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
