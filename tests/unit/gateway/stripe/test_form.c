#include "gateway/stripe/form.h"
#include "unit/cm.h"

#include <string.h>

static void values_are_escaped_and_names_are_not(void **state)
{
    static const struct {
        const char *name, *value, *wire;
    } rows[] = {
        { "amount", "100", "amount=100" },
        { "metadata[a]", "x y", "metadata[a]=x%20y" },
        { "d", "a+b&c=d", "d=a%2Bb%26c%3Dd" },
        { "d", "[0]'()!*", "d=%5B0%5D%27%28%29%21%2A" },
        { "d", "100%", "d=100%25" },
        { "d", "a-b.c_d~e", "d=a-b.c_d~e" },
        { "d", "予約", "d=%E4%BA%88%E7%B4%84" },
        { "d", "\r\n", "d=%0D%0A" },
        { "d", "", "d=" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf b;

        buf_init(&b, 1024);
        form_add(&b, rows[i].name, str_of(rows[i].value));
        if (!str_eq(buf_str(&b), str_of(rows[i].wire)))
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(buf_str(&b)));
        buf_release(&b);
    }
}

static void parts_are_joined_and_a_query_begins_without_an_ampersand(void **state)
{
    struct uuid id;
    struct buf b;

    (void)state;
    assert_true(uuid_parse(S("0189C2F0-0000-7000-8000-000000000001"), &id));
    buf_init(&b, 1024);
    buf_add(&b, S("/v1/x?"));
    form_int(&b, "limit", -5);
    form_uuid(&b, "id", id);
    assert_true(str_eq(buf_str(&b), S("/v1/x?limit=-5&id=0189c2f0-0000-7000-8000-000000000001")));
    buf_release(&b);
}

static void a_text_is_never_cut_within_a_character(void **state)
{
    struct str text = S("aé予😀z"); /* 1, 2, 3, 4 and 1 bytes */
    static const size_t bytes[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };
    static const size_t chars[] = { 0, 1, 3, 6, 10, 11, 11 };

    (void)state;
    for (size_t i = 0; i < COUNT(bytes); i++)
        assert_int_equal(utf8_cut_bytes(text, i).n, bytes[i]);
    for (size_t i = 0; i < COUNT(chars); i++)
        assert_int_equal(utf8_cut_chars(text, i).n, chars[i]);
    assert_int_equal(utf8_cut_bytes((struct str){ 0 }, 5).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_are_escaped_and_names_are_not),
        TEST(parts_are_joined_and_a_query_begins_without_an_ampersand),
        TEST(a_text_is_never_cut_within_a_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
