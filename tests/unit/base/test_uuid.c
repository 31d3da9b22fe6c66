#include "base/uuid.h"
#include "unit/cm.h"

#include <string.h>

static void a_new_one_is_version_7_and_begins_with_its_time(void **state)
{
    char text[UUID_TEXT + 1];
    struct rng r;
    struct uuid id;

    (void)state;
    rng_init_seeded(&r, 1);
    id = uuid_new(0x0123456789ab, &r);
    uuid_text(id, text);
    assert_int_equal(strlen(text), UUID_TEXT);
    assert_memory_equal(text, "01234567-89ab-7", 15);
    assert_non_null(strchr("89ab", text[19])); /* the variant */
}

static void later_ones_sort_behind_earlier_ones(void **state)
{
    struct uuid last = { { 0 } };
    struct rng r;

    (void)state;
    rng_init_seeded(&r, 1);
    for (int64_t ms = 1700000000000; ms < 1700000000500; ms++) {
        struct uuid id = uuid_new(ms, &r);

        assert_true(str_cmp(uuid_bytes(&last), uuid_bytes(&id)) < 0);
        last = id;
    }
}

static void those_of_one_millisecond_differ(void **state)
{
    struct rng r;
    struct uuid a, b;

    (void)state;
    rng_init_seeded(&r, 1);
    a = uuid_new(1, &r);
    b = uuid_new(1, &r);
    assert_false(uuid_eq(a, b));
    assert_true(uuid_eq(a, a));
}

static void text_and_back(void **state)
{
    static const char text[] = "0189c2f0-1234-7abc-8def-00ff11ee22dd";
    char again[UUID_TEXT + 1];
    struct uuid id, upper;

    (void)state;
    assert_true(uuid_parse(str_of(text), &id));
    uuid_text(id, again);
    assert_string_equal(again, text);
    assert_true(uuid_parse(S("0189C2F0-1234-7ABC-8DEF-00FF11EE22DD"), &upper));
    assert_true(uuid_eq(id, upper));
    assert_int_equal(uuid_bytes(&id).n, 16);
}

static void what_is_no_uuid_is_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "0189c2f0-1234-7abc-8def-00ff11ee22d",
        "0189c2f0-1234-7abc-8def-00ff11ee22ddd",
        "0189c2f0123407abc-8def-00ff11ee22dd-",
        "0189c2f0-1234-7abc-8def_00ff11ee22dd",
        "0189c2f0-1234-7abc-8def-00ff11ee22dg",
        "0189c2fg-1234-7abc-8def-00ff11ee22dd",
        "{189c2f0-1234-7abc-8def-00ff11ee22d}",
        "0189c2f0-1234-7abc-8def-00ff11ee22d ",
    };
    struct uuid id = { { 1 } };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (uuid_parse(str_of(rows[i]), &id))
            fail_msg("%s", rows[i]);
    assert_int_equal(id.b[0], 1); /* untouched */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_one_is_version_7_and_begins_with_its_time),
        TEST(later_ones_sort_behind_earlier_ones),
        TEST(those_of_one_millisecond_differ),
        TEST(text_and_back),
        TEST(what_is_no_uuid_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
