/* test_intents.c - an intent's life, as the state table of the wire reference has it. */
#include "unit/sandbox/shop.h"

static void every_test_card_does_what_its_name_says(void **state)
{
    static const struct {
        const char *method;
        int status;
        const char *intent, *code, *decline_code;
    } rows[] = {
        { "pm_card_visa", 200, "succeeded", "", "" },
        { "pm_card_visa_debit", 200, "succeeded", "", "" },
        { "pm_card_mastercard", 200, "succeeded", "", "" },
        { "pm_card_amex", 200, "succeeded", "", "" },
        { "pm_card_jcb", 200, "succeeded", "", "" },
        { "pm_card_discover", 200, "succeeded", "", "" },
        { "pm_card_diners", 200, "succeeded", "", "" },
        { "pm_card_unionpay", 200, "succeeded", "", "" },
        { "pm_card_threeDSecureOptional", 200, "succeeded", "", "" },
        { "pm_card_createDispute", 200, "succeeded", "", "" },
        { "pm_card_refundFail", 200, "succeeded", "", "" },
        { "pm_card_bypassPending", 200, "succeeded", "", "" },
        { "pm_card_riskLevelElevated", 200, "succeeded", "", "" },
        { "pm_card_authenticationRequired", 200, "requires_action", "", "" },
        { "pm_card_threeDSecure2Required", 200, "requires_action", "", "" },
        { "pm_card_authenticationRequiredOnSetup", 200, "requires_action", "", "" },
        { "pm_card_threeDSecureRequiredChargeDeclined", 200, "requires_action", "", "" },
        { "pm_card_chargeDeclined", 402, "", "card_declined", "generic_decline" },
        { "pm_card_visa_chargeDeclined", 402, "", "card_declined", "generic_decline" },
        { "pm_card_chargeDeclinedInsufficientFunds", 402, "", "card_declined",
          "insufficient_funds" },
        { "pm_card_visa_chargeDeclinedInsufficientFunds", 402, "", "card_declined",
          "insufficient_funds" },
        { "pm_card_chargeDeclinedLostCard", 402, "", "card_declined", "lost_card" },
        { "pm_card_visa_chargeDeclinedStolenCard", 402, "", "card_declined", "stolen_card" },
        { "pm_card_chargeDeclinedExpiredCard", 402, "", "expired_card", "" },
        { "pm_card_chargeDeclinedIncorrectCvc", 402, "", "incorrect_cvc", "" },
        { "pm_card_chargeDeclinedProcessingError", 402, "", "processing_error", "" },
        { "pm_card_visa_chargeDeclinedVelocityLimitExceeded", 402, "", "card_declined",
          "card_velocity_exceeded" },
        { "pm_card_chargeDeclinedFraudulent", 402, "", "card_declined", "fraudulent" },
        { "pm_card_radarBlock", 402, "", "card_declined", "fraudulent" },
        { "pm_card_chargeCustomerFail", 402, "", "card_declined", "generic_decline" },
        { "pm_card_noSuchCard", 400, "", "resource_missing", "" },
        { "pm_1nobody", 400, "", "resource_missing", "" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply r = shop_pay(shop, rows[i].method, "");

        expect_status(r, rows[i].status);
        expect(shop, r, "status", rows[i].intent);
        expect(shop, r, "error.code", rows[i].code);
        expect(shop, r, "error.decline_code", rows[i].decline_code);
        if (r.status == 402) {
            expect(shop, r, "error.type", "card_error");
            expect(shop, r, "error.payment_intent.status", "requires_payment_method");
            expect(shop, r, "error.payment_intent.payment_method", "null");
            expect(shop, r, "error.payment_intent.last_payment_error.code", rows[i].code);
            expect(shop, r, "error.payment_intent.latest_charge", at(shop, r, "error.charge"));
        }
    }
}

static void a_payment_is_told_in_stripes_order(void **state)
{
    struct shop *shop = *state;
    struct reply r = shop_pay(shop, "pm_card_visa", "&metadata[order]=7");

    expect(shop, r, "amount_received", "1000");
    expect(shop, r, "metadata", "{\"order\":\"7\"}");
    expect_events(shop, "payment_intent.created charge.succeeded payment_intent.succeeded "
                        "charge.updated");
    r = shop_get(shop, shop_path(shop, "/v1/payment_intents/", at(shop, r, "id"),
                                 "?expand[0]=latest_charge.balance_transaction"));
    expect(shop, r, "latest_charge.balance_transaction.fee", "36");
    expect(shop, r, "latest_charge.balance_transaction.net", "964");
    expect(shop, r, "latest_charge.metadata.order", "7");
    r = shop_get(shop, shop_path(shop, "/v1/balance_transactions/",
                                 at(shop, r, "latest_charge.balance_transaction.id"), ""));
    expect(shop, r, "amount", "1000");
}

static void a_decline_leaves_a_failed_charge_and_the_intent_may_still_succeed(void **state)
{
    struct shop *shop = *state;
    struct reply r = shop_pay(shop, "pm_card_chargeDeclined", ""), c;
    const char *id = at(shop, r, "error.payment_intent.id");

    c = shop_get(shop, shop_path(shop, "/v1/charges/", at(shop, r, "error.charge"), ""));
    expect(shop, c, "status", "failed");
    expect(shop, c, "paid", "false");
    expect(shop, c, "failure_code", "card_declined");
    expect(shop, c, "outcome.reason", "generic_decline");
    r = shop_post(shop, shop_path(shop, "/v1/payment_intents/", id, "/confirm"), "");
    expect(shop, r, "error.code", "payment_intent_unexpected_state");
    r = shop_post(shop, shop_path(shop, "/v1/payment_intents/", id, "/confirm"),
                  "payment_method=pm_card_visa");
    expect(shop, r, "status", "succeeded");
    expect(shop, r, "last_payment_error", "null");
    c = shop_get(shop, shop_path(shop, "/v1/charges?payment_intent=", id, ""));
    assert_non_null(strstr(c.body, at(shop, r, "latest_charge")));
    assert_non_null(strstr(c.body, "\"failed\""));
    expect_events(shop, "payment_intent.created charge.failed payment_intent.payment_failed "
                        "charge.succeeded payment_intent.succeeded charge.updated");
}

static void a_manual_payment_waits_for_its_capture(void **state)
{
    struct shop *shop = *state;
    struct reply r = shop_pay(shop, "pm_card_visa", "&capture_method=manual");
    const char *id = at(shop, r, "id");
    const char *capture = shop_path(shop, "/v1/payment_intents/", id, "/capture");

    expect(shop, r, "status", "requires_capture");
    expect(shop, r, "amount_capturable", "1000");
    r = shop_intent(shop, id);
    expect(shop, r, "latest_charge.captured", "false");
    assert_true(strlen(at(shop, r, "latest_charge.payment_method_details.card.capture_before")) >=
                10);
    r = shop_post(shop, capture, "amount_to_capture=1001");
    expect_status(r, 400);
    expect(shop, r, "error.code", "payment_intent_unexpected_state");
    expect(shop, r, "error.payment_intent.status", "requires_capture");
    expect_status(shop_post(shop, capture, "amount_to_capture=0"), 400);
    r = shop_post(shop, capture, "amount_to_capture=400");
    expect(shop, r, "status", "succeeded");
    expect(shop, r, "amount_received", "400");
    expect(shop, r, "amount_capturable", "0");
    r = shop_post(shop, capture, "");
    expect_status(r, 400);
    expect(shop, r, "error.code", "payment_intent_unexpected_state");
    expect(shop, r, "error.payment_intent.status", "succeeded");
    expect_events(shop, "payment_intent.created charge.succeeded "
                        "payment_intent.amount_capturable_updated charge.captured "
                        "payment_intent.succeeded charge.updated");
    r = shop_intent(shop, id);
    expect(shop, r, "latest_charge.amount_captured", "400");
    expect(shop, r, "latest_charge.amount_refunded", "0");
}

static void a_cancelled_intent_is_final(void **state)
{
    struct shop *shop = *state;
    struct reply r = shop_pay(shop, "pm_card_visa", "&capture_method=manual");
    const char *id = at(shop, r, "id");
    const char *cancel = shop_path(shop, "/v1/payment_intents/", id, "/cancel");

    expect_status(shop_post(shop, cancel, "cancellation_reason=boredom"), 400);
    r = shop_post(shop, cancel, "cancellation_reason=abandoned");
    expect(shop, r, "status", "canceled");
    expect(shop, r, "cancellation_reason", "abandoned");
    expect(shop, r, "amount_capturable", "0");
    for (size_t i = 0; i < 3; i++) {
        static const char *const verbs[] = { "/cancel", "/capture", "/confirm" };

        r = shop_post(shop, shop_path(shop, "/v1/payment_intents/", id, verbs[i]), "");
        expect(shop, r, "error.code", "payment_intent_unexpected_state");
        expect(shop, r, "error.payment_intent.status", "canceled");
    }
    expect_events(shop, "payment_intent.created charge.succeeded "
                        "payment_intent.amount_capturable_updated payment_intent.canceled");
}

static void an_authorisation_lapses_after_seven_days(void **state)
{
    struct shop *shop = *state;
    struct reply kept = shop_pay(shop, "pm_card_visa", "&capture_method=manual"), r;
    struct reply param = shop_pay(shop, "pm_card_visa", "&capture_method=manual");

    shop_post(shop, shop_path(shop, "/v1/payment_intents/", at(shop, param, "id"), "/capture"), "");
    shop_wait_ms(shop, LIMIT_SANDBOX_LAPSE_MS - 60000);
    r = shop_intent(shop, at(shop, kept, "id"));
    expect(shop, r, "status", "requires_capture");
    pause_a_little();
    shop_mark(shop);
    shop_wait_ms(shop, 60000);
    expect_events(shop, "payment_intent.canceled charge.expired");
    r = shop_intent(shop, at(shop, kept, "id"));
    expect(shop, r, "status", "canceled");
    expect(shop, r, "cancellation_reason", "expired");
    r = shop_intent(shop, at(shop, param, "id"));
    expect(shop, r, "status", "succeeded");
}

static void authenticate(struct shop *shop, const char *id, const char *result)
{
    struct reply r =
        shop_hear(shop, shop_send(shop, "POST", shop_path(shop, "/_sandbox/authenticate/", id, ""),
                                  "Content-Type: application/json\r\n",
                                  shop_path(shop, "{\"result\":\"", result, "\"}")));

    expect_status(r, 200);
}

static void the_customer_answers_the_3d_secure_question(void **state)
{
    static const struct {
        const char *method, *more, *result, *status, *code;
    } rows[] = {
        { "pm_card_threeDSecure2Required", "", "success", "succeeded", "" },
        { "pm_card_threeDSecure2Required", "&capture_method=manual", "success", "requires_capture",
          "" },
        { "pm_card_threeDSecure2Required", "", "fail", "requires_payment_method",
          "payment_intent_authentication_failure" },
        { "pm_card_threeDSecureRequiredChargeDeclined", "", "success", "requires_payment_method",
          "card_declined" },
        { "pm_card_threeDSecure2Required", "&confirmation_method=manual", "success",
          "requires_confirmation", "" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply r = shop_pay(shop, rows[i].method, rows[i].more);
        const char *id = at(shop, r, "id");

        expect(shop, r, "status", "requires_action");
        expect(shop, r, "next_action.type", "redirect_to_url");
        assert_non_null(strstr(at(shop, r, "next_action.redirect_to_url.url"), id));
        authenticate(shop, id, rows[i].result);
        r = shop_intent(shop, id);
        expect(shop, r, "status", rows[i].status);
        expect(shop, r, "last_payment_error.code", rows[i].code);
    }
}

static void with_nobody_there_a_question_is_a_decline(void **state)
{
    static const char *const ways[] = { "&off_session=true", "&error_on_requires_action=true" };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(ways); i++) {
        struct reply r = shop_pay(shop, "pm_card_authenticationRequired", ways[i]);

        expect_status(r, 402);
        expect(shop, r, "error.code", "authentication_required");
        expect(shop, r, "error.payment_intent.status", "requires_payment_method");
    }
}

static void a_wrong_parameter_is_named(void **state)
{
    static const struct {
        const char *body, *code, *param;
    } rows[] = {
        { "currency=usd", "parameter_missing", "amount" },
        { "amount=100", "parameter_missing", "currency" },
        { "amount=&currency=usd", "parameter_invalid_integer", "amount" },
        { "amount=12.0&currency=usd", "parameter_invalid_integer", "amount" },
        { "amount=1e3&currency=usd", "parameter_invalid_integer", "amount" },
        { "amount=99999999999999999999&currency=usd", "parameter_invalid_integer", "amount" },
        { "amount=-100&currency=usd", "parameter_invalid_integer", "amount" },
        { "amount=0&currency=usd", "parameter_invalid_integer", "amount" },
        { "amount=49&currency=jpy", "amount_too_small", "amount" },
        { "amount=49&currency=usd", "amount_too_small", "amount" },
        { "amount=100000000&currency=usd", "amount_too_large", "amount" },
        { "amount[a]=1&currency=usd", "parameter_invalid_string", "amount" },
        { "amount=100&currency=zzz", "", "currency" },
        { "amount=100&currency=", "", "currency" },
        { "amount=100&currency=usd&capture_method=later", "", "capture_method" },
        { "amount=100&currency=usd&confirm=yes", "parameter_invalid_boolean", "confirm" },
        { "amount=100&currency=usd&confirm=true", "parameter_missing", "payment_method" },
        { "amount=100&currency=usd&metadata[a][b]=1", "", "metadata" },
        { "amount=100&currency=usd&metadata=x", "", "metadata" },
        { "amount=100&currency=usd&metadata[12345678901234567890123456789012345678901]=x", "",
          "metadata" },
        { "amount=100&currency=usd&statement_descriptor_suffix=12345678901234567890123",
          "parameter_invalid_string_length", "statement_descriptor_suffix" },
        { "amount=100&currency=usd&amount=%zz", "", "" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply r = shop_post(shop, "/v1/payment_intents", rows[i].body);

        expect_status(r, 400);
        expect(shop, r, "error.type", "invalid_request_error");
        expect(shop, r, "error.code", rows[i].code);
        expect(shop, r, "error.param", rows[i].param);
    }
    expect_events(shop, "");
    expect(shop, shop_get(shop, "/v1/payment_intents"), "data", "[]");
}

static void an_update_changes_what_is_named_and_nothing_else(void **state)
{
    struct shop *shop = *state;
    struct reply r = shop_post(shop, "/v1/payment_intents",
                               "amount=100&currency=usd&metadata[a]=1&metadata[b]=2&description=x"
                               "&shipping[name]=J&shipping[address][line1]=510+Townsend+St");
    const char *path = shop_path(shop, "/v1/payment_intents/", at(shop, r, "id"), "");

    expect(shop, r, "shipping.address.line1", "510 Townsend St");
    r = shop_post(shop, path, "metadata[a]=&metadata[c]=3&amount=200");
    expect(shop, r, "metadata", "{\"b\":\"2\",\"c\":\"3\"}");
    expect(shop, r, "amount", "200");
    expect(shop, r, "description", "x");
    expect(shop, r, "status", "requires_payment_method");
    r = shop_post(shop, path, "payment_method=pm_card_visa&description=");
    expect(shop, r, "status", "requires_confirmation");
    expect(shop, r, "description", "null");
    r = shop_post(shop, path, "metadata=&payment_method=");
    expect(shop, r, "metadata", "{}");
    expect(shop, r, "status", "requires_payment_method");
    r = shop_post(shop, shop_path(shop, path, "/confirm", ""), "payment_method=pm_card_visa");
    expect(shop, r, "amount_received", "200");
    r = shop_post(shop, path, "amount=300");
    expect(shop, r, "error.code", "payment_intent_unexpected_state");
    r = shop_post(shop, path, "metadata[late]=1");
    expect(shop, r, "metadata", "{\"late\":\"1\"}");
    expect(shop, r, "status", "succeeded");
}

static void a_payment_method_of_ones_own_can_be_used_and_read(void **state)
{
    struct shop *shop = *state;
    struct reply r = shop_post(shop, "/v1/payment_methods",
                               "type=card&card[number]=4000000000009995&card[exp_month]=5"
                               "&card[exp_year]=31&billing_details[name]=Jenny");
    const char *id = at(shop, r, "id");

    expect(shop, r, "card.last4", "9995");
    r = shop_get(shop, shop_path(shop, "/v1/payment_methods/", id, ""));
    expect(shop, r, "card.exp_year", "2031");
    expect(shop, r, "billing_details.name", "Jenny");
    expect(shop, shop_pay(shop, id, ""), "error.decline_code", "insufficient_funds");
    r = shop_post(shop, "/v1/payment_intents",
                  "amount=100&currency=usd&confirm=true&payment_method_data[type]=card"
                  "&payment_method_data[card][token]=tok_visa");
    expect(shop, r, "status", "succeeded");
    expect_status(shop_get(shop, "/v1/payment_methods/pm_1nobody"), 404);
    expect_status(shop_post(shop, "/v1/payment_methods", "type=card&card[number]=4111"), 400);
    expect_status(shop_post(shop, "/v1/payment_methods", ""), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHOP_TEST(every_test_card_does_what_its_name_says),
        SHOP_TEST(a_payment_is_told_in_stripes_order),
        SHOP_TEST(a_decline_leaves_a_failed_charge_and_the_intent_may_still_succeed),
        SHOP_TEST(a_manual_payment_waits_for_its_capture),
        SHOP_TEST(a_cancelled_intent_is_final),
        SHOP_TEST(an_authorisation_lapses_after_seven_days),
        SHOP_TEST(the_customer_answers_the_3d_secure_question),
        SHOP_TEST(with_nobody_there_a_question_is_a_decline),
        SHOP_TEST(a_wrong_parameter_is_named),
        SHOP_TEST(an_update_changes_what_is_named_and_nothing_else),
        SHOP_TEST(a_payment_method_of_ones_own_can_be_used_and_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
