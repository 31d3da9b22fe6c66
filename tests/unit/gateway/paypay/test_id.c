/* Names that PayPay knows us by: what is read back is what was written. */
#include "base/limits.h"
#include "gateway/paypay/id.h"
#include "unit/gateway/fixtures.h"

#define HEX "0189c2f0000070008000000000000001"

static bool is_unreserved(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~") ==
           strlen(s);
}

static void every_id_of_a_payment_leads_back_to_it(void **state)
{
    struct uuid payment, back;

    (void)state;
    assert_true(uuid_parse(S(PAYMENT), &payment));
    assert_string_equal(paypay_payment_id(payment, 1).text, HEX);
    assert_string_equal(paypay_payment_id(payment, 2).text, HEX "-2");
    for (int i = 1; i <= LIMIT_PAYPAY_CODES; i++) {
        struct paypay_id id = paypay_payment_id(payment, i);

        assert_true(is_unreserved(id.text));
        assert_true(paypay_payment_of(str_of(id.text), &back));
        assert_true(uuid_eq(back, payment));
    }
}

static void what_we_never_made_is_nobodys(void **state)
{
    static const char *const rows[] = {
        "",
        "x",
        PAYMENT,
        HEX "0",
        HEX "-",
        HEX "-0",
        HEX "-1",
        HEX "-02",
        HEX "-10",
        HEX "-99",
        HEX "-2-3",
        HEX "-2 ",
        " " HEX,
        HEX "_2",
        HEX "-+2",
        HEX "/..",
        HEX "-2147483650000000000000",
        "0189C2F0000070008000000000000001",
        "0189c2f000007000800000000000000g",
    };
    struct uuid id;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (paypay_payment_of(str_of(rows[i]), &id))
            fail_msg("\"%s\" was taken", rows[i]);
    assert_false(paypay_refund_of(S(HEX "-2"), &id));
}

static void refunds_captures_and_reverts_have_names_of_their_own(void **state)
{
    struct str key = S("ichido-" PAYMENT "-" OTHER_PAYMENT), other = S("ichido-" PAYMENT "-x");
    struct paypay_id capture = paypay_key_id('c', key);
    struct uuid refund, back;

    (void)state;
    assert_true(uuid_parse(S(REFUND), &refund));
    assert_true(paypay_refund_of(str_of(paypay_refund_id(refund).text), &back));
    assert_true(uuid_eq(refund, back));
    assert_true(is_unreserved(capture.text) && strlen(capture.text) <= PAYPAY_ID);
    assert_string_equal(capture.text, paypay_key_id('c', key).text);
    assert_string_not_equal(capture.text, paypay_key_id('c', other).text);
    assert_string_not_equal(capture.text, paypay_key_id('r', key).text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_id_of_a_payment_leads_back_to_it),
        TEST(what_we_never_made_is_nobodys),
        TEST(refunds_captures_and_reverts_have_names_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
