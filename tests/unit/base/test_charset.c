/* Text as Japanese banks write it: Shift_JIS as Windows does, or UTF-8. */
#include "base/charset.h"
#include "unit/cm.h"

#include <string.h>

#define SJIS_NICHI_ZUKE "\x93\xfa\x95\x74" /* 日付 */

static void a_text_is_utf8_where_it_can_be_and_else_shift_jis(void **state)
{
    static const struct {
        const char *why;
        enum charset charset;
        struct str text;
        enum err err;
        int line;
        const char *want;
    } rows[] = {
        { "ASCII", CHARSET_ANY, S("a,b"), OK, 0, "a,b" },
        { "UTF-8", CHARSET_ANY, S("日付"), OK, 0, "日付" },
        { "Shift_JIS", CHARSET_ANY, S(SJIS_NICHI_ZUKE), OK, 0, "日付" },
        { "half-width kana", CHARSET_ANY, S("\xd4\xcf\xc0\xde"), OK, 0, "ﾔﾏﾀﾞ" },
        { "a character of Windows: a circled one", CHARSET_ANY, S("\x87\x40"), OK, 0, "①" },
        { "named so", CHARSET_SHIFT_JIS, S(SJIS_NICHI_ZUKE), OK, 0, "日付" },
        { "a backslash stays one", CHARSET_SHIFT_JIS, S("\\1,200"), OK, 0, "\\1,200" },
        { "half a character on line 2", CHARSET_ANY, S("a\n\x93"), ERR_VALIDATION, 2, "" },
        { "no such character", CHARSET_ANY, S("a\nb\n\xff\xff"), ERR_VALIDATION, 3, "" },
        { "not UTF-8 though it was said", CHARSET_UTF8, S("a\n" SJIS_NICHI_ZUKE), ERR_VALIDATION, 2,
          "" },
        { "nothing", CHARSET_ANY, S(""), OK, 0, "" },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str text = { 0 };
        int line;
        enum err e = charset_decode(&a, rows[i].charset, rows[i].text, &text, &line);

        if (e != rows[i].err || line != rows[i].line || !str_eq(text, str_of(rows[i].want)))
            fail_msg("%s: err %d, line %d, " STR_FMT, rows[i].why, (int)e, line, STR_ARG(text));
    }
    arena_release(&a);
}

static void charsets_have_the_names_that_people_use(void **state)
{
    enum charset c = CHARSET_ANY;

    (void)state;
    assert_true(charset_parse(S("UTF-8"), &c) && c == CHARSET_UTF8);
    assert_true(charset_parse(S("Shift_JIS"), &c) && c == CHARSET_SHIFT_JIS);
    assert_true(charset_parse(S("CP932"), &c) && c == CHARSET_SHIFT_JIS);
    assert_false(charset_parse(S("utf-16"), &c));
    assert_false(charset_parse(S(""), &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_utf8_where_it_can_be_and_else_shift_jis),
        cmocka_unit_test(charsets_have_the_names_that_people_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
