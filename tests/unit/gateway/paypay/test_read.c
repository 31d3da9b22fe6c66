/* PayPay's objects into facts: what is taken, and what is nothing that we could believe. */
#include "gateway/paypay/read.h"
#include "unit/gateway/paypay_fixtures.h"

static struct arena arena;
static cJSON *tree;

static const cJSON *parse(const char *single)
{
    char *text = json_of(single);

    json_freep(&tree);
    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    assert_int_equal(json_parse(str_of(text), &tree, NULL), OK);
    free(text);
    return tree;
}

static enum err read_as(const char *single, const struct paypay_wanted *w,
                        struct paypay_payment *ret)
{
    static const struct paypay_wanted nothing = { .now_ms = 1760000000000 };

    return paypay_read_payment(&arena, parse(single), w ? w : &nothing, ret);
}

static void every_status_has_its_state(void **state)
{
    static const struct {
        const char *json;
        enum intent_state state;
        int64_t received;
        const char *reason, *failure;
    } rows[] = {
        { PAY("CREATED", ""), INTENT_OPEN, 0, "", "" },
        { PAY("AUTHORIZED", ""), INTENT_AUTHORIZED, 0, "", "" },
        { PAY("REAUTHORIZING", ""), INTENT_AUTHORIZED, 0, "", "" },
        { PAY("COMPLETED", ""), INTENT_SUCCEEDED, 2000, "", "" },
        { PAY("REFUNDED", ""), INTENT_SUCCEEDED, 2000, "", "" },
        { PAY("FAILED", ""), INTENT_CANCELED, 0, "", "payment_failed" },
        { PAY("CANCELED", ""), INTENT_CANCELED, 0, "canceled", "" },
        { PAY("EXPIRED", ""), INTENT_CANCELED, 0, "expired", "" },
        { PAY("COMPLETED", CAPTURE("a", "COMPLETED", 1500)), INTENT_SUCCEEDED, 1500, "", "" },
        { PAY("CANCELED", CAPTURE("a", "COMPLETED", 1500)), INTENT_CANCELED, 0, "canceled", "" },
        { PAY("COMPLETED", ",'captures':{'data':[]}"), INTENT_SUCCEEDED, 2000, "", "" },
        { PAY("COMPLETED", ",'captures':null"), INTENT_SUCCEEDED, 2000, "", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct paypay_payment p;

        assert_int_equal(read_as(rows[i].json, NULL, &p), OK);
        if (p.fact.kind != FACT_INTENT || p.fact.state != rows[i].state ||
            p.fact.received != rows[i].received)
            fail_msg("row %zu: state %d, received %lld", i, (int)p.fact.state,
                     (long long)p.fact.received);
        expect_str("reason", p.fact.cancel_reason, rows[i].reason);
        expect_str("failure", p.fact.failure_code, rows[i].failure);
        expect_str("intent", p.fact.intent_id, HEX);
        expect_str("payment", p.fact.payment_id, PAYMENT);
        expect_str("charge", p.fact.charge_id, "04510001");
    }
}

static void what_cannot_be_believed_is_refused(void **state)
{
    static const char *const rows[] = {
        "null",
        "[]",
        "'x'",
        "{}",
        PAY("NEW", ""),
        PAY("", ""),
        PAY("completed", ""),
        "{'merchantPaymentId':'" HEX "','status':'COMPLETED'}",
        ID_PAY("", "COMPLETED", YEN(2000), ""),
        ID_PAY("a b", "COMPLETED", YEN(2000), ""),
        ID_PAY(HEX HEX "x", "COMPLETED", YEN(2000), ""),
        ID_PAY(HEX, "COMPLETED", "{'amount':2000}", ""),
        ID_PAY(HEX, "COMPLETED", "{'currency':'JPY'}", ""),
        ID_PAY(HEX, "COMPLETED", "{'amount':'2000','currency':'JPY'}", ""),
        ID_PAY(HEX, "COMPLETED", "{'amount':2000.0,'currency':'JPY'}", ""),
        ID_PAY(HEX, "COMPLETED", "{'amount':-1,'currency':'JPY'}", ""),
        ID_PAY(HEX, "COMPLETED", "{'amount':100000000000,'currency':'JPY'}", ""),
        ID_PAY(HEX, "COMPLETED", "{'amount':1e3,'currency':'JPY'}", ""),
        ID_PAY(HEX, "COMPLETED", "{'amount':2000,'currency':'jpy'}", ""),
        ID_PAY(HEX, "COMPLETED", "{'amount':2000,'currency':'YEN!'}", ""),
        ID_PAY(HEX, "COMPLETED", "2000", ""),
        PAY("COMPLETED", ",'captures':{'data':[{'amount':7}]}"),
        PAY("COMPLETED", ",'captures':{'data':[{'amount':{'amount':7,'currency':'USD'}}]}"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct paypay_payment p;

        if (read_as(rows[i], NULL, &p) != ERR_VALIDATION)
            fail_msg("row %zu was taken: %s", i, rows[i]);
    }
}

static void another_currency_is_read_as_it_is(void **state)
{
    struct paypay_payment p;

    (void)state;
    assert_int_equal(
        read_as(ID_PAY(HEX, "AUTHORIZED", "{'amount':2000,'currency':'USD'}", ""), NULL, &p), OK);
    assert_string_equal(p.fact.currency, "USD");
}

static void a_capture_that_waits_for_its_customer_is_told(void **state)
{
    static const struct {
        const char *json;
        bool waits;
    } rows[] = {
        { PAY("AUTHORIZED", CAPTURE("a", "USER_REQUESTED", 2000)), true },
        { PAY("REAUTHORIZING", CAPTURE("a", "USER_REQUESTED", 2000)), true },
        { PAY("AUTHORIZED", ""), false },
        { PAY("COMPLETED", CAPTURE("a", "USER_REQUESTED", 2000)), false },
        { PAY("AUTHORIZED", ",'captures':{'data':[{'status':'USER_REQUESTED','amount':" YEN(
                                5) ",'expiresAt':1760000001}]}"),
          true },
        { PAY("AUTHORIZED", ",'captures':{'data':[{'status':'USER_REQUESTED','amount':" YEN(
                                5) ",'expiresAt':1760000000000}]}"),
          false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct paypay_payment p;

        assert_int_equal(read_as(rows[i].json, NULL, &p), OK);
        if ((p.fact.action_type.n > 0) != rows[i].waits)
            fail_msg("row %zu", i);
    }
}

static void ours_is_found_among_others(void **state)
{
    static const char both[] =
        PAY("COMPLETED",
            ",'captures':{'data':[{'merchantCaptureId':'x','amount':" YEN(
                1) "},{'merchantCaptureId':'" CAPTURE_ID
                   "','amount':" YEN(
                       1499) "}]}"
                             ",'refunds':{'data':[" REFUND_OF("x", "REFUNDED", 1) "," REFUND_OF(
                                 REFUND_HEX, "REFUND_FAILED", 2) "]}");
    struct paypay_wanted w = { .capture_id = S(CAPTURE_ID), .refund_id = S(REFUND_HEX) };
    struct paypay_payment p;

    (void)state;
    assert_int_equal(read_as(both, &w, &p), OK);
    assert_true(p.has_capture && p.has_refund);
    assert_int_equal(p.fact.received, 1500);
    assert_int_equal(p.refund.refund, REFUND_PENDING);
    assert_int_equal(p.refund.amount, 2);
    expect_str("its payment", p.refund.payment_id, PAYMENT);
    w.capture_id = w.refund_id = S("y");
    assert_int_equal(read_as(both, &w, &p), OK);
    assert_false(p.has_capture || p.has_refund);
}

static void all_refunds_are_summed_whoever_made_them(void **state)
{
    static const struct {
        const char *json;
        bool told;
        int64_t sum;
    } rows[] = {
        { PAY("COMPLETED", ""), true, 0 },
        { PAY("COMPLETED", ",'refunds':{'data':[]}"), true, 0 },
        { PAY("COMPLETED", ",'refunds':{'data':[" REFUND_OF("x", "REFUNDED", 1) "," REFUND_OF(
                               REFUND_HEX, "CREATED", 20) "]}"),
          true, 21 },
        { PAY("COMPLETED", ",'refunds':{'data':[" REFUND_OF("x", "REFUND_FAILED", 1) "," REFUND_OF(
                               REFUND_HEX, "REFUNDED", 20) "]}"),
          true, 20 },
        { PAY("REFUNDED", ",'refunds':{'data':[" REFUND_OF("x", "REFUNDED", 2000) "]}"), true,
          2000 },
        { PAY("REFUNDED", ""), true, 2000 },
        { PAY("COMPLETED", ",'refunds':{'data':[" REFUND_OF("x", "NEW", 1) "]}"), false, 0 },
        { PAY("COMPLETED", ",'refunds':{'data':[{'status':'REFUNDED','amount':7}]}"), false, 0 },
        { PAY("COMPLETED", ",'refunds':{'data':[{'status':'REFUNDED','amount':{'amount':7,"
                           "'currency':'USD'}}]}"),
          false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct paypay_payment p;

        assert_int_equal(read_as(rows[i].json, NULL, &p), OK);
        if (p.fact.has_refunded != rows[i].told || p.fact.charge_refunded != rows[i].sum)
            fail_msg("row %zu: %lld", i, (long long)p.fact.charge_refunded);
    }
}

static void times_are_seconds_or_milliseconds(void **state)
{
    static const struct {
        const char *json;
        int64_t ms;
    } rows[] = {
        { "1760000000", 1760000000000 },
        { "1760000000123", 1760000000123 },
        { "0", 0 },
        { "-5", 0 },
        { "1.5", 0 },
        { "'x'", 0 },
        { "null", 0 },
        { "99999999999", 99999999999000 },
        { "1e300", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (paypay_time_ms(parse(rows[i].json)) != rows[i].ms)
            fail_msg("%s is %lld", rows[i].json, (long long)paypay_time_ms(tree));
}

static void a_code_without_an_address_is_none(void **state)
{
    struct fact f;

    (void)state;
    assert_int_equal(paypay_read_code(&arena, parse(CODE(HEX, YEN(2000))), &f), OK);
    assert_int_equal(f.state, INTENT_ACTION);
    assert_int_equal(paypay_read_code(&arena,
                                      parse("{'codeId':'1','merchantPaymentId':'" HEX
                                            "','amount':" YEN(2000) "}"),
                                      &f),
                     ERR_VALIDATION);
    assert_int_equal(paypay_read_code(&arena, parse("null"), &f), ERR_VALIDATION);
    assert_int_equal(paypay_read_refund(&arena, parse("null"), &f), ERR_VALIDATION);
    assert_int_equal(paypay_read_refund(&arena, parse(REFUND_OF(REFUND_HEX, "NEW", 1)), &f),
                     ERR_VALIDATION);
}

static int teardown(void **state)
{
    (void)state;
    json_freep(&tree);
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_status_has_its_state),
        TEST(what_cannot_be_believed_is_refused),
        TEST(another_currency_is_read_as_it_is),
        TEST(a_capture_that_waits_for_its_customer_is_told),
        TEST(ours_is_found_among_others),
        TEST(all_refunds_are_summed_whoever_made_them),
        TEST(times_are_seconds_or_milliseconds),
        TEST(a_code_without_an_address_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
