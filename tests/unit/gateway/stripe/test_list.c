/* Pages of Stripe's lists: a whole one with the very bytes of its objects, or an error. How it is
 * asked for, and what silence and broken connections mean, is in tests/e2e/heal.test.mjs. */
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/stripe/events.h"
#include "gateway/stripe/ledger.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

static void e11_a_page_is_whole_or_an_error(void **state)
{
    static const struct {
        const char *why, *text;
        int count; /* -1: refused */
        bool more;
        const char *last;
    } rows[] = {
        { "empty", "{\"object\":\"list\",\"data\":[],\"has_more\":false}", 0, false, "" },
        { "one", "{\"object\":\"list\",\"data\":[{\"id\":\"a\"}],\"has_more\":true}", 1, true,
          "a" },
        { "blanks",
          "{\"has_more\":false,\"object\":\"list\",\"data\":[\n {\"id\":\"a\"} "
          ",\t{\"id\":\"b\"}\r\n]}",
          2, false, "b" },
        { "brackets in texts",
          "{\"object\":\"list\",\"data\":[{\"x\":\"}]{[\\\"}\",\"id\":\"a\"},{\"y\":[{},[]],\"id\":"
          "\"b\"}],"
          "\"has_more\":false}",
          2, false, "b" },
        { "half of it", "{\"object\":\"list\",\"data\":[{\"id\":\"a\"},{\"id\":", -1, false, "" },
        { "HTML", "<html><body>502</body></html>", -1, false, "" },
        { "nothing", "", -1, false, "" },
        { "no object", "{\"data\":[],\"has_more\":false}", -1, false, "" },
        { "another object", "{\"object\":\"event\",\"data\":[],\"has_more\":false}", -1, false,
          "" },
        { "no list", "{\"object\":\"list\",\"data\":{},\"has_more\":false}", -1, false, "" },
        { "has_more is no word", "{\"object\":\"list\",\"data\":[],\"has_more\":\"false\"}", -1,
          false, "" },
        { "has_more is missing", "{\"object\":\"list\",\"data\":[]}", -1, false, "" },
        { "more, but where", "{\"object\":\"list\",\"data\":[],\"has_more\":true}", -1, false, "" },
        { "a number among them",
          "{\"object\":\"list\",\"data\":[{\"id\":\"a\"},1],\"has_more\":false}", -1, false, "" },
        { "a list among them",
          "{\"object\":\"list\",\"data\":[[],{\"id\":\"a\"}],\"has_more\":false}", -1, false, "" },
        { "the last has no id",
          "{\"object\":\"list\",\"data\":[{\"id\":\"a\"},{}],\"has_more\":false}", -1, false, "" },
        { "its id is no text", "{\"object\":\"list\",\"data\":[{\"id\":7}],\"has_more\":true}", -1,
          false, "" },
        { "an array", "[]", -1, false, "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena a;
        struct stripe_page p = { .arena = &a };
        enum err e;

        arena_init(&a, 1 << 20);
        e = stripe_page_parse(&p, str_of(rows[i].text));
        if ((e == OK) != (rows[i].count >= 0) || (e && !p.why[0]) || (e && p.count))
            fail_msg("row %zu: %s: %s", i, rows[i].why, p.why);
        if (!e && ((int)p.count != rows[i].count || p.has_more != rows[i].more ||
                   !str_eq(p.last_id, str_of(rows[i].last))))
            fail_msg("row %zu: %s: %zu", i, rows[i].why, p.count);
        arena_release(&a);
    }
}

static void more_objects_than_were_asked_for_are_refused(void **state)
{
    struct arena a;
    struct stripe_page p = { .arena = &a };
    struct buf b;

    (void)state;
    arena_init(&a, 1 << 20);
    buf_init(&b, 1 << 20);
    buf_add(&b, S("{\"object\":\"list\",\"has_more\":false,\"data\":["));
    for (int i = 0; i <= LIMIT_LIST_PAGE; i++)
        buf_add(&b, i ? S(",{\"id\":\"a\"}") : S("{\"id\":\"a\"}"));
    buf_add(&b, S("]}"));
    assert_int_equal(stripe_page_parse(&p, buf_str(&b)), ERR_VALIDATION);
    buf_release(&b);
    arena_release(&a);
}

static void e11_an_event_keeps_its_bytes_and_names_itself(void **state)
{
    static const struct {
        const char *item;
        const char *id, *type; /* NULL: it is none */
    } rows[] = {
        { "{ \"id\" : \"evt_1\", \"object\":\"event\", \"type\":\"a.b\"}", "evt_1", "a.b" },
        { "{\"id\":\"evt_1\",\"object\":\"event\"}", NULL, NULL },
        { "{\"object\":\"event\",\"type\":\"a.b\"}", NULL, NULL },
        { "{\"id\":\"evt 1\",\"object\":\"event\",\"type\":\"a.b\"}", NULL, NULL },
        { "{\"id\":\"evt_\\u0031\",\"object\":\"event\",\"type\":\"a.b\"}", NULL, NULL },
        { "{\"id\":\"evt_1\",\"object\":\"charge\",\"type\":\"a.b\"}", NULL, NULL },
        { "{\"id\":1,\"object\":\"event\",\"type\":\"a.b\"}", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stripe_listed_event e;
        bool is_one = stripe_listed_event(str_of(rows[i].item), &e);

        if (is_one != (rows[i].id != NULL))
            fail_msg("row %zu", i);
        if (is_one && (!str_eq(e.id, str_of(rows[i].id)) || !str_eq(e.type, str_of(rows[i].type)) ||
                       !str_eq(e.body, str_of(rows[i].item))))
            fail_msg("row %zu", i);
    }
}

static void paths_are_cut_to_seconds_and_escaped(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a, 1 << 16);
    assert_true(
        str_eq(stripe_events_path(&a, 1999, 5000), S("/v1/events?created[gte]=1&created[lt]=5")));
    assert_true(
        str_eq(stripe_refunds_path(&a, S("pi_&x=1")), S("/v1/refunds?payment_intent=pi_%26x%3D1")));
    arena_release(&a);
}

static void e11_an_intent_tells_its_money_its_fee_and_what_went_back(void **state)
{
    static const struct {
        const char *why, *item;
        enum err err;
        int64_t received, refunded, fee;
    } rows[] = {
        { "all of it",
          "{\"id\":\"pi_1\",\"object\":\"payment_intent\",\"amount\":1200,\"amount_received\":1200,"
          "\"currency\":\"jpy\",\"status\":\"succeeded\",\"latest_charge\":{\"id\":\"ch_1\","
          "\"object\":"
          "\"charge\",\"amount\":1200,\"amount_refunded\":300,\"captured\":true,\"currency\":"
          "\"jpy\","
          "\"status\":\"succeeded\",\"balance_transaction\":{\"id\":\"txn_1\",\"fee\":43,\"net\":"
          "1157,"
          "\"currency\":\"jpy\"}}}",
          OK, 1200, 300, 43 },
        { "never tried",
          "{\"id\":\"pi_1\",\"object\":\"payment_intent\",\"amount\":1200,\"currency\":\"jpy\","
          "\"status\":\"requires_payment_method\",\"latest_charge\":null}",
          OK, 0, 0, -1 },
        { "a state that nobody knows",
          "{\"id\":\"pi_1\",\"object\":\"payment_intent\",\"amount\":1200,\"currency\":\"jpy\","
          "\"status\":\"melted\"}",
          ERR_VALIDATION, 0, 0, -1 },
        { "a charge in its place",
          "{\"id\":\"pi_1\",\"object\":\"charge\",\"amount\":1,\"currency\":\"jpy\"}",
          ERR_VALIDATION, 0, 0, -1 },
        { "its charge is something else",
          "{\"id\":\"pi_1\",\"object\":\"payment_intent\",\"amount\":1200,\"amount_received\":1200,"
          "\"currency\":\"jpy\",\"status\":\"succeeded\",\"latest_charge\":{\"id\":\"x\","
          "\"object\":\"card\"}}",
          ERR_VALIDATION, 0, 0, -1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stripe_listed_intent one;
        struct arena a;
        enum err e;

        arena_init(&a, 1 << 16);
        e = stripe_listed_intent(&a, str_of(rows[i].item), &one);
        if (e != rows[i].err || !str_eq(one.id, S("pi_1")))
            fail_msg("%s: %s", rows[i].why, err_code(e));
        if (!e && (one.fact.received != rows[i].received || one.refunded != rows[i].refunded ||
                   (one.fact.has_fee ? one.fact.fee : -1) != rows[i].fee))
            fail_msg("%s", rows[i].why);
        arena_release(&a);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(e11_a_page_is_whole_or_an_error),
        TEST(more_objects_than_were_asked_for_are_refused),
        TEST(e11_an_event_keeps_its_bytes_and_names_itself),
        TEST(paths_are_cut_to_seconds_and_escaped),
        TEST(e11_an_intent_tells_its_money_its_fee_and_what_went_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
