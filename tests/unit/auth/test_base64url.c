#include "auth/base64url.h"
#include "unit/cm.h"

#include <string.h>

static void only_the_one_spelling_is_taken(void **state)
{
    static const struct {
        const char *why, *text, *bytes; /* bytes NULL: refused */
    } rows[] = {
        { "nothing is nothing", "", "" },
        { "RFC 4648's own", "Zg", "f" },
        { "RFC 4648's own", "Zm8", "fo" },
        { "RFC 4648's own", "Zm9v", "foo" },
        { "RFC 4648's own", "Zm9vYmFy", "foobar" },
        { "the two letters that differ", "-_-_", "\xfb\xff\xbf" },
        { "padding", "Zg==", NULL },
        { "padding", "Zm8=", NULL },
        { "base64's own letters", "+/+/", NULL },
        { "a blank", "Zm 9", NULL },
        { "a line break behind it", "Zm9v\n", NULL },
        { "one character is no byte", "Z", NULL },
        { "five characters are no bytes", "Zm9vY", NULL },
        { "stray bits: f again", "Zh", NULL },
        { "stray bits: fo again", "Zm9", NULL },
        { "not ASCII", "Zm\xc3\xa9", NULL },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str got = { 0 };
        enum err e = base64url_decode(&a, str_of(rows[i].text), &got);

        if (rows[i].bytes ? e || !str_eq(got, str_of(rows[i].bytes)) : e != ERR_VALIDATION)
            fail_msg("row %zu: %s", i, rows[i].why);
    }
    arena_release(&a);
}

static void what_is_written_is_read_back(void **state)
{
    unsigned char bytes[256];
    struct arena a;
    struct buf b;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 167 + 13);
    buf_init(&b, 4096);
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        struct str in = { (const char *)bytes, n }, out;

        arena_init(&a, 1 << 16);
        buf_clear(&b);
        base64url_add(&b, in);
        assert_int_equal(base64url_decode(&a, buf_str(&b), &out), OK);
        assert_true(str_eq(in, out));
        arena_release(&a);
    }
    buf_release(&b);
}

static void a_full_arena_is_said(void **state)
{
    struct arena a;
    struct str out;

    (void)state;
    arena_init(&a, 1);
    assert_int_equal(base64url_decode(&a, S("Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFy"), &out),
                     ERR_NO_MEMORY);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_the_one_spelling_is_taken),
        TEST(what_is_written_is_read_back),
        TEST(a_full_arena_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
