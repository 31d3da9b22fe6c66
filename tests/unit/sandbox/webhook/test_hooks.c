#include "sandbox/control/control.h"
#include "sandbox/stripe/customers.h"
#include "sandbox/webhook/hooks.h"
#include "unit/sandbox/stage.h"

static int setup(void **state)
{
    *state = stage_new(false);
    return 0;
}

static int teardown(void **state)
{
    stage_free(*state);
    return 0;
}

/* --- ids --- */

static void an_events_id_is_its_uuid_and_back(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a, 1 << 16);
    for (int i = 0; i < 256; i++) {
        struct uuid u, back;
        struct str id;

        for (size_t k = 0; k < sizeof(u.b); k++)
            u.b[k] = (unsigned char)(i * 37 + (int)k * 101);
        id = sb_event_id(&a, u);
        assert_true(sb_event_uuid(id, &back));
        assert_memory_equal(u.b, back.b, sizeof(u.b));
    }
    arena_release(&a);
}

static void what_is_no_id_of_an_event_has_no_uuid(void **state)
{
    static const char *const rows[] = {
        "",
        "evt_3",
        "evt_30000000000000000000000000",
        "evt_1",
        "evt_3000000000000000000000",
        "evt_300000000000000000000-0",
        "pi_3",
    };
    struct uuid u;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (sb_event_uuid(str_of(rows[i]), &u))
            fail_msg("%s", rows[i]);
}

static enum err add_many(struct stage *g, struct tx *tx, struct arena *a, void *ctx)
{
    struct sandbox_event e = { .type = S("customer.created"), .object = S("{}") };
    enum err err = OK;

    (void)ctx;
    for (int i = 0; i < 500 && !err; i++)
        err = sandbox_event_add(&g->s, tx, a, &e);
    return err;
}

static void ids_sort_as_the_events_happened_however_many_there_are_at_once(void **state)
{
    struct stage *g = *state;

    for (int i = 0; i < 10; i++)
        assert_int_equal(stage_do(g, add_many, NULL), OK);
    assert_int_equal(stage_int(g, "SELECT count(*) FROM sandbox_events"), 5000);
    assert_int_equal(stage_int(g, "SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY seq) AS"
                                  " before FROM sandbox_events) WHERE before >= id"),
                     0);
}

static void a_message_of_each_receiver_has_an_id_of_its_own(void **state)
{
    struct uuid u = { { 1, 2, 3, 4, 5, 6, 7, 8, 9 } };
    struct uuid own = sb_webhook_message_id(u, S("")), one = sb_webhook_message_id(u, S("we_1")),
                two = sb_webhook_message_id(u, S("we_2")),
                again = sb_webhook_message_id(u, S("we_1"));

    (void)state;
    assert_true(uuid_eq(own, u));
    assert_false(uuid_eq(one, two));
    assert_false(uuid_eq(one, own));
    assert_true(uuid_eq(one, again));
    assert_memory_equal(one.b, u.b, 9); /* beside each other in the index */
}

/* --- who wants what --- */

static void an_endpoint_wants_the_whole_type_or_all(void **state)
{
    static const struct {
        const char *events, *type;
        bool wants;
    } rows[] = {
        { "[\"*\"]", "anything.at_all", true },
        { "[\"charge.refunded\"]", "charge.refunded", true },
        { "[\"charge.refunded\"]", "charge.refund", false },
        { "[\"charge.refund.updated\"]", "charge.refund", false },
        { "[\"a.charge\",\"charge.b\"]", "charge", false },
        { "[\"a.b\",\"charge.refunded\",\"c.d\"]", "charge.refunded", true },
        { "[\"a.b\"]", "charge.refunded", false },
        { "[]", "charge.refunded", false },
    };
    char longest[200];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (sb_hook_wants(str_of(rows[i].events), str_of(rows[i].type)) != rows[i].wants)
            fail_msg("%s of %s", rows[i].type, rows[i].events);
    memset(longest, 'x', sizeof(longest));
    assert_false(sb_hook_wants(S("[\"x\"]"), (struct str){ longest, sizeof(longest) }));
}

/* --- accounts --- */

static void an_iban_has_its_check_digits(void **state)
{
    static const struct {
        const char *iban;
        bool fine;
    } rows[] = {
        { "AT611904300234573201", true },
        { "AT321904300235473204", true },
        { "IT60X0542811101000000123456", true },
        { "DE89370400440532013000", true },
        { "GB82WEST12345698765432", true },
        { "AT611904300234573202", false },
        { "at611904300234573201", false },
        { "AT61190430023457320", false },
        { "AT61 1904 3002 3457 3201", false },
        { "611904300234573201AT", false },
        { "AT61", false },
        { "", false },
        { "AT61190430023457320119043002345732011904", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (sb_is_iban(str_of(rows[i].iban)) != rows[i].fine)
            fail_msg("%s", rows[i].iban);
}

static void a_test_account_ends_as_it_should(void **state)
{
    static const struct {
        const char *iban, *name;
        bool fails, late;
    } rows[] = {
        { "AT611904300234573201", "sepa_debit", false, false },
        { "AT321904300235473204", "sepa_debit_late", false, true },
        { "AT861904300235473202", "sepa_debit_fails", true, false },
        { "AT051904300235473205", "sepa_debit_fails_late", true, true },
        { "IT60X0542811101000000123456", "sepa_debit_fails", true, false },
        { "DE89370400440532013000", "sepa_debit", false, false }, /* any other account pays */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct card *c = sb_debit_account(str_of(rows[i].iban));

        assert_non_null(c);
        assert_string_equal(c->name, rows[i].name);
        assert_int_equal(c->code != NULL, rows[i].fails);
        assert_int_equal(c->late, rows[i].late);
        assert_ptr_equal(method_type_of(str_of(c->name)), method_type_of(S("sepa_debit")));
    }
}

static void every_card_has_a_type_and_every_name_its_own_card(void **state)
{
    static const struct {
        const char *name, *type;
    } rows[] = {
        { "visa", "card" },     { "konbini", "konbini" },
        { "paypay", "paypay" }, { "customer_balance", "customer_balance" },
        { "", "card" },         { "nobody", "card" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(method_type_of(str_of(rows[i].name))->name, rows[i].type);
    assert_null(card_by_token(S("pm_card_konbini"))); /* no card stands for these */
    assert_null(card_by_token(S("pm_card_sepa_debit")));
    assert_null(card_by_number(S("0000")));
}

/* --- secrets --- */

static void the_older_secret_signs_until_its_time_is_over(void **state)
{
    struct hook h = { .secret = S("new"), .previous = S("old"), .previous_until_ms = 1000 };

    (void)state;
    assert_true(str_eq(secrets_of(&h, 999).before, S("old")));
    assert_int_equal(secrets_of(&h, 1000).before.n, 0);
    assert_true(str_eq(secrets_of(&h, 1000).now, S("new")));
}

static void json_is_indented_as_stripe_does(void **state)
{
    static const struct {
        const char *compact, *indented;
    } rows[] = {
        { "{}", "{}" },
        { "[]", "[]" },
        { "{\"a\":1,\"b\":[]}", "{\n  \"a\": 1,\n  \"b\": []\n}" },
        { "{\"a\":{\"b\":[1,{}]}}",
          "{\n  \"a\": {\n    \"b\": [\n      1,\n      {}\n    ]\n  }\n}" },
        { "{\"a\":\"x,{:\\\"}\\\\\"}", "{\n  \"a\": \"x,{:\\\"}\\\\\"\n}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf b;

        buf_init(&b, 4096);
        sb_indent(&b, str_of(rows[i].compact));
        buf_char(&b, '\0');
        assert_string_equal(b.p, rows[i].indented);
        buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_events_id_is_its_uuid_and_back),
        cmocka_unit_test(what_is_no_id_of_an_event_has_no_uuid),
        cmocka_unit_test_setup_teardown(
            ids_sort_as_the_events_happened_however_many_there_are_at_once, setup, teardown),
        cmocka_unit_test(a_message_of_each_receiver_has_an_id_of_its_own),
        cmocka_unit_test(an_endpoint_wants_the_whole_type_or_all),
        cmocka_unit_test(an_iban_has_its_check_digits),
        cmocka_unit_test(a_test_account_ends_as_it_should),
        cmocka_unit_test(every_card_has_a_type_and_every_name_its_own_card),
        cmocka_unit_test(the_older_secret_signs_until_its_time_is_over),
        cmocka_unit_test(json_is_indented_as_stripe_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
