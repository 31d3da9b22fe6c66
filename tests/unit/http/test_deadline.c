/* Deadlines of connections: the right one comes next. */
#include "http/deadline.h"
#include "unit/cm.h"

#include <stdlib.h>
#include <string.h>

static void deadlines_come_in_order_of_time(void **state)
{
    struct deadlines d = { .durations = { 10, 100, DEADLINE_NONE } };
    struct deadline a, b, c;

    (void)state;
    deadline_init(&a);
    deadline_init(&b);
    deadline_init(&c);
    assert_true(deadlines_next(&d) == DEADLINE_NONE);
    deadline_enter(&d, &a, 1, 0);
    deadline_enter(&d, &b, 0, 5);
    deadline_enter(&d, &c, 2, 5);
    assert_int_equal(deadlines_next(&d), 15);
    assert_null(deadlines_expired(&d, 14));
    assert_ptr_equal(deadlines_expired(&d, 15), &b);
    deadline_enter(&d, &b, 0, 15); /* moves */
    assert_null(deadlines_expired(&d, 24));
    deadline_leave(&d, &b);
    deadline_leave(&d, &b); /* twice is fine */
    assert_int_equal(deadlines_next(&d), 100);
    deadline_leave(&d, &a);
    assert_true(deadlines_next(&d) == DEADLINE_NONE); /* c may take for ever */
    assert_null(deadlines_expired(&d, UINT64_MAX - 1));
}

static void an_old_deadline_leaves_from_the_middle(void **state)
{
    struct deadlines d = { .durations = { 10 } };
    struct deadline x[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        deadline_init(&x[i]);
        deadline_enter(&d, &x[i], 0, (uint64_t)i);
    }
    deadline_leave(&d, &x[2]);
    deadline_leave(&d, &x[0]);
    deadline_leave(&d, &x[4]);
    assert_ptr_equal(d.lists[0].first, &x[1]);
    assert_ptr_equal(d.lists[0].last, &x[3]);
    assert_ptr_equal(x[1].after, &x[3]);
}

static void the_oldest_of_some_kinds_is_found(void **state)
{
    struct deadlines d = { .durations = { 10, 100, 5 } };
    struct deadline a, b, c;

    (void)state;
    deadline_init(&a);
    deadline_init(&b);
    deadline_init(&c);
    assert_null(deadlines_oldest(&d, ~0u));
    deadline_enter(&d, &a, 1, 1); /* began first, ends last */
    deadline_enter(&d, &b, 0, 2);
    deadline_enter(&d, &c, 2, 3);
    assert_ptr_equal(deadlines_oldest(&d, 1u << 0 | 1u << 1), &a);
    assert_ptr_equal(deadlines_oldest(&d, 1u << 0 | 1u << 2), &b);
    assert_ptr_equal(deadlines_oldest(&d, 1u << 2), &c);
    assert_null(deadlines_oldest(&d, 1u << 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(deadlines_come_in_order_of_time),
        TEST(an_old_deadline_leaves_from_the_middle),
        TEST(the_oldest_of_some_kinds_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
