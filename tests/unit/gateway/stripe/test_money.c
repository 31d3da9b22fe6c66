#include "gateway/stripe/money.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

static void stripes_units_are_ours_or_the_amount_is_refused(void **state)
{
    static const struct {
        const char *why, *code;
        int64_t minor, wire; /* -1: refused */
    } rows[] = {
        { "yen are whole in both", "JPY", 500, 500 },
        { "cents are cents", "USD", 1050, 1050 },
        { "MGA has two digits at ISO and none at Stripe", "MGA", 50000, 500 },
        { "a fraction of an ariary cannot be said", "MGA", 50001, -1 },
        { "ISK has none at ISO and two zeros at Stripe", "ISK", 5, 500 },
        { "UGX is documented both ways", "UGX", 500, -1 },
        { "three digits, the last one 0", "KWD", 5120, 5120 },
        { "three digits, the last one not 0", "KWD", 5124, -1 },
        { "not offered", "IQD", 1000, -1 },
        { "payouts have another rule; charges have two digits", "HUF", 101, 101 },
        { "the largest payment", "ISK", MONEY_MAX, MONEY_MAX * 100 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct money m = { .minor = rows[i].minor };
        int64_t wire = -1;

        memcpy(m.currency, rows[i].code, 4);
        if (!stripe_amount_out(m, &wire))
            wire = -1;
        if (wire != rows[i].wire)
            fail_msg("%s: %lld", rows[i].why, (long long)wire);
    }
}

static void to_stripe_and_back_is_the_same_amount_for_every_currency(void **state)
{
    static const int64_t amounts[] = { 1, 9, 10, 99, 100, 101, 1000, 12345, 5000000, MONEY_MAX };
    int codes = 0;

    (void)state;
    for (int n = 0; n < 26 * 26 * 26; n++) {
        char text[4] = { (char)('A' + n / 676), (char)('A' + n / 26 % 26), (char)('A' + n % 26) };
        struct money m = { 0 };

        if (!currency_parse(str_of(text), m.currency))
            continue;
        codes++;
        for (size_t i = 0; i < COUNT(amounts); i++) {
            int64_t wire, back;

            m.minor = amounts[i];
            if (!stripe_amount_out(m, &wire))
                continue;
            if (!stripe_amount_in(wire, m.currency, &back) || back != m.minor)
                fail_msg("%s %lld", text, (long long)m.minor);
        }
    }
    assert_true(codes > 100);
}

static void what_is_no_whole_number_of_our_units_is_refused(void **state)
{
    int64_t minor;

    (void)state;
    assert_false(stripe_amount_in(501, "ISK", &minor));
    assert_true(stripe_amount_in(500, "ISK", &minor));
    assert_int_equal(minor, 5);
    assert_false(stripe_amount_in(INT64_MAX, "MGA", &minor));
    assert_true(stripe_amount_in(7, "UGX", &minor)); /* others' money: told, not taken */
    assert_int_equal(minor, 7);
    assert_true(stripe_amount_in(-300, "ISK", &minor)); /* a net may be negative */
    assert_int_equal(minor, -3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(stripes_units_are_ours_or_the_amount_is_refused),
        TEST(to_stripe_and_back_is_the_same_amount_for_every_currency),
        TEST(what_is_no_whole_number_of_our_units_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
