/* Chance from a seed: chaos.c, and what it does to webhooks (faults.c). */
#include "sandbox/fault/switches.h"
#include "unit/cm.h"

#include <string.h>

enum { TIMES = 20000, MILLION = 1000000 };

static struct chaos_plan plan_of(int64_t seed, int64_t rate)
{
    struct chaos_plan p = { .on = true, .seed = seed, .delay_ms = 50, .hang_ms = 70 };

    for (size_t i = 0; i < CHAOS_KINDS; i++)
        p.rate[i] = rate;
    return p;
}

static void draw(struct chaos *c, enum chaos_kind kind, char *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (char)chaos_strikes(c, kind, 1000, NULL);
}

static void the_same_seed_strikes_the_same_times(void **state)
{
    static struct chaos a, b;
    static char first[TIMES], second[TIMES];
    struct chaos_plan p = plan_of(7, 100000), q = plan_of(8, 100000);

    (void)state;
    chaos_begin(&a, &p);
    draw(&a, CHAOS_DROP_AFTER, first, TIMES);
    p.rate[CHAOS_HTML] = 900000; /* other rates do not matter */
    chaos_begin(&b, &p);
    for (int i = 0; i < 1000; i++)
        chaos_strikes(&b, CHAOS_HTML, 1000, NULL); /* nor do other draws */
    draw(&b, CHAOS_DROP_AFTER, second, TIMES);
    assert_memory_equal(first, second, TIMES);
    chaos_begin(&b, &q);
    draw(&b, CHAOS_DROP_AFTER, second, TIMES);
    assert_memory_not_equal(first, second, TIMES);
    chaos_begin(&b, &p); /* anew */
    draw(&b, CHAOS_DROP_AFTER, second, TIMES);
    assert_memory_equal(first, second, TIMES);
}

static void a_rate_is_kept(void **state)
{
    static const int64_t rates[] = { 0, 1000, 20000, 500000, MILLION };
    static struct chaos c;

    (void)state;
    for (size_t i = 0; i < COUNT(rates); i++) {
        struct chaos_plan p = plan_of(3, rates[i]);
        int64_t wanted = rates[i] * TIMES / MILLION, have;
        static char out[TIMES];

        chaos_begin(&c, &p);
        draw(&c, CHAOS_CUT, out, TIMES);
        have = atomic_load(&c.happened[CHAOS_CUT]);
        if (have < wanted * 8 / 10 - 5 || have > wanted * 12 / 10 + 5)
            fail_msg("row %zu: %lld and not %lld", i, (long long)have, (long long)wanted);
        if (rates[i] == MILLION || !rates[i])
            assert_int_equal(have, wanted);
    }
}

static void two_kinds_are_not_struck_together(void **state)
{
    static struct chaos c;
    struct chaos_plan p = plan_of(5, 500000);
    static char a[TIMES], b[TIMES];
    int same = 0;

    (void)state;
    chaos_begin(&c, &p);
    draw(&c, CHAOS_DELAY, a, TIMES);
    draw(&c, CHAOS_HANG, b, TIMES);
    for (size_t i = 0; i < TIMES; i++)
        same += a[i] == b[i];
    assert_in_range(same, TIMES * 45 / 100, TIMES * 55 / 100);
}

static void it_ends_at_its_time_or_on_demand(void **state)
{
    static struct chaos c;
    struct chaos_plan p = plan_of(5, MILLION);

    (void)state;
    assert_false(chaos_strikes(&c, CHAOS_DROP, 1, NULL));
    p.until_ms = 5000;
    chaos_begin(&c, &p);
    assert_true(chaos_strikes(&c, CHAOS_DROP, 4999, NULL));
    assert_false(chaos_strikes(&c, CHAOS_DROP, 5000, NULL));
    p.until_ms = 0;
    chaos_begin(&c, &p);
    assert_true(chaos_strikes(&c, CHAOS_DROP, INT64_MAX, NULL));
    chaos_end(&c);
    assert_false(chaos_strikes(&c, CHAOS_DROP, 1, NULL));
    assert_int_equal(atomic_load(&c.happened[CHAOS_DROP]), 1);
}

static struct sandbox_fault struck_by(enum chaos_kind kind, bool charges)
{
    static struct chaos c;
    struct chaos_plan p = plan_of(1, 0);
    struct sandbox_fault f = { 0 };

    p.rate[kind] = MILLION;
    chaos_begin(&c, &p);
    chaos_spoil(&c, 1, charges, &f);
    return f;
}

static void each_kind_has_its_effect(void **state)
{
    static const struct {
        enum chaos_kind kind;
        struct sandbox_fault fault;
    } rows[] = {
        { CHAOS_ERROR_BEFORE, { .status_before = 500 } },
        { CHAOS_ERROR_AFTER, { .status_after = 500 } },
        { CHAOS_DROP_BEFORE, { .drop_before = true } },
        { CHAOS_DROP_AFTER, { .drop_after = true } },
        { CHAOS_CONFLICT, { .status_before = 409 } },
        { CHAOS_RATE_LIMIT, { .status_before = 429 } },
        { CHAOS_RATE_LIMIT_RETRY, { .status_before = 429, .should_retry = RETRY_SAYS_TRUE } },
        { CHAOS_HALF_JSON, { .answer = SPOIL_HALF_JSON } },
        { CHAOS_HTML, { .answer = SPOIL_HTML } },
        { CHAOS_TYPE, { .answer = SPOIL_TYPE } },
        { CHAOS_REDIRECT, { .answer = SPOIL_REDIRECT } },
        { CHAOS_CURRENCY, { .answer = SPOIL_CURRENCY } },
        { CHAOS_CUT, { .answer = SPOIL_CUT } },
    };
    struct sandbox_fault f;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        f = struck_by(rows[i].kind, true);
        if (f.status_before != rows[i].fault.status_before ||
            f.status_after != rows[i].fault.status_after || f.answer != rows[i].fault.answer ||
            f.drop_before != rows[i].fault.drop_before ||
            f.drop_after != rows[i].fault.drop_after || f.delay_ms || f.hang_ms ||
            f.should_retry != rows[i].fault.should_retry || f.decline_code.n)
            fail_msg("row %zu: %s", i, chaos_names[rows[i].kind]);
    }
    f = struck_by(CHAOS_DELAY, true);
    assert_in_range(f.delay_ms, 1, 50);
    f = struck_by(CHAOS_HANG, true);
    assert_in_range(f.hang_ms, 1, 70);
    assert_true(f.drop_after);
    assert_true(str_eq(struck_by(CHAOS_DECLINE, true).decline_code, S("generic_decline")));
    assert_int_equal(struck_by(CHAOS_DECLINE, false).decline_code.n, 0);
}

/* --- webhooks --- */

static struct delivery_plan told(enum chaos_kind kind, int64_t now_ms)
{
    struct sandbox s = { .faults = sandbox_faults_new() };
    struct chaos_plan p = plan_of(1, 0);
    struct delivery_plan t;

    p.rate[kind] = MILLION;
    chaos_begin(&s.faults->chaos, &p);
    t = sandbox_delivery_plan(&s, now_ms);
    sandbox_faults_free(s.faults);
    return t;
}

static void webhooks_are_told_late_twice_or_together(void **state)
{
    struct delivery_plan t;

    (void)state;
    t = told(CHAOS_HTML, 1234);
    assert_int_equal(t.copies, 0);
    assert_int_equal(t.due_ms, 1234);
    assert_int_equal(told(CHAOS_DUPLICATE, 1234).copies, 1);
    assert_in_range(told(CHAOS_LATE, 1000).due_ms, 1001, 1050);
    assert_in_range(told(CHAOS_REORDER, 1000).due_ms, 1000,
                    1000 + LIMIT_SANDBOX_REORDER * LIMIT_SANDBOX_REORDER_MS);
    assert_int_equal(told(CHAOS_BURST, 1000).due_ms, 2000);
    assert_int_equal(told(CHAOS_BURST, 1999).due_ms, 2000);
}

static void a_burst_ends_with_its_second(void **state)
{
    struct sandbox s = { .faults = sandbox_faults_new() };

    (void)state;
    atomic_store(&s.faults->webhooks.burst, true);
    assert_int_equal(sandbox_delivery_plan(&s, 7001).due_ms, 8000);
    assert_int_equal(sandbox_delivery_plan(&s, 7999).due_ms, 8000);
    atomic_store(&s.faults->webhooks.delay_ms, 300);
    assert_int_equal(sandbox_delivery_plan(&s, 7800).due_ms, 9000);
    sandbox_faults_free(s.faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_strikes_the_same_times),
        cmocka_unit_test(a_rate_is_kept),
        cmocka_unit_test(two_kinds_are_not_struck_together),
        cmocka_unit_test(it_ends_at_its_time_or_on_demand),
        cmocka_unit_test(each_kind_has_its_effect),
        cmocka_unit_test(webhooks_are_told_late_twice_or_together),
        cmocka_unit_test(a_burst_ends_with_its_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
