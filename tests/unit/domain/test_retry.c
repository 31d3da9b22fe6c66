#include "base/str.h"
#include "domain/retry.h"
#include "unit/cm.h"

static void q2_the_default_retries_come_after_1_2_and_4_s(void **state)
{
    static const struct retry_policy p = { .retries = 3, .first_ms = 1000, .factor = 2 };

    (void)state;
    assert_int_equal(retry_delay_ms(&p, 1), 1000);
    assert_int_equal(retry_delay_ms(&p, 2), 2000);
    assert_int_equal(retry_delay_ms(&p, 3), 4000);
    assert_int_equal(retry_delay_ms(&p, 4), -1);
}

static void the_gap_follows_the_policy(void **state)
{
    static const struct {
        const char *why;
        struct retry_policy p;
        int64_t attempt, ms;
    } rows[] = {
        { "no retries, no gap", { 0, 1000, 0, 2, NULL, 0 }, 1, -1 },
        { "an attempt that never was", { 3, 1000, 0, 2, NULL, 0 }, 0, -1 },
        { "capped", { 10, 1000, 5000, 2, NULL, 0 }, 4, 5000 },
        { "the first gap is capped too", { 10, 9000, 5000, 2, NULL, 0 }, 1, 5000 },
        { "factor 1 is a steady beat", { 10, 700, 0, 1, NULL, 0 }, 9, 700 },
        { "factor 0 counts as 1", { 10, 700, 0, 0, NULL, 0 }, 9, 700 },
        { "a first gap of zero stays zero", { 10, 0, 0, 2, NULL, 0 }, 5, 0 },
        { "no overflow without a cap", { 1000, 1000, 0, 10, NULL, 0 }, 900, INT64_MAX },
        { "no overflow with one", { 1000, 1000, 60000, 10, NULL, 0 }, 900, 60000 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (retry_delay_ms(&rows[i].p, rows[i].attempt) != rows[i].ms)
            fail_msg("row %zu: %s", i, rows[i].why);
}

static void q12_the_budget_is_retries_and_the_first_run(void **state)
{
    static const struct retry_policy p = { .retries = 3, .first_ms = 1000, .factor = 2 };

    (void)state;
    assert_true(retry_may_run(&p, 1));
    assert_true(retry_may_run(&p, 4));
    assert_false(retry_may_run(&p, 5));
}

/* --- the table --- */

#define SEC *INT64_C(1000)
#define MIN *INT64_C(60000)
#define H *INT64_C(3600000)

/* Doubled. */
#define TO_A_MINUTE 1 SEC, 2 SEC, 4 SEC, 8 SEC, 16 SEC, 32 SEC, 1 MIN
#define TO_FIVE_MINUTES 1 SEC, 2 SEC, 4 SEC, 8 SEC, 16 SEC, 32 SEC, 64 SEC, 128 SEC, 256 SEC, 5 MIN
#define TO_AN_HOUR                                                                                 \
    1 SEC, 2 SEC, 4 SEC, 8 SEC, 16 SEC, 32 SEC, 64 SEC, 128 SEC, 256 SEC, 512 SEC, 1024 SEC,       \
        2048 SEC, 1 H
#define FROM_HALF_A_MINUTE 30 SEC, 1 MIN, 2 MIN, 4 MIN, 8 MIN, 16 MIN, 32 MIN, 1 H

enum { SHOWN = 13, ANY = -1 };

static const struct {
    enum retry policy;
    int retries;
    int64_t all_ms;      /* 0: it has no end */
    int64_t gaps[SHOWN]; /* the first of them, up to the longest; 0: what comes before goes on */
} table[] = {
    /* payments */
    { RETRY_OPERATION, RETRY_ENDLESS, 0, { TO_AN_HOUR } },
    /* docs/architecture.md, a lost reply without a crash */
    { RETRY_OPERATION_QUERY,
      RETRY_ENDLESS,
      0,
      { 2 SEC, 4 SEC, 8 SEC, 16 SEC, 32 SEC, 64 SEC, 128 SEC, 256 SEC, 512 SEC, 10 MIN } },
    /* docs/decisions/0011 */
    { RETRY_MONEY_BACK, 4, 585 MIN, { 1 MIN, 8 MIN, 64 MIN, 512 MIN } },
    { RETRY_ABANDON, RETRY_ENDLESS, 0, { FROM_HALF_A_MINUTE } },
    { RETRY_LAPSE_WARNING, 50, 158610 SEC, { FROM_HALF_A_MINUTE } },
    { RETRY_POLL_JOB, RETRY_ENDLESS, 0, { 5 SEC, 10 SEC, 20 SEC, 40 SEC, 1 MIN } },
    { RETRY_BOOKING_CONFIRM, 20, 32895 SEC, { TO_AN_HOUR } },
    { RETRY_BOOKING_CANCELLED, 350, 102811 SEC, { TO_FIVE_MINUTES } },
    { RETRY_CAMPAIGN_CANCEL, 350, 1220895 SEC, { TO_AN_HOUR } },
    { RETRY_CAMPAIGN_WALK, RETRY_ENDLESS, 0, { TO_AN_HOUR } },
    /* providers */
    { RETRY_CHARGE_FEE, 100, 320895 SEC, { TO_AN_HOUR } },
    { RETRY_CHARGE_REFUNDS, 10, 1023 SEC, { TO_AN_HOUR } },
    { RETRY_HEAL, RETRY_ENDLESS, 0, { TO_FIVE_MINUTES } },
    { RETRY_RECONCILE_DAILY,
      RETRY_ENDLESS,
      0,
      { 1 SEC, 2 SEC, 4 SEC, 8 SEC, 16 SEC, 32 SEC, 64 SEC, 128 SEC, 256 SEC, 512 SEC, 10 MIN } },
    { RETRY_RECONCILE_GATEWAY, RETRY_ENDLESS, 0, { 5 SEC, 20 SEC, 80 SEC, 320 SEC, 10 MIN } },
    { RETRY_GATEWAY, 2, 900, { 300, 600 } },
    /* docs/gateways.md */
    { RETRY_BREAKER, RETRY_ENDLESS, 0, { 2 SEC, 4 SEC, 8 SEC, 16 SEC, 32 SEC, 1 MIN } },
    /* people and subscribers */
    { RETRY_NOTIFY, 20, 32895 SEC, { TO_AN_HOUR } },
    /* docs/notifications.md */
    { RETRY_SEND,
      10,
      85355 SEC,
      { 5 SEC, 30 SEC, 2 MIN, 10 MIN, 30 MIN, 1 H, 2 H, 4 H, 6 H, 10 H } },
    { RETRY_SEND_JOB, RETRY_ENDLESS, 0, { 5 SEC, 20 SEC, 80 SEC, 320 SEC, 1280 SEC, 1 H } },
    { RETRY_ALERT, 12, 25240 SEC, { 10 SEC, 30 SEC, 90 SEC, 270 SEC, 810 SEC, 2430 SEC, 1 H } },
    { RETRY_DELIVERY, 9, 272105 SEC, { 5 SEC, 5 MIN, 30 MIN, 2 H, 5 H, 10 H, 14 H, 20 H, 24 H } },
    { RETRY_DELIVERY_JOB, 30, 91705 SEC, { 5 SEC, 20 SEC, 80 SEC, 320 SEC, 1280 SEC, 1 H } },
    /* the QStash API */
    { RETRY_QSTASH, 1000, 59703 SEC, { TO_A_MINUTE } },
    { RETRY_QSTASH_HOST, RETRY_ENDLESS, 0, { TO_A_MINUTE } },
    /* other jobs */
    { RETRY_NEEDED, RETRY_ENDLESS, 0, { TO_A_MINUTE } },
    { RETRY_PLANNED, 50, 140895 SEC, { TO_AN_HOUR } },
    { RETRY_HOUSEKEEPING, RETRY_ENDLESS, 0, { TO_AN_HOUR } },
    { RETRY_REDRIVE, RETRY_ENDLESS, 0, { 500 } },
    { RETRY_UNKNOWN_KIND, 10, 14610 SEC, { FROM_HALF_A_MINUTE } },
    /* the sandbox */
    { RETRY_SANDBOX_WORK, 5, 34100, { 100, 400, 1600, 6400, 25600 } },
    { RETRY_SANDBOX_FORGET, RETRY_ENDLESS, 0, { 100, 400, 1600, 6400, 25600, 102400, ANY } },
    { RETRY_SANDBOX_RELAY, 10, 303 SEC, { TO_A_MINUTE } },
    { RETRY_SANDBOX_NOTICE, 1000, 9942700, { 100, 200, 400, 800, 1600, 3200, 6400, 10 SEC } },
    /* contract S1 */
    { RETRY_SANDBOX_WEBHOOK_JOB, 1000, 59703 SEC, { TO_A_MINUTE } },
    { RETRY_SANDBOX_WEBHOOK, 10, 243300 SEC, { 5 MIN, 30 MIN, 2 H, 5 H, 10 H } },
};

static void compare_gaps(size_t i)
{
    const struct retry_policy *p = &retry_table[table[i].policy];

    for (int64_t n = 1, at = 0; n <= SHOWN && n <= p->retries; n++) {
        at = table[i].gaps[n - 1] ? n - 1 : at;
        if (table[i].gaps[at] != ANY && retry_delay_ms(p, n) != table[i].gaps[at])
            fail_msg("row %zu, gap %lld: %lld", i, (long long)n, (long long)retry_delay_ms(p, n));
    }
}

static void compare_sum(size_t i)
{
    const struct retry_policy *p = &retry_table[table[i].policy];
    int64_t sum = 0;

    if (p->retries != table[i].retries)
        fail_msg("row %zu: %d retries", i, p->retries);
    for (int64_t n = 1; table[i].all_ms && n <= p->retries; n++)
        sum += retry_delay_ms(p, n);
    if (sum != table[i].all_ms)
        fail_msg("row %zu: %lld in all", i, (long long)sum);
}

static void each_policy_has_these_pauses(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        compare_gaps(i);
        compare_sum(i);
    }
}

static const struct {
    enum retry policy;
    int64_t age_ms, gap_ms;
} aged[] = {
    { RETRY_POLL, 0, 5 SEC },          { RETRY_POLL, 20 SEC, 5 SEC },
    { RETRY_POLL, 100 SEC, 25 SEC },   { RETRY_POLL, 1 H, 1 MIN },
    { RETRY_LAPSED, -1 H, 15 MIN },    { RETRY_LAPSED, 1 H, 15 MIN },
    { RETRY_LAPSED, 8 H, 2 H },        { RETRY_LAPSED, 1000 H, 24 H },
    { RETRY_SEND_CHANNEL, 0, 1 MIN },  { RETRY_SEND_CHANNEL, 7 MIN, 7 MIN },
    { RETRY_SEND_CHANNEL, 24 H, 1 H },
};

static void what_is_older_is_looked_at_more_rarely(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(aged); i++)
        if (retry_aged_ms(&retry_table[aged[i].policy], aged[i].age_ms) != aged[i].gap_ms)
            fail_msg("row %zu", i);
}

static void no_policy_is_left_out_here(void **state)
{
    bool seen[RETRY_POLICIES] = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        seen[table[i].policy] = true;
    for (size_t i = 0; i < COUNT(aged); i++)
        seen[aged[i].policy] = true;
    for (size_t i = 0; i < RETRY_POLICIES; i++)
        if (!seen[i])
            fail_msg("policy %zu", i);
}

static void q2_events_wait_a_day_at_most(void **state)
{
    struct retry_policy p = retry_of_events(100, 3600 * 1000);

    (void)state;
    assert_int_equal(retry_delay_ms(&p, 5), 16 H);
    assert_int_equal(retry_delay_ms(&p, 6), 24 H);
    assert_int_equal(retry_delay_ms(&p, 101), -1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(each_policy_has_these_pauses),
        TEST(what_is_older_is_looked_at_more_rarely),
        TEST(no_policy_is_left_out_here),
        TEST(q2_events_wait_a_day_at_most),
        TEST(q2_the_default_retries_come_after_1_2_and_4_s),
        TEST(the_gap_follows_the_policy),
        TEST(q12_the_budget_is_retries_and_the_first_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
