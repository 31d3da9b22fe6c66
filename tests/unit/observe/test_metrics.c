#include "observe/metrics.h"
#include "unit/cm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *printed(struct metrics *m, bool openmetrics, struct buf *b)
{
    buf_clear(b);
    metrics_print(m, openmetrics, b);
    buf_char(b, '\0');
    assert_false(b->failed);
    return b->p;
}

static void assert_has(const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("not printed: %s", line);
}

static void every_series_is_there_from_the_start(void **state)
{
    static const char *const lines[] = {
        "# TYPE ichido_webhook_received_total counter\nichido_webhook_received_total 0\n",
        "ichido_webhook_rejected_total{reason=\"too_old\"} 0\n",
        "ichido_webhook_ack_seconds_bucket{le=\"+Inf\"} 0\n",
        "payment_create_total{status=\"success\"} 0\n",
        "payment_create_total{status=\"failed\"} 0\n",
        "payment_create_total{status=\"gateway_error\"} 0\n",
        "payment_create_duration_seconds_bucket{status=\"failed\",le=\"1.0\"} 0\n",
        "payment_create_duration_seconds_sum{status=\"failed\"} 0.000000\n",
        "payment_create_duration_seconds_count{status=\"gateway_error\"} 0\n",
        "payment_idempotency_hit_total 0\n",
        "# TYPE payment_amount_total counter\n",
        "ichido_idempotency_violation_total{kind=\"gateway_key\"} 0\n",
        "ichido_queue_dead_letters_total 0\n",
    };
    struct metrics *m = metrics_new();
    struct buf b;
    const char *text;

    (void)state;
    buf_init(&b, 1 << 20);
    text = printed(m, false, &b);
    for (size_t i = 0; i < COUNT(lines); i++)
        assert_has(text, lines[i]);
    assert_null(strstr(text, "# EOF"));
    assert_null(strstr(text, "ichido_build_info")); /* nobody said which */
    text = printed(m, true, &b);
    assert_has(text, "# TYPE ichido_webhook_received counter\n# HELP ichido_webhook_received ");
    assert_has(text, "\nichido_webhook_received_total 0\n");
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    buf_release(&b);
    metrics_free(m);
}

static void a_bucket_holds_what_is_not_larger(void **state)
{
    struct metrics *m = metrics_new();
    struct buf b;
    const char *text;

    (void)state;
    buf_init(&b, 1 << 20);
    metrics_time(m, TIME_ACK, 500); /* exactly a bound: inside */
    metrics_time(m, TIME_ACK, 501);
    metrics_time(m, TIME_ACK, 99000000); /* only +Inf */
    text = printed(m, false, &b);
    assert_has(text, "ack_seconds_bucket{le=\"0.0005\"} 1\n");
    assert_has(text, "ack_seconds_bucket{le=\"0.001\"} 2\n");
    assert_has(text, "ack_seconds_bucket{le=\"60.0\"} 2\n");
    assert_has(text, "ack_seconds_bucket{le=\"+Inf\"} 3\n");
    assert_has(text, "ack_seconds_sum 99.001001\n");
    assert_has(text, "ack_seconds_count 3\n");
    buf_release(&b);
    metrics_free(m);
}

static void a_bound_is_written_as_what_it_is(void **state)
{
    const int64_t *bounds = metrics_bounds_us();
    struct metrics *m = metrics_new();
    struct buf b;
    const char *text;

    (void)state;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < METRICS_BUCKETS; i++)
        metrics_time(m, TIME_COMMIT, bounds[i]);
    text = strstr(printed(m, false, &b), "ichido_store_commit_seconds_bucket");
    for (int i = 0; i < METRICS_BUCKETS; i++) {
        double le;
        long long count;

        assert_int_equal(
            sscanf(text, "ichido_store_commit_seconds_bucket{le=\"%lf\"} %lld\n", &le, &count), 2);
        assert_true(le * 1e6 > (double)bounds[i] - 0.5 && le * 1e6 < (double)bounds[i] + 0.5);
        assert_int_equal(count, i + 1);
        text = strchr(text, '\n') + 1;
    }
    buf_release(&b);
    metrics_free(m);
}

static void a_label_value_counts_for_itself(void **state)
{
    struct metrics *m = metrics_new();

    (void)state;
    metrics_count_as(m, COUNT_WEBHOOK_REJECTED, S("mismatch"), 2);
    metrics_count_as(m, COUNT_WEBHOOK_REJECTED, S("too_old"), 1);
    metrics_count_as(m, COUNT_WEBHOOK_REJECTED, S("no such reason"), 4); /* the last one */
    metrics_count(m, COUNT_WEBHOOK_RECEIVED, 3);
    assert_int_equal(metrics_read(m, COUNT_WEBHOOK_REJECTED, S("mismatch")), 2);
    assert_int_equal(metrics_read(m, COUNT_WEBHOOK_REJECTED, S("too_old")), 1);
    assert_int_equal(metrics_read(m, COUNT_WEBHOOK_REJECTED, S("no_header")), 0);
    assert_int_equal(metrics_read(m, COUNT_WEBHOOK_REJECTED, S("empty")), 4);
    assert_int_equal(metrics_read(m, COUNT_WEBHOOK_RECEIVED, S("")), 3);
    assert_int_equal(metrics_sum(m, COUNT_WEBHOOK_REJECTED, S(""), S("")), 7);
    metrics_free(m);
}

static void three_labels_are_as_many_places(void **state)
{
    struct metrics *m = metrics_new();
    unsigned char paypay = metrics_gateway(m, S("paypay"));
    struct buf b;
    const char *text;

    (void)state;
    buf_init(&b, 1 << 20);
    metrics_count_at(m, COUNT_GATEWAY_REQUEST, AT(paypay, 1, 0), 5); /* capture, ok */
    metrics_count_at(m, COUNT_GATEWAY_REQUEST, AT(paypay, 1, 1), 2);
    metrics_count_at(m, COUNT_GATEWAY_REQUEST, AT(paypay, 0, 1), 1);
    metrics_time_at(m, TIME_GATEWAY, AT(paypay, 1), 20000);
    assert_int_equal(metrics_read_at(m, COUNT_GATEWAY_REQUEST, AT(paypay, 1, 0)), 5);
    assert_int_equal(metrics_sum(m, COUNT_GATEWAY_REQUEST, S("operation"), S("capture")), 7);
    assert_int_equal(metrics_sum(m, COUNT_GATEWAY_REQUEST, S("status"), S("declined")), 3);
    assert_int_equal(metrics_sum(m, COUNT_GATEWAY_REQUEST, S("gateway"), S("stripe")), 0);
    assert_int_equal(metrics_sum(m, COUNT_GATEWAY_REQUEST, S(""), S("")), 8);
    text = printed(m, false, &b);
    assert_has(text, "{gateway=\"paypay\",operation=\"capture\",status=\"ok\"} 5\n");
    assert_has(text, "{gateway=\"paypay\",operation=\"expire\",status=\"turned_away\"} 0\n");
    assert_has(text, "{gateway=\"paypay\",operation=\"capture\",le=\"0.025\"} 1\n");
    assert_null(strstr(text, "gateway=\"stripe\"")); /* it is not set up */
    buf_release(&b);
    metrics_free(m);
}

static void a_currency_appears_when_it_is_used(void **state)
{
    struct metrics *m = metrics_new();
    struct buf b;
    const char *text;

    (void)state;
    buf_init(&b, 1 << 20);
    assert_null(strstr(printed(m, false, &b), "currency="));
    metrics_add(metrics_amount_cell(m, "JPY", AMOUNT_CAPTURED), 1200);
    metrics_add(metrics_amount_cell(m, "USD", AMOUNT_AUTHORIZED), 999);
    metrics_add(metrics_amount_cell(m, "JPY", AMOUNT_CAPTURED), 300);
    text = printed(m, false, &b);
    assert_has(text, "payment_amount_total{currency=\"JPY\",status=\"AUTHORIZED\"} 0\n");
    assert_has(text, "payment_amount_total{currency=\"JPY\",status=\"CAPTURED\"} 1500\n");
    assert_has(text, "payment_amount_total{currency=\"USD\",status=\"AUTHORIZED\"} 999\n");
    assert_null(strstr(text, "currency=\"other\""));
    assert_int_equal(metrics_sum(m, COUNT_PAYMENT_AMOUNT, S("currency"), S("JPY")), 1500);
    assert_int_equal(metrics_sum(m, COUNT_PAYMENT_AMOUNT, S("status"), S("AUTHORIZED")), 999);
    buf_release(&b);
    metrics_free(m);
}

static void currencies_have_a_bound(void **state)
{
    struct metrics *m = metrics_new();
    struct buf b;
    const char *text;

    (void)state;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < METRICS_CURRENCIES + 10; i++) {
        char currency[4] = { (char)('A' + i / 26), (char)('A' + i % 26), 'X', 0 };

        metrics_add(metrics_amount_cell(m, currency, AMOUNT_REFUNDED), 1);
    }
    text = printed(m, false, &b);
    assert_has(text, "{currency=\"other\",status=\"REFUNDED\"} 10\n");
    assert_has(text, "{currency=\"AAX\",status=\"REFUNDED\"} 1\n");
    assert_int_equal(metrics_sum(m, COUNT_PAYMENT_AMOUNT, S(""), S("")), METRICS_CURRENCIES + 10);
    buf_release(&b);
    metrics_free(m);
}

static void buckets_are_read_by_series_or_together(void **state)
{
    struct metrics *m = metrics_new();
    int64_t n[METRICS_BUCKETS + 1];

    (void)state;
    metrics_time_at(m, TIME_CREATE, AT(CREATE_SUCCESS), 1);
    metrics_time_at(m, TIME_CREATE, AT(CREATE_FAILED), 1);
    metrics_time_at(m, TIME_CREATE, AT(CREATE_FAILED), INT64_C(1) << 40);
    assert_int_equal(metrics_buckets(m, TIME_CREATE, CREATE_FAILED, n), 2);
    assert_int_equal(n[0], 1);
    assert_int_equal(n[METRICS_BUCKETS], 1);
    assert_int_equal(metrics_buckets(m, TIME_CREATE, METRICS_ALL, n), 3);
    assert_int_equal(n[0], 2);
    assert_int_equal(metrics_buckets(m, TIME_ACK, METRICS_ALL, n), 0);
    metrics_free(m);
}

static void without_metrics_nothing_is_counted(void **state)
{
    (void)state;
    metrics_count(NULL, COUNT_WEBHOOK_RECEIVED, 3);
    metrics_count_as(NULL, COUNT_JOB, S("done"), 1);
    metrics_time_at(NULL, TIME_GATEWAY, AT(0, 0), 1);
    metrics_set(NULL, GAUGE_DEAD, 1);
    metrics_set_version(NULL, "1");
    assert_int_equal(metrics_gateway(NULL, S("sandbox")), 1);
    assert_null(metrics_cell(NULL, COUNT_DEAD, AT(0)));
    assert_null(metrics_amount_cell(NULL, "JPY", AMOUNT_CAPTURED));
    metrics_add(NULL, 1);
}

static void the_program_says_which_it_is(void **state)
{
    struct metrics *m = metrics_new();
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    metrics_set_version(m, "1.2.3");
    assert_has(printed(m, false, &b), "ichido_build_info{version=\"1.2.3\"} 1\n");
    buf_release(&b);
    metrics_free(m);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *count_much(void *ctx)
{
    struct metrics *m = ctx;

    for (int i = 0; i < ROUNDS; i++) {
        char currency[4] = { 'X', 'A', (char)('A' + i % 26), 0 };

        metrics_count_as(m, COUNT_JOB, S("done"), 1);
        metrics_time_at(m, TIME_CREATE, AT(CREATE_FAILED), i);
        metrics_add(metrics_amount_cell(m, currency, AMOUNT_CAPTURED), 1);
    }
    return NULL;
}

/* Under tsan, too. */
static void threads_lose_nothing(void **state)
{
    struct metrics *m = metrics_new();
    int64_t n[METRICS_BUCKETS + 1];
    pthread_t t[THREADS];
    struct buf b;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, count_much, m), 0);
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 10; i++)
        printed(m, i % 2, &b);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(metrics_read(m, COUNT_JOB, S("done")), THREADS * ROUNDS);
    assert_int_equal(metrics_buckets(m, TIME_CREATE, METRICS_ALL, n), THREADS * ROUNDS);
    assert_int_equal(metrics_sum(m, COUNT_PAYMENT_AMOUNT, S(""), S("")), THREADS * ROUNDS);
    for (int i = 0; i < 26; i++) {
        char currency[4] = { 'X', 'A', (char)('A' + i), 0 };
        int64_t each = THREADS * (ROUNDS / 26 + (i < ROUNDS % 26));

        assert_int_equal(
            metrics_sum(m, COUNT_PAYMENT_AMOUNT, S("currency"), (struct str){ currency, 3 }), each);
    }
    buf_release(&b);
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_series_is_there_from_the_start),
        TEST(a_bucket_holds_what_is_not_larger),
        TEST(a_bound_is_written_as_what_it_is),
        TEST(a_label_value_counts_for_itself),
        TEST(three_labels_are_as_many_places),
        TEST(a_currency_appears_when_it_is_used),
        TEST(currencies_have_a_bound),
        TEST(buckets_are_read_by_series_or_together),
        TEST(without_metrics_nothing_is_counted),
        TEST(the_program_says_which_it_is),
        TEST(threads_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
