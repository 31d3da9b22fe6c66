#include "base/limits.h"
#include "fixtures.h"
#include "gateway/stripe_request.h"

#define BASE "https://api.stripe.com"
#define USER "0189c2f0-0000-7000-8000-00000000000a"
#define BOOKING "0189c2f0-0000-7000-8000-00000000000b"

static struct arena arena;

static struct gateway_call call_for(enum gateway_ask ask)
{
    struct gateway_call c = {
        .ask = ask, .context = S("booking"), .money = { 2000, "JPY" }, .arena = &arena
    };

    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    assert_true(uuid_parse(S(PAYMENT), &c.payment));
    assert_true(uuid_parse(S(USER), &c.user));
    assert_true(uuid_parse(S(BOOKING), &c.subject));
    assert_true(uuid_parse(S(REFUND), &c.refund));
    return c;
}

static void expect_after(const struct gateway_call *c, const char *after, const char *method,
                         const char *url, const char *body)
{
    struct stripe_request r;

    assert_int_equal(stripe_request_make(c, S(BASE), str_of(after), &r), OK);
    expect_str("method", r.method, method);
    expect_str("url", r.url, url);
    expect_str("body", r.body, body);
}

static void expect(const struct gateway_call *c, const char *method, const char *url,
                   const char *body)
{
    expect_after(c, "", method, url, body);
}

static void an_authorisation_is_confirmed_with_its_method(void **state)
{
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);

    (void)state;
    c.payment_method = S("pm_card_visa");
    c.description = S("予約 [1]+");
    c.return_url = S("https://shop.example/back?x=1");
    expect(&c, "POST", BASE "/v1/payment_intents",
           "amount=2000&currency=jpy&capture_method=manual&payment_method=pm_card_visa"
           "&confirm=true&allowed_payment_method_types[0]=card"
           "&return_url=https%3A%2F%2Fshop.example%2Fback%3Fx%3D1"
           "&metadata[payment_id]=" PAYMENT "&metadata[user_id]=" USER
           "&metadata[context]=booking&metadata[booking_id]=" BOOKING
           "&description=%E4%BA%88%E7%B4%84%20%5B1%5D%2B&expand[]=latest_charge");
}

static void without_a_method_nothing_is_confirmed(void **state)
{
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);

    (void)state;
    c.context = S("purchase");
    c.money = (struct money){ 5, "ISK" };
    expect(&c, "POST", BASE "/v1/payment_intents",
           "amount=500&currency=isk&capture_method=manual&metadata[payment_id]=" PAYMENT
           "&metadata[user_id]=" USER "&metadata[context]=purchase&metadata[subject_id]=" BOOKING
           "&expand[]=latest_charge");
}

static void captures_and_voids_name_the_intent(void **state)
{
    struct gateway_call c = call_for(GATEWAY_CAPTURE);

    (void)state;
    c.intent_id = S("pi_1");
    c.money.minor = 1500;
    expect(&c, "POST", BASE "/v1/payment_intents/pi_1/capture", "amount_to_capture=1500");
    c.ask = GATEWAY_VOID;
    expect(&c, "POST", BASE "/v1/payment_intents/pi_1/cancel", "");
    c.reason = S("abandoned");
    expect(&c, "POST", BASE "/v1/payment_intents/pi_1/cancel", "cancellation_reason=abandoned");
    c.reason = S("declined");
    expect(&c, "POST", BASE "/v1/payment_intents/pi_1/cancel", "");
    c.intent_id = S("pi_1/../x?");
    expect(&c, "POST", BASE "/v1/payment_intents/pi_1%2F..%2Fx%3F/cancel", "");
}

static void a_refunds_own_words_go_to_its_metadata(void **state)
{
    struct gateway_call c = call_for(GATEWAY_REFUND);
    char *many = calloc(1, 3 * 600 + 1);
    struct stripe_request r;

    (void)state;
    c.intent_id = S("pi_1");
    c.money.minor = 700;
    c.reason = S("duplicate");
    expect(&c, "POST", BASE "/v1/refunds",
           "payment_intent=pi_1&amount=700&reason=duplicate&metadata[refund_id]=" REFUND
           "&metadata[payment_id]=" PAYMENT);
    c.reason = S("雨");
    expect(&c, "POST", BASE "/v1/refunds",
           "payment_intent=pi_1&amount=700&metadata[reason]=%E9%9B%A8&metadata[refund_id]=" REFUND
           "&metadata[payment_id]=" PAYMENT);
    for (int i = 0; i < 600; i++)
        memcpy(many + (size_t)i * 3, "雨", 3);
    c.reason = str_of(many);
    assert_int_equal(stripe_request_make(&c, S(BASE), S(""), &r), OK);
    assert_int_equal(r.body.n,
                     strlen("payment_intent=pi_1&amount=700&metadata[reason]="
                            "&metadata[refund_id]=" REFUND "&metadata[payment_id]=" PAYMENT) +
                         9 * LIMIT_GATEWAY_METADATA);
    free(many);
}

static void fetching_is_by_id_or_through_the_list(void **state)
{
    struct gateway_call c = call_for(GATEWAY_FETCH);

    (void)state;
    c.since_ms = INT64_C(1760000000999);
    assert_true(stripe_is_listing(&c));
    expect(&c, "GET", BASE "/v1/payment_intents?limit=50&created[gte]=1759999940", "");
    c.until_ms = INT64_C(1760000010000);
    expect_after(&c, "pi_9", "GET",
                 BASE "/v1/payment_intents?limit=50&created[gte]=1759999940"
                      "&created[lte]=1760000098&starting_after=pi_9",
                 "");
    c.intent_id = S("pi_1");
    assert_false(stripe_is_listing(&c));
    expect(&c, "GET", BASE "/v1/payment_intents/pi_1?expand[]=latest_charge.balance_transaction",
           "");
    c.ask = GATEWAY_FETCH_REFUND;
    assert_true(stripe_is_listing(&c));
    expect(&c, "GET", BASE "/v1/refunds?payment_intent=pi_1&limit=50", "");
    c.refund_id = S("re_1");
    expect(&c, "GET", BASE "/v1/refunds/re_1", "");
}

static void what_cannot_be_said_exactly_is_not_sent(void **state)
{
    static const enum gateway_ask asks[] = { GATEWAY_AUTHORIZE, GATEWAY_CAPTURE, GATEWAY_REFUND };
    struct stripe_request r;

    (void)state;
    for (size_t i = 0; i < COUNT(asks); i++) {
        struct gateway_call c = call_for(asks[i]);

        c.intent_id = S("pi_1");
        c.money = (struct money){ 500, "UGX" };
        assert_int_equal(stripe_request_make(&c, S(BASE), S(""), &r), ERR_UNPROCESSABLE);
    }
}

static void a_full_arena_is_told(void **state)
{
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);
    struct stripe_request r;
    struct arena small;

    (void)state;
    for (size_t limit = 0; limit < 256; limit += 16) {
        arena_init(&small, limit);
        c.arena = &small;
        assert_int_equal(stripe_request_make(&c, S(BASE), S(""), &r), ERR_NO_MEMORY);
        arena_release(&small);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_authorisation_is_confirmed_with_its_method),
        TEST(without_a_method_nothing_is_confirmed),
        TEST(captures_and_voids_name_the_intent),
        TEST(a_refunds_own_words_go_to_its_metadata),
        TEST(fetching_is_by_id_or_through_the_list),
        TEST(what_cannot_be_said_exactly_is_not_sent),
        TEST(a_full_arena_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
