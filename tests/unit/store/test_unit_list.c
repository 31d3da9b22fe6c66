#include "base/limits.h"
#include "store/unit_list.h"
#include "unit/cm.h"

static enum err many(struct tx *tx, struct unit **u, size_t n)
{
    (void)tx, (void)u, (void)n;
    return OK;
}

static const struct unit_kind bulk = { "bulk", UNIT_BACK, NULL, many };
static const struct unit_kind single = { "single", UNIT_BACK, NULL, NULL };

static void fill(struct unit_list *l, struct unit *u, const struct unit_kind *const *kinds, int n)
{
    unit_list_init(l);
    for (int i = 0; i < n; i++) {
        u[i] = (struct unit){ .kind = kinds[i] };
        unit_list_push(l, &u[i]);
    }
}

static void units_leave_in_the_order_they_came(void **state)
{
    const struct unit_kind *const kinds[] = { &single, &bulk, &single };
    struct unit u[3], *out[3];
    struct unit_list l;

    (void)state;
    fill(&l, u, kinds, 3);
    assert_int_equal(unit_list_take(&l, out, 2), 2);
    assert_true(out[0] == &u[0] && out[1] == &u[1] && l.count == 1);
    unit_list_push(&l, &u[0]);
    assert_int_equal(unit_list_take(&l, out, 3), 2);
    assert_true(out[0] == &u[2] && out[1] == &u[0] && l.count == 0);
    assert_int_equal(unit_list_take(&l, out, 3), 0);
}

static void a_bulk_kind_takes_its_like_and_leaves_the_others(void **state)
{
    const struct unit_kind *const kinds[] = { &bulk, &single, &bulk, &single, &bulk };
    struct unit u[5], *out[5];
    struct unit_list l;

    (void)state;
    fill(&l, u, kinds, 5);
    assert_int_equal(unit_list_take_alike(&l, &l.first, out, 5), 3);
    assert_true(out[0] == &u[0] && out[1] == &u[2] && out[2] == &u[4]);
    unit_list_push(&l, &u[0]); /* the end moved when the last one left */
    assert_int_equal(unit_list_take_alike(&l, &l.first, out, 5), 1); /* a single kind comes alone */
    assert_ptr_equal(out[0], &u[1]);
    assert_int_equal(unit_list_take(&l, out, 5), 2);
    assert_true(out[0] == &u[3] && out[1] == &u[0]);
}

static void no_more_than_asked_for(void **state)
{
    const struct unit_kind *const kinds[] = { &bulk, &bulk, &bulk };
    struct unit u[3], *out[3];
    struct unit_list l;

    (void)state;
    fill(&l, u, kinds, 3);
    assert_int_equal(unit_list_take_alike(&l, &l.first, out, 0), 0);
    assert_int_equal(unit_list_take_alike(&l, &l.first, out, 2), 2);
    assert_int_equal(l.count, 1);
}

static void a_bulk_ends_before_it_gets_too_heavy(void **state)
{
    const struct unit_kind *const kinds[] = { &bulk, &bulk, &bulk, &bulk };
    struct unit u[4], *out[4];
    struct unit_list l;

    (void)state;
    fill(&l, u, kinds, 4);
    u[0].bytes = u[1].bytes = LIMIT_BULK_BYTES / 2;
    u[2].bytes = 1;
    u[3].bytes = LIMIT_BULK_BYTES + 1;
    assert_int_equal(unit_list_take_alike(&l, &l.first, out, 4), 2);
    assert_int_equal(unit_list_take_alike(&l, &l.first, out, 4), 1);
    assert_int_equal(unit_list_take_alike(&l, &l.first, out, 4), 1); /* one always goes */
    assert_int_equal(l.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(units_leave_in_the_order_they_came),
        TEST(a_bulk_kind_takes_its_like_and_leaves_the_others),
        TEST(no_more_than_asked_for),
        TEST(a_bulk_ends_before_it_gets_too_heavy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
