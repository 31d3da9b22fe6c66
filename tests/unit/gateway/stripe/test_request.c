#include "base/limits.h"
#include "gateway/stripe/request.h"
#include "unit/gateway/fixtures.h"

#define BASE "https://api.stripe.com"
#define USER "0189c2f0-0000-7000-8000-00000000000a"
#define BOOKING "0189c2f0-0000-7000-8000-00000000000b"

static struct arena arena;

static struct gateway_call call_for(enum gateway_ask ask)
{
    struct gateway_call c = {
        .ask = ask, .context = CONTEXT_BOOKING, .money = { 2000, "JPY" }, .arena = &arena
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
           "amount=2000&currency=jpy&capture_method=manual&allowed_payment_method_types[0]=card"
           "&payment_method=pm_card_visa&confirm=true"
           "&return_url=https%3A%2F%2Fshop.example%2Fback%3Fx%3D1"
           "&metadata[payment_id]=" PAYMENT "&metadata[user_id]=" USER
           "&metadata[context]=booking&metadata[booking_id]=" BOOKING
           "&description=%E4%BA%88%E7%B4%84%20%5B1%5D%2B&expand[]=latest_charge");
}

static void without_a_method_nothing_is_confirmed(void **state)
{
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);

    (void)state;
    c.context = CONTEXT_PURCHASE;
    c.money = (struct money){ 5, "ISK" };
    expect(&c, "POST", BASE "/v1/payment_intents",
           "amount=500&currency=isk&capture_method=manual&allowed_payment_method_types[0]=card"
           "&metadata[payment_id]=" PAYMENT "&metadata[user_id]=" USER
           "&metadata[context]=purchase&metadata[subject_id]=" BOOKING "&expand[]=latest_charge");
}

static void c1_a_purchase_is_captured_at_once_and_carries_its_notes(void **state)
{
    static const struct gateway_note notes[] = { { "campaign_id", S("c-1") },
                                                 { "position_id", S("座席 A&1") } };
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);

    (void)state;
    c.context = CONTEXT_PURCHASE;
    c.capture_now = true;
    c.method_type = S("card");
    c.payment_method = S("pm_1");
    c.notes = notes;
    c.note_count = COUNT(notes);
    expect(&c, "POST", BASE "/v1/payment_intents",
           "amount=2000&currency=jpy&capture_method=automatic"
           "&allowed_payment_method_types[0]=card&payment_method=pm_1&confirm=true"
           "&metadata[payment_id]=" PAYMENT "&metadata[user_id]=" USER
           "&metadata[context]=purchase&metadata[subject_id]=" BOOKING
           "&metadata[campaign_id]=c-1&metadata[position_id]=%E5%BA%A7%E5%B8%AD%20A%261"
           "&expand[]=latest_charge");
}

static void a_note_is_cut_to_what_stripe_takes(void **state)
{
    char *many = calloc(1, 3 * 600 + 1);
    struct gateway_note note = { "x", { many, 3 * (size_t)600 } };
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);
    struct stripe_request without, with;

    (void)state;
    for (int i = 0; i < 600; i++)
        memcpy(many + (size_t)i * 3, "雨", 3);
    assert_int_equal(stripe_request_make(&c, S(BASE), S(""), &without), OK);
    c.notes = &note;
    c.note_count = 1;
    assert_int_equal(stripe_request_make(&c, S(BASE), S(""), &with), OK);
    assert_int_equal(with.body.n - without.body.n,
                     strlen("&metadata[x]=") + 9 * LIMIT_GATEWAY_METADATA);
    free(many);
}

#define SLIP "&allowed_payment_method_types[0]=konbini"
#define FOUR_DAYS "&payment_method_options[konbini][expires_after_days]=4"
#define OURS                                                                                       \
    "&metadata[payment_id]=" PAYMENT "&metadata[user_id]=" USER                                    \
    "&metadata[context]=purchase&metadata[subject_id]=" BOOKING "&expand[]=latest_charge"

static void d19_a_konbini_slip_has_its_days(void **state)
{
    static const struct {
        const char *method, *email;
        int days;
        const char *between;
    } rows[] = {
        { "", "", 4, SLIP FOUR_DAYS },
        { "", "", 0, SLIP },
        { "pm_konbini_1", "", 4, SLIP FOUR_DAYS "&payment_method=pm_konbini_1&confirm=true" },
        { "konbini", "", 4,
          SLIP FOUR_DAYS "&payment_method_data[type]=konbini"
                         "&payment_method_data[billing_details][name]=Ichido%20Sandbox"
                         "&payment_method_data[billing_details][email]=sandbox%40example.com"
                         "&confirm=true" },
        { "konbini", "expire_immediately@example.com", 4,
          SLIP FOUR_DAYS "&payment_method_data[type]=konbini"
                         "&payment_method_data[billing_details][name]=Ichido%20Sandbox"
                         "&payment_method_data[billing_details][email]="
                         "expire_immediately%40example.com&confirm=true" },
    };
    char body[1024];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gateway_call c = call_for(GATEWAY_AUTHORIZE);

        c.context = CONTEXT_PURCHASE;
        c.capture_now = true;
        c.method_type = S("konbini");
        c.konbini_days = rows[i].days;
        c.payment_method = str_of(rows[i].method);
        c.email = str_of(rows[i].email);
        snprintf(body, sizeof(body), "amount=2000&currency=jpy&capture_method=automatic%s%s",
                 rows[i].between, OURS);
        expect(&c, "POST", BASE "/v1/payment_intents", body);
    }
}

static void s1_a_checkout_session_carries_our_id_three_times(void **state)
{
    static const struct gateway_note notes[] = { { "collection_id", S("col-1") } };
    struct gateway_call c = call_for(GATEWAY_CHECKOUT);

    (void)state;
    c.context = CONTEXT_PARTICIPANT;
    c.item = S("会費");
    c.success_url = S("https://s.example/ok?x={CHECKOUT_SESSION_ID}");
    c.cancel_url = S("https://s.example/no");
    c.email = S("a+b@example.com");
    c.description = S("春");
    c.notes = notes;
    c.note_count = 1;
    expect(&c, "POST", BASE "/v1/checkout/sessions",
           "mode=payment&line_items[0][price_data][currency]=jpy"
           "&line_items[0][price_data][unit_amount]=2000"
           "&line_items[0][price_data][product_data][name]=%E4%BC%9A%E8%B2%BB"
           "&line_items[0][quantity]=1"
           "&success_url=https%3A%2F%2Fs.example%2Fok%3Fx%3D%7BCHECKOUT_SESSION_ID%7D"
           "&cancel_url=https%3A%2F%2Fs.example%2Fno&client_reference_id=" PAYMENT
           "&customer_email=a%2Bb%40example.com&metadata[payment_id]=" PAYMENT
           "&payment_intent_data[metadata][payment_id]=" PAYMENT
           "&payment_intent_data[metadata][user_id]=" USER
           "&payment_intent_data[metadata][context]=participant"
           "&payment_intent_data[metadata][subject_id]=" BOOKING
           "&payment_intent_data[metadata][collection_id]=col-1"
           "&payment_intent_data[description]=%E6%98%A5");
}

static void a_checkout_session_leaves_out_what_is_empty(void **state)
{
    struct gateway_call c = call_for(GATEWAY_CHECKOUT);

    (void)state;
    c.context = CONTEXT_PARTICIPANT;
    c.item = S("x");
    c.success_url = S("u");
    expect(&c, "POST", BASE "/v1/checkout/sessions",
           "mode=payment&line_items[0][price_data][currency]=jpy"
           "&line_items[0][price_data][unit_amount]=2000"
           "&line_items[0][price_data][product_data][name]=x&line_items[0][quantity]=1"
           "&success_url=u&client_reference_id=" PAYMENT "&metadata[payment_id]=" PAYMENT
           "&payment_intent_data[metadata][payment_id]=" PAYMENT
           "&payment_intent_data[metadata][user_id]=" USER
           "&payment_intent_data[metadata][context]=participant"
           "&payment_intent_data[metadata][subject_id]=" BOOKING);
}

static void a_session_is_expired_or_looked_at_by_its_id(void **state)
{
    struct gateway_call c = call_for(GATEWAY_EXPIRE);
    struct stripe_request r;

    (void)state;
    c.session_id = S("cs_test_1/x");
    expect(&c, "POST", BASE "/v1/checkout/sessions/cs_test_1%2Fx/expire", "");
    assert_int_equal(stripe_request_look(&c, S(BASE), &r), OK);
    expect_str("method", r.method, "GET");
    expect_str("url", r.url, BASE "/v1/checkout/sessions/cs_test_1%2Fx");
    expect_str("body", r.body, "");
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
    expect(&c, "GET", BASE "/v1/payment_intents?limit=50&created[gte]=1759999672", "");
    c.until_ms = INT64_C(1760000010000);
    expect_after(&c, "pi_9", "GET",
                 BASE "/v1/payment_intents?limit=50&created[gte]=1759999672"
                      "&created[lte]=1760000338&starting_after=pi_9",
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
    static const enum gateway_ask asks[] = { GATEWAY_AUTHORIZE, GATEWAY_CAPTURE, GATEWAY_REFUND,
                                             GATEWAY_CHECKOUT };
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
        TEST(c1_a_purchase_is_captured_at_once_and_carries_its_notes),
        TEST(a_note_is_cut_to_what_stripe_takes),
        TEST(d19_a_konbini_slip_has_its_days),
        TEST(s1_a_checkout_session_carries_our_id_three_times),
        TEST(a_checkout_session_leaves_out_what_is_empty),
        TEST(a_session_is_expired_or_looked_at_by_its_id),
        TEST(captures_and_voids_name_the_intent),
        TEST(a_refunds_own_words_go_to_its_metadata),
        TEST(fetching_is_by_id_or_through_the_list),
        TEST(what_cannot_be_said_exactly_is_not_sent),
        TEST(a_full_arena_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
