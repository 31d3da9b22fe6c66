/* G5: which gateway takes a payment. */
#include "gateway/gateways.h"
#include "unit/desk.h"

#include <string.h>

static struct gateway stripe = { .name = "stripe",
                                 .provider = "stripe",
                                 .methods = "card,konbini" },
                      sandbox = { .name = "sandbox", .provider = "stripe", .methods = "card" },
                      paypay = { .name = "paypay", .provider = "paypay", .methods = "paypay" },
                      manual = { .name = "manual",
                                 .provider = "manual",
                                 .methods = "bank_transfer" };

static struct gateways all(void)
{
    return (struct gateways){ .all = { &stripe, &paypay, &manual }, .count = 3 };
}

static void a_route_by_method_and_currency(void **state)
{
    static const struct {
        const char *rules, *method, *currency, *to; /* NULL: nobody */
    } rows[] = {
        { "", "", "JPY", "stripe" },
        { "", "card", "USD", "stripe" },
        { "", "konbini", "JPY", "stripe" },
        { "", "paypay", "JPY", NULL },
        { "paypay=paypay", "paypay", "JPY", "paypay" },
        { "paypay:JPY=paypay", "paypay", "USD", NULL },
        { "paypay=paypay, bank_transfer=manual", "bank_transfer", "USD", "manual" },
        { "paypay=paypay,bank_transfer=manual", "", "JPY", "stripe" },
        { "card:USD=paypay,card=stripe", "card", "USD", NULL }, /* it does not take cards */
        { "*:USD=manual", "bank_transfer", "USD", "manual" },
        { "card:JPY=stripe,*=manual", "card", "JPY", "stripe" },
        { "card:JPY=stripe,*=manual", "card", "EUR", NULL },
        { "", "cash", "JPY", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gateways g = all();
        struct gateway *to;
        struct why why = { 0 };

        if (!gateways_route(&g, str_of(rows[i].rules), &why))
            fail_msg("row %zu: %s", i, why.text);
        to = gateways_for(&g, str_of(rows[i].method), rows[i].currency);
        if (!to != !rows[i].to || (to && strcmp(to->name, rows[i].to) != 0))
            fail_msg("row %zu: %s", i, to ? to->name : "nobody");
    }
}

static void a_wrong_rule_is_named(void **state)
{
    static const char *const rows[] = { "paypay",          "paypay=",      "=paypay",
                                        "card:usd=stripe", "card:=stripe", "card:USDX=stripe",
                                        "card=sandbox",    "card=stripe,," };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gateways g = all();
        struct why why = { 0 };

        if (gateways_route(&g, str_of(rows[i]), &why) || !why.text[0])
            fail_msg("%s was taken", rows[i]);
    }
}

static void they_are_found_by_name_and_by_provider(void **state)
{
    struct gateways g = { .all = { &sandbox, &paypay }, .count = 2 };

    (void)state;
    assert_ptr_equal(gateways_named(&g, S("paypay")), &paypay);
    assert_null(gateways_named(&g, S("stripe")));
    assert_ptr_equal(gateways_of(&g, S("stripe")), &sandbox);
    assert_null(gateways_of(&g, S("manual")));
}

static bool told;

static void on_done(struct gateway_call *c)
{
    (void)c;
    told = true;
}

static void a_gateway_that_is_gone_is_an_outage(void **state)
{
    struct desk desk;
    struct gateway_call c = { .ask = GATEWAY_CAPTURE, .executor = &desk.executor, .done = on_done };

    (void)state;
    desk_init(&desk);
    gateways_call(NULL, &c);
    assert_false(told);
    desk_next(&desk);
    assert_true(told);
    assert_int_equal(c.answer, GATEWAY_RETRY_LATER);
    assert_string_equal(c.error_code, "gateway_not_set_up");
}

static void a6_no_span_has_the_id_of_a_provider(void **state)
{
    struct desk desk;
    struct env env = { 0 };
    struct gateway_call c = { .ask = GATEWAY_CAPTURE,
                              .executor = &desk.executor,
                              .done = on_done,
                              .env = &env,
                              .fact = { .intent_id = S("pi_3Abc456789") } };
    struct ended_span *x;
    struct trace t;
    size_t n;

    (void)state;
    desk_init(&desk);
    clock_init(&env.clock);
    rng_init_seeded(&env.rng, 1);
    env.spans = spans_new(&(struct spans_options){ .sampler = SAMPLE_ALL, .max = 9, .env = &env });
    t = trace_enter(env.spans, &env.rng, NULL);
    trace_text(&t, c.trace);
    gateways_call(NULL, &c);
    desk_next(&desk);
    x = spans_take(env.spans, 9, &n);
    assert_int_equal(n, 1);
    assert_true(x->count > 2);
    for (size_t i = 0; i < x->count; i++)
        assert_false(str_eq(x->attributes[i].text, S("pi_3Abc456789")));
    ended_spans_free(x);
    spans_free(env.spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_route_by_method_and_currency),         TEST(a_wrong_rule_is_named),
        TEST(they_are_found_by_name_and_by_provider), TEST(a_gateway_that_is_gone_is_an_outage),
        TEST(a6_no_span_has_the_id_of_a_provider),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
