/* Each object is read as an event and as a tree, and both must give the same fact. */
#include "base/json.h"
#include "fixtures.h"
#include "gateway/fact.h"
#include "gateway/stripe_read.h"

static struct arena arena;
static char *body; /* of the last event: the fact's texts point into it */

static enum err read_both(const char *event, struct fact *ret)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct fact of_tree = { 0 };
    const cJSON *object;
    enum err e, of_tree_e;

    free(body);
    body = json_of(event);
    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    *ret = (struct fact){ 0 };
    e = stripe_read_event(&arena, str_of(body), ret);
    if (json_parse(str_of(body), &tree, NULL))
        return e;
    object =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(tree, "data"), "object");
    if (!cJSON_HasObjectItem(object, "object") || cJSON_HasObjectItem(object, "charges"))
        return e; /* only events leave that out, or are that old */
    of_tree_e = stripe_read_object(&arena, object, &of_tree);
    assert_int_equal(e, of_tree_e);
    if (!e)
        assert_true(str_eq(fact_write(&arena, ret), fact_write(&arena, &of_tree)));
    return e;
}

static struct fact fact_of(const char *event)
{
    struct fact f;

    if (read_both(event, &f))
        fail_msg("cannot be read: %s", event);
    return f;
}

/* --- intents --- */

static void d7_an_intents_status_becomes_a_state(void **state)
{
    static const struct {
        const char *status, *error;
        enum intent_state state;
        const char *action;
    } rows[] = {
        { "requires_payment_method", "null", INTENT_OPEN, "confirm" },
        { "requires_payment_method", "{'code':'card_declined'}", INTENT_DECLINED, "" },
        { "requires_confirmation", "null", INTENT_OPEN, "confirm" },
        { "requires_confirmation", "{'code':'card_declined'}", INTENT_OPEN, "confirm" },
        { "processing", "null", INTENT_OPEN, "" },
        { "requires_action", "null", INTENT_ACTION, "" },
        { "requires_capture", "null", INTENT_AUTHORIZED, "" },
        { "succeeded", "null", INTENT_SUCCEEDED, "" },
        { "canceled", "null", INTENT_CANCELED, "" },
    };
    char event[1024];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f;

        snprintf(event, sizeof(event),
                 "{'data':{'object':{'object':'payment_intent','id':'pi_1','amount':1,"
                 "'amount_received':1,'currency':'jpy','status':'%s','last_payment_error':%s}}}",
                 rows[i].status, rows[i].error);
        f = fact_of(event);
        if (f.kind != FACT_INTENT || f.state != rows[i].state)
            fail_msg("row %zu: %d", i, (int)f.state);
        expect_str(rows[i].status, f.action_type, rows[i].action);
    }
}

static void a_paid_intent_tells_what_it_received(void **state)
{
    struct fact f = fact_of(EVENT("payment_intent.succeeded",
                                  WHOLE_INTENT("succeeded", "1500", "'ch_3RWG'", "null", "null")));

    (void)state;
    assert_int_equal(f.kind, FACT_INTENT);
    assert_int_equal(f.state, INTENT_SUCCEEDED);
    expect_str("intent", f.intent_id, "pi_3RWG");
    expect_str("payment", f.payment_id, PAYMENT);
    expect_str("charge", f.charge_id, "ch_3RWG");
    assert_string_equal(f.currency, "JPY");
    assert_int_equal(f.amount, 2000);
    assert_int_equal(f.received, 1500);
    expect_str("no reason", f.cancel_reason, "");
    expect_str("no secret without a use for it", f.client_secret, "");
}

static void d9_an_expanded_charge_tells_when_the_authorisation_lapses(void **state)
{
    struct fact f = fact_of(EVENT(
        "payment_intent.amount_capturable_updated",
        WHOLE_INTENT("requires_capture", "0", WHOLE_CHARGE("false", "0", "null"), "null", "null")));

    (void)state;
    assert_int_equal(f.state, INTENT_AUTHORIZED);
    expect_str("charge", f.charge_id, "ch_3RWG");
    assert_int_equal(f.capture_before_ms, INT64_C(1760604800000));
}

static void a_decline_tells_why_and_a_cancel_too(void **state)
{
    struct fact f = fact_of(
        EVENT("payment_intent.payment_failed",
              WHOLE_INTENT("requires_payment_method", "0", "'ch_3RWG'",
                           "{'code':'card_declined','decline_code':'insufficient_funds',"
                           "'message':'\\u6b8b高不足 \\\"x\\\"','charge':'ch_3RWG','type':"
                           "'card_error','payment_method':{'id':'pm_1','card':{'last4':'9995'}}}",
                           "null")));

    (void)state;
    assert_int_equal(f.state, INTENT_DECLINED);
    expect_str("code", f.failure_code, "card_declined");
    expect_str("decline code", f.decline_code, "insufficient_funds");
    expect_str("message", f.failure_message, "残高不足 \"x\"");
    f = fact_of(
        EVENT("payment_intent.canceled", WHOLE_INTENT("canceled", "0", "null", "null", "null")));
    assert_int_equal(f.state, INTENT_CANCELED);
    expect_str("reason", f.cancel_reason, "expired");
}

static void what_the_customer_has_to_do_is_told(void **state)
{
    struct fact f = fact_of(EVENT(
        "payment_intent.requires_action",
        WHOLE_INTENT("requires_action", "0", "null", "null",
                     "{'type':'redirect_to_url','redirect_to_url':{'url':"
                     "'https://hooks.stripe.com/3d?a=1\\u0026b','return_url':'https://s/'}}")));

    (void)state;
    assert_int_equal(f.state, INTENT_ACTION);
    expect_str("type", f.action_type, "redirect_to_url");
    expect_str("url", f.action_url, "https://hooks.stripe.com/3d?a=1&b");
    f = fact_of(EVENT("payment_intent.requires_action",
                      WHOLE_INTENT("requires_action", "0", "null", "null",
                                   "{'type':'use_stripe_sdk','use_stripe_sdk':{'type':'x'}}")));
    expect_str("type", f.action_type, "use_stripe_sdk");
    expect_str("url", f.action_url, "");
    expect_str("secret", f.client_secret, "pi_3RWG_secret_0123456789abcdefghijklmno");
}

static void an_old_event_names_its_charge_in_a_list(void **state)
{
    struct fact f = fact_of("{'type':'payment_intent.succeeded','data':{'object':{'id':'pi_1',"
                            "'object':'payment_intent','amount':2000,'amount_received':2000,"
                            "'currency':'jpy','status':'succeeded','charges':{'data':["
                            "{'id':'ch_2','amount':2000},{'id':'ch_1'}]}}}}");

    (void)state;
    expect_str("charge", f.charge_id, "ch_2");
    f = fact_of("{'data':{'object':{'id':'pi_1','object':'payment_intent','amount':1,"
                "'currency':'jpy','status':'processing','charges':{'data':[]}}}}");
    expect_str("charge", f.charge_id, "");
}

static void t7_the_smallest_event_of_003_is_read_and_fits_no_payment(void **state)
{
    struct fact f = fact_of("{'id':'evt_test_123','type':'payment_intent.succeeded','data':{"
                            "'object':{'id':'pi_test_123','amount':2000,'status':'succeeded',"
                            "'metadata':{'purchase_id':'test-purchase-id'}}}}");

    (void)state;
    assert_int_equal(f.kind, FACT_INTENT);
    assert_int_equal(f.state, INTENT_SUCCEEDED);
    expect_str("intent", f.intent_id, "pi_test_123");
    expect_str("payment", f.payment_id, "");
    assert_string_equal(f.currency, "");
}

static void d10_without_amount_received_it_fits_no_payment(void **state)
{
    struct fact f = fact_of("{'data':{'object':{'object':'payment_intent','id':'pi_1','amount':1,"
                            "'currency':'jpy','status':'succeeded'}}}");

    (void)state;
    assert_string_equal(f.currency, "");
    f = fact_of("{'data':{'object':{'object':'payment_intent','id':'pi_1','amount':1,"
                "'currency':'jpy','status':'requires_capture'}}}");
    assert_string_equal(f.currency, "JPY");
}

static void amounts_are_told_in_our_units(void **state)
{
    struct fact f = fact_of("{'data':{'object':{'object':'payment_intent','id':'pi_1',"
                            "'amount':500,'amount_received':200,'currency':'isk',"
                            "'status':'succeeded'}}}");

    (void)state;
    assert_int_equal(f.amount, 5);
    assert_int_equal(f.received, 2);
}

/* --- charges --- */

static void a_charge_tells_fee_net_and_receipt(void **state)
{
    struct fact f = fact_of(EVENT(
        "charge.updated", WHOLE_CHARGE("true", "1500",
                                       "{'id':'txn_1','object':'balance_transaction','amount':1500,"
                                       "'currency':'jpy','fee':54,'net':1446}")));

    (void)state;
    assert_int_equal(f.kind, FACT_CHARGE);
    expect_str("charge", f.charge_id, "ch_3RWG");
    expect_str("intent", f.intent_id, "pi_3RWG");
    expect_str("payment", f.payment_id, PAYMENT);
    assert_true(f.captured);
    assert_false(f.charge_failed);
    assert_int_equal(f.amount, 1500);
    expect_str("balance", f.balance_transaction, "txn_1");
    assert_true(f.has_fee);
    assert_int_equal(f.fee, 54);
    assert_int_equal(f.net, 1446);
    expect_str("receipt", f.receipt_url, "https://pay.stripe.com/receipts/x?s=ap&y");
}

static void a_charge_may_leave_its_fee_for_later(void **state)
{
    static const struct {
        const char *why, *balance, *id;
    } rows[] = {
        { "not yet", "null", "" },
        { "only its id", "'txn_1'", "txn_1" },
        { "settled in another currency", "{'id':'txn_1','currency':'usd','fee':1,'net':2}",
          "txn_1" },
        { "no net", "{'id':'txn_1','currency':'jpy','fee':1}", "txn_1" },
        { "a list, as some relays write empty objects", "[]", "" },
    };
    char event[512];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f;

        snprintf(event, sizeof(event),
                 "{'data':{'object':{'object':'charge','id':'ch_1','amount':9,'currency':'jpy',"
                 "'captured':false,'amount_captured':0,'payment_intent':{'id':'pi_7'},"
                 "'status':'succeeded','metadata':[],'balance_transaction':%s}}}",
                 rows[i].balance);
        f = fact_of(event);
        assert_false(f.has_fee);
        assert_false(f.captured);
        assert_int_equal(f.amount, 9);
        expect_str(rows[i].why, f.balance_transaction, rows[i].id);
        expect_str("an expanded intent", f.intent_id, "pi_7");
    }
}

static void a_failed_charge_says_so(void **state)
{
    struct fact f = fact_of("{'type':'charge.failed','data':{'object':{'object':'charge','id':"
                            "'ch_1','amount':9,'currency':'jpy','status':'failed'}}}");

    (void)state;
    assert_true(f.charge_failed);
}

/* --- refunds --- */

static void d12_a_refund_has_its_status_and_both_ids(void **state)
{
    static const char *const words[REFUND_STATUSES] = { "pending", "requires_action", "succeeded",
                                                        "failed", "canceled" };
    char event[4096];

    (void)state;
    for (size_t i = 0; i < COUNT(words); i++) {
        struct fact f;

        snprintf(
            event, sizeof(event),
            EVENT("refund.updated", WHOLE_REFUND("%s", ",'failure_reason':'lost_or_stolen_card'")),
            words[i]);
        f = fact_of(event);
        assert_int_equal(f.kind, FACT_REFUND);
        assert_int_equal(f.refund, i);
        expect_str("id", f.refund_id, "re_3RWG");
        expect_str("ours", f.refund_our_id, REFUND);
        expect_str("payment", f.payment_id, PAYMENT);
        expect_str("intent", f.intent_id, "pi_3RWG");
        expect_str("charge", f.charge_id, "ch_3RWG");
        expect_str("why", f.refund_failure, "lost_or_stolen_card");
        assert_int_equal(f.amount, 700);
    }
}

/* --- others, and broken ones --- */

static void what_is_no_money_object_is_no_fact(void **state)
{
    static const char *const events[] = {
        "{}",
        "{'data':{}}",
        "{'data':{'object':null}}",
        "{'data':{'object':{'object':'checkout.session','id':'cs_1','status':'complete'}}}",
        "{'data':{'object':{'object':'dispute','id':'dp_1','amount':1,'status':'lost'}}}",
        "{'type':'charge.dispute.created','data':{'object':{'id':'dp_1'}}}",
        "{'type':'payment_intent.x','data':{'object':{'object':7,'id':'pi_1'}}}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(events); i++)
        assert_int_equal(fact_of(events[i]).kind, FACT_NONE);
}

static void what_we_need_and_cannot_read_is_refused(void **state)
{
    static const struct {
        const char *why, *fields;
    } rows[] = {
        { "a status of the future",
          "'object':'payment_intent','id':'pi_1','amount':1,'currency':'jpy',"
          "'status':'requires_luck'" },
        { "no status", "'object':'payment_intent','id':'pi_1','amount':1,'currency':'jpy'" },
        { "no id", "'object':'payment_intent','amount':1,'currency':'jpy','status':'canceled'" },
        { "an id with a blank", "'object':'payment_intent','id':'pi 1','amount':1,'currency':'jpy',"
                                "'status':'canceled'" },
        { "an amount in words",
          "'object':'payment_intent','id':'pi_1','amount':'1','currency':'jpy',"
          "'status':'canceled'" },
        { "a fraction", "'object':'payment_intent','id':'pi_1','amount':1.5,'currency':'jpy',"
                        "'status':'canceled'" },
        { "below zero", "'object':'payment_intent','id':'pi_1','amount':-1,'currency':'jpy',"
                        "'status':'canceled'" },
        { "more than there is",
          "'object':'payment_intent','id':'pi_1','amount':9223372036854775808,'currency':'jpy',"
          "'status':'canceled'" },
        { "no currency of three letters",
          "'object':'payment_intent','id':'pi_1','amount':1,'currency':'yen!',"
          "'status':'canceled'" },
        { "a fraction of a krona",
          "'object':'payment_intent','id':'pi_1','amount':150,'currency':'isk',"
          "'status':'canceled'" },
        { "a refund in an unknown status",
          "'object':'refund','id':'re_1','amount':1,'currency':'jpy','status':'thinking'" },
        { "a charge without an id", "'object':'charge','amount':1,'currency':'jpy'" },
    };
    char event[512];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f;

        snprintf(event, sizeof(event), "{'data':{'object':{%s}}}", rows[i].fields);
        if (read_both(event, &f) != ERR_VALIDATION)
            fail_msg("%s", rows[i].why);
    }
}

static void text_that_is_not_json_is_refused(void **state)
{
    struct fact f;

    (void)state;
    assert_int_equal(read_both("", &f), ERR_VALIDATION);
    assert_int_equal(read_both("{'data':{'object':{'id':'a','id':'b'}}}", &f), ERR_VALIDATION);
}

static void a_full_arena_is_told(void **state)
{
    char *text = json_of(EVENT("charge.updated", WHOLE_CHARGE("true", "1500", "null")));
    struct fact f;

    (void)state;
    arena_release(&arena);
    arena_init(&arena, 8);
    assert_int_equal(stripe_read_event(&arena, str_of(text), &f), ERR_NO_MEMORY);
    free(text);
}

static int tidy(void **state)
{
    (void)state;
    free(body);
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(d7_an_intents_status_becomes_a_state),
        TEST(a_paid_intent_tells_what_it_received),
        TEST(d9_an_expanded_charge_tells_when_the_authorisation_lapses),
        TEST(a_decline_tells_why_and_a_cancel_too),
        TEST(what_the_customer_has_to_do_is_told),
        TEST(an_old_event_names_its_charge_in_a_list),
        TEST(t7_the_smallest_event_of_003_is_read_and_fits_no_payment),
        TEST(d10_without_amount_received_it_fits_no_payment),
        TEST(amounts_are_told_in_our_units),
        TEST(a_charge_tells_fee_net_and_receipt),
        TEST(a_charge_may_leave_its_fee_for_later),
        TEST(a_failed_charge_says_so),
        TEST(d12_a_refund_has_its_status_and_both_ids),
        TEST(what_is_no_money_object_is_no_fact),
        TEST(what_we_need_and_cannot_read_is_refused),
        TEST(text_that_is_not_json_is_refused),
        TEST(a_full_arena_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, tidy);
}
