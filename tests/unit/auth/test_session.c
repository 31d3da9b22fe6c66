/* What a session's request says by its headers; the way through the store is
 * tests/e2e/login.test.mjs. */
#include "auth/session.h"
#include "base/limits.h"
#include "unit/cm.h"

#include <string.h>

#define TOKEN "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define OTHER "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

static void the_cookie_is_found_among_others_and_only_if_there_is_one(void **state)
{
    static const struct {
        const char *why, *first, *second; /* Cookie headers */
        bool found;
    } rows[] = {
        { "alone", "ichido_session=" TOKEN, NULL, true },
        { "among others", "a=b; ichido_session=" TOKEN "; c=d", NULL, true },
        { "without blanks", "a=b;ichido_session=" TOKEN ";c=d", NULL, true },
        { "a proxy split the header", "a=b", "ichido_session=" TOKEN, true },
        { "twice", "ichido_session=" TOKEN "; ichido_session=" OTHER, NULL, false },
        { "twice, in two headers", "ichido_session=" TOKEN, "ichido_session=" OTHER, false },
        { "another name", "xichido_session=" TOKEN, NULL, false },
        { "another case", "Ichido_session=" TOKEN, NULL, false },
        { "too short", "ichido_session=abc", NULL, false },
        { "empty", "ichido_session=", NULL, false },
        { "too long", "ichido_session=" TOKEN "A", NULL, false },
        { "quoted", "ichido_session=\"" TOKEN "\"", NULL, false },
        { "other letters", "ichido_session=+AECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", NULL,
          false },
        { "none", "", NULL, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct header h[] = { { S("cookie"), str_of(rows[i].first) },
                              { S("Cookie"), str_of(rows[i].second) } };
        struct request r = { .headers = h, .header_count = rows[i].second ? 2 : 1 };

        if ((session_token(&r).n > 0) != rows[i].found)
            fail_msg("row %zu: %s", i, rows[i].why);
        if (rows[i].found)
            assert_true(str_eq(session_token(&r), S(TOKEN)));
    }
}

static void a_page_of_another_site_is_told_from_ours(void **state)
{
    static const struct {
        const char *host, *site, *origin, *url;
        bool ours;
    } rows[] = {
        { "pay.example.jp", NULL, NULL, "", true }, /* no browser */
        { "pay.example.jp", "same-origin", NULL, "", true },
        { "pay.example.jp", "none", NULL, "", true },
        { "pay.example.jp", "same-site", NULL, "", false }, /* a neighbour below example.jp */
        { "pay.example.jp", "cross-site", NULL, "", false },
        { "pay.example.jp", "", NULL, "", false },
        { "pay.example.jp", "same-origin", "https://pay.example.jp", "", true },
        { "pay.example.jp", "cross-site", "https://pay.example.jp", "", false },
        { "pay.example.jp", NULL, "https://pay.example.jp", "", true },
        { "Pay.Example.JP", NULL, "http://pay.example.jp", "", true },
        { "pay.example.jp:8787", NULL, "http://pay.example.jp:8787", "", true },
        { "pay.example.jp:8787", NULL, "http://pay.example.jp:8788", "", false },
        { "pay.example.jp", NULL, "https://evil.example", "", false },
        { "pay.example.jp", NULL, "https://pay.example.jp.evil.example", "", false },
        { "pay.example.jp", NULL, "null", "", false },
        { "pay.example.jp", NULL, "", "", false },
        { "pay.example.jp", NULL, "ftp://pay.example.jp", "", false },
        { "pay.example.jp", NULL, "https:/pay.example.jp", "", false },
        { "10.0.0.5:8787", NULL, "https://pay.example.jp", "https://pay.example.jp/x", true },
        { "10.0.0.5:8787", NULL, "https://pay.example.jp", "https://pay.example.jp", true },
        { "10.0.0.5:8787", NULL, "http://pay.example.jp", "https://pay.example.jp", false },
        { "10.0.0.5:8787", NULL, "https://evil.example", "https://pay.example.jp", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct header h[3] = { { S("Host"), str_of(rows[i].host) } };
        struct request r = { .headers = h, .header_count = 1 };
        struct sessions s = { .public_url = str_of(rows[i].url) };

        if (rows[i].site)
            h[r.header_count++] = (struct header){ S("Sec-Fetch-Site"), str_of(rows[i].site) };
        if (rows[i].origin)
            h[r.header_count++] = (struct header){ S("Origin"), str_of(rows[i].origin) };
        if (session_same_site(&s, &r) != rows[i].ours)
            fail_msg("row %zu", i);
    }
}

static void a_new_session_is_like_no_other_and_stored_under_a_hash(void **state)
{
    static const unsigned char admin[SESSION_HASH] = "the admin token's own hash.....";
    struct env env = { 0 };
    struct sessions s = { .env = &env };
    struct session one, two, by_admin;
    char token[SESSION_TOKEN + 1], other[SESSION_TOKEN + 1];
    struct uuid user = { .b = { 1 } };

    (void)state;
    clock_init(&env.clock);
    rng_init_seeded(&env.rng, 5);
    assert_true(session_new(&s, user, token, &one));
    assert_true(session_new(&s, user, other, &two));
    assert_int_equal(strlen(token), SESSION_TOKEN);
    assert_string_not_equal(token, other);
    assert_memory_not_equal(one.hash, two.hash, SESSION_HASH);
    assert_string_not_equal(one.csrf, two.csrf);
    assert_string_not_equal(one.csrf, token);
    assert_int_equal(one.expires_ms - one.created_ms, LIMIT_SESSION_IDLE_MS);
    s.admin = admin;
    rng_init_seeded(&env.rng, 5);
    assert_true(session_new(&s, (struct uuid){ 0 }, other, &by_admin));
    assert_string_equal(token, other);
    assert_memory_not_equal(one.hash, by_admin.hash, SESSION_HASH); /* that token is part of it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cookie_is_found_among_others_and_only_if_there_is_one),
        cmocka_unit_test(a_page_of_another_site_is_told_from_ours),
        cmocka_unit_test(a_new_session_is_like_no_other_and_stored_under_a_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
