#include "base/json/json.h"
#include "base/limits.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy of exactly its size, so that ASan sees a byte read too many. */
static enum err check(struct str text, struct json_fault *ret_fault)
{
    char *copy = malloc(text.n ? text.n : 1);
    enum err e;

    if (text.n)
        memcpy(copy, text.p, text.n);
    e = json_check((struct str){ copy, text.n }, ret_fault);
    free(copy);
    return e;
}

static void good_text_is_taken(void **state)
{
    static const char *const rows[] = {
        "0",
        "-0",
        "12",
        "-1.5e+10",
        "1E0",
        "0.0",
        "true",
        "false",
        "null",
        "\"\"",
        " [ ] ",
        "\t\r\n{ }\n",
        "[1,2,[3]]",
        "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":2}]}",
        "{\"\":1}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
        "\"\\ud83d\\ude00\"",
        "\"\xe4\xb8\x80\xe5\xba\xa6 \xf0\x9f\x98\x80 \x7f\"",
        "\"01234567\xc3\xa9\"",
        "{\"a\":1,\"A\":2,\"a \":3}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct json_fault f = { 0 };

        if (check(str_of(rows[i]), &f))
            fail_msg("%s: %s at %zu", rows[i], f.why, f.offset);
    }
}

static void bad_text_is_refused_with_place_and_reason(void **state)
{
    static const struct {
        struct str text;
        size_t offset;
        const char *why;
    } rows[] = {
        { { "", 0 }, 0, "a value was expected" },
        { { "  ", 2 }, 2, "a value was expected" },
        { { "\xef\xbb\xbf{}", 5 }, 0, "a value was expected" },
        { { "nul", 3 }, 0, "a value was expected" },
        { { "True", 4 }, 0, "a value was expected" },
        { { "NaN", 3 }, 0, "a value was expected" },
        { { "truex", 5 }, 4, "something stands behind the end" },
        { { "{} x", 4 }, 3, "something stands behind the end" },
        { { "1 2", 3 }, 2, "something stands behind the end" },
        { { "{}\0", 3 }, 2, "something stands behind the end" },
        { { "01", 2 }, 2, "a number may not begin with 0" },
        { { "-01", 3 }, 3, "a number may not begin with 0" },
        { { "1.", 2 }, 2, "digits are missing behind the decimal point" },
        { { ".5", 2 }, 0, "a value was expected" },
        { { "+1", 2 }, 0, "a value was expected" },
        { { "-", 1 }, 1, "digits are missing" },
        { { "1e", 2 }, 2, "digits are missing in the exponent" },
        { { "1e+", 3 }, 3, "digits are missing in the exponent" },
        { { "0x10", 4 }, 1, "something stands behind the end" },
        { { "[1,]", 4 }, 3, "a value was expected" },
        { { "[1 2]", 5 }, 3, "',' or ']' was expected" },
        { { "[1", 2 }, 2, "',' or ']' was expected" },
        { { "[", 1 }, 1, "a value was expected" },
        { { "]", 1 }, 0, "a value was expected" },
        { { "{\"a\":1,}", 8 }, 7, "a key was expected" },
        { { "{a:1}", 5 }, 1, "a key was expected" },
        { { "{'a':1}", 7 }, 1, "a key was expected" },
        { { "{\"a\" 1}", 7 }, 5, "':' was expected" },
        { { "{\"a\":}", 6 }, 5, "a value was expected" },
        { { "{\"a\":1", 6 }, 6, "',' or '}' was expected" },
        { { "{\"a\":1 \"b\":2}", 13 }, 7, "',' or '}' was expected" },
        { { "{\"a\":1,\"a\":2}", 13 }, 7, "the key occurs twice in its object" },
        { { "{\"a\":1,\"\\u0061\":2}", 18 }, 7, "the key occurs twice in its object" },
        { { "{\"\":1,\"\":2}", 11 }, 6, "the key occurs twice in its object" },
        { { "\"a", 2 }, 2, "the string does not end" },
        { { "\"a\nb\"", 5 }, 2, "a control character in a string" },
        { { "\"a\0b\"", 5 }, 2, "a control character in a string" },
        { { "\"\\x\"", 4 }, 1, "no such escape" },
        { { "\"\\", 2 }, 1, "no such escape" },
        { { "\"\\u12\"", 6 }, 1, "\\u needs four hex digits" },
        { { "\"\\u12g4\"", 8 }, 1, "\\u needs four hex digits" },
        { { "\"\\u0000\"", 8 }, 1, "\\u0000 is not allowed" },
        { { "\"\\ud83d\"", 8 }, 1, "a high surrogate stands alone" },
        { { "\"\\ud83d\\n1234\"", 14 }, 1, "a high surrogate stands alone" },
        { { "\"\\ud83d\\u0041\"", 14 }, 1, "a high surrogate stands alone" },
        { { "\"\\ude00\"", 8 }, 1, "a low surrogate stands alone" },
        { { "\"\xff\"", 3 }, 1, "the string is not UTF-8" },
        { { "\"\xc0\x80\"", 4 }, 1, "the string is not UTF-8" },
        { { "\"\xed\xa0\x80\"", 5 }, 1, "the string is not UTF-8" },
        { { "\"\xf4\x90\x80\x80\"", 6 }, 1, "the string is not UTF-8" },
        { { "\"12345678\xe4\xb8\"", 12 }, 1, "the string is not UTF-8" },
        { { "\"\xe4\\n\xb8\x80\"", 7 }, 1, "the string is not UTF-8" },
        { { "{\"\xff\":1}", 7 }, 2, "the string is not UTF-8" },
        { { "/* */ 1", 7 }, 0, "a value was expected" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct json_fault f = { 0 };
        enum err e = check(rows[i].text, &f);

        if (e != ERR_VALIDATION || f.offset != rows[i].offset || strcmp(f.why, rows[i].why) != 0)
            fail_msg("row %zu (%s): %d, %s at %zu", i, rows[i].text.p, e, f.why ? f.why : "-",
                     f.offset);
    }
    assert_int_equal(json_check(S("{"), NULL), ERR_VALIDATION); /* nobody asked why */
    assert_int_equal(json_check((struct str){ 0 }, NULL), ERR_VALIDATION);
}

/* Every prefix of a good text is a bad one, and no prefix is read beyond its end. */
static void a_text_cut_anywhere_is_refused(void **state)
{
    static const char text[] =
        "{\"k\\u00e9y\":[true,false,null,-1.5e3,\"\\ud83d\\ude00 \xe4\xb8\x80 long enough\"]}";

    (void)state;
    assert_int_equal(check(str_of(text), NULL), OK);
    for (size_t n = 0; n < sizeof(text) - 1; n++)
        if (check((struct str){ text, n }, NULL) != ERR_VALIDATION)
            fail_msg("%zu bytes", n);
}

static struct str nested(struct buf *b, int depth, const char *open, const char *close)
{
    buf_clear(b);
    for (int i = 0; i < depth; i++)
        buf_add(b, str_of(open));
    buf_char(b, '1');
    for (int i = 0; i < depth; i++)
        buf_add(b, str_of(close));
    return buf_str(b);
}

static void depth_and_size_have_limits(void **state)
{
    struct json_fault f = { 0 };
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    assert_int_equal(json_check(nested(&b, LIMIT_JSON_DEPTH, "[", "]"), NULL), OK);
    assert_int_equal(json_check(nested(&b, LIMIT_JSON_DEPTH + 1, "[", "]"), &f), ERR_VALIDATION);
    assert_string_equal(f.why, "nested too deeply");
    assert_int_equal(json_check(nested(&b, LIMIT_JSON_DEPTH, "{\"a\":", "}"), NULL), OK);
    assert_int_equal(json_check(nested(&b, 100000, "{\"a\":", "}"), &f), ERR_VALIDATION);

    buf_clear(&b);
    buf_char(&b, '[');
    for (int i = 1; i < LIMIT_JSON_NODES; i++)
        buf_add(&b, i > 1 ? S(",1") : S("1"));
    buf_char(&b, ']');
    assert_int_equal(json_check(buf_str(&b), NULL), OK);
    b.p[b.n - 1] = ',';
    buf_add(&b, S("1]"));
    assert_int_equal(json_check(buf_str(&b), &f), ERR_VALIDATION);
    assert_string_equal(f.why, "too many values");

    buf_clear(&b);
    for (int i = 0; i < LIMIT_JSON_NUMBER; i++)
        buf_char(&b, '1');
    assert_int_equal(json_check(buf_str(&b), NULL), OK);
    buf_char(&b, '1');
    assert_int_equal(json_check(buf_str(&b), &f), ERR_VALIDATION);
    assert_string_equal(f.why, "the number is too long");
    buf_release(&b);
}

/* An object of n keys, all different, but for one that is said again at its end. */
static struct str many_keys(struct buf *b, int n, int repeated)
{
    buf_clear(b);
    buf_char(b, '{');
    for (int i = 0; i < n; i++)
        buf_fmt(b, "\"same_begin_%05d_same_end\":%d,", i, i);
    buf_fmt(b, "\"same_begin_%05d_same_end\":0}", repeated);
    return buf_str(b);
}

static void a_duplicate_is_found_among_any_number_of_keys(void **state)
{
    static const int sizes[] = { 1, 2, 10, 63, 64, 65, 100, 255, 256, 257, 1000, 5000 };
    struct json_fault f = { 0 };
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        int n = sizes[i];

        if (json_check(many_keys(&b, n, n), &f))
            fail_msg("%d keys: %s", n, f.why);
        for (int j = 0; j < n; j += 1 + n / 7) {
            struct str text = many_keys(&b, n, j);

            if (json_check(text, &f) != ERR_VALIDATION)
                fail_msg("%d keys, number %d is there twice", n, j);
            if (f.offset + strlen("\"same_begin_00000_same_end\":0}") != text.n)
                fail_msg("%d keys, number %d: the second one is at the end, not at %zu", n, j,
                         f.offset);
        }
    }
    buf_release(&b);
}

static void keys_of_other_objects_are_no_duplicates(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_char(&b, '{');
    for (int i = 0; i < 300; i++)
        buf_fmt(&b, "\"k%d\":{\"k0\":{\"k1\":1,\"k2\":2},\"k1\":[{\"k0\":1},{\"k0\":1}]},", i);
    buf_add(&b, S("\"last\":{\"k0\":1,\"k0\":2}}"));
    assert_int_equal(json_check(buf_str(&b), NULL), ERR_VALIDATION);
    b.n -= strlen("\"k0\":2}}");
    buf_add(&b, S("\"k_\":2}}"));
    assert_int_equal(json_check(buf_str(&b), NULL), OK);
    buf_release(&b);
}

static void escaped_keys_are_compared_by_what_they_mean(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_char(&b, '{');
    for (int i = 0; i < 500; i++)
        buf_fmt(&b, "\"\\u%04x\":1,", 0x4e00 + i);
    buf_add(&b, S("\"\xe4\xb8\x81\":1}")); /* U+4E01, unescaped */
    assert_int_equal(json_check(buf_str(&b), NULL), ERR_VALIDATION);
    b.n -= strlen("\"\xe4\xb8\x81\":1}");
    buf_add(&b, S("\"x\":1}"));
    assert_int_equal(json_check(buf_str(&b), NULL), OK);
    buf_release(&b);
}

/* --- picking --- */

static const char event[] = "{\"id\": \"evt_1\", \"livemode\": false, \"created\": 1700000000,\n"
                            " \"data\": {\"object\": {\"id\": \"pi_1\", \"amount\": 2000,\n"
                            "   \"metadata\": {\"payment_id\": \"a\\u0062c\", \"id\": \"no\"},\n"
                            "   \"lines\": [{\"id\": \"li_1\"}], \"none\": null}},\n"
                            " \"i\\u0064x\": 1, \"data.object\": 9, \"\": 7, \"type\": \"t\"}";

static struct json_value pick(const char *text, const char *path)
{
    struct json_value v = { .type = JSON_ARRAY };

    assert_int_equal(json_pick(str_of(text), &path, 1, &v, NULL), OK);
    return v;
}

static void values_are_picked_by_path(void **state)
{
    static const struct {
        const char *path, *raw;
        enum json_type type;
    } rows[] = {
        { "id", "evt_1", JSON_STRING },
        { "livemode", "false", JSON_BOOL },
        { "created", "1700000000", JSON_NUMBER },
        { "data.object.id", "pi_1", JSON_STRING },
        { "data.object.amount", "2000", JSON_NUMBER },
        { "data.object.metadata.payment_id", "a\\u0062c", JSON_STRING },
        { "data.object.none", "null", JSON_NULL },
        { "data.object.lines", "[{\"id\": \"li_1\"}]", JSON_ARRAY },
        { "data.object.metadata", "{\"payment_id\": \"a\\u0062c\", \"id\": \"no\"}", JSON_OBJECT },
        { "idx", "1", JSON_NUMBER },
        { "type", "t", JSON_STRING },
        { "data.object.lines.id", "", JSON_ABSENT },
        { "object", "", JSON_ABSENT },
        { "data.id", "", JSON_ABSENT },
        { "data.object.id.x", "", JSON_ABSENT },
        { "dat", "", JSON_ABSENT },
        { "data.", "", JSON_ABSENT },
        { ".", "", JSON_ABSENT },
        { "", "", JSON_ABSENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct json_value v = pick(event, rows[i].path);

        if (v.type != rows[i].type || !str_eq(v.raw, str_of(rows[i].raw)))
            fail_msg("%s: type %d, " STR_FMT, rows[i].path, v.type, STR_ARG(v.raw));
    }
    assert_true(pick(event, "data.object.metadata.payment_id").has_escape);
    assert_false(pick(event, "id").has_escape);
}

static void many_paths_are_picked_in_one_pass(void **state)
{
    static const char *const paths[16] = {
        "id",
        "type",
        "data.object.id",
        "data.object.amount",
        "data.object",
        "data",
        "no.such",
        "data.object.metadata.id",
        "id",
        "created",
        "livemode",
        "data.object.none",
        "idx",
        "data.object.lines",
        "data.no",
        "id.x",
    };
    struct json_value v[16];

    (void)state;
    assert_int_equal(json_pick(str_of(event), paths, 16, v, NULL), OK);
    for (size_t i = 0; i < 16; i++) {
        struct json_value alone = pick(event, paths[i]);

        assert_int_equal(v[i].type, alone.type);
        assert_true(str_eq(v[i].raw, alone.raw));
    }
    assert_int_equal(json_pick(S("[1]"), paths, 2, v, NULL), OK);
    assert_int_equal(v[0].type, JSON_ABSENT);
    assert_int_equal(json_pick(S("{}"), NULL, 0, NULL, NULL), OK);
}

static void sixty_four_paths_are_the_most_and_all_are_picked(void **state)
{
    const char *paths[64];
    struct json_value v[64], alone = pick(event, "data.object.id");

    (void)state;
    for (size_t i = 0; i < 64; i++)
        paths[i] = i % 2 ? "data.object.id" : "data.object";
    assert_int_equal(json_pick(str_of(event), paths, 64, v, NULL), OK);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(v[i].type, i % 2 ? JSON_STRING : JSON_OBJECT);
        assert_true(i % 2 == 0 || str_eq(v[i].raw, alone.raw));
    }
}

static void a_fault_behind_a_picked_value_leaves_nothing_picked(void **state)
{
    const char *path = "id";
    struct json_value v;
    struct json_fault f;

    (void)state;
    assert_int_equal(json_pick(S("{\"id\":1,\"id\":2}"), &path, 1, &v, &f), ERR_VALIDATION);
    assert_int_equal(v.type, JSON_ABSENT);
    assert_int_equal(v.raw.n, 0);
}

static void picked_numbers_are_exact(void **state)
{
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } rows[] = {
        { "{\"n\":9007199254740993}", true, 9007199254740993 },
        { "{\"n\":9223372036854775807}", true, INT64_MAX },
        { "{\"n\":-9223372036854775808}", true, INT64_MIN },
        { "{\"n\":9223372036854775808}", false, 0 },
        { "{\"n\":1.0}", false, 0 },
        { "{\"n\":1e3}", false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t value = 0;
        bool fits = str_to_i64(pick(rows[i].text, "n").raw, &value);

        if (fits != rows[i].fits || value != rows[i].value)
            fail_msg("%s", rows[i].text);
    }
}

static void escapes_are_resolved(void **state)
{
    static const struct {
        const char *text, *value;
    } rows[] = {
        { "{\"s\":\"\"}", "" },
        { "{\"s\":\"plain\"}", "plain" },
        { "{\"s\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "\"\\/\b\f\n\r\t" },
        { "{\"s\":\"\\u0041\\u007f\\u0080\\u07ff\\u0800\\uffff\"}",
          "A\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf" },
        { "{\"s\":\"\\ud800\\udc00 \\uDBFF\\uDFFF\"}", "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf" },
        { "{\"s\":\"\xe4\xb8\x80\\u5ea6\"}", "\xe4\xb8\x80\xe5\xba\xa6" },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 4096);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct json_value v = pick(rows[i].text, "s");
        struct str s = { 0 };

        assert_int_equal(json_unescape(&a, &v, &s), OK);
        if (!str_eq(s, str_of(rows[i].value)))
            fail_msg("%s gives " STR_FMT, rows[i].text, STR_ARG(s));
    }
    arena_release(&a);
}

static void only_strings_are_unescaped_and_only_into_what_fits(void **state)
{
    struct json_value number = pick("{\"s\":1}", "s"),
                      text = pick("{\"s\":\"0123456789abcdef\"}", "s");
    struct arena a;
    struct str s;

    (void)state;
    arena_init(&a, 16);
    assert_int_equal(json_unescape(&a, &number, &s), ERR_VALIDATION);
    assert_int_equal(json_unescape(&a, &text, &s), ERR_NO_MEMORY);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(good_text_is_taken),
        TEST(bad_text_is_refused_with_place_and_reason),
        TEST(a_text_cut_anywhere_is_refused),
        TEST(depth_and_size_have_limits),
        TEST(a_duplicate_is_found_among_any_number_of_keys),
        TEST(keys_of_other_objects_are_no_duplicates),
        TEST(escaped_keys_are_compared_by_what_they_mean),
        TEST(values_are_picked_by_path),
        TEST(many_paths_are_picked_in_one_pass),
        TEST(sixty_four_paths_are_the_most_and_all_are_picked),
        TEST(a_fault_behind_a_picked_value_leaves_nothing_picked),
        TEST(picked_numbers_are_exact),
        TEST(escapes_are_resolved),
        TEST(only_strings_are_unescaped_and_only_into_what_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
