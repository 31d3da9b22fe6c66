/* Every rule's border, hysteresis, and the goals. */
#include "base/limits.h"
#include "telemetry/alerts.h"
#include "telemetry/slo.h"
#include "unit/cm.h"

#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
static const int64_t start_ms = 1763300000000;

static struct {
    struct metrics *metrics;
    struct window *window;
} w;

static int setup(void **state)
{
    (void)state;
    w.metrics = metrics_new();
    w.window = window_new(w.metrics);
    window_take(w.window, start_ms);
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

/* --- the rules of a node --- */

static void many(enum histogram h, int64_t us, int n)
{
    for (int i = 0; i < n; i++)
        metrics_time(w.metrics, h, us);
}

static void count(enum counter c, const char *value, int64_t n)
{
    if (n)
        metrics_count_as(w.metrics, c, str_of(value), n);
}

static void each_rule_has_its_border(void **state)
{
    static const struct {
        const char *why;
        enum alert alert;
        int done, retried, dead, unstored, bad, sent, failed;
        int64_t value;
        bool above;
    } rows[] = {
        { "exactly 1 %", ALERT_WEBHOOK_FAILURES, 990, 0, 5, 5, 0, 0, 0, 1000, false },
        { "just above 1 %", ALERT_WEBHOOK_FAILURES, 989, 0, 6, 5, 0, 0, 0, 1100, true },
        { "one failure of two is none", ALERT_WEBHOOK_FAILURES, 1, 0, 1, 0, 0, 0, 0, 0, false },
        { "two of nineteen are too few", ALERT_WEBHOOK_FAILURES, 17, 0, 2, 0, 0, 0, 0, 0, false },
        { "two of twenty are not", ALERT_WEBHOOK_FAILURES, 18, 0, 2, 0, 0, 0, 0, 10000, true },
        { "one of fifty is alone", ALERT_WEBHOOK_FAILURES, 49, 0, 1, 0, 0, 0, 0, 0, false },
        { "a retry is no failure yet", ALERT_WEBHOOK_FAILURES, 50, 50, 0, 0, 0, 0, 0, 0, false },
        { "all were refused", ALERT_WEBHOOK_FAILURES, 0, 0, 0, 20, 0, 0, 0, 100000, true },
        { "ten a minute", ALERT_SIGNATURES, 0, 0, 0, 0, 10, 0, 0, 10000, false },
        { "eleven a minute", ALERT_SIGNATURES, 0, 0, 0, 0, 11, 0, 0, 11000, true },
        { "exactly 1 % unpublished", ALERT_PUBLISH, 0, 0, 0, 0, 0, 198, 2, 1000, false },
        { "more than 1 % unpublished", ALERT_PUBLISH, 0, 0, 0, 0, 0, 197, 2, 1005, true },
        { "nothing was published", ALERT_PUBLISH, 100, 0, 0, 0, 0, 0, 0, 0, false },
        { "exactly 0.5 %", ALERT_WORKER, 398, 1, 1, 0, 0, 0, 0, 500, false },
        { "more than 0.5 %", ALERT_WORKER, 397, 1, 1, 0, 0, 0, 0, 501, true },
        { "a small shop's one broken event", ALERT_WEBHOOK_FAILURES, 2, 3, 1, 0, 0, 0, 0, 0,
          false },
        { "and its tries", ALERT_WORKER, 2, 3, 1, 0, 0, 0, 0, 0, false },
        { "two are broken, and nothing else", ALERT_WORKER, 0, 6, 2, 0, 0, 0, 0, 100000, true },
        { "all that a small shop got", ALERT_WEBHOOK_FAILURES, 0, 9, 3, 0, 0, 0, 0, 100000, true },
        { "half of six", ALERT_WEBHOOK_FAILURES, 3, 0, 1, 2, 0, 0, 0, 50000, true },
        { "less than half of seven", ALERT_WEBHOOK_FAILURES, 4, 0, 1, 2, 0, 0, 0, 0, false },
        { "Q5: one event's three tries", ALERT_PUBLISH, 0, 0, 0, 0, 0, 0, 3, 100000, true },
        { "two tries, then it went", ALERT_PUBLISH, 0, 0, 0, 0, 0, 1, 2, 0, false },
        { "unstored ones are not the worker's", ALERT_WORKER, 30, 0, 0, 30, 0, 0, 0, 0, false },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t value;

        anew(state);
        count(COUNT_PROCESSING, "done", rows[i].done);
        count(COUNT_PROCESSING, "retried", rows[i].retried);
        count(COUNT_PROCESSING, "dead", rows[i].dead);
        metrics_count(w.metrics, COUNT_WEBHOOK_UNSTORED, rows[i].unstored);
        count(COUNT_WEBHOOK_REJECTED, "mismatch", rows[i].bad);
        count(COUNT_PUBLISH, "sent", rows[i].sent);
        count(COUNT_PUBLISH, "failed", rows[i].failed);
        window_take(w.window, start_ms + 10 * SECOND);
        value = alert_value_here(rows[i].alert, w.window);
        if (value != rows[i].value || (value > alert_threshold(rows[i].alert, 0)) != rows[i].above)
            fail_msg("%s: %lld", rows[i].why, (long long)value);
    }
}

static void slow_answers_have_their_borders(void **state)
{
    static const struct {
        const char *why;
        enum alert alert;
        enum histogram histogram;
        int64_t slow_us;
        int fast, slow;
        bool above;
    } rows[] = {
        { "499 ms", ALERT_WEBHOOK_P95, TIME_ACK, 499000, 0, 100, false },
        { "slow, but too few", ALERT_WEBHOOK_P95, TIME_ACK, 900000, 0, 19, false },
        { "slow, and enough", ALERT_WEBHOOK_P95, TIME_ACK, 900000, 0, 20, true },
        { "5 of 100 may be slow", ALERT_WEBHOOK_P95, TIME_ACK, 900000, 95, 5, false },
        { "6 of 100 may not", ALERT_WEBHOOK_P95, TIME_ACK, 900000, 94, 6, true },
        { "9.9 s", ALERT_END_TO_END, TIME_END_TO_END, 9900000, 0, 100, false },
        { "above 10 s", ALERT_END_TO_END, TIME_END_TO_END, 90000000, 0, 100, true },
        { "above 10 s, but too few", ALERT_END_TO_END, TIME_END_TO_END, 90000000, 0, 19, false },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        anew(state);
        many(rows[i].histogram, 1000, rows[i].fast);
        many(rows[i].histogram, rows[i].slow_us, rows[i].slow);
        window_take(w.window, start_ms + 10 * SECOND);
        if ((alert_value_here(rows[i].alert, w.window) > alert_threshold(rows[i].alert, 0)) !=
            rows[i].above)
            fail_msg("%s: %lld", rows[i].why, (long long)alert_value_here(rows[i].alert, w.window));
    }
}

static void signatures_are_of_the_last_minute(void **state)
{
    (void)state;
    count(COUNT_WEBHOOK_REJECTED, "mismatch", 11);
    for (int i = 1; i <= 6; i++)
        window_take(w.window, start_ms + i * 10 * SECOND);
    assert_int_equal(alert_value_here(ALERT_SIGNATURES, w.window), 11000);
    window_take(w.window, start_ms + 70 * SECOND);
    assert_int_equal(alert_value_here(ALERT_SIGNATURES, w.window), 0);
}

/* --- the rules of all --- */

static void rules_of_all_have_their_borders(void **state)
{
    static const int64_t day = 24 * HOUR, unknown = 15 * MINUTE;
    static const struct {
        const char *why;
        enum alert alert;
        struct alert_facts facts;
        bool above;
    } rows[] = {
        { "no dead letter", ALERT_DLQ, { 0, 0, 0 }, false },
        { "one dead letter", ALERT_DLQ, { 1, 0, 0 }, true },
        { "a day old", ALERT_DLQ_AGE, { 1, day, 0 }, false },
        { "a day and four seconds", ALERT_DLQ_AGE, { 1, day + 4 * SECOND, 0 }, true },
        { "a year", ALERT_DLQ_AGE, { 1, day * 365, 0 }, true },
        { "all is known", ALERT_UNKNOWN, { 0, 0, 0 }, false },
        { "unknown as long as is set", ALERT_UNKNOWN, { 0, 0, unknown }, false },
        { "unknown for longer", ALERT_UNKNOWN, { 0, 0, unknown + 1 }, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if ((alert_value_of_all(rows[i].alert, &rows[i].facts) >
             alert_threshold(rows[i].alert, unknown)) != rows[i].above)
            fail_msg("%s", rows[i].why);
}

static void every_rule_has_words_in_both_languages(void **state)
{
    (void)state;
    for (int a = 0; a < ALERTS; a++) {
        const struct alert_rule *r = alert_rule((enum alert)a);
        enum alert same;

        assert_true(alert_named(str_of(r->name), &same) && same == (enum alert)a);
        for (int l = 0; l < 2; l++) {
            assert_true(strlen(r->words[l]) > 10 && strlen(r->next[l]) > 10);
            assert_true(str_is_utf8(str_of(r->words[l])) && str_is_utf8(str_of(r->next[l])));
        }
        assert_true(r->of_all == (r->window_ms == 0));
        assert_string_not_equal(r->words[LANG_EN], r->words[LANG_JA]);
    }
    assert_false(alert_named(S("dlq"), &(enum alert){ 0 }));
}

/* --- hysteresis: one rule with a for, threshold 1 % --- */

static void an_alert_swings_as_the_table_says(void **state)
{
    static const struct {
        const char *why;
        int64_t after_ms, value;
        enum alert_news news;
        enum alert_status status;
    } rows[] = {
        { "calm", 10 * SECOND, 0, NEWS_NONE, ALERT_OK },
        { "at the threshold is not above it", 10 * SECOND, 1000, NEWS_NONE, ALERT_OK },
        { "above: it waits", 10 * SECOND, 1001, NEWS_QUIET, ALERT_PENDING },
        { "not long enough", 59 * SECOND, 5000, NEWS_NONE, ALERT_PENDING },
        { "it was a moment", SECOND / 2, 900, NEWS_QUIET, ALERT_OK },
        { "above again", 10 * SECOND, 2000, NEWS_QUIET, ALERT_PENDING },
        { "for so long", 60 * SECOND, 2000, NEWS_FIRES, ALERT_FIRING },
        { "told once", 10 * SECOND, 9000, NEWS_NONE, ALERT_FIRING },
        { "below, not well below", 10 * SECOND, 801, NEWS_NONE, ALERT_FIRING },
        { "well below: it waits", 10 * SECOND, 800, NEWS_QUIET, ALERT_FIRING },
        { "not long enough", 119 * SECOND, 0, NEWS_NONE, ALERT_FIRING },
        { "it was a moment", 500, 900, NEWS_QUIET, ALERT_FIRING },
        { "calm anew", 500, 0, NEWS_QUIET, ALERT_FIRING },
        { "for so long", 120 * SECOND, 0, NEWS_RESOLVED, ALERT_OK },
        { "told once", 120 * SECOND, 0, NEWS_NONE, ALERT_OK },
        { "and from the beginning", 10 * SECOND, 2000, NEWS_QUIET, ALERT_PENDING },
        { "", 60 * SECOND, 2000, NEWS_FIRES, ALERT_FIRING },
        { "it stays", 4 * HOUR - 1, 2000, NEWS_NONE, ALERT_FIRING },
        { "told again", 1, 2000, NEWS_STILL, ALERT_FIRING },
        { "not at once", HOUR, 2000, NEWS_NONE, ALERT_FIRING },
        { "calm in between", HOUR, 100, NEWS_QUIET, ALERT_FIRING },
        { "and long after: resolved, not told again", 9 * HOUR, 100, NEWS_RESOLVED, ALERT_OK },
    };
    struct alert_state s = { 0 };
    int64_t now = start_ms;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum alert_news news;

        now += rows[i].after_ms;
        news = alert_step(alert_rule(ALERT_WEBHOOK_FAILURES), 1000, rows[i].value, now, &s);
        if (news != rows[i].news || s.status != rows[i].status || s.value != rows[i].value)
            fail_msg("row %zu: %s: news %d, status %d", i, rows[i].why, (int)news, (int)s.status);
        if (news > NEWS_QUIET && s.told_ms != now)
            fail_msg("row %zu: %s: told at another time", i, rows[i].why);
    }
}

static void without_a_for_it_fires_at_once_and_none_is_well_below_none(void **state)
{
    struct alert_state s = { 0 };
    const struct alert_rule *r = alert_rule(ALERT_DLQ);

    (void)state;
    assert_int_equal(alert_step(r, 0, 1000, start_ms, &s), NEWS_FIRES);
    assert_int_equal(s.since_ms, start_ms);
    assert_int_equal(alert_step(r, 0, 2000, start_ms + MINUTE, &s), NEWS_NONE);
    assert_int_equal(alert_step(r, 0, 0, start_ms + 2 * MINUTE, &s), NEWS_QUIET);
    assert_int_equal(alert_step(r, 0, 0, start_ms + 4 * MINUTE, &s), NEWS_RESOLVED);
    assert_int_equal(s.since_ms, start_ms + 4 * MINUTE);
}

static void a_clock_that_was_set_back_holds_nothing_for_ever(void **state)
{
    const struct alert_rule *r = alert_rule(ALERT_DLQ);
    struct alert_state s = { 0 };

    (void)state;
    assert_int_equal(alert_step(r, 0, 1000, start_ms + 100 * HOUR, &s), NEWS_FIRES);
    assert_int_equal(alert_step(r, 0, 0, start_ms + 101 * HOUR, &s), NEWS_QUIET);
    assert_int_equal(alert_step(r, 0, 0, start_ms, &s), NEWS_QUIET); /* days earlier */
    assert_int_equal(alert_step(r, 0, 0, start_ms + 2 * MINUTE, &s), NEWS_RESOLVED);
}

static void numbers_are_written_as_people_do(void **state)
{
    static const struct {
        int64_t n;
        const char *text;
    } rows[] = { { 0, "0" },        { 1000, "1" },         { 500, "0.5" }, { 12345, "12.345" },
                 { 99900, "99.9" }, { 10000000, "10000" }, { 1, "0.001" } };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[ALERT_NUMBER];

        alert_number(rows[i].n, text);
        assert_string_equal(text, rows[i].text);
    }
}

/* --- goals --- */

static void a_goal_is_met_at_its_border_and_not_beyond(void **state)
{
    static const struct {
        const char *why;
        enum goal goal;
        int64_t n[SERIES];
        bool remote;
        enum goal_verdict verdict;
        int64_t value;
    } rows[] = {
        { "nothing came", GOAL_RECEPTION, { 0 }, false, GOAL_NO_DATA, 0 },
        { "99.9 %",
          GOAL_RECEPTION,
          { [SERIES_RECEIVED] = 999, [SERIES_UNSTORED] = 1 },
          false,
          GOAL_MET,
          99900 },
        { "below 99.9 %",
          GOAL_RECEPTION,
          { [SERIES_RECEIVED] = 9989, [SERIES_UNSTORED] = 11 },
          false,
          GOAL_MISSED,
          99890 },
        { "just below is not rounded up",
          GOAL_RECEPTION,
          { [SERIES_RECEIVED] = 998999, [SERIES_UNSTORED] = 1001 },
          false,
          GOAL_MISSED,
          99899 },
        { "stored is published",
          GOAL_PUBLISH,
          { [SERIES_RECEIVED] = 10 },
          false,
          GOAL_MET,
          100000 },
        { "not with a remote queue",
          GOAL_PUBLISH,
          { [SERIES_RECEIVED] = 10 },
          true,
          GOAL_NO_DATA,
          0 },
        { "tries to publish count",
          GOAL_PUBLISH,
          { [SERIES_PUBLISHED] = 998, [SERIES_PUBLISH_FAILED] = 2 },
          true,
          GOAL_MISSED,
          99800 },
        { "99.5 %",
          GOAL_WORKER,
          { [SERIES_DONE] = 995, [SERIES_RETRIED] = 4, [SERIES_GIVEN_UP] = 1 },
          false,
          GOAL_MET,
          99500 },
        { "below 99.5 %",
          GOAL_WORKER,
          { [SERIES_DONE] = 994, [SERIES_RETRIED] = 5, [SERIES_GIVEN_UP] = 1 },
          false,
          GOAL_MISSED,
          99400 },
        { "1 % is not below 1 %",
          GOAL_RETRIES,
          { [SERIES_DONE] = 99, [SERIES_RETRIED] = 1 },
          false,
          GOAL_MISSED,
          1000 },
        { "below 1 %",
          GOAL_RETRIES,
          { [SERIES_DONE] = 991, [SERIES_RETRIED] = 9 },
          false,
          GOAL_MET,
          900 },
        { "none died", GOAL_DLQ_INFLOW, { [SERIES_DONE] = 1 }, false, GOAL_MET, 0 },
        { "one died",
          GOAL_DLQ_INFLOW,
          { [SERIES_DONE] = 1000, [SERIES_DEAD] = 1 },
          false,
          GOAL_MISSED,
          1000 },
        { "one died, and that was all",
          GOAL_DLQ_INFLOW,
          { [SERIES_DEAD] = 1 },
          false,
          GOAL_MISSED,
          1000 },
        { "0.1 % is not below",
          GOAL_ERRORS,
          { [SERIES_DONE] = 999, [SERIES_UNSTORED] = 1 },
          false,
          GOAL_MISSED,
          100 },
        { "below 0.1 %",
          GOAL_ERRORS,
          { [SERIES_DONE] = 1000, [SERIES_UNSTORED] = 1 },
          false,
          GOAL_MET,
          100 },
        { "no violation", GOAL_VIOLATIONS, { [SERIES_RECEIVED] = 5 }, false, GOAL_MET, 0 },
        { "one violation", GOAL_VIOLATIONS, { [SERIES_VIOLATIONS] = 1 }, false, GOAL_MISSED, 1000 },
        { "nothing was answered", GOAL_LATENCY, { [SERIES_DONE] = 1 }, false, GOAL_NO_DATA, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stretch s = { 0 };
        struct goal_result r;

        memcpy(s.count, rows[i].n, sizeof(s.count));
        r = goal_measure(rows[i].goal, &s, rows[i].remote);
        if (r.verdict != rows[i].verdict || r.value != rows[i].value)
            fail_msg("%s: verdict %d, value %lld", rows[i].why, (int)r.verdict, (long long)r.value);
    }
}

static void answers_are_fast_below_200_ms(void **state)
{
    struct stretch s;

    (void)state;
    many(TIME_ACK, 150000, 100);
    window_take(w.window, start_ms + 10 * SECOND);
    window_last(w.window, MINUTE, &s);
    assert_int_equal(goal_measure(GOAL_LATENCY, &s, false).verdict, GOAL_MET);
    many(TIME_ACK, 250000, 10);
    window_take(w.window, start_ms + 20 * SECOND);
    window_last(w.window, MINUTE, &s);
    assert_int_equal(goal_measure(GOAL_LATENCY, &s, false).verdict, GOAL_MISSED);
    assert_int_equal(goal_measure(GOAL_LATENCY, &s, false).events, 110);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH(each_rule_has_its_border),
        WITH(slow_answers_have_their_borders),
        WITH(signatures_are_of_the_last_minute),
        WITH(rules_of_all_have_their_borders),
        WITH(every_rule_has_words_in_both_languages),
        WITH(an_alert_swings_as_the_table_says),
        WITH(without_a_for_it_fires_at_once_and_none_is_well_below_none),
        WITH(a_clock_that_was_set_back_holds_nothing_for_ever),
        WITH(numbers_are_written_as_people_do),
        WITH(a_goal_is_met_at_its_border_and_not_beyond),
        WITH(answers_are_fast_below_200_ms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
