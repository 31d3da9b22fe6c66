#include "base/json/json.h"
#include "base/limits.h"
#include "base/rng.h"
#include "gateway/fact.h"
#include "unit/cm.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = FACT_DISPUTE + 1 };

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 64 * 1024 * 1024);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* --- each member once more, so that one forgotten in the list is seen --- */

static bool same_intent(const struct fact *a, const struct fact *b)
{
    return a->state == b->state && a->received == b->received &&
           a->capture_before_ms == b->capture_before_ms &&
           str_eq(a->failure_code, b->failure_code) && str_eq(a->decline_code, b->decline_code) &&
           str_eq(a->failure_message, b->failure_message) &&
           str_eq(a->cancel_reason, b->cancel_reason) && str_eq(a->action_type, b->action_type) &&
           str_eq(a->action_url, b->action_url) && str_eq(a->client_secret, b->client_secret) &&
           str_eq(a->action_details, b->action_details) &&
           a->action_expires_ms == b->action_expires_ms &&
           str_eq(a->konbini_number, b->konbini_number) &&
           str_eq(a->konbini_store, b->konbini_store);
}

static bool same_session(const struct fact *a, const struct fact *b)
{
    return a->session == b->session && str_eq(a->session_id, b->session_id) &&
           str_eq(a->session_url, b->session_url) && str_eq(a->customer_id, b->customer_id) &&
           str_eq(a->session_payment_status, b->session_payment_status) &&
           a->session_expires_ms == b->session_expires_ms;
}

static bool same_dispute(const struct fact *a, const struct fact *b)
{
    return str_eq(a->dispute_id, b->dispute_id) && str_eq(a->dispute_status, b->dispute_status) &&
           str_eq(a->dispute_reason, b->dispute_reason) && a->dispute_closed == b->dispute_closed &&
           a->dispute_lost == b->dispute_lost;
}

static bool same_charge(const struct fact *a, const struct fact *b)
{
    return str_eq(a->charge_id, b->charge_id) && a->captured == b->captured &&
           a->charge_failed == b->charge_failed && a->has_refunded == b->has_refunded &&
           a->charge_refunded == b->charge_refunded &&
           str_eq(a->balance_transaction, b->balance_transaction) &&
           str_eq(a->receipt_url, b->receipt_url) && a->has_fee == b->has_fee && a->fee == b->fee &&
           a->net == b->net;
}

static bool same_fact(const struct fact *a, const struct fact *b)
{
    return a->kind == b->kind && str_eq(a->intent_id, b->intent_id) &&
           str_eq(a->payment_id, b->payment_id) && memcmp(a->currency, b->currency, 4) == 0 &&
           a->amount == b->amount && same_intent(a, b) && same_charge(a, b) && same_session(a, b) &&
           same_dispute(a, b) && str_eq(a->refund_id, b->refund_id) &&
           str_eq(a->refund_our_id, b->refund_our_id) && a->refund == b->refund &&
           str_eq(a->refund_failure, b->refund_failure);
}

/* The written text, after it was read back and found to say the same. */
static struct str round_trip(const struct fact *f)
{
    struct str text = fact_write(&arena, f), copy;
    struct fact back;
    enum err e;

    assert_non_null(text.p);
    copy.n = text.n;
    copy.p = malloc(text.n); /* so that ASan sees a step beyond its end */
    memcpy((char *)copy.p, text.p, text.n);
    memset(&back, 0xa5, sizeof(back));
    e = fact_read(&arena, copy, &back);
    if (e || !same_fact(f, &back))
        fail_msg("%d: " STR_FMT, (int)e, STR_ARG(text));
    assert_int_equal(json_check(text, NULL), OK);
    free((char *)copy.p);
    return text;
}

static struct fact full_fact(void)
{
    return (struct fact){
        .kind = FACT_INTENT,
        .intent_id = S("pi_1"),
        .payment_id = S("0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b"),
        .currency = "JPY",
        .amount = 1000,
        .state = INTENT_SUCCEEDED,
        .received = 999,
        .capture_before_ms = 1760000000000,
        .failure_code = S("card_declined"),
        .decline_code = S("insufficient_funds"),
        .failure_message = S("残高が不足しています。"),
        .cancel_reason = S("abandoned"),
        .action_type = S("redirect_to_url"),
        .action_url = S("https://example.com/a?b=c&d=\"e\""),
        .client_secret = S("pi_1_secret_x"),
        .action_details = S("{\"account\":\"普通 1234567\",\"reference\":\"123456786\"}"),
        .action_expires_ms = 1760313599000,
        .konbini_number = S("123-456-789"),
        .konbini_store = S("familymart"),
        .charge_id = S("ch_1"),
        .captured = true,
        .charge_failed = true,
        .has_refunded = true,
        .charge_refunded = 300,
        .balance_transaction = S("txn_1"),
        .receipt_url = S("https://example.com/r"),
        .has_fee = true,
        .fee = 36,
        .net = 963,
        .refund_id = S("re_1"),
        .refund_our_id = S("0190a1b2-c3d4-7e5f-8a6b-000000000000"),
        .refund = REFUND_FAILED,
        .refund_failure = S("lost_or_stolen_card"),
        .session_id = S("cs_test_a1"),
        .session_url = S("https://checkout.example.com/c/pay/cs_test_a1#fid"),
        .customer_id = S("cus_1"),
        .session_payment_status = S("unpaid"),
        .session = SESSION_COMPLETE,
        .session_expires_ms = 1760086400000,
        .dispute_id = S("dp_1"),
        .dispute_status = S("lost"),
        .dispute_reason = S("fraudulent"),
        .dispute_closed = true,
        .dispute_lost = true,
    };
}

static void only_what_is_not_empty_is_written(void **state)
{
    static const struct {
        struct fact fact;
        const char *text;
    } rows[] = {
        { { .kind = FACT_NONE }, "{\"kind\":\"none\"}" },
        { { .kind = FACT_INTENT }, "{\"kind\":\"intent\",\"state\":\"open\"}" },
        { { .kind = FACT_CHARGE, .captured = true, .has_fee = true },
          "{\"kind\":\"charge\",\"captured\":true,\"has_fee\":true}" },
        { { .kind = FACT_REFUND, .refund_id = { "re_1", 4 } },
          "{\"kind\":\"refund\",\"refund\":\"pending\",\"refund_id\":\"re_1\"}" },
        { { .kind = FACT_SESSION, .session_id = { "cs_1", 4 } },
          "{\"kind\":\"session\",\"session\":\"open\",\"session_id\":\"cs_1\"}" },
        { { .kind = FACT_DISPUTE, .dispute_id = { "dp_1", 4 }, .dispute_lost = true },
          "{\"kind\":\"dispute\",\"dispute_id\":\"dp_1\",\"dispute_lost\":true}" },
        { { .kind = FACT_INTENT,
            .state = INTENT_AUTHORIZED,
            .intent_id = { "pi_1", 4 },
            .currency = "JPY",
            .amount = 1200 },
          "{\"kind\":\"intent\",\"state\":\"authorized\",\"intent_id\":\"pi_1\","
          "\"currency\":\"JPY\",\"amount\":1200}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str text = round_trip(&rows[i].fact);

        if (!str_eq(text, str_of(rows[i].text)))
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(text));
    }
}

static void every_member_comes_back(void **state)
{
    struct fact f = full_fact();
    struct str text = round_trip(&f);
    int members = 1;

    (void)state;
    for (size_t i = 0; i + 1 < text.n; i++)
        members += text.p[i] == ',' && text.p[i + 1] == '"';
    assert_int_equal(members, 44);
}

static void every_word_comes_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++)
        for (unsigned k = 0; k < INTENT_STATES; k++)
            for (unsigned r = 0; r < REFUND_STATUSES; r++) {
                struct fact f = { .kind = (enum fact_kind)i,
                                  .state = (enum intent_state)k,
                                  .refund = (enum refund_status)r };

                round_trip(&f);
            }
    for (unsigned k = 0; k < SESSION_STATUSES; k++) {
        struct fact f = { .kind = FACT_SESSION, .session = (enum session_status)k };

        round_trip(&f);
    }
}

/* The words of a refund are those of the database. */
static void a_refund_has_the_words_of_its_rows(void **state)
{
    (void)state;
    for (unsigned r = 0; r < REFUND_STATUSES; r++) {
        struct fact f = { .kind = FACT_REFUND, .refund = (enum refund_status)r };
        CLEANUP(json_freep) cJSON *tree = NULL;

        assert_int_equal(json_parse(fact_write(&arena, &f), &tree, NULL), OK);
        assert_string_equal(cJSON_GetObjectItemCaseSensitive(tree, "refund")->valuestring,
                            refund_status_name(f.refund));
    }
}

static void numbers_come_back_exactly(void **state)
{
    static const int64_t rows[] = {
        INT64_MAX, INT64_MIN, INT64_MAX - 1,   INT64_MIN + 1,      0,
        -1,        1,         (1LL << 53) + 1, -((1LL << 53) + 1), 99999999,
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f = { .amount = rows[i],
                          .received = rows[COUNT(rows) - 1 - i],
                          .capture_before_ms = rows[i],
                          .fee = rows[i],
                          .net = -(rows[i] / 2) };

        round_trip(&f);
    }
}

static void texts_come_back_exactly(void **state)
{
    static const struct str rows[] = {
        S("\""),
        S("\\"),
        S("\\\\\""),
        S("a\"b\\c/d"),
        S("\b\f\n\r\t\x01\x1f\x7f"),
        S("予約のお支払い、カードが拒否されました。"),
        S("ｶﾅ 𠮷野家 😀 é"),
        S("\xef\xbf\xbd\xe2\x80\xa8\xf4\x8f\xbf\xbf"),
        S("{\"kind\":\"refund\"}"),
        S(",\"amount\":1"),
        S(" "),
        S("null"),
        S("\\u0000"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fact f = { .kind = FACT_INTENT,
                          .intent_id = rows[i],
                          .failure_message = rows[i],
                          .refund_failure = rows[i] };

        round_trip(&f);
    }
}

/* --- by chance: 20,000 facts, the same ones in each run --- */

static struct str any_text(struct rng *r)
{
    static const char *const pieces[] = { "a",  "\"",   "\\", "\n", "\x01", "支", "払い",
                                          "𠮷", "/",    "u",  ",",  "{",    "}",  ":",
                                          " ",  "\x7f", "pi", "0",  "é",    "'" };
    char text[64];
    size_t n = 0;

    for (uint64_t left = rng_below(r, 3) ? 0 : rng_below(r, 12); left; left--) {
        struct str piece = str_of(pieces[rng_below(r, COUNT(pieces))]);

        memcpy(text + n, piece.p, piece.n);
        n += piece.n;
    }
    return n ? arena_str(&arena, (struct str){ text, n }) : (struct str){ 0 };
}

static int64_t any_number(struct rng *r)
{
    return rng_below(r, 3) ? 0 : (int64_t)(rng_u64(r) >> rng_below(r, 64));
}

static struct fact any_fact(struct rng *r)
{
    struct fact f = { .kind = (enum fact_kind)rng_below(r, KINDS),
                      .state = (enum intent_state)rng_below(r, INTENT_STATES),
                      .refund = (enum refund_status)rng_below(r, REFUND_STATUSES),
                      .session = (enum session_status)rng_below(r, SESSION_STATUSES),
                      .captured = rng_below(r, 2),
                      .charge_failed = rng_below(r, 2),
                      .has_fee = rng_below(r, 2),
                      .dispute_closed = rng_below(r, 2),
                      .dispute_lost = rng_below(r, 2) };
    int64_t *const numbers[] = { &f.amount, &f.received,          &f.capture_before_ms, &f.fee,
                                 &f.net,    &f.action_expires_ms, &f.session_expires_ms };
    struct str *const texts[] = {
        &f.intent_id,      &f.payment_id,          &f.failure_code,
        &f.decline_code,   &f.failure_message,     &f.cancel_reason,
        &f.action_type,    &f.action_url,          &f.client_secret,
        &f.charge_id,      &f.balance_transaction, &f.receipt_url,
        &f.refund_id,      &f.refund_our_id,       &f.refund_failure,
        &f.konbini_number, &f.konbini_store,       &f.session_id,
        &f.session_url,    &f.customer_id,         &f.session_payment_status,
        &f.dispute_id,     &f.dispute_status,      &f.dispute_reason,
        &f.action_details,
    };

    for (size_t i = 0; i < COUNT(numbers); i++)
        *numbers[i] = any_number(r);
    for (size_t i = 0; i < COUNT(texts); i++)
        *texts[i] = any_text(r);
    for (size_t i = 0; i < 3 && rng_below(r, 4); i++)
        f.currency[i] = (char)('A' + rng_below(r, 26));
    if (strlen(f.currency) != 3)
        memset(f.currency, 0, sizeof(f.currency));
    return f;
}

static void whatever_is_written_is_read_back(void **state)
{
    struct rng r;

    (void)state;
    rng_init_seeded(&r, 20251116);
    for (int i = 0; i < 20000; i++) {
        struct arena_mark mark = arena_mark(&arena);
        struct fact f = any_fact(&r), back;
        struct str text = round_trip(&f), again;

        assert_int_equal(fact_read(&arena, text, &back), OK);
        again = fact_write(&arena, &back);
        assert_true(str_eq(text, again));
        arena_rewind(&arena, mark);
    }
}

/* --- what was not written by us --- */

static void anything_else_is_refused_and_the_output_left_alone(void **state)
{
    static const char *const rows[] = {
        "",
        "null",
        "[]",
        "{}",
        "1",
        "\"kind\"",
        "{\"kind\":\"none\"",
        "{\"kind\":\"none\"}x",
        "{\"kind\":\"none\"} ",
        " {\"kind\":\"none\"}",
        "{\"kind\": \"none\"}",
        "{\"kind\":\"nones\"}",
        "{\"kind\":\"\"}",
        "{\"kind\":1}",
        "{\"kind\":null}",
        "{\"Kind\":\"none\"}",
        "{\"\\u006bind\":\"none\"}",
        "{\"kind\":\"none\",\"kind\":\"none\"}",
        "{\"kind\":\"intent\"}",
        "{\"kind\":\"refund\"}",
        "{\"kind\":\"session\"}",
        "{\"kind\":\"session\",\"session\":\"paid\"}",
        "{\"kind\":\"dispute\",\"dispute_closed\":\"true\"}",
        "{\"state\":\"open\"}",
        "{\"kind\":\"intent\",\"state\":\"OPEN\"}",
        "{\"kind\":\"intent\",\"state\":2}",
        "{\"kind\":\"refund\",\"refund\":\"open\"}",
        "{\"kind\":\"none\",\"recieved\":5}",
        "{\"kind\":\"none\",\"\":0}",
        "{\"\":0,\"kind\":\"none\"}",
        "{\"kind\":\"none\",\"amount\":\"5\"}",
        "{\"kind\":\"none\",\"amount\":5.0}",
        "{\"kind\":\"none\",\"amount\":5e2}",
        "{\"kind\":\"none\",\"amount\":05}",
        "{\"kind\":\"none\",\"amount\":null}",
        "{\"kind\":\"none\",\"amount\":9223372036854775808}",
        "{\"kind\":\"none\",\"amount\":-9223372036854775809}",
        "{\"kind\":\"none\",\"amount\":{}}",
        "{\"kind\":\"none\",\"currency\":\"jpy\"}",
        "{\"kind\":\"none\",\"currency\":\"JP\"}",
        "{\"kind\":\"none\",\"currency\":\"JPYX\"}",
        "{\"kind\":\"none\",\"currency\":\"\"}",
        "{\"kind\":\"none\",\"currency\":392}",
        "{\"kind\":\"none\",\"currency\":\"\\u004aPY\"}",
        "{\"kind\":\"none\",\"captured\":1}",
        "{\"kind\":\"none\",\"captured\":\"true\"}",
        "{\"kind\":\"none\",\"intent_id\":5}",
        "{\"kind\":\"none\",\"intent_id\":[]}",
        "{\"kind\":\"none\",\"intent_id\":\"\\u0000\"}",
        "{\"kind\":\"none\",\"intent_id\":\"\xff\"}",
        "{\"kind\":\"none\",\"refund_failure\":false}",
        "[{\"kind\":\"none\"}]",
        "{\"fact\":{\"kind\":\"none\"}}",
    };
    struct fact f = { .amount = 42 };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (fact_read(&arena, str_of(rows[i]), &f) != ERR_VALIDATION)
            fail_msg("row %zu: %s", i, rows[i]);
    assert_int_equal(f.amount, 42);
    assert_int_equal(f.kind, FACT_NONE);
}

static void the_order_of_the_members_does_not_matter(void **state)
{
    static const char text[] = "{\"amount\":7,\"refund_id\":\"re_1\",\"state\":\"action\","
                               "\"kind\":\"intent\",\"captured\":false,\"fee\":0}";
    struct fact f, wanted = {
        .kind = FACT_INTENT, .state = INTENT_ACTION, .amount = 7, .refund_id = S("re_1")
    };

    (void)state;
    assert_int_equal(fact_read(&arena, str_of(text), &f), OK);
    assert_true(same_fact(&f, &wanted));
}

static void every_cut_of_a_fact_is_refused(void **state)
{
    struct fact f = full_fact(), back;
    struct str text = fact_write(&arena, &f);

    (void)state;
    for (size_t n = 0; n < text.n; n++) {
        char *copy = malloc(n ? n : 1);

        memcpy(copy, text.p, n);
        assert_int_equal(fact_read(&arena, (struct str){ copy, n }, &back), ERR_VALIDATION);
        free(copy);
    }
}

/* --- without memory --- */

static void without_memory_nothing_is_written(void **state)
{
    struct fact f = full_fact();
    struct arena small;

    (void)state;
    arena_init(&small, 16);
    assert_null(fact_write(&small, &f).p);
    arena_release(&small);
}

static void a_fact_over_its_limit_is_not_written(void **state)
{
    size_t n = LIMIT_FACT;
    char *long_text = malloc(n);
    struct fact f = { .failure_message = { long_text, n } };

    (void)state;
    memset(long_text, 'x', n);
    assert_null(fact_write(&arena, &f).p);
    f.failure_message.n = n - 100;
    assert_non_null(fact_write(&arena, &f).p);
    free(long_text);
}

static void without_memory_an_escape_cannot_be_read(void **state)
{
    struct fact f = { .failure_message = S("a long text \"with quotes\""), .amount = 1 };
    struct str text = fact_write(&arena, &f);
    struct fact back = { .amount = 42 };
    struct arena small;

    (void)state;
    arena_init(&small, 8);
    assert_int_equal(fact_read(&small, text, &back), ERR_NO_MEMORY);
    assert_int_equal(back.amount, 42);
    arena_release(&small);
}

#define FACT_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FACT_TEST(only_what_is_not_empty_is_written),
        FACT_TEST(every_member_comes_back),
        FACT_TEST(every_word_comes_back),
        FACT_TEST(a_refund_has_the_words_of_its_rows),
        FACT_TEST(numbers_come_back_exactly),
        FACT_TEST(texts_come_back_exactly),
        FACT_TEST(whatever_is_written_is_read_back),
        FACT_TEST(anything_else_is_refused_and_the_output_left_alone),
        FACT_TEST(the_order_of_the_members_does_not_matter),
        FACT_TEST(every_cut_of_a_fact_is_refused),
        FACT_TEST(without_memory_nothing_is_written),
        FACT_TEST(a_fact_over_its_limit_is_not_written),
        FACT_TEST(without_memory_an_escape_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
