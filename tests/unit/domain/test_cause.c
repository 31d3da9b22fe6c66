#include "domain/cause.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

static void a_cause_is_the_reason_without_what_is_its_own(void **state)
{
    static const struct {
        const char *reason, *cause;
    } rows[] = {
        { "no such payment yet", "no such payment yet" },
        { "no payment 019a8c3e-7b7a-7c3e-9a55-0242ac120002", "no payment #" },
        { "evt_3MtwBwLkdIwHu7ix0snN0B15 is unknown", "# is unknown" },
        { "the destination answered 503", "the destination answered #" },
        { "the destination answered 404", "the destination answered #" },
        { "127.0.0.1:8080 answered 503 after 1.5 s", "# answered # after # s" },
        { "at 2026-11-16T09:30:00.000Z it ended", "at # it ended" },
        { "-12 is less than 0", "# is less than #" },
        { "more than 1,000,000 rows", "more than # rows" },
        { "sha256:00ff is not there", "# is not there" },
        { "the message's body cannot be read", "the message's body cannot be read" },
        { "the payments' sum and its 'own' sum", "the payments' sum and its \"*\" sum" },
        { "unknown status \"on hold\"", "unknown status \"*\"" },
        { "unknown status \"a \\\"quoted\\\" one\".", "unknown status \"*\"." },
        { "it said `rm -rf`, twice", "it said \"*\", twice" },
        { "a quote that \"never ends", "a quote that \"never ends" },
        { "fault point apply:payment_intent.succeeded",
          "fault point apply:payment_intent.succeeded" },
        { "two\nlines\tand a tab", "two lines and a tab" },
        { "決済 42 がありません", "決済 # がありません" },
        { "not text: \xff\xfe", "not text: ??" },
        { "", "no reason given" },
        { "   ", "no reason given" },
    };
    char text[CAUSE_TEXT + 1];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str got = cause_of(str_of(rows[i].reason), text);

        if (!str_eq(got, str_of(rows[i].cause)))
            fail_msg("%s: %s", rows[i].reason, text);
    }
}

static void a_cause_is_bounded_and_ends_between_two_characters(void **state)
{
    char reason[3 * 4096], text[CAUSE_TEXT + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(reason) / 3; i++)
        memcpy(reason + 3 * i, "決", 3);
    for (size_t skip = 0; skip < 3; skip++) {
        struct str got;

        memset(reason, 'a', skip * 3);
        got = cause_of((struct str){ reason, sizeof(reason) }, text);
        assert_true(got.n <= CAUSE_TEXT && got.n > CAUSE_TEXT - 4);
        assert_true(str_is_utf8(got));
    }
}

static void a_long_word_gives_the_same_cause_however_long_it_is(void **state)
{
    char reason[5000], one[CAUSE_TEXT + 1], two[CAUSE_TEXT + 1];

    (void)state;
    memset(reason, '7', sizeof(reason));
    cause_of((struct str){ reason, sizeof(reason) }, one);
    cause_of((struct str){ reason, 3 }, two);
    assert_string_equal(one, "#");
    assert_string_equal(one, two);
    memset(reason, 'x', sizeof(reason)); /* a word that does not fit is left out */
    memcpy(reason, "so ", 3);
    assert_string_equal(cause_of((struct str){ reason, sizeof(reason) }, one).p, "so ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cause_is_the_reason_without_what_is_its_own),
        cmocka_unit_test(a_cause_is_bounded_and_ends_between_two_characters),
        cmocka_unit_test(a_long_word_gives_the_same_cause_however_long_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
