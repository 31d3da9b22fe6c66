#include "base/json/json.h"
#include "observe/redact.h"
#include "unit/cm.h"

#include <string.h>

struct shown {
    const char *in, *out;
};

/* What is shown is JSON, too. */
static void all_become(const struct shown *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct buf b;

        buf_init(&b, 1000);
        redact_json(&b, str_of(rows[i].in));
        if (!str_eq(buf_str(&b), str_of(rows[i].out)))
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(buf_str(&b)));
        assert_int_equal(json_check(buf_str(&b), NULL), OK);
        buf_release(&b);
    }
}

static void private_values_go_and_json_stays_json(void **state)
{
    static const struct shown rows[] = {
        { "{\"last4\":\"4242\",\"a\":1}", "{\"last4\":\"[redacted]\",\"a\":1}" },
        { "{\"card\":{\"exp_month\": 12 ,\"exp_year\":2030,\"brand\":\"visa\"}}",
          "{\"card\":{\"exp_month\": \"[redacted]\" "
          ",\"exp_year\":\"[redacted]\",\"brand\":\"visa\"}}" },
        { "{\"billing_details\" : {\"name\":\"}\\\"]\",\"x\":[1,{}]} , \"b\":[2]}",
          "{\"billing_details\" : \"[redacted]\" , \"b\":[2]}" },
        { "[{\"Email\":null},{\"shipping\":[]}]",
          "[{\"Email\":\"[redacted]\"},{\"shipping\":\"[redacted]\"}]" },
        { "{\"cvc\":true}", "{\"cvc\":\"[redacted]\"}" },
        { "{\"say\":\"last4\",\"n\":[\"email\",\"x\"]}",
          "{\"say\":\"last4\",\"n\":[\"email\",\"x\"]}" },
        { "{\"what\":\"4242424242424242\"}", "{\"what\":\"************4242\"}" },
        { "{\"what\":4242424242424242}", "{\"what\":0}" },
        { "{\"a\":4242424242424242.5,\"b\":-4242424242424242,\"c\":1.5}",
          "{\"a\":0,\"b\":0,\"c\":1.5}" },
        { "4242424242424242", "0" },
        { "{\"what\":\"card\\n4242424242424242\"}", "{\"what\":\"card\\n************4242\"}" },
        { "{\"customer\":{\"name\":\"x\"},\"owner\" : {\"name\":\"x\"}}",
          "{\"customer\":\"[redacted]\",\"owner\" : \"[redacted]\"}" },
        { "{\"customer\":\"cus_1\",\"owner\":null}", "{\"customer\":\"cus_1\",\"owner\":null}" },
        { "{\"account_number\":1,\"bank_last4\":2,\"cardholder_name\":3,\"phone_number\":4}",
          "{\"account_number\":\"[redacted]\",\"bank_last4\":\"[redacted]\","
          "\"cardholder_name\":\"[redacted]\",\"phone_number\":\"[redacted]\"}" },
        { "{\"user_email\":1,\"iban\":2,\"routingNumber\":3,\"IP_Address\":4}",
          "{\"user_email\":\"[redacted]\",\"iban\":\"[redacted]\","
          "\"routingNumber\":\"[redacted]\",\"IP_Address\":\"[redacted]\"}" },
        { "{\"name\":\"a plan\",\"emails\":1,\"n\":2}",
          "{\"name\":\"a plan\",\"emails\":1,\"n\":2}" },
        { "{\"client_secret\":\"pi_1_secret_2\",\"setup.clientSecret\":1,\"secret\":2}",
          "{\"client_secret\":\"[redacted]\",\"setup.clientSecret\":\"[redacted]\",\"secret\":2}" },
        { "{\"confirmation_number\":\"08012345678\",\"konbini_number\":\"1\",\"number\":\"2\"}",
          "{\"confirmation_number\":\"[redacted]\",\"konbini_number\":\"[redacted]\",\"number\":"
          "\"2\"}" },
        { "\"email\"", "\"email\"" },
        { "{}", "{}" },
        { "1", "1" },
    };

    (void)state;
    all_become(rows, COUNT(rows));
}

/* A queue in front of us wraps what it was given, and a name can be written in many ways. */
static void nothing_private_hides_in_a_string_or_behind_an_escape(void **state)
{
    static const struct shown rows[] = {
        { "{\"Message\":\"{\\\"card\\\":{\\\"cvc\\\":\\\"123\\\",\\\"exp_month\\\":12,"
          "\\\"last4\\\":\\\"4242\\\"},\\\"email\\\":\\\"taro@x.example\\\",\\\"n\\\":1}\"}",
          "{\"Message\":\"{\\\"card\\\":{\\\"cvc\\\":\\\"[redacted]\\\",\\\"exp_month\\\":"
          "\\\"[redacted]\\\",\\\"last4\\\":\\\"[redacted]\\\"},\\\"email\\\":"
          "\\\"[redacted]\\\",\\\"n\\\":1}\"}" },
        { "[\" [{\\\"phone\\\":1}]\"]", "[\" [{\\\"phone\\\":\\\"[redacted]\\\"}]\"]" },
        { "{\"e\\u006dail\":\"a@x.example\",\"\\u0063vc\":\"123\"}",
          "{\"e\\u006dail\":\"[redacted]\",\"\\u0063vc\":\"[redacted]\"}" },
        { "{\"log\":\"cvc=123&qty=1\",\"x\":\"exp_month: 12\"}",
          "{\"log\":\"cvc=***&qty=1\",\"x\":\"exp_month: **\"}" },
        /* two wrappings, then three: quotes and all stay JSON */
        { "[\"[\\\"{\\\\\\\"email\\\\\\\":1}\\\"]\"]",
          "[\"[\\\"{\\\\\\\"email\\\\\\\":\\\\\\\"[redacted]\\\\\\\"}\\\"]\"]" },
        { "\"\\\"{\\\\\\\"iin\\\\\\\":4}\\\"\"",
          "\"\\\"{\\\\\\\"iin\\\\\\\":\\\\\\\"[redacted]\\\\\\\"}\\\"\"" },
        /* what has nothing to hide stays byte for byte, whatever it is written like */
        { "{\"m\":\"{\\u0022a\\u0022 :\\n1\\u002c\\\"b\\\":\\\"\\/\\\"}\",\"t\":\"{no JSON\"}",
          "{\"m\":\"{\\u0022a\\u0022 :\\n1\\u002c\\\"b\\\":\\\"\\/\\\"}\",\"t\":\"{no JSON\"}" },
    };

    (void)state;
    all_become(rows, COUNT(rows));
}

/* However often it is wrapped: what is wrapped deeper than we look is not shown at all. */
static void json_in_json_in_json_ends_somewhere(void **state)
{
    struct buf b, next;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_init(&next, 1 << 20);
    buf_add(&b, S("{\"email\":\"taro@x.example\"}"));
    for (int i = 0; i < 12; i++) {
        struct buf shown;

        buf_init(&shown, 3 * b.n + 64);
        redact_json(&shown, buf_str(&b));
        assert_false(shown.failed);
        assert_null(memmem(shown.p, shown.n, "taro", 4));
        assert_non_null(memmem(shown.p, shown.n, "[redacted]", 10));
        assert_int_equal(json_check(buf_str(&shown), NULL), OK);
        buf_release(&shown);
        next.n = 0;
        buf_char(&next, '[');
        buf_json(&next, buf_str(&b));
        buf_char(&next, ']');
        b.n = 0;
        buf_add(&b, buf_str(&next));
    }
    buf_release(&b);
    buf_release(&next);
}

static void a_text_that_may_be_json(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "{\"last4\":\"1\"}", "{\"last4\":\"[redacted]\"}" },
        { "{\"last4\":\"1\"", "{\"last4\":\"1\"" },
        { "card 4242424242424242, cvc=123", "card ************4242, cvc=***" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf b;

        buf_init(&b, 1000);
        redact_text(&b, str_of(rows[i].in));
        if (!str_eq(buf_str(&b), str_of(rows[i].out)))
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(buf_str(&b)));
        buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(private_values_go_and_json_stays_json),
                                        TEST(nothing_private_hides_in_a_string_or_behind_an_escape),
                                        TEST(json_in_json_in_json_ends_somewhere),
                                        TEST(a_text_that_may_be_json) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
