/* The whole tokens were signed by npm jose with the claims that stand in the test, and were shown
 * to the Receiver of @upstash/qstash 2.12.0, which took them. The hostile ones are made here. */
#include "auth/upstash.h"
#include "base/limits.h"
#include "unit/auth/forge.h"

#define CURRENT "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r"
#define NEXT "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs"
#define URL "https://pay.example/api/workers/stripe-webhook?a=\"b\"\\c"
#define URL_JSON "https://pay.example/api/workers/stripe-webhook?a=\\\"b\\\"\\\\c"
#define BODY "{\"id\":\"evt_1\"}"
#define HASH "QJk8Y5_7XxOgou9ck8ll8QtAXyuHo3knI4HaLbwVjfo"
#define JTI "01900000-0000-7000-8000-00000000d3a0"
#define HEADER "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define CLAIMS(iss, sub, times, body)                                                              \
    "{\"iss\":\"" iss "\",\"sub\":\"" sub "\"," times ",\"jti\":\"jwt_1\",\"body\":\"" body "\"}"
#define TIMES "\"exp\":1760000300,\"nbf\":0,\"iat\":1760000000"
#define GOOD CLAIMS("Upstash", URL_JSON, TIMES, HASH "=")

static const char by_jose[] =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJVcHN0YXNoIiwic3ViIjoiaHR0cHM"
    "6Ly9wYXkuZXhhbXBsZS9hcGkvd29ya2Vycy9zdHJpcGUtd2ViaG9vaz9hPVwiYlwiXFxjIiwiZXh"
    "wIjoxNzYwMDAwMzAwLCJuYmYiOjAsImlhdCI6MTc2MDAwMDAwMCwianRpIjoiand0XzAxOTAwMDA"
    "wLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwZDNhMCIsImJvZHkiOiJRSms4WTVfN1h4T2dvdTljazh"
    "sbDhRdEFYeXVIbzNrbkk0SGFMYndWamZvPSJ9.hGpxLEk8xh85V8lbatbad228eKsMGdaoRoK86h"
    "2lI6Q";
static const char by_jose_unpadded[] =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJVcHN0YXNoIiwic3ViIjoiaHR0cHM"
    "6Ly9wYXkuZXhhbXBsZS9hcGkvd29ya2Vycy9zdHJpcGUtd2ViaG9vaz9hPVwiYlwiXFxjIiwiZXh"
    "wIjoxNzYwMDAwMzAwLCJuYmYiOjAsImlhdCI6MTc2MDAwMDAwMCwianRpIjoiand0XzAxOTAwMDA"
    "wLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwZDNhMCIsImJvZHkiOiJRSms4WTVfN1h4T2dvdTljazh"
    "sbDhRdEFYeXVIbzNrbkk0SGFMYndWamZvIn0.mm9sbKpg1VhIj7UhJOzrgmkVG8iTFhszbo2LhXm"
    "BRGw";
static const char by_jose_next[] =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJVcHN0YXNoIiwic3ViIjoiaHR0cHM"
    "6Ly9wYXkuZXhhbXBsZS9hcGkvd29ya2Vycy9zdHJpcGUtd2ViaG9vaz9hPVwiYlwiXFxjIiwiZXh"
    "wIjoxNzYwMDAwMzAwLCJuYmYiOjAsImlhdCI6MTc2MDAwMDAwMCwianRpIjoiand0XzAxOTAwMDA"
    "wLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwZDNhMCIsImJvZHkiOiJRSms4WTVfN1h4T2dvdTljazh"
    "sbDhRdEFYeXVIbzNrbkk0SGFMYndWamZvPSJ9.vbxHDiAueu-87hqlS1S0lLKd3sciusxXyey69F"
    "Olq2s";
static const char by_jose_empty_body[] =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJVcHN0YXNoIiwic3ViIjoiaHR0cHM"
    "6Ly9wYXkuZXhhbXBsZS9hcGkvd29ya2Vycy9zdHJpcGUtd2ViaG9vaz9hPVwiYlwiXFxjIiwiZXh"
    "wIjoxNzYwMDAwMzAwLCJuYmYiOjAsImlhdCI6MTc2MDAwMDAwMCwianRpIjoiand0XzAxOTAwMDA"
    "wLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwZDNhMCIsImJvZHkiOiI0N0RFUXBqOEhCU2EtX1RJbVc"
    "tNUpDZXVRZVJrbTVOTXBKV1pHM2hTdUZVPSJ9.ItMVjQX4SdZQVrNltU7pyyLgIR9SxWNm8RYvTv"
    "RoJWw";

static const struct str keys[] = { { CURRENT, 32 }, { NEXT, 32 } };

static enum upstash_verdict verify_at(struct str token, const char *url, const char *body,
                                      int64_t now_s)
{
    enum upstash_verdict v;
    struct arena a;

    arena_init(&a, 1 << 20);
    v = upstash_verify(&a, keys, COUNT(keys), token, str_of(url), str_of(body), now_s);
    arena_release(&a);
    return v;
}

static enum upstash_verdict verify(struct str token)
{
    return verify_at(token, URL, BODY, NOW_S + 100);
}

static struct str token_of(struct arena *a, const char *header, const char *claims, const char *key)
{
    char *text = arena_alloc(a, 2 * (strlen(header) + strlen(claims)) + 256, 1);
    size_t n = b64(header, strlen(header), text);
    unsigned char mac[64];
    unsigned m = 0;

    text[n++] = '.';
    n += b64(claims, strlen(claims), text + n);
    HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text, n, mac, &m);
    text[n++] = '.';
    n += b64(mac, m, text + n);
    return (struct str){ text, n };
}

static void q10_what_we_sign_is_what_jose_signs(void **state)
{
    struct arena a;
    struct uuid jti;
    struct str ours;

    (void)state;
    arena_init(&a, 1 << 20);
    assert_true(uuid_parse(S(JTI), &jti));
    ours = upstash_sign(&a, S(CURRENT), S(URL), S(BODY), NOW_S, &jti);
    assert_true(str_eq(ours, str_of(by_jose)));
    ours = upstash_sign(&a, S(CURRENT), S(URL), S(""), NOW_S, &jti);
    assert_true(str_eq(ours, str_of(by_jose_empty_body)));
    arena_release(&a);
}

static void q10_any_url_comes_back_as_it_was(void **state)
{
    static const char *const urls[] = {
        "http://127.0.0.1:1/",
        "https://e.example/\\\"\"\\",
        "https://e.example/\x01\x1f\t",
        "https://e.example/\xe4\xb8\x80\xe5\xba\xa6",
        "https://e.example/%2F?a=b&c=d#e;[::1]",
    };
    struct uuid jti = { { 1 } };
    struct arena a;

    (void)state;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct str t = upstash_sign(&a, S(NEXT), str_of(urls[i]), S("x"), NOW_S, &jti);

        assert_int_equal(verify_at(t, urls[i], "x", NOW_S), UPSTASH_OK);
        assert_int_equal(verify_at(t, "", "x", NOW_S), UPSTASH_OK); /* not compared */
        assert_int_equal(verify_at(t, "http://127.0.0.1:1", "x", NOW_S), UPSTASH_URL);
    }
    assert_null(upstash_sign(&a, S(NEXT), S("https://e.example/\xff"), S("x"), NOW_S, &jti).p);
    arena_release(&a);
}

static void q4_both_keys_are_taken_padded_or_not(void **state)
{
    (void)state;
    assert_int_equal(verify(str_of(by_jose)), UPSTASH_OK);
    assert_int_equal(verify(str_of(by_jose_unpadded)), UPSTASH_OK);
    assert_int_equal(verify(str_of(by_jose_next)), UPSTASH_OK);
    assert_int_equal(verify_at(str_of(by_jose_empty_body), URL, "", NOW_S), UPSTASH_OK);
}

static void q4_it_is_good_until_exp_and_for_its_url_and_body_alone(void **state)
{
    struct str t = str_of(by_jose);

    (void)state;
    assert_int_equal(verify_at(t, URL, BODY, NOW_S + 299), UPSTASH_OK);
    assert_int_equal(verify_at(t, URL, BODY, NOW_S + 300), UPSTASH_EXPIRED);
    assert_int_equal(verify_at(t, URL "/", BODY, NOW_S), UPSTASH_URL);
    assert_int_equal(verify_at(t, URL, BODY " ", NOW_S), UPSTASH_BODY);
    assert_int_equal(verify_at(t, URL, "", NOW_S), UPSTASH_BODY);
    assert_int_equal(verify_at(S(""), URL, BODY, NOW_S), UPSTASH_NO_HEADER);
}

static void q4_a_hostile_token_is_refused_for_what_is_hostile_about_it(void **state)
{
    static const struct {
        const char *why, *header, *claims, *key;
        enum upstash_verdict verdict;
    } rows[] = {
        { "the good one", HEADER, GOOD, CURRENT, UPSTASH_OK },
        { "a stranger's key", HEADER, GOOD, "sig_of_a_stranger", UPSTASH_MISMATCH },
        { "an empty key", HEADER, GOOD, "", UPSTASH_MISMATCH },
        { "a longer hash", "{\"alg\":\"HS512\"}", GOOD, CURRENT, UPSTASH_MALFORMED },
        { "no alg", "{\"alg\":\"none\"}", GOOD, CURRENT, UPSTASH_MALFORMED },
        { "an alg of the JWKS", "{\"alg\":\"RS256\"}", GOOD, CURRENT, UPSTASH_MALFORMED },
        { "crit", "{\"alg\":\"HS256\",\"crit\":[\"exp\"]}", GOOD, CURRENT, UPSTASH_MALFORMED },
        { "alg twice", "{\"alg\":\"HS256\",\"alg\":\"none\"}", GOOD, CURRENT, UPSTASH_MALFORMED },
        { "another issuer", HEADER, CLAIMS("upstash", URL_JSON, TIMES, HASH), CURRENT,
          UPSTASH_ISSUER },
        { "no issuer", HEADER, "{\"sub\":\"x\"," TIMES "}", CURRENT, UPSTASH_ISSUER },
        { "no exp", HEADER, CLAIMS("Upstash", URL_JSON, "\"nbf\":0", HASH), CURRENT,
          UPSTASH_MALFORMED },
        { "a text as exp", HEADER, CLAIMS("Upstash", URL_JSON, "\"exp\":\"1760000300\"", HASH),
          CURRENT, UPSTASH_MALFORMED },
        { "a broken exp", HEADER, CLAIMS("Upstash", URL_JSON, "\"exp\":1760000300.5", HASH),
          CURRENT, UPSTASH_MALFORMED },
        { "nbf within the leeway", HEADER,
          CLAIMS("Upstash", URL_JSON, "\"exp\":1760000300,\"nbf\":1760000130", HASH), CURRENT,
          UPSTASH_OK },
        { "nbf beyond it", HEADER,
          CLAIMS("Upstash", URL_JSON, "\"exp\":1760000300,\"nbf\":1760000131", HASH), CURRENT,
          UPSTASH_NOT_YET },
        { "a text as nbf", HEADER,
          CLAIMS("Upstash", URL_JSON, "\"exp\":1760000300,\"nbf\":\"0\"", HASH), CURRENT,
          UPSTASH_MALFORMED },
        { "no nbf", HEADER, CLAIMS("Upstash", URL_JSON, "\"exp\":1760000300", HASH), CURRENT,
          UPSTASH_OK },
        { "another address", HEADER, CLAIMS("Upstash", "https://pay.example/", TIMES, HASH),
          CURRENT, UPSTASH_URL },
        { "no hash", HEADER, CLAIMS("Upstash", URL_JSON, TIMES, ""), CURRENT, UPSTASH_BODY },
        { "half a hash", HEADER, CLAIMS("Upstash", URL_JSON, TIMES, "QJk8Y5_7XxOgou9ck8ll8Q"),
          CURRENT, UPSTASH_BODY },
        { "padded twice", HEADER, CLAIMS("Upstash", URL_JSON, TIMES, HASH "=="), CURRENT,
          UPSTASH_BODY },
        { "claims twice", HEADER, "{" TIMES "," TIMES "}", CURRENT, UPSTASH_MALFORMED },
        { "no object", HEADER, "[]", CURRENT, UPSTASH_ISSUER },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str t = token_of(&a, rows[i].header, rows[i].claims, rows[i].key);

        if (verify(t) != rows[i].verdict)
            fail_msg("%s: %s", rows[i].why, upstash_word(verify(t)));
    }
    arena_release(&a);
}

static void q4_no_bit_of_it_can_be_turned(void **state)
{
    char text[sizeof(by_jose)];

    (void)state;
    for (size_t i = 0; i < sizeof(by_jose) - 1; i++) {
        memcpy(text, by_jose, sizeof(text));
        text[i] = text[i] == 'A' ? 'B' : 'A';
        if (text[i] != by_jose[i])
            assert_int_not_equal(verify(str_of(text)), UPSTASH_OK);
    }
}

static void q4_a_key_that_is_not_there_lets_nobody_in(void **state)
{
    static const struct str none[] = { { "", 0 }, { NULL, 0 } };
    struct arena a;
    struct str t;

    (void)state;
    arena_init(&a, 1 << 20);
    t = token_of(&a, HEADER, GOOD, "");
    assert_int_equal(upstash_verify(&a, none, COUNT(none), t, S(URL), S(BODY), NOW_S),
                     UPSTASH_MISMATCH);
    assert_int_equal(upstash_verify(&a, NULL, 0, t, S(URL), S(BODY), NOW_S), UPSTASH_MISMATCH);
    arena_release(&a);
}

static void without_memory_there_is_no_token_and_no_verdict(void **state)
{
    struct uuid jti = { { 1 } };
    struct arena a;

    (void)state;
    arena_init(&a, 64);
    assert_null(upstash_sign(&a, S(CURRENT), S(URL), S(BODY), NOW_S, &jti).p);
    assert_int_equal(upstash_verify(&a, keys, 2, str_of(by_jose), S(URL), S(BODY), NOW_S),
                     UPSTASH_NO_MEMORY);
    arena_release(&a);
}

static void q9_the_present_keys_are_changed_together(void **state)
{
    struct upstash_keys k;
    struct upstash_pair pair;
    char longest[UPSTASH_KEY_MAX + 2];

    (void)state;
    memset(longest, 'k', sizeof(longest));
    upstash_keys_init(&k);
    upstash_keys_get(&k, &pair);
    assert_string_equal(pair.current, "");
    assert_true(upstash_keys_set(&k, S(CURRENT), S(NEXT)));
    assert_false(upstash_keys_set(&k, S("x"), (struct str){ longest, UPSTASH_KEY_MAX + 1 }));
    upstash_keys_get(&k, &pair);
    assert_string_equal(pair.current, CURRENT);
    assert_string_equal(pair.next, NEXT);
    assert_true(upstash_keys_set(&k, S(NEXT), (struct str){ longest, UPSTASH_KEY_MAX }));
    upstash_keys_get(&k, &pair);
    assert_string_equal(pair.current, NEXT);
    assert_int_equal(strlen(pair.next), UPSTASH_KEY_MAX);
    upstash_keys_release(&k);
    upstash_keys_get(&k, &pair);
    assert_string_equal(pair.next, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(q10_what_we_sign_is_what_jose_signs),
        TEST(q10_any_url_comes_back_as_it_was),
        TEST(q4_both_keys_are_taken_padded_or_not),
        TEST(q4_it_is_good_until_exp_and_for_its_url_and_body_alone),
        TEST(q4_a_hostile_token_is_refused_for_what_is_hostile_about_it),
        TEST(q4_no_bit_of_it_can_be_turned),
        TEST(q4_a_key_that_is_not_there_lets_nobody_in),
        TEST(without_memory_there_is_no_token_and_no_verdict),
        TEST(q9_the_present_keys_are_changed_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
