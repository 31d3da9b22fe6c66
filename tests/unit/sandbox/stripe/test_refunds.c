/* test_refunds.c - money that goes back, and the lists. */
#include "unit/sandbox/shop.h"

static struct reply refund(struct shop *shop, const char *what, const char *id, const char *more)
{
    return shop_post(shop, "/v1/refunds", shop_path(shop, what, id, more));
}

static void a_payment_goes_back_in_parts_and_never_more_than_it_was(void **state)
{
    struct shop *shop = *state;
    struct reply p = shop_pay(shop, "pm_card_visa", ""), a, b, r;
    const char *id = at(shop, p, "id"), *charge = at(shop, p, "latest_charge");

    expect_events(shop, "payment_intent.created charge.succeeded payment_intent.succeeded "
                        "charge.updated");
    shop_mark(shop);
    a = refund(shop, "payment_intent=", id, "&amount=300&reason=duplicate&metadata[a]=b");
    expect(shop, a, "status", "succeeded");
    expect(shop, a, "reason", "duplicate");
    r = refund(shop, "payment_intent=", id, "&amount=701");
    expect_status(r, 400);
    expect(shop, r, "error.param", "amount");
    expect(shop, r, "error.code", "");
    b = refund(shop, "charge=", charge, "");
    expect(shop, b, "amount", "700");
    r = refund(shop, "payment_intent=", id, "");
    expect_status(r, 400);
    expect(shop, r, "error.code", "charge_already_refunded");
    expect(shop, refund(shop, "payment_intent=", id, "&amount=1"), "error.code",
           "charge_already_refunded");
    r = shop_get(shop, shop_path(shop, "/v1/charges/", charge, "?expand[]=refunds"));
    expect(shop, r, "refunded", "true");
    expect(shop, r, "amount_refunded", "1000");
    assert_non_null(strstr(at(shop, r, "refunds.data"), at(shop, a, "id")));
    expect_events(shop, "refund.created charge.refunded refund.created charge.refunded");
    r = shop_get(shop,
                 shop_path(shop, "/v1/payment_intents/", id, "?expand[]=latest_charge.refunds"));
    expect(shop, r, "status", "succeeded");
    assert_non_null(strstr(at(shop, r, "latest_charge.refunds.data"), at(shop, b, "id")));
    r = shop_get(
        shop, shop_path(shop, "/v1/balance_transactions/", at(shop, a, "balance_transaction"), ""));
    expect(shop, r, "net", "-300");
}

static void a_refund_that_makes_no_sense_is_refused(void **state)
{
    struct shop *shop = *state;
    struct reply held = shop_pay(shop, "pm_card_visa", "&capture_method=manual");
    struct reply failed = shop_pay(shop, "pm_card_chargeDeclined", "");
    struct reply paid = shop_pay(shop, "pm_card_visa", "");
    struct {
        const char *what, *id, *more;
        int status;
    } rows[] = {
        { "payment_intent=", at(shop, held, "id"), "", 400 },
        { "charge=", at(shop, held, "latest_charge"), "", 400 },
        { "payment_intent=", at(shop, failed, "error.payment_intent.id"), "", 400 },
        { "charge=", at(shop, failed, "error.charge"), "", 400 },
        { "payment_intent=", "pi_3nobody", "", 404 },
        { "charge=", "ch_3nobody", "", 404 },
        { "", "", "", 400 },
        { "payment_intent=", at(shop, paid, "id"), "&amount=0", 400 },
        { "payment_intent=", at(shop, paid, "id"), "&amount=-5", 400 },
        { "payment_intent=", at(shop, paid, "id"), "&amount=x", 400 },
        { "payment_intent=", at(shop, paid, "id"), "&reason=boredom", 400 },
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        expect_status(refund(shop, rows[i].what, rows[i].id, rows[i].more), rows[i].status);
    expect(shop, shop_get(shop, "/v1/refunds"), "data", "[]");
}

static void a_refund_to_a_lost_card_comes_back(void **state)
{
    struct shop *shop = *state;
    struct reply p = shop_pay(shop, "pm_card_refundFail", ""), r;
    const char *path;

    expect_events(shop, "payment_intent.created charge.succeeded payment_intent.succeeded "
                        "charge.updated");
    shop_mark(shop);
    r = refund(shop, "payment_intent=", at(shop, p, "id"), "");
    expect(shop, r, "status", "succeeded");
    path = shop_path(shop, "/v1/refunds/", at(shop, r, "id"), "");
    expect_events(shop, "refund.created charge.refunded refund.updated charge.refund.updated "
                        "refund.failed");
    r = shop_get(shop, path);
    expect(shop, r, "status", "failed");
    expect(shop, r, "failure_reason", "lost_or_stolen_card");
    p = shop_get(shop, shop_path(shop, "/v1/balance_transactions/",
                                 at(shop, r, "failure_balance_transaction"), ""));
    expect(shop, p, "net", "1000");
    p = shop_get(shop, shop_path(shop, "/v1/charges/", at(shop, r, "charge"), ""));
    expect(shop, p, "amount_refunded", "0");
    expect(shop, p, "refunded", "false");
}

static void a_refund_keeps_notes_and_is_too_late_to_cancel(void **state)
{
    struct shop *shop = *state;
    struct reply p = shop_pay(shop, "pm_card_visa", ""), r;
    const char *path;

    expect_events(shop, "payment_intent.created charge.succeeded payment_intent.succeeded "
                        "charge.updated");
    r = refund(shop, "payment_intent=", at(shop, p, "id"), "&metadata[a]=1");
    path = shop_path(shop, "/v1/refunds/", at(shop, r, "id"), "");
    shop_mark(shop);
    r = shop_post(shop, path, "metadata[a]=&metadata[b]=2");
    expect(shop, r, "metadata", "{\"b\":\"2\"}");
    expect_events(shop, "refund.updated charge.refund.updated");
    expect_status(shop_post(shop, shop_path(shop, path, "/cancel", ""), ""), 400);
}

/* --- lists --- */

enum { MADE = 7 };

/* The ids of a list, newest first, each as the place at which it was made. */
static const char *order(struct shop *shop, const char *path, const char made[][64], size_t n)
{
    struct reply r = shop_get(shop, path);
    CLEANUP(json_freep) cJSON *tree = NULL;
    const cJSON *x;
    char text[64] = "";

    assert_int_equal(json_parse(str_of(r.body), &tree, NULL), OK);
    cJSON_ArrayForEach(x, cJSON_GetObjectItem(tree, "data"))
    {
        for (size_t i = 0; i < n; i++)
            if (strcmp(made[i], cJSON_GetObjectItem(x, "id")->valuestring) == 0)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%zu", i);
    }
    if (cJSON_IsTrue(cJSON_GetObjectItem(tree, "has_more")))
        strcat(text, "+");
    return arena_cstr(&shop->arena, str_of(text));
}

static void lists_are_newest_first_and_paged(void **state)
{
    static const struct {
        const char *query;
        int cursor; /* -1: none */
        const char *order;
    } rows[] = {
        { "?", -1, "6543210" },
        { "?limit=3", -1, "654+" },
        { "?limit=3&starting_after=", 4, "321+" },
        { "?limit=3&starting_after=", 3, "210" },
        { "?limit=3&starting_after=", 0, "" },
        { "?limit=3&ending_before=", 1, "432+" },
        { "?limit=3&ending_before=", 4, "65" },
        { "?limit=100&ending_before=", 6, "" },
        { "?customer=cus_1", -1, "531" },
        { "?customer=cus_1&limit=2&starting_after=", 5, "31" },
        { "?created[gte]=0", -1, "6543210" },
        { "?created[lt]=1", -1, "" },
        { "?created[gt]=99999999999", -1, "" },
        { "?created[lte]=99999999999&limit=1", -1, "6+" },
        { "?created=1", -1, "" },
    };
    struct shop *shop = *state;
    char made[MADE][64];

    for (int i = 0; i < MADE; i++) {
        struct reply r =
            shop_post(shop, "/v1/payment_intents",
                      i % 2 ? "amount=100&currency=usd&customer=cus_1" : "amount=100&currency=usd");

        snprintf(made[i], sizeof(made[i]), "%s", at(shop, r, "id"));
    }
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *cursor = rows[i].cursor < 0 ? "" : made[rows[i].cursor];
        const char *path = shop_path(shop, "/v1/payment_intents", rows[i].query, cursor);

        if (strcmp(order(shop, path, made, MADE), rows[i].order) != 0)
            fail_msg("row %zu: %s: %s", i, path, order(shop, path, made, MADE));
    }
    expect_status(shop_get(shop, "/v1/payment_intents?limit=0"), 400);
    expect_status(shop_get(shop, "/v1/payment_intents?limit=101"), 400);
    expect_status(shop_get(shop, "/v1/payment_intents?created[gte]=x"), 400);
    expect_status(shop_get(shop, "/v1/payment_intents?starting_after=a&ending_before=b"), 400);
}

static void created_counts_whole_seconds(void **state)
{
    struct shop *shop = *state;
    struct reply r = shop_post(shop, "/v1/payment_intents", "amount=100&currency=usd");
    long created = atol(at(shop, r, "created"));
    static const struct {
        const char *how;
        long shift;
        bool found;
    } rows[] = {
        { "[gte]", 0, true }, { "[gte]", 1, false },  { "[gt]", -1, true }, { "[gt]", 0, false },
        { "[lte]", 0, true }, { "[lte]", -1, false }, { "[lt]", 1, true },  { "[lt]", 0, false },
        { "", 0, true },      { "", 1, false },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        char path[128];

        snprintf(path, sizeof(path), "/v1/payment_intents?created%s=%ld", rows[i].how,
                 created + rows[i].shift);
        if ((strstr(shop_get(shop, path).body, "\"pi_3") != NULL) != rows[i].found)
            fail_msg("row %zu: %s", i, path);
    }
}

static void refunds_are_listed_by_payment_and_over_all(void **state)
{
    struct shop *shop = *state;
    struct reply one = shop_pay(shop, "pm_card_visa", ""), two = shop_pay(shop, "pm_card_visa", "");
    const char *one_id = at(shop, one, "id");
    char made[4][64];

    for (int i = 0; i < 4; i++) { /* the older payment's come last, and once in between */
        struct reply r = refund(
            shop, "payment_intent=", at(shop, i == 1 || i == 3 ? one : two, "id"), "&amount=100");

        snprintf(made[i], sizeof(made[i]), "%s", at(shop, r, "id"));
    }
    assert_string_equal(order(shop, "/v1/refunds", made, 4), "3210");
    assert_string_equal(order(shop, "/v1/refunds?limit=2", made, 4), "32+");
    assert_string_equal(
        order(shop, shop_path(shop, "/v1/refunds?limit=2&starting_after=", made[2], ""), made, 4),
        "10");
    assert_string_equal(
        order(shop, shop_path(shop, "/v1/refunds?limit=2&ending_before=", made[0], ""), made, 4),
        "21+");
    assert_string_equal(
        order(shop, shop_path(shop, "/v1/refunds?payment_intent=", one_id, ""), made, 4), "31");
    assert_string_equal(
        order(shop,
              shop_path(shop, "/v1/refunds?charge=", at(shop, two, "latest_charge"), "&limit=1"),
              made, 4),
        "2+");
    assert_string_equal(order(shop,
                              shop_path(shop, "/v1/refunds?starting_after=", made[3],
                                        shop_path(shop, "&payment_intent=", one_id, "")),
                              made, 4),
                        "1");
}

/* --- complete objects --- */

static void objects_have_all_their_keys(void **state)
{
    static const char intent[] =
        "id object allowed_payment_method_types amount amount_capturable amount_details "
        "amount_received application application_fee_amount automatic_payment_methods canceled_at "
        "cancellation_reason capture_method client_secret confirmation_method created currency "
        "customer customer_account description excluded_payment_method_types last_payment_error "
        "latest_charge livemode managed_payments metadata next_action on_behalf_of payment_method "
        "payment_method_configuration_details payment_method_options payment_method_types "
        "payment_record processing receipt_email review setup_future_usage shipping source "
        "statement_descriptor statement_descriptor_suffix status transfer_data transfer_group";
    static const char charge[] =
        "id object amount amount_captured amount_refunded application application_fee "
        "application_fee_amount balance_transaction billing_details "
        "calculated_statement_descriptor captured created currency customer description disputed "
        "failure_balance_transaction failure_code failure_message fraud_details livemode metadata "
        "on_behalf_of outcome paid payment_intent payment_method payment_method_details "
        "radar_options receipt_email receipt_number receipt_url refunded review shipping source "
        "source_transfer statement_descriptor statement_descriptor_suffix status transfer_data "
        "transfer_group";
    static const char card[] =
        "amount_authorized authorization_code brand checks country exp_month exp_year "
        "extended_authorization fingerprint funding incremental_authorization installments last4 "
        "mandate multicapture network network_token network_transaction_id overcapture "
        "regulated_status three_d_secure wallet capture_before";
    static const char back[] =
        "id object amount balance_transaction charge created currency customer customer_account "
        "destination_details metadata payment_intent payment_method reason receipt_number "
        "source_transfer_reversal status transfer_reversal";
    struct shop *shop = *state;
    struct reply p = shop_pay(shop, "pm_card_visa", "");
    struct reply held = shop_pay(shop, "pm_card_visa", "&capture_method=manual");
    struct reply c =
        shop_get(shop, shop_path(shop, "/v1/charges/", at(shop, held, "latest_charge"), ""));
    struct reply r = refund(shop, "payment_intent=", at(shop, p, "id"), "");
    const struct {
        struct reply object;
        const char *prefix, *keys;
    } rows[] = { { p, "", intent },
                 { c, "", charge },
                 { c, "payment_method_details.card.", card },
                 { r, "", back } };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str rest = str_of(rows[i].keys);

        while (rest.n) {
            struct str key = str_cut(&rest, ' ');
            const char *path = shop_path(shop, rows[i].prefix, arena_cstr(&shop->arena, key), "");

            if (!*at(shop, rows[i].object, path))
                fail_msg("%s is not in %s", path, rows[i].object.body);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHOP_TEST(a_payment_goes_back_in_parts_and_never_more_than_it_was),
        SHOP_TEST(a_refund_that_makes_no_sense_is_refused),
        SHOP_TEST(a_refund_to_a_lost_card_comes_back),
        SHOP_TEST(a_refund_keeps_notes_and_is_too_late_to_cancel),
        SHOP_TEST(lists_are_newest_first_and_paged),
        SHOP_TEST(created_counts_whole_seconds),
        SHOP_TEST(refunds_are_listed_by_payment_and_over_all),
        SHOP_TEST(objects_have_all_their_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
