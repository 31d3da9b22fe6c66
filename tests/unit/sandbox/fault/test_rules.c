#include "sandbox/fault/switches.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

struct desk_of_rules {
    struct sandbox s;
    struct arena a;
};

static int setup(void **state)
{
    static struct desk_of_rules d;

    d = (struct desk_of_rules){ .s.faults = sandbox_faults_new() };
    arena_init(&d.a, 1 << 16);
    *state = &d;
    return 0;
}

static int teardown(void **state)
{
    struct desk_of_rules *d = *state;

    sandbox_faults_free(d->s.faults);
    arena_release(&d->a);
    return 0;
}

static struct call_rule rule(const char *method, const char *path, struct sandbox_fault f)
{
    struct call_rule r = { .times = 1, .fault = f };

    snprintf(r.method, sizeof(r.method), "%s", method);
    snprintf(r.path, sizeof(r.path), "%s", path);
    return r;
}

static struct sandbox_fault take(struct desk_of_rules *d, const char *method, const char *path)
{
    return sandbox_fault_take(&d->s, &d->a, str_of(method), str_of(path));
}

static void a_rule_fits_by_whole_segments(void **state)
{
    static const struct {
        const char *method, *pattern, *call, *path;
        bool fits;
    } rows[] = {
        { "", "", "GET", "/v1/anything", true },
        { "", "/v1/payment_intents", "POST", "/v1/payment_intents", true },
        { "", "/v1/payment_intents", "POST", "/v1/payment_intents/pi_1/capture", true },
        { "", "/v1/payment", "POST", "/v1/payment_intents", false },
        { "", "/v1/payment_intents", "POST", "/v1/payment", false },
        { "", "/v1/payment_intents/*/capture", "POST", "/v1/payment_intents/pi_1/capture", true },
        { "", "/v1/payment_intents/*/capture", "POST", "/v1/payment_intents/pi_1/cancel", false },
        { "", "/v1/payment_intents/*/capture", "POST", "/v1/payment_intents/pi_1", false },
        { "", "/v1/payment_intents/*", "POST", "/v1/payment_intents", false },
        { "", "/*/refunds", "POST", "/v1/refunds/re_1", true },
        { "", "/v1/", "POST", "/v1/refunds", true },
        { "POST", "/v1", "POST", "/v1/refunds", true },
        { "POST", "/v1", "GET", "/v1/refunds", false },
        { "GET", "", "GET", "/", true },
    };
    struct desk_of_rules *d = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct call_rule r =
            rule(rows[i].method, rows[i].pattern, (struct sandbox_fault){ .delay_ms = 5 });

        rules_clear(d->s.faults);
        assert_int_equal(rules_add(d->s.faults, &r), OK);
        if ((take(d, rows[i].call, rows[i].path).delay_ms == 5) != rows[i].fits)
            fail_msg("row %zu: %s on %s", i, rows[i].pattern, rows[i].path);
        assert_int_equal(d->s.faults->count, !rows[i].fits);
    }
}

static void a_rule_lets_some_pass_spoils_some_and_is_gone(void **state)
{
    static const int expected[] = { 0, 0, 500, 500, 500, 0, 0 };
    struct desk_of_rules *d = *state;
    struct call_rule r = rule("", "/v1/refunds", (struct sandbox_fault){ .status_before = 500 });

    r.skip = 2;
    r.times = 3;
    rules_add(d->s.faults, &r);
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_int_equal(take(d, "GET", "/v1/other").status_before, 0); /* counts for nothing */
        assert_int_equal(take(d, "POST", "/v1/refunds").status_before, expected[i]);
    }
    assert_int_equal(d->s.faults->count, 0);
}

static void rules_join_and_the_older_one_wins(void **state)
{
    struct desk_of_rules *d = *state;
    struct call_rule a = rule("", "", (struct sandbox_fault){ .delay_ms = 7, .drop_after = true });
    struct call_rule b =
        rule("", "", (struct sandbox_fault){ .delay_ms = 9, .status_after = 500, .hang_ms = 3 });
    struct sandbox_fault f;

    b.times = 2;
    rules_add(d->s.faults, &a);
    rules_add(d->s.faults, &b);
    f = take(d, "POST", "/v1/x");
    assert_int_equal(f.delay_ms, 7);
    assert_int_equal(f.status_after, 500);
    assert_int_equal(f.hang_ms, 3);
    assert_true(f.drop_after);
    assert_false(f.drop_before);
    f = take(d, "POST", "/v1/x");
    assert_int_equal(f.delay_ms, 9);
    assert_false(f.drop_after);
    assert_int_equal(take(d, "POST", "/v1/x").delay_ms, 0);
}

static void a_decline_waits_for_a_call_that_charges(void **state)
{
    struct desk_of_rules *d = *state;
    struct call_rule r = rule("", "", (struct sandbox_fault){ 0 });

    strcpy(r.decline_code, "lost_card");
    rules_add(d->s.faults, &r);
    assert_int_equal(take(d, "GET", "/v1/payment_intents").decline_code.n, 0);
    assert_int_equal(take(d, "POST", "/v1/refunds").decline_code.n, 0);
    assert_int_equal(take(d, "POST", "/v1/payment_intents/pi_1/capture").decline_code.n, 0);
    assert_true(
        str_eq(take(d, "POST", "/v1/payment_intents/pi_1/confirm").decline_code, S("lost_card")));
    assert_int_equal(take(d, "POST", "/v1/payment_intents").decline_code.n, 0);
    rules_add(d->s.faults, &r);
    assert_true(str_eq(take(d, "POST", "/v1/payment_intents").decline_code, S("lost_card")));
}

static void there_is_room_for_so_many_rules(void **state)
{
    struct desk_of_rules *d = *state;
    struct call_rule r = rule("", "/never", (struct sandbox_fault){ .delay_ms = 1 });

    for (int i = 0; i < LIMIT_SANDBOX_RULES; i++)
        assert_int_equal(rules_add(d->s.faults, &r), OK);
    assert_int_equal(rules_add(d->s.faults, &r), ERR_OVERLOADED);
    rules_clear(d->s.faults);
    assert_int_equal(rules_add(d->s.faults, &r), OK);
}

#define ON_DESK(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DESK(a_rule_fits_by_whole_segments),
        ON_DESK(a_rule_lets_some_pass_spoils_some_and_is_gone),
        ON_DESK(rules_join_and_the_older_one_wins),
        ON_DESK(a_decline_waits_for_a_call_that_charges),
        ON_DESK(there_is_room_for_so_many_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
