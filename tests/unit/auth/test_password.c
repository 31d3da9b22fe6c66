#include "auth/password.h"
#include "base/buf.h"
#include "unit/cm.h"

#include <string.h>

static void a_password_matches_its_own_text_alone(void **state)
{
    struct rng rng;
    char text[PASSWORD_TEXT + 1], other[PASSWORD_TEXT + 1];

    (void)state;
    rng_init_seeded(&rng, 7);
    assert_true(password_hash(S("correct horse battery"), &rng, text));
    assert_true(password_hash(S("correct horse battery"), &rng, other));
    assert_string_not_equal(text, other); /* a salt of its own */
    assert_true(str_starts(str_of(text), S("scrypt$15$8$1$")));
    assert_true(strlen(text) <= PASSWORD_TEXT);
    assert_true(password_matches(S("correct horse battery"), str_of(text)));
    assert_true(password_matches(S("correct horse battery"), str_of(other)));
    assert_false(password_matches(S("correct horse batterx"), str_of(text)));
    assert_false(password_matches(S("correct horse battery "), str_of(text)));
    assert_false(password_matches(S(""), str_of(text)));
}

/* Made by Python's hashlib.scrypt(b"pleaseletmein", salt=bytes(range(16)), n=2**14, r=8, p=1). */
static void the_text_is_scrypt_as_others_compute_it(void **state)
{
    (void)state;
    assert_true(password_matches(
        S("pleaseletmein"),
        S("scrypt$14$8$1$AAECAwQFBgcICQoLDA0ODw$UxYE_nON8zrmLNK5lL_j9XPtKMDZ5VR_h1tkExic5Zo")));
}

static void a_text_that_is_none_of_ours_matches_nothing(void **state)
{
    static const char *const rows[] = {
        "",
        "x",
        "scrypt",
        "scrypt$15$8$1$AAAAAAAAAAAAAAAAAAAAAA$",
        "scrypt$15$8$1$AAAAAAAAAAAAAAAAAAAAAA",
        "scrypt$99$8$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "scrypt$15$99$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "scrypt$0$8$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "bcrypt$15$8$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "scrypt$15$8$1$AAAAAAAAAAAAAAAAAAAAA!$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (password_matches(S("correct horse battery"), str_of(rows[i])))
            fail_msg("row %zu", i);
    assert_false(password_matches(S("correct horse battery"), PASSWORD_OF_NOBODY));
}

static void only_passwords_of_some_length_are_taken(void **state)
{
    char longest[258];

    (void)state;
    memset(longest, 'x', sizeof(longest));
    assert_false(password_is_fit(S("")));
    assert_false(password_is_fit(S("12345678901")));
    assert_true(password_is_fit(S("123456789012")));
    assert_true(password_is_fit((struct str){ longest, 256 }));
    assert_false(password_is_fit((struct str){ longest, 257 }));
    assert_false(password_is_fit(S("12345678901\xff")));
    assert_true(password_is_fit(S("ひらがな四文字")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_password_matches_its_own_text_alone),
        cmocka_unit_test(the_text_is_scrypt_as_others_compute_it),
        cmocka_unit_test(a_text_that_is_none_of_ours_matches_nothing),
        cmocka_unit_test(only_passwords_of_some_length_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
