#include "observe/metrics.h"
#include "unit/cm.h"

#include <string.h>

static const char *printed(struct metrics *m, bool openmetrics, struct buf *b)
{
    buf_clear(b);
    metrics_print(m, openmetrics, b);
    buf_char(b, '\0');
    assert_false(b->failed);
    return b->p;
}

static void every_series_is_there_from_the_start(void **state)
{
    struct metrics *m = metrics_new();
    struct buf b;
    const char *text;

    (void)state;
    buf_init(&b, 1 << 20);
    text = printed(m, false, &b);
    assert_non_null(strstr(text, "# TYPE ichido_webhook_received_total counter\n"));
    assert_non_null(strstr(text, "ichido_webhook_rejected_total{reason=\"too_old\"} 0\n"));
    assert_non_null(strstr(text, "ichido_webhook_ack_seconds_bucket{le=\"+Inf\"} 0\n"));
    assert_null(strstr(text, "# EOF"));
    text = printed(m, true, &b);
    assert_non_null(strstr(text, "# TYPE ichido_webhook_received counter\n"));
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
    assert_non_null(strstr(text, "ack_seconds_bucket{le=\"0.0005\"} 1\n"));
    assert_non_null(strstr(text, "ack_seconds_bucket{le=\"0.001\"} 2\n"));
    assert_non_null(strstr(text, "ack_seconds_bucket{le=\"10.0\"} 2\n"));
    assert_non_null(strstr(text, "ack_seconds_bucket{le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(text, "ack_seconds_sum 99.001001\n"));
    assert_non_null(strstr(text, "ack_seconds_count 3\n"));
    buf_release(&b);
    metrics_free(m);
}

static void a_label_value_counts_for_itself(void **state)
{
    struct metrics *m = metrics_new();

    (void)state;
    metrics_count_as(m, COUNT_WEBHOOK_REJECTED, S("mismatch"), 2);
    metrics_count_as(m, COUNT_WEBHOOK_REJECTED, S("too_old"), 1);
    metrics_count(m, COUNT_WEBHOOK_RECEIVED, 3);
    assert_int_equal(metrics_read(m, COUNT_WEBHOOK_REJECTED, S("mismatch")), 2);
    assert_int_equal(metrics_read(m, COUNT_WEBHOOK_REJECTED, S("too_old")), 1);
    assert_int_equal(metrics_read(m, COUNT_WEBHOOK_REJECTED, S("no_header")), 0);
    assert_int_equal(metrics_read(m, COUNT_WEBHOOK_RECEIVED, S("")), 3);
    metrics_count(NULL, COUNT_WEBHOOK_RECEIVED, 3); /* a node without metrics */
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_series_is_there_from_the_start),
        TEST(a_bucket_holds_what_is_not_larger),
        TEST(a_label_value_counts_for_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
