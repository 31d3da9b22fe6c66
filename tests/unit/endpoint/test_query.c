/* What lists read from a query, and the cursor that they write. */
#include "endpoint/query.h"
#include "unit/cm.h"

#include <string.h>

static void a_limit_is_a_whole_number_from_1_to_the_most(void **state)
{
    static const struct {
        const char *text;
        int limit; /* 0: refused */
    } rows[] = {
        { "1", 1 }, { "100", 100 }, { "0", 0 },   { "101", 0 }, { "-1", 0 },
        { "", 0 },  { "1.0", 0 },   { "1e1", 0 }, { " 1", 0 },  { "4294967297", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int limit = 0;

        assert_int_equal(query_limit(str_of(rows[i].text), 100, &limit), rows[i].limit != 0);
        assert_int_equal(limit, rows[i].limit);
    }
}

static void what_was_written_as_the_next_cursor_is_read(void **state)
{
    struct uuid id, read;
    struct arena arena;
    struct buf out;
    struct str text;
    bool has;

    (void)state;
    memset(id.b, 0xfb, sizeof(id.b));
    arena_init(&arena, 4096);
    buf_init(&out, 4096);
    query_next_cursor(&out, &id);
    text = buf_str(&out);
    assert_true(str_starts(text, S("],\"nextCursor\":\"")));
    text.p += sizeof("],\"nextCursor\":\"") - 1;
    text.n -= sizeof("],\"nextCursor\":\"\"") - 1;
    assert_true(query_cursor(&arena, text, &has, &read) && has);
    assert_true(uuid_eq(id, read));
    text.n--;
    assert_false(query_cursor(&arena, text, &has, &read) || has);
    assert_false(query_cursor(&arena, S("!!!!!!!!!!!!!!!!!!!!!!"), &has, &read) || has);
    buf_release(&out);
    arena_release(&arena);
}

static void the_last_page_has_no_next_cursor(void **state)
{
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    query_next_cursor(&out, NULL);
    assert_true(str_eq(buf_str(&out), S("],\"nextCursor\":null")));
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_a_whole_number_from_1_to_the_most),
        cmocka_unit_test(what_was_written_as_the_next_cursor_is_read),
        cmocka_unit_test(the_last_page_has_no_next_cursor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
