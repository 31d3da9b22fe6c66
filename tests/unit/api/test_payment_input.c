/* What a client may ask for, and the exact words about what it may not. */
#include "api/payment_input.h"
#include "base/limits.h"
#include "endpoint/media_type.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOKING "0190a6f2-3b5c-7d8e-9f01-23456789abcd"
#define FINE "\"bookingId\":\"" BOOKING "\",\"amount\":1000,\"currency\":\"JPY\""
#define AMOUNT "must be a whole number from 1 to 99999999"
#define TOKEN "must be a token of 1 to 255 characters, without blanks"
#define CARD "looks like a card number; send the gateway's token instead"
#define TEXT_200 "must be a text of at most 200 characters"

struct read {
    struct arena arena;
    struct json_problems problems;
    struct payment_input in;
    enum err err;
    char *body; /* a block of its own, so that ASan sees a byte too far */
};

static void read_body(struct read *r, enum op_kind kind, struct str body, enum language language)
{
    *r = (struct read){ .body = malloc(body.n ? body.n : 1) };
    arena_init(&r->arena, LIMIT_REQUEST_ARENA);
    json_problems_init(&r->problems);
    r->problems.language = language;
    if (body.n)
        memcpy(r->body, body.p, body.n);
    body.p = r->body;
    r->err = payment_input_body(&r->arena, kind, body, &r->in, &r->problems);
}

static void release(struct read *r)
{
    json_problems_release(&r->problems);
    arena_release(&r->arena);
    free(r->body);
}

/* The problems as "field: message" lines. */
static void lines(struct read *r, char *out, size_t size)
{
    cJSON *list = NULL, *one;
    size_t n = 0;

    out[0] = '\0';
    assert_int_equal(json_parse(json_problems_array(&r->problems), &list, NULL), OK);
    cJSON_ArrayForEach(one, list)
    {
        n += (size_t)snprintf(out + n, size - n, "%s%s: %s", n ? "\n" : "",
                              cJSON_GetObjectItem(one, "field")->valuestring,
                              cJSON_GetObjectItem(one, "message")->valuestring);
    }
    json_freep(&list);
}

static void expect(enum op_kind kind, struct str body, enum language language, const char *want)
{
    char got[8192];
    struct read r;

    read_body(&r, kind, body, language);
    assert_int_equal(r.err, OK);
    lines(&r, got, sizeof(got));
    if (strcmp(got, want) != 0)
        fail_msg(STR_FMT "\n  said: %s\n  not:  %s", STR_ARG(body), got, want);
    release(&r);
}

static void a_whole_order_is_read(void **state)
{
    struct read r;

    (void)state;
    read_body(
        &r, OP_CREATE,
        S(" {\"paymentMethod\" : \"pm_card_visa\",\"currency\":\"jpy\",\n\"amount\":99999999,"
          "\"description\":\"\\u5bbf\\u6cca \\ud83d\\ude00\",\"bookingId\":\"0190A6F2-3B5C-7D8E-"
          "9F01-23456789ABCD\"} "),
        LANG_EN);
    assert_int_equal(r.err, OK);
    assert_int_equal(r.problems.count, 0);
    assert_int_equal(r.in.money.minor, 99999999);
    assert_string_equal(r.in.money.currency, "JPY");
    assert_true(str_eq(r.in.method, S("pm_card_visa")));
    assert_true(str_eq(r.in.description, S("宿泊 😀")));
    assert_int_equal(r.in.booking.b[15], 0xcd);
    release(&r);
}

static void what_is_not_given_is_empty(void **state)
{
    static const char *const bodies[] = {
        "{" FINE "}",
        "{" FINE ",\"description\":null,\"paymentMethod\":null}",
        "{" FINE ",\"description\":\"\"}",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct read r;

        read_body(&r, OP_CREATE, str_of(bodies[i]), LANG_EN);
        assert_int_equal(r.problems.count, 0);
        assert_int_equal(r.in.method.n, 0);
        assert_int_equal(r.in.description.n, 0);
        release(&r);
    }
}

/* --- purchases --- */

static void expect_purchase(const char *body, const char *type, const char *method,
                            const char *want)
{
    struct read r = { .err = OK };
    char got[1024];

    arena_init(&r.arena, LIMIT_REQUEST_ARENA);
    json_problems_init(&r.problems);
    assert_int_equal(payment_input_purchase(&r.arena, str_of(body), &r.in, &r.problems), OK);
    lines(&r, got, sizeof(got));
    if (strcmp(got, want) != 0)
        fail_msg("%s\n  said: %s\n  not:  %s", body, got, want);
    if (type) {
        assert_true(str_eq(r.in.method_type, str_of(type)));
        assert_true(str_eq(r.in.method, str_of(method)));
    }
    release(&r);
}

static void a_purchase_is_by_card_or_konbini(void **state)
{
    (void)state;
    expect_purchase("{\"paymentMethodType\":\"card\"}", "card", "", "");
    expect_purchase("{\"paymentMethodType\":\"konbini\",\"paymentMethod\":null}", "konbini", "",
                    "");
    expect_purchase("{\"paymentMethodType\":\"c\\u0061rd\",\"paymentMethod\":\"pm_1\"}", "card",
                    "pm_1", "");
    expect_purchase("{}", NULL, NULL, "paymentMethodType: is required");
    expect_purchase("{\"paymentMethodType\":7}", NULL, NULL,
                    "paymentMethodType: must be card or konbini");
    expect_purchase("{\"paymentMethodType\":\"card\",\"paymentMethod\":\"4242424242424242\"}", NULL,
                    NULL, "paymentMethod: " CARD);
    expect_purchase("{\"paymentMethodType\":\"card\",\"amount\":1}", NULL, NULL,
                    "amount: is not a field of this request");
    expect_purchase("[]", NULL, NULL, "body: must be a JSON object");
}

static void an_amount_is_a_whole_number_as_it_is_written(void **state)
{
    static const char *const wrong[] = {
        "0",    "-1",     "-0",       "1.5",       "1000.0",
        "1e3",  "1E3",    "\"1000\"", "100000000", "99999999999999999999999999",
        "true", "[1000]", "{}",       "0.1e4",     "\"\"",
    };
    char body[256], want[256];

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        snprintf(body, sizeof(body),
                 "{\"bookingId\":\"" BOOKING "\",\"amount\":%s,\"currency\":\"JPY\"}", wrong[i]);
        expect(OP_CREATE, str_of(body), LANG_EN, "amount: " AMOUNT);
        snprintf(body, sizeof(body), "{\"amount\":%s}", wrong[i]);
        snprintf(want, sizeof(want), "amount: " AMOUNT);
        expect(OP_CAPTURE, str_of(body), LANG_EN, want);
        expect(OP_REFUND, str_of(body), LANG_EN, want);
    }
    expect(OP_CAPTURE, S("{\"amount\":1}"), LANG_EN, "");
    expect(OP_CAPTURE, S("{\"amount\":99999999}"), LANG_EN, "");
}

static void every_bad_field_is_named_at_once(void **state)
{
    (void)state;
    expect(OP_CREATE,
           S("{\"bookingId\":7,\"amount\":\"1\",\"currency\":\"XXQ\",\"description\":{},"
             "\"paymentMethod\":\"a b\",\"ammount\":5,\"\\u0062ooking\":{\"amount\":1}}"),
           LANG_EN,
           "bookingId: must be a UUID\namount: " AMOUNT "\n"
           "currency: must be an ISO 4217 code like JPY\ndescription: " TEXT_200 "\n"
           "paymentMethod: " TOKEN "\nammount: is not a field of this request\n"
           "booking: is not a field of this request");
    expect(OP_CREATE, S("{}"), LANG_EN,
           "bookingId: is required\namount: is required\ncurrency: is required");
    expect(OP_CREATE, S("{\"bookingId\":null,\"amount\":null,\"currency\":null}"), LANG_JA,
           "bookingId: 必須です\namount: 必須です\ncurrency: 必須です");
    expect(OP_CREATE, S("{" FINE ",\"amout\":1}"), LANG_JA, "amout: このリクエストにない項目です");
}

static void each_operation_has_its_own_fields(void **state)
{
    (void)state;
    expect(OP_CAPTURE, S("{\"amount\":1,\"reason\":\"x\"}"), LANG_EN,
           "reason: is not a field of this request");
    expect(OP_REFUND, S("{\"amount\":1,\"reason\":\"x\"}"), LANG_EN, "");
    expect(OP_REFUND, S("{\"reason\":5}"), LANG_EN, "reason: " TEXT_200);
    expect(OP_REFUND, S("{\"amount\":1,\"reason\":null}"), LANG_EN, "");
    expect(OP_REFUND, S("{\"amount\":null}"), LANG_EN, "amount: " AMOUNT);
    expect(OP_CAPTURE, S("{\"amount\":null}"), LANG_EN, "amount: " AMOUNT);
    expect(OP_VOID, S("{\"amount\":1}"), LANG_EN, "amount: is not a field of this request");
    expect(OP_VOID, S("{\"a\":{\"b\":[\"c\",{\"d\":1}]},\"e\":\"f\\\"g\",\"h\":[]}"), LANG_EN,
           "a: is not a field of this request\ne: is not a field of this request\n"
           "h: is not a field of this request");
}

static void an_empty_body_is_an_empty_object_except_for_create(void **state)
{
    static const struct str empty[] = { { "", 0 }, { " \r\n\t", 4 }, { "{}", 2 }, { " { } ", 5 } };

    (void)state;
    for (size_t i = 0; i < COUNT(empty); i++)
        for (int kind = OP_CAPTURE; kind < OP_KINDS; kind++)
            expect((enum op_kind)kind, empty[i], LANG_EN, "");
    expect(OP_CREATE, S(""), LANG_EN, "body: is not JSON: a value was expected (at byte 0)");
}

static void what_is_not_json_is_said_in_both_languages(void **state)
{
    static const struct {
        struct str body;
        const char *en, *ja;
    } rows[] = {
        { S("{\"amount\":1,\"amount\":2}"),
          "body: is not JSON: the key occurs twice in its object (at byte 12)",
          "body: JSON ではありません：同じキーが 2 回あります（12 バイト目）" },
        { S("{\"amount\":1,\"am\\u006funt\":2}"),
          "body: is not JSON: the key occurs twice in its object (at byte 12)",
          "body: JSON ではありません：同じキーが 2 回あります（12 バイト目）" },
        { S("{\"reason\":\"\xff\"}"), "body: is not JSON: the string is not UTF-8 (at byte 11)",
          "body: JSON ではありません：文字列が UTF-8 ではありません（11 バイト目）" },
        { S("{\"reason\":\"\\u0000\"}"), "body: is not JSON: \\u0000 is not allowed (at byte 11)",
          "body: JSON ではありません：\\u0000 は使えません（11 バイト目）" },
        { S("{\"amount\":1}x"), "body: is not JSON: something stands behind the end (at byte 12)",
          "body: JSON ではありません：末尾に余分な文字があります（12 バイト目）" },
        { S("{\"amount\":01}"), "body: is not JSON: a number may not begin with 0 (at byte 12)",
          "body: JSON ではありません：数値を 0 で始めることはできません（12 バイト目）" },
        { S("[]"), "body: must be a JSON object", "body: JSON オブジェクトにしてください" },
        { S("null"), "body: must be a JSON object", "body: JSON オブジェクトにしてください" },
        { S("\"{\""), "body: must be a JSON object", "body: JSON オブジェクトにしてください" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        expect(OP_REFUND, rows[i].body, LANG_EN, rows[i].en);
        expect(OP_REFUND, rows[i].body, LANG_JA, rows[i].ja);
    }
}

/* {"reason":"<piece x n>"} */
static void expect_reason(const char *piece, size_t n, const char *want)
{
    struct buf b;

    buf_init(&b, 64 * 1024);
    buf_add(&b, S("{\"reason\":\""));
    while (n--)
        buf_add(&b, str_of(piece));
    buf_add(&b, S("\"}"));
    expect(OP_REFUND, buf_str(&b), LANG_EN, want);
    buf_release(&b);
}

static void characters_are_code_points(void **state)
{
    static const char *const pieces[] = {
        "a", "é", "宿", "😀", "\\ud83d\\ude00", "\\u0041", "\\\""
    };

    (void)state;
    for (size_t i = 0; i < COUNT(pieces); i++) {
        expect_reason(pieces[i], 200, "");
        expect_reason(pieces[i], 201, "reason: " TEXT_200);
    }
}

static void a_currency_is_a_code_of_iso_4217(void **state)
{
    static const char *const wrong[] = { "\"\"", "\"JP\"", "\"JPYX\"", "\"ZZZ\"",
                                         "392",  "\"円\"", "\" JPY\"" };
    char body[256];

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        snprintf(body, sizeof(body), "{\"bookingId\":\"" BOOKING "\",\"amount\":1,\"currency\":%s}",
                 wrong[i]);
        expect(OP_CREATE, str_of(body), LANG_EN, "currency: must be an ISO 4217 code like JPY");
    }
}

static void a_card_number_is_no_payment_method(void **state)
{
    static const char *const cards[] = {
        "\"4242424242424242\"",      "\"4242 4242 4242 4242\"",    "\"4242-4242-4242-4242\"",
        "\"pm_4242424242424242\"",   "\"4242.4242.4242.4242\"",    "4242424242424242",
        "\"x4242424242424242y\"",    "\"378282246310005\"",        "\"6304000000000000\"",
        "\"4242  4242--4242 4242\"", "\"\\u0034242424242424242\"",
    };
    char body[256];

    (void)state;
    for (size_t i = 0; i < COUNT(cards); i++) {
        snprintf(body, sizeof(body), "{" FINE ",\"paymentMethod\":%s}", cards[i]);
        expect(OP_CREATE, str_of(body), LANG_EN, "paymentMethod: " CARD);
    }
}

static void a_token_is_a_payment_method(void **state)
{
    static const char *const good[] = {
        "pm_card_visa", "pm_1NXsUsLkdIwHu7ix4q2bLW7N",          "tok_visa", "4242424242424241",
        "123456789012", "12345678-1234-4234-8234-123456789012",
    };
    static const char *const wrong[] = { "", "a b", "\\n", "カード", "a\\u007f" };
    char body[1024];

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        snprintf(body, sizeof(body), "{" FINE ",\"paymentMethod\":\"%s\"}", good[i]);
        expect(OP_CREATE, str_of(body), LANG_EN, "");
    }
    for (size_t i = 0; i < COUNT(wrong); i++) {
        snprintf(body, sizeof(body), "{" FINE ",\"paymentMethod\":\"%s\"}", wrong[i]);
        expect(OP_CREATE, str_of(body), LANG_EN, "paymentMethod: " TOKEN);
    }
    for (int n = 255; n <= 256; n++) {
        snprintf(body, sizeof(body), "{" FINE ",\"paymentMethod\":\"%.*s\"}", n,
                 "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp"
                 "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp"
                 "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp"
                 "pppppppppppppppppppppppppppppppppppp");
        expect(OP_CREATE, str_of(body), LANG_EN, n == 255 ? "" : "paymentMethod: " TOKEN);
    }
}

static void a_long_unknown_name_is_cut_between_characters(void **state)
{
    struct read r;
    char got[8192];
    struct buf b;

    (void)state;
    buf_init(&b, 64 * 1024);
    buf_add(&b, S("{\"a"));
    for (int i = 0; i < 3000; i++)
        buf_add(&b, S("漢"));
    buf_add(&b, S("\":1}"));
    read_body(&r, OP_VOID, buf_str(&b), LANG_EN);
    lines(&r, got, sizeof(got));
    assert_int_equal(strcspn(got, ":"), 64); /* 1 + 21 x 3 */
    assert_null(strstr(got, "\xef\xbf\xbd"));
    release(&r);
    buf_release(&b);
}

static void a_flood_of_unknown_fields_is_survived(void **state)
{
    struct read r;
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_char(&b, '{');
    for (int i = 0; i < 15000; i++)
        buf_fmt(&b, "%s\"f%d\":{\"x\":[]}", i ? "," : "", i);
    buf_char(&b, '}');
    read_body(&r, OP_VOID, buf_str(&b), LANG_EN);
    assert_true(r.problems.count > 0);
    release(&r);
    buf_release(&b);
}

static void the_key_is_a_uuid_given_once(void **state)
{
    static const struct {
        const char *header;
        size_t count;
        const char *want;
    } rows[] = {
        { BOOKING, 1, "" },
        { "0190A6F2-3B5C-7D8E-9F01-23456789ABCD", 1, "" },
        { "\"" BOOKING "\"", 1, "" },
        { "", 0, "Idempotency-Key: is required" },
        { "", 2, "Idempotency-Key: must be given once" },
        { "", 1, "Idempotency-Key: must be a UUID" },
        { "order-17", 1, "Idempotency-Key: must be a UUID" },
        { BOOKING "," BOOKING, 1, "Idempotency-Key: must be a UUID" },
        { "{" BOOKING "}", 1, "Idempotency-Key: must be a UUID" },
        { "\"" BOOKING, 1, "Idempotency-Key: must be a UUID" },
    };
    char got[256];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct read r = { 0 };

        json_problems_init(&r.problems);
        payment_input_key(str_of(rows[i].header), rows[i].count, &r.in, &r.problems);
        lines(&r, got, sizeof(got));
        assert_string_equal(got, rows[i].want);
        json_problems_release(&r.problems);
    }
}

static void the_content_type_is_json_in_utf8(void **state)
{
    static const char *const good[] = {
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
        "application/json ; x=y; charset=utf-8",
        "application/json;",
    };
    static const char *const wrong[] = {
        "",
        "text/plain",
        "application/jsonx",
        "application/problem+json",
        "application/x-www-form-urlencoded",
        "application/json; charset=shift_jis",
        "application/json, text/plain",
        "application/json; x=y; charset=latin1",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        if (!media_type_is_json(str_of(good[i])))
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (media_type_is_json(str_of(wrong[i])))
            fail_msg("%s", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_order_is_read),
        TEST(what_is_not_given_is_empty),
        TEST(a_purchase_is_by_card_or_konbini),
        TEST(an_amount_is_a_whole_number_as_it_is_written),
        TEST(every_bad_field_is_named_at_once),
        TEST(each_operation_has_its_own_fields),
        TEST(an_empty_body_is_an_empty_object_except_for_create),
        TEST(what_is_not_json_is_said_in_both_languages),
        TEST(characters_are_code_points),
        TEST(a_currency_is_a_code_of_iso_4217),
        TEST(a_card_number_is_no_payment_method),
        TEST(a_token_is_a_payment_method),
        TEST(a_long_unknown_name_is_cut_between_characters),
        TEST(a_flood_of_unknown_fields_is_survived),
        TEST(the_key_is_a_uuid_given_once),
        TEST(the_content_type_is_json_in_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
