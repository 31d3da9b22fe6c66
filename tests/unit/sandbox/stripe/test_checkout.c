/* test_checkout.c - sessions, slips and disputes as their state tables have them: every way to pay,
 * from every state, and what is told of it. */
#include "unit/sandbox/shop.h"

#define ORDER                                                                                      \
    "mode=payment&success_url=https://shop.example/done&cancel_url=https://shop.example/back"      \
    "&line_items[0][price_data][currency]=jpy&line_items[0][price_data][unit_amount]=500"          \
    "&line_items[0][price_data][product_data][name]=x&line_items[0][quantity]=2"
#define SLIP                                                                                       \
    "amount=1000&currency=jpy&confirm=true&payment_method_data[type]=konbini"                      \
    "&payment_method_data[billing_details][email]=a@example.com"

static struct reply shop_control(struct shop *shop, const char *path, const char *body)
{
    return shop_hear(shop,
                     shop_send(shop, "POST", path, "Content-Type: application/json\r\n", body));
}

static struct reply shop_session(struct shop *shop, const char *more)
{
    struct reply r = shop_post(shop, "/v1/checkout/sessions", shop_path(shop, ORDER, more, ""));

    expect_status(r, 200);
    return r;
}

static struct reply shop_pay_session(struct shop *shop, const char *id, const char *method)
{
    return shop_control(shop, shop_path(shop, "/_sandbox/checkout/", id, "/pay"),
                        shop_path(shop, "{\"paymentMethod\":\"", method, "\"}"));
}

static void expect_session(struct shop *shop, const char *id, const char *status,
                           const char *payment_status)
{
    struct reply r = shop_get(shop, shop_path(shop, "/v1/checkout/sessions/", id, ""));

    expect(shop, r, "status", status);
    expect(shop, r, "payment_status", payment_status);
}

/* --- sessions --- */

static void every_way_to_pay_ends_as_the_table_says(void **state)
{
    static const struct {
        const char *why, *method, *status, *payment_status, *events;
    } rows[] = {
        { "a card pays", "pm_card_visa", "complete", "paid",
          "payment_intent.created charge.succeeded payment_intent.succeeded "
          "checkout.session.completed charge.updated" },
        { "a decline is not the end", "pm_card_chargeDeclined", "open", "unpaid",
          "payment_intent.created charge.failed payment_intent.payment_failed" },
        { "a question is not the end", "pm_card_threeDSecure2Required", "open", "unpaid",
          "payment_intent.created payment_intent.requires_action" },
        { "a slip is complete and not paid", "konbini", "complete", "unpaid",
          "payment_intent.created payment_intent.requires_action checkout.session.completed" },
        { "a card that disputes pays first", "pm_card_createDispute", "complete", "paid",
          "payment_intent.created charge.succeeded payment_intent.succeeded "
          "checkout.session.completed charge.dispute.created charge.updated" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *id = at(shop, shop_session(shop, ""), "id");
        struct reply r;

        shop_mark(shop);
        r = shop_pay_session(shop, id, rows[i].method);
        if (r.status != 200 || strcmp(at(shop, r, "status"), rows[i].status) != 0 ||
            strcmp(at(shop, r, "payment_status"), rows[i].payment_status) != 0)
            fail_msg("row %zu: %s: %s", i, rows[i].why, r.body);
        expect_events(shop, rows[i].events);
        expect_session(shop, id, rows[i].status, rows[i].payment_status);
    }
}

static void every_try_is_on_one_intent_until_one_pays(void **state)
{
    static const char *const tries[] = { "pm_card_chargeDeclined", "pm_card_threeDSecure2Required",
                                         "pm_card_chargeDeclinedExpiredCard", "pm_card_visa" };
    struct shop *shop = *state;
    const char *id = at(shop, shop_session(shop, ""), "id"), *intent = NULL;

    for (size_t i = 0; i < COUNT(tries); i++) {
        struct reply r = shop_pay_session(shop, id, tries[i]);

        expect_status(r, 200);
        if (intent)
            expect(shop, r, "payment_intent", intent);
        intent = at(shop, r, "payment_intent");
    }
    expect_session(shop, id, "complete", "paid");
    expect_status(shop_pay_session(shop, id, "pm_card_visa"), 422);
    expect(shop, shop_intent(shop, intent), "amount_received", "1000");
}

static void an_open_sessions_intent_ends_with_the_session_alone(void **state)
{
    struct shop *shop = *state;
    const char *id = at(shop, shop_session(shop, ""), "id");
    const char *intent =
        at(shop, shop_pay_session(shop, id, "pm_card_chargeDeclined"), "payment_intent");
    struct reply r =
        shop_post(shop, shop_path(shop, "/v1/payment_intents/", intent, "/cancel"), "");

    expect_status(r, 400);
    expect(shop, r, "error.code", "payment_intent_unexpected_state");
    shop_mark(shop);
    expect_status(shop_post(shop, shop_path(shop, "/v1/checkout/sessions/", id, "/expire"), ""),
                  200);
    expect_events(shop, "payment_intent.canceled checkout.session.expired");
    expect(shop, shop_intent(shop, intent), "status", "canceled");
    expect_status(shop_pay_session(shop, id, "pm_card_visa"), 422);
}

static void a_session_lives_for_as_long_as_it_says(void **state)
{
    struct shop *shop = *state;
    const char *id = at(shop, shop_session(shop, ""), "id");

    shop_wait_ms(shop, INT64_C(24) * 3600 * 1000 - 60 * 1000);
    expect_session(shop, id, "open", "unpaid");
    shop_mark(shop);
    shop_wait_ms(shop, 60 * 1000);
    expect_events(shop, "checkout.session.expired");
    expect_session(shop, id, "expired", "unpaid");
}

/* --- slips --- */

static void a_slip_lapses_once_and_a_new_one_has_its_own_time(void **state)
{
    static const int64_t day_ms = INT64_C(24) * 3600 * 1000;
    struct shop *shop = *state;
    struct reply r = shop_post(shop, "/v1/payment_intents",
                               SLIP "&payment_method_options[konbini][expires_after_days]=1");
    const char *id = at(shop, r, "id");
    const char *confirm = shop_path(shop, "/v1/payment_intents/", id, "/confirm");

    expect(shop, r, "next_action.type", "konbini_display_details");
    shop_mark(shop);
    r = shop_post(shop, confirm,
                  "payment_method_data[type]=konbini"
                  "&payment_method_options[konbini][expires_after_days]=20");
    expect(shop, r, "status", "requires_action");
    shop_wait_ms(shop, 3 * day_ms); /* the first one's end is no end of the second */
    expect(shop, shop_intent(shop, id), "status", "requires_action");
    shop_wait_ms(shop, 20 * day_ms); /* events are kept for thirty */
    expect_events(shop, "payment_intent.requires_action payment_intent.payment_failed");
    r = shop_intent(shop, id);
    expect(shop, r, "status", "requires_payment_method");
    expect(shop, r, "last_payment_error.code", "payment_intent_payment_attempt_expired");
}

static void a_slip_is_paid_or_lapses_and_never_both(void **state)
{
    static const struct {
        const char *first, *then;
    } rows[] = {
        { "pay", "expire" }, { "expire", "pay" }, { "pay", "pay" }, { "expire", "expire" }
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *id = at(shop, shop_post(shop, "/v1/payment_intents", SLIP), "id");
        const char *path = shop_path(shop, "/_sandbox/konbini/", id, "/");

        expect_status(shop_control(shop, shop_path(shop, path, rows[i].first, ""), ""), 200);
        expect_status(shop_control(shop, shop_path(shop, path, rows[i].then, ""), "{}"), 422);
    }
}

/* --- parameters --- */

static void what_makes_no_sense_leaves_nothing_behind(void **state)
{
    static const struct {
        const char *path, *body, *param;
    } rows[] = {
        { "/v1/products", "name=", "name" },
        { "/v1/prices", "currency=jpy&unit_amount=1&product_data[name]=", "name" },
        { "/v1/prices", "currency=jpy&unit_amount=100000000&product_data[name]=x", "unit_amount" },
        { "/v1/checkout/sessions", ORDER "&line_items[1][quantity]=1", "line_items[price]" },
        { "/v1/checkout/sessions", ORDER "&line_items[0][quantity]=-1", "line_items[quantity]" },
        { "/v1/checkout/sessions", ORDER "&success_url=ftp://x", "success_url" },
        { "/v1/checkout/sessions", ORDER "&expires_at=1", "expires_at" },
        { "/v1/checkout/sessions", "mode=payment&success_url=https://x&line_items=5",
          "line_items" },
        { "/v1/payment_intents", SLIP "&payment_method_options[konbini][expires_after_days]=x",
          "expires_after_days" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply r = shop_post(shop, rows[i].path, rows[i].body);

        if (r.status != 400 || strcmp(at(shop, r, "error.param"), rows[i].param) != 0)
            fail_msg("row %zu: %s: %d %s", i, rows[i].body, r.status, r.body);
    }
    expect(shop, shop_get(shop, "/v1/products"), "data", "[]");
    expect(shop, shop_get(shop, "/v1/prices"), "data", "[]");
    expect(shop, shop_get(shop, "/v1/checkout/sessions"), "data", "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHOP_TEST(every_way_to_pay_ends_as_the_table_says),
        SHOP_TEST(every_try_is_on_one_intent_until_one_pays),
        SHOP_TEST(an_open_sessions_intent_ends_with_the_session_alone),
        SHOP_TEST(a_session_lives_for_as_long_as_it_says),
        SHOP_TEST(a_slip_lapses_once_and_a_new_one_has_its_own_time),
        SHOP_TEST(a_slip_is_paid_or_lapses_and_never_both),
        SHOP_TEST(what_makes_no_sense_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
