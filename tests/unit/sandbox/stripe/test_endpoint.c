/* test_door.c - keys, Idempotency-Keys, faults, and what every answer has. */
#include "unit/sandbox/shop.h"

#define CREATE "amount=500&currency=usd"

static struct reply create(struct shop *shop, const char *body, const char *key)
{
    return shop_call(shop, "POST", "/v1/payment_intents", body, key);
}

static void fault(struct shop *shop, const char *rule)
{
    struct reply r = shop_hear(shop, shop_send(shop, "POST", "/_sandbox/faults",
                                               "Content-Type: application/json\r\n", rule));

    assert_true(r.status / 100 == 2);
}

static int intents(struct shop *shop)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct reply r = shop_get(shop, "/v1/payment_intents?limit=100");

    assert_int_equal(json_parse(str_of(r.body), &tree, NULL), OK);
    return cJSON_GetArraySize(cJSON_GetObjectItem(tree, "data"));
}

/* --- who --- */

static void only_test_keys_get_in(void **state)
{
    static const struct {
        const char *header;
        int status;
    } rows[] = {
        { "", 401 },
        { "Authorization: Bearer sk_test_1234\r\n", 200 },
        { "Authorization: bearer rk_test_1234\r\n", 200 },
        { "Authorization: Bearer sk_test_123\r\n", 401 },
        { "Authorization: Bearer sk_live_1234567890\r\n", 401 },
        { "Authorization: Bearer rk_live_1234567890\r\n", 401 },
        { "Authorization: Bearer pk_test_1234567890\r\n", 401 },
        { "Authorization: Bearer\r\n", 401 },
        { "Authorization: sk_test_1234567890\r\n", 401 },
        { "Authorization: Basic c2tfdGVzdF8xMjM0NTY3ODkwOg==\r\n", 200 },
        { "Authorization: Basic c2tfbGl2ZV8xMjM0NTY3ODkwOg==\r\n", 401 },
        { "Authorization: Basic !!!!\r\n", 401 },
        { "Authorization: Bearer sk_test_1234\r\nAuthorization: Bearer sk_test_1234\r\n", 401 },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply r =
            shop_hear(shop, shop_send(shop, "GET", "/v1/payment_intents", rows[i].header, ""));

        if (r.status != rows[i].status)
            fail_msg("row %zu: %d %s", i, r.status, r.body);
        assert_true(says(r, "\nrequest-id: req_"));
        assert_true(says(r, "\nstripe-version: 2026"));
        expect(shop, r, "error.type", r.status == 401 ? "invalid_request_error" : "");
    }
}

static void what_is_not_there_has_an_error_object(void **state)
{
    static const struct {
        const char *method, *path;
    } rows[] = {
        { "GET", "/v1/nothing" },       { "POST", "/v1/invoices" },
        { "DELETE", "/v1/refunds/re" }, { "GET", "/v1/a/b/c/d/e/f/g" },
        { "PUT", "/v1/refunds" },       { "GET", "/v1/payment_intents/pi_3nobody" },
        { "GET", "/v1/charges/x" },     { "GET", "/v1/balance_transactions/txn_3x" },
        { "GET", "/v1/refunds/x" },     { "POST", "/v1/payment_intents/pi_3nobody/capture" },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct reply r = shop_call(shop, rows[i].method, rows[i].path, "", NULL);

        expect_status(r, 404);
        expect(shop, r, "error.type", "invalid_request_error");
    }
}

/* --- Idempotency-Key --- */

static void the_same_key_and_order_get_the_same_answer(void **state)
{
    struct shop *shop = *state;
    struct reply a = create(shop, CREATE "&metadata[x]=a%20b", "k1"), b, c;

    b = create(shop, "metadata%5Bx%5D=a+b&currency=usd&amount=500", "k1");
    assert_string_equal(a.body, b.body);
    assert_true(says(b, "idempotent-replayed: true"));
    assert_true(says(b, "idempotency-key: k1"));
    assert_false(says(a, "idempotent-replayed"));
    assert_false(says(a, "original-request"));
    c = create(shop, CREATE, NULL);
    assert_false(says(c, "idempotency-key"));
    assert_int_equal(intents(shop), 2);
    /* the replay names the first request */
    assert_memory_equal(strcasestr(b.headers, "original-request: ") + 18,
                        strcasestr(a.headers, "\nrequest-id: ") + 13, 18);
}

static void a_key_belongs_to_one_order(void **state)
{
    struct shop *shop = *state;
    struct reply a = create(shop, CREATE, "k1"), r;
    const char *capture = shop_path(shop, "/v1/payment_intents/", at(shop, a, "id"), "/capture");

    r = create(shop, "amount=501&currency=usd", "k1");
    expect_status(r, 400);
    expect(shop, r, "error.type", "idempotency_error");
    expect(shop, r, "error.code", "");
    r = shop_call(shop, "POST", capture, CREATE, "k1");
    expect_status(r, 400);
    expect(shop, r, "error.type", "idempotency_error");
    assert_int_equal(intents(shop), 1);
}

static void a_key_is_forgotten_after_a_day(void **state)
{
    struct shop *shop = *state;
    struct reply a = create(shop, CREATE, "k1"), b;

    shop_wait_ms(shop, LIMIT_SANDBOX_KEY_MS - 60000);
    assert_true(says(create(shop, CREATE, "k1"), "idempotent-replayed"));
    shop_wait_ms(shop, 120000);
    b = create(shop, "amount=700&currency=usd", "k1");
    expect_status(b, 200);
    assert_string_not_equal(a.body, b.body);
    assert_true(says(create(shop, "amount=700&currency=usd", "k1"), "idempotent-replayed"));
}

static void what_ran_is_kept_and_what_was_refused_at_the_door_is_not(void **state)
{
    struct shop *shop = *state;
    struct reply a, b;
    const char *body = shop_path(shop, PAY, "pm_card_chargeDeclined", "");

    expect_status(create(shop, "amount=1&currency=usd", "v"), 400);
    expect_status(create(shop, CREATE "&payment_method=pm_card_nobody", "v"), 400);
    expect_status(create(shop, CREATE "&amount=%zz", "v"), 400);
    expect_status(create(shop, CREATE, "v"), 200);
    a = create(shop, body, "d");
    expect_status(a, 402);
    b = create(shop, body, "d");
    assert_string_equal(a.body, b.body);
    assert_true(says(b, "idempotent-replayed: true"));
    a = shop_call(shop, "POST", "/v1/refunds",
                  shop_path(shop, "payment_intent=", at(shop, a, "error.payment_intent.id"), ""),
                  "r");
    expect_status(a, 400);
    b = shop_call(shop, "POST", "/v1/refunds",
                  shop_path(shop, "payment_intent=", at(shop, b, "error.payment_intent.id"), ""),
                  "r");
    assert_true(says(b, "idempotent-replayed: true"));
}

static void a_refusal_undoes_what_was_written_before_it(void **state)
{
    struct shop *shop = *state;

    /* the method is made before the flag is read */
    expect_status(create(shop, CREATE "&payment_method=pm_card_visa&confirm=perhaps", NULL), 400);
    assert_int_equal(intents(shop), 0);
    expect_events(shop, "");
}

static void while_the_first_runs_its_key_is_in_use(void **state)
{
    struct shop *shop = *state;
    struct reply r;
    int fd;

    fault(shop, "{\"delayMs\":1000,\"times\":1}");
    fd = shop_send(shop, "POST", "/v1/payment_intents",
                   "Authorization: Bearer " API_KEY "\r\nIdempotency-Key: k\r\n", CREATE);
    do { /* the first one has to be there first */
        pause_a_little();
        r = shop_hear(shop, shop_send(shop, "GET", "/_sandbox/faults", "", ""));
    } while (!strstr(r.body, "\"faults\":[]"));
    r = create(shop, CREATE, "k");
    expect_status(r, 409);
    expect(shop, r, "error.code", "idempotency_key_in_use");
    assert_true(says(r, "stripe-should-retry: true"));
    expect_status(create(shop, CREATE, "other"), 200);
    expect_status(shop_hear(shop, fd), 200);
    assert_true(says(create(shop, CREATE, "k"), "idempotent-replayed"));
    assert_int_equal(intents(shop), 2);
}

static void a_key_that_is_too_long_is_refused(void **state)
{
    struct shop *shop = *state;
    char key[LIMIT_SANDBOX_KEY + 2];

    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = '\0';
    expect_status(create(shop, CREATE, key), 400);
    key[sizeof(key) - 2] = '\0';
    expect_status(create(shop, CREATE, key), 200);
}

/* --- faults --- */

static void a_failure_before_does_nothing(void **state)
{
    static const struct {
        const char *rule;
        int status;
        const char *type;
    } rows[] = {
        { "{\"statusBefore\":500}", 500, "api_error" },
        { "{\"statusBefore\":429}", 429, "invalid_request_error" },
        { "{\"statusBefore\":409}", 409, "idempotency_error" },
        { "{\"dropBefore\":true}", 0, NULL },
        { "{\"dropBefore\":true,\"delayMs\":50}", 0, NULL },
    };
    struct shop *shop = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        char key[16];
        struct reply r;

        snprintf(key, sizeof(key), "k%zu", i);
        fault(shop, rows[i].rule);
        r = create(shop, CREATE, key);
        expect_status(r, rows[i].status);
        if (rows[i].type)
            expect(shop, r, "error.type", rows[i].type);
        assert_int_equal(intents(shop), i);
        r = create(shop, CREATE, key);
        expect_status(r, 200);
        assert_false(says(r, "idempotent-replayed"));
    }
}

static void a_failure_after_has_done_it(void **state)
{
    struct shop *shop = *state;
    struct reply r;

    fault(shop, "{\"statusAfter\":500}");
    r = create(shop, CREATE, "k");
    expect_status(r, 500);
    assert_true(says(r, "stripe-should-retry: false"));
    r = create(shop, CREATE, "k"); /* as with Stripe: the 500 is what is kept */
    expect_status(r, 500);
    assert_true(says(r, "idempotent-replayed: true"));
    assert_int_equal(intents(shop), 1);

    fault(shop, "{\"dropAfter\":true,\"hangMs\":30}");
    expect_status(create(shop, CREATE, "l"), 0);
    r = create(shop, CREATE, "l");
    expect_status(r, 200);
    assert_true(says(r, "idempotent-replayed: true"));
    assert_int_equal(intents(shop), 2);
}

static void a_card_is_declined_on_demand(void **state)
{
    struct shop *shop = *state;

    fault(shop, "{\"declineCode\":\"insufficient_funds\"}");
    expect(shop, shop_pay(shop, "pm_card_visa", ""), "error.decline_code", "insufficient_funds");
    expect(shop, shop_pay(shop, "pm_card_visa", ""), "status", "succeeded");
}

/* --- the whole --- */

static void closing_waits_for_nobody_who_is_held_back(void **state)
{
    struct shop *shop = shop_open();
    int fds[3];

    (void)state;
    fault(shop, "{\"delayMs\":60000,\"times\":2}");
    fault(shop, "{\"dropAfter\":true,\"hangMs\":60000,\"times\":1,\"skip\":2}");
    for (size_t i = 0; i < COUNT(fds); i++)
        fds[i] = shop_send(shop, "POST", "/v1/payment_intents",
                           "Authorization: Bearer " API_KEY "\r\n", CREATE);
    while (!strstr(shop_hear(shop, shop_send(shop, "GET", "/_sandbox/faults", "", "")).body,
                   "\"faults\":[]"))
        pause_a_little();
    shop_close(shop);
    for (size_t i = 0; i < COUNT(fds); i++)
        close(fds[i]);
}

static void a_new_start_knows_what_the_last_one_answered(void **state)
{
    struct shop *shop = *state;
    struct reply a = create(shop, shop_path(shop, PAY, "pm_card_visa", ""), "k"), b;

    sandbox_free(shop->s);
    shop_start(shop);
    b = create(shop, shop_path(shop, PAY, "pm_card_visa", ""), "k");
    assert_string_equal(a.body, b.body);
    assert_true(says(b, "idempotent-replayed: true"));
    expect_events(shop, "payment_intent.created charge.succeeded payment_intent.succeeded "
                        "charge.updated");
    assert_int_equal(intents(shop), 1);
}

static void a_sandbox_that_never_ran_can_be_freed(void **state)
{
    struct shop *shop = *state;
    struct sandbox_options o = { .env = &shop->env, .listen = S("127.0.0.1:0") };
    char db[128];
    struct why why = { 0 };
    struct sandbox *s = NULL;

    snprintf(db, sizeof(db), "sqlite:%s/other.db", shop->dir);
    o.db = str_of(db);
    assert_int_equal(sandbox_open(&o, &s, &why), OK);
    sandbox_free(s);
    sandbox_free(NULL);
    o.db = S("postgres://nowhere");
    assert_int_not_equal(sandbox_open(&o, &s, &why), OK);
    o.db = str_of(db);
    o.listen = S("0.0.0.0:0");
    assert_int_not_equal(sandbox_open(&o, &s, &why), OK);
    assert_non_null(strstr(why.text, "loopback"));
    snprintf(db, sizeof(db), "sqlite:%s/sandbox.db", shop->dir);
    o.listen = S("127.0.0.1:0");
    o.db = str_of(db);
    assert_int_not_equal(sandbox_open(&o, &s, &why), OK); /* it is in use */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHOP_TEST(only_test_keys_get_in),
        SHOP_TEST(what_is_not_there_has_an_error_object),
        SHOP_TEST(the_same_key_and_order_get_the_same_answer),
        SHOP_TEST(a_key_belongs_to_one_order),
        SHOP_TEST(a_key_is_forgotten_after_a_day),
        SHOP_TEST(what_ran_is_kept_and_what_was_refused_at_the_door_is_not),
        SHOP_TEST(a_refusal_undoes_what_was_written_before_it),
        SHOP_TEST(while_the_first_runs_its_key_is_in_use),
        SHOP_TEST(a_key_that_is_too_long_is_refused),
        SHOP_TEST(a_failure_before_does_nothing),
        SHOP_TEST(a_failure_after_has_done_it),
        SHOP_TEST(a_card_is_declined_on_demand),
        TEST(closing_waits_for_nobody_who_is_held_back),
        SHOP_TEST(a_new_start_knows_what_the_last_one_answered),
        SHOP_TEST(a_sandbox_that_never_ran_can_be_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
