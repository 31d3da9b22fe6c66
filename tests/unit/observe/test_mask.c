#include "base/buf.h"
#include "base/json/json.h"
#include "base/rng.h"
#include "observe/mask.h"
#include "unit/cm.h"

#include <string.h>

static void card_numbers_are_masked_and_nothing_else(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "card 4242424242424242 ok", "card ************4242 ok" },
        { "4242 4242 4242 4242", "**** **** **** 4242" },
        { "5555-5555-5555-4444.", "****-****-****-4444." },
        { "378282246310005", "***********0005" },
        { "4242424242424241", "4242424242424241" },       /* fails Luhn */
        { "pi_4242424242424242", "pi_4242424242424242" }, /* an id */
        { "1760000000000", "1760000000000" },             /* a time in ms */
        { "\"amount\":99999999", "\"amount\":99999999" },
        { "42424242424242424242", "42424242424242424242" }, /* 20 digits */
        { "4242424242424242", "************4242" },
        { "4242-4242-4242-4242-123", "****-****-****-4242-123" }, /* more groups behind it */
        { "12 4242 4242 4242 4242 12", "12 **** **** **** 4242 12" },
        { "2026 4242424242424242", "2026 ************4242" },
        { "{\"number\":4242424242424242,", "{\"number\":               0," }, /* stays JSON */
        { "[ 4242424242424242 ]", "[                0 ]" },
        { "[\n\t4242424242424242\n]", "[\n\t               0\n]" },
        { "{\"a\":4242424242424242.5}", "{\"a\":                 0}" },
        { "{\"a\":-4242424242424242}", "{\"a\":                0}" },
        { "{\"a\":1.4242424242424242}", "{\"a\":                 0}" },
        { "card\\n4242424242424242", "card\\n************4242" }, /* an escape's letter is no id */
        { "card\\\\t4242424242424242", "card\\\\t************4242" },
        { "card\\u000d4242424242424242", "card\\u000d************4242" },
        { "card\\u00204242424242424242", "card\\u0020************4242" },
        { "\\4242424242424242\\", "\\************4242\\" },
        { "card 4242424242424242 2025-01-01T00:00Z", "card ************4242 2025-01-01T00:00Z" },
        { "4242424242424242 3rd try", "************4242 3rd try" },
        { "4242 4242 4242 4242 3rd", "**** **** **** 4242 3rd" },
        { "4242424242424242x", "4242424242424242x" }, /* an id */
        { "42424242-4242-4242-abcd-00000000000a", "42424242-4242-4242-abcd-00000000000a" },
        { "a0000000-0000-0000-4242-424242424242", "a0000000-0000-0000-4242-424242424242" },
        { "a4242424242424242 4242424242424242", "a4242424242424242 ************4242" },
        { "", "" },
        { "4", "4" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[96];

        strcpy(text, rows[i].in);
        mask_cards(text, strlen(text));
        assert_string_equal(text, rows[i].out);
    }
}

static void what_a_cards_name_precedes_is_masked_and_json_stays_json(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "{\"cvc\":\"123\",\"a\":1}", "{\"cvc\":\"***\",\"a\":1}" },
        { "{\"exp_month\":12,\"exp_year\" : 2030}", "{\"exp_month\": 0,\"exp_year\" :    0}" },
        { "{\\\"cvv\\\":\\\"999\\\"}", "{\\\"cvv\\\":\\\"***\\\"}" }, /* JSON in a string */
        { "expiry=12/34&x=1", "expiry=**/**&x=1" },
        { "card[cvc]=123", "card[cvc]=***" },
        { "/cvc=123/exp_month=12/x", "/cvc=***/exp_month=**/x" },
        { "card_number: 4000 0000 x", "card_number: **** **** x" },
        { "CVV2: 1234.", "CVV2: ****." },
        { "cardNumber='12345'", "cardNumber='*****'" },
        { "{\"expiry\":{\"month\":12,\"year\":30},\"b\":2}",
          "{\"expiry\":{\"month\": 0,\"year\": 0},\"b\":2}" },
        { "{\"exp_month\":null}", "{\"exp_month\":null}" },
        { "{\"cvc_check\":\"pass\"}", "{\"cvc_check\":\"pass\"}" }, /* not the code itself */
        { "the card's expiry has passed", "the card's expiry has passed" },
        { "{\"expires_at\":12}", "{\"expires_at\":12}" },
        { "{\"exp\":1760000000}", "{\"exp\":1760000000}" }, /* a token's */
        { "cvc:\n123", "cvc:\n***" },
        { "cvc:\\n123", "cvc:\\n***" }, /* the escape stays one */
        { "cvc:\\u000a123", "cvc:\\u000a***" },
        { "\\ncvc=123\\n", "\\ncvc=***\\n" },
        { "{\"cvc\":1.5}", "{\"cvc\":  0}" },
        { "{\"cvc\":-12}", "{\"cvc\":  0}" },
        { "{\"cvc\":1e9}", "{\"cvc\":  0}" },
        { "{\"cvc\":\n12\n}", "{\"cvc\":\n 0\n}" },
        { "{\"cvc\":[1,2]}", "{\"cvc\":[1,2]}" },
        { "{\"expiry\":{\\n\\\"month\\\":\\n12,", "{\"expiry\":{\\n\\\"month\\\":\\n**," },
        { "cvc", "cvc" },
        { "cvc=", "cvc=" },
        { "\"cvc\":", "\"cvc\":" },
        { "\"expiry\":{", "\"expiry\":{" },
        { "\"expiry\":{\"month\":1", "\"expiry\":{\"month\":*" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[96];

        strcpy(text, rows[i].in);
        mask_named(text, strlen(text));
        assert_string_equal(text, rows[i].out);
    }
}

static void the_ids_of_a_provider_keep_their_prefix_alone(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "No such payment_intent: 'pi_3Abc4567'", "No such payment_intent: 'pi_********'" },
        { "pi_3Abc4567_secret_x9 and ch_12345678.", "pi_****************** and ch_********." },
        { "sk_test_51Habcdef", "sk_**************" },
        { "card_declined, requested_by_customer", "card_declined, requested_by_customer" },
        { "http_status_code_500", "http_status_code_500" },
        { "PI_12345678 p_12345678 payment_12345678", "PI_12345678 p_12345678 payment_12345678" },
        { "pi_1234567", "pi_1234567" },
        { "pi_", "pi_" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[96];

        strcpy(text, rows[i].in);
        mask_ids(text, strlen(text));
        assert_string_equal(text, rows[i].out);
    }
}

/* --- JSON stays JSON --- */

/* One of each, in an order that only the seed decides. */
static void some_json(struct rng *r, struct buf *b, int depth)
{
    static const char *const texts[] = { "card\n4242424242424242",
                                         "cvc:\n123",
                                         "cvc:\t\"1\\2\"",
                                         "\r4242 4242 4242 4242\\",
                                         "{\"cvc\":-1.5,\"expiry\":{\"month\":\n12}}",
                                         "[4242424242424242.5]",
                                         "cvc=\x01\xff\x7f",
                                         "expiry: 12/34\\u00424242424242424242",
                                         "領収書cvc=領収書" };
    static const char *const numbers[] = { "4242424242424242",
                                           "-4242424242424242",
                                           "1.5",
                                           "-12",
                                           "4242424242424242.5e-10",
                                           "1e+9",
                                           "null",
                                           "true" };
    static const char *const names[] = { "cvc", "a", "expiry", "exp_month", "card\nnumber" };
    static const char *const blanks[] = { "", " ", "\n", "\r\n\t" };
    uint64_t kind = rng_u64(r) % (depth ? 4 : 2), first = rng_u64(r);

    if (kind == 0)
        buf_json(b, str_of(texts[rng_u64(r) % COUNT(texts)]));
    else if (kind == 1)
        buf_add(b, str_of(numbers[rng_u64(r) % COUNT(numbers)]));
    else
        buf_char(b, kind == 2 ? '{' : '[');
    for (uint64_t i = 0, n = kind > 1 ? 1 + rng_u64(r) % 3 : 0; i < n; i++) {
        buf_add(b, i ? S(",") : S(""));
        buf_add(b, str_of(blanks[rng_u64(r) % COUNT(blanks)]));
        if (kind == 2) {
            buf_json(b, str_of(names[(first + i) % COUNT(names)]));
            buf_add(b, str_of(blanks[rng_u64(r) % COUNT(blanks)]));
            buf_char(b, ':');
        }
        some_json(r, b, depth - 1);
        buf_add(b, str_of(blanks[rng_u64(r) % COUNT(blanks)]));
    }
    if (kind > 1)
        buf_char(b, kind == 2 ? '}' : ']');
}

/* Also as a string in a string. */
static void whatever_is_masked_json_stays_json(void **state)
{
    struct rng r;
    struct buf in, b;

    (void)state;
    rng_init_seeded(&r, 7);
    buf_init(&in, 1 << 20);
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 20000; i++) {
        buf_clear(&in);
        buf_char(&in, '[');
        some_json(&r, &in, 3);
        buf_char(&in, ']');
        for (int depth = 0; depth < 3; depth++) {
            buf_clear(&b);
            buf_add(&b, buf_str(&in));
            mask_cards(b.p, b.n);
            mask_named(b.p, b.n);
            mask_ids(b.p, b.n);
            if (json_check(buf_str(&b), NULL))
                fail_msg("of: " STR_FMT "\nis: " STR_FMT, STR_ARG(buf_str(&in)),
                         STR_ARG(buf_str(&b)));
            if (memmem(b.p, b.n, "4242424242424242", 16))
                fail_msg("shown: " STR_FMT, STR_ARG(buf_str(&b)));
            buf_clear(&in);
            buf_char(&in, '[');
            buf_json(&in, buf_str(&b));
            buf_char(&in, ']');
        }
    }
    buf_release(&in);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_ids_of_a_provider_keep_their_prefix_alone),
        TEST(whatever_is_masked_json_stays_json),
        TEST(card_numbers_are_masked_and_nothing_else),
        TEST(what_a_cards_name_precedes_is_masked_and_json_stays_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
