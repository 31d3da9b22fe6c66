/* G5: what stands before a gateway. The gateway is a stand-in: the test answers each call. */
#include "base/limits.h"
#include "domain/retry.h"
#include "gateway/guard.h"
#include "unit/desk.h"
#include "unit/gateway/stand_in.h"

enum { CALLS = 64 };

static struct world {
    struct desk desk;
    struct env env;
    struct stand_in inner;
    struct gateway *guard;
    struct gateway_call calls[CALLS];
    int made, done;
    bool same_payment;
} w;

static void on_done(struct gateway_call *c)
{
    (void)c;
    w.done++;
}

static int set_up(void **state)
{
    (void)state;
    w = (struct world){ .inner = stand_in_new() };
    desk_init(&w.desk);
    clock_init(&w.env.clock);
    w.guard = guard_new(&(struct guard_options){ .env = &w.env, .calls = 2, .try_ms = 700 },
                        &w.inner.gateway);
    assert_non_null(w.guard);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    w.guard->ops->free(w.guard);
    return 0;
}

static struct gateway_call *call(void)
{
    struct gateway_call *c = &w.calls[w.made++];

    *c = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                .executor = &w.desk.executor,
                                .done = on_done };
    c->payment.b[0] = (unsigned char)(w.same_payment ? 0 : w.made);
    gateway_call(w.guard, c);
    return c;
}

static void answer(struct gateway_call *c, enum gateway_answer a, int status)
{
    c->answer = a;
    c->status = status;
    c->done(c);
}

static void call_and_answer(enum gateway_answer a, int status)
{
    answer(call(), a, status);
}

static void break_it(void)
{
    for (int i = 0; i < LIMIT_BREAKER_FAILURES; i++)
        call_and_answer(GATEWAY_UNCERTAIN, 0);
    assert_int_equal(guard_look(w.guard).state, GUARD_OPEN);
}

/* --- the breaker --- */

static void it_has_the_name_and_the_ways_of_what_it_guards(void **state)
{
    (void)state;
    assert_string_equal(w.guard->name, "x");
    assert_string_equal(w.guard->provider, "p");
    assert_true(gateway_takes(w.guard, S("card")));
    assert_int_equal(call()->try_ms, 700);
}

static void silence_in_a_row_opens_it_and_nothing_is_sent_then(void **state)
{
    struct gateway_call *c;
    int sent;

    (void)state;
    break_it();
    sent = w.inner.count;
    w.done = 0;
    c = call();
    assert_int_equal(w.done, 0); /* never from within */
    desk_next(&w.desk);
    assert_int_equal(w.done, 1);
    assert_int_equal(w.inner.count, sent);
    assert_int_equal(c->answer, GATEWAY_RETRY_LATER);
    assert_false(c->sent);
    assert_string_equal(c->error_code, "gateway_unavailable");
}

static void what_is_life(void **state)
{
    static const struct {
        enum gateway_answer answer;
        int status;
        bool life;
    } rows[] = {
        { GATEWAY_OK, 200, true },           { GATEWAY_DECLINED, 402, true },
        { GATEWAY_REFUSED, 400, true },      { GATEWAY_ABSENT, 404, true },
        { GATEWAY_RETRY_LATER, 429, true },  { GATEWAY_RETRY_LATER, 409, true },
        { GATEWAY_RETRY_LATER, 503, false }, { GATEWAY_RETRY_LATER, 0, false },
        { GATEWAY_UNCERTAIN, 0, false },     { GATEWAY_UNCERTAIN, 500, false },
        { GATEWAY_UNCERTAIN, 200, true },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tear_down(state);
        set_up(state);
        for (int n = 0; n < LIMIT_BREAKER_FAILURES; n++)
            call_and_answer(rows[i].answer, rows[i].status);
        if ((guard_look(w.guard).state == GUARD_CLOSED) != rows[i].life)
            fail_msg("row %zu", i);
    }
}

static void one_answer_between_them_keeps_it_closed(void **state)
{
    (void)state;
    for (int i = 0; i < LIMIT_BREAKER_FAILURES - 1; i++)
        call_and_answer(GATEWAY_UNCERTAIN, 0);
    call_and_answer(GATEWAY_DECLINED, 402);
    for (int i = 0; i < LIMIT_BREAKER_FAILURES - 1; i++)
        call_and_answer(GATEWAY_UNCERTAIN, 0);
    assert_int_equal(guard_look(w.guard).state, GUARD_CLOSED);
}

static void one_payment_that_fails_again_and_again_says_nothing_about_others(void **state)
{
    (void)state;
    w.same_payment = true;
    for (int i = 0; i < 2 * LIMIT_BREAKER_FAILURES; i++)
        call_and_answer(GATEWAY_UNCERTAIN, 500);
    assert_int_equal(guard_look(w.guard).state, GUARD_CLOSED);
}

static void after_a_pause_one_goes_to_see(void **state)
{
    struct gateway_call *probe, *other;

    (void)state;
    break_it();
    clock_advance(&w.env.clock, retry_table[RETRY_BREAKER].first_ms);
    probe = call();
    other = call();
    assert_int_equal(guard_look(w.guard).state, GUARD_PROBING);
    assert_int_equal(guard_look(w.guard).underway, 1);
    desk_next(&w.desk);
    assert_string_equal(other->error_code, "gateway_unavailable");
    answer(probe, GATEWAY_OK, 200);
    assert_int_equal(guard_look(w.guard).state, GUARD_CLOSED);
    call_and_answer(GATEWAY_UNCERTAIN, 0); /* and counts from one again */
    assert_int_equal(guard_look(w.guard).state, GUARD_CLOSED);
}

static void each_pause_is_longer_up_to_a_limit(void **state)
{
    int64_t pause = retry_table[RETRY_BREAKER].first_ms;

    (void)state;
    break_it();
    for (int i = 0; i < 8; i++) {
        int sent = w.inner.count;

        clock_advance(&w.env.clock, pause - 1000);
        call();
        desk_next(&w.desk);
        assert_int_equal(w.inner.count, sent);
        clock_advance(&w.env.clock, 1000);
        call_and_answer(GATEWAY_UNCERTAIN, 0);
        assert_int_equal(w.inner.count, sent + 1);
        pause = pause * 2 < retry_table[RETRY_BREAKER].max_ms ? pause * 2
                                                              : retry_table[RETRY_BREAKER].max_ms;
    }
}

/* --- the line --- */

static void who_is_over_the_limit_waits_in_line(void **state)
{
    struct gateway_call *c[5];

    (void)state;
    for (size_t i = 0; i < COUNT(c); i++)
        c[i] = call();
    assert_int_equal(w.inner.count, 2);
    assert_int_equal(guard_look(w.guard).waiting, 3);
    answer(c[1], GATEWAY_OK, 200);
    assert_ptr_equal(w.inner.taken[2], c[2]);
    answer(c[0], GATEWAY_OK, 200);
    answer(c[2], GATEWAY_OK, 200);
    assert_ptr_equal(w.inner.taken[4], c[4]);
    answer(c[3], GATEWAY_OK, 200);
    answer(c[4], GATEWAY_OK, 200);
    assert_int_equal(w.done, 5);
    assert_int_equal(guard_look(w.guard).underway, 0);
}

static int64_t later_us(const struct clock *c)
{
    (void)c;
    return (int64_t)1000 * 1000 * 1000000;
}

static void who_waited_too_long_is_turned_away_unsent(void **state)
{
    struct gateway_call *c[3];

    (void)state;
    for (size_t i = 0; i < COUNT(c); i++)
        c[i] = call();
    w.env.clock.mono_us = later_us;
    answer(c[0], GATEWAY_UNCERTAIN, 0);
    desk_next(&w.desk);
    assert_int_equal(w.inner.count, 2);
    assert_int_equal(c[2]->answer, GATEWAY_RETRY_LATER);
    assert_string_equal(c[2]->error_code, "gateway_busy");
    assert_int_equal(w.done, 2);
}

int main(void)
{
#define ON(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON(it_has_the_name_and_the_ways_of_what_it_guards),
        ON(silence_in_a_row_opens_it_and_nothing_is_sent_then),
        ON(what_is_life),
        ON(one_answer_between_them_keeps_it_closed),
        ON(one_payment_that_fails_again_and_again_says_nothing_about_others),
        ON(after_a_pause_one_goes_to_see),
        ON(each_pause_is_longer_up_to_a_limit),
        ON(who_is_over_the_limit_waits_in_line),
        ON(who_waited_too_long_is_turned_away_unsent),
    };
#undef ON
    return cmocka_run_group_tests(tests, NULL, NULL);
}
