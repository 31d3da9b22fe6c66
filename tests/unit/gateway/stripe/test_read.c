/* Each object is read as an event and as a tree, and both must give the same fact. */
#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "gateway/fact.h"
#include "gateway/stripe/read.h"
#include "unit/gateway/fixtures.h"

static struct arena arena;
static char *body; /* of the last event: the fact's texts point into it */
static bool turns_on_type;

static enum err read_both(const char *event, struct fact *ret)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct stripe_webhook w = { 0 };
    struct fact of_tree = { 0 };
    const cJSON *object;
    enum err e, of_tree_e;

    free(body);
    body = json_of(event);
    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    e = stripe_read_webhook(&arena, str_of(body), &w);
    if (!e)
        e = w.fact_err;
    *ret = w.fact;
    if (json_parse(str_of(body), &tree, NULL))
        return e;
    object =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(tree, "data"), "object");
    if (!cJSON_HasObjectItem(object, "object") || turns_on_type)
        return e; /* an object alone does not tell */
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

/* Where the event's type says more than the object. */
static struct fact fact_by_type(const char *event)
{
    struct fact f;

    turns_on_type = true;
    f = fact_of(event);
    turns_on_type = false;
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
        { "requires_payment_method", "{'code':'card_declined'}", INTENT_DECLINED, "confirm" },
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
    expect_str("D11: another card may be tried", f.action_type, "confirm");
    expect_str("with", f.client_secret, "pi_3RWG_secret_0123456789abcdefghijklmno");
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

static void a_charge_that_is_told_in_any_way_or_none_is_taken(void **state)
{
    static const struct {
        const char *why, *fields, *charge, *receipt;
    } rows[] = {
        { "its id", "'latest_charge':'ch_1'", "ch_1", "" },
        { "all of it", "'latest_charge':{'id':'ch_1','receipt_url':'https://r'}", "ch_1",
          "https://r" },
        { "not yet", "'latest_charge':null", "", "" },
        { "nothing about charges", "'x':1", "", "" },
        { "an old list", "'charges':{'data':[{'id':'ch_1','receipt_url':'https://r'}]}", "ch_1",
          "https://r" },
        { "both", "'latest_charge':'ch_2','charges':{'data':[{'id':'ch_1'}]}", "ch_2", "" },
        { "null beside a list", "'latest_charge':null,'charges':{'data':[{'id':'ch_1'}]}", "ch_1",
          "" },
        { "a list that is none", "'charges':{'data':7}", "", "" },
        { "no list", "'charges':null", "", "" },
        { "a list of something else", "'charges':{'data':['ch_1',{'id':'ch_2'}]}", "", "" },
        { "a charge without an id", "'charges':{'data':[{'id':7}]}", "", "" },
        { "a number", "'latest_charge':7", "", "" },
        { "a relay's empty object", "'latest_charge':[]", "", "" },
        { "an object without an id", "'latest_charge':{'receipt_url':7}", "", "" },
        { "blanks", "'latest_charge':'ch 1'", "", "" },
    };
    char event[512];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f;

        snprintf(event, sizeof(event),
                 "{'data':{'object':{'object':'payment_intent','id':'pi_1','amount':1,"
                 "'amount_received':1,'currency':'jpy','status':'succeeded',%s}}}",
                 rows[i].fields);
        f = fact_of(event);
        expect_str(rows[i].why, f.charge_id, rows[i].charge);
        expect_str(rows[i].why, f.receipt_url, rows[i].receipt);
        assert_int_equal(f.received, 1);
    }
}

#define SUCCEEDED_003                                                                              \
    "{'id':'evt_1ABC2DefGHi3JKLm','object':'event','api_version':'2023-10-16',"                    \
    "'created':1699564800,'data':{'object':{'id':'pi_1ABC2DefGHi3JKLm','object':"                  \
    "'payment_intent','amount':2000,'amount_received':2000,'currency':'jpy','status':"             \
    "'succeeded','payment_method':'pm_1ABC2DefGHi3JKLm',%s'metadata':{'user_id':"                  \
    "'uuid-user-id','campaign_id':'uuid-campaign-id','position_id':'uuid-position-id',"            \
    "'purchase_id':'uuid-purchase-id'},'charges':{'data':[{'id':'ch_1ABC2DefGHi3JKLm','amount':"   \
    "2000,'receipt_url':'https://pay.stripe.com/receipts/...'}]}}},"                               \
    "'type':'payment_intent.succeeded'}"

static void t7_003s_events_are_read_literally(void **state)
{
    char event[2048];
    struct fact f;

    (void)state;
    snprintf(event, sizeof(event), SUCCEEDED_003, "'payment_method_types':['card'],");
    f = fact_of(event);
    assert_int_equal(f.state, INTENT_SUCCEEDED);
    assert_int_equal(f.received, 2000);
    expect_str("charge", f.charge_id, "ch_1ABC2DefGHi3JKLm");
    expect_str("receipt", f.receipt_url, "https://pay.stripe.com/receipts/...");
    expect_str("no payment of ours", f.payment_id, "");
    expect_str("no konbini", f.konbini_number, "");
    snprintf(event, sizeof(event), SUCCEEDED_003,
             "'payment_method_types':['konbini'],'payment_method_options':{'konbini':{"
             "'confirmation_number':'123-456-789','store':'familymart','expires_at':1699996800}},");
    f = fact_of(event);
    expect_str("number", f.konbini_number, "123-456-789");
    expect_str("store", f.konbini_store, "familymart");
    assert_int_equal(f.action_expires_ms, INT64_C(1699996800000));
    f = fact_of("{'id':'evt_3PQR4StuvWX5YZab','object':'event','created':1699565000,'data':{"
                "'object':{'id':'pi_3PQR4StuvWX5YZab','object':'payment_intent','amount':2000,"
                "'currency':'jpy','status':'canceled','cancellation_reason':"
                "'requested_by_customer','metadata':{'purchase_id':'uuid-purchase-id'}}},"
                "'type':'payment_intent.canceled'}");
    assert_int_equal(f.state, INTENT_CANCELED);
    expect_str("reason", f.cancel_reason, "requested_by_customer");
    assert_string_equal(f.currency, "JPY");
}

/* --- konbini --- */

#define SLIP(stores)                                                                               \
    "{'type':'konbini_display_details','konbini_display_details':{'expires_at':1760313599,"        \
    "'hosted_voucher_url':'https://payments.stripe.com/konbini/voucher/"                           \
    "x\\u0026y','stores':" stores "}}"

static void a_konbini_slip_is_what_the_customer_has_to_do(void **state)
{
    struct fact f = fact_of(
        EVENT("payment_intent.requires_action",
              WHOLE_INTENT("requires_action", "0", "null", "null",
                           SLIP("{'familymart':{'payment_code':'12345','confirmation_number':"
                                "'09012345678'},'lawson':{'payment_code':'6','confirmation_number':"
                                "'09012345678'},'ministop':null,'seicomart':null}"))));

    (void)state;
    assert_int_equal(f.state, INTENT_ACTION);
    expect_str("type", f.action_type, "konbini_display_details");
    expect_str("url", f.action_url, "https://payments.stripe.com/konbini/voucher/x&y");
    assert_int_equal(f.action_expires_ms, INT64_C(1760313599000));
    expect_str("number", f.konbini_number, "09012345678");
    expect_str("the store is not known yet", f.konbini_store, "");
    expect_str("secret", f.client_secret, "pi_3RWG_secret_0123456789abcdefghijklmno");
}

static void a_slips_number_is_found_at_whichever_store_has_it(void **state)
{
    static const struct {
        const char *stores, *number;
    } rows[] = {
        { "{'familymart':{'payment_code':'1'},'lawson':{'confirmation_number':'42'}}", "42" },
        { "{'familymart':null,'newmart':{'confirmation_number':'42'}}", "42" },
        { "{'familymart':{'confirmation_number':42},'lawson':7,'ministop':'x','seicomart':[]}",
          "" },
        { "{}", "" },
        { "[]", "" },
        { "null", "" },
        { "'42'", "" },
    };
    char event[4096];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(event, sizeof(event),
                 EVENT("payment_intent.requires_action",
                       WHOLE_INTENT("requires_action", "0", "null", "null", SLIP("%s"))),
                 rows[i].stores);
        expect_str(rows[i].stores, fact_of(event).konbini_number, rows[i].number);
    }
}

static void the_store_is_where_it_was_paid(void **state)
{
    static const struct {
        const char *store, *wanted;
    } rows[] = {
        { "{'chain':'lawson'}", "lawson" },
        { "'ministop'", "ministop" },
        { "null", "" },
        { "{'chain':null}", "" },
        { "{}", "" },
        { "7", "" },
    };
    char event[1024];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f;

        snprintf(event, sizeof(event),
                 "{'data':{'object':{'object':'charge','id':'py_1','amount':9,'currency':'jpy',"
                 "'captured':true,'payment_method_details':{'konbini':{'store':%s},"
                 "'type':'konbini'}}}}",
                 rows[i].store);
        expect_str(rows[i].store, fact_of(event).konbini_store, rows[i].wanted);
        snprintf(event, sizeof(event),
                 "{'data':{'object':{'object':'payment_intent','id':'pi_1','amount':9,"
                 "'amount_received':9,'currency':'jpy','status':'succeeded',"
                 "'payment_method_options':{'konbini':{'store':'planned'}},'latest_charge':{'id':"
                 "'py_1','payment_method_details':{'konbini':{'store':%s}}}}}}",
                 rows[i].store);
        f = fact_of(event);
        expect_str(rows[i].store, f.konbini_store, *rows[i].wanted ? rows[i].wanted : "planned");
        expect_str("charge", f.charge_id, "py_1");
    }
}

static void n1_a_slip_that_nobody_paid_is_konbini_timeout(void **state)
{
#define EXPIRED "'code':'payment_intent_payment_attempt_expired'"
    static const struct {
        const char *why, *types, *error, *decline;
    } rows[] = {
        { "its method says it", "['card','konbini']",
          EXPIRED ",'payment_method':{'id':'pm_1','type':'konbini'}", "konbini_timeout" },
        { "only its types say it", "['konbini']", EXPIRED, "konbini_timeout" },
        { "no types", "null", EXPIRED, "" },
        { "types that are none", "{'konbini':1}", EXPIRED, "" },
        { "types that are no words", "[7,null,['konbini']]", EXPIRED, "" },
        { "a card's attempt", "['card','konbini']",
          EXPIRED ",'payment_method':{'id':'pm_1','type':'card'}", "" },
        { "another failure", "['konbini']",
          "'code':'payment_intent_konbini_rejected_confirmation_number'", "" },
        { "Stripe has its own word", "['konbini']", EXPIRED ",'decline_code':'x'", "x" },
    };
    char event[1024];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f;

        snprintf(event, sizeof(event),
                 "{'data':{'object':{'object':'payment_intent','id':'pi_1','amount':9,"
                 "'currency':'jpy','status':'requires_payment_method','payment_method_types':%s,"
                 "'payment_method_options':{'konbini':{'confirmation_number':'1','expires_at':2}},"
                 "'last_payment_error':{%s}}}}",
                 rows[i].types, rows[i].error);
        f = fact_of(event);
        expect_str("the slip is over", f.konbini_number, "");
        assert_int_equal(f.action_expires_ms, 0);
        assert_int_equal(f.state, INTENT_DECLINED);
        expect_str(rows[i].why, f.decline_code, rows[i].decline);
        assert_true(str_starts(f.failure_code, S("payment_intent_")));
    }
}

static void long_words_and_addresses_stay_within_their_limits(void **state)
{
    size_t n = 64 * 1024;
    char *event = malloc(n);
    struct fact f;
    struct buf b;

    (void)state;
    buf_init(&b, n);
    buf_add(&b, S("{'data':{'object':{'object':'payment_intent','id':'pi_1','amount':9,'currency':"
                  "'jpy','status':'requires_payment_method','latest_charge':{'receipt_url':'"));
    for (int i = 0; i < LIMIT_GATEWAY_URL + 1; i++)
        buf_char(&b, 'u');
    buf_add(&b, S("'},'last_payment_error':{'code':'"));
    for (int i = 0; i < 300; i++)
        buf_add(&b, S("語"));
    buf_add(&b, S("','message':'"));
    for (int i = 0; i < LIMIT_GATEWAY_MESSAGE + 1; i++)
        buf_add(&b, S("語"));
    buf_add(&b, S("'}}}}"));
    memcpy(event, b.p, b.n);
    event[b.n] = '\0';
    f = fact_of(event);
    expect_str("url", f.receipt_url, "");
    assert_int_equal(f.failure_code.n, LIMIT_GATEWAY_ID / 3 * 3);
    assert_int_equal(f.failure_message.n, LIMIT_GATEWAY_MESSAGE * 3);
    buf_release(&b);
    free(event);
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

/* --- Checkout Sessions --- */

static void e1_a_session_tells_identifiers_and_no_money(void **state)
{
    struct fact f = fact_of(EVENT("checkout.session.completed",
                                  WHOLE_SESSION("complete", "paid", "'pi_3RWG'", "'" PAYMENT "'",
                                                "{'payment_id':'" PAYMENT "'}")));

    (void)state;
    assert_int_equal(f.kind, FACT_SESSION);
    assert_int_equal(f.session, SESSION_COMPLETE);
    expect_str("session", f.session_id, "cs_test_a1");
    expect_str("payment", f.payment_id, PAYMENT);
    expect_str("intent", f.intent_id, "pi_3RWG");
    expect_str("customer", f.customer_id, "");
    expect_str("paid", f.session_payment_status, "paid");
    expect_str("url", f.session_url, "https://checkout.stripe.com/c/pay/cs_test_a1#fid/x");
    assert_int_equal(f.session_expires_ms, INT64_C(1760086400000));
    assert_int_equal(f.amount, 0);
    assert_string_equal(f.currency, "");
}

static void a_sessions_references_come_in_every_form(void **state)
{
    static const struct {
        const char *why, *fields, *payment, *intent, *customer;
    } rows[] = {
        { "ids",
          "'payment_intent':'pi_1','customer':'cus_1','client_reference_id':'" PAYMENT
          "','metadata':{'payment_id':'" PAYMENT "'}",
          PAYMENT, "pi_1", "cus_1" },
        { "a reference alone can be anybody's",
          "'payment_intent':'pi_1','client_reference_id':'" PAYMENT "'", "", "pi_1", "" },
        { "two that differ are nobody's",
          "'client_reference_id':'3f2504e0-4f89-41d3-9a0c-0305e82c3301','metadata':{'payment_id':"
          "'" PAYMENT "'}",
          "", "", "" },
        { "objects", "'payment_intent':{'id':'pi_1','amount':5},'customer':{'id':'cus_1'}", "",
          "pi_1", "cus_1" },
        { "null", "'payment_intent':null,'customer':null,'client_reference_id':null", "", "", "" },
        { "a reference of their own",
          "'client_reference_id':'order-7','metadata':{'payment_id':'" PAYMENT "'}", PAYMENT, "",
          "" },
        { "only a reference of their own", "'client_reference_id':'order-7'", "", "", "" },
        { "a deleted customer", "'customer':{'id':'cus_1','deleted':true}", "", "", "cus_1" },
        { "numbers", "'payment_intent':7,'customer':7,'client_reference_id':7", "", "", "" },
        { "lists", "'payment_intent':[],'customer':[],'metadata':[]", "", "", "" },
    };
    char event[512];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f;

        snprintf(event, sizeof(event),
                 "{'data':{'object':{'object':'checkout.session','id':'cs_1','status':'open',"
                 "'expires_at':'1760086400','url':null,%s}}}",
                 rows[i].fields);
        f = fact_of(event);
        assert_int_equal(f.kind, FACT_SESSION);
        assert_int_equal(f.session, SESSION_OPEN);
        assert_int_equal(f.session_expires_ms, 0);
        expect_str(rows[i].why, f.payment_id, rows[i].payment);
        expect_str(rows[i].why, f.intent_id, rows[i].intent);
        expect_str(rows[i].why, f.customer_id, rows[i].customer);
    }
}

static void a_session_without_a_status_is_what_happened_to_it(void **state)
{
    static const struct {
        const char *type;
        enum session_status status;
    } rows[] = {
        { "checkout.session.completed", SESSION_COMPLETE },
        { "checkout.session.async_payment_succeeded", SESSION_COMPLETE },
        { "checkout.session.async_payment_failed", SESSION_COMPLETE },
        { "checkout.session.expired", SESSION_EXPIRED },
    };
    char event[256];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(event, sizeof(event), "{'type':'%s','data':{'object':{'id':'cs_1'}}}",
                 rows[i].type);
        assert_int_equal(fact_by_type(event).session, rows[i].status);
    }
}

/* --- disputes --- */

static void e9_a_dispute_tells_its_status_and_whose_it_is(void **state)
{
    static const struct {
        const char *status;
        bool closed, lost;
    } rows[] = {
        { "needs_response", false, false },
        { "under_review", false, false },
        { "warning_needs_response", false, false },
        { "appeal_under_review", false, false },
        { "a_word_of_the_future", false, false },
        { "won", true, false },
        { "lost", true, true },
        { "warning_closed", true, false },
        { "prevented", true, false },
    };
    char event[4096];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f;

        snprintf(event, sizeof(event),
                 EVENT("charge.dispute.updated", WHOLE_DISPUTE("%s", "'pi_3RWG'", "'ch_3RWG'")),
                 rows[i].status);
        f = fact_of(event);
        assert_int_equal(f.kind, FACT_DISPUTE);
        expect_str("id", f.dispute_id, "dp_3RWG");
        expect_str("status", f.dispute_status, rows[i].status);
        expect_str("reason", f.dispute_reason, "fraudulent");
        expect_str("intent", f.intent_id, "pi_3RWG");
        expect_str("charge", f.charge_id, "ch_3RWG");
        assert_int_equal(f.amount, 2000);
        assert_string_equal(f.currency, "JPY");
        assert_int_equal(f.dispute_closed, rows[i].closed);
        assert_int_equal(f.dispute_lost, rows[i].lost);
    }
}

static void e9_a_dispute_may_know_only_its_charge(void **state)
{
    struct fact f = fact_of(EVENT("charge.dispute.created",
                                  WHOLE_DISPUTE("needs_response", "null", "{'id':'ch_3RWG'}")));

    (void)state;
    expect_str("intent", f.intent_id, "");
    expect_str("charge", f.charge_id, "ch_3RWG");
    f = fact_by_type(EVENT("charge.dispute.closed",
                           WHOLE_DISPUTE("a_word_of_the_future", "{'id':'pi_1'}", "null")));
    assert_true(f.dispute_closed);
    assert_false(f.dispute_lost);
    expect_str("intent", f.intent_id, "pi_1");
}

/* --- the envelope --- */

static void a_webhook_is_read_in_one_pass(void **state)
{
    struct stripe_webhook w = { 0 };

    (void)state;
    free(body);
    body = json_of(EVENT("charge.dispute.created",
                         WHOLE_DISPUTE("needs_response", "{'id':'pi_1'}", "'ch_1'")));
    assert_int_equal(stripe_read_webhook(&arena, str_of(body), &w), OK);
    expect_str("id", w.id, "evt_3RWG");
    expect_str("type", w.type, "charge.dispute.created");
    expect_str("object", w.object_id, "dp_3RWG");
    expect_str("intent", w.intent_id, "pi_1");
    expect_str("charge", w.charge_id, "ch_1");
    expect_str("payment", w.payment_id, "");
    assert_int_equal(w.livemode, 0);
    assert_int_equal(w.created_ms, INT64_C(1760000001000));
    assert_true(w.has_created && w.has_object && !w.thin);
    assert_int_equal(w.fact_err, OK);
    assert_int_equal(w.fact.kind, FACT_DISPUTE);
}

static void what_is_said_wrongly_keeps_its_names(void **state)
{
    struct stripe_webhook w = { .fact = { .amount = 42 } };

    (void)state;
    free(body);
    body = json_of("{'id':'evt_1','type':'payment_intent.succeeded','data':{'object':{'id':'pi_1',"
                   "'status':'requires_luck','metadata':{'payment_id':'" PAYMENT "'}}}}");
    assert_int_equal(stripe_read_webhook(&arena, str_of(body), &w), OK);
    assert_int_equal(w.fact_err, ERR_VALIDATION);
    assert_int_equal(w.fact.kind, FACT_NONE);
    assert_int_equal(w.fact.amount, 0);
    expect_str("intent", w.intent_id, "pi_1");
    expect_str("payment", w.payment_id, PAYMENT);
    assert_int_equal(stripe_read_webhook(&arena, S("{\"id\""), &w), ERR_VALIDATION);
    assert_non_null(w.fault.why);
}

/* --- others, and broken ones --- */

static void without_a_kind_the_events_type_says_it(void **state)
{
    static const struct {
        const char *type, *fields;
        enum fact_kind kind;
    } rows[] = {
        { "payment_intent.created", "'status':'processing'", FACT_INTENT },
        { "charge.succeeded", "'status':'succeeded'", FACT_CHARGE },
        { "charge.refunded", "'status':'succeeded'", FACT_CHARGE },
        { "charge.refund.updated", "'status':'succeeded'", FACT_REFUND },
        { "refund.created", "'status':'pending'", FACT_REFUND },
        { "charge.dispute.closed", "'status':'won'", FACT_DISPUTE },
        { "checkout.session.expired", "'status':'expired'", FACT_SESSION },
        { "payout.paid", "'status':'paid'", FACT_NONE },
        { "", "'status':'paid'", FACT_NONE },
    };
    char event[256];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(event, sizeof(event),
                 "{'type':'%s','data':{'object':{'id':'x_1','amount':1,'currency':'jpy',%s}}}",
                 rows[i].type, rows[i].fields);
        if (fact_by_type(event).kind != rows[i].kind)
            fail_msg("%s", rows[i].type);
    }
}

static void what_is_no_money_object_is_no_fact(void **state)
{
    static const char *const events[] = {
        "{}",
        "{'data':{}}",
        "{'data':{'object':null}}",
        "{'data':{'object':[]}}",
        "{'data':[]}",
        "{'type':'customer.created','data':{'object':{'object':'customer','id':'cus_1'}}}",
        "{'type':'price.created','data':{'object':{'object':'price','id':'price_1'}}}",
        "{'type':'payment_intent.succeeded','data':{'object':{'object':'review','id':'prv_1'}}}",
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
        { "a charge below zero", "'object':'charge','id':'ch_1','amount':-1,'currency':'jpy'" },
        { "captured in words",
          "'object':'charge','id':'ch_1','amount':1,'currency':'jpy','captured':true,"
          "'amount_captured':'1'" },
        { "received in words", "'object':'payment_intent','id':'pi_1','amount':1,'currency':'jpy',"
                               "'amount_received':'1','status':'succeeded'" },
        { "received below zero",
          "'object':'payment_intent','id':'pi_1','amount':1,'currency':'jpy',"
          "'amount_received':-1,'status':'succeeded'" },
        { "a currency that is a number",
          "'object':'payment_intent','id':'pi_1','amount':1,'currency':392,'status':'canceled'" },
        { "a status that is a number",
          "'object':'payment_intent','id':'pi_1','amount':1,'currency':'jpy','status':7" },
        { "a refund without an id",
          "'object':'refund','amount':1,'currency':'jpy','status':'pending'" },
        { "a session without an id", "'object':'checkout.session','status':'open'" },
        { "a session in an unknown status",
          "'object':'checkout.session','id':'cs_1','status':'dreaming'" },
        { "a session without a status", "'object':'checkout.session','id':'cs_1','status':null" },
        { "a session whose status is a number",
          "'object':'checkout.session','id':'cs_1','status':7" },
        { "a dispute without an id",
          "'object':'dispute','amount':1,'currency':'jpy','status':'won'" },
        { "a dispute without a status",
          "'object':'dispute','id':'dp_1','amount':1,'currency':'jpy'" },
        { "a dispute about less than nothing",
          "'object':'dispute','id':'dp_1','amount':-1,'currency':'jpy','status':'won'" },
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
    struct stripe_webhook w;

    (void)state;
    arena_release(&arena);
    arena_init(&arena, 8);
    assert_int_equal(stripe_read_webhook(&arena, str_of(text), &w), ERR_NO_MEMORY);
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
        TEST(a_charge_that_is_told_in_any_way_or_none_is_taken),
        TEST(t7_003s_events_are_read_literally),
        TEST(a_konbini_slip_is_what_the_customer_has_to_do),
        TEST(a_slips_number_is_found_at_whichever_store_has_it),
        TEST(the_store_is_where_it_was_paid),
        TEST(n1_a_slip_that_nobody_paid_is_konbini_timeout),
        TEST(long_words_and_addresses_stay_within_their_limits),
        TEST(t7_the_smallest_event_of_003_is_read_and_fits_no_payment),
        TEST(d10_without_amount_received_it_fits_no_payment),
        TEST(amounts_are_told_in_our_units),
        TEST(a_charge_tells_fee_net_and_receipt),
        TEST(a_charge_may_leave_its_fee_for_later),
        TEST(a_failed_charge_says_so),
        TEST(d12_a_refund_has_its_status_and_both_ids),
        TEST(e1_a_session_tells_identifiers_and_no_money),
        TEST(a_sessions_references_come_in_every_form),
        TEST(a_session_without_a_status_is_what_happened_to_it),
        TEST(e9_a_dispute_tells_its_status_and_whose_it_is),
        TEST(e9_a_dispute_may_know_only_its_charge),
        TEST(a_webhook_is_read_in_one_pass),
        TEST(what_is_said_wrongly_keeps_its_names),
        TEST(without_a_kind_the_events_type_says_it),
        TEST(what_is_no_money_object_is_no_fact),
        TEST(what_we_need_and_cannot_read_is_refused),
        TEST(text_that_is_not_json_is_refused),
        TEST(a_full_arena_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, tidy);
}
