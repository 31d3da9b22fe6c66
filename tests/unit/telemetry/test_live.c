/* The points of the live charts: differences of two seconds, ten minutes of them. */
#include "base/limits.h"
#include "telemetry/live.h"
#include "unit/cm.h"

static const int64_t start_ms = 1763300000000;

static struct {
    struct metrics *metrics;
    struct live *live;
    int64_t now_ms;
    struct live_levels levels;
} w;

static int setup(void **state)
{
    (void)state;
    w.metrics = metrics_new();
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 1000); /* before anybody looked */
    w.now_ms = start_ms;
    w.live = live_new(w.metrics, w.now_ms);
    w.levels = (struct live_levels){ 0 };
    return 0;
}

static int end(void **state)
{
    (void)state;
    w.live = live_free(w.live);
    metrics_free(w.metrics);
    return 0;
}

static void tick(void)
{
    w.now_ms += LIMIT_LIVE_MS;
    live_take(w.live, w.now_ms, &w.levels);
}

static const struct live_point *newest(void)
{
    return live_at(w.live, live_count(w.live) - 1);
}

static void a_point_is_what_happened_since_the_one_before(void **state)
{
    (void)state;
    assert_int_equal(live_count(w.live), 0);
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 3);
    metrics_count_as(w.metrics, COUNT_PAYMENT_CREATE, S("success"), 2);
    metrics_count_as(w.metrics, COUNT_PAYMENT_CREATE, S("failed"), 1);
    metrics_count(w.metrics, COUNT_IDEMPOTENCY_HIT, 4);
    metrics_count_as(w.metrics, COUNT_EVENT_OUTCOME, S("applied"), 5);
    metrics_count_as(w.metrics, COUNT_EVENT_OUTCOME, S("ignored"), 50);
    metrics_count_as(w.metrics, COUNT_HTTP, S("5xx"), 6);
    metrics_count_as(w.metrics, COUNT_HTTP, S("2xx"), 60);
    metrics_count_as(w.metrics, COUNT_JOB, S("done"), 7);
    metrics_count(w.metrics, COUNT_DEAD, 8);
    w.levels = (struct live_levels){ .queue_live = 9, .oldest_ready_ms = 10, .in_flight = 11 };
    tick();
    assert_int_equal(newest()->at_ms, start_ms + LIMIT_LIVE_MS);
    assert_int_equal(newest()->webhooks, 3);
    assert_int_equal(newest()->payments, 3);
    assert_int_equal(newest()->replays, 4);
    assert_int_equal(newest()->applied, 5);
    assert_int_equal(newest()->errors, 6);
    assert_int_equal(newest()->jobs, 7);
    assert_int_equal(newest()->dead, 8);
    assert_int_equal(newest()->levels.queue_live, 9);
    assert_int_equal(newest()->levels.oldest_ready_ms, 10);
    assert_int_equal(newest()->levels.in_flight, 11);
    tick();
    assert_int_equal(newest()->webhooks + newest()->payments + newest()->jobs, 0);
    assert_int_equal(live_count(w.live), 2);
}

static void percentiles_are_of_the_interval_alone(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        metrics_time(w.metrics, TIME_ACK, 900);
    metrics_time_at(w.metrics, TIME_CREATE, AT(CREATE_SUCCESS), 20 * 1000);
    tick();
    assert_true(newest()->ack_p50_us > 0 && newest()->ack_p50_us <= newest()->ack_p95_us);
    assert_true(newest()->ack_p95_us <= 1000);
    assert_true(newest()->create_p95_us > 1000);
    assert_int_equal(newest()->end_to_end_p95_us, -1);
    metrics_time(w.metrics, TIME_ACK, 400 * 1000);
    tick();
    assert_true(newest()->ack_p50_us > 1000); /* the hundred fast ones are of the point before */
    assert_int_equal(newest()->create_p95_us, -1);
}

static void ten_minutes_are_kept_and_no_more(void **state)
{
    (void)state;
    for (int i = 0; i < LIMIT_LIVE_POINTS + 50; i++) {
        metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, i);
        tick();
    }
    assert_int_equal(live_count(w.live), LIMIT_LIVE_POINTS);
    assert_int_equal(live_at(w.live, 0)->webhooks, 50);
    assert_int_equal(newest()->webhooks, LIMIT_LIVE_POINTS + 49);
    for (size_t i = 1; i < live_count(w.live); i++)
        assert_int_equal(live_at(w.live, i)->at_ms - live_at(w.live, i - 1)->at_ms, LIMIT_LIVE_MS);
}

static void a_clock_that_stands_still_loses_nothing(void **state)
{
    (void)state;
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 3);
    live_take(w.live, w.now_ms, &w.levels);
    assert_int_equal(live_count(w.live), 0);
    tick();
    assert_int_equal(newest()->webhooks, 3);
}

static void a_clock_that_is_set_back_keeps_the_order(void **state)
{
    (void)state;
    tick();
    tick();
    metrics_count(w.metrics, COUNT_WEBHOOK_RECEIVED, 3);
    w.now_ms -= 3600 * 1000;
    live_take(w.live, w.now_ms, &w.levels);
    tick();
    assert_int_equal(newest()->webhooks, 3);
    for (size_t i = 1; i < live_count(w.live); i++)
        assert_true(live_at(w.live, i)->at_ms > live_at(w.live, i - 1)->at_ms);
    assert_int_equal(newest()->at_ms, w.now_ms);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH(a_point_is_what_happened_since_the_one_before),
        WITH(percentiles_are_of_the_interval_alone),
        WITH(ten_minutes_are_kept_and_no_more),
        WITH(a_clock_that_stands_still_loses_nothing),
        WITH(a_clock_that_is_set_back_keeps_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
