#include "unit/cm.h"
#include "webhook/event.h"

#include <stdio.h>
#include <string.h>

#define PAYMENT "0189c2f0-0000-7000-8000-000000000001"
#define OBJECT "\"data\":{\"object\":{}}}"

static struct arena arena;

static struct stripe_event read_event(const char *body)
{
    struct stripe_event e;

    arena_release(&arena);
    arena_init(&arena, 1 << 16);
    assert_int_equal(stripe_event_read(&arena, str_of(body), &e), OK);
    return e;
}

static bool is(struct str s, const char *c)
{
    return str_eq(s, str_of(c));
}

static void the_fields_of_an_intent_event_are_taken_out(void **state)
{
    struct stripe_event e = read_event(
        "{\"id\":\"evt_1\",\"object\":\"event\",\"created\":1699564800,\"livemode\":false,"
        "\"data\":{\"object\":{\"id\":\"pi_1\",\"object\":\"payment_intent\",\"amount\":2000,"
        "\"metadata\":{\"payment_id\":\"pay-7\",\"id\":\"no\"}}},"
        "\"type\":\"payment_intent.succeeded\"}");

    (void)state;
    assert_true(e.readable);
    assert_true(is(e.id, "evt_1"));
    assert_true(is(e.type, "payment_intent.succeeded"));
    assert_int_equal(e.livemode, 0);
    assert_true(e.has_created);
    assert_int_equal(e.created_ms, INT64_C(1699564800000));
    assert_true(is(e.object_id, "pi_1"));
    assert_true(is(e.intent_id, "pi_1"));
    assert_true(is(e.payment_id, "pay-7"));
    assert_true(e.has_lane);
    assert_int_equal(e.lane, lane_of(S("pay-7")));
}

static void d24_the_lane_is_the_payment_else_the_intent_else_none(void **state)
{
    static const struct {
        const char *why, *object, *key;
    } rows[] = {
        { "metadata first",
          "{\"id\":\"pi_1\",\"object\":\"payment_intent\",\"metadata\":"
          "{\"payment_id\":\"p\"}}",
          "p" },
        { "the intent itself", "{\"id\":\"pi_1\",\"object\":\"payment_intent\"}", "pi_1" },
        { "the intent of a charge",
          "{\"id\":\"ch_1\",\"object\":\"charge\",\"payment_intent\":"
          "\"pi_1\"}",
          "pi_1" },
        { "a metadata of another type",
          "{\"id\":\"pi_1\",\"object\":\"payment_intent\","
          "\"metadata\":{\"payment_id\":7}}",
          "pi_1" },
        { "an expanded intent",
          "{\"id\":\"ch_1\",\"object\":\"charge\","
          "\"payment_intent\":{\"id\":\"pi_1\"}}",
          "pi_1" },
        { "a session's reference and metadata",
          "{\"id\":\"cs_1\",\"object\":\"checkout.session\",\"payment_intent\":\"pi_1\","
          "\"client_reference_id\":\"" PAYMENT "\",\"metadata\":{\"payment_id\":\"" PAYMENT "\"}}",
          PAYMENT },
        { "a session's reference alone, which anybody can set",
          "{\"id\":\"cs_1\",\"object\":\"checkout.session\",\"payment_intent\":\"pi_1\","
          "\"client_reference_id\":\"" PAYMENT "\"}",
          "pi_1" },
        { "a reference that is no id of ours",
          "{\"id\":\"cs_1\",\"object\":\"checkout.session\",\"payment_intent\":\"pi_1\","
          "\"client_reference_id\":\"order-7\",\"metadata\":{\"payment_id\":\"p\"}}",
          "p" },
        { "a reference is only a session's",
          "{\"id\":\"pi_1\",\"object\":\"payment_intent\",\"client_reference_id\":\"" PAYMENT "\"}",
          "pi_1" },
        { "a session's intent",
          "{\"id\":\"cs_1\",\"object\":\"checkout.session\",\"payment_intent\":\"pi_1\"}", "pi_1" },
        { "a dispute's intent",
          "{\"id\":\"dp_1\",\"object\":\"dispute\",\"payment_intent\":\"pi_1\","
          "\"charge\":\"ch_1\"}",
          "pi_1" },
        { "a dispute's charge",
          "{\"id\":\"dp_1\",\"object\":\"dispute\",\"payment_intent\":null,"
          "\"charge\":{\"id\":\"ch_1\"}}",
          "ch_1" },
        { "no intent", "{\"id\":\"cs_1\",\"object\":\"checkout.session\",\"payment_intent\":null}",
          NULL },
        { "an object without a kind, of an intent's event", "{\"id\":\"pi_1\"}", "pi_1" },
        { "the payment of a charge",
          "{\"id\":\"ch_1\",\"object\":\"charge\",\"payment_intent\":"
          "\"pi_1\",\"metadata\":{\"payment_id\":\"p\"}}",
          "p" },
    };
    char body[512];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stripe_event e;

        snprintf(body, sizeof(body),
                 "{\"id\":\"e\",\"type\":\"payment_intent.x\",\"data\":{\"object\":%s}}",
                 rows[i].object);
        e = read_event(body);
        if (!e.readable || e.has_lane != (rows[i].key != NULL) ||
            (rows[i].key && e.lane != lane_of(str_of(rows[i].key))))
            fail_msg("row %zu: %s", i, rows[i].why);
    }
}

static void what_it_says_about_a_payment_is_taken_out_too(void **state)
{
    struct stripe_event e =
        read_event("{\"id\":\"evt_1\",\"type\":\"checkout.session.completed\",\"data\":{\"object\":"
                   "{\"id\":\"cs_1\",\"object\":\"checkout.session\",\"status\":\"complete\","
                   "\"metadata\":{\"payment_id\":\"" PAYMENT "\"},\"payment_intent\":\"pi_1\"}}}");

    (void)state;
    assert_true(e.readable);
    assert_true(is(e.payment_id, PAYMENT));
    assert_int_equal(e.fact_err, OK);
    assert_int_equal(e.fact.kind, FACT_SESSION);
    assert_true(is(e.fact.intent_id, "pi_1"));
    e = read_event("{\"id\":\"evt_1\",\"type\":\"refund.created\",\"data\":{\"object\":"
                   "{\"id\":\"re_1\",\"status\":\"thinking\"}}}");
    assert_true(e.readable);
    assert_int_equal(e.fact_err, ERR_VALIDATION);
    assert_int_equal(e.fact.kind, FACT_NONE);
}

static void a_lane_never_changes(void **state)
{
    (void)state;
    /* nodes of different versions must agree: SHA-256("abc") begins ba7816bf8f01cfea */
    assert_int_equal(lane_of(S("abc")), INT64_C(0xba7816bf8f01cfea >> 1));
    assert_true(lane_of(S("")) > 0);
}

static void w6_what_names_no_sane_id_or_type_is_named_by_its_content(void **state)
{
    static const char *const rows[] = {
        "",
        "{",
        "{\"id\":\"evt_1\",\"type\":\"t\"",
        "null",
        "[]",
        "{}",
        "{\"id\":\"evt_1\"}",
        "{\"type\":\"t\"}",
        "{\"id\":7,\"type\":\"t\"}",
        "{\"id\":\"evt_1\",\"type\":null}",
        "{\"id\":\"\",\"type\":\"t\"}",
        "{\"id\":\"evt_1\",\"type\":\"\"}",
        "{\"id\":\"evt 1\",\"type\":\"t\"}",
        "{\"id\":\"evt\\n1\",\"type\":\"t\"}",
        "{\"id\":\"evt\\u00001\",\"type\":\"t\"}",
        "{\"id\":\"\xe9\xa0\x98\",\"type\":\"t\"}",
        "{\"id\":\"evt_1\",\"id\":\"evt_2\",\"type\":\"t\"}",
        "{\"id\":\"evt_1\",\"type\":\"t\"} trailing",
        "{\"id\":\"evt_1\",\"type\":\"\xff\"}",
        "{\"id\":\"evt_1\",\"type\":\"t\"}",
        "{\"id\":\"evt_1\",\"type\":\"t\",\"data\":{}}",
        "{\"id\":\"evt_1\",\"type\":\"t\",\"data\":{\"object\":[]}}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stripe_event e = read_event(rows[i]);

        if (e.readable || !e.why || !str_starts(e.id, S("sha256:")) || e.id.n != 71 || e.type.n ||
            e.has_lane)
            fail_msg("row %zu: %s", i, rows[i]);
    }
    assert_true(is(read_event("{").id,
                   "sha256:021fb596db81e6d02bf3d2586ee3981fe519f275c0ac9ca76bbcf2ebb4097d96"));
}

static void ids_of_255_characters_are_the_longest(void **state)
{
    char body[440] = "{\"data\":{\"object\":{}},\"type\":\"t\",\"id\":\"";
    size_t start = strlen(body);

    (void)state;
    memset(body + start, 'e', 255);
    strcpy(body + start + 255, "\"}");
    assert_true(read_event(body).readable);
    strcpy(body + start + 255, "e\"}");
    assert_false(read_event(body).readable);
}

static void escapes_are_resolved(void **state)
{
    struct stripe_event e = read_event("{\"id\":\"evt\\u005f1\",\"type\":\"a\\/b\"," OBJECT);

    (void)state;
    assert_true(is(e.id, "evt_1"));
    assert_true(is(e.type, "a/b"));
}

static void w9_livemode_is_known_only_where_it_is_a_bool(void **state)
{
    (void)state;
    assert_int_equal(read_event("{\"id\":\"e\",\"type\":\"t\",\"livemode\":true," OBJECT).livemode,
                     1);
    assert_int_equal(read_event("{\"id\":\"e\",\"type\":\"t\",\"livemode\":false," OBJECT).livemode,
                     0);
    assert_int_equal(read_event("{\"id\":\"e\",\"type\":\"t\"," OBJECT).livemode, -1);
    assert_int_equal(
        read_event("{\"id\":\"e\",\"type\":\"t\",\"livemode\":\"true\"," OBJECT).livemode, -1);
}

static void a_created_that_is_no_time_is_left_out(void **state)
{
    (void)state;
    assert_false(read_event("{\"id\":\"e\",\"type\":\"t\",\"created\":1.5," OBJECT).has_created);
    assert_false(read_event("{\"id\":\"e\",\"type\":\"t\",\"created\":-1," OBJECT).has_created);
    assert_false(read_event("{\"id\":\"e\",\"type\":\"t\",\"created\":9223372036854775807," OBJECT)
                     .has_created);
    assert_true(read_event("{\"id\":\"e\",\"type\":\"t\",\"created\":0," OBJECT).has_created);
}

static void q5_a_reference_names_an_event_and_nothing_else_does(void **state)
{
    static const struct {
        const char *why, *body, *id; /* id NULL: no reference */
    } rows[] = {
        { "ours", "{\"object\":\"ichido.event\",\"id\":\"evt_1\",\"type\":\"t\"}", "evt_1" },
        { "the type is for people", "{\"id\":\"evt_1\",\"object\":\"ichido.event\"}", "evt_1" },
        { "escapes", "{\"object\":\"ichido\\u002eevent\",\"id\":\"e\\\"\\u005f\"}", "e\"_" },
        { "what else it holds is not looked at",
          "{\"object\":\"ichido.event\",\"id\":\"evt_1\",\"type\":7," OBJECT, "evt_1" },
        { "an event", "{\"object\":\"event\",\"id\":\"evt_1\",\"type\":\"t\"," OBJECT, NULL },
        { "no object", "{\"id\":\"evt_1\",\"type\":\"t\"}", NULL },
        { "another object", "{\"object\":\"ichido.events\",\"id\":\"evt_1\"}", NULL },
        { "case", "{\"object\":\"Ichido.event\",\"id\":\"evt_1\"}", NULL },
        { "an object of another type", "{\"object\":[\"ichido.event\"],\"id\":\"evt_1\"}", NULL },
        { "no id", "{\"object\":\"ichido.event\"}", NULL },
        { "a number", "{\"object\":\"ichido.event\",\"id\":7}", NULL },
        { "an empty id", "{\"object\":\"ichido.event\",\"id\":\"\"}", NULL },
        { "a blank", "{\"object\":\"ichido.event\",\"id\":\"evt 1\"}", NULL },
        { "NUL", "{\"object\":\"ichido.event\",\"id\":\"evt\\u00001\"}", NULL },
        { "two ids", "{\"object\":\"ichido.event\",\"id\":\"a\",\"id\":\"b\"}", NULL },
        { "more behind it", "{\"object\":\"ichido.event\",\"id\":\"evt_1\"} x", NULL },
        { "no JSON", "ichido.event", NULL },
        { "nothing", "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str id = { 0 };
        enum err e;

        arena_release(&arena);
        arena_init(&arena, 1 << 16);
        e = event_reference_read(&arena, str_of(rows[i].body), &id);
        if (e != (rows[i].id ? OK : ERR_NOT_FOUND) || !is(id, rows[i].id ? rows[i].id : ""))
            fail_msg("row %zu: %s", i, rows[i].why);
        if (e && read_event(rows[i].body).readable != str_eq(str_of(rows[i].why), S("an event")))
            fail_msg("row %zu: %s is an event", i, rows[i].why);
    }
}

static void q5_a_reference_that_we_write_reads_back_whatever_the_id(void **state)
{
    char longest[256] = "";
    const char *const ids[] = { "evt_1", "a\"b\\c", longest };

    (void)state;
    memset(longest, '"', 255);
    for (size_t i = 0; i < COUNT(ids); i++) {
        struct str id = { 0 }, body;

        arena_release(&arena);
        arena_init(&arena, 1 << 16);
        body = event_reference(&arena, str_of(ids[i]), str_of(longest));
        assert_int_equal(event_reference_read(&arena, body, &id), OK);
        assert_true(is(id, ids[i]));
    }
    assert_true(is(event_reference(&arena, S("evt_1"), S("charge.failed")),
                   "{\"object\":\"ichido.event\",\"id\":\"evt_1\",\"type\":\"charge.failed\"}"));
}

static int release(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(the_fields_of_an_intent_event_are_taken_out),
        TEST(d24_the_lane_is_the_payment_else_the_intent_else_none),
        TEST(what_it_says_about_a_payment_is_taken_out_too),
        TEST(a_lane_never_changes),
        TEST(w6_what_names_no_sane_id_or_type_is_named_by_its_content),
        TEST(ids_of_255_characters_are_the_longest),
        TEST(escapes_are_resolved),
        TEST(w9_livemode_is_known_only_where_it_is_a_bool),
        TEST(a_created_that_is_no_time_is_left_out),
        TEST(q5_a_reference_names_an_event_and_nothing_else_does),
        TEST(q5_a_reference_that_we_write_reads_back_whatever_the_id),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
