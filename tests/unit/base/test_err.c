#include "base/err.h"
#include "base/str.h"
#include "unit/cm.h"

#include <string.h>

static void every_error_has_a_status_a_code_and_words(void **state)
{
    (void)state;
    for (enum err e = OK; e < ERR_COUNT; e++) {
        const char *code = err_code(e);

        if (e != OK && (err_status(e) < 400 || err_status(e) > 599))
            fail_msg("%s: status %d", code, err_status(e));
        if (!code[0] || strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != strlen(code))
            fail_msg("%s is no code", code);
        if (!err_words(e, LANG_EN)[0] || !err_words(e, LANG_JA)[0])
            fail_msg("%s has no words", code);
        if (!str_is_utf8(str_of(err_words(e, LANG_JA))))
            fail_msg("%s: not UTF-8", code);
    }
    assert_int_equal(OK, 0); /* "if (e)" means a failure */
}

static void codes_are_different(void **state)
{
    (void)state;
    for (enum err a = OK; a < ERR_COUNT; a++)
        for (enum err b = a + 1; b < ERR_COUNT; b++)
            if (strcmp(err_code(a), err_code(b)) == 0)
                fail_msg("%s stands twice", err_code(a));
}

static void q2_what_heals_by_itself_is_retryable_and_nothing_else(void **state)
{
    static const enum err heals[] = { ERR_UNAVAILABLE,  ERR_OVERLOADED,      ERR_BACKLOG,
                                      ERR_TIMEOUT,      ERR_STORE_FULL,      ERR_UNCERTAIN,
                                      ERR_STALE,        ERR_NO_MEMORY,       ERR_GATEWAY,
                                      ERR_RATE_LIMITED, ERR_GATEWAY_TIMEOUT, ERR_SHUTTING_DOWN };
    static const enum err stays[] = { OK,
                                      ERR_VALIDATION,
                                      ERR_SIGNATURE,
                                      ERR_UNAUTHORIZED,
                                      ERR_FORBIDDEN,
                                      ERR_NOT_FOUND,
                                      ERR_CONFLICT,
                                      ERR_CONSTRAINT,
                                      ERR_SUM_TOO_LARGE,
                                      ERR_KEY_REUSED,
                                      ERR_UNPROCESSABLE,
                                      ERR_TOO_LARGE,
                                      ERR_NOT_IMPLEMENTED };

    (void)state;
    for (size_t i = 0; i < COUNT(heals); i++)
        if (!err_is_retryable(heals[i]))
            fail_msg("%s", err_code(heals[i]));
    for (size_t i = 0; i < COUNT(stays); i++)
        if (err_is_retryable(stays[i]))
            fail_msg("%s", err_code(stays[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_error_has_a_status_a_code_and_words),
        TEST(codes_are_different),
        TEST(q2_what_heals_by_itself_is_retryable_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
