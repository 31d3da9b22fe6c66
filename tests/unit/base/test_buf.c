#include "base/buf.h"
#include "base/json/json.h"
#include "unit/cm.h"

#include <string.h>

static void holds(struct buf *b, struct str text)
{
    if (b->failed || !str_eq(buf_str(b), text))
        fail_msg("failed %d: " STR_FMT, b->failed, STR_ARG(buf_str(b)));
    buf_clear(b);
}

static void bytes_are_added(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_add(&b, S("ab"));
    buf_add(&b, (struct str){ 0 });
    buf_char(&b, '\0');
    buf_fmt(&b, "%d-%s", 42, "x");
    holds(&b, S("ab\00042-x"));
    buf_release(&b);
    assert_int_equal(b.limit, 1000); /* it may be used again */
    buf_add(&b, S("again"));
    holds(&b, S("again"));
    buf_release(&b);
}

static void numbers_are_written_whole(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_i64(&b, 0);
    holds(&b, S("0"));
    buf_i64(&b, INT64_MAX);
    holds(&b, S("9223372036854775807"));
    buf_i64(&b, INT64_MIN);
    holds(&b, S("-9223372036854775808"));
    buf_release(&b);
}

static void the_limit_fails_once_and_for_all(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4);
    buf_add(&b, S("abcd"));
    assert_false(b.failed);
    buf_add(&b, S("e"));
    assert_true(b.failed);
    assert_true(str_eq(buf_str(&b), S("abcd"))); /* what was there is untouched */
    b.n = 0;
    buf_add(&b, S("f"));
    assert_int_equal(b.n, 0); /* still failed */
    buf_clear(&b);
    buf_add(&b, S("g"));
    holds(&b, S("g"));
    assert_false(buf_reserve(&b, SIZE_MAX));
    buf_release(&b);
}

static void growing_keeps_the_bytes(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 100000; i++)
        buf_char(&b, (char)('a' + i % 26));
    assert_int_equal(b.n, 100000);
    for (int i = 0; i < 100000; i++)
        if (b.p[i] != 'a' + i % 26)
            fail_msg("byte %d", i);
    buf_release(&b);
}

static void json_strings_are_escaped(void **state)
{
    static const struct {
        struct str text, json;
    } rows[] = {
        { { "", 0 }, { "\"\"", 2 } },
        { { "plain", 5 }, { "\"plain\"", 7 } },
        { { "\"\\/", 3 }, { "\"\\\"\\\\/\"", 7 } },
        { { "\n\r\t\b\0", 5 }, { "\"\\n\\r\\t\\u0008\\u0000\"", 20 } },
        { { "\x7f", 1 }, { "\"\\u007f\"", 8 } },
        { { "\xe4\xb8\x80x", 4 }, { "\"\xe4\xb8\x80x\"", 6 } },
        { { "\xf0\x9f\x98\x80", 4 }, { "\"\xf0\x9f\x98\x80\"", 6 } },
        { { "\xff\x41", 2 }, { "\"\xef\xbf\xbd\x41\"", 6 } },
        { { "\xe4\xb8", 2 }, { "\"\xef\xbf\xbd\xef\xbf\xbd\"", 8 } },
        { { "\xc3\xa4\xa4", 3 }, { "\"\xc3\xa4\xef\xbf\xbd\"", 7 } },
    };
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    for (size_t i = 0; i < COUNT(rows); i++) {
        buf_json(&b, rows[i].text);
        if (!str_eq(buf_str(&b), rows[i].json))
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(buf_str(&b)));
        buf_clear(&b);
    }
    buf_release(&b);
}

/* Whatever three bytes come in, what goes out is a string that our own scanner takes. */
static void json_of_any_bytes_is_json(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    for (int i = 0; i < 256 * 256; i++) {
        char bytes[3] = { (char)(i >> 8), (char)i, (char)(i * 7) };

        if (!bytes[0] || !bytes[1] || !bytes[2])
            continue; /* NUL becomes \u0000, which the scanner refuses on purpose */
        buf_json(&b, (struct str){ bytes, 3 });
        if (json_check(buf_str(&b), NULL))
            fail_msg("%02x %02x %02x", (unsigned char)bytes[0], (unsigned char)bytes[1],
                     (unsigned char)bytes[2]);
        buf_clear(&b);
    }
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_added),
        TEST(numbers_are_written_whole),
        TEST(the_limit_fails_once_and_for_all),
        TEST(growing_keeps_the_bytes),
        TEST(json_strings_are_escaped),
        TEST(json_of_any_bytes_is_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
