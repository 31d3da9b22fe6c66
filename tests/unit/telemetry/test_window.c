/* Rates and percentiles are differences of snapshots. */
#include "base/limits.h"
#include "telemetry/window.h"
#include "unit/cm.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND };
static const int64_t start_ms = 1763300000000;

static struct {
    struct metrics *metrics;
    struct window *window;
    int64_t now_ms;
} w;

static int setup(void **state)
{
    (void)state;
    w.metrics = metrics_new();
    w.window = window_new(w.metrics);
    w.now_ms = start_ms;
    window_take(w.window, w.now_ms);
    return 0;
}

static int end(void **state)
{
    (void)state;
    w.window = window_free(w.window);
    metrics_free(w.metrics);
    return 0;
}

static void anew(void **state)
{
    end(state);
    setup(state);
}

static void pass(int64_t ms, int64_t each_ms)
{
    for (int64_t left = ms; left > 0; left -= each_ms) {
        w.now_ms += each_ms;
        window_take(w.window, w.now_ms);
    }
}

static int64_t received(int64_t span_ms)
{
    struct stretch s;

    window_last(w.window, span_ms, &s);
    return s.count[SERIES_RECEIVED];
}

static void what_is_older_than_the_window_does_not_count(void **state)
{
    (void)state;
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 7);
    pass(MINUTE, 10 * SECOND);
    assert_int_equal(received(MINUTE), 7);
    assert_int_equal(received(50 * SECOND), 0);
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 5);
    pass(10 * SECOND, 10 * SECOND);
    assert_int_equal(received(10 * SECOND), 5);
    assert_int_equal(received(5 * MINUTE), 12);
    pass(5 * MINUTE, 10 * SECOND);
    assert_int_equal(received(5 * MINUTE), 0);
    assert_int_equal(received(60 * MINUTE), 12);
}

static void before_a_window_has_passed_it_begins_at_the_start(void **state)
{
    struct stretch s;

    (void)state;
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 3);
    pass(30 * SECOND, 10 * SECOND);
    window_last(w.window, 5 * MINUTE, &s);
    assert_int_equal(s.count[SERIES_RECEIVED], 3);
    assert_int_equal(s.from_ms, start_ms);
    assert_int_equal(s.to_ms - s.from_ms, 30 * SECOND);
}

static void nothing_taken_is_nothing_counted(void **state)
{
    struct window *empty = window_new(w.metrics);
    struct stretch s;

    (void)state;
    window_last(empty, MINUTE, &s);
    assert_int_equal(s.to_ms, 0);
    assert_int_equal(stretch_p95_us(&s, CURVE_ACK), -1);
    window_free(empty);
}

static void a_day_is_kept_by_the_minute_and_no_more(void **state)
{
    struct stretch s;

    (void)state;
    for (int hour = 0; hour < 30; hour++) {
        metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 1);
        pass(60 * MINUTE, 10 * SECOND);
    }
    window_last(w.window, 24 * 60 * MINUTE, &s);
    assert_in_range(s.to_ms - s.from_ms, 24 * 60 * MINUTE, 24 * 60 * MINUTE + MINUTE);
    assert_in_range(s.count[SERIES_RECEIVED], 23, 25);
    window_last(w.window, (int64_t)48 * 60 * MINUTE, &s); /* what is forgotten is not made up */
    assert_in_range(s.to_ms - s.from_ms, 24 * 60 * MINUTE - MINUTE, 24 * 60 * MINUTE + MINUTE);
}

static void a_clock_that_jumps_loses_nothing(void **state)
{
    struct stretch s;

    (void)state;
    pass(MINUTE, 10 * SECOND);
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 2);
    pass((int64_t)24 * 60 * MINUTE, (int64_t)24 * 60 * MINUTE);
    window_last(w.window, MINUTE, &s);
    assert_int_equal(s.count[SERIES_RECEIVED], 2);
    pass(10 * SECOND, 10 * SECOND);
    assert_int_equal(received(10 * SECOND), 0);
}

static void a_clock_that_is_set_back_keeps_what_there_is(void **state)
{
    struct stretch s;

    (void)state;
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 2);
    pass(5 * MINUTE, 10 * SECOND);
    w.now_ms -= 60 * MINUTE;
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 1);
    pass(MINUTE, 10 * SECOND);
    window_last(w.window, MINUTE, &s);
    assert_int_equal(s.count[SERIES_RECEIVED], 1);
    window_last(w.window, 60 * MINUTE, &s);
    assert_int_equal(s.count[SERIES_RECEIVED], 3);
    assert_in_range(s.to_ms - s.from_ms, 5 * MINUTE, 6 * MINUTE);
}

static void the_same_instant_is_one_snapshot(void **state)
{
    (void)state;
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 2);
    for (int i = 0; i < 2 * LIMIT_WINDOW_FINE; i++)
        window_take(w.window, w.now_ms);
    pass(10 * SECOND, 10 * SECOND);
    assert_int_equal(received(10 * SECOND), 0);
}

static void signature_failures_are_not_all_refusals(void **state)
{
    static const char *const bad[] = { "no_header", "malformed", "no_timestamp", "no_v1",
                                       "mismatch",  "too_old",   "future" };
    struct stretch s;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        metrics_count_as(w.metrics, COUNT_WEBHOOK_REJECTED, str_of(bad[i]), 1);
    metrics_count_as(w.metrics, COUNT_WEBHOOK_REJECTED, S("address"), 100);
    metrics_count_as(w.metrics, COUNT_WEBHOOK_REJECTED, S("empty"), 100);
    pass(10 * SECOND, 10 * SECOND);
    window_last(w.window, MINUTE, &s);
    assert_int_equal(s.count[SERIES_BAD_SIGNATURES], COUNT(bad));
}

static void p95_is_interpolated_within_its_bucket(void **state)
{
    static const struct {
        const char *why;
        int fast, slow; /* of 1 ms, of 400 ms: in (200, 500] */
        int64_t us;
    } rows[] = {
        { "all are fast: within (500, 1000]", 100, 0, 500 + 475 },
        { "five of a hundred: the last of the fast", 95, 5, 1000 },
        { "ten of a hundred: in the middle of the slow", 90, 10, 350000 },
        { "all are slow", 0, 100, 485000 },
        { "one alone", 0, 1, 485000 },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stretch s;

        anew(state);
        for (int n = 0; n < rows[i].fast; n++)
            metrics_time(w.metrics, TIME_ACK, 1000);
        for (int n = 0; n < rows[i].slow; n++)
            metrics_time(w.metrics, TIME_ACK, 400000);
        pass(10 * SECOND, 10 * SECOND);
        window_last(w.window, 5 * MINUTE, &s);
        if (stretch_p95_us(&s, CURVE_ACK) != rows[i].us ||
            stretch_events(&s, CURVE_ACK) != rows[i].fast + rows[i].slow)
            fail_msg("%s: %lld", rows[i].why, (long long)stretch_p95_us(&s, CURVE_ACK));
    }
}

static void above_the_last_bound_is_above_it(void **state)
{
    int64_t last = metrics_bounds_us()[METRICS_BUCKETS - 1];
    struct stretch s;

    (void)state;
    metrics_time(w.metrics, TIME_END_TO_END, 100 * last);
    pass(10 * SECOND, 10 * SECOND);
    window_last(w.window, MINUTE, &s);
    assert_true(stretch_p95_us(&s, CURVE_END_TO_END) > last);
    assert_true(last >= 10 * 1000 * 1000); /* or "p95 > 10 s" could not be told */
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH(what_is_older_than_the_window_does_not_count),
        WITH(before_a_window_has_passed_it_begins_at_the_start),
        WITH(nothing_taken_is_nothing_counted),
        WITH(a_day_is_kept_by_the_minute_and_no_more),
        WITH(a_clock_that_jumps_loses_nothing),
        WITH(a_clock_that_is_set_back_keeps_what_there_is),
        WITH(the_same_instant_is_one_snapshot),
        WITH(signature_failures_are_not_all_refusals),
        WITH(p95_is_interpolated_within_its_bucket),
        WITH(above_the_last_bound_is_above_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
