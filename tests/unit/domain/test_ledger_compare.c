#include "domain/ledger_compare.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

/* OURS: status, captured, refunds done, all refunds, fee. THEIRS: state, received, refunded, fee.
 */
#define OURS_OF(other, status_, captured_, done, all, fee_)                                        \
    {                                                                                              \
        .known = true, .other_intent = (other), .status = (status_),                               \
        .money = { .minor = 1200, .currency = "JPY" }, .captured = { captured_ },                  \
        .refunds_done = { done }, .refunds_all = { all }, .fee = {                                 \
            fee_                                                                                   \
        }                                                                                          \
    }
#define OURS(...) OURS_OF(false, __VA_ARGS__)
#define OTHER OURS_OF(true, PAYMENT_CAPTURED, 1200, 0, 0, -1)
#define THEIRS_IN(code, amount_, state_, received_, refunded_, fee_)                               \
    {                                                                                              \
        .known = true, .state = (state_), .currency = code, .amount = { amount_ },                 \
        .received = { received_ }, .refunded = { refunded_ }, .fee = {                             \
            fee_                                                                                   \
        }                                                                                          \
    }
#define THEIRS(...) THEIRS_IN("JPY", 1200, __VA_ARGS__)
#define BIT(d) (1U << DIFF_##d)

static void e11_books_differ_where_the_table_says(void **state)
{
    static const struct {
        const char *why;
        struct books_ours ours;
        struct books_theirs theirs;
        unsigned differences;
    } rows[] = {
        { "made, not paid", OURS(PAYMENT_PENDING, -1, 0, 0, -1), THEIRS(INTENT_OPEN, 0, 0, -1), 0 },
        { "the customer has to act", OURS(PAYMENT_PENDING, -1, 0, 0, -1),
          THEIRS(INTENT_ACTION, 0, 0, -1), 0 },
        { "a try failed, another may follow", OURS(PAYMENT_PENDING, -1, 0, 0, -1),
          THEIRS(INTENT_DECLINED, 0, 0, -1), 0 },
        { "held", OURS(PAYMENT_AUTHORIZED, -1, 0, 0, -1), THEIRS(INTENT_AUTHORIZED, 0, 0, -1), 0 },
        { "taken", OURS(PAYMENT_CAPTURED, 1200, 0, 0, -1), THEIRS(INTENT_SUCCEEDED, 1200, 0, -1),
          0 },
        { "taken in part", OURS(PAYMENT_CAPTURED, 700, 0, 0, -1),
          THEIRS(INTENT_SUCCEEDED, 700, 0, -1), 0 },
        { "all of it back", OURS(PAYMENT_REFUNDED, 1200, 1200, 1200, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, 1200, -1), 0 },
        { "voided", OURS(PAYMENT_REFUNDED, -1, 0, 0, -1), THEIRS(INTENT_CANCELED, 0, 0, -1), 0 },
        { "declined and cancelled", OURS(PAYMENT_FAILED, -1, 0, 0, -1),
          THEIRS(INTENT_CANCELED, 0, 0, -1), 0 },
        { "it landed late and went back (D2)", OURS(PAYMENT_FAILED, -1, 0, 0, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, 1200, -1), 0 },
        { "it never came to the gateway", OURS(PAYMENT_FAILED, -1, 0, 0, -1), { 0 }, 0 },
        { "a refund under way may count there or not", OURS(PAYMENT_CAPTURED, 1200, 100, 300, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, 100, -1), 0 },
        { "... or so", OURS(PAYMENT_CAPTURED, 1200, 100, 300, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, 300, -1), 0 },
        { "no word of refunds", OURS(PAYMENT_CAPTURED, 1200, 100, 100, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, -1, -1), 0 },
        { "the fee is the same", OURS(PAYMENT_CAPTURED, 1200, 0, 0, 43),
          THEIRS(INTENT_SUCCEEDED, 1200, 0, 43), 0 },
        { "another intent, never paid", OTHER, THEIRS_IN("JPY", 5, INTENT_OPEN, 0, 0, -1), 0 },
        { "another intent that is gone", OTHER, { 0 }, 0 },
        { "another intent, given back", OTHER, THEIRS(INTENT_SUCCEEDED, 1200, 1200, -1), 0 },

        { "a code that ended unpaid", OURS(PAYMENT_FAILED, -1, 0, 0, -1),
          THEIRS_IN("", 0, INTENT_CANCELED, 0, -1, -1), 0 },
        { "... and is not given up yet", OURS(PAYMENT_PENDING, -1, 0, 0, -1),
          THEIRS_IN("", 0, INTENT_CANCELED, 0, -1, -1), 0 },
        { "a code that nobody paid yet", OURS(PAYMENT_PENDING, -1, 0, 0, -1),
          THEIRS_IN("", 0, INTENT_OPEN, 0, -1, -1), 0 },

        { "money here, none there", OURS(PAYMENT_CAPTURED, 1200, 0, 0, -1),
          THEIRS_IN("", 0, INTENT_CANCELED, 0, -1, -1), BIT(STATUS) },
        { "held here, no money there", OURS(PAYMENT_AUTHORIZED, -1, 0, 0, -1),
          THEIRS_IN("", 0, INTENT_CANCELED, 0, -1, -1), BIT(STATUS) },
        { "only they have it", { 0 }, THEIRS(INTENT_SUCCEEDED, 1200, 0, -1), BIT(MISSING_HERE) },
        { "only we have it", OURS(PAYMENT_CAPTURED, 1200, 0, 0, -1), { 0 }, BIT(MISSING_THERE) },
        { "only we have it, held",
          OURS(PAYMENT_AUTHORIZED, -1, 0, 0, -1),
          { 0 },
          BIT(MISSING_THERE) },
        { "money on a second intent", OTHER, THEIRS(INTENT_SUCCEEDED, 1200, 0, -1), BIT(STRAY) },
        { "... held", OTHER, THEIRS(INTENT_AUTHORIZED, 0, 0, -1), BIT(STRAY) },
        { "other currency: nothing else is compared", OURS(PAYMENT_PENDING, -1, 0, 0, -1),
          THEIRS_IN("USD", 9, INTENT_SUCCEEDED, 9, 0, -1), BIT(CURRENCY) },
        { "no currency is none of ours", OURS(PAYMENT_CAPTURED, 1200, 0, 0, -1),
          THEIRS_IN("", 1200, INTENT_SUCCEEDED, 1200, 0, -1), BIT(CURRENCY) },
        { "other amount", OURS(PAYMENT_AUTHORIZED, -1, 0, 0, -1),
          THEIRS_IN("JPY", 1201, INTENT_AUTHORIZED, 0, 0, -1), BIT(AMOUNT) },
        { "we have not heard of its capture", OURS(PAYMENT_AUTHORIZED, -1, 0, 0, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, 0, -1), BIT(STATUS) | BIT(CAPTURED) },
        { "we think that it was captured", OURS(PAYMENT_CAPTURED, 1200, 0, 0, -1),
          THEIRS(INTENT_AUTHORIZED, 0, 0, -1), BIT(STATUS) | BIT(CAPTURED) },
        { "less was captured than we think", OURS(PAYMENT_CAPTURED, 1200, 0, 0, -1),
          THEIRS(INTENT_SUCCEEDED, 700, 0, -1), BIT(CAPTURED) },
        { "it is dead there", OURS(PAYMENT_PENDING, -1, 0, 0, -1),
          THEIRS(INTENT_CANCELED, 0, 0, -1), BIT(STATUS) },
        { "it is alive there", OURS(PAYMENT_FAILED, -1, 0, 0, -1), THEIRS(INTENT_OPEN, 0, 0, -1),
          BIT(STATUS) },
        { "taken there, given up here, not back yet", OURS(PAYMENT_FAILED, -1, 0, 0, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, 0, -1), BIT(STATUS) | BIT(CAPTURED) },
        { "a refund that we never heard of", OURS(PAYMENT_CAPTURED, 1200, 0, 0, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, 1, -1), BIT(REFUNDED) },
        { "a refund that they never heard of", OURS(PAYMENT_CAPTURED, 1200, 5, 5, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, 0, -1), BIT(REFUNDED) },
        { "the fee is not known here", OURS(PAYMENT_CAPTURED, 1200, 0, 0, -1),
          THEIRS(INTENT_SUCCEEDED, 1200, 0, 43), BIT(FEE) },
        { "the fee is another one", OURS(PAYMENT_CAPTURED, 1200, 0, 0, 42),
          THEIRS(INTENT_SUCCEEDED, 1200, 0, 43), BIT(FEE) },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned got = books_compare(&rows[i].ours, &rows[i].theirs);

        if (got != rows[i].differences)
            fail_msg("row %zu: %s: %x, not %x", i, rows[i].why, got, rows[i].differences);
    }
}

static void every_difference_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < DIFFERENCES; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(difference_name((enum difference)i),
                                    difference_name((enum difference)j));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(e11_books_differ_where_the_table_says),
        TEST(every_difference_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
