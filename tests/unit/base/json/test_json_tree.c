#include "base/json/json.h"
#include "unit/cm.h"

#include <string.h>

static cJSON *parse(const char *text)
{
    cJSON *tree = NULL;
    struct json_fault f = { 0 };

    if (json_parse(str_of(text), &tree, &f))
        fail_msg("%s: %s at %zu", text, f.why, f.offset);
    return tree;
}

static void says(struct json_problems *p, const char *array)
{
    struct str got = json_problems_array(p);

    if (!str_eq(got, str_of(array)))
        fail_msg(STR_FMT, STR_ARG(got));
    json_problems_release(p);
    json_problems_init(p);
}

static void what_the_scanner_refuses_is_not_parsed(void **state)
{
    static const char *const rows[] = {
        "", "{", "[01]", "{\"a\":1,\"a\":2}", "1 x", "\"\\u0000\""
    };
    cJSON *tree = NULL;
    struct json_fault f;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        f.why = NULL;
        assert_int_equal(json_parse(str_of(rows[i]), &tree, &f), ERR_VALIDATION);
        assert_non_null(f.why);
        assert_null(tree);
    }
    json_freep(&tree); /* NULL is fine */
}

static void whole_numbers_are_exact_and_within_bounds(void **state)
{
    static const char text[] =
        "{\"s\":\"1.5 \\\" -7 \",\"a\":1,\"big\":9007199254740993,\"max\":9223372036854775807,"
        "\"over\":9223372036854775808,\"deep\":[{\"n\":-0},1.25],\"frac\":1.0,\"exp\":1e3,"
        "\"neg\":-5,\"text\":\"5\",\"last\":123456789012345}";
    static const struct {
        const char *field;
        bool fits;
        int64_t value;
    } rows[] = {
        { "a", true, 1 },
        { "big", true, 9007199254740993 },
        { "max", true, INT64_MAX },
        { "over", false, 0 },
        { "frac", false, 0 },
        { "exp", false, 0 },
        { "neg", true, -5 },
        { "text", false, 0 },
        { "s", false, 0 },
        { "deep", false, 0 },
        { "last", true, 123456789012345 },
    };
    CLEANUP(json_freep) cJSON *tree = parse(text);
    struct json_problems p;

    (void)state;
    json_problems_init(&p);
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t v = 0;
        bool fits = json_get_int(tree, rows[i].field, true, INT64_MIN, INT64_MAX, &v, &p);

        if (fits != rows[i].fits || v != rows[i].value)
            fail_msg("%s: %d %lld", rows[i].field, fits, (long long)v);
    }
    assert_int_equal(p.count, 6);
    json_problems_release(&p);
}

static void a_wrong_number_names_its_field_and_bounds(void **state)
{
    CLEANUP(json_freep) cJSON *tree = parse("{\"amount\":0,\"Amount\":5}");
    struct json_problems p;
    int64_t v = 77;

    (void)state;
    json_problems_init(&p);
    assert_false(json_get_int(tree, "amount", true, 1, 99999999, &v, &p));
    assert_int_equal(v, 77);
    says(&p, "[{\"field\":\"amount\",\"message\":\"must be a whole number from 1 to 99999999\"}]");
    assert_false(json_get_int(tree, "AMOUNT", false, 1, 9, &v, &p)); /* case matters */
    says(&p, "[]");
    json_problems_release(&p);
}

static void texts_are_counted_in_characters(void **state)
{
    CLEANUP(json_freep)
    cJSON *tree = parse("{\"s\":\"\xe4\xb8\x80\xe5\xba\xa6x\",\"e\":\"\",\"n\":1}");
    struct json_problems p;
    struct str s = { 0 };

    (void)state;
    json_problems_init(&p);
    assert_true(json_get_str(tree, "s", true, 3, &s, &p));
    assert_int_equal(s.n, 7);
    assert_false(json_get_str(tree, "s", true, 2, &s, &p));
    says(&p, "[{\"field\":\"s\",\"message\":\"must be a text of 1 to 2 characters\"}]");
    assert_false(json_get_str(tree, "e", true, 9, &s, &p));
    says(&p, "[{\"field\":\"e\",\"message\":\"must be a text of 1 to 9 characters\"}]");
    assert_true(json_get_str(tree, "e", false, 9, &s, &p));
    assert_int_equal(s.n, 0);
    assert_false(json_get_str(tree, "n", false, 9, &s, &p));
    says(&p, "[{\"field\":\"n\",\"message\":\"must be a text of 0 to 9 characters\"}]");
    json_problems_release(&p);
}

static void null_is_wrong_unless_it_was_dropped(void **state)
{
    static const char *const names[] = { "s", "i", "b", "t" };
    CLEANUP(json_freep)
    cJSON *tree = parse("{\"s\":null,\"i\":null,\"b\":null,\"t\":\"\",\"z\":null}");
    struct json_problems p;
    struct str s;
    int64_t v;
    bool b;

    (void)state;
    json_problems_init(&p);
    assert_false(json_get_str(tree, "s", false, 9, &s, &p));
    assert_false(json_get_int(tree, "i", false, 1, 9, &v, &p));
    assert_false(json_get_bool(tree, "b", false, &b, &p));
    assert_false(json_get_bool(tree, "b", true, &b, &p));
    says(&p, "[{\"field\":\"s\",\"message\":\"must be a text of 0 to 9 characters\"},"
             "{\"field\":\"i\",\"message\":\"must be a whole number from 1 to 9\"},"
             "{\"field\":\"b\",\"message\":\"must be true or false\"},"
             "{\"field\":\"b\",\"message\":\"is required\"}]");
    json_drop_nulls(tree, names, COUNT(names));
    assert_false(json_get_str(tree, "s", false, 9, &s, &p));
    assert_false(json_get_int(tree, "i", false, 1, 9, &v, &p));
    assert_false(json_get_bool(tree, "b", false, &b, &p));
    says(&p, "[]");
    assert_true(json_get_str(tree, "t", false, 9, &s, &p));
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(tree, "z")));
    json_problems_release(&p);
}

static void all_problems_are_said_at_once(void **state)
{
    CLEANUP(json_freep) cJSON *tree = parse("{\"b\":\"yes\",\"t\":true}");
    struct json_problems p;
    int64_t v;
    struct str s;
    bool b = false;

    (void)state;
    json_problems_init(&p);
    assert_true(json_get_bool(tree, "t", true, &b, &p) && b);
    assert_false(json_get_bool(tree, "b", true, &b, &p));
    assert_false(json_get_int(tree, "i", true, 0, 1, &v, &p));
    assert_false(json_get_str(tree, "s", true, 5, &s, &p));
    json_problem(&p, "a \"quoted\"\nfield", "x");
    assert_int_equal(p.count, 4);
    assert_true(str_eq(json_problems_array(&p), json_problems_array(&p)));
    says(&p, "[{\"field\":\"b\",\"message\":\"must be true or false\"},"
             "{\"field\":\"i\",\"message\":\"is required\"},"
             "{\"field\":\"s\",\"message\":\"is required\"},"
             "{\"field\":\"a \\\"quoted\\\"\\nfield\",\"message\":\"x\"}]");
    json_problems_release(&p);
}

static void a_flood_of_problems_stays_a_whole_list(void **state)
{
    struct json_problems p;

    (void)state;
    json_problems_init(&p);
    for (int i = 0; i < 10000; i++)
        json_problem(&p, "field", "is required");
    assert_int_equal(p.count, 10000);
    assert_int_equal(json_check(json_problems_array(&p), NULL), OK);
    json_problems_release(&p);
}

static void something_else_than_an_object_has_no_fields(void **state)
{
    CLEANUP(json_freep) cJSON *tree = parse("[1]");
    struct json_problems p;
    int64_t v;

    (void)state;
    json_problems_init(&p);
    assert_false(json_get_int(tree, "a", true, 0, 1, &v, &p));
    says(&p, "[{\"field\":\"a\",\"message\":\"is required\"}]");
    json_problems_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_the_scanner_refuses_is_not_parsed),
        TEST(whole_numbers_are_exact_and_within_bounds),
        TEST(a_wrong_number_names_its_field_and_bounds),
        TEST(texts_are_counted_in_characters),
        TEST(null_is_wrong_unless_it_was_dropped),
        TEST(all_problems_are_said_at_once),
        TEST(a_flood_of_problems_stays_a_whole_list),
        TEST(something_else_than_an_object_has_no_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
