#include "http/problem.h"
#include "unit/cm.h"

#include <stdlib.h>
#include <string.h>

static void the_language_is_the_one_with_more_weight(void **state)
{
    static const struct {
        const char *header;
        enum language language;
    } rows[] = {
        { "", LANG_EN },
        { "ja", LANG_JA },
        { "JA-jp", LANG_JA },
        { "ja, en", LANG_EN },
        { "ja, en;q=0.9", LANG_JA },
        { "en;q=0.8, ja;q=0.9", LANG_JA },
        { "en-GB;q=0.9,ja;q=0.85", LANG_EN },
        { "de, ja;q=0.1", LANG_JA },
        { "ja;q=0", LANG_EN },
        { "ja;q=0.000, *", LANG_EN },
        { "en;q=0, *", LANG_JA },
        { "ja;q=2", LANG_EN },
        { "ja;q=nonsense", LANG_EN },
        { "java", LANG_EN },
        { "ja ; q=0.5 , en ; q=0.4", LANG_JA },
        { ",,;;q=,", LANG_EN },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (language_pick(str_of(rows[i].header)) != rows[i].language)
            fail_msg("\"%s\"", rows[i].header);
}

static void a_problem_has_the_members_of_rfc_9457(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    problem_write(&b, ERR_NOT_FOUND, LANG_EN, NULL, S("id-1"), S(""), S(""));
    assert_true(
        str_eq(buf_str(&b),
               S("{\"type\":\"/problems/not-found\",\"title\":\"There is no such thing here.\""
                 ",\"status\":404,\"detail\":\"There is no such thing here.\""
                 ",\"code\":\"NOT_FOUND\",\"instance\":\"id-1\"}")));
    buf_clear(&b);
    problem_write(&b, ERR_VALIDATION, LANG_JA, "a \"b\"\n", S("x"), S("[{\"field\":\"a\"}]"),
                  S(""));
    assert_true(str_ends(buf_str(&b), S(",\"status\":400,\"detail\":\"a \\\"b\\\"\\n\""
                                        ",\"code\":\"VALIDATION_ERROR\",\"instance\":\"x\""
                                        ",\"errors\":[{\"field\":\"a\"}]}")));
    buf_clear(&b);
    problem_write(&b, ERR_UNPROCESSABLE, LANG_EN, NULL, S("x"), S(""), S("\"a\":1,\"b\":2"));
    assert_true(str_ends(buf_str(&b), S(",\"instance\":\"x\",\"a\":1,\"b\":2}")));
    buf_release(&b);
}

static void every_error_has_its_phrase_and_what_may_pass_its_wait(void **state)
{
    (void)state;
    for (int e = 0; e < ERR_COUNT; e++) {
        int status = err_status((enum err)e);

        assert_true(strlen(status_phrase(status)) > 0);
        assert_int_equal((status >= 502 && status <= 504) || status == 429,
                         retry_after_s((enum err)e) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_language_is_the_one_with_more_weight),
        TEST(a_problem_has_the_members_of_rfc_9457),
        TEST(every_error_has_its_phrase_and_what_may_pass_its_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
