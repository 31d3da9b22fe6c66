#include "base/arena.h"
#include "unit/cm.h"

#include <string.h>

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    struct arena a;
    char *last = NULL;

    (void)state;
    arena_init(&a, 1 << 20);
    assert_null(a.top); /* an idle arena owns nothing */
    for (size_t n = 1; n < 3000; n += 97) {
        char *p = arena_alloc(&a, n, 1);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 'x', n);
        assert_true(p != last);
        last = p;
    }
    arena_release(&a);
    assert_null(a.top);
}

static void the_limit_holds_and_is_not_spent_by_a_refusal(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a, 64);
    assert_null(arena_alloc(&a, 65, 1));
    assert_non_null(arena_alloc(&a, 64, 1));
    assert_null(arena_alloc(&a, 1, 1));
    arena_release(&a);
    assert_non_null(arena_alloc(&a, 64, 1)); /* as new */
    arena_release(&a);
}

static void a_product_that_overflows_is_refused(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a, SIZE_MAX);
    assert_null(arena_alloc(&a, SIZE_MAX / 2, 3));
    assert_null(arena_alloc(&a, SIZE_MAX, 1)); /* rounding up would wrap */
    arena_release(&a);
}

static void strings_are_copied_with_a_nul_behind_them(void **state)
{
    char source[] = "abc";
    struct arena a;
    struct str s;
    char *c;

    (void)state;
    arena_init(&a, 1024);
    s = arena_str(&a, (struct str){ source, 2 });
    c = arena_cstr(&a, str_of(source));
    source[0] = 'x';
    assert_true(str_eq(s, S("ab")));
    assert_string_equal(c, "abc");
    assert_int_equal(s.p[2], '\0');
    assert_non_null(arena_str(&a, (struct str){ 0 }).p); /* empty is not "over the limit" */
    arena_release(&a);
    arena_init(&a, 2);
    assert_null(arena_str(&a, S("abc")).p);
    arena_release(&a);
}

static void a_rewind_gives_back_what_came_after_the_mark(void **state)
{
    struct arena_mark empty, mark;
    struct arena a;
    char *before;

    (void)state;
    arena_init(&a, 100000);
    empty = arena_mark(&a);
    before = arena_cstr(&a, S("stays"));
    mark = arena_mark(&a);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 9; i++)
            assert_non_null(arena_alloc(&a, 10000, 1)); /* without the rewind: over the limit */
        arena_rewind(&a, mark);
        assert_string_equal(before, "stays");
    }
    assert_int_equal(a.used, mark.used);
    arena_rewind(&a, empty);
    assert_null(a.top);
    assert_int_equal(a.used, 0);
}

static void nothing_is_something(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a, 1024);
    assert_non_null(arena_alloc(&a, 0, 8));
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_is_zeroed_aligned_and_apart),
        TEST(the_limit_holds_and_is_not_spent_by_a_refusal),
        TEST(a_product_that_overflows_is_refused),
        TEST(strings_are_copied_with_a_nul_behind_them),
        TEST(a_rewind_gives_back_what_came_after_the_mark),
        TEST(nothing_is_something),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
