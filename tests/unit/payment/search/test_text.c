/* What a person types or pastes to find a payment, made plain (O8). */
#include "base/limits.h"
#include "payment/search/text.h"
#include "unit/cm.h"

#include <string.h>

static void what_is_pasted_becomes_what_was_meant(void **state)
{
    static const struct {
        const char *why, *typed, *plain;
    } rows[] = {
        { "as it is", "pi_3MtwBwLkdIwHu7ix28a3tqPa", "pi_3MtwBwLkdIwHu7ix28a3tqPa" },
        { "blanks and lines around it", " \t\r\n pi_1 \n", "pi_1" },
        { "an ideographic blank", "\u3000pi_1\u3000", "pi_1" },
        { "a blank that does not break", "\u00a0pi_1\u00a0", "pi_1" },
        { "full-width letters and digits", "ｐｉ＿１２３Ａ", "pi_123A" },
        { "full-width dashes", "０１９ａ－１", "019a-1" },
        { "a typographer's dash", "019a\u20131\u22122", "019a-1-2" },
        { "a right-to-left mark", "\u200fpi_1\u202e", "pi_1" },
        { "zero width, inside", "pi\u200b_\u20601", "pi_1" },
        { "quotes", "\"pi_1\"", "pi_1" },
        { "a quote alone stays", "\"pi_1", "\"pi_1" },
        { "a client secret", "pi_1_secret_abc", "pi_1" },
        { "Japanese stays Japanese", "山田", "山田" },
        { "nothing", "", "" },
        { "nothing but marks", "\u200f \u3000", "" },
        { "one quote", "\"", "\"" },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 64 * 1024);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str got = find_text_plain(&a, str_of(rows[i].typed));

        if (!got.p || !str_eq(got, str_of(rows[i].plain)))
            fail_msg("row %zu: %s: " STR_FMT, i, rows[i].why, STR_ARG(got));
    }
    arena_release(&a);
}

static void a_uuid_is_known_in_every_form(void **state)
{
    static const char *const forms[] = { "019a8c3e-7b7a-7c3e-9a55-0242ac120002",
                                         "019A8C3E-7B7A-7C3E-9A55-0242AC120002",
                                         "019a8c3e7b7a7c3e9a550242ac120002",
                                         "019A8C3E7B7A7c3e9a550242AC120002" };
    static const char *const none[] = { "", "019a8c3e-7b7a-7c3e-9a55-0242ac12000",
                                        "019a8c3e7b7a7c3e9a550242ac12000g",
                                        "019a8c3e7b7a7c3e9a550242ac1200021" };
    struct uuid first, id;

    (void)state;
    assert_true(find_text_uuid(str_of(forms[0]), &first));
    for (size_t i = 0; i < COUNT(forms); i++)
        if (!find_text_uuid(str_of(forms[i]), &id) || !uuid_eq(id, first))
            fail_msg("%s", forms[i]);
    for (size_t i = 0; i < COUNT(none); i++)
        if (find_text_uuid(str_of(none[i]), &id))
            fail_msg("%s", none[i]);
}

static void what_cannot_be_looked_for_is_refused(void **state)
{
    static char many[4 * LIMIT_FIND_TEXT + 4];

    (void)state;
    memset(many, 'x', sizeof(many));
    assert_true(find_text_fits((struct str){ many, LIMIT_FIND_TEXT }));
    assert_false(find_text_fits((struct str){ many, LIMIT_FIND_TEXT + 1 }));
    assert_true(find_text_fits(S("")));
    assert_false(find_text_fits(S("a\0b")));
    assert_false(find_text_fits(S("\xff")));
    assert_false(find_text_fits(S("\xe3\x81")));
    for (size_t i = 0; i < LIMIT_FIND_TEXT; i++) /* characters are counted, not bytes */
        memcpy(many + 4 * i, "\U0001f600", 4);
    assert_true(find_text_fits((struct str){ many, 4 * LIMIT_FIND_TEXT }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_pasted_becomes_what_was_meant),
        TEST(a_uuid_is_known_in_every_form),
        TEST(what_cannot_be_looked_for_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
