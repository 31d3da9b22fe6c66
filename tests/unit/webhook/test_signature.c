/* Vectors made with stripe-node's generateTestHeaderString, recomputed with openssl. */
#include "base/limits.h"
#include "unit/cm.h"
#include "webhook/signature.h"

#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#define SECRET_A "whsec_ichido_test_secret_A_0123456789abcdef"
#define SECRET_B "whsec_ichido_test_secret_B_fedcba9876543210"
#define T "1760000000"
#define NOW INT64_C(1760000010)
#define Z "0000000000000000000000000000000000000000000000000000000000000000"
#define F "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define P1 "{\"id\":\"evt_1\",\"object\":\"event\"}"
#define P1A "2bccf4c5ef0750db6e0682589126fb27dec63e7fffaae309e2e4115a776ab0ca"
#define P1B "15363a3b2fb10aebde55ea27e3ee558164fa4e85c5652bd46c6ddf7b499ff287"

static enum signature_verdict check(const char *secrets, struct str header, struct str body,
                                    int64_t now_s)
{
    struct str list[4], rest = str_of(secrets);
    struct stripe_keys *k;
    enum signature_verdict v;
    size_t n = 0;

    while (rest.n)
        list[n++] = str_cut(&rest, ' ');
    k = stripe_keys_new(list, n);
    assert_non_null(k);
    v = stripe_verify(k, header, body, now_s);
    stripe_keys_free(k);
    return v;
}

static void w1_the_published_vectors_verify(void **state)
{
    static const struct {
        struct str body;
        const char *a, *b;
    } rows[] = {
        { { P1, sizeof(P1) - 1 }, P1A, P1B },
        { { "{\n  \"id\": \"evt_test_0001\",\n  \"object\": \"event\",\n  \"type\": "
            "\"payment_intent.succeeded\"\n}",
            86 },
          "911de9eb81cdef30f678478f962a093174d2ac05e604d5294711f9ed4903d39f",
          "fa0f722a79bfab2e7344cad1b2b02bf4636b5858e23f22b90a80eb9f5dda0734" },
        { { "{\"id\":\"evt_ja\",\"object\":\"event\",\"data\":{\"object\":{\"description\":\""
            "\xe9\xa0\x98\xe5\x8f\x8e\xe6\x9b\xb8 \xc2\xa5"
            "1,000 caf\xc3\xa9 \xf0\x9f\x98\x80\"}}}",
            97 },
          "d87b8220c7ab75a3a0b20d879787dd7e9d120f78775ec7bd62c303a568848656",
          "c0d3e0034b94f4dcb63411948f2553c7c14fbdc219f09769b64043375ea0bab4" },
        { { "{\"id\":\"evt_crlf\",\r\n\"object\":\"event\"}\r\n", 38 },
          "563a9944275986d4b1fa8bc3f44df694f8d74a9df6eaf01a76432aca802b552e",
          "61331acfaa11e53c3cc7cf2ba2e2c0573cf97bb039eaffa10244c89b52170cee" },
        { { "{}", 2 },
          "0dc990785433abf987722c57a3dda57becf87f01392679d1134bea3258f873a9",
          "a642b8759cf289b80ad9e370cf08b3e0d35b08b249bd49bce488e942dfa988c4" },
        { { "{\xff}", 3 }, /* raw bytes: accepted here, refused by stripe-node */
          "8ab40ee8f6d8a8cd6744cd08052840dc485055db91622c32b50b5cacd0e28c93",
          NULL },
    };
    char header[256];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(header, sizeof(header), "t=" T ",v1=%s", rows[i].a);
        assert_int_equal(check(SECRET_A, str_of(header), rows[i].body, NOW), SIGNATURE_OK);
        assert_int_equal(check(SECRET_B, str_of(header), rows[i].body, NOW), SIGNATURE_MISMATCH);
        if (!rows[i].b)
            continue;
        snprintf(header, sizeof(header), "t=" T ",v1=%s", rows[i].b);
        assert_int_equal(check(SECRET_B, str_of(header), rows[i].body, NOW), SIGNATURE_OK);
    }
}

static void w1_each_header_gets_its_verdict(void **state)
{
    static const struct {
        const char *why, *header, *secrets;
        int64_t now_s;
        enum signature_verdict want;
    } rows[] = {
        { "plain", "t=" T ",v1=" P1A, SECRET_A, NOW, SIGNATURE_OK },
        { "a wrong one first", "t=" T ",v1=" Z ",v1=" P1A, SECRET_A, NOW, SIGNATURE_OK },
        { "two secrets, A", "t=" T ",v1=" P1B ",v1=" P1A, SECRET_A, NOW, SIGNATURE_OK },
        { "two secrets, B", "t=" T ",v1=" P1B ",v1=" P1A, SECRET_B, NOW, SIGNATURE_OK },
        { "v0 is ignored", "t=" T ",v1=" P1A ",v0=" F, SECRET_A, NOW, SIGNATURE_OK },
        { "only v0", "t=" T ",v0=" P1A, SECRET_A, NOW, SIGNATURE_NO_V1 },
        { "age 300", "t=" T ",v1=" P1A, SECRET_A, 1760000300, SIGNATURE_OK },
        { "age 301", "t=" T ",v1=" P1A, SECRET_A, 1760000301, SIGNATURE_TOO_OLD },
        { "another secret", "t=" T ",v1=" P1A, SECRET_B, NOW, SIGNATURE_MISMATCH },
        { "another time", "t=1760000001,v1=" P1A, SECRET_A, NOW, SIGNATURE_MISMATCH },
        { "no time", "v1=" P1A, SECRET_A, NOW, SIGNATURE_NO_TIMESTAMP },
        { "nothing", "", SECRET_A, NOW, SIGNATURE_NO_HEADER },
        /* several active secrets */
        { "old and new, signed with A", "t=" T ",v1=" P1A, SECRET_B " " SECRET_A, NOW,
          SIGNATURE_OK },
        { "old and new, signed with B", "t=" T ",v1=" P1B, SECRET_B " " SECRET_A, NOW,
          SIGNATURE_OK },
        /* both ways */
        { "300 s ahead", "t=" T ",v1=" P1A, SECRET_A, 1759999700, SIGNATURE_OK },
        { "301 s ahead", "t=" T ",v1=" P1A, SECRET_A, 1759999699, SIGNATURE_FUTURE },
        /* headers in another order, form or spelling */
        { "v0 right, v1 wrong", "t=" T ",v0=" P1A ",v1=" Z, SECRET_A, NOW, SIGNATURE_MISMATCH },
        { "bad digest and too old: the digest", "t=" T ",v1=" Z, SECRET_A, 1770000000,
          SIGNATURE_MISMATCH },
        { "space behind the comma", "t=" T ", v1=" P1A, SECRET_A, NOW, SIGNATURE_NO_V1 },
        { "leading space", " t=" T ",v1=" P1A, SECRET_A, NOW, SIGNATURE_NO_TIMESTAMP },
        { "v1 before t", "v1=" P1A ",t=" T, SECRET_A, NOW, SIGNATURE_OK },
        { "two t: the last one counts", "t=1,t=" T ",v1=" P1A, SECRET_A, NOW, SIGNATURE_OK },
        { "two t: the last one counts", "t=" T ",t=1,v1=" P1A, SECRET_A, NOW, SIGNATURE_MISMATCH },
        { "letters behind t", "t=" T "abc,v1=" P1A, SECRET_A, NOW, SIGNATURE_NO_TIMESTAMP },
        { "zero before t", "t=0" T ",v1=" P1A, SECRET_A, NOW, SIGNATURE_NO_TIMESTAMP },
        { "plus before t", "t=+" T ",v1=" P1A, SECRET_A, NOW, SIGNATURE_NO_TIMESTAMP },
        { "t=abc", "t=abc,v1=" P1A, SECRET_A, NOW, SIGNATURE_NO_TIMESTAMP },
        { "t=-1", "t=-1,v1=" P1A, SECRET_A, NOW, SIGNATURE_NO_TIMESTAMP },
        { "t empty", "t=,v1=" P1A, SECRET_A, NOW, SIGNATURE_NO_TIMESTAMP },
        { "t beyond int64", "t=99999999999999999999,v1=" P1A, SECRET_A, NOW,
          SIGNATURE_NO_TIMESTAMP },
        { "v1 empty", "t=" T ",v1=", SECRET_A, NOW, SIGNATURE_NO_V1 },
        { "bare v1", "t=" T ",v1", SECRET_A, NOW, SIGNATURE_NO_V1 },
        { "a third part", "t=" T ",v1=" P1A "=x", SECRET_A, NOW, SIGNATURE_NO_V1 },
        { "trailing comma", "t=" T ",v1=" P1A ",", SECRET_A, NOW, SIGNATURE_OK },
        { "one digit short",
          "t=" T ",v1=bccf4c5ef0750db6e0682589126fb27dec63e7fffaae309e2e4115a776ab0ca", SECRET_A,
          NOW, SIGNATURE_NO_V1 },
        { "uppercase",
          "t=" T ",v1=2BCCF4C5EF0750DB6E0682589126FB27DEC63E7FFFAAE309E2E4115A776AB0CA", SECRET_A,
          NOW, SIGNATURE_NO_V1 },
        { "a broken v1 beside a good one", "t=" T ",v1=zz,v1=" P1A, SECRET_A, NOW, SIGNATURE_OK },
        { "unknown keys", "t=" T ",v2=x,=,a,v1=" P1A, SECRET_A, NOW, SIGNATURE_OK },
        { "eight signatures",
          "t=" T ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" P1A,
          SECRET_A, NOW, SIGNATURE_OK },
        { "nine",
          "t=" T ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" Z ",v1=" P1A,
          SECRET_A, NOW, SIGNATURE_MALFORMED },
        { "noise", "garbage", SECRET_A, NOW, SIGNATURE_NO_TIMESTAMP },
        { "a secret with a space is another secret", "t=" T ",v1=" P1A, SECRET_A "\n", NOW,
          SIGNATURE_MISMATCH },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum signature_verdict v =
            check(rows[i].secrets, str_of(rows[i].header), S(P1), rows[i].now_s);

        if (v != rows[i].want)
            fail_msg("row %zu: %s: %s", i, rows[i].why, signature_reason(v));
    }
}

static void w1_a_changed_body_is_refused(void **state)
{
    char body[] = P1;

    (void)state;
    for (size_t i = 0; i < sizeof(body) - 1; i++) {
        body[i] ^= 1;
        assert_int_equal(check(SECRET_A, S("t=" T ",v1=" P1A), S(P1), NOW), SIGNATURE_OK);
        assert_int_equal(
            check(SECRET_A, S("t=" T ",v1=" P1A), (struct str){ body, sizeof(body) - 1 }, NOW),
            SIGNATURE_MISMATCH);
        body[i] ^= 1;
    }
    assert_int_equal(check(SECRET_A, S("t=" T ",v1=" P1A), (struct str){ body, 30 }, NOW),
                     SIGNATURE_MISMATCH);
    assert_int_equal(check(SECRET_A, S("t=" T ",v1=" P1A), S(""), NOW), SIGNATURE_EMPTY);
}

static void w1_a_header_over_the_limit_is_not_read(void **state)
{
    static char header[LIMIT_SIGNATURE_HEADER + 2];
    size_t n = strlen("t=" T ",v1=" P1A ",");

    (void)state;
    memset(header, 'x', sizeof(header));
    memcpy(header, "t=" T ",v1=" P1A ",", n);
    assert_int_equal(check(SECRET_A, (struct str){ header, LIMIT_SIGNATURE_HEADER }, S(P1), NOW),
                     SIGNATURE_OK);
    assert_int_equal(
        check(SECRET_A, (struct str){ header, LIMIT_SIGNATURE_HEADER + 1 }, S(P1), NOW),
        SIGNATURE_MALFORMED);
}

static void w1_without_a_secret_nobody_is_believed(void **state)
{
    struct str empty[] = { { "", 0 } };
    unsigned char mac[32];
    char header[128] = "t=" T ",v1=";
    struct stripe_keys *k = stripe_keys_new(empty, 1);

    (void)state;
    HMAC(EVP_sha256(), "", 0, (const unsigned char *)T "." P1, sizeof(T "." P1) - 1, mac, NULL);
    for (size_t i = 0; i < sizeof(mac); i++)
        snprintf(header + strlen(header), 3, "%02x", mac[i]);
    assert_int_equal(stripe_verify(k, str_of(header), S(P1), NOW), SIGNATURE_MISMATCH);
    stripe_keys_free(k);
    k = stripe_keys_new(NULL, 0);
    assert_int_equal(stripe_verify(k, str_of(header), S(P1), NOW), SIGNATURE_MISMATCH);
    stripe_keys_free(k);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(w1_the_published_vectors_verify),        TEST(w1_each_header_gets_its_verdict),
        TEST(w1_a_changed_body_is_refused),           TEST(w1_a_header_over_the_limit_is_not_read),
        TEST(w1_without_a_secret_nobody_is_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
