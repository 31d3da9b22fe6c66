#include "qstash/redact.h"
#include "unit/cm.h"

#include <string.h>

static void fields_are_body_and_headers_and_nothing_else(void **state)
{
    static const struct {
        const char *why, *fields;
        bool fine, body, headers;
    } rows[] = {
        { "nothing is hidden", "", true, false, false },
        { "the body", "body", true, true, false },
        { "all headers", "header", true, false, true },
        { "as the docs spell it", "headers", true, false, true },
        { "both", "body,header", true, true, true },
        { "blanks between them", "body, header[X-A], headers[X-B]", true, true, false },
        { "one header is not all", "header[X-A]", true, false, false },
        { "a word that is none", "bodies", false, false, false },
        { "no name", "header[]", false, false, false },
        { "a blank name", "header[ ]", false, false, false },
        { "no end", "header[X", false, false, false },
        { "more behind the end", "header[X]y", false, false, false },
        { "an empty field", "body,,header", false, false, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct redact r;
        bool fine = redact_read(str_of(rows[i].fields), &r);

        if (fine != rows[i].fine ||
            (fine && (r.body != rows[i].body || r.headers != rows[i].headers)))
            fail_msg("row %zu: %s", i, rows[i].why);
    }
}

static void a_header_is_hidden_by_its_name_in_any_case(void **state)
{
    static const struct {
        const char *fields, *name;
        bool hidden;
    } rows[] = {
        { "header", "X-Anything", true },
        { "body", "X-Secret", false },
        { "", "X-Secret", false },
        { "header[X-Secret]", "X-Secret", true },
        { "headers[x-secret]", "X-Secret", true },
        { "body, header[A], header[ X-Secret ]", "X-Secret", true },
        { "header[X-Secret]", "X-Secret-Too", false },
        { "header[X-Secret]", "X", false },
        { "body", "", false },
        { "header[A]", "", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct redact r = redact_of(str_of(rows[i].fields));

        if (redact_hides(&r, str_of(rows[i].name)) != rows[i].hidden)
            fail_msg("row %zu: %s in %s", i, rows[i].name, rows[i].fields);
    }
}

static void what_lets_somebody_in_is_known_by_its_name(void **state)
{
    static const struct {
        const char *name;
        bool secret;
    } rows[] = {
        { "Authorization", true },    { "Proxy-Authorization", true },
        { "cookie", true },           { "Set-Cookie", true },
        { "X-API-KEY", true },        { "X-Auth-Token", true },
        { "X-Client-Secret", true },  { "X-Db-Password", true },
        { "Stripe-Signature", true }, { "Upstash-Signature", true },
        { "Content-Type", false },    { "X-Shop", false },
        { "Keyboard", false },        { "", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (redact_is_secret(str_of(rows[i].name)) != rows[i].secret)
            fail_msg("row %zu: %s", i, rows[i].name);
}

static void what_cannot_be_read_hides_all(void **state)
{
    struct redact r = redact_of(S("boddy"));

    (void)state;
    assert_true(r.body);
    assert_true(redact_hides(&r, S("Any")));
}

static void a_hidden_value_is_its_hash(void **state)
{
    char text[REDACTED];
    struct str shown = redact_value(S("abc"), text);

    (void)state;
    assert_true(str_eq(
        shown, S("REDACTED:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fields_are_body_and_headers_and_nothing_else),
        TEST(a_header_is_hidden_by_its_name_in_any_case),
        TEST(what_lets_somebody_in_is_known_by_its_name),
        TEST(what_cannot_be_read_hides_all),
        TEST(a_hidden_value_is_its_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
